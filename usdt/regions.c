// SPDX-License-Identifier: GPL-2.0-only
/*
 * From notes to sites and regions. The notes of provider `scope` follow NOTES.md; those of others
 * become regions by the rules of the user. Every location is looked at before it becomes a site
 * (site_check.c). The order of the file decides: of two sources of one region the first counts.
 */
#include "usdt/regions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "usdt/arena.h"
#include "usdt/notes.h"
#include "usdt/site_check.h"

struct builder {
    const struct elf_file *file;
    const struct pairing *rules;
    struct probe_table *table;
    struct arena *arena;
    struct notes notes;
    const struct note **scopes; /* the NOTE_SCOPEs, by location */
    size_t n_scopes;
    struct names regions, foreign;
    size_t regions_capacity, sites_capacity, refused_capacity, foreign_capacity;
    size_t last_sites; /* where the sites of the probe note before begin */
    uint64_t last_location;
};

/* Makes room for one more element; false without memory. */
static bool grow(void *array, size_t count, size_t *capacity, size_t size)
{
    size_t wanted = *capacity ? *capacity * 2 : 16;
    void *elements;

    if (count < *capacity)
        return true;
    /* array points at a pointer of some other type: its bytes are copied, not its value. */
    memcpy(&elements, array, sizeof(elements));
    elements = reallocarray(elements, wanted, size);
    if (!elements)
        return false;
    memcpy(array, &elements, sizeof(elements));
    *capacity = wanted;
    return true;
}

static bool refuse(struct builder *b, const struct note *note, const char *why)
{
    struct probe_table *table = b->table;
    struct refusal *refusal;

    if (table->n_refused++ >= REFUSALS_KEPT)
        return true;
    if (!grow(&table->refused, table->n_refused - 1, &b->refused_capacity, sizeof(*table->refused))) {
        table->n_refused--;
        return false;
    }
    refusal = &table->refused[table->n_refused - 1];
    *refusal = (struct refusal){
        .vaddr = note->location,
        .provider = arena__copy(b->arena, note->provider, note->provider_len),
        .probe = arena__copy(b->arena, note->name, note->name_len),
        .probe_len = note->name_len,
        .why = arena__copy(b->arena, why, strlen(why)),
    };
    return refusal->provider && refusal->probe && refusal->why;
}

static bool add_region(struct builder *b, const char *provider, size_t provider_len, const char *name,
                       size_t name_len, uint32_t *ret)
{
    struct probe_table *table = b->table;
    const struct name_entry *entry;

    if (!names__intern(&b->regions, provider, provider_len, name, name_len, ret))
        return false;
    if (*ret < table->n_regions)
        return true;
    if (!grow(&table->regions, table->n_regions, &b->regions_capacity, sizeof(*table->regions)))
        return false;
    entry = &b->regions.entries[*ret];
    table->regions[table->n_regions++] = (struct region_def){
        .provider = entry->first,
        .name = entry->second,
        .name_len = entry->second_len,
        .source_line = -1,
    };
    return true;
}

static bool add_site(struct builder *b, const struct site *site, const struct note *note)
{
    struct probe_table *table = b->table;
    const char *args = note->text_len ? arena__copy(b->arena, note->text, note->text_len) : "";

    if (!args || !grow(&table->sites, table->n_sites, &b->sites_capacity, sizeof(*table->sites)))
        return false;
    table->sites[table->n_sites] = *site;
    table->sites[table->n_sites++].args = args;
    return true;
}

/* The names of provider `scope` that mean no region. */
static const struct special {
    const char *name;
    enum site_kind kind;
} specials[] = {
    {"__scope__end", SITE_SCOPE_END},         {"__dynamic__begin", SITE_DYNAMIC_BEGIN},
    {"__dynamic__end", SITE_DYNAMIC_END},     {"__dynamic__open", SITE_DYNAMIC_OPEN},
    {"__dynamic__close", SITE_DYNAMIC_CLOSE},
};

