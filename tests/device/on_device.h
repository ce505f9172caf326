/* on_device.h - the suites of both halves on an OpenCL device: test.h includes it with -DTEST_CL.

   Every call that an engine can take over gets a context with an engine, whatever the context of the test. All assertions
   stay. Each rank has a device object of its own, as separate processes have. SHS_CL_PLATFORM chooses the platform. */
#ifndef SHS_ON_DEVICE_H
#define SHS_ON_DEVICE_H

/* ---- the device --------------------------------------------------------------------------------------------------- */

enum { RANKS_OF_DEVICES = 8, DEVICES = 2 * RANKS_OF_DEVICES };
static shs_cl *test_devices[DEVICES]; /* the second half has fallback on */
static int device_fallback;

static inline shs_status open_test_device(int which) {
    shs_cl_options o = SHS_ZERO;
    o.platform = getenv("SHS_CL_PLATFORM");
    o.fallback = which >= RANKS_OF_DEVICES;
    o.trust = getenv("SHS_CL_SELFTEST") == NULL; /* the suites test it */
    return shs_cl_create(NULL, &o, &test_devices[which]);
}

/* Returns a copy of ctx with the device, in *given. A context with an engine of its own stays unchanged. */
static inline const shs_context *on_device(shs_context *given, const shs_context *ctx) {
    int rank = 0;
    if (ctx && ctx->ranks > 1 && ctx->rank > 0 && ctx->rank < RANKS_OF_DEVICES) rank = ctx->rank;
    if (device_fallback) rank += RANKS_OF_DEVICES;
    if (ctx) *given = *ctx;
    if (given->engine) return given;
    if (!test_devices[rank]) open_test_device(rank);
    given->engine = shs_cl_engine(test_devices[rank]);
    return given;
}

#ifndef SHS__LINK
#define SHS__LINK(name) shs_##name
#endif
#define ON_DEVICE(name, ctx, ...) SHS__LINK(name)(on_device((shs_context[1]){{0}}, ctx), __VA_ARGS__)

#undef shs_gemm
#undef shs_syrk
#undef shs_omp
#undef shs_omp_ex
#undef shs_lasso
#undef shs_codes_round
#undef shs_ksvd
#undef shs_ksvd_ex
#undef shs_online
#undef shs_online_ex
#undef shs_patches_approximate
#undef shs_moments_update
#undef shs_cube_map
#undef shs_pca_fit
#undef shs_pca_run
#undef shs_pca_transform
#undef shs_pca_denoise
#undef shs_pca_inverse
#undef shs_mnf_fit
#undef shs_mnf_run
#undef shs_rx
#undef shs_detect
#undef shs_ica_fit
#undef shs_ica_run
#undef shs_ica_transform
#undef shs_ica_inverse
#undef shs_unmix
#undef shs_endmembers_find
#define shs_gemm(...) ON_DEVICE(gemm, __VA_ARGS__)
#define shs_syrk(...) ON_DEVICE(syrk, __VA_ARGS__)
#define shs_omp(...) ON_DEVICE(omp, __VA_ARGS__)
#define shs_omp_ex(...) ON_DEVICE(omp_ex, __VA_ARGS__)
#define shs_lasso(...) ON_DEVICE(lasso, __VA_ARGS__)
#define shs_codes_round(...) ON_DEVICE(codes_round, __VA_ARGS__)
#define shs_ksvd(...) ON_DEVICE(ksvd, __VA_ARGS__)
#define shs_ksvd_ex(...) ON_DEVICE(ksvd_ex, __VA_ARGS__)
#define shs_online(...) ON_DEVICE(online, __VA_ARGS__)
#define shs_online_ex(...) ON_DEVICE(online_ex, __VA_ARGS__)
#define shs_patches_approximate(...) ON_DEVICE(patches_approximate, __VA_ARGS__)
#define shs_moments_update(...) ON_DEVICE(moments_update, __VA_ARGS__)
#define shs_cube_map(...) ON_DEVICE(cube_map, __VA_ARGS__)
#define shs_pca_fit(...) ON_DEVICE(pca_fit, __VA_ARGS__)
#define shs_pca_run(...) ON_DEVICE(pca_run, __VA_ARGS__)
#define shs_pca_transform(...) ON_DEVICE(pca_transform, __VA_ARGS__)
#define shs_pca_denoise(...) ON_DEVICE(pca_denoise, __VA_ARGS__)
#define shs_pca_inverse(...) ON_DEVICE(pca_inverse, __VA_ARGS__)
#define shs_mnf_fit(...) ON_DEVICE(mnf_fit, __VA_ARGS__)
#define shs_mnf_run(...) ON_DEVICE(mnf_run, __VA_ARGS__)
#define shs_rx(...) ON_DEVICE(rx, __VA_ARGS__)
#define shs_detect(...) ON_DEVICE(detect, __VA_ARGS__)
#define shs_ica_fit(...) ON_DEVICE(ica_fit, __VA_ARGS__)
#define shs_ica_run(...) ON_DEVICE(ica_run, __VA_ARGS__)
#define shs_ica_transform(...) ON_DEVICE(ica_transform, __VA_ARGS__)
#define shs_ica_inverse(...) ON_DEVICE(ica_inverse, __VA_ARGS__)
#define shs_unmix(...) ON_DEVICE(unmix, __VA_ARGS__)
#define shs_endmembers_find(...) ON_DEVICE(endmembers_find, __VA_ARGS__)

