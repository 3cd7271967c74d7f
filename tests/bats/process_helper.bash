# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# For suites that start scope-bpf as somebody: a work folder, users with and without sudo, waiting without sleeping.
#
# setup and teardown of every test; a suite that needs a user calls make_user in setup_file and remove_user in
# teardown_file.

TOP=${TOP:-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}
BUILD=${BUILD:-$TOP/build}
APPS=${APPS:-$BUILD/apps}
SCOPE_BPF=${SCOPE_BPF:-$BUILD/scope-bpf}
SCOPE_REPORT=${SCOPE_REPORT:-$BUILD/scope-report}
HERE=$BATS_TEST_DIRNAME
LIMIT="timeout -k 5 60"

setup() {
    [ "$(id -u)" -eq 0 ] || skip "recording needs root"
    [ -x "$SCOPE_BPF" ] || skip "no scope-bpf in $BUILD"
    WORK=$(mktemp -d /tmp/scope-bats-XXXXXX)
    chmod 755 "$WORK"
    STARTED=()
    cd "$WORK" || return 1
}

teardown() {
    local pid
    for pid in "${STARTED[@]}"; do
        kill -KILL "$pid" 2>/dev/null || true
    done
    cd /
    umount -l "${WORK:-}/disk" 2>/dev/null || true
    [ -z "${WORK:-}" ] || rm -rf "$WORK"
}

# make_user: an ordinary user, who may use sudo without a password, and another one
make_user() {
    [ "$(id -u)" -eq 0 ] || return 0
    export TEST_USER="scope-t$$" OTHER_USER="scope-o$$"
    useradd --create-home --shell /bin/sh "$TEST_USER"
    useradd --create-home --shell /bin/sh "$OTHER_USER"
    usermod --append --groups games "$TEST_USER"
    [ ! -d /etc/sudoers.d ] || {
        echo "$TEST_USER ALL=(ALL) NOPASSWD: ALL" >"/etc/sudoers.d/$TEST_USER"
        chmod 440 "/etc/sudoers.d/$TEST_USER"
    }
}

remove_user() {
    [ -n "${TEST_USER:-}" ] || return 0
    rm -f "/etc/sudoers.d/$TEST_USER"
    userdel --force --remove "$TEST_USER" 2>/dev/null || true
    userdel --force --remove "$OTHER_USER" 2>/dev/null || true
}

need_sudo() {
    command -v sudo >/dev/null || skip "sudo is not installed"
}

# as_user COMMAND...: as the test user logs in, nothing of root's left
as_user() {
    setpriv --reuid "$TEST_USER" --regid "$TEST_USER" --init-groups --reset-env env PATH=/usr/local/bin:/usr/bin:/bin "$@"
}

# user_folder: a folder of the test user, entered
user_folder() {
    mkdir "$WORK/user"
    chown "$TEST_USER:" "$WORK/user"
    cd "$WORK/user" || return 1
}

# wait_for SECONDS COMMAND...: until the command succeeds
wait_for() {
    local tries=$(($1 * 50))
    shift
    while ! "$@" >/dev/null 2>&1; do
        [ $((tries -= 1)) -gt 0 ] || { echo "waited in vain for: $*" >&2; return 1; }
        sleep 0.02
    done
}

# child_of PID NAME: process id of the child with that name
child_of() {
    pgrep -o -P "$1" -x "$2"
}

# background COMMAND...: starts it; its process id in $PID (of the command itself: no shell between)
background() {
    "$@" &
    PID=$!
    STARTED+=("$PID")
}

app() {
    [ -x "$APPS/$1" ] || skip "no truth program $1 in $APPS"
    cp "$APPS/$1" "$WORK/$1"
}

# build_c NAME: compiles tests/bats/NAME.c into the work folder
build_c() {
    gcc -O2 -I"$TOP/include" "$HERE/$1.c" -o "$WORK/$1"
}

calls_of() { # calls_of FILE REGION
    "$SCOPE_REPORT" summary --json "$1" | /usr/bin/python3 -c '
import json, sys
rows = json.load(sys.stdin)["regions"]
print(sum(r["calls"] for r in rows if r["name"] == sys.argv[1]))' "$2"
}
