/* library.c - the library as the tests have it: by itself an object that suites with TEST_LINKED are linked with, else a part of
   test.h. With TEST_CL sparsehs_cl.h belongs to it, with TEST_INSIDE the suites that look inside. */
#ifndef SHS_TEST_LIBRARY_C
#define SHS_TEST_LIBRARY_C

int test_instance = 2;
#define SHS__TEST_INSTANCE test_instance
int test_worth_sharing = 0;
#define SHS__TEST_WORTH_SHARING test_worth_sharing
#ifdef _OPENMP
#include <omp.h>
double (*test_seconds)(void) = omp_get_wtime;
#define SHS__TEST_SECONDS test_seconds
#endif
#define SPARSEHS_IMPLEMENTATION
#include "../sparsehs.h"
#ifdef TEST_CL
#define SPARSEHS_CL_IMPLEMENTATION
#include "../sparsehs_cl.h"
#endif
#include "library.h" /* behind the implementation: a private copy must come before the API alone */

int test_has_instance(int instance) { return shs__kernels_available(instance); }

/* A suite that tests internal functions has a private copy of the library (SPARSEHS_STATIC). The compiler drops unused
   functions. */
#ifndef SPARSEHS_STATIC
int test_multiplies_pairs(void) { return shs__kernels_words()->pack_pairs != NULL; }

shs_status test_map_squares(const shs_cube *cube, const shs_pixel_map *map, const shs_sink *sink) {
    shs__pixels px;
    shs_status status = shs__px_open(NULL, cube, &px);
    if (status != SHS_OK) return status;
    status = shs__pixels_map(&px, map, SHS_PRECISION_ALWAYS, sink, 1);
    shs__px_close(&px);
    return status;
}

const test_stage test_stages[] = {
    {"packing", shs__la_gemm_pack_b},
    {"tiles", shs__la_gemm_stripe},
    {"slabs", shs__la_slab_chunk},
    {"sums of slabs", shs__la_slab_sum_chunk},
    {"packing ahead", shs__la_pack_chunk},
    {"triangular systems", shs__la_trsm_chunk},
    {"updates of a tridiagonalisation", shs__eigh_update_chunk},
    {"leaves of a tridiagonal matrix", shs__eigh_leaf_chunk},
    {"merges", shs__eigh_prepare_chunk},
    {"roots", shs__eigh_roots_chunk},
    {"couplings", shs__eigh_couple_chunk},
    {"eigenvectors of merges", shs__eigh_close_chunk},
    {"reflections", shs__eigh_reflect_chunk},
    {"synthesis", shs__synthesis_chunk},
    {"a dictionary's stripes", shs__stripe_chunk},
    {"Gram matrix", shs__omp_gram_chunk},
    {"coding", shs__coder_chunk},
    {"the lasso", shs__lasso_chunk},
    {"looking for NaN", shs__look_chunk},
    {"sums of an atom's signals", shs__dl_gather_chunk},
    {"residuals of an atom's signals", shs__dl_update_uses},
    {"residuals of a group's signals", shs__dl_update_signals},
    {"solving with a penalty", shs__dl_solve_chunk},
    {"taking patches", shs__patch_get_chunk},
    {"putting patches", shs__patch_put_chunk},
    {"averaging", shs__patch_average_chunk},
    {"a pass over pixels", shs__px_pass_chunk},
    {"adding up its sums", shs__px_collect_chunk},
    {"scores of windows", shs__rx_local_run},
    {"looking for the farthest pixel", shs__em_chunk},
    {"bringing pixels to a plane", shs__em_level_chunk},
    {"rounding coefficients", shs__cc_round_chunk},
    {"signals of bytes", shs__cc_synthesis_chunk},
};
const int test_stage_count = (int)(sizeof test_stages / sizeof *test_stages);

void test_share_regions(const shs_context *ctx, int regions, size_t chunks, shs_chunk_fn body, void *arg,
                        void (*next)(void *)) {
    shs__trial trial = SHS_ZERO;
    const shs_context *own = shs__ctx_trial(ctx, &trial);
    for (; regions > 0; regions--) shs__ctx_parallel(own, 1, chunks, body, arg), next(arg);
}
#endif

#define SAME(ours, theirs) ((int)(ours) == (int)(theirs))
typedef char sizes_are_those_of_the_library[SAME(SHS__KC, GEMM_DEPTH) && SAME(SHS__SLAB_DEPTH, SLAB_DEPTH) &&
                                                    SAME(SHS__PANEL_PIXELS, PANEL_PIXELS) &&
                                                    SAME(SHS__PATCHES_A_BATCH, PATCHES_A_BLOCK) &&
                                                    SAME(SHS__OMP_REFRESHES, OMP_REFRESHES) &&
                                                    SAME(SHS__WORTH_SHARING, WORTH_SHARING)
                                                ? 1
                                                : -1];
#undef SAME

/* This object includes the suites that test internal functions, so that the header is compiled once for all of them. A
   program calls a suite by the name of its file. */
#ifdef TEST_INSIDE
#define main test_context
#include "test_context.c"
#undef main
#define main test_dense
#include "test_dense.c"
#undef main
#define main test_eigen
#include "test_eigen.c"
#undef main
#define main test_inside
#include "test_inside.c"
#undef main
#define main test_kernels
#include "test_kernels.c"
#undef main
#endif

#endif
