// SPDX-License-Identifier: GPL-2.0-only
#include "list_rows.h"

#include <inttypes.h>
#include <string.h>

#include "json_print.h"
#include "msg.h"
#include "utf8.h"

#define NAME_BYTES 1100 /* an escaped name: 255 bytes of up to four characters */

static const char dynamic_name[] = "(names known at run time)";

static void region_name(const struct list_row *row, char name[static NAME_BYTES])
{
    if (row->region)
        msg__escape(row->region->name, row->region->name_len, name, NAME_BYTES);
    else
        snprintf(name, NAME_BYTES, "%s", dynamic_name);
}

static void source_text(const struct list_row *row, char *text, size_t size)
{
    size_t n;

    if (!row->source_file) {
        snprintf(text, size, "-");
        return;
    }
    n = msg__escape(row->source_file, strlen(row->source_file), text, size - 16);
    if (row->source_line > 0)
        snprintf(text + n, size - n, ":%" PRId32, row->source_line);
}

/* Columns that a terminal gives the text: characters, not bytes. */
static int columns(const char *text)
{
    int n = 0;

    for (; *text; text++)
        n += (*text & 0xc0) != 0x80;
    return n;
}

static void pad(FILE *out, const char *text, int width)
{
    fprintf(out, "%s%*s  ", text, width - columns(text) > 0 ? width - columns(text) : 0, "");
}

struct widths {
    int provider, name, source;
};

#define WIDEST 40 /* a longer text moves its own line only */

static void widen(int *width, const char *text)
{
    int n = columns(text);

    if (n > *width)
        *width = n < WIDEST ? n : WIDEST;
}

static struct widths measure(const struct list_rows *rows)
{
    struct widths w = {8, 6, 6};
    char text[2 * NAME_BYTES];

    for (size_t i = 0; i < rows->n; i++) {
        region_name(&rows->rows[i], text);
        widen(&w.name, text);
        source_text(&rows->rows[i], text, sizeof(text));
        widen(&w.source, text);
        widen(&w.provider, rows->rows[i].provider);
    }
    return w;
}

/* "4+4" begin and end sites; "4+scope" where a shared end closes them by address. */
static void sites_text(const struct list_row *row, char text[static 48])
{
    if (row->n_scope && row->n_end)
        snprintf(text, 48, "%" PRIu32 "+%" PRIu32 "+scope", row->n_begin, row->n_end);
    else if (row->n_scope)
        snprintf(text, 48, "%" PRIu32 "+scope", row->n_begin);
    else
        snprintf(text, 48, "%" PRIu32 "+%" PRIu32, row->n_begin, row->n_end);
}

static void print_row(FILE *out, const struct list_row *row, const struct widths *w)
{
    char text[2 * NAME_BYTES], sites[48];

    pad(out, row->provider, w->provider);
    region_name(row, text);
    pad(out, text, w->name);
    sites_text(row, sites);
    pad(out, sites, 9);
    source_text(row, text, sizeof(text));
    pad(out, text, w->source);
    msg__escape(row->file->path, strlen(row->file->path), text, sizeof(text));
    fputs(text, out);
    if (row->region && row->region->problem)
        fprintf(out, "  (%s)", row->region->problem);
    fputc('\n', out);
}

/*
 * PROVIDER  REGION  SITES      SOURCE      FILE
 * scope     solve   4+4        heat.c:120  /home/me/heat
 * also has probes of: libc (12), rtld (8)
 */
void list_rows__print_text(FILE *out, const struct listing *listing, const struct list_rows *rows)
{
    struct widths w = measure(rows);
    char others[1024];

    if (!rows->n)
        return;
    pad(out, "PROVIDER", w.provider);
    pad(out, "REGION", w.name);
    pad(out, "SITES", 9);
    pad(out, "SOURCE", w.source);
    fputs("FILE\n", out);
    for (size_t i = 0; i < rows->n; i++)
        print_row(out, &rows->rows[i], &w);
    listing__providers_text(listing, others, sizeof(others));
    if (*others)
        fprintf(out, "also has probes of: %s\n", others);
}

