#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""count-hits.py PROGRAM [ARG...]: run a program with a breakpoint on every live site, and pair what is hit.

An oracle that shares nothing with scope-bpf: notes by list-notes.py, hits by ptrace, pairing by the rules of the design,
written again. Output: one line of JSON, {"status": N, "stdout": TEXT, "regions": {NAME: {"calls", "complete",
"abandoned", "open", "unmatched"}}}. Threads are followed, children are not. x86-64 only, no privilege needed.

count-hits.py --check PROGRAM [ARG...]: compare it with the truth that the program printed (tests/apps/truth.h, or the
lines of matrix.c), print the differences, exit 1 if there are some.
"""
import collections
import ctypes
import importlib.util
import json
import os
import re
import signal
import struct
import sys
import tempfile

_spec = importlib.util.spec_from_file_location("notes", os.path.join(os.path.dirname(__file__), "list-notes.py"))
notes = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(notes)

TRACEME, CONT, GETREGS, SETREGS, SETOPTIONS, DETACH = 0, 7, 12, 13, 0x4200, 17
OPT_TRACEFORK, OPT_TRACECLONE, OPT_TRACEVFORK, OPT_TRACEEXIT, OPT_EXITKILL = 2, 8, 4, 64, 1 << 20
REGS = ["r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx", "rsi", "rdi",
        "orig_rax", "rip", "cs", "eflags", "rsp", "ss", "fs_base", "gs_base", "ds", "es", "fs", "gs"]
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, tid, addr=0, data=0):
    if libc.ptrace(request, tid, addr, data) < 0:
        raise OSError(ctypes.get_errno(), f"ptrace {request} of {tid}")


def getregs(tid):
    buf = (ctypes.c_ulonglong * len(REGS))()
    ptrace(GETREGS, tid, 0, ctypes.addressof(buf))
    return dict(zip(REGS, buf)), buf


class Region:
    def __init__(self):
        self.calls = self.complete = self.abandoned = self.unmatched = self.open = 0


Frame = collections.namedtuple("Frame", "name addr sp site")


class Pairing:
    """The rules of regions, one stack of open calls per thread."""

    def __init__(self):
        self.regions = collections.defaultdict(Region)
        self.stacks = collections.defaultdict(list)

    def cut(self, stack, at):
        for frame in stack[at:]:
            self.regions[frame.name].abandoned += 1
        del stack[at:]

    def begin(self, tid, name, addr, sp, site):
        stack = self.stacks[tid]
        for i in reversed(range(len(stack))):
            f = stack[i]
            if f.sp > sp:
                break  # a caller that still runs; what is left behind may also lie below it, and stays until its end
            if (addr and f.addr == addr) or (not addr and not f.addr and (f.site, f.sp) == (site, sp)):
                self.cut(stack, i)
                break
        stack.append(Frame(name, addr, sp, site))
        self.regions[name].calls += 1

    def find(self, stack, name, addr, sp):
        if addr:
            return next((i for i in reversed(range(len(stack))) if stack[i].addr == addr), None)
        same = [i for i, f in enumerate(stack) if f.name == name]
        for fits in (lambda f: f.sp == sp, lambda f: f.sp > sp, lambda f: True):
            hits = [i for i in same if fits(stack[i])]
            if hits:
                return hits[-1]
        return None

    def end(self, tid, name, addr, sp):
        stack = self.stacks[tid]
        at = self.find(stack, name, addr, sp)
        if at is None:
            self.regions[name or "?"].unmatched += 1
            return
        self.cut(stack, at + 1)
        self.regions[stack.pop().name].complete += 1

    def finish(self):
        for stack in self.stacks.values():
            for frame in stack:
                self.regions[frame.name].open += 1


class Target:
    def __init__(self, argv):
        self.out = tempfile.TemporaryFile()
        self.pid = os.fork()
        if self.pid == 0:
            os.dup2(self.out.fileno(), 1)
            libc.ptrace(TRACEME, 0, 0, 0)
            os.execvp(argv[0], argv)
        os.waitpid(self.pid, 0)
        ptrace(SETOPTIONS, self.pid, 0, OPT_TRACECLONE | OPT_TRACEFORK | OPT_TRACEVFORK | OPT_EXITKILL)
        self.mem = os.open(f"/proc/{self.pid}/mem", os.O_RDWR)
        self.sites = {}
        self.saved = {}
        self.pairing = Pairing()

    def peek(self, addr, n):
        return os.pread(self.mem, n, addr)

    def poke(self, addr, data):
        os.pwrite(self.mem, data, addr)

    def modules(self):
        """(path, load bias, Elf) of what is mapped and has notes of ours."""
        seen = set()
        with open(f"/proc/{self.pid}/maps") as f:
            for line in f:
                m = re.match(r"([0-9a-f]+)-\S+ \S+ 0+ \S+ \d+ +(/.*)$", line)
                if not m or m.group(2) in seen:
                    continue
                seen.add(m.group(2))
                try:
                    elf = notes.Elf(m.group(2))
                except (SystemExit, OSError):
                    continue
                first = next(s for s in elf.segments if s[0] == 1)
                yield m.group(2), int(m.group(1), 16) - (first[3] & ~0xfff), elf

    def plant(self):
        for _, bias, elf in self.modules():
            for site in notes.sites(elf):
                if site["live"]:
                    addr = site["location"] + bias
                    assert self.peek(addr, 1) == b"\x90", f"no nop at {site['name']} {addr:#x}"
                    self.poke(addr, b"\xcc")
                    self.sites[addr] = site

    def run_to_entry(self):
        """The entry of the program: every library that it links is mapped by then."""
        with open(f"/proc/{self.pid}/auxv", "rb") as f:
            aux = dict(struct.iter_unpack("<QQ", f.read()))
        entry = aux[9]
        old = self.peek(entry, 1)
        self.poke(entry, b"\xcc")
        ptrace(CONT, self.pid)
        _, status = os.waitpid(self.pid, 0)
        assert os.WIFSTOPPED(status) and os.WSTOPSIG(status) == signal.SIGTRAP
        self.poke(entry, old)
        regs, buf = getregs(self.pid)
        assert regs["rip"] == entry + 1
        buf[REGS.index("rip")] = entry
        ptrace(SETREGS, self.pid, 0, ctypes.addressof(buf))

    def address(self, args, regs):
        """The effective address: one register and a sum, in either dialect."""
        text = re.sub("(BYTE|QWORD) PTR| |%", "", args.split("@")[1])
        register = re.search(r"r\w+", text).group(0)
        disp = sum(int(n) for n in re.findall(r"[-+]?\d+", text.replace(register, "")))
        return (regs[register] + disp) & (2**64 - 1)

    def text(self, addr):
        raw = b""
        while len(raw) < 255 and b"\0" not in raw:
            n = min(255 - len(raw), 4096 - (addr + len(raw)) % 4096)
            try:
                raw += self.peek(addr + len(raw), n)
            except OSError:
                break
        return raw.split(b"\0")[0][:255].decode("utf-8", "backslashreplace")

    def hit(self, tid, regs):
        site = self.sites[regs["rip"] - 1]
        name, args = site["name"], site["args"]
        addr = self.address(args, regs) if args else 0
        if name in ("__dynamic__begin", "__dynamic__open", "__dynamic__close"):
            region = self.text(struct.unpack("<Q", self.peek(addr, 8))[0])
            if name != "__dynamic__begin":
                addr = 0
        else:
            region = re.sub("__(begin|end)$", "", name)
        if site["line"] is not None:
            self.pairing.begin(tid, region, addr, regs["rsp"], regs["rip"])
        else:
            self.pairing.end(tid, region, addr, regs["rsp"])

    def child(self, pid, shares_memory):
        """A forked child goes on without us and without breakpoints."""
        os.waitpid(pid, 0x40000000)
        if shares_memory:
            ptrace(DETACH, pid)
            return
        fd = os.open(f"/proc/{pid}/mem", os.O_RDWR)
        for addr in self.sites:
            os.pwrite(fd, b"\x90", addr)
        os.close(fd)
        ptrace(DETACH, pid)

    def run(self):
        self.run_to_entry()
        self.plant()
        ptrace(CONT, self.pid)
        while True:
            tid, status = os.waitpid(-1, 0x40000000)
            if os.WIFEXITED(status) or os.WIFSIGNALED(status):
                if tid == self.pid:
                    self.pairing.finish()
                    return os.waitstatus_to_exitcode(status)
                continue
            sig, event = os.WSTOPSIG(status), status >> 16
            if event in (1, 2):
                new = ctypes.c_ulong()
                ptrace(0x4201, tid, 0, ctypes.addressof(new))
                self.child(new.value, event == 2)
                sig = 0
            elif event:
                sig = 0
            elif sig == signal.SIGTRAP:
                regs, _ = getregs(tid)
                if regs["rip"] - 1 in self.sites:
                    self.hit(tid, regs)
                    sig = 0
            elif sig == signal.SIGSTOP:
                sig = 0
            ptrace(CONT, tid, 0, sig)


def truth_of(argv, text):
    """{name: (calls, abandoned, open, unmatched)} as the program printed it."""
    truth = {}
    if text.startswith("{"):
        for name, t in json.loads(text)["regions"].items():
            truth[name] = (t["calls"], t["abandoned"] + t["overlapping"], t["truncated"], t["overlapping"])
        return truth
    for line in text.splitlines():
        count, _, _, name = line.split(" ", 3)
        if name.startswith("__dynamic"):
            name = argv[0]
        truth[name] = (truth.get(name, (0,))[0] + int(count), 0, 0, 0)
    truth["same_a"] = truth["same_b"] = (1, 0, 0, 0)
    return truth


def differences(truth, regions):
    for name in sorted(truth.keys() | regions.keys()):
        r = regions.get(name, Region())
        seen = (r.calls, r.abandoned, r.open, r.unmatched)
        if seen != truth.get(name):
            yield f"{name}: calls, abandoned, open, unmatched are {seen}, should be {truth.get(name)}"


def main():
    check = sys.argv[1] == "--check"
    argv = sys.argv[2 if check else 1:]
    target = Target(argv)
    try:
        status = target.run()
    except BaseException:
        os.kill(target.pid, signal.SIGKILL)
        raise
    target.out.seek(0)
    text = target.out.read().decode()
    regions = target.pairing.regions
    if not check:
        print(json.dumps({"status": status, "stdout": text, "regions": {n: vars(r) for n, r in regions.items()}}))
        return
    bad = list(differences(truth_of(argv, text), regions))
    print("\n".join(bad))
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
