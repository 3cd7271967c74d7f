#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2086,SC2034 # flags are lists of words; RUN and LEVELS are read by helpers
# timeout: 400
# Wrong uses do not compile; what compiles has exactly the name that was written.

load probe_helper

# bodies FILE: one statement list a line, each inside a function of its own program
compile() {
    local cc=$1 body=$2 lang="-x c"
    is_cxx "$cc" && lang="-x c++ -std=c++11"
    printf '#include "scope_probe.h"\nint f(int x, const char *s);\nint f(int x, const char *s)\n{\n(void)s;\n%s\nreturn x;\n}\n' \
        "$body" >"$WORK/case.c"
    $cc $lang ${FLAGS:-} -I"$INCLUDE" -c "$WORK/case.c" -o "$WORK/case.o" >"$WORK/log" 2>&1
}

refused() {
    local cc
    for cc in ${COMPILERS:-gcc clang g++ clang++}; do
        if compile "$cc" "$1"; then complain "$cc takes: $1"; fi
    done
}

accepted() {
    local cc
    for cc in ${COMPILERS:-gcc clang g++ clang++}; do
        compile "$cc" "$1" || complain "$cc refuses: $1: $(grep -m1 error "$WORK/log")"
    done
}

long_name() { printf 'n%.0s' $(seq "$1"); }

@test "names that are no identifiers are refused by SP_PROBE, SP_BEGIN and SP_END" {
    need clang
    for m in SP_PROBE SP_BEGIN; do
        for name in 'a b' 'a-b' 'a.b' 'a::b' '"a"' '' 'a+1' '(a)' 's[0]' 'a, b' __a "$(long_name 256)"; do
            refused "$m($name);"
        done
        accepted "$m(a);"
        accepted "$m($(long_name 255));"
        accepted "$m(_a);"
    done
    refused 'SP_END(a-b);'
    refused 'SP_END(__a);'
    accepted 'SP_END(a);'
    verdict
}

@test "literals that could become another name are refused" {
    need clang
    for m in SP_REGION SP_BEGIN_NAMED; do
        for name in '""' 'L"a"' 'u"a"' 'u"ä"' 'U"a"' 'u8"a"' '"a" "b"' 'x' 's' 'a' '42' '"a\\\\b"' '"a\\tb"' '"a\\nb"' '"a\\"b"' \
            '"\\x41"' '"\\101"' '"\\u00e4"' '"a\\0b"' '"\\?"' '"\\a"' '"\\e"' '(char *)0' '"__a"' "\"$(long_name 256)\"" \
            's + 1' '"a", "b"' '("a")'; do
            # printf of the body must not eat the backslashes
            refused "$m(${name//\\\\/\\});"
        done
        accepted "$m(\"a b\");"
        accepted "$m(\"$(long_name 255)\");"
    done
    refused 'SP_END_NAMED("a" "b");'
    refused 'SP_END_NAMED("__a");'
    COMPILERS="g++ clang++" refused 'SP_REGION(R"(a)");'
    accepted $'#define NAME "a name"\nSP_REGION(NAME);'
    verdict
}

@test "a block's region is a declaration: not the body of an if, not at file scope" {
    need clang
    for region in 'SP_PROBE(a)' 'SP_REGION("a b")' 'SP_PROBE_DYNAMIC(s)'; do
        refused "if (x) $region;"
        refused "for (;;) $region;"
        refused "if (x) $region; else x++;"
        accepted "if (x) { $region; x++; }"
        COMPILERS="gcc clang" refused "} $region; int g(void); int g(void) { int x = 0;"
    done
    for point in 'SP_BEGIN(a)' 'SP_END_NAMED("a b")' 'SP_BEGIN_DYNAMIC(s)'; do
        accepted "if (x) $point; else x++;"
    done
    verdict
}

