/* 2_solutions.c - the exercises of lesson 2, solved. make test-course LESSONS=2 runs the checks. skeleton.sh 2 prints this file
   without the parts between YOUR TURN and END OF YOUR TURN. */
#include "course.h"

enum { P = 30, N = 70, M = 200, S = 5 };

static shs_real D[P * N], Y[P * M], G[N * N];

static void open_problem(void) {
    shs_random random;
    int i;
    shs_random_seed(&random, 22);
    check(shs_dictionary_random(P, N, D, P, 21), "the dictionary");
    for (i = 0; i < P * M; i++) Y[i] = (shs_real)shs_random_normal(&random);
    check(shs_gemm(NULL, SHS_TRANS_YES, SHS_TRANS_NO, N, N, P, 1, D, P, D, P, 0, G, N), "D'D");
}

static double dot(const shs_real *a, const double *b) {
    double sum = 0;
    int i;
    for (i = 0; i < P; i++) sum += (double)a[i] * b[i];
    return sum;
}

static double norm2(const double *r) {
    double sum = 0;
    int i;
    for (i = 0; i < P; i++) sum += r[i] * r[i];
    return sum;
}

/* The state of a pursuit of one signal by the recurrences of rung 4, in double: alpha, b_k, and for each atom its squared
   distance from the span of the chosen atoms. begin() starts a pursuit, take() adds an atom. */
typedef struct state {
    double alpha[N], b[S][N], distance[N], L[S][S], t[S], residual2;
    int k, atoms[S];
} state;

static void begin(state *z, const shs_real *y) {
    double wide[P];
    int i, j;
    memset(z, 0, sizeof *z);
    for (i = 0; i < P; i++) wide[i] = (double)y[i];
    for (j = 0; j < N; j++) {
        z->alpha[j] = dot(D + j * P, wide);
        z->distance[j] = (double)G[j * N + j];
    }
    z->residual2 = norm2(wide);
}

static void take(state *z, int chosen) {
    const int k = z->k++;
    double d;
    int i, j;
    z->atoms[k] = chosen;
    for (i = 0; i < k; i++) z->L[k][i] = z->b[i][chosen];
    d = z->L[k][k] = sqrt(z->distance[chosen]);
    z->t[k] = z->alpha[chosen] / d;
    for (j = 0; j < N; j++) {
        double v = (double)G[chosen * N + j];
        for (i = 0; i < k; i++) v -= z->L[k][i] * z->b[i][j];
        z->b[k][j] = v / d;
        z->alpha[j] -= z->t[k] * z->b[k][j];
        z->distance[j] -= z->b[k][j] * z->b[k][j];
    }
    z->residual2 -= z->t[k] * z->t[k];
}

static void coefficients(const state *z, double *x) {
    int i, k;
    for (k = z->k; k-- > 0;) {
        x[k] = z->t[k];
        for (i = k + 1; i < z->k; i++) x[k] -= z->L[i][k] * x[i];
        x[k] /= z->L[k][k];
    }
}

static void residual_of(const state *z, const shs_real *y, double *r) {
    double x[S];
    int i, k;
    coefficients(z, x);
    for (i = 0; i < P; i++) r[i] = (double)y[i];
    for (k = 0; k < z->k; k++)
        for (i = 0; i < P; i++) r[i] -= x[k] * (double)D[z->atoms[k] * P + i];
}

static int chosen_already(const state *z, int j) {
    int k;
    for (k = 0; k < z->k; k++)
        if (z->atoms[k] == j) return 1;
    return 0;
}

/* The atom with the largest alpha^2: the choice of OMP. */
static int best_of(const state *z) {
    double most = -1;
    int j, best = 0;
    for (j = 0; j < N; j++) {
        const double score = z->alpha[j] * z->alpha[j];
        if (!chosen_already(z, j) && score > most) {
            most = score;
            best = j;
        }
    }
    return best;
}

/* The |r|^2 that pursuit of signal i stops at. The first signal is within it from the start. */
static double limit_of(int i, const state *z) {
    if (i == 0) return 1.1 * z->residual2;
    return 0.4 * z->residual2;
}

/* 1. Pursuit until |r|^2 <= limit2. The recurrence of |r|^2 is compared with the residual itself, and the atoms with those that
   shs_omp_ex takes until the same error. */
