# SPDX-License-Identifier: GPL-2.0-only
# timeout: 600
"""Other people's probes: PostgreSQL and CPython as Debian builds them, programs with <sys/sdt.h>, a second tracer.

The truth is the server's statement log, Python's own hooks, and what the small programs print.
"""
import collections
import ctypes
import errno
import json
import os
import platform
import pwd
import re
import shutil
import signal
import struct
import subprocess
import textwrap
import time
from pathlib import Path

import h5py
import pytest
from recording import ABANDONED, SCOPE_BPF, TOP, Recording

PG = Path("/usr/lib/postgresql/15/bin")
PYTHON = Path("/usr/bin/python3.11")
OPTIONS = ["--format", "h5", "--no-samples"]


STARTED = []


def start(*args, **options):
    """A process that does not outlive its test, however that ends."""
    STARTED.append(subprocess.Popen(*args, **options))
    return STARTED[-1]


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    while STARTED:
        process = STARTED.pop()
        if process.poll() is None:
            process.kill()
            process.wait(60)


def wait_for(what, condition, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    pytest.fail(f"waited {seconds} s for {what}")


def calls_by_region(recording):
    return {name: row["calls"] for name, row in recording.counted().items()}


# ---- PostgreSQL ---------------------------------------------------------------------------------------------------


class Server:
    """A private cluster of an ordinary user, reached through a socket in its home."""

    def __init__(self, user):
        self.user, self.home = user, Path(pwd.getpwnam(user).pw_dir)
        self.data = self.home / "data"
        done = self.run(PG / "initdb", "-D", self.data, "-A", "trust", "--no-sync")
        assert done.returncode == 0, done.stderr

    def run(self, *command, timeout=120):
        return subprocess.run(["setpriv", "--reuid", self.user, "--regid", self.user, "--clear-groups", *map(str, command)],
                              cwd=self.home, env={"HOME": str(self.home), "PATH": os.environ["PATH"], "LC_ALL": "C"},
                              text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=timeout)

    def command(self):
        settings = {"listen_addresses": "", "fsync": "off", "log_statement": "all", "log_line_prefix": "PID%p ", "autovacuum": "off"}
        return [str(PG / "postgres"), "-D", str(self.data), "-k", str(self.home)] + [w for k, v in settings.items() for w in ("-c", f"{k}={v}")]

    def start(self, before, log):
        """`before`: words in front of the server's own command."""
        with log.open("w") as out:
            process = start([*map(str, before), *self.command()], stdout=out, stderr=out, stdin=subprocess.DEVNULL, cwd=self.home)
        wait_for("the server", lambda: self.run(PG / "pg_isready", "-h", self.home).returncode == 0 or process.poll() is not None)
        assert process.poll() is None, log.read_text()
        return process

    def pid(self):
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def stop(self, process):
        os.kill(self.pid(), signal.SIGINT)
        return process.wait(60)

    def pgbench(self, *options):
        done = self.run(PG / "pgbench", "-h", self.home, "-n", *options, "postgres")
        assert done.returncode == 0, done.stderr
        return done.stdout

    def psql(self, text):
        script = self.home / "script.sql"
        script.write_text(text)
        return self.run(PG / "psql", "-h", self.home, "-q", "-f", script, "postgres")


@pytest.fixture(scope="module")
def server():
    if not (PG / "postgres").exists():
        pytest.skip("no PostgreSQL 15 (Debian's postgresql-15)")
    name = f"scopepg{os.getpid()}"
    subprocess.run(["useradd", "--system", "--create-home", name], check=True)
    try:
        made = Server(name)
        process = made.start(["setpriv", "--reuid", name, "--regid", name, "--clear-groups"], made.home / "init.log")
        made.run(PG / "pgbench", "-h", made.home, "-i", "-q", "postgres")
        made.stop(process)
        yield made
    finally:
        subprocess.run(["userdel", "--remove", name], check=False, capture_output=True)


class ServerRecording:
    """A server's run under scope-bpf, the server being its command; then what the log and the profile say."""

    def __init__(self, server, name, work, options=("--preset", "postgresql")):
        self.log, self.h5 = server.home / f"{name}.log", server.home / f"{name}.h5"
        process = server.start([SCOPE_BPF, "--run-as", server.user, *options, *OPTIONS, "-o", server.home / name, "--"], self.log)
        try:
            work()
        finally:
            self.status = server.stop(process)
        self.text = self.log.read_text()
        assert self.status == 0, self.text
        assert "lost: 0" in self.text

    def logged(self, kind):
        """Per backend, how many lines of this kind: `statement` (simple protocol) or `execute`."""
        return dict(collections.Counter(int(pid) for pid in re.findall(rf"^PID(\d+) LOG:  {kind}\b", self.text, re.M)))

    def calls(self, region):
        """Per process, the flags of its calls of the region."""
        with h5py.File(self.h5) as f:
            processes = f["scope_bpf/processes"]
            pids = dict(zip(processes["rank"][()].tolist(), processes["pid"][()].tolist()))
            names = [n.decode() for n in f["region_table/names"][()]]
            index, flags = f["rank_region_index"], f["events/flags"][()] if "flags" in f["events"] else None
            rows = zip(index["region_ids"][()], index["ranks"][()], index["event_offsets"][()], index["event_counts"][()])
            return {pids[int(rank)]: [0] * int(n) if flags is None else flags[o:o + n].tolist()
                    for r, rank, o, n in rows if names[r] == f"postgresql:{region}" and n}

    def counts(self, region):
        return {pid: len(flags) for pid, flags in self.calls(region).items()}


def test_pgbench_simple(server):
    """Every query of every backend, against the server's log of statements."""
    recording = ServerRecording(server, "simple", lambda: server.pgbench("-S", "-M", "simple", "-c", "3", "-t", "700"))
    logged = recording.logged("statement")
    assert sorted(logged.values())[-3:] == [700] * 3
    for region in ("query", "parse", "rewrite", "plan", "execute"):
        assert recording.counts(region) == logged, region


@pytest.mark.parametrize("mode", ["extended", "prepared"])
def test_pgbench_other_protocols(server, mode):
    """The extended protocol fires query__start never, execute always; a prepared statement is parsed once, planned a few times."""
    recording = ServerRecording(server, mode, lambda: server.pgbench("-S", "-M", mode, "-c", "2", "-t", "500"))
    statements, executed = recording.logged("statement"), recording.logged("execute")
    assert sorted(executed.values()) == [500, 500]
    assert recording.counts("query") == statements  # what pgbench itself asks before the clients start
    assert {pid: n for pid, n in recording.counts("execute").items() if pid in executed} == executed
    plans = {pid: n for pid, n in recording.counts("plan").items() if pid in executed}
    parsed = {pid: n for pid, n in recording.counts("parse").items() if pid in executed}
    if mode == "extended":
        assert parsed == executed and plans == executed
    else:
        assert set(parsed.values()) == {1}
        assert all(0 < n < 20 for n in plans.values())


def test_failing_queries(server):
    """1,000 errors leave 1,000 query__start without query__done: abandoned, each at the next; the queries after them are whole."""
    recording = ServerRecording(server, "failing", lambda: server.psql("select 1/0;\n" * 1000 + "select 1;\nselect 2;\n"))
    assert recording.text.count("ERROR:  division by zero") == 1000
    (pid, flags), = recording.calls("query").items()
    assert recording.logged("statement") == {pid: 1002}
    assert flags == [ABANDONED] * 1000 + [0, 0]
    assert recording.counts("execute") == {pid: 2}
    plans = recording.calls("plan")[pid]
    assert plans == [ABANDONED] * 1000 + [0, 0]
    with h5py.File(recording.h5) as f:  # never deeper than one query is: each call's parent's parent's ... within 8
        assert depth_of(f) <= 8


def depth_of(f):
    parents = {}
    index = f["rank_region_index"]
    for rank, o, n in zip(index["ranks"][()], index["event_offsets"][()], index["event_counts"][()]):
        ids, above = f["events/call_ids"][o:o + n].tolist(), f["events/parent_ids"][o:o + n].tolist()
        parents.update({(int(rank), i): p for i, p in zip(ids, above)})
    depth = 0
    for (rank, call) in parents:
        n = 0
        while (rank, call) in parents and n < 100:
            call, n = parents[(rank, call)], n + 1
        depth = max(depth, n)
    return depth


def test_running_server(server, tmp_path):
    """-p with --follow: backends that the server forks after the attachment, and a glob instead of the preset."""
    process = server.start(["setpriv", "--reuid", server.user, "--regid", server.user, "--clear-groups"], server.home / "running.log")
    try:
        prefix = tmp_path / "run"
        collector = start([SCOPE_BPF, "-v", "--usdt", "postgresql:query*__start,query*__done", "--follow", "yes", *OPTIONS,
                                      "-o", str(prefix), "-p", str(server.pid())], stderr=(tmp_path / "messages").open("w"), stdin=subprocess.DEVNULL)
        wait_for("the attachment", lambda: "attached " in (tmp_path / "messages").read_text())
        server.pgbench("-S", "-M", "simple", "-c", "2", "-t", "300")
        os.kill(collector.pid, signal.SIGINT)
        assert collector.wait(60) == 0, (tmp_path / "messages").read_text()
    finally:
        server.stop(process)
    with h5py.File(f"{prefix}.h5") as f:
        names, index = [n.decode() for n in f["region_table/names"][()]], f["rank_region_index"]
        found = collections.Counter()
        for r, n in zip(index["region_ids"][()], index["event_counts"][()]):
            found[names[r]] += int(n)
    log = (server.home / "running.log").read_text()
    assert found["postgresql:__parse"] == found["postgresql:__plan"] == log.count("LOG:  statement")
    # query__start itself: the star stands for nothing there, and it needs something


# ---- CPython ------------------------------------------------------------------------------------------------------


def python_or_skip():
    if not PYTHON.exists() or b"function__entry" not in PYTHON.read_bytes():
        pytest.skip(f"no {PYTHON} built with --with-dtrace")


def test_python_collections_and_imports(tmp_path):
    """Against gc.get_stats(), a callback, and the lines of -X importtime."""
    python_or_skip()
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent("""
        import gc, json, os, sys
        called = 0
        def callback(phase, info):
            global called
            called += phase == "start"
        before = sum(s["collections"] for s in gc.get_stats())
        gc.callbacks.append(callback)
        for i in range(40):
            gc.collect(i % 3)
            [[] for j in range(3000)]
        import decimal, email.message, xml.dom.minidom
        try:
            import no_such_module_at_all
        except ImportError:
            pass
        gc.callbacks.clear()
        stats = sum(s["collections"] for s in gc.get_stats())
        print(json.dumps({"collections": stats, "called": called, "before": before}), flush=True)
        os._exit(0)
    """))
    recording = Recording(tmp_path, [PYTHON, "-X", "importtime", script], ["--preset", "cpython", *OPTIONS])
    assert recording.status == 0, recording.messages
    lines = [l for l in recording.messages.splitlines() if l.startswith("import time:") and "cumulative" not in l]
    truth = recording.truth
    assert truth["called"] >= 40 and truth["called"] + truth["before"] == truth["collections"]
    assert calls_by_region(recording) == {"python:gc": truth["collections"], "python:import": len(lines)}


