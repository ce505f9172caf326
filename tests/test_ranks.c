/* test_ranks.c - ranks: every collective call makes the same reductions on all of them, whatever each asks beside the result
   and however little it has; and where ranks do not mean the same, all of them say so. */
#include "test_cube_tools.h"

enum { P = 12, N = 18, M = 150, LINES = 9, SAMPLES = 41, BANDS = 6, LEARNT = 2 * P * N };

/* ---- the calls --------------------------------------------------------------------------------------------------- */

/* The pixels of a rank, its options and its results. */
typedef struct share {
    shs_cube cube;
    stream s;
    const shs_real *Y;
    size_t m;
    const int *sparsity_each;
    const shs_real *tolerance_each;
    shs_ksvd_options ksvd;
    shs_online_options online;
    shs_pca_options pca;
    shs_ica_options ica;
    int bands, outputs; /* of the moments and the map */
    const shs_moments *background; /* of detectors */
    shs_sink sink;
    int stride; /* of codes; 0: none are wanted */
    int wants;  /* whatever else is optional */
    int broken_context;
    uint64_t seed; /* of N-FINDR */
    shs_real D[P * N];
    shs_codes codes;
    shs_status status;
    size_t values;
    double learnt[LEARNT]; /* what is the same on all ranks */
} share;

typedef struct world {
    int call[MOST_RANKS], ranks;
    share shares[MOST_RANKS];
    const shs_pca *pca, *rx; /* for the transforms */
    const shs_ica *separated;
    void (*tweak)(share *s, shs_context *ctx, int how); /* spoils the share of the last rank */
    int how;
} world;

typedef shs_status (*collective)(const shs_context *ctx, world *w, share *s);

static void keep(share *s, size_t count, const shs_wide *values) {
    size_t i;
    for (i = 0; i < count && s->values < LEARNT; i++) s->learnt[s->values++] = (double)values[i];
}

static shs_status call_ksvd(const shs_context *ctx, world *w, share *s) {
    shs_ksvd_record history[64];
    size_t usage[64 * N], i;
    shs_ksvd_report report = SHS_ZERO;
    shs_ksvd_options o = s->ksvd;
    shs_status status;
    (void)w;
    o.coding.sparsity_each = s->sparsity_each;
    o.coding.tolerance_each = s->tolerance_each;
    if (s->wants) {
        report.history = history;
        report.usage_history = usage;
    }
    if (s->stride && s->m) (void)shs_codes_create(NULL, s->m, s->stride, &s->codes);
    status = shs_ksvd_ex(ctx, P, N, s->m, s->Y, P, &o, s->D, P, s->codes.used ? &s->codes : NULL, s->wants ? &report : NULL);
    for (i = 0; i < P * N && status == SHS_OK; i++) s->learnt[s->values++] = (double)s->D[i];
    return status;
}

/* This rank's signals, in their order. */
typedef struct in_order {
    const shs_real *Y;
    size_t m, at;
} in_order;

static int deliver(void *user, int p, size_t most, shs_real *Y, size_t *count) {
    in_order *from = (in_order *)user;
    *count = from->m - from->at < most ? from->m - from->at : most;
    if (*count) memcpy(Y, from->Y + from->at * (size_t)p, *count * (size_t)p * sizeof *Y);
    from->at += *count;
    return 0;
}

static shs_status call_online(const shs_context *ctx, world *w, share *s) {
    shs_online_record history[8];
    shs_wide sums[(N + P) * N] = {0};
    shs_online_report report = SHS_ZERO;
    in_order from = {s->Y, s->m, 0};
    shs_status status;
    size_t i;
    (void)w;
    if (s->wants) {
        report.history = history;
        report.history_most = 8;
    }
    if (s->wants || s->online.first_batch) {
        report.sums_xx = sums;
        report.sums_yx = sums + N * N;
    }
    status = shs_online_ex(ctx, P, N, deliver, &from, &s->online, s->D, P,
                           s->wants || s->online.first_batch ? &report : NULL);
    for (i = 0; i < P * N && status == SHS_OK; i++) s->learnt[s->values++] = (double)s->D[i];
    return status;
}

static shs_status call_moments(const shs_context *ctx, world *w, share *s) {
    shs_moments m;
    shs_status status = shs_moments_create(NULL, s->bands, &m);
    (void)w;
    if (s->bands == BANDS) (void)shs_moments_update(ctx, &s->cube, 0, &m);
    if (status == SHS_OK) status = shs_moments_reduce(ctx, &m);
    if (status == SHS_OK) {
        keep(s, 1, &m.count);
        keep(s, BANDS, m.shift);
        keep(s, BANDS, m.sum);
    }
    shs_moments_free(NULL, &m);
    return status;
}

/* What a call of PCA or FastICA made is kept where the call went well, and was asked for. */
static shs_status pca_kept(share *s, shs_pca *pca, int asked, shs_status status) {
    if (status != SHS_OK || !asked) return status;
    keep(s, 1, &pca->count);
    keep(s, (size_t)pca->eigenvalue_count, pca->eigenvalues);
    keep(s, (size_t)pca->bands * (size_t)pca->components, pca->vectors);
    if (pca->noise) keep(s, (size_t)pca->bands * (size_t)pca->bands, pca->noise);
    shs_pca_free(NULL, pca);
    return status;
}

static shs_status ica_kept(share *s, shs_ica *ica, int asked, shs_status status) {
    if (status != SHS_OK || !asked) return status;
    keep(s, 1, &ica->count);
    keep(s, (size_t)ica->bands * (size_t)ica->components, ica->unmixing);
    shs_ica_free(NULL, ica);
    return status;
}

#define COLLECTIVE(name, made, kept, asked, call)                                                                              \
    static shs_status name(const shs_context *ctx, world *w, share *s) {                                                       \
        made r = SHS_ZERO;                                                                                                     \
        (void)w;                                                                                                               \
        return kept(s, &r, asked, call);                                                                                       \
    }
COLLECTIVE(call_pca, shs_pca, pca_kept, 1, shs_pca_fit(ctx, &s->cube, &s->pca, &r))
COLLECTIVE(call_pca_run, shs_pca, pca_kept, s->wants, shs_pca_run(ctx, &s->cube, &s->pca, &s->sink, s->wants ? &r : NULL))
COLLECTIVE(call_mnf, shs_pca, pca_kept, 1, shs_mnf_fit(ctx, &s->cube, &s->pca, &r))
COLLECTIVE(call_ica, shs_ica, ica_kept, 1, shs_ica_fit(ctx, &s->cube, &s->ica, &r))
COLLECTIVE(call_ica_run, shs_ica, ica_kept, s->wants, shs_ica_run(ctx, &s->cube, &s->ica, &s->sink, s->wants ? &r : NULL))
#undef COLLECTIVE

