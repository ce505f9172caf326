/* every_part.c - each part of the library once, against answers known beforehand, in the language that C99 and C++11 have in
   common. The tests proper are C; this one says whether a compiler, a language standard or a switch breaks something.

       cc -std=c99 every_part.c -lm        c++ -std=c++11 -x c++ every_part.c */
#include <stdio.h>
#include <stdlib.h>

/* Some switches need something of the program. */
#ifdef COUNTING_ALLOCATOR
static size_t blocks_held;
static void *counted_malloc(size_t size) {
    blocks_held++;
    return malloc(size);
}
static void counted_free(void *block) {
    blocks_held--;
    free(block);
}
#define SPARSEHS_MALLOC(size) counted_malloc(size)
#define SPARSEHS_FREE(block) counted_free(block)
#endif
#ifdef SPARSEHS_NO_MATH
#include <math.h>
#define SPARSEHS_SQRT(x) sqrt(x)
#define SPARSEHS_SQRTF(x) sqrtf(x)
#define SPARSEHS_COS(x) cos(x)
#define SPARSEHS_COSF(x) cosf(x)
#define SPARSEHS_LOG(x) log(x)
#define SPARSEHS_LOGF(x) logf(x)
#define SPARSEHS_ACOS(x) acos(x)
#define SPARSEHS_ACOSF(x) acosf(x)
#endif
#define SPARSEHS_IMPLEMENTATION
#ifdef SPARSEHS_FILE /* under another name */
#include SPARSEHS_FILE
#define RENAMED
#else
#include "../../sparsehs.h"
#endif

/* Exact only where shs_real is double. */
#define TOLERANCE ((shs_wide)(sizeof(shs_real) == 8 ? 1e-9f : 1e-3f))

static int passed, failed;

static void expect(int holds, const char *what) {
    if (holds) passed++;
    else {
        failed++;
        printf("FAILED: %s\n", what);
    }
}

static void expect_ok(shs_status status, const char *what) {
    if (status != SHS_OK) printf("status %d\n", (int)status);
    expect(status == SHS_OK, what);
}

/* Sums of four uniform deviates, from a generator of our own: the library's is not in every build. */
static void fill(size_t count, shs_real *x, uint32_t seed) {
    size_t i;
    int k;
    for (i = 0; i < count; i++) {
        x[i] = 0;
        for (k = 0; k < 4; k++) {
            seed = seed * UINT32_C(1664525) + UINT32_C(1013904223);
            x[i] += (shs_real)(seed >> 8) / 16777216 - (shs_real)0.5;
        }
    }
}

#ifndef SPARSEHS_NO_SPARSE
/* Signals of three known atoms. */
#define P 32
#define ATOMS 48
#define SIGNALS 200
#define CHOSEN 3
static shs_real dictionary[P * ATOMS], signals[P * SIGNALS], gram[ATOMS * ATOMS], dty[ATOMS];
static int truth[CHOSEN * SIGNALS];
static unsigned char gram_room[SHS_OMP_ONE_WORKSPACE(ATOMS, CHOSEN)], room[SHS_OMP_ONE_DIRECT_WORKSPACE(P, ATOMS, CHOSEN)],
    nonnegative_room[SHS_OMP_ONE_DIRECT_WORKSPACE_EX(P, ATOMS, CHOSEN, SHS_SELECT_OMP, 1)];

static void draw_signals(void) {
    size_t i, k, row;
    fill(P * ATOMS, dictionary, 3);
    for (i = 0; i < ATOMS; i++) {
        shs_real length = shs_nrm2(P, dictionary + P * i, 1);
        for (row = 0; row < P; row++) dictionary[P * i + row] /= length;
    }
    for (i = 0; i < SIGNALS; i++)
        for (k = 0; k < CHOSEN; k++) {
            size_t atom = (i * 7 + k * 11) % ATOMS;
            truth[CHOSEN * i + k] = (int)atom;
            for (row = 0; row < P; row++) signals[P * i + row] += (shs_real)(4 >> k) * dictionary[P * atom + row];
        }
}

/* Whether pursuit found what signal i was made of (a greedy method may miss an odd one). */
static int found(size_t i, int used, const int *atoms) {
    int k, j, hits = 0;
    for (k = 0; k < CHOSEN; k++)
        for (j = 0; j < used; j++) hits += atoms[j] == truth[CHOSEN * i + (size_t)k];
    return hits == CHOSEN;
}

