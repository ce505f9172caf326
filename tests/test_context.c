/* test_context.c - status texts, memory, arena, threads, ranks, NaN tests, random numbers. */
#include "test.h"

/* ---- status and types -------------------------------------------------------------------------------------------- */

static void every_status_has_its_own_name_and_text(void **state) {
    int i, j;
    (void)state;
    assert_int_equal(SHS_OK, 0);
    assert_string_equal(shs_status_name(SHS_BAD_LDA), "SHS_BAD_LDA");
    for (i = 0; i < STATUSES; i++) {
        const char *name = shs_status_name((shs_status)i), *text = shs_status_text((shs_status)i);
        assert_memory_equal(name, "SHS_", 4);
        assert_in_range(strlen(text), 6, 93);
        if (i > SHS_CANCELLED) assert_non_null(strstr(text, ": ")); /* what is at fault: what is wrong */
        for (j = 0; j < i; j++) {
            assert_string_not_equal(name, shs_status_name((shs_status)j));
            assert_string_not_equal(text, shs_status_text((shs_status)j));
        }
    }
}

static void an_unknown_status_is_called_so(void **state) {
    const int unknown[] = {STATUSES, STATUSES + 1, 12345, -1};
    size_t i;
    (void)state;
    for (i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        assert_string_equal(shs_status_text((shs_status)unknown[i]), "unknown status");
        assert_string_equal(shs_status_name((shs_status)unknown[i]), "unknown status");
    }
}

/* One line for each instruction set: version, precision, instruction sets, the instruction set in use, threads. */
static void build_info_says_what_is_in_use(void **state) {
    static const char *const used[SHS__INSTANCES] = {"in use: " SHS__BASE ";", "in use: AVX2;", "in use: AVX-512;"};
    char version[32];
    int widest = test_instance;
    (void)state;
    snprintf(version, sizeof version, "sparsehs %d.%d.%d; %s", SPARSEHS_VERSION_MAJOR, SPARSEHS_VERSION_MINOR,
             SPARSEHS_VERSION_PATCH, BY_TYPE("float", "double"));
    for (test_instance = 0; test_instance < SHS__INSTANCES; test_instance++) {
        const char *info = shs_build_info();
        assert_memory_equal(info, version, strlen(version));
        assert_null(strchr(info, '\n'));
        assert_non_null(strstr(info, used[shs__kernels_instance()]));
        assert_non_null(strstr(info, "kernels: " SHS__BASE));
        assert_int_equal(strstr(info, "no double") != NULL, sizeof(shs_wide) < sizeof(double));
#ifdef _OPENMP
        assert_non_null(strstr(info, "; OpenMP"));
#else
        assert_non_null(strstr(info, "; no OpenMP"));
#endif
#if defined(__MINGW64__) && !defined(__clang__) && !defined(SPARSEHS_DISPATCH)
        assert_null(strstr(info, "AVX"));
#elif defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(SPARSEHS_NO_DISPATCH) && !defined(SPARSEHS_NO_SIMD)
        assert_non_null(strstr(info, "AVX-512;"));
        assert_null(strstr(info, "missing"));
#endif
    }
    test_instance = widest;
}

static void types_have_their_sizes(void **state) {
    (void)state;
    assert_int_equal(shs_type_size(SHS_TYPE_REAL), sizeof(shs_real));
    assert_int_equal(sizeof(shs_real), BY_TYPE(4, 8));
    assert_int_equal(shs_type_size(SHS_TYPE_U8), sizeof(uint8_t));
    assert_int_equal(shs_type_size(SHS_TYPE_I16), sizeof(int16_t));
    assert_int_equal(shs_type_size(SHS_TYPE_U16), sizeof(uint16_t));
    assert_int_equal(shs_type_size(SHS_TYPE_I32), sizeof(int32_t));
    assert_int_equal(shs_type_size(SHS_TYPE_U32), sizeof(uint32_t));
    assert_int_equal(shs_type_size(SHS_TYPE_F32), sizeof(float));
    assert_int_equal(shs_type_size(SHS_TYPE_F64), sizeof(double));
    assert_int_equal(shs_type_size(SHS_TYPE_COUNT), 0);
    assert_int_equal(shs_type_size((shs_type)99), 0);
}

/* ---- arena ------------------------------------------------------------------------------------------------------- */

static void arena_blocks_are_aligned_and_apart(void **state) {
    enum { SIZE = 4096, BLOCKS = 9 };
    const size_t sizes[BLOCKS] = {1, 16, 0, 7, 100, 64, 3, 255, 1};
    unsigned char *memory = (unsigned char *)malloc(SIZE + 16), *block[BLOCKS];
    size_t offset;
    (void)state;
    assert_non_null(memory);
    for (offset = 0; offset < 16; offset++) {
        shs_arena a;
        size_t k, i;
        shs_arena_init(&a, memory + offset, SIZE);
        for (k = 0; k < BLOCKS; k++) {
            block[k] = (unsigned char *)shs__arena_alloc(&a, sizes[k]);
            assert_non_null(block[k]);
            assert_int_equal((uintptr_t)block[k] % 8, 0);
            assert_true(block[k] >= memory + offset && block[k] + sizes[k] <= memory + offset + SIZE);
            memset(block[k], (int)k + 1, sizes[k]);
        }
        for (k = 0; k < BLOCKS; k++)
            for (i = 0; i < sizes[k]; i++) assert_int_equal(block[k][i], k + 1);
        for (k = BLOCKS; k-- > 0;) shs__arena_free(&a, block[k]);
        assert_int_equal(a.used, 0);
    }
    free(memory);
}

