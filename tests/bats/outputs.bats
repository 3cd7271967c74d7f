#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 500
# Output files in hostile folders, on full disks, after crashes; what an older set leaves behind.

bats_require_minimum_version 1.5.0
load process_helper

setup_file() { make_user; }
teardown_file() { remove_user; }

record() { $LIMIT "$SCOPE_BPF" -q "$@"; }

# refused WHAT...: recording to ./p is refused with one line that has these words, before the command runs
refused() {
    local word
    run record -o p -- touch ran
    [ "$status" -eq 125 ] || { echo "status $status: $output"; return 1; }
    [ "${#lines[@]}" -eq 1 ] || { echo "not one line: $output"; return 1; }
    [ ! -e ran ] || { echo "the command ran"; return 1; }
    for word in "$@"; do
        [[ "$output" == *"$word"* ]] || { echo "no '$word' in: $output"; return 1; }
    done
}

# ranks N [OPTION...]: a run with ranks 0 to N-1, files p*
ranks() {
    local n=$1
    shift
    record -o p --format h5,spt,sps "$@" -- sh -c \
        "i=0; while [ \$i -lt $n ]; do SCOPE_RANK=\$i $WORK/fib 10 >/dev/null & i=\$((i + 1)); done; wait"
}

@test "a symlink, a FIFO, a hard link, a folder in place of any output: refused, untouched" {
    echo precious >victim
    for name in p.h5 p.scope p_rank00003.sps p_rank00003.spt; do
        ln -s victim "$name"
        refused "$name" "symbolic link"
        rm "$name"
        ln -s nowhere "$name"
        refused "$name" "symbolic link"
        rm "$name"
        ln victim "$name"
        refused "$name" "hard link"
        rm "$name"
        mkfifo "$name"
        refused "$name" FIFO
        rm "$name"
        mkdir "$name"
        refused "$name" folder
        rmdir "$name"
    done
    [ "$(cat victim)" = precious ]
    [ ! -e nowhere ]
    [ "$(ls)" = victim ]
}

@test "root's files cannot be reached from a user's folder through sudo" {
    need_sudo
    user_folder
    echo precious >../roots
    chmod 644 ../roots
    for make in "ln -s ../roots" "ln ../roots"; do
        for name in p.h5 p.scope; do
            $make "$name" # made as root: the kernel would not let the user link this one
            run as_user sudo -n "$SCOPE_BPF" -q -o p -- touch ran
            [ "$status" -eq 125 ]
            [ ! -e ran ]
            rm "$name"
        done
    done
    cp ../roots p.h5 # root's file in the user's folder
    run as_user sudo -n "$SCOPE_BPF" -q -o p -- touch ran
    [ "$status" -eq 125 ]
    [[ "$output" == *p.h5*root* ]]
    [ ! -e ran ]
    [ "$(cat p.h5)" = precious ]
    [ "$(cat ../roots)" = precious ]
}

@test "an output that becomes a symlink while the command runs: the target of the link is not written" {
    echo precious >victim
    app fib
    run record -o p --format h5 -- sh -c "$WORK/fib 5 >/dev/null; ln -s victim p.h5"
    [ "$status" -eq 125 ]
    [[ "$output" == *p.h5*"symbolic link"*"scope-report convert p.scope"* ]]
    [ "$(cat victim)" = precious ]
    rm p.h5
    "$SCOPE_REPORT" convert p.scope -o p.h5
    [ "$(calls_of p.h5 fib)" -eq 15 ]
}

@test "a folder that is not there, cannot be written, is none, or a prefix that names a folder: one line each" {
    touch file
    mkdir there
    run record -o nowhere/p -- touch ran
    [ "$status" -eq 125 ] && [ "${#lines[@]}" -eq 1 ]
    [[ "$output" == *"mkdir -p nowhere"* ]]
    run record -o file/p -- touch ran
    [ "$status" -eq 125 ] && [ "${#lines[@]}" -eq 1 ]
    run record -o there/ -- touch ran
    [ "$status" -eq 125 ] && [ "${#lines[@]}" -eq 1 ]
    [[ "$output" == *there/scope* ]]
    run record -o "$(printf 'x%.0s' $(seq 230))" -- touch ran
    [ "$status" -eq 125 ] && [ "${#lines[@]}" -eq 1 ]
    [ ! -e ran ]
}

