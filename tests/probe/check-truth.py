#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""check-truth.py BINARY TRUTH: are the notes of BINARY those of the regions that the matrix program went through?

TRUTH is its output. Each region statement has a live begin site with its name, file and line; each name has an end;
there is no other name; and what list-notes.py --check says.
"""
import importlib.util
import os
import sys

spec = importlib.util.spec_from_file_location("notes", os.path.join(os.path.dirname(__file__), "list-notes.py"))
notes = importlib.util.module_from_spec(spec)
spec.loader.exec_module(notes)

# regions that the program does not run through, or without a truth
OTHERS = {"never_called", "same_a", "same_b"}


def begin_of(name):
    return name if name.startswith("__dynamic__") else name + "__begin"


def main():
    binary, truth = sys.argv[1:3]
    elf = notes.Elf(binary)
    sites = notes.sites(elf)
    bad = list(notes.complaints(elf, sites))
    live = [s for s in sites if s["live"]]
    names = {s["name"] for s in live}
    expected = set()
    with open(truth, encoding="utf-8") as f:
        lines = f.read().splitlines()
    for line in lines:
        _, number, file, name = line.split(" ", 3)
        begin = begin_of(name)
        expected.add(begin)
        if not any(s["name"] == begin and s["line"] == int(number) and s["file"] == file for s in live):
            bad.append(f"no begin of {name!r} at {file}:{number}")
    for begin in sorted({s["name"] for s in live if s["line"] is not None} - expected):
        if begin.removesuffix("__begin") not in OTHERS:
            bad.append(f"unexpected {begin!r}")
    for need in ("same_a__begin", "same_b__begin"):
        if need not in names:
            bad.append(f"{need} was folded away")
    if len(lines) < 12:
        bad.append(f"only {len(lines)} lines of truth")
    for text in bad:
        print(text)
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
