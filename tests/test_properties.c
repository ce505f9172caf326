/* test_properties.c - a result depends on the inputs only. The same random problem is solved again and again, each time with
   other requests (outputs, strides, number of pieces), other memory (scratch that holds 0x00 or 0xff) and other threads (any
   number, any order of the chunks), and every output that two runs share has the same bits. A failure names the algorithm,
   the number of the problem and that of the run: both start random numbers. */
#include "test_cube_tools.h"

enum { WORKERS = 5, PARTS = 8 };

static int least_of(int a, int b) { return a < b ? a : b; }

/* ---- a world that is as unhelpful as it may be ------------------------------------------------------------------- */

typedef struct world {
    shs_context ctx;
    shs_random r;
    int fill, outstanding;
} world;

/* Aligned to 16 bytes, and to no more; the byte before the block says how far into malloc's it begins. */
static void *filled_alloc(void *user, size_t size) {
    world *w = (world *)user;
    unsigned char *base = (unsigned char *)malloc(size + 64);
    size_t skew = 16 * (1 + (size_t)shs_random_below(&w->r, 4));
    if (!base) return NULL;
    memset(base, w->fill, size + 64);
    base[skew - 1] = (unsigned char)skew;
    w->outstanding++;
    return base + skew;
}

static void filled_free(void *user, void *block) {
    unsigned char *at = (unsigned char *)block;
    ((world *)user)->outstanding--;
    free(at - at[-1]);
}

/* A random order: chunk by chunk from an array, or, where there is none, i -> a i + b. */
static size_t in_order(size_t i, size_t chunks, size_t step, size_t first) { return (i * step + first) % chunks; }

static size_t coprime(size_t chunks, size_t wish) {
    for (;; wish++) {
        size_t a = chunks, b = wish % chunks;
        while (b) {
            size_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1) return wish % chunks ? wish % chunks : 1;
    }
}

static void shuffled(void *user, size_t chunks, int threads, shs_chunk_fn body, void *arg) {
    world *w = (world *)user;
    size_t i, step = coprime(chunks, 1 + (size_t)shs_random_below(&w->r, chunks)),
              first = (size_t)shs_random_below(&w->r, chunks);
    for (i = 0; i < chunks; i++) body(arg, in_order(i, chunks, step, first), (int)shs_random_below(&w->r, (uint64_t)threads));
}

typedef struct crew {
    pthread_mutex_t lock;
    size_t next, chunks, step, first;
    shs_chunk_fn body;
    void *arg;
} crew;

typedef struct crew_member {
    crew *of;
    int number;
} crew_member;

static void *crew_work(void *user) {
    const crew_member *w = (const crew_member *)user;
    crew *c = w->of;
    for (;;) {
        size_t i;
        pthread_mutex_lock(&c->lock);
        i = c->next++;
        pthread_mutex_unlock(&c->lock);
        if (i >= c->chunks) return NULL;
        c->body(c->arg, in_order(i, c->chunks, c->step, c->first), w->number);
    }
}

/* The same with threads. */
static void shuffled_threads(void *user, size_t chunks, int threads, shs_chunk_fn body, void *arg) {
    world *w = (world *)user;
    pthread_t thread[WORKERS];
    crew_member member[WORKERS];
    crew c;
    int i;
    memset(&c, 0, sizeof c);
    pthread_mutex_init(&c.lock, NULL);
    c.chunks = chunks;
    c.body = body;
    c.arg = arg;
    c.step = coprime(chunks, 1 + (size_t)shs_random_below(&w->r, chunks));
    c.first = (size_t)shs_random_below(&w->r, chunks);
    for (i = 0; i < threads; i++) {
        member[i].of = &c;
        member[i].number = i;
        if (pthread_create(thread + i, NULL, crew_work, member + i)) abort();
    }
    for (i = 0; i < threads; i++) pthread_join(thread[i], NULL);
    pthread_mutex_destroy(&c.lock);
}

static int no_objection(void *user, const char *phase, size_t step, size_t steps, shs_wide error) {
    (void)user;
    (void)phase;
    (void)step;
    (void)steps;
    (void)error;
    return 0;
}

/* Run 0 is as plain as can be. */
static void world_of(world *w, int run) {
    memset(w, 0, sizeof *w);
    shs_random_seed(&w->r, (uint64_t)run);
    w->ctx.alloc_fn = filled_alloc;
    w->ctx.free_fn = filled_free;
    w->ctx.alloc_user = w;
    w->fill = run % 2 ? 0xff : 0;
    w->ctx.threads = 1;
    if (run == 0) return;
    w->ctx.threads = 1 + (int)shs_random_below(&w->r, WORKERS);
    w->ctx.parallel_fn = run % 3 == 2 ? shuffled_threads : shuffled;
    w->ctx.parallel_user = w;
    if (run % 4 == 3) w->ctx.progress_fn = no_objection;
}

/* ---- what is compared -------------------------------------------------------------------------------------------- */

/* The outputs of one run as copies of their bytes, without the gaps between columns; NULL: not requested. */
typedef struct outcome {
    shs_status status;
    unsigned char *part[PARTS];
    size_t size[PARTS];
} outcome;

/* The problem comes from `problem`, what is wished for from `wish`. In run 0 nothing is wished for that can be left out. */
typedef struct trial {
    const shs_context *ctx;
    shs_random problem, wish;
    int run;
    outcome *out;
} trial;

