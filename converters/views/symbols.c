/* SPDX-License-Identifier: GPL-2.0-only */
#include "converters/views/symbols.h"

#include "converters/views/symbols_private.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_INLINED 64

/* ---- files ---------------------------------------------------------------------------------------------------- */
static int find_no_elf(Dwfl_Module *m, void **user, const char *name, Dwarf_Addr base, char **file, Elf **elf)
{
    (void)m, (void)user, (void)name, (void)base, (void)file, (void)elf;
    return -1;
}

static const Dwfl_Callbacks callbacks = {
    .find_elf = find_no_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
};

static bool same_build(const struct binary *b, Dwfl_Module *m)
{
    const unsigned char *bits;
    GElf_Addr address;
    int n = dwfl_module_build_id(m, &bits, &address);

    return !b->build_id.len || (n == (int)b->build_id.len && !memcmp(bits, b->build_id.s, (size_t)n));
}

static int open_file(const char *path, enum binary_state *state)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    *state = BINARY_BAD;
    if (fd < 0) {
        *state = errno == ENOENT ? BINARY_GONE : BINARY_BAD;
        return -1;
    }
    if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
        close(fd);
        return -1;
    }
    return fd;
}

static enum binary_state open_binary(struct binary *b)
{
    enum binary_state state;
    int fd;

    if (!b->path.len || b->path.s[0] != '/')
        return BINARY_NO_FILE;
    fd = open_file(b->path.s, &state);
    if (fd < 0)
        return state;
    b->dwfl = dwfl_begin(&callbacks);
    if (!b->dwfl) {
        close(fd);
        return BINARY_BAD;
    }
    b->module = dwfl_report_elf(b->dwfl, b->path.s, b->path.s, fd, 0, false); /* takes fd when it succeeds */
    if (!b->module) {
        close(fd);
        return BINARY_BAD;
    }
    dwfl_report_end(b->dwfl, NULL, NULL);
    if (!dwfl_module_getelf(b->module, &b->elf_bias))
        return BINARY_BAD;
    if (!same_build(b, b->module))
        return BINARY_CHANGED;
    b->dwarf = dwfl_module_getdwarf(b->module, &b->dwarf_bias);
    if (!b->dwarf)
        return BINARY_NO_LINES;
    return units__read(b) ? BINARY_OK : BINARY_NO_LINES;
}

/* ---- which unit holds an address -------------------------------------------------------------------------------- */
static int compare_spans(const void *a, const void *b)
{
    const struct unit_span *x = a, *y = b;

    return (x->low > y->low) - (x->low < y->low);
}

static bool add_span(struct binary *b, Dwarf_Addr low, Dwarf_Addr high, Dwarf_Off unit)
{
    if (b->n_spans == b->cap_spans) {
        size_t cap = b->cap_spans ? b->cap_spans * 2 : 64;
        struct unit_span *spans = reallocarray(b->spans, cap, sizeof(*spans));

        if (!spans)
            return false;
        b->spans = spans;
        b->cap_spans = cap;
    }
    b->spans[b->n_spans++] = (struct unit_span){low, high, unit};
    return true;
}

/* The units' own ranges: clang writes no .debug_aranges. */
bool units__read(struct binary *b)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Die die, sub;
    uint8_t type;

    while (!dwarf_get_units(b->dwarf, cu, &cu, NULL, &type, &die, &sub)) {
        Dwarf_Addr base, low, high;
        ptrdiff_t at = 0;

        if (type != DW_UT_compile && type != DW_UT_skeleton)
            continue;
        while ((at = dwarf_ranges(&die, at, &base, &low, &high)) > 0) {
            if (high > low && !add_span(b, low, high, dwarf_dieoffset(&die)))
                return false;
        }
    }
    if (b->n_spans)
        qsort(b->spans, b->n_spans, sizeof(*b->spans), compare_spans);
    return b->n_spans;
}