static void coding_one(void) {
    size_t i;
    int with_gram = 0, without = 0, atoms[CHOSEN], used = 0, ok = 1;
    shs_real coefs[CHOSEN];
    shs_omp_options o = SHS_ZERO;
    o.sparsity = CHOSEN;
    expect(shs_omp_one_workspace(ATOMS, &o) == sizeof gram_room && shs_omp_one_direct_workspace(P, ATOMS, &o) == sizeof room,
           "coding: workspace");
    for (i = 0; i < ATOMS; i++)
        expect_ok(shs_gemv(SHS_TRANS_YES, P, ATOMS, 1, dictionary, P, dictionary + P * i, 1, 0, gram + ATOMS * i, 1),
                  "coding: Gram");
    for (i = 0; i < SIGNALS; i++) {
        const shs_real *y = signals + P * i;
        ok &= shs_gemv(SHS_TRANS_YES, P, ATOMS, 1, dictionary, P, y, 1, 0, dty, 1) == SHS_OK;
        ok &= shs_omp_one(ATOMS, gram, ATOMS, dty, shs_dot(P, y, 1, y, 1), &o, gram_room, sizeof gram_room, atoms, coefs, &used,
                          NULL) == SHS_OK;
        with_gram += found(i, used, atoms);
        ok &= shs_omp_one_direct(P, ATOMS, dictionary, P, y, &o, room, sizeof room, atoms, coefs, &used, NULL) == SHS_OK;
        without += found(i, used, atoms);
    }
    expect(ok, "coding: one signal");
    expect(with_gram > SIGNALS * 8 / 10, "coding: with a Gram matrix");
    expect(without == with_gram, "coding: without one");
    o.nonnegative = 1;
#if defined(SPARSEHS_ONLY_CODING) && !defined(SPARSEHS_NONNEGATIVE)
    expect(shs_omp_one_direct(P, ATOMS, dictionary, P, signals, &o, nonnegative_room, sizeof nonnegative_room, atoms, coefs,
                              &used, NULL) == SHS_UNSUPPORTED,
           "coding: nonnegative coefficients that are left out");
#else
    expect(shs_omp_one_direct_workspace(P, ATOMS, &o) == sizeof nonnegative_room, "coding: workspace, nonnegative");
    expect_ok(shs_omp_one_direct(P, ATOMS, dictionary, P, signals, &o, nonnegative_room, sizeof nonnegative_room, atoms, coefs,
                                 &used, NULL),
              "coding: nonnegative coefficients");
    for (i = 0; i < (size_t)used; i++) ok &= coefs[i] >= 0;
    expect(ok, "coding: no coefficient below 0");
#endif
}
#endif

#ifndef SPARSEHS_ONLY_CODING
static shs_wide off(shs_wide a, shs_wide b) { return a > b ? a - b : b - a; }

/* The file includes itself for further kernels, whatever its name is, unless it must not. */
static void kernels(void) {
#if defined(__x86_64__) && defined(SPARSEHS_NO_DISPATCH)
    expect(!shs__kernels_available(SHS__INSTANCE_AVX512), "kernels: no more than the flags say");
#elif defined(__x86_64__) && defined(RENAMED)
    expect(shs__kernels_available(SHS__INSTANCE_AVX2) == !!__builtin_cpu_supports("avx2"), "kernels: under another name");
#endif
}

static void random_numbers(void) {
    shs_random r;
    shs_random_seed(&r, 0);
    expect(shs_random_bits(&r) == UINT64_C(0xe220a8397b1dcdaf), "random: SplitMix64's first value");
    expect(shs_random_permuted(3, 10, 7) < 10, "random: permuted");
}

#define SIZE 70
static shs_real A[SIZE * SIZE], B[SIZE * SIZE], C[SIZE * SIZE], D[SIZE * SIZE];

/* A'B into product, by the naive twin if it is there. */
static void product_of_transposed(shs_real *product) {
#ifndef SPARSEHS_NO_NAIVE
    expect_ok(shs_gemm_general_naive(SHS_TRANS_YES, SHS_TRANS_NO, SIZE, SIZE, SIZE, 1, A, SIZE, B, SIZE, 0, product, SIZE),
              "dense: its twin");
#else
    int i, j, k;
    for (j = 0; j < SIZE; j++)
        for (i = 0; i < SIZE; i++) {
            product[i + j * SIZE] = 0;
            for (k = 0; k < SIZE; k++) product[i + j * SIZE] += A[k + i * SIZE] * B[k + j * SIZE];
        }
#endif
}