static shs_status call_rx(const shs_context *ctx, world *w, share *s) {
    int rank = 0;
    (void)w;
    return shs_rx(ctx, &s->cube, &s->pca, &s->sink, s->wants ? &rank : NULL);
}

static shs_status detect_by(const shs_context *ctx, share *s, shs_detector method, int columns) {
    shs_wide spectra[4 * BANDS];
    shs_detect_options o = SHS_ZERO;
    int i;
    for (i = 0; i < 4 * BANDS; i++) spectra[i] = (shs_wide)(i % 5 + 1);
    o.method = method;
    o.columns = columns;
    o.background = s->background;
    return shs_detect(ctx, &s->cube, s->outputs, spectra, BANDS, &o, &s->sink);
}
static shs_status call_detect(const shs_context *ctx, world *w, share *s) {
    (void)w;
    return detect_by(ctx, s, SHS_DETECTOR_ACE, 0);
}
static shs_status call_detect_columns(const shs_context *ctx, world *w, share *s) {
    (void)w;
    return detect_by(ctx, s, SHS_DETECTOR_GLRT, 1);
}

/* The spectra are the same on all ranks. The numbers of the pixels depend on the shares. */
static shs_status endmembers_by(const shs_context *ctx, share *s, shs_extractor method) {
    shs_endmember_options o = SHS_ZERO;
    shs_endmembers e = SHS_ZERO;
    shs_status status;
    o.method = method;
    o.count = s->outputs;
    o.seed = s->seed;
    status = shs_endmembers_find(ctx, &s->cube, &o, &e);
    if (status == SHS_OK) keep(s, (size_t)(e.bands * e.count), e.spectra);
    shs_endmembers_free(NULL, &e);
    return status;
}
static shs_status call_nfindr(const shs_context *ctx, world *w, share *s) {
    (void)w;
    return endmembers_by(ctx, s, SHS_EXTRACTOR_NFINDR);
}
static shs_status call_atgp(const shs_context *ctx, world *w, share *s) {
    (void)w;
    return endmembers_by(ctx, s, SHS_EXTRACTOR_ATGP);
}

static shs_status call_unmix(const shs_context *ctx, world *w, share *s) {
    shs_wide spectra[4 * BANDS];
    int i;
    (void)w;
    for (i = 0; i < 4 * BANDS; i++) spectra[i] = (shs_wide)(i % 5 + 1);
    return shs_unmix(ctx, &s->cube, s->outputs, spectra, BANDS, SHS_CONSTRAINT_FULL, &s->sink);
}

static shs_status call_map(const shs_context *ctx, world *w, share *s) {
    shs_wide matrix[4 * BANDS];
    shs_pixel_map map = SHS_ZERO;
    int i;
    (void)w;
    for (i = 0; i < 4 * BANDS; i++) matrix[i] = (shs_wide)(i % 5) - 2;
    map.bands = BANDS;
    map.outputs = s->outputs;
    map.matrix = matrix;
    return shs_cube_map(ctx, &s->cube, &map, 0, &s->sink);
}

static shs_status call_transform(const shs_context *ctx, world *w, share *s) {
    return shs_pca_transform(ctx, w->pca, &s->cube, &s->sink);
}
static shs_status call_inverse(const shs_context *ctx, world *w, share *s) {
    return shs_pca_inverse(ctx, w->pca, &s->cube, &s->sink);
}
static shs_status call_denoise(const shs_context *ctx, world *w, share *s) {
    return shs_pca_denoise(ctx, w->pca, s->outputs - 1, &s->cube, &s->sink);
}
static shs_status call_rx_transform(const shs_context *ctx, world *w, share *s) {
    return shs_rx_transform(ctx, w->rx, &s->cube, &s->sink);
}
static shs_status call_rx_local(const shs_context *ctx, world *w, share *s) {
    shs_rx_local_options o = SHS_ZERO;
    (void)w;
    o.inner = 1;
    o.outer = 5;
    return shs_rx_local(ctx, &s->cube, &o, &s->sink);
}
static shs_status call_sources(const shs_context *ctx, world *w, share *s) {
    return shs_ica_transform(ctx, w->separated, &s->cube, &s->sink);
}
static shs_status call_from_sources(const shs_context *ctx, world *w, share *s) {
    return shs_ica_inverse(ctx, w->separated, &s->cube, &s->sink);
}

enum { KSVD, ONLINE, MOMENTS, PCA, PCA_RUN, MNF, RX, DETECT, DETECT_COLUMNS, NFINDR, ATGP, ICA, ICA_RUN, MAP, UNMIX, TRANSFORM,
       INVERSE, DENOISE, SOURCES, FROM_SOURCES, RX_TRANSFORM, RX_LOCAL, CALLS };
static const collective calls[CALLS] = {
    call_ksvd, call_online, call_moments, call_pca, call_pca_run, call_mnf, call_rx, call_detect,
    call_detect_columns, call_nfindr, call_atgp, call_ica, call_ica_run, call_map, call_unmix, call_transform,
    call_inverse, call_denoise, call_sources,
    call_from_sources, call_rx_transform, call_rx_local};

/* Calls that are shs_cube_map, and the same to the other ranks. */
static int is_map(int call) {
    return call == MAP || call == TRANSFORM || call == INVERSE || call == SOURCES || call == FROM_SOURCES;
}
static int has_sink(int call) { return call >= PCA_RUN && call != MNF && call != NFINDR && call != ATGP && call != ICA; }

/* ---- a world of ranks -------------------------------------------------------------------------------------------- */

/* The same for all tests: signals and pixels, and what is fitted to them. */
static shs_real *signals;
static shs_cube pixels;
static shs_pca components, anomalies;
static shs_ica sources;

static int open_world(void **state) {
    plain_cube p = mixed_cube(LINES, SAMPLES, BANDS, 4, 0.5, 7);
    shs_ica_options o = SHS_ZERO;
    size_t i;
    (void)state;
    for (i = 0; i < values_of(&p); i++) p.x[i] = p.x[i] * fabs(p.x[i]) / 50; /* not normal */
    pixels = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0);
    signals = new_normal(P * M, 5);
    assert_ok(shs_pca_fit(NULL, &pixels, NULL, &components));
    assert_ok(shs_rx_fit(NULL, &pixels, NULL, &anomalies));
    o.components = BANDS;
    assert_ok(shs_ica_fit(NULL, &pixels, &o, &sources));
    free(p.x);
    return 0;
}

