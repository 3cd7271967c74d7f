#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2086,SC2034 # flags are lists of words; RUN and LEVELS are read by helpers
# timeout: 400
# Hits: breakpoints on the sites, paired by an oracle of the tests, against what the programs counted themselves.
# All levels for all programs: hits.long.bats; the longer product of the options: matrix.long.bats.

load probe_helper

ALL_LEVELS="-O0 -O1 -O2 -O3 -Os"

# hits CC "FLAGS" PROGRAM [ARG...]: build a program of tests/apps (or the matrix) and compare
hits() {
    local cc=$1 flags=$2 program=$3 lang="-x c" units=()
    shift 3
    is_cxx "$cc" && lang="-x c++"
    units=("$APPS/$program.c")
    [ -f "${units[0]}" ] || units=("$APPS/$program.cc")
    [ "$program" = matrix ] && units=("$PROBE_DIR/matrix.c" "$PROBE_DIR/matrix_unit.c")
    $cc $lang $flags -pthread -I"$INCLUDE" "${units[@]}" -o "$WORK/$program" >"$WORK/log" 2>&1 || {
        complain "$cc $flags $program: does not build: $(grep -m1 error "$WORK/log")"
        return 0
    }
    timeout 60 "$PROBE_DIR/count-hits.py" --check "$WORK/$program" "$@" >"$WORK/log" 2>&1 ||
        complain "$cc $flags $program $*: $(tail -3 "$WORK/log" | tr '\n' ';')"
}

all_compilers() {
    need clang
    for cc in gcc clang g++ clang++; do
        for o in ${LEVELS:--O0 -O2}; do hits $cc "$o" "$@"; done
    done
    verdict
}

@test "matrix program: every call of every region, each complete" {
    LEVELS=$ALL_LEVELS all_compilers matrix
}

@test "matrix program with LTO, static, fixed address, sanitizers, musl" {
    need clang ld.lld musl-gcc
    for cc in gcc g++; do
        for f in "-O2 -flto" "-O2 -static" "-O2 -no-pie -fno-pie" "-O1 -fsanitize=undefined"; do hits $cc "$f" matrix; done
    done
    for cc in clang clang++; do
        for f in "-O2 -flto -fuse-ld=lld" "-O2 -static" "-O2 -no-pie -fno-pie" "-O1 -fsanitize=undefined"; do
            hits $cc "$f" matrix
        done
    done
    hits musl-gcc "-O2 -static" matrix
    export ASAN_OPTIONS=detect_leaks=0 # it cannot look for leaks under ptrace
    for cc in gcc clang g++ clang++; do
        for o in -O0 -O2; do
            hits $cc "$o -fsanitize=address" matrix
            hits $cc "$o -fsanitize=address" recurse_longjmp 40 20 3
        done
    done
    verdict
}

@test "inline_four: one inline function in four places, by each compiler and level, the same count" {
    all_compilers inline_four 20
}

@test "fib: recursion" {
    all_compilers fib 8
}

@test "longjmp out of blocks and pairs" {
    all_compilers longjmp 3
}

@test "recursion to 400 with longjmp to 100 and to 3, names mixed" {
    all_compilers recurse_longjmp
}

@test "exceptions out of blocks and pairs" {
    need clang
    for cc in g++ clang++; do
        for o in $ALL_LEVELS; do hits $cc "$o" throw 5; done
    done
    verdict
}

@test "dynamic names: built, changed, long, recursive" {
    all_compilers dynamic basic 6
}

@test "dynamic names: pages never touched, the end of the last page" {
    LEVELS=-O2 all_compilers dynamic untouched
    LEVELS=-O2 all_compilers dynamic edge
}

@test "names: 20 odd literals" {
    all_compilers names 1
}

@test "overlap: the oracle sees b left and then ended" {
    LEVELS=-O2 all_compilers overlap 2
}

@test "pthread_exit inside a region: open in C, complete where the program unwinds" {
    need clang
    for cc in gcc clang; do
        hits $cc -O2 pthread_exit 3 pair
        hits $cc -O2 pthread_exit 3 block
        hits $cc "-O2 -fexceptions" pthread_exit_unwind 3 block
    done
    for cc in g++ clang++; do
        hits $cc -O2 pthread_exit_cxx 3 block
        hits $cc -O2 pthread_exit_cxx 3 pair
    done
    verdict
}

@test "a region around system(), a static program that leaves with _exit" {
    LEVELS=-O2 all_compilers sysregion 2
    hits gcc "-O2 -static" first_region
    verdict
}

@test "aarch64 under qemu-user: the same calls, by gcc, g++ and clang, operands included" {
    need aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ qemu-aarch64 gdb-multiarch clang
    export COUNT_HITS="$PROBE_DIR/count-hits.py"
    for cc in "aarch64-linux-gnu-gcc -x c" "aarch64-linux-gnu-g++ -x c++" "clang --target=aarch64-linux-gnu -x c"; do
        for o in -O0 -O2; do
            for run in "dynamic basic 3" "recurse_longjmp 40 20 3" "names 1"; do
                set -- $run
                program=$1
                shift
                $cc $o -static -pthread -I"$INCLUDE" "$APPS/$program.c" -o "$WORK/$program"
                rm -f "$WORK/socket"
                qemu-aarch64 -g "$WORK/socket" "$WORK/$program" "$@" >"$WORK/truth" &
                qemu=$!
                for _ in $(seq 100); do
                    [ -S "$WORK/socket" ] && break
                    sleep 0.05
                done
                timeout 60 gdb-multiarch -q -nx -batch -x "$PROBE_DIR/aarch64-hits.py" \
                    -iex "py argv = ['$WORK/socket', '$WORK/$program', '$WORK/truth']" >"$WORK/out" 2>&1 || true
                wait $qemu || true
                grep -qx same "$WORK/out" || complain "$cc $o $run: $(tail -3 "$WORK/out" | tr '\n' ';')"
            done
        done
    done
    verdict
}
