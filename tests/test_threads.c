/* test_threads.c - several contexts at once in several threads, and loops over threads: the caller's own and the compiler's.
   The results equal those of each call alone, bit by bit. The calls cover every stage that threads share. */
#include "test_cube_tools.h"
#include <sched.h>
#if defined(__unix__)
#include <sys/wait.h>
#include <unistd.h>
#endif

/* A program with ThreadSanitizer ends when the child of a fork begins a thread. gcc says by a macro that it is there, clang by
   __has_feature. */
#if defined(__unix__) && !defined(__SANITIZE_THREAD__)
#define TEST_FORKS
#endif
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#undef TEST_FORKS
#endif
#endif

#define P 32
#define N 160
#define M 2000
#define S 4
#define WORKERS 4

/* ---- a parallel loop of the caller's: threads that fetch chunks -------------------------------------------------- */

typedef struct loop {
    pthread_mutex_t lock;
    size_t next, chunks;
    shs_chunk_fn body;
    void *arg;
} loop;

typedef struct loop_worker {
    loop *of;
    int number;
} loop_worker;

/* What was ever shared out. */
static pthread_mutex_t seen_lock = PTHREAD_MUTEX_INITIALIZER;
static shs_chunk_fn seen[64];
static int seen_count;

static void see(shs_chunk_fn body) {
    int i = 0;
    pthread_mutex_lock(&seen_lock);
    while (i < seen_count && seen[i] != body) i++;
    if (i == seen_count && seen_count < 64) seen[seen_count++] = body;
    pthread_mutex_unlock(&seen_lock);
}

static void *work(void *user) {
    const loop_worker *w = (const loop_worker *)user;
    for (;;) {
        size_t chunk;
        pthread_mutex_lock(&w->of->lock);
        chunk = w->of->next < w->of->chunks ? w->of->next++ : SIZE_MAX;
        pthread_mutex_unlock(&w->of->lock);
        if (chunk == SIZE_MAX) return NULL;
        w->of->body(w->of->arg, chunk, w->number);
    }
}

static void parallel_for(void *user, size_t chunks, int threads, shs_chunk_fn body, void *arg) {
    pthread_t thread[WORKERS];
    loop_worker worker[WORKERS];
    loop l;
    int i;
    (void)user;
    if (threads < 1 || threads > WORKERS) abort();
    see(body);
    pthread_mutex_init(&l.lock, NULL);
    l.next = 0;
    l.chunks = chunks;
    l.body = body;
    l.arg = arg;
    for (i = 0; i < threads; i++) {
        worker[i].of = &l;
        worker[i].number = i;
        if (pthread_create(&thread[i], NULL, work, &worker[i])) abort();
    }
    for (i = 0; i < threads; i++) pthread_join(thread[i], NULL);
    pthread_mutex_destroy(&l.lock);
}

/* ---- what each thread does --------------------------------------------------------------------------------------- */

typedef struct scene {
    shs_real *D, *Y;
    unsigned char *pixels;
    shs_image image;
    shs_cube cube, wide; /* 6 bands; enough bands for a parallel sum of partial results */
    shs_cube large;      /* enough pixels for a parallel search */
} scene;

enum { ALONE = 0, OF_THE_CALLER, OF_THE_COMPILER };

/* One task, its context, and what comes of it. */
typedef struct task task;
struct task {
    const scene *s;
    void (*perform)(task *t);
    shs_context ctx;
    shs_status status;
    uint64_t result; /* a checksum of the bytes */
    size_t bytes;
};

/* The next step, where all went well so far. */
#define STEP(t, call)                                                                                                          \
    do {                                                                                                                       \
        if ((t)->status == SHS_OK) (t)->status = (call);                                                                       \
    } while (0)

static void note(task *t, const void *values, size_t bytes) {
    size_t i;
    for (i = 0; i < bytes && t->status == SHS_OK; i++)
        t->result = (t->result ^ ((const unsigned char *)values)[i]) * UINT64_C(1099511628211);
    t->bytes += t->status == SHS_OK ? bytes : 0;
}

static shs_real *new_reals(size_t count) {
    shs_real *x = (shs_real *)calloc(count, sizeof *x);
    if (!x) abort();
    return x;
}

/* Codes in few bytes. */
typedef struct packed {
    unsigned char bytes[M * (4 + 6 * S) + 100];
    size_t size;
} packed;