static int pick(trial *t, int low, int high) { return low + (int)shs_random_below(&t->problem, (uint64_t)(high - low + 1)); }
static int one_in(trial *t, int count) { return pick(t, 1, count) == 1; }
static int wanted(trial *t) { return t->run > 0 && shs_random_below(&t->wish, 4) > 0; }
/* A leading dimension, a stride: as small as can be, or larger. */
static int at_least(trial *t, int rows) { return rows + (wanted(t) ? (int)shs_random_below(&t->wish, 9) : 0); }

static void keep(trial *t, int part, const void *values, size_t bytes) {
    outcome *o = t->out;
    if (!values || o->status != SHS_OK) return;
    o->part[part] = (unsigned char *)realloc(o->part[part], o->size[part] + bytes + 1);
    if (!o->part[part]) abort();
    memcpy(o->part[part] + o->size[part], values, bytes);
    o->size[part] += bytes;
}

static void forget(trial *t, int part) {
    free(t->out->part[part]);
    t->out->part[part] = NULL;
    t->out->size[part] = 0;
}

static void keep_columns(trial *t, int part, int rows, size_t columns, size_t size, const void *A, int ld) {
    size_t j;
    for (j = 0; A && j < columns; j++) keep(t, part, (const unsigned char *)A + j * (size_t)ld * size, (size_t)rows * size);
}

/* An output, filled with whatever. */
static void *output(trial *t, size_t count, size_t size) {
    void *block = new_block(count, size);
    memset(block, t->run % 2 ? 0xff : 0x11, count * size);
    return block;
}
#define OUTPUT(t, type, count) ((type *)output(t, (size_t)(count), sizeof(type)))

/* rows x columns values of the problem in any leading dimension, with NaN between the columns. */
static shs_real *matrix(trial *t, int rows, size_t columns, int *ld) {
    uint64_t seed = shs_random_bits(&t->problem);
    shs_real *tight = new_uniform((size_t)rows * columns, seed), *A;
    size_t j;
    *ld = at_least(t, rows);
    A = OUTPUT(t, shs_real, (size_t)*ld * columns);
    for (j = 0; j < columns; j++) memcpy(A + j * (size_t)*ld, tight + j * (size_t)rows, (size_t)rows * sizeof *A);
    free(tight);
    return A;
}

#define STEP(t, call)                                                                                                          \
    do {                                                                                                                       \
        if ((t)->out->status == SHS_OK) (t)->out->status = (call);                                                             \
    } while (0)

/* ---- the algorithms ---------------------------------------------------------------------------------------------- */

/* Sizes around changes of algorithm: small sizes, odd sizes, and some larger than a block. */
static int size(trial *t) {
    if (one_in(t, 6)) return pick(t, 97, 300);
    if (one_in(t, 2)) return pick(t, 17, 96);
    return pick(t, 1, 16);
}

/* The depth of a product, sometimes large enough for threads to share slabs of the depth. */
static int depth(trial *t, int m, int n) {
    if (m * n < 4000 && one_in(t, 3)) return 2 * SLAB_DEPTH + pick(t, -100, 100);
    if (one_in(t, 8)) return pick(t, 500, 1500);
    return size(t);
}

static void multiply(trial *t) {
    int m = size(t), n = size(t), k = depth(t, m, n), lda, ldb, ldc;
    shs_trans ta = (shs_trans)pick(t, 0, 1), tb = (shs_trans)pick(t, 0, 1);
    shs_real *A = matrix(t, ta ? k : m, (size_t)(ta ? m : k), &lda), *B = matrix(t, tb ? n : k, (size_t)(tb ? k : n), &ldb);
    shs_real beta = (shs_real)pick(t, 0, 1), *C = matrix(t, m, (size_t)n, &ldc);
    STEP(t, shs_gemm(t->ctx, ta, tb, m, n, k, (shs_real)1.5, A, lda, B, ldb, beta, C, ldc));
    keep_columns(t, 0, m, (size_t)n, sizeof *C, C, ldc);
    free(A);
    free(B);
    free(C);
}

static void multiply_itself(trial *t) {
    int n = size(t), k = depth(t, n, n), lda, ldc;
    shs_trans trans = (shs_trans)pick(t, 0, 1);
    shs_uplo uplo = (shs_uplo)pick(t, 0, 1);
    shs_real *A = matrix(t, trans ? k : n, (size_t)(trans ? n : k), &lda), *C = matrix(t, n, (size_t)n, &ldc);
    STEP(t, shs_syrk(t->ctx, uplo, trans, n, k, 1, A, lda, (shs_real)pick(t, 0, 1), C, ldc));
    keep_columns(t, 0, n, (size_t)n, sizeof *C, C, ldc);
    free(A);
    free(C);
}

static void factor_and_solve(trial *t) {
    int n = size(t), m = size(t), lda, ldb, i;
    shs_side side = (shs_side)pick(t, 0, 1);
    shs_uplo uplo = (shs_uplo)pick(t, 0, 1);
    shs_trans trans = (shs_trans)pick(t, 0, 1);
    shs_real *A = matrix(t, n, (size_t)n, &lda), *B = matrix(t, side ? m : n, (size_t)(side ? n : m), &ldb);
    for (i = 0; i < n; i++) A[i * lda + i] = (shs_real)(4 * n);
    STEP(t, shs_cholesky(t->ctx, uplo, n, A, lda));
    keep_columns(t, 0, n, (size_t)n, sizeof *A, A, lda);
    STEP(t, shs_trsm(t->ctx, side, uplo, trans, SHS_DIAG_NON_UNIT, side ? m : n, side ? n : m, 1, A, lda, B, ldb));
    keep_columns(t, 1, side ? m : n, (size_t)(side ? n : m), sizeof *B, B, ldb);
    free(A);
    free(B);
}

