/* SPDX-License-Identifier: GPL-2.0-only */
#include "converters/views/view.h"

#include "usdt/glob.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool locale_is_utf8(void)
{
    const char *names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (unsigned i = 0; i < 3; i++) {
        const char *v = getenv(names[i]);

        if (v && *v)
            return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
    }
    return false;
}

struct screen screen__of(FILE *out)
{
    struct screen s = {.utf8 = locale_is_utf8()};
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    struct winsize size;

    if (!isatty(fileno(out))) {
        s.utf8 = true; /* a file or a pipe gets the bytes; who looks at them decides */
        return s;
    }
    s.colour = !(no_color && *no_color) && !(term && !strcmp(term, "dumb"));
    s.width = ioctl(fileno(out), TIOCGWINSZ, &size) || !size.ws_col ? 80 : size.ws_col;
    return s;
}

static bool matches_any(const char *const *globs, size_t n, struct text name)
{
    for (size_t i = 0; i < n; i++) {
        if (glob__match_str(globs[i], name.s ? name.s : "", name.len))
            return true;
    }
    return false;
}

bool view__wants_region(const struct view_options *options, struct text name)
{
    if (options->n_region && !matches_any(options->region, options->n_region, name))
        return false;
    return !matches_any(options->exclude, options->n_exclude, name);
}

bool view__wants_rank(const struct view_options *options, int32_t number)
{
    for (size_t i = 0; i < options->n_ranks; i++) {
        if (options->ranks[i] == number)
            return true;
    }
    return !options->n_ranks;
}