static int append(void *user, const void *bytes, size_t count) {
    packed *b = (packed *)user;
    memcpy(b->bytes + b->size, bytes, count);
    b->size += count;
    return 0;
}

static void pack(task *t, shs_codes *codes, shs_real *Z) {
    packed *b = (packed *)calloc(1, sizeof *b);
    shs_compact compact = SHS_ZERO;
    if (!b) abort();
    STEP(t, shs_codes_round(&t->ctx, P, N, t->s->D, P, SHS_COEF_I8, codes));
    STEP(t, shs_compact_save(codes, N, SHS_COEF_I8, append, b));
    note(t, b->bytes, b->size);
    STEP(t, shs_compact_open(b->bytes, b->size, &compact));
    STEP(t, shs_compact_synthesize(&t->ctx, P, N, t->s->D, P, &compact, 1, M - 1, Z, P));
    note(t, Z, P * (M - 1) * sizeof *Z);
    free(b);
}

static void code(task *t) {
    static const size_t groups[] = {0, M / 3, M / 3 + 1};
    const scene *s = t->s;
    shs_real *Z = new_reals(P * M);
    shs_wide sum2;
    shs_codes codes = SHS_ZERO;
    shs_omp_options o = SHS_ZERO;
    shs_lasso_options lasso = SHS_ZERO;
    o.sparsity = S;
    o.nonnegative = 1;
    STEP(t, shs_codes_create(&t->ctx, M, S, &codes));
    STEP(t, shs_omp_ex(&t->ctx, P, N, s->D, P, M, s->Y, P, &o, &codes, NULL, NULL));
    note(t, codes.atoms, M * S * sizeof(int));
    note(t, codes.coefs, M * S * sizeof(shs_real));
    o.nonnegative = 0; /* signals that each have their own weights */
    o.skip_nan = 1;
    STEP(t, shs_omp_ex(&t->ctx, P, N, s->D, P, M, s->Y, P, &o, &codes, NULL, NULL));
    note(t, codes.atoms, M * S * sizeof(int));
    note(t, codes.coefs, M * S * sizeof(shs_real));
    o.skip_nan = 0;
    o.selection = SHS_SELECT_OLS;
    STEP(t, shs_omp_ex(&t->ctx, P, N, s->D, P, M, s->Y, P, &o, &codes, NULL, NULL));
    note(t, codes.atoms, M * S * sizeof(int));
    note(t, codes.coefs, M * S * sizeof(shs_real));
    o.selection = SHS_SELECT_OMP; /* signals that share their atoms */
    o.groups = groups;
    o.group_count = 3;
    STEP(t, shs_omp_ex(&t->ctx, P, N, s->D, P, M, s->Y, P, &o, &codes, NULL, NULL));
    note(t, codes.atoms, M * S * sizeof(int));
    note(t, codes.coefs, M * S * sizeof(shs_real));
    lasso.relative = 1; /* the elastic net */
    lasso.lambda = (shs_real)0.3;
    lasso.lambda2 = (shs_real)0.1;
    STEP(t, shs_lasso(&t->ctx, P, N, s->D, P, M, s->Y, P, &lasso, &codes, NULL, NULL));
    note(t, codes.atoms, M * S * sizeof(int));
    note(t, codes.coefs, M * S * sizeof(shs_real));
    lasso.lambda2 = 0;
    STEP(t, shs_lasso(&t->ctx, P, N, s->D, P, M, s->Y, P, &lasso, &codes, NULL, NULL));
    note(t, codes.atoms, M * S * sizeof(int));
    note(t, codes.coefs, M * S * sizeof(shs_real));
    STEP(t, shs_omp(&t->ctx, P, N, s->D, M, s->Y, S, &codes));
    note(t, codes.atoms, M * S * sizeof(int));
    note(t, codes.coefs, M * S * sizeof(shs_real));
    STEP(t, shs_codes_residual(&t->ctx, P, N, s->D, P, M, s->Y, P, &codes, Z, P, &sum2));
    note(t, Z, P * M * sizeof *Z);
    note(t, &sum2, sizeof sum2);
    STEP(t, shs_codes_synthesize(&t->ctx, P, N, s->D, P, &codes, 0, M, Z, P));
    note(t, Z, P * M * sizeof *Z);
    pack(t, &codes, Z);
    shs_codes_free(&t->ctx, &codes);
    free(Z);
}