/* Values alone come by another way than with vectors, and are not compared with them. */
static void decompose(trial *t) {
    int n = size(t) / 2 + 1, k = pick(t, 1, n), alone = one_in(t, 4), ldv = at_least(t, n), i, j;
    int lda = at_least(t, n);
    shs_wide *A = OUTPUT(t, shs_wide, n * lda), *values = OUTPUT(t, shs_wide, k);
    shs_wide *vectors = alone ? NULL : OUTPUT(t, shs_wide, k * ldv);
    for (j = 0; j < n; j++)
        for (i = j; i < n; i++) A[j * lda + i] = shs_random_normal(&t->problem);
    STEP(t, shs_eigh(t->ctx, n, A, lda, k, values, vectors, ldv));
    keep(t, 0, values, (size_t)k * sizeof *values);
    keep_columns(t, 1, n, (size_t)k, sizeof *vectors, vectors, ldv);
    free(A);
    free(values);
    free(vectors);
}

static void normalise(trial *t) {
    int m = size(t), n = size(t), ld;
    shs_real *A = matrix(t, m, (size_t)n, &ld), *norms = wanted(t) ? OUTPUT(t, shs_real, n) : NULL;
    STEP(t, shs_normalize_columns(m, n, A, ld, norms));
    keep_columns(t, 0, m, (size_t)n, sizeof *A, A, ld);
    keep(t, 1, norms, (size_t)n * sizeof *norms);
    free(A);
    free(norms);
}

/* Codes with any stride from `least` on. */
static shs_codes new_codes(trial *t, size_t m, int least) {
    shs_codes c;
    c.m = m + (wanted(t) ? (size_t)shs_random_below(&t->wish, 3) : 0);
    c.stride = at_least(t, least);
    c.used = OUTPUT(t, int, c.m);
    c.atoms = OUTPUT(t, int, c.m *(size_t)c.stride);
    c.coefs = OUTPUT(t, shs_real, c.m * (size_t)c.stride);
    return c;
}

static void keep_codes(trial *t, int part, size_t m, const shs_codes *c) {
    size_t i;
    if (t->out->status != SHS_OK) return;
    keep(t, part, c->used, m * sizeof *c->used);
    for (i = 0; i < m; i++) {
        keep(t, part, c->atoms + i * (size_t)c->stride, (size_t)c->used[i] * sizeof *c->atoms);
        keep(t, part, c->coefs + i * (size_t)c->stride, (size_t)c->used[i] * sizeof *c->coefs);
    }
}

static void codes_drop(shs_codes *c) { free(c->used), free(c->atoms), free(c->coefs); }

/* Signals of a few atoms with noise, so that some signals reach their tolerance. */
static shs_real *signals(trial *t, int p, size_t m, const shs_real *D, int ldd, int n, int *ldy) {
    shs_real *Y = matrix(t, p, m, ldy);
    size_t j;
    int i, k;
    for (j = 0; j < m; j++) {
        shs_real *y = Y + j * (size_t)*ldy;
        for (i = 0; i < p; i++) y[i] *= (shs_real)0.05;
        for (k = 0; k < 3; k++)
            shs_axpy(p, (shs_real)shs_random_normal(&t->problem), D + (size_t)pick(t, 0, n - 1) * (size_t)ldd, 1, y, 1);
    }
    return Y;
}

static void code(trial *t) {
    int p = pick(t, 1, 40), n = one_in(t, 10) ? pick(t, 300, 1100) : pick(t, 1, 150), ldd, ldy, s = pick(t, 1, 12);
    int least = least_of(s, least_of(p, n)), lde = 0;
    size_t m = (size_t)(one_in(t, 4) ? pick(t, 120, 700) : pick(t, 1, 60)), i;
    shs_real *D = matrix(t, p, (size_t)n, &ldd), *Y, *errors2, *E, *Z;
    shs_omp_options o = SHS_ZERO;
    shs_omp_report report;
    shs_codes codes;
    shs_wide sum2;
    STEP(t, shs_normalize_columns(p, n, D, ldd, NULL));
    Y = signals(t, p, m, D, ldd, n, &ldy);
    o.sparsity = s;
    o.gram_mode = (shs_gram_mode)pick(t, SHS_GRAM_ALWAYS, SHS_GRAM_NEVER);
    if (one_in(t, 2)) o.tolerance = (shs_real)pick(t, 1, 10) / 10;
    codes = new_codes(t, m, least);
    errors2 = wanted(t) ? OUTPUT(t, shs_real, m) : NULL;
    i = (size_t)wanted(t);
    STEP(t, shs_omp_ex(t->ctx, p, n, D, ldd, m, Y, ldy, &o, &codes, errors2, i ? &report : NULL));
    keep_codes(t, 0, m, &codes);
    keep(t, 1, errors2, m * sizeof *errors2);
    if (i) keep(t, 2, &report, sizeof report);

    /* residuals, and signals from codes in two pieces */
    E = wanted(t) ? OUTPUT(t, shs_real, (size_t)(lde = at_least(t, p)) * m) : NULL;
    STEP(t, shs_codes_residual(t->ctx, p, n, D, ldd, m, Y, ldy, &codes, E, lde, &sum2));
    keep(t, 3, &sum2, sizeof sum2);
    keep_columns(t, 4, p, m, sizeof *E, E, lde);
    Z = OUTPUT(t, shs_real, (size_t)p * m);
    i = wanted(t) ? (size_t)shs_random_below(&t->wish, m) : 0;
    STEP(t, shs_codes_synthesize(t->ctx, p, n, D, ldd, &codes, 0, i, Z, p));
    STEP(t, shs_codes_synthesize(t->ctx, p, n, D, ldd, &codes, i, m - i, Z + i * (size_t)p, p));
    keep(t, 5, Z, (size_t)p * m * sizeof *Z);
    if (!E) { /* in place */
        STEP(t, shs_codes_residual(t->ctx, p, n, D, ldd, m, Y, ldy, &codes, Y, ldy, NULL));
        keep_columns(t, 4, p, m, sizeof *Y, Y, ldy);
    }
    free(D);
    free(Y);
    free(errors2);
    free(E);
    free(Z);
    codes_drop(&codes);
}

