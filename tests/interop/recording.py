# SPDX-License-Identifier: GPL-2.0-only
"""Records a truth program with the real scope-bpf and reads the result with the reference, scope-profiler."""
import json
import os
import subprocess
from pathlib import Path

import h5py
import numpy as np

TOP = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("BUILD", TOP / "build")).resolve()
SCOPE_BPF = os.environ.get("SCOPE_BPF", str(BUILD / "scope-bpf"))
SCOPE_REPORT = os.environ.get("SCOPE_REPORT", str(BUILD / "scope-report"))
APPS = BUILD / "apps"

ABANDONED, TRUNCATED, INHERITED, OVERLAPPING = 1, 2, 4, 8


class Recording:
    """One run: the program's own truth (its JSON line), its status, and the files."""

    def __init__(self, folder, command, options=(), timeout=300):
        self.folder, self.prefix = Path(folder), Path(folder) / "run"
        self.process = subprocess.run([SCOPE_BPF, "--format", "h5,spt,sps", "-o", str(self.prefix), *options, "--", *map(str, command)],
                                      stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, cwd=folder)
        self.status, self.messages = self.process.returncode, self.process.stderr
        self.truths = [json.loads(line) for line in self.process.stdout.splitlines() if line.startswith("{")]
        self.truth = self.truths[0] if self.truths else None
        self.h5 = self.folder / "run.h5"

    def summary(self, *options):
        text = subprocess.run([SCOPE_REPORT, "summary", "--json", *options, str(self.h5)], check=True, capture_output=True, text=True).stdout
        return json.loads(text)

    def rows(self):
        """(name, rank) -> flags of its calls, straight from the file by h5py: our column beside the reference's."""
        with h5py.File(self.h5) as f:
            names = [n.decode() for n in f["region_table/names"][()]]
            index = f["rank_region_index"]
            flags = f["events/flags"][()] if "flags" in f["events"] else np.zeros(f["events/durations"].shape, np.uint8)
            return {(names[r], int(k)): flags[o:o + n] for r, k, o, n in
                    zip(index["region_ids"][()], index["ranks"][()], index["event_offsets"][()], index["event_counts"][()])}

    def counted(self):
        """Per region, over all ranks: what the truth programs print."""
        out = {}
        for (name, _), flags in self.rows().items():
            row = out.setdefault(name, {"calls": 0, "abandoned": 0, "truncated": 0, "overlapping": 0})
            row["calls"] += len(flags)
            row["abandoned"] += int(((flags & ABANDONED) != 0).sum())
            row["truncated"] += int(((flags & TRUNCATED) != 0).sum())
            row["overlapping"] += int(((flags & OVERLAPPING) != 0).sum())
        return {name: row for name, row in out.items() if row["calls"]}
