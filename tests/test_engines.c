/* test_engines.c - an engine in plain C, stage by stage as section ENGINES describes it: the drivers come to the CPU's results
   with it, and whichever of its calls fails ends the driver with that status, its sessions closed. */
#include "test_cube_tools.h"

/* What the engine is told, and what it has seen. */
typedef struct plan {
    int fail_at;       /* the call that fails, from 0; negative: none */
    shs_status answer; /* with this */
    int calls, open;   /* calls made; sessions not closed */
    int maps;          /* maps and ranges it has done */
} plan;

static int fails(plan *p) { return p->calls++ == p->fail_at; }

/* ---- signals ------------------------------------------------------------------------------------------------------ */

typedef struct signals {
    plan *told;
    shs_signals_job job;
    shs_real *D, *E;
    shs_codes codes;
} signals;

static shs_status signals_open(void *user, const shs_context *ctx, const shs_signals_job *job, void **session) {
    plan *told = (plan *)user;
    signals *s;
    (void)ctx;
    if (fails(told)) return told->answer;
    s = NEW(signals, 1);
    s->told = told;
    s->job = *job;
    s->D = NEW(shs_real, job->p * job->n);
    s->E = NEW(shs_real, (size_t)job->p * job->m);
    assert_ok(shs_codes_create(NULL, job->m, job->stride, &s->codes));
    told->open++;
    *session = s;
    return SHS_OK;
}

static void signals_close(void *session) {
    signals *s = (signals *)session;
    s->told->open--;
    shs_codes_free(NULL, &s->codes);
    free(s->D);
    free(s->E);
    free(s);
}

static shs_status signals_dictionary(void *session, const shs_real *D, int ldd) {
    signals *s = (signals *)session;
    int j;
    if (fails(s->told)) return s->told->answer;
    for (j = 0; j < s->job.n; j++) memcpy(s->D + j * s->job.p, D + j * ldd, (size_t)s->job.p * sizeof *D);
    return SHS_OK;
}

static shs_status signals_code(void *session, shs_real *errors2, size_t *usage, shs_omp_report *report) {
    signals *s = (signals *)session;
    shs_status status = shs_omp_ex(NULL, s->job.p, s->job.n, s->D, s->job.p, s->job.m, s->job.Y, s->job.ldy, s->job.coding,
                                   &s->codes, errors2, report);
    size_t i;
    int k;
    report->rmse = -1; /* the library forms it from sum2 */
    if (fails(s->told)) return s->told->answer;
    if (usage) memset(usage, 0, (size_t)s->job.n * sizeof *usage);
    for (i = 0; usage && i < s->job.m; i++)
        for (k = 0; k < s->codes.used[i]; k++) usage[s->codes.atoms[i * (size_t)s->codes.stride + (size_t)k]]++;
    return status;
}

static shs_status signals_residual(void *session, shs_wide *sum2) {
    signals *s = (signals *)session;
    if (fails(s->told)) return s->told->answer;
    return shs_codes_residual(NULL, s->job.p, s->job.n, s->D, s->job.p, s->job.m, s->job.Y, s->job.ldy, &s->codes, s->E,
                              s->job.p, sum2);
}

/* The coefficient of an atom in signal i, or NULL. */
static shs_real *coefficient(const signals *s, size_t i, int atom) {
    size_t at = i * (size_t)s->codes.stride;
    int k;
    for (k = 0; k < s->codes.used[i]; k++)
        if (s->codes.atoms[at + (size_t)k] == atom) return s->codes.coefs + at + k;
    return NULL;
}

/* sum += x e and energy += x^2 over the signals that use the atom. */
static void gather_atom(const signals *s, int atom, shs_wide *sum, shs_wide *energy) {
    int p = s->job.p, q;
    size_t i;
    for (i = 0; i < s->job.m; i++) {
        const shs_real *x = coefficient(s, i, atom), *e = s->E + i * (size_t)p;
        if (!x) continue;
        for (q = 0; q < p; q++) sum[q] += (double)*x * (double)e[q];
        *energy += (double)*x * (double)*x;
    }
}

static shs_status signals_gather(void *session, const shs_atom_group *g) {
    signals *s = (signals *)session;
    int j;
    if (fails(s->told)) return s->told->answer;
    memset(g->sums, 0, (size_t)(s->job.p * g->count) * sizeof *g->sums);
    memset(g->energy, 0, (size_t)g->count * sizeof *g->energy);
    for (j = 0; j < g->count; j++) gather_atom(s, g->first + j, g->sums + j * s->job.p, g->energy + j);
    return SHS_OK;
}

/* Codes and E are brought up to date, wanted or not. */
static shs_status signals_update(void *session, const shs_atom_group *g) {
    signals *s = (signals *)session;
    int p = s->job.p, j, q;
    size_t i;
    if (fails(s->told)) return s->told->answer;
    for (i = 0; i < s->job.m; i++) {
        shs_real *e = s->E + i * (size_t)p, *change = NEW(shs_real, p);
        for (j = 0; j < g->count; j++) {
            const shs_real *before = s->D + (g->first + j) * p, *after = g->atoms + j * p;
            shs_real *x = coefficient(s, i, g->first + j);
            double x_new = 0, overlap = 0;
            if (!x) continue;
            for (q = 0; q < p; q++) {
                x_new += (double)e[q] * (double)after[q];
                overlap += (double)before[q] * (double)after[q];
            }
            x_new += (double)*x * overlap;
            if (g->update == SHS_UPDATE_SGK || g->update == SHS_UPDATE_NSGK) x_new = (double)*x;
            for (q = 0; q < p; q++) change[q] += *x * before[q] - (shs_real)x_new * after[q];
            *x = (shs_real)x_new;
        }
        for (q = 0; q < p; q++) e[q] += change[q];
        free(change);
    }
    memcpy(s->D + g->first * p, g->atoms, (size_t)(g->count * p) * sizeof *g->atoms);
    return SHS_OK;
}

static shs_status signals_fetch(void *session, shs_codes *codes) {
    signals *s = (signals *)session;
    size_t i;
    if (fails(s->told)) return s->told->answer;
    for (i = 0; i < s->job.m; i++) {
        size_t from = i * (size_t)s->codes.stride, to = i * (size_t)codes->stride, n = (size_t)s->codes.used[i];
        codes->used[i] = s->codes.used[i];
        memcpy(codes->atoms + to, s->codes.atoms + from, n * sizeof(int));
        memcpy(codes->coefs + to, s->codes.coefs + from, n * sizeof(shs_real));
    }
    return SHS_OK;
}

/* ---- pixels ------------------------------------------------------------------------------------------------------- */

typedef struct pixels {
    plan *told;
    const shs_cube *cube;
    plain_cube all;
    unsigned char *valid;
    plain_cube z; /* whitened; those of missing pixels are zero */
} pixels;

