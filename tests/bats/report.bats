#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# runs: user
# timeout: 180

bats_require_minimum_version 1.5.0
load report_helper

@test "--help teaches: of the program, of each command, on stdout, status 0, at most 100 columns" {
    report --help
    [ "$status" -eq 0 ] && [ -z "$err" ]
    commands=$(sed -n '/^Commands/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p' out)
    [[ $commands == *summary*lines*convert*info*validate* ]]
    for command in $commands; do
        report "$command" --help
        [ "$status" -eq 0 ] && [ -z "$err" ]
        [[ $out == "Usage: scope-report $command"*Options*Examples*scope-report* ]]
        [ "$(awk 'length > 100' out)" = "" ]
    done
}

@test "--version is what VERSION says; wrong use is status 2 with one line" {
    report --version
    [ "$status" -eq 0 ] && [ "$out" = "scope-report $(cat "$TOP/VERSION")" ]
    report --frobnicate
    refused 2 --frobnicate --help
    report summary --sort size x.h5
    refused 2 --sort size 'name|calls'
    report convert "$KIT/c_rank00000.spt"
    refused 2 '-o FILE'
    report convert "$KIT/c_rank00000.spt" -o out.strange
    refused 2 out.strange suffix --to
    report convert "$KIT/c_rank00000.spt" -o out --to xyz
    refused 2 '--to xyz'
    report convert -o x.h5
    refused 2 FILE
    report convert "$KIT/c_rank00000.spt" --to json -o -
    refused 2 '-o -' 'file name'
    [ ! -e ./- ]
}

@test "what cannot be read is status 1 and one line that names it" {
    report nothing-here.h5
    refused 1 nothing-here.h5
    echo 'no profile' >text.h5
    report text.h5
    refused 1 text.h5
    mkfifo fifo.h5
    report fifo.h5
    refused 1 fifo.h5 FIFO
    report .
    refused 1 "fifo.h5"
    mkdir empty
    report empty
    refused 1 empty 'no profile'
}

@test "without a file: the newest profile of the folder, with all its ranks" {
    cd "$(mktemp -d -p .)"
    report
    refused 1 'no profile' 'scope-bpf'
    cp "$KIT/h5-ranks.h5" old.h5
    touch -d '2020-01-01' old.h5
    cp "$KIT"/c_rank0000[01].spt .
    report
    [ "$status" -eq 0 ]
    [ "$(head -1 out)" = "c_rank00000.spt and its other ranks" ] || [ "$(head -1 out)" = "c_rank00001.spt and its other ranks" ]
    report --json
    [ "$status" -eq 0 ]
    python3 -c 'import json; assert json.load(open("out"))["ranks"] == [0, 1]'
    touch old.h5
    report
    [ "$(head -1 out)" = old.h5 ]
}

