# SPDX-License-Identifier: GPL-2.0-only
"""Programs in other mount and pid namespaces, on overlayfs: each counted once, found by what it really maps."""
import subprocess

import pytest
from recording import APPS, SCOPE_BPF, TOP, Paced, Recording, Watching, calls_by_pid, processes

NEW_MOUNTS = ["unshare", "--mount", "--propagation", "private"]

# Two containers on one image, and the image's own copy on the host. The first process of a pid namespace is number 1.
THREE = """
for n in 1 2; do
    mkdir -p up$n work$n root$n
    mount -t overlay overlay -o lowerdir=image,upperdir=up$n,workdir=work$n root$n
done
unshare --pid --fork chroot root1 /bin/paced 100 &
unshare --pid --fork chroot root2 /bin/paced 200 &
image/bin/paced 300 &
wait
"""


@pytest.fixture
def image(tmp_path):
    """A root file system of one static program; skipped where overlayfs cannot be mounted."""
    binary = tmp_path / "image/bin/paced"
    binary.parent.mkdir(parents=True)
    subprocess.run(["gcc", "-static", "-O2", "-pthread", "-I", TOP / "include", TOP / "tests/apps/paced.c", "-o", binary], check=True)
    (tmp_path / "three.sh").write_text(THREE)
    for n in "12":
        for kind in ("up", "work", "root"):
            (tmp_path / (kind + n)).mkdir()
    tried = subprocess.run([*NEW_MOUNTS, "mount", "-t", "overlay", "overlay", "-o", "lowerdir=image,upperdir=up1,workdir=work1", "root1"],
                           cwd=tmp_path, capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"no overlayfs, or no mount namespaces: {tried.stderr.strip()}")
    return tmp_path


def counts(recording):
    """Calls of each process, and its number in its own namespace, by calls."""
    inner = {row["pid"]: row["inner_pid"] for row in processes(recording) if row["rank"] >= 0}
    return sorted((calls, inner[pid]) for pid, calls in calls_by_pid(recording).items())


def test_two_containers_and_the_host(image):
    """As a command: its children go into namespaces of their own."""
    recording = Recording(image, [*NEW_MOUNTS, "sh", "three.sh"], ["--format", "h5", "--no-samples"])
    assert recording.status == 0, recording.messages
    host = next(row["pid"] for row in processes(recording) if row["rank"] >= 0 and row["inner_pid"] != 1)
    assert counts(recording) == [(100, 1), (200, 1), (300, host)], recording.messages
    assert recording.counted()["work"]["overlapping"] == 0


class Container(Paced):
    """`paced` in a container of its own, waiting; pid: on the host."""

    def __init__(self, image, number, calls):
        script = (f"mount -t overlay overlay -o lowerdir=image,upperdir=up{number},workdir=work{number} root{number} &&"
                  f" exec unshare --pid --fork --kill-child chroot root{number} /bin/paced {calls} 0 1 0 1")
        super().__init__(prefix=[*NEW_MOUNTS, "sh", "-c", script, "sh"], program="", cwd=image)
        self.outer = self.process.pid
        with open(f"/proc/{self.outer}/task/{self.outer}/children") as f:
            self.pid = int(f.read().split()[0])


@pytest.fixture
def three(image):
    """Three that wait: two containers and the host's."""
    programs = [Container(image, 1, 100), Container(image, 2, 200), Paced(300, program=image / "image/bin/paced")]
    yield programs
    for one in programs:
        one.kill()


@pytest.mark.parametrize("options", [["-a"], ["-p"], ["--follow", "yes", "-p"]], ids=["everyone", "by-pid", "by-pid-and-followed"])
def test_containers_that_run_already(image, three, options):
    pids = [",".join(str(one.pid) for one in three)] if "-p" in options else []
    watching = Watching(image, ["--no-samples", *options, *pids])
    for one in three:
        one.go()
    assert [one.finish() for one in three] == [100, 200, 300]
    assert watching.end() == 0, watching.messages
    assert calls_by_pid(watching) == {three[0].pid: 100, three[1].pid: 200, three[2].pid: 300}, watching.messages
    assert counts(watching) == [(100, 1), (200, 1), (300, three[2].pid)]


def test_another_build_in_the_upper_layer_is_another_file(image):
    """Copied up and replaced in one container: a file of its own, counted by itself."""
    (image / "up1/bin").mkdir()
    subprocess.run(["gcc", "-static", "-O1", "-pthread", "-I", TOP / "include", TOP / "tests/apps/paced.c", "-o", image / "up1/bin/paced"], check=True)
    recording = Recording(image, [*NEW_MOUNTS, "sh", "three.sh"], ["--format", "h5", "--no-samples"])
    assert [calls for calls, _ in counts(recording)] == [100, 200, 300], recording.messages


def test_collector_in_a_container(image):
    """Other mounts, the host's numbers: everything outside is seen as from outside."""
    other = Paced(250)
    try:
        watching = Watching(image, ["-a", "--no-samples"], prefix=NEW_MOUNTS)
        other.go()
        assert other.finish() == 250
        assert watching.end() == 0, watching.messages
    finally:
        other.kill()
    assert calls_by_pid(watching)[other.pid] == 250


def test_collector_in_a_pid_namespace_says_so(image):
    done = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", SCOPE_BPF,
                           "-o", image / "run", "--", APPS / "first_region"], capture_output=True, text=True, timeout=60, cwd=image)
    assert done.returncode == 125 and "pid namespace" in done.stderr
    assert not (image / "run.h5").exists()
