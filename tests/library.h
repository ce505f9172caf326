/* library.h - what library.c has beside the library itself. */
#ifndef SHS_TEST_LIBRARY_H
#define SHS_TEST_LIBRARY_H

#include "../sparsehs.h"

/* The instruction set to use, or the next narrower available one: 0 base, 1 AVX2, 2 AVX-512. */
extern int test_instance;
/* Whether it was compiled and the processor has it. */
int test_has_instance(int instance);
/* The least work that is shared among threads: 0, so that tests of threads can be small. The library uses WORTH_SHARING. */
extern int test_worth_sharing;

#ifdef _OPENMP
#include <omp.h>
/* The clock that the library asks whether sharing pays. */
extern double (*test_seconds)(void);
#endif

/* Returns non-zero if the kernels in use multiply pairs of 16-bit integers, with exact sums. */
int test_multiplies_pairs(void);
/* Squared lengths of mapped pixels, in double. */
shs_status test_map_squares(const shs_cube *cube, const shs_pixel_map *map, const shs_sink *sink);
/* The bodies of all loops that the library shares out. */
typedef struct test_stage {
    const char *name;
    shs_chunk_fn body;
} test_stage;
extern const test_stage test_stages[];
extern const int test_stage_count;
/* Runs `regions` parallel regions of one driver, which runs a region on its own thread if sharing does not pay. Calls `next`
   after each region. */
void test_share_regions(const shs_context *ctx, int regions, size_t chunks, shs_chunk_fn body, void *arg, void (*next)(void *));

/* Sizes at which the library takes another path; library.c does not compile where they are not the library's own. */
enum {
    GEMM_DEPTH = 384,
    SLAB_DEPTH = 6144,
    PANEL_PIXELS = 384,
    PATCHES_A_BLOCK = 16384,
    OMP_REFRESHES = 4,
    WORTH_SHARING = 100000
};

#endif