static void dense(const shs_context *ctx) {
    shs_wide worst = 0;
    int i;
    fill(SIZE * SIZE, A, 1);
    fill(SIZE * SIZE, B, 2);
    expect_ok(shs_gemm(ctx, SHS_TRANS_YES, SHS_TRANS_NO, SIZE, SIZE, SIZE, 1, A, SIZE, B, SIZE, 0, C, SIZE), "dense: gemm");
    product_of_transposed(D);
    for (i = 0; i < SIZE * SIZE; i++)
        worst = off((shs_wide)C[i], (shs_wide)D[i]) > worst ? off((shs_wide)C[i], (shs_wide)D[i]) : worst;
    expect(worst < TOLERANCE, "dense: gemm is its twin");
    expect_ok(shs_syrk(ctx, SHS_UPLO_LOWER, SHS_TRANS_YES, SIZE, SIZE, 1, A, SIZE, 0, C, SIZE), "dense: syrk");
    for (i = 0; i < SIZE; i++) C[i * SIZE + i] += 1;
    expect_ok(shs_cholesky(ctx, SHS_UPLO_LOWER, SIZE, C, SIZE), "dense: Cholesky");
    C[SIZE] = -1;
    expect(shs_gemv(SHS_TRANS_YES, SIZE, SIZE, 1, A, SIZE - 1, B, 1, 0, C, 1) == SHS_BAD_LDA,
           "dense: wrong arguments are named");
}

static void eigenproblem(const shs_context *ctx) {
    /* the second difference: eigenvalues 2 - 2 cos(pi k / (n + 1)) */
    enum { N = 3 };
    const shs_wide matrix[N * N] = {2, -1, 0, -1, 2, -1, 0, -1, 2}, root = (shs_wide)1.41421356237309505f;
    shs_wide values[N], vectors[N * N];
    expect_ok(shs_eigh(ctx, N, matrix, N, N, values, vectors, N), "eigen: all pairs");
    expect(off((shs_wide)values[0], (shs_wide)2 + root) < (shs_wide)1e-5f &&
               off((shs_wide)values[2], (shs_wide)2 - root) < (shs_wide)1e-5f,
           "eigen: values");
    expect(off((shs_wide)vectors[N], (shs_wide)root / 2) < (shs_wide)1e-5f &&
               off((shs_wide)vectors[N + 1], (shs_wide)0) < (shs_wide)1e-5f,
           "eigen: vectors");
}

#ifndef SPARSEHS_NO_SPARSE
static void coding_many(const shs_context *ctx) {
    shs_codes codes;
    shs_real kept = signals[5];
    uint32_t bad = 0x7fc00000u; /* NaN by its bits, that -ffast-math cannot reason about */
    float nan;
    size_t i;
    int all = 0;
#ifndef SPARSEHS_NO_LASSO
    shs_lasso_options lasso = SHS_ZERO;
    shs_lasso_report report = SHS_ZERO;
#endif
    memcpy(&nan, &bad, sizeof nan);
    expect_ok(shs_codes_create(ctx, SIGNALS, CHOSEN, &codes), "coding: codes");
    expect_ok(shs_omp(ctx, P, ATOMS, dictionary, SIGNALS, signals, CHOSEN, &codes), "coding: many signals");
    for (i = 0; i < SIGNALS; i++) all += found(i, codes.used[i], codes.atoms + CHOSEN * i);
    expect(all > SIGNALS * 8 / 10, "coding: the atoms of many signals");
#ifndef SPARSEHS_NO_LASSO
    lasso.relative = 1;
    lasso.lambda = (shs_real)0.5f;
    lasso.gap = (shs_real)1e-3f;
    expect_ok(shs_lasso(ctx, P, ATOMS, dictionary, P, SIGNALS, signals, P, &lasso, &codes, NULL, &report), "coding: the lasso");
    expect(report.nonzeros > 0 && report.not_reached == report.cut, "coding: the lasso's gap");
#endif
    signals[5] = (shs_real)nan;
    expect(shs_omp(ctx, P, ATOMS, dictionary, SIGNALS, signals, CHOSEN, &codes) == SHS_SIGNALS_NOT_FINITE, "coding: finds NaN");
    signals[5] = kept;
    shs_codes_free(ctx, &codes);
}

