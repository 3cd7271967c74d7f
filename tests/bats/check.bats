#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 180

bats_require_minimum_version 1.5.0
load cli_helper

# field JSON-FILE NAME KEY: what --check --json says of one facility
field() {
    "$PYTHON3" -c 'import json, sys
checks = {c["name"]: c for c in json.load(open(sys.argv[1]))["checks"]}
print(checks[sys.argv[2]][sys.argv[3]])' "$@"
}

@test "with root on this machine recording can work: status 0, and no BPF program is left" {
    need_root
    need bpftool
    before=$(bpftool prog list | grep -c scope_check || true)
    both --check
    echo "$out"
    [ "$status" -eq 0 ]
    grep -qx 'Recording can work here.' out
    [ "$(bpftool prog list | grep -c scope_check || true)" = "$before" ]
    run ! grep -E '^MISSING +(BTF|BPF programs|ring buffer|memory of threads|tracepoints) ' out
}

@test "--json says the same, each missing one with what to do and what works without" {
    both --check
    first=$status
    sed -n 's/^\(there\|MISSING\) *\(.\{22\}\) .*/\1 \2/p' out | sed 's/ *$//' >text.list
    both --check --json
    [ "$status" -eq "$first" ]
    "$PYTHON3" - <<'P' >json.list
import json
data = json.load(open("out"))
for c in data["checks"]:
    print("there" if c["there"] else "MISSING", c["name"])
    assert c["detail"]
    assert (c["to_do"] is None) == c["there"] == (c["without"] is None)
    assert c["needed"] in ("always", "one of them", "no")
must = all(c["there"] for c in data["checks"] if c["needed"] == "always")
road = any(c["there"] for c in data["checks"] if c["needed"] == "one of them")
assert data["can_record"] == (must and road)
P
    diff text.list json.list
}

@test "without any right it cannot: status 1, and the remedy is named" {
    need_root
    need setpriv
    cp "$SCOPE_BPF" copy
    run as_nobody ./copy --check
    [ "$status" -eq 1 ]
    [[ $output == *"Recording cannot work here"* ]]
    [[ $output == *"missing: cap_bpf"* ]]
    [[ $output == *"sudo"*"make install-caps"* ]]
}

@test "the capabilities of make install-caps suffice" {
    need_root
    need setpriv setcap
    cp "$SCOPE_BPF" copy
    setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_checkpoint_restore,cap_kill+ep copy || skip "no file capabilities here"
    [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || skip "perf_event_paranoid above 2"
    as_nobody ./copy --check --json >out || { cat out; false; }
    [ "$(field out 'capabilities' there)" = True ]
    [ "$(field out 'mapped files' there)" = True ]
    # perf uprobes want more
    [ "$(field out 'uprobes through perf' there)" = False ]
}

@test "a kernel without BTF: said, with what to do, status 1" {
    need_root
    need unshare
    mkdir empty
    status=0
    # shellcheck disable=SC2016 # the inner shell expands it
    unshare -m bash -c 'mount --bind empty /sys/kernel/btf && exec "$0" --check --json' "$SCOPE_BPF" >out || status=$?
    [ "$status" -eq 1 ]
    [ "$(field out BTF there)" = False ]
    [[ $(field out BTF to_do) == *CONFIG_DEBUG_INFO_BTF* ]]
    [ "$(field out 'BPF programs' there)" = True ]
}

@test "counters: as sysfs has them" {
    need_root
    both --check --json
    if ls -d /sys/bus/event_source/devices/cpu* /sys/bus/event_source/devices/armv8* >/dev/null 2>&1; then
        [ "$(field out 'hardware cycles' there)" = True ]
    else
        [ "$(field out 'hardware cycles' there)" = False ]
        [[ $(field out 'hardware cycles' without) == *clock* ]]
    fi
}

@test "--buffer is what is tried" {
    need_root
    both --check --json --buffer 128K
    [[ $(field out 'ring buffer' detail) == "128 KiB"* ]]
}
