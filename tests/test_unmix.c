/* test_unmix.c - endmembers and abundances: as their naive twins say, the conditions of a constrained minimum, pure pixels
   found again, and figures on a real cube. */
#include "test_components.h"

enum { MOST = 6 };

static const shs_constraint constraints[] = {SHS_CONSTRAINT_NONE, SHS_CONSTRAINT_NONNEGATIVE, SHS_CONSTRAINT_SUM,
                                             SHS_CONSTRAINT_FULL};

/* Positive spectra, with c bumps. */
static double *new_spectra(int n, int c, uint64_t seed) {
    double *E = NEW(double, n * c);
    shs_random r;
    int i, k;
    shs_random_seed(&r, seed);
    for (k = 0; k < c; k++)
        for (i = 0; i < n; i++) {
            double x = ((double)i + 0.5) / n - ((double)k + 0.5) / c;
            E[i + k * n] = 20 + 100 * exp(-8 * x * x) + 30 * (double)shs_random_uniform(&r);
        }
    return E;
}

/* Mixtures of them, with noise that pushes many beyond the simplex. */
static plain_cube new_mixtures(int lines, int samples, int n, int c, const double *E, double noise, uint64_t seed) {
    plain_cube p = new_plain(lines, samples, n);
    shs_random r;
    size_t i;
    int k, b;
    shs_random_seed(&r, seed);
    for (i = 0; i < pixels_of(&p); i++) {
        double a[MOST], sum = 0;
        for (k = 0; k < c; k++) {
            a[k] = pow((double)shs_random_uniform(&r), 4) + 1e-9;
            sum += a[k];
        }
        for (k = 0; k < c; k++)
            for (b = 0; b < n; b++) pixel_of(&p, i)[b] += a[k] / sum * E[b + k * n];
        for (b = 0; b < n; b++) pixel_of(&p, i)[b] += noise * (double)shs_random_normal(&r);
    }
    return p;
}

static double *unmixed(const shs_context *ctx, const shs_cube *cube, int c, const double *E, int n, shs_constraint how) {
    size_t pixels = (size_t)cube->lines * (size_t)cube->samples;
    double *A = NEW(double, pixels * (size_t)c);
    shs_sink sink = SHS_ZERO;
    sink.pixels = A;
    sink.type = SHS_TYPE_F64;
    sink.interleave = SHS_INTERLEAVE_BIP;
    assert_ok(shs_unmix(ctx, cube, c, E, n, how, &sink));
    return A;
}