static void arena_takes_blocks_back_last_first(void **state) {
    uint64_t memory[64];
    shs_arena a;
    void *first, *second, *third;
    size_t after_first, peak;
    (void)state;
    shs_arena_init(&a, memory, sizeof memory);
    first = shs__arena_alloc(&a, 40);
    after_first = a.used;
    second = shs__arena_alloc(&a, 200);
    peak = a.peak;
    assert_in_range(peak, a.used, a.used + 15);
    shs__arena_free(&a, second);
    assert_int_equal(a.used, after_first);
    third = shs__arena_alloc(&a, 60);
    assert_ptr_equal(third, second);
    assert_int_equal(a.peak, peak);
    shs__arena_free(&a, third);
    shs__arena_free(&a, first);
    assert_int_equal(a.used, 0);
    assert_int_equal(a.peak, peak);
}

/* What one arena took at most suffices at any other address. */
static void an_arena_of_the_peak_suffices_anywhere(void **state) {
    enum { SIZE = 400 };
    unsigned char memory[SIZE + 16];
    int measured, offset;
    (void)state;
    for (measured = 0; measured < 16; measured++) {
        shs_arena one;
        shs_arena_init(&one, memory + measured, SIZE);
        assert_non_null(shs__arena_alloc(&one, 41));
        assert_non_null(shs__arena_alloc(&one, 190));
        for (offset = 0; offset < 16; offset++) {
            shs_arena other;
            shs_arena_init(&other, memory + offset, one.peak);
            assert_non_null(shs__arena_alloc(&other, 41));
            assert_non_null(shs__arena_alloc(&other, 190));
            assert_null(shs__arena_alloc(&other, 16));
        }
    }
}

static void a_full_arena_gives_null_and_stays_as_it_is(void **state) {
    uint64_t memory[64];
    shs_arena a, before;
    size_t largest = 0, size;
    (void)state;
    for (size = 0; size <= sizeof memory; size++) {
        shs_arena_init(&a, memory, sizeof memory);
        if (shs__arena_alloc(&a, size)) largest = size;
    }
    assert_in_range(largest, sizeof memory - 64, sizeof memory);
    shs_arena_init(&a, memory, sizeof memory);
    assert_non_null(shs__arena_alloc(&a, largest - 100));
    before = a;
    assert_null(shs__arena_alloc(&a, 101));
    assert_null(shs__arena_alloc(&a, SIZE_MAX));
    assert_null(shs__arena_alloc(&a, SIZE_MAX - 32));
    assert_memory_equal(&a, &before, sizeof a);
}

static void an_arena_too_small_for_anything_gives_null(void **state) {
    uint64_t memory[4];
    shs_arena a;
    size_t size;
    (void)state;
    shs_arena_init(&a, NULL, 1000);
    assert_int_equal(a.size, 0);
    assert_null(shs__arena_alloc(&a, 1));
    for (size = 0; size < 8; size++) {
        shs_arena_init(&a, (unsigned char *)memory + 1, size);
        assert_null(shs__arena_alloc(&a, 1));
        assert_int_equal(a.used, 0);
    }
}

static void attaching_an_arena_leaves_the_rest_of_the_context(void **state) {
    uint64_t memory[8];
    shs_context ctx = SHS_ZERO;
    shs_arena a;
    void *block;
    (void)state;
    ctx.threads = 3;
    shs_arena_init(&a, memory, sizeof memory);
    shs_arena_attach(&a, &ctx);
    assert_int_equal(ctx.threads, 3);
    assert_ptr_equal(ctx.alloc_user, &a);
    assert_ok(shs__ctx_check(&ctx));
    block = shs__ctx_alloc(&ctx, 8);
    assert_non_null(block);
    assert_ptr_equal(block, a.memory + a.used - 8);
}

/* ---- layouts and allocators -------------------------------------------------------------------------------------- */

/* An allocator that counts, and fails when told to. */
typedef struct counting {
    int blocks, calls, fail;
    size_t last_size;
} counting;

static void *counting_alloc(void *user, size_t size) {
    counting *c = (counting *)user;
    c->calls++;
    c->last_size = size;
    if (c->fail) return NULL;
    c->blocks++;
    return malloc(size);
}

static void counting_free(void *user, void *block) {
    ((counting *)user)->blocks--;
    free(block);
}

