/* SPDX-License-Identifier: GPL-2.0-only */
#include "identity.h"

#include "proc_status.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- who ------------------------------------------------------------------------------------------------- */

/* A user or group number: decimal digits only, and not the -1 that means "unchanged" to setresuid(). */
static bool parse_id(const char *text, uint32_t *ret)
{
    char *end;

    if (!text || text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || *end || value >= UINT32_MAX)
        return false;
    *ret = (uint32_t)value;
    return true;
}

static int find_groups(struct identity *who)
{
    int n = 32;

    for (int attempt = 0; attempt < 8; attempt++) {
        gid_t *groups = reallocarray(who->groups, (size_t)n, sizeof(*groups));
        if (!groups)
            return -ENOMEM;
        who->groups = groups;
        int have = n;
        if (getgrouplist(who->name, who->gid, groups, &have) >= 0) {
            who->n_groups = (size_t)have;
            return 0;
        }
        n = have > n ? have : n * 2;
    }
    return -E2BIG;
}

/* Fills name, home, shell and groups of who->uid; a uid without an entry gets its number and "/". */
static int fill(struct identity *who, const struct passwd *pw, bool gid_known)
{
    char number[16];

    snprintf(number, sizeof(number), "%u", who->uid);
    if (pw && !gid_known)
        who->gid = pw->pw_gid;
    who->name = strdup(pw ? pw->pw_name : number);
    who->home = strdup(pw && pw->pw_dir[0] ? pw->pw_dir : "/");
    who->shell = strdup(pw && pw->pw_shell[0] ? pw->pw_shell : "/bin/sh");
    if (!who->name || !who->home || !who->shell)
        return -ENOMEM;
    if (pw)
        return find_groups(who);
    who->groups = malloc(sizeof(*who->groups));
    if (!who->groups)
        return -ENOMEM;
    who->groups[0] = who->gid;
    who->n_groups = 1;
    return 0;
}

static int by_run_as(struct identity *who, const char *run_as, struct err *err)
{
    struct passwd *pw = getpwnam(run_as);
    uint32_t number;

    if (!pw && parse_id(run_as, &number))
        pw = getpwuid(number);
    if (!pw)
        return err__set(err, ENOENT, "--run-as: there is no user '%s' on this machine (getent passwd lists them)",
                        run_as);
    if (getuid() != 0 && pw->pw_uid != getuid())
        return err__set(err, EPERM, "--run-as %s: only root can become another user; run scope-bpf with sudo",
                        run_as);
    who->uid = pw->pw_uid;
    who->kind = getuid() != 0 ? IDENTITY_SELF : pw->pw_uid == 0 ? IDENTITY_ROOT : IDENTITY_RUN_AS;
    return fill(who, pw, false);
}

static int by_sudo(struct identity *who, const char *sudo_uid, struct err *err)
{
    const char *sudo_gid = getenv("SUDO_GID");
    uint32_t uid, gid;

    if (!parse_id(sudo_uid, &uid) || (sudo_gid && !parse_id(sudo_gid, &gid)))
        return err__set(err, EINVAL, "SUDO_UID or SUDO_GID in the environment is no number ('%s', '%s'); "
                        "unset them, or use --run-as USER", sudo_uid, sudo_gid ? sudo_gid : "");
    struct passwd *pw = getpwuid(uid);
    if (!pw && !sudo_gid)
        return err__set(err, ENOENT, "SUDO_UID is %u, which no user of this machine has, and SUDO_GID is not set; "
                        "use --run-as USER", uid);
    who->uid = uid;
    who->kind = uid ? IDENTITY_SUDO : IDENTITY_ROOT;
    if (sudo_gid)
        who->gid = gid;
    return fill(who, pw, sudo_gid != NULL);
}

static int by_process(struct identity *who)
{
    who->uid = getuid();
    who->gid = getgid();
    who->kind = who->uid ? IDENTITY_SELF : IDENTITY_ROOT;
    int r = fill(who, getpwuid(who->uid), true);
    int n = r ? 0 : getgroups(0, NULL);
    if (r || n < 0)
        return r;
    /* What this process has counts, not what the group file says today. */
    gid_t *groups = reallocarray(who->groups, (size_t)n + 1, sizeof(*groups));
    if (!groups)
        return -ENOMEM;
    who->groups = groups;
    n = getgroups(n, groups);
    who->n_groups = n > 0 ? (size_t)n : 0;
    return n >= 0 ? 0 : -errno;
}