/* One signal, in two ways; the workspace holds anything and is aligned to nothing. */
static void code_one(trial *t) {
    int p = pick(t, 1, 24), n = pick(t, 1, 60), ldd, ldg = at_least(t, n), s = pick(t, 1, 8), used, way, least, i;
    shs_real *D = matrix(t, p, (size_t)n, &ldd), *y = matrix(t, p, 1, &i), *G = OUTPUT(t, shs_real, n * ldg), *dty;
    shs_real *coefs = OUTPUT(t, shs_real, n), tolerance = one_in(t, 2) ? (shs_real)pick(t, 1, 10) / 5 : 0;
    int *atoms = OUTPUT(t, int, n);
    shs_real error2;
    least = least_of(s, n);
    dty = OUTPUT(t, shs_real, n);
    STEP(t, shs_normalize_columns(p, n, D, ldd, NULL));
    STEP(t, shs_gemm(NULL, SHS_TRANS_YES, SHS_TRANS_NO, n, n, p, 1, D, ldd, D, ldd, 0, G, ldg));
    STEP(t, shs_gemv(SHS_TRANS_YES, p, n, 1, D, ldd, y, 1, 0, dty, 1));
    for (way = 0; way < 2; way++) {
        size_t bytes = way ? shs_omp_one_direct_workspace(p, n, LIMITS(s, 0)) : shs_omp_one_workspace(n, LIMITS(s, 0));
        unsigned char *room = OUTPUT(t, unsigned char, bytes + 64);
        size_t skew = wanted(t) ? (size_t)shs_random_below(&t->wish, 64) : 0;
        shs_real *error = wanted(t) ? &error2 : NULL;
        used = 0;
        if (way)
            STEP(t, shs_omp_one_direct(p, n, D, ldd, y, LIMITS(s, tolerance), room + skew, bytes, atoms, coefs, &used, error));
        else
            STEP(t, shs_omp_one(n, G, ldg, dty, shs_dot(p, y, 1, y, 1), LIMITS(s, tolerance), room + skew, bytes, atoms, coefs,
                                &used, error));
        if (t->out->status == SHS_OK && used > least) t->out->status = SHS_BAD_CODES;
        keep(t, way, &used, sizeof used);
        keep(t, way, atoms, (size_t)used * sizeof *atoms);
        keep(t, way, coefs, (size_t)used * sizeof *coefs);
        if (error) keep(t, 3 + way, error, sizeof *error);
        free(room);
    }
    free(D);
    free(y);
    free(G);
    free(dty);
    free(coefs);
    free(atoms);
}

