/* 6_everywhere.c - one source for a microcontroller, a processor, a device and a cluster; and why a sum has an order.

       make course LESSONS=6

   Three parts: ways to add up numbers, with the rate and the error of each; the same signals coded as a textbook, a group of
   work-items, a microcontroller and all threads would do it; threads and ranks, whose results are compared bit by bit. */
#include "course.h"
#ifdef EXAMPLE_POSIX
#include <sys/wait.h>
#endif

/* ---- sums, each a few lines away from the one before -------------------------------------------------------------- */

typedef double (*sum_fn)(size_t n, const float *x);

/* Rung 1. Each addition waits for the previous addition. The time is n times the latency of an addition, for any number of
   adders. The sum grows, and what is added to it loses digits. */
static double sum_plain(size_t n, const float *x) {
    float sum = 0;
    size_t i;
    for (i = 0; i < n; i++) sum += x[i];
    return sum;
}

/* Rung 2. Four sums that do not wait for each other. A compiler must not do this by itself, because another order rounds
   differently. */
static double sum_of_four(size_t n, const float *x) {
    float a = 0, b = 0, c = 0, d = 0;
    size_t i;
    for (i = 0; i + 4 <= n; i += 4) {
        a += x[i];
        b += x[i + 1];
        c += x[i + 2];
        d += x[i + 3];
    }
    for (; i < n; i++) a += x[i];
    return (a + b) + (c + d);
}

/* A tree: each step adds the upper half of the numbers to the lower half. count is a power of two; the result is in s[0]. */
static float tree_of(int count, float *s) {
    int half, i;
    for (half = count / 2; half > 0; half /= 2)
        for (i = 0; i < half; i++) s[i] += s[i + half];
    return s[0];
}

/* Rung 3. Work-items of a device: item i adds x[i], x[i + items], ..., so that neighbours read neighbours. Then a tree. What
   stands between two barriers in a kernel is a loop over the items here. */
enum { MOST_ITEMS = 64 };
static double sum_by_items(int items, size_t n, const float *x) {
    float local[MOST_ITEMS] = {0}; /* the group's local memory */
    const size_t apart = (size_t)items;
    size_t k, i;
    int item, half;
    for (k = 0; k < n; k += apart)
        for (i = 0; i < apart && k + i < n; i++) local[i] += x[k + i];
    /* barrier */
    for (half = items / 2; half > 0; half /= 2) {
        for (item = 0; item < items; item++)
            if (item < half) local[item] += local[item + half];
        /* barrier */
    }
    return local[0];
}

#if defined(__GNUC__) || defined(__clang__)
#define WITH_VECTORS
/* Rung 4. Four vectors hold one sum for each lane, and one instruction adds a vector. The order equals the order of 4 x lanes
   work-items, so the bits are equal too. Of each target one copy, as in peak.h. */
/* Rung 7. Kahan's sum in each lane. */
#define SUM_LOOPS(plain, kahan, width, target)                                                                                 \
    target static double plain(size_t n, const float *x) {                                                                     \
        typedef float lanes __attribute__((vector_size(width), aligned(4), may_alias));                                        \
        enum { LANES = width / 4 };                                                                                            \
        lanes a = {0}, b = a, c = a, d = a;                                                                                    \
        float s[4 * LANES];                                                                                                    \
        size_t i;                                                                                                              \
        for (i = 0; i + 4 * LANES <= n; i += 4 * LANES) {                                                                      \
            a += *(const lanes *)(x + i), b += *(const lanes *)(x + i + LANES);                                                \
            c += *(const lanes *)(x + i + 2 * LANES), d += *(const lanes *)(x + i + 3 * LANES);                                \
        }                                                                                                                      \
        *(lanes *)s = a, *(lanes *)(s + LANES) = b, *(lanes *)(s + 2 * LANES) = c, *(lanes *)(s + 3 * LANES) = d;              \
        for (; i < n; i++) s[i % (4 * LANES)] += x[i];                                                                         \
        return (double)tree_of(4 * LANES, s);                                                                                  \
    }                                                                                                                          \
    target static double kahan(size_t n, const float *x) {                                                                     \
        typedef float lanes __attribute__((vector_size(width), aligned(4), may_alias));                                        \
        enum { LANES = width / 4 };                                                                                            \
        lanes a = {0}, b = a, c = a, d = a, la = a, lb = a, lc = a, ld = a, y, t;                                              \
        float s[8 * LANES + 4 * LANES];                                                                                        \
        size_t i, rest = 8 * LANES;                                                                                            \
        for (i = 0; i + 4 * LANES <= n; i += 4 * LANES) {                                                                      \
            y = *(const lanes *)(x + i) - la, t = a + y, la = (t - a) - y, a = t;                                              \
            y = *(const lanes *)(x + i + LANES) - lb, t = b + y, lb = (t - b) - y, b = t;                                      \
            y = *(const lanes *)(x + i + 2 * LANES) - lc, t = c + y, lc = (t - c) - y, c = t;                                  \
            y = *(const lanes *)(x + i + 3 * LANES) - ld, t = d + y, ld = (t - d) - y, d = t;                                  \
        }                                                                                                                      \
        *(lanes *)s = a, *(lanes *)(s + LANES) = b, *(lanes *)(s + 2 * LANES) = c, *(lanes *)(s + 3 * LANES) = d;              \
        *(lanes *)(s + 4 * LANES) = -la, *(lanes *)(s + 5 * LANES) = -lb;                                                      \
        *(lanes *)(s + 6 * LANES) = -lc, *(lanes *)(s + 7 * LANES) = -ld;                                                      \
        for (; i < n; i++) s[rest++] = x[i];                                                                                   \
        return sum_kahan(rest, s);                                                                                             \
    }
