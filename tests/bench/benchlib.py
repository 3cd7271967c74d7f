# SPDX-License-Identifier: GPL-2.0-only
"""What `run` measures with: the loop that stays the same, the tracers that come and go, memory of processes."""
import os
import re
import shutil
import signal
import statistics
import subprocess
import threading
import time
from pathlib import Path

TRACED_NS = 150  # a pair that costs more is being traced: without, it takes less than one
WAIT = 30        # seconds until a tracer must be there, or gone


class Missing(Exception):
    """A facility that a row needs is not there, or a tracer failed: the row says so."""


class Loop:
    """build/bench/loop: measures itself, in CPU time of its own thread."""

    def __init__(self, build):
        self.path = str(build / "bench" / "loop")
        self.process = subprocess.Popen([self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, what, n, chunks):
        """Nanoseconds per turn of the loop, one number for each chunk of n turns."""
        self.tell(f"{what} {n} {chunks}")
        answer = self.process.stdout.readline()
        if not answer:
            raise Missing("the measured loop died")
        return [float(x) for x in answer.split()]

    def is_traced(self):
        return min(self.ask("pairs", 200, 3)) > TRACED_NS

    def wait_until(self, traced, tracer=None):
        end = time.monotonic() + WAIT
        while self.is_traced() != traced:
            if tracer and tracer.poll() is not None:
                raise Missing(f"{tracer.args[0]} ended with status {tracer.returncode}: {last_words(tracer)}")
            if time.monotonic() > end:
                raise Missing("the tracer did not come" if traced else "the tracer did not go away")
            time.sleep(0.02)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def last_words(process):
    text = process.stderr.read() if process.stderr else ""
    return (text.strip().splitlines() or ["it said nothing"])[-1]


class Tracer:
    """A context in which the loop is traced. `settle`: seconds between the first traced pair and a complete set-up."""

    def __init__(self, loop, command, settle=0.3, stop=signal.SIGINT, cwd=None):
        self.loop, self.command, self.settle, self.stop, self.cwd = loop, command, settle, stop, cwd
        self.said = ""

    def __enter__(self):
        self.loop.wait_until(False)
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, cwd=self.cwd)
        try:
            self.loop.wait_until(True, self.process)
        except Missing:
            self.end()
            raise
        time.sleep(self.settle)
        return self

    def end(self):
        if self.process.poll() is None and self.stop:
            self.process.send_signal(self.stop)
        out, err = self.process.communicate(timeout=2 * WAIT)
        self.said = out + err

    def __exit__(self, *_):
        self.end()
        self.loop.wait_until(False)


class Ticks(Tracer):
    """A timer on the loop: no pair shows it, so it says itself when it runs."""

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        if not self.process.stdout.readline():
            raise Missing(f"ticks: {last_words(self.process)}")
        return self


def ticks(loop, build, hz):
    return Ticks(loop, [str(build / "bench" / "ticks"), str(hz), str(loop.pid)], stop=None)


def floor(loop, build):
    return Tracer(loop, [str(build / "bench" / "floor"), loop.path, str(loop.pid)], stop=None)


def scope_bpf(loop, build, work, *options):
    return Tracer(loop, [str(build / "scope-bpf"), "-o", str(work / "loop"), *options, "-p", str(loop.pid)])


def bpftrace(loop, work):
    """Pairs by a map and sums, as its manual teaches. Its program names the probes by the loop's path."""
    if not shutil.which("bpftrace"):
        raise Missing("bpftrace is not installed")
    script = work / "pairs.bt"
    script.write_text(f"usdt:{loop.path}:scope:bench__begin {{ @start[tid] = nsecs; }}\n"
                      f"usdt:{loop.path}:scope:bench__end /@start[tid]/ {{ @ns = sum(nsecs - @start[tid]); "
                      "@calls = count(); delete(@start[tid]); }\n")
    return Tracer(loop, ["bpftrace", "-q", str(script)], settle=1)


def anonymous_kib(pid):
    try:
        found = re.search(r"^RssAnon:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.M)
    except OSError:
        return 0
    return int(found[1]) if found else 0


def children(pid):
    try:
        return [int(x) for x in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def is_program(pid, name):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe")) == name
    except OSError:
        return False


class Recording:
    """A run of scope-bpf whose anonymous memory, and that of its recorder, is looked at every 10 ms."""

    def __init__(self, command):
        self.peak = {"collector": 0, "recorder": 0}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        watcher = threading.Thread(target=self.watch)
        watcher.start()
        self.truth = self.process.stdout.readline()
        self.command_end = time.monotonic()
        self.said = self.process.communicate()[1]
        self.seconds_after = time.monotonic() - self.command_end
        watcher.join()
        if self.process.returncode:
            raise Missing(f"scope-bpf ended with status {self.process.returncode}: {self.said.strip()[-200:]}")

    def watch(self):
        pid = self.process.pid
        while self.process.poll() is None:
            self.note("collector", pid)
            for child in children(pid):
                if is_program(child, "scope-report"):
                    self.note("recorder", child)
            time.sleep(0.01)

    def note(self, who, pid):
        self.peak[who] = max(self.peak[who], anonymous_kib(pid) / 1024)


def timed(command):
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing(f"{Path(command[0]).name} ended with status {done.returncode}: {done.stderr.strip()[-200:]}")
    return time.monotonic() - start


def low_and_middle(numbers):
    return min(numbers), statistics.median(numbers)
