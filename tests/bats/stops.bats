#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 300
# A process is stopped while the collector attaches what it is about to run. Nobody else may take that for news.

bats_require_minimum_version 1.5.0
load process_helper

setup_file() { make_user; }
teardown_file() { remove_user; }

# under_load SECONDS COMMAND...: with competitors a stop lasts long enough to be seen
under_load() {
    local seconds=$1 status=0 competitors=()
    shift
    for _ in 1 2; do
        timeout "$seconds" sh -c 'while :; do :; done' &
        competitors+=($!)
    done
    "$@" || status=$?
    kill "${competitors[@]}" 2>/dev/null || true
    return "$status"
}

# five times: each must end by itself, with the status of the command
five_times() {
    local i status
    for i in 1 2 3 4 5; do
        status=0
        timeout -k 1 10 "$SCOPE_BPF" -q --format h5 -o "$WORK/p" -- "$@" </dev/null >"$WORK/out" 2>&1 || status=$?
        [ "$status" -eq 7 ] || { echo "run $i of $*: status $status"; cat "$WORK/out"; return 1; }
    done
}

@test "sudo, which stops when its child stops, is not left behind" {
    need_sudo
    under_load 120 five_times sudo -n sh -c 'id >/dev/null; exit 7'
}

@test "su is not left behind" {
    under_load 120 five_times su "$TEST_USER" -c 'id >/dev/null; exit 7'
}

@test "script is not left behind" {
    command -v script >/dev/null || skip "no script(1)"
    under_load 120 five_times script -qec 'id >/dev/null; exit 7' /dev/null
}

@test "mpirun has no signal to pass on, and all calls of both ranks are there" {
    command -v mpirun >/dev/null || skip "no mpirun"
    [ -x "$BUILD/examples/heat" ] || skip "no MPI when the examples were built"
    install -m 755 "$BUILD/examples/heat" "$WORK/heat"
    install -d -o "$TEST_USER" "$WORK/run"
    cd "$WORK/run"
    timeout -k 5 60 "$SCOPE_BPF" -q --run-as "$TEST_USER" --format h5 -o p -- \
        mpirun --oversubscribe -n 2 "$WORK/heat" --nx 64 --ny 64 --steps 50 --threads 2 >"$WORK/out" 2>"$WORK/err"
    run ! grep -i 'forwarding signal' "$WORK/out" "$WORK/err"
    "$SCOPE_REPORT" summary --json p.h5 >"$WORK/summary.json"
    python3 - "$WORK/out" "$WORK/summary.json" <<'END'
import json, sys
truth = {}
for line in open(sys.argv[1]):
    for region, calls in json.loads(line)["calls"].items():
        truth[region] = truth.get(region, 0) + calls
seen = {r["name"]: r["calls"] for r in json.load(open(sys.argv[2]))["regions"]}
assert seen == truth, (seen, truth)
END
}