@test "a folder: its rank files; with a whole profile beside them an error that names both" {
    mkdir run
    cp "$KIT"/c_rank0000[0123].spt run
    report run --json
    [ "$status" -eq 0 ]
    python3 -c 'import json; assert json.load(open("out"))["ranks"] == [0, 1, 2, 3]'
    cp "$KIT/h5-ranks.h5" run/whole.h5
    report run
    refused 1 run/c_rank00000.spt run/whole.h5
    rm run/*.spt
    report run
    [ "$status" -eq 0 ]
}

@test "one rank in two files: an error that names both, or --renumber" {
    report convert "$KIT/clash_a_rank00002.spt" "$KIT/clash_b_rank00002.spt" -o both.h5
    refused 1 clash_a_rank00002.spt clash_b_rank00002.spt
    [ ! -e both.h5 ]
    report convert --renumber "$KIT/clash_a_rank00002.spt" "$KIT/clash_b_rank00002.spt" -o both.h5
    [ "$status" -eq 0 ] && [ -z "$err" ]
    report both.h5 --json
    python3 -c 'import json; assert json.load(open("out"))["ranks"] == [2, 3]'
}

@test "convert: --ranks chooses, a rank that is not there is an error, one rank is exactly that name" {
    report convert "$KIT"/c_rank0000[0123].spt -o some.h5 --ranks 1,3
    [ "$status" -eq 0 ] && [ "$out" = some.h5 ]
    report some.h5 --json
    python3 -c 'import json; assert json.load(open("out"))["ranks"] == [1, 3]'
    report convert "$KIT"/c_rank0000[0123].spt -o one.prof --ranks 2
    [ "$status" -eq 0 ] && [ "$out" = one.prof ] && [ -f one.prof ]
    report convert "$KIT"/c_rank0000[0123].spt -o all.prof
    [ "$status" -eq 0 ] && [ "$(wc -l <out)" -eq 4 ] && [ -f all_rank3.prof ] && [ ! -e all.prof ]
    report convert "$KIT/c_rank00000.spt" -o none.h5 --ranks 9
    refused 1 --ranks 'no rank 9'
    [ ! -e none.h5 ]
}

@test "a failed conversion writes nothing over what is there, and leaves nothing behind" {
    echo precious >out.speedscope.json
    report convert "$KIT/spt-overlap.spt" -o out.speedscope.json
    refused 1 spt-overlap.spt '--overlaps split'
    [ "$(cat out.speedscope.json)" = precious ]
    [ "$(find . -name '.*' -type f)" = "" ]
    report convert "$KIT/spt-overlap.spt" -o out.speedscope.json --overlaps split
    [ "$status" -eq 0 ]
    python3 -c 'import json; assert len(json.load(open("out.speedscope.json"))["profiles"]) == 2'
    report convert "$KIT/c_rank00000.spt" -o no/such/folder/x.h5
    refused 1 no/such/folder/x.h5
    ln -s /etc/passwd link.h5
    report convert "$KIT/c_rank00000.spt" -o link.h5
    refused 1 link.h5 'symbolic link'
}

@test "interrupted: the old file stays, nothing is left behind, the status is that of the signal" {
    python3 - "$SCOPE_REPORT" <<'PY'
import array, glob, os, signal, struct, subprocess, sys, time
n = 3_000_000
with open("big.spt", "wb") as f:
    f.write(b"SCOPEPRF" + struct.pack("=iiq", 2, 0, 1) + struct.pack("=i", 1) + b"r" + struct.pack("=iiq", 0, -1, n))
    array.array("q", range(0, 100 * n, 100)).tofile(f)
    array.array("q", range(50, 100 * n + 50, 100)).tofile(f)
open("out.trace.json", "w").write("precious")
for number in (signal.SIGINT, signal.SIGTERM):
    run = subprocess.Popen([sys.argv[1], "convert", "big.spt", "-o", "out.trace.json"], stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while not glob.glob(".scope-*") and time.monotonic() < end and run.poll() is None:
        time.sleep(0.001)
    run.send_signal(number)
    assert run.wait(60) == -number and run.stderr.read() == b"", run.returncode
    assert glob.glob(".scope-*") == [] and open("out.trace.json").read() == "precious"
PY
}

@test "what the target cannot hold is said; --quiet is quiet" {
    report convert "$KIT/h5-everything.h5" -o out.spt
    [ "$status" -eq 0 ] && [[ $err == *"note: "* ]]
    report convert "$KIT/h5-everything.h5" -o out.spt --quiet
    [ "$status" -eq 0 ] && [ -z "$err$out" ]
}

@test "validate: status 0 for sound files, 1 with the place of the first break" {
    report validate "$KIT/h5-everything.h5" "$KIT/py-async.h5"
    [ "$status" -eq 0 ] && [ "$(grep -c ': valid' out)" -eq 2 ]
    report validate "$KIT/spt-overlap.spt"
    refused 1 spt-overlap.spt 'starts inside' 'ends after'
    report validate "$KIT/bad-spt-negative-duration.spt"
    refused 1 bad-spt-negative-duration.spt
    report validate --quiet "$KIT/py-async.h5"
    [ "$status" -eq 0 ] && [ -z "$out$err" ]
}

@test "info says what a file is from its content, whatever its name" {
    cp "$KIT/h5-ranks.h5" thing.spt
    cp "$KIT/c_rank00000.spt" thing.h5
    report info thing.spt thing.h5
    [ "$status" -eq 0 ]
    [[ $out == *"thing.spt: HDF5 profile, schema 3"*"thing.h5: trace of one rank"* ]]
    report info --json thing.spt
    python3 -c 'import json; d = json.load(open("out")); assert d["format"] == "h5" and d["schema"] == 3 and d["calls"] > 0'
}

@test "summary: filters, order, ranks; CSV and JSON agree with each other" {
    report "$KIT/h5-ranks.h5" --csv
    [ "$status" -eq 0 ]
    cp out all.csv
    report "$KIT/h5-ranks.h5" --json
    python3 - <<'PY'
import csv, json
rows = list(csv.DictReader(open("all.csv", newline="")))
regions = json.load(open("out"))["regions"]
assert len(rows) == len(regions) > 2
for row, region in zip(rows, regions):
    assert row["name"] == region["name"]
    for key in ("calls", "total_ns", "inclusive_ns", "exclusive_ns", "min_ns", "p95_ns"):
        assert row[key] == ("" if region[key] is None else str(region[key])), key
    assert sum(r["calls"] for r in region["per_rank"]) == region["calls"]
    assert sum(r["total_ns"] for r in region["per_rank"]) == region["total_ns"]
PY
    name=$(python3 -c 'import json; print(json.load(open("out"))["regions"][0]["name"])')
    report "$KIT/h5-ranks.h5" --csv --exclude "$name"
    [ "$(wc -l <out)" -eq "$(($(wc -l <all.csv) - 1))" ]
    report "$KIT/h5-ranks.h5" --csv --top 1 --sort calls
    [ "$(wc -l <out)" -eq 2 ]
    report "$KIT/h5-ranks.h5" --per-rank
    [[ $out == *"rank 0"*"rank 1"* ]]
}

@test "a closed pipe is no error worth a word" {
    # shellcheck disable=SC2016 # expanded by the inner shell
    run --separate-stderr bash -c 'set +o pipefail; "$0" "$1" --csv --per-rank | head -n 1' "$SCOPE_REPORT" "$KIT/spt-many.spt"
    [ "$status" -eq 0 ] && [ -z "$stderr" ]
    run --separate-stderr python3 - "$SCOPE_REPORT" "$KIT/spt-many.spt" <<'PY'
import os, signal, subprocess, sys
read, write = os.pipe()
os.close(read)
run = subprocess.run([*sys.argv[1:], "--csv"], stdout=write, stderr=subprocess.PIPE, restore_signals=False)
assert run.returncode != 0 and run.stderr == b"", run
PY
    [ "$status" -eq 0 ] || { echo "$stderr"; return 1; }
}

@test "closed streams: no message goes into the file that is written" {
    for closed in '<&-' '<&- >&-' '2>&-' '<&- >&- 2>&-'; do
        rm -f out.json
        bash -c "\"\$0\" convert \"\$1\" -o out.json $closed" "$SCOPE_REPORT" "$KIT/c_rank00000.spt" 2>err || true
        python3 -m json.tool out.json >/dev/null
    done
}

@test "a full disk is said" {
    [ -w /dev/full ] || skip "no /dev/full"
    status=0
    "$SCOPE_REPORT" "$KIT/spt-many.spt" --csv >/dev/full 2>err || status=$?
    [ "$status" -eq 1 ] && grep -q 'standard output' err
}

@test "names that play tricks: no control character reaches a terminal, JSON stays strict" {
    for file in "$KIT"/spt-odd-names.spt "$KIT"/h5-everything.h5; do
        for command in summary info validate; do
            report "$command" "$file"
            [ "$status" -eq 0 ]
            run ! grep -qP '[\x00-\x08\x0b-\x1f\x7f]' out
        done
        report summary --json "$file"
        python3 -c 'import json; json.load(open("out", encoding="utf-8"))'
    done
}

@test "colours on a terminal only, and not with NO_COLOR; the table fits its width" {
    need script
    script -qec "stty cols 60 </dev/tty; TERM=xterm '$SCOPE_REPORT' '$KIT/h5-ranks.h5'" /dev/null </dev/null >typed
    grep -q $'\033\[1m' typed
    python3 - <<'PY'
import re
lines = [re.sub(r"\x1b\[\d*m|\r", "", line.rstrip("\n")) for line in open("typed", encoding="utf-8", newline="\n")]
assert len(lines) > 5 and all(len(line) <= 60 or "too narrow" in line for line in lines), lines
PY
    script -qec "NO_COLOR=1 '$SCOPE_REPORT' '$KIT/h5-ranks.h5'" /dev/null </dev/null >typed
    run ! grep -q $'\033' typed
}
