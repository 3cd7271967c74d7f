# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2034 # the bats files use these
# Shared by the bats files of this folder.

PROBE_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
INCLUDE=$(cd "$PROBE_DIR/../../include" && pwd)
APPS=$(cd "$PROBE_DIR/../apps" && pwd)
WARN="-Wall -Wextra -Wshadow -Wpedantic -Werror" # several words

setup() {
    WORK=$(mktemp -d "${BATS_TEST_TMPDIR:-/tmp}/probe.XXXXXX")
    FAILED=0
    cd "$WORK" || return 1
}

need() {
    local tool
    for tool in "$@"; do
        command -v "$tool" >/dev/null || skip "$tool is not installed"
    done
}

# complain TEXT...: one more failed combination; the test goes on and `verdict` fails at its end
complain() {
    FAILED=$((FAILED + 1))
    [ "$FAILED" -gt 20 ] || echo "$*"
}

verdict() {
    [ "$FAILED" -eq 0 ] || { echo "$FAILED combinations failed"; return 1; }
}

# is_cxx CC: does this compiler command compile C++?
is_cxx() {
    case $1 in *++*) return 0 ;; esac
    return 1
}

# build CC FLAGS...: the matrix program from its two units
build() {
    local cc=$1 lang="-x c"
    shift
    is_cxx "$cc" && lang="-x c++"
    # shellcheck disable=SC2086
    $cc $lang "$@" -I"$INCLUDE" "$PROBE_DIR/matrix.c" "$PROBE_DIR/matrix_unit.c" >"$WORK/log" 2>&1
}

# Some linkers cannot link some C libraries in some ways, with or without regions: that is not our affair. It compiles,
# and does not link without regions either.
is_toolchain_fault() {
    build "$@" -fsyntax-only && ! build "$@" -DSCOPE_DISABLE -o "$WORK/off"
}

# combine CC FLAGS...: build the matrix program, run it ($RUN before it), and compare its notes with what it says. CC
# may hold several words.
combine() {
    local out="$WORK/matrix" why
    rm -f "$out"
    if ! build "$@" -o "$out"; then
        why=$(grep -m1 -iE 'error|undefined|cannot' "$WORK/log")
        if is_toolchain_fault "$@"; then
            echo "# left out, without regions this cannot be linked either: $*" >&3
        else
            complain "$*: does not build: $why"
        fi
        return 0
    fi
    # shellcheck disable=SC2086
    if ! timeout 20 ${RUN:-} "$out" >"$WORK/truth" 2>"$WORK/log"; then
        complain "$*: does not run: $(head -1 "$WORK/log")"
        return 0
    fi
    "$PROBE_DIR/check-truth.py" "$out" "$WORK/truth" >"$WORK/log" 2>&1 ||
        complain "$*: $(head -3 "$WORK/log" | tr '\n' ';')"
}
