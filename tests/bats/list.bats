#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 300

bats_require_minimum_version 1.5.0
load cli_helper

# The independent reader of the notes is tests/probe/list-notes.py.
same_as_notes() {
    both --list --json -- "$1"
    [ "$status" -eq 0 ] || { echo "$1: status $status: $err"; return 1; }
    "$PYTHON3" "$TOP/tests/bats/compare-list.py" out "$1"
}

# source NAME [PROVIDED]: a C program with a few regions
write_program() {
    cat >"$1.c" <<'C'
#include <scope_probe.h>
static inline int twice(int x) { SP_PROBE(twice); return 2 * x; }
int main(int argc, char **argv)
{
    SP_BEGIN(outer);
    int r = twice(argc);
    { SP_REGION("two words, and more"); r += twice(r); }
    SP_PROBE_DYNAMIC(argv[0]);
    SP_END(outer);
    return r == 4711;
}
C
}

@test "the truth programs: each site, kind, file and line as an independent reader has them" {
    n=0
    for program in "$APPS"/*; do
        [ -x "$program" ] && [ -f "$program" ] || continue
        case $program in *.so) continue ;; esac
        same_as_notes "$program"
        n=$((n + 1))
    done
    [ "$n" -ge 15 ]
}

@test "the same for gcc and clang, -O0 to -O3, LTO, static, fixed address" {
    write_program p
    n=0
    for cc in gcc clang; do
        command -v "$cc" >/dev/null || continue
        for flags in -O0 -O2 -O3 '-O3 -flto' '-O2 -static' '-O2 -no-pie -fno-pie'; do
            # shellcheck disable=SC2086 # several words
            "$cc" $flags -I "$TOP/include" -o p p.c 2>compiler || continue # no LTO plugin, no static libc
            same_as_notes ./p
            n=$((n + 1))
        done
    done
    [ "$n" -ge 4 ]
}

@test "the table: provider, region, sites, source, file" {
    write_program p
    gcc -O2 -I "$TOP/include" -o p p.c
    both --list -- ./p
    [ "$status" -eq 0 ] && [ -z "$err" ]
    head -1 out | grep -qE '^PROVIDER +REGION +SITES +SOURCE +FILE$'
    grep -qE "^scope +outer +1\+1 +p.c:5 +$WORK/p\$" out
    grep -qE "^scope +twice +2\+2 +p.c:2 " out
    grep -qE '^scope +two words, and more +1\+1 +p.c:7 ' out
    grep -qE '^scope +\(names known at run time\) +1\+1 +p.c:8 ' out
}

@test "--csv is CSV" {
    write_program p
    gcc -O2 -I "$TOP/include" -o p p.c
    both --list --csv -- ./p
    [ "$status" -eq 0 ]
    "$PYTHON3" - "$WORK/p" <<'P'
import csv, sys
rows = list(csv.DictReader(open("out", newline="")))
by = {r["region"]: r for r in rows}
assert by["two words, and more"]["source_line"] == "7", rows
assert by["twice"]["begin_sites"] == "2" and by["twice"]["file"] == sys.argv[1]
assert len(rows) == 4
P
}

@test "--region and --exclude choose" {
    write_program p
    gcc -O2 -I "$TOP/include" -o p p.c
    both --list --csv --region 't*' --exclude '*words*' -- ./p
    [ "$(cut -d, -f2 out | tr '\n' ' ')" = 'region twice (names known at run time) ' ]
}

@test "libraries that the program links are listed with their own path" {
    mkdir lib
    printf '#include <scope_probe.h>\nint f(void) { SP_PROBE(in_library); return 1; }\n' >f.c
    printf 'int f(void);\nint main(void) { return f(); }\n' >m.c
    gcc -O2 -fPIC -shared -I "$TOP/include" -o lib/libf.so f.c
    # shellcheck disable=SC2016 # the loader expands it
    gcc -O2 -o origin m.c -Llib -lf '-Wl,-rpath,$ORIGIN/lib'
    gcc -O2 -o plain m.c -Llib -lf
    both --list -- ./origin
    [ "$status" -eq 0 ]
    grep -qE "^scope +in_library .* $WORK/lib/libf.so\$" out
    # not found: said, with the reason that sudo makes likely
    both --list -- ./plain
    [ "$status" -eq 1 ]
    grep -q "libf.so was not found; LD_LIBRARY_PATH" err
    LD_LIBRARY_PATH=$WORK/lib both --list -- ./plain
    [ "$status" -eq 0 ]
    grep -q in_library out
    both --list --json -- ./plain
    [ "$("$PYTHON3" -c 'import json; print(json.load(open("out"))["missing_libraries"][0]["name"])')" = libf.so ]
}

@test "a script: its interpreter is what runs" {
    write_program p
    gcc -O2 -I "$TOP/include" -o p p.c
    printf '#!%s\n' "$WORK/p" >script
    chmod 755 script
    both --list -- ./script
    [ "$status" -eq 0 ]
    grep -qE "outer .* $WORK/p\$" out
}

@test "found in PATH; not found says where it is" {
    write_program p
    gcc -O2 -I "$TOP/include" -o p p.c
    PATH=$WORK:$PATH both --list -- p
    [ "$status" -eq 0 ]
    both --list -- p
    [ "$status" -eq 125 ]
    says "p: not found in PATH" "./p"
    both --list -- no-such-program
    [ "$status" -eq 125 ]
    says "no-such-program: not found in PATH"
}

@test "no privilege is needed for a program, nor for one's own process" {
    need_root
    need setpriv
    write_program p
    sed -i 's/return r == 4711/for (;;) ;/' p.c
    gcc -O2 -I "$TOP/include" -o p p.c
    cp "$SCOPE_BPF" copy
    as_nobody ./copy --list -- ./p | grep -q outer
    start setpriv --reuid=65534 --regid=65534 --clear-groups ./p
    wait_for grep -q "$WORK/p" "/proc/$pid/maps"
    as_nobody ./copy --list -p "$pid" | grep -qE "outer .* $WORK/p\$"
}

@test "a process: what it has mapped, also deleted or replaced" {
    need_root
    write_program p
    sed -i 's/return r == 4711/for (;;) ;/' p.c
    gcc -O2 -I "$TOP/include" -o p p.c
    start ./p
    wait_for grep -q "$WORK/p" "/proc/$pid/maps"
    both --list -p "$pid"
    [ "$status" -eq 0 ]
    grep -qE "outer .* $WORK/p\$" out
    rm p
    both --list -p "$pid"
    grep -qE "outer .* $WORK/p \(deleted\)\$" out
    # another program under its name does not fool us
    cp /bin/true p
    both --list --json -p "$pid"
    grep -q '"outer"' out
}

@test "several processes of one program: listed once" {
    start "$APPS/spin" 60
    first=$pid
    start "$APPS/spin" 60
    wait_for grep -q /spin "/proc/$pid/maps"
    wait_for grep -q /spin "/proc/$first/maps"
    both --list --csv -p "$first,$pid"
    [ "$status" -eq 0 ]
    [ "$(wc -l <out)" -eq 2 ]
}

@test "no such process, a kernel thread, another user's process" {
    need_root
    need setpriv
    both --list -p 4194304
    [ "$status" -eq 125 ]
    says "there is no process 4194304"
    both --list -p 2
    [ "$status" -eq 125 ]
    says "process 2" "kernel thread"
    cp "$SCOPE_BPF" copy
    start sleep 60
    SCOPE_BPF=./denied
    printf '#!/bin/sh\nexec setpriv --reuid=65534 --regid=65534 --clear-groups ./copy "$@"\n' >denied
    chmod 755 denied
    both --list -p "$pid"
    [ "$status" -eq 125 ]
    says "process $pid belongs to another user" "run as root"
}

@test "a program without probes: says what it found instead" {
    printf 'int main(void) { return 0; }\n' >p.c
    gcc -o p p.c
    both --list -- ./p
    [ "$status" -eq 1 ] && [ -z "$out" ]
    says "./p: no regions in" "files" "SP_PROBE"
    both --list --json -- ./p
    [ "$status" -eq 1 ]
    [ "$("$PYTHON3" -c 'import json; print(json.load(open("out"))["regions"])')" = "[]" ]
}

@test "probes of others are named, with their number" {
    need readelf g++
    printf '#include <stdexcept>\nint main() { try { throw std::runtime_error(""); } catch (...) { } }\n' >p.cc
    g++ -o p p.cc
    lib=$(ldd p | awk '/libstdc\+\+/ { print $3 }')
    n=$(readelf -nW "$lib" | awk '/Provider: libstdcxx/ { getline; print }' | sort -u | wc -l)
    [ "$n" -gt 0 ] || skip "this libstdc++ has no probes"
    both --list -- ./p
    [ "$status" -eq 1 ]
    says "only probes of: libstdcxx ($n)"
    both --list -- "$APPS/throw"
    [ "$status" -eq 0 ]
    grep -qx "also has probes of: libstdcxx ($n)" out
}

@test "a stripped program: GNU strip keeps the probes, llvm-strip does not, and it is said" {
    need llvm-strip
    write_program p
    gcc -O2 -I "$TOP/include" -o p p.c
    cp p gnu
    strip gnu
    same_as_notes ./gnu
    llvm-strip p
    both --list -- ./p
    [ "$status" -eq 1 ]
    says "./p" "stripped" "llvm-strip --keep-section=.note.stapsdt"
}

# patch FILE OFFSET HEXBYTES
patch() {
    "$PYTHON3" -c 'import sys
f = open(sys.argv[1], "r+b"); f.seek(int(sys.argv[2])); f.write(bytes.fromhex(sys.argv[3]))' "$@"
}

@test "a site that is no nop is refused by name; the others stay" {
    write_program p
    gcc -O2 -I "$TOP/include" -o p p.c
    both --list --json -- ./p
    offset=$("$PYTHON3" -c 'import json
print(next(r for r in json.load(open("out"))["regions"] if r["name"] == "outer")["sites"][0]["file_offset"])')
    patch p "$offset" cc
    both --list -- ./p
    [ "$status" -eq 0 ]
    says "$WORK/p" "scope:outer__begin" "refused"
    grep -qE '^scope +twice +2\+2' out
    both --list --json -- ./p
    [ "$("$PYTHON3" -c 'import json; print(json.load(open("out"))["refused"][0]["probe"])')" = outer__begin ]
}

@test "notes with impossible sizes: one line, the target is never run" {
    need readelf
    write_program p
    gcc -O2 -I "$TOP/include" -o p p.c
    offset=$(readelf -SW p | sed -n 's/.*\.note\.stapsdt *NOTE *[0-9a-f]* \([0-9a-f]*\).*/\1/p')
    patch p "$((16#$offset))" ffffff7f
    both --list -- ./p
    [ "$status" -eq 1 ]
    grep -q "$WORK/p: " err
    run ! grep -v '^scope-bpf: ' err
}

