// SPDX-License-Identifier: GPL-2.0-only
/*
 * The argument text of a probe is what the compiler printed for an operand of the asm statement,
 * in one of three dialects: AT&T and Intel on x86-64, one on aarch64. All three are a few kinds of
 * token, so one small scanner serves them. It is strict: a text that is not understood whole is
 * refused, because a wrong address would close the wrong call.
 */
#include "usdt/operand.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

struct scan {
    const char *at, *end;
};

struct reg {
    int8_t number;
    bool is_full; /* 64 bits wide: can be part of an address */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void skip_blanks(struct scan *s)
{
    while (s->at < s->end && is_blank(*s->at))
        s->at++;
}

/* Takes c, and blanks before it. */
static bool take(struct scan *s, char c)
{
    skip_blanks(s);
    if (s->at == s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

static bool at_end(struct scan *s)
{
    skip_blanks(s);
    return s->at == s->end;
}

/* Digits, decimal or with 0x. */
static bool take_number(struct scan *s, int64_t *ret)
{
    int base = 10, digits = 0;
    int64_t value = 0;

    skip_blanks(s);
    if (s->end - s->at > 2 && s->at[0] == '0' && (s->at[1] | 32) == 'x') {
        base = 16;
        s->at += 2;
    }
    for (; s->at < s->end && isxdigit((unsigned char)*s->at); s->at++, digits++) {
        int digit = *s->at <= '9' ? *s->at - '0' : (*s->at | 32) - 'a' + 10;

        if (digit >= base)
            break;
        if (__builtin_mul_overflow(value, base, &value) || __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *ret = value;
    return digits > 0;
}

/* `-24+8`, `8`, `#-16`: at least one number. */
static bool take_sum(struct scan *s, int64_t *ret)
{
    int64_t sum = 0, number;

    take(s, '#');
    do {
        bool negative = take(s, '-');

        if (!negative)
            take(s, '+');
        if (!take_number(s, &number))
            return false;
        if (negative ? __builtin_sub_overflow(sum, number, &sum) : __builtin_add_overflow(sum, number, &sum))
            return false;
        skip_blanks(s);
    } while (s->at < s->end && (*s->at == '+' || *s->at == '-'));
    *ret = sum;
    return true;
}

static size_t word_size(const struct scan *s)
{
    const char *p = s->at;

    while (p < s->end && isalnum((unsigned char)*p))
        p++;
    return (size_t)(p - s->at);
}

static bool word_is(const struct scan *s, size_t size, const char *word)
{
    return strlen(word) == size && !strncasecmp(s->at, word, size);
}

/* The names of one register by width, 64 bits first; the order is DWARF's. */
static const char *const x86_names[][4] = {
    {"rax", "eax", "ax", "al"},      {"rdx", "edx", "dx", "dl"},      {"rcx", "ecx", "cx", "cl"},
    {"rbx", "ebx", "bx", "bl"},      {"rsi", "esi", "si", "sil"},     {"rdi", "edi", "di", "dil"},
    {"rbp", "ebp", "bp", "bpl"},     {"rsp", "esp", "sp", "spl"},     {"r8", "r8d", "r8w", "r8b"},
    {"r9", "r9d", "r9w", "r9b"},     {"r10", "r10d", "r10w", "r10b"}, {"r11", "r11d", "r11w", "r11b"},
    {"r12", "r12d", "r12w", "r12b"}, {"r13", "r13d", "r13w", "r13b"}, {"r14", "r14d", "r14w", "r14b"},
    {"r15", "r15d", "r15w", "r15b"},
};

static bool take_x86_register(struct scan *s, struct reg *ret)
{
    size_t size = word_size(s);

    for (size_t i = 0; i < sizeof(x86_names) / sizeof(x86_names[0]); i++) {
        for (size_t width = 0; width < 4; width++) {
            if (!word_is(s, size, x86_names[i][width]))
                continue;
            *ret = (struct reg){(int8_t)i, width == 0};
            s->at += size;
            return true;
        }
    }
    return false;
}

static bool take_aarch64_register(struct scan *s, struct reg *ret)
{
    struct scan digits;
    size_t size;
    int64_t number;

    skip_blanks(s);
    size = word_size(s);
    if (word_is(s, size, "sp") || word_is(s, size, "fp") || word_is(s, size, "lr")) {
        *ret = (struct reg){s->at[0] == 's' ? 31 : s->at[0] == 'f' ? 29 : 30, true};
    } else {
        if (size < 2 || size > 3 || (*s->at != 'x' && *s->at != 'w'))
            return false;
        digits = (struct scan){s->at + 1, s->at + size};
        if (!isdigit((unsigned char)*digits.at) || !take_number(&digits, &number) ||
            digits.at != digits.end || number > 30)
            return false;
        *ret = (struct reg){(int8_t)number, *s->at == 'x'};
    }
    s->at += size;
    return true;
}

static bool set_register(struct operand *operand, struct reg reg)
{
    operand->kind = OPERAND_REGISTER;
    operand->base = reg.number;
    return true;
}

static bool is_scale(int64_t number)
{
    return number == 1 || number == 2 || number == 4 || number == 8;
}

static bool set_index(struct operand *operand, struct reg reg, int64_t scale)
{
    if (!reg.is_full || operand->index >= 0 || !is_scale(scale))
        return false;
    operand->index = reg.number;
    operand->scale = (uint8_t)scale;
    return true;
}

/* Behind the `(`: `%base)`, `%base,%index)`, `%base,%index,scale)`, `,%index,scale)`. */
static bool take_att_address(struct scan *s, struct operand *operand)
{
    struct reg reg;
    int64_t scale = 1;

    operand->kind = OPERAND_MEMORY;
    if (take(s, '%')) {
        if (!take_x86_register(s, &reg) || !reg.is_full)
            return false;
        operand->base = reg.number;
    }
    if (take(s, ',')) {
        if (!take(s, '%') || !take_x86_register(s, &reg))
            return false;
        if (take(s, ',') && !take_number(s, &scale))
            return false;
        if (!set_index(operand, reg, scale))
            return false;
    }
    return take(s, ')') && (operand->base >= 0 || operand->index >= 0);
}

/* Inside `[ ]`: `rbp-9`, `rsp + 8*rax + 4`, `rax*8+rbp`, each term with its sign. */
static bool take_intel_term(struct scan *s, struct operand *operand)
{
    bool negative = take(s, '-'), has_scale = false;
    int64_t number = 1;
    struct reg reg;

    if (!negative)
        take(s, '+');
    skip_blanks(s);
    if (!take_x86_register(s, &reg)) {
        if (!take_number(s, &number))
            return false;
        if (!take(s, '*'))
            return !(negative ? __builtin_sub_overflow(operand->offset, number, &operand->offset)
                              : __builtin_add_overflow(operand->offset, number, &operand->offset));
        has_scale = true;
        skip_blanks(s);
        if (!take_x86_register(s, &reg))
            return false;
    } else if (take(s, '*')) {
        has_scale = true;
        if (!take_number(s, &number))
            return false;
    }
    if (negative || !reg.is_full)
        return false;
    if (has_scale || operand->base >= 0)
        return set_index(operand, reg, number);
    operand->base = reg.number;
    return true;
}

static bool take_intel_address(struct scan *s, struct operand *operand)
{
    operand->kind = OPERAND_MEMORY;
    do {
        if (!take_intel_term(s, operand))
            return false;
    } while (!take(s, ']'));
    return operand->base >= 0 || operand->index >= 0;
}

/* `BYTE PTR ` and the like: the size stands before the `@` too. */
static bool take_intel_width(struct scan *s)
{
    static const char *const widths[] = {"byte", "word", "dword", "qword"};
    struct scan behind;

    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        if (!word_is(s, word_size(s), widths[i]))
            continue;
        behind = (struct scan){s->at + word_size(s), s->end};
        skip_blanks(&behind);
        if (!word_is(&behind, word_size(&behind), "ptr"))
            return false;
        s->at = behind.at + 3;
        skip_blanks(s);
        return true;
    }
    return false;
}

static bool parse_x86(struct scan *s, struct operand *operand)
{
    bool is_memory = take_intel_width(s);
    struct reg reg;

    if (!is_memory && take(s, '$')) {
        operand->kind = OPERAND_CONSTANT;
        return take_sum(s, &operand->offset);
    }
    if (!is_memory && take(s, '%'))
        return take_x86_register(s, &reg) && set_register(operand, reg);
    if (!is_memory && take_x86_register(s, &reg))
        return set_register(operand, reg);
    if (take(s, '['))
        return take_intel_address(s, operand);
    if (take(s, '('))
        return take_att_address(s, operand);
    if (!take_sum(s, &operand->offset))
        return false;
    if (take(s, '('))
        return take_att_address(s, operand);
    if (take(s, '['))
        return take_intel_address(s, operand);
    operand->kind = OPERAND_CONSTANT;
    return !is_memory;
}

static bool take_aarch64_address(struct scan *s, struct operand *operand)
{
    struct reg reg;
    int64_t shift = 0;

    operand->kind = OPERAND_MEMORY;
    if (!take_aarch64_register(s, &reg) || !reg.is_full)
        return false;
    operand->base = reg.number;
    if (take(s, ',')) {
        if (take_aarch64_register(s, &reg)) {
            if (take(s, ',')) {
                skip_blanks(s);
                if (!word_is(s, word_size(s), "lsl"))
                    return false;
                s->at += 3;
                take(s, '#');
                if (!take_number(s, &shift) || shift > 3)
                    return false;
            }
            if (!set_index(operand, reg, 1 << shift))
                return false;
        } else if (!take_sum(s, &operand->offset)) {
            return false;
        }
    }
    return take(s, ']');
}

static bool parse_aarch64(struct scan *s, struct operand *operand)
{
    struct reg reg;

    if (take(s, '['))
        return take_aarch64_address(s, operand);
    if (take_aarch64_register(s, &reg))
        return set_register(operand, reg);
    operand->kind = OPERAND_CONSTANT;
    return take_sum(s, &operand->offset);
}

/* `-4@`, `8@`, `8f@`: where an argument starts. Leaves s behind the `@`. */
static bool take_size(struct scan *s, bool *ret_signed, bool *ret_float, int64_t *ret_size)
{
    struct scan at = *s;

    *ret_signed = at.at < at.end && *at.at == '-';
    at.at += *ret_signed;
    if (at.at == at.end || !isdigit((unsigned char)*at.at) || !take_number(&at, ret_size))
        return false;
    *ret_float = at.at < at.end && *at.at == 'f';
    at.at += *ret_float;
    if (at.at == at.end || *at.at != '@')
        return false;
    at.at++;
    *s = at;
    return true;
}

/*
 * The next argument of s, which moves behind it. Arguments are separated by blanks, and blanks
 * stand inside one too (`[sp, 31]`, `BYTE PTR [rbp-9]`): the next starts where a size does.
 */
static bool next_argument(struct scan *s, struct scan *ret)
{
    int64_t size;
    bool is_signed, is_float;

    skip_blanks(s);
    if (s->at == s->end)
        return false;
    ret->at = s->at;
    do {
        while (s->at < s->end && !is_blank(*s->at))
            s->at++;
        ret->end = s->at;
        skip_blanks(s);
    } while (s->at < s->end && !take_size(&(struct scan){s->at, s->end}, &is_signed, &is_float, &size));
    return true;
}

size_t operand__count(const char *args, size_t len)
{
    struct scan s = {args, args + len}, argument;
    size_t count = 0;

    while (next_argument(&s, &argument))
        count++;
    return count;
}

static bool parse_argument(enum elf_machine machine, struct scan s, struct operand *operand)
{
    bool is_signed, is_float;
    int64_t size;

    if (!take_size(&s, &is_signed, &is_float, &size) || is_float || !is_scale(size))
        return false;
    *operand = (struct operand){
        .size = (uint8_t)size,
        .is_signed = is_signed,
        .scale = 1,
        .base = -1,
        .index = -1,
    };
    if (!(machine == ELF_X86_64 ? parse_x86(&s, operand) : parse_aarch64(&s, operand)))
        return false;
    return at_end(&s);
}

int operand__parse(enum elf_machine machine, const char *args, size_t len, unsigned int which,
                   struct operand *ret, struct err *err)
{
    struct scan s = {args, args + len}, argument;
    struct operand operand;

    for (unsigned int i = 0; i <= which; i++) {
        if (!next_argument(&s, &argument))
            return err__set(err, ENOENT, "no argument %u in \"%.*s\"", which, (int)(len < 200 ? len : 200),
                            args);
    }
    len = (size_t)(argument.end - argument.at);
    if (!parse_argument(machine, argument, &operand))
        return err__set(err, EINVAL, "the argument \"%.*s\" is not understood", (int)(len < 200 ? len : 200),
                        argument.at);
    *ret = operand;
    return 0;
}
