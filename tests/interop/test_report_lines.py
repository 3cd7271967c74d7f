# SPDX-License-Identifier: GPL-2.0-only
# runs: user
"""scope-report lines agrees with addr2line -i on every instruction of programs with inlined functions."""
import json
import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
REPORT = os.environ.get("SCOPE_REPORT", str(Path(os.environ.get("BUILD", TOP / "build")) / "scope-report"))

C_SOURCE = """
#include <stdio.h>
#include <stdlib.h>
static inline int twice(int x) { return 2 * x; }
static inline int mixed(int x, int y)
{
    int s = 0;
    for (int i = 0; i < x; i++)
        s += twice(i) ^ y;
    return s;
}
int hot(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s += mixed(i, n);
    return s;
}
int cold(int n) { return mixed(n, 3) + mixed(n, 7); }
int main(int argc, char **argv) { printf("%d\\n", hot(argc) + cold(atoi(argv[0]))); return 0; }
"""
CXX_SOURCE = """
#include <vector>
#include <numeric>
#include <cstdio>
namespace deep { template <typename T> struct box { T v; inline T get(int k) const { return v * k; } }; }
static long sum(const std::vector<int> &v) { return std::accumulate(v.begin(), v.end(), 0L); }
int main(int argc, char **)
{
    deep::box<int> b{argc};
    std::vector<int> v(1000, b.get(3));
    for (auto &x : v) x += b.get(x);
    std::printf("%ld\\n", sum(v));
}
"""


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("=i", len(data)) + data


def write_sps(path, regions, modules, samples, rank=0, hz=997, ticks=None):
    """By formats.md; samples are (region, module, run-time address)."""
    data = b"SCOPESMP" + struct.pack("=iiiq", 1, rank, hz, len(samples) if ticks is None else ticks)
    data += struct.pack("=i", len(regions)) + b"".join(text(r) for r in regions)
    data += struct.pack("=i", len(modules)) + b"".join(text(m) + struct.pack("=Q", bias) for m, bias in modules)
    data += struct.pack("=q", len(samples)) + b"".join(struct.pack("=iiQ", *s) for s in samples)
    Path(path).write_bytes(data)


def report(*arguments, status=0, **keywords):
    run = subprocess.run([REPORT, *map(str, arguments)], capture_output=True, text=True, timeout=60, **keywords)
    assert run.returncode == status, run.stderr
    return run