#endif

/* Rung 6. Kahan: what an addition lost is measured, and taken off the next number. Four operations that wait for each other in
   place of one. The method relies on the written order of operations: with -ffast-math the loss would be 0. */
static double sum_kahan(size_t n, const float *x) {
    float sum = 0, lost = 0;
    size_t i;
    for (i = 0; i < n; i++) {
        float y = x[i] - lost, t = sum + y;
        lost = (t - sum) - y;
        sum = t;
    }
    return sum;
}

static sum_fn sum_vectors = sum_of_four;
static sum_fn sum_vectors_kahan = sum_kahan;
static int sum_items = 4; /* work-items that have the vectors' order */
#ifdef WITH_VECTORS
/* clang-format off */
SUM_LOOPS(sum_16, kahan_16, 16, )
#if defined(__x86_64__)
SUM_LOOPS(sum_32, kahan_32, 32, __attribute__((target("avx2"))))
SUM_LOOPS(sum_64, kahan_64, 64, __attribute__((target("avx512f"))))
#endif
/* clang-format on */
#endif

static void choose_vectors(void) {
#ifdef WITH_VECTORS
    sum_vectors = sum_16;
    sum_vectors_kahan = kahan_16;
    sum_items = 16;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        sum_vectors = sum_32;
        sum_vectors_kahan = kahan_32;
        sum_items = 32;
    }
    if (__builtin_cpu_supports("avx512f")) {
        sum_vectors = sum_64;
        sum_vectors_kahan = kahan_64;
        sum_items = 64;
    }
#endif
#endif
}
static double sum_as_items(size_t n, const float *x) { return sum_by_items(sum_items, n, x); }

/* Rung 5. Halves of halves, down to blocks of 4096 by vectors: a number takes part in few additions, and no sum is long. */
enum { BLOCK = 4096 };
static double sum_pairwise(size_t n, const float *x) {
    size_t half = BLOCK;
    if (n <= half) return sum_vectors(n, x);
    while (2 * half < n) half *= 2;
    return (double)((float)sum_pairwise(half, x) + (float)sum_pairwise(n - half, x + half));
}

/* Rung 8. Double: 29 bits more. A vector holds half as many, and each number has to be widened. */
static double sum_double(size_t n, const float *x) {
    double a = 0, b = 0, c = 0, d = 0;
    size_t i;
    for (i = 0; i + 4 <= n; i += 4) {
        a += x[i];
        b += x[i + 1];
        c += x[i + 2];
        d += x[i + 3];
    }
    for (; i < n; i++) a += x[i];
    return (a + b) + (c + d);
}

/* Rungs 9 and 10. The header: the kernel of its dot product, with ones; and its sums of pixels, of a cube of one band: blocks
   in shs_real, about a shift, which are added up in shs_wide. */
static shs_real *ones;
static shs_real *reals; /* the numbers as shs_real */
static double sum_by_dot(size_t n, const float *x) {
    (void)x;
    return (double)shs_dot((int)n, reals, 1, ones, 1);
}

static double sum_by_moments(size_t n, const float *x) {
    shs_context ctx = SHS_ZERO;
    shs_cube cube = SHS_ZERO;
    shs_moments m;
    double sum;
    ctx.threads = 1;
    cube.pixels = x;
    cube.type = SHS_TYPE_F32;
    cube.bands = 1;
    cube.lines = 1;
    cube.samples = (int)n;
    check(shs_moments_create(&ctx, 1, &m), "moments");
    check(shs_moments_update(&ctx, &cube, SHS_PRECISION_NEVER, &m), "moments");
    sum = m.sum[0] + m.count * m.shift[0];
    shs_moments_free(&ctx, &m);
    return sum;
}

/* Random multiples of 2^-24 in [0, 1): their sum is known exactly, as a whole number of them. */
static double draw_numbers(size_t n, uint64_t seed, float *x) {
    uint64_t whole = 0;
    shs_random random;
    size_t i;
    shs_random_seed(&random, seed);
    for (i = 0; i < n; i++) {
        uint64_t bits = shs_random_bits(&random) >> 40;
        whole += bits;
        x[i] = (float)ldexp((double)bits, -24);
        reals[i] = (shs_real)x[i];
    }
    return ldexp((double)whole, -24); /* below 2^53 units: exact */
}