int identity__create(const char *run_as, struct identity **ret, struct err *err)
{
    struct identity *who = calloc(1, sizeof(*who));
    const char *sudo_uid = getuid() == 0 ? getenv("SUDO_UID") : NULL;
    int r;

    if (!who)
        return err__set(err, ENOMEM, "no memory");
    if (run_as)
        r = by_run_as(who, run_as, err);
    else if (sudo_uid)
        r = by_sudo(who, sudo_uid, err);
    else
        r = by_process(who);
    if (!r) {
        *ret = who;
        return 0;
    }
    if (r == -ENOMEM || r == -E2BIG)
        err__set(err, -r, "cannot read the groups of user %s: %s", who->name ? who->name : "?", strerror(-r));
    identity__destroy(who);
    return r;
}

void identity__destroy(struct identity *who)
{
    if (!who)
        return;
    free(who->groups);
    free(who->name);
    free(who->home);
    free(who->shell);
    free(who);
}

/* ---- becoming -------------------------------------------------------------------------------------------- */

static int no_capability(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    return syscall(SYS_capset, &header, none) ? -errno : 0;
}

/* After this no exec gives a capability, not even to uid 0.  Needs CAP_SETPCAP; without it there is nothing to lose. */
static void close_the_bounds(void)
{
    for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
    prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED |
          SECBIT_KEEP_CAPS_LOCKED, 0, 0, 0);
}

static bool has_no_capability(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct have[_LINUX_CAPABILITY_U32S_3];

    if (syscall(SYS_capget, &header, have))
        return false;
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        if (have[i].effective || have[i].permitted)
            return false;
    }
    return true;
}

