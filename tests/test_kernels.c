/* test_kernels.c - kernels of vectors, of packed products, and of sections 9 to 11 by themselves, every instance of them: against plain loops, over odd sizes. */
#include "test.h"

/* ---- blocks and words --------------------------------------------------------------------------------------------- */

/* Blocks of bytes and of pairs turned in registers, in either byte order of the machine. */
static void test_blocks_turn(void **state) {
    static const ptrdiff_t rows[8] = {0, 40, 16, 96, 64, 80, 112, 24};
    unsigned char from[128], to[8 * 11];
    uint16_t pairs[128], turned[4 * 5];
    int i, k;
    (void)state;
    for (i = 0; i < 128; i++) {
        from[i] = (unsigned char)(i * 37 + 11);
        pairs[i] = (uint16_t)(i * 4099 + 7);
    }
    memset(to, 0, sizeof to);
    shs__px_transpose_square(1, from, rows, to, 11);
    for (k = 0; k < 8; k++)
        for (i = 0; i < 11; i++) assert_int_equal(to[k * 11 + i], i < 8 ? from[rows[i] + k] : 0);
    memset(turned, 0, sizeof turned);
    shs__px_transpose_square(2, (const unsigned char *)(const void *)pairs, rows, (unsigned char *)(void *)turned,
                             5 * sizeof *turned);
    for (k = 0; k < 4; k++)
        for (i = 0; i < 5; i++) assert_int_equal(turned[k * 5 + i], i < 4 ? pairs[rows[i] + k] : 0);
}

/* Tiles of words by themselves, with sums of 32 bits that are flushed early, late or once. */
static void test_word_tiles(void **state) {
    const shs__words_kernels *k = shs__kernels_words();
    enum { DEEP = 37, APART = DEEP * 16 };
    int32_t a[4 * APART], sums[384];
    shs_wide C[384], expected;
    int vectors, most, v, j, l, p, dots, which;
    shs_random r;
    (void)state;
    if (!k->pack_pairs) skip();
    shs_random_seed(&r, 5);
    for (p = 0; p < 4 * APART; p++) {
        int low = (int)((double)shs_random_uniform(&r) * 8000) - 4000;
        int high = (int)((double)shs_random_uniform(&r) * 8000) - 4000;
        a[p] = (int32_t)(((uint32_t)high << 16) | ((uint32_t)low & 0xffff));
    }
    for (which = 0; which < 2; which++)
        for (vectors = 1; vectors <= k->vectors; vectors++)
            for (most = 1; most <= DEEP + 1; most += 9) {
                if (which && !shs__dots_there()) continue;
                memset(C, 0, sizeof C);
                k->gram(which ? SHS__PAIRS_VNNI : SHS__PAIRS, vectors, DEEP, most, a, a + 3 * APART, APART, sums, C);
                for (v = 0; v < vectors; v++)
                    for (j = 0; j < k->columns; j++)
                        for (l = 0; l < k->lanes; l++) {
                            expected = 0;
                            for (p = 0; p < DEEP; p++) {
                                int32_t x = a[v * APART + p * k->lanes + l], y = a[3 * APART + p * k->lanes + j];
                                dots = (int16_t)(x & 0xffff) * (int16_t)(y & 0xffff) + (x >> 16) * (y >> 16);
                                expected += (shs_wide)dots;
                            }
                            assert_close(C[(v * k->columns + j) * k->lanes + l], expected, 0);
                        }
            }
}

