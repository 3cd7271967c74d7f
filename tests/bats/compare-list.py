#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""compare-list.py LIST.json PROGRAM: is what --list --json says of PROGRAM what list-notes.py reads in it?

Both give sites: (address, region, begin or end, file, line). Prints what only one of them has; exit 1 then.
"""
import json
import subprocess
import sys
from pathlib import Path

READER = Path(__file__).resolve().parent.parent / "probe" / "list-notes.py"
DYNAMIC = {
    "__dynamic__begin": "dynamic begin", "__dynamic__end": "dynamic end",
    "__dynamic__open": "dynamic open", "__dynamic__close": "dynamic close",
}


def truth(program):
    text = subprocess.run([sys.executable, READER, "--json", program], check=True, capture_output=True).stdout
    sites = set()
    for note in json.loads(text):
        name = note["name"]
        if not note["live"] or name == "__scope__end":
            continue
        source = (note["file"], note["line"]) if note["file"] is not None else (None, -1)
        if name in DYNAMIC:
            sites.add((note["location"], None, DYNAMIC[name], *source))
        elif name.endswith("__begin"):
            kind = "scope begin" if note["args"] else "begin"
            sites.add((note["location"], name[:-len("__begin")], kind, *source))
        else:
            sites.add((note["location"], name[:-len("__end")], "end", *source))
    return sites


def listed(path, program):
    sites = set()
    for region in json.load(open(path, encoding="utf-8"))["regions"]:
        if Path(region["file"]).resolve() != Path(program).resolve():
            continue
        own = [s for s in region["sites"]]
        begins = sum("begin" in s["kind"] or "open" in s["kind"] for s in own)
        assert region["begin_sites"] == begins and region["end_sites"] == len(own) - begins, region["name"]
        assert region["scope_begin_sites"] == sum(s["kind"] == "scope begin" for s in own), region["name"]
        for s in own:
            sites.add((s["address"], region["name"], s["kind"], s["source_file"], s["source_line"]))
    return sites


def main():
    ours, theirs = listed(*sys.argv[1:3]), truth(sys.argv[2])
    for what, sites in (("only --list", ours - theirs), ("only list-notes", theirs - ours)):
        for site in sorted(sites, key=repr):
            print(f"{sys.argv[2]}: {what}: {site}")
    if not theirs:
        print(f"{sys.argv[2]}: no site at all")
    sys.exit(ours != theirs or not theirs)


if __name__ == "__main__":
    main()
