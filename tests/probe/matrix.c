// SPDX-License-Identifier: GPL-2.0-only
/* The program that is built by each compiler, at each level, with each linker: C and C++. It prints its truth, one line
 * per region statement that it ran through: COUNT LINE FILE NAME. */
#include "matrix.h"

#include <stdio.h>
#include <string.h>

#define TRUTHS 64
static struct {
    const char *name, *file;
    int line, count;
} truths[TRUTHS];
volatile int sink;

#ifdef __cplusplus
extern "C"
#endif
void truth(const char *name, const char *file, int line)
{
    int i;

    for (i = 0; i < TRUTHS && truths[i].name; i++)
        if (truths[i].line == line && !strcmp(truths[i].name, name) && !strcmp(truths[i].file, file))
            break;
    truths[i].name = name;
    truths[i].file = file;
    truths[i].line = line;
    truths[i].count++;
}

static int nested(int n)
{
    SP_PROBE(outer); TRUTH("outer");
    for (int i = 0; i < n; i++) {
        SP_PROBE(inner); TRUTH("inner");
        if (i == 3)
            continue;
        if (i == 5)
            break;
        sink = sink + i;
    }
    {
        SP_PROBE(linux); TRUTH("linux");
        SP_PROBE(twice); TRUTH("twice");
        SP_PROBE(twice); TRUTH("twice");
    }
    return sink;
}

static int leave_by_goto(int n)
{
    {
        SP_PROBE(with_goto); TRUTH("with_goto");
        if (n)
            goto out;
        sink = sink + 1;
    }
out:
    return n;
}

static int pick(int n)
{
    switch (n) {
    case 1: {
        SP_PROBE(in_case); TRUTH("in_case");
        return 1;
    }
    default:
        return 2;
    }
}

static void pairs(int n)
{
    SP_BEGIN(pair); TRUTH("pair");
    SP_BEGIN_NAMED("named pair: é"); TRUTH("named pair: é");
    sink = sink + n;
    SP_END_NAMED("named pair: é");
    SP_END(pair);
}

static void dynamic(const char *name)
{
    SP_PROBE_DYNAMIC(name); TRUTH("__dynamic");
    SP_BEGIN_DYNAMIC(name); TRUTH("__dynamic__open");
    sink = sink + 1;
    SP_END_DYNAMIC(name);
}

__attribute__((noinline)) static int same_code_a(int x)
{
    SP_PROBE(same_a);
    return x * 3;
}

__attribute__((noinline)) static int same_code_b(int x)
{
    SP_PROBE(same_b);
    return x * 3;
}

/* nobody calls it: --gc-sections may drop it */
void never_called(void);
void never_called(void)
{
    SP_PROBE(never_called);
    sink = sink + 1;
}

#ifdef __cplusplus
template <class T> __attribute__((noinline)) T templated(T x)
{
    SP_PROBE(templated); TRUTH("templated");
    return x + 1;
}

struct holder {
    int member(int x)
    {
        SP_REGION("holder::member(int)"); TRUTH("holder::member(int)");
#ifdef __EXCEPTIONS
        if (x > 1)
            throw x;
#endif
        return x;
    }
};

static void cxx(void)
{
    auto lambda = [](int x) {
        SP_PROBE(lambda); TRUTH("lambda");
        return x;
    };
    sink = lambda(1) + templated(1) + (int)templated(2.0) + templated('c');
#ifdef __EXCEPTIONS
    try {
        holder().member(sink);
    } catch (int) {
        SP_PROBE(caught); TRUTH("caught");
    }
#endif
}
#endif

int main(int argc, char **argv)
{
    nested(7);
    leave_by_goto(argc);
    pick(argc);
    pairs(argc);
    dynamic(argv[0]);
    for (int i = 0; i < 4; i++)
        sink = shared_inline(i);
    sink = shared_inline(argc) + other_unit(argc) + same_code_a(argc) + same_code_b(argc);
#ifdef __cplusplus
    cxx();
#endif
    for (int i = 0; i < TRUTHS && truths[i].name; i++)
        printf("%d %d %s %s\n", truths[i].count, truths[i].line, truths[i].file, truths[i].name);
    return 0;
}
