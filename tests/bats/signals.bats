#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 400
# Signals: from the terminal once, sent to scope-bpf alone once, twice to finish; job control; sudo between.

bats_require_minimum_version 1.5.0
load process_helper

setup_file() { make_user; }
teardown_file() { remove_user; }

# counted SIGNAL FILE: how often the program says that it got it
counted() { grep -cx "got $(kill -l "$1")" "$2" || true; }

# start OPTIONS...: count_signals under scope-bpf in the background, until it is ready; its output in out
start() {
    build_c count_signals
    background "$SCOPE_BPF" -o p --format h5 "$@" >out 2>err
    wait_for 20 grep -q ready out
}

# ends_with STATUS PID: waits for a child of ours, no longer than 20 s
ends_with() {
    local got=0
    (sleep 20; kill -KILL "$2") 2>/dev/null 3>&- &
    local guard=$!
    wait "$2" || got=$?
    kill "$guard" 2>/dev/null || true
    [ "$got" -eq "$1" ] || { echo "process $2 ended with $got, not $1"; return 1; }
}

@test "SIGINT, SIGTERM and SIGHUP sent to scope-bpf alone reach the command once; its status is ours" {
    for signal in INT TERM HUP QUIT; do
        start -- ./count_signals "$(kill -l $signal)"
        kill -$signal "$PID"
        ends_with 9 "$PID"
        [ "$(counted $signal out)" -eq 1 ]
        [ "$(calls_of p.h5 waiting)" -eq 1 ]
        grep -q '^written: p.h5' err
        rm p.h5
    done
}

@test "a second one finishes the profile without waiting; the command goes on" {
    start -- ./count_signals
    kill -TERM "$PID"
    wait_for 5 grep -q 'got 15' out
    sleep 0.3
    kill -TERM "$PID"
    wait_for 10 test -e p.h5
    wait "$PID" || true
    [ "$(counted TERM out)" -eq 1 ]
    [ "$(calls_of p.h5 waiting)" -ge 1 ]
    command=$(sed -n 's/^ready //p' out)
    kill -0 "$command"
    kill -USR1 "$command"
    wait_for 5 grep -q 'got 10' out
    kill -KILL "$command"
}

@test "SIGUSR1 and SIGUSR2 are the command's own business: passed on as often as they come" {
    start -- ./count_signals 15
    for n in 1 2 3; do
        kill -USR1 "$PID"
        wait_for 5 eval "[ \$(grep -c 'got 10' out) -eq $n ]"
    done
    kill -USR2 "$PID"
    wait_for 5 grep -q 'got 12' out
    kill -TERM "$PID"
    ends_with 9 "$PID"
}

@test "a signal to the whole group by timeout(1): the profile is there" {
    build_c count_signals
    run timeout 3 "$SCOPE_BPF" -o p --format h5 -- ./count_signals 15
    [ "$(calls_of p.h5 waiting)" -ge 1 ]
    grep -q 'got 15' <<<"$output"
}

@test "Ctrl-C on the terminal reaches the command once, however often; the profile is written" {
    build_c count_signals
    "$HERE/terminal.py" expect:ready 'type:\x03' 'expect:got 2' 'type:\x03' 'expect:got 2' 'type:\x1c' 'expect:got 3' \
        'expect:written: p.h5' -- "$SCOPE_BPF" -o p --format h5 -- ./count_signals 3 >out
    grep -q '^status 9$' out
    [ "$(grep -c '^\(\^C\)*got 2' out)" -eq 2 ]
    [ "$(calls_of p.h5 waiting)" -eq 3 ]
}

@test "Ctrl-C ends a command that does not handle it: 130, and a profile" {
    "$HERE/terminal.py" expect:ready sleep:0.5 'type:\x03' -- "$SCOPE_BPF" -o p --format h5 -- \
        sh -c 'echo ready; exec sleep 60' >out
    grep -q '^status 130$' out
    [ -e p.h5 ]
}

@test "hangup: the command gets it from the terminal, once, and the profile is written" {
    build_c count_signals
    "$HERE/terminal.py" expect:ready hangup -- \
        sh -c "trap '' HUP; (trap - HUP; exec $SCOPE_BPF -q -o p --format h5 -- sh -c 'echo ready; exec ./count_signals 1 >out')" \
        >log || true
    wait_for 10 test -e p.h5
    [ "$(counted HUP out)" -le 1 ]
}

@test "Ctrl-Z and fg under an interactive shell: all stop, all go on" {
    build_c count_signals
    "$HERE/terminal.py" 'expect:bash' "type:PS1='prompt>'' '\\n" 'expect:prompt> ' "type:$SCOPE_BPF -q -o p --format h5 -- ./count_signals 15\\n" expect:ready \
        'type:\x1a' expect:Stopped 'type:jobs -p > pid; for i in 1 2 3 4 5 6 7 8 9; do ps -o stat= -C count_signals | sed s/^/state:/ | grep :T && break; sleep 0.3; done; echo shown\n' 'expect:shown' \
        'expect:shown' 'type:fg\n' 'expect:got 18' 'type:\x03' 'expect:got 2' \
        'type:\x1a' expect:Stopped 'type:kill -TERM %1; fg\n' 'expect:got 15' 'expect:prompt> ' 'type:echo is $?\n' \
        'expect:is 9' 'type:exit\n' -- bash --norc --noprofile -i >out || { cat out; false; }
    grep -q state:T out
    [ "$(calls_of p.h5 waiting)" -ge 3 ]
}

