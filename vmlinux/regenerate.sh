#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# regenerate.sh [BTF]: writes vmlinux/full/vmlinux.h with every type of the running kernel (or of the file BTF).
# To build with it: make VMLINUX=vmlinux/full. The small header beside this script is what the project builds with.
set -eu
btf=${1:-/sys/kernel/btf/vmlinux}
folder=$(dirname "$0")/full

if [ ! -r "$btf" ]; then
    echo "regenerate.sh: $btf cannot be read: the kernel needs CONFIG_DEBUG_INFO_BTF" >&2
    exit 1
fi
PATH=$PATH:/usr/sbin:/sbin
mkdir -p "$folder"
bpftool btf dump file "$btf" format c > "$folder/vmlinux.h.new"
mv "$folder/vmlinux.h.new" "$folder/vmlinux.h"
echo "$folder/vmlinux.h: $(wc -l < "$folder/vmlinux.h") lines"