static void test_twin(void **state) {
    static const int sizes[][2] = {{1, 1}, {3, 2}, {7, 3}, {16, 5}, {33, 6}};
    size_t s, k;
    int layout;
    (void)state;
    for (s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (layout = 0; layout < SHS_INTERLEAVE_COUNT; layout++) {
            int n = sizes[s][0], c = sizes[s][1], m = 5 * 83;
            double *E = new_spectra(n, c, 3 + s), *A = NEW(double, c * m), *K = NEW(double, (c + 1) * (c + 2));
            plain_cube p = new_mixtures(5, 83, n, c, E, 15, 9 + s), as_is;
            shs_cube cube = cube_of(&p, layout == 1 ? SHS_TYPE_F32 : SHS_TYPE_REAL, (shs_interleave)layout, layout == 1);
            as_is = plain_of(&cube);
            for (k = 0; k < 4; k++) {
                double *fast = unmixed(NULL, &cube, c, E, n, constraints[k]);
                shs_unmix_naive(constraints[k], n, c, E, m, as_is.x, A, K);
                check_near("abundances", (size_t)(c * m), fast, A, 1e-9 * (1 + largest_of((size_t)(c * m), A)));
                free(fast);
            }
            free(E);
            free(A);
            free(K);
            free(p.x);
            free(as_is.x);
            cube_free(&cube);
        }
}

/* The gradient of half the squared distance, E'(E a - x). */
static double gradient(int n, int c, const double *E, const double *x, const double *a, double *g, double *size) {
    int b, k;
    *size = 0;
    for (k = 0; k < c; k++) g[k] = 0;
    for (b = 0; b < n; b++) {
        double off = -x[b];
        for (k = 0; k < c; k++) off += E[b + k * n] * a[k];
        for (k = 0; k < c; k++) {
            g[k] += E[b + k * n] * off;
            *size = fmax(*size, fabs(E[b + k * n] * x[b]) * n);
        }
    }
    return *size;
}

static void test_conditions_of_the_minimum(void **state) {
    int n = 40, c = 6, k, how;
    double *E = new_spectra(n, c, 1);
    plain_cube p = new_mixtures(30, 40, n, c, E, 25, 2);
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    size_t i, at_bound = 0;
    (void)state;
    for (how = SHS_CONSTRAINT_NONNEGATIVE; how <= SHS_CONSTRAINT_FULL; how += 2) {
        double *A = unmixed(NULL, &cube, c, E, n, (shs_constraint)how);
        for (i = 0; i < pixels_of(&p); i++) {
            double g[MOST], *a = A + i * (size_t)c, size, sum = 0, lambda = 0, shares = 0;
            gradient(n, c, E, pixel_of(&p, i), a, g, &size);
            for (k = 0; k < c; k++) {
                sum += a[k];
                lambda += a[k] > 0 ? g[k] : 0;
                shares += a[k] > 0;
            }
            lambda = how == SHS_CONSTRAINT_FULL ? lambda / shares : 0;
            if (how == SHS_CONSTRAINT_FULL) assert_true(fabs(sum - 1) <= 1e-14 * 64);
            for (k = 0; k < c; k++) {
                assert_true(a[k] >= 0);
                if (a[k] > 0) assert_true(fabs(g[k] - lambda) <= 1e-11 * size);
                else assert_true(g[k] - lambda >= -1e-11 * size);
                at_bound += !(a[k] > 0);
            }
        }
        free(A);
    }
    assert_true(at_bound > pixels_of(&p)); /* or nothing was tried */
    free(E);
    free(p.x);
    cube_free(&cube);
}

/* Endmembers: a level and a deviation. Without a level the last endmember is the first one and a deviation. Returns mixtures with
   noise of the same deviation. */
static plain_cube new_alike(int n, int c, double level, double deviation, uint64_t seed, double *E) {
    shs_random r;
    int b;
    shs_random_seed(&r, seed);
    for (b = 0; b < n * c; b++) {
        const double value = (double)shs_random_normal(&r);
        if (level > 0) E[b] = level + deviation * value;
        else if (b < n * (c - 1)) E[b] = fabs(value);
        else E[b] = E[b - n * (c - 1)] + deviation * value;
    }
    return new_mixtures(10, 30, n, c, E, deviation, seed + 1);
}

/* The conditions where the spectra share a level, or two are alike, from residuals of more digits: what is off them moves |E a|
   by rounding alone. A sum of 1 makes the level free: all is taken from the mean of the endmembers. */
static void test_conditions_where_endmembers_are_alike(void **state) {
    enum { N = 20, C = 5 };
    int kind, how, k, b;
    size_t i;
    (void)state;
    for (kind = 0; kind < 6; kind++) {
        static const double levels[] = {300, 300, 300, 0, 0, 0}, deviations[] = {1, 1e-2, 1e-4, 1e-2, 1e-4, 1e-5};
        double E[N * C], mean[N] = {0};
        plain_cube p = new_alike(N, C, levels[kind], deviations[kind], 7, E);
        shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
        for (how = SHS_CONSTRAINT_FULL; how > 0 && (how > 1 || levels[kind] <= 0); how -= 2) {
            double *A = unmixed(NULL, &cube, C, E, N, (shs_constraint)how);
            for (k = 0; k < N * C && how == SHS_CONSTRAINT_FULL; k++) mean[k % N] += E[k] / C;
            for (k = 0; k < N && how != SHS_CONSTRAINT_FULL; k++) mean[k] = 0;
            for (i = 0; i < pixels_of(&p); i++) {
                const double *a = A + i * C, *x = pixel_of(&p, i);
                long double off[N], g[C], lambda = 0;
                double length = 0;
                int inside = -1;
                for (b = 0; b < N; b++) {
                    off[b] = (long double)x[b] - (long double)mean[b];
                    length += fabs(x[b] - mean[b]);
                    for (k = 0; k < C; k++) off[b] -= (long double)a[k] * ((long double)E[b + k * N] - (long double)mean[b]);
                }
                for (k = 0; k < C; k++) {
                    g[k] = 0;
                    for (b = 0; b < N; b++) g[k] -= off[b] * ((long double)E[b + k * N] - (long double)mean[b]);
                    if (inside < 0 || a[k] > a[inside]) inside = k;
                }
                if (how == SHS_CONSTRAINT_FULL) lambda = g[inside];
                for (k = 0; k < C; k++) {
                    const double bound = 1e-15 * N * length * (levels[kind] > 0 ? deviations[kind] : 1);
                    const double slope = (double)(g[k] - lambda);
                    if (slope < -bound || (a[k] > 0 && slope > bound) || !(a[k] >= 0))
                        fail_msg("kind %d, constraint %d, pixel %d: abundance %g has slope %g, and rounding is %g", kind, how,
                                 (int)i, a[k], slope, bound);
                }
            }
            free(A);
        }
        free(p.x);
        cube_free(&cube);
    }
}

/* In units of 2^k the abundances have the same bits. */
static void test_units_of_two(void **state) {
    enum { N = 20, C = 5 };
    static const double levels[] = {300, 0, 0}, deviations[] = {1e-2, 1e-4, 1};
    int kind, how, k, exponent;
    (void)state;
    for (kind = 0; kind < 3; kind++) {
        double E[N * C], scaled[N * C];
        plain_cube p = new_alike(N, C, levels[kind], deviations[kind], 17, E);
        shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
        for (how = 0; how < 4; how++) {
            double *A = unmixed(NULL, &cube, C, E, N, (shs_constraint)how);
            for (exponent = -90; exponent <= 90; exponent += 30) {
                plain_cube q = p;
                shs_cube other;
                double *B;
                q.x = NEW(double, values_of(&p));
                for (k = 0; k < (int)values_of(&p); k++) q.x[k] = ldexp(p.x[k], exponent);
                for (k = 0; k < N * C; k++) scaled[k] = ldexp(E[k], exponent);
                other = cube_of(&q, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
                B = unmixed(NULL, &other, C, scaled, N, (shs_constraint)how);
                assert_memory_equal(A, B, pixels_of(&p) * C * sizeof *A);
                free(B);
                free(q.x);
                cube_free(&other);
            }
            free(A);
        }
        free(p.x);
        cube_free(&cube);
    }
}

/* One endmember: 1 with a sum of 1, also if it is 0, else x'e / e'e or 0. */
static void test_one_endmember(void **state) {
    enum { N = 9 };
    double *E = new_spectra(N, 1, 3), zeros[N] = {0};
    plain_cube p = new_mixtures(4, 5, N, 1, E, 90, 4);
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    int how, b;
    size_t i;
    (void)state;
    for (b = 0; b < N; b++) pixel_of(&p, 3)[b] = -E[b];
    cube_free(&cube);
    cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    for (how = 0; how < 4; how++) {
        double *A = unmixed(NULL, &cube, 1, E, N, (shs_constraint)how);
        for (i = 0; i < pixels_of(&p); i++) {
            double xe = 0, ee = 0, expected;
            for (b = 0; b < N; b++) {
                xe += pixel_of(&p, i)[b] * E[b];
                ee += E[b] * E[b];
            }
            expected = xe / ee;
            if (how == SHS_CONSTRAINT_NONNEGATIVE) expected = fmax(0, expected);
            if (how & SHS_CONSTRAINT_SUM) expected = 1;
            assert_close(A[i], expected, 1e-13);
        }
        free(A);
    }
    for (how = SHS_CONSTRAINT_SUM; how <= SHS_CONSTRAINT_FULL; how++) {
        double *A = unmixed(NULL, &cube, 1, zeros, N, (shs_constraint)how);
        for (i = 0; i < pixels_of(&p); i++) assert_close(A[i], 1, 0);
        free(A);
    }
    free(E);
    free(p.x);
    cube_free(&cube);
}

/* Pixels far away, fill values of floats among them, are all of the endmember that lies farthest in their direction. */
static void test_far_pixels(void **state) {
    enum { N = 9, C = 4, SAMPLES = 40, POWERS = 37 };
    double *E = new_spectra(N, C, 12), *A;
    plain_cube p = new_plain(POWERS, SAMPLES, N);
    shs_cube cube;
    shs_random r;
    size_t i;
    int b, k;
    (void)state;
    shs_random_seed(&r, 13);
    for (i = 0; i < pixels_of(&p); i++) {
        const double far = pow(10, (double)(i / SAMPLES) + 1);
        const int filled = i % SAMPLES == 0;
        for (b = 0; b < N; b++) pixel_of(&p, i)[b] = filled ? -far : far * (double)shs_random_normal(&r);
    }
    cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    A = unmixed(NULL, &cube, C, E, N, SHS_CONSTRAINT_FULL);
    for (i = 0; i < pixels_of(&p); i++) {
        double score[C], sum = 0;
        int best = 0, alone = 1;
        for (k = 0; k < C; k++) {
            score[k] = 0;
            for (b = 0; b < N; b++) score[k] += E[b + k * N] * (pixel_of(&p, i)[b] - E[b + k * N] / 2);
            if (score[k] > score[best]) best = k;
            sum += A[i * C + (size_t)k];
            assert_true(A[i * C + (size_t)k] >= 0);
        }
        assert_true(fabs(sum - 1) <= 1e-12);
        for (k = 0; k < C; k++)
            if (k != best && score[best] - score[k] < 1e6) alone = 0; /* the minimum may be between two */
        if (alone) assert_close(A[i * C + (size_t)best], 1, 0);
    }
    free(A);
    free(E);
    free(p.x);
    cube_free(&cube);
}

/* Far away square to an edge two endmembers share a pixel: half of each, as near as its size leaves digits, and the sum holds. */
static void test_far_pixels_of_two(void **state) {
    enum { N = 3, POWERS = 30 };
    const double E[N * N] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    plain_cube p = new_plain(POWERS, 2, N);
    shs_cube cube;
    double *A;
    size_t i;
    int k;
    (void)state;
    for (i = 0; i < pixels_of(&p); i++) {
        const double far = pow(10, (double)(i / 2) / 2), sign = i % 2 ? -1 : 1;
        pixel_of(&p, i)[0] = pixel_of(&p, i)[1] = sign * far;
        pixel_of(&p, i)[2] = i % 2 ? -2 * far : 0;
    }
    cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    A = unmixed(NULL, &cube, N, E, N, SHS_CONSTRAINT_FULL);
    for (i = 0; i < pixels_of(&p); i++) {
        const double far = pow(10, (double)(i / 2) / 2);
        double sum = 0;
        for (k = 0; k < N; k++) {
            assert_true(A[i * N + (size_t)k] >= 0);
            sum += A[i * N + (size_t)k];
        }
        assert_true(fabs(sum - 1) <= BY_TYPE(1e-6, 1e-15));
        if (far < 1e12) assert_close(A[i * N], 0.5, 1e-15 * far + BY_TYPE(1e-6, 1e-15));
    }
    free(A);
    free(p.x);
    cube_free(&cube);
}

/* With a sum of 1 endmembers may depend, a shade of zeros or a multiple, but not be mixtures of others, nor copies but for
   rounding. */
static void test_what_depends_with_a_sum(void **state) {
    enum { N = 6, C = 3 };
    double *E = new_spectra(N, C, 90);
    plain_cube p = new_mixtures(6, 7, N, C, E, 1, 91);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0);
    shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 6, 7, C);
    int how, b;
    (void)state;
    for (how = 0; how < 4; how++) {
        const shs_constraint constraint = (shs_constraint)how;
        const int sum = (how & SHS_CONSTRAINT_SUM) != 0;
        for (b = 0; b < N; b++) E[b + 2 * N] = 0;
        assert_status(shs_unmix(NULL, &cube, C, E, N, constraint, &sink), sum ? SHS_OK : SHS_DEPENDENT_ENDMEMBERS);
        for (b = 0; b < N; b++) E[b + 2 * N] = E[b] * 1.01;
        assert_status(shs_unmix(NULL, &cube, C, E, N, constraint, &sink), sum ? SHS_OK : SHS_DEPENDENT_ENDMEMBERS);
        for (b = 0; b < N; b++) E[b + 2 * N] = 0.3 * E[b] + 0.7 * E[b + N];
        assert_status(shs_unmix(NULL, &cube, C, E, N, constraint, &sink), SHS_DEPENDENT_ENDMEMBERS);
        for (b = 0; b < N; b++) E[b + 2 * N] = E[b] + (b % 2 ? 3e-14 : -3e-14);
        memcpy(E + N, E, N * sizeof *E);
        assert_status(shs_unmix(NULL, &cube, 2, E + N, N, constraint, &sink), SHS_DEPENDENT_ENDMEMBERS);
        free(E);
        E = new_spectra(N, C, 90);
    }
    free(E);
    free(p.x);
    cube_free(&cube);
    sink_free(&sink);
}

/* With any constraint, the abundances of an endmember are 1 for itself and 0 for the others. */
static void test_endmembers_are_unit_vectors(void **state) {
    int n = 21, c = 5, k;
    double *E = new_spectra(n, c, 8);
    plain_cube p = new_plain(1, c, n);
    shs_cube cube;
    size_t i;
    (void)state;
    memcpy(p.x, E, (size_t)(n * c) * sizeof *E);
    cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 0);
    for (i = 0; i < (size_t)(n * c); i++) E[i] = (double)(shs_wide)p.x[i];
    for (i = 0; i < 4; i++) {
        double *A = unmixed(NULL, &cube, c, E, n, constraints[i]);
        for (k = 0; k < c * c; k++) assert_close(A[k], k % (c + 1) == 0, 1e-9);
        free(A);
    }
    free(E);
    free(p.x);
    cube_free(&cube);
}

/* ---- endmembers -------------------------------------------------------------------------------------------------- */

