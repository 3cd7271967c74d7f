#!/bin/sh
# SPDX-License-Identifier: MIT
# demo.sh [BUILD]: records the heat solver on two MPI ranks and shows what comes out. `make demo` calls it.
#
# Probes are placed by the kernel, so scope-bpf needs root; the solver does not and must not have it: it runs as the
# user behind sudo. From a root shell there is none, and mpirun refuses root: a user is made for the demo and removed.
set -eu
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build}")

if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo 'demo: scope-bpf needs root and there is no sudo here: run it as root' >&2; exit 1; }
    exec sudo "$0" "$build"
fi

work=$(mktemp -d /tmp/scope-demo.XXXXXX)
made_user=
run_as=

cleanup() {
    [ -z "$made_user" ] || userdel "$made_user" 2>/dev/null || echo "demo: could not remove the user $made_user: userdel $made_user" >&2
    [ -z "$made_user" ] || chown -R root:root "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if [ "${SUDO_UID:-0}" -ne 0 ]; then
    chown "$SUDO_UID:$SUDO_GID" "$work"
else
    made_user="scope-demo-$$"
    useradd --system --no-create-home --home-dir "$work" --shell /bin/sh "$made_user"
    chown "$made_user:" "$work"
    run_as="--run-as $made_user"
fi
chmod 755 "$work"
# The checkout may lie where that user cannot look (a folder below /root).
install -m 755 "$build/examples/heat" "$work/heat"

show() { printf '\n$ %s\n' "$*"; }

cd "$work"
show scope-bpf -o profile -- mpirun --oversubscribe -n 2 ./heat --nx 768 --ny 768 --steps 1500
# shellcheck disable=SC2086 # empty, or an option and its value
"$build/scope-bpf" $run_as -o profile -- mpirun --oversubscribe -n 2 ./heat --nx 768 --ny 768 --steps 1500

show scope-report summary --per-rank profile.h5
"$build/scope-report" summary --per-rank profile.h5

show scope-report lines --top 3 profile
"$build/scope-report" lines --top 3 profile

show ls -l
ls -l

printf '\nThe files stay in %s. Next: mark a region of your own program with SP_PROBE(name) (include/scope_probe.h).\n' "$work"
