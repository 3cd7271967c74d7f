// SPDX-License-Identifier: GPL-2.0-only
// link: user
// runs: root
/*
 * Who is behind a run, tried in children that really become that user; what they are then is read from /proc, not
 * asked from the code under test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "identity.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static void need_root(void)
{
    if (getuid() != 0) {
        print_message("# skip: becoming somebody else needs root\n");
        skip();
    }
}

static void set_sudo(const char *uid, const char *gid)
{
    uid ? setenv("SUDO_UID", uid, 1) : unsetenv("SUDO_UID");
    gid ? setenv("SUDO_GID", gid, 1) : unsetenv("SUDO_GID");
}

/* Runs `body` in a child; its status, or -1. */
static int in_child(int (*body)(void *), void *arg)
{
    int wstatus;
    pid_t pid = fork();

    if (pid == 0)
        _exit(body(arg));
    return waitpid(pid, &wstatus, 0) == pid && WIFEXITED(wstatus) ? WEXITSTATUS(wstatus) : -1;
}

/* "Uid:\t65534\t…" of /proc/self/status, blanks as they are; "" when absent. */
static const char *status_line(const char *key)
{
    static char line[512];
    FILE *file = fopen("/proc/self/status", "re");

    while (file && fgets(line, sizeof(line), file)) {
        if (!strncmp(line, key, strlen(key))) {
            fclose(file);
            line[strcspn(line, "\n")] = 0;
            return line + strlen(key);
        }
    }
    if (file)
        fclose(file);
    return "";
}

static struct identity *create(const char *run_as)
{
    struct identity *who = NULL;
    struct err err = {""};

    assert_int_equal(identity__create(run_as, &who, &err), 0);
    assert_non_null(who);
    return who;
}

static void test_sudo_user(void **state)
{
    (void)state;
    need_root();
    set_sudo("65534", "65534");
    struct identity *who = create(NULL);
    assert_int_equal(who->kind, IDENTITY_SUDO);
    assert_int_equal(who->uid, NOBODY);
    assert_string_equal(who->name, getpwuid(NOBODY)->pw_name);
    assert_string_equal(who->home, getpwuid(NOBODY)->pw_dir);
    identity__destroy(who);

    /* A uid that nobody has: a container's user. */
    set_sudo("123456", "234567");
    who = create(NULL);
    assert_int_equal(who->uid, 123456);
    assert_int_equal(who->gid, 234567);
    assert_string_equal(who->name, "123456");
    assert_int_equal(who->n_groups, 1);
    identity__destroy(who);

    set_sudo("0", "0");
    who = create(NULL);
    assert_int_equal(who->kind, IDENTITY_ROOT);
    identity__destroy(who);
    set_sudo(NULL, NULL);
}

static void test_bad_sudo_variables(void **state)
{
    static const char *const bad[] = {"", "x", "-1", "4294967295", "4294967296", "1000 ", "0x10", " 5"};

    (void)state;
    need_root();
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct identity *who = NULL;
        struct err err = {""};
        set_sudo(bad[i], "65534");
        assert_int_equal(identity__create(NULL, &who, &err), -EINVAL);
        assert_null(who);
        assert_non_null(strstr(err.text, "SUDO_UID"));
        set_sudo("65534", bad[i]);
        assert_int_equal(identity__create(NULL, &who, &err), -EINVAL);
    }
    set_sudo(NULL, NULL);
}

static void test_run_as(void **state)
{
    struct identity *who = NULL;
    struct err err = {""};

    (void)state;
    need_root();
    set_sudo("123456", "123456"); /* --run-as wins */
    who = create("nobody");
    assert_int_equal(who->kind, IDENTITY_RUN_AS);
    assert_int_equal(who->uid, NOBODY);
    identity__destroy(who);
    who = NULL;
    assert_int_equal(identity__create("no-such-user-here", &who, &err), -ENOENT);
    assert_non_null(strstr(err.text, "no-such-user-here"));
    set_sudo(NULL, NULL);
}

static int body_recorder(void *arg)
{
    struct err err = {""};

    if (identity__become(arg, IDENTITY_RECORDER, &err))
        return 1;
    if (strcmp(status_line("CapPrm:\t"), "0000000000000000") || strcmp(status_line("CapEff:\t"), "0000000000000000"))
        return 2;
    if (strcmp(status_line("CapBnd:\t"), "0000000000000000") || strcmp(status_line("NoNewPrivs:\t"), "1"))
        return 3;
    return 0;
}

static int body_recorder_of_nobody(void *arg)
{
    int r = body_recorder(arg);

    if (r)
        return r;
    if (strcmp(status_line("Uid:\t"), "65534\t65534\t65534\t65534") ||
        strcmp(status_line("Gid:\t"), "65534\t65534\t65534\t65534"))
        return 4;
    if (strstr(status_line("Groups:\t"), "0 ") || setuid(0) == 0)
        return 5;
    return open("/etc/shadow", O_RDONLY) < 0 ? 0 : 6;
}

/* An exec by uid 0 gives root its capabilities back, unless that was made impossible. */
static int body_recorder_of_root(void *arg)
{
    int r = body_recorder(arg);

    if (r || getuid() != 0)
        return r ? r : 4;
    execl("/bin/sh", "sh", "-c", "grep -q 'CapEff:.0000000000000000' /proc/self/status", NULL);
    return 5;
}

static int body_command_of_nobody(void *arg)
{
    struct err err = {""};

    if (identity__become(arg, IDENTITY_COMMAND, &err))
        return 1;
    if (strcmp(status_line("CapPrm:\t"), "0000000000000000") || setuid(0) == 0)
        return 2;
    return strcmp(status_line("NoNewPrivs:\t"), "0") ? 3 : 0; /* the command's own sudo must go on working */
}