/* ---- what is not asked of a device ------------------------------------------------------------------------------- */

/* A test by its suite and name, and why the CPU alone must pass it. */
static const struct cpu_only {
    const char *suite, *test, *reason;
} cpu_only[] = {
    {"sparse coding", "test_workspace", "the query counts the CPU's memory; a session takes its own"},
    {"sparse coding", "test_cancel", "a device codes all signals in one step, between whose ends nothing is reported"},
    {"sparse coding", "test_cancelled_groups", "a device codes all signals in one step, in which nothing is reported"},
    {"sparse coding", "test_threads_of_groups", "a device has no use for parallel_fn, whose calls are counted"},
    {"sparse coding", "test_threads", "a device has no use for parallel_fn, whose calls are counted"},
    {"sparse coding", "test_threads_of_few_signals", "a device has no use for parallel_fn, whose calls are counted"},
    {"sparse coding", "test_work_of_many_atoms_is_shared", "a device has no use for parallel_fn, whose calls are counted"},
    {"sparse coding", "test_scratch_of_workers", "the query counts the CPU's memory; a session takes its own"},
    {"sparse coding", "test_group_of_one_reaches", "tolerances that float hardly resolves: a device may decide otherwise"},
    {"dictionary learning", "test_workspace", "the query counts the CPU's memory; a session takes its own"},
    {"dictionary learning", "test_arena", "the query counts the CPU's memory; a session takes its own"},
    {"dictionary learning", "test_few_parallel_regions", "a device has no use for parallel_fn, whose calls are counted"},
    {"patches", "test_workspace", "the query counts the CPU's memory; a session takes its own"},
    {"cubes", "test_workspaces", "the query counts the CPU's memory; a session takes its own"},
    {"faults", "test_one_block_a_call", "the query counts the CPU's memory; a session takes its own"},
    {"faults", "test_engine_does_not_open", "another engine stands in for the CPU, whose bits are compared"},
    {"dictionary learning", "test_masked", "the query counts the CPU's memory; a session takes its own"},
    {"dictionary learning", "test_variants_in_an_arena", "the query counts the CPU's memory; a session takes its own"},
    {"online learning", "test_memory", "the query counts the CPU's memory; a session takes its own"},
    {"the lasso", "test_few_sweeps", "a sweep there is n steps of its own choice, which come further"},
    {"the lasso", "test_sweeps_are_shared", "a device has no use for parallel_fn, whose calls are counted"},
    {"the lasso", "test_workspace_and_cancel", "the query counts the CPU's memory; a session takes its own"},
    {"pca", "test_few_pixels_in_little_memory", "the arena counts the CPU's memory; a session takes its own"},
    {"pca", "test_rx_trimmed_in_every_way", "scores of a fit come from the CPU, and their bits are compared"},
    {"pca", "test_rx_of_a_fit_and_on_subspaces", "scores of a fit come from the CPU, and their bits are compared"},
    {"pca", "test_rx_of_one_class_is_global", "scores of a class come from the CPU, and their bits are compared"},
    {"dictionary learning", "test_units", "devices do not take units far from 1"},
    {"online learning", "test_units", "devices do not take units far from 1"},
    {NULL, NULL, NULL},
};