static void learning(const shs_context *ctx) {
    shs_ksvd_options o = SHS_ZERO;
    shs_ksvd_report report = SHS_ZERO;
    static shs_ksvd_record history[10];
    static shs_real learnt[P * 8];
    report.history = history;
    o.iterations = 10;
    o.coding.sparsity = CHOSEN;
    o.seed = 1;
    o.parallel_atoms = 4;
    expect_ok(shs_ksvd_ex(ctx, P, 8, SIGNALS, signals, P, &o, learnt, P, NULL, &report), "learning: K-SVD");
    expect(history[9].rmse_coding < history[0].rmse_coding, "learning: the error falls");
}

static void patches(const shs_context *ctx) {
    enum { W = 20, H = 16, N = 64 };
    static unsigned char pixels[W * H];
    static shs_real atoms[64 * N], out[W * H];
    shs_image image = SHS_ZERO;
    shs_patches set = SHS_ZERO;
    shs_omp_options coding = SHS_ZERO;
    shs_noise noise = SHS_ZERO;
    shs_wide worst = 0;
    int i;
    for (i = 0; i < W * H; i++) pixels[i] = (unsigned char)(i * 7 % 200);
    image.pixels = pixels;
    image.type = SHS_TYPE_U8;
    image.width = W;
    image.height = H;
    expect_ok(shs_dictionary_dct(8, 8, 1, N, atoms, 64), "patches: DCT");
    coding.sparsity = 64; /* the atoms are a basis: nothing is lost */
    expect_ok(shs_patches_approximate(ctx, &image, &set, N, atoms, 64, &coding, 0, out, NULL), "patches: approximation");
    expect_ok(shs_noise_sigma(ctx, &image, &noise), "patches: noise");
    for (i = 0; i < W * H; i++)
        worst = off((shs_wide)out[i], (shs_wide)pixels[i]) > worst ? off((shs_wide)out[i], (shs_wide)pixels[i]) : worst;
    expect(worst < 1, "patches: the image comes back");
}
#endif

#if !defined(SPARSEHS_NO_FILES) && !defined(SPARSEHS_ONLY_CODING)
static unsigned char npy_file[200];
static size_t npy_size, npy_at;

static int write_npy(void *user, const void *bytes, size_t count) {
    (void)user;
    if (count > sizeof npy_file - npy_size) return 1;
    memcpy(npy_file + npy_size, bytes, count);
    npy_size += count;
    return 0;
}

static int read_npy(void *user, void *bytes, size_t count) {
    (void)user;
    if (count > npy_size - npy_at) return 1;
    memcpy(bytes, npy_file + npy_at, count);
    npy_at += count;
    return 0;
}

static void files(void) {
    const shs_real given[6] = {1, 2, 3, 4, 5, (shs_real)6.5f};
    shs_real back[6];
    shs_npy npy = SHS_ZERO;
    expect_ok(shs_npy_save(2, 3, given, 2, write_npy, NULL), "files: saved");
    expect_ok(shs_npy_read_header(&npy, read_npy, NULL), "files: a header");
    expect_ok(shs_npy_read_values(&npy, SHS_TYPE_REAL, back, 2, read_npy, NULL), "files: its numbers");
    expect(npy_size == 128 + sizeof given && npy_at == npy_size && !memcmp(given, back, sizeof given), "files: as it was");
}

#ifndef SPARSEHS_NO_SPARSE
/* The bytes are these on every machine: two signals of three coefficients over 300 atoms. */
static void compact_codes(const shs_context *ctx) {
    static const unsigned char expected[] = {'S', 'H', 'S', 'c', 'o', 'd', 'e', 's', 1, 0, 0, 0, 0, 0, 0, 0, 44, 1, 0, 0,
                                             2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                             0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xb8, 0x1b, 0xb0, 0xa5,
                                             1, 2, 43, 1, 7, 0, 0, 1, 127, 0x81, 100,
                                             0x40, 0x40, 0x80, 0x3f, 0x3f, 0x67, 0xd0, 0x60}; /* scales 3 and 1 */
    int used[2] = {1, 2}, atoms[4] = {299, 0, 7, 256}, k;
    const shs_real rounded[4] = {381, 0, -127, 100};
    shs_real coefs[4] = {(shs_real)380.9f, 0, -127, (shs_real)100.3f};
    shs_codes codes = SHS_ZERO, got = SHS_ZERO;
    shs_compact compact;
    codes.m = 2;
    codes.stride = 2;
    codes.used = used;
    codes.atoms = atoms;
    codes.coefs = coefs;
    npy_size = npy_at = 0;
    expect_ok(shs_codes_round(ctx, 0, 300, NULL, 0, SHS_COEF_I8, &codes), "compact codes: rounded");
    expect(memcmp(coefs, rounded, sizeof rounded) == 0, "compact codes: to the nearest");
    expect_ok(shs_compact_save(&codes, 300, SHS_COEF_I8, write_npy, NULL), "compact codes: saved");
    expect(npy_size == sizeof expected && memcmp(npy_file, expected, sizeof expected) == 0, "compact codes: the same bytes");
    expect_ok(shs_compact_open(npy_file, npy_size, &compact), "compact codes: opened");
    expect_ok(shs_compact_load(ctx, 300, read_npy, NULL, &got), "compact codes: loaded");
    for (k = 0; k < 4 && got.m == 2; k++)
        expect(got.atoms[k] == atoms[k] && memcmp(got.coefs + k, rounded + k, sizeof *rounded) == 0, "compact codes: loaded");
    shs_codes_free(ctx, &got);
}
#endif
#endif

