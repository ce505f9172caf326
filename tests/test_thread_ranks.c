/* test_thread_ranks.c - examples/thread_ranks.h: ranks as threads of one program give the bits of ranks that reduce in the same
   order and, to rounding, the result of one; and whatever goes wrong on one of them, all return. */
#include "test_cube_tools.h"
#include "../examples/thread_ranks.h"

enum { P = 12, N = 18, M = 151, S = 3, LINES = 11, SAMPLES = 23, BANDS = 6, OUTPUTS = 3 };

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

/* Every item belongs to exactly one rank, in the order of the ranks. Shares that are counts give these counts. */
static void test_ranges(void **state) {
    static const double shares[][4] = {{1, 1, 1, 1}, {3, 1, 0, 2}, {0, 0, 1, 0}, {0.1, 0.2, 0.3, 0.4}, {1e6, 1, 1, 1e-6}};
    static const size_t sizes[] = {0, 1, 3, 4, 7, 1000003};
    static const double counts[] = {502, 501, 7};
    size_t i, k, first, next;
    int r, ranks;
    (void)state;
    for (i = 0; i < sizeof shares / sizeof *shares; i++)
        for (k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (ranks = i == 2 ? 3 : 1; ranks <= 4; ranks++) {
                next = 0;
                for (r = 0; r < ranks; r++) {
                    size_t count = ranks_range_of(r, ranks, shares[i], sizes[k], &first);
                    if (count > 0) assert_int_equal(first, next);
                    next += count;
                }
                assert_int_equal(next, sizes[k]);
            }
    for (r = 0; r < 3; r++) assert_int_equal(ranks_range_of(r, 3, counts, 1010, &first), (size_t)counts[r]);
    for (r = 0; r < 3; r++) assert_int_equal(ranks_range_of(r, 3, NULL, 9, &first), 3);
    assert_int_equal(ranks_range(NULL, NULL, 5, &first), 5);
    assert_int_equal(first, 0);
}

/* ---- signals ----------------------------------------------------------------------------------------------------- */

/* Atoms that are learnt, and the codes of all signals in arrays of the caller's. */
typedef struct lesson {
    const double *shares;
    shs_real *Y;
    shs_real D[RANKS_MOST][P * N];
    shs_codes codes;
    shs_ksvd_options o;
    shs_status statuses[RANKS_MOST];
} lesson;

static lesson *new_lesson(const double *shares) {
    lesson *l = NEW(lesson, 1);
    memset(l, 0, sizeof *l);
    l->shares = shares;
    l->Y = new_normal(P * M, 5);
    l->o.coding.sparsity = S;
    l->o.iterations = 3;
    l->o.parallel_atoms = 4;
    l->o.seed = 3;
    assert_ok(shs_codes_create(NULL, M, S, &l->codes));
    return l;
}

static void free_lesson(lesson *l) {
    shs_codes_free(NULL, &l->codes);
    free(l->Y);
    free(l);
}

static shs_status learn(const shs_context *ctx, void *arg) {
    lesson *l = (lesson *)arg;
    size_t first, m = ranks_range(ctx, l->shares, M, &first);
    shs_codes mine = ranks_codes(&l->codes, first, m);
    return l->statuses[ctx->rank] =
               shs_ksvd_ex(ctx, P, N, m, l->Y + first * P, P, &l->o, l->D[ctx->rank], P, &mine, NULL);
}

static void learn_for_tests(const shs_context *ctx, int rank, void *arg) {
    (void)rank;
    (void)learn(ctx, arg);
}

static void assert_same_lesson(const lesson *a, const lesson *b, int ranks) {
    int r;
    for (r = 0; r < ranks; r++) {
        assert_ok(a->statuses[r]);
        assert_memory_equal(a->D[r], b->D[0], sizeof a->D[0]);
    }
    assert_memory_equal(a->codes.used, b->codes.used, M * sizeof(int));
    assert_memory_equal(a->codes.atoms, b->codes.atoms, M * S * sizeof(int));
    assert_memory_equal(a->codes.coefs, b->codes.coefs, M * S * sizeof(shs_real));
}

static const double divisions[][3] = {{1, 1, 1}, {2, 1, 4}, {0, 5, 3}};
enum { DIVISIONS = 3 };

/* The bits of ranks that the tests' own barrier joins, twice; the atoms of one rank, to rounding. */
static void test_learning(void **state) {
    shs_context each[3];
    int d, ranks, i;
    (void)state;
    memset(each, 0, sizeof each);
    for (i = 0; i < 3; i++) each[i].threads = 1 + i; /* results do not depend on them */
    for (d = 0; d < DIVISIONS; d++)
        for (ranks = 2; ranks <= 3; ranks++) {
            lesson *here = new_lesson(divisions[d]), *again = new_lesson(divisions[d]), *there = new_lesson(divisions[d]);
            lesson *one = new_lesson(NULL);
            assert_ok(ranks_run(ranks, each, learn, here));
            assert_ok(ranks_run(ranks, each, learn, again));
            run_ranks(ranks, learn_for_tests, there);
            assert_same_lesson(here, here, ranks);
            assert_same_lesson(here, again, ranks);
            assert_same_lesson(here, there, ranks);
            assert_ok(ranks_run(1, each, learn, one));
            for (i = 0; i < P * N; i++) assert_close(here->D[0][i], one->D[0][i], BY_TYPE(1e-4, 1e-10));
            assert_memory_equal(here->codes.used, one->codes.used, M * sizeof(int));
            free_lesson(here);
            free_lesson(again);
            free_lesson(there);
            free_lesson(one);
        }
}

/* ---- cubes ------------------------------------------------------------------------------------------------------- */

enum { PCA = 0, MNF, ICA, RX, CALLS };

/* A cube of any kind into a sink of any kind. Streams read and write lines in any order. */
typedef struct scene {
    int call;
    const double *shares;
    shs_cube memory, cube;
    shs_sink into, sink;
    int wrong;
} scene;

static int scene_read(void *user, int first, int lines, void *block) {
    scene *s = (scene *)user;
    const shs_cube *c = &s->memory;
    copy_lines(lines_of_cube(c), c->pixels, c->lines, first, block, lines, 0, lines);
    return 0;
}

static int scene_mark(void *user, int first, int lines, unsigned char *marks) {
    const scene *s = (const scene *)user;
    memcpy(marks, s->memory.mask + (size_t)first * SAMPLES, (size_t)lines * SAMPLES);
    return 0;
}

static int scene_write(void *user, int first, int lines, const void *block) {
    scene *s = (scene *)user;
    int outputs = s->call == RX ? 1 : OUTPUTS;
    copy_lines(lines_of_sink(&s->into, SAMPLES, outputs), block, lines, 0, s->into.pixels, LINES, first, lines);
    return 0;
}

static shs_status analyse(const shs_context *ctx, void *arg) {
    const scene *s = (const scene *)arg;
    shs_pca_options pca = SHS_ZERO;
    shs_ica_options ica = SHS_ZERO;
    ranks_lines mine;
    pca.components = ica.components = OUTPUTS;
    ica.contrast = SHS_CONTRAST_TANH;
    ica.approach = SHS_APPROACH_SYMMETRIC;
    ica.order = SHS_ORDER_EXTRACTION;
    ica.iterations = 4;
    ica.tolerance = -1;
    ranks_lines_begin(ctx, s->shares, &s->cube, &s->sink, s->call == RX ? 1 : OUTPUTS, &mine);
    if (s->call == RX) pca.components = 0;
    if (s->call == PCA) return shs_pca_run(ctx, &mine.cube, &pca, &mine.sink, NULL);
    if (s->call == MNF) return shs_mnf_run(ctx, &mine.cube, &pca, &mine.sink, NULL);
    if (s->call == RX) return shs_rx(ctx, &mine.cube, &pca, &mine.sink, NULL);
    return shs_ica_run(ctx, &mine.cube, &ica, &mine.sink, NULL);
}

static void analyse_for_tests(const shs_context *ctx, int rank, void *arg) {
    (void)rank;
    if (analyse(ctx, arg) != SHS_OK) ((scene *)arg)->wrong = 1;
}

/* how: bits: a stream is read; the mask comes by mask_fn; a stream is written; outputs are stretched. */
static plain_cube run_scene(int call, const plain_cube *plain, const unsigned char *mask, shs_interleave from,
                            shs_interleave to, int how, const double *shares, int ranks, const shs_context *each) {
    int outputs = call == RX ? 1 : OUTPUTS;
    scene s;
    plain_cube out;
    memset(&s, 0, sizeof s);
    s.call = call;
    s.shares = shares;
    s.memory = cube_of(plain, SHS_TYPE_F32, from, 0);
    s.memory.mask = mask;
    s.cube = s.memory;
    if (how & 1) {
        s.cube.pixels = NULL;
        s.cube.read_fn = scene_read;
        s.cube.read_user = &s;
        s.cube.block_lines = 2;
    }
    if ((how & 3) == 3) {
        s.cube.mask = NULL;
        s.cube.mask_fn = scene_mark;
        s.cube.mask_user = &s;
    }
    s.into = new_sink(SHS_TYPE_F32, to, LINES, SAMPLES, outputs);
    s.into.rescale = how & 8;
    s.into.high = 200;
    s.sink = s.into;
    if (how & 4) {
        s.sink.pixels = NULL;
        s.sink.write_fn = scene_write;
        s.sink.write_user = &s;
    }
    if (each) assert_ok(ranks_run(ranks, each, analyse, &s));
    else run_ranks(ranks, analyse_for_tests, &s);
    assert_int_equal(s.wrong, 0);
    out = sink_values(&s.into, LINES, SAMPLES, outputs);
    sink_free(&s.into);
    cube_free(&s.memory);
    return out;
}

/* Of memory and streams, into memory and streams, in every layout. */
static void test_cubes(void **state) {
    plain_cube plain = mixed_cube(LINES, SAMPLES, BANDS, 4, 0.5, 7);
    unsigned char mask[LINES * SAMPLES];
    shs_context each[3];
    int call, how, d, i, turn = 0;
    (void)state;
    memset(each, 0, sizeof each);
    for (i = 0; i < 3; i++) each[i].threads = 2 - i % 2;
    for (i = 0; i < LINES * SAMPLES; i++) mask[i] = i % 7 != 3 && i / SAMPLES != 4;
    for (i = 0; i < (int)values_of(&plain); i++) plain.x[i] = plain.x[i] * fabs(plain.x[i]) / 50; /* not normal */
    for (call = 0; call < CALLS; call++)
        for (how = 0; how < 16; how++)
            for (d = 0; d < DIVISIONS; d++) {
                shs_interleave from = (shs_interleave)(turn % 3), to = (shs_interleave)(turn / 3 % 3);
                const unsigned char *marks = how & 2 ? mask : NULL;
                int ranks = 2 + turn++ % 2;
                plain_cube here, there, one;
                here = run_scene(call, &plain, marks, from, to, how, divisions[d], ranks, each);
                there = run_scene(call, &plain, marks, from, to, how, divisions[d], ranks, NULL);
                one = run_scene(call, &plain, marks, from, to, how, NULL, 1, each);
                assert_memory_equal(here.x, there.x, values_of(&here) * sizeof *here.x);
                for (i = 0; i < (int)values_of(&here); i++) {
                    assert_int_equal(is_nan(here.x[i]), is_nan(one.x[i]));
                    if (is_nan(here.x[i])) here.x[i] = one.x[i] = 0;
                }
                check_near("of several ranks", values_of(&here), here.x, one.x, 1e-4 * largest_of(values_of(&one), one.x));
                free(here.x);
                free(there.x);
                free(one.x);
            }
    free(plain.x);
}

/* ---- what goes wrong --------------------------------------------------------------------------------------------- */

/* Each allocation of each rank fails in turn. The rank returns SHS_NO_MEMORY, the other ranks SHS_PEER_FAILED, and nothing
   leaks. */
static void test_allocations_fail(void **state) {
    int ranks, rank, k, r;
    (void)state;
    for (ranks = 2; ranks <= 3; ranks++)
        for (rank = 0; rank < ranks; rank++)
            for (k = 0;; k++) {
                lesson *l = new_lesson(NULL);
                shs_context each[3];
                faulty f[3];
                shs_status status;
                memset(each, 0, sizeof each);
                for (r = 0; r < ranks; r++) faulty_attach(f + r, r == rank ? k : -1, each + r);
                status = ranks_run(ranks, each, learn, l);
                for (r = 0; r < ranks; r++) {
                    assert_int_equal(f[r].outstanding, 0);
                    if (status == SHS_OK) assert_ok(l->statuses[r]);
                    else assert_status(l->statuses[r], r == rank ? SHS_NO_MEMORY : SHS_PEER_FAILED);
                }
                free_lesson(l);
                if (status == SHS_OK) break;
                assert_status(status, SHS_NO_MEMORY);
            }
}

/* A progress callback cancels on one rank, at each of its calls. All ranks end with the same best dictionary. */
static void test_cancelled(void **state) {
    int rank, k, r, cancelled = 0;
    (void)state;
    for (rank = 0; rank < 3; rank++)
        for (k = 0;; k++) {
            lesson *l = new_lesson(NULL);
            shs_context each[3];
            shs_status status;
            watch w;
            memset(each, 0, sizeof each);
            watch_attach(&w, k, each + rank);
            status = ranks_run(3, each, learn, l);
            for (r = 0; r < 3; r++) assert_status(l->statuses[r], status);
            for (r = 1; r < 3; r++) assert_memory_equal(l->D[r], l->D[0], sizeof l->D[0]);
            free_lesson(l);
            if (status == SHS_OK) break;
            assert_status(status, SHS_CANCELLED);
            cancelled++;
        }
    assert_true(cancelled > 3);
}

typedef struct trouble {
    int rank, after, what; /* which rank, after how many reductions */
    shs_status statuses[RANKS_MOST];
} trouble;
enum { RETURNS, RETURNS_WELL, OTHER_COUNT, OTHER_OPERATION, TROUBLES };

static shs_status reduce_often(const shs_context *ctx, void *arg) {
    trouble *t = (trouble *)arg;
    shs_wide values[40];
    int i, k;
    for (k = 0; k < 6; k++) {
        const int mine = ctx->rank == t->rank && k == t->after;
        if (mine && t->what == RETURNS) return t->statuses[ctx->rank] = SHS_READ_FAILED;
        if (mine && t->what == RETURNS_WELL) return t->statuses[ctx->rank] = SHS_OK;
        for (i = 0; i < 40; i++) values[i] = (shs_wide)(i + ctx->rank);
        if (ctx->reduce_fn(ctx->reduce_user, values, mine && t->what == OTHER_COUNT ? 39 : 40,
                           mine && t->what == OTHER_OPERATION ? SHS_REDUCE_MAX : SHS_REDUCE_SUM))
            return t->statuses[ctx->rank] = SHS_REDUCE_FAILED;
        for (i = 0; i < 40; i++)
            if (values[i] < 3 * i + 3 || values[i] > 3 * i + 3) return t->statuses[ctx->rank] = SHS_NOT_FINITE;
    }
    return SHS_OK;
}

/* A rank that returns, or reduces something else, leaves nobody waiting. */
static void test_no_rank_waits(void **state) {
    shs_context each[3];
    int what, rank, after, r;
    (void)state;
    memset(each, 0, sizeof each);
    alarm(60);
    for (what = 0; what < TROUBLES; what++)
        for (rank = 0; rank < 3; rank++)
            for (after = 0; after < 7; after++) {
                trouble t;
                shs_status status;
                memset(&t, 0, sizeof t);
                t.rank = rank;
                t.after = after;
                t.what = what;
                status = ranks_run(3, each, reduce_often, &t);
                if (after == 6) assert_ok(status);
                else assert_status(status, what == RETURNS ? SHS_READ_FAILED : SHS_REDUCE_FAILED);
                for (r = 0; r < 3 && after < 6; r++)
                    if (what > RETURNS_WELL || r != rank) assert_status(t.statuses[r], SHS_REDUCE_FAILED);
            }
    alarm(0);
}

/* A reduction fails on one rank within a call of the library. The other ranks do not wait. */
typedef struct breaking {
    lesson *l;
    int rank, left;
    shs_context of_run;
} breaking;

static int reduce_breaks(void *user, shs_wide *values, size_t count, shs_reduce_op op) {
    breaking *b = (breaking *)user;
    if (b->left-- == 0) return 1;
    return b->of_run.reduce_fn(b->of_run.reduce_user, values, count, op);
}

static shs_status learn_until_it_breaks(const shs_context *ctx, void *arg) {
    breaking *b = (breaking *)arg;
    shs_context mine = *ctx;
    if (ctx->rank != b->rank) return learn(ctx, b->l);
    b->of_run = *ctx;
    mine.reduce_fn = reduce_breaks;
    mine.reduce_user = b;
    return learn(&mine, b->l);
}

static void test_reductions_fail(void **state) {
    shs_context each[3];
    int rank, k, r;
    (void)state;
    memset(each, 0, sizeof each);
    alarm(60);
    for (rank = 0; rank < 3; rank++)
        for (k = 0;; k++) {
            lesson *l = new_lesson(NULL);
            breaking b;
            shs_status status;
            b.l = l;
            b.rank = rank;
            b.left = k;
            status = ranks_run(3, each, learn_until_it_breaks, &b);
            for (r = 0; r < 3; r++) assert_status(l->statuses[r], status);
            free_lesson(l);
            if (status == SHS_OK) break;
            assert_status(status, SHS_REDUCE_FAILED);
        }
    alarm(0);
}

/* Numbers of ranks that cannot be. */
static void test_bad_numbers(void **state) {
    shs_context each[RANKS_MOST + 1];
    lesson *l = new_lesson(NULL);
    (void)state;
    memset(each, 0, sizeof each);
    assert_status(ranks_run(0, each, learn, l), SHS_BAD_CONTEXT);
    assert_status(ranks_run(-1, each, learn, l), SHS_BAD_CONTEXT);
    assert_status(ranks_run(RANKS_MOST + 1, each, learn, l), SHS_BAD_CONTEXT);
    assert_ok(ranks_run(RANKS_MOST, each, learn, l));
    free_lesson(l);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),           cmocka_unit_test(test_learning),   cmocka_unit_test(test_cubes),
        cmocka_unit_test(test_allocations_fail), cmocka_unit_test(test_cancelled),  cmocka_unit_test(test_no_rank_waits),
        cmocka_unit_test(test_reductions_fail),  cmocka_unit_test(test_bad_numbers)};
    return cmocka_run_group_tests_name("ranks as threads", tests, NULL, NULL);
}
