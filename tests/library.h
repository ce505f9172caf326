/* library.h - what library.c has beside the library itself. */
#ifndef SHS_TEST_LIBRARY_H
#define SHS_TEST_LIBRARY_H

/* The instance of the kernels that is used, or the next narrower one that there is: 0 base, 1 AVX2, 2 AVX-512. */
extern int test_instance;
/* Whether it was compiled and the processor has it. */
int test_has_instance(int instance);
/* The least work that is shared out: none, so that tests of threads may be small. The library's own is WORTH_SHARING. */
extern int test_worth_sharing;

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
