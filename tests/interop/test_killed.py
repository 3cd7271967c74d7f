# SPDX-License-Identifier: GPL-2.0-only
# timeout: 900
"""SIGKILL of the collector at random moments, and of its guardian: the program goes on, the capture has the calls.

The truth is the program's own clock (ticker.c): the end of each call, begin and end of each child it started.
"""
import contextlib
import os
import random
import signal
import subprocess
import threading
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
from recording import APPS, SCOPE_BPF, SCOPE_REPORT, TOP

MAX_TICKS, MAX_CHILDREN = 1 << 20, 1 << 14
MS = 1_000_000
KNOWN = 250 * MS  # what ended longer than this before the kill is in the capture
GO_ON = 300 * MS  # promised: 100 ms; three times that, so that a busy machine fails nobody
KILLS = int(os.environ.get("KILLS", "12"))  # fifty in killed.long.bats


@pytest.fixture(scope="module")
def ticker(tmp_path_factory):
    path = tmp_path_factory.mktemp("ticker") / "ticker"
    source = Path(__file__).parent / "ticker.c"
    subprocess.run(["gcc", "-O1", "-pthread", "-I", str(TOP / "include"), str(source), "-o", str(path)], check=True)
    return path


class Delays(threading.Thread):
    """How late this machine lets anybody run: the worst oversleep of a millisecond's sleep since the last question."""

    def __init__(self):
        super().__init__(daemon=True)
        self.worst, self.over = 0, False

    def run(self):
        while not self.over:
            before = time.monotonic_ns()
            time.sleep(0.001)
            self.worst = max(self.worst, time.monotonic_ns() - before - MS)


@pytest.fixture
def delays():
    thread = Delays()
    thread.start()
    yield thread
    thread.over = True
    thread.join()


class Run:
    def __init__(self, folder, ticker):
        folder.mkdir()
        self.folder, shared = folder, folder / "shared"
        with open(shared, "wb") as f:
            f.truncate(16 + 8 * (MAX_TICKS + 2 * MAX_CHILDREN))
        numbers = np.memmap(shared, np.int64, "r")
        self.head, ticks = numbers[:2], 2 + MAX_TICKS
        self.tick_end = numbers[2:ticks]
        self.child_begin, self.child_end = numbers[ticks:ticks + MAX_CHILDREN], numbers[ticks + MAX_CHILDREN:]
        self.messages = open(folder / "messages", "w")
        self.collector = subprocess.Popen(
            [SCOPE_BPF, "-q", "-o", "run", "--format", "h5", "--no-samples", "--", str(ticker), "shared", str(APPS / "first_region")],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.messages, start_new_session=True)

    def named(self, name):
        found = subprocess.run(["pgrep", "-P", str(self.collector.pid), "-x", name], capture_output=True, text=True).stdout.split()
        return int(found[0]) if found else None

    def wait(self, what, seconds=20):
        end = time.monotonic() + seconds
        while not (value := what()):
            assert time.monotonic() < end, (self.folder / "messages").read_text()
            time.sleep(0.002)
        return value

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.collector.pid, signal.SIGKILL)
        self.collector.wait(20)
        self.messages.close()

    def check_going_on(self, killed, delays, begun):
        """Ticks and children go on; the child in flight at the kill ended soon after it."""
        if not begun:
            return None
        ticks, children = int(self.head[0]), int(self.head[1])
        self.wait(lambda: self.head[0] > ticks + 10 and self.head[1] > children + 2, 5)
        ends = self.child_end[:self.head[1]]
        after = ends[ends > killed]
        late = int(after[0] - killed)
        assert late < GO_ON + delays.worst, f"a process went on {late / MS:.0f} ms after the kill"
        ends = self.tick_end[:self.head[0]]
        assert ends[ends > killed][0] - killed < GO_ON + delays.worst
        return late

    def convert(self):
        capture = self.folder / "run.scope"
        if not capture.exists() or capture.stat().st_size == 0:
            return np.zeros((0, 2), np.int64)
        subprocess.run([SCOPE_REPORT, "convert", "run.scope", "-o", "late.h5"], cwd=self.folder, check=True, capture_output=True)
        with h5py.File(self.folder / "late.h5") as f:
            names = [n.decode() for n in f["region_table/names"][()]]
            index = f["rank_region_index"]
            for region, offset, count in zip(index["region_ids"][()], index["event_offsets"][()], index["event_counts"][()]):
                if names[region] == "tick":
                    start = np.cumsum(f["events/start_deltas"][offset:offset + count])
                    return np.stack([start, start + f["events/durations"][offset:offset + count]], 1)
        return np.zeros((0, 2), np.int64)

    def check_calls(self, before):
        """Every call that ended before that time is there; each lies where the program's clock saw it."""
        truth = self.tick_end[:self.head[0]]
        calls = self.convert()
        must = int((truth <= before).sum())
        assert len(calls) >= must, f"{len(calls)} calls, {must} ended long before the kill"
        n = min(len(calls), len(truth))
        # The last one may be the call that was open at the kill.
        for i in range(n - 1):
            assert calls[i, 1] <= truth[i]
            assert i == 0 or calls[i, 0] >= truth[i - 1] - 1
        return must