static void exercise_1(void) {
    static shs_real limits[M];
    shs_omp_options options = SHS_ZERO;
    shs_codes codes = SHS_ZERO;
    double worst = 0;
    int i, steps = 0, differ = 0, taken = 0;
    for (i = 0; i < M; i++) {
        state z;
        begin(&z, Y + i * P);
        limits[i] = (shs_real)sqrt(limit_of(i, &z));
    }
    options.sparsity = S;
    options.tolerance_each = limits;
    check(shs_codes_create(NULL, M, S, &codes), "codes");
    check(shs_omp_ex(NULL, P, N, D, P, M, Y, P, &options, &codes, NULL, NULL), "coding");
    for (i = 0; i < M; i++) {
        double r[P], limit2;
        state z;
        begin(&z, Y + i * P);
        limit2 = limit_of(i, &z);
        /* YOUR TURN: take atoms until limit2 is reached or the signal has S of them. Count them in `steps`. */
        /* Each step takes t_k^2 off |r|^2, because t_k is the part of r along q_k. In float the differences of |y|^2 and
           t_k^2 are rounded by some 1e-7 |y|^2. So the two differ where |r| becomes small: five atoms for signals of three
           atoms and noise gave |r|^2 wrong by 0.2 % at |r| = 7e-3 |y|, by 18 % at 7e-4 |y|, and wholly below 2e-4 |y|. Here
           the state is in double, and what remains are the roundings of D and G. */
        while (z.k < S && z.residual2 > limit2) {
            take(&z, best_of(&z));
            steps++;
        }
        /* END OF YOUR TURN */
        residual_of(&z, Y + i * P, r);
        worst = larger_of(worst, fabs(norm2(r) - z.residual2));
        taken += codes.used[i];
        differ += z.k != codes.used[i] || memcmp(z.atoms, codes.atoms + i * S, (size_t)z.k * sizeof *z.atoms);
    }
    if (!steps) worst = HUGE_VAL;
    agrees("1: |r|^2 by the recurrence", worst, 1e-4);
    agrees("1: signals with other atoms than shs_omp_ex's", (double)differ / M, 0);
    agrees("1: steps less the atoms that shs_omp_ex takes", fabs((double)(steps - taken)), 0);
    shs_codes_free(NULL, &codes);
}

/* The largest |d_j'r| of all atoms: a step of matching pursuit takes its square off |r|^2. */
static double largest_product(const double *r) {
    double most = 0;
    int j;
    for (j = 0; j < N; j++) most = larger_of(most, fabs(dot(D + j * P, r)));
    return most;
}

/* 2. One step of matching pursuit of the residual r. Returns the atom. */
static int step_of_pursuit(double *r) {
    int atom = 0;
    /* YOUR TURN: choose the atom, and take its part off r. */
    double most = 0;
    int j, l;
    for (j = 0; j < N; j++) {
        const double product = dot(D + j * P, r);
        if (fabs(product) <= fabs(most)) continue;
        most = product;
        atom = j;
    }
    for (l = 0; l < P; l++) r[l] -= most * (double)D[atom * P + l];
    /* END OF YOUR TURN */
    return atom;
}

/* 3. The largest |d_j'r| of the S atoms in `atoms`. */
static double slant_of(const int *atoms, const double *r) {
    double slant = NAN;
    /* YOUR TURN: set `slant`. */
    int k;
    slant = 0;
    for (k = 0; k < S; k++) slant = larger_of(slant, fabs(dot(D + atoms[k] * P, r)));
    /* END OF YOUR TURN */
    return slant;
}

