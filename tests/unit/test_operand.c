// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "usdt/operand.h"

/* Text, machine, and what it means. */
struct row {
    const char *text;
    enum elf_machine machine;
    struct operand operand;
};

#define MEM(size, base, index, scale, offset)                                                                \
    {                                                                                                        \
        OPERAND_MEMORY, size, 0, scale, base, index, offset                                                  \
    }
#define REG(size, sign, base)                                                                                \
    {                                                                                                        \
        OPERAND_REGISTER, size, sign, 1, base, -1, 0                                                         \
    }
#define CONST(size, sign, value)                                                                             \
    {                                                                                                        \
        OPERAND_CONSTANT, size, sign, 1, -1, -1, value                                                       \
    }

static const struct row good[] = {
    {"1@-1(%rsp)", ELF_X86_64, MEM(1, 7, -1, 1, -1)},
    {"1@(%rax)", ELF_X86_64, MEM(1, 0, -1, 1, 0)},
    {"8@-24(%rbp)", ELF_X86_64, MEM(8, 6, -1, 1, -24)},
    {"8@8+16(%rsp)", ELF_X86_64, MEM(8, 7, -1, 1, 24)},
    {"8@-24+8(%rbp)", ELF_X86_64, MEM(8, 6, -1, 1, -16)},
    {"8@0x10(%r15)", ELF_X86_64, MEM(8, 15, -1, 1, 16)},
    {"4@(%rdi,%rsi,4)", ELF_X86_64, MEM(4, 5, 4, 4, 0)},
    {"4@8(%rcx,%rdx)", ELF_X86_64, MEM(4, 2, 1, 1, 8)},
    {"4@8(,%rbx,8)", ELF_X86_64, MEM(4, -1, 3, 8, 8)},
    {"8@%rax", ELF_X86_64, REG(8, 0, 0)},
    {"-4@%r9d", ELF_X86_64, REG(4, 1, 9)},
    {"1@%sil", ELF_X86_64, REG(1, 0, 4)},
    {"2@%dx", ELF_X86_64, REG(2, 0, 1)},
    {"-4@$-7", ELF_X86_64, CONST(4, 1, -7)},
    {"8@$0x7fffffffffffffff", ELF_X86_64, CONST(8, 0, INT64_MAX)},
    {"1@BYTE PTR [rbp-9]", ELF_X86_64, MEM(1, 6, -1, 1, -9)},
    {"1@byte ptr [rsp + 31]", ELF_X86_64, MEM(1, 7, -1, 1, 31)},
    {"8@QWORD PTR -24[rbp]", ELF_X86_64, MEM(8, 6, -1, 1, -24)},
    {"4@DWORD PTR [rdi+rsi*4]", ELF_X86_64, MEM(4, 5, 4, 4, 0)},
    {"4@DWORD PTR [rdi+4*rsi+12]", ELF_X86_64, MEM(4, 5, 4, 4, 12)},
    {"8@rax", ELF_X86_64, REG(8, 0, 0)},
    {"4@42", ELF_X86_64, CONST(4, 0, 42)},
    {"1@[x19]", ELF_AARCH64, MEM(1, 19, -1, 1, 0)},
    {"8@[sp, 24]", ELF_AARCH64, MEM(8, 31, -1, 1, 24)},
    {"8@[x29, #-16]", ELF_AARCH64, MEM(8, 29, -1, 1, -16)},
    {"8@[fp]", ELF_AARCH64, MEM(8, 29, -1, 1, 0)},
    {"8@[lr, 8]", ELF_AARCH64, MEM(8, 30, -1, 1, 8)},
    {"8@[x0, x1]", ELF_AARCH64, MEM(8, 0, 1, 1, 0)},
    {"8@[x0, x1, lsl 3]", ELF_AARCH64, MEM(8, 0, 1, 8, 0)},
    {"8@[x0, x1, lsl #2]", ELF_AARCH64, MEM(8, 0, 1, 4, 0)},
    {"-4@w3", ELF_AARCH64, REG(4, 1, 3)},
    {"8@x30", ELF_AARCH64, REG(8, 0, 30)},
    {"-4@-5", ELF_AARCH64, CONST(4, 1, -5)},
};

