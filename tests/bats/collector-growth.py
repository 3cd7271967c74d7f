#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""collector-growth.py COMMAND...: runs scope-bpf and looks twice a second at what it holds while it records: anonymous memory,
file descriptors, entries of its BPF maps of processes. Prints `memory FIRST PEAK`, `fds FIRST PEAK`, `entries PEAK`: FIRST is
the peak of the first tenth of the looks. Ends as the command does."""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
from benchlib import anonymous_kib

MAPS = {"tracked", "stopped", "lost", "known", "known_sets"}
BPFTOOL = os.environ.get("BPFTOOL", "/usr/sbin/bpftool")


def bpftool(*arguments):
    done = subprocess.run([BPFTOOL, "-j", *arguments], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 and done.stdout else []


def entries_of(pid, names):
    """In those of its maps that matter; they are found by its descriptors, for it has others while it starts."""
    ids = set()
    for info in Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            lines = dict(line.split(":", 1) for line in info.read_text().splitlines() if ":" in line)
        except OSError:
            continue
        if "map_id" in lines:
            ids.add(int(lines["map_id"]))
    for i in ids - names.keys():
        names[i] = dict(bpftool("map", "show", "id", str(i))).get("name")
    return sum(len(bpftool("map", "dump", "id", str(i))) for i in ids if names[i] in MAPS)


def main():
    process = subprocess.Popen(sys.argv[1:])
    looks, names = [], {}
    while process.poll() is None:
        time.sleep(0.5)
        try:
            looks.append((anonymous_kib(process.pid), len(os.listdir(f"/proc/{process.pid}/fd")), entries_of(process.pid, names)))
        except OSError:
            pass # it has ended
    looks = [look for look in looks if look[0]]
    early = looks[:max(len(looks) // 10, 3)]
    for i, name in enumerate(("memory", "fds")):
        print(name, max(x[i] for x in early), max(x[i] for x in looks))
    print("entries", max(x[2] for x in looks))
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


if __name__ == "__main__":
    sys.exit(main())
