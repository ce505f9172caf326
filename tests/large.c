/* large.c - arrays of more than 2^31 elements and more than 2^32 bytes (make test-large). They are views: the same few pages
   of a file are mapped again and again side by side, so that they cost no memory. An index that wraps around lands between
   two columns or outside the view: the result differs, or the program ends. Results are compared with those of the same
   values in a small array, to the bit, or with sums that can be counted. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "test_cube_tools.h"
#include <sys/mman.h>

/* Whole pages on every system. */
#define CHUNK ((size_t)1 << 16)
#define BEYOND ((size_t)1 << 31)

static int least_of(int a, int b) { return a < b ? a : b; }

/* `bytes` of address space (in whole periods) that show one period of bytes over and over. */
typedef struct view {
    unsigned char *at;
    size_t bytes;
} view;

static view new_view(size_t bytes, size_t period) {
    view v;
    FILE *f = tmpfile();
    size_t i;
    assert_non_null(f);
    assert_int_equal(period % CHUNK, 0);
    assert_int_equal(ftruncate(fileno(f), (off_t)period), 0);
    v.bytes = (bytes + period - 1) / period * period;
    v.at = (unsigned char *)mmap(NULL, v.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(v.at, MAP_FAILED);
    for (i = 0; i < v.bytes; i += period)
        assert_ptr_equal(mmap(v.at + i, period, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fileno(f), 0), v.at + i);
    fclose(f);
    return v;
}

static void view_free(view *v) { munmap(v->at, v->bytes); }
#define AS(type, v) ((type *)(void *)(v).at)

/* ---- matrices: columns an odd piece of a period apart ------------------------------------------------------------- */

/* n columns of up to `rows` values, ld apart, more than 2^31 values in all; the same values lie `near` apart in the first
   period, so that the first columns of the view are the small matrix itself. */
enum { ROWS = 61, COLUMNS = 67, NEAR = 101, PERIOD = 1 << 20, FAR = (1 << 26) + NEAR };

typedef struct wide_matrix {
    view v;
    shs_real *far, *near; /* the view, and a copy of what it shows */
} wide_matrix;

static wide_matrix new_wide(uint64_t seed) {
    wide_matrix w;
    assert_true((size_t)FAR * (ROWS - 2) > BEYOND);
    w.v = new_view((size_t)FAR * COLUMNS * sizeof(shs_real), PERIOD * sizeof(shs_real));
    w.far = AS(shs_real, w.v);
    fill_normal(NEAR * COLUMNS, w.far, seed);
    w.near = NEW(shs_real, NEAR * COLUMNS);
    memcpy(w.near, w.far, NEAR * COLUMNS * sizeof *w.near);
    return w;
}

static void wide_free(wide_matrix *w) {
    view_free(&w->v);
    free(w->near);
}

static void assert_same_columns(const wide_matrix *w) {
    int j;
    for (j = 0; j < COLUMNS; j++)
        assert_memory_equal(w->far + (size_t)j * FAR, w->near + (size_t)j * NEAR, NEAR * sizeof(shs_real));
}

static void test_products(void **state) {
    wide_matrix A = new_wide(1), B = new_wide(2), C = new_wide(3);
    int ta, tb;
    (void)state;
    for (ta = 0; ta < 2; ta++) {
        for (tb = 0; tb < 2; tb++) {
            assert_ok(shs_gemm(NULL, (shs_trans)ta, (shs_trans)tb, ROWS, ROWS, ROWS, 1, A.far, FAR, B.far, FAR, 1, C.far, FAR));
            assert_ok(
                shs_gemm(NULL, (shs_trans)ta, (shs_trans)tb, ROWS, ROWS, ROWS, 1, A.near, NEAR, B.near, NEAR, 1, C.near, NEAR));
            assert_same_columns(&C);
        }
        assert_ok(shs_syrk(NULL, (shs_uplo)ta, (shs_trans)ta, ROWS, ROWS, 1, A.far, FAR, 1, C.far, FAR));
        assert_ok(shs_syrk(NULL, (shs_uplo)ta, (shs_trans)ta, ROWS, ROWS, 1, A.near, NEAR, 1, C.near, NEAR));
        assert_same_columns(&C);
    }
    wide_free(&A);
    wide_free(&B);
    wide_free(&C);
}

static void test_systems(void **state) {
    wide_matrix A = new_wide(4), B = new_wide(5);
    int i, j, way;
    (void)state;
    for (j = 0; j < COLUMNS; j++)
        for (i = 0; i < NEAR; i++) {
            A.far[(size_t)j * FAR + (size_t)i] = A.near[j * NEAR + i] = i == j ? COLUMNS : A.near[j * NEAR + i] / 4;
        }
    for (way = 0; way < 8; way++) {
        shs_uplo uplo = (shs_uplo)(way & 1);
        shs_side side = (shs_side)(way >> 1 & 1);
        shs_trans trans = (shs_trans)(way >> 2);
        assert_ok(shs_trsm(NULL, side, uplo, trans, SHS_DIAG_NON_UNIT, ROWS, ROWS, 1, A.far, FAR, B.far, FAR));
        assert_ok(shs_trsm(NULL, side, uplo, trans, SHS_DIAG_NON_UNIT, ROWS, ROWS, 1, A.near, NEAR, B.near, NEAR));
        assert_ok(shs_trsv(uplo, trans, SHS_DIAG_NON_UNIT, ROWS, A.far, FAR, B.far, FAR));
        assert_ok(shs_trsv(uplo, trans, SHS_DIAG_NON_UNIT, ROWS, A.near, NEAR, B.near, NEAR));
        assert_same_columns(&B);
    }
    for (way = 0; way < 2; way++) {
        assert_ok(shs_cholesky(NULL, (shs_uplo)way, ROWS, A.far, FAR));
        assert_ok(shs_cholesky(NULL, (shs_uplo)way, ROWS, A.near, NEAR));
        assert_same_columns(&A);
        for (i = 0; i < ROWS; i++) A.far[(size_t)i * FAR + (size_t)i] = A.near[i * NEAR + i] = COLUMNS;
    }
    wide_free(&A);
    wide_free(&B);
}

static void test_vectors(void **state) {
    wide_matrix A = new_wide(6), X = new_wide(7), Y = new_wide(8);
    shs_real *norms = NEW(shs_real, COLUMNS), *near_norms = NEW(shs_real, COLUMNS);
    int trans, sign;
    (void)state;
    for (trans = 0; trans < 2; trans++)
        for (sign = -1; sign < 2; sign += 2) {
            assert_ok(shs_gemv((shs_trans)trans, ROWS, ROWS, 1, A.far, FAR, X.far, sign * FAR, 1, Y.far, FAR));
            assert_ok(shs_gemv((shs_trans)trans, ROWS, ROWS, 1, A.near, NEAR, X.near, sign * NEAR, 1, Y.near, NEAR));
            assert_same_columns(&Y);
        }
    assert_ok(shs_ger(ROWS, COLUMNS, 1, X.far, FAR, Y.far, -FAR, A.far, FAR));
    assert_ok(shs_ger(ROWS, COLUMNS, 1, X.near, NEAR, Y.near, -NEAR, A.near, NEAR));
    assert_same_columns(&A);
    shs_axpy(COLUMNS, 2, X.far, FAR, Y.far, FAR), shs_axpy(COLUMNS, 2, X.near, NEAR, Y.near, NEAR);
    assert_same_columns(&Y);
    assert_true(shs_dot(COLUMNS, X.far, FAR, Y.far, -FAR) == shs_dot(COLUMNS, X.near, NEAR, Y.near, -NEAR));
    assert_true(shs_nrm2(COLUMNS, X.far, FAR) == shs_nrm2(COLUMNS, X.near, NEAR));
    assert_ok(shs_normalize_columns(ROWS, COLUMNS, A.far, FAR, norms));
    assert_ok(shs_normalize_columns(ROWS, COLUMNS, A.near, NEAR, near_norms));
    assert_same_columns(&A);
    assert_memory_equal(norms, near_norms, COLUMNS * sizeof *norms);
    free(norms);
    free(near_norms);
    wide_free(&A);
    wide_free(&X);
    wide_free(&Y);
}

/* In shs_wide: the views are twice as long. */
static void test_eigenvectors(void **state) {
    view A = new_view((size_t)FAR * COLUMNS * sizeof(shs_wide), PERIOD * sizeof(shs_wide));
    view V = new_view((size_t)FAR * COLUMNS * sizeof(shs_wide), PERIOD * sizeof(shs_wide));
    shs_wide *a = NEW(shs_wide, NEAR * COLUMNS), *v = NEW(shs_wide, NEAR * COLUMNS), *far = NEW(shs_wide, COLUMNS),
             *near = NEW(shs_wide, COLUMNS);
    shs_random r;
    int j, k;
    (void)state;
    shs_random_seed(&r, 9);
    for (j = 0; j < NEAR * COLUMNS; j++) a[j] = shs_random_normal(&r);
    memcpy(A.at, a, NEAR * COLUMNS * sizeof *a);
    for (k = 3; k <= ROWS; k += ROWS - 3) {
        assert_ok(shs_eigh(NULL, ROWS, AS(shs_wide, A), FAR, k, far, AS(shs_wide, V), FAR));
        assert_ok(shs_eigh(NULL, ROWS, a, NEAR, k, near, v, NEAR));
        assert_memory_equal(far, near, (size_t)k * sizeof *far);
        for (j = 0; j < k; j++) assert_memory_equal(AS(shs_wide, V) + (size_t)j * FAR, v + j * NEAR, ROWS * sizeof *v);
    }
    free(a);
    free(v);
    free(far);
    free(near);
    view_free(&A);
    view_free(&V);
}

/* ---- signals: more than 2^31 places for atoms, more than 2^31 values ---------------------------------------------- */

enum { P = 9, N = 12, STRIDE = 9, SIGNALS_PERIOD = 1 << 17 };
#define SIGNALS (((size_t)1 << 28) + 12345)

static shs_codes huge_codes(view of[3]) {
    shs_codes c;
    assert_true(SIGNALS * STRIDE > BEYOND && SIGNALS * P > BEYOND);
    of[0] = new_view(SIGNALS * sizeof(int), SIGNALS_PERIOD * sizeof(int));
    of[1] = new_view(SIGNALS * STRIDE * sizeof(int), SIGNALS_PERIOD * STRIDE * sizeof(int));
    of[2] = new_view(SIGNALS * STRIDE * sizeof(shs_real), SIGNALS_PERIOD * STRIDE * sizeof(shs_real));
    c.m = SIGNALS;
    c.stride = STRIDE;
    c.used = AS(int, of[0]);
    c.atoms = AS(int, of[1]);
    c.coefs = AS(shs_real, of[2]);
    return c;
}

/* The signals of the second half of a period are zero: most of the time is spent on indices. */
static void test_codes(void **state) {
    enum { SOME = 1 << 10 };
    shs_real *D = new_normal(P * N, 10), *Z = NEW(shs_real, P * SOME), *y = NEW(shs_real, P * SIGNALS_PERIOD);
    shs_codes few = SHS_ZERO, codes;
    shs_omp_options o = SHS_ZERO;
    shs_omp_report report, of_few;
    shs_wide sum2, sum2_few;
    view Y = new_view(SIGNALS * P * sizeof(shs_real), SIGNALS_PERIOD * P * sizeof(shs_real)), of[3];
    size_t rest = SIGNALS % SIGNALS_PERIOD, periods = SIGNALS / SIGNALS_PERIOD, first = SIGNALS - SOME, i;
    (void)state;
    assert_ok(shs_normalize_columns(P, N, D, P, NULL));
    fill_normal(P * SOME, AS(shs_real, Y), 11); /* the others are zero */
    memcpy(y, Y.at, P * SIGNALS_PERIOD * sizeof *y);
    assert_ok(shs_codes_create(NULL, SIGNALS_PERIOD, STRIDE, &few));
    codes = huge_codes(of);
    o.sparsity = 2;
    assert_ok(shs_omp_ex(NULL, P, N, D, P, SIGNALS_PERIOD, y, P, &o, &few, NULL, &of_few));
    assert_ok(shs_omp_ex(NULL, P, N, D, P, SIGNALS, AS(shs_real, Y), P, &o, &codes, NULL, &report));
    assert_memory_equal(codes.used, few.used, SIGNALS_PERIOD * sizeof(int));
    for (i = 0; i < SIGNALS_PERIOD; i++) {
        assert_memory_equal(codes.atoms + i * STRIDE, few.atoms + i * STRIDE, (size_t)few.used[i] * sizeof(int));
        assert_memory_equal(codes.coefs + i * STRIDE, few.coefs + i * STRIDE, (size_t)few.used[i] * sizeof(shs_real));
    }
    assert_true(rest > SOME); /* one more period than whole ones has all atoms */
    assert_true(report.nonzeros == of_few.nonzeros * (periods + 1) && shs_codes_nonzeros(&codes) == report.nonzeros);
    assert_close(report.sum2, of_few.sum2 * (shs_wide)(periods + 1), 1e-4 * (double)report.sum2);

    /* From the last signals, which are the first of a period after `rest` of it. */
    assert_ok(shs_codes_synthesize(NULL, P, N, D, P, &codes, first, SOME, Z, P));
    for (i = 0; i < SOME; i++) {
        shs_real *z = NEW(shs_real, P);
        assert_ok(shs_codes_synthesize(NULL, P, N, D, P, &few, (first + i) % SIGNALS_PERIOD, 1, z, P));
        assert_memory_equal(Z + i * P, z, P * sizeof *z);
        free(z);
    }
    assert_ok(shs_codes_residual(NULL, P, N, D, P, SIGNALS_PERIOD, y, P, &few, NULL, P, &sum2_few));
    assert_ok(shs_codes_residual(NULL, P, N, D, P, SIGNALS, AS(shs_real, Y), P, &codes, NULL, P, &sum2));
    assert_close(sum2, sum2_few * (shs_wide)(periods + 1), 1e-4 * (double)sum2);
    shs_codes_free(NULL, &few);
    for (i = 0; i < 3; i++) view_free(of + i);
    view_free(&Y);
    free(D);
    free(Z);
    free(y);
}

/* ---- cubes ------------------------------------------------------------------------------------------------------- */

/* Lines repeat after LINES_PERIOD. Band by band the planes begin at another line of the period, so that no two are alike. */
enum { SAMPLES = 1 << 14, LINES = 21851, BANDS = 6, LINES_PERIOD = 64 };

/* The lines that make up the cube, as a small one; it is repeated `whole` times, and `rest` more lines. */
static shs_cube small_cube(const shs_cube *huge, void **values) {
    size_t line = (size_t)SAMPLES * BANDS;
    uint16_t *to = NEW(uint16_t, line * LINES_PERIOD);
    const uint16_t *from = (const uint16_t *)huge->pixels;
    shs_cube cube = SHS_ZERO;
    size_t l, s, b;
    for (l = 0; l < LINES_PERIOD; l++)
        for (s = 0; s < SAMPLES; s++)
            for (b = 0; b < BANDS; b++) {
                size_t at = (l * SAMPLES + s) * BANDS + b;
                if (huge->interleave == SHS_INTERLEAVE_BSQ) at = (b * LINES + l) * SAMPLES + s;
                if (huge->interleave == SHS_INTERLEAVE_BIL) at = (l * BANDS + b) * SAMPLES + s;
                to[(l * SAMPLES + s) * BANDS + b] = from[at];
            }
    *values = to;
    cube.pixels = to;
    cube.type = SHS_TYPE_U16;
    cube.samples = SAMPLES;
    cube.lines = LINES_PERIOD;
    cube.bands = BANDS;
    cube.interleave = SHS_INTERLEAVE_BIP;
    return cube;
}

static void test_cubes(void **state) {
    static const shs_wide matrix[2 * BANDS] = {1, 0, 0, 1, 0, -1}; /* the first band; the second less the third */
    int interleave;
    (void)state;
    for (interleave = SHS_INTERLEAVE_BSQ; interleave < SHS_INTERLEAVE_COUNT; interleave++) {
        size_t line = (size_t)SAMPLES * (interleave == SHS_INTERLEAVE_BSQ ? 1 : BANDS),
               values = (size_t)SAMPLES * LINES * BANDS, i;
        view pixels = new_view(values * 2, line * 2 * LINES_PERIOD);
        view outputs =
            new_view((size_t)SAMPLES * LINES * 2 * sizeof(float), (size_t)SAMPLES * 2 * sizeof(float) * LINES_PERIOD);
        shs_cube cube = SHS_ZERO, few, last;
        shs_moments sums = SHS_ZERO, of_few = SHS_ZERO, of_last = SHS_ZERO;
        shs_pixel_map map = SHS_ZERO;
        shs_sink sink = SHS_ZERO, few_sink;
        shs_random r;
        void *small;
        int whole = LINES / LINES_PERIOD, rest = LINES % LINES_PERIOD, k;
        assert_true(values > BEYOND && values * 2 > (size_t)1 << 32);
        shs_random_seed(&r, (uint64_t)interleave);
        for (i = 0; i < line * LINES_PERIOD; i++) AS(uint16_t, pixels)[i] = (uint16_t)(shs_random_bits(&r) >> 54);
        cube.pixels = pixels.at;
        cube.type = SHS_TYPE_U16;
        cube.samples = SAMPLES;
        cube.lines = LINES;
        cube.bands = BANDS;
        cube.interleave = (shs_interleave)interleave;
        few = small_cube(&cube, &small);
        last = few;
        last.lines = rest;

        /* Sums of whole numbers. */
        assert_ok(shs_moments_create(NULL, BANDS, &sums));
        assert_ok(shs_moments_create(NULL, BANDS, &of_few));
        assert_ok(shs_moments_create(NULL, BANDS, &of_last));
        assert_ok(shs_moments_update(NULL, &cube, 0, &sums));
        assert_ok(shs_moments_update(NULL, &few, 0, &of_few));
        assert_ok(shs_moments_update(NULL, &last, 0, &of_last));
        of_few.count *= whole;
        for (k = 0; k < BANDS; k++) of_few.sum[k] *= whole;
        for (k = 0; k < BANDS * BANDS; k++) of_few.products[k] *= whole;
        assert_ok(shs_moments_merge(&of_few, &of_last));
        {
            shs_wide mean[BANDS], covariance[BANDS * BANDS], mean2[BANDS], covariance2[BANDS * BANDS];
            assert_true(sums.count == (shs_wide)SAMPLES * LINES && of_few.count == sums.count);
            assert_ok(shs_moments_finish(&sums, SHS_DIVISOR_N, mean, covariance, BANDS));
            assert_ok(shs_moments_finish(&of_few, SHS_DIVISOR_N, mean2, covariance2, BANDS));
            check_near("mean", BANDS, mean, mean2, 1e-9 * 1024);
            check_near("covariance", BANDS * BANDS, covariance, covariance2, 1e-8 * 1024 * 1024);
        }
        shs_moments_free(NULL, &sums), shs_moments_free(NULL, &of_few), shs_moments_free(NULL, &of_last);

        map.bands = BANDS;
        map.outputs = 2;
        map.matrix = matrix;
        sink.pixels = outputs.at;
        sink.type = SHS_TYPE_F32;
        sink.interleave = SHS_INTERLEAVE_BIP;
        assert_ok(shs_cube_map(NULL, &cube, &map, 0, &sink));
        few_sink = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BIP, LINES_PERIOD, SAMPLES, 2);
        assert_ok(shs_cube_map(NULL, &few, &map, 0, &few_sink));
        assert_memory_equal(outputs.at, few_sink.pixels, (size_t)LINES_PERIOD * SAMPLES * 2 * sizeof(float));
        sink_free(&few_sink);
        free(small);
        view_free(&pixels);
        view_free(&outputs);
    }
}