static shs_endmembers found_by(const shs_context *ctx, const shs_cube *cube, shs_extractor method, int count, uint64_t seed) {
    shs_endmember_options o = SHS_ZERO;
    shs_endmembers e = SHS_ZERO;
    o.method = method;
    o.count = count;
    o.seed = seed;
    assert_ok(shs_endmembers_find(ctx, cube, &o, &e));
    assert_int_equal(e.count, count);
    return e;
}

/* In an arena what was found keeps no scratch below it. */
static void test_found_in_an_arena(void **state) {
    plain_cube p = mixed_cube(30, 40, 9, 4, 0.1, 61);
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    const size_t size = (size_t)1 << 24;
    void *memory = malloc(size);
    int method;
    (void)state;
    for (method = 0; method < SHS_EXTRACTOR_COUNT; method++) {
        shs_arena arena;
        shs_context ctx = SHS_ZERO;
        shs_endmembers e;
        ctx.threads = 1;
        shs_arena_init(&arena, memory, size);
        shs_arena_attach(&arena, &ctx);
        e = found_by(&ctx, &cube, (shs_extractor)method, 4, 5);
        assert_in_range(arena.used, 4 * 9 * sizeof(shs_wide), 4096);
        shs_endmembers_free(&ctx, &e);
        assert_int_equal(arena.used, 0);
    }
    free(memory);
    free(p.x);
    cube_free(&cube);
}

static void test_twins_of_extraction(void **state) {
    static const int sizes[][3] = {{3, 2, 40}, {7, 3, 200}, {12, 5, 431}, {24, 6, 700}};
    size_t s;
    int method, k, noise;
    (void)state;
    for (s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (noise = 0; noise < 2; noise++) { /* VCA has a way for each */
            int n = sizes[s][0], c = sizes[s][1], m = sizes[s][2];
            double *E = new_spectra(n, c, 30 + s), *room;
            plain_cube p = new_mixtures(1, m, n, c, E, noise ? 12 : 0.01, 40 + s), as_is;
            shs_cube cube = cube_of(&p, SHS_TYPE_F32, (shs_interleave)(s % SHS_INTERLEAVE_COUNT), 0);
            ptrdiff_t pixel[MOST];
            room = NEW(double, n * (2 * n + 2) + c * (m + c + 1) + n * m);
            as_is = plain_of(&cube);
            for (method = 0; method < SHS_EXTRACTOR_COUNT; method++) {
                shs_endmembers e = found_by(NULL, &cube, (shs_extractor)method, c, 5);
                if (method == SHS_EXTRACTOR_VCA) shs_vca_naive(n, m, as_is.x, c, 5, pixel, room);
                else if (method == SHS_EXTRACTOR_NFINDR) shs_nfindr_naive(n, m, as_is.x, c, 5, pixel, room);
                else shs_atgp_naive(n, m, as_is.x, c, pixel, room);
                for (k = 0; k < c; k++) {
                    assert_int_equal(e.pixel[k], pixel[k]);
                    assert_int_equal(e.rank[k], 0);
                    check_near("spectrum", (size_t)n, e.spectra + k * n, pixel_of(&as_is, e.pixel[k]), 0);
                }
                shs_endmembers_free(NULL, &e);
            }
            free(E);
            free(room);
            free(p.x);
            free(as_is.x);
            cube_free(&cube);
        }
}

/* Which of the pixels the endmembers are, as a set of bits. */
static unsigned picked(const shs_endmembers *e, const size_t *pure, int c) {
    unsigned set = 0;
    int k, j;
    for (k = 0; k < c; k++)
        for (j = 0; j < c; j++)
            if (e->pixel[k] == pure[j]) set |= 1u << j;
    return set;
}

/* The mixtures with a pure pixel of each material where pure says, and a copy from pixel 1200. Three pixels are missing: number 5
   is masked and lies beyond the simplex, 6 has a NaN and 7 holds the no-data value. */
static shs_cube cube_of_mixtures(plain_cube *p, unsigned char *mask, const double *E, int C, const size_t *pure) {
    size_t spectrum = (size_t)p->bands * sizeof(double);
    shs_cube cube;
    int k;
    memset(mask, 1, pixels_of(p));
    for (k = 0; k < C; k++) {
        memcpy(pixel_of(p, pure[k]), E + k * p->bands, spectrum);
        memcpy(pixel_of(p, 1200 + (size_t)k), E + k * p->bands, spectrum);
    }
    for (k = 0; k < p->bands; k++) pixel_of(p, 5)[k] = 1e6 * (k + 1);
    mask[5] = 0;
    pixel_of(p, 6)[3] = NOT_A_NUMBER;
    for (k = 0; k < p->bands; k++) pixel_of(p, 7)[k] = -77777;
    cube = cube_of(p, SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 1);
    cube.mask = mask;
    cube.has_nodata = 1;
    cube.nodata = -77777;
    return cube;
}

/* Mixtures without noise, and a pure pixel of each material: every method finds all of them, and of copies the first. A masked
   pixel beyond the simplex, one of NaN and one that holds the no-data value do not count. */
static void test_pure_pixels_are_found(void **state) {
    enum { C = 4, N = 18 };
    static const size_t pure[C] = {17, 250, 601, 1100};
    double *E = new_spectra(N, C, 50);
    plain_cube p = new_mixtures(40, 33, N, C, E, 0, 51);
    unsigned char *mask = NEW(unsigned char, pixels_of(&p));
    shs_cube cube;
    stream st;
    int method, seed, block;
    (void)state;
    cube = cube_of_mixtures(&p, mask, E, C, pure);
    for (method = 0; method < SHS_EXTRACTOR_COUNT; method++)
        for (seed = 0; seed < 5; seed++) {
            shs_endmembers e = found_by(NULL, &cube, (shs_extractor)method, C, (uint64_t)seed);
            /* ATGP looks for length: mixtures can be shorter than pure pixels only */
            assert_int_equal(picked(&e, pure, C), (1 << C) - 1);
            for (block = 1; block < 60; block += 13) { /* a stream: the same bits */
                shs_cube s = streamed(&cube, block, &st);
                shs_endmembers again = found_by(NULL, &s, (shs_extractor)method, C, (uint64_t)seed);
                assert_memory_equal(again.pixel, e.pixel, C * sizeof *e.pixel);
                assert_memory_equal(again.spectra, e.spectra, N * C * sizeof *e.spectra);
                shs_endmembers_free(NULL, &again);
            }
            shs_endmembers_free(NULL, &e);
        }
    free(E);
    free(p.x);
    free(mask);
    cube_free(&cube);
}

/* No single replacement makes N-FINDR's simplex larger: |det| by the abundances, which are its ratio. */
static void test_nfindr_cannot_grow(void **state) {
    enum { C = 4, N = 3 }; /* three bands and a sum of 1: barycentric coordinates */
    double *E = new_spectra(9, C, 60);
    plain_cube p = new_mixtures(20, 30, 9, C, E, 8, 61);
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0), scores;
    shs_pca_options o = SHS_ZERO;
    shs_pca pca;
    shs_sink sink = SHS_ZERO;
    shs_endmembers e = found_by(NULL, &cube, SHS_EXTRACTOR_NFINDR, C, 0);
    double *z = NEW(double, pixels_of(&p) * (N + 1)), corners[(N + 1) * C], *A;
    size_t i, k;
    (void)state;
    o.components = N;
    sink.pixels = z;
    sink.type = SHS_TYPE_F64;
    sink.interleave = SHS_INTERLEAVE_BIP;
    assert_ok(shs_pca_run(NULL, &cube, &o, &sink, &pca));
    for (i = pixels_of(&p); i-- > 0;) { /* [z; 1] */
        memmove(z + i * (N + 1), z + i * N, N * sizeof *z);
        z[i * (N + 1) + N] = 100;
    }
    for (k = 0; k < C; k++) memcpy(corners + k * (N + 1), z + e.pixel[k] * (N + 1), (N + 1) * sizeof *z);
    scores = cube;
    scores.pixels = z;
    scores.bands = N + 1;
    A = unmixed(NULL, &scores, C, corners, N + 1, SHS_CONSTRAINT_NONE);
    assert_true(largest_of(pixels_of(&p) * C, A) <= 1 + 1e-7);
    shs_endmembers_free(NULL, &e), shs_pca_free(NULL, &pca);
    free(E);
    free(p.x);
    free(z);
    free(A);
    cube_free(&cube);
}

/* ---- pixel purity ------------------------------------------------------------------------------------------------- */

static int *purity_of(const shs_context *ctx, const shs_cube *cube, int count, const shs_wide *skewers, double threshold) {
    int *counts = NEW(int, cube->lines * cube->samples);
    assert_ok(shs_ppi(ctx, cube, count, skewers, (shs_wide)threshold, counts));
    return counts;
}

static shs_wide *new_skewers(int n, int count, uint64_t seed) {
    shs_wide *skewers = NEW(shs_wide, n * count);
    shs_ppi_skewers(n, count, seed, skewers);
    return skewers;
}

