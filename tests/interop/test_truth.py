# SPDX-License-Identifier: GPL-2.0-only
"""Programs that count themselves, recorded by scope-bpf, read by the reference and by scope-report: three views, one truth."""
import subprocess

import h5py
import pytest
from recording import APPS, BUILD, TOP, Recording
from scope_profiler.h5reader import read_h5
from scope_profiler.native_trace import load_traces

PROGRAMS = [
    ["fib", "20"], ["longjmp"], ["recurse_longjmp"], ["recurse_longjmp", "400", "100", "3", "5"], ["throw"], ["overlap"], ["names"], ["inline_four"],
    ["dynamic", "basic"], ["dynamic", "untouched"], ["dynamic", "edge"], ["pthread_exit", "8", "pair"], ["pthread_exit_unwind", "8", "block"],
    ["pthread_exit_cxx", "8", "block"], ["pthread_exit_cxx", "8", "pair"], ["many_threads", "200"], ["sysregion", "100"],
    ["fork_region", "work"], ["fork_region", "quiet"], ["fork_region", "kill"],
]


@pytest.fixture(scope="module", params=PROGRAMS, ids=lambda p: "-".join(p))
def run(request, tmp_path_factory):
    recording = Recording(tmp_path_factory.mktemp("run"), [APPS / request.param[0], *request.param[1:]])
    assert recording.status == 0, recording.messages
    assert recording.truth, "the program printed no truth"
    return recording


def test_calls_and_flags_are_the_programs_own(run):
    assert run.counted() == run.truth["regions"]
    assert "lost: 0" in run.messages


def test_reference_reads_the_same_calls(run):
    results = read_h5(str(run.h5))
    want = {name: row["calls"] for name, row in run.truth["regions"].items()}
    assert {r.name: r.num_calls for r in results.get_regions() if r.num_calls} == want
    assert len({rank for r in results.get_regions() for rank in r.ranks if r[rank].num_calls}) == run.truth.get("ranks", 1)


def test_scope_report_shows_the_same(run):
    shown = {r["name"]: {k: r[k] for k in ("calls", "abandoned", "truncated", "overlapping")} for r in run.summary()["regions"] if r["calls"]}
    assert shown == run.truth["regions"]


def test_totals_parents_and_lanes_agree_with_the_reference(run):
    """Totals to the nanosecond; parents tell the tree that the reference builds from the intervals alone, where calls nest."""
    results = read_h5(str(run.h5))
    ours = {r["name"]: r for r in run.summary()["regions"]}
    for region in results.get_regions():
        total = sum(int(region[rank].durations_ns.sum()) for rank in region.ranks)
        assert ours[region.name]["total_ns"] == total
        for rank in region.ranks:
            calls = region[rank]
            assert (calls.durations_ns >= 0).all()
            threads = {t.index: t for t in results.threads[rank]}
            assert set(calls.thread_ids.tolist()) <= set(threads)
    ids = {rank: set() for rank in range(results.num_ranks)}
    parents = {rank: set() for rank in range(results.num_ranks)}
    for region in results.get_regions():
        for rank in region.ranks:
            ids[rank] |= set(region[rank].call_ids.tolist())
            parents[rank] |= set(region[rank].parent_ids.tolist())
    for rank, used in parents.items():
        assert used - {-1} <= ids[rank]


def test_exclusive_times_are_the_references(run):
    if any(row["overlapping"] for row in run.truth["regions"].values()):
        pytest.skip("calls that overlap: the reference refuses the call stack")
    results = read_h5(str(run.h5))
    for rank in sorted({rank for r in results.get_regions() for rank in r.ranks}):
        want = {}
        for frame in results.call_stack(rank):
            want[frame["name"]] = want.get(frame["name"], 0) + round(frame["exclusive_duration"] * 1e9)
        got = {r["name"]: row["exclusive_ns"] for r in run.summary()["regions"] for row in r["per_rank"] if row["rank"] == rank}
        assert {n: v for n, v in got.items() if v is not None} == want


def test_traces_import_into_the_reference(run):
    traces = sorted(run.folder.glob("run_rank*.spt"))
    assert len(traces) == run.truth.get("ranks", 1)
    results = load_traces([str(t) for t in traces])
    assert {r.name: r.num_calls for r in results.get_regions() if r.num_calls} == {n: row["calls"] for n, row in run.truth["regions"].items()}


@pytest.mark.parametrize("command", [["inspect"], ["export", "plot-data"], ["plot", "gantt"]], ids=lambda c: "-".join(c))
def test_commands_of_the_reference(tmp_path, command):
    recording = Recording(tmp_path, [APPS / "fib", "10"])
    out = [] if command == ["inspect"] else ["-o", str(tmp_path / "out")]
    tool = BUILD / "venv/bin/scope-profiler"
    done = subprocess.run([tool, *command, str(recording.h5), *out], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
                          env={"MPLBACKEND": "Agg", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr[-800:]
    assert command != ["inspect"] or "fib" in done.stdout


def test_fib_is_one_primitive_call(tmp_path):
    recording = Recording(tmp_path, [APPS / "fib", "20"])
    row, = recording.summary()["regions"]
    assert (row["calls"], row["primitive_calls"]) == (21891, 1)
    data = read_h5(str(recording.h5))["fib"][0]
    outermost = data.durations_ns[data.parent_ids == -1]
    assert row["inclusive_ns"] == int(outermost.sum()) == int(data.durations_ns.max())


def test_more_names_than_are_kept(tmp_path):
    """70,000 names of one call each: 65,536 have a row; the others are counted, each once; the table after the run is short."""
    recording = Recording(tmp_path, [APPS / "dynamic", "many", "70000"])
    calls = {name: row["calls"] for name, row in recording.counted().items()}
    assert calls.pop("(other names)") == 70000 - 65536
    assert len(calls) == 65536 and set(calls.values()) == {1}
    assert "note: 4464 calls stand under (other names)" in recording.messages
    assert len(recording.messages.splitlines()) < 120 and "65437 more rows: scope-report summary --top 0 shows all" in recording.messages


SOURCE = TOP / "tests/apps/inline_four.c"
BUILDS = {f"{cc}{''.join(flags)}": [cc, *flags] for cc in ("gcc", "clang") for flags in
          (["-O0"], ["-O2"], ["-O3"], ["-O3", "-flto"], ["-O2", "-static"], ["-O2", "-no-pie"])}


@pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS.keys())
def test_one_inline_function_in_four_places(tmp_path, build):
    flags = [*build, "-fuse-ld=lld"] if build[0] == "clang" and "-flto" in build else build
    subprocess.run([*flags, "-g", "-pthread", "-I", str(TOP / "include"), str(SOURCE), "-o", str(tmp_path / "app")], check=True, capture_output=True)
    recording = Recording(tmp_path, [tmp_path / "app"])
    assert recording.status == 0, recording.messages
    assert recording.counted() == recording.truth["regions"]


def test_no_call_is_longer_than_its_thread(run):
    results = read_h5(str(run.h5))
    with h5py.File(run.h5) as f:
        table = f["thread_table"]
        origin = int(f["metadata"].attrs["start_time_ns"])
        lanes = {(int(r), int(i)): (int(s) + origin, int(e) + origin) for r, i, s, e in
                 zip(table["ranks"][()], table["index"][()], table["start_ns"][()], table["end_ns"][()])}
    for region in results.get_regions():
        for rank in region.ranks:
            data = region[rank]
            for start, end, lane in zip(data.start_times_ns, data.end_times_ns, data.thread_ids):
                first, last = lanes[rank, int(lane)]
                assert first <= start <= end <= last
