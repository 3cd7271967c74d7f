#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2086,SC2034 # flags are lists of words; RUN and LEVELS are read by helpers
# timeout: 300
# Other people's tools list the regions and hit them: readelf, bpftrace, perf, gdb, stap's rules of the format.

load probe_helper

app() { # app NAME [FLAGS...]: build a truth program into $WORK
    local name=$1
    shift
    gcc -g -O2 -pthread "$@" -I"$INCLUDE" "$APPS/$name.c" -o "$WORK/$name"
}

@test "readelf -n lists each site with provider, name and location, and complains of nothing" {
    app names
    readelf -nW "$WORK/names" >"$WORK/out" 2>"$WORK/err"
    [ ! -s "$WORK/err" ]
    sites=$("$PROBE_DIR/list-notes.py" "$WORK/names" | wc -l)
    [ "$(grep -c 'NT_STAPSDT' "$WORK/out")" -eq "$sites" ]
    [ "$(grep -c 'Provider: scope$' "$WORK/out")" -eq "$sites" ]
    grep -qxF '    Name: grüße, 世界 λ → 🚀__begin' "$WORK/out"
    grep -qxF '    Name: 100 % done__end' "$WORK/out"
}

@test "bpftrace lists names with blanks, braces and UTF-8" {
    need bpftrace
    [ "$(id -u)" -eq 0 ] || skip "bpftrace needs root"
    app names
    timeout 30 bpftrace -l "usdt:$WORK/names:*" >"$WORK/out" 2>&1
    "$PROBE_DIR/list-notes.py" --names "$WORK/names" | cut -d' ' -f2- | while IFS= read -r name; do
        grep -qF "scope:$name" "$WORK/out" || { echo "not listed: $name"; exit 1; }
    done
}

# counts PROGRAM 'PROBES { @NAME = count() }' NAME: the number that bpftrace found
bpf_counts() {
    timeout 60 bpftrace -q -o "$WORK/bpf" -e "$2" -c "$1" >"$WORK/truth" 2>"$WORK/err" || { cat "$WORK/err"; return 1; }
}

bpftrace_works() {
    need bpftrace
    [ "$(id -u)" -eq 0 ] || skip "bpftrace needs root"
    gcc -O2 -I"$INCLUDE" "$APPS/fib.c" -o "$WORK/probe"
    timeout 30 bpftrace -q -o "$WORK/bpf" -e "usdt:$WORK/probe:scope:fib__begin { @b = count(); }" \
        -c "$WORK/probe 1" >/dev/null 2>"$WORK/err" || true
    grep -q '@b: 1$' "$WORK/bpf" || skip "BPF uprobes: bpftrace cannot attach here: $(grep -m1 ERROR "$WORK/err")"
}

@test "bpftrace hits: fib by gcc and clang, exact counts at both ends" {
    need clang
    bpftrace_works
    for cc in gcc clang g++ clang++; do
        lang="-x c" end=fib__end
        is_cxx $cc && lang="-x c++"
        [ $cc = clang ] && end=__scope__end
        $cc $lang -O1 -I"$INCLUDE" "$APPS/fib.c" -o "$WORK/fib"
        bpf_counts "$WORK/fib 15" "usdt:$WORK/fib:scope:fib__begin { @b = count(); } usdt:$WORK/fib:scope:$end { @e = count(); }"
        want=$(/usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["regions"]["fib"]["calls"])' <"$WORK/truth")
        grep -qx "@b: $want" "$WORK/bpf" && grep -qx "@e: $want" "$WORK/bpf" ||
            complain "$cc: $(tr '\n' ' ' <"$WORK/bpf") instead of $want"
    done
    verdict
}

@test "bpftrace reads the operands: dynamic names, and the byte of a frame" {
    need clang
    bpftrace_works
    clang -O2 -pthread -I"$INCLUDE" "$APPS/dynamic.c" -o "$WORK/dynamic"
    bpf_counts "$WORK/dynamic basic 6" "usdt:$WORK/dynamic:scope:__dynamic__begin { @n[str(arg0)] = count(); }"
    grep -qx '@n\[block 0\]: 2' "$WORK/bpf"
    grep -qx '@n\[recursive\]: 18' "$WORK/bpf"
}

@test "gdb lists the regions, and stops at each hit" {
    need gdb
    app fib
    gdb -q -nx -batch -ex 'info probes stap scope' "$WORK/fib" >"$WORK/out" 2>&1
    sites=$("$PROBE_DIR/list-notes.py" "$WORK/fib" | wc -l)
    [ "$(grep -c '^stap  *scope  *fib__' "$WORK/out")" -eq "$sites" ]
    gdb -q -nx -batch -ex 'set breakpoint pending off' -ex 'set disable-randomization on' \
        -ex 'break -probe-stap scope:fib__begin' -ex 'ignore 1 100000' -ex 'run 8' -ex 'info breakpoints' \
        "$WORK/fib" >"$WORK/out" 2>&1
    grep -q 'already hit 67 times' "$WORK/out" || {
        grep -q 'ptrace: Operation not permitted' "$WORK/out" && skip "ptrace: gdb may not trace here"
        cat "$WORK/out"
        return 1
    }
}

@test "perf lists the regions as SDT events" {
    need perf
    app fib
    export HOME=$WORK
    perf --buildid-dir "$WORK/cache" buildid-cache --add "$WORK/fib"
    perf --buildid-dir "$WORK/cache" list sdt >"$WORK/out" 2>&1
    grep -q 'sdt_scope:fib__begin' "$WORK/out"
    grep -q 'sdt_scope:fib__end' "$WORK/out"
}

@test "perf probe resolves a region to its sites" {
    need perf
    [ -w /sys/kernel/tracing/uprobe_events ] || skip "tracefs: no /sys/kernel/tracing/uprobe_events"
    app fib
    perf --buildid-dir "$WORK/cache" buildid-cache --add "$WORK/fib"
    perf --buildid-dir "$WORK/cache" probe -D sdt_scope:fib__begin >"$WORK/out"
    grep -q '^p:sdt_scope/fib__begin' "$WORK/out"
}

@test "gdb under qemu-user: an aarch64 program stops at its regions" {
    need aarch64-linux-gnu-gcc qemu-aarch64 gdb-multiarch
    aarch64-linux-gnu-gcc -static -g -O2 -pthread -I"$INCLUDE" "$APPS/fib.c" -o "$WORK/fib"
    qemu-aarch64 -g "$WORK/socket" "$WORK/fib" 8 >"$WORK/truth" &
    qemu=$!
    for _ in $(seq 50); do [ -S "$WORK/socket" ] && break; sleep 0.1; done
    timeout 60 gdb-multiarch -q -nx -batch -ex "target remote $WORK/socket" -ex 'break -probe-stap scope:fib__begin' \
        -ex 'ignore 1 100000' -ex continue -ex 'info breakpoints' "$WORK/fib" >"$WORK/out" 2>&1
    wait $qemu
    grep -q 'already hit 67 times' "$WORK/out" || { cat "$WORK/out"; return 1; }
}