@test "C++ refuses a jump into a region, and a region in a constexpr function" {
    need clang++
    COMPILERS="g++ clang++"
    refused 'switch (x) { case 1: SP_PROBE(a); x++; break; case 2: x--; }'
    refused 'goto in; { SP_PROBE(a); in: x++; }'
    refused '} constexpr int g(int x) { SP_PROBE(a);'
    FLAGS=-std=c++20 refused '} constexpr int g(int x) { SP_PROBE(a);'
    refused 'SP_PROBE_DYNAMIC(42);'
    verdict
}

@test "odd names are exactly what was written, in both languages by both compilers" {
    need clang
    "$PROBE_DIR/list-notes.py" --help >/dev/null
    for cc in gcc clang g++ clang++; do
        for o in -O0 -O2; do
            lang="-x c"
            is_cxx $cc && lang="-x c++"
            $cc $lang $o $WARN -I"$INCLUDE" "$APPS/names.c" -o "$WORK/names" || complain "$cc $o"
            "$WORK/names" 1 >"$WORK/truth" && "$PROBE_DIR/list-notes.py" --check --json "$WORK/names" >"$WORK/notes" ||
                complain "$cc $o: check"
            /usr/bin/python3 - "$WORK/truth" "$WORK/notes" <<'END' || complain "$cc $o: names differ"
import json, sys
truth = set(json.load(open(sys.argv[1]))["regions"])
notes = {s["name"].removesuffix("__begin") for s in json.load(open(sys.argv[2])) if s["line"] is not None}
print(truth ^ notes)
sys.exit(truth != notes or len(truth) < 20)
END
        done
    done
    verdict
}

@test "names are the written ones, also where they are macros" {
    need clang
    for cc in gcc clang g++ clang++; do
        compile $cc $'#define solve other\nSP_PROBE(solve); SP_BEGIN(linux); SP_END(linux); SP_BEGIN(unix); SP_END(unix);'
        strings -a "$WORK/case.o" >"$WORK/strings"
        for name in solve__begin linux__begin linux__end unix__begin; do
            grep -qx "$name" "$WORK/strings" || complain "$cc: no $name"
        done
    done
    verdict
}

@test "SCOPE_FILE, #line and -ffile-prefix-map reach the note" {
    need clang
    for cc in gcc clang g++ clang++; do
        lang="-x c"
        is_cxx $cc && lang="-x c++"
        cp "$APPS/fib.c" "$APPS/truth.h" "$WORK/"
        source() { "$PROBE_DIR/list-notes.py" "$WORK/fib" | awk '$2 == "fib__begin" { print $4; exit }'; }
        line=$(grep -n 'SP_PROBE(fib)' "$WORK/fib.c" | cut -d: -f1)
        $cc $lang -I"$INCLUDE" "$WORK/fib.c" -o "$WORK/fib"
        [ "$(source)" = "$WORK/fib.c:$line" ] || complain "$cc: $(source)"
        $cc $lang "-ffile-prefix-map=$WORK=/src" -I"$INCLUDE" "$WORK/fib.c" -o "$WORK/fib"
        [ "$(source)" = "/src/fib.c:$line" ] || complain "$cc: $(source)"
        $cc $lang '-DSCOPE_FILE="other.f90"' -I"$INCLUDE" "$WORK/fib.c" -o "$WORK/fib"
        [ "$(source)" = "other.f90:$line" ] || complain "$cc: $(source)"
        sed -i 's/^static long fib/#line 700 "made.y"\n&/' "$WORK/fib.c"
        $cc $lang -I"$INCLUDE" "$WORK/fib.c" -o "$WORK/fib"
        [ "$(source)" = "made.y:702" ] || complain "$cc: $(source)"
    done
    verdict
}

@test "two regions on one line, nested ones, -Wshadow and -Wextra" {
    need clang
    FLAGS=$WARN
    accepted '#define TWO SP_PROBE(a); SP_PROBE(b); { SP_PROBE(a); SP_REGION("c d"); SP_REGION("c d"); }
TWO'
    accepted 'SP_PROBE_DYNAMIC(s); { SP_PROBE_DYNAMIC(s); SP_BEGIN_DYNAMIC(s); } SP_END_DYNAMIC(s);'
    verdict
}
