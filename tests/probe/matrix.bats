#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2086,SC2034 # flags are lists of words; RUN and LEVELS are read by helpers
# timeout: 400
# The header by each compiler, level, way of linking and machine: the notes say what the program says of itself.
# The full product of the options is in matrix.long.bats.

load probe_helper

levels="-O0 -O1 -O2 -O3 -Os"

@test "C by gcc: C11 at each level, C17, C2x, GNU C, without a warning" {
    for o in $levels; do combine gcc -std=c11 $o $WARN; done
    for std in c17 c2x gnu11; do combine gcc -std=$std -O2 $WARN; done
    verdict
}

@test "C by clang: C11 at each level, C17, C2x, GNU C, without a warning" {
    need clang
    for o in $levels; do combine clang -std=c11 $o $WARN; done
    for std in c17 c2x gnu11; do combine clang -std=$std -O2 $WARN; done
    verdict
}

@test "C++ by g++: C++11 at each level, C++14 to C++20, without a warning" {
    for o in $levels; do combine g++ -std=c++11 "$o" $WARN; done
    for std in c++14 c++17 c++20; do combine g++ -std=$std -O2 $WARN; done
    verdict
}

@test "C++ by clang++: C++11 at each level, C++14 to C++20, without a warning" {
    need clang++
    for o in $levels; do combine clang++ -std=c++11 "$o" $WARN; done
    for std in c++14 c++17 c++20; do combine clang++ -std=$std -O2 $WARN; done
    verdict
}

@test "PIE, fixed address, static, static PIE" {
    need clang
    for cc in gcc clang g++ clang++; do
        for link in "-fPIE -pie" "-fno-pie -no-pie" "-static" "-static-pie -fPIE"; do
            combine $cc -O2 $link
        done
    done
    verdict
}

@test "link-time optimisation" {
    need clang ld.lld ld.gold
    combine gcc -O2 -flto
    combine g++ -O3 -flto
    combine gcc -O2 -flto -fuse-ld=gold
    combine clang -O2 -flto -fuse-ld=lld
    combine clang -O2 -flto=thin -fuse-ld=lld
    combine clang++ -O3 -flto -fuse-ld=lld
    verdict
}

@test "a shared library has its own notes" {
    need clang
    for cc in gcc clang g++ clang++; do
        lang="-x c"
        is_cxx $cc && lang="-x c++"
        $cc $lang -O2 -fPIC -shared -I"$INCLUDE" "$PROBE_DIR/matrix_unit.c" -o "$WORK/libunit.so"
        $cc $lang -O2 -I"$INCLUDE" "$PROBE_DIR/matrix.c" -x none "$WORK/libunit.so" -rdynamic \
            "-Wl,-rpath,$WORK" -o "$WORK/main"
        "$WORK/main" >"$WORK/truth"
        for file in libunit.so main; do
            "$PROBE_DIR/list-notes.py" --check "$WORK/$file" || complain "$cc $file"
        done
        "$PROBE_DIR/list-notes.py" --names "$WORK/libunit.so" | grep -q 'only_here__begin' || complain "$cc: no only_here"
        grep -vE ' only_here$|matrix_unit' "$WORK/truth" >"$WORK/truth.main"
        "$PROBE_DIR/check-truth.py" "$WORK/main" "$WORK/truth.main" || complain "$cc: main"
    done
    verdict
}

@test "--gc-sections and --icf=all with bfd, gold, lld and mold" {
    need clang ld.bfd ld.gold ld.lld mold
    for cc in gcc clang g++ clang++; do
        for ld in bfd gold lld mold; do
            combine $cc -O2 -ffunction-sections -fdata-sections -fuse-ld=$ld -Wl,--gc-sections
            [ $ld = bfd ] || combine $cc -O2 -ffunction-sections -fuse-ld=$ld -Wl,--gc-sections -Wl,--icf=all
        done
        combine $cc -O0 -ffunction-sections -fuse-ld=gold -Wl,--gc-sections
    done
    verdict
}

@test "sanitizers: address and undefined" {
    need clang
    for cc in gcc clang g++ clang++; do
        combine $cc -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all
        combine $cc -O0 -fsanitize=address
    done
    verdict
}

@test "musl: dynamic, static, static PIE" {
    need musl-gcc
    combine musl-gcc -O2
    combine musl-gcc -O2 -static
    combine musl-gcc -O0 -static-pie -fPIE
    verdict
}