static void learn(trial *t) {
    int p = pick(t, 1, 40), n = pick(t, 1, 60), s = pick(t, 1, 6), iterations = pick(t, 1, 4), ldd, ldy, hidden_ld;
    size_t m = (size_t)(one_in(t, 10) ? pick(t, 300, 1500) : pick(t, 1, 200));
    shs_real *hidden = matrix(t, p, (size_t)n, &hidden_ld), *Y, *D = matrix(t, p, (size_t)n, &ldd);
    shs_ksvd_record *history = wanted(t) ? OUTPUT(t, shs_ksvd_record, iterations) : NULL;
    size_t *usage = wanted(t) ? OUTPUT(t, size_t, n * iterations) : NULL;
    shs_ksvd_options o = SHS_ZERO;
    shs_ksvd_report report = SHS_ZERO;
    shs_codes codes;
    int report_wanted = wanted(t), codes_wanted = wanted(t), i;
    STEP(t, shs_normalize_columns(p, n, hidden, hidden_ld, NULL));
    Y = signals(t, p, m, hidden, hidden_ld, n, &ldy);
    o.iterations = iterations;
    o.coding.sparsity = s;
    o.seed = shs_random_bits(&t->problem);
    o.coding.gram_mode = SHS_GRAM_ALWAYS;
    o.parallel_atoms = pick(t, 0, 3) * pick(t, 0, 20);
    o.rounds = pick(t, 0, 2);
    if (one_in(t, 2)) o.start = SHS_START_SIGNALS;
    else o.start = one_in(t, 2) ? SHS_START_RANDOM : SHS_START_GIVEN;
    o.replace = (shs_replace)pick(t, 0, 2);
    o.keep = (shs_keep)pick(t, 0, 1);
    if (one_in(t, 3)) o.prune_coherence = (shs_real)pick(t, 3, 9) / 10;
    if (one_in(t, 3)) o.prune_uses = pick(t, -1, 8);
    if (one_in(t, 4)) o.coding.tolerance = (shs_real)pick(t, 1, 10) / 10;
    if (one_in(t, 6)) {
        o.stop_improvement = 0.05;
        o.stop_patience = 1;
    }
    if (one_in(t, 4)) o.first_iteration = pick(t, 1, 5);
    o.rmse_after_update = wanted(t);
    report.history = history;
    report.usage_history = usage;
    codes = new_codes(t, m, least_of(s, least_of(p, n)));
    report.iterations = 0;
    STEP(t, shs_ksvd_ex(t->ctx, p, n, m, Y, ldy, &o, D, ldd, codes_wanted ? &codes : NULL, report_wanted ? &report : NULL));
    keep_columns(t, 0, p, (size_t)n, sizeof *D, D, ldd);
    if (codes_wanted) keep_codes(t, 1, m, &codes);
    if (report_wanted) { /* by members: there may be a gap */
        keep(t, 2, &report.iterations, sizeof report.iterations),
            keep(t, 2, &report.best_iteration, sizeof report.best_iteration);
        keep(t, 2, &report.rmse, sizeof report.rmse);
        keep(t, 2, &report.mean_atoms, sizeof report.mean_atoms);
        if (history)
            for (i = 0; i < report.iterations; i++) {
                keep(t, 3, &history[i].rmse_coding, sizeof history[i].rmse_coding);
                keep(t, 3, &history[i].atoms_used, sizeof history[i].atoms_used);
                keep(t, 3, &history[i].replaced, sizeof history[i].replaced);
                keep(t, 3, &history[i].pruned, sizeof history[i].pruned);
                if (o.rmse_after_update) keep(t, 4, &history[i].rmse_update, sizeof history[i].rmse_update);
            }
        if (usage) keep(t, 5, usage, (size_t)(n * report.iterations) * sizeof *usage);
    }
    free(hidden);
    free(Y);
    free(D);
    free(history);
    free(usage);
    codes_drop(&codes);
}

static void take_patches(trial *t) {
    int width = pick(t, 5, 40), height = pick(t, 5, 40), channels = pick(t, 1, 3), p, n = pick(t, 5, 80), ldd, ldy, i,
        report_wanted;
    size_t pixels = (size_t)width * (size_t)height, count, half;
    uint64_t content = shs_random_bits(&t->problem);
    shs_real *values = new_normal(pixels * (size_t)channels, content), *means, *norms, *Y, *sum, *weight, *D, *out;
    shs_image image = SHS_ZERO;
    shs_patches set = SHS_ZERO;
    shs_omp_options o = SHS_ZERO;
    shs_omp_report report;
    image.pixels = values;
    image.width = width;
    image.height = height;
    image.channels = channels;
    set.width = pick(t, 1, 5);
    set.height = pick(t, 1, 5);
    set.mode = (shs_patch_mode)pick(t, 0, 2);
    set.step_x = pick(t, 0, 3);
    set.step_y = pick(t, 0, 3);
    set.count = (size_t)pick(t, 1, 100);
    set.keep_mean = one_in(t, 3);
    set.unit_norm = one_in(t, 3);
    i = wanted(t);
    p = set.width * set.height * channels;
    count = shs_patches_count(&image, &set, i ? &p : NULL);
    keep(t, 0, &count, sizeof count);
    ldy = at_least(t, p);
    Y = OUTPUT(t, shs_real, (size_t)ldy * count);
    means = wanted(t) ? OUTPUT(t, shs_real, (size_t)channels * count) : NULL;
    norms = wanted(t) ? OUTPUT(t, shs_real, count) : NULL;
    half = wanted(t) ? (size_t)shs_random_below(&t->wish, count) : 0; /* in two pieces */
    STEP(t, shs_patches_get(t->ctx, &image, &set, 0, half, Y, ldy, means, norms));
    STEP(t, shs_patches_get(t->ctx, &image, &set, half, count - half, Y + half * (size_t)ldy, ldy,
                            means ? means + half * (size_t)channels : NULL, norms ? norms + half : NULL));
    keep_columns(t, 1, p, count, sizeof *Y, Y, ldy);
    keep(t, 2, means, (size_t)channels * count * sizeof *means);
    keep(t, 3, norms, count * sizeof *norms);
    sum = NEW(shs_real, pixels * (size_t)channels);
    weight = NEW(shs_real, pixels);
    out = OUTPUT(t, shs_real, pixels * (size_t)channels);
    STEP(t, shs_patches_put(t->ctx, &image, &set, 0, count, Y, ldy, NULL, NULL, sum, weight));
    STEP(t, shs_patches_average(t->ctx, &image, (shs_real)0.5, sum, weight, t->run % 2 ? sum : out));
    keep(t, 4, t->run % 2 ? sum : out, pixels * (size_t)channels * sizeof *sum);
    D = matrix(t, p, (size_t)n, &ldd);
    STEP(t, shs_normalize_columns(p, n, D, ldd, NULL));
    o.sparsity = pick(t, 1, 3);
    o.gram_mode = SHS_GRAM_ALWAYS;
    report_wanted = wanted(t);
    STEP(t, shs_patches_approximate(t->ctx, &image, &set, n, D, ldd, &o, 1, out, report_wanted ? &report : NULL));
    keep(t, 5, out, pixels * (size_t)channels * sizeof *out);
    if (report_wanted) {
        keep(t, 6, &report.nonzeros, sizeof report.nonzeros);
        keep(t, 6, &report.sum2, sizeof report.sum2);
    }
    free(values);
    free(Y);
    free(means);
    free(norms);
    free(sum);
    free(weight);
    free(out);
    free(D);
}

