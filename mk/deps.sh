#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# deps.sh LIST [VENV REQUIREMENTS ALONE]: installs the packages of LIST that are missing and makes the Python
# environment VENV with REQUIREMENTS, then ALONE without dependencies. Safe to call again: what is there stays.
set -eu
list=$1 venv=${2-} requirements=${3-} alone=${4-}

say() { printf '  %-8s %s\n' DEPS "$*"; }
die() { printf 'make deps: %s\n' "$*" >&2; exit 1; }

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -q -o Acquire::Retries=4 \
        -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@"
}

missing_packages() {
    sed 's/#.*//' "$list" | while read -r package; do
        [ -z "$package" ] || installed "$package" || printf '%s ' "$package"
    done
}

install_packages() {
    missing=$(missing_packages)
    [ -n "$missing" ] || return 0
    command -v apt-get >/dev/null || die "needs these packages of Debian 12, and there is no apt-get here: $missing"
    [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null ||
        die "must install packages and there is no sudo: run it as root once ($missing)"
    say "installing $missing"
    # The list of packages may be stale, or empty as in a fresh image: refresh it, then try twice.
    apt update >/dev/null || say 'apt-get update failed; trying with the lists that are there'
    # shellcheck disable=SC2086 # a list of words on purpose
    apt install --no-install-recommends $missing || { sleep 5; apt update; apt install --no-install-recommends $missing; }
}

pip_install() {
    "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 5 --timeout 60 "$@" 2>"$venv/pip.err" || {
        cat "$venv/pip.err" >&2
        die "pip could not install $*"
    }
}

make_venv() {
    say "Python environment in $venv"
    # An environment that an interrupted run left half-made has no pip, or one that does not start.
    "$venv/bin/python" -m pip --version >/dev/null 2>&1 || /usr/bin/python3 -m venv --clear "$venv"
    pip_install -r "$requirements"
    pip_install --no-deps -r "$alone"
}

wanted() { cat "$requirements" "$alone"; }

install_packages
[ -n "$venv" ] || exit 0
if ! wanted | cmp -s - "$venv/installed.txt"; then
    make_venv
    wanted > "$venv/installed.txt"
fi