@test "names cannot play with the terminal; JSON keeps them" {
    printf '#include <scope_probe.h>\nint main(void) { SP_REGION("esc\033[31m"); return 0; }\n' >p.c
    gcc -O2 -I "$TOP/include" -o p p.c 2>compiler || skip "the header refuses such names"
    both --list -- ./p
    [ "$(tr -d '[:print:]\n' <out | wc -c)" -eq 0 ]
    [ "$(wc -l <out)" -eq 2 ]
}

@test "no program at all: a folder, a text, a file that may not be read, a 32-bit program" {
    need_root
    need setpriv
    both --list -- /
    [ "$status" -eq 125 ]
    says "/"
    printf 'hello\n' >text
    both --list -- ./text
    [ "$status" -eq 125 ]
    says "/text: no ELF file"
    cp /bin/true secret
    chmod 711 secret
    cp "$SCOPE_BPF" copy
    status=0
    as_nobody ./copy --list -- ./secret 2>err || status=$?
    [ "$status" -eq 125 ]
    says "./secret: cannot be read: Permission denied"
    cp /bin/true small
    patch small 4 01
    both --list -- ./small
    [ "$status" -eq 125 ]
    says "/small: "
}

@test "what this build does not have is said" {
    both --list=events
    [ "$status" -eq 125 ]
    says "--list=events"
}