/* A cube of the problem, in memory. */
static shs_cube new_cube(trial *t, int most_bands) {
    static const shs_type types[] = {SHS_TYPE_U8,  SHS_TYPE_I16, SHS_TYPE_U16, SHS_TYPE_I32,
                                     SHS_TYPE_F32, SHS_TYPE_F64, SHS_TYPE_REAL};
    int lines = pick(t, 2, 24), samples = pick(t, 2, 60), bands = pick(t, 2, most_bands), swapped = one_in(t, 4);
    plain_cube p = mixed_cube(lines, samples, bands, least_of(bands, 4), 1, shs_random_bits(&t->problem));
    shs_cube cube = cube_of(&p, types[pick(t, 0, 6)], (shs_interleave)pick(t, 0, 2), swapped);
    if (one_in(t, 3)) {
        cube.has_nodata = 1;
        cube.nodata = 100;
    }
    free(p.x);
    return cube;
}

/* The values of a sink of any interleave, pixel by pixel, as they are stored. */
static void keep_sink(trial *t, int part, const shs_sink *sink, const shs_cube *cube, int outputs) {
    size_t bytes = shs_type_size(sink->type), i;
    ptrdiff_t ss, ls, bs;
    int b;
    strides_of(sink->interleave, cube->lines, cube->samples, outputs, &ss, &ls, &bs);
    for (i = 0; i < (size_t)cube->lines * (size_t)cube->samples; i++)
        for (b = 0; b < outputs; b++)
            keep(t, part,
                 (const unsigned char *)sink->pixels + bytes * (size_t)((ptrdiff_t)(i / (size_t)cube->samples) * ls +
                                                                        (ptrdiff_t)(i % (size_t)cube->samples) * ss + b * bs),
                 bytes);
}

static shs_sink any_sink(trial *t, shs_type type, const shs_cube *cube, int outputs) {
    shs_interleave interleave = (shs_interleave)(wanted(t) ? (int)shs_random_below(&t->wish, 3) : 0);
    return new_sink(type, interleave, cube->lines, cube->samples, outputs);
}

static void add_up(trial *t) {
    shs_cube cube = new_cube(t, 40);
    shs_moments sums = SHS_ZERO;
    size_t B = (size_t)cube.bands;
    shs_wide *mean = OUTPUT(t, shs_wide, B), *covariance = NULL;
    int ldc = at_least(t, cube.bands), a;
    STEP(t, shs_moments_create(t->ctx, cube.bands, &sums));
    STEP(t, shs_moments_update(t->ctx, &cube, (shs_precision)one_in(t, 2), &sums));
    STEP(t, shs_moments_reduce(t->ctx, &sums));
    if (wanted(t)) covariance = OUTPUT(t, shs_wide, B * (size_t)ldc);
    STEP(t, shs_moments_finish(&sums, (shs_divisor)one_in(t, 2), mean, covariance, ldc));
    keep(t, 0, mean, B * sizeof *mean);
    keep_columns(t, 1, cube.bands, B, sizeof *mean, covariance, ldc);
    keep(t, 2, &sums.count, sizeof sums.count);
    keep(t, 3, sums.sum, B * sizeof *mean);
    for (a = 0; sums.products && a < cube.bands; a++) /* the lower triangle */
        keep(t, 4, sums.products + (size_t)a * B + (size_t)a, (B - (size_t)a) * sizeof *mean);
    shs_moments_free(t->ctx, &sums);
    free(mean);
    free(covariance);
    cube_free(&cube);
}

static void keep_pca(trial *t, int part, const shs_pca *pca) {
    size_t B = (size_t)pca->bands, K = (size_t)pca->components, w = sizeof(shs_wide);
    if (t->out->status != SHS_OK) return;
    keep(t, part, pca->mean, B * w);
    keep(t, part, pca->scale, B * w);
    keep(t, part, pca->eigenvalues, K * w);
    keep(t, part, pca->vectors, B * K * w);
    keep(t, part, pca->forward, B * K * w);
    keep(t, part, pca->backward, B * K * w);
}

