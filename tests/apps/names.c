// SPDX-License-Identifier: GPL-2.0-only
/* Literal names of every sort: COUNT [10] calls of each, as a block and as begin and end. */
#include "scope_probe.h"
#include "truth.h"

#define EACH_NAME(X) \
    X("a") \
    X("two words") \
    X("100 % done") \
    X("%s %d %n %% %") \
    X("{braces|bars} {{}}") \
    X("std::vector<int>::at") \
    X("f(int, char)") \
    X("$dollar $0 ${x}") \
    X("#hash ; semicolon // /* comment */") \
    X("'single' `back`") \
    X("a/b/c.d-e_f") \
    X("@at !bang ~tilde ^caret &and") \
    X("[square] <angle> = + ? ??") \
    X("grüße, 世界 λ → 🚀") \
    X(" leading and trailing ") \
    X("tab	inside") \
    X("solve__begin") \
    X("solve__end") \
    X("_one underscore") \
    X("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd")

static long calls[64];

#define BLOCK(text) \
    { \
        SP_REGION(text); \
        calls[i++]++; \
    }
#define PAIR(text) \
    SP_BEGIN_NAMED(text); \
    calls[i++]++; \
    SP_END_NAMED(text);
#define PRINT(text) truth_calls(text, calls[i++]);

int main(int argc, char **argv)
{
    long count = truth_arg(argc, argv, 1, 10);
    int i;

    for (long n = 0; n < count; n++) {
        i = 0;
        EACH_NAME(BLOCK)
        i = 0;
        EACH_NAME(PAIR)
    }
    truth_open("names");
    i = 0;
    EACH_NAME(PRINT)
    truth_mid();
    truth_number("names", i);
    truth_close();
    return 0;
}