static int close_world(void **state) {
    (void)state;
    shs_pca_free(NULL, &components);
    shs_pca_free(NULL, &anomalies);
    shs_ica_free(NULL, &sources);
    cube_free(&pixels);
    free(signals);
    return 0;
}

/* Shares of each rank in ninths of the lines; signals likewise. */
static const int parts[5][MOST_RANKS] = {{9, 0, 0}, {4, 5, 0}, {2, 3, 4}, {0, 9, 0}, {0, 0, 9}};

static world *new_world(int call, int ranks, const int *part) {
    world *w = NEW(world, 1);
    size_t first = 0;
    int r, line = 0;
    memset(w, 0, sizeof *w);
    w->ranks = ranks;
    w->pca = &components;
    w->rx = &anomalies;
    w->separated = &sources;
    for (r = 0; r < ranks; r++) {
        share *s = w->shares + r;
        w->call[r] = call;
        s->m = (size_t)part[r] * M / LINES;
        s->Y = s->m ? signals + P * first : NULL;
        s->cube = slice_of(&pixels, line, part[r]);
        if (part[r] == 0) {
            s->cube.pixels = NULL;
            s->cube.samples = 0;
        }
        first += s->m;
        line += part[r];
        s->bands = BANDS;
        s->outputs = 3;
        s->ksvd.iterations = 4;
        s->ksvd.coding.sparsity = 3;
        s->ksvd.parallel_atoms = 5;
        s->ksvd.prune_coherence = (shs_real)0.8;
        s->online.coding.sparsity = 3;
        s->online.batch = 40;
        s->online.replace_every = 60;
        s->online.prune_coherence = (shs_real)0.8;
        s->ica.components = 3;
        s->ica.iterations = 30;
        s->sink = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BIP, part[r] ? part[r] : 1, SAMPLES, BANDS);
        s->wants = 1;
        fill_normal(P * N, s->D, 11);
    }
    return w;
}

static void free_world(world *w) {
    int r;
    for (r = 0; r < w->ranks; r++) {
        shs_codes_free(NULL, &w->shares[r].codes);
        sink_free(&w->shares[r].sink);
    }
    free(w);
}

static void one_rank(const shs_context *ctx, int rank, void *arg) {
    world *w = (world *)arg;
    share *s = w->shares + rank;
    shs_context mine = *ctx;
    if (w->tweak && rank == w->ranks - 1) w->tweak(s, &mine, w->how);
    if (s->broken_context) mine.threads = -1;
    s->status = calls[w->call[rank]](&mine, w, s);
}

static void run_world(world *w) { run_ranks(w->ranks, one_rank, w); }

/* All well, and what was learnt is the same on all ranks, but for those that did not want to know. */
static void check_agreement(const world *w) {
    int r, q = 0;
    for (r = 0; r < w->ranks; r++) assert_ok(w->shares[r].status);
    for (r = 0; r < w->ranks; r++)
        if (w->shares[r].values > w->shares[q].values) q = r;
    for (r = 0; r < w->ranks; r++)
        assert_memory_equal(w->shares[r].learnt, w->shares[q].learnt, w->shares[r].values * sizeof(double));
}

/* ---- outputs are each rank's own affair -------------------------------------------------------------------------- */

/* Every call, every way to want outputs on some ranks only, all shares, stretched or not: the same reductions on all ranks, and
   the same result. */
static void test_outputs_are_ones_own(void **state) {
    int call, ranks, shared, stretched, asked, r;
    (void)state;
    for (call = 0; call < CALLS; call++)
        for (ranks = 1; ranks <= MOST_RANKS; ranks++)
            for (shared = 0; shared < 5; shared++)
                for (stretched = 0; stretched < 2; stretched++) {
                    world *all = NULL;
                    if (parts[shared][0] + (ranks > 1 ? parts[shared][1] : 0) + (ranks > 2 ? parts[shared][2] : 0) != LINES)
                        continue;
                    for (asked = (1 << ranks) - 1; asked >= 0; asked--) {
                        world *w;
                        if (all && (asked + shared + stretched) % every(2)) continue;
                        w = new_world(call, ranks, parts[shared]);
                        for (r = 0; r < ranks; r++) {
                            w->shares[r].wants = asked >> r & 1;
                            w->shares[r].stride = asked >> r & 1 ? 3 + 4 * r : 0;
                            w->shares[r].sink.rescale = stretched;
                            w->shares[r].sink.high = 200;
                        }
                        run_world(w);
                        check_agreement(w);
                        if (!all) all = w;
                        for (r = 0; r < ranks; r++)
                            assert_memory_equal(w->shares[r].learnt, all->shares[r].learnt,
                                                w->shares[r].values * sizeof(double));
                        for (r = 0; r < ranks; r++)
                            assert_memory_equal(w->shares[r].sink.pixels, all->shares[r].sink.pixels,
                                                (size_t)w->shares[r].cube.lines * SAMPLES * BANDS * sizeof(float));
                        if (w != all) free_world(w);
                    }
                    free_world(all);
                }
}

/* Columns lie across all ranks, and their backgrounds too. */
static void test_columns_of_all_ranks(void **state) {
    world *alone = new_world(DETECT_COLUMNS, 1, parts[0]);
    int shared, r;
    (void)state;
    run_world(alone);
    check_agreement(alone);
    for (shared = 1; shared < 5; shared++) {
        world *w = new_world(DETECT_COLUMNS, 3, parts[shared]);
        size_t first = 0, i;
        run_world(w);
        check_agreement(w);
        for (r = 0; r < 3; r++) {
            const size_t count = (size_t)w->shares[r].cube.lines * SAMPLES * (size_t)w->shares[r].outputs;
            const float *got = (const float *)w->shares[r].sink.pixels;
            const float *expected = (const float *)alone->shares[0].sink.pixels + first;
            for (i = 0; i < count; i++) assert_close(got[i], expected[i], 1e-5);
            first += count;
        }
        free_world(w);
    }
    free_world(alone);
}

/* Learning with limits and tolerances for each signal. The largest limit may be on one rank only, a rank without signals has
   no limits, and codes may hold fewer atoms than the largest limit. */