/* Long tests whose kernels run in other tests too, or whose work the CPU does. They run if $SHS_LONG is set or by name. */
static const struct cpu_only left_to_long_runs[] = {
    {"dictionary learning", "test_naive_nonnegative", "the CPU does it, or nearly all of it"},
    {"dictionary learning", "test_golden_ipr", "test_golden_incoherent calls these kernels"},
    {"dictionary learning", "test_naive_update", "test_cl_signals compares these kernels"},
    {"dictionary learning", "test_golden_rules", "test_cl_signals compares these kernels"},
    {"dictionary learning", "test_defaults_are_what_zero_becomes", "the CPU does it, or nearly all of it"},
    {"dictionary learning", "test_variants_over_ranks", "the CPU does it, or nearly all of it"},
    {"dictionary learning", "test_threads", "test_cl_signals compares these kernels"},
    {"dictionary learning", "test_tolerance_training", "test_cl_signals compares these kernels"},
    {"sparse coding", "test_simultaneous", "test_cl_signals compares these kernels"},
    {"sparse coding", "test_nearly_dependent_atoms_of_groups", "test_cl_signals compares these kernels"},
    {"sparse coding", "test_nearly_dependent_atoms", "test_cl_signals compares these kernels"},
    {"sparse coding", "test_golden_ols", "test_cl_signals compares these kernels"},
    {"sparse coding", "test_reached_is_true", "test_cl_signals compares these kernels"},
    {"the lasso", "test_minimum", "test_cl_signals compares these kernels"},
    {"compact codes", "test_all_comes_back", "the CPU does it, or nearly all of it"},
    {"faults", "test_each_allocation_fails", "test_allocations_fail of test_cl_signals, calls fail in test_cl_pixels"},
    {"faults", "test_each_allocation_fails_of_components", "calls fail in test_cl_pixels"},
    {"targets", "test_threads_streams_and_ranges", "test_twins calls these kernels"},
    {"unmix", "test_jasper", "test_twin calls these kernels"},
    {"pca", "test_rx_local", "the CPU does it, or nearly all of it"},
    {"pca", "test_defaults_are_those_of_double", "test_golden_* call these kernels"},
    {"pca", "test_golden_sandiego", "test_golden_jasper calls these kernels"},
    {"pca", "test_golden_airport", "test_golden_jasper calls these kernels"},
    {"pca", "test_golden_beach", "test_golden_jasper calls these kernels"},
    {"pca", "test_threads_give_the_same_bits", "test_cl_pixels compares these kernels"},
    {"pca", "test_grass_planes", "test_run calls these kernels"},
    {"pca", "test_deficient_cubes", "test_run calls these kernels"},
    {"pca", "test_masks_of_streams", "test_cl_pixels compares these kernels"},
    {"pca", "test_rescaled_constant", "test_cl_pixels compares these kernels"},
    {"pca", "test_a_failing_rank_ends_both", "test_ranks_give_one_answer calls these kernels"},
    {"cubes", "test_golden_means_beach", "test_golden_means_jasper calls these kernels"},
    {"cubes", "test_golden_means_sandiego", "test_golden_means_jasper calls these kernels"},
    {"cubes", "test_golden_means_airport", "test_golden_means_jasper calls these kernels"},
    {"cubes", "test_threads_give_the_same_bits", "test_cl_pixels compares these kernels"},
    {"cubes", "test_rescale", "test_cl_pixels compares these kernels"},
    {"cubes", "test_one_answer_for_all_types", "test_cl_pixels compares these kernels"},
    {"cubes", "test_8_bit_sums_are_exact", "test_cl_pixels compares these kernels"},
    {"cubes", "test_merge_in_any_order", "test_cl_pixels compares these kernels"},
    {"cubes", "test_nodata_rounded_to_float", "test_cl_pixels compares these kernels"},
    {"cubes", "test_nodata_of_outputs", "test_cl_pixels compares these kernels"},
    {"cubes", "test_floating_sinks_keep_the_value", "test_cl_pixels compares these kernels"},
    {"cubes", "test_a_missing_beginning", "test_cl_pixels compares these kernels"},
    {"cubes", "test_one_answer_for_all_layouts", "test_cl_pixels compares these kernels"},
    {"cubes", "test_block_sizes", "test_cl_pixels compares these kernels"},
    {"ica", "test_golden_symmetric_beach", "test_golden_symmetric_jasper calls these kernels"},
    {"ica", "test_golden_deflation_beach", "test_golden_deflation_jasper calls these kernels"},
    {"ica", "test_moments_and_sweep_beach", "test_moments_and_sweep_jasper calls these kernels"},
    {"ica", "test_converged_is_a_fixed_point", "test_golden_symmetric_jasper calls these kernels"},
    {"ica", "test_number_of_components", "the CPU does it, or nearly all of it"},
    {"ica", "test_too_little", "the CPU does it, or nearly all of it"},
    {"ica", "test_route_by_cost", "the CPU does it, or nearly all of it"},
    {"ica", "test_rare_targets", "test_cl_pixels compares these kernels"},
    {"ica", "test_run_everywhere", "test_cl_pixels compares these kernels"},
    {"ica", "test_defaults_and_many_components", "test_cl_pixels compares these kernels"},
    {"ica", "test_layouts_give_one_answer", "test_cl_pixels compares these kernels"},
    {"ica", "test_stabilised_step", "test_against_the_naive_iteration calls these kernels"},
    {"ica", "test_transform_and_inverse", "test_cl_pixels compares these kernels"},
    {"ica", "test_seeds_and_threads", "test_cl_pixels compares these kernels"},
    {"ica", "test_moments_and_sweep_jasper", "test_against_the_naive_iteration calls these kernels"},
    {"pca", "test_transform_and_inverse", "test_cl_pixels compares these kernels"},
    {"pca", "test_missing_pixels", "test_cl_pixels compares these kernels"},
    {"cubes", "test_band_lists", "test_cl_pixels compares these kernels"},
    {"cubes", "test_nan_and_infinity_are_missing", "test_cl_pixels compares these kernels"},
    {"dictionary learning", "test_outputs_change_nothing", "test_cl_signals compares these kernels"},
    {"sparse coding", "test_groups_of_one_and_of_equals", "test_cl_signals compares these kernels"},
    {"faults", "test_each_read_fails", "calls fail in test_cl_pixels"},
    {"faults", "test_each_read_fails_of_components", "calls fail in test_cl_pixels"},
    {"faults", "test_each_allocation_fails_of_sources", "calls fail in test_cl_pixels"},
    {NULL, NULL, NULL},
};

