/* peak.h - measures the peak of one core by independent multiply-adds in registers, with the widest instructions of the core.
   gcc makes one instruction of each in GNU mode only (-std=gnu99), not with -std=c99. Include example.h before it. */
#ifndef EXAMPLE_PEAK_H
#define EXAMPLE_PEAK_H

#if defined(__GNUC__) || defined(__clang__)
#define PEAK_CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define PEAK_DECLARE(k) lanes x##k = zero + (scalar)k;
#define PEAK_STEP(k) x##k = x##k * scaling + term;
#define PEAK_ADD(k) sum += x##k;
#define PEAK_LOOP(name, real, width, target)                                                                                   \
    target static double name(double factor, long rounds) {                                                                    \
        typedef real scalar, lanes __attribute__((vector_size(width)));                                                        \
        lanes zero = {0}, scaling = zero + (scalar)factor, term = zero + (scalar)1, sum = zero;                                \
        PEAK_CHAINS(PEAK_DECLARE)                                                                                              \
        while (rounds-- > 0) {                                                                                                 \
            PEAK_CHAINS(PEAK_STEP)                                                                                             \
        }                                                                                                                      \
        PEAK_CHAINS(PEAK_ADD)                                                                                                  \
        return (double)sum[0];                                                                                                 \
    }
/* clang-format off */
PEAK_LOOP(peak_f32_16, float, 16, )
PEAK_LOOP(peak_f64_16, double, 16, )
#if defined(__x86_64__) || defined(__i386__)
PEAK_LOOP(peak_f32_32, float, 32, __attribute__((target("avx2,fma"))))
PEAK_LOOP(peak_f64_32, double, 32, __attribute__((target("avx2,fma"))))
PEAK_LOOP(peak_f32_64, float, 64, __attribute__((target("avx512f"))))
PEAK_LOOP(peak_f64_64, double, 64, __attribute__((target("avx512f"))))
#endif
/* clang-format on */

/* Operations a second, a multiply-add being two. 0: not measured. */
static inline double peak_of_core(int in_double) {
    double (*loop)(double, long) = peak_f32_16;
    double bytes = 4, width = 16, least = 0; /* another program that takes the core for a while does not lower the ceiling */
    enum { ROUNDS = 1000000 };
    volatile double factor = 0.5, kept;
    int i;
    if (in_double) {
        loop = peak_f64_16;
        bytes = 8;
    }
#if defined(__x86_64__) || defined(__i386__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        if (in_double) loop = peak_f64_32;
        else loop = peak_f32_32;
        width = 32;
    }
    if (__builtin_cpu_supports("avx512f")) {
        if (in_double) loop = peak_f64_64;
        else loop = peak_f32_64;
        width = 64;
    }
#endif
    for (i = 0; i < 30; i++) {
        double start = wall_clock(), seconds;
        kept = loop(factor, ROUNDS);
        seconds = wall_clock() - start;
        if (!i || seconds < least) least = seconds;
    }
    (void)kept;
    if (!(least > 0)) return 0; /* a clock of whole seconds */
    return 2 * 12 * (width / bytes) * ROUNDS / least;
}
#else
static inline double peak_of_core(int in_double) {
    (void)in_double;
    return 0;
}
#endif

#endif