static shs_context counting_context(counting *c) {
    shs_context ctx = SHS_ZERO;
    memset(c, 0, sizeof *c);
    ctx.alloc_fn = counting_alloc;
    ctx.free_fn = counting_free;
    ctx.alloc_user = c;
    return ctx;
}

static void a_layout_counts_what_it_carves(void **state) {
    enum { BUFFERS = 6 };
    const size_t sizes[BUFFERS] = {1, 64, 0, 65, 1000, 3};
    unsigned char *buffer[BUFFERS];
    counting c;
    shs_context ctx = counting_context(&c);
    shs__layout l = SHS_ZERO;
    size_t k, i, counted, said;
    (void)state;
    for (k = 0; k < BUFFERS; k++) assert_null(shs__layout_carve(&l, sizes[k], 1));
    counted = l.used;
    said = shs__layout_size(&l);
    assert_ok(shs__layout_acquire(&ctx, &l));
    assert_int_equal(c.calls, 1);
    assert_in_range(c.last_size, counted, said);
    for (k = 0; k < BUFFERS; k++) {
        buffer[k] = (unsigned char *)shs__layout_carve(&l, sizes[k], 1);
        assert_non_null(buffer[k]);
        assert_int_equal((uintptr_t)buffer[k] % SHS__ALIGN, 0);
        memset(buffer[k], (int)k + 1, sizes[k]);
    }
    assert_int_equal(l.used, counted);
    assert_true(l.base >= (unsigned char *)l.block && l.base + l.used <= (unsigned char *)l.block + c.last_size);
    for (k = 0; k < BUFFERS; k++)
        for (i = 0; i < sizes[k]; i++) assert_int_equal(buffer[k][i], k + 1);
#ifdef SHS__ASAN
    assert_true(__asan_address_is_poisoned(buffer[0] + 1));
    assert_true(__asan_address_is_poisoned(buffer[1] + 64));
#endif
    shs__layout_release(&ctx, &l);
    shs__layout_release(&ctx, &l);
    assert_int_equal(c.blocks, 0);
}

/* An arena of the size from a workspace query is enough if its buffer is aligned like malloc's. Otherwise 16 more bytes are
   enough. */
static void an_arena_of_the_size_that_a_query_says_is_enough(void **state) {
    size_t offset, size;
    (void)state;
    for (size = 1; size < 300; size += 23)
        for (offset = 0; offset < SHS__ALIGN; offset++) {
            shs_context ctx = SHS_ZERO;
            shs_arena a;
            shs__layout l = SHS_ZERO;
            unsigned char *memory;
            size_t query;
            shs__layout_carve(&l, size, 1);
            query = shs__layout_query(&l);
            memory = (unsigned char *)malloc(offset + query);
            assert_non_null(memory);
            shs_arena_init(&a, memory + offset, query);
            shs_arena_attach(&a, &ctx);
            assert_ok(shs__layout_acquire(&ctx, &l));
            memset(shs__layout_carve(&l, size, 1), 1, size);
            shs__layout_release(&ctx, &l);
            assert_int_equal(a.used, 0);
            free(memory);
        }
}

static void a_layout_that_overflows_is_refused_before_allocation(void **state) {
    const size_t big = SIZE_MAX;
    const size_t counts[][2] = {{big, 1}, {big, 8}, {big / 2, 3}, {big / 8 + 1, 8}, {big / 2 - 1, 1}};
    counting c;
    shs_context ctx = counting_context(&c);
    size_t k;
    (void)state;
    for (k = 0; k < sizeof counts / sizeof *counts; k++) {
        shs__layout l = SHS_ZERO;
        shs__layout_carve(&l, 10, 4);
        assert_null(shs__layout_carve(&l, counts[k][0], counts[k][1]));
        shs__layout_carve(&l, 10, 4);
        assert_int_equal(shs__layout_size(&l), SIZE_MAX);
        assert_status(shs__layout_acquire(&ctx, &l), SHS_TOO_LARGE);
        assert_int_equal(c.calls, 0);
    }
}

/* Two buffers that each just fit must not wrap round to a small block. */
static void a_layout_never_wraps_round(void **state) {
    size_t below;
    (void)state;
    for (below = 0; below < 600; below++) {
        shs__layout l = SHS_ZERO;
        size_t first = SIZE_MAX / 2 - below;
        shs__layout_carve(&l, first, 1);
        assert_true(l.overflow || shs__layout_size(&l) > first);
        shs__layout_carve(&l, SIZE_MAX / 2 + 300, 1);
        assert_int_equal(shs__layout_size(&l), SIZE_MAX);
    }
}

static void products_of_counts_do_not_wrap_round(void **state) {
    const size_t half = (size_t)1 << (sizeof(size_t) * 4);
    (void)state;
    assert_int_equal(shs__layout_multiply(3, 5, 7), 105);
    assert_int_equal(shs__layout_multiply(0, SIZE_MAX, 2), 0);
    assert_int_equal(shs__layout_multiply(half, half, 1), SIZE_MAX);
    assert_int_equal(shs__layout_multiply(half, half / 2, 2), SIZE_MAX);
    assert_int_equal(shs__layout_multiply(half, half / 2, 1), SIZE_MAX / 2 + 1);
    assert_true(shs__layout_overflows(SIZE_MAX, 2));
    assert_false(shs__layout_overflows(SIZE_MAX, 1));
    assert_false(shs__layout_overflows(SIZE_MAX, 0));
}