def test_python_functions_are_refused_where_entries_are_missing(tmp_path):
    """Debian's 3.11: function__return always, function__entry almost never."""
    python_or_skip()
    script = tmp_path / "script.py"
    script.write_text("import os, time\ndef f():\n    pass\nend = time.monotonic() + 3\nfor i in range(20000):\n    f()\n"
                      "print('{\"fine\": 1}', flush=True)\nos._exit(0)\n")
    recording = Recording(tmp_path, [PYTHON, "-S", script], ["--preset", "cpython-functions", "--preset", "cpython", *OPTIONS])
    assert recording.status == 0 and recording.truth == {"fine": 1}
    found = re.search(r"refused python:function__entry,function__return: it began (\d+) times and ended (\d+) times", recording.messages)
    assert found and int(found[1]) * 10 < int(found[2]), recording.messages
    assert int(found[2]) >= 100
    assert calls_by_region(recording)["python:import"] > 5  # the rest goes on


def test_python_functions_of_a_build_that_fires_both(tmp_path):
    """Needs a CPython built with --with-dtrace before 3.11, when each call of a function was one of the interpreter's loop."""
    found = [p for v in ("3.10", "3.9", "3.8", "3.7", "3.6") if (p := shutil.which(f"python{v}")) and b"function__entry" in Path(p).read_bytes()]
    if not found:
        pytest.skip("no CPython of 3.6 to 3.10 built with --with-dtrace: Debian 12 has 3.11, which fires function__return only")
    recording = Recording(tmp_path, [found[0], "-S", "-c", "def f(n):\n    return n and f(n - 1)\nfor i in range(10): f(99)"],
                          ["--preset", "cpython-functions", *OPTIONS])
    assert recording.counted()["python:f"] == {"calls": 1000, "abandoned": 0, "truncated": 0, "overlapping": 0}


