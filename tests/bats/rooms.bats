#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# runs: user
# timeout: 60

bats_require_minimum_version 1.5.0
load cli_helper

# The rules of DESIGN.md, held against what the compiler read when it built the rooms.

# reads ROOM: the project's headers outside ROOM that its files include, directly or not
reads() {
    find "$BUILD/obj/$1" -name '*.d' -exec cat {} + | sed 's/[ \\]/\n/g' | sed 's/:$//' | grep '\.h$' | grep -v '^/' |
        sed "s,^$(realpath --relative-to="$TOP" "$BUILD")/obj/,," | grep -v "^$1/" | sort -u
}

# only ROOM PATTERN...: nothing outside the patterns
only() {
    local room=$1 header pattern n
    shift
    n=$(find "$BUILD/obj/$room" -name '*.d' | wc -l)
    [ "$n" -gt 5 ] || skip "$BUILD/obj/$room is not there"
    for header in $(reads "$room"); do
        for pattern; do
            # shellcheck disable=SC2254 # a pattern on purpose
            case $header in $pattern) continue 2 ;; esac
        done
        echo "$room uses $header"
        return 1
    done
}

@test "usdt/ uses no other room" {
    only usdt
}

@test "converters/ knows nothing of the collector" {
    only converters bpf/events.h usdt/arena.h usdt/err.h usdt/glob.h usdt/streams.h
    run ! grep -rnE '#include <(bpf/|linux/(bpf|perf_event)|sys/ptrace)' "$TOP/converters"
}

@test "user/ knows no format" {
    only user bpf/events.h 'bpf/*.skel.h' 'usdt/*' include/scope_probe.h converters/capture.h converters/recorder.h
    run ! grep -rnE '#include <(hdf5|json-c|elfutils)' "$TOP/user"
}

@test "scope-bpf links no format library, scope-report no libbpf" {
    need readelf
    readelf -dW "$SCOPE_BPF" | grep NEEDED >needed
    run ! grep -E 'hdf5|json-c' needed
    readelf -dW "$BUILD/scope-report" | grep NEEDED >needed
    grep -q hdf5 needed
    run ! grep bpf needed
}

@test "bpf/ includes no header of user space" {
    run ! grep -nE '#include "(user|usdt|converters)/' "$TOP"/bpf/*
    run ! grep -nE '#include <(std|sys/|linux/)' "$TOP"/bpf/*.bpf.c "$TOP"/bpf/*.bpf.h
}

@test "the header for applications stands alone" {
    run ! grep -nE '^ *# *include *"' "$TOP/include/scope_probe.h"
}
