/* 3_solutions.c - the exercises of lesson 3, solved. make test-course LESSONS=3 runs the checks. skeleton.sh 3 prints this file
   without the parts between YOUR TURN and END OF YOUR TURN. */
#include "course.h"

enum { P = 16, N = 24, S = 3, M = 400 };

static shs_real Y[P * M], start[P * N], D[P * N];
static double E[P * M], X[N * M]; /* Y - DX, and the codes with their zeros */

/* Value l of atom j. */
static double atom_value(int j, int l) { return (double)D[j * P + l]; }

/* Makes each signal from S atoms of a hidden dictionary. */
static void open_problem(shs_real *hidden) {
    shs_random random;
    int i, k, l;
    check(shs_dictionary_random(P, N, hidden, P, 31), "the hidden dictionary");
    check(shs_dictionary_random(P, N, start, P, 32), "the start");
    shs_random_seed(&random, 33);
    memset(Y, 0, sizeof Y);
    for (i = 0; i < M; i++)
        for (k = 0; k < S; k++) {
            const int j = (int)((double)N * shs_random_uniform(&random)) % N;
            const shs_real x = (shs_real)shs_random_normal(&random);
            for (l = 0; l < P; l++) Y[i * P + l] += x * hidden[j * P + l];
        }
}

/* Y - DX of the atoms and the codes as they are now. */
static void error_of(double *error) {
    int i, k, l;
    for (i = 0; i < M; i++)
        for (l = 0; l < P; l++) {
            double sum = (double)Y[i * P + l];
            for (k = 0; k < N; k++) sum -= atom_value(k, l) * X[i * N + k];
            error[i * P + l] = sum;
        }
}

/* Codes by the header, in D = start. */
static void code(void) {
    shs_codes codes = SHS_ZERO;
    int i, k;
    memcpy(D, start, sizeof D);
    check(shs_codes_create(NULL, M, S, &codes), "codes");
    check(shs_omp(NULL, P, N, D, M, Y, S, &codes), "coding");
    memset(X, 0, sizeof X);
    for (i = 0; i < M; i++)
        for (k = 0; k < codes.used[i]; k++) X[i * N + codes.atoms[i * S + k]] = (double)codes.coefs[i * S + k];
    error_of(E);
    shs_codes_free(NULL, &codes);
}

static double sum_of_squares(int count, const double *values) {
    double sum = 0;
    int i;
    for (i = 0; i < count; i++) sum += values[i] * values[i];
    return sum;
}

/* F x' at unit length, where F = E + d x on the signals that use atom j. */
static void new_atom(int j, double *d_new) {
    double length;
    int i, l;
    for (l = 0; l < P; l++) {
        d_new[l] = 0;
        for (i = 0; i < M; i++) d_new[l] += (E[i * P + l] + atom_value(j, l) * X[i * N + j]) * X[i * N + j];
    }
    length = sqrt(sum_of_squares(P, d_new));
    for (l = 0; l < P; l++) d_new[l] = length > 0 ? d_new[l] / length : atom_value(j, l);
}

/* The header's dictionary after one iteration from the same start. */
static double difference_to_header(shs_update update) {
    shs_real header[P * N];
    shs_ksvd_options o = SHS_ZERO;
    o.coding.sparsity = S;
    o.iterations = 1;
    o.start = SHS_START_GIVEN;
    o.update = update;
    o.replace = SHS_REPLACE_LEAVE;
    o.keep = SHS_KEEP_LAST;
    memcpy(header, start, sizeof header);
    check(shs_ksvd_ex(NULL, P, N, M, Y, P, &o, header, P, NULL, NULL), "learning");
    return relative_difference(P * N, D, header);
}

/* 1. SGK: the atom changes, its coefficients stay. */
static void exercise_1(void) {
    double d_new[P];
    int i, j, l;
    code();
    /* YOUR TURN: update the atoms of D one after another (new_atom), and keep E = Y - DX up to date. */
    for (j = 0; j < N; j++) {
        new_atom(j, d_new);
        for (l = 0; l < P; l++) {
            for (i = 0; i < M; i++) E[i * P + l] -= (d_new[l] - atom_value(j, l)) * X[i * N + j];
            D[j * P + l] = (shs_real)d_new[l];
        }
    }
    /* END OF YOUR TURN */
    agrees("1: SGK as shs_ksvd_ex has it", difference_to_header(SHS_UPDATE_SGK), 1e-4);
}