# ---- programs with <sys/sdt.h> ------------------------------------------------------------------------------------


def compile_c(folder, name, source, *flags):
    if not Path("/usr/include/x86_64-linux-gnu/sys/sdt.h").exists() and not Path("/usr/include/sys/sdt.h").exists():
        pytest.skip("no sys/sdt.h (Debian's systemtap-sdt-dev)")
    path = folder / f"{name}.c"
    path.write_text(textwrap.dedent(source))
    done = subprocess.run(["gcc", "-O2", "-g", str(path), "-o", str(folder / name), *flags], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / name


INTERPRETER = """
    #include <stdio.h>
    #include <stdlib.h>
    #include <sys/sdt.h>
    /* Functions of a language: fib calls itself in one frame of the machine (a loop and a stack of its own), as CPython
     * 3.11 does, and in a new frame of the machine (native), as it did before. */
    static long entries;
    static char names[3][16] = {"fib", "native", "leaf"};
    __attribute__((noinline)) static void leaf(void)
    {
        DTRACE_PROBE3(python, function__entry, "file.py", names[2], 7);
        entries++;
        DTRACE_PROBE3(python, function__return, "file.py", names[2], 7);
    }
    __attribute__((noinline)) static void native(int n)
    {
        DTRACE_PROBE3(python, function__entry, "file.py", names[1], n);
        entries++;
        if (n > 1)
            native(n - 1);
        leaf();
        DTRACE_PROBE3(python, function__return, "file.py", names[1], n);
    }
    __attribute__((noinline)) static void fib(int n)
    {
        int stack[64], depth = 0, arg = n, steps = 0;
        while (steps++ < 1000000) {
            /* one site for every entry of the language, one for every return */
            const char *volatile name = names[0];
            if (arg >= 0) {
                DTRACE_PROBE3(python, function__entry, "file.py", name, arg);
                entries++;
                stack[depth++] = arg;
                arg = arg > 0 ? arg - 1 : -1;
                continue;
            }
            if (!depth)
                break;
            depth--;
            DTRACE_PROBE3(python, function__return, "file.py", name, stack[depth]);
        }
    }
    int main(void)
    {
        for (int i = 0; i < 10; i++) {
            fib(30);
            native(20);
        }
        printf("{\\"entries\\": %ld}\\n", entries);
        return 0;
    }
"""


def test_regions_named_by_an_argument(tmp_path):
    """The layout of CPython's function probes: recursion in one machine frame and in many, the name in a register or in memory."""
    app = compile_c(tmp_path, "interpreter", INTERPRETER)
    recording = Recording(tmp_path, [app], ["--preset", "cpython-functions", *OPTIONS])
    assert recording.status == 0, recording.messages
    plain = {"abandoned": 0, "truncated": 0, "overlapping": 0}
    assert recording.counted() == {"python:fib": {"calls": 310, **plain}, "python:native": {"calls": 200, **plain},
                                   "python:leaf": {"calls": 200, **plain}}
    assert recording.truth["entries"] == 710
    with h5py.File(recording.h5) as f:
        assert depth_of(f) == 31
    only = Recording(tmp_path, [app], ["--preset", "cpython-functions", "--region", "python:l*", *OPTIONS])
    assert calls_by_region(only) == {"python:leaf": 200}


SEMAPHORES = """
    #include <stdio.h>
    #include <stdlib.h>
    #include <unistd.h>
    #define _SDT_HAS_SEMAPHORES 1
    #include <sys/sdt.h>
    #define SEMAPHORE(name) __extension__ unsigned short name __attribute__((section(".probes")))
    SEMAPHORE(app_work_begin_semaphore); SEMAPHORE(app_work_end_semaphore); SEMAPHORE(app_other_begin_semaphore);
    SEMAPHORE(app_other_end_semaphore); SEMAPHORE(app_never_semaphore);
    int main(int argc, char **argv)
    {
        int rounds = argc > 1 ? atoi(argv[1]) : 1000, seen = 0;
        printf("%d %p %p %p\\n", (int)getpid(), (void *)&app_work_begin_semaphore, (void *)&app_work_end_semaphore,
               (void *)&app_never_semaphore);
        fflush(stdout);
        if (argc > 2)
            getchar();
        for (int i = 0; i < rounds || argc > 3; i++) {
            if (app_work_begin_semaphore) { DTRACE_PROBE1(app, work_begin, i); seen++; }
            if (app_other_begin_semaphore) DTRACE_PROBE(app, other_begin);
            if (app_other_end_semaphore) DTRACE_PROBE(app, other_end);
            if (app_work_end_semaphore) DTRACE_PROBE1(app, work_end, i);
            if (app_never_semaphore) DTRACE_PROBE(app, never);
            if (argc > 3)
                usleep(10000);
        }
        printf("{\\"work\\": %d}\\n", seen);
        return 0;
    }
"""
RULES = ["--usdt", "app:work_begin,work_end", "--usdt", "app:other_begin,other_end"]


def read_words(pid, addresses):
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        out = []
        for address in addresses:
            memory.seek(address)
            out.append(struct.unpack("<H", memory.read(2))[0])
        return out


def test_semaphores_are_the_kernels(tmp_path):
    """0 before, 1 while recording, 0 when the collector is killed with SIGKILL; those of other probes never move."""
    app = compile_c(tmp_path, "semaphores", SEMAPHORES)
    target = start([app, "1", "wait", "endless"], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
    pid, *addresses = target.stdout.readline().split()
    addresses = [int(a, 16) for a in addresses]
    try:
        assert read_words(pid, addresses) == [0, 0, 0]
        for sig in (signal.SIGKILL, signal.SIGINT):
            collector = start([SCOPE_BPF, *RULES, *OPTIONS, "-o", str(tmp_path / f"killed{sig}"), "-p", pid],
                                         stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            wait_for("the semaphores", lambda: read_words(pid, addresses) == [1, 1, 0] or collector.poll() is not None)
            assert collector.poll() is None
            os.kill(collector.pid, sig)
            collector.wait(60)
            wait_for("the semaphores to fall", lambda: read_words(pid, addresses) == [0, 0, 0], 5)
        assert target.poll() is None
    finally:
        target.kill()
        target.communicate()


@pytest.mark.parametrize("road", ["multi", "perf"])
def test_guarded_probes_from_the_start(tmp_path, road):
    """A command: the semaphores are up before its first instruction."""
    app = compile_c(tmp_path, "semaphores", SEMAPHORES)
    recording = Recording(tmp_path, [app, "1000"], [*RULES, "--uprobes", road, *OPTIONS])
    assert recording.status == 0 and recording.truth == {"work": 1000}
    assert calls_by_region(recording) == {"app:work": 1000, "app:other": 1000}


def test_one_probe_ends_a_region_and_begins_the_next(tmp_path):
    app = compile_c(tmp_path, "phases", """
        #include <sys/sdt.h>
        int main(void)
        {
            for (int i = 0; i < 500; i++) {
                DTRACE_PROBE(app, first);
                DTRACE_PROBE(app, second);
                DTRACE_PROBE(app, third);
            }
            return 0;
        }
    """)
    recording = Recording(tmp_path, [app], ["--usdt", "app:first,second=a", "--usdt", "app:second,third=b", "--usdt", "app:s*,t*=c", *OPTIONS])
    plain = {"calls": 500, "abandoned": 0, "truncated": 0, "overlapping": 0}
    assert recording.counted() == {"app:a": plain, "app:b": plain}
    with h5py.File(recording.h5) as f:
        assert depth_of(f) == 1  # one after the other, not within


NOTE = r"""
    #define STRING(x) #x
    #define PROBE(bytes, name, semaphore, args)                                                       \
        __asm__ volatile("990: " bytes "\n.pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n"      \
                         ".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"  \
                         "993: .8byte 990b, 0, " semaphore "\n.asciz \"app\"\n.asciz \"" name "\"\n"  \
                         ".asciz \"" args "\"\n994: .balign 4\n.popsection\n")
"""


def test_arguments_that_nobody_can_read(tmp_path):
    """They stop only the rule that needs them."""
    app = compile_c(tmp_path, "odd", NOTE + """
        int main(void)
        {
            for (int i = 0; i < 300; i++) {
                PROBE("nop", "a_begin", "0", "8@%%fs:weird(,,x) nonsense 4f@%%xmm0");
                PROBE("nop", "a_end", "0", "???");
                PROBE("nop", "b_begin", "0", "8@$5 -4@%%eax");
                PROBE("nop", "b_end", "0", "8@%%rax");
            }
            return 0;
        }
    """)
    recording = Recording(tmp_path, [app], ["--usdt", "app:a_begin,a_end=a", "--usdt", "app:b_begin,b_end=@1", *OPTIONS])
    assert recording.status == 0
    assert calls_by_region(recording) == {"app:a": 300}
    assert re.search(r"refused app:b_begin at 0x[0-9a-f]+: argument 1 of", recording.messages), recording.messages


# A leaf that keeps a value below its stack pointer across the probe, as gcc does with local variables.
NOP5 = NOTE + """
    #include <stdio.h>
    #ifndef BYTES
    #define BYTES ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00"
    #endif
    __attribute__((noinline)) static long leaf(long x)
    {
        long kept;
        __asm__ volatile("mov %1, -8(%%rsp)" : "=m"(kept) : "r"(x) : "memory");
        PROBE(BYTES, "leaf_begin", "0", "");
        PROBE(BYTES, "leaf_end", "0", "");
        __asm__ volatile("mov -8(%%rsp), %0" : "=r"(kept) : : "memory");
        return kept;
    }
    int main(void)
    {
        long wrong = 0;
        for (long i = 1; i <= 100000; i++) {
            if (i <= 200)
                PROBE("nop", "other_begin", "0", "");
            wrong += leaf(i) != i;
            if (i <= 200)
                PROBE("nop", "other_end", "0", "");
        }
        printf("{\\"wrong\\": %ld}\\n", wrong);
        return 0;
    }
"""


def test_five_byte_nops(tmp_path):
    """Refused by name where the kernel harms the program there (6.18 to 7.1), exact where it does not; never harm."""
    app = compile_c(tmp_path, "nop5", NOP5)
    recording = Recording(tmp_path, [app], ["--usdt", "app:*_begin,*_end", *OPTIONS])
    assert recording.status == 0
    assert recording.truth == {"wrong": 0}
    version = tuple(int(n) for n in re.match(r"(\d+)\.(\d+)", platform.release()).groups())
    if (6, 18) <= version <= (7, 1):
        assert re.search(r"refused app:leaf at 0x[0-9a-f]+: it is a 5-byte nop, not safe here: .*scope-bpf itself", recording.messages), recording.messages
        assert calls_by_region(recording) == {"app:other": 200}
    else:
        assert calls_by_region(recording) == {"app:other": 200, "app:leaf": 100000}


@pytest.mark.parametrize("bytes_, semaphore, why", [
    (".byte 0x48, 0x89, 0xc0", "0", "the site is no nop"),
    ("nop", "readonly", "its semaphore at .* is not in a writable segment"),
    ("nop", "0x7000000", "its semaphore at .* has no bytes in the file"),
])
def test_sites_that_must_not_be_touched(tmp_path, bytes_, semaphore, why):
    app = compile_c(tmp_path, "bad", NOTE + """
        __attribute__((used, section(".rodata.sem"))) const unsigned short readonly = 0;
        int main(void)
        {
            for (int i = 0; i < 50; i++) {
                PROBE("%s", "bad_begin", "%s", "");
                PROBE("nop", "bad_end", "0", "");
                PROBE("nop", "good_begin", "0", "");
                PROBE("nop", "good_end", "0", "");
            }
            return 0;
        }
    """ % (bytes_, semaphore), "-no-pie")
    recording = Recording(tmp_path, [app], ["--usdt", "app:*_begin,*_end", *OPTIONS])
    assert recording.status == 0
    assert re.search(rf"refused app:bad_begin at 0x[0-9a-f]+: {why}", recording.messages), recording.messages
    assert calls_by_region(recording).get("app:good") == 50


def test_32_bit_programs_are_said_and_the_others_go_on(tmp_path):
    small = tmp_path / "small"
    source = tmp_path / "small.s"
    source.write_text(".globl _start\n_start: mov $1, %eax\n mov $5, %ebx\n int $0x80\n")
    subprocess.run(["as", "--32", str(source), "-o", f"{small}.o"], check=True)
    subprocess.run(["ld", "-m", "elf_i386", f"{small}.o", "-o", str(small)], check=True)
    if subprocess.run([str(small)], check=False).returncode != 5:
        pytest.skip("this kernel runs no 32-bit programs")
    app = compile_c(tmp_path, "semaphores", SEMAPHORES)
    recording = Recording(tmp_path, ["sh", "-c", f"{small}; {app} 70; {small}"], [*RULES, *OPTIONS])
    assert recording.status == 5
    assert re.search(r"small: a 32-bit program; only 64-bit programs can be traced", recording.messages), recording.messages
    assert calls_by_region(recording) == {"app:work": 70, "app:other": 70}
    alone = Recording(tmp_path, [small], OPTIONS)
    assert alone.status == 5 and "32-bit" in alone.messages


# ---- a second tracer ----------------------------------------------------------------------------------------------


class Bpftrace:
    def __init__(self, folder, app):
        if not shutil.which("bpftrace"):
            pytest.skip("no bpftrace")
        program = f"usdt:{app}:app:work_begin {{ @begins = count(); }} usdt:{app}:app:work_end {{ @ends = count(); }} BEGIN {{ printf(\"ready\\n\"); }}"
        self.out = folder / "bpftrace.out"
        with self.out.open("w") as out:
            self.process = start(["bpftrace", "-e", program], stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        wait_for("bpftrace", lambda: "ready" in self.out.read_text() or self.process.poll() is not None, 60)
        assert self.process.poll() is None, self.out.read_text()

    def counts(self):
        os.kill(self.process.pid, signal.SIGINT)
        self.process.wait(60)
        return {name: int(n) for name, n in re.findall(r"@(\w+): (\d+)", self.out.read_text())}


@pytest.mark.parametrize("first", ["bpftrace", "scope-bpf"])
def test_bpftrace_on_the_same_sites(tmp_path, first):
    app = compile_c(tmp_path, "semaphores", SEMAPHORES)
    if first == "bpftrace":
        other = Bpftrace(tmp_path, app)
        recording = Recording(tmp_path, [app, "3000"], [*RULES, *OPTIONS])
        got, messages = calls_by_region(recording), recording.messages
        counts = other.counts()
    else:
        target = start([app, "3000", "wait"], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
        pid, *addresses = target.stdout.readline().split()
        collector = start([SCOPE_BPF, *RULES, "--format", "h5,spt", "--no-samples", "-o", str(tmp_path / "run"), "-p", pid],
                                     stderr=(tmp_path / "messages").open("w"), stdin=subprocess.DEVNULL)
        wait_for("the semaphore", lambda: read_words(pid, [int(addresses[0], 16)]) == [1])
        other = Bpftrace(tmp_path, app)
        assert json.loads(target.communicate("\n", timeout=60)[0]) == {"work": 3000}
        assert collector.wait(60) == 0
        counts, messages = other.counts(), (tmp_path / "messages").read_text()
        with h5py.File(tmp_path / "run.h5") as f:
            names, index = [n.decode() for n in f["region_table/names"][()]], f["rank_region_index"]
            got = {names[r]: int(n) for r, n in zip(index["region_ids"][()], index["event_counts"][()])}
    assert got == {"app:work": 3000, "app:other": 3000}, messages
    assert counts == {"begins": 3000, "ends": 3000}
    assert "refused" not in messages


class PerfUprobe:
    """A plain uprobe of perf_event_open, for one process, at a file's offset, with a reference counter or without."""

    def __init__(self, path, offset, ref_ctr, pid):
        kind = int(Path("/sys/bus/event_source/devices/uprobe/type").read_text())
        self.path = ctypes.create_string_buffer(str(path).encode())
        attr = bytearray(128)
        # type, size, config (bits 32 to 63: the counter's offset), then config1 = path and config2 = offset at 56 and 64
        struct.pack_into("<IIQ", attr, 0, kind, 128, ref_ctr << 32)
        struct.pack_into("<QQ", attr, 56, ctypes.addressof(self.path), offset)
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.syscall(298, (ctypes.c_char * 128).from_buffer(attr), pid, -1 if pid > 0 else 0, -1, 8)
        self.errno = ctypes.get_errno() if self.fd < 0 else 0

    def close(self):
        if self.fd >= 0:
            os.close(self.fd)


def site_of(app, probe):
    """(file offset of the site, of its semaphore), by readelf alone."""
    notes = subprocess.run(["readelf", "-n", "-W", str(app)], capture_output=True, text=True, check=True).stdout
    location, semaphore = (int(x, 16) for x in re.search(rf"Name: {probe}\s+Location: (\S+), Base: \S+, Semaphore: (\S+)", notes).groups())
    loads = re.findall(r"LOAD\s+(\S+) (\S+) \S+ (\S+)", subprocess.run(["readelf", "-l", "-W", str(app)], capture_output=True, text=True, check=True).stdout)

    def offset(address):
        return next(address - int(v, 16) + int(o, 16) for o, v, n in loads if int(v, 16) <= address < int(v, 16) + int(n, 16))

    return offset(location), offset(semaphore)


def test_conflict_of_reference_counters(tmp_path):
    """Another tracer holds one of the four sites with another counter: refused by name, the rest recorded; and the other way round."""
    app = compile_c(tmp_path, "semaphores", SEMAPHORES)
    place, counter = site_of(app, "work_begin")
    _, never = site_of(app, "never")
    target = start([app, "1", "wait", "endless"], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
    address = int(target.stdout.readline().split()[1], 16)
    try:
        for theirs, road in ((never, "multi"), (0, "multi"), (never, "perf")):
            other = PerfUprobe(app, place, theirs, target.pid)
            assert other.errno == 0
            recording = Recording(tmp_path, [app, "400"], [*RULES, "--uprobes", road, *OPTIONS])
            other.close()
            assert recording.status == 0
            assert re.search(r"semaphores: refused app:work at 0x[0-9a-f]+: another tracer holds it with another reference counter", recording.messages), recording.messages
            assert recording.messages.count("refused app:") == 1
            assert calls_by_region(recording) == {"app:other": 400}
            assert "unmatched: 400" in recording.messages
        clean = Recording(tmp_path, [app, "400"], [*RULES, *OPTIONS])
        assert calls_by_region(clean) == {"app:work": 400, "app:other": 400}
        collector = start([SCOPE_BPF, *RULES, *OPTIONS, "-o", str(tmp_path / "first"), "-p", str(target.pid)], stderr=subprocess.PIPE,
                                     stdin=subprocess.DEVNULL, text=True)
        wait_for("the semaphore", lambda: read_words(target.pid, [address]) == [1])
        assert PerfUprobe(app, place, never, target.pid).errno == errno.EINVAL
        same = PerfUprobe(app, place, counter, target.pid)
        assert same.errno == 0
        same.close()
        assert read_words(target.pid, [address]) == [1]  # counted per place, not per tracer
        os.kill(collector.pid, signal.SIGINT)
        assert "refused" not in collector.communicate(timeout=60)[1]
    finally:
        target.kill()
        target.communicate()


def test_presets_are_found_and_named(tmp_path):
    listed = json.loads(subprocess.run([SCOPE_BPF, "--list=presets", "--json"], check=True, capture_output=True, text=True).stdout)
    by_name = {p["name"]: p for p in listed}
    assert {"postgresql", "cpython", "cpython-functions"} <= set(by_name)
    assert all(p["title"] and p["rules"] for p in listed)
    # As `make install` lays it out, below a folder that nobody told it of.
    (tmp_path / "bin").mkdir()
    presets = tmp_path / "share/scope-bpf/presets"
    presets.mkdir(parents=True)
    shutil.copy(SCOPE_BPF, tmp_path / "bin")
    shutil.copy(TOP / "usdt/cpython.pairs", presets / "moved.pairs")
    again = subprocess.run([f"{tmp_path}/bin/scope-bpf", "--list=presets", "--csv"], capture_output=True, text=True)
    assert again.stdout.splitlines()[1].startswith('"moved",2,"Python'), again.stderr


def test_listing_with_rules(tmp_path):
    app = compile_c(tmp_path, "interpreter", INTERPRETER)
    command = [SCOPE_BPF, "--list", "--json", "--preset", "cpython-functions", "--", str(app)]
    row, = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["regions"]
    notes = subprocess.run(["readelf", "-n", str(app)], check=True, capture_output=True, text=True).stdout
    assert row["provider"] == "python" and row["dynamic"]
    assert len(row["sites"]) == notes.count("Name: function__")
    bare = subprocess.run([SCOPE_BPF, "--list", "--", str(app)], capture_output=True, text=True)
    assert bare.returncode == 1 and "only probes of: python (2)" in bare.stderr and "--preset" in bare.stderr


def test_rules_that_match_nothing_are_said(tmp_path):
    app = compile_c(tmp_path, "semaphores", SEMAPHORES)
    recording = Recording(tmp_path, [app, "50"], ["--usdt", "app:work_begun,work_ended", *RULES, *OPTIONS])
    assert recording.messages.count("no probe matched it") == 1 and "--usdt app:work_begun,work_ended: no probe" in recording.messages
    assert calls_by_region(recording) == {"app:work": 50, "app:other": 50}
    half = Recording(tmp_path, [app, "50"], ["--usdt", "app:work_begin,work_ended", *OPTIONS])
    assert "region work has a begin but no end in this file" in half.messages


def test_preset_files(tmp_path):
    app = compile_c(tmp_path, "semaphores", SEMAPHORES)
    mine = tmp_path / "mine.pairs"
    mine.write_text("# mine\n\ntitle: My probes\n  app:work_begin,work_end=the work\n")
    recording = Recording(tmp_path, [app, "50"], ["--preset", str(mine), *OPTIONS])
    assert calls_by_region(recording) == {"app:the work": 50}
    for text, why in (("app:work_begin\n", "line 1: pairing rule"), ("# nothing\n", "holds no rule")):
        mine.write_text(text)
        refused = Recording(tmp_path, [app, "50"], ["--preset", str(mine), *OPTIONS])
        assert refused.status == 125 and why in refused.messages and not refused.truths