/* Planes become the words that their spectra become, and the same size is found. */
static void test_planes_pack_like_spectra(void **state) {
    const shs__words_kernels *k = shs__kernels_words();
    enum { BANDS = 37, PIXELS = 44, LD = 4 * 48, PLACES = 48 * 24 };
    static const shs_type types[] = {SHS_TYPE_U8, SHS_TYPE_I16, SHS_TYPE_U16};
    static unsigned char planes[BANDS * LD], spectra[PIXELS][2 * BANDS];
    static int32_t by_plane[2 * PLACES], by_pixel[2 * PLACES];
    const unsigned char *spectrum[PIXELS];
    int32_t shift[48];
    size_t size, apart, second, group;
    int how, t, bands, words, i, b, a_word;
    shs_random r;
    (void)state;
    if (!k->pack_planes) skip();
    shs_random_seed(&r, 9);
    for (i = 0; i < BANDS * LD; i++) planes[i] = (unsigned char)shs_random_below(&r, 256);
    for (how = SHS__PAIRS; how <= SHS__QUADS; how++)
        for (t = 0; t < (how == SHS__QUADS ? 1 : 3); t++)
            for (bands = 1; bands <= BANDS; bands += 4) {
                if (how == SHS__QUADS ? !k->pack_quads : !k->pack_pairs) continue;
                size = shs_type_size(types[t]);
                a_word = how == SHS__QUADS ? 4 : 2;
                words = PIXELS / a_word;
                apart = (size_t)words * (size_t)k->lanes;
                second = apart * (size_t)((bands - 1) / k->lanes + 1);
                for (b = 0; b < 48; b++) shift[b] = b < bands ? 100 + b : 0;
                for (i = 0; i < PIXELS; i++) {
                    spectrum[i] = spectra[i];
                    for (b = 0; b < bands; b++)
                        memcpy(spectra[i] + (size_t)b * size, planes + (size_t)b * LD + (size_t)i * size, size);
                }
                i = k->pack_planes((shs__factors)how, types[t], bands, words, planes, LD, shift, by_plane, apart, second);
                if (how == SHS__QUADS) k->pack_quads(bands, PIXELS, spectrum, by_pixel, apart, second);
                else assert_int_equal(i, k->pack_pairs(types[t], bands, PIXELS, spectrum, shift, by_pixel, apart));
                for (b = 0; b < bands; b++)
                    for (i = 0; i < words; i++) {
                        group = (size_t)(b / k->lanes) * apart + (size_t)(i * k->lanes + b % k->lanes);
                        assert_int_equal(by_plane[group], by_pixel[group]);
                        if (how == SHS__QUADS) assert_int_equal(by_plane[second + group], by_pixel[second + group]);
                    }
            }
}

/* ---- storing and extremes ------------------------------------------------------------------------------------------ */

#ifdef __FAST_MATH__
static double value_at(shs_type type, const void *values, int i) {
    if (type == SHS_TYPE_U8) return ((const uint8_t *)values)[i];
    if (type == SHS_TYPE_I16) return ((const int16_t *)values)[i];
    if (type == SHS_TYPE_U16) return ((const uint16_t *)values)[i];
    if (type == SHS_TYPE_F32) return (double)((const float *)values)[i];
    return (double)((const shs_real *)values)[i];
}
#endif

/* The same bytes. Under -ffast-math one formula is not evaluated alike in two places: a value may round to the next then. */
static void assert_same_values(shs_type type, int n, const void *got, const void *expected) {
#ifdef __FAST_MATH__
    size_t size = shs_type_size(type);
    int i;
    for (i = 0; i < n; i++) {
        double a = value_at(type, got, i), b = value_at(type, expected, i);
        if (memcmp((const char *)got + (size_t)i * size, (const char *)expected + (size_t)i * size, size) == 0) continue;
        assert_close(a, b, type == SHS_TYPE_F32 || type == SHS_TYPE_REAL ? 4 * (double)SHS__EPS * (1 + fabs(b)) : 1);
    }
#else
    assert_memory_equal(got, expected, (size_t)n * shs_type_size(type));
#endif
}