/* RFC 4180: quotes doubled, and round everything that could be taken for something else. */
static void csv_field(FILE *out, const char *text, size_t len, char end)
{
    bool quote = !len || strpbrk(text, ",\"\r\n") || text[0] == ' ' || text[len - 1] == ' ';

    if (quote)
        fputc('"', out);
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '"')
            fputc('"', out);
        fputc(text[i], out);
    }
    if (quote)
        fputc('"', out);
    fputc(end, out);
}

static void csv_text(FILE *out, const char *text)
{
    if (text)
        csv_field(out, text, strlen(text), ',');
    else
        fputc(',', out);
}

void list_rows__print_csv(FILE *out, const struct listing *listing, const struct list_rows *rows)
{
    (void)listing;
    fputs("provider,region,begin_sites,end_sites,scope_begin_sites,source_file,source_line,file\r\n", out);
    for (size_t i = 0; i < rows->n; i++) {
        const struct list_row *row = &rows->rows[i];
        const char *name = row->region ? row->region->name : dynamic_name;

        csv_text(out, row->provider);
        csv_field(out, name, row->region ? row->region->name_len : strlen(name), ',');
        fprintf(out, "%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",", row->n_begin, row->n_end, row->n_scope);
        csv_text(out, row->source_file);
        fprintf(out, "%" PRId32 ",", row->source_line);
        csv_field(out, row->file->path, strlen(row->file->path), '\r');
        fputc('\n', out);
    }
}

static const char *kind_name(enum site_kind kind)
{
    static const char *const names[] = {
        [SITE_BEGIN] = "begin",
        [SITE_END] = "end",
        [SITE_SCOPE_BEGIN] = "scope begin",
        [SITE_SCOPE_END] = "scope end",
        [SITE_DYNAMIC_BEGIN] = "dynamic begin",
        [SITE_DYNAMIC_END] = "dynamic end",
        [SITE_DYNAMIC_OPEN] = "dynamic open",
        [SITE_DYNAMIC_CLOSE] = "dynamic close",
        [SITE_NAMED_OPEN] = "named open",
        [SITE_NAMED_CLOSE] = "named close",
    };

    return names[kind];
}

static void json_source(struct json_print *j, const char *file, int32_t line)
{
    json_print__text(j, "source_file", file);
    json_print__number(j, "source_line", line);
}

static void json_site(struct json_print *j, const struct site *site)
{
    json_print__object(j, NULL);
    json_print__text(j, "kind", kind_name(site->kind));
    json_print__number(j, "address", (int64_t)site->vaddr);
    json_print__number(j, "file_offset", (int64_t)site->file_offset);
    json_print__number(j, "nop_bytes", site->nop_len);
    json_source(j, site->source_file, site->source_line);
    json_print__end_object(j);
}

static void json_sites(struct json_print *j, const struct list_row *row)
{
    const struct probe_table *table = row->file->table;

    json_print__list(j, "sites");
    for (size_t i = 0; i < table->n_sites; i++) {
        const struct site *site = &table->sites[i];

        if (list_row__has(row, site))
            json_site(j, site);
    }
    json_print__end_list(j);
}

static void json_name(struct json_print *j, const struct region_def *region)
{
    char hex[2 * 256 + 1];

    json_print__bytes(j, "name", region->name, region->name_len);
    if (utf8_text__is_valid(region->name, region->name_len))
        return;
    for (size_t i = 0; i < region->name_len && i < 256; i++)
        snprintf(hex + 2 * i, 3, "%02x", (unsigned char)region->name[i]);
    json_print__text(j, "name_hex", hex);
}

static void json_row(struct json_print *j, const struct list_row *row)
{
    json_print__object(j, NULL);
    json_print__text(j, "provider", row->provider);
    if (row->region)
        json_name(j, row->region);
    else
        json_print__text(j, "name", NULL);
    json_print__bool(j, "dynamic", !row->region);
    json_print__number(j, "begin_sites", row->n_begin);
    json_print__number(j, "end_sites", row->n_end);
    json_print__number(j, "scope_begin_sites", row->n_scope);
    json_source(j, row->source_file, row->source_line);
    json_print__text(j, "file", row->file->path);
    if (row->region)
        json_print__text(j, "problem", row->region->problem);
    json_sites(j, row);
    json_print__end_object(j);
}

static void json_refused(struct json_print *j, const struct listed_file *file)
{
    const struct probe_table *table = file->table;

    for (size_t i = 0; i < table->n_refused && i < REFUSALS_KEPT; i++) {
        json_print__object(j, NULL);
        json_print__text(j, "file", file->path);
        json_print__text(j, "provider", table->refused[i].provider);
        json_print__bytes(j, "probe", table->refused[i].probe, table->refused[i].probe_len);
        json_print__number(j, "address", (int64_t)table->refused[i].vaddr);
        json_print__text(j, "why", table->refused[i].why);
        json_print__end_object(j);
    }
}

static void json_foreign(struct json_print *j, const struct listed_file *file)
{
    const struct probe_table *table = file->table;

    for (size_t i = 0; i < table->n_foreign; i++) {
        json_print__object(j, NULL);
        json_print__text(j, "provider", table->foreign[i].provider);
        json_print__bytes(j, "probe", table->foreign[i].probe, table->foreign[i].probe_len);
        json_print__number(j, "sites", table->foreign[i].n_sites);
        json_print__text(j, "file", file->path);
        json_print__end_object(j);
    }
}

static const char *state_name(const struct listed_file *file)
{
    if (!file->table)
        return NULL;
    return file->table->state == NOTES_PRESENT    ? "notes"
           : file->table->state == NOTES_STRIPPED ? "stripped"
                                                  : "none";
}

static void json_file(struct json_print *j, const struct listed_file *file)
{
    json_print__object(j, NULL);
    json_print__text(j, "path", file->path);
    json_print__text(j, "role", file->role);
    if (file->pid)
        json_print__number(j, "pid", file->pid);
    json_print__text(j, "probes", state_name(file));
    if (file->table)
        json_print__bool(j, "shared_scope_end", file->table->has_scope_end);
    json_print__text(j, "problem", file->problem);
    json_print__end_object(j);
}

typedef void json_of_file(struct json_print *j, const struct listed_file *file);

static void json_over_files(struct json_print *j, const char *key, const struct listing *listing,
                            json_of_file *print, bool with_table)
{
    json_print__list(j, key);
    for (size_t i = 0; i < listing->n_files; i++) {
        if (!with_table || listing->files[i].table)
            print(j, &listing->files[i]);
    }
    json_print__end_list(j);
}

static void json_missing(struct json_print *j, const struct listing *listing)
{
    json_print__list(j, "missing_libraries");
    for (size_t i = 0; i < listing->n_missing; i++) {
        json_print__object(j, NULL);
        json_print__text(j, "name", listing->missing[i].name);
        json_print__text(j, "wanted_by", listing->missing[i].wanted_by);
        json_print__end_object(j);
    }
    json_print__end_list(j);
}

void list_rows__print_json(FILE *out, const struct listing *listing, const struct list_rows *rows)
{
    struct json_print j = {.file = out};

    json_print__object(&j, NULL);
    json_print__text(&j, "subject", listing->subject);
    json_print__list(&j, "regions");
    for (size_t i = 0; i < rows->n; i++)
        json_row(&j, &rows->rows[i]);
    json_print__end_list(&j);
    json_over_files(&j, "other_probes", listing, json_foreign, true);
    json_over_files(&j, "refused", listing, json_refused, true);
    json_over_files(&j, "files", listing, json_file, false);
    json_missing(&j, listing);
    json_print__end_object(&j);
}
