/* differential.c - builds of the library against each other: float and double, with and without vectors, kernels chosen by
   flags and at run time, no double at all. Each solves the same random problems at the sizes where code takes another path,
   between guard pages (build.c), and is compared with the naive twins in double. A program of its own rather than libFuzzer's:
   the inputs are sizes and seeds, and coverage would not lead it.

       differential SECONDS [SEED [NUMBER]]      NUMBER: that problem alone */
#define _DEFAULT_SOURCE
#include <math.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "differential.h"

extern const build build_plain, build_wide, build_plain_nosimd, build_wide_nosimd, build_plain_nodispatch, build_nodouble;
static const build *const builds[] = {
    &build_plain, &build_wide, &build_plain_nosimd, &build_wide_nosimd, &build_plain_nodispatch, &build_nodouble};
enum { BUILDS = sizeof builds / sizeof *builds };

/* Where we are, for whoever dies on the way. */
static char where[160];

static void ended(int signal_number) {
    (void)signal_number;
    if (write(2, where, strlen(where)) < 0) _exit(2);
    _exit(1);
}

static void compare(const build *b, const result *mine, const result *theirs) {
    size_t i;
    must(mine->count == theirs->count || theirs->count == 0);
    for (i = 0; i < theirs->count; i++) {
        double x = mine->values[i], y = theirs->values[i];
        double bound = mine->unit * b->eps * fmax(1, fabs(y)), apart = fabs(x - y);
        if (!(apart <= bound)) {
            fprintf(stderr, "value %lu: %.17g, not %.17g: %.3g apart, %.3g may be\n", (unsigned long)i, x, y, apart, bound);
            abort();
        }
    }
}

static void solve(unsigned long seed, unsigned long number) {
    static result reference, mine;
    problem p;
    int k, instance;
    p.kind = number % builds[0]->kinds;
    p.seed = ((uint64_t)seed << 32) + number;
    builds[1]->run(&p, 0, 1, &reference);
    for (k = 0; k < BUILDS; k++)
        for (instance = 0; instance < builds[k]->instances; instance++) {
            if (!builds[k]->has(instance)) continue;
            snprintf(where, sizeof where, "differential 0 %lu %lu: build %s, instance %d, kind %d\n", seed, number,
                     builds[k]->name, instance, p.kind);
            builds[k]->run(&p, instance, 0, &mine);
            compare(builds[k], &mine, &reference);
        }
}

int main(int argc, char **argv) {
    double seconds = 5;
    unsigned long seed = 1, number = 0;
    time_t start = time(NULL);
    if (argc > 1) seconds = atof(argv[1]);
    if (argc > 2) seed = strtoul(argv[2], NULL, 10);
    signal(SIGSEGV, ended);
    signal(SIGBUS, ended);
    signal(SIGABRT, ended);
    signal(SIGFPE, ended);
    if (argc > 3) solve(seed, strtoul(argv[3], NULL, 10));
    else
        for (; difftime(time(NULL), start) < seconds; number++) solve(seed, number);
    printf("differential: problems without a difference in %d builds: %lu\n", BUILDS, number);
    return 0;
}