/* 2. MOD: all atoms at once for the given codes. */
static void exercise_2(void) {
    static double A[N][N], B[P][N];
    int i, j, k, l;
    code();
    /* YOUR TURN: solve D XX' = YX' for D (P x N), then scale each atom to unit length. A and B may hold XX' and YX'. */
    for (j = 0; j < N; j++) {
        for (k = 0; k < N; k++) {
            A[j][k] = 0;
            for (i = 0; i < M; i++) A[j][k] += X[i * N + j] * X[i * N + k];
        }
        for (l = 0; l < P; l++) {
            B[l][j] = 0;
            for (i = 0; i < M; i++) B[l][j] += (double)Y[i * P + l] * X[i * N + j];
        }
    }
    for (k = 0; k < N; k++) /* elimination; XX' is symmetric and positive definite, so no pivots are needed */
        for (j = k + 1; j < N; j++) {
            const double factor = A[j][k] / A[k][k];
            for (i = k; i < N; i++) A[j][i] -= factor * A[k][i];
            for (l = 0; l < P; l++) B[l][j] -= factor * B[l][k];
        }
    for (l = 0; l < P; l++)
        for (k = N; k-- > 0;) {
            for (j = k + 1; j < N; j++) B[l][k] -= A[k][j] * B[l][j];
            B[l][k] /= A[k][k];
        }
    for (j = 0; j < N; j++) {
        double sum = 0;
        for (l = 0; l < P; l++) sum += B[l][j] * B[l][j];
        for (l = 0; l < P; l++) D[j * P + l] = (shs_real)(B[l][j] / sqrt(sum));
    }
    /* END OF YOUR TURN */
    agrees("2: MOD as shs_ksvd_ex has it", difference_to_header(SHS_UPDATE_MOD), 1e-4);
}

/* 3. An update of one atom cannot raise the error. */
static void one_atom_after_another(void) {
    static double error[P * M];
    double d_new[P], before, after, rise = -1, worst = 0;
    int i, j, l;
    code();
    before = sum_of_squares(P * M, E);
    for (j = 0; j < N; j++) {
        double F[P];
        /* YOUR TURN: update atom j by AK-SVD: d_new, which then is atom j of D, the coefficients X[i * N + j], and E. */
        /* d_new is a step towards the best rank-one approximation of F, and x_new is the best coefficient for d_new. */
        new_atom(j, d_new);
        for (i = 0; i < M; i++) {
            double x_new = 0;
            if (X[i * N + j] == 0) continue;
            for (l = 0; l < P; l++) {
                F[l] = E[i * P + l] + atom_value(j, l) * X[i * N + j];
                x_new += F[l] * d_new[l];
            }
            for (l = 0; l < P; l++) E[i * P + l] = F[l] - d_new[l] * x_new;
            X[i * N + j] = x_new;
        }
        for (l = 0; l < P; l++) D[j * P + l] = (shs_real)d_new[l];
        /* END OF YOUR TURN */
        error_of(error);
        after = sum_of_squares(P * M, error);
        rise = larger_of(rise, (after - before) / before);
        before = after;
        for (i = 0; i < P * M; i++) worst = larger_of(worst, fabs(E[i] - error[i]));
    }
    if (!memcmp(D, start, sizeof D)) rise = worst = HUGE_VAL; /* nothing was updated */
    agrees("3: AK-SVD as shs_ksvd_ex has it", difference_to_header(SHS_UPDATE_AKSVD), 1e-4);
    agrees("3: E less Y - DX", worst, 1e-5);
    agrees("3: largest rise of the error by an update of one atom (share)", rise, 1e-6);
}

/* One signal, three atoms and their coefficients, and the same after an update. */
typedef struct example_of_three {
    double y[2], d[3][2], x[3], d_new[3][2], x_new[3];
} example_of_three;

/* |y - Dx|, where the atoms whose bits are set in `updated` are the new ones. */
static double error_of_three(const example_of_three *z, int updated) {
    double r[2];
    int j, l;
    for (l = 0; l < 2; l++) {
        r[l] = z->y[l];
        for (j = 0; j < 3; j++) {
            if (updated >> j & 1) r[l] -= z->d_new[j][l] * z->x_new[j];
            else r[l] -= z->d[j][l] * z->x[j];
        }
    }
    return sqrt(sum_of_squares(2, r));
}

