// SPDX-License-Identifier: GPL-2.0-only
#include "names.h"

#include <stdio.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

static bool follows(const unsigned char *s, unsigned n)
{
    for (unsigned i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return false;
    }
    return true;
}

unsigned utf8__length(const char *text, size_t left)
{
    const unsigned char *s = (const unsigned char *)text;
    unsigned n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;

    if (!n || n > left || !follows(s, n))
        return 0;
    /* Overlong forms, surrogates, beyond U+10FFFF. */
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
        (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

bool utf8__valid(const char *s, size_t len)
{
    size_t i = 0;

    while (i < len) {
        unsigned n = utf8__length(s + i, len - i);

        if (!n)
            return false;
        i += n;
    }
    return true;
}

struct text text__shown(struct arena *arena, struct text t)
{
    size_t to = 0;
    char *copy;

    if (!t.s || utf8__valid(t.s, t.len))
        return t;
    copy = arena__alloc(arena, t.len * 3ull + 1);
    if (!copy)
        return (struct text){0};
    for (size_t i = 0; i < t.len;) {
        unsigned n = utf8__length(t.s + i, t.len - i);

        memcpy(copy + to, n ? t.s + i : REPLACEMENT, n ? n : 3);
        to += n ? n : 3;
        i += n ? n : 1;
    }
    copy[to] = '\0';
    return (struct text){copy, (uint32_t)to};
}

/* Appends "~2" and so on until nobody has the name. */
static struct text make_different(struct arena *arena, struct names *taken, struct text shown)
{
    for (unsigned number = 2;; number++) {
        size_t room = shown.len + 16ull, count = taken->count;
        char *copy = arena__alloc(arena, room);
        uint32_t at;
        int n;

        if (!copy)
            return (struct text){0};
        memcpy(copy, shown.s, shown.len);
        n = snprintf(copy + shown.len, 16, "~%u", number);
        if (!names__intern(taken, copy, shown.len + (size_t)n, "", 0, &at))
            return (struct text){0};
        if (at == count)
            return (struct text){copy, shown.len + (uint32_t)n};
    }
}

/* Names that can appear as they are have the first right to it, wherever they stand. */
static bool take(struct arena *arena, struct names *taken, const struct text *names, uint64_t n,
                 struct text *shown, uint8_t *exact, bool valid)
{
    for (uint64_t i = 0; i < n; i++) {
        size_t count = taken->count;
        uint32_t at;

        if (utf8__valid(names[i].s, names[i].len) != valid)
            continue;
        shown[i] = text__shown(arena, names[i]);
        if (!shown[i].s || !names__intern(taken, shown[i].s, shown[i].len, "", 0, &at))
            return false;
        exact[i] = valid && at == count;
        if (at != count)
            shown[i] = make_different(arena, taken, shown[i]);
        if (!shown[i].s)
            return false;
    }
    return true;
}

struct text *names__shown(struct arena *arena, const struct text *names, uint64_t n, uint8_t **ret_exact)
{
    struct text *shown = arena__alloc(arena, (n + 1) * sizeof(*shown));
    uint8_t *exact = arena__alloc(arena, n + 1);
    struct names taken;
    bool done;

    if (!shown || !exact)
        return NULL;
    names__init(&taken, arena);
    done = take(arena, &taken, names, n, shown, exact, true) &&
           take(arena, &taken, names, n, shown, exact, false);
    names__deinit(&taken);
    if (!done)
        return NULL;
    if (ret_exact)
        *ret_exact = exact;
    return shown;
}

struct text *names__shown_regions(struct arena *arena, const struct profile *p, uint8_t **ret_exact)
{
    struct text *names = arena__alloc(arena, (p->n_regions + 1ull) * sizeof(*names));

    if (!names)
        return NULL;
    for (uint32_t i = 0; i < p->n_regions; i++)
        names[i] = p->regions[i].name;
    return names__shown(arena, names, p->n_regions, ret_exact);
}