/* Many atoms in large groups, and few atoms one by one; batch by batch. */
static void learn(task *t) {
    shs_real *D = new_reals(P * N);
    shs_ksvd_options o = SHS_ZERO;
    shs_online_options online = SHS_ZERO;
    shs_signals from = SHS_ZERO;
    int u;
    o.iterations = 2;
    o.parallel_atoms = N / 2;
    o.coding.sparsity = S;
    o.seed = 9;
    STEP(t, shs_ksvd_ex(&t->ctx, P, N, M, t->s->Y, P, &o, D, P, NULL, NULL));
    note(t, D, P * N * sizeof *D);
    for (u = 0; u < SHS_UPDATE_COUNT; u++) {
        o.update = (shs_update)u;
        STEP(t, shs_ksvd_ex(&t->ctx, P, N, M, t->s->Y, P, &o, D, P, NULL, NULL));
        note(t, D, P * N * sizeof *D);
    }
    o.update = SHS_UPDATE_AKSVD;
    o.regularisation = o.incoherence = (shs_real)0.1;
    o.coherence = (shs_real)0.5;
    o.test = t->s->Y; /* with all that goes with a rule */
    o.test_m = M / 4;
    STEP(t, shs_ksvd_ex(&t->ctx, P, N, M, t->s->Y, P, &o, D, P, NULL, NULL));
    note(t, D, P * N * sizeof *D);
    o.regularisation = o.incoherence = o.coherence = 0;
    o.test = NULL;
    o.test_m = 0;
    o.update = SHS_UPDATE_KSVD;
    o.nonnegative = 1;
    STEP(t, shs_ksvd_ex(&t->ctx, P, N, M, t->s->Y, P, &o, D, P, NULL, NULL));
    note(t, D, P * N * sizeof *D);
    o.update = SHS_UPDATE_AKSVD;
    o.nonnegative = o.coding.nonnegative = 0;
    o.parallel_atoms = 1;
    o.coding.sparsity = 2;
    STEP(t, shs_ksvd_ex(&t->ctx, P, 3, M, t->s->Y, P, &o, D, P, NULL, NULL));
    note(t, D, P * 3 * sizeof *D);
    from.m = M;
    from.Y = t->s->Y;
    from.epochs = 2;
    online.coding.sparsity = S;
    online.batch = M / 2;
    online.replace_every = M / 2;
    STEP(t, shs_online_ex(&t->ctx, P, N, shs_shuffled_signals, &from, &online, D, P, NULL));
    note(t, D, P * N * sizeof *D);
    o.coding.skip_nan = 1; /* learning with missing values, of which there are none */
    STEP(t, shs_ksvd_ex(&t->ctx, P, N, M, t->s->Y, P, &o, D, P, NULL, NULL));
    note(t, D, P * N * sizeof *D);
    free(D);
}

enum { ROWS = 200, COLUMNS = 400 };

static void multiply(task *t) {
    const shs_real *A = t->s->Y; /* ROWS x 40, 40 x COLUMNS */
    shs_real *C = new_reals(ROWS * COLUMNS), *L = new_reals(ROWS * ROWS);
    int i;
    STEP(t, shs_gemm(&t->ctx, SHS_TRANS_NO, SHS_TRANS_NO, ROWS, COLUMNS, 40, 1, A, ROWS, A, 40, 0, C, ROWS));
    STEP(t, shs_syrk(&t->ctx, SHS_UPLO_LOWER, SHS_TRANS_NO, ROWS, 40, 1, A, ROWS, 0, L, ROWS));
    for (i = 0; i < ROWS; i++) L[i * ROWS + i] += 100;
    STEP(t, shs_cholesky(&t->ctx, SHS_UPLO_LOWER, ROWS, L, ROWS));
    STEP(t,
         shs_trsm(&t->ctx, SHS_SIDE_LEFT, SHS_UPLO_LOWER, SHS_TRANS_NO, SHS_DIAG_NON_UNIT, ROWS, COLUMNS, 1, L, ROWS, C, ROWS));
    note(t, C, ROWS * COLUMNS * sizeof *C);
    note(t, L, ROWS * ROWS * sizeof *L);
    free(C);
    free(L);
}

