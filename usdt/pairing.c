// SPDX-License-Identifier: GPL-2.0-only
#include "usdt/pairing.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RULES    4096u
#define MAX_RULE     4096u
#define MAX_NAME     255u
#define MAX_ARGUMENT 12u /* probes of SystemTap have no more */

/* A text around at most one star; without a star only `before` is used. */
struct pattern {
    char *before, *behind;
    size_t before_len, behind_len;
    bool has_star;
};

struct rule {
    char *text, *provider;
    struct pattern begin, end, name;
    unsigned int argument; /* whose text is the name, 0 none */
    bool used;
};

struct pairing {
    struct rule *rules;
    size_t count;
};

struct pairing *pairing__new(void)
{
    return calloc(1, sizeof(struct pairing));
}

static void rule__deinit(struct rule *rule)
{
    free(rule->text);
    free(rule->provider);
    free(rule->begin.before);
    free(rule->begin.behind);
    free(rule->end.before);
    free(rule->end.behind);
    free(rule->name.before);
    free(rule->name.behind);
}

void pairing__free(struct pairing *pairing)
{
    if (!pairing)
        return;
    for (size_t i = 0; i < pairing->count; i++)
        rule__deinit(&pairing->rules[i]);
    free(pairing->rules);
    free(pairing);
}

static int bad_rule(struct err *err, const char *rule, const char *why)
{
    return err__set(err, EINVAL, "pairing rule \"%.200s\": %s (PROVIDER:BEGIN,END[=NAME])", rule, why);
}

/* Behind the part of text that ends at one of `stops` outside a `\x`, or at the end. */
static const char *find_stop(const char *text, const char *stops)
{
    while (*text && !strchr(stops, *text))
        text += *text == '\\' && text[1] ? 2 : 1;
    return text;
}

static char *without_backslashes(const char *text, size_t len, size_t *ret_len)
{
    char *plain = malloc(len + 1);
    size_t n = 0;

    if (!plain)
        return NULL;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\\' && i + 1 < len)
            i++;
        plain[n++] = text[i];
    }
    plain[n] = '\0';
    *ret_len = n;
    return plain;
}

/* A part of a rule; -EINVAL with more than one star. */
static int pattern__init(struct pattern *pattern, const char *text, size_t len)
{
    const char *star = find_stop(text, "*"), *end = text + len;

    pattern->has_star = star < end;
    if (!pattern->has_star)
        star = end;
    pattern->before = without_backslashes(text, (size_t)(star - text), &pattern->before_len);
    star += pattern->has_star;
    if (find_stop(star, "*") < end)
        return -EINVAL;
    pattern->behind = without_backslashes(star, (size_t)(end - star), &pattern->behind_len);
    return pattern->before && pattern->behind ? 0 : -ENOMEM;
}

/* The name of a region without stars: what both probes start with, less separators. */
static size_t common_start(const struct pattern *begin, const struct pattern *end)
{
    size_t len = 0;

    while (len < begin->before_len && len < end->before_len && begin->before[len] == end->before[len])
        len++;
    while (len && strchr("_-.: ", begin->before[len - 1]))
        len--;
    return len;
}

static int set_default_name(struct rule *rule)
{
    struct pattern *name = &rule->name;
    size_t len = common_start(&rule->begin, &rule->end);

    name->has_star = rule->begin.has_star;
    if (name->has_star)
        name->before = strdup("");
    else
        name->before = strndup(rule->begin.before, len ? len : rule->begin.before_len);
    name->behind = strdup("");
    if (!name->before || !name->behind)
        return -ENOMEM;
    name->before_len = strlen(name->before);
    return 0;
}

static bool parse_argument(const char *text, unsigned int *ret)
{
    char *end = NULL;
    unsigned long n = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;

    if (!n || n > MAX_ARGUMENT || *end)
        return false;
    *ret = (unsigned int)n;
    return true;
}

static int parse_rule(struct rule *rule, const char *text, struct err *err)
{
    const char *colon = find_stop(text, ":"), *comma, *equals, *end = text + strlen(text);
    size_t len;
    int r = 0;

    if (!*colon || colon == text)
        return bad_rule(err, text, "no provider");
    comma = find_stop(colon + 1, ",=");
    if (*comma != ',' || comma == colon + 1)
        return bad_rule(err, text, "a begin, a comma and an end are needed");
    equals = find_stop(comma + 1, "=");
    if (equals == comma + 1)
        return bad_rule(err, text, "no end");
    if (*equals && !equals[1])
        return bad_rule(err, text, "the name behind the = is empty");
    if (*equals && equals[1] == '@' && !parse_argument(equals + 2, &rule->argument))
        return bad_rule(err, text, "behind =@ stands the number of an argument, 1 to 12");
    rule->text = strdup(text);
    rule->provider = without_backslashes(text, (size_t)(colon - text), &len);
    if (!rule->text || !rule->provider)
        return err__set(err, ENOMEM, "pairing rule: no memory");
    if (pattern__init(&rule->begin, colon + 1, (size_t)(comma - colon - 1)) == -EINVAL ||
        pattern__init(&rule->end, comma + 1, (size_t)(equals - comma - 1)) == -EINVAL ||
        (*equals && pattern__init(&rule->name, equals + 1, (size_t)(end - equals - 1)) == -EINVAL))
        return bad_rule(err, text, "more than one *");
    if (rule->begin.has_star != rule->end.has_star)
        return bad_rule(err, text, "a * stands on one side only");
    if (rule->name.has_star && !rule->begin.has_star)
        return bad_rule(err, text, "a * in the name but none in the probes");
    if (!*equals)
        r = set_default_name(rule);
    if (r < 0 || !rule->begin.behind || !rule->end.behind || !rule->name.behind)
        return err__set(err, ENOMEM, "pairing rule: no memory");
    return 0;
}

