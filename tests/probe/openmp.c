// SPDX-License-Identifier: GPL-2.0-only
/* Regions in OpenMP constructs, variable-length frames and statement expressions: C and C++. */
#include "../apps/truth.h"
#include "scope_probe.h"

static long in_loop, in_single, in_for, in_task, in_simd, in_vla, in_expression, in_parallel;

static int frame_of(int n)
{
    int v[n];

    v[0] = 1;
    SP_PROBE(vla);
#pragma omp atomic
    in_vla++;
    return __extension__({
        SP_PROBE(expression);
#pragma omp atomic
        in_expression++;
        v[0] + n;
    });
}

static void constructs(void)
{
#pragma omp parallel
    {
        SP_PROBE(parallel);
#pragma omp atomic
        in_parallel++;
#pragma omp single
        {
            SP_PROBE(single);
            in_single++;
        }
#pragma omp for
        for (int i = 0; i < 6; i++) {
            SP_REGION("omp for");
#pragma omp atomic
            in_for++;
        }
    }
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 5; i++)
#pragma omp task
    {
        SP_PROBE(task);
#pragma omp atomic
        in_task++;
        frame_of(2);
    }
}

int main(void)
{
    long sum = 0;

#pragma omp parallel for reduction(+ : sum, in_loop)
    for (int i = 0; i < 50; i++) {
        SP_PROBE(loop);
        SP_PROBE_DYNAMIC("loop, by a dynamic name");
        in_loop++;
        sum += frame_of(3 + i % 5);
    }
    constructs();
#pragma omp simd
    for (int i = 0; i < 8; i++) {
        SP_BEGIN(simd);
        in_simd++;
        SP_END(simd);
    }
    truth_open("openmp");
    truth_calls("loop", in_loop);
    truth_calls("loop, by a dynamic name", in_loop);
    truth_calls("vla", in_vla);
    truth_calls("expression", in_expression);
    truth_calls("parallel", in_parallel);
    truth_calls("single", in_single);
    truth_calls("omp for", in_for);
    truth_calls("task", in_task);
    truth_calls("simd", in_simd);
    truth_mid();
    truth_number("sum", sum);
    truth_close();
    return 0;
}
