#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""List the scope notes of an ELF file, with nothing but struct: an independent reader for the tests.

    list-notes.py FILE                one line a site: location, name, operand, file:line, state of the site's bytes
    list-notes.py --json FILE         the same as a JSON list
    list-notes.py --check FILE        also fail (exit 1, one line each) on what the contract in usdt/NOTES.md forbids
    list-notes.py --names FILE        the sorted names of live sites, one a line, with "COUNT " before them

A site is live if its location is in an executable PT_LOAD segment (an executable section, for .o files).
"""
import argparse
import json
import re
import struct
import sys

NOPS = {62: bytes.fromhex("90662e0f1f840000000000"), 183: bytes.fromhex("1f2003d5")}
MEM = {
    62: re.compile(
        r"[18]@((-?\d+(\+-?\d+)*)?\(%{reg}\)|\[{reg}( [-+] \d+)?\]|(BYTE|QWORD) PTR (-?\d+)?\[{reg}\])$".replace(
            "{reg}", "r(ax|bx|cx|dx|si|di|bp|sp|8|9|1[0-5])")),
    183: re.compile(r"[18]@\[(x([0-9]|[12][0-9]|30)|sp|fp|lr)(, #?-?\d+)?\]$"),
}
RESERVED = {
    "__scope__end": "1@", "__dynamic__begin": "8@", "__dynamic__end": "8@",
    "__dynamic__open": "8@", "__dynamic__close": "8@", "__scope__gate": "",
}


class Elf:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        if self.data[:4] != b"\x7fELF" or self.data[4] != 2 or self.data[5] != 1:
            raise SystemExit(f"{path}: not a 64-bit little-endian ELF file")
        self.type, self.machine = struct.unpack_from("<HH", self.data, 16)
        phoff, shoff = struct.unpack_from("<QQ", self.data, 32)
        phentsize, phnum, shentsize, shnum, shstrndx = struct.unpack_from("<5H", self.data, 54)
        self.segments = [struct.unpack_from("<IIQQQQQQ", self.data, phoff + i * phentsize) for i in range(phnum)]
        sections = [struct.unpack_from("<IIQQQQIIQQ", self.data, shoff + i * shentsize) for i in range(shnum)]
        names = sections[shstrndx] if shnum else None
        self.sections = [(self.string(names[4] + s[0]), s) for s in sections]

    def string(self, at):
        return self.data[at:self.data.index(b"\0", at)].decode()

    def section(self, name):
        return next((s for n, s in self.sections if n == name), None)

    def code_at(self, addr, size):
        """The bytes at an address inside an executable segment, or None."""
        for type_, flags, offset, vaddr, _, filesz, _, _ in self.segments:
            if type_ == 1 and flags & 1 and vaddr <= addr and addr + size <= vaddr + filesz:
                return self.data[offset + addr - vaddr:offset + addr - vaddr + size]
        return None


def align4(n):
    return (n + 3) & ~3


def notes(elf):
    for name, sec in elf.sections:
        if name != ".note.stapsdt":
            continue
        blob, at = elf.data[sec[4]:sec[4] + sec[5]], 0
        while at < len(blob):
            namesz, descsz, type_ = struct.unpack_from("<III", blob, at)
            owner = blob[at + 12:at + 12 + namesz]
            start = at + 12 + align4(namesz)
            if start + descsz > len(blob):
                raise SystemExit("a note reaches past its section")
            yield owner.rstrip(b"\0"), type_, blob[start:start + descsz]
            at = start + align4(descsz)


def sites(elf):
    base_sec = elf.section(".stapsdt.base")
    out, by_loc = [], {}
    nops = NOPS.get(elf.machine, b"")
    for owner, type_, desc in notes(elf):
        if owner == b"stapsdt" and type_ == 3:
            loc, base, sem = struct.unpack_from("<QQQ", desc)
            strings = desc[24:].split(b"\0")
            if len(strings) != 4 or strings[3] != b"":
                raise SystemExit(f"note at {loc:#x}: not three strings: {strings}")
            if base_sec and base:
                loc += base_sec[3] - base
            provider, name, args = (s.decode("utf-8", "surrogateescape") for s in strings[:3])
            if provider != "scope":
                continue
            code = elf.code_at(loc, len(nops))
            site = {"location": loc, "semaphore": sem, "provider": provider, "name": name, "args": args,
                    "file": None, "line": None, "live": code is not None, "nops": code == nops}
            out.append(site)
            by_loc.setdefault(struct.unpack_from("<Q", desc)[0], []).append(site)
        elif owner == b"scope":
            raw = struct.unpack_from("<Q", desc)[0]
            for site in by_loc.get(raw, [])[-1:]:
                if type_ == 0x5301:
                    site["line"] = struct.unpack_from("<I", desc, 8)[0]
                    site["file"] = desc[12:].rstrip(b"\0").decode("utf-8", "surrogateescape")
                elif type_ == 0x5302:
                    site["args"] = desc[8:].rstrip(b"\0").decode()
    return out


def complaints(elf, all_sites):
    base = elf.section(".stapsdt.base")
    if all_sites and base is None:
        yield "no .stapsdt.base section"
    note_sec = elf.section(".note.stapsdt")
    if note_sec and note_sec[2] & 2:
        yield ".note.stapsdt is loaded"
    seen, names = set(), {s["name"] for s in all_sites}
    for s in (s for s in all_sites if s["live"]):
        what = f"{s['name']} at {s['location']:#x}"
        if not s["nops"]:
            yield f"{what}: not the nops"
        if s["semaphore"]:
            yield f"{what}: semaphore {s['semaphore']:#x}"
        if s["location"] in seen:
            yield f"{what}: two notes for one site"
        seen.add(s["location"])
        if s["args"] and not MEM[elf.machine].match(s["args"]):
            yield f"{what}: operand {s['args']}"
        is_begin = s["name"].endswith(("__begin", "__open"))
        if is_begin != (s["line"] is not None):
            yield f"{what}: source {s['file']}:{s['line']}"
        if s["name"] in RESERVED:
            if not s["args"].startswith(RESERVED[s["name"]]) or not s["args"]:
                yield f"{what}: operand {s['args']!r}"
        elif s["name"].startswith("__"):
            yield f"{what}: reserved"
        elif s["name"].endswith("__begin"):
            end = s["name"][:-len("__begin")] + "__end"
            if end not in names and not (s["args"] and "__scope__end" in names):
                yield f"{what}: no end"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--json", action="store_true")
    p.add_argument("--check", action="store_true")
    p.add_argument("--names", action="store_true")
    p.add_argument("file")
    a = p.parse_args()
    sys.stdout.reconfigure(errors="surrogateescape")
    elf = Elf(a.file)
    all_sites = sites(elf)
    if a.json:
        print(json.dumps(all_sites))
    elif a.names:
        live = [s["name"] for s in all_sites if s["live"]]
        for name in sorted(set(live)):
            print(live.count(name), name)
    elif not a.check:
        for s in all_sites:
            state = "dropped" if not s["live"] else "ok" if s["nops"] else "NOT NOPS"
            source = f"{s['file']}:{s['line']}" if s["file"] is not None else "-"
            print(f"{s['location']:#x} {s['name']} {s['args'] or '-'} {source} {state}")
    if a.check:
        bad = list(complaints(elf, all_sites))
        for line in bad:
            print(f"{a.file}: {line}", file=sys.stderr)
        if bad or not any(s["live"] for s in all_sites):
            if not bad:
                print(f"{a.file}: no live site", file=sys.stderr)
            sys.exit(1)


if __name__ == "__main__":
    main()
