/* bench_signals.c - sparse coding, dictionary learning, patches. */
#include "bench.h"
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static shs_real *hold_normal(bench_work *w, int slot, size_t count) {
    shs_real *x = bench_hold(w, slot, count * sizeof *x);
    shs_random r;
    size_t i;
    shs_random_seed(&r, (uint64_t)slot + 1);
    for (i = 0; i < count; i++) x[i] = (shs_real)shs_random_normal(&r);
    return x;
}

static size_t dictionary_values(const bench_case *c) { return (size_t)c->p * (size_t)c->n; }
static size_t signals_of(const bench_case *c) { return (size_t)c->m; }
static size_t signal_values(const bench_case *c) { return (size_t)c->p * signals_of(c); }

/* A dictionary and signals. */
void bench_open_signals(bench_work *w) {
    const bench_case *c = w->c;
    bench_ok(shs_normalize_columns(c->p, c->n, hold_normal(w, 0, dictionary_values(c)), c->p, NULL));
    hold_normal(w, 1, signal_values(c));
}

/* D'D and D'Y included. */
static void do_omp(bench_work *w, const shs_context *ctx) {
    const bench_case *c = w->c;
    const shs_real *D = bench_reals(w, 0), *Y = bench_reals(w, 1);
    bench_ok(shs_omp(ctx, c->p, c->n, D, signals_of(c), Y, c->s, &w->codes));
}

int open_omp(bench_work *w) {
    bench_open_signals(w);
    bench_ok(shs_codes_create(NULL, signals_of(w->c), w->c->s, &w->codes));
    return bench_does(w, do_omp);
}

static void do_omp_with(bench_work *w, const shs_context *ctx, const shs_omp_options *o) {
    const bench_case *c = w->c;
    const shs_real *D = bench_reals(w, 0), *Y = bench_reals(w, 1);
    bench_ok(shs_omp_ex(ctx, c->p, c->n, D, c->p, signals_of(c), Y, c->p, o, &w->codes, NULL, NULL));
}

static void do_ols(bench_work *w, const shs_context *ctx) {
    shs_omp_options o = SHS_ZERO;
    o.sparsity = w->c->s;
    o.selection = SHS_SELECT_OLS;
    do_omp_with(w, ctx, &o);
}

int open_ols(bench_work *w) {
    open_omp(w);
    return bench_does(w, do_ols);
}

static void do_masked(bench_work *w, const shs_context *ctx) {
    shs_omp_options o = SHS_ZERO;
    o.sparsity = w->c->s;
    o.mask = w->held[2];
    o.ldm = w->c->p;
    do_omp_with(w, ctx, &o);
}

/* Half of the values are missing, at random. */
int open_masked(bench_work *w) {
    const size_t count = signal_values(w->c);
    unsigned char *mask;
    shs_random r;
    size_t i;
    open_omp(w);
    mask = bench_hold(w, 2, count);
    shs_random_seed(&r, 3);
    for (i = 0; i < count; i++) mask[i] = shs_random_uniform(&r) < (shs_wide)0.5;
    return bench_does(w, do_masked);
}

/* As near to the minimum as SPAMS in float32 comes: gaps of 2e-7 (median) and more of |y|^2 / 2. */
static void do_lasso(bench_work *w, const shs_context *ctx) {
    const bench_case *c = w->c;
    const shs_real *D = bench_reals(w, 0), *Y = bench_reals(w, 1);
    shs_lasso_options o = SHS_ZERO;
    o.lambda = 1;
    o.gap = (shs_real)1e-6;
    bench_ok(shs_lasso(ctx, c->p, c->n, D, c->p, signals_of(c), Y, c->p, &o, &w->codes, NULL, NULL));
}

int open_lasso(bench_work *w) {
    bench_open_signals(w);
    bench_ok(shs_codes_create(NULL, signals_of(w->c), w->c->s, &w->codes));
    return bench_does(w, do_lasso);
}

static double ksvd_seconds(bench_work *w, int iterations) {
    const bench_case *c = w->c;
    shs_context ctx = bench_context(w);
    shs_ksvd_options o = SHS_ZERO;
    const shs_real *Y = bench_reals(w, 1);
    shs_real *D = bench_reals(w, 2);
    double start;
    memcpy(D, w->held[0], dictionary_values(c) * sizeof *D);
    o.iterations = iterations;
    o.coding.sparsity = c->s;
    o.parallel_atoms = c->group;
    o.start = SHS_START_GIVEN;
    start = bench_now(w);
    bench_ok(shs_ksvd_ex(&ctx, c->p, c->n, signals_of(c), Y, c->p, &o, D, c->p, NULL, NULL));
    return bench_now(w) - start;
}

/* One iteration: what eight take more than two, so that start and final coding do not count. */
static double ksvd_once(bench_work *w) {
    double few = ksvd_seconds(w, 2);
    return (ksvd_seconds(w, 8) - few) / 6;
}

int open_ksvd(bench_work *w) {
    bench_open_signals(w);
    bench_hold(w, 2, dictionary_values(w->c) * sizeof(shs_real));
    w->once = ksvd_once;
    return 1;
}

/* Ten iterations while an endless loop, which ends with this program at the latest, has the second of two processors. */
static double busy_once(bench_work *w) {
    struct timespec start = {0, 20000000};
    double seconds;
    pid_t loop = fork();
    if (loop == 0) {
        execlp("taskset", "taskset", "-c", "1", "sh", "-c", "while kill -0 $PPID; do :; done", (char *)NULL);
        _exit(1);
    }
    nanosleep(&start, NULL);
    seconds = ksvd_seconds(w, 10);
    if (loop > 0) {
        kill(loop, SIGKILL);
        waitpid(loop, NULL, 0);
    }
    return seconds;
}

int open_busy_ksvd(bench_work *w) {
    open_ksvd(w);
    w->once = busy_once;
    return 1;
}

/* All patches of a noisy drawing of c->m lines coded to the noise and put back: the second half of denoising. */
static void do_patches(bench_work *w, const shs_context *ctx) {
    const shs_real *D = bench_reals(w, 0), lambda = (shs_real)(30.0 / 20);
    shs_image image = SHS_ZERO;
    shs_patches set = SHS_ZERO;
    shs_omp_options coding = SHS_ZERO;
    image.pixels = w->held[1];
    image.width = image.height = w->c->m;
    coding.tolerance = (shs_real)(1.15 * 20 * 8);
    bench_ok(shs_patches_approximate(ctx, &image, &set, w->c->n, D, w->c->p, &coding, lambda, bench_reals(w, 2), NULL));
}

int open_patches(bench_work *w) {
    size_t size = (size_t)w->c->m, i;
    shs_real *D = bench_hold(w, 0, dictionary_values(w->c) * sizeof *D), *image = hold_normal(w, 1, size * size);
    for (i = 0; i < size * size; i++) {
        size_t x = i % size, y = i / size;
        image[i] = 20 * image[i] + (shs_real)(x * y / 64 % 200) + (shs_real)((x / 40 + y / 56) % 2 * 40);
    }
    bench_ok(shs_dictionary_dct(8, 8, 1, w->c->n, D, w->c->p));
    bench_hold(w, 2, size * size * sizeof(shs_real));
    return bench_does(w, do_patches);
}