/* Eigenvectors of a random matrix, and of a matrix with strong deflation. */
static void diagonalize(task *t) {
    enum { ORDER = 203 };
    shs_wide *A = NEW(shs_wide, ORDER * ORDER), *V = NEW(shs_wide, ORDER * ORDER), values[ORDER];
    shs_random r;
    int i, j, k;
    shs_random_seed(&r, 4);
    for (k = 0; k < 2; k++) {
        for (j = 0; j < ORDER; j++)
            for (i = j; i < ORDER; i++)
                A[i + j * ORDER] = k == 0 ? shs_random_normal(&r) : (shs_wide)((i == j) + (shs_wide)((i % 7) * (j % 7)) / 7);
        STEP(t, shs_eigh(&t->ctx, ORDER, A, ORDER, ORDER, values, V, ORDER));
        note(t, values, sizeof values);
        note(t, V, ORDER * ORDER * sizeof *V);
    }
    free(A);
    free(V);
}

enum { WIDTH = 40, HEIGHT = 36 };

static void take_apart(task *t) {
    const scene *s = t->s;
    shs_patches set = SHS_ZERO;
    shs_omp_options o = SHS_ZERO;
    shs_real *Y, *out = new_reals(WIDTH * HEIGHT), *weight = new_reals(WIDTH * HEIGHT);
    size_t count;
    int p = 0;
    set.width = 4;
    set.height = 8;
    set.keep_mean = 1;
    count = shs_patches_count(&s->image, &set, &p);
    Y = new_reals(count * (size_t)p);
    STEP(t, shs_patches_get(&t->ctx, &s->image, &set, 0, count, Y, p, NULL, NULL));
    note(t, Y, count * (size_t)p * sizeof *Y);
    STEP(t, shs_patches_put(&t->ctx, &s->image, &set, 0, count, Y, p, NULL, NULL, out, weight));
    STEP(t, shs_patches_average(&t->ctx, &s->image, 1, out, weight, out));
    note(t, out, WIDTH * HEIGHT * sizeof *out);
    set.keep_mean = 0;
    o.sparsity = 2;
    STEP(t, shs_patches_approximate(&t->ctx, &s->image, &set, N, s->D, P, &o, 1, out, NULL));
    note(t, out, WIDTH * HEIGHT * sizeof *out);
    free(Y);
    free(out);
    free(weight);
}

/* The sink lies in memory, and holds as many bytes. */
static void note_sink(task *t, const shs_sink *sink, const shs_cube *cube, int outputs) {
    note(t, sink->pixels, (size_t)cube->lines * (size_t)cube->samples * (size_t)outputs * shs_type_size(sink->type));
}

static shs_sink sink_for(const shs_cube *cube, shs_type type, int outputs) {
    shs_sink sink = SHS_ZERO;
    sink.type = type;
    sink.interleave = SHS_INTERLEAVE_BIP;
    sink.pixels = new_reals((size_t)cube->lines * (size_t)cube->samples * (size_t)outputs);
    return sink;
}

/* Components of many bands, stretched into bytes; of a stream, into floats. */
static void find_components(task *t) {
    const shs_cube *wide = &t->s->wide;
    shs_sink bytes = sink_for(wide, SHS_TYPE_U8, wide->bands), floats = sink_for(wide, SHS_TYPE_F32, wide->bands);
    shs_pca pca = SHS_ZERO;
    stream read;
    shs_cube lines = streamed(wide, 35, &read);
    bytes.rescale = 1;
    bytes.high = 255;
    STEP(t, shs_pca_run(&t->ctx, wide, NULL, &bytes, &pca));
    note_sink(t, &bytes, wide, wide->bands);
    STEP(t, shs_pca_transform(&t->ctx, &pca, &lines, &floats));
    note_sink(t, &floats, wide, wide->bands);
    shs_pca_free(&t->ctx, &pca);
    sink_free(&bytes);
    sink_free(&floats);
}

static void reduce_noise(task *t) {
    const shs_cube *cube = &t->s->cube;
    shs_sink sink = sink_for(cube, SHS_TYPE_F32, cube->bands);
    shs_pca mnf = SHS_ZERO;
    size_t pixels = (size_t)cube->lines * (size_t)cube->samples, i;
    int *labels = NEW(int, pixels);
    STEP(t, shs_mnf_fit(&t->ctx, cube, NULL, &mnf));
    STEP(t, shs_pca_denoise(&t->ctx, &mnf, 3, cube, &sink));
    note_sink(t, &sink, cube, cube->bands);
    STEP(t, shs_rx(&t->ctx, cube, NULL, &sink, NULL));
    note_sink(t, &sink, cube, 1);
    STEP(t, shs_rx_local(&t->ctx, cube, NULL, &sink));
    note_sink(t, &sink, cube, 1);
    for (i = 0; i < pixels; i++) labels[i] = (int)(i % 3);
    STEP(t, shs_rx_classes(&t->ctx, cube, labels, 3, NULL, &sink, NULL));
    note_sink(t, &sink, cube, 1);
    free(labels);
    shs_pca_free(&t->ctx, &mnf);
    sink_free(&sink);
}