/* 2 and 3. Matching pursuit beside OMP: the residuals after S steps, and their products with the chosen atoms. */
static void exercises_2_and_3(void) {
    double sum = 0, sum_mp = 0, sum_omp = 0, slant_mp = 0, slant_omp = 0, slant_start = 0, fall = 0, left = 0;
    int i, k, l;
    for (i = 0; i < M; i++) {
        double r[P];
        int atoms[S], backwards[S];
        state z;
        begin(&z, Y + i * P);
        for (k = 0; k < S; k++) take(&z, best_of(&z));
        residual_of(&z, Y + i * P, r);
        sum_omp += norm2(r);
        slant_omp = larger_of(slant_omp, slant_of(z.atoms, r));
        for (l = 0; l < P; l++) r[l] = (double)Y[i * P + l];
        sum += norm2(r);
        for (k = 0; k < S; k++) backwards[k] = z.atoms[S - 1 - k];
        slant_start = larger_of(slant_start, fabs(slant_of(z.atoms, r) / largest_product(r) - 1));
        slant_start = larger_of(slant_start, fabs(slant_of(backwards, r) / largest_product(r) - 1));
        for (k = 0; k < S; k++) {
            const double before = norm2(r), most = largest_product(r);
            atoms[k] = step_of_pursuit(r);
            fall = larger_of(fall, fabs(before - norm2(r) - most * most) / before);
            left = larger_of(left, fabs(dot(D + atoms[k] * P, r)) / most);
        }
        sum_mp += norm2(r);
        slant_mp = larger_of(slant_mp, slant_of(atoms, r));
    }
    printf("  OMP leaves %.3g of |y|^2, matching pursuit %.3g\n", sum_omp / sum, sum_mp / sum);
    agrees("2: |r|^2 falls by the largest (d_j'r)^2 in each step; difference / |r|^2", fall, 1e-6);
    agrees("2: |d_j'r| of the atom after its step / before", left, 1e-6);
    agrees("3: |d_j'y| of the atoms of OMP, one of which has the largest of all", slant_start, 1e-12);
    agrees("3: largest |d_j'r| of an atom that OMP chose", slant_omp, 1e-4);
    agrees("3: what the largest |d_j'r| of matching pursuit's atoms lacks to 0.01", larger_of(0, 0.01 - slant_mp), 0);
}

/* 4. How good atom j is for OLS, from z->alpha[j] and z->distance[j]; the largest score is taken. */
static double score_of_ols(const state *z, int j) {
    double score = 0;
    /* YOUR TURN: the score. */
    /* With d the distance of atom j from the span of the chosen atoms, taking atom j reduces |r|^2 by alpha^2 / d^2. take() keeps
       all d^2 up to date: each step subtracts b_k^2. */
    score = z->alpha[j] * z->alpha[j] / z->distance[j];
    /* END OF YOUR TURN */
    return score;
}

/* 5. How good atom j is for the signals z[0] .. z[together-1], which share their atoms. */
static double score_of_group(const state *z, int together, int j) {
    double score = 0;
    int g;
    /* YOUR TURN: the score. */
    for (g = 0; g < together; g++) score += z[g].alpha[j] * z[g].alpha[j];
    /* END OF YOUR TURN */
    return score;
}

/* The share of signals, or of groups of `together` signals, with other atoms than shs_omp_ex finds. */
static double others(const shs_omp_options *options, int ols, int together) {
    shs_codes codes = SHS_ZERO;
    int i, k, g, count = 0;
    check(shs_codes_create(NULL, M, S, &codes), "codes");
    check(shs_omp_ex(NULL, P, N, D, P, M, Y, P, options, &codes, NULL, NULL), "coding");
    for (i = 0; i < M; i += together) {
        static state z[4];
        int same = 1;
        for (g = 0; g < together; g++) begin(&z[g], Y + (i + g) * P);
        for (k = 0; k < S; k++) {
            double most = -1;
            int j, best = 0;
            for (j = 0; j < N; j++) {
                const double score = ols ? score_of_ols(z, j) : score_of_group(z, together, j);
                if (!chosen_already(&z[0], j) && score > most) {
                    most = score;
                    best = j;
                }
            }
            for (g = 0; g < together; g++) take(&z[g], best);
            same = same && codes.atoms[i * S + k] == best;
        }
        count += !same;
    }
    shs_codes_free(NULL, &codes);
    return (double)count / (M / together);
}

static void exercise_4(void) {
    shs_omp_options options = SHS_ZERO;
    options.sparsity = S;
    options.selection = SHS_SELECT_OLS;
    agrees("4: signals with other atoms than shs_omp_ex's OLS", others(&options, 1, 1), 0);
}

static void exercise_5(void) {
    shs_omp_options options = SHS_ZERO;
    size_t groups[M / 4], i;
    for (i = 0; i < M / 4; i++) groups[i] = 4 * i;
    options.sparsity = S;
    options.groups = groups;
    options.group_count = M / 4;
    agrees("5: groups with other atoms than shs_omp_ex's", others(&options, 0, 4), 0);
}

int main(int argc, char **argv) {
    course_begin(argc, argv, "2_solutions", "the exercises of lesson 2");
    open_problem();
    exercise_1();
    exercises_2_and_3();
    exercise_4();
    exercise_5();
    return course_end();
}