typedef struct sum_job {
    sum_fn sum;
    size_t n;
    const float *x;
    double result;
} sum_job;
static void run_sum(void *argument) {
    sum_job *job = (sum_job *)argument;
    job->result = job->sum(job->n, job->x);
}

static void climb_sums(size_t n, float *x) {
    /* The most that n roundings can do, of a tree, and of sums that lose next to nothing. */
    double plain = ldexp((double)n, -24), tree = ldexp(BLOCK / sum_items + 6 + 20, -24), exact = ldexp(2, -24);
    const struct {
        const char *name;
        sum_fn sum;
        double allowed;
    } ways[] = {{"plain", sum_plain, plain},
                {"four sums", sum_of_four, plain / 4},
                {text_of("%d work-items and a tree", sum_items), sum_as_items, plain / sum_items + 1e-6},
                {"four vectors", sum_vectors, plain / sum_items + 1e-6},
                {"pairwise over blocks of 4096", sum_pairwise, tree},
                {"Kahan", sum_kahan, exact},
                {"Kahan in vectors", sum_vectors_kahan, exact},
                {"double; four sums", sum_double, ldexp((double)n, -53)},
                {"header: shs_dot with ones", sum_by_dot, plain},
                {"header: moments of one band", sum_by_moments, exact}};
    double truth = draw_numbers(n, 6, x), items = 0;
    size_t i;
    ladder_begin("sums", text_of("the sum of %zu floats on one thread", n), "billion values a second", 1e9,
                 peak_of_core(0) / 2);
    for (i = 0; i < sizeof ways / sizeof *ways; i++) {
        sum_job job = {ways[i].sum, n, x, 0};
        double seconds = median_seconds(run_sum, &job);
        rung(ways[i].name, (double)n, seconds);
        agrees("relative error", fabs(job.result / truth - 1), ways[i].allowed);
        if (ways[i].sum == sum_as_items) items = job.result;
        if (ways[i].sum == sum_vectors && sum_items > 4) agrees("the bits of the work-items", fabs(job.result - items), 0);
    }
    ladder_end();
}

static void draw_errors(size_t most, float *x) {
    const struct {
        const char *name;
        sum_fn sum;
    } ways[] = {{"plain", sum_plain},  {"four vectors", sum_vectors},   {"pairwise", sum_pairwise},
                {"Kahan", sum_kahan},  {"header: shs_dot", sum_by_dot}, {"header: moments", sum_by_moments},
                {"double", sum_double}};
    enum { WAYS = sizeof ways / sizeof *ways, STEPS = 11 };
    static double errors[WAYS][STEPS];
    size_t n, way;
    int step, steps = 0;
    for (n = 64; n <= most && steps < STEPS; n *= 4) {
        int tries = n <= 1 << 18 ? 8 : 1, k;
        for (k = 0; k < tries; k++) {
            double truth = draw_numbers(n, 100 + (uint64_t)k, x);
            for (way = 0; way < WAYS; way++) errors[way][steps] += pow(ways[way].sum(n, x) / truth - 1, 2) / tries;
        }
        steps++;
    }
    curve_begin("errors", "relative error of a sum of n floats in [0; 1)", "n", "relative error", "xy");
    printf("\nrelative errors of the sum of %.0f floats\n", 64 * pow(4, steps - 1));
    for (way = 0; way < WAYS; way++) {
        step = 0;
        for (n = 64; step < steps; step++) { /* less than 1e-12, and none, is drawn there */
            curve_point(ways[way].name, (double)n, fmax(sqrt(errors[way][step]), 1e-12));
            n *= 4;
        }
        printf("  %-20s %.1e\n", ways[way].name, sqrt(errors[way][steps - 1]));
    }
    curve_end();
}

/* ---- the order of a sum ------------------------------------------------------------------------------------------- */

enum { CHUNK = 4096 };

static size_t least(size_t a, size_t b) {
    if (a < b) return a;
    return b;
}

/* As many parts as threads: another number of threads adds in another order. */
static float sum_in_parts(int threads, size_t n, const float *x) {
    const size_t parts = (size_t)threads, part = (n + parts - 1) / parts;
    size_t first;
    float sum = 0;
    for (first = 0; first < n; first += part) sum += (float)sum_plain(least(part, n - first), x + first);
    return sum;
}

/* The size of a chunk depends on n alone, and the chunks are added in their order. Any thread may compute a chunk; the result
   is the same. */
static void sum_chunks(int threads, size_t n, const float *x, float *partial) {
    ptrdiff_t c, chunks = (ptrdiff_t)((n + CHUNK - 1) / CHUNK);
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic) num_threads(threads)
#endif
    for (c = 0; c < chunks; c++) {
        size_t first = (size_t)c * CHUNK;
        partial[c] = (float)sum_plain(least(CHUNK, n - first), x + first);
    }
    (void)threads;
}
static float sum_in_order(int threads, size_t n, const float *x, float *partial) {
    sum_chunks(threads, n, x, partial);
    return (float)sum_plain((n + CHUNK - 1) / CHUNK, partial);
}