/* The same components with and without the model, in a sink of any interleave; each type has its part. */
static void find_components(trial *t) {
    static const shs_type types[] = {SHS_TYPE_U8, SHS_TYPE_I16, SHS_TYPE_F32, SHS_TYPE_F64};
    shs_cube cube = new_cube(t, 40);
    shs_pca_options o = SHS_ZERO;
    shs_pca pca = SHS_ZERO, *model = wanted(t) ? &pca : NULL;
    int type = pick(t, 0, 3), components = pick(t, 1, cube.bands), rank, rank_wanted = wanted(t);
    shs_sink sink = any_sink(t, types[type], &cube, components), scores = any_sink(t, SHS_TYPE_F32, &cube, 1);
    shs_pca mnf = SHS_ZERO;
    o.components = components;
    o.divisor = (shs_divisor)one_in(t, 2);
    o.correlation = one_in(t, 4);
    o.precise = (shs_precision)one_in(t, 3);
    if (one_in(t, 2)) {
        sink.rescale = 1;
        sink.high = 255;
    }
    STEP(t, shs_pca_run(t->ctx, &cube, &o, &sink, model));
    keep_sink(t, 0, &sink, &cube, components);
    if (model) keep_pca(t, 1, model);
    shs_pca_free(t->ctx, &pca);
    if (wanted(t)) { /* in two steps */
        forget(t, 0);
        forget(t, 1);
        STEP(t, shs_pca_fit(t->ctx, &cube, &o, &pca));
        keep_pca(t, 1, &pca);
        STEP(t, shs_pca_transform(t->ctx, &pca, &cube, &sink));
        keep_sink(t, 0, &sink, &cube, components);
        shs_pca_free(t->ctx, &pca);
    }
    STEP(t, shs_rx(t->ctx, &cube, NULL, &scores, rank_wanted ? &rank : NULL));
    keep_sink(t, 2, &scores, &cube, 1);
    if (rank_wanted) keep(t, 3, &rank, sizeof rank);
    if (cube.samples > 2 && cube.samples * cube.lines > 4 * cube.bands && t->out->status == SHS_OK) {
        shs_status status = shs_mnf_fit(t->ctx, &cube, NULL, &mnf);
        keep(t, 4, &status, sizeof status);
        if (status == SHS_OK) keep_pca(t, 5, &mnf);
        shs_pca_free(t->ctx, &mnf);
    }
    sink_free(&sink);
    sink_free(&scores);
    cube_free(&cube);
}

static void find_sources(trial *t) {
    shs_cube cube = new_cube(t, 8);
    shs_ica_options o = SHS_ZERO;
    shs_ica ica = SHS_ZERO, *model = wanted(t) ? &ica : NULL;
    int components = pick(t, 1, least_of(cube.bands, 4));
    size_t w = sizeof(shs_wide), B = (size_t)cube.bands, K = (size_t)components;
    shs_sink sink = any_sink(t, SHS_TYPE_F32, &cube, components);
    o.components = components;
    o.contrast = (shs_contrast)pick(t, 0, 2);
    o.approach = (shs_ica_approach)pick(t, 0, 1);
    o.route = o.contrast == SHS_CONTRAST_POW3 ? (shs_ica_route)pick(t, 1, 2) : SHS_ROUTE_AUTO;
    o.iterations = 15;
    o.restarts = pick(t, -1, 1);
    o.random_start = one_in(t, 2);
    o.seed = shs_random_bits(&t->problem);
    o.order = (shs_ica_order)pick(t, 0, 2);
    STEP(t, shs_ica_run(t->ctx, &cube, &o, &sink, model));
    keep_sink(t, 0, &sink, &cube, components);
    if (model && t->out->status == SHS_OK) {
        keep(t, 1, ica.unmixing, B * K * w);
        keep(t, 1, ica.mixing, B * K * w);
        keep(t, 1, ica.rotation, K * K * w);
    }
    shs_ica_free(t->ctx, &ica);
    sink_free(&sink);
    cube_free(&cube);
}

/* ---- the property ------------------------------------------------------------------------------------------------ */

static void outcome_free(outcome *o) {
    int k;
    for (k = 0; k < PARTS; k++) free(o->part[k]);
    memset(o, 0, sizeof *o);
}

/* Compares each output with the same output of the first run that had it. */
static void nothing_else_matters(const char *name, void (*perform)(trial *t), int problems, int runs) {
    int problem, run, k;
    for (problem = 0; problem < problems; problem += every(3)) {
        outcome known;
        memset(&known, 0, sizeof known);
        for (run = 0; run < runs; run++) {
            outcome out;
            world w;
            trial t;
            memset(&out, 0, sizeof out);
            world_of(&w, run ? problem * runs + run : 0);
            memset(&t, 0, sizeof t);
            t.ctx = &w.ctx;
            t.run = run;
            t.out = &out;
            shs_random_seed(&t.problem, (uint64_t)problem),
                shs_random_seed(&t.wish, (uint64_t)(problem * runs + run) + 1000000);
            perform(&t);
            if (w.outstanding) fail_msg("%s, problem %d, run %d: %d blocks leak", name, problem, run, w.outstanding);
            if (run == 0) known.status = out.status;
            if (out.status != known.status)
                fail_msg("%s, problem %d: %s, in run %d %s", name, problem, shs_status_name(known.status), run,
                         shs_status_name(out.status));
            for (k = 0; k < PARTS; k++) {
                if (!out.part[k]) continue;
                if (!known.part[k]) {
                    known.part[k] = out.part[k];
                    known.size[k] = out.size[k];
                    out.part[k] = NULL;
                } else if (out.size[k] != known.size[k] || memcmp(out.part[k], known.part[k], out.size[k]))
                    fail_msg("%s, problem %d, run %d: output %d differs", name, problem, run, k);
            }
            outcome_free(&out);
        }
        outcome_free(&known);
    }
}