static shs_status pixels_open(void *user, const shs_context *ctx, const shs_cube *cube, void **session) {
    plan *told = (plan *)user;
    pixels *s;
    size_t i;
    (void)ctx;
    if (fails(told)) return told->answer;
    s = NEW(pixels, 1);
    s->told = told;
    s->cube = cube;
    s->all = plain_of(cube);
    s->valid = NEW(unsigned char, pixels_of(&s->all));
    for (i = 0; i < pixels_of(&s->all); i++) {
        int b;
        s->valid[i] = !cube->mask || cube->mask[i];
        for (b = 0; b < s->all.bands; b++) s->valid[i] &= (unsigned char)is_finite(pixel_of(&s->all, i)[b]);
    }
    told->open++;
    *session = s;
    return SHS_OK;
}

static void pixels_close(void *session) {
    pixels *s = (pixels *)session;
    s->told->open--;
    free(s->all.x);
    free(s->valid);
    free(s->z.x);
    free(s);
}

/* sums += 1, d, the lower triangle of d d' */
static void add_moments(int n, const double *d, double *sums) {
    int a, b;
    sums[0] += 1;
    for (b = 0; b < n; b++) {
        sums[1 + b] += d[b];
        for (a = b; a < n; a++) sums[1 + n + b * n + a] += d[a] * d[b];
    }
}

static shs_status pixels_moments(void *session, int precise, int known, shs_real *shift, shs_wide *sums) {
    pixels *s = (pixels *)session;
    int n = s->all.bands, b, found = known;
    double *d = NEW(double, n);
    size_t i;
    (void)precise;
    memset(sums, 0, (size_t)(1 + n + n * n) * sizeof *sums);
    for (i = 0; i < pixels_of(&s->all); i++) {
        if (!s->valid[i]) continue;
        for (b = 0; b < n && !found; b++) shift[b] = (shs_real)pixel_of(&s->all, i)[b];
        found = 1;
        for (b = 0; b < n; b++) d[b] = pixel_of(&s->all, i)[b] - (double)shift[b];
        add_moments(n, d, sums);
    }
    free(d);
    return fails(s->told) ? s->told->answer : SHS_OK;
}

static shs_status pixels_noise(void *session, shs_wide *sums) {
    pixels *s = (pixels *)session;
    int n = s->all.bands, b;
    double *d = NEW(double, n);
    size_t i;
    memset(sums, 0, (size_t)(1 + n + n * n) * sizeof *sums);
    for (i = 0; i + 1 < pixels_of(&s->all); i++) {
        if ((i + 1) % (size_t)s->all.samples == 0 || !s->valid[i] || !s->valid[i + 1]) continue;
        for (b = 0; b < n; b++) d[b] = pixel_of(&s->all, i + 1)[b] - pixel_of(&s->all, i)[b];
        add_moments(n, d, sums);
    }
    free(d);
    return fails(s->told) ? s->told->answer : SHS_OK;
}

/* Computes the outputs of the map for every pixel, or with `squares` one output. */
static plain_cube mapped(const pixels *s, const shs_pixel_map *map, int squares) {
    plain_cube out = new_plain(s->all.lines, s->all.samples, map->outputs);
    plain_cube one = new_plain(s->all.lines, s->all.samples, 1);
    size_t i;
    int k;
    naive_map(&s->all, map->outputs, map->matrix, map->centre, map->offset, out.x);
    for (i = 0; i < pixels_of(&out); i++)
        for (k = 0; k < out.bands; k++) one.x[i] += pixel_of(&out, i)[k] * pixel_of(&out, i)[k];
    free(squares ? out.x : one.x);
    return squares ? one : out;
}

/* Returns non-zero if the mapping call succeeds; `out` then holds its outputs. */
static int maps(const pixels *s, const shs_pixel_map *map, int squares, plain_cube *out) {
    if (fails(s->told)) return 0;
    s->told->maps++;
    *out = mapped(s, map, squares);
    return 1;
}

static shs_status pixels_range(void *session, const shs_pixel_map *map, int precise, int squares, shs_wide *low,
                               shs_wide *high) {
    pixels *s = (pixels *)session;
    plain_cube out;
    size_t i;
    int k;
    (void)precise;
    if (!maps(s, map, squares, &out)) return s->told->answer;
    for (k = 0; k < out.bands; k++) {
        low[k] = ENDLESS;
        high[k] = -ENDLESS;
    }
    for (i = 0; i < values_of(&out); i++) {
        if (!s->valid[i / (size_t)out.bands]) continue;
        k = (int)(i % (size_t)out.bands);
        low[k] = fmin(low[k], out.x[i]);
        high[k] = fmax(high[k], out.x[i]);
    }
    free(out.x);
    return SHS_OK;
}

/* Into sinks in memory of SHS_TYPE_F64 by pixel, which is what the tests ask for. */
static shs_status pixels_map(void *session, const shs_pixel_map *map, int precise, int squares, const shs_sink *sink,
                             const shs_wide *low, const shs_wide *high, shs_wide missing) {
    pixels *s = (pixels *)session;
    plain_cube out;
    size_t i;
    (void)precise;
    if (!maps(s, map, squares, &out)) return s->told->answer;
    for (i = 0; i < values_of(&out); i++) {
        size_t pixel = i / (size_t)out.bands, k = i % (size_t)out.bands;
        double x = out.x[i];
        if (sink->rescale) x = (sink->high - sink->low) * (x - low[k]) / (high[k] - low[k]) + sink->low;
        ((double *)sink->pixels)[i] = s->valid[pixel] ? x : missing;
    }
    free(out.x);
    return SHS_OK;
}

static shs_status pixels_whiten(void *session, const shs_pixel_map *whitening, int fourth, shs_wide *sums) {
    pixels *s = (pixels *)session;
    int m = whitening->outputs, n = m * (m + 1) / 2, a, b, j;
    double *q = NEW(double, n), *all = NEW(double, 1 + n + n * n);
    size_t i;
    free(s->z.x);
    s->z = mapped(s, whitening, 0);
    for (i = 0; i < pixels_of(&s->z); i++) {
        if (!s->valid[i]) continue;
        for (b = j = 0; b < m; b++)
            for (a = 0; a <= b; a++) q[j++] = pixel_of(&s->z, i)[a] * pixel_of(&s->z, i)[b];
        add_moments(n, q, all);
    }
    sums[0] = all[0];
    for (j = 0; j < n && fourth; j++) /* the lower triangle and no more */
        memcpy(sums + 1 + j * n + j, all + 1 + n + j * n + j, (size_t)(n - j) * sizeof *sums);
    free(q);
    free(all);
    return fails(s->told) ? s->told->answer : SHS_OK;
}

static double projected(const pixels *s, size_t i, const double *w) {
    double y = 0;
    int a;
    for (a = 0; a < s->z.bands; a++) y += w[a] * pixel_of(&s->z, i)[a];
    return y;
}