static bool name_is(const struct note *note, const char *name)
{
    return note->name_len == strlen(name) && !memcmp(note->name, name, note->name_len);
}

static const struct special *find_special(const struct note *note)
{
    for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++) {
        if (name_is(note, specials[i].name))
            return &specials[i];
    }
    return NULL;
}

/* Cuts the suffix off; 0 where the name has another one, or nothing before it. */
static size_t cut_suffix(const struct note *note, enum site_kind *ret_kind)
{
    static const char begin[] = "__begin", end[] = "__end";
    size_t len = note->name_len;

    if (len > sizeof(begin) - 1 &&
        !memcmp(note->name + len - (sizeof(begin) - 1), begin, sizeof(begin) - 1)) {
        *ret_kind = SITE_BEGIN;
        return len - (sizeof(begin) - 1);
    }
    if (len > sizeof(end) - 1 && !memcmp(note->name + len - (sizeof(end) - 1), end, sizeof(end) - 1)) {
        *ret_kind = SITE_END;
        return len - (sizeof(end) - 1);
    }
    return 0;
}

/* The operand of a literal name's scope stands in a note of its own. */
static const struct note *find_scope(const struct builder *b, uint64_t location)
{
    size_t low = 0, high = b->n_scopes;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (b->scopes[middle]->location < location)
            low = middle + 1;
        else
            high = middle;
    }
    return low < b->n_scopes && b->scopes[low]->location == location ? b->scopes[low] : NULL;
}

static bool read_operand(const struct builder *b, const char *text, size_t len, uint8_t size,
                         struct operand *ret, char why[static SITE_WHY_SIZE])
{
    struct err err;
    int r = operand__parse(elf_file__machine(b->file), text, len, 0, ret, &err);

    if (!r && ret->kind == OPERAND_MEMORY && ret->size == size && operand__count(text, len) == 1)
        return true;
    snprintf(why, SITE_WHY_SIZE, "its argument \"%.80s\" is not the memory operand that is needed", text);
    return false;
}

/* 1 good, 0 not (and counted or refused), -ENOMEM */
static int check_site(struct builder *b, const struct note *note, struct site *site,
                      char why[static SITE_WHY_SIZE])
{
    switch (site__check(b->file, note->location, note->semaphore, site, why)) {
    case SITE_DROPPED: b->table->n_dropped++; return 0;
    case SITE_REFUSED: return refuse(b, note, why) ? 0 : -ENOMEM;
    default: return 1;
    }
}

static int add_gate(struct builder *b, const struct note *note)
{
    char why[SITE_WHY_SIZE];
    struct site site = {0};
    int r = check_site(b, note, &site, why);

    if (r <= 0)
        return r;
    b->table->gate_offset = site.file_offset;
    b->table->gate_ref_ctr_offset = site.ref_ctr_offset;
    return 0;
}

/* A begin is a scope's where it has an operand, of its own or in the note beside it. */
static bool read_scope(const struct builder *b, const struct note *note, struct site *site, char *why)
{
    const struct note *beside;

    if (site->kind == SITE_END)
        return true;
    if (site->kind != SITE_BEGIN)
        return read_operand(b, note->text, note->text_len, site->kind == SITE_SCOPE_END ? 1 : 8, &site->scope,
                            why);
    beside = note->text_len ? note : find_scope(b, note->location);
    if (!beside)
        return true;
    site->kind = SITE_SCOPE_BEGIN;
    return read_operand(b, beside->text, beside->text_len, 1, &site->scope, why);
}

static int refuse_name(struct builder *b, const struct note *note, const char *why)
{
    const struct elf_segment *segment = elf_file__segment_at(b->file, note->location, 1);

    if (!segment || !segment->executable) {
        b->table->n_dropped++;
        return 0;
    }
    return refuse(b, note, why) ? 0 : -ENOMEM;
}