static void test_ppi_twin(void **state) {
    static const int sizes[][3] = {{1, 1, 7}, {3, 5, 1}, {2, 31, 64}, {7, 32, 415}, {16, 33, 900}, {33, 70, 1300}};
    static const double thresholds[] = {0, 1e-3, 4};
    size_t s, t;
    int layout, k, b;
    (void)state;
    for (s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (layout = 0; layout < SHS_INTERLEAVE_COUNT; layout++) {
            int n = sizes[s][0], count = sizes[s][1], m = sizes[s][2], *counts = NEW(int, m);
            double *E = new_spectra(n, 3, 3 + s);
            shs_wide *skewers = new_skewers(n, count, 11 + s);
            plain_cube p = new_mixtures(1, m, n, 3, E, 5, 19 + s), as_is;
            shs_cube cube = cube_of(&p, layout == 1 ? SHS_TYPE_U16 : SHS_TYPE_F64, (shs_interleave)layout, layout == 1);
            as_is = plain_of(&cube);
            for (k = 0; k < count; k++) {
                double length2 = 0;
                for (b = 0; b < n; b++) length2 += (double)(skewers[k * n + b] * skewers[k * n + b]);
                assert_close(length2, 1, 1e-6);
            }
            for (t = 0; t < 3; t++) {
                int *fast = purity_of(NULL, &cube, count, skewers, thresholds[t]), sum = 0;
                shs_ppi_naive(n, m, as_is.x, count, skewers, (shs_wide)thresholds[t], counts);
                assert_memory_equal(fast, counts, (size_t)m * sizeof *fast);
                for (k = 0; k < m; k++) sum += fast[k];
                if (t == 0) assert_int_equal(sum, 2 * count);
                else assert_true(sum >= 2 * count);
                free(fast);
            }
            free(E);
            free(skewers);
            free(counts);
            free(p.x);
            free(as_is.x);
            cube_free(&cube);
        }
}

/* Mixtures without noise: all extremes are pure pixels, of copies the first. Missing pixels get -1, and a masked pixel beyond
   the simplex does not count. The same counts in any unit, block and number of threads. */
static void test_ppi_finds_pure_pixels(void **state) {
    enum { C = 4, N = 18, K = 90 };
    static const size_t pure[C] = {17, 250, 601, 1100};
    double *E = new_spectra(N, C, 50);
    shs_wide *skewers = new_skewers(N, K, 2);
    plain_cube p = new_mixtures(40, 33, N, C, E, 0, 51), scaled;
    unsigned char *mask = NEW(unsigned char, pixels_of(&p));
    size_t bytes = pixels_of(&p) * sizeof(int), i;
    shs_context ctx = SHS_ZERO;
    int k, t, block, *counts;
    shs_cube cube;
    stream st;
    (void)state;
    cube = cube_of_mixtures(&p, mask, E, C, pure);
    for (t = 0; t < 2; t++) {
        double threshold = t * 0.25;
        counts = purity_of(NULL, &cube, K, skewers, threshold);
        for (i = 0; i < pixels_of(&p); i++) {
            int expected = i >= 5 && i <= 7 ? -1 : 0;
            for (k = 0; k < C && t == 0; k++)
                if (i == pure[k]) expected = counts[i] > 0 ? counts[i] : 1;
            if (t == 0 || expected < 0) assert_int_equal(counts[i], expected);
        }
        for (k = 0; k < C && t; k++) assert_int_equal(counts[pure[k]], counts[1200 + k]);
        for (block = 1; block < 60; block += 13)
            for (ctx.threads = 1; ctx.threads <= 3; ctx.threads++) {
                shs_cube s = streamed(&cube, block, &st);
                int *again = purity_of(&ctx, &s, K, skewers, threshold);
                assert_memory_equal(again, counts, bytes);
                free(again);
            }
        free(counts);
    }
    cube_free(&cube);
    cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 0);
    scaled = new_plain(40, 33, N);
    for (i = 0; i < pixels_of(&p) * N; i++) scaled.x[i] = ldexp(p.x[i], -20);
    for (t = 0; t < 2; t++) {
        shs_cube small = cube_of(&scaled, SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 0);
        int *again = purity_of(NULL, &small, K, skewers, ldexp(t, -20));
        counts = purity_of(NULL, &cube, K, skewers, t);
        assert_memory_equal(again, counts, bytes);
        free(again);
        free(counts);
        cube_free(&small);
    }
    free(E);
    free(skewers);
    free(mask);
    free(p.x);
    free(scaled.x);
    cube_free(&cube);
}

typedef struct purity_ranks {
    const shs_cube *cube;
    const shs_wide *skewers;
    int ranks, count, *counts;
    double threshold;
    shs_status status[MOST_RANKS];
} purity_ranks;

static void rate_purity(const shs_context *ctx, int rank, void *arg) {
    purity_ranks *w = (purity_ranks *)arg;
    int first = w->cube->lines * rank / w->ranks, end = w->cube->lines * (rank + 1) / w->ranks;
    shs_cube part = slice_of(w->cube, first, end - first);
    w->status[rank] = shs_ppi(ctx, &part, w->count, w->skewers, (shs_wide)w->threshold, w->counts + first * w->cube->samples);
}

/* Lines 3 to 7 repeat line 2: of equal pixels on different ranks the first counts. */
static void test_ppi_of_ranks(void **state) {
    enum { N = 6, K = 40, SAMPLES = 101 };
    double *E = new_spectra(N, 3, 50);
    shs_wide *skewers = new_skewers(N, K, 4);
    plain_cube p = new_mixtures(8, SAMPLES, N, 3, E, 4, 51);
    shs_cube cube;
    int t, line, ranks, r, *counts;
    (void)state;
    for (line = 3; line < 8; line++)
        memcpy(pixel_of(&p, (size_t)line * SAMPLES), pixel_of(&p, 2 * SAMPLES), SAMPLES * N * sizeof(double));
    cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    for (t = 0; t < 2; t++) {
        counts = purity_of(NULL, &cube, K, skewers, t);
        for (ranks = 2; ranks <= 3; ranks++) {
            purity_ranks w;
            memset(&w, 0, sizeof w);
            w.cube = &cube;
            w.skewers = skewers;
            w.ranks = ranks;
            w.count = K;
            w.threshold = t;
            w.counts = NEW(int, 8 * SAMPLES);
            run_ranks(ranks, rate_purity, &w);
            for (r = 0; r < ranks; r++) assert_ok(w.status[r]);
            assert_memory_equal(w.counts, counts, 8 * SAMPLES * sizeof(int));
            free(w.counts);
        }
        free(counts);
    }
    free(E);
    free(skewers);
    free(p.x);
    cube_free(&cube);
}

static void test_ppi_bad_arguments(void **state) {
    enum { N = 5, K = 40 };
    double *E = new_spectra(N, 2, 1);
    shs_wide *skewers = new_skewers(N, K, 4);
    plain_cube p = new_mixtures(6, 7, N, 2, E, 1, 2);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0), s;
    shs_context ctx = SHS_ZERO;
    shs_status status;
    unsigned char mask[42] = {0};
    int counts[42], left, cancels;
    stream st;
    (void)state;
    assert_status(shs_ppi(NULL, NULL, K, skewers, 0, counts), SHS_BAD_CUBE);
    assert_status(shs_ppi(NULL, &cube, 0, skewers, 0, counts), SHS_BAD_MAP);
    assert_status(shs_ppi(NULL, &cube, INT_MAX / 2, skewers, 0, counts), SHS_BAD_MAP);
    assert_status(shs_ppi(NULL, &cube, K, NULL, 0, counts), SHS_BAD_MAP);
    assert_status(shs_ppi(NULL, &cube, K, skewers, -1, counts), SHS_BAD_OPTIONS);
    assert_status(shs_ppi(NULL, &cube, K, skewers, (shs_wide)NOT_A_NUMBER, counts), SHS_BAD_OPTIONS);
    assert_status(shs_ppi(NULL, &cube, K, skewers, 0, NULL), SHS_BAD_OUTPUT);
    cube.mask = mask;
    assert_status(shs_ppi(NULL, &cube, K, skewers, 0, counts), SHS_NO_PIXELS);
    cube.mask = NULL;
    skewers[7] = (shs_wide)NOT_A_NUMBER;
    assert_status(shs_ppi(NULL, &cube, K, skewers, 0, counts), SHS_BAD_MAP);
    skewers[7] = 0;
    s = streamed(&cube, 2, &st);
    for (left = 0; left < 7; left++) { /* two passes of three blocks */
        st.calls = 0;
        st.fail_at = left;
        assert_status(shs_ppi(NULL, &s, K, skewers, 1, counts), left < 6 ? SHS_READ_FAILED : SHS_OK);
    }
    status = SHS_NO_MEMORY;
    for (left = 0; status != SHS_OK; left++) {
        faulty f;
        faulty_attach(&f, left, &ctx);
        status = shs_ppi(&ctx, &cube, K, skewers, 1, counts);
        if (status != SHS_OK) assert_status(status, SHS_NO_MEMORY);
        assert_int_equal(f.outstanding, 0);
    }
    ctx.alloc_fn = NULL;
    ctx.free_fn = NULL;
    status = SHS_CANCELLED;
    for (cancels = 0; status != SHS_OK; cancels++) {
        watch w;
        watch_attach(&w, cancels, &ctx);
        status = shs_ppi(&ctx, &cube, K, skewers, 1, counts);
        if (status != SHS_OK) assert_status(status, SHS_CANCELLED);
        assert_int_equal(w.wrong, 0);
    }
    assert_true(cancels > 2);
    free(E);
    free(skewers);
    free(p.x);
    cube_free(&cube);
}