static void test_learning_with_limits_of_ones_own(void **state) {
    int limits[M], how, asked, r, q;
    shs_real tolerances[M];
    (void)state;
    for (q = 0; q < M; q++) {
        limits[q] = q < M / 2 ? q % 3 : 1 + q % 6;
        tolerances[q] = (shs_real)(1 + q % 4);
    }
    for (how = 0; how < 6; how++) {
        world *all = NULL;
        for (asked = 0; asked < 8; asked++) {
            world *w = new_world(KSVD, 3, parts[how % 2 ? 2 : 3]);
            size_t first = 0;
            for (r = 0; r < 3; r++) {
                share *s = w->shares + r;
                s->ksvd.coding.sparsity = 0;
                if (s->m && how / 2 != 1) s->tolerance_each = tolerances + first;
                if (s->m && how / 2 != 0) s->sparsity_each = limits + first;
                s->stride = asked >> r & 1 ? (how / 2 ? 6 + r : 2 + r) : 0;
                s->ksvd.stop_patience = 2;
                first += s->m;
            }
            run_world(w);
            check_agreement(w);
            if (!all) all = w;
            assert_memory_equal(w->shares[0].learnt, all->shares[0].learnt, P * N * sizeof(double));
            if (w != all) free_world(w);
        }
        free_world(all);
    }
}

typedef struct tested {
    const shs_real *others;
    size_t from[MOST_RANKS + 1], others_from[MOST_RANKS + 1];
    shs_real D[MOST_RANKS][P * N];
    shs_ksvd_record history[MOST_RANKS][4];
} tested;

static void learn_and_test(const shs_context *ctx, int rank, void *arg) {
    tested *w = (tested *)arg;
    shs_ksvd_options o = SHS_ZERO;
    shs_ksvd_report report = SHS_ZERO;
    o.iterations = 4;
    o.coding.sparsity = 3;
    o.start = SHS_START_GIVEN;
    o.replace = SHS_REPLACE_LEAVE;
    o.keep = SHS_KEEP_LAST;
    o.test = w->others + P * w->others_from[rank];
    o.test_m = w->others_from[rank + 1] - w->others_from[rank];
    report.history = w->history[rank];
    fill_normal(P * N, w->D[rank], 11);
    assert_ok(shs_ksvd_ex(ctx, P, N, w->from[rank + 1] - w->from[rank], signals + P * w->from[rank], P, &o, w->D[rank], P, NULL,
                          &report));
}

/* Test signals are divided among ranks, with other shares than the learning signals. All ranks report the error of all test
   signals. */
static void test_test_set(void **state) {
    enum { OTHERS = 60 };
    static const size_t shares[][MOST_RANKS + 1] = {{0, M, M, M}, {0, 70, M, M}, {0, 40, 90, M}, {0, 0, M, M}};
    static const size_t test_shares[][MOST_RANKS + 1] = {
        {0, OTHERS, OTHERS, OTHERS}, {0, 0, OTHERS, OTHERS}, {0, 11, 31, OTHERS}};
    tested *alone = NEW(tested, 1), *w = NEW(tested, 1);
    shs_real *others = new_normal(P * OTHERS, 5);
    size_t a, b;
    int r, k;
    (void)state;
    alone->others = w->others = others;
    memcpy(alone->from, shares[0], sizeof shares[0]);
    memcpy(alone->others_from, test_shares[0], sizeof test_shares[0]);
    run_ranks(1, learn_and_test, alone);
    for (a = 0; a < 4; a++)
        for (b = 0; b < 3; b++) {
            memcpy(w->from, shares[a], sizeof shares[a]);
            memcpy(w->others_from, test_shares[b], sizeof test_shares[b]);
            run_ranks(3, learn_and_test, w);
            for (r = 0; r < 3; r++)
                for (k = 0; k < 4; k++) {
                    const double expected = (double)alone->history[0][k].rmse_test;
                    assert_true(w->history[r][k].rmse_test == w->history[0][k].rmse_test);
                    assert_close(w->history[r][k].rmse_test, expected, BY_TYPE(k ? 1e-3 : 1e-5, 1e-10) * expected);
                }
        }
    free(others);
    free(alone);
    free(w);
}

/* One rank reads a stream and another has its pixels in memory: the route of FastICA is the same. */
static void test_streams_beside_memory(void **state) {
    int call, approach, contrast, r, from;
    (void)state;
    for (call = ICA; call <= ICA_RUN; call++)
        for (approach = 0; approach < 2; approach++)
            for (contrast = 0; contrast < 3; contrast++)
                for (from = 0; from < 4; from++) {
                    world *w = new_world(call, 2, parts[1]);
                    shs_cube in_memory[2];
                    for (r = 0; r < 2; r++) {
                        share *s = w->shares + r;
                        s->ica.contrast = (shs_contrast)contrast;
                        s->ica.approach = (shs_ica_approach)approach;
                        in_memory[r] = s->cube;
                        if (from >> r & 1) s->cube = streamed(in_memory + r, 2, &s->s);
                    }
                    run_world(w);
                    check_agreement(w);
                    free_world(w);
                }
}

/* ---- ranks without anything -------------------------------------------------------------------------------------- */

/* With some empty ranks the result equals that of one process. If all ranks are empty, a fit fails and a map writes nothing.
   */
static void test_ranks_without_pixels(void **state) {
    static const int nothing[MOST_RANKS] = {0, 0, 0};
    int call, r, shared, stretched;
    size_t i;
    (void)state;
    for (call = 0; call < CALLS; call++) {
        world *alone = new_world(call, 1, parts[0]);
        run_world(alone);
        check_agreement(alone);
        for (shared = 3; shared < 5; shared++) {
            world *w = new_world(call, 3, parts[shared]);
            run_world(w);
            check_agreement(w);
            for (i = 0; i < alone->shares[0].values; i++)
                assert_close(w->shares[0].learnt[i], alone->shares[0].learnt[i],
                             BY_TYPE(1e-4, 1e-9) * (1 + fabs(alone->shares[0].learnt[i])));
            assert_memory_equal(w->shares[shared - 2].sink.pixels, alone->shares[0].sink.pixels,
                                LINES * SAMPLES * 3 * sizeof(float));
            free_world(w);
        }
        free_world(alone);
        for (stretched = 0; stretched < 2; stretched++) {
            world *w = new_world(call, 3, nothing);
            for (r = 0; r < 3; r++) {
                w->shares[r].sink.rescale = stretched;
                w->shares[r].sink.high = 1;
            }
            for (r = 0; r < 3 && stretched; r++) w->shares[r].pca.neighbours = SHS_NEIGHBOURS_LOWER;
            run_world(w);
            for (r = 0; r < 3; r++) {
                shs_status expected = SHS_NO_PIXELS;
                if (call == MOMENTS || call >= MAP) expected = SHS_OK;
                if (call <= ONLINE) expected = SHS_BAD_M;
                assert_status(w->shares[r].status, expected);
            }
            free_world(w);
        }
    }
}

