#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 500
# The command under scope-bpf is what it is without: status, words, streams, signals, rights, environment.

bats_require_minimum_version 1.5.0
load process_helper

setup_file() { make_user; }
teardown_file() { remove_user; }

record() { $LIMIT "$SCOPE_BPF" -q -o "$WORK/p" --format h5 "$@"; }

# same_status COMMAND...: the exit status is the one that env gives
same_status() {
    local expected=0 got=0
    env "$@" >/dev/null 2>&1 || expected=$?
    record -- "$@" >/dev/null 2>"$WORK/err" || got=$?
    rm -f "$WORK"/p.*
    [ "$got" -eq "$expected" ] || { echo "$*: $got, env gives $expected: $(cat "$WORK/err")"; return 1; }
}

@test "exit statuses are the command's, 128 + N after a signal" {
    same_status true
    same_status sh -c 'exit 7'
    same_status sh -c 'exit 255'
    run record -- sh -c 'kill -KILL $$'
    [ "$status" -eq 137 ]
    run record -- sh -c 'kill -TERM $$'
    [ "$status" -eq 143 ]
    run record -- sh -c 'ulimit -c 0; kill -SEGV $$'
    [ "$status" -eq 139 ]
}

@test "what cannot be run gives 126 or 127 as env does, one line, and no files" {
    touch plain && chmod 644 plain
    printf '#!/nonexistent/interpreter\n' >no_interpreter && chmod 755 no_interpreter
    printf 'exit 5\n' >no_first_line && chmod 755 no_first_line
    head -c 100 /bin/true >cut_elf && chmod 755 cut_elf
    same_status no-such-command-here
    same_status ./no-such-file
    same_status ./plain
    same_status ./no_interpreter
    same_status ./no_first_line
    same_status ./cut_elf
    same_status /tmp
    run record -- ./plain
    [ "$status" -eq 126 ]
    [ "${#lines[@]}" -eq 1 ]
    [[ "${lines[0]}" == *"./plain"*"ermission denied"* ]]
    run -127 record -- no-such-command-here
    [ "${#lines[@]}" -eq 1 ]
    [[ "${lines[0]}" == *"no-such-command-here"* ]]
    run ls p.h5 p.scope
    [ "$status" -ne 0 ]
}

@test "PATH is searched as by a shell: the first that may be executed" {
    mkdir one two
    printf '#!/bin/sh\necho one\n' >one/tool
    printf '#!/bin/sh\necho two\n' >two/tool
    chmod 755 two/tool
    PATH="$WORK/one:$WORK/two:$PATH" run record -- tool
    [ "$output" = two ]
    chmod 755 one/tool
    PATH="$WORK/one:$WORK/two:$PATH" run record -- tool
    [ "$output" = one ]
    cd one
    PATH=":$PATH" run record -- tool
    [ "$output" = one ]
}

