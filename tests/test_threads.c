/* test_threads.c - several contexts at once in several threads, and loops over threads of the caller's own: the results are
   those of each call alone, to the bit. */
#include "test_cube_tools.h"

#define P 12
#define N 30
#define M 400
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
    pthread_mutex_init(&l.lock, NULL);
    l.next = 0, l.chunks = chunks, l.body = body, l.arg = arg;
    for (i = 0; i < threads; i++) {
        worker[i].of = &l, worker[i].number = i;
        if (pthread_create(&thread[i], NULL, work, &worker[i])) abort();
    }
    for (i = 0; i < threads; i++) pthread_join(thread[i], NULL);
    pthread_mutex_destroy(&l.lock);
}

/* ---- what each thread does --------------------------------------------------------------------------------------- */

typedef struct scene {
    shs_real *D, *Y;
    shs_cube cube;
} scene;

enum { CODING = 0, LEARNING, COMPONENTS, SOURCES, TASKS };

/* One task, its context, and the bytes that come of it. */
typedef struct task {
    const scene *s;
    int what, threads;
    shs_status status;
    unsigned char result[65536];
    size_t used;
} task;

static void note(task *t, const void *values, size_t bytes) {
    if (bytes > sizeof t->result - t->used) abort();
    memcpy(t->result + t->used, values, bytes);
    t->used += bytes;
}

static void *perform(void *user) {
    task *t = (task *)user;
    const scene *s = t->s;
    shs_context ctx = SHS_ZERO;
    ctx.threads = t->threads;
    if (t->threads > 1) ctx.parallel_fn = parallel_for;
    t->used = 0;
    if (t->what == CODING) {
        shs_codes codes;
        t->status = shs_codes_create(&ctx, M, S, &codes);
        if (t->status == SHS_OK) t->status = shs_omp(&ctx, P, N, s->D, M, s->Y, S, &codes);
        note(t, codes.atoms, M * S * sizeof(int)), note(t, codes.coefs, M * S * sizeof(shs_real));
        shs_codes_free(&ctx, &codes);
    } else if (t->what == LEARNING) {
        shs_real D[P * N];
        shs_ksvd_options o = SHS_ZERO;
        o.iterations = 3, o.parallel_atoms = 8, o.coding.sparsity = S, o.seed = 9;
        t->status = shs_ksvd_ex(&ctx, P, N, D, P, M, s->Y, P, &o, NULL, NULL);
        note(t, D, sizeof D);
    } else if (t->what == COMPONENTS) {
        shs_pca pca = SHS_ZERO;
        t->status = shs_pca_fit(&ctx, &s->cube, NULL, &pca);
        if (t->status == SHS_OK) note(t, pca.vectors, (size_t)(pca.bands * pca.components) * sizeof *pca.vectors);
        shs_pca_free(&ctx, &pca);
    } else {
        shs_ica ica = SHS_ZERO;
        shs_ica_options o = SHS_ZERO;
        o.components = 3, o.contrast = SHS_TANH;
        t->status = shs_ica_fit(&ctx, &s->cube, &o, &ica);
        if (t->status == SHS_OK) note(t, ica.unmixing, (size_t)(ica.bands * ica.components) * sizeof *ica.unmixing);
        shs_ica_free(&ctx, &ica);
    }
    return NULL;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void scene_create(scene *s) {
    plain_cube p = mixed_cube(40, 50, 6, 3, 0.01, 17);
    s->D = new_normal(P * N, 1), s->Y = new_normal(P * M, 2);
    assert_ok(shs_normalize_columns(P, N, s->D, P, NULL));
    s->cube = cube_of(&p, SHS_F32, SHS_BIP, 0);
    free(p.x);
}

static void scene_free(scene *s) {
    free(s->D), free(s->Y);
    cube_free(&s->cube);
}

static task *new_tasks(const scene *s, int count, int threads) {
    task *tasks = NEW(task, count);
    int i;
    for (i = 0; i < count; i++) tasks[i].s = s, tasks[i].what = i % TASKS, tasks[i].threads = threads;
    return tasks;
}

static void assert_same_result(const task *a, const task *b) {
    assert_ok(a->status);
    assert_true(a->used > 0 && a->used == b->used);
    assert_memory_equal(a->result, b->result, a->used);
}

/* Two of each task at the same time, each with threads of its own. */
static void test_all_at_once(void **state) {
    scene s;
    task *alone, *together;
    pthread_t thread[2 * TASKS];
    int i, threads;
    (void)state;
    scene_create(&s);
    alone = new_tasks(&s, TASKS, 1);
    for (i = 0; i < TASKS; i++) perform(&alone[i]);
    for (threads = 1; threads <= WORKERS; threads += 3) {
        together = new_tasks(&s, 2 * TASKS, threads);
        for (i = 0; i < 2 * TASKS; i++) assert_int_equal(pthread_create(&thread[i], NULL, perform, &together[i]), 0);
        for (i = 0; i < 2 * TASKS; i++) pthread_join(thread[i], NULL);
        for (i = 0; i < 2 * TASKS; i++) assert_same_result(&together[i], &alone[i % TASKS]);
        free(together);
    }
    free(alone);
    scene_free(&s);
}

/* The same loop over threads, one task after another. */
static void test_loops_of_the_caller(void **state) {
    scene s;
    task *alone, *shared;
    int i;
    (void)state;
    scene_create(&s);
    alone = new_tasks(&s, TASKS, 1), shared = new_tasks(&s, TASKS, WORKERS);
    for (i = 0; i < TASKS; i++) {
        perform(&alone[i]), perform(&shared[i]);
        assert_same_result(&shared[i], &alone[i]);
    }
    free(alone), free(shared);
    scene_free(&s);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_at_once),
        cmocka_unit_test(test_loops_of_the_caller),
    };
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