/* ---- how a call is made ------------------------------------------------------------------------------------------- */

typedef struct by_ranks {
    const shs_cube *cube;
    const double *E;
    int n, c, ranks;
    double *A; /* all ranks' */
    shs_status status[MOST_RANKS];
    shs_endmembers found[MOST_RANKS][SHS_EXTRACTOR_COUNT];
} by_ranks;

static void find_and_unmix(const shs_context *ctx, int rank, void *arg) {
    by_ranks *w = (by_ranks *)arg;
    int first = rank ? w->cube->lines * rank / w->ranks : 0, end = w->cube->lines * (rank + 1) / w->ranks, k;
    shs_cube part;
    shs_sink sink = SHS_ZERO;
    if (w->ranks == 3) {
        first = rank > 0;
        end = rank < 2 ? 1 : w->cube->lines;
    }
    part = slice_of(w->cube, first, end - first);
    if (end == first) part.pixels = NULL;
    sink.pixels = w->A + (size_t)first * (size_t)w->cube->samples * (size_t)w->c;
    sink.type = SHS_TYPE_F64;
    sink.interleave = SHS_INTERLEAVE_BIP;
    sink.rescale = 1;
    sink.low = 0;
    sink.high = 1;
    w->status[rank] = shs_unmix(ctx, &part, w->c, w->E, w->n, SHS_CONSTRAINT_FULL, &sink);
    for (k = 0; k < SHS_EXTRACTOR_COUNT && w->status[rank] == SHS_OK; k++) {
        shs_endmember_options o = SHS_ZERO;
        o.method = (shs_extractor)k;
        o.count = w->c;
        w->status[rank] = shs_endmembers_find(ctx, &part, &o, &w->found[rank][k]);
    }
}

static void test_ranks_and_threads_agree(void **state) {
    enum { C = 4, N = 13 };
    double *E = new_spectra(N, C, 70);
    plain_cube p = new_mixtures(23, 211, N, C, E, 5, 71);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0);
    shs_context ctx = SHS_ZERO;
    by_ranks one, w;
    size_t values = pixels_of(&p) * C;
    int threads, k, r;
    (void)state;
    memset(&one, 0, sizeof one);
    one.cube = &cube;
    one.E = E;
    one.n = N;
    one.c = C;
    one.ranks = 1;
    one.A = NEW(double, values);
    ctx.threads = 1;
    find_and_unmix(&ctx, 0, &one);
    assert_ok(one.status[0]);
    for (threads = 2; threads <= 3; threads++) {
        w = one;
        w.A = NEW(double, values);
        ctx.threads = threads;
        find_and_unmix(&ctx, 0, &w);
        assert_ok(w.status[0]);
        assert_memory_equal(w.A, one.A, values * sizeof(double));
        for (k = 0; k < SHS_EXTRACTOR_COUNT; k++) {
            assert_memory_equal(w.found[0][k].pixel, one.found[0][k].pixel, C * sizeof(size_t));
            shs_endmembers_free(NULL, &w.found[0][k]);
        }
        free(w.A);
    }
    for (threads = 2; threads <= 3; threads++) {
        w = one;
        w.A = NEW(double, values);
        w.ranks = threads;
        run_ranks(threads, find_and_unmix, &w);
        for (r = 0; r < threads; r++) {
            assert_ok(w.status[r]);
            for (k = 0; k < SHS_EXTRACTOR_COUNT; k++) {
                int i, begins[MOST_RANKS] = {0, threads == 3 ? 1 : 23 / 2, 1};
                for (i = 0; i < C; i++)
                    assert_int_equal(w.found[r][k].pixel[i] + (size_t)begins[w.found[r][k].rank[i]] * 211,
                                     one.found[0][k].pixel[i]);
                assert_memory_equal(w.found[r][k].spectra, one.found[0][k].spectra, N * C * sizeof(shs_wide));
                shs_endmembers_free(NULL, &w.found[r][k]);
            }
        }
        check_near("abundances by ranks", values, w.A, one.A, 1e-12);
        free(w.A);
    }
    for (k = 0; k < SHS_EXTRACTOR_COUNT; k++) shs_endmembers_free(NULL, &one.found[0][k]);
    free(one.A);
    free(E);
    free(p.x);
    cube_free(&cube);
}

/* Blocks of any size, every type of sink, missing pixels. */
static void test_streams_and_sinks(void **state) {
    enum { C = 3, N = 11 };
    double *E = new_spectra(N, C, 80), *A;
    plain_cube p = new_mixtures(17, 29, N, C, E, 10, 81), whole;
    shs_cube cube, out;
    stream st;
    int block, layout;
    size_t i;
    (void)state;
    pixel_of(&p, 40)[2] = NOT_A_NUMBER;
    cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BSQ, 0);
    A = unmixed(NULL, &cube, C, E, N, SHS_CONSTRAINT_FULL);
    for (i = 0; i < C; i++) assert_true(is_nan(A[40 * C + i]));
    for (block = 1; block <= 17; block += 4)
        for (layout = 0; layout < SHS_INTERLEAVE_COUNT; layout++) {
            shs_cube s = streamed(&cube, block, &st);
            shs_sink sink = new_sink(SHS_TYPE_F64, (shs_interleave)layout, 17, 29, C);
            assert_ok(shs_unmix(NULL, &s, C, E, N, SHS_CONSTRAINT_FULL, &sink));
            assert_int_equal(st.wrong, 0);
            out = sink_cube(&sink, 17, 29, C);
            whole = plain_of(&out);
            assert_true(largest_difference(pixels_of(&p) * C, whole.x, A) <= 0);
            free(whole.x);
            sink_free(&sink);
        }
    { /* stretched to bytes */
        shs_sink sink = new_sink(SHS_TYPE_U8, SHS_INTERLEAVE_BIP, 17, 29, C);
        unsigned char *bytes = (unsigned char *)sink.pixels, most = 0;
        sink.rescale = 1;
        sink.low = 1;
        sink.high = 255;
        assert_ok(shs_unmix(NULL, &cube, C, E, N, SHS_CONSTRAINT_FULL, &sink));
        for (i = 0; i < pixels_of(&p) * C; i++) {
            most = bytes[i] > most ? bytes[i] : most;
            assert_true(i / C == 40 ? bytes[i] == 0 : bytes[i] >= 1);
        }
        assert_int_equal(most, 255);
        sink_free(&sink);
    }
    free(E);
    free(A);
    free(p.x);
    cube_free(&cube);
}

static void test_bad_arguments(void **state) {
    enum { C = 3, N = 6 };
    double *E = new_spectra(N, C, 90);
    plain_cube p = new_mixtures(6, 7, N, C, E, 1, 91);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0);
    shs_sink sink = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BSQ, 6, 7, N);
    shs_endmember_options o = SHS_ZERO;
    shs_endmembers e = SHS_ZERO;
    unsigned char mask[42] = {0};
    double kept;
    int i;
    (void)state;
    assert_status(shs_unmix(NULL, &cube, C, NULL, N, SHS_CONSTRAINT_FULL, &sink), SHS_BAD_ENDMEMBERS);
    assert_status(shs_unmix(NULL, &cube, 0, E, N, SHS_CONSTRAINT_FULL, &sink), SHS_BAD_ENDMEMBERS);
    assert_status(shs_unmix(NULL, &cube, N + 1, E, N, SHS_CONSTRAINT_FULL, &sink), SHS_BAD_ENDMEMBERS);
    assert_status(shs_unmix(NULL, &cube, C, E, N - 1, SHS_CONSTRAINT_FULL, &sink), SHS_BAD_ENDMEMBERS);
    assert_status(shs_unmix(NULL, &cube, C, E, N, (shs_constraint)4, &sink), SHS_BAD_OPTIONS);
    assert_status(shs_unmix(NULL, &cube, C, E, N, SHS_CONSTRAINT_FULL, NULL), SHS_BAD_SINK);
    assert_status(shs_unmix(NULL, NULL, C, E, N, SHS_CONSTRAINT_FULL, &sink), SHS_BAD_CUBE);
    kept = E[4];
    E[4] = NOT_A_NUMBER;
    assert_status(shs_unmix(NULL, &cube, C, E, N, SHS_CONSTRAINT_FULL, &sink), SHS_BAD_ENDMEMBERS);
    E[4] = kept;
    for (i = 0; i < N; i++) E[i + 2 * N] = E[i];
    assert_status(shs_unmix(NULL, &cube, C, E, N, SHS_CONSTRAINT_FULL, &sink), SHS_DEPENDENT_ENDMEMBERS);
    for (i = 0; i < 3 * N; i++) { /* the third nearly depends on the others, in every order of the three */
        static const double rows[3][N] = {{1}, {0, 1}, {0.01, 0.99, 3.2e-8}};
        const int step = 1 + i / 3 % 2; /* 2: backwards */
        int place;
        for (place = 0; place < C; place++) memcpy(E + place * N, rows[(step * place + i) % 3], sizeof rows[0]);
        assert_status(shs_unmix(NULL, &cube, C, E, N, (shs_constraint)(i % 4), &sink), SHS_DEPENDENT_ENDMEMBERS);
    }
    memset(E, 0, N * sizeof *E);
    assert_status(shs_unmix(NULL, &cube, 1, E, N, SHS_CONSTRAINT_NONNEGATIVE, &sink), SHS_DEPENDENT_ENDMEMBERS);
    assert_true(holds_untouched(sink.pixels, 6 * 7 * N * sizeof(float)));
    assert_status(shs_endmembers_find(NULL, &cube, NULL, &e), SHS_BAD_OPTIONS);
    assert_status(shs_endmembers_find(NULL, &cube, &o, &e), SHS_BAD_COMPONENTS);
    o.count = 1;
    assert_status(shs_endmembers_find(NULL, &cube, &o, &e), SHS_BAD_COMPONENTS);
    o.count = N + 1;
    assert_status(shs_endmembers_find(NULL, &cube, &o, &e), SHS_BAD_COMPONENTS);
    o.count = 2;
    o.end_canary = 1;
    assert_status(shs_endmembers_find(NULL, &cube, &o, &e), SHS_BAD_OPTIONS);
    o.end_canary = 0;
    o.method = SHS_EXTRACTOR_COUNT;
    assert_status(shs_endmembers_find(NULL, &cube, &o, &e), SHS_BAD_OPTIONS);
    assert_null(shs_extractor_name(SHS_EXTRACTOR_COUNT));
    assert_string_equal(shs_extractor_name(SHS_EXTRACTOR_NFINDR), "nfindr");
    for (o.method = SHS_EXTRACTOR_VCA; o.method < SHS_EXTRACTOR_COUNT; o.method = (shs_extractor)(o.method + 1)) {
        assert_status(shs_endmembers_find(NULL, &cube, &o, NULL), SHS_BAD_OUTPUT);
        cube.mask = mask;
        assert_status(shs_endmembers_find(NULL, &cube, &o, &e), SHS_NO_PIXELS);
        mask[3] = 1;
        assert_status(shs_endmembers_find(NULL, &cube, &o, &e), SHS_RANK_TOO_LOW);
        mask[3] = 0;
        cube.mask = NULL;
    }
    assert_null(e.block);
    shs_endmembers_free(NULL, NULL);
    free(E);
    free(p.x);
    cube_free(&cube);
    sink_free(&sink);
}

