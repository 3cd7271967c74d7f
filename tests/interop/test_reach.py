# SPDX-License-Identifier: GPL-2.0-only
"""Nothing missed: first instructions, process trees, libraries, MPI ranks. The programs print their own counts."""
import json
import os
import pwd
import shutil
import subprocess

import pytest
from recording import APPS, BUILD, SCOPE_BPF, Recording, compile_c
from scope_profiler.h5reader import read_h5


def calls_by_region(recording):
    return {name: row["calls"] for name, row in recording.counted().items()}


def test_thousand_short_children(tmp_path):
    script = f'i=0; while [ $i -lt 1000 ]; do {APPS}/first_region 7 >/dev/null; [ $? -eq 7 ] || exit 9; i=$((i+1)); done; exit 4'
    recording = Recording(tmp_path, ["sh", "-c", script], ["--format", "h5", "--no-samples"])
    assert recording.status == 4, recording.messages
    assert sum(calls_by_region(recording).values()) == 1000
    assert "lost: 0" in recording.messages
    assert len({rank for r in read_h5(str(recording.h5)).get_regions() for rank in r.ranks}) == 1000


def test_thirty_runs_of_a_static_program(tmp_path):
    for turn in range(30):
        folder = tmp_path / str(turn)
        folder.mkdir()
        recording = Recording(folder, [APPS / "first_region", "7"], ["--format", "h5"])
        assert recording.status == 7, recording.messages
        assert sum(calls_by_region(recording).values()) == 1


CHILD = """
    #include <scope_probe.h>
    #include <unistd.h>
    int main(int argc, char **argv) { SP_PROBE(%s); (void)argc; (void)argv; return 0; }
"""
TREES = {
    "background and wait": ("{a} & {b}; wait", {"region_a": 1, "region_b": 1}),
    "timeout": ("timeout 10 {a}", {"region_a": 1}),
    "pipeline": ("{a} | {b} | {a}", {"region_a": 2, "region_b": 1}),
    "subshells": ("({a}; ({b}; {a}))", {"region_a": 2, "region_b": 1}),
    "exec of another": ("exec {a}", {"region_a": 1}),
    "xargs": ("echo 1 2 3 4 | xargs -n 1 -P 2 {a}", {"region_a": 4}),
    "python subprocess": ("/usr/bin/python3 -c 'import subprocess; [subprocess.run([\"{a}\"]) for i in range(5)]; subprocess.Popen([\"{b}\"]).wait()'",
                          {"region_a": 5, "region_b": 1}),
    "double fork": ("({a} & ) ; sleep 0.5", {"region_a": 1}),
    "job control in a script": ("bash -mc '{a}; {b}; {a} & wait'", {"region_a": 2, "region_b": 1}),
    "setsid": ("setsid -w {a}; setsid -w {b}", {"region_a": 1, "region_b": 1}),
}


@pytest.fixture(scope="module")
def children(tmp_path_factory):
    folder = tmp_path_factory.mktemp("children")
    return {n: compile_c(folder, n, CHILD % f"region_{n}") for n in "ab"}


@pytest.mark.parametrize("name", TREES)
def test_process_trees(tmp_path, children, name):
    script, want = TREES[name]
    # A shell's jobs under job control are not stopped: known files are attached beforehand all the same.
    recording = Recording(tmp_path, ["sh", "-c", script.format(**children)], ["--format", "h5", "--no-samples"])
    assert recording.status == 0, recording.messages
    got = calls_by_region(recording)
    if name == "job control in a script":
        missed = {n: want[n] - got.get(n, 0) for n in want if got.get(n, 0) < want[n]}
        assert not missed or "calls in between are not recorded" in recording.messages
    else:
        assert got == want, recording.messages


def test_make_with_jobs(tmp_path, children):
    (tmp_path / "Makefile").write_text("all: 1 2 3 4 5 6\n1 2 3 4 5 6:\n\t@%s\n.PHONY: all 1 2 3 4 5 6\n" % children["a"])
    recording = Recording(tmp_path, ["make", "-j", "3"], ["--format", "h5", "--no-samples"])
    assert recording.status == 0
    assert calls_by_region(recording) == {"region_a": 6}


@pytest.mark.parametrize("how", ["fork", "vfork", "posix_spawn", "clone"])
def test_ways_to_start_a_child(tmp_path, children, how):
    app = compile_c(tmp_path, "starter", """
        #define _GNU_SOURCE
        #include <scope_probe.h>
        #include <sched.h>
        #include <signal.h>
        #include <spawn.h>
        #include <string.h>
        #include <sys/syscall.h>
        #include <sys/wait.h>
        #include <unistd.h>
        extern char **environ;
        int main(int argc, char **argv)
        {
            for (int i = 0; argc > 2 && i < 20; i++) {
                SP_PROBE(around);
                pid_t pid = -1;
                char *child[] = {argv[1], NULL};
                if (!strcmp(argv[2], "posix_spawn"))
                    posix_spawn(&pid, argv[1], NULL, NULL, child, environ);
                else if (!strcmp(argv[2], "clone"))
                    pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
                else
                    pid = strcmp(argv[2], "vfork") ? fork() : vfork();
                if (pid == 0) {
                    execv(argv[1], child);
                    _exit(9);
                }
                int status;
                if (waitpid(pid, &status, 0) != pid || status)
                    return 1;
            }
            return 0;
        }
    """)
    recording = Recording(tmp_path, [app, children["b"], how], ["--format", "h5", "--no-samples"])
    assert recording.status == 0, recording.messages
    assert calls_by_region(recording) == {"around": 20, "region_b": 20}


