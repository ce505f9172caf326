/* 1_solutions.c - the exercises of lesson 1, solved. make test-course LESSONS=1 runs the checks. skeleton.sh 1 prints this file
   without the parts between YOUR TURN and END OF YOUR TURN. */
#include "course.h"

enum { M = 53, N = 37, K = 61 };

static shs_real *random_matrix(size_t rows, size_t columns, uint64_t seed) {
    shs_real *A = (shs_real *)allocate(rows * columns, sizeof *A);
    shs_random random;
    size_t i;
    shs_random_seed(&random, seed);
    for (i = 0; i < rows * columns; i++) A[i] = (shs_real)shs_random_normal(&random);
    return A;
}

static shs_real *zeros(size_t rows, size_t columns) {
    shs_real *C = (shs_real *)allocate(rows * columns, sizeof *C);
    memset(C, 0, rows * columns * sizeof *C);
    return C;
}

/* C = AB by the definition. The exercises are compared with this product. */
static shs_real *expected(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const shs_real *A, const shs_real *B) {
    shs_real *C = zeros((size_t)m, (size_t)n);
    shs_gemm_naive((int)m, (int)n, (int)k, A, B, C);
    return C;
}

/* 1. C = A'B with all matrices stored by columns. */
static void exercise_1(void) {
    shs_real *At = random_matrix(K, M, 1), *B = random_matrix(K, N, 2), *C = zeros(M, N), *A = zeros(M, K), *right;
    ptrdiff_t i, j, q;
    /* YOUR TURN: add the product of At' and B to C (M x N). At is K x M, B is K x N. */
    /* The innermost loop goes along the depth, down a column of At and a column of B: the order of the definition is good here. */
    for (j = 0; j < N; j++)
        for (i = 0; i < M; i++) {
            shs_real sum = 0;
            for (q = 0; q < K; q++) sum += At[q + i * K] * B[q + j * K];
            C[i + j * M] = sum;
        }
    /* END OF YOUR TURN */
    for (i = 0; i < M; i++)
        for (q = 0; q < K; q++) A[i + q * M] = At[q + i * K];
    right = expected(M, N, K, A, B);
    agrees("1: A'B", relative_difference(M * N, C, right), 1e-5);
    free(At);
    free(B);
    free(C);
    free(A);
    free(right);
}

/* 2. The loads of a product by tiles of r x c, counted and by the formula. */
static void exercise_2(void) {
    const ptrdiff_t m = 48, n = 24, k = 17, r = 4, c = 3;
    ptrdiff_t i, j, q, s, t, loads = 0;
    shs_real *A = random_matrix(48, 17, 3), *B = random_matrix(17, 24, 4), *C = zeros(48, 24), *right = expected(m, n, k, A, B);
    /* YOUR TURN: C (m x n) = AB by tiles of r x c. Count each value of A or B that a tile loads in `loads`. */
    /* Each of the (m/r) (n/c) tiles loads r values of A and c of B at each of k steps. For 16 sums the square 4 x 4 is best:
       half a load for each multiply-add; 3 x 5 takes 0.53, 2 x 8 0.63. If r values of A and one of B need registers too,
       3 x 4 is best: 0.58. */
    for (j = 0; j < n; j += c)
        for (i = 0; i < m; i += r) {
            shs_real tile[4][3] = {{0}};
            for (q = 0; q < k; q++) {
                shs_real a[4], b[3];
                for (s = 0; s < r; s++) {
                    a[s] = A[i + s + q * m];
                    loads++;
                }
                for (t = 0; t < c; t++) {
                    b[t] = B[q + (j + t) * k];
                    loads++;
                }
                for (s = 0; s < r; s++)
                    for (t = 0; t < c; t++) tile[s][t] += a[s] * b[t];
            }
            for (s = 0; s < r; s++)
                for (t = 0; t < c; t++) C[i + s + (j + t) * m] = tile[s][t];
        }
    /* END OF YOUR TURN */
    agrees("2: the product by tiles", relative_difference(48 * 24, C, right), 1e-5);
    agrees("2: loads as predicted", fabs((double)loads - (double)(m * n * k) * (1.0 / (double)c + 1.0 / (double)r)), 0.5);
    free(A);
    free(B);
    free(C);
    free(right);
}

/* How many of the t x t tiles of C (n x n) hold a value other than 0. */
static int tiles_with_values(int n, int t, const shs_real *C) {
    int i, j, r, s, count = 0;
    for (j = 0; j < n; j += t)
        for (i = 0; i < n; i += t) {
            int values = 0;
            for (s = 0; s < t; s++)
                for (r = 0; r < t; r++) values += C[i + r + (j + s) * n] != 0;
            count += values > 0;
        }
    return count;
}

