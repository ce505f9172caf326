/* test_pixel_faults.h - what can go wrong in a call on pixels: test_pca.c and test_ica.c include it behind `scene` with its
   functions, the result's type RESULT, `free_result` and the list `calls`, each with what it makes and writes. */

/* The k-th allocation, read, write or progress call fails, for every k until the call goes through. */
enum { ALLOCATION = 0, READ, WRITE, CANCEL, FAULTS };

static void check_faults(int fault) {
    static const shs_status expected[FAULTS] = {SHS_NO_MEMORY, SHS_READ_FAILED, SHS_WRITE_FAILED, SHS_CANCELLED};
    scene s;
    int c, k;
    scene_create(&s);
    for (c = 0; c < CALLS; c++)
        for (k = 0;; k++) {
            /* From moments nothing is read, and nothing takes long enough to be reported. */
            int nothing = fault == WRITE ? !calls[c].writes : fault != ALLOCATION && strstr(calls[c].name, "from");
            shs_context ctx = SHS_ZERO;
            shs_status status;
            faulty f;
            watch w;
            scene_prepare(&s);
            faulty_attach(&f, fault == ALLOCATION ? k : -1, &ctx);
            watch_attach(&w, fault == CANCEL ? k : -1, &ctx);
            if (fault == READ) s.s.fail_at = k;
            if (fault == WRITE) s.c.fail_at = k;
            status = run_call(&s, c, &ctx, &f);
            assert_false(w.wrong);
            if (status == SHS_OK) {
                assert_true(f.refused == 0 && s.s.calls <= (fault == READ ? k : s.s.calls) &&
                            s.c.calls <= (fault == WRITE ? k : s.c.calls) && w.calls <= (fault == CANCEL ? k : w.calls));
                assert_true(k > 0 || nothing);
                assert_int_equal(s.c.next_line, calls[c].writes ? LINES : 0);
                break;
            }
            assert_status(status, expected[fault]);
            if (fault == READ) assert_int_equal(s.s.calls, k + 1);
            if (fault == WRITE) assert_int_equal(s.c.calls, k + 1);
            if (fault == CANCEL) assert_int_equal(w.calls, k + 1);
            if (fault == ALLOCATION)
                assert_true(s.c.calls == 0 && holds_untouched(s.memory.pixels, LINES * SAMPLES * BANDS * sizeof(float)));
        }
    scene_free(&s);
}

static void test_each_allocation_fails(void **state) { (void)state, check_faults(ALLOCATION); }
static void test_each_read_fails(void **state) { (void)state, check_faults(READ); }
static void test_each_write_fails(void **state) { (void)state, check_faults(WRITE); }
static void test_cancelled_at_every_step(void **state) { (void)state, check_faults(CANCEL); }

static void test_arena_is_enough(void **state) {
    scene s;
    unsigned char *memory = NEW(unsigned char, 1 << 24);
    int c;
    (void)state;
    scene_create(&s);
    for (c = 0; c < CALLS; c++) {
        shs_context ctx = SHS_ZERO;
        shs_arena arena;
        faulty f;
        memset(&f, 0, sizeof f);
        scene_prepare(&s);
        shs_arena_init(&arena, memory, 1 << 24);
        shs_arena_attach(&arena, &ctx);
        assert_ok(run_call(&s, c, &ctx, &f));
        if (arena.used) fail_msg("%s leaves %d bytes of the arena in use", calls[c].name, (int)arena.used);
    }
    free(memory);
    scene_free(&s);
}

/* A result that lives in an arena is still the same after later calls have used the arena. */
static void test_results_in_an_arena(void **state) {
    scene s;
    unsigned char *memory = NEW(unsigned char, 1 << 24);
    int c;
    (void)state;
    scene_create(&s);
    for (c = 0; c < CALLS; c++) {
        shs_context ctx = SHS_ZERO;
        shs_arena arena;
        RESULT first, second;
        if (!calls[c].makes) continue;
        shs_arena_init(&arena, memory, 1 << 24);
        shs_arena_attach(&arena, &ctx);
        scene_prepare(&s);
        assert_ok(calls[c].call(NULL, &s));
        first = s.made;
        scene_prepare(&s);
        assert_ok(calls[c].call(&ctx, &s));
        second = s.made;
        scene_prepare(&s);
        assert_ok(calls[c].call(&ctx, &s));
        if (!same_bits(&first, &second)) fail_msg("%s: its result was overwritten", calls[c].name);
        free_result(&ctx, &s.made), free_result(&ctx, &second), free_result(NULL, &first);
        assert_int_equal(arena.used, 0);
    }
    free(memory);
    scene_free(&s);
}