@test "words, streams, descriptors, folder and limits pass through; stdout is the command's alone" {
    run record -- printf '<%s>' 'a b' '' "it's" $'new\nline'
    [ "$output" = "<a b><><it's><new
line>" ]
    echo from-stdin | record -- cat >out
    [ "$(cat out)" = from-stdin ]
    record -- sh -c 'echo through >&7; pwd; ulimit -n; umask' 7>seven >inside
    sh -c 'pwd; ulimit -n; umask' >outside
    diff inside outside
    [ "$(cat seven)" = through ]
    record -- sh -c 'ls /proc/self/fd' >inside </dev/null
    sh -c 'ls /proc/self/fd' >outside </dev/null
    diff inside outside
}

@test "signal dispositions and mask are those that scope-bpf was started with" {
    for start in "" "trap '' HUP INT;" "trap '' PIPE;"; do
        sh -c "$start exec grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status" >outside
        sh -c "$start exec $SCOPE_BPF -q -o p --format h5 -- grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status" >inside
        diff outside inside
    done
}

@test "root without sudo: the command keeps environment and capabilities of root" {
    env -i A=1 HOME=/nowhere USER=x PATH="$PATH" sh -c 'env | sort' >outside
    env -i A=1 HOME=/nowhere USER=x PATH="$PATH" "$SCOPE_BPF" -q -o p --format h5 -- sh -c 'env | sort' >inside
    diff outside inside
    record -- grep -E 'Uid|Gid|Groups|Cap(Prm|Eff|Bnd)|NoNewPrivs' /proc/self/status >inside
    grep -E 'Uid|Gid|Groups|Cap(Prm|Eff|Bnd)|NoNewPrivs' /proc/self/status >outside
    diff outside inside
}

@test "through sudo the command is the user's: ids, groups, HOME, no trace of sudo, and sudo still works inside" {
    need_sudo
    user_folder
    as_user sh -c 'grep -E "Uid|Gid|Groups|CapPrm|CapEff|NoNewPrivs" /proc/self/status; echo $HOME $USER $LOGNAME $SHELL' >../outside
    as_user sudo -n "$SCOPE_BPF" -q --format h5 -- \
        sh -c 'grep -E "Uid|Gid|Groups|CapPrm|CapEff|NoNewPrivs" /proc/self/status; echo $HOME $USER $LOGNAME $SHELL' >../inside
    diff ../outside ../inside
    run as_user sudo -n "$SCOPE_BPF" -q --format h5 -- sh -c 'env | grep ^SUDO_; sudo -n id -u'
    [ "$output" = 0 ]
    [ "$(stat -c %U scope.h5)" = "$TEST_USER" ]
}

@test "through sudo the files are the user's, with the user's umask; root's folders are not written" {
    need_sudo
    user_folder
    as_user sh -c "umask 077; sudo -n $SCOPE_BPF -q --format h5 -- true"
    [ "$(stat -c '%U %G' scope.h5)" = "$TEST_USER $TEST_USER" ]
    mkdir ../roots
    run as_user sudo -n "$SCOPE_BPF" -q -o ../roots/x -- touch ran
    [ "$status" -eq 125 ]
    [ "${#lines[@]}" -eq 1 ]
    [[ "${lines[0]}" == *roots*"$TEST_USER"* ]]
    [ ! -e ran ]
    [ -z "$(ls ../roots)" ]
}

@test "what sudo dropped: the line to type is given, and works" {
    need_sudo
    user_folder
    mkdir bin lib
    printf '#!/bin/sh\necho my tool\n' >bin/mytool && chmod 755 bin/mytool
    echo 'int answer(void) { return 42; }' | gcc -x c - -shared -fPIC -o lib/libanswer.so
    echo 'int answer(void); int main(void) { return answer(); }' | gcc -x c - -Llib -lanswer -o prog
    me=$PWD

    run -127 as_user env "PATH=$me/bin:/usr/bin:/bin" sudo -n "$SCOPE_BPF" -q --format h5 -- mytool
    [[ "$output" == *'env "PATH=$PATH" mytool'* ]]
    run as_user env "PATH=$me/bin:/usr/bin:/bin" sh -c "sudo -n $SCOPE_BPF -q --format h5 -- env \"PATH=\$PATH\" mytool"
    [ "$status" -eq 0 ]
    [ "$output" = "my tool" ]

    run -127 as_user env "LD_LIBRARY_PATH=$me/lib" sudo -n "$SCOPE_BPF" --format h5 -- ./prog
    [[ "$output" == *'env "LD_LIBRARY_PATH=$LD_LIBRARY_PATH"'* ]]
    run as_user env "LD_LIBRARY_PATH=$me/lib" \
        sh -c "sudo -n $SCOPE_BPF --format h5 -- env \"LD_LIBRARY_PATH=\$LD_LIBRARY_PATH\" ./prog"
    [ "$status" -eq 42 ]
    [[ "$output" != *'if a library was not found'* ]]
}

@test "--run-as: that user's command and files; an unknown one is an error" {
    user_folder
    run record --run-as no-such-user -- true
    [ "$status" -eq 125 ]
    [[ "$output" == *no-such-user* ]]
    $LIMIT "$SCOPE_BPF" -q --format h5 --run-as "$TEST_USER" -- sh -c 'id -un; id -Gn; echo $HOME' >../inside
    { as_user sh -c 'id -un; id -Gn'; echo "/home/$TEST_USER"; } >../outside
    diff ../outside ../inside
    [ "$(stat -c %U scope.h5)" = "$TEST_USER" ]
}

# rights_of PID: what a process could still do
rights_of() {
    grep -E 'Uid|Groups|CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs' "/proc/$1/status" | tr -s '\t ' ' '
}

@test "the recorder has given up everything, for a user and for root; the guardian holds two descriptors" {
    need_sudo
    user_folder
    background as_user sudo -n "$SCOPE_BPF" -q --format h5 -- sleep 30
    wait_for 20 pgrep -u "$TEST_USER" -x sleep
    recorder=$(pgrep -u "$TEST_USER" -x scope-recorder)
    rights_of "$recorder" >rights
    uid=$(id -u "$TEST_USER")
    grep -qx "Uid: $uid $uid $uid $uid" rights
    grep -qx 'NoNewPrivs: 1' rights
    [ "$(grep -c '^Cap.*: 0000000000000000$' rights)" -eq 5 ]
    collector=$(awk '/PPid/ { print $2 }' "/proc/$recorder/status")
    guardian=$(child_of "$collector" scope-guardian)
    [ "$(find "/proc/$guardian/fd" -mindepth 1 | wc -l)" -eq 2 ]
    # stdin, stdout, stderr, the socket, the capture
    [ "$(find "/proc/$recorder/fd" -mindepth 1 | wc -l)" -eq 5 ]
    [ "$(readlink "/proc/$recorder/fd/0")" = /dev/null ]
    kill -TERM "$(child_of "$collector" sleep)"
    wait "$PID" || true

    background "$SCOPE_BPF" -q -o "$WORK/p" --format h5 -- sleep 30
    collector=$PID
    wait_for 20 child_of "$collector" sleep
    rights_of "$(child_of "$collector" scope-recorder)" >rights
    grep -qx 'Uid: 0 0 0 0' rights
    grep -qx 'NoNewPrivs: 1' rights
    [ "$(grep -c '^Cap.*: 0000000000000000$' rights)" -eq 5 ]
    kill -TERM "$(child_of "$collector" sleep)"
    wait "$collector" || [ $? -eq 143 ]
}

@test "with capabilities of the file: the user's own commands and processes, nobody else's" {
    user_folder
    mkdir ../caps
    cp "$SCOPE_BPF" "$SCOPE_REPORT" ../caps/
    setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_checkpoint_restore,cap_kill,cap_sys_admin=ep \
        ../caps/scope-bpf || skip "file capabilities cannot be set here"
    run as_user timeout 60 "$WORK/caps/scope-bpf" -q --format h5 -- sh -c 'id -un; grep CapPrm /proc/self/status; exit 6'
    [ "$status" -eq 6 ]
    [ "${lines[0]}" = "$TEST_USER" ]
    [[ "${lines[1]}" == *0000000000000000 ]]
    [ "$(stat -c %U scope.h5)" = "$TEST_USER" ]

    background setpriv --reuid "$OTHER_USER" --regid "$OTHER_USER" --clear-groups sleep 30
    foreign=$PID
    run as_user timeout 60 "$WORK/caps/scope-bpf" -q --format h5 --duration 0.2 -p "$foreign"
    [ "$status" -eq 125 ]
    [[ "$output" == *"$foreign"*"$OTHER_USER"* ]]
    run as_user timeout 60 "$WORK/caps/scope-bpf" -q --format h5 --duration 0.2 -p $$
    [ "$status" -eq 125 ]
    [[ "$output" == *root* ]]
    kill -0 "$foreign"

    background setpriv --reuid "$TEST_USER" --regid "$TEST_USER" --init-groups sleep 30
    run as_user timeout 60 "$WORK/caps/scope-bpf" -q --format h5 --duration 0.2 -p "$PID"
    [ "$status" -eq 0 ]
    kill -0 "$PID"
}

@test "orphans of the command come to us and are no child of anybody's wait; daemons outlive the recording" {
    run record -- sh -c '(sleep 0.2; exit 3) & (setsid sleep 20 >/dev/null 2>&1 & echo $! >daemon); exit 4'
    [ "$status" -eq 4 ]
    kill -0 "$(cat daemon)"
    kill -KILL "$(cat daemon)"
}