/* Imitates atomic additions, which add the chunks in any order: here in a random order. */
static float sum_in_any_order(uint64_t seed, size_t n, const float *partial) {
    uint64_t chunks = (n + CHUNK - 1) / CHUNK, i;
    float sum = 0;
    for (i = 0; i < chunks; i++) sum += partial[shs_random_permuted(i, chunks, seed)];
    return sum;
}

static int distinct(int count, const float *values) {
    int i, k, found = 0;
    for (i = 0; i < count; i++) {
        for (k = 0; k < i && memcmp(&values[k], &values[i], sizeof *values) != 0; k++) {}
        found += k == i;
    }
    return found;
}

static void compare_orders(size_t n, float *x) {
    static const int threads[] = {1, 2, 3, 8};
    enum { COUNTS = sizeof threads / sizeof *threads, ORDERS = 100 };
    float parts[COUNTS], chunks[COUNTS], any[ORDERS], *partial = ALLOCATE(float, n / CHUNK + 1);
    double low = 0, high = 0;
    int i;
    draw_numbers(n, 7, x);
    printf("\n%zu floats, threads:", n);
    for (i = 0; i < COUNTS; i++) {
        parts[i] = sum_in_parts(threads[i], n, x);
        chunks[i] = sum_in_order(threads[i], n, x, partial);
    }
    for (i = 0; i < COUNTS; i++) printf("%16d", threads[i]);
    printf("\n  a part for each thread  ");
    for (i = 0; i < COUNTS; i++) printf("%16.9g", parts[i]);
    printf("\n  chunks in their order   ");
    for (i = 0; i < COUNTS; i++) printf("%16.9g", chunks[i]);
    for (i = 0; i < ORDERS; i++) {
        any[i] = sum_in_any_order((uint64_t)i, n, partial);
        if (!i || any[i] < low) low = any[i];
        if (!i || any[i] > high) high = any[i];
    }
    printf("\n  chunks in %d other orders: %d results, from %.9g to %.9g\n", ORDERS, distinct(ORDERS, any), low, high);
    agrees("chunks in their order: results beside the first", distinct(COUNTS, chunks) - 1, 0);
    agrees("a part for each thread: 1 / results", 1.0 / distinct(COUNTS, parts), 0.5);
    agrees("other orders: 1 / results", 1.0 / distinct(ORDERS, any), 0.5);
    free(partial);
}

/* ---- one signal: textbook, work-group, microcontroller, threads ---------------------------------------------------- */

enum { LENGTH = 32, ATOMS = 64, SPARSITY = 4, ITEMS = 32 };

static struct {
    size_t count;
    shs_real D[LENGTH * ATOMS], G[ATOMS * ATOMS];
    shs_real *signals; /* LENGTH x count */
    int *atoms, *before;
    shs_real *coefs, *coefs_before; /* SPARSITY x count; what is not used is 0 */
} coding;

static void draw_signals(void) {
    shs_random random;
    size_t i;
    int j, k;
    shs_random_seed(&random, 66);
    for (i = 0; i < LENGTH * ATOMS; i++) coding.D[i] = (shs_real)shs_random_normal(&random);
    check(shs_normalize_columns(LENGTH, ATOMS, coding.D, LENGTH, NULL), "atoms");
    check(shs_gemm(NULL, SHS_TRANS_YES, SHS_TRANS_NO, ATOMS, ATOMS, LENGTH, 1, coding.D, LENGTH, coding.D, LENGTH, 0, coding.G,
                   ATOMS),
          "Gram matrix");
    for (i = 0; i < coding.count; i++) {
        shs_real *y = coding.signals + i * LENGTH;
        for (j = 0; j < LENGTH; j++) y[j] = (shs_real)0.05 * (shs_real)shs_random_normal(&random);
        for (k = 0; k < 3; k++)
            shs_axpy(LENGTH, (shs_real)(1 + k), coding.D + LENGTH * shs_random_below(&random, ATOMS), 1, y, 1);
    }
}

/* Rung 1. The textbook: all products with the residual anew for each atom, in double. */
static void code_by_the_book(void *unused) {
    const shs_naive_rule rule = {SPARSITY, 0, NULL};
    shs_wide x[SPARSITY], r[LENGTH], scratch[SPARSITY * (LENGTH + SPARSITY)];
    size_t i;
    int k, used;
    (void)unused;
    for (i = 0; i < coding.count; i++) {
        shs_real *coefs = coding.coefs + i * SPARSITY;
        used = shs_omp_naive(LENGTH, ATOMS, coding.D, coding.signals + i * LENGTH, &rule, coding.atoms + i * SPARSITY, x, r,
                             scratch);
        memset(coefs, 0, SPARSITY * sizeof *coefs);
        for (k = 0; k < used; k++) coefs[k] = (shs_real)x[k];
    }
}

