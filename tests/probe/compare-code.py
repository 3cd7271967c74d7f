#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""compare-code.py [OPTIONS] WITH.o WITHOUT.o: the functions of two object files, instruction by instruction.

Nops, and the padding behind a function, are left out of both. The remaining instructions must be the same but for the
registers chosen and the order: the multisets of mnemonics are equal. In every case, also of the looser comparisons, the
numbers of calls, of conditional branches and of memory accesses are equal.

  --kinds            only these numbers
  --barrier=NAME     only these numbers for function NAME
  --objdump=PROGRAM

A function with several exits ("exits" in its name) ends all of them at one place, as with any destructor: there a return
may have become a jump, and two instructions may differ.
"""
import collections
import re
import subprocess
import sys

NOP = re.compile(r"^(nop|cs nop|data16|xchg +%ax,%ax)")
MEMORY = re.compile(r"\(.*\)|\[.*\]")
# the two-instruction spellings of one thing that a register choice decides
ALIAS = {"retq": "ret", "jmpq": "jmp"}


def functions(path, objdump):
    text = subprocess.run([objdump, "-d", "--no-show-raw-insn", path], check=True, capture_output=True, text=True).stdout
    out, name = {}, None
    for line in text.splitlines():
        head = re.match(r"^[0-9a-f]+ <([^>]+)>:$", line)
        if head:
            name = head.group(1)
            out[name] = []
            continue
        insn = re.match(r"^ +[0-9a-f]+:\s+(.*)$", line)
        if insn and name:
            words = insn.group(1).split("#")[0].split("//")[0].strip()
            if words and not NOP.match(words):
                out[name].append(words)
    return out


def kinds(code):
    count = collections.Counter()
    for insn in code:
        mnemonic = insn.split()[0]
        if mnemonic.startswith("call") or mnemonic in ("bl", "blr"):
            count["call"] += 1
        elif re.match(r"(jmpq?|b)$", mnemonic):
            count["jump"] += 1
        elif mnemonic.startswith("j") or re.match(r"(b\..*|cbn?z|tbn?z|br)$", mnemonic):
            count["branch"] += 1
        elif MEMORY.search(insn) and not mnemonic.startswith("lea"):
            count["memory"] += 1
    return count


def mnemonics(code):
    return collections.Counter(ALIAS.get(i.split()[0], i.split()[0]) for i in code)


def same(name, code, plain, loose):
    a, b = kinds(code), kinds(plain)
    if "exits" in name:
        jumps = a.pop("jump", 0) - b.pop("jump", 0)
        return a == b and jumps <= 1 and (loose or abs(len(code) - len(plain)) <= 2)
    return a == b and (loose or mnemonics(code) == mnemonics(plain))


def main():
    args = [a for a in sys.argv[1:] if not a.startswith("--")]
    only_kinds = "--kinds" in sys.argv
    barriers = {a.split("=")[1] for a in sys.argv if a.startswith("--barrier=")}
    objdump = next((a.split("=")[1] for a in sys.argv if a.startswith("--objdump=")), "objdump")
    with_, without = (functions(p, objdump) for p in args)
    bad = 0
    for name, plain in without.items():
        code = with_.get(name)
        if code is None:
            print(f"{name}: only there without regions")
            bad += 1
        elif not same(name, code, plain, only_kinds or name in barriers):
            bad += 1
            print(f"{name}:\n  with    {'; '.join(code)}\n  without {'; '.join(plain)}")
    for name in with_.keys() - without.keys():
        print(f"{name}: only there with regions (not inlined?)")
        bad += 1
    if not without:
        print("no functions")
        bad += 1
    sys.exit(bad != 0)


if __name__ == "__main__":
    main()
