/* test_cl_ranks.c - a rank on each of two OpenCL devices: the bits of ranks that the tests' own barrier joins, to rounding the
   result of the CPU, and an end for all where one device fails. PoCL shows two devices where it is asked to. */
#ifdef __unix__
#define _POSIX_C_SOURCE 200112L /* setenv */
#endif
#include "test_cube_tools.h"
#define SPARSEHS_CL_IMPLEMENTATION
#include "../sparsehs_cl.h"
#include "../examples/thread_ranks.h"

enum { P = 16, N = 32, M = 900, S = 3, LINES = 14, SAMPLES = 31, BANDS = 8, OUTPUTS = 3, DEVICES_MOST = 2 };

static shs_cl *devices[DEVICES_MOST];
static shs_context each[DEVICES_MOST + 1]; /* and the CPU beside them */

/* The second is another device than the first where there are two. */
static int open_devices(void **state) {
    shs_cl_options o = SHS_ZERO;
    int i;
    (void)state;
#ifdef __unix__
    setenv("POCL_DEVICES", "basic pthread", 0);
#endif
    o.platform = getenv("SHS_CL_PLATFORM");
    o.trust = getenv("SHS_CL_SELFTEST") == NULL;
    for (i = 0; i < DEVICES_MOST; i++) {
        o.index = i;
        if (i > 0 && shs_cl_create(NULL, &o, &devices[i]) == SHS_OK) {
            print_message("two devices: %s, %s\n", shs_cl_device_name(devices[0]), shs_cl_device_name(devices[i]));
        } else {
            o.index = 0;
            if (shs_cl_create(NULL, &o, &devices[i]) != SHS_OK) return 0;
        }
    }
    for (i = 0; i < DEVICES_MOST; i++) each[i].engine = shs_cl_engine(devices[i]);
    for (i = 0; i <= DEVICES_MOST; i++) each[i].threads = 1;
    return 0;
}

static int close_devices(void **state) {
    int i;
    (void)state;
    for (i = 0; i < DEVICES_MOST; i++) shs_cl_destroy(devices[i]);
    return 0;
}

static void need_devices(void) {
    if (devices[DEVICES_MOST - 1]) return;
    print_message("skipped: there is no OpenCL device\n");
    skip();
}

/* ---- signals ----------------------------------------------------------------------------------------------------- */

typedef struct lesson {
    const double *shares;
    int codes_only;
    const shs_real *Y;
    shs_real D[DEVICES_MOST + 1][P * N];
    shs_codes codes;
    shs_status statuses[DEVICES_MOST + 1];
    const shs_context *contexts; /* for the tests' own ranks, whose contexts name no device */
} lesson;

static lesson *new_lesson(const double *shares, const shs_real *Y, int codes_only) {
    lesson *l = NEW(lesson, 1);
    int r;
    memset(l, 0, sizeof *l);
    l->shares = shares;
    l->Y = Y;
    l->codes_only = codes_only;
    for (r = 0; r <= DEVICES_MOST; r++) assert_ok(shs_dictionary_random(P, N, l->D[r], P, 4));
    assert_ok(shs_codes_create(NULL, M, S, &l->codes));
    return l;
}

static void free_lesson(lesson *l) {
    shs_codes_free(NULL, &l->codes);
    free(l);
}

static shs_status learn(const shs_context *ctx, void *arg) {
    lesson *l = (lesson *)arg;
    shs_ksvd_options o = SHS_ZERO;
    shs_real *D = l->D[ctx->rank];
    size_t first, m = ranks_range(ctx, l->shares, M, &first);
    shs_codes mine = ranks_codes(&l->codes, first, m);
    o.coding.sparsity = S;
    o.iterations = 2;
    o.parallel_atoms = 8;
    o.start = SHS_START_GIVEN;
    if (l->codes_only) l->statuses[ctx->rank] = shs_omp_ex(ctx, P, N, D, P, m, l->Y + first * P, P, &o.coding, &mine, NULL, NULL);
    else l->statuses[ctx->rank] = shs_ksvd_ex(ctx, P, N, m, l->Y + first * P, P, &o, D, P, &mine, NULL);
    return l->statuses[ctx->rank];
}

static void learn_for_tests(const shs_context *ctx, int rank, void *arg) {
    shs_context mine = *ctx;
    mine.engine = ((lesson *)arg)->contexts[rank].engine;
    (void)learn(&mine, arg);
}

static const double divisions[][3] = {{1, 1, 1}, {3, 1, 0.5}};

static void test_signals(void **state) {
    shs_real *Y = new_normal(P * M, 9);
    int codes_only, ranks, d, r, i;
    (void)state;
    need_devices();
    for (codes_only = 0; codes_only < 2; codes_only++)
        for (ranks = 2; ranks <= 3; ranks++)
            for (d = 0; d < 2; d++) {
                lesson *here = new_lesson(divisions[d], Y, codes_only), *there = new_lesson(divisions[d], Y, codes_only);
                lesson *cpu = new_lesson(NULL, Y, codes_only);
                shs_context one = SHS_ZERO;
                there->contexts = each;
                assert_ok(ranks_run(ranks, each, learn, here));
                run_ranks(ranks, learn_for_tests, there);
                assert_ok(ranks_run(1, &one, learn, cpu));
                for (r = 0; r < ranks; r++) {
                    assert_ok(here->statuses[r]);
                    assert_memory_equal(here->D[r], here->D[0], sizeof here->D[0]);
                    assert_memory_equal(here->D[r], there->D[r], sizeof here->D[0]);
                }
                assert_memory_equal(here->codes.used, there->codes.used, M * sizeof(int));
                assert_memory_equal(here->codes.atoms, there->codes.atoms, M * S * sizeof(int));
                assert_memory_equal(here->codes.coefs, there->codes.coefs, M * S * sizeof(shs_real));
                for (i = 0; i < P * N; i++) assert_close(here->D[0][i], cpu->D[0][i], BY_TYPE(2e-3, 1e-7));
                assert_memory_equal(here->codes.used, cpu->codes.used, M * sizeof(int));
                free_lesson(here);
                free_lesson(there);
                free_lesson(cpu);
            }
    free(Y);
}