static shs_status pixels_sweep(void *session, shs_contrast contrast, int c, const shs_wide *W, shs_wide *sums) {
    pixels *s = (pixels *)session;
    int m = s->z.bands, d, a;
    size_t i;
    memset(sums, 0, (size_t)(1 + c + m * c) * sizeof *sums);
    for (i = 0; i < pixels_of(&s->z); i++) {
        if (!s->valid[i]) continue;
        sums[0] += 1;
        for (d = 0; d < c; d++) {
            double y = projected(s, i, W + d * m), g, slope;
            if (contrast == SHS_CONTRAST_POW3) {
                g = y * y * y;
                slope = 3 * y * y;
            } else if (contrast == SHS_CONTRAST_TANH) {
                g = tanh(y);
                slope = 1 - g * g;
            } else {
                g = y * exp(-y * y / 2);
                slope = (1 - y * y) * exp(-y * y / 2);
            }
            sums[1 + d] += slope;
            for (a = 0; a < m; a++) sums[1 + c + d * m + a] += g * pixel_of(&s->z, i)[a];
        }
    }
    return fails(s->told) ? s->told->answer : SHS_OK;
}

static shs_status pixels_rate(void *session, const shs_wide *W, shs_wide *sums) {
    pixels *s = (pixels *)session;
    int m = s->z.bands, d;
    size_t i;
    memset(sums, 0, (size_t)(1 + 2 * m) * sizeof *sums);
    for (i = 0; i < pixels_of(&s->z); i++) {
        if (!s->valid[i]) continue;
        sums[0] += 1;
        for (d = 0; d < m; d++) {
            double y = projected(s, i, W + d * m);
            sums[1 + d] += y * y * y * y;
            sums[1 + m + d] += log(cosh(y));
        }
    }
    return fails(s->told) ? s->told->answer : SHS_OK;
}

/* ---- products ----------------------------------------------------------------------------------------------------- */

static shs_status product(void *user, const shs_context *ctx, const shs_product_job *job) {
    (void)ctx;
    if (fails((plan *)user)) return ((plan *)user)->answer;
    if (job->symmetric)
        return shs_syrk_naive(job->uplo, job->transa, job->n, job->k, job->alpha, job->A, job->lda, job->beta, job->C,
                              job->ldc);
    return shs_gemm_general_naive(job->transa, job->transb, job->m, job->n, job->k, job->alpha, job->A, job->lda, job->B,
                                  job->ldb, job->beta, job->C, job->ldc);
}

/* Rounds the codes signal by signal. A failure leaves all codes unchanged. */
static shs_status codes_round(void *user, const shs_context *ctx, const shs_rounding_job *job) {
    shs_wide *work = NEW(shs_wide, job->p + 3 * job->most);
    shs_real *D = NEW(shs_real, job->p * job->n);
    size_t i;
    int j;
    (void)ctx;
    assert_true(job->version == 0 && job->most > 0 && job->most <= job->codes->stride);
    for (j = 0; j < job->n; j++)
        memcpy(D + j * job->p, job->D + (size_t)j * (size_t)job->ldd, (size_t)job->p * sizeof *D);
    for (i = 0; i < job->codes->m && !fails((plan *)user); i++) {
        const size_t at = i * (size_t)job->codes->stride;
        shs_codes_round_naive(job->p, D, job->type, job->codes->used[i], job->codes->atoms + at, job->codes->coefs + at, work);
    }
    free(work);
    free(D);
    return i < job->codes->m ? ((plan *)user)->answer : SHS_OK;
}

/* clang-format off */
static const shs_engine plain_engine = {
    0, NULL, 0,
    signals_open, signals_dictionary, signals_code, signals_residual, signals_gather, signals_update, signals_fetch,
    signals_close,
    pixels_open, pixels_moments, pixels_noise, pixels_range, pixels_map, pixels_whiten, pixels_sweep, pixels_rate,
    pixels_close,
    product,
    NULL, /* signals_round: see test_rounds */
    0,    /* signals_grouped: groups are not taken */
    NULL, /* signals_cross */
    NULL, /* signals_descend */
    codes_round,
};
/* clang-format on */

static shs_engine engine_of(plan *told) {
    shs_engine e = plain_engine;
    memset(told, 0, sizeof *told);
    told->fail_at = -1;
    told->answer = SHS_DEVICE_LOST;
    e.user = told;
    return e;
}

/* ---- what is asked of both --------------------------------------------------------------------------------------- */

enum { P = 12, N = 20, M = 150, S = 3, LINES = 9, SAMPLES = 11, BANDS = 5, SIDE = 14 };

/* Inputs of all calls, and what they give. */
typedef struct scene {
    shs_real *D, *Y, *picture;
    plain_cube plain;
    shs_cube cube;
    shs_image image;
} scene;

typedef struct results {
    shs_real D[P * N], coefs[M * S], errors2[M], picture[SIDE * SIDE];
    int used[M], atoms[M * S], components;
    shs_wide values[64], moments[64];
    double pixels[LINES * SAMPLES * BANDS];
} results;

typedef shs_status (*call_fn)(const shs_context *ctx, const scene *s, results *r);

static shs_codes codes_in(results *r) {
    shs_codes codes = SHS_ZERO;
    codes.m = M;
    codes.stride = S;
    codes.used = r->used;
    codes.atoms = r->atoms;
    codes.coefs = r->coefs;
    return codes;
}

static shs_status call_omp(const shs_context *ctx, const scene *s, results *r) {
    shs_codes codes = codes_in(r);
    shs_omp_options o = SHS_ZERO;
    shs_omp_report report = SHS_ZERO;
    shs_status status;
    o.sparsity = S;
    status = shs_omp_ex(ctx, P, N, s->D, P, M, s->Y, P, &o, &codes, r->errors2, &report);
    if (status == SHS_OK) {
        r->values[0] = report.sum2;
        r->values[1] = (shs_wide)report.nonzeros;
        r->values[2] = report.rmse;
    }
    return status;
}

static shs_status learn(const shs_context *ctx, const scene *s, results *r, shs_update update) {
    shs_codes codes = codes_in(r);
    shs_ksvd_options o = SHS_ZERO;
    shs_ksvd_report report = SHS_ZERO;
    shs_status status;
    o.iterations = 3;
    o.parallel_atoms = 6;
    o.rounds = 2;
    o.rmse_after_update = 1;
    o.coding.sparsity = S;
    o.keep = SHS_KEEP_LAST;
    o.update = update;
    status = shs_ksvd_ex(ctx, P, N, M, s->Y, P, &o, r->D, P, &codes, &report);
    r->values[0] = report.rmse;
    r->values[1] = report.mean_atoms;
    return status;
}
static shs_status call_ksvd(const shs_context *ctx, const scene *s, results *r) { return learn(ctx, s, r, SHS_UPDATE_AKSVD); }
static shs_status call_sgk(const shs_context *ctx, const scene *s, results *r) { return learn(ctx, s, r, SHS_UPDATE_SGK); }

