/* library.c - the library for the fuzz targets, compiled once. */
#define SPARSEHS_IMPLEMENTATION
#define SHS__TEST_WORTH_SHARING 0 /* what is small is shared out too */
#include "../../sparsehs.h"