/* Rung 2. A kernel for a device, a signal a work-group. alpha = D'y and the vectors b_k = D'q_k lie in local memory, and each
   item has two of the 64 atoms. All that happens between two barriers is a loop over the items. The largest |alpha| is found by
   a tree; of equal ones the atom of the lowest number wins, whatever the order, so that the result does not depend on it. */
#define EACH_ITEM for (item = 0; item < ITEMS; item++)
static void code_in_a_group(const shs_real *y, int *atoms, shs_real *coefs) {
    shs_real alpha[ATOMS], b[SPARSITY][ATOMS], best[ITEMS], L[SPARSITY][SPARSITY], t[SPARSITY]; /* local memory */
    int where[ITEMS], item, half, i, j, k;
    EACH_ITEM for (j = item; j < ATOMS; j += ITEMS) {
        alpha[j] = 0;
        for (i = 0; i < LENGTH; i++) alpha[j] += coding.D[i + j * LENGTH] * y[i];
    }
    /* barrier */
    for (k = 0; k < SPARSITY; k++) {
        int chosen;
        shs_real d2;
        EACH_ITEM {
            best[item] = -1;
            where[item] = item;
            for (j = item; j < ATOMS; j += ITEMS) {
                shs_real size = alpha[j];
                if (size < 0) size = -size;
                if (size > best[item]) {
                    best[item] = size;
                    where[item] = j;
                }
            }
        }
        for (half = ITEMS / 2; half > 0; half /= 2) { /* barrier */
            EACH_ITEM if (item < half) {
                int other = item + half, wins = best[other] > best[item];
                if (wins || (!(best[other] < best[item]) && where[other] < where[item])) {
                    best[item] = best[other];
                    where[item] = where[other];
                }
            }
        }
        /* barrier; what follows each item computes for itself, from what all see */
        chosen = atoms[k] = where[0];
        d2 = coding.G[chosen + chosen * ATOMS];
        for (i = 0; i < k; i++) {
            L[k][i] = b[i][chosen];
            d2 -= L[k][i] * L[k][i];
        }
        L[k][k] = (shs_real)sqrt(d2);
        t[k] = alpha[chosen] / L[k][k];
        /* barrier: all have read alpha of the chosen atom before it changes */
        EACH_ITEM for (j = item; j < ATOMS; j += ITEMS) {
            shs_real value = coding.G[j + chosen * ATOMS];
            for (i = 0; i < k; i++) value -= L[k][i] * b[i][j];
            b[k][j] = value / L[k][k];
            alpha[j] -= t[k] * b[k][j];
        }
        /* barrier */
    }
    for (k = SPARSITY - 1; k >= 0; k--) { /* item 0: solve L'x = t */
        coefs[k] = t[k];
        for (i = k + 1; i < SPARSITY; i++) coefs[k] -= L[i][k] * coefs[i];
        coefs[k] /= L[k][k];
    }
}
static void code_by_groups(void *unused) {
    size_t group;
    (void)unused;
    for (group = 0; group < coding.count; group++)
        code_in_a_group(coding.signals + group * LENGTH, coding.atoms + group * SPARSITY, coding.coefs + group * SPARSITY);
}

/* Rungs 3 and 4. The calls of a microcontroller: no context, heap or threads; all scratch lies in one static buffer of a size
   known to the compiler. First from the dictionary alone, then with the Gram matrix, which takes 16 KB of flash. */
static void code_one_direct(void *unused) {
    static unsigned char room[SHS_OMP_ONE_DIRECT_WORKSPACE(LENGTH, ATOMS, SPARSITY)];
    shs_omp_options options = SHS_ZERO;
    size_t i;
    (void)unused;
    options.sparsity = SPARSITY;
    for (i = 0; i < coding.count; i++) {
        shs_real *coefs = coding.coefs + i * SPARSITY;
        int used;
        memset(coefs, 0, SPARSITY * sizeof *coefs);
        check(shs_omp_one_direct(LENGTH, ATOMS, coding.D, LENGTH, coding.signals + i * LENGTH, &options, room, sizeof room,
                                 coding.atoms + i * SPARSITY, coefs, &used, NULL),
              "one signal");
    }
}
static void code_one_by_gram(void *unused) {
    static unsigned char room[SHS_OMP_ONE_WORKSPACE(ATOMS, SPARSITY)];
    static shs_real alpha[ATOMS];
    shs_omp_options options = SHS_ZERO;
    size_t i;
    (void)unused;
    options.sparsity = SPARSITY;
    for (i = 0; i < coding.count; i++) {
        const shs_real *y = coding.signals + i * LENGTH;
        shs_real *coefs = coding.coefs + i * SPARSITY;
        int used;
        memset(coefs, 0, SPARSITY * sizeof *coefs);
        check(shs_gemv(SHS_TRANS_YES, LENGTH, ATOMS, 1, coding.D, LENGTH, y, 1, 0, alpha, 1), "correlations");
        check(shs_omp_one(ATOMS, coding.G, ATOMS, alpha, shs_dot(LENGTH, y, 1, y, 1), &options, room, sizeof room,
                          coding.atoms + i * SPARSITY, coefs, &used, NULL),
              "one signal");
    }
}

