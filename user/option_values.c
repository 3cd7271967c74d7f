// SPDX-License-Identifier: GPL-2.0-only
#include "option_values.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PID_LIMIT (1 << 22) /* PID_MAX_LIMIT of the kernel */

int option_value__int(const char *name, const char *text, double min, double max, int *ret, struct err *err)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end)
        return err__set(err, EINVAL, "%s: '%s' is not a whole number", name, text);
    if (errno || (double)value < min || (double)value > max)
        return err__set(err, EINVAL, "%s: %s is out of range, %.0f to %.0f", name, text, min, max);
    *ret = (int)value;
    return 0;
}

/* The plain decimal number at the start; false also for inf, nan, hexadecimal, signs and exponents. */
static bool decimal(const char *text, double *ret, const char **ret_rest)
{
    size_t len = strspn(text, "0123456789.");
    char digits[64], *end;

    if (!len || len >= sizeof(digits) || text[0] == '.')
        return false;
    memcpy(digits, text, len);
    digits[len] = 0;
    *ret = strtod(digits, &end);
    *ret_rest = text + len;
    return !*end;
}

static bool size_unit(const char *unit, double *ret)
{
    static const char letters[] = "KMG";
    const char *at;

    *ret = 1;
    if (!*unit || !strcasecmp(unit, "B"))
        return true;
    at = strchr(letters, toupper((unsigned char)unit[0]));
    if (!at || !(!unit[1] || !strcasecmp(unit + 1, "B") || !strcasecmp(unit + 1, "iB")))
        return false;
    for (long i = at - letters; i >= 0; i--)
        *ret *= 1024;
    return true;
}

static void size_text(double bytes, char text[static 32])
{
    static const char letters[] = " KMG";
    size_t i = 0;

    for (; bytes >= 1024 && i < 3; i++)
        bytes /= 1024;
    snprintf(text, 32, i ? "%.0f%c" : "%.0f", bytes, letters[i]);
}

int option_value__size(const char *name, const char *text, double min, double max, size_t *ret,
                       struct err *err)
{
    const char *rest;
    double value, unit;
    char low[32], high[32];

    if (!decimal(text, &value, &rest) || !size_unit(rest, &unit))
        return err__set(err, EINVAL, "%s: '%s' is not a size such as 512K, 64M or 1G", name, text);
    value *= unit;
    if (value < min || value > max) {
        size_text(min, low);
        size_text(max, high);
        return err__set(err, EINVAL, "%s: %s is out of range, %s to %s", name, text, low, high);
    }
    *ret = (size_t)value;
    return 0;
}

static bool time_unit(const char *unit, double *ret)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"min", 60}, {"h", 3600}};

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (!strcmp(unit, units[i].name)) {
            *ret = units[i].seconds;
            return true;
        }
    }
    return false;
}

int option_value__seconds(const char *name, const char *text, double min, double max, double *ret,
                          struct err *err)
{
    const char *rest;
    double value, unit;

    if (!decimal(text, &value, &rest) || !time_unit(rest, &unit))
        return err__set(err, EINVAL, "%s: '%s' is not a time such as 10, 1.5s, 500ms, 2m or 1h", name, text);
    value *= unit;
    if (value <= min || value > max)
        return err__set(err, EINVAL, "%s: %s is out of range: above %.0f and up to %.0f seconds", name, text,
                        min, max);
    *ret = value;
    return 0;
}

static int append_pid(pid_t pid, pid_t **pids, size_t *n, const char *name, struct err *err)
{
    pid_t *grown;

    for (size_t i = 0; i < *n; i++) {
        if ((*pids)[i] == pid)
            return 0;
    }
    grown = realloc(*pids, (*n + 1) * sizeof(**pids));
    if (!grown)
        return err__set(err, ENOMEM, "%s: out of memory", name);
    grown[(*n)++] = pid;
    *pids = grown;
    return 0;
}

int option_value__pids(const char *name, const char *text, pid_t **ret, size_t *ret_n, struct err *err)
{
    const char *at = text;

    for (;;) {
        char *end;
        long pid;
        int r;

        errno = 0;
        pid = strtol(at, &end, 10);
        if (!isdigit((unsigned char)*at) || (*end && *end != ','))
            return err__set(err, EINVAL, "%s: '%s' is not a process number, or several with commas", name,
                            text);
        if (errno || pid < 1 || pid > PID_LIMIT)
            return err__set(err, EINVAL, "%s: %.*s is no process number", name, (int)(end - at), at);
        r = append_pid((pid_t)pid, ret, ret_n, name, err);
        if (r || !*end)
            return r;
        at = end + 1;
    }
}

/* Copies one word from *at to out and moves both; false where a quote is not closed. */
static bool take_word(const char **at, char **out)
{
    char quote = 0;

    for (; **at && (quote || !isspace((unsigned char)**at)); (*at)++) {
        char c = **at;

        if (quote ? c == quote : c == '\'' || c == '"') {
            quote = quote ? 0 : c;
            continue;
        }
        if (c == '\\' && quote != '\'' && (*at)[1] && (!quote || strchr("\\\"", (*at)[1])))
            c = *++*at;
        *(*out)++ = c;
    }
    *(*out)++ = 0;
    return !quote;
}

int option_value__words(const char *text, char ***ret, int *ret_n, struct err *err)
{
    size_t len = strlen(text), slots = len / 2 + 2;
    char **words = malloc(slots * sizeof(*words) + len + slots);
    char *out;
    int n = 0;

    if (!words)
        return err__set(err, ENOMEM, "out of memory");
    out = (char *)(words + slots);
    for (;;) {
        while (isspace((unsigned char)*text))
            text++;
        if (!*text)
            break;
        words[n++] = out;
        if (!take_word(&text, &out)) {
            free(words);
            return err__set(err, EINVAL, "a quote is not closed");
        }
    }
    words[n] = NULL;
    *ret = words;
    *ret_n = n;
    return 0;
}