/* 3. The lower triangle of C = AA' by tiles of t x t. */
static void exercise_3(void) {
    enum { n = 40, k = 19, t = 8 };
    shs_real *A = random_matrix(n, k, 5), *C = zeros(n, n), *At = zeros(k, n), *right;
    ptrdiff_t i, j, r, s, q, tiles = 0;
    double worst = 0;
    /* YOUR TURN: the tiles of C that hold a part of the lower triangle, A being n x k. Count them in `tiles`. */
    /* With b = n/t tiles in a row, b (b + 1) / 2 of the b b tiles are computed. */
    for (j = 0; j < n; j += t)
        for (i = j; i < n; i += t) {
            for (q = 0; q < k; q++)
                for (s = 0; s < t; s++)
                    for (r = 0; r < t; r++) C[i + r + (j + s) * n] += A[i + r + q * n] * A[j + s + q * n];
            tiles++;
        }
    /* END OF YOUR TURN */
    for (i = 0; i < n; i++)
        for (q = 0; q < k; q++) At[q + i * k] = A[i + q * n];
    right = expected(n, n, k, A, At);
    for (j = 0; j < n; j++)
        for (i = j; i < n; i++) worst = larger_of(worst, fabs((double)(C[i + j * n] - right[i + j * n])));
    agrees("3: the lower triangle", worst, 1e-4);
    agrees("3: tiles", fabs((double)tiles - (n / t) * (n / t + 1) / 2.0), 0);
    agrees("3: tiles of C with values", fabs(tiles_with_values(n, t, C) - (n / t) * (n / t + 1) / 2.0), 0);
    free(A);
    free(C);
    free(At);
    free(right);
}

/* 4. Halve the longest side until the piece is small: C += AB for A (m x k), B (k x n), C (m x n), which are pieces of matrices
   whose columns are M, K and M values apart. The calls are counted. If the longest side is halved, no side of a piece is longer
   than twice another side and 1. */
static int pieces;
static double longest_over; /* longest side less twice the shortest, at most over all pieces */
static void look_at_sides(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k) {
    ptrdiff_t longest = m, shortest = m;
    if (n > longest) longest = n;
    if (k > longest) longest = k;
    if (n < shortest) shortest = n;
    if (k < shortest) shortest = k;
    pieces++;
    longest_over = larger_of(longest_over, (double)(longest - 2 * shortest));
}

static void by_halves(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const shs_real *A, const shs_real *B, shs_real *C) {
    look_at_sides(m, n, k);
    /* YOUR TURN: loops for a small piece, otherwise two calls of by_halves. */
    /* At some depth of the calls the three pieces fit into a cache, whatever the size of this cache is. */
    ptrdiff_t i, j, q;
    if (m <= 8 && n <= 8 && k <= 8) {
        for (j = 0; j < n; j++)
            for (q = 0; q < k; q++)
                for (i = 0; i < m; i++) C[i + j * M] += A[i + q * M] * B[q + j * K];
    } else if (m >= n && m >= k) {
        by_halves(m / 2, n, k, A, B, C);
        by_halves(m - m / 2, n, k, A + m / 2, B, C + m / 2);
    } else if (n >= k) {
        by_halves(m, n / 2, k, A, B, C);
        by_halves(m, n - n / 2, k, A, B + n / 2 * K, C + n / 2 * M);
    } else {
        by_halves(m, n, k / 2, A, B, C);
        by_halves(m, n, k - k / 2, A + k / 2 * M, B + k / 2, C);
    }
    /* END OF YOUR TURN */
}
static void exercise_4(void) {
    shs_real *A = random_matrix(M, K, 6), *B = random_matrix(K, N, 7), *C = zeros(M, N), *right = expected(M, N, K, A, B);
    by_halves(M, N, K, A, B, C);
    if (pieces < 3) longest_over = HUGE_VAL; /* nothing was halved */
    agrees("4: by halves", relative_difference(M * N, C, right), 1e-5);
    agrees("4: longest side of a piece less twice the shortest", longest_over, 1);
    free(A);
    free(B);
    free(C);
    free(right);
}

/* 5. Strassen: seven products of half the size instead of eight. Three helpers: Z = X + sign Y for n x n matrices with the leading
   dimensions ldx, ldy and n; Z = XY, counted; C += sign X. */