#ifndef SPARSEHS_NO_CUBES
/* Three bands mixed of a square wave and a saw tooth that are independent. */
enum { SAMPLES = 63, LINES = 64, BANDS = 3 };
static int16_t cube_pixels[SAMPLES * LINES * BANDS];
static shs_real outputs[SAMPLES * LINES * BANDS];

static shs_cube draw_cube(void) {
    shs_cube cube = SHS_ZERO;
    int i;
    for (i = 0; i < SAMPLES * LINES; i++) {
        int square = i % 2 ? 1 : -1, saw = i / 2 % 63 - 31;
        cube_pixels[i * BANDS] = (int16_t)(500 + 100 * square + 3 * saw);
        cube_pixels[i * BANDS + 1] = (int16_t)(600 - 40 * square + 9 * saw);
        cube_pixels[i * BANDS + 2] = (int16_t)(700 + 30 * square + saw);
    }
    cube.pixels = cube_pixels;
    cube.type = SHS_TYPE_I16;
    cube.samples = SAMPLES;
    cube.lines = LINES;
    cube.bands = BANDS;
    cube.interleave = SHS_INTERLEAVE_BIP;
    return cube;
}

#ifndef SPARSEHS_NO_MODELS
static unsigned char model_file[1000];
static size_t model_size, model_at;

static int write_model(void *user, const void *bytes, size_t count) {
    (void)user;
    if (count > sizeof model_file - model_size) return 1;
    memcpy(model_file + model_size, bytes, count);
    model_size += count;
    return 0;
}

static int read_model(void *user, void *bytes, size_t count) {
    (void)user;
    if (count > model_size - model_at) return 1;
    memcpy(bytes, model_file + model_at, count);
    model_at += count;
    return 0;
}

static void models(const shs_context *ctx, const shs_pca *pca) {
    shs_model m = SHS_ZERO, loaded = SHS_ZERO;
    m.pca = *pca;
    expect_ok(shs_model_save(&m, write_model, NULL), "models: saved");
    expect_ok(shs_model_load(ctx, read_model, NULL, &loaded), "models: loaded");
    expect(model_at == model_size && loaded.pca.mean[2] == pca->mean[2], "models: as it was");
    shs_model_free(ctx, &loaded);
}
#endif

#ifndef SPARSEHS_NO_SPECTRA
/* The third pixel is the target. */
static void spectra(void) {
#ifndef SPARSEHS_NO_NAIVE
    static const shs_wide X[2 * 3] = {1, 0, 0, 1, 2, 2}, U[2] = {1, 0};
    shs_wide scores[3], scratch[2 * (2 + 3)], best;
    int method;
    for (method = 0; method < SHS_DETECTOR_COUNT; method++) {
        shs_detect_naive((shs_detector)method, 2, 3, X, X + 4, 1, U, scores, scratch);
        best = method == SHS_DETECTOR_SAM ? 0 : 1;
        if (method == SHS_DETECTOR_GLRT) best = (shs_wide)0.4; /* the squared length is 2, of 3 pixels: 2 / (3 + 2) */
        expect(off(scores[2], best) < (shs_wide)1e-3f, shs_detector_name((shs_detector)method));
    }
#endif
}