/* The entry of a list for a test; NULL: none. */
static inline const struct cpu_only *listed(const struct cpu_only *list, const char *suite, const char *test) {
    for (; list->suite; list++)
        if (!strcmp(list->suite, suite) && !strcmp(list->test, test)) return list;
    return NULL;
}

/* Fails if a list names a test that the suite does not have. */
static inline void check_list(const struct cpu_only *list, const char *suite, const struct CMUnitTest *tests, size_t count) {
    size_t i;
    for (; list->suite; list++) {
        if (strcmp(list->suite, suite) != 0) continue;
        for (i = 0; i < count && strcmp(tests[i].name, list->test) != 0;) i++;
        if (i < count) continue;
        print_error("%s: there is no test %s to leave out\n", suite, list->test);
        exit(1);
    }
}

/* Tests of what devices do not do yet: SHS_UNSUPPORTED, and the CPU does it where `fallback` says so. */
static const char *const needs_fallback[][2] = {
    {"sparse coding", "test_golden_nonnegative"},
    {"sparse coding", "test_nonnegative"},
    {"sparse coding", "test_atom_leaves"},
    {"sparse coding", "test_nothing_of_an_atom"},
    {"sparse coding", "test_nonnegative_of_tiny_atoms"},
    {"sparse coding", "test_nothing_below_zero"},
    {"sparse coding", "test_golden_mask"},
    {"sparse coding", "test_weights"},
    {"sparse coding", "test_weights_of_any_size"},
    {"sparse coding", "test_missing_values"},
    {"dictionary learning", "test_golden_regularised"},
    {"dictionary learning", "test_naive_nonnegative"},
    {"dictionary learning", "test_nonnegative_rounds"},
    {"dictionary learning", "test_nonnegative_atoms_are_found"},
    {"dictionary learning", "test_nonnegative_of_nothing"},
    {"dictionary learning", "test_nonnegative_of_tiny_atoms"},
    {"dictionary learning", "test_variants_over_ranks"},
    {"dictionary learning", "test_golden_masked"},     {"dictionary learning", "test_masked_over_ranks"},
    {"dictionary learning", "test_masked_not_finite"},
    {"dictionary learning", "test_masked_unseen"},     {"dictionary learning", "test_masked_recovery"},
    {"dictionary learning", "test_masked_pattern"},    {"dictionary learning", "test_masked_update"},
    {"dictionary learning", "test_masked_descends"},
    {"sparse coding", "test_units"},
    {"sparse coding", "test_out_of_range"},
    {"sparse coding", "test_no_exceptions"},
    {"sparse coding", "test_atom_without_weight"},
    {"targets", "test_backgrounds_of_too_few_pixels"},
    {"sparse coding", "test_few_signals"},
    {"the lasso", "test_wide"},
    {"online learning", "test_nonnegative_atoms"},
    {"online learning", "test_nonnegative_codes"},
    {"compact codes", "test_all_comes_back"},
    {"cubes", "test_all_numbers_of_sixteen_bits"},
    {"cubes", "test_rounding_to_sixteen_bits"},
    {"cubes", "test_missing_in_sixteen_bits"},
    {"pca", "test_noise_of_each_neighbour"},
    {"pca", "test_lower_is_right_of_the_transposed"},
    {"pca", "test_noise_may_be_given"},
    {"pca", "test_noise_residual"},
    {"pca", "test_noise_over_ranks"},
    {"targets", "test_backgrounds_by_class"},
    {"targets", "test_backgrounds_alike"},
    {"targets", "test_backgrounds_of_a_large_cube"},
    {"targets", "test_backgrounds_into_a_stream"},
    {"targets", "test_backgrounds_refused"},
};

