# SPDX-License-Identifier: GPL-2.0-only
"""Counts hits of a fixed-address aarch64 program under qemu-user, inside gdb-multiarch, and compares with its truth.

    qemu-aarch64 -g SOCKET PROGRAM ARG... >TRUTH &
    gdb-multiarch -q -nx -batch -iex 'py argv = ["SOCKET", "PROGRAM", "TRUTH"]' -x aarch64-hits.py

The same pairing and comparison as count-hits.py. Prints "same" or the differences.
"""
import importlib.util
import os
import re
import struct

import gdb

here = os.path.dirname(os.path.abspath(os.environ["COUNT_HITS"]))
spec = importlib.util.spec_from_file_location("hits", os.path.join(here, "count-hits.py"))
hits = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hits)
socket, program, truth = argv  # noqa: F821 - set by -ex
pairing = hits.Pairing()


def register(name):
    name = {"fp": "x29", "lr": "x30"}.get(name, name)
    return int(gdb.parse_and_eval("$" + name)) & (2**64 - 1)


def address(args):
    base, _, disp = re.match(r"[18]@\[(\w+)(, #?(-?\d+))?\]$", args).groups()
    return register(base) + int(disp or 0)


def text(pointer):
    memory = gdb.selected_inferior().read_memory
    raw = b""
    while len(raw) < 255 and not raw.endswith(b"\0"):
        raw += bytes(memory(pointer + len(raw), 1))
    return raw.rstrip(b"\0").decode()


class Site(gdb.Breakpoint):
    def __init__(self, site):
        super().__init__(f"*{site['location']:#x}")
        self.site = site

    def stop(self):
        name, args = self.site["name"], self.site["args"]
        where = address(args) if args else 0
        if name in ("__dynamic__begin", "__dynamic__open", "__dynamic__close"):
            region = text(struct.unpack("<Q", bytes(gdb.selected_inferior().read_memory(where, 8)))[0])
            where = where if name == "__dynamic__begin" else 0
        else:
            region = re.sub("__(begin|end)$", "", name)
        if self.site["line"] is not None:
            pairing.begin(1, region, where, register("sp"), self.site["location"])
        else:
            pairing.end(1, region, where, register("sp"))
        return False


gdb.execute("set pagination off")
gdb.execute(f"file {program}", to_string=True)
gdb.execute(f"target remote {socket}", to_string=True)
for site in hits.notes.sites(hits.notes.Elf(program)):
    if site["live"]:
        Site(site)
gdb.execute("continue", to_string=True)
pairing.finish()
with open(truth, encoding="utf-8") as f:
    bad = list(hits.differences(hits.truth_of([program], f.read()), pairing.regions))
print("\n".join(bad) or "same")