/* ---- cubes ------------------------------------------------------------------------------------------------------- */

typedef struct scene {
    int which;
    shs_cube cube;
    shs_sink sink;
    const double *shares;
    shs_status statuses[DEVICES_MOST + 1];
} scene;

static shs_status analyse(const shs_context *ctx, void *arg) {
    scene *s = (scene *)arg;
    shs_pca_options pca = SHS_ZERO;
    shs_ica_options ica = SHS_ZERO;
    ranks_lines mine;
    shs_status status;
    pca.components = ica.components = OUTPUTS;
    ica.contrast = SHS_CONTRAST_TANH;
    ica.approach = SHS_APPROACH_SYMMETRIC;
    ica.order = SHS_ORDER_EXTRACTION;
    ica.iterations = 3;
    ica.tolerance = -1;
    ranks_lines_begin(ctx, s->shares, &s->cube, &s->sink, OUTPUTS, &mine);
    if (s->which == 0) status = shs_pca_run(ctx, &mine.cube, &pca, &mine.sink, NULL);
    else if (s->which == 1) status = shs_mnf_run(ctx, &mine.cube, &pca, &mine.sink, NULL);
    else status = shs_ica_run(ctx, &mine.cube, &ica, &mine.sink, NULL);
    return s->statuses[ctx->rank] = status;
}

static void test_cubes(void **state) {
    plain_cube plain = mixed_cube(LINES, SAMPLES, BANDS, 4, 0.5, 7);
    int which, layout, ranks, d, i;
    (void)state;
    need_devices();
    if (!devices[0]->has_double) skip();
    for (i = 0; i < (int)values_of(&plain); i++) plain.x[i] = plain.x[i] * fabs(plain.x[i]) / 50;
    for (which = 0; which < 3; which++)
        for (layout = 0; layout < 3; layout++)
            for (ranks = 2; ranks <= 3; ranks++)
                for (d = 0; d < 2; d++) {
                    plain_cube out[3];
                    shs_context one = SHS_ZERO;
                    scene s;
                    int turn;
                    memset(&s, 0, sizeof s);
                    s.which = which;
                    s.cube = cube_of(&plain, SHS_TYPE_F32, (shs_interleave)layout, 0);
                    for (turn = 0; turn < 3; turn++) { /* twice on the devices, and on the CPU alone */
                        s.sink = new_sink(SHS_TYPE_F32, (shs_interleave)((layout + ranks) % 3), LINES, SAMPLES, OUTPUTS);
                        s.shares = turn < 2 ? divisions[d] : NULL;
                        assert_ok(ranks_run(turn < 2 ? ranks : 1, turn < 2 ? each : &one, analyse, &s));
                        out[turn] = sink_values(&s.sink, LINES, SAMPLES, OUTPUTS);
                        sink_free(&s.sink);
                    }
                    assert_memory_equal(out[0].x, out[1].x, values_of(&out[0]) * sizeof *out[0].x);
                    check_near("of several devices", values_of(&out[0]), out[0].x, out[2].x,
                               BY_TYPE(2e-5, 1e-6) * largest_of(values_of(&out[2]), out[2].x));
                    for (turn = 0; turn < 3; turn++) free(out[turn].x);
                    cube_free(&s.cube);
                }
    free(plain.x);
}

/* ---- what goes wrong --------------------------------------------------------------------------------------------- */

/* Each allocation of one device's rank fails; the other rank is told. */
static void test_a_device_fails(void **state) {
    shs_real *Y = new_normal(P * M, 9);
    int rank, k, r;
    (void)state;
    need_devices();
    for (rank = 0; rank < 2; rank++)
        for (k = 0;; k++) {
            lesson *l = new_lesson(NULL, Y, 0);
            shs_context mine[2];
            shs_engine engines[2];
            faulty f;
            shs_status status;
            for (r = 0; r < 2; r++) {
                engines[r] = *each[r].engine;
                engines[r].fallback = 0;
                mine[r] = each[r];
                mine[r].engine = &engines[r];
            }
            faulty_attach(&f, k, &mine[rank]);
            status = ranks_run(2, mine, learn, l);
            assert_int_equal(f.outstanding, 0);
            for (r = 0; r < 2 && status != SHS_OK; r++)
                assert_status(l->statuses[r], r == rank ? SHS_NO_MEMORY : SHS_PEER_FAILED);
            free_lesson(l);
            if (status == SHS_OK) break;
            assert_status(status, SHS_NO_MEMORY);
        }
    free(Y);
}

int main(void) {
    static const struct CMUnitTest tests[] = {cmocka_unit_test(test_signals), cmocka_unit_test(test_cubes),
                                              cmocka_unit_test(test_a_device_fails)};
    return cmocka_run_group_tests_name("a rank on each device", tests, open_devices, close_devices);
}
