# SPDX-License-Identifier: GPL-2.0-only
"""-a: every process, through filters; samples of those without probes; one that floods takes nothing from another."""
import os
import subprocess
import time
from pathlib import Path

import pytest
from recording import APPS, SCOPE_BPF, SCOPE_REPORT, Done, Paced, Watching, calls_by_pid, processes, wait_until

UNIFIED = ("/sys/fs/cgroup/unified", "/sys/fs/cgroup")


@pytest.fixture
def started():
    """Programs that must not outlive a test."""
    programs = []
    yield programs
    for one in programs:
        one.kill()


def start(started, *args, **kwargs):
    started.append(Paced(*args, **kwargs))
    return started[-1]


def test_present_and_future_processes(tmp_path, started):
    present = [start(started, 1000), start(started, 500, threads=3, children=2)]
    watching = Watching(tmp_path, ["-a", "--no-samples"])
    future = start(started, 700)
    for one in (*present, future):
        one.go()
    truth = {one.pid: one.finish() for one in (*present, future)}
    assert watching.end() == 0, watching.messages
    got = calls_by_pid(watching)
    parents = {row["pid"]: row["parent_pid"] for row in processes(watching)}
    for child in [pid for pid in got if parents.get(pid) == present[1].pid]:
        got[present[1].pid] += got.pop(child)
    assert {pid: got.get(pid) for pid in truth} == truth, watching.messages