static bool unit_at(struct binary *b, Dwarf_Addr address, Dwarf_Die *ret)
{
    size_t low = 0, high = b->n_spans;
    Dwarf_Die split;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (b->spans[mid].low <= address)
            low = mid + 1;
        else
            high = mid;
    }
    if (!low || address >= b->spans[low - 1].high || !dwarf_offdie(b->dwarf, b->spans[low - 1].unit, ret))
        return false;
    if (!dwarf_cu_info(ret->cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) && split.addr)
        *ret = split; /* -gsplit-dwarf, where the .dwo is to be found */
    return true;
}

/* ---- names -------------------------------------------------------------------------------------------------------- */
static struct text copy(struct symbols *s, const char *text)
{
    size_t len = text ? strlen(text) : 0;
    const char *at = text ? arena__copy(s->arena, text, len) : NULL;

    return (struct text){at, at ? (uint32_t)len : 0};
}

/* The C++ library is not linked: it is there wherever a C++ program runs. */
static struct text demangled(struct symbols *s, const char *name)
{
    struct text t;
    char *plain;
    int status = -1;

    if (!name || strncmp(name, "_Z", 2))
        return copy(s, name);
    if (!s->demangler_tried) {
        void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);

        s->demangler_tried = true;
        if (library)
            *(void **)&s->demangle = dlsym(library, "__cxa_demangle");
    }
    plain = s->demangle ? s->demangle(name, NULL, NULL, &status) : NULL;
    t = copy(s, plain && !status ? plain : name);
    free(plain);
    return t;
}

static struct text function_name(struct symbols *s, Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *name = NULL;

    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
        name = dwarf_formstring(&attribute);
    if (!name && dwarf_attr_integrate(die, DW_AT_name, &attribute))
        name = dwarf_formstring(&attribute);
    return demangled(s, name);
}

static struct text symbol_name(struct symbols *s, struct binary *b, uint64_t address)
{
    GElf_Off offset;
    GElf_Sym symbol;

    if (!b->module)
        return (struct text){0};
    return demangled(s, dwfl_module_addrinfo(b->module, address + b->elf_bias, &offset, &symbol, NULL, NULL, NULL));
}

/* ---- frames ------------------------------------------------------------------------------------------------------- */
static bool is_function(Dwarf_Die *die)
{
    int tag = dwarf_tag(die);

    return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_subprogram || tag == DW_TAG_entry_point;
}

/* What the compiler was given may be relative to the folder in which it ran: as addr2line, the two together. */
static struct text file_of(struct symbols *s, Dwarf_Die *unit, const char *name)
{
    Dwarf_Attribute attribute;
    const char *folder;
    struct text joined;
    char *path;

    if (!name || name[0] == '/')
        return copy(s, name);
    folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
    if (!folder || asprintf(&path, "%s/%s", folder, name) < 0)
        return copy(s, name);
    joined = copy(s, path);
    free(path);
    return joined;
}

static struct text call_file(struct symbols *s, Dwarf_Die *unit, Dwarf_Die *inlined)
{
    Dwarf_Attribute attribute;
    Dwarf_Files *files;
    Dwarf_Word number;
    size_t n;

    if (!dwarf_attr(inlined, DW_AT_call_file, &attribute) || dwarf_formudata(&attribute, &number) ||
        dwarf_getsrcfiles(unit, &files, &n) || number >= n)
        return (struct text){0};
    return file_of(s, unit, dwarf_filesrc(files, number, NULL, NULL));
}

static int call_line(Dwarf_Die *inlined)
{
    Dwarf_Attribute attribute;
    Dwarf_Word line = 0;

    if (!dwarf_attr(inlined, DW_AT_call_line, &attribute) || dwarf_formudata(&attribute, &line) || line > INT32_MAX)
        return 0;
    return (int)line;
}

/* scopes: from the innermost outwards, physical nesting. Fills names and the lines of the calls. */
static unsigned frames_of(struct symbols *s, Dwarf_Die *unit, Dwarf_Die *scopes, int n, struct frame *frames)
{
    unsigned found = 0;

    for (int i = 0; i < n && found < MAX_INLINED; i++) {
        if (!is_function(&scopes[i]))
            continue;
        frames[found].function = function_name(s, &scopes[i]);
        found++;
        if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine)
            break;
        if (found < MAX_INLINED) {
            frames[found].file = call_file(s, unit, &scopes[i]);
            frames[found].line = call_line(&scopes[i]);
        }
    }
    return found;
}

