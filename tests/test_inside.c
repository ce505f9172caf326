/* test_inside.c - private functions whose cases no call of the API brings about. */
#include "test_cube_tools.h"

/* An atom that was chosen is not taken again, whatever a Gram matrix that is none says of its distance. */
static void test_atom_twice(void **state) {
    shs_real L[3] = {1}, t[2] = {1}, x[2] = {0};
    int atoms[2] = {7};
    shs__omp_signal w;
    (void)state;
    memset(&w, 0, sizeof w);
    w.L = L;
    w.t = t;
    w.x = x;
    w.atoms = atoms;
    w.error.shares.least = 1;
    w.error.shares.second = 1;
    w.error.shares.third = 1;
    w.error.residual2 = 10;
    w.chosen = 1;
    w.limit = 2;
    assert_int_equal(shs__omp_take(&w, 7, 1, 1, 1), 0);
    assert_true(w.chosen == 1 && w.error.residual2 == 10);
    assert_int_equal(shs__omp_take(&w, 6, 1, 1, 1), 1);
    assert_true(w.chosen == 2 && atoms[1] == 6 && w.error.residual2 == 9);
}

/* An atom takes the direction of y; where y has none it stays. The distance that K-SVD's steps stop by is of the atoms themselves. */
static void test_how_far_an_atom_moves(void **state) {
    const shs_real before[3] = {(shs_real)0.6, 0, (shs_real)0.8};
    shs_real d[3];
    const shs_wide none[3] = {0, (shs_wide)INFINITY, (shs_wide)NAN};
    shs_wide y[3] = {0, 0, 0};
    int k;
    (void)state;
    memcpy(d, before, sizeof d);
    for (k = 0; k < 3; k++) {
        y[1] = none[k];
        assert_int_equal(shs__dl_unit(3, y, d), 0);
        assert_true(shs__dl_distance2(3, d, before) == 0);
    }
    y[1] = 5;
    assert_int_equal(shs__dl_unit(3, y, d), 1);
    assert_close(shs__dl_distance2(3, d, before), 2, 1e-6);
    y[0] = -6;
    y[1] = 0;
    y[2] = -8;
    assert_int_equal(shs__dl_unit(3, y, d), 1);
    assert_close(shs__dl_distance2(3, d, before), 4, 1e-6);
    y[0] = 3;
    y[2] = 4;
    assert_int_equal(shs__dl_unit(3, y, d), 1);
    assert_close(shs__dl_distance2(3, d, before), 0, 1e-6);
}

/* A sweep tells the largest change of an a; where no two atoms have a part in common it is that of its own step. */
static void test_what_a_sweep_changes(void **state) {
    enum { N = 3 };
    const shs_real G[N * N] = {4, 0, 0, 0, 1, 0, 0, 0, (shs_real)0.25}, was[N] = {8, -3, 2};
    shs_real a[N] = {8, -3, 2}, x[N] = {0}, most, expected = 0;
    shs_lasso_options o = SHS_ZERO;
    shs__lasso_system system;
    shs__lasso_signal w;
    shs__lasso q;
    int j;
    (void)state;
    memset(&q, 0, sizeof q);
    memset(&w, 0, sizeof w);
    q.o = &o;
    w.lambda1 = 1;
    system.G = G;
    system.n = system.ldg = N;
    system.a = a;
    system.x = x;
    most = shs__lasso_sweep(&q, &w, N, NULL, &system, NULL);
    for (j = 0; j < N; j++) {
        const shs_real change = (shs_real)fabs((double)(a[j] - was[j]));
        assert_close(a[j], was[j] > 0 ? 1 : -1, 1e-6);
        if (change > expected) expected = change;
    }
    assert_close(most, expected, 1e-6);
}

/* Rotations make columns orthogonal, are orthonormal themselves and are all that was done. */
static void test_rotations_make_columns_orthogonal(void **state) {
    enum { P = 7 };
    const double bound = sizeof(shs_wide) == sizeof(float) ? 1e-4 : 1e-12;
    shs_real *random = new_normal(P * P, 12);
    shs_wide was[P * P], W[P * P], V[P * P];
    int i, j, l;
    (void)state;
    for (i = 0; i < P * P; i++) was[i] = W[i] = (shs_wide)random[i];
    shs__small_orthogonal_columns(P, SHS__BY_WIDE(1e-15, 1e-6), W, V);
    for (i = 0; i < P; i++)
        for (j = 0; j < P; j++) {
            double ww = 0, vv = 0, product = 0;
            for (l = 0; l < P; l++) {
                ww += (double)W[l + i * P] * (double)W[l + j * P];
                vv += (double)V[l + i * P] * (double)V[l + j * P];
                product += (double)was[i + l * P] * (double)V[l + j * P];
            }
            if (i != j) assert_close(ww, 0, 50 * bound);
            assert_close(vv, i == j, bound);
            assert_close(product, W[i + j * P], 10 * bound);
        }
    free(random);
}

