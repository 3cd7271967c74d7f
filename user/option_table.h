/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one table of options. Parser, help, man page and shell completion are made from its rows; a
 * new option is a new row and a field in struct options.
 */
#ifndef SCOPE_OPTION_TABLE_H
#define SCOPE_OPTION_TABLE_H

#include "options.h"

/* What the value is, and so how the field of struct options at `offset` is filled. */
enum option_kind {
    OPTION_ON,          /* no value: bool, set */
    OPTION_OFF,         /* no value: bool, cleared */
    OPTION_COUNT,       /* no value: int, one more each time */
    OPTION_ACTION,      /* no value: enum action, `value` */
    OPTION_INT,         /* int in [min, max] */
    OPTION_SIZE,        /* size_t in [min, max], bytes or K, M, G */
    OPTION_SECONDS,     /* double in (min, max], s or ms, m, h */
    OPTION_TEXT,        /* const char *, at most max bytes, not empty */
    OPTION_OUTPUT,      /* the same, the prefix of files */
    OPTION_LIST,        /* struct string_list, one more each time */
    OPTION_PIDS,        /* numbers with commas, several times */
    OPTION_FORMATS,     /* the three format flags */
    OPTION_CHOICE,      /* int: which of `choices` */
    OPTION_CHOICE_BOOL, /* bool: which of two `choices` */
    OPTION_WHAT,        /* ACTION_LIST, with an optional `=VALUE` of `choices` */
    OPTION_KINDS
};

enum option_group { GROUP_RECORD, GROUP_CHOOSE, GROUP_OUTPUT, GROUP_OTHER, GROUP_KINDS };

struct option_row {
    const char *name; /* without the dashes */
    char letter;      /* 0 none */
    enum option_kind kind;
    enum option_group group;
    size_t offset;       /* in struct options */
    const char *arg;     /* how help calls the value; NULL: takes none */
    const char *choices; /* "a|b|c" or NULL */
    double min, max;     /* limits of numbers; max also of a text's bytes */
    int value;
    bool only_typed;  /* not in SCOPE_BPF_OPTIONS: it belongs to one command line */
    bool hidden;      /* for the build only */
    const char *help; /* one line, no full stop */
    const char *man;  /* what the man page says more, or NULL */
};

extern const struct option_row option_table[];
extern const size_t option_table_size;
extern const char *const option_group_titles[GROUP_KINDS];

/* len bytes of name against the rows; NULL when there is none. */
const struct option_row *option_table__find(const char *name, size_t len);
const struct option_row *option_table__find_letter(char letter);
/* The row whose name is most like what was typed, or NULL when nothing is near. */
const struct option_row *option_table__nearest(const char *name, size_t len);

/* How the default value reads ("997", "64M"), or "" where there is nothing to say. */
void option_row__default_text(const struct option_row *row, char *text, size_t size);

/* Choice number i of a row into *ret_len bytes, or NULL behind the last. */
const char *option_row__choice(const struct option_row *row, size_t i, size_t *ret_len);

#endif