/* The first line of a rank is compared with the last line of the nearest earlier rank with lines. The noise equals that of
   the whole cube for ranks with one line or none, in memory or streamed line by line. */
static void test_noise_across_borders(void **state) {
    static const int shares[][MOST_RANKS] = {{3, 2, 4}, {1, 0, 8}, {0, 1, 8}, {4, 1, 4}, {1, 1, 7}, {8, 0, 1}, {0, 0, 9}};
    plain_cube p = mixed_cube(LINES, SAMPLES, BANDS, 3, 0.5, 12);
    unsigned char mask[LINES * SAMPLES];
    size_t i;
    int kind, neighbours, shared, from, r, line;
    (void)state;
    for (i = 0; i < sizeof mask; i++) mask[i] = i % 7 != 3 && i % 11 != 5;
    for (kind = 0; kind < 4; kind++) {
        shs_interleave interleave = kind % 2 ? SHS_INTERLEAVE_BIL : SHS_INTERLEAVE_BIP;
        shs_cube whole = cube_of(&p, SHS_TYPE_F32, interleave, 0), in_memory[MOST_RANKS];
        if (kind / 2) whole.mask = mask;
        for (neighbours = 0; neighbours < 4; neighbours++) {
            world *alone = new_world(MNF, 1, parts[0]);
            alone->shares[0].cube = whole;
            alone->shares[0].pca.neighbours = (shs_neighbours)neighbours;
            run_world(alone);
            check_agreement(alone);
            for (shared = 0; shared < (int)(sizeof shares / sizeof *shares); shared++)
                for (from = 0; from < 2; from++) {
                    world *w = new_world(MNF, 3, shares[shared]);
                    line = 0;
                    for (r = 0; r < 3; r++) {
                        share *s = w->shares + r;
                        s->pca.neighbours = (shs_neighbours)neighbours;
                        if (!shares[shared][r]) continue;
                        s->cube = in_memory[r] = slice_of(&whole, line, shares[shared][r]);
                        line += shares[shared][r];
                        if (from) s->cube = streamed(in_memory + r, 1, &s->s);
                    }
                    run_world(w);
                    check_agreement(w);
                    assert_int_equal(w->shares[0].values, alone->shares[0].values);
                    for (i = 0; i < alone->shares[0].values; i++)
                        assert_close(w->shares[0].learnt[i], alone->shares[0].learnt[i],
                                     1e-10 * (1 + fabs(alone->shares[0].learnt[i])));
                    free_world(w);
                }
            free_world(alone);
        }
        whole.mask = NULL;
        cube_free(&whole);
    }
    free(p.x);
}

/* A rank whose lines have another width holds another image: there is no border, and nothing is wrong. */
static void test_no_border_between_widths(void **state) {
    world *w = new_world(MNF, 2, parts[1]);
    share *last = w->shares + 1;
    int r;
    (void)state;
    for (r = 0; r < 2; r++) w->shares[r].pca.neighbours = SHS_NEIGHBOURS_MEAN;
    last->cube.samples -= 7;
    last->cube.line_stride = SAMPLES * BANDS;
    last->cube.sample_stride = BANDS;
    last->cube.band_stride = 1;
    run_world(w);
    check_agreement(w);
    assert_close(w->shares[0].learnt[0], 4 * SAMPLES + 5 * (SAMPLES - 7), 0);
    free_world(w);
}

/* ---- ranks that do not mean the same ----------------------------------------------------------------------------- */

static const shs_step steps[] = {{0, 2}, {1, 3}};

static void tweak_ksvd(share *s, shs_context *ctx, int how) {
    static const shs_real tolerances[M] = {0};
    shs_ksvd_options *o = &s->ksvd;
    (void)ctx;
    switch (how) {
    case 0: o->iterations = 5; break;
    case 1: o->parallel_atoms = 18; break;
    case 2: o->rounds = 2; break;
    case 3:
        o->parallel_atoms_schedule = steps;
        o->parallel_atoms_steps = 1;
        break;
    case 4:
        o->parallel_atoms_schedule = steps;
        o->parallel_atoms_steps = 2;
        break;
    case 5:
        o->rounds_schedule = steps;
        o->rounds_steps = 2;
        break;
    case 6: o->start = SHS_START_RANDOM; break;
    case 7: o->seed = UINT64_C(1) << 60; break;
    case 8: o->first_iteration = 1; break;
    case 9: o->replace = SHS_REPLACE_LEAVE; break;
    case 10: o->prune_coherence = (shs_real)0.81; break;
    case 11: o->prune_uses = 1; break;
    case 12: o->keep = SHS_KEEP_LAST; break;
    case 13: o->rmse_after_update = 1; break;
    case 14: o->stop_improvement = 1; break;
    case 15: o->stop_patience = 1; break;
    case 16: o->update = SHS_UPDATE_SGK; break;
    case 17: o->rmse_after_rounds = 1; break;
    case 18: o->coding.sparsity = 4; break;
    case 19: o->coding.tolerance = (shs_real)1e-7; break;
    case 20: s->tolerance_each = tolerances; break;
    case 21: o->regularisation = 1; break;
    case 22: o->regularisation_decay = (shs_real)0.5; break;
    case 23: o->regularised_iterations = 1; break;
    case 24: o->incoherence = 1; break;
    case 25: o->coherence = (shs_real)0.5; break;
    case 26: o->coherence_rounds = 1; break;
    case 27: o->nonnegative = 1; break;
    case 28: o->coding.selection = SHS_SELECT_OLS; break;
    case 29: o->coding.skip_nan = 1; break;
    case 30: o->missing_as_zero = 1; break;
    }
}

static void tweak_online(share *s, shs_context *ctx, int how) {
    shs_online_options *o = &s->online;
    (void)ctx;
    switch (how) {
    case 0: o->coding.sparsity = 4; break;
    case 1: o->coding.tolerance = 1; break;
    case 2: o->coding.selection = SHS_SELECT_OLS; break;
    case 3: o->coding.nonnegative = 1; break;
    case 4: o->batch = 39; break;
    case 5: o->batches = 3; break;
    case 6: o->forgetting = (shs_wide)0.9; break;
    case 7: o->sweeps = 2; break;
    case 8: o->start = SHS_START_RANDOM; break;
    case 9: o->seed = UINT64_C(1) << 60; break;
    case 10: o->start_weight = 1; break;
    case 11: o->replace = SHS_REPLACE_LEAVE; break;
    case 12: o->prune_coherence = (shs_real)0.81; break;
    case 13: o->replace_every = 61; break;
    case 14: o->test_every = 2; break;
    case 15:
        o->first_batch = 1;
        o->start = SHS_START_GIVEN;
        break;
    }
}

