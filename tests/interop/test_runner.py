# SPDX-License-Identifier: GPL-2.0-only
# runs: user
"""The test runner cannot be fooled: whatever hides a failure is one."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))
import taplines


def read(text, status=0, how=None):
    reader = taplines.Reader()
    for line in text.splitlines():
        reader.feed(line)
    reader.close(status, how)
    return [sum(r.state == s for r in reader.results) for s in ("passed", "failed", "skipped")]


@pytest.mark.parametrize("text, status, expected", [
    ("1..2\nok 1 - a\nok 2 - b", 0, [2, 0, 0]),
    ("TAP version 13\nok 1 a\n# a note\nok 2 b\n1..2", 0, [2, 0, 0]),
    ("1..2\nok 1 - a\nnot ok 2 - b", 1, [1, 1, 0]),
    ("1..2\nok 1 - a\nok 2 b # skip no bpftrace", 0, [1, 0, 1]),
    ("1..1\nskip: no aarch64 emulator\nnot ok 1 # SKIP name", 0, [0, 0, 1]),
    ("1..0 # SKIP no QEMU", 0, [0, 0, 1]),
], ids=[f"honest{i}" for i in range(6)])
def test_honest_suites(text, status, expected):
    assert read(text, status) == expected


@pytest.mark.parametrize("text, status, how", [
    ("", 0, None),
    ("ok 1 - a", 0, None),
    ("1..3\nok 1 - a\nok 2 - b", 0, None),
    ("1..1\nok 1 - a\nok 2 - b", 0, None),
    ("1..2\nok 1 - a\nok 1 - a", 0, None),
    ("1..1\n1..1\nok 1 - a", 0, None),
    ("1..1\nok 1 - a", 1, None),
    ("1..1\nok 1 - a", 0, "not over after 5 s"),
    ("1..1\nok 1 - a # skip", 0, None),
    ("1..1\nnot ok 1 # SKIP name", 0, None),
    ("1..0", 0, None),
    ("1..1\nok 1 - a\nBail out! no more", 0, None),
    ("ok 1 - a\n1..1\nok 2 - b", 0, None),
    ("1..1\nnot ok 1 - later # TODO some day", 0, None),
], ids=[f"hidden{i}" for i in range(14)])
def test_what_hides_a_failure_is_one(text, status, how):
    assert read(text, status, how)[1] >= 1


def run_unit(folder, body):
    """tests/run on a copy of the tests' root with one unit program whose body is a shell script."""
    tests = folder / "tests"
    (tests / "unit").mkdir(parents=True)
    (tests / "unit" / "test_it.c").write_text("")
    for name in ("run", "taplines.py"):
        (tests / name).write_text((TESTS / name).read_text())
        (tests / name).chmod(0o755)
    program = folder / "build" / "tests" / "test_it"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n" + body)
    program.chmod(0o755)
    return subprocess.run([tests / "run", "unit"], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("body, last, status", [
    ("echo 1..1; echo ok 1 - a", "1 passed, 0 failed, 0 skipped", 0),
    ("echo 1..2; echo ok 1 - a; kill -9 $$", "1 passed, 1 failed, 0 skipped", 1),
    ("echo 1..1; echo ok 1 - a; sleep 30 &", "1 passed, 1 failed, 0 skipped", 1),
    ("echo 1..1; echo 'ok 1 a # skip no perf'", "0 passed, 0 failed, 1 skipped", 0),
], ids=["passes", "killed", "leaves a process", "skips"])
def test_program_and_totals(tmp_path, body, last, status):
    done = run_unit(tmp_path, body)
    assert done.stdout.splitlines()[-1] == last
    assert done.returncode == status


def test_no_suite_is_no_success(tmp_path):
    done = run_unit(tmp_path, "")
    assert done.returncode == 1
    os.unlink(tmp_path / "tests" / "unit" / "test_it.c")
    done = subprocess.run([tmp_path / "tests" / "run", "unit"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "0 passed, 0 failed, 0 skipped")
