# SPDX-License-Identifier: GPL-2.0-only
# runs: user
"""What other programs make of our exports, and whether the exports of one run tell the same story."""
import gzip
import io
import json
import os
import pstats
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
REPORT = os.environ.get("SCOPE_REPORT", str(Path(os.environ.get("BUILD", TOP / "build")) / "scope-report"))
KIT = TOP / "tests" / "kit" / "open" / "files"
FILES = [n for n in ("h5-ranks.h5", "h5-everything.h5", "py-async.h5", "c_rank00000.spt", "spt-odd-names.spt", "spt-recursion.spt") if (KIT / n).exists()]
SVG = "{http://www.w3.org/2000/svg}"


def report(*arguments, status=0, **keywords):
    run = subprocess.run([REPORT, *map(str, arguments)], capture_output=True, text=True, timeout=60, **keywords)
    assert run.returncode == status, run.stderr
    return run.stdout


def convert(source, target, *options):
    return [Path(line) for line in report("convert", source, "-o", target, *options).splitlines()]


def tool(name):
    """A script of the environment that runs this test, or of the path."""
    here = Path(sys.executable).parent / name
    found = str(here) if here.exists() else shutil.which(name)
    return found or pytest.skip(f"{name} is not installed")


def paths(source, *options):
    """Call paths as scope-report tree has them: {path: (calls, total, own)}, ranks together."""
    of, out = {}, {}
    for row in json.loads(report("tree", "--json", source, *options)):
        of[row["path"]] = (of[row["parent_path"]] if row["parent_path"] is not None else ()) + (row["name"],)
        out[of[row["path"]]] = (row["calls"], row["total_ns"], row["exclusive_ns"])
    return out


# ---- .prof ---------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", FILES)
def test_pstats_prints(tmp_path, name):
    for file in convert(KIT / name, tmp_path / "out.prof", "--root", "the run"):
        out = io.StringIO()
        stats = pstats.Stats(str(file), stream=out)
        stats.sort_stats("cumulative").print_stats()
        stats.print_callers()
        stats.print_callees()
        assert "the run" in out.getvalue()