/* Detection of known spectra, search for endmembers, and abundances. */
static void find_materials(task *t) {
    const shs_cube *cube = &t->s->large;
    const int n = cube->bands;
    shs_sink sink = sink_for(cube, SHS_TYPE_F32, n);
    shs_detect_options how = SHS_ZERO;
    shs_endmember_options o = SHS_ZERO;
    shs_endmembers e = SHS_ZERO;
    o.count = n;
    for (; o.method < SHS_EXTRACTOR_COUNT; o.method = (shs_extractor)(o.method + 1)) {
        shs_endmembers_free(&t->ctx, &e);
        STEP(t, shs_endmembers_find(&t->ctx, cube, &o, &e));
        if (t->status == SHS_OK) note(t, e.spectra, (size_t)(n * n) * sizeof *e.spectra);
    }
    STEP(t, shs_unmix(&t->ctx, cube, 3, e.spectra, n, SHS_CONSTRAINT_FULL, &sink));
    note_sink(t, &sink, cube, 3);
    for (; how.method < SHS_DETECTOR_COUNT; how.method = (shs_detector)(how.method + 1)) {
        STEP(t, shs_detect(&t->ctx, cube, 2, e.spectra, n, &how, &sink));
        note_sink(t, &sink, cube, 2);
    }
    shs_endmembers_free(&t->ctx, &e);
    sink_free(&sink);
}

static void find_sources(task *t) {
    const shs_cube *cube = &t->s->cube;
    shs_sink sink = sink_for(cube, SHS_TYPE_F32, 3);
    shs_ica_options o = SHS_ZERO;
    shs_ica ica = SHS_ZERO;
    o.components = 3;
    STEP(t, shs_ica_run(&t->ctx, cube, &o, &sink, &ica));
    note_sink(t, &sink, cube, 3);
    shs_ica_free(&t->ctx, &ica);
    o.contrast = SHS_CONTRAST_TANH;
    o.approach = SHS_APPROACH_SYMMETRIC;
    STEP(t, shs_ica_fit(&t->ctx, cube, &o, &ica));
    if (t->status == SHS_OK) note(t, ica.unmixing, (size_t)(ica.bands * ica.components) * sizeof *ica.unmixing);
    shs_ica_free(&t->ctx, &ica);
    sink_free(&sink);
}

/* A deep product, so that threads share slabs of the depth, large enough to add the slabs in parallel too. */
static void multiply_deep(task *t) {
    enum { SIDE = 260, DEPTH = 2 * SLAB_DEPTH + 1 };
    shs_real *A = new_normal(SIDE, 7), *B = new_reals((size_t)SIDE * DEPTH), *C = new_reals(SIDE * SIDE);
    size_t i;
    for (i = 0; i < (size_t)SIDE * DEPTH; i++) B[i] = A[i % (SIDE - 1)];
    STEP(t, shs_gemm(&t->ctx, SHS_TRANS_NO, SHS_TRANS_YES, SIDE, SIDE, DEPTH, 1, B, SIDE, B, SIDE, 0, C, SIDE));
    note(t, C, SIDE * SIDE * sizeof *C);
    free(A);
    free(B);
    free(C);
}

static void (*const tasks[])(task *t) = {code, learn, multiply, diagonalize, take_apart, find_components,
                                         reduce_noise, find_materials, find_sources};
#define TASKS (int)(sizeof tasks / sizeof *tasks)

