# SPDX-License-Identifier: GPL-2.0-only
"""Records a truth program with the real scope-bpf and reads the result with the reference, scope-profiler."""
import contextlib
import json
import os
import re
import signal
import subprocess
import textwrap
import time
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


def compile_c(folder, name, source, *flags, cc="gcc"):
    path = folder / f"{name}.c"
    path.write_text(textwrap.dedent(source))
    subprocess.run([cc, "-O2", "-g", "-I", str(TOP / "include"), str(path), "-o", str(folder / name), *flags], check=True, capture_output=True)
    return folder / name


class Done(Recording):
    """Files that are there already."""

    def __init__(self, folder):
        self.folder, self.prefix = Path(folder), Path(folder) / "run"
        self.h5 = self.folder / "run.h5"


class Watching(Recording):
    """scope-bpf without a command (-p, -a): started, until it has attached; ended by SIGINT or by itself."""

    def __init__(self, folder, options, prefix=(), timeout=30):
        self.folder, self.prefix = Path(folder), Path(folder) / "run"
        self.h5 = self.folder / "run.h5"
        self.log = open(self.folder / "messages", "w+")
        self.process = subprocess.Popen([*prefix, SCOPE_BPF, "-v", "--format", "h5", "-o", str(self.prefix), *map(str, options)],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log, cwd=folder, start_new_session=True)
        wait_until(lambda: re.search(r"attached \d+ sites", self.text()) or self.process.poll() is not None, timeout)

    def text(self):
        return (self.folder / "messages").read_text()

    def end(self, timeout=60):
        """Its exit status; the files are there."""
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGINT)
        return self.wait(timeout)

    def wait(self, timeout=60):
        try:
            self.status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise
        self.log.close()
        self.messages = self.text()
        return self.status


class Paced:
    """The truth program `paced`, waiting for go()."""

    def __init__(self, calls=1000, pause=0, threads=1, children=0, prefix=(), program=APPS / "paced", **popen):
        self.process = subprocess.Popen([*map(str, prefix), str(program), str(calls), str(pause), str(threads), str(children), "1"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **popen)
        self.inner_pid = int(self.process.stdout.readline().split()[1])
        self.pid = self.process.pid

    def go(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write("\n")
            self.process.stdin.flush()

    def finish(self, timeout=60):
        """Its own count of calls."""
        text, _ = self.process.communicate(timeout=timeout)
        return json.loads(text)["regions"]["work"]["calls"]

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def wait_until(what, seconds=20):
    end = time.monotonic() + seconds
    while not (value := what()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)
    return value


def processes(recording):
    """Rows of the process table of the profile."""
    with h5py.File(recording.h5) as f:
        columns = {name: column[()] for name, column in f["scope_bpf/processes"].items()}
    return [{name: value.decode() if isinstance(value, bytes) else int(value) for name, value in zip(columns, row)} for row in zip(*columns.values())]


def calls_by_pid(recording, region="work"):
    """pid -> calls of a region in the ranks of that process."""
    ranks = {}
    for row in processes(recording):
        if row["rank"] >= 0:
            ranks[row["rank"]] = row["pid"]
    out = {}
    for (name, rank), flags in recording.rows().items():
        if name == region:
            out[ranks[rank]] = out.get(ranks[rank], 0) + len(flags)
    return out