/* What is performed, on how many problems, how many times each. */
#define PROPERTIES(X)                                                                                                          \
    X(multiply, 60, 4) X(multiply_itself, 60, 4) X(factor_and_solve, 50, 4) X(decompose, 40, 4) X(normalise, 20, 3)            \
    X(code, 60, 6) X(code_one, 60, 4) X(learn, 150, 5) X(take_patches, 50, 5) X(add_up, 50, 4) X(find_components, 50, 5)       \
    X(find_sources, 40, 5)
#define PROPERTY(perform, problems, runs)                                                                                      \
    static void test_##perform(void **state) {                                                                                 \
        (void)state;                                                                                                           \
        nothing_else_matters(#perform, perform, problems, runs);                                                               \
    }
PROPERTIES(PROPERTY)

/* Progress reports an error where there is one: -1 before. */
static int look_at_error(void *user, const char *phase, size_t step, size_t steps, shs_wide error) {
    shs_wide *least_and_most = (shs_wide *)user;
    (void)phase;
    (void)step;
    (void)steps;
    if (error < least_and_most[0]) least_and_most[0] = error;
    if (error > least_and_most[1]) least_and_most[1] = error;
    return 0;
}

static void test_progress_without_an_error_says_so(void **state) {
    enum { P = 8, N = 20, M = 600 };
    shs_real *D = new_normal(P * N, 1), *Y = new_normal(P * M, 2);
    shs_wide error[2] = {0, -2};
    shs_context ctx = SHS_ZERO;
    shs_codes codes = SHS_ZERO;
    (void)state;
    ctx.progress_fn = look_at_error;
    ctx.progress_user = error;
    assert_ok(shs_normalize_columns(P, N, D, P, NULL));
    assert_ok(shs_codes_create(NULL, M, 3, &codes));
    assert_ok(shs_omp(&ctx, P, N, D, M, Y, 3, &codes));
    assert_true(error[0] >= -1 && error[0] <= -1 && error[1] <= -1);
    error[0] = 1e9;
    error[1] = -2;
    assert_ok(shs_ksvd(&ctx, P, N, M, Y, 3, 3, D));
    assert_true(error[0] > 0 && error[1] < 2); /* of normal deviates */
    shs_codes_free(NULL, &codes), free(D), free(Y);
}

/* An error in the noise estimate of an image leaves the output unchanged. */
static void test_noise_is_untouched_by_errors(void **state) {
    enum { SIDE = 40 };
    shs_real *pixels = new_normal(SIDE * SIDE, 5);
    shs_image image = SHS_ZERO;
    shs_context ctx = SHS_ZERO;
    shs_noise noise, kept;
    faulty f;
    (void)state;
    memset(&noise, UNTOUCHED, sizeof noise);
    memset(&kept, UNTOUCHED, sizeof kept);
    image.pixels = pixels;
    image.width = image.height = 2;
    assert_status(shs_noise_sigma(NULL, &image, &noise), SHS_BAD_PATCHES);
    image.width = image.height = SIDE;
    faulty_attach(&f, 0, &ctx);
    assert_status(shs_noise_sigma(&ctx, &image, &noise), SHS_NO_MEMORY);
    memset(pixels, 0xff, sizeof *pixels);
    assert_status(shs_noise_sigma(NULL, &image, &noise), SHS_IMAGE_NOT_FINITE);
    image.pixels = NULL;
    assert_status(shs_noise_sigma(NULL, &image, &noise), SHS_BAD_IMAGE);
    assert_memory_equal(&noise, &kept, sizeof noise);
    free(pixels);
}

/* A cube in memory is read where it lies: scratch is little beside it, in every type and interleave. */
static void test_cubes_are_not_copied(void **state) {
    enum { LINES = 4000, SAMPLES = 5000, BANDS = 50 };
    static const unsigned char pixel = 0;
    static const shs_wide matrix[3 * BANDS] = {0};
    shs_pixel_map map = SHS_ZERO;
    shs_sink sink = SHS_ZERO;
    int type, interleave;
    (void)state;
    map.bands = BANDS;
    map.outputs = 3;
    map.matrix = matrix;
    sink.pixels = &sink;
    sink.type = SHS_TYPE_U8;
    sink.rescale = 1;
    sink.high = 255;
    for (type = 0; type < SHS_TYPE_COUNT; type++)
        for (interleave = 0; interleave < SHS_INTERLEAVE_COUNT; interleave++) {
            shs_cube cube = SHS_ZERO;
            size_t bytes = (size_t)LINES * SAMPLES * BANDS * shs_type_size((shs_type)type);
            cube.pixels = &pixel;
            cube.type = (shs_type)type;
            cube.interleave = (shs_interleave)interleave;
            cube.lines = LINES;
            cube.samples = SAMPLES;
            cube.bands = BANDS;
            cube.swap_bytes = type % 2;
            assert_in_range(shs_moments_update_workspace(NULL, &cube, 1), 1, bytes / 20);
            assert_in_range(shs_cube_map_workspace(NULL, &cube, &map, 1, &sink), 1, bytes / 20);
        }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
#define TEST_OF(perform, problems, runs) cmocka_unit_test(test_##perform),
        PROPERTIES(TEST_OF)
        cmocka_unit_test(test_cubes_are_not_copied),
        cmocka_unit_test(test_noise_is_untouched_by_errors),
        cmocka_unit_test(test_progress_without_an_error_says_so),
    };
    return cmocka_run_group_tests_name("properties", tests, NULL, NULL);
}
