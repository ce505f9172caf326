/* differential.h - what the builds of the library and the program that compares them share. */
#ifndef SHS_DIFFERENTIAL_H
#define SHS_DIFFERENTIAL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* A problem: what is computed, and the seed of its sizes, strides and values, which are the same in every build. */
typedef struct problem {
    int kind;
    uint64_t seed;
} problem;

/* What came out, as double: each value may differ from the reference by `unit` times the spacing of the build's reals at 1. */
typedef struct result {
    double *values, unit;
    size_t count, room;
} result;

typedef struct build {
    const char *name;
    int kinds;
    double eps;    /* of its reals */
    int instances; /* of the kernels that it has and the processor too */
    int (*has)(int instance);
    void (*run)(const problem *p, int instance, int naive, result *r);
} build;

static inline void broken_at(const char *file, int line, const char *what) {
    fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, what);
    abort();
}
#define must(condition) ((condition) ? (void)0 : broken_at(__FILE__, __LINE__, #condition))

#endif