static int add_scope_probe(struct builder *b, const struct note *note)
{
    const struct special *special = find_special(note);
    struct site site = {.region = SITE_NO_REGION, .source_line = -1, .scope = {.base = -1, .index = -1}};
    char why[SITE_WHY_SIZE];
    size_t name_len = 0;
    int r;

    if (name_is(note, "__scope__gate"))
        return add_gate(b, note);
    if (special)
        site.kind = special->kind;
    else if (note->name_len > 2 && !memcmp(note->name, "__", 2))
        return refuse_name(b, note, "its name is reserved and not known to this version");
    else
        name_len = cut_suffix(note, &site.kind);
    if (!special && (!name_len || name_len > NOTES_MAX_NAME))
        return refuse_name(b, note,
                           name_len ? "its region's name has more than 255 bytes"
                                    : "its name ends neither in __begin nor in __end");
    r = check_site(b, note, &site, why);
    if (r <= 0)
        return r;
    if (site.nop == SITE_NOP5)
        return refuse(b, note, "the site is a 5-byte nop, which is not safe to attach to") ? 0 : -ENOMEM;
    if (!read_scope(b, note, &site, why))
        return refuse(b, note, why) ? 0 : -ENOMEM;
    if (name_len && !add_region(b, note->provider, note->provider_len, note->name, name_len, &site.region))
        return -ENOMEM;
    b->table->has_scope_end |= site.kind == SITE_SCOPE_END;
    return add_site(b, &site, note) ? 0 : -ENOMEM;
}

static int add_unnamed(struct builder *b, const struct note *note)
{
    struct probe_table *table = b->table;
    char why[SITE_WHY_SIZE];
    struct site site = {0};
    uint32_t probe;

    table->n_foreign_notes++;
    if (site__check(b->file, note->location, note->semaphore, &site, why) == SITE_DROPPED) {
        table->n_dropped++;
        return 0;
    }
    if (!names__intern(&b->foreign, note->provider, note->provider_len, note->name, note->name_len, &probe))
        return -ENOMEM;
    if (probe == table->n_foreign) {
        const struct name_entry *entry = &b->foreign.entries[probe];

        if (!grow(&table->foreign, table->n_foreign, &b->foreign_capacity, sizeof(*table->foreign)))
            return -ENOMEM;
        table->foreign[table->n_foreign++] = (struct foreign_probe){
            .provider = entry->first,
            .probe = entry->second,
            .probe_len = entry->second_len,
        };
    }
    table->foreign[probe].n_sites++;
    table->foreign[probe].n_nop5 += site.nop == SITE_NOP5;
    return 0;
}

/* A region that the program names: the name's pointer must be where it can be read. */
static int add_named_site(struct builder *b, const struct note *note, struct site *site,
                          unsigned int argument)
{
    char why[SITE_WHY_SIZE];
    struct err err;
    int r = operand__parse(elf_file__machine(b->file), note->text, note->text_len, argument - 1, &site->scope,
                           &err);

    if (!r && site->scope.size == 8 && site->scope.kind != OPERAND_CONSTANT) {
        site->region = SITE_NO_REGION;
        site->provider = arena__copy(b->arena, note->provider, note->provider_len);
        site->probe = arena__copy(b->arena, note->name, note->name_len);
        return site->provider && site->probe && add_site(b, site, note) ? 0 : -ENOMEM;
    }
    snprintf(why, sizeof(why), "argument %u of \"%.80s\" is no pointer to a name that can be read", argument,
             note->text_len ? note->text : "");
    return refuse(b, note, why) ? 0 : -ENOMEM;
}

/* What a rule makes of a probe: the region that it begins, or ends. */
struct foreign_role {
    char name[NOTES_MAX_NAME];
    size_t len;
    unsigned int argument;
};

static bool find_role(const struct builder *b, const struct note *note, enum pairing_role role,
                      struct foreign_role *ret)
{
    ret->len = 0;
    ret->argument = 0;
    if (!b->rules)
        return false;
    ret->len = pairing__region(b->rules, role, note->provider, note->name, note->name_len, ret->name,
                               sizeof(ret->name));
    ret->argument = pairing__argument(b->rules, role, note->provider, note->name, note->name_len);
    return ret->len || ret->argument;
}