@test "aarch64: gcc and clang, run under qemu-user" {
    need aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ qemu-aarch64 clang
    RUN="qemu-aarch64 -L /usr/aarch64-linux-gnu"
    for o in -O0 -O2; do
        combine aarch64-linux-gnu-gcc $o
        combine aarch64-linux-gnu-g++ $o
        combine "clang --target=aarch64-linux-gnu" $o
        combine "clang++ --target=aarch64-linux-gnu" $o
    done
    combine aarch64-linux-gnu-gcc -O2 -static
    combine aarch64-linux-gnu-gcc -O2 -flto
    combine aarch64-linux-gnu-g++ -O3 -ffunction-sections -Wl,--gc-sections
    combine "clang --target=aarch64-linux-gnu" -O2 -fuse-ld=lld -ffunction-sections -Wl,--gc-sections -Wl,--icf=all
    verdict
}

@test "flags that change code around the sites" {
    need clang
    for cc in gcc clang; do
        for flags in "-fno-omit-frame-pointer" "-fstack-protector-strong" "-fcf-protection=full" "-mno-red-zone" \
            "-finstrument-functions -O2" "-g3 -O2" "-fexceptions -O2" "-fno-inline -O2" "-mcmodel=large -O2"; do
            combine $cc -O1 $flags
        done
    done
    combine g++ -O2 -fno-exceptions -fno-rtti
    combine clang++ -O2 -fno-exceptions
    combine gcc -O2 -pg
    combine gcc -O3 -funroll-loops -march=native
    combine clang -O3 -march=native
    verdict
}

@test "notes survive strip, strip -s and objcopy --strip-all" {
    gcc -O2 -I"$INCLUDE" "$PROBE_DIR/matrix.c" "$PROBE_DIR/matrix_unit.c" -o "$WORK/matrix"
    "$WORK/matrix" >"$WORK/truth"
    for how in "strip" "strip -s" "objcopy --strip-all" "strip --strip-unneeded" "strip -g"; do
        cp "$WORK/matrix" "$WORK/stripped"
        $how "$WORK/stripped" || complain "$how fails"
        "$PROBE_DIR/check-truth.py" "$WORK/stripped" "$WORK/truth" || complain "$how loses notes"
    done
    verdict
}

@test "llvm-strip takes the notes away, --keep-section keeps them" {
    need llvm-strip
    gcc -O2 -I"$INCLUDE" "$PROBE_DIR/matrix.c" "$PROBE_DIR/matrix_unit.c" -o "$WORK/matrix"
    "$WORK/matrix" >"$WORK/truth"
    cp "$WORK/matrix" "$WORK/kept"
    llvm-strip --keep-section=.note.stapsdt "$WORK/kept"
    "$PROBE_DIR/list-notes.py" "$WORK/kept" | grep -q outer__begin
    llvm-strip "$WORK/matrix"
    run "$PROBE_DIR/list-notes.py" "$WORK/matrix"
    [ "$output" = "" ]
}

@test "nothing of the notes is loaded, and nothing is relocated at run time" {
    gcc -O2 -fPIE -pie -I"$INCLUDE" "$APPS/fib.c" -o "$WORK/region"
    gcc -O2 -fPIE -pie -I"$INCLUDE" -DSCOPE_DISABLE "$APPS/fib.c" -o "$WORK/plain"
    relocs() { readelf -rW "$1" | grep -c '^0'; }
    [ "$(relocs "$WORK/plain")" -eq "$(relocs "$WORK/region")" ]
    readelf -SW "$WORK/region" | grep -E '\.note\.stapsdt +NOTE +0{16} '
    run readelf -SW "$WORK/region"
    [[ $output != *nptl_version* ]]
}

@test "relocatable link: ld -r keeps sites and notes" {
    gcc -O2 -c -I"$INCLUDE" "$PROBE_DIR/matrix.c" -o "$WORK/a.o"
    gcc -O2 -c -I"$INCLUDE" "$PROBE_DIR/matrix_unit.c" -o "$WORK/b.o"
    ld -r "$WORK/a.o" "$WORK/b.o" -o "$WORK/both.o"
    gcc "$WORK/both.o" -o "$WORK/matrix"
    "$WORK/matrix" >"$WORK/truth"
    "$PROBE_DIR/check-truth.py" "$WORK/matrix" "$WORK/truth"
    ar rcs "$WORK/libunit.a" "$WORK/b.o"
    gcc "$WORK/a.o" "$WORK/libunit.a" -o "$WORK/matrix"
    "$PROBE_DIR/check-truth.py" "$WORK/matrix" "$WORK/truth"
}