/* Asks the kernel what came of it, and tries the way back. */
static int verify(const struct identity *who, enum identity_use use, struct err *err)
{
    uid_t uid[3];
    gid_t gid[3];
    bool bare = use == IDENTITY_RECORDER || who->uid != 0;

    if (getresuid(&uid[0], &uid[1], &uid[2]) || getresgid(&gid[0], &gid[1], &gid[2]))
        return err__set(err, EPERM, "cannot read the ids of this process: %s", strerror(errno));
    for (int i = 0; i < 3; i++) {
        if (uid[i] != who->uid || gid[i] != who->gid)
            return err__set(err, EPERM, "could not become user %s completely", who->name);
    }
    if (bare && !has_no_capability())
        return err__set(err, EPERM, "could not give up all capabilities");
    if (who->uid != 0 && (setuid(0) == 0 || seteuid(0) == 0))
        return err__set(err, EPERM, "user %s could become root again", who->name);
    if (use == IDENTITY_RECORDER && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
        return err__set(err, EPERM, "the kernel did not keep no_new_privs");
    return 0;
}

static int set_ids(const struct identity *who, struct err *err)
{
    /* Only root can and must change the groups; a user's own process has them already. */
    if (geteuid() == 0 && getuid() == 0 && setgroups(who->n_groups, who->groups))
        return err__set(err, errno, "cannot take the groups of user %s: %s", who->name, strerror(errno));
    if (setresgid(who->gid, who->gid, who->gid))
        return err__set(err, errno, "cannot become group %u: %s", who->gid, strerror(errno));
    if (setresuid(who->uid, who->uid, who->uid))
        return err__set(err, errno, "cannot become user %s: %s", who->name, strerror(errno));
    return 0;
}

int identity__become(const struct identity *who, enum identity_use use, struct err *err)
{
    if (use == IDENTITY_RECORDER)
        close_the_bounds();
    int r = set_ids(who, err);
    if (r)
        return r;
    if (use == IDENTITY_RECORDER || who->uid != 0) {
        r = no_capability();
        if (r)
            return err__set(err, -r, "cannot give up capabilities: %s", strerror(-r));
    }
    if (use == IDENTITY_RECORDER && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return err__set(err, errno, "cannot set no_new_privs: %s", strerror(errno));
    return verify(who, use, err);
}

/* ---- the command's environment ---------------------------------------------------------------------------- */

static bool is_variable(const char *entry, const char *name)
{
    size_t len = strlen(name);

    return !strncmp(entry, name, len) && entry[len] == '=';
}

/* A value for `entry` as `who` would have it, into `out`; false: the variable is as it should be. */
static bool replacement(const struct identity *who, const char *entry, char *out, size_t size)
{
    static const char *const names[] = {"USER", "LOGNAME", "USERNAME"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (is_variable(entry, names[i]))
            return snprintf(out, size, "%s=%s", names[i], who->name) < (int)size;
    }
    if (is_variable(entry, "HOME"))
        return snprintf(out, size, "HOME=%s", who->home) < (int)size;
    if (is_variable(entry, "SHELL"))
        return snprintf(out, size, "SHELL=%s", who->shell) < (int)size;
    if (is_variable(entry, "MAIL"))
        return snprintf(out, size, "MAIL=/var/mail/%s", who->name) < (int)size;
    return false;
}

static bool from_sudo(const char *entry)
{
    static const char *const names[] = {"SUDO_UID", "SUDO_GID", "SUDO_USER", "SUDO_COMMAND", "SUDO_HOME", "SUDO_TTY"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (is_variable(entry, names[i]))
            return true;
    }
    return false;
}

static const char *const always[] = {"HOME=", "USER=", "LOGNAME="};
enum { N_ALWAYS = sizeof(always) / sizeof(always[0]), LINE_MAX_BYTES = 4200 };

char **identity__environment(const struct identity *who, char *const *environment)
{
    bool changed = who->kind == IDENTITY_SUDO || who->kind == IDENTITY_RUN_AS ||
                   (who->kind == IDENTITY_ROOT && getenv("SUDO_UID"));
    size_t n = 0, out = 0;
    bool seen[N_ALWAYS] = {false};
    char line[LINE_MAX_BYTES];

    while (environment[n])
        n++;
    /* Pointers, then room for the few lines that are ours: one block. */
    size_t pointers = (n + N_ALWAYS + 1) * sizeof(char *), room = 16 * sizeof(line);
    char **list = malloc(pointers + room);
    if (!list)
        return NULL;
    char *text = (char *)list + pointers, *end = text + room;
    for (size_t i = 0; i < n + N_ALWAYS; i++) {
        bool extra = i >= n;
        const char *entry = extra ? always[i - n] : environment[i];
        if (changed && !extra && from_sudo(entry))
            continue;
        for (size_t k = 0; k < N_ALWAYS && !extra; k++)
            seen[k] |= !strncmp(entry, always[k], strlen(always[k]));
        if (extra && (!changed || seen[i - n]))
            continue;
        if (changed && replacement(who, entry, line, sizeof(line)) && end - text > (ptrdiff_t)strlen(line)) {
            list[out++] = strcpy(text, line);
            text += strlen(line) + 1;
        } else {
            list[out++] = (char *)entry;
        }
    }
    list[out] = NULL;
    return list;
}

/* ---- whose processes -------------------------------------------------------------------------------------- */

int identity__may_attach(pid_t pid, struct err *err)
{
    struct proc_status status;

    if (proc_status__read(pid, &status) < 0)
        return err__set(err, ESRCH, "there is no process %d", (int)pid);
    if (getuid() == 0)
        return 0;
    bool own = !status.has_capability && status.dumpable;
    for (int i = 0; i < 4; i++)
        own = own && status.uid[i] == getuid() && status.gid[i] == getgid();
    if (own || proc_status__could_ptrace(pid))
        return 0;
    if (status.uid[0] == getuid())
        return err__set(err, EPERM, "process %d (%s) runs with more rights than you have or protects itself: "
                        "it can only be attached to with sudo", (int)pid, status.name);
    struct passwd *pw = getpwuid(status.uid[0]);
    char number[16];
    snprintf(number, sizeof(number), "%u", status.uid[0]);
    return err__set(err, EPERM, "process %d (%s) belongs to user %s: attaching to it needs that user or root (sudo)",
                    (int)pid, status.name, pw ? pw->pw_name : number);
}
