/* bench_peaks.c - the ceilings: multiply-adds in registers and reads from memory, each with the widest instructions that the
   processor has, whatever the flags of the compiler. */
#include "bench.h"

#define CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define CHAIN_COUNT 12 /* independent, as many as hide the latency of a multiply-add */
#define STREAMS(X) X(0) X(1) X(2) X(3)
#define STREAM_COUNT 4
#define ROUNDS 2000000
#define SLICE_BYTES ((size_t)(THREADS < 4 ? 128 : 64) << 20) /* of a thread: more than its part of any cache */
#define READ_BYTES (THREADS * SLICE_BYTES)
#define TRIES 15                       /* the median counts, as for the cases: a processor's clock comes and goes */

#define DECLARE_CHAIN(k) lanes x##k = zero + (scalar)k;
#define STEP_CHAIN(k) x##k = x##k * scale + term;
#define ADD_CHAIN(k) sum += x##k;
#define DECLARE_STREAM(k) words s##k = zero;
#define STEP_STREAM(k) s##k ^= at[i + k];
#define ADD_STREAM(k) sum ^= s##k;

#define MULTIPLY_ADDS(name, real, width, target)                                                                               \
    target static double name(double factor) {                                                                                 \
        typedef real scalar, lanes __attribute__((vector_size(width)));                                                        \
        lanes zero = {0}, scale = zero + (scalar)factor, term = zero + (scalar)1, sum = zero;                                  \
        long round;                                                                                                            \
        CHAINS(DECLARE_CHAIN)                                                                                                  \
        for (round = 0; round < ROUNDS; round++) {                                                                             \
            CHAINS(STEP_CHAIN)                                                                                                 \
        }                                                                                                                      \
        CHAINS(ADD_CHAIN)                                                                                                      \
        return (double)sum[0];                                                                                                 \
    }

/* memory: a multiple of 512 bytes. */
#define READS(name, width, target)                                                                                             \
    target static double name(const void *memory, size_t bytes) {                                                              \
        typedef uint64_t words __attribute__((vector_size(width)));                                                            \
        const words *at = (const words *)memory;                                                                               \
        words zero = {0}, sum = zero;                                                                                          \
        size_t i;                                                                                                              \
        STREAMS(DECLARE_STREAM)                                                                                                \
        for (i = 0; i < bytes / width; i += STREAM_COUNT) {                                                                    \
            STREAMS(STEP_STREAM)                                                                                               \
        }                                                                                                                      \
        STREAMS(ADD_STREAM)                                                                                                    \
        return (double)sum[0];                                                                                                 \
    }

#define LOOPS(width, target)                                                                                                   \
    MULTIPLY_ADDS(floats_##width, float, width, target)                                                                        \
    MULTIPLY_ADDS(doubles_##width, double, width, target)                                                                      \
    READS(reads_##width, width, target)

typedef struct loops {
    int width;
    double (*multiply_adds[2])(double factor);
    double (*reads)(const void *memory, size_t bytes);
} loops;

/* clang-format off */
LOOPS(16, )
#if defined(__x86_64__) || defined(__i386__)
LOOPS(32, __attribute__((target("avx2,fma"))))
LOOPS(64, __attribute__((target("avx512f"))))
#endif
/* clang-format on */

static loops widest(void) {
    loops l = {16, {floats_16, doubles_16}, reads_16};
#if defined(__x86_64__) || defined(__i386__)
    static const loops l32 = {32, {floats_32, doubles_32}, reads_32};
    static const loops l64 = {64, {floats_64, doubles_64}, reads_64};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) l = l32;
    if (__builtin_cpu_supports("avx512f")) l = l64;
#endif
    return l;
}

/* The seconds in which every thread does its share: multiply-adds of its own, or a slice of the memory. */
static double usual_seconds(const loops *l, int wide, const unsigned char *memory, int threads, int tries) {
    volatile double factor = 0.5, kept;
    double seconds[TRIES], sum = 0;
    size_t slice = READ_BYTES / (size_t)threads; /* threads: 1 or THREADS */
    bench_work w = SHS_ZERO;
    int run, t;
    w.wall = threads > 1;
    for (run = 0; run < tries; run++) {
        double start = bench_now(&w);
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) reduction(+ : sum) schedule(static, 1)
#endif
        for (t = 0; t < threads; t++) {
            if (memory) sum += l->reads(memory + (size_t)t * slice, slice);
            else sum += l->multiply_adds[wide](factor);
        }
        seconds[run] = bench_now(&w) - start;
    }
    kept = sum;
    (void)kept;
    return bench_median(seconds, tries);
}

double bench_all_cores(void) {
    loops l = widest();
    double one = usual_seconds(&l, 0, NULL, 1, TRIES / 3);
    return THREADS * one / usual_seconds(&l, 0, NULL, THREADS, TRIES / 3);
}

double bench_enough_cores(const bench_peaks *peaks) {
    const double enough = 0.925;
    if (THREADS == 2) return enough * 2;
    return enough * (peaks->flops[0][1] / peaks->flops[0][0]);
}

bench_peaks bench_measure_peaks(void) {
    static const int counts[2] = {1, THREADS};
    static const double sizes[2] = {sizeof(float), sizeof(double)};
    bench_peaks peaks = SHS_ZERO;
    loops l = widest();
    bench_work w = SHS_ZERO;
    unsigned char *memory = bench_hold(&w, 0, READ_BYTES + 64);
    const unsigned char *aligned = memory + (64 - (uintptr_t)memory % 64) % 64;
    int many, wide;
    memset(memory, 1, READ_BYTES + 64);
    peaks.vector_bytes = l.width;
    for (many = 0; many < 2; many++) {
        const int threads = counts[many];
        for (wide = 0; wide < 2; wide++) {
            double lanes = (double)l.width / sizes[wide];
            peaks.flops[wide][many] =
                2 * lanes * CHAIN_COUNT * (double)ROUNDS * threads / usual_seconds(&l, wide, NULL, threads, TRIES);
        }
        peaks.bytes[many] = (double)READ_BYTES / usual_seconds(&l, 0, aligned, threads, TRIES);
    }
    free(memory);
    return peaks;
}