static int add_role(struct builder *b, const struct note *note, const struct site *checked,
                    enum pairing_role role, const struct foreign_role *what)
{
    struct site site = *checked;

    if (what->argument) {
        site.kind = role == PAIRING_BEGIN ? SITE_NAMED_OPEN : SITE_NAMED_CLOSE;
        return add_named_site(b, note, &site, what->argument);
    }
    site.kind = role == PAIRING_BEGIN ? SITE_BEGIN : SITE_END;
    return add_region(b, note->provider, note->provider_len, what->name, what->len, &site.region) &&
                   add_site(b, &site, note)
               ? 0
               : -ENOMEM;
}

/* One probe may end a region and begin the next. */
static int add_foreign_probe(struct builder *b, const struct note *note)
{
    struct site site = {.source_line = -1, .scope = {.base = -1, .index = -1}};
    struct foreign_role begin, end;
    bool begins = find_role(b, note, PAIRING_BEGIN, &begin), ends = find_role(b, note, PAIRING_END, &end);
    char why[SITE_WHY_SIZE];
    int r;

    if (!begins && !ends)
        return add_unnamed(b, note);
    r = check_site(b, note, &site, why);
    if (r <= 0)
        return r;
    r = begins ? add_role(b, note, &site, PAIRING_BEGIN, &begin) : 0;
    return !r && ends ? add_role(b, note, &site, PAIRING_END, &end) : r;
}

static bool is_begin(enum site_kind kind)
{
    return kind == SITE_BEGIN || kind == SITE_SCOPE_BEGIN || kind == SITE_DYNAMIC_BEGIN ||
           kind == SITE_DYNAMIC_OPEN || kind == SITE_NAMED_OPEN;
}

/* The source of the begin whose note stands directly before. */
static int add_source(struct builder *b, const struct note *note)
{
    struct probe_table *table = b->table;
    const char *file;

    if (b->last_sites >= table->n_sites || b->last_location != note->location || !note->text_len)
        return 0;
    file = arena__copy(b->arena, note->text, note->text_len);
    if (!file)
        return -ENOMEM;
    for (size_t i = b->last_sites; i < table->n_sites; i++) {
        struct site *site = &table->sites[i];
        struct region_def *region;

        if (!is_begin(site->kind))
            continue;
        site->source_file = file;
        site->source_line = note->source_line;
        if (site->region == SITE_NO_REGION)
            continue;
        region = &table->regions[site->region];
        if (!region->source_file) {
            region->source_file = file;
            region->source_line = note->source_line;
        }
    }
    return 0;
}

static int add_note(struct builder *b, const struct note *note)
{
    if (note->kind == NOTE_SOURCE)
        return add_source(b, note);
    if (note->kind == NOTE_SCOPE)
        return 0;
    b->last_sites = b->table->n_sites;
    b->last_location = note->location;
    if (note->provider_len == 5 && !memcmp(note->provider, "scope", 5))
        return add_scope_probe(b, note);
    return add_foreign_probe(b, note);
}