def instructions(program, most=1500):
    """Addresses of instructions inside functions; what fills the gaps between them is never run."""
    out = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "-j", ".text", program], capture_output=True, text=True, check=True).stdout
    sizes = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout
    inside = [(int(a, 16), int(a, 16) + int(n, 16)) for a, n in re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [tTwW] ", sizes, re.M)]
    found = [int(m[1], 16) for m in re.finditer(r"^\s*([0-9a-f]+):\t", out, re.M)]
    return [a for a in found if any(low <= a < high for low, high in inside)][:most]


def addr2line(program, addresses, tool="addr2line"):
    """Per address the chain of (function, file, line), innermost first."""
    command = [tool, "-a", "-i", "-f", "-C", "-e", str(program)]
    out = subprocess.run(command, input="\n".join(hex(a) for a in addresses), capture_output=True, text=True, check=True).stdout
    chains = []
    for line in out.splitlines():
        if re.fullmatch(r"0x[0-9a-f]+", line):
            chains.append([])
        elif len(chains[-1]) and len(chains[-1][-1]) == 1:
            place, _, number = re.sub(r" \(discriminator \d+\)$", "", line).rpartition(":")
            chains[-1][-1] += (os.path.normpath(place), int(number) if number.isdigit() else 0)
        else:
            chains[-1].append((line,))
    return [tuple(c) for c in chains]


def build(folder, source, compiler, flags):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    suffix = ".cc" if "++" in compiler else ".c"
    (folder / f"program{suffix}").write_text(source)
    subprocess.run([compiler, *flags, "-o", "program", f"program{suffix}"], check=True, cwd=folder, timeout=120)
    return folder / "program"


def chain_of(line):
    frames = [line, *line["inlined_into"]]
    return tuple((f["function"], os.path.normpath(f["file"]) if f["file"] != "??" else "??", f["line"]) for f in frames)


@pytest.mark.parametrize("compiler, flags, source", [
    ("gcc", ["-g", "-O0"], C_SOURCE), ("gcc", ["-g", "-O2"], C_SOURCE), ("gcc", ["-g", "-O3", "-no-pie"], C_SOURCE),
    ("gcc", ["-g", "-O2", "-static"], C_SOURCE), ("gcc", ["-gdwarf-4", "-O2"], C_SOURCE),
    ("clang", ["-g", "-O2"], C_SOURCE), ("clang", ["-g", "-O3", "-no-pie"], C_SOURCE),
    ("g++", ["-g", "-O2"], CXX_SOURCE), ("clang++", ["-g", "-O1"], CXX_SOURCE),
], ids=[f"build{i}" for i in range(9)])
def test_every_instruction_as_addr2line(tmp_path, compiler, flags, source):
    program = build(tmp_path, source, compiler, flags)
    addresses = instructions(program)
    bias = 0 if "-no-pie" in flags or "-static" in flags else 0x555555554000
    # one region per address, so that each has its own answer
    write_sps(tmp_path / "run_rank00000.sps", [hex(a) for a in addresses], [(str(program), bias)],
              [(i, 0, a + bias) for i, a in enumerate(addresses)])
    got = json.loads(report("lines", tmp_path / "run", "--json", "--top", "0").stdout)
    have = {int(region["name"], 16): chain_of(region["lines"][0]) for region in got["regions"]}
    chains = addr2line(program, addresses)
    # binutils 2.40 takes a line of one inlined function for the next one's in clang's programs: then LLVM's own tool judges
    clang = "clang" in compiler and shutil.which("llvm-addr2line")
    others = addr2line(program, addresses, "llvm-addr2line") if clang else chains
    compared = 0
    for address, chain, other in zip(addresses, chains, others):
        if chain[0][2] > 0 and exists(chain[0]):
            assert have[address] in (chain, other), hex(address)
            compared += have[address] == chain
        elif chain[0][2] == 0:
            assert have[address][0][2] == 0, hex(address)
    assert compared > 20 and len(have) == len(addresses)


def exists(frame):
    """Whether the file has the line: addr2line of binutils 2.40 gives lines of a header to the including file."""
    path = Path(frame[1])
    return not path.is_file() or frame[2] <= len(path.read_text(errors="replace").splitlines())


def test_shares_and_source(tmp_path):
    program = build(tmp_path, C_SOURCE, "gcc", ["-g", "-O0"])
    symbols = dict(re.findall(r"([0-9a-f]+) T (\w+)", subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout))
    address = {name: int(value, 16) for value, name in symbols.items()}
    samples = [(0, 0, address["hot"])] * 30 + [(0, 0, address["cold"])] * 10 + [(1, 0, address["main"])] * 5 + [(-1, 0, address["main"])] * 7
    write_sps(tmp_path / "run_rank00000.sps", ["busy", "other"], [(str(program), 0)], samples, ticks=60)
    got = json.loads(report("lines", tmp_path, "--json").stdout)
    busy, other = got["regions"]
    assert (busy["name"], busy["samples"], other["name"], other["samples"]) == ("busy", 40, "other", 5)
    assert [(line["function"], line["share"]) for line in busy["lines"]] == [("hot", 0.75), ("cold", 0.25)]
    assert busy["lines"][0]["source"] in ("int hot(int n)", "{")
    assert (got["samples_outside"], got["ticks"]) == (7, 60)
    shown = report("lines", tmp_path).stdout
    assert "region 'busy': 40 samples" in shown and "75.0" in shown and " s " not in shown.replace("samples", "")


def test_two_ranks_are_put_together(tmp_path):
    program = build(tmp_path, C_SOURCE, "gcc", ["-g", "-O0"])
    where = instructions(program)[:2]
    for rank in (0, 1):
        write_sps(tmp_path / f"run_rank{rank:05d}.sps", ["r"], [(str(program), 4096 * rank)], [(0, 0, where[rank] + 4096 * rank)] * 3, rank=rank)
    got = json.loads(report("lines", tmp_path / "run", "--json").stdout)
    assert sum(line["samples"] for line in got["regions"][0]["lines"]) == 6
    per_rank = json.loads(report("lines", tmp_path / "run", "--json", "--per-rank").stdout)
    assert sorted(line["rank"] for line in per_rank["regions"][0]["lines"]) == [0, 1]
    one = json.loads(report("lines", tmp_path / "run", "--json", "--ranks", "1").stdout)
    assert one["samples_in_regions"] == 3


@pytest.mark.parametrize("how, hint", [
    ("no -g", "has no debug information"), ("gone", "is not there any more"), ("no ELF", "cannot be read"), ("fifo", "cannot be read"),
])
def test_hints(tmp_path, how, hint):
    program = build(tmp_path, C_SOURCE, "gcc", ["-O0"])
    address = instructions(program)[0]
    if how != "no -g":
        program.unlink()
    if how == "no ELF":
        program.write_text("no ELF file at all\n" * 100)
    if how == "fifo":
        os.mkfifo(program)
    write_sps(tmp_path / "run_rank00000.sps", ["r"], [(str(program), 0)], [(0, 0, address)])
    run = report("lines", tmp_path / "run")
    assert hint in run.stderr and str(program) in run.stderr
    assert "region 'r': 1 samples" in run.stdout


def test_names_cannot_play(tmp_path):
    write_sps(tmp_path / "run_rank00000.sps", [b"a\x1b[31m\n\xff"], [(b"/no/\x1b[2Jsuch", 0)], [(0, 0, 5), (0, -1, 7)])
    run = report("lines", tmp_path / "run")
    assert "\x1b" not in run.stdout + run.stderr
    json.loads(report("lines", tmp_path / "run", "--json").stdout)