def lives(pid):
    """A zombie that the machine's init has not fetched yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_collector_killed(tmp_path, ticker, delays):
    random.seed(os.environ.get("SEED", "50 moments"))
    known, gaps = 0, []
    for turn in range(KILLS):
        run = Run(tmp_path / str(turn), ticker)
        try:
            if turn % 5:  # from the first call on; every fifth at any time, before the program began too
                run.wait(lambda: run.head[0] > 0)
                time.sleep(random.uniform(0, 0.9))
            else:
                time.sleep(random.uniform(0, 1.5))
            helpers = [pid for pid in (run.named("scope-guardian"), run.named("scope-recorder")) if pid]
            begun, delays.worst = run.head[1] > 0, 0
            killed = time.monotonic_ns()
            os.kill(run.collector.pid, signal.SIGKILL)
            late = run.check_going_on(killed, delays, begun)
            gaps += [late] if late is not None else []
            run.wait(lambda: not any(map(lives, helpers)), 20)
        finally:
            run.end()
        known += run.check_calls(killed - KNOWN)
    print(f"{KILLS} kills, {known} calls had to be known, processes went on after at most {max(gaps) / MS:.0f} ms")
    assert len(gaps) >= KILLS // 2 and known > 20 * KILLS


def test_guardian_killed(tmp_path, ticker, delays):
    """Another one comes at once; the recording loses nothing, and the new one does its work too."""
    run = Run(tmp_path / "run", ticker)
    try:
        run.wait(lambda: run.head[1] > 5)
        for _ in range(5):
            guardian = run.wait(lambda: run.named("scope-guardian"))
            os.kill(guardian, signal.SIGKILL)
            run.wait(lambda: run.named("scope-guardian") not in (None, guardian), 2)
            time.sleep(0.2)
        delays.worst = 0
        killed = time.monotonic_ns()
        os.kill(run.collector.pid, signal.SIGKILL)
        run.check_going_on(killed, delays, True)
    finally:
        run.end()
    assert run.check_calls(killed - KNOWN) > 100


def test_both_killed_at_once(tmp_path, ticker):
    """Nobody is left to continue a stopped process; the capture still has the calls."""
    run = Run(tmp_path / "run", ticker)
    try:
        run.wait(lambda: run.head[1] > 5)
        time.sleep(0.5)
        guardian = run.named("scope-guardian")
        killed = time.monotonic_ns()
        os.kill(guardian, signal.SIGKILL)
        os.kill(run.collector.pid, signal.SIGKILL)
        time.sleep(0.2)
    finally:
        run.end()
    assert run.check_calls(killed - KNOWN) > 100
