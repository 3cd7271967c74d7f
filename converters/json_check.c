// SPDX-License-Identifier: GPL-2.0-only
#include "json_check.h"
#include "json_in.h"

#include <errno.h>
#include <stdio.h>

/* The elements of a list into `out`, and their number. */
static int64_t copy_list(struct json_in *j, bool objects, struct json_text *out)
{
    int64_t n = 0;

    json_text__put(out, "[", 1);
    json_in__enter(j, '[');
    while (!j->code && json_in__next(j)) {
        if (objects && json_in__peek(j) != '{')
            json_in__fail(j, "element %lld is no object", (long long)n);
        json_text__put(out, ",", n ? 1 : 0);
        json_in__copy(j, out);
        n++;
    }
    if (!json_text__put(out, "]", 1) && !j->code)
        j->code = -ENOMEM;
    return n;
}

int json_check__list(struct profile *p, struct text text, int64_t calls, struct text *ret, char *what,
                     size_t size)
{
    struct json_text out = {0};
    struct json_in j;
    int64_t n;

    json_in__init_text(&j, text.s, text.len);
    j.lenient = true;
    n = copy_list(&j, calls >= 0, &out);
    json_in__end(&j);
    if (!j.code && n && calls >= 0 && n != calls)
        json_in__fail(&j, "%lld entries for %lld calls", (long long)n, (long long)calls);
    if (j.code) {
        snprintf(what, size, "no list as it should be: %s", j.message);
    } else if (n) {
        *ret = profile__text(p, out.s, out.len);
        if (!ret->s) {
            snprintf(what, size, "not enough memory");
            j.code = -ENOMEM;
        }
    } else {
        *ret = (struct text){0};
    }
    json_text__deinit(&out);
    return j.code;
}
