/* The library, compiled once for all lessons. Lessons include the header for declarations only. */
#define SPARSEHS_IMPLEMENTATION
#define SPARSEHS_CL_IMPLEMENTATION
#define EXAMPLE_NO_STB /* pictures are read by the lessons that need them */
#include "../example.h"