/* 3. An update of several atoms at once can raise the error. */
static void three_atoms_at_once(void) {
    example_of_three z;
    double lengths = 0, alone = 0;
    int j, l, unused = 0;
    for (l = 0; l < 2; l++) z.y[l] = NAN;
    for (j = 0; j < 3; j++) {
        for (l = 0; l < 2; l++) z.d[j][l] = z.d_new[j][l] = NAN;
        z.x[j] = z.x_new[j] = NAN;
    }
    /* YOUR TURN: a signal z.y of two values, three atoms z.d of unit length and their coefficients z.x, and what AK-SVD makes of
       each atom from the same E: z.d_new and z.x_new. */
    /* y = (5/2, 1), and all three atoms are (1, 0) with coefficient 1/2, so E = (1, 1). Updated alone, an atom takes over
       F = E + d / 2 = (3/2, 1) and leaves no error. Updated at once, the three take over 3 F. */
    z.y[0] = 2.5;
    z.y[1] = 1;
    for (j = 0; j < 3; j++) {
        z.d[j][0] = 1;
        z.d[j][1] = 0;
        z.x[j] = 0.5;
        z.x_new[j] = sqrt(1.5 * 1.5 + 1);
        z.d_new[j][0] = 1.5 / z.x_new[j];
        z.d_new[j][1] = 1 / z.x_new[j];
    }
    /* END OF YOUR TURN */
    for (j = 0; j < 3; j++) {
        lengths = larger_of(lengths, fabs(sum_of_squares(2, z.d[j]) - 1));
        lengths = larger_of(lengths, fabs(sum_of_squares(2, z.d_new[j]) - 1));
        alone = larger_of(alone, error_of_three(&z, 1 << j));
        unused += !(fabs(z.x[j]) > 0);
    }
    agrees("3: squared lengths of the atoms less 1", lengths, 1e-12);
    agrees("3: atoms that the signal does not use, which AK-SVD leaves as they are", unused, 0);
    agrees("3: error after an update of one atom, of one signal", alone, 1e-12);
    agrees("3: error before / after an update of three atoms at once", error_of_three(&z, 0) / error_of_three(&z, 7), 0.999);
}

static void exercise_3(void) {
    one_atom_after_another();
    three_atoms_at_once();
}

/* 4. Power steps on F F' with F = diag(2, 1). */
static void exercise_4(void) {
    double d[2] = {0.6, 0.8}, slope = d[1] / d[0], worst = 0;
    int k;
    for (k = 0; k < 10; k++) {
        double length;
        /* YOUR TURN: one power step, d = F F'd scaled to unit length. */
        d[0] *= 4;
        d[1] *= 1;
        length = sqrt(sum_of_squares(2, d));
        d[0] /= length;
        d[1] /= length;
        /* END OF YOUR TURN */
        worst = larger_of(worst, fabs(d[1] / d[0] / slope - 0.25));
        worst = larger_of(worst, fabs(sum_of_squares(2, d) - 1));
        slope = d[1] / d[0];
    }
    agrees("4: factor of d[1] / d[0] in a step less (1/2)^2, squared length less 1", worst, 1e-12);
}

/* 5. Learning finds the hidden atoms again, each up to its sign. */
static void exercise_5(const shs_real *hidden) {
    shs_ksvd_options o = SHS_ZERO;
    int j, k, l, found = 0;
    memcpy(D, start, sizeof D);
    /* YOUR TURN: learn D (P x N) from Y (P x M) by shs_ksvd_ex. */
    /* How many of the 24 are found, on average over 4 dictionaries with 5 starts each: 2 of m = 100 signals, 11.5 of 200, 20
       of 400, 22 of 800, 23 of 3200. Noise of 0.2 of a signal's size leaves 18 with m = 400 and 23 with 3200; noise of 0.5
       leaves none with 400 and 22 with 3200. Twenty starts with these 400 signals find 16 to 24, those from random atoms
       14 to 24. */
    o.coding.sparsity = S;
    o.iterations = 60;
    o.seed = 5;
    check(shs_ksvd_ex(NULL, P, N, M, Y, P, &o, D, P, NULL, NULL), "learning");
    /* END OF YOUR TURN */
    for (j = 0; j < N; j++) {
        double most = 0;
        for (k = 0; k < N; k++) {
            double sum = 0;
            for (l = 0; l < P; l++) sum += (double)hidden[j * P + l] * (double)D[k * P + l];
            most = larger_of(most, fabs(sum));
        }
        found += most > 0.99;
    }
    agrees("5: hidden atoms that were not found (share)", 1 - (double)found / N, 0.25);
}

int main(int argc, char **argv) {
    static shs_real hidden[P * N];
    course_begin(argc, argv, "3_solutions", "the exercises of lesson 3");
    open_problem(hidden);
    exercise_1();
    exercise_2();
    exercise_3();
    exercise_4();
    exercise_5(hidden);
    return course_end();
}
