#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2086,SC2034 # flags are lists of words; RUN and LEVELS are read by helpers
# timeout: 3600
# The full product of languages, levels, ways of linking and linkers, notes and hits. For `make check-long`.

load probe_helper

# the newest clang beside the distribution's, and older gccs, where they are installed
compilers() {
    local cc
    for cc in gcc gcc-11 g++ g++-11 clang clang++ clang-16 clang-19 clang++-16 clang++-19; do
        command -v "$cc" >/dev/null && echo "$cc"
    done
}

standards() {
    if is_cxx "$1"; then echo "c++11 c++14 c++17 c++20"; else echo "c11 c17 c2x gnu11"; fi
}

# counted CC FLAGS...: combine, and the hits too
counted() {
    combine "$@"
    [ -x "$WORK/matrix" ] || return 0
    timeout 60 "$PROBE_DIR/count-hits.py" --check "$WORK/matrix" >"$WORK/log" 2>&1 ||
        complain "$* (hits): $(tail -3 "$WORK/log" | tr '\n' ';')"
}

@test "languages and levels, without a warning" {
    for cc in $(compilers); do
        for std in $(standards "$cc"); do
            for o in -O0 -O1 -O2 -O3 -Os -Og; do
                counted "$cc" "-std=$std" $o $WARN
            done
        done
    done
    verdict
}

@test "linkers, sections collected and folded" {
    for cc in $(compilers); do
        for ld in bfd gold lld mold; do
            for o in -O0 -O2 -Os; do
                for link in "-fPIE -pie" "-fno-pie -no-pie" "-static" "-static-pie -fPIE"; do
                    counted "$cc" $o $link -fuse-ld=$ld -ffunction-sections -fdata-sections -Wl,--gc-sections
                done
                [ $ld = bfd ] && continue
                counted "$cc" $o -fuse-ld=$ld -ffunction-sections -Wl,--gc-sections -Wl,--icf=all
            done
        done
    done
    verdict
}

@test "link-time optimisation" {
    for cc in $(compilers); do
        for o in -O0 -O1 -O2 -O3 -Os; do
            for link in "" "-static" "-fPIE -pie -Wl,--gc-sections -ffunction-sections"; do
                case $cc in
                    clang*-*) ld=-fuse-ld=lld-${cc##*-} ;;
                    clang*) ld=-fuse-ld=lld ;;
                    *) ld= ;;
                esac
                [ -z "$ld" ] || command -v "ld.${ld#-fuse-ld=}" >/dev/null || continue
                counted "$cc" $o -flto $link $ld
            done
        done
    done
    verdict
}

@test "sanitizers" {
    for cc in gcc clang g++ clang++; do
        for o in -O0 -O1 -O2; do
            for san in address undefined thread leak address,undefined; do combine $cc $o "-fsanitize=$san"; done
        done
    done
    verdict
}

@test "musl" {
    need musl-gcc
    for o in -O0 -O1 -O2 -O3 -Os; do
        for link in "" -static "-static-pie -fPIE" "-no-pie -fno-pie"; do
            counted musl-gcc $o $link
        done
    done
    verdict
}

@test "aarch64" {
    need aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ qemu-aarch64 clang
    RUN="qemu-aarch64 -L /usr/aarch64-linux-gnu"
    for cc in aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ "clang --target=aarch64-linux-gnu" \
        "clang++ --target=aarch64-linux-gnu"; do
        std=c11
        is_cxx "$cc" && std=c++11
        for o in -O0 -O1 -O2 -O3 -Os; do
            for link in "" "-static" "-no-pie -fno-pie" "-ffunction-sections -Wl,--gc-sections"; do
                combine "$cc" -std=$std $o $WARN $link
            done
        done
    done
    for o in -O2 -O3; do combine aarch64-linux-gnu-gcc $o -flto; done
    for ld in lld mold; do
        combine "clang --target=aarch64-linux-gnu" -O2 -fuse-ld=$ld -ffunction-sections -Wl,--gc-sections -Wl,--icf=all
    done
    verdict
}
