#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2086,SC2034 # flags are lists of words
# timeout: 300
# Where the header meets other things: OpenMP, sys/sdt.h, dlopen, -masm=intel, every warning that there is.

load probe_helper

@test "OpenMP constructs, variable-length frames, statement expressions: exact counts" {
    for cc in "gcc -std=gnu11 -x c" "g++ -x c++"; do
        for o in -O0 -O2 -O3; do
            $cc $o -fopenmp -I"$INCLUDE" "$PROBE_DIR/openmp.c" -o "$WORK/openmp"
            "$PROBE_DIR/list-notes.py" --check "$WORK/openmp" || complain "$cc $o: notes"
            OMP_NUM_THREADS=3 timeout 60 "$PROBE_DIR/count-hits.py" --check "$WORK/openmp" || complain "$cc $o: hits"
        done
    done
    verdict
}

@test "no warning of any kind in a program that asks for all of them" {
    need clang
    cat >"$WORK/w.c" <<'END'
#include "scope_probe.h"
int f(int x, const char *s);
inline int external_inline(int x);
inline int external_inline(int x) { SP_PROBE(a); return x + 1; }
int f(int x, const char *s)
{
    SP_PROBE(a);
    SP_REGION("b c");
    SP_PROBE_DYNAMIC(s);
    SP_BEGIN(d);
    SP_END(d);
    SP_BEGIN_NAMED("e f");
    SP_END_NAMED("e f");
    SP_BEGIN_DYNAMIC(s);
    SP_END_DYNAMIC(s);
    return external_inline(x);
}
END
    both="-Wall -Wextra -Wshadow -Wpedantic -pedantic-errors -Wconversion -Wsign-conversion -Wundef -Wredundant-decls
        -Wmissing-declarations -Wcast-qual -Wcast-align -Wformat=2 -Wnull-dereference -Wduplicated-cond -Wlogical-op
        -Winline -Wstack-protector -Wunused-macros -Wvla -Werror"
    for o in -O0 -O2 -O3; do
        gcc -std=c11 $o $both -Wnested-externs -Wstrict-prototypes -Wmissing-prototypes -Wjump-misses-init -Wtrampolines \
            -Wbad-function-cast -Wunsuffixed-float-constants -I"$INCLUDE" -c "$WORK/w.c" -o "$WORK/w.o" || complain "gcc $o"
        g++ -x c++ -std=c++11 $o $both -Wold-style-cast -Wuseless-cast -Weffc++ -Wzero-as-null-pointer-constant \
            -Wctor-dtor-privacy -I"$INCLUDE" -c "$WORK/w.c" -o "$WORK/w.o" || complain "g++ $o"
    done
    # what is left of clang's: the header is declarations among statements, of a language newer than C++98
    clang -std=c11 -Weverything -Werror -Wno-declaration-after-statement -Wno-used-but-marked-unused -I"$INCLUDE" \
        -c "$WORK/w.c" -o "$WORK/w.o" || complain "clang"
    clang++ -x c++ -std=c++11 -Weverything -Werror -Wno-c++98-compat -Wno-c++98-compat-pedantic -I"$INCLUDE" \
        -c "$WORK/w.c" -o "$WORK/w.o" || complain "clang++"
    verdict
}

@test "sys/sdt.h in the same file, before and behind: both kinds of probes stay" {
    echo '#include <sys/sdt.h>' | gcc -E - >/dev/null 2>&1 || skip "sys/sdt.h is not installed"
    need clang ld.gold ld.lld
    cat >"$WORK/sdt.c" <<'END'
#ifdef FIRST
#include "scope_probe.h"
#endif
#include <sys/sdt.h>
#include "scope_probe.h"
int main(int argc, char **argv)
{
    (void)argv;
    DTRACE_PROBE1(mine, start, argc);
    SP_PROBE(solve);
    DTRACE_PROBE(mine, stop);
    return 0;
}
END
    for cc in "gcc -x c" "clang -x c" "g++ -x c++"; do
        for how in "" -DFIRST "-fuse-ld=gold -Wl,--gc-sections" "-fuse-ld=lld -Wl,--gc-sections"; do
            $cc -O2 $how -I"$INCLUDE" "$WORK/sdt.c" -o "$WORK/sdt" || complain "$cc $how: does not build"
            "$PROBE_DIR/list-notes.py" --check "$WORK/sdt" || complain "$cc $how"
            [ "$(readelf -n "$WORK/sdt" | grep -c 'Provider: mine')" -eq 2 ] || complain "$cc $how: theirs are gone"
        done
    done
    verdict
}