static int body_command_of_root(void *arg)
{
    char before[64];
    struct err err = {""};

    snprintf(before, sizeof(before), "%s", status_line("CapEff:\t"));
    if (identity__become(arg, IDENTITY_COMMAND, &err))
        return 1;
    return getuid() || strcmp(before, status_line("CapEff:\t")) ? 2 : 0;
}

static void test_become(void **state)
{
    (void)state;
    need_root();
    struct identity *nobody = create("nobody"), *root = create(NULL);
    assert_int_equal(root->kind, IDENTITY_ROOT);
    assert_int_equal(in_child(body_recorder_of_nobody, nobody), 0);
    assert_int_equal(in_child(body_recorder_of_root, root), 0);
    assert_int_equal(in_child(body_command_of_nobody, nobody), 0);
    assert_int_equal(in_child(body_command_of_root, root), 0);
    identity__destroy(nobody);
    identity__destroy(root);
}

static bool has(char **environment, const char *entry)
{
    for (; *environment; environment++) {
        if (!strcmp(*environment, entry))
            return true;
    }
    return false;
}

static void test_environment(void **state)
{
    char *const sudo[] = {"HOME=/root", "USER=root", "MAIL=/var/mail/root", "PATH=/bin", "HOMER=x", "SUDO_UID=65534",
                          "SUDO_GID=65534", "SUDO_USER=nobody", "SUDO_COMMAND=x", "SUDO_EDITOR=vi", NULL};
    char home[128];

    (void)state;
    need_root();
    struct identity *who = create("nobody");
    char **environment = identity__environment(who, sudo);
    snprintf(home, sizeof(home), "HOME=%s", getpwuid(NOBODY)->pw_dir);
    assert_true(has(environment, home));
    assert_true(has(environment, "USER=nobody"));
    assert_true(has(environment, "LOGNAME=nobody")); /* was not there: added */
    assert_true(has(environment, "MAIL=/var/mail/nobody"));
    assert_true(has(environment, "PATH=/bin"));
    assert_true(has(environment, "HOMER=x"));
    assert_true(has(environment, "SUDO_EDITOR=vi"));
    assert_false(has(environment, "SUDO_UID=65534"));
    assert_false(has(environment, "SUDO_COMMAND=x"));
    free(environment);
    identity__destroy(who);

    who = create(NULL);
    environment = identity__environment(who, sudo);
    for (size_t i = 0; sudo[i]; i++)
        assert_string_equal(environment[i], sudo[i]);
    free(environment);
    identity__destroy(who);
}

/* ---- whose processes ---------------------------------------------------------------------------------------- */

struct sleeper {
    pid_t pid;
    int release;
};

static void start_sleeper(struct sleeper *sleeper, uid_t uid, gid_t saved_gid, int dumpable)
{
    int ready[2], release[2];
    char byte;

    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(release), 0);
    sleeper->pid = fork();
    if (sleeper->pid == 0) {
        close(release[1]);
        if (uid && (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, saved_gid) || setresuid(uid, uid, uid)))
            _exit(1);
        prctl(PR_SET_DUMPABLE, dumpable);
        if (write(ready[1], "r", 1) != 1 || read(release[0], &byte, 1) < 0)
            _exit(1);
        _exit(0);
    }
    close(ready[1]);
    close(release[0]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    sleeper->release = release[1];
}

static void end_sleeper(const struct sleeper *sleeper)
{
    close(sleeper->release);
    kill(sleeper->pid, SIGKILL);
    waitpid(sleeper->pid, NULL, 0);
}

/* What a user's scope-bpf with capabilities of its file would say: real uid nobody, everything permitted. */
static int body_may_attach(void *arg)
{
    struct err err = {""};

    if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) || prctl(PR_SET_KEEPCAPS, 1) ||
        setresuid(NOBODY, NOBODY, NOBODY))
        return 100;
    return -identity__may_attach(*(pid_t *)arg, &err);
}

static void test_may_attach(void **state)
{
    struct sleeper own, roots, other_group, hidden;

    (void)state;
    need_root();
    start_sleeper(&own, NOBODY, NOBODY, 1);
    start_sleeper(&roots, 0, 0, 1);
    start_sleeper(&other_group, NOBODY, 12345, 1); /* all four ids: a set-gid program's saved group */
    start_sleeper(&hidden, NOBODY, NOBODY, 0);     /* as ssh-agent and the like protect themselves */
    assert_int_equal(in_child(body_may_attach, &own.pid), 0);
    assert_int_equal(in_child(body_may_attach, &roots.pid), EPERM);
    assert_int_equal(in_child(body_may_attach, &other_group.pid), EPERM);
    assert_int_equal(in_child(body_may_attach, &hidden.pid), EPERM);
    assert_int_equal(identity__may_attach(roots.pid, NULL), 0); /* root may */
    end_sleeper(&own);
    end_sleeper(&roots);
    end_sleeper(&other_group);
    end_sleeper(&hidden);
    struct err err = {""};
    assert_int_equal(identity__may_attach(own.pid, &err), -ESRCH);
    assert_int_equal(identity__may_attach(-1, &err), -ESRCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sudo_user),   cmocka_unit_test(test_bad_sudo_variables),
        cmocka_unit_test(test_run_as),      cmocka_unit_test(test_become),
        cmocka_unit_test(test_environment), cmocka_unit_test(test_may_attach),
    };
    set_sudo(NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
