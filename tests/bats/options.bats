#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# runs: user
# timeout: 120

bats_require_minimum_version 1.5.0
load cli_helper

@test "--help is help: status 0, on stdout, no line above 80 columns, every option" {
    both --help
    [ "$status" -eq 0 ] && [ -z "$err" ]
    [ "$(awk 'length > 80' out)" = "" ]
    for name in pid freq no-samples duration buffer run-as region exclude output format label metadata \
        keep-capture fail-on-loss quiet verbose list json csv calibrate check help version; do
        grep -qE -- "--$name( |=|\[|\$)" out || { echo "--$name is not in --help"; return 1; }
    done
    run ! grep -q dump- out
    run cmp <("$SCOPE_BPF" -h) out
    [ "$status" -eq 0 ]
}

@test "--version is what VERSION says" {
    both --version
    [ "$status" -eq 0 ]
    [ "$out" = "scope-bpf $(cat "$TOP/VERSION")" ]
}

@test "a wrong option: one line that helps, status 125, nothing on stdout" {
    both --frek 99 -- true
    [ "$status" -eq 125 ] && [ -z "$out" ]
    says "--frek" "did you mean --freq?"
    both --freq 9x -- true
    [ "$status" -eq 125 ]
    says "--freq" "'9x'"
    both
    [ "$status" -eq 125 ]
    says "nothing to record" "scope-bpf -- COMMAND"
}

@test "-o -: no set of files goes to stdout" {
    both -o - -- touch ran
    [ "$status" -eq 125 ]
    says "standard output"
    [ ! -e ran ]
}

@test "errors are said also with --quiet" {
    both -q --list -- ./nowhere
    [ "$status" -eq 125 ]
    says "./nowhere"
}

@test "what is typed cannot play with the terminal" {
    both $'--fr\033[31meq\nx' -- true
    [ "$status" -eq 125 ]
    says "no option --fr"
    [ "$(tr -d '[:print:]\n' <err | wc -c)" -eq 0 ]
}

@test "SCOPE_BPF_OPTIONS comes first and is blamed by name" {
    SCOPE_BPF_OPTIONS='--formt h5' both -- true
    [ "$status" -eq 125 ]
    says "SCOPE_BPF_OPTIONS" "--format"
    SCOPE_BPF_OPTIONS='--region "no such*"' both --list -- "$APPS/fib"
    [ "$status" -eq 1 ]
    says "no region matches"
    # lists add up, the command line behind
    SCOPE_BPF_OPTIONS='--region "no such*"' both --list --region fib -- "$APPS/fib"
    [ "$status" -eq 0 ]
}

@test "stdout that is full is an error" {
    [ -w /dev/full ] || skip "no /dev/full"
    for what in --help --version "--list -- $APPS/fib"; do
        # shellcheck disable=SC2086 # several words
        run bash -c '"$0" $1 >/dev/full 2>/dev/null' "$SCOPE_BPF" "$what"
        [ "$status" -eq 125 ]
    done
}

@test "the man page renders without a warning and holds the options" {
    need man
    "$SCOPE_BPF" --dump-man >scope-bpf.1
    run bash -c 'MANWIDTH=90 man --warnings -E UTF-8 -l scope-bpf.1 2>&1 >page.txt'
    [ "$status" -eq 0 ] && [ -z "$output" ]
    col -b <page.txt >plain.txt
    for text in '-F, --freq HZ' '--list[=WHAT]' 'EXIT STATUS' 'OVERHEAD' 'SCOPE_BPF_OPTIONS'; do
        grep -qF -- "$text" plain.txt || { echo "no $text"; return 1; }
    done
}

# complete WORD...: what bash would offer for the last word, one a line
complete_words() {
    bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _scope_bpf; printf "%s\n" "${COMPREPLY[@]}"' \
        complete "$WORK/completion" "$@"
}

@test "completion: names, choices, files, and the command's words left alone" {
    "$SCOPE_BPF" --dump-completion >completion
    bash -n completion
    [ "$(complete_words scope-bpf --fre)" = --freq ]
    [ "$(complete_words scope-bpf --metadata f)" = full ]
    [ "$(complete_words scope-bpf -q --format '')" = "$(printf 'h5\nspt\nsps')" ]
    complete_words scope-bpf --list | grep -qx -- --list=presets
    touch outfile
    [ "$(complete_words scope-bpf -o outf)" = outfile ]
    # behind the command no option of ours is offered
    [ -z "$(complete_words scope-bpf ls --fre)" ]
    [ -z "$(complete_words scope-bpf -F 99 -- ls --fre)" ]
    [ "$(complete_words scope-bpf -F 99 --fail)" = --fail-on-loss ]
    run ! grep -q dump- completion
}