/* A reader that goes on, from the end back to the start, and nowhere else. */
typedef struct forward {
    const shs_cube *cube;
    int next, passes;
} forward;

static int read_forward(void *user, int first_line, int lines, void *block) {
    forward *f = (forward *)user;
    size_t line = (size_t)f->cube->samples * (size_t)f->cube->bands * sizeof(float);
    if (first_line != (f->next < f->cube->lines ? f->next : 0)) return 1;
    f->passes += first_line == 0;
    f->next = first_line + lines;
    memcpy(block, (const unsigned char *)f->cube->pixels + (size_t)first_line * line, (size_t)lines * line);
    return 0;
}

/* Streams are read in order: by VCA and N-FINDR three times, by ATGP once for each endmember and once after each choice. */
static void test_streams_are_read_in_order(void **state) {
    enum { C = 4, N = 6 };
    static const int blocks[] = {1, 2, 5, 17, 0};
    double *E = new_spectra(N, C, 87);
    plain_cube p = new_mixtures(17, 11, N, C, E, 1, 88);
    int method, i, kind, list[] = {5, 0, 3, 2};
    (void)state;
    for (kind = 0; kind < 4; kind++) {
        shs_cube cube = cube_of(&p, SHS_TYPE_F32, kind % 2 ? SHS_INTERLEAVE_BIL : SHS_INTERLEAVE_BIP, 0);
        if (kind / 2) {
            cube.band_list = list;
            cube.band_count = 4;
        }
        for (method = 0; method < SHS_EXTRACTOR_COUNT; method++) {
            shs_endmembers whole = found_by(NULL, &cube, (shs_extractor)method, C, 3);
            for (i = 0; i < 5; i++) {
                shs_endmembers e;
                shs_cube s = cube;
                forward f = {NULL, 0, 0};
                f.cube = &cube;
                s.pixels = NULL;
                s.read_fn = read_forward;
                s.read_user = &f;
                s.block_lines = blocks[i];
                e = found_by(NULL, &s, (shs_extractor)method, C, 3);
                assert_memory_equal(e.pixel, whole.pixel, C * sizeof *e.pixel);
                assert_memory_equal(e.spectra, whole.spectra, (size_t)e.bands * C * sizeof *e.spectra);
                assert_int_equal(f.passes, method == SHS_EXTRACTOR_ATGP ? 2 * C : 3);
                shs_endmembers_free(NULL, &e);
            }
            shs_endmembers_free(NULL, &whole);
        }
        cube_free(&cube);
    }
    free(E);
    free(p.x);
}

/* Every allocation fails once, and every step is cancelled: a status, nothing leaks, and no result. */
static void test_faults(void **state) {
    enum { C = 3, N = 6 };
    double *E = new_spectra(N, C, 95);
    plain_cube p = new_mixtures(9, 31, N, C, E, 1, 96);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0), s;
    stream st;
    int method, left, fails, cancels;
    (void)state;
    for (method = 0; method <= SHS_EXTRACTOR_COUNT; method++) {
        shs_context ctx = SHS_ZERO;
        shs_status status = SHS_NO_MEMORY;
        for (left = 0; status != SHS_OK; left++) {
            faulty f;
            faulty_attach(&f, left, &ctx);
            ctx.threads = 1;
            if (method == SHS_EXTRACTOR_COUNT) {
                shs_sink sink = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BSQ, 9, 31, C);
                status = shs_unmix(&ctx, &cube, C, E, N, SHS_CONSTRAINT_FULL, &sink);
                sink_free(&sink);
            } else {
                shs_endmember_options o = SHS_ZERO;
                shs_endmembers e = SHS_ZERO;
                o.method = (shs_extractor)method;
                o.count = C;
                status = shs_endmembers_find(&ctx, &cube, &o, &e);
                assert_int_equal(e.block != NULL, status == SHS_OK);
                shs_endmembers_free(&ctx, &e);
            }
            if (status != SHS_OK) assert_status(status, SHS_NO_MEMORY);
            assert_int_equal(f.outstanding, 0);
        }
        assert_true(left > 2);
        ctx.alloc_fn = NULL;
        ctx.free_fn = NULL;
        if (method == SHS_EXTRACTOR_COUNT) break;
        for (fails = 0; fails < 60; fails++) { /* a stream that cannot be read */
            shs_endmember_options o = SHS_ZERO;
            shs_endmembers e = SHS_ZERO;
            s = streamed(&cube, 4, &st);
            st.fail_at = fails;
            o.method = (shs_extractor)method;
            o.count = C;
            status = shs_endmembers_find(NULL, &s, &o, &e);
            if (status == SHS_OK) shs_endmembers_free(NULL, &e);
            else assert_status(status, SHS_READ_FAILED);
            assert_int_equal(status == SHS_OK, st.calls <= fails);
        }
        status = SHS_CANCELLED;
        for (cancels = 0; status != SHS_OK; cancels++) {
            shs_endmember_options o = SHS_ZERO;
            shs_endmembers e = SHS_ZERO;
            watch w;
            watch_attach(&w, cancels, &ctx);
            o.method = (shs_extractor)method;
            o.count = C;
            status = shs_endmembers_find(&ctx, &cube, &o, &e);
            if (status == SHS_OK) shs_endmembers_free(NULL, &e);
            else assert_status(status, SHS_CANCELLED);
            assert_int_equal(w.wrong, 0);
        }
    }
    free(E);
    free(p.x);
    cube_free(&cube);
}

/* ---- a real cube ---------------------------------------------------------------------------------------------------- */

static double angle(int n, const double *x, const double *y, int next) {
    double xy = 0, xx = 0, yy = 0;
    int b;
    for (b = 0; b < n; b++) {
        xy += x[b] * y[b * next];
        xx += x[b] * x[b];
        yy += y[b * next] * y[b * next];
    }
    return acos(fmin(1, xy / sqrt(xx * yy)));
}

/* Matches endmembers to materials with the least sum of angles. Returns the mean angle. */
static double matched(int n, int c, const double *E, const double *published, int *order, double *angles) {
    double least = 1e9;
    int orders, k;
    for (orders = 0; orders < 256; orders++) {
        int o[4], seen = 0;
        double sum = 0;
        for (k = 0; k < c; k++) {
            o[k] = orders >> (2 * k) & 3;
            seen |= 1 << o[k];
        }
        if (seen != 15) continue;
        for (k = 0; k < c; k++) sum += angle(n, E + o[k] * n, published + k, c);
        if (sum < least) {
            least = sum;
            memcpy(order, o, sizeof o);
        }
    }
    for (k = 0; k < c; k++) angles[k] = angle(n, E + order[k] * n, published + k, c);
    return least / c;
}

