#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 900
# Floods of calls: what the buffer could not hold is counted to the last call, and memory does not grow with calls.

bats_require_minimum_version 1.5.0
load process_helper
load flood_helper

@test "5 million calls through 64 KiB: seen and lost are 5 million, and it says so" {
    flood 5000000 --buffer 64K
    exact 5000000
}

@test "a loss that matters gives status 3 with --fail-on-loss, and none gives the program's" {
    run "$SCOPE_BPF" -q --no-samples -o p --format h5 --fail-on-loss -- "$APPS/flood" 100000
    [ "$status" -eq 0 ]
    # A collector that is stopped does not drain: 64 KiB hold fewer than 2,000 calls.
    background "$SCOPE_BPF" -q --no-samples -o q --format h5 --fail-on-loss --buffer 64K -- "$APPS/flood" 3000000 >truth
    wait_for 30 child_of "$PID" flood
    kill -STOP "$PID"
    wait_for 60 test -s truth
    kill -CONT "$PID"
    status=0
    wait "$PID" || status=$?
    [ "$status" -eq 3 ]
    "$SCOPE_REPORT" summary --json q.h5 >p.json
    [ $(($(number calls) + $(number lost))) -eq 3000000 ]
    [ "$(number lost)" -gt 100000 ]
}

@test "a million calls with the default buffer: nothing is lost" {
    flood 1000000
    exact 1000000
    [ "$(number lost)" -eq 0 ]
}

@test "20 million calls: collector below 100 MiB, recorder below 400 MiB of anonymous memory" {
    flood 20000000
    exact 20000000
    small
}