static void an_allocator_that_fails_is_reported(void **state) {
    counting c;
    shs_context ctx = counting_context(&c);
    shs__layout l = SHS_ZERO;
    (void)state;
    shs__layout_carve(&l, 100, 8);
    c.fail = 1;
    assert_status(shs__layout_acquire(&ctx, &l), SHS_NO_MEMORY);
    assert_int_equal(c.calls, 1);
    assert_null(l.block);
    shs__layout_release(&ctx, &l);
    assert_int_equal(c.blocks, 0);
}

static void without_a_context_malloc_serves(void **state) {
    shs__layout l = SHS_ZERO;
    unsigned char *x;
    (void)state;
    shs__layout_carve(&l, 100, 8);
    assert_ok(shs__layout_acquire(NULL, &l));
    x = (unsigned char *)shs__layout_carve(&l, 100, 8);
    memset(x, 1, 800);
    shs__layout_release(NULL, &l);
}

/* ---- context, threads, progress ---------------------------------------------------------------------------------- */

static void serial_loop(void *user, size_t chunks, int threads, shs_chunk_fn body, void *arg);

static int ok_reduce(void *user, shs_wide *values, size_t count, shs_reduce_op op) {
    (void)user;
    (void)values;
    (void)count;
    (void)op;
    return 0;
}

static void a_context_is_checked(void **state) {
    counting c;
    shs_context zero = SHS_ZERO, ctx;
    shs_engine engine = SHS_ZERO;
    (void)state;
    assert_ok(shs__ctx_check(NULL));
    assert_ok(shs__ctx_check(&zero));
    ctx = counting_context(&c);
    assert_ok(shs__ctx_check(&ctx));
    ctx.free_fn = NULL;
    assert_status(shs__ctx_check(&ctx), SHS_BAD_CONTEXT);
    ctx = counting_context(&c);
    ctx.alloc_fn = NULL;
    assert_status(shs__ctx_check(&ctx), SHS_BAD_CONTEXT);
    ctx = zero;
    ctx.threads = -1;
    assert_status(shs__ctx_check(&ctx), SHS_BAD_CONTEXT);
    ctx = zero;
    ctx.reduce_fn = ok_reduce;
    assert_status(shs__ctx_check(&ctx), SHS_BAD_CONTEXT);
    ctx.ranks = 2;
    assert_ok(shs__ctx_check(&ctx));
    ctx.rank = 1;
    assert_ok(shs__ctx_check(&ctx));
    ctx.rank = 2;
    assert_status(shs__ctx_check(&ctx), SHS_BAD_CONTEXT);
    ctx.rank = -1;
    assert_status(shs__ctx_check(&ctx), SHS_BAD_CONTEXT);
    ctx = zero;
    ctx.engine = &engine;
    assert_ok(shs__ctx_check(&ctx));
    engine.version = 1;
    assert_status(shs__ctx_check(&ctx), SHS_BAD_CONTEXT);
}

enum { WORKERS = 64 };

typedef struct loop_record {
    size_t chunks;
    int workers;
    int *visits;       /* one a chunk */
    int busy[WORKERS]; /* a worker's own flag: only it may set or clear it */
    int clash[WORKERS];
    int calls, threads; /* of a callback */
} loop_record;

static void visit(void *arg, size_t chunk, int worker) {
    loop_record *r = (loop_record *)arg;
    int k = worker >= 0 && worker < r->workers ? worker : 0;
    if (worker != k || r->busy[k] || chunk >= r->chunks) r->clash[k] = 1;
    r->busy[k] = 1;
    if (chunk < r->chunks) r->visits[chunk]++;
    r->busy[k] = 0;
}

static void serial_loop(void *user, size_t chunks, int threads, shs_chunk_fn body, void *arg) {
    loop_record *r = (loop_record *)user;
    size_t i;
    r->calls++;
    r->threads = threads;
    for (i = chunks; i-- > 0;) body(arg, i, (int)(i % (size_t)threads));
}

static void check_loop(const shs_context *ctx, loop_record *r, size_t chunks) {
    size_t i;
    r->chunks = chunks;
    r->workers = shs__ctx_workers(ctx);
    assert_in_range(r->workers, 1, WORKERS);
    r->visits = (int *)calloc(chunks + 1, sizeof *r->visits);
    assert_non_null(r->visits);
    shs__ctx_parallel(ctx, WORTH_SHARING, chunks, visit, r);
    for (i = 0; i < chunks; i++) assert_int_equal(r->visits[i], 1);
    for (i = 0; i < WORKERS; i++) assert_int_equal(r->clash[i], 0);
    free(r->visits);
}