/* Rungs 5 and 6. All signals in one call: the correlations of many signals are one matrix product. Its heap is an arena over
   a buffer of the caller's, which may be static. Then threads. */
static void code_all(void *argument) {
    shs_context ctx = *(const shs_context *)argument;
    shs_codes codes;
    size_t i, k;
    check(shs_codes_create(&ctx, coding.count, SPARSITY, &codes), "codes");
    check(shs_omp(&ctx, LENGTH, ATOMS, coding.D, coding.count, coding.signals, SPARSITY, &codes), "all signals");
    for (i = 0; i < coding.count; i++) {
        const size_t used = (size_t)codes.used[i];
        for (k = 0; k < SPARSITY; k++) {
            size_t to = i * SPARSITY + k, from = values_of(i, codes.stride) + k;
            coding.atoms[to] = codes.atoms[from];
            if (k < used) coding.coefs[to] = codes.coefs[from];
            else coding.coefs[to] = 0;
        }
    }
    shs_codes_free(&ctx, &codes);
}

static void coding_rung(const char *name, work_fn work, void *argument, double allowed) {
    double seconds, differ = 0, most = 0;
    size_t i, k;
    memset(coding.atoms, 0, coding.count * SPARSITY * sizeof *coding.atoms);
    seconds = median_seconds(work, argument);
    rung(name, (double)coding.count, seconds);
    for (i = 0; i < coding.count && allowed >= 0; i++) {
        size_t at = i * SPARSITY;
        if (memcmp(coding.atoms + at, coding.before + at, SPARSITY * sizeof *coding.atoms) != 0) differ++;
        else
            for (k = 0; k < SPARSITY; k++)
                most = larger_of(most, fabs(coding.coefs[at + k] - coding.coefs_before[at + k]));
    }
    if (allowed >= 0) {
        double allowed_share = 0.002;
        if (allowed == 0) allowed_share = 0;
        agrees("signals with other atoms than the rung before", differ / (double)coding.count, allowed_share);
        agrees("coefficients of the others", most, allowed);
    }
    memcpy(coding.before, coding.atoms, coding.count * SPARSITY * sizeof *coding.atoms);
    memcpy(coding.coefs_before, coding.coefs, coding.count * SPARSITY * sizeof *coding.coefs);
}

static void climb_coding(void) {
    shs_context ctx = SHS_ZERO;
    shs_omp_options options = SHS_ZERO;
    shs_arena arena;
    void *memory;
    size_t size, values = coding.count * SPARSITY;
    options.sparsity = SPARSITY;
    coding.signals = ALLOCATE(shs_real, coding.count * LENGTH);
    coding.atoms = ALLOCATE(int, values);
    coding.before = ALLOCATE(int, values);
    coding.coefs = ALLOCATE(shs_real, values);
    coding.coefs_before = ALLOCATE(shs_real, values);
    draw_signals();
    ladder_begin("coding", text_of("%d of %d atoms for signals of %d values", SPARSITY, ATOMS, LENGTH),
                 "thousand signals a second", 1e3, 0);
    coding_rung("by the book: shs_omp_naive", code_by_the_book, NULL, -1);
    coding_rung(text_of("a group of %d work-items; simulated", ITEMS), code_by_groups, NULL, 1e-4);
    coding_rung("shs_omp_one_direct in a static buffer", code_one_direct, NULL, 1e-4);
    coding_rung("shs_omp_one in a static buffer", code_one_by_gram, NULL, 1e-4);
    ctx.threads = course_threads();
    size = shs_omp_workspace(&ctx, LENGTH, ATOMS, coding.count, SPARSITY, &options) + values * 16 + coding.count * 8 + 4096;
    memory = ALLOCATE(unsigned char, size); /* where there is no heap, a static array */
    shs_arena_init(&arena, memory, size);
    shs_arena_attach(&arena, &ctx);
    ctx.threads = 1;
    coding_rung("shs_omp in an arena", code_all, &ctx, 1e-4);
    ctx.threads = course_threads();
    coding_rung(text_of("shs_omp in an arena; %d threads", ctx.threads), code_all, &ctx, 0);
    ladder_end();
    printf("    bytes of scratch for one signal: %zu, without a Gram matrix %zu\n",
           (size_t)SHS_OMP_ONE_WORKSPACE(ATOMS, SPARSITY), (size_t)SHS_OMP_ONE_DIRECT_WORKSPACE(LENGTH, ATOMS, SPARSITY));
    agrees("the constant expression is what the query says",
           fabs((double)SHS_OMP_ONE_WORKSPACE(ATOMS, SPARSITY) - (double)shs_omp_one_workspace(ATOMS, &options)), 0);
    free(memory);
    free(coding.signals);
    free(coding.atoms);
    free(coding.before);
    free(coding.coefs);
    free(coding.coefs_before);
}

