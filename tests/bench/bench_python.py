"""What Python costs: Batch-OMP of 100,000 signals through examples/python and by a program in C with the same flags, in turn; medians of
the user's time of one call, in float. From the project's root: python3 tests/bench/bench_python.py [ROUNDS]"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "python"))
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#define SPARSEHS_STATIC
#define SPARSEHS_IMPLEMENTATION
#include "sparsehs.h"
static double seconds(void) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)r.ru_utime.tv_sec + 1e-6 * (double)r.ru_utime.tv_usec;
}
int main(int argc, char **argv) {
    enum { p = 64, n = 256, s = 6, m = 100000 };
    shs_real *D = malloc(sizeof *D * p * n), *Y = malloc(sizeof *Y * p * m);
    shs_context ctx = SHS_ZERO;
    FILE *file = fopen(argv[1], "rb");
    double from = 0;
    int calls = atoi(argv[2]), i;
    (void)argc;
    ctx.threads = 1;
    if (!file || fread(D, sizeof *D, p * n, file) != p * n || fread(Y, sizeof *Y, p * m, file) != (size_t)p * m) return 1;
    for (i = -1; i < calls; i++) {
        shs_codes codes;
        shs_omp_options options = SHS_ZERO;
        options.sparsity = s;
        if (i == 0) from = seconds();
        if (shs_codes_create(&ctx, m, s, &codes) || shs_omp_ex(&ctx, p, n, D, p, m, Y, p, &options, &codes, NULL, NULL)) return 1;
        shs_codes_free(&ctx, &codes);
    }
    printf("%.6f\n", (seconds() - from) / calls);
    return 0;
}
"""
CALLS = 8


def main():
    if sys.argv[1:2] == ["one"]:
        import sparsehs
        values = np.fromfile(sys.argv[2], np.float32)
        D, Y = values[:256 * 64].reshape(256, 64), values[256 * 64:].reshape(-1, 64)
        sparsehs.omp(D, Y, 6, threads=1)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        for _ in range(CALLS):
            sparsehs.omp(D, Y, 6, threads=1)
        print((resource.getrusage(resource.RUSAGE_SELF).ru_utime - before) / CALLS)
        return
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory() as folder:
        data, program = os.path.join(folder, "data"), os.path.join(folder, "program")
        with open(program + ".c", "w") as file:
            file.write(PROGRAM)
        subprocess.run([shutil.which("cc"), "-O2", "-fopenmp", "-I.", program + ".c", "-o", program, "-lm"], check=True)
        rng = np.random.default_rng(1)
        D = rng.standard_normal((256, 64))
        D /= np.linalg.norm(D, axis=1, keepdims=True)
        np.concatenate([D.ravel(), rng.standard_normal(100000 * 64)]).astype(np.float32).tofile(data)
        ways = {"C": [program, data, str(CALLS)], "Python": [sys.executable, __file__, "one", data]}
        times = {name: [] for name in ways}
        for _ in range(rounds):
            for name, command in ways.items():
                times[name].append(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    c, python = (float(np.median(times[name])) for name in ways)
    print("C %.2f ms, Python %.2f ms a call: %+.1f %% (medians of %d)" % (1e3 * c, 1e3 * python, 100 * (python / c - 1), rounds))


main()