/* The root of the mean squared difference to the published abundances. */
static double abundance_error(const shs_cube *cube, int n, int c, const double *E, const float *truth, const int *order) {
    size_t pixels = (size_t)cube->lines * (size_t)cube->samples, i;
    double *A = unmixed(NULL, cube, c, E, n, SHS_CONSTRAINT_FULL), error = 0;
    int k;
    for (k = 0; k < c; k++)
        for (i = 0; i < pixels; i++)
            error += pow(A[i * (size_t)c + (size_t)order[k]] - (double)truth[(size_t)k * pixels + i], 2);
    free(A);
    return sqrt(error / (double)pixels / c);
}

/* Jasper Ridge: angles to the published spectra, and the error of the abundances by FCLS. VCA: the mean of ten seeds. The
   published spectra are the values divided by 5,300. */
static void test_jasper(void **state) {
    enum { C = 4, N = 198, SEEDS = 10 };
    static const double most_angle[] = {0.4, 0.2, 0.35, 1e-7}, most_error[] = {0.26, 0.18, 0.24, 0.1};
    shs_cube cube = load_golden(JASPER);
    FILE *f = open_or_skip(data_path("cubes/jasper_endmembers.csv"));
    double *published = NEW(double, N * C), E[N * C];
    float *truth;
    int i, method, seed;
    (void)state;
    for (i = 0; i < N * C; i++) assert_int_equal(fscanf(f, "%lf%*[, \r\n]", published + i), 1);
    fclose(f);
    truth = read_f32_or_skip(data_path("cubes/jasper_abundances.img"), C * 10000);
    for (method = 0; method <= SHS_EXTRACTOR_COUNT; method++) {
        int seeds = method == SHS_EXTRACTOR_VCA ? SEEDS : 1, order[C], k;
        double sum = 0, error = 0, angles[C] = {0};
        for (seed = 0; seed < seeds; seed++) {
            double each[C];
            shs_endmembers e = SHS_ZERO;
            if (method < SHS_EXTRACTOR_COUNT) e = found_by(NULL, &cube, (shs_extractor)method, C, (uint64_t)seed);
            for (i = 0; i < N * C; i++) E[i] = e.spectra ? (double)e.spectra[i] : 5300 * published[i % N * C + i / N];
            sum += matched(N, C, E, published, order, each) / seeds;
            error += abundance_error(&cube, N, C, E, truth, order) / seeds;
            for (k = 0; k < C; k++) angles[k] += each[k] / seeds;
            shs_endmembers_free(NULL, &e);
        }
        printf("[   INFO   ] jasper, %s: angles %.3f %.3f %.3f %.3f, mean %.3f rad; abundances by FCLS off by %.3f (RMSE)\n",
               method < SHS_EXTRACTOR_COUNT ? shs_extractor_name((shs_extractor)method) : "published spectra", angles[0],
               angles[1], angles[2], angles[3], sum, error);
        assert_true(sum <= most_angle[method] && error <= most_error[method]);
    }
    free(published);
    free(truth);
    cube_free(&cube);
}

/* ---- how many ----------------------------------------------------------------------------------------------------- */

static shs_moments moments_of(const shs_cube *cube) {
    shs_moments m = SHS_ZERO;
    assert_ok(shs_moments_create(NULL, cube->bands, &m));
    assert_ok(shs_moments_update(NULL, cube, SHS_PRECISION_ALWAYS, &m));
    return m;
}

static int counted(const shs_moments *m, int method, double false_alarm, const shs_wide *noise) {
    shs_count_options o = SHS_ZERO;
    int count = -1;
    o.method = (shs_counter)method;
    o.false_alarm = (shs_wide)false_alarm;
    o.noise = noise;
    assert_ok(shs_count_materials(NULL, m, &o, &count));
    return count;
}

/* The twin's threshold is a quantile by another way: bisection on erfc. */
static double deviations_of(double false_alarm) {
    double low = 0, high = 40;
    int i;
    for (i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        if (0.5 * erfc(middle / sqrt(2.0)) > false_alarm) low = middle;
        else high = middle;
    }
    return low;
}

static void test_count_twins(void **state) {
    static const double alarms[] = {0.5, 0.2, 0.05, 1e-3, 1e-5, 1e-9, 1e-20};
    int n, method, a, seen[MOST + 30] = {0}, different = 0, i;
    (void)state;
    for (n = 2; n <= 17; n += 5) {
        int c = n < MOST ? n - 1 : MOST - 1, m = 300;
        double *E = new_spectra(n, c, 60 + (uint64_t)n), *room = NEW(double, n * m + 4 * n * n + 3 * n);
        plain_cube p = new_mixtures(1, m, n, c, E, 3, 70 + (uint64_t)n), as_is;
        shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0);
        shs_moments moments = moments_of(&cube);
        as_is = plain_of(&cube);
        for (method = 0; method < SHS_COUNTER_COUNT; method++)
            for (a = 0; a < (int)(sizeof alarms / sizeof *alarms); a++) {
                int got = counted(&moments, method, alarms[a], NULL);
                assert_int_equal(got, shs_count_naive((shs_counter)method, n, m, as_is.x, deviations_of(alarms[a]), room));
                seen[got] = 1;
            }
        shs_moments_free(NULL, &moments);
        free(E);
        free(room);
        free(p.x);
        free(as_is.x);
        cube_free(&cube);
    }
    for (i = 0; i < MOST + 30; i++) different += seen[i];
    assert_true(different >= 4); /* the threshold matters */
}

/* White noise at 30 dB: as many as the scene was mixed of, in 19 of 20 scenes; given noise leads to the same number. */
static void test_count_of_scenes(void **state) {
    int method, seed, b;
    (void)state;
    for (method = 0; method < SHS_COUNTER_COUNT; method++) {
        int right = 0, given = 0;
        for (seed = 0; seed < 20; seed++) {
            int n = 40, c = 3 + seed % 4;
            double *E = new_spectra(n, c, 100 + (uint64_t)seed), *noise = NEW(double, n * n);
            plain_cube p = new_mixtures(10, 300, n, c, E, 3, 200 + (uint64_t)seed);
            shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BSQ, 0);
            shs_moments moments = moments_of(&cube);
            for (b = 0; b < n; b++) noise[b + b * n] = 9;
            right += counted(&moments, method, 1e-3, NULL) == c;
            given += counted(&moments, method, 1e-3, noise) == c;
            shs_moments_free(NULL, &moments);
            free(E);
            free(noise);
            free(p.x);
            cube_free(&cube);
        }
        printf("[   INFO   ] %s: right in %d of 20 scenes, with the noise given in %d\n", shs_counter_name((shs_counter)method),
               right, given);
        assert_true(right >= 19 && given >= 19);
    }
}

/* Noise that differs between bands by a factor of 40 hides materials from HFC, but not from HySime and NWHFC. */
static void test_count_of_coloured_noise(void **state) {
    int n = 40, c = 4, i, b;
    double *E = new_spectra(n, c, 7);
    plain_cube p = new_mixtures(10, 300, n, c, E, 0.5, 8);
    shs_random r;
    shs_cube cube;
    shs_moments moments;
    (void)state;
    shs_random_seed(&r, 3);
    for (i = 0; i < 3000; i++)
        for (b = 0; b < n; b += 8) pixel_of(&p, (size_t)i)[b] += 20 * (double)shs_random_normal(&r);
    cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 0);
    moments = moments_of(&cube);
    assert_int_equal(counted(&moments, SHS_COUNTER_NWHFC, 0, NULL), c);
    assert_int_equal(counted(&moments, SHS_COUNTER_HYSIME, 0, NULL), c);
    assert_int_not_equal(counted(&moments, SHS_COUNTER_HFC, 0, NULL), c);
    shs_moments_free(NULL, &moments);
    free(E);
    free(p.x);
    cube_free(&cube);
}

/* Without noise all eigenvalues but as many as materials are rounding, which HFC does not count. */
static void test_count_without_noise(void **state) {
    enum { N = 40 };
    int c, seed;
    (void)state;
    if (sizeof(shs_wide) == sizeof(float)) skip(); /* the pixels themselves are rounded */
    for (c = 2; c < 6; c++)
        for (seed = 1; seed < 4; seed++) {
            double *E = new_spectra(N, c, (uint64_t)seed);
            plain_cube p = new_mixtures(10, 30, N, c, E, 0, (uint64_t)(seed + 10));
            shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
            shs_moments m = moments_of(&cube);
            assert_in_range(counted(&m, SHS_COUNTER_HFC, 0, NULL), 1, (uintmax_t)c);
            shs_moments_free(NULL, &m);
            free(E);
            free(p.x);
            cube_free(&cube);
        }
}

