/* library.c - the library as the tests have it: by itself an object that suites with TEST_LINKED are linked with, else a part of
   test.h. With TEST_CL sparsehs_cl.h belongs to it. */
#include "library.h"

int test_instance = 2;
#define SHS__TEST_INSTANCE test_instance
int test_worth_sharing = 0;
#define SHS__TEST_WORTH_SHARING test_worth_sharing
#define SPARSEHS_IMPLEMENTATION
#include "../sparsehs.h"
#ifdef TEST_CL
#define SPARSEHS_CL_IMPLEMENTATION
#include "../sparsehs_cl.h"
#endif

int test_has_instance(int instance) { return shs__available(instance); }

#define SAME(ours, theirs) ((int)(ours) == (int)(theirs))
typedef char sizes_are_those_of_the_library[SAME(SHS__KC, GEMM_DEPTH) && SAME(SHS__SLAB_DEPTH, SLAB_DEPTH) &&
                                                    SAME(SHS__PANEL_PIXELS, PANEL_PIXELS) &&
                                                    SAME(SHS__PATCHES_A_BLOCK, PATCHES_A_BLOCK) &&
                                                    SAME(SHS__OMP_REFRESHES, OMP_REFRESHES) &&
                                                    SAME(SHS__WORTH_SHARING, WORTH_SHARING)
                                                ? 1
                                                : -1];
#undef SAME