static void every_chunk_runs_once(void **state) {
    const size_t chunks[] = {0, 1, 2, 7, 1000, 20000};
    const int threads[] = {1, 2, 3, 8, 63};
    size_t c, t;
    (void)state;
    for (c = 0; c < sizeof chunks / sizeof *chunks; c++)
        for (t = 0; t < sizeof threads / sizeof *threads; t++) {
            shs_context ctx = SHS_ZERO;
            loop_record r;
            memset(&r, 0, sizeof r);
            ctx.threads = threads[t];
            check_loop(&ctx, &r, chunks[c]);
        }
}

static void the_callback_runs_the_loop(void **state) {
    shs_context ctx = SHS_ZERO;
    loop_record r;
    (void)state;
    memset(&r, 0, sizeof r);
    ctx.parallel_fn = serial_loop;
    ctx.parallel_user = &r;
    ctx.threads = 4;
    check_loop(&ctx, &r, 1001);
    assert_int_equal(r.calls, 1);
    assert_int_equal(r.threads, 4);
    check_loop(&ctx, &r, 0);
    ctx.threads = 0;
    assert_int_equal(shs__ctx_workers(&ctx), 1);
    check_loop(&ctx, &r, 50);
}

static void workers_follow_the_context(void **state) {
    shs_context ctx = SHS_ZERO;
    (void)state;
    assert_true(shs__ctx_workers(NULL) >= 1);
    assert_int_equal(shs__ctx_workers(&ctx), shs__ctx_workers(NULL));
#ifdef SHS__OPENMP
    assert_int_equal(shs__ctx_workers(NULL), omp_get_max_threads());
    ctx.threads = 5;
    assert_int_equal(shs__ctx_workers(&ctx), 5);
#else
    ctx.threads = 5;
    assert_int_equal(shs__ctx_workers(&ctx), 1);
#endif
    ctx.threads = INT_MAX;
    assert_in_range(shs__ctx_workers(&ctx), 1, 1024);
    ctx.parallel_fn = serial_loop;
    assert_int_equal(shs__ctx_workers(&ctx), 1024);
    assert_true(shs_omp_workspace(&ctx, 64, 256, 1000, 5, NULL) < (size_t)1 << 30);
}

typedef struct progress_record {
    const char *phase;
    size_t step, steps;
    double error;
    int answer;
} progress_record;

static int note_progress(void *user, const char *phase, size_t step, size_t steps, shs_wide error) {
    progress_record *r = (progress_record *)user;
    r->phase = phase;
    r->step = step;
    r->steps = steps;
    r->error = (double)error;
    return r->answer;
}

