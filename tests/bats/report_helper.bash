# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2034 # the bats files use these
# Shared by the suites of scope-report: no root, the real program on files of the conformance kit.

load cli_helper
SCOPE_REPORT=${SCOPE_REPORT:-$BUILD/scope-report}
KIT=$TOP/tests/kit/open/files

# report ARG...: status, and what it said in $out and $err (files out and err)
report() {
    status=0
    "$SCOPE_REPORT" "$@" >out 2>err </dev/null || status=$?
    out=$(cat out) err=$(cat err)
}

# refused STATUS PART...: that status, nothing on stdout, one line on stderr with these parts
refused() {
    [ "$status" -eq "$1" ] || { echo "status $status: $err"; return 1; }
    if [ -n "$out" ] || [ "$(wc -l <err)" -ne 1 ]; then
        echo "$out$err"
        return 1
    fi
    shift
    for part in "$@"; do
        [[ $err == *"$part"* ]] || { echo "no '$part' in: $err"; return 1; }
    done
}
