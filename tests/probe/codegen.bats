#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2086,SC2034 # flags are lists of words; RUN and LEVELS are read by helpers
# timeout: 400
# Untraced, a site is its nops: functions whose values live in registers, with and without regions.

load probe_helper

# compare CC [OPTIONS OF compare-code.py] -- FLAGS...
compare() {
    local cc=$1 opts=() lang="-x c"
    shift
    while [ "$1" != -- ]; do
        opts+=("$1")
        shift
    done
    shift
    is_cxx "$cc" && lang="-x c++ -std=c++11"
    $cc $lang "$@" -I"$INCLUDE" -c "$PROBE_DIR/codegen.c" -o "$WORK/with.o"
    $cc $lang "$@" -DSCOPE_DISABLE -I"$INCLUDE" -c "$PROBE_DIR/codegen.c" -o "$WORK/without.o"
    "$PROBE_DIR/compare-code.py" "${opts[@]}" "$WORK/with.o" "$WORK/without.o" || complain "$cc $*"
}

@test "the same instructions, by gcc, g++, clang and clang++ at -O1 to -O3 and -Os" {
    need clang
    for cc in gcc g++ clang clang++; do
        for o in -O1 -O2 -O3 -Os; do compare $cc -- $o; done
        compare $cc -- -O2 -fPIC
        compare $cc -- -O2 -fno-omit-frame-pointer
    done
    verdict
}

@test "aarch64: the same instructions, by gcc, g++ and clang++; by clang in C no more loads, calls, branches" {
    need aarch64-linux-gnu-gcc aarch64-linux-gnu-objdump clang
    objdump=--objdump=aarch64-linux-gnu-objdump
    for o in -O1 -O2 -O3 -Os; do
        compare aarch64-linux-gnu-gcc $objdump --barrier=named_pair -- $o
        compare aarch64-linux-gnu-g++ $objdump --barrier=named_pair -- $o
        compare "clang++ --target=aarch64-linux-gnu" $objdump -- $o
        compare "clang --target=aarch64-linux-gnu" $objdump --kinds -- $o
    done
    verdict
}

@test "the comparison notices a load, a call, a branch and a lost inlining" {
    cat >"$WORK/a.c" <<'END'
extern unsigned g; void h(void);
unsigned f(unsigned a) { return a + 1; }
END
    gcc -O2 -c "$WORK/a.c" -o "$WORK/without.o"
    for body in 'return a + g;' 'h(); return a + 1;' 'if (a == 7) __builtin_trap(); return a + 1;' 'return (a ^ 5) + 1;'; do
        printf 'extern unsigned g; void h(void);\nunsigned f(unsigned a) { %s }\n' "$body" >"$WORK/b.c"
        gcc -O2 -c "$WORK/b.c" -o "$WORK/with.o"
        run "$PROBE_DIR/compare-code.py" "$WORK/with.o" "$WORK/without.o"
        [ "$status" -eq 1 ] || complain "not noticed: $body"
    done
    printf '__attribute__((noinline)) static unsigned s(unsigned a) { return a + 1; }\nunsigned f(unsigned a) { return s(a); }\n' \
        >"$WORK/b.c"
    gcc -O2 -c "$WORK/b.c" -o "$WORK/with.o"
    run "$PROBE_DIR/compare-code.py" "$WORK/with.o" "$WORK/without.o"
    [ "$status" -eq 1 ]
    verdict
}

@test "SCOPE_DISABLE leaves no note, evaluates nothing, and needs no ELF" {
    need clang
    cat >"$WORK/off.c" <<'END'
#define SCOPE_DISABLE
#include "scope_probe.h"
const char *never(void);
const char *never(void) { __builtin_trap(); }
int main(void)
{
    const char *used_nowhere_else = "x";
    SP_PROBE(a);
    SP_REGION("b");
    SP_BEGIN(c);
    SP_END(c);
    SP_BEGIN_NAMED("d");
    SP_END_NAMED("d");
    SP_PROBE_DYNAMIC(never());
    SP_BEGIN_DYNAMIC(never());
    SP_END_DYNAMIC(used_nowhere_else);
    return 0;
}
END
    for cc in gcc clang g++ clang++; do
        lang="-x c"
        is_cxx $cc && lang="-x c++"
        $cc $lang $WARN -I"$INCLUDE" "$WORK/off.c" -o "$WORK/off" || complain "$cc"
        "$WORK/off" || complain "$cc: evaluates"
        if readelf -SW "$WORK/off" | grep -q stapsdt; then complain "$cc: notes"; fi
    done
    sed '1d' "$WORK/off.c" >"$WORK/mac.c"
    clang --target=x86_64-apple-darwin -fsyntax-only -nostdinc -I"$INCLUDE" "$WORK/mac.c"
    clang --target=x86_64-pc-windows-msvc -fsyntax-only -nostdinc -I"$INCLUDE" "$WORK/mac.c"
    verdict
}