/* ---- the header's threads, and a job system of one's own ------------------------------------------------------------ */

enum { BANDS = 24, LINES = 96, SAMPLES = 128 };
static float float_pixels[BANDS * LINES * SAMPLES];
static unsigned char byte_pixels[BANDS * LINES * SAMPLES];

static shs_cube some_lines(int bytes, int first, int lines) {
    shs_cube cube = SHS_ZERO;
    size_t at = elements(first, SAMPLES * BANDS);
    if (bytes) {
        cube.pixels = byte_pixels + at;
        cube.type = SHS_TYPE_U8;
    } else {
        cube.pixels = float_pixels + at;
        cube.type = SHS_TYPE_F32;
    }
    cube.interleave = SHS_INTERLEAVE_BIP;
    cube.bands = BANDS;
    cube.lines = lines;
    cube.samples = SAMPLES;
    return cube;
}

static void draw_cube(void) {
    shs_random random;
    int b, k;
    shs_random_seed(&random, 666);
    for (k = 0; k < LINES * SAMPLES; k++) {
        double a = shs_random_normal(&random);
        for (b = 0; b < BANDS; b++) {
            double value = 120 + 15 * a * cos(0.2 * b) + 5 * shs_random_normal(&random);
            float_pixels[b + k * BANDS] = (float)value;
            byte_pixels[b + k * BANDS] = (unsigned char)fmin(fmax(value, 0), 255);
        }
    }
}

/* A job system: chunks from the last to the first, dealt to workers in turn. The library asks for no order. */
static void run_backwards(void *user, size_t chunks, int threads, shs_chunk_fn body, void *arg) {
    (void)user;
    while (chunks-- > 0) body(arg, chunks, (int)(chunks % (size_t)threads));
}

static void compare_threads(void) {
    static const int threads[] = {1, 2, 3, 8, -3}; /* below 0: by the job system */
    static shs_wide mean[BANDS], first[BANDS * BANDS], C[BANDS * BANDS];
    shs_cube cube = some_lines(0, 0, LINES);
    double differ = 0;
    size_t i;
    for (i = 0; i < sizeof threads / sizeof *threads; i++) {
        shs_context ctx = SHS_ZERO;
        shs_moments m;
        ctx.threads = abs(threads[i]);
        if (threads[i] < 0) ctx.parallel_fn = run_backwards;
        check(shs_moments_create(&ctx, BANDS, &m), "moments");
        check(shs_moments_update(&ctx, &cube, SHS_PRECISION_NEVER, &m), "moments");
        check(shs_moments_finish(&m, SHS_DIVISOR_N, mean, C, BANDS), "moments");
        shs_moments_free(&ctx, &m);
        if (!i) memcpy(first, C, sizeof C);
        differ += memcmp(first, C, sizeof C) != 0;
    }
    printf("\na covariance by 1, 2, 3, 8 threads, and by a job system that runs backwards\n");
    agrees("results whose bits differ", differ, 0);
}

/* ---- ranks --------------------------------------------------------------------------------------------------------- */

#ifdef EXAMPLE_POSIX
enum { MOST_RANKS = 4 };
typedef struct ranks_of {
    int rank, ranks, in[MOST_RANKS], out[MOST_RANKS]; /* rank 0 has pipes from and to all others, these from and to it */
} ranks_of;

static int move_all(int descriptor, void *data, size_t bytes, int writing) {
    char *at = data;
    while (bytes > 0) {
        ssize_t moved;
        if (writing) moved = write(descriptor, at, bytes);
        else moved = read(descriptor, at, bytes);
        if (moved < 0 && errno == EINTR) continue;
        if (moved <= 0) return 1;
        at += moved;
        bytes -= (size_t)moved;
    }
    return 0;
}

/* All that the library asks of a cluster. Rank 0 adds the numbers of the other ranks in the order of the ranks, whichever
   arrive first. */
static int reduce_by_pipes(void *user, shs_wide *values, size_t count, shs_reduce_op op) {
    const ranks_of *r = (const ranks_of *)user;
    size_t bytes = count * sizeof *values, i;
    shs_wide *theirs;
    int k, bad = 0;
    if (r->rank > 0) return move_all(r->out[0], values, bytes, 1) || move_all(r->in[0], values, bytes, 0);
    theirs = ALLOCATE(shs_wide, count);
    for (k = 1; k < r->ranks && !bad; k++) {
        bad = move_all(r->in[k], theirs, bytes, 0);
        for (i = 0; i < count; i++) {
            if (op == SHS_REDUCE_SUM) values[i] += theirs[i];
            if (op == SHS_REDUCE_MIN && theirs[i] < values[i]) values[i] = theirs[i];
            if (op == SHS_REDUCE_MAX && theirs[i] > values[i]) values[i] = theirs[i];
        }
    }
    for (k = 1; k < r->ranks && !bad; k++) bad = move_all(r->out[k], values, bytes, 1);
    free(theirs);
    return bad;
}