/* Against the plain routines, to the bit, where rounding and saturation begin and beyond. */
static void test_store_rounds_like_its_twin(void **state) {
    static const double edges[] = {0,     -0.0, 0.5,     -0.5,  0.49999997, 1.5,   2.5,    -1.5,     -2.5,   254.5,   255,
                                   255.5, 256,  32766.5, 32767, 32767.5,    32768, -32768, -32768.5, -32769, 65534.5, 65535,
                                   65536, 1e9,  -1e9,    3e38,  -3e38,      1e-30, 12.25,  100.5,    77};
    static const shs_type types[] = {SHS_TYPE_U8, SHS_TYPE_I16, SHS_TYPE_U16, SHS_TYPE_F32, SHS_TYPE_REAL};
    enum { N = sizeof edges / sizeof *edges };
    shs_wide y[N + 16];
    unsigned char got[N * 8], expected[N * 8], none[N * 8];
    shs_wide value[N], constant[N], low[N], range[N], old[N];
    int n, i, stretch, each, wide;
    size_t t, used;
    (void)state;
    memset(none, 0, sizeof none);
    for (i = 0; i < N; i++) constant[i] = (shs_wide)(i % 3) / 4;
    for (i = 0; i < N; i++) {
        low[i] = -1;
        range[i] = 7;
        old[i] = 3;
    }
    for (t = 0; t < sizeof types / sizeof *types; t++)
        for (n = 1; n <= N; n++)
            for (stretch = 0; stretch < 2; stretch++)
                for (each = 0; each < 2; each++)
                    for (wide = 0; wide < 2; wide++) {
                        const shs__pixels_kernels *k = shs__element_kernels(wide);
                        shs__scaling s = SHS_ZERO;
                        if (!k->store) continue; /* plain loops: the routine itself is used */
                        s.each = each;
                        s.rescale = stretch;
                        s.base = -2;
                        s.constant = constant;
                        s.low = low;
                        s.range = range;
                        s.old = old;
                        memset(got, 0, sizeof got);
                        memset(expected, 0, sizeof expected);
                        for (i = 0; i < n; i++) shs__px_put_element(k, y, (size_t)i, (shs_wide)edges[i]);
                        for (i = 0; i < n; i++)
                            value[i] = shs__px_scaled(&s, each ? i : 0, shs__px_get_element(k, y, (size_t)i));
                        shs__store_values(types[t], n, value, none, 0, expected, 1);
                        k->store(shs__px_element_type(k, types[t]), n, y, &s, got);
                        assert_same_values(types[t], n, got, expected);
                        used = (size_t)n * shs_type_size(types[t]);
                        assert_memory_equal(got + used, none, sizeof got - used);
                    }
}

static void check_extremes(const shs__pixels_kernels *k) {
    shs_real *values = new_normal(50 * 48, 3);
    shs_wide y[50 * 48], low[48], high[48], least, most, v;
    int n, i, j;
    for (i = 0; i < 50 * 48; i++) shs__px_put_element(k, y, (size_t)i, (shs_wide)values[i]);
    for (n = 1; n <= 48; n++) {
        for (i = 0; i < 48; i++) shs__px_put_element(k, low, (size_t)i, 1e9), shs__px_put_element(k, high, (size_t)i, -1e9);
        k->range(50, n, y, 48, low, high);
        for (i = 0; i < n; i++) {
            least = 1e9;
            most = -1e9;
            for (j = 0; j < 50; j++) {
                v = (shs_wide)values[j * 48 + i];
                least = v < least ? v : least;
                most = v > most ? v : most;
            }
            assert_close(shs__px_get_element(k, low, (size_t)i), least, 0);
            assert_close(shs__px_get_element(k, high, (size_t)i), most, 0);
        }
    }
    free(values);
}

static void test_extremes(void **state) {
    (void)state;
    check_extremes(shs__element_kernels(0));
    check_extremes(shs__element_kernels(1));
}

/* ---- contrasts ---------------------------------------------------------------------------------------------------- */

/* Distance in units in the last place of the expected value; below the least normal number in units of the subnormals, or
   none to a zero where there are no subnormals. */
static long double units(shs_real got, long double expected) {
    int exponent;
    long double least = (long double)SHS__REAL_MIN, size = fabsl(expected) < least ? least : fabsl(expected);
    if (fabsl(expected) < least && !(shs__abs(got) > 0) && subnormals_vanish()) return 0;
    (void)frexpl(size, &exponent);
    return fabsl((long double)got - expected) / ldexpl((long double)SHS__EPS, exponent - 1);
}

/* Of exp(-x). -ffast-math takes the reduction of x apart: a product with ln 2 and ln 2 itself are rounded, which changes the
   result by |x| eps, or up to 2 |x| units. */
static long double units_of_exp(shs_real got, shs_real x) {
    long double off = units(got, expl(-(long double)x));
#ifdef __FAST_MATH__
    off = off > 2 * (long double)x ? off - 2 * (long double)x : 0;
#endif
    return off;
}

enum { STEPS = 200000 };

/* Sizes from the least number to the largest, evenly by exponent. */
static shs_real size_at(int i) { return (shs_real)exp2l(((long double)i / STEPS) * BY_TYPE(254, 2044) + BY_TYPE(-127, -1022)); }

