/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_USDT_OPERAND_H
#define SCOPE_USDT_OPERAND_H

#include <stddef.h>
#include <stdint.h>

#include "usdt/elf_file.h"

/*
 * One argument of a probe, as the assembler wrote it: `1@-9(%rbp)`, `8@%rax`, `-4@$3`,
 * `1@[sp, 31]`, `1@BYTE PTR [rbp-9]`. A memory operand's effective address is
 *   value(base) + value(index) * scale + offset      (a missing register counts as 0)
 * Registers have their DWARF numbers:
 *   x86-64:  0 rax 1 rdx 2 rcx 3 rbx 4 rsi 5 rdi 6 rbp 7 rsp 8…15 r8…r15
 *   aarch64: 0…30 x0…x30, 31 sp
 */
enum operand_kind {
    OPERAND_NONE,     /* no argument, or one that is not understood */
    OPERAND_CONSTANT, /* offset is the value */
    OPERAND_REGISTER, /* base */
    OPERAND_MEMORY,
};

struct operand {
    uint8_t kind; /* enum operand_kind */
    uint8_t size; /* of the value in bytes: 1, 2, 4, 8 */
    uint8_t is_signed;
    uint8_t scale;      /* 1, 2, 4, 8; 1 without an index */
    int8_t base, index; /* -1 none */
    int64_t offset;
};

/*
 * The argument number `which` (from 0) of an argument string of len bytes. 0; -ENOENT where the
 * string has fewer; -EINVAL for a text that is not understood (a symbol, a segment register, a
 * floating-point register), with the text in err. *ret is untouched on failure.
 */
int operand__parse(enum elf_machine machine, const char *args, size_t len, unsigned int which,
                   struct operand *ret, struct err *err);

/* How many arguments the string has. */
size_t operand__count(const char *args, size_t len);

#endif
