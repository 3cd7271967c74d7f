# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2034 # the bats files use these
# Shared by the suites of scope-bpf's command line. tests/run sets the variables; alone they have defaults.

TOP=${TOP:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
BUILD=${BUILD:-$TOP/build}
APPS=${APPS:-$BUILD/apps}
SCOPE_BPF=${SCOPE_BPF:-$BUILD/scope-bpf}
PYTHON3=/usr/bin/python3

setup() {
    unset SCOPE_BPF_OPTIONS LD_LIBRARY_PATH LD_PRELOAD
    WORK=$(mktemp -d "${BATS_TEST_TMPDIR:-/tmp}/cli.XXXXXX")
    chmod 755 "$WORK"
    STARTED=()
    cd "$WORK" || return 1
}

teardown() {
    local pid
    for pid in "${STARTED[@]}"; do
        kill -9 "$pid" 2>/dev/null || true
    done
    rm -rf "$WORK"
}

need() {
    local tool
    for tool in "$@"; do
        command -v "$tool" >/dev/null || skip "$tool is not installed"
    done
}

need_root() {
    [ "$(id -u)" -eq 0 ] || skip "not root"
}

# both ARG...: run scope-bpf; $status, and what it said in $out and $err (text), files out and err.
both() {
    status=0
    "$SCOPE_BPF" "$@" >out 2>err || status=$?
    out=$(cat out) err=$(cat err)
}

# as_nobody COMMAND...: without any right
as_nobody() {
    setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$@"
}

# start COMMAND...: in the background, ended by teardown; its pid in $pid
start() {
    "$@" >/dev/null 2>&1 &
    pid=$!
    STARTED+=("$pid")
}

# until COMMAND...: tries for ten seconds
wait_for() {
    local i
    for ((i = 0; i < 200; i++)); do
        "$@" && return 0
        sleep 0.05
    done
    return 1
}

# One line on stderr, by us, that holds each text.
says() {
    local text
    [ "$(wc -l <err)" -eq 1 ] || { echo "not one line: $err"; return 1; }
    [ "${err#scope-bpf: }" != "$err" ] || { echo "not by scope-bpf: $err"; return 1; }
    for text; do
        grep -qF -- "$text" err || { echo "'$text' is missing in: $err"; return 1; }
    done
}
