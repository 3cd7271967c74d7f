#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 3600
# What the collector holds does not grow with the number of processes that came and went.

bats_require_minimum_version 1.5.0
load process_helper

# few_held NAME: its peak is not far above that of the first tenth
few_held() {
    local first peak
    read -r first peak < <(sed -n "s/^$1 //p" growth)
    [ "$first" -gt 0 ] && [ "$peak" -le $((first + first / 2 + $2)) ]
}

@test "100,000 short children in one run: all recorded; memory, descriptors and map entries stay" {
    app first_region
    build_c children
    timeout -k 5 3000 "$HERE/collector-growth.py" "$SCOPE_BPF" --no-samples -o p --format h5 -- \
        sh -c './children 100000 ./first_region >out' >growth 2>err || { cat err growth; return 1; }
    cat growth err
    grep -qx 'children 100000' err
    grep -q '^first  *100,000 ' err
    grep -qx 'lost: 0' err
    few_held memory 8192
    few_held fds 16
    local entries
    entries=$(sed -n 's/^entries //p' growth)
    [ "$entries" -gt 0 ] && [ "$entries" -lt 200 ]
}