static void *run(void *user) {
    task *t = (task *)user;
    t->perform(t);
    return NULL;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void scene_create(scene *s) {
    plain_cube p = mixed_cube(40, 50, 6, 3, 0.01, 17), q = mixed_cube(36, 45, 96, 3, 1, 18);
    plain_cube r = mixed_cube(130, 140, 6, 6, 1, 19);
    int i;
    s->D = new_normal(P * N, 1);
    s->Y = new_normal(P * M, 2);
    assert_ok(shs_normalize_columns(P, N, s->D, P, NULL));
    s->cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0);
    s->wide = cube_of(&q, SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 0);
    s->large = cube_of(&r, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0);
    s->pixels = NEW(unsigned char, WIDTH * HEIGHT);
    for (i = 0; i < WIDTH * HEIGHT; i++) s->pixels[i] = (unsigned char)(i * i / 7);
    memset(&s->image, 0, sizeof s->image);
    s->image.pixels = s->pixels;
    s->image.type = SHS_TYPE_U8;
    s->image.width = WIDTH;
    s->image.height = HEIGHT;
    free(p.x);
    free(q.x);
    free(r.x);
}

static void scene_free(scene *s) {
    free(s->D);
    free(s->Y);
    free(s->pixels);
    cube_free(&s->cube);
    cube_free(&s->wide);
    cube_free(&s->large);
}

static task new_task(const scene *s, void (*perform)(task *t), int how) {
    task t;
    memset(&t, 0, sizeof t);
    t.s = s;
    t.perform = perform;
    t.ctx.threads = how == ALONE ? 1 : WORKERS;
    if (how == OF_THE_CALLER) t.ctx.parallel_fn = parallel_for;
    return t;
}

static void assert_same_result(const task *a, const task *b) {
    assert_ok(a->status);
    assert_true(a->bytes > 0 && a->bytes == b->bytes);
    assert_true(a->result == b->result);
}

/* Runs every task twice at the same time, each with its own threads. */
static void test_all_at_once(void **state) {
    scene s;
    task alone[TASKS], together[2 * TASKS];
    pthread_t thread[2 * TASKS];
    int i, how;
    (void)state;
    scene_create(&s);
    for (i = 0; i < TASKS; i++) {
        alone[i] = new_task(&s, tasks[i], ALONE);
        run(&alone[i]);
    }
    for (how = ALONE; how <= OF_THE_COMPILER; how++) {
        for (i = 0; i < 2 * TASKS; i++) together[i] = new_task(&s, tasks[i % TASKS], how);
        for (i = 0; i < 2 * TASKS; i++) assert_int_equal(pthread_create(&thread[i], NULL, run, &together[i]), 0);
        for (i = 0; i < 2 * TASKS; i++) pthread_join(thread[i], NULL);
        for (i = 0; i < 2 * TASKS; i++) assert_same_result(&together[i], &alone[i % TASKS]);
    }
    scene_free(&s);
}

/* The same loop over threads, one task after another. */
static void test_one_after_another(void **state) {
    scene s;
    int i, how;
    (void)state;
    scene_create(&s);
    for (i = 0; i <= TASKS; i++) {
        void (*perform)(task * t) = i < TASKS ? tasks[i] : multiply_deep;
        task alone = new_task(&s, perform, ALONE);
        run(&alone);
        for (how = OF_THE_CALLER; how <= OF_THE_COMPILER; how++) {
            task shared = new_task(&s, perform, how);
            run(&shared);
            assert_same_result(&shared, &alone);
        }
    }
    scene_free(&s);
}

/* The tests above have shared out every loop of the library. */
static int was_shared_out(shs_chunk_fn body) {
    int i;
    for (i = 0; i < seen_count; i++)
        if (seen[i] == body) return 1;
    return 0;
}

static void test_every_stage_was_shared_out(void **state) {
    int k;
    (void)state;
    for (k = 0; k < test_stage_count; k++)
        if (!was_shared_out(test_stages[k].body)) fail_msg("%s: never shared out", test_stages[k].name);
    assert_int_equal(seen_count, test_stage_count); /* a new one belongs in the list, and in a task */
}

#if defined(_OPENMP) && !defined(SPARSEHS_NO_OPENMP)
/* A machine of two threads in simulated time, since another program may have the processors of the real one. Each chunk of the
   other thread lasts long, as where another program has every processor but the caller's. */
enum { BUSY_REGIONS = 40, BUSY_CHUNKS = 4 };
enum { BUSY_ALWAYS, IDLE_AT_TIMES, BUSY_FOR_ONE_ALONE, BUSY_CASES };

typedef struct busy_machine {
    int kind; /* IDLE_AT_TIMES: every second region the other thread has a processor, too; BUSY_FOR_ONE_ALONE: it has one in the
                 first region, and the calling thread has none in the second, which it does alone to be timed */
    int region, alone[BUSY_REGIONS]; /* chunks that the calling thread did, a region */
    double now;                      /* seconds, when the region began */
    int done[2];                     /* chunks of the calling thread and of the other in the region */
    double lasts[2];                 /* seconds that each of them lasts */
} busy_machine;