/* The number does not depend on the unit of the pixels, over the whole range in which their covariance is of normal numbers. */
static void test_count_in_any_unit(void **state) {
    enum { N = 12 };
    const int most = sizeof(shs_wide) == sizeof(double) ? 440 : 40;
    double *E = new_spectra(N, 4, 17), noise[N * N] = {0};
    plain_cube p = new_mixtures(10, 100, N, 4, E, 3, 18);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0);
    shs_moments m = moments_of(&cube);
    int expected[SHS_COUNTER_COUNT][2], method, k, i;
    (void)state;
    for (i = 0; i < N; i++) noise[i * (N + 1)] = 9;
    for (method = 0; method < SHS_COUNTER_COUNT; method++)
        for (i = 0; i < 2; i++) expected[method][i] = counted(&m, method, 0.05, i ? noise : NULL);
    for (k = -most; k <= most; k += most / 4) {
        shs_moments scaled = m;
        shs_wide sum[N], shift[N], products[N * N], other[N * N];
        for (i = 0; i < N; i++) {
            sum[i] = (shs_wide)ldexp((double)m.sum[i], k);
            shift[i] = (shs_wide)ldexp((double)m.shift[i], k);
        }
        for (i = 0; i < N * N; i++) {
            products[i] = (shs_wide)ldexp((double)m.products[i], 2 * k);
            other[i] = (shs_wide)ldexp(noise[i], 2 * k);
        }
        scaled.sum = sum;
        scaled.shift = shift;
        scaled.products = products;
        for (method = 0; method < SHS_COUNTER_COUNT; method++)
            for (i = 0; i < 2; i++)
                assert_int_equal(counted(&scaled, method, 0.05, i ? other : NULL), expected[method][i]);
    }
    shs_moments_free(NULL, &m);
    free(E);
    free(p.x);
    cube_free(&cube);
}

static void test_count_bad_arguments(void **state) {
    double *E = new_spectra(5, 2, 1), noise[25] = {0};
    plain_cube p = new_mixtures(2, 40, 5, 2, E, 1, 2);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0);
    shs_moments m = moments_of(&cube), none = SHS_ZERO;
    shs_count_options o = SHS_ZERO;
    int count = -1, i;
    (void)state;
    assert_int_equal(shs_count_materials(NULL, NULL, NULL, &count), SHS_BAD_MOMENTS);
    assert_int_equal(shs_count_materials(NULL, &none, NULL, &count), SHS_BAD_MOMENTS);
    assert_int_equal(shs_count_materials(NULL, &m, NULL, NULL), SHS_BAD_OUTPUT);
    o.false_alarm = (shs_wide)0.6;
    assert_int_equal(shs_count_materials(NULL, &m, &o, &count), SHS_BAD_OPTIONS);
    o.false_alarm = (shs_wide)-0.1;
    assert_int_equal(shs_count_materials(NULL, &m, &o, &count), SHS_BAD_OPTIONS);
    o.false_alarm = 0;
    o.method = SHS_COUNTER_COUNT;
    assert_int_equal(shs_count_materials(NULL, &m, &o, &count), SHS_BAD_OPTIONS);
    assert_null(shs_counter_name(SHS_COUNTER_COUNT));
    o.method = SHS_COUNTER_NWHFC;
    o.noise = noise;
    assert_int_equal(shs_count_materials(NULL, &m, &o, &count), SHS_SINGULAR_COVARIANCE);
    noise[3] = NOT_A_NUMBER;
    assert_int_equal(shs_count_materials(NULL, &m, &o, &count), SHS_NOT_FINITE);
    o.ldn = 4;
    assert_int_equal(shs_count_materials(NULL, &m, &o, &count), SHS_BAD_LDN);
    shs_moments_free(NULL, &m);
    cube_free(&cube);
    for (i = 0; i < 80; i++) pixel_of(&p, (size_t)i)[2] = 2 * pixel_of(&p, (size_t)i)[1]; /* no noise of its own */
    cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0);
    m = moments_of(&cube);
    for (i = 0; i < SHS_COUNTER_COUNT; i++) {
        o.method = (shs_counter)i;
        o.noise = NULL;
        o.ldn = 0;
        assert_int_equal(shs_count_materials(NULL, &m, &o, &count), i == SHS_COUNTER_HFC ? SHS_OK : SHS_SINGULAR_COVARIANCE);
    }
    shs_moments_free(NULL, &m);
    free(E);
    free(p.x);
    cube_free(&cube);
}

/* VCA of pixels without noise, whose brightness varies: the power outside of the signal is rounding, of either sign. That
   power is rounding also where there are as many bands as endmembers, with noise or without. The fast form chooses the
   pixels of the twin. */
static void test_vca_without_noise(void **state) {
    enum { MOST_BANDS = 12, C = 4, SAMPLES = 300, TRIALS = 120 };
    double *E, *room = NEW(double, 2 * MOST_BANDS * (MOST_BANDS + 1) + C * (SAMPLES + C + 1));
    ptrdiff_t expected[C];
    int trial, k, b;
    size_t i;
    shs_random r;
    (void)state;
    shs_random_seed(&r, 31);
    for (trial = 0; trial < TRIALS; trial++) {
        const int n = trial % 2 ? C : MOST_BANDS;
        plain_cube p = new_plain(1, SAMPLES, n);
        shs_endmembers found;
        shs_cube cube;
        E = new_spectra(n, C, (uint64_t)trial);
        for (i = 0; i < pixels_of(&p); i++) {
            double a[C], sum = 0;
            for (k = 0; k < C; k++) {
                a[k] = (double)shs_random_uniform(&r) + 0.01;
                sum += a[k];
            }
            for (k = 0; k < C; k++)
                for (b = 0; b < n; b++) pixel_of(&p, i)[b] += (0.5 + a[0]) * a[k] / sum * E[b + k * n];
            for (b = 0; b < n && n == C; b++) pixel_of(&p, i)[b] += 5 * (double)shs_random_normal(&r);
        }
        cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
        found = found_by(NULL, &cube, SHS_EXTRACTOR_VCA, C, (uint64_t)trial);
        shs_vca_naive(n, SAMPLES, p.x, C, (uint64_t)trial, expected, room);
        for (k = 0; k < C; k++) assert_int_equal(found.pixel[k], expected[k]);
        shs_endmembers_free(NULL, &found);
        free(E);
        free(p.x);
        cube_free(&cube);
    }
    free(room);
}

/* Pixels of one or two endmembers: rounding alone decides about the others, whose abundances are 0 or above, never below. */
static void test_nothing_below_zero(void **state) {
    enum { N = 6, C = 4, LINES = 20, SAMPLES = 25, TRIALS = 40 };
    const shs_type type = sizeof(shs_wide) == sizeof(double) ? SHS_TYPE_F64 : SHS_TYPE_F32;
    int trial, how, b, a, other;
    size_t i;
    shs_random r;
    (void)state;
    shs_random_seed(&r, 5);
    for (trial = 0; trial < TRIALS; trial++) {
        plain_cube p = new_plain(LINES, SAMPLES, N);
        shs_wide E[N * C];
        shs_cube cube;
        for (b = 0; b < N * C; b++) E[b] = shs_random_uniform(&r);
        for (i = 0; i < pixels_of(&p); i++) {
            const double share = (double)(i % 5) / 4;
            a = (int)(i % C);
            other = (int)(i / C % C);
            for (b = 0; b < N; b++)
                pixel_of(&p, i)[b] = share * (double)E[b + a * N] + (1 - share) * (double)E[b + other * N];
        }
        cube = cube_of(&p, type, SHS_INTERLEAVE_BIP, 0);
        for (how = SHS_CONSTRAINT_NONNEGATIVE; how <= SHS_CONSTRAINT_FULL; how += 2) {
            shs_sink sink = new_sink(type, SHS_INTERLEAVE_BIP, LINES, SAMPLES, C);
            plain_cube A;
            assert_ok(shs_unmix(NULL, &cube, C, E, N, (shs_constraint)how, &sink));
            A = sink_values(&sink, LINES, SAMPLES, C);
            for (i = 0; i < values_of(&A); i++) assert_true(A.x[i] >= 0);
            free(A.x);
            sink_free(&sink);
        }
        free(p.x);
        cube_free(&cube);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vca_without_noise),
        cmocka_unit_test(test_nothing_below_zero),
        cmocka_unit_test(test_twin),
        cmocka_unit_test(test_conditions_of_the_minimum),
        cmocka_unit_test(test_conditions_where_endmembers_are_alike),
        cmocka_unit_test(test_units_of_two),
        cmocka_unit_test(test_one_endmember),
        cmocka_unit_test(test_far_pixels),
        cmocka_unit_test(test_far_pixels_of_two),
        cmocka_unit_test(test_what_depends_with_a_sum),
        cmocka_unit_test(test_endmembers_are_unit_vectors),
        cmocka_unit_test(test_twins_of_extraction),
        cmocka_unit_test(test_pure_pixels_are_found),
        cmocka_unit_test(test_nfindr_cannot_grow),
        cmocka_unit_test(test_ppi_twin),
        cmocka_unit_test(test_ppi_finds_pure_pixels),
        cmocka_unit_test(test_ppi_of_ranks),
        cmocka_unit_test(test_ppi_bad_arguments),
        cmocka_unit_test(test_ranks_and_threads_agree),
        cmocka_unit_test(test_streams_and_sinks),
        cmocka_unit_test(test_streams_are_read_in_order),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_jasper),
        cmocka_unit_test(test_count_twins),
        cmocka_unit_test(test_count_of_scenes),
        cmocka_unit_test(test_count_of_coloured_noise),
        cmocka_unit_test(test_count_in_any_unit),
        cmocka_unit_test(test_found_in_an_arena),
        cmocka_unit_test(test_count_without_noise),
        cmocka_unit_test(test_count_bad_arguments),
    };
    return cmocka_run_group_tests_name("unmix", tests, NULL, NULL);
}
