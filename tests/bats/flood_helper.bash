# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Floods of calls, counted by the program that makes them. Needs process_helper.

# flood CALLS [OPTION...]: a profile p.h5 of that many calls, its view in JSON in p.json, memory's peaks in p.peak
flood() {
    local calls=$1
    shift
    timeout -k 5 1800 "$HERE/peak-memory.py" p.peak "$SCOPE_BPF" --no-samples -o p --format h5 "$@" -- \
        "$APPS/flood" "$calls" >truth 2>err || { cat err; return 1; }
    grep -q "\"calls\": $calls," truth
    "$SCOPE_REPORT" summary --json p.h5 >p.json
}

# number KEY: the first number of that name in the view
number() {
    grep -o "\"$1\": [0-9]*" p.json | sed -n '1s/.*: //p'
}

# exact CALLS: what was seen and what is said to be lost make up the truth; lost calls are told at the end
exact() {
    local seen lost
    seen=$(number calls) lost=$(number lost)
    echo "seen $seen, lost $lost of $1"
    [ $((seen + lost)) -eq "$1" ]
    if [ "$lost" -eq 0 ]; then
        grep -qx 'lost: 0' err
    else
        grep -q "^lost: $lost calls" err
    fi
}

# small: peaks below 100 MiB plus the buffers and below 400 MiB; zero would be a measurement that did not look
small() {
    local collector recorder
    read -r collector recorder <p.peak
    echo "anonymous memory: collector $collector KiB, recorder $recorder KiB"
    [ "$collector" -gt 0 ] && [ "$collector" -lt $((100 * 1024)) ]
    [ "$recorder" -gt 0 ] && [ "$recorder" -lt $((400 * 1024)) ]
}