@test "a command that stops itself (an editor that handles Ctrl-Z) stops scope-bpf for the shell too" {
    cat >editor <<'END'
#!/bin/bash
trap 'echo saved; kill -TSTP $$' INT
echo ready
n=0
while [ $n -lt 400 ]; do n=$((n + 1)); read -r -t 0.05 line && [ "$line" = quit ] && exit 6; done
END
    chmod 755 editor
    "$HERE/terminal.py" 'expect:bash' "type:PS1='prompt>'' '\\n" 'expect:prompt> ' \
        "type:$SCOPE_BPF -q -o p --format h5 -- ./editor\\n" expect:ready 'type:\x03' expect:saved expect:Stopped \
        'expect:prompt> ' 'type:fg\n' sleep:0.5 'type:quit\n' 'expect:prompt> ' 'type:echo is $?\n' 'expect:is 6' 'type:exit\n' \
        -- bash --norc --noprofile -i >out || { cat out; false; }
}

@test "without a shell that could continue us, a stopped command does not stop scope-bpf" {
    # A process group that may be stopped (its parent is in another one of the session), but no terminal.
    background setsid bash -c "set -m; $SCOPE_BPF -q -o p --format h5 -- sh -c 'echo \$\$ >pid; kill -TSTP \$\$; exit 8' &
                               echo \$! >collector; wait \$!"
    wait_for 20 test -s pid
    wait_for 5 grep -q 'State:.T' "/proc/$(cat pid)/status"
    sleep 0.3
    run grep 'State:.T' "/proc/$(cat collector)/status"
    [ "$status" -ne 0 ]
    kill -CONT "$(cat pid)"
    ends_with 8 "$PID"
}

@test "-p: the first signal ends the recording with status 0, the process goes on unharmed" {
    build_c count_signals
    background ./count_signals 15 >target
    target=$PID
    wait_for 5 grep -q ready target
    for signal in INT TERM HUP; do
        background "$SCOPE_BPF" -q -o p --format h5 -p "$target"
        wait_for 20 child_of "$PID" scope-guardian
        sleep 0.5
        kill -$signal "$PID"
        ends_with 0 "$PID"
        [ -e p.h5 ]
        rm p.h5
    done
    [ "$(grep -c got target)" -eq 0 ]
    kill -TERM "$target"
    ends_with 9 "$target"
}

@test "nohup: a hangup is ignored by scope-bpf and by the command, as without us" {
    build_c count_signals
    (trap '' HUP; exec "$SCOPE_BPF" -q -o p --format h5 -- sh -c 'echo $$; exec sleep 60' >out) &
    PID=$!
    STARTED+=("$PID")
    wait_for 20 test -s out
    kill -HUP "$PID"
    kill -HUP "$(cat out)"
    sleep 0.3
    kill -0 "$PID"
    kill -0 "$(cat out)"
    kill -TERM "$(cat out)"
    ends_with 143 "$PID"
}

@test "through sudo: a signal to sudo reaches the command once, and the status comes back" {
    need_sudo
    user_folder
    build_c count_signals
    as_user sudo -n "$SCOPE_BPF" -q --format h5 -- "$WORK/count_signals" 15 >../out &
    shell=$!
    STARTED+=("$shell")
    wait_for 20 grep -q ready ../out
    kill -TERM "$(child_of "$shell" sudo)"
    ends_with 9 "$shell"
    [ "$(counted TERM ../out)" -eq 1 ]
    [ "$(stat -c %U scope.h5)" = "$TEST_USER" ]
}

@test "Ctrl-C through sudo on a terminal: once, and the profile" {
    need_sudo
    user_folder
    build_c count_signals
    "$HERE/terminal.py" expect:ready 'type:\x03' 'expect:got 2' -- setpriv --reuid "$TEST_USER" --regid "$TEST_USER" \
        --init-groups --reset-env sudo -n "$SCOPE_BPF" -q --format h5 -- "$WORK/count_signals" 2 >../out
    grep -q '^status 9$' ../out
    [ "$(grep -c 'got 2$' ../out)" -eq 1 ]
    [ "$(calls_of scope.h5 waiting)" -eq 1 ]
}

@test "--duration: the recording ends and is written, the command goes on and is waited for" {
    start --duration 0.5 -- ./count_signals 15
    wait_for 10 test -e p.h5
    kill -0 "$PID"
    kill -TERM "$PID"
    ends_with 9 "$PID"
    [ "$(counted TERM out)" -eq 1 ]
}

@test "a reader of our messages that goes away harms nobody" {
    run bash -c "set -o pipefail; $SCOPE_BPF -v -o p --format h5 -- sh -c 'sleep 0.2; exit 5' 2>&1 >/dev/null | true"
    [ "$status" -eq 5 ]
    [ -e p.h5 ]
}