static const struct row bad[] = {
    {"1@", ELF_X86_64, {0}},
    {"@%rax", ELF_X86_64, {0}},
    {"%rax", ELF_X86_64, {0}},
    {"3@%rax", ELF_X86_64, {0}},
    {"16@%rax", ELF_X86_64, {0}},
    {"8f@%xmm0", ELF_X86_64, {0}},
    {"8@%xmm0", ELF_X86_64, {0}},
    {"1@%ah", ELF_X86_64, {0}},
    {"8@%fs:8", ELF_X86_64, {0}},
    {"8@counter(%rip)", ELF_X86_64, {0}},
    {"8@8(%rip)", ELF_X86_64, {0}},
    {"8@counter", ELF_X86_64, {0}},
    {"8@-8(%ebp)", ELF_X86_64, {0}},
    {"8@-8(%rbp", ELF_X86_64, {0}},
    {"8@-8(%rbp)x", ELF_X86_64, {0}},
    {"8@-(%rbp)", ELF_X86_64, {0}},
    {"8@()", ELF_X86_64, {0}},
    {"8@(%rax,%rbx,3)", ELF_X86_64, {0}},
    {"8@99999999999999999999(%rax)", ELF_X86_64, {0}},
    {"8@QWORD PTR [rbp-rax]", ELF_X86_64, {0}},
    {"8@QWORD PTR fs:[8]", ELF_X86_64, {0}},
    {"8@QWORD PTR [rip+8]", ELF_X86_64, {0}},
    {"8@QWORD PTR [ebp]", ELF_X86_64, {0}},
    {"8@QWORD PTR 8", ELF_X86_64, {0}},
    {"8@[x31]", ELF_AARCH64, {0}},
    {"8@[w0]", ELF_AARCH64, {0}},
    {"8@[x0, w1, sxtw]", ELF_AARCH64, {0}},
    {"8@[x0, 8", ELF_AARCH64, {0}},
    {"8@[x0], 8", ELF_AARCH64, {0}},
    {"8@[x0, 8]!", ELF_AARCH64, {0}},
    {"8@[x0, x1, lsl 4]", ELF_AARCH64, {0}},
    {"8@d0", ELF_AARCH64, {0}},
    {"8@xzr", ELF_AARCH64, {0}},
    {"8@(%rax)", ELF_AARCH64, {0}},
};

static void test_understood(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        const struct operand *want = &good[i].operand;
        struct operand got;
        struct err err;

        if (operand__parse(good[i].machine, good[i].text, strlen(good[i].text), 0, &got, &err) < 0)
            fail_msg("%s: %s", good[i].text, err.text);
        if (got.kind != want->kind || got.size != want->size || got.is_signed != want->is_signed ||
            got.base != want->base || got.index != want->index || got.scale != want->scale ||
            got.offset != want->offset)
            fail_msg("%s: kind %d size %d base %d index %d scale %d offset %lld", good[i].text, got.kind,
                     got.size, got.base, got.index, got.scale, (long long)got.offset);
    }
}

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct operand got;
        struct err err;

        if (operand__parse(bad[i].machine, bad[i].text, strlen(bad[i].text), 0, &got, &err) != -EINVAL)
            fail_msg("%s was taken", bad[i].text);
        assert_non_null(strstr(err.text, bad[i].text));
    }
}

static void test_lists(void **state)
{
    static const char args[] = "8@%rdi -4@-20(%rbp) 1@BYTE PTR [rsp+31]  8@$0";
    static const char arm[] = "8@x0 8@[sp, 24] -4@[x0, x1, lsl 2] 4@7";
    struct operand got;

    (void)state;
    assert_int_equal(operand__count("", 0), 0);
    assert_int_equal(operand__count("  ", 2), 0);
    assert_int_equal(operand__count(args, strlen(args)), 4);
    assert_int_equal(operand__count(arm, strlen(arm)), 4);
    assert_int_equal(operand__parse(ELF_X86_64, args, strlen(args), 2, &got, NULL), 0);
    assert_int_equal(got.offset, 31);
    assert_int_equal(operand__parse(ELF_X86_64, args, strlen(args), 3, &got, NULL), 0);
    assert_int_equal(got.kind, OPERAND_CONSTANT);
    assert_int_equal(operand__parse(ELF_X86_64, args, strlen(args), 4, &got, NULL), -ENOENT);
    assert_int_equal(operand__parse(ELF_AARCH64, arm, strlen(arm), 2, &got, NULL), 0);
    assert_int_equal(got.index, 1);
    assert_true(got.is_signed);
}

/* An argument that is not understood does not hide the ones beside it. */
static void test_bad_among_good(void **state)
{
    static const char args[] = "8@%rdi 8@counter(%rip) 8f@%xmm0 8@%rsi";
    struct operand got;

    (void)state;
    assert_int_equal(operand__count(args, strlen(args)), 4);
    assert_int_equal(operand__parse(ELF_X86_64, args, strlen(args), 1, &got, NULL), -EINVAL);
    assert_int_equal(operand__parse(ELF_X86_64, args, strlen(args), 3, &got, NULL), 0);
    assert_int_equal(got.base, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_understood),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_bad_among_good),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