static void test_tanh_and_exp_are_accurate(void **state) {
    const shs__contrast_kernels *k = shs__kernels_contrast();
    shs_real y[16], x[16];
    long double worst_tanh = 0, worst_exp = 0, off;
    int i, l;
    (void)state;
    for (i = 0; i < STEPS; i += 16) {
        for (l = 0; l < 16; l++) y[l] = x[l] = (l % 2 ? -1 : 1) * size_at(i + l);
        (void)k->apply(SHS_CONTRAST_TANH, 16, y);
        for (l = 0; l < 16; l++) {
            off = units(y[l], tanhl((long double)x[l]));
            worst_tanh = off > worst_tanh ? off : worst_tanh;
        }
        for (l = 0; l < 16; l++) y[l] = x[l] = shs__abs(x[l]);
        k->decay(16, y);
        for (l = 0; l < 16; l++) {
            off = units_of_exp(y[l], x[l]);
            worst_exp = off > worst_exp ? off : worst_exp;
        }
    }
    for (i = 0; i < STEPS; i += 16) { /* where they bend */
        for (l = 0; l < 16; l++) y[l] = x[l] = (shs_real)(i + l) * (shs_real)12 / STEPS;
        (void)k->apply(SHS_CONTRAST_TANH, 16, y);
        for (l = 0; l < 16; l++) {
            off = units(y[l], tanhl((long double)x[l]));
            worst_tanh = off > worst_tanh ? off : worst_tanh;
        }
        for (l = 0; l < 16; l++) y[l] = x[l] = (shs_real)(i + l) * (shs_real)BY_TYPE(110, 750) / STEPS;
        k->decay(16, y);
        for (l = 0; l < 16; l++) {
            off = units_of_exp(y[l], x[l]);
            worst_exp = off > worst_exp ? off : worst_exp;
        }
    }
    print_message("tanh %.2Lf, exp %.2Lf units in the last place\n", worst_tanh, worst_exp);
    assert_true(worst_tanh <= 2);
    assert_true(worst_exp <= 2);
}

static void test_contrasts_of_special_values(void **state) {
    const shs__contrast_kernels *k = shs__kernels_contrast();
    const shs_real infinity = (shs_real)HUGE_VAL;
    shs_real nan, y[16] = {0};
    uint64_t bits = UINT64_C(0x7ff8000000000000);
    double not_a_number;
    (void)state;
    memcpy(&not_a_number, &bits, sizeof bits);
    nan = (shs_real)not_a_number;
    y[0] = infinity;
    y[1] = -infinity;
    y[2] = nan;
    y[3] = 0;
    y[4] = (shs_real)-0.0;
    y[5] = SHS__REAL_MAX;
    (void)k->apply(SHS_CONTRAST_TANH, 16, y);
    assert_close(y[0], 1, 0);
    assert_close(y[1], -1, 0);
    assert_close(y[3], 0, 0);
#ifndef __FAST_MATH__ /* which knows one zero and no NaN: pixels are searched for it before they come here */
    assert_true(is_nan((double)y[2]));
    assert_true(signbit(y[4]));
#endif
    assert_close(y[5], 1, 0);
    y[0] = infinity;
    y[1] = nan;
    y[2] = SHS__REAL_MAX;
    y[3] = 0;
    k->decay(4, y);
    assert_close(y[0], 0, 0);
#ifndef __FAST_MATH__
    assert_true(is_nan((double)y[1]));
#endif
    assert_close(y[2], 0, 0);
    assert_close(y[3], 1, 0);
}

