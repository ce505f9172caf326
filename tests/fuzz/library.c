/* library.c - the library for the fuzz targets, compiled once. */
#define SPARSEHS_IMPLEMENTATION
#include "../../sparsehs.h"