static shs_status call_products(const shs_context *ctx, const scene *s, results *r) {
    shs_status status = shs_gemm(ctx, SHS_TRANS_YES, SHS_TRANS_NO, N, P, P, 2, s->D, P, s->Y, P, 0, r->D, N);
    memcpy(r->coefs, s->Y, P * P * sizeof *r->coefs);
    if (status != SHS_OK) return status;
    return shs_syrk(ctx, SHS_UPLO_UPPER, SHS_TRANS_NO, P, N, 3, s->D, P, (shs_real)0.5, r->coefs, P);
}

/* Few signals without a sum near the middle between two values, so that the twin rounds the same way. */
static shs_status call_round(const shs_context *ctx, const scene *s, results *r) {
    shs_codes codes = codes_in(r);
    size_t i;
    codes.m = 9;
    for (i = 0; i < codes.m * S; i++) {
        codes.used[i / S] = S - (int)(i / S % 2);
        codes.atoms[i] = (int)(i * 7 % N);
        codes.coefs[i] = s->Y[i] * (shs_real)(1 + (int)(i % 3));
    }
    return shs_codes_round(ctx, P, N, s->D, P, SHS_COEF_I16, &codes);
}

static shs_status call_approximate(const shs_context *ctx, const scene *s, results *r) {
    shs_patches set = SHS_ZERO;
    shs_omp_options o = SHS_ZERO;
    set.width = 4;
    set.height = 3;
    o.sparsity = S;
    return shs_patches_approximate(ctx, &s->image, &set, N, s->D, P, &o, 1, r->picture, NULL);
}

static shs_sink sink_in(results *r) {
    shs_sink sink = SHS_ZERO;
    sink.pixels = r->pixels;
    sink.type = SHS_TYPE_F64;
    sink.interleave = SHS_INTERLEAVE_BIP;
    return sink;
}

static void keep_pca(const shs_context *ctx, shs_status status, shs_pca *pca, results *r) {
    if (status != SHS_OK) return;
    memcpy(r->values, pca->eigenvalues, (size_t)pca->eigenvalue_count * sizeof *r->values);
    memcpy(r->moments, pca->forward, (size_t)(pca->bands * pca->components) * sizeof *r->moments);
    shs_pca_free(ctx, pca);
}

static shs_status call_moments(const shs_context *ctx, const scene *s, results *r) {
    shs_moments m;
    shs_status status = shs_moments_create(NULL, BANDS, &m);
    assert_ok(status);
    status = shs_moments_update(ctx, &s->cube, SHS_PRECISION_NEVER, &m);
    if (status == SHS_OK) status = shs_moments_update(ctx, &s->cube, SHS_PRECISION_ALWAYS, &m); /* onto a known shift */
    if (status == SHS_OK) assert_ok(shs_moments_finish(&m, SHS_DIVISOR_N, r->values, r->moments, BANDS));
    shs_moments_free(NULL, &m);
    return status;
}

/* In double: an engine that cannot is not asked for less. */
static shs_status call_pca_run(const shs_context *ctx, const scene *s, results *r) {
    shs_pca_options o = SHS_ZERO;
    shs_pca pca = SHS_ZERO;
    shs_sink sink = sink_in(r);
    shs_status status;
    o.precise = SHS_PRECISION_ALWAYS;
    status = shs_pca_run(ctx, &s->cube, &o, &sink, &pca);
    keep_pca(ctx, status, &pca, r);
    return status;
}

static shs_status call_rescaled(const shs_context *ctx, const scene *s, results *r) {
    shs_pca_options o = SHS_ZERO;
    shs_sink sink = sink_in(r);
    sink.rescale = 1;
    sink.low = -1;
    sink.high = 3;
    o.precise = SHS_PRECISION_ALWAYS;
    return shs_pca_run(ctx, &s->cube, &o, &sink, NULL);
}

static shs_status call_mnf(const shs_context *ctx, const scene *s, results *r) {
    shs_pca mnf = SHS_ZERO;
    shs_status status = shs_mnf_fit(ctx, &s->cube, NULL, &mnf);
    keep_pca(ctx, status, &mnf, r);
    return status;
}

static shs_status call_mnf_run(const shs_context *ctx, const scene *s, results *r) {
    shs_pca mnf = SHS_ZERO;
    shs_sink sink = sink_in(r);
    shs_status status = shs_mnf_run(ctx, &s->cube, NULL, &sink, &mnf);
    keep_pca(ctx, status, &mnf, r);
    return status;
}

static shs_status call_rx(const shs_context *ctx, const scene *s, results *r) {
    shs_sink sink = sink_in(r);
    return shs_rx(ctx, &s->cube, NULL, &sink, &r->components);
}

static shs_status call_ica(const shs_context *ctx, const scene *s, results *r, shs_contrast contrast, shs_ica_route route) {
    shs_ica_options o = SHS_ZERO;
    shs_ica ica = SHS_ZERO;
    shs_sink sink = sink_in(r);
    shs_status status;
    o.components = 3;
    o.contrast = contrast;
    o.route = route;
    o.approach = SHS_APPROACH_SYMMETRIC;
    o.order = SHS_ORDER_EXTRACTION;
    o.precise = SHS_PRECISION_ALWAYS;
    status = shs_ica_run(ctx, &s->cube, &o, &sink, &ica);
    if (status == SHS_OK) {
        assert_int_equal(ica.used_moments, route == SHS_ROUTE_MOMENTS);
        memcpy(r->moments, ica.unmixing, 3 * BANDS * sizeof *r->moments);
        r->values[0] = ica.component[0].kurtosis;
        r->values[1] = ica.component[2].negentropy;
        shs_ica_free(ctx, &ica);
    }
    return status;
}

static shs_status call_ica_moments(const shs_context *ctx, const scene *s, results *r) {
    return call_ica(ctx, s, r, SHS_CONTRAST_POW3, SHS_ROUTE_MOMENTS);
}
static shs_status call_ica_sweeps(const shs_context *ctx, const scene *s, results *r) {
    return call_ica(ctx, s, r, SHS_CONTRAST_TANH, SHS_ROUTE_SWEEP);
}

/* bound: how far results may be apart, relative to the largest; 0: to the last bit. */
static const struct {
    const char *name;
    call_fn call;
    double bound;
} calls[] = {
    {"shs_omp_ex", call_omp, 0},
    {"shs_ksvd_ex", call_ksvd, BY_TYPE(2e-3, 1e-10)},
    {"shs_ksvd_ex, SGK", call_sgk, BY_TYPE(2e-3, 1e-10)},
    {"shs_patches_approximate", call_approximate, 0},
    {"shs_gemm and shs_syrk", call_products, BY_TYPE(1e-5, 1e-12)},
    {"shs_codes_round", call_round, BY_TYPE(1e-7, 1e-14)},
    {"shs_moments_update", call_moments, BY_TYPE(1e-5, 1e-12)},
    {"shs_pca_run", call_pca_run, BY_TYPE(1e-4, 1e-10)},
    {"shs_pca_run, rescaled", call_rescaled, BY_TYPE(1e-4, 1e-10)},
    {"shs_mnf_fit", call_mnf, BY_TYPE(1e-4, 1e-9)},
    {"shs_mnf_run", call_mnf_run, BY_TYPE(1e-4, 1e-9)},
    {"shs_rx", call_rx, BY_TYPE(1e-4, 1e-9)},
    {"shs_ica_run, fourth moments", call_ica_moments, BY_TYPE(1e-3, 1e-7)},
    {"shs_ica_run, sweeps", call_ica_sweeps, BY_TYPE(1e-3, 1e-7)},
};
#define CALLS (sizeof calls / sizeof calls[0])
enum { PRODUCTS = 4, ROUNDING = 5 }; /* no sessions */