/* Sums of slopes, of fourth powers, of log cosh and of products, for every number of values. */
static void test_sums_of_contrasts(void **state) {
    const shs__contrast_kernels *k = shs__kernels_contrast();
    static const shs_contrast contrasts[] = {SHS_CONTRAST_POW3, SHS_CONTRAST_TANH, SHS_CONTRAST_GAUSS, SHS_CONTRAST_SKEW};
    shs_real *x = new_normal(128, 9), y[128];
    int n, i, c;
    (void)state;
    for (n = 1; n <= 112; n++) {
        double powers = 0, logs = 0;
        shs_wide fourth = 0, log_cosh = 0;
        for (c = 0; c < 4; c++) {
            double slope = 0, sum;
            memcpy(y, x, sizeof y);
            sum = (double)k->apply(contrasts[c], n, y);
            for (i = 0; i < n; i++) {
                const double v = (double)x[i], e = exp(-v * v / 2);
                const double values[] = {v * v * v, tanh(v), v * e, v * v}, g = values[c];
                if (c == 0) slope += 3 * v * v;
                else if (c == 1) slope += 1 - g * g;
                else if (c == 2) slope += (1 - v * v) * e;
                else slope += 2 * v;
                assert_close(y[i], g, BY_TYPE(5e-7, 1e-15) * (1 + fabs(g)));
            }
            assert_close(sum, slope, BY_TYPE(2e-6, 1e-14) * n);
        }
        for (i = 0; i < n; i++) {
            powers += pow((double)x[i], 4);
            logs += log(cosh((double)x[i]));
        }
        k->rate(n, x, &fourth, &log_cosh);
        assert_close(fourth, powers, BY_TYPE(1e-6, 1e-14) * powers);
        assert_close(log_cosh, logs, BY_TYPE(1e-6, 1e-14) * n);
    }
    free(x);
}

static void test_correlations(void **state) {
    const shs__contrast_kernels *k = shs__kernels_contrast();
    enum { LD = 70, M = 11 };
    shs_real *Z = new_normal(LD * M, 1), *Y = new_normal(LD * M, 2);
    shs_wide S[M * M];
    int m, c, n, a, b, i;
    (void)state;
    for (m = 1; m <= M; m++)
        for (c = 1; c <= M; c++)
            for (n = 1; n <= LD; n += 3) {
                for (i = 0; i < m * c; i++) S[i] = i;
                k->correlate(m, c, n, Z, LD, Y, LD, S);
                for (b = 0; b < c; b++)
                    for (a = 0; a < m; a++) {
                        double sum = b * m + a;
                        for (i = 0; i < n; i++) sum += (double)Z[a * LD + i] * (double)Y[b * LD + i];
                        assert_close(S[b * m + a], sum, BY_TYPE(5e-5, 1e-12));
                    }
            }
    free(Z);
    free(Y);
}

/* ---- vectors, and products with a matrix that was packed before ------------------------------------------------------ */

/* Products element by element, and sums and changes over those values that a byte says are present; the rest of a vector and
   what lies behind it stay as they are. */
static void test_present_values(void **state) {
    enum { MOST = 131 };
    const shs__vector_kernels *k = shs__kernels_vector();
    shs_real *x = new_normal(MOST, 1), *y = new_normal(MOST, 2), *z = new_normal(MOST, 3),
             *of = (shs_real *)malloc(MOST * sizeof *of);
    unsigned char m[MOST];
    int n, i;
    (void)state;
    for (i = 0; i < MOST; i++) m[i] = (i * 7 + i / 5) % 3 != 0;
    for (n = 0; n < MOST; n++) {
        double xy = 0, yy = 0, size = 0;
        shs_real found, squares = -1;
        k->multiply(n, x, y, of);
        of[n] = 7;
        for (i = 0; i < n; i++) assert_true(of[i] == x[i] * y[i]);
        assert_true(of[n] == 7);
        memcpy(of, z, MOST * sizeof *of);
        k->multiply(n, of, y, of);
        for (i = 0; i < MOST; i++) assert_true(of[i] == (i < n ? z[i] * y[i] : z[i]));
        memcpy(of, z, MOST * sizeof *of);
        k->axpy_where(n, m, (shs_real)1.5, x, of);
        for (i = 0; i < MOST; i++) {
            const double expected = (double)z[i] + (i < n && m[i] ? 1.5 * (double)x[i] : 0);
            assert_close(of[i], expected, i < n && m[i] ? 8 * (double)SHS__EPS : 0);
        }
        memcpy(of, z, MOST * sizeof *of);
        k->patch_where(n, m, (shs_real)1.5, x, (shs_real)-0.75, y, of);
        for (i = 0; i < MOST; i++) {
            double expected = (double)z[i];
            if (i < n && m[i]) expected += 1.5 * (double)x[i] - 0.75 * (double)y[i];
            if (i < n && !m[i]) expected = 0;
            assert_close(of[i], expected, i < n && m[i] ? 16 * (double)SHS__EPS : 0);
        }
        for (i = 0; i < n; i++)
            if (m[i]) {
                xy += (double)x[i] * (double)y[i];
                yy += (double)y[i] * (double)y[i];
                size += fabs((double)x[i] * (double)y[i]);
            }
        found = k->dots_where(n, m, x, y, &squares);
        assert_close(found, xy, 8 * (double)SHS__EPS * size);
        assert_close(squares, yy, 8 * (double)SHS__EPS * yy);
    }
    free(x);
    free(y);
    free(z);
    free(of);
}

