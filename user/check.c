// SPDX-License-Identifier: GPL-2.0-only
#include "check.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#include "check_tries.h"
#include "json_print.h"
#include "msg.h"

enum need {
    NEED_ALWAYS, /* without it nothing can be recorded */
    NEED_A_ROAD, /* one of these suffices */
    NEED_NONE,   /* something works less well */
};

struct check_row {
    const char *name;
    enum need need;
    check_try *attempt;
    const char *remedy;  /* what to do where it is missing */
    const char *without; /* what works all the same, or not */
};

#define AS_ROOT "run as root (sudo), or make install-caps"

/* In the order of trying: what others are tried through comes first. */
static const struct check_row rows[] = {
    {"BTF", NEED_ALWAYS, check__btf,
     "use a kernel with CONFIG_DEBUG_INFO_BTF (all large distributions have it)", "nothing can be recorded"},
    {"BPF programs", NEED_ALWAYS, check__bpf_load, AS_ROOT, "nothing can be recorded"},
    {"uprobes, many at once", NEED_A_ROAD, check__uprobe_multi, "Linux 6.6 or later has it; else " AS_ROOT,
     "sites are attached one by one through perf: slower to attach, 0.1 s each to detach"},
    {"uprobes through perf", NEED_A_ROAD, check__uprobe_perf, AS_ROOT " with cap_sys_admin",
     "only needed where many at once is missing"},
    {"ring buffer", NEED_ALWAYS, check__ring_buffer, "free memory, or a smaller --buffer; else " AS_ROOT,
     "nothing can be recorded"},
    {"memory of threads", NEED_ALWAYS, check__task_storage, "use Linux 5.15 or later; else " AS_ROOT,
     "nothing can be recorded"},
    {"tracepoints", NEED_ALWAYS, check__tp_btf, AS_ROOT, "nothing can be recorded"},
    {"names at run time", NEED_NONE, check__sleepable, "use Linux 6.0 or later",
     "regions with fixed names; SP_PROBE_DYNAMIC may lose names"},
    {"signals from BPF", NEED_NONE, check__send_signal, AS_ROOT,
     "all but the first instants of programs that were not known at the start"},
    {"samples", NEED_NONE, check__sampling, AS_ROOT, "calls of regions: use --no-samples"},
    {"hardware cycles", NEED_NONE, check__cycles, "use a machine, or a virtual machine, with a PMU",
     "samples come by the CPU clock"},
    {"modules (side-band)", NEED_NONE, check__side_band, AS_ROOT, "calls of regions; samples without lines"},
    {"perf memory", NEED_NONE, check__perf_memory, "raise ulimit -l, or " AS_ROOT,
     "with fewer CPUs or smaller rings"},
    {"mapped files", NEED_NONE, check__map_files, AS_ROOT " with cap_checkpoint_restore",
     "-p for programs that were not replaced or deleted since they started"},
    {"capabilities", NEED_NONE, check__capabilities, AS_ROOT, "what the lines above say"},
    {"perf_event_paranoid", NEED_NONE, check__paranoid,
     "sysctl kernel.perf_event_paranoid=2, or add cap_sys_admin, or run as root", "what the lines above say"},
    {"ptrace scope", NEED_NONE, check__ptrace_scope, "sysctl kernel.yama.ptrace_scope=0, or run as root",
     "-p for one's own children only; commands"},
    {"lockdown", NEED_NONE, check__lockdown, "boot without lockdown=confidentiality",
     "what the lines above say"},
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

struct result {
    bool there;
    struct err text;
};

static void try_all(const struct options *options, struct result results[N_ROWS])
{
    struct check_env env = {.buffer = options->buffer, .count = -1};

    for (size_t i = 0; i < N_ROWS; i++) {
        results[i].text.text[0] = 0;
        results[i].there = !rows[i].attempt(&env, &results[i].text);
    }
    check_bpf__deinit(&env);
}

static bool can_record(const struct result results[N_ROWS])
{
    bool road = false;

    for (size_t i = 0; i < N_ROWS; i++) {
        if (rows[i].need == NEED_ALWAYS && !results[i].there)
            return false;
        road = road || (rows[i].need == NEED_A_ROAD && results[i].there);
    }
    return road;
}

/*
 * there    BTF                    types of this kernel in /sys/kernel/btf/vmlinux
 * MISSING  hardware cycles        no performance counters here (a virtual machine?)
 *                                 to do: use a machine, or a virtual machine, with a PMU
 *                                 without: samples come by the CPU clock
 */
static void print_text(const struct utsname *kernel, const struct result results[N_ROWS], bool can)
{
    printf("Linux %s %s\n", kernel->release, kernel->machine);
    for (size_t i = 0; i < N_ROWS; i++) {
        printf("%-7s  %-22s %s\n", results[i].there ? "there" : "MISSING", rows[i].name,
               results[i].text.text);
        if (!results[i].there)
            printf("%-31s to do: %s\n%-31s without: %s\n", "", rows[i].remedy, "", rows[i].without);
    }
    puts(can ? "Recording can work here." : "Recording cannot work here: see what is MISSING.");
}

static const char *need_name(enum need need)
{
    return need == NEED_ALWAYS ? "always" : need == NEED_A_ROAD ? "one of them" : "no";
}

static void print_json(const struct utsname *kernel, const struct result results[N_ROWS], bool can)
{
    struct json_print j = {.file = stdout};

    json_print__object(&j, NULL);
    json_print__bool(&j, "can_record", can);
    json_print__text(&j, "kernel", kernel->release);
    json_print__text(&j, "machine", kernel->machine);
    json_print__list(&j, "checks");
    for (size_t i = 0; i < N_ROWS; i++) {
        json_print__object(&j, NULL);
        json_print__text(&j, "name", rows[i].name);
        json_print__bool(&j, "there", results[i].there);
        json_print__text(&j, "needed", need_name(rows[i].need));
        json_print__text(&j, "detail", results[i].text.text);
        json_print__text(&j, "to_do", results[i].there ? NULL : rows[i].remedy);
        json_print__text(&j, "without", results[i].there ? NULL : rows[i].without);
        json_print__end_object(&j);
    }
    json_print__end_list(&j);
    json_print__end_object(&j);
}

int check__run(const struct options *options)
{
    struct result results[N_ROWS];
    struct utsname kernel = {""};
    bool can;

    uname(&kernel);
    try_all(options, results);
    can = can_record(results);
    if (options->json)
        print_json(&kernel, results, can);
    else
        print_text(&kernel, results, can);
    if (fflush(stdout) || ferror(stdout)) {
        msg__error("cannot write what was found: %s", strerror(errno));
        return 125;
    }
    return can ? 0 : 1;
}
