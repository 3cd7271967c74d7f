# SPDX-License-Identifier: GPL-2.0-only
"""The HTML report in a real browser: what it shows is what was recorded, whatever the names are."""
import html
import json
import re
import shutil
import subprocess

import pytest
from recording import APPS, SCOPE_REPORT, Recording

BROWSER = shutil.which("chromium")
pytestmark = pytest.mark.skipif(not BROWSER, reason="no chromium")


def dom(path, folder):
    """The page after its scripts ran, and what it said on the console."""
    done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
                           "--disable-component-update", "--disable-sync", f"--user-data-dir={folder}/browser", "--enable-logging=stderr",
                           "--virtual-time-budget=4000", "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=120, cwd=folder)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def rows(page, table):
    body = re.search(rf'<table id="{table}"[^>]*>(.*?)</table>', page, re.S).group(1)
    return [[html.unescape(re.sub("<[^>]*>", "", c)) for c in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", r, re.S)] for r in re.findall(r"<tr>(.*?)</tr>", body, re.S)]


def report(source, folder):
    path = folder / "report.html"
    subprocess.run([SCOPE_REPORT, "convert", str(source), "-o", str(path)], check=True, capture_output=True, timeout=120)
    return path


def test_the_table_is_the_truth(tmp_path):
    recording = Recording(tmp_path, [APPS / "longjmp", "1000"])
    path = report(recording.h5, tmp_path)
    page, console = dom(path, tmp_path)
    assert not console
    shown = {r[0]: int(r[1].replace(",", "")) for r in rows(page, "regions")[1:]}
    assert shown == {name: row["calls"] for name, row in recording.truth["regions"].items()}
    flagged = {r[0]: int(r[-1].replace(",", "")) for r in rows(page, "regions")[1:]}
    assert flagged == {name: row["abandoned"] for name, row in recording.truth["regions"].items()}
    assert "lost: 0" in page
    assert not re.search(r'(src|href)=|https?://|url\(|@import', path.read_text()), "the page wants something from outside"


def test_names_cannot_leave_their_place(tmp_path):
    names = ["</script><b id=out>x", "<!--<script>", "a&b\"'<i>", "\u202eright", "@@summary@@", "x" * 200]
    regions = [{"name": n, "rank": 0, "start_times_ns": [i * 100], "end_times_ns": [i * 100 + 50]} for i, n in enumerate(names)]
    source = tmp_path / "names.json"
    source.write_text(json.dumps({"format": "scope-profiler-profile", "format_version": 1, "time_unit": "nanoseconds", "num_ranks": 1, "event_data_available": True,
                                  "metadata": {"start_time_ns": 0, "label": "</title><script>alert(1)</script>"}, "regions": regions, "threads": {}, "tasks": {}, "likwid": {}, "line_profile": {}}))
    page, console = dom(report(source, tmp_path), tmp_path)
    assert not console
    assert [r[0] for r in rows(page, "regions")[1:]] == sorted(names, key=lambda n: names.index(n))
    assert 'id="out"' not in page and "id=out>" not in re.sub(r"<script.*?</script>", "", page, flags=re.S)


def test_a_million_calls(tmp_path):
    recording = Recording(tmp_path, [APPS / "flood", "1000000"], ["--format", "h5", "--no-samples"])
    path = report(recording.h5, tmp_path)
    assert path.stat().st_size < 4 << 20
    page, console = dom(path, tmp_path)
    assert not console
    seen = sum(int(r[1].replace(",", "")) for r in rows(page, "regions")[1:])
    assert seen == sum(r["calls"] for r in recording.summary()["regions"])
    assert "longest of" in page