/* What two pixels of the cube are mixed of; outputs is where the abundances go. */
static void mixtures(const shs_context *ctx, const shs_cube *cube) {
    shs_endmember_options o = SHS_ZERO;
    shs_endmembers e;
    shs_sink sink = SHS_ZERO;
    int method, i;
    sink.pixels = outputs;
    sink.interleave = SHS_INTERLEAVE_BIP;
    o.count = 2;
    for (method = 0; method < SHS_EXTRACTOR_COUNT; method++) {
        o.method = (shs_extractor)method;
        expect_ok(shs_endmembers_find(ctx, cube, &o, &e), shs_extractor_name(o.method));
        expect_ok(shs_unmix(ctx, cube, 2, e.spectra, e.bands, SHS_CONSTRAINT_FULL, &sink), "spectra: abundances");
        for (i = 0; i < 2; i++)
            expect(off((shs_wide)outputs[2 * e.pixel[i] + (size_t)i], 1) < (shs_wide)1e-3f, "spectra: an endmember is pure");
        shs_endmembers_free(ctx, &e);
    }
}
#endif

static void cubes(const shs_context *ctx) {
    shs_cube cube = draw_cube(), components = SHS_ZERO;
    shs_sink sink = SHS_ZERO;
    shs_pca_options o = SHS_ZERO;
    shs_ica_options io = SHS_ZERO;
    shs_pca pca;
    shs_ica ica;
    static shs_real back[SAMPLES * LINES * BANDS];
    shs_wide worst = 0;
    int i, square = 0;
    sink.pixels = outputs;
    sink.interleave = SHS_INTERLEAVE_BIP;
    o.components = io.components = 2;
    expect_ok(shs_pca_run(ctx, &cube, &o, &sink, &pca), "cubes: PCA");
    expect(pca.eigenvalues[0] >= pca.eigenvalues[1], "cubes: eigenvalues");
    components.pixels = outputs;
    components.samples = SAMPLES;
    components.lines = LINES;
    components.bands = 2;
    components.interleave = SHS_INTERLEAVE_BIP;
    sink.pixels = back;
    expect_ok(shs_pca_inverse(ctx, &pca, &components, &sink), "cubes: the way back");
    for (i = 0; i < SAMPLES * LINES * BANDS; i++)
        worst =
            off((shs_wide)back[i], (shs_wide)cube_pixels[i]) > worst ? off((shs_wide)back[i], (shs_wide)cube_pixels[i]) : worst;
    expect(worst < (shs_wide)0.1f, "cubes: pixels come back from two components");
#ifndef SPARSEHS_NO_MODELS
    models(ctx, &pca);
#endif
    shs_pca_free(ctx, &pca);
    sink.pixels = outputs;
    expect_ok(shs_rx(ctx, &cube, NULL, &sink, NULL), "cubes: RX");
    expect_ok(shs_ica_run(ctx, &cube, &io, &sink, &ica), "cubes: FastICA");
    expect(ica.converged, "cubes: FastICA converges");
    for (i = 0; i < SAMPLES * LINES; i++) square += (outputs[2 * i] > 0) == (i % 2 == 1);
    expect(square == 0 || square == SAMPLES * LINES, "cubes: the first source is the square wave");
    shs_ica_free(ctx, &ica);
#ifndef SPARSEHS_NO_SPECTRA
    spectra();
    mixtures(ctx, &cube);
#endif
}
#endif
#endif

int main(void) {
#ifndef SPARSEHS_ONLY_CODING
    shs_context context = SHS_ZERO;
    const shs_context *ctx = NULL;
#ifdef SPARSEHS_NO_STDLIB
    static unsigned char memory[8 << 20];
    shs_arena arena;
    shs_arena_init(&arena, memory, sizeof memory);
    shs_arena_attach(&arena, &context);
    ctx = &context;
#endif
    (void)context;
#endif
#ifndef SPARSEHS_NO_SPARSE
    draw_signals();
    coding_one();
#endif
#ifndef SPARSEHS_ONLY_CODING
    kernels();
    random_numbers();
    dense(ctx);
    eigenproblem(ctx);
#ifndef SPARSEHS_NO_SPARSE
    coding_many(ctx);
    learning(ctx);
    patches(ctx);
#endif
#ifndef SPARSEHS_NO_CUBES
    cubes(ctx);
#endif
#ifndef SPARSEHS_NO_FILES
    files();
#ifndef SPARSEHS_NO_SPARSE
    compact_codes(ctx);
#endif
#endif
#endif
#ifdef COUNTING_ALLOCATOR
    expect(blocks_held == 0, "memory: every block is given back");
#endif
    printf("[  PASSED  ] %d test(s).\n", passed);
    if (failed) printf("[  FAILED  ] %d test(s).\n", failed);
    return failed != 0;
}
