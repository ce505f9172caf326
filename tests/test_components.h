/* test_components.h - what the tests of components share: what holds of every result, and when two are the same to the bit. */
#ifndef SHS_TEST_COMPONENTS_H
#define SHS_TEST_COMPONENTS_H
#include "test_cube_tools.h"

/* op(A) B for column-major A (m x k, or k x m where transposed) and B (k x n). */
static inline double *naive_product(int transposed, int m, int n, int k, const double *A, const double *B) {
    double *C = NEW(double, m * n);
    int row_step = 1, column_step = m; /* from one element of op(A) to the next */
    int i, j, l;
    if (transposed) {
        row_step = k;
        column_step = 1;
    }
    for (j = 0; j < n; j++)
        for (i = 0; i < m; i++)
            for (l = 0; l < k; l++) C[j * m + i] += A[i * row_step + l * column_step] * B[j * k + l];
    return C;
}

static inline int same_pca(const shs_pca *a, const shs_pca *b) {
    size_t B = (size_t)a->bands, K = (size_t)a->components, w = sizeof(shs_wide);
    return a->bands == b->bands && a->components == b->components && a->count == b->count &&
           a->eigenvalue_count == b->eigenvalue_count && memcmp(&a->total_variance, &b->total_variance, w) == 0 &&
           memcmp(a->mean, b->mean, B * w) == 0 && memcmp(a->scale, b->scale, B * w) == 0 &&
           memcmp(a->eigenvalues, b->eigenvalues, (size_t)a->eigenvalue_count * w) == 0 &&
           memcmp(a->vectors, b->vectors, B * K * w) == 0 && memcmp(a->forward, b->forward, B * K * w) == 0 &&
           memcmp(a->backward, b->backward, B * K * w) == 0;
}

static inline double off_identity(int m, const double *A) {
    double most = 0;
    int i, j;
    for (j = 0; j < m; j++)
        for (i = 0; i < m; i++) most = fmax(most, fabs(A[j * m + i] - (i == j)));
    return most;
}

/* Checks the properties of every result of FastICA: an orthonormal rotation, consistent matrices, signs, components. */
static inline void check_ica(const shs_ica *ica) {
    int m = ica->components, B = ica->bands, k, b, all = 1;
    double *RtR = naive_product(1, m, m, m, ica->rotation, ica->rotation);
    double *U = naive_product(1, m, B, m, ica->rotation, ica->whitening);
    double *UM = naive_product(0, m, m, B, ica->unmixing, ica->mixing);
    int *seen = NEW(int, m);
    if (!(off_identity(m, RtR) <= 1e-10)) fail_msg("rotation: R'R is off the identity by %g", off_identity(m, RtR));
    check_near("unmixing", (size_t)(m * B), ica->unmixing, U, 1e-10 * largest_of((size_t)(m * B), U));
    assert_true(off_identity(m, UM) <= 1e-9);
    for (k = 0; k < m; k++) {
        double most = 0;
        const shs_ica_component *c = ica->component + k;
        for (b = 0; b < B; b++)
            if (fabs(ica->unmixing[b * m + k]) > (1 + 1e-5) * fabs(most)) most = ica->unmixing[b * m + k];
        assert_true(most > 0);
        assert_in_range(c->extraction, 0, m - 1);
        assert_int_equal(seen[c->extraction]++, 0);
        assert_true(c->iterations >= 0 && c->restarts >= 0);
        all = all && c->converged;
        if (k) assert_true(ica->eigenvalues[k] <= ica->eigenvalues[k - 1]);
    }
    assert_int_equal(!!ica->converged, all);
    free(RtR);
    free(U);
    free(UM);
    free(seen);
}

static inline int same_ica(const shs_ica *a, const shs_ica *b) {
    size_t m = (size_t)a->components, B = (size_t)a->bands, w = sizeof(shs_wide), k;
    if (a->components != b->components || a->bands != b->bands || a->converged != b->converged ||
        a->used_moments != b->used_moments)
        return 0;
    for (k = 0; k < m; k++)
        if (a->component[k].iterations != b->component[k].iterations || a->component[k].restarts != b->component[k].restarts ||
            a->component[k].extraction != b->component[k].extraction ||
            memcmp(&a->component[k].change, &b->component[k].change, w) ||
            memcmp(&a->component[k].kurtosis, &b->component[k].kurtosis, w) ||
            memcmp(&a->component[k].negentropy, &b->component[k].negentropy, w))
            return 0;
    return memcmp(a->mean, b->mean, B * w) == 0 && memcmp(a->eigenvalues, b->eigenvalues, m * w) == 0 &&
           memcmp(a->whitening, b->whitening, m * B * w) == 0 && memcmp(a->rotation, b->rotation, m * m * w) == 0 &&
           memcmp(a->unmixing, b->unmixing, m * B * w) == 0 && memcmp(a->mixing, b->mixing, m * B * w) == 0;
}

/* ---- ranks with a share of the lines each, of which some call may fail --------------------------------------------- */

enum { RANK_READ = 0, RANK_ALLOCATION, RANK_STEP, RANK_FAULTS };
/* The status of the rank whose call fails, and the status of the other ranks. */
static const shs_status rank_fails[RANK_FAULTS] = {SHS_READ_FAILED, SHS_NO_MEMORY, SHS_CANCELLED};
static const shs_status others_say[RANK_FAULTS] = {SHS_PEER_FAILED, SHS_PEER_FAILED, SHS_CANCELLED};

typedef struct rank_share {
    shs_cube lines, used;      /* in memory, and as a stream */
    int fails_at[RANK_FAULTS]; /* the call that fails, from 0; negative: none */
    stream s;
    watch progress;
    faulty f;
    shs_context ctx;
    shs_status status;
} rank_share;

/* Gives `lines` lines to each rank, and the rest to the last rank. */
static inline void share_lines(rank_share *shares, int ranks, const shs_cube *cube, int lines) {
    int r, k;
    memset(shares, 0, (size_t)ranks * sizeof *shares);
    for (r = 0; r < ranks; r++) {
        for (k = 0; k < RANK_FAULTS; k++) shares[r].fails_at[k] = -1;
        if (r == ranks - 1) shares[r].lines = slice_of(cube, r * lines, cube->lines - r * lines);
        else shares[r].lines = slice_of(cube, r * lines, lines);
    }
}

/* Makes a rank's context and stream ready for its call. */
static inline const shs_context *rank_begins(rank_share *me, const shs_context *given, int block_lines) {
    me->ctx = *given;
    me->used = streamed(&me->lines, block_lines, &me->s);
    me->s.fail_at = me->fails_at[RANK_READ];
    faulty_attach(&me->f, me->fails_at[RANK_ALLOCATION], &me->ctx);
    watch_attach(&me->progress, me->fails_at[RANK_STEP], &me->ctx);
    return &me->ctx;
}

#endif