@test "names with blanks, quotes and dashes: files get them, the command to type is quoted" {
    app fib
    record -o "it's -my run" --format h5 -- ./fib 5 >/dev/null
    [ "$(calls_of "it's -my run.h5" fib)" -eq 15 ]
    echo something >"it's -my run.scope"
    run record -o "it's -my run" -- true
    [ "$status" -eq 125 ]
    [[ "$output" == *"scope-report convert 'it'\\''s -my run.scope' -o 'it'\\''s -my run.h5'"* ]]
}

@test "an unfinished capture is never overwritten; the command in the message makes the profile" {
    app fib
    background "$SCOPE_BPF" -q -o p --format h5 -- sh -c "$WORK/fib 10 >/dev/null; echo done >ran; exec sleep 30"
    collector=$PID
    wait_for 20 test -s ran
    rm ran
    refused p.scope "another scope-bpf"
    sleep 0.5 # flushed every 100 ms
    command=$(child_of "$collector" sleep)
    kill -KILL "$collector"
    wait_for 5 eval "! pgrep -x scope-recorder --parent $collector"
    kill -0 "$command" # the program goes on
    kill -KILL "$command"
    [ ! -e p.h5 ]
    before=$(sha256sum p.scope)
    wait_for 5 flock -n p.scope true
    refused "scope-report convert p.scope -o p.h5"
    [ "$(sha256sum p.scope)" = "$before" ]
    to_type=$(sed 's/.*type: \(scope-report .*p\.h5\).*/\1/' <<<"$output")
    PATH="$(dirname "$SCOPE_REPORT"):$PATH" sh -c "$to_type"
    [ "$(calls_of p.h5 fib)" -eq 177 ]
    rm p.scope
    record -o p --format h5 -- true
}

@test "a run of 2 ranks after one of 4 leaves no file of the old set, and nothing else is touched" {
    app fib
    ranks 4
    [ "$(echo p_rank*.spt)" = "p_rank00000.spt p_rank00001.spt p_rank00002.spt p_rank00003.spt" ]
    echo mine >p_rank00009.spt   # no file that scope-bpf wrote
    echo mine >p_rank9.spt       # no name of ours
    cp p_rank00003.spt other_rank00003.spt
    cp p_rank00003.spt p_rank00003.spt.bak
    ranks 2
    [ "$(echo p_rank0000[0-8].spt)" = "p_rank00000.spt p_rank00001.spt" ]
    [ -e p_rank00009.spt ] && [ -e p_rank9.spt ] && [ -e other_rank00003.spt ] && [ -e p_rank00003.spt.bak ]
    [ "$(calls_of p.h5 fib)" -eq $((2 * 177)) ]
    # another choice of formats: the rank files of the old set go too
    record -o p --format h5 -- ./fib 5 >/dev/null
    [ ! -e p_rank00000.spt ]
    [ -e p_rank00009.spt ]
    [ -z "$(find . -name '.*' -type f)" ] # no temporary file
}

@test "when a run fails, the old set is as it was" {
    app fib
    ranks 2
    sha256sum p.h5 p_rank* >before
    run -127 record -o p -- no-such-command
    sha256sum --quiet -c before
    [ ! -e p.scope ]
    # what cannot be written at the end: a folder stands in the way of the last file
    run record -o p --format h5,spt -- sh -c "$WORK/fib 5 >/dev/null; rm p_rank00000.spt; mkdir p_rank00000.spt"
    [ "$status" -eq 125 ]
    grep -v rank00000.spt before | sha256sum --quiet -c -
    [ -e p.scope ]
}

@test "--keep-capture keeps it, the next run replaces it; without, it goes" {
    app fib
    record -o p --format h5 --keep-capture -- ./fib 5 >/dev/null
    [ -e p.scope ]
    "$SCOPE_REPORT" convert p.scope -o again.h5
    [ "$(calls_of again.h5 fib)" -eq 15 ]
    record -o p --format h5 --keep-capture -- ./fib 10 >/dev/null
    [ "$(calls_of p.scope fib)" -eq 177 ]
    run -127 record -o p -- no-such-command
    [ "$(calls_of p.scope fib)" -eq 177 ]
    record -o p --format h5 -- ./fib 10 >/dev/null
    run ls -A
    [ "$output" = "$(printf '%s\n' again.h5 fib p.h5)" ]
    # the name that the older one has meanwhile may be somebody's file
    record -o p --format h5 --keep-capture -- ./fib 5 >/dev/null
    echo mine >p.scope.old
    refused p.scope.old
    [ "$(cat p.scope.old)" = mine ]
    rm p.scope
    record -o p --format h5 -- ./fib 5 >/dev/null
    [ "$(cat p.scope.old)" = mine ]
}

# full_disk SIZE: a tmpfs of that size at ./disk
full_disk() {
    mkdir disk
    mount -t tmpfs -o "size=$1" none disk || skip "a tmpfs cannot be mounted here"
}

@test "a full disk: the program goes on, what is there is readable, seen + lost is the truth" {
    app flood
    full_disk 8m
    status=0
    $LIMIT "$SCOPE_BPF" -o disk/p --no-samples --format h5 -- ./flood 3000000 >out 2>err || status=$?
    cp disk/p.scope .
    grep -q '"calls": 3000000' out
    [ "$status" -eq 125 ]
    grep -q 'disk/p' err
    grep -q 'scope-report convert disk/p.scope' err
    "$SCOPE_REPORT" convert p.scope -o p.h5 2>convert.err
    "$SCOPE_REPORT" summary --json p.h5 >summary.json
    /usr/bin/python3 - <<'END'
import json
s = json.load(open("summary.json"))
seen = sum(r["calls"] for r in s["regions"])
lost = s["lost"]
print("seen", seen, "lost", lost)
total = lost if isinstance(lost, int) else lost.get("calls", lost.get("total"))
assert total > 0
assert seen + total == 3000000, seen + total
END
}

@test "a file size limit counts as a full disk" {
    app flood
    run bash -c "ulimit -f 2048; $SCOPE_BPF -o p --no-samples --format spt -- ./flood 1000000"
    [[ "$output" == *'"calls": 1000000'* ]]
    [ "$status" -eq 125 ]
    [[ "$output" == *"scope-report convert p.scope"* ]]
    [ "$(stat -c %s p.scope)" -le $((2048 * 1024)) ]
    "$SCOPE_REPORT" info p.scope | grep -i 'disk full'
}

@test "the recorder dies: the command goes on, its status passes, the capture is whole" {
    app fib
    background "$SCOPE_BPF" -o p --format h5 -- sh -c "touch begun; while [ ! -e go ]; do sleep 0.05; done; $WORK/fib 10 >/dev/null; exit 3" \
        2>err
    wait_for 20 test -e begun
    kill -KILL "$(child_of "$PID" scope-recorder)"
    sleep 0.3
    touch go
    status=0
    wait "$PID" || status=$?
    [ "$status" -eq 3 ]
    grep -q recorder err
    "$SCOPE_REPORT" convert p.scope -o p.h5
    [ "$(calls_of p.h5 fib)" -eq 177 ]
}

@test "closed streams: what is said goes into no file and no socket; the command finds them closed" {
    app fib
    while read -r closed still; do
        status=0
        bash -c "\"\$0\" -o closed -- sh -c './fib 5 >/dev/null; for i in 0 2; do
                [ ! -e /proc/\$\$/fd/\$i ] || echo \$i; done >still' ${closed//_/ }" "$SCOPE_BPF" 2>/dev/null || status=$?
        echo "$closed: $status"
        [ "$status" -eq 0 ]
        [ "$(calls_of closed.h5 fib)" -eq 15 ]
        [ "$(paste -sd, still)" = "$still" ]
    done <<'END'
<&- 2
>&- 0,2
2>&- 0
<&-_>&-_2>&-
END
}