static void tweak_start(share *s, shs_context *ctx, int how) {
    (void)ctx;
    s->D[how] += REAL_EPS;
}

static void tweak_pca(share *s, shs_context *ctx, int how) {
    (void)ctx;
    switch (how) {
    case 0: s->pca.components = 2; break;
    case 1: s->pca.variance = (shs_wide)0.5; break;
    case 2: s->pca.eigenvalue_at_least = 1; break;
    case 3: s->pca.correlation = 1; break;
    case 4: s->pca.divisor = SHS_DIVISOR_N_LESS_1; break;
    case 5: s->cube.bands = BANDS - 1; break;
    }
}

static void tweak_ica(share *s, shs_context *ctx, int how) {
    static const shs_wide start[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    (void)ctx;
    switch (how) {
    case 0: s->ica.components = 2; break;
    case 1: s->ica.eigenvalue_at_least = 1; break;
    case 2: s->ica.contrast = SHS_CONTRAST_TANH; break;
    case 3: s->ica.approach = SHS_APPROACH_SYMMETRIC; break;
    case 4: s->ica.route = SHS_ROUTE_SWEEP; break;
    case 5: s->ica.iterations = 31; break;
    case 6: s->ica.tolerance = (shs_wide)1e-3; break;
    case 7: s->ica.plain_steps = 1; break;
    case 8: s->ica.restarts = 1; break;
    case 9: s->ica.random_start = 1; break;
    case 10: s->ica.start = start; break;
    case 11: s->ica.seed = 3; break;
    case 12: s->ica.order = SHS_ORDER_EXTRACTION; break;
    case 13: s->ica.divisor = SHS_DIVISOR_N_LESS_1; break;
    case 14: s->cube.bands = BANDS - 1; break;
    }
}

static void tweak_sink(share *s, shs_context *ctx, int how) {
    (void)ctx;
    s->sink.rescale = how != 0;
    s->sink.low = how == 1;
    s->sink.high = how == 2 ? 300 : 200;
}

static void tweak_outputs(share *s, shs_context *ctx, int how) {
    (void)ctx;
    (void)how;
    s->outputs = 2;
}

static void tweak_seed(share *s, shs_context *ctx, int how) {
    (void)ctx;
    s->seed = UINT64_C(1) << how;
}

static void tweak_bands(share *s, shs_context *ctx, int how) {
    (void)ctx;
    (void)how;
    s->bands = BANDS + 1;
}

/* The rank has a wrong number of ranks, or the number of another rank. */
static void tweak_ranks(share *s, shs_context *ctx, int how) {
    (void)s;
    (void)how;
    ctx->ranks++;
}
static void tweak_number(share *s, shs_context *ctx, int how) {
    (void)s;
    (void)how;
    ctx->rank = 0;
}

static void check_difference(int call, int ranks, const int *part, int stretched, void (*tweak)(share *, shs_context *, int),
                             int how) {
    world *w = new_world(call, ranks, part);
    int r;
    w->tweak = tweak;
    w->how = how;
    for (r = 0; r < ranks; r++) {
        w->shares[r].sink.rescale = stretched;
        w->shares[r].sink.high = 200;
        if (tweak == tweak_start) w->shares[r].ksvd.start = w->shares[r].online.start = SHS_START_GIVEN;
    }
    run_world(w);
    for (r = 0; r < ranks; r++)
        if (w->shares[r].status != SHS_RANKS_DIFFER)
            fail_msg("call %d, tweak %d: rank %d says %s", call, how, r, shs_status_name(w->shares[r].status));
    free_world(w);
}

/* Each size and option by itself, on the last of the ranks, which may have nothing. */
static void test_differences_are_seen(void **state) {
    int how, ranks, call, shared;
    (void)state;
    for (ranks = 2; ranks <= 3; ranks++)
        for (shared = 1; shared < 5; shared++) {
            const int *part = parts[shared];
            for (how = 0; how < 31; how++) /* limits and tolerances are a matter of those that have signals */
                if (how < 18 || how > 20 || (part[0] && part[ranks - 1]))
                    check_difference(KSVD, ranks, part, 0, tweak_ksvd, how);
            for (how = 0; how < 16; how++) check_difference(ONLINE, ranks, part, 0, tweak_online, how);
            for (how = 0; how < P * N; how += 31)
                for (call = KSVD; call <= ONLINE; call++) check_difference(call, ranks, part, 0, tweak_start, how);
            for (how = 0; how < 6; how++)
                for (call = PCA; call <= RX; call++) check_difference(call, ranks, part, 0, tweak_pca, how);
            for (how = 0; how < 15; how++)
                for (call = ICA; call <= ICA_RUN; call++) check_difference(call, ranks, part, 0, tweak_ica, how);
            for (how = 0; how < 3; how++)
                for (call = PCA_RUN; call < CALLS; call++)
                    if (has_sink(call)) check_difference(call, ranks, part, 1, tweak_sink, how);
            for (how = 0; how < 2; how++) check_difference(MAP, ranks, part, how, tweak_outputs, 0);
            check_difference(DETECT, ranks, part, 0, tweak_outputs, 0);
            check_difference(UNMIX, ranks, part, 0, tweak_outputs, 0);
            check_difference(DENOISE, ranks, part, 0, tweak_outputs, 0);
            check_difference(RX_LOCAL, ranks, part, 0, tweak_pca, 5);
            check_difference(NFINDR, ranks, part, 0, tweak_outputs, 0);
            check_difference(ATGP, ranks, part, 0, tweak_outputs, 0);
            for (how = 0; how < 64; how += 21) check_difference(NFINDR, ranks, part, 0, tweak_seed, how);
            check_difference(MOMENTS, ranks, part, 0, tweak_bands, 0);
            for (call = 0; call < CALLS; call++) check_difference(call, ranks, part, 0, tweak_ranks, 0);
            for (call = 0; call < CALLS; call++) check_difference(call, ranks, part, 0, tweak_number, 0);
        }
}

static void spoil_options(share *s, shs_context *ctx, int how) {
    (void)ctx;
    if (how) s->pca.end_canary = s->ica.end_canary = s->ksvd.end_canary = s->online.end_canary = 1;
    else s->pca.start_canary = s->ica.start_canary = s->ksvd.start_canary = s->online.start_canary = 1;
}

/* One rank's options are not zeroed, as if it had been compiled with another version: no rank waits for it. */
static void test_options_not_zeroed(void **state) {
    static const int with_options[] = {KSVD, ONLINE, PCA, PCA_RUN, MNF, RX, ICA, ICA_RUN};
    size_t call;
    int how, r;
    (void)state;
    for (call = 0; call < sizeof with_options / sizeof *with_options; call++)
        for (how = 0; how < 2; how++) {
            world *w = new_world(with_options[call], 3, parts[2]);
            w->tweak = spoil_options;
            w->how = how;
            run_world(w);
            for (r = 0; r < 3; r++) assert_status(w->shares[r].status, r == 2 ? SHS_BAD_OPTIONS : SHS_PEER_FAILED);
            free_world(w);
        }
}

/* A start matrix of other values is seen once the number of components is known. */
static void test_other_starts_are_seen(void **state) {
    static const shs_wide start[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, other[9] = {1, 0, 0, 0, 0, 1, 0, 1, 0};
    world *w = new_world(ICA, 3, parts[2]);
    int r;
    (void)state;
    for (r = 0; r < 3; r++) w->shares[r].ica.start = r == 1 ? other : start;
    run_world(w);
    for (r = 0; r < 3; r++) assert_status(w->shares[r].status, SHS_RANKS_DIFFER);
    free_world(w);
}

/* Ranks with another noise covariance, or another background. What is above the diagonal does not count, nor where columns lie. */
static void test_other_matrices_are_seen(void **state) {
    shs_wide noise[2][BANDS * BANDS] = {{0}}, wider[(BANDS + 2) * BANDS] = {0};
    shs_moments m[2];
    int how, r, b;
    (void)state;
    for (r = 0; r < 2; r++) assert_ok(shs_moments_create(NULL, BANDS, m + r));
    for (b = 0; b < BANDS; b++) {
        noise[0][b + b * BANDS] = noise[1][b + b * BANDS] = wider[b + b * (BANDS + 2)] = 1 + b;
        for (r = 0; r < 2; r++) m[r].shift[b] = m[r].products[b + b * BANDS] = 1 + b;
    }
    m[0].count = m[1].count = 1;
    for (how = 0; how < 6; how++) {
        const shs_status expected = how == 0 || how == 5 ? SHS_OK : SHS_RANKS_DIFFER;
        world *w = new_world(how < 2 ? MNF : DETECT, 3, parts[2]);
        shs_wide *value = NULL, before = 0;
        if (how == 1) value = noise[1] + 1;
        if (how == 2) value = m[1].shift + 3;
        if (how == 3) value = m[1].sum + BANDS - 1;
        if (how == 4) value = m[1].products + 5; /* row 5, column 0 */
        if (how == 5) value = m[1].products + 5 * BANDS;
        if (value) {
            before = *value;
            *value = (shs_wide)0.5;
        }
        for (r = 0; r < 3; r++) {
            share *s = w->shares + r;
            if (how >= 2) s->background = m + (r == 1);
            else s->pca.noise = noise[r == 1];
            if (how > 0 || r != 1) continue;
            s->pca.noise = wider;
            s->pca.ldn = BANDS + 2;
        }
        run_world(w);
        for (r = 0; r < 3; r++) assert_status(w->shares[r].status, expected);
        if (value) *value = before;
        free_world(w);
    }
    for (r = 0; r < 2; r++) shs_moments_free(NULL, m + r);
}

static int refuse_lines(void *user, int first_line, int lines, const void *block) {
    (void)user;
    (void)first_line;
    (void)lines;
    (void)block;
    return 1;
}

/* One rank's output cannot be written, or a pixel map's input not be read: the others know, though it was the last pass. */
static void test_the_last_pass_is_agreed(void **state) {
    int call, how, r;
    (void)state;
    for (call = PCA_RUN; call < CALLS; call++)
        for (how = 0; how < 2; how++) {
            world *w;
            share *s;
            void *output;
            shs_cube in_memory;
            shs_status own = SHS_WRITE_FAILED;
            if (!has_sink(call) || (how && !is_map(call) && call != DENOISE && call != RX_TRANSFORM)) continue;
            w = new_world(call, 3, parts[2]);
            s = w->shares + 1;
            output = s->sink.pixels;
            in_memory = s->cube;
            if (how) {
                s->cube = streamed(&in_memory, 2, &s->s);
                s->s.fail_at = 1;
                own = SHS_READ_FAILED;
            } else {
                s->sink.pixels = NULL;
                s->sink.write_fn = refuse_lines;
            }
            run_world(w);
            for (r = 0; r < 3; r++) assert_status(w->shares[r].status, r == 1 ? own : SHS_PEER_FAILED);
            s->sink.pixels = output;
            free_world(w);
        }
}

/* Ranks that make other calls than each other. */
static void test_other_calls_are_seen(void **state) {
    int a, b, r;
    (void)state;
    for (a = 0; a < CALLS; a++)
        for (b = 0; b < CALLS; b++) {
            world *w = new_world(a, 3, parts[2]);
            if (a == b || (is_map(a) && is_map(b))) {
                free_world(w);
                continue;
            }
            w->call[1] = b;
            run_world(w);
            for (r = 0; r < 3; r++) assert_status(w->shares[r].status, SHS_RANKS_DIFFER);
            free_world(w);
        }
}

/* A rank with an invalid context still tells the other ranks. */
static void test_a_rank_with_a_bad_context(void **state) {
    int call, r;
    (void)state;
    for (call = 0; call < CALLS; call++) {
        world *w = new_world(call, 3, parts[2]);
        w->shares[1].broken_context = 1;
        run_world(w);
        for (r = 0; r < 3; r++) assert_status(w->shares[r].status, r == 1 ? SHS_BAD_CONTEXT : SHS_PEER_FAILED);
        free_world(w);
    }
}

/* shs_online: which argument of rank 1 is bad, and what each rank was answered. */
typedef struct simply {
    int bad;
    shs_status status[MOST_RANKS];
} simply;

static void learn_simply(const shs_context *ctx, int rank, void *arg) {
    simply *w = (simply *)arg;
    shs_real D[P * N];
    const int bad = rank == 1 ? w->bad : 0;
    w->status[rank] =
        shs_online(ctx, bad == 1 ? 0 : P, bad == 2 ? 0 : N, M, bad == 3 ? NULL : signals, 3, 1, bad == 4 ? NULL : D);
}

/* The other ranks are told of it, and do not wait. */
static void test_bad_arguments_of_online(void **state) {
    static const shs_status answers[] = {SHS_OK, SHS_BAD_P, SHS_BAD_N, SHS_BAD_SIGNALS, SHS_BAD_DICTIONARY};
    simply w;
    (void)state;
    for (w.bad = 0; w.bad < 5; w.bad++) {
        run_ranks(2, learn_simply, &w);
        assert_status(w.status[0], w.bad ? SHS_PEER_FAILED : SHS_OK);
        assert_status(w.status[1], answers[w.bad]);
    }
}

/* ---- reductions that fail ---------------------------------------------------------------------------------------- */

typedef struct breaking {
    int left, after; /* calls until it fails, and calls after that */
} breaking;

static int reduce_breaks(void *user, shs_wide *values, size_t count, shs_reduce_op op) {
    breaking *b = (breaking *)user;
    (void)values;
    (void)count;
    (void)op;
    if (b->left < 0) b->after++;
    return --b->left < 0;
}

/* The k-th reduction fails: the call says so and reduces no more, as the header promises. */
static void test_a_failing_reduction_is_the_last(void **state) {
    int call, k, stretched;
    (void)state;
    for (call = 0; call < CALLS; call++)
        for (stretched = 0; stretched < 2; stretched++)
            for (k = 0;; k++) {
                world *w = new_world(call, 1, parts[0]);
                breaking b;
                shs_context ctx = SHS_ZERO;
                shs_status status;
                b.left = k;
                b.after = 0;
                ctx.reduce_fn = reduce_breaks;
                ctx.reduce_user = &b;
                ctx.ranks = ctx.threads = 1;
                w->shares[0].sink.rescale = stretched;
                w->shares[0].sink.high = 9;
                status = calls[call](&ctx, w, w->shares);
                free_world(w);
                if (status == SHS_OK) break;
                assert_status(status, SHS_REDUCE_FAILED);
                assert_int_equal(b.after, 0);
            }
}

/* ---- how many reductions ----------------------------------------------------------------------------------------- */

typedef struct counted {
    size_t calls, values;
} counted;

static int reduce_counts(void *user, shs_wide *values, size_t count, shs_reduce_op op) {
    counted *c = (counted *)user;
    (void)values;
    (void)op;
    c->calls++;
    c->values += count;
    return 0;
}

static counted count_learning(shs_ksvd_options o, int n) {
    shs_context ctx = SHS_ZERO;
    counted c = {0, 0};
    shs_real *D = new_normal((size_t)(P * n), 11);
    o.coding.sparsity = 3;
    o.start = SHS_START_GIVEN;
    ctx.reduce_fn = reduce_counts;
    ctx.reduce_user = &c;
    ctx.ranks = 1;
    assert_ok(shs_ksvd_ex(&ctx, P, n, M, signals, P, &o, D, P, NULL, NULL));
    free(D);
    return c;
}

/* As the header promises: an iteration takes one reduction for each group and two more, another for each error that is asked
   for. Sums and energy of all atoms, uses, flags, squares and counts of errors (of the signals, of a test set), and the number
   of signals above their tolerance go round once. Besides there are four. */
static void test_reductions_of_learning(void **state) {
    static const int sizes[] = {1, 7, 18, 64}, groups[] = {1, 5, 18, 64};
    size_t s, k;
    (void)state;
    for (s = 0; s < 4; s++)
        for (k = 0; k < 4; k++) {
            size_t n = (size_t)sizes[s], group = (size_t)groups[k], each = (n + group - 1) / group;
            shs_ksvd_options o = SHS_ZERO;
            counted less, more;
            o.parallel_atoms = groups[k];
            o.replace = SHS_REPLACE_RANDOM;
            o.prune_coherence = 1;
            o.iterations = 2;
            less = count_learning(o, sizes[s]);
            o.iterations = 4;
            more = count_learning(o, sizes[s]);
            assert_int_equal(less.calls, 4 + 2 * (each + 2));
            assert_int_equal(more.calls - less.calls, 2 * (each + 2));
            assert_int_equal(more.values - less.values, 2 * ((P + 1) * n + 2 * n + 5 + 2 * (each + 2)));
            o.rmse_after_update = 1;
            assert_int_equal(count_learning(o, sizes[s]).calls - more.calls, 4);
            o.rmse_after_update = 0;
            o.rounds = 3;
            assert_int_equal(count_learning(o, sizes[s]).calls - more.calls, 8 * each);
            o.replace = SHS_REPLACE_LEAVE;
            assert_int_equal(count_learning(o, sizes[s]).calls - more.calls, 8 * each);
        }
}

static counted count_online(size_t batches) {
    shs_online_options o = SHS_ZERO;
    shs_context ctx = SHS_ZERO;
    counted c = {0, 0};
    in_order from = {signals, M, 0};
    shs_real D[P * N];
    o.coding.sparsity = 3;
    o.batch = 10;
    o.batches = batches;
    o.replace = SHS_REPLACE_LEAVE;
    ctx.reduce_fn = reduce_counts;
    ctx.reduce_user = &c;
    ctx.ranks = 1;
    assert_ok(shs_online_ex(&ctx, P, N, deliver, &from, &o, D, P, NULL));
    return c;
}

/* A batch takes one reduction: the sums, the uses, what is counted of signals, errors and a test set, and how the rank is. */
static void test_reductions_of_batches(void **state) {
    counted less = count_online(5), more = count_online(9);
    (void)state;
    assert_int_equal(more.calls - less.calls, 4);
    assert_int_equal(more.values - less.values, 4 * (N * N + (P + 1) * N + 5 + 2));
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outputs_are_ones_own),
        cmocka_unit_test(test_columns_of_all_ranks),
        cmocka_unit_test(test_learning_with_limits_of_ones_own),
        cmocka_unit_test(test_test_set),
        cmocka_unit_test(test_streams_beside_memory),
        cmocka_unit_test(test_ranks_without_pixels),
        cmocka_unit_test(test_noise_across_borders),
        cmocka_unit_test(test_no_border_between_widths),
        cmocka_unit_test(test_differences_are_seen),
        cmocka_unit_test(test_options_not_zeroed),
        cmocka_unit_test(test_other_starts_are_seen),
        cmocka_unit_test(test_other_matrices_are_seen),
        cmocka_unit_test(test_the_last_pass_is_agreed),
        cmocka_unit_test(test_other_calls_are_seen),
        cmocka_unit_test(test_a_rank_with_a_bad_context),
        cmocka_unit_test(test_bad_arguments_of_online),
        cmocka_unit_test(test_a_failing_reduction_is_the_last),
        cmocka_unit_test(test_reductions_of_learning),
        cmocka_unit_test(test_reductions_of_batches),
    };
    return cmocka_run_group_tests_name("ranks", tests, open_world, close_world);
}
