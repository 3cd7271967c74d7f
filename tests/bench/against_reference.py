# SPDX-License-Identifier: GPL-2.0-only
"""scope-report and the reference, scope-profiler, on the same files in turns: seconds and peak memory of the whole command."""
import os
import shutil
import statistics
import struct
import subprocess
import time

from benchlib import Missing

ROUNDS = 3
LONG = 1  # rounds where the reference takes minutes


def measured(command, folder):
    """Seconds and MiB of a command; what it writes is removed."""
    target = folder / "out"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    start = time.monotonic()
    process = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "MPLBACKEND": "Agg"})
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    if status:
        raise Missing(f"{command[0]} {command[1]} failed: {said.strip()[-200:]}")
    return seconds, usage.ru_maxrss / 1024


def write_trace(path, rank, regions, calls):
    """A .spt of version 2: `calls` calls of each region, one after the other."""
    with path.open("wb") as f:
        f.write(b"SCOPEPRF" + struct.pack("=iiq", 2, rank, regions))
        for r in range(regions):
            name = f"region_{r:02d}".encode()
            starts = [1_000_000 + (i * regions + r) * 1000 for i in range(calls)]
            f.write(struct.pack("=i", len(name)) + name + struct.pack("=iiq", 0, -1, calls))
            f.write(struct.pack(f"={calls}q", *starts) + struct.pack(f"={calls}q", *(s + 700 for s in starts)))


def jobs(build, work, quick):
    report, reference, out = build / "scope-report", build / "venv/bin/scope-profiler", work / "out"
    many, exported = (1_000_000, 100_000) if quick else (10_000_000, 500_000)
    for name, calls in (("many", many), ("some", exported)):
        subprocess.run([build / "bench/make_capture", str(calls), work / f"{name}.scope", "1", "1"], check=True, capture_output=True)
        subprocess.run([report, "convert", work / f"{name}.scope", "-o", work / f"{name}.h5"], check=True, capture_output=True)
    traces = work / "traces"
    traces.mkdir()
    ranks = 16 if quick else 128
    for rank in range(ranks):
        write_trace(traces / f"t_rank{rank:05d}.spt", rank, 40, 25)
    some = work / "some.h5"
    return {
        f"summary of {many:,} calls": ([report, "summary", work / "many.h5"], [reference, "inspect", work / "many.h5"]),
        f"import of {ranks} ranks x 40 regions": ([report, "convert", traces, "-o", out / "o.h5"], [reference, "import-native", traces, "-o", out / "p.h5"]),
        f"{exported:,} calls to speedscope": ([report, "convert", some, "-o", out / "o.speedscope.json"], [reference, "export", "speedscope", some, "-o", out / "p.json"]),
        f"{exported:,} calls to .prof": ([report, "convert", some, "-o", out / "o.prof"], [reference, "export", "prof", some, "-o", out / "p.prof"]),
        f"{exported:,} calls to Chrome trace": ([report, "convert", some, "-o", out / "o.trace.json"], [reference, "export", "chrome-trace", some, "-o", out / "p.json"]),
    }


def report_section(build, work, quick, row):
    if not (build / "venv/bin/scope-profiler").exists():
        raise Missing("the reference is not installed: make deps")
    for what, (ours, theirs) in jobs(build, work, quick).items():
        times, memory = ([], []), (0, 0)
        for _ in range(LONG if what.startswith("summary") else ROUNDS):
            for i, command in enumerate((ours, theirs)):
                seconds, mib = measured(command, work)
                times[i].append(seconds)
                memory = (max(memory[0], mib), memory[1]) if not i else (memory[0], max(memory[1], mib))
        low, middle = (min(times[1]) / min(times[0]), statistics.median(times[1]) / statistics.median(times[0]))
        verdict = "ok" if low >= 10 and memory[0] < memory[1] else "MISSED"
        row(f"{what}: times faster than scope-profiler", ">= 10", f"{low:.1f}", f"{middle:.1f}",
            f"{verdict} ({min(times[0]):.2f} s and {memory[0]:.0f} MiB against {min(times[1]):.2f} s and {memory[1]:.0f} MiB)")
