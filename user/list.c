// SPDX-License-Identifier: GPL-2.0-only
#include "list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "list_rows.h"
#include "listing.h"
#include "msg.h"
#include "presets.h"

#define STATUS_NOTHING 1
#define STATUS_OURS    125

static int cannot(const char *what)
{
    msg__error("--list=%s: this build of scope-bpf does not have it", what);
    return STATUS_OURS;
}

static int add_processes(struct listing *listing, const struct options *options, struct err *err)
{
    int r = 0;

    for (size_t i = 0; !r && i < options->n_pids; i++)
        r = listing__add_process(listing, options->pids[i], err);
    return r;
}

static struct listing *new_listing(const struct options *options)
{
    char subject[64];

    if (options->command)
        return listing__new(options->command[0]);
    if (options->n_pids == 1)
        snprintf(subject, sizeof(subject), "process %d", options->pids[0]);
    else
        snprintf(subject, sizeof(subject), "%zu processes", options->n_pids);
    return listing__new(subject);
}

/* What went wrong on the way, a line each: the rest was listed all the same. */
static void tell_problems(const struct listing *listing)
{
    for (size_t i = 0; i < listing->n_missing; i++)
        msg__warn("%s: its library %s was not found; LD_LIBRARY_PATH may be missing (sudo drops it)",
                  listing->missing[i].wanted_by, listing->missing[i].name);
    for (size_t i = 0; i < listing->n_files; i++) {
        const struct listed_file *file = &listing->files[i];

        if (file->problem)
            msg__warn("%s", file->problem);
        if (file->table && file->table->n_damaged)
            msg__warn("%s: %zu damaged probe notes left out: %s", file->path, file->table->n_damaged,
                      file->table->damage);
    }
}

static void tell_refusals(const struct listing *listing)
{
    for (size_t i = 0; i < listing->n_files; i++) {
        const struct probe_table *table = listing->files[i].table;
        size_t n = !table ? 0 : table->n_refused < REFUSALS_KEPT ? table->n_refused : REFUSALS_KEPT;

        for (size_t k = 0; k < n; k++)
            msg__warn("%s: the probe %s:%s at 0x%" PRIx64 " is refused: %s", listing->files[i].path,
                      table->refused[k].provider, table->refused[k].probe, table->refused[k].vaddr,
                      table->refused[k].why);
    }
}

static int print(const struct options *options, const struct listing *listing, const struct list_rows *rows)
{
    char why[1024];

    if (options->json)
        list_rows__print_json(stdout, listing, rows);
    else if (options->csv)
        list_rows__print_csv(stdout, listing, rows);
    else
        list_rows__print_text(stdout, listing, rows);
    if (fflush(stdout) || ferror(stdout)) {
        msg__error("cannot write the list: %s", strerror(errno));
        return STATUS_OURS;
    }
    if (rows->n)
        return 0;
    if (listing__count_regions(listing)) {
        msg__error("%s: no region matches --region and --exclude", listing->subject);
    } else {
        listing__explain(listing, why, sizeof(why));
        msg__error("%s", why);
    }
    return STATUS_NOTHING;
}

static int show(const struct options *options, const struct listing *listing)
{
    struct list_rows rows = {NULL, 0};
    int status = STATUS_OURS;

    tell_problems(listing);
    tell_refusals(listing);
    if (list_rows__make(listing, &options->region, &options->exclude, &rows))
        msg__error("out of memory");
    else
        status = print(options, listing, &rows);
    free(rows.rows);
    return status;
}

static int list_presets(const struct options *options)
{
    struct err err = {""};

    if (!presets__print(stdout, options, &err))
        return 0;
    msg__error("%s", err.text);
    return STATUS_OURS;
}

int list__run(const struct options *options)
{
    struct listing *listing;
    struct pairing *rules = NULL;
    struct err err = {""};
    int r, status = STATUS_OURS;

    if (options->list_what)
        return strcmp(options->list_what, "presets") ? cannot(options->list_what) : list_presets(options);
    if (presets__rules(options, &rules, &err)) {
        msg__error("%s", err.text);
        return STATUS_OURS;
    }
    listing = new_listing(options);
    if (!listing) {
        msg__error("out of memory");
        pairing__free(rules);
        return STATUS_OURS;
    }
    listing->rules = rules;
    r = options->command ? listing__add_program(listing, options->command[0], &err)
                         : add_processes(listing, options, &err);
    if (r)
        msg__error("%s", err.text);
    else
        status = show(options, listing);
    listing__destroy(listing);
    pairing__free(rules);
    return status;
}