static void progress_reports_and_cancels(void **state) {
    shs_context ctx = SHS_ZERO;
    progress_record r = {NULL, 0, 0, 0, 0};
    (void)state;
    assert_ok(shs__ctx_progress(NULL, "coding", 1, 2, 0));
    assert_ok(shs__ctx_progress(&ctx, "coding", 1, 2, 0));
    ctx.progress_fn = note_progress;
    ctx.progress_user = &r;
    assert_ok(shs__ctx_progress(&ctx, "coding", 3, 10, (shs_wide)0.5));
    assert_string_equal(r.phase, "coding");
    assert_int_equal(r.step, 3);
    assert_int_equal(r.steps, 10);
    assert_close(r.error, 0.5, 0);
    r.answer = -7;
    assert_status(shs__ctx_progress(&ctx, "coding", 4, 10, (shs_wide)0.5), SHS_CANCELLED);
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

/* Plays all other ranks: they contribute only their status to the maximum of values. */
typedef struct other_ranks {
    shs_wide told[SHS__TELLS];
    int calls, fail;
} other_ranks;

static int reduce_with_others(void *user, shs_wide *values, size_t count, shs_reduce_op op) {
    other_ranks *o = (other_ranks *)user;
    size_t i;
    o->calls++;
    assert_int_equal(count, SHS__TELLS);
    assert_int_equal(op, SHS_REDUCE_MAX);
    if (o->fail) return 1;
    for (i = 0; i < count; i++) {
        if (o->told[i] > values[i]) values[i] = o->told[i];
        o->told[i] = values[i];
    }
    return 0;
}

static const shs_status VIEWS[] = {SHS_OK, SHS_CANCELLED, SHS_NO_MEMORY, SHS_SIGNALS_NOT_FINITE};

/* Records the contribution of one rank, by a reduction with healthy ranks. */
static other_ranks contribution(shs_status status) {
    shs_context ctx = SHS_ZERO;
    other_ranks others = SHS_ZERO;
    ctx.reduce_fn = reduce_with_others;
    ctx.reduce_user = &others;
    ctx.ranks = 3;
    assert_status(shs__ctx_agree(&ctx, status), status);
    assert_int_equal(others.calls, 1);
    others.calls = 0;
    return others;
}

static void ranks_agree_on_the_worst(void **state) {
    size_t a, b;
    (void)state;
    for (a = 0; a < sizeof VIEWS / sizeof *VIEWS; a++)
        for (b = 0; b < sizeof VIEWS / sizeof *VIEWS; b++) {
            shs_context ctx = SHS_ZERO;
            other_ranks others = contribution(VIEWS[b]);
            shs_status mine = VIEWS[a], theirs = VIEWS[b], expected = mine;
            int failed_there = theirs != SHS_OK && theirs != SHS_CANCELLED;
            ctx.reduce_fn = reduce_with_others;
            ctx.reduce_user = &others;
            ctx.ranks = 3;
            if (mine == SHS_OK && theirs == SHS_CANCELLED) expected = SHS_CANCELLED;
            if ((mine == SHS_OK || mine == SHS_CANCELLED) && failed_there) expected = SHS_PEER_FAILED;
            assert_status(shs__ctx_agree(&ctx, mine), expected);
            assert_int_equal(others.calls, 1);
        }
}

static void a_single_rank_agrees_with_itself(void **state) {
    shs_context ctx = SHS_ZERO;
    (void)state;
    assert_ok(shs__ctx_agree(NULL, SHS_OK));
    assert_status(shs__ctx_agree(&ctx, SHS_NO_MEMORY), SHS_NO_MEMORY);
}

static void a_reduction_that_fails_is_reported(void **state) {
    shs_context ctx = SHS_ZERO;
    other_ranks others = SHS_ZERO;
    shs_wide value = 1;
    (void)state;
    ctx.reduce_fn = reduce_with_others;
    ctx.reduce_user = &others;
    ctx.ranks = 2;
    others.fail = 1;
    assert_status(shs__ctx_agree(&ctx, SHS_OK), SHS_REDUCE_FAILED);
    assert_status(shs__ctx_reduce(&ctx, others.told, SHS__TELLS, SHS_REDUCE_MAX), SHS_REDUCE_FAILED);
    assert_ok(shs__ctx_reduce(NULL, &value, 1, SHS_REDUCE_MAX));
    assert_close(value, 1, 0);
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* A value from its sign, exponent bits and whether any mantissa bit is set: -ffast-math may not fold it away. */
static shs_real special(int negative, int nan) {
    shs_real x;
#ifdef SPARSEHS_DOUBLE
    uint64_t bits = (uint64_t)0x7ff << 52 | (uint64_t)(negative != 0) << 63 | (uint64_t)(nan != 0);
#else
    uint32_t bits = (uint32_t)0xff << 23 | (uint32_t)(negative != 0) << 31 | (uint32_t)(nan != 0);
#endif
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void nan_and_infinity_are_found_wherever_they_are(void **state) {
    shs_real x[37];
    size_t n, i;
    int kind;
    (void)state;
    for (n = 0; n <= 37; n++) {
        for (i = 0; i < 37; i++) {
            if (i % 3 == 0) x[i] = SHS__REAL_MAX;
            else if (i % 3 == 1) x[i] = -SHS__REAL_MAX;
            else x[i] = SHS__REAL_MIN / 8;
        }
        assert_true(shs__finite(n, x));
        for (i = 0; i < n; i++)
            for (kind = 0; kind < 4; kind++) {
                shs_real bad = special(kind & 1, kind >> 1), kept = x[i];
                memcpy(x + i, &bad, sizeof bad);
                assert_false(shs__finite(n, x));
                assert_true(shs__finite(i, x));
                x[i] = kept;
            }
    }
}

static void what_lies_between_columns_is_not_read(void **state) {
    shs_real A[5 * 4], bad = special(0, 1);
    size_t i, j;
    (void)state;
    fill_normal(20, A, 1);
    for (j = 0; j < 4; j++) memcpy(A + 5 * j + 3, &bad, sizeof bad);
    for (j = 0; j < 4; j++) memcpy(A + 5 * j + 4, &bad, sizeof bad);
    assert_true(shs__finite_columns(3, 4, A, 5));
    for (j = 0; j < 4; j++)
        for (i = 0; i < 3; i++) {
            shs_real kept = A[5 * j + i];
            memcpy(A + 5 * j + i, &bad, sizeof bad);
            assert_false(shs__finite_columns(3, 4, A, 5));
            A[5 * j + i] = kept;
        }
}

/* 2^24 + 1 does not fit a float: a plain float sum would stay at 2^24. */
static void long_sums_lose_nothing(void **state) {
    const shs_wide big = 16777216;
    shs__sum s = {0, 0}, t = {0, 0};
    int i;
    (void)state;
    shs__sum_add(&s, big);
    for (i = 0; i < 1001; i++) shs__sum_add(&s, 1);
    shs__sum_add(&s, -big);
    assert_close(shs__sum_value(&s), 1001, 0);
    for (i = 0; i < 1001; i++) shs__sum_add(&t, 1);
    shs__sum_add(&t, big);
    for (i = 0; i < 1001; i++) shs__sum_add(&t, 1);
    shs__sum_add(&t, -big);
    assert_close(shs__sum_value(&t), 2002, 0);
}

/* ---- random numbers ---------------------------------------------------------------------------------------------- */

/* The first values of SplitMix64 as published with the generator, for the seeds 0 and 1234567. */
static void bits_are_those_of_splitmix64(void **state) {
    const uint64_t zero[] = {UINT64_C(0xe220a8397b1dcdaf), UINT64_C(0x6e789e6aa1b965f4), UINT64_C(0x06c45d188009454f)};
    const uint64_t other[] = {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973), UINT64_C(9817491932198370423)};
    shs_random r, again;
    int i;
    (void)state;
    shs_random_seed(&r, 0);
    for (i = 0; i < 3; i++) assert_true(shs_random_bits(&r) == zero[i]);
    shs_random_seed(&r, 1234567);
    for (i = 0; i < 3; i++) assert_true(shs_random_bits(&r) == other[i]);
    shs_random_seed(&r, 99);
    shs_random_seed(&again, 99);
    for (i = 0; i < 1000; i++) assert_close(shs_random_normal(&r), shs_random_normal(&again), 0);
    assert_true(r.state == again.state);
}

/* Bounds of five standard errors. */
static void uniform_values_are_uniform(void **state) {
    const int count = 200000;
    double sum = 0, sum2 = 0;
    shs_random r;
    int i;
    (void)state;
    shs_random_seed(&r, 5);
    for (i = 0; i < count; i++) {
        double u = (double)shs_random_uniform(&r);
        assert_true(u >= 0 && u < 1);
        sum += u;
        sum2 += (u - 0.5) * (u - 0.5);
    }
    assert_close(sum / count, 0.5, 5 * sqrt(1.0 / 12 / count));
    assert_close(sum2 / count, 1.0 / 12, 5 * sqrt(1.0 / 180 / count));
}

static void normal_values_are_normal(void **state) {
    const int count = 200000;
    double moment[5] = {0, 0, 0, 0, 0}, previous = 0, lagged = 0;
    int i, outside = 0;
    shs_random r;
    (void)state;
    shs_random_seed(&r, 6);
    for (i = 0; i < count; i++) {
        double x = (double)shs_random_normal(&r);
        moment[1] += x / count;
        moment[2] += x * x / count;
        moment[3] += x * x * x / count;
        moment[4] += x * x * x * x / count;
        lagged += x * previous / count;
        previous = x;
        outside += fabs(x) > 1.959964;
    }
    assert_close(moment[1], 0, 5 * sqrt(1.0 / count));
    assert_close(moment[2], 1, 5 * sqrt(2.0 / count));
    assert_close(moment[3], 0, 5 * sqrt(15.0 / count));
    assert_close(moment[4], 3, 5 * sqrt(96.0 / count));
    assert_close(lagged, 0, 5 * sqrt(1.0 / count));
    assert_close((double)outside / count, 0.05, 5 * sqrt(0.05 * 0.95 / count));
}

/* Chi-square of counts against equal shares, in standard deviations above its mean. */
static double chi_square_excess(const int *counts, int cells, double expected) {
    double chi2 = 0;
    int i;
    for (i = 0; i < cells; i++) chi2 += (counts[i] - expected) * (counts[i] - expected) / expected;
    return (chi2 - (cells - 1)) / sqrt(2.0 * (cells - 1));
}

static void below_is_unbiased(void **state) {
    const int cells[] = {2, 3, 6, 10, 97};
    const int draws = 100000;
    int counts[97], i;
    size_t c;
    shs_random r;
    (void)state;
    shs_random_seed(&r, 7);
    for (c = 0; c < sizeof cells / sizeof *cells; c++) {
        memset(counts, 0, sizeof counts);
        for (i = 0; i < draws; i++) {
            uint64_t v = shs_random_below(&r, (uint64_t)cells[c]);
            assert_true(v < (uint64_t)cells[c]);
            counts[v]++;
        }
        assert_true(fabs(chi_square_excess(counts, cells[c], (double)draws / cells[c])) < 5);
    }
    assert_true(shs_random_below(&r, 0) == 0);
    assert_true(shs_random_below(&r, 1) == 0);
}

/* 3 x 2^62 does not divide 2^64: a bare remainder would put half of the values, not a third, below 2^62. */
static void below_rejects_what_would_bias_it(void **state) {
    const uint64_t quarter = UINT64_C(1) << 62;
    const int draws = 30000;
    int counts[3] = {0, 0, 0}, i;
    shs_random r;
    (void)state;
    shs_random_seed(&r, 8);
    for (i = 0; i < draws; i++) {
        uint64_t v = shs_random_below(&r, 3 * quarter);
        assert_true(v < 3 * quarter);
        counts[v / quarter]++;
    }
    assert_true(fabs(chi_square_excess(counts, 3, draws / 3.0)) < 5);
}

static void check_permutation(uint64_t count, uint64_t seed) {
    unsigned char *seen = (unsigned char *)calloc((size_t)count, 1);
    uint64_t i;
    assert_non_null(seen);
    for (i = 0; i < count; i++) {
        uint64_t v = shs_random_permuted(i, count, seed);
        assert_true(v < count);
        assert_int_equal(seen[v], 0);
        seen[v] = 1;
    }
    free(seen);
}

static void permuted_is_a_bijection(void **state) {
    uint64_t count;
    (void)state;
    for (count = 1; count <= 200; count++) {
        check_permutation(count, count);
        check_permutation(count, 0);
    }
    check_permutation(1000, 1);
    check_permutation(65536, 2);
    check_permutation(65537, 3);
}

static int compare_u64(const void *a, const void *b) {
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static void permuted_works_at_any_size(void **state) {
    const uint64_t counts[] = {(UINT64_C(1) << 32) + 1, UINT64_C(1) << 62, (UINT64_C(1) << 62) + 1, UINT64_MAX};
    uint64_t *v = (uint64_t *)malloc(2000 * sizeof *v);
    size_t c, i;
    (void)state;
    assert_true(shs_random_permuted(0, 0, 4) == 0 && shs_random_permuted(4, 4, 4) == 0 && shs_random_permuted(5, 4, 4) == 0);
    assert_non_null(v);
    for (c = 0; c < sizeof counts / sizeof *counts; c++) {
        for (i = 0; i < 2000; i++) {
            v[i] = shs_random_permuted(i < 1000 ? i : counts[c] - 1 - i, counts[c], 4);
            assert_true(v[i] < counts[c]);
        }
        qsort(v, 2000, sizeof *v, compare_u64);
        for (i = 1; i < 2000; i++) assert_true(v[i] != v[i - 1]);
    }
    free(v);
}

/* Over many seeds every place is equally likely for the first element and for the last. */
static void permutations_are_uniform_over_seeds(void **state) {
    const int counts[] = {2, 3, 5, 10, 20, 50};
    const int each = 2000;
    size_t c;
    (void)state;
    for (c = 0; c < sizeof counts / sizeof *counts; c++) {
        int first[50] = {0}, last[50] = {0}, n = counts[c], seed;
        for (seed = 0; seed < each * n; seed++) {
            first[shs_random_permuted(0, (uint64_t)n, (uint64_t)seed)]++;
            last[shs_random_permuted((uint64_t)n - 1, (uint64_t)n, (uint64_t)seed)]++;
        }
        assert_true(fabs(chi_square_excess(first, n, each)) < 5);
        assert_true(fabs(chi_square_excess(last, n, each)) < 5);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_its_own_name_and_text),
        cmocka_unit_test(an_unknown_status_is_called_so),
        cmocka_unit_test(build_info_says_what_is_in_use),
        cmocka_unit_test(types_have_their_sizes),
        cmocka_unit_test(arena_blocks_are_aligned_and_apart),
        cmocka_unit_test(arena_takes_blocks_back_last_first),
        cmocka_unit_test(an_arena_of_the_peak_suffices_anywhere),
        cmocka_unit_test(a_full_arena_gives_null_and_stays_as_it_is),
        cmocka_unit_test(an_arena_too_small_for_anything_gives_null),
        cmocka_unit_test(attaching_an_arena_leaves_the_rest_of_the_context),
        cmocka_unit_test(a_layout_counts_what_it_carves),
        cmocka_unit_test(an_arena_of_the_size_that_a_query_says_is_enough),
        cmocka_unit_test(a_layout_that_overflows_is_refused_before_allocation),
        cmocka_unit_test(a_layout_never_wraps_round),
        cmocka_unit_test(products_of_counts_do_not_wrap_round),
        cmocka_unit_test(an_allocator_that_fails_is_reported),
        cmocka_unit_test(without_a_context_malloc_serves),
        cmocka_unit_test(a_context_is_checked),
        cmocka_unit_test(every_chunk_runs_once),
        cmocka_unit_test(the_callback_runs_the_loop),
        cmocka_unit_test(workers_follow_the_context),
        cmocka_unit_test(progress_reports_and_cancels),
        cmocka_unit_test(ranks_agree_on_the_worst),
        cmocka_unit_test(a_single_rank_agrees_with_itself),
        cmocka_unit_test(a_reduction_that_fails_is_reported),
        cmocka_unit_test(nan_and_infinity_are_found_wherever_they_are),
        cmocka_unit_test(what_lies_between_columns_is_not_read),
        cmocka_unit_test(long_sums_lose_nothing),
        cmocka_unit_test(bits_are_those_of_splitmix64),
        cmocka_unit_test(uniform_values_are_uniform),
        cmocka_unit_test(normal_values_are_normal),
        cmocka_unit_test(below_is_unbiased),
        cmocka_unit_test(below_rejects_what_would_bias_it),
        cmocka_unit_test(permuted_is_a_bijection),
        cmocka_unit_test(permuted_works_at_any_size),
        cmocka_unit_test(permutations_are_uniform_over_seeds),
    };
    return cmocka_run_group_tests_name("context", tests, NULL, NULL);
}