@test "-masm=intel: the operands have another text and mean the same" {
    need clang
    for cc in gcc clang "g++ -x c++" "clang++ -x c++"; do
        for o in -O0 -O2; do
            $cc $o -masm=intel -pthread -I"$INCLUDE" "$APPS/recurse_longjmp.c" -o "$WORK/intel"
            "$PROBE_DIR/list-notes.py" --check "$WORK/intel" || complain "$cc $o: notes"
            timeout 60 "$PROBE_DIR/count-hits.py" --check "$WORK/intel" 40 20 3 || complain "$cc $o: hits"
            $cc $o -masm=intel -pthread -I"$INCLUDE" "$APPS/dynamic.c" -o "$WORK/intel"
            "$PROBE_DIR/list-notes.py" --check "$WORK/intel" || complain "$cc $o: notes"
            timeout 60 "$PROBE_DIR/count-hits.py" --check "$WORK/intel" basic 3 || complain "$cc $o: hits"
        done
    done
    verdict
}

@test "two libraries and a program with the same region names: each file has its own sites and its own base" {
    printf '#include "scope_probe.h"\nint NAME(int x);\nint NAME(int x) { SP_PROBE(same); return x + 1; }\n' >"$WORK/lib.c"
    printf '#include "scope_probe.h"\nint one(int); int two(int);\nint main(void) { SP_PROBE(same); return one(0) + two(0) - 2; }\n' \
        >"$WORK/main.c"
    for name in one two; do
        gcc -O2 -fPIC -shared -DNAME=$name -I"$INCLUDE" "$WORK/lib.c" -o "$WORK/lib$name.so"
    done
    gcc -O2 -rdynamic -I"$INCLUDE" "$WORK/main.c" "$WORK/libone.so" "$WORK/libtwo.so" "-Wl,-rpath,$WORK" -o "$WORK/main"
    "$WORK/main"
    for file in main libone.so libtwo.so; do
        "$PROBE_DIR/list-notes.py" --check "$WORK/$file"
        [ "$("$PROBE_DIR/list-notes.py" --names "$WORK/$file" | tr '\n' ' ')" = "1 same__begin 1 same__end " ]
        run nm -D "$WORK/$file"
        [[ $output != *stapsdt* ]]
    done
    "$PROBE_DIR/count-hits.py" "$WORK/main" | grep -q '"same": {"calls": 3, "complete": 3, "abandoned": 0'
}

@test "a thousand regions in one file cost less than three milliseconds each" {
    need clang
    /usr/bin/python3 - >"$WORK/many.c" <<'END'
print('#include "scope_probe.h"\nvolatile int s;')
for i in range(1000):
    print(f"void f{i}(void); void f{i}(void) {{ SP_PROBE(region_{i}); s = {i}; }}")
END
    for cc in gcc clang; do
        start=$(date +%s%N)
        $cc -O2 -shared -fPIC -I"$INCLUDE" "$WORK/many.c" -o "$WORK/many.so"
        ms=$((($(date +%s%N) - start) / 1000000))
        echo "$cc: $ms ms"
        [ $ms -lt 3000 ] || [ "$(nproc)" -lt "$(cut -d. -f1 /proc/loadavg)" ] || complain "$cc: $ms ms"
        [ "$("$PROBE_DIR/list-notes.py" "$WORK/many.so" | grep -c __begin)" -eq 1000 ] || complain "$cc: regions are gone"
    done
    verdict
}