/* ---- images ------------------------------------------------------------------------------------------------------- */

enum { WIDTH = 1 << 16, HEIGHT = (1 << 15) + 77, ROWS_PERIOD = 64, SIDE = 4 };

static void test_patches(void **state) {
    enum { SOME = 100 };
    size_t pixels = (size_t)WIDTH * HEIGHT, count, first, i;
    view bytes = new_view(pixels, (size_t)WIDTH * ROWS_PERIOD);
    view sum = new_view(pixels * sizeof(shs_real), WIDTH * ROWS_PERIOD * sizeof(shs_real));
    view weight = new_view(pixels * sizeof(shs_real), WIDTH * ROWS_PERIOD * sizeof(shs_real));
    view out = new_view(pixels * sizeof(shs_real), WIDTH * ROWS_PERIOD * sizeof(shs_real));
    shs_image image = SHS_ZERO;
    shs_patches set = SHS_ZERO;
    shs_real *Y = NEW(shs_real, SIDE * SIDE * SOME);
    int p = 0, x, y, k;
    (void)state;
    assert_true(pixels > BEYOND);
    for (i = 0; i < (size_t)WIDTH * ROWS_PERIOD; i++) bytes.at[i] = (unsigned char)(i * i / 7);
    image.pixels = bytes.at;
    image.type = SHS_TYPE_U8;
    image.width = WIDTH;
    image.height = HEIGHT;
    set.width = set.height = SIDE;
    set.keep_mean = 1;
    count = shs_patches_count(&image, &set, &p);
    assert_true(count == (size_t)(WIDTH - SIDE + 1) * (HEIGHT - SIDE + 1) && count > BEYOND && p == SIDE * SIDE);
    first = count - SOME;
    assert_ok(shs_patches_get(NULL, &image, &set, first, SOME, Y, p, NULL, NULL));
    for (i = 0; i < SOME; i++) {
        assert_ok(shs_patches_position(&image, &set, first + i, &x, &y));
        assert_true(x == WIDTH - SIDE - SOME + 1 + (int)i && y == HEIGHT - SIDE);
        for (k = 0; k < p; k++)
            assert_true(
                Y[i * (size_t)p + (size_t)k] ==
                (shs_real)bytes.at[((size_t)y + (size_t)k / SIDE) % ROWS_PERIOD * WIDTH + (size_t)x + (size_t)k % SIDE]);
    }

    /* They are put where they came from; rows of the far end of the image fall on rows of the period. */
    assert_ok(shs_patches_put(NULL, &image, &set, first, SOME, Y, p, NULL, NULL, AS(shs_real, sum), AS(shs_real, weight)));
    for (y = HEIGHT - SIDE; y < HEIGHT; y++)
        for (x = 0; x < WIDTH; x++) {
            size_t at = (size_t)y * WIDTH + (size_t)x;
            int left = WIDTH - SIDE - SOME + 1, covered = x < left ? 0 : least_of(least_of(x - left + 1, WIDTH - x), SIDE);
            assert_true(AS(shs_real, weight)[at] == (shs_real)covered);
            assert_true(AS(shs_real, sum)[at] == (shs_real)(covered * bytes.at[at]));
        }
    assert_ok(shs_patches_average(NULL, &image, 1, AS(shs_real, sum), AS(shs_real, weight), AS(shs_real, out)));
    for (i = 0; i < (size_t)WIDTH * ROWS_PERIOD; i++) assert_close(AS(shs_real, out)[i], bytes.at[i], 1e-4);

    /* Any of the places, none twice. */
    set.mode = SHS_PATCH_MODE_RANDOM;
    set.count = count - 1;
    set.seed = 3;
    assert_true(shs_patches_count(&image, &set, NULL) == count - 1);
    k = 0;
    for (i = 0; i < SOME; i++) {
        assert_ok(shs_patches_position(&image, &set, count - 2 - i, &x, &y));
        assert_true(x >= 0 && x <= WIDTH - SIDE && y >= 0 && y <= HEIGHT - SIDE);
        k += y > HEIGHT / 2;
    }
    assert_true(k > SOME / 4 && k < SOME * 3 / 4);
    view_free(&bytes);
    view_free(&sum);
    view_free(&weight);
    view_free(&out);
    free(Y);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),     cmocka_unit_test(test_systems), cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_eigenvectors), cmocka_unit_test(test_codes),   cmocka_unit_test(test_cubes),
        cmocka_unit_test(test_patches),
    };
    return cmocka_run_group_tests_name("large", tests, NULL, NULL);
}