/* Computes the eigenvalues of a cube whose lines are divided among `ranks` processes. */
static double fit_by_ranks(int bytes, int ranks, shs_wide *eigenvalues) {
    ranks_of r = {0, 1, {0}, {0}};
    pid_t children[MOST_RANKS];
    shs_context ctx = SHS_ZERO;
    shs_pca pca;
    shs_cube cube;
    double differ = 0;
    int k, from[2], to[2], status;
    r.ranks = ranks;
    fflush(stdout);
    for (k = 1; k < ranks; k++) {
        if (pipe(from) || pipe(to)) fail(EXIT_ERROR, "a pipe: %s", strerror(errno));
        if ((children[k] = fork()) < 0) fail(EXIT_ERROR, "a process: %s", strerror(errno));
        if (!children[k]) { /* rank k keeps these two ends */
            for (int j = 1; j < k; j++) {
                close(r.in[j]);
                close(r.out[j]);
            }
            close(from[0]);
            close(to[1]);
            r.rank = k;
            r.in[0] = to[0];
            r.out[0] = from[1];
            break;
        }
        close(from[1]);
        close(to[0]);
        r.in[k] = from[0];
        r.out[k] = to[1];
    }
    ctx.threads = 1;
    ctx.reduce_fn = reduce_by_pipes;
    ctx.reduce_user = &r;
    ctx.rank = r.rank;
    ctx.ranks = ranks;
    cube = some_lines(bytes, LINES * r.rank / ranks, LINES * (r.rank + 1) / ranks - LINES * r.rank / ranks);
    if (r.rank > 0) { /* shows rank 0 what it got, and is gone */
        int bad = shs_pca_fit(&ctx, &cube, NULL, &pca) != SHS_OK;
        bad = bad || move_all(r.out[0], pca.eigenvalues, BANDS * sizeof(shs_wide), 1);
        _Exit(bad);
    }
    check(shs_pca_fit(&ctx, &cube, NULL, &pca), "components of the ranks");
    for (k = 1; k < ranks; k++) {
        if (move_all(r.in[k], eigenvalues, BANDS * sizeof(shs_wide), 0)) fail(EXIT_ERROR, "rank %d says nothing", k);
        differ += memcmp(eigenvalues, pca.eigenvalues, BANDS * sizeof(shs_wide)) != 0;
        close(r.in[k]);
        close(r.out[k]);
        if (waitpid(children[k], &status, 0) < 0 || status) fail(EXIT_ERROR, "rank %d failed", k);
    }
    memcpy(eigenvalues, pca.eigenvalues, BANDS * sizeof(shs_wide));
    shs_pca_free(&ctx, &pca);
    return differ;
}

static void compare_ranks(void) {
    static const char *const kinds[2] = {"floats", "bytes"};
    static const double allowed[2] = {1e-12, 0}; /* sums of bytes are exact */
    static shs_wide one[BANDS], many[BANDS];
    int bytes, ranks, i;
    for (bytes = 0; bytes < 2; bytes++) {
        printf("\ncomponents by 1 to %d processes that add up over pipes, pixels of %s\n", MOST_RANKS, kinds[bytes]);
        fit_by_ranks(bytes, 1, one);
        for (ranks = 2; ranks <= MOST_RANKS; ranks++) {
            double most = 0;
            agrees(text_of("%d ranks: those that got other bits than rank 0", ranks), fit_by_ranks(bytes, ranks, many), 0);
            for (i = 0; i < BANDS; i++) most = larger_of(most, fabs((many[i] - one[i]) / one[0]));
            /* whole numbers add up exactly in any order, if shs_wide holds them */
            if (sizeof(shs_wide) == sizeof(double)) agrees("against one rank", most, allowed[bytes]);
            else agrees("against one rank", most, 1e-4);
        }
    }
}
#else
static void compare_ranks(void) { printf("  (ranks: there are no processes to fork here)\n"); }
#endif

int main(int argc, char **argv) {
    size_t most, i;
    float *x;
    course_begin(argc, argv, "6_everywhere", "one source everywhere, and why sums have an order");
#if defined(EXAMPLE_POSIX)
    signal(SIGPIPE, SIG_IGN);
#endif
    most = course.quick ? 1 << 16 : 1 << 24;
    x = ALLOCATE(float, most);
    reals = ALLOCATE(shs_real, most);
    ones = ALLOCATE(shs_real, most);
    for (i = 0; i < most; i++) ones[i] = 1;
    choose_vectors();
    climb_sums(course.quick ? 1 << 14 : 1 << 17, x);
    draw_errors(most, x);
    compare_orders(course.quick ? 1 << 16 : 1 << 20, x);
    free(x);
    free(reals);
    free(ones);
    if (course.quick) coding.count = 1000;
    else coding.count = 50000;
    climb_coding();
    draw_cube();
    compare_threads();
    compare_ranks();
    return course_end();
}