static unsigned inner_scopes(struct symbols *s, Dwarf_Die *unit, Dwarf_Addr pc, struct frame *frames)
{
    Dwarf_Die *scopes = NULL, *chain = NULL;
    int n = dwarf_getscopes(unit, pc, &scopes), k;
    unsigned found = 0;

    if (n > 0) {
        /* dwarf_getscopes goes on with the scopes of an inlined function's definition: ask for those of its place */
        k = dwarf_getscopes_die(&scopes[0], &chain);
        found = k > 0 ? frames_of(s, unit, chain, k, frames) : frames_of(s, unit, scopes, n, frames);
    }
    free(chain);
    free(scopes);
    return found;
}

static void line_of(struct symbols *s, Dwarf_Die *unit, Dwarf_Addr pc, struct frame *frame)
{
    Dwarf_Line *line = dwarf_getsrc_die(unit, pc);
    int number = 0;

    if (!line || dwarf_lineno(line, &number) || number <= 0)
        return;
    frame->line = number;
    frame->file = file_of(s, unit, dwarf_linesrc(line, NULL, NULL));
}

struct place symbols__lookup(struct symbols *s, struct binary *b, uint64_t address)
{
    static const struct frame unknown;
    struct frame frames[MAX_INLINED] = {0}, *kept;
    Dwarf_Addr pc = address + b->elf_bias - b->dwarf_bias;
    unsigned n = 0;
    Dwarf_Die unit;

    if (b->state == BINARY_OK && unit_at(b, pc, &unit)) {
        n = inner_scopes(s, &unit, pc, frames);
        line_of(s, &unit, pc, &frames[0]);
    }
    if (!n || !frames[n - 1].function.s) {
        n = n ? n : 1;
        frames[n - 1].function = symbol_name(s, b, address);
    }
    kept = arena__alloc(s->arena, n * sizeof(*kept));
    if (!kept)
        return (struct place){&unknown, 1};
    memcpy(kept, frames, n * sizeof(*kept));
    return (struct place){kept, n};
}

/* ---- owner -------------------------------------------------------------------------------------------------------- */
struct symbols *symbols__create(void)
{
    struct symbols *s = calloc(1, sizeof(*s));

    if (s)
        s->arena = arena__new();
    if (s && !s->arena) {
        free(s);
        s = NULL;
    }
    return s;
}

void symbols__destroy(struct symbols *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_binaries; i++) {
        if (s->binaries[i]->dwfl)
            dwfl_end(s->binaries[i]->dwfl);
        free(s->binaries[i]->spans);
        free(s->binaries[i]);
    }
    for (size_t i = 0; i < s->n_sources; i++) {
        free(s->sources[i].bytes);
        free(s->sources[i].lines);
    }
    free(s->sources);
    free(s->binaries);
    arena__free(s->arena);
    free(s);
}

static bool same_text(struct text a, struct text b)
{
    return a.len == b.len && (!a.len || !memcmp(a.s, b.s, a.len));
}

struct binary *symbols__binary(struct symbols *s, const struct module *module)
{
    struct binary **list, *b;

    for (size_t i = 0; i < s->n_binaries; i++) {
        if (same_text(s->binaries[i]->path, module->path) && same_text(s->binaries[i]->build_id, module->build_id))
            return s->binaries[i];
    }
    list = reallocarray(s->binaries, s->n_binaries + 1, sizeof(*list));
    if (!list)
        return NULL;
    s->binaries = list;
    b = calloc(1, sizeof(*b));
    if (!b)
        return NULL;
    b->path = module->path;
    b->build_id = module->build_id;
    b->state = open_binary(b);
    s->binaries[s->n_binaries++] = b;
    return b;
}

enum binary_state binary__state(const struct binary *b)
{
    return b->state;
}

struct text binary__path(const struct binary *b)
{
    return b->path;
}