@pytest.mark.parametrize("name", FILES)
def test_gprof2dot_draws(tmp_path, name):
    gprof2dot = tool("gprof2dot")
    file = convert(KIT / name, tmp_path / "out.prof", "--root", "the run")[0]
    run = subprocess.run([gprof2dot, "-f", "pstats", "-n", "0", "-e", "0", str(file)], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0 and run.stdout.startswith("digraph") and "the run" in run.stdout, run.stderr


def test_snakeviz_builds_its_table(tmp_path):
    stats = pytest.importorskip("snakeviz.stats")
    file = convert(KIT / "h5-ranks.h5", tmp_path / "out.prof", "--ranks", "0", "--root", "the run")[0]
    assert file == tmp_path / "out.prof"
    loaded = pstats.Stats(str(file))
    rows = stats.table_rows(loaded)
    assert len(rows) == len(loaded.stats) and "~:0(the run)" in stats.json_stats(loaded)


def test_flameprof_draws(tmp_path):
    pytest.importorskip("flameprof")
    file = convert(KIT / "c_rank00000.spt", tmp_path / "out.prof", "--root", "the run", "--ranks", "0")[0]
    run = subprocess.run([sys.executable, "-m", "flameprof", str(file)], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0 and "<svg" in run.stdout, run.stderr


def test_prof_of_prof(tmp_path):
    """What cProfile wrote comes back as it was."""
    import cProfile
    import marshal
    profile = cProfile.Profile()
    profile.runcall(lambda: [sorted(str(i) for i in range(50)) for _ in range(20)])
    profile.dump_stats(tmp_path / "in.prof")
    convert(tmp_path / "in.prof", tmp_path / "out.prof")
    assert marshal.loads((tmp_path / "in.prof").read_bytes()) == marshal.loads((tmp_path / "out.prof").read_bytes())
    assert len(json.loads(report("summary", "--json", tmp_path / "in.prof"))["regions"]) >= 3


# ---- pprof ---------------------------------------------------------------------------------------------------------------

def fields(data):
    """(number, value) of each field of a protobuf message: ints, or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2, "a wire type that the schema does not use"
            length = varint()
            yield key >> 3, data[at:at + length]
            at += length


def packed(data):
    return [v for _, v in fields(b"".join(b"\x08" + chunk for chunk in split_varints(data)))]


def split_varints(data):
    chunk = bytearray()
    for byte in data:
        chunk.append(byte)
        if byte < 0x80:
            yield bytes(chunk)
            chunk.clear()


@pytest.mark.parametrize("name", FILES)
def test_pprof(tmp_path, name):
    file = convert(KIT / name, tmp_path / "out.pb.gz")[0]
    message = list(fields(gzip.decompress(file.read_bytes())))
    texts = [v.decode("utf-8") for k, v in message if k == 6]
    assert texts[0] == ""
    types = [[texts[v] for _, v in fields(m)] for k, m in message if k == 1]
    assert types == [["calls", "count"], ["time", "nanoseconds"]]
    functions = {f[1]: texts[f[2]] for f in (dict(fields(m)) for k, m in message if k == 5)}
    locations = {l[1]: functions[dict(fields(l[4]))[1]] for l in (dict(fields(m)) for k, m in message if k == 4)}
    got, ranks = {}, set()
    for kind, m in message:
        if kind != 2:
            continue
        sample = dict(fields(m))
        path = tuple(locations[i] for i in reversed(packed(sample[1])))
        calls, own = packed(sample[2])
        label = dict(fields(sample[3]))
        assert texts[label[1]] == "rank"
        ranks.add(label[3] if 3 in label else 0)
        old = got.get(path, (0, 0))
        got[path] = (old[0] + calls, old[1] + own)
    assert got == {path: (calls, own) for path, (calls, _, own) in paths(KIT / name).items()}
    assert sorted(ranks) == json.loads(report("summary", "--json", KIT / name))["ranks"]


# ---- flame graph ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", FILES)
def test_flame_graph(tmp_path, name):
    ranks = json.loads(report("summary", "--json", KIT / name))["ranks"]
    files = convert(KIT / name, tmp_path / "out.svg", "--threshold", "0")
    assert [f.name for f in files] == [f"out_rank{r}.svg" for r in ranks]
    for file, rank in zip(files, ranks):
        root = ET.parse(file).getroot()
        assert root.tag == SVG + "svg" and "viewBox" in root.attrib and "http" not in file.read_text().replace("http://www.w3.org/2000/svg", "")
        frames = [g for g in root.iter(SVG + "g") if g.get("class") == "f"]
        boxes = [(float(g.get("data-x")), float(g.get("data-x")) + float(g.get("data-w")), int(g.get("data-d")), g.get("data-n")) for g in frames]
        want = paths(KIT / name, "--ranks", rank)
        assert len(boxes) == len(want) + 1 and boxes[0] == (0, 1, 0, "all")
        for low, high, depth, _ in boxes[1:]:
            assert any(d == depth - 1 and a <= low + 1e-9 and high <= b + 1e-9 for a, b, d, _ in boxes)
        top = sum(total for path, (_, total, _) in want.items() if len(path) == 1)
        if top:
            by_depth = {}
            for path, (_, total, _) in want.items():
                by_depth[len(path)] = by_depth.get(len(path), 0) + total / top
            for depth, share in by_depth.items():
                assert abs(sum(b - a for a, b, d, _ in boxes if d == depth) - share) < 1e-6


def test_small_frames_are_left_out_and_that_is_said(tmp_path):
    file = convert(KIT / "h5-ranks.h5", tmp_path / "out.svg", "--ranks", "0", "--threshold", "10%", "--width", "600")[0]
    assert file == tmp_path / "out.svg"
    root = ET.parse(file).getroot()
    frames = [g for g in root.iter(SVG + "g") if g.get("class") == "f"]
    assert all(float(g.get("data-w")) >= 0.1 for g in frames)
    assert re.search(r"\d+ frames below 10 % are left out", file.read_text())
    assert root.get("viewBox").split()[2] == "600"


@pytest.mark.parametrize("kind", ["flame-chart", "gantt", "durations", "histogram", "timeseries"])
@pytest.mark.parametrize("name", FILES)
def test_plots(tmp_path, name, kind):
    regions = json.loads(report("summary", "--json", KIT / name))["regions"]
    ranks = json.loads(report("summary", "--json", KIT / name))["ranks"]
    for file, rank in zip(convert(KIT / name, tmp_path / "out.svg", "--plot", kind), ranks):
        root = ET.parse(file).getroot()
        left, top, width, height = map(float, root.get("viewBox").split())
        boxes = list(root.iter(SVG + "rect"))[1:]
        assert boxes
        for box in boxes:
            x, y, w, h = (float(box.get(k)) for k in ("x", "y", "width", "height"))
            assert -0.01 <= x and x + w <= width + 0.6 and 0 <= y and y + h <= height + 0.01
        own = [r for row in regions for r in row["per_rank"] if r["rank"] == rank]
        if kind == "histogram":
            counted = sum(int(t.text.split()[0]) for box in boxes for t in box.iter(SVG + "title"))
            assert counted == sum(r["calls"] for r in own) or len(own) > 12
        if kind == "flame-chart" and sum(r["calls"] for r in own) < 10:
            assert len(boxes) <= sum(r["calls"] for r in own)


# ---- all of them -----------------------------------------------------------------------------------------------------------

def test_hostile_names(tmp_path):
    """Markup, control characters, separators, bytes that are no UTF-8, nothing, a lot: every export stays valid."""
    from test_report_views import write_spt
    names = ["<x>&\"'", "]]>", "a;b", "a/b", "..", "\x1b[31m", "a\nb", b"\xff\xfe", "x" * 10000, "\u202eabc", "', alert(1)//", "</script>"]
    source = write_spt(tmp_path / "names.spt", {name: [(i * 100, i * 100 + 10)] for i, name in enumerate(names)})
    for suffix in (".prof", ".speedscope.json", ".trace.json", ".folded", ".svg", ".pb.gz", ".csv", ".json", ".h5"):
        files = convert(source, tmp_path / f"out{suffix}")
        assert all(f.parent == tmp_path and f.exists() for f in files)
    for suffix in (".speedscope.json", ".trace.json", ".json"):
        json.loads((tmp_path / f"out{suffix}").read_text(encoding="utf-8"))
    text = (tmp_path / "out_rank0.svg").read_text(encoding="utf-8")
    assert len([g for g in ET.fromstring(text).iter(SVG + "g") if g.get("class") == "f"]) == len(names) + 1
    assert "\x1b" not in text
    assert len((tmp_path / "out.folded").read_text(encoding="utf-8").splitlines()) == len(names)
    assert len(pstats.Stats(str(tmp_path / "out_rank0.prof")).stats) == len(names)
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith(".")) == []


def test_times_after_years_of_uptime_are_exact(tmp_path):
    from test_report_views import write_spt
    origin = 10**9 * 86400 * 365 * 200 + 123456789
    source = write_spt(tmp_path / "old.spt", {"a": [(origin, origin + 1001)], "b": [(origin + 1, origin + 2)]})
    convert(source, tmp_path / "o.speedscope.json")
    profile = json.loads((tmp_path / "o.speedscope.json").read_text())["profiles"][0]
    assert profile["unit"] == "nanoseconds" and [e["at"] for e in profile["events"]] == [0, 1, 2, 1001]
    convert(source, tmp_path / "o.trace.json")
    events = [e for e in json.loads((tmp_path / "o.trace.json").read_text(), parse_float=str)["traceEvents"] if e["ph"] == "X"]
    assert [(e["ts"], e["dur"]) for e in events] == [("0.000", "1.001"), ("0.001", "0.001")]