int pairing__add(struct pairing *pairing, const char *text, struct err *err)
{
    struct rule rule = {0}, *rules;
    int r;

    if (pairing->count == MAX_RULES)
        return err__set(err, E2BIG, "more than %u pairing rules", MAX_RULES);
    if (strlen(text) > MAX_RULE)
        return bad_rule(err, text, "longer than 4096 bytes");
    r = parse_rule(&rule, text, err);
    if (!r) {
        rules = reallocarray(pairing->rules, pairing->count + 1, sizeof(*rules));
        if (!rules)
            r = err__set(err, ENOMEM, "pairing rule: no memory");
        else
            pairing->rules = rules;
    }
    if (r < 0)
        rule__deinit(&rule);
    else
        pairing->rules[pairing->count++] = rule;
    return r;
}

size_t pairing__count(const struct pairing *pairing)
{
    return pairing->count;
}

const char *pairing__text(const struct pairing *pairing, size_t rule)
{
    return pairing->rules[rule].text;
}

bool pairing__was_used(const struct pairing *pairing, size_t rule)
{
    return pairing->rules[rule].used;
}

bool pairing__has_provider(const struct pairing *pairing, const char *provider)
{
    for (size_t i = 0; i < pairing->count; i++) {
        if (!strcmp(pairing->rules[i].provider, provider))
            return true;
    }
    return false;
}

/* Whether the probe matches, and what the star stands for. */
static bool pattern__match(const struct pattern *pattern, const char *probe, size_t len,
                           const char **ret_star, size_t *ret_len)
{
    size_t fixed = pattern->before_len + pattern->behind_len;

    if (pattern->has_star ? len <= fixed : len != fixed)
        return false;
    if (memcmp(probe, pattern->before, pattern->before_len) ||
        memcmp(probe + len - pattern->behind_len, pattern->behind, pattern->behind_len))
        return false;
    *ret_star = probe + pattern->before_len;
    *ret_len = len - fixed;
    return true;
}

static size_t write_name(const struct pattern *name, const char *star, size_t star_len, char *ret,
                         size_t size)
{
    size_t len = name->before_len + name->behind_len + (name->has_star ? star_len : 0);

    if (len > size || len > MAX_NAME)
        return 0;
    memcpy(ret, name->before, name->before_len);
    ret += name->before_len;
    if (name->has_star) {
        memcpy(ret, star, star_len);
        ret += star_len;
    }
    memcpy(ret, name->behind, name->behind_len);
    return len;
}

/* The first rule that says what this probe does, and what its star stands for. */
static const struct rule *find_rule(const struct pairing *pairing, enum pairing_role role,
                                    const char *provider, const char *probe, size_t probe_len,
                                    const char **ret_star, size_t *ret_len)
{
    for (size_t i = 0; i < pairing->count; i++) {
        struct rule *rule = &pairing->rules[i];
        const struct pattern *pattern = role == PAIRING_BEGIN ? &rule->begin : &rule->end;

        if (!strcmp(rule->provider, provider) &&
            pattern__match(pattern, probe, probe_len, ret_star, ret_len)) {
            rule->used = true;
            return rule;
        }
    }
    return NULL;
}

size_t pairing__region(const struct pairing *pairing, enum pairing_role role, const char *provider,
                       const char *probe, size_t probe_len, char *name, size_t size)
{
    const char *star;
    size_t star_len;
    const struct rule *rule = find_rule(pairing, role, provider, probe, probe_len, &star, &star_len);

    return rule && !rule->argument ? write_name(&rule->name, star, star_len, name, size) : 0;
}

unsigned int pairing__argument(const struct pairing *pairing, enum pairing_role role, const char *provider,
                               const char *probe, size_t probe_len)
{
    const char *star;
    size_t star_len;
    const struct rule *rule = find_rule(pairing, role, provider, probe, probe_len, &star, &star_len);

    return rule ? rule->argument : 0;
}