static int compare_locations(const void *a, const void *b)
{
    const struct note *x = *(const struct note *const *)a, *y = *(const struct note *const *)b;

    if (x->location != y->location)
        return x->location < y->location ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int collect_scopes(struct builder *b)
{
    size_t count = 0;

    for (size_t i = 0; i < b->notes.count; i++)
        count += b->notes.notes[i].kind == NOTE_SCOPE;
    b->scopes = calloc(count + 1, sizeof(const struct note *));
    if (!b->scopes)
        return -ENOMEM;
    for (size_t i = 0; i < b->notes.count; i++) {
        if (b->notes.notes[i].kind == NOTE_SCOPE)
            b->scopes[b->n_scopes++] = &b->notes.notes[i];
    }
    qsort(b->scopes, b->n_scopes, sizeof(const struct note *), compare_locations);
    return 0;
}

static int compare_sites(const void *a, const void *b)
{
    const struct site *x = a, *y = b;

    if (x->file_offset != y->file_offset)
        return x->file_offset < y->file_offset ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->region < y->region ? -1 : x->region > y->region;
}

/* Identical code that the linker merged says the same thing twice. */
static void sort_sites(struct probe_table *table)
{
    size_t kept = 0;

    if (table->n_sites)
        qsort(table->sites, table->n_sites, sizeof(*table->sites), compare_sites);
    for (size_t i = 0; i < table->n_sites; i++) {
        if (kept && !compare_sites(&table->sites[kept - 1], &table->sites[i]))
            continue;
        table->sites[kept++] = table->sites[i];
    }
    table->n_duplicates = table->n_sites - kept;
    table->n_sites = kept;
}

static void count_sites(struct probe_table *table)
{
    for (size_t i = 0; i < table->n_sites; i++) {
        const struct site *site = &table->sites[i];
        struct region_def *region;

        if (site->region == SITE_NO_REGION)
            continue;
        region = &table->regions[site->region];
        region->n_begin += is_begin(site->kind);
        region->n_end += site->kind == SITE_END;
        region->n_scope_begin += site->kind == SITE_SCOPE_BEGIN;
    }
}

/* The other half may stand in another file: a report, no refusal. */
static void find_problems(struct probe_table *table)
{
    for (size_t i = 0; i < table->n_regions; i++) {
        struct region_def *region = &table->regions[i];

        if (!region->n_begin)
            region->problem = "has an end but no begin in this file";
        else if (region->n_begin > region->n_scope_begin && !region->n_end)
            region->problem = "has a begin but no end in this file";
        else if (region->n_scope_begin && !table->has_scope_end)
            region->problem = "is a scope without an end in this file";
    }
}

static void find_state(struct builder *b)
{
    struct probe_table *table = b->table;
    bool has_base = elf_file__section(b->file, ".stapsdt.base");

    table->state = b->notes.count || b->notes.n_damaged ? NOTES_PRESENT : NOTES_ABSENT;
    if (table->state == NOTES_PRESENT || (!has_base && elf_file__has_sections(b->file)))
        return;
    table->n_stripped_sites = site__count_patterns(b->file);
    if (has_base || table->n_stripped_sites)
        table->state = NOTES_STRIPPED;
}

static int build(struct builder *b)
{
    int r = collect_scopes(b);

    for (size_t i = 0; i < b->notes.count && !r; i++)
        r = add_note(b, &b->notes.notes[i]);
    if (r < 0)
        return r;
    sort_sites(b->table);
    count_sites(b->table);
    find_problems(b->table);
    find_state(b);
    b->table->n_damaged = b->notes.n_damaged;
    b->table->damage = b->notes.damage;
    return 0;
}

int probe_table__read(const struct elf_file *file, const struct pairing *rules, struct probe_table **ret,
                      struct err *err)
{
    struct builder b = {.file = file, .rules = rules};
    int r = notes__read(file, &b.notes, err);

    if (r < 0)
        return r;
    b.arena = arena__new();
    b.table = calloc(1, sizeof(*b.table));
    if (b.table)
        b.table->arena = b.arena;
    names__init(&b.regions, b.arena);
    names__init(&b.foreign, b.arena);
    r = b.arena && b.table ? build(&b) : -ENOMEM;
    names__deinit(&b.regions);
    names__deinit(&b.foreign);
    notes__deinit(&b.notes);
    free(b.scopes);
    if (!r) {
        *ret = b.table;
        return 0;
    }
    if (b.table)
        probe_table__destroy(b.table);
    else
        arena__free(b.arena);
    return err__set(err, -r, "%s: no memory for its probes", elf_file__name(file));
}

void probe_table__destroy(struct probe_table *table)
{
    if (!table)
        return;
    free(table->regions);
    free(table->sites);
    free(table->refused);
    free(table->foreign);
    arena__free(table->arena);
    free(table);
}