static void combine(ptrdiff_t n, const shs_real *X, ptrdiff_t ldx, shs_real sign, const shs_real *Y, ptrdiff_t ldy,
                    shs_real *Z) {
    ptrdiff_t i, j;
    for (j = 0; j < n; j++)
        for (i = 0; i < n; i++) Z[i + j * n] = X[i + j * ldx] + sign * Y[i + j * ldy];
}

static int products; /* of half the size */

static void multiply_halves(ptrdiff_t n, const shs_real *X, const shs_real *Y, shs_real *Z) {
    const int h = (int)n;
    check(shs_gemm(NULL, SHS_TRANS_NO, SHS_TRANS_NO, h, h, h, 1, X, h, Y, h, 0, Z, h), "half a product");
    products++;
}

static void add_to(ptrdiff_t n, const shs_real *X, shs_real sign, shs_real *C, ptrdiff_t ldc) {
    ptrdiff_t i, j;
    for (j = 0; j < n; j++)
        for (i = 0; i < n; i++) C[i + j * ldc] += sign * X[i + j * n];
}

static void exercise_5(void) {
    enum { n = 64, h = n / 2 };
    /* Where the quarters of A, B and C begin: the first index counts down, the second across. */
    shs_real *A = random_matrix(n, n, 8), *B = random_matrix(n, n, 9), *C = zeros(n, n), *right = expected(n, n, n, A, B);
    shs_real *X = zeros(h, h), *Y = zeros(h, h), *P = zeros(h, h), *O = zeros(n, n);
    const shs_real *A11 = A, *A21 = A + h, *A12 = A + h * n, *A22 = A + h * n + h;
    const shs_real *B11 = B, *B21 = B + h, *B12 = B + h * n, *B22 = B + h * n + h;
    shs_real *C11 = C, *C21 = C + h, *C12 = C + h * n, *C22 = C + h * n + h;
    /* YOUR TURN: C11, C21, C12, C22 (each h x h in C) from seven calls of multiply_halves. X, Y, P are h x h for use; O is zero. */
    /* One product of eight is saved, n^3/4 operations. The calls of combine and add_to pass 26 times over quarters, 6.5 n^2
       values. If shs_gemm makes g operations in the time that a pass takes for one value, Strassen wins from n = 26 g on: for
       g = 100 from 2600. Measure it. The error grows, since sums and differences of quarters are larger than what they cancel
       to. In float, with normal random numbers, the largest error was 1.0 to 2.1 times shs_gemm's for n = 64 and 2.0 to 2.4
       times for n = 1024. */
    combine(h, A11, n, 1, A22, n, X);
    combine(h, B11, n, 1, B22, n, Y);
    multiply_halves(h, X, Y, P);
    add_to(h, P, 1, C11, n);
    add_to(h, P, 1, C22, n);
    combine(h, A21, n, 1, A22, n, X);
    combine(h, B11, n, 1, O, n, Y);
    multiply_halves(h, X, Y, P);
    add_to(h, P, 1, C21, n);
    add_to(h, P, -1, C22, n);
    combine(h, A11, n, 1, O, n, X);
    combine(h, B12, n, -1, B22, n, Y);
    multiply_halves(h, X, Y, P);
    add_to(h, P, 1, C12, n);
    add_to(h, P, 1, C22, n);
    combine(h, A22, n, 1, O, n, X);
    combine(h, B21, n, -1, B11, n, Y);
    multiply_halves(h, X, Y, P);
    add_to(h, P, 1, C11, n);
    add_to(h, P, 1, C21, n);
    combine(h, A11, n, 1, A12, n, X);
    combine(h, B22, n, 1, O, n, Y);
    multiply_halves(h, X, Y, P);
    add_to(h, P, -1, C11, n);
    add_to(h, P, 1, C12, n);
    combine(h, A21, n, -1, A11, n, X);
    combine(h, B11, n, 1, B12, n, Y);
    multiply_halves(h, X, Y, P);
    add_to(h, P, 1, C22, n);
    combine(h, A12, n, -1, A22, n, X);
    combine(h, B21, n, 1, B22, n, Y);
    multiply_halves(h, X, Y, P);
    add_to(h, P, 1, C11, n);
    /* END OF YOUR TURN */
    agrees("5: Strassen", relative_difference(n * n, C, right), 1e-5);
    agrees("5: seven products", fabs(products - 7.0), 0);
    free(A);
    free(B);
    free(C);
    free(right);
    free(X);
    free(Y);
    free(P);
    free(O);
}

int main(int argc, char **argv) {
    course_begin(argc, argv, "1_solutions", "the exercises of lesson 1");
    exercise_1();
    exercise_2();
    exercise_3();
    exercise_4();
    exercise_5();
    return course_end();
}
