# SPDX-License-Identifier: GPL-2.0-only
# timeout: 300
"""
The road of kernels before 6.6, one perf uprobe per site, on this kernel: the same truth, and files that do not wait for the
detachment, which costs 0.1 s a site. Other kernels themselves: tests/kernels.
"""
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from recording import APPS, Recording

PROGRAMS = [
    ["fib", "15"], ["longjmp", "200"], ["recurse_longjmp"], ["throw", "200"], ["overlap"], ["dynamic", "untouched"], ["dynamic", "edge"],
    ["pthread_exit", "8", "pair"], ["first_region", "7"], ["fork_region", "work"], ["fork_region", "quiet"], ["many_threads", "200"],
]


def sessions_of(folder):
    """Processes of scope-bpf that work for a recording into `folder`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder).encode() in path.read_bytes() and path.with_name("comm").read_text().strip() == "scope-bpf":
                found.append(int(path.parent.name))
        except OSError:
            pass
    return found


def wait_until_gone(folder, seconds):
    end = time.monotonic() + seconds
    while sessions_of(folder) and time.monotonic() < end:
        time.sleep(0.05)
    return sessions_of(folder)


@pytest.mark.parametrize("program", PROGRAMS, ids="-".join)
def test_calls_and_flags_are_the_programs_own(tmp_path, program):
    run = Recording(tmp_path, [APPS / program[0], *program[1:]], ["--uprobes", "perf"])
    assert run.status == (7 if program[0] == "first_region" else 0), run.messages
    assert run.counted() == run.truth["regions"]
    assert "lost: 0" in run.messages


def test_files_are_written_before_the_slow_detachment(tmp_path):
    """names has 46 sites: seconds. The files are complete and scope-bpf gone while a child of its still detaches; then nothing is left."""
    run = Recording(tmp_path, [APPS / "names", "1"], ["--uprobes", "perf"])
    detaching = sessions_of(tmp_path)
    assert run.status == 0, run.messages
    assert run.counted() == run.truth["regions"]
    assert detaching, "nothing was left to detach"
    assert not wait_until_gone(tmp_path, 60)


def test_both_roads_count_the_same_at_the_same_time(tmp_path):
    """A recording by the one road while another by the other holds the same sites."""
    folders = [tmp_path / "perf", tmp_path / "auto"]
    with ThreadPoolExecutor() as pool:
        for folder in folders:
            folder.mkdir()
        tasks = [pool.submit(Recording, folder, [APPS / "fib", "18"], ["--uprobes", folder.name]) for folder in folders]
    for run in (task.result() for task in tasks):
        assert run.status == 0, run.messages
        assert run.counted() == run.truth["regions"] == {"fib": {"calls": 8361, "abandoned": 0, "truncated": 0, "overlapping": 0}}
        assert "lost: 0" in run.messages
