/* test_compact.c - codes in few bytes: rounded coefficients are the nearest of their type or better, what is saved comes back
   with every bit, from the same bytes on every machine, and no damaged byte goes unseen. */
#include "test_signals.h"
#include "test_codes.h"
#include "memory_file.h"

static void reset(memory_file *f) { f->size = 0, rewind_file(f, 0); }

static memory_file *new_file(void) {
    memory_file *f = (memory_file *)calloc(1, sizeof *f);
    assert_non_null(f);
    return f;
}

/* The CRC-32 of zip, a bit at a time. */
static void seal(unsigned char *from, size_t count, unsigned char *to) {
    uint32_t crc = 0xffffffff;
    size_t i;
    int b;
    for (i = 0; i < count; i++) {
        crc ^= from[i];
        for (b = 0; b < 8; b++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    for (b = 0; b < 4; b++) to[b] = (unsigned char)(~crc >> 8 * b & 255);
}

static void seal_file(memory_file *f) {
    seal(f->bytes, 60, f->bytes + 60);
    if (f->size > 68) seal(f->bytes + 64, f->size - 68, f->bytes + f->size - 4);
}

static void assert_same_signal(const shs_codes *a, size_t i, const shs_codes *b, size_t j) {
    size_t u = (size_t)a->used[i];
    assert_int_equal(a->used[i], b->used[j]);
    assert_memory_equal(a->atoms + i * (size_t)a->stride, b->atoms + j * (size_t)b->stride, u * sizeof(int));
    assert_memory_equal(a->coefs + i * (size_t)a->stride, b->coefs + j * (size_t)b->stride, u * sizeof(shs_real));
}

/* ---- rounding ---------------------------------------------------------------------------------------------------- */

static double half_value(int bits) {
    int exponent = bits >> 10, fraction = bits & 1023;
    return exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
}

/* Every number of half precision stays; between two of them the nearest is taken, and in the middle the even one. */
static void test_half_precision(void **state) {
    enum { LAST = 0x7bff };
    shs_codes codes = SHS_ZERO;
    int bits, way;
    (void)state;
    assert_ok(shs_codes_create(NULL, LAST + 1, 8, &codes));
    for (bits = 0; bits <= LAST; bits++) {
        double below = half_value(bits), above = bits < LAST ? half_value(bits + 1) : 65536, middle = (below + above) / 2;
        shs_real *x = codes.coefs + bits * 8;
        codes.used[bits] = 8;
        x[0] = (shs_real)below;
        x[1] = (shs_real)middle;
        x[2] = (shs_real)(middle * (1 - 4 * (double)REAL_EPS));
        x[3] = (shs_real)(middle * (1 + 4 * (double)REAL_EPS));
        if (bits == LAST) x[1] = x[3] = x[2]; /* the middle is infinity's */
        for (way = 0; way < 4; way++) x[4 + way] = -x[way];
    }
    assert_ok(shs_codes_round(NULL, 0, 1, NULL, 0, SHS_COEF_F16, &codes));
    for (bits = 0; bits <= LAST; bits++) {
        double below = half_value(bits), above = bits < LAST ? half_value(bits + 1) : below;
        const shs_real *x = codes.coefs + bits * 8;
        double expected[4];
        expected[0] = expected[2] = below;
        expected[1] = bits & 1 ? above : below;
        expected[3] = above;
        for (way = 0; way < 8; way++)
            if ((double)x[way] != (way < 4 ? 1 : -1) * expected[way % 4])
                fail_msg("%#x, %d: %.17g, not %.17g", (unsigned)bits, way, (double)x[way], expected[way % 4]);
    }
    shs_codes_free(NULL, &codes);
}

/* Without a dictionary each coefficient is at most half a unit away from where it was, and the unit is small. */
static void test_nearest(void **state) {
    static const double units[] = {1, 1e-3, 3e4, 1e-30, 1e30, 1e-37};
    size_t t, u, i;
    int k;
    (void)state;
    for (t = 0; t < 2; t++)
        for (u = 0; u < sizeof units / sizeof *units; u++) {
            shs_codes x = some_codes(200, 6, 40, -1, units[u], 1 + u), z = copy_of(&x);
            double largest = t == 0 ? 127 : 32767;
            assert_ok(shs_codes_round(NULL, 0, 40, NULL, 0, coef_types[t], &z));
            for (i = 0; i < x.m; i++) {
                double most = 0;
                for (k = 0; k < x.used[i]; k++) most = fmax(most, fabs((double)x.coefs[i * 6 + (size_t)k]));
                for (k = 0; k < x.used[i]; k++) {
                    double unit = fmax(most / largest * (1 + 1.0 / 128), ldexp(1, -126));
                    double a = (double)x.coefs[i * 6 + (size_t)k], b = (double)z.coefs[i * 6 + (size_t)k];
                    assert_close(b, a, unit / 2 * (1 + 1e-6));
                    assert_true(a * b >= 0);
                }
            }
            shs_codes_free(NULL, &x), shs_codes_free(NULL, &z);
        }
}

/* As the naive twin, over odd sizes and atoms that are alike; never worse than the nearest of each; again, nothing changes. */
static void test_against_the_twin(void **state) {
    static const int shapes[][3] = {{1, 1, 1}, {2, 5, 2}, {7, 9, 3}, {16, 40, 5}, {33, 20, 12}, {64, 100, 9}};
    const double wide = sizeof(shs_wide) > 4 ? 1e-4 : 0.02; /* a float knows little more than what 16 bits leave */
    size_t s, t, i, differ = 0, all = 0;
    int k;
    (void)state;
    for (s = 0; s < sizeof shapes / sizeof *shapes; s += (size_t)every_on_device(2))
        for (t = 0; t < 3; t++) {
            int p = shapes[s][0], n = shapes[s][1], stride = shapes[s][2];
            shs_real *D = new_normal((size_t)(p * n), 3 + s);
            shs_codes x = some_codes(60, stride, n, -1, 3, 10 * s + t), z, nearest, twin, again;
            shs_wide *work = (shs_wide *)malloc((size_t)(p + 3 * stride) * sizeof *work);
            for (k = 0; k < p * n; k++) D[k] += (shs_real)((k / p % 3) * (k % p == 0 ? 2 : 0)); /* alike */
            normalise(p, n, D);
            z = copy_of(&x);
            nearest = copy_of(&x);
            twin = copy_of(&x);
            assert_ok(shs_codes_round(NULL, p, n, D, p, coef_types[t], &z));
            assert_ok(shs_codes_round(NULL, 0, n, NULL, 0, coef_types[t], &nearest));
            again = copy_of(&z);
            assert_ok(shs_codes_round(NULL, p, n, D, p, coef_types[t], &again));
            for (i = 0; i < x.m; i++) {
                double size = 0, mine = error_of(p, D, &x, &z, i), plain = error_of(p, D, &x, &nearest, i), theirs;
                size_t at = i * (size_t)stride;
                theirs = (double)shs_codes_round_naive(p, D, coef_types[t], x.used[i], x.atoms + at, twin.coefs + at, work);
                for (k = 0; k < x.used[i]; k++) size = fmax(size, fabs((double)x.coefs[at + (size_t)k]));
                assert_close(theirs, error_of(p, D, &x, &twin, i), wide * theirs + 1e-12 * size * size);
                assert_true(mine <= plain * (1 + 1e-4) + 1e-12 * size * size);
                assert_same_signal(&z, i, &again, i);
                /* but for what lies in the middle, to rounding */
                differ += fabs(mine - theirs) > 1e-3 * theirs + 1e-11 * size * size;
                all++;
            }
            shs_codes_free(NULL, &x), shs_codes_free(NULL, &z), shs_codes_free(NULL, &nearest);
            shs_codes_free(NULL, &twin), shs_codes_free(NULL, &again), free(D), free(work);
        }
    if (differ * 200 > all) fail_msg("%zu of %zu signals are not as the twin has them", differ, all);
}

/* Refitting reduces the error added by rounding, on natural patches over 256 learnt atoms. */
static void test_refit_on_natural_patches(void **state) {
    enum { P = 64, N = 256, M = 4096, S = 6 };
    shs_real *Y = read_golden_reals("ksvd_signals_64x4096.f32", P * M), *D = new_normal(P * N, 1);
    double refit[3] = {0}, plain[3] = {0}, residual = 0;
    shs_codes x = SHS_ZERO;
    shs_ksvd_options o = SHS_ZERO;
    size_t i, t;
    (void)state;
    o.iterations = 2;
    o.coding.sparsity = S;
    o.parallel_atoms = 32;
    assert_ok(shs_ksvd_ex(NULL, P, N, M, Y, P, &o, D, P, NULL, NULL));
    assert_ok(shs_codes_create(NULL, M, S, &x));
    assert_ok(shs_omp(NULL, P, N, D, M, Y, S, &x));
    for (t = 0; t < 3; t++) {
        shs_codes z = copy_of(&x), nearest = copy_of(&x);
        shs_wide sum2, fitted2;
        assert_ok(shs_codes_round(NULL, P, N, D, P, coef_types[t], &z));
        assert_ok(shs_codes_round(NULL, P, N, NULL, P, coef_types[t], &nearest));
        for (i = 0; i < M; i++) {
            double a = error_of(P, D, &x, &z, i), b = error_of(P, D, &x, &nearest, i);
            double size = inner(P, Y + i * P, Y + i * P);
            assert_true(a <= b * (1 + 1e-4) + 1e-12 * size);
            refit[t] += a;
            plain[t] += b;
        }
        /* the error of the signals grows by the rounding error only */
        assert_ok(shs_codes_residual(NULL, P, N, D, P, M, Y, P, &x, NULL, P, &fitted2));
        assert_ok(shs_codes_residual(NULL, P, N, D, P, M, Y, P, &z, NULL, P, &sum2));
        residual = (double)fitted2;
        assert_close(sum2, residual + refit[t], BY_TYPE(1e-5, 1e-9) * residual);
        shs_codes_free(NULL, &z), shs_codes_free(NULL, &nearest);
    }
    print_message("refitting leaves %.3f (i8), %.3f (i16), %.3f (f16) of the error of rounding; i8 adds %.2g of the residual\n",
                  refit[0] / plain[0], refit[1] / plain[1], refit[2] / plain[2], refit[0] / residual);
    assert_true(refit[0] < 0.65 * plain[0] && refit[1] < 0.65 * plain[1] && refit[2] < 0.95 * plain[2]);
    shs_codes_free(NULL, &x);
    free(D);
    free(Y);
}

/* Dependent atoms, no atoms, zeros, and a dictionary with squares out of range: each coefficient is rounded by itself. */
static void test_odd_supports(void **state) {
    const int p = 4, n = 6;
    shs_real D[24];
    shs_codes x = some_codes(40, 6, n, -1, 1, 3), z, nearest;
    size_t t;
    int k;
    (void)state;
    for (k = 0; k < 24; k++) D[k] = (shs_real)((k / 4 % 3 == k % 4) + (k / 4 == 5));
    for (k = 0; k < 6; k++) x.coefs[k] = 0;
    for (t = 0; t < 3; t++) {
        z = copy_of(&x);
        nearest = copy_of(&x);
        assert_ok(shs_codes_round(NULL, p, n, D, p, coef_types[t], &z));
        assert_ok(shs_codes_round(NULL, 0, n, NULL, 0, coef_types[t], &nearest));
        for (k = 0; k < 40; k++)
            assert_true(error_of(p, D, &x, &z, (size_t)k) <= error_of(p, D, &x, &nearest, (size_t)k) * (1 + 1e-6));
        shs_codes_free(NULL, &z), shs_codes_free(NULL, &nearest);
    }
    for (k = 0; k < 24; k++) D[k] = REAL_MAX / 4 * (shs_real)(k % 5);
    z = copy_of(&x);
    nearest = copy_of(&x);
    assert_ok(shs_codes_round(NULL, p, n, D, p, SHS_COEF_I8, &z));
    assert_ok(shs_codes_round(NULL, 0, n, NULL, 0, SHS_COEF_I8, &nearest));
    for (t = 0; t < x.m; t++) assert_same_signal(&z, t, &nearest, t);
    shs_codes_free(NULL, &x), shs_codes_free(NULL, &z), shs_codes_free(NULL, &nearest);
}

/* The largest coefficient of each type is accepted. A larger one is refused and changes nothing. */
static void test_limits(void **state) {
    static const double good[] = {1.7e38, 1.7e38, 65519.9}, bad[] = {1.7014118346046923e38, 1.7014118346046923e38, 65520};
    shs_codes x = some_codes(3, 2, 5, 2, 1, 1), z;
    size_t t;
    int k;
    (void)state;
    for (t = 0; t < 3; t++)
        for (k = 0; k < 6; k++) {
            static const double others[] = {0, 0, 0, (double)NAN, (double)INFINITY, -(double)INFINITY};
            z = copy_of(&x);
            if (k < 2) z.coefs[5] = (shs_real)((1 - 2 * k) * good[t]);
            else if (k == 2) z.coefs[5] = (shs_real)-bad[t];
            else z.coefs[5] = (shs_real)others[k];
            if (k < 2) {
                assert_ok(shs_codes_round(NULL, 0, 5, NULL, 0, coef_types[t], &z));
                assert_close(z.coefs[5], (1 - 2 * k) * good[t], 0.005 * good[t]);
                assert_true(is_finite((double)z.coefs[5]));
            } else {
                assert_status(shs_codes_round(NULL, 0, 5, NULL, 0, coef_types[t], &z), SHS_BAD_COEFS);
                assert_memory_equal(z.coefs, x.coefs, 5 * sizeof(shs_real));
            }
            shs_codes_free(NULL, &z);
        }
    shs_codes_free(NULL, &x);
}

/* A coefficient just below the limit is not rounded up to it: what is rounded can be rounded and saved again. */
static void test_below_the_limit(void **state) {
    static const double near[] = {1.70141e38, 1.701395e38, 1.6999e38};
    int k, t;
    (void)state;
    for (t = 0; t < 3; t++)
        for (k = 0; k < 6; k++) {
            shs_codes x = some_codes(3, 2, 5, 2, 1, 1), z;
            double top = coef_types[t] == SHS_COEF_F16 ? 65519.9 : near[k / 2];
            memory_file *f = new_file();
            x.coefs[x.stride] = (shs_real)(k % 2 ? -top : top);
            assert_ok(shs_codes_round(NULL, 0, 5, NULL, 0, coef_types[t], &x));
            z = copy_of(&x);
            assert_ok(shs_codes_round(NULL, 0, 5, NULL, 0, coef_types[t], &z));
            assert_same_signal(&x, 1, &z, 1);
            assert_ok(shs_compact_save(&z, 5, coef_types[t], write_bytes, f));
            shs_codes_free(NULL, &x), shs_codes_free(NULL, &z), free(f);
        }
}

/* What was rounded just below the limit with any of the scales that are tried is saved, and read again. */
static void test_large_ones_come_back(void **state) {
    enum { P = 3, N = 3, TRIALS = 500 };
    const shs_real most = (shs_real)1.7e38f;
    memory_file *f = new_file();
    uint64_t trial;
    int t, k;
    (void)state;
    for (trial = 0; trial < TRIALS; trial++)
        for (t = 0; t < 2; t++) {
            shs_codes x = some_codes(1, N, N, N, 1, trial + 1), got;
            shs_real *D = new_uniform(P * N, trial), *parts = new_uniform(N, trial + TRIALS);
            for (k = 0; k < N; k++) x.coefs[k] = most * parts[k];
            x.coefs[0] = most;
            assert_ok(shs_codes_round(NULL, P, N, D, P, coef_types[t], &x));
            reset(f);
            assert_ok(shs_compact_save(&x, N, coef_types[t], write_bytes, f));
            rewind_file(f, 0);
            assert_ok(shs_compact_load(NULL, N, read_bytes, f, &got));
            assert_same_signal(&x, 0, &got, 0);
            shs_codes_free(NULL, &x), shs_codes_free(NULL, &got);
            free(D), free(parts);
        }
    free(f);
}

/* A coefficient of 0 stays, and so turned atoms give turned coefficients. */
static void test_zeros_stay(void **state) {
    enum { P1 = 6, N1 = 3, M1 = 40 };
    shs_real D[P1 * N1], turned[P1 * N1];
    shs_codes x = some_codes(M1, 3, N1, 3, 1, 7), z, y;
    size_t i;
    int t, k;
    (void)state;
    for (k = 0; k < P1 * N1; k++) D[k] = (shs_real)cos(1 + 3 * k * k);
    for (k = 0; k < P1 * N1; k++) turned[k] = k < P1 ? -D[k] : D[k];
    for (i = 0; i < M1; i++)
        for (k = 0; k < x.used[i]; k++)
            if ((i + (size_t)k) % 3 == 0) x.coefs[i * 3 + (size_t)k] = 0;
    for (t = 0; t < 3; t++) {
        z = copy_of(&x);
        y = copy_of(&x);
        for (i = 0; i < M1 * 3; i++)
            if (y.atoms[i] == 0) y.coefs[i] = -y.coefs[i];
        assert_ok(shs_codes_round(NULL, P1, N1, D, P1, coef_types[t], &z));
        assert_ok(shs_codes_round(NULL, P1, N1, turned, P1, coef_types[t], &y));
        for (i = 0; i < M1; i++)
            for (k = 0; k < x.used[i]; k++) {
                const size_t at = i * 3 + (size_t)k;
                const shs_real sign = x.atoms[at] == 0 ? -1 : 1, is = z.coefs[at] - sign * y.coefs[at];
                assert_false(is < 0 || is > 0);
                if (!(x.coefs[at] < 0 || x.coefs[at] > 0)) assert_false(z.coefs[at] < 0 || z.coefs[at] > 0);
            }
        shs_codes_free(NULL, &z), shs_codes_free(NULL, &y);
    }
    shs_codes_free(NULL, &x);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* The saved bytes on every machine, written by hand: three signals of 2, 0 and 1 atoms out of 300. */
static void test_the_bytes(void **state) {
    static const unsigned char expected[] = {
        'S', 'H', 'S', 'c', 'o', 'd', 'e', 's', 1, 0, 0, 0, 0, 0, 0, 0, 44, 1, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0,
        3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        2, 0, 1,                /* counts */
        43, 1, 7, 0, 0, 1,      /* atoms 299, 7, 256 */
        0x81, 2, 127,           /* -127, 2, 127 */
        0x80, 0x3f, 0, 0, 0x40, 0x40, /* scales 1, 0, 3 */
        0, 0, 0, 0};
    int used[] = {2, 0, 1}, atoms[] = {299, 7, 0, 0, 256, 0};
    shs_real coefs[] = {-127, 2, 5, 5, 381, 0}; /* what is behind a signal's own is not looked at */
    shs_codes codes = SHS_ZERO;
    memory_file *f = new_file();
    (void)state;
    codes.m = 3;
    codes.stride = 2;
    codes.used = used;
    codes.atoms = atoms;
    codes.coefs = coefs;
    memcpy(f->bytes, expected, sizeof expected);
    f->size = sizeof expected;
    seal_file(f);
    assert_int_equal(shs_compact_size(300, SHS_COEF_I8, 3, 2, 3), sizeof expected);
    {
        memory_file *mine = new_file();
        assert_ok(shs_compact_save(&codes, 300, SHS_COEF_I8, write_bytes, mine));
        assert_int_equal(mine->size, sizeof expected);
        assert_memory_equal(mine->bytes, f->bytes, sizeof expected);
        free(mine);
    }
    free(f);
}

/* All forms: atoms and counts of one byte and two, counts that are there or not, every type; nothing is lost. */
static void test_all_comes_back(void **state) {
    static const struct {
        size_t m;
        int stride, n, used, most;
    } cases[] = {{1, 1, 1, 1, 1},       {37, 3, 50, -1, 3},   {37, 3, 256, 3, 3},   {300, 6, 257, 6, 6}, {1, 4, 9, 0, 0},
                 {65, 4, 65536, -1, 4}, {9, 300, 400, -1, 0}, {5, 300, 20, 256, 256}, {1100, 5, 70, 4, 4}};
    memory_file *f = new_file(), *twice = new_file();
    size_t c, t, i;
    (void)state;
    for (c = 0; c < sizeof cases / sizeof *cases; c++)
        for (t = 0; t < 3; t++) {
            shs_codes x = some_codes(cases[c].m, cases[c].stride, cases[c].n, cases[c].used, 2, c), got = SHS_ZERO;
            size_t m = cases[c].m, nonzeros, first = m / 3, count = m / 2;
            shs_compact compact = SHS_ZERO;
            int most = 0, p = 5;
            shs_real *D = new_normal((size_t)(p * cases[c].n), 2), *Z = new_normal(5 * m, 3), *W = new_normal(5 * m, 4);
            assert_ok(shs_codes_round(NULL, p, cases[c].n, D, p, coef_types[t], &x));
            nonzeros = 0;
            for (i = 0; i < m; i++) {
                most = x.used[i] > most ? x.used[i] : most;
                nonzeros += (size_t)x.used[i];
            }
            reset(f);
            reset(twice);
            assert_ok(shs_compact_save(&x, cases[c].n, coef_types[t], write_bytes, f));
            assert_int_equal(f->size, shs_compact_size(cases[c].n, coef_types[t], m, most, nonzeros));
            assert_ok(shs_compact_load(NULL, cases[c].n, read_bytes, f, &got));
            assert_true(f->at == f->size && got.m == m && got.stride == (most ? most : 1));
            for (i = 0; i < m; i++) assert_same_signal(&got, i, &x, i);
            assert_ok(shs_compact_save(&got, cases[c].n, coef_types[t], write_bytes, twice));
            assert_int_equal(twice->size, f->size);
            assert_memory_equal(twice->bytes, f->bytes, f->size);
            shs_codes_free(NULL, &got);

            assert_ok(shs_compact_open(f->bytes, f->size, &compact));
            assert_true(compact.n == cases[c].n && compact.s == most && compact.m == m && compact.nonzeros == nonzeros);
            assert_true(compact.type == coef_types[t]);
            got = some_codes(m, cases[c].stride, 3, cases[c].stride, 1, 1); /* which is overwritten */
            assert_ok(shs_compact_unpack(&compact, first, count, &got));
            for (i = 0; i < count; i++) {
                int k;
                assert_same_signal(&got, i, &x, first + i);
                for (k = got.used[i]; k < got.stride; k++)
                    assert_true(got.atoms[i * (size_t)got.stride + (size_t)k] == 0 &&
                                fpclassify(got.coefs[i * (size_t)got.stride + (size_t)k]) == FP_ZERO);
            }
            assert_ok(shs_compact_synthesize(NULL, p, cases[c].n, D, p, &compact, first, count, Z, p));
            assert_ok(shs_codes_synthesize(NULL, p, cases[c].n, D, p, &x, first, count, W, p));
            assert_memory_equal(Z, W, 5 * count * sizeof *Z);
            shs_codes_free(NULL, &got), shs_codes_free(NULL, &x);
            free(D);
            free(Z);
            free(W);
        }
    free(f);
    free(twice);
}

/* Damage: any changed byte, any missing byte, and impossible numbers with right check sums. */
static void test_damage(void **state) {
    static const struct {
        size_t at;
        unsigned char value;
        shs_status status;
    } cases[] = {{0, 's', SHS_FOREIGN_COMPACT}, {8, 2, SHS_NEWER_COMPACT},     {8, 0, SHS_DAMAGED_COMPACT},
                 {12, 3, SHS_DAMAGED_COMPACT},  {16, 0, SHS_DAMAGED_COMPACT},  {18, 2, SHS_DAMAGED_COMPACT},
                 {20, 0, SHS_DAMAGED_COMPACT},  {20, 4, SHS_DAMAGED_COMPACT},  {22, 1, SHS_DAMAGED_COMPACT},
                 {24, 0, SHS_DAMAGED_COMPACT},  {32, 99, SHS_DAMAGED_COMPACT}, {40, 1, SHS_DAMAGED_COMPACT},
                 {59, 1, SHS_DAMAGED_COMPACT},  {64, 4, SHS_DAMAGED_COMPACT},  {65, 9, SHS_DAMAGED_COMPACT}};
    int used[] = {3, 1, 2}, atoms[] = {9, 1, 2, 3, 0, 0, 4, 5, 0}, k;
    shs_real coefs[] = {1, 2, 3, 4, 0, 0, 5, 6, 0};
    shs_codes codes = SHS_ZERO, got;
    shs_compact compact, untouched;
    memory_file *f = new_file(), *whole = new_file();
    size_t i, t, size, numbers = 64 + 3;
    (void)state;
    codes.m = 3;
    codes.stride = 3;
    codes.used = used;
    codes.atoms = atoms;
    codes.coefs = coefs;
    memset(&compact, 0x5a, sizeof compact);
    memcpy(&untouched, &compact, sizeof compact);
    memset(&got, 0x5a, sizeof got);
#define REFUSES(answer)                                                                                                        \
    (assert_status(shs_compact_open(f->bytes, f->size, &compact), answer), rewind_file(f, 0),                                 \
     assert_status(shs_compact_load(NULL, 10, read_bytes, f, &got), answer))
    for (t = 0; t < 3; t++) {
        reset(whole);
        assert_ok(shs_codes_round(NULL, 0, 10, NULL, 0, coef_types[t], &codes));
        assert_ok(shs_compact_save(&codes, 10, coef_types[t], write_bytes, whole));
        size = whole->size;
        for (i = 0; i < size; i++)
            for (k = 0; k < 8; k++) {
                shs_status status;
                *f = *whole;
                f->bytes[i] = (unsigned char)(f->bytes[i] ^ 1 << k);
                status = shs_compact_open(f->bytes, f->size, &compact);
                if (i < 8) assert_status(status, SHS_FOREIGN_COMPACT);
                else if (i < 12 && (i > 8 || k > 0)) assert_status(status, SHS_NEWER_COMPACT);
                else assert_status(status, SHS_DAMAGED_COMPACT);
                rewind_file(f, 0);
                assert_true(shs_compact_load(NULL, 10, read_bytes, f, &got) != SHS_OK);
            }
        for (i = 0; i < size; i++) {
            *f = *whole;
            f->size = i;
            assert_status(shs_compact_open(f->bytes, i, &compact), i < 8 ? SHS_FOREIGN_COMPACT : SHS_DAMAGED_COMPACT);
            rewind_file(f, 0);
            assert_status(shs_compact_load(NULL, 10, read_bytes, f, &got), SHS_READ_FAILED);
        }
        for (i = 0; i < sizeof cases / sizeof *cases; i++) {
            *f = *whole;
            f->bytes[cases[i].at] = cases[i].value;
            seal_file(f);
            assert_status(shs_compact_open(f->bytes, f->size, &compact), cases[i].status);
        }
        *f = *whole; /* an atom that is none */
        f->bytes[numbers] = 10;
        seal_file(f);
        REFUSES(SHS_DAMAGED_COMPACT);
        *f = *whole; /* -128, -32,768, infinity */
        f->bytes[numbers + 6 + (coef_types[t] != SHS_COEF_I8)] = coef_types[t] == SHS_COEF_F16 ? 0x7c : 0x80;
        if (coef_types[t] == SHS_COEF_I16) f->bytes[numbers + 6] = 0;
        seal_file(f);
        REFUSES(SHS_DAMAGED_COMPACT);
        for (k = 0; k < 4 && coef_types[t] != SHS_COEF_F16; k++) { /* scales: negative, infinite, subnormal, too large */
            static const unsigned char scales[4][2] = {{0, 0xbf}, {0x80, 0x7f}, {0x7f, 0}, {0, 0x7e}};
            *f = *whole;
            memcpy(f->bytes + size - 6, scales[k], 2);
            seal_file(f);
            REFUSES(SHS_DAMAGED_COMPACT);
        }
        for (k = 0; k < 3 && coef_types[t] != SHS_COEF_F16; k++) { /* times the scale 2^123: 2^127, -2^127, and less */
            static const unsigned char words[3] = {16, 256 - 16, 256 - 15};
            const size_t each = coef_types[t] == SHS_COEF_I8 ? 1 : 2;
            shs_compact least;
            *f = *whole;
            memset(f->bytes + size - 10 - 2 * each, 0, 2 * each);
            if (words[k] > 127) f->bytes[size - 11] = 255; /* the sign of a word of two bytes; of one, the word itself */
            f->bytes[size - 10 - each] = words[k];
            memcpy(f->bytes + size - 6, "\0\x7d", 2);
            seal_file(f);
            if (k < 2) REFUSES(SHS_DAMAGED_COMPACT);
            else assert_ok(shs_compact_open(f->bytes, f->size, &least));
        }
        *f = *whole; /* the sum is right, the largest is not */
        f->bytes[64] = 2;
        f->bytes[65] = 2;
        seal_file(f);
        REFUSES(SHS_DAMAGED_COMPACT);
    }
    *f = *whole; /* more signals than can be addressed */
    f->bytes[30] = 0xff;
    seal_file(f);
    assert_status(shs_compact_open(f->bytes, f->size, &compact), sizeof(size_t) > 4 ? SHS_DAMAGED_COMPACT : SHS_TOO_LARGE);
    *f = *whole;
    assert_status(shs_compact_load(NULL, 9, read_bytes, f, &got), SHS_BAD_COMPACT);
    assert_memory_equal(&compact, &untouched, sizeof compact);
    assert_memory_equal(&got, &untouched, sizeof got < sizeof untouched ? sizeof got : sizeof untouched);
#undef REFUSES
    free(f), free(whole);
}

/* 68 bytes claim many signals without an atom, for which no byte stands: 2^59 are refused at once, and so are their codes. */
static void test_claims_without_bytes(void **state) {
    int used[] = {0}, atoms[] = {0};
    shs_real coefs[] = {0};
    shs_codes codes = SHS_ZERO, got = SHS_ZERO;
    shs_compact compact;
    memory_file *f = new_file();
    (void)state;
    codes.m = 1;
    codes.stride = 1;
    codes.used = used;
    codes.atoms = atoms;
    codes.coefs = coefs;
    assert_ok(shs_compact_save(&codes, 1, SHS_COEF_F16, write_bytes, f));
    assert_int_equal(f->size, 68);
    f->bytes[24] = 0; /* 2^24 */
    f->bytes[27] = 1;
    seal_file(f);
    assert_ok(shs_compact_open(f->bytes, f->size, &compact));
    f->bytes[24] = 1;
    seal_file(f);
    assert_status(shs_compact_open(f->bytes, f->size, &compact), SHS_DAMAGED_COMPACT);
    f->bytes[27] = 0; /* 2^59 */
    f->bytes[sizeof(size_t) > 4 ? 31 : 27] = 8;
    seal_file(f);
    assert_status(shs_compact_open(f->bytes, f->size, &compact), SHS_DAMAGED_COMPACT);
    rewind_file(f, 0);
    assert_status(shs_compact_load(NULL, 1, read_bytes, f, &got), SHS_DAMAGED_COMPACT);
    codes.m = ((size_t)1 << 24) + 1; /* nor are they saved */
    assert_true(shs_compact_size(1, SHS_COEF_F16, codes.m, 0, 0) == SIZE_MAX);
    free(f);
}

static void test_failing_callbacks(void **state) {
    shs_codes x = some_codes(300, 4, 50, -1, 1, 1), got = SHS_ZERO;
    memory_file *f = new_file(), *whole = new_file();
    int at, calls;
    (void)state;
    assert_status(shs_compact_save(&x, 50, SHS_COEF_I8, write_bytes, whole), SHS_BAD_COEFS); /* not rounded */
    assert_int_equal(whole->calls, 0);
    assert_ok(shs_codes_round(NULL, 0, 50, NULL, 0, SHS_COEF_I8, &x));
    assert_status(shs_compact_save(&x, 50, SHS_COEF_F16, write_bytes, whole), SHS_BAD_COEFS); /* to another type */
    assert_ok(shs_compact_save(&x, 50, SHS_COEF_I8, write_bytes, whole));
    calls = whole->calls;
    for (at = 1; at <= calls; at++) {
        reset(f);
        f->fails_at = at;
        assert_status(shs_compact_save(&x, 50, SHS_COEF_I8, write_bytes, f), SHS_WRITE_FAILED);
        assert_memory_equal(f->bytes, whole->bytes, f->size);
        assert_int_equal(f->calls, at);
    }
    for (at = 1; at <= 2; at++) {
        rewind_file(whole, at);
        assert_status(shs_compact_load(NULL, 50, read_bytes, whole, &got), SHS_READ_FAILED);
    }
    assert_null(got.block);
    shs_codes_free(NULL, &x);
    free(f);
    free(whole);
}

/* A header with a false large count of codes allocates no memory for them. Many codes load unchanged. */
static void test_many_codes(void **state) {
    enum { M = 60000, S = 6 };
    shs_codes codes = some_codes(M, S, 200, -1, 1, 1), got = SHS_ZERO;
    large_file f[3], npy[3];
    shs_context ctx = SHS_ZERO;
    size_t most = 0;
    int i;
    (void)state;
    memset(f, 0, sizeof f);
    memset(npy, 0, sizeof npy);
    ctx.alloc_fn = alloc_watched;
    ctx.free_fn = free_watched;
    ctx.alloc_user = &most;
    assert_ok(shs_codes_round(NULL, 0, 200, NULL, 0, SHS_COEF_F16, &codes));
    assert_ok(shs_compact_save(&codes, 200, SHS_COEF_F16, write_large, f));
    assert_ok(shs_npy_save_codes(&codes, write_large, npy, npy + 1, npy + 2));
    for (i = 0; i < 2; i++) {
        if (i == 0) assert_ok(shs_compact_load(NULL, 200, read_large, f, &got));
        else assert_ok(shs_npy_load_codes(NULL, 200, read_large, npy, npy + 1, npy + 2, &got));
        assert_memory_equal(got.used, codes.used, M * sizeof(int));
        assert_memory_equal(got.atoms, codes.atoms, sizeof(int) * M * S);
        assert_memory_equal(got.coefs, codes.coefs, sizeof(shs_real) * M * S);
        shs_codes_free(NULL, &got);
    }
    f->bytes[29] = 1; /* 2^40 signals more */
    f->bytes[37] = 1;
    seal(f->bytes, 60, f->bytes + 60);
    f->size = 80;
    f->at = 0;
    assert_status(shs_compact_load(&ctx, 200, read_large, f, &got), SHS_READ_FAILED);
    for (i = 0; i < 3; i++) {
        npy[i].at = 0;
        npy[i].size = 200;
    }
    assert_status(shs_npy_load_codes(&ctx, 200, read_large, npy, npy + 1, npy + 2, &got), SHS_READ_FAILED);
    assert_true(most <= (size_t)1 << 21);
    shs_codes_free(NULL, &codes);
    for (i = 0; i < 3; i++) {
        free(f[i].bytes);
        free(npy[i].bytes);
    }
}

static void test_bad_arguments(void **state) {
    shs_codes x = some_codes(7, 3, 5, 3, 1, 1), bad, got = SHS_ZERO, given = copy_of(&x);
    memory_file *f = new_file();
    shs_compact compact = SHS_ZERO;
    shs_real D[10] = {1, 0, 0, 1, 1, 1, 1, -1, 2, 1}, Z[14];
    const shs_coef_type none = (shs_coef_type)3;
    (void)state;
    assert_status(shs_codes_round(NULL, 0, 5, D, 2, SHS_COEF_I8, &x), SHS_BAD_P);
    assert_status(shs_codes_round(NULL, 2, 0, D, 2, SHS_COEF_I8, &x), SHS_BAD_N);
    assert_status(shs_codes_round(NULL, 2, 0, NULL, 2, SHS_COEF_I8, &x), SHS_BAD_N);
    assert_status(shs_codes_round(NULL, 2, 5, D, 1, SHS_COEF_I8, &x), SHS_BAD_LDD);
    assert_status(shs_codes_round(NULL, 2, 5, D, 2, none, &x), SHS_BAD_COMPACT);
    assert_status(shs_codes_round(NULL, 0, 65537, NULL, 0, SHS_COEF_I8, &x), SHS_BAD_COMPACT);
    assert_status(shs_codes_round(NULL, 2, 5, D, 2, SHS_COEF_I8, NULL), SHS_BAD_CODES);
    bad = x;
    bad.atoms = NULL;
    assert_status(shs_codes_round(NULL, 2, 5, D, 2, SHS_COEF_I8, &bad), SHS_BAD_CODES);
    assert_status(shs_compact_save(&bad, 5, SHS_COEF_I8, write_bytes, f), SHS_BAD_CODES);
    assert_status(shs_codes_round(NULL, 2, 4, D, 2, SHS_COEF_I8, &x), SHS_BAD_CODES); /* an atom that it does not have */
    D[9] = (shs_real)NAN;
    assert_status(shs_codes_round(NULL, 2, 5, D, 2, SHS_COEF_I8, &x), SHS_DICTIONARY_NOT_FINITE);
    D[9] = 1;
    assert_memory_equal(x.coefs, given.coefs, 21 * sizeof *Z);
    assert_ok(shs_codes_round(NULL, 2, 5, D, 2, SHS_COEF_I8, &x));
    assert_status(shs_compact_save(NULL, 5, SHS_COEF_I8, write_bytes, f), SHS_BAD_CODES);
    assert_status(shs_compact_save(&x, 0, SHS_COEF_I8, write_bytes, f), SHS_BAD_N);
    assert_status(shs_compact_save(&x, 65537, SHS_COEF_I8, write_bytes, f), SHS_BAD_COMPACT);
    assert_status(shs_compact_save(&x, 5, none, write_bytes, f), SHS_BAD_COMPACT);
    assert_status(shs_compact_save(&x, 5, SHS_COEF_I8, NULL, f), SHS_BAD_COMPACT);
    bad = x;
    bad.m = 0;
    assert_status(shs_compact_save(&bad, 5, SHS_COEF_I8, write_bytes, f), SHS_BAD_M);
    assert_int_equal(f->calls, 0);
    assert_ok(shs_compact_save(&x, 5, SHS_COEF_I8, write_bytes, f));
    assert_status(shs_compact_load(NULL, 0, read_bytes, f, &got), SHS_BAD_N);
    assert_status(shs_compact_load(NULL, 5, NULL, f, &got), SHS_BAD_COMPACT);
    assert_status(shs_compact_load(NULL, 5, read_bytes, f, NULL), SHS_BAD_CODES);
    assert_int_equal(f->at, 0);
    assert_status(shs_compact_open(NULL, 0, &compact), SHS_BAD_COMPACT);
    assert_status(shs_compact_open(f->bytes, f->size, NULL), SHS_BAD_COMPACT);
    assert_status(shs_compact_unpack(&compact, 0, 0, &x), SHS_BAD_COMPACT); /* never opened */
    assert_status(shs_compact_synthesize(NULL, 2, 5, D, 2, &compact, 0, 0, Z, 2), SHS_BAD_COMPACT);
    assert_ok(shs_compact_open(f->bytes, f->size, &compact));
    assert_status(shs_compact_unpack(NULL, 0, 7, &x), SHS_BAD_COMPACT);
    assert_status(shs_compact_unpack(&compact, 1, 7, &x), SHS_BAD_COMPACT);
    assert_status(shs_compact_unpack(&compact, 8, 0, &x), SHS_BAD_COMPACT);
    assert_status(shs_compact_unpack(&compact, 0, 7, NULL), SHS_BAD_CODES);
    bad = x;
    bad.stride = 2;
    assert_status(shs_compact_unpack(&compact, 0, 7, &bad), SHS_BAD_CODES);
    bad = x;
    bad.m = 6;
    assert_status(shs_compact_unpack(&compact, 0, 7, &bad), SHS_BAD_CODES);
    assert_ok(shs_compact_unpack(&compact, 7, 0, &x));
    assert_status(shs_compact_synthesize(NULL, 2, 5, NULL, 2, &compact, 0, 7, Z, 2), SHS_BAD_DICTIONARY);
    assert_status(shs_compact_synthesize(NULL, 2, 4, D, 2, &compact, 0, 7, Z, 2), SHS_BAD_COMPACT);
    assert_status(shs_compact_synthesize(NULL, 2, 5, D, 2, &compact, 0, 8, Z, 2), SHS_BAD_COMPACT);
    assert_status(shs_compact_synthesize(NULL, 2, 5, D, 2, &compact, 0, 7, NULL, 2), SHS_BAD_OUTPUT);
    assert_status(shs_compact_synthesize(NULL, 2, 5, D, 2, &compact, 0, 7, Z, 1), SHS_BAD_LDZ);
    assert_ok(shs_compact_synthesize(NULL, 2, 5, D, 2, &compact, 7, 0, NULL, 2));
    assert_true(shs_compact_size(0, SHS_COEF_I8, 1, 1, 1) == SIZE_MAX && shs_compact_size(1, none, 1, 1, 1) == SIZE_MAX);
    assert_true(shs_compact_size(65537, SHS_COEF_I8, 1, 1, 1) == SIZE_MAX);
    assert_true(shs_compact_size(1, SHS_COEF_I8, 0, 1, 1) == SIZE_MAX);
    assert_true(shs_compact_size(1, SHS_COEF_I8, 2, 3, 7) == SIZE_MAX);
    assert_true(shs_compact_size(9, SHS_COEF_I8, 2, 3, 2) >= shs_compact_size(9, SHS_COEF_I8, 2, 2, 2));
    assert_true(shs_compact_size(9, SHS_COEF_I8, 2, 300, 2) < 100 && shs_compact_size(9, SHS_COEF_I8, 2, 3, 0) < 100);
    assert_true(shs_compact_size(1, SHS_COEF_I8, 2, 0, 1) == SIZE_MAX);
    assert_true(shs_compact_size(1, SHS_COEF_I8, 2, -1, 0) == SIZE_MAX);
    assert_true(shs_compact_size(1, SHS_COEF_I8, SIZE_MAX / 2, 1, 1) == SIZE_MAX);
    assert_int_equal(shs_compact_size(256, SHS_COEF_I8, 1000, 6, 6000), 64 + 14 * 1000 + 4);
    shs_codes_free(NULL, &x), shs_codes_free(NULL, &given);
    free(f);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half_precision),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_against_the_twin),
        cmocka_unit_test(test_refit_on_natural_patches),
        cmocka_unit_test(test_odd_supports),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_below_the_limit),
        cmocka_unit_test(test_large_ones_come_back),
        cmocka_unit_test(test_zeros_stay),
        cmocka_unit_test(test_the_bytes),
        cmocka_unit_test(test_all_comes_back),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_claims_without_bytes),
        cmocka_unit_test(test_failing_callbacks),
        cmocka_unit_test(test_many_codes),
        cmocka_unit_test(test_bad_arguments),
    };
    return cmocka_run_group_tests_name("compact codes", tests, NULL, NULL);
}