static busy_machine busy;

/* A region ends when both threads have. */
static double simulated_seconds(void) {
    const double mine = busy.done[0] * busy.lasts[0];
    if (omp_in_parallel()) return busy.now + mine; /* the other thread counts meanwhile */
    return busy.now + fmax(mine, busy.done[1] * busy.lasts[1]);
}

/* In a region on two threads each of them does a chunk at least: it waits for the other's first. */
static void busy_chunk(void *arg, size_t chunk, int worker) {
    int others = 0;
    (void)arg;
    (void)chunk;
#pragma omp atomic
    busy.done[worker]++;
    while (omp_in_parallel() && others == 0) {
#pragma omp atomic read
        others = busy.done[!worker];
        sched_yield();
    }
    if (!worker) busy.alone[busy.region]++;
}

static void next_region(void *arg) {
    (void)arg;
    busy.now = simulated_seconds();
    busy.done[0] = busy.done[1] = 0;
    busy.region++;
    busy.lasts[0] = 0.0005;
    if (busy.kind == BUSY_FOR_ONE_ALONE && busy.region == 1) busy.lasts[0] = 0.05;
    busy.lasts[1] = 0.02;
    if (busy.kind == IDLE_AT_TIMES && busy.region % 2 == 0) busy.lasts[1] = 0.0005;
    if (busy.kind == BUSY_FOR_ONE_ALONE && busy.region == 0) busy.lasts[1] = 0.0005;
}

/* A driver of many regions soon leaves them to the calling thread, also where some of its trials succeed, or the time that it takes
   alone was once far too high. */
static void test_sharing_that_does_not_pay(void **state) {
    int kind, region;
    (void)state;
    test_seconds = simulated_seconds;
    for (kind = 0; kind < BUSY_CASES; kind++) {
        shs_context ctx = SHS_ZERO;
        int shared = 0;
        memset(&busy, 0, sizeof busy);
        busy.kind = kind;
        busy.region = -1;
        next_region(NULL);
        ctx.threads = 2;
        test_share_regions(&ctx, BUSY_REGIONS, BUSY_CHUNKS, busy_chunk, NULL, next_region);
        for (region = 0; region < BUSY_REGIONS; region++) shared += busy.alone[region] < BUSY_CHUNKS;
        assert_in_range(shared, 1, 8);
    }
    test_seconds = omp_get_wtime;
}
#endif

#if defined(TEST_FORKS)
/* The child of a fork calls with threads after its parent did, and the parent goes on. A child that waits for ever is ended. */
static void test_fork(void **state) {
    shs_real *D = new_normal(P * N, 71), *Y = new_normal(P * M, 72);
    shs_codes one, other;
    shs_context ctx = SHS_ZERO;
    int turn, ended;
    (void)state;
    assert_ok(shs_codes_create(NULL, M, S, &one));
    assert_ok(shs_codes_create(NULL, M, S, &other));
    ctx.threads = 2;
    assert_ok(shs_omp(&ctx, P, N, D, M, Y, S, &one));
    for (turn = 0; turn < 2; turn++) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            if (shs_omp(&ctx, P, N, D, M, Y, S, &other) != SHS_OK) _exit(1);
            _exit(memcmp(one.coefs, other.coefs, sizeof(shs_real) * M * S) != 0);
        }
        assert_true(child > 0 && waitpid(child, &ended, 0) == child);
        assert_int_equal(ended, 0);
        assert_ok(shs_omp(&ctx, P, N, D, M, Y, S, &other));
        assert_memory_equal(one.coefs, other.coefs, sizeof(shs_real) * M * S);
    }
    shs_codes_free(NULL, &one), shs_codes_free(NULL, &other);
    free(D);
    free(Y);
}
#endif

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_at_once),
        cmocka_unit_test(test_one_after_another),
        cmocka_unit_test(test_every_stage_was_shared_out),
#if defined(TEST_FORKS)
        cmocka_unit_test(test_fork),
#endif
#if defined(_OPENMP) && !defined(SPARSEHS_NO_OPENMP)
        cmocka_unit_test(test_sharing_that_does_not_pay),
#endif
    };
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