/* Chosen rows, each times its factor: in order, from 0. */
static void test_sums_of_rows(void **state) {
    enum { ROWS = 23 };
    const shs__vector_kernels *k = shs__kernels_vector();
    shs_real *M = new_normal((size_t)(ROWS * k->wide), 1), *times = new_normal(ROWS, 2);
    shs_real *sum = (shs_real *)malloc(((size_t)k->wide + 1) * sizeof *sum);
    int rows[ROWS], count, i, j;
    (void)state;
    for (i = 0; i < ROWS; i++) rows[i] = (i * 7 + 3) % ROWS;
    for (count = 0; count <= ROWS; count++) {
        sum[k->wide] = 7;
        k->sum_rows(count, rows, times, M, sum);
        for (j = 0; j < k->wide; j++) {
            double expected = 0, size = 0;
            for (i = 0; i < count; i++) {
                const double term = (double)times[rows[i]] * (double)M[rows[i] * k->wide + j];
                expected += term;
                size += fabs(term);
            }
            assert_close(sum[j], expected, 8 * (double)SHS__EPS * size);
        }
        assert_true(sum[k->wide] == 7);
    }
    free(M);
    free(times);
    free(sum);
}

/* A matrix that was packed before, deeper than a panel and higher than a block too: the bits of shs_gemm. */
static void test_packed_products(void **state) {
    static const int shapes[][3] = {{1, 1, 1},      {5, 3, 7},       {50, 9, 3},   {97, 33, 100},
                                    {144, 20, 384}, {301, 200, 385}, {150, 1, 800}};
    size_t q;
    int threads;
    (void)state;
    for (q = 0; q < sizeof shapes / sizeof *shapes; q++)
        for (threads = 1; threads < 4; threads += 2) {
            const int m = shapes[q][0], n = shapes[q][1], k = shapes[q][2], lda = k + 3, ldc = m + 2;
            const size_t count = shs__la_packed_count(m, k), room = shs__la_gemm_scratch(0, n, k);
            shs_real *A = new_normal((size_t)lda * (size_t)m, q), *B = new_normal((size_t)k * (size_t)n, q + 50);
            shs_real *packed = (shs_real *)malloc((count + 1) * sizeof *packed),
                     *scratch = (shs_real *)malloc((room + 1) * sizeof *scratch);
            shs_real *C = new_normal((size_t)ldc * (size_t)n, 9), *expected = new_normal((size_t)ldc * (size_t)n, 9);
            shs_context ctx = SHS_ZERO;
            ctx.threads = threads;
            packed[count] = scratch[room] = 7;
            shs__la_pack(&ctx, m, k, A, lda, packed);
            shs__la_gemm_serial(
                shs__la_job(m, n, k, shs__la_op(SHS_TRANS_YES, A, lda), shs__la_op(SHS_TRANS_NO, B, k), C, ldc), packed, scratch);
            assert_ok(shs_gemm(NULL, SHS_TRANS_YES, SHS_TRANS_NO, m, n, k, 1, A, lda, B, k, 0, expected, ldc));
            assert_memory_equal(C, expected, (size_t)ldc * (size_t)n * sizeof *C);
            assert_true(packed[count] == 7 && scratch[room] == 7);
            free(A);
            free(B);
            free(C);
            free(expected);
            free(packed);
            free(scratch);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_present_values),
        cmocka_unit_test(test_sums_of_rows),
        cmocka_unit_test(test_packed_products),
        cmocka_unit_test(test_blocks_turn),
        cmocka_unit_test(test_word_tiles),
        cmocka_unit_test(test_planes_pack_like_spectra),
        cmocka_unit_test(test_store_rounds_like_its_twin),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_tanh_and_exp_are_accurate),
        cmocka_unit_test(test_contrasts_of_special_values),
        cmocka_unit_test(test_sums_of_contrasts),
        cmocka_unit_test(test_correlations),
    };
    return run_with_every_instance("kernels of pixels", tests);
}
