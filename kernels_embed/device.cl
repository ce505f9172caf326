/* device.cl - stands before every program: the types, and what the host says of the device. Each file includes device.cl and has
   a default for each of its build options, so that the file compiles by itself (make check-embed does so).

   The host says SPARSEHS_DOUBLE (shs_real is double), SPARSEHS_NO_DOUBLE (no doubles in the library, or on the device) and: */
#ifndef IS_CPU
#define IS_CPU 0 /* 1: a processor, whose compiler needs other loops in a few places */
#endif
#ifndef NV_PTX
#define NV_PTX 0 /* 1: inline PTX works; no kernel reads it, but programs with PTX and without are stored apart by it */
#endif

#ifdef SPARSEHS_DOUBLE
#define real double /* shs_real */
#define REAL_BITS 64
#else
#define real float
#define REAL_BITS 32
#endif
#ifdef SPARSEHS_NO_DOUBLE
#define wide float /* what sums are made in */
#define WIDE_LEAST FLT_MIN
#define HAS_DOUBLE 0
#else
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define wide double
#define WIDE_LEAST DBL_MIN
#define HAS_DOUBLE 1
#endif
#define shs_real real
#define shs_wide wide

/* VECTOR(float, 4) is float4; the type may be a macro. */
#define VECTOR_(type, n) type##n
#define VECTOR(type, n) VECTOR_(type, n)

#include "contract.h"