def test_a_command_beside_the_machine(tmp_path, started):
    other = start(started, 300)
    command = subprocess.Popen([SCOPE_BPF, "-a", "--format", "h5", "--no-samples", "-o", tmp_path / "run", "--", "sh", "-c",
                                f"echo >{tmp_path}/there; {APPS}/paced 50; while [ ! -e {tmp_path}/done ]; do sleep 0.05; done; exit 4"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_until((tmp_path / "there").exists)
    other.go()
    assert other.finish() == 300
    (tmp_path / "done").touch()
    _, messages = command.communicate(timeout=60)
    assert command.returncode == 4, messages
    calls = calls_by_pid(Done(tmp_path))
    assert calls.pop(other.pid) == 300 and list(calls.values()) == [50]


def filtered(tmp_path, options, started, wanted, unwanted):
    watching = Watching(tmp_path, ["-a", *options])
    try:
        for one in (*wanted, *unwanted):
            one.go()
        truth = {one.pid: one.finish() for one in wanted}
        for one in unwanted:
            one.finish()
    finally:
        watching.end()
    assert watching.status == 0, watching.messages
    assert calls_by_pid(watching) == truth, watching.messages
    assert not {one.pid for one in unwanted} & {row["pid"] for row in processes(watching)}
    return watching


def test_filter_by_user(tmp_path, started):
    wanted = [start(started, 200, user="nobody"), start(started, 300, user="nobody")]
    watching = filtered(tmp_path, ["--filter-user", "nobody"], started, wanted, [start(started, 400)])
    assert watching.summary()["lost"] == 0


def test_filter_by_name(tmp_path, started):
    """A pattern of names; who has another name makes no rank, no calls and no samples, whatever it ran."""
    (tmp_path / "solver-a").symlink_to(APPS / "paced")
    wanted = [start(started, 200, program=tmp_path / "solver-a")]
    spin = subprocess.Popen([APPS / "spin", "1"], stdout=subprocess.DEVNULL)
    try:
        watching = filtered(tmp_path, ["--filter-comm", "solver*"], started, wanted, [start(started, 400), start(started, 50)])
    finally:
        spin.kill()
        spin.wait()
    summary = watching.summary()
    assert [r["name"] for r in summary["regions"]] == ["work"]
    assert {row["command"] for row in summary["no_regions"]} <= {"solver-a"}
    assert {row["comm"] for row in processes(watching)} == {"solver-a"}


@pytest.fixture
def cgroup():
    mount = next((Path(m) for m in UNIFIED if Path(m, "cgroup.procs").exists() and Path(m, "cgroup.controllers").exists()), None)
    if not mount:
        pytest.skip("no cgroup2 file system is mounted")
    folder = mount / f"scope-test-{os.getpid()}"
    try:
        (folder / "below").mkdir(parents=True)
    except OSError as error:
        pytest.skip(f"no cgroup can be made: {error}")
    yield folder
    for _ in range(100):
        try:
            (folder / "below").rmdir()
            folder.rmdir()
            return
        except OSError:
            time.sleep(0.05)


def test_filter_by_cgroup(tmp_path, started, cgroup):
    present, below, outside = start(started, 200), start(started, 300), start(started, 400)
    (cgroup / "cgroup.procs").write_text(str(present.pid))
    (cgroup / "below/cgroup.procs").write_text(str(below.pid))
    filtered(tmp_path, ["--no-samples", "--filter-cgroup", str(cgroup)], started, [present, below], [outside])


def test_processes_without_regions_are_sampled(tmp_path):
    """One line per command; about as many samples as their CPU time says; the collector's own helpers are not there."""
    busy = tmp_path / "churner"
    busy.symlink_to("/bin/bash")
    watching = Watching(tmp_path, ["-a", "-F", "500"])
    programs = [subprocess.Popen([str(busy), "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; times"], stdout=subprocess.PIPE, text=True)
                for _ in range(2)]
    seconds = 0.0
    for one in programs:
        text, _ = one.communicate(timeout=60)
        minutes, rest = text.split()[0].rstrip("s").split("m")
        seconds += 60 * float(minutes) + float(rest)
    assert watching.end() == 0, watching.messages
    rows = {row["command"]: row for row in watching.summary()["no_regions"]}
    assert rows["churner"]["processes"] == 2
    assert 0.7 * 500 * seconds < rows["churner"]["samples"] < 1.2 * 500 * seconds + 20
    own = {row["pid"] for row in processes(watching)} & {watching.process.pid}
    assert not own and not any(row["parent_pid"] == watching.process.pid for row in processes(watching))
    text = subprocess.run([SCOPE_REPORT, "summary", str(watching.h5)], capture_output=True, text=True, check=True).stdout
    assert sum(line.startswith("no regions: churner, ") for line in text.splitlines()) <= 1


def test_a_flood_takes_nothing_from_another(tmp_path, started):
    """Small buffers: the flood loses, under its own name; who makes 1,000 calls/s loses none. seen + lost = truth for both."""
    quiet, flood = start(started, 3000, pause=900), start(started, 1500000)
    watching = Watching(tmp_path, ["-a", "--no-samples", "--buffer", "64K"])
    quiet.go()
    flood.go()
    truth = {one.pid: one.finish() for one in (quiet, flood)}
    assert watching.end() == 0, watching.messages
    losses = watching.summary()["losses"]
    lost = {pid: sum(row["count"] for row in losses if row["pid"] == pid) for pid in (quiet.pid, flood.pid)}
    assert lost[quiet.pid] == 0 and lost[flood.pid] > 0, losses
    assert {pid: n + lost[pid] for pid, n in calls_by_pid(watching).items()} == truth


def test_nobody_is_stopped(tmp_path):
    """Programs and libraries that nobody has seen before: each is stopped by nobody (its parent would hear of it)."""
    watching = Watching(tmp_path, ["-a", "--no-samples"])
    for turn in range(20):
        program = tmp_path / f"new{turn}"
        program.write_bytes((APPS / "first_region").read_bytes())
        program.chmod(0o755)
        pid = os.posix_spawn(str(program), [str(program), "7"], os.environ)
        told = []
        while True:
            _, status = os.waitpid(pid, os.WUNTRACED | os.WCONTINUED)
            told.append(status)
            if os.WIFEXITED(status):
                break
        assert told == [7 << 8]
    assert watching.end() == 0, watching.messages
    # What was missed is said: each was mapped before its sites could be attached.
    seen = sum(calls_by_pid(watching, "first").values()) if watching.rows() else 0
    assert seen + watching.messages.count("calls in between are not recorded") >= 20