/* Small whole numbers of every type, side by side, apart or at offsets, less one shift or one each: all exact. */
static void test_conversions(void **state) {
    static const ptrdiff_t offset[] = {4, 0, 9, 2, 7};
    shs_wide shift[5], out[5], room[5], value[5];
    unsigned char memory[16 * 8];
    int t, k, i;
    (void)state;
    for (t = SHS_TYPE_REAL; t < SHS_TYPE_COUNT; t++)
        for (k = 0; k < 12; k++) {
            shs_cube cube = SHS_ZERO;
            shs__reader r;
            shs__span span;
            int each = k & 1, apart = k / 2 % 3;
            memset(&r, 0, sizeof r);
            cube.type = (shs_type)t;
            r.view.cube = &cube;
            r.view.bs = 1;
            r.view.size = shs_type_size(cube.type);
            r.kernels = shs__element_kernels(k / 6);
            span.from = memory;
            span.count = 5;
            span.stride = apart == 1 ? 2 : 1;
            span.offset = apart == 2 ? offset : NULL;
            for (i = 0; i < 16; i++) store_value(memory + (size_t)i * r.view.size, cube.type, 0, 7 * i % 11);
            for (i = 0; i < 5; i++) shs__px_put_element(r.kernels, shift, (size_t)i, 3 + i * i % 7);
            shs__px_read_values(cube.type, &span, value);
            shs__px_convert_span(&r, &span, shift, each, room, out);
            for (i = 0; i < 5; i++) {
                int at = (int)(span.offset ? offset[i] : i * span.stride), less = each ? 3 + i * i % 7 : 3;
                assert_true(value[i] == 7 * at % 11);
                assert_true(shs__px_get_element(r.kernels, out, (size_t)i) == 7 * at % 11 - less);
            }
        }
}

/* Of entries of the same magnitude the first decides the sign, and what goes with the vector is turned along. */
static void test_sign_of_equals(void **state) {
    shs_wide v[3] = {-3, 3, 1}, with[3] = {1, 2, -4};
    (void)state;
    shs__pca_fix_sign(3, v, 1, with);
    assert_true(v[0] == 3 && v[1] == -3 && v[2] == -1);
    assert_true(with[0] == -1 && with[1] == -2 && with[2] == 4);
    shs__pca_fix_sign(3, v, 1, with);
    assert_true(v[0] == 3 && v[1] == -3 && with[2] == 4);
}

/* The step mu: 1 at first and where plain steps are asked for; a half where plain steps have long swung between two places, which
   then gives the middle; at most 4 where each step pulls as far as the one before. */
static void test_steps(void **state) {
    shs_wide W[2] = {1, 0}, P[2] = {(shs_wide)0.8, (shs_wide)0.6}, before[2], pull[2], room[4], vectors[4];
    shs_ica_options o = SHS_ZERO;
    shs__iteration it = SHS_ZERO;
    shs__directions g;
    (void)state;
    g.first = 0;
    g.count = 1;
    it.W = W;
    it.P = P;
    it.before = before;
    it.pull = pull;
    it.room = room;
    it.vectors = vectors;
    shs__ica_relax(2, &o, &it, g, 1);
    assert_close(W[0], 0.8, 1e-6);
    assert_close(W[1], 0.6, 1e-6);
    P[0] = 1;
    P[1] = 0;
    shs__ica_relax(2, &o, &it, g, SHS__ICA_STEPS_UNSHORTENED + 1);
    assert_close(W[0], 3 / sqrt(10.0), 1e-6);
    assert_close(W[1], 1 / sqrt(10.0), 1e-6);
    o.plain_steps = 1;
    shs__ica_relax(2, &o, &it, g, 2);
    assert_close(W[0], 1, 1e-6);
    assert_close(W[1], 0, 1e-6);
    o.plain_steps = 0;
    pull[0] = W[0] - before[0]; /* as if the last step had been whole */
    pull[1] = W[1] - before[1];
    P[0] = W[0] + pull[0];
    P[1] = W[1] + pull[1];
    shs__ica_relax(2, &o, &it, g, 2);
    assert_close(W[1] / W[0], 4 * pull[1] / (1 + 4 * pull[0]), 1e-6);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_atom_twice),
        cmocka_unit_test(test_how_far_an_atom_moves),
        cmocka_unit_test(test_what_a_sweep_changes),
        cmocka_unit_test(test_rotations_make_columns_orthogonal),
        cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_sign_of_equals),
        cmocka_unit_test(test_steps),
    };
    return cmocka_run_group_tests_name("inside", tests, NULL, NULL);
}