def test_exec_of_itself_keeps_the_rank(tmp_path):
    app = compile_c(tmp_path, "again", """
        #include <scope_probe.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        int main(int argc, char **argv)
        {
            int left = argc > 1 ? atoi(argv[1]) : 5;
            SP_BEGIN(turn);
            if (left > 1) {
                char text[16];
                snprintf(text, sizeof(text), "%d", left - 1);
                execl(argv[0], argv[0], text, (char *)0);
            }
            SP_END(turn);
            return 0;
        }
    """)
    recording = Recording(tmp_path, [app, "5"], ["--format", "h5", "--no-samples"])
    assert recording.status == 0, recording.messages
    assert recording.counted() == {"turn": {"calls": 5, "abandoned": 0, "truncated": 4, "overlapping": 0}}
    assert {rank for r in read_h5(str(recording.h5)).get_regions() for rank in r.ranks} == {0}


LIBRARY = """
    #include <scope_probe.h>
    __attribute__((constructor)) static void at_load(void) { SP_PROBE(constructor); }
    int work(void);
    int work(void) { SP_PROBE(library_work); return %d; }
"""


def test_linked_library_from_its_first_instruction(tmp_path):
    for sub, value in (("one", 1), ("two", 2)):
        (tmp_path / sub).mkdir()
        compile_c(tmp_path / sub, "libwork.so", LIBRARY % value, "-shared", "-fPIC")
    app = compile_c(tmp_path, "user", "int work(void); int main(void) { for (int i = 0; i < 9; i++) work(); return 0; }",
                    "-L", str(tmp_path / "one"), "-lwork")
    recording = Recording(tmp_path, ["env", f"LD_LIBRARY_PATH={tmp_path}/one", str(app)], ["--format", "h5", "--no-samples"])
    assert recording.status == 0, recording.messages
    assert calls_by_region(recording) == {"constructor": 1, "library_work": 9}


def test_same_program_with_another_library_path(tmp_path):
    """The program is known the second time, its library is another file: attached before its constructor all the same.

    (A preloaded library of that name does not stand in for the needed one: both are mapped, two constructors.)"""
    for sub, value in (("one", 1), ("two", 2)):
        (tmp_path / sub).mkdir()
        compile_c(tmp_path / sub, "libwork.so", LIBRARY % value, "-shared", "-fPIC")
    app = compile_c(tmp_path, "user", "int work(void); int main(void) { for (int i = 0; i < 9; i++) work(); return 0; }",
                    "-L", str(tmp_path / "one"), "-lwork")
    script = f"LD_LIBRARY_PATH={tmp_path}/one {app}; LD_LIBRARY_PATH={tmp_path}/two {app}; LD_LIBRARY_PATH={tmp_path}/one LD_PRELOAD={tmp_path}/two/libwork.so {app}"
    recording = Recording(tmp_path, ["sh", "-c", script], ["--format", "h5", "--no-samples"])
    assert recording.status == 0, recording.messages
    assert calls_by_region(recording) == {"constructor": 4, "library_work": 27}


@pytest.mark.parametrize("cc", ["gcc", "musl-gcc"])
def test_plugin_from_its_constructor_and_its_next_build(tmp_path, cc):
    """dlopen, dlclose, another build renamed over the path, dlopen again. (musl never unloads: its constructor runs once per build.)"""
    if not shutil.which(cc):
        pytest.skip(f"no {cc}")
    compile_c(tmp_path, "plug.so", LIBRARY % 1, "-shared", "-fPIC", cc=cc)
    compile_c(tmp_path, "next.so", LIBRARY % 2, "-shared", "-fPIC", cc=cc)
    app = compile_c(tmp_path, "host", """
        #include <dlfcn.h>
        #include <stdio.h>
        int main(void)
        {
            int sum = 0;
            for (int i = 0; i < 3; i++) {
                void *h = dlopen("./plug.so", RTLD_NOW);
                if (!h)
                    return 1;
                int (*work)(void) = (int (*)(void))dlsym(h, "work");
                for (int k = 0; k < 10; k++)
                    sum += work();
                dlclose(h);
                if (i == 1 && rename("next.so", "plug.so"))
                    return 2;
            }
            return sum == 40 ? 0 : 3;
        }
    """, *(["-ldl"] if cc == "gcc" else []), cc=cc)
    recording = Recording(tmp_path, [app], ["--format", "h5", "--no-samples"])
    assert recording.status == 0, recording.messages
    assert calls_by_region(recording) == {"constructor": 3 if cc == "gcc" else 2, "library_work": 30}
    assert "calls in between" not in recording.messages


@pytest.fixture(scope="module")
def ordinary_user():
    name = f"scopetest{os.getpid()}"
    subprocess.run(["useradd", "--system", "--create-home", name], check=True)
    yield name
    subprocess.run(["userdel", "--remove", name], check=False, capture_output=True)


def test_mpi_ranks(ordinary_user):
    home = pwd.getpwnam(ordinary_user).pw_dir
    shutil.copy(BUILD / "examples/heat", home)
    command = [SCOPE_BPF, "--run-as", ordinary_user, "--format", "h5", "-o", f"{home}/run", "--", "mpirun", "--oversubscribe", "-n", "4",
               f"{home}/heat", "--nx", "64", "--ny", "64", "--steps", "20"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=home, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    truth = {t["rank"]: t["calls"] for t in map(json.loads, filter(lambda l: l.startswith("{"), done.stdout.splitlines()))}
    assert sorted(truth) == [0, 1, 2, 3]
    results = read_h5(f"{home}/run.h5")
    got = {rank: {r.name: r[rank].num_calls for r in results.get_regions() if rank in r.ranks} for rank in range(results.num_ranks)}
    assert got == truth
    assert os.stat(f"{home}/run.h5").st_uid == pwd.getpwnam(ordinary_user).pw_uid