static inline int begin_fallback(void **state) {
    (void)state;
    device_fallback = 1;
    return 0;
}
static inline int end_fallback(void **state) {
    (void)state;
    device_fallback = 0;
    return 0;
}

/* Leaves out the tests for the CPU alone. A listed test that no longer exists is a failure. */
static inline size_t tests_on_device(const char *suite, const struct CMUnitTest *tests, size_t count, struct CMUnitTest *kept) {
    const char *only = getenv("SHS_TEST");
    size_t i, k, used = 0;
    check_list(cpu_only, suite, tests, count);
    check_list(left_to_long_runs, suite, tests, count);
    for (i = 0; i < count; i++) {
        const struct cpu_only *never = listed(cpu_only, suite, tests[i].name);
        const struct cpu_only *seldom = listed(left_to_long_runs, suite, tests[i].name);
        if (all_cases() || only) seldom = NULL;
        if (never) print_message("skipped on the device: %s: %s\n", tests[i].name, never->reason);
        else if (seldom) print_message("left to SHS_LONG=1 on the device: %s: %s\n", tests[i].name, seldom->reason);
        if (never || seldom || (only && !strstr(tests[i].name, only))) continue;
        kept[used] = tests[i];
        for (k = 0; k < sizeof needs_fallback / sizeof *needs_fallback; k++)
            if (!strcmp(needs_fallback[k][0], suite) && !strcmp(needs_fallback[k][1], tests[i].name)) {
                kept[used].setup_func = begin_fallback;
                kept[used].teardown_func = end_fallback;
            }
        used++;
    }
    return used;
}

static inline int run_on_device(const char *suite, const struct CMUnitTest *tests, size_t count) {
    struct CMUnitTest *kept = (struct CMUnitTest *)calloc(count, sizeof *kept);
    shs_status status = open_test_device(0);
    int failures = 1, rank;
    if (status == SHS_NO_DEVICE) print_message("skipped: there is no OpenCL device\n");
    else if (status != SHS_OK) print_error("%s\n", shs_status_text(status));
    else if (kept) failures = _cmocka_run_group_tests(suite, kept, tests_on_device(suite, tests, count, kept), NULL, NULL);
    for (rank = 0; rank < DEVICES; rank++) shs_cl_destroy(test_devices[rank]);
    free(kept);
    if (status == SHS_NO_DEVICE) return 0;
    return failures;
}

#undef cmocka_run_group_tests_name
#define cmocka_run_group_tests_name(suite, tests, setup, teardown) run_on_device(suite, tests, sizeof(tests) / sizeof *(tests))

#endif
