# SPDX-License-Identifier: GPL-2.0-only
# runs: user
"""The tables of scope-report against what the reference makes of the same files."""
import csv
import io
import json
import math
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scope_profiler import collect_region_statistics
from scope_profiler.call_stack import NestingError, build_call_arrays
from scope_profiler.profile_io import load

TOP = Path(__file__).resolve().parents[2]
REPORT = os.environ.get("SCOPE_REPORT", str(Path(os.environ.get("BUILD", TOP / "build")) / "scope-report"))
KIT = TOP / "tests" / "kit" / "open" / "files"
FILES = ["h5-ranks.h5", "h5-everything.h5", "py-async.h5", "py-threads.h5", "py-perf.h5", "py-source.h5", "h5-schema1.h5"]
FILES = [name for name in FILES if (KIT / name).exists()]


def report(*arguments, status=0):
    run = subprocess.run([REPORT, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert run.returncode == status, run.stderr
    return run.stdout


def nearly(want, got):
    if want is None or got is None:
        return want is got
    return math.isclose(want, got, rel_tol=1e-9, abs_tol=1e-12)


def ranks_of(results):
    return sorted({rank for region in results for rank in region.regions})


@pytest.mark.parametrize("name", FILES)
def test_statistics_document(name):
    results = load(KIT / name)
    want = collect_region_statistics(results)["files"][0]["region_statistics"]
    got = json.loads(report("stats", "--json", KIT / name))
    assert (got["format"], got["plot"]) == ("scope-profiler-plot-data", "region_statistics")
    got = got["files"][0]["region_statistics"]
    assert list(want) == list(got)
    for region, row in want.items():
        for key, value in row.items():
            if key != "per_rank":
                assert nearly(value, got[region][key]), (region, key)
        assert list(row["per_rank"]) == list(got[region]["per_rank"])
        for rank, numbers in row["per_rank"].items():
            for key, value in numbers.items():
                assert nearly(value, got[region]["per_rank"][rank][key]), (region, rank, key)


@pytest.mark.parametrize("name", FILES)
def test_percentiles(name):
    results = load(KIT / name)
    got = {row["name"]: row for row in json.loads(report("summary", "--json", KIT / name))["regions"]}
    for region in results:
        durations = np.concatenate([np.asarray(d.end_times_ns) - np.asarray(d.start_times_ns) for d in region.regions.values()])
        if not durations.size:
            continue
        row = got[region.name]
        assert (row["min_ns"], row["max_ns"]) == (durations.min(), durations.max())
        assert abs(row["mean_ns"] - durations.mean()) <= 0.5
        for percent in (50, 95, 99):
            assert abs(row[f"p{percent}_ns"] - np.percentile(durations, percent)) <= 0.5 + 1e-6, (region.name, percent)


@pytest.mark.parametrize("name", FILES)
def test_each_call(name):
    results = load(KIT / name)
    got = {}
    for row in json.loads(report("calls", "--json", KIT / name)):
        got.setdefault(row["rank"], []).append(row)
    for rank in ranks_of(results):
        arrays = build_call_arrays(results.get_regions(), rank)
        want = sorted((int(s), int(e - s), int(d), int(x), arrays.names[r]) for s, e, d, x, r in zip(
            arrays.start_ns, arrays.end_ns, arrays.depth, arrays.exclusive_ns, arrays.region_index))
        have = sorted((r["start_ns"], r["duration_ns"], r["depth"], r["exclusive_ns"], r["name"]) for r in got.get(rank, []))
        assert want == have
        ids = {r["call"]: r for r in got.get(rank, [])}
        assert len(ids) == len(have)
        for row in ids.values():
            if row["parent"] is not None:
                parent = ids[row["parent"]]
                assert parent["depth"] == row["depth"] - 1
                assert parent["start_ns"] <= row["start_ns"] <= row["start_ns"] + row["duration_ns"] <= parent["start_ns"] + parent["duration_ns"]


@pytest.mark.parametrize("name", FILES)
def test_tree(name):
    results = load(KIT / name)
    want = {}
    for rank in ranks_of(results):
        arrays = build_call_arrays(results.get_regions(), rank)
        paths = []
        for i, row in enumerate(arrays.region_index.tolist()):
            parent = int(arrays.parent[i])
            paths.append(((arrays.names[row],) if parent < 0 else paths[parent] + (arrays.names[row],)))
            calls, total, own = want.get(paths[-1], (0, 0, 0))
            want[paths[-1]] = (calls + 1, total + int(arrays.end_ns[i] - arrays.start_ns[i]), own + int(arrays.exclusive_ns[i]))
    rows = json.loads(report("tree", "--json", KIT / name))
    path_of, got = {}, {}
    for row in rows:        # parents come first
        path_of[row["path"]] = (path_of[row["parent_path"]] if row["parent_path"] is not None else ()) + (row["name"],)
        got[path_of[row["path"]]] = (row["calls"], row["total_ns"], row["exclusive_ns"])
    assert got == want


@pytest.mark.parametrize("name", [n for n in FILES if n.startswith("py-") or "everything" in n])
def test_threads(name):
    results = load(KIT / name)
    rows = json.loads(report("threads", "--json", KIT / name))
    known = {(r["rank"], r["thread"]): r for r in rows if r["native_id"] is not None}
    for rank, threads in results.threads.items():
        for thread in threads:
            row = known[rank, thread.index]
            assert (row["name"], row["native_id"]) == (thread.name, thread.native_id)
            assert row["cpu_ns"] == (None if thread.cpu_time is None else round(thread.cpu_time * 1e9))
    assert sum(r["calls"] for r in rows) == sum(d.num_calls for region in results for d in region.regions.values())


def test_counters():
    results = load(KIT / "py-perf.h5")
    want = {(rank, region, event): int(v) for rank, rows in results.get_perf_events().items()
            for region, totals in rows.items() for event, v in totals.values.items()}
    rows = json.loads(report("counters", "--json", KIT / "py-perf.h5"))
    assert want and {(r["rank"], r["name"], r["event"]): r["value"] for r in rows} == want
    table = list(csv.DictReader(io.StringIO(report("counters", "--csv", KIT / "py-perf.h5"))))
    assert [int(r["value"]) for r in table] == [r["value"] for r in rows]


def test_likwid():
    results = load(KIT / "h5-everything.h5")
    want = sorted((rank, r.tag, event, float(v)) for rank, rows in results.get_likwid_regions().items()
                  for r in (rows.values() if isinstance(rows, dict) else rows)
                  for event, values in zip(r.event_names, np.asarray(r.events)) for v in values)
    rows = json.loads(report("likwid", "--json", KIT / "h5-everything.h5"))
    assert want and sorted((r["rank"], r["name"], r["event"], r["value"]) for r in rows if r["kind"] == "event") == want


def test_event_data():
    for name in ("py-async.h5", "py-single.h5", "h5-everything.h5"):
        results = load(KIT / name)
        want = [(rank, region.name, i, data) for region in results for rank, d in region.regions.items()
                for i, data in enumerate(d.event_metadata or []) if data]
        rows = json.loads(report("event-data", "--json", KIT / name))
        assert sorted(map(str, want)) == sorted(str((r["rank"], r["name"], r["call_index"], r["data"])) for r in rows)


# ---- profiles with known answers, written as .spt ---------------------------------------------------------------------

def write_spt(path, regions, rank=0):
    from test_report_lines import text
    import struct
    data = b"SCOPEPRF" + struct.pack("=iiq", 2, rank, len(regions))
    for name, calls in regions.items():
        calls = sorted(calls)
        data += text(name) + text("") + struct.pack("=iq", -1, len(calls))
        data += np.array([c[0] for c in calls], "=i8").tobytes() + np.array([c[1] for c in calls], "=i8").tobytes()
    Path(path).write_bytes(data)
    return path


def test_filters_of_calls(tmp_path):
    file = write_spt(tmp_path / "a.spt", {"a": [(i * 10**9, i * 10**9 + 10**8) for i in range(10)], "b": [(5 * 10**9 + 1, 5 * 10**9 + 2)]})
    rows = json.loads(report("calls", "--json", file, "--from", "4.05", "--until", "5500ms", "--region", "a"))
    assert [r["since_start_ns"] for r in rows] == [4 * 10**9, 5 * 10**9]
    assert len(json.loads(report("calls", "--json", file, "--exclude", "a"))) == 1
    assert len(report("calls", file, "--top", "3").splitlines()) == 1 + 3 + 1


def test_ranks(tmp_path):
    for rank, time in enumerate((100, 200, 300)):
        write_spt(tmp_path / f"r_rank{rank:05d}.spt", {"solve": [(0, time)], "even": [(1000, 1010)]}, rank)
    solve, even = json.loads(report("ranks", "--json", tmp_path))
    assert (solve["name"], solve["min_ns"], solve["max_ns"], solve["max_rank"], solve["mean_ns"]) == ("solve", 100, 300, 2, 200)
    assert nearly(solve["imbalance"], 1.5) and solve["lost_ns"] == 100 and solve["std_ns"] == 82
    assert nearly(even["imbalance"], 1.0)


def test_messages(tmp_path):
    name = "mpi:{} kind={} bytes={} peer={} root=-1 tag=1 comm=0"
    file = write_spt(tmp_path / "m.spt", {
        name.format("send", "point-to-point", 100, 1): [(0, 10), (20, 40)], name.format("send", "point-to-point", 50, 1): [(50, 60)],
        name.format("send", "point-to-point", 8, 2): [(70, 75)], "mpi:wait kind=wait bytes=-1 peer=-1 root=-1 tag=-1 comm=0 request=7": [(80, 99)],
        "mpirun": [(0, 100)]})
    rows = json.loads(report("messages", "--json", file))
    assert [(r["operation"], r["kind"], r["peer"], r["calls"], r["bytes"], r["total_ns"]) for r in rows] == [
        ("send", "point-to-point", 1, 3, 250, 40), ("send", "point-to-point", 2, 1, 8, 5), ("wait", "wait", None, 1, None, 19)]


def runs(folder, name, times):
    return [write_spt(folder / f"{name}{i}.spt", {"solve": [(0, t)], "io": [(10**6, 10**6 + 500)]}) for i, t in enumerate(times)]


def test_diff_and_check(tmp_path):
    (slow,), (fast,) = runs(tmp_path, "slow", [1100]), runs(tmp_path, "fast", [1000])
    rows = {r["name"]: r for r in json.loads(report("diff", "--json", fast, slow))}
    assert (rows["solve"]["base"], rows["solve"]["new"], rows["solve"]["delta"]) == (1000, 1100, 100)
    assert nearly(rows["solve"]["change_share"], 0.1) and rows["io"]["delta"] == 0
    assert "solve" in report("check", fast, slow, status=1)
    report("check", fast, slow, "--max-slowdown", "20%")
    report("check", slow, fast)
    report("check", fast, slow, "--region", "io")
    report("check", fast, slow, "--metric", "calls")
    report("check", fast, status=2)


def test_noise(tmp_path):
    noisy, other = runs(tmp_path, "a", [1000, 1200, 800]), runs(tmp_path, "b", [1050, 1250, 900])
    base = [word for file in noisy for word in ("--base", file)]
    rows = {r["name"]: r for r in json.loads(report("diff", "--json", *base, *other))}
    assert rows["solve"]["verdict"] == "within noise"
    report("check", *base, *other)                                      # 7 % more, and the noise is larger
    report("check", *base, *runs(tmp_path, "c", [2000, 2100, 2050]), status=1)


def test_scaling(tmp_path):
    words = []
    for n, time in ((1, 1000), (2, 600), (4, 400)):
        folder = tmp_path / f"n{n}"
        folder.mkdir()
        for rank in range(n):
            write_spt(folder / f"r_rank{rank:05d}.spt", {"solve": [(0, time - rank)]}, rank)
        words.append(folder)
    rows = json.loads(report("scaling", "--json", words[2], words[0], words[1], "-o", tmp_path / "s.svg"))
    assert [(r["size"], r["time_ns"]) for r in rows] == [(1, 1000), (2, 600), (4, 400)]
    assert all(nearly(r["speedup"], 1000 / r["time_ns"]) and nearly(r["efficiency"], 1000 / r["time_ns"] / r["size"]) for r in rows)
    import xml.etree.ElementTree
    assert xml.etree.ElementTree.parse(tmp_path / "s.svg").getroot().tag.endswith("svg")


def test_overlap_is_refused_by_both():
    file = KIT / "spt-overlap.spt"
    from scope_profiler.native_trace import load_traces
    results = load_traces([file])
    with pytest.raises(NestingError):
        build_call_arrays(results.get_regions(), ranks_of(results)[0])
    report("tree", file, status=1)
    report("calls", file, status=1)
    assert len(json.loads(report("calls", "--json", "--overlaps", "split", file))) == sum(d.num_calls for r in results for d in r.regions.values())