static void scene_create(scene *s) {
    int i;
    memset(s, 0, sizeof *s);
    s->D = new_normal(P * N, 1);
    s->Y = new_normal(P * M, 2);
    assert_ok(shs_normalize_columns(P, N, s->D, P, NULL));
    s->picture = new_normal(SIDE * SIDE, 3);
    s->image.pixels = s->picture;
    s->image.type = SHS_TYPE_REAL;
    s->image.width = s->image.height = SIDE;
    s->plain = mixed_cube(LINES, SAMPLES, BANDS, 3, 0.5, 4);
    for (i = 0; i < BANDS; i++) pixel_of(&s->plain, 17)[i] = NOT_A_NUMBER;
    s->cube = cube_of(&s->plain, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
}

static void scene_free(scene *s) {
    free(s->D);
    free(s->Y);
    free(s->picture);
    free(s->plain.x);
    cube_free(&s->cube);
}

static void compare_reals(const char *name, size_t n, const shs_real *a, const shs_real *b, double bound) {
    double *x = NEW(double, n), *y = NEW(double, n);
    size_t i;
    for (i = 0; i < n; i++) {
        x[i] = (double)a[i];
        y[i] = (double)b[i];
    }
    check_near(name, n, x, y, bound * largest_of(n, y));
    free(x);
    free(y);
}

static void compare(const char *name, const results *a, const results *b, double bound) {
    check_near(name, 64, a->values, b->values, bound * largest_of(64, b->values));
    check_near(name, 64, a->moments, b->moments, bound * largest_of(64, b->moments));
    check_near(name, LINES * SAMPLES * BANDS, a->pixels, b->pixels, bound * 10);
    compare_reals(name, P * N, a->D, b->D, bound);
    compare_reals(name, M * S, a->coefs, b->coefs, bound);
    compare_reals(name, M, a->errors2, b->errors2, bound);
    compare_reals(name, SIDE * SIDE, a->picture, b->picture, bound);
    assert_memory_equal(a->used, b->used, sizeof a->used);
    assert_memory_equal(a->atoms, b->atoms, sizeof a->atoms);
    assert_int_equal(a->components, b->components);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/* The start of every test: an engine without planned failures, a context, and room for results. */
typedef struct fixture {
    scene s;
    results *here, *there;
    plan told;
    shs_engine e;
    shs_context ctx;
} fixture;

/* The plan and the engine as at the start, and no result. */
static void begin_anew(fixture *x) {
    const shs_context plain = SHS_ZERO;
    x->e = engine_of(&x->told);
    x->ctx = plain;
    x->ctx.engine = &x->e;
    memset(x->there, 0, sizeof *x->there);
}

static int setup(void **state) {
    fixture *x = NEW(fixture, 1);
    scene_create(&x->s);
    x->here = NEW(results, 1);
    x->there = NEW(results, 1);
    begin_anew(x);
    *state = x;
    return 0;
}

static int teardown(void **state) {
    fixture *x = (fixture *)*state;
    int open = x->told.open;
    scene_free(&x->s);
    free(x->here);
    free(x->there);
    free(x);
    return open; /* sessions are closed, whatever happened */
}

/* The CPU's results of call c. */
static void done_here(fixture *x, size_t c) {
    memset(x->here, 0, sizeof *x->here);
    assert_ok(calls[c].call(NULL, &x->s, x->here));
}

static void test_same_results(void **state) {
    fixture *x = (fixture *)*state;
    size_t c;
    for (c = 0; c < CALLS; c++) {
        begin_anew(x);
        done_here(x, c);
        assert_ok(calls[c].call(&x->ctx, &x->s, x->there));
        compare(calls[c].name, x->there, x->here, calls[c].bound);
        assert_true(x->told.calls >= 2); /* it was asked */
        assert_int_equal(x->told.open, 0);
    }
}

static void *alloc_no_numbers(void *user, size_t size) {
    void *block = malloc(size);
    (void)user;
    if (block) memset(block, 0xff, size);
    return block;
}

static void free_plainly(void *user, void *block) {
    (void)user;
    free(block);
}

/* An engine fills the lower triangles of its sums. What is above the diagonal, NaN here, does not count. */
static void test_lower_triangles(void **state) {
    fixture *x = (fixture *)*state;
    size_t c;
    for (c = 0; c < CALLS; c++) {
        begin_anew(x);
        done_here(x, c);
        x->ctx.alloc_fn = alloc_no_numbers;
        x->ctx.free_fn = free_plainly;
        assert_ok(calls[c].call(&x->ctx, &x->s, x->there));
        compare(calls[c].name, x->there, x->here, calls[c].bound);
    }
}

/* Whichever call fails, its status is the driver's, and what was opened is closed. */
static void test_each_call_fails(void **state) {
    fixture *x = (fixture *)*state;
    size_t c;
    int k, fallback;
    for (c = 0; c < CALLS; c++)
        for (fallback = 0; fallback < 2; fallback++)
            for (k = 0;; k++) {
                faulty f;
                shs_status status;
                begin_anew(x);
                x->told.fail_at = k;
                x->e.fallback = fallback;
                faulty_attach(&f, -1, &x->ctx);
                status = calls[c].call(&x->ctx, &x->s, x->there);
                assert_int_equal(x->told.open, 0);
                assert_int_equal(f.outstanding, 0);
                if (x->told.calls <= k) {
                    assert_ok(status);
                    break;
                }
                if (status != SHS_DEVICE_LOST) fail_msg("%s, call %d: %s", calls[c].name, k, shs_status_name(status));
            }
}

/* Where an engine cannot do a stage, or has no memory for it, the CPU stands in, if it may, and the result is the same. */
static void test_each_call_is_stood_in_for(void **state) {
    static const shs_status answers[] = {SHS_UNSUPPORTED, SHS_NO_MEMORY};
    fixture *x = (fixture *)*state;
    size_t c;
    int k, fallback, a;
    for (c = 0; c < CALLS; c++) {
        done_here(x, c);
        for (fallback = 0; fallback < 2; fallback++)
            for (a = 0; a < 2; a++)
                for (k = 0;; k++) {
                    shs_status status;
                    begin_anew(x);
                    x->told.fail_at = k;
                    x->told.answer = answers[a];
                    x->e.fallback = fallback;
                    status = calls[c].call(&x->ctx, &x->s, x->there);
                    assert_int_equal(x->told.open, 0);
                    if (x->told.calls <= k || fallback) assert_ok(status);
                    else assert_status(status, answers[a]);
                    if (status == SHS_OK) compare(calls[c].name, x->there, x->here, calls[c].bound);
                    if (x->told.calls <= k) break;
                }
    }
}

#define ENTRIES(X)                                                                                                             \
    X(signals_open)                                                                                                            \
    X(signals_dictionary)                                                                                                      \
    X(signals_code)                                                                                                            \
    X(signals_residual)                                                                                                        \
    X(signals_gather)                                                                                                          \
    X(signals_update)                                                                                                          \
    X(signals_fetch) X(signals_close) X(pixels_open) X(pixels_moments) X(pixels_noise) X(pixels_range) X(pixels_map)           \
        X(pixels_whiten) X(pixels_sweep) X(pixels_rate) X(pixels_close) X(product) X(codes_round)

/* Takes an entry out of the table; 0 where there is none of that number. */
static int take_out(shs_engine *e, int which) {
    int k = 0;
#define TAKE_OUT(entry)                                                                                                        \
    if (k++ == which) e->entry = NULL;
    ENTRIES(TAKE_OUT)
#undef TAKE_OUT
    return which < k;
}

/* A missing entry of the table counts as unsupported: the CPU computes the stage, or the call returns SHS_UNSUPPORTED if it
   needs the stage. */
static void test_missing_entries(void **state) {
    fixture *x = (fixture *)*state;
    const shs_engine nothing = SHS_ZERO;
    size_t c;
    int which, fallback;
    for (c = 0; c < CALLS; c++) {
        done_here(x, c);
        for (which = -1;; which++) /* -1: it lacks all */
            for (fallback = 0; fallback < 2; fallback++) {
                shs_status status;
                begin_anew(x);
                if (which >= 0 && !take_out(&x->e, which)) goto next;
                if (which < 0) x->e = nothing;
                x->e.fallback = fallback;
                status = calls[c].call(&x->ctx, &x->s, x->there);
                assert_int_equal(x->told.open, 0);
                if (fallback) assert_ok(status);
                else if (status != SHS_OK || which < 0) assert_status(status, SHS_UNSUPPORTED);
                if (status == SHS_OK) compare(calls[c].name, x->there, x->here, calls[c].bound);
            }
    next:;
    }
}

/* Nothing of an engine with a version of its own is called, and the CPU does not stand in for it. */
static void test_unknown_version(void **state) {
    fixture *x = (fixture *)*state;
    size_t c;
    int fallback;
    for (c = 0; c < CALLS; c++)
        for (fallback = 0; fallback < 2; fallback++) {
            begin_anew(x);
            x->e.version = 1;
            x->e.fallback = fallback;
            assert_status(calls[c].call(&x->ctx, &x->s, x->there), SHS_BAD_CONTEXT);
            assert_int_equal(x->told.calls, 0);
        }
}

/* A failed opening may have written to the session pointer. The library must not use this value. */
static shs_status opens_half(void *user, const shs_context *ctx, const shs_signals_job *job, void **session) {
    (void)ctx;
    (void)job;
    *session = user;
    return SHS_UNSUPPORTED;
}

static void test_half_opened(void **state) {
    fixture *x = (fixture *)*state;
    x->e.signals_open = opens_half;
    x->e.fallback = 1;
    assert_ok(call_ksvd(NULL, &x->s, x->here));
    assert_ok(call_ksvd(&x->ctx, &x->s, x->there));
    compare("shs_ksvd_ex", x->there, x->here, 0);
    x->e.fallback = 0;
    assert_status(call_ksvd(&x->ctx, &x->s, x->there), SHS_UNSUPPORTED);
    assert_int_equal(x->told.open, 0);
}

/* An engine that does not know the rule leaves the update to the CPU, where it may. */
static shs_status gather_aksvd(void *session, const shs_atom_group *g) {
    return g->update == SHS_UPDATE_AKSVD ? signals_gather(session, g) : SHS_UNSUPPORTED;
}

static void test_unknown_rule(void **state) {
    fixture *x = (fixture *)*state;
    x->e.signals_gather = gather_aksvd;
    assert_ok(call_ksvd(&x->ctx, &x->s, x->there));
    assert_status(call_sgk(&x->ctx, &x->s, x->there), SHS_UNSUPPORTED);
    x->e.fallback = 1;
    assert_ok(call_sgk(NULL, &x->s, x->here));
    assert_ok(call_sgk(&x->ctx, &x->s, x->there));
    compare("shs_ksvd_ex, SGK", x->there, x->here, BY_TYPE(2e-3, 1e-10));
    assert_int_equal(x->told.open, 0);
}

/* A round at once, of the stages above and the naive rule. */
static shs_status round_answer;
static int rounds_asked;

static shs_status signals_round(void *session, const shs_atom_round *o) {
    signals *s = (signals *)session;
    int p = s->job.p, n = s->job.n, j, q;
    shs_atom_group g = SHS_ZERO;
    shs_wide sum2;
    rounds_asked++;
    if (round_answer != SHS_OK) return round_answer;
    assert_ok(signals_residual(session, &sum2));
    g.update = o->update;
    g.want_codes = g.want_residual = 1;
    for (; g.first < n; g.first += g.count) {
        g.count = o->group < n - g.first ? o->group : n - g.first;
        g.sums = NEW(shs_wide, p * g.count);
        g.energy = NEW(shs_wide, g.count);
        g.atoms = NEW(shs_real, p * g.count);
        assert_ok(signals_gather(session, &g));
        for (j = 0; j < g.count; j++) {
            double norm2 = 0;
            for (q = 0; q < p; q++) g.sums[j * p + q] += (double)s->D[(g.first + j) * p + q] * (double)g.energy[j];
            for (q = 0; q < p; q++) norm2 += (double)g.sums[j * p + q] * (double)g.sums[j * p + q];
            for (q = 0; q < p; q++)
                g.atoms[j * p + q] =
                    norm2 > 0 ? (shs_real)((double)g.sums[j * p + q] / sqrt(norm2)) : s->D[(g.first + j) * p + q];
        }
        assert_ok(signals_update(session, &g));
        free(g.sums);
        free(g.energy);
        free(g.atoms);
    }
    memcpy(o->D, s->D, (size_t)(p * n) * sizeof *o->D);
    return SHS_OK;
}

/* What a rank sees whose peers have nothing. */
static int reduce_alone(void *user, shs_wide *values, size_t count, shs_reduce_op op) {
    (void)user;
    (void)values;
    (void)count;
    (void)op;
    return 0;
}

/* An engine may take over a whole round; where it will not, or ranks add up their sums, the single stages do it. */
static void test_rounds(void **state) {
    static const shs_status answers[] = {SHS_OK, SHS_UNSUPPORTED, SHS_NO_MEMORY, SHS_DEVICE_LOST};
    fixture *x = (fixture *)*state;
    int a;
    assert_ok(call_ksvd(NULL, &x->s, x->here));
    for (a = 0; a < 4; a++) {
        shs_status status;
        begin_anew(x);
        x->e.signals_round = signals_round;
        round_answer = answers[a];
        rounds_asked = 0;
        status = call_ksvd(&x->ctx, &x->s, x->there);
        assert_true(rounds_asked > 0);
        assert_int_equal(x->told.open, 0);
        assert_status(status, a < 3 ? SHS_OK : answers[a]);
        if (a < 3) compare("shs_ksvd_ex", x->there, x->here, BY_TYPE(2e-3, 1e-10));
    }
    begin_anew(x);
    x->e.signals_round = signals_round;
    x->ctx.reduce_fn = reduce_alone;
    x->ctx.ranks = 1;
    rounds_asked = 0;
    assert_ok(call_ksvd(&x->ctx, &x->s, x->there));
    assert_int_equal(rounds_asked, 0);
    compare("shs_ksvd_ex", x->there, x->here, BY_TYPE(2e-3, 1e-10));
}

/* A round that leaves the atoms as they are. The call behind the last round finds no memory. */
static int rounds_left;

static shs_status last_round(void *session, const shs_atom_round *o) {
    signals *s = (signals *)session;
    memcpy(o->D, s->D, (size_t)(s->job.p * s->job.n) * sizeof *o->D);
    if (--rounds_left > 0) return SHS_OK;
    s->told->fail_at = s->told->calls;
    s->told->answer = SHS_NO_MEMORY;
    return SHS_OK;
}

/* NSGK looks back by one iteration. From the second on only the engine has the codes of the one before: the CPU cannot go on from
   there, as it can in the first, or with a rule that does not look back. There are two rounds an iteration. */
static void test_rounds_that_look_back(void **state) {
    fixture *x = (fixture *)*state;
    for (rounds_left = 1; rounds_left <= 4; rounds_left++) {
        const int rounds = rounds_left;
        begin_anew(x);
        x->e.fallback = 1;
        x->e.signals_round = last_round;
        assert_status(learn(&x->ctx, &x->s, x->there, SHS_UPDATE_NSGK), rounds <= 2 ? SHS_OK : SHS_NO_MEMORY);
        assert_int_equal(x->told.open, 0);
        rounds_left = rounds;
    }
    begin_anew(x);
    rounds_left = 4;
    x->e.fallback = 1;
    x->e.signals_round = last_round;
    assert_ok(learn(&x->ctx, &x->s, x->there, SHS_UPDATE_SGK));
}

/* Signals whose unit leaves no room for sums of products are not for engines, and in double not for the CPU either. */
static void test_units_of_learning(void **state) {
    fixture *x = (fixture *)*state;
    const shs_real unit = (shs_real)BY_TYPE(ldexp(1, -100), ldexp(1, -300));
    shs_real D[P * N];
    shs_ksvd_options o = SHS_ZERO;
    size_t i;
    for (i = 0; i < P * M; i++) x->s.Y[i] *= unit;
    o.iterations = 1;
    o.coding.sparsity = S;
    assert_status(shs_ksvd_ex(&x->ctx, P, N, M, x->s.Y, P, &o, D, P, NULL, NULL), BY_TYPE(SHS_UNSUPPORTED, SHS_OUT_OF_RANGE));
    x->e.fallback = 1;
    assert_status(shs_ksvd_ex(&x->ctx, P, N, M, x->s.Y, P, &o, D, P, NULL, NULL), BY_TYPE(SHS_OK, SHS_OUT_OF_RANGE));
    assert_int_equal(x->told.open, 0);
}

/* One faint signal among signals of an ordinary unit: the engine still learns from all of them, and codes their patches. */
static void test_a_faint_signal(void **state) {
    enum { WIDE = 24 };
    fixture *x = (fixture *)*state;
    const shs_real unit = (shs_real)BY_TYPE(ldexp(1, -100), ldexp(1, -300));
    shs_real D[P * N], values[WIDE * WIDE], out[WIDE * WIDE];
    shs_ksvd_options o = SHS_ZERO;
    shs_image image = SHS_ZERO;
    shs_patches set = SHS_ZERO;
    int i;
    for (i = 0; i < P; i++) x->s.Y[i] *= unit;
    o.iterations = 1;
    o.coding.sparsity = S;
    assert_ok(shs_ksvd_ex(&x->ctx, P, N, M, x->s.Y, P, &o, D, P, NULL, NULL));
    for (i = 0; i < WIDE * WIDE; i++) values[i] = (shs_real)(i % WIDE + 1);
    for (i = 0; i < 10 * WIDE; i++) values[i] *= unit;
    image.pixels = values;
    image.type = SHS_TYPE_REAL;
    image.width = WIDE;
    image.height = WIDE;
    set.width = P;
    set.height = 1;
    assert_ok(shs_patches_approximate(&x->ctx, &image, &set, N, x->s.D, P, &o.coding, 0, out, NULL));
}

/* The CPU decorrelates the atoms of an engine without Y X', and goes on as if it had been alone. */
static void test_looks_back_at_an_engine(void **state) {
    fixture *x = (fixture *)*state;
    shs_real D[P * N], expected[P * N];
    shs_ksvd_options o = SHS_ZERO;
    size_t i;
    o.iterations = 3;
    o.coding.sparsity = S;
    o.update = SHS_UPDATE_NSGK;
    o.coherence = (shs_real)0.6;
    x->e.fallback = 1;
    assert_ok(shs_ksvd_ex(NULL, P, N, M, x->s.Y, P, &o, expected, P, NULL, NULL));
    assert_ok(shs_ksvd_ex(&x->ctx, P, N, M, x->s.Y, P, &o, D, P, NULL, NULL));
    for (i = 0; i < P * N; i++) assert_close(D[i], expected[i], BY_TYPE(2e-3, 1e-9));
    assert_int_equal(x->told.open, 0);
}

/* An engine without pixel stages leaves them to the CPU if fallback is on. */
static void test_signals_only(void **state) {
    fixture *x = (fixture *)*state;
    x->e.pixels_open = NULL;
    assert_status(call_pca_run(&x->ctx, &x->s, x->there), SHS_UNSUPPORTED);
    x->e.fallback = 1;
    assert_ok(call_pca_run(NULL, &x->s, x->here));
    assert_ok(call_pca_run(&x->ctx, &x->s, x->there));
    compare("shs_pca_run", x->there, x->here, 0);
    assert_int_equal(x->told.calls, 0);
}

/* Lines of a stream cannot be taken back: where the engine fails after it wrote some, the CPU does not begin again. */
static shs_status map_half(void *session, const shs_pixel_map *map, int precise, int squares, const shs_sink *sink,
                           const shs_wide *low, const shs_wide *high, shs_wide missing) {
    static const double line[BANDS * SAMPLES];
    (void)session;
    (void)map;
    (void)precise;
    (void)squares;
    (void)low;
    (void)high;
    (void)missing;
    if (sink->write_fn(sink->write_user, 0, 1, line) != 0) return SHS_WRITE_FAILED;
    return SHS_NO_MEMORY;
}
static int count_lines(void *user, int first_line, int lines, const void *block) {
    (void)first_line;
    (void)block;
    *(int *)user += lines;
    return 0;
}

static void test_half_a_stream(void **state) {
    fixture *x = (fixture *)*state;
    shs_pca_options o = SHS_ZERO;
    shs_sink sink = SHS_ZERO;
    int lines = 0;
    x->e.pixels_map = map_half;
    x->e.fallback = 1;
    o.components = 2;
    sink.type = SHS_TYPE_F64;
    sink.write_fn = count_lines;
    sink.write_user = &lines;
    assert_status(shs_pca_run(&x->ctx, &x->s.cube, &o, &sink, NULL), SHS_NO_MEMORY);
    assert_int_equal(lines, 1);
    assert_int_equal(x->told.open, 0);
}

/* An engine without double computes in shs_real by default, and returns SHS_UNSUPPORTED if the caller requires double. */
static shs_status moments_in_float(void *session, int precise, int known, shs_real *shift, shs_wide *sums) {
    return precise ? SHS_UNSUPPORTED : pixels_moments(session, precise, known, shift, sums);
}
static shs_status range_in_float(void *session, const shs_pixel_map *map, int precise, int squares, shs_wide *low,
                                 shs_wide *high) {
    return precise ? SHS_UNSUPPORTED : pixels_range(session, map, precise, squares, low, high);
}
static shs_status map_in_float(void *session, const shs_pixel_map *map, int precise, int squares, const shs_sink *sink,
                               const shs_wide *low, const shs_wide *high, shs_wide missing) {
    return precise ? SHS_UNSUPPORTED : pixels_map(session, map, precise, squares, sink, low, high, missing);
}

static void test_engine_without_double(void **state) {
    static const shs_precision precisions[] = {SHS_PRECISION_AUTO, SHS_PRECISION_ALWAYS, SHS_PRECISION_NEVER};
    fixture *x = (fixture *)*state;
    int k;
    assert_ok(call_rescaled(NULL, &x->s, x->here));
    for (k = 0; k < 3; k++) {
        shs_pca_options o = SHS_ZERO;
        shs_sink sink = sink_in(x->there);
        int refused = precisions[k] == SHS_PRECISION_ALWAYS && sizeof(shs_wide) > sizeof(shs_real);
        begin_anew(x);
        x->e.pixels_moments = moments_in_float;
        x->e.pixels_range = range_in_float;
        x->e.pixels_map = map_in_float;
        sink.rescale = 1;
        sink.low = -1;
        sink.high = 3;
        o.precise = precisions[k];
        assert_status(shs_pca_run(&x->ctx, &x->s.cube, &o, &sink, NULL), refused ? SHS_UNSUPPORTED : SHS_OK);
        assert_int_equal(x->told.maps, refused ? 0 : 2); /* for the range, and for the outputs */
        if (!refused) compare("shs_pca_run", x->there, x->here, BY_TYPE(1e-4, 1e-10));
    }
}

/* Where a step leaves nothing of a direction (here E z g = w E g') there is nowhere to go: said, and no more than that. */
static shs_status pixels_stand_still(void *session, shs_contrast contrast, int c, const shs_wide *W, shs_wide *sums) {
    int m = ((pixels *)session)->z.bands, i;
    (void)contrast;
    for (i = 0; i < 1 + c; i++) sums[i] = 1;
    for (i = 0; i < m * c; i++) sums[1 + c + i] = W[i];
    return SHS_OK;
}

static void test_nowhere_to_go(void **state) {
    fixture *x = (fixture *)*state;
    int approach, d, i;
    x->e.pixels_sweep = pixels_stand_still;
    for (approach = SHS_APPROACH_DEFLATION; approach <= SHS_APPROACH_SYMMETRIC; approach++) {
        shs_ica_options o = SHS_ZERO;
        shs_ica ica;
        o.components = 3;
        o.contrast = SHS_CONTRAST_TANH;
        o.approach = (shs_ica_approach)approach;
        o.order = SHS_ORDER_EXTRACTION;
        assert_ok(shs_ica_fit(&x->ctx, &x->s.cube, &o, &ica));
        assert_false(ica.converged);
        for (d = 0; d < 3; d++) {
            double length = 0;
            for (i = 0; i < 3; i++) length += ica.rotation[3 * d + i] * ica.rotation[3 * d + i];
            assert_close(length, 1, 1e-12);
            assert_int_equal(ica.component[d].extraction, d);
            assert_true(ica.component[d].change == 1 && ica.component[d].iterations <= 1);
        }
        shs_ica_free(&x->ctx, &ica);
    }
    assert_int_equal(x->told.open, 0);
}

/* Cancelled on the engine: what was coded before is fetched. */
static void test_cancelled_coding(void **state) {
    fixture *x = (fixture *)*state;
    shs_codes codes = codes_in(x->there);
    shs_omp_options o = SHS_ZERO;
    shs_omp_report report;
    x->told.fail_at = 2; /* after opening and dictionary */
    x->told.answer = SHS_CANCELLED;
    o.sparsity = S;
    assert_ok(call_omp(NULL, &x->s, x->here));
    assert_status(shs_omp_ex(&x->ctx, P, N, x->s.D, P, M, x->s.Y, P, &o, &codes, x->there->errors2, &report), SHS_CANCELLED);
    assert_memory_equal(x->there->atoms, x->here->atoms, sizeof x->here->atoms);
    assert_int_equal(report.nonzeros, shs_codes_nonzeros(&codes));
    assert_int_equal(x->told.open, 0);
}

#define WITH_ENGINE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    static const struct CMUnitTest tests[] = {
        WITH_ENGINE(test_same_results),    WITH_ENGINE(test_each_call_fails),      WITH_ENGINE(test_each_call_is_stood_in_for),
        WITH_ENGINE(test_missing_entries), WITH_ENGINE(test_unknown_version),
        WITH_ENGINE(test_half_opened),          WITH_ENGINE(test_unknown_rule),
        WITH_ENGINE(test_rounds),          WITH_ENGINE(test_rounds_that_look_back), WITH_ENGINE(test_signals_only),
        WITH_ENGINE(test_rounds),          WITH_ENGINE(test_looks_back_at_an_engine), WITH_ENGINE(test_signals_only),
        WITH_ENGINE(test_units_of_learning), WITH_ENGINE(test_a_faint_signal),
        WITH_ENGINE(test_half_a_stream),   WITH_ENGINE(test_lower_triangles),
        WITH_ENGINE(test_engine_without_double),
        WITH_ENGINE(test_nowhere_to_go),   WITH_ENGINE(test_cancelled_coding)};
    return cmocka_run_group_tests_name("engines", tests, NULL, NULL);
}
