/* sparsehs.h - v0.1.0 - sparse coding and hyperspectral analysis in one portable C99 header.
   MIT or public domain, as you choose: the licence is at the very end.

   Do this:
       #define SPARSEHS_IMPLEMENTATION
       #include "sparsehs.h"
   in exactly ONE C or C++ file; everywhere else include it without the define. Link with -lm. Nothing else is needed:
   no BLAS, no build system, and, with an arena, no heap.

   TABLE OF CONTENTS
   The public API comes first, then the implementation in the same order under the same banners, lowest layer first; its
   small loops for each instruction set stand before section 4 under KERNELS. To find a part search for >>tag.
       1  configuration                    >>config
       2  context, memory, threads, ranks  >>context layout arena threads bytes
       3  random numbers                   >>random
       -  kernels                          >>kernels k_types k_operations k_vectors k_gemm k_eigen k_eigen_products
                                             k_eigen_rotations k_omp k_packing k_products k_results k_integers k_contrasts
                                             k_tables k_choice
       4  dense linear algebra             >>dense dense_checks vectors gemv gemm_parts gemm gemm_deep syrk trsm cholesky
                                             unit_columns
       5  symmetric eigenproblem           >>eigen eigen_products eigen_scratch eigen_in_out tridiagonal ql divide bisection
                                             eigen_back eigen_driver eigen_naive
       6  sparse coding (Batch-OMP)        >>omp codes pursuit simultaneous nonnegative omp_group omp_direct coder
                                             omp_public omp_engine omp_one omp_naive lasso
       7  learning (AK-SVD, PAK-SVD)       >>learn learn_naive rules learn_session learn_stages learn_driver learn_ipr
                                             learn_iterations learn_start learn_public online_naive online
                                             online_public split
       8  patches (images in and out)      >>patches grid patches_get patches_put approximate image_noise
       9  cubes and streaming              >>cubes moments_naive view reader map whiten pass gram moments_sums writer sweeps
                                             px_engine moments sinks
      10  components (PCA, MNF, RX)        >>pca pca_naive wide_products pca_fit mnf pca_cubes transforms
      11  FastICA                          >>ica ica_naive expectations ica_iterations ica_fit
      12  models (fits kept in files)      >>models
      13  spectra (targets, endmembers)    >>spectra detect_naive inverse_root detectors scores detect unmix_naive mixture
                                             unmix endmembers_naive farthest atgp vca endmembers
      14  files (.npy)                    >>files

   CONVENTIONS
   - Matrices are column-major with a leading dimension, as in BLAS: a signal, an atom is one contiguous column.
     p = length of a signal, n = number of atoms, m = number of signals, s = atoms a signal (the sparsity).
   - shs_real is float, or double with SPARSEHS_DOUBLE. Sums over many signals are shs_wide (double).
   - Options are plain structs: all zero means sensible defaults; shs_*_defaults() shows what zero becomes. Start from
     `shs_omp_options o = SHS_ZERO;`.
   - Every function that can fail returns shs_status, and shs_status_text() explains it. On failure the outputs are
     untouched unless the function says otherwise, nothing leaks, and your input is never modified.
   - Three levels: one call with defaults; the same call with an options struct (..._ex); your own memory: scratch comes
     from the context, in ONE block for every call that has a shs_..._workspace() query beside it. Hand the library an
     arena over a static buffer of that size and it never touches the heap.
   - A NULL context means: malloc and free, all processors when compiled with OpenMP, no progress, one rank, the CPU.

   OPTIONS (define before including; "all" = the same in every file, "impl" = only beside SPARSEHS_IMPLEMENTATION)
       SPARSEHS_IMPLEMENTATION   impl  compile the implementation here
       SPARSEHS_STATIC           impl  all functions static: a private copy in this file (define both before the first include)
       SPARSEHS_DOUBLE           all   shs_real is double; the link names get the suffix _f64, so that a mismatch between
                                       files does not link and both precisions can live in one program
       SPARSEHS_NO_DOUBLE        all   no double anywhere: shs_wide is float and long sums are compensated; suffix _f32
       SPARSEHS_NO_STDLIB        impl  no <stdlib.h>: no default allocator, so the context must bring one (or an arena)
       SPARSEHS_MALLOC(n), SPARSEHS_FREE(p)   impl  replace the default allocator (define both)
       SPARSEHS_NO_MATH          impl  no <math.h>: then define SPARSEHS_SQRT, _SQRTF, _COS, _COSF, _LOG, _LOGF and, for
                                       FastICA in double, _EXP and _TANH, for angles of spectra _ACOS (or _ACOSF) yourself
       SPARSEHS_ONLY_CODING      impl  nothing but the coding of single signals: shs_dot, _nrm2, _axpy, _gemv, _omp_one and
                                       _omp_one_direct with their workspace queries (6 KB on a Cortex-M4)
       SPARSEHS_NONNEGATIVE      impl  beside it: with the option `nonnegative`, which is SHS_UNSUPPORTED otherwise
       SPARSEHS_NO_CUBES         impl  without sections 9 to 13: half of the code and of the compiler's time. sparsehs_cl.h
       SPARSEHS_NO_SPARSE        impl  without sections 6 to 8: a quarter.                              needs both
       SPARSEHS_NO_MODELS        impl  without section 12
       SPARSEHS_NO_LASSO         impl  without shs_lasso and its like
       SPARSEHS_NO_SPLIT         impl  without shs_engine_split
       SPARSEHS_NO_SPECTRA       impl  without section 13
       SPARSEHS_NO_FILES         impl  without section 14
       SPARSEHS_NO_OPENMP        impl  do not use OpenMP although the compiler offers it
       SPARSEHS_NO_SIMD          impl  plain C only: no vectors
       SPARSEHS_INTRINSICS       impl  gcc and clang: kernels by intrinsics (SSE2, AVX2, AVX-512; NEON of AArch64) in place of
                                       the compiler's own vectors, as with MSVC, which has none
       SPARSEHS_NO_DISPATCH      impl  kernels for the instruction set of the compiler's flags only: smaller. Otherwise, on
                                       x86-64, gcc, clang and MSVC compile them for AVX2 and AVX-512 too whatever the flags
                                       (not at -O0 or -Os), and what the processor has is used
       SPARSEHS_FILE             impl  for those kernels this file includes itself. It finds itself under any name; pasted
                                       into another file it stays out, unless this is that file's name, in quotes, and all
                                       else there is left out where SPARSEHS_AGAIN is defined. For gcc before 12 and MSVC the
                                       bare name of this file where it was renamed
       SHS_API                   all   what stands before each declaration in place of extern, for shared libraries:
                                       __attribute__((visibility("default"))); __declspec(dllexport), dllimport in users

   DETERMINISM
   Work is cut into chunks that depend on the sizes only, and partial sums are added in the order of the chunks: one
   binary gives bit-identical results for every number of threads and every run with the same seed, on processors with the
   same instruction sets. Across compilers, flags and instruction sets results agree to rounding: vector width, fused
   operations and -ffast-math change the last bits (SPARSEHS_NO_DISPATCH takes the processor out of that list), and where
   two atoms fit a signal equally well to rounding, either may be chosen. Under -ffast-math NaN and infinity in the
   input are still found (they are tested on their bits), but SPARSEHS_NO_DOUBLE loses its compensated sums, and where
   the compiler links for it subnormal numbers are zero.
*/
#ifndef SPARSEHS_H
#define SPARSEHS_H
#if __LINE__ > 200 /* what stands above is not ours */
#define SHS__PASTED
#endif

#include <stddef.h>
#include <stdint.h>

/* ================================================================================================================== */
/* 1  CONFIGURATION                                                                                                   */
/* ================================================================================================================== */

#define SPARSEHS_VERSION_MAJOR 0
#define SPARSEHS_VERSION_MINOR 1
#define SPARSEHS_VERSION_PATCH 0

#if defined(SPARSEHS_DOUBLE) && defined(SPARSEHS_NO_DOUBLE)
#error "sparsehs: SPARSEHS_DOUBLE and SPARSEHS_NO_DOUBLE exclude each other"
#endif

#ifdef SPARSEHS_DOUBLE
typedef double shs_real;
#else
typedef float shs_real;
#endif
#ifdef SPARSEHS_NO_DOUBLE
typedef float shs_wide;
#else
typedef double shs_wide;
#endif

/* Whatever mentions shs_real or shs_wide has a link name of its own for each precision. */
#if defined(SPARSEHS_DOUBLE) || defined(SPARSEHS_NO_DOUBLE)
#ifdef SPARSEHS_DOUBLE
#define SHS__LINK(name) shs_##name##_f64
#else
#define SHS__LINK(name) shs_##name##_f32
#endif
#define shs_status_text SHS__LINK(status_text)
#define shs_status_name SHS__LINK(status_name)
#define shs_build_info SHS__LINK(build_info)
#define shs_arena_init SHS__LINK(arena_init)
#define shs_arena_attach SHS__LINK(arena_attach)
#define shs_type_size SHS__LINK(type_size)
#define shs_random_seed SHS__LINK(random_seed)
#define shs_random_bits SHS__LINK(random_bits)
#define shs_random_uniform SHS__LINK(random_uniform)
#define shs_random_below SHS__LINK(random_below)
#define shs_random_normal SHS__LINK(random_normal)
#define shs_random_permuted SHS__LINK(random_permuted)
#define shs_dot SHS__LINK(dot)
#define shs_nrm2 SHS__LINK(nrm2)
#define shs_axpy SHS__LINK(axpy)
#define shs_gemv SHS__LINK(gemv)
#define shs_ger SHS__LINK(ger)
#define shs_trsv SHS__LINK(trsv)
#define shs_gemm SHS__LINK(gemm)
#define shs_gemm_naive SHS__LINK(gemm_naive)
#define shs_gemm_general_naive SHS__LINK(gemm_general_naive)
#define shs_gemm_workspace SHS__LINK(gemm_workspace)
#define shs_syrk SHS__LINK(syrk)
#define shs_syrk_naive SHS__LINK(syrk_naive)
#define shs_syrk_workspace SHS__LINK(syrk_workspace)
#define shs_trsm SHS__LINK(trsm)
#define shs_trsm_naive SHS__LINK(trsm_naive)
#define shs_trsm_workspace SHS__LINK(trsm_workspace)
#define shs_cholesky SHS__LINK(cholesky)
#define shs_cholesky_naive SHS__LINK(cholesky_naive)
#define shs_cholesky_workspace SHS__LINK(cholesky_workspace)
#define shs_normalize_columns SHS__LINK(normalize_columns)
#define shs_eigh SHS__LINK(eigh)
#define shs_eigh_workspace SHS__LINK(eigh_workspace)
#define shs_eigh_naive SHS__LINK(eigh_naive)
#define shs_codes_create SHS__LINK(codes_create)
#define shs_codes_free SHS__LINK(codes_free)
#define shs_codes_nonzeros SHS__LINK(codes_nonzeros)
#define shs_codes_to_csc SHS__LINK(codes_to_csc)
#define shs_codes_synthesize SHS__LINK(codes_synthesize)
#define shs_codes_residual SHS__LINK(codes_residual)
#define shs_omp_defaults SHS__LINK(omp_defaults)
#define shs_omp SHS__LINK(omp)
#define shs_omp_ex SHS__LINK(omp_ex)
#define shs_omp_workspace SHS__LINK(omp_workspace)
#define shs_omp_gram SHS__LINK(omp_gram)
#define shs_omp_one SHS__LINK(omp_one)
#define shs_omp_one_workspace SHS__LINK(omp_one_workspace)
#define shs_omp_one_direct SHS__LINK(omp_one_direct)
#define shs_omp_one_direct_workspace SHS__LINK(omp_one_direct_workspace)
#define shs_omp_naive SHS__LINK(omp_naive)
#define shs_somp_naive SHS__LINK(somp_naive)
#define shs_nnomp_naive SHS__LINK(nnomp_naive)
#define shs_lasso SHS__LINK(lasso)
#define shs_lasso_gram SHS__LINK(lasso_gram)
#define shs_lasso_workspace SHS__LINK(lasso_workspace)
#define shs_lasso_naive SHS__LINK(lasso_naive)
#define shs_update_name SHS__LINK(update_name)
#define shs_ksvd_defaults SHS__LINK(ksvd_defaults)
#define shs_ksvd SHS__LINK(ksvd)
#define shs_ksvd_ex SHS__LINK(ksvd_ex)
#define shs_ksvd_workspace SHS__LINK(ksvd_workspace)
#define shs_ksvd_naive SHS__LINK(ksvd_naive)
#define shs_aksvd_naive SHS__LINK(aksvd_naive)
#define shs_sgk_naive SHS__LINK(sgk_naive)
#define shs_engine_split SHS__LINK(engine_split)
#define shs_exact_ksvd_naive SHS__LINK(exact_ksvd_naive)
#define shs_mod_naive SHS__LINK(mod_naive)
#define shs_online_defaults SHS__LINK(online_defaults)
#define shs_online SHS__LINK(online)
#define shs_online_ex SHS__LINK(online_ex)
#define shs_online_workspace SHS__LINK(online_workspace)
#define shs_online_naive SHS__LINK(online_naive)
#define shs_shuffled_signals SHS__LINK(shuffled_signals)
#define shs_dictionary_random SHS__LINK(dictionary_random)
#define shs_dictionary_dct SHS__LINK(dictionary_dct)
#define shs_dictionary_coherence SHS__LINK(dictionary_coherence)
#define shs_patches_count SHS__LINK(patches_count)
#define shs_patches_position SHS__LINK(patches_position)
#define shs_patches_get SHS__LINK(patches_get)
#define shs_patches_put SHS__LINK(patches_put)
#define shs_patches_average SHS__LINK(patches_average)
#define shs_patches_approximate SHS__LINK(patches_approximate)
#define shs_noise_sigma SHS__LINK(noise_sigma)
#define shs_patches_approximate_workspace SHS__LINK(patches_approximate_workspace)
#define shs_cube_bands SHS__LINK(cube_bands)
#define shs_moments_create SHS__LINK(moments_create)
#define shs_moments_free SHS__LINK(moments_free)
#define shs_moments_update SHS__LINK(moments_update)
#define shs_moments_update_workspace SHS__LINK(moments_update_workspace)
#define shs_moments_merge SHS__LINK(moments_merge)
#define shs_moments_reduce SHS__LINK(moments_reduce)
#define shs_moments_finish SHS__LINK(moments_finish)
#define shs_moments_naive SHS__LINK(moments_naive)
#define shs_cube_map SHS__LINK(cube_map)
#define shs_cube_map_workspace SHS__LINK(cube_map_workspace)
#define shs_pca_fit SHS__LINK(pca_fit)
#define shs_pca_from_moments SHS__LINK(pca_from_moments)
#define shs_mnf_fit SHS__LINK(mnf_fit)
#define shs_mnf_run SHS__LINK(mnf_run)
#define shs_mnf_from_noise SHS__LINK(mnf_from_noise)
#define shs_pca_free SHS__LINK(pca_free)
#define shs_pca_run SHS__LINK(pca_run)
#define shs_pca_transform SHS__LINK(pca_transform)
#define shs_pca_denoise SHS__LINK(pca_denoise)
#define shs_pca_inverse SHS__LINK(pca_inverse)
#define shs_rx SHS__LINK(rx)
#define shs_rx_fit SHS__LINK(rx_fit)
#define shs_rx_transform SHS__LINK(rx_transform)
#define shs_rx_classes SHS__LINK(rx_classes)
#define shs_rx_classes_naive SHS__LINK(rx_classes_naive)
#define shs_rx_local SHS__LINK(rx_local)
#define shs_rx_local_naive SHS__LINK(rx_local_naive)
#define shs_pca_naive SHS__LINK(pca_naive)
#define shs_mnf_naive SHS__LINK(mnf_naive)
#define shs_noise_naive SHS__LINK(noise_naive)
#define shs_noise_residual_naive SHS__LINK(noise_residual_naive)
#define shs_rx_naive SHS__LINK(rx_naive)
#define shs_contrast_name SHS__LINK(contrast_name)
#define shs_ica_fit SHS__LINK(ica_fit)
#define shs_ica_free SHS__LINK(ica_free)
#define shs_ica_run SHS__LINK(ica_run)
#define shs_ica_transform SHS__LINK(ica_transform)
#define shs_ica_inverse SHS__LINK(ica_inverse)
#define shs_model_save SHS__LINK(model_save)
#define shs_model_load SHS__LINK(model_load)
#define shs_model_free SHS__LINK(model_free)
#define shs_npy_write_header SHS__LINK(npy_write_header)
#define shs_npy_write_values SHS__LINK(npy_write_values)
#define shs_npy_save SHS__LINK(npy_save)
#define shs_npy_read_header SHS__LINK(npy_read_header)
#define shs_npy_read_values SHS__LINK(npy_read_values)
#define shs_npy_save_codes SHS__LINK(npy_save_codes)
#define shs_npy_load_codes SHS__LINK(npy_load_codes)
#define shs_ica_naive SHS__LINK(ica_naive)
#define shs_detector_name SHS__LINK(detector_name)
#define shs_detect SHS__LINK(detect)
#define shs_detect_naive SHS__LINK(detect_naive)
#define shs_unmix SHS__LINK(unmix)
#define shs_unmix_naive SHS__LINK(unmix_naive)
#define shs_extractor_name SHS__LINK(extractor_name)
#define shs_endmembers_find SHS__LINK(endmembers_find)
#define shs_endmembers_free SHS__LINK(endmembers_free)
#define shs_vca_naive SHS__LINK(vca_naive)
#define shs_nfindr_naive SHS__LINK(nfindr_naive)
#define shs_atgp_naive SHS__LINK(atgp_naive)
#endif

/* What stands before each declaration. A private copy is private whatever the other files are told. */
#if defined(SPARSEHS_STATIC) && defined(SPARSEHS_IMPLEMENTATION)
#define SHS__STATIC
#undef SHS_API
#if defined(__GNUC__) || defined(__clang__)
#define SHS_API __attribute__((unused)) static
#else
#define SHS_API static
#endif
#elif !defined(SHS_API)
#define SHS_API extern
#endif

/* The initialiser that neither C nor C++ warns about. */
#ifdef __cplusplus
#define SHS_ZERO {}
#else
#define SHS_ZERO {0}
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ================================================================================================================== */
/* 2  CONTEXT: status, memory, threads, progress, ranks, engine                                                       */
/* ================================================================================================================== */

/* One list gives the enumeration, its numbers, which stay what they are (a new one takes the next that is free), and the
   texts. A code names the argument at fault. */
#define SHS_STATUS_LIST(X)                                                                                                     \
    X(SHS_OK, 0, "success")                                                                                                    \
    X(SHS_CANCELLED, 1, "cancelled by the progress callback; the best result so far is valid")                                 \
    X(SHS_NO_MEMORY, 2, "memory: the allocator returned NULL, the arena is full, or there is no allocator")                    \
    X(SHS_TOO_LARGE, 3, "size: a product of the dimensions does not fit size_t")                                               \
    X(SHS_UNSUPPORTED, 4, "engine: it cannot do this stage")                                                                   \
    X(SHS_ENGINE_FAILED, 5, "engine: the device or its driver reported an error")                                              \
    X(SHS_NO_DEVICE, 6, "engine: no device here matches, or it lacks a library, a driver or a compiler")                       \
    X(SHS_BUILD_FAILED, 7, "engine: a program for the device did not build; its log says why")                                 \
    X(SHS_DEVICE_LOST, 8, "engine: the device is gone; a new engine must be made")                                             \
    X(SHS_REDUCE_FAILED, 9, "reduce_fn: it returned non-zero")                                                                 \
    X(SHS_PEER_FAILED, 10, "another rank failed, so this one stopped too")                                                     \
    X(SHS_RANKS_DIFFER, 11, "ranks: they differ in sizes, options or the call they make, or two have one number")              \
    X(SHS_BAD_CONTEXT, 12, "context: never zeroed, one of two callbacks that go together, or rank, ranks or threads off")      \
    X(SHS_BAD_OPTIONS, 13, "options: NULL where they are needed, never zeroed, or a member out of its range")                  \
    X(SHS_BAD_WORKSPACE, 14, "workspace: NULL or smaller than the workspace query says")                                       \
    X(SHS_BAD_M, 15, "m: negative, or zero where something is needed")                                                         \
    X(SHS_BAD_N, 16, "n: negative, or zero where something is needed")                                                         \
    X(SHS_BAD_K, 17, "k: negative, or more than there are")                                                                    \
    X(SHS_BAD_P, 18, "p: the length of a signal must be positive")                                                             \
    X(SHS_BAD_A, 19, "A: NULL")                                                                                                \
    X(SHS_BAD_B, 20, "B: NULL")                                                                                                \
    X(SHS_BAD_C, 21, "C: NULL")                                                                                                \
    X(SHS_BAD_X, 22, "x: NULL")                                                                                                \
    X(SHS_BAD_Y, 23, "y: NULL")                                                                                                \
    X(SHS_BAD_LDA, 24, "lda: smaller than the number of rows of A")                                                            \
    X(SHS_BAD_LDB, 25, "ldb: smaller than the number of rows of B")                                                            \
    X(SHS_BAD_LDN, 26, "ldn: smaller than the number of bands")                                                                \
    X(SHS_BAD_LDV, 27, "ldv: smaller than n")                                                                                  \
    X(SHS_BAD_LDC, 28, "ldc: smaller than the number of rows of C")                                                            \
    X(SHS_BAD_INCX, 29, "incx: zero")                                                                                          \
    X(SHS_BAD_INCY, 30, "incy: zero")                                                                                          \
    X(SHS_BAD_ENUM, 31, "trans, uplo, side or diag: not a value of its enumeration")                                           \
    X(SHS_NOT_FINITE, 32, "A, start or sums of pixels: NaN or infinity is among them")                                         \
    X(SHS_SINGULAR, 33, "A: a diagonal element is zero")                                                                       \
    X(SHS_NOT_POSITIVE_DEFINITE, 34, "A: not positive definite")                                                               \
    X(SHS_NO_CONVERGENCE, 35, "the iteration did not converge")                                                                \
    X(SHS_BAD_DICTIONARY, 36, "dictionary: NULL")                                                                              \
    X(SHS_BAD_LDD, 37, "ldd: smaller than p")                                                                                  \
    X(SHS_DICTIONARY_NOT_FINITE, 38, "dictionary: it holds NaN or infinity")                                                   \
    X(SHS_BAD_SIGNALS, 39, "signals: NULL")                                                                                    \
    X(SHS_BAD_LDY, 40, "ldy: smaller than p")                                                                                  \
    X(SHS_BAD_LDE, 41, "lde: smaller than p")                                                                                  \
    X(SHS_BAD_LDZ, 42, "ldz: smaller than p")                                                                                  \
    X(SHS_SIGNALS_NOT_FINITE, 43, "signals: one holds NaN or infinity")                                                        \
    X(SHS_BAD_GRAM, 44, "gram: NULL where it is needed, its leading dimension is smaller than n, or not finite")               \
    X(SHS_BAD_CORRELATIONS, 45, "dty: NULL, its leading dimension is smaller than n, or not finite")                           \
    X(SHS_BAD_NORMS, 46, "norms2: NULL where a tolerance needs it, negative, or not finite")                                   \
    X(SHS_BAD_SPARSITY, 47, "sparsity: negative")                                                                              \
    X(SHS_BAD_STRIDE, 48, "stride: not positive")                                                                              \
    X(SHS_BAD_TOLERANCE, 49, "tolerance: negative or not finite")                                                              \
    X(SHS_BAD_LAMBDA, 50, "lambda: negative or not finite")                                                                    \
    X(SHS_TOLERANCE_TOO_SMALL, 51, "tolerance: below what the Gram matrix alone can decide in this precision")                 \
    X(SHS_BAD_CODES, 52, "codes: NULL, an array in it is NULL, or it is too small for the signals or the sparsity")            \
    X(SHS_BAD_OUTPUT, 53, "output: NULL, or a report that was never zeroed")                                                   \
    X(SHS_BAD_ITERATIONS, 54, "iterations: negative")                                                                          \
    X(SHS_BAD_PARALLEL_ATOMS, 55, "parallel_atoms: negative")                                                                  \
    X(SHS_BAD_ROUNDS, 56, "rounds: negative")                                                                                  \
    X(SHS_BAD_SCHEDULE, 57, "schedule: steps must begin at iteration 0 or later, ascend, and hold positive values")            \
    X(SHS_BAD_START, 58, "start: the signals or the patch shape do not allow this start")                                      \
    X(SHS_BAD_IMAGE, 59, "image: NULL pixels, a size that is not positive, a row stride too small, or an unknown type")        \
    X(SHS_IMAGE_NOT_FINITE, 60, "image: it holds NaN or infinity")                                                             \
    X(SHS_BAD_PATCHES, 61, "patches: never zeroed, larger than the image, a negative size or step, or a range beyond the set") \
    X(SHS_BAD_CUBE, 62, "cube: never zeroed, no pixels and no read_fn, no positive size, or an unknown type or interleave") \
    X(SHS_BAD_BANDS, 63, "cube: a band of band_list does not exist, or the number of bands is not the one expected")   \
    X(SHS_READ_FAILED, 64, "read_fn or mask_fn: it returned non-zero; the stream could not be read")                   \
    X(SHS_WRITE_FAILED, 65, "write_fn: it returned non-zero; the output is incomplete")                                \
    X(SHS_BAD_SINK, 66, "sink: never zeroed, no pixels and no write_fn, an unknown type or interleave, or low > high") \
    X(SHS_BAD_MAP, 67, "map: NULL, its matrix is NULL or not finite, or its sizes are not positive")                   \
    X(SHS_BAD_MOMENTS, 68, "moments: NULL, or not those of as many bands")                                             \
    X(SHS_NO_PIXELS, 69, "pixels: too few valid ones")                                                                 \
    X(SHS_BAD_COMPONENTS, 70, "components: negative, more than there are bands, or a rule out of its range")           \
    X(SHS_ZERO_VARIANCE, 71, "pixels: they have no variance, or under correlation a band has none")                    \
    X(SHS_RANK_TOO_LOW, 72, "components: more than the pixels, or the noise, have dimensions")                          \
    X(SHS_BAD_MODEL, 73, "model: NULL, an unknown kind, no positive size, an array is missing or not finite")          \
    X(SHS_FOREIGN_MODEL, 74, "model: the file is none: it does not begin as one does")                                 \
    X(SHS_NEWER_MODEL, 75, "model: the file is of a later version than this library reads")                            \
    X(SHS_DAMAGED_MODEL, 76, "model: the file is damaged: a check sum is wrong, or a number that no model has")        \
    X(SHS_BAD_TARGETS, 77, "targets: NULL or none, their leading dimension is smaller than the bands, or not finite")  \
    X(SHS_LOST_TARGET, 78, "targets: nothing is left of one: it is zero, the mean, or within the undesired spectra")   \
    X(SHS_BAD_UNDESIRED, 79, "undesired: NULL, as many as bands, not finite, or linearly dependent")                   \
    X(SHS_SINGULAR_COVARIANCE, 80, "covariance: singular: too few pixels, or bands that depend on others; a ridge helps")\
    X(SHS_BAD_ENDMEMBERS, 81, "endmembers: NULL, none, more than bands, lde smaller than the bands, or not finite")    \
    X(SHS_DEPENDENT_ENDMEMBERS, 82, "endmembers: one of them is a combination of the others")                          \
    X(SHS_BAD_SPLIT, 83, "split: no engine or too many, one twice, or shares negative, not finite or all zero")        \
    X(SHS_BAD_LABELS, 84, "labels: NULL, or no class")                                                                 \
    X(SHS_BAD_WEIGHTS, 85, "mask or weights: a leading dimension smaller than p, or a weight that is negative or not finite") \
    X(SHS_BAD_GROUPS, 86, "groups: they do not begin at 0, do not ascend, or begin beyond the signals")                \
    X(SHS_BAD_FORGETTING, 87, "forgetting: not in (0, 1]")                                                             \
    X(SHS_BAD_WINDOW, 88, "inner, outer: negative or even, or inner is not smaller than outer") \
    X(SHS_BAD_NPY, 89, "npy: NULL, a member out of its range, or numbers of another type than the matrix")                     \
    X(SHS_FOREIGN_NPY, 90, "npy: the file is none: it does not begin as one does")                                             \
    X(SHS_UNSUPPORTED_NPY, 91, "npy: three dimensions, or numbers or a version of the format that is not read here")           \
    X(SHS_DAMAGED_NPY, 92, "npy: its header, or a number, is none that can be, or files of codes contradict each other")

typedef enum shs_status {
#define SHS__ENUM(code, number, text) code = number,
    SHS_STATUS_LIST(SHS__ENUM)
#undef SHS__ENUM
} shs_status;

/* The text of a status, "argument: what is wrong with it"; never NULL. */
SHS_API const char *shs_status_text(shs_status status);
/* Its name, "SHS_BAD_LDA"; never NULL. */
SHS_API const char *shs_status_name(shs_status status);
/* How this copy was compiled and what it uses here, in one line, such as
   "sparsehs 0.1.0; float; kernels: SSE2, AVX2, AVX-512; in use: AVX2; no OpenMP"; never NULL. */
SHS_API const char *shs_build_info(void);

/* One chunk of a parallel loop. worker is in [0, threads) and no two chunks run on one worker at the same time. */
typedef void (*shs_chunk_fn)(void *arg, size_t chunk, int worker);

typedef enum shs_reduce_op { SHS_REDUCE_SUM = 0, SHS_REDUCE_MIN = 1, SHS_REDUCE_MAX = 2 } shs_reduce_op;

struct shs_engine;

/* Structs that the user fills are zeroed first, by = {0}, SHS_ZERO or memset: zero is the default of every member. The larger
   ones begin and end with a canary: a struct whose canaries are not 0 was not zeroed, and is refused. */

/* The outside world, as callbacks with a user pointer. NULL or all zero is fine everywhere. The struct is only read;
   several threads may share one as long as its callbacks allow it. No callback, here or in a cube, a sink or an engine, may
   leave by an exception or longjmp: memory and sessions would stay open, and other threads and ranks wait. */
typedef struct shs_context {
    uint32_t start_canary;
    int version; /* 0; where a later header adds members, their users say its number, and libraries before it refuse */

    /* Memory: malloc and free when both are NULL. Set both or neither. Blocks need malloc's alignment only. */
    void *(*alloc_fn)(void *user, size_t size);
    void (*free_fn)(void *user, void *block);
    void *alloc_user;

    /* Threads: runs body(arg, i, worker) for i in [0, chunks), in any order, on at most `threads` workers at a time, and
       returns when all are done. NULL: OpenMP when compiled with it, else one after another. threads: the number of
       workers; 0 = all that OpenMP offers (1 with a callback). Results do not depend on it. */
    void (*parallel_fn)(void *user, size_t chunks, int threads, shs_chunk_fn body, void *arg);
    void *parallel_user;
    int threads;

    /* Progress: called between steps from the calling thread; error is the algorithm's current error, or -1 where it has
       none yet. A non-zero return cancels cleanly: SHS_CANCELLED, and the best result so far is valid. */
    int (*progress_fn)(void *user, const char *phase, size_t step, size_t steps, shs_wide error);
    void *progress_user;

    /* Ranks: combines count values of all ranks element by element, in place, so that every rank sees the same result
       (MPI_Allreduce). With it each rank passes its own signals or pixels, which may be none, and every rank gets the same
       dictionary or components. NULL: a single rank.
       Collective are shs_ksvd*, shs_online*, shs_moments_reduce, and all of sections 9 to 13 that fits, maps or transforms a
       cube: all ranks make these calls in the same order, with the same sizes and options. Their first step compares those, so
       that a difference is SHS_RANKS_DIFFER on every rank. What a rank asks for beside the result (codes, a history, a report,
       NULL in their place) is its own affair. Coding, patches and shs_moments_update are each rank's own too.
       A rank that fails tells the others, and they return SHS_PEER_FAILED. Only where reduce_fn itself fails it cannot: the
       rank on which it returns non-zero returns SHS_REDUCE_FAILED at once, and takes part in no further reduction of this
       call. So let it fail on all ranks or end the program, as MPI does by default: where it fails on one rank only, the
       others wait for that rank in their next reduction. */
    int (*reduce_fn)(void *user, shs_wide *values, size_t count, shs_reduce_op op);
    void *reduce_user;
    int rank, ranks;

    /* Where the stages run; NULL: here, on the CPU. */
    const struct shs_engine *engine;
    uint32_t end_canary;
} shs_context;

/* A stack of blocks in the caller's buffer: no heap at all. A block that is given back before later ones becomes free when
   those are given back too. `peak` is the most that was ever in use. Not for several threads at once. */
typedef struct shs_arena {
    unsigned char *memory;
    size_t size, used, peak, last;
} shs_arena;

SHS_API void shs_arena_init(shs_arena *arena, void *memory, size_t size);
/* Makes ctx allocate from the arena (ctx's other members stay as they are). */
SHS_API void shs_arena_attach(shs_arena *arena, shs_context *ctx);

/* The value types that images and cubes come in. */
typedef enum shs_type {
    SHS_TYPE_REAL = 0,
    SHS_TYPE_U8 = 1,
    SHS_TYPE_I16 = 2,
    SHS_TYPE_U16 = 3,
    SHS_TYPE_I32 = 4,
    SHS_TYPE_U32 = 5,
    SHS_TYPE_F32 = 6,
    SHS_TYPE_F64 = 7,
    SHS_TYPE_COUNT = 8
} shs_type;
/* Bytes of one value; 0 for an unknown type. */
SHS_API size_t shs_type_size(shs_type type);

/* ================================================================================================================== */
/* 3  RANDOM NUMBERS                                                                                                  */
/* ================================================================================================================== */

/* A small seeded generator (SplitMix64: a Weyl sequence through a mixing function; period 2^64). The same seed gives the
   same integers everywhere. Not for cryptography. */
typedef struct shs_random {
    uint64_t state;
} shs_random;

SHS_API void shs_random_seed(shs_random *r, uint64_t seed);
SHS_API uint64_t shs_random_bits(shs_random *r);
/* Uniform in [0, 1). */
SHS_API shs_wide shs_random_uniform(shs_random *r);
/* Uniform in {0 .. count-1} without bias; 0 for count 0. */
SHS_API uint64_t shs_random_below(shs_random *r, uint64_t count);
/* Standard normal (polar method). */
SHS_API shs_wide shs_random_normal(shs_random *r);
/* The i-th element of a seeded random permutation of {0 .. count-1}, in constant time and memory: sampling without
   replacement. i < count. */
SHS_API uint64_t shs_random_permuted(uint64_t i, uint64_t count, uint64_t seed);

/* ================================================================================================================== */
/* 4  DENSE LINEAR ALGEBRA                                                                                            */
/* ================================================================================================================== */

/* BLAS's meaning of every argument. beta = 0 never reads C or y: they may be uninitialised. Zero sizes are quick returns.
   The naive twin of a routine (shs_*_naive) computes the same in a few lines: the reference in the tests and the text in a
   course. The twins of whole algorithms are plain loops and nothing else: they check nothing, matrices lie close together, and
   the caller brings every array, scratch too; counts are ptrdiff_t so that the loops need no casts. Elements outside the
   triangle that uplo names are neither read nor written. */
typedef enum shs_trans { SHS_TRANS_NO = 0, SHS_TRANS_YES = 1 } shs_trans;
typedef enum shs_uplo { SHS_UPLO_LOWER = 0, SHS_UPLO_UPPER = 1 } shs_uplo;
typedef enum shs_side { SHS_SIDE_LEFT = 0, SHS_SIDE_RIGHT = 1 } shs_side;
typedef enum shs_diag { SHS_DIAG_NON_UNIT = 0, SHS_DIAG_UNIT = 1 } shs_diag;

/* x'y; 0 for n <= 0. Increments are non-zero; a negative one runs backwards from the end, as in BLAS. */
SHS_API shs_real shs_dot(int n, const shs_real *x, int incx, const shs_real *y, int incy);
/* ||x||_2 without overflow or underflow on the way. */
SHS_API shs_real shs_nrm2(int n, const shs_real *x, int incx);
/* y += alpha x */
SHS_API void shs_axpy(int n, shs_real alpha, const shs_real *x, int incx, shs_real *y, int incy);

/* y = alpha op(A) x + beta y, A is m x n. */
SHS_API shs_status shs_gemv(shs_trans trans, int m, int n, shs_real alpha, const shs_real *A, int lda, const shs_real *x,
                            int incx, shs_real beta, shs_real *y, int incy);
/* A += alpha x y', A is m x n. */
SHS_API shs_status shs_ger(int m, int n, shs_real alpha, const shs_real *x, int incx, const shs_real *y, int incy,
                           shs_real *A, int lda);
/* Solves op(A) x = b for triangular A (n x n); x holds b on entry. SHS_SINGULAR: a zero on the diagonal, x untouched. */
SHS_API shs_status shs_trsv(shs_uplo uplo, shs_trans trans, shs_diag diag, int n, const shs_real *A, int lda, shs_real *x,
                            int incx);

/* C = alpha op(A) op(B) + beta C; op(A) is m x k, op(B) k x n, C m x n. Packed panels and a register-blocked micro-kernel;
   takes its scratch from ctx (shs_gemm_workspace bytes). ctx's engine makes this product, and that of shs_syrk, where it can:
   the matrices go there and back, which pays where there is much to multiply for each value. */
SHS_API shs_status shs_gemm(const shs_context *ctx, shs_trans transa, shs_trans transb, int m, int n, int k, shs_real alpha,
                            const shs_real *A, int lda, const shs_real *B, int ldb, shs_real beta, shs_real *C, int ldc);
/* C = A B for A (m x k), B (k x n), C (m x n), close together; then the same with every argument. */
SHS_API void shs_gemm_naive(int m, int n, int k, const shs_real *A, const shs_real *B, shs_real *C);
SHS_API shs_status shs_gemm_general_naive(shs_trans transa, shs_trans transb, int m, int n, int k, shs_real alpha,
                                          const shs_real *A, int lda, const shs_real *B, int ldb, shs_real beta, shs_real *C,
                                          int ldc);
SHS_API size_t shs_gemm_workspace(const shs_context *ctx, int m, int n, int k);

/* The uplo triangle of C = alpha A A' + beta C (SHS_TRANS_NO, A n x k) or alpha A'A + beta C (SHS_TRANS_YES, A k x n). */
SHS_API shs_status shs_syrk(const shs_context *ctx, shs_uplo uplo, shs_trans trans, int n, int k, shs_real alpha,
                            const shs_real *A, int lda, shs_real beta, shs_real *C, int ldc);
SHS_API shs_status shs_syrk_naive(shs_uplo uplo, shs_trans trans, int n, int k, shs_real alpha, const shs_real *A, int lda,
                                  shs_real beta, shs_real *C, int ldc);
SHS_API size_t shs_syrk_workspace(const shs_context *ctx, int n, int k);

/* Solves op(A) X = alpha B (SHS_SIDE_LEFT) or X op(A) = alpha B (SHS_SIDE_RIGHT) for triangular A; X overwrites B (m x n). */
SHS_API shs_status shs_trsm(const shs_context *ctx, shs_side side, shs_uplo uplo, shs_trans transa, shs_diag diag, int m,
                            int n, shs_real alpha, const shs_real *A, int lda, shs_real *B, int ldb);
SHS_API shs_status shs_trsm_naive(shs_side side, shs_uplo uplo, shs_trans transa, shs_diag diag, int m, int n,
                                  shs_real alpha, const shs_real *A, int lda, shs_real *B, int ldb);
SHS_API size_t shs_trsm_workspace(const shs_context *ctx, shs_side side, int m, int n);

/* Cholesky factor in place: A = L L' (SHS_UPLO_LOWER) or U'U (SHS_UPLO_UPPER). SHS_NOT_POSITIVE_DEFINITE: A is then partly
   overwritten. */
SHS_API shs_status shs_cholesky(const shs_context *ctx, shs_uplo uplo, int n, shs_real *A, int lda);
SHS_API shs_status shs_cholesky_naive(shs_uplo uplo, int n, shs_real *A, int lda);
SHS_API size_t shs_cholesky_workspace(const shs_context *ctx, int n);

/* Scales every column of A (m x n) to unit length; norms (n values, may be NULL) gets the lengths before. A zero column
   stays zero. */
SHS_API shs_status shs_normalize_columns(int m, int n, shs_real *A, int lda, shs_real *norms);

/* ================================================================================================================== */
/* 5  SYMMETRIC EIGENPROBLEM                                                                                          */
/* ================================================================================================================== */

/* The k largest eigenvalues of the symmetric matrix A (n x n, its lower triangle is read) in descending order into values (k),
   and, unless vectors is NULL, the eigenvectors that go with them as the columns of vectors (n x k): orthonormal, the entry of
   largest magnitude positive (the first of equals). Always in shs_wide. A is tridiagonalised by blocked Householder
   reflections; all pairs come from divide and conquer (QL for small blocks and for values alone), few from bisection and
   twisted factorisations. Accurate to
   ||A v - lambda v|| <= 50 n eps ||A||. SHS_NOT_FINITE: A holds NaN or infinity; SHS_BAD_K: k < 1 or k > n. */
SHS_API shs_status shs_eigh(const shs_context *ctx, int n, const shs_wide *A, int lda, int k, shs_wide *values,
                            shs_wide *vectors, int ldv);
SHS_API size_t shs_eigh_workspace(const shs_context *ctx, int n, int k);
/* The naive twin: all n pairs by Jacobi rotations. A (n x n, both triangles) is overwritten; vectors (n x n) have any sign. */
SHS_API void shs_eigh_naive(int n, shs_wide *A, shs_wide *values, shs_wide *vectors);

/* ================================================================================================================== */
/* 6  SPARSE CODING                                                                                                   */
/* ================================================================================================================== */

/* Orthogonal matching pursuit: for each signal y choose atoms of the dictionary D (p x n) one after another, always the
   one that correlates most with what is left, and keep the coefficients at their least-squares values:

       x = argmin ||y - D_I x||,  I grown greedily until |I| = sparsity or ||y - D_I x|| <= tolerance.

   With the selection OLS it is the atom that leaves the smallest residual after it is taken (Chen, Billings, Luo 1989;
   Rebollo-Neira, Lowe 2002); atoms that depend on those chosen are passed over.

   With nonnegative coefficients (Bruckstein, Elad, Zibulevsky 2008) the atom with the largest d_j'r > 0 is chosen, and x is
   solved for under x >= 0 over all atoms chosen. One whose coefficient becomes 0 stays among them, stored with 0, and may
   come back.

   Signals may share their atoms in groups (Tropp, Gilbert, Strauss 2006: simultaneous OMP). A group Y_g has one I, chosen by
   what its signals say together: sum_i (d_j'r_i)^2 where one signal has |d_j'r|^2, over d^2 with OLS; least squares for each
   signal; an end where the norm of the whole is, ||Y_g - D_I X_g||_F <= tolerance. A group of one is a signal like any other.

   Many signals share the Gram matrix G = D'D (Rubinstein, Zibulevsky, Elad 2008: Batch-OMP). Here no triangular system is
   solved on the way. With q_k the k-th orthonormalised atom, b_k = D'q_k and alpha = D'r, choosing atom j gives

       c_i = b_i[j] (i < k),  d^2 = G_jj - sum c_i^2,  b_k = (G_j - sum c_i b_i) / d,  t_k = alpha_j / d,
       alpha -= t_k b_k,  ||r||^2 -= t_k^2,

   where (c_1 .. c_{k-1}, d) is the next row of the Cholesky factor L of G_II; one back substitution L'x = t at the end
   gives the coefficients.

   Atoms are used as they are. Selection compares |d_j'r|, which is the usual rule for atoms of unit norm: see
   shs_normalize_columns. A zero atom is never chosen; of equal atoms the first is. A signal is finished when its sparsity
   or tolerance is reached, when nothing that is left correlates (|alpha| <= 1e-5 max |alpha| of the start; 1e-12 in
   double), or when the best atom depends on those chosen (d^2 <= 1e-5 G_jj; 1e-12). An all-zero signal has no atoms.

   Tolerances. The recurrence of ||r||^2 errs by about 4 eps |y|^2 / min d^2, so it only decides where it can: near the
   tolerance, and below 1e-2 |y| (1e-6 in double), the residual y - Dx is formed explicitly in shs_wide, and pursuit goes on
   from there. What is reported as reached is reached: ||y - Dx|| <= tolerance for the coefficients as stored. Below about
   1e-6 |y| (1e-15 in double) rounded coefficients hold it for ever fewer signals; the others count as not reached. Single
   signals and shs_omp_gram, where only the Gram matrix is known, go on until the recurrence is below the tolerance by its
   error. */

/* Codes are sparse: signal i has used[i] atoms, atoms[i*stride + k] with coefficient coefs[i*stride + k], k < used[i], in
   the order in which they were chosen. Coding a signal, here or on a device, fills its slots from used[i] on with zeros. The
   arrays may be the caller's own, or come from shs_codes_create. */
typedef struct shs_codes {
    size_t m;        /* signals that the arrays hold */
    int stride;      /* atoms a signal at most */
    int *used;       /* m */
    int *atoms;      /* m x stride */
    shs_real *coefs; /* m x stride */
    void *block;     /* what shs_codes_create took; NULL where the arrays are the caller's own */
} shs_codes;

/* Allocates the three arrays, zeroed: no signal uses an atom yet. m and stride positive. */
SHS_API shs_status shs_codes_create(const shs_context *ctx, size_t m, int stride, shs_codes *codes);
/* Frees what shs_codes_create made and zeroes the struct. NULL and zeroed structs are fine. */
SHS_API void shs_codes_free(const shs_context *ctx, shs_codes *codes);
/* The number of stored coefficients. */
SHS_API size_t shs_codes_nonzeros(const shs_codes *codes);
/* The same as compressed sparse columns, rows ascending: column_start (m+1), row and value (shs_codes_nonzeros each). */
SHS_API shs_status shs_codes_to_csc(const shs_codes *codes, size_t *column_start, int *row, shs_real *value);
/* Z = D X for signals first .. first+count-1; Z is p x count. */
SHS_API shs_status shs_codes_synthesize(const shs_context *ctx, int p, int n, const shs_real *D, int ldd,
                                        const shs_codes *codes, size_t first, size_t count, shs_real *Z, int ldz);
/* E = Y - D X for all signals (E may be Y itself, or NULL), and in *sum2 (may be NULL) the sum of its squares. */
SHS_API shs_status shs_codes_residual(const shs_context *ctx, int p, int n, const shs_real *D, int ldd, size_t m,
                                      const shs_real *Y, int ldy, const shs_codes *codes, shs_real *E, int lde,
                                      shs_wide *sum2);

typedef enum shs_gram_mode {
    SHS_GRAM_AUTO = 0, /* whichever costs fewer operations; none where n x n exceeds 1 GB */
    SHS_GRAM_ALWAYS = 1,   /* form D'D once: n^2 values */
    SHS_GRAM_NEVER = 2     /* correlate with the dictionary at every step: for very large dictionaries or few signals */
} shs_gram_mode;

/* How a pursuit chooses its next atom, from alpha = d_j'r, G_jj = |d_j|^2, and the squared distance d^2 of d_j from the span of
   the atoms chosen. OLS seeks atoms of small d: where many of a dictionary's nearly depend on a few, its residual errs by
   eps |y|^2 / min d^2, in float up to all of |y|^2, as atoms are chosen down to d^2 = 1e-5 G_jj (1e-12 in double).
   X(name, whether the rule asks for d^2: that takes n values a signal and n operations a step; without a Gram matrix 2 n p).
   Each has a score under KERNELS, and a block in omp.cl. */
#define SHS_SELECTION_LIST(X)                                                                                          \
    X(OMP, 0) /* the largest |alpha|: orthogonal matching pursuit */                                                   \
    X(OLS, 1) /* the largest |alpha| / d: order-recursive matching pursuit, orthogonal least squares */
typedef enum shs_selection {
#define SHS__ENUM(name, distances) SHS_SELECT_##name,
    SHS_SELECTION_LIST(SHS__ENUM)
#undef SHS__ENUM
    SHS_SELECTION_COUNT
} shs_selection;

typedef struct shs_omp_options {
    uint32_t start_canary;
    int sparsity;                   /* atoms a signal at most, clamped to min(p, n); 0 = as many as fit, codes->stride too */
    shs_real tolerance;             /* stop at ||y - Dx|| <= tolerance (an L2 norm, in the unit of y); 0 = at sparsity only */
    const int *sparsity_each;       /* m limits, one a signal, in place of sparsity (0 = no atom); NULL = the same for all */
    const shs_real *tolerance_each; /* m tolerances in place of tolerance; NULL = the same for all */
    shs_gram_mode gram_mode;
    const shs_real *gram;           /* the caller's own D'D, n x n, full storage; NULL = formed when needed */
    int ldg;
    size_t signals_per_group;       /* m~: signals whose D'y is formed at a time; 0 = 128 (32 above n 1024), on a device as
                                       many as fill it; of a larger m~ as many as fit its memory. The codes are the same */
    shs_selection selection;        /* the rule that chooses atoms */
    int nonnegative;                /* non-zero: no coefficient is below 0, by OMP's rule alone; not for learning, where updates
                                       change signs (SHS_BAD_OPTIONS); no engine does it */
    /* Values that are missing, or count more or less: min sum_l v_l (y - Dx)_l^2, the tolerance of that sum's root, errors2
       that sum, the report's rmse sqrt(sum2 / sum of all v). Atoms are compared as if of unit norm in it, so their own lengths
       do not matter; one of which next to nothing counts is not chosen, and a signal of which nothing is has no atoms.
       What is missing, or has weight 0, may be NaN. Of shs_omp_ex alone (elsewhere SHS_BAD_OPTIONS), not with nonnegative, and
       no engine does it. Each signal has its own Gram matrix, so none is formed. */
    const unsigned char *mask; /* p x m: 0 = missing; NULL = none is */
    int ldm;
    const shs_real *weights; /* p x m: v >= 0, on top of the mask; NULL = 1 */
    int ldw;                 /* 0: all signals have those of the first column */
    int skip_nan;            /* non-zero: values that are NaN are missing */
    /* Groups of signals that share their atoms: group g is signals groups[g] .. groups[g+1] - 1, the last one up to m-1, each
       of at least one signal; groups[0] = 0. All signals of a group store all its atoms. The tolerance is of ||Y_g - DX_g||_F,
       the root of the sum of squares over a whole group, in the unit of y; of the arrays `..._each` the value of a group's
       first signal counts. Each thread codes a group at a time, and takes n values (p without a Gram matrix) for each signal
       of the largest. Of shs_omp_ex and shs_omp_gram alone (elsewhere SHS_BAD_OPTIONS), not with nonnegative coefficients or
       weighted values (SHS_BAD_OPTIONS); no engine does it. */
    const size_t *groups; /* group_count starts; NULL = no signals share any */
    size_t group_count;
    uint32_t end_canary;
} shs_omp_options;

typedef struct shs_omp_report {
    size_t nonzeros;      /* coefficients in all */
    size_t not_reached;   /* signals, or groups, that ended above their tolerance (limit reached, or dependent atoms) */
    shs_wide sum2;        /* ||Y - DX||_F^2 */
    shs_wide rmse;        /* ||Y - DX||_F / sqrt(p m) */
} shs_omp_report;

/* What zero becomes for these sizes, with codes that hold as many atoms. */
SHS_API shs_omp_options shs_omp_defaults(int p, int n);

/* Codes m signals (Y: p x m) with at most sparsity atoms each. codes: m or more signals, stride >= min(sparsity, p, n). */
SHS_API shs_status shs_omp(const shs_context *ctx, int p, int n, const shs_real *D, size_t m, const shs_real *Y,
                           int sparsity, shs_codes *codes);
/* The same with options, leading dimensions and a report (may be NULL); errors2 (m, may be NULL) gets ||y - Dx||^2 of each
   signal. Errors: dimensions, NULL, ldd or ldy < p, NaN or infinity in D or Y, negative limits, codes too small; the codes
   are then untouched. SHS_CANCELLED: signals not reached have used = 0. Takes n^2 (none without a Gram matrix) plus
   O(threads x n x s) values of scratch. */
SHS_API shs_status shs_omp_ex(const shs_context *ctx, int p, int n, const shs_real *D, int ldd, size_t m, const shs_real *Y,
                              int ldy, const shs_omp_options *options, shs_codes *codes, shs_real *errors2,
                              shs_omp_report *report);
/* Bytes of scratch that shs_omp_ex or, with p = 0, shs_omp_gram takes for these sizes; SIZE_MAX where they overflow. */
SHS_API size_t shs_omp_workspace(const shs_context *ctx, int p, int n, size_t m, int stride, const shs_omp_options *options);

/* Codes m signals of which only D'Y (n x m), the Gram matrix (options->gram) and, for a tolerance, ||y||^2 (norms2, m) are
   known. SHS_TOLERANCE_TOO_SMALL: a tolerance below 1e-2 |y| (1e-6 in double) cannot be decided without the signals.
   errors2 and report, as above, want norms2 too; the report's rmse, which takes the length of a signal, is 0. */
SHS_API shs_status shs_omp_gram(const shs_context *ctx, int n, size_t m, const shs_real *dty, int ldt, const shs_real *norms2,
                                const shs_omp_options *options, shs_codes *codes, shs_real *errors2, shs_omp_report *report);

/* One signal, for real-time and embedded use: no context, no heap, no threads. Of the options (NULL: all zero) sparsity,
   tolerance, selection and nonnegative count. atoms and coefs hold as many values as the sparsity, or n (min(p, n)) without
   one; *used of them are set. norm2 = ||y||^2 (read only with a tolerance). *error2 (may be NULL) gets ||y - Dx||^2. workspace:
   shs_omp_one_workspace bytes, any alignment. D'y (dty, n) comes from shs_gemv with SHS_TRANS_YES. */
SHS_API shs_status shs_omp_one(int n, const shs_real *gram, int ldg, const shs_real *dty, shs_real norm2,
                               const shs_omp_options *options, void *workspace, size_t workspace_size, int *atoms,
                               shs_real *coefs, int *used, shs_real *error2);
SHS_API size_t shs_omp_one_workspace(int n, const shs_omp_options *options);
/* The same without a Gram matrix (256 KB for 256 atoms in float): from the dictionary and the signal themselves. */
SHS_API shs_status shs_omp_one_direct(int p, int n, const shs_real *D, int ldd, const shs_real *y,
                                      const shs_omp_options *options, void *workspace, size_t workspace_size, int *atoms,
                                      shs_real *coefs, int *used, shs_real *error2);
SHS_API size_t shs_omp_one_direct_workspace(int p, int n, const shs_omp_options *options);

/* The naive twin: a pursuit of y (p) over D (p x n) as in a textbook, all sums in shs_wide: at most s atoms, until
   |y - Dx| <= tolerance. The rule of choice is score(alpha, G_jj, d^2), of which the largest wins; NULL: |alpha|, which is OMP.
   Returns how many: atoms[k] has the coefficient x[k]. Scratch: r (p, the residual in the end), Q (p x s), R (s x s). */
SHS_API int shs_omp_naive(int p, int n, const shs_real *D, const shs_real *y, int s, shs_wide tolerance,
                          shs_wide (*score)(shs_wide alpha, shs_wide gjj, shs_wide d2), int *atoms, shs_wide *x, shs_wide *r,
                          shs_wide *Q, shs_wide *R);
/* The same for m signals Y (p x m) that share their atoms: the largest sum of scores wins (NULL: of alpha^2), the tolerance is
   of ||Y - DX||_F, and atoms[k] has the coefficients X[k + i*s], i < m. Scratch: E (p x m, the residuals in the end), Q, R. */
SHS_API int shs_somp_naive(int p, int n, const shs_real *D, ptrdiff_t m, const shs_real *Y, int s, shs_wide tolerance,
                           shs_wide (*score)(shs_wide alpha, shs_wide gjj, shs_wide d2), int *atoms, shs_wide *X, shs_wide *E,
                           shs_wide *Q, shs_wide *R);
/* One signal with nonnegative coefficients, which are solved for one after another, again and again, until none changes. */
SHS_API int shs_nnomp_naive(int p, int n, const shs_real *D, const shs_real *y, int s, shs_wide tolerance, int *atoms,
                            shs_wide *x, shs_wide *r);

/* The lasso: for each signal y the x of

       min 1/2 ||y - Dx||^2 + lambda1 ||x||_1 + lambda2/2 ||x||^2

   (Tibshirani 1996; with lambda2 > 0 the elastic net, Zou, Hastie 2005), or the same under x >= 0, by coordinate descent on the
   Gram matrix (Friedman, Hastie, Tibshirani 2010): sweeps over all coefficients find the support, others stay on it, and on it
   all coefficients that are not 0 are solved for together, as far as none changes its sign, which takes the place of most
   sweeps where atoms are alike. What stops it is the duality gap, by which the objective is above its minimum at most. Before
   a gap is told it is formed anew from the coefficients as stored.

   A zero atom is not used, and of equal atoms any may share a coefficient. Once lambda1 is the largest |d_j'y| (d_j'y with
   x >= 0) no atom is used. With lambda1 = 0, least squares, the gap says little: it is all of the objective. */
typedef struct shs_lasso_options {
    uint32_t start_canary;
    shs_real lambda; /* lambda1 */
    const shs_real
        *lambdas;     /* several in place of it, a path: each starts from the solution before, so that they best descend */
    int lambda_count; /* 0 = lambda alone */
    int relative;     /* non-zero: lambda1 = that times the signal's own largest |d_j'y| (d_j'y with nonnegative) */
    shs_real lambda2;
    shs_real gap;         /* reached: duality gap <= gap * ||y||^2 / 2; 0 = 1e-5 (1e-10 in double) */
    int sweeps;           /* at most, for each lambda, those over the support alone included; 0 = 1000 */
    int nonnegative;      /* non-zero: x >= 0 */
    const shs_real *gram; /* the caller's own D'D, n x n, full storage; NULL = formed */
    int ldg;
    uint32_t end_canary;
} shs_lasso_options;

typedef struct shs_lasso_report {
    size_t nonzeros;
    size_t
        not_reached; /* signals whose gap is above what was asked for (sweeps used up, rounding, or cut), all lambdas counted */
    size_t cut;      /* of them those that had more coefficients than the codes' stride: the largest are kept */
    shs_wide objective; /* the sum of all */
    shs_wide gap;       /* the largest of gaps */
} shs_lasso_report;
/* Codes m signals (Y: p x m): with lambda number l those of signal i are code l m + i, atoms ascending, so codes hold m signals
   for each lambda. gaps (as many, may be NULL): the duality gap over ||y||^2 / 2. SHS_CANCELLED: signals not reached have
   used = 0. Engines do not do it: SHS_UNSUPPORTED, or the CPU as fallback. Takes n^2 (none with the caller's Gram matrix) plus
   O(threads x (128 n + 256^2)) values of scratch. */
SHS_API shs_status shs_lasso(const shs_context *ctx, int p, int n, const shs_real *D, int ldd, size_t m, const shs_real *Y,
                             int ldy, const shs_lasso_options *options, shs_codes *codes, shs_real *gaps,
                             shs_lasso_report *report);
/* The same by D'Y (n x m), ||y||^2 (norms2, m) and options->gram alone. */
SHS_API shs_status shs_lasso_gram(const shs_context *ctx, int n, size_t m, const shs_real *dty, int ldt, const shs_real *norms2,
                                  const shs_lasso_options *options, shs_codes *codes, shs_real *gaps, shs_lasso_report *report);
/* Bytes of scratch that shs_lasso or, with p = 0, shs_lasso_gram takes for these sizes; SIZE_MAX where they overflow. */
SHS_API size_t shs_lasso_workspace(const shs_context *ctx, int p, int n, size_t m, const shs_lasso_options *options);
/* The naive twin: sweeps of coordinate descent on one signal from x = 0. Out: x (n) and r = y - Dx (p). */
SHS_API void shs_lasso_naive(int p, int n, const shs_real *D, const shs_real *y, shs_wide lambda1, shs_wide lambda2,
                             int nonnegative, int sweeps, shs_wide *x, shs_wide *r);

/* ================================================================================================================== */
/* 7  DICTIONARY LEARNING                                                                                             */
/* ================================================================================================================== */

/* AK-SVD and PAK-SVD: alternate sparse coding of the signals Y (p x m) with an update of the atoms,

       minimise ||Y - DX||_F  subject to  ||x_i||_0 <= s (or ||y_i - Dx_i|| <= tolerance),  ||d_j|| = 1.

   Atoms are updated in groups of N~ (parallel_atoms). With E = Y - DX at the start of a group and I the signals that use
   atom j, each atom of the group becomes

       d_new = normalise(E_I x' + d_old |x|^2),   x_new = E_I' d_new + x (d_old' d_new),

   which is one power step on F = E_I + d_old x without ever forming F. Then E takes all of the group's changes at once.
   N~ = 1 is AK-SVD (Rubinstein, Zibulevsky, Elad 2008), N~ = n the fully parallel (Jacobi) variant, what lies between is
   PAK-SVD (Irofti, Dumitrescu 2014). SGK (Sahoo, Makur 2013, "Dictionary training for sparse representation as generalization
   of K-means clustering") keeps the codes, x_new = x, and its atom of least squares F x' / |x|^2, at unit norm as all atoms are
   here, is the d_new above. That saves a product an iteration; after 20 iterations on patches of photographs its error was
   within 1 % of AK-SVD's. The K-SVD of Aharon, Elad, Bruckstein 2006 takes the leading pair of singular vectors of F; here by
   as many power steps as it takes until d changes by no more than 1e-5 (1e-12 in double; 1,000 at most). A last group of fewer
   atoms is updated like any other. u `rounds` of updates follow each coding. The paper's best results: N~ <= 64, u = 1 for the
   first 50 iterations and 2 or more after that. NSGK (Sadeghi, Babaie-Zadeh, Jutten 2014) is SGK with the codes X' of the
   iteration before, F = E_I + d_old x', where E = Y - DX is of the new ones; a run that is resumed starts with X' = X. MOD
   (Engan, Aase, Husoy 1999) takes all atoms at once, D = Y X'(XX')^-1, at unit norm; N~ does not count. Where XX' is singular,
   an atom whose codes depend on those of atoms before it stays as it is, and the others fit the signals as well as all would.

   Regularised (mu; Dumitrescu, Irofti 2017): minimise ||Y - DX||^2 + mu ||X||^2. After coding, signals are solved again on the
   atoms they have, x = (D_I'D_I + mu I)^-1 D_I'y, and the codes that a rule makes anew are divided by 1 + mu.
   Incoherent (gamma): minimise ||Y - DX||^2 + gamma ||D'D - I||^2. A step on F F' becomes one on

       F F' + 2 gamma (sqrt(p) I - D~D~'),

   from d_old, where D~ are the newest atoms but the one (with it where N~ > 1, and by NSGK). IPR (Barchiesi, Plumbley 2013)
   decorrelates the atoms after the updates: `coherence_rounds` times |d_i'd_j| are cut down to `coherence` in D'D, what is left
   becomes a dictionary again by its p leading eigenpairs, rotated to where it fits the signals best. The codes stay.
   Beware of
   u >= 2 from the start with large dictionaries and groups (n 512, N~ >= 128): it raises the error. */

/* How atoms are updated. With F = E_I + d_old x, what the other atoms leave of the signals that use atom j, a rule says which
   sums it needs, what the new atom is, and whether the codes are made anew. One list gives the enumeration, the names, the
   rules of section 7 and the blocks of update.cl: X(value, name, 1 where the codes are made anew or 0 where they stay). */
#define SHS_UPDATE_LIST(X)                                                                                                     \
    X(SHS_UPDATE_AKSVD, aksvd, 1) /* d_new = normalise(F x'), x_new = F'd_new */                                               \
    X(SHS_UPDATE_SGK, sgk, 0)     /* the same d_new; x stays until the next coding */                                          \
    X(SHS_UPDATE_KSVD, ksvd, 1)   /* power steps d_new = normalise(F (F'd_new)) until it stands still, x_new = F'd_new */      \
    X(SHS_UPDATE_NSGK, nsgk, 0)   /* SGK with the codes of the iteration before */                                             \
    X(SHS_UPDATE_MOD, mod, 0)     /* all atoms at once: D + E X'(XX')^-1 at unit norm */
typedef enum shs_update {
#define SHS__ENUM(code, name, codes) code,
    SHS_UPDATE_LIST(SHS__ENUM)
#undef SHS__ENUM
    SHS_UPDATE_COUNT
} shs_update;
/* Its name, "aksvd"; NULL where it is none. */
SHS_API const char *shs_update_name(shs_update update);

typedef enum shs_start {
    SHS_START_SIGNALS = 0, /* random signals of Y, normalised; all-zero ones and copies are passed over, random atoms fill up */
    SHS_START_RANDOM = 1,  /* normal deviates */
    SHS_START_DCT = 2,     /* overcomplete DCT of the patch shape (patch_width x patch_height x patch_channels = p) */
    SHS_START_GIVEN = 3    /* what D holds on entry, normalised (as it is where first_iteration > 0): warm start and resume */
} shs_start;

typedef enum shs_replace {
    SHS_REPLACE_WORST = 0, /* an unused or pruned atom becomes the worst represented signal, each signal used once */
    SHS_REPLACE_LEAVE = 1,     /* it stays as it is, and nothing is pruned */
    SHS_REPLACE_RANDOM = 2     /* it becomes a random direction */
} shs_replace;

typedef enum shs_keep {
    SHS_KEEP_BEST = 0, /* return the dictionary of the lowest error (with a tolerance: of the fewest coefficients) */
    SHS_KEEP_LAST = 1      /* return the one after the last update */
} shs_keep;

/* One step of a schedule: from iteration `from` on (counted from 0) the value is `value`. */
typedef struct shs_step {
    int from, value;
} shs_step;

/* What one iteration did. */
typedef struct shs_ksvd_record {
    shs_wide rmse_coding; /* ||Y - DX||_F / sqrt(p m) after coding, before the update */
    shs_wide rmse_update; /* the same after the update with the updated X; -1 unless one of rmse_after_... was asked for */
    shs_wide mean_atoms;  /* coefficients a signal */
    int atoms_used;       /* atoms that any signal uses */
    int replaced;         /* unused atoms replaced */
    int pruned;           /* near-duplicates and rarely used atoms replaced */
    shs_wide rmse_test;   /* as rmse_coding, of the signals in `test` of all ranks, coded on the CPU; -1 where there are none */
} shs_ksvd_record;

typedef struct shs_ksvd_options {
    uint32_t start_canary;
    int iterations;                 /* K; 0 = 10 */
    shs_omp_options coding;         /* sparsity (0 = max(1, p/10) without a tolerance), tolerance, limits a signal, m~ */
    shs_update update;              /* the rule */
    int parallel_atoms;             /* N~; 0 = 1: AK-SVD; n or more: fully parallel */
    int rounds;                     /* u; 0 = 1 */
    const shs_step *parallel_atoms_schedule; /* overrides parallel_atoms from its first step on; NULL = constant */
    int parallel_atoms_steps;
    const shs_step *rounds_schedule;         /* overrides rounds likewise, such as { {0, 1}, {50, 2} } */
    int rounds_steps;
    shs_start start;
    int patch_width, patch_height, patch_channels; /* for SHS_START_DCT; 0 = square, one channel */
    uint64_t seed;
    int first_iteration;            /* to resume: iterations done before; with SHS_START_GIVEN, 5 + 5 equal 10 */
    shs_replace replace;
    shs_real prune_coherence;       /* replace one of two atoms with |d_i'd_j| above this; 0 = 0.99; 1 or more = never */
    int prune_uses; /* replace atoms of fewer uses; 0 = 4 (less where m s / n < 16); negative = unused ones only */
    shs_keep keep;
    int rmse_after_update;          /* non-zero: fill rmse_update, at the price of one residual an iteration */
    int rmse_after_rounds;          /* non-zero: and the report's round_history, at the price of one a round */
    shs_wide stop_improvement;      /* stop when the best error improved by less than this fraction ... */
    int stop_patience;              /* ... in this many iterations; 0 = run all */
    shs_real regularisation;        /* mu */
    shs_real regularisation_decay;  /* mu is multiplied by this after each iteration, in (0, 1]; 0 = 1 */
    int regularised_iterations;     /* mu is 0 from this iteration on; 0 = in none */
    shs_real incoherence;           /* gamma; not with MOD */
    shs_real coherence;             /* IPR: the largest |d_i'd_j| to reach, below 1; 0 = no IPR */
    int coherence_rounds;           /* 0 = 5 */
    const shs_real *test;           /* p x test_m: signals that are not learnt from, for rmse_test; NULL = none */
    size_t test_m;
    int test_ld; /* 0 = p */
    uint32_t end_canary;
} shs_ksvd_options;

/* Zeroed first, and given the arrays that are to be filled. */
typedef struct shs_ksvd_report {
    uint32_t start_canary;
    int iterations;           /* iterations done */
    int best_iteration;       /* how many updates (of this call) the returned dictionary has seen */
    shs_wide rmse;            /* of the returned dictionary, after coding */
    shs_wide mean_atoms;      /* likewise */
    shs_ksvd_record *history; /* one record an iteration; NULL = not wanted */
    size_t *usage_history;    /* n x iterations: uses of each atom by all signals; NULL = not wanted */
    shs_wide *round_history;  /* round_stride x iterations: rmse_update after each round; -1 for those that were not done */
    int round_stride;         /* rounds an iteration that it holds; of more the first */
    const shs_real
        *dictionary; /* while it is learnt, for progress_fn: the atoms (p x n, close together) whose error it is told */
    uint32_t end_canary;
} shs_ksvd_report;

/* What zero becomes for these sizes, m signals over all ranks: the same dictionary, to the last bit. */
SHS_API shs_ksvd_options shs_ksvd_defaults(int p, int n, size_t m);

/* Learns n atoms (D: p x n, output) from m signals with defaults: AK-SVD from random signals. */
SHS_API shs_status shs_ksvd(const shs_context *ctx, int p, int n, size_t m, const shs_real *Y, int sparsity, int iterations,
                            shs_real *D);
/* The same with options. D is p x n (in and out); codes (may be NULL) gets the codes of the returned D; report may be NULL.
   What is learnt does not depend on them. With a sparsity the codes must hold as many atoms a signal; without one they may
   hold fewer than are learnt with, and get the best that fits in them. Errors leave D untouched; SHS_REDUCE_FAILED,
   SHS_PEER_FAILED and those of an engine may come midway, and leave codes without atoms. SHS_CANCELLED leaves the best
   dictionary so far in D (the start if none was coded yet), the report and the history filled as far as it went, and codes
   without atoms.
   Over ranks an iteration takes, of N~ atoms at a time, n/N~ reductions a round and two more, of some n (p + 3) values in all;
   with K-SVD two for each further power step of a group; another for each error after an update, three for each atom that the
   worst signal replaces. */
SHS_API shs_status shs_ksvd_ex(const shs_context *ctx, int p, int n, size_t m, const shs_real *Y, int ldy,
                               const shs_ksvd_options *options, shs_real *D, int ldd, shs_codes *codes,
                               shs_ksvd_report *report);
SHS_API size_t shs_ksvd_workspace(const shs_context *ctx, int p, int n, size_t m, const shs_ksvd_options *options);
/* A rule in naive form: updates one atom d (p) and its codes x (one every `step` values) of F (p x m) = Y without what the
   other atoms make of the m signals, zero where a signal does not use the atom. */
typedef void (*shs_update_fn)(int p, ptrdiff_t m, const shs_wide *F, shs_wide *x, int step, shs_wide *d);
/* The naive twin, one iteration: OMP of Y (p x m) with s atoms, then u `rounds` of updates of D (p x n, unit columns, in and
   out) in groups of N~ atoms by a rule: shs_aksvd_naive with N~ = 1 is AK-SVD, n or more the fully parallel form. X (n x m,
   dense) gets the updated codes. Scratch: E, F (p x m), d (p) and what shs_omp_naive takes. */
SHS_API void shs_ksvd_naive(shs_update_fn update, int p, int n, shs_real *D, ptrdiff_t m, const shs_real *Y, int s, int group,
                            int rounds, shs_wide *X, shs_wide *E, shs_wide *F, shs_wide *d, int *atoms, shs_wide *x,
                            shs_wide *r, shs_wide *Q, shs_wide *R);
/* The rules' naive twins. */
SHS_API void shs_aksvd_naive(int p, ptrdiff_t m, const shs_wide *F, shs_wide *x, int step, shs_wide *d);
SHS_API void shs_sgk_naive(int p, ptrdiff_t m, const shs_wide *F, shs_wide *x, int step, shs_wide *d);
/* MOD, all atoms: D (p x n) of Y (p x m) and X (n x m) by the normal equations, whose matrix A (n x n) must be regular. */
SHS_API void shs_mod_naive(int p, int n, shs_real *D, ptrdiff_t m, const shs_real *Y, const shs_wide *X, shs_wide *A,
                           shs_wide *B);
SHS_API void shs_exact_ksvd_naive(int p, ptrdiff_t m, const shs_wide *F, shs_wide *x, int step, shs_wide *d);

/* Online learning (Mairal, Bach, Ponce, Sapiro 2010; here with OMP's codes): a batch of signals after the other is coded and
   forgotten, so what is learnt from need not fit in memory, and may be seen once. What it leaves are two sums,

       A = f A + X X' (n x n),   B = f B + Y X' (p x n),

   with the forgetting factor f, and sweeps of block coordinate descent on ||Y - DX||^2 of all batches, in which A and B stand
   for the signals: with a_j, b_j the columns of A, B, one atom after another and each from the newest of the others,

       d_j = normalise(d_j + (b_j - D a_j) / A_jj).

   An atom of which next to nothing is left in A (A_jj below 1e-12 of the largest; 1e-6 without doubles) stays as it is. */

/* Delivers the next signals: up to `most` of p values each, close together, into Y, and in *count how many; 0 = there are no
   more, and it is not called again. A non-zero return is SHS_READ_FAILED. */
typedef int (*shs_signals_fn)(void *user, int p, size_t most, shs_real *Y, size_t *count);

/* The signals of a matrix in random order, as often as there are epochs, in another order each time: for
   shs_shuffled_signals, whose user pointer it is. */
typedef struct shs_signals {
    size_t m;
    const shs_real *Y; /* p x m */
    int ldy;           /* 0 = p */
    size_t epochs;     /* 0 = 1 */
    uint64_t seed;
    uint64_t delivered; /* begins at 0 */
} shs_signals;
SHS_API int shs_shuffled_signals(void *user, int p, size_t most, shs_real *Y, size_t *count);

/* What one batch did. Errors are of the dictionary before it: the batch has not been learnt from yet. */
typedef struct shs_online_record {
    size_t signals;       /* of all ranks */
    shs_wide rmse;        /* ||Y - DX||_F / sqrt(p m) of the batch, after coding */
    shs_wide mean_atoms;  /* coefficients a signal */
    shs_wide rmse_test;   /* as rmse, of the signals in `test` of all ranks; -1 where there are none, or it is not their turn */
    int atoms_used;       /* atoms that a signal of the batch uses */
    int replaced, pruned; /* after the batch: unused atoms, and near-duplicates */
} shs_online_record;

typedef struct shs_online_options {
    uint32_t start_canary;
    shs_omp_options coding; /* as for shs_ksvd_ex, and nonnegative; nothing that is given for each signal */
    size_t batch;           /* signals a batch of this rank at most; 0 = 512 */
    size_t batches;         /* at most; 0 = until no rank has signals left */
    shs_wide forgetting;    /* f, in (0, 1]; 0 = 1: nothing is forgotten */
    int sweeps;             /* a batch; 0 = 1 */
    shs_start start;        /* SHS_START_SIGNALS: of the first batch; of fewer than n, random atoms fill up */
    int patch_width, patch_height, patch_channels; /* for SHS_START_DCT, as for shs_ksvd_ex */
    uint64_t seed;
    shs_wide start_weight;    /* w: A = w I, B = w D at the start, which holds atoms near it for a while */
    size_t first_batch;       /* to resume: batches done before; with SHS_START_GIVEN and the report's sums, 5 + 5 equal 10 */
    shs_replace replace;      /* what unused atoms and near-duplicates become; the worst signal is one of the batch */
    shs_real prune_coherence; /* as for shs_ksvd_ex */
    size_t replace_every;     /* after how many signals unused atoms are looked for, which none of these uses; 0 = 100 n / s */
    const shs_real *test;     /* p x test_m: signals that are not learnt from; NULL = none */
    size_t test_m;
    int test_ld;       /* 0 = p */
    size_t test_every; /* their error is taken before batch 0, this, twice this ...; 0 = 1 */
    uint32_t end_canary;
} shs_online_options;

/* Zeroed first, and given the arrays that are to be filled. */
typedef struct shs_online_report {
    uint32_t start_canary;
    size_t batches, signals;    /* done, of all ranks */
    shs_wide rmse_test;         /* of the returned dictionary; -1 without a test set */
    shs_online_record *history; /* one record a batch, the first history_most of this call; NULL = not wanted */
    size_t history_most;
    shs_wide *sums_xx; /* A (n x n) and B (p x n); where first_batch > 0 read first, so there they must be given, the same on */
    shs_wide *sums_yx; /* all ranks. NULL = not wanted */
    const shs_real *dictionary; /* while it is learnt, for progress_fn: the atoms (p x n, close together) after the batch */
    uint32_t end_canary;
} shs_online_report;

/* What zero becomes for these sizes: the same dictionary, to the last bit. */
SHS_API shs_online_options shs_online_defaults(int p, int n);
/* Learns n atoms (D: p x n, output) from m signals with defaults, in random order, `epochs` times (0 = once). */
SHS_API shs_status shs_online(const shs_context *ctx, int p, int n, size_t m, const shs_real *Y, int sparsity, size_t epochs,
                              shs_real *D);
/* Learns from what read_fn delivers. D is p x n (in and out); options and report may be NULL. progress_fn is told the error of
   the batch; its steps are the batches, of which as many are ahead as are known to be. SHS_CANCELLED leaves the newest
   dictionary, the sums and the report as far as it went; errors leave D, the report and its sums untouched, whenever they
   come, but not the history, which is filled as it goes.
   On an engine the codes are computed; sums and sweeps are the CPU's.
   Over ranks each passes its own signals, and of those without any read_fn delivers 0. A batch takes one reduction of n^2 +
   (p + 1) n values; replacement more, as for shs_ksvd_ex. */
SHS_API shs_status shs_online_ex(const shs_context *ctx, int p, int n, shs_signals_fn read_fn, void *user,
                                 const shs_online_options *options, shs_real *D, int ldd, shs_online_report *report);
SHS_API size_t shs_online_workspace(const shs_context *ctx, int p, int n, const shs_online_options *options);
/* The naive twin, one batch: OMP of Y (p x m) with s atoms, the sums A (n x n) and B (p x n), one sweep over D. Scratch as for
   shs_omp_naive. */
SHS_API void shs_online_naive(int p, int n, shs_real *D, ptrdiff_t m, const shs_real *Y, int s, shs_wide forgetting,
                              shs_wide *A, shs_wide *B, int *atoms, shs_wide *x, shs_wide *r, shs_wide *Q, shs_wide *R);

/* Start dictionaries by themselves: unit-norm atoms, D is p x n. */
SHS_API shs_status shs_dictionary_random(int p, int n, shs_real *D, int ldd, uint64_t seed);
/* Overcomplete DCT: products of ceil(sqrt(n/channels))-point cosines along x and y, the constant part removed from all but
   the first; the n with the lowest frequencies. Patch layout as in section 8. */
SHS_API shs_status shs_dictionary_dct(int width, int height, int channels, int n, shs_real *D, int ldd);
/* The largest |d_i'd_j| / (|d_i||d_j|), i != j, into *mu; 0 for one atom. */
SHS_API shs_status shs_dictionary_coherence(const shs_context *ctx, int p, int n, const shs_real *D, int ldd, shs_wide *mu);

/* ================================================================================================================== */
/* 8  PATCHES                                                                                                         */
/* ================================================================================================================== */

/* An image in the caller's memory: rows from the top, pixels from the left, channels interleaved, as image files come.
   SHS_TYPE_U8, SHS_TYPE_F32 (SHS_TYPE_F64 unless SPARSEHS_NO_DOUBLE) or SHS_TYPE_REAL. */
typedef struct shs_image {
    const void *pixels;
    shs_type type;
    int width, height, channels; /* channels 0 = 1 */
    size_t row_stride;           /* values from one row to the next; 0 = width x channels */
} shs_image;

typedef enum shs_patch_mode {
    SHS_PATCH_MODE_GRID = 0, /* every step-th position both ways; the last row and column of positions are always among them */
    SHS_PATCH_MODE_DISTINCT = 1, /* side by side without overlap; what is left over at the right and bottom is not covered */
    SHS_PATCH_MODE_RANDOM = 2    /* `count` positions, seeded, none twice (all of them when count is larger) */
} shs_patch_mode;

/* A set of patches, numbered row by row of positions. A patch is a signal of p = width x height x channels values: channel
   after channel, in each row after row. */
typedef struct shs_patches {
    uint32_t start_canary;
    int width, height;   /* of a patch; 0 = 8 */
    shs_patch_mode mode;
    int step_x, step_y;  /* SHS_PATCH_MODE_GRID: 0 = 1, that is all patches */
    size_t count;        /* SHS_PATCH_MODE_RANDOM */
    uint64_t seed;       /* SHS_PATCH_MODE_RANDOM */
    int keep_mean;       /* non-zero: do not remove the mean of each channel */
    int unit_norm;       /* non-zero: scale to unit norm (a zero patch stays zero) */
    uint32_t end_canary;
} shs_patches;

/* The number of patches in the set; *p (may be NULL) gets their length. Both 0 where image and set do not fit each other. */
SHS_API size_t shs_patches_count(const shs_image *image, const shs_patches *set, int *p);
/* Left column and top row of one patch. */
SHS_API shs_status shs_patches_position(const shs_image *image, const shs_patches *set, size_t index, int *x, int *y);
/* Patches first .. first+count-1 into the columns of Y (p x count). means (channels x count) and norms (count) get what was
   taken out; each may be NULL. */
SHS_API shs_status shs_patches_get(const shs_context *ctx, const shs_image *image, const shs_patches *set, size_t first,
                                   size_t count, shs_real *Y, int ldy, shs_real *means, shs_real *norms);
/* The way back: adds patches Z (p x count), times norms, plus means (either may be NULL), to sum and one for each covered
   pixel to weight. sum: width x height x channels, weight: width x height, both zeroed by the caller before the first
   call. image gives the geometry only; its pixels are not read. The result does not depend on threads. */
SHS_API shs_status shs_patches_put(const shs_context *ctx, const shs_image *image, const shs_patches *set, size_t first,
                                   size_t count, const shs_real *Z, int ldz, const shs_real *means, const shs_real *norms,
                                   shs_real *sum, shs_real *weight);
/* The weighted average of the patches and the image itself, out = (lambda image + sum) / (lambda + weight); a pixel that
   nothing covers keeps the image's value. out: width x height x channels, may be sum. */
SHS_API shs_status shs_patches_average(const shs_context *ctx, const shs_image *image, shs_real lambda, const shs_real *sum,
                                       const shs_real *weight, shs_real *out);

/* Codes every patch of the set over D and puts the approximations back, block by block, so that no codes of the whole image
   are ever stored: the second half of K-SVD denoising (Elad, Aharon 2006; tolerance = C sigma sqrt(p), lambda = 30/sigma)
   and of compression and super-resolution schemes. coding: as for shs_omp_ex; its limits apply to patches with the mean
   removed, and its arrays `..._each` are indexed by patch. out: width x height x channels, untouched on failure; report may be
   NULL. */
SHS_API shs_status shs_patches_approximate(const shs_context *ctx, const shs_image *image, const shs_patches *set, int n,
                                           const shs_real *D, int ldd, const shs_omp_options *coding, shs_real lambda,
                                           shs_real *out, shs_omp_report *report);
SHS_API size_t shs_patches_approximate_workspace(const shs_context *ctx, const shs_image *image, const shs_patches *set, int n,
                                     const shs_omp_options *coding);

/* How much white Gaussian noise an image has, from the image alone (Liu, Tanaka, Okutomi 2013). Noise adds sigma^2 to every
   eigenvalue of the covariance of 7 x 7 patches, and patches of little texture have nothing else in most directions:

       sigma^2 = smallest eigenvalue of the covariance of the patches x with |D_h x|^2 + |D_v x|^2 < tau sigma^2,

   solved by iteration from all patches on. D_h and D_v are central differences; noise alone stays below the threshold but
   once in a million times. Of several channels: the root of the mean of their sigma^2. */
typedef struct shs_noise {
    shs_wide sigma;
    size_t patches; /* of little texture, in the channel that has fewest */
    int guess; /* non-zero: too few such patches, or texture in a quarter of all directions and more: sigma is likely less */
} shs_noise;

/* Errors: SHS_BAD_IMAGE, SHS_IMAGE_NOT_FINITE, SHS_BAD_PATCHES (the image is smaller than a patch), SHS_BAD_OUTPUT,
   SHS_NO_MEMORY; noise is then untouched. Memory: one channel in shs_real and some 200 KB. */
SHS_API shs_status shs_noise_sigma(const shs_context *ctx, const shs_image *image, shs_noise *noise);

/* ================================================================================================================== */
/* 9  CUBES AND STREAMING                                                                                             */
/* ================================================================================================================== */

/* BSQ: band after band, each line by line. BIL: in each line band after band. BIP: in each pixel band after band. */
typedef enum shs_interleave {
    SHS_INTERLEAVE_BSQ = 0,
    SHS_INTERLEAVE_BIL = 1,
    SHS_INTERLEAVE_BIP = 2,
    SHS_INTERLEAVE_COUNT = 3
} shs_interleave;

/* An image cube: a view of the caller's pixels, or a stream of blocks of lines. It is read in its own type, never copied
   as a whole. A pixel is left out of every statistic when the mask says so or any band in use is missing: the no-data value,
   or for floating types NaN, infinity, or what a shs_real cannot hold (1e300 in a float build, with products in shs_wide too).
   In outputs such a pixel gets the no-data value in every band. `lines` may be 0, without pixels or a read_fn, as some ranks
   may have none: then sums stay as they are and nothing is written. */
typedef struct shs_cube {
    uint32_t start_canary;
    const void *pixels;
    shs_type type;
    int samples, lines, bands;
    shs_interleave interleave;
    ptrdiff_t sample_stride, line_stride, band_stride; /* in values; all 0 = as interleave says */
    int swap_bytes;            /* non-zero: the values are in the other byte order */
    const int *band_list;      /* the bands in use, in this order; NULL = all */
    int band_count;            /* of band_list */
    const unsigned char *mask; /* lines x samples, 0 = leave out; NULL = use all */
    int has_nodata;
    shs_wide nodata;

    /* A stream: pixels is NULL, and read_fn fills block with `lines` whole lines from first_line on, as a cube of that many
       lines in this type, interleave and byte order (strides must be 0). A non-zero return ends the call with
       SHS_READ_FAILED. Lines are asked for in ascending order, once for each pass over the data; a pass that
       an engine gives up is begun again. */
    int (*read_fn)(void *user, int first_line, int lines, void *block);
    void *read_user;
    int block_lines;           /* lines a block; 0 = about 16 MB */
    /* The stream's mask, block by block: fills marks (lines x samples, 0 = leave out) for the lines that read_fn filled just
       before; shs_rx_classes also asks for marks alone. NULL = mask. Not with pixels, nor beside mask. */
    int (*mask_fn)(void *user, int first_line, int lines, unsigned char *marks);
    void *mask_user;
    uint32_t end_canary;
} shs_cube;

/* Where an output cube goes: memory (lines x samples x outputs values, contiguous as interleave says) or a stream of blocks. */
typedef struct shs_sink {
    uint32_t start_canary;
    void *pixels;
    shs_type type;             /* integer types: rounded to nearest, half away from zero, and clamped to their range */
    shs_interleave interleave;
    int has_nodata;            /* what missing pixels get; otherwise the cube's own no-data value, NaN, or 0 in integers */
    shs_wide nodata;
    int rescale;               /* non-zero: stretch each output to [low, high] as GRASS's i.pca does; constant: low */
    shs_wide low, high;
    int (*write_fn)(void *user, int first_line, int lines, const void *block); /* for pixels NULL; non-zero: SHS_WRITE_FAILED */
    void *write_user;
    uint32_t end_canary;
} shs_sink;

/* In which type products of pixels are summed. AUTO: in double (8 and 16-bit pixels are multiplied as integers where that is
   exact), except on a device that has no double. ALWAYS: in double, or SHS_UNSUPPORTED. NEVER: in shs_real, which is up to
   twice as fast for pixels that are no small integers and for maps of many outputs: covariances err by 1e-6 of the largest
   element for few pixels and 1e-8 for many, outputs by 1e-7 of the largest values. With SPARSEHS_DOUBLE or
   SPARSEHS_NO_DOUBLE there is one type and nothing to choose. */
typedef enum shs_precision { SHS_PRECISION_AUTO = 0, SHS_PRECISION_ALWAYS = 1, SHS_PRECISION_NEVER = 2 } shs_precision;

/* The number of bands in use; 0 for a cube that does not hold together. */
SHS_API int shs_cube_bands(const shs_cube *cube);

/* Sums of pixels, from which mean and covariance come: they add up over blocks, slices, threads, ranks. All sums are of
   x - shift, so that a large offset costs no accuracy; the shift is the mean of the first few hundred pixels (128 for 8-bit
   pixels, whose sums are exact). */
typedef struct shs_moments {
    int bands;
    shs_wide count;     /* pixels */
    shs_wide *shift;    /* bands */
    shs_wide *sum;      /* bands: sum of x - shift */
    shs_wide *products; /* bands x bands, lower triangle: sum of (x - shift)(x - shift)' */
    void *block;
} shs_moments;

SHS_API shs_status shs_moments_create(const shs_context *ctx, int bands, shs_moments *moments);
SHS_API void shs_moments_free(const shs_context *ctx, shs_moments *moments);
/* Adds the pixels of a cube with moments->bands bands in use. On failure the moments are as before. */
SHS_API shs_status shs_moments_update(const shs_context *ctx, const shs_cube *cube, shs_precision precise,
                                      shs_moments *moments);
SHS_API size_t shs_moments_update_workspace(const shs_context *ctx, const shs_cube *cube, shs_precision precise);
/* Adds the moments of other pixels of the same bands. */
SHS_API shs_status shs_moments_merge(shs_moments *into, const shs_moments *from);
/* Adds up over the ranks of the context. */
SHS_API shs_status shs_moments_reduce(const shs_context *ctx, shs_moments *moments);
/* What sums over n pixels are divided by. */
typedef enum shs_divisor { SHS_DIVISOR_N = 0, SHS_DIVISOR_N_LESS_1 = 1 } shs_divisor;
/* mean (bands) and covariance (bands x bands, both triangles; may be NULL). SHS_NO_PIXELS: too few. */
SHS_API shs_status shs_moments_finish(const shs_moments *moments, shs_divisor divisor, shs_wide *mean, shs_wide *covariance,
                                      int ldc);
/* The naive twin: mean (n) and covariance (n x n, divided by m) of the m columns of X (n x m). */
SHS_API void shs_moments_naive(int n, ptrdiff_t m, const shs_wide *X, shs_wide *mean, shs_wide *covariance);

/* An affine map of pixels: output = matrix (x - centre) + offset. Everything below that makes a new cube is one. */
typedef struct shs_pixel_map {
    int bands, outputs;
    const shs_wide *matrix; /* outputs x bands, column-major */
    const shs_wide *centre; /* bands; NULL = 0 */
    const shs_wide *offset; /* outputs; NULL = 0 */
} shs_pixel_map;

/* Maps every pixel of the cube into the sink (two passes when it rescales). A failure or cancellation midway leaves the output
   incomplete and says so by its status. */
SHS_API shs_status shs_cube_map(const shs_context *ctx, const shs_cube *cube, const shs_pixel_map *map, shs_precision precise,
                                const shs_sink *sink);
SHS_API size_t shs_cube_map_workspace(const shs_context *ctx, const shs_cube *cube, const shs_pixel_map *map,
                                      shs_precision precise, const shs_sink *sink);

/* ================================================================================================================== */
/* 10  PRINCIPAL COMPONENTS                                                                                           */
/* ================================================================================================================== */

/* The neighbour that a pixel is compared with for its noise, right, below or both; or the mean of these three covariances. */
typedef enum shs_neighbours {
    SHS_NEIGHBOURS_RIGHT = 0,
    SHS_NEIGHBOURS_LOWER = 1,
    SHS_NEIGHBOURS_DIAGONAL = 2,
    SHS_NEIGHBOURS_MEAN = 3
} shs_neighbours;

/* Components of the covariance C (or correlation) of the pixels: C v_k = lambda_k v_k, lambda_1 >= lambda_2 >= ...; the
   k-th component of a pixel is v_k'(x - mean). Signs are fixed: the entry of largest magnitude of each v is positive. */
typedef struct shs_pca_options {
    uint32_t start_canary;
    int components;               /* k; 0 = by the rules below, or all bands */
    shs_wide variance;            /* as many as explain this fraction of the variance; 0 = rule not used */
    shs_wide eigenvalue_at_least; /* only those with an eigenvalue of at least this; 0 = rule not used */
    int correlation;              /* non-zero: every band is divided by its standard deviation first */
    shs_divisor divisor;          /* of the covariance: n or n - 1 */
    shs_precision precise;
    shs_neighbours neighbours; /* shs_mnf_fit: whose differences are noise */
    int noise_residual;        /* non-zero: of these, what the bands on both sides do not predict (shs_mnf_fit) */
    const shs_wide *noise;     /* shs_mnf_fit: the noise covariance (bands x bands), if it is known; NULL: estimated */
    int ldn;                   /* of noise; 0 = bands */
    int skip;                  /* RX: so many of the first components, which hold the background, are left out */
    uint32_t end_canary;
} shs_pca_options;

/* The result; shs_pca_free frees it. */
typedef struct shs_pca {
    int bands, components;
    shs_wide count;            /* pixels */
    shs_wide total_variance;   /* the sum of all eigenvalues */
    shs_wide *mean;            /* bands */
    shs_wide *scale;           /* bands: what a band is divided by; 1 for covariance */
    shs_wide *eigenvalues;     /* bands where all were computed (eigenvalue_count), descending */
    int eigenvalue_count;
    shs_wide *vectors;         /* bands x components */
    shs_wide *forward;         /* components x bands: component = forward (x - mean) */
    shs_wide *backward;        /* bands x components: x = backward component + mean */
    shs_wide *noise;           /* MNF: the noise covariance that it is of, bands x bands; otherwise NULL */
    shs_precision precise;
    void *block;
} shs_pca;

/* Memory of all that fits and of RX, the result's included: no more than the scratch of shs_moments_update, of shs_eigh for all
   pairs and of shs_cube_map to all bands together.
   Statuses besides those of the cube: SHS_NO_PIXELS (on no rank one is valid; or one, divided by n - 1), SHS_BAD_COMPONENTS
   (more than bands), SHS_ZERO_VARIANCE (a constant band under correlation). */
SHS_API shs_status shs_pca_fit(const shs_context *ctx, const shs_cube *cube, const shs_pca_options *options, shs_pca *pca);
/* The same from moments. */
SHS_API shs_status shs_pca_from_moments(const shs_context *ctx, const shs_moments *moments, const shs_pca_options *options,
                                        shs_pca *pca);
/* Minimum noise fraction (Green et al. 1988): components ordered by signal to noise, the eigenvalues of the covariance in
   coordinates in which the noise is white. The noise covariance is half that of the differences of neighbours; a difference
   counts where both pixels are valid, and in the lines of one rank. eigenvalue = 1 + signal to noise ratio, so that
   eigenvalue_at_least = 1 + r keeps components of at least the ratio r. Always precise.
   Differences of neighbours hold some of the scene, too: edges and slopes. Most of that is in all bands alike. So with
   noise_residual each band's difference is predicted by those of the bands on both sides (least squares over all differences),
   and the residuals' variances are the noise, as of Roger and Arnold 1996; noise is then independent from band to band: its
   covariance is diagonal.
   SHS_RANK_TOO_LOW: more components than the noise has dimensions. SHS_BAD_LDN. */
SHS_API shs_status shs_mnf_fit(const shs_context *ctx, const shs_cube *cube, const shs_pca_options *options, shs_pca *mnf);
/* The same with the caller's noise covariance (bands x bands). */
SHS_API shs_status shs_mnf_from_noise(const shs_context *ctx, const shs_moments *moments, const shs_wide *noise, int ldn,
                                      const shs_pca_options *options, shs_pca *mnf);
SHS_API void shs_pca_free(const shs_context *ctx, shs_pca *pca);

/* Fit and transform in one call, so that the cube goes to an engine once: components of every pixel into the sink. pca and mnf
   may be NULL. */
SHS_API shs_status shs_pca_run(const shs_context *ctx, const shs_cube *cube, const shs_pca_options *options,
                               const shs_sink *sink, shs_pca *pca);
SHS_API shs_status shs_mnf_run(const shs_context *ctx, const shs_cube *cube, const shs_pca_options *options,
                               const shs_sink *sink, shs_pca *mnf);
/* The components of every pixel: a cube of pca->components bands. */
SHS_API shs_status shs_pca_transform(const shs_context *ctx, const shs_pca *pca, const shs_cube *cube, const shs_sink *sink);
/* The pixels rebuilt from their first `components` components (0 = all kept): noise reduction, in one pass. */
SHS_API shs_status shs_pca_denoise(const shs_context *ctx, const shs_pca *pca, int components, const shs_cube *cube,
                                   const shs_sink *sink);
/* The way back: a cube of components (bands = pca->components) into one of pca->bands bands. */
SHS_API shs_status shs_pca_inverse(const shs_context *ctx, const shs_pca *pca, const shs_cube *components,
                                   const shs_sink *sink);

/* Reed-Xiaoli anomaly score: the squared length of a pixel in whitened coordinates, (x - mean)' C^-1 (x - mean), in the space
   of the components above rounding (or of `components` of them, behind the first `skip`). One output. options may be NULL; rank
   (may be NULL) gets the number of components used. SHS_RANK_TOO_LOW: fewer are above rounding than are asked for. */
SHS_API shs_status shs_rx(const shs_context *ctx, const shs_cube *cube, const shs_pca_options *options, const shs_sink *sink,
                          int *rank);
/* In two steps: rx gets the components used, with mean and variances, and then scores pixels of any cube. */
SHS_API shs_status shs_rx_fit(const shs_context *ctx, const shs_cube *cube, const shs_pca_options *options, shs_pca *rx);
SHS_API shs_status shs_rx_transform(const shs_context *ctx, const shs_pca *rx, const shs_cube *cube, const shs_sink *sink);
/* Each pixel by the mean and covariance of its own class: labels (lines x samples, in memory) are 0 to classes - 1, others
   count as missing. ranks (classes, may be NULL) gets the number of components of each class; 0: it has no pixels,
   or all alike, and they are missing in the output. An engine fits; scores are the CPU's. */
SHS_API shs_status shs_rx_classes(const shs_context *ctx, const shs_cube *cube, const int *labels, int classes,
                                  const shs_pca_options *options, const shs_sink *sink, int *ranks);
/* Local RX: each pixel by the mean and covariance of its own background, the valid pixels around it: those of a window of
   outer x outer pixels less those of one of inner x inner, both centred on the pixel. At an edge of the image a window is moved
   until it lies within the image, and cut where the image is smaller. The output is missing where the pixel is missing, and
   where its background has no covariance of full rank: where it has no more valid pixels than bands, or bands that depend on
   others; a ridge mends both. A pixel takes about 2 bands^2 (inner + outer) operations for the sums, which slide along a line,
   and bands^3 / 3 for a Cholesky factor: more than 30 times shs_rx for most cubes. Streams are read once, in order (twice
   with rescale), and outer + 7 lines of them are kept as shs_wide. Over ranks windows end with the lines of a rank: as if they
   were an image. Scores are the CPU's: SHS_UNSUPPORTED on an engine without fallback.
   SHS_BAD_WINDOW: negative or even, or inner is not smaller than outer. */
typedef struct shs_rx_local_options {
    int inner, outer;    /* in pixels, odd; 0 = 5 and 25 */
    shs_divisor divisor; /* of the covariance */
    shs_wide ridge;      /* the covariance gets this share of its mean variance (trace / bands) added to the diagonal */
} shs_rx_local_options;
SHS_API shs_status shs_rx_local(const shs_context *ctx, const shs_cube *cube, const shs_rx_local_options *options,
                                const shs_sink *sink);

/* The naive twins, for the m columns of X (n x m). Components: component k of a pixel is vectors[.,k]'(x - mean), values (n)
   descending, vectors (n x n) of any sign; C (n x n) is scratch. Noise fraction: the pixels are lines of `samples`; L (n x n)
   and d (n x m) are scratch. Noise covariance N (n x n): of the differences to the pixel `right` and `down` of each; mean
   (n) and d (n x m) are scratch; and the residual's, from them. Anomaly scores (m): L (n x n) and u (n) are scratch. */
SHS_API void shs_pca_naive(int n, ptrdiff_t m, const shs_wide *X, shs_wide *mean, shs_wide *values, shs_wide *vectors,
                           shs_wide *C);
SHS_API void shs_mnf_naive(int n, ptrdiff_t lines, ptrdiff_t samples, const shs_wide *X, shs_wide *mean, shs_wide *values,
                           shs_wide *vectors, shs_wide *C, shs_wide *L, shs_wide *d);
SHS_API ptrdiff_t shs_noise_naive(int n, ptrdiff_t lines, ptrdiff_t samples, const shs_wide *X, int right, int down,
                                  shs_wide *mean, shs_wide *N, shs_wide *d);
SHS_API void shs_noise_residual_naive(int n, ptrdiff_t pairs, const shs_wide *d, const shs_wide *mean, shs_wide *N);
SHS_API void shs_rx_naive(int n, ptrdiff_t m, const shs_wide *X, shs_wide *scores, shs_wide *mean, shs_wide *L, shs_wide *u);
/* Class by class; Y (n x m) and own (m) are scratch, for the pixels of a class and their scores. */
SHS_API void shs_rx_classes_naive(int n, ptrdiff_t m, const shs_wide *X, const int *labels, int classes, shs_wide *scores,
                                  shs_wide *mean, shs_wide *L, shs_wide *u, shs_wide *Y, shs_wide *own);
/* Window by window; C (n x n) is scratch. */
SHS_API void shs_rx_local_naive(int n, ptrdiff_t lines, ptrdiff_t samples, const shs_wide *X, int inner, int outer,
                                shs_wide *scores, shs_wide *mean, shs_wide *C, shs_wide *u);

/* ================================================================================================================== */
/* 11  INDEPENDENT COMPONENTS                                                                                         */
/* ================================================================================================================== */

/* FastICA by negentropy (Hyvarinen 1999; for image cubes Fang, Zhou, Zhang, Shen 2015). Pixels are whitened, z = V (x - mean)
   with V = Lambda^-1/2 E' of the first m principal components; each unit vector w is a fixed point of

       w <- E[z g(w'z)] - E[g'(w'z)] w,  w <- w / |w|,   source = w'z,

   one after another, each kept orthogonal to those before (deflation), or all at once, W <- (W W')^-1/2 W (symmetric).
   With g(y) = y^3 the expectation is the fourth moment tensor of z contracted with w three times: two products with the
   Gram matrix of all z_a z_b (a <= b). After one pass over the pixels an iteration costs m^4 operations whatever the size of
   the image (Meng, Geng, Yang 2019 publish the idea as a cokurtosis tensor); it is the same iteration as the sweep over
   the pixels, to rounding. */
/* One list gives the enumeration, the names and the kernels' cases; g and g' of each stand under KERNELS, and in sweep.cl. In
   this list and those of the rules above a new row comes last, so that the others keep their numbers. */
#define SHS_CONTRAST_LIST(X)                                                                                           \
    X(SHS_CONTRAST_POW3, pow3)   /* g = y^3: the fourth moments */                                                     \
    X(SHS_CONTRAST_TANH, tanh)   /* tanh y */                                                                          \
    X(SHS_CONTRAST_GAUSS, gauss) /* y exp(-y^2/2) */                                                                   \
    X(SHS_CONTRAST_SKEW, skew)   /* y^2: skewed sources, and no others */
typedef enum shs_contrast {
#define SHS__ENUM(code, name) code,
    SHS_CONTRAST_LIST(SHS__ENUM)
#undef SHS__ENUM
    SHS_CONTRAST_COUNT
} shs_contrast;
/* Its name, "tanh"; NULL where it is none. */
SHS_API const char *shs_contrast_name(shs_contrast contrast);
typedef enum shs_ica_approach { SHS_APPROACH_DEFLATION = 0, SHS_APPROACH_SYMMETRIC = 1 } shs_ica_approach;
typedef enum shs_ica_route { SHS_ROUTE_AUTO = 0, SHS_ROUTE_MOMENTS = 1, SHS_ROUTE_SWEEP = 2 } shs_ica_route;
typedef enum shs_ica_order { SHS_ORDER_KURTOSIS = 0, SHS_ORDER_NEGENTROPY = 1, SHS_ORDER_EXTRACTION = 2 } shs_ica_order;

typedef struct shs_ica_options {
    uint32_t start_canary;
    int components;               /* m; 0 = by eigenvalue_at_least, or all above rounding */
    shs_wide eigenvalue_at_least; /* the threshold T of the paper: keep principal components with at least this eigenvalue */
    shs_contrast contrast;
    shs_ica_approach approach;
    shs_ica_route route;          /* how y^3 is iterated: by cost, by fourth moments, by sweeps over the pixels */
    int iterations;               /* at most, for one component or all; 0 = 200 */
    shs_wide tolerance;           /* of 1 - |cos(w, its plain step)|; 0 = 1e-8 (1e-6 in NO_DOUBLE); negative = run all
                                     iterations, the paper's convention */
    int plain_steps;              /* non-zero: every step is the plain one; 0 = shortened where it overshoots, lengthened
                                     where it creeps, which changes no fixed point */
    int restarts;                 /* fresh random starts for a component that did not converge; 0 = 3; negative = none */
    int random_start;             /* non-zero: start from seeded random vectors; 0 = from the identity */
    const shs_wide *start;        /* m x m, a start vector a column; NULL = as above */
    uint64_t seed;
    shs_ica_order order;          /* of the components in the result */
    shs_divisor divisor;          /* as for PCA, */
    shs_precision precise;        /* and this: whitened pixels are shs_real all the same */
    uint32_t end_canary;
} shs_ica_options;

/* What became of one component. */
typedef struct shs_ica_component {
    int iterations;         /* of its last start (deflation), or of all (symmetric) */
    int restarts;
    int converged;          /* change is at most the tolerance */
    shs_wide change;        /* 1 - |cos| between w as returned and one plain step from it */
    shs_wide kurtosis;      /* excess kurtosis of the source, E y^4 - 3 */
    shs_wide negentropy;    /* its approximation (E G(y) - E G(normal))^2 with G = log cosh */
    int extraction;         /* its place in the order of extraction */
} shs_ica_component;

typedef struct shs_ica {
    int bands, components;
    shs_wide count;
    shs_wide *mean;        /* bands */
    shs_wide *eigenvalues; /* components: those of the principal components */
    shs_wide *whitening;   /* components x bands: z = whitening (x - mean) */
    shs_wide *rotation;    /* components x components: a column a w */
    shs_wide *unmixing;    /* components x bands: source = unmixing (x - mean), unit variance */
    shs_wide *mixing;      /* bands x components: x = mixing source + mean, in the space of the components */
    shs_ica_component *component; /* components */
    int converged;         /* all of them */
    int used_moments;      /* the fourth-moment route was taken */
    shs_precision precise;
    void *block;
} shs_ica;

/* Signs are fixed: the entry of largest magnitude of each row of unmixing is positive. The same seed gives the same bits for
   every number of threads. SHS_RANK_TOO_LOW: more components than the pixels have dimensions. Not converging is no error:
   it is said in component[].converged, which speaks of the rotation as returned: one plain step from it, made orthogonal as
   above, turns that component by 1 - |cos| of no more than the tolerance. The sums of the float build are of single
   precision, with `precise` too, and know a turn to about 1e-10: below that a tolerance says only that its own sums rest. */
/* Memory: that of a fit of principal components, for pixels that are whitened 2 m (pixels + 8192 x threads) shs_real, of which
   those of the pixels are left out above 256 MB and where the cube is a stream, and for the fourth moments
   (threads + 2) (m (m + 1) / 2)^2 shs_wide. */
SHS_API shs_status shs_ica_fit(const shs_context *ctx, const shs_cube *cube, const shs_ica_options *options, shs_ica *ica);
SHS_API void shs_ica_free(const shs_context *ctx, shs_ica *ica);
/* Fit and transform in one call: sources of every pixel into the sink. ica may be NULL. */
SHS_API shs_status shs_ica_run(const shs_context *ctx, const shs_cube *cube, const shs_ica_options *options,
                               const shs_sink *sink, shs_ica *ica);
/* The sources of every pixel, and the way back from sources to pixels. */
SHS_API shs_status shs_ica_transform(const shs_context *ctx, const shs_ica *ica, const shs_cube *cube, const shs_sink *sink);
SHS_API shs_status shs_ica_inverse(const shs_context *ctx, const shs_ica *ica, const shs_cube *sources, const shs_sink *sink);

/* g(y) and g'(y) of a contrast. */
typedef void (*shs_contrast_fn)(shs_wide y, shs_wide *g, shs_wide *slope);
/* The naive twin: plain FastICA steps on n white pixels Z (m x n), from and into the orthonormal columns of W (m x m): all
   columns at once, or (deflation) one after another. Scratch: S, G (m x m). */
SHS_API void shs_ica_naive(shs_contrast_fn contrast, int symmetric, int m, ptrdiff_t n, const shs_wide *Z, int iterations,
                           shs_wide *W, shs_wide *S, shs_wide *G);

/* ================================================================================================================== */
/* 12  MODELS                                                                                                         */
/* ================================================================================================================== */

/* What was fitted, kept in a file and used again elsewhere. The file is the same for every machine and precision; numpy reads
   and writes one in a few lines. Integers are little-endian and unsigned, f64 is IEEE 754 in the same order, and matrices go
   column by column as in the structs. With n bands, k components, e eigenvalues:

        0  8 bytes  SHSmodel                  32  f64       count: pixels
        8  u32      version: 1, or 2          40  f64       total variance (ICA: 0)
       12  u32      shs_model_kind            48  12 bytes  zero
       16  u32      n                         60  u32       CRC-32 of bytes 0 to 59, that of zip and PNG
       20  u32      k                         64  f64       the arrays below
       24  u32      e (ICA: k)                 .  u32       CRC-32 of the arrays
       28  u32      flags: 1 = wavelengths are there; ICA: 2 = all converged, 4 = by fourth moments; and 256 x precise

       PCA, MNF:  mean (n), scale (n), eigenvalues (e), vectors (n x k), backward (n x k)
       MNF:       in version 2 the noise covariance (n x n)
       RX:        as PCA, of the components that scores are of, in version 2
       ICA:       mean (n), eigenvalues (k), whitening (k x n), rotation (k x k), unmixing (k x n), mixing (n x k)
       all:       wavelengths (n), where they are there
       ICA:       seven of each component: iterations, restarts, converged, change, kurtosis, negentropy, extraction */
typedef enum shs_model_kind { SHS_MODEL_PCA = 0, SHS_MODEL_MNF = 1, SHS_MODEL_ICA = 2, SHS_MODEL_RX = 3 } shs_model_kind;

typedef struct shs_model {
    shs_model_kind kind;
    shs_pca pca;           /* of PCA, MNF and RX */
    shs_ica ica;           /* of ICA */
    shs_wide *wavelengths; /* bands, in whatever unit the caller has; NULL: none */
    void *block;           /* of a model that was loaded: all arrays are in it, and shs_model_free frees it */
} shs_model;

/* Calls write_fn with one piece of the file after another. Errors: SHS_BAD_MODEL, before anything is written;
   SHS_WRITE_FAILED: write_fn returned non-zero. */
SHS_API shs_status shs_model_save(const shs_model *model, int (*write_fn)(void *user, const void *bytes, size_t count),
                                  void *user);
/* Calls read_fn, which fetches exactly `count` bytes or returns non-zero, for one piece after another, and for none behind the
   end of the model. Errors: SHS_FOREIGN_MODEL, SHS_NEWER_MODEL, SHS_DAMAGED_MODEL; SHS_READ_FAILED, also where the file ends
   early; SHS_NO_MEMORY. Each rank loads its own. */
SHS_API shs_status shs_model_load(const shs_context *ctx, int (*read_fn)(void *user, void *bytes, size_t count), void *user,
                                  shs_model *model);
SHS_API void shs_model_free(const shs_context *ctx, shs_model *model);

/* ================================================================================================================== */
/* 13  SPECTRA: targets, endmembers, abundances                                                                       */
/* ================================================================================================================== */
/* 14  FILES: matrices and codes as numpy's .npy                                                                      */
/* ================================================================================================================== */

/* What the header of a .npy file says. All zero but for the shape: shs_real, little-endian, row by row. As numpy's a[i, j] is
   A(i, j) here, a dictionary (p x n) is an array of shape (p, n) whichever order its file has. A column-major matrix lies in
   the order of fortran_order, so that nothing is rearranged; the same bytes are also its transpose, (n, p) row by row, as
   scikit-learn has signals and atoms: swap rows and columns and negate fortran_order. */
typedef struct shs_npy {
    char kind;         /* 'f', 'i' or 'u'; 0: shs_real */
    int size;          /* bytes of one number: 1, 2, 4 or 8, of 'f' not 1 */
    int big_endian;    /* the file's, not the machine's */
    int fortran_order; /* column by column; otherwise row by row */
    int dimensions;    /* 0 or 2: (rows, columns); 1: (rows,), where columns is 1 */
    uint64_t rows, columns;
} shs_npy;

/* Writes the header, 128 bytes of format 1.0; the numbers follow. Errors: SHS_BAD_NPY, before anything is written;
   SHS_WRITE_FAILED. */
SHS_API shs_status shs_npy_write_header(const shs_npy *npy, int (*write_fn)(void *user, const void *bytes, size_t count),
                                        void *user);
/* Writes the numbers of A (rows x columns, column-major) in the order of npy, whose kind and size are those of `type`. */
SHS_API shs_status shs_npy_write_values(const shs_npy *npy, shs_type type, const void *A, size_t lda,
                                        int (*write_fn)(void *user, const void *bytes, size_t count), void *user);
/* Both: A as an array of shape (p, n), column by column. */
SHS_API shs_status shs_npy_save(int p, size_t n, const shs_real *A, int lda,
                                int (*write_fn)(void *user, const void *bytes, size_t count), void *user);

/* Reads the header of versions 1.0 to 3.0, and nothing behind it; a single number, (), is (1,), and bool is 'u' of one byte.
   Errors, which leave *npy as it was: SHS_FOREIGN_NPY; SHS_UNSUPPORTED_NPY: three dimensions, complex numbers, text, records,
   a later version; SHS_DAMAGED_NPY; SHS_READ_FAILED, also where the file ends early. */
SHS_API shs_status shs_npy_read_header(shs_npy *npy, int (*read_fn)(void *user, void *bytes, size_t count), void *user);
/* Reads the numbers of a header into A (rows x columns, column-major whatever their order): as SHS_TYPE_REAL, _F32 or _F64,
   rounded where they must be, NaN and infinity too; or integers as SHS_TYPE_I32 (SHS_DAMAGED_NPY: one does not fit). Whether
   the file is as long as its header says shows while it is read: SHS_READ_FAILED. A is then partly overwritten. */
SHS_API shs_status shs_npy_read_values(const shs_npy *npy, shs_type type, void *A, size_t lda,
                                       int (*read_fn)(void *user, void *bytes, size_t count), void *user);

/* Codes are three files, each with a user pointer of its own: used, shape (m,), atoms and coefs, (m, stride), row by row; row i
   has used[i] atoms. Errors of loading also: SHS_DAMAGED_NPY: the shapes do not fit each other, an atom is not one of n, or a
   coefficient is not finite. */
SHS_API shs_status shs_npy_save_codes(const shs_codes *codes, int (*write_fn)(void *user, const void *bytes, size_t count),
                                      void *used, void *atoms, void *coefs);
SHS_API shs_status shs_npy_load_codes(const shs_context *ctx, int n, int (*read_fn)(void *user, void *bytes, size_t count),
                                      void *used, void *atoms, void *coefs, shs_codes *codes);

/* ================================================================================================================== */

/* How much of a known spectrum, the target t, is in each pixel x. With the pixels' mean m, their covariance C, and R, the mean
   of x x':

       MF    (t-m)'C^-1(x-m) / (t-m)'C^-1(t-m)           the matched filter (Reed, Mallett, Brennan 1974)
       CEM   t'R^-1 x / t'R^-1 t                         constrained energy minimization (Harsanyi 1993)
       ACE   ((t-m)'C^-1(x-m))^2 / ((t-m)'C^-1(t-m) (x-m)'C^-1(x-m))    adaptive cosine estimator (Kraut, Scharf 1999): the
                                                         squared cosine between x and t in whitened coordinates
       SAM   arccos(t'x / |t||x|)                        spectral angle mapper, in radians (Kruse et al. 1993)
       OSP   t'P x / t'P t, P = I - U(U'U)^-1 U'         orthogonal subspace projection of the undesired spectra, the columns
                                                         of U (Harsanyi, Chang 1994), scaled so that the target scores 1

   The target itself scores 1, and 0 in SAM, in which alone a low score is a find. MF, CEM and OSP are affine in x. To ACE and
   SAM a pixel without a direction (the mean, or zero) is orthogonal to every target. */
#define SHS_DETECTOR_LIST(X)                                                                                                   \
    X(SHS_DETECTOR_MF, mf)                                                                                                     \
    X(SHS_DETECTOR_CEM, cem)                                                                                                   \
    X(SHS_DETECTOR_ACE, ace)                                                                                                   \
    X(SHS_DETECTOR_SAM, sam)                                                                                                   \
    X(SHS_DETECTOR_OSP, osp)
typedef enum shs_detector {
#define SHS__ENUM(code, name) code,
    SHS_DETECTOR_LIST(SHS__ENUM)
#undef SHS__ENUM
        SHS_DETECTOR_COUNT
} shs_detector;
/* Its name, "ace"; NULL where it is none. */
SHS_API const char *shs_detector_name(shs_detector method);

typedef struct shs_detect_options {
    uint32_t start_canary;
    shs_detector method;
    const shs_moments *background; /* whose mean, C and R count; NULL: those of the pixels of the cube, over all ranks */
    shs_wide ridge;            /* C or R gets this share of its mean variance (trace / bands) added to the diagonal; 0 = none */
    const shs_wide *undesired; /* OSP: bands x undesired_count */
    int undesired_count;       /* fewer than bands */
    uint32_t end_canary;
} shs_detect_options;

/* The scores of every pixel for each of `targets` spectra (bands x targets, in units of the pixels): a cube of so many bands.
   options may be NULL: MF. Moments and maps are precise, as in RX. To use statistics again, or of other pixels, give them as
   background; a mean and a covariance from elsewhere are moments of count 1 with shift = mean, sum = 0, products = covariance.
   Statuses besides those of the cube: SHS_BAD_TARGETS; SHS_LOST_TARGET; SHS_BAD_UNDESIRED; SHS_SINGULAR_COVARIANCE: the
   variance of a band, given those behind it, is rounding (1e-12 of its own or less); SHS_BAD_MOMENTS: as many bands differ. */
SHS_API shs_status shs_detect(const shs_context *ctx, const shs_cube *cube, int targets, const shs_wide *spectra, int lds,
                              const shs_detect_options *options, const shs_sink *sink);

/* The naive twin: scores (m) of the columns of X (n x m) for the target t (n); U (n x u, u < n, linearly independent) is OSP's.
   Scratch: mean, w, v (n), A (n x n). */
SHS_API void shs_detect_naive(shs_detector method, int n, ptrdiff_t m, const shs_wide *X, const shs_wide *t, int u,
                              const shs_wide *U, shs_wide *scores, shs_wide *mean, shs_wide *w, shs_wide *v, shs_wide *A);

/* Pixels as mixtures, x = E a + noise: the columns of E are the endmembers, spectra of pure materials, and the abundances a say
   how much of each a pixel holds. Least squares, min |x - E a|, under one of these constraints: */
typedef enum shs_constraint {
    SHS_CONSTRAINT_NONE = 0,        /* an affine map */
    SHS_CONSTRAINT_NONNEGATIVE = 1, /* a >= 0: NNLS (Lawson, Hanson 1974; Bro, de Jong 1997) */
    SHS_CONSTRAINT_SUM = 2,         /* the sum of a is 1: an affine map */
    SHS_CONSTRAINT_FULL = 3         /* both: FCLS (Heinz, Chang 2001) */
} shs_constraint;

/* The abundances of every pixel: a cube of `count` bands. endmembers: bands x count, linearly independent, in units of the
   pixels. The constrained minima are exact, by active sets: with the gradient g = E'(E a - x) it holds to rounding that

       NONNEGATIVE   a_j > 0 and g_j = 0,       or  a_j = 0 and g_j >= 0
       FULL          a_j > 0 and g_j = lambda,  or  a_j = 0 and g_j >= lambda,  and the sum of a is 1.

   Everything is precise. On an engine NONNEGATIVE and FULL take `count` shs_wide a pixel of memory, elsewhere none. Statuses
   besides those of the cube: SHS_BAD_ENDMEMBERS, SHS_DEPENDENT_ENDMEMBERS, SHS_BAD_OPTIONS (no such constraint). */
SHS_API shs_status shs_unmix(const shs_context *ctx, const shs_cube *cube, int count, const shs_wide *endmembers, int lde,
                             shs_constraint constraint, const shs_sink *sink);
/* The naive twin, by the definition: of all sets of endmembers, whose abundances solve a linear system, the one that is allowed
   and nearest. A (c x m) for the columns of X (n x m); K ((c + 1) x (c + 2)) is scratch; it takes 2^c steps a pixel. */
SHS_API void shs_unmix_naive(shs_constraint constraint, int n, int c, const shs_wide *E, ptrdiff_t m, const shs_wide *X,
                             shs_wide *A, shs_wide *K);

/* Endmembers from the pixels themselves, each a pixel of the cube.

       VCA      vertex component analysis (Nascimento, Dias 2005): the pixel farthest along a random direction orthogonal to
                those chosen before, in the pixels' subspace (projected onto a plane where noise is low)
       NFINDR   the simplex of largest volume (Winter 1999): from VCA's choice, one endmember after another is replaced by
                the pixel that makes the volume largest, until no replacement makes it larger
       ATGP     automatic target generation (Ren, Chang 2003): the brightest pixel, then each time the one with the most light
                outside the space of those chosen before */
#define SHS_EXTRACTOR_LIST(X)                                                                                                  \
    X(SHS_EXTRACTOR_VCA, vca)                                                                                                  \
    X(SHS_EXTRACTOR_NFINDR, nfindr)                                                                                            \
    X(SHS_EXTRACTOR_ATGP, atgp)
typedef enum shs_extractor {
#define SHS__ENUM(code, name) code,
    SHS_EXTRACTOR_LIST(SHS__ENUM)
#undef SHS__ENUM
        SHS_EXTRACTOR_COUNT
} shs_extractor;
/* Its name, "vca"; NULL where it is none. */
SHS_API const char *shs_extractor_name(shs_extractor method);

typedef struct shs_endmember_options {
    uint32_t start_canary;
    shs_extractor method;
    int count;     /* of endmembers: 2 (ATGP: 1) to as many as bands */
    uint64_t seed; /* of VCA's directions; N-FINDR begins there */
    uint32_t end_canary;
} shs_endmember_options;

/* The result; shs_endmembers_free frees it. */
typedef struct shs_endmembers {
    int bands, count;
    shs_wide *spectra; /* bands x count: values of the pixels as they are */
    size_t *pixel;     /* count: which pixels, line after line; */
    int *rank;         /* count: of which rank's cube */
    void *block;
} shs_endmembers;

/* Of equal pixels the first is chosen. VCA and N-FINDR read the pixels twice and keep `count` shs_wide of each in memory; ATGP
   reads them `count` times and keeps two. The line of each chosen pixel is read once more, by itself. Statuses besides those
   of the cube: SHS_BAD_OPTIONS, SHS_BAD_COMPONENTS (count), SHS_NO_PIXELS, SHS_RANK_TOO_LOW (more than the pixels have
   dimensions). */
SHS_API shs_status shs_endmembers_find(const shs_context *ctx, const shs_cube *cube, const shs_endmember_options *options,
                                       shs_endmembers *result);
SHS_API void shs_endmembers_free(const shs_context *ctx, shs_endmembers *endmembers);

/* The naive twins: pixel[p] of the columns of X (n x m). Scratch: n (2 n + 2) + p (m + p + 1) values; of ATGP n m. */
SHS_API void shs_vca_naive(int n, ptrdiff_t m, const shs_wide *X, int p, uint64_t seed, ptrdiff_t *pixel, shs_wide *room);
SHS_API void shs_nfindr_naive(int n, ptrdiff_t m, const shs_wide *X, int p, uint64_t seed, ptrdiff_t *pixel, shs_wide *room);
SHS_API void shs_atgp_naive(int n, ptrdiff_t m, const shs_wide *X, int p, ptrdiff_t *pixel, shs_wide *room);

/* ------------------------------------------------------------------------------------------------------------------ */
/* ENGINES                                                                                                            */
/* ------------------------------------------------------------------------------------------------------------------ */

/* The drivers above are written once; their stages run on the CPU, or on the engine that ctx->engine names. A signals
   session keeps the signals, their codes and their residuals where they are computed. Stages return sums over the signals
   of this rank, never means, so that they can be added up. You need not read on unless you write an engine. */
typedef struct shs_signals_job {
    int version; /* 0, as in shs_engine */
    int p, n;
    size_t m;
    const shs_real *Y; /* p x m, stays valid while the session is open */
    int ldy;
    int stride;                    /* atoms a signal at most */
    const shs_omp_options *coding; /* stays valid; sparsity and sparsity_each have been checked against stride */
    int learning;                  /* non-zero: residual, gather and update will be asked for */
} shs_signals_job;

/* A group of atoms that are updated together. signals_gather fills sums and energy, the driver adds them up over the ranks and
   makes atoms of them, signals_update takes these over. What `update` needs decides what energy holds: |x|^2 of each atom
   (count), or x z', for all rules so far. A rule for signals with missing values will ask for that of each row of each atom. */
typedef struct shs_atom_group {
    int version;       /* 0 */
    shs_update update; /* the rule; SHS_UNSUPPORTED where the engine does not know it */
    int first, count;  /* atoms first .. first+count-1 */
    shs_wide *sums;    /* p x count: E_I x', or E_I z' */
    shs_wide *energy;
    shs_real *atoms;   /* p x count: the new ones */
    int want_codes;    /* the codes are used again: x_new = E_I'd_new + x (d_old'd_new), or x where the rule keeps the codes */
    int want_residual; /* E is used again */
    int power; /* 0: sums of x. Otherwise of z = F'd for the d in `atoms`, and energy gets x z' */
    shs_wide *gram;            /* n x n: gets XX', lower triangle by rows; NULL: not asked for */
    const unsigned char *done; /* count: atoms that nothing is asked for any more; NULL: none */
} shs_atom_group;

/* C = alpha op(A) op(B) + beta C, all in the caller's memory. Sizes have been checked; m, n, k are positive, alpha is not 0. */
typedef struct shs_product_job {
    int version;   /* 0 */
    int symmetric; /* B is A and op(B) the transpose of op(A): only the triangle `uplo` of C is read and written */
    shs_uplo uplo;
    shs_trans transa, transb;
    int m, n, k;
    shs_real alpha, beta; /* beta = 0: C is not read */
    const shs_real *A, *B;
    shs_real *C; /* untouched where the engine cannot, or has too little memory */
    int lda, ldb, ldc;
} shs_product_job;

/* A round of updates: all atoms, in groups of N~. */
typedef struct shs_atom_round {
    int version;       /* 0 */
    shs_update update; /* the rule; SHS_UNSUPPORTED where the engine does not know it */
    int group;         /* N~ */
    int want_codes;    /* the codes are used after the round */
    shs_real *D;       /* p x n: the dictionary before; gets the new one */
} shs_atom_round;

/* A stage may answer SHS_UNSUPPORTED or SHS_NO_MEMORY if it has left the session as it was, and so does one whose entry is NULL
   (SHS_UNSUPPORTED). A session that lacks what its job needs is not opened: of signals all but residual, gather and update,
   which learning asks for; of pixels pixels_close; and whitening, sweep and rate come together or not at all. */
typedef struct shs_engine {
    int version; /* 0; a later header that adds entries gives numbers, so that it knows which a table has */
    void *user;
    int fallback; /* non-zero: such a stage is then the CPU's; 0: the answer is the call's status */
    shs_status (*signals_open)(void *user, const shs_context *ctx, const shs_signals_job *job, void **session);
    /* Takes over a copy of the dictionary (p x n). */
    shs_status (*signals_dictionary)(void *session, const shs_real *D, int ldd);
    /* Codes all signals; SHS_SIGNALS_NOT_FINITE where one is not: the caller does not check. errors2 (m) and usage (n) may be
       NULL; sum2, nonzeros and not_reached of the report are filled. */
    shs_status (*signals_code)(void *session, shs_real *errors2, size_t *usage, shs_omp_report *report);
    /* E = Y - DX, kept in the session; the sum of its squares. */
    shs_status (*signals_residual)(void *session, shs_wide *sum2);
    /* The sums of a group of atoms. */
    shs_status (*signals_gather)(void *session, const shs_atom_group *group);
    /* Replaces the atoms of the group, and brings up to date what is wanted of codes and E. */
    shs_status (*signals_update)(void *session, const shs_atom_group *group);
    /* Copies the codes to the caller's arrays, whose stride may be larger; slots from used[i] on become zero. */
    shs_status (*signals_fetch)(void *session, shs_codes *codes);
    void (*signals_close)(void *session);

    /* A pixels session: opened on a cube, which stays valid, or on a stream, which is read again for every pass that cannot be
       served from what is kept. n = bands in use; sums are overwritten, of this rank's valid pixels. */
    shs_status (*pixels_open)(void *user, const shs_context *ctx, const shs_cube *cube, void **session);
    /* sums: count, n of x - shift, n x n products (lower triangle). shift (n): used as it is where `known`, else chosen. */
    shs_status (*pixels_moments)(void *session, int precise, int known, shs_real *shift, shs_wide *sums);
    /* The differences of right neighbours: sums: pairs, n sums, n x n products (lower triangle). */
    shs_status (*pixels_noise)(void *session, shs_wide *sums);
    /* Extremes of every output of the map (or, with squares, of the squared length of the mapped pixel). */
    shs_status (*pixels_range)(void *session, const shs_pixel_map *map, int precise, int squares, shs_wide *low,
                               shs_wide *high);
    /* The outputs into the sink, stretched from [low, high] where it rescales; `missing` is what missing pixels get. */
    shs_status (*pixels_map)(void *session, const shs_pixel_map *map, int precise, int squares, const shs_sink *sink,
                             const shs_wide *low, const shs_wide *high, shs_wide missing);
    /* Whitens for what follows. sums: count and, with fourth, the Gram matrix of all z_a z_b, a <= b, b outermost (lower
       triangle). */
    shs_status (*pixels_whiten)(void *session, const shs_pixel_map *whitening, int fourth, shs_wide *sums);
    /* For c directions W (m x c): count, c sums of g'(w'z), m x c sums of z g(w'z). */
    shs_status (*pixels_sweep)(void *session, shs_contrast contrast, int c, const shs_wide *W, shs_wide *sums);
    /* For the m sources W'z: count, m sums of y^4, m of log cosh y. */
    shs_status (*pixels_rate)(void *session, const shs_wide *W, shs_wide *sums);
    void (*pixels_close)(void *session);

    /* shs_gemm and shs_syrk: no session. */
    shs_status (*product)(void *user, const shs_context *ctx, const shs_product_job *job);

    /* A whole round of updates at once, as of residual, and of gather, the rule and update of one group after the other. It is
       asked for where nobody need look at the sums of a group: NULL, SHS_UNSUPPORTED and SHS_NO_MEMORY bring back the single
       stages, and so do ranks, which add up those sums. */
    shs_status (*signals_round)(void *session, const shs_atom_round *round);
} shs_engine;

/* An engine made of engines: several devices of one machine, or a device and processors beside it. The signals of a session are
   divided among the parts by their shares, each part has a session of its own over its signals, and sums are added in the order
   of the parts, so that results do not depend on which part is faster. Cubes and products go to the first part alone.
   Each stage is a parallel loop of the context over the parts: with one thread they take turns. A part's own loops run on its
   worker; OpenMP gives each its share of the threads where OMP_MAX_ACTIVE_LEVELS is 2 or more. The allocator is called by
   several parts at a time only if their stages call it; coding has no progress, and is not cancelled, but learning is, between
   its iterations. What one part cannot do the split cannot: an update that others have done already is SHS_ENGINE_FAILED. */
enum { SHS_SPLIT_MOST = 16 };
typedef struct shs_split {
    shs_engine engine; /* what ctx->engine points to; valid as long as this struct is, at this place */
    int count;
    const shs_engine *parts[SHS_SPLIT_MOST];
    shs_wide shares[SHS_SPLIT_MOST];
    /* Where it is set, by the caller, the first coding is timed in seconds of it, and later sessions are divided by the signals
       a second of each part: to be used by one call at a time until then. Sums then depend on it as they do on shares. */
    shs_wide (*clock_fn)(void);
} shs_split;

/* Of `count` engines, which must outlive it, none twice; NULL among them is a processor, which may be there several times.
   shares: in what proportion signals are divided, 0 = none; NULL = evenly. More parts than signals are fine.
   Errors: SHS_BAD_SPLIT, SHS_BAD_OUTPUT. */
SHS_API shs_status shs_engine_split(const shs_engine *const *engines, int count, const shs_wide *shares, shs_split *split);

#ifdef __cplusplus
}
#endif
#endif /* SPARSEHS_H */

/* The API above, or of the file that was included in place of this one, belongs to what follows. */
#if SPARSEHS_VERSION_MAJOR != 0 || SPARSEHS_VERSION_MINOR != 1 || SPARSEHS_VERSION_PATCH != 0
#error "sparsehs: two versions of sparsehs.h meet in one file; for the one that includes itself see SPARSEHS_FILE"
#endif
#ifdef SPARSEHS_AGAIN
#define SHS__FOUND
#endif

/* ################################################################################################################## */
/* IMPLEMENTATION. Stop now, if you are only interested in the API.                                                   */
/* ################################################################################################################## */

#if defined(SPARSEHS_IMPLEMENTATION) || defined(__INTELLISENSE__) || defined(__CLANGD__)
#ifndef SPARSEHS_IMPLEMENTATION_ONCE
#define SPARSEHS_IMPLEMENTATION_ONCE

/* GLOSSARY: words that have one meaning below.
     batch     patches that are coded and put back together
     block     in sections 4 to 6 a rectangle of a matrix, in section 9 the lines of a cube that are in memory at a time; as a
               member of a result the memory that one request got
     chunk     what one call of a parallel loop's body does; it depends on the sizes alone, so that sums do too
     counted   a dummy that takes a buffer's address while the layout function only counts (shs__layout)
     element   what pixels are calculated in: shs_real, or shs_wide where that is needed
     flush     to add the sums of single precision, or of integers, to those in shs_wide, and begin anew
     group     signals, atoms or vectors of bands that go through a loop together
     job       what a stage is asked to do: inputs, options, and where the results go
     lane      one element of a processor's vector
     own       a worker's own scratch; a worker is a number that no two threads have at the same time
     panel     columns of a matrix that are worked on together because they fit into a cache; in section 9 they are pixels
     plane     the values of one band, or of one output, of the pixels of a panel, side by side
     quad      four 8-bit values in 32 bits of a vector, from four pixels; a pair is two of 16 bits
     run       to do what was prepared: memory is in place, arguments are checked
     slab      a piece of the depth of a product; strips are rows of a triangular system, stripes columns of a product
     slot      a place in a column of codes: one atom's index and coefficient
     span      values of a cube that one stride, or one list of offsets, leads through
     stretch   consecutive uses of one atom, whose sums are one chunk
     tile      a block of a product whose sums stay in registers
   Rotations rotate, transposes transpose; Gram and Schmidt, Jacobi and the polar factor each go by their names. */

/* ================================================================================================================== */
/* 1  CONFIGURATION                                                                                          >>config */
/* ================================================================================================================== */

/* What the options and the compiler decide: which parts there are, the types, constants and mathematics of each precision,
   linkage, and the macros and one-line functions that all sections use. It calls nothing of the other sections. */

#if defined(SPARSEHS_STATIC) && defined(SPARSEHS_IMPLEMENTATION) && !defined(SHS__STATIC)
#error "sparsehs: with SPARSEHS_STATIC define SPARSEHS_IMPLEMENTATION before the first #include of this file"
#endif
#include <string.h>
#include <limits.h>
#ifdef SPARSEHS_ONLY_CODING /* takes no memory but the caller's, and no threads */
#undef SPARSEHS_NO_STDLIB
#define SPARSEHS_NO_STDLIB
#undef SPARSEHS_NO_OPENMP
#define SPARSEHS_NO_OPENMP
#endif
/* Where functions are static, compilers leave out themselves what is not called. */
#if !defined(SPARSEHS_ONLY_CODING) || defined(SPARSEHS_STATIC)
#define SHS__ALL_PARTS
#endif
/* Its two halves, on what stands before section 6. */
#if defined(SHS__ALL_PARTS) && (!defined(SPARSEHS_NO_SPARSE) || defined(SPARSEHS_STATIC))
#define SHS__SPARSE
#endif
#if defined(SHS__ALL_PARTS) && (!defined(SPARSEHS_NO_CUBES) || defined(SPARSEHS_STATIC))
#define SHS__CUBES
#endif
#if !defined(SPARSEHS_NO_STDLIB) && !defined(SPARSEHS_MALLOC)
#include <stdlib.h>
#define SPARSEHS_MALLOC(size) malloc(size)
#define SPARSEHS_FREE(block) free(block)
#endif
#ifndef SPARSEHS_NO_MATH
#include <math.h>
#endif
#ifndef SPARSEHS_SQRT
#define SPARSEHS_SQRT(x) sqrt(x)
#define SPARSEHS_SQRTF(x) sqrtf(x)
#endif
#ifndef SPARSEHS_COS
#define SPARSEHS_COS(x) cos(x)
#define SPARSEHS_COSF(x) cosf(x)
#endif
#ifndef SPARSEHS_LOG
#define SPARSEHS_LOG(x) log(x)
#define SPARSEHS_LOGF(x) logf(x)
#endif
#ifndef SPARSEHS_ACOS
#define SPARSEHS_ACOS(x) acos(x)
#endif
#ifndef SPARSEHS_ACOSF
#define SPARSEHS_ACOSF(x) acosf(x)
#endif
#if defined(_OPENMP) && !defined(SPARSEHS_NO_OPENMP)
#include <omp.h>
#define SHS__OPENMP
#endif

/* SHS__SQRT works on shs_real, SHS__WSQRT and its like on shs_wide; SHS__EPS is the spacing of shs_real at 1, SHS__REAL_MIN its
   smallest normal number. The constants have digits enough to be exact in the extended precision of x87 too, in which 32-bit
   compilers evaluate them. */
#ifdef SPARSEHS_DOUBLE
#define SHS__SQRT(x) SHS__WSQRT(x)
#define SHS__EPS 2.220446049250313080847263e-16 /* both in the text that sparsehs_cl.h repeats */
#define SHS__REAL_MAX SHS__WIDE_MAX
#define SHS__REAL_MIN SHS__WIDE_MIN
#else
#define SHS__SQRT(x) SPARSEHS_SQRTF(x)
#define SHS__EPS 1.1920928955078125e-7f
#define SHS__REAL_MAX 3.402823466385288598117042e38f
#define SHS__REAL_MIN 1.175494350822287507968737e-38f
#endif
#ifdef SPARSEHS_NO_DOUBLE
#define SHS__WSQRT(x) SPARSEHS_SQRTF(x)
#define SHS__WACOS(x) SPARSEHS_ACOSF(x)
#define SHS__WCOS(x) SPARSEHS_COSF(x)
#define SHS__WLOG(x) SPARSEHS_LOGF(x)
#define SHS__WIDE_EPS 1.1920928955078125e-7f
#define SHS__WIDE_MAX SHS__REAL_MAX
#define SHS__WIDE_MIN SHS__REAL_MIN
#else
#define SHS__WSQRT(x) SPARSEHS_SQRT(x)
#define SHS__WACOS(x) SPARSEHS_ACOS(x)
#define SHS__WCOS(x) SPARSEHS_COS(x)
#define SHS__WLOG(x) SPARSEHS_LOG(x)
#define SHS__WIDE_EPS 2.220446049250313080847263e-16
#define SHS__WIDE_MAX 1.797693134862315708145274e308
#define SHS__WIDE_MIN 2.225073858507201383090233e-308
#endif

#if defined(__GNUC__) || defined(__clang__)
#define SHS__PRIVATE __attribute__((unused)) static
#define SHS__OUTLINE __attribute__((unused, noinline)) static /* keeps its locals, and its code, out of its callers */
#define SHS__INLINE __attribute__((always_inline, unused)) static inline
#define SHS__RESTRICT __restrict__
#elif defined(_MSC_VER)
#define SHS__PRIVATE static
#define SHS__OUTLINE __declspec(noinline) static
#define SHS__INLINE static __forceinline
#define SHS__RESTRICT __restrict
#else
#define SHS__PRIVATE static
#define SHS__OUTLINE static
#define SHS__INLINE static
#define SHS__RESTRICT
#endif
#ifdef SHS__STATIC
#define SHS__PUBLIC SHS_API
#else
#define SHS__PUBLIC
#endif

#define SHS__ALIGN 64 /* a cache line, and the widest vector */

/* Under AddressSanitizer the gaps between buffers of one block are poisoned, so that an overrun is caught. */
#if defined(__SANITIZE_ADDRESS__)
#define SHS__ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SHS__ASAN
#endif
#endif
#ifdef SHS__ASAN
#include <sanitizer/asan_interface.h>
#define SHS__GAP 128
#define SHS__POISON(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define SHS__UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define SHS__GAP 0
#define SHS__POISON(p, n) ((void)0)
#define SHS__UNPOISON(p, n) ((void)0)
#endif

SHS__PRIVATE int shs__imin(int a, int b) { return a < b ? a : b; }
SHS__PRIVATE int shs__imax(int a, int b) { return a > b ? a : b; }
SHS__PRIVATE size_t shs__zmin(size_t a, size_t b) { return a < b ? a : b; }
SHS__PRIVATE size_t shs__zmax(size_t a, size_t b) { return a > b ? a : b; }
SHS__PRIVATE shs_real shs__abs(shs_real x) { return x < 0 ? -x : x; }
SHS__PRIVATE shs_wide shs__wabs(shs_wide x) { return x < 0 ? -x : x; }
/* Whether a struct was zeroed before it was filled, as far as its ends tell. */
#define SHS__ZEROED(o) ((o)->start_canary == 0 && (o)->end_canary == 0)
/* Address of element (row, column) of a column-major matrix. */
#define SHS__AT(A, ld, row, column) ((A) + (size_t)(column) * (size_t)(ld) + (size_t)(row))

/* A sum in shs_wide; compensated (Neumaier) where that is no wider than shs_real. */
typedef struct shs__sum {
    shs_wide value, lost;
} shs__sum;

SHS__PRIVATE void shs__sum_add(shs__sum *s, shs_wide x) {
#ifdef SPARSEHS_NO_DOUBLE
    shs_wide t = s->value + x;
    s->lost += shs__wabs(s->value) >= shs__wabs(x) ? (s->value - t) + x : (x - t) + s->value;
    s->value = t;
#else
    s->value += x;
#endif
}

SHS__PRIVATE shs_wide shs__sum_value(const shs__sum *s) { return s->value + s->lost; }

/* ================================================================================================================== */
/* 2  CONTEXT                                                                                               >>context */
/* ================================================================================================================== */

/* What carries the outside world: texts of the statuses, memory (layouts and the arena), parallel loops, progress, agreement of
   ranks, and whether numbers are finite. It calls section 1 and the user's callbacks. All sections below call it: they open
   parallel loops, take memory and talk to other ranks through shs__ctx_ and shs__layout_ alone. */

#ifdef SHS__ALL_PARTS
/* A table: as two switches it would be 2 KB of code. */
static const struct {
    shs_status status;
    const char *name, *text;
} shs__statuses[] = {
#define SHS__ROW(code, number, text) {code, #code, text},
    SHS_STATUS_LIST(SHS__ROW)
#undef SHS__ROW
    {SHS_OK, "unknown status", "unknown status"},
};

SHS__PRIVATE size_t shs__status_row(shs_status status) {
    size_t row = 0, last = sizeof shs__statuses / sizeof *shs__statuses - 1;
    while (row < last && shs__statuses[row].status != status) row++;
    return row;
}

SHS__PUBLIC const char *shs_status_text(shs_status status) { return shs__statuses[shs__status_row(status)].text; }
SHS__PUBLIC const char *shs_status_name(shs_status status) { return shs__statuses[shs__status_row(status)].name; }

#endif /* SHS__ALL_PARTS */

/* ---- sizes and layouts ---------------------------------------------------------------------------------- >>layout */

SHS__PRIVATE int shs__layout_overflows(size_t a, size_t b) { return b != 0 && a > SIZE_MAX / b; }
/* How many chunks of `size` hold `count`. */
SHS__PRIVATE size_t shs__ctx_chunks(size_t count, size_t size) { return count / size + (count % size != 0); }

/* Scratch memory is one block that a layout function cuts into buffers. The same function runs twice: without a base it
   only counts, with one it hands out addresses; so the query and the use cannot differ. */
typedef struct shs__layout {
    unsigned char *base; /* aligned start, NULL while counting */
    void *block;         /* what the allocator returned */
    size_t used, size;
    int overflow, counted;
} shs__layout;

/* Called from hundreds of places: inlined it would be 14 KB. */
SHS__OUTLINE void *shs__layout_carve(shs__layout *l, size_t count, size_t size) {
    size_t at = l->used, room = SIZE_MAX / 2 - SHS__ALIGN - SHS__GAP, bytes;
    if (shs__layout_overflows(count, size) || at > room || count * size > room - at) {
        l->overflow = 1;
        return NULL;
    }
    bytes = count * size;
    l->used = at + (bytes + SHS__ALIGN - 1) / SHS__ALIGN * SHS__ALIGN + SHS__GAP;
    if (!l->base) return NULL;
    SHS__POISON(l->base + at + bytes, l->used - at - bytes);
    return l->base + at;
}

#define SHS__CARVE(l, type, count) ((type *)shs__layout_carve(l, count, sizeof(type)))

/* Product of three counts for a carve, SIZE_MAX (which overflows there) when it does not fit. */
SHS__OUTLINE size_t shs__layout_product(size_t a, size_t b, size_t c) {
    if (shs__layout_overflows(a, b) || shs__layout_overflows(a * b, c)) return SIZE_MAX;
    return a * b * c;
}

SHS__PRIVATE size_t shs__layout_size(const shs__layout *l) { return l->overflow ? SIZE_MAX : l->used + SHS__ALIGN; }
/* What a query answers: an arena of that size, too, holds the block. */
SHS__PRIVATE size_t shs__layout_query(const shs__layout *l) { return l->overflow ? SIZE_MAX : l->used + SHS__ALIGN + 48; }

/* Aligns memory for a layout that has been counted; the next pass carves from it. */
SHS__PRIVATE void shs__layout_begin(shs__layout *l, void *memory) {
    l->block = memory;
    l->size = l->used;
    l->base = (unsigned char *)memory + (SHS__ALIGN - (uintptr_t)memory % SHS__ALIGN) % SHS__ALIGN;
    l->used = 0;
}

SHS__PRIVATE void *shs__ctx_alloc(const shs_context *ctx, size_t size) {
    if (ctx && ctx->alloc_fn) return ctx->alloc_fn(ctx->alloc_user, size);
#ifdef SPARSEHS_MALLOC
    return SPARSEHS_MALLOC(size);
#else
    return NULL;
#endif
}

SHS__OUTLINE void shs__ctx_free(const shs_context *ctx, void *block) {
    if (!block) return;
    if (ctx && ctx->alloc_fn) ctx->free_fn(ctx->alloc_user, block);
#ifdef SPARSEHS_MALLOC
    else SPARSEHS_FREE(block);
#endif
}

/* Between the counting and the carving pass: takes the block. */
SHS__PRIVATE shs_status shs__layout_acquire(const shs_context *ctx, shs__layout *l) {
    void *memory;
    if (l->overflow) return SHS_TOO_LARGE;
    memory = shs__ctx_alloc(ctx, shs__layout_size(l));
    if (!memory) return SHS_NO_MEMORY;
    shs__layout_begin(l, memory);
    return SHS_OK;
}

/* while (shs__layout_next(ctx, &l, &status)) lay_out(&l, ...); counts, takes the block, and hands it out, unless *status is or
   becomes bad. */
SHS__OUTLINE int shs__layout_next(const shs_context *ctx, shs__layout *l, shs_status *status) {
    if (*status != SHS_OK || l->base) return 0;
    if (l->counted) *status = shs__layout_acquire(ctx, l);
    l->counted = 1;
    return *status == SHS_OK;
}

SHS__OUTLINE void shs__layout_release(const shs_context *ctx, shs__layout *l) {
    if (l->block) SHS__UNPOISON(l->base, l->size);
    shs__ctx_free(ctx, l->block);
    l->block = NULL;
    l->base = NULL;
}

#ifdef SHS__ALL_PARTS
/* ---- arena ----------------------------------------------------------------------------------------------- >>arena */

/* What stands before each block. A block that is given back while later ones are in use waits until those are gone. */
typedef struct shs__arena_header {
    size_t used, last, freed; /* the fill level and the last block before this one; whether it was given back */
} shs__arena_header;

enum { SHS__ARENA_HEADER = 32, SHS__ARENA_EXTRA = SHS__ARENA_HEADER + 15 }; /* and what a block costs besides its size */

SHS__PRIVATE void *shs__arena_alloc(void *user, size_t size) {
    shs_arena *a = (shs_arena *)user;
    shs__arena_header h = SHS_ZERO;
    size_t at = a->used, pad;
    if (!a->memory) return NULL;
    pad = (16 - (size_t)((uintptr_t)(a->memory + at) % 16)) % 16;
    if (pad > a->size - at || SHS__ARENA_HEADER > a->size - at - pad || size > a->size - at - pad - SHS__ARENA_HEADER)
        return NULL;
    h.used = a->used;
    h.last = a->last;
    a->last = at + pad;
    memcpy(a->memory + a->last, &h, sizeof h);
    a->used = a->last + SHS__ARENA_HEADER + size;
    a->peak = shs__zmax(a->peak, a->used);
    return a->memory + a->last + SHS__ARENA_HEADER;
}

SHS__PRIVATE void shs__arena_free(void *user, void *block) {
    shs_arena *a = (shs_arena *)user;
    unsigned char *at = (unsigned char *)block - SHS__ARENA_HEADER;
    shs__arena_header h;
    memcpy(&h, at, sizeof h);
    h.freed = 1;
    memcpy(at, &h, sizeof h);
    while (a->last < a->size) {
        memcpy(&h, a->memory + a->last, sizeof h);
        if (!h.freed) break;
        a->used = h.used;
        a->last = h.last;
    }
}

SHS__PUBLIC void shs_arena_init(shs_arena *arena, void *memory, size_t size) {
    arena->memory = (unsigned char *)memory;
    arena->size = memory ? size : 0;
    arena->used = arena->peak = 0;
    arena->last = arena->size; /* none */
}

SHS__PUBLIC void shs_arena_attach(shs_arena *arena, shs_context *ctx) {
    ctx->alloc_fn = shs__arena_alloc;
    ctx->free_fn = shs__arena_free;
    ctx->alloc_user = arena;
}

SHS__PUBLIC size_t shs_type_size(shs_type type) {
    static const unsigned char sizes[SHS_TYPE_COUNT] = {sizeof(shs_real), 1, 2, 2, 4, 4, 4, 8}; /* in the enumeration's order */
    return (unsigned)type < SHS_TYPE_COUNT ? sizes[type] : 0;
}

/* ---- threads, progress, ranks -------------------------------------------------------------------------- >>threads */

SHS__OUTLINE shs_status shs__ctx_check(const shs_context *ctx) {
    if (!ctx) return SHS_OK;
    if (!SHS__ZEROED(ctx) || ctx->version != 0) return SHS_BAD_CONTEXT;
    if (!ctx->alloc_fn != !ctx->free_fn || ctx->threads < 0) return SHS_BAD_CONTEXT;
    if (ctx->reduce_fn && (ctx->ranks < 1 || ctx->rank < 0 || ctx->rank >= ctx->ranks)) return SHS_BAD_CONTEXT;
    return SHS_OK;
}

/* Workers for which per-worker scratch is laid out. */
SHS__OUTLINE int shs__ctx_workers(const shs_context *ctx) {
    int wanted = ctx ? ctx->threads : 0;
    if (ctx && ctx->parallel_fn) return wanted > 0 ? wanted : 1;
#ifdef SHS__OPENMP
    return wanted > 0 ? wanted : omp_get_max_threads();
#else
    return 1;
#endif
}

/* The least work that threads are woken for, some 100 microseconds of one core. A parallel region ends no sooner than each of
   them has been there: that takes some 10 microseconds where the machine has nothing else to do, and milliseconds where a
   thread has to wait for another program's turn to end. */
enum { SHS__WORTH_SHARING = 100000 };
#ifndef SHS__TEST_WORTH_SHARING
#define SHS__TEST_WORTH_SHARING SHS__WORTH_SHARING
#endif

#ifdef SHS__OPENMP
/* Consecutive chunks go to one worker, and in every loop over as many chunks to the same one: what it wrote is still in its
   cache. Who has finished his own share helps with the others'. */
enum { SHS__SHARES = 8 };

typedef struct shs__share {
    long long next, end;
    unsigned char apart[SHS__ALIGN]; /* no two workers should write to one cache line */
} shs__share;

/* Whether it was worth it: whether the calling thread, at the speed at which it did its own chunks, would have taken longer
   for all of them. Where other programs have the processors, waiting for a thread can take longer than its chunks. */
SHS__PRIVATE int shs__ctx_parallel_shares(int workers, size_t chunks, shs_chunk_fn body, void *arg) {
    shs__share shares[SHS__SHARES];
    int count = workers < SHS__SHARES ? workers : SHS__SHARES, k;
    size_t each = chunks / (size_t)count, over = chunks % (size_t)count, from = 0;
    double begin = omp_get_wtime(), busy = 0, mine = 0; /* of the calling thread */
    for (k = 0; k < count; k++) {
        shares[k].next = (long long)from;
        from += each + ((size_t)k < over);
        shares[k].end = (long long)from;
    }
#pragma omp parallel num_threads(workers)
    {
        int worker = omp_get_thread_num(), turn, done = 0;
        for (turn = 0; turn < count; turn++) {
            shs__share *share = shares + (worker * (long long)count / workers + turn) % count;
            long long chunk;
            for (;;) {
#pragma omp atomic capture
                chunk = share->next++;
                if (chunk >= share->end) break;
                body(arg, (size_t)chunk, worker);
                done++;
            }
        }
        if (worker == 0) busy = omp_get_wtime() - begin, mine = done;
    }
    return busy * (double)chunks >= (omp_get_wtime() - begin) * mine;
}
#endif

/* Runs body over the chunks, shared out where that is worth it. Whoever opens a parallel region says how much work it is:
   values that are read or written, about one a nanosecond; of matrix products see shs__ctx_product_work. */
SHS__OUTLINE void shs__ctx_parallel(const shs_context *ctx, shs_wide work, size_t chunks, shs_chunk_fn body, void *arg) {
    int workers = shs__ctx_workers(ctx);
    if (workers > 1 && chunks > 1 && work >= (shs_wide)SHS__TEST_WORTH_SHARING) {
        if (ctx && ctx->parallel_fn) {
            ctx->parallel_fn(ctx->parallel_user, chunks, workers, body, arg);
            return;
        }
#ifdef SHS__OPENMP
        (void)shs__ctx_parallel_shares(workers, chunks, body, arg);
        return;
#endif
    }
    {
        size_t i;
        for (i = 0; i < chunks; i++) body(arg, i, 0);
    }
}

/* The context of a driver that opens many parallel regions, one after another. Where OpenMP shares them out, one that was not
   worth it is followed by some on the calling thread alone, each time more of them, before the next trial. What is calculated
   does not depend on it. */
typedef struct shs__trial {
    shs_context ctx;
    int alone, next; /* regions to do alone, and after the next region that was not worth it */
} shs__trial;

#ifdef SHS__OPENMP
enum { SHS__ALONE_FIRST = 2, SHS__ALONE_MOST = 64 };

SHS__PRIVATE void shs__ctx_trial_run(void *user, size_t chunks, int workers, shs_chunk_fn body, void *arg) {
    shs__trial *t = (shs__trial *)user;
    if (t->alone > 0) {
        size_t i;
        for (i = 0; i < chunks; i++) body(arg, i, 0);
        t->alone--;
    } else if (shs__ctx_parallel_shares(workers, chunks, body, arg)) t->next = SHS__ALONE_FIRST;
    else {
        t->alone = t->next;
        t->next = shs__imin(2 * t->next, SHS__ALONE_MOST);
    }
}
#endif

/* What the driver passes on in place of ctx, as long as t lives. */
SHS__PRIVATE const shs_context *shs__ctx_trial(const shs_context *ctx, shs__trial *t) {
#ifdef SHS__OPENMP
    if (shs__ctx_check(ctx) == SHS_OK && shs__ctx_workers(ctx) > 1 && !(ctx && ctx->parallel_fn)) {
        t->next = SHS__ALONE_FIRST;
        if (ctx) t->ctx = *ctx;
        t->ctx.threads = shs__ctx_workers(ctx);
        t->ctx.parallel_fn = shs__ctx_trial_run;
        t->ctx.parallel_user = t;
        return &t->ctx;
    }
#endif
    (void)t;
    return ctx;
}

/* A product of m x k by k x n: as many multiply-adds take far less time than values from memory. */
SHS__PRIVATE shs_wide shs__ctx_product_work(int m, int n, int k) { return (shs_wide)m * (shs_wide)n * (shs_wide)k / 64; }

SHS__OUTLINE shs_status shs__ctx_progress(const shs_context *ctx, const char *phase, size_t step, size_t steps,
                                          shs_wide error) {
    if (ctx && ctx->progress_fn && ctx->progress_fn(ctx->progress_user, phase, step, steps, error)) return SHS_CANCELLED;
    return SHS_OK;
}

SHS__PRIVATE int shs__ctx_distributed(const shs_context *ctx) { return ctx && ctx->reduce_fn; }
SHS__PRIVATE int shs__ctx_rank(const shs_context *ctx) { return shs__ctx_distributed(ctx) ? ctx->rank : 0; }

SHS__OUTLINE shs_status shs__ctx_reduce(const shs_context *ctx, shs_wide *values, size_t count, shs_reduce_op op) {
    if (shs__ctx_distributed(ctx) && ctx->reduce_fn(ctx->reduce_user, values, count, op)) return SHS_REDUCE_FAILED;
    return SHS_OK;
}

/* Before every collective step the ranks agree whether all are well: a rank that failed returns its own status, the others
   SHS_PEER_FAILED, and a cancelled rank cancels all. Nobody is left waiting. Each reduction waits for the slowest rank and for
   the network, so what is reduced in every iteration brings this along: count values, and room for SHS__TELLS more behind
   them. Those of a rank that is not well are zeros. */
enum { SHS__TELLS = 2 };
SHS__OUTLINE shs_status shs__ctx_reduce_well(const shs_context *ctx, shs_status mine, shs_wide *values, size_t count,
                                             shs_reduce_op op) {
    shs_wide *told = values + count; /* whether a rank failed, and was cancelled */
    shs_status status;
    if (!shs__ctx_distributed(ctx) || mine == SHS_REDUCE_FAILED) return mine;
    if (mine != SHS_OK) memset(values, 0, count * sizeof *values);
    told[0] = mine != SHS_OK && mine != SHS_CANCELLED;
    told[1] = mine == SHS_CANCELLED;
    status = shs__ctx_reduce(ctx, values, count + SHS__TELLS, op);
    if (status != SHS_OK) return status;
    if (mine != SHS_OK && mine != SHS_CANCELLED) return mine;
    return told[0] > 0 ? SHS_PEER_FAILED : told[1] > 0 ? SHS_CANCELLED : SHS_OK;
}

SHS__OUTLINE shs_status shs__ctx_agree(const shs_context *ctx, shs_status mine) {
    shs_wide told[SHS__TELLS];
    return shs__ctx_reduce_well(ctx, mine, told, 0, SHS_REDUCE_MAX);
}

/* Mixes bytes into a print (FNV-1a). */
SHS__OUTLINE uint64_t shs__ctx_imprint(uint64_t print, const void *bytes, size_t size) {
    const unsigned char *b = (const unsigned char *)bytes;
    size_t i;
    for (i = 0; i < size; i++) print = (print ^ b[i]) * UINT64_C(0x100000001b3);
    return print;
}

/* What a rank brings to the first step of a collective call. Prints are mixed from what must be the same: on all ranks, and on
   those that have data. largest: each becomes the largest of all ranks. */
typedef struct shs__meeting {
    uint64_t all, having;
    int has_data;
    shs_wide largest[2];
} shs__meeting;

/* The call by its name is the first thing that must be the same. */
SHS__PRIVATE shs__meeting shs__ctx_meeting_for(const shs_context *ctx, const char *call) {
    shs__meeting meeting = SHS_ZERO;
    meeting.all = shs__ctx_imprint(UINT64_C(0xcbf29ce484222325), call, strlen(call));
    if (ctx) meeting.all = shs__ctx_imprint(meeting.all, &ctx->ranks, sizeof ctx->ranks);
    return meeting;
}

enum { SHS__PIECES = 4 }; /* of a print: 16 bits each, which every shs_wide holds */

/* The largest of x and of -x tell whether all x are the same; who has no say brings less than any other. */
SHS__PRIVATE void shs__ctx_print_pieces(uint64_t print, int has_say, shs_wide *pieces) {
    int i;
    for (i = 0; i < SHS__PIECES; i++) {
        shs_wide piece = (shs_wide)(print >> (16 * i) & 0xffff);
        pieces[2 * i] = has_say ? piece : -65536;
        pieces[2 * i + 1] = has_say ? -piece : -65536;
    }
}

/* The first step of every collective call, one reduction of the same size in all of them: whether all ranks are well, and mean
   the same. */
SHS__OUTLINE shs_status shs__ctx_meet(const shs_context *ctx, shs_status mine, shs__meeting *meeting) {
    shs_wide v[1 + 4 * SHS__PIECES + 2];
    shs_status status;
    int i;
    if (!shs__ctx_distributed(ctx)) return mine;
    v[0] = mine == SHS_OK ? 0 : 1;
    shs__ctx_print_pieces(meeting->all, 1, v + 1);
    shs__ctx_print_pieces(meeting->having, meeting->has_data, v + 1 + 2 * SHS__PIECES);
    memcpy(v + 1 + 4 * SHS__PIECES, meeting->largest, sizeof meeting->largest);
    status = shs__ctx_reduce(ctx, v, sizeof v / sizeof *v, SHS_REDUCE_MAX);
    if (mine != SHS_OK || status != SHS_OK) return mine != SHS_OK ? mine : status;
    if (v[0] > 0) return SHS_PEER_FAILED;
    for (i = 0; i < 2 * SHS__PIECES; i++)
        if (v[1 + 2 * i] > -v[2 + 2 * i]) return SHS_RANKS_DIFFER;
    memcpy(meeting->largest, v + 1 + 4 * SHS__PIECES, sizeof meeting->largest);
    return SHS_OK;
}

/* Whether the CPU does a stage: there is no engine, or it said that it cannot, or has too little memory, and may be stood in
   for. */
SHS__PRIVATE int shs__ctx_cpu_takes_over(const shs_engine *engine, shs_status status) {
    return !engine || (engine->fallback && (status == SHS_UNSUPPORTED || status == SHS_NO_MEMORY));
}

#endif /* SHS__ALL_PARTS */

/* Whether n values are all finite, by their exponent bits, so that -ffast-math cannot fold the test away. */
#define SHS__FINITE(name, type, bits_type, exponent)                                                                   \
    SHS__PRIVATE int name(size_t n, const type *x) {                                                                   \
        bits_type bad = 0, bits;                                                                                       \
        size_t i;                                                                                                      \
        for (i = 0; i < n; i++) {                                                                                      \
            memcpy(&bits, x + i, sizeof bits);                                                                         \
            bad |= (bits & (exponent)) == (exponent);                                                                  \
        }                                                                                                              \
        return bad == 0;                                                                                               \
    }
#ifdef SPARSEHS_DOUBLE
SHS__FINITE(shs__finite, shs_real, uint64_t, (uint64_t)0x7ff << 52)
#else
SHS__FINITE(shs__finite, shs_real, uint32_t, (uint32_t)0xff << 23)
#endif

SHS__PRIVATE int shs__finite_columns(int rows, size_t columns, const shs_real *A, int ld) {
    size_t j;
    if (rows == ld) return shs__finite((size_t)rows * columns, A);
    for (j = 0; j < columns; j++)
        if (!shs__finite((size_t)rows, SHS__AT(A, ld, 0, j))) return 0;
    return 1;
}

#ifdef SHS__ALL_PARTS
#if defined(SPARSEHS_NO_DOUBLE) || defined(SPARSEHS_DOUBLE)
#define shs__wide_finite shs__finite
#else
SHS__FINITE(shs__wide_finite, shs_wide, uint64_t, (uint64_t)0x7ff << 52)
#endif

#if defined(SPARSEHS_STATIC) || !defined(SPARSEHS_NO_FILES) || (defined(SHS__CUBES) && !defined(SPARSEHS_NO_MODELS))
/* ---- numbers in files ------------------------------------------------------------------------------------- >>bytes */

/* Bytes are put together by shifts, so that the order of the machine's own does not matter. */
/* CRC-32 (polynomial 0xedb88320, reflected), half a byte at a time; it begins with all bits set, and ends with all turned. */
SHS__PRIVATE uint32_t shs__crc(uint32_t crc, const unsigned char *bytes, size_t count) {
    static const uint32_t of_half[16] = {0,          0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                         0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                         0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    size_t i;
    for (i = 0; i < count; i++) {
        crc = of_half[(crc ^ bytes[i]) & 15] ^ crc >> 4;
        crc = of_half[(crc ^ (uint32_t)bytes[i] >> 4) & 15] ^ crc >> 4;
    }
    return crc;
}

SHS__PRIVATE void shs__put_bytes(unsigned char *to, uint64_t value, int bytes) {
    int i;
    for (i = 0; i < bytes; i++) to[i] = (unsigned char)(value >> 8 * i & 255);
}

SHS__PRIVATE uint64_t shs__get_bytes(const unsigned char *from, int bytes) {
    uint64_t value = 0;
    int i;
    for (i = 0; i < bytes; i++) value |= (uint64_t)from[i] << 8 * i;
    return value;
}

/* The bits of an IEEE double, and back; whether it is a number that shs_wide holds. Where that is a float, what is too small
   for it becomes 0, and what is too large becomes infinity. */
#ifdef SPARSEHS_NO_DOUBLE
SHS__PRIVATE uint64_t shs__f64_bits(shs_wide x) {
    uint32_t bits, exponent;
    memcpy(&bits, &x, sizeof bits);
    exponent = bits >> 23 & 255;
    if (exponent == 0) return (uint64_t)(bits >> 31) << 63;
    return (uint64_t)(bits >> 31) << 63 | (uint64_t)(exponent == 255 ? 2047 : exponent + 896) << 52 |
           (uint64_t)(bits & 0x7fffff) << 29;
}

SHS__PRIVATE int shs__f64_of_bits(uint64_t bits, shs_wide *x) {
    uint64_t rounded = (bits & ~(UINT64_C(1) << 63)) + (UINT64_C(1) << 28), exponent = rounded >> 52;
    uint32_t narrow = (uint32_t)(bits >> 63) << 31;
    int finite = exponent < 255 + 896;
    if (!finite) narrow |= UINT32_C(0x7f800000) | (uint32_t)(rounded - (UINT64_C(1) << 28) > UINT64_C(0x7ff) << 52) << 22;
    else if (exponent > 896) narrow |= (uint32_t)(exponent - 896) << 23 | (uint32_t)(rounded >> 29 & 0x7fffff);
    memcpy(x, &narrow, sizeof *x);
    return finite;
}
#else
SHS__PRIVATE uint64_t shs__f64_bits(shs_wide x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

SHS__PRIVATE int shs__f64_of_bits(uint64_t bits, shs_wide *x) {
    memcpy(x, &bits, sizeof *x);
    return shs__wide_finite(1, x);
}
#endif
#endif

/* ================================================================================================================== */
/* 3  RANDOM NUMBERS                                                                                         >>random */
/* ================================================================================================================== */

/* Numbers from a seed: uniform, normal, permutations. It calls the mathematics of section 1 alone; sections 7, 8 and 11 call
   it for start vectors, start dictionaries and the choice of patches and signals. The same seed gives the same numbers
   everywhere, so that tests may rely on them. */

/* The mixing function: every bit of the input reaches every bit of the output. */
SHS__PRIVATE uint64_t shs__random_mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

SHS__PUBLIC void shs_random_seed(shs_random *r, uint64_t seed) { r->state = seed; }

SHS__PUBLIC uint64_t shs_random_bits(shs_random *r) {
    r->state += UINT64_C(0x9e3779b97f4a7c15);
    return shs__random_mix(r->state);
}

SHS__PUBLIC shs_wide shs_random_uniform(shs_random *r) {
#ifdef SPARSEHS_NO_DOUBLE
    return (shs_wide)(shs_random_bits(r) >> 40) * (1.0f / 16777216.0f);
#else
    return (shs_wide)(shs_random_bits(r) >> 11) * (1.0 / 9007199254740992.0);
#endif
}

SHS__PUBLIC uint64_t shs_random_below(shs_random *r, uint64_t count) {
    uint64_t bits, limit;
    if (count == 0) return 0;
    limit = UINT64_MAX - UINT64_MAX % count; /* a multiple of count: values from there on are drawn again */
    do bits = shs_random_bits(r);
    while (bits >= limit);
    return bits % count;
}

SHS__PUBLIC shs_wide shs_random_normal(shs_random *r) {
    shs_wide x, y, s;
    do {
        x = 2 * shs_random_uniform(r) - 1;
        y = 2 * shs_random_uniform(r) - 1;
        s = x * x + y * y;
    } while (s >= 1 || s <= 0);
    return x * SHS__WSQRT(-2 * SHS__WLOG(s) / s);
}

/* An eight-round Feistel network permutes the smallest even-width power of two that holds count; values outside are sent
   through again until they fall inside (fewer than four times on average). */
SHS__PUBLIC uint64_t shs_random_permuted(uint64_t i, uint64_t count, uint64_t seed) {
    unsigned half = 1;
    uint64_t mask;
    while (half < 32 && count > UINT64_C(1) << 2 * half) half++;
    mask = (UINT64_C(1) << half) - 1;
    do {
        uint64_t left = i >> half, right = i & mask, next;
        unsigned round;
        for (round = 0; round < 8; round++) {
            next = left ^ (shs__random_mix(shs__random_mix(seed + round) ^ right) & mask);
            left = right;
            right = next;
        }
        i = left << half | right;
    } while (i >= count);
    return i;
}

#endif /* SHS__ALL_PARTS */

/* ================================================================================================================== */
/* KERNELS                                                                                                  >>kernels */
/* ================================================================================================================== */

/* The small loops whose speed depends on the instruction set. They are one text, in the vector extensions of gcc and clang
   (plain C where there are none), compiled once for each INSTANCE:

       avx512, avx2  for x86-64 processors that have it, whatever the compiler's flags say: this file includes itself, and
                     these instruction sets are switched on for the text of the kernels alone
       base          what the flags allow: SSE2, NEON, AltiVec, with -march=native the widest there is, or plain C

   In the text SHS__IN(dot) is the name of this instance's dot: shs__dot_avx2, say. Each instance ends with constant tables
   of its kernels, one table for each set that a program may need without the others. shs__kernels_vector() and its like
   give the table of the best instance for this processor; that takes a few instructions, so it is asked once for an
   operation. With the base alone the compiler knows the table, and the calls are direct. Nothing is stored: what a
   processor has does not change.

   To add a kernel: its pointer in the struct of its set, the function in the text, its name in the table. To add a
   set: a struct, the table at the end of the text, one SHS__CHOOSER. A kernel calls nothing but kernels and macros: a
   function from outside was compiled for the base. Vectors are passed and returned only where all is inlined.

   Kernels check nothing, take no memory and call only each other. The sections call them through the tables alone. */

/* Of sections 4 to 8: contiguous vectors. */
typedef struct shs__vector_kernels {
    shs_real (*dot)(size_t n, const shs_real *x, const shs_real *y);
    void (*axpy)(size_t n, shs_real alpha, const shs_real *x, shs_real *y);
    void (*patch)(int n, shs_real a, const shs_real *x, shs_real b, const shs_real *y, shs_real *z); /* z += a x + b y */
    void (*combine)(int n, int count, const shs_real *const *columns, const shs_real *factors, shs_real *sum);
    shs_wide (*norm2)(int n, const shs_real *x);
    void (*axpy_wide)(int n, shs_wide alpha, const shs_real *x, shs_wide *y);
} shs__vector_kernels;

/* Of section 4: what gemm is made of. */
typedef struct shs__gemm_kernels {
    int rows, columns; /* of the tile */
    int pad;           /* rows of the last tile are a multiple of this; it divides `rows` */
    void (*tile)(int rows, int depth, const shs_real *a, ptrdiff_t a_next, const shs_real *b, ptrdiff_t b_column,
                 ptrdiff_t b_next, int add, shs_real *C, int ldc);
    void (*pack)(int along, int width, int padded, int depth, shs_real scale, const shs_real *S, int ld, shs_real *to);
    void (*transpose)(int m, int n, shs_real scale, const shs_real *S, int lds, shs_real *D, int ldd);
} shs__gemm_kernels;

/* Of section 5, in shs_wide. */
typedef struct shs__eigh_kernels {
    shs_wide (*dot)(int m, const shs_wide *x, const shs_wide *y);
    void (*combine)(int m, shs_wide alpha, shs_wide *y, shs_wide beta, const shs_wide *x);
    void (*dots)(int m, int k, const shs_wide *M, int ld, const shs_wide *x, shs_wide *t);
    void (*minus)(int m, int k, const shs_wide *M, int ld, const shs_wide *t, shs_wide *y);
    void (*symv)(int m, const shs_wide *A, int ld, const shs_wide *x, shs_wide *y);
    void (*stripes)(int m, int stripes, int k, const shs_wide *P, int ldp, const shs_wide *pack, shs_wide *C, int ldc);
    void (*rotate)(int m, int lo, int hi, const shs_wide *cosine, const shs_wide *sine, shs_wide *Z, int ld);
    shs_wide (*secular_sum)(int from, int to, const shs_wide *q, const shs_wide *delta, shs_wide *derivative);
} shs__eigh_kernels;

/* Of section 6: the pursuit. kernels_embed/contract.h repeats these numbers; where sparsehs_cl.h is compiled too, the compiler
   compares the two. */
#ifdef SPARSEHS_DOUBLE
#define SHS__OMP_GUARD ((shs_real)1e-12)  /* what is smaller than this, relative to its start, is rounding */
#define SHS__OMP_TRUST2 ((shs_wide)1e-12) /* the recurrence of ||r||^2 is trusted down to this share of where it began */
#else
#define SHS__OMP_GUARD ((shs_real)1e-5f)
#define SHS__OMP_TRUST2 ((shs_wide)1 / 10000)
#endif
#define SHS__OMP_REFRESHES 4 /* times that the residual of a signal is formed explicitly, at most */

typedef struct shs__pursuit_kernels {
    int (*strongest)(int n, const shs_real *alpha); /* the index of the largest |alpha|, the first of equals */
    int (*advance)(int n, int k, const shs_real *g, const shs_real *c, shs_real *B, size_t rows, shs_real inverse_d,
                   shs_real t, shs_real *alpha);
    int (*choose)(shs_selection selection, int n, shs_real scale, const shs_real *alpha, const shs_real *diagonal,
                  const shs_real *B, size_t rows, int k, shs_real *distance);
} shs__pursuit_kernels;

/* B, whose row q is b_q (n values), lies in memory in blocks of SHS__BLOCK columns, row after row within a block: the pass
   over all rows of a few columns reads on and on, not a piece of each row a page apart. SHS__AT_B(q, i) is element i of
   row q where there is room for `rows`. */
#define SHS__BLOCK 64 /* a multiple of four vectors of every instance */
#define SHS__BLOCK_WIDTH(n, i) ((n) - (i) / SHS__BLOCK * SHS__BLOCK < SHS__BLOCK ? (n) % SHS__BLOCK : SHS__BLOCK)
#define SHS__AT_B(B, n, rows, q, i)                                                                                    \
    ((B) + (size_t)((i) / SHS__BLOCK * SHS__BLOCK) * (rows) + (size_t)(q) * (size_t)SHS__BLOCK_WIDTH(n, i) +           \
     (size_t)((i) % SHS__BLOCK))

/* How results are scaled: constant + y and, with rescale, range (that - low) / old + base. One of each for all, or each its
   own; where the old range is nothing, old is 1 and range 0. */
typedef struct shs__scaling {
    int each, rescale;
    const shs_wide *constant, *low, *range, *old;
    shs_wide base;
} shs__scaling;

/* Of section 9: pixels, as ELEMENTS: shs_real in one table of these, shs_wide in another. SHS_TYPE_REAL as a type stands for
   the element here. */
typedef struct shs__pixels_kernels {
    int bytes;                   /* of an element */
    int lanes, columns, vectors; /* of a group of bands; of a tile: columns, and groups at most */
    void (*convert)(shs_type type, int n, const void *from, const void *shift, int each, void *to);
    void (*transpose)(int m, int n, const void *S, int lds, void *D, int ldd);
    void (*pack)(shs_type type, int bands, int pixels, const unsigned char *const *spectrum, const void *shift,
                 unsigned char *missing, void *room, void *to, size_t apart);
    void (*sums)(int bands, int depth, const void *packed, size_t apart, shs_wide *sum);
    void (*tile)(int vectors, int depth, const void *a, ptrdiff_t vector, ptrdiff_t a_next, const void *b, ptrdiff_t column,
                 ptrdiff_t b_next, int add, void *C, ptrdiff_t c_vector, ptrdiff_t c_column);
    void (*flush)(int bands, const void *C, shs_wide *P);
    void (*squares)(int pixels, int n, const void *y, int ldy, const void *constant, shs_wide *sum);
    void (*range)(int rows, int n, const void *y, int ldy, void *low, void *high);
    void (*store)(shs_type type, int n, const void *y, const shs__scaling *s, void *to);
} shs__pixels_kernels;
typedef shs__pixels_kernels shs__wide_pixels_kernels;

/* What products of pixels are formed of: elements, or words of 32 bits that hold two values of 16 bits (pairs; a processor with
   VNNI has another instruction for them) or four of 8 (quads). */
typedef enum shs__factors { SHS__REALS, SHS__PAIRS, SHS__PAIRS_VNNI, SHS__QUADS } shs__factors;

/* Of section 9: pixels of 8 and 16 bits multiplied as integers; 0 and NULL where an instance has nothing for it. */
typedef struct shs__words_kernels {
    int words, columns, vectors;
    int quads_signed; /* both factors are bytes less 128; otherwise the rows' are bytes as they are */
    int32_t (*pack_pairs)(shs_type type, int bands, int pixels, const unsigned char *const *spectrum, const int32_t *shift,
                          int32_t *to, size_t apart);
    void (*pack_quads)(int bands, int pixels, const unsigned char *const *spectrum, int32_t *to, size_t apart,
                       size_t second);
    void (*sum)(shs__factors how, int bands, int words, const int32_t *packed, size_t apart, shs_wide *sum);
    void (*gram)(shs__factors how, int vectors, int depth, int most, const int32_t *a, const int32_t *b, ptrdiff_t apart,
                 int32_t *sums, shs_wide *C);
} shs__words_kernels;

/* Of section 11: contrasts, applied to columns. */
typedef struct shs__contrast_kernels {
    shs_wide (*apply)(shs_contrast contrast, int n, shs_real *y);
    void (*decay)(int n, shs_real *y);
    void (*rate)(int n, const shs_real *y, shs_wide *fourth, shs_wide *log_cosh);
    void (*correlate)(int m, int c, int n, const shs_real *Z, int ldz, const shs_real *Y, int ldy, shs_wide *S);
} shs__contrast_kernels;

#if defined(__x86_64__) || defined(_M_X64)
#define SHS__X64
#elif defined(__aarch64__) || defined(_M_ARM64)
#define SHS__ARM64
#endif
/* Vectors: the compiler's own, or by intrinsics where it has none (or where these are asked for). Unoptimised, vector code is
   slower than plain loops, as far as compilers tell. */
#if (defined(__GNUC__) || defined(__clang__)) && defined(__OPTIMIZE__) && !defined(SPARSEHS_NO_SIMD)
#define SHS__SIMD
#endif
#if (defined(SHS__SIMD) && defined(SPARSEHS_INTRINSICS)) ||                                                            \
    (defined(_MSC_VER) && !defined(__clang__) && !defined(SPARSEHS_NO_SIMD))
#if defined(SHS__X64) || defined(SHS__ARM64)
#undef SHS__SIMD
#define SHS__SIMD
#define SHS__INTRINSICS
#endif
#endif
#ifdef SHS__INTRINSICS
#if defined(_MSC_VER)
#include <intrin.h>
#elif defined(SHS__X64)
#include <cpuid.h>
#endif
#ifdef SHS__X64
#ifndef _MSC_VER
#include <immintrin.h>
#endif

/* What the operations of kernels below AVX2 take more than one instruction for: as integers of 32 bits, those bytes or halves
   in the low part of a vector; and integers in their range stored as such. */
SHS__INLINE __m128i shs__x86_few(const void *p, size_t bytes) {
    int64_t few = 0;
    memcpy(&few, p, bytes);
    return _mm_loadl_epi64((const __m128i *)(const void *)&few);
}
SHS__INLINE __m128i shs__x86_from_u16(__m128i v) { return _mm_unpacklo_epi16(v, _mm_setzero_si128()); }
SHS__INLINE __m128i shs__x86_from_i16(__m128i v) { return _mm_srai_epi32(_mm_unpacklo_epi16(v, v), 16); }
SHS__INLINE __m128i shs__x86_from_u8(__m128i v) { return shs__x86_from_u16(_mm_unpacklo_epi8(v, _mm_setzero_si128())); }
SHS__INLINE void shs__x86_put(void *p, __m128i v, size_t bytes) {
    int64_t few;
    _mm_storel_epi64((__m128i *)(void *)&few, v);
    memcpy(p, &few, bytes);
}
SHS__INLINE void shs__x86_to_i16(int16_t *p, __m128i v, size_t n) { shs__x86_put(p, _mm_packs_epi32(v, v), 2 * n); }
SHS__INLINE void shs__x86_to_u8(uint8_t *p, __m128i v, size_t n) {
    v = _mm_packs_epi32(v, v);
    shs__x86_put(p, _mm_packus_epi16(v, v), n);
}
SHS__INLINE void shs__x86_to_u16(uint16_t *p, __m128i v, size_t n) { /* by way of what is signed */
    v = _mm_sub_epi32(v, _mm_set1_epi32(32768));
    shs__x86_put(p, _mm_xor_si128(_mm_packs_epi32(v, v), _mm_set1_epi16(-32768)), 2 * n);
}
#ifndef SPARSEHS_NO_DOUBLE /* without sums that wide nothing multiplies integers */
SHS__INLINE __m128i shs__x86_max(__m128i a, __m128i b) {
    const __m128i larger = _mm_cmpgt_epi32(a, b);
    return _mm_or_si128(_mm_and_si128(larger, a), _mm_andnot_si128(larger, b));
}
#endif

/* Which kernels the processor and its operating system can run. The answer is kept, since in a virtual machine the question
   takes a microsecond and more: threads that ask at the same time write the same. */
enum { SHS__CPU_ASKED = 1, SHS__CPU_AVX2 = 2, SHS__CPU_AVX512 = 4, SHS__CPU_VNNI = 8 };
SHS__PRIVATE int shs__x86_cpu(void) {
    static volatile int known;
    int said = known;
    if (!said) {
        unsigned first[4] = {0, 0, 0, 0}, more[4] = {0, 0, 0, 0}, leaves, kept = 0; /* eax, ebx, ecx, edx */
#ifdef _MSC_VER
        __cpuidex((int *)first, 0, 0);
        leaves = first[0];
        __cpuidex((int *)first, 1, 0);
        if (leaves >= 7) __cpuidex((int *)more, 7, 0);
        if (first[2] >> 27 & 1) kept = (unsigned)_xgetbv(0);
#else
        unsigned high;
        leaves = (unsigned)__get_cpuid_max(0, NULL);
        __cpuid_count(1, 0, first[0], first[1], first[2], first[3]);
        if (leaves >= 7) __cpuid_count(7, 0, more[0], more[1], more[2], more[3]);
        if (first[2] >> 27 & 1) __asm__("xgetbv" : "=a"(kept), "=d"(high) : "c"(0));
#endif
        said = SHS__CPU_ASKED;
        if ((kept & 0x6) == 0x6 && (first[2] >> 12 & 1) && (more[1] >> 5 & 1)) said |= SHS__CPU_AVX2; /* and FMA */
        if ((said & SHS__CPU_AVX2) && (kept & 0xe6) == 0xe6 && (more[1] & 0xc0030000u) == 0xc0030000u) /* F, DQ, BW, VL */
            said |= SHS__CPU_AVX512 | (more[2] >> 11 & 1 ? SHS__CPU_VNNI : 0);
        known = said;
    }
    return said;
}
#else
#include <arm_neon.h>

/* Integers of 32 bits from the first four bytes or halves in memory, or fewer, and stored as such. */
SHS__INLINE uint8x8_t shs__neon_few(const void *p, size_t bytes) {
    uint64_t few = 0;
    memcpy(&few, p, bytes);
    return vcreate_u8(few);
}
SHS__INLINE int32x4_t shs__neon_u8(const void *p, size_t n) {
    return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(shs__neon_few(p, n)))));
}
SHS__INLINE int32x4_t shs__neon_u16(const void *p, size_t n) {
    return vreinterpretq_s32_u32(vmovl_u16(vreinterpret_u16_u8(shs__neon_few(p, 2 * n))));
}
SHS__INLINE int32x4_t shs__neon_i16(const void *p, size_t n) {
    return vmovl_s16(vreinterpret_s16_u8(shs__neon_few(p, 2 * n)));
}
SHS__INLINE void shs__neon_put_u16(void *p, int32x4_t v, size_t n) { /* signed ones too: their low bits */
    uint64_t few = vget_lane_u64(vreinterpret_u64_u16(vmovn_u32(vreinterpretq_u32_s32(v))), 0);
    memcpy(p, &few, 2 * n);
}
SHS__INLINE void shs__neon_put_u8(void *p, int32x4_t v, size_t n) {
    uint16x4_t halves = vmovn_u32(vreinterpretq_u32_s32(v));
    uint64_t few = vget_lane_u64(vreinterpret_u64_u8(vmovn_u16(vcombine_u16(halves, halves))), 0);
    memcpy(p, &few, n);
}
#endif
#endif

/* Whether further instances are wanted, and in the float build the kernels of pixels in double; and the name by which this file
   includes itself for them: its own, in quotes, is looked for beside it first (__FILE__ is a path from where the compiler was
   started, which mostly leads nowhere from here). Not known are a program, which is this file only where that is called
   sparsehs.h, and a file into which this one was pasted: it would come twice as a whole. */
#if defined(SPARSEHS_FILE) && defined(__has_include)
#if !__has_include(SPARSEHS_FILE)
#error "sparsehs: SPARSEHS_FILE is no file. Leave it out, or give the name as seen from the folder of sparsehs.h"
#endif
#endif
#if defined(SHS__SIMD) && defined(SHS__X64) && !defined(SPARSEHS_NO_DISPATCH) && !defined(__OPTIMIZE_SIZE__) &&        \
    defined(__has_include) && (defined(SHS__INTRINSICS) || (__STDC_HOSTED__ && !defined(_MSC_VER)))
#if !defined(__AVX512F__) || !defined(__AVX512BW__) || !defined(__AVX512DQ__) || !defined(__AVX512VL__) || !defined(__FMA__)
#define SHS__AVX_WANTED
#endif
#endif
#if defined(SHS__CUBES) && !defined(SPARSEHS_DOUBLE) && !defined(SPARSEHS_NO_DOUBLE)
#define SHS__WIDE_WANTED
#endif
#if (defined(SHS__AVX_WANTED) || defined(SHS__WIDE_WANTED)) && defined(__has_include)
#if defined(SPARSEHS_FILE)
#define SHS__SELF SPARSEHS_FILE
#elif defined(SHS__PASTED)
#elif __INCLUDE_LEVEL__ > 0 && defined(__FILE_NAME__)
#define SHS__SELF __FILE_NAME__
#elif __INCLUDE_LEVEL__ > 0 && __has_include(__FILE__)
#define SHS__SELF __FILE__
#elif __has_include("sparsehs.h")
#define SHS__SELF "sparsehs.h"
#endif
#define SPARSEHS_AGAIN
#ifdef SHS__SELF
#include SHS__SELF /* gives SHS__FOUND alone, and nothing where a guard around a pasted copy hides it */
#endif
#if !defined(SHS__FOUND) && defined(SPARSEHS_FILE)
#error "sparsehs: SPARSEHS_FILE names a file that does not hold sparsehs.h, or hides it"
#endif
#ifdef SHS__FOUND
#ifdef SHS__WIDE_WANTED
#define SHS__WIDE
#endif
#ifdef SHS__AVX_WANTED
#define SHS__AVX512
#if !defined(__AVX2__) || !defined(__FMA__)
#define SHS__AVX2
#endif
#endif
#endif
#endif

#ifdef SHS__AVX2
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define SHS__INSTANCE avx2
#define SHS__VECTOR_BYTES 32
#define SHS__FUSED
#define SHS__WORDS_BYTES 32
#include SHS__SELF
#ifdef SHS__WIDE
#define SHS__INSTANCE avx2
#define SHS__VECTOR_BYTES 32
#define SHS__IN_WIDE
#include SHS__SELF
#endif
#ifdef __clang__
#pragma clang attribute pop
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif
#endif

#ifdef SHS__AVX512
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl"))), apply_to = function)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")
#endif
#define SHS__INSTANCE avx512
#define SHS__VECTOR_BYTES 64
#define SHS__FUSED
#define SHS__WORDS_BYTES 64
#include SHS__SELF
#ifdef SHS__WIDE
#define SHS__INSTANCE avx512
#define SHS__VECTOR_BYTES 64
#define SHS__IN_WIDE
#include SHS__SELF
#endif
#ifdef __clang__
#pragma clang attribute pop
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif
#endif

/* The base follows here, and after it the rest of the implementation. */
#ifdef SHS__WIDE
#define SHS__INSTANCE base
#define SHS__IN_WIDE
#include SHS__SELF
#endif
#undef SPARSEHS_AGAIN
#define SHS__INSTANCE base
#define SHS__REMAINDER

#endif /* SPARSEHS_IMPLEMENTATION_ONCE */
#endif /* SPARSEHS_IMPLEMENTATION */

#ifdef SHS__INSTANCE /* the text: compiled once for each instance */

/* ---- kernels: the vector types ------------------------------------------------------------------------- >>k_types */

/* The base has the vectors that the flags allow. */
#if defined(SHS__SIMD) && !defined(SHS__VECTOR_BYTES)
#if (defined(__FMA__) && defined(__x86_64__)) || (defined(SHS__INTRINSICS) && defined(SHS__ARM64))
#define SHS__FUSED
#endif
#ifdef SHS__INTRINSICS /* those whose names are known here */
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__) && defined(SHS__FUSED)
#define SHS__VECTOR_BYTES 64
#define SHS__BASE "AVX-512"
#elif defined(__AVX2__) && defined(SHS__FUSED)
#define SHS__VECTOR_BYTES 32
#define SHS__BASE "AVX2"
#elif defined(SHS__X64)
#undef SHS__FUSED
#define SHS__VECTOR_BYTES 16
#define SHS__BASE "SSE2"
#else
#define SHS__VECTOR_BYTES 16
#define SHS__BASE "NEON"
#endif
#elif defined(__AVX512F__)
#define SHS__VECTOR_BYTES 64
#define SHS__BASE "AVX-512"
#elif defined(__AVX__)
#define SHS__VECTOR_BYTES 32
#ifdef __AVX2__
#define SHS__BASE "AVX2"
#else
#define SHS__BASE "AVX"
#endif
#elif defined(__SSE2__)
#define SHS__VECTOR_BYTES 16
#define SHS__BASE "SSE2"
#elif defined(__ARM_NEON)
#define SHS__VECTOR_BYTES 16
#define SHS__BASE "NEON"
#elif defined(__ALTIVEC__) || defined(__wasm_simd128__)
#define SHS__VECTOR_BYTES 16
#define SHS__BASE "16-byte vectors"
#endif
#if defined(SHS__INTRINSICS) && (defined(SHS__X64) || defined(__ARM_FEATURE_DOTPROD))
#define SHS__WORDS_BYTES SHS__VECTOR_BYTES
#elif defined(SHS__INTRINSICS)
#elif defined(__AVX512F__) && defined(__AVX512BW__)
#define SHS__WORDS_BYTES 64
#elif defined(__AVX2__)
#define SHS__WORDS_BYTES 32
#elif defined(__SSE2__) || (defined(__ARM_FEATURE_DOTPROD) && defined(__aarch64__) && !defined(__AARCH64EB__))
#define SHS__WORDS_BYTES 16
#endif
#endif

#ifdef SHS__IN_WIDE
#define SHS__IN(name) SHS__JOIN(shs__wide_##name##_, SHS__INSTANCE)
#else
#define SHS__IN(name) SHS__JOIN(shs__##name##_, SHS__INSTANCE)
#endif
#define SHS__JOIN(a, b) SHS__JOIN_NOW(a, b)
#define SHS__JOIN_NOW(a, b) a##b

/* gcc multiplies and adds in one operation of its own accord in its GNU modes only, clang within an expression; nothing
   here depends on whether it happens. The pragma has to end with the text, or it would change the user's code. */
#if defined(SHS__SIMD) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=fast")
#endif
/* Tuned for some processors clang would do the work of one vector of 64 bytes in two, and run out of registers. */
#if defined(__clang__) && defined(SHS__VECTOR_BYTES) && defined(__has_attribute)
#if SHS__VECTOR_BYTES == 64 && __has_attribute(min_vector_width)
#define SHS__WHOLE_VECTORS
#pragma clang attribute push(__attribute__((min_vector_width(512))), apply_to = function)
#endif
#endif

/* A vector holds SHS__LANES elements, or SHS__WLANES of shs_wide. An element is a shs_real; in a text in wide, a shs_wide.
   Without vectors SHS__VECTOR_BYTES is not defined; then a vector is a plain number, one lane, and the same code holds. */
#ifdef SHS__IN_WIDE
#define shs__element shs_wide
#else
#define shs__element shs_real
#endif
#if defined(SPARSEHS_DOUBLE) || defined(SHS__IN_WIDE)
#define SHS__ELEMENT_64
typedef int64_t SHS__IN(lane);  /* an integer as wide as an element */
#define SHS__LANE_MAX INT64_MAX /* all bits but the sign */
#define SHS__EXPONENT ((int64_t)0x7ff << 52)
#define SHS__BIAS 1023
#define SHS__FRACTION 52 /* bits */
#else
typedef int32_t SHS__IN(lane);
#define SHS__LANE_MAX INT32_MAX
#define SHS__EXPONENT 0x7f800000
#define SHS__BIAS 127
#define SHS__FRACTION 23
#endif
#define shs__vec SHS__IN(vec)
#define shs__wvec SHS__IN(wvec)
#ifdef SHS__VECTOR_BYTES
#define SHS__LANES (SHS__VECTOR_BYTES / (int)sizeof(shs__element))
#define SHS__WLANES (SHS__VECTOR_BYTES / (int)sizeof(shs_wide))
#else
#define SHS__LANES 1
#define SHS__WLANES 1
#endif
#if defined(SHS__VECTOR_BYTES) && SHS__VECTOR_BYTES == 64
#define SHS__NR 8 /* columns of a tile of a product */
#else
#define SHS__NR 4
#endif

/* ---- kernels: the operations ---------------------------------------------------------------------- >>k_operations */

/* Kernels calculate with vectors by these operations alone, so that one text serves every way to have vectors. An operation on
   elements, and with W before its name on shs_wide:

       LOAD(p)  STORE(p, v)         from and to memory of any alignment
       ALL(x)                       x in all lanes
       ADD SUB MUL DIV (a, b)       a + b, a - b, a b, a / b
       FMA FMS FNMA (a, b, c)       a b + c, a b - c, c - a b: rounded once where the processor and the compiler's flags allow
       ABOVE(a, b)                  a mask: the lanes in which a > b
       PICK(mask, a, b)             a in the lanes of the mask, else b

   On elements alone:

       WHERE(mask, x)               x in the lanes of the mask, else 0
       ABS(v)  SIGNED_AS(a, v)      |v|; a >= 0 with the sign of v
       IS_NAN(v)                    a mask
       INDICES(i)                   an index, an integer, in all lanes of a vector of integers, shs__index
       PICK_INDEX(mask, i, j)       as PICK
       WINS(b, a, j, i)             a mask: b > a, or b = a and index j < i
       TRUNCATE(v)  WHOLE(k)        to integers toward zero, of type shs__whole; back
       SCALE_DOWN(v, k)             2^-k v, k >= 0, also where that is subnormal

   and between kinds of numbers:

       WIDEN(p)                     as many elements as there are lanes of shs_wide, as shs_wide
       LOAD_U8 LOAD_I16 LOAD_U16 LOAD_F32 (p)   as elements
       WLOAD_I32(p)                 as shs_wide
       WSTORE_U8 WSTORE_I16 WSTORE_U16 WSTORE_F32 WSTORE_ELEMENT (p, w)   in range already; integers rounded toward zero

   COPY_ROW(to, scale, from) and transpose_four, out of place, serve the packing of matrices, and flags to find what is not
   finite: after OR_EXPONENT(flags, v, least) a sign is set where the exponent of v has `least` or more. */
/* Single numbers, where a text holds for these as well. */
#define SHS__ONE_ALL(x) (x)
#define SHS__ONE_ADD(a, b) ((a) + (b))
#define SHS__ONE_SUB(a, b) ((a) - (b))
#define SHS__ONE_MUL(a, b) ((a) * (b))
#define SHS__ONE_DIV(a, b) ((a) / (b))
#define SHS__ONE_ABOVE(a, b) ((a) > (b))
#define SHS__ONE_PICK(condition, a, b) ((condition) ? (a) : (b))

#if defined(SHS__VECTOR_BYTES) && defined(SHS__INTRINSICS)
/* The compiler's functions for single instructions. SHS__OP(add_) is the one for elements, such as _mm512_add_ps, and SHS__WOP
   the one for shs_wide. What has other names for vectors of 16, 32 and 64 bytes has a line for each. Indices are integers
   in the lanes of a float, or whole numbers of type double. */
#ifdef SHS__ELEMENT_64
#define SHS__PS SHS__F64
#else
#define SHS__PS SHS__F32
#endif
#ifdef SPARSEHS_NO_DOUBLE
#define SHS__WPS SHS__F32
#else
#define SHS__WPS SHS__F64
#endif
#define SHS__SIZED(name, kind) SHS__JOIN(name, SHS__JOIN(SHS__VECTOR_BYTES, kind))
#define shs__index shs__vec
#define shs__whole shs__vec
#define shs__mask SHS__SIZED(SHS__MASK_, SHS__PS)
#define SHS__PICK_INDEX(mask, i, j) SHS__PICK(mask, i, j)
#define SHS__WHOLE(k) (k)
#define SHS__SWAP(bytes, v) SHS__SIZED(SHS__JOIN(SHS__SWAP, SHS__JOIN(bytes, _)), SHS__PS)(v)
#define SHS__WSWAP(bytes, v) SHS__SIZED(SHS__JOIN(SHS__SWAP, SHS__JOIN(bytes, _)), SHS__WPS)(v)
#if defined(SHS__ELEMENT_64) || defined(SPARSEHS_NO_DOUBLE)
#define SHS__WIDEN(p) SHS__WLOAD(p)
#define SHS__WSTORE_ELEMENT(p, w) SHS__WSTORE(p, w)
#else
#define SHS__WIDEN(p) SHS__LOAD_F32(p)
#define SHS__WSTORE_ELEMENT(p, w) SHS__WSTORE_F32(p, w)
#endif
/* A number that moves k to the lowest bits of the fraction: shifted up they are the exponent of 2^-k. */
#ifdef SHS__ELEMENT_64
#define SHS__MAGIC (6755399441055744.0 + SHS__BIAS)
#else
#define SHS__MAGIC (12582912.0f + SHS__BIAS)
#endif
#define SHS__SHRINK(v, k) SHS__MUL(SHS__MUL(v, SHS__POWER(SHS__HALF(k))), SHS__POWER(SHS__SUB(k, SHS__HALF(k))))
#define SHS__HALF(k) SHS__TRUNCATE(SHS__MUL(k, SHS__ALL((shs__element)0.5)))
#define SHS__POWER(k) SHS__SHIFT_TO_EXPONENT(SHS__SUB(SHS__ALL(SHS__MAGIC), k))

#ifdef SHS__X64
#define SHS__F32 ps
#define SHS__F64 pd
#if SHS__VECTOR_BYTES == 64
#define SHS__MM _mm512_
#define SHS__SI 512
#elif SHS__VECTOR_BYTES == 32
#define SHS__MM _mm256_
#define SHS__SI 256
#else
#define SHS__MM _mm_
#define SHS__SI 128
#endif
#define SHS__OF(name, kind) SHS__JOIN(SHS__MM, SHS__JOIN(name, kind))
#define SHS__OP(name) SHS__OF(name, SHS__PS)
#define SHS__WOP(name) SHS__OF(name, SHS__WPS)
#define SHS__TYPE_64ps __m512
#define SHS__TYPE_64pd __m512d
#define SHS__TYPE_32ps __m256
#define SHS__TYPE_32pd __m256d
#define SHS__TYPE_16ps __m128
#define SHS__TYPE_16pd __m128d
#define SHS__MASK_64ps __mmask16
#define SHS__MASK_64pd __mmask8
#define SHS__MASK_32ps __m256
#define SHS__MASK_32pd __m256d
#define SHS__MASK_16ps __m128
#define SHS__MASK_16pd __m128d
#define SHS__PREFETCH(p) _mm_prefetch((const char *)(p), _MM_HINT_T0)
#define SHS__LOAD(p) SHS__OP(loadu_)(p)
#define SHS__WLOAD(p) SHS__WOP(loadu_)(p)
#define SHS__STORE(p, v) SHS__OP(storeu_)(p, v)
#define SHS__WSTORE(p, v) SHS__WOP(storeu_)(p, v)
#define SHS__ALL(x) SHS__OP(set1_)(x)
#define SHS__WALL(x) SHS__WOP(set1_)(x)
#define SHS__ADD(a, b) SHS__OP(add_)(a, b)
#define SHS__SUB(a, b) SHS__OP(sub_)(a, b)
#define SHS__MUL(a, b) SHS__OP(mul_)(a, b)
#define SHS__DIV(a, b) SHS__OP(div_)(a, b)
#define SHS__WADD(a, b) SHS__WOP(add_)(a, b)
#define SHS__WSUB(a, b) SHS__WOP(sub_)(a, b)
#define SHS__WMUL(a, b) SHS__WOP(mul_)(a, b)
#define SHS__WDIV(a, b) SHS__WOP(div_)(a, b)
#ifdef SHS__FUSED
#define SHS__FMA(a, b, c) SHS__OP(fmadd_)(a, b, c)
#define SHS__FMS(a, b, c) SHS__OP(fmsub_)(a, b, c)
#define SHS__FNMA(a, b, c) SHS__OP(fnmadd_)(a, b, c)
#define SHS__WFMA(a, b, c) SHS__WOP(fmadd_)(a, b, c)
#define SHS__WFMS(a, b, c) SHS__WOP(fmsub_)(a, b, c)
#else
#define SHS__FMA(a, b, c) SHS__ADD(SHS__MUL(a, b), c)
#define SHS__FMS(a, b, c) SHS__SUB(SHS__MUL(a, b), c)
#define SHS__FNMA(a, b, c) SHS__SUB(c, SHS__MUL(a, b))
#define SHS__WFMA(a, b, c) SHS__WADD(SHS__WMUL(a, b), c)
#define SHS__WFMS(a, b, c) SHS__WSUB(SHS__WMUL(a, b), c)
#endif
#define SHS__COMPARE_64(kind, how, a, b) SHS__JOIN(_mm512_cmp_, SHS__JOIN(kind, _mask))(a, b, SHS__JOIN(SHS__CMP_, how))
#define SHS__COMPARE_32(kind, how, a, b) SHS__JOIN(_mm256_cmp_, kind)(a, b, SHS__JOIN(SHS__CMP_, how))
#define SHS__COMPARE_16(kind, how, a, b) SHS__JOIN(_mm_cmp, SHS__JOIN(how, SHS__JOIN(_, kind)))(a, b)
#define SHS__CMP_gt _CMP_GT_OQ
#define SHS__CMP_eq _CMP_EQ_OQ
#define SHS__CMP_unord _CMP_UNORD_Q
#define SHS__COMPARE(kind, how, a, b) SHS__JOIN(SHS__COMPARE_, SHS__VECTOR_BYTES)(kind, how, a, b)
#define SHS__ABOVE(a, b) SHS__COMPARE(SHS__PS, gt, a, b)
#define SHS__WABOVE(a, b) SHS__COMPARE(SHS__WPS, gt, a, b)
#define SHS__IS_NAN(v) SHS__COMPARE(SHS__PS, unord, v, v)
#define SHS__PICK_64(kind, mask, a, b) SHS__OF(mask_blend_, kind)(mask, b, a)
#define SHS__PICK_32(kind, mask, a, b) SHS__OF(blendv_, kind)(b, a, mask)
#define SHS__PICK_16(kind, mask, a, b) SHS__OF(or_, kind)(SHS__OF(and_, kind)(mask, a), SHS__OF(andnot_, kind)(mask, b))
#define SHS__PICK(mask, a, b) SHS__JOIN(SHS__PICK_, SHS__VECTOR_BYTES)(SHS__PS, mask, a, b)
#define SHS__WPICK(mask, a, b) SHS__JOIN(SHS__PICK_, SHS__VECTOR_BYTES)(SHS__WPS, mask, a, b)
#if SHS__VECTOR_BYTES == 64
#define SHS__WHERE(mask, x) SHS__OP(maskz_mov_)(mask, x)
#define SHS__MASK_OR_AND(a, b, c) ((shs__mask)((a) | ((b) & (c))))
#else
#define SHS__WHERE(mask, x) SHS__OP(and_)(mask, x)
#define SHS__MASK_OR_AND(a, b, c) SHS__OP(or_)(a, SHS__OP(and_)(b, c))
#endif
#define SHS__WINS(b, a, j, i) SHS__MASK_OR_AND(SHS__ABOVE(b, a), SHS__COMPARE(SHS__PS, eq, b, a), SHS__EARLIER(j, i))
/* The same bits as integers, and back. */
#define SHS__OF_BITS(v) SHS__JOIN(SHS__MM, SHS__JOIN(SHS__JOIN(castsi, SHS__SI), SHS__JOIN(_, SHS__PS)))(v)
#define SHS__BITS(v) SHS__JOIN(SHS__MM, SHS__JOIN(SHS__JOIN(cast, SHS__PS), SHS__JOIN(_si, SHS__SI)))(v)
#ifdef SHS__ELEMENT_64
#define SHS__INDICES(i) SHS__ALL((double)(i))
#define SHS__EARLIER(j, i) SHS__ABOVE(i, j)
#define SHS__ADD_INDICES(i, j) SHS__ADD(i, j)
#define SHS__EPI epi64
#define SHS__ALL_BITS_64(x) _mm512_set1_epi64(x)
#define SHS__ALL_BITS_32(x) _mm256_set1_epi64x(x)
#define SHS__ALL_BITS_16(x) _mm_set1_epi64x(x)
#define SHS__ALL_BITS(x) SHS__OF_BITS(SHS__JOIN(SHS__ALL_BITS_, SHS__VECTOR_BYTES)(x))
#else
#define SHS__EPI epi32
#define SHS__ALL_BITS(x) SHS__OF_BITS(SHS__OF(set1_, epi32)(x))
#define SHS__INDICES(i) SHS__ALL_BITS(i)
#define SHS__EARLIER_64(a, b) _mm512_cmpgt_epi32_mask(a, b)
#define SHS__EARLIER_32(a, b) _mm256_castsi256_ps(_mm256_cmpgt_epi32(a, b))
#define SHS__EARLIER_16(a, b) _mm_castsi128_ps(_mm_cmpgt_epi32(a, b))
#define SHS__EARLIER(j, i) SHS__JOIN(SHS__EARLIER_, SHS__VECTOR_BYTES)(SHS__BITS(i), SHS__BITS(j))
#define SHS__ADD_INDICES(i, j) SHS__OF_BITS(SHS__OF(add_, epi32)(SHS__BITS(i), SHS__BITS(j)))
#endif
#define SHS__ABS(v) SHS__OP(and_)(SHS__ALL_BITS(SHS__LANE_MAX), v)
#define SHS__SIGNED_AS(a, v) SHS__OP(or_)(a, SHS__OP(and_)(SHS__ALL_BITS(~SHS__LANE_MAX), v))
#define SHS__OR_EXPONENT(flags, v, least)                                                                              \
    SHS__OP(or_)(flags, SHS__OF_BITS(SHS__OF(sub_, SHS__EPI)(SHS__BITS(SHS__ALL_BITS((least)-1)),                      \
                                                             SHS__BITS(SHS__OP(and_)(v, SHS__ALL_BITS(SHS__EXPONENT))))))
#define SHS__SHIFT_TO_EXPONENT(v) SHS__OF_BITS(SHS__OF(slli_, SHS__EPI)(SHS__BITS(v), SHS__FRACTION))
#define SHS__TO_INTS(kind, v) SHS__OF(cvtt, SHS__JOIN(kind, _epi32))(v)
#define SHS__TRUNCATE(v) SHS__OP(cvtepi32_)(SHS__TO_INTS(SHS__PS, v))
#if SHS__VECTOR_BYTES == 64
#undef SHS__SHRINK
#define SHS__SHRINK(v, k) SHS__OP(scalef_)(v, SHS__SUB(SHS__ALL(0), k))
#endif
#define SHS__SWAP32_64ps(v) _mm512_shuffle_f32x4(v, v, 0x4e)
#define SHS__SWAP16_64ps(v) _mm512_shuffle_f32x4(v, v, 0xb1)
#define SHS__SWAP8_64ps(v) _mm512_permute_ps(v, 0x4e)
#define SHS__SWAP4_64ps(v) _mm512_permute_ps(v, 0xb1)
#define SHS__SWAP32_64pd(v) _mm512_shuffle_f64x2(v, v, 0x4e)
#define SHS__SWAP16_64pd(v) _mm512_shuffle_f64x2(v, v, 0xb1)
#define SHS__SWAP8_64pd(v) _mm512_permute_pd(v, 0x55)
#define SHS__SWAP16_32ps(v) _mm256_permute2f128_ps(v, v, 1)
#define SHS__SWAP8_32ps(v) _mm256_permute_ps(v, 0x4e)
#define SHS__SWAP4_32ps(v) _mm256_permute_ps(v, 0xb1)
#define SHS__SWAP16_32pd(v) _mm256_permute2f128_pd(v, v, 1)
#define SHS__SWAP8_32pd(v) _mm256_permute_pd(v, 5)
#define SHS__SWAP8_16ps(v) _mm_shuffle_ps(v, v, 0x4e)
#define SHS__SWAP4_16ps(v) _mm_shuffle_ps(v, v, 0xb1)
#define SHS__SWAP8_16pd(v) _mm_shuffle_pd(v, v, 1)
/* Kinds of numbers: integers of 32 bits on the way, as many as the vector has lanes. */
#define SHS__INTS_64ps(type, p) SHS__JOIN(SHS__INTS16_, type)(p)
#define SHS__INTS_64pd(type, p) SHS__JOIN(SHS__INTS8_, type)(p)
#define SHS__INTS_32ps(type, p) SHS__JOIN(SHS__INTS8_, type)(p)
#define SHS__INTS_32pd(type, p) SHS__JOIN(SHS__INTS4_, type)(p)
#define SHS__INTS_16ps(type, p) SHS__JOIN(SHS__INTS4_, type)(p)
#define SHS__INTS_16pd(type, p) SHS__JOIN(SHS__INTS2_, type)(p)
#define SHS__INTS16_u8(p) _mm512_cvtepu8_epi32(SHS__LOAD128(p))
#define SHS__INTS16_i16(p) _mm512_cvtepi16_epi32(SHS__LOAD256(p))
#define SHS__INTS16_u16(p) _mm512_cvtepu16_epi32(SHS__LOAD256(p))
#define SHS__INTS8_u8(p) _mm256_cvtepu8_epi32(SHS__LOAD64(p))
#define SHS__INTS8_i16(p) _mm256_cvtepi16_epi32(SHS__LOAD128(p))
#define SHS__INTS8_u16(p) _mm256_cvtepu16_epi32(SHS__LOAD128(p))
#define SHS__INTS8_i32(p) SHS__LOAD256(p)
#define SHS__INTS4_u8(p) shs__x86_from_u8(shs__x86_few(p, 4))
#define SHS__INTS4_i16(p) shs__x86_from_i16(SHS__LOAD64(p))
#define SHS__INTS4_u16(p) shs__x86_from_u16(SHS__LOAD64(p))
#define SHS__INTS4_i32(p) SHS__LOAD128(p)
#define SHS__INTS2_u8(p) shs__x86_from_u8(shs__x86_few(p, 2))
#define SHS__INTS2_i16(p) shs__x86_from_i16(shs__x86_few(p, 4))
#define SHS__INTS2_u16(p) shs__x86_from_u16(shs__x86_few(p, 4))
#define SHS__INTS2_i32(p) SHS__LOAD64(p)
#define SHS__LOAD256(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define SHS__LOAD128(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define SHS__LOAD64(p) _mm_loadl_epi64((const __m128i *)(const void *)(p))
#define SHS__LOAD_U8(p) SHS__OP(cvtepi32_)(SHS__SIZED(SHS__INTS_, SHS__PS)(u8, p))
#define SHS__LOAD_I16(p) SHS__OP(cvtepi32_)(SHS__SIZED(SHS__INTS_, SHS__PS)(i16, p))
#define SHS__LOAD_U16(p) SHS__OP(cvtepi32_)(SHS__SIZED(SHS__INTS_, SHS__PS)(u16, p))
#define SHS__WLOAD_I32(p) SHS__WOP(cvtepi32_)(SHS__SIZED(SHS__INTS_, SHS__WPS)(i32, p))
#define SHS__LOAD_F32(p) SHS__JOIN(SHS__LOAD_F32_, SHS__VECTOR_BYTES)(p)
#define SHS__LOAD_F32_64(p) _mm512_cvtps_pd(_mm256_loadu_ps(p))
#define SHS__LOAD_F32_32(p) _mm256_cvtps_pd(_mm_loadu_ps(p))
#define SHS__LOAD_F32_16(p) _mm_cvtps_pd(_mm_castsi128_ps(SHS__LOAD64(p)))
#ifdef SPARSEHS_NO_DOUBLE
#define SHS__WSTORE_F32(p, w) SHS__WSTORE(p, w)
#else
#define SHS__WSTORE_F32(p, w) SHS__JOIN(SHS__WSTORE_F32_, SHS__VECTOR_BYTES)(p, w)
#endif
#define SHS__WSTORE_F32_64(p, w) _mm256_storeu_ps((float *)(p), _mm512_cvtpd_ps(w))
#define SHS__WSTORE_F32_32(p, w) _mm_storeu_ps((float *)(p), _mm256_cvtpd_ps(w))
#define SHS__WSTORE_F32_16(p, w) _mm_storel_epi64((__m128i *)(void *)(p), _mm_castps_si128(_mm_cvtpd_ps(w)))
#define SHS__WSTORE_U8(p, w) SHS__SIZED(SHS__PUT_, SHS__WPS)(p, SHS__TO_INTS(SHS__WPS, w), u8, epi8)
#define SHS__WSTORE_I16(p, w) SHS__SIZED(SHS__PUT_, SHS__WPS)(p, SHS__TO_INTS(SHS__WPS, w), i16, epi16)
#define SHS__WSTORE_U16(p, w) SHS__SIZED(SHS__PUT_, SHS__WPS)(p, SHS__TO_INTS(SHS__WPS, w), u16, epi16)
#define SHS__PUT_64ps(p, ints, type, narrow) SHS__JOIN(SHS__PUT16_, narrow)(p, ints)
#define SHS__PUT_64pd(p, ints, type, narrow) SHS__JOIN(SHS__PUT8_, narrow)(p, ints)
#define SHS__PUT_32ps(p, ints, type, narrow)                                                                           \
    (SHS__JOIN(shs__x86_to_, type)(p, _mm256_castsi256_si128(ints), 4),                                                \
     SHS__JOIN(shs__x86_to_, type)((p) + 4, _mm256_extracti128_si256(ints, 1), 4))
#define SHS__PUT_32pd(p, ints, type, narrow) SHS__JOIN(shs__x86_to_, type)(p, ints, 4)
#define SHS__PUT_16ps(p, ints, type, narrow) SHS__JOIN(shs__x86_to_, type)(p, ints, 4)
#define SHS__PUT_16pd(p, ints, type, narrow) SHS__JOIN(shs__x86_to_, type)(p, ints, 2)
#define SHS__PUT16_epi8(p, ints) _mm_storeu_si128((__m128i *)(void *)(p), _mm512_cvtepi32_epi8(ints))
#define SHS__PUT16_epi16(p, ints) _mm256_storeu_si256((__m256i *)(void *)(p), _mm512_cvtepi32_epi16(ints))
#define SHS__PUT8_epi8(p, ints) _mm_storel_epi64((__m128i *)(void *)(p), _mm256_cvtepi32_epi8(ints))
#define SHS__PUT8_epi16(p, ints) _mm_storeu_si128((__m128i *)(void *)(p), _mm256_cvtepi32_epi16(ints))
/* Sixteen bytes, whatever the vectors are. */
#define SHS__OP16(name) SHS__JOIN(_mm_, SHS__JOIN(name, SHS__PS))
#define SHS__LOAD_FEW(p) SHS__OP16(loadu_)(p)
#define SHS__STORE_FEW(p, v) SHS__OP16(storeu_)(p, v)
#define SHS__SCALE_FEW(scale, v) SHS__OP16(mul_)(SHS__OP16(set1_)(scale), v)
#define SHS__ZIP_LOW(a, b) SHS__OP16(unpacklo_)(a, b)
#define SHS__ZIP_HIGH(a, b) SHS__OP16(unpackhi_)(a, b)
#define shs__few SHS__JOIN(SHS__TYPE_16, SHS__PS)
#else /* NEON */
#define SHS__F32 f32
#define SHS__F64 f64
#define SHS__OP(name) SHS__JOIN(name, SHS__PS)
#define SHS__WOP(name) SHS__JOIN(name, SHS__WPS)
#define SHS__TYPE_16f32 float32x4_t
#define SHS__TYPE_16f64 float64x2_t
#define SHS__MASK_16f32 uint32x4_t
#define SHS__MASK_16f64 uint64x2_t
#ifdef _MSC_VER
#define SHS__PREFETCH(p) __prefetch(p)
#else
#define SHS__PREFETCH(p) __builtin_prefetch(p)
#endif
#define SHS__LOAD(p) SHS__OP(vld1q_)(p)
#define SHS__WLOAD(p) SHS__WOP(vld1q_)(p)
#define SHS__STORE(p, v) SHS__OP(vst1q_)(p, v)
#define SHS__WSTORE(p, v) SHS__WOP(vst1q_)(p, v)
#define SHS__ALL(x) SHS__OP(vdupq_n_)(x)
#define SHS__WALL(x) SHS__WOP(vdupq_n_)(x)
#define SHS__ADD(a, b) SHS__OP(vaddq_)(a, b)
#define SHS__SUB(a, b) SHS__OP(vsubq_)(a, b)
#define SHS__MUL(a, b) SHS__OP(vmulq_)(a, b)
#define SHS__DIV(a, b) SHS__OP(vdivq_)(a, b)
#define SHS__WADD(a, b) SHS__WOP(vaddq_)(a, b)
#define SHS__WSUB(a, b) SHS__WOP(vsubq_)(a, b)
#define SHS__WMUL(a, b) SHS__WOP(vmulq_)(a, b)
#define SHS__WDIV(a, b) SHS__WOP(vdivq_)(a, b)
#define SHS__FMA(a, b, c) SHS__OP(vfmaq_)(c, a, b)
#define SHS__FMS(a, b, c) SHS__OP(vnegq_)(SHS__OP(vfmsq_)(c, a, b))
#define SHS__FNMA(a, b, c) SHS__OP(vfmsq_)(c, a, b)
#define SHS__WFMA(a, b, c) SHS__WOP(vfmaq_)(c, a, b)
#define SHS__WFMS(a, b, c) SHS__WOP(vnegq_)(SHS__WOP(vfmsq_)(c, a, b))
#define SHS__ABOVE(a, b) SHS__OP(vcgtq_)(a, b)
#define SHS__WABOVE(a, b) SHS__WOP(vcgtq_)(a, b)
#define SHS__PICK(mask, a, b) SHS__OP(vbslq_)(mask, a, b)
#define SHS__WPICK(mask, a, b) SHS__WOP(vbslq_)(mask, a, b)
#define SHS__WHERE(mask, x) SHS__PICK(mask, x, SHS__ALL(0))
#define SHS__IS_NAN(v) SHS__ABOVE_ALL(SHS__BITS(SHS__ABS(v)), SHS__EXPONENT)
#define SHS__ABS(v) SHS__OP(vabsq_)(v)
#define SHS__TRUNCATE(v) SHS__OP(vrndq_)(v)
#ifdef SHS__ELEMENT_64
#define SHS__BITS(v) vreinterpretq_s64_f64(v)
#define SHS__OF_BITS(v) vreinterpretq_f64_s64(v)
#define SHS__ABOVE_ALL(v, x) vcgtq_s64(v, vdupq_n_s64(x))
#define SHS__INDICES(i) SHS__ALL((double)(i))
#define SHS__ADD_INDICES(i, j) SHS__ADD(i, j)
#define SHS__WINS(b, a, j, i) vorrq_u64(SHS__ABOVE(b, a), vandq_u64(vceqq_f64(b, a), SHS__ABOVE(i, j)))
#define SHS__SIGNED_AS(a, v) vbslq_f64(vdupq_n_u64((uint64_t)1 << 63), v, a)
#define SHS__OR_EXPONENT(flags, v, least)                                                                              \
    SHS__OF_BITS(vorrq_s64(SHS__BITS(flags), vsubq_s64(vdupq_n_s64((least)-1),                                         \
                                                       vandq_s64(SHS__BITS(v), vdupq_n_s64(SHS__EXPONENT)))))
#define SHS__SHIFT_TO_EXPONENT(v) SHS__OF_BITS(vshlq_n_s64(SHS__BITS(v), SHS__FRACTION))
#define SHS__OF_INTS(v) vcvtq_f64_s64(vmovl_s32(vget_low_s32(v)))
#else
#define SHS__BITS(v) vreinterpretq_s32_f32(v)
#define SHS__OF_BITS(v) vreinterpretq_f32_s32(v)
#define SHS__ABOVE_ALL(v, x) vcgtq_s32(v, vdupq_n_s32(x))
#define SHS__INDICES(i) SHS__OF_BITS(vdupq_n_s32(i))
#define SHS__ADD_INDICES(i, j) SHS__OF_BITS(vaddq_s32(SHS__BITS(i), SHS__BITS(j)))
#define SHS__WINS(b, a, j, i)                                                                                          \
    vorrq_u32(SHS__ABOVE(b, a), vandq_u32(vceqq_f32(b, a), vcgtq_s32(SHS__BITS(i), SHS__BITS(j))))
#define SHS__SIGNED_AS(a, v) vbslq_f32(vdupq_n_u32((uint32_t)1 << 31), v, a)
#define SHS__OR_EXPONENT(flags, v, least)                                                                              \
    SHS__OF_BITS(vorrq_s32(SHS__BITS(flags), vsubq_s32(vdupq_n_s32((least)-1),                                         \
                                                       vandq_s32(SHS__BITS(v), vdupq_n_s32(SHS__EXPONENT)))))
#define SHS__SHIFT_TO_EXPONENT(v) SHS__OF_BITS(vshlq_n_s32(SHS__BITS(v), SHS__FRACTION))
#define SHS__OF_INTS(v) vcvtq_f32_s32(v)
#endif
#define SHS__SWAP8_16f32(v) vextq_f32(v, v, 2)
#define SHS__SWAP4_16f32(v) vrev64q_f32(v)
#define SHS__SWAP8_16f64(v) vextq_f64(v, v, 1)
#define SHS__LOAD_U8(p) SHS__OF_INTS(shs__neon_u8(p, SHS__LANES))
#define SHS__LOAD_I16(p) SHS__OF_INTS(shs__neon_i16(p, SHS__LANES))
#define SHS__LOAD_U16(p) SHS__OF_INTS(shs__neon_u16(p, SHS__LANES))
#define SHS__LOAD_F32(p) vcvt_f64_f32(vld1_f32(p))
#define SHS__WLOAD_I32(p) vcvtq_f64_s64(vmovl_s32(vld1_s32(p)))
#ifdef SPARSEHS_NO_DOUBLE
#define SHS__TO_INTS(w) vcvtq_s32_f32(w)
#define SHS__WSTORE_F32(p, w) SHS__WSTORE(p, w)
#else
#define SHS__TO_INTS(w) vcombine_s32(vmovn_s64(vcvtq_s64_f64(w)), vdup_n_s32(0))
#define SHS__WSTORE_F32(p, w) vst1_f32((float *)(p), vcvt_f32_f64(w))
#endif
#define SHS__WSTORE_U8(p, w) shs__neon_put_u8(p, SHS__TO_INTS(w), SHS__WLANES)
#define SHS__WSTORE_I16(p, w) shs__neon_put_u16(p, SHS__TO_INTS(w), SHS__WLANES)
#define SHS__WSTORE_U16(p, w) shs__neon_put_u16(p, SHS__TO_INTS(w), SHS__WLANES)
#define SHS__LOAD_FEW(p) SHS__LOAD(p)
#define SHS__STORE_FEW(p, v) SHS__STORE(p, v)
#define SHS__SCALE_FEW(scale, v) SHS__MUL(SHS__ALL(scale), v)
#define SHS__ZIP_LOW(a, b) SHS__OP(vzip1q_)(a, b)
#define SHS__ZIP_HIGH(a, b) SHS__OP(vzip2q_)(a, b)
#define shs__few shs__vec
#endif /* of processors */
typedef SHS__SIZED(SHS__TYPE_, SHS__PS) shs__vec;
typedef SHS__SIZED(SHS__TYPE_, SHS__WPS) shs__wvec;

/* Four columns by four rows: of 8-byte elements in four blocks of two. */
SHS__PRIVATE void SHS__IN(transpose_four)(shs__element scale, const shs__element *s, size_t lds, shs__element *d, size_t ldd) {
#ifdef SHS__ELEMENT_64
    int i, j;
    for (j = 0; j < 4; j += 2)
        for (i = 0; i < 4; i += 2) {
            shs__few a = SHS__LOAD_FEW(SHS__AT(s, lds, i, j)), b = SHS__LOAD_FEW(SHS__AT(s, lds, i, j + 1));
            SHS__STORE_FEW(SHS__AT(d, ldd, j, i), SHS__SCALE_FEW(scale, SHS__ZIP_LOW(a, b)));
            SHS__STORE_FEW(SHS__AT(d, ldd, j, i + 1), SHS__SCALE_FEW(scale, SHS__ZIP_HIGH(a, b)));
        }
#else
    shs__few a = SHS__LOAD_FEW(s), b = SHS__LOAD_FEW(s + lds), c = SHS__LOAD_FEW(s + 2 * lds), e = SHS__LOAD_FEW(s + 3 * lds);
    shs__few ac_low = SHS__ZIP_LOW(a, c), ac_high = SHS__ZIP_HIGH(a, c);
    shs__few be_low = SHS__ZIP_LOW(b, e), be_high = SHS__ZIP_HIGH(b, e);
    SHS__STORE_FEW(d, SHS__SCALE_FEW(scale, SHS__ZIP_LOW(ac_low, be_low)));
    SHS__STORE_FEW(d + ldd, SHS__SCALE_FEW(scale, SHS__ZIP_HIGH(ac_low, be_low)));
    SHS__STORE_FEW(d + 2 * ldd, SHS__SCALE_FEW(scale, SHS__ZIP_LOW(ac_high, be_high)));
    SHS__STORE_FEW(d + 3 * ldd, SHS__SCALE_FEW(scale, SHS__ZIP_HIGH(ac_high, be_high)));
#endif
}
SHS__INLINE void SHS__IN(copy_row)(shs__element *to, shs__element scale, const shs__element *from) {
    const size_t few = 16 / sizeof *to;
    size_t i;
    for (i = 0; i < SHS__NR; i += few) SHS__STORE_FEW(to + i, SHS__SCALE_FEW(scale, SHS__LOAD_FEW(from + i)));
}
#define SHS__COPY_ROW(to, scale, from) SHS__IN(copy_row)(to, scale, from)
/* The halves of a vector, of its half, and so on down to one lane, X(bytes). */
#if SHS__VECTOR_BYTES == 64
#define SHS__HALVES(X) X(32) X(16) X(8)
#elif SHS__VECTOR_BYTES == 32
#define SHS__HALVES(X) X(16) X(8)
#else
#define SHS__HALVES(X) X(8)
#endif

#else /* no intrinsics */
/* Compilers with vectors of their own have operators. Pointers are read and written through types that claim no more alignment
   than one value has. */
#define shs__mask SHS__IN(mask)
#ifdef SHS__VECTOR_BYTES
#define SHS__ANY(type, bytes) __attribute__((vector_size(bytes), aligned(sizeof(type)), may_alias))
typedef shs__element shs__vec __attribute__((vector_size(SHS__VECTOR_BYTES)));
typedef shs_wide shs__wvec __attribute__((vector_size(SHS__VECTOR_BYTES)));
typedef SHS__IN(lane) shs__mask __attribute__((vector_size(SHS__VECTOR_BYTES)));
#define SHS__PICK(mask, a, b) ((shs__vec)(((shs__mask)(a) & (mask)) | ((shs__mask)(b) & ~(mask))))
#define SHS__WPICK(mask, a, b) ((shs__wvec)(((SHS__IN(wmask))(a) & (mask)) | ((SHS__IN(wmask))(b) & ~(mask))))
#define SHS__PICK_INDEX(mask, a, b) (((a) & (mask)) | ((b) & ~(mask)))
#define SHS__WHERE(mask, x) ((shs__vec)((shs__mask)(x) & (mask)))
#define SHS__PREFETCH(p) __builtin_prefetch(p)
/* Lane by lane to another type of number; compilers go faster by way of integers of 32 bits. */
#if defined(__clang__) || __GNUC__ >= 9
#define SHS__CAST(v, type) __builtin_convertvector(v, type)
#define SHS__CAST_BY(v, by, type) __builtin_convertvector(__builtin_convertvector(v, by), type)
#else
#define SHS__CAST(v, type)                                                                                             \
    (__extension__({                                                                                                   \
        __typeof__(v) from_ = (v);                                                                                     \
        type to_;                                                                                                      \
        int lane_;                                                                                                     \
        for (lane_ = 0; lane_ < (int)(sizeof to_ / sizeof to_[0]); lane_++) to_[lane_] = (__typeof__(to_[0]))from_[lane_]; \
        to_;                                                                                                           \
    }))
#define SHS__CAST_BY(v, by, type) SHS__CAST(v, type)
#endif
#else
#define SHS__ANY(type, bytes)
typedef shs__element shs__vec;
typedef shs_wide shs__wvec;
typedef SHS__IN(lane) shs__mask;
#define SHS__PICK(mask, a, b) ((mask) ? (a) : (b))
#define SHS__WPICK(mask, a, b) ((mask) ? (a) : (b))
#define SHS__PICK_INDEX(mask, a, b) ((mask) ? (a) : (b))
#define SHS__WHERE(mask, x) ((mask) ? (x) : 0)
#define SHS__PREFETCH(p) ((void)(p))
#define SHS__CAST(v, type) ((type)(v))
#define SHS__CAST_BY(v, by, type) ((type)(v))
#endif
#define SHS__ANY_TYPE(name, type, lanes) typedef type SHS__IN(name) SHS__ANY(type, (lanes) * sizeof(type))
SHS__ANY_TYPE(any, shs__element, SHS__LANES);
SHS__ANY_TYPE(any_u8, uint8_t, SHS__LANES);
SHS__ANY_TYPE(any_i16, int16_t, SHS__LANES);
SHS__ANY_TYPE(any_u16, uint16_t, SHS__LANES);
SHS__ANY_TYPE(any_f32, float, SHS__LANES);
SHS__ANY_TYPE(whole, int32_t, SHS__LANES);
SHS__ANY_TYPE(wany, shs_wide, SHS__WLANES);
SHS__ANY_TYPE(wany_element, shs__element, SHS__WLANES);
SHS__ANY_TYPE(wany_u8, uint8_t, SHS__WLANES);
SHS__ANY_TYPE(wany_i16, int16_t, SHS__WLANES);
SHS__ANY_TYPE(wany_u16, uint16_t, SHS__WLANES);
SHS__ANY_TYPE(wany_i32, int32_t, SHS__WLANES);
SHS__ANY_TYPE(wany_f32, float, SHS__WLANES);
#ifdef SPARSEHS_NO_DOUBLE
SHS__ANY_TYPE(wmask, int32_t, SHS__WLANES);
#else
SHS__ANY_TYPE(wmask, int64_t, SHS__WLANES);
#endif
#define SHS__AT_ANY(kind, p) (*(const SHS__IN(kind) *)(const void *)(p))
#define SHS__SET_ANY(kind, p, v) (*(SHS__IN(kind) *)(void *)(p) = (v))
SHS__INLINE shs__vec SHS__IN(all)(shs__element x) {
    const shs__vec zero = SHS_ZERO;
    return x - zero;
}
SHS__INLINE shs__wvec SHS__IN(wall)(shs_wide x) {
    const shs__wvec zero = SHS_ZERO;
    return x - zero;
}
SHS__INLINE shs__mask SHS__IN(indices)(int i) {
    const shs__mask zero = SHS_ZERO;
    return zero + (SHS__IN(lane))i;
}
SHS__INLINE shs__mask SHS__IN(bits_of)(shs__vec v) {
    shs__mask bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}
#ifndef SHS__IN_WIDE
SHS__INLINE shs__vec SHS__IN(of_bits)(shs__mask bits) {
    shs__vec v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
#endif
#define shs__index shs__mask
#define shs__whole SHS__IN(whole)
#define SHS__LOAD(p) ((shs__vec)SHS__AT_ANY(any, p))
#define SHS__WLOAD(p) ((shs__wvec)SHS__AT_ANY(wany, p))
#define SHS__STORE(p, v) SHS__SET_ANY(any, p, v)
#define SHS__WSTORE(p, v) SHS__SET_ANY(wany, p, v)
#define SHS__ALL(x) SHS__IN(all)(x)
#define SHS__WALL(x) SHS__IN(wall)(x)
#define SHS__ADD(a, b) ((a) + (b))
#define SHS__SUB(a, b) ((a) - (b))
#define SHS__MUL(a, b) ((a) * (b))
#define SHS__DIV(a, b) ((a) / (b))
#define SHS__FMA(a, b, c) ((a) * (b) + (c))
#define SHS__FMS(a, b, c) ((a) * (b) - (c))
#define SHS__FNMA(a, b, c) ((c) - (a) * (b))
#define SHS__ABOVE(a, b) ((a) > (b))
#define SHS__WADD SHS__ADD
#define SHS__WSUB SHS__SUB
#define SHS__WMUL SHS__MUL
#define SHS__WDIV SHS__DIV
#define SHS__WFMA SHS__FMA
#define SHS__WFMS SHS__FMS
#define SHS__WABOVE SHS__ABOVE
#define SHS__ABS(v) SHS__IN(of_bits)(SHS__IN(bits_of)(v) & SHS__LANE_MAX)
#define SHS__SIGNED_AS(a, v) SHS__IN(of_bits)(SHS__IN(bits_of)(a) | (SHS__IN(bits_of)(v) & ~SHS__LANE_MAX))
#define SHS__IS_NAN(v) ((SHS__IN(bits_of)(v) & SHS__LANE_MAX) > SHS__EXPONENT)
#define SHS__INDICES(i) SHS__IN(indices)(i)
#define SHS__WINS(b, a, j, i) (((b) > (a)) | (((b) == (a)) & ((j) < (i))))
#define SHS__TRUNCATE(v) SHS__CAST(v, shs__whole)
#define SHS__WHOLE(k) SHS__CAST(k, shs__vec)
#define SHS__OR_EXPONENT(flags, v, least) ((flags) | ((least)-1 - (SHS__IN(bits_of)(v) & SHS__EXPONENT)))
#define SHS__POWER(k) SHS__IN(of_bits)((SHS__BIAS - SHS__CAST(k, shs__mask)) << SHS__FRACTION)
#define SHS__SHRINK(v, k) ((v)*SHS__POWER((k) >> 1) * SHS__POWER((k) - ((k) >> 1)))
#define SHS__WIDEN(p) SHS__CAST(SHS__AT_ANY(wany_element, p), shs__wvec)
#define SHS__LOAD_U8(p) SHS__CAST_BY(SHS__AT_ANY(any_u8, p), shs__whole, shs__vec)
#define SHS__LOAD_I16(p) SHS__CAST_BY(SHS__AT_ANY(any_i16, p), shs__whole, shs__vec)
#define SHS__LOAD_U16(p) SHS__CAST_BY(SHS__AT_ANY(any_u16, p), shs__whole, shs__vec)
#define SHS__LOAD_F32(p) SHS__CAST(SHS__AT_ANY(any_f32, p), shs__vec)
#define SHS__WLOAD_I32(p) SHS__CAST(SHS__AT_ANY(wany_i32, p), shs__wvec)
#define SHS__WSTORE_U8(p, w) SHS__SET_ANY(wany_u8, p, SHS__CAST_BY(w, SHS__IN(wany_i32), SHS__IN(wany_u8)))
#define SHS__WSTORE_I16(p, w) SHS__SET_ANY(wany_i16, p, SHS__CAST_BY(w, SHS__IN(wany_i32), SHS__IN(wany_i16)))
#define SHS__WSTORE_U16(p, w) SHS__SET_ANY(wany_u16, p, SHS__CAST_BY(w, SHS__IN(wany_i32), SHS__IN(wany_u16)))
#define SHS__WSTORE_F32(p, w) SHS__SET_ANY(wany_f32, p, SHS__CAST(w, SHS__IN(wany_f32)))
#define SHS__WSTORE_ELEMENT(p, w) SHS__SET_ANY(wany_element, p, SHS__CAST(w, SHS__IN(wany_element)))

#ifdef SHS__VECTOR_BYTES
/* Vectors of four, whatever the others are. */
SHS__ANY_TYPE(four, shs__element, 4);
#if defined(__clang__) || __GNUC__ >= 12
#define SHS__SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
typedef SHS__IN(lane) SHS__IN(four_index) __attribute__((vector_size(4 * sizeof(shs__element))));
#define SHS__SHUFFLE(a, b, i, j, k, l) __builtin_shuffle(a, b, (__extension__(SHS__IN(four_index)){i, j, k, l}))
#endif
SHS__PRIVATE void SHS__IN(transpose_four)(shs__element scale, const shs__element *s, size_t lds, shs__element *d, size_t ldd) {
    SHS__IN(four) a = SHS__AT_ANY(four, s), b = SHS__AT_ANY(four, s + lds), c = SHS__AT_ANY(four, s + 2 * lds);
    SHS__IN(four) e = SHS__AT_ANY(four, s + 3 * lds);
    SHS__IN(four) ab_low = SHS__SHUFFLE(a, b, 0, 4, 1, 5), ab_high = SHS__SHUFFLE(a, b, 2, 6, 3, 7);
    SHS__IN(four) ce_low = SHS__SHUFFLE(c, e, 0, 4, 1, 5), ce_high = SHS__SHUFFLE(c, e, 2, 6, 3, 7);
    SHS__SET_ANY(four, d, SHS__SHUFFLE(ab_low, ce_low, 0, 1, 4, 5) * scale);
    SHS__SET_ANY(four, d + ldd, SHS__SHUFFLE(ab_low, ce_low, 2, 3, 6, 7) * scale);
    SHS__SET_ANY(four, d + 2 * ldd, SHS__SHUFFLE(ab_high, ce_high, 0, 1, 4, 5) * scale);
    SHS__SET_ANY(four, d + 3 * ldd, SHS__SHUFFLE(ab_high, ce_high, 2, 3, 6, 7) * scale);
}
SHS__ANY_TYPE(row, shs__element, SHS__NR);
#define SHS__COPY_ROW(to, scale, from) SHS__SET_ANY(row, to, (scale)*SHS__AT_ANY(row, from))
#endif
#endif /* operators */

#ifndef SHS__IN_WIDE
/* a b + c, rounded once in all lanes and in single numbers, or twice in all: equal atoms must stay equal to the last bit,
   wherever they lie. Compilers choose for themselves in each loop (gcc avoids chains of fused operations for some
   processors), so they are told. */
#if defined(SHS__INTRINSICS) && defined(SHS__VECTOR_BYTES)
#define SHS__MULTIPLY_ADD(a, b, c) SHS__FMA(a, b, c)
#ifndef SHS__FUSED
#define SHS__MULTIPLY_ADD_ONE(a, b, c) ((a) * (b) + (c))
#elif defined(SHS__X64) && defined(SPARSEHS_DOUBLE)
#define SHS__MULTIPLY_ADD_ONE(a, b, c) _mm_cvtsd_f64(_mm_fmadd_sd(_mm_set_sd(a), _mm_set_sd(b), _mm_set_sd(c)))
#elif defined(SHS__X64)
#define SHS__MULTIPLY_ADD_ONE(a, b, c) _mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(a), _mm_set_ss(b), _mm_set_ss(c)))
#else
#define SHS__MULTIPLY_ADD_ONE(a, b, c) \
    SHS__OP(vget_lane_)(SHS__OP(vfma_)(SHS__OP(vdup_n_)(c), SHS__OP(vdup_n_)(a), SHS__OP(vdup_n_)(b)), 0)
#endif
#elif defined(SHS__VECTOR_BYTES) && SHS__VECTOR_BYTES >= 32 && defined(SHS__FUSED)
#ifdef __clang__
#define SHS__SIGN unsigned /* of a mask of 16 lanes, as each compiler declares it */
#else
#define SHS__SIGN signed
#endif
#ifdef SPARSEHS_DOUBLE
#define SHS__MULTIPLY_ADD_ONE(a, b, c) __builtin_fma(a, b, c)
#if SHS__VECTOR_BYTES == 64
#define SHS__MULTIPLY_ADD(a, b, c) __builtin_ia32_vfmaddpd512_mask(a, b, c, (unsigned char)-1, 4)
#else
#define SHS__MULTIPLY_ADD(a, b, c) __builtin_ia32_vfmaddpd256(a, b, c)
#endif
#else
#define SHS__MULTIPLY_ADD_ONE(a, b, c) __builtin_fmaf(a, b, c)
#if SHS__VECTOR_BYTES == 64
#define SHS__MULTIPLY_ADD(a, b, c) __builtin_ia32_vfmaddps512_mask(a, b, c, (SHS__SIGN short)-1, 4)
#else
#define SHS__MULTIPLY_ADD(a, b, c) __builtin_ia32_vfmaddps256(a, b, c)
#endif
#endif
#else
#define SHS__MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#define SHS__MULTIPLY_ADD_ONE(a, b, c) ((a) * (b) + (c))
#endif

/* ---- kernels: vectors -------------------------------------------------------------------------------- >>k_vectors */

/* The sum of all lanes: by halves, so that the chain of additions is short. */
#if defined(SHS__VECTOR_BYTES) && defined(SHS__INTRINSICS)
#define SHS__ADD_HALF(bytes) v = SHS__ADD(v, SHS__SWAP(bytes, v));
#define SHS__WADD_HALF(bytes) v = SHS__WADD(v, SHS__WSWAP(bytes, v));
SHS__INLINE shs_real SHS__IN(sum_lanes)(shs__vec v) {
    shs_real lanes[SHS__LANES];
    SHS__HALVES(SHS__ADD_HALF)
#ifndef SHS__ELEMENT_64
    SHS__ADD_HALF(4)
#endif
    SHS__STORE(lanes, v);
    return lanes[0];
}
SHS__INLINE shs_wide SHS__IN(wlanes)(shs__wvec v) {
    shs_wide lanes[SHS__WLANES];
    SHS__HALVES(SHS__WADD_HALF)
#ifdef SPARSEHS_NO_DOUBLE
    SHS__WADD_HALF(4)
#endif
    SHS__WSTORE(lanes, v);
    return lanes[0];
}
#else
#ifdef SHS__VECTOR_BYTES
#define SHS__ADD_HALVES(type, lanes, bytes)                                                                            \
    do {                                                                                                               \
        typedef type half_ SHS__ANY(type, bytes);                                                                      \
        half_ *low_ = (half_ *)(void *)(lanes), *high_ = (half_ *)(void *)((lanes) + (bytes) / (int)sizeof(type));     \
        *low_ += *high_;                                                                                               \
    } while (0)
#if SHS__VECTOR_BYTES == 64
#define SHS__SUM_TO_16(type, lanes) SHS__ADD_HALVES(type, lanes, 32); SHS__ADD_HALVES(type, lanes, 16)
#elif SHS__VECTOR_BYTES == 32
#define SHS__SUM_TO_16(type, lanes) SHS__ADD_HALVES(type, lanes, 16)
#else
#define SHS__SUM_TO_16(type, lanes) ((void)0)
#endif
/* Four lanes are left, or two of double. */
#define SHS__SUM_LANES(type, v)                                                                                        \
    type lanes[SHS__VECTOR_BYTES / sizeof(type)];                                                                      \
    memcpy(lanes, &v, sizeof v);                                                                                       \
    SHS__SUM_TO_16(type, lanes);                                                                                       \
    return sizeof(type) == 8 ? lanes[0] + lanes[1]                                                                     \
                             : (lanes[0] + lanes[2 % (16 / sizeof(type))]) + (lanes[1] + lanes[3 % (16 / sizeof(type))])
#else
#define SHS__SUM_LANES(type, v) return v
#endif
SHS__INLINE shs_real SHS__IN(sum_lanes)(shs__vec v) { SHS__SUM_LANES(shs_real, v); }
SHS__INLINE shs_wide SHS__IN(wlanes)(shs__wvec v) { SHS__SUM_LANES(shs_wide, v); }
#endif

/* Four independent sums, so that one addition need not wait for the one before. */
SHS__PRIVATE shs_real SHS__IN(dot)(size_t n, const shs_real *x, const shs_real *y) {
    const size_t L = SHS__LANES;
    size_t i = 0;
    shs_real tail = 0;
    shs__vec zero = SHS__ALL(0), s0 = zero, s1 = zero, s2 = zero, s3 = zero;
    for (; i + 4 * L <= n; i += 4 * L) {
        s0 = SHS__FMA(SHS__LOAD(x + i), SHS__LOAD(y + i), s0);
        s1 = SHS__FMA(SHS__LOAD(x + i + L), SHS__LOAD(y + i + L), s1);
        s2 = SHS__FMA(SHS__LOAD(x + i + 2 * L), SHS__LOAD(y + i + 2 * L), s2);
        s3 = SHS__FMA(SHS__LOAD(x + i + 3 * L), SHS__LOAD(y + i + 3 * L), s3);
    }
    for (; i + L <= n; i += L) s0 = SHS__FMA(SHS__LOAD(x + i), SHS__LOAD(y + i), s0);
    for (; i < n; i++) tail += x[i] * y[i];
    return SHS__IN(sum_lanes)(SHS__ADD(SHS__ADD(s0, s1), SHS__ADD(s2, s3))) + tail;
}

/* y += alpha x; x is not y. Spelled out, as is the next one: not every compiler vectorises such loops at -O2. */
SHS__PRIVATE void SHS__IN(axpy)(size_t n, shs_real alpha, const shs_real *SHS__RESTRICT x, shs_real *SHS__RESTRICT y) {
    size_t i = 0;
    const shs__vec a = SHS__ALL(alpha);
    for (; i + SHS__LANES <= n; i += SHS__LANES) SHS__STORE(y + i, SHS__FMA(a, SHS__LOAD(x + i), SHS__LOAD(y + i)));
    for (; i < n; i++) y[i] += alpha * x[i];
}

/* z += a x + b y: added one after the other, as by two calls of axpy. */
SHS__PRIVATE void SHS__IN(patch)(int n, shs_real a, const shs_real *SHS__RESTRICT x, shs_real b,
                                 const shs_real *SHS__RESTRICT y, shs_real *SHS__RESTRICT z) {
    int i = 0;
    for (; i + SHS__LANES <= n; i += SHS__LANES) {
        shs__vec v = SHS__FMA(SHS__ALL(a), SHS__LOAD(x + i), SHS__LOAD(z + i));
        SHS__STORE(z + i, SHS__FMA(SHS__ALL(b), SHS__LOAD(y + i), v));
    }
    for (; i < n; i++) {
        z[i] += a * x[i];
        z[i] += b * y[i];
    }
}

/* sum += the columns (n values each) times their factors, one after the other. Four vectors of the sum stay in registers
   while the columns, which lie anywhere in memory, go by; those that come next are asked for early. */
SHS__PRIVATE void SHS__IN(combine)(int n, int count, const shs_real *const *columns, const shs_real *factors,
                                   shs_real *SHS__RESTRICT sum) {
    int i = 0, u;
    for (; i + 4 * SHS__LANES <= n; i += 4 * SHS__LANES) {
        shs__vec s0 = SHS__LOAD(sum + i), s1 = SHS__LOAD(sum + i + SHS__LANES);
        shs__vec s2 = SHS__LOAD(sum + i + 2 * SHS__LANES), s3 = SHS__LOAD(sum + i + 3 * SHS__LANES);
        for (u = 0; u < count; u++) {
            const shs_real *c = columns[u] + i, *next = columns[u + 4 < count ? u + 4 : u] + i;
            const shs__vec f = SHS__ALL(factors[u]);
            SHS__PREFETCH(next);
            SHS__PREFETCH(next + SHS__LANES);
            SHS__PREFETCH(next + 2 * SHS__LANES);
            SHS__PREFETCH(next + 3 * SHS__LANES);
            s0 = SHS__FMA(f, SHS__LOAD(c), s0), s1 = SHS__FMA(f, SHS__LOAD(c + SHS__LANES), s1);
            s2 = SHS__FMA(f, SHS__LOAD(c + 2 * SHS__LANES), s2), s3 = SHS__FMA(f, SHS__LOAD(c + 3 * SHS__LANES), s3);
        }
        SHS__STORE(sum + i, s0), SHS__STORE(sum + i + SHS__LANES, s1);
        SHS__STORE(sum + i + 2 * SHS__LANES, s2), SHS__STORE(sum + i + 3 * SHS__LANES, s3);
    }
    for (; i + SHS__LANES <= n; i += SHS__LANES) {
        shs__vec s = SHS__LOAD(sum + i);
        for (u = 0; u < count; u++) s = SHS__FMA(SHS__ALL(factors[u]), SHS__LOAD(columns[u] + i), s);
        SHS__STORE(sum + i, s);
    }
    for (; i < n; i++)
        for (u = 0; u < count; u++) sum[i] += factors[u] * columns[u][i];
}

/* ||x||^2 in shs_wide, in several sums, so that additions need not wait for each other. */
SHS__PRIVATE shs_wide SHS__IN(norm2)(int n, const shs_real *x) {
    int i = 0;
#ifdef SPARSEHS_NO_DOUBLE
    shs_wide sum = 0, lost = 0; /* compensated, as shs__sum_add does */
    for (; i < n; i++) {
        shs_wide square = x[i] * x[i], t = sum + square;
        lost += sum >= square ? (sum - t) + square : (square - t) + sum;
        sum = t;
    }
    return sum + lost;
#else
    shs_wide tail = 0;
    shs__wvec even = SHS__WALL(0), odd = even;
    for (; i + 2 * SHS__WLANES <= n; i += 2 * SHS__WLANES) {
        shs__wvec a = SHS__WIDEN(x + i), b = SHS__WIDEN(x + i + SHS__WLANES);
        even = SHS__WFMA(a, a, even);
        odd = SHS__WFMA(b, b, odd);
    }
    for (; i < n; i++) tail += (shs_wide)x[i] * (shs_wide)x[i];
    return SHS__IN(wlanes)(SHS__WADD(even, odd)) + tail;
#endif
}

/* y += alpha x into shs_wide */
SHS__PRIVATE void SHS__IN(axpy_wide)(int n, shs_wide alpha, const shs_real *SHS__RESTRICT x, shs_wide *SHS__RESTRICT y) {
    int i = 0;
    const shs__wvec a = SHS__WALL(alpha);
    for (; i + SHS__WLANES <= n; i += SHS__WLANES) SHS__WSTORE(y + i, SHS__WFMA(a, SHS__WIDEN(x + i), SHS__WLOAD(y + i)));
    for (; i < n; i++) y[i] += alpha * (shs_wide)x[i];
}

#endif /* SHS__IN_WIDE */

/* ---- kernels: products of matrices ---------------------------------------------------------------------- >>k_gemm */

/* The micro-kernel multiplies one sliver of packed A by one sliver of packed B. Both lie in memory in the order in
   which it reads them, without a gap (MR rows, NR columns):

       sliver of A:  | a(0,0) a(1,0) .. a(MR-1,0) | a(0,1) .. a(MR-1,1) | ..  depth groups of MR
       sliver of B:  | b(0,0) b(0,1) .. b(0,NR-1) | b(1,0) .. b(1,NR-1) | ..  depth groups of NR

                            b0   b1  ..  b7              a group of B: NR values, each spread over a vector
                          +----+----+--+----+
       a group of A:  a0  | c00| c01|  | c07|
       MR values in   a1  | c10| c11|  | c17|            C: one vector an entry, all in registers
       vectors        a2  | c20| c21|  | c27|
                          +----+----+--+----+

   Each step reads one group of each and adds their outer product to the tile. Slivers that stick out of the matrix are
   padded with zeros: columns up to NR, rows up to a whole vector, so that the last sliver of A may be one or two
   vectors high. An element of C sums over the depth in one order, whichever tile it falls in and however high that is.
   That is why the results do not depend on the cutting.

   The sums are variables of their own, made by macros: compilers put an array of them into memory. */
#if defined(SHS__VECTOR_BYTES) && SHS__VECTOR_BYTES == 16 && (defined(SHS__X64) || defined(__i386__) || defined(__arm__))
#define SHS__TILE_VECTORS 2 /* 8 of 16 registers hold sums, and a product needs one of its own */
#else
#define SHS__TILE_VECTORS 3 /* 12 of 16, or 24 of 32 */
#endif
#define SHS__TILE_COLUMNS(X, with) X(with, 0) X(with, 1) X(with, 2) X(with, 3) X(with, 4) X(with, 5) X(with, 6) X(with, 7)
#define SHS__TILE_BEGIN(vector_type, j) vector_type c0##j = zero, c1##j = zero, c2##j = zero;
#define SHS__TILE_STEP(W, j)                                                                                                   \
    if (columns > j) {                                                                                                         \
        bj = SHS__##W##ALL(b[j * column]);                                                                                     \
        c0##j = SHS__##W##FMA(a0, bj, c0##j);                                                                                  \
        if (vectors > 1) c1##j = SHS__##W##FMA(a1, bj, c1##j);                                                                 \
        if (vectors > 2) c2##j = SHS__##W##FMA(a2, bj, c2##j);                                                                 \
    }
#define SHS__TILE_END(W, j)                                                                                                    \
    if (columns > j) {                                                                                                         \
        SHS__TILE_PUT(W, C + j * c_column, c0##j);                                                                             \
        if (vectors > 1) SHS__TILE_PUT(W, C + j * c_column + c_vector, c1##j);                                                 \
        if (vectors > 2) SHS__TILE_PUT(W, C + j * c_column + 2 * c_vector, c2##j);                                             \
    }
#define SHS__TILE_PUT(W, p, c) SHS__##W##STORE(p, add ? SHS__##W##ADD(c, SHS__##W##LOAD(p)) : c)

/* C = a b or, with add, C += a b: vectors of a, `vector` values apart, times single values of b, `column` apart; the next of
   the depth is a_next and b_next further on. Inlined with constant numbers of vectors (at most 3) and columns (at most 8), so
   that the conditions above vanish. */
#define SHS__DEFINE_TILE_OF(name, number, vector_type, W)                                                                      \
    SHS__INLINE void SHS__IN(name)(int vectors, int columns, int depth, const number *a, ptrdiff_t vector, ptrdiff_t a_next,   \
                                   const number *b, ptrdiff_t column, ptrdiff_t b_next, int add, number *C,                    \
                                   ptrdiff_t c_vector, ptrdiff_t c_column) {                                                   \
        vector_type zero = SHS__##W##ALL(0), a0, a1 = zero, a2 = zero, bj;                                                     \
        SHS__TILE_COLUMNS(SHS__TILE_BEGIN, vector_type)                                                                        \
        for (; depth > 0; depth--, a += a_next, b += b_next) {                                                                 \
            a0 = SHS__##W##LOAD(a);                                                                                            \
            if (vectors > 1) a1 = SHS__##W##LOAD(a + vector);                                                                  \
            if (vectors > 2) a2 = SHS__##W##LOAD(a + 2 * vector);                                                              \
            SHS__TILE_COLUMNS(SHS__TILE_STEP, W)                                                                               \
        }                                                                                                                      \
        SHS__TILE_COLUMNS(SHS__TILE_END, W)                                                                                    \
    }
SHS__DEFINE_TILE_OF(tile_of, shs__element, shs__vec, )

/* The same out of line, for 1 to SHS__TILE_VECTORS vectors of elements: the strides cost nothing beside the sums. */
#define SHS__DEFINE_TILE(name, columns)                                                                                \
    SHS__OUTLINE void SHS__IN(name)(int vectors, int depth, const void *a, ptrdiff_t vector, ptrdiff_t a_next,         \
                                    const void *b, ptrdiff_t column, ptrdiff_t b_next, int add, void *C,               \
                                    ptrdiff_t c_vector, ptrdiff_t c_column) {                                          \
        if (vectors == 1) SHS__TILE_OF(1, columns);                                                                    \
        else if (vectors == 2) SHS__TILE_OF(2, columns);                                                               \
        else if (SHS__TILE_VECTORS == 3) SHS__TILE_OF(3, columns);                                                     \
    }
#define SHS__TILE_OF(vectors, columns)                                                                                 \
    SHS__IN(tile_of)(vectors, columns, depth, (const shs__element *)a, vector, a_next, (const shs__element *)b,        \
                     column, b_next, add, (shs__element *)C, c_vector, c_column)

#ifndef SHS__IN_WIDE
#ifdef SHS__VECTOR_BYTES
#define SHS__MR (SHS__TILE_VECTORS * SHS__LANES)
#define SHS__ROWS_PAD SHS__LANES

/* C = a b, or C += a b with add, for slivers of rows (a multiple of SHS__ROWS_PAD) and SHS__NR columns: groups of a are a_next
   apart, those of b b_next, and values within a group of b b_column. */
SHS__PRIVATE void SHS__IN(gemm_tile)(int rows, int depth, const shs_real *a, ptrdiff_t a_next, const shs_real *b,
                                     ptrdiff_t b_column, ptrdiff_t b_next, int add, shs_real *C, int ldc) {
    const int L = SHS__LANES;
    if (rows == L) SHS__IN(tile_of)(1, SHS__NR, depth, a, L, a_next, b, b_column, b_next, add, C, L, ldc);
    else if (rows == 2 * L) SHS__IN(tile_of)(2, SHS__NR, depth, a, L, a_next, b, b_column, b_next, add, C, L, ldc);
    else if (SHS__TILE_VECTORS == 3) SHS__IN(tile_of)(3, SHS__NR, depth, a, L, a_next, b, b_column, b_next, add, C, L, ldc);
}
#else
#define SHS__MR 4
#define SHS__ROWS_PAD SHS__MR

/* gcc would otherwise vectorise along the depth, with more shuffles than sums: six times slower, and a large frame. */
#if defined(__GNUC__) || defined(__clang__)
#define SHS__KEEP_SCALAR __asm__ __volatile__("")
#else
#define SHS__KEEP_SCALAR ((void)0)
#endif

SHS__PRIVATE void SHS__IN(gemm_tile)(int rows, int depth, const shs_real *a, ptrdiff_t a_next, const shs_real *b,
                                     ptrdiff_t b_column, ptrdiff_t b_next, int add, shs_real *C, int ldc) {
    shs_real c0[SHS__MR] = {0}, c1[SHS__MR] = {0}, c2[SHS__MR] = {0}, c3[SHS__MR] = {0};
    int i;
    (void)rows;
    for (; depth > 0; depth--, a += a_next, b += b_next) {
        SHS__KEEP_SCALAR;
        for (i = 0; i < SHS__MR; i++) {
            c0[i] += a[i] * b[0];
            c1[i] += a[i] * b[b_column];
            c2[i] += a[i] * b[2 * b_column];
            c3[i] += a[i] * b[3 * b_column];
        }
    }
    for (i = 0; i < SHS__MR; i++) {
        shs_real *c = C + i;
        c[0] = add ? c[0] + c0[i] : c0[i];
        c += ldc;
        c[0] = add ? c[0] + c1[i] : c1[i];
        c += ldc;
        c[0] = add ? c[0] + c2[i] : c2[i];
        c += ldc;
        c[0] = add ? c[0] + c3[i] : c3[i];
    }
}
#endif

#endif
/* D = scale S', S is m x n, D is n x m. Rows of the source go SHS__TRANSPOSE_ROWS at a time: few enough for the destination to
   stay in the first cache although each of its lines is written in pieces. */
#define SHS__TRANSPOSE_ROWS 64
SHS__PRIVATE void SHS__IN(transpose)(int m, int n, shs__element scale, const shs__element *S, int lds, shs__element *D,
                                     int ldd) {
    int i, j, begin, end;
    for (begin = 0; begin < m; begin = end) {
        end = m - begin > SHS__TRANSPOSE_ROWS ? begin + SHS__TRANSPOSE_ROWS : m;
        for (j = 0; j + 4 <= n; j += 4) {
            i = begin;
#ifdef SHS__VECTOR_BYTES
            for (; i + 4 <= end; i += 4)
                SHS__IN(transpose_four)(scale, SHS__AT(S, lds, i, j), (size_t)lds, SHS__AT(D, ldd, j, i), (size_t)ldd);
#endif
            for (; i < end; i++) {
                shs__element *d = SHS__AT(D, ldd, j, i);
                d[0] = scale * *SHS__AT(S, lds, i, j);
                d[1] = scale * *SHS__AT(S, lds, i, j + 1);
                d[2] = scale * *SHS__AT(S, lds, i, j + 2);
                d[3] = scale * *SHS__AT(S, lds, i, j + 3);
            }
        }
        for (; j < n; j++)
            for (i = begin; i < end; i++) *SHS__AT(D, ldd, j, i) = scale * *SHS__AT(S, lds, i, j);
    }
}

#ifndef SHS__IN_WIDE
/* Packs a sliver: width rows of op(A) (columns of op(B)) padded to `padded`, depth groups. `along` says that the width
   runs along S's columns, else it runs across them. */
SHS__PRIVATE void SHS__IN(pack)(int along, int width, int padded, int depth, shs_real scale, const shs_real *S, int ld,
                            shs_real *SHS__RESTRICT to) {
    int i, p;
#ifdef SHS__VECTOR_BYTES
    if (along && width == SHS__NR && padded == SHS__NR) { /* a sliver of B need not be a whole vector wide */
        for (p = 0; p < depth; p++, S += ld, to += SHS__NR) SHS__COPY_ROW(to, scale, S);
        return;
    }
#endif
    if (!along) SHS__IN(transpose)(depth, width, scale, S, ld, to, padded);
    for (p = 0; p < depth && (along || width < padded); p++, S += ld, to += padded) {
        for (i = along ? 0 : width; i + SHS__LANES <= width; i += SHS__LANES)
            SHS__STORE(to + i, SHS__MUL(SHS__ALL(scale), SHS__LOAD(S + i)));
        for (; i < width; i++) to[i] = scale * S[i];
        for (; i < padded; i++) to[i] = 0;
    }
}

/* ---- kernels: eigenproblem, vectors -------------------------------------------------------------------- >>k_eigen */

/* x'y, in two accumulators */
SHS__PRIVATE shs_wide SHS__IN(wdot)(int m, const shs_wide *x, const shs_wide *y) {
    shs__wvec a = SHS__WALL(0), b = a;
    int i;
    for (i = 0; i + SHS__WLANES < m; i += 2 * SHS__WLANES) {
        a = SHS__WFMA(SHS__WLOAD(x + i), SHS__WLOAD(y + i), a);
        b = SHS__WFMA(SHS__WLOAD(x + i + SHS__WLANES), SHS__WLOAD(y + i + SHS__WLANES), b);
    }
    if (i < m) a = SHS__WFMA(SHS__WLOAD(x + i), SHS__WLOAD(y + i), a);
    return SHS__IN(wlanes)(SHS__WADD(a, b));
}

/* y = alpha y + beta x */
SHS__PRIVATE void SHS__IN(wcombine)(int m, shs_wide alpha, shs_wide *y, shs_wide beta, const shs_wide *x) {
    const shs__wvec a = SHS__WALL(alpha), b = SHS__WALL(beta);
    int i;
    for (i = 0; i < m; i += SHS__WLANES) SHS__WSTORE(y + i, SHS__WFMA(a, SHS__WLOAD(y + i), SHS__WMUL(b, SHS__WLOAD(x + i))));
}

/* t = M'x for the m x k matrix M, four columns at a time: x is read a quarter as often. Columns up to the next
   multiple of four count as well; the callers keep them zero. */
SHS__OUTLINE void SHS__IN(wdots)(int m, int k, const shs_wide *M, int ld, const shs_wide *x, shs_wide *t) {
    int i, j;
    for (j = 0; j < k; j += 4) {
        const shs_wide *a = SHS__AT(M, ld, 0, j), *b = a + ld, *c = b + ld, *d = c + ld;
        shs__wvec ta = SHS__WALL(0), tb = ta, tc = ta, td = ta;
        for (i = 0; i < m; i += SHS__WLANES) {
            shs__wvec xi = SHS__WLOAD(x + i);
            ta = SHS__WFMA(xi, SHS__WLOAD(a + i), ta);
            tb = SHS__WFMA(xi, SHS__WLOAD(b + i), tb);
            tc = SHS__WFMA(xi, SHS__WLOAD(c + i), tc);
            td = SHS__WFMA(xi, SHS__WLOAD(d + i), td);
        }
        t[j] = SHS__IN(wlanes)(ta);
        t[j + 1] = SHS__IN(wlanes)(tb);
        t[j + 2] = SHS__IN(wlanes)(tc);
        t[j + 3] = SHS__IN(wlanes)(td);
    }
}

/* y -= M t, likewise. */
SHS__OUTLINE void SHS__IN(wminus)(int m, int k, const shs_wide *M, int ld, const shs_wide *t, shs_wide *y) {
    int i, j;
    for (j = 0; j < k; j += 4) {
        const shs_wide *a = SHS__AT(M, ld, 0, j), *b = a + ld, *c = b + ld, *d = c + ld;
        const shs__wvec ta = SHS__WALL(t[j]), tb = SHS__WALL(t[j + 1]), tc = SHS__WALL(t[j + 2]), td = SHS__WALL(t[j + 3]);
        for (i = 0; i < m; i += SHS__WLANES) {
            shs__wvec left = SHS__WFMA(SHS__WLOAD(a + i), ta, SHS__WMUL(SHS__WLOAD(b + i), tb));
            shs__wvec right = SHS__WFMA(SHS__WLOAD(c + i), tc, SHS__WMUL(SHS__WLOAD(d + i), td));
            SHS__WSTORE(y + i, SHS__WSUB(SHS__WLOAD(y + i), SHS__WADD(left, right)));
        }
    }
}

/* y += A x for symmetric A (m x m), of which only the lower triangle is read. Below the diagonal each element is used
   twice while it is in a register: for its row, y_i += a_ij x_j, and for its column, y_j += a_ij x_i. */
SHS__OUTLINE void SHS__IN(wsymv)(int m, const shs_wide *A, int ld, const shs_wide *x, shs_wide *y) {
    int i, j, r, q;
    for (j = 0; j < m; j += 4) {
        const shs_wide *a = SHS__AT(A, ld, 0, j), *b = a + ld, *c = b + ld, *d = c + ld;
        const shs__wvec xa = SHS__WALL(x[j]), xb = SHS__WALL(x[j + 1]), xc = SHS__WALL(x[j + 2]), xd = SHS__WALL(x[j + 3]);
        shs__wvec ya = SHS__WALL(0), yb = ya, yc = ya, yd = ya;
        for (q = j; q < j + 4; q++) {
            const shs_wide *column = SHS__AT(A, ld, 0, q);
            y[q] += column[q] * x[q];
            for (r = q + 1; r < j + 4; r++) {
                y[r] += column[r] * x[q];
                y[q] += column[r] * x[r];
            }
        }
        for (i = j + 4; i < m; i += SHS__WLANES) {
            shs__wvec va = SHS__WLOAD(a + i), vb = SHS__WLOAD(b + i), vc = SHS__WLOAD(c + i), vd = SHS__WLOAD(d + i);
            shs__wvec xi = SHS__WLOAD(x + i), left, right;
            left = SHS__WFMA(va, xa, SHS__WMUL(vb, xb)), right = SHS__WFMA(vc, xc, SHS__WMUL(vd, xd));
            SHS__WSTORE(y + i, SHS__WADD(SHS__WLOAD(y + i), SHS__WADD(left, right)));
            ya = SHS__WFMA(va, xi, ya);
            yb = SHS__WFMA(vb, xi, yb);
            yc = SHS__WFMA(vc, xi, yc);
            yd = SHS__WFMA(vd, xi, yd);
        }
        y[j] += SHS__IN(wlanes)(ya);
        y[j + 1] += SHS__IN(wlanes)(yb);
        y[j + 2] += SHS__IN(wlanes)(yc);
        y[j + 3] += SHS__IN(wlanes)(yd);
    }
}

/* ---- kernels: eigenproblem, products ---------------------------------------------------------- >>k_eigen_products */

SHS__DEFINE_TILE_OF(wtile_of, shs_wide, shs__wvec, W)

/* C (m x 4 stripes) += P (m x k) times the packed stripes. A few rows of P, which lie far apart in memory, stay in
   the first cache for all stripes: three vectors, or one, by four columns, for which 16 registers are enough. */
SHS__PRIVATE void SHS__IN(wstripes)(int m, int stripes, int k, const shs_wide *P, int ldp, const shs_wide *pack,
                                    shs_wide *C, int ldc) {
    int i, s, vectors;
    for (i = 0; i < m; i += vectors * SHS__WLANES) {
        vectors = i + 2 * SHS__WLANES < m ? 3 : 1;
        for (s = 0; s < stripes; s++) {
            const shs_wide *B = pack + 4 * (size_t)k * (size_t)s;
            shs_wide *c = SHS__AT(C, ldc, i, 4 * s);
            if (vectors == 3) SHS__IN(wtile_of)(3, 4, k, P + i, SHS__WLANES, ldp, B, 1, 4, 1, c, SHS__WLANES, ldc);
            else SHS__IN(wtile_of)(1, 4, k, P + i, SHS__WLANES, ldp, B, 1, 4, 1, c, SHS__WLANES, ldc);
        }
    }
}

/* ---- kernels: eigenproblem, rotations and secular equation ----------------------------------- >>k_eigen_rotations */

/* m rows of Z, two vectors at a time, times the rotations lo..hi-1, from right to left:

       (z_i, z_i+1) <- (c_i z_i - s_i z_i+1, s_i z_i + c_i z_i+1),

   and z_i stays in a register as the z_i+1 of the next one. */
SHS__OUTLINE void SHS__IN(rotate)(int m, int lo, int hi, const shs_wide *cosine, const shs_wide *sine, shs_wide *Z, int ld) {
    int i, row;
    for (row = 0; row < m; row += 2 * SHS__WLANES) {
        shs_wide *z = SHS__AT(Z, ld, row, hi);
        shs__wvec right = SHS__WLOAD(z), right2 = SHS__WLOAD(z + SHS__WLANES), left, left2;
        for (i = hi - 1; i >= lo; i--, z -= ld) {
            const shs__wvec c = SHS__WALL(cosine[i]), s = SHS__WALL(sine[i]);
            left = SHS__WLOAD(z - ld), left2 = SHS__WLOAD(z - ld + SHS__WLANES);
            SHS__WSTORE(z, SHS__WFMA(s, left, SHS__WMUL(c, right)));
            SHS__WSTORE(z + SHS__WLANES, SHS__WFMA(s, left2, SHS__WMUL(c, right2)));
            right = SHS__WFMS(c, left, SHS__WMUL(s, right));
            right2 = SHS__WFMS(c, left2, SHS__WMUL(s, right2));
        }
        SHS__WSTORE(z, right);
        SHS__WSTORE(z + SHS__WLANES, right2);
    }
}

/* sum q_i / delta_i and its derivative sum q_i / delta_i^2 over from .. to-1 */
SHS__PRIVATE shs_wide SHS__IN(secular_sum)(int from, int to, const shs_wide *q, const shs_wide *delta,
                                       shs_wide *derivative) {
    shs__wvec sums = SHS__WALL(0), slopes = sums;
    shs_wide sum, slope;
    int i = from;
    for (; i + SHS__WLANES <= to; i += SHS__WLANES) {
        shs__wvec v = SHS__WLOAD(delta + i), t = SHS__WDIV(SHS__WLOAD(q + i), v);
        sums = SHS__WADD(sums, t);
        slopes = SHS__WADD(slopes, SHS__WDIV(t, v));
    }
    sum = SHS__IN(wlanes)(sums);
    slope = SHS__IN(wlanes)(slopes);
    for (; i < to; i++) {
        shs_wide t = q[i] / delta[i];
        sum += t;
        slope += t / delta[i];
    }
    *derivative = slope;
    return sum;
}

/* ---- kernels: pursuit ------------------------------------------------------------------------------------ >>k_omp */

/* Several values at a time; where code is to be small, plain C takes them one by one. */
#if defined(SHS__VECTOR_BYTES) || !defined(__OPTIMIZE_SIZE__)
#define SHS__AT_A_TIME

/* Lane by lane, the largest |value| so far and the offset of the vector it stood in. */
typedef struct SHS__IN(champion) {
    shs__vec best;
    shs__index where;
} SHS__IN(champion);

#define SHS__CHALLENGE(champion, v, offset)                                                                                    \
    do {                                                                                                                       \
        shs__vec size_ = SHS__ABS(v);                                                                                          \
        shs__mask won_ = SHS__ABOVE(size_, (champion).best);                                                                   \
        (champion).best = SHS__PICK(won_, size_, (champion).best);                                                             \
        (champion).where = SHS__PICK_INDEX(won_, SHS__INDICES(offset), (champion).where);                                      \
    } while (0)

/* Half of the lanes against the other half; of equals the one that stood first. */
#ifndef SHS__VECTOR_BYTES
SHS__INLINE int SHS__IN(champion_index)(const SHS__IN(champion) *c, shs_real *value) {
    *value = c->best;
    return (int)c->where;
}
#elif defined(SHS__INTRINSICS)
#define SHS__DUEL(bytes)                                                                                               \
    other = SHS__SWAP(bytes, best), there = SHS__SWAP(bytes, where), won = SHS__WINS(other, best, there, where);       \
    best = SHS__PICK(won, other, best), where = SHS__PICK_INDEX(won, there, where);
#ifdef SHS__ELEMENT_64
typedef double SHS__IN(lane_index);
#else
typedef int32_t SHS__IN(lane_index);
#endif
SHS__INLINE int SHS__IN(champion_index)(const SHS__IN(champion) *c, shs_real *value) {
    static const SHS__IN(lane_index) numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    SHS__IN(lane_index) index[SHS__LANES];
    shs_real most[SHS__LANES];
    shs__vec best = c->best, other;
    shs__index where = SHS__ADD_INDICES(c->where, SHS__LOAD((const shs_real *)(const void *)numbers)), there;
    shs__mask won;
    SHS__HALVES(SHS__DUEL)
#ifndef SHS__ELEMENT_64
    SHS__DUEL(4)
#endif
    SHS__STORE(most, best);
    SHS__STORE((shs_real *)(void *)index, where);
    *value = most[0];
    return (int)index[0];
}
#else
#define SHS__DUEL(best, where, bytes)                                                                                  \
    do {                                                                                                               \
        typedef shs_real value_ SHS__ANY(shs_real, bytes);                                                             \
        typedef SHS__IN(lane) index_ SHS__ANY(SHS__IN(lane), bytes);                                                   \
        shs_real *other_ = (best) + (bytes) / (int)sizeof(shs_real);                                                   \
        SHS__IN(lane) *there_ = (where) + (bytes) / (int)sizeof(shs_real);                                             \
        value_ a_ = *(value_ *)(void *)(best), b_ = *(value_ *)(void *)other_;                                         \
        index_ i_ = *(index_ *)(void *)(where), j_ = *(index_ *)(void *)there_;                                        \
        index_ won_ = (b_ > a_) | ((b_ == a_) & (j_ < i_));                                                            \
        *(index_ *)(void *)(best) = ((index_)b_ & won_) | ((index_)a_ & ~won_);                                        \
        *(index_ *)(void *)(where) = (j_ & won_) | (i_ & ~won_);                                                       \
    } while (0)

/* The champion of all lanes. The last of them are compared without a branch: which one wins cannot be predicted. */
SHS__INLINE int SHS__IN(champion_index)(const SHS__IN(champion) *c, shs_real *value) {
    static const SHS__IN(lane) lanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    shs_real best[SHS__LANES], most;
    SHS__IN(lane) where[SHS__LANES], index;
    int l;
    SHS__IN(mask) index_of_lane;
    memcpy(&index_of_lane, lanes, sizeof index_of_lane);
    index_of_lane += c->where;
    memcpy(best, &c->best, sizeof best);
    memcpy(where, &index_of_lane, sizeof where);
#if SHS__VECTOR_BYTES == 64
    SHS__DUEL(best, where, 32);
#endif
#if SHS__VECTOR_BYTES >= 32
    SHS__DUEL(best, where, 16);
#endif
#ifdef SPARSEHS_DOUBLE
    l = (best[1] > best[0]) | ((best[1] == best[0]) & (where[1] < where[0]));
    most = best[l], index = where[l];
#else
    { /* magnitudes compare as their bits do: those above, below them what is larger for an earlier index */
        int32_t bits[4];
        int64_t keys[4], low, high;
        memcpy(bits, best, sizeof bits);
        for (l = 0; l < 4; l++) keys[l] = (int64_t)bits[l] * 4294967296 + (INT_MAX - where[l]);
        low = keys[0] > keys[1] ? keys[0] : keys[1];
        high = keys[2] > keys[3] ? keys[2] : keys[3];
        low = low > high ? low : high;
        index = INT_MAX - (SHS__IN(lane))(low & INT_MAX);
        bits[0] = (int32_t)(low >> 32);
        memcpy(&most, bits, sizeof most);
    }
#endif
    *value = most;
    return (int)index;
}
#endif
#endif

/* All kernels that choose begin with atom 0 at score 0 and take only what is larger: where no score is a number, the zeros
   behind the last atom do not win.

   The index of the largest |alpha|, the first of equals. */
SHS__PRIVATE int SHS__IN(strongest)(int n, const shs_real *alpha) {
    shs_real best = 0;
    int i = 0, index = 0;
#ifdef SHS__AT_A_TIME
    if (n >= SHS__LANES) {
        SHS__IN(champion) c = {SHS__ALL(0), SHS__INDICES(0)};
        for (; i + SHS__LANES <= n; i += SHS__LANES) SHS__CHALLENGE(c, SHS__LOAD(alpha + i), i);
        index = SHS__IN(champion_index)(&c, &best);
    }
#endif
    for (; i < n; i++)
        if (shs__abs(alpha[i]) > best) best = shs__abs(alpha[i]), index = i;
    return index;
}

/* The heart of Batch-OMP, one pass over n values: b_k = (g - sum c_i b_i) / d into row k of B, alpha -= t b_k, and the
   largest |alpha| that is left. Per value: k + 2 reads and 2 writes in L1 for 2 k + 5 operations. */
SHS__PRIVATE int SHS__IN(advance)(int n, int k, const shs_real *SHS__RESTRICT g, const shs_real *SHS__RESTRICT c,
                                  shs_real *SHS__RESTRICT B, size_t rows, shs_real inverse_d, shs_real t,
                                  shs_real *SHS__RESTRICT alpha) {
    shs_real best = 0;
    const shs_real minus_t = -t;
    int i = 0, index = 0, q;
#ifdef SHS__AT_A_TIME
    if (n >= SHS__LANES) {
        const shs__vec zero = SHS__ALL(0), step = SHS__SUB(zero, SHS__ALL(t)), scale = SHS__ALL(inverse_d);
        SHS__IN(champion) champion = {zero, SHS__INDICES(0)}, second = champion;
        shs__mask won;
        for (; i + 4 * SHS__LANES <= n; i += 4 * SHS__LANES) {
            shs__vec v0 = SHS__LOAD(g + i), v1 = SHS__LOAD(g + i + SHS__LANES);
            shs__vec v2 = SHS__LOAD(g + i + 2 * SHS__LANES), v3 = SHS__LOAD(g + i + 3 * SHS__LANES);
            shs_real *row = SHS__AT_B(B, n, rows, 0, i);
            ptrdiff_t next = SHS__BLOCK_WIDTH(n, i);
            for (q = 0; q < k; q++, row += next) {
                const shs__vec factor = SHS__SUB(zero, SHS__ALL(c[q]));
                v0 = SHS__MULTIPLY_ADD(factor, SHS__LOAD(row), v0);
                v1 = SHS__MULTIPLY_ADD(factor, SHS__LOAD(row + SHS__LANES), v1);
                v2 = SHS__MULTIPLY_ADD(factor, SHS__LOAD(row + 2 * SHS__LANES), v2);
                v3 = SHS__MULTIPLY_ADD(factor, SHS__LOAD(row + 3 * SHS__LANES), v3);
            }
            v0 = SHS__MUL(v0, scale), v1 = SHS__MUL(v1, scale), v2 = SHS__MUL(v2, scale), v3 = SHS__MUL(v3, scale);
            SHS__STORE(row, v0), SHS__STORE(row + SHS__LANES, v1);
            SHS__STORE(row + 2 * SHS__LANES, v2), SHS__STORE(row + 3 * SHS__LANES, v3);
            v0 = SHS__MULTIPLY_ADD(step, v0, SHS__LOAD(alpha + i));
            v1 = SHS__MULTIPLY_ADD(step, v1, SHS__LOAD(alpha + i + SHS__LANES));
            v2 = SHS__MULTIPLY_ADD(step, v2, SHS__LOAD(alpha + i + 2 * SHS__LANES));
            v3 = SHS__MULTIPLY_ADD(step, v3, SHS__LOAD(alpha + i + 3 * SHS__LANES));
            SHS__STORE(alpha + i, v0), SHS__STORE(alpha + i + SHS__LANES, v1);
            SHS__STORE(alpha + i + 2 * SHS__LANES, v2), SHS__STORE(alpha + i + 3 * SHS__LANES, v3);
            SHS__CHALLENGE(champion, v0, i);
            SHS__CHALLENGE(champion, v1, i + SHS__LANES);
            SHS__CHALLENGE(second, v2, i + 2 * SHS__LANES);
            SHS__CHALLENGE(second, v3, i + 3 * SHS__LANES);
        }
        won = SHS__WINS(second.best, champion.best, second.where, champion.where);
        champion.best = SHS__PICK(won, second.best, champion.best);
        champion.where = SHS__PICK_INDEX(won, second.where, champion.where);
        for (; i + SHS__LANES <= n; i += SHS__LANES) {
            shs__vec v = SHS__LOAD(g + i);
            shs_real *row = SHS__AT_B(B, n, rows, 0, i);
            ptrdiff_t next = SHS__BLOCK_WIDTH(n, i);
            for (q = 0; q < k; q++, row += next) v = SHS__MULTIPLY_ADD(SHS__SUB(zero, SHS__ALL(c[q])), SHS__LOAD(row), v);
            v = SHS__MUL(v, scale);
            SHS__STORE(row, v);
            v = SHS__MULTIPLY_ADD(step, v, SHS__LOAD(alpha + i));
            SHS__STORE(alpha + i, v);
            SHS__CHALLENGE(champion, v, i);
        }
        index = SHS__IN(champion_index)(&champion, &best);
    }
#endif
    for (; i < n; i++) {
        shs_real v = g[i], *row = SHS__AT_B(B, n, rows, 0, i);
        ptrdiff_t next = SHS__BLOCK_WIDTH(n, i);
        for (q = 0; q < k; q++, row += next) v = SHS__MULTIPLY_ADD_ONE(-c[q], *row, v);
        v *= inverse_d;
        *row = v;
        alpha[i] = SHS__MULTIPLY_ADD_ONE(minus_t, v, alpha[i]);
        if (shs__abs(alpha[i]) > best) best = shs__abs(alpha[i]), index = i;
    }
    return index;
}

/* Rules of choice: the score of an atom, or of a vector of them, from alpha (in units of what counts as rounding), G_jj and
   d^2. It is never negative; 0: an atom that is not to be chosen. */
SHS__INLINE shs__vec SHS__IN(score_OMP)(shs__vec alpha, shs__vec gjj, shs__vec d2) {
    (void)gjj, (void)d2;
    return SHS__MUL(alpha, alpha);
}
/* The residual loses t^2 = alpha^2 / d^2. An atom that depends on those chosen is no candidate, so that the pursuit goes on. */
SHS__INLINE shs__vec SHS__IN(score_OLS)(shs__vec alpha, shs__vec gjj, shs__vec d2) {
    return SHS__WHERE(SHS__ABOVE(d2, SHS__MUL(SHS__ALL(SHS__OMP_GUARD), gjj)), SHS__DIV(SHS__MUL(alpha, alpha), d2));
}

SHS__INLINE shs__vec SHS__IN(score)(shs_selection selection, shs__vec alpha, shs__vec gjj, shs__vec d2) {
#define SHS__CASE(name, distances)                                                                                     \
    if (selection == SHS_SELECT_##name) return SHS__IN(score_##name)(alpha, gjj, d2);
    SHS_SELECTION_LIST(SHS__CASE)
#undef SHS__CASE
    return alpha;
}

/* The atom of the largest score, the first of equals, once d^2 of all has lost the square of row k of B (NULL: nothing).
   distance and diagonal have room for whole vectors, with zeros in it. */
SHS__PRIVATE int SHS__IN(choose)(shs_selection selection, int n, shs_real scale, const shs_real *alpha,
                                 const shs_real *diagonal, const shs_real *B, size_t rows, int k, shs_real *distance) {
    shs_real best = 0;
    int i, index = 0;
#ifdef SHS__VECTOR_BYTES
    SHS__IN(champion) champion = {SHS__ALL(0), SHS__INDICES(0)};
#endif
    for (i = 0; i < n; i += SHS__LANES) {
        const shs_real *row = B ? SHS__AT_B(B, n, rows, k, i) : diagonal + i;
        shs__vec a = SHS__ALL(0), b = a, d2, score;
        if (n - i >= SHS__LANES) a = SHS__LOAD(alpha + i), b = SHS__LOAD(row);
        else memcpy(&a, alpha + i, (size_t)(n - i) * sizeof *alpha), memcpy(&b, row, (size_t)(n - i) * sizeof *row);
        if (!B) b = SHS__ALL(0);
        d2 = SHS__FNMA(b, b, SHS__LOAD(distance + i));
        SHS__STORE(distance + i, d2);
        score = SHS__IN(score)(selection, SHS__MUL(a, SHS__ALL(scale)), SHS__LOAD(diagonal + i), d2);
#ifdef SHS__VECTOR_BYTES
        SHS__CHALLENGE(champion, score, i);
    }
    index = SHS__IN(champion_index)(&champion, &best);
#else
        if (score > best) best = score, index = i;
    }
#endif
    return index;
}
#endif /* SHS__IN_WIDE */

#ifdef SHS__CUBES
/* ---- kernels: pixels, packing ------------------------------------------------------------------------ >>k_packing */

/* Products of pixels are summed from PACKED panels. A group is as many bands as a vector has lanes (L), and lies pixel
   after pixel; the last one is filled up with zeros:

       group 0:  | x(0,0) x(1,0) .. x(L-1,0) | x(0,1) .. x(L-1,1) | ..  a vector for each pixel
       group 1:  | x(L,0) x(L+1,0) ..        | ..

   Spectra that lie pixel by pixel are packed without a transposition, straight from their own type, and both factors of a
   product are read from the same panel. Without vectors a group is one band. Up to the results the text is compiled twice
   in the float build: for elements of shs_real, and of shs_wide. */

/* Integer products: where the compiler converts vectors, and a shs_wide has the 53 bits that their exact sums need. */
#if defined(SHS__WORDS_BYTES) &&                                                                                       \
    (defined(SPARSEHS_NO_DOUBLE) || !(defined(__clang__) || defined(SHS__INTRINSICS) || __GNUC__ >= 9))
#undef SHS__WORDS_BYTES
#endif
/* Of words: pairs by pmaddwd, fours by vpdpbusd (VNNI, where the processor has it) or sdot (ARM). */
#if defined(SHS__WORDS_BYTES) && !defined(SHS__X64) && !defined(__i386__)
#define SHS__SDOT
#elif defined(SHS__WORDS_BYTES)
#define SHS__PMADD
#if SHS__WORDS_BYTES == 64
#define SHS__VNNI
#endif
#endif

/* out = value - shift for n values side by side: one shift for all, or one each. */
#define SHS__PX_CONVERT(from_type, load)                                                                                       \
    {                                                                                                                          \
        const from_type *v = (const from_type *)from;                                                                          \
        for (; i + SHS__LANES <= n; i += SHS__LANES, shift += step)                                                            \
            SHS__STORE(to + i, SHS__SUB(load(v + i), SHS__LOAD(shift)));                                                       \
        for (; i < n; i++, shift += step != 0) to[i] = (shs__element)v[i] - *shift;                                            \
    }                                                                                                                          \
    break;

SHS__PRIVATE void SHS__IN(px_convert)(shs_type type, int n, const void *from, const void *shifts, int each, void *elements) {
    const shs__element *shift = (const shs__element *)shifts;
    shs__element *to = (shs__element *)elements, all[SHS__LANES];
    int i, step = each ? SHS__LANES : 0;
    for (i = 0; i < SHS__LANES && !each; i++) all[i] = *shift;
    if (!each) shift = all;
    i = 0;
    switch (type) {
    case SHS_TYPE_U8: SHS__PX_CONVERT(uint8_t, SHS__LOAD_U8)
    case SHS_TYPE_I16: SHS__PX_CONVERT(int16_t, SHS__LOAD_I16)
    case SHS_TYPE_U16: SHS__PX_CONVERT(uint16_t, SHS__LOAD_U16)
#ifdef SHS__ELEMENT_64 /* otherwise it is the element */
    case SHS_TYPE_F32: SHS__PX_CONVERT(float, SHS__LOAD_F32)
#endif
    default: SHS__PX_CONVERT(shs__element, SHS__LOAD)
    }
}

/* D = S', S is m x n. */
SHS__PRIVATE void SHS__IN(px_transpose)(int m, int n, const void *S, int lds, void *D, int ldd) {
    SHS__IN(transpose)(m, n, 1, (const shs__element *)S, lds, (shs__element *)D, ldd);
}

/* Whether n values are all finite, by their exponents; in wide, too, what a float cannot hold is not. */
#if defined(SHS__IN_WIDE)
#define SHS__PX_LEAST ((int64_t)(1023 + 128) << 52)
#else
#define SHS__PX_LEAST SHS__EXPONENT
#endif
SHS__PRIVATE int SHS__IN(px_finite)(int n, const shs__element *x) {
    SHS__IN(lane) flags = 0, bits, lane[SHS__LANES];
    shs__index some = SHS__INDICES(0);
    int i = 0, l;
    for (; i + SHS__LANES <= n; i += SHS__LANES) some = SHS__OR_EXPONENT(some, SHS__LOAD(x + i), SHS__PX_LEAST);
    memcpy(lane, &some, sizeof some);
    for (l = 0; l < SHS__LANES; l++) flags |= lane[l];
    for (; i < n; i++) {
        memcpy(&bits, x + i, sizeof bits);
        flags |= SHS__PX_LEAST - 1 - (bits & SHS__EXPONENT);
    }
    return flags >= 0;
}

/* Packs converted spectra, `bands` values each at spectrum[k], of a type that px_convert takes, less the shift; groups are
   `apart` values apart. A missing spectrum becomes zeros, and so does one in which a value comes out as NaN or infinity;
   that is marked as missing too. Room: a spectrum, up to a whole vector. */
SHS__PRIVATE void SHS__IN(px_pack)(shs_type type, int bands, int pixels, const unsigned char *const *spectrum,
                                   const void *shift, unsigned char *missing, void *rooms, void *packed, size_t apart) {
    shs__element *room = (shs__element *)rooms, *to = (shs__element *)packed;
    int k, b;
    for (b = bands; b % SHS__LANES; b++) room[b] = 0;
    for (k = 0; k < pixels; k++, to += SHS__LANES) {
        shs__element *group = to;
        if (!missing[k]) {
            SHS__IN(px_convert)(type, bands, spectrum[k], shift, 1, room);
            if (type == SHS_TYPE_F32 || type == SHS_TYPE_REAL) missing[k] = !SHS__IN(px_finite)(bands, room);
        }
        for (b = 0; b < bands && missing[k]; b++) room[b] = 0;
        for (b = 0; b < bands; b += SHS__LANES, group += apart) SHS__STORE(group, SHS__LOAD(room + b));
    }
}

/* Adds up each band of a packed panel, in shs_wide. */
SHS__PRIVATE void SHS__IN(px_sums)(int bands, int depth, const void *panel, size_t apart, shs_wide *sum) {
    const shs__element *packed = (const shs__element *)panel;
    int b, k, l, i;
    for (b = 0; b < bands; b += SHS__LANES, packed += apart) {
        for (l = 0; l < SHS__LANES; l += SHS__WLANES) {
            shs__wvec even = SHS__WALL(0), odd = even;
            shs_wide lane[SHS__WLANES];
            const shs__element *x = packed + l;
            for (k = 0; k + 2 <= depth; k += 2, x += 2 * SHS__LANES) {
                even = SHS__WADD(even, SHS__WIDEN(x));
                odd = SHS__WADD(odd, SHS__WIDEN(x + SHS__LANES));
            }
            if (k < depth) even = SHS__WADD(even, SHS__WIDEN(x));
            SHS__WSTORE(lane, SHS__WADD(even, odd));
            for (i = 0; i < SHS__WLANES && b + l + i < bands; i++) sum[b + l + i] += lane[i];
        }
    }
}

/* ---- kernels: pixels, products ---------------------------------------------------------------------- >>k_products */

/* Products of a packed panel, [group][pixel][lane], with itself: tiles of up to SHS__TILE_VECTORS groups of rows by SHS__PC
   columns. A group by these columns is formed where it meets the lower triangle, columns after columns, from the diagonal down;
   they lie in this order. */
#if defined(SHS__VECTOR_BYTES) && SHS__VECTOR_BYTES == 16 && defined(SHS__ELEMENT_64)
#define SHS__PC 2 /* a group has no more */
#else
#define SHS__PC SHS__NR
#endif
SHS__DEFINE_TILE(px_tile, SHS__PC)

/* P (bands x bands, lower triangle) += the tiles of products in C, in shs_wide. */
SHS__PRIVATE void SHS__IN(px_flush)(int bands, const void *blocks, shs_wide *P) {
    const shs__element *C = (const shs__element *)blocks;
    int column, row, j, i, last;
    for (column = 0; column < bands; column += SHS__PC)
        for (row = column - column % SHS__LANES; row < bands; row += SHS__LANES, C += SHS__PC * SHS__LANES) {
            last = row + SHS__LANES < bands ? row + SHS__LANES : bands;
            for (j = 0; j < SHS__PC && column + j < bands; j++) {
                const shs__element *c = C + j * SHS__LANES;
                shs_wide *p = SHS__AT(P, bands, row, column + j);
                i = column + j > row ? column + j - row : 0;
                if (i == 0)
                    for (; i + SHS__WLANES <= last - row; i += SHS__WLANES)
                        SHS__WSTORE(p + i, SHS__WADD(SHS__WLOAD(p + i), SHS__WIDEN(c + i)));
                for (; i < last - row; i++) p[i] += (shs_wide)c[i];
            }
        }
}

/* ---- kernels: pixels, results ------------------------------------------------------------------------ >>k_results */

/* The extremes of each of n values in `rows` rows, with room up to whole vectors. */
SHS__PRIVATE void SHS__IN(px_range)(int rows, int n, const void *values, int ldy, void *lowest, void *highest) {
    const shs__element *y = (const shs__element *)values;
    shs__element *low = (shs__element *)lowest, *high = (shs__element *)highest;
    int i, k;
    for (i = 0; i < n; i += SHS__LANES) {
        shs__vec least = SHS__LOAD(low + i), most = SHS__LOAD(high + i), v;
        for (k = 0; k < rows; k++) {
            v = SHS__LOAD(y + (size_t)k * (size_t)ldy + i);
            least = SHS__PICK(SHS__ABOVE(least, v), v, least);
            most = SHS__PICK(SHS__ABOVE(v, most), v, most);
        }
        SHS__STORE(low + i, least);
        SHS__STORE(high + i, most);
    }
}

/* sum[k] = the squared length of row k of y (n values, ldy apart), the constant added to it: two rows of sums, so that one
   addition need not wait for the one before. All rows are filled up to whole vectors, with zeros. */
SHS__PRIVATE void SHS__IN(px_squares)(int pixels, int n, const void *values, int ldy, const void *constant, shs_wide *sum) {
    const shs__element *y = (const shs__element *)values, *c = (const shs__element *)constant;
    shs__element lane[SHS__LANES];
    int k, i;
    for (k = 0; k < pixels; k++, y += ldy) {
        shs__vec even = SHS__ALL(0), odd = even, v;
        for (i = 0; i + SHS__LANES < n; i += 2 * SHS__LANES) {
            v = SHS__ADD(SHS__LOAD(y + i), SHS__LOAD(c + i));
            even = SHS__FMA(v, v, even);
            v = SHS__ADD(SHS__LOAD(y + i + SHS__LANES), SHS__LOAD(c + i + SHS__LANES));
            odd = SHS__FMA(v, v, odd);
        }
        if (i < n) v = SHS__ADD(SHS__LOAD(y + i), SHS__LOAD(c + i)), even = SHS__FMA(v, v, even);
        SHS__STORE(lane, SHS__ADD(even, odd));
        for (sum[k] = 0, i = 0; i < SHS__LANES; i++) sum[k] += (shs_wide)lane[i];
    }
}

/* One value in shs_wide: the constant added, stretched, and, for integers, rounded half away from zero and kept in range.
   Vectors of them and single ones are calculated alike. */
#define SHS__PX_SCALED(W, x, at, zero, least, most)                                                                            \
    x = SHS__##W##ADD(at(s->constant), x);                                                                                     \
    if (s->rescale)                                                                                                            \
        x = SHS__##W##ADD(SHS__##W##DIV(SHS__##W##MUL(at(s->range), SHS__##W##SUB(x, at(s->low))), at(s->old)),                \
                          SHS__##W##ALL(s->base));                                                                             \
    if (whole) {                                                                                                               \
        x = SHS__##W##ADD(                                                                                                     \
            x, SHS__##W##PICK(SHS__##W##ABOVE(zero, x), SHS__##W##ALL((shs_wide)-0.5), SHS__##W##ALL((shs_wide)0.5)));         \
        x = SHS__##W##PICK(SHS__##W##ABOVE(x, least), x, least);                                                               \
        x = SHS__##W##PICK(SHS__##W##ABOVE(most, x), x, most);                                                                 \
    }
#define SHS__PX_ONE(p) (p)[s->each ? i : 0]
#define SHS__PX_MANY(p) (s->each ? SHS__WLOAD((p) + i) : SHS__WALL((p)[0]))

/* Stores n results side by side, scaled, as SHS_TYPE_U8, I16, U16, F32 or REAL. The type is asked for vector by vector: a loop
   for each would be 2 KB more of every instance, and no faster. */
SHS__PRIVATE void SHS__IN(px_store)(shs_type type, int n, const void *values, const shs__scaling *s, void *to) {
    const shs__element *y = (const shs__element *)values;
    const int whole = type == SHS_TYPE_U8 || type == SHS_TYPE_I16 || type == SHS_TYPE_U16;
    const shs_wide least = type == SHS_TYPE_I16 ? -32768 : 0;
    const shs_wide most = type == SHS_TYPE_U8 ? 255 : type == SHS_TYPE_I16 ? 32767 : 65535;
    const shs__wvec none = SHS__WALL(0), leasts = SHS__WALL(least), mosts = SHS__WALL(most);
    int i = 0;
    for (; i + SHS__WLANES <= n; i += SHS__WLANES) {
        shs__wvec x = SHS__WIDEN(y + i);
        SHS__PX_SCALED(W, x, SHS__PX_MANY, none, leasts, mosts)
        if (type == SHS_TYPE_U8) SHS__WSTORE_U8((uint8_t *)to + i, x);
        else if (type == SHS_TYPE_I16) SHS__WSTORE_I16((int16_t *)to + i, x);
        else if (type == SHS_TYPE_U16) SHS__WSTORE_U16((uint16_t *)to + i, x);
        else if (type == SHS_TYPE_F32) SHS__WSTORE_F32((float *)to + i, x);
        else SHS__WSTORE_ELEMENT((shs__element *)to + i, x);
    }
    for (; i < n; i++) {
        shs_wide x = (shs_wide)y[i];
        SHS__PX_SCALED(ONE_, x, SHS__PX_ONE, 0, least, most)
        if (type == SHS_TYPE_U8) ((uint8_t *)to)[i] = (uint8_t)x;
        else if (type == SHS_TYPE_I16) ((int16_t *)to)[i] = (int16_t)x;
        else if (type == SHS_TYPE_U16) ((uint16_t *)to)[i] = (uint16_t)x;
        else if (type == SHS_TYPE_F32) ((float *)to)[i] = (float)x;
        else ((shs__element *)to)[i] = (shs__element)x;
    }
}

#ifndef SHS__IN_WIDE
/* ---- kernels: pixels, integer products -------------------------------------------------------------- >>k_integers */

/* Pixels of 8 and 16 bits, less an integer shift, multiplied and added by the processor's integer dot products: exact, and
   two to four times as fast as in float. They are packed as above, but a word of 32 bits holds the same band of two pixels
   (16 bits each) or of four (8 bits). Sums of 32 bits go to shs_wide before they can overflow: after `most` words. */
#ifdef SHS__WORDS_BYTES
#define SHS__WL (SHS__WORDS_BYTES / 4)
#define SHS__WC (SHS__WORDS_BYTES == 64 ? 8 : 4) /* columns of a tile: within one vector */
#if SHS__WORDS_BYTES == 64 || defined(SHS__SDOT) /* 32 registers */
#define SHS__WV 3
#else
#define SHS__WV 2 /* of 16 registers, and a product needs one of its own */
#endif

/* Operations on vectors of words: I before the name, LEFT and RIGHT are shifts (the second fills with the sign), and
   SUM_OF_PAIRS(a, b) is in each word the sum of two products of 16 bits. */
#define shs__words SHS__IN(words)
#ifdef SHS__INTRINSICS
#ifdef SHS__X64
#define SHS__IOP(name) SHS__OF(name, epi32)
#define SHS__ISI(name) SHS__OF(name, SHS__JOIN(si, SHS__SI))
#define SHS__WORDS_64 __m512i
#define SHS__WORDS_32 __m256i
#define SHS__WORDS_16 __m128i
typedef SHS__JOIN(SHS__WORDS_, SHS__VECTOR_BYTES) shs__words;
#define SHS__IALL(x) SHS__IOP(set1_)(x)
#define SHS__ILOAD(p) SHS__ISI(loadu_)((const shs__words *)(const void *)(p))
#define SHS__ISTORE(p, v) SHS__ISI(storeu_)((shs__words *)(void *)(p), v)
#define SHS__ILOAD_U8(p) SHS__SIZED(SHS__INTS_, ps)(u8, p)
#define SHS__ILOAD_I16(p) SHS__SIZED(SHS__INTS_, ps)(i16, p)
#define SHS__ILOAD_U16(p) SHS__SIZED(SHS__INTS_, ps)(u16, p)
#define SHS__IADD(a, b) SHS__IOP(add_)(a, b)
#define SHS__ISUB(a, b) SHS__IOP(sub_)(a, b)
#define SHS__IAND(a, b) SHS__ISI(and_)(a, b)
#define SHS__IOR(a, b) SHS__ISI(or_)(a, b)
#define SHS__IXOR(a, b) SHS__ISI(xor_)(a, b)
#define SHS__ILEFT(v, bits) SHS__IOP(slli_)(v, bits)
#define SHS__IRIGHT(v, bits) SHS__IOP(srai_)(v, bits)
#if SHS__VECTOR_BYTES == 16
#define SHS__IMAX(a, b) shs__x86_max(a, b)
#else
#define SHS__IMAX(a, b) SHS__IOP(max_)(a, b)
#endif
#define SHS__SUM_OF_PAIRS(a, b) SHS__OF(madd_, epi16)(a, b)
#else
typedef int32x4_t shs__words;
#define SHS__IALL(x) vdupq_n_s32(x)
#define SHS__ILOAD(p) vld1q_s32(p)
#define SHS__ISTORE(p, v) vst1q_s32(p, v)
#define SHS__ILOAD_U8(p) shs__neon_u8(p, 4)
#define SHS__IADD(a, b) vaddq_s32(a, b)
#define SHS__IOR(a, b) vorrq_s32(a, b)
#define SHS__IXOR(a, b) veorq_s32(a, b)
#define SHS__ILEFT(v, bits) vshlq_n_s32(v, bits)
#endif
#else
typedef int32_t shs__words __attribute__((vector_size(SHS__WORDS_BYTES)));
typedef uint32_t SHS__IN(unsigned_words) __attribute__((vector_size(SHS__WORDS_BYTES)));
SHS__ANY_TYPE(any_words, int32_t, SHS__WL);
SHS__ANY_TYPE(any_words_u8, uint8_t, SHS__WL);
SHS__ANY_TYPE(any_words_i16, int16_t, SHS__WL);
SHS__ANY_TYPE(any_words_u16, uint16_t, SHS__WL);
SHS__INLINE shs__words SHS__IN(iall)(int32_t x) {
    const shs__words zero = SHS_ZERO;
    return zero + x;
}
SHS__INLINE shs__words SHS__IN(imax)(shs__words a, shs__words b) {
    const shs__words larger = a > b;
    return (a & larger) | (b & ~larger);
}
#define SHS__IALL(x) SHS__IN(iall)(x)
#define SHS__ILOAD(p) SHS__AT_ANY(any_words, p)
#define SHS__ISTORE(p, v) SHS__SET_ANY(any_words, p, v)
#define SHS__ILOAD_U8(p) SHS__CAST(SHS__AT_ANY(any_words_u8, p), shs__words)
#define SHS__ILOAD_I16(p) SHS__CAST(SHS__AT_ANY(any_words_i16, p), shs__words)
#define SHS__ILOAD_U16(p) SHS__CAST(SHS__AT_ANY(any_words_u16, p), shs__words)
#define SHS__IADD(a, b) ((a) + (b))
#define SHS__ISUB(a, b) ((a) - (b))
#define SHS__IAND(a, b) ((a) & (b))
#define SHS__IOR(a, b) ((a) | (b))
#define SHS__IXOR(a, b) ((a) ^ (b))
#define SHS__ILEFT(v, bits) ((shs__words)((SHS__IN(unsigned_words))(v) << (bits)))
#define SHS__IRIGHT(v, bits) ((v) >> (bits))
#define SHS__IMAX(a, b) SHS__IN(imax)(a, b)

#ifdef SHS__PMADD
typedef int16_t SHS__IN(halves) __attribute__((vector_size(SHS__WORDS_BYTES)));
#if SHS__WORDS_BYTES == 16
#define SHS__MADD(a, b) __builtin_ia32_pmaddwd128(a, b)
#elif SHS__WORDS_BYTES == 32
#define SHS__MADD(a, b) __builtin_ia32_pmaddwd256(a, b)
#elif defined(__clang__)
#define SHS__MADD(a, b) __builtin_ia32_pmaddwd512(a, b)
#else
#define SHS__MADD(a, b) __builtin_ia32_pmaddwd512_mask(a, b, (__extension__(shs__words){0}), 0xffff)
#endif
#define SHS__SUM_OF_PAIRS(a, b) ((shs__words)SHS__MADD((SHS__IN(halves))(a), (SHS__IN(halves))(b)))
#endif
#endif

#ifdef SHS__PMADD
/* Stores one word for two spectra at x and y; *most becomes the largest |x - shift| so far, lane by lane. */
#define SHS__PAIR(load, x, y, shift, to, most)                                                                                 \
    do {                                                                                                                       \
        shs__words shift_ = SHS__ILOAD(shift), first_ = SHS__ISUB(load(x), shift_), second_ = SHS__ISUB(load(y), shift_);      \
        SHS__ISTORE(to, SHS__IOR(SHS__IAND(first_, SHS__IALL(0xffff)), SHS__ILEFT(second_, 16)));                              \
        most = SHS__IMAX(SHS__IXOR(first_, SHS__IRIGHT(first_, 31)), most);                                                    \
        most = SHS__IMAX(SHS__IXOR(second_, SHS__IRIGHT(second_, 31)), most);                                                  \
    } while (0)

/* Whole vectors in their own type, and what is left in words of 32 bits, with zeros behind. */
#define SHS__PACK_PAIRS(load, from_type)                                                                                       \
    for (k = 0; k < pixels; k += 2, to += SHS__WL) {                                                                           \
        const from_type *x = (const from_type *)(const void *)spectrum[k];                                                     \
        const from_type *y = (const from_type *)(const void *)spectrum[k + 1];                                                 \
        int32_t *group = to;                                                                                                   \
        for (b = 0; b < whole; b += SHS__WL, group += apart) SHS__PAIR(load, x + b, y + b, shift + b, group, most);            \
        for (; b < bands; b++) x_end[b - whole] = x[b], y_end[b - whole] = y[b];                                               \
        if (whole < bands) SHS__PAIR(SHS__ILOAD, x_end, y_end, shift + whole, group, most);                                    \
    }                                                                                                                          \
    break;

/* Packs pairs of spectra (pixels: even; shift: up to a whole vector, zeros behind) of 8 or 16 bits. Returns the largest size
   of a difference; if it needs more than 16 bits the words are of no use. */
SHS__PRIVATE int32_t SHS__IN(pack_pairs)(shs_type type, int bands, int pixels, const unsigned char *const *spectrum,
                                         const int32_t *shift, int32_t *to, size_t apart) {
    shs__words most = SHS__IALL(0);
    int32_t lane[SHS__WL], x_end[SHS__WL] = {0}, y_end[SHS__WL] = {0};
    int k, b, whole = bands - bands % SHS__WL;
    switch (type) {
    case SHS_TYPE_U8: SHS__PACK_PAIRS(SHS__ILOAD_U8, uint8_t)
    case SHS_TYPE_I16: SHS__PACK_PAIRS(SHS__ILOAD_I16, int16_t)
    default: SHS__PACK_PAIRS(SHS__ILOAD_U16, uint16_t)
    }
    SHS__ISTORE(lane, most);
    for (k = 1; k < SHS__WL; k++) lane[0] = lane[k] > lane[0] ? lane[k] : lane[0];
    return lane[0] + 1; /* -n was taken as n - 1 */
}
#endif

/* The products that a processor may have for words. VNNI's instructions go by their names, so that the text need not be
   compiled a second time for processors that have it. Of quads a holds bytes as they are and b bytes less 128; on ARM both are
   less 128. */
#ifdef SHS__VNNI
#define SHS__WORD_PRODUCTS(X) X(SHS__PAIRS) X(SHS__PAIRS_VNNI) X(SHS__QUADS)
#elif defined(SHS__PMADD)
#define SHS__WORD_PRODUCTS(X) X(SHS__PAIRS)
#else
#define SHS__WORD_PRODUCTS(X) X(SHS__QUADS)
#endif
SHS__INLINE shs__words SHS__IN(word_dot)(shs__factors how, shs__words sum, shs__words a, shs__words b) {
    (void)how; /* ARM has one product */
#ifdef SHS__PMADD
    if (how == SHS__PAIRS) return SHS__IADD(sum, SHS__SUM_OF_PAIRS(a, b));
#endif
#if defined(SHS__VNNI)
#if !defined(__GNUC__) && !defined(__clang__)
    sum = how == SHS__PAIRS_VNNI ? _mm512_dpwssd_epi32(sum, a, b) : _mm512_dpbusd_epi32(sum, a, b);
#else
    if (how == SHS__PAIRS_VNNI) __asm__("vpdpwssd {%2, %1, %0|%0, %1, %2}" : "+v"(sum) : "v"(a), "v"(b));
    else __asm__("vpdpbusd {%2, %1, %0|%0, %1, %2}" : "+v"(sum) : "v"(a), "v"(b));
#endif
#elif defined(SHS__SDOT) && defined(SHS__INTRINSICS)
    sum = vdotq_s32(sum, vreinterpretq_s8_s32(a), vreinterpretq_s8_s32(b));
#elif defined(SHS__SDOT)
    __asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(a), "w"(b));
#endif
    return sum;
}

/* Adds up each band of packed words, times bytes or halves that are 1: few enough for 32 bits. */
SHS__INLINE void SHS__IN(sum_of)(shs__factors how, int bands, int words, const int32_t *packed, size_t apart, shs_wide *sum) {
    int32_t lane[SHS__WL];
    int b, k;
    for (b = 0; b < bands; b += SHS__WL, packed += apart) {
        shs__words even = SHS__IALL(0), odd = even, each = SHS__IALL(how == SHS__QUADS ? 0x1010101 : 0x10001);
        for (k = 0; k + 2 <= words; k += 2) {
            even = SHS__IN(word_dot)(how, even, each, SHS__ILOAD(packed + k * SHS__WL));
            odd = SHS__IN(word_dot)(how, odd, each, SHS__ILOAD(packed + (k + 1) * SHS__WL));
        }
        if (k < words) even = SHS__IN(word_dot)(how, even, each, SHS__ILOAD(packed + k * SHS__WL));
        SHS__ISTORE(lane, SHS__IADD(even, odd));
        for (k = 0; k < SHS__WL && b + k < bands; k++) sum[b + k] += (shs_wide)lane[k];
    }
}

#define SHS__WORD_BEGIN(zero, j) shs__words c0##j = zero, c1##j = zero, c2##j = zero;
#define SHS__WORD_STEP(how, j)                                                                                                 \
    if (SHS__WC > j) {                                                                                                         \
        bj = SHS__IALL(b[j]);                                                                                                  \
        c0##j = SHS__IN(word_dot)(how, c0##j, a0, bj);                                                                         \
        if (vectors > 1) c1##j = SHS__IN(word_dot)(how, c1##j, a1, bj);                                                        \
        if (vectors > 2) c2##j = SHS__IN(word_dot)(how, c2##j, a2, bj);                                                        \
    }
#define SHS__WORD_END(sums, j)                                                                                                 \
    if (SHS__WC > j) SHS__ISTORE(sums + j * SHS__WL, c0##j);                                                                   \
    if (SHS__WC > j && vectors > 1) SHS__ISTORE(sums + (SHS__WC + j) * SHS__WL, c1##j);                                        \
    if (SHS__WC > j && vectors > 2) SHS__ISTORE(sums + (2 * SHS__WC + j) * SHS__WL, c2##j);

/* The blocks C += products of packed words, `vectors` groups from a on and the columns from b on, by way of `sums`. */
SHS__INLINE void SHS__IN(word_tile)(shs__factors how, int vectors, int depth, int most, const int32_t *a, const int32_t *b,
                                    ptrdiff_t apart, int32_t *sums, shs_wide *C) {
    while (depth > 0) {
        int words = depth < most ? depth : most;
        shs__words zero = SHS__IALL(0), a0, a1 = zero, a2 = zero, bj;
        SHS__TILE_COLUMNS(SHS__WORD_BEGIN, zero)
        for (depth -= words; words > 0; words--, a += SHS__WL, b += SHS__WL) {
            a0 = SHS__ILOAD(a);
            if (vectors > 1) a1 = SHS__ILOAD(a + apart);
            if (vectors > 2) a2 = SHS__ILOAD(a + 2 * apart);
            SHS__TILE_COLUMNS(SHS__WORD_STEP, how)
        }
        SHS__TILE_COLUMNS(SHS__WORD_END, sums)
        for (words = 0; words < vectors * SHS__WC * SHS__WL; words += SHS__WLANES)
            SHS__WSTORE(C + words, SHS__WADD(SHS__WLOAD(C + words), SHS__WLOAD_I32(sums + words)));
    }
}

/* The two by what was packed: inlined for each product and number of vectors. */
SHS__OUTLINE void SHS__IN(sum_words)(shs__factors how, int bands, int words, const int32_t *packed, size_t apart,
                                     shs_wide *sum) {
#define SHS__CASE(product)                                                                                             \
    if (how == product) SHS__IN(sum_of)(product, bands, words, packed, apart, sum);
    SHS__WORD_PRODUCTS(SHS__CASE)
#undef SHS__CASE
}

SHS__OUTLINE void SHS__IN(gram_words)(shs__factors how, int vectors, int depth, int most, const int32_t *a, const int32_t *b,
                                      ptrdiff_t apart, int32_t *sums, shs_wide *C) {
#define SHS__CASE(product)                                                                                             \
    if (how == product && vectors == 1) SHS__IN(word_tile)(product, 1, depth, most, a, b, apart, sums, C);             \
    if (how == product && vectors == 2) SHS__IN(word_tile)(product, 2, depth, most, a, b, apart, sums, C);             \
    if (how == product && vectors == 3 && SHS__WV == 3)                                                                \
        SHS__IN(word_tile)(product, SHS__WV, depth, most, a, b, apart, sums, C);
    SHS__WORD_PRODUCTS(SHS__CASE)
#undef SHS__CASE
}

#if defined(SHS__VNNI) || defined(SHS__SDOT)
#define SHS__QUAD(p0, p1, p2, p3)                                                                                              \
    SHS__IOR(SHS__IOR(SHS__ILOAD_U8(p0), SHS__ILEFT(SHS__ILOAD_U8(p1), 8)),                                                    \
             SHS__IOR(SHS__ILEFT(SHS__ILOAD_U8(p2), 16), SHS__ILEFT(SHS__ILOAD_U8(p3), 24)))

/* Packs spectra of bytes by fours (pixels: a multiple), as they are; and the same less 128, `second` words further on, of
   which the sums are taken too. What fills up the last group is 128, so 0 there. */
SHS__PRIVATE void SHS__IN(pack_quads)(int bands, int pixels, const unsigned char *const *spectrum, int32_t *to, size_t apart,
                                      size_t second) {
    shs__words quad;
    unsigned char ends[4][SHS__WL];
    int k, b, q;
    memset(ends, 128, sizeof ends);
    for (k = 0; k < pixels; k += 4, to += SHS__WL, spectrum += 4) {
        const unsigned char *p0 = spectrum[0], *p1 = spectrum[1], *p2 = spectrum[2], *p3 = spectrum[3];
        int32_t *group = to;
        for (b = 0; b < bands; b += SHS__WL, group += apart) {
            if (bands - b < SHS__WL) {
                for (q = 0; q < 4; q++) memcpy(ends[q], spectrum[q] + b, (size_t)(bands - b));
                p0 = ends[0], p1 = ends[1], p2 = ends[2], p3 = ends[3];
            }
            quad = SHS__QUAD(p0, p1, p2, p3);
            SHS__ISTORE(group, quad);
            SHS__ISTORE(group + second, SHS__IXOR(quad, SHS__IALL((int32_t)0x80808080)));
            p0 += SHS__WL, p1 += SHS__WL, p2 += SHS__WL, p3 += SHS__WL;
        }
    }
}
#endif
#undef SHS__MADD
#undef SHS__WORD_PRODUCTS
#endif

/* What an instance has; 0 and NULL for the rest. */
SHS__PRIVATE const shs__words_kernels SHS__IN(kernels_words) = {
#ifdef SHS__SDOT
    SHS__WL, SHS__WC, SHS__WV, 1, NULL, SHS__IN(pack_quads), SHS__IN(sum_words), SHS__IN(gram_words),
#elif defined(SHS__VNNI)
    SHS__WL, SHS__WC, SHS__WV, 0, SHS__IN(pack_pairs), SHS__IN(pack_quads), SHS__IN(sum_words), SHS__IN(gram_words),
#elif defined(SHS__PMADD)
    SHS__WL, SHS__WC, SHS__WV, 0, SHS__IN(pack_pairs), NULL, SHS__IN(sum_words), SHS__IN(gram_words),
#else
    0, 0, 0, 0, NULL, NULL, NULL, NULL,
#endif
};

/* ---- kernels: contrasts ---------------------------------------------------------------------------- >>k_contrasts */

/* exp, tanh and log cosh of whole vectors, within 2 units in the last place wherever their values are not subnormal. */
#define SHS__TERM(q, coefficient, more) SHS__FMA(q, more, SHS__ALL(coefficient))

#ifdef SHS__VECTOR_BYTES
#define SHS__PX_FUNCTION SHS__INLINE
#else
#define SHS__PX_FUNCTION SHS__PRIVATE /* small frames, unoptimised */
#endif
#ifdef SPARSEHS_DOUBLE
#define SHS__EXP_LIMIT 745.2 /* exp(-745.2) rounds to 0 */
#define SHS__LN2_HIGH 6.93147180369123816490e-01 /* its last bits are zero: exact times any exponent */
#define SHS__LN2_LOW 1.90821492927058770002e-10
/* (exp r - 1 - r) / r^2 and (tanh a / a - 1) / q, q = a^2, at Chebyshev's points of |r| <= ln 2 / 2 and q <= 0.55^2. */
#define SHS__EXP_SERIES(r)                                                                                                     \
    SHS__TERM(                                                                                                                 \
        r, 0.5,                                                                                                                \
        SHS__TERM(                                                                                                             \
            r, 1.66666666666666713e-01,                                                                                        \
            SHS__TERM(                                                                                                         \
                r, 4.16666666666666713e-02,                                                                                    \
                SHS__TERM(                                                                                                     \
                    r, 8.33333333332613585e-03,                                                                                \
                    SHS__TERM(r, 1.38888888888837503e-03,                                                                      \
                              SHS__TERM(r, 1.98412698748158344e-04,                                                            \
                                        SHS__TERM(r, 2.48015873255443207e-05,                                                  \
                                                  SHS__TERM(r, 2.75572554062850442e-06,                                        \
                                                            SHS__TERM(r, 2.75572736474511348e-07,                              \
                                                                      SHS__TERM(r, 2.51052144747514130e-08,                    \
                                                                                SHS__ALL(2.09146851614036620e-09)))))))))))
#define SHS__TANH_SERIES(q)                                                                                                    \
    SHS__TERM(                                                                                                                 \
        q, -3.33333333333333315e-01,                                                                                           \
        SHS__TERM(                                                                                                             \
            q, 1.33333333333333109e-01,                                                                                        \
            SHS__TERM(                                                                                                         \
                q, -5.39682539682203727e-02,                                                                                   \
                SHS__TERM(                                                                                                     \
                    q, 2.18694885340739061e-02,                                                                                \
                    SHS__TERM(                                                                                                 \
                        q, -8.86323546314679925e-03,                                                                           \
                        SHS__TERM(                                                                                             \
                            q, 3.59212676996263462e-03,                                                                        \
                            SHS__TERM(q, -1.45581909715135111e-03,                                                             \
                                      SHS__TERM(q, 5.89905296949273274e-04,                                                    \
                                                SHS__TERM(q, -2.38472724801525211e-04,                                         \
                                                          SHS__TERM(q, 9.45513305292485802e-05,                                \
                                                                    SHS__TERM(q, -3.37208011204631625e-05,                     \
                                                                              SHS__ALL(7.87427434534441857e-06))))))))))))
#else
#define SHS__EXP_LIMIT 104.0f
#define SHS__LN2_HIGH 0.693359375f
#define SHS__LN2_LOW -2.12194440e-4f
#define SHS__EXP_SERIES(r)                                                                                                     \
    SHS__TERM(r, 0.5f,                                                                                                         \
              SHS__TERM(r, 1.66666667e-01f,                                                                                    \
                        SHS__TERM(r, 4.16664649e-02f,                                                                          \
                                  SHS__TERM(r, 8.33331093e-03f, SHS__TERM(r, 1.39336479e-03f, SHS__ALL(1.98909885e-04f))))))
#define SHS__TANH_SERIES(q)                                                                                                    \
    SHS__TERM(q, -3.33333333e-01f,                                                                                             \
              SHS__TERM(q, 1.33333242e-01f,                                                                                    \
                        SHS__TERM(q, -5.39647004e-02f,                                                                         \
                                  SHS__TERM(q, 2.18184491e-02f, SHS__TERM(q, -8.52633306e-03f, SHS__ALL(2.52639071e-03f))))))
#endif
/* (atanh u / u - 1) / q for q = u^2 <= 1/9 */
#define SHS__ATANH(n, more) SHS__TERM(q, (shs_real)(1.0 / (n)), more)
#ifdef SPARSEHS_DOUBLE
#define SHS__ATANH_END                                                                                                         \
    SHS__ATANH(                                                                                                                \
        19,                                                                                                                    \
        SHS__ATANH(21, SHS__ATANH(23, SHS__ATANH(25, SHS__ATANH(27, SHS__ATANH(29, SHS__ATANH(31, SHS__ALL(1.0 / 33))))))))
#else
#define SHS__ATANH_END SHS__ALL(0)
#endif
#define SHS__ATANH_SERIES(q)                                                                                                   \
    SHS__ATANH(                                                                                                                \
        3,                                                                                                                     \
        SHS__ATANH(                                                                                                            \
            5, SHS__ATANH(7, SHS__ATANH(9, SHS__ATANH(11, SHS__ATANH(13, SHS__ATANH(15, SHS__ATANH(17, SHS__ATANH_END))))))))

/* exp(-x) for x >= 0: 2^-k exp(r), |r| <= ln 2 / 2. */
SHS__PX_FUNCTION shs__vec SHS__IN(exp_minus)(shs__vec x) {
    const shs__vec limit = SHS__ALL(SHS__EXP_LIMIT), half = SHS__ALL((shs_real)0.5), one = SHS__ALL(1);
    shs__vec y = SHS__PICK(SHS__ABOVE(limit, x), x, limit), w, r;
    shs__whole k = SHS__TRUNCATE(SHS__FMA(y, SHS__ALL((shs_real)1.44269504088896341), half));
    w = SHS__WHOLE(k);
    r = SHS__FMA(w, SHS__ALL(SHS__LN2_LOW), SHS__FMS(w, SHS__ALL(SHS__LN2_HIGH), y));
    y = SHS__ADD(one, SHS__FMA(SHS__MUL(r, r), SHS__EXP_SERIES(r), r));
    return SHS__PICK(SHS__IS_NAN(x), x, SHS__SHRINK(y, k)); /* NaN stays */
}

/* Near zero a series; from 0.55 on 1 - 2t / (1 + t), t = exp(-2|v|), in which an error of t counts at most half. */
SHS__PX_FUNCTION shs__vec SHS__IN(tanh)(shs__vec v) {
    const shs__vec one = SHS__ALL(1), border = SHS__ALL((shs_real)0.55);
    shs__vec a = SHS__ABS(v), q = SHS__MUL(a, a), t = SHS__IN(exp_minus)(SHS__ADD(a, a)), series, far;
    series = SHS__FMA(a, SHS__MUL(q, SHS__TANH_SERIES(q)), a);
    far = SHS__SUB(one, SHS__DIV(SHS__ADD(t, t), SHS__ADD(one, t)));
    return SHS__SIGNED_AS(SHS__PICK(SHS__ABOVE(border, a), series, far), v);
}

/* |v| + log(1 + t) - log 2, t = exp(-2|v|), the logarithm as 2 atanh(t / (2 + t)). */
SHS__PX_FUNCTION shs__vec SHS__IN(log_cosh)(shs__vec v) {
    shs__vec a = SHS__ABS(v), t = SHS__IN(exp_minus)(SHS__ADD(a, a));
    shs__vec u = SHS__DIV(t, SHS__ADD(SHS__ALL(2), t)), q = SHS__MUL(u, u);
    a = SHS__FMA(SHS__ADD(u, u), SHS__FMA(q, SHS__ATANH_SERIES(q), SHS__ALL(1)), a);
    return SHS__SUB(a, SHS__ALL((shs_real)0.69314718055994530942));
}

/* Zeros but in the first n lanes. */
SHS__INLINE shs__vec SHS__IN(px_first)(int n, shs__vec v) {
    shs_real lane[SHS__LANES];
    if (n >= SHS__LANES) return v;
    for (SHS__STORE(lane, v); n < SHS__LANES; n++) lane[n] = 0;
    return SHS__LOAD(lane);
}

/* The sum of all lanes of a vector in memory. */
SHS__INLINE shs_wide SHS__IN(px_lanes)(const void *vector) {
    const shs_real *lane = (const shs_real *)vector;
    shs__wvec sum = SHS__WALL(0);
    int i;
    for (i = 0; i < SHS__LANES; i += SHS__WLANES) sum = SHS__WADD(sum, SHS__WIDEN(lane + i));
    return SHS__IN(wlanes)(sum);
}

/* g(y) and, in *slope, g'(y) of one vector, for each contrast. */
SHS__PX_FUNCTION shs__vec SHS__IN(g_pow3)(shs__vec y, shs__vec *slope) {
    *slope = SHS__MUL(SHS__MUL(SHS__ALL(3), y), y);
    return SHS__MUL(SHS__MUL(y, y), y);
}
SHS__PX_FUNCTION shs__vec SHS__IN(g_tanh)(shs__vec y, shs__vec *slope) {
    shs__vec g = SHS__IN(tanh)(y);
    *slope = SHS__FNMA(g, g, SHS__ALL(1));
    return g;
}
SHS__PX_FUNCTION shs__vec SHS__IN(g_gauss)(shs__vec y, shs__vec *slope) {
    shs__vec q = SHS__MUL(y, y), e = SHS__IN(exp_minus)(SHS__MUL(q, SHS__ALL((shs_real)0.5)));
    *slope = SHS__MUL(SHS__SUB(SHS__ALL(1), q), e);
    return SHS__MUL(y, e);
}
SHS__PX_FUNCTION shs__vec SHS__IN(g_skew)(shs__vec y, shs__vec *slope) {
    *slope = SHS__ADD(y, y);
    return SHS__MUL(y, y);
}

/* The one that is meant: a constant wherever this is inlined. */
SHS__PX_FUNCTION shs__vec SHS__IN(contrast)(shs_contrast contrast, shs__vec y, shs__vec *slope) {
#define SHS__CASE(code, name)                                                                                          \
    if (contrast == code) return SHS__IN(g_##name)(y, slope);
    SHS_CONTRAST_LIST(SHS__CASE)
#undef SHS__CASE
    return y;
}

/* g(y) in place of y, of n values: few enough for their slopes to be summed in shs_real. Returns the sum of g'(y). What
   stands behind the last up to a whole vector is used as well, and left undefined. */
SHS__PX_FUNCTION shs_wide SHS__IN(apply_one)(shs_contrast contrast, int n, shs_real *y) {
    shs__vec sum = SHS__ALL(0), slope = sum;
    int i;
    for (i = 0; i < n; i += SHS__LANES) {
        SHS__STORE(y + i, SHS__IN(contrast)(contrast, SHS__LOAD(y + i), &slope));
        sum = SHS__ADD(sum, SHS__IN(px_first)(n - i, slope));
    }
    return SHS__IN(px_lanes)(&sum);
}
SHS__OUTLINE shs_wide SHS__IN(apply)(shs_contrast contrast, int n, shs_real *y) {
#define SHS__CASE(code, name)                                                                                          \
    if (contrast == code) return SHS__IN(apply_one)(code, n, y);
    SHS_CONTRAST_LIST(SHS__CASE)
#undef SHS__CASE
    return 0;
}

/* exp(-y) in place of y, y >= 0; the room is as above. */
SHS__PRIVATE void SHS__IN(decay)(int n, shs_real *y) {
    int i;
    for (i = 0; i < n; i += SHS__LANES) SHS__STORE(y + i, SHS__IN(exp_minus)(SHS__LOAD(y + i)));
}

/* The sums of y^4 and of log cosh y; the room is as above. */
SHS__OUTLINE void SHS__IN(rate)(int n, const shs_real *y, shs_wide *fourth, shs_wide *log_cosh) {
    shs__vec powers = SHS__ALL(0), logs = powers, v, v2;
    int i;
    for (i = 0; i < n; i += SHS__LANES) {
        v = SHS__LOAD(y + i);
        v2 = SHS__MUL(v, v);
        powers = SHS__ADD(powers, SHS__IN(px_first)(n - i, SHS__MUL(v2, v2)));
        logs = SHS__ADD(logs, SHS__IN(px_first)(n - i, SHS__IN(log_cosh)(v)));
    }
    *fourth += SHS__IN(px_lanes)(&powers);
    *log_cosh += SHS__IN(px_lanes)(&logs);
}

/* S (m x c, contiguous) += Z'Y, columns of n values: two by four at a time, some of the last ones twice. */
#define SHS__CORRELATE(j)                                                                                                      \
    v = SHS__LOAD(y##j + i);                                                                                                   \
    s0##j = SHS__FMA(u0, v, s0##j), s1##j = SHS__FMA(u1, v, s1##j);
#define SHS__CORRELATED(j)                                                                                             \
    SHS__STORE(sums + 2 * j * SHS__LANES, s0##j), SHS__STORE(sums + (2 * j + 1) * SHS__LANES, s1##j);
SHS__OUTLINE void SHS__IN(correlate)(int m, int c, int n, const shs_real *Z, int ldz, const shs_real *Y, int ldy, shs_wide *S) {
    shs_real sums[8 * SHS__LANES];
    int a, b, i, p, q, whole = n - n % SHS__LANES;
    for (b = 0; b < c; b += 4)
        for (a = 0; a < m; a += 2) {
            const shs_real *z0 = SHS__AT(Z, ldz, 0, a), *z1 = a + 1 < m ? z0 + ldz : z0;
            const shs_real *y0 = SHS__AT(Y, ldy, 0, b), *y1 = b + 1 < c ? y0 + ldy : y0;
            const shs_real *y2 = b + 2 < c ? y1 + ldy : y0, *y3 = b + 3 < c ? y2 + ldy : y0;
            shs__vec zero = SHS__ALL(0), s00 = zero, s01 = zero, s02 = zero, s03 = zero, u0, u1, v;
            shs__vec s10 = zero, s11 = zero, s12 = zero, s13 = zero;
            for (i = 0; i < whole; i += SHS__LANES) {
                u0 = SHS__LOAD(z0 + i), u1 = SHS__LOAD(z1 + i);
                SHS__CORRELATE(0) SHS__CORRELATE(1) SHS__CORRELATE(2) SHS__CORRELATE(3)
            }
            SHS__CORRELATED(0) SHS__CORRELATED(1) SHS__CORRELATED(2) SHS__CORRELATED(3)
            for (q = 0; q < 4 && b + q < c; q++)
                for (p = 0; p < 2 && a + p < m; p++) {
                    const shs_real *z = p ? z1 : z0, *y = y0 + q * (ptrdiff_t)ldy;
                    shs_real end = 0;
                    for (i = whole; i < n; i++) end += z[i] * y[i];
                    *SHS__AT(S, m, a + p, b + q) += SHS__IN(px_lanes)(sums + (2 * q + p) * SHS__LANES) + (shs_wide)end;
                }
        }
}

SHS__PRIVATE const shs__contrast_kernels SHS__IN(kernels_contrast) = {
    SHS__IN(apply), SHS__IN(decay), SHS__IN(rate), SHS__IN(correlate),
};
#endif /* SHS__IN_WIDE */
#endif /* SHS__CUBES */

/* ---- kernels: the tables ------------------------------------------------------------------------------ >>k_tables */

#ifdef SHS__CUBES
#ifdef SHS__IN_WIDE
#define SHS__PIXELS_TABLE shs__kernels_wide_pixels_
#else
#define SHS__PIXELS_TABLE shs__kernels_pixels_
#endif
SHS__PRIVATE const shs__pixels_kernels SHS__JOIN(SHS__PIXELS_TABLE, SHS__INSTANCE) = {
    (int)sizeof(shs__element),
    SHS__LANES,
    SHS__PC,
    SHS__TILE_VECTORS,
    SHS__IN(px_convert),
    SHS__IN(px_transpose),
    SHS__IN(px_pack),
    SHS__IN(px_sums),
    SHS__IN(px_tile),
    SHS__IN(px_flush),
    SHS__IN(px_squares),
    SHS__IN(px_range),
    SHS__IN(px_store),
};
#undef SHS__PIXELS_TABLE
#endif
#ifndef SHS__IN_WIDE
SHS__PRIVATE const shs__vector_kernels SHS__IN(kernels_vector) = {
    SHS__IN(dot), SHS__IN(axpy), SHS__IN(patch), SHS__IN(combine), SHS__IN(norm2), SHS__IN(axpy_wide),
};
SHS__PRIVATE const shs__gemm_kernels SHS__IN(kernels_gemm) = {
    SHS__MR, SHS__NR, SHS__ROWS_PAD, SHS__IN(gemm_tile), SHS__IN(pack), SHS__IN(transpose),
};
SHS__PRIVATE const shs__eigh_kernels SHS__IN(kernels_eigh) = {
    SHS__IN(wdot),
    SHS__IN(wcombine),
    SHS__IN(wdots),
    SHS__IN(wminus),
    SHS__IN(wsymv),
    SHS__IN(wstripes),
    SHS__IN(rotate),
    SHS__IN(secular_sum),
};
SHS__PRIVATE const shs__pursuit_kernels SHS__IN(kernels_pursuit) = {
    SHS__IN(strongest), SHS__IN(advance), SHS__IN(choose),
};
#endif

/* What differs from instance to instance goes; a definition that stays the same may come again. */
#undef SHS__PC
#undef SHS__EXPONENT
#undef SHS__LANE_MAX
#undef SHS__PS
#undef SHS__WPS
#undef SHS__MM
#undef SHS__SI
#undef SHS__FMA
#undef SHS__FMS
#undef SHS__FNMA
#undef SHS__WFMA
#undef SHS__WFMS
#undef SHS__WHERE
#undef SHS__MASK_OR_AND
#undef SHS__WIDEN
#undef SHS__WSTORE_ELEMENT
#undef SHS__MAGIC
#undef SHS__SHRINK
#undef SHS__HALVES
#undef SHS__INDICES
#undef SHS__EARLIER
#undef SHS__ADD_INDICES
#undef SHS__EPI
#undef SHS__ALL_BITS
#undef SHS__IMAX
#undef SHS__BITS
#undef SHS__OF_BITS
#undef SHS__ABOVE_ALL
#undef SHS__WINS
#undef SHS__SIGNED_AS
#undef SHS__OR_EXPONENT
#undef SHS__SHIFT_TO_EXPONENT
#undef SHS__OF_INTS
#undef SHS__BIAS
#undef SHS__FRACTION
#undef SHS__PX_LEAST
#undef SHS__VNNI
#undef SHS__PMADD
#undef SHS__SDOT
#undef SHS__WV
#if defined(SHS__SIMD) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
#ifdef SHS__WHOLE_VECTORS
#pragma clang attribute pop
#undef SHS__WHOLE_VECTORS
#endif
#undef SHS__IN
#undef SHS__WIDEN
#undef SHS__SUM_TO_16
#undef SHS__MR
#undef SHS__NR
#undef SHS__ROWS_PAD
#undef SHS__TILE_VECTORS
#undef SHS__MULTIPLY_ADD
#undef SHS__MULTIPLY_ADD_ONE
#undef SHS__FUSED
#undef SHS__VECTOR_BYTES
#undef SHS__WORDS_BYTES
#undef SHS__IN_WIDE
#undef SHS__ELEMENT_64
#undef shs__element
#undef SHS__INSTANCE
#endif /* SHS__INSTANCE */

#ifdef SHS__REMAINDER /* of the implementation */
#undef SHS__REMAINDER

/* ---- kernels: the choice ------------------------------------------------------------------------------ >>k_choice */

enum { SHS__INSTANCE_BASE, SHS__INSTANCE_AVX2, SHS__INSTANCE_AVX512, SHS__INSTANCES };

/* Whether an instance was compiled and the processor, and its operating system, can run it. The bits that are asked for
   were set before main. */
SHS__PRIVATE int shs__kernels_available(int instance) {
#if defined(SHS__INTRINSICS) && defined(SHS__AVX512)
#ifdef SHS__AVX2
    if (instance == SHS__INSTANCE_AVX2) return (shs__x86_cpu() & SHS__CPU_AVX2) != 0;
#endif
    if (instance == SHS__INSTANCE_AVX512) return (shs__x86_cpu() & SHS__CPU_AVX512) != 0;
#else
#ifdef SHS__AVX2
    if (instance == SHS__INSTANCE_AVX2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
#ifdef SHS__AVX512
    if (instance == SHS__INSTANCE_AVX512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
#endif
#endif
    return instance == SHS__INSTANCE_BASE;
}

/* The tests put a variable of theirs here, so that they run every instance. */
#ifndef SHS__TEST_INSTANCE
#define SHS__TEST_INSTANCE (SHS__INSTANCES - 1)
#endif

SHS__PRIVATE int shs__kernels_instance(void) {
    int instance = SHS__TEST_INSTANCE;
    while (!shs__kernels_available(instance)) instance--;
    return instance;
}

#ifdef SHS__AVX512
#define SHS__PICK_AVX512(set) if (instance == SHS__INSTANCE_AVX512) return &shs__kernels_##set##_avx512;
#else
#define SHS__PICK_AVX512(set)
#endif
#ifdef SHS__AVX2
#define SHS__PICK_AVX2(set) if (instance == SHS__INSTANCE_AVX2) return &shs__kernels_##set##_avx2;
#else
#define SHS__PICK_AVX2(set)
#endif
#define SHS__CHOOSER(set)                                                                                            \
    SHS__PRIVATE const shs__##set##_kernels *shs__kernels_##set(void) {                                            \
        int instance = shs__kernels_instance();                                                                        \
        (void)instance;                                                                                                \
        SHS__PICK_AVX512(set)                                                                                        \
        SHS__PICK_AVX2(set)                                                                                          \
        return &shs__kernels_##set##_base;                                                                           \
    }
SHS__CHOOSER(vector)
SHS__CHOOSER(gemm)
SHS__CHOOSER(eigh)
SHS__CHOOSER(pursuit)
#ifdef SHS__CUBES
SHS__CHOOSER(pixels)
#ifdef SHS__WIDE
SHS__CHOOSER(wide_pixels)
#elif !defined(SHS__WIDE_WANTED)
#define shs__kernels_wide_pixels shs__kernels_pixels
#endif
SHS__CHOOSER(words)
SHS__CHOOSER(contrast)
#endif

#ifdef SHS__ALL_PARTS
/* The preprocessor joins the line, once for each instance that may be in use. */
#ifdef SPARSEHS_DOUBLE
#define SHS__INFO_REAL "double"
#elif defined(SPARSEHS_NO_DOUBLE)
#define SHS__INFO_REAL "float, no double"
#else
#define SHS__INFO_REAL "float"
#endif
#if !defined(SHS__BASE) && (defined(__GNUC__) || defined(__clang__)) && !defined(__OPTIMIZE__)
#define SHS__BASE "plain C (not optimised: slow)"
#elif !defined(SHS__BASE)
#define SHS__BASE "plain C"
#endif
#ifdef SHS__AVX2
#define SHS__INFO_AVX2 ", AVX2"
#else
#define SHS__INFO_AVX2
#endif
#ifdef SHS__AVX512
#define SHS__INFO_AVX512 ", AVX-512"
#elif defined(SHS__AVX_WANTED)
#define SHS__INFO_AVX512 " (others are missing: see SPARSEHS_FILE)"
#else
#define SHS__INFO_AVX512
#endif
#ifdef SHS__OPENMP
#define SHS__INFO_THREADS "OpenMP"
#else
#define SHS__INFO_THREADS "no OpenMP"
#endif
#define SHS__INFO_TEXT_NOW(x) #x
#define SHS__INFO_TEXT(x) SHS__INFO_TEXT_NOW(x)
#define SHS__INFO(used)                                                                                                \
    "sparsehs " SHS__INFO_TEXT(SPARSEHS_VERSION_MAJOR) "." SHS__INFO_TEXT(SPARSEHS_VERSION_MINOR) "." SHS__INFO_TEXT(  \
        SPARSEHS_VERSION_PATCH) "; " SHS__INFO_REAL "; kernels: " SHS__BASE SHS__INFO_AVX2 SHS__INFO_AVX512        \
    "; in use: " used "; " SHS__INFO_THREADS

SHS__PUBLIC const char *shs_build_info(void) {
    switch (shs__kernels_instance()) {
    case SHS__INSTANCE_AVX512: return SHS__INFO("AVX-512");
    case SHS__INSTANCE_AVX2: return SHS__INFO("AVX2");
    default: return SHS__INFO(SHS__BASE);
    }
}
#endif /* SHS__ALL_PARTS */

/* ================================================================================================================== */
/* 4  DENSE LINEAR ALGEBRA                                                                                    >>dense */
/* ================================================================================================================== */

/* Products and triangular systems as BLAS and LAPACK have them, in shs_real. In this order: vectors; a matrix and a vector;
   gemm, in five loops around a micro-kernel; gemm by slabs; syrk and trsm, which are gemm on parts of a matrix; Cholesky's
   factor, made of both; columns of unit length. A naive twin stands behind each fast routine. It calls section 2 and the
   kernels. Sections 6 to 11 call the public forms, shs__la_gemm_serial inside parallel loops, and two short loops over vectors,
   shs__la_norm2 and shs__la_axpy_wide. */

/* ---- checks shared by the routines and their naive twins ------------------------------------------ >>dense_checks */

/* Empty matrices may be NULL. */
SHS__PRIVATE int shs__la_absent(const void *A, int rows, int columns) { return !A && rows > 0 && columns > 0; }
/* Enumerations of two values: whatever else a caller casts to them is found here. */
SHS__PRIVATE int shs__la_not_binary(int value) { return value != 0 && value != 1; }
SHS__PRIVATE shs_trans shs__la_other_trans(shs_trans trans) { return trans == SHS_TRANS_YES ? SHS_TRANS_NO : SHS_TRANS_YES; }
SHS__PRIVATE int shs__la_round_up(int x, int step) { return (x + step - 1) / step * step; }

/* Where a vector with a negative increment starts: BLAS runs it backwards from its end. */
SHS__PRIVATE ptrdiff_t shs__la_start(int n, int inc) { return inc < 0 ? (ptrdiff_t)(1 - n) * inc : 0; }

/* ---- vectors ------------------------------------------------------------------------------------------- >>vectors */

SHS__PUBLIC shs_real shs_dot(int n, const shs_real *x, int incx, const shs_real *y, int incy) {
    shs_real s = 0;
    int i;
    if (n <= 0) return 0;
    if (incx == 1 && incy == 1) return shs__kernels_vector()->dot((size_t)n, x, y);
    x += shs__la_start(n, incx);
    y += shs__la_start(n, incy);
    for (i = 0; i < n; i++) s += x[(ptrdiff_t)i * incx] * y[(ptrdiff_t)i * incy];
    return s;
}

/* Below this a sum of squares has lost digits to underflow. */
#define SHS__SQUARES_MIN (SHS__REAL_MIN / SHS__EPS)

/* Factors that bring a vector whose squares left the range of shs_real back into it: the squares that count and their sum
   are then normal numbers. Powers of two, so that scaling is exact; constants, because the reciprocal of the largest element
   can be subnormal, and -ffast-math both forms reciprocals and makes subnormal numbers zero. */
#ifdef SPARSEHS_DOUBLE
#define SHS__SCALE_DOWN 2.64973491368899045400943e-169 /* 2^-560 */
#define SHS__SCALE_UP 4.149515568880992958512408e180   /* 2^600 */
#else
#define SHS__SCALE_DOWN 8.271806125530276748714087e-25f /* 2^-80 */
#define SHS__SCALE_UP 1.267650600228229401496703e30f    /* 2^100 */
#endif

/* The plain sum of squares is good unless it left the range of shs_real; only then is the vector scaled. A result that is
   not finite then comes from the input, or is too large for the type. */
SHS__PUBLIC shs_real shs_nrm2(int n, const shs_real *x, int incx) {
    shs_real squares = shs_dot(n, x, incx, x, incx), scale;
    int i;
    if (squares >= SHS__SQUARES_MIN && shs__finite(1, &squares)) return SHS__SQRT(squares);
    scale = squares < 1 ? SHS__SCALE_UP : SHS__SCALE_DOWN;
    x += shs__la_start(n, incx);
    squares = 0;
    for (i = 0; i < n; i++) {
        shs_real t = x[(ptrdiff_t)i * incx] * scale;
        squares += t * t;
    }
    return SHS__SQRT(squares) / scale;
}

SHS__PUBLIC void shs_axpy(int n, shs_real alpha, const shs_real *x, int incx, shs_real *y, int incy) {
    int i;
    if (n <= 0) return;
    if (incx == 1 && incy == 1 && x != y) {
        shs__kernels_vector()->axpy((size_t)n, alpha, x, y);
        return;
    }
    x += shs__la_start(n, incx);
    y += shs__la_start(n, incy);
    for (i = 0; i < n; i++) y[(ptrdiff_t)i * incy] += alpha * x[(ptrdiff_t)i * incx];
}

/* ||x||^2 in shs_wide. */
SHS__OUTLINE shs_wide shs__la_norm2(int n, const shs_real *x) { return shs__kernels_vector()->norm2(n, x); }

/* y += a x into shs_wide */
SHS__PRIVATE void shs__la_axpy_wide(int n, shs_wide a, const shs_real *x, shs_wide *y) {
    shs__kernels_vector()->axpy_wide(n, a, x, y);
}

/* x *= factor, where a factor of zero does not read x. */
SHS__PRIVATE void shs__la_scale(int n, shs_real factor, shs_real *x, int incx) {
    int i;
    if (factor == 1) return;
    x += shs__la_start(n, incx);
    if (factor == 0)
        for (i = 0; i < n; i++) x[(ptrdiff_t)i * incx] = 0;
    else if (incx == 1)
        for (i = 0; i < n; i++) x[i] *= factor;
    else
        for (i = 0; i < n; i++) x[(ptrdiff_t)i * incx] *= factor;
}

/* ---- matrix and vector ------------------------------------------------------------------------------------ >>gemv */

/* y += alpha A x, four columns at a time: y is then read and written a quarter as often. */
SHS__PRIVATE void shs__la_gemv_columns(int m, int n, shs_real alpha, const shs_real *A, int lda, const shs_real *x,
                                       int incx, shs_real *SHS__RESTRICT y) {
    int i, j;
    x += shs__la_start(n, incx);
    for (j = 0; j + 4 <= n; j += 4) {
        const shs_real *a0 = SHS__AT(A, lda, 0, j), *a1 = a0 + lda, *a2 = a1 + lda, *a3 = a2 + lda;
        const shs_real *at = x + (ptrdiff_t)j * incx;
        shs_real x0 = alpha * at[0], x1 = alpha * at[incx], x2 = alpha * at[2 * (ptrdiff_t)incx];
        shs_real x3 = alpha * at[3 * (ptrdiff_t)incx];
        for (i = 0; i < m; i++) y[i] += (a0[i] * x0 + a1[i] * x1) + (a2[i] * x2 + a3[i] * x3);
    }
    for (; j < n; j++) shs__kernels_vector()->axpy((size_t)m, alpha * x[(ptrdiff_t)j * incx], SHS__AT(A, lda, 0, j), y);
}

SHS__PUBLIC shs_status shs_gemv(shs_trans trans, int m, int n, shs_real alpha, const shs_real *A, int lda,
                                const shs_real *x, int incx, shs_real beta, shs_real *y, int incy) {
    int length_x = trans == SHS_TRANS_YES ? m : n, length_y = trans == SHS_TRANS_YES ? n : m, j;
    if (shs__la_not_binary((int)trans)) return SHS_BAD_ENUM;
    if (m < 0) return SHS_BAD_M;
    if (n < 0) return SHS_BAD_N;
    if (shs__la_absent(A, m, n)) return SHS_BAD_A;
    if (lda < m) return SHS_BAD_LDA;
    if (shs__la_absent(x, length_x, 1)) return SHS_BAD_X;
    if (incx == 0) return SHS_BAD_INCX;
    if (shs__la_absent(y, length_y, 1)) return SHS_BAD_Y;
    if (incy == 0) return SHS_BAD_INCY;
    if (length_y == 0) return SHS_OK;
    shs__la_scale(length_y, beta, y, incy);
    if (alpha == 0 || length_x == 0) return SHS_OK;
    if (trans == SHS_TRANS_NO && incy == 1) {
        shs__la_gemv_columns(m, n, alpha, A, lda, x, incx, y);
    } else if (trans == SHS_TRANS_NO) {
        x += shs__la_start(n, incx);
        for (j = 0; j < n; j++) shs_axpy(m, alpha * x[(ptrdiff_t)j * incx], SHS__AT(A, lda, 0, j), 1, y, incy);
    } else {
        y += shs__la_start(n, incy);
        for (j = 0; j < n; j++) y[(ptrdiff_t)j * incy] += alpha * shs_dot(m, SHS__AT(A, lda, 0, j), 1, x, incx);
    }
    return SHS_OK;
}

#ifdef SHS__ALL_PARTS
SHS__PUBLIC shs_status shs_ger(int m, int n, shs_real alpha, const shs_real *x, int incx, const shs_real *y, int incy,
                               shs_real *A, int lda) {
    int j;
    if (m < 0) return SHS_BAD_M;
    if (n < 0) return SHS_BAD_N;
    if (shs__la_absent(x, m, 1)) return SHS_BAD_X;
    if (incx == 0) return SHS_BAD_INCX;
    if (shs__la_absent(y, n, 1)) return SHS_BAD_Y;
    if (incy == 0) return SHS_BAD_INCY;
    if (shs__la_absent(A, m, n)) return SHS_BAD_A;
    if (lda < m) return SHS_BAD_LDA;
    if (m == 0 || n == 0 || alpha == 0) return SHS_OK;
    y += shs__la_start(n, incy);
    for (j = 0; j < n; j++) shs_axpy(m, alpha * y[(ptrdiff_t)j * incy], x, incx, SHS__AT(A, lda, 0, j), 1);
    return SHS_OK;
}

SHS__PRIVATE int shs__la_zero_on_diagonal(int n, const shs_real *A, int lda) {
    int i;
    for (i = 0; i < n; i++)
        if (*SHS__AT(A, lda, i, i) == 0) return 1;
    return 0;
}

/* Substitution. op(A) lower goes from the first unknown to the last, upper the other way round. Without transposition
   each unknown found is taken out of the equations that are left, with it each equation collects the unknowns found:
   either way A is read along its columns. */
SHS__PRIVATE void shs__la_trsv(shs_uplo uplo, shs_trans trans, shs_diag diag, int n, const shs_real *A, int lda,
                               shs_real *x, int incx) {
    int forwards = (uplo == SHS_UPLO_LOWER) == (trans == SHS_TRANS_NO), step;
    ptrdiff_t inc = incx;
    for (step = 0; step < n; step++) {
        int j = forwards ? step : n - 1 - step, i;
        int first = uplo == SHS_UPLO_LOWER ? j + 1 : 0, last = uplo == SHS_UPLO_LOWER ? n : j; /* the rest of column j */
        const shs_real *a = SHS__AT(A, lda, 0, j);
        shs_real t = x[j * inc];
        if (trans == SHS_TRANS_YES)
            for (i = first; i < last; i++) t -= a[i] * x[i * inc];
        if (diag == SHS_DIAG_NON_UNIT) t /= a[j];
        x[j * inc] = t;
        if (trans == SHS_TRANS_NO)
            for (i = first; i < last; i++) x[i * inc] -= a[i] * t;
    }
}

SHS__PUBLIC shs_status shs_trsv(shs_uplo uplo, shs_trans trans, shs_diag diag, int n, const shs_real *A, int lda,
                                shs_real *x, int incx) {
    if (shs__la_not_binary((int)uplo) || shs__la_not_binary((int)trans) || shs__la_not_binary((int)diag)) return SHS_BAD_ENUM;
    if (n < 0) return SHS_BAD_N;
    if (shs__la_absent(A, n, n)) return SHS_BAD_A;
    if (lda < n) return SHS_BAD_LDA;
    if (shs__la_absent(x, n, 1)) return SHS_BAD_X;
    if (incx == 0) return SHS_BAD_INCX;
    if (n == 0) return SHS_OK;
    if (diag == SHS_DIAG_NON_UNIT && shs__la_zero_on_diagonal(n, A, lda)) return SHS_SINGULAR;
    shs__la_trsv(uplo, trans, diag, n, A, lda, x + shs__la_start(n, incx), incx);
    return SHS_OK;
}

/* ---- gemm: parts of a matrix, transposition --------------------------------------------------------- >>gemm_parts */

/* Which part of C is wanted. */
typedef enum shs__part { SHS__WHOLE, SHS__LOWER, SHS__UPPER } shs__part;

SHS__PRIVATE shs__part shs__la_part_of(shs_uplo uplo) { return uplo == SHS_UPLO_LOWER ? SHS__LOWER : SHS__UPPER; }

/* Of the rows row .. row+rows-1 of one column those that are wanted: first .. last-1, counted from row. */
SHS__PRIVATE void shs__la_wanted(shs__part part, int row, int rows, int column, int *first, int *last) {
    *first = part == SHS__LOWER ? shs__imin(shs__imax(column - row, 0), rows) : 0;
    *last = part == SHS__UPPER ? shs__imin(shs__imax(column - row + 1, 0), rows) : rows;
}

/* Whether nothing, or everything, of a tile is wanted. */
SHS__PRIVATE int shs__la_outside(shs__part part, int row, int rows, int column, int columns) {
    if (part == SHS__LOWER) return row + rows - 1 < column;
    return part == SHS__UPPER && column + columns - 1 < row;
}

SHS__PRIVATE int shs__la_inside(shs__part part, int row, int rows, int column, int columns) {
    if (part == SHS__LOWER) return row >= column + columns - 1;
    return part == SHS__WHOLE || column >= row + rows - 1;
}

/* C *= beta where wanted; C points at element (row, column) of the matrix. */
SHS__PRIVATE void shs__la_scale_part(shs__part part, int row, int rows, int column, int columns, shs_real beta,
                                     shs_real *C, int ldc) {
    int j, first, last;
    for (j = 0; j < columns; j++) {
        shs__la_wanted(part, row, rows, column + j, &first, &last);
        if (last > first) shs__la_scale(last - first, beta, SHS__AT(C, ldc, first, j), 1);
    }
}

/* ---- gemm: five loops around the micro-kernel ------------------------------------------------------------- >>gemm */

/* After Goto and van de Geijn:

       5th loop  over C's and B's columns, a panel at a time         (the panel of B stays in the last cache)
       4th loop  over the depth, SHS__KC at a time                   packs the panel of B, shared by all workers
       3rd loop  over blocks of C, in parallel                       packs a block of A, a worker's own (second cache)
       2nd loop  over the block's columns, NR at a time               (a sliver of B stays in the first cache)
       1st loop  over the block's rows, MR at a time                  micro-kernel

   alpha is multiplied into B as it is packed. beta is applied before the first sum is added, so that no compiler can
   fuse one with the other in one place and not in another. */
#define SHS__KC 384          /* depth of packed panels: results depend on it, on nothing else here */
#define SHS__MC 144          /* rows of a block of A: a multiple of every MR */
#define SHS__NC 1536         /* columns of a panel of B: a multiple of every NR */
#define SHS__NC_SERIAL 192   /* the same where each worker has a panel of its own */
#define SHS__STRIPE_COLUMNS 384 /* of a block of C where several workers share them: each packs its block of A anew */
#define SHS__PACK_SLIVERS 16 /* slivers of B that make one parallel chunk */
#define SHS__SLAB_DEPTH 6144  /* of a product much deeper than wide, a slab at a time: a multiple of KC; results depend on it */
#define SHS__SLAB_AREA 262144 /* values of C at most where slabs are taken */
#if defined(SHS__X64) || defined(__i386__)
#define SHS__VECTOR_MOST 64 /* bytes of the longest vector of all kernels */
#elif defined(SHS__VECTOR_BYTES)
#define SHS__VECTOR_MOST SHS__VECTOR_BYTES
#else
#define SHS__VECTOR_MOST 16
#endif
#define SHS__NEAR 32768       /* values from the first to the last of what is multiplied where it lies */

typedef struct shs__gemm {
    const shs__gemm_kernels *tiles; /* those of the processor, once it runs */
    shs__part part;
    shs_trans transa, transb;
    int m, n, k;
    shs_real alpha, beta;
    const shs_real *A, *B;
    shs_real *C;
    int lda, ldb, ldc;
    /* memory */
    int panel;            /* columns packed_b has room for */
    int stripe;           /* columns of a block of C */
    shs_real *packed_b;   /* one panel of B */
    shs_real *own;        /* for each worker a tile and a block of A */
    size_t own_count;
    int partials;         /* products of slabs that there is room for; 0: not by slabs */
    shs_real *partial;    /* m x n values each */
    /* where the 5th and the 4th loop are */
    int column, columns, from, depth;
    int a_lies, b_lies; /* slivers are read where they lie */
} shs__gemm;

/* Rows of A's next sliver where `left` are left: what does not fill a vector is a sliver of its own where rows lie. */
SHS__PRIVATE int shs__la_gemm_height(const shs__gemm *g, int left) {
    const int height = shs__imin(left, g->tiles->rows);
    return g->a_lies && height > g->tiles->pad ? height - height % g->tiles->pad : height;
}

/* A sliver for the micro-kernel. */
typedef struct shs__sliver {
    const shs_real *at;
    ptrdiff_t column, next; /* from one value of a group of B to the next, and from one group to the next */
    int size, before;       /* rows or columns of the tile; so many of them, at first, belong to the sliver before it */
} shs__sliver;

/* Packing pays where a sliver is read many times from far away. What is small, or read once or twice, is read where it lies,
   if that is the order of the micro-kernel: columns of A, and B either way, unless alpha has to be multiplied in. */
SHS__PRIVATE void shs__la_gemm_where(shs__gemm *g) {
    const int few_rows = g->m <= 2 * g->tiles->rows, few_columns = g->columns <= 2 * g->tiles->columns;
    const shs_wide span = (shs_wide)g->ldb * (shs_wide)(g->transb == SHS_TRANS_YES ? g->depth : g->columns);
    g->a_lies = g->transa == SHS_TRANS_NO && (few_columns || (shs_wide)g->lda * (shs_wide)g->depth <= SHS__NEAR);
    g->b_lies = g->alpha == 1 && (few_rows || span <= SHS__NEAR);
}

/* Element (row, from) of op(A), and (from, column) of op(B). */
SHS__PRIVATE const shs_real *shs__la_gemm_a(const shs__gemm *g, int row) {
    return g->transa == SHS_TRANS_YES ? SHS__AT(g->A, g->lda, g->from, row) : SHS__AT(g->A, g->lda, row, g->from);
}

SHS__PRIVATE const shs_real *shs__la_gemm_b(const shs__gemm *g, int column) {
    return g->transb == SHS_TRANS_YES ? SHS__AT(g->B, g->ldb, column, g->from) : SHS__AT(g->B, g->ldb, g->from, column);
}

/* Room for one tile that sticks out of the wanted part, and for a block of A. */
SHS__OUTLINE size_t shs__la_gemm_own(int m, int k) {
    const shs__gemm_kernels *tiles = shs__kernels_gemm();
    int rows = shs__imin(shs__la_round_up(shs__imin(m, SHS__MC), tiles->rows), SHS__MC);
    return (size_t)(tiles->rows * tiles->columns) + (size_t)rows * (size_t)shs__imin(k, SHS__KC);
}

SHS__PRIVATE size_t shs__la_gemm_panel(int n, int k, int most) {
    return (size_t)shs__la_round_up(shs__imin(n, most), shs__kernels_gemm()->columns) * (size_t)shs__imin(k, SHS__KC);
}

/* One chunk of the packing of the panel of B. */
SHS__PRIVATE void shs__la_gemm_pack_b(void *arg, size_t chunk, int worker) {
    const shs__gemm *g = (const shs__gemm *)arg;
    int width = g->tiles->columns, j = (int)chunk * SHS__PACK_SLIVERS * width;
    int end = shs__imin(g->columns, j + SHS__PACK_SLIVERS * width);
    (void)worker;
    for (; j < end; j += width) {
        int columns = shs__imin(g->columns - j, width);
        if (g->b_lies && g->column + j >= width - columns) continue;
        g->tiles->pack(g->transb == SHS_TRANS_YES, columns, width, g->depth, g->alpha, shs__la_gemm_b(g, g->column + j),
                       g->ldb, g->packed_b + (size_t)j * (size_t)g->depth);
    }
}

SHS__PRIVATE void shs__la_gemm_pack_a(const shs__gemm *g, int row, int rows, shs_real *to) {
    int i, width;
    for (i = 0; i < rows; i += width) {
        const int padded = shs__la_round_up(width = shs__la_gemm_height(g, rows - i), g->tiles->pad);
        if (g->a_lies && row + i >= padded - width) continue;
        g->tiles->pack(g->transa == SHS_TRANS_NO, width, padded, g->depth, 1, shs__la_gemm_a(g, row + i), g->lda,
                       to + (size_t)i * (size_t)g->depth);
    }
}

/* The slivers of `rows` rows and `columns` columns from (row, column) on: packed at `packed`, or where they lie. There one that
   does not fill a tile begins earlier, if there are so many rows or columns before it. */
SHS__PRIVATE shs__sliver shs__la_gemm_sliver_a(const shs__gemm *g, int row, int rows, const shs_real *packed) {
    shs__sliver a;
    a.size = shs__la_round_up(rows, g->tiles->pad), a.before = a.size - rows, a.column = 1;
    if (g->a_lies && row >= a.before) a.at = shs__la_gemm_a(g, row - a.before), a.next = g->lda;
    else a.at = packed, a.next = a.size, a.before = 0;
    return a;
}

SHS__PRIVATE shs__sliver shs__la_gemm_sliver_b(const shs__gemm *g, int column, int columns, const shs_real *packed) {
    shs__sliver b;
    b.size = g->tiles->columns, b.before = b.size - columns;
    if (g->b_lies && column >= b.before) {
        b.at = shs__la_gemm_b(g, column - b.before);
        b.column = g->transb == SHS_TRANS_YES ? 1 : g->ldb, b.next = g->transb == SHS_TRANS_YES ? g->ldb : 1;
    } else b.at = packed, b.column = 1, b.next = b.size, b.before = 0;
    return b;
}

/* The tile of the micro-kernel at (row, column) that is only partly in C, or partly wanted: by way of `tile`. */
SHS__PRIVATE void shs__la_gemm_edge(const shs__gemm *g, int row, int rows, int column, int columns, const shs__sliver *a,
                                    const shs__sliver *b, int add, shs_real *tile) {
    int i, j, first, last;
    g->tiles->tile(a->size, g->depth, a->at, a->next, b->at, b->column, b->next, 0, tile, a->size);
    for (j = 0; j < columns; j++) {
        const shs_real *t = tile + (b->before + j) * a->size + a->before;
        shs_real *c = SHS__AT(g->C, g->ldc, row, column + j);
        shs__la_wanted(g->part, row, rows, column + j, &first, &last);
        if (add)
            for (i = first; i < last; i++) c[i] += t[i];
        else
            for (i = first; i < last; i++) c[i] = t[i];
    }
}

/* The 2nd and the 1st loop: rows x columns of C from (row, column) on; a and b: where slivers are packed that are. */
SHS__PRIVATE void shs__la_gemm_macro(const shs__gemm *g, int row, int rows, int column, int columns, const shs_real *a,
                                     const shs_real *b, int add, shs_real *tile) {
    const shs__gemm_kernels *tiles = g->tiles;
    int i, j, height;
    for (j = 0; j < columns; j += tiles->columns) {
        const int width = shs__imin(columns - j, tiles->columns);
        const shs__sliver bj = shs__la_gemm_sliver_b(g, column + j, width, b + (size_t)j * (size_t)g->depth);
        for (i = 0; i < rows; i += height) {
            int at_row = row + i, at_column = column + j, whole;
            shs__sliver ai;
            height = shs__la_gemm_height(g, rows - i);
            if (shs__la_outside(g->part, at_row, height, at_column, width)) continue;
            ai = shs__la_gemm_sliver_a(g, at_row, height, a + (size_t)i * (size_t)g->depth);
            whole = bj.before + width == tiles->columns && ai.before + height == ai.size;
            if (ai.before || bj.before) /* what is there already is written again, and is the same */
                whole = whole && !add && ai.before <= i && bj.before <= j;
            at_row -= ai.before, at_column -= bj.before;
            if (whole && shs__la_inside(g->part, at_row, ai.size, at_column, tiles->columns))
                tiles->tile(ai.size, g->depth, ai.at, ai.next, bj.at, bj.column, bj.next, add,
                            SHS__AT(g->C, g->ldc, at_row, at_column), g->ldc);
            else shs__la_gemm_edge(g, row + i, height, column + j, width, &ai, &bj, add, tile);
        }
    }
}

/* Rows of a block: MC, or less so that all blocks are about equal. */
SHS__PRIVATE int shs__la_gemm_block(const shs__gemm *g) {
    int blocks = (g->m - 1) / SHS__MC + 1;
    return shs__la_round_up((g->m - 1) / blocks + 1, g->tiles->rows);
}

/* One chunk of the 3rd loop. The blocks of a stripe of columns follow each other, so that its slivers stay near. */
SHS__PRIVATE void shs__la_gemm_stripe(void *arg, size_t chunk, int worker) {
    const shs__gemm *g = (const shs__gemm *)arg;
    int block = shs__la_gemm_block(g), blocks = (g->m - 1) / block + 1;
    int row = (int)(chunk % (size_t)blocks) * block, rows = shs__imin(g->m - row, block);
    int offset = (int)(chunk / (size_t)blocks) * g->stripe, column = g->column + offset;
    int columns = shs__imin(g->columns - offset, g->stripe);
    shs_real *tile = g->own + (size_t)worker * g->own_count, *a = tile + g->tiles->rows * g->tiles->columns;
    int first = g->from == 0;
    if (shs__la_outside(g->part, row, rows, column, columns)) return;
    if (first && g->beta != 0)
        shs__la_scale_part(g->part, row, rows, column, columns, g->beta, SHS__AT(g->C, g->ldc, row, column), g->ldc);
    shs__la_gemm_pack_a(g, row, rows, a);
    shs__la_gemm_macro(g, row, rows, column, columns, a, g->packed_b + (size_t)offset * (size_t)g->depth,
                       !first || g->beta != 0, tile);
}

/* The 5th and the 4th loop. */
SHS__PRIVATE void shs__la_gemm_run(const shs_context *ctx, shs__gemm *g) {
    if (g->m <= 0 || g->n <= 0) return;
    if (g->alpha == 0 || g->k <= 0) {
        shs__la_scale_part(g->part, 0, g->m, 0, g->n, g->beta, g->C, g->ldc);
        return;
    }
    g->tiles = shs__kernels_gemm();
    g->stripe = shs__ctx_workers(ctx) > 1 ? SHS__STRIPE_COLUMNS : g->panel;
    for (g->column = 0; g->column < g->n; g->column += g->columns) {
        g->columns = shs__imin(g->n - g->column, g->panel);
        for (g->from = 0; g->from < g->k; g->from += g->depth) {
            g->depth = shs__imin(g->k - g->from, SHS__KC);
            shs__la_gemm_where(g);
            shs__ctx_parallel(ctx, (shs_wide)g->columns * (shs_wide)g->depth,
                              shs__ctx_chunks((size_t)g->columns, (size_t)(SHS__PACK_SLIVERS * g->tiles->columns)),
                              shs__la_gemm_pack_b, g);
            shs__ctx_parallel(ctx, shs__ctx_product_work(g->m, g->columns, g->depth),
                              shs__ctx_chunks((size_t)g->m, (size_t)shs__la_gemm_block(g)) *
                                  shs__ctx_chunks((size_t)g->columns, (size_t)g->stripe),
                              shs__la_gemm_stripe, g);
        }
    }
}

SHS__PRIVATE void shs__la_gemm_set(shs__gemm *g, shs__part part, shs_trans transa, shs_trans transb, int m, int n, int k,
                                   shs_real alpha, const shs_real *A, int lda, const shs_real *B, int ldb, shs_real beta,
                                   shs_real *C, int ldc) {
    g->part = part;
    g->transa = transa;
    g->transb = transb;
    g->m = m;
    g->n = n;
    g->k = k;
    g->alpha = alpha;
    g->A = A;
    g->lda = lda;
    g->B = B;
    g->ldb = ldb;
    g->beta = beta;
    g->C = C;
    g->ldc = ldc;
}

/* ---- gemm: products much deeper than wide ------------------------------------------------------------ >>gemm_deep */

/* A Gram or covariance matrix of very many columns: C offers few blocks to share out, and the packed panel would pass from
   one worker's cache to another's. Here each worker takes slabs of the depth and forms their product alone; these are added
   up in order, so that the bits are those of one thread. */
SHS__PRIVATE int shs__la_gemm_deep(int m, int n, int k) {
    return k >= 2 * SHS__SLAB_DEPTH && (size_t)m * (size_t)n <= SHS__SLAB_AREA;
}

SHS__PRIVATE void shs__la_slab_chunk(void *arg, size_t chunk, int worker) {
    const shs__gemm *g = (const shs__gemm *)arg;
    int from = g->from + (int)chunk * SHS__SLAB_DEPTH;
    shs_context alone = SHS_ZERO;
    shs__gemm slab = *g;
    alone.threads = 1;
    slab.k = shs__imin(g->k - from, SHS__SLAB_DEPTH);
    slab.A = g->transa == SHS_TRANS_YES ? SHS__AT(g->A, g->lda, from, 0) : SHS__AT(g->A, g->lda, 0, from);
    slab.B = g->transb == SHS_TRANS_YES ? SHS__AT(g->B, g->ldb, 0, from) : SHS__AT(g->B, g->ldb, from, 0);
    slab.beta = 0;
    slab.C = g->partial + chunk * (size_t)g->m * (size_t)g->n;
    slab.ldc = g->m;
    slab.own = g->own + (size_t)worker * g->own_count;
    slab.packed_b = slab.own + shs__la_gemm_own(g->m, SHS__KC);
    shs__la_gemm_run(&alone, &slab);
}

/* A column of C: the slabs at hand, in order. */
SHS__PRIVATE void shs__la_slab_sum_chunk(void *arg, size_t chunk, int worker) {
    const shs__gemm *g = (const shs__gemm *)arg;
    int first, last, partial, i, column = (int)chunk;
    shs_real *c = SHS__AT(g->C, g->ldc, 0, column);
    (void)worker;
    shs__la_wanted(g->part, 0, g->m, column, &first, &last);
    if (g->from == 0) shs__la_scale(last - first, g->beta, c + first, 1);
    for (partial = 0; partial < g->columns; partial++) {
        const shs_real *from = g->partial + ((size_t)partial * (size_t)g->n + (size_t)column) * (size_t)g->m;
        for (i = first; i < last; i++) c[i] += from[i];
    }
}

SHS__PRIVATE void shs__la_gemm_slabs(const shs_context *ctx, shs__gemm *g) {
    for (g->from = 0; g->from < g->k;) {
        int left = (g->k - g->from - 1) / SHS__SLAB_DEPTH + 1;
        g->columns = shs__imin(g->partials, left); /* here: partials that are used */
        shs__ctx_parallel(ctx, (shs_wide)g->columns * shs__ctx_product_work(g->m, g->n, SHS__SLAB_DEPTH), (size_t)g->columns,
                          shs__la_slab_chunk, g);
        shs__ctx_parallel(ctx, (shs_wide)g->columns * (shs_wide)g->m * (shs_wide)g->n, (size_t)g->n, shs__la_slab_sum_chunk, g);
        g->from = g->columns == left ? g->k : g->from + g->columns * SHS__SLAB_DEPTH;
    }
}

/* Memory for products up to m x n x k. */
SHS__PRIVATE void shs__la_gemm_layout(shs__layout *l, const shs_context *ctx, int m, int n, int k, shs__gemm *g) {
    int workers = shs__ctx_workers(ctx);
    size_t panel;
    m = shs__imax(m, 0);
    n = shs__imax(n, 0);
    k = shs__imax(k, 0);
    g->panel = SHS__NC;
    g->partials = shs__la_gemm_deep(m, n, k) ? workers > 1 ? 4 * workers : 1 : 0;
    g->own_count = shs__la_gemm_own(m, k);
    panel = shs__la_gemm_panel(n, k, SHS__NC);
    if (g->partials) { /* a panel each */
        g->own_count += panel;
        g->partial = SHS__CARVE(l, shs_real, shs__layout_product((size_t)g->partials, (size_t)m, (size_t)n));
    } else g->packed_b = SHS__CARVE(l, shs_real, panel);
    g->own = SHS__CARVE(l, shs_real, shs__layout_product((size_t)workers, g->own_count, 1));
}

/* For use inside other parallel loops: one thread, scratch of shs__la_gemm_scratch values, the same bits as shs_gemm. */
SHS__OUTLINE size_t shs__la_gemm_scratch(int m, int n, int k) {
    return shs__la_gemm_panel(n, k, SHS__NC_SERIAL) + shs__la_gemm_own(m, k);
}

SHS__PRIVATE void shs__la_gemm_serial(shs_trans transa, shs_trans transb, int m, int n, int k, shs_real alpha,
                                      const shs_real *A, int lda, const shs_real *B, int ldb, shs_real beta, shs_real *C,
                                      int ldc, shs_real *scratch) {
    shs_context alone = SHS_ZERO;
    shs__gemm g = SHS_ZERO;
    alone.threads = 1;
    shs__la_gemm_set(&g, SHS__WHOLE, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
    g.panel = SHS__NC_SERIAL;
    g.own_count = shs__la_gemm_own(m, k);
    g.own = scratch;
    g.packed_b = scratch + g.own_count;
    shs__la_gemm_run(&alone, &g);
}

/* A small product is multiplied where it lies, on the calling thread, and needs no memory. What does not fill one tile is
   packed on the stack. */
#define SHS__ROOM (3 * SHS__VECTOR_MOST / (int)sizeof(shs_real) * 8) /* the largest tile */
SHS__PRIVATE int shs__la_gemm_small(const shs_context *ctx, shs__gemm *g) {
    shs_real tile[SHS__ROOM], packed[SHS__ROOM];
    int few_rows, few_columns, pad;
    if (g->alpha != 1 || g->m <= 0 || g->n <= 0 || g->k <= 0 || g->k > SHS__KC) return 0;
    if (shs__ctx_workers(ctx) > 1 && shs__ctx_product_work(g->m, g->n, g->k) >= (shs_wide)SHS__TEST_WORTH_SHARING) return 0;
    g->tiles = shs__kernels_gemm(), pad = g->tiles->pad;
    few_rows = g->m < pad, few_columns = g->n < g->tiles->columns;
    if (((few_rows ? pad : 0) + (few_columns ? g->tiles->columns : 0)) * g->k > SHS__ROOM) return 0;
    g->column = 0, g->columns = g->n, g->from = 0, g->depth = g->k, g->packed_b = packed + (few_rows ? pad * g->k : 0);
    shs__la_gemm_where(g);
    if (!g->a_lies || !g->b_lies) return 0;
    if (few_rows) shs__la_gemm_pack_a(g, 0, g->m, packed);
    if (few_columns) shs__la_gemm_pack_b(g, 0, 0);
    if (g->beta != 0) shs__la_scale_part(g->part, 0, g->m, 0, g->n, g->beta, g->C, g->ldc);
    shs__la_gemm_macro(g, 0, g->m, 0, g->n, packed, g->packed_b, g->beta != 0, tile);
    return 1;
}

/* Takes the memory, runs, gives it back. */
SHS__PRIVATE shs_status shs__la_gemm_call(const shs_context *ctx, shs__gemm *g) {
    shs__layout l = SHS_ZERO;
    shs_status status = SHS_OK;
    if (shs__la_gemm_small(ctx, g)) return SHS_OK;
    if (g->m > 0 && g->n > 0 && g->k > 0 && g->alpha != 0)
        while (shs__layout_next(ctx, &l, &status)) shs__la_gemm_layout(&l, ctx, g->m, g->n, g->k, g);
    if (status != SHS_OK) return status;
    if (g->partials) shs__la_gemm_slabs(ctx, g);
    else shs__la_gemm_run(ctx, g);
    shs__layout_release(ctx, &l);
    return SHS_OK;
}

SHS__PRIVATE shs_status shs__la_gemm_check(shs_trans transa, shs_trans transb, int m, int n, int k, const shs_real *A,
                                           int lda, const shs_real *B, int ldb, const shs_real *C, int ldc) {
    if (shs__la_not_binary((int)transa) || shs__la_not_binary((int)transb)) return SHS_BAD_ENUM;
    if (m < 0) return SHS_BAD_M;
    if (n < 0) return SHS_BAD_N;
    if (k < 0) return SHS_BAD_K;
    if (shs__la_absent(A, m, k)) return SHS_BAD_A;
    if (lda < (transa == SHS_TRANS_YES ? k : m)) return SHS_BAD_LDA;
    if (shs__la_absent(B, k, n)) return SHS_BAD_B;
    if (ldb < (transb == SHS_TRANS_YES ? n : k)) return SHS_BAD_LDB;
    if (shs__la_absent(C, m, n)) return SHS_BAD_C;
    if (ldc < m) return SHS_BAD_LDC;
    return SHS_OK;
}

/* The product here, or on the context's engine. */
SHS__PRIVATE shs_status shs__la_product(const shs_context *ctx, const shs_product_job *job) {
    const shs_engine *e = ctx ? ctx->engine : NULL;
    int asked = e && job->m > 0 && job->n > 0 && job->k > 0 && job->alpha != 0;
    shs_status status = asked ? e->product ? e->product(e->user, ctx, job) : SHS_UNSUPPORTED : SHS_OK;
    shs__gemm g = SHS_ZERO;
    if (asked && !shs__ctx_cpu_takes_over(e, status)) return status;
    shs__la_gemm_set(&g, job->symmetric ? shs__la_part_of(job->uplo) : SHS__WHOLE, job->transa, job->transb, job->m, job->n,
                     job->k, job->alpha, job->A, job->lda, job->B, job->ldb, job->beta, job->C, job->ldc);
    return shs__la_gemm_call(ctx, &g);
}

/* The fast form of shs_gemm_naive and shs_gemm_general_naive. */
SHS__PUBLIC shs_status shs_gemm(const shs_context *ctx, shs_trans transa, shs_trans transb, int m, int n, int k,
                                shs_real alpha, const shs_real *A, int lda, const shs_real *B, int ldb, shs_real beta,
                                shs_real *C, int ldc) {
    shs_product_job job = SHS_ZERO;
    shs_status status = shs__ctx_check(ctx);
    if (status == SHS_OK) status = shs__la_gemm_check(transa, transb, m, n, k, A, lda, B, ldb, C, ldc);
    if (status != SHS_OK) return status;
    job.transa = transa, job.transb = transb, job.m = m, job.n = n, job.k = k, job.alpha = alpha, job.beta = beta;
    job.A = A, job.lda = lda, job.B = B, job.ldb = ldb, job.C = C, job.ldc = ldc;
    return shs__la_product(ctx, &job);
}

SHS__PUBLIC size_t shs_gemm_workspace(const shs_context *ctx, int m, int n, int k) {
    shs__layout l = SHS_ZERO;
    shs__gemm g;
    if (m < 0 || n < 0 || k < 0) return SIZE_MAX;
    shs__la_gemm_layout(&l, ctx, m, n, k, &g);
    return shs__layout_query(&l);
}

SHS__PUBLIC void shs_gemm_naive(int m, int n, int k, const shs_real *A, const shs_real *B, shs_real *C) {
    ptrdiff_t i, j, q;
    for (j = 0; j < n; j++)
        for (i = 0; i < m; i++)
            for (C[i + j * m] = 0, q = 0; q < k; q++) C[i + j * m] += A[i + q * m] * B[q + j * k];
}

SHS__PUBLIC shs_status shs_gemm_general_naive(shs_trans transa, shs_trans transb, int m, int n, int k, shs_real alpha,
                                              const shs_real *A, int lda, const shs_real *B, int ldb, shs_real beta,
                                              shs_real *C, int ldc) {
    int i, j, p;
    shs_status status = shs__la_gemm_check(transa, transb, m, n, k, A, lda, B, ldb, C, ldc);
    if (status != SHS_OK) return status;
    for (j = 0; j < n; j++)
        for (i = 0; i < m; i++) {
            shs_real sum = 0, *c = SHS__AT(C, ldc, i, j);
            for (p = 0; alpha != 0 && p < k; p++)
                sum += *(transa == SHS_TRANS_YES ? SHS__AT(A, lda, p, i) : SHS__AT(A, lda, i, p)) *
                       *(transb == SHS_TRANS_YES ? SHS__AT(B, ldb, j, p) : SHS__AT(B, ldb, p, j));
            *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
        }
    return SHS_OK;
}

/* ---- syrk: gemm that leaves out the tiles of the other triangle ------------------------------------------- >>syrk */

SHS__PRIVATE shs_status shs__la_syrk_check(shs_uplo uplo, shs_trans trans, int n, int k, const shs_real *A, int lda,
                                           const shs_real *C, int ldc) {
    if (shs__la_not_binary((int)uplo) || shs__la_not_binary((int)trans)) return SHS_BAD_ENUM;
    if (n < 0) return SHS_BAD_N;
    return shs__la_gemm_check(trans, shs__la_other_trans(trans), n, n, k, A, lda, A, lda, C, ldc);
}

/* The fast form of shs_syrk_naive. */
SHS__PUBLIC shs_status shs_syrk(const shs_context *ctx, shs_uplo uplo, shs_trans trans, int n, int k, shs_real alpha,
                                const shs_real *A, int lda, shs_real beta, shs_real *C, int ldc) {
    shs_product_job job = SHS_ZERO;
    shs_status status = shs__ctx_check(ctx);
    if (status == SHS_OK) status = shs__la_syrk_check(uplo, trans, n, k, A, lda, C, ldc);
    if (status != SHS_OK) return status;
    job.symmetric = 1, job.uplo = uplo, job.transa = trans, job.transb = shs__la_other_trans(trans);
    job.m = job.n = n, job.k = k, job.alpha = alpha, job.beta = beta;
    job.A = job.B = A, job.lda = job.ldb = lda, job.C = C, job.ldc = ldc;
    return shs__la_product(ctx, &job);
}

SHS__PUBLIC size_t shs_syrk_workspace(const shs_context *ctx, int n, int k) { return shs_gemm_workspace(ctx, n, n, k); }

SHS__PUBLIC shs_status shs_syrk_naive(shs_uplo uplo, shs_trans trans, int n, int k, shs_real alpha, const shs_real *A,
                                      int lda, shs_real beta, shs_real *C, int ldc) {
    int i, j, p;
    shs_status status = shs__la_syrk_check(uplo, trans, n, k, A, lda, C, ldc);
    if (status != SHS_OK) return status;
    for (j = 0; j < n; j++)
        for (i = uplo == SHS_UPLO_LOWER ? j : 0; i < (uplo == SHS_UPLO_LOWER ? n : j + 1); i++) {
            shs_real sum = 0, *c = SHS__AT(C, ldc, i, j);
            for (p = 0; alpha != 0 && p < k; p++)
                sum += trans == SHS_TRANS_YES ? *SHS__AT(A, lda, p, i) * *SHS__AT(A, lda, p, j)
                                          : *SHS__AT(A, lda, i, p) * *SHS__AT(A, lda, j, p);
            *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
        }
    return SHS_OK;
}

/* ---- trsm ------------------------------------------------------------------------------------------------- >>trsm */

/* X op(A) = B has independent rows: strips of them are solved in parallel. The other side is the same problem
   transposed, X' op(A)' = B', and a strip of B' is transposed on its way in and out. Within a strip the order of A is
   halved until it is small; all the rest is gemm. */
#define SHS__TRSM_ROWS 144     /* rows of a strip: one block of gemm */
#define SHS__SMALL_TRIANGLE 32 /* order that is solved directly */

typedef struct shs__trsm {
    shs_side side;
    shs_uplo uplo;
    shs_trans trans; /* of A, once B is seen from the right */
    shs_diag diag;
    int rows, order; /* of X, of A, seen from the right */
    shs_real alpha;
    const shs_real *A;
    shs_real *B;
    int lda, ldb;
    shs_real *own; /* for each worker gemm's scratch and, for the left side, a strip */
    size_t own_count, gemm_count;
} shs__trsm;

/* Columns of X one after the other, each less those already solved: whole columns of a strip at a time. */
SHS__PRIVATE void shs__la_trsm_small(const shs__trsm *t, int rows, int n, const shs_real *A, shs_real *X, int ldx) {
    const shs__vector_kernels *vectors = shs__kernels_vector();
    int upper = (t->uplo == SHS_UPLO_UPPER) == (t->trans == SHS_TRANS_NO), step, other, i;
    for (step = 0; step < n; step++) {
        int j = upper ? step : n - 1 - step;
        shs_real *x = SHS__AT(X, ldx, 0, j), pivot;
        for (other = 0; other < step; other++) {
            int q = upper ? other : n - 1 - other;
            shs_real a = t->trans == SHS_TRANS_YES ? *SHS__AT(A, t->lda, j, q) : *SHS__AT(A, t->lda, q, j);
            vectors->axpy((size_t)rows, -a, SHS__AT(X, ldx, 0, q), x);
        }
        if (t->diag == SHS_DIAG_UNIT) continue;
        pivot = *SHS__AT(A, t->lda, j, j);
        for (i = 0; i < rows; i++) x[i] /= pivot;
    }
}

/* X op(A) = X for one strip. */
SHS__PRIVATE void shs__la_trsm_strip(const shs__trsm *t, int rows, int n, const shs_real *A, shs_real *X, int ldx,
                                 shs_real *scratch) {
    int upper = (t->uplo == SHS_UPLO_UPPER) == (t->trans == SHS_TRANS_NO), h;
    const shs_real *corner, *below;
    shs_real *X2;
    if (n <= SHS__SMALL_TRIANGLE) {
        shs__la_trsm_small(t, rows, n, A, X, ldx);
        return;
    }
    h = shs__la_round_up(n - n / 2, SHS__SMALL_TRIANGLE);
    corner = t->uplo == SHS_UPLO_UPPER ? SHS__AT(A, t->lda, 0, h) : SHS__AT(A, t->lda, h, 0);
    below = SHS__AT(A, t->lda, h, h);
    X2 = SHS__AT(X, ldx, 0, h);
    if (upper) {
        shs__la_trsm_strip(t, rows, h, A, X, ldx, scratch);
        shs__la_gemm_serial(SHS_TRANS_NO, t->trans, rows, n - h, h, -1, X, ldx, corner, t->lda, 1, X2, ldx, scratch);
        shs__la_trsm_strip(t, rows, n - h, below, X2, ldx, scratch);
    } else {
        shs__la_trsm_strip(t, rows, n - h, below, X2, ldx, scratch);
        shs__la_gemm_serial(SHS_TRANS_NO, t->trans, rows, h, n - h, -1, X2, ldx, corner, t->lda, 1, X, ldx, scratch);
        shs__la_trsm_strip(t, rows, h, A, X, ldx, scratch);
    }
}

SHS__PRIVATE void shs__la_trsm_chunk(void *arg, size_t chunk, int worker) {
    const shs__trsm *t = (const shs__trsm *)arg;
    int row = (int)chunk * SHS__TRSM_ROWS, rows = shs__imin(t->rows - row, SHS__TRSM_ROWS);
    shs_real *scratch = t->own + (size_t)worker * t->own_count;
    if (t->side == SHS_SIDE_LEFT) {
        const shs__gemm_kernels *tiles = shs__kernels_gemm();
        shs_real *B = SHS__AT(t->B, t->ldb, 0, row), *X = scratch + t->gemm_count;
        tiles->transpose(t->order, rows, t->alpha, B, t->ldb, X, rows);
        shs__la_trsm_strip(t, rows, t->order, t->A, X, rows, scratch);
        tiles->transpose(rows, t->order, 1, X, rows, B, t->ldb);
    } else {
        shs__la_scale_part(SHS__WHOLE, 0, rows, 0, t->order, t->alpha, t->B + row, t->ldb);
        shs__la_trsm_strip(t, rows, t->order, t->A, t->B + row, t->ldb, scratch);
    }
}

/* Memory for up to m x n. */
SHS__PRIVATE void shs__la_trsm_layout(shs__layout *l, const shs_context *ctx, shs_side side, int m, int n, shs__trsm *t) {
    int order = shs__imax(side == SHS_SIDE_LEFT ? m : n, 0), rows = shs__imax(side == SHS_SIDE_LEFT ? n : m, 0);
    rows = shs__imin(rows, SHS__TRSM_ROWS);
    t->gemm_count = shs__la_gemm_scratch(rows, order, order);
    t->own_count = t->gemm_count + (side == SHS_SIDE_LEFT ? (size_t)shs__la_round_up(rows, 16) * (size_t)order : 0);
    t->own = SHS__CARVE(l, shs_real, shs__layout_product((size_t)shs__ctx_workers(ctx), t->own_count, 1));
}

SHS__PRIVATE void shs__la_trsm_set(shs__trsm *t, shs_side side, shs_uplo uplo, shs_trans trans, shs_diag diag, int m,
                                   int n, shs_real alpha, const shs_real *A, int lda, shs_real *B, int ldb) {
    t->side = side;
    t->uplo = uplo;
    t->trans = side == SHS_SIDE_LEFT ? shs__la_other_trans(trans) : trans;
    t->diag = diag;
    t->rows = side == SHS_SIDE_LEFT ? n : m;
    t->order = side == SHS_SIDE_LEFT ? m : n;
    t->alpha = alpha;
    t->A = A;
    t->lda = lda;
    t->B = B;
    t->ldb = ldb;
}

SHS__PRIVATE void shs__la_trsm_run(const shs_context *ctx, shs__trsm *t) {
    shs__ctx_parallel(ctx, shs__ctx_product_work(t->rows, t->order, t->order), shs__ctx_chunks((size_t)t->rows, SHS__TRSM_ROWS),
                      shs__la_trsm_chunk, t);
}

SHS__PRIVATE shs_status shs__la_trsm_check(shs_side side, shs_uplo uplo, shs_trans transa, shs_diag diag, int m, int n,
                                           shs_real alpha, const shs_real *A, int lda, const shs_real *B, int ldb) {
    int order = side == SHS_SIDE_LEFT ? m : n;
    if (shs__la_not_binary((int)side) || shs__la_not_binary((int)uplo)) return SHS_BAD_ENUM;
    if (shs__la_not_binary((int)transa) || shs__la_not_binary((int)diag)) return SHS_BAD_ENUM;
    if (m < 0) return SHS_BAD_M;
    if (n < 0) return SHS_BAD_N;
    if (shs__la_absent(A, order, order)) return SHS_BAD_A;
    if (lda < order) return SHS_BAD_LDA;
    if (shs__la_absent(B, m, n)) return SHS_BAD_B;
    if (ldb < m) return SHS_BAD_LDB;
    if (m == 0 || n == 0 || alpha == 0 || diag == SHS_DIAG_UNIT) return SHS_OK;
    return shs__la_zero_on_diagonal(order, A, lda) ? SHS_SINGULAR : SHS_OK;
}

/* The fast form of shs_trsm_naive. */
SHS__PUBLIC shs_status shs_trsm(const shs_context *ctx, shs_side side, shs_uplo uplo, shs_trans transa, shs_diag diag,
                                int m, int n, shs_real alpha, const shs_real *A, int lda, shs_real *B, int ldb) {
    shs__layout l = SHS_ZERO;
    shs__trsm t;
    shs_status status = shs__ctx_check(ctx);
    if (status == SHS_OK) status = shs__la_trsm_check(side, uplo, transa, diag, m, n, alpha, A, lda, B, ldb);
    if (status != SHS_OK || m == 0 || n == 0) return status;
    if (alpha == 0) {
        shs__la_scale_part(SHS__WHOLE, 0, m, 0, n, 0, B, ldb);
        return SHS_OK;
    }
    while (shs__layout_next(ctx, &l, &status)) shs__la_trsm_layout(&l, ctx, side, m, n, &t);
    if (status != SHS_OK) return status;
    shs__la_trsm_set(&t, side, uplo, transa, diag, m, n, alpha, A, lda, B, ldb);
    shs__la_trsm_run(ctx, &t);
    shs__layout_release(ctx, &l);
    return SHS_OK;
}

SHS__PUBLIC size_t shs_trsm_workspace(const shs_context *ctx, shs_side side, int m, int n) {
    shs__layout l = SHS_ZERO;
    shs__trsm t;
    if (m < 0 || n < 0) return SIZE_MAX;
    shs__la_trsm_layout(&l, ctx, side, m, n, &t);
    return shs__layout_query(&l);
}

/* Column after column, or row after row with the transposed system. */
SHS__PUBLIC shs_status shs_trsm_naive(shs_side side, shs_uplo uplo, shs_trans transa, shs_diag diag, int m, int n,
                                      shs_real alpha, const shs_real *A, int lda, shs_real *B, int ldb) {
    int i;
    shs_status status = shs__la_trsm_check(side, uplo, transa, diag, m, n, alpha, A, lda, B, ldb);
    if (status != SHS_OK || m == 0 || n == 0) return status;
    shs__la_scale_part(SHS__WHOLE, 0, m, 0, n, alpha, B, ldb);
    if (alpha == 0) return SHS_OK;
    if (side == SHS_SIDE_LEFT)
        for (i = 0; i < n; i++) shs__la_trsv(uplo, transa, diag, m, A, lda, SHS__AT(B, ldb, 0, i), 1);
    else
        for (i = 0; i < m; i++) shs__la_trsv(uplo, shs__la_other_trans(transa), diag, n, A, lda, B + i, ldb);
    return SHS_OK;
}

/* ---- Cholesky ----------------------------------------------------------------------------------------- >>cholesky */

SHS__PRIVATE shs_status shs__la_cholesky_check(shs_uplo uplo, int n, const shs_real *A, int lda) {
    if (shs__la_not_binary((int)uplo)) return SHS_BAD_ENUM;
    if (n < 0) return SHS_BAD_N;
    if (shs__la_absent(A, n, n)) return SHS_BAD_A;
    if (lda < n) return SHS_BAD_LDA;
    return SHS_OK;
}

/* The upper factor is the lower one with rows and columns exchanged: l(i,k) is at i*down + k*across. */
SHS__PUBLIC shs_status shs_cholesky_naive(shs_uplo uplo, int n, shs_real *A, int lda) {
    size_t down = uplo == SHS_UPLO_LOWER ? 1 : (size_t)lda, across = uplo == SHS_UPLO_LOWER ? (size_t)lda : 1, i, j, k;
    shs_status status = shs__la_cholesky_check(uplo, n, A, lda);
    if (status != SHS_OK) return status;
    for (j = 0; j < (size_t)n; j++) {
        shs_real *pivot = A + j * (down + across);
        for (i = j; i < (size_t)n; i++) {
            shs_real sum = 0, *a = A + i * down + j * across;
            for (k = 0; k < j; k++) sum += A[i * down + k * across] * A[j * down + k * across];
            *a -= sum;
            if (i > j) *a /= *pivot;
            else if (!(*a > 0) || !shs__finite(1, a)) return SHS_NOT_POSITIVE_DEFINITE;
            else *a = SHS__SQRT(*a);
        }
    }
    return SHS_OK;
}

typedef struct shs__cholesky_room {
    shs__gemm gemm;
    shs__trsm trsm;
} shs__cholesky_room;

/* Halves the matrix: A11 = L L', A21 becomes A21 L'^-1, A22 -= A21 A21', and A22 is the same problem again. */
SHS__PRIVATE shs_status shs__la_cholesky(const shs_context *ctx, shs_uplo uplo, int n, shs_real *A, int lda,
                                         shs__cholesky_room *room) {
    int h = shs__la_round_up(n - n / 2, SHS__SMALL_TRIANGLE), rest = n - h, lower = uplo == SHS_UPLO_LOWER;
    shs_trans trans = lower ? SHS_TRANS_NO : SHS_TRANS_YES;
    shs_real *corner, *below;
    shs_status status;
    if (n <= SHS__SMALL_TRIANGLE) return shs_cholesky_naive(uplo, n, A, lda);
    corner = lower ? SHS__AT(A, lda, h, 0) : SHS__AT(A, lda, 0, h);
    below = SHS__AT(A, lda, h, h);
    status = shs__la_cholesky(ctx, uplo, h, A, lda, room);
    if (status != SHS_OK) return status;
    shs__la_trsm_set(&room->trsm, lower ? SHS_SIDE_RIGHT : SHS_SIDE_LEFT, uplo, SHS_TRANS_YES, SHS_DIAG_NON_UNIT,
                     lower ? rest : h, lower ? h : rest, 1, A, lda, corner, lda);
    shs__la_trsm_run(ctx, &room->trsm);
    shs__la_gemm_set(&room->gemm, shs__la_part_of(uplo), trans, shs__la_other_trans(trans), rest, rest, h, -1, corner, lda,
                     corner, lda, 1, below, lda);
    shs__la_gemm_run(ctx, &room->gemm);
    return shs__la_cholesky(ctx, uplo, rest, below, lda, room);
}

/* The first half is the largest problem for gemm and trsm alike, and never smaller than the second. The memory for the
   left side is enough for both. */
SHS__PRIVATE void shs__la_cholesky_layout(shs__layout *l, const shs_context *ctx, int n, shs__cholesky_room *room) {
    int h = n > 0 ? shs__la_round_up(n - n / 2, SHS__SMALL_TRIANGLE) : 0;
    shs__la_gemm_layout(l, ctx, h, h, h, &room->gemm);
    shs__la_trsm_layout(l, ctx, SHS_SIDE_LEFT, h, h, &room->trsm);
}

/* The fast form of shs_cholesky_naive. */
SHS__PUBLIC shs_status shs_cholesky(const shs_context *ctx, shs_uplo uplo, int n, shs_real *A, int lda) {
    shs__layout l = SHS_ZERO;
    shs__cholesky_room room;
    shs_status status = shs__ctx_check(ctx);
    if (status == SHS_OK) status = shs__la_cholesky_check(uplo, n, A, lda);
    if (status != SHS_OK) return status;
    if (n <= SHS__SMALL_TRIANGLE) return shs_cholesky_naive(uplo, n, A, lda);
    while (shs__layout_next(ctx, &l, &status)) shs__la_cholesky_layout(&l, ctx, n, &room);
    if (status != SHS_OK) return status;
    status = shs__la_cholesky(ctx, uplo, n, A, lda, &room);
    shs__layout_release(ctx, &l);
    return status;
}

SHS__PUBLIC size_t shs_cholesky_workspace(const shs_context *ctx, int n) {
    shs__layout l = SHS_ZERO;
    shs__cholesky_room room;
    if (n < 0) return SIZE_MAX;
    shs__la_cholesky_layout(&l, ctx, n, &room);
    return shs__layout_query(&l);
}

/* ---- columns of unit length ----------------------------------------------------------------------- >>unit_columns */

/* Columns too short or too long to divide by their length, or to multiply by its reciprocal, are brought into range first. */
SHS__PUBLIC shs_status shs_normalize_columns(int m, int n, shs_real *A, int lda, shs_real *norms) {
    int i, j;
    if (m < 0) return SHS_BAD_M;
    if (n < 0) return SHS_BAD_N;
    if (shs__la_absent(A, m, n)) return SHS_BAD_A;
    if (lda < m) return SHS_BAD_LDA;
    for (j = 0; j < n; j++) {
        shs_real *a = SHS__AT(A, lda, 0, j), norm = shs_nrm2(m, a, 1);
        if (norms) norms[j] = norm;
        if (norm == 0) continue;
        if (norm < SHS__SQUARES_MIN || norm > SHS__SCALE_UP || !shs__finite(1, &norm)) {
            shs_real scale = norm < 1 ? SHS__SCALE_UP : SHS__SCALE_DOWN;
            for (i = 0; i < m; i++) a[i] *= scale;
            norm = shs_nrm2(m, a, 1);
        }
        for (i = 0; i < m; i++) a[i] /= norm;
    }
    return SHS_OK;
}

/* ================================================================================================================== */
/* 5  SYMMETRIC EIGENPROBLEM                                                                                  >>eigen */
/* ================================================================================================================== */

/* Eigenvalues and eigenvectors of a symmetric matrix, in shs_wide. In this order: products; scratch; the matrix in and the
   results out; the three stages; the driver; the naive twin. It calls section 2, the kernels and shs__la_round_up.
   Sections 8 and 10 call shs_eigh; nothing else here is for others. */

/* A = V diag(lambda) V' in three stages:

       1  A = Q T Q'          T tridiagonal, by n - 2 Householder reflections, SHS__REFLECTIONS of them at a time
       2  T = S diag(lambda) S', all eigenpairs: divide and conquer over small blocks that implicit QL solves;
          few: bisection and twisted factorisations; values only: QL
       3  V = Q S, the reflections applied to S

   Every buffer of shs_wide has rows beyond n that hold zeros and stay zero (0 x 0 + 0), and every matrix a few such
   columns behind it. So no kernel below has a tail: vectors may start anywhere, and run over the end. */

#define SHS__REFLECTIONS 16 /* in a block; even, as the kernels take columns by four and a reflection adds two */
#define SHS__PACKED 32      /* columns of a right factor that are packed at a time; a multiple of four */
#define SHS__LEAF 32        /* the largest block that QL solves where vectors are wanted */
#define SHS__SHIFTS 16      /* eigenvalues bisected side by side */
#define SHS__BORDER 4       /* columns of zeros behind a matrix, as kernels take columns by four */

#define SHS__WBITS (sizeof(shs_wide) > 4 ? 53 : 24) /* of the significand of shs_wide */

#define SHS__WALIGN (SHS__ALIGN / (int)sizeof(shs_wide)) /* a multiple of the lanes of every vector */

/* ---- products of matrices ----------------------------------------------------------------------- >>eigen_products */

/* A product's right factor: element (l, j) at B[l row + j column], so that a transpose is a matter of the strides. */
typedef struct shs__wfactor {
    const shs_wide *B;
    size_t row, column;
} shs__wfactor;

SHS__PRIVATE shs__wfactor shs__eigh_factor(const shs_wide *B, int row, int column) {
    shs__wfactor f;
    f.B = B, f.row = (size_t)row, f.column = (size_t)column;
    return f;
}

/* alpha B (k x columns) as stripes of four columns, each packed row by row; columns that are missing count as zero. */
SHS__PRIVATE void shs__eigh_pack(int k, int columns, shs_wide alpha, shs__wfactor b, shs_wide *pack) {
    int l, j, q;
    for (j = 0; j < columns; j += 4)
        for (l = 0; l < k; l++)
            for (q = 0; q < 4; q++, pack++)
                *pack = j + q < columns ? alpha * b.B[(size_t)l * b.row + (size_t)(j + q) * b.column] : 0;
}

/* C (m x n) += alpha P (m x k) B (k x n); the columns of C up to the next multiple of four are written (with
   themselves). */
SHS__PRIVATE void shs__eigh_product(const shs__eigh_kernels *kernels, int m, int n, int k, shs_wide alpha, const shs_wide *P,
                                    int ldp, shs__wfactor b, shs_wide *C, int ldc, shs_wide *pack) {
    int j;
    for (j = 0; j < n; j += SHS__PACKED) {
        int columns = shs__imin(SHS__PACKED, n - j);
        shs__eigh_pack(k, columns, alpha, b, pack);
        kernels->stripes(m, (columns + 3) / 4, k, P, ldp, pack, SHS__AT(C, ldc, 0, j), ldc);
        b.B += SHS__PACKED * b.column;
    }
}

/* ---- scratch ------------------------------------------------------------------------------------- >>eigen_scratch */

typedef struct shs__eigh {
    const shs__eigh_kernels *kernels;
    int n, ld;
    shs_wide scale;         /* the power of two that A was multiplied by */
    shs_wide *A;            /* n x n: first A, then the reflections below the diagonal */
    shs_wide *d, *e;        /* the diagonal of T and what is below it */
    shs_wide *T;            /* SHS__REFLECTIONS x n: the triangular factors of the block reflections, side by side */
    shs_wide *P, *Q;        /* n x 2 SHS__REFLECTIONS: what the current panel has yet to subtract from A is P Q' */
    shs_wide *pack;         /* SHS__PACKED x n, or 2 SHS__REFLECTIONS if that is more: part of a right factor */
    shs_wide *x, *y;        /* n, x at least 2 SHS__REFLECTIONS */
    shs_wide *values;       /* n, in no order */
    shs_wide *rest;         /* n: what QL destroys of e */
    shs_wide *cosine, *sine; /* n: the rotations of a QL sweep */
    shs_wide *S;            /* n x n: the eigenvectors of T */
    shs_wide *X;            /* n x n: scratch, then the eigenvectors of A transposed */
    shs_wide *U;            /* n x n: the eigenvectors of two merged blocks */
    shs_wide *merge;        /* 5 n: scratch of a merge, or the pivots of T - lambda I */
    int *order;             /* 3 n */
} shs__eigh;

/* An odd number of cache lines, so that columns spread over all sets of a cache, and room for a vector that starts at
   the last element or pairs of vectors from the first. */
SHS__PRIVATE int shs__eigh_ld(int n) {
    int lines = (n + 3 * SHS__WALIGN - 2) / SHS__WALIGN;
    return (lines | 1) * SHS__WALIGN;
}

/* Whether bisection and twisted factorisations are faster than all eigenpairs. Time for k of n eigenpairs over that of all,
   random matrices and covariances of a decaying spectrum, AVX-512:

       n      k = n/20     n/10         3n/20        n/5          n/4          2n/5
       32     1.6, 1.7     1.6, 1.8     1.6, 1.8     1.7, 1.9     1.8, 1.9     1.9, 2.1
       64     0.8, 0.9     0.9, 1.0     0.9, 1.0     1.0, 1.1     1.0, 1.2     1.6, 1.9
       100    0.6, 0.7     0.7, 0.8     0.7, 0.8     1.0, 1.2     1.1, 1.3     1.5, 1.8
       224    0.5, 0.6     0.7, 0.8     0.8, 1.0     0.9, 1.1     1.1, 1.4     1.5, 1.8
       400    0.6, 0.6     0.7, 0.8     0.8, 0.9     0.9, 1.0     1.0, 1.2     1.4, 1.6

   Without vectors it is 1.0 at n = 64, 0.8 at n = 100 up to 3n/20, and 0.9 at 3n/20 beyond. */
SHS__PRIVATE int shs__eigh_few_faster(int n, int k) { return n >= 64 && k <= n / 7; }

/* A matrix with its border of zero columns. */
SHS__PRIVATE shs_wide *shs__eigh_matrix(shs__layout *l, int ld, int columns) {
    return SHS__CARVE(l, shs_wide, shs__layout_product((size_t)ld, (size_t)columns + SHS__BORDER, 1));
}

SHS__PRIVATE void shs__eigh_layout(shs__layout *l, int n, int want_vectors, shs__eigh *w) {
    if (n > INT_MAX / 2) {
        l->overflow = 1;
        return;
    }
    w->kernels = shs__kernels_eigh();
    w->n = n;
    w->ld = shs__eigh_ld(n);
    w->A = shs__eigh_matrix(l, w->ld, n);
    w->P = shs__eigh_matrix(l, w->ld, 2 * SHS__REFLECTIONS);
    w->Q = shs__eigh_matrix(l, w->ld, 2 * SHS__REFLECTIONS);
    w->T = SHS__CARVE(l, shs_wide, shs__layout_product(SHS__REFLECTIONS, (size_t)n + SHS__REFLECTIONS, 1));
    w->d = SHS__CARVE(l, shs_wide, (size_t)w->ld);
    w->e = SHS__CARVE(l, shs_wide, (size_t)w->ld);
    w->x = SHS__CARVE(l, shs_wide, (size_t)w->ld + 2 * SHS__REFLECTIONS);
    w->y = SHS__CARVE(l, shs_wide, (size_t)w->ld);
    w->values = SHS__CARVE(l, shs_wide, (size_t)w->ld);
    w->rest = SHS__CARVE(l, shs_wide, (size_t)w->ld);
    w->order = SHS__CARVE(l, int, shs__layout_product(3, (size_t)n, 1));
    w->pack = SHS__CARVE(l, shs_wide, shs__layout_product(SHS__PACKED, (size_t)w->ld + 2 * SHS__REFLECTIONS, 1));
    w->cosine = SHS__CARVE(l, shs_wide, (size_t)w->ld);
    w->sine = SHS__CARVE(l, shs_wide, (size_t)w->ld);
    if (!want_vectors) return;
    w->S = shs__eigh_matrix(l, w->ld, n);
    w->X = shs__eigh_matrix(l, w->ld, n);
    w->U = shs__eigh_matrix(l, w->ld, n);
    w->merge = SHS__CARVE(l, shs_wide, shs__layout_product(5, (size_t)w->ld, 1));
}

/* ---- in and out ----------------------------------------------------------------------------------- >>eigen_in_out */

/* The largest magnitude in the lower triangle into *largest; false where it holds NaN or infinity. */
SHS__PRIVATE int shs__eigh_largest(int n, const shs_wide *A, int lda, shs_wide *largest) {
    shs_wide most = 0;
    int i, j;
    for (j = 0; j < n; j++) {
        if (!shs__wide_finite((size_t)(n - j), SHS__AT(A, lda, j, j))) return 0;
        for (i = j; i < n; i++) most = shs__wabs(*SHS__AT(A, lda, i, j)) > most ? shs__wabs(*SHS__AT(A, lda, i, j)) : most;
    }
    *largest = most;
    return 1;
}

/* The power of two that brings a positive x to [1, 2), as far as it is a normal number; 1 for zero. Squares of
   elements then neither overflow nor underflow where it matters, and scaling rounds nothing. */
SHS__PRIVATE shs_wide shs__eigh_scale(shs_wide x) {
    shs_wide scale = 1, limit = 1 / (4 * SHS__WIDE_MIN);
    if (!(x > 0)) return 1;
    while (x * scale < 1 && scale < limit) scale *= 2;
    while (x * scale >= 2) scale /= 2;
    return scale;
}

/* Zeros, in the border too. */
SHS__PRIVATE void shs__eigh_clear(shs_wide *M, int ld, int columns) {
    memset(M, 0, (size_t)ld * ((size_t)columns + SHS__BORDER) * sizeof *M);
}

/* The scaled lower triangle with zeros above it, below it and behind it. */
SHS__PRIVATE void shs__eigh_copy(shs__eigh *w, const shs_wide *A, int lda) {
    int i, j;
    shs__eigh_clear(w->A, w->ld, w->n);
    for (j = 0; j < w->n; j++)
        for (i = j; i < w->n; i++) *SHS__AT(w->A, w->ld, i, j) = w->scale * *SHS__AT(A, lda, i, j);
}

/* Entry i of a vector at v[i step], into a column whose largest entry is positive. */
SHS__PRIVATE void shs__eigh_column(int n, const shs_wide *v, size_t step, shs_wide *column) {
    shs_wide largest = 0, sign = 1;
    int i;
    for (i = 0; i < n; i++) {
        shs_wide a = v[(size_t)i * step];
        if (shs__wabs(a) > largest) {
            largest = shs__wabs(a);
            sign = a < 0 ? (shs_wide)-1 : (shs_wide)1;
        }
    }
    for (i = 0; i < n; i++) column[i] = sign * v[(size_t)i * step];
}

/* The indices of the values in ascending (sign 1) or descending order (-1); equal ones keep theirs. */
SHS__PRIVATE void shs__eigh_sort(int n, const shs_wide *values, int sign, int *order) {
    int i, j;
    for (i = 0; i < n; i++) {
        shs_wide x = (shs_wide)sign * values[i];
        for (j = i; j > 0 && (shs_wide)sign * values[order[j - 1]] > x; j--) order[j] = order[j - 1];
        order[j] = i;
    }
}

/* ---- stage 1: to tridiagonal form ------------------------------------------------------------------ >>tridiagonal */

/* The reflection H = I - tau v v', v_0 = 1, that takes x (m values) to (beta, 0 .. 0)'; v overwrites x. beta has the
   sign that avoids cancellation in x_0 - beta. tau = 0 where there is nothing to do: what is dropped then is far
   below eps ||A||, and its square too small to be trusted for an orthogonal H. */
SHS__PRIVATE shs_wide shs__eigh_reflection(const shs__eigh_kernels *kernels, int m, shs_wide *x, shs_wide *beta) {
    shs_wide head = x[0], tail2 = kernels->dot(m - 1, x + 1, x + 1), norm;
    x[0] = 1;
    *beta = head;
    if (tail2 <= SHS__WIDE_MIN / SHS__WIDE_EPS) return 0;
    norm = SHS__WSQRT(head * head + tail2);
    *beta = head > 0 ? -norm : norm;
    kernels->combine(m - 1, 1 / (head - *beta), x + 1, 0, x + 1);
    return (*beta - head) / *beta;
}

/* Column i of the panel's triangular factor T, H_0 .. H_i = I - V T V':  T_ii = tau, T_li = -tau (T V'v_i)_l.
   t holds v_l'v_i at its odd places. */
SHS__PRIVATE void shs__eigh_panel_factor(int i, shs_wide tau, const shs_wide *t, shs_wide *T) {
    shs_wide *column = SHS__AT(T, SHS__REFLECTIONS, 0, i);
    int l, q;
    memset(column, 0, SHS__REFLECTIONS * sizeof *column);
    for (q = 0; q < i; q++)
        for (l = 0; l <= q; l++) column[l] -= tau * t[2 * q + 1] * *SHS__AT(T, SHS__REFLECTIONS, l, q);
    column[i] = tau;
}

/* One column: reflecting A from both sides by H = I - tau v v' is the rank-two update

       H A H = A - v w' - w v',   w = u - (tau/2)(u'v) v,   u = tau A v.

   Within a panel the updates are only noted: the matrix as it stands is A - P Q' with P = [v_0 w_0 v_1 w_1 ..] and
   Q = [w_0 v_0 w_1 v_1 ..]. So the column is brought up to date first, and A v is (stored A) v - P (Q'v). */
SHS__OUTLINE void shs__eigh_panel_column(shs__eigh *w, int first, int i) {
    int j = first + i, m = w->n - j, ld = w->ld, l;
    shs_wide *a = SHS__AT(w->A, ld, j, j), *P = w->P + j, *Q = w->Q + j, *v = a + 1, *u = w->y, *t = w->x, tau;
    size_t bytes = ((size_t)m - 1) * sizeof *v;
    if (i % 2 == 0) { /* columns are read by four */
        memset(SHS__AT(w->P, ld, 0, 2 * i), 0, 4 * (size_t)ld * sizeof *P);
        memset(SHS__AT(w->Q, ld, 0, 2 * i), 0, 4 * (size_t)ld * sizeof *Q);
    }
    for (l = 0; l < 2 * i + 2; l++) t[l] = *SHS__AT(Q, ld, 0, l);
    w->kernels->minus(m, 2 * i, P, ld, t, a);
    w->d[j] = a[0];
    w->e[j] = 0;
    if (m == 1) return;

    tau = shs__eigh_reflection(w->kernels, m - 1, v, &w->e[j]);
    w->kernels->dots(m - 1, 2 * i, Q + 1, ld, v, t);
    shs__eigh_panel_factor(i, tau, t, SHS__AT(w->T, SHS__REFLECTIONS, 0, first));
    memset(u, 0, (size_t)ld * sizeof *u);
    w->kernels->symv(m - 1, SHS__AT(w->A, ld, j + 1, j + 1), ld, v, u);
    w->kernels->minus(m - 1, 2 * i, P + 1, ld, t, u);
    w->kernels->combine(m - 1, tau, u, -tau * tau / 2 * w->kernels->dot(m - 1, u, v), v);

    memcpy(SHS__AT(P, ld, 1, 2 * i), v, bytes);
    memcpy(SHS__AT(P, ld, 1, 2 * i + 1), u, bytes);
    memcpy(SHS__AT(Q, ld, 1, 2 * i), u, bytes);
    memcpy(SHS__AT(Q, ld, 1, 2 * i + 1), v, bytes);
}

/* A -> d, e, with the reflections left below the diagonal of A. Half of the 4/3 n^3 operations are the products A v,
   the other half the updates A -= P Q' of what is right of a panel. */
SHS__OUTLINE void shs__eigh_tridiagonalize(shs__eigh *w) {
    int first, i, j, ld = w->ld;
    for (first = 0; first < w->n; first += SHS__REFLECTIONS) {
        int next = shs__imin(w->n, first + SHS__REFLECTIONS);
        for (i = 0; first + i < next; i++) shs__eigh_panel_column(w, first, i);
        for (j = next; j < w->n; j += 4) {
            shs__eigh_pack(2 * SHS__REFLECTIONS, 4, -1, shs__eigh_factor(w->Q + j, ld, 1), w->pack);
            w->kernels->stripes(w->n - j, 1, 2 * SHS__REFLECTIONS, w->P + j, ld, w->pack, SHS__AT(w->A, ld, j, j), ld);
        }
        /* Above its leading 1 a reflection is zero: then the panel is a plain matrix. */
        for (i = 0; first + i < next; i++)
            memset(SHS__AT(w->A, ld, first, first + i), 0, ((size_t)i + 1) * sizeof *w->A);
    }
}

/* ---- stage 2, small blocks: implicit QL --------------------------------------------------------------------- >>ql */

/* All eigenvalues of T lie within this distance of zero (Gershgorin). */
SHS__PRIVATE shs_wide shs__eigh_gershgorin(int n, const shs_wide *d, const shs_wide *e) {
    shs_wide radius = 0, before = 0;
    int i;
    for (i = 0; i < n; i++) {
        shs_wide r = shs__wabs(d[i]) + before + shs__wabs(e[i]); /* e ends in a zero */
        radius = r > radius ? r : radius;
        before = shs__wabs(e[i]);
    }
    return radius;
}

/* The end of the unreduced block of T that begins at l: an e that is lost in rounding splits T. Beside ||T|| that is,
   not beside its neighbours on the diagonal: what stage 1 leaves of a matrix of low rank is noise, worth no sweep. */
SHS__PRIVATE int shs__eigh_ql_end(int l, int n, const shs_wide *e, shs_wide least) {
    while (l < n - 1 && shs__wabs(e[l]) > least) l++;
    return l;
}

/* Wilkinson's shift: of the leading 2 x 2 block's eigenvalues the one nearer to d_0, d_0 - e^2 / (h + sign(h)
   sqrt(h^2 + e^2)) with h half the difference of the diagonal. */
SHS__PRIVATE shs_wide shs__eigh_ql_shift(const shs_wide *d, const shs_wide *e) {
    shs_wide h = (d[1] - d[0]) / 2, r = SHS__WSQRT(h * h + e[0] * e[0]);
    return d[0] - e[0] * (e[0] / (h < 0 ? h - r : h + r));
}

/* One sweep of implicit QL on rows l..m of T: the rotation that QL of T - shift I would begin with at the bottom
   leaves a bulge above the band; m - l further rotations chase it to the top. Rotation i acts on rows i, i+1; its
   cosine and sine are noted. */
SHS__PRIVATE void shs__eigh_ql_sweep(int l, int m, shs_wide *d, shs_wide *e, shs_wide *cosine, shs_wide *sine) {
    shs_wide g = d[m] - shs__eigh_ql_shift(d + l, e + l), c = 1, s = 1, p = 0;
    int i;
    for (i = m - 1; i >= l; i--) {
        shs_wide f = s * e[i], b = c * e[i], r = SHS__WSQRT(f * f + g * g), next;
        e[i + 1] = r;
        if (r > 0) {
            s = f / r;
            c = g / r;
        } else {
            s = 0;
            c = 1;
        }
        g = d[i + 1] - p;
        next = (d[i] - g) * s + 2 * c * b;
        p = s * next;
        d[i + 1] = g + p;
        g = c * next - b;
        cosine[i] = c;
        sine[i] = s;
    }
    d[l] -= p;
    e[l] = g;
    e[m] = 0;
}

/* The eigenvalues of the block from..to-1 of T, whose diagonal stands in values, into its place; with vectors, the
   same columns of S are multiplied by the block's eigenvectors. */
SHS__OUTLINE shs_status shs__eigh_ql(shs__eigh *w, int from, int to, int want_vectors) {
    shs_wide *d = w->values + from, *e = w->rest + from, least = SHS__WIDE_EPS * shs__eigh_gershgorin(w->n, w->d, w->e);
    int l, m, n = to - from;
    size_t left = 30 * (size_t)n;
    memcpy(e, w->e + from, (size_t)n * sizeof *e);
    e[n - 1] = 0;
    for (l = 0; l < n; l++)
        while ((m = shs__eigh_ql_end(l, n, e, least)) > l) {
            if (left-- == 0) return SHS_NO_CONVERGENCE;
            shs__eigh_ql_sweep(l, m, d, e, w->cosine, w->sine);
            if (want_vectors) w->kernels->rotate(n, l, m, w->cosine, w->sine, SHS__AT(w->S, w->ld, from, from), w->ld);
        }
    return SHS_OK;
}

/* ---- stage 2, all eigenpairs: divide and conquer -------------------------------------------------------- >>divide */

/* Cut T where beta couples its halves (Cuppen 1981). With v = (0 .. 0, 1, sign beta, 0 .. 0)',

       T = diag(T1, T2) + |beta| v v',   |beta| taken from the diagonal on both sides of the cut.

   When T1 = S1 D1 S1' and T2 = S2 D2 S2' are known, T is S (D + rho z z') S' with S = diag(S1, S2), D = diag(D1, D2),
   z = S'v / sqrt 2 (the last row of S1 and the first of S2) and rho = 2 |beta|. The eigenvalues of D + rho z z' are
   the roots of the secular equation, one to the right of each d_i,

       f(lambda) = 1 + rho sum z_i^2 / (d_i - lambda) = 0,

   its eigenvectors U have the entries z_i / (d_i - lambda_j), and S U is one matrix product. Where z_i vanishes or
   two d_i coincide a pair is found as it stands (deflation): real covariances deflate a lot. */
typedef struct shs__merge {
    int lo, top, n, k;        /* columns lo .. lo+n-1, of which the first `top` are T1's; k are left after deflation */
    shs_wide rho;
    shs_wide *d, *z, *q;      /* k, d ascending; q = rho z^2 */
    shs_wide *roots, *column; /* k, and n for passing use */
    int *order;               /* columns by ascending d; then those that stay, then the deflated ones from the end */
    int *row;                 /* where the k rows of U go: columns of T1 first, then mixed ones, then those of T2 */
    int *halves;              /* of each column: 1 = not zero on top, 2 = at the bottom, 3 = both */
    int above, below;         /* rows of U that meet the top half, and rows that do not meet the bottom half */
} shs__merge;

/* z, and the columns in ascending order of their values. */
SHS__PRIVATE void shs__eigh_merge_open(shs__eigh *w, shs__merge *m, int lo, int middle, int hi) {
    shs_wide beta = w->e[middle - 1], scale = SHS__WSQRT((shs_wide)2) / 2;
    int i;
    m->lo = lo;
    m->top = middle - lo;
    m->n = hi - lo;
    m->rho = 2 * shs__wabs(beta);
    for (i = 0; i < m->n; i++) {
        m->halves[i] = i < m->top ? 1 : 2;
        m->z[i] = scale * *SHS__AT(w->S, w->ld, i < m->top ? middle - 1 : middle, lo + i);
        if (i >= m->top && beta < 0) m->z[i] = -m->z[i];
    }
    shs__eigh_sort(m->n, w->values + lo, 1, m->order);
}

/* Rotates columns a and b so that z_a becomes zero; the values d_a and d_b are so close, or one part of z so small,
   that the element this makes between them is lost in rounding. */
SHS__PRIVATE void shs__eigh_merge_rotate(shs__eigh *w, shs__merge *m, int a, int b, shs_wide c, shs_wide s) {
    shs_wide *x = SHS__AT(w->S, w->ld, m->lo, m->lo + a), *y = SHS__AT(w->S, w->ld, m->lo, m->lo + b);
    shs_wide *values = w->values + m->lo, da = values[a], db = values[b];
    int i;
    for (i = 0; i < m->n; i++) {
        shs_wide xi = x[i], yi = y[i];
        x[i] = c * xi - s * yi;
        y[i] = s * xi + c * yi;
    }
    values[a] = c * c * da + s * s * db;
    values[b] = s * s * da + c * c * db;
    m->halves[a] = m->halves[b] = m->halves[a] | m->halves[b];
}

/* Sets k and sorts the columns into those that stay, in ascending order, and the deflated ones. */
SHS__OUTLINE void shs__eigh_merge_deflate(shs__eigh *w, shs__merge *m) {
    const shs_wide *values = w->values + m->lo;
    shs_wide largest = 0, least;
    int i, last = -1, end = m->n, *kept = m->row; /* in passing */
    for (i = 0; i < m->n; i++) {
        largest = shs__wabs(values[i]) > largest ? shs__wabs(values[i]) : largest;
        largest = shs__wabs(m->z[i]) > largest ? shs__wabs(m->z[i]) : largest;
    }
    least = 8 * SHS__WIDE_EPS * largest;
    m->k = 0;
    for (i = 0; i < m->n; i++) {
        int at = m->order[i];
        if (m->rho * shs__wabs(m->z[at]) <= least) {
            kept[--end] = at;
            continue;
        }
        if (last >= 0) {
            shs_wide r = SHS__WSQRT(m->z[at] * m->z[at] + m->z[last] * m->z[last]);
            shs_wide c = m->z[at] / r, s = m->z[last] / r;
            if (shs__wabs((values[at] - values[last]) * c * s) <= least) {
                shs__eigh_merge_rotate(w, m, last, at, c, s);
                m->z[at] = r;
                kept[--end] = last;
            } else kept[m->k++] = last;
        }
        last = at;
    }
    if (last >= 0) kept[m->k++] = last;
    memcpy(m->order, kept, (size_t)m->n * sizeof *kept);
}

/* The columns of the block in their new order into X, top and bottom halves each padded with zeros; d, z, q alike. */
SHS__PRIVATE void shs__eigh_merge_gather(shs__eigh *w, shs__merge *m) {
    int i, bottom = shs__la_round_up(m->top, SHS__WALIGN), kind, at = 0;
    static const int kinds[3] = {1, 3, 2};
    m->above = m->below = 0;
    for (kind = 0; kind < 3; kind++)
        for (i = 0; i < m->k; i++)
            if (m->halves[m->order[i]] == kinds[kind]) {
                m->row[i] = at++;
                m->above += kinds[kind] != 2;
                m->below += kinds[kind] == 1;
            }
    for (i = 0; i < m->n; i++) {
        int from = m->order[i];
        const shs_wide *column = SHS__AT(w->S, w->ld, m->lo, m->lo + from);
        shs_wide *to = SHS__AT(w->X, w->ld, 0, i < m->k ? m->row[i] : i);
        memset(to, 0, (size_t)w->ld * sizeof *to);
        memcpy(to, column, (size_t)m->top * sizeof *to);
        memcpy(to + bottom, column + m->top, (size_t)(m->n - m->top) * sizeof *to);
        m->column[i] = m->z[from];
        m->d[i] = w->values[m->lo + from];
    }
    for (i = 0; i < m->k; i++) {
        m->z[i] = m->column[i];
        m->q[i] = m->rho * m->z[i] * m->z[i];
    }
}

/* One step towards the root: near it f behaves as c + s / (d_j - lambda) + S / (d_j+1 - lambda), where c, s, S match
   the values and slopes of the sums over the poles on the left, psi, and on the right, phi (Bunch, Nielsen, Sorensen
   1978). left and right are the distances of the two poles; there is none on the right of the last root (right = 0). */
SHS__PRIVATE shs_wide shs__eigh_secular_step(shs_wide left, shs_wide right, shs_wide psi, shs_wide dpsi, shs_wide phi,
                                             shs_wide dphi) {
    shs_wide f = 1 + psi + phi, c = f - left * dpsi - right * dphi, a, b, r;
    if (right <= 0) return left + left * left * dpsi / c;
    a = (left + right) * f - left * right * (dpsi + dphi);
    b = left * right * f;
    r = a * a - 4 * b * c;
    r = r > 0 ? SHS__WSQRT(r) : 0;
    return a <= 0 ? (a - r) / (2 * c) : 2 * b / (a + r);
}

/* The distances of all poles from one. Stored, and in a function apart: -ffast-math must not merge this subtraction
   with the next one, which the smallest distances would not survive. */
SHS__OUTLINE void shs__eigh_secular_origin(const shs__merge *m, int origin) {
    int i;
    for (i = 0; i < m->k; i++) m->column[i] = m->d[i] - m->d[origin];
}

/* Root j of the secular equation; delta (k) gets the d_i - lambda to full relative accuracy: distances are counted
   from the pole that is nearer to the root. A step that leaves the bracket is replaced by bisection. */
SHS__OUTLINE shs_wide shs__eigh_secular_root(const shs__eigh_kernels *kernels, const shs__merge *m, int j, shs_wide *delta) {
    int k = m->k, last = j == k - 1, origin = j, step, i;
    shs_wide lo = 0, hi, x, psi, phi, dpsi, dphi, f;
    if (last)
        for (i = 0, hi = 0; i < k; i++) hi += m->q[i];
    else hi = m->d[j + 1] - m->d[j];
    x = hi / 2;
    shs__eigh_secular_origin(m, origin);
    for (step = 0; step < 100; step++) {
        for (i = 0; i < k; i++) delta[i] = m->column[i] - x;
        psi = kernels->secular_sum(0, j + 1, m->q, delta, &dpsi);
        phi = kernels->secular_sum(j + 1, k, m->q, delta, &dphi);
        f = 1 + psi + phi;
        if (shs__wabs(f) <= SHS__WIDE_EPS * (8 * (phi - psi) + 1 + shs__wabs(x) * (dpsi + dphi))) break;
        if (f < 0) lo = x;
        else hi = x;
        if (step == 0 && f < 0 && !last) {
            origin = j + 1;
            shs__eigh_secular_origin(m, origin);
            x = lo = x - hi;
            hi = 0;
        }
        f = x + shs__eigh_secular_step(delta[j], last ? 0 : delta[j + 1], psi, dpsi, phi, dphi);
        if (!(f > lo && f < hi)) f = lo + (hi - lo) / 2;
        if (!(f > lo && f < hi)) break;
        x = f;
    }
    return m->d[origin] + x;
}

/* The roots and, normalised, the eigenvectors of D + rho z z' into U. Roots are not exact, but they are the exact
   roots for a z nearby (Loewner),

       z_i^2 = prod_j (lambda_j - d_i) / prod_j!=i (d_j - d_i)   up to a common factor,

   and with that one the vectors are orthogonal however close the roots lie (Gu, Eisenstat 1994). */
SHS__OUTLINE void shs__eigh_merge_solve(shs__eigh *w, shs__merge *m) {
    shs_wide *z2 = m->column, sum;
    int i, j, k = m->k, ld = w->ld;
    for (j = 0; j < k; j++) m->roots[j] = shs__eigh_secular_root(w->kernels, m, j, SHS__AT(w->U, ld, 0, j));
    for (i = 0; i < k; i++) z2[i] = -*SHS__AT(w->U, ld, i, i);
    for (j = 0; j < k; j++) {
        const shs_wide *delta = SHS__AT(w->U, ld, 0, j), d = m->d[j];
        for (i = 0; i < j; i++) z2[i] *= delta[i] / (m->d[i] - d);
        for (i = j + 1; i < k; i++) z2[i] *= delta[i] / (m->d[i] - d);
    }
    for (i = 0; i < k; i++) m->z[i] = m->z[i] < 0 ? -SHS__WSQRT(z2[i]) : SHS__WSQRT(z2[i]);
    for (j = 0; j < k; j++) {
        shs_wide *u = SHS__AT(w->U, ld, 0, j);
        for (i = 0, sum = 0; i < k; i++) {
            m->column[i] = m->z[i] / u[i];
            sum += m->column[i] * m->column[i];
        }
        sum = 1 / SHS__WSQRT(sum);
        for (i = 0; i < k; i++) u[m->row[i]] = sum * m->column[i];
    }
}

/* The block's columns of S become S U, then the deflated ones. Columns of S1 meet only the rows above, those of S2
   only the rows below. */
SHS__PRIVATE void shs__eigh_merge_close(shs__eigh *w, shs__merge *m) {
    int j, ld = w->ld, bottom = shs__la_round_up(m->top, SHS__WALIGN);
    shs_wide *S = SHS__AT(w->S, ld, m->lo, m->lo);
    for (j = 0; j < m->n; j++) memset(SHS__AT(S, ld, 0, j), 0, (size_t)m->n * sizeof *S);
    shs__eigh_product(w->kernels, m->top, m->k, m->above, 1, w->X, ld, shs__eigh_factor(w->U, 1, ld), S, ld, w->pack);
    shs__eigh_product(w->kernels, m->n - m->top, m->k, m->k - m->below, 1, SHS__AT(w->X, ld, bottom, m->below), ld,
                      shs__eigh_factor(w->U + m->below, 1, ld), S + m->top, ld, w->pack);
    for (j = 0; j < m->k; j++) w->values[m->lo + j] = m->roots[j];
    for (; j < m->n; j++) {
        memcpy(SHS__AT(S, ld, 0, j), SHS__AT(w->X, ld, 0, j), (size_t)m->top * sizeof *S);
        memcpy(SHS__AT(S, ld, m->top, j), SHS__AT(w->X, ld, bottom, j), (size_t)(m->n - m->top) * sizeof *S);
        w->values[m->lo + j] = m->d[j];
    }
}

/* Eigenvalues of T into values, eigenvectors into S. QL solves the leaves; their bounds are n i / leaves. */
SHS__OUTLINE shs_status shs__eigh_conquer(shs__eigh *w) {
    size_t n = (size_t)w->n, ld = (size_t)w->ld, leaves = 1, i;
    shs__merge m = SHS_ZERO;
    shs_status status = SHS_OK;
    m.d = w->merge, m.z = m.d + ld, m.q = m.z + ld, m.roots = m.q + ld, m.column = m.roots + ld;
    m.order = w->order, m.row = m.order + n, m.halves = m.row + n;
    while (n > SHS__LEAF * leaves) leaves *= 2;
    shs__eigh_clear(w->S, w->ld, w->n);
    for (i = 0; i < n; i++) *SHS__AT(w->S, w->ld, i, i) = 1;
    for (i = 1; i < leaves; i++) {
        size_t cut = n * i / leaves;
        w->values[cut - 1] -= shs__wabs(w->e[cut - 1]);
        w->values[cut] -= shs__wabs(w->e[cut - 1]);
    }
    for (i = 0; i < leaves && status == SHS_OK; i++)
        status = shs__eigh_ql(w, (int)(n * i / leaves), (int)(n * (i + 1) / leaves), 1);
    for (; leaves > 1 && status == SHS_OK; leaves /= 2)
        for (i = 0; i < leaves; i += 2) {
            shs__eigh_merge_open(w, &m, (int)(n * i / leaves), (int)(n * (i + 1) / leaves), (int)(n * (i + 2) / leaves));
            shs__eigh_merge_deflate(w, &m);
            shs__eigh_merge_gather(w, &m);
            shs__eigh_merge_solve(w, &m);
            shs__eigh_merge_close(w, &m);
        }
    return status;
}

/* ---- stage 2, few eigenpairs: bisection and twisted factorisations ------------------------------------ >>bisection */

/* How many eigenvalues of T lie below each of the shifts (Sturm): the negative pivots of T - x I = L D L'. The
   divisions of one shift wait for each other, those of different shifts do not. */
SHS__OUTLINE void shs__eigh_sturm(int n, const shs_wide *d, const shs_wide *e2, shs_wide least, const shs_wide *shift,
                                  shs_wide *count) {
    shs_wide pivot[SHS__SHIFTS], x[SHS__SHIFTS], below[SHS__SHIFTS]; /* copies of one's own can stay in registers */
    int i, q;
    for (q = 0; q < SHS__SHIFTS; q++) {
        pivot[q] = 1;
        x[q] = shift[q];
        below[q] = 0;
    }
    for (i = 0; i < n; i++) {
        shs_wide di = d[i], ei = e2[i];
        for (q = 0; q < SHS__SHIFTS; q++) {
            shs_wide p = di - x[q] - ei / pivot[q];
            p = shs__wabs(p) < least ? -least : p;
            below[q] += p < 0 ? (shs_wide)1 : (shs_wide)0;
            pivot[q] = p;
        }
    }
    for (q = 0; q < SHS__SHIFTS; q++) count[q] = below[q];
}

/* The k largest eigenvalues of T into values, descending, to the last bit of the largest. */
SHS__OUTLINE void shs__eigh_bisect(shs__eigh *w, int k) {
    shs_wide *lo = w->pack, *hi = lo + SHS__SHIFTS, *x = hi + SHS__SHIFTS, *count = x + SHS__SHIFTS, *e2 = w->x;
    shs_wide most = 1, radius = shs__eigh_gershgorin(w->n, w->d, w->e);
    int first, q, step;
    e2[0] = 0;
    for (q = 1; q < w->n; q++) {
        e2[q] = w->e[q - 1] * w->e[q - 1];
        most = e2[q] > most ? e2[q] : most;
    }
    for (first = 0; first < k; first += SHS__SHIFTS) {
        for (q = 0; q < SHS__SHIFTS; q++) {
            hi[q] = radius;
            lo[q] = -radius;
        }
        for (step = 0; step < SHS__WBITS + 4; step++) {
            for (q = 0; q < SHS__SHIFTS; q++) x[q] = (lo[q] + hi[q]) / 2;
            shs__eigh_sturm(w->n, w->d, e2, SHS__WIDE_MIN * most, x, count);
            for (q = 0; q < SHS__SHIFTS; q++) {
                int above = count[q] <= (shs_wide)(w->n - 1 - first - q); /* too few are below x: it is above */
                lo[q] = above ? x[q] : lo[q];
                hi[q] = above ? hi[q] : x[q];
            }
        }
        for (q = 0; q < SHS__SHIFTS && first + q < k; q++) w->values[first + q] = (lo[q] + hi[q]) / 2;
    }
}

/* ||T y - lambda y||^2 */
SHS__PRIVATE shs_wide shs__eigh_residual2(int n, const shs_wide *d, const shs_wide *e, shs_wide lambda, const shs_wide *y) {
    shs_wide sum = 0;
    int i;
    for (i = 0; i < n; i++) {
        shs_wide r = (d[i] - lambda) * y[i] + e[i] * y[i + 1] + (i > 0 ? e[i - 1] * y[i - 1] : 0);
        sum += r * r;
    }
    return sum;
}

/* Eigenvector j of T from a twisted factorisation (Parlett, Dhillon 1997). Elimination in T - lambda I from the top leaves the
   pivots `down`, from the bottom `up`. With y_r = 1 the rows above r follow from those and the rows below from these: then all
   equations hold but the one of row r, which is off by down_r + up_r - (d_r - lambda), and r is where that is smallest. After
   that y is made orthogonal to the vectors before it, to all of them: that needs no notion of a cluster and costs k^2 n in all.
   False where eigenvalues crowd: y lies in the span of those vectors, or so near it that rounding is left as a residual. */
SHS__OUTLINE int shs__eigh_twisted(shs__eigh *w, int j, shs_wide norm) {
    const shs_wide *d = w->d, *e = w->e, lambda = w->values[j], enough = norm * SHS__WIDE_EPS * (shs_wide)w->n;
    shs_wide *y = SHS__AT(w->S, w->ld, 0, j), *down = w->merge, *up = down + w->ld;
    shs_wide tiny = SHS__WIDE_EPS * SHS__WIDE_EPS, smallest = 0, off, before = 0, norm2;
    int n = w->n, r = n - 1, i, pass;
    for (i = 0; i < n; before = e[i] * e[i] / down[i], i++) {
        down[i] = d[i] - lambda - before;
        if (shs__wabs(down[i]) < tiny * norm) down[i] = tiny * norm;
    }
    for (i = n - 1, before = 0; i >= 0; i--) {
        up[i] = d[i] - lambda - before;
        if (shs__wabs(up[i]) < tiny * norm) up[i] = tiny * norm;
        off = shs__wabs(down[i] - before);
        if (i == n - 1 || off < smallest) smallest = off, r = i;
        before = i > 0 ? e[i - 1] * e[i - 1] / up[i] : 0;
    }
    y[r] = 1; /* the rest is zero, and stays so beyond what counts: subnormal numbers are slow */
    for (i = r - 1; i >= 0 && shs__wabs(y[i + 1]) > tiny; i--) y[i] = -e[i] * y[i + 1] / down[i];
    for (i = r + 1; i < n && shs__wabs(y[i - 1]) > tiny; i++) y[i] = -e[i - 1] * y[i - 1] / up[i];
    for (pass = 0; pass < 3; pass++) { /* the first gives y its length */
        memset(w->x, 0, (size_t)w->ld * sizeof *w->x);
        if (pass > 0) w->kernels->dots(n, j, w->S, w->ld, y, w->x);
        memset(w->x + j, 0, 4 * sizeof *w->x); /* y itself may be among the last four */
        w->kernels->minus(n, j, w->S, w->ld, w->x, y);
        norm2 = w->kernels->dot(n, y, y);
        if (!(norm2 > SHS__WIDE_EPS)) return 0;
        w->kernels->combine(n, 1 / SHS__WSQRT(norm2), y, 0, y);
    }
    return shs__eigh_residual2(n, d, e, lambda, y) <= enough * enough;
}

/* The k largest eigenvalues, and their vectors into S; false where one of these failed. */
SHS__PRIVATE int shs__eigh_solve_few(shs__eigh *w, int k, int want_vectors) {
    shs_wide norm = shs__eigh_gershgorin(w->n, w->d, w->e);
    int j;
    shs__eigh_bisect(w, k);
    if (!want_vectors) return 1;
    shs__eigh_clear(w->S, w->ld, k);
    for (j = 0; j < k; j++)
        if (!shs__eigh_twisted(w, j, norm > 0 ? norm : 1)) return 0;
    return 1;
}

/* ---- stage 3: back ---------------------------------------------------------------------------------- >>eigen_back */

/* V = Q S for k columns of S, in the order given. They become the rows of X, so that the kernels run along many of
   them: for the reflections H_0 H_1 .. = I - V T V' of one panel,

       X' -= (X' V) T' V',

   the last panel first. */
SHS__OUTLINE void shs__eigh_reflect(shs__eigh *w, int rows) {
    int first, i, j, ld = w->ld;
    shs__eigh_clear(w->X, ld, w->n);
    for (j = 0; j < rows; j++)
        for (i = 0; i < w->n; i++) *SHS__AT(w->X, ld, j, i) = *SHS__AT(w->S, ld, i, w->order[j]);
    for (first = (w->n - 1) / SHS__REFLECTIONS * SHS__REFLECTIONS; first >= 0; first -= SHS__REFLECTIONS) {
        int m = w->n - 1 - first, k = shs__imin(SHS__REFLECTIONS, m);
        const shs_wide *V = SHS__AT(w->A, ld, first + 1, first);
        shs_wide *X = SHS__AT(w->X, ld, 0, first + 1);
        shs__wfactor t = shs__eigh_factor(SHS__AT(w->T, SHS__REFLECTIONS, 0, first), SHS__REFLECTIONS, 1);
        memset(w->P, 0, (size_t)ld * SHS__REFLECTIONS * sizeof *w->P);
        memset(w->Q, 0, (size_t)ld * SHS__REFLECTIONS * sizeof *w->Q);
        shs__eigh_product(w->kernels, rows, k, m, 1, X, ld, shs__eigh_factor(V, 1, ld), w->P, ld, w->pack);
        shs__eigh_product(w->kernels, rows, k, k, -1, w->P, ld, t, w->Q, ld, w->pack);
        shs__eigh_product(w->kernels, rows, m, k, 1, w->Q, ld, shs__eigh_factor(V, ld, 1), X, ld, w->pack);
    }
}

/* ---- the driver ----------------------------------------------------------------------------------- >>eigen_driver */

SHS__PUBLIC size_t shs_eigh_workspace(const shs_context *ctx, int n, int k) {
    shs__layout l = SHS_ZERO;
    shs__eigh w = SHS_ZERO;
    (void)ctx;
    if (n < 1 || k < 1 || k > n) return SIZE_MAX;
    shs__eigh_layout(&l, n, 1, &w);
    return shs__layout_query(&l);
}

/* Stages 1 to 3 and the results, scaled back. Where few pairs fail, all are computed. */
SHS__PRIVATE shs_status shs__eigh_solve(shs__eigh *w, int k, shs_wide *values, shs_wide *vectors, int ldv) {
    shs_status status = SHS_OK;
    int few, j;
    shs__eigh_tridiagonalize(w);
    few = shs__eigh_few_faster(w->n, k) && shs__eigh_solve_few(w, k, vectors != NULL);
    if (!few) {
        memcpy(w->values, w->d, (size_t)w->n * sizeof *w->d);
        status = vectors ? shs__eigh_conquer(w) : shs__eigh_ql(w, 0, w->n, 0);
    }
    if (status != SHS_OK) return status;
    shs__eigh_sort(few ? k : w->n, w->values, -1, w->order);
    if (vectors) shs__eigh_reflect(w, k);
    for (j = 0; j < k; j++) {
        values[j] = w->values[w->order[j]] / w->scale;
        if (vectors) shs__eigh_column(w->n, w->X + j, (size_t)w->ld, SHS__AT(vectors, ldv, 0, j));
    }
    return SHS_OK;
}

/* The fast form of shs_eigh_naive. */
SHS__PUBLIC shs_status shs_eigh(const shs_context *ctx, int n, const shs_wide *A, int lda, int k, shs_wide *values,
                                shs_wide *vectors, int ldv) {
    shs__layout l = SHS_ZERO;
    shs__eigh w = SHS_ZERO;
    shs_wide largest;
    shs_status status = shs__ctx_check(ctx);
    if (status != SHS_OK) return status;
    if (n < 1) return SHS_BAD_N;
    if (!A) return SHS_BAD_A;
    if (lda < n) return SHS_BAD_LDA;
    if (k < 1 || k > n) return SHS_BAD_K;
    if (!values) return SHS_BAD_OUTPUT;
    if (vectors && ldv < n) return SHS_BAD_LDV;
    if (!shs__eigh_largest(n, A, lda, &largest)) return SHS_NOT_FINITE;
    while (shs__layout_next(ctx, &l, &status)) shs__eigh_layout(&l, n, vectors != NULL, &w);
    if (status != SHS_OK) return status;
    w.scale = shs__eigh_scale(largest);
    shs__eigh_copy(&w, A, lda);
    status = shs__eigh_solve(&w, k, values, vectors, ldv);
    shs__layout_release(ctx, &l);
    return status;
}

/* ---- the naive twin -------------------------------------------------------------------------------- >>eigen_naive */

SHS__PRIVATE void shs__eigh_rotate_naive(shs_wide *x, shs_wide *y, shs_wide cosine, shs_wide sine) {
    shs_wide before = *x;
    *x = cosine * before - sine * *y;
    *y = sine * before + cosine * *y;
}

/* With t = tan(angle) the smaller root of t^2 + t (a_qq - a_pp) / a_pq - 1 = 0 a rotation of rows and columns p and q makes
   a_pq vanish. Sweeps over all elements beside the diagonal go on until none is left to rotate; the rotations gather in V. */
SHS__PUBLIC void shs_eigh_naive(int n, shs_wide *A, shs_wide *values, shs_wide *V) {
    shs_wide least = 0;
    ptrdiff_t i, p, q, sweep, rotated = 1;
    for (i = 0; i < (ptrdiff_t)n * n; i++) V[i] = i % (n + 1) == 0, least = shs__wabs(A[i]) > least ? shs__wabs(A[i]) : least;
    least *= SHS__WIDE_EPS / (shs_wide)n;
    for (sweep = 0; sweep < 60 && rotated; sweep++)
        for (rotated = 0, q = 1; q < n; q++)
            for (p = 0; p < q; p++) {
                shs_wide a = A[p + q * n], h = (A[q + q * n] - A[p + p * n]) / 2, root = SHS__WSQRT(h * h + a * a), t, c;
                if (!(shs__wabs(a) > least)) continue;
                t = h < 0 ? a / (h - root) : a / (h + root);
                c = 1 / SHS__WSQRT(1 + t * t);
                for (i = 0; i < n; i++) shs__eigh_rotate_naive(A + i + p * n, A + i + q * n, c, t * c);
                for (i = 0; i < n; i++) shs__eigh_rotate_naive(A + p + i * n, A + q + i * n, c, t * c);
                for (i = 0; i < n; i++) shs__eigh_rotate_naive(V + i + p * n, V + i + q * n, c, t * c);
                A[p + q * n] = A[q + p * n] = 0;
                rotated = 1;
            }
    for (q = 0; q < n; q++) values[q] = A[q + q * n];
    for (q = 0; q < n; q++) /* exchanges are rotations by a right angle */
        for (p = q + 1; p < n; p++)
            if (values[p] > values[q]) {
                shs_wide larger = values[p];
                values[p] = values[q], values[q] = larger;
                for (i = 0; i < n; i++) shs__eigh_rotate_naive(V + i + q * n, V + i + p * n, 0, -1);
            }
}

#endif /* SHS__ALL_PARTS */

#if defined(SHS__SPARSE) || defined(SPARSEHS_ONLY_CODING)
/* ================================================================================================================== */
/* 6  SPARSE CODING                                                                                             >>omp */
/* ================================================================================================================== */

/* Batch-OMP. In this order: codes and products with them; the pursuit of one signal, a state machine of five steps; the
   scratch of signals that one worker codes together, and such a group without a Gram matrix; the coder, which shares many
   signals out; the public forms; the way to the engine; one signal at a time in the caller's memory; the naive twin. It
   calls sections 2 and 4 and the kernels. Sections 7 and 8 call the coder (shs__coder_...), the synthesis and the checks of
   dictionaries, codes and options; nothing else here is for others. */

SHS__OUTLINE shs_status shs__omp_check_dictionary(int p, int n, const shs_real *D, int ldd) {
    if (p < 1) return SHS_BAD_P;
    if (n < 1) return SHS_BAD_N;
    if (!D) return SHS_BAD_DICTIONARY;
    if (ldd < p) return SHS_BAD_LDD;
    return SHS_OK;
}

SHS__PRIVATE int shs__tolerance_ok(shs_real t) { return shs__finite(1, &t) && t >= 0; }

/* Whether signals are of nonnegative coefficients, and whether of weights. Where single signals are all there is, the answer is
   known to the compiler, and code that nothing asks for is not linked. */
#if defined(SPARSEHS_ONLY_CODING) && !defined(SPARSEHS_NONNEGATIVE)
#define SHS__OMP_NO_NONNEGATIVE
#define SHS__OMP_IF_NONNEGATIVE(asked) 0
#else
#define SHS__OMP_IF_NONNEGATIVE(asked) (asked)
#endif
#ifndef SPARSEHS_ONLY_CODING
#define SHS__OMP_IF_WEIGHTED(asked) (asked)
#else
#define SHS__OMP_IF_WEIGHTED(asked) 0
#endif

/* Whether values are missing, or weighted. */
SHS__PRIVATE int shs__omp_weighted(const shs_omp_options *o) { return o->mask || o->weights || o->skip_nan; }

/* Whether signals share their atoms. */
SHS__PRIVATE int shs__omp_grouped(const shs_omp_options *o) { return o->groups || o->group_count > 0; }

/* What of the options all forms read. */
SHS__PRIVATE shs_status shs__omp_check_choice(const shs_omp_options *o) {
    if (!SHS__ZEROED(o)) return SHS_BAD_OPTIONS;
    if (o->sparsity < 0) return SHS_BAD_SPARSITY;
    if (!shs__tolerance_ok(o->tolerance)) return SHS_BAD_TOLERANCE;
    if (o->nonnegative && (o->selection != SHS_SELECT_OMP || shs__omp_weighted(o))) return SHS_BAD_OPTIONS;
    if (shs__omp_grouped(o) && (o->nonnegative || shs__omp_weighted(o))) return SHS_BAD_OPTIONS;
#ifdef SHS__OMP_NO_NONNEGATIVE
    if (o->nonnegative) return SHS_UNSUPPORTED;
#endif
    return (unsigned)o->selection < SHS_SELECTION_COUNT ? SHS_OK : SHS_BAD_OPTIONS;
}

#ifdef SHS__ALL_PARTS
SHS__OUTLINE shs_status shs__omp_check_signals(const shs_context *ctx, int p, int n, const shs_real *D, int ldd, size_t m,
                                               const shs_real *Y, int ldy) {
    shs_status status = shs__ctx_check(ctx);
    if (status == SHS_OK) status = shs__omp_check_dictionary(p, n, D, ldd);
    if (status != SHS_OK) return status;
    if (!Y && m) return SHS_BAD_SIGNALS;
    return ldy < p ? SHS_BAD_LDY : SHS_OK;
}

/* Likewise for D'Y. */
SHS__PRIVATE shs_status shs__omp_check_correlations(const shs_context *ctx, int n, size_t m, const shs_real *dty, int ldt) {
    shs_status status = shs__ctx_check(ctx);
    if (status == SHS_OK && n < 1) status = SHS_BAD_N;
    return status == SHS_OK && ((!dty && m) || ldt < n) ? SHS_BAD_CORRELATIONS : status;
}

/* ---- codes ----------------------------------------------------------------------------------------------- >>codes */

/* Whether there are arrays for m signals. */
SHS__PRIVATE int shs__codes_ok(const shs_codes *c, size_t m) {
    return c && c->stride > 0 && c->used && c->atoms && c->coefs && c->m >= m;
}

SHS__PRIVATE void shs__codes_layout(shs__layout *l, shs_codes *codes, size_t m, int stride) {
    size_t cells = shs__layout_product(m, (size_t)stride, 1);
    codes->m = m;
    codes->stride = stride;
    codes->used = SHS__CARVE(l, int, m);
    codes->atoms = SHS__CARVE(l, int, cells);
    codes->coefs = SHS__CARVE(l, shs_real, cells);
}

SHS__PUBLIC shs_status shs_codes_create(const shs_context *ctx, size_t m, int stride, shs_codes *codes) {
    shs_codes made = SHS_ZERO;
    shs__layout l = SHS_ZERO;
    shs_status status = shs__ctx_check(ctx);
    if (status != SHS_OK) return status;
    if (m < 1) return SHS_BAD_M;
    if (stride < 1) return SHS_BAD_STRIDE;
    if (!codes) return SHS_BAD_CODES;
    while (shs__layout_next(ctx, &l, &status)) shs__codes_layout(&l, &made, m, stride);
    if (status != SHS_OK) return status;
    SHS__UNPOISON(l.base, l.size);
    memset(l.base, 0, l.size);
    made.block = l.block;
    *codes = made;
    return SHS_OK;
}

SHS__PUBLIC void shs_codes_free(const shs_context *ctx, shs_codes *codes) {
    if (!codes) return;
    shs__ctx_free(ctx, codes->block);
    memset(codes, 0, sizeof *codes);
}

SHS__PUBLIC size_t shs_codes_nonzeros(const shs_codes *codes) {
    size_t i, total = 0;
    if (!codes || !codes->used) return 0;
    for (i = 0; i < codes->m; i++) total += (size_t)codes->used[i];
    return total;
}

SHS__PUBLIC shs_status shs_codes_to_csc(const shs_codes *codes, size_t *column_start, int *row, shs_real *value) {
    size_t i, at = 0;
    if (!shs__codes_ok(codes, 0)) return SHS_BAD_CODES;
    if (!column_start || !row || !value) return SHS_BAD_OUTPUT;
    for (i = 0; i < codes->m; i++) {
        size_t begin = at;
        int k;
        column_start[i] = at;
        for (k = 0; k < codes->used[i]; k++) { /* insertion keeps the few rows of a column in order */
            int atom = codes->atoms[i * (size_t)codes->stride + (size_t)k];
            size_t place = at++;
            for (; place > begin && row[place - 1] > atom; place--) {
                row[place] = row[place - 1];
                value[place] = value[place - 1];
            }
            row[place] = atom;
            value[place] = codes->coefs[i * (size_t)codes->stride + (size_t)k];
        }
    }
    column_start[codes->m] = at;
    return SHS_OK;
}

enum {
    SHS__SIGNALS_A_CHUNK = 512, /* signals a chunk where a signal costs little: 128 KB of 64 floats, half an L2 */
    SHS__COLUMNS_AT_ONCE = 32   /* columns whose addresses are gathered before they are combined */
};

typedef struct shs__synthesis {
    int p, ldd, ldy, ldz;
    const shs_real *D, *Y; /* Y NULL: Z = DX, else Z = Y - DX */
    const shs_codes *codes;
    size_t count;      /* the first signals of the codes */
    shs_real *Z;       /* NULL: only the sums are wanted */
    shs_real *columns; /* p a worker, where Z is NULL */
    shs_wide *sums;    /* one a chunk, or NULL */
} shs__synthesis;

/* Signals i .. end-1; the sum of their squares, where sums are wanted. */
SHS__OUTLINE shs_wide shs__synthesize(const shs__synthesis *w, size_t i, size_t end, int worker) {
    const shs__vector_kernels *kernels = shs__kernels_vector();
    const shs_real *columns[SHS__COLUMNS_AT_ONCE];
    shs_real factors[SHS__COLUMNS_AT_ONCE];
    const shs_codes *codes = w->codes;
    shs__sum sum = SHS_ZERO;
    for (; i < end; i++) {
        shs_real *z = w->Z ? SHS__AT(w->Z, w->ldz, 0, i) : w->columns + (size_t)worker * (size_t)w->p;
        size_t at = i * (size_t)codes->stride;
        int k, q, count;
        if (!w->Y) memset(z, 0, (size_t)w->p * sizeof(shs_real));
        else if (z != SHS__AT(w->Y, w->ldy, 0, i)) memcpy(z, SHS__AT(w->Y, w->ldy, 0, i), (size_t)w->p * sizeof(shs_real));
        for (k = 0; k < codes->used[i]; k += count) {
            count = shs__imin(codes->used[i] - k, SHS__COLUMNS_AT_ONCE);
            for (q = 0; q < count; q++) {
                columns[q] = SHS__AT(w->D, w->ldd, 0, codes->atoms[at + (size_t)(k + q)]);
                factors[q] = w->Y ? -codes->coefs[at + (size_t)(k + q)] : codes->coefs[at + (size_t)(k + q)];
            }
            kernels->combine(w->p, count, columns, factors, z);
        }
        if (w->sums) shs__sum_add(&sum, kernels->norm2(w->p, z));
    }
    return shs__sum_value(&sum);
}

SHS__PRIVATE void shs__synthesis_chunk(void *arg, size_t chunk, int worker) {
    const shs__synthesis *w = (const shs__synthesis *)arg;
    size_t i = chunk * SHS__SIGNALS_A_CHUNK;
    shs_wide sum = shs__synthesize(w, i, shs__zmin(w->count, i + SHS__SIGNALS_A_CHUNK), worker);
    if (w->sums) w->sums[chunk] = sum;
}

/* Runs a synthesis whose memory is in place and adds the chunks' sums in order. */
SHS__PRIVATE shs_wide shs__synthesis_run(const shs_context *ctx, shs__synthesis *w) {
    size_t chunks = shs__ctx_chunks(w->count, SHS__SIGNALS_A_CHUNK), c;
    shs__sum total = SHS_ZERO;
    shs__ctx_parallel(ctx, 2 * (shs_wide)w->count * (shs_wide)w->p, chunks, shs__synthesis_chunk, w);
    for (c = 0; w->sums && c < chunks; c++) shs__sum_add(&total, w->sums[c]);
    return shs__sum_value(&total);
}

/* Whether one of the first codes names an atom that D does not have. */
SHS__PRIVATE int shs__codes_outside(const shs_codes *codes, size_t count, int n) {
    size_t i;
    for (i = 0; i < count; i++) {
        int k;
        if (codes->used[i] < 0 || codes->used[i] > codes->stride) return 1;
        for (k = 0; k < codes->used[i]; k++) {
            int atom = codes->atoms[i * (size_t)codes->stride + (size_t)k];
            if (atom < 0 || atom >= n) return 1;
        }
    }
    return 0;
}

SHS__PUBLIC shs_status shs_codes_synthesize(const shs_context *ctx, int p, int n, const shs_real *D, int ldd,
                                            const shs_codes *codes, size_t first, size_t count, shs_real *Z, int ldz) {
    shs__synthesis w = SHS_ZERO;
    shs_codes range;
    shs_status status = shs__ctx_check(ctx);
    if (status == SHS_OK) status = shs__omp_check_dictionary(p, n, D, ldd);
    if (status != SHS_OK) return status;
    if (!shs__codes_ok(codes, first) || count > codes->m - first) return SHS_BAD_CODES;
    if (!Z && count) return SHS_BAD_OUTPUT;
    if (ldz < p) return SHS_BAD_LDZ;
    range = *codes;
    range.used += first, range.atoms += first * (size_t)range.stride, range.coefs += first * (size_t)range.stride;
    if (shs__codes_outside(&range, count, n)) return SHS_BAD_CODES;
    w.p = p, w.D = D, w.ldd = ldd, w.codes = &range, w.count = count, w.Z = Z, w.ldz = ldz;
    shs__synthesis_run(ctx, &w);
    return SHS_OK;
}

SHS__PUBLIC shs_status shs_codes_residual(const shs_context *ctx, int p, int n, const shs_real *D, int ldd, size_t m,
                                          const shs_real *Y, int ldy, const shs_codes *codes, shs_real *E, int lde,
                                          shs_wide *sum2) {
    shs__synthesis w = SHS_ZERO;
    shs__layout l = SHS_ZERO;
    shs_wide total;
    shs_status status = shs__omp_check_signals(ctx, p, n, D, ldd, m, Y, ldy);
    if (status != SHS_OK) return status;
    if (!shs__codes_ok(codes, m) || shs__codes_outside(codes, m, n)) return SHS_BAD_CODES;
    if (E && lde < p) return SHS_BAD_LDE;
    while (shs__layout_next(ctx, &l, &status)) {
        w.sums = SHS__CARVE(&l, shs_wide, shs__ctx_chunks(m, SHS__SIGNALS_A_CHUNK));
        w.columns = SHS__CARVE(&l, shs_real, shs__layout_product((size_t)shs__ctx_workers(ctx), (size_t)p, 1));
    }
    if (status != SHS_OK) return status;
    w.p = p, w.D = D, w.ldd = ldd, w.Y = Y, w.ldy = ldy, w.codes = codes, w.count = m, w.Z = E, w.ldz = lde;
    total = m ? shs__synthesis_run(ctx, &w) : 0;
    if (sum2) *sum2 = total;
    shs__layout_release(ctx, &l);
    return SHS_OK;
}

#endif /* SHS__ALL_PARTS */

/* ---- one signal on its way ----------------------------------------------------------------------------- >>pursuit */

/* A step of the pursuit chooses an atom, appends it, decides whether the tolerance is reached, and advances; where the
   recurrence cannot decide, it forms the residual and refreshes from it. omp.cl has the same five words. The forms differ in
   what they keep of the atoms chosen: the b_k = D'q_k (Gram), or the q_k themselves (direct), where D'r is formed anew for
   every step. A form is a constant wherever it is named, so that a program holds only the code of those that it calls. */
typedef enum shs__omp_form {
    SHS__OMP_GRAM,       /* with the signal and D too, to refresh from; without them it never refreshes */
    SHS__OMP_GRAM_ALONE, /* never with them: no code to refresh */
    SHS__OMP_DIRECT,
    SHS__OMP_TEAM        /* of signals that share their atoms, with a Gram matrix or without */
} shs__omp_form;

/* A dictionary as the pursuit sees it: its atoms, the products of all pairs of them, or both. */
typedef struct shs__omp_dictionary {
    int p, n, ldd;      /* p = 0: only the Gram matrix is known, and D'y of the signals */
    const shs_real *D;
    const shs_real *G;  /* Gram forms: ldg x n, of which `padded` rows may be read: n, or more that are zero */
    size_t ldg;
    int padded;
    shs_selection selection;
    int nonnegative;
    int weighted;       /* signals have masks or weights; direct form */
    shs_real *diagonal; /* G_jj, where the rule of choice asks for distances */
} shs__omp_dictionary;

/* The normal equations H x = h of all atoms chosen, and the Cholesky factor of those in use. */
typedef struct shs__nn_equations {
    shs_wide *H, *F; /* triangles, row k at k(k+1)/2 */
    shs_wide *h, *x, *z;
    shs_wide *in_use; /* 1 or 0 */
    shs_wide guard;   /* an atom depends on those in use where d^2 <= guard G_jj */
} shs__nn_equations;

typedef struct shs__omp_signal {
    const shs__omp_dictionary *over; /* the one that it is coded over */
    const shs_real *y;     /* NULL where only D'y is known */
    int next;              /* the atom that was chosen last, to be appended next */
    int chosen, limit;     /* atoms so far, and at most */
    int refreshes;         /* times the residual was formed explicitly */
    int stable;            /* the last of them still holds: no atom was added since */
    int reached;           /* within tolerance, confirmed */
    shs_wide tolerance2;   /* squared; 0 = none */
    shs_wide norm2;        /* ||y||^2 */
    shs_wide base2;        /* ||r||^2 when it was last known exactly */
    shs_wide residual2;    /* ||r||^2 by the recurrence */
    shs_real smallest;     /* min d^2 / G_jj: how close the chosen atoms are to being dependent */
    shs_real floor;        /* |alpha| at or below this is rounding */
    int *atoms;
    shs_real *L;           /* Cholesky factor of G_II, row k at k(k+1)/2 */
    shs_real *t;           /* L t = D_I'r for the r of the last refresh (y at first) */
    shs_real *x;           /* coefficients at the last refresh; zero at first */
    shs_real *alpha;       /* D'r */
    shs_real *r;           /* p: the residual of the last refresh; the direct form keeps it up to date */
    shs_wide *exact;       /* p */
    shs_real *B;           /* `rows` x padded, in blocks: the b_k; in the direct form the newest alone, for distances */
    size_t rows;
    shs_real *Q;           /* direct form: p x limit, the q_k */
    shs_real *distance;    /* d^2 by the first `measured` of the b_k; NULL where the rule of choice does not ask for it */
    int measured;
    shs__nn_equations equations; /* for nonnegative coefficients */
    const struct shs__omp_team *team; /* the signals that this one stands for, which share its atoms; NULL: it is itself */
    shs_real *root;        /* p: the square roots of the weights; NULL: there are none. Then y has zeros where that has, */
    shs_real *diagonal;    /* G_jj is that of the weighted atoms, */
    const shs_real *clean; /* which is here, */
    shs_real *residual;    /* and r, which is in this place, and the q_k are weighted */
} shs__omp_signal;

/* Whether a rule of choice asks for the distances of all atoms. */
SHS__PRIVATE int shs__omp_distances(shs_selection selection) {
#define SHS__ROW(name, distances) distances,
    static const unsigned char asks[] = {SHS_SELECTION_LIST(SHS__ROW)};
#undef SHS__ROW
    return asks[selection];
}

/* n values, such as the rows of the Gram matrix, filled up with zeros to whole vectors. */
SHS__PRIVATE int shs__omp_padded(int n) { return n > INT_MAX - 15 ? n : (n + 15) / 16 * 16; }

SHS__PRIVATE size_t shs__omp_triangle(int s) { return (size_t)s * ((size_t)s + 1) / 2; }

SHS__PRIVATE void shs__omp_begin(shs__omp_signal *w, shs_wide norm2, int limit, shs_real tolerance) {
    w->chosen = w->refreshes = w->stable = 0;
    w->limit = limit;
    w->tolerance2 = (shs_wide)tolerance * (shs_wide)tolerance;
    w->norm2 = w->base2 = w->residual2 = norm2;
    w->smallest = 1;
    w->floor = 0;
    w->reached = tolerance > 0 && norm2 <= w->tolerance2;
    w->measured = 0;
    if (w->distance)
        memcpy(w->distance, SHS__OMP_IF_WEIGHTED(w->over->weighted) ? w->diagonal : w->over->diagonal,
               (size_t)shs__omp_padded(w->over->n) * sizeof(shs_real));
}

/* Chooses the next atom by its correlation with the residual and, where the rule asks for them, the distances. */
SHS__PRIVATE void shs__omp_choose(shs__omp_signal *w) {
    const shs__pursuit_kernels *kernels = shs__kernels_pursuit();
    const shs__omp_dictionary *over = w->over;
    const int renewed = w->chosen == 0 || w->stable;
    if (renewed || !w->distance) w->next = kernels->strongest(over->n, w->alpha);
    if (renewed) w->floor = SHS__OMP_GUARD * shs__abs(w->alpha[w->next]);
    if (!w->distance) return;
    w->next =
        kernels->choose(over->selection, over->padded, w->floor > SHS__REAL_MIN ? 1 / w->floor : 1, w->alpha, over->diagonal,
                        w->measured < w->chosen ? w->B : NULL, w->rows, shs__imin(w->measured, (int)w->rows - 1), w->distance);
    w->measured = w->chosen;
}

/* Takes atom j in, given row c (already in place as row `chosen` of L), the squared distance d2 of the atom from the span of
   those chosen, and its correlation with the residual. Returns 0, taking nothing, where that would only add rounding. */
SHS__PRIVATE int shs__omp_take(shs__omp_signal *w, int j, shs_real alpha, shs_real d2, shs_real gjj) {
    int k = w->chosen, i;
    shs_real d;
    if (!(shs__abs(alpha) > w->floor) || !(d2 > SHS__OMP_GUARD * gjj)) return 0;
    for (i = 0; i < k; i++)
        if (w->atoms[i] == j) return 0;
    d = SHS__SQRT(d2);
    w->L[shs__omp_triangle(k) + (size_t)k] = d;
    w->t[k] = alpha / d;
    w->x[k] = 0;
    w->atoms[k] = j;
    w->residual2 -= (shs_wide)w->t[k] * (shs_wide)w->t[k];
    if (w->residual2 < 0) w->residual2 = 0;
    if (d2 < w->smallest * gjj) w->smallest = d2 / gjj;
    w->chosen = k + 1;
    w->stable = 0;
    return 1;
}

/* Appends the chosen atom j: c_i = b_i[j]. */
SHS__PRIVATE int shs__omp_append_gram(shs__omp_signal *w) {
    const shs__omp_dictionary *over = w->over;
    int j = w->next, i;
    const shs_real *b = SHS__AT_B(w->B, over->padded, w->rows, 0, j), gjj = over->G[(size_t)j * (over->ldg + 1)];
    ptrdiff_t next = SHS__BLOCK_WIDTH(over->padded, j);
    shs_real *c = w->L + shs__omp_triangle(w->chosen), d2 = gjj;
    for (i = 0; i < w->chosen; i++, b += next) {
        c[i] = *b;
        d2 -= c[i] * c[i];
    }
    return shs__omp_take(w, j, w->alpha[j], d2, gjj);
}

/* Gram and Schmidt: q = d_j less its parts along the k atoms before, c; again where much cancels (twice is enough). */
SHS__PRIVATE shs_real shs__omp_gram_schmidt(int p, int k, const shs_real *Q, shs_real *q, shs_real *c, shs_real gjj) {
    const shs__vector_kernels *kernels = shs__kernels_vector();
    shs_real d2 = gjj;
    int pass, i;
    for (i = 0; i < k; i++) c[i] = 0;
    for (pass = 0; pass < 2; pass++) {
        for (i = 0; i < k; i++) {
            const shs_real *qi = Q + (size_t)i * (size_t)p;
            shs_real along = kernels->dot((size_t)p, qi, q);
            kernels->axpy((size_t)p, -along, qi, q);
            c[i] += along;
        }
        d2 = kernels->dot((size_t)p, q, q);
        if (d2 > (shs_real)0.25 * gjj) break;
    }
    return d2;
}

/* Takes the part along q_k out of the residual; t_k is its length. */
SHS__PRIVATE void shs__omp_deflate(const shs__omp_signal *w, int k, shs_real *t, shs_real *r) {
    const shs__vector_kernels *kernels = shs__kernels_vector();
    const size_t p = (size_t)w->over->p;
    const shs_real *q = w->Q + (size_t)k * p;
    t[k] = kernels->dot(p, q, r);
    kernels->axpy(p, -t[k], q, r);
}

/* z = x times the roots of the weights (z may be x). */
SHS__PRIVATE void shs__omp_weigh(const shs__omp_signal *w, const shs_real *x, shs_real *z) {
    int i;
    for (i = 0; i < w->over->p; i++) z[i] = w->root[i] * x[i];
}

/* Chooses where signals have weights: by alpha^2 / d^2 either way, where for OMP d^2 stays what it was at first. */
SHS__PRIVATE void shs__omp_choose_weighted(shs__omp_signal *w) {
    const shs__pursuit_kernels *kernels = shs__kernels_pursuit();
    const shs__omp_dictionary *over = w->over;
    const int renewed = w->chosen == 0 || w->stable, append = shs__omp_distances(over->selection) && w->measured < w->chosen;
    const shs_real most = shs__abs(w->alpha[kernels->strongest(over->n, w->alpha)]);
    w->next = kernels->choose(SHS_SELECT_OLS, over->n, most > SHS__REAL_MIN ? 1 / most : 1, w->alpha, w->diagonal,
                              append ? w->B : NULL, 1, 0, w->distance);
    w->measured = w->chosen;
    if (renewed && w->diagonal[w->next] > 0)
        w->floor = SHS__OMP_GUARD * shs__abs(w->alpha[w->next]) / SHS__SQRT(w->diagonal[w->next]);
}

SHS__PRIVATE shs_wide shs__omp_weighted_norm2(const shs__omp_signal *w) {
    shs__sum sum = SHS_ZERO;
    int i;
    for (i = 0; i < w->over->p; i++) {
        const shs_wide value = (shs_wide)w->root[i] * (shs_wide)w->y[i];
        shs__sum_add(&sum, value * value);
    }
    return shs__sum_value(&sum);
}

/* Appends the chosen atom by Gram and Schmidt. */
SHS__PRIVATE int shs__omp_orthogonalise(shs__omp_signal *w) {
    const shs__vector_kernels *kernels = shs__kernels_vector();
    int j = w->next, k = w->chosen, p = w->over->p, i;
    const shs_real *atom = SHS__AT(w->over->D, w->over->ldd, 0, j);
    shs_real *q = w->Q + (size_t)k * (size_t)p, *c = w->L + shs__omp_triangle(k);
    shs_real gjj = kernels->dot((size_t)p, atom, atom), alpha = w->alpha[j], inverse_d;
    memcpy(q, atom, (size_t)p * sizeof(shs_real));
    if (SHS__OMP_IF_WEIGHTED(w->root)) {
        shs__omp_weigh(w, q, q);
        gjj = kernels->dot((size_t)p, q, q);
        alpha /= SHS__SQRT(gjj);
    }
    if (!shs__omp_take(w, j, alpha, shs__omp_gram_schmidt(p, k, w->Q, q, c, gjj), gjj)) return 0;
    inverse_d = 1 / c[k];
    for (i = 0; i < p; i++) q[i] *= inverse_d;
    return 1;
}

/* The same, and takes it out of the residual. */
SHS__PRIVATE int shs__omp_append_direct(shs__omp_signal *w) {
    if (!shs__omp_orthogonalise(w)) return 0;
    shs__omp_deflate(w, w->chosen - 1, w->t, w->r);
    w->residual2 = shs__kernels_vector()->norm2(w->over->p, w->r);
    return 1;
}

/* Whether ||y||^2 is known, where it is wanted or decides, and the recurrence can decide the tolerance. */
SHS__PRIVATE shs_status shs__omp_check_norm(const shs_real *norm2, shs_real tolerance, int wanted) {
    shs_wide tolerance2 = (shs_wide)tolerance * (shs_wide)tolerance;
    if (!(tolerance > 0) && !wanted) return SHS_OK;
    if (!norm2 || !shs__finite(1, norm2) || *norm2 < 0) return SHS_BAD_NORMS;
    return tolerance > 0 && tolerance2 < SHS__OMP_TRUST2 * (shs_wide)*norm2 ? SHS_TOLERANCE_TOO_SMALL : SHS_OK;
}

/* Decides whether the tolerance is reached; returns whether it is too close to call. The error of the recurrence is in
   proportion to the residual where that was last exact. Storing the coefficients adds to it in proportion to them, within
   (k + 2) eps sum |x_k| |d_k|, and at right angles to the residual. Beside the slack of a residual that began as y that is
   nothing, as its square has eps^2; after a refresh, when the residual is small and the coefficients are not, it may be all
   there is: from then on only the explicit residual can say that the tolerance is reached. */
SHS__PRIVATE int shs__omp_decide(shs__omp_signal *w) {
    shs_wide slack = 4 * (shs_wide)SHS__EPS * w->base2 / (shs_wide)w->smallest;
    if (!(w->tolerance2 > 0)) return 0;
    w->reached = !w->refreshes && w->residual2 + slack <= w->tolerance2;
    return !w->reached && !(w->residual2 - slack > w->tolerance2 && w->residual2 > SHS__OMP_TRUST2 * w->base2);
}

/* x += inverse(L') t, and t = 0: the coefficients of the moment. Whether that changed any. */
SHS__OUTLINE int shs__omp_solve(shs__omp_signal *w) {
    int k, i, changed = 0;
    for (k = w->chosen - 1; k >= 0; k--) {
        const shs_real *row = w->L + shs__omp_triangle(k);
        shs_real step = w->t[k] / row[k], before = w->x[k];
        for (i = 0; i < k; i++) w->t[i] -= step * row[i];
        w->x[k] += step;
        changed |= w->x[k] < before || w->x[k] > before;
        w->t[k] = 0;
    }
    return changed;
}

/* t = inverse(L) alpha_I: what is left of the residual in the span of the chosen atoms; ||r||^2 without it. */
SHS__PRIVATE void shs__omp_project(shs__omp_signal *w, const shs_real *alpha_of_chosen) {
    int k, i;
    for (k = 0; k < w->chosen; k++) {
        const shs_real *row = w->L + shs__omp_triangle(k);
        shs_real sum = alpha_of_chosen[k];
        for (i = 0; i < k; i++) sum -= row[i] * w->t[i];
        w->t[k] = sum / row[k];
        w->residual2 -= (shs_wide)w->t[k] * (shs_wide)w->t[k];
    }
    if (w->residual2 < 0) w->residual2 = 0;
}

/* Whether |y - D_I x| is within the tolerance where the rounding of shs_wide could hide that it is not: the rounding of each
   product and difference is found (Dekker's and Knuth's exact transformations) and added up too. -ffast-math would fold it
   away. */
#if defined(SHS__ALL_PARTS) && !defined(__FAST_MATH__)
SHS__OUTLINE int shs__omp_prove(shs__omp_signal *w) {
    const shs_wide splitter = sizeof(shs_wide) == sizeof(float) ? (shs_wide)4097 : (shs_wide)134217729;
    shs__sum sum = SHS_ZERO;
    shs_wide rounding = 0;
    int i, k;
    for (i = 0; i < w->over->p; i++) {
        shs_wide left = (shs_wide)w->y[i], lost = 0;
        for (k = 0; k < w->chosen; k++) {
            const shs_wide x = -(shs_wide)w->x[k], d = (shs_wide)*SHS__AT(w->over->D, w->over->ldd, i, w->atoms[k]);
            volatile shs_wide product = x * d, x1 = splitter * x, d1 = splitter * d, next, step; /* rounded, not fused */
            shs_wide of_product, of_sum;
            next = left + product;
            step = next - left;
            x1 = x1 - (x1 - x);
            d1 = d1 - (d1 - d);
            of_product = ((x1 * d1 - product) + x1 * (d - d1) + (x - x1) * d1) + (x - x1) * (d - d1);
            of_sum = (left - (next - step)) + (product - step);
            left = next;
            lost += of_product + of_sum;
            rounding += shs__wabs(of_product) + shs__wabs(of_sum);
        }
        shs__sum_add(&sum, (left + lost) * (left + lost));
    }
    w->residual2 = shs__sum_value(&sum);
    return SHS__WSQRT(w->residual2) + (shs_wide)w->chosen * SHS__WIDE_EPS * rounding <= SHS__WSQRT(w->tolerance2);
}
#else
#define shs__omp_prove(w) 0
#endif

/* r = y - D_I x for the coefficients as stored, summed in shs_wide; by how much |r| may err. Each step of the sum errs by half
   an eps of |x_k| |d_k| (|d_k| is the length of row k of L) and of what is left, which is most where shs_wide is no wider than
   shs_real. */
SHS__PRIVATE shs_wide shs__omp_measure(shs__omp_signal *w) {
    const shs__omp_dictionary *over = w->over;
    shs_wide error = 0, product2;
    shs__sum sum;
    int i, k;
    shs__omp_solve(w);
    for (i = 0; i < over->p; i++) w->exact[i] = (shs_wide)w->y[i];
    w->residual2 = w->norm2;
    for (k = 0; k < w->chosen; k++) {
        const shs_real *row = w->L + shs__omp_triangle(k);
        shs__la_axpy_wide(over->p, -(shs_wide)w->x[k], SHS__AT(over->D, over->ldd, 0, w->atoms[k]), w->exact);
        memset(&sum, 0, sizeof sum);
        for (i = 0; i < over->p; i++) shs__sum_add(&sum, w->exact[i] * w->exact[i]);
        w->residual2 = shs__sum_value(&sum);
        for (product2 = 0, i = 0; i <= k; i++) product2 += (shs_wide)row[i] * (shs_wide)row[i];
        product2 *= (shs_wide)w->x[k] * (shs_wide)w->x[k];
        error += SHS__WIDE_EPS / 2 * (SHS__WSQRT(product2) + SHS__WSQRT(w->residual2));
    }
    if (SHS__OMP_IF_WEIGHTED(w->root) && w->chosen > 0) {
        shs_wide largest = 1;
        memset(&sum, 0, sizeof sum);
        for (i = 0; i < over->p; i++) {
            w->exact[i] *= (shs_wide)w->root[i];
            shs__sum_add(&sum, w->exact[i] * w->exact[i]);
            if ((shs_wide)w->root[i] > largest) largest = (shs_wide)w->root[i];
        }
        w->residual2 = shs__sum_value(&sum);
        error = (error + SHS__WIDE_EPS * SHS__WSQRT(w->residual2)) * largest;
    }
    for (i = 0; i < over->p; i++) w->r[i] = (shs_real)w->exact[i];
    return error;
}

/* Whether the tolerance is reached for certain, by the explicit residual. */
SHS__OUTLINE int shs__omp_confirm(shs__omp_signal *w) {
    const shs_wide error = shs__omp_measure(w);
    w->reached = SHS__WSQRT(w->residual2) + error <= SHS__WSQRT(w->tolerance2);
    if (!w->reached && !SHS__OMP_IF_WEIGHTED(w->root) && w->residual2 <= w->tolerance2) w->reached = shs__omp_prove(w);
    w->base2 = w->residual2;
    w->refreshes++;
    w->stable = 1;
    return w->reached;
}

/* Advances by the atom appended last: b_k, and alpha without its part along q_k. The kernel chooses on the way, by alpha. */
SHS__PRIVATE void shs__omp_advance_gram(shs__omp_signal *w) {
    int k = w->chosen - 1;
    const shs_real *c = w->L + shs__omp_triangle(k), *column = w->over->G + (size_t)w->atoms[k] * w->over->ldg;
    w->next = shs__kernels_pursuit()->advance(w->over->padded, k, column, c, w->B, w->rows, 1 / c[k], w->t[k], w->alpha);
    if (w->distance) shs__omp_choose(w);
}

/* Starts again from the explicit residual r, before the next choice: alpha = D'r less what is left of it in the span.
   Afterwards the recurrences err in proportion to this r, no longer to y. */
SHS__OUTLINE void shs__omp_refresh_gram(shs__omp_signal *w) {
    const shs__omp_dictionary *over = w->over;
    int i, k;
    for (i = 0; i < over->n; i++) w->alpha[i] = shs_dot(over->p, SHS__AT(over->D, over->ldd, 0, i), 1, w->r, 1);
    for (k = 0; k < w->chosen; k++) w->r[k] = w->alpha[w->atoms[k]]; /* chosen <= p: r is free now */
    shs__omp_project(w, w->r);
    for (i = 0; i < over->padded; i += SHS__BLOCK)
        for (k = 0; k < w->chosen; k++)
            shs__kernels_vector()->axpy((size_t)SHS__BLOCK_WIDTH(over->padded, i), -w->t[k],
                                        SHS__AT_B(w->B, over->padded, w->rows, k, i), w->alpha + i);
}

/* The same with the q_k: alpha is formed before the next step. */
SHS__PRIVATE void shs__omp_refresh_direct(shs__omp_signal *w) {
    int k;
    for (k = 0; k < w->chosen; k++) shs__omp_deflate(w, k, w->t, w->r);
    w->residual2 = shs__kernels_vector()->norm2(w->over->p, w->r);
}

/* t of what the residual r leaves in the span of the chosen atoms: that much the coefficients are off. alpha is scratch. */
SHS__PRIVATE void shs__omp_refine(shs__omp_signal *w) {
    int k;
    for (k = 0; k < w->chosen; k++)
        w->alpha[k] = shs_dot(w->over->p, SHS__AT(w->over->D, w->over->ldd, 0, w->atoms[k]), 1, w->r, 1);
    shs__omp_project(w, w->alpha);
}

#ifdef SHS__ALL_PARTS
/* ---- signals that share their atoms ---------------------------------------------------------------- >>simultaneous */

/* The same five words for a team of signals. One shs__omp_signal stands for all of them: it has their atoms, L, the b_k or q_k
   and the distances, which follow from the atoms alone. Its alpha_j is the root of the sum of the squares of theirs, its
   tolerance and ||r||^2 are of all together, so that it chooses, appends and decides as any signal does. Of its own each signal
   has alpha (or, without a Gram matrix, r), t and x. */
typedef struct shs__omp_team {
    size_t count;
    const shs_real *Y; /* NULL where only D'Y is known */
    int ldy, stride;
    shs_real *X;       /* stride x count: the coefficients, in their place in the codes */
    shs_real *T;       /* limit x count */
    shs_real *A;       /* D'R, padded x count; without a Gram matrix of `panel` signals at a time */
    shs_real *R;       /* p x count, without a Gram matrix */
    shs_wide *squares; /* padded: their sums over the signals */
    shs_real *scratch; /* for the product D'R */
    size_t panel, limit;
} shs__omp_team;

/* Signal i of the team as one of its own, for the words that solve and measure. */
SHS__PRIVATE void shs__team_member(const shs__omp_signal *w, size_t i, shs__omp_signal *member) {
    const shs__omp_team *g = w->team;
    *member = *w;
    member->y = g->Y ? SHS__AT(g->Y, g->ldy, 0, i) : NULL;
    member->x = SHS__AT(g->X, g->stride, 0, i);
    member->t = g->T + i * g->limit;
    member->alpha = g->A + (w->over->G ? i * (size_t)w->over->padded : 0);
    if (g->R) member->r = g->R + i * (size_t)w->over->p;
}

/* Chooses: alpha of all signals, and from it that of the team. */
SHS__OUTLINE void shs__team_choose(shs__omp_signal *w) {
    const shs__omp_team *g = w->team;
    const shs__omp_dictionary *d = w->over;
    const size_t padded = (size_t)d->padded;
    size_t first, i, j;
    for (j = 0; j < padded; j++) g->squares[j] = 0;
    for (first = 0; first < g->count; first += g->panel) {
        const size_t count = shs__zmin(g->panel, g->count - first);
        const shs_real *alpha = g->A + (d->G ? first * padded : 0);
        if (!d->G)
            shs__la_gemm_serial(SHS_TRANS_YES, SHS_TRANS_NO, d->n, (int)count, d->p, 1, d->D, d->ldd,
                                g->R + first * (size_t)d->p, d->p, 0, g->A, d->n, g->scratch);
        for (i = 0; i < count; i++, alpha += padded)
            for (j = 0; j < padded; j++) g->squares[j] += (shs_wide)alpha[j] * (shs_wide)alpha[j];
    }
    for (j = 0; j < padded; j++) w->alpha[j] = (shs_real)SHS__WSQRT(g->squares[j]);
    if (!d->G && w->distance && w->measured < w->chosen)
        shs__la_gemm_serial(SHS_TRANS_YES, SHS_TRANS_NO, d->n, 1, d->p, 1, d->D, d->ldd,
                            w->Q + (size_t)(w->chosen - 1) * (size_t)d->p, d->p, 0, w->B, d->n, g->scratch);
    shs__omp_choose(w);
}

/* Appends the chosen atom; t_k of each signal. */
SHS__OUTLINE int shs__team_append(shs__omp_signal *w) {
    const shs__omp_team *g = w->team;
    const int k = w->chosen;
    shs__sum sum = SHS_ZERO;
    size_t i;
    if (!(w->over->G ? shs__omp_append_gram(w) : shs__omp_orthogonalise(w))) return 0;
    for (i = 0; i < g->count; i++) {
        shs_real *t = g->T + i * g->limit, *r = w->over->G ? NULL : g->R + i * (size_t)w->over->p;
        *SHS__AT(g->X, g->stride, k, i) = 0;
        if (r) shs__omp_deflate(w, k, t, r), shs__sum_add(&sum, shs__kernels_vector()->norm2(w->over->p, r));
        else t[k] = g->A[i * (size_t)w->over->padded + (size_t)w->next] / w->L[shs__omp_triangle(k) + (size_t)k];
    }
    if (!w->over->G) w->residual2 = shs__sum_value(&sum);
    return 1;
}

/* Advances: b_k once, which the alpha of all signals loses its part along. Without a Gram matrix they are formed anew. */
SHS__OUTLINE void shs__team_advance(shs__omp_signal *w) {
    const shs__omp_team *g = w->team;
    const int k = w->chosen - 1, padded = w->over->padded;
    const shs_real *c = w->L + shs__omp_triangle(k), *column;
    size_t i;
    int j;
    if (!w->over->G) return;
    column = w->over->G + (size_t)w->atoms[k] * w->over->ldg;
    (void)shs__kernels_pursuit()->advance(padded, k, column, c, w->B, w->rows, 1 / c[k], 0, w->alpha);
    for (j = 0; j < padded; j += SHS__BLOCK) /* alpha is free until the next choice: b_k in one piece */
        memcpy(w->alpha + j, SHS__AT_B(w->B, padded, w->rows, k, j),
               (size_t)SHS__BLOCK_WIDTH(padded, j) * sizeof(shs_real));
    for (i = 0; i < g->count; i++)
        shs__kernels_vector()->axpy((size_t)padded, -g->T[i * g->limit + (size_t)k], w->alpha, g->A + i * (size_t)padded);
}

/* Whether the tolerance is reached for certain, by the explicit residuals of all. */
SHS__OUTLINE int shs__team_confirm(shs__omp_signal *w) {
    shs__sum sum = SHS_ZERO, most = SHS_ZERO;
    shs__omp_signal member;
    size_t i;
    for (i = 0; i < w->team->count; i++) {
        shs_wide length;
        shs__team_member(w, i, &member);
        length = shs__omp_measure(&member);
        length += SHS__WSQRT(member.residual2);
        shs__sum_add(&sum, member.residual2), shs__sum_add(&most, length * length);
    }
    w->base2 = w->residual2 = shs__sum_value(&sum);
    w->reached = SHS__WSQRT(shs__sum_value(&most)) * (1 + 4 * SHS__WIDE_EPS) <= SHS__WSQRT(w->tolerance2);
    w->refreshes++;
    w->stable = 1;
    return w->reached;
}

/* Starts again from the explicit residuals, or, in the end, refines the coefficients by them. With a Gram matrix there is room
   for one r, so that it is measured again. */
SHS__OUTLINE void shs__team_refresh(shs__omp_signal *w, int in_the_end) {
    shs__sum sum = SHS_ZERO;
    shs__omp_signal member;
    size_t i;
    for (i = 0; i < w->team->count; i++) {
        shs__team_member(w, i, &member);
        if (w->over->G) (void)shs__omp_measure(&member);
        else member.residual2 = shs__kernels_vector()->norm2(w->over->p, member.r);
        if (in_the_end) shs__omp_refine(&member);
        else if (w->over->G) shs__omp_refresh_gram(&member);
        else shs__omp_refresh_direct(&member);
        shs__sum_add(&sum, member.residual2);
    }
    w->residual2 = shs__sum_value(&sum);
}
#define SHS__OMP_WORD(form, one, team) ((form) == SHS__OMP_TEAM ? (team) : (one))
#else
#define SHS__OMP_WORD(form, one, team) (one)
#endif

/* One step, given the atom that was chosen; 0 = there will be no other. */
SHS__INLINE int shs__omp_step(shs__omp_signal *w, shs__omp_form form) {
    const int known = form != SHS__OMP_GRAM_ALONE && w->y;
    const int may_refresh = known && w->tolerance2 > 0 && w->refreshes < SHS__OMP_REFRESHES;
    int appended, in_doubt = 1;
    if (w->reached || w->chosen >= w->limit) return 0;
    appended = form == SHS__OMP_DIRECT ? shs__omp_append_direct(w)
                                       : SHS__OMP_WORD(form, shs__omp_append_gram(w), shs__team_append(w));
    if (appended) {
        in_doubt = shs__omp_decide(w);
        if (w->reached || w->chosen == w->limit) return 0;
    } else if (!may_refresh || w->stable) {
        w->limit = w->chosen;
        return 0;
    }
    if (appended && form != SHS__OMP_DIRECT) SHS__OMP_WORD(form, shs__omp_advance_gram(w), shs__team_advance(w));
    if (in_doubt && known && SHS__OMP_WORD(form, shs__omp_confirm(w), shs__team_confirm(w))) return 0;
    if (!in_doubt || !may_refresh) return 1;
    if (form == SHS__OMP_DIRECT) shs__omp_refresh_direct(w);
    else SHS__OMP_WORD(form, (shs__omp_refresh_gram(w), shs__omp_choose(w)), shs__team_refresh(w, 0));
    return 1;
}

/* The coefficients as they will be stored. Where the tolerance is still in doubt they are refined, twice at most, against the
   explicit residual, which decides. alpha is scratch from here on. */
SHS__PRIVATE void shs__omp_finish(shs__omp_signal *w) {
    int tries, changed;
    for (tries = 0; tries < 2 && w->y && !w->reached && shs__omp_decide(w); tries++) {
        if (shs__omp_confirm(w)) return;
        if (SHS__OMP_IF_WEIGHTED(w->root)) shs__omp_weigh(w, w->r, w->r);
        shs__omp_refine(w);
    }
    changed = shs__omp_solve(w) || !w->stable;
    if (!changed) w->residual2 = w->base2; /* measured by the last refresh; the coefficients stayed */
    else if (w->y && (w->refreshes || w->residual2 <= SHS__OMP_TRUST2 * w->base2)) /* too small for the recurrence */
        shs__omp_confirm(w);
}

/* ---- nonnegative coefficients ----------------------------------------------------------------------- >>nonnegative */

/* The same five words, another solution. Of the chosen atoms only those in use, with coefficients above 0, take part in the
   least squares, and these change from step to step: the normal equations H x = h of all chosen ones, H = D_I'D_I and
   h = D_I'y, are kept, and solved anew for those in use (Lawson, Hanson 1974). They have few rows and are in shs_wide. L's row
   k is |d_k| alone and t is zero: what shs__omp_confirm asks of them. */
SHS__PRIVATE void shs__nn_layout(shs__layout *l, shs__nn_equations *e, int limit) {
    e->H = SHS__CARVE(l, shs_wide, shs__omp_triangle(limit));
    e->F = SHS__CARVE(l, shs_wide, shs__omp_triangle(limit));
    e->h = SHS__CARVE(l, shs_wide, (size_t)limit);
    e->x = SHS__CARVE(l, shs_wide, (size_t)limit);
    e->z = SHS__CARVE(l, shs_wide, (size_t)limit);
    e->in_use = SHS__CARVE(l, shs_wide, (size_t)limit);
}

SHS__PRIVATE shs_wide shs__nn_product(const shs__nn_equations *e, int i, int j) {
    return i < j ? e->H[shs__omp_triangle(j) + (size_t)i] : e->H[shs__omp_triangle(i) + (size_t)j];
}

/* The largest alpha. Of one from the explicit residual only what the stored coefficients leave is rounding. */
SHS__PRIVATE void shs__nn_choose(shs__omp_signal *w) {
    shs_real best = 0, size = 0;
    int i;
    for (i = 0; i < w->chosen; i++) {
        w->alpha[w->atoms[i]] = 0; /* rounding, or below it */
        size += w->x[i] * w->L[shs__omp_triangle(i) + (size_t)i];
    }
    if (w->stable && 4 * SHS__EPS * size < w->floor) w->floor = 4 * SHS__EPS * size;
    for (w->next = 0, i = 0; i < w->over->n; i++)
        if (w->alpha[i] > best) best = w->alpha[i], w->next = i;
    if (w->chosen == 0) w->floor = SHS__OMP_GUARD * best;
}

/* z of the `chosen` atoms in use by H z = h, with 0 for the others. Returns 0 where one depends on those before it. */
SHS__OUTLINE int shs__nn_least_squares(shs__omp_signal *w, const shs__nn_equations *e, int chosen) {
    int i, j, k;
    for (i = 0; i < chosen; i++) {
        shs_wide *row = e->F + shs__omp_triangle(i), d2;
        const shs_wide hii = shs__nn_product(e, i, i);
        for (j = 0; j <= i; j++) row[j] = 0;
        row[i] = 1, e->z[i] = 0;
        if (!(e->in_use[i] > 0)) continue;
        for (d2 = hii, e->z[i] = e->h[i], j = 0; j < i; j++) {
            const shs_wide *other = e->F + shs__omp_triangle(j);
            if (!(e->in_use[j] > 0)) continue;
            for (row[j] = shs__nn_product(e, i, j), k = 0; k < j; k++) row[j] -= row[k] * other[k];
            row[j] /= other[j];
            d2 -= row[j] * row[j], e->z[i] -= row[j] * e->z[j];
        }
        if (!(d2 > e->guard * hii)) return 0;
        if (d2 < (shs_wide)w->smallest * hii) w->smallest = (shs_real)(d2 / hii);
        row[i] = SHS__WSQRT(d2), e->z[i] /= row[i];
    }
    for (i = chosen - 1; i >= 0; i--) {
        const shs_wide *row = e->F + shs__omp_triangle(i);
        e->z[i] /= row[i];
        for (j = 0; j < i; j++) e->z[j] -= row[j] * e->z[i];
    }
    return 1;
}

/* Takes atom `newcomer` of the chosen into use: on the way to the least squares an atom that reaches 0 leaves. Returns 0,
   changing nothing, where it depends on those in use. */
SHS__OUTLINE int shs__nn_enter(shs__omp_signal *w, const shs__nn_equations *e, int chosen, int newcomer) {
    e->in_use[newcomer] = 1;
    while (shs__nn_least_squares(w, e, chosen)) {
        shs_wide step = 1;
        int i, first = -1;
        for (i = 0; i < chosen; i++) {
            const shs_wide leaves = e->x[i] > 0 ? e->x[i] / (e->x[i] - e->z[i]) : 0;
            const shs_wide share = e->in_use[i] > 0 && !(e->z[i] > 0) ? leaves : 1;
            if (e->in_use[i] > 0 && !(e->z[i] > 0) && (first < 0 || !(share >= step))) step = share, first = i;
        }
        for (i = 0; i < chosen; i++) e->x[i] += step * (e->z[i] - e->x[i]);
        if (first < 0) return 1;
        for (i = 0; i < chosen; i++)
            if (i == first || !(e->in_use[i] > 0) || (!(e->z[i] > 0) && !(e->x[i] > 0))) e->in_use[i] = e->x[i] = 0;
    }
    e->in_use[newcomer] = 0;
    return 0;
}

/* min ||y - D_I x||, x >= 0, from the solution before the last of I was chosen, which enters first; then whoever would lower
   the residual. Returns 0 where the last one depends on those in use. */
SHS__OUTLINE int shs__nn_solve(shs__omp_signal *w, const shs__nn_equations *e, int chosen) {
    int turns, newcomer = chosen - 1, i, j;
    for (turns = 0; newcomer >= 0 && turns < 3 * chosen; turns++) {
        shs_wide most = 0;
        if (!shs__nn_enter(w, e, chosen, newcomer) && turns == 0) return 0;
        for (newcomer = -1, i = 0; i < chosen; i++) {
            shs_wide slope = e->h[i], size = shs__wabs(e->h[i]);
            if (e->in_use[i] > 0) continue;
            for (j = 0; j < chosen; j++) {
                const shs_wide part = shs__nn_product(e, i, j) * e->x[j];
                slope -= part, size += shs__wabs(part);
            }
            if (slope > 64 * SHS__WIDE_EPS * size && slope > most) most = slope, newcomer = i;
        }
    }
    return 1;
}

/* Appends the chosen atom: a row of H and of h, and all coefficients anew. With the signal and D both are formed from them. */
SHS__INLINE int shs__nn_append(shs__omp_signal *w, shs__nn_equations *e, shs__omp_form form) {
    const shs__omp_dictionary *over = w->over;
    const int known = form != SHS__OMP_GRAM_ALONE && w->y, k = w->chosen, j = w->next;
    shs_wide *row = e->H + shs__omp_triangle(k);
    int i, l;
    if (!(w->alpha[j] > w->floor)) return 0;
    w->atoms[k] = j, e->x[k] = e->in_use[k] = 0;
    e->guard = known && sizeof(shs_wide) > sizeof(shs_real) ? (shs_wide)SHS__OMP_GUARD * (shs_wide)SHS__OMP_GUARD
                                                            : (shs_wide)SHS__OMP_GUARD;
    for (e->h[k] = known ? 0 : (shs_wide)w->alpha[j], i = 0; known && i < over->p; i++)
        e->h[k] += (shs_wide)*SHS__AT(over->D, over->ldd, i, j) * (shs_wide)w->y[i];
    for (i = 0; i <= k; i++) {
        const shs_real *a = known ? SHS__AT(over->D, over->ldd, 0, j) : NULL;
        const shs_real *b = known ? SHS__AT(over->D, over->ldd, 0, w->atoms[i]) : NULL;
        row[i] = known ? 0 : (shs_wide)over->G[(size_t)j * over->ldg + (size_t)w->atoms[i]];
        for (l = 0; known && l < over->p; l++) row[i] += (shs_wide)a[l] * (shs_wide)b[l];
        if (!known && i < k) e->h[k] += row[i] * (shs_wide)w->x[i];
    }
    if (!shs__nn_solve(w, e, k + 1)) return 0;
    for (i = 0; i <= k; i++) w->L[shs__omp_triangle(k) + (size_t)i] = i < k ? 0 : (shs_real)SHS__WSQRT(row[k]);
    w->t[k] = w->x[k] = 0;
    w->chosen = k + 1;
    return 1;
}

/* Advances: alpha and x by what the coefficients have changed. */
SHS__INLINE void shs__nn_advance(shs__omp_signal *w, const shs__nn_equations *e, shs__omp_form form) {
    const shs__omp_dictionary *over = w->over;
    int k;
    w->stable = 0;
    for (k = 0; k < w->chosen; k++) {
        const shs_real x = (shs_real)e->x[k], step = x - w->x[k];
        w->x[k] = x;
        if (form != SHS__OMP_DIRECT && (step < 0 || step > 0))
            shs__kernels_vector()->axpy((size_t)over->n, -step, over->G + (size_t)w->atoms[k] * over->ldg, w->alpha);
    }
}

/* ||r||^2 by the normal equations. */
SHS__PRIVATE shs_wide shs__nn_residual2(const shs__omp_signal *w, const shs__nn_equations *e) {
    shs_wide sum = w->norm2;
    int i, j;
    for (i = 0; i < w->chosen; i++) {
        shs_wide both = 2 * e->h[i];
        for (j = 0; j < w->chosen; j++) both -= shs__nn_product(e, i, j) * (shs_wide)w->x[j];
        sum -= both * (shs_wide)w->x[i];
    }
    return sum > 0 ? sum : 0;
}

/* One step, as shs__omp_step. */
SHS__INLINE int shs__nn_step(shs__omp_signal *w, shs__omp_form form) {
    shs__nn_equations *e = &w->equations;
    const int known = form != SHS__OMP_GRAM_ALONE && w->y;
    if (w->reached || w->chosen >= w->limit) return 0;
    if (!shs__nn_append(w, e, form)) {
        w->limit = w->chosen;
        return 0;
    }
    shs__nn_advance(w, e, form);
    if (known && (form == SHS__OMP_DIRECT || w->tolerance2 > 0)) shs__omp_confirm(w);
    if (!known) w->residual2 = shs__nn_residual2(w, e), shs__omp_decide(w);
    return !w->reached && w->chosen < w->limit;
}

/* Where alpha has fallen below what its recurrence is trusted with, forms it from the explicit residual, and chooses again:
   spectra are alike, and the first atom may fit all but a thousandth. */
SHS__PRIVATE void shs__nn_refresh(shs__omp_signal *w) {
    const shs__omp_dictionary *over = w->over;
    int i;
    if (w->alpha[w->next] * SHS__OMP_GUARD > w->floor * (shs_real)SHS__WSQRT(SHS__OMP_TRUST2)) return;
    if (!w->stable) shs__omp_confirm(w);
    for (i = 0; i < over->n; i++) w->alpha[i] = shs_dot(over->p, SHS__AT(over->D, over->ldd, 0, i), 1, w->r, 1);
    shs__nn_choose(w);
}

/* A signal whose alpha = D'y is in place. */
SHS__INLINE void shs__nn_pursue_gram(shs__omp_signal *w, shs__omp_form form) {
    do {
        shs__nn_choose(w);
        if (form != SHS__OMP_GRAM_ALONE && w->y && w->chosen > 0) shs__nn_refresh(w);
    } while (shs__nn_step(w, form));
    if (form != SHS__OMP_GRAM_ALONE && w->y && w->chosen > 0 && !w->stable) shs__omp_confirm(w);
}

/* ---- signals that are coded together, by one worker -------------------------------------------------- >>omp_group */

typedef struct shs__omp_group {
    const shs__omp_dictionary *over;
    shs__omp_signal *signals;
    shs_real *alpha;   /* D'R of all the signals */
    shs_real *R;       /* direct form: the residuals of those still on their way; with distances then q_k of each */
    shs_wide *exact;   /* p */
    shs_real *scratch; /* for the product D'R */
    shs_real *clean, *roots, *diagonals; /* of signals with weights, one after another */
#ifdef SHS__ALL_PARTS
    shs__omp_team team; /* of signals that share their atoms; signals[0] stands for them */
#endif
} shs__omp_group;

/* Columns of R and alpha in the direct form. */
SHS__PRIVATE int shs__omp_columns(int count, shs_selection selection) { return count * (1 + shs__omp_distances(selection)); }

/* Scratch of `count` signals with `columns` of alpha, for products of `scratch` values. own: the signals where the caller has
   them, else NULL. In the Gram forms they take turns with one r; b_k of the last atom is never needed. */
SHS__OUTLINE void shs__omp_layout_group(shs__layout *l, shs__omp_group *g, const shs__omp_dictionary *over, int direct,
                                        int limit, int count, size_t columns, size_t scratch, shs__omp_signal *own) {
    size_t p = (size_t)over->p, padded = (size_t)over->padded;
    const int nonnegative = SHS__OMP_IF_NONNEGATIVE(over->nonnegative);
    int i;
    g->over = over;
    g->signals = own ? own : SHS__CARVE(l, shs__omp_signal, (size_t)count);
    g->alpha = SHS__CARVE(l, shs_real, shs__layout_product(padded, columns, 1));
    g->R = SHS__CARVE(l, shs_real, shs__layout_product((size_t)shs__imax(over->p, limit), direct ? columns : 1, 1));
    g->exact = SHS__CARVE(l, shs_wide, p);
    g->scratch = SHS__CARVE(l, shs_real, scratch);
    g->clean = g->roots = g->diagonals = NULL;
    if (SHS__OMP_IF_WEIGHTED(over->weighted)) {
        g->clean = SHS__CARVE(l, shs_real, shs__layout_product(p, (size_t)count, 1));
        g->roots = SHS__CARVE(l, shs_real, shs__layout_product(p, (size_t)count, 1));
        g->diagonals = SHS__CARVE(l, shs_real, shs__layout_product((size_t)shs__omp_padded(over->n), (size_t)count, 1));
    }
    for (i = 0; i < count; i++) {
        shs__omp_signal counted, *w = g->signals ? g->signals + i : &counted;
        w->over = over, w->alpha = g->alpha, w->r = g->R, w->exact = g->exact, w->team = NULL;
        w->L = SHS__CARVE(l, shs_real, shs__omp_triangle(limit));
        w->t = SHS__CARVE(l, shs_real, (size_t)limit);
        w->rows = direct ? 1 : (size_t)shs__imax(limit - 1, 1);
        w->B = nonnegative || direct ? NULL : SHS__CARVE(l, shs_real, shs__layout_product(padded, w->rows, 1));
        w->Q = direct && !nonnegative ? SHS__CARVE(l, shs_real, shs__layout_product(p, (size_t)limit, 1)) : NULL;
        if (nonnegative) shs__nn_layout(l, &w->equations, limit);
        w->distance = w->root = w->diagonal = w->residual = NULL;
        if (SHS__OMP_IF_WEIGHTED(over->weighted)) {
            w->root = g->roots ? g->roots + (size_t)i * p : NULL;
            w->clean = g->clean ? g->clean + (size_t)i * p : NULL;
            w->diagonal = g->diagonals ? g->diagonals + (size_t)i * (size_t)shs__omp_padded(over->n) : NULL;
            w->residual = SHS__CARVE(l, shs_real, (size_t)shs__imax(over->p, limit));
        }
        if (SHS__OMP_IF_WEIGHTED(over->weighted) || shs__omp_distances(over->selection))
            w->distance = SHS__CARVE(l, shs_real, (size_t)shs__omp_padded(over->n));
    }
}

/* G_jj of all atoms, where the rule of choice asks for distances, and zeros behind them. */
SHS__PRIVATE void shs__omp_set_diagonal(shs__omp_dictionary *over) {
    int j;
    for (j = 0; over->diagonal && j < shs__omp_padded(over->n); j++)
        over->diagonal[j] = j >= over->n ? 0
                            : over->G    ? over->G[(size_t)j * (over->ldg + 1)]
                                         : (shs_real)shs__la_norm2(over->p, SHS__AT(over->D, over->ldd, 0, j));
}

/* ---- a group of signals without a Gram matrix ------------------------------------------------------- >>omp_direct */

/* All signals of the group make each step together, so that the dictionary, the largest array, is read once a step for all. */
enum { SHS__DIRECT_GROUP = 16 };

/* alpha = D'R for `count` columns. A separate function for one signal keeps the matrix product out of small programs. */
typedef void (*shs__omp_correlate_fn)(const shs__omp_group *g, int count);

SHS__PRIVATE void shs__omp_correlate_one(const shs__omp_group *g, int count) {
    const shs__omp_dictionary *d = g->over;
    int i, j;
    for (j = 0; j < count; j++)
        for (i = 0; i < d->n; i++)
            *SHS__AT(g->alpha, d->n, i, j) = shs_dot(d->p, SHS__AT(d->D, d->ldd, 0, i), 1, SHS__AT(g->R, d->p, 0, j), 1);
}

/* Gives a signal column `at` of R and alpha. */
SHS__PRIVATE void shs__omp_seat(const shs__omp_group *g, shs__omp_signal *w, int at) {
    w->r = SHS__OMP_IF_WEIGHTED(w->root) ? w->residual : g->R + (size_t)at * (size_t)g->over->p;
    w->alpha = g->alpha + (size_t)at * (size_t)g->over->n;
}

/* Pursues `count` signals that have begun and know their y. */
SHS__PRIVATE void shs__omp_pursue_group(const shs__omp_group *g, int count, shs__omp_correlate_fn correlate) {
    const size_t p = (size_t)g->over->p, bytes = p * sizeof(shs_real);
    const int distances = shs__omp_distances(g->over->selection), nonnegative = SHS__OMP_IF_NONNEGATIVE(g->over->nonnegative);
    shs__omp_signal *active[SHS__DIRECT_GROUP];
    int actives = 0, columns, left, a;
    for (a = 0; a < count; a++) {
        shs__omp_signal *w = g->signals + a;
        if (w->reached || w->limit == 0) continue;
        shs__omp_seat(g, w, actives);
        if (SHS__OMP_IF_WEIGHTED(w->root)) shs__omp_weigh(w, w->y, w->r);
        else memcpy(w->r, w->y, bytes);
        active[actives++] = w;
    }
    columns = actives;
    while (actives > 0) {
        for (a = 0; a < actives; a++)
            if (SHS__OMP_IF_WEIGHTED(active[a]->root)) shs__omp_weigh(active[a], active[a]->r, g->R + (size_t)a * p);
        correlate(g, columns);
        for (a = left = 0; a < actives; a++) {
            shs_real *r = active[a]->r;
            if (nonnegative) shs__nn_choose(active[a]);
            else if (SHS__OMP_IF_WEIGHTED(active[a]->root)) shs__omp_choose_weighted(active[a]);
            else shs__omp_choose(active[a]);
            if (!(nonnegative ? shs__nn_step(active[a], SHS__OMP_DIRECT) : shs__omp_step(active[a], SHS__OMP_DIRECT))) continue;
            shs__omp_seat(g, active[a], left); /* close up: the residuals of those that go on stay side by side */
            if (active[a]->r != r) memcpy(active[a]->r, r, bytes);
            active[left++] = active[a];
        }
        columns = actives = left;
        for (a = 0; distances && a < actives; a++, columns++) {
            int k = shs__imax(active[a]->chosen - 1, 0);
            if (SHS__OMP_IF_WEIGHTED(active[a]->root))
                shs__omp_weigh(active[a], active[a]->Q + (size_t)k * p, g->R + (size_t)columns * p);
            else memcpy(g->R + (size_t)columns * p, active[a]->Q + (size_t)k * p, bytes);
            active[a]->B = g->alpha + (size_t)columns * (size_t)g->over->n;
        }
    }
    for (a = 0; a < count; a++) {
        shs__omp_seat(g, g->signals + a, 0); /* no signal needs its columns any more */
        if (!nonnegative) shs__omp_finish(g->signals + a);
    }
}

#ifdef SHS__ALL_PARTS
/* ---- many signals: the CPU's coding stage ---------------------------------------------------------------- >>coder */

SHS__PRIVATE void shs__omp_correlate_group(const shs__omp_group *g, int count) {
    const shs__omp_dictionary *d = g->over;
    shs__la_gemm_serial(SHS_TRANS_YES, SHS_TRANS_NO, d->n, count, d->p, 1, d->D, d->ldd, g->R, d->p, 0, g->alpha, d->n,
                        g->scratch);
}

enum {
    SHS__GRAM_BLOCK = 128,      /* columns of the Gram matrix a chunk */
    SHS__CODER_ROUND = 512,     /* chunks between two calls of the progress callback: in one parallel region */
    SHS__ABREAST = 2,           /* signals that a worker codes in turns */
    SHS__CODER_GROUP = 128,     /* signals a chunk: D is packed once for all of them */
    SHS__CODER_GROUP_LARGE = 32 /* the same above 1024 atoms, where D'y is long */
};

typedef struct shs__coder_sums {
    shs__sum sum2, weight; /* weight: of all values, where they have some */
    size_t nonzeros, not_reached;
} shs__coder_sums;

typedef struct shs__coder {
    shs__omp_dictionary over;
    size_t m;
    int stride;        /* atoms a signal at most */
    const shs_real *Y; /* p x m; where over.p = 0: D'Y, n x m */
    int ldy;
    const shs_real *norms2; /* where over.p = 0: ||y||^2, which a tolerance takes */
    const shs_omp_options *options;
    int use_gram;
    shs_real *own_gram; /* padded with zero rows; NULL: none, or the caller's */
    shs_real *squares;  /* p x n: of the elements of D, for the lengths of weighted atoms */
    size_t group, chunks, first_chunk;
    shs__omp_group *groups; /* one a worker */
    shs__coder_sums *sums;  /* SHS__CODER_ROUND */
    unsigned char *flags;   /* one a worker */
    shs_codes *codes;
    shs_real *errors2;
    /* Called for each group of signals just before and just after it is coded, while it is in the cache; NULL: nothing.
       fetch puts signals first .. end-1 into Y; what is not finite is not coded, and flags say so. */
    void (*fetch)(const void *source, size_t first, size_t end);
    const void *source;
    const shs__synthesis *after;
} shs__coder;

/* Whether the options limit the atoms of a signal. */
SHS__PRIVATE int shs__omp_limited(const shs_omp_options *o) { return o->sparsity > 0 || o->sparsity_each; }

SHS__PRIVATE size_t shs__coder_default_group(int n) {
    return n > 1024 ? (size_t)SHS__CODER_GROUP_LARGE : (size_t)SHS__CODER_GROUP;
}

/* Compares the operations with and without the Gram matrix, its own cost included, for m signals of s atoms. Where the options
   set no limit, that is what fits a signal, whatever the codes hold. */
SHS__PRIVATE int shs__omp_gram_pays(int p, int n, size_t m, int stride, const shs_omp_options *o) {
    int s = shs__omp_limited(o) ? stride : shs__imin(p, n);
    shs_wide np = (shs_wide)p * (shs_wide)n, dn = (shs_wide)n, dm = (shs_wide)m, ds = (shs_wide)s;
    shs_wide with = np * dn / 2 + dm * (np + dn * ds * ds / 2);
    shs_wide without = dm * ds * (np * (shs_wide)shs__omp_columns(1, o->selection) + (shs_wide)p * ds);
    if (o->gram_mode == SHS_GRAM_NEVER || shs__omp_weighted(o)) return 0;
    if (o->gram || o->gram_mode == SHS_GRAM_ALWAYS) return 1;
    return with <= without && dn * dn * (shs_wide)sizeof(shs_real) <= (shs_wide)1073741824;
}

/* The first signal behind group k. */
SHS__PRIVATE size_t shs__team_end(const shs_omp_options *o, size_t m, size_t k) {
    return k + 1 < o->group_count ? o->groups[k + 1] : m;
}

/* Scratch of up to `count` signals that share their atoms, beside that of the one that stands for them: its alpha, and b_k of
   the last atom where there is no Gram matrix, are the first columns of alpha. */
SHS__PRIVATE void shs__team_layout(shs__layout *l, shs__omp_group *g, int direct, size_t count, size_t panel, size_t limit) {
    const size_t padded = (size_t)g->over->padded;
    g->team.T = SHS__CARVE(l, shs_real, shs__layout_product(limit, count, 1));
    g->team.squares = SHS__CARVE(l, shs_wide, padded);
    g->team.R = direct ? SHS__CARVE(l, shs_real, shs__layout_product((size_t)g->over->p, count, 1)) : NULL;
    g->team.panel = panel, g->team.limit = limit, g->team.scratch = g->scratch;
    if (!g->signals) return;
    g->team.A = g->alpha + 2 * padded;
    if (direct) g->signals->B = g->alpha + padded;
    g->signals->team = &g->team;
}

SHS__PRIVATE void shs__coder_layout(shs__layout *l, shs__coder *c, int workers) {
    const shs_omp_options *o = c->options;
    shs__omp_dictionary *over = &c->over;
    const int n = over->n, p = over->p;
    size_t columns, scratch, panel = 0, k;
    int i, count;
    c->use_gram = p == 0 || shs__omp_gram_pays(p, n, c->m, c->stride, o);
    over->weighted = shs__omp_weighted(o);
    c->group = o->signals_per_group ? o->signals_per_group : shs__coder_default_group(n);
    c->group = shs__zmin(c->group, shs__zmin(shs__zmax(c->m, 1), c->use_gram ? INT_MAX : SHS__DIRECT_GROUP));
    c->chunks = shs__ctx_chunks(c->m, c->group);
    count = c->use_gram ? SHS__ABREAST : (int)c->group;
    columns = c->use_gram ? c->group : (size_t)shs__omp_columns(count, o->selection);
    if (o->groups) {
        for (c->group = 1, k = 0; k < o->group_count; k++)
            c->group = shs__zmax(c->group, shs__team_end(o, c->m, k) - o->groups[k]);
        panel = shs__zmin(c->group, shs__coder_default_group(n));
        c->chunks = o->group_count, count = 1, columns = (c->use_gram ? c->group : panel) + 2; /* the team's own, and b_k */
    }
    over->selection = o->selection, over->nonnegative = o->nonnegative;
    over->padded = c->use_gram && !o->gram ? shs__omp_padded(n) : n;
    over->ldg = (size_t)(o->gram ? o->ldg : over->padded);
    c->own_gram = NULL;
    if (c->use_gram && !o->gram) c->own_gram = SHS__CARVE(l, shs_real, shs__layout_product(over->ldg, (size_t)n, 1));
    scratch = p ? shs__la_gemm_scratch(n, (int)shs__zmin(columns, INT_MAX), p) : 0;
    if (c->use_gram && !o->gram) scratch = shs__zmax(scratch, shs__la_gemm_scratch(n, SHS__GRAM_BLOCK, p));
    c->squares = over->weighted ? SHS__CARVE(l, shs_real, shs__layout_product((size_t)p, (size_t)n, 1)) : NULL;
    over->diagonal = NULL;
    if (over->weighted || shs__omp_distances(o->selection))
        over->diagonal = SHS__CARVE(l, shs_real, (size_t)shs__omp_padded(n));
    c->sums = SHS__CARVE(l, shs__coder_sums, SHS__CODER_ROUND);
    c->flags = SHS__CARVE(l, unsigned char, (size_t)workers);
    c->groups = SHS__CARVE(l, shs__omp_group, (size_t)workers);
    for (i = 0; i < workers; i++) {
        shs__omp_group counted;
        shs__omp_group *g = c->groups ? c->groups + i : &counted;
        shs__omp_layout_group(l, g, over, !c->use_gram, c->stride, count, columns, scratch, NULL);
        if (o->groups) shs__team_layout(l, g, !c->use_gram, c->group, panel, (size_t)c->stride);
    }
}

/* One block of columns of the Gram matrix: the rows from its first column on, zeros below, and the same values as rows. */
SHS__PRIVATE void shs__omp_gram_chunk(void *arg, size_t chunk, int worker) {
    const shs__coder *c = (const shs__coder *)arg;
    const shs__omp_dictionary *d = &c->over;
    int first = (int)chunk * SHS__GRAM_BLOCK, count = shs__imin(SHS__GRAM_BLOCK, d->n - first), ldg = (int)d->ldg, i, j;
    shs_real *G = c->own_gram;
    shs__la_gemm_serial(SHS_TRANS_YES, SHS_TRANS_NO, d->n - first, count, d->p, 1, SHS__AT(d->D, d->ldd, 0, first), d->ldd,
                        SHS__AT(d->D, d->ldd, 0, first), d->ldd, 0, SHS__AT(G, ldg, first, first), ldg,
                        c->groups[worker].scratch);
    for (j = first; j < first + count; j++) memset(SHS__AT(G, ldg, d->n, j), 0, (size_t)(ldg - d->n) * sizeof(shs_real));
    for (i = first; i < d->n; i++)
        for (j = first; j < shs__imin(i, first + count); j++) *SHS__AT(G, ldg, j, i) = *SHS__AT(G, ldg, i, j);
}

/* What follows from a new dictionary: the Gram matrix, where one is used and the caller gave none, and its diagonal. */
SHS__PRIVATE void shs__coder_dictionary(const shs_context *ctx, shs__coder *c, const shs_real *D, int ldd) {
    shs__omp_dictionary *d = &c->over;
    int i, j;
    d->D = D;
    d->ldd = ldd;
    d->G = !c->use_gram ? NULL : c->own_gram ? c->own_gram : c->options->gram;
    if (c->own_gram)
        shs__ctx_parallel(ctx, shs__ctx_product_work(d->n, d->n, d->p), shs__ctx_chunks((size_t)d->n, SHS__GRAM_BLOCK),
                          shs__omp_gram_chunk, c);
    shs__omp_set_diagonal(d);
    for (j = 0; c->squares && j < d->n; j++)
        for (i = 0; i < d->p; i++) *SHS__AT(c->squares, d->p, i, j) = *SHS__AT(D, ldd, i, j) * *SHS__AT(D, ldd, i, j);
}

SHS__PRIVATE int shs__omp_limit_of(const shs__coder *c, size_t i) {
    const shs_omp_options *o = c->options;
    int limit = o->sparsity_each ? o->sparsity_each[i] : o->sparsity > 0 ? o->sparsity : c->stride;
    return shs__imin(limit, c->stride);
}

SHS__PRIVATE shs_real shs__omp_tolerance_of(const shs__coder *c, size_t i) {
    return c->options->tolerance_each ? c->options->tolerance_each[i] : c->options->tolerance;
}

SHS__PRIVATE int shs__omp_is_nan(shs_real x) {
#ifdef SPARSEHS_DOUBLE
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits << 1 > (uint64_t)0x7ff << 53;
#else
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits << 1 > (uint32_t)0xff << 24;
#endif
}

/* The weight of element l of signal i. */
SHS__PRIVATE shs_real shs__omp_weight(const shs__coder *c, int l, size_t i) {
    const shs_omp_options *o = c->options;
    if (o->mask && !*SHS__AT(o->mask, o->ldm, l, i)) return 0;
    if (o->skip_nan && shs__omp_is_nan(*SHS__AT(c->Y, c->ldy, l, i))) return 0;
    return o->weights ? *SHS__AT(o->weights, o->ldw, l, i) : 1;
}

/* Signals first .. end-1 without what is missing, the roots of their weights, and the lengths of the atoms under them. An atom
   of which only rounding is left has none. */
SHS__OUTLINE void shs__coder_weigh(const shs__coder *c, const shs__omp_group *g, size_t first, size_t end,
                                   shs__coder_sums *sums) {
    const shs__omp_dictionary *d = g->over;
    const int p = d->p, padded = shs__omp_padded(d->n);
    size_t i;
    int j, l;
    for (i = 0; i < end - first; i++) {
        shs_wide total = 0;
        for (l = 0; l < p; l++) {
            const shs_real weight = shs__omp_weight(c, l, first + i);
            *SHS__AT(g->roots, p, l, i) = weight, total += (shs_wide)weight;
            *SHS__AT(g->clean, p, l, i) = weight > 0 ? *SHS__AT(c->Y, c->ldy, l, first + i) : 0;
        }
        shs__sum_add(&sums->weight, total);
    }
    shs__la_gemm_serial(SHS_TRANS_YES, SHS_TRANS_NO, d->n, (int)(end - first), p, 1, c->squares, p, g->roots, p, 0,
                        g->diagonals, padded, g->scratch);
    for (i = 0; i < end - first; i++) {
        shs_real *lengths2 = SHS__AT(g->diagonals, padded, 0, i), most = 0;
        for (l = 0; l < p; l++) {
            shs_real *root = SHS__AT(g->roots, p, l, i);
            if (*root > most) most = *root;
            *root = SHS__SQRT(*root);
        }
        for (j = 0; j < padded; j++)
            if (j >= d->n || !(lengths2[j] > SHS__OMP_GUARD * most * d->diagonal[j])) lengths2[j] = 0;
    }
}

/* ||y||^2 of signal i, where it is known. */
SHS__PRIVATE shs_wide shs__coder_norm2(const shs__coder *c, size_t i) {
    if (c->over.p) return shs__la_norm2(c->over.p, SHS__AT(c->Y, c->ldy, 0, i));
    return c->norms2 ? (shs_wide)c->norms2[i] : 0;
}

/* Makes w ready for signal i; its atoms and coefficients go straight to the codes. */
SHS__PRIVATE void shs__coder_begin(const shs__coder *c, shs__omp_signal *w, size_t i) {
    w->y = w->root ? w->clean : c->over.p ? SHS__AT(c->Y, c->ldy, 0, i) : NULL;
    w->atoms = c->codes->atoms + i * (size_t)c->codes->stride;
    w->x = c->codes->coefs + i * (size_t)c->codes->stride;
    shs__omp_begin(w, w->root ? shs__omp_weighted_norm2(w) : shs__coder_norm2(c, i), shs__omp_limit_of(c, i),
                   shs__omp_tolerance_of(c, i));
}

SHS__PRIVATE void shs__coder_end(const shs__coder *c, const shs__omp_signal *w, size_t i, shs__coder_sums *sums) {
    size_t rest = (size_t)(c->codes->stride - w->chosen); /* slots, which hold zeros */
    c->codes->used[i] = w->chosen;
    memset(w->atoms + w->chosen, 0, rest * sizeof(int));
    memset(w->x + w->chosen, 0, rest * sizeof(shs_real));
    sums->nonzeros += (size_t)w->chosen;
    sums->not_reached += shs__omp_tolerance_of(c, i) > 0 && !w->reached; /* the square may underflow */
    shs__sum_add(&sums->sum2, w->residual2);
    if (c->errors2) c->errors2[i] = (shs_real)w->residual2;
}

/* alpha = D'Y of signals first .. end-1: formed, or the caller's. */
SHS__PRIVATE void shs__coder_correlate(const shs__coder *c, const shs__omp_group *g, size_t first, size_t end,
                                       shs_real *columns) {
    const shs__omp_dictionary *d = g->over;
    const size_t n = (size_t)d->n, padded = (size_t)d->padded;
    size_t i;
    if (d->p)
        shs__la_gemm_serial(SHS_TRANS_YES, SHS_TRANS_NO, d->n, (int)(end - first), d->p, 1, d->D, d->ldd,
                            SHS__AT(c->Y, c->ldy, 0, first), c->ldy, 0, columns, d->padded, g->scratch);
    for (i = first; i < end; i++) {
        shs_real *alpha = columns + (i - first) * padded;
        if (!d->p) memcpy(alpha, SHS__AT(c->Y, c->ldy, 0, i), n * sizeof(shs_real));
        memset(alpha + n, 0, (padded - n) * sizeof(shs_real));
    }
}

/* A group of signals with the Gram matrix: D'Y for all of them, then a few abreast, in turns. Each step waits for the one
   before to say which atom it takes; the others' steps fill that time. */
SHS__OUTLINE void shs__omp_code_with_gram(const shs__coder *c, size_t first, size_t end, int worker, shs__coder_sums *sums) {
    const shs__omp_group *g = c->groups + worker;
    shs__omp_signal *abreast = g->signals;
    size_t i;
    shs__coder_correlate(c, g, first, end, g->alpha);
    for (i = first; i < end && g->over->nonnegative; i++) {
        abreast->alpha = g->alpha + (i - first) * (size_t)g->over->padded;
        shs__coder_begin(c, abreast, i);
        shs__nn_pursue_gram(abreast, SHS__OMP_GRAM);
        shs__coder_end(c, abreast, i, sums);
    }
    for (; i < end; i += SHS__ABREAST) {
        int count = (int)shs__zmin(SHS__ABREAST, end - i), has_next = 1, k;
        for (k = 0; k < count; k++) {
            abreast[k].alpha = g->alpha + (i + (size_t)k - first) * (size_t)g->over->padded;
            shs__coder_begin(c, abreast + k, i + (size_t)k);
            shs__omp_choose(abreast + k);
        }
        while (has_next)
            for (k = 0, has_next = 0; k < count; k++) has_next |= shs__omp_step(abreast + k, SHS__OMP_GRAM);
        for (k = 0; k < count; k++) {
            shs__omp_finish(abreast + k);
            shs__coder_end(c, abreast + k, i + (size_t)k, sums);
        }
    }
}

SHS__OUTLINE void shs__omp_code_direct(const shs__coder *c, size_t first, size_t end, int worker, shs__coder_sums *sums) {
    const shs__omp_group *g = c->groups + worker;
    size_t i;
    if (g->over->weighted) shs__coder_weigh(c, g, first, end, sums);
    for (i = first; i < end; i++) shs__coder_begin(c, g->signals + (i - first), i);
    shs__omp_pursue_group(g, (int)(end - first), shs__omp_correlate_group);
    for (i = first; i < end; i++) shs__coder_end(c, g->signals + (i - first), i, sums);
}

/* Signals that share their atoms. Those of the first one are its own place in the codes; the others get them in the end, when
   each one's coefficients are solved for. */
SHS__OUTLINE void shs__omp_code_team(const shs__coder *c, size_t first, size_t end, int worker, shs__coder_sums *sums) {
    shs__omp_group *g = c->groups + worker;
    shs__omp_signal *w = g->signals, member;
    shs__omp_team *team = &g->team;
    const int p = c->over.p;
    shs__sum norm2 = SHS_ZERO;
    size_t i;
    int k, tries;
    team->count = end - first, team->ldy = c->ldy, team->stride = c->codes->stride;
    team->Y = p ? SHS__AT(c->Y, c->ldy, 0, first) : NULL, team->X = SHS__AT(c->codes->coefs, team->stride, 0, first);
    w->y = team->Y, w->x = team->X, w->atoms = c->codes->atoms + first * (size_t)team->stride;
    for (i = first; i < end; i++) {
        shs__sum_add(&norm2, shs__coder_norm2(c, i));
        if (team->R) memcpy(team->R + (i - first) * (size_t)p, SHS__AT(c->Y, c->ldy, 0, i), (size_t)p * sizeof(shs_real));
    }
    shs__omp_begin(w, shs__sum_value(&norm2), shs__omp_limit_of(c, first), shs__omp_tolerance_of(c, first));
    if (!team->R) shs__coder_correlate(c, g, first, end, team->A);
    if (!w->reached && w->limit > 0) {
        do shs__team_choose(w);
        while (shs__omp_step(w, SHS__OMP_TEAM));
    }
    for (tries = 0; tries < 2 && w->y && !w->reached && shs__omp_decide(w); tries++)
        if (!shs__team_confirm(w)) shs__team_refresh(w, 1);
    for (i = 0; i < team->count; i++) {
        const shs_wide before = shs__coder_norm2(c, first + i);
        shs__team_member(w, i, &member);
        member.residual2 = team->R && w->chosen > 0 ? shs__kernels_vector()->norm2(p, member.r) : before;
        for (k = 0; k < w->chosen && !team->R; k++) member.residual2 -= (shs_wide)member.t[k] * (shs_wide)member.t[k];
        shs__omp_solve(&member);
        if (w->y && w->chosen > 0 && (w->refreshes || member.residual2 <= SHS__OMP_TRUST2 * before))
            (void)shs__omp_measure(&member); /* too small for the recurrence */
        if (member.residual2 < 0) member.residual2 = 0;
        member.atoms = c->codes->atoms + (first + i) * (size_t)team->stride;
        memmove(member.atoms, w->atoms, (size_t)w->chosen * sizeof(int));
        member.reached |= i > 0; /* a group counts once */
        shs__coder_end(c, &member, first + i, sums);
    }
}

/* The first signal of a chunk, or the number of signals. */
SHS__PRIVATE size_t shs__coder_first(const shs__coder *c, size_t chunk) {
    return chunk >= c->chunks ? c->m : c->options->groups ? c->options->groups[chunk] : chunk * c->group;
}

SHS__PRIVATE void shs__coder_chunk(void *arg, size_t chunk, int worker) {
    const shs__coder *c = (const shs__coder *)arg;
    size_t first = shs__coder_first(c, c->first_chunk + chunk), end = shs__coder_first(c, c->first_chunk + chunk + 1);
    int finite;
    if (c->fetch) c->fetch(c->source, first, end);
    finite = !c->fetch || shs__finite_columns(c->over.p, end - first, SHS__AT(c->Y, c->ldy, 0, first), c->ldy);
    memset(c->sums + chunk, 0, sizeof *c->sums);
    if (!finite) c->flags[worker] = 1;
    else if (c->options->groups) shs__omp_code_team(c, first, end, worker, c->sums + chunk);
    else if (c->use_gram) shs__omp_code_with_gram(c, first, end, worker, c->sums + chunk);
    else shs__omp_code_direct(c, first, end, worker, c->sums + chunk);
    if (finite && c->after) (void)shs__synthesize(c->after, first, end, worker);
}

/* Codes all signals; the dictionary is in place. phase NULL: silently, as a stage of something larger. */
SHS__PRIVATE shs_status shs__coder_run(const shs_context *ctx, shs__coder *c, const char *phase, shs_omp_report *report) {
    shs_wide work = shs__ctx_product_work(c->over.n, c->over.p, 1) + (shs_wide)c->over.n; /* a signal */
    shs__sum sum2 = SHS_ZERO, weight = SHS_ZERO;
    shs_status status = SHS_OK;
    memset(report, 0, sizeof *report);
    for (c->first_chunk = 0; c->first_chunk < c->chunks && status == SHS_OK; c->first_chunk += SHS__CODER_ROUND) {
        size_t count = shs__zmin(SHS__CODER_ROUND, c->chunks - c->first_chunk), k, done;
        shs__ctx_parallel(ctx, (shs_wide)(count * c->group) * work, count, shs__coder_chunk, c);
        for (k = 0; k < count; k++) {
            shs__sum_add(&sum2, shs__sum_value(&c->sums[k].sum2));
            shs__sum_add(&weight, shs__sum_value(&c->sums[k].weight));
            report->nonzeros += c->sums[k].nonzeros;
            report->not_reached += c->sums[k].not_reached;
        }
        done = shs__coder_first(c, c->first_chunk + count);
        if (phase) status = shs__ctx_progress(ctx, phase, done, c->m, -1);
        if (status != SHS_OK) memset(c->codes->used + done, 0, (c->m - done) * sizeof(int));
    }
    report->sum2 = shs__sum_value(&sum2);
    report->rmse = c->over.p && c->m ? SHS__WSQRT(report->sum2 / ((shs_wide)c->over.p * (shs_wide)c->m)) : 0;
    if (c->over.weighted) {
        const shs_wide total = shs__sum_value(&weight);
        report->rmse = total > 0 ? SHS__WSQRT(report->sum2 / total) : 0;
    }
    return status;
}

/* ---- the public forms ------------------------------------------------------------------------------- >>omp_public */

/* Signals, or D'Y, of one chunk. */
SHS__PRIVATE void shs__finite_chunk(void *arg, size_t chunk, int worker) {
    const shs__coder *c = (const shs__coder *)arg;
    size_t first = chunk * SHS__SIGNALS_A_CHUNK, count = shs__zmin(c->m - first, SHS__SIGNALS_A_CHUNK);
    int rows = c->over.p ? c->over.p : c->over.n, l;
    size_t i;
    for (i = first; c->over.weighted && i < first + count; i++)
        for (l = 0; l < rows; l++) {
            const shs_real weight = shs__omp_weight(c, l, i);
            if (!shs__finite(1, &weight) || weight < 0) c->flags[worker] |= 2;
            else if (weight > 0 && !shs__finite(1, SHS__AT(c->Y, c->ldy, l, i))) c->flags[worker] |= 1;
        }
    if (!c->over.weighted && !shs__finite_columns(rows, count, SHS__AT(c->Y, c->ldy, 0, first), c->ldy)) c->flags[worker] = 1;
}

/* Whether all of what is to be coded is finite, and what it is weighted with. */
SHS__PRIVATE shs_status shs__coder_finite(const shs_context *ctx, shs__coder *c) {
    size_t workers = (size_t)shs__ctx_workers(ctx), k;
    int flags = 0;
    memset(c->flags, 0, workers);
    shs__ctx_parallel(ctx, (shs_wide)c->m * (shs_wide)(c->over.p ? c->over.p : c->over.n),
                      shs__ctx_chunks(c->m, SHS__SIGNALS_A_CHUNK), shs__finite_chunk, c);
    for (k = 0; k < workers; k++) flags |= c->flags[k];
    if (flags & 2) return SHS_BAD_WEIGHTS;
    return !flags ? SHS_OK : c->over.p ? SHS_SIGNALS_NOT_FINITE : SHS_BAD_CORRELATIONS;
}

SHS__PUBLIC shs_omp_options shs_omp_defaults(int p, int n) {
    shs_omp_options o = SHS_ZERO;
    o.sparsity = shs__imin(p, n);
    o.signals_per_group = shs__coder_default_group(n);
    return o;
}

/* The options for m signals; *stride is lowered to what they can use of it. p = 0: of a Gram matrix. */
SHS__PRIVATE shs_status shs__omp_check_options(int p, int n, size_t m, const shs_omp_options *o, int *stride) {
    const int most = p ? shs__imin(p, n) : n;
    int limit = shs__imin(shs__imax(o->sparsity, 0), most);
    shs_status status = shs__omp_check_choice(o);
    size_t i;
    if (status != SHS_OK) return status;
    if ((unsigned)o->gram_mode > SHS_GRAM_NEVER) return SHS_BAD_OPTIONS;
    if (o->gram ? o->ldg < n : !p) return SHS_BAD_GRAM;
    if (shs__omp_weighted(o) && !p) return SHS_BAD_OPTIONS;
    if ((o->mask && o->ldm < p) || (o->weights && o->ldw != 0 && o->ldw < p)) return SHS_BAD_WEIGHTS;
    if (shs__omp_grouped(o) && (!o->groups || (o->group_count == 0) != (m == 0))) return SHS_BAD_GROUPS;
    for (i = 0; i < o->group_count; i++) {
        const size_t first = o->groups[i], end = shs__team_end(o, m, i);
        if ((i == 0 && first != 0) || end <= first || end > m || end - first > INT_MAX) return SHS_BAD_GROUPS;
    }
    for (i = 0; o->sparsity_each && i < m; i++) {
        if (o->sparsity_each[i] < 0) return SHS_BAD_SPARSITY;
        limit = shs__imax(limit, shs__imin(o->sparsity_each[i], most));
    }
    for (i = 0; o->tolerance_each && i < m; i++)
        if (!shs__tolerance_ok(o->tolerance_each[i])) return SHS_BAD_TOLERANCE;
    if (*stride < limit) return SHS_BAD_CODES;
    *stride = shs__imin(*stride, shs__omp_limited(o) ? limit : most);
    return SHS_OK;
}

/* What a call codes with; p = 0: by the Gram matrix alone. */
SHS__PRIVATE shs_status shs__coder_open(shs__coder *c, int p, int n, size_t m, int stride, const shs_omp_options *options) {
    static const shs_omp_options zero = SHS_ZERO;
    memset(c, 0, sizeof *c);
    c->over.p = p, c->over.n = n, c->m = m, c->stride = stride;
    c->options = options ? options : &zero;
    return shs__omp_check_options(p, n, m, c->options, &c->stride);
}

SHS__PUBLIC size_t shs_omp_workspace(const shs_context *ctx, int p, int n, size_t m, int stride,
                                     const shs_omp_options *options) {
    shs__coder c;
    shs__layout l = SHS_ZERO;
    if (p < 0 || n < 1 || stride < 0 || shs__coder_open(&c, p, n, m, stride, options) != SHS_OK) return SIZE_MAX;
    shs__coder_layout(&l, &c, shs__ctx_workers(ctx));
    return shs__layout_query(&l);
}

SHS__PUBLIC shs_status shs_omp(const shs_context *ctx, int p, int n, const shs_real *D, size_t m, const shs_real *Y,
                               int sparsity, shs_codes *codes) {
    shs_omp_options o = SHS_ZERO;
    o.sparsity = sparsity;
    return shs_omp_ex(ctx, p, n, D, p, m, Y, p, &o, codes, NULL, NULL);
}

/* ---- coding: here, or on the context's engine ------------------------------------------------------- >>omp_engine */

/* Opens a session on the engine if it has every entry that the job needs. */
SHS__PRIVATE shs_status shs__omp_engine_open(const shs_context *ctx, const shs__coder *c, int learning, void **session) {
    const shs_engine *e = ctx->engine;
    int codes = e->signals_open && e->signals_dictionary && e->signals_code && e->signals_fetch && e->signals_close;
    int learns = e->signals_residual && e->signals_gather && e->signals_update;
    shs_signals_job job = SHS_ZERO;
    if (c->options->nonnegative || shs__omp_weighted(c->options) || shs__omp_grouped(c->options))
        return SHS_UNSUPPORTED; /* of any engine */
    job.p = c->over.p, job.n = c->over.n, job.m = c->m, job.Y = c->Y, job.ldy = c->ldy, job.stride = c->stride;
    job.coding = c->options, job.learning = learning;
    return codes && (learns || !learning) ? e->signals_open(e->user, ctx, &job, session) : SHS_UNSUPPORTED;
}

/* A session for one coding. */
SHS__PRIVATE shs_status shs__omp_engine_code(const shs_context *ctx, const shs__coder *c, shs_omp_report *report) {
    const shs_engine *e = ctx->engine;
    void *session = NULL;
    shs_status status = shs__omp_engine_open(ctx, c, 0, &session);
    if (status != SHS_OK) return status;
    status = e->signals_dictionary(session, c->over.D, c->over.ldd);
    if (status == SHS_OK) status = e->signals_code(session, c->errors2, NULL, report);
    if (status == SHS_OK || status == SHS_CANCELLED) { /* the codes until then are valid */
        shs_status fetched = e->signals_fetch(session, c->codes);
        if (fetched != SHS_OK) status = fetched;
    }
    e->signals_close(session);
    return status;
}

/* Whether the CPU is to code; otherwise the engine has, or *status says why not. No engine codes by D'Y alone. */
SHS__PRIVATE int shs__codes_here(const shs_context *ctx, const shs__coder *c, shs_omp_report *report, shs_status *status) {
    const shs_engine *e = ctx && c->over.p ? ctx->engine : NULL;
    int here;
    *status = e ? shs__omp_engine_code(ctx, c, report) : SHS_OK;
    here = shs__ctx_cpu_takes_over(e, *status);
    if (here) *status = SHS_OK;
    return here;
}

/* Whether a dictionary's atoms, and the Gram matrix that a caller has of them, are numbers. */
SHS__OUTLINE shs_status shs__coder_matrices(const shs__omp_dictionary *d, const shs_real *gram, int ldg) {
    if (d->p && !shs__finite_columns(d->p, (size_t)d->n, d->D, d->ldd)) return SHS_DICTIONARY_NOT_FINITE;
    return gram && !shs__finite_columns(d->n, (size_t)d->n, gram, ldg) ? SHS_BAD_GRAM : SHS_OK;
}

/* All that is left when a form's own arguments were checked. */
SHS__OUTLINE shs_status shs__omp_code(const shs_context *ctx, shs__coder *c, shs_omp_report *report) {
    const shs__omp_dictionary *d = &c->over;
    shs_omp_report own = SHS_ZERO;
    shs__layout l = SHS_ZERO;
    shs_status status = shs__coder_matrices(d, c->options->gram, c->options->ldg);
    if (status != SHS_OK) return status;
    if (shs__codes_here(ctx, c, &own, &status)) {
        while (shs__layout_next(ctx, &l, &status)) shs__coder_layout(&l, c, shs__ctx_workers(ctx));
        if (status == SHS_OK) status = shs__coder_finite(ctx, c);
        if (status == SHS_OK) {
            shs__coder_dictionary(ctx, c, d->D, d->ldd);
            status = shs__coder_run(ctx, c, "coding", &own);
        }
        shs__layout_release(ctx, &l);
    }
    if (report && (status == SHS_OK || status == SHS_CANCELLED)) *report = own;
    return status;
}

/* The fast form of shs_omp_naive. */
SHS__PUBLIC shs_status shs_omp_ex(const shs_context *ctx, int p, int n, const shs_real *D, int ldd, size_t m, const shs_real *Y,
                                  int ldy, const shs_omp_options *options, shs_codes *codes, shs_real *errors2,
                                  shs_omp_report *report) {
    shs__coder c;
    shs_status status = shs__omp_check_signals(ctx, p, n, D, ldd, m, Y, ldy);
    if (status != SHS_OK) return status;
    if (!shs__codes_ok(codes, m)) return SHS_BAD_CODES;
    status = shs__coder_open(&c, p, n, m, codes->stride, options);
    c.over.D = D, c.over.ldd = ldd, c.Y = Y, c.ldy = ldy, c.codes = codes, c.errors2 = errors2;
    return status == SHS_OK ? shs__omp_code(ctx, &c, report) : status;
}

SHS__PUBLIC shs_status shs_omp_gram(const shs_context *ctx, int n, size_t m, const shs_real *dty, int ldt,
                                    const shs_real *norms2, const shs_omp_options *options, shs_codes *codes, shs_real *errors2,
                                    shs_omp_report *report) {
    shs__coder c;
    size_t i, k;
    shs_status status = shs__omp_check_correlations(ctx, n, m, dty, ldt);
    if (status != SHS_OK) return status;
    if (!options) return SHS_BAD_OPTIONS;
    if (!shs__codes_ok(codes, m)) return SHS_BAD_CODES;
    status = shs__coder_open(&c, 0, n, m, codes->stride, options);
    for (i = 0; i < m && status == SHS_OK && !c.options->groups; i++)
        status = shs__omp_check_norm(norms2 ? norms2 + i : NULL, shs__omp_tolerance_of(&c, i), errors2 || report);
    for (i = 0; i < c.options->group_count && status == SHS_OK; i++) {
        const shs_real tolerance = shs__omp_tolerance_of(&c, c.options->groups[i]);
        const size_t end = shs__team_end(c.options, m, i);
        shs_wide whole = 0;
        for (k = c.options->groups[i]; k < end && status == SHS_OK; k++) {
            status = shs__omp_check_norm(norms2 ? norms2 + k : NULL, 0, errors2 || report || tolerance > 0);
            whole += status == SHS_OK && norms2 ? (shs_wide)norms2[k] : 0;
        }
        if (status == SHS_OK && tolerance > 0 && (shs_wide)tolerance * (shs_wide)tolerance < SHS__OMP_TRUST2 * whole)
            status = SHS_TOLERANCE_TOO_SMALL;
    }
    c.Y = dty, c.ldy = ldt, c.norms2 = norms2, c.codes = codes, c.errors2 = errors2;
    return status == SHS_OK ? shs__omp_code(ctx, &c, report) : status;
}

#endif /* SHS__ALL_PARTS */

/* ---- one signal at a time ------------------------------------------------------------------------------ >>omp_one */

typedef struct shs__omp_one {
    shs__omp_dictionary over;
    shs__omp_signal w;
    shs__omp_group g;
    shs_omp_options o;
    shs__layout l;
} shs__omp_one;

SHS__PRIVATE void shs__omp_one_layout(shs__omp_one *one) {
    const int direct = one->over.p > 0, columns = direct ? shs__omp_columns(1, one->o.selection) : 1;
    shs__omp_layout_group(&one->l, &one->g, &one->over, direct, one->o.sparsity, 1, (size_t)columns, 0, &one->w);
    if (shs__omp_distances(one->o.selection))
        one->over.diagonal = SHS__CARVE(&one->l, shs_real, (size_t)shs__omp_padded(one->over.n));
}

/* Checks the options and counts what they take of memory. p = 0: by the Gram matrix alone. */
SHS__OUTLINE shs_status shs__omp_one_open(shs__omp_one *one, int p, int n, const shs_omp_options *options) {
    const int most = p ? shs__imin(p, n) : n;
    shs_status status;
    memset(one, 0, sizeof *one);
    if (options) one->o = *options;
    status = shs__omp_weighted(&one->o) || shs__omp_grouped(&one->o) ? SHS_BAD_OPTIONS : shs__omp_check_choice(&one->o);
    if (status != SHS_OK) return status;
    one->o.sparsity = one->o.sparsity > 0 ? shs__imin(one->o.sparsity, most) : most;
    one->over.p = p, one->over.n = one->over.padded = n, one->over.selection = one->o.selection;
    one->over.nonnegative = one->o.nonnegative;
    shs__omp_one_layout(one);
    return one->l.overflow ? SHS_TOO_LARGE : SHS_OK;
}

SHS__PUBLIC size_t shs_omp_one_workspace(int n, const shs_omp_options *options) {
    shs__omp_one one;
    return n < 1 || shs__omp_one_open(&one, 0, n, options) != SHS_OK ? SIZE_MAX : shs__layout_size(&one.l);
}

SHS__PUBLIC size_t shs_omp_one_direct_workspace(int p, int n, const shs_omp_options *options) {
    shs__omp_one one;
    return p < 1 || n < 1 || shs__omp_one_open(&one, p, n, options) != SHS_OK ? SIZE_MAX : shs__layout_size(&one.l);
}

/* Carves the caller's memory; the dictionary is in place. */
SHS__OUTLINE shs_status shs__omp_one_begin(shs__omp_one *one, void *workspace, size_t size, int *atoms, shs_real *coefs,
                                           const int *used, shs_wide norm2) {
    if (!used || !atoms || !coefs) return SHS_BAD_OUTPUT;
    if (!workspace || size < shs__layout_size(&one->l)) return SHS_BAD_WORKSPACE;
    shs__layout_begin(&one->l, workspace);
    shs__omp_one_layout(one);
    shs__omp_set_diagonal(&one->over);
    one->w.atoms = atoms, one->w.x = coefs;
    shs__omp_begin(&one->w, norm2, one->o.sparsity, one->o.tolerance);
    return SHS_OK;
}

SHS__PRIVATE void shs__omp_one_end(shs__omp_one *one, int *used, shs_real *error2) {
    *used = one->w.chosen;
    if (error2) *error2 = (shs_real)one->w.residual2;
    SHS__UNPOISON(one->l.base, one->l.size);
}

SHS__PUBLIC shs_status shs_omp_one(int n, const shs_real *gram, int ldg, const shs_real *dty, shs_real norm2,
                                   const shs_omp_options *options, void *workspace, size_t workspace_size, int *atoms,
                                   shs_real *coefs, int *used, shs_real *error2) {
    shs__omp_one one;
    shs_status status;
    if (n < 1) return SHS_BAD_N;
    if (!gram || ldg < n) return SHS_BAD_GRAM;
    if (!dty || !shs__finite((size_t)n, dty)) return SHS_BAD_CORRELATIONS;
    status = shs__omp_one_open(&one, 0, n, options);
    if (status == SHS_OK) status = shs__omp_check_norm(&norm2, one.o.tolerance, 0);
    if (!shs__finite(1, &norm2) || norm2 < 0) norm2 = 0;
    one.over.G = gram, one.over.ldg = (size_t)ldg;
    if (status == SHS_OK) status = shs__omp_one_begin(&one, workspace, workspace_size, atoms, coefs, used, (shs_wide)norm2);
    if (status != SHS_OK) return status;
    memcpy(one.w.alpha, dty, (size_t)n * sizeof(shs_real));
    if (SHS__OMP_IF_NONNEGATIVE(one.o.nonnegative)) shs__nn_pursue_gram(&one.w, SHS__OMP_GRAM_ALONE);
    else {
        shs__omp_choose(&one.w);
        while (shs__omp_step(&one.w, SHS__OMP_GRAM_ALONE)) {}
        shs__omp_solve(&one.w);
    }
    shs__omp_one_end(&one, used, error2);
    return SHS_OK;
}

SHS__PUBLIC shs_status shs_omp_one_direct(int p, int n, const shs_real *D, int ldd, const shs_real *y,
                                          const shs_omp_options *options, void *workspace, size_t workspace_size, int *atoms,
                                          shs_real *coefs, int *used, shs_real *error2) {
    shs__omp_one one;
    shs_status status = shs__omp_check_dictionary(p, n, D, ldd);
    if (status != SHS_OK) return status;
    if (!y) return SHS_BAD_SIGNALS;
    if (!shs__finite((size_t)p, y)) return SHS_SIGNALS_NOT_FINITE;
    status = shs__omp_one_open(&one, p, n, options);
    one.over.D = D, one.over.ldd = ldd, one.w.y = y;
    if (status == SHS_OK) status = shs__omp_one_begin(&one, workspace, workspace_size, atoms, coefs, used, shs__la_norm2(p, y));
    if (status != SHS_OK) return status;
    shs__omp_pursue_group(&one.g, 1, shs__omp_correlate_one);
    shs__omp_one_end(&one, used, error2);
    return SHS_OK;
}

#ifdef SHS__ALL_PARTS
/* ---- the naive twin ---------------------------------------------------------------------------------- >>omp_naive */

SHS__PUBLIC int shs_omp_naive(int p, int n, const shs_real *D, const shs_real *y, int s, shs_wide tolerance,
                              shs_wide (*score)(shs_wide alpha, shs_wide gjj, shs_wide d2), int *atoms, shs_wide *x,
                              shs_wide *r, shs_wide *Q, shs_wide *R) {
    shs_wide first = 0, error2 = 0;
    ptrdiff_t i, j, q, k;
    for (i = 0; i < p; i++) r[i] = (shs_wide)y[i], error2 += r[i] * r[i];
    for (k = 0; k < s && k < p && !(tolerance > 0 && error2 <= tolerance * tolerance); k++) {
        shs_wide largest = -1, along = 0, whole = 0, left = 0, *u = Q + k * p;
        for (j = 0; j < n; j++) { /* choose the atom of the largest score */
            shs_wide alpha = 0, gjj = 0, d2, value;
            const shs_real *d = D + j * p;
            for (i = 0; i < p; i++) alpha += (shs_wide)d[i] * r[i], gjj += (shs_wide)d[i] * (shs_wide)d[i];
            for (d2 = gjj, q = 0; score && q < k; q++) { /* its squared distance from the span of those chosen */
                shs_wide c = 0;
                for (i = 0; i < p; i++) c += (shs_wide)d[i] * Q[i + q * p];
                d2 -= c * c;
            }
            value = score ? score(alpha, gjj, d2) : shs__wabs(alpha);
            if (value > largest) largest = value, along = shs__wabs(alpha), atoms[k] = (int)j;
        }
        if (k == 0) first = along;
        if (!(along > (shs_wide)SHS__EPS * first / 100)) break; /* nothing is left but rounding */
        for (i = 0; i < p; i++) u[i] = (shs_wide)D[i + (ptrdiff_t)atoms[k] * p], whole += u[i] * u[i];
        for (q = 0; q < k; q++) { /* append it: d = sum of R[q,k] Q[.,q], by Gram and Schmidt */
            for (R[q + k * s] = 0, i = 0; i < p; i++) R[q + k * s] += Q[i + q * p] * u[i];
            for (i = 0; i < p; i++) u[i] -= R[q + k * s] * Q[i + q * p];
        }
        for (i = 0; i < p; i++) left += u[i] * u[i];
        if (!(left > (shs_wide)SHS__OMP_GUARD * whole)) break; /* it depends on those chosen before */
        R[k + k * s] = SHS__WSQRT(left);
        for (x[k] = 0, i = 0; i < p; i++) u[i] /= R[k + k * s], x[k] += u[i] * r[i];
        for (error2 = 0, i = 0; i < p; i++) r[i] -= x[k] * u[i], error2 += r[i] * r[i]; /* advance */
    }
    for (j = k - 1; j >= 0; j--) { /* solve R x = Q'y, from the last coefficient back */
        for (q = j + 1; q < k; q++) x[j] -= R[j + q * s] * x[q];
        x[j] /= R[j + j * s];
    }
    return (int)k;
}

SHS__PUBLIC int shs_somp_naive(int p, int n, const shs_real *D, ptrdiff_t m, const shs_real *Y, int s, shs_wide tolerance,
                               shs_wide (*score)(shs_wide alpha, shs_wide gjj, shs_wide d2), int *atoms, shs_wide *X,
                               shs_wide *E, shs_wide *Q, shs_wide *R) {
    shs_wide first = 0, error2 = 0;
    ptrdiff_t i, j, q, k, l;
    for (i = 0; i < p * m; i++) E[i] = (shs_wide)Y[i], error2 += E[i] * E[i];
    for (k = 0; k < s && k < p && !(tolerance > 0 && error2 <= tolerance * tolerance); k++) {
        shs_wide largest = -1, along2 = 0, whole = 0, left = 0, *u = Q + k * p;
        for (j = 0; j < n; j++) { /* choose the atom of the largest sum of scores */
            shs_wide gjj = 0, d2, value = 0, sum = 0;
            const shs_real *d = D + j * p;
            for (i = 0; i < p; i++) gjj += (shs_wide)d[i] * (shs_wide)d[i];
            for (d2 = gjj, q = 0; q < k; q++) { /* its squared distance from the span of those chosen */
                shs_wide c = 0;
                for (i = 0; i < p; i++) c += (shs_wide)d[i] * Q[i + q * p];
                d2 -= c * c;
            }
            for (l = 0; l < m; l++) {
                shs_wide alpha = 0;
                for (i = 0; i < p; i++) alpha += (shs_wide)d[i] * E[i + l * p];
                value += score ? score(alpha, gjj, d2) : alpha * alpha, sum += alpha * alpha;
            }
            if (value > largest) largest = value, along2 = sum, atoms[k] = (int)j;
        }
        if (k == 0) first = along2;
        if (!(along2 > (shs_wide)SHS__EPS * (shs_wide)SHS__EPS * first / 10000)) break; /* nothing is left but rounding */
        for (i = 0; i < p; i++) u[i] = (shs_wide)D[i + (ptrdiff_t)atoms[k] * p], whole += u[i] * u[i];
        for (q = 0; q < k; q++) { /* append it: d = sum of R[q,k] Q[.,q], by Gram and Schmidt */
            for (R[q + k * s] = 0, i = 0; i < p; i++) R[q + k * s] += Q[i + q * p] * u[i];
            for (i = 0; i < p; i++) u[i] -= R[q + k * s] * Q[i + q * p];
        }
        for (i = 0; i < p; i++) left += u[i] * u[i];
        if (!(left > (shs_wide)SHS__OMP_GUARD * whole)) break; /* it depends on those chosen before */
        R[k + k * s] = SHS__WSQRT(left);
        for (i = 0; i < p; i++) u[i] /= R[k + k * s];
        for (error2 = 0, l = 0; l < m; l++) { /* advance */
            for (X[k + l * s] = 0, i = 0; i < p; i++) X[k + l * s] += u[i] * E[i + l * p];
            for (i = 0; i < p; i++) E[i + l * p] -= X[k + l * s] * u[i], error2 += E[i + l * p] * E[i + l * p];
        }
    }
    for (l = 0; l < m; l++)
        for (j = k - 1; j >= 0; j--) { /* solve R x = Q'y, from the last coefficient back */
            for (q = j + 1; q < k; q++) X[j + l * s] -= R[j + q * s] * X[q + l * s];
            X[j + l * s] /= R[j + j * s];
        }
    return (int)k;
}

SHS__PUBLIC int shs_nnomp_naive(int p, int n, const shs_real *D, const shs_real *y, int s, shs_wide tolerance, int *atoms,
                                shs_wide *x, shs_wide *r) {
    shs_wide first = 0, error2 = 0;
    ptrdiff_t i, j, k, l;
    for (i = 0; i < p; i++) r[i] = (shs_wide)y[i], error2 += r[i] * r[i];
    for (k = 0; k < s && !(tolerance > 0 && error2 <= tolerance * tolerance); k++) {
        shs_wide most = 0, change = 1, size = 0;
        int sweeps;
        for (j = 0; j < n; j++) { /* choose the atom of the largest correlation */
            shs_wide alpha = 0;
            int chosen = 0;
            for (i = 0; i < p; i++) alpha += (shs_wide)D[i + j * p] * r[i];
            for (l = 0; l < k; l++) chosen |= atoms[l] == j;
            if (!chosen && alpha > most) most = alpha, atoms[k] = (int)j;
        }
        if (k == 0) first = most;
        if (!(most > (shs_wide)SHS__OMP_GUARD * first)) break;
        for (x[k] = 0, sweeps = 0; change > size * SHS__WIDE_EPS && sweeps < 1000000; sweeps++)
            for (change = size = 0, l = 0; l <= k; l++) { /* each coefficient at its best, not below 0 */
                const shs_real *d = D + (ptrdiff_t)atoms[l] * p;
                shs_wide alpha = 0, norm2 = 0, next;
                for (i = 0; i < p; i++) alpha += (shs_wide)d[i] * r[i], norm2 += (shs_wide)d[i] * (shs_wide)d[i];
                next = x[l] + alpha / norm2 > 0 ? x[l] + alpha / norm2 : 0;
                for (i = 0; i < p; i++) r[i] -= (next - x[l]) * (shs_wide)d[i];
                change += shs__wabs(next - x[l]), size += next;
                x[l] = next;
            }
        for (error2 = 0, i = 0; i < p; i++) error2 += r[i] * r[i];
    }
    return (int)k;
}

#if !defined(SPARSEHS_NO_LASSO) || defined(SPARSEHS_STATIC)
/* ---- the lasso ------------------------------------------------------------------------------------------- >>lasso */

SHS__PUBLIC void shs_lasso_naive(int p, int n, const shs_real *D, const shs_real *y, shs_wide lambda1, shs_wide lambda2,
                                 int nonnegative, int sweeps, shs_wide *x, shs_wide *r) {
    ptrdiff_t i, j;
    for (j = 0; j < n; j++) x[j] = 0;
    for (i = 0; i < p; i++) r[i] = (shs_wide)y[i];
    for (; sweeps > 0; sweeps--)
        for (j = 0; j < n; j++) { /* each coefficient at its best while the others stay */
            const shs_real *d = D + j * p;
            shs_wide alpha = 0, norm2 = 0, next = 0;
            for (i = 0; i < p; i++) alpha += (shs_wide)d[i] * r[i], norm2 += (shs_wide)d[i] * (shs_wide)d[i];
            alpha += norm2 * x[j];
            if (norm2 > 0 && alpha > lambda1) next = (alpha - lambda1) / (norm2 + lambda2);
            if (norm2 > 0 && alpha < -lambda1 && !nonnegative) next = (alpha + lambda1) / (norm2 + lambda2);
            for (i = 0; i < p; i++) r[i] -= (next - x[j]) * (shs_wide)d[i];
            x[j] = next;
        }
}

/* The gap that 0 becomes: what the precision holds with dictionaries that are not too coherent. */
#define SHS__LASSO_GAP (sizeof(shs_real) > sizeof(float) ? (shs_real)1e-10 : (shs_real)1e-5f)

enum {
    SHS__LASSO_FACE = 256, /* coefficients that are solved for together, at most */
    SHS__LASSO_INSIDE = 3, /* sweeps over the support between two of other kinds */
    SHS__LASSO_TURNS = 4   /* times that alpha is formed anew from the coefficients, for each lambda */
};

/* A call's problem. Matrices, signals and chunks are the coder's, which knows the options' Gram matrix alone. */
typedef struct shs__lasso {
    shs__coder c;
    shs_omp_options coding;
    const shs_lasso_options *o;
    const shs_real *lambdas;
    int count;
    shs_real gap; /* what is to be reached, and in how many sweeps */
    int sweeps;
    shs_wide longest2; /* the largest G_jj */
    shs_real *gaps;
    struct shs__lasso_room *rooms; /* one a worker */
    struct shs__lasso_sums *sums;  /* one a chunk of a round */
} shs__lasso;

typedef struct shs__lasso_sums {
    shs__sum objective;
    shs_wide gap;
    size_t nonzeros, not_reached, cut;
} shs__lasso_sums;

/* A signal on its way, within a group. */
typedef struct shs__lasso_signal {
    size_t at;                                   /* which of the m */
    shs_wide norm2, r2, product, gap, objective; /* |y|^2, |r|^2, (Dx)'r; gap in the unit of the objective */
    shs_real lambda1, most, largest;             /* most: the largest |d_j'y|; largest: |d_j'r| */
    int sweeps, cut, support;
} shs__lasso_signal;

/* A worker's scratch. x is 0 but for the support of the signal at hand. M, a, u, L and z are of a face: the coefficients that
   are not 0, with their signs. */
typedef struct shs__lasso_room {
    shs__lasso_signal *signals, **active;
    shs_wide *exact;
    shs_real *x, *M, *a, *u, *L, *z, *factors;
    const shs_real **columns;
    int *support, *index;
} shs__lasso_room;

SHS__PRIVATE void shs__lasso_layout(shs__layout *l, shs__lasso *q, int workers) {
    shs__coder *c = &q->c;
    shs__omp_dictionary *over = &c->over;
    const int n = over->n, p = over->p, own = !c->options->gram;
    const size_t padded = (size_t)shs__omp_padded(n), face = (size_t)shs__imin(n, SHS__LASSO_FACE);
    const size_t cells = shs__layout_product((size_t)shs__omp_padded((int)face + 1), face, 1);
    int i;
    c->use_gram = 1;
    c->group = shs__zmin(shs__coder_default_group(n), shs__zmax(c->m, 1));
    c->chunks = shs__ctx_chunks(c->m, c->group);
    over->padded = own ? (int)padded : n;
    over->ldg = (size_t)(own ? over->padded : c->options->ldg);
    c->own_gram = own ? SHS__CARVE(l, shs_real, shs__layout_product(padded, (size_t)n, 1)) : NULL;
    c->flags = SHS__CARVE(l, unsigned char, (size_t)workers);
    c->groups = SHS__CARVE(l, shs__omp_group, (size_t)workers);
    q->rooms = SHS__CARVE(l, shs__lasso_room, (size_t)workers);
    q->sums = SHS__CARVE(l, shs__lasso_sums, SHS__CODER_ROUND);
    for (i = 0; i < workers; i++) {
        shs__omp_group unused_group, *g = c->groups ? c->groups + i : &unused_group;
        shs__lasso_room unused_room, *w = q->rooms ? q->rooms + i : &unused_room;
        const size_t columns = shs__zmax(c->group, p && own ? SHS__GRAM_BLOCK : 1);
        g->alpha = SHS__CARVE(l, shs_real, shs__layout_product(padded, c->group, 1));
        g->R = SHS__CARVE(l, shs_real, shs__layout_product((size_t)p, c->group, 1));
        g->scratch = SHS__CARVE(l, shs_real, p ? shs__la_gemm_scratch(n, (int)columns, p) : 0);
        w->signals = SHS__CARVE(l, shs__lasso_signal, c->group);
        w->active = SHS__CARVE(l, shs__lasso_signal *, c->group);
        w->exact = SHS__CARVE(l, shs_wide, shs__layout_product((size_t)(p ? p : n), c->group, 1));
        w->x = SHS__CARVE(l, shs_real, (size_t)n);
        w->support = SHS__CARVE(l, int, (size_t)n);
        w->M = SHS__CARVE(l, shs_real, cells);
        w->L = SHS__CARVE(l, shs_real, cells);
        w->a = SHS__CARVE(l, shs_real, face + 16);
        w->u = SHS__CARVE(l, shs_real, face);
        w->z = SHS__CARVE(l, shs_real, face + 16);
        w->factors = SHS__CARVE(l, shs_real, face);
        w->columns = SHS__CARVE(l, const shs_real *, face);
        w->index = SHS__CARVE(l, int, face);
    }
}

/* One sweep over the coefficients that `list` names, or all: each in turn at its best while the others stay, by the `n` rows of
   G, with a = D'r. What is cut off by the bounds is what lambda1 takes, so that no branch depends on a sign. support, unless
   NULL, gets those that are not 0 then. Returns the largest change of an a. */
SHS__OUTLINE shs_real shs__lasso_sweep(const shs__lasso *q, shs__lasso_signal *s, int count, const int *list, int n,
                                       const shs_real *G, size_t ldg, shs_real *a, shs_real *x, int *support) {
    const shs__vector_kernels *kernels = shs__kernels_vector();
    const shs_real high = s->lambda1, low = q->o->nonnegative ? -SHS__REAL_MAX : -high, l2 = q->o->lambda2;
    shs_real most = 0;
    shs_wide less = 0;
    int k, used = 0;
    for (k = 0; k < count; k++) {
        const int j = list ? list[k] : k;
        const shs_real *g = G + (size_t)j * ldg, was = x[j], along = a[j];
        shs_real whole, next, step, change;
        if (support && !(was < 0 || was > 0) && along <= high && along >= low) continue;
        whole = along + g[j] * was;
        next = whole < high ? whole : high;
        next = (whole - (next > low ? next : low)) * (1 / (g[j] + l2));
        if (!(g[j] > 0)) continue;
        x[j] = next, step = next - was, change = shs__abs(step) * g[j];
        if (support && (next < 0 || next > 0)) support[used++] = j;
        if (support && !(change > 0)) continue;
        less += (shs_wide)step * (2 * (shs_wide)along - (shs_wide)step * (shs_wide)g[j]);
        kernels->axpy((size_t)n, -step, g, a);
        most = change > most ? change : most;
    }
    s->r2 -= less, s->support = support ? used : s->support;
    return most;
}

/* From the duality gap to what is known of the residual, which is that of the signal with zeros below and of D with
   sqrt(lambda2) I below: theta = t r has |d_j'theta| <= lambda1 for all j, and is as near to y as that allows. most: of
   |alpha_j - lambda2 x_j|; product: (Dx)'r. */
SHS__PRIVATE void shs__lasso_gap(const shs__lasso *q, shs__lasso_signal *s, shs_wide most, shs_wide product, shs_wide x1,
                                 shs_wide x2) {
    const shs_wide l1 = (shs_wide)s->lambda1, l2 = (shs_wide)q->o->lambda2;
    const shs_wide r2 = (s->r2 > 0 ? s->r2 : 0) + l2 * x2, along = product - l2 * x2;
    shs_wide t = most > l1 ? l1 / most : 1;
    if (r2 + along < t * r2) t = r2 + along > 0 ? (r2 + along) / r2 : 0;
    s->gap = r2 / 2 * (1 - t) * (1 - t) + l1 * x1 - t * along;
    s->objective = r2 / 2 + l1 * x1;
    if (s->gap < 0) s->gap = 0;
}

/* The gap by alpha and x as they are, the support known. exact: r in shs_wide, or alpha where the Gram matrix is all there is;
   then the gap is formed from that and (Dx)'r, and of their alpha only those count that may be the largest but for rounding. */
SHS__OUTLINE void shs__lasso_look(const shs__lasso *q, shs__lasso_signal *s, const shs__lasso_room *w, const shs_real *alpha,
                                  const shs_wide *exact) {
    const shs__omp_dictionary *d = &q->c.over;
    const shs_real l2 = q->o->lambda2, sign = q->o->nonnegative ? 0 : -1;
    shs_wide x1 = 0, x2 = 0, along = 0, most = 0, least;
    int j, i;
    s->largest = 0;
    if (sign < 0 && !(l2 > 0)) s->largest = shs__abs(alpha[shs__kernels_pursuit()->strongest(d->n, alpha)]);
    for (j = 0; (!(sign < 0) || l2 > 0) && j < d->n; j++) {
        const shs_real a = alpha[j] - l2 * w->x[j], b = sign * a;
        s->largest = a > s->largest ? a : s->largest;
        s->largest = b > s->largest ? b : s->largest;
    }
    for (j = 0; j < s->support; j++) {
        const shs_wide x = (shs_wide)w->x[w->support[j]];
        x1 += shs__wabs(x), x2 += x * x, along += x * (shs_wide)alpha[w->support[j]];
    }
    least = (shs_wide)s->largest;
    if (exact) least -= 2 * (shs_wide)SHS__EPS * (least + (shs_wide)d->p * SHS__WSQRT(q->longest2 * s->r2));
    for (j = 0; exact && j < d->n; j++) {
        const shs_wide a = (shs_wide)(alpha[j] - l2 * w->x[j]), b = (shs_wide)sign * a;
        shs_wide sum = -(shs_wide)l2 * (shs_wide)w->x[j];
        if ((a > b ? a : b) < least) continue;
        for (i = 0; i < d->p; i++) sum += (shs_wide)*SHS__AT(d->D, d->ldd, i, j) * exact[i];
        if (!d->p) sum += exact[j];
        if (sum < 0) sum *= (shs_wide)sign;
        most = sum > most ? sum : most;
    }
    shs__lasso_gap(q, s, exact ? most : least, exact ? s->product : along, x1, x2);
}

/* Moves the coefficients u that are not 0 (of k) together towards the minimum for their signs, until the first of them is 0: by
   the Cholesky factor of their part of M + lambda2 I. The row below it is the right-hand side, solved on the way. Returns
   whether none came to 0. */
SHS__OUTLINE int shs__lasso_face(const shs__lasso *q, shs__lasso_signal *s, const shs__lasso_room *w, int k) {
    const shs__vector_kernels *kernels = shs__kernels_vector();
    const shs_real l1 = s->lambda1, l2 = q->o->lambda2;
    const size_t ldm = (size_t)shs__omp_padded(k);
    int count = 0, i, j, first = -1;
    size_t ld;
    shs_real share = 1, inverse;
    for (i = 0; i < k; i++)
        if (w->u[i] < 0 || w->u[i] > 0) w->index[count++] = i;
    ld = (size_t)shs__omp_padded(count + 1);
    for (j = 0; j < count; j++) {
        const shs_real *m = w->M + (size_t)w->index[j] * ldm, u = w->u[w->index[j]], gjj = m[w->index[j]] + l2;
        const int from = j / 16 * 16;
        shs_real *column = w->L + (size_t)j * ld;
        memset(column, 0, ld * sizeof *column);
        for (i = j; i < count; i++) column[i] = m[w->index[i]];
        column[j] += l2;
        column[count] = w->a[w->index[j]] - l2 * u - l1 * (shs_real)((u > 0) - (u < 0));
        for (i = 0; i < j; i++) {
            w->columns[i] = w->L + (size_t)i * ld + from;
            w->factors[i] = -w->L[(size_t)i * ld + (size_t)j];
        }
        kernels->combine((int)ld - from, j, w->columns, w->factors, column + from);
        if (!(column[j] > SHS__OMP_GUARD * gjj)) { /* it depends on those before it, and stays */
            memset(column, 0, ld * sizeof *column);
            column[j] = 1;
        }
        inverse = 1 / SHS__SQRT(column[j]);
        for (i = j; i <= count; i++) column[i] *= inverse;
    }
    for (j = count - 1; j >= 0; j--) {
        const shs_real *column = w->L + (size_t)j * ld, *u = w->u + w->index[j];
        w->z[j] = (column[count] - kernels->dot((size_t)(count - 1 - j), column + j + 1, w->z + j + 1)) / column[j];
        if (!((*u > 0) == (*u + w->z[j] > 0) && (*u < 0) == (*u + w->z[j] < 0)) && -*u / w->z[j] < share)
            share = -*u / w->z[j], first = j;
    }
    for (j = 0; j < count; j++) {
        const shs_real step = share * w->z[j], u = w->u[w->index[j]];
        w->u[w->index[j]] = j == first ? 0 : u + step;
        w->factors[j] = u - w->u[w->index[j]];
        w->columns[j] = w->M + (size_t)w->index[j] * ldm;
        s->r2 += (shs_wide)w->factors[j] * (shs_wide)w->a[w->index[j]];
    }
    kernels->combine((int)ldm, count, w->columns, w->factors, w->a);
    for (j = 0; j < count; j++) s->r2 += (shs_wide)w->factors[j] * (shs_wide)w->a[w->index[j]];
    return first < 0;
}

/* Descends on the k coefficients of the support alone, by their own part of the Gram matrix. Returns whether none came to 0 in
   the end. */
SHS__OUTLINE int shs__lasso_inside(const shs__lasso *q, shs__lasso_signal *s, const shs__lasso_room *w, int k,
                                   shs_real *alpha) {
    const shs__omp_dictionary *over = &q->c.over;
    const size_t ldm = (size_t)shs__omp_padded(k);
    int i, j, whole;
    for (j = 0; j < k; j++) {
        const shs_real *g = over->G + (size_t)w->support[j] * over->ldg;
        for (i = 0; i < k; i++) w->M[(size_t)j * ldm + (size_t)i] = g[w->support[i]];
        for (; i < (int)ldm; i++) w->M[(size_t)j * ldm + (size_t)i] = 0;
        w->u[j] = w->x[w->support[j]], w->a[j] = alpha[w->support[j]];
    }
    for (j = k; j < (int)ldm; j++) w->a[j] = 0;
    for (j = 0; j < SHS__LASSO_INSIDE && s->sweeps < q->sweeps; j++, s->sweeps++)
        (void)shs__lasso_sweep(q, s, k, NULL, (int)ldm, w->M, ldm, w->a, w->u, NULL);
    whole = shs__lasso_face(q, s, w, k);
    for (j = 0; j < k; j++) {
        w->columns[j] = over->G + (size_t)w->support[j] * over->ldg;
        w->factors[j] = w->x[w->support[j]] - w->u[j];
        w->x[w->support[j]] = w->u[j];
    }
    shs__kernels_vector()->combine(over->padded, k, w->columns, w->factors, alpha);
    return whole;
}

/* Sweeps over all coefficients, which find out who else belongs to the support, and descents on it take turns. */
SHS__OUTLINE void shs__lasso_descend(const shs__lasso *q, shs__lasso_signal *s, const shs__lasso_room *w, shs_real *alpha,
                                     shs_wide target) {
    const shs__omp_dictionary *over = &q->c.over;
    int whole = 0;
    while (s->sweeps < q->sweeps) {
        const shs_real most = shs__lasso_sweep(q, s, over->n, NULL, over->padded, over->G, over->ldg, alpha, w->x, w->support);
        int k = s->support, i;
        shs__lasso_look(q, s, w, alpha, NULL);
        s->sweeps++;
        if (s->gap <= target || (whole && !(most > 4 * SHS__EPS * s->most))) break;
        whole = k > SHS__LASSO_FACE || shs__lasso_inside(q, s, w, k, alpha);
        for (i = 0; k > SHS__LASSO_FACE && i < SHS__LASSO_INSIDE && s->sweeps < q->sweeps; i++, s->sweeps++)
            (void)shs__lasso_sweep(q, s, k, w->support, over->padded, over->G, over->ldg, alpha, w->x, NULL);
    }
}

/* x and its support from code `at`. */
SHS__PRIVATE void shs__lasso_load(const shs__lasso *q, shs__lasso_signal *s, const shs__lasso_room *w, size_t at) {
    const shs_codes *codes = q->c.codes;
    int k;
    s->support = codes->used[at];
    memcpy(w->support, codes->atoms + at * (size_t)codes->stride, (size_t)s->support * sizeof(int));
    memset(w->x, 0, (size_t)q->c.over.n * sizeof *w->x);
    for (k = 0; k < codes->used[at]; k++)
        w->x[codes->atoms[at * (size_t)codes->stride + (size_t)k]] = codes->coefs[at * (size_t)codes->stride + (size_t)k];
}

/* And back, by ascending atoms. Of more than it holds the smallest are left out. */
SHS__PRIVATE void shs__lasso_store(const shs__lasso *q, shs__lasso_signal *s, const shs__lasso_room *w, size_t at) {
    const shs_codes *codes = q->c.codes;
    int *atoms = codes->atoms + at * (size_t)codes->stride, k, j;
    shs_real *coefs = codes->coefs + at * (size_t)codes->stride;
    for (k = j = 0; j < q->c.over.n; j++)
        if (w->x[j] < 0 || w->x[j] > 0) w->support[k++] = j;
    for (; k > codes->stride; k--, s->cut = 1) {
        int least = 0;
        for (j = 1; j < k; j++)
            if (shs__abs(w->x[w->support[j]]) < shs__abs(w->x[w->support[least]])) least = j;
        memmove(w->support + least, w->support + least + 1, (size_t)(k - 1 - least) * sizeof(int));
    }
    codes->used[at] = k;
    for (j = 0; j < codes->stride; j++) atoms[j] = j < k ? w->support[j] : 0, coefs[j] = j < k ? w->x[w->support[j]] : 0;
}

/* r of the `count` active signals by their codes alone, in shs_wide, and alpha = D'r; by the Gram matrix alone alpha itself. */
SHS__OUTLINE void shs__lasso_correlate(const shs__lasso *q, const shs__omp_group *g, const shs__lasso_room *w, int which,
                                       int count) {
    const shs__omp_dictionary *d = &q->c.over;
    const shs_codes *codes = q->c.codes;
    const int rows = d->p ? d->p : d->n;
    int i, j, k;
    for (i = 0; i < count; i++) {
        shs__lasso_signal *s = w->active[i];
        const size_t at = (size_t)which * q->c.m + s->at;
        const int *atoms = codes->atoms + at * (size_t)codes->stride;
        const shs_real *coefs = codes->coefs + at * (size_t)codes->stride, *y = SHS__AT(q->c.Y, q->c.ldy, 0, s->at);
        shs_real *column = d->p ? SHS__AT(g->R, d->p, 0, i) : SHS__AT(g->alpha, d->padded, 0, i);
        shs_wide *exact = SHS__AT(w->exact, rows, 0, i);
        shs__sum r2 = SHS_ZERO, product = SHS_ZERO;
        for (j = 0; j < rows; j++) exact[j] = (shs_wide)y[j];
        for (k = 0; k < codes->used[at]; k++)
            shs__la_axpy_wide(rows, -(shs_wide)coefs[k],
                              d->p ? SHS__AT(d->D, d->ldd, 0, atoms[k]) : d->G + (size_t)atoms[k] * d->ldg, exact);
        for (j = 0; j < rows; j++) column[j] = (shs_real)exact[j];
        for (j = 0; d->p && j < rows; j++) {
            shs__sum_add(&r2, exact[j] * exact[j]);
            shs__sum_add(&product, ((shs_wide)y[j] - exact[j]) * exact[j]);
        }
        for (k = 0; !d->p && k < codes->used[at]; k++) {
            shs__sum_add(&product, (shs_wide)coefs[k] * exact[atoms[k]]);
            shs__sum_add(&r2, -(shs_wide)coefs[k] * ((shs_wide)y[atoms[k]] + exact[atoms[k]]));
        }
        if (!d->p) shs__sum_add(&r2, s->norm2), memset(column + rows, 0, (size_t)(d->padded - rows) * sizeof *column);
        s->r2 = shs__sum_value(&r2), s->product = shs__sum_value(&product);
    }
    if (!d->p) return;
    shs__la_gemm_serial(SHS_TRANS_YES, SHS_TRANS_NO, d->n, count, d->p, 1, d->D, d->ldd, g->R, d->p, 0, g->alpha, d->padded,
                        g->scratch);
    for (i = 0; i < count; i++) memset(SHS__AT(g->alpha, d->padded, d->n, i), 0, (size_t)(d->padded - d->n) * sizeof(shs_real));
}

/* The group's signals with one lambda: all whose gap is not reached yet descend, and are looked at again. */
SHS__OUTLINE void shs__lasso_group(const shs__lasso *q, const shs__omp_group *g, const shs__lasso_room *w, int which, int count,
                                   shs__lasso_sums *sums) {
    const shs__omp_dictionary *d = &q->c.over;
    int turn, left, i;
    for (turn = 0; count > 0; turn++, count = left) {
        shs__lasso_correlate(q, g, w, which, count);
        for (left = i = 0; i < count; i++) {
            shs__lasso_signal *s = w->active[i];
            const size_t at = (size_t)which * q->c.m + s->at;
            const shs_wide target = (shs_wide)q->gap * s->norm2 / 2;
            shs__lasso_load(q, s, w, at);
            if (turn == 0 && which == 0)
                shs__lasso_look(q, s, w, SHS__AT(g->alpha, d->padded, 0, i), NULL), s->most = s->largest;
            if (turn == 0) {
                const shs_wide lambda1 = (shs_wide)q->lambdas[which] * (shs_wide)(q->o->relative ? s->most : 1);
                s->lambda1 = lambda1 < (shs_wide)SHS__REAL_MAX ? (shs_real)lambda1 : SHS__REAL_MAX;
                s->sweeps = s->cut = 0;
            }
            shs__lasso_look(q, s, w, SHS__AT(g->alpha, d->padded, 0, i), SHS__AT(w->exact, d->p ? d->p : d->n, 0, i));
            if (!(s->gap <= target) && turn < SHS__LASSO_TURNS && !s->cut && s->sweeps < q->sweeps) {
                shs__lasso_descend(q, s, w, SHS__AT(g->alpha, d->padded, 0, i), turn == 0 ? target / 2 : 0);
                shs__lasso_store(q, s, w, at);
                w->active[left++] = s;
                continue;
            }
            sums->nonzeros += (size_t)q->c.codes->used[at], sums->cut += (size_t)s->cut;
            sums->not_reached += s->cut || !(s->gap <= target);
            shs__sum_add(&sums->objective, s->objective);
            if (s->norm2 > 0) s->gap /= s->norm2 / 2;
            if (s->gap > sums->gap) sums->gap = s->gap;
            if (q->gaps) q->gaps[at] = (shs_real)s->gap;
        }
    }
}

SHS__PRIVATE void shs__lasso_chunk(void *arg, size_t chunk, int worker) {
    const shs__lasso *q = (const shs__lasso *)arg;
    const shs__coder *c = &q->c;
    const shs__lasso_room *w = q->rooms + worker;
    const size_t first = (c->first_chunk + chunk) * c->group, count = shs__zmin(c->group, c->m - first),
                 stride = (size_t)c->codes->stride;
    size_t i;
    int which;
    memset(q->sums + chunk, 0, sizeof *q->sums);
    for (which = 0; which < q->count; which++) {
        for (i = 0; i < count; i++) {
            shs__lasso_signal *s = w->active[i] = w->signals + i;
            const size_t at = (size_t)which * c->m + first + i;
            s->at = first + i;
            if (which == 0) {
                s->norm2 = c->over.p ? shs__la_norm2(c->over.p, SHS__AT(c->Y, c->ldy, 0, s->at)) : (shs_wide)c->norms2[s->at];
                c->codes->used[at] = 0;
                memset(c->codes->atoms + at * stride, 0, stride * sizeof(int));
                memset(c->codes->coefs + at * stride, 0, stride * sizeof(shs_real));
            } else { /* a warm start */
                c->codes->used[at] = c->codes->used[at - c->m];
                memcpy(c->codes->atoms + at * stride, c->codes->atoms + (at - c->m) * stride, stride * sizeof(int));
                memcpy(c->codes->coefs + at * stride, c->codes->coefs + (at - c->m) * stride, stride * sizeof(shs_real));
            }
        }
        shs__lasso_group(q, c->groups + worker, w, which, (int)count, q->sums + chunk);
    }
}

SHS__PRIVATE shs_status shs__lasso_run(const shs_context *ctx, shs__lasso *q, shs_lasso_report *report) {
    shs__coder *c = &q->c;
    const shs_wide work = (shs__ctx_product_work(c->over.n, c->over.p, 1) + 8 * (shs_wide)c->over.n) * (shs_wide)q->count;
    shs__sum objective = SHS_ZERO;
    shs_status status = SHS_OK;
    for (c->first_chunk = 0; c->first_chunk < c->chunks && status == SHS_OK; c->first_chunk += SHS__CODER_ROUND) {
        const size_t count = shs__zmin(SHS__CODER_ROUND, c->chunks - c->first_chunk);
        const size_t done = shs__zmin(c->m, (c->first_chunk + count) * c->group);
        size_t k;
        shs__ctx_parallel(ctx, (shs_wide)(count * c->group) * work, count, shs__lasso_chunk, q);
        for (k = 0; k < count; k++) {
            shs__sum_add(&objective, shs__sum_value(&q->sums[k].objective));
            if (q->sums[k].gap > report->gap) report->gap = q->sums[k].gap;
            report->nonzeros += q->sums[k].nonzeros;
            report->not_reached += q->sums[k].not_reached;
            report->cut += q->sums[k].cut;
        }
        status = shs__ctx_progress(ctx, "lasso", done, c->m, -1);
        for (k = 0; status != SHS_OK && k < (size_t)q->count; k++)
            memset(c->codes->used + k * c->m + done, 0, (c->m - done) * sizeof(int));
    }
    report->objective = shs__sum_value(&objective);
    return status;
}

/* The options for m signals; p = 0: of a Gram matrix. */
SHS__PRIVATE shs_status shs__lasso_open(shs__lasso *q, int p, int n, size_t m, const shs_lasso_options *o) {
    int i;
    memset(q, 0, sizeof *q);
    if (!o || !SHS__ZEROED(o) || o->lambda_count < 0 || (o->lambda_count > 0 && !o->lambdas)) return SHS_BAD_OPTIONS;
    if (!shs__tolerance_ok(o->gap)) return SHS_BAD_TOLERANCE;
    if (o->sweeps < 0) return SHS_BAD_ITERATIONS;
    if (o->gram ? o->ldg < n : !p) return SHS_BAD_GRAM;
    q->o = o, q->c.over.p = p, q->c.over.n = n, q->c.m = m, q->c.options = &q->coding;
    q->coding.gram = o->gram, q->coding.ldg = o->ldg;
    q->lambdas = o->lambda_count ? o->lambdas : &o->lambda, q->count = shs__imax(o->lambda_count, 1);
    q->gap = o->gap > 0 ? o->gap : SHS__LASSO_GAP;
    q->sweeps = o->sweeps > 0 ? o->sweeps : 1000;
    for (i = 0; i < q->count; i++)
        if (!shs__tolerance_ok(q->lambdas[i])) return SHS_BAD_LAMBDA;
    return shs__tolerance_ok(o->lambda2) ? SHS_OK : SHS_BAD_LAMBDA;
}

SHS__PUBLIC size_t shs_lasso_workspace(const shs_context *ctx, int p, int n, size_t m, const shs_lasso_options *options) {
    shs__lasso q;
    shs__layout l = SHS_ZERO;
    if (p < 0 || n < 1 || shs__lasso_open(&q, p, n, m, options) != SHS_OK) return SIZE_MAX;
    shs__lasso_layout(&l, &q, shs__ctx_workers(ctx));
    return shs__layout_query(&l);
}

/* All that is left when a form's own arguments were checked. No engine does it. */
SHS__OUTLINE shs_status shs__lasso_code(const shs_context *ctx, shs__lasso *q, shs_codes *codes, shs_lasso_report *report) {
    shs__coder *c = &q->c;
    shs__omp_dictionary *d = &c->over;
    shs_lasso_report own = SHS_ZERO;
    shs__layout l = SHS_ZERO;
    shs_status status;
    int j;
    if (!shs__codes_ok(codes, 0) || codes->m / (size_t)q->count < c->m) return SHS_BAD_CODES;
    status = shs__coder_matrices(d, q->o->gram, q->o->ldg);
    if (status != SHS_OK) return status;
    if (ctx && !shs__ctx_cpu_takes_over(ctx->engine, SHS_UNSUPPORTED)) return SHS_UNSUPPORTED;
    c->codes = codes;
    while (shs__layout_next(ctx, &l, &status)) shs__lasso_layout(&l, q, shs__ctx_workers(ctx));
    if (status == SHS_OK) status = shs__coder_finite(ctx, c);
    if (status == SHS_OK) {
        shs__coder_dictionary(ctx, c, d->D, d->ldd);
        for (j = 0; j < d->n; j++)
            if ((shs_wide)d->G[(size_t)j * (d->ldg + 1)] > q->longest2) q->longest2 = (shs_wide)d->G[(size_t)j * (d->ldg + 1)];
        status = shs__lasso_run(ctx, q, &own);
    }
    shs__layout_release(ctx, &l);
    if (report && (status == SHS_OK || status == SHS_CANCELLED)) *report = own;
    return status;
}

/* The fast form of shs_lasso_naive. */
SHS__PUBLIC shs_status shs_lasso(const shs_context *ctx, int p, int n, const shs_real *D, int ldd, size_t m, const shs_real *Y,
                                 int ldy, const shs_lasso_options *options, shs_codes *codes, shs_real *gaps,
                                 shs_lasso_report *report) {
    shs__lasso q;
    shs_status status = shs__omp_check_signals(ctx, p, n, D, ldd, m, Y, ldy);
    if (status == SHS_OK) status = shs__lasso_open(&q, p, n, m, options);
    if (status != SHS_OK) return status;
    q.c.over.D = D, q.c.over.ldd = ldd, q.c.Y = Y, q.c.ldy = ldy, q.gaps = gaps;
    return shs__lasso_code(ctx, &q, codes, report);
}

SHS__PUBLIC shs_status shs_lasso_gram(const shs_context *ctx, int n, size_t m, const shs_real *dty, int ldt,
                                      const shs_real *norms2, const shs_lasso_options *options, shs_codes *codes,
                                      shs_real *gaps, shs_lasso_report *report) {
    shs__lasso q;
    size_t i;
    shs_status status = shs__omp_check_correlations(ctx, n, m, dty, ldt);
    if (status == SHS_OK) status = shs__lasso_open(&q, 0, n, m, options);
    for (i = 0; i < m && status == SHS_OK; i++) status = shs__omp_check_norm(norms2 ? norms2 + i : NULL, 0, 1);
    if (status != SHS_OK) return status;
    q.c.Y = dty, q.c.ldy = ldt, q.c.norms2 = norms2, q.gaps = gaps;
    return shs__lasso_code(ctx, &q, codes, report);
}
#endif /* SPARSEHS_NO_LASSO */

/* ================================================================================================================== */
/* 7  DICTIONARY LEARNING                                                                                     >>learn */
/* ================================================================================================================== */

/* In this order: the naive twin; the rules of update; the CPU's session, which keeps codes and residuals; the stages, which run
   there or on the engine; the driver, which never looks at the engine; start dictionaries; the public forms. Coding is section
   6's. No other section calls what is here. */

/* ---- the naive twin -------------------------------------------------------------------------------- >>learn_naive */

/* SGK: d <- normalise(F x') */
SHS__PUBLIC void shs_sgk_naive(int p, ptrdiff_t m, const shs_wide *F, shs_wide *x, int step, shs_wide *d) {
    shs_wide norm2 = 0;
    ptrdiff_t i, l;
    for (l = 0; l < p; l++) {
        for (d[l] = 0, i = 0; i < m; i++) d[l] += F[l + i * p] * x[i * step];
        norm2 += d[l] * d[l];
    }
    for (l = 0; l < p; l++) d[l] /= SHS__WSQRT(norm2);
}

/* AK-SVD: the same d, then x <- F'd */
SHS__PUBLIC void shs_aksvd_naive(int p, ptrdiff_t m, const shs_wide *F, shs_wide *x, int step, shs_wide *d) {
    ptrdiff_t i, l;
    shs_sgk_naive(p, m, F, x, step, d);
    for (i = 0; i < m; i++)
        for (x[i * step] = 0, l = 0; l < p; l++) x[i * step] += F[l + i * p] * d[l];
}

/* K-SVD: d <- the leading left singular vector of F by power steps, x <- F'd */
SHS__PUBLIC void shs_exact_ksvd_naive(int p, ptrdiff_t m, const shs_wide *F, shs_wide *x, int step, shs_wide *d) {
    int k;
    for (k = 0; k < 1000; k++) shs_aksvd_naive(p, m, F, x, step, d);
}

/* MOD: A = XX', B = YX'; D A = B by elimination; then atoms at unit norm */
SHS__PUBLIC void shs_mod_naive(int p, int n, shs_real *D, ptrdiff_t m, const shs_real *Y, const shs_wide *X, shs_wide *A,
                               shs_wide *B) {
    ptrdiff_t i, j, k, l;
    for (j = 0; j < n; j++) {
        for (k = 0; k < n; k++)
            for (A[j + k * n] = 0, i = 0; i < m; i++) A[j + k * n] += X[j + i * n] * X[k + i * n];
        for (l = 0; l < p; l++)
            for (B[l + j * p] = 0, i = 0; i < m; i++) B[l + j * p] += (shs_wide)Y[l + i * p] * X[j + i * n];
    }
    for (j = 0; j < n; j++) /* columns j of A and B are taken from all others */
        for (k = 0; k < n; k++) {
            shs_wide factor = k == j ? 0 : A[j + k * n] / A[j + j * n];
            for (i = 0; i < n; i++) A[i + k * n] -= factor * A[i + j * n];
            for (l = 0; l < p; l++) B[l + k * p] -= factor * B[l + j * p];
        }
    for (j = 0; j < n; j++) {
        shs_wide norm2 = 0;
        for (l = 0; l < p; l++) B[l + j * p] /= A[j + j * n], norm2 += B[l + j * p] * B[l + j * p];
        for (l = 0; l < p; l++) D[l + j * p] = (shs_real)(B[l + j * p] / SHS__WSQRT(norm2));
    }
}

SHS__PUBLIC void shs_ksvd_naive(shs_update_fn update, int p, int n, shs_real *D, ptrdiff_t m, const shs_real *Y, int s,
                                int group, int rounds, shs_wide *X, shs_wide *E, shs_wide *F, shs_wide *d, int *atoms,
                                shs_wide *x, shs_wide *r, shs_wide *Q, shs_wide *R) {
    ptrdiff_t i, j, l, k, first;
    for (i = 0; i < m; i++) { /* Y ~ DX */
        int used = shs_omp_naive(p, n, D, Y + i * p, s, 0, NULL, atoms, x, r, Q, R);
        for (j = 0; j < n; j++) X[j + i * n] = 0;
        for (k = 0; k < used; k++) X[atoms[k] + i * n] = x[k];
    }
    for (; rounds > 0; rounds--)
        for (first = 0; first < n; first += group) {
            for (i = 0; i < m; i++) /* E = Y - DX, once for the group */
                for (l = 0; l < p; l++)
                    for (E[l + i * p] = (shs_wide)Y[l + i * p], j = 0; j < n; j++)
                        E[l + i * p] -= (shs_wide)D[l + j * p] * X[j + i * n];
            for (j = first; j < n && j < first + group; j++) {
                int used = 0;
                for (i = 0; i < m; i++) { /* F = E + d x of the signals that use the atom, 0 of the others */
                    int uses = shs__wabs(X[j + i * n]) > 0;
                    for (l = 0; l < p; l++) F[l + i * p] = uses ? E[l + i * p] + (shs_wide)D[l + j * p] * X[j + i * n] : 0;
                    used += uses;
                }
                if (!used) continue; /* it stays */
                for (l = 0; l < p; l++) d[l] = (shs_wide)D[l + j * p];
                update(p, m, F, X + j, n, d);
                for (l = 0; l < p; l++) D[l + j * p] = (shs_real)d[l];
            }
        }
}

/* ---- the rules of update --------------------------------------------------------------------------------- >>rules */

/* A rule is one function on the sums of a group of atoms: it turns E_I x' in g->sums into the directions of the new atoms,
   which the driver normalises. `before` are the old ones (p x count).

   AK-SVD: F x' = E_I x' + d_old |x|^2. */
SHS__PRIVATE void shs__dl_rule_aksvd(int p, const shs_atom_group *g, const shs_real *before) {
    int j, i;
    for (j = 0; j < g->count; j++)
        for (i = 0; i < p; i++) *SHS__AT(g->sums, p, i, j) += (shs_wide)*SHS__AT(before, p, i, j) * g->energy[j];
}

/* SGK: the least-squares atom F x' / (x x') for the codes as they are has the same direction. */
SHS__PRIVATE void shs__dl_rule_sgk(int p, const shs_atom_group *g, const shs_real *before) { shs__dl_rule_aksvd(p, g, before); }

/* K-SVD: F z' likewise, of the first step, where z is x, and of the others, where it is F'd. */
SHS__PRIVATE void shs__dl_rule_ksvd(int p, const shs_atom_group *g, const shs_real *before) {
    shs__dl_rule_aksvd(p, g, before);
}

/* NSGK: F x' likewise, with E of the new codes and x of those of the iteration before. */
SHS__PRIVATE void shs__dl_rule_nsgk(int p, const shs_atom_group *g, const shs_real *before) {
    shs__dl_rule_aksvd(p, g, before);
}

/* MOD: D + E X'A^-1 by the Cholesky factor L of A = XX', which takes A's place, row by row. A row that depends on those before
   it, so that no pivot is left, is passed over with its column: its atom keeps what it has. */
SHS__PRIVATE void shs__dl_rule_mod(int p, const shs_atom_group *g, const shs_real *before) {
    const size_t n = (size_t)g->count;
    const shs_wide least = (shs_wide)g->count * (sizeof(shs_wide) == 8 ? (shs_wide)2.3e-16 : (shs_wide)1.2e-7);
    shs_wide *A = g->gram, *Z = g->sums;
    size_t i, j, k;
    int l;
    for (i = 0; i < n; i++) {
        shs_wide *row = A + i * n, all = row[i];
        for (j = 0; j < i; j++) {
            shs_wide sum = row[j];
            for (k = 0; k < j; k++) sum -= row[k] * A[j * n + k];
            row[j] = A[j * n + j] > 0 ? sum / A[j * n + j] : 0;
            row[i] -= row[j] * row[j];
        }
        row[i] = row[i] > least * all ? SHS__WSQRT(row[i]) : 0;
    }
    for (i = 0; i < n; i++) { /* L z_i' = e_i' */
        shs_wide *z = Z + i * (size_t)p, pivot = A[i * n + i];
        for (k = 0; k < i; k++)
            for (l = 0; l < p; l++) z[l] -= A[i * n + k] * Z[k * (size_t)p + (size_t)l];
        for (l = 0; l < p; l++) z[l] = pivot > 0 ? z[l] / pivot : 0;
    }
    for (i = n; i-- > 0;) { /* L'd_i' = z_i' */
        shs_wide *z = Z + i * (size_t)p, pivot = A[i * n + i];
        for (k = i + 1; k < n && pivot > 0; k++)
            for (l = 0; l < p; l++) z[l] -= A[k * n + i] * Z[k * (size_t)p + (size_t)l];
        for (l = 0; l < p; l++) z[l] = pivot > 0 ? z[l] / pivot : 0;
    }
    for (i = 0; i < n * (size_t)p; i++) Z[i] += (shs_wide)before[i];
}

static const struct {
    const char *name;
    void (*directions)(int p, const shs_atom_group *g, const shs_real *before);
    int codes; /* x_new is made with the new atom; otherwise x stays */
} shs__dl_rules[] = {
#define SHS__ROW(code, name, codes) {#name, shs__dl_rule_##name, codes},
    SHS_UPDATE_LIST(SHS__ROW)
#undef SHS__ROW
};

SHS__PUBLIC const char *shs_update_name(shs_update update) {
    return (unsigned)update < SHS_UPDATE_COUNT ? shs__dl_rules[update].name : NULL;
}

/* ---- the CPU's signals session ------------------------------------------------------------------- >>learn_session */

/* The uses of the atoms, sorted by atom and within an atom by signal: use u of atom j (start[j] <= u < start[j+1]) is the
   coefficient number slot[u] of signal[u]. */
typedef struct shs__dl_uses {
    size_t *start, *signal;
    int *slot;
} shs__dl_uses;

enum {
    SHS__USES_AN_ITEM = 2048,  /* uses of one atom that are summed in shs_real before the sum goes to shs_wide */
    SHS__SIGNALS_A_PATCH = 256 /* signals whose residuals are patched at a time: 64 KB of 64 floats */
};

/* A stretch of one atom's uses; gathering is cut into these. */
typedef struct shs__dl_stretch {
    int atom; /* within the group */
    size_t begin, end;
    shs_wide energy;
} shs__dl_stretch;

/* What IPR takes: k = min(p, n). */
typedef struct shs__dl_ipr {
    shs__eigh eigh;
    shs_wide *B;                /* p x n: YX', and what is reduced with it */
    shs_wide *G;                /* n x n: D'D */
    shs_wide *values, *vectors; /* k, n x k */
    shs_wide *Z;                /* p x n: the dictionary */
    shs_wide *W, *V;            /* p x p: W S V' = BZ' */
    shs_wide *t;                /* p */
} shs__dl_ipr;

typedef struct shs__dl_learner {
    const shs_context *ctx;
    const shs_engine *engine; /* NULL: the CPU */
    void *remote;             /* the engine's session */
    shs_ksvd_options *o;      /* zeros replaced by what they become */
    int p, n;
    size_t m, offset;       /* signals here, and on the ranks before this one */
    shs_wide all_m;         /* signals of all ranks */
    int tolerant;           /* some rank's signals have tolerances */
    shs_real *D, *best;     /* p x n */
    shs_wide *sums;         /* (p + 1) n + SHS__TELLS: of a group of atoms, and behind them their energy */
    shs_wide *energy;       /* n + 4 + SHS__TELLS: what else is reduced over the ranks */
    shs_real *errors2;      /* m */
    size_t *usage;          /* n */
    unsigned char *flagged; /* n */
    shs_real *panel;        /* n x SHS__PANEL: a piece of D'D */
    shs_real *scratch;
    shs_ksvd_report report; /* of the best dictionary so far, with the caller's arrays */
    shs_wide best_merit, stop_merit;
    int stop_iteration; /* when stop_merit was reached */

    /* The CPU's session. */
    shs__coder coder;
    shs_codes codes;
    shs_real *coded; /* p x n: the dictionary that codes and E are of */
    shs_real *E;     /* p x m: Y - DX */
    shs_wide *chunk_sums;
    shs__dl_uses uses;
    shs_codes previous;      /* of the iteration before, for NSGK */
    const shs_codes *listed; /* the codes that `uses` lists: these, or what was coded last */
    int has_previous;
    shs_wide *gram;         /* n x n, for MOD */
    shs_wide *solve;        /* a worker: what solving a signal again takes */
    shs_real mu;            /* of this iteration */
    int group_size;         /* N~ of this round */
    shs_real *last;         /* p: an atom before a power step */
    shs__dl_ipr ipr;
    shs__coder test; /* signals that are not learnt from */
    shs_codes test_codes;
    shs_omp_options test_coding;
    shs_real *x_new;        /* one a use */
    shs__dl_stretch *stretches;
    shs_real *stretch_sums; /* p a stretch */
    shs__synthesis residual;     /* E of `coded` and the codes at hand */
    int residual_done;           /* E holds it */
    const shs_atom_group *group; /* at work */
    shs_wide *overlap;           /* d_old'd_new of each of its atoms */
} shs__dl_learner;

/* The session's part of the learner. */
SHS__PRIVATE void shs__dl_session_layout(shs__layout *l, shs__dl_learner *w, int stride, int own_codes) {
    size_t p = (size_t)w->p, n = (size_t)w->n, m = w->m;
    size_t atoms = shs__layout_product(p, n, 1), cells = shs__layout_product(m, (size_t)stride, 1);
    size_t stretches = n + cells / SHS__USES_AN_ITEM;
    w->coder.over.p = w->p, w->coder.over.n = w->n, w->coder.m = m;
    w->coder.stride = stride, w->coder.options = &w->o->coding;
    shs__coder_layout(l, &w->coder, shs__ctx_workers(w->ctx));
    if (own_codes) shs__codes_layout(l, &w->codes, m, stride);
    if (w->o->update == SHS_UPDATE_NSGK) shs__codes_layout(l, &w->previous, m, stride);
    if (w->o->update == SHS_UPDATE_MOD) w->gram = SHS__CARVE(l, shs_wide, shs__layout_product(n, n, 1));
    if (w->o->update == SHS_UPDATE_KSVD) w->last = SHS__CARVE(l, shs_real, p);
    if (w->o->regularisation > 0)
        w->solve =
            SHS__CARVE(l, shs_wide, shs__layout_product((size_t)shs__ctx_workers(w->ctx), (size_t)stride, (size_t)stride + 1));
    w->coded = SHS__CARVE(l, shs_real, atoms);
    w->E = SHS__CARVE(l, shs_real, shs__layout_product(p, m, 1));
    w->chunk_sums = SHS__CARVE(l, shs_wide, shs__ctx_chunks(m, SHS__SIGNALS_A_CHUNK));
    w->uses.start = SHS__CARVE(l, size_t, n + 2);
    w->uses.signal = SHS__CARVE(l, size_t, cells);
    w->uses.slot = SHS__CARVE(l, int, cells);
    w->x_new = SHS__CARVE(l, shs_real, cells);
    w->stretches = SHS__CARVE(l, shs__dl_stretch, stretches);
    w->stretch_sums = SHS__CARVE(l, shs_real, shs__layout_product(p, stretches, 1));
    w->overlap = SHS__CARVE(l, shs_wide, n);
    w->usage = SHS__CARVE(l, size_t, n);
}

/* Where signals and codes are, and what the session's parts read and write. */
SHS__PRIVATE void shs__dl_session_begin(shs__dl_learner *w, const shs_real *Y, int ldy) {
    shs__synthesis *e = &w->residual;
    w->listed = &w->codes;
    w->coder.Y = Y, w->coder.ldy = ldy, w->coder.codes = &w->codes, w->coder.errors2 = w->errors2, w->coder.after = e;
    e->p = w->p, e->D = w->coded, e->ldd = w->p, e->Y = Y, e->ldy = ldy, e->codes = &w->codes, e->count = w->m;
    e->Z = w->E, e->ldz = w->p, e->sums = w->chunk_sums;
}

/* A counting sort of the codes by atom. */
SHS__PRIVATE void shs__dl_count_uses(shs__dl_learner *w) {
    const shs_codes *codes = w->listed;
    size_t *start = w->uses.start, i, at;
    int j, k;
    memset(start, 0, ((size_t)w->n + 2) * sizeof *start);
    for (i = 0; i < w->m; i++)
        for (k = 0; k < codes->used[i]; k++) start[codes->atoms[i * (size_t)codes->stride + (size_t)k] + 2]++;
    for (j = 2; j <= w->n; j++) start[j] += start[j - 1];
    for (i = 0; i < w->m; i++) /* start[j + 1] runs from the beginning of atom j to its end */
        for (k = 0; k < codes->used[i]; k++) {
            at = start[codes->atoms[i * (size_t)codes->stride + (size_t)k] + 1]++;
            w->uses.signal[at] = i;
            w->uses.slot[at] = k;
        }
}

/* Each signal's residual follows its codes while it is in the cache, in the same parallel region. */
SHS__PRIVATE shs_status shs__dl_cpu_code(shs__dl_learner *w, const shs_real *D, shs_omp_report *report) {
    shs_status status;
    int j;
    if (D != w->coded) memcpy(w->coded, D, (size_t)w->p * (size_t)w->n * sizeof(shs_real));
    shs__coder_dictionary(w->ctx, &w->coder, w->coded, w->p);
    status = shs__coder_run(w->ctx, &w->coder, NULL, report);
    w->residual_done = 1, w->listed = &w->codes;
    shs__dl_count_uses(w);
    for (j = 0; j < w->n; j++) w->usage[j] = w->uses.start[j + 1] - w->uses.start[j];
    return status;
}

/* d_old'd of each atom of the group, for the atoms d in g->atoms. */
SHS__PRIVATE void shs__dl_overlaps(const shs__dl_learner *w, const shs_atom_group *g) {
    size_t p = (size_t)w->p;
    int j, i;
    for (j = 0; j < g->count; j++) {
        const shs_real *before = w->coded + (size_t)(g->first + j) * p, *after = g->atoms + (size_t)j * p;
        w->overlap[j] = 0;
        for (i = 0; i < w->p; i++) w->overlap[j] += (shs_wide)before[i] * (shs_wide)after[i];
    }
}

/* One stretch: the sum of x e over its uses, and of x^2; or of z e and x z, with z = F'd = e'd + x d_old'd. */
SHS__OUTLINE void shs__dl_gather_chunk(void *arg, size_t chunk, int worker) {
    const shs__dl_learner *w = (const shs__dl_learner *)arg;
    shs__dl_stretch *stretch = w->stretches + chunk;
    shs_real *sum = w->stretch_sums + chunk * (size_t)w->p, x[SHS__COLUMNS_AT_ONCE];
    const shs_real *columns[SHS__COLUMNS_AT_ONCE], *d = w->group->atoms + (size_t)stretch->atom * (size_t)w->p;
    const shs__vector_kernels *kernels = shs__kernels_vector();
    shs__sum energy = SHS_ZERO;
    size_t u, q, count;
    int power = w->group->power;
    (void)worker;
    memset(sum, 0, (size_t)w->p * sizeof(shs_real));
    for (u = stretch->begin; u < stretch->end; u += count) {
        count = shs__zmin(stretch->end - u, SHS__COLUMNS_AT_ONCE);
        for (q = 0; q < count; q++) {
            size_t i = w->uses.signal[u + q];
            shs_real old = w->listed->coefs[i * (size_t)w->listed->stride + (size_t)w->uses.slot[u + q]];
            columns[q] = w->E + i * (size_t)w->p;
            x[q] = power ? kernels->dot((size_t)w->p, columns[q], d) + old * (shs_real)w->overlap[stretch->atom] : old;
            shs__sum_add(&energy, (shs_wide)old * (shs_wide)x[q]);
        }
        kernels->combine(w->p, (int)count, columns, x, sum);
    }
    stretch->energy = shs__sum_value(&energy);
}

/* One pass over the residuals of a group's signals. */
SHS__PRIVATE shs_wide shs__dl_group_work(const shs__dl_learner *w, const shs_atom_group *g) {
    return (shs_wide)w->p * (shs_wide)(w->uses.start[g->first + g->count] - w->uses.start[g->first]);
}

/* XX', lower triangle by rows, of the codes at hand. */
SHS__PRIVATE void shs__dl_cpu_gram(const shs__dl_learner *w, shs_wide *gram) {
    const size_t n = (size_t)w->n;
    size_t i;
    int a, b;
    memset(gram, 0, n * n * sizeof *gram);
    for (i = 0; i < w->m; i++) {
        const int *atoms = w->codes.atoms + i * (size_t)w->codes.stride;
        const shs_real *x = w->codes.coefs + i * (size_t)w->codes.stride;
        for (a = 0; a < w->codes.used[i]; a++)
            for (b = 0; b < w->codes.used[i]; b++)
                if (atoms[b] <= atoms[a]) gram[(size_t)atoms[a] * n + (size_t)atoms[b]] += (shs_wide)x[a] * (shs_wide)x[b];
    }
}

/* sums = E_I x' and energy = |x|^2 of each atom of the group, or what a power step asks for. A single atom is not shared out:
   the next one waits for it, and a parallel region costs more than it saves unless the machine has nothing else to do. */
SHS__PRIVATE void shs__dl_cpu_gather(shs__dl_learner *w, const shs_atom_group *g) {
    size_t stretches = 0, c;
    int j;
    w->group = g;
    if (g->gram) shs__dl_cpu_gram(w, g->gram);
    if (g->power) shs__dl_overlaps(w, g);
    for (j = 0; j < g->count; j++) {
        size_t at = w->uses.start[g->first + j], end = w->uses.start[g->first + j + 1];
        for (; at < end && !(g->done && g->done[j]); at += SHS__USES_AN_ITEM) {
            shs__dl_stretch *stretch = w->stretches + stretches++;
            stretch->atom = j;
            stretch->begin = at;
            stretch->end = shs__zmin(end, at + SHS__USES_AN_ITEM);
        }
        g->energy[j] = 0;
    }
    memset(g->sums, 0, (size_t)w->p * (size_t)g->count * sizeof *g->sums);
    if (g->count > 1) shs__ctx_parallel(w->ctx, shs__dl_group_work(w, g), stretches, shs__dl_gather_chunk, w);
    else
        for (c = 0; c < stretches; c++) shs__dl_gather_chunk(w, c, 0);
    for (c = 0; c < stretches; c++) {
        const shs__dl_stretch *stretch = w->stretches + c;
        shs__la_axpy_wide(w->p, 1, w->stretch_sums + c * (size_t)w->p, g->sums + (size_t)stretch->atom * (size_t)w->p);
        g->energy[stretch->atom] += stretch->energy;
    }
}

/* The first use of atom j by signal i or a later one. */
SHS__PRIVATE size_t shs__dl_first_use(const shs__dl_uses *uses, int j, size_t i) {
    size_t low = uses->start[j], high = uses->start[j + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (uses->signal[middle] < i) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The coefficient that use u is. */
SHS__INLINE shs_real *shs__dl_coefficient(const shs__dl_learner *w, size_t u) {
    return w->listed->coefs + w->uses.signal[u] * (size_t)w->listed->stride + (size_t)w->uses.slot[u];
}

/* Its new value, u being a use of the group's j-th atom: E_i'd_new + x d_old'd_new, or x where the rule keeps the codes. */
SHS__INLINE shs_real shs__dl_new_code(const shs__dl_learner *w, const shs__vector_kernels *kernels, int j, size_t u) {
    size_t p = (size_t)w->p;
    shs_real x = *shs__dl_coefficient(w, u);
    if (!shs__dl_rules[w->group->update].codes) return x;
    x = kernels->dot(p, w->E + w->uses.signal[u] * p, w->group->atoms + (size_t)j * p) + x * (shs_real)w->overlap[j];
    return w->mu > 0 ? x / (1 + w->mu) : x;
}

/* Brings the signal of use u up to date: E_i += x d_old - x_new d_new, and the code. */
SHS__INLINE void shs__dl_change_use(const shs__dl_learner *w, const shs__vector_kernels *kernels, int j, size_t u,
                                    shs_real x_new) {
    size_t p = (size_t)w->p;
    shs_real *x = shs__dl_coefficient(w, u);
    if (w->group->want_residual)
        kernels->patch(w->p, *x, w->coded + (size_t)(w->group->first + j) * p, -x_new, w->group->atoms + (size_t)j * p,
                       w->E + w->uses.signal[u] * p);
    *x = x_new;
}

/* A stretch of signals: first every x_new of the group from the E they share, then E and the codes change over. A signal
   belongs to one chunk only, so chunks do not meet. */
SHS__PRIVATE void shs__dl_update_chunk(void *arg, size_t chunk, int worker) {
    const shs__dl_learner *w = (const shs__dl_learner *)arg;
    const shs__vector_kernels *kernels = shs__kernels_vector();
    size_t i0 = chunk * SHS__SIGNALS_A_PATCH, i1 = shs__zmin(w->m, i0 + SHS__SIGNALS_A_PATCH), u, end;
    int j, pass, first = w->group->first, count = w->group->count;
    (void)worker;
    for (pass = 0; pass < 2; pass++)
        for (j = 0; j < count; j++) {
            end = shs__dl_first_use(&w->uses, first + j, i1);
            for (u = shs__dl_first_use(&w->uses, first + j, i0); u < end; u++)
                if (pass == 0) w->x_new[u] = shs__dl_new_code(w, kernels, j, u);
                else shs__dl_change_use(w, kernels, j, u, w->x_new[u]);
        }
}

/* The same for a group of one atom: each of its uses is by another signal. */
SHS__PRIVATE void shs__dl_update_one(const shs__dl_learner *w) {
    const shs__vector_kernels *kernels = shs__kernels_vector();
    size_t u;
    for (u = w->uses.start[w->group->first]; u < w->uses.start[w->group->first + 1]; u++)
        shs__dl_change_use(w, kernels, 0, u, shs__dl_new_code(w, kernels, 0, u));
}

SHS__PRIVATE void shs__dl_cpu_update(shs__dl_learner *w, const shs_atom_group *g) {
    size_t p = (size_t)w->p;
    int changes = g->want_residual || (g->want_codes && shs__dl_rules[g->update].codes);
    w->group = g;
    shs__dl_overlaps(w, g);
    w->residual_done = 0;
    if (changes && g->count > 1)
        shs__ctx_parallel(w->ctx, shs__dl_group_work(w, g), shs__ctx_chunks(w->m, SHS__SIGNALS_A_PATCH), shs__dl_update_chunk,
                          w);
    else if (changes) shs__dl_update_one(w);
    memcpy(w->coded + (size_t)g->first * p, g->atoms, (size_t)g->count * p * sizeof(shs_real));
}

enum { SHS__SIGNALS_SOLVED = 64 }; /* by one chunk */

/* x = (D_I'D_I + mu I)^-1 D_I'y for signal i. L (lower triangle by rows, ld the stride) and z are scratch. */
SHS__PRIVATE void shs__dl_solve_signal(const shs__dl_learner *w, size_t i, shs_wide *L, shs_wide *z) {
    const size_t p = (size_t)w->p, ld = (size_t)w->coder.stride;
    const int *atoms = w->codes.atoms + i * (size_t)w->codes.stride;
    const shs_real *y = w->coder.Y + i * (size_t)w->coder.ldy;
    shs_real *x = w->codes.coefs + i * (size_t)w->codes.stride;
    int s = w->codes.used[i], a, b, k, l;
    for (a = 0; a < s; a++) {
        const shs_real *d = w->coded + (size_t)atoms[a] * p;
        shs_wide *row = L + (size_t)a * ld;
        for (z[a] = 0, l = 0; l < w->p; l++) z[a] += (shs_wide)d[l] * (shs_wide)y[l];
        for (b = 0; b <= a; b++) {
            const shs_real *e = w->coded + (size_t)atoms[b] * p;
            for (row[b] = 0, l = 0; l < w->p; l++) row[b] += (shs_wide)d[l] * (shs_wide)e[l];
            if (a == b) row[b] += (shs_wide)w->mu;
            for (k = 0; k < b; k++) row[b] -= row[k] * L[(size_t)b * ld + (size_t)k];
            if (b < a) row[b] /= L[(size_t)b * ld + (size_t)b];
        }
        row[a] = SHS__WSQRT(row[a] > (shs_wide)w->mu ? row[a] : (shs_wide)w->mu); /* but for rounding it is larger */
        for (k = 0; k < a; k++) z[a] -= row[k] * z[k];
        z[a] /= row[a];
    }
    for (a = s - 1; a >= 0; a--) {
        for (k = a + 1; k < s; k++) z[a] -= L[(size_t)k * ld + (size_t)a] * z[k];
        z[a] /= L[(size_t)a * ld + (size_t)a];
        x[a] = (shs_real)z[a];
    }
}

SHS__PRIVATE void shs__dl_solve_chunk(void *arg, size_t chunk, int worker) {
    const shs__dl_learner *w = (const shs__dl_learner *)arg;
    size_t stride = (size_t)w->coder.stride, i, end = shs__zmin(w->m, (chunk + 1) * SHS__SIGNALS_SOLVED);
    shs_wide *z = w->solve + (size_t)worker * stride * (stride + 1);
    for (i = chunk * SHS__SIGNALS_SOLVED; i < end; i++) shs__dl_solve_signal(w, i, z + stride, z);
}

/* The codes of the iteration before take the place of those at hand in the lists, which become those of the next. */
SHS__PRIVATE void shs__dl_list_previous(shs__dl_learner *w) {
    if (!w->has_previous || w->engine) return;
    w->listed = &w->previous;
    shs__dl_count_uses(w);
}
SHS__PRIVATE void shs__dl_keep_previous(shs__dl_learner *w) {
    size_t i;
    for (i = 0; i < w->m && !w->engine; i++) {
        size_t from = i * (size_t)w->codes.stride, to = i * (size_t)w->previous.stride, count = (size_t)w->codes.used[i];
        w->previous.used[i] = w->codes.used[i];
        memcpy(w->previous.atoms + to, w->codes.atoms + from, count * sizeof(int));
        memcpy(w->previous.coefs + to, w->codes.coefs + from, count * sizeof(shs_real));
    }
    w->has_previous = !w->engine;
}

/* ---- stages: here, or on the context's engine ----------------------------------------------------- >>learn_stages */

enum { SHS__PANEL = 32 };

/* The driver calls the stages below and never looks at the engine: what runs where, and what takes the place of an engine that
   cannot or lacks the memory, is decided here.

   Opens a session of the engine, where there is one that does all that learning asks for. */
SHS__PRIVATE shs_status shs__dl_stage_open(shs__dl_learner *w) {
    const shs_engine *e = w->ctx ? w->ctx->engine : NULL;
    shs_status status = e ? shs__omp_engine_open(w->ctx, &w->coder, 1, &w->remote) : SHS_OK;
    if (e && status == SHS_OK) w->engine = e;
    return shs__ctx_cpu_takes_over(e, status) ? SHS_OK : status;
}

SHS__PRIVATE void shs__dl_stage_close(shs__dl_learner *w) {
    if (w->engine) w->engine->signals_close(w->remote);
    w->engine = NULL;
}

/* Whether the CPU does a stage. An engine that gives one up is left for good: where it has coded, its codes come over, and E
   is formed anew of them and the CPU's copy of the dictionary. */
SHS__PRIVATE int shs__dl_stage_here(shs__dl_learner *w, int coded, shs_status *status) {
    const shs_engine *e = w->engine;
    if (!shs__ctx_cpu_takes_over(e, *status)) return 0;
    if (!e) return 1;
    *status = coded ? e->signals_fetch(w->remote, &w->codes) : SHS_OK;
    shs__dl_stage_close(w);
    if (coded && *status == SHS_OK) {
        shs__dl_count_uses(w);
        (void)shs__synthesis_run(w->ctx, &w->residual);
    }
    return *status == SHS_OK;
}

SHS__PRIVATE shs_status shs__dl_stage_code(shs__dl_learner *w, const shs_real *D, shs_omp_report *report) {
    const shs_engine *e = w->engine;
    shs_real *errors2 = w->o->replace == SHS_REPLACE_WORST ? w->errors2 : NULL; /* nothing else asks for them */
    shs_status status = SHS_OK;
    if (e) {
        memcpy(w->coded, D, (size_t)w->p * (size_t)w->n * sizeof(shs_real));
        status = e->signals_dictionary(w->remote, D, w->p);
        if (status == SHS_OK) status = e->signals_code(w->remote, errors2, w->usage, report);
    }
    if (shs__dl_stage_here(w, 0, &status)) status = shs__dl_cpu_code(w, D, report);
    return status;
}

/* E, and in *sum2 the sum of its squares, but where E is at hand. */
SHS__PRIVATE shs_status shs__dl_stage_residual(shs__dl_learner *w, shs_wide *sum2) {
    shs_status status = w->engine ? w->engine->signals_residual(w->remote, sum2) : SHS_OK;
    if (shs__dl_stage_here(w, 1, &status) && !w->residual_done) *sum2 = shs__synthesis_run(w->ctx, &w->residual);
    return status;
}

SHS__PRIVATE shs_status shs__dl_stage_gather(shs__dl_learner *w, const shs_atom_group *g) {
    shs_status status = w->engine ? w->engine->signals_gather(w->remote, g) : SHS_OK;
    if (shs__dl_stage_here(w, 1, &status)) shs__dl_cpu_gather(w, g);
    return status;
}

SHS__PRIVATE shs_status shs__dl_stage_update(shs__dl_learner *w, const shs_atom_group *g) {
    const shs_engine *e = w->engine;
    size_t p = (size_t)w->p;
    shs_status status = e ? e->signals_update(w->remote, g) : SHS_OK;
    if (e && status == SHS_OK) memcpy(w->coded + (size_t)g->first * p, g->atoms, (size_t)g->count * p * sizeof(shs_real));
    if (shs__dl_stage_here(w, 1, &status)) shs__dl_cpu_update(w, g);
    return status;
}

/* Solves all signals again with mu, on the atoms that they have. No engine does. */
SHS__PRIVATE shs_status shs__dl_stage_solve(shs__dl_learner *w) {
    shs_status status = w->engine ? SHS_UNSUPPORTED : SHS_OK;
    shs_wide work = (shs_wide)w->m * (shs_wide)w->p * (shs_wide)w->codes.stride * (shs_wide)w->codes.stride;
    if (!shs__dl_stage_here(w, 1, &status)) return status;
    shs__ctx_parallel(w->ctx, work, shs__ctx_chunks(w->m, SHS__SIGNALS_SOLVED), shs__dl_solve_chunk, w);
    w->residual_done = 0;
    return SHS_OK;
}

/* B = YX' of the codes at hand. No engine does. */
SHS__PRIVATE shs_status shs__dl_stage_cross(shs__dl_learner *w, shs_wide *B) {
    shs_status status = w->engine ? SHS_UNSUPPORTED : SHS_OK;
    size_t i;
    int k;
    memset(B, 0, (size_t)w->p * (size_t)w->n * sizeof *B);
    if (!shs__dl_stage_here(w, 1, &status)) return status;
    for (i = 0; i < w->m; i++)
        for (k = 0; k < w->codes.used[i]; k++) {
            size_t at = i * (size_t)w->codes.stride + (size_t)k;
            shs__la_axpy_wide(w->p, (shs_wide)w->codes.coefs[at], w->coder.Y + i * (size_t)w->coder.ldy,
                              B + (size_t)w->codes.atoms[at] * (size_t)w->p);
        }
    return SHS_OK;
}

/* A round at once, where there are no ranks and the engine can: *done. Otherwise nothing has happened. */
SHS__PRIVATE shs_status shs__dl_stage_round(shs__dl_learner *w, const shs_atom_round *round, int *done) {
    const shs_engine *e = w->engine;
    shs_status status = SHS_UNSUPPORTED;
    if (e && e->signals_round && !shs__ctx_distributed(w->ctx)) status = e->signals_round(w->remote, round);
    *done = status != SHS_UNSUPPORTED && status != SHS_NO_MEMORY;
    if (status == SHS_OK) memcpy(w->coded, round->D, (size_t)w->p * (size_t)w->n * sizeof(shs_real));
    return *done ? status : SHS_OK;
}

/* The session's codes, which are those of D, into the caller's; the CPU has written them there. */
SHS__PRIVATE shs_status shs__dl_stage_fetch(shs__dl_learner *w, const shs_real *D, shs_codes *codes) {
    shs_omp_report report;
    shs_status status = w->engine ? w->engine->signals_fetch(w->remote, codes) : SHS_OK;
    if (!w->engine || !shs__dl_stage_here(w, 0, &status)) return status;
    return shs__dl_cpu_code(w, D, &report);
}

/* Codes anew with D, where the caller's codes hold fewer atoms a signal than learning allowed: a session of its own, in the
   room of this one. */
SHS__PRIVATE shs_status shs__dl_stage_recode(shs__dl_learner *w, const shs_real *D, shs_codes *codes) {
    shs__coder *coder = &w->coder;
    int remote = w->engine != NULL;
    shs_omp_report report;
    shs_status status;
    shs__dl_stage_close(w);
    coder->stride = codes->stride, coder->codes = codes, coder->errors2 = NULL, coder->after = NULL;
    coder->over.D = D, coder->over.ldd = w->p;
    if (remote && !shs__codes_here(w->ctx, coder, &report, &status)) return status;
    shs__coder_dictionary(w->ctx, coder, D, w->p);
    return shs__coder_run(w->ctx, coder, NULL, &report);
}

/* ---- the driver ----------------------------------------------------------------------------------- >>learn_driver */

/* The value of a schedule at an iteration, or the constant before its first step. */
SHS__PRIVATE int shs__dl_scheduled(const shs_step *steps, int count, int constant, int iteration) {
    int i, value = constant;
    for (i = 0; steps && i < count && steps[i].from <= iteration; i++) value = steps[i].value;
    return value;
}

/* d = y / |y|; 0, with d as it was, where y vanishes or the square of its length is no number. */
SHS__OUTLINE int shs__dl_unit(int p, const shs_wide *y, shs_real *d) {
    shs_wide norm2 = 0, norm;
    int i;
    for (i = 0; i < p; i++) norm2 += y[i] * y[i];
    if (!(norm2 > 0) || !shs__wide_finite(1, &norm2)) return 0;
    norm = SHS__WSQRT(norm2);
    for (i = 0; i < p; i++) d[i] = (shs_real)(y[i] / norm);
    return 1;
}

/* The sums of a group over all ranks, and what the rule makes of them: directions. mine: how this rank is. */
SHS__PRIVATE shs_status shs__dl_directions(shs__dl_learner *w, const shs_atom_group *g, shs_status mine) {
    const size_t count = (size_t)g->count, p = (size_t)w->p;
    shs_status status;
    if (mine == SHS_OK) mine = shs__dl_stage_gather(w, g);
    status = shs__ctx_reduce_well(w->ctx, mine, g->sums, (p + 1) * count, SHS_REDUCE_SUM);
    if (status == SHS_OK && g->gram) status = shs__ctx_reduce(w->ctx, g->gram, count * count, SHS_REDUCE_SUM);
    if (status == SHS_OK) shs__dl_rules[g->update].directions(w->p, g, w->coded + (size_t)g->first * p);
    return status;
}

/* |y / |y| - d|^2: how far a step moves an atom; 0 where y has no direction. */
SHS__PRIVATE shs_wide shs__dl_moved(int p, const shs_wide *y, const shs_real *d) {
    shs_wide norm2 = 0, moved = 0, scale;
    int i;
    for (i = 0; i < p; i++) norm2 += y[i] * y[i];
    if (!(norm2 > 0) || !shs__wide_finite(1, &norm2)) return 0;
    scale = 1 / SHS__WSQRT(norm2);
    for (i = 0; i < p; i++) moved += (y[i] * scale - (shs_wide)d[i]) * (y[i] * scale - (shs_wide)d[i]);
    return moved;
}

/* The group's j-th atom takes its direction in g->sums, away from the other atoms where these are to be incoherent: sums +=
   2 gamma (sqrt(p) d - D~D~'d). */
SHS__PRIVATE void shs__dl_take_atom(const shs__dl_learner *w, const shs_atom_group *g, int j) {
    shs_wide *y = SHS__AT(g->sums, w->p, 0, j), gamma2 = 2 * (shs_wide)w->o->incoherence, c;
    shs_real *d = SHS__AT(g->atoms, w->p, 0, j);
    int k, own = g->update == SHS_UPDATE_NSGK || w->group_size > 1;
    if (gamma2 > 0) {
        for (k = 0; k < w->n; k++) {
            const shs_real *other = SHS__AT(w->D, w->p, 0, k);
            if (other == d && !own) continue;
            c = (shs_wide)shs_dot(w->p, other, 1, d, 1);
            shs__la_axpy_wide(w->p, -gamma2 * c, other, y);
        }
        shs__la_axpy_wide(w->p, gamma2 * SHS__WSQRT((shs_wide)w->p), d, y);
    }
    (void)shs__dl_unit(w->p, y, d);
}

/* K-SVD after its first step: further ones on the atoms that still move. All ranks go on with the same atoms. */
enum { SHS__POWER_STEPS = 1000 };
SHS__PRIVATE shs_status shs__dl_power_steps(shs__dl_learner *w, shs_atom_group *g) {
    const shs_wide still = sizeof(shs_real) == 8 ? (shs_wide)1e-24 : (shs_wide)1e-10;
    shs_status status = SHS_OK;
    int j, step, moving = 1;
    for (j = 0; j < g->count; j++) w->flagged[j] = !(g->energy[j] > 0);
    g->done = w->flagged;
    for (step = 1; step < SHS__POWER_STEPS && moving; step++) {
        g->power = step;
        status = shs__dl_directions(w, g, SHS_OK);
        if (status != SHS_OK) break;
        for (j = 0; j < g->count; j++) {
            const shs_real *d = SHS__AT(g->atoms, w->p, 0, j);
            w->energy[j] = 0;
            if (w->flagged[j]) continue;
            memcpy(w->last, d, (size_t)w->p * sizeof *d);
            shs__dl_take_atom(w, g, j);
            w->energy[j] = shs__dl_moved(w->p, SHS__AT(g->sums, w->p, 0, j), w->last) > still;
        }
        status = shs__ctx_reduce(w->ctx, w->energy, (size_t)g->count, SHS_REDUCE_MAX);
        if (status != SHS_OK) break;
        for (moving = 0, j = 0; j < g->count; j++) w->flagged[j] = !(w->energy[j] > 0), moving |= !w->flagged[j];
    }
    g->power = 0, g->done = NULL;
    return status;
}

/* One round of updates, group by group: sums, rule, new atoms, which are normalised. An unused atom, or one whose sum vanishes
   or is no number, as the products of large signals leave the range, stays. last: E is not used after this round; want_codes:
   X is.

   The ranks meet once a group. The next group's sums cannot come along, as its E has this group's new atoms: AK-SVD takes n
   reductions a round, PAK-SVD n/N~. *mine: how this rank is, before and after; the next reduction tells the others. */
SHS__PRIVATE shs_status shs__dl_update_round(shs__dl_learner *w, int group, int last, int want_codes, shs_status *mine) {
    shs_atom_group g = SHS_ZERO;
    shs_atom_round r = SHS_ZERO;
    shs_wide unused;
    shs_status status;
    int j, done = 0;
    r.update = w->o->update, r.group = group, r.want_codes = want_codes || !last, r.D = w->D;
    w->group_size = group;
    if (*mine == SHS_OK && !(w->o->incoherence > 0)) *mine = shs__dl_stage_round(w, &r, &done);
    if (done) return *mine;
    if (*mine == SHS_OK) *mine = shs__dl_stage_residual(w, &unused);
    g.update = w->o->update, g.sums = w->sums, g.gram = w->gram;
    if (g.update == SHS_UPDATE_NSGK) shs__dl_list_previous(w);
    for (; g.first < w->n; g.first += group) {
        g.count = shs__imin(group, w->n - g.first);
        g.energy = g.sums + (size_t)w->p * (size_t)g.count; /* the reduction takes both */
        g.atoms = SHS__AT(w->D, w->p, 0, g.first);
        g.want_residual = g.first + g.count < w->n;
        g.want_codes = g.want_residual || want_codes || !last;
        g.power = w->o->incoherence > 0;
        status = shs__dl_directions(w, &g, *mine);
        g.power = 0;
        if (status != SHS_OK) return status;
        for (j = 0; j < g.count; j++)
            if (g.energy[j] > 0) shs__dl_take_atom(w, &g, j);
        if (g.update == SHS_UPDATE_KSVD) status = shs__dl_power_steps(w, &g);
        if (status != SHS_OK) return status;
        *mine = shs__dl_stage_update(w, &g);
    }
    if (g.update == SHS_UPDATE_NSGK && last) shs__dl_keep_previous(w);
    return SHS_OK;
}

/* ---- the driver: iterative projections and rotations ------------------------------------------------ >>learn_ipr */

SHS__PRIVATE shs_wide shs__dl_dot_wide(int n, const shs_wide *x, const shs_wide *y) {
    shs_wide sum = 0;
    int i;
    for (i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* Makes the columns of W (p x p) orthogonal by plane rotations, which V takes up: W <- W V (one-sided Jacobi). */
SHS__PRIVATE void shs__dl_orthogonal_columns(int p, shs_wide *W, shs_wide *V) {
    const shs_wide small = sizeof(shs_wide) == 8 ? (shs_wide)1e-15 : (shs_wide)1e-6;
    int i, j, l, sweep, turned = 1;
    for (i = 0; i < p; i++)
        for (j = 0; j < p; j++) *SHS__AT(V, p, i, j) = i == j;
    for (sweep = 0; sweep < 40 && turned; sweep++)
        for (turned = 0, i = 0; i < p; i++)
            for (j = 0; j < i; j++) {
                shs_wide *a = SHS__AT(W, p, 0, i), *b = SHS__AT(W, p, 0, j), *u = SHS__AT(V, p, 0, i), *v = SHS__AT(V, p, 0, j);
                shs_wide aa = shs__dl_dot_wide(p, a, a), bb = shs__dl_dot_wide(p, b, b), ab = shs__dl_dot_wide(p, a, b), z, t,
                         c;
                if (!(shs__wabs(ab) > small * SHS__WSQRT(aa) * SHS__WSQRT(bb))) continue;
                z = (bb - aa) / (2 * ab);
                t = (z < 0 ? -1 : 1) / (shs__wabs(z) + SHS__WSQRT(1 + z * z));
                c = 1 / SHS__WSQRT(1 + t * t), t *= c, turned = 1;
                for (l = 0; l < p; l++) {
                    shs_wide x = a[l], y = u[l];
                    a[l] = c * x - t * b[l], b[l] = t * x + c * b[l];
                    u[l] = c * y - t * v[l], v[l] = t * y + c * v[l];
                }
            }
}

/* The columns of W, which are orthogonal, at unit norm; those that vanish become unit vectors without the others' part. */
SHS__PRIVATE void shs__dl_orthonormal_columns(int p, shs_wide *W) {
    const shs_wide small = sizeof(shs_wide) == 8 ? (shs_wide)1e-13 : (shs_wide)1e-5;
    shs_wide largest = 0, norm;
    int i, j, l, pass, next = 0;
    for (i = 0; i < p; i++) {
        norm = SHS__WSQRT(shs__dl_dot_wide(p, SHS__AT(W, p, 0, i), SHS__AT(W, p, 0, i)));
        if (norm > largest) largest = norm;
    }
    for (i = 0; i < p; i++) {
        shs_wide *a = SHS__AT(W, p, 0, i);
        norm = SHS__WSQRT(shs__dl_dot_wide(p, a, a));
        for (l = 0; l < p; l++) a[l] = norm > small * largest ? a[l] / norm : 0;
    }
    for (i = 0; i < p; i++) {
        shs_wide *a = SHS__AT(W, p, 0, i);
        if (shs__dl_dot_wide(p, a, a) > 0) continue;
        do {
            for (l = 0; l < p; l++) a[l] = l == next;
            next++;
            for (pass = 0; pass < 2; pass++) /* twice: where little is left, once is not enough */
                for (j = 0; j < p; j++) {
                    const shs_wide *b = SHS__AT(W, p, 0, j);
                    shs_wide part = j == i ? 0 : shs__dl_dot_wide(p, a, b);
                    for (l = 0; l < p; l++) a[l] -= part * b[l];
                }
            norm = SHS__WSQRT(shs__dl_dot_wide(p, a, a));
        } while (norm < (shs_wide)0.5 / SHS__WSQRT((shs_wide)p) && next < p);
        for (l = 0; l < p && norm > 0; l++) a[l] /= norm;
    }
}

/* Z becomes the dictionary of the p leading eigenpairs of D'D, whose elements off the diagonal are cut down to `most`. */
SHS__PRIVATE shs_status shs__dl_project(shs__dl_ipr *r, int p, int n, shs_wide most) {
    int k = shs__imin(p, n), i, j;
    shs_wide largest;
    shs_status status;
    for (j = 0; j < n; j++)
        for (i = j; i < n; i++) {
            shs_wide g = shs__dl_dot_wide(p, SHS__AT(r->Z, p, 0, i), SHS__AT(r->Z, p, 0, j));
            *SHS__AT(r->G, n, i, j) = i == j ? 1 : g > most ? most : g < -most ? -most : g;
        }
    if (!shs__eigh_largest(n, r->G, n, &largest)) return SHS_NO_CONVERGENCE;
    r->eigh.scale = shs__eigh_scale(largest);
    shs__eigh_copy(&r->eigh, r->G, n);
    status = shs__eigh_solve(&r->eigh, k, r->values, r->vectors, n);
    memset(r->Z, 0, (size_t)p * (size_t)n * sizeof *r->Z);
    for (i = 0; i < k && status == SHS_OK; i++)
        for (j = 0; j < n && r->values[i] > 0; j++)
            *SHS__AT(r->Z, p, i, j) = SHS__WSQRT(r->values[i]) * *SHS__AT(r->vectors, n, j, i);
    return status;
}

/* Z is rotated to where it fits the signals best: by WV' of BZ' = W S V'. */
SHS__PRIVATE void shs__dl_rotate(shs__dl_ipr *r, int p, int n) {
    int i, j, l;
    memset(r->W, 0, (size_t)p * (size_t)p * sizeof *r->W);
    for (j = 0; j < n; j++)
        for (i = 0; i < p; i++)
            for (l = 0; l < p; l++) *SHS__AT(r->W, p, l, i) += *SHS__AT(r->B, p, l, j) * *SHS__AT(r->Z, p, i, j);
    shs__dl_orthogonal_columns(p, r->W, r->V);
    shs__dl_orthonormal_columns(p, r->W);
    for (j = 0; j < n; j++) {
        shs_wide *z = SHS__AT(r->Z, p, 0, j), norm;
        memset(r->t, 0, (size_t)p * sizeof *r->t);
        for (i = 0; i < p; i++) {
            shs_wide part = shs__dl_dot_wide(p, SHS__AT(r->V, p, 0, i), z);
            for (l = 0; l < p; l++) r->t[l] += part * *SHS__AT(r->W, p, l, i);
        }
        norm = SHS__WSQRT(shs__dl_dot_wide(p, r->t, r->t));
        for (l = 0; l < p; l++) z[l] = norm > 0 ? r->t[l] / norm : 0;
    }
}

/* The atoms become less coherent, the codes stay. *mine: how this rank is, before and after. */
SHS__PRIVATE shs_status shs__dl_decorrelate(shs__dl_learner *w, shs_status *mine) {
    const size_t p = (size_t)w->p, n = (size_t)w->n;
    shs__dl_ipr *r = &w->ipr;
    size_t i, j;
    int round;
    shs_status status;
    if (*mine == SHS_OK) *mine = shs__dl_stage_cross(w, r->B);
    status = shs__ctx_reduce_well(w->ctx, *mine, r->B, p * n, SHS_REDUCE_SUM);
    if (status != SHS_OK) return status;
    for (i = 0; i < p * n; i++) r->Z[i] = (shs_wide)w->D[i];
    for (round = 0; round < w->o->coherence_rounds && *mine == SHS_OK; round++) {
        *mine = shs__dl_project(r, w->p, w->n, (shs_wide)w->o->coherence);
        if (*mine == SHS_OK) shs__dl_rotate(r, w->p, w->n);
    }
    for (j = 0; j < n && *mine == SHS_OK; j++) (void)shs__dl_unit(w->p, r->Z + j * p, w->D + j * p);
    memcpy(w->coded, w->D, p * n * sizeof *w->D);
    w->residual_done = 0;
    return SHS_OK;
}

/* ---- the driver: iterations ------------------------------------------------------------------- >>learn_iterations */

/* Codes the signals that are not learnt from. */
SHS__PRIVATE shs_status shs__dl_code_test(shs__dl_learner *w, const shs_real *D, shs_wide *sum2) {
    shs_omp_report report = SHS_ZERO;
    shs_status status;
    *sum2 = 0;
    if (w->test.m == 0) return SHS_OK;
    shs__coder_dictionary(w->ctx, &w->test, D, w->p);
    status = shs__coder_run(w->ctx, &w->test, NULL, &report);
    *sum2 = report.sum2;
    return status;
}

/* Codes with D and adds up over the ranks. */
SHS__PRIVATE shs_status shs__dl_code_all(shs__dl_learner *w, const shs_real *D, shs_wide *rmse, shs_wide *mean_atoms,
                                         shs_wide *rmse_test) {
    shs_omp_report report = SHS_ZERO;
    shs_status status = shs__dl_stage_code(w, D, &report);
    int j;
    w->energy[0] = report.sum2;
    w->energy[1] = (shs_wide)report.nonzeros;
    for (j = 0; j < w->n; j++) w->energy[2 + j] = (shs_wide)w->usage[j];
    if (status == SHS_OK) status = shs__dl_code_test(w, D, w->energy + 2 + w->n);
    w->energy[3 + w->n] = (shs_wide)w->test.m;
    status = shs__ctx_reduce_well(w->ctx, status, w->energy, (size_t)w->n + 4, SHS_REDUCE_SUM);
    if (status != SHS_OK) return status;
    for (j = 0; j < w->n; j++) w->usage[j] = (size_t)w->energy[2 + j];
    *rmse = SHS__WSQRT(w->energy[0] / ((shs_wide)w->p * w->all_m));
    *mean_atoms = w->energy[1] / w->all_m;
    *rmse_test = w->energy[3 + w->n] > 0 ? SHS__WSQRT(w->energy[2 + w->n] / ((shs_wide)w->p * w->energy[3 + w->n])) : -1;
    return SHS_OK;
}

/* The next columns of D'D, from `first` on, into the panel (ld n); returns how many. */
SHS__PRIVATE int shs__dl_gram_panel(int p, int n, const shs_real *D, int ldd, int first, shs_real *panel, shs_real *scratch) {
    int count = shs__imin(SHS__PANEL, n - first);
    shs__la_gemm_serial(SHS_TRANS_YES, SHS_TRANS_NO, n, count, p, 1, D, ldd, SHS__AT(D, ldd, 0, first), ldd, 0, panel, n,
                        scratch);
    return count;
}

/* Flags one of every two atoms whose |d_i'd_j| exceeds the limit: the one with fewer uses, the later of equals. */
SHS__PRIVATE void shs__dl_flag_duplicates(shs__dl_learner *w, shs_real limit) {
    int first, i, j;
    for (first = 0; first < w->n; first += SHS__PANEL) {
        int count = shs__dl_gram_panel(w->p, w->n, w->D, w->p, first, w->panel, w->scratch);
        for (j = first; j < first + count; j++)
            for (i = 0; i < j && !w->flagged[j]; i++)
                if (!w->flagged[i] && shs__abs(*SHS__AT(w->panel, w->n, i, j - first)) > limit)
                    w->flagged[w->usage[i] < w->usage[j] ? i : j] = 1;
    }
}

/* The signal with the largest error over all ranks becomes d, normalised, and is not taken again. *found = 0 when only zero
   errors are left. */
SHS__PRIVATE shs_status shs__dl_take_worst(shs__dl_learner *w, shs_real *d, int *found) {
    shs_wide worst = 0, owner, *column = w->sums, rank = (shs_wide)shs__ctx_rank(w->ctx);
    size_t i, at = 0;
    shs_status status;
    for (i = 0; i < w->m; i++)
        if ((shs_wide)w->errors2[i] > worst) worst = (shs_wide)w->errors2[i], at = i;
    owner = worst;
    status = shs__ctx_reduce(w->ctx, &worst, 1, SHS_REDUCE_MAX);
    *found = worst > 0;
    if (status != SHS_OK || !*found) return status;
    owner = owner >= worst ? rank : (shs_wide)INT_MAX;
    status = shs__ctx_reduce(w->ctx, &owner, 1, SHS_REDUCE_MIN);
    memset(column, 0, (size_t)w->p * sizeof *column);
    if (owner <= rank && owner >= rank) {
        shs__la_axpy_wide(w->p, 1, SHS__AT(w->coder.Y, w->coder.ldy, 0, at), column);
        w->errors2[at] = 0;
    }
    if (status == SHS_OK) status = shs__ctx_reduce(w->ctx, column, (size_t)w->p, SHS_REDUCE_SUM);
    *found = shs__dl_unit(w->p, column, d);
    return status;
}

SHS__PRIVATE void shs__dl_random_atom(int p, shs_real *d, shs_random *r) {
    shs_wide norm2 = 0;
    int i;
    do
        for (norm2 = 0, i = 0; i < p; i++) {
            d[i] = (shs_real)shs_random_normal(r);
            norm2 += (shs_wide)d[i] * (shs_wide)d[i];
        }
    while (!(norm2 > 0));
    for (i = 0; i < p; i++) d[i] = (shs_real)((shs_wide)d[i] / SHS__WSQRT(norm2));
}

/* Replaces unused atoms, near-duplicates and rarely used atoms. Ranks on processors that round differently may not see the same
   duplicates, so they agree on the atoms before they look for what replaces them. mine: how this rank is. */
SHS__PRIVATE shs_status shs__dl_replace_atoms(shs__dl_learner *w, int iteration, shs_status mine, shs_ksvd_record *record) {
    const shs_ksvd_options *o = w->o;
    shs_random r;
    shs_status status;
    int j, found = 1;
    if (o->replace == SHS_REPLACE_LEAVE) return shs__ctx_agree(w->ctx, mine);
    for (j = 0; j < w->n; j++) w->flagged[j] = w->usage[j] == 0 || (o->prune_uses > 0 && w->usage[j] < (size_t)o->prune_uses);
    if (o->prune_coherence < 1) shs__dl_flag_duplicates(w, o->prune_coherence);
    for (j = 0; j < w->n; j++) w->energy[j] = (shs_wide)w->flagged[j];
    status = shs__ctx_reduce_well(w->ctx, mine, w->energy, (size_t)w->n, SHS_REDUCE_MAX);
    shs_random_seed(&r, shs__random_mix(o->seed + 1) + (uint64_t)iteration);
    for (j = 0; j < w->n && status == SHS_OK; j++) {
        if (!(w->energy[j] > 0)) continue;
        if (o->replace == SHS_REPLACE_RANDOM) shs__dl_random_atom(w->p, SHS__AT(w->D, w->p, 0, j), &r);
        else status = shs__dl_take_worst(w, SHS__AT(w->D, w->p, 0, j), &found);
        if (status != SHS_OK || !found) break;
        if (w->usage[j]) record->pruned++;
        else record->replaced++;
    }
    return status;
}

SHS__PRIVATE void shs__dl_keep_best(shs__dl_learner *w, int updates, shs_wide rmse, shs_wide mean_atoms) {
    shs_wide merit = w->tolerant ? mean_atoms : rmse; /* what is being minimised */
    if (updates > 0 && w->o->keep == SHS_KEEP_BEST && !(merit < w->best_merit)) return;
    w->best_merit = merit;
    w->report.best_iteration = updates;
    w->report.rmse = rmse;
    w->report.mean_atoms = mean_atoms;
    memcpy(w->best, w->D, (size_t)w->p * (size_t)w->n * sizeof(shs_real));
}

/* ||Y - DX||_F / sqrt(p m) over all ranks, with X as the updates have left it. mine: how this rank is. */
SHS__PRIVATE shs_status shs__dl_error(shs__dl_learner *w, shs_status mine, shs_wide *rmse) {
    shs_wide sum2[1 + SHS__TELLS] = {0};
    shs_status status;
    if (mine == SHS_OK) mine = shs__dl_stage_residual(w, sum2);
    status = shs__ctx_reduce_well(w->ctx, mine, sum2, 1, SHS_REDUCE_SUM);
    if (status == SHS_OK) *rmse = SHS__WSQRT(sum2[0] / ((shs_wide)w->p * w->all_m));
    return status;
}

/* The regularisation of an iteration. */
SHS__PRIVATE shs_real shs__dl_mu(const shs_ksvd_options *o, int iteration) {
    shs_real mu = o->regularisation;
    int k;
    if (o->regularised_iterations > 0 && iteration >= o->regularised_iterations) return 0;
    for (k = 0; k < iteration && mu > 0; k++) mu *= o->regularisation_decay;
    return mu;
}

/* Coding, updates, replacement: one iteration, and its record. */
SHS__PRIVATE shs_status shs__dl_iterate(shs__dl_learner *w, int k, shs_ksvd_record *record) {
    const shs_ksvd_options *o = w->o;
    int iteration = o->first_iteration + k, round, j;
    int rounds = shs__dl_scheduled(o->rounds_schedule, o->rounds_steps, o->rounds, iteration);
    int group = shs__dl_scheduled(o->parallel_atoms_schedule, o->parallel_atoms_steps, o->parallel_atoms, iteration);
    int wanted = o->rmse_after_update || o->rmse_after_rounds;
    shs_wide *errors = w->report.round_history;
    shs_status mine, status = shs__dl_code_all(w, w->D, &record->rmse_coding, &record->mean_atoms, &record->rmse_test);
    if (status != SHS_OK) return status;
    shs__dl_keep_best(w, k, record->rmse_coding, record->mean_atoms);
    for (j = 0; j < w->n; j++) record->atoms_used += w->usage[j] > 0;
    if (errors) errors += (size_t)k * (size_t)w->report.round_stride;
    if (w->report.usage_history)
        memcpy(w->report.usage_history + (size_t)k * (size_t)w->n, w->usage, (size_t)w->n * sizeof(size_t));
    mine = shs__ctx_progress(w->ctx, "learning", (size_t)k, (size_t)o->iterations, record->rmse_coding);
    w->mu = shs__dl_mu(o, iteration);
    if (mine == SHS_OK && w->mu > 0) mine = shs__dl_stage_solve(w);
    if (o->update == SHS_UPDATE_MOD) group = w->n;
    for (round = 0; errors && round < w->report.round_stride; round++) errors[round] = -1;
    for (round = 0; round < rounds && status == SHS_OK; round++) {
        status = shs__dl_update_round(w, shs__imin(group, w->n), round + 1 == rounds, wanted || o->coherence > 0, &mine);
        if (status == SHS_OK && o->coherence > 0 && round + 1 == rounds) status = shs__dl_decorrelate(w, &mine);
        if (status != SHS_OK || !(o->rmse_after_rounds || (wanted && round + 1 == rounds))) continue;
        status = shs__dl_error(w, mine, &record->rmse_update);
        if (errors && o->rmse_after_rounds && round < w->report.round_stride) errors[round] = record->rmse_update;
    }
    return status == SHS_OK ? shs__dl_replace_atoms(w, iteration, mine, record) : status;
}

/* Whether the best error has not improved enough for long enough. */
SHS__PRIVATE int shs__dl_stalled(shs__dl_learner *w, int k) {
    if (w->o->stop_patience <= 0) return 0;
    if (k == 0 || w->best_merit < w->stop_merit * (1 - w->o->stop_improvement)) {
        w->stop_merit = w->best_merit;
        w->stop_iteration = k;
    }
    return k - w->stop_iteration >= w->o->stop_patience;
}

/* The iterations, and a last coding so that the last dictionary can be judged too. */
SHS__OUTLINE shs_status shs__dl_learn(shs__dl_learner *w) {
    const size_t iterations = (size_t)w->o->iterations;
    int k;
    shs_wide rmse, mean_atoms, rmse_test;
    shs_status status = SHS_OK;
    for (k = 0; k < w->o->iterations; k++) {
        shs_ksvd_record record = SHS_ZERO;
        record.rmse_update = -1;
        status = shs__dl_iterate(w, k, &record);
        if (w->report.history && (status == SHS_OK || status == SHS_CANCELLED)) w->report.history[k] = record;
        if (status != SHS_OK) return status;
        w->report.iterations = k + 1;
        if (shs__dl_stalled(w, k)) break;
    }
    status = shs__dl_code_all(w, w->D, &rmse, &mean_atoms, &rmse_test);
    if (status != SHS_OK) return status;
    shs__dl_keep_best(w, w->report.iterations, rmse, mean_atoms);
    (void)shs__ctx_progress(w->ctx, "learning", iterations, iterations, w->report.rmse);
    return SHS_OK;
}

/* The codes of the dictionary that is returned, into the caller's. Not every rank wants codes, so nothing here is
   collective. */
SHS__OUTLINE shs_status shs__dl_final_codes(shs__dl_learner *w, shs_codes *codes) {
    shs_omp_report report;
    shs_status status = SHS_OK;
    if (codes->stride < w->coder.stride) return shs__dl_stage_recode(w, w->best, codes);
    if (w->report.best_iteration != w->report.iterations) status = shs__dl_stage_code(w, w->best, &report);
    return status == SHS_OK ? shs__dl_stage_fetch(w, w->best, codes) : status;
}

/* ---- where it starts ------------------------------------------------------------------------------- >>learn_start */

SHS__PUBLIC shs_status shs_dictionary_random(int p, int n, shs_real *D, int ldd, uint64_t seed) {
    shs_status status = shs__omp_check_dictionary(p, n, D, ldd);
    shs_random r;
    int j;
    if (status != SHS_OK) return status;
    shs_random_seed(&r, seed);
    for (j = 0; j < n; j++) shs__dl_random_atom(p, SHS__AT(D, ldd, 0, j), &r);
    return SHS_OK;
}

/* Value i of the k-th of `count` cosines on `length` points: cos(pi i k / count), the mean removed unless k = 0. With more
   cosines than points they are overcomplete. */
#define SHS__DL_PI ((shs_wide)3.14159265358979323846)
SHS__PRIVATE shs_wide shs__dl_cosine(int i, int k, int count, int length) {
    shs_wide mean = 0;
    int q;
    for (q = 0; k > 0 && q < length; q++) mean += SHS__WCOS(SHS__DL_PI * (shs_wide)q * (shs_wide)k / (shs_wide)count);
    return SHS__WCOS(SHS__DL_PI * (shs_wide)i * (shs_wide)k / (shs_wide)count) - mean / (shs_wide)length;
}

/* Across the channels an ordinary DCT: cos(pi (c + 1/2) k / channels). */
SHS__PRIVATE void shs__dl_dct_atom(int width, int height, int channels, const int *k, const int *count, shs_real *d) {
    int p = width * height * channels, i;
    for (i = 0; i < p; i++) {
        int x = i % width, y = i / width % height, c = i / width / height;
        shs_wide turn = SHS__DL_PI * ((shs_wide)c + (shs_wide)0.5) * (shs_wide)k[2] / (shs_wide)channels;
        d[i] = (shs_real)(shs__dl_cosine(x, k[0], count[0], width) * shs__dl_cosine(y, k[1], count[1], height) *
                          SHS__WCOS(turn));
    }
}

SHS__PUBLIC shs_status shs_dictionary_dct(int width, int height, int channels, int n, shs_real *D, int ldd) {
    int count[3], k[3], frequency, made = 0, p, each;
    shs_status status;
    if (width < 1 || height < 1 || channels < 1) return SHS_BAD_PATCHES;
    if (width > INT_MAX / height || width * height > INT_MAX / channels) return SHS_TOO_LARGE;
    p = width * height * channels;
    status = shs__omp_check_dictionary(p, n, D, ldd);
    if (status != SHS_OK) return status;
    each = (n - 1) / channels + 1;
    count[2] = channels;
    count[0] = count[1] = 1;
    if (width > 1 && height > 1) {
        while (count[0] < each / count[0] + (each % count[0] != 0)) count[0]++;
        count[1] = count[0];
    } else if (width > 1 || height > 1) count[width > 1 ? 0 : 1] = each;
    if (each > count[0] * count[1]) return SHS_BAD_START; /* a single pixel has no more than its channels */
    for (frequency = 0; made < n; frequency++)
        for (k[2] = 0; k[2] < channels && k[2] <= frequency; k[2]++)
            for (k[1] = 0; k[1] < count[1] && k[1] + k[2] <= frequency && made < n; k[1]++) {
                k[0] = frequency - k[1] - k[2];
                if (k[0] < count[0]) shs__dl_dct_atom(width, height, channels, k, count, SHS__AT(D, ldd, 0, made++));
            }
    return shs_normalize_columns(p, n, D, ldd, NULL);
}

/* Whether two unit vectors are the same up to sign. */
SHS__PRIVATE int shs__dl_same_direction(int p, const shs_real *a, const shs_real *b) {
    int i;
    for (i = 0; i < p; i++)
        if (shs__abs(shs__abs(a[i]) - shs__abs(b[i])) > 16 * (shs_real)SHS__EPS) return 0;
    return shs__abs(shs_dot(p, a, 1, b, 1)) > (shs_real)0.999;
}

/* Fetches the signals that have these numbers among all ranks' signals, as columns of w->sums. */
SHS__PRIVATE shs_status shs__dl_fetch_signals(shs__dl_learner *w, uint64_t first, int count) {
    int j;
    memset(w->sums, 0, (size_t)w->p * (size_t)count * sizeof *w->sums);
    for (j = 0; j < count; j++) {
        uint64_t i = shs_random_permuted(first + (uint64_t)j, (uint64_t)w->all_m, shs__random_mix(w->o->seed));
        if (i >= w->offset && i - w->offset < w->m)
            shs__la_axpy_wide(w->p, 1, SHS__AT(w->coder.Y, w->coder.ldy, 0, i - w->offset), w->sums + (size_t)j * (size_t)w->p);
    }
    return shs__ctx_reduce(w->ctx, w->sums, (size_t)w->p * (size_t)count, SHS_REDUCE_SUM);
}

/* Signals in random order, normalised; zeros and copies of earlier ones are passed over. What is missing stays for random
   atoms; *made says how many there are. */
SHS__PRIVATE shs_status shs__dl_start_from_signals(shs__dl_learner *w, int *made) {
    uint64_t next = 0, all = (uint64_t)w->all_m;
    for (*made = 0; *made < w->n && next < all;) {
        int count = (int)(all - next < (uint64_t)(w->n - *made) ? all - next : (uint64_t)(w->n - *made)), j, i;
        shs_status status = shs__dl_fetch_signals(w, next, count);
        if (status != SHS_OK) return status;
        next += (uint64_t)count;
        for (j = 0; j < count; j++) {
            shs_real *d = w->D + (size_t)*made * (size_t)w->p;
            if (!shs__dl_unit(w->p, w->sums + (size_t)j * (size_t)w->p, d)) continue;
            for (i = 0; i < *made && !shs__dl_same_direction(w->p, d, w->D + (size_t)i * (size_t)w->p);) i++;
            *made += i == *made;
        }
    }
    return SHS_OK;
}

SHS__PRIVATE shs_status shs__dl_start(shs__dl_learner *w, const shs_real *given, int ldd) {
    const shs_ksvd_options *o = w->o;
    int made = 0, j;
    shs_random r;
    shs_status status = SHS_OK;
    shs_random_seed(&r, shs__random_mix(o->seed));
    if (o->start == SHS_START_GIVEN) {
        for (j = 0; j < w->n; j++)
            memcpy(w->D + (size_t)j * (size_t)w->p, SHS__AT(given, ldd, 0, j), (size_t)w->p * sizeof(shs_real));
        return o->first_iteration > 0 ? SHS_OK : shs_normalize_columns(w->p, w->n, w->D, w->p, NULL);
    }
    if (o->start == SHS_START_DCT) {
        int width = o->patch_width, height = o->patch_height;
        if (width < 1 || height < 1) return SHS_BAD_START;
        if (shs__layout_product((size_t)width, (size_t)height, (size_t)o->patch_channels) != (size_t)w->p) return SHS_BAD_START;
        return shs_dictionary_dct(width, height, o->patch_channels, w->n, w->D, w->p);
    }
    if (o->start == SHS_START_SIGNALS) status = shs__dl_start_from_signals(w, &made);
    for (j = made; j < w->n; j++) shs__dl_random_atom(w->p, w->D + (size_t)j * (size_t)w->p, &r);
    return status;
}

/* ---- the public forms ----------------------------------------------------------------------------- >>learn_public */

/* stride as in the options already checked; own_codes: the caller has none to offer. */
SHS__PRIVATE void shs__dl_layout(shs__layout *l, shs__dl_learner *w, int stride, int own_codes) {
    size_t p = (size_t)w->p, n = (size_t)w->n, atoms = shs__layout_product(p, n, 1);
    shs__dl_session_layout(l, w, stride, own_codes);
    if (w->o->coherence > 0) {
        size_t square = shs__layout_product(p, p, 1), k = p < n ? p : n;
        shs__eigh_layout(l, w->n, 1, &w->ipr.eigh);
        w->ipr.B = SHS__CARVE(l, shs_wide, shs__layout_product(p, n + SHS__TELLS, 1));
        w->ipr.G = SHS__CARVE(l, shs_wide, shs__layout_product(n, n, 1));
        w->ipr.values = SHS__CARVE(l, shs_wide, k);
        w->ipr.vectors = SHS__CARVE(l, shs_wide, shs__layout_product(n, k, 1));
        w->ipr.Z = SHS__CARVE(l, shs_wide, atoms);
        w->ipr.W = SHS__CARVE(l, shs_wide, square);
        w->ipr.V = SHS__CARVE(l, shs_wide, square);
        w->ipr.t = SHS__CARVE(l, shs_wide, p);
    }
    if (w->o->test_m > 0) {
        w->test_coding = w->o->coding;
        w->test_coding.sparsity_each = NULL, w->test_coding.tolerance_each = NULL;
        w->test.over.p = w->p, w->test.over.n = w->n, w->test.m = w->o->test_m;
        w->test.stride = stride, w->test.options = &w->test_coding;
        shs__coder_layout(l, &w->test, shs__ctx_workers(w->ctx));
        shs__codes_layout(l, &w->test_codes, w->o->test_m, stride);
    }
    w->D = SHS__CARVE(l, shs_real, atoms);
    w->best = SHS__CARVE(l, shs_real, atoms);
    w->sums = SHS__CARVE(l, shs_wide, shs__layout_product(p + 1, n + SHS__TELLS, 1));
    w->energy = SHS__CARVE(l, shs_wide, n + 4 + SHS__TELLS);
    w->errors2 = SHS__CARVE(l, shs_real, w->m);
    w->flagged = SHS__CARVE(l, unsigned char, n);
    w->panel = SHS__CARVE(l, shs_real, shs__layout_product(n, SHS__PANEL, 1));
    w->scratch = SHS__CARVE(l, shs_real, shs__la_gemm_scratch(w->n, SHS__PANEL, w->p));
}

SHS__PRIVATE int shs__dl_schedule_ok(const shs_step *steps, int count) {
    int i;
    if (count < 0 || (count > 0 && !steps)) return 0;
    for (i = 0; i < count; i++)
        if (steps[i].value < 1 || steps[i].from < 0 || (i > 0 && steps[i].from <= steps[i - 1].from)) return 0;
    return 1;
}

SHS__PRIVATE shs_status shs__dl_check_options(const shs_ksvd_options *o) {
    if (!SHS__ZEROED(o)) return SHS_BAD_OPTIONS;
    if (o->iterations < 0 || o->first_iteration < 0) return SHS_BAD_ITERATIONS;
    if (o->parallel_atoms < 0) return SHS_BAD_PARALLEL_ATOMS;
    if (o->rounds < 0) return SHS_BAD_ROUNDS;
    if (!shs__dl_schedule_ok(o->parallel_atoms_schedule, o->parallel_atoms_steps)) return SHS_BAD_SCHEDULE;
    if (!shs__dl_schedule_ok(o->rounds_schedule, o->rounds_steps)) return SHS_BAD_SCHEDULE;
    if (o->coding.nonnegative || shs__omp_weighted(&o->coding) || shs__omp_grouped(&o->coding)) return SHS_BAD_OPTIONS;
    if ((unsigned)o->update >= SHS_UPDATE_COUNT) return SHS_BAD_OPTIONS;
    if ((unsigned)o->start > SHS_START_GIVEN || (unsigned)o->replace > SHS_REPLACE_RANDOM) return SHS_BAD_OPTIONS;
    if ((unsigned)o->keep > SHS_KEEP_LAST || !shs__tolerance_ok(o->prune_coherence)) return SHS_BAD_OPTIONS;
    if (!shs__tolerance_ok(o->regularisation) || !shs__tolerance_ok(o->incoherence)) return SHS_BAD_OPTIONS;
    if (!shs__tolerance_ok(o->regularisation_decay) || o->regularisation_decay > 1) return SHS_BAD_OPTIONS;
    if (!shs__tolerance_ok(o->coherence) || o->coherence >= 1 || o->coherence_rounds < 0) return SHS_BAD_OPTIONS;
    if (o->test_m > 0 && !o->test) return SHS_BAD_SIGNALS;
    if (o->regularised_iterations < 0 || (o->incoherence > 0 && o->update == SHS_UPDATE_MOD)) return SHS_BAD_OPTIONS;
    return SHS_OK;
}

/* The options of a training run with zeros replaced by what they become, but for prune_uses. A Gram matrix of the caller's
   would be that of another dictionary. */
SHS__PRIVATE shs_ksvd_options shs__dl_options(int p, int n, const shs_ksvd_options *given) {
    shs_ksvd_options o = SHS_ZERO;
    size_t side = 1, area;
    if (given) o = *given;
    o.coding.gram = NULL;
    if (o.coding.sparsity == 0 && !o.coding.sparsity_each && !(o.coding.tolerance > 0) && !o.coding.tolerance_each)
        o.coding.sparsity = shs__imin(shs__imax(1, p / 10), n);
    if (o.iterations == 0) o.iterations = 10;
    if (o.parallel_atoms == 0) o.parallel_atoms = 1;
    if (o.rounds == 0) o.rounds = 1;
    if (o.coherence_rounds == 0) o.coherence_rounds = 5;
    if (o.test_ld == 0) o.test_ld = p;
    if (o.regularisation_decay <= 0 && o.regularisation_decay >= 0) o.regularisation_decay = 1;
    if (o.prune_coherence <= 0 && o.prune_coherence >= 0) o.prune_coherence = (shs_real)0.99;
    if (o.patch_channels <= 0) o.patch_channels = 1;
    area = (size_t)shs__imax(p, 1) / (size_t)o.patch_channels;
    while (side * side < area) side++;
    if (o.patch_width <= 0 && o.patch_height <= 0 && side * side * (size_t)o.patch_channels == (size_t)shs__imax(p, 1))
        o.patch_width = o.patch_height = (int)side;
    return o;
}

/* What prune_uses of zero becomes for m signals of s atoms: an atom that is worth keeping is used more often than a fair share
   of few uses. */
SHS__PRIVATE int shs__dl_least_uses(shs_wide m, int s, int n) {
    shs_wide fair = m * (shs_wide)s / (shs_wide)shs__imax(n, 1);
    return fair >= 16 ? 4 : fair >= 4 ? (int)(fair / 4) : -1;
}

SHS__PUBLIC shs_ksvd_options shs_ksvd_defaults(int p, int n, size_t m) {
    shs_ksvd_options o = shs__dl_options(p, n, NULL);
    o.coding.signals_per_group = shs__coder_default_group(n);
    o.prune_uses = shs__dl_least_uses((shs_wide)m, o.coding.sparsity, n);
    return o;
}

SHS__PUBLIC shs_status shs_ksvd(const shs_context *ctx, int p, int n, size_t m, const shs_real *Y, int sparsity, int iterations,
                                shs_real *D) {
    shs_ksvd_options o = SHS_ZERO;
    o.coding.sparsity = sparsity;
    o.iterations = iterations;
    return shs_ksvd_ex(ctx, p, n, m, Y, p, &o, D, p, NULL, NULL);
}

SHS__PUBLIC size_t shs_ksvd_workspace(const shs_context *ctx, int p, int n, size_t m, const shs_ksvd_options *options) {
    shs_ksvd_options o = shs__dl_options(p, n, options);
    shs__dl_learner w = SHS_ZERO;
    shs__layout l = SHS_ZERO;
    int stride = shs__imin(p, n);
    if (p < 1 || n < 1 || shs__omp_check_options(p, n, m, &o.coding, &stride) != SHS_OK) return SIZE_MAX;
    w.ctx = ctx, w.o = &o, w.p = p, w.n = n, w.m = m;
    shs__dl_layout(&l, &w, shs__imax(stride, 1), 1);
    return shs__layout_query(&l);
}

/* How many signals there are over all ranks, and before this one: several ranks' numbers go into one reduction. A rank that
   answers for another's number would be counted twice. */
SHS__PRIVATE shs_status shs__dl_count_signals(shs__dl_learner *w) {
    const shs_context *ctx = w->ctx;
    shs_wide *shares = w->sums; /* of each rank: signals, and who has that number */
    int at_once = (int)shs__zmin(((size_t)w->p + 1) * (size_t)w->n / 2, 1024), first, r, twice = 0;
    w->offset = 0;
    w->all_m = shs__ctx_distributed(ctx) ? 0 : (shs_wide)w->m;
    for (first = 0; shs__ctx_distributed(ctx) && first < ctx->ranks; first += at_once) {
        int count = shs__imin(at_once, ctx->ranks - first), mine = ctx->rank - first;
        shs_status status;
        memset(shares, 0, 2 * (size_t)count * sizeof *shares);
        if (mine >= 0 && mine < count) shares[2 * mine] = (shs_wide)w->m, shares[2 * mine + 1] = 1;
        status = shs__ctx_reduce(ctx, shares, 2 * (size_t)count, SHS_REDUCE_SUM);
        if (status != SHS_OK) return status;
        for (r = 0; r < count; r++) {
            twice |= shares[2 * r + 1] > 1;
            if (r < mine) w->offset += (size_t)shares[2 * r];
            w->all_m += shares[2 * r];
        }
    }
    return twice ? SHS_RANKS_DIFFER : w->all_m > 0 ? SHS_OK : SHS_BAD_M;
}

/* Whether all ranks are well and mean the same; a given dictionary too must be the same on all. Then what of the options
   depends on the signals of all ranks. */
SHS__OUTLINE shs_status shs__dl_meet(shs__dl_learner *w, shs_status status, const shs_real *D, int ldd) {
    shs_ksvd_options *o = w->o;
    shs__meeting meeting = shs__ctx_meeting_for(w->ctx, "ksvd");
    const int choices[] = {w->p,
                           w->n,
                           o->patch_width,
                           o->patch_height,
                           o->patch_channels,
                           o->iterations,
                           o->first_iteration,
                           o->parallel_atoms,
                           o->parallel_atoms_steps,
                           o->rounds,
                           o->rounds_steps,
                           (int)o->update,
                           (int)o->start,
                           (int)o->replace,
                           o->prune_uses,
                           (int)o->keep,
                           o->rmse_after_update != 0,
                           o->rmse_after_rounds != 0,
                           o->stop_patience,
                           o->regularised_iterations,
                           o->coherence_rounds};
    const shs_wide values[] = {(shs_wide)o->prune_coherence,      o->stop_improvement,      (shs_wide)o->regularisation,
                               (shs_wide)o->regularisation_decay, (shs_wide)o->incoherence, (shs_wide)o->coherence};
    const int limits[] = {o->coding.sparsity, o->coding.sparsity_each != NULL, o->coding.tolerance_each != NULL};
    int j;
    if (status == SHS_OK) {
        meeting.all = shs__ctx_imprint(meeting.all, choices, sizeof choices);
        meeting.all = shs__ctx_imprint(meeting.all, values, sizeof values);
        meeting.all = shs__ctx_imprint(meeting.all, &o->seed, sizeof o->seed);
        meeting.all = shs__ctx_imprint(meeting.all, o->parallel_atoms_schedule,
                                       (size_t)o->parallel_atoms_steps * sizeof(shs_step));
        meeting.all = shs__ctx_imprint(meeting.all, o->rounds_schedule, (size_t)o->rounds_steps * sizeof(shs_step));
        for (j = 0; j < w->n && o->start == SHS_START_GIVEN; j++)
            meeting.all = shs__ctx_imprint(meeting.all, SHS__AT(D, ldd, 0, j), (size_t)w->p * sizeof(shs_real));
        meeting.having = shs__ctx_imprint(meeting.all, limits, sizeof limits);
        meeting.having = shs__ctx_imprint(meeting.having, &o->coding.tolerance, sizeof o->coding.tolerance);
        meeting.has_data = w->m > 0;
    }
    meeting.largest[0] = meeting.has_data ? (shs_wide)w->coder.stride : 0;
    meeting.largest[1] = meeting.has_data && (o->coding.tolerance > 0 || o->coding.tolerance_each);
    status = shs__ctx_meet(w->ctx, status, &meeting);
    if (status == SHS_OK) status = shs__dl_count_signals(w);
    if (status != SHS_OK) return status;
    w->tolerant = meeting.largest[1] > 0;
    if (o->prune_uses == 0) o->prune_uses = shs__dl_least_uses(w->all_m, (int)meeting.largest[0], w->n);
    return SHS_OK;
}

SHS__OUTLINE shs_status shs__dl_check(const shs_context *ctx, int p, int n, const shs_real *D, int ldd, size_t m,
                                      const shs_real *Y, int ldy, const shs_ksvd_options *o, const shs_codes *codes,
                                      int *stride) {
    shs_status status = shs__omp_check_signals(ctx, p, n, D, ldd, m, Y, ldy);
    if (status != SHS_OK) return status;
    if (m == 0 && !shs__ctx_distributed(ctx)) return SHS_BAD_M;
    status = shs__dl_check_options(o);
    if (status != SHS_OK) return status;
    *stride = shs__imin(p, n);
    status = shs__omp_check_options(p, n, m, &o->coding, stride);
    if (status != SHS_OK) return status;
    if (codes && (!shs__codes_ok(codes, m) || (codes->stride < *stride && shs__omp_limited(&o->coding)))) return SHS_BAD_CODES;
    *stride = shs__imax(*stride, 1);
    if (o->test_m > 0 && o->test_ld < p) return SHS_BAD_LDY;
    if (o->start == SHS_START_GIVEN && !shs__finite_columns(p, (size_t)n, D, ldd)) return SHS_DICTIONARY_NOT_FINITE;
    return SHS_OK;
}

/* Everything that can fail on one rank alone, before the first collective step. The caller's codes are worked in where they
   have room for what is learnt with. */
SHS__OUTLINE shs_status shs__dl_open(shs__dl_learner *w, shs__layout *l, int stride, const shs_real *Y, int ldy,
                                     const shs_codes *codes) {
    int own_codes = !codes || codes->stride < stride;
    shs_status status = SHS_OK;
    while (shs__layout_next(w->ctx, l, &status)) shs__dl_layout(l, w, stride, own_codes);
    if (status != SHS_OK) return status;
    if (!own_codes) w->codes = *codes;
    shs__dl_session_begin(w, Y, ldy);
    if (shs__coder_finite(w->ctx, &w->coder) != SHS_OK) return SHS_SIGNALS_NOT_FINITE;
    w->test.Y = w->o->test, w->test.ldy = w->o->test_ld, w->test.codes = &w->test_codes;
    if (w->test.m > 0 && shs__coder_finite(w->ctx, &w->test) != SHS_OK) return SHS_SIGNALS_NOT_FINITE;
    return shs__dl_stage_open(w);
}

/* The fast form of shs_ksvd_naive. */
SHS__PUBLIC shs_status shs_ksvd_ex(const shs_context *ctx, int p, int n, size_t m, const shs_real *Y, int ldy,
                                   const shs_ksvd_options *options, shs_real *D, int ldd, shs_codes *codes,
                                   shs_ksvd_report *report) {
    shs_ksvd_options o = shs__dl_options(p, n, options);
    shs__dl_learner w = SHS_ZERO;
    shs__layout l = SHS_ZERO;
    shs__trial trial = SHS_ZERO;
    int stride = 0, j, started;
    shs_status status = shs__dl_check(ctx, p, n, D, ldd, m, Y, ldy, &o, codes, &stride);
    if (status == SHS_OK && report && !SHS__ZEROED(report)) status = SHS_BAD_OUTPUT;
    if (status == SHS_OK && report && report->round_history && report->round_stride < 1) status = SHS_BAD_OUTPUT;
    if (report) {
        w.report.history = report->history, w.report.usage_history = report->usage_history;
        w.report.round_history = report->round_history, w.report.round_stride = report->round_stride;
    }
    w.ctx = shs__ctx_trial(ctx, &trial), w.p = p, w.n = n, w.m = m, w.o = &o;
    if (status == SHS_OK) status = shs__dl_open(&w, &l, stride, Y, ldy, codes);
    status = shs__dl_meet(&w, status, D, ldd);
    if (status == SHS_OK) status = shs__ctx_agree(w.ctx, shs__dl_start(&w, D, ldd));
    started = status == SHS_OK;
    if (started) {
        const shs_real *before = report ? report->dictionary : NULL;
        memcpy(w.best, w.D, (size_t)p * (size_t)n * sizeof(shs_real));
        if (report) report->dictionary = w.D;
        status = shs__dl_learn(&w);
        if (report) report->dictionary = before;
    }
    if (status == SHS_OK && codes) status = shs__dl_final_codes(&w, codes);
    if (started && codes && status != SHS_OK) memset(codes->used, 0, m * sizeof(int));
    if (started && (status == SHS_OK || status == SHS_CANCELLED)) {
        for (j = 0; j < n; j++) memcpy(SHS__AT(D, ldd, 0, j), w.best + (size_t)j * (size_t)p, (size_t)p * sizeof(shs_real));
        if (report) *report = w.report;
    }
    shs__dl_stage_close(&w);
    shs__layout_release(w.ctx, &l);
    return status;
}

SHS__PUBLIC shs_status shs_dictionary_coherence(const shs_context *ctx, int p, int n, const shs_real *D, int ldd,
                                                shs_wide *mu) {
    shs_real *norms = NULL, *panel = NULL, *scratch = NULL;
    shs__layout l = SHS_ZERO;
    int first, i, j;
    shs_wide largest = 0;
    shs_status status = shs__ctx_check(ctx);
    if (status == SHS_OK) status = shs__omp_check_dictionary(p, n, D, ldd);
    if (status != SHS_OK) return status;
    if (!mu) return SHS_BAD_OUTPUT;
    if (!shs__finite_columns(p, (size_t)n, D, ldd)) return SHS_DICTIONARY_NOT_FINITE;
    while (shs__layout_next(ctx, &l, &status)) {
        norms = SHS__CARVE(&l, shs_real, (size_t)n);
        panel = SHS__CARVE(&l, shs_real, shs__layout_product((size_t)n, SHS__PANEL, 1));
        scratch = SHS__CARVE(&l, shs_real, shs__la_gemm_scratch(n, SHS__PANEL, p));
    }
    if (status != SHS_OK) return status;
    for (j = 0; j < n; j++) norms[j] = shs_nrm2(p, SHS__AT(D, ldd, 0, j), 1);
    for (first = 0; first < n; first += SHS__PANEL) {
        int count = shs__dl_gram_panel(p, n, D, ldd, first, panel, scratch);
        for (j = first; j < first + count; j++)
            for (i = 0; i < j; i++) {
                shs_wide both = (shs_wide)norms[i] * (shs_wide)norms[j];
                shs_wide c = both > 0 ? shs__wabs((shs_wide)*SHS__AT(panel, n, i, j - first)) / both : 0;
                if (c > largest) largest = c;
            }
    }
    *mu = largest;
    shs__layout_release(ctx, &l);
    return SHS_OK;
}

/* ---- online learning: the naive twin -------------------------------------------------------------- >>online_naive */

SHS__PUBLIC void shs_online_naive(int p, int n, shs_real *D, ptrdiff_t m, const shs_real *Y, int s, shs_wide forgetting,
                                  shs_wide *A, shs_wide *B, int *atoms, shs_wide *x, shs_wide *r, shs_wide *Q, shs_wide *R) {
    ptrdiff_t i, j, k, l;
    for (j = 0; j < (ptrdiff_t)n * n; j++) A[j] *= forgetting;
    for (j = 0; j < (ptrdiff_t)p * n; j++) B[j] *= forgetting;
    for (i = 0; i < m; i++) { /* A += xx', B += yx' */
        int used = shs_omp_naive(p, n, D, Y + i * p, s, 0, NULL, atoms, x, r, Q, R);
        for (k = 0; k < used; k++) {
            for (j = 0; j < used; j++) A[atoms[j] + (ptrdiff_t)atoms[k] * n] += x[j] * x[k];
            for (l = 0; l < p; l++) B[l + (ptrdiff_t)atoms[k] * p] += (shs_wide)Y[l + i * p] * x[k];
        }
    }
    for (j = 0; j < n; j++) { /* d_j <- normalise(d_j + (b_j - D a_j) / A_jj) */
        shs_wide norm2 = 0;
        if (!(A[j + j * n] > 0)) continue;
        for (l = 0; l < p; l++) {
            for (r[l] = B[l + j * p], k = 0; k < n; k++) r[l] -= (shs_wide)D[l + k * p] * A[k + j * n];
            r[l] = (shs_wide)D[l + j * p] + r[l] / A[j + j * n];
            norm2 += r[l] * r[l];
        }
        for (l = 0; l < p; l++) D[l + j * p] = (shs_real)(r[l] / SHS__WSQRT(norm2));
    }
}

/* ---- online learning ------------------------------------------------------------------------------------ >>online */

/* What is counted of a batch, behind its sums and the uses of its atoms. */
enum { SHS__ON_SIGNALS, SHS__ON_SUM2, SHS__ON_NONZEROS, SHS__ON_TEST_SIGNALS, SHS__ON_TEST_SUM2, SHS__ON_COUNTS };

/* A learner of the batch at hand, whose signals stand where others have E: then E_I x' of all atoms is YX'. */
typedef struct shs__on_learner {
    shs__dl_learner w;
    shs_ksvd_options as; /* what the learner's parts read */
    const shs_online_options *o;
    shs_signals_fn read_fn;
    void *user;
    shs_context quiet; /* the context without progress_fn, which an engine would tell of every coding */
    int ended;         /* read_fn has no more */
    size_t reach;      /* signals that a batch has room for */
    shs_wide *A, *B;   /* A: the lower triangle by rows */
    shs_wide *fresh;   /* of the batch: A, B, n uses and SHS__ON_COUNTS, which are reduced at once */
    shs_wide *uses;    /* n: of `seen` signals, since unused atoms were looked for */
    shs_wide seen;
    shs_real *shares; /* n x SHS__PANEL: a_j / A_jj of a panel of atoms */
    shs_real *moved;  /* p x SHS__PANEL: D times it, then how far its atoms moved */
    shs_wide *moves;  /* p x SHS__PANEL: b_j / A_jj - D a_j / A_jj */
    shs_real *scratch;
    shs_online_report report;
} shs__on_learner;

SHS__PRIVATE void shs__on_layout(shs__layout *l, shs__on_learner *s, int stride) {
    shs__dl_learner *w = &s->w;
    size_t p = (size_t)w->p, n = (size_t)w->n, square = shs__layout_product(n, n, 1);
    size_t atoms = shs__layout_product(p, n, 1), rest = n + SHS__ON_COUNTS + SHS__TELLS;
    int fits = square < SIZE_MAX / 4 && atoms < SIZE_MAX / 4;
    shs__dl_layout(l, w, stride, 1);
    s->A = SHS__CARVE(l, shs_wide, square);
    s->B = SHS__CARVE(l, shs_wide, atoms);
    s->fresh = SHS__CARVE(l, shs_wide, fits ? square + atoms + rest : SIZE_MAX);
    s->uses = SHS__CARVE(l, shs_wide, n);
    s->shares = SHS__CARVE(l, shs_real, shs__layout_product(n, SHS__PANEL, 1));
    s->moved = SHS__CARVE(l, shs_real, shs__layout_product(p, SHS__PANEL, 1));
    s->moves = SHS__CARVE(l, shs_wide, shs__layout_product(p, SHS__PANEL, 1));
    s->scratch = SHS__CARVE(l, shs_real, shs__la_gemm_scratch(w->p, SHS__PANEL, w->n));
}

/* The next batch of this rank. */
SHS__PRIVATE shs_status shs__on_read(shs__on_learner *s) {
    shs__dl_learner *w = &s->w;
    size_t count = 0;
    w->m = 0;
    if (!s->ended && s->read_fn(s->user, w->p, s->reach, w->E, &count)) return SHS_READ_FAILED;
    if (count > s->reach) return SHS_READ_FAILED;
    s->ended |= count == 0;
    w->m = w->coder.m = count, w->coder.chunks = shs__ctx_chunks(count, w->coder.group);
    return shs__coder_finite(w->ctx, &w->coder) == SHS_OK ? SHS_OK : SHS_SIGNALS_NOT_FINITE;
}

/* Its codes, here or on the engine, and what is summed over them. */
SHS__PRIVATE shs_status shs__on_code(shs__on_learner *s, int test) {
    shs__dl_learner *w = &s->w;
    const size_t n = (size_t)w->n;
    shs_wide *uses = s->fresh + n * n + (size_t)w->p * n, *counts = uses + n;
    shs_omp_report report = SHS_ZERO;
    shs_atom_group g = SHS_ZERO;
    shs_status status = SHS_OK;
    int j;
    memset(counts, 0, SHS__ON_COUNTS * sizeof *counts);
    w->coder.over.D = w->D, w->coder.over.ldd = w->p;
    if (w->m > 0 && shs__codes_here(&s->quiet, &w->coder, &report, &status)) {
        shs__coder_dictionary(w->ctx, &w->coder, w->D, w->p);
        status = shs__coder_run(w->ctx, &w->coder, NULL, &report);
    }
    if (status == SHS_OK && test) status = shs__dl_code_test(w, w->D, counts + SHS__ON_TEST_SUM2);
    if (status != SHS_OK) return status;
    shs__dl_count_uses(w);
    g.count = w->n, g.atoms = w->D, g.gram = s->fresh, g.sums = s->fresh + n * n, g.energy = w->energy;
    shs__dl_cpu_gather(w, &g);
    for (j = 0; j < w->n; j++) uses[j] = (shs_wide)(w->uses.start[j + 1] - w->uses.start[j]);
    counts[SHS__ON_SIGNALS] = (shs_wide)w->m;
    counts[SHS__ON_SUM2] = report.sum2, counts[SHS__ON_NONZEROS] = (shs_wide)report.nonzeros;
    counts[SHS__ON_TEST_SIGNALS] = test ? (shs_wide)w->test.m : 0;
    return SHS_OK;
}

/* One sweep. D A of a panel of atoms is formed at once, of D before them; an atom that moves tells those after it. */
SHS__PRIVATE void shs__on_sweep(shs__on_learner *s) {
    shs__dl_learner *w = &s->w;
    const int p = w->p, n = w->n;
    const size_t ld = (size_t)n;
    shs_wide least = 0;
    int first, count, j, k, l;
    for (j = 0; j < n; j++)
        if (s->A[(size_t)j * ld + (size_t)j] > least) least = s->A[(size_t)j * ld + (size_t)j];
    least *= sizeof(shs_wide) == 8 ? (shs_wide)1e-12 : (shs_wide)1e-6;
    for (first = 0; first < n; first += count) {
        count = shs__imin(SHS__PANEL, n - first);
        for (k = 0; k < n; k++)
            for (j = first; j < first + count; j++) {
                shs_wide own = s->A[(size_t)j * ld + (size_t)j];
                shs_wide both = k < j ? s->A[(size_t)j * ld + (size_t)k] : s->A[(size_t)k * ld + (size_t)j];
                *SHS__AT(s->shares, n, k, j - first) = own > least ? (shs_real)(both / own) : 0;
            }
        shs__la_gemm_serial(SHS_TRANS_NO, SHS_TRANS_NO, p, count, n, 1, w->D, p, s->shares, n, 0, s->moved, p, s->scratch);
        for (j = 0; j < count; j++) {
            size_t at = (size_t)first + (size_t)j;
            shs_wide own = s->A[at * ld + at];
            for (l = 0; l < p && own > least; l++)
                *SHS__AT(s->moves, p, l, j) = s->B[at * (size_t)p + (size_t)l] / own - (shs_wide)*SHS__AT(s->moved, p, l, j);
        }
        for (j = 0; j < count; j++) {
            shs_wide *y = SHS__AT(s->moves, p, 0, j);
            shs_real *d = SHS__AT(w->D, p, 0, first + j), *moved = SHS__AT(s->moved, p, 0, j);
            if (!(s->A[((size_t)first + (size_t)j) * (ld + 1)] > least)) continue;
            for (l = 0; l < p; l++) y[l] += (shs_wide)d[l], moved[l] = d[l];
            (void)shs__dl_unit(p, y, d);
            for (l = 0; l < p; l++) moved[l] = d[l] - moved[l];
            for (k = j + 1; k < count; k++)
                shs__la_axpy_wide(p, -(shs_wide)*SHS__AT(s->shares, n, first + j, k), moved, SHS__AT(s->moves, p, 0, k));
        }
    }
}

/* Atom j, which was d, is another: what the signals were without it is what is kept, and nothing of it. */
SHS__PRIVATE void shs__on_forget_atom(shs__on_learner *s, int j, const shs_real *d) {
    const size_t n = (size_t)s->w.n;
    int k;
    for (k = 0; k < s->w.n; k++) {
        shs_wide *both = s->A + (k < j ? (size_t)j * n + (size_t)k : (size_t)k * n + (size_t)j);
        shs__la_axpy_wide(s->w.p, -*both, d, SHS__AT(s->B, s->w.p, 0, k));
        *both = 0;
    }
    memset(SHS__AT(s->B, s->w.p, 0, j), 0, (size_t)s->w.p * sizeof *s->B);
}

/* Replaces atoms when it is time to; `best` keeps those before. */
SHS__PRIVATE shs_status shs__on_replace(shs__on_learner *s, size_t k, shs_online_record *record) {
    shs__dl_learner *w = &s->w;
    const size_t p = (size_t)w->p, n = (size_t)w->n;
    const shs_wide *counts = s->fresh + n * n + p * n;
    shs_ksvd_record replaced = SHS_ZERO;
    shs_status status;
    size_t j;
    for (j = 0; j < n; j++) s->uses[j] += counts[j];
    s->seen += counts[n + SHS__ON_SIGNALS];
    if (w->o->replace == SHS_REPLACE_LEAVE || s->seen < (shs_wide)s->o->replace_every) return SHS_OK;
    for (j = 0; j < n; j++) w->usage[j] = (size_t)s->uses[j], s->uses[j] = 0;
    s->seen = 0;
    memcpy(w->best, w->D, p * n * sizeof *w->D);
    status = shs__dl_replace_atoms(w, (int)(k % INT_MAX), SHS_OK, &replaced);
    record->replaced = replaced.replaced, record->pruned = replaced.pruned;
    for (j = 0; j < n && status == SHS_OK; j++)
        if (memcmp(w->best + j * p, w->D + j * p, p * sizeof *w->D) != 0) shs__on_forget_atom(s, (int)j, w->best + j * p);
    return status;
}

/* Learns from a batch that was read: one reduction, the sums, the sweeps. mine: how this rank is. */
SHS__PRIVATE shs_status shs__on_batch(shs__on_learner *s, size_t k, shs_status mine, shs_online_record *record) {
    shs__dl_learner *w = &s->w;
    const size_t p = (size_t)w->p, n = (size_t)w->n, sums = n * n + p * n;
    const shs_wide *uses = s->fresh + sums, *counts = uses + n;
    shs_status status;
    size_t i, j;
    int sweep;
    if (mine == SHS_OK) mine = shs__on_code(s, k % s->o->test_every == 0);
    status = shs__ctx_reduce_well(w->ctx, mine, s->fresh, sums + n + SHS__ON_COUNTS, SHS_REDUCE_SUM);
    if (status != SHS_OK) return status;
    record->signals = (size_t)counts[SHS__ON_SIGNALS];
    record->rmse_test = -1;
    if (counts[SHS__ON_TEST_SIGNALS] > 0)
        record->rmse_test = SHS__WSQRT(counts[SHS__ON_TEST_SUM2] / ((shs_wide)w->p * counts[SHS__ON_TEST_SIGNALS]));
    if (record->signals == 0) return SHS_OK;
    record->rmse = SHS__WSQRT(counts[SHS__ON_SUM2] / ((shs_wide)w->p * counts[SHS__ON_SIGNALS]));
    record->mean_atoms = counts[SHS__ON_NONZEROS] / counts[SHS__ON_SIGNALS];
    for (j = 0; j < n; j++) record->atoms_used += uses[j] > 0;
    for (j = 0; j < n; j++)
        for (i = 0; i <= j; i++) s->A[j * n + i] = s->o->forgetting * s->A[j * n + i] + s->fresh[j * n + i];
    for (j = 0; j < p * n; j++) s->B[j] = s->o->forgetting * s->B[j] + s->fresh[n * n + j];
    for (sweep = 0; sweep < s->o->sweeps; sweep++) shs__on_sweep(s);
    return shs__on_replace(s, k, record);
}

/* Where it starts: the dictionary, which may be of the first batch, and the sums. mine: how this rank is. */
SHS__PRIVATE shs_status shs__on_start(shs__on_learner *s, shs_status mine, const shs_real *D, int ldd) {
    shs__dl_learner *w = &s->w;
    const size_t p = (size_t)w->p, n = (size_t)w->n;
    shs_status status = shs__ctx_agree(w->ctx, mine);
    size_t i, j;
    if (status == SHS_OK) status = shs__dl_count_signals(w);
    if (status == SHS_OK) status = shs__ctx_agree(w->ctx, shs__dl_start(w, D, ldd));
    if (status != SHS_OK) return status;
    for (j = 0; j < n; j++)
        for (i = 0; i < n; i++)
            s->A[j * n + i] = s->o->first_batch ? s->report.sums_xx[j * n + i] : i == j ? s->o->start_weight : 0;
    for (j = 0; j < p * n; j++) s->B[j] = s->o->first_batch ? s->report.sums_yx[j] : s->o->start_weight * (shs_wide)w->D[j];
    memset(s->uses, 0, n * sizeof *s->uses);
    return SHS_OK;
}

/* The batches, and the test set's error of the last dictionary; *started: there is a dictionary to return. */
SHS__OUTLINE shs_status shs__on_learn(shs__on_learner *s, const shs_real *D, int ldd, int *started) {
    const size_t first = s->o->first_batch, batches = s->o->batches;
    shs_wide test[2 + SHS__TELLS] = {0};
    shs_status mine = SHS_OK, status = SHS_OK;
    size_t k;
    for (k = 0; batches == 0 || k < batches; k++) {
        shs_online_record record = SHS_ZERO;
        if (mine == SHS_OK) mine = shs__on_read(s);
        if (k == 0) {
            status = shs__on_start(s, mine, D, ldd);
            if (status != SHS_OK) return status;
            *started = 1;
        }
        status = shs__on_batch(s, first + k, mine, &record);
        if (status != SHS_OK) return status;
        if (record.signals == 0) break;
        s->report.batches++, s->report.signals += record.signals;
        if (s->report.history && k < s->report.history_most) s->report.history[k] = record;
        mine = shs__ctx_progress(s->w.ctx, "learning online", k + 1, batches ? batches : k + 1, record.rmse);
    }
    if (mine == SHS_OK) mine = shs__dl_code_test(&s->w, s->w.D, test);
    test[1] = (shs_wide)s->w.test.m;
    status = shs__ctx_reduce_well(s->w.ctx, mine, test, 2, SHS_REDUCE_SUM);
    s->report.rmse_test = status == SHS_OK && test[1] > 0 ? SHS__WSQRT(test[0] / ((shs_wide)s->w.p * test[1])) : -1;
    return status;
}

/* ---- online learning: the public forms ----------------------------------------------------------- >>online_public */

SHS__PUBLIC int shs_shuffled_signals(void *user, int p, size_t most, shs_real *Y, size_t *count) {
    shs_signals *from = (shs_signals *)user;
    const uint64_t m = (uint64_t)from->m, epochs = from->epochs ? (uint64_t)from->epochs : 1;
    for (*count = 0; *count < most && m > 0 && from->delivered / m < epochs; ++*count, from->delivered++) {
        uint64_t key = shs__random_mix(from->seed + from->delivered / m);
        size_t i = (size_t)shs_random_permuted(from->delivered % m, m, key);
        memcpy(Y + *count * (size_t)p, SHS__AT(from->Y, from->ldy ? from->ldy : p, 0, i), (size_t)p * sizeof *Y);
    }
    return 0;
}

/* The options with zeros replaced by what they become. */
SHS__PRIVATE shs_online_options shs__on_options(int p, int n, const shs_online_options *given) {
    shs_online_options o = SHS_ZERO;
    shs_ksvd_options as = SHS_ZERO;
    if (given) o = *given;
    as.coding = o.coding, as.prune_coherence = o.prune_coherence, as.test_ld = o.test_ld;
    as.patch_width = o.patch_width, as.patch_height = o.patch_height, as.patch_channels = o.patch_channels;
    as = shs__dl_options(p, n, &as);
    o.coding = as.coding, o.prune_coherence = as.prune_coherence, o.test_ld = as.test_ld;
    o.patch_width = as.patch_width, o.patch_height = as.patch_height, o.patch_channels = as.patch_channels;
    if (o.batch == 0) o.batch = 512;
    if (o.forgetting <= 0 && o.forgetting >= 0) o.forgetting = 1;
    if (o.sweeps == 0) o.sweeps = 1;
    if (o.test_every == 0) o.test_every = 1;
    return o;
}

SHS__PUBLIC shs_online_options shs_online_defaults(int p, int n) {
    shs_online_options o = shs__on_options(p, n, NULL);
    o.coding.signals_per_group = shs__coder_default_group(n);
    o.replace_every = (size_t)shs__imax(n, 1) * 100 / (size_t)shs__imax(o.coding.sparsity, 1);
    return o;
}

/* Makes the learner ready to be laid out; *stride: the atoms that a signal takes at most. */
SHS__PRIVATE shs_status shs__on_open(shs__on_learner *s, int p, int n, shs_online_options *o, int *stride) {
    shs_ksvd_options *as = &s->as;
    shs_status status;
    if (!SHS__ZEROED(o) || !SHS__ZEROED(&o->coding)) return SHS_BAD_OPTIONS;
    if (o->coding.sparsity_each || o->coding.tolerance_each || shs__omp_weighted(&o->coding)) return SHS_BAD_OPTIONS;
    if (!shs__wide_finite(1, &o->forgetting) || !(o->forgetting > 0) || o->forgetting > 1) return SHS_BAD_FORGETTING;
    if (!shs__wide_finite(1, &o->start_weight) || o->start_weight < 0) return SHS_BAD_OPTIONS;
    if (o->sweeps < 0) return SHS_BAD_ROUNDS;
    as->coding = o->coding, as->start = o->start, as->seed = o->seed, as->first_iteration = o->first_batch > 0;
    as->patch_width = o->patch_width, as->patch_height = o->patch_height, as->patch_channels = o->patch_channels;
    as->replace = o->replace, as->prune_coherence = o->prune_coherence, as->prune_uses = -1;
    as->test = o->test, as->test_m = o->test_m, as->test_ld = o->test_ld;
    as->coding.nonnegative = 0; /* these codes are not updated */
    status = shs__dl_check_options(as);
    as->coding.nonnegative = o->coding.nonnegative;
    if (o->first_batch > 0 && o->start != SHS_START_GIVEN) return SHS_BAD_OPTIONS;
    *stride = shs__imin(p, n);
    if (status == SHS_OK) status = shs__omp_check_options(p, n, o->batch, &as->coding, stride);
    if (status == SHS_OK && o->test_m > 0 && o->test_ld < p) status = SHS_BAD_LDY;
    *stride = shs__imax(*stride, 1);
    if (o->replace_every == 0) o->replace_every = (size_t)n * 100 / (size_t)*stride;
    s->o = o, s->reach = o->batch, s->w.o = as, s->w.p = p, s->w.n = n, s->w.m = o->batch;
    return status;
}

SHS__PUBLIC size_t shs_online_workspace(const shs_context *ctx, int p, int n, const shs_online_options *options) {
    shs_online_options o = shs__on_options(p, n, options);
    shs__on_learner s = SHS_ZERO;
    shs__layout l = SHS_ZERO;
    int stride;
    if (p < 1 || n < 1 || shs__on_open(&s, p, n, &o, &stride) != SHS_OK) return SIZE_MAX;
    s.w.ctx = ctx;
    shs__on_layout(&l, &s, stride);
    return shs__layout_query(&l);
}

SHS__PUBLIC shs_status shs_online(const shs_context *ctx, int p, int n, size_t m, const shs_real *Y, int sparsity,
                                  size_t epochs, shs_real *D) {
    shs_online_options o = SHS_ZERO;
    shs_signals from = SHS_ZERO;
    shs_status status = shs__omp_check_signals(ctx, p, n, D, p, m, Y, p);
    if (status != SHS_OK) return status;
    o.coding.sparsity = sparsity;
    from.m = m, from.Y = Y, from.epochs = epochs;
    return shs_online_ex(ctx, p, n, shs_shuffled_signals, &from, &o, D, p, NULL);
}

/* Everything that can fail on one rank alone, before the first collective step. */
SHS__OUTLINE shs_status shs__on_check(shs__on_learner *s, int p, int n, const shs_real *D, int ldd, shs_online_options *o,
                                      const shs_online_report *report, shs__layout *l) {
    shs__dl_learner *w = &s->w;
    int stride = 1;
    shs_status status = shs__ctx_check(w->ctx);
    if (status == SHS_OK) status = shs__omp_check_dictionary(p, n, D, ldd);
    if (status != SHS_OK) return status;
    if (!s->read_fn) return SHS_BAD_SIGNALS;
    status = shs__on_open(s, p, n, o, &stride);
    if (status != SHS_OK) return status;
    if (report && !SHS__ZEROED(report)) return SHS_BAD_OUTPUT;
    if (o->first_batch > 0) {
        if (!report || !report->sums_xx || !report->sums_yx) return SHS_BAD_OUTPUT;
        if (!shs__wide_finite((size_t)n * (size_t)n, report->sums_xx) ||
            !shs__wide_finite((size_t)p * (size_t)n, report->sums_yx))
            return SHS_NOT_FINITE;
    }
    if (o->start == SHS_START_GIVEN && !shs__finite_columns(p, (size_t)n, D, ldd)) return SHS_DICTIONARY_NOT_FINITE;
    while (shs__layout_next(w->ctx, l, &status)) shs__on_layout(l, s, stride);
    if (status != SHS_OK) return status;
    if (report) s->report = *report;
    s->report.batches = s->report.signals = 0;
    shs__dl_session_begin(w, w->E, p);
    w->coder.after = NULL;
    if (w->ctx) s->quiet = *w->ctx;
    s->quiet.progress_fn = NULL;
    w->test.Y = o->test, w->test.ldy = o->test_ld, w->test.codes = &w->test_codes;
    return w->test.m > 0 ? shs__coder_finite(w->ctx, &w->test) : SHS_OK;
}

/* Whether all ranks are well and mean the same. */
SHS__OUTLINE shs_status shs__on_meet(const shs__on_learner *s, shs_status status, const shs_real *D, int ldd) {
    const shs_online_options *o = s->o;
    const size_t p = (size_t)s->w.p, n = (size_t)s->w.n;
    shs__meeting meeting = shs__ctx_meeting_for(s->w.ctx, "online");
    size_t j;
    if (status == SHS_OK) {
        const int choices[] = {
            s->w.p,        s->w.n,          o->patch_width,     o->patch_height,          o->patch_channels,         o->sweeps,
            (int)o->start, (int)o->replace, o->coding.sparsity, (int)o->coding.selection, o->coding.nonnegative != 0};
        const uint64_t sizes[] = {(uint64_t)o->batch,         (uint64_t)o->batches,    (uint64_t)o->first_batch,
                                  (uint64_t)o->replace_every, (uint64_t)o->test_every, o->seed};
        const shs_wide values[] = {(shs_wide)o->prune_coherence, (shs_wide)o->coding.tolerance, o->forgetting, o->start_weight};
        meeting.all = shs__ctx_imprint(meeting.all, choices, sizeof choices);
        meeting.all = shs__ctx_imprint(meeting.all, sizes, sizeof sizes);
        meeting.all = shs__ctx_imprint(meeting.all, values, sizeof values);
        for (j = 0; j < n && o->start == SHS_START_GIVEN; j++)
            meeting.all = shs__ctx_imprint(meeting.all, SHS__AT(D, ldd, 0, j), p * sizeof(shs_real));
        if (o->first_batch > 0) {
            meeting.all = shs__ctx_imprint(meeting.all, s->report.sums_xx, n * n * sizeof(shs_wide));
            meeting.all = shs__ctx_imprint(meeting.all, s->report.sums_yx, p * n * sizeof(shs_wide));
        }
    }
    return shs__ctx_meet(s->w.ctx, status, &meeting);
}

/* The fast form of shs_online_naive, for one batch after the other. */
SHS__PUBLIC shs_status shs_online_ex(const shs_context *ctx, int p, int n, shs_signals_fn read_fn, void *user,
                                     const shs_online_options *options, shs_real *D, int ldd, shs_online_report *report) {
    shs_online_options o = shs__on_options(p, n, options);
    shs__on_learner s = SHS_ZERO;
    shs__layout l = SHS_ZERO;
    shs__trial trial = SHS_ZERO;
    const shs_real *before = report ? report->dictionary : NULL;
    const size_t ld = (size_t)n;
    int started = 0, i, j;
    shs_status status;
    s.w.ctx = shs__ctx_trial(ctx, &trial), s.o = &o, s.w.p = p, s.w.n = n, s.read_fn = read_fn, s.user = user;
    status = shs__on_meet(&s, shs__on_check(&s, p, n, D, ldd, &o, report, &l), D, ldd);
    if (status == SHS_OK) {
        if (report) report->dictionary = s.w.D;
        status = shs__on_learn(&s, D, ldd, &started);
        if (report) report->dictionary = before;
    }
    if (started && (status == SHS_OK || status == SHS_CANCELLED)) {
        for (j = 0; j < n; j++) memcpy(SHS__AT(D, ldd, 0, j), SHS__AT(s.w.D, p, 0, j), (size_t)p * sizeof *D);
        for (j = 0; j < n && s.report.sums_xx; j++)
            for (i = 0; i < n; i++)
                *SHS__AT(s.report.sums_xx, n, i, j) = s.A[i < j ? (size_t)j * ld + (size_t)i : (size_t)i * ld + (size_t)j];
        if (s.report.sums_yx) memcpy(s.report.sums_yx, s.B, (size_t)p * ld * sizeof *s.B);
        if (report) *report = s.report;
    }
    shs__layout_release(s.w.ctx, &l);
    return status;
}

#if !defined(SPARSEHS_NO_SPLIT) || defined(SPARSEHS_STATIC)
/* ---- an engine made of engines ------------------------------------------------------------------------------ >>split */

/* First the CPU as an engine: its session of above, behind the table. */
typedef struct shs__dl_part {
    shs__dl_learner w;
    shs_ksvd_options o;
    shs__layout layout;
} shs__dl_part;

SHS__PRIVATE shs_status shs__dl_part_open(void *user, const shs_context *ctx, const shs_signals_job *job, void **session) {
    shs__dl_part *s = (shs__dl_part *)shs__ctx_alloc(ctx, sizeof *s);
    shs_status status = SHS_OK;
    (void)user;
    if (!s) return SHS_NO_MEMORY;
    memset(s, 0, sizeof *s);
    s->o.coding = *job->coding;
    s->w.ctx = ctx, s->w.o = &s->o, s->w.p = job->p, s->w.n = job->n, s->w.m = job->m;
    while (shs__layout_next(ctx, &s->layout, &status)) shs__dl_session_layout(&s->layout, &s->w, job->stride, 1);
    if (status == SHS_OK) {
        shs__dl_session_begin(&s->w, job->Y, job->ldy);
        *session = s;
    } else shs__ctx_free(ctx, s);
    return status;
}

SHS__PRIVATE void shs__dl_part_close(void *session) {
    shs__dl_part *s = (shs__dl_part *)session;
    const shs_context *ctx = s->w.ctx;
    shs__layout_release(ctx, &s->layout);
    shs__ctx_free(ctx, s);
}

SHS__PRIVATE shs_status shs__dl_part_dictionary(void *session, const shs_real *D, int ldd) {
    shs__dl_learner *w = &((shs__dl_part *)session)->w;
    int j;
    for (j = 0; j < w->n; j++) memcpy(SHS__AT(w->coded, w->p, 0, j), SHS__AT(D, ldd, 0, j), (size_t)w->p * sizeof(shs_real));
    return SHS_OK;
}

SHS__PRIVATE shs_status shs__dl_part_code(void *session, shs_real *errors2, size_t *usage, shs_omp_report *report) {
    shs__dl_learner *w = &((shs__dl_part *)session)->w;
    shs_status status;
    w->coder.errors2 = errors2;
    if (shs__coder_finite(w->ctx, &w->coder) != SHS_OK) return SHS_SIGNALS_NOT_FINITE;
    status = shs__dl_cpu_code(w, w->coded, report);
    if (usage) memcpy(usage, w->usage, (size_t)w->n * sizeof *usage);
    return status;
}

SHS__PRIVATE shs_status shs__dl_part_residual(void *session, shs_wide *sum2) {
    shs__dl_learner *w = &((shs__dl_part *)session)->w;
    *sum2 = shs__synthesis_run(w->ctx, &w->residual);
    w->residual_done = 1;
    return SHS_OK;
}

SHS__PRIVATE shs_status shs__dl_part_gather(void *session, const shs_atom_group *g) {
    if (g->gram || g->update == SHS_UPDATE_NSGK) return SHS_UNSUPPORTED;
    shs__dl_cpu_gather(&((shs__dl_part *)session)->w, g);
    return SHS_OK;
}

SHS__PRIVATE shs_status shs__dl_part_update(void *session, const shs_atom_group *g) {
    shs__dl_cpu_update(&((shs__dl_part *)session)->w, g);
    return SHS_OK;
}

SHS__PRIVATE shs_status shs__dl_part_fetch(void *session, shs_codes *codes) {
    const shs_codes *from = &((shs__dl_part *)session)->w.codes;
    size_t i, most = (size_t)shs__imin(from->stride, codes->stride), rest = (size_t)codes->stride - most;
    for (i = 0; i < from->m; i++) {
        size_t source = i * (size_t)from->stride, target = i * (size_t)codes->stride;
        codes->used[i] = from->used[i];
        memcpy(codes->atoms + target, from->atoms + source, most * sizeof *codes->atoms);
        memcpy(codes->coefs + target, from->coefs + source, most * sizeof *codes->coefs);
        memset(codes->atoms + target + most, 0, rest * sizeof *codes->atoms);
        memset(codes->coefs + target + most, 0, rest * sizeof *codes->coefs);
    }
    return SHS_OK;
}

/* Without entries for pixels and products: these the CPU does anyway, where fallback lets it. */
SHS__PRIVATE shs_engine shs__dl_part_engine(void) {
    shs_engine e = SHS_ZERO;
    e.fallback = 1;
    e.signals_open = shs__dl_part_open, e.signals_close = shs__dl_part_close;
    e.signals_dictionary = shs__dl_part_dictionary, e.signals_code = shs__dl_part_code;
    e.signals_residual = shs__dl_part_residual, e.signals_gather = shs__dl_part_gather;
    e.signals_update = shs__dl_part_update, e.signals_fetch = shs__dl_part_fetch;
    return e;
}

/* A part of a session over some of its signals. */
typedef struct shs__split_part {
    shs_engine engine;
    void *session; /* NULL: it has no signals */
    size_t first, m;
    shs_omp_options coding; /* of its signals */
    shs_omp_report report;
    shs_wide *sums, *energy, sum2;
    size_t *usage;
    shs_wide seconds;
    shs_status status;
} shs__split_part;

typedef enum shs__split_stage {
    SHS__SPLIT_DICTIONARY,
    SHS__SPLIT_CODE,
    SHS__SPLIT_RESIDUAL,
    SHS__SPLIT_GATHER,
    SHS__SPLIT_UPDATE,
    SHS__SPLIT_FETCH
} shs__split_stage;

typedef struct shs__split_session {
    shs_split *split;
    const shs_context *ctx; /* the caller's, and that of the parts: */
    shs_context alone;
    shs__layout layout;
    shs_signals_job job;
    shs__split_part *parts;
    /* The stage at work: what it is and what it is asked. */
    shs__split_stage stage;
    const shs_real *D;
    int ldd;
    shs_real *errors2;
    const shs_atom_group *group;
    shs_codes *codes;
} shs__split_session;

SHS__PRIVATE void shs__split_layout(shs__layout *l, shs__split_session **s, shs__split_part **parts, int count) {
    *s = SHS__CARVE(l, shs__split_session, 1);
    *parts = SHS__CARVE(l, shs__split_part, (size_t)count);
}

SHS__PRIVATE void shs__split_close(void *session) {
    shs__split_session *s = (shs__split_session *)session;
    const shs_context *ctx = s->ctx;
    shs__layout layout = s->layout;
    int i;
    for (i = 0; i < s->split->count; i++)
        if (s->parts[i].session) s->parts[i].engine.signals_close(s->parts[i].session);
    for (i = 0; i < s->split->count; i++) shs__ctx_free(ctx, s->parts[i].sums), shs__ctx_free(ctx, s->parts[i].usage);
    shs__layout_release(ctx, &layout);
}

/* What a part's own calls get: nothing but memory, and threads where OpenMP's loops nest. */
SHS__PRIVATE shs_context shs__split_alone(const shs_context *ctx, int count) {
    shs_context alone = SHS_ZERO;
    if (ctx) alone.alloc_fn = ctx->alloc_fn, alone.free_fn = ctx->free_fn, alone.alloc_user = ctx->alloc_user;
    alone.threads = 1;
#ifdef SHS__OPENMP
    if (!ctx || !ctx->parallel_fn || ctx->parallel_fn == shs__ctx_trial_run)
        alone.threads = shs__imax(1, shs__ctx_workers(ctx) / count);
#endif
    (void)count;
    return alone;
}

/* Opens the part's session over signals first .. end-1. */
SHS__PRIVATE shs_status shs__split_open_part(shs__split_session *s, shs__split_part *part, size_t first, size_t end) {
    const shs_engine *e = &part->engine;
    size_t p = (size_t)s->job.p, n = (size_t)s->job.n, values = shs__layout_product(p + 1, n, sizeof(shs_wide));
    shs_signals_job job = s->job;
    int learns = e->signals_residual && e->signals_gather && e->signals_update;
    part->first = first, part->m = end - first, part->coding = *job.coding;
    if (part->m == 0) return SHS_OK;
    if (!e->signals_open || !e->signals_dictionary || !e->signals_code || !e->signals_fetch || !e->signals_close ||
        (job.learning && !learns))
        return SHS_UNSUPPORTED;
    if (part->coding.sparsity_each) part->coding.sparsity_each += first;
    if (part->coding.tolerance_each) part->coding.tolerance_each += first;
    part->usage = (size_t *)shs__ctx_alloc(s->ctx, n * sizeof *part->usage);
    part->sums = (shs_wide *)shs__ctx_alloc(s->ctx, job.learning ? values : sizeof *part->sums);
    if (!part->usage || !part->sums) return SHS_NO_MEMORY;
    job.m = part->m, job.Y = SHS__AT(job.Y, job.ldy, 0, first), job.coding = &part->coding;
    return e->signals_open(e->user, &s->alone, &job, &part->session);
}

SHS__PRIVATE shs_status shs__split_open(void *user, const shs_context *ctx, const shs_signals_job *job, void **session) {
    shs_split *split = (shs_split *)user;
    shs__split_session *s = NULL;
    shs__split_part *parts = NULL;
    shs__layout l = SHS_ZERO;
    shs_wide all = 0, until = 0;
    size_t first = 0, end;
    shs_status status = SHS_OK;
    int i;
    while (shs__layout_next(ctx, &l, &status)) shs__split_layout(&l, &s, &parts, split->count);
    if (status != SHS_OK) return status;
    memset(s, 0, sizeof *s);
    memset(parts, 0, (size_t)split->count * sizeof *parts);
    s->split = split, s->ctx = ctx, s->alone = shs__split_alone(ctx, split->count), s->layout = l, s->job = *job;
    s->parts = parts;
    for (i = 0; i < split->count; i++) all += split->shares[i];
    for (i = 0; i < split->count && status == SHS_OK; i++, first = end) {
        parts[i].engine = split->parts[i] ? *split->parts[i] : shs__dl_part_engine();
        until += split->shares[i];
        end = until < all ? (size_t)((shs_wide)job->m * (until / all)) : job->m;
        end = shs__zmin(shs__zmax(end, first), job->m);
        status = shs__split_open_part(s, parts + i, first, end);
    }
    if (status == SHS_OK) *session = s;
    else shs__split_close(s);
    return status;
}

SHS__PRIVATE shs_status shs__split_code_part(const shs__split_session *s, shs__split_part *part) {
    shs_wide (*seconds)(void) = s->split->clock_fn;
    shs_wide begin = seconds ? seconds() : 0;
    shs_status status =
        part->engine.signals_code(part->session, s->errors2 ? s->errors2 + part->first : NULL, part->usage, &part->report);
    part->seconds = seconds ? seconds() - begin : 0;
    return status;
}

/* The group's sums, of this part's signals. */
SHS__PRIVATE shs_status shs__split_gather_part(const shs__split_session *s, shs__split_part *part) {
    shs_atom_group g = *s->group;
    g.sums = part->sums;
    g.energy = part->energy = part->sums + (size_t)s->job.p * (size_t)g.count;
    return part->engine.signals_gather(part->session, &g);
}

SHS__PRIVATE shs_status shs__split_fetch_part(const shs__split_session *s, const shs__split_part *part) {
    shs_codes codes = *s->codes;
    size_t at = part->first * (size_t)codes.stride;
    codes.used += part->first, codes.atoms += at, codes.coefs += at, codes.m = part->m;
    return part->engine.signals_fetch(part->session, &codes);
}

SHS__PRIVATE void shs__split_chunk(void *arg, size_t chunk, int worker) {
    shs__split_session *s = (shs__split_session *)arg;
    shs__split_part *part = s->parts + chunk;
    const shs_engine *e = &part->engine;
    (void)worker;
    part->status = SHS_OK;
    if (!part->session) return;
    switch (s->stage) {
    case SHS__SPLIT_DICTIONARY: part->status = e->signals_dictionary(part->session, s->D, s->ldd); break;
    case SHS__SPLIT_CODE: part->status = shs__split_code_part(s, part); break;
    case SHS__SPLIT_RESIDUAL: part->status = e->signals_residual(part->session, &part->sum2); break;
    case SHS__SPLIT_GATHER: part->status = shs__split_gather_part(s, part); break;
    case SHS__SPLIT_UPDATE: part->status = e->signals_update(part->session, s->group); break;
    case SHS__SPLIT_FETCH: part->status = shs__split_fetch_part(s, part); break;
    }
}

/* Runs a stage on all parts; the status is that of the first that is not well, in their order. */
SHS__PRIVATE shs_status shs__split_run(shs__split_session *s, shs__split_stage stage) {
    shs_status status = SHS_OK;
    int i, well = 0;
    for (i = 0; i < s->split->count; i++) s->parts[i].status = SHS_OK;
    s->stage = stage;
    shs__ctx_parallel(s->ctx, (shs_wide)SHS__WORTH_SHARING, (size_t)s->split->count, shs__split_chunk, s);
    for (i = 0; i < s->split->count; i++) {
        well += s->parts[i].session && s->parts[i].status == SHS_OK;
        if (status == SHS_OK) status = s->parts[i].status;
    }
    /* The CPU could not go on from there. */
    if (stage == SHS__SPLIT_UPDATE && well && (status == SHS_UNSUPPORTED || status == SHS_NO_MEMORY)) return SHS_ENGINE_FAILED;
    return status;
}

SHS__PRIVATE shs_status shs__split_dictionary(void *session, const shs_real *D, int ldd) {
    shs__split_session *s = (shs__split_session *)session;
    s->D = D, s->ldd = ldd;
    return shs__split_run(s, SHS__SPLIT_DICTIONARY);
}

/* Signals a second of each part decide the shares of later sessions; a part that had none keeps its share. */
SHS__PRIVATE void shs__split_measured(shs__split_session *s) {
    shs_split *split = s->split;
    shs_wide rate[SHS_SPLIT_MOST];
    int i;
    if (!split->clock_fn) return;
    split->clock_fn = NULL;
    for (i = 0; i < split->count; i++) {
        if (!s->parts[i].session || !(s->parts[i].seconds > 0)) return;
        rate[i] = (shs_wide)s->parts[i].m / s->parts[i].seconds;
    }
    for (i = 0; i < split->count; i++) split->shares[i] = rate[i];
}

SHS__PRIVATE shs_status shs__split_code(void *session, shs_real *errors2, size_t *usage, shs_omp_report *report) {
    shs__split_session *s = (shs__split_session *)session;
    shs_status status;
    int i, j;
    s->errors2 = errors2;
    status = shs__split_run(s, SHS__SPLIT_CODE);
    if (status != SHS_OK) return status;
    memset(report, 0, sizeof *report);
    if (usage) memset(usage, 0, (size_t)s->job.n * sizeof *usage);
    for (i = 0; i < s->split->count; i++) {
        const shs__split_part *part = s->parts + i;
        if (!part->session) continue;
        report->nonzeros += part->report.nonzeros;
        report->not_reached += part->report.not_reached;
        report->sum2 += part->report.sum2;
        for (j = 0; usage && j < s->job.n; j++) usage[j] += part->usage[j];
    }
    report->rmse = s->job.m ? SHS__WSQRT(report->sum2 / ((shs_wide)s->job.p * (shs_wide)s->job.m)) : 0;
    shs__split_measured(s);
    return SHS_OK;
}

SHS__PRIVATE shs_status shs__split_residual(void *session, shs_wide *sum2) {
    shs__split_session *s = (shs__split_session *)session;
    shs_status status = shs__split_run(s, SHS__SPLIT_RESIDUAL);
    int i;
    for (i = 0, *sum2 = 0; i < s->split->count; i++) *sum2 += s->parts[i].session ? s->parts[i].sum2 : 0;
    return status;
}

SHS__PRIVATE shs_status shs__split_gather(void *session, const shs_atom_group *group) {
    shs__split_session *s = (shs__split_session *)session;
    size_t sums = (size_t)s->job.p * (size_t)group->count, q;
    shs_status status;
    int i, j;
    if (group->gram) return SHS_UNSUPPORTED;
    s->group = group;
    status = shs__split_run(s, SHS__SPLIT_GATHER);
    if (status != SHS_OK) return status;
    memset(group->sums, 0, sums * sizeof *group->sums);
    memset(group->energy, 0, (size_t)group->count * sizeof *group->energy);
    for (i = 0; i < s->split->count; i++) {
        if (!s->parts[i].session) continue;
        for (q = 0; q < sums; q++) group->sums[q] += s->parts[i].sums[q];
        for (j = 0; j < group->count; j++) group->energy[j] += s->parts[i].energy[j];
    }
    return SHS_OK;
}

SHS__PRIVATE shs_status shs__split_update(void *session, const shs_atom_group *group) {
    shs__split_session *s = (shs__split_session *)session;
    s->group = group;
    return shs__split_run(s, SHS__SPLIT_UPDATE);
}

SHS__PRIVATE shs_status shs__split_fetch(void *session, shs_codes *codes) {
    shs__split_session *s = (shs__split_session *)session;
    s->codes = codes;
    return shs__split_run(s, SHS__SPLIT_FETCH);
}

/* The first part's cubes and products: its sessions, as it opens them, go to its own stages. */
SHS__PRIVATE shs_status shs__split_pixels(void *user, const shs_context *ctx, const shs_cube *cube, void **session) {
    const shs_engine *first = ((shs_split *)user)->parts[0];
    return first->pixels_open(first->user, ctx, cube, session);
}

SHS__PRIVATE shs_status shs__split_product(void *user, const shs_context *ctx, const shs_product_job *job) {
    const shs_engine *first = ((shs_split *)user)->parts[0];
    return first->product(first->user, ctx, job);
}

SHS__PUBLIC shs_status shs_engine_split(const shs_engine *const *engines, int count, const shs_wide *shares, shs_split *split) {
    shs_engine *e;
    shs_wide all = 0;
    int i, j;
    if (!split) return SHS_BAD_OUTPUT;
    if (!engines || count < 1 || count > SHS_SPLIT_MOST) return SHS_BAD_SPLIT;
    for (i = 0; i < count; i++) {
        if (engines[i] && engines[i]->version != 0) return SHS_BAD_SPLIT;
        for (j = 0; j < i; j++)
            if (engines[i] && engines[i] == engines[j]) return SHS_BAD_SPLIT;
        if (shares && (!shs__wide_finite(1, shares + i) || shares[i] < 0)) return SHS_BAD_SPLIT;
        all += shares ? shares[i] : 1;
    }
    if (!(all > 0) || !shs__wide_finite(1, &all)) return SHS_BAD_SPLIT;
    memset(split, 0, sizeof *split);
    e = &split->engine;
    if (engines[0]) *e = *engines[0];
    else e->fallback = 1;
    e->user = split;
    if (e->pixels_open) e->pixels_open = shs__split_pixels;
    if (e->product) e->product = shs__split_product;
    for (i = 0; i < count; i++) {
        split->parts[i] = engines[i], split->shares[i] = shares ? shares[i] : 1;
        if (engines[i] && !engines[i]->fallback) e->fallback = 0;
    }
    split->count = count;
    e->signals_open = shs__split_open, e->signals_close = shs__split_close;
    e->signals_dictionary = shs__split_dictionary, e->signals_code = shs__split_code;
    e->signals_residual = shs__split_residual, e->signals_gather = shs__split_gather;
    e->signals_update = shs__split_update, e->signals_fetch = shs__split_fetch;
    e->signals_round = NULL; /* nobody could add up the sums of a group */
    return SHS_OK;
}
#endif /* SPARSEHS_NO_SPLIT */

/* ================================================================================================================== */
/* 8  PATCHES                                                                                               >>patches */
/* ================================================================================================================== */

/* In this order: where the patches lie; out of the image and back; both with the coding between them, batch by batch; the noise
   of an image. Coding is section 6's coder, eigenvalues are section 5's. No other section calls what is here. */

/* ---- where the patches lie -------------------------------------------------------------------------------- >>grid */

/* An image and a set of patches in it with all defaults filled in. */
typedef struct shs__patch_grid {
    shs_image image;
    shs_patches set;
    int p;                /* values of a patch */
    size_t columns, rows; /* positions each way */
} shs__patch_grid;

SHS__PRIVATE shs_status shs__patch_image(const shs_image *image, int need_pixels, shs__patch_grid *g) {
    size_t row;
    memset(g, 0, sizeof *g);
    if (!image || image->width < 1 || image->height < 1 || image->channels < 0) return SHS_BAD_IMAGE;
    if (need_pixels && !image->pixels) return SHS_BAD_IMAGE;
    if (image->type != SHS_TYPE_REAL && image->type != SHS_TYPE_U8 && image->type != SHS_TYPE_F32 &&
        image->type != SHS_TYPE_F64)
        return SHS_BAD_IMAGE;
#ifdef SPARSEHS_NO_DOUBLE
    if (image->type == SHS_TYPE_F64) return SHS_BAD_IMAGE;
#endif
    g->image = *image;
    g->image.channels = shs__imax(image->channels, 1);
    row = shs__layout_product((size_t)image->width, (size_t)g->image.channels, 1);
    if (image->row_stride == 0) g->image.row_stride = row;
    if (shs__layout_product(shs__zmax(row, image->row_stride), (size_t)image->height, 8) == SIZE_MAX) return SHS_TOO_LARGE;
    return g->image.row_stride < row ? SHS_BAD_IMAGE : SHS_OK;
}

/* Every step-th of `room` positions and, unless patches are distinct, the last one. */
SHS__PRIVATE size_t shs__patch_positions(const shs__patch_grid *g, int room, int step) {
    return (size_t)(room - 1) / (size_t)step + 1 + (g->set.mode != SHS_PATCH_MODE_DISTINCT && (room - 1) % step != 0);
}

SHS__PRIVATE shs_status shs__patch_set(const shs_patches *given, shs__patch_grid *g) {
    shs_patches *set = &g->set;
    int rx, ry;
    size_t all;
    if (!given || !SHS__ZEROED(given) || given->width < 0 || given->height < 0 || given->step_x < 0 || given->step_y < 0)
        return SHS_BAD_PATCHES;
    if ((unsigned)given->mode > SHS_PATCH_MODE_RANDOM) return SHS_BAD_PATCHES;
    *set = *given;
    if (set->width == 0) set->width = 8;
    if (set->height == 0) set->height = 8;
    rx = g->image.width - set->width + 1;
    ry = g->image.height - set->height + 1;
    if (rx < 1 || ry < 1) return SHS_BAD_PATCHES;
    if (set->width > INT_MAX / set->height || set->width * set->height > INT_MAX / g->image.channels) return SHS_TOO_LARGE;
    g->p = set->width * set->height * g->image.channels;
    if (set->mode == SHS_PATCH_MODE_DISTINCT) set->step_x = set->width, set->step_y = set->height;
    if (set->mode == SHS_PATCH_MODE_RANDOM || set->step_x == 0) set->step_x = 1;
    if (set->mode == SHS_PATCH_MODE_RANDOM || set->step_y == 0) set->step_y = 1;
    g->columns = shs__patch_positions(g, rx, set->step_x);
    g->rows = shs__patch_positions(g, ry, set->step_y);
    if (shs__layout_overflows(g->columns, g->rows)) return SHS_TOO_LARGE;
    all = g->columns * g->rows;
    set->count = set->mode == SHS_PATCH_MODE_RANDOM ? shs__zmin(set->count, all) : all;
    return SHS_OK;
}

SHS__PRIVATE shs_status shs__patch_grid_open(const shs_image *image, int need_pixels, const shs_patches *set,
                                             shs__patch_grid *g) {
    shs_status status = shs__patch_image(image, need_pixels, g);
    return status == SHS_OK ? shs__patch_set(set, g) : status;
}

SHS__PRIVATE void shs__patch_position(const shs__patch_grid *g, size_t index, int *x, int *y) {
    size_t at = index;
    if (g->set.mode == SHS_PATCH_MODE_RANDOM)
        at = (size_t)shs_random_permuted(index, g->columns * g->rows, shs__random_mix(g->set.seed));
    *x = (int)shs__zmin(at % g->columns * (size_t)g->set.step_x, (size_t)(g->image.width - g->set.width));
    *y = (int)shs__zmin(at / g->columns * (size_t)g->set.step_y, (size_t)(g->image.height - g->set.height));
}

SHS__PUBLIC size_t shs_patches_count(const shs_image *image, const shs_patches *set, int *p) {
    shs__patch_grid g;
    int fits = shs__patch_grid_open(image, 0, set, &g) == SHS_OK;
    if (p) *p = fits ? g.p : 0;
    return fits ? g.set.count : 0;
}

SHS__PUBLIC shs_status shs_patches_position(const shs_image *image, const shs_patches *set, size_t index, int *x, int *y) {
    shs__patch_grid g;
    shs_status status = shs__patch_grid_open(image, 0, set, &g);
    if (status != SHS_OK) return status;
    if (index >= g.set.count) return SHS_BAD_PATCHES;
    if (!x || !y) return SHS_BAD_OUTPUT;
    shs__patch_position(&g, index, x, y);
    return SHS_OK;
}

/* ---- out of the image ------------------------------------------------------------------------------ >>patches_get */

/* `count` values from value `at` of the image on, `step` apart, into shs_real. */
SHS__OUTLINE void shs__patch_pixels(const shs_image *image, size_t at, int step, int count, shs_real *out) {
    size_t s = (size_t)step;
    int i;
    if (image->type == SHS_TYPE_U8) {
        const unsigned char *from = (const unsigned char *)image->pixels + at;
        for (i = 0; i < count; i++) out[i] = (shs_real)from[(size_t)i * s];
    } else if (image->type == SHS_TYPE_REAL) {
        const shs_real *from = (const shs_real *)image->pixels + at;
        for (i = 0; i < count; i++) out[i] = from[(size_t)i * s];
    } else if (image->type == SHS_TYPE_F32) {
        const float *from = (const float *)image->pixels + at;
        for (i = 0; i < count; i++) out[i] = (shs_real)from[(size_t)i * s];
    }
#ifndef SPARSEHS_NO_DOUBLE
    else {
        const double *from = (const double *)image->pixels + at;
        for (i = 0; i < count; i++) out[i] = (shs_real)from[(size_t)i * s];
    }
#endif
}

typedef struct shs__patch_job {
    shs__patch_grid g;
    size_t first, count;
    shs_real *Y;             /* get */
    const shs_real *Z;       /* put */
    int ld;
    shs_real *means, *norms; /* get */
    const shs_real *put_means, *put_norms;
    shs_real *sum, *weight;
    int top;                 /* image row at which chunk 0 of a put begins */
} shs__patch_job;

/* The mean of `count` values by four sums, none of which waits for another. */
SHS__PRIVATE shs_real shs__patch_mean(int count, const shs_real *x) {
    shs__sum sums[4] = SHS_ZERO, sum = SHS_ZERO;
    int i, k;
    for (i = 0; i + 4 <= count; i += 4)
        for (k = 0; k < 4; k++) shs__sum_add(sums + k, (shs_wide)x[i + k]);
    for (; i < count; i++) shs__sum_add(sums, (shs_wide)x[i]);
    for (k = 0; k < 4; k++) shs__sum_add(&sum, shs__sum_value(sums + k));
    return (shs_real)(shs__sum_value(&sum) / (shs_wide)count);
}

/* One patch into y, its channels' means and its norm taken out on request. */
SHS__PRIVATE void shs__patch_get(const shs__patch_grid *g, size_t index, shs_real *y, shs_real *means, shs_real *norm) {
    int area = g->set.width * g->set.height, x0, y0, c, row, i;
    shs__patch_position(g, index, &x0, &y0);
    for (c = 0; c < g->image.channels; c++) {
        shs_real *plane = y + (size_t)c * (size_t)area;
        shs_real mean = 0;
        for (row = 0; row < g->set.height; row++) {
            size_t at = (size_t)(y0 + row) * g->image.row_stride + (size_t)x0 * (size_t)g->image.channels + (size_t)c;
            shs__patch_pixels(&g->image, at, g->image.channels, g->set.width, plane + (size_t)row * (size_t)g->set.width);
        }
        if (!g->set.keep_mean) {
            mean = shs__patch_mean(area, plane);
            for (i = 0; i < area; i++) plane[i] -= mean;
        }
        if (means) means[c] = mean;
    }
    if (norm) *norm = 1;
    if (g->set.unit_norm) {
        shs_real length = (shs_real)SHS__WSQRT(shs__la_norm2(g->p, y));
        for (i = 0; i < g->p && length > 0; i++) y[i] /= length;
        if (norm) *norm = length;
    }
}

/* Patches i .. end-1 of a job, into their columns of Y. */
SHS__PRIVATE void shs__patch_fetch(const void *source, size_t i, size_t end) {
    const shs__patch_job *w = (const shs__patch_job *)source;
    for (; i < end; i++)
        shs__patch_get(&w->g, w->first + i, SHS__AT(w->Y, w->ld, 0, i),
                       w->means ? w->means + i * (size_t)w->g.image.channels : NULL, w->norms ? w->norms + i : NULL);
}

SHS__PRIVATE void shs__patch_get_chunk(void *arg, size_t chunk, int worker) {
    const shs__patch_job *w = (const shs__patch_job *)arg;
    size_t i = chunk * SHS__SIGNALS_A_CHUNK;
    (void)worker;
    shs__patch_fetch(w, i, shs__zmin(w->count, i + SHS__SIGNALS_A_CHUNK));
}

SHS__PRIVATE void shs__patch_get_run(const shs_context *ctx, shs__patch_job *w) {
    shs__ctx_parallel(ctx, (shs_wide)w->count * (shs_wide)w->g.p, shs__ctx_chunks(w->count, SHS__SIGNALS_A_CHUNK),
                      shs__patch_get_chunk, w);
}

/* A job for patches first .. first+count-1 of the set. */
SHS__PRIVATE shs_status shs__patch_job_open(const shs_context *ctx, const shs_image *image, int need_pixels,
                                            const shs_patches *set, size_t first, size_t count, shs__patch_job *w) {
    shs_status status = shs__ctx_check(ctx);
    memset(w, 0, sizeof *w);
    if (status == SHS_OK) status = shs__patch_grid_open(image, need_pixels, set, &w->g);
    if (status != SHS_OK) return status;
    w->first = first, w->count = count;
    return first > w->g.set.count || count > w->g.set.count - first ? SHS_BAD_PATCHES : SHS_OK;
}

SHS__PUBLIC shs_status shs_patches_get(const shs_context *ctx, const shs_image *image, const shs_patches *set, size_t first,
                                       size_t count, shs_real *Y, int ldy, shs_real *means, shs_real *norms) {
    shs__patch_job w;
    shs_status status = shs__patch_job_open(ctx, image, 1, set, first, count, &w);
    if (status != SHS_OK) return status;
    if (!Y && count) return SHS_BAD_OUTPUT;
    if (ldy < w.g.p) return SHS_BAD_LDY;
    w.Y = Y, w.ld = ldy, w.means = means, w.norms = norms;
    shs__patch_get_run(ctx, &w);
    return SHS_OK;
}

/* ---- back into the image --------------------------------------------------------------------------- >>patches_put */

enum { SHS__ROWS_A_BAND = 8 };

/* The first patch that reaches below image row `top`: they come row by row, or in any order. */
SHS__PRIVATE size_t shs__patch_first_below(const shs__patch_job *w, int top) {
    size_t low = 0, high = w->g.set.mode == SHS_PATCH_MODE_RANDOM ? 0 : w->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int x0, y0;
        shs__patch_position(&w->g, w->first + middle, &x0, &y0);
        if (y0 + w->g.set.height <= top) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Adds to one band of image rows whatever the patches have for it. A pixel belongs to one band and takes its patches in
   their order, so the sum does not depend on who runs which band. */
SHS__PRIVATE void shs__patch_put_chunk(void *arg, size_t chunk, int worker) {
    const shs__patch_job *w = (const shs__patch_job *)arg;
    const shs__patch_grid *g = &w->g;
    int top = w->top + (int)chunk * SHS__ROWS_A_BAND, bottom = shs__imin(g->image.height, top + SHS__ROWS_A_BAND);
    size_t k;
    (void)worker;
    for (k = shs__patch_first_below(w, top); k < w->count; k++) {
        const shs_real *z = SHS__AT(w->Z, w->ld, 0, k);
        shs_real scale = w->put_norms ? w->put_norms[k] : 1;
        int x0, y0, c, row, i;
        shs__patch_position(g, w->first + k, &x0, &y0);
        if (y0 >= bottom && g->set.mode != SHS_PATCH_MODE_RANDOM) break;
        for (row = shs__imax(y0, top); row < shs__imin(y0 + g->set.height, bottom); row++) {
            size_t pixel = (size_t)row * (size_t)g->image.width + (size_t)x0;
            for (c = 0; c < g->image.channels; c++) {
                shs_real mean = w->put_means ? w->put_means[k * (size_t)g->image.channels + (size_t)c] : 0;
                const shs_real *from = z + ((size_t)c * (size_t)g->set.height + (size_t)(row - y0)) * (size_t)g->set.width;
                shs_real *to = w->sum + pixel * (size_t)g->image.channels + (size_t)c;
                if (g->image.channels == 1)
                    for (i = 0; i < g->set.width; i++) to[i] += from[i] * scale + mean;
                else
                    for (i = 0; i < g->set.width; i++) to[(size_t)i * (size_t)g->image.channels] += from[i] * scale + mean;
            }
            for (i = 0; i < g->set.width; i++) w->weight[pixel + (size_t)i] += 1;
        }
    }
}

/* Only the bands that these patches can touch are visited; for patches in row order those are few. */
SHS__PRIVATE void shs__patch_put_run(const shs_context *ctx, shs__patch_job *w) {
    int x, last = 0;
    w->top = 0;
    if (w->count == 0) return;
    if (w->g.set.mode == SHS_PATCH_MODE_RANDOM) last = w->g.image.height - 1;
    else {
        shs__patch_position(&w->g, w->first, &x, &w->top);
        shs__patch_position(&w->g, w->first + w->count - 1, &x, &last);
        last += w->g.set.height - 1;
    }
    shs__ctx_parallel(ctx, (shs_wide)w->count * (shs_wide)w->g.p, (size_t)(last - w->top) / SHS__ROWS_A_BAND + 1,
                      shs__patch_put_chunk, w);
}

SHS__PUBLIC shs_status shs_patches_put(const shs_context *ctx, const shs_image *image, const shs_patches *set, size_t first,
                                       size_t count, const shs_real *Z, int ldz, const shs_real *means, const shs_real *norms,
                                       shs_real *sum, shs_real *weight) {
    shs__patch_job w;
    shs_status status = shs__patch_job_open(ctx, image, 0, set, first, count, &w);
    if (status != SHS_OK) return status;
    if (!Z && count) return SHS_BAD_SIGNALS;
    if (ldz < w.g.p) return SHS_BAD_LDZ;
    if (!sum || !weight) return SHS_BAD_OUTPUT;
    w.Z = Z, w.ld = ldz, w.put_means = means, w.put_norms = norms, w.sum = sum, w.weight = weight;
    shs__patch_put_run(ctx, &w);
    return SHS_OK;
}

typedef struct shs__patch_average_job {
    shs__patch_grid g;
    shs_real lambda;
    const shs_real *sum, *weight;
    shs_real *out;
} shs__patch_average_job;

/* A row. */
SHS__PRIVATE void shs__patch_average_chunk(void *arg, size_t chunk, int worker) {
    const shs__patch_average_job *w = (const shs__patch_average_job *)arg;
    const shs_image *image = &w->g.image;
    const size_t channels = (size_t)image->channels, values = (size_t)image->width * channels;
    shs_real own[64];
    size_t i, k, count;
    (void)worker;
    for (i = 0; i < values; i += count) {
        count = shs__zmin(values - i, 64);
        shs__patch_pixels(image, chunk * image->row_stride + i, 1, (int)count, own);
        for (k = 0; k < count; k++) {
            size_t at = chunk * values + i + k;
            shs_real covered = w->weight[at / channels];
            w->out[at] = covered > 0 ? (w->lambda * own[k] + w->sum[at]) / (w->lambda + covered) : own[k];
        }
    }
}

SHS__PUBLIC shs_status shs_patches_average(const shs_context *ctx, const shs_image *image, shs_real lambda, const shs_real *sum,
                                           const shs_real *weight, shs_real *out) {
    shs__patch_average_job w = SHS_ZERO;
    shs_status status = shs__ctx_check(ctx);
    if (status == SHS_OK) status = shs__patch_image(image, 1, &w.g);
    if (status != SHS_OK) return status;
    if (!shs__tolerance_ok(lambda)) return SHS_BAD_LAMBDA;
    if (!sum || !weight || !out) return SHS_BAD_OUTPUT;
    w.lambda = lambda, w.sum = sum, w.weight = weight, w.out = out;
    shs__ctx_parallel(ctx, (shs_wide)image->height * (shs_wide)image->width * (shs_wide)w.g.image.channels,
                      (size_t)image->height, shs__patch_average_chunk, &w);
    return SHS_OK;
}

/* ---- all of it, batch by batch --------------------------------------------------------------------- >>approximate */

enum { SHS__PATCHES_A_BATCH = 16384 };

typedef struct shs__patch_coding {
    shs__patch_job job; /* a batch: out of the image, and back */
    size_t batch;       /* patches of one at most */
    shs__coder coder;
    shs_codes codes;
    shs_omp_options coding; /* of the batch: the arrays `..._each` move along */
    shs__synthesis synthesis;
} shs__patch_coding;

SHS__PRIVATE void shs__patch_layout(shs__layout *l, shs__patch_coding *w, int workers) {
    shs__patch_job *job = &w->job;
    size_t p = (size_t)job->g.p, channels = (size_t)job->g.image.channels,
           pixels = (size_t)job->g.image.width * (size_t)job->g.image.height;
    w->coder.m = w->batch;
    shs__coder_layout(l, &w->coder, workers);
    shs__codes_layout(l, &w->codes, w->batch, w->coder.stride);
    job->Z = job->Y = SHS__CARVE(l, shs_real, shs__layout_product(w->batch, p, 1));
    job->put_means = job->means = SHS__CARVE(l, shs_real, shs__layout_product(w->batch, channels, 1));
    job->put_norms = job->norms = SHS__CARVE(l, shs_real, w->batch);
    job->sum = SHS__CARVE(l, shs_real, shs__layout_product(pixels, channels, 1));
    job->weight = SHS__CARVE(l, shs_real, pixels);
}

/* The patches of a batch become their approximations, in Y: in one parallel region, or on an engine in a session of its own. */
SHS__PRIVATE shs_status shs__patch_code(const shs_context *ctx, shs__patch_coding *w, shs_omp_report *report) {
    const size_t count = w->job.count, workers = (size_t)shs__ctx_workers(ctx);
    shs_status status = SHS_OK;
    w->coder.m = w->synthesis.count = count;
    w->coder.chunks = shs__ctx_chunks(count, w->coder.group);
    if (ctx && ctx->engine) {
        w->coder.fetch = NULL;
        shs__patch_get_run(ctx, &w->job);
        if (shs__coder_finite(ctx, &w->coder) != SHS_OK) return SHS_IMAGE_NOT_FINITE;
        if (!shs__codes_here(ctx, &w->coder, report, &status)) {
            if (status == SHS_OK) (void)shs__synthesis_run(ctx, &w->synthesis);
            return status;
        }
    }
    memset(w->coder.flags, 0, workers);
    status = shs__coder_run(ctx, &w->coder, NULL, report);
    return memchr(w->coder.flags, 1, workers) ? SHS_IMAGE_NOT_FINITE : status;
}

/* Batch by batch: out of the image, through the dictionary, back. */
SHS__OUTLINE shs_status shs__patch_batches(const shs_context *ctx, shs__patch_coding *w, shs_omp_report *total) {
    shs__patch_job *job = &w->job;
    const size_t all = job->g.set.count, pixels = (size_t)job->g.image.width * (size_t)job->g.image.height;
    shs_status status = SHS_OK;
    memset(job->sum, 0, pixels * (size_t)job->g.image.channels * sizeof(shs_real));
    memset(job->weight, 0, pixels * sizeof(shs_real));
    for (job->first = 0; job->first < all && status == SHS_OK; job->first += w->batch) {
        shs_omp_report report = SHS_ZERO;
        job->count = shs__zmin(w->batch, all - job->first);
        status = shs__patch_code(ctx, w, &report);
        if (status != SHS_OK) break;
        shs__patch_put_run(ctx, job);
        total->nonzeros += report.nonzeros;
        total->not_reached += report.not_reached;
        total->sum2 += report.sum2;
        if (w->coding.sparsity_each) w->coding.sparsity_each += job->count;
        if (w->coding.tolerance_each) w->coding.tolerance_each += job->count;
        status = shs__ctx_progress(ctx, "approximating", job->first + job->count, all, -1);
    }
    total->rmse = all ? SHS__WSQRT(total->sum2 / ((shs_wide)job->g.p * (shs_wide)all)) : 0;
    return status;
}

SHS__OUTLINE shs_status shs__patch_open(const shs_image *image, int need_pixels, const shs_patches *set, int n,
                                        const shs_omp_options *coding, shs__patch_coding *w) {
    shs__patch_grid *g = &w->job.g;
    shs_status status = shs__patch_grid_open(image, need_pixels, set, g);
    if (status != SHS_OK) return status;
    if (n < 1) return SHS_BAD_N;
    if (coding && (shs__omp_weighted(coding) || shs__omp_grouped(coding))) return SHS_BAD_OPTIONS;
    status = shs__coder_open(&w->coder, g->p, n, g->set.count, shs__imin(g->p, n), coding);
    w->coding = *w->coder.options;
    w->coder.options = &w->coding;
    w->coder.stride = shs__imax(w->coder.stride, 1);
    w->batch = shs__zmin(SHS__PATCHES_A_BATCH, g->set.count);
    return status;
}

SHS__PUBLIC size_t shs_patches_approximate_workspace(const shs_context *ctx, const shs_image *image, const shs_patches *set,
                                                     int n, const shs_omp_options *coding) {
    shs__patch_coding w = SHS_ZERO;
    shs__layout l = SHS_ZERO;
    if (shs__patch_open(image, 0, set, n, coding, &w) != SHS_OK) return SIZE_MAX;
    shs__patch_layout(&l, &w, shs__ctx_workers(ctx));
    return shs__layout_query(&l);
}

SHS__PUBLIC shs_status shs_patches_approximate(const shs_context *ctx, const shs_image *image, const shs_patches *set, int n,
                                               const shs_real *D, int ldd, const shs_omp_options *coding, shs_real lambda,
                                               shs_real *out, shs_omp_report *report) {
    shs__patch_coding w = SHS_ZERO;
    shs__layout l = SHS_ZERO;
    shs_omp_report total = SHS_ZERO;
    shs__trial trial = SHS_ZERO;
    int p;
    shs_status status = shs__ctx_check(ctx);
    if (status == SHS_OK) status = shs__patch_open(image, 1, set, n, coding, &w);
    p = w.job.g.p;
    if (status == SHS_OK) status = shs__omp_check_dictionary(p, n, D, ldd);
    if (status != SHS_OK) return status;
    if (!shs__tolerance_ok(lambda)) return SHS_BAD_LAMBDA;
    if (!out) return SHS_BAD_OUTPUT;
    if (!shs__finite_columns(p, (size_t)n, D, ldd)) return SHS_DICTIONARY_NOT_FINITE;
    while (shs__layout_next(ctx, &l, &status)) shs__patch_layout(&l, &w, shs__ctx_workers(ctx));
    if (status != SHS_OK) return status;
    w.job.ld = p;
    w.synthesis.p = p, w.synthesis.D = D, w.synthesis.ldd = ldd, w.synthesis.codes = &w.codes;
    w.synthesis.Z = w.job.Y, w.synthesis.ldz = p;
    w.coder.Y = w.job.Y, w.coder.ldy = p, w.coder.codes = &w.codes;
    w.coder.fetch = shs__patch_fetch, w.coder.source = &w.job, w.coder.after = &w.synthesis;
    ctx = shs__ctx_trial(ctx, &trial);
    shs__coder_dictionary(ctx, &w.coder, D, ldd);
    status = shs__patch_batches(ctx, &w, &total);
    if (status == SHS_OK) status = shs_patches_average(ctx, image, lambda, w.job.sum, w.job.weight, out);
    if (status == SHS_OK && report) *report = total;
    shs__layout_release(ctx, &l);
    return status;
}

/* ---- the noise of an image ------------------------------------------------------------------------- >>image_noise */

enum {
    SHS__NOISE_SIDE = 7, /* of a patch */
    SHS__NOISE_P = SHS__NOISE_SIDE * SHS__NOISE_SIDE,
    SHS__NOISE_PANEL = 256,      /* patches whose products are added up in shs_real */
    SHS__NOISE_PATCHES = 262144, /* a larger image gives every second, third .. one both ways */
    SHS__NOISE_ROUNDS = 20       /* the threshold settles in three to six */
};
/* Quantile 1 - 1e-6 of the gamma distribution of shape r/2 and scale 2t/r, where r = 45 and t = 35 are rank and trace of
   D_h'D_h + D_v'D_v: the gradients' energy of noise alone over sigma^2. */
#define SHS__NOISE_TAU ((shs_wide)81.82076743668523)

typedef struct shs__noise_patches {
    int width, height, step;
    shs_real *plane; /* one channel, less its mean */
    shs_real *panel, *product, *scratch;
    shs_wide *mean, *covariance, *values; /* of the patches; its eigenvalues, largest first */
    size_t patches;
} shs__noise_patches;

SHS__PRIVATE void shs__noise_layout(shs__layout *l, shs__noise_patches *w) {
    const int p = SHS__NOISE_P, area = p * p;
    w->plane = SHS__CARVE(l, shs_real, shs__layout_product((size_t)w->width, (size_t)w->height, 1));
    w->panel = SHS__CARVE(l, shs_real, (size_t)(p * SHS__NOISE_PANEL));
    w->product = SHS__CARVE(l, shs_real, (size_t)area);
    w->scratch = SHS__CARVE(l, shs_real, shs__la_gemm_scratch(p, p, SHS__NOISE_PANEL));
    w->mean = SHS__CARVE(l, shs_wide, (size_t)p);
    w->covariance = SHS__CARVE(l, shs_wide, (size_t)area);
    w->values = SHS__CARVE(l, shs_wide, (size_t)p);
}

/* The squares of a patch's central differences. */
SHS__PRIVATE shs_wide shs__noise_gradient(const shs_real *x) {
    const int side = SHS__NOISE_SIDE;
    shs_real sum = 0;
    int i, k;
    for (k = 0; k < side; k++)
        for (i = 0; i + 2 < side; i++) {
            shs_real across = x[k * side + i + 2] - x[k * side + i], down = x[(i + 2) * side + k] - x[i * side + k];
            sum += across * across + down * down;
        }
    return (shs_wide)sum / 4;
}

/* Adds `count` patches of the panel to the sums. */
SHS__PRIVATE void shs__noise_add(shs__noise_patches *w, int count) {
    const int p = SHS__NOISE_P;
    int i, j;
    if (count == 0) return;
    shs__la_gemm_serial(SHS_TRANS_NO, SHS_TRANS_YES, p, p, count, 1, w->panel, p, w->panel, p, 0, w->product, p, w->scratch);
    for (i = 0; i < p * p; i++) w->covariance[i] += (shs_wide)w->product[i];
    for (j = 0; j < count; j++)
        for (i = 0; i < p; i++) w->mean[i] += (shs_wide)w->panel[j * p + i];
    w->patches += (size_t)count;
}

/* The eigenvalues of the covariance of patches with less gradient than limit. A patch that is constant was clipped. */
SHS__PRIVATE shs_status shs__noise_values(const shs_context *ctx, shs__noise_patches *w, shs_wide limit) {
    const int p = SHS__NOISE_P, side = SHS__NOISE_SIDE;
    int x, y, i, j, count = 0;
    w->patches = 0;
    memset(w->mean, 0, (size_t)p * sizeof *w->mean);
    memset(w->covariance, 0, (size_t)(p * p) * sizeof *w->covariance);
    for (y = 0; y + side <= w->height; y += w->step)
        for (x = 0; x + side <= w->width; x += w->step) {
            shs_real *patch = w->panel + count * p;
            shs_wide energy;
            for (i = 0; i < side; i++)
                memcpy(patch + i * side, SHS__AT(w->plane, w->width, x, y + i), (size_t)side * sizeof *patch);
            energy = shs__noise_gradient(patch);
            if (!(energy > 0) || energy >= limit || ++count < SHS__NOISE_PANEL) continue;
            shs__noise_add(w, count);
            count = 0;
        }
    shs__noise_add(w, count);
    if (w->patches <= (size_t)p) return SHS_OK;
    for (j = 0; j < p; j++)
        for (i = j; i < p; i++) {
            shs_wide *c = w->covariance + j * p + i;
            *c = (*c - w->mean[i] * w->mean[j] / (shs_wide)w->patches) / (shs_wide)(w->patches - 1);
        }
    return shs_eigh(ctx, p, w->covariance, p, p, w->values, NULL, p);
}

SHS__PRIVATE shs_status shs__noise_read(const shs__patch_grid *g, shs__noise_patches *w, int channel) {
    shs_wide mean = 0;
    size_t i, count = (size_t)w->width * (size_t)w->height;
    int y;
    for (y = 0; y < w->height; y++)
        shs__patch_pixels(&g->image, (size_t)y * g->image.row_stride + (size_t)channel, g->image.channels, w->width,
                          SHS__AT(w->plane, w->width, 0, y));
    if (!shs__finite(count, w->plane)) return SHS_IMAGE_NOT_FINITE;
    for (i = 0; i < count; i++) mean += (shs_wide)w->plane[i];
    for (i = 0; i < count; i++) w->plane[i] -= (shs_real)(mean / (shs_wide)count);
    return SHS_OK;
}

/* One channel; its sigma is the square. */
SHS__PRIVATE shs_status shs__noise_channel(const shs_context *ctx, shs__noise_patches *w, shs_noise *one) {
    const int p = SHS__NOISE_P;
    shs_wide limit = (shs_wide)SHS__REAL_MAX, sigma2 = 0, before = -1;
    int round;
    one->guess = 1;
    for (round = 0; round < SHS__NOISE_ROUNDS && shs__wabs(sigma2 - before) > (shs_wide)1e-4 * before; round++) {
        shs_status status = shs__noise_values(ctx, w, limit);
        if (status != SHS_OK) return status;
        one->guess = w->patches < 10 * (size_t)p;
        if (w->patches <= (size_t)p) break;
        before = sigma2;
        sigma2 = w->values[p - 1] > 0 ? w->values[p - 1] : 0;
        one->patches = w->patches;
        one->guess |= w->values[p - 1 - p / 4] > (shs_wide)1.2 * sigma2;
        limit = SHS__NOISE_TAU * sigma2;
    }
    one->sigma = sigma2;
    return SHS_OK;
}

SHS__PUBLIC shs_status shs_noise_sigma(const shs_context *ctx, const shs_image *image, shs_noise *noise) {
    shs__noise_patches w = SHS_ZERO;
    shs__layout l = SHS_ZERO;
    shs__patch_grid g;
    shs_noise all = SHS_ZERO;
    shs_wide sum = 0;
    int channel;
    shs_status status = shs__ctx_check(ctx);
    if (status == SHS_OK) status = shs__patch_image(image, 1, &g);
    if (status != SHS_OK) return status;
    if (g.image.width < SHS__NOISE_SIDE || g.image.height < SHS__NOISE_SIDE) return SHS_BAD_PATCHES;
    if (!noise) return SHS_BAD_OUTPUT;
    w.width = g.image.width, w.height = g.image.height, w.step = 1;
    while ((shs_wide)w.width / (shs_wide)w.step * ((shs_wide)w.height / (shs_wide)w.step) > (shs_wide)SHS__NOISE_PATCHES)
        w.step++;
    while (shs__layout_next(ctx, &l, &status)) shs__noise_layout(&l, &w);
    if (status != SHS_OK) return status;
    all.patches = SIZE_MAX;
    for (channel = 0; channel < g.image.channels && status == SHS_OK; channel++) {
        shs_noise one = SHS_ZERO;
        status = shs__noise_read(&g, &w, channel);
        if (status == SHS_OK) status = shs__noise_channel(ctx, &w, &one);
        sum += one.sigma;
        all.patches = shs__zmin(all.patches, one.patches);
        all.guess |= one.guess;
    }
    all.sigma = SHS__WSQRT(sum / (shs_wide)g.image.channels);
    if (status == SHS_OK) *noise = all;
    shs__layout_release(ctx, &l);
    return status;
}

#endif /* SHS__ALL_PARTS */
#endif /* SHS__SPARSE */
#ifdef SHS__CUBES

/* ================================================================================================================== */
/* 9  CUBES AND STREAMING                                                                                     >>cubes */
/* ================================================================================================================== */

/* A pixel's way, in this order: a cube, checked; the reader, which makes panels of elements from values of any type and layout,
   and says which pixels are missing; maps by a matrix, and whitened pixels, which are such maps; the pass, the only loop over
   panels; its consumers (moments, noise, maps and their extremes, fourth moments, sweeps, ratings), which know nothing of each
   other; the stages, which run here or on the engine; the public forms. Nothing in it calls sections 10 and 11.

   From a call to its loop: shs_moments_update opens the cube, shs__px_add_moments lays out memory, shs__px_moments asks the
   engine, shs__px_pass_run reads blocks of lines and shares them out, shs__px_pass_chunk is the loop over panels, and
   shs__px_moments_panel adds one up. Maps go from shs_cube_map by shs__pixels_map and shs__px_map the same way. */

/* ---- the naive twin ------------------------------------------------------------------------------ >>moments_naive */

SHS__PUBLIC void shs_moments_naive(int n, ptrdiff_t m, const shs_wide *X, shs_wide *mean, shs_wide *C) {
    ptrdiff_t a, b, i;
    for (a = 0; a < n; a++) {
        for (mean[a] = 0, i = 0; i < m; i++) mean[a] += X[a + i * n];
        mean[a] /= (shs_wide)m;
    }
    for (b = 0; b < n; b++)
        for (a = 0; a < n; a++) {
            for (C[a + b * n] = 0, i = 0; i < m; i++) C[a + b * n] += (X[a + i * n] - mean[a]) * (X[b + i * n] - mean[b]);
            C[a + b * n] /= (shs_wide)m;
        }
}

/* ---- a cube, checked, with its strides worked out --------------------------------------------------------- >>view */

enum {
    SHS__PANEL_PIXELS = 384, /* converted and multiplied at a time: the depth of one packed panel of gemm */
    SHS__TILE_WORDS = 192,   /* as many shs_wide hold the 32-bit sums of a tile */
    SHS__LEAST_WORDS = 4,    /* pairs between two flushes of integer sums: below that float is faster */
    SHS__PANELS_A_SUM = 2,   /* panels whose products are summed in shs_real; 8-bit products stay exact up to 1024 pixels */
    SHS__CHUNK_PANELS = 4,   /* panels in a parallel chunk, whose sums are added up in shs_wide; of large blocks: */
    SHS__LARGE_CHUNK_PANELS = 16,
    SHS__PASS_CHUNKS = 16,      /* chunks whose sums are held before they are added in order */
    SHS__COLLECT_VALUES = 4096, /* of which so many at a time */
    SHS__CACHE_LIMIT = 256 << 20, /* bytes of whitened pixels of a cube in memory that are kept */
    SHS__BLOCK_BYTES = 16 << 20 /* a block of a stream, unless the caller says how many lines */
};

typedef struct shs__view {
    const shs_cube *cube;
    size_t size;             /* bytes a value */
    int samples, lines, bands, used;
    int block_lines;         /* lines that are in memory at a time */
    int planes;              /* neighbours along a line are closer than bands: read band by band */
    int floating;            /* NaN can occur */
    int marks;               /* there is a no-data value that pixels can equal: NaN equals none, infinity is missing anyway */
    shs_wide nodata;         /* as a value of the cube's type */
    ptrdiff_t ss, ls, bs;    /* strides of the block at hand, in values */
    const unsigned char *base;
    const unsigned char *mask;   /* of the block at hand; NULL: all pixels are used */
    int first_line, count_lines; /* the block at hand */
} shs__view;

SHS__PRIVATE int shs__px_cube_type_ok(shs_type type) {
#ifdef SPARSEHS_NO_DOUBLE
    if (type == SHS_TYPE_F64) return 0;
#endif
    return (unsigned)type < SHS_TYPE_COUNT;
}

/* The one place where a precision is decided: whether elements are shs_wide. Sums and maps of shs_real err by 1e-7 of the
   largest value of a pixel, which is more than 1e-6 standard deviations of most components. */
SHS__PRIVATE int shs__is_wide(shs_precision precise) {
    return precise != SHS_PRECISION_NEVER && sizeof(shs_wide) > sizeof(shs_real);
}
SHS__PRIVATE int shs__px_may_miss(const shs__view *v) {
    return v->floating || v->cube->mask || v->cube->mask_fn || v->cube->has_nodata;
}

/* Strides of a contiguous block of `lines` lines. */
SHS__PRIVATE void shs__px_interleave_strides(shs_interleave interleave, int samples, int lines, int bands, ptrdiff_t *ss,
                                             ptrdiff_t *ls, ptrdiff_t *bs) {
    ptrdiff_t s = samples, l = lines, b = bands;
    *ss = interleave == SHS_INTERLEAVE_BIP ? b : 1;
    *ls = interleave == SHS_INTERLEAVE_BSQ ? s : s * b;
    *bs = interleave == SHS_INTERLEAVE_BSQ ? s * l : interleave == SHS_INTERLEAVE_BIL ? s : 1;
}

SHS__PRIVATE void shs__px_view_block(shs__view *v, int first_line, int lines) {
    const shs_cube *c = v->cube;
    v->first_line = first_line;
    v->count_lines = lines;
    v->mask = c->mask ? c->mask + (size_t)first_line * (size_t)v->samples : NULL;
    if (c->sample_stride || c->line_stride || c->band_stride) {
        v->ss = c->sample_stride;
        v->ls = c->line_stride;
        v->bs = c->band_stride;
    } else shs__px_interleave_strides(c->interleave, v->samples, lines, v->bands, &v->ss, &v->ls, &v->bs);
}

SHS__PRIVATE shs_status shs__px_view_open(const shs_cube *c, shs__view *v) {
    size_t line_bytes;
    int i;
    memset(v, 0, sizeof *v);
    if (!c || !SHS__ZEROED(c) || !shs__px_cube_type_ok(c->type) || (unsigned)c->interleave >= SHS_INTERLEAVE_COUNT)
        return SHS_BAD_CUBE;
    if (c->samples < (c->lines != 0) || c->lines < 0 || c->bands < 1 || c->block_lines < 0) return SHS_BAD_CUBE;
    if (c->lines > 0 && !c->pixels && !c->read_fn) return SHS_BAD_CUBE;
    if (c->lines > 0 && !c->pixels && (c->sample_stride || c->line_stride || c->band_stride)) return SHS_BAD_CUBE;
    if (c->mask_fn && (c->pixels || c->mask)) return SHS_BAD_CUBE;
    if (c->band_list && c->band_count < 1) return SHS_BAD_BANDS;
    for (i = 0; c->band_list && i < c->band_count; i++)
        if (c->band_list[i] < 0 || c->band_list[i] >= c->bands) return SHS_BAD_BANDS;
    v->cube = c;
    v->size = shs_type_size(c->type);
    v->samples = c->samples, v->lines = c->lines, v->bands = c->bands;
    v->used = c->band_list ? c->band_count : c->bands;
    v->floating = c->type == SHS_TYPE_F32 || c->type == SHS_TYPE_F64 || c->type == SHS_TYPE_REAL;
    v->nodata = c->type == SHS_TYPE_F32    ? (shs_wide)(float)c->nodata
                : c->type == SHS_TYPE_REAL ? (shs_wide)(shs_real)c->nodata
                                      : c->nodata;
    v->marks = c->has_nodata && shs__wide_finite(1, &v->nodata);
    line_bytes = shs__layout_product((size_t)c->samples, (size_t)c->bands, v->size);
    if (line_bytes == SIZE_MAX) return SHS_TOO_LARGE;
    v->block_lines = c->lines;
    if (!c->pixels) {
        v->block_lines = c->block_lines ? c->block_lines : (int)shs__zmax(SHS__BLOCK_BYTES / shs__zmax(line_bytes, 1), 1);
        v->block_lines = shs__imin(v->block_lines, c->lines);
    }
    /* What is in memory at a time must fit; a stream as a whole may be larger than the address space. */
    if (shs__layout_product(line_bytes, (size_t)v->block_lines, 2) == SIZE_MAX) return SHS_TOO_LARGE;
    shs__px_view_block(v, 0, v->block_lines);
    v->planes = (v->ss < 0 ? -v->ss : v->ss) < (v->bs < 0 ? -v->bs : v->bs);
    v->base = (const unsigned char *)c->pixels;
    return SHS_OK;
}

SHS__PUBLIC int shs_cube_bands(const shs_cube *cube) {
    shs__view v;
    return shs__px_view_open(cube, &v) == SHS_OK ? v.used : 0;
}

/* ---- from any type to panels of elements ---------------------------------------------------------------- >>reader */

/* Values in the cube: `count` of them `stride` apart, or at `offset`s. */
typedef struct shs__span {
    const unsigned char *from;
    ptrdiff_t stride;
    const ptrdiff_t *offset; /* NULL: stride counts */
    int count;
} shs__span;

#define SHS__SPAN_AT(span, i) ((span)->offset ? (span)->offset[i] : (ptrdiff_t)(i) * (span)->stride)

/* An ELEMENT of pixels and of what becomes of them is a shs_real or a shs_wide, as the kernels at hand say. */
#if defined(SHS__WIDE_WANTED) && !defined(SHS__WIDE)
SHS__PRIVATE const shs__pixels_kernels *shs__kernels_wide_pixels(void); /* plain loops */
#endif
SHS__PRIVATE const shs__pixels_kernels *shs__element_kernels(int wide) {
    return wide ? shs__kernels_wide_pixels() : shs__kernels_pixels();
}
SHS__PRIVATE void *shs__px_element_at(const shs__pixels_kernels *k, void *elements, size_t index) {
    return (unsigned char *)elements + index * (size_t)k->bytes;
}
SHS__PRIVATE const void *shs__px_given_at(const shs__pixels_kernels *k, const void *elements, size_t index) {
    return (const unsigned char *)elements + index * (size_t)k->bytes;
}
SHS__PRIVATE shs_wide shs__px_get_element(const shs__pixels_kernels *k, const void *elements, size_t index) {
    return k->bytes == (int)sizeof(shs_wide) ? ((const shs_wide *)elements)[index]
                                             : (shs_wide)((const shs_real *)elements)[index];
}
SHS__PRIVATE void shs__px_put_element(const shs__pixels_kernels *k, void *elements, size_t index, shs_wide value) {
    if (k->bytes == (int)sizeof(shs_wide)) ((shs_wide *)elements)[index] = value;
    else ((shs_real *)elements)[index] = (shs_real)value;
}

/* The type's name for kernels: they call the element SHS_TYPE_REAL. */
SHS__PRIVATE shs_type shs__px_element_type(const shs__pixels_kernels *k, shs_type type) {
    if (type == SHS_TYPE_REAL) type = sizeof(shs_real) == 8 ? SHS_TYPE_F64 : SHS_TYPE_F32;
    return type == (k->bytes == 8 ? SHS_TYPE_F64 : SHS_TYPE_F32) ? SHS_TYPE_REAL : type;
}

/* Whether kernels convert values of this type; the other types can have more digits than an element. */
SHS__PRIVATE int shs__px_kernels_take(const shs__pixels_kernels *k, shs_type type) {
    type = shs__px_element_type(k, type);
    if (!k->store) return 0; /* plain loops */
    return type == SHS_TYPE_U8 || type == SHS_TYPE_I16 || type == SHS_TYPE_U16 || type == SHS_TYPE_F32 || type == SHS_TYPE_REAL;
}

/* A span's values as shs_wide. */
#define SHS__READ(from_type)                                                                                           \
    {                                                                                                                  \
        const from_type *v = (const from_type *)(const void *)span->from;                                              \
        for (i = 0; i < span->count; i++) value[i] = (shs_wide)v[SHS__SPAN_AT(span, i)];                               \
    }                                                                                                                  \
    break;

SHS__PRIVATE void shs__px_read_values(shs_type type, const shs__span *span, shs_wide *value) {
    int i;
    switch (type) {
    case SHS_TYPE_U8: SHS__READ(uint8_t)
    case SHS_TYPE_I16: SHS__READ(int16_t)
    case SHS_TYPE_U16: SHS__READ(uint16_t)
    case SHS_TYPE_I32: SHS__READ(int32_t)
    case SHS_TYPE_U32: SHS__READ(uint32_t)
    case SHS_TYPE_F32: SHS__READ(float)
#ifndef SPARSEHS_NO_DOUBLE
    case SHS_TYPE_F64: SHS__READ(double)
#endif
    default: SHS__READ(shs_real)
    }
}

/* A result, scaled. `above` is a variable so that x87 rounds it as it rounds the old range. */
SHS__PRIVATE shs_wide shs__px_scaled(const shs__scaling *s, int i, shs_wide y) {
    shs_wide value = s->constant[i] + y, above;
    if (!s->rescale) return value;
    above = value - s->low[i];
    return s->range[i] * above / s->old[i] + s->base;
}

#if defined(SHS__WIDE_WANTED) && !defined(SHS__WIDE)
/* Pixels in double where this file could not include itself: plain loops, for tiles of one element. There is no store: what has
   none leaves converting from and to a cube's types to the loops here. */
SHS__PRIVATE void shs__plain_convert(shs_type type, int n, const void *from, const void *shift, int each, void *to) {
    shs__span span = SHS_ZERO;
    int i;
    span.from = (const unsigned char *)from, span.stride = 1, span.count = n;
    shs__px_read_values(type == SHS_TYPE_REAL ? SHS_TYPE_F64 : type, &span, (shs_wide *)to);
    for (i = 0; i < n; i++) ((shs_wide *)to)[i] -= ((const shs_wide *)shift)[each ? i : 0];
}

SHS__PRIVATE void shs__plain_transpose(int m, int n, const void *S, int lds, void *D, int ldd) {
    int i, j;
    for (j = 0; j < n; j++)
        for (i = 0; i < m; i++) *SHS__AT((shs_wide *)D, ldd, j, i) = *SHS__AT((const shs_wide *)S, lds, i, j);
}

SHS__PRIVATE void shs__plain_pack(shs_type type, int bands, int pixels, const unsigned char *const *spectrum,
                                  const void *shift, unsigned char *missing, void *room, void *to, size_t apart) {
    shs_wide *x = (shs_wide *)room, *packed = (shs_wide *)to;
    int k, b;
    for (k = 0; k < pixels; k++) {
        if (!missing[k]) shs__plain_convert(type, bands, spectrum[k], shift, 1, x);
        for (b = 0; b < bands && !missing[k]; b++)
            missing[k] = !(shs__wide_finite(1, x + b) && shs__wabs(x[b]) <= (shs_wide)SHS__REAL_MAX);
        for (b = 0; b < bands; b++) packed[(size_t)b * apart + (size_t)k] = missing[k] ? 0 : x[b];
    }
}

SHS__PRIVATE void shs__plain_sums(int bands, int depth, const void *packed, size_t apart, shs_wide *sum) {
    int b, k;
    for (b = 0; b < bands; b++)
        for (k = 0; k < depth; k++) sum[b] += ((const shs_wide *)packed)[(size_t)b * apart + (size_t)k];
}

/* In four sums: one addition need not wait for the one before. */
SHS__PRIVATE void shs__plain_tile(int vectors, int depth, const void *a, ptrdiff_t vector, ptrdiff_t a_next, const void *b,
                                  ptrdiff_t column, ptrdiff_t b_next, int add, void *C, ptrdiff_t c_vector,
                                  ptrdiff_t c_column) {
    const shs_wide *x = (const shs_wide *)a, *y = (const shs_wide *)b;
    shs_wide s0 = add ? *(shs_wide *)C : 0, s1 = 0, s2 = 0, s3 = 0;
    (void)vectors, (void)vector, (void)column, (void)c_vector, (void)c_column;
    for (; depth >= 4; depth -= 4, x += 4 * a_next, y += 4 * b_next) {
        s0 += x[0] * y[0], s1 += x[a_next] * y[b_next];
        s2 += x[2 * a_next] * y[2 * b_next], s3 += x[3 * a_next] * y[3 * b_next];
    }
    for (; depth > 0; depth--, x += a_next, y += b_next) s0 += *x * *y;
    *(shs_wide *)C = (s0 + s1) + (s2 + s3);
}

SHS__PRIVATE void shs__plain_flush(int bands, const void *C, shs_wide *P) {
    const shs_wide *c = (const shs_wide *)C;
    int column, row;
    for (column = 0; column < bands; column++)
        for (row = column; row < bands; row++) *SHS__AT(P, bands, row, column) += *c++;
}

SHS__PRIVATE void shs__plain_squares(int pixels, int n, const void *y, int ldy, const void *constant, shs_wide *sum) {
    int k, i;
    for (k = 0; k < pixels; k++)
        for (sum[k] = 0, i = 0; i < n; i++) {
            shs_wide v = *SHS__AT((const shs_wide *)y, ldy, i, k) + ((const shs_wide *)constant)[i];
            sum[k] += v * v;
        }
}

SHS__PRIVATE void shs__plain_range(int rows, int n, const void *values, int ldy, void *lows, void *highs) {
    shs_wide *low = (shs_wide *)lows, *high = (shs_wide *)highs;
    int i, k;
    for (k = 0; k < rows; k++)
        for (i = 0; i < n; i++) {
            shs_wide v = *SHS__AT((const shs_wide *)values, ldy, i, k);
            low[i] = v < low[i] ? v : low[i];
            high[i] = v > high[i] ? v : high[i];
        }
}

SHS__PRIVATE const shs__pixels_kernels *shs__kernels_wide_pixels(void) {
    static const shs__pixels_kernels plain = {
        (int)sizeof(shs_wide), 1, 1, 1, shs__plain_convert, shs__plain_transpose, shs__plain_pack, shs__plain_sums,
        shs__plain_tile, shs__plain_flush, shs__plain_squares, shs__plain_range, NULL,
    };
    return &plain;
}
#endif

/* Marks the pixels of a span of one band (step 1), or the pixel of a spectrum (step 0), where a value is the no-data value. */
SHS__PRIVATE void shs__px_mark_nodata(const shs__view *v, const shs__span *span, shs_wide *value, unsigned char *missing,
                                      size_t step) {
    int i;
    if (!v->marks) return;
    shs__px_read_values(v->cube->type, span, value);
    for (i = 0; i < span->count; i++)
        if (value[i] == v->nodata) missing[(size_t)i * step] = 1;
}

/* Values in the other byte order, or not aligned to their size, are first brought to an aligned place. */
SHS__PRIVATE void shs__px_make_native(const shs__view *v, shs__span *span, unsigned char *room) {
    size_t size = v->size, b;
    int i;
    for (i = 0; i < span->count; i++) {
        const unsigned char *from = span->from + SHS__SPAN_AT(span, i) * (ptrdiff_t)size;
        unsigned char *to = room + (size_t)i * size;
        for (b = 0; b < size; b++) to[b] = from[v->cube->swap_bytes ? size - 1 - b : b];
    }
    span->from = room;
    span->stride = 1;
    span->offset = NULL;
}

/* Memory that will be read next, brought nearer while there is other work: rows of `bytes`, some for each tile. */
typedef struct shs__ahead {
    const unsigned char *from;
    ptrdiff_t stride;
    size_t bytes;
    int rows, each;
} shs__ahead;

SHS__PRIVATE void shs__px_fetch_ahead(shs__ahead *ahead) {
    int k;
    for (k = 0; k < ahead->each && ahead->rows > 0; k++) {
#if defined(__GNUC__) || defined(__clang__)
        size_t i;
        for (i = 0; i < ahead->bytes; i += 64) __builtin_prefetch(ahead->from + i, 0, 2);
#elif defined(SHS__INTRINSICS)
        size_t i;
        for (i = 0; i < ahead->bytes; i += 64) SHS__PREFETCH(ahead->from + i);
#endif
        if (--ahead->rows > 0) ahead->from += ahead->stride;
    }
}

/* Up to SHS__PANEL_PIXELS pixels, as one worker has them: x - shift of `used` bands. By planes band b is the column
   X + b SHS__PANEL_PIXELS (pixels contiguous), otherwise pixel k is the column X + k used. Missing pixels are closed up;
   missing[k] tells which they were. Of raw panels only `spectrum` is filled. */
typedef struct shs__panel {
    void *X;                        /* elements */
    void *own;                      /* the memory that pixels are read into */
    unsigned char *missing;         /* SHS__PANEL_PIXELS */
    const unsigned char **spectrum; /* SHS__PANEL_PIXELS: where the pixels are, in the cube's type */
    unsigned char *room;            /* for shs__px_make_native */
    shs_wide *value;                /* those of a span */
    size_t first;                   /* the first pixel, in the block */
    int pixels, valid;              /* read, and left after closing up */
    shs__ahead ahead;               /* the next panel, where it follows on this one */
    unsigned char apart[SHS__ALIGN]; /* no two workers may write to one cache line */
} shs__panel;

/* ... ends with the right neighbour of its last pixel; or its second half are the neighbours in the line above. */
typedef enum shs__pairs { SHS__NO_PAIRS, SHS__PAIRS_RIGHT, SHS__PAIRS_ABOVE, SHS__PAIRS_DIAGONAL } shs__pairs;

typedef struct shs__reader {
    shs__view view;
    const shs__pixels_kernels *kernels; /* they say what an element is */
    int planes, foreign; /* foreign: values in the other byte order, or not aligned to their size */
    int raw;                   /* panels are not converted: their spectra are found */
    shs__pairs pairs;          /* pixels are compared with their neighbours: a panel lies within a line and ... */
    void *above;               /* elements: the last line of the block before, pixel after pixel; NULL: not wanted */
    unsigned char *above_missing; /* samples */
    int tiles;                 /* in how many pieces a panel is worked on, for what is fetched with each; 0: nothing is */
    struct shs__white *white;  /* pixels come whitened; NULL: as they are */
    const void *shift;         /* used elements */
    void *zeros;               /* as many */
    const ptrdiff_t *offset;   /* used: where each band begins, from the first on; NULL: neighbours, in order */
    ptrdiff_t *offsets;        /* room for them */
    unsigned char *block;      /* a stream's lines */
    unsigned char *marks;      /* and what its mask_fn says of them */
    int next_line;             /* after the block at hand */
    size_t block_pixels;
    shs__panel *panels;        /* one a worker */
} shs__reader;

SHS__PRIVATE void shs__px_reader_init(shs__reader *r, const shs__view *v, int wide) {
    memset(r, 0, sizeof *r);
    r->view = *v;
    r->kernels = shs__element_kernels(wide);
}

#define SHS__CARVE_ELEMENTS(l, k, count) shs__layout_carve(l, count, (size_t)(k)->bytes)

SHS__PRIVATE void shs__px_reader_layout(shs__layout *l, shs__reader *r, int workers) {
    const shs__view *v = &r->view;
    size_t used = (size_t)v->used, line = shs__layout_product((size_t)v->samples, (size_t)v->bands, v->size);
    int i;
    r->block = v->cube->pixels ? NULL : SHS__CARVE(l, unsigned char, shs__layout_product(line, (size_t)v->block_lines, 1));
    r->marks = SHS__CARVE(l, unsigned char, v->cube->mask_fn ? (size_t)v->samples * (size_t)v->block_lines : 0);
    r->offsets = SHS__CARVE(l, ptrdiff_t, used);
    r->zeros = SHS__CARVE_ELEMENTS(l, r->kernels, used);
    if (l->base) memset(r->zeros, 0, used * (size_t)r->kernels->bytes);
    r->shift = r->zeros;
    if (r->pairs > SHS__PAIRS_RIGHT && !v->cube->pixels) { /* a line that is left behind by the stream */
        r->above = SHS__CARVE_ELEMENTS(l, r->kernels, shs__layout_product((size_t)v->samples, used, 1));
        r->above_missing = SHS__CARVE(l, unsigned char, (size_t)v->samples);
    }
    r->panels = SHS__CARVE(l, shs__panel, (size_t)workers);
    for (i = 0; i < workers; i++) {
        shs__panel counted, *panel = l->base ? r->panels + i : &counted;
        panel->own = SHS__CARVE_ELEMENTS(l, r->kernels, shs__layout_product(used, SHS__PANEL_PIXELS, 1));
        panel->missing = SHS__CARVE(l, unsigned char, SHS__PANEL_PIXELS);
        panel->spectrum = SHS__CARVE(l, const unsigned char *, SHS__PANEL_PIXELS);
        panel->room = SHS__CARVE(l, unsigned char, v->size * shs__zmax(used, SHS__PANEL_PIXELS));
        panel->value = SHS__CARVE(l, shs_wide, shs__zmax(used, SHS__PANEL_PIXELS));
    }
}

/* A block of lines that is in memory: works out where bands are. */
SHS__PRIVATE void shs__px_reader_block(shs__reader *r, const unsigned char *base, int first_line, int lines) {
    shs__view *v = &r->view;
    const int *list = v->cube->band_list;
    int b;
    shs__px_view_block(v, first_line, lines);
    v->base = base + (list ? list[0] * v->bs * (ptrdiff_t)v->size : 0);
    r->offset = NULL;
    for (b = 0; b < v->used; b++) {
        r->offsets[b] = (list ? list[b] - list[0] : b) * v->bs;
        if (r->offsets[b] != b * v->bs) r->offset = r->offsets;
    }
    r->planes = v->planes;
    r->foreign = v->cube->swap_bytes || (uintptr_t)base % v->size;
    r->block_pixels = (size_t)lines * (size_t)v->samples;
}

/* A stream's lines, and their marks where mask_fn makes them. */
SHS__PRIVATE shs_status shs__px_fetch(const shs_cube *c, int first_line, int lines, void *block, unsigned char *marks) {
    if (c->read_fn(c->read_user, first_line, lines, block)) return SHS_READ_FAILED;
    return c->mask_fn && c->mask_fn(c->mask_user, first_line, lines, marks) ? SHS_READ_FAILED : SHS_OK;
}

/* Goes on to the next block. Returns 0 after the last, where one could not be read, and where *status was bad before. */
SHS__PRIVATE int shs__px_next_block(shs__reader *r, shs_status *status) {
    const shs_cube *c = r->view.cube;
    const unsigned char *base = (const unsigned char *)c->pixels;
    int first = r->next_line, lines = shs__imin(r->view.block_lines, r->view.lines - first);
    if (*status != SHS_OK || lines <= 0) return 0;
    if (!base) *status = shs__px_fetch(c, first, lines, r->block, r->marks);
    if (*status != SHS_OK) return 0;
    shs__px_reader_block(r, base ? base : r->block, first, lines);
    if (c->mask_fn) r->view.mask = r->marks;
    r->next_line = first + lines;
    return 1;
}

/* How many of `count` values from i on lie side by side, where bands do; offset NULL: all. */
SHS__PRIVATE int shs__px_side_by_side(const ptrdiff_t *offset, int i, int count) {
    int n = 1;
    if (!offset) return count - i;
    while (i + n < count && offset[i + n] == offset[i] + n) n++;
    return n;
}

/* out = value - shift, one shift for all (a band) or one each (a pixel): by a kernel where values lie side by side, else in
   shs_wide. Both round alike: a difference of two numbers of shs_real that is rounded twice is as if it were rounded once. */
SHS__PRIVATE void shs__px_convert_span(const shs__reader *r, const shs__span *span, const void *shift, int each,
                                       shs_wide *value, void *out) {
    const shs__pixels_kernels *k = r->kernels;
    shs_type type = r->view.cube->type;
    int i, n;
    if (shs__px_kernels_take(k, type) && (span->offset ? r->view.bs : span->stride) == 1) {
        for (i = 0; i < span->count; i += n) {
            n = shs__px_side_by_side(span->offset, i, span->count);
            k->convert(shs__px_element_type(k, type), n, span->from + SHS__SPAN_AT(span, i) * (ptrdiff_t)r->view.size,
                       shs__px_given_at(k, shift, each ? (size_t)i : 0), each, shs__px_element_at(k, out, (size_t)i));
        }
        return;
    }
    shs__px_read_values(type, span, value);
    for (i = 0; i < span->count; i++)
        shs__px_put_element(k, out, (size_t)i, value[i] - shs__px_get_element(k, shift, each ? (size_t)i : 0));
}

/* One span of one line, which begins at `from`: pixels k0 .. k0+count-1 of the panel. */
SHS__PRIVATE void shs__px_read_line(const shs__reader *r, shs__panel *panel, const unsigned char *from, int count, int k0) {
    const shs__view *v = &r->view;
    size_t used = (size_t)v->used;
    int by_band = v->planes, spans = by_band ? v->used : count, i;
    for (i = 0; i < spans; i++) {
        shs__span span;
        ptrdiff_t at = by_band ? r->offsets[i] : i * v->ss;
        size_t to = by_band ? (size_t)i * SHS__PANEL_PIXELS + (size_t)k0 : (size_t)(k0 + i) * used;
        unsigned char *missing = panel->missing + k0 + (by_band ? 0 : i);
        span.from = from + at * (ptrdiff_t)v->size;
        span.stride = by_band ? v->ss : v->bs;
        span.offset = by_band ? NULL : r->offset;
        span.count = by_band ? count : v->used;
        if (r->foreign) shs__px_make_native(v, &span, panel->room);
        shs__px_mark_nodata(v, &span, panel->value, missing, by_band ? 1 : 0);
        shs__px_convert_span(r, &span, by_band ? shs__px_given_at(r->kernels, r->shift, (size_t)i) : r->shift, !by_band,
                             panel->value, shs__px_element_at(r->kernels, panel->X, to));
    }
}

/* Whether n elements are all numbers that a shs_real can hold: in shs_wide by their bits, in whose order NaN and infinity come
   last (-ffast-math folds comparisons with NaN). */
SHS__PRIVATE int shs__px_elements_finite(const shs__pixels_kernels *k, size_t n, const void *x) {
    const shs_wide most = (shs_wide)SHS__REAL_MAX;
    uint64_t limit = 0, bits = 0;
    size_t i;
    if (k->bytes == (int)sizeof(shs_real)) return shs__finite(n, (const shs_real *)x);
    memcpy(&limit, &most, sizeof most);
    for (i = 0; i < n; i++) {
        memcpy(&bits, (const shs_wide *)x + i, sizeof most);
        if (bits << 1 > limit << 1) return 0;
    }
    return 1;
}

/* Marks pixels in which a value came out as NaN or infinity. */
SHS__PRIVATE void shs__px_mark_not_finite(const shs__reader *r, shs__panel *panel) {
    const shs__pixels_kernels *kernels = r->kernels;
    size_t used = (size_t)r->view.used, b, pixels = (size_t)panel->pixels, k;
    for (k = 0; k < pixels && !r->planes; k++)
        if (!shs__px_elements_finite(kernels, used, shs__px_element_at(kernels, panel->X, k * used))) panel->missing[k] = 1;
    for (b = 0; b < used && r->planes; b++) {
        const void *plane = shs__px_element_at(kernels, panel->X, b * SHS__PANEL_PIXELS);
        if (shs__px_elements_finite(kernels, pixels, plane)) continue;
        for (k = 0; k < pixels; k++)
            if (!shs__px_elements_finite(kernels, 1, shs__px_given_at(kernels, plane, k))) panel->missing[k] = 1;
    }
}

SHS__PRIVATE void shs__px_close_up(const shs__reader *r, shs__panel *panel) {
    size_t used = (size_t)r->view.used, bytes = (size_t)r->kernels->bytes, b, to = 0, k;
    unsigned char *X = (unsigned char *)panel->X;
    for (k = 0; k < (size_t)panel->pixels; k++) {
        if (panel->missing[k]) continue;
        if (to != k && !r->planes) memcpy(X + to * used * bytes, X + k * used * bytes, used * bytes);
        else if (to != k)
            for (b = 0; b < used; b++)
                memcpy(X + (b * SHS__PANEL_PIXELS + to) * bytes, X + (b * SHS__PANEL_PIXELS + k) * bytes, bytes);
        to++;
    }
    panel->valid = (int)to;
}

/* Whether the bands of a pixel lie side by side, aligned, and are of a type that kernels read as it is. */
SHS__PRIVATE int shs__px_spectra_lie_ready(const shs__reader *r) {
    const shs__view *v = &r->view;
    return !v->planes && !r->offset && v->bs == 1 && !r->foreign && shs__px_kernels_take(r->kernels, v->cube->type);
}

/* Of rows that lie `half` apart, the high bits of one and the low bits of the other change places, pair by pair. */
#define SHS__TRADE(pair)                                                                                               \
    do {                                                                                                               \
        uint64_t *a_ = x + (pair) / half * 2 * half + (pair) % half, *b_ = a_ + half;                                  \
        uint64_t t_ = ((*a_ >> bits) ^ *b_) & mask;                                                                    \
        *a_ ^= t_ << bits, *b_ ^= t_;                                                                                  \
    } while (0)
SHS__INLINE void shs__px_trade(int pairs, int half, int bits, uint64_t mask, uint64_t *x) {
    SHS__TRADE(0);
    SHS__TRADE(1);
    if (pairs == 2) return;
    SHS__TRADE(2);
    SHS__TRADE(3);
}

/* 8 x 8 bytes, or 4 x 4 values of two bytes, transposed in registers. The first byte in memory is the lowest of a word, or
   the highest: then the words are taken from last to first: rows and columns are both reversed, and the result is the same. */
SHS__INLINE void shs__px_transpose_square(int rows, const unsigned char *from, const ptrdiff_t *row, unsigned char *to,
                                          size_t ld) {
    static const uint16_t one = 1;
    int last = *(const unsigned char *)&one ? 0 : rows - 1, i;
    uint64_t x[8];
    for (i = 0; i < rows; i++) memcpy(x + (i ^ last), from + 8 / rows * row[i], 8);
    shs__px_trade(rows / 2, rows / 2, 32, (uint64_t)0xffffffff, x);
    shs__px_trade(rows / 2, rows / 4, 16, (uint64_t)0xffff * 0x100000001, x);
    if (rows == 8) shs__px_trade(4, 1, 8, (uint64_t)0xff * 0x1000100010001, x);
    for (i = 0; i < rows; i++) memcpy(to + (size_t)i * ld, x + (i ^ last), 8);
}

/* `count` pixels of a line from `from` on, of any interleave, to spectra one after the other. */
SHS__PRIVATE void shs__px_transpose_line(const shs__reader *r, const unsigned char *from, int count, unsigned char *to) {
    const shs__view *v = &r->view;
    int used = v->used, side = v->ss == 1 ? 8 / (int)v->size : 0, bands = 0, pixels = 0, b, k, n;
    size_t size = v->size, ld = (size_t)used * size;
    if (side) bands = used - used % side, pixels = count - count % side;
    for (b = 0; b < bands; b += side)
        for (k = 0; k < pixels; k += side) {
            unsigned char *corner = to + (size_t)k * ld + (size_t)b * size;
            if (size == 1) shs__px_transpose_square(8, from + k, r->offsets + b, corner, ld);
            else shs__px_transpose_square(4, from + 2 * k, r->offsets + b, corner, ld);
        }
    for (k = 0; k < count; k++)
        for (b = k < pixels ? bands : 0; b < used; b += n) {
            n = v->bs == 1 ? shs__px_side_by_side(r->offsets, b, used) : 1;
            memcpy(to + (size_t)k * ld + (size_t)b * size, from + (k * v->ss + r->offsets[b]) * (ptrdiff_t)size,
                   (size_t)n * size);
        }
}

/* Where pixel `first` of the block at hand is, pixels being numbered line by line. */
SHS__PRIVATE const unsigned char *shs__px_pixel_at(const shs__view *v, size_t first) {
    size_t line = first / (size_t)v->samples, sample = first % (size_t)v->samples;
    return v->base + ((ptrdiff_t)line * v->ls + (ptrdiff_t)sample * v->ss) * (ptrdiff_t)v->size;
}

/* How many pixels from `first` on are in its line, `most` at most. */
SHS__PRIVATE int shs__px_left_in_line(const shs__view *v, size_t first, int most) {
    return shs__imin(most, v->samples - (int)(first % (size_t)v->samples));
}

/* A raw panel: finds its spectra where they lie ready, or brings values of one or two bytes side by side, into X. */
SHS__PRIVATE void shs__px_read_raw(const shs__reader *r, shs__panel *panel) {
    const shs__view *v = &r->view;
    unsigned char *to = (unsigned char *)panel->X;
    size_t bytes = (size_t)v->used * v->size, i;
    int ready = shs__px_spectra_lie_ready(r), k, j, here;
    for (k = 0; k < panel->pixels; k += here) {
        const unsigned char *from = shs__px_pixel_at(v, panel->first + (size_t)k);
        here = shs__px_left_in_line(v, panel->first + (size_t)k, panel->pixels - k);
        if (!ready) shs__px_transpose_line(r, from, here, to + (size_t)k * bytes);
        for (j = 0; j < here; j++)
            panel->spectrum[k + j] = ready ? from + j * v->ss * (ptrdiff_t)v->size : to + (size_t)(k + j) * bytes;
    }
    for (i = 0; !ready && v->size == 2 && v->cube->swap_bytes && i < (size_t)panel->pixels * bytes; i += 2) {
        unsigned char low = to[i];
        to[i] = to[i + 1];
        to[i + 1] = low;
    }
    for (k = 0; k < panel->pixels; k++) {
        shs__span span;
        span.from = panel->spectrum[k], span.stride = 1, span.offset = NULL, span.count = v->used;
        shs__px_mark_nodata(v, &span, panel->value, panel->missing + k, 0);
        panel->valid -= panel->missing[k];
    }
}

/* The line above the first of the block, from sample x on: `count` pixels to place k0 of the panel. */
SHS__PRIVATE void shs__px_read_above(const shs__reader *r, shs__panel *panel, size_t x, int count, int k0) {
    size_t used = (size_t)r->view.used, bytes = (size_t)r->kernels->bytes, b, k;
    unsigned char *to = (unsigned char *)panel->X;
    const unsigned char *from = (const unsigned char *)r->above + x * used * bytes;
    memcpy(panel->missing + k0, r->above_missing + x, (size_t)count);
    if (!r->planes) memcpy(to + (size_t)k0 * used * bytes, from, (size_t)count * used * bytes);
    for (b = 0; b < used && r->planes; b++)
        for (k = 0; k < (size_t)count; k++)
            memcpy(to + (b * SHS__PANEL_PIXELS + (size_t)k0 + k) * bytes, from + (k * used + b) * bytes, bytes);
}

/* The second half of a panel whose pixels lie in one line: their neighbours above, or above and to the left. */
SHS__PRIVATE void shs__px_read_neighbours(const shs__reader *r, shs__panel *panel, const unsigned char *mask) {
    size_t samples = (size_t)r->view.samples, aside = r->pairs == SHS__PAIRS_DIAGONAL;
    int count = panel->pixels, k;
    panel->pixels *= 2, panel->valid *= 2;
    memset(panel->missing + count, 0, (size_t)count);
    if (panel->first < samples) shs__px_read_above(r, panel, panel->first - aside, count, count);
    else {
        for (k = 0; k < count && mask; k++) panel->missing[count + k] = *(mask + k - samples - aside) == 0;
        shs__px_read_line(r, panel, shs__px_pixel_at(&r->view, panel->first - samples - aside), count, count);
    }
}

SHS__PRIVATE void shs__px_read_elements(const shs__reader *r, shs__panel *panel, const unsigned char *mask) {
    const shs__view *v = &r->view;
    int k, here;
    for (k = 0; k < panel->pixels; k += here) {
        size_t at = panel->first + (size_t)k;
        here = shs__px_left_in_line(v, at, panel->pixels - k);
        shs__px_read_line(r, panel, shs__px_pixel_at(v, at), here, k);
    }
    if (r->pairs > SHS__PAIRS_RIGHT) shs__px_read_neighbours(r, panel, mask);
    if (v->floating) shs__px_mark_not_finite(r, panel);
    if (shs__px_may_miss(v)) shs__px_close_up(r, panel);
}

/* ---- maps: outputs of pixels, by a matrix ------------------------------------------------------------------ >>map */

/* A worker's scratch for the outputs of a panel. */
typedef struct shs__mapped {
    void *planes;   /* elements: the outputs, each SHS__PANEL_PIXELS after the one before ... */
    void *rows;     /* ... or pixel after pixel, each ldy after the one before */
    void *extremes; /* elements: ldy lows, then as many highs */
    shs_wide *wide; /* SHS__PANEL_PIXELS: one output */
    int cleared;    /* whether rows has been set to zero */
    unsigned char apart[SHS__ALIGN];
} shs__mapped;

typedef struct shs__map {
    const shs__pixels_kernels *kernels;
    int bands, outputs, planes;
    int squares;        /* the output is the squared length of the mapped pixel */
    int ldy;            /* of a row of outputs: up to a whole group */
    void *packed;       /* the matrix in elements, for the kernels: outputs x bands and what fills up the last group */
    int *first;         /* of each output: the first band that is not 0 in it or in one behind it; kernels begin there */
    void *shift;        /* elements: what the reader takes off the pixels */
    shs_wide *constant; /* outputs: what is added to matrix (x - shift) */
    void *added;        /* ldy elements: the constant, and zeros */
    shs__mapped *own; /* one a worker */
} shs__map;

SHS__PRIVATE void shs__px_map_init(shs__map *m, const shs__pixels_kernels *kernels, int bands, int outputs, int planes,
                                   int squares) {
    m->kernels = kernels, m->bands = bands, m->outputs = outputs, m->planes = planes, m->squares = squares;
    m->ldy = shs__la_round_up(outputs, 16);
}

/* In how many pieces a panel is mapped: the next one is fetched with them. */
SHS__PRIVATE int shs__px_map_pieces(const shs__map *m) {
    const shs__pixels_kernels *k = m->kernels;
    if (!m->planes) return SHS__PANEL_PIXELS / k->columns;
    return ((SHS__PANEL_PIXELS / k->lanes - 1) / k->vectors + 1) * ((m->outputs - 1) / k->columns + 1);
}

SHS__PRIVATE void shs__px_map_matrix_layout(shs__layout *l, shs__map *m) {
    const shs__pixels_kernels *k = m->kernels;
    m->packed = SHS__CARVE_ELEMENTS(l, k, shs__layout_product((size_t)m->ldy, (size_t)m->bands, 1));
    m->first = SHS__CARVE(l, int, (size_t)m->outputs);
    m->shift = SHS__CARVE_ELEMENTS(l, k, (size_t)m->bands);
    m->constant = SHS__CARVE(l, shs_wide, (size_t)m->outputs);
    m->added = SHS__CARVE_ELEMENTS(l, k, (size_t)m->ldy);
}

SHS__PRIVATE void shs__px_map_layout(shs__layout *l, shs__map *m, int workers) {
    const shs__pixels_kernels *k = m->kernels;
    size_t ldy = (size_t)m->ldy, cells = shs__layout_product(ldy, SHS__PANEL_PIXELS, 1);
    int i;
    shs__px_map_matrix_layout(l, m);
    m->own = SHS__CARVE(l, shs__mapped, (size_t)workers);
    for (i = 0; i < workers; i++) {
        shs__mapped counted, *own = l->base ? m->own + i : &counted;
        own->planes = SHS__CARVE_ELEMENTS(l, k, cells);
        own->rows = SHS__CARVE_ELEMENTS(l, k, cells);
        own->extremes = SHS__CARVE_ELEMENTS(l, k, 2 * ldy);
        own->wide = SHS__CARVE(l, shs_wide, SHS__PANEL_PIXELS);
        own->cleared = 0;
    }
}

/* The matrix to its place, its elements `next_output` and `next_band` apart: [group][band][lane] where outputs make up vectors
   (spectra), or [tile][band][column] where pixels do (planes). What rounding the centre to an element took away goes to the
   constant. centre, offset: NULL is zero. */
SHS__PRIVATE void shs__px_map_set(shs__map *m, const shs_wide *matrix, ptrdiff_t next_output, ptrdiff_t next_band,
                                  const shs_wide *centre, const shs_wide *offset) {
    const shs__pixels_kernels *k = m->kernels;
    size_t width = (size_t)(m->planes ? k->columns : k->lanes), bands = (size_t)m->bands;
    int b, o;
    memset(m->packed, 0, (size_t)m->ldy * bands * (size_t)k->bytes);
    for (b = 0; b < m->bands; b++) shs__px_put_element(k, m->shift, (size_t)b, centre ? centre[b] : 0);
    for (o = m->outputs - 1; o >= 0; o--) {
        size_t within = (size_t)o % width, at = ((size_t)o - within) * bands + within;
        const shs_wide *row = matrix + o * next_output;
        m->constant[o] = offset ? offset[o] : 0;
        for (b = 0; b < m->bands; b++) {
            shs_wide rounded = shs__px_get_element(k, m->shift, (size_t)b);
            m->constant[o] += row[b * next_band] * (rounded - (centre ? centre[b] : 0));
            shs__px_put_element(k, m->packed, at + (size_t)b * width, row[b * next_band]);
        }
        for (b = 0; b < m->bands - 1 && shs__wabs(row[b * next_band]) <= 0;) b++;
        m->first[o] = o + 1 < m->outputs ? shs__imin(b, m->first[o + 1]) : b;
    }
    for (o = 0; o < m->ldy; o++) shs__px_put_element(k, m->added, (size_t)o, o < m->outputs ? m->constant[o] : 0);
}

/* Groups of the next tile: of four, two and two rather than three and one. */
SHS__PRIVATE int shs__px_tile_groups(int left, int most) { return left == 4 && most == 3 ? 2 : shs__imin(left, most); }

/* Groups of outputs by a kernel's columns of pixels after another: rows, ldy = outputs up to a whole group. Squares: the rows
   are made into their squared lengths at once, own->wide, while they are in the cache. */
SHS__PRIVATE void shs__px_map_spectra(const shs__map *m, shs__panel *panel, shs__mapped *own) {
    const shs__pixels_kernels *k = m->kernels;
    int bands = m->bands, valid = panel->valid, groups = (m->outputs - 1) / k->lanes + 1, pixel, g, n;
    for (pixel = valid; pixel % k->columns; pixel++) /* columns are whole: what follows is read too */
        memset(shs__px_element_at(k, panel->X, (size_t)pixel * (size_t)bands), 0, (size_t)bands * (size_t)k->bytes);
    for (pixel = 0; pixel < valid; pixel += k->columns) {
        void *rows = shs__px_element_at(k, own->rows, m->squares ? 0 : (size_t)pixel * (size_t)m->ldy);
        shs__px_fetch_ahead(&panel->ahead);
        for (g = 0; g < groups; g += n) {
            size_t first = (size_t)m->first[g * k->lanes];
            n = shs__px_tile_groups(groups - g, k->vectors);
            k->tile(n, bands - (int)first,
                    shs__px_element_at(k, m->packed, (size_t)k->lanes * ((size_t)g * (size_t)bands + first)),
                    (ptrdiff_t)bands * k->lanes, k->lanes,
                    shs__px_element_at(k, panel->X, (size_t)pixel * (size_t)bands + first), bands, 1, 0,
                    shs__px_element_at(k, rows, (size_t)g * (size_t)k->lanes), k->lanes, m->ldy);
        }
        if (m->squares)
            k->squares(shs__imin(k->columns, valid - pixel), groups * k->lanes, rows, m->ldy, m->added, own->wide + pixel);
    }
}

/* Groups of pixels by a kernel's columns of outputs after another: planes. */
SHS__PRIVATE void shs__px_map_planes(const shs__map *m, shs__panel *panel, shs__mapped *own) {
    const shs__pixels_kernels *k = m->kernels;
    int groups = (panel->valid - 1) / k->lanes + 1, g, n, o, b;
    for (b = 0; b < m->bands; b++) /* a group is whole: what follows is read too */
        for (o = panel->valid; o % k->lanes; o++)
            shs__px_put_element(k, panel->X, (size_t)b * SHS__PANEL_PIXELS + (size_t)o, 0);
    for (g = 0; g < groups; g += n) {
        n = shs__px_tile_groups(groups - g, k->vectors);
        for (o = 0; o < m->outputs; o += k->columns) {
            size_t first = (size_t)m->first[o];
            shs__px_fetch_ahead(&panel->ahead);
            k->tile(n, m->bands - (int)first,
                    shs__px_element_at(k, panel->X, first * SHS__PANEL_PIXELS + (size_t)(g * k->lanes)), k->lanes,
                    SHS__PANEL_PIXELS,
                    shs__px_element_at(k, m->packed, (size_t)o * (size_t)m->bands + first * (size_t)k->columns), 1,
                    k->columns, 0,
                    shs__px_element_at(k, own->planes, (size_t)o * SHS__PANEL_PIXELS + (size_t)(g * k->lanes)), k->lanes,
                    SHS__PANEL_PIXELS);
        }
    }
}

/* The outputs of the panel's valid pixels, in own->rows or in own->planes. Of squares there is one output: it is in
   own->wide. */
SHS__PRIVATE void shs__px_map_outputs(const shs__map *m, shs__panel *panel, shs__mapped *own, int by_pixel) {
    const shs__pixels_kernels *k = m->kernels;
    int valid = panel->valid;
    if (!own->cleared) memset(own->rows, 0, (size_t)m->ldy * SHS__PANEL_PIXELS * (size_t)k->bytes); /* padding is read too */
    own->cleared = 1;
    if (valid == 0) return;
    if (m->planes) shs__px_map_planes(m, panel, own);
    else shs__px_map_spectra(m, panel, own);
    if (m->planes && (by_pixel || m->squares))
        k->transpose(valid, m->outputs, own->planes, SHS__PANEL_PIXELS, own->rows, m->ldy);
    if (m->planes && m->squares) k->squares(valid, m->outputs, own->rows, m->ldy, m->added, own->wide);
    if (!m->planes && !by_pixel && !m->squares)
        k->transpose(m->outputs, valid, own->rows, m->ldy, own->planes, SHS__PANEL_PIXELS);
}

/* ---- whitened pixels: made, or kept --------------------------------------------------------------------- >>whiten */

/* Whitened pixels are shs_real, in planes. */
typedef struct shs__white {
    shs__map map;          /* the whitening, m x bands */
    shs_real *kept;        /* m planes of each panel; NULL: every pass whitens anew */
    int *valid;            /* pixels of each panel */
    unsigned char *absent; /* one a pixel; NULL: none is */
    size_t panels;
    int filled;            /* the first pass is over: what is kept is there */
} shs__white;

/* Whether whitened pixels come from memory. */
SHS__PRIVATE int shs__px_white_kept(const shs__white *w) { return w && w->kept && w->filled; }

/* A panel, whitened, and kept where pixels are. */
SHS__PRIVATE void shs__px_whiten_panel(shs__white *w, shs__panel *panel, shs__mapped *own) {
    size_t m = (size_t)w->map.outputs, at = panel->first / SHS__PANEL_PIXELS, a;
    shs_real *z = (shs_real *)own->planes;
    shs__px_map_outputs(&w->map, panel, own, 0);
    for (a = 0; a < m && panel->valid > 0; a++, z += SHS__PANEL_PIXELS) {
        shs_real constant = (shs_real)w->map.constant[a];
        int k;
        for (k = 0; k < panel->valid; k++) z[k] += constant;
        for (; k % 16; k++) z[k] = 0; /* whole vectors are read */
    }
    panel->X = own->planes;
    if (!w->kept) return;
    memcpy(w->kept + at * m * SHS__PANEL_PIXELS, own->planes, m * SHS__PANEL_PIXELS * sizeof(shs_real));
    w->valid[at] = panel->valid;
    if (w->absent) memcpy(w->absent + panel->first, panel->missing, (size_t)panel->pixels);
}

/* `count` pixels of the block at hand from `first` on, numbered line by line: the panel that consumers see. */
SHS__PRIVATE void shs__px_read_panel(const shs__reader *r, shs__panel *panel, size_t first, int count) {
    const shs__view *v = &r->view;
    const unsigned char *mask = v->mask ? v->mask + first : NULL;
    const shs__white *w = r->white;
    int k;
    panel->X = panel->own;
    panel->first = first;
    panel->pixels = panel->valid = count;
    memset(panel->missing, 0, (size_t)count);
    if (shs__px_white_kept(w)) {
        size_t at = first / SHS__PANEL_PIXELS;
        panel->X = w->kept + at * (size_t)w->map.outputs * SHS__PANEL_PIXELS;
        panel->valid = w->valid[at];
        if (w->absent) memcpy(panel->missing, w->absent + first, (size_t)count);
        return;
    }
    for (k = 0; k < count && mask; k++) panel->missing[k] = mask[k] == 0;
    if (r->raw) shs__px_read_raw(r, panel);
    else shs__px_read_elements(r, panel, mask);
    if (r->white) shs__px_whiten_panel(r->white, panel, r->white->map.own + (panel - r->panels));
}

/* ---- a pass over all pixels ------------------------------------------------------------------------------- >>pass */

/* A consumer works on panels and knows of no other consumer. Its sums over a chunk of panels are added up in the order of the
   chunks, whichever workers had them; with SHS_REDUCE_MAX the larger ones are taken. */
typedef struct shs__consumer {
    void (*begin)(void *state); /* a block of lines is in memory; NULL: there is nothing to prepare */
    void (*work)(void *state, shs__panel *panel, int worker, shs_wide *sums);
    void (*finish)(void *state, int worker, shs_wide *sums); /* the end of a chunk; NULL: nothing is left to add */
    shs_status (*end)(void *state); /* the block was worked on; NULL: nothing is left to do */
    void *state;
    const char *phase; /* name for the progress callback; NULL: it is not called */
    shs_reduce_op op;
    size_t count;      /* of sums; 0: panels without a valid pixel are worked on too */
    shs_wide *sums;    /* of all pixels */
    shs_wide *chunk_sums; /* SHS__PASS_CHUNKS times as many */
} shs__consumer;

typedef struct shs__pass {
    const shs__reader *reader;
    const shs__consumer *consumer;
    size_t first, count; /* chunks that are worked on together */
    size_t chunk_pixels;
} shs__pass;

/* The memory after the panel of `count` pixels from `at` on, as much again, where pixels lie without gaps. */
SHS__PRIVATE shs__ahead shs__px_next_panel(const shs__reader *r, size_t at, size_t count) {
    const shs__view *v = &r->view;
    size_t next = at + count < r->block_pixels ? shs__zmin(count, r->block_pixels - at - count) : 0;
    shs__ahead ahead = SHS_ZERO;
    if (next == 0 || r->tiles == 0 || v->ls != v->ss * v->samples || v->used < v->bands || r->offset) return ahead;
    if (v->planes ? v->ss != 1 : v->ss != v->bands || v->bs != 1) return ahead;
    ahead.from = v->base + (at + count) * (size_t)v->ss * v->size;
    ahead.bytes = next * v->size * (v->planes ? 1 : (size_t)v->bands);
    ahead.rows = v->planes ? v->bands : 1;
    ahead.stride = v->bs * (ptrdiff_t)v->size;
    if (!v->planes) { /* one row, in pieces; what is left over is fetched when it is read */
        ahead.stride = 512;
        ahead.rows = (int)shs__zmin(ahead.bytes / 512, INT_MAX / 2);
        ahead.bytes = 512;
    }
    ahead.each = (ahead.rows - 1) / r->tiles + 1;
    return ahead;
}

/* The one loop over panels. */
SHS__PRIVATE void shs__px_pass_chunk(void *arg, size_t chunk, int worker) {
    const shs__pass *pass = (const shs__pass *)arg;
    const shs__reader *r = pass->reader;
    const shs__consumer *c = pass->consumer;
    shs__panel *panel = r->panels + worker;
    shs_wide *sums = c->count ? c->chunk_sums + chunk * c->count : NULL;
    size_t at = (pass->first + chunk) * pass->chunk_pixels, end = shs__zmin(r->block_pixels, at + pass->chunk_pixels), i;
    if (c->op == SHS_REDUCE_SUM && c->count) memset(sums, 0, c->count * sizeof *sums);
    for (i = 0; c->op != SHS_REDUCE_SUM && i < c->count; i++) sums[i] = -SHS__WIDE_MAX;
    while (at < end) {
        size_t count = shs__zmin(end - at, SHS__PANEL_PIXELS), next = 0, line = (size_t)r->view.samples;
        if (r->pairs == SHS__PAIRS_RIGHT) {
            count = shs__zmin(shs__zmin(count, SHS__PANEL_PIXELS - 1), line - at % line);
            next = at % line + count < line;
        } else if (r->pairs) {
            int first_line = r->view.first_line == 0 && at < line, first_sample = at % line == 0;
            count = shs__zmin(shs__zmin(count, SHS__PANEL_PIXELS / 2), line - at % line);
            if (first_line || (first_sample && r->pairs == SHS__PAIRS_DIAGONAL)) { /* no neighbour there */
                at += first_line ? count : 1;
                continue;
            }
        }
        panel->ahead = shs__px_next_panel(r, at, count);
        shs__px_read_panel(r, panel, at, (int)(count + next));
        if (panel->valid > 0 || !sums) c->work(c->state, panel, worker, sums);
        at += count;
    }
    if (c->finish) c->finish(c->state, worker, sums);
}

/* Adds some of the chunks' sums to the sums (or takes the larger), in order. */
SHS__PRIVATE void shs__px_collect_chunk(void *arg, size_t chunk, int worker) {
    const shs__pass *pass = (const shs__pass *)arg;
    const shs__consumer *c = pass->consumer;
    size_t from = chunk * SHS__COLLECT_VALUES, to = shs__zmin(from + SHS__COLLECT_VALUES, c->count), k, i;
    (void)worker;
    for (k = 0; k < pass->count; k++) {
        const shs_wide *chunk_sum = c->chunk_sums + k * c->count;
        if (c->op == SHS_REDUCE_SUM)
            for (i = from; i < to; i++) c->sums[i] += chunk_sum[i];
        else
            for (i = from; i < to; i++) c->sums[i] = chunk_sum[i] > c->sums[i] ? chunk_sum[i] : c->sums[i];
    }
}

/* Few large chunks have less to add up; a small block is still cut in pieces for several threads, and so are kept pixels. */
SHS__PRIVATE size_t shs__px_chunk_pixels(const shs__reader *r) {
    size_t large = SHS__LARGE_CHUNK_PANELS * SHS__PANEL_PIXELS, small = SHS__CHUNK_PANELS * SHS__PANEL_PIXELS;
    return !shs__px_white_kept(r->white) && r->block_pixels >= 16 * large ? large : small;
}

/* The last line of the block at hand becomes the one above the next block, pixel after pixel. */
SHS__PRIVATE void shs__px_keep_line(shs__reader *r) {
    size_t samples = (size_t)r->view.samples, used = (size_t)r->view.used, x, count, k, b, bytes = (size_t)r->kernels->bytes;
    shs__pairs pairs = r->pairs;
    r->pairs = SHS__NO_PAIRS;
    for (x = 0; x < samples; x += count) {
        shs__panel *panel = r->panels;
        size_t from = 0;
        count = shs__zmin(SHS__PANEL_PIXELS, samples - x);
        shs__px_read_panel(r, panel, r->block_pixels - samples + x, (int)count);
        memcpy(r->above_missing + x, panel->missing, count);
        for (k = 0; k < count; from += !panel->missing[k], k++) /* what is missing was closed up; its place gets zeros */
            for (b = 0; b < used; b++) {
                unsigned char *to = (unsigned char *)r->above + ((x + k) * used + b) * bytes;
                if (panel->missing[k]) memset(to, 0, bytes);
                else
                    memcpy(to,
                           shs__px_element_at(r->kernels, panel->X, r->planes ? b * SHS__PANEL_PIXELS + from : from * used + b),
                           bytes);
            }
    }
    r->pairs = pairs;
}

/* The pixels of the block at hand. */
SHS__PRIVATE shs_status shs__px_pass_block(const shs_context *ctx, const shs__reader *r, const shs__consumer *c) {
    const shs__view *v = &r->view;
    size_t chunks, done;
    shs_status status = SHS_OK;
    shs__pass pass = SHS_ZERO;
    pass.reader = r, pass.consumer = c, pass.chunk_pixels = shs__px_chunk_pixels(r);
    chunks = shs__ctx_chunks(r->block_pixels, pass.chunk_pixels);
    for (; pass.first < chunks && status == SHS_OK; pass.first += SHS__PASS_CHUNKS) {
        pass.count = shs__zmin(SHS__PASS_CHUNKS, chunks - pass.first);
        shs__ctx_parallel(ctx, (shs_wide)(pass.count * pass.chunk_pixels) * (shs_wide)v->bands, pass.count, shs__px_pass_chunk,
                          &pass);
        if (c->count)
            shs__ctx_parallel(ctx, (shs_wide)pass.count * (shs_wide)c->count, shs__ctx_chunks(c->count, SHS__COLLECT_VALUES),
                              shs__px_collect_chunk, &pass);
        done = (size_t)v->first_line * (size_t)v->samples +
               shs__zmin(r->block_pixels, (pass.first + pass.count) * pass.chunk_pixels);
        if (c->phase) status = shs__ctx_progress(ctx, c->phase, done, (size_t)v->lines * (size_t)v->samples, -1);
    }
    return status;
}

SHS__PRIVATE shs_status shs__px_pass_run(const shs_context *ctx, shs__reader *r, const shs__consumer *c) {
    shs_status status = SHS_OK;
    size_t i;
    r->next_line = 0;
    for (i = 0; i < c->count; i++) c->sums[i] = c->op == SHS_REDUCE_SUM ? 0 : -SHS__WIDE_MAX;
    while (shs__px_next_block(r, &status)) {
        if (c->begin) c->begin(c->state);
        status = shs__px_pass_block(ctx, r, c);
        if (status == SHS_OK && r->above) shs__px_keep_line(r);
        if (status == SHS_OK && c->end) status = c->end(c->state);
    }
    return status;
}

/* ---- products of panels with themselves ------------------------------------------------------------------- >>gram */

/* A worker's scratch for products. */
typedef struct shs__gram_own {
    void *packed;    /* elements: a panel */
    void *scratch;   /* elements: a spectrum, up to whole vectors */
    void *tiles;     /* elements: products of the last panels, not yet in the sums: pending of them */
    shs_wide *words; /* the same from integers, of a whole chunk */
    int pending, has_words;
    unsigned char apart[SHS__ALIGN];
} shs__gram_own;

/* The sums begin with a count; from `at` on they are the products, n x n, the lower triangle. */
typedef struct shs__gram {
    const shs__pixels_kernels *kernels;
    int n;
    size_t at;
    int whole;             /* integers may be multiplied */
    shs__factors factors;  /* what products are formed of */
    shs__gram_own *own;    /* one a worker */
} shs__gram;

/* A tile of the lower triangle of products: `groups` of rows from `group` on by a kernel's columns from `column` on. */
typedef struct shs__tile {
    int column, group, groups;
} shs__tile;

/* Goes on to the next tile, from none where all is 0: down the columns, then to the next ones. Returns 0 behind the last. */
SHS__PRIVATE int shs__px_next_tile(shs__tile *t, int bands, int lanes, int columns, int vectors) {
    int groups = (bands - 1) / lanes + 1;
    t->group += t->groups;
    if (t->group >= groups) t->column += columns, t->group = t->column / lanes;
    t->groups = shs__px_tile_groups(groups - t->group, vectors);
    return t->column < bands;
}

/* Values in all tiles of products of `bands` bands. */
SHS__PRIVATE size_t shs__px_tile_values(int bands, int lanes, int columns) {
    size_t groups = 0;
    shs__tile t = SHS_ZERO;
    if (bands > 1 << 24) return SIZE_MAX / 32; /* no memory has that much room, and the loop would be long */
    while (shs__px_next_tile(&t, bands, lanes, columns, INT_MAX)) groups += (size_t)t.groups;
    return groups * (size_t)columns * (size_t)lanes;
}

/* Packed panels begin as numbers, since groups that are not full are read too. */
SHS__PRIVATE void shs__px_gram_layout(shs__layout *l, shs__gram *g, int workers) {
    const shs__pixels_kernels *k = g->kernels;
    const shs__words_kernels *w = shs__kernels_words();
    size_t whole = shs__ctx_chunks((size_t)g->n, 16) * 16, packed = shs__layout_product(whole, SHS__PANEL_PIXELS, 1);
    int i;
    g->own = SHS__CARVE(l, shs__gram_own, (size_t)workers);
    for (i = 0; i < workers; i++) {
        shs__gram_own counted, *own = l->base ? g->own + i : &counted;
        own->packed = SHS__CARVE_ELEMENTS(l, k, packed);
        own->scratch = SHS__CARVE_ELEMENTS(l, k, whole);
        own->tiles = SHS__CARVE_ELEMENTS(l, k, shs__px_tile_values(g->n, k->lanes, k->columns));
        own->words =
            SHS__CARVE(l, shs_wide, g->whole ? shs__px_tile_values(g->n, w->words, w->columns) + SHS__TILE_WORDS : 0);
        own->pending = own->has_words = 0;
        if (l->base) memset(own->packed, 0, packed * (size_t)k->bytes);
    }
}

/* The products of the packed panel. Where an element is a float they are summed as such over SHS__PANELS_A_SUM panels and then
   in shs_wide. */
SHS__PRIVATE void shs__px_gram_panel(const shs__gram *g, shs__gram_own *own, int depth, shs__ahead *ahead, shs_wide *sums) {
    const shs__pixels_kernels *k = g->kernels;
    const size_t lanes = (size_t)k->lanes, apart = SHS__PANEL_PIXELS * lanes;
    void *products = own->tiles;
    shs__tile t = SHS_ZERO;
    while (shs__px_next_tile(&t, g->n, k->lanes, k->columns, k->vectors)) {
        size_t column = (size_t)t.column;
        shs__px_fetch_ahead(ahead);
        k->tile(t.groups, depth, shs__px_given_at(k, own->packed, (size_t)t.group * apart), (ptrdiff_t)apart, k->lanes,
                shs__px_given_at(k, own->packed, column / lanes * apart + column % lanes), lanes > 1 ? 1 : (ptrdiff_t)apart,
                k->lanes, own->pending > 0, products, (ptrdiff_t)k->columns * k->lanes, k->lanes);
        products = shs__px_element_at(k, products, (size_t)(t.groups * k->columns) * lanes);
    }
    own->pending++;
    if (k->bytes == 8 || own->pending < SHS__PANELS_A_SUM) return;
    k->flush(g->n, own->tiles, sums + g->at);
    own->pending = 0;
}

/* P (lower triangle) += the tiles of words. Where the rows' factors were bytes as they are and the columns' bytes less 128,
   subtract 128 times the columns' sums. */
SHS__PRIVATE void shs__px_flush_words(const shs__words_kernels *k, int bands, const shs_wide *C, int bytes, const shs_wide *sum,
                                      shs_wide *P) {
    int column, row, j, i, last;
    for (column = 0; column < bands; column += k->columns)
        for (row = column - column % k->words; row < bands; row += k->words)
            for (last = shs__imin(row + k->words, bands), j = column; j < column + k->columns; j++, C += k->words)
                for (i = shs__imax(row, j); i < last && j < bands; i++)
                    *SHS__AT(P, bands, i, j) += C[i - row] - (bytes ? 128 * sum[j] : 0);
}

/* Flushes what is left at the end of a chunk. The state of a consumer that forms products begins with its shs__gram. */
SHS__PRIVATE void shs__px_gram_finish(void *state, int worker, shs_wide *sums) {
    const shs__gram *g = (const shs__gram *)state;
    const shs__words_kernels *w = shs__kernels_words();
    shs__gram_own *own = g->own + worker;
    if (own->pending) g->kernels->flush(g->n, own->tiles, sums + g->at);
    if (own->has_words)
        shs__px_flush_words(w, g->n, own->words, g->factors == SHS__QUADS && !w->quads_signed, sums + 1, sums + g->at);
    own->pending = own->has_words = 0;
}

/* Packs planes: band b at X + b SHS__PANEL_PIXELS. */
SHS__PRIVATE void shs__px_pack_planes(const shs__pixels_kernels *k, int bands, int pixels, const void *X, void *packed) {
    size_t apart = SHS__PANEL_PIXELS * (size_t)k->lanes;
    int b;
    for (b = 0; b < bands; b += k->lanes, packed = shs__px_element_at(k, packed, apart), X = shs__px_given_at(k, X, apart)) {
        if (bands - b < k->lanes) memset(packed, 0, (size_t)pixels * (size_t)k->lanes * (size_t)k->bytes);
        k->transpose(pixels, shs__imin(k->lanes, bands - b), X, SHS__PANEL_PIXELS, packed, k->lanes);
    }
}

/* ---- consumers: moments and noise ----------------------------------------------------------------- >>moments_sums */

/* Sums: the number of pixels, n of x - shift, the lower triangle of n x n products. */
typedef struct shs__moments_job {
    shs__gram gram;
    shs__reader reader;
    shs__consumer consumer;
    shs_real *shift;        /* what is taken off the pixels */
    shs_wide *wide_shift;   /* the same */
    void *element_shift;    /* one of them; raw panels are not shifted when they are read */
    int32_t *whole_shift;   /* the same where it is whole, up to a whole vector */
    int known;              /* whether there is a shift yet */
    unsigned char *instead; /* a spectrum that is the shift, in place of missing ones */
} shs__moments_job;

/* Whether the processor has the dot products of four bytes, and of pairs without a further addition, where they are known. */
SHS__PRIVATE int shs__dots_there(void) {
    int there = shs__kernels_words()->pack_quads != NULL;
#if defined(SHS__INTRINSICS) && defined(SHS__X64)
    return there && (shs__x86_cpu() & SHS__CPU_VNNI);
#elif defined(SHS__SIMD) && (defined(__x86_64__) || defined(__i386__))
    return there && __builtin_cpu_supports("avx512vnni");
#else
    return there;
#endif
}

/* Whether integers may be multiplied. */
SHS__PRIVATE int shs__px_whole_possible(shs_type type) {
    if (type == SHS_TYPE_U8 && shs__dots_there()) return 1;
    return (type == SHS_TYPE_U8 || type == SHS_TYPE_I16 || type == SHS_TYPE_U16) && shs__kernels_words()->pack_pairs;
}

/* Sums and products of integers. Returns 0 where differences from the shift are too large for them. Groups of words are `apart`
   words apart, the columns' factors `second` words further on. */
SHS__PRIVATE int shs__px_whole_moments(const shs__moments_job *job, shs__panel *panel, shs__gram_own *own, shs_wide *sum) {
    const shs__words_kernels *k = shs__kernels_words();
    int used = job->gram.n, quads = job->gram.factors == SHS__QUADS, a_word = quads ? 4 : 2, words, most, i;
    int32_t *packed = (int32_t *)(void *)own->packed, *room;
    shs_wide *products = own->words;
    size_t values = shs__px_tile_values(used, k->words, k->columns);
    size_t apart = SHS__PANEL_PIXELS / (size_t)a_word * (size_t)k->words;
    size_t second = quads ? apart * (size_t)((used - 1) / k->words + 1) : 0;
    shs__tile t = SHS_ZERO;
    for (i = 0; i < panel->pixels; i++)
        if (panel->missing[i]) panel->spectrum[i] = job->instead;
    for (; i % a_word; i++) panel->spectrum[i] = job->instead;
    words = most = i / a_word;
    if (!own->has_words) memset(own->words, 0, values * sizeof(shs_wide));
    own->has_words = 1;
    if (quads) {
        k->pack_quads(used, i, panel->spectrum, packed, apart, second);
        k->sum(SHS__QUADS, used, words, packed + second, apart, sum);
        if (k->quads_signed) packed += second, second = 0;
    } else {
        int64_t size = k->pack_pairs(job->reader.view.cube->type, used, i, panel->spectrum, job->whole_shift, packed, apart);
        int64_t exact = size > INT16_MAX ? 0 : INT32_MAX / (2 * size * size); /* words whose sums fit 32 bits */
        if (exact < SHS__LEAST_WORDS) return 0;
        if (exact < words) most = (int)exact;
        k->sum(job->gram.factors, used, words, packed, apart, sum);
    }
    room = (int32_t *)(void *)(own->words + values); /* of a tile */
    while (shs__px_next_tile(&t, used, k->words, k->columns, k->vectors)) {
        const int32_t *a = packed + (size_t)t.group * apart;
        const int32_t *b = packed + second + (size_t)(t.column / k->words) * apart + (size_t)(t.column % k->words);
        shs__px_fetch_ahead(&panel->ahead);
        k->gram(job->gram.factors, t.groups, words, most, a, b, (ptrdiff_t)apart, room, products);
        products += t.groups * k->columns * k->words;
    }
    return 1;
}

/* Sums and products of elements. What is missing in a panel that is not raw has been closed up. */
SHS__PRIVATE void shs__px_real_moments(const shs__moments_job *job, shs__panel *panel, shs__gram_own *own, shs_wide *sums) {
    const shs__reader *r = &job->reader;
    const shs__pixels_kernels *k = r->kernels;
    size_t apart = SHS__PANEL_PIXELS * (size_t)k->lanes, i;
    if (!r->raw) {
        panel->pixels = panel->valid;
        memset(panel->missing, 0, (size_t)panel->pixels);
        for (i = 0; i < (size_t)panel->pixels && !r->planes; i++)
            panel->spectrum[i] = (const unsigned char *)shs__px_element_at(k, panel->X, i * (size_t)job->gram.n);
    }
    if (r->planes && !r->raw) shs__px_pack_planes(k, job->gram.n, panel->pixels, panel->X, own->packed);
    else
        k->pack(r->raw ? shs__px_element_type(k, r->view.cube->type) : SHS_TYPE_REAL, job->gram.n, panel->pixels,
                panel->spectrum, r->raw ? job->element_shift : r->zeros, panel->missing, own->scratch, own->packed, apart);
    k->sums(job->gram.n, panel->pixels, own->packed, apart, sums + 1);
    shs__px_gram_panel(&job->gram, own, panel->pixels, &panel->ahead, sums);
}

SHS__PRIVATE void shs__px_moments_panel(void *state, shs__panel *panel, int worker, shs_wide *sums) {
    const shs__moments_job *job = (const shs__moments_job *)state;
    shs__gram_own *own = job->gram.own + worker;
    int k;
    sums[0] += (shs_wide)(job->reader.raw ? panel->pixels : panel->valid);
    if (job->gram.factors == SHS__REALS || !shs__px_whole_moments(job, panel, own, sums + 1))
        shs__px_real_moments(job, panel, own, sums);
    for (k = 0; k < panel->pixels && job->reader.raw; k++) sums[0] -= panel->missing[k];
}

/* Pixels less their neighbours, where both are valid, in place of the pixels. What is missing has been closed up, so that
   pixel k is at i, and its neighbour, which was read `apart` later, at j. */
SHS__PRIVATE void shs__px_noise_panel(void *state, shs__panel *panel, int worker, shs_wide *sums) {
    const shs__moments_job *job = (const shs__moments_job *)state;
    size_t used = (size_t)job->gram.n, b, i = 0, j = 0, pairs = 0;
    int k, planes = job->reader.planes, apart = job->reader.pairs == SHS__PAIRS_RIGHT ? 1 : panel->pixels / 2;
    for (k = 0; k < apart; k++) j += !panel->missing[k];
    for (k = 0; k + apart < panel->pixels; k++) {
        if (!panel->missing[k] && !panel->missing[k + apart]) {
            shs_wide *X = (shs_wide *)panel->X, *d = X + pairs * used;
            if (!planes) job->reader.kernels->convert(SHS_TYPE_REAL, (int)used, X + i * used, X + j * used, 1, d);
            for (b = 0; b < used && planes; b++, X += SHS__PANEL_PIXELS) X[pairs] = X[i] - X[j];
            pairs++;
        }
        i += !panel->missing[k], j += !panel->missing[k + apart];
    }
    panel->valid = (int)pairs;
    sums[0] += (shs_wide)pairs;
    if (pairs > 0) shs__px_real_moments(job, panel, job->gram.own + worker, sums);
}

/* A mean as a shift. For 16-bit pixels it is rounded to 1/64, so that x - shift is exact in float; 8 bits take 128, so that
   sums stay integers. */
SHS__PRIVATE shs_real shs__px_shift_of(shs_type type, shs_wide mean) {
    if (type == SHS_TYPE_U8) return 128;
    if (type == SHS_TYPE_I16 || type == SHS_TYPE_U16) return (shs_real)((shs_wide)(int32_t)(mean * 64) / 64);
    return (shs_real)mean;
}

/* The shift: from the mean of the first valid pixels of the block, which the reader does not shift yet. 0 where the block has
   no valid pixel. */
SHS__PRIVATE int shs__px_find_shift(const shs__reader *r, shs_real *shift) {
    shs__panel *panel = r->panels;
    int used = r->view.used, b, k;
    size_t at;
    memset(shift, 0, (size_t)used * sizeof(shs_real));
    for (panel->valid = 0, at = 0; at < r->block_pixels && panel->valid == 0; at += SHS__PANEL_PIXELS)
        shs__px_read_panel(r, panel, at, (int)shs__zmin(SHS__PANEL_PIXELS, r->block_pixels - at));
    for (b = 0; b < used && panel->valid > 0; b++) {
        shs__sum sum = SHS_ZERO;
        for (k = 0; k < panel->valid; k++)
            shs__sum_add(&sum, shs__px_get_element(r->kernels, panel->X,
                                                   r->planes ? (size_t)b * SHS__PANEL_PIXELS + (size_t)k
                                                          : (size_t)k * (size_t)used + (size_t)b));
        shift[b] = shs__px_shift_of(r->view.cube->type, shs__sum_value(&sum) / (shs_wide)panel->valid);
    }
    return panel->valid > 0;
}

/* How the pixels of the block at hand are read and multiplied: as integers where the shift is whole. */
SHS__PRIVATE void shs__px_choose_factors(shs__moments_job *job) {
    shs__reader *r = &job->reader;
    const shs_real *shift = job->shift;
    shs_type type = r->view.cube->type;
    int b, used = r->view.used;
    for (b = 0; b < used; b++) job->wide_shift[b] = (shs_wide)shift[b];
    r->shift = job->element_shift;
    r->raw = shs__px_spectra_lie_ready(r);
    job->gram.factors = SHS__REALS;
    if (!job->gram.whole) return;
    for (b = 0; b < used; b++) {
        if (!(shift[b] >= (type == SHS_TYPE_I16 ? -32768 : 0) && shift[b] <= (type == SHS_TYPE_I16 ? 32767 : 65535))) return;
        if (type == SHS_TYPE_U8 && shift[b] != 128) return;
        job->whole_shift[b] = (int32_t)shift[b];
        if ((shs_real)job->whole_shift[b] != shift[b]) return;
        if (type == SHS_TYPE_U8) job->instead[b] = 128;
        else { /* its low 16 bits are those of either type */
            uint16_t bits = (uint16_t)(job->whole_shift[b] & 0xffff);
            memcpy(job->instead + 2 * b, &bits, 2);
        }
    }
    for (; b % 16; b++) job->whole_shift[b] = 0;
    r->raw = 1; /* spectra that do not lie ready are brought side by side */
    job->gram.factors = !shs__dots_there() ? SHS__PAIRS : type == SHS_TYPE_U8 ? SHS__QUADS : SHS__PAIRS_VNNI;
}

/* A block is in memory: where the shift is not known yet, it is found here if a pixel is valid. */
SHS__PRIVATE void shs__px_moments_begin(void *state) {
    shs__moments_job *job = (shs__moments_job *)state;
    shs__reader *r = &job->reader;
    int b;
    if (!job->known) {
        r->shift = r->zeros, r->raw = 0;
        job->known = shs__px_find_shift(r, job->shift);
        for (b = 0; b < r->view.used && job->gram.whole; b++) job->shift[b] = (shs_real)(int32_t)job->shift[b];
    }
    shs__px_choose_factors(job);
}

/* Of the pixels, or of the differences of neighbours. */
SHS__PRIVATE void shs__px_moments_job_init(shs__moments_job *job, const shs__view *v, int wide, shs__pairs pairs) {
    size_t used = (size_t)v->used;
    memset(job, 0, sizeof *job);
    shs__px_reader_init(&job->reader, v, wide);
    job->reader.pairs = pairs;
    job->reader.tiles = shs__imax(v->used / 4, 1);
    job->gram.kernels = job->reader.kernels, job->gram.n = v->used, job->gram.at = 1 + used;
    job->gram.whole = !pairs && shs__px_whole_possible(v->cube->type);
    job->consumer.begin = pairs ? NULL : shs__px_moments_begin;
    job->consumer.work = pairs ? shs__px_noise_panel : shs__px_moments_panel;
    job->consumer.finish = shs__px_gram_finish;
    job->consumer.state = job, job->consumer.phase = pairs ? "noise" : "moments";
    job->consumer.count = 1 + used + used * used;
}

SHS__PRIVATE void shs__px_moments_job_layout(shs__layout *l, shs__moments_job *job, int workers) {
    size_t used = (size_t)job->gram.n, whole = job->gram.whole ? used : 0;
    shs__px_reader_layout(l, &job->reader, workers);
    shs__px_gram_layout(l, &job->gram, workers);
    job->shift = SHS__CARVE(l, shs_real, used);
    job->wide_shift = SHS__CARVE(l, shs_wide, used);
    job->element_shift = job->gram.kernels->bytes == (int)sizeof(shs_real) ? (void *)job->shift : (void *)job->wide_shift;
    job->whole_shift = SHS__CARVE(l, int32_t, shs__ctx_chunks(whole, 16) * 16);
    job->instead = SHS__CARVE(l, unsigned char, 2 * whole);
    job->consumer.chunk_sums = SHS__CARVE(l, shs_wide, shs__layout_product(job->consumer.count, SHS__PASS_CHUNKS, 1));
    job->consumer.sums = SHS__CARVE(l, shs_wide, job->consumer.count);
}

/* ---- consumers: maps, into a writer, and their extremes ------------------------------------------------- >>writer */

/* Values of one output to their places in the sink, `step` values apart. Integer types round half away from zero. */
#define SHS__STORE_VALUES(to_type, whole, least, most)                                                                 \
    {                                                                                                                  \
        to_type *to = (to_type *)(void *)at;                                                                           \
        for (k = i = 0; k < pixels; k++) {                                                                             \
            shs_wide x = missing[k] ? absent : value[i];                                                               \
            i += !missing[k];                                                                                          \
            if (whole) x = x >= 0 ? x + (shs_wide)0.5 : x - (shs_wide)0.5;                                             \
            if (!whole || (x < (shs_wide)(most) && x > (shs_wide)(least))) to[k * step] = (to_type)x;                  \
            else to[k * step] = x >= (shs_wide)(most) ? (to_type)(most) : (to_type)(least);                            \
        }                                                                                                              \
    }                                                                                                                  \
    break;

SHS__PRIVATE void shs__store_values(shs_type type, int pixels, const shs_wide *value, const unsigned char *missing,
                                    shs_wide absent, unsigned char *at, ptrdiff_t step) {
    ptrdiff_t k, i;
    switch (type) {
    case SHS_TYPE_U8: SHS__STORE_VALUES(uint8_t, 1, 0, 255)
    case SHS_TYPE_I16: SHS__STORE_VALUES(int16_t, 1, -32768, 32767)
    case SHS_TYPE_U16: SHS__STORE_VALUES(uint16_t, 1, 0, 65535)
    case SHS_TYPE_I32: SHS__STORE_VALUES(int32_t, 1, INT32_MIN, INT32_MAX)
    case SHS_TYPE_U32: SHS__STORE_VALUES(uint32_t, 1, 0, UINT32_MAX)
    case SHS_TYPE_F32: SHS__STORE_VALUES(float, 0, 0, 0)
#ifndef SPARSEHS_NO_DOUBLE
    case SHS_TYPE_F64: SHS__STORE_VALUES(double, 0, 0, 0)
#endif
    default: SHS__STORE_VALUES(shs_real, 0, 0, 0)
    }
}

/* A quiet NaN, made from its bits. */
SHS__PRIVATE shs_wide shs__nan(void) {
    shs_wide x;
#ifdef SPARSEHS_NO_DOUBLE
    uint32_t bits = (uint32_t)0x7fc00000;
#else
    uint64_t bits = (uint64_t)0x7ff8 << 48;
#endif
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Where outputs go, and how: scaled, clamped, of the sink's type and interleave. */
typedef struct shs__writer {
    const shs_sink *sink;
    int bands, samples;
    unsigned char *block; /* of an output stream */
    unsigned char *base;  /* where the block at hand goes */
    ptrdiff_t ss, ls, bs;
    shs_wide missing;     /* what missing pixels get */
    shs_wide *low, *high;  /* bands: their extremes, where the sink rescales */
    shs_wide *range, *old; /* bands: for the scaling */
    shs__scaling scaling;
} shs__writer;

/* What missing pixels become. */
SHS__PRIVATE shs_wide shs__px_missing_value(const shs_cube *cube, const shs_sink *sink) {
    if (sink->has_nodata) return sink->nodata;
    if (cube->has_nodata) return cube->nodata;
    return sink->type == SHS_TYPE_F32 || sink->type == SHS_TYPE_F64 || sink->type == SHS_TYPE_REAL ? shs__nan() : 0;
}

SHS__PRIVATE void shs__px_writer_layout(shs__layout *l, shs__writer *w, const shs__view *v) {
    size_t line = shs__layout_product((size_t)v->samples, (size_t)w->bands, shs_type_size(w->sink->type));
    w->block = w->sink->pixels ? NULL : SHS__CARVE(l, unsigned char, shs__layout_product(line, (size_t)v->block_lines, 1));
    w->low = SHS__CARVE(l, shs_wide, (size_t)w->bands);
    w->high = SHS__CARVE(l, shs_wide, (size_t)w->bands);
    w->range = SHS__CARVE(l, shs_wide, (size_t)w->bands);
    w->old = SHS__CARVE(l, shs_wide, (size_t)w->bands);
}

/* Stretches as i.pca does: new range * (value - low) / old range + new low; a constant output becomes the new low. */
SHS__PRIVATE void shs__px_writer_scale(shs__writer *w, const shs_wide *constant) {
    shs__scaling *s = &w->scaling;
    int o;
    s->rescale = w->sink->rescale;
    s->base = w->sink->low;
    s->constant = constant, s->low = w->low, s->range = w->range, s->old = w->old;
    for (o = 0; o < w->bands && s->rescale; o++) {
        shs_wide old = w->high[o] - w->low[o];
        w->range[o] = old > 0 ? w->sink->high - w->sink->low : 0;
        w->old[o] = old > 0 ? old : 1;
    }
}

/* Where output o of a pixel of the block goes. */
SHS__PRIVATE unsigned char *shs__px_place(const shs__writer *w, size_t pixel, int o) {
    size_t line = pixel / (size_t)w->samples, sample = pixel % (size_t)w->samples;
    return w->base +
           ((ptrdiff_t)line * w->ls + (ptrdiff_t)sample * w->ss + o * w->bs) * (ptrdiff_t)shs_type_size(w->sink->type);
}

/* A map for each class of pixels, which share the scratch of the job's own. */
typedef struct shs__classes {
    const int *labels; /* of each pixel of the cube */
    shs__map *maps;
    shs_wide *scores; /* SHS__PANEL_PIXELS for each worker */
    int count;
} shs__classes;

typedef struct shs__map_job {
    shs__reader reader;
    shs__map map;
    const shs__classes *classes; /* NULL: one map for all pixels */
    shs__writer writer;
    shs__consumer consumer;
} shs__map_job;

/* The squared length of each pixel, mapped as its class says: a map for each class that is in the panel. */
SHS__PRIVATE void shs__px_class_outputs(const shs__map_job *job, shs__panel *panel, int worker) {
    const shs__classes *c = job->classes;
    const shs__view *v = &job->reader.view;
    const int *label = c->labels + (size_t)v->first_line * (size_t)v->samples + panel->first;
    shs__mapped *own = job->map.own + worker;
    shs_wide *scores = c->scores + (size_t)worker * SHS__PANEL_PIXELS;
    int k, i, j, last = -1;
    for (k = 0; k < panel->pixels; k++) {
        if (panel->missing[k] || label[k] == last) continue;
        last = label[k];
        for (i = 0; i < k && (panel->missing[i] || label[i] != last);) i++;
        if (i < k) continue; /* done before */
        shs__px_map_outputs(c->maps + last, panel, own, 0);
        for (i = j = 0; i < panel->pixels; j += !panel->missing[i], i++)
            if (!panel->missing[i] && label[i] == last) scores[j] = own->wide[j];
    }
    memcpy(own->wide, scores, (size_t)panel->valid * sizeof *scores);
}

/* Outputs of the panel's valid pixels: see shs__px_map_outputs. */
SHS__PRIVATE void shs__px_job_outputs(const shs__map_job *job, shs__panel *panel, int worker, int by_pixel) {
    if (job->classes) shs__px_class_outputs(job, panel, worker);
    else shs__px_map_outputs(&job->map, panel, job->map.own + worker, by_pixel);
}

/* Pixel after pixel, where the sink has outputs side by side, or few. */
SHS__PRIVATE void shs__px_write_rows(const shs__map_job *job, const shs__panel *panel, const void *Y) {
    const shs__writer *w = &job->writer;
    const shs__pixels_kernels *kernels = job->map.kernels;
    static const unsigned char is_missing = 1;
    shs_type type = shs__px_element_type(kernels, w->sink->type);
    ptrdiff_t size = (ptrdiff_t)shs_type_size(w->sink->type);
    shs__scaling each = w->scaling;
    unsigned char *at = NULL;
    int k, o, left = 0;
    each.each = 1;
    for (k = 0; k < panel->pixels; k++, left--, at += w->ss * size) {
        if (left == 0) {
            at = shs__px_place(w, panel->first + (size_t)k, 0);
            left = w->samples - (int)((panel->first + (size_t)k) % (size_t)w->samples);
        }
        if (panel->missing[k])
            for (o = 0; o < w->bands; o++)
                shs__store_values(w->sink->type, 1, NULL, &is_missing, w->missing, at + o * size, 1);
        else {
            kernels->store(type, w->bands, Y, &each, at);
            Y = shs__px_given_at(kernels, Y, (size_t)job->map.ldy);
        }
    }
}

/* One output of the panel's pixels, span by span within lines: stored by kernels, or scaled here first. */
SHS__PRIVATE void shs__px_write_plane(const shs__map_job *job, const shs__panel *panel, shs__mapped *own, int o, int quick) {
    const shs__writer *w = &job->writer;
    const shs__pixels_kernels *kernels = job->map.kernels;
    const void *y = shs__px_given_at(kernels, own->planes, (size_t)o * SHS__PANEL_PIXELS);
    const shs_wide *value = own->wide;
    shs_type type = w->sink->type;
    shs__scaling one = w->scaling;
    static const shs_wide nothing = 0;
    int squares = job->map.squares, k, n;
    one.constant = squares ? &nothing : one.constant + o; /* squares have their constant already */
    if (one.rescale) one.low += o, one.range += o, one.old += o;
    for (k = 0; k < panel->valid && !quick; k++)
        own->wide[k] = shs__px_scaled(&one, 0, squares ? own->wide[k] : shs__px_get_element(kernels, y, (size_t)k));
    for (k = 0; k < panel->pixels; k += n) {
        size_t pixel = panel->first + (size_t)k;
        int most = shs__imin(panel->pixels - k, w->samples - (int)(pixel % (size_t)w->samples)), missing = panel->missing[k];
        unsigned char *at = shs__px_place(w, pixel, o);
        for (n = 1; n < most && panel->missing[k + n] == missing; n++) {}
        if (missing || !quick) shs__store_values(type, n, value, panel->missing + k, w->missing, at, w->ss);
        else kernels->store(shs__px_element_type(kernels, type), n, y, &one, at), y = shs__px_given_at(kernels, y, (size_t)n);
        value += missing ? 0 : n;
    }
}

SHS__PRIVATE void shs__px_map_panel(void *state, shs__panel *panel, int worker, shs_wide *sums) {
    const shs__map_job *job = (const shs__map_job *)state;
    const shs__writer *w = &job->writer;
    shs__mapped *own = job->map.own + worker;
    int quick = !job->map.squares && shs__px_kernels_take(job->map.kernels, w->sink->type), o;
    int by_pixel = quick && (w->ss != 1 || (w->bs == 1 && w->bands == 1));
    (void)sums;
    shs__px_job_outputs(job, panel, worker, by_pixel);
    if (by_pixel) shs__px_write_rows(job, panel, own->rows);
    for (o = 0; o < w->bands && !by_pixel; o++) shs__px_write_plane(job, panel, own, o, quick);
}

/* Extremes of an output: the larger of what there was and -low, high. */
SHS__PRIVATE void shs__px_widen(shs_wide low, shs_wide high, shs_wide *minus_low, shs_wide *most) {
    if (-low > *minus_low) *minus_low = -low;
    if (high > *most) *most = high;
}

/* The first pass of rescaling: -low of every output, then high. They are found among elements: rounding what is added to them
   later keeps their order. */
SHS__PRIVATE void shs__px_range_panel(void *state, shs__panel *panel, int worker, shs_wide *sums) {
    const shs__map *m = &((const shs__map_job *)state)->map;
    const shs__pixels_kernels *k = m->kernels;
    shs__mapped *own = m->own + worker;
    void *low = own->extremes, *high = shs__px_element_at(k, low, (size_t)m->ldy);
    shs_wide largest = k->bytes == (int)sizeof(shs_wide) ? SHS__WIDE_MAX : (shs_wide)SHS__REAL_MAX;
    int planes = m->planes, width = planes ? k->lanes : m->outputs, valid = panel->valid, pass, o, i;
    shs__px_job_outputs((const shs__map_job *)state, panel, worker, !planes);
    for (i = 0; i < valid && m->squares; i++) shs__px_widen(own->wide[i], own->wide[i], sums, sums + 1);
    if (m->squares) return;
    for (pass = 0; pass < (planes ? m->outputs : 1); pass++) { /* a plane is rows of `lanes` pixels, filled up with its first */
        void *values = planes ? shs__px_element_at(k, own->planes, (size_t)pass * SHS__PANEL_PIXELS) : own->rows;
        for (i = valid; planes && i % k->lanes; i++)
            shs__px_put_element(k, values, (size_t)i, shs__px_get_element(k, values, 0));
        for (i = 0; i < m->ldy; i++) {
            shs__px_put_element(k, low, (size_t)i, largest);
            shs__px_put_element(k, high, (size_t)i, -largest);
        }
        k->range(planes ? (valid - 1) / k->lanes + 1 : valid, width, values, planes ? k->lanes : m->ldy, low, high);
        for (i = 0; i < width; i++) {
            o = planes ? pass : i;
            shs__px_widen(m->constant[o] + shs__px_get_element(k, low, (size_t)i),
                          m->constant[o] + shs__px_get_element(k, high, (size_t)i), sums + o, sums + m->outputs + o);
        }
    }
}

SHS__PRIVATE void shs__px_map_job_init(shs__map_job *job, const shs__view *v, const shs_pixel_map *map, int wide, int squares,
                                       const shs_sink *sink) {
    memset(job, 0, sizeof *job);
    shs__px_reader_init(&job->reader, v, wide);
    shs__px_map_init(&job->map, job->reader.kernels, map->bands, map->outputs, v->planes, squares);
    job->reader.tiles = shs__px_map_pieces(&job->map);
    job->writer.bands = squares ? 1 : map->outputs;
    job->writer.sink = sink;
    job->writer.missing = shs__px_missing_value(v->cube, sink);
    job->consumer.state = job;
}

SHS__PRIVATE void shs__px_map_job_layout(shs__layout *l, shs__map_job *job, int workers) {
    size_t extremes = job->writer.sink->rescale ? 2 * (size_t)job->writer.bands : 0;
    shs__px_reader_layout(l, &job->reader, workers);
    shs__px_map_layout(l, &job->map, workers);
    shs__px_writer_layout(l, &job->writer, &job->reader.view);
    job->consumer.chunk_sums = SHS__CARVE(l, shs_wide, shs__layout_product(extremes, SHS__PASS_CHUNKS, 1));
    job->consumer.sums = SHS__CARVE(l, shs_wide, extremes);
}

/* Low and high of every output, to the writer. */
SHS__PRIVATE shs_status shs__px_cpu_range(const shs_context *ctx, shs__map_job *job) {
    shs__consumer *c = &job->consumer;
    int o, bands = job->writer.bands;
    shs_status status;
    c->work = shs__px_range_panel, c->phase = "range", c->op = SHS_REDUCE_MAX, c->count = 2 * (size_t)bands;
    status = shs__px_pass_run(ctx, &job->reader, c);
    for (o = 0; o < bands; o++) job->writer.low[o] = -c->sums[o], job->writer.high[o] = c->sums[bands + o];
    return status;
}

/* Where the block of lines at hand goes. */
SHS__PRIVATE void shs__px_map_begin(void *state) {
    shs__writer *w = &((shs__map_job *)state)->writer;
    const shs__view *v = &((shs__map_job *)state)->reader.view;
    int lines = w->sink->pixels ? v->lines : v->count_lines;
    ptrdiff_t size = (ptrdiff_t)shs_type_size(w->sink->type);
    w->samples = v->samples;
    shs__px_interleave_strides(w->sink->interleave, v->samples, lines, w->bands, &w->ss, &w->ls, &w->bs);
    w->base = w->sink->pixels ? (unsigned char *)w->sink->pixels + v->first_line * w->ls * size : w->block;
}

/* A block of a stream is written as soon as it is mapped. */
SHS__PRIVATE shs_status shs__px_map_end(void *state) {
    const shs__map_job *job = (const shs__map_job *)state;
    const shs__view *v = &job->reader.view;
    const shs_sink *sink = job->writer.sink;
    if (sink->pixels) return SHS_OK;
    return sink->write_fn(sink->write_user, v->first_line, v->count_lines, job->writer.block) ? SHS_WRITE_FAILED : SHS_OK;
}

SHS__PRIVATE shs_status shs__px_cpu_map(const shs_context *ctx, shs__map_job *job, const char *phase) {
    shs__consumer *c = &job->consumer;
    c->begin = shs__px_map_begin, c->work = shs__px_map_panel, c->end = shs__px_map_end, c->phase = phase, c->count = 0;
    shs__px_writer_scale(&job->writer, job->map.constant);
    return shs__px_pass_run(ctx, &job->reader, c);
}

/* ---- consumers of whitened pixels: fourth moments, sweeps, ratings, sources ----------------------------- >>sweeps */

/* The CPU's side of whitened pixels: the reader, which whitens, and a map for what becomes of whitened pixels, Y = W'Z. */
typedef struct shs__whitened {
    shs__gram gram; /* of the fourth moments */
    shs__map_job job;
    shs__white white;
    shs_contrast contrast;
    shs_real *products; /* z_a z_b: as many panels for each worker */
    shs_wide *sums;     /* of a pass */
    shs_wide *chunk_sums;
} shs__whitened;

/* panels: of pixels that are kept. */
SHS__PRIVATE void shs__px_whitened_init(shs__whitened *w, const shs__view *v, int m, int fourth, size_t panels) {
    memset(w, 0, sizeof *w);
    shs__px_reader_init(&w->job.reader, v, 0);
    w->job.reader.white = &w->white;
    w->white.panels = panels;
    shs__px_map_init(&w->white.map, w->job.reader.kernels, v->used, m, v->planes, 0);
    w->job.reader.tiles = shs__px_map_pieces(&w->white.map);
    shs__px_map_init(&w->job.map, w->job.reader.kernels, m, m, 1, 0);
    w->gram.kernels = w->job.reader.kernels, w->gram.n = fourth ? m * (m + 1) / 2 : 0, w->gram.at = 1;
}

SHS__PRIVATE void shs__px_whitened_layout(shs__layout *l, shs__whitened *w, int workers) {
    shs__white *white = &w->white;
    size_t m = (size_t)w->job.map.outputs, pairs = (size_t)w->gram.n;
    size_t count = shs__zmax(shs__zmax(1 + 2 * m, 1 + m + m * m), 1 + pairs * pairs); /* the most that a pass sums */
    size_t pixels = shs__layout_product(white->panels, SHS__PANEL_PIXELS, 1);
    shs__px_reader_layout(l, &w->job.reader, workers);
    shs__px_map_layout(l, &white->map, workers);
    white->valid = SHS__CARVE(l, int, white->panels);
    white->absent = white->panels && shs__px_may_miss(&w->job.reader.view) ? SHS__CARVE(l, unsigned char, pixels) : NULL;
    white->kept = white->panels ? SHS__CARVE(l, shs_real, shs__layout_product(pixels, m, 1)) : NULL;
    shs__px_map_layout(l, &w->job.map, workers);
    if (pairs) shs__px_gram_layout(l, &w->gram, workers);
    w->products = SHS__CARVE(l, shs_real, shs__layout_product(pairs, SHS__PANEL_PIXELS, (size_t)workers));
    w->sums = SHS__CARVE(l, shs_wide, count);
    w->chunk_sums = SHS__CARVE(l, shs_wide, shs__layout_product(count, SHS__PASS_CHUNKS, 1));
}

/* Only counts pixels: this pass is made so that the reader keeps the whitened pixels. */
SHS__PRIVATE void shs__px_count_panel(void *state, shs__panel *panel, int worker, shs_wide *sums) {
    (void)state, (void)worker;
    sums[0] += (shs_wide)panel->valid;
}

/* The count, then the Gram matrix of all z_a z_b, a <= b. */
SHS__PRIVATE void shs__px_fourth_panel(void *state, shs__panel *panel, int worker, shs_wide *sums) {
    const shs__whitened *w = (const shs__whitened *)state;
    const shs_real *Z = (const shs_real *)panel->X;
    shs_real *first = w->products + (size_t)worker * (size_t)w->gram.n * SHS__PANEL_PIXELS, *q = first;
    shs__gram_own *own = w->gram.own + worker;
    int a, b, k;
    sums[0] += (shs_wide)panel->valid;
    for (b = 0; b < w->job.map.bands; b++)
        for (a = 0; a <= b; a++, q += SHS__PANEL_PIXELS) {
            const shs_real *za = Z + (size_t)a * SHS__PANEL_PIXELS, *zb = Z + (size_t)b * SHS__PANEL_PIXELS;
            for (k = 0; k < panel->valid; k++) q[k] = za[k] * zb[k];
        }
    shs__px_pack_planes(w->gram.kernels, w->gram.n, panel->valid, first, own->packed);
    shs__px_gram_panel(&w->gram, own, panel->valid, &panel->ahead, sums);
}

/* The count, the sums of g'(y) for c directions, those of z g(y), m x c. */
SHS__PRIVATE void shs__px_sweep_panel(void *state, shs__panel *panel, int worker, shs_wide *sums) {
    const shs__whitened *w = (const shs__whitened *)state;
    const shs__contrast_kernels *k = shs__kernels_contrast();
    const shs__map *map = &w->job.map;
    shs_real *y = (shs_real *)map->own[worker].planes;
    int c = map->outputs, d;
    sums[0] += (shs_wide)panel->valid;
    shs__px_map_outputs(map, panel, map->own + worker, 0);
    for (d = 0; d < c; d++) sums[1 + d] += k->apply(w->contrast, panel->valid, y + (size_t)d * SHS__PANEL_PIXELS);
    k->correlate(map->bands, c, panel->valid, (const shs_real *)panel->X, SHS__PANEL_PIXELS, y, SHS__PANEL_PIXELS,
                 sums + 1 + c);
}

/* The count, the m sources' sums of y^4, then of log cosh y. */
SHS__PRIVATE void shs__px_rate_panel(void *state, shs__panel *panel, int worker, shs_wide *sums) {
    const shs__map *map = &((const shs__whitened *)state)->job.map;
    const shs_real *y = (const shs_real *)map->own[worker].planes;
    int m = map->outputs, d;
    sums[0] += (shs_wide)panel->valid;
    shs__px_map_outputs(map, panel, map->own + worker, 0);
    for (d = 0; d < m; d++)
        shs__kernels_contrast()->rate(panel->valid, y + (size_t)d * SHS__PANEL_PIXELS, sums + 1 + d, sums + 1 + m + d);
}

/* The c columns of W (m x c) become the rows of the map. */
SHS__PRIVATE void shs__px_whitened_map(shs__whitened *w, int c, const shs_wide *W) {
    w->job.map.outputs = c;
    shs__px_map_set(&w->job.map, W, w->job.map.bands, 1, NULL, NULL);
}

SHS__PRIVATE shs_status shs__px_whitened_pass(const shs_context *ctx, shs__whitened *w, size_t count,
                                              void (*work)(void *state, shs__panel *panel, int worker, shs_wide *sums)) {
    shs__consumer c = SHS_ZERO;
    int kept = shs__px_white_kept(&w->white);
    c.work = work, c.finish = work == shs__px_fourth_panel ? shs__px_gram_finish : NULL, c.state = w;
    c.count = count, c.sums = w->sums, c.chunk_sums = w->chunk_sums;
    c.phase = kept ? NULL : "whitening";
    if (kept) w->job.reader.tiles = 0;
    return shs__px_pass_run(ctx, &w->job.reader, &c);
}

/* The first pass: whitens, keeps what is to be kept, and sums. */
SHS__PRIVATE shs_status shs__px_cpu_whiten(const shs_context *ctx, shs__whitened *w) {
    size_t pairs = (size_t)w->gram.n;
    shs_status status = SHS_OK;
    if (pairs) status = shs__px_whitened_pass(ctx, w, 1 + pairs * pairs, shs__px_fourth_panel);
    else if (w->white.kept) status = shs__px_whitened_pass(ctx, w, 1, shs__px_count_panel);
    else w->sums[0] = 1; /* nothing to sum; a count that is not 0 says that there are pixels */
    w->white.filled = 1;
    return status;
}

SHS__PRIVATE shs_status shs__px_cpu_sweep(const shs_context *ctx, shs__whitened *w, shs_contrast contrast, int c,
                                          const shs_wide *W) {
    shs__px_whitened_map(w, c, W);
    w->contrast = contrast;
    return shs__px_whitened_pass(ctx, w, 1 + (size_t)c + (size_t)c * (size_t)w->job.map.bands, shs__px_sweep_panel);
}

SHS__PRIVATE shs_status shs__px_cpu_rate(const shs_context *ctx, shs__whitened *w, const shs_wide *W) {
    shs__px_whitened_map(w, w->job.map.bands, W);
    return shs__px_whitened_pass(ctx, w, 1 + 2 * (size_t)w->job.map.bands, shs__px_rate_panel);
}

/* Writes the sources W'z into the sink without reading the cube again; returns 0, doing nothing, where the whitened pixels were
   not kept or the sink wants more than that. */
SHS__PRIVATE int shs__px_cpu_sources(const shs_context *ctx, shs__whitened *w, const shs_wide *W, const shs_sink *sink) {
    shs__map_job *job = &w->job;
    if (!w->white.kept || !sink || !sink->pixels || sink->rescale) return 0;
    shs__px_whitened_map(w, job->map.bands, W);
    job->writer.sink = sink, job->writer.bands = job->map.bands;
    job->writer.missing = shs__px_missing_value(job->reader.view.cube, sink);
    job->consumer.state = job;
    return shs__px_cpu_map(ctx, job, NULL) == SHS_OK;
}

/* ---- the stages: here, or on the context's engine ---------------------------------------------------- >>px_engine */

/* The cube at hand. On the CPU it stays where it is and every stage is a pass over it. */
typedef struct shs__pixels {
    const shs_context *ctx;
    shs__view view;
    const shs_engine *engine;   /* NULL: the CPU */
    const shs_engine *whitener; /* the one that has the whitened pixels; NULL: the CPU */
    void *remote;
} shs__pixels;

/* The engine's answer, if there is an engine; SHS_UNSUPPORTED where its table has no such entry. */
#define SHS__ASK(engine, entry, arguments) (!(engine) ? SHS_OK : (engine)->entry ? (engine)->entry arguments : SHS_UNSUPPORTED)

SHS__PRIVATE shs_status shs__px_open(const shs_context *ctx, const shs_cube *cube, shs__pixels *px) {
    const shs_engine *e;
    shs_status status = shs__ctx_check(ctx);
    memset(px, 0, sizeof *px);
    px->ctx = ctx;
    if (status == SHS_OK) status = shs__px_view_open(cube, &px->view);
    if (status != SHS_OK || !ctx || !ctx->engine || cube->lines == 0) return status; /* no pixels: the CPU */
    e = ctx->engine;
    status = e->pixels_close ? SHS__ASK(e, pixels_open, (e->user, ctx, cube, &px->remote)) : SHS_UNSUPPORTED;
    if (status == SHS_OK) px->engine = e;
    return shs__ctx_cpu_takes_over(e, status) ? SHS_OK : status;
}

SHS__PRIVATE void shs__px_close(shs__pixels *px) {
    if (px->engine) px->engine->pixels_close(px->remote);
    px->engine = px->whitener = NULL;
}

/* Whether an engine that lacks double is asked again without it: only where the options do not insist on double. */
SHS__PRIVATE int shs__px_ask_narrow(shs_precision precise, shs_status status, int *wide) {
    int again = precise == SHS_PRECISION_AUTO && *wide && status == SHS_UNSUPPORTED;
    if (again) *wide = 0;
    return again;
}

/* Moments of the pixels or, where the job is about pairs, of the noise: the sums go to the job. An engine's noise is that of
   right neighbours. */
SHS__PRIVATE shs_status shs__px_moments(const shs__pixels *px, shs__moments_job *job, shs_precision precise) {
    shs_wide *sums = job->consumer.sums;
    shs_status status;
    int wide = shs__is_wide(precise);
    do
        status = job->reader.pairs > SHS__PAIRS_RIGHT ? (px->engine ? SHS_UNSUPPORTED : SHS_OK)
                 : job->reader.pairs                  ? SHS__ASK(px->engine, pixels_noise, (px->remote, sums))
                                     : SHS__ASK(px->engine, pixels_moments, (px->remote, wide, job->known, job->shift, sums));
    while (shs__px_ask_narrow(precise, status, &wide));
    return shs__ctx_cpu_takes_over(px->engine, status) ? shs__px_pass_run(px->ctx, &job->reader, &job->consumer) : status;
}

SHS__PRIVATE shs_status shs__px_range(const shs__pixels *px, shs__map_job *job, const shs_pixel_map *map,
                                      shs_precision precise) {
    shs_wide *low = job->writer.low, *high = job->writer.high;
    shs_status status;
    int wide = shs__is_wide(precise);
    do status = SHS__ASK(px->engine, pixels_range, (px->remote, map, wide, job->map.squares, low, high));
    while (shs__px_ask_narrow(precise, status, &wide));
    return shs__ctx_cpu_takes_over(px->engine, status) ? shs__px_cpu_range(px->ctx, job) : status;
}

/* Whether a stream was written to. What was written cannot be taken back, so the CPU must not begin again. */
typedef struct shs__watched_sink {
    const shs_sink *sink;
    int begun;
} shs__watched_sink;

SHS__PRIVATE int shs__px_watched_write(void *user, int first_line, int lines, const void *block) {
    shs__watched_sink *w = (shs__watched_sink *)user;
    w->begun = 1;
    return w->sink->write_fn(w->sink->write_user, first_line, lines, block);
}

SHS__PRIVATE shs_status shs__px_map(const shs__pixels *px, shs__map_job *job, const shs_pixel_map *map, shs_precision precise) {
    const shs__writer *w = &job->writer;
    int wide = shs__is_wide(precise), squares = job->map.squares;
    shs__watched_sink watched = SHS_ZERO;
    shs_sink given = *w->sink;
    shs_status status;
    watched.sink = w->sink;
    if (!given.pixels) given.write_fn = shs__px_watched_write, given.write_user = &watched;
    do status = SHS__ASK(px->engine, pixels_map, (px->remote, map, wide, squares, &given, w->low, w->high, w->missing));
    while (!watched.begun && shs__px_ask_narrow(precise, status, &wide));
    return !watched.begun && shs__ctx_cpu_takes_over(px->engine, status) ? shs__px_cpu_map(px->ctx, job, "transform") : status;
}

/* Whitened pixels are with an engine that does all that is done with them, or with the CPU. */
SHS__PRIVATE shs_status shs__px_whitener_open(shs__pixels *px) {
    const shs_engine *e = px->engine;
    shs_status status = !e || (e->pixels_whiten && e->pixels_sweep && e->pixels_rate) ? SHS_OK : SHS_UNSUPPORTED;
    px->whitener = status == SHS_OK ? e : NULL;
    return shs__ctx_cpu_takes_over(e, status) ? SHS_OK : status;
}

/* Panels of whitened pixels that the CPU keeps; 0: none are, and every pass whitens anew. */
SHS__PRIVATE size_t shs__px_kept_panels(const shs__pixels *px, int m) {
    size_t panels = shs__ctx_chunks((size_t)px->view.samples * (size_t)px->view.lines, SHS__PANEL_PIXELS);
    size_t keep = shs__layout_product(panels, (size_t)m * SHS__PANEL_PIXELS, sizeof(shs_real));
    return px->view.cube->pixels && !px->whitener && keep <= SHS__CACHE_LIMIT ? panels : 0;
}

/* Whether the CPU works on the whitened pixels from now on. It whitens anew in every pass, so it can take over at any time. */
SHS__PRIVATE int shs__px_whitened_here(shs__pixels *px, shs_status status) {
    int here = shs__ctx_cpu_takes_over(px->whitener, status);
    if (here) px->whitener = NULL;
    return here;
}

/* The first pass. The CPU's map is set in any case: the CPU may take over later. */
SHS__PRIVATE shs_status shs__px_whiten(shs__pixels *px, const shs_pixel_map *whitening, shs__whitened *w) {
    shs_status status;
    shs__px_map_set(&w->white.map, whitening->matrix, 1, whitening->outputs, whitening->centre, whitening->offset);
    w->job.reader.shift = w->white.map.shift;
    status = SHS__ASK(px->whitener, pixels_whiten, (px->remote, whitening, w->gram.n > 0, w->sums));
    return shs__px_whitened_here(px, status) ? shs__px_cpu_whiten(px->ctx, w) : status;
}

SHS__PRIVATE shs_status shs__px_sweep(shs__pixels *px, shs__whitened *w, shs_contrast contrast, int c, const shs_wide *W) {
    shs_status status = SHS__ASK(px->whitener, pixels_sweep, (px->remote, contrast, c, W, w->sums));
    return shs__px_whitened_here(px, status) ? shs__px_cpu_sweep(px->ctx, w, contrast, c, W) : status;
}

SHS__PRIVATE shs_status shs__px_rate(shs__pixels *px, shs__whitened *w, const shs_wide *W) {
    shs_status status = SHS__ASK(px->whitener, pixels_rate, (px->remote, W, w->sums));
    return shs__px_whitened_here(px, status) ? shs__px_cpu_rate(px->ctx, w, W) : status;
}

/* ---- moments ------------------------------------------------------------------------------------------- >>moments */

SHS__PRIVATE void shs__px_moments_layout(shs__layout *l, shs_moments *m, int bands) {
    m->bands = bands;
    m->shift = SHS__CARVE(l, shs_wide, (size_t)bands);
    m->sum = SHS__CARVE(l, shs_wide, (size_t)bands);
    m->products = SHS__CARVE(l, shs_wide, shs__layout_product((size_t)bands, (size_t)bands, 1));
}

SHS__PUBLIC shs_status shs_moments_create(const shs_context *ctx, int bands, shs_moments *moments) {
    shs_moments made = SHS_ZERO;
    shs__layout l = SHS_ZERO;
    shs_status status = shs__ctx_check(ctx);
    if (status != SHS_OK) return status;
    if (bands < 1) return SHS_BAD_BANDS;
    if (!moments) return SHS_BAD_MOMENTS;
    while (shs__layout_next(ctx, &l, &status)) shs__px_moments_layout(&l, &made, bands);
    if (status != SHS_OK) return status;
    SHS__UNPOISON(l.base, l.size);
    memset(l.base, 0, l.size);
    made.block = l.block;
    *moments = made;
    return SHS_OK;
}

SHS__PUBLIC void shs_moments_free(const shs_context *ctx, shs_moments *moments) {
    if (!moments) return;
    shs__ctx_free(ctx, moments->block);
    memset(moments, 0, sizeof *moments);
}

/* Adds sums about another shift: with e = from's - into's, S += S' + n e and P += P' + e S' + S' e + n e e. */
SHS__PRIVATE void shs__px_moments_add(shs_moments *into, const shs_moments *from) {
    int n = into->bands, i, j;
    for (j = 0; j < n; j++)
        for (i = j; i < n; i++) {
            shs_wide ei = from->shift[i] - into->shift[i], ej = from->shift[j] - into->shift[j];
            *SHS__AT(into->products, n, i, j) +=
                *SHS__AT(from->products, n, i, j) + (ei * from->sum[j] + from->sum[i] * ej + from->count * ei * ej);
        }
    for (i = 0; i < n; i++) into->sum[i] += from->sum[i] + from->count * (from->shift[i] - into->shift[i]);
    into->count += from->count;
}

SHS__PUBLIC shs_status shs_moments_merge(shs_moments *into, const shs_moments *from) {
    if (!into || !from || !into->products || !from->products || into->bands != from->bands) return SHS_BAD_MOMENTS;
    if (!(from->count > 0)) return SHS_OK;
    if (!(into->count > 0)) memcpy(into->shift, from->shift, (size_t)into->bands * sizeof(shs_wide));
    shs__px_moments_add(into, from);
    return SHS_OK;
}

/* Adds the moments of the pixels, or of the differences of neighbours. */
SHS__OUTLINE shs_status shs__px_add_moments(const shs__pixels *px, shs_precision precise, shs__pairs pairs,
                                            shs_moments *moments) {
    shs_moments more = SHS_ZERO;
    shs__moments_job job;
    shs__layout l = SHS_ZERO;
    int n = px->view.used, i;
    shs_status status = SHS_OK;
    if ((unsigned)precise > SHS_PRECISION_NEVER) return SHS_BAD_OPTIONS;
    if (!moments || !moments->products) return SHS_BAD_MOMENTS;
    if (moments->bands != n) return SHS_BAD_BANDS;
    shs__px_moments_job_init(&job, &px->view, shs__is_wide(precise), pairs);
    while (shs__layout_next(px->ctx, &l, &status)) shs__px_moments_job_layout(&l, &job, shs__ctx_workers(px->ctx));
    if (status != SHS_OK) return status;
    for (i = 0; i < n; i++) job.shift[i] = (shs_real)moments->shift[i];
    job.known = moments->count > 0;
    status = shs__px_moments(px, &job, precise);
    for (i = 0; i < n; i++) job.wide_shift[i] = (shs_wide)job.shift[i];
    more.bands = n, more.count = job.consumer.sums[0], more.shift = job.wide_shift;
    more.sum = job.consumer.sums + 1, more.products = more.sum + n;
    if (status == SHS_OK) status = shs_moments_merge(moments, &more);
    shs__layout_release(px->ctx, &l);
    return status;
}

/* The fast form of shs_moments_naive. */
SHS__PUBLIC shs_status shs_moments_update(const shs_context *ctx, const shs_cube *cube, shs_precision precise,
                                          shs_moments *moments) {
    shs__pixels px;
    shs_status status = shs__px_open(ctx, cube, &px);
    if (status == SHS_OK) status = shs__px_add_moments(&px, precise, SHS__NO_PAIRS, moments);
    shs__px_close(&px);
    return status;
}

SHS__PUBLIC size_t shs_moments_update_workspace(const shs_context *ctx, const shs_cube *cube, shs_precision precise) {
    shs__view v;
    shs__moments_job job;
    shs__layout l = SHS_ZERO;
    if (shs__px_view_open(cube, &v) != SHS_OK || (unsigned)precise > SHS_PRECISION_NEVER) return SIZE_MAX;
    shs__px_moments_job_init(&job, &v, shs__is_wide(precise), SHS__NO_PAIRS);
    shs__px_moments_job_layout(&l, &job, shs__ctx_workers(ctx));
    return shs__layout_query(&l);
}

/* The ranks agree on a shift, the mean of theirs, and add up: in a copy, so that a failure midway leaves the moments alone. */
SHS__PUBLIC shs_status shs_moments_reduce(const shs_context *ctx, shs_moments *moments) {
    shs_moments all = SHS_ZERO;
    shs_wide count;
    size_t n, i;
    shs__meeting meeting = shs__ctx_meeting_for(ctx, "moments");
    shs_status status = shs__ctx_check(ctx);
    if (status == SHS_OK && !(moments && moments->products)) status = SHS_BAD_MOMENTS;
    if (status == SHS_OK) meeting.all = shs__ctx_imprint(meeting.all, &moments->bands, sizeof moments->bands);
    status = shs__ctx_meet(ctx, status, &meeting);
    if (status != SHS_OK || !shs__ctx_distributed(ctx)) return status;
    n = (size_t)moments->bands;
    status = shs__ctx_agree(ctx, shs_moments_create(ctx, moments->bands, &all));
    if (status == SHS_OK) {
        count = moments->count;
        for (i = 0; i < n; i++) all.shift[i] = moments->shift[i] * count;
        status = shs__ctx_reduce(ctx, &count, 1, SHS_REDUCE_SUM);
        if (status == SHS_OK) status = shs__ctx_reduce(ctx, all.shift, n, SHS_REDUCE_SUM);
        for (i = 0; i < n; i++) all.shift[i] = count > 0 ? all.shift[i] / count : 0;
        shs__px_moments_add(&all, moments);
        if (status == SHS_OK) status = shs__ctx_reduce(ctx, all.sum, n, SHS_REDUCE_SUM);
        if (status == SHS_OK) status = shs__ctx_reduce(ctx, all.products, n * n, SHS_REDUCE_SUM);
        all.count = count;
    }
    if (status == SHS_OK) {
        moments->count = all.count;
        memcpy(moments->shift, all.shift, n * sizeof(shs_wide));
        memcpy(moments->sum, all.sum, n * sizeof(shs_wide));
        memcpy(moments->products, all.products, n * n * sizeof(shs_wide));
    }
    shs_moments_free(ctx, &all);
    return status;
}

SHS__PUBLIC shs_status shs_moments_finish(const shs_moments *moments, shs_divisor divisor, shs_wide *mean, shs_wide *covariance,
                                          int ldc) {
    int n, i, j;
    shs_wide count;
    if (!moments || !moments->products) return SHS_BAD_MOMENTS;
    n = moments->bands;
    count = moments->count - (divisor == SHS_DIVISOR_N_LESS_1 ? 1 : 0);
    if (!(moments->count > 0) || (covariance && !(count > 0))) return SHS_NO_PIXELS;
    if (!mean) return SHS_BAD_OUTPUT;
    if (covariance && ldc < n) return SHS_BAD_LDC;
    for (i = 0; i < n; i++) mean[i] = moments->shift[i] + moments->sum[i] / moments->count;
    for (j = 0; covariance && j < n; j++)
        for (i = j; i < n; i++) {
            shs_wide c = (*SHS__AT(moments->products, n, i, j) - moments->sum[i] / moments->count * moments->sum[j]) / count;
            *SHS__AT(covariance, ldc, i, j) = *SHS__AT(covariance, ldc, j, i) = c;
        }
    for (j = 0; covariance && j < n; j++) { /* what deviates by less than half a unit in the last place is constant */
        shs_wide least = (shs_wide)SHS__EPS / 2 * mean[j];
        const shs_wide *variance = SHS__AT(covariance, ldc, j, j);
        if (*variance > least * least || !shs__wide_finite(1, variance)) continue; /* leave an overflow visible */
        for (i = 0; i < n; i++) *SHS__AT(covariance, ldc, i, j) = *SHS__AT(covariance, ldc, j, i) = 0;
    }
    return SHS_OK;
}

/* ---- maps into sinks ------------------------------------------------------------------------------------- >>sinks */

/* y = matrix (x - centre) + offset; centre, offset: NULL is zero. */
SHS__PRIVATE shs_pixel_map shs__px_map_of(int bands, int outputs, const shs_wide *matrix, const shs_wide *centre,
                                          const shs_wide *offset) {
    shs_pixel_map map = SHS_ZERO;
    map.bands = bands, map.outputs = outputs, map.matrix = matrix, map.centre = centre, map.offset = offset;
    return map;
}

/* Where there are no lines the sink needs no room for them. */
SHS__PRIVATE shs_status shs__px_check_sink(const shs_cube *cube, const shs_sink *sink) {
    if (!sink || !SHS__ZEROED(sink) || (!sink->pixels && !sink->write_fn && cube->lines > 0) ||
        !shs__px_cube_type_ok(sink->type))
        return SHS_BAD_SINK;
    if ((unsigned)sink->interleave >= SHS_INTERLEAVE_COUNT) return SHS_BAD_SINK;
    if (sink->rescale && (!shs__wide_finite(1, &sink->low) || !shs__wide_finite(1, &sink->high) || sink->low > sink->high))
        return SHS_BAD_SINK;
    return SHS_OK;
}

SHS__PRIVATE int shs__px_map_there(const shs_pixel_map *map) {
    return map && map->bands > 0 && map->outputs > 0 && map->matrix;
}

SHS__PRIVATE shs_status shs__px_check_map(const shs__view *v, const shs_pixel_map *map, shs_precision precise,
                                          const shs_sink *sink) {
    if (!shs__px_map_there(map)) return SHS_BAD_MAP;
    if (map->bands != v->used) return SHS_BAD_BANDS;
    if (map->outputs > INT_MAX - 16) return SHS_TOO_LARGE;
    if (!shs__wide_finite((size_t)map->bands * (size_t)map->outputs, map->matrix)) return SHS_BAD_MAP;
    if (map->centre && !shs__wide_finite((size_t)map->bands, map->centre)) return SHS_BAD_MAP;
    if (map->offset && !shs__wide_finite((size_t)map->outputs, map->offset)) return SHS_BAD_MAP;
    if ((unsigned)precise > SHS_PRECISION_NEVER) return SHS_BAD_OPTIONS;
    return shs__px_check_sink(v->cube, sink);
}

/* The extremes of outputs that are rescaled are those of all ranks. */
SHS__OUTLINE shs_status shs__pixels_map(const shs__pixels *px, const shs_pixel_map *map, shs_precision precise,
                                        const shs_sink *sink, int squares) {
    const shs_context *ctx = px->ctx;
    shs__map_job job;
    shs__layout l = SHS_ZERO;
    shs_status status = shs__px_check_map(&px->view, map, precise, sink);
    if (status == SHS_OK) shs__px_map_job_init(&job, &px->view, map, shs__is_wide(precise), squares, sink);
    while (shs__layout_next(ctx, &l, &status)) shs__px_map_job_layout(&l, &job, shs__ctx_workers(ctx));
    if (status == SHS_OK) {
        shs__px_map_set(&job.map, map->matrix, 1, map->outputs, map->centre, map->offset);
        job.reader.shift = job.map.shift;
    }
    if (sink && sink->rescale) {
        if (status == SHS_OK) status = shs__px_range(px, &job, map, precise);
        status = shs__ctx_agree(ctx, status);
        if (status == SHS_OK) status = shs__ctx_reduce(ctx, job.writer.low, (size_t)job.writer.bands, SHS_REDUCE_MIN);
        if (status == SHS_OK) status = shs__ctx_reduce(ctx, job.writer.high, (size_t)job.writer.bands, SHS_REDUCE_MAX);
    }
    if (status == SHS_OK) status = shs__px_map(px, &job, map, precise);
    shs__layout_release(ctx, &l);
    return status;
}

/* What the sinks of all ranks must agree on, as the extremes of all ranks decide how outputs are stretched. */
SHS__PRIVATE uint64_t shs__px_imprint_sink(uint64_t print, const shs_sink *sink) {
    print = shs__ctx_imprint(print, sink->rescale ? "stretched" : "as it is", 9);
    if (!sink->rescale) return print;
    print = shs__ctx_imprint(print, &sink->low, sizeof sink->low);
    return shs__ctx_imprint(print, &sink->high, sizeof sink->high);
}

SHS__PUBLIC shs_status shs_cube_map(const shs_context *ctx, const shs_cube *cube, const shs_pixel_map *map,
                                    shs_precision precise, const shs_sink *sink) {
    shs__pixels px;
    shs__meeting meeting = shs__ctx_meeting_for(ctx, "map");
    shs_status status = shs__px_open(ctx, cube, &px);
    if (status == SHS_OK) status = shs__px_check_sink(cube, sink);
    if (status == SHS_OK && !shs__px_map_there(map)) status = SHS_BAD_MAP;
    if (status == SHS_OK) meeting.all = shs__px_imprint_sink(meeting.all, sink);
    if (status == SHS_OK && sink->rescale) meeting.all = shs__ctx_imprint(meeting.all, &map->outputs, sizeof map->outputs);
    status = shs__ctx_meet(ctx, status, &meeting);
    if (status == SHS_OK) status = shs__pixels_map(&px, map, precise, sink, 0);
    shs__px_close(&px);
    return status;
}

SHS__PUBLIC size_t shs_cube_map_workspace(const shs_context *ctx, const shs_cube *cube, const shs_pixel_map *map,
                                          shs_precision precise, const shs_sink *sink) {
    shs__view v;
    shs__map_job job;
    shs__layout l = SHS_ZERO;
    if (shs__px_view_open(cube, &v) != SHS_OK || shs__px_check_map(&v, map, precise, sink) != SHS_OK) return SIZE_MAX;
    shs__px_map_job_init(&job, &v, map, shs__is_wide(precise), 0, sink);
    shs__px_map_job_layout(&l, &job, shs__ctx_workers(ctx));
    return shs__layout_query(&l);
}

/* ================================================================================================================== */
/* 10  PRINCIPAL COMPONENTS                                                                                     >>pca */
/* ================================================================================================================== */

/* Moments, an eigenproblem, a map: section 9 has the first and the last, section 5 the second. Here are the choice of
   components, the noise's share in MNF, and what ranks agree on. Section 11 calls shs__pca_pixels.

   shs_pca_run is shs__pca_cube: shs__pca_pixels (shs__px_add_moments, shs_moments_reduce, shs_pca_from_moments with shs_eigh),
   then shs__pixels_map. */

/* ---- the naive twins --------------------------------------------------------------------------------- >>pca_naive */

SHS__PUBLIC void shs_pca_naive(int n, ptrdiff_t m, const shs_wide *X, shs_wide *mean, shs_wide *values, shs_wide *vectors,
                               shs_wide *C) {
    shs_moments_naive(n, m, X, mean, C);
    shs_eigh_naive(n, C, values, vectors);
}

/* A = L L' into the lower triangle of A (n x n). */
SHS__PRIVATE void shs__pca_factorize_naive(int n, shs_wide *A) {
    ptrdiff_t i, j, k;
    for (j = 0; j < n; j++)
        for (i = j; i < n; i++) {
            for (k = 0; k < j; k++) A[i + j * n] -= A[i + k * n] * A[j + k * n];
            A[i + j * n] = i == j ? SHS__WSQRT(A[i + j * n]) : A[i + j * n] / A[j + j * n];
        }
}

/* x = L^-1 x, and x = L^-T x, for n values that lie `step` apart. */
SHS__PRIVATE void shs__pca_forward_naive(int n, const shs_wide *L, shs_wide *x, ptrdiff_t step) {
    ptrdiff_t i, k;
    for (i = 0; i < n; i++) {
        for (k = 0; k < i; k++) x[i * step] -= L[i + k * n] * x[k * step];
        x[i * step] /= L[i + i * n];
    }
}

SHS__PRIVATE void shs__pca_backward_naive(int n, const shs_wide *L, shs_wide *x, ptrdiff_t step) {
    ptrdiff_t i, k;
    for (i = n - 1; i >= 0; i--) {
        for (k = i + 1; k < n; k++) x[i * step] -= L[k + i * n] * x[k * step];
        x[i * step] /= L[i + i * n];
    }
}

/* d: the differences of the pixels to those `right` samples and `down` lines from them; N: half their covariance. Returns how
   many there are. */
SHS__PUBLIC ptrdiff_t shs_noise_naive(int n, ptrdiff_t lines, ptrdiff_t samples, const shs_wide *X, int right, int down,
                                      shs_wide *mean, shs_wide *N, shs_wide *d) {
    ptrdiff_t y, x, b, pairs = 0;
    for (y = 0; y + down < lines; y++)
        for (x = 0; x + right < samples; x++, pairs++)
            for (b = 0; b < n; b++)
                d[b + pairs * n] = X[b + ((y + down) * samples + x + right) * n] - X[b + (y * samples + x) * n];
    shs_moments_naive(n, pairs, d, mean, N);
    for (b = 0; b < (ptrdiff_t)n * n; b++) N[b] /= 2;
    return pairs;
}

/* N: half the mean square of what is left of each band's differences when those of the band before it, and of the one behind it
   made orthogonal to that one, are taken off; all less their means. 0 off the diagonal. */
SHS__PUBLIC void shs_noise_residual_naive(int n, ptrdiff_t pairs, const shs_wide *d, const shs_wide *mean, shs_wide *N) {
    ptrdiff_t b, i;
    for (i = 0; i < (ptrdiff_t)n * n; i++) N[i] = 0;
    for (b = 0; b < n; b++) {
        shs_wide aa = 0, ac = 0, cc = 0, ax = 0, cx = 0;
        for (i = 0; i < pairs; i++) {
            shs_wide a = b > 0 ? d[b - 1 + i * n] - mean[b - 1] : 0, c = b + 1 < n ? d[b + 1 + i * n] - mean[b + 1] : 0;
            aa += a * a, ac += a * c, ax += a * (d[b + i * n] - mean[b]);
        }
        for (i = 0; i < pairs; i++) {
            shs_wide a = b > 0 ? d[b - 1 + i * n] - mean[b - 1] : 0, c = b + 1 < n ? d[b + 1 + i * n] - mean[b + 1] : 0;
            if (aa > 0) c -= ac / aa * a;
            cc += c * c, cx += c * (d[b + i * n] - mean[b]);
        }
        for (i = 0; i < pairs; i++) {
            shs_wide a = b > 0 ? d[b - 1 + i * n] - mean[b - 1] : 0, c = b + 1 < n ? d[b + 1 + i * n] - mean[b + 1] : 0;
            shs_wide x = d[b + i * n] - mean[b];
            if (aa > 0) c -= ac / aa * a, x -= ax / aa * a;
            if (cc > 0) x -= cx / cc * c;
            N[b + b * n] += x * x / (shs_wide)pairs / 2;
        }
    }
}

/* The noise is that of neighbours in a line, N = L L'. In coordinates L^-1 x it is white: values are the eigenvalues of
   L^-1 C L^-T, vectors are L^-T times its eigenvectors. */
SHS__PUBLIC void shs_mnf_naive(int n, ptrdiff_t lines, ptrdiff_t samples, const shs_wide *X, shs_wide *mean, shs_wide *values,
                               shs_wide *vectors, shs_wide *C, shs_wide *L, shs_wide *d) {
    ptrdiff_t b;
    shs_noise_naive(n, lines, samples, X, 1, 0, mean, L, d);
    shs__pca_factorize_naive(n, L);
    shs_moments_naive(n, lines * samples, X, mean, C);
    for (b = 0; b < n; b++) shs__pca_forward_naive(n, L, C + b * n, 1); /* the columns, then the rows */
    for (b = 0; b < n; b++) shs__pca_forward_naive(n, L, C + b, n);
    shs_eigh_naive(n, C, values, vectors);
    for (b = 0; b < n; b++) shs__pca_backward_naive(n, L, vectors + b * n, 1);
}

/* (x - mean)' C^-1 (x - mean) = |L^-1 (x - mean)|^2 where C = L L'. */
SHS__PUBLIC void shs_rx_naive(int n, ptrdiff_t m, const shs_wide *X, shs_wide *scores, shs_wide *mean, shs_wide *L,
                              shs_wide *u) {
    ptrdiff_t i, b;
    shs_moments_naive(n, m, X, mean, L);
    shs__pca_factorize_naive(n, L);
    for (i = 0; i < m; i++) {
        for (b = 0; b < n; b++) u[b] = X[b + i * n] - mean[b];
        shs__pca_forward_naive(n, L, u, 1);
        for (scores[i] = 0, b = 0; b < n; b++) scores[i] += u[b] * u[b];
    }
}

SHS__PUBLIC void shs_rx_classes_naive(int n, ptrdiff_t m, const shs_wide *X, const int *labels, int classes, shs_wide *scores,
                                      shs_wide *mean, shs_wide *L, shs_wide *u, shs_wide *Y, shs_wide *own) {
    ptrdiff_t i, b, count;
    int k;
    for (k = 0; k < classes; k++) {
        for (count = 0, i = 0; i < m; i++)
            if (labels[i] == k) {
                for (b = 0; b < n; b++) Y[b + count * n] = X[b + i * n];
                count++;
            }
        if (count > 0) shs_rx_naive(n, count, Y, own, mean, L, u);
        for (count = 0, i = 0; i < m; i++)
            if (labels[i] == k) scores[i] = own[count++];
    }
}

/* Where a window of `width` around `at` begins, moved so that it lies within `count`; it is cut where that is less. */
SHS__PRIVATE ptrdiff_t shs__rx_window(ptrdiff_t at, ptrdiff_t width, ptrdiff_t count) {
    ptrdiff_t first = at - width / 2;
    if (first > count - width) first = count - width;
    return first > 0 ? first : 0;
}

/* Whether (y, x) lies in the window of `width` around (line, sample). */
SHS__PRIVATE int shs__rx_within(ptrdiff_t y, ptrdiff_t x, ptrdiff_t line, ptrdiff_t sample, ptrdiff_t width, ptrdiff_t lines,
                                ptrdiff_t samples) {
    ptrdiff_t top = shs__rx_window(line, width, lines), left = shs__rx_window(sample, width, samples);
    return y >= top && y < top + width && x >= left && x < left + width;
}

/* As shs_rx_naive, but mean and covariance are those of each pixel's own background, which must have full rank. */
SHS__PUBLIC void shs_rx_local_naive(int n, ptrdiff_t lines, ptrdiff_t samples, const shs_wide *X, int inner, int outer,
                                    shs_wide *scores, shs_wide *mean, shs_wide *C, shs_wide *u) {
    ptrdiff_t line, sample, y, x, a, b;
    int pass;
    for (line = 0; line < lines; line++)
        for (sample = 0; sample < samples; sample++) {
            shs_wide count = 0, *score = scores + line * samples + sample;
            for (a = 0; a < n; a++) mean[a] = 0;
            for (a = 0; a < (ptrdiff_t)n * n; a++) C[a] = 0;
            for (pass = 0; pass < 2; pass++) /* the mean, then the covariance */
                for (y = 0; y < lines; y++)
                    for (x = 0; x < samples; x++) {
                        const shs_wide *p = X + (y * samples + x) * n;
                        if (!shs__rx_within(y, x, line, sample, outer, lines, samples)) continue;
                        if (shs__rx_within(y, x, line, sample, inner, lines, samples)) continue;
                        if (pass == 0) count++;
                        for (b = 0; b < n; b++) {
                            if (pass == 0) mean[b] += p[b];
                            for (a = 0; pass == 1 && a < n; a++)
                                C[a + b * n] += (p[a] - mean[a] / count) * (p[b] - mean[b] / count) / count;
                        }
                    }
            shs__pca_factorize_naive(n, C);
            for (b = 0; b < n; b++) u[b] = X[(line * samples + sample) * n + b] - mean[b] / count;
            shs__pca_forward_naive(n, C, u, 1);
            for (*score = 0, b = 0; b < n; b++) *score += u[b] * u[b];
        }
}

/* ---- products in shs_wide ------------------------------------------------------------------------ >>wide_products */

/* x'y, in four sums, so that one addition need not wait for the one before. */
SHS__PRIVATE shs_wide shs__wide_dot(int n, const shs_wide *x, const shs_wide *y) {
    shs_wide s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    int i;
    for (i = 0; i + 4 <= n; i += 4)
        s0 += x[i] * y[i], s1 += x[i + 1] * y[i + 1], s2 += x[i + 2] * y[i + 2], s3 += x[i + 3] * y[i + 3];
    for (; i < n; i++) s0 += x[i] * y[i];
    return (s0 + s1) + (s2 + s3);
}

/* C (m x n) = A B for A of m x k and B of k x n; A and C are contiguous. */
SHS__PRIVATE void shs__wide_product(int m, int n, int k, const shs_wide *A, const shs_wide *B, int ldb,
                                    shs_wide *SHS__RESTRICT C) {
    int i, j, q;
    for (j = 0; j < n; j++) {
        shs_wide *SHS__RESTRICT c = SHS__AT(C, m, 0, j);
        const shs_wide *b = SHS__AT(B, ldb, 0, j);
        memset(c, 0, (size_t)m * sizeof(shs_wide));
        for (q = 0; q + 4 <= k; q += 4) {
            const shs_wide *a0 = SHS__AT(A, m, 0, q), *a1 = a0 + m, *a2 = a1 + m, *a3 = a2 + m;
            for (i = 0; i < m; i++) c[i] += (a0[i] * b[q] + a1[i] * b[q + 1]) + (a2[i] * b[q + 2] + a3[i] * b[q + 3]);
        }
        for (; q < k; q++)
            for (i = 0; i < m; i++) c[i] += *SHS__AT(A, m, i, q) * b[q];
    }
}

/* ---- the fit ------------------------------------------------------------------------------------------- >>pca_fit */

/* Eigenvalues below this share of the first are rounding: of the products, and of the sums. */
#define SHS__RANK_EPS ((shs_wide)(sizeof(shs_wide) > 4 ? 1e-12 : 1e-6))
#define SHS__RANK_EPS_QUICK ((shs_wide)(sizeof(shs_real) > 4 ? 1e-12 : 1e-6))

static const shs_pca_options shs__pca_zero = SHS_ZERO;

SHS__PRIVATE shs_status shs__pca_check(const shs_pca_options *o, int bands) {
    if (!SHS__ZEROED(o) || (unsigned)o->neighbours > SHS_NEIGHBOURS_MEAN) return SHS_BAD_OPTIONS;
    if (o->components < 0 || o->components > bands) return SHS_BAD_COMPONENTS;
    if (!shs__wide_finite(1, &o->variance) || o->variance < 0 || o->variance > 1) return SHS_BAD_COMPONENTS;
    if (!shs__wide_finite(1, &o->eigenvalue_at_least) || o->eigenvalue_at_least < 0) return SHS_BAD_COMPONENTS;
    return SHS_OK;
}

/* How many of the eigenvalues (descending) the options ask for; at least one. */
SHS__PRIVATE int shs__pca_count(const shs_pca_options *o, int count, const shs_wide *values, shs_wide total) {
    int k = o->components ? shs__imin(o->components, count) : count, i;
    shs_wide sum = 0;
    for (i = 0; i < k && o->variance > 0; i++) {
        sum += values[i];
        if (sum >= o->variance * total * (1 - 4 * (shs_wide)SHS__EPS)) k = i + 1;
    }
    for (i = 1; i < k && o->eigenvalue_at_least > 0; i++)
        if (values[i] < o->eigenvalue_at_least) k = i;
    return k;
}

SHS__PRIVATE shs_status shs__pca_create(const shs_context *ctx, shs_pca *pca, int bands, int components, int values, int mnf) {
    shs__layout l = SHS_ZERO;
    shs_status status = SHS_OK;
    size_t cells = shs__layout_product((size_t)bands, (size_t)components, 1);
    while (shs__layout_next(ctx, &l, &status)) {
        pca->mean = SHS__CARVE(&l, shs_wide, (size_t)bands);
        pca->scale = SHS__CARVE(&l, shs_wide, (size_t)bands);
        pca->eigenvalues = SHS__CARVE(&l, shs_wide, (size_t)values);
        pca->vectors = SHS__CARVE(&l, shs_wide, cells);
        pca->forward = SHS__CARVE(&l, shs_wide, cells);
        pca->backward = SHS__CARVE(&l, shs_wide, cells);
        if (mnf) pca->noise = SHS__CARVE(&l, shs_wide, shs__layout_product((size_t)bands, (size_t)bands, 1));
    }
    if (status != SHS_OK) return status;
    SHS__UNPOISON(l.base, l.size);
    pca->block = l.block;
    pca->bands = bands;
    pca->components = components;
    pca->eigenvalue_count = values;
    return SHS_OK;
}

SHS__PUBLIC void shs_pca_free(const shs_context *ctx, shs_pca *pca) {
    if (!pca) return;
    shs__ctx_free(ctx, pca->block);
    memset(pca, 0, sizeof *pca);
}

/* The arrays of a fit. */
typedef struct shs__fit {
    shs_wide *mean, *scale, *covariance, *values, *vectors; /* n, n, n x n, n, n x n */
    shs_wide *noise, *noise_values, *whitener, *room;       /* for MNF: n x n, n, n x n, n x n */
} shs__fit;

SHS__PRIVATE void shs__pca_fit_layout(shs__layout *l, shs__fit *f, int n, int mnf) {
    size_t cells = shs__layout_product((size_t)n, (size_t)n, 1);
    f->mean = SHS__CARVE(l, shs_wide, (size_t)n);
    f->scale = SHS__CARVE(l, shs_wide, (size_t)n);
    f->covariance = SHS__CARVE(l, shs_wide, cells);
    f->values = SHS__CARVE(l, shs_wide, (size_t)n);
    f->vectors = SHS__CARVE(l, shs_wide, cells);
    f->noise = SHS__CARVE(l, shs_wide, mnf ? cells : 0);
    f->noise_values = SHS__CARVE(l, shs_wide, mnf ? (size_t)n : 0);
    f->whitener = SHS__CARVE(l, shs_wide, mnf ? cells : 0);
    f->room = SHS__CARVE(l, shs_wide, mnf ? cells : 0);
}

/* Mean and covariance, or correlation, and the trace. */
SHS__PRIVATE shs_status shs__pca_fit_statistics(const shs_moments *m, const shs_pca_options *o, shs__fit *f, shs_wide *total) {
    int n = m->bands, i, j;
    shs_status status = shs_moments_finish(m, o->divisor, f->mean, f->covariance, n);
    if (status != SHS_OK) return status;
    for (i = 0; i < n; i++) f->scale[i] = 1;
    for (i = 0; i < n && o->correlation; i++) {
        f->scale[i] = SHS__WSQRT(*SHS__AT(f->covariance, n, i, i));
        if (!(f->scale[i] > 0)) return SHS_ZERO_VARIANCE;
    }
    for (*total = 0, j = 0; j < n; j++) {
        for (i = 0; i < n; i++) *SHS__AT(f->covariance, n, i, j) /= f->scale[i] * f->scale[j];
        *total += *SHS__AT(f->covariance, n, j, j);
    }
    return SHS_OK;
}

/* The entry of largest magnitude of v, n values `step` apart, is made positive, the first of equals; `with` follows. Returns
   the sign by which both were multiplied. */
SHS__PRIVATE int shs__pca_fix_sign(int n, shs_wide *v, int step, shs_wide *with) {
    int i, at = 0;
    for (i = 1; i < n; i++)
        if (shs__wabs(v[i * step]) > shs__wabs(v[at * step])) at = i;
    if (v[at * step] >= 0) return 1;
    for (i = 0; i < n; i++) v[i * step] = -v[i * step], with[i] = -with[i];
    return -1;
}

/* The result of a fit. `values` eigenvalues were found, and eigenvectors V of the (scaled) covariance; with `rank`, which is
   that of the noise (o->noise), of the whitened one: then the vectors are whitener V, and room V leads back. */
SHS__PRIVATE shs_status shs__pca_finish(const shs_context *ctx, const shs__fit *f, const shs_pca_options *o, int n, int values,
                                        int rank, shs_wide total, shs_wide count, shs_pca *pca) {
    shs_pca made = SHS_ZERO;
    int k = shs__pca_count(o, values, f->values, total), i, j;
    shs_status status = shs__pca_create(ctx, &made, n, k, values, rank);
    if (status != SHS_OK) return status;
    made.count = count;
    made.total_variance = total;
    made.precise = rank ? SHS_PRECISION_ALWAYS : o->precise;
    memcpy(made.mean, f->mean, (size_t)n * sizeof(shs_wide));
    memcpy(made.scale, f->scale, (size_t)n * sizeof(shs_wide));
    memcpy(made.eigenvalues, f->values, (size_t)values * sizeof(shs_wide));
    if (rank) {
        shs__wide_product(n, k, rank, f->whitener, f->vectors, rank, made.vectors);
        shs__wide_product(n, k, rank, f->room, f->vectors, rank, made.backward);
        for (j = 0; j < n; j++)
            memcpy(SHS__AT(made.noise, n, 0, j), SHS__AT(o->noise, o->ldn, 0, j), (size_t)n * sizeof(shs_wide));
    } else {
        memcpy(made.vectors, f->vectors, (size_t)n * (size_t)k * sizeof(shs_wide));
        memcpy(made.backward, f->vectors, (size_t)n * (size_t)k * sizeof(shs_wide));
    }
    for (j = 0; j < k; j++) {
        shs__pca_fix_sign(n, SHS__AT(made.vectors, n, 0, j), 1, SHS__AT(made.backward, n, 0, j));
        for (i = 0; i < n; i++) {
            *SHS__AT(made.forward, k, j, i) = *SHS__AT(made.vectors, n, i, j) / f->scale[i];
            *SHS__AT(made.backward, n, i, j) *= f->scale[i];
        }
    }
    *pca = made;
    return SHS_OK;
}

/* ---- minimum noise fraction -------------------------------------------------------------------------------- >>mnf */

/* C (m x n) = A'B for A of k x m and B of k x n. */
SHS__PRIVATE void shs__wide_inner(int m, int n, int k, const shs_wide *A, const shs_wide *B, shs_wide *C) {
    int i, j;
    for (j = 0; j < n; j++)
        for (i = 0; i < m; i++) *SHS__AT(C, m, i, j) = shs__wide_dot(k, SHS__AT(A, k, 0, i), SHS__AT(B, k, 0, j));
}

/* F = E Lambda^-1/2 of the noise (n x r, r its rank), then the *values = r eigenpairs of F'CF, whose trace is *total; in f:
   whitener = F, room = E Lambda^1/2. */
SHS__PRIVATE shs_status shs__pca_fit_noise(const shs_context *ctx, int n, const shs_wide *noise, int ldn,
                                           const shs_pca_options *o, shs__fit *f, int *values, shs_wide *total) {
    int i, j, rank = 0;
    shs_status status = shs_eigh(ctx, n, noise, ldn, n, f->noise_values, f->noise, n);
    if (status != SHS_OK) return status;
    while (rank < n && f->noise_values[rank] > SHS__RANK_EPS * f->noise_values[0]) rank++;
    if (rank == 0 || o->components > rank) return SHS_RANK_TOO_LOW;
    for (j = 0; j < rank; j++) {
        shs_wide deviation = SHS__WSQRT(f->noise_values[j]);
        for (i = 0; i < n; i++) {
            *SHS__AT(f->whitener, n, i, j) = *SHS__AT(f->noise, n, i, j) / deviation;
            *SHS__AT(f->room, n, i, j) = *SHS__AT(f->noise, n, i, j) * deviation;
        }
    }
    shs__wide_product(n, rank, n, f->covariance, f->whitener, n, f->vectors); /* C F; noise is room for the result */
    shs__wide_inner(rank, rank, n, f->whitener, f->vectors, f->noise);
    *values = rank;
    status = shs_eigh(ctx, rank, f->noise, rank, rank, f->values, f->vectors, rank);
    for (*total = 0, i = 0; i < rank && status == SHS_OK; i++) *total += f->values[i];
    return status;
}

/* Principal components or, with mnf, the noise fraction. */
SHS__PRIVATE shs_status shs__pca_fit_moments(const shs_context *ctx, const shs_moments *moments, int mnf, const shs_wide *noise,
                                             int ldn, const shs_pca_options *options, shs_pca *pca) {
    shs_pca_options o = options ? *options : shs__pca_zero;
    shs__fit f = SHS_ZERO;
    shs__layout l = SHS_ZERO;
    shs_wide total = 0;
    int n, values;
    shs_status status = shs__ctx_check(ctx);
    if (status != SHS_OK) return status;
    if (!moments || !moments->products) return SHS_BAD_MOMENTS;
    n = moments->bands;
    if (mnf && !noise) return SHS_BAD_A;
    if (mnf && ldn < n) return SHS_BAD_LDN;
    if (!pca) return SHS_BAD_OUTPUT;
    status = shs__pca_check(&o, n);
    if (mnf) o.correlation = 0, o.noise = noise, o.ldn = ldn;
    values = o.components > 0 ? o.components : n;
    while (shs__layout_next(ctx, &l, &status)) shs__pca_fit_layout(&l, &f, n, mnf);
    if (status == SHS_OK) status = shs__pca_fit_statistics(moments, &o, &f, &total);
    if (status == SHS_OK && mnf) status = shs__pca_fit_noise(ctx, n, noise, ldn, &o, &f, &values, &total);
    else if (status == SHS_OK) status = shs_eigh(ctx, n, f.covariance, n, values, f.values, f.vectors, n);
    if (status == SHS_OK) status = shs__pca_finish(ctx, &f, &o, n, values, mnf ? values : 0, total, moments->count, pca);
    shs__layout_release(ctx, &l);
    return status;
}

SHS__PUBLIC shs_status shs_pca_from_moments(const shs_context *ctx, const shs_moments *moments, const shs_pca_options *options,
                                            shs_pca *pca) {
    return shs__pca_fit_moments(ctx, moments, 0, NULL, 0, options, pca);
}

SHS__PUBLIC shs_status shs_mnf_from_noise(const shs_context *ctx, const shs_moments *moments, const shs_wide *noise, int ldn,
                                          const shs_pca_options *options, shs_pca *mnf) {
    return shs__pca_fit_moments(ctx, moments, 1, noise, ldn, options, mnf);
}

/* ---- fits of cubes ---------------------------------------------------------------------------------- >>pca_cubes */

/* The first step of a fit, and of the transform that follows it into the sink (NULL: none does): the ranks agree whether all
   are well and were given the same options. */
SHS__OUTLINE shs_status shs__px_meet(const shs__pixels *px, shs_status status, const char *call, const int64_t *numbers,
                                     size_t count, const shs_wide *two, const shs_sink *sink) {
    shs__meeting meeting = shs__ctx_meeting_for(px->ctx, call);
    meeting.all = shs__ctx_imprint(meeting.all, &px->view.used, sizeof px->view.used);
    meeting.all = shs__ctx_imprint(meeting.all, numbers, count * sizeof *numbers);
    meeting.all = shs__ctx_imprint(meeting.all, two, 2 * sizeof *two);
    if (status == SHS_OK && sink) meeting.all = shs__px_imprint_sink(meeting.all, sink);
    return shs__ctx_meet(px->ctx, status, &meeting);
}

SHS__PRIVATE shs_status shs__pca_meet(const shs__pixels *px, shs_status status, const char *call, const shs_pca_options *o,
                                      const shs_sink *sink) {
    const int64_t numbers[] = {o->components,          o->correlation != 0,    o->divisor,       (int64_t)o->precise,
                               (int64_t)o->neighbours, o->noise_residual != 0, o->noise != NULL, o->skip};
    const shs_wide two[] = {o->variance, o->eigenvalue_at_least};
    return shs__px_meet(px, status, call, numbers, sizeof numbers / sizeof *numbers, two, sink);
}

/* The variance of band b's noise that the bands on both sides do not predict, of the covariance N of all: N_bb less
   (u v) (p c; c q)^-1 (u v)'. Where the two are all but dependent, or one is not there, the better one predicts alone. */
SHS__PRIVATE shs_wide shs__noise_residual(int n, const shs_wide *N, int b) {
    int l = b > 0 ? b - 1 : b + 1, r = b + 1 < n ? b + 1 : b - 1;
    shs_wide p, q, c, u, v, determinant, by_two = 0, by_l, by_r, whole = *SHS__AT(N, n, b, b);
    if (n == 1) return whole;
    p = *SHS__AT(N, n, l, l), q = *SHS__AT(N, n, r, r), c = *SHS__AT(N, n, r, l);
    u = *SHS__AT(N, n, b, l), v = *SHS__AT(N, n, b, r);
    determinant = p * q - c * c;
    if (determinant > SHS__RANK_EPS * p * q) by_two = (u * u * q - 2 * u * v * c + v * v * p) / determinant;
    by_l = p > 0 ? u * u / p : 0, by_r = q > 0 ? v * v / q : 0;
    if (by_two < by_l) by_two = by_l;
    if (by_two < by_r) by_two = by_r;
    return by_two < whole ? whole - by_two : 0;
}

/* The noise covariance, n x n, over the pixels of all ranks. Differences are summed in a pass for each neighbour; half their
   covariance is noise. */
SHS__PRIVATE shs_status shs__pca_noise(const shs__pixels *px, const shs_pca_options *o, shs_wide *noise) {
    const shs_context *ctx = px->ctx;
    int n = px->view.used, each = o->neighbours == SHS_NEIGHBOURS_MEAN, from = each ? 0 : (int)o->neighbours,
        to = each ? 2 : from;
    size_t cells = (size_t)n * (size_t)n, i;
    shs_status status = SHS_OK;
    memset(noise, 0, cells * sizeof *noise);
    for (; from <= to && status == SHS_OK; from++) {
        shs_moments d = SHS_ZERO;
        status = shs_moments_create(ctx, n, &d);
        if (status == SHS_OK) status = shs__px_add_moments(px, SHS_PRECISION_ALWAYS, (shs__pairs)(SHS__PAIRS_RIGHT + from), &d);
        status = shs__ctx_agree(ctx, status);
        if (status == SHS_OK) status = shs_moments_reduce(ctx, &d);
        if (status == SHS_OK) status = shs_moments_finish(&d, SHS_DIVISOR_N, d.shift, d.products, n); /* in place of the sums */
        for (i = 0; i < cells && status == SHS_OK; i++) noise[i] += d.products[i] / (each ? 6 : 2);
        shs_moments_free(ctx, &d);
    }
    return status;
}

/* Only the residuals' variances stay. */
SHS__PRIVATE void shs__pca_residual(int n, shs_wide *noise, shs_wide *residual) {
    int b;
    for (b = 0; b < n; b++) residual[b] = shs__noise_residual(n, noise, b);
    memset(noise, 0, (size_t)n * (size_t)n * sizeof *noise);
    for (b = 0; b < n; b++) *SHS__AT(noise, n, b, b) = residual[b];
}

/* The fit over the pixels of all ranks: their moments, for MNF the noise, too, then the eigenproblem. Only when it goes well on
   all of them is there a result. */
SHS__OUTLINE shs_status shs__pca_pixels(const shs__pixels *px, const shs_pca_options *o, int mnf, shs_pca *pca) {
    const shs_context *ctx = px->ctx;
    shs_moments pixels = SHS_ZERO, noise = SHS_ZERO; /* the noise is where there would be products of pixels */
    const shs_wide *N = mnf ? o->noise : NULL;
    int n = px->view.used, ldn = o->ldn ? o->ldn : n;
    shs_status status = shs_moments_create(ctx, n, &pixels);
    if (status == SHS_OK) status = shs__px_add_moments(px, mnf ? SHS_PRECISION_ALWAYS : o->precise, SHS__NO_PAIRS, &pixels);
    status = shs__ctx_agree(ctx, status);
    if (status == SHS_OK) status = shs_moments_reduce(ctx, &pixels);
    if (status == SHS_OK && mnf && !N) {
        status = shs__ctx_agree(ctx, shs_moments_create(ctx, n, &noise));
        if (status == SHS_OK) status = shs__pca_noise(px, o, noise.products);
        if (status == SHS_OK && o->noise_residual) shs__pca_residual(n, noise.products, noise.sum);
        N = noise.products, ldn = n;
    }
    if (status == SHS_OK)
        status = shs__ctx_agree(ctx, mnf ? shs_mnf_from_noise(ctx, &pixels, N, ldn, o, pca)
                                         : shs_pca_from_moments(ctx, &pixels, o, pca));
    if (status != SHS_OK) shs_pca_free(ctx, pca);
    shs_moments_free(ctx, &pixels);
    shs_moments_free(ctx, &noise);
    return status;
}

typedef enum shs__pca_call { SHS__PCA_FIT, SHS__PCA_RUN, SHS__MNF_FIT, SHS__MNF_RUN } shs__pca_call;

/* The fit and, where it runs, the components of every pixel into the sink; pca may be NULL then. */
SHS__OUTLINE shs_status shs__pca_cube(const shs_context *ctx, shs__pca_call call, const shs_cube *cube,
                                      const shs_pca_options *options, const shs_sink *sink, shs_pca *pca) {
    static const char *const names[] = {"pca", "pca run", "mnf", "mnf run"};
    int runs = call == SHS__PCA_RUN || call == SHS__MNF_RUN, mnf = call >= SHS__MNF_FIT;
    const shs_pca_options *o = options ? options : &shs__pca_zero;
    shs__pixels px;
    shs_pca made = SHS_ZERO;
    shs_pixel_map map;
    shs_status status = shs__px_open(ctx, cube, &px);
    if (status == SHS_OK && runs) status = shs__px_check_sink(cube, sink);
    if (status == SHS_OK && !runs && !pca) status = SHS_BAD_OUTPUT;
    if (status == SHS_OK && (unsigned)o->neighbours > SHS_NEIGHBOURS_MEAN) status = SHS_BAD_OPTIONS;
    if (status == SHS_OK && o->noise && o->ldn && o->ldn < px.view.used) status = SHS_BAD_LDN;
    status = shs__pca_meet(&px, status, names[call], o, sink);
    if (status == SHS_OK) status = shs__pca_pixels(&px, o, mnf, &made);
    if (status == SHS_OK && runs) {
        map = shs__px_map_of(made.bands, made.components, made.forward, made.mean, NULL);
        status = shs__ctx_agree(ctx, shs__pixels_map(&px, &map, made.precise, sink, 0));
    }
    if (status == SHS_OK && pca) *pca = made;
    else shs_pca_free(ctx, &made);
    shs__px_close(&px);
    return status;
}

/* The fast form of shs_pca_naive. */
SHS__PUBLIC shs_status shs_pca_fit(const shs_context *ctx, const shs_cube *cube, const shs_pca_options *options, shs_pca *pca) {
    return shs__pca_cube(ctx, SHS__PCA_FIT, cube, options, NULL, pca);
}

SHS__PUBLIC shs_status shs_pca_run(const shs_context *ctx, const shs_cube *cube, const shs_pca_options *options,
                                   const shs_sink *sink, shs_pca *pca) {
    return shs__pca_cube(ctx, SHS__PCA_RUN, cube, options, sink, pca);
}

/* The fast form of shs_mnf_naive. */
SHS__PUBLIC shs_status shs_mnf_fit(const shs_context *ctx, const shs_cube *cube, const shs_pca_options *options, shs_pca *mnf) {
    return shs__pca_cube(ctx, SHS__MNF_FIT, cube, options, NULL, mnf);
}

SHS__PUBLIC shs_status shs_mnf_run(const shs_context *ctx, const shs_cube *cube, const shs_pca_options *options,
                                   const shs_sink *sink, shs_pca *mnf) {
    return shs__pca_cube(ctx, SHS__MNF_RUN, cube, options, sink, mnf);
}

/* ---- transforms ------------------------------------------------------------------------------------- >>transforms */

SHS__PRIVATE int shs__pca_ok(const shs_pca *pca) { return pca && pca->bands > 0 && pca->components > 0 && pca->forward; }

SHS__PUBLIC shs_status shs_pca_transform(const shs_context *ctx, const shs_pca *pca, const shs_cube *cube,
                                         const shs_sink *sink) {
    shs_pixel_map map = SHS_ZERO;
    if (shs__pca_ok(pca)) /* otherwise the map stays empty: refused, by all ranks together */
        map = shs__px_map_of(pca->bands, pca->components, pca->forward, pca->mean, NULL);
    return shs_cube_map(ctx, cube, &map, pca ? pca->precise : SHS_PRECISION_AUTO, sink);
}

SHS__PUBLIC shs_status shs_pca_inverse(const shs_context *ctx, const shs_pca *pca, const shs_cube *components,
                                       const shs_sink *sink) {
    shs_pixel_map map = SHS_ZERO;
    if (shs__pca_ok(pca)) map = shs__px_map_of(pca->components, pca->bands, pca->backward, NULL, pca->mean);
    return shs_cube_map(ctx, components, &map, pca ? pca->precise : SHS_PRECISION_AUTO, sink);
}

SHS__PUBLIC shs_status shs_pca_denoise(const shs_context *ctx, const shs_pca *pca, int components, const shs_cube *cube,
                                       const shs_sink *sink) {
    shs_pixel_map map;
    shs__layout l = SHS_ZERO;
    shs_wide *both = NULL;
    int n, k;
    shs_status status = shs__ctx_check(ctx);
    if (status == SHS_OK && !shs__pca_ok(pca)) status = SHS_BAD_MAP;
    else if (status == SHS_OK && (components < 0 || components > pca->components)) status = SHS_BAD_COMPONENTS;
    while (shs__layout_next(ctx, &l, &status))
        both = SHS__CARVE(&l, shs_wide, shs__layout_product((size_t)pca->bands, (size_t)pca->bands, 1));
    status = shs__ctx_agree(ctx, status); /* before the collective map */
    if (status == SHS_OK) {
        n = pca->bands, k = components ? components : pca->components;
        shs__wide_product(n, n, k, pca->backward, pca->forward, pca->components, both);
        map = shs__px_map_of(n, n, both, pca->mean, pca->mean);
        status = shs_cube_map(ctx, cube, &map, pca->precise, sink);
    }
    shs__layout_release(ctx, &l);
    return status;
}

/* The number of components above rounding. */
SHS__PRIVATE int shs__pca_whitening_rank(const shs_pca *pca) {
    shs_wide share = pca->precise == SHS_PRECISION_ALWAYS ? SHS__RANK_EPS : SHS__RANK_EPS_QUICK;
    int k;
    for (k = 0; k < pca->components && pca->eigenvalues[k] > share * pca->eigenvalues[0];) k++;
    return k;
}

/* A = Q R for A of m x n, m <= n: R, upper triangular in its first m columns, in place of A; |R x| = |A x| for every x.
   Householder: H = I - 2 v v' / v'v reflects the rest of column j onto its first element. */
SHS__PRIVATE void shs__wide_triangle(int m, int n, shs_wide *A, shs_wide *v) {
    int i, j, c;
    for (j = 0; j < m - 1; j++) {
        shs_wide *a = SHS__AT(A, m, 0, j), length2 = shs__wide_dot(m - j, a + j, a + j), square;
        if (!(length2 > 0)) continue;
        memcpy(v + j, a + j, (size_t)(m - j) * sizeof *v);
        v[j] += v[j] >= 0 ? SHS__WSQRT(length2) : -SHS__WSQRT(length2);
        square = length2 - a[j] * a[j] + v[j] * v[j];
        for (c = j; c < n; c++) {
            shs_wide *b = SHS__AT(A, m, 0, c), twice = 2 / square * shs__wide_dot(m - j, v + j, b + j);
            for (i = j; i < m; i++) b[i] -= twice * v[i];
        }
        for (i = j + 1; i < m; i++) a[i] = 0;
    }
}

/* Only the components behind the first `skip` stay, up to number `used`. */
SHS__PRIVATE void shs__pca_cut(shs_pca *p, int skip, int used) {
    size_t n = (size_t)p->bands, from = n * (size_t)skip;
    int i, j, k = used - skip;
    memmove(p->eigenvalues, p->eigenvalues + skip, (size_t)k * sizeof(shs_wide));
    memmove(p->vectors, p->vectors + from, n * (size_t)k * sizeof(shs_wide));
    memmove(p->backward, p->backward + from, n * (size_t)k * sizeof(shs_wide));
    p->components = p->eigenvalue_count = k;
    for (j = 0; j < p->bands; j++)
        for (i = 0; i < k; i++) *SHS__AT(p->forward, k, i, j) = *SHS__AT(p->vectors, n, j, i) / p->scale[j];
}

/* The components that scores are of, over the pixels of all ranks. */
SHS__PRIVATE shs_status shs__rx_pixels(const shs__pixels *px, const shs_pca_options *o, shs_pca *rx) {
    shs_pca_options all = *o;
    int used;
    shs_status status;
    if (o->skip < 0 || o->components > px->view.used - o->skip) return SHS_BAD_COMPONENTS; /* on every rank alike */
    if (o->components > 0) all.components += o->skip;
    all.precise = SHS_PRECISION_ALWAYS;
    status = shs__pca_pixels(px, &all, 0, rx);
    if (status != SHS_OK) return status;
    used = shs__pca_whitening_rank(rx);
    if (used == 0) status = SHS_ZERO_VARIANCE;
    else if (all.components > used || o->skip >= used) status = SHS_RANK_TOO_LOW;
    if (status == SHS_OK) shs__pca_cut(rx, o->skip, used);
    else shs_pca_free(px->ctx, rx);
    return status;
}

/* F (components x bands) = Lambda^-1/2 forward, and as a triangle: half of it is 0 then, and need not be multiplied. F may be
   rx->forward; v: bands. */
SHS__PRIVATE void shs__rx_whiten(const shs_pca *rx, shs_wide *F, shs_wide *v) {
    int i, j, k = rx->components;
    for (j = 0; j < rx->bands; j++)
        for (i = 0; i < k; i++) *SHS__AT(F, k, i, j) = *SHS__AT(rx->forward, k, i, j) / SHS__WSQRT(rx->eigenvalues[i]);
    shs__wide_triangle(k, rx->bands, F, v);
}

/* The fit, kept in rx, or else used for the scores. */
SHS__OUTLINE shs_status shs__rx_cube(const shs_context *ctx, const shs_cube *cube, const shs_pca_options *options, int keep,
                                     const shs_sink *sink, int *rank, shs_pca *rx) {
    const shs_pca_options *o = options ? options : &shs__pca_zero;
    shs_pixel_map map;
    shs__pixels px;
    shs_pca made = SHS_ZERO;
    int used = 0;
    shs_status status = shs__px_open(ctx, cube, &px);
    if (status == SHS_OK && !keep) status = shs__px_check_sink(cube, sink);
    if (status == SHS_OK && keep && !rx) status = SHS_BAD_OUTPUT;
    status = shs__pca_meet(&px, status, keep ? "rx fit" : "rx", o, sink);
    if (status == SHS_OK) status = shs__rx_pixels(&px, o, &made);
    if (status == SHS_OK) used = made.components;
    if (status == SHS_OK && !keep) {
        shs__rx_whiten(&made, made.forward, made.vectors);
        map = shs__px_map_of(made.bands, used, made.forward, made.mean, NULL);
        status = shs__ctx_agree(ctx, shs__pixels_map(&px, &map, SHS_PRECISION_ALWAYS, sink, 1));
    }
    if (status == SHS_OK && rank) *rank = used;
    if (status == SHS_OK && keep) *rx = made;
    else shs_pca_free(ctx, &made);
    shs__px_close(&px);
    return status;
}

/* The fast form of shs_rx_naive. */
SHS__PUBLIC shs_status shs_rx(const shs_context *ctx, const shs_cube *cube, const shs_pca_options *options,
                              const shs_sink *sink, int *rank) {
    return shs__rx_cube(ctx, cube, options, 0, sink, rank, NULL);
}

SHS__PUBLIC shs_status shs_rx_fit(const shs_context *ctx, const shs_cube *cube, const shs_pca_options *options, shs_pca *rx) {
    return shs__rx_cube(ctx, cube, options, 1, NULL, NULL, rx);
}

SHS__PUBLIC shs_status shs_rx_transform(const shs_context *ctx, const shs_pca *rx, const shs_cube *cube, const shs_sink *sink) {
    shs_pixel_map map;
    shs__pixels px;
    shs__layout l = SHS_ZERO;
    shs_wide *F = NULL, *v = NULL;
    shs__meeting meeting = shs__ctx_meeting_for(ctx, "rx transform");
    shs_status status = shs__px_open(ctx, cube, &px);
    if (status == SHS_OK) status = shs__px_check_sink(cube, sink);
    if (status == SHS_OK && !(shs__pca_ok(rx) && rx->components <= rx->bands && rx->eigenvalue_count >= rx->components))
        status = SHS_BAD_MAP;
    if (status == SHS_OK && !(rx->eigenvalues[rx->components - 1] > 0)) status = SHS_BAD_MAP;
    if (status == SHS_OK) meeting.all = shs__px_imprint_sink(meeting.all, sink);
    while (shs__layout_next(ctx, &l, &status)) {
        F = SHS__CARVE(&l, shs_wide, shs__layout_product((size_t)rx->bands, (size_t)rx->components, 1));
        v = SHS__CARVE(&l, shs_wide, (size_t)rx->bands);
    }
    status = shs__ctx_meet(ctx, status, &meeting);
    if (status == SHS_OK) {
        shs__rx_whiten(rx, F, v);
        map = shs__px_map_of(rx->bands, rx->components, F, rx->mean, NULL);
        status = shs__pixels_map(&px, &map, SHS_PRECISION_ALWAYS, sink, 1);
    }
    shs__layout_release(ctx, &l);
    shs__px_close(&px);
    return status;
}

/* ---- anomalies, class by class ---------------------------------------------------------------------- >>rx_classes */

/* A stream's marks of all lines, asked for alone. */
SHS__PRIVATE shs_status shs__rx_marks(const shs__view *v, unsigned char *marks) {
    const shs_cube *c = v->cube;
    int at, lines;
    for (at = 0; at < v->lines; at += lines) {
        lines = shs__imin(v->block_lines, v->lines - at);
        if (c->mask_fn(c->mask_user, at, lines, marks + (size_t)at * (size_t)v->samples)) return SHS_READ_FAILED;
    }
    return SHS_OK;
}

/* Pixels of class k: their marks go to `mask`; k below 0: of every class that has a fit. */
SHS__PRIVATE void shs__rx_mask(const shs_cube *cube, const int *labels, int k, int classes, const shs_pca *fits,
                               unsigned char *mask) {
    size_t count = (size_t)cube->lines * (size_t)cube->samples, i;
    for (i = 0; i < count; i++) {
        int label = labels[i], in = k >= 0 ? label == k : label >= 0 && label < classes && fits[label].components > 0;
        mask[i] = (unsigned char)(in && (!cube->mask || cube->mask[i]));
    }
}

/* A fit for each class, by passes over its own pixels; a class without pixels or variance has none. */
SHS__PRIVATE shs_status shs__rx_fit_classes(const shs_context *ctx, const shs_cube *cube, const int *labels, int classes,
                                            const shs_pca_options *o, unsigned char *mask, shs_pca *fits) {
    shs_status status = SHS_OK, first = SHS_NO_PIXELS;
    shs_cube part = *cube;
    int k, any = 0;
    part.mask = mask;
    for (k = 0; k < classes && status == SHS_OK; k++) {
        shs__pixels px;
        shs__rx_mask(cube, labels, k, classes, fits, mask);
        status = shs__ctx_agree(ctx, shs__px_open(ctx, &part, &px));
        if (status == SHS_OK) status = shs__rx_pixels(&px, o, fits + k);
        shs__px_close(&px);
        any |= status == SHS_OK;
        if (status == SHS_ZERO_VARIANCE) first = status;
        if (status == SHS_NO_PIXELS || status == SHS_ZERO_VARIANCE) status = SHS_OK;
    }
    return status == SHS_OK && !any ? first : status;
}

SHS__PRIVATE void shs__rx_classes_layout(shs__layout *l, shs__map_job *job, shs__classes *c, const shs_pca *fits, int workers) {
    int k;
    shs__px_map_job_layout(l, job, workers);
    c->scores = SHS__CARVE(l, shs_wide, shs__layout_product(SHS__PANEL_PIXELS, (size_t)workers, 1));
    c->maps = SHS__CARVE(l, shs__map, (size_t)c->count);
    for (k = 0; k < c->count; k++) {
        shs__map counted = SHS_ZERO, *map = l->base ? c->maps + k : &counted;
        memset(map, 0, sizeof *map);
        if (fits[k].components == 0) continue;
        shs__px_map_init(map, job->reader.kernels, fits[k].bands, fits[k].components, job->map.planes, 1);
        shs__px_map_matrix_layout(l, map);
    }
}

/* The scores of all pixels whose class has a fit. The reader takes the mean of the first such class off all pixels; what the
   other means differ by becomes an offset. */
SHS__PRIVATE shs_status shs__rx_score_classes(const shs_context *ctx, const shs_cube *cube, const int *labels, int classes,
                                              shs_pca *fits, const shs_sink *sink) {
    shs__pixels px = SHS_ZERO;
    shs__map_job job;
    shs__classes c = SHS_ZERO;
    shs__layout l = SHS_ZERO;
    const shs_wide *centre = NULL;
    shs_pixel_map largest = SHS_ZERO;
    int k, i, b;
    shs_status status = shs__px_view_open(cube, &px.view);
    px.ctx = ctx;
    c.labels = labels, c.count = classes;
    largest.bands = px.view.used, largest.outputs = 1;
    for (k = 0; k < classes; k++) largest.outputs = shs__imax(largest.outputs, fits[k].components);
    if (status == SHS_OK) shs__px_map_job_init(&job, &px.view, &largest, shs__is_wide(SHS_PRECISION_ALWAYS), 1, sink);
    while (shs__layout_next(ctx, &l, &status)) shs__rx_classes_layout(&l, &job, &c, fits, shs__ctx_workers(ctx));
    for (k = 0; k < classes && status == SHS_OK; k++) {
        shs_pca *f = fits + k;
        shs_wide *offset = f->backward; /* a fit is used once: there is room in it */
        if (f->components == 0) continue;
        if (!centre) centre = f->mean;
        shs__rx_whiten(f, f->forward, f->vectors);
        for (i = 0; i < f->components; i++)
            for (offset[i] = 0, b = 0; b < f->bands; b++)
                offset[i] += *SHS__AT(f->forward, f->components, i, b) * (centre[b] - f->mean[b]);
        shs__px_map_set(c.maps + k, f->forward, 1, f->components, centre, offset);
        if (centre == f->mean) job.reader.shift = c.maps[k].shift;
    }
    if (status == SHS_OK) job.classes = &c;
    if (sink->rescale) {
        if (status == SHS_OK) status = shs__px_cpu_range(ctx, &job);
        status = shs__ctx_agree(ctx, status);
        if (status == SHS_OK) status = shs__ctx_reduce(ctx, job.writer.low, 1, SHS_REDUCE_MIN);
        if (status == SHS_OK) status = shs__ctx_reduce(ctx, job.writer.high, 1, SHS_REDUCE_MAX);
    }
    if (status == SHS_OK) status = shs__px_cpu_map(ctx, &job, "transform");
    shs__layout_release(ctx, &l);
    return shs__ctx_agree(ctx, status);
}

/* The fast form of shs_rx_classes_naive. */
SHS__PUBLIC shs_status shs_rx_classes(const shs_context *ctx, const shs_cube *cube, const int *labels, int classes,
                                      const shs_pca_options *options, const shs_sink *sink, int *ranks) {
    const shs_pca_options *o = options ? options : &shs__pca_zero;
    shs__pixels px = SHS_ZERO;
    shs__layout l = SHS_ZERO;
    shs_pca *fits = NULL;
    unsigned char *mask = NULL, *marks = NULL;
    shs_cube given = SHS_ZERO, scored;
    int k;
    shs__meeting meeting = shs__ctx_meeting_for(ctx, "rx classes");
    shs_status status = shs__ctx_check(ctx);
    px.ctx = ctx;
    if (status == SHS_OK) status = shs__px_view_open(cube, &px.view);
    if (status == SHS_OK) status = shs__px_check_sink(cube, sink);
    if (status == SHS_OK && (classes < 1 || (!labels && cube->lines > 0))) status = SHS_BAD_LABELS;
    if (status == SHS_OK && ctx && ctx->engine && !ctx->engine->fallback) status = SHS_UNSUPPORTED;
    while (shs__layout_next(ctx, &l, &status)) {
        size_t pixels = shs__layout_product((size_t)cube->samples, (size_t)cube->lines, 1);
        fits = SHS__CARVE(&l, shs_pca, (size_t)classes);
        mask = SHS__CARVE(&l, unsigned char, pixels);
        marks = SHS__CARVE(&l, unsigned char, cube->mask_fn ? pixels : 0);
    }
    if (status == SHS_OK) {
        memset(fits, 0, (size_t)classes * sizeof *fits);
        given = *cube;
        if (cube->mask_fn) status = shs__rx_marks(&px.view, marks), given.mask = marks, given.mask_fn = NULL;
    }
    meeting.all = shs__ctx_imprint(meeting.all, &classes, sizeof classes);
    status = shs__ctx_meet(ctx, status, &meeting);
    if (status == SHS_OK) status = shs__pca_meet(&px, status, "rx classes", o, sink);
    if (status == SHS_OK) status = shs__rx_fit_classes(ctx, &given, labels, classes, o, mask, fits);
    for (k = 0; k < classes && ranks && status == SHS_OK; k++) ranks[k] = fits[k].components;
    if (status == SHS_OK) {
        shs__rx_mask(&given, labels, -1, classes, fits, mask);
        scored = given, scored.mask = mask;
        status = shs__rx_score_classes(ctx, &scored, labels, classes, fits, sink);
    }
    for (k = 0; k < classes && fits; k++) shs_pca_free(ctx, fits + k);
    shs__layout_release(ctx, &l);
    return status;
}

/* ---- anomalies, each in its own window ------------------------------------------------------------------ >>rx_local */

enum {
    SHS__LOCAL_LINES = 8, /* lines whose scores are found together */
    SHS__LOCAL_RUN = 64   /* neighbours in a line, at most, whose sums follow one from the other */
};

/* A worker's sums and room. Matrices are ld x padded, zero where there is no band. */
typedef struct shs__local_own {
    shs_wide *products, *L, *tile; /* the sums of x x'; the factor of their scatter; ld x columns of L L' */
    shs_wide *sum, *u;             /* ld */
    shs_wide *plus, *pixel;        /* a batch of pixels that come in or go, ld each: with their signs, and as they are */
    shs_wide count, ridge;         /* valid pixels; what is added to each band's scatter */
    int batch;
} shs__local_own;

typedef struct shs__local {
    shs__reader reader;
    shs__writer writer;
    const shs__pixels_kernels *kernels;
    int n, ld, padded; /* bands; rows and columns of matrices */
    int inner, outer, lines, samples;
    shs_divisor divisor;
    shs_wide ridge;
    int first, count; /* the lines whose scores are wanted */
    int kept, next;   /* places for lines; the next line to come */
    int runs, run;    /* runs a line, and pixels in each */
    shs_wide *pixels; /* kept x samples x ld: line y is at y % kept */
    unsigned char *missing;
    shs_wide *scores; /* SHS__LOCAL_LINES x samples */
    unsigned char *no_score;
    shs_real *shift;
    shs_wide *wide_shift;
    shs__local_own *own; /* one a worker */
} shs__local;

enum { SHS__LOCAL_BATCH = 64 };

SHS__PRIVATE void shs__rx_local_layout(shs__layout *l, shs__local *w, int workers) {
    size_t ld = (size_t)w->ld, cells = shs__layout_product(ld, (size_t)w->padded, 1), samples = (size_t)w->samples;
    shs__view written = w->reader.view;
    int i;
    written.block_lines = SHS__LOCAL_LINES;
    shs__px_reader_layout(l, &w->reader, 1);
    shs__px_writer_layout(l, &w->writer, &written);
    w->pixels = SHS__CARVE(l, shs_wide, shs__layout_product((size_t)w->kept, samples, ld));
    w->missing = SHS__CARVE(l, unsigned char, shs__layout_product((size_t)w->kept, samples, 1));
    w->scores = SHS__CARVE(l, shs_wide, shs__layout_product(SHS__LOCAL_LINES, samples, 1));
    w->no_score = SHS__CARVE(l, unsigned char, shs__layout_product(SHS__LOCAL_LINES, samples, 1));
    w->shift = SHS__CARVE(l, shs_real, (size_t)w->n);
    w->wide_shift = SHS__CARVE(l, shs_wide, (size_t)w->n);
    w->own = SHS__CARVE(l, shs__local_own, (size_t)workers);
    for (i = 0; i < workers; i++) {
        shs__local_own counted, *own = l->base ? w->own + i : &counted;
        own->products = SHS__CARVE(l, shs_wide, cells);
        own->L = SHS__CARVE(l, shs_wide, cells);
        own->tile = SHS__CARVE(l, shs_wide, shs__layout_product(ld, (size_t)w->kernels->columns, 1));
        own->sum = SHS__CARVE(l, shs_wide, ld);
        own->u = SHS__CARVE(l, shs_wide, ld);
        own->plus = SHS__CARVE(l, shs_wide, shs__layout_product(ld, SHS__LOCAL_BATCH, 1));
        own->pixel = SHS__CARVE(l, shs_wide, shs__layout_product(ld, SHS__LOCAL_BATCH, 1));
        if (l->base) memset(own->L, 0, cells * sizeof(shs_wide));
    }
}

/* products += the batch, tile by tile of the lower triangle. */
SHS__PRIVATE void shs__rx_local_flush(const shs__local *w, shs__local_own *own) {
    const shs__pixels_kernels *k = w->kernels;
    int groups = w->ld / k->lanes, column, g, m;
    for (column = 0; column < w->n && own->batch; column += k->columns)
        for (g = column / k->lanes; g < groups; g += m) {
            m = shs__px_tile_groups(groups - g, k->vectors);
            k->tile(m, own->batch, own->plus + g * k->lanes, k->lanes, w->ld, own->pixel + column, 1, w->ld, 1,
                    own->products + (size_t)column * (size_t)w->ld + g * k->lanes, k->lanes, w->ld);
        }
    own->batch = 0;
}

/* The pixels of lines y0 .. y1-1 and samples x0 .. x1-1 come to the background, or go from it (sign -1). */
SHS__PRIVATE void shs__rx_local_add(const shs__local *w, shs__local_own *own, ptrdiff_t y0, ptrdiff_t y1, ptrdiff_t x0,
                                    ptrdiff_t x1, shs_wide sign) {
    ptrdiff_t y, x;
    int b;
    for (y = y0; y < y1; y++)
        for (x = x0; x < x1; x++) {
            size_t at = (size_t)(y % w->kept) * (size_t)w->samples + (size_t)x;
            const shs_wide *p = w->pixels + at * (size_t)w->ld;
            shs_wide *plus = own->plus + own->batch * w->ld;
            if (w->missing[at]) continue;
            memcpy(own->pixel + own->batch * w->ld, p, (size_t)w->ld * sizeof *p);
            for (b = 0; b < w->ld; b++) plus[b] = sign * p[b], own->sum[b] += plus[b];
            own->count += sign;
            if (++own->batch == SHS__LOCAL_BATCH) shs__rx_local_flush(w, own);
        }
}

/* L L' = products - sum sum' / count, by columns of a tile: what the columns before take off comes from the kernel. Returns 0
   where it is not positive definite. */
SHS__PRIVATE int shs__rx_local_factorize(const shs__local *w, shs__local_own *own) {
    const shs__pixels_kernels *k = w->kernels;
    int n = w->n, ld = w->ld, groups = ld / k->lanes, first, j, c, i, g, m;
    for (first = 0; first < n; first += k->columns) {
        for (g = first / k->lanes; g < groups && first; g += m) {
            m = shs__px_tile_groups(groups - g, k->vectors);
            k->tile(m, first, own->L + g * k->lanes, k->lanes, ld, own->L + first, 1, ld, 0, own->tile + g * k->lanes, k->lanes,
                    ld);
        }
        for (j = first; j < n && j < first + k->columns; j++) {
            shs_wide *SHS__RESTRICT x = SHS__AT(own->L, ld, 0, j);
            const shs_wide *a = SHS__AT(own->products, ld, 0, j), *t = SHS__AT(own->tile, ld, 0, j - first);
            shs_wide mean = own->sum[j] / own->count, least, by;
            for (i = j; i < n; i++) x[i] = a[i] - mean * own->sum[i];
            x[j] += own->ridge;
            least = SHS__RANK_EPS * x[j];
            for (i = j; i < n && first; i++) x[i] -= t[i];
            for (c = first; c < j; c++) {
                const shs_wide *before = SHS__AT(own->L, ld, 0, c);
                by = before[j];
                for (i = j; i < n; i++) x[i] -= by * before[i];
            }
            if (!(x[j] > least) || !(least > 0)) return 0;
            by = 1 / SHS__WSQRT(x[j]);
            for (i = j; i < n; i++) x[i] *= by;
        }
    }
    return 1;
}

/* |L^-1 (x - mean)|^2 times the divisor. Returns 0 where there is none. */
SHS__PRIVATE int shs__rx_local_score(const shs__local *w, shs__local_own *own, const shs_wide *x, shs_wide *score) {
    int n = w->n, i, j;
    if (!(own->count > (w->ridge > 0 ? 1 : (shs_wide)n))) return 0;
    for (own->ridge = 0, j = 0; j < n && w->ridge > 0; j++)
        own->ridge += w->ridge / (shs_wide)n * (*SHS__AT(own->products, w->ld, j, j) - own->sum[j] / own->count * own->sum[j]);
    if (!shs__rx_local_factorize(w, own)) return 0;
    for (i = 0; i < n; i++) own->u[i] = x[i] - own->sum[i] / own->count;
    for (*score = 0, j = 0; j < n; j++) {
        const shs_wide *l = SHS__AT(own->L, w->ld, 0, j);
        shs_wide z = own->u[j] / l[j];
        *score += z * z;
        for (i = j + 1; i < n; i++) own->u[i] -= z * l[i];
    }
    *score *= own->count - (w->divisor == SHS_DIVISOR_N_LESS_1 ? 1 : 0);
    return 1;
}

/* A run of neighbours in a line: the sums of the first anew, those of the others by what comes and what goes. */
SHS__PRIVATE void shs__rx_local_run(void *arg, size_t chunk, int worker) {
    const shs__local *w = (const shs__local *)arg;
    shs__local_own *own = w->own + worker;
    const int width[2] = {w->outer, w->inner};
    int line = w->first + (int)(chunk / (size_t)w->runs), x = (int)(chunk % (size_t)w->runs) * w->run, from = x, i;
    ptrdiff_t left[2] = {0, 0};
    for (; x < w->samples && x < from + w->run; x++) {
        size_t at = (size_t)(line % w->kept) * (size_t)w->samples + (size_t)x;
        size_t to = (size_t)(line - w->first) * (size_t)w->samples + (size_t)x;
        if (x == from) {
            memset(own->products, 0, (size_t)w->ld * (size_t)w->padded * sizeof(shs_wide));
            memset(own->sum, 0, (size_t)w->ld * sizeof(shs_wide));
            own->count = 0, own->batch = 0;
        }
        for (i = 0; i < 2; i++) {
            ptrdiff_t y0 = shs__rx_window(line, width[i], w->lines), y1 = y0 + shs__imin(width[i], w->lines);
            ptrdiff_t x0 = shs__rx_window(x, width[i], w->samples), across = shs__imin(width[i], w->samples);
            shs_wide sign = i == 0 ? 1 : -1;
            if (x == from) shs__rx_local_add(w, own, y0, y1, x0, x0 + across, sign);
            else {
                shs__rx_local_add(w, own, y0, y1, left[i] + across, x0 + across, sign);
                shs__rx_local_add(w, own, y0, y1, left[i], x0, -sign);
            }
            left[i] = x0;
        }
        shs__rx_local_flush(w, own);
        w->no_score[to] =
            (unsigned char)(w->missing[at] || !shs__rx_local_score(w, own, w->pixels + at * (size_t)w->ld, w->scores + to));
    }
}

/* The next line comes to its place, pixel after pixel, where it replaces one that is wanted no more. */
SHS__PRIVATE shs_status shs__rx_local_next_line(shs__local *w) {
    shs__reader *r = &w->reader;
    const shs__view *v = &r->view;
    size_t n = (size_t)w->n, samples = (size_t)w->samples, x, count, k, b, slot = (size_t)(w->next % w->kept) * samples;
    shs_status status = SHS_OK;
    if (w->next == r->next_line) {
        if (!shs__px_next_block(r, &status)) return status;
        if (w->next == 0) {
            size_t all = r->block_pixels;
            r->shift = r->zeros;
            r->block_pixels = samples; /* of the first line alone, so that the shift is the same however long blocks are */
            shs__px_find_shift(r, w->shift);
            r->block_pixels = all;
            for (b = 0; b < n; b++) w->wide_shift[b] = (shs_wide)w->shift[b];
        }
        r->shift = w->wide_shift;
    }
    for (x = 0; x < samples; x += count) {
        shs__panel *panel = r->panels;
        size_t from = 0;
        count = shs__zmin(SHS__PANEL_PIXELS, samples - x);
        shs__px_read_panel(r, panel, (size_t)(w->next - v->first_line) * samples + x, (int)count);
        memcpy(w->missing + slot + x, panel->missing, count);
        for (k = 0; k < count; from += !panel->missing[k], k++) {
            shs_wide *to = w->pixels + (slot + x + k) * (size_t)w->ld;
            memset(to, 0, (size_t)w->ld * sizeof *to);
            for (b = 0; b < n && !panel->missing[k]; b++)
                to[b] = ((const shs_wide *)panel->X)[r->planes ? b * SHS__PANEL_PIXELS + from : from * n + b];
        }
    }
    w->next++;
    return SHS_OK;
}

/* The scores of all lines: into the sink, or (range) only their extremes. */
SHS__PRIVATE shs_status shs__rx_local_pass(const shs_context *ctx, shs__local *w, int range) {
    shs__writer *o = &w->writer;
    size_t size = shs_type_size(o->sink->type), count, k;
    shs_status status = SHS_OK;
    w->next = 0, w->reader.next_line = 0;
    for (w->first = 0; w->first < w->lines && status == SHS_OK; w->first += w->count) {
        int last;
        unsigned char *to;
        w->count = shs__imin(SHS__LOCAL_LINES, w->lines - w->first);
        last = (int)shs__rx_window(w->first + w->count - 1, w->outer, w->lines) + shs__imin(w->outer, w->lines);
        while (w->next < last && status == SHS_OK) status = shs__rx_local_next_line(w);
        if (status != SHS_OK) return status;
        count = (size_t)w->count * (size_t)w->samples;
        shs__ctx_parallel(ctx, (shs_wide)count * (shs_wide)w->n * (shs_wide)w->n * (shs_wide)w->n,
                          (size_t)w->count * (size_t)w->runs, shs__rx_local_run, w);
        for (k = 0; k < count && range; k++)
            if (!w->no_score[k]) {
                if (w->scores[k] < o->low[0]) o->low[0] = w->scores[k];
                if (w->scores[k] > o->high[0]) o->high[0] = w->scores[k];
            }
        to = o->sink->pixels ? (unsigned char *)o->sink->pixels + (size_t)w->first * (size_t)w->samples * size : o->block;
        for (k = 0; k < count && !range; k++) {
            shs_wide value = w->no_score[k] ? 0 : shs__px_scaled(&o->scaling, 0, w->scores[k]);
            shs__store_values(o->sink->type, 1, &value, w->no_score + k, o->missing, to + k * size, 1);
        }
        if (!range && !o->sink->pixels && o->sink->write_fn(o->sink->write_user, w->first, w->count, o->block))
            status = SHS_WRITE_FAILED;
        if (status == SHS_OK)
            status = shs__ctx_progress(ctx, "local", (size_t)w->first + (size_t)w->count, (size_t)w->lines, -1);
    }
    return status;
}

/* The fast form of shs_rx_local_naive. */
SHS__PUBLIC shs_status shs_rx_local(const shs_context *ctx, const shs_cube *cube, const shs_rx_local_options *options,
                                    const shs_sink *sink) {
    static const shs_rx_local_options defaults = SHS_ZERO;
    static const shs_wide nothing = 0;
    shs__local w;
    shs__view v;
    shs__layout l = SHS_ZERO;
    const shs_rx_local_options *o = options ? options : &defaults;
    const int inner = o->inner ? o->inner : 5, outer = o->outer ? o->outer : 25;
    const int64_t about[] = {inner, outer, (int64_t)o->divisor};
    shs__meeting meeting = shs__ctx_meeting_for(ctx, "rx local");
    shs_status status = shs__ctx_check(ctx);
    if (status == SHS_OK) status = shs__px_view_open(cube, &v);
    if (status == SHS_OK) status = shs__px_check_sink(cube, sink);
    if (status == SHS_OK && (inner < 1 || inner >= outer || inner % 2 == 0 || outer % 2 == 0)) status = SHS_BAD_WINDOW;
    if (status == SHS_OK && (unsigned)o->divisor > SHS_DIVISOR_N_LESS_1) status = SHS_BAD_OPTIONS;
    if (status == SHS_OK && (!shs__wide_finite(1, &o->ridge) || o->ridge < 0)) status = SHS_BAD_OPTIONS;
    if (status == SHS_OK && v.used > 1 << 15) status = SHS_TOO_LARGE;
    if (status == SHS_OK && ctx && ctx->engine && !ctx->engine->fallback) status = SHS_UNSUPPORTED;
    memset(&w, 0, sizeof w);
    if (status == SHS_OK) {
        shs__px_reader_init(&w.reader, &v, shs__is_wide(SHS_PRECISION_ALWAYS));
        w.kernels = w.reader.kernels, w.n = v.used, w.inner = inner, w.outer = outer;
        w.divisor = o->divisor, w.ridge = o->ridge;
        w.padded = shs__la_round_up(w.n, w.kernels->columns);
        w.ld = shs__la_round_up(w.padded, w.kernels->lanes);
        w.lines = v.lines, w.samples = v.samples;
        w.kept = shs__imin(shs__imin(outer, v.lines) + SHS__LOCAL_LINES - 1, shs__imax(v.lines, 1));
        w.runs = shs__imax((int)shs__ctx_chunks((size_t)v.samples, SHS__LOCAL_RUN), 1);
        w.run = shs__imax((v.samples - 1) / w.runs + 1, 1);
        w.writer.sink = sink, w.writer.bands = 1, w.writer.samples = v.samples;
        w.writer.missing = shs__px_missing_value(cube, sink);
    }
    while (shs__layout_next(ctx, &l, &status)) shs__rx_local_layout(&l, &w, shs__ctx_workers(ctx));
    meeting.all = shs__ctx_imprint(meeting.all, about, sizeof about);
    meeting.all = shs__ctx_imprint(meeting.all, &o->ridge, sizeof o->ridge);
    if (status == SHS_OK) meeting.all = shs__px_imprint_sink(meeting.all, sink);
    status = shs__ctx_meet(ctx, status, &meeting);
    if (status == SHS_OK) w.writer.low[0] = SHS__WIDE_MAX, w.writer.high[0] = -SHS__WIDE_MAX;
    if (status == SHS_OK && sink->rescale) {
        status = shs__ctx_agree(ctx, shs__rx_local_pass(ctx, &w, 1));
        if (status == SHS_OK) status = shs__ctx_reduce(ctx, w.writer.low, 1, SHS_REDUCE_MIN);
        if (status == SHS_OK) status = shs__ctx_reduce(ctx, w.writer.high, 1, SHS_REDUCE_MAX);
    }
    if (status == SHS_OK) {
        shs__px_writer_scale(&w.writer, &nothing);
        status = shs__ctx_agree(ctx, shs__rx_local_pass(ctx, &w, 0));
    }
    shs__layout_release(ctx, &l);
    return status;
}

/* ================================================================================================================== */
/* 11  INDEPENDENT COMPONENTS                                                                                   >>ica */
/* ================================================================================================================== */

/* Principal components whiten the pixels; the iterations ask only for expectations over them, by sweeps or, of y^3, from fourth
   moments that are summed once. In this order: the naive twin, the expectations, the iterations, the fit.

   shs_ica_run is shs__ica_call: shs__ica_pixels fits principal components (shs__pca_pixels), shs__ica_separate lays out memory,
   shs__ica_iterate_all takes one component or all after another, and shs__ica_iterate is the loop of steps (shs__ica_step,
   shs__ica_relax). A step's expectations come from shs__px_sweep or shs__ica_contract. */

/* ---- the naive twin ---------------------------------------------------------------------------------- >>ica_naive */

/* s = E[z g(w'z)] - E[g'(w'z)] w over the n pixels of Z (m x n). */
SHS__PRIVATE void shs__ica_step_naive(shs_contrast_fn contrast, int m, ptrdiff_t n, const shs_wide *Z, const shs_wide *w,
                                      shs_wide *s) {
    shs_wide y, g, slope, slopes = 0;
    ptrdiff_t a, i;
    for (a = 0; a < m; a++) s[a] = 0;
    for (i = 0; i < n; i++) {
        for (y = 0, a = 0; a < m; a++) y += w[a] * Z[a + i * m];
        contrast(y, &g, &slope);
        for (a = 0; a < m; a++) s[a] += Z[a + i * m] * g;
        slopes += slope;
    }
    for (a = 0; a < m; a++) s[a] = (s[a] - slopes * w[a]) / (shs_wide)n;
}

/* Column j of W (m x m) off the columns before it, twice for the sake of rounding, and to unit length. */
SHS__PRIVATE void shs__ica_deflate_naive(int m, ptrdiff_t j, shs_wide *W) {
    shs_wide along, norm2 = 0, *w = W + j * m;
    ptrdiff_t a, q;
    for (q = 0; q < 2 * j; q++) {
        for (along = 0, a = 0; a < m; a++) along += W[a + q % j * m] * w[a];
        for (a = 0; a < m; a++) w[a] -= along * W[a + q % j * m];
    }
    for (a = 0; a < m; a++) norm2 += w[a] * w[a];
    for (a = 0; a < m; a++) w[a] /= SHS__WSQRT(norm2);
}

/* W <- (W W')^-1/2 W, the orthogonal matrix nearest to W, by Newton's iteration W <- (3 W - W W'W) / 2 from W / |W|. */
SHS__PRIVATE void shs__ica_polar_naive(int m, shs_wide *W, shs_wide *G, shs_wide *next) {
    shs_wide norm2 = 0, off = 1;
    ptrdiff_t a, b, c, count = (ptrdiff_t)m * m, t;
    for (a = 0; a < count; a++) norm2 += W[a] * W[a];
    for (a = 0; a < count; a++) W[a] /= SHS__WSQRT(norm2);
    for (t = 0; t < 200 && off > SHS__WIDE_EPS * (shs_wide)m; t++) {
        for (off = 0, b = 0; b < m; b++)
            for (a = 0; a < m; a++) {
                for (G[a + b * m] = 0, c = 0; c < m; c++) G[a + b * m] += W[c + a * m] * W[c + b * m];
                off += shs__wabs(G[a + b * m] - (shs_wide)(a == b));
            }
        for (b = 0; b < m; b++)
            for (a = 0; a < m; a++) {
                next[a + b * m] = 3 * W[a + b * m];
                for (c = 0; c < m; c++) next[a + b * m] -= W[a + c * m] * G[c + b * m];
            }
        for (a = 0; a < count; a++) W[a] = next[a] / 2;
    }
}

SHS__PUBLIC void shs_ica_naive(shs_contrast_fn contrast, int symmetric, int m, ptrdiff_t n, const shs_wide *Z, int iterations,
                               shs_wide *W, shs_wide *S, shs_wide *G) {
    ptrdiff_t a, j, t;
    for (t = 0; symmetric && t < iterations; t++) {
        for (j = 0; j < m; j++) shs__ica_step_naive(contrast, m, n, Z, W + j * m, S + j * m);
        for (a = 0; a < (ptrdiff_t)m * m; a++) W[a] = S[a];
        shs__ica_polar_naive(m, W, G, S);
    }
    for (j = 0; !symmetric && j < m; j++)
        for (shs__ica_deflate_naive(m, j, W), t = 0; t < iterations; t++) {
            shs__ica_step_naive(contrast, m, n, Z, W + j * m, S);
            for (a = 0; a < m; a++) W[a + j * m] = S[a];
            shs__ica_deflate_naive(m, j, W);
        }
}

/* ---- expectations over the whitened pixels -------------------------------------------------------- >>expectations */

/* What the iterations need to know of the pixels. */
typedef struct shs__sources {
    shs__pixels *px;
    shs__whitened white;
    int m, pairs;       /* components; products z_a z_b, a <= b */
    shs_contrast contrast;
    shs_wide *fourth;   /* pairs x pairs: E (z_a z_b)(z_c z_d); NULL: they are not used */
    shs_wide *square, *image; /* pairs: w w', and its product with the fourth moments */
} shs__sources;

/* The sums of a pass, over the ranks. The cube had pixels when it was first read; a stream may have none any more. */
SHS__PRIVATE shs_status shs__ica_sources_sum(shs__sources *s, shs_status status, size_t count) {
    status = shs__ctx_agree(s->px->ctx, status);
    if (status == SHS_OK) status = shs__ctx_reduce(s->px->ctx, s->white.sums, count, SHS_REDUCE_SUM);
    if (status != SHS_OK) return status;
    if (!(s->white.sums[0] > 0)) return SHS_NO_PIXELS;
    return shs__wide_finite(count, s->white.sums) ? SHS_OK : SHS_NOT_FINITE;
}

/* The first pass: whitens, keeps, sums fourth moments. */
SHS__PRIVATE shs_status shs__ica_sources_fill(shs__sources *s, const shs_pixel_map *whitening) {
    size_t n = s->fourth ? (size_t)s->pairs : 0, i, j;
    shs_status status = shs__ica_sources_sum(s, shs__px_whiten(s->px, whitening, &s->white), n ? 1 + n * n : 1);
    for (j = 0; j < n && status == SHS_OK; j++)
        for (i = j; i < n; i++) s->fourth[j * n + i] = s->fourth[i * n + j] = s->white.sums[1 + j * n + i] / s->white.sums[0];
    return status;
}

/* E[z g(w'z)] (m x c into S) and E[g'(w'z)] (c into slope) for the c directions in W. */
SHS__PRIVATE shs_status shs__ica_sweep(shs__sources *s, int c, const shs_wide *W, shs_wide *S, shs_wide *slope) {
    size_t cells = (size_t)s->m * (size_t)c, count = 1 + (size_t)c + cells, i;
    shs_status status = shs__ica_sources_sum(s, shs__px_sweep(s->px, &s->white, s->contrast, c, W), count);
    if (status != SHS_OK) return status;
    for (i = 0; i < (size_t)c; i++) slope[i] = s->white.sums[1 + i] / s->white.sums[0];
    for (i = 0; i < cells; i++) S[i] = s->white.sums[1 + (size_t)c + i] / s->white.sums[0];
    return SHS_OK;
}

/* Kurtosis and negentropy of the sources W'z. */
SHS__PRIVATE shs_status shs__ica_rate(shs__sources *s, const shs_wide *W, shs_ica_component *c) {
    const shs_wide gaussian = (shs_wide)0.37456720749142824; /* E log cosh of a standard normal */
    size_t m = (size_t)s->m, i;
    shs_status status = shs__ctx_agree(s->px->ctx, shs__ctx_progress(s->px->ctx, "rating", 0, 1, -1));
    if (status == SHS_OK) status = shs__ica_sources_sum(s, shs__px_rate(s->px, &s->white, W), 1 + 2 * m);
    for (i = 0; i < m && status == SHS_OK; i++) {
        shs_wide away = s->white.sums[1 + m + i] / s->white.sums[0] - gaussian;
        c[i].kurtosis = s->white.sums[1 + i] / s->white.sums[0] - 3;
        c[i].negentropy = away * away;
    }
    return status;
}

/* The same expectations for y^3, from the fourth moments: with omega_ab = w_a w_b, u = M omega holds E[z_a z_b (w'z)^2], and
   E[z_a (w'z)^3] = sum over b of u_ab w_b. */
SHS__PRIVATE void shs__ica_contract(shs__sources *s, const shs_wide *w, shs_wide *S) {
    int m = s->m, a, b, i, j = 0;
    for (b = 0; b < m; b++)
        for (a = 0; a <= b; a++) s->square[j++] = (a == b ? 1 : 2) * w[a] * w[b];
    memset(s->image, 0, (size_t)s->pairs * sizeof(shs_wide));
    for (j = 0; j < s->pairs; j++) {
        const shs_wide *column = s->fourth + (size_t)j * (size_t)s->pairs;
        shs_wide factor = s->square[j];
        for (i = 0; i < s->pairs; i++) s->image[i] += column[i] * factor;
    }
    for (a = 0; a < m; a++) S[a] = 0;
    for (b = 0, j = 0; b < m; b++)
        for (a = 0; a <= b; a++, j++) {
            S[a] += s->image[j] * w[b];
            if (a != b) S[b] += s->image[j] * w[a];
        }
}

/* E[z g(w'z)] and E[g'] by whichever route was chosen. */
SHS__PRIVATE shs_status shs__ica_expectations(shs__sources *s, int c, const shs_wide *W, shs_wide *S, shs_wide *slope) {
    int d;
    if (!s->fourth) return shs__ica_sweep(s, c, W, S, slope);
    for (d = 0; d < c; d++) {
        shs__ica_contract(s, W + (size_t)d * (size_t)s->m, S + (size_t)d * (size_t)s->m);
        slope[d] = 3;
    }
    return SHS_OK;
}

/* ---- the iterations ----------------------------------------------------------------------------- >>ica_iterations */

/* Scratch of the iterations: m x m each, but slope. */
typedef struct shs__iteration {
    shs_wide *W, *best;
    shs_wide *P;             /* the plain step from W */
    shs_wide *before, *pull; /* the W of the step before, and where its plain step pulled: P - W */
    shs_wide *room, *vectors;
    shs_wide *slope;              /* m */
    shs_ica_component *component; /* m, as they were found */
} shs__iteration;

SHS__PRIVATE void shs__ica_iteration_layout(shs__layout *l, shs__iteration *it, int m) {
    size_t cells = shs__layout_product((size_t)m, (size_t)m, 1);
    it->W = SHS__CARVE(l, shs_wide, cells);
    it->best = SHS__CARVE(l, shs_wide, cells);
    it->P = SHS__CARVE(l, shs_wide, cells);
    it->before = SHS__CARVE(l, shs_wide, cells);
    it->pull = SHS__CARVE(l, shs_wide, cells);
    it->room = SHS__CARVE(l, shs_wide, cells);
    it->vectors = SHS__CARVE(l, shs_wide, cells);
    it->slope = SHS__CARVE(l, shs_wide, (size_t)m);
    it->component = SHS__CARVE(l, shs_ica_component, (size_t)m);
    if (l->base) memset(it->component, 0, (size_t)m * sizeof *it->component);
}

SHS__PRIVATE shs_wide shs__ica_tolerance(const shs_ica_options *o) {
    return o->tolerance > 0 ? o->tolerance : (shs_wide)(sizeof(shs_wide) > 4 ? 1e-8 : 1e-6);
}

/* w off the columns 0 .. count-1 of W, twice, and to unit length; 0 where nothing is left, or no number. */
SHS__PRIVATE int shs__ica_project_off(int m, int count, const shs_wide *W, shs_wide *w) {
    shs_wide norm2;
    int pass, j, i;
    for (pass = 0; pass < 2; pass++)
        for (j = 0; j < count; j++) {
            const shs_wide *v = W + (size_t)j * (size_t)m;
            shs_wide along = shs__wide_dot(m, v, w);
            for (i = 0; i < m; i++) w[i] -= along * v[i];
        }
    norm2 = shs__wide_dot(m, w, w);
    if (!(norm2 > 0) || !shs__wide_finite(1, &norm2)) return 0;
    for (i = 0; i < m; i++) w[i] /= SHS__WSQRT(norm2);
    return 1;
}

/* Rotates columns p and q of an m-row matrix by the angle of cosine c and sine s. */
SHS__PRIVATE void shs__ica_rotate_columns(int m, shs_wide *A, int p, int q, shs_wide c, shs_wide s) {
    shs_wide *x = SHS__AT(A, m, 0, p), *y = SHS__AT(A, m, 0, q);
    int i;
    for (i = 0; i < m; i++) {
        shs_wide xi = x[i];
        x[i] = c * xi - s * y[i];
        y[i] = s * xi + c * y[i];
    }
}

/* Rotates the columns of A until they are orthogonal, and V along: one-sided Jacobi. It keeps its accuracy where columns
   differ much in length, as after a step of y^3, which is as long as the kurtosis. */
SHS__PRIVATE void shs__ica_jacobi_columns(int m, shs_wide *A, shs_wide *V) {
    const shs_wide eps = sizeof(shs_wide) == sizeof(float) ? (shs_wide)1.2e-7 : (shs_wide)2.3e-16;
    int sweep, p, q, rotated = 1;
    for (sweep = 0; sweep < 60 && rotated; sweep++)
        for (rotated = 0, p = 0; p < m; p++)
            for (q = p + 1; q < m; q++) {
                const shs_wide *x = SHS__AT(A, m, 0, p), *y = SHS__AT(A, m, 0, q);
                shs_wide xx = shs__wide_dot(m, x, x), yy = shs__wide_dot(m, y, y), xy = shs__wide_dot(m, x, y), z, t, c;
                if (!(shs__wabs(xy) > eps * SHS__WSQRT(xx) * SHS__WSQRT(yy))) continue;
                z = (yy - xx) / (2 * xy);
                t = (z < 0 ? -1 : 1) / (shs__wabs(z) + SHS__WSQRT(1 + z * z));
                c = 1 / SHS__WSQRT(1 + t * t);
                shs__ica_rotate_columns(m, A, p, q, c, c * t);
                shs__ica_rotate_columns(m, V, p, q, c, c * t);
                rotated = 1;
            }
}

/* A <- A (A'A)^-1/2, the nearest matrix with orthonormal columns: U V' of A = U Sigma V'. Returns 0 where A is singular. */
SHS__PRIVATE int shs__ica_polar_factor(int m, shs__iteration *it, shs_wide *A) {
    int i, j, q;
    memcpy(it->room, A, (size_t)m * (size_t)m * sizeof(shs_wide));
    for (j = 0; j < m; j++)
        for (i = 0; i < m; i++) *SHS__AT(it->vectors, m, i, j) = i == j;
    shs__ica_jacobi_columns(m, it->room, it->vectors);
    for (j = 0; j < m; j++)
        if (!shs__ica_project_off(m, 0, it->room, SHS__AT(it->room, m, 0, j))) return 0;
    for (j = 0; j < m; j++)
        for (i = 0; i < m; i++) {
            shs_wide sum = 0;
            for (q = 0; q < m; q++) sum += *SHS__AT(it->room, m, i, q) * *SHS__AT(it->vectors, m, j, q);
            *SHS__AT(A, m, i, j) = sum;
        }
    return 1;
}

/* The directions d .. d+c-1 that are iterated together: one (deflation) or all (symmetric). */
typedef struct shs__directions {
    int d, c;
} shs__directions;

/* Makes the result of a step, A, directions again: one off the columns of W before it, or all orthonormal. */
SHS__PRIVATE int shs__ica_directions(int m, shs__directions g, shs__iteration *it, shs_wide *A) {
    return g.c > 1 ? shs__ica_polar_factor(m, it, A) : shs__ica_project_off(m, g.d, it->W, A);
}

/* One plain step: P = E[z g(w'z)] - E[g'(w'z)] w of each w, made orthonormal, of either sign the one nearer to w. Each
   component is told how far its w moved, 1 - |cos| (as |p - w|^2 / 2, which does not cancel); the most goes to *change.
   Where the step is degenerate, P = W, each change counts as a right angle, and *change = 2 is more than any. */
SHS__PRIVATE shs_status shs__ica_step(shs__sources *s, const shs_ica_options *o, shs__iteration *it, shs__directions g,
                                      shs_ica_component *component, shs_wide *change) {
    int m = s->m, i, j, somewhere;
    const shs_wide *W = it->W + (size_t)g.d * (size_t)m;
    shs_status status = shs__ica_expectations(s, g.c, W, it->P, it->slope);
    if (status != SHS_OK) return status;
    for (j = 0; j < g.c; j++)
        for (i = 0; i < m; i++) *SHS__AT(it->P, m, i, j) -= it->slope[j] * *SHS__AT(W, m, i, j);
    somewhere = shs__ica_directions(m, g, it, it->P);
    if (!somewhere) memcpy(it->P, W, (size_t)m * (size_t)g.c * sizeof(shs_wide));
    for (*change = somewhere ? 0 : 2, j = 0; j < g.c; j++) {
        const shs_wide *w = SHS__AT(W, m, 0, j);
        shs_wide *p = SHS__AT(it->P, m, 0, j), sign = shs__wide_dot(m, p, w) < 0 ? -1 : 1, moved = 0;
        for (i = 0; i < m; i++) p[i] *= sign, moved += (p[i] - w[i]) * (p[i] - w[i]);
        component[j].change = somewhere ? moved / 2 : 1;
        component[j].converged = component[j].change <= shs__ica_tolerance(o);
        if (component[j].change > *change) *change = component[j].change;
    }
    return SHS_OK;
}

/* W <- W + mu (P - W), made orthonormal again: for every mu > 0 it has the fixed points of the plain step. Plain steps (mu = 1)
   can swing about a solution for ever, or creep towards it. So mu is learnt from the last step (Barzilai and Borwein 1988): e
   is by how much W changed, y by how much the pull P - W shrank. Near a solution y = e / mu for the best mu, and least
   squares give mu = e'y / |y|^2: below 1 where steps overshoot, above 1 where they fall short. Where the pull did not shrink
   (e'y <= 0), the longest step is taken. Of 216 cases (24 cubes, three contrasts, 4, 8 and 12 components) 89 do not converge
   in 300 plain symmetric steps; with these all do, in 28 on average. */
SHS__PRIVATE void shs__ica_relax(int m, const shs_ica_options *o, shs__iteration *it, shs__directions g, int first) {
    const shs_wide least = (shs_wide)1 / 64, most = 4;
    size_t cells = (size_t)m * (size_t)g.c, i;
    shs_wide *W = it->W + (size_t)g.d * (size_t)m, ey = 0, yy = 0, mu = 1;
    for (i = 0; i < cells && !first; i++) {
        shs_wide e = W[i] - it->before[i], y = it->pull[i] - (it->P[i] - W[i]);
        ey += e * y;
        yy += y * y;
    }
    if (!first && !o->plain_steps) mu = ey <= 0 || ey > most * yy ? most : ey < least * yy ? least : ey / yy;
    for (i = 0; i < cells; i++) {
        it->before[i] = W[i];
        it->pull[i] = it->P[i] - W[i];
        W[i] += mu * it->pull[i];
    }
    if (!shs__ica_directions(m, g, it, W)) memcpy(W, it->P, cells * sizeof(shs_wide));
}

/* Iterates from one start. The last plain step measures the W that is returned and is not taken, so that the reported change
   belongs to it. The iteration ends at half the angle that the tolerance allows, a quarter of 1 - |cos|; the other half is room
   for what single precision rounds. */
SHS__PRIVATE shs_status shs__ica_iterate(shs__sources *s, const shs_ica_options *o, shs__iteration *it, shs__directions g,
                                         shs_ica_component *component, shs_wide *change) {
    int most = o->iterations > 0 ? o->iterations : 200, k, j;
    for (k = 1;; k++) {
        shs_status status = SHS_OK;
        if (o->approach == SHS_APPROACH_SYMMETRIC)
            status = shs__ctx_agree(s->px->ctx, shs__ctx_progress(s->px->ctx, "separating", (size_t)k - 1, (size_t)most, -1));
        if (status == SHS_OK) status = shs__ica_step(s, o, it, g, component, change);
        if (status != SHS_OK) return status;
        for (j = 0; j < g.c; j++) component[j].iterations = shs__imin(k, most);
        if (k > most || *change == 2 || (4 * *change <= shs__ica_tolerance(o) && o->tolerance >= 0)) return SHS_OK;
        shs__ica_relax(s->m, o, it, g, k == 1);
    }
}

/* The start of the directions: the caller's, the identity, or random vectors. */
SHS__PRIVATE void shs__ica_start(const shs_ica_options *o, int m, shs__directions g, int restart, shs_random *r, shs_wide *w) {
    int i, j;
    for (j = g.d; j < g.d + g.c; j++)
        for (i = 0; i < m; i++, w++)
            if (restart > 0 || (o->random_start && !o->start)) *w = shs_random_normal(r);
            else *w = o->start ? *SHS__AT(o->start, m, i, j) : i == j;
}

/* One component after another or all at once, each with its restarts; of starts that do not converge the one is kept that
   the plain step moves least. */
SHS__OUTLINE shs_status shs__ica_iterate_all(shs__sources *s, const shs_ica_options *o, shs__iteration *it) {
    shs_ica_component *c = it->component;
    int m = s->m, most = o->restarts < 0 ? 0 : o->restarts > 0 ? o->restarts : 3, restart, j;
    shs__directions g;
    shs_random r;
    shs_random_seed(&r, shs__random_mix(o->seed));
    g.c = o->approach == SHS_APPROACH_SYMMETRIC ? m : 1;
    for (g.d = 0; g.d < m; g.d += g.c) {
        shs_wide *W = it->W + (size_t)g.d * (size_t)m, change = 2, best = 2;
        size_t bytes = (size_t)m * (size_t)g.c * sizeof(shs_wide);
        shs_status status = SHS_OK;
        if (o->approach == SHS_APPROACH_DEFLATION)
            status = shs__ctx_agree(s->px->ctx, shs__ctx_progress(s->px->ctx, "separating", (size_t)g.d, (size_t)m, -1));
        for (restart = 0;; restart++) {
            do shs__ica_start(o, m, g, restart, &r, W);
            while (!shs__ica_directions(m, g, it, W) && ++restart);
            if (status == SHS_OK) status = shs__ica_iterate(s, o, it, g, c + g.d, &change);
            if (status != SHS_OK) return status;
            if (change < best) best = change, memcpy(it->best, W, bytes);
            if (change <= shs__ica_tolerance(o) || o->tolerance < 0 || restart >= most) break;
        }
        if (best < change) { /* the last start was not the best: report this one */
            memcpy(W, it->best, bytes);
            status = shs__ica_step(s, o, it, g, c + g.d, &change);
        }
        if (status != SHS_OK) return status;
        for (j = g.d; j < g.d + g.c; j++) c[j].restarts = restart, c[j].extraction = j;
    }
    return SHS_OK;
}

/* ---- the fit ------------------------------------------------------------------------------------------- >>ica_fit */

SHS__PUBLIC void shs_ica_free(const shs_context *ctx, shs_ica *ica) {
    if (!ica) return;
    shs__ctx_free(ctx, ica->block);
    memset(ica, 0, sizeof *ica);
}

/* Components come in falling order of this. */
SHS__PRIVATE shs_wide shs__ica_order_key(shs_ica_order order, const shs_ica_component *c) {
    if (order == SHS_ORDER_EXTRACTION) return (shs_wide)-c->extraction;
    return order == SHS_ORDER_NEGENTROPY ? c->negentropy : shs__wabs(c->kurtosis);
}

/* The components c and the columns of W to their places in the result; equals keep their order. */
SHS__PRIVATE void shs__ica_order(shs_ica_order order, const shs_ica_component *c, const shs_wide *W, shs_ica *ica) {
    int m = ica->components, i, j;
    for (j = 0; j < m; j++) {
        shs_wide key = shs__ica_order_key(order, c + j);
        int place = 0;
        for (i = 0; i < m; i++) {
            shs_wide other = shs__ica_order_key(order, c + i);
            place += other > key || (i < j && !(key > other));
        }
        ica->component[place] = c[j];
        memcpy(SHS__AT(ica->rotation, m, 0, place), SHS__AT(W, m, 0, j), (size_t)m * sizeof *W);
    }
}

/* unmixing = W'V and mixing = V^+ W from the rotation and the principal components; signs fixed. */
SHS__PRIVATE void shs__ica_matrices(shs_ica *ica, const shs_pca *pca) {
    int m = ica->components, n = ica->bands, i, j, q;
    for (q = 0; q < m; q++) {
        shs_wide *w = SHS__AT(ica->rotation, m, 0, q);
        for (i = 0; i < n; i++) {
            shs_wide u = 0, a = 0;
            for (j = 0; j < m; j++) {
                shs_wide deviation = SHS__WSQRT(pca->eigenvalues[j]), v = *SHS__AT(pca->vectors, n, i, j);
                u += w[j] * v / deviation;
                a += w[j] * v * deviation;
            }
            *SHS__AT(ica->unmixing, m, q, i) = u;
            *SHS__AT(ica->mixing, n, i, q) = a;
        }
        if (shs__pca_fix_sign(n, ica->unmixing + q, m, SHS__AT(ica->mixing, n, 0, q)) < 0)
            for (j = 0; j < m; j++) w[j] = -w[j];
    }
}

SHS__PUBLIC const char *shs_contrast_name(shs_contrast contrast) {
    switch (contrast) {
#define SHS__CASE(code, name)                                                                                          \
    case code: return #name;
        SHS_CONTRAST_LIST(SHS__CASE)
#undef SHS__CASE
    case SHS_CONTRAST_COUNT: break;
    }
    return NULL;
}

SHS__PRIVATE shs_status shs__ica_check(const shs_ica_options *o) {
    if (!SHS__ZEROED(o)) return SHS_BAD_OPTIONS;
    if (o->components < 0) return SHS_BAD_COMPONENTS;
    if (!shs__wide_finite(1, &o->eigenvalue_at_least) || o->eigenvalue_at_least < 0) return SHS_BAD_COMPONENTS;
    if ((unsigned)o->contrast >= SHS_CONTRAST_COUNT || (unsigned)o->approach > SHS_APPROACH_SYMMETRIC ||
        (unsigned)o->route > SHS_ROUTE_SWEEP || (unsigned)o->order > SHS_ORDER_EXTRACTION)
        return SHS_BAD_OPTIONS;
    if (o->route == SHS_ROUTE_MOMENTS && o->contrast != SHS_CONTRAST_POW3) return SHS_BAD_OPTIONS;
    if (o->iterations < 0) return SHS_BAD_ITERATIONS;
    return shs__wide_finite(1, &o->tolerance) ? SHS_OK : SHS_BAD_TOLERANCE;
}

/* Whitening matrix and the rest of the result's memory, from the principal components. */
SHS__PRIVATE shs_status shs__ica_create(const shs_context *ctx, const shs_pca *pca, int m, shs_ica *ica) {
    shs__layout l = SHS_ZERO;
    shs_status status = SHS_OK;
    int i, j, n = pca->bands;
    size_t cells = shs__layout_product((size_t)n, (size_t)m, 1);
    while (shs__layout_next(ctx, &l, &status)) {
        ica->mean = SHS__CARVE(&l, shs_wide, (size_t)n);
        ica->eigenvalues = SHS__CARVE(&l, shs_wide, (size_t)m);
        ica->whitening = SHS__CARVE(&l, shs_wide, cells);
        ica->rotation = SHS__CARVE(&l, shs_wide, shs__layout_product((size_t)m, (size_t)m, 1));
        ica->unmixing = SHS__CARVE(&l, shs_wide, cells);
        ica->mixing = SHS__CARVE(&l, shs_wide, cells);
        ica->component = SHS__CARVE(&l, shs_ica_component, (size_t)m);
    }
    if (status != SHS_OK) return status;
    SHS__UNPOISON(l.base, l.size);
    ica->block = l.block;
    ica->bands = n;
    ica->components = m;
    ica->count = pca->count;
    ica->precise = pca->precise;
    memcpy(ica->mean, pca->mean, (size_t)n * sizeof(shs_wide));
    memcpy(ica->eigenvalues, pca->eigenvalues, (size_t)m * sizeof(shs_wide));
    for (i = 0; i < n; i++)
        for (j = 0; j < m; j++)
            *SHS__AT(ica->whitening, m, j, i) = *SHS__AT(pca->vectors, n, i, j) / SHS__WSQRT(pca->eigenvalues[j]);
    return SHS_OK;
}

static const shs_ica_options shs__ica_zero = SHS_ZERO;

SHS__PRIVATE shs_status shs__ica_meet(const shs__pixels *px, shs_status status, const char *call, const shs_ica_options *o,
                                      const shs_sink *sink) {
    const int64_t numbers[] = {o->components, o->contrast, o->approach, o->route, o->iterations, o->plain_steps != 0,
                               o->restarts, o->random_start != 0, o->start != NULL, o->order, o->divisor,
                               (int64_t)o->precise, (int64_t)o->seed};
    const shs_wide two[] = {o->eigenvalue_at_least, o->tolerance};
    return shs__px_meet(px, status, call, numbers, sizeof numbers / sizeof *numbers, two, sink);
}

/* The ranks agree once more before the iterations: on the number of components, and where they start. *kept: whether all ranks
   keep their whitened pixels, on which the choice of a route depends. */
SHS__OUTLINE shs_status shs__ica_meet_on_sources(const shs__pixels *px, shs_status status, const shs_ica_options *o, int m,
                                                 int *kept) {
    shs__meeting meeting = shs__ctx_meeting_for(px->ctx, "sources");
    meeting.all = shs__ctx_imprint(meeting.all, &m, sizeof m);
    if (status == SHS_OK && o->start)
        meeting.all = shs__ctx_imprint(meeting.all, o->start, (size_t)m * (size_t)m * sizeof(shs_wide));
    meeting.largest[0] = !px->whitener && px->view.lines > 0 && shs__px_kept_panels(px, m) == 0;
    status = shs__ctx_meet(px->ctx, status, &meeting);
    *kept = !(meeting.largest[0] > 0);
    return status;
}

/* Operations a pixel: the fourth moments against the sweeps of a typical fit, each of which whitens anew unless the whitened
   pixels are kept. Of the 216 cases of shs__ica_relax a symmetric fit takes 28 sweeps, deflation 9.5 for each component. */
SHS__PRIVATE int shs__ica_moments_pay(const shs_ica_options *o, int m, int bands, int kept) {
    shs_wide q = (shs_wide)m * ((shs_wide)m + 1) / 2, c = o->approach == SHS_APPROACH_SYMMETRIC ? (shs_wide)m : 1, sweeps;
    if (o->contrast != SHS_CONTRAST_POW3 || o->route == SHS_ROUTE_SWEEP) return 0;
    if (o->route == SHS_ROUTE_MOMENTS) return 1;
    sweeps = o->approach == SHS_APPROACH_SYMMETRIC ? 28 : (shs_wide)9.5;
    if (o->tolerance < 0 && o->iterations > 0) sweeps = (shs_wide)o->iterations;
    if (o->approach == SHS_APPROACH_DEFLATION) sweeps *= (shs_wide)m;
    return q <= 512 && q * q < sweeps * (4 * (shs_wide)m * c + (kept ? 0 : 2 * (shs_wide)bands * (shs_wide)m));
}

SHS__PRIVATE void shs__ica_sources_layout(shs__layout *l, shs__sources *s, int fourth, int workers) {
    size_t pairs = fourth ? (size_t)s->pairs : 0;
    shs__px_whitened_layout(l, &s->white, workers);
    s->fourth = fourth ? SHS__CARVE(l, shs_wide, shs__layout_product(pairs, pairs, 1)) : NULL;
    s->square = SHS__CARVE(l, shs_wide, pairs);
    s->image = SHS__CARVE(l, shs_wide, pairs);
}

/* From the whitening to the finished result. kept: all ranks keep their whitened pixels. *stored: whether the sources are in
   the sink already. */
SHS__OUTLINE shs_status shs__ica_separate(shs__pixels *px, const shs_ica_options *o, const shs_pca *pca, int kept,
                                          const shs_sink *sink, shs_ica *ica, int *stored) {
    shs__sources s = SHS_ZERO;
    shs__iteration it;
    shs__layout l = SHS_ZERO;
    shs_pixel_map whitening = shs__px_map_of(ica->bands, ica->components, ica->whitening, ica->mean, NULL);
    int m = ica->components, fourth = shs__ica_moments_pay(o, m, ica->bands, kept), i;
    shs_status status = SHS_OK;
    s.px = px, s.m = m, s.pairs = m * (m + 1) / 2, s.contrast = o->contrast;
    shs__px_whitened_init(&s.white, &px->view, m, fourth, shs__px_kept_panels(px, m));
    while (shs__layout_next(px->ctx, &l, &status)) {
        shs__ica_sources_layout(&l, &s, fourth, shs__ctx_workers(px->ctx));
        shs__ica_iteration_layout(&l, &it, m);
    }
    status = shs__ctx_agree(px->ctx, status);
    if (status == SHS_OK) status = shs__ica_sources_fill(&s, &whitening);
    if (status == SHS_OK) status = shs__ica_iterate_all(&s, o, &it);
    if (status == SHS_OK) status = shs__ica_rate(&s, it.W, it.component);
    if (status == SHS_OK) {
        shs__ica_order(o->order, it.component, it.W, ica);
        shs__ica_matrices(ica, pca);
        ica->used_moments = fourth;
        for (ica->converged = 1, i = 0; i < m; i++) ica->converged &= ica->component[i].converged;
        *stored = shs__px_cpu_sources(px->ctx, &s.white, ica->rotation, sink);
    }
    shs__layout_release(px->ctx, &l);
    return status;
}

/* Principal components, the separation, and the sources of every pixel into the sink (NULL: only the fit). *ica comes zeroed;
   where this fails the caller frees it. */
SHS__PRIVATE shs_status shs__ica_pixels(shs__pixels *px, const shs_ica_options *o, const shs_sink *sink, shs_ica *ica) {
    const shs_context *ctx = px->ctx;
    shs_pixel_map map;
    shs_pca_options p = SHS_ZERO;
    shs_pca pca = SHS_ZERO;
    int rank, kept, stored = 0;
    shs_status status;
    p.components = o->components, p.eigenvalue_at_least = o->eigenvalue_at_least;
    p.divisor = o->divisor, p.precise = o->precise;
    status = shs__pca_pixels(px, &p, 0, &pca);
    if (status != SHS_OK) return status;
    rank = shs__pca_whitening_rank(&pca);
    if (rank == 0) status = SHS_ZERO_VARIANCE;
    else if (o->components > rank) status = SHS_RANK_TOO_LOW;
    else if (o->start && !shs__wide_finite((size_t)rank * (size_t)rank, o->start)) status = SHS_NOT_FINITE;
    if (status == SHS_OK) status = shs__ica_create(ctx, &pca, rank, ica);
    if (status == SHS_OK) status = shs__px_whitener_open(px);
    status = shs__ica_meet_on_sources(px, status, o, rank, &kept);
    if (status == SHS_OK) status = shs__ica_separate(px, o, &pca, kept, sink, ica, &stored);
    shs_pca_free(ctx, &pca);
    if (status == SHS_OK && sink) {
        map = shs__px_map_of(ica->bands, ica->components, ica->unmixing, ica->mean, NULL);
        status = shs__ctx_agree(ctx, stored ? SHS_OK : shs__pixels_map(px, &map, ica->precise, sink, 0));
    }
    return status;
}

/* The fit and, with `transform`, the sources of every pixel into the sink; ica may be NULL then. */
SHS__OUTLINE shs_status shs__ica_call(const shs_context *ctx, const char *call, const shs_cube *cube,
                                      const shs_ica_options *options, int transform, const shs_sink *sink, shs_ica *ica) {
    const shs_ica_options *o = options ? options : &shs__ica_zero;
    shs__pixels px;
    shs_ica made = SHS_ZERO;
    shs_status status = shs__px_open(ctx, cube, &px);
    if (status == SHS_OK && transform) status = shs__px_check_sink(cube, sink);
    if (status == SHS_OK) status = shs__ica_check(o);
    if (status == SHS_OK && !transform && !ica) status = SHS_BAD_OUTPUT;
    status = shs__ica_meet(&px, status, call, o, sink);
    if (status == SHS_OK) status = shs__ica_pixels(&px, o, sink, &made);
    if (status == SHS_OK && ica) *ica = made;
    else shs_ica_free(ctx, &made);
    shs__px_close(&px);
    return status;
}

/* The fast form of shs_ica_naive. */
SHS__PUBLIC shs_status shs_ica_fit(const shs_context *ctx, const shs_cube *cube, const shs_ica_options *options, shs_ica *ica) {
    return shs__ica_call(ctx, "ica", cube, options, 0, NULL, ica);
}

SHS__PUBLIC shs_status shs_ica_run(const shs_context *ctx, const shs_cube *cube, const shs_ica_options *options,
                                   const shs_sink *sink, shs_ica *ica) {
    return shs__ica_call(ctx, "ica run", cube, options, 1, sink, ica);
}

SHS__PUBLIC shs_status shs_ica_transform(const shs_context *ctx, const shs_ica *ica, const shs_cube *cube,
                                         const shs_sink *sink) {
    shs_pixel_map map = SHS_ZERO;
    if (ica) map = shs__px_map_of(ica->bands, ica->components, ica->unmixing, ica->mean, NULL);
    return shs_cube_map(ctx, cube, &map, ica ? ica->precise : SHS_PRECISION_AUTO, sink);
}

SHS__PUBLIC shs_status shs_ica_inverse(const shs_context *ctx, const shs_ica *ica, const shs_cube *sources,
                                       const shs_sink *sink) {
    shs_pixel_map map = SHS_ZERO;
    if (ica) map = shs__px_map_of(ica->components, ica->bands, ica->mixing, NULL, ica->mean);
    return shs_cube_map(ctx, sources, &map, ica ? ica->precise : SHS_PRECISION_AUTO, sink);
}

/* ================================================================================================================== */
/* 12  MODELS                                                                                                >>models */
/* ================================================================================================================== */

#if !defined(SPARSEHS_NO_MODELS) || defined(SPARSEHS_STATIC)

/* A model in a file, whose layout stands beside shs_model. shs__md_arrays says which arrays there are: saving, making room and
   loading go through its list. */

enum { SHS__MD_HEAD = 64, SHS__MD_VERSION = 2, SHS__MD_NUMBERS = 7 };

/* One of the two callbacks, and the check sum of what went through it. */
typedef struct shs__md_file {
    int (*write_fn)(void *user, const void *bytes, size_t count);
    int (*read_fn)(void *user, void *bytes, size_t count);
    void *user;
    uint32_t crc;
} shs__md_file;

typedef struct shs__md_array {
    shs_wide **values;
    size_t count;
} shs__md_array;

/* The arrays of a model whose sizes are set, in the order of the file; returns how many. */
SHS__PRIVATE int shs__md_arrays(shs_model *m, int wavelengths, int noise, shs__md_array *a) {
    int ica = m->kind == SHS_MODEL_ICA, count = 0;
    size_t n = (size_t)(ica ? m->ica.bands : m->pca.bands), k = (size_t)(ica ? m->ica.components : m->pca.components);
    size_t cells = shs__layout_product(n, k, 1), square = shs__layout_product(k, k, 1);
    if (ica) {
        a[count].values = &m->ica.mean, a[count++].count = n;
        a[count].values = &m->ica.eigenvalues, a[count++].count = k;
        a[count].values = &m->ica.whitening, a[count++].count = cells;
        a[count].values = &m->ica.rotation, a[count++].count = square;
        a[count].values = &m->ica.unmixing, a[count++].count = cells;
        a[count].values = &m->ica.mixing, a[count++].count = cells;
    } else {
        a[count].values = &m->pca.mean, a[count++].count = n;
        a[count].values = &m->pca.scale, a[count++].count = n;
        a[count].values = &m->pca.eigenvalues, a[count++].count = (size_t)m->pca.eigenvalue_count;
        a[count].values = &m->pca.vectors, a[count++].count = cells;
        a[count].values = &m->pca.backward, a[count++].count = cells;
        if (noise) a[count].values = &m->pca.noise, a[count++].count = shs__layout_product(n, n, 1);
    }
    if (wavelengths) a[count].values = &m->wavelengths, a[count++].count = n;
    return count;
}

enum { SHS__MD_ARRAYS = 7 };

/* What is said of a component, as numbers, and back; whether they say something that is possible. */
SHS__PRIVATE void shs__md_numbers_of(const shs_ica_component *c, shs_wide *x) {
    x[0] = (shs_wide)c->iterations, x[1] = (shs_wide)c->restarts, x[2] = (shs_wide)(c->converged != 0), x[3] = c->change;
    x[4] = c->kurtosis, x[5] = c->negentropy, x[6] = (shs_wide)c->extraction;
}

SHS__PRIVATE int shs__md_from_numbers(const shs_wide *x, shs_ica_component *c) {
    static const int whole[] = {0, 1, 2, 6};
    int i;
    for (i = 0; i < 4; i++)
        if (!(x[whole[i]] >= 0 && x[whole[i]] <= (shs_wide)1000000000)) return 0;
    c->iterations = (int)x[0], c->restarts = (int)x[1], c->converged = (int)x[2], c->change = x[3];
    c->kurtosis = x[4], c->negentropy = x[5], c->extraction = (int)x[6];
    return 1;
}

SHS__OUTLINE shs_status shs__md_write(shs__md_file *f, const shs_wide *x, size_t count) {
    unsigned char bytes[512];
    size_t i, step;
    for (; count > 0; count -= step, x += step) {
        step = shs__zmin(count, sizeof bytes / 8);
        for (i = 0; i < step; i++) shs__put_bytes(bytes + 8 * i, shs__f64_bits(x[i]), 8);
        f->crc = shs__crc(f->crc, bytes, 8 * step);
        if (f->write_fn(f->user, bytes, 8 * step)) return SHS_WRITE_FAILED;
    }
    return SHS_OK;
}

SHS__OUTLINE shs_status shs__md_read(shs__md_file *f, shs_wide *x, size_t count) {
    unsigned char bytes[512];
    size_t i, step;
    int numbers = 1;
    for (; count > 0; count -= step, x += step) {
        step = shs__zmin(count, sizeof bytes / 8);
        if (f->read_fn(f->user, bytes, 8 * step)) return SHS_READ_FAILED;
        f->crc = shs__crc(f->crc, bytes, 8 * step);
        for (i = 0; i < step; i++) numbers &= shs__f64_of_bits(shs__get_bytes(bytes + 8 * i, 8), x + i);
    }
    return numbers ? SHS_OK : SHS_DAMAGED_MODEL;
}

SHS__PRIVATE int shs__md_has_noise(const shs_model *m) { return m->kind == SHS_MODEL_MNF && m->pca.noise != NULL; }

SHS__PRIVATE int shs__md_sizes_ok(int n, int k, int values) { return k > 0 && k <= n && values >= k && values <= n; }

SHS__PRIVATE shs_status shs__md_check(shs_model *m, shs__md_array *arrays, int *count) {
    const shs_pca *p = &m->pca;
    int ica = m->kind == SHS_MODEL_ICA, i;
    if ((unsigned)m->kind > SHS_MODEL_RX) return SHS_BAD_MODEL;
    if (!(ica ? shs__md_sizes_ok(m->ica.bands, m->ica.components, m->ica.components)
              : shs__md_sizes_ok(p->bands, p->components, p->eigenvalue_count)))
        return SHS_BAD_MODEL;
    if (ica && !m->ica.component) return SHS_BAD_MODEL;
    *count = shs__md_arrays(m, m->wavelengths != NULL, shs__md_has_noise(m), arrays);
    for (i = 0; i < *count; i++)
        if (!*arrays[i].values || !shs__wide_finite(arrays[i].count, *arrays[i].values)) return SHS_BAD_MODEL;
    return SHS_OK;
}

SHS__PUBLIC shs_status shs_model_save(const shs_model *model, int (*write_fn)(void *user, const void *bytes, size_t count),
                                      void *user) {
    shs__md_array arrays[SHS__MD_ARRAYS];
    shs__md_file f = SHS_ZERO;
    unsigned char head[SHS__MD_HEAD] = "SHSmodel";
    shs_model m;
    shs_wide numbers[SHS__MD_NUMBERS];
    uint64_t sizes[6];
    int ica, count = 0, i;
    shs_status status;
    if (!model || !write_fn) return SHS_BAD_MODEL;
    m = *model;
    status = shs__md_check(&m, arrays, &count);
    if (status != SHS_OK) return status;
    f.write_fn = write_fn, f.user = user, f.crc = ~(uint32_t)0;
    ica = m.kind == SHS_MODEL_ICA;
    sizes[0] = shs__md_has_noise(&m) || m.kind == SHS_MODEL_RX ? 2 : 1; /* so that what was there before is as before */
    sizes[1] = (uint64_t)m.kind;
    sizes[2] = (uint64_t)(ica ? m.ica.bands : m.pca.bands);
    sizes[3] = (uint64_t)(ica ? m.ica.components : m.pca.components);
    sizes[4] = ica ? sizes[3] : (uint64_t)m.pca.eigenvalue_count;
    sizes[5] = (uint64_t)(m.wavelengths != NULL) + 256 * (uint64_t)(ica ? m.ica.precise : m.pca.precise);
    if (ica) sizes[5] += 2 * (uint64_t)(m.ica.converged != 0) + 4 * (uint64_t)(m.ica.used_moments != 0);
    for (i = 0; i < 6; i++) shs__put_bytes(head + 8 + 4 * i, sizes[i], 4);
    shs__put_bytes(head + 32, shs__f64_bits(ica ? m.ica.count : m.pca.count), 8);
    shs__put_bytes(head + 40, ica ? 0 : shs__f64_bits(m.pca.total_variance), 8);
    shs__put_bytes(head + 60, ~shs__crc(f.crc, head, 60), 4);
    if (write_fn(user, head, SHS__MD_HEAD)) return SHS_WRITE_FAILED;
    for (i = 0; i < count && status == SHS_OK; i++) status = shs__md_write(&f, *arrays[i].values, arrays[i].count);
    for (i = 0; ica && i < m.ica.components && status == SHS_OK; i++) {
        shs__md_numbers_of(m.ica.component + i, numbers);
        status = shs__md_write(&f, numbers, SHS__MD_NUMBERS);
    }
    shs__put_bytes(head, ~f.crc, 4);
    return status != SHS_OK ? status : write_fn(user, head, 4) ? SHS_WRITE_FAILED : SHS_OK;
}

/* The first bytes: what the model is, and how large. */
SHS__PRIVATE shs_status shs__md_read_head(const unsigned char *head, shs_model *m, int *wavelengths, int *noise) {
    uint64_t sizes[6];
    shs_wide count, total;
    int i;
    if (memcmp(head, "SHSmodel", 8) != 0) return SHS_FOREIGN_MODEL;
    for (i = 0; i < 6; i++) sizes[i] = shs__get_bytes(head + 8 + 4 * i, 4);
    if (sizes[0] > SHS__MD_VERSION) return SHS_NEWER_MODEL;
    if (shs__get_bytes(head + 60, 4) != (uint32_t)~shs__crc(~(uint32_t)0, head, 60) || sizes[0] == 0) return SHS_DAMAGED_MODEL;
    if (!shs__f64_of_bits(shs__get_bytes(head + 32, 8), &count) || !shs__f64_of_bits(shs__get_bytes(head + 40, 8), &total))
        return SHS_DAMAGED_MODEL;
    if ((sizes[0] == 1 ? sizes[1] > SHS_MODEL_ICA : sizes[1] != SHS_MODEL_MNF && sizes[1] != SHS_MODEL_RX) ||
        sizes[2] > INT_MAX || sizes[3] > INT_MAX || sizes[4] > INT_MAX || sizes[5] > 0x2ff ||
        !shs__md_sizes_ok((int)sizes[2], (int)sizes[3], (int)sizes[4]) || (sizes[5] & 0xf8) ||
        (sizes[1] == SHS_MODEL_ICA ? sizes[4] != sizes[3] : (sizes[5] & 6) != 0))
        return SHS_DAMAGED_MODEL;
    m->kind = (shs_model_kind)sizes[1];
    *wavelengths = (int)(sizes[5] & 1);
    *noise = sizes[0] == 2 && sizes[1] == SHS_MODEL_MNF;
    if (m->kind == SHS_MODEL_ICA) {
        m->ica.bands = (int)sizes[2], m->ica.components = (int)sizes[3], m->ica.count = count;
        m->ica.converged = (sizes[5] & 2) != 0, m->ica.used_moments = (sizes[5] & 4) != 0;
        m->ica.precise = (shs_precision)(sizes[5] >> 8);
    } else {
        m->pca.bands = (int)sizes[2], m->pca.components = (int)sizes[3], m->pca.eigenvalue_count = (int)sizes[4];
        m->pca.count = count, m->pca.total_variance = total, m->pca.precise = (shs_precision)(sizes[5] >> 8);
    }
    return SHS_OK;
}

/* What is not in the file, because it follows: forward = (vectors / scale)'. */
SHS__PRIVATE shs_status shs__md_complete(shs_pca *p) {
    int i, j, n = p->bands, k = p->components;
    for (i = 0; i < n; i++)
        if (!(p->scale[i] > 0)) return SHS_DAMAGED_MODEL;
    for (j = 0; j < k; j++)
        for (i = 0; i < n; i++) *SHS__AT(p->forward, k, j, i) = *SHS__AT(p->vectors, n, i, j) / p->scale[i];
    return shs__wide_finite((size_t)n * (size_t)k, p->forward) ? SHS_OK : SHS_DAMAGED_MODEL;
}

SHS__PUBLIC shs_status shs_model_load(const shs_context *ctx, int (*read_fn)(void *user, void *bytes, size_t count), void *user,
                                      shs_model *model) {
    shs__md_array arrays[SHS__MD_ARRAYS];
    shs__md_file f = SHS_ZERO;
    shs__layout l = SHS_ZERO;
    unsigned char head[SHS__MD_HEAD];
    shs_model m = SHS_ZERO;
    shs_wide numbers[SHS__MD_NUMBERS];
    int wavelengths = 0, noise = 0, count, i;
    shs_status status = shs__ctx_check(ctx);
    if (status != SHS_OK) return status;
    if (!read_fn || !model) return SHS_BAD_MODEL;
    if (read_fn(user, head, SHS__MD_HEAD)) return SHS_READ_FAILED;
    status = shs__md_read_head(head, &m, &wavelengths, &noise);
    if (status != SHS_OK) return status;
    f.read_fn = read_fn, f.user = user, f.crc = ~(uint32_t)0;
    count = shs__md_arrays(&m, wavelengths, noise, arrays);
    while (shs__layout_next(ctx, &l, &status)) {
        for (i = 0; i < count; i++) *arrays[i].values = SHS__CARVE(&l, shs_wide, arrays[i].count);
        if (m.kind == SHS_MODEL_ICA) m.ica.component = SHS__CARVE(&l, shs_ica_component, (size_t)m.ica.components);
        else m.pca.forward = SHS__CARVE(&l, shs_wide, shs__layout_product((size_t)m.pca.bands, (size_t)m.pca.components, 1));
    }
    for (i = 0; i < count && status == SHS_OK; i++) status = shs__md_read(&f, *arrays[i].values, arrays[i].count);
    for (i = 0; i < m.ica.components && status == SHS_OK; i++) {
        status = shs__md_read(&f, numbers, SHS__MD_NUMBERS);
        if (status == SHS_OK && !shs__md_from_numbers(numbers, m.ica.component + i)) status = SHS_DAMAGED_MODEL;
    }
    if (status == SHS_OK && read_fn(user, head, 4)) status = SHS_READ_FAILED;
    if (status == SHS_OK && shs__get_bytes(head, 4) != (uint32_t)~f.crc) status = SHS_DAMAGED_MODEL;
    if (status == SHS_OK && m.kind != SHS_MODEL_ICA) status = shs__md_complete(&m.pca);
    if (status != SHS_OK) {
        shs__layout_release(ctx, &l);
        return status;
    }
    SHS__UNPOISON(l.base, l.size);
    m.block = l.block;
    *model = m;
    return SHS_OK;
}

SHS__PUBLIC void shs_model_free(const shs_context *ctx, shs_model *model) {
    if (!model) return;
    shs__ctx_free(ctx, model->block);
    memset(model, 0, sizeof *model);
}

#endif /* SPARSEHS_NO_MODELS */

/* ================================================================================================================== */
/* 13  SPECTRA                                                                                              >>spectra */
/* ================================================================================================================== */

#if !defined(SPARSEHS_NO_SPECTRA) || defined(SPARSEHS_STATIC)

/* What known spectra say of pixels, on the moments and maps of section 9 and the products of section 10.

   shs_detect is moments (shs__tg_statistics), then a row of a map for each target (shs__tg_rows). MF, CEM and OSP are that map,
   by shs__pixels_map. ACE and SAM divide its outputs by the length of the pixel: shs__tg_scores makes both of a panel while it
   is in the cache; an engine makes them by two maps, and what is left is done here.

   shs_unmix is a map too or, with abundances that must not be negative, the map E'x and an active set for each pixel
   (shs__mix_solve_nonnegative), by shs__mix_pixels. shs_endmembers_find keeps projected pixels in memory; all its methods ask
   again and again which of them lies farthest in some direction: shs__em_farthest, over all threads and ranks. */

/* ---- targets: the naive twin ------------------------------------------------------------------------ >>detect_naive */

SHS__PUBLIC const char *shs_detector_name(shs_detector method) {
#define SHS__NAME(code, name) #name,
    static const char *const names[] = {SHS_DETECTOR_LIST(SHS__NAME) NULL};
#undef SHS__NAME
    return (unsigned)method < SHS_DETECTOR_COUNT ? names[method] : NULL;
}

/* x less its part along the unit vector q. */
SHS__PRIVATE void shs__wide_take_off(int n, const shs_wide *q, shs_wide *x) {
    shs_wide along = 0;
    int i;
    for (i = 0; i < n; i++) along += q[i] * x[i];
    for (i = 0; i < n; i++) x[i] -= along * q[i];
}

/* The angle of a cosine that rounding may have brought beyond 1. */
SHS__PRIVATE shs_wide shs__wide_angle(shs_wide cosine) {
    return cosine >= 1 ? 0 : SHS__WACOS(cosine <= -1 ? (shs_wide)-1 : cosine);
}

/* w = A^-1 (t - mean), where A is C, R or, for SAM, I, and A = L L'; or w = P t. With y = w'(x - mean) all scores but SAM's and
   ACE's are y / w'(t - mean); those two are functions of the cosine. */
SHS__PUBLIC void shs_detect_naive(shs_detector method, int n, ptrdiff_t m, const shs_wide *X, const shs_wide *t, int u,
                                  const shs_wide *U, shs_wide *scores, shs_wide *mean, shs_wide *w, shs_wide *v, shs_wide *A) {
    ptrdiff_t i, b, k;
    shs_wide y, own = 0, length2;
    int centred = method == SHS_DETECTOR_MF || method == SHS_DETECTOR_ACE;
    shs_moments_naive(n, m, X, mean, A);
    for (b = 0; b < n && !centred; b++)
        for (k = 0; k < n; k++) A[k + b * n] = method == SHS_DETECTOR_CEM ? A[k + b * n] + mean[k] * mean[b] : k == b;
    for (b = 0; b < n; b++) w[b] = t[b] - (mean[b] = centred ? mean[b] : 0);
    for (k = 0; k < u && method == SHS_DETECTOR_OSP; k++) { /* Gram-Schmidt: U's columns, orthonormal, in place of A's */
        shs_wide *q = A + k * n;
        for (b = 0; b < n; b++) q[b] = U[b + k * n];
        for (i = 0; i < k; i++) shs__wide_take_off(n, A + i * n, q);
        for (length2 = 0, b = 0; b < n; b++) length2 += q[b] * q[b];
        for (b = 0; b < n; b++) q[b] /= SHS__WSQRT(length2);
        shs__wide_take_off(n, q, w);
    }
    if (method != SHS_DETECTOR_OSP) {
        shs__pca_factorize_naive(n, A);
        shs__pca_forward_naive(n, A, w, 1);
        shs__pca_backward_naive(n, A, w, 1);
    }
    for (b = 0; b < n; b++) own += w[b] * (t[b] - mean[b]);
    for (i = 0; i < m; i++) {
        for (y = 0, b = 0; b < n; b++) y += w[b] * (v[b] = X[b + i * n] - mean[b]);
        scores[i] = y / own;
        if (method != SHS_DETECTOR_ACE && method != SHS_DETECTOR_SAM) continue;
        shs__pca_forward_naive(n, A, v, 1);
        for (length2 = 0, b = 0; b < n; b++) length2 += v[b] * v[b];
        scores[i] = length2 > 0 ? y / SHS__WSQRT(own * length2) : 0;
        scores[i] = method == SHS_DETECTOR_ACE ? scores[i] * scores[i] : shs__wide_angle(scores[i]);
    }
}

/* ---- targets: rows of a map ------------------------------------------------------------- >>inverse_root detectors */

/* Upper triangular R with R'R = A^-1, in place of the symmetric A (n x n): A = U U' and R = U^-1. Returns 0 where A is
   singular: a pivot is below `share` of its diagonal element; diagonal (n) is scratch. */
SHS__PRIVATE int shs__wide_inverse_root(int n, shs_wide *A, shs_wide share, shs_wide *diagonal) {
    int i, j, k;
    for (j = 0; j < n; j++) diagonal[j] = *SHS__AT(A, n, j, j);
    for (j = n - 1; j >= 0; j--) { /* column j of U, then its part off the columns before it */
        shs_wide *u = SHS__AT(A, n, 0, j), root;
        if (!(u[j] > share * diagonal[j])) return 0;
        for (root = SHS__WSQRT(u[j]), i = 0; i <= j; i++) u[i] /= root;
        for (k = 0; k < j; k++)
            for (i = 0; i <= k; i++) *SHS__AT(A, n, i, k) -= u[i] * u[k];
    }
    for (j = 0; j < n; j++) { /* column j of R: -R u / u_j with the columns of R before it */
        shs_wide *u = SHS__AT(A, n, 0, j);
        for (k = 0; k < j; k++) {
            const shs_wide *r = SHS__AT(A, n, 0, k);
            shs_wide factor = u[k];
            for (i = 0; i < k; i++) u[i] += factor * r[i];
            u[k] *= r[k];
        }
        for (i = 0; i < j; i++) u[i] /= -u[j];
        u[j] = 1 / u[j];
        for (i = j + 1; i < n; i++) u[i] = 0;
    }
    return 1;
}

typedef struct shs__detection {
    int n, targets;
    int centred;      /* pixels and targets less the mean */
    shs_wide *matrix; /* targets x n */
    shs_wide *mean;   /* n; of methods that take nothing off 0 */
    shs_wide *root;   /* n x n: R of C^-1 or R^-1; for SAM I; for OSP its first columns are an orthonormal basis of U's */
    shs_wide *t, *w;  /* n */
} shs__detection;

SHS__PRIVATE void shs__tg_layout(shs__layout *l, shs__detection *d) {
    size_t n = (size_t)d->n;
    d->matrix = SHS__CARVE(l, shs_wide, shs__layout_product(n, (size_t)d->targets, 1));
    d->mean = SHS__CARVE(l, shs_wide, n);
    d->root = SHS__CARVE(l, shs_wide, shs__layout_product(n, n, 1));
    d->t = SHS__CARVE(l, shs_wide, n);
    d->w = SHS__CARVE(l, shs_wide, n);
}

/* C or R of the background, or of the pixels of all ranks; its root. */
SHS__PRIVATE shs_status shs__tg_statistics(const shs_moments *m, const shs_detect_options *o, shs__detection *d) {
    int n = d->n, i, j;
    shs_wide trace = 0;
    shs_status status = shs_moments_finish(m, SHS_DIVISOR_N, d->mean, d->root, n);
    if (status != SHS_OK) return status;
    for (j = 0; j < n && !d->centred; j++)
        for (i = 0; i < n; i++) *SHS__AT(d->root, n, i, j) += d->mean[i] * d->mean[j];
    for (j = 0; j < n && !d->centred; j++) d->mean[j] = 0;
    for (j = 0; j < n; j++) trace += *SHS__AT(d->root, n, j, j);
    for (j = 0; j < n; j++) *SHS__AT(d->root, n, j, j) += o->ridge * trace / (shs_wide)n;
    if (!shs__wide_finite((size_t)n, d->mean) || !shs__wide_finite((size_t)n * (size_t)n, d->root)) return SHS_NOT_FINITE;
    return shs__wide_inverse_root(n, d->root, SHS__RANK_EPS, d->t) ? SHS_OK : SHS_SINGULAR_COVARIANCE;
}

/* An orthonormal basis of the undesired spectra: each off those before it, twice for the sake of rounding. */
SHS__PRIVATE shs_status shs__tg_basis(const shs_detect_options *o, shs__detection *d) {
    int n = d->n, i, k, twice;
    for (k = 0; k < o->undesired_count; k++) {
        shs_wide *q = SHS__AT(d->root, n, 0, k), before, left;
        memcpy(q, SHS__AT(o->undesired, n, 0, k), (size_t)n * sizeof *q);
        before = shs__wide_dot(n, q, q);
        for (twice = 0; twice < 2; twice++)
            for (i = 0; i < k; i++) shs__wide_take_off(n, SHS__AT(d->root, n, 0, i), q);
        left = shs__wide_dot(n, q, q);
        if (!(left > SHS__RANK_EPS * before) || !shs__wide_finite(1, &left)) return SHS_BAD_UNDESIRED;
        for (left = SHS__WSQRT(left), i = 0; i < n; i++) q[i] /= left;
    }
    return SHS_OK;
}

/* The row of each target: w / w't, where w is R'R t or P t; of ACE and SAM w / sqrt(w't), so that the cosine comes of the
   output and the pixel's length alone. */
SHS__PRIVATE shs_status shs__tg_rows(const shs_detect_options *o, const shs_wide *spectra, int lds, shs__detection *d) {
    int n = d->n, k, i, j, twice, cosine = o->method == SHS_DETECTOR_ACE || o->method == SHS_DETECTOR_SAM;
    for (k = 0; k < d->targets; k++) {
        const shs_wide *spectrum = SHS__AT(spectra, lds, 0, k);
        shs_wide own = 0, length2, off2;
        for (i = 0; i < n; i++) d->t[i] = spectrum[i] - d->mean[i];
        length2 = shs__wide_dot(n, spectrum, spectrum), off2 = shs__wide_dot(n, d->t, d->t);
        if (!shs__wide_finite(1, &length2) || !shs__wide_finite(1, &off2)) return SHS_BAD_TARGETS;
        if (!(off2 > 64 * SHS__WIDE_EPS * SHS__WIDE_EPS * length2)) return SHS_LOST_TARGET;
        memcpy(d->w, d->t, (size_t)n * sizeof *d->w);
        if (o->method == SHS_DETECTOR_OSP) {
            for (twice = 0; twice < 2; twice++)
                for (j = 0; j < o->undesired_count; j++) shs__wide_take_off(n, SHS__AT(d->root, n, 0, j), d->w);
            own = shs__wide_dot(n, d->w, d->w);
            if (!(own > SHS__RANK_EPS * off2)) return SHS_LOST_TARGET;
        } else if (o->method == SHS_DETECTOR_SAM) own = off2;
        else {
            for (i = 0; i < n; i++) /* R t: row i of R begins at its diagonal */
                for (d->w[i] = 0, j = i; j < n; j++) d->w[i] += *SHS__AT(d->root, n, i, j) * d->t[j];
            own = shs__wide_dot(n, d->w, d->w);
            for (j = n - 1; j >= 0; j--) d->w[j] = shs__wide_dot(j + 1, SHS__AT(d->root, n, 0, j), d->w); /* R'(R t) */
        }
        if (cosine) own = SHS__WSQRT(own);
        for (i = 0; i < n; i++) *SHS__AT(d->matrix, d->targets, k, i) = d->w[i] / own;
    }
    return shs__wide_finite((size_t)n * (size_t)d->targets, d->matrix) ? SHS_OK : SHS_BAD_TARGETS;
}

/* ---- targets: scores that are no maps ----------------------------------------------------------------- >>scores */

/* The consumer of ACE and SAM. job.map makes the squared length of the whitened pixel; of SAM it only has its room. */
typedef struct shs__scores {
    shs__map_job job;
    shs__map cosines; /* the targets' rows */
    shs_detector method;
    int given; /* the pixels are outputs of an engine: those of the targets, then the squared length */
} shs__scores;

/* The squared lengths of the panel's pixels, into the worker's job.map.own->wide. */
SHS__PRIVATE void shs__tg_lengths(const shs__scores *s, shs__panel *panel, int worker) {
    const shs__map *m = &s->job.map;
    const shs__pixels_kernels *kernels = m->kernels;
    shs_wide *length2 = m->own[worker].wide;
    size_t next_pixel = m->planes ? 1 : (size_t)m->bands, next_band = m->planes ? (size_t)SHS__PANEL_PIXELS : 1;
    int k, b;
    if (!s->given && s->method == SHS_DETECTOR_ACE) {
        shs__px_map_outputs(m, panel, m->own + worker, 0);
        return;
    }
    for (k = 0; k < panel->valid; k++) length2[k] = 0;
    for (b = 0; b < m->bands && !s->given; b++)
        for (k = 0; k < panel->valid; k++) {
            shs_wide x = shs__px_get_element(kernels, panel->X, (size_t)k * next_pixel + (size_t)b * next_band);
            length2[k] += x * x;
        }
    for (k = 0; k < panel->valid && s->given; k++)
        length2[k] = shs__px_get_element(kernels, panel->X, (size_t)k * next_pixel + (size_t)(m->bands - 1) * next_band);
}

/* The scores of one target, into cosines.own->wide. */
SHS__PRIVATE void shs__tg_target(const shs__scores *s, const shs__panel *panel, int worker, int target) {
    const shs__pixels_kernels *kernels = s->job.map.kernels;
    const shs__mapped *own = s->cosines.own + worker;
    const shs_wide *length2 = s->job.map.own[worker].wide;
    int k;
    for (k = 0; k < panel->valid; k++) {
        shs_wide y = shs__px_get_element(kernels, own->planes, (size_t)target * SHS__PANEL_PIXELS + (size_t)k);
        y = length2[k] > 0 ? (y + s->cosines.constant[target]) / SHS__WSQRT(length2[k]) : 0;
        own->wide[k] = s->method == SHS_DETECTOR_ACE ? y * y : shs__wide_angle(y);
    }
}

SHS__PRIVATE void shs__tg_write_panel(void *state, shs__panel *panel, int worker, shs_wide *sums) {
    const shs__scores *s = (const shs__scores *)state;
    int o;
    (void)sums;
    shs__px_map_outputs(&s->cosines, panel, s->cosines.own + worker, 0);
    shs__tg_lengths(s, panel, worker);
    for (o = 0; o < s->cosines.outputs; o++) {
        shs__tg_target(s, panel, worker, o);
        shs__px_write_plane(&s->job, panel, s->cosines.own + worker, o, 0);
    }
}

SHS__PRIVATE void shs__tg_range_panel(void *state, shs__panel *panel, int worker, shs_wide *sums) {
    const shs__scores *s = (const shs__scores *)state;
    const shs_wide *score = s->cosines.own[worker].wide;
    int targets = s->cosines.outputs, o, k;
    shs__px_map_outputs(&s->cosines, panel, s->cosines.own + worker, 0);
    shs__tg_lengths(s, panel, worker);
    for (o = 0; o < targets; o++) {
        shs__tg_target(s, panel, worker, o);
        for (k = 0; k < panel->valid; k++) shs__px_widen(score[k], score[k], sums + o, sums + targets + o);
    }
}

/* The extremes of all ranks, where the sink rescales; then the scores. */
SHS__PRIVATE shs_status shs__tg_run(const shs_context *ctx, shs__scores *s) {
    shs__writer *w = &s->job.writer;
    shs__consumer *c = &s->job.consumer;
    shs_status status = SHS_OK;
    int o;
    c->state = s;
    if (w->sink->rescale) {
        c->work = shs__tg_range_panel, c->phase = "range", c->op = SHS_REDUCE_MAX, c->count = 2 * (size_t)w->bands;
        status = shs__ctx_agree(ctx, shs__px_pass_run(ctx, &s->job.reader, c));
        if (status == SHS_OK) status = shs__ctx_reduce(ctx, c->sums, c->count, SHS_REDUCE_MAX);
        for (o = 0; o < w->bands; o++) w->low[o] = -c->sums[o], w->high[o] = c->sums[w->bands + o];
        if (status != SHS_OK) return status;
    }
    c->begin = shs__px_map_begin, c->work = shs__tg_write_panel, c->end = shs__px_map_end, c->phase = "transform", c->count = 0;
    shs__px_writer_scale(w, NULL);
    return shs__px_pass_run(ctx, &s->job.reader, c);
}

/* The scores of a cube, or of an engine's outputs (given), whose first bands are the targets'; how it went so far is told to
   the other ranks, which may have no engine. */
SHS__OUTLINE shs_status shs__tg_scores(const shs__pixels *px, const shs__view *v, const shs__detection *d, shs_detector method,
                                       int given, const shs_sink *sink, shs_status status) {
    shs__scores s;
    shs__layout l = SHS_ZERO;
    shs_pixel_map lengths = shs__px_map_of(v->used, !given && method == SHS_DETECTOR_ACE ? d->n : 1, d->root, d->mean, NULL);
    memset(&s, 0, sizeof s);
    shs__px_map_job_init(&s.job, v, &lengths, shs__is_wide(SHS_PRECISION_ALWAYS), 1, sink);
    shs__px_map_init(&s.cosines, s.job.map.kernels, v->used, d->targets, v->planes, 0);
    s.job.writer.bands = d->targets;
    s.job.writer.missing = shs__px_missing_value(px->view.cube, sink);
    s.method = method, s.given = given;
    while (shs__layout_next(px->ctx, &l, &status)) {
        shs__px_map_job_layout(&l, &s.job, shs__ctx_workers(px->ctx));
        shs__px_map_layout(&l, &s.cosines, shs__ctx_workers(px->ctx));
    }
    if (sink->rescale) status = shs__ctx_agree(px->ctx, status);
    if (status == SHS_OK) {
        shs__px_map_set(&s.cosines, d->matrix, 1, d->targets, given ? NULL : d->mean, NULL);
        if (lengths.outputs > 1) shs__px_map_set(&s.job.map, d->root, 1, d->n, d->mean, NULL);
        s.job.reader.shift = s.cosines.shift;
        status = shs__tg_run(px->ctx, &s);
    }
    shs__layout_release(px->ctx, &l);
    return status;
}

/* On an engine: outputs and squared lengths by two maps, into memory; the scores of these come from the CPU. */
SHS__OUTLINE shs_status shs__tg_engine_scores(const shs__pixels *px, shs__detection *d, shs_detector method,
                                              const shs_sink *sink) {
    shs_sink outputs = SHS_ZERO;
    shs_cube made = SHS_ZERO;
    shs__view v;
    shs__layout l = SHS_ZERO;
    shs_pixel_map map = shs__px_map_of(d->n, d->targets, d->matrix, d->mean, NULL);
    size_t pixels = (size_t)px->view.samples * (size_t)px->view.lines;
    shs_wide *room = NULL, *pick = NULL;
    shs__detection picked = *d;
    int bands = d->targets + 1, i;
    shs_status status = SHS_OK;
    while (shs__layout_next(px->ctx, &l, &status)) {
        room = SHS__CARVE(&l, shs_wide, shs__layout_product(pixels, (size_t)bands, 1));
        pick = SHS__CARVE(&l, shs_wide, shs__layout_product((size_t)d->targets, (size_t)bands, 1));
    }
    outputs.type = made.type = sizeof(shs_wide) == 8 ? SHS_TYPE_F64 : SHS_TYPE_F32;
    outputs.pixels = room, outputs.has_nodata = 1, outputs.nodata = shs__nan();
    if (status == SHS_OK) status = shs__pixels_map(px, &map, SHS_PRECISION_ALWAYS, &outputs, 0);
    if (status == SHS_OK) {
        map = shs__px_map_of(d->n, d->n, d->root, d->mean, NULL);
        outputs.pixels = room + pixels * (size_t)d->targets;
        status = shs__pixels_map(px, &map, SHS_PRECISION_ALWAYS, &outputs, 1);
    }
    if (status == SHS_OK) {
        memset(pick, 0, (size_t)d->targets * (size_t)bands * sizeof *pick);
        for (i = 0; i < d->targets; i++) *SHS__AT(pick, d->targets, i, i) = 1;
        made.pixels = room, made.samples = px->view.samples, made.lines = px->view.lines, made.bands = bands;
        picked.matrix = pick;
        status = shs__px_view_open(&made, &v);
    }
    status = shs__tg_scores(px, status == SHS_OK ? &v : &px->view, &picked, method, 1, sink, status);
    shs__layout_release(px->ctx, &l);
    return status;
}

/* ---- targets: the driver --------------------------------------------------------------------------------- >>detect */

SHS__PRIVATE shs_status shs__tg_check(int n, int targets, const shs_wide *spectra, int lds, const shs_detect_options *o) {
    int k;
    if (!SHS__ZEROED(o) || (unsigned)o->method >= SHS_DETECTOR_COUNT) return SHS_BAD_OPTIONS;
    if (!shs__wide_finite(1, &o->ridge) || o->ridge < 0) return SHS_BAD_OPTIONS;
    if (!spectra || targets < 1 || lds < n) return SHS_BAD_TARGETS;
    if (targets > INT_MAX - 16) return SHS_TOO_LARGE;
    for (k = 0; k < targets; k++)
        if (!shs__wide_finite((size_t)n, SHS__AT(spectra, lds, 0, k))) return SHS_BAD_TARGETS;
    if (o->undesired_count < 0 || o->undesired_count >= n || (o->undesired_count > 0 && !o->undesired))
        return SHS_BAD_UNDESIRED;
    if (!shs__wide_finite((size_t)n * (size_t)o->undesired_count, o->undesired)) return SHS_BAD_UNDESIRED;
    if (o->background && (!o->background->products || o->background->bands != n)) return SHS_BAD_MOMENTS;
    return SHS_OK;
}

/* What the ranks must agree on: the sizes, the options, and whatever decides the scores. */
SHS__PRIVATE shs_status shs__tg_meet(const shs__pixels *px, shs_status status, int targets, const shs_wide *spectra, int lds,
                                     const shs_detect_options *o, const shs_sink *sink) {
    int64_t numbers[4] = {0, 0, 0, 0};
    shs_wide two[2] = {0, 0};
    uint64_t print = 1;
    size_t n = (size_t)px->view.used;
    int k;
    if (status == SHS_OK) {
        for (k = 0; k < targets; k++) print = shs__ctx_imprint(print, SHS__AT(spectra, lds, 0, k), n * sizeof *spectra);
        print = shs__ctx_imprint(print, o->undesired, n * (size_t)o->undesired_count * sizeof *spectra);
        numbers[0] = targets, numbers[1] = (int64_t)o->method, numbers[2] = o->background != NULL;
        numbers[3] = (int64_t)(print >> 1);
        two[0] = o->ridge, two[1] = o->background ? o->background->count : 0;
    }
    return shs__px_meet(px, status, "detect", numbers, 4, two, sink);
}

/* Statistics, and what is made of them. Only the pixels' own moments are collective. */
SHS__OUTLINE shs_status shs__tg_fit(const shs__pixels *px, const shs_wide *spectra, int lds, const shs_detect_options *o,
                                    shs__detection *d) {
    shs_moments own = SHS_ZERO;
    const shs_moments *m = o->background;
    int any = o->method != SHS_DETECTOR_SAM && o->method != SHS_DETECTOR_OSP, i;
    shs_status status = SHS_OK;
    if (any && !m) {
        status = shs_moments_create(px->ctx, d->n, &own);
        if (status == SHS_OK) status = shs__px_add_moments(px, SHS_PRECISION_ALWAYS, SHS__NO_PAIRS, &own);
        status = shs__ctx_agree(px->ctx, status);
        if (status == SHS_OK) status = shs_moments_reduce(px->ctx, &own);
        m = &own;
    }
    if (status == SHS_OK && any) status = shs__tg_statistics(m, o, d);
    if (status == SHS_OK && !any) {
        memset(d->mean, 0, (size_t)d->n * sizeof *d->mean);
        memset(d->root, 0, (size_t)d->n * (size_t)d->n * sizeof *d->root);
        for (i = 0; i < d->n && o->method == SHS_DETECTOR_SAM; i++) *SHS__AT(d->root, d->n, i, i) = 1;
        if (o->method == SHS_DETECTOR_OSP) status = shs__tg_basis(o, d);
    }
    if (status == SHS_OK) status = shs__tg_rows(o, spectra, lds, d);
    shs_moments_free(px->ctx, &own);
    return status;
}

/* The fast form of shs_detect_naive. */
SHS__PUBLIC shs_status shs_detect(const shs_context *ctx, const shs_cube *cube, int targets, const shs_wide *spectra, int lds,
                                  const shs_detect_options *options, const shs_sink *sink) {
    static const shs_detect_options zero = SHS_ZERO;
    const shs_detect_options *o = options ? options : &zero;
    shs__detection d = SHS_ZERO;
    shs__layout l = SHS_ZERO;
    shs__pixels px;
    shs_pixel_map map;
    shs_status status = shs__px_open(ctx, cube, &px);
    if (status == SHS_OK) status = shs__px_check_sink(cube, sink);
    if (status == SHS_OK) status = shs__tg_check(px.view.used, targets, spectra, lds, o);
    status = shs__tg_meet(&px, status, targets, spectra, lds, o, sink);
    d.n = px.view.used, d.targets = targets;
    d.centred = o->method == SHS_DETECTOR_MF || o->method == SHS_DETECTOR_ACE;
    if (status == SHS_OK) { /* otherwise all ranks know */
        while (shs__layout_next(ctx, &l, &status)) shs__tg_layout(&l, &d);
        status = shs__ctx_agree(ctx, status);
    }
    if (status == SHS_OK) status = shs__ctx_agree(ctx, shs__tg_fit(&px, spectra, lds, o, &d));
    if (status == SHS_OK) {
        map = shs__px_map_of(d.n, targets, d.matrix, d.mean, NULL);
        if (o->method != SHS_DETECTOR_ACE && o->method != SHS_DETECTOR_SAM)
            status = shs__pixels_map(&px, &map, SHS_PRECISION_ALWAYS, sink, 0);
        else if (px.engine) status = shs__tg_engine_scores(&px, &d, o->method, sink);
        else status = shs__tg_scores(&px, &px.view, &d, o->method, 0, sink, SHS_OK);
        status = shs__ctx_agree(ctx, status);
    }
    shs__layout_release(ctx, &l);
    shs__px_close(&px);
    return status;
}

/* ---- abundances: the naive twin ---------------------------------------------------------------------- >>unmix_naive */

/* Solves k equations, the columns of K (k x (k + 1)) and the right side behind them, which becomes the solution. */
SHS__PRIVATE void shs__mix_eliminate_naive(int k, shs_wide *K) {
    int i, j, column, pivot;
    for (column = 0; column < k; column++) {
        for (pivot = column, i = column + 1; i < k; i++)
            if (shs__wabs(K[i + column * k]) > shs__wabs(K[pivot + column * k])) pivot = i;
        for (j = column; j <= k; j++) {
            shs_wide swapped = K[pivot + j * k];
            K[pivot + j * k] = K[column + j * k];
            K[column + j * k] = swapped;
        }
        for (i = 0; i < k; i++)
            for (j = k; j >= column && i != column; j--)
                K[i + j * k] -= K[i + column * k] / K[column + column * k] * K[column + j * k];
    }
    for (i = 0; i < k; i++) K[i + k * k] /= K[i + i * k];
}

/* With lambda for the sum of 1, the abundances of a set solve [E'E 1; 1' 0] [a; lambda] = [E'x; 1]. */
SHS__PUBLIC void shs_unmix_naive(shs_constraint constraint, int n, int c, const shs_wide *E, ptrdiff_t m, const shs_wide *X,
                                 shs_wide *A, shs_wide *K) {
    int nonnegative = (constraint & SHS_CONSTRAINT_NONNEGATIVE) != 0, sum = (constraint & SHS_CONSTRAINT_SUM) != 0;
    long set, all = (1L << c) - 1;
    ptrdiff_t pixel;
    int b, i, j, p, q, k;
    for (pixel = 0; pixel < m; pixel++) {
        const shs_wide *x = X + pixel * n;
        shs_wide nearest = SHS__WIDE_MAX, *a = A + pixel * c;
        for (set = nonnegative ? sum : all; set <= all; set++) {
            int allowed = 1;
            shs_wide distance = 0;
            for (k = sum, i = 0; i < c; i++) k += set >> i & 1;
            for (i = 0; i < k * (k + 1); i++) K[i] = 0;
            for (p = i = 0; i < c; i++) {
                if (!(set >> i & 1)) continue;
                for (q = j = 0; j < c; j++) {
                    if (!(set >> j & 1)) continue;
                    for (b = 0; b < n; b++) K[p + q * k] += E[b + i * n] * E[b + j * n];
                    q++;
                }
                for (b = 0; b < n; b++) K[p + k * k] += E[b + i * n] * x[b];
                if (sum) K[p + (k - 1) * k] = K[k - 1 + p * k] = 1;
                p++;
            }
            if (sum) K[k - 1 + k * k] = 1;
            shs__mix_eliminate_naive(k, K);
            for (i = 0; i < k - sum && nonnegative; i++) allowed = allowed && K[i + k * k] >= 0;
            for (b = 0; b < n; b++) {
                shs_wide left = x[b];
                for (p = i = 0; i < c; i++)
                    if (set >> i & 1) left -= E[b + i * n] * K[p++ + k * k];
                distance += left * left;
            }
            if (!allowed || !(distance < nearest)) continue;
            nearest = distance;
            for (p = i = 0; i < c; i++) a[i] = set >> i & 1 ? K[p++ + k * k] : 0;
        }
    }
}

/* ---- abundances: one pixel ------------------------------------------------------------------------------- >>mixture */

/* What all pixels share, and a worker's scratch. */
typedef struct shs__mixture {
    int c, sum;              /* sum: the abundances add up to 1 */
    const shs_wide *gram;    /* c x c: E'E */
    shs_wide *L, *u, *v, *a; /* c x c, c, c, c */
    int *in;                 /* c: 1 = in the set, 0 = not; -1 = not, and rounding alone would take it in */
    unsigned char apart[SHS__ALIGN];
} shs__mixture;

enum { SHS__MIX_STEPS = 30 }; /* so many changes of the set for each endmember, at most: far more than exact numbers need */

/* The least squares over the set, without regard to signs: u, in the order of the endmembers; returns lambda. */
SHS__PRIVATE shs_wide shs__mix_solve(const shs__mixture *m, const shs_wide *b) {
    int c = m->c, k = 0, i, j, at = 0;
    shs_wide ones = 0, sum = -1, lambda;
    for (j = 0; j < c; j++)
        if (m->in[j] > 0) m->v[k] = 1, m->u[k++] = b[j];
    for (j = 0; j < c; j++)
        for (i = 0; i < c && m->in[j] > 0; i++)
            if (m->in[i] > 0) m->L[at++] = *SHS__AT(m->gram, c, i, j);
    shs__pca_factorize_naive(k, m->L);
    shs__pca_forward_naive(k, m->L, m->u, 1);
    shs__pca_backward_naive(k, m->L, m->u, 1);
    if (!m->sum) return 0;
    shs__pca_forward_naive(k, m->L, m->v, 1);
    shs__pca_backward_naive(k, m->L, m->v, 1);
    for (i = 0; i < k; i++) ones += m->v[i], sum += m->u[i];
    for (lambda = sum / ones, i = 0; i < k; i++) m->u[i] -= lambda * m->v[i];
    return lambda;
}

/* From abundances that are allowed towards the solution of the set, and where a sign would change on the way, on without that
   endmember: until the solution is allowed. Each step comes nearer to x. */
SHS__PRIVATE shs_wide shs__mix_descend(const shs__mixture *m, const shs_wide *b) {
    int c = m->c, i, k;
    for (;;) {
        shs_wide lambda = shs__mix_solve(m, b), step = 1;
        for (k = i = 0; i < c; i++)
            if (m->in[i] > 0) {
                shs_wide to = m->u[k++], length = to > 0 ? 1 : m->a[i] > 0 ? m->a[i] / (m->a[i] - to) : 0;
                step = length < step ? length : step;
            }
        if (step >= 1) { /* nobody stops it */
            for (k = i = 0; i < c; i++) m->a[i] = m->in[i] > 0 ? m->u[k++] : 0;
            return lambda;
        }
        for (k = i = 0; i < c; i++)
            if (m->in[i] > 0) {
                shs_wide to = m->u[k++], length = to > 0 ? 1 : m->a[i] > 0 ? m->a[i] / (m->a[i] - to) : 0;
                m->a[i] += step * (to - m->a[i]);
                if (length <= step) m->a[i] = 0, m->in[i] = 0;
            }
    }
}

/* The nonnegative abundances for b = E'x, in its place. The set begins empty or, for a sum of 1, with the nearest endmember.
   Then the one along which the distance falls most comes in, until it falls along none. */
SHS__PRIVATE void shs__mix_solve_nonnegative(const shs__mixture *m, shs_wide *b) {
    int c = m->c, i, j, steps, first = 0;
    shs_wide lambda = 0;
    for (i = 0; i < c; i++) {
        m->a[i] = 0, m->in[i] = 0;
        if (*SHS__AT(m->gram, c, i, i) / 2 - b[i] < *SHS__AT(m->gram, c, first, first) / 2 - b[first]) first = i;
    }
    if (m->sum) {
        m->a[first] = 1, m->in[first] = 1;
        lambda = b[first] - *SHS__AT(m->gram, c, first, first);
    }
    for (steps = 0; steps < SHS__MIX_STEPS * c; steps++) {
        shs_wide most = 0;
        int enters = -1;
        for (j = 0; j < c; j++) {
            shs_wide falls = b[j] - lambda, size = shs__wabs(b[j]) + shs__wabs(lambda);
            if (m->in[j]) continue;
            for (i = 0; i < c; i++) {
                shs_wide part = *SHS__AT(m->gram, c, i, j) * m->a[i];
                falls -= part, size += shs__wabs(part);
            }
            if (falls > most && falls > 4 * (shs_wide)(c + 1) * SHS__WIDE_EPS * size) most = falls, enters = j;
        }
        if (enters < 0) break;
        m->in[enters] = 1;
        lambda = shs__mix_descend(m, b);
        if (m->in[enters] == 0) m->in[enters] = -1;
    }
    memcpy(b, m->a, (size_t)c * sizeof *b);
}

/* ---- abundances: the driver ---------------------------------------------------------------------------------- >>unmix */

/* The consumer: a map, to E'x, then every pixel's abundances in its place. */
typedef struct shs__unmixing {
    shs__map_job job;
    shs__mixture *own; /* one a worker */
} shs__unmixing;

/* The abundances of the panel's pixels, in planes. */
SHS__PRIVATE void shs__mix_outputs(const shs__unmixing *s, shs__panel *panel, int worker) {
    const shs__map *map = &s->job.map;
    shs__mapped *own = map->own + worker;
    int k;
    shs__px_map_outputs(map, panel, own, 1);
    for (k = 0; k < panel->valid; k++)
        shs__mix_solve_nonnegative(s->own + worker, SHS__AT((shs_wide *)own->rows, map->ldy, 0, k));
    if (panel->valid > 0)
        map->kernels->transpose(map->outputs, panel->valid, own->rows, map->ldy, own->planes, SHS__PANEL_PIXELS);
}

SHS__PRIVATE void shs__mix_write_panel(void *state, shs__panel *panel, int worker, shs_wide *sums) {
    const shs__unmixing *s = (const shs__unmixing *)state;
    int o;
    (void)sums;
    shs__mix_outputs(s, panel, worker);
    for (o = 0; o < s->job.writer.bands; o++) shs__px_write_plane(&s->job, panel, s->job.map.own + worker, o, 0);
}

SHS__PRIVATE void shs__mix_range_panel(void *state, shs__panel *panel, int worker, shs_wide *sums) {
    const shs__unmixing *s = (const shs__unmixing *)state;
    const shs_wide *a = (const shs_wide *)s->job.map.own[worker].planes;
    int c = s->job.map.outputs, o, k;
    shs__mix_outputs(s, panel, worker);
    for (o = 0; o < c; o++, a += SHS__PANEL_PIXELS)
        for (k = 0; k < panel->valid; k++) shs__px_widen(a[k], a[k], sums + o, sums + c + o);
}

/* The extremes of all ranks, where the sink rescales; then the abundances. */
SHS__PRIVATE shs_status shs__mix_passes(const shs_context *ctx, shs__unmixing *s) {
    shs__writer *w = &s->job.writer;
    shs__consumer *c = &s->job.consumer;
    shs_status status = SHS_OK;
    int o;
    if (w->sink->rescale) {
        c->work = shs__mix_range_panel, c->phase = "range", c->op = SHS_REDUCE_MAX, c->count = 2 * (size_t)w->bands;
        status = shs__ctx_agree(ctx, shs__px_pass_run(ctx, &s->job.reader, c));
        if (status == SHS_OK) status = shs__ctx_reduce(ctx, c->sums, c->count, SHS_REDUCE_MAX);
        for (o = 0; o < w->bands; o++) w->low[o] = -c->sums[o], w->high[o] = c->sums[w->bands + o];
        if (status != SHS_OK) return status;
    }
    c->begin = shs__px_map_begin, c->work = shs__mix_write_panel, c->end = shs__px_map_end, c->phase = "abundances",
    c->count = 0;
    shs__px_writer_scale(w, s->job.map.constant);
    return shs__px_pass_run(ctx, &s->job.reader, c);
}

/* Of the pixels of v, which `map` leads to E'x. Who failed before comes here too: the ranks may agree here. */
SHS__OUTLINE shs_status shs__mix_pixels(const shs_context *ctx, shs_status status, const shs__view *v, const shs_pixel_map *map,
                                        const shs_wide *gram, int sum, shs_wide missing, const shs_sink *sink) {
    shs__unmixing s;
    shs__layout l = SHS_ZERO;
    int c = map->outputs, workers = shs__ctx_workers(ctx), i;
    size_t count = (size_t)c;
    memset(&s, 0, sizeof s);
    if (status == SHS_OK) shs__px_map_job_init(&s.job, v, map, shs__is_wide(SHS_PRECISION_ALWAYS), 0, sink);
    s.job.consumer.state = &s;
    s.job.writer.missing = missing;
    while (shs__layout_next(ctx, &l, &status)) {
        shs__px_map_job_layout(&l, &s.job, workers);
        s.own = SHS__CARVE(&l, shs__mixture, (size_t)workers);
        for (i = 0; i < workers; i++) {
            shs__mixture counted, *own = l.base ? s.own + i : &counted;
            own->c = c, own->sum = sum, own->gram = gram;
            own->L = SHS__CARVE(&l, shs_wide, shs__layout_product(count, count, 1));
            own->u = SHS__CARVE(&l, shs_wide, count);
            own->v = SHS__CARVE(&l, shs_wide, count);
            own->a = SHS__CARVE(&l, shs_wide, count);
            own->in = SHS__CARVE(&l, int, count);
        }
    }
    if (sink->rescale) status = shs__ctx_agree(ctx, status);
    if (status == SHS_OK) {
        shs__px_map_set(&s.job.map, map->matrix, 1, c, NULL, NULL);
        s.job.reader.shift = s.job.map.shift;
        status = shs__mix_passes(ctx, &s);
    }
    shs__layout_release(ctx, &l);
    return status;
}

/* shs_wide as a type of pixels. */
SHS__PRIVATE shs_type shs__wide_type(void) { return sizeof(shs_wide) == sizeof(shs_real) ? SHS_TYPE_REAL : SHS_TYPE_F64; }

/* A map of all pixels into memory, pixel after pixel; what is missing is NaN. */
SHS__PRIVATE shs_status shs__wide_map(const shs__pixels *px, const shs_pixel_map *map, int squares, shs_wide *to) {
    shs_sink sink = SHS_ZERO;
    sink.pixels = to, sink.type = shs__wide_type(), sink.interleave = SHS_INTERLEAVE_BIP;
    sink.has_nodata = 1, sink.nodata = shs__nan();
    return shs__pixels_map(px, map, SHS_PRECISION_ALWAYS, &sink, squares);
}

/* On an engine: E'x by its map, into memory; the CPU goes on from there. */
SHS__OUTLINE shs_status shs__mix_engine(const shs__pixels *px, const shs_pixel_map *map, const shs_wide *gram, int sum,
                                        shs_wide missing, const shs_sink *sink) {
    shs__layout l = SHS_ZERO;
    shs_cube outputs = SHS_ZERO;
    shs__view v = SHS_ZERO;
    shs_pixel_map as_is = *map;
    shs_wide *room = NULL, *one = NULL;
    size_t c = (size_t)map->outputs, pixels = (size_t)px->view.samples * (size_t)px->view.lines, i;
    shs_status status = SHS_OK;
    while (shs__layout_next(px->ctx, &l, &status)) {
        room = SHS__CARVE(&l, shs_wide, shs__layout_product(pixels, c, 1));
        one = SHS__CARVE(&l, shs_wide, shs__layout_product(c, c, 1));
    }
    if (status == SHS_OK) status = shs__wide_map(px, map, 0, room);
    if (status == SHS_OK) {
        for (i = 0; i < c * c; i++) one[i] = i % (c + 1) == 0;
        as_is = shs__px_map_of((int)c, (int)c, one, NULL, NULL);
        outputs.pixels = room, outputs.type = shs__wide_type(), outputs.interleave = SHS_INTERLEAVE_BIP;
        outputs.samples = px->view.samples, outputs.lines = px->view.lines, outputs.bands = (int)c;
        status = shs__px_view_open(&outputs, &v);
    }
    status = shs__mix_pixels(px->ctx, status, &v, &as_is, gram, sum, missing, sink);
    shs__layout_release(px->ctx, &l);
    return status;
}

/* The arrays of a call: E' (c x n), E'E (c x c), its inverse's root, and the map of the constraints that are one. */
typedef struct shs__mix_arrays {
    shs_wide *transposed, *gram, *root, *matrix, *offset, *scratch; /* c x n, c x c, c x c, c x n, c, c */
} shs__mix_arrays;

SHS__PRIVATE void shs__mix_layout(shs__layout *l, shs__mix_arrays *s, int n, int c) {
    size_t cells = shs__layout_product((size_t)n, (size_t)c, 1), gram = shs__layout_product((size_t)c, (size_t)c, 1);
    s->transposed = SHS__CARVE(l, shs_wide, cells);
    s->gram = SHS__CARVE(l, shs_wide, gram);
    s->root = SHS__CARVE(l, shs_wide, gram);
    s->matrix = SHS__CARVE(l, shs_wide, cells);
    s->offset = SHS__CARVE(l, shs_wide, (size_t)c);
    s->scratch = SHS__CARVE(l, shs_wide, (size_t)c);
}

/* The inverse of E'E applied to x (c), in its place: R'(R x). */
SHS__PRIVATE void shs__mix_inverse(int c, const shs_wide *R, shs_wide *x) {
    int i, j;
    for (i = 0; i < c; i++) /* R is upper triangular: x_i is not needed after this */
        for (x[i] *= *SHS__AT(R, c, i, i), j = i + 1; j < c; j++) x[i] += *SHS__AT(R, c, i, j) * x[j];
    for (j = c - 1; j >= 0; j--) x[j] = shs__wide_dot(j + 1, SHS__AT(R, c, 0, j), x);
}

/* Without a constraint a = (E'E)^-1 E'x; what a sum of 1 lacks comes along v = (E'E)^-1 1. */
SHS__PRIVATE shs_status shs__mix_prepare(int n, int c, const shs_wide *E, int lde, int sum, shs__mix_arrays *s) {
    int i, j, b;
    shs_wide ones = 0;
    for (b = 0; b < n; b++)
        for (i = 0; i < c; i++) *SHS__AT(s->transposed, c, i, b) = *SHS__AT(E, lde, b, i);
    for (j = 0; j < c; j++)
        for (i = 0; i < c; i++) *SHS__AT(s->gram, c, i, j) = shs__wide_dot(n, SHS__AT(E, lde, 0, i), SHS__AT(E, lde, 0, j));
    if (!shs__wide_finite((size_t)c * (size_t)c, s->gram)) return SHS_BAD_ENDMEMBERS;
    memcpy(s->root, s->gram, (size_t)c * (size_t)c * sizeof *s->root);
    if (!shs__wide_inverse_root(c, s->root, SHS__RANK_EPS, s->scratch)) return SHS_DEPENDENT_ENDMEMBERS;
    memcpy(s->matrix, s->transposed, (size_t)n * (size_t)c * sizeof *s->matrix);
    for (b = 0; b < n; b++) shs__mix_inverse(c, s->root, SHS__AT(s->matrix, c, 0, b));
    for (i = 0; i < c; i++) s->scratch[i] = 1, s->offset[i] = 0;
    shs__mix_inverse(c, s->root, s->scratch);
    for (i = 0; i < c; i++) ones += s->scratch[i];
    for (i = 0; i < c && sum; i++) s->offset[i] = s->scratch[i] / ones;
    for (b = 0; b < n && sum; b++) {
        shs_wide *column = SHS__AT(s->matrix, c, 0, b), total = 0;
        for (i = 0; i < c; i++) total += column[i];
        for (i = 0; i < c; i++) column[i] -= total * s->offset[i];
    }
    return shs__wide_finite((size_t)n * (size_t)c, s->matrix) ? SHS_OK : SHS_DEPENDENT_ENDMEMBERS;
}

SHS__PRIVATE shs_status shs__mix_check(int n, int c, const shs_wide *E, int lde, shs_constraint constraint) {
    int k;
    if ((unsigned)constraint > SHS_CONSTRAINT_FULL) return SHS_BAD_OPTIONS;
    if (!E || c < 1 || c > n || lde < n) return SHS_BAD_ENDMEMBERS;
    for (k = 0; k < c; k++)
        if (!shs__wide_finite((size_t)n, SHS__AT(E, lde, 0, k))) return SHS_BAD_ENDMEMBERS;
    return SHS_OK;
}

/* The fast form of shs_unmix_naive. */
SHS__PUBLIC shs_status shs_unmix(const shs_context *ctx, const shs_cube *cube, int count, const shs_wide *endmembers, int lde,
                                 shs_constraint constraint, const shs_sink *sink) {
    shs__mix_arrays s = SHS_ZERO;
    shs__layout l = SHS_ZERO;
    shs__pixels px;
    shs_pixel_map map;
    int64_t numbers[3] = {0, 0, 0};
    const shs_wide two[2] = {0, 0};
    uint64_t print = 1;
    int n, k, sum = (constraint & SHS_CONSTRAINT_SUM) != 0;
    shs_status status = shs__px_open(ctx, cube, &px);
    n = px.view.used;
    if (status == SHS_OK) status = shs__px_check_sink(cube, sink);
    if (status == SHS_OK) status = shs__mix_check(n, count, endmembers, lde, constraint);
    for (k = 0; k < count && status == SHS_OK; k++)
        print = shs__ctx_imprint(print, SHS__AT(endmembers, lde, 0, k), (size_t)n * sizeof *endmembers);
    numbers[0] = count, numbers[1] = (int64_t)constraint, numbers[2] = (int64_t)(print >> 1);
    status = shs__px_meet(&px, status, "unmix", numbers, 3, two, sink);
    while (shs__layout_next(ctx, &l, &status)) shs__mix_layout(&l, &s, n, count);
    if (status == SHS_OK) status = shs__mix_prepare(n, count, endmembers, lde, sum, &s);
    status = shs__ctx_agree(ctx, status);
    if (status == SHS_OK) {
        int nonnegative = (constraint & SHS_CONSTRAINT_NONNEGATIVE) != 0;
        shs_wide missing = shs__px_missing_value(cube, sink);
        map = shs__px_map_of(n, count, nonnegative ? s.transposed : s.matrix, NULL, nonnegative ? NULL : s.offset);
        if (!nonnegative) status = shs__pixels_map(&px, &map, SHS_PRECISION_ALWAYS, sink, 0);
        else if (px.engine) status = shs__mix_engine(&px, &map, s.gram, sum, missing, sink);
        else status = shs__mix_pixels(ctx, SHS_OK, &px.view, &map, s.gram, sum, missing, sink);
        status = shs__ctx_agree(ctx, status);
    }
    shs__layout_release(ctx, &l);
    shs__px_close(&px);
    return status;
}

/* ---- endmembers: the naive twins ------------------------------------------------------------------ >>endmembers_naive */

SHS__PUBLIC const char *shs_extractor_name(shs_extractor method) {
#define SHS__NAME(code, name) #name,
    static const char *const names[] = {SHS_EXTRACTOR_LIST(SHS__NAME) NULL};
#undef SHS__NAME
    return (unsigned)method < SHS_EXTRACTOR_COUNT ? names[method] : NULL;
}

/* Whether noise is low: the signal to noise ratio is above 10^1.5 p (15 + 10 log10 p decibels). power = E|x|^2, and subspace is
   that of the pixels' projections onto p principal components, their mean's included. */
SHS__PRIVATE int shs__em_noise_is_low(int n, int p, shs_wide power, shs_wide subspace) {
    return subspace - (shs_wide)p / (shs_wide)n * power > (shs_wide)31.622776601683793 * (shs_wide)p * (power - subspace);
}

/* Signs as in PCA: the entry of largest magnitude is positive. */
SHS__PRIVATE void shs__em_fix_signs(int n, int p, shs_wide *V) {
    int i, k, most;
    for (k = 0; k < p; k++, V += n) {
        for (most = 0, i = 1; i < n; i++)
            if (shs__wabs(V[i]) > shs__wabs(V[most])) most = i;
        for (i = 0; i < n && V[most] < 0; i++)
            if (i != most) V[i] = -V[i];
        V[most] = shs__wabs(V[most]);
    }
}

/* Y (p x m). Where noise is low, and `plane` allows it: y = U'x / (u'U'x), U being p singular vectors of X and u = U'mean: the
   brightness is taken out. Otherwise y = U'(x - mean) of p - 1 principal components, and one number for all below. */
SHS__PRIVATE void shs__em_project_naive(int n, ptrdiff_t m, const shs_wide *X, int p, int plane, shs_wide *Y, shs_wide *room) {
    shs_wide *mean = room, *values = mean + n, *C = values + n, *V = C + n * n, power = 0, subspace = 0, most = 0;
    ptrdiff_t i, b, k;
    shs_moments_naive(n, m, X, mean, C);
    shs_eigh_naive(n, C, values, V);
    for (b = 0; b < n; b++) {
        power += values[b] + mean[b] * mean[b];
        subspace += (b < p ? values[b] : 0) + mean[b] * mean[b];
    }
    if ((plane = plane && shs__em_noise_is_low(n, p, power, subspace)) != 0) {
        shs_moments_naive(n, m, X, mean, C);
        for (i = 0; i < (ptrdiff_t)n * n; i++) C[i] += mean[i % n] * mean[i / n];
        shs_eigh_naive(n, C, values, V);
    }
    shs__em_fix_signs(n, p, V);
    for (i = 0; i < m; i++) {
        shs_wide *y = Y + i * p, along = 0, length2 = 0;
        for (k = 0; k < p; k++) {
            shs_wide u = 0;
            for (y[k] = 0, b = 0; b < n; b++) {
                y[k] += V[b + k * n] * (X[b + i * n] - (plane ? 0 : mean[b]));
                u += V[b + k * n] * mean[b];
            }
            along += u * y[k];
            length2 += k < p - 1 ? y[k] * y[k] : 0;
        }
        for (k = 0; k < p && plane; k++) y[k] /= along;
        most = length2 > most ? length2 : most;
    }
    for (i = 0; i < m && !plane; i++) Y[p - 1 + i * p] = SHS__WSQRT(most);
}

/* The first pixel that lies farthest along f. */
SHS__PRIVATE ptrdiff_t shs__em_farthest_naive(int p, ptrdiff_t m, const shs_wide *Y, const shs_wide *f) {
    ptrdiff_t i, k, found = 0;
    shs_wide most = -1;
    for (i = 0; i < m; i++) {
        shs_wide y = 0;
        for (k = 0; k < p; k++) y += f[k] * Y[k + i * p];
        if (shs__wabs(y) > most) most = shs__wabs(y), found = i;
    }
    return found;
}

/* x becomes the unit vector of what is left of it outside the columns of Q (d x count, orthonormal); returns the share of |x|^2
   that is left. Twice for the sake of rounding. */
SHS__PRIVATE shs_wide shs__em_outside(int d, int count, const shs_wide *Q, shs_wide *x) {
    shs_wide before = shs__wide_dot(d, x, x), left;
    int i, twice;
    for (twice = 0; twice < 2; twice++)
        for (i = 0; i < count; i++) shs__wide_take_off(d, SHS__AT(Q, d, 0, i), x);
    left = shs__wide_dot(d, x, x);
    for (i = 0; i < d && left > 0; i++) x[i] /= SHS__WSQRT(left);
    return before > 0 ? left / before : 0;
}

SHS__PRIVATE void shs__em_vca_naive(int p, ptrdiff_t m, const shs_wide *Y, uint64_t seed, ptrdiff_t *pixel, shs_wide *Q,
                                    shs_wide *f) {
    shs_random r;
    int i, k;
    shs_random_seed(&r, seed);
    for (i = 0; i < p; i++) Q[i] = i == p - 1; /* the first direction is orthogonal to the last axis */
    for (k = 0; k < p; k++) {
        for (i = 0; i < p; i++) f[i] = shs_random_normal(&r);
        shs__em_outside(p, k ? k : 1, Q, f);
        pixel[k] = shs__em_farthest_naive(p, m, Y, f);
        for (i = 0; i < p; i++) Q[i + k * p] = Y[i + pixel[k] * p];
        shs__em_outside(p, k, Q, Q + k * p);
    }
}

SHS__PUBLIC void shs_vca_naive(int n, ptrdiff_t m, const shs_wide *X, int p, uint64_t seed, ptrdiff_t *pixel, shs_wide *room) {
    shs_wide *Y = room + 2 * n * (n + 1);
    shs__em_project_naive(n, m, X, p, 1, Y, room);
    shs__em_vca_naive(p, m, Y, seed, pixel, Y + p * m, Y + p * (m + p));
}

/* |det M| of M (p x p), which it overwrites: the volume of the parallelotope. */
SHS__PRIVATE shs_wide shs__em_volume_naive(int p, shs_wide *M) {
    shs_wide volume = 1;
    int i, k;
    for (k = 0; k < p; k++) {
        shs_wide *q = M + k * p, length2 = 0;
        for (i = 0; i < k; i++) shs__wide_take_off(p, M + i * p, q);
        for (i = 0; i < p; i++) length2 += q[i] * q[i];
        volume *= SHS__WSQRT(length2);
        for (i = 0; i < p && length2 > 0; i++) q[i] /= SHS__WSQRT(length2);
    }
    return volume;
}

/* The simplex of p corners z has the volume |det [z; 1]| / (p - 1)!: that of the columns y, but for a constant factor. */
SHS__PUBLIC void shs_nfindr_naive(int n, ptrdiff_t m, const shs_wide *X, int p, uint64_t seed, ptrdiff_t *pixel,
                                  shs_wide *room) {
    shs_wide *Y = room + 2 * n * (n + 1), *M = Y + p * m, largest = 0;
    int i, k, j, grew = 1;
    shs__em_project_naive(n, m, X, p, 0, Y, room);
    shs__em_vca_naive(p, m, Y, seed, pixel, M, M + p * p);
    while (grew)
        for (grew = k = 0; k < p; k++) {
            ptrdiff_t t, best = pixel[k];
            for (t = -1; t < m; t++) { /* the corner that is there first */
                shs_wide volume;
                for (j = 0; j < p; j++)
                    for (i = 0; i < p; i++) M[i + j * p] = Y[i + (j == k && t >= 0 ? t : pixel[j]) * p];
                volume = shs__em_volume_naive(p, M);
                if (t < 0) largest = volume * (1 + 1000 * SHS__WIDE_EPS);
                else if (volume > largest) largest = volume, best = t, grew = 1;
            }
            pixel[k] = best;
        }
}

SHS__PUBLIC void shs_atgp_naive(int n, ptrdiff_t m, const shs_wide *X, int p, ptrdiff_t *pixel, shs_wide *room) {
    ptrdiff_t i, k, b;
    for (i = 0; i < n * m; i++) room[i] = X[i];
    for (k = 0; k < p; k++) {
        shs_wide most = -1, length2, *q;
        for (i = 0; i < m; i++) {
            for (length2 = 0, b = 0; b < n; b++) length2 += room[b + i * n] * room[b + i * n];
            if (length2 > most) most = length2, pixel[k] = i;
        }
        q = room + pixel[k] * n;
        for (b = 0; b < n && most > 0; b++) q[b] /= SHS__WSQRT(most);
        for (i = 0; i < m; i++)
            if (i != pixel[k]) shs__wide_take_off(n, q, room + i * n);
        for (b = 0; b < n; b++) q[b] = 0;
    }
}

/* ---- endmembers: projected pixels, and the farthest of them ----------------------------------------------- >>farthest */

enum { SHS__EM_CHUNK = 4096 }; /* pixels that one worker looks through */

typedef struct shs__extraction {
    const shs__pixels *px;
    int n, count, d, width; /* bands, endmembers; d: n or, for VCA and N-FINDR, count; values of a projected pixel */
    size_t pixels, chunks;
    shs_wide *Y;                              /* width x pixels; what is missing is NaN */
    shs_wide *rest;                           /* pixels: the light outside the space of what was chosen (ATGP) */
    shs_wide *chosen, *Q;                     /* d x count: corners or spectra, and an orthonormal basis of theirs */
    shs_wide *along;                          /* d: a direction */
    shs_wide *C, *V, *values, *mean, *matrix; /* n x n, n x count, count, n, n x count */
    shs_wide *most;                           /* one a chunk */
    size_t *at;
    unsigned char *line; /* one of a stream */
    shs_endmembers found;
    /* How far a pixel is out; below 0 where it is missing. */
    shs_wide (*measure)(const struct shs__extraction *s, size_t pixel);
} shs__extraction;

SHS__PRIVATE shs_wide shs__em_along(const shs__extraction *s, size_t pixel) {
    const shs_wide *y = s->Y + pixel * (size_t)s->width;
    return shs__wide_finite(1, y) ? shs__wabs(shs__wide_dot(s->width, s->along, y)) : -1;
}

/* The squared length, without the last coordinate. */
SHS__PRIVATE shs_wide shs__em_length2(const shs__extraction *s, size_t pixel) {
    const shs_wide *y = s->Y + pixel * (size_t)s->width;
    return shs__wide_finite(1, y) ? shs__wide_dot(s->width - 1, y, y) : -1;
}

/* What is left outside, after the part along the last direction, which is in Y, was taken off. */
SHS__PRIVATE shs_wide shs__em_rest(const shs__extraction *s, size_t pixel) {
    if (!shs__wide_finite(1, s->rest + pixel)) return -1;
    s->rest[pixel] -= s->Y[pixel] * s->Y[pixel];
    return s->rest[pixel] > 0 ? s->rest[pixel] : 0;
}

SHS__PRIVATE void shs__em_chunk(void *arg, size_t chunk, int worker) {
    const shs__extraction *s = (const shs__extraction *)arg;
    size_t i = chunk * SHS__EM_CHUNK, end = shs__zmin(i + SHS__EM_CHUNK, s->pixels);
    (void)worker;
    for (s->most[chunk] = -1; i < end; i++) {
        shs_wide value = s->measure(s, i);
        if (value > s->most[chunk]) s->most[chunk] = value, s->at[chunk] = i;
    }
}

/* What one rank has becomes what all have. */
SHS__PRIVATE shs_status shs__em_share(const shs_context *ctx, int rank, int count, shs_wide *values) {
    if (shs__ctx_rank(ctx) != rank) memset(values, 0, (size_t)count * sizeof *values);
    return shs__ctx_reduce(ctx, values, (size_t)count, SHS_REDUCE_SUM);
}

/* The pixel that is farthest out, over all ranks, the first of equals: found.pixel[k] and found.rank[k]. *most: how far. */
SHS__PRIVATE shs_status shs__em_farthest(shs__extraction *s, int k, shs_wide (*measure)(const shs__extraction *s, size_t pixel),
                                         shs_wide *most) {
    const shs_context *ctx = s->px->ctx;
    int mine = shs__ctx_rank(ctx), i;
    shs_wide own = -1, first, pieces[3];
    size_t chunk, at = 0;
    shs_status status;
    s->measure = measure;
    shs__ctx_parallel(ctx, (shs_wide)s->pixels * (shs_wide)s->width, s->chunks, shs__em_chunk, s);
    for (chunk = 0; chunk < s->chunks; chunk++)
        if (s->most[chunk] > own) own = s->most[chunk], at = s->at[chunk];
    *most = own;
    status = shs__ctx_reduce(ctx, most, 1, SHS_REDUCE_MAX);
    if (status != SHS_OK) return status;
    if (*most < 0) return SHS_NO_PIXELS;
    first = own >= *most ? (shs_wide)mine : SHS__WIDE_MAX;
    status = shs__ctx_reduce(ctx, &first, 1, SHS_REDUCE_MIN);
    if (status != SHS_OK) return status;
    s->found.rank[k] = (int)first;
    for (i = 0; i < 3; i++) pieces[i] = (shs_wide)((uint64_t)at >> (22 * i) & 0x3fffff); /* such as every shs_wide holds */
    status = shs__em_share(ctx, s->found.rank[k], 3, pieces);
    for (s->found.pixel[k] = 0, i = 0; i < 3; i++) s->found.pixel[k] |= (size_t)((uint64_t)pieces[i] << (22 * i));
    return status;
}

/* Values of a pixel of this rank, as they are in the cube. */
SHS__PRIVATE shs_status shs__em_read(const shs__extraction *s, size_t pixel, shs_wide *x) {
    shs__view v = s->px->view;
    const shs_cube *c = v.cube;
    const unsigned char *base = (const unsigned char *)c->pixels;
    ptrdiff_t line = (ptrdiff_t)(pixel / (size_t)v.samples), sample = (ptrdiff_t)(pixel % (size_t)v.samples);
    uint64_t room;
    int b;
    if (!base) {
        if (c->read_fn(c->read_user, (int)line, 1, s->line)) return SHS_READ_FAILED;
        shs__px_view_block(&v, (int)line, 1);
        base = s->line, line = 0;
    }
    for (b = 0; b < s->n; b++) {
        ptrdiff_t band = c->band_list ? c->band_list[b] : b;
        shs__span span = SHS_ZERO;
        span.from = base + (line * v.ls + sample * v.ss + band * v.bs) * (ptrdiff_t)v.size;
        span.stride = 1, span.count = 1;
        shs__px_make_native(&v, &span, (unsigned char *)&room);
        shs__px_read_values(c->type, &span, x + b);
    }
    return SHS_OK;
}

/* The spectrum of endmember k, on all ranks. */
SHS__PRIVATE shs_status shs__em_fetch(shs__extraction *s, int k) {
    const shs_context *ctx = s->px->ctx;
    shs_wide *x = SHS__AT(s->found.spectra, s->n, 0, k);
    shs_status status = SHS_OK;
    if (shs__ctx_rank(ctx) == s->found.rank[k]) status = shs__em_read(s, s->found.pixel[k], x);
    status = shs__ctx_agree(ctx, status);
    return status == SHS_OK ? shs__em_share(ctx, s->found.rank[k], s->n, x) : status;
}

/* ---- endmembers: ATGP ---------------------------------------------------------------------------------------- >>atgp */

/* |x|^2 by a map of squares; then, for each direction of the basis, its part by a map of one output. */
SHS__OUTLINE shs_status shs__em_atgp(shs__extraction *s) {
    const shs_context *ctx = s->px->ctx;
    shs_pixel_map map = shs__px_map_of(s->n, s->n, s->C, NULL, NULL);
    size_t n = (size_t)s->n, i;
    shs_wide most;
    int k;
    shs_status status;
    for (i = 0; i < n * n; i++) s->C[i] = i % (n + 1) == 0;
    status = shs__wide_map(s->px, &map, 1, s->rest);
    memset(s->Y, 0, s->pixels * sizeof *s->Y);
    for (k = 0; k < s->count; k++) {
        shs_wide *q = SHS__AT(s->Q, s->n, 0, k);
        status = shs__ctx_agree(ctx, status);
        if (status == SHS_OK) status = shs__em_farthest(s, k, shs__em_rest, &most);
        if (status == SHS_OK) status = shs__em_fetch(s, k);
        if (status != SHS_OK) return status;
        memcpy(q, SHS__AT(s->found.spectra, s->n, 0, k), n * sizeof *q);
        if (!(shs__em_outside(s->n, k, s->Q, q) > SHS__RANK_EPS)) return SHS_RANK_TOO_LOW;
        map = shs__px_map_of(s->n, 1, q, NULL, NULL);
        if (k + 1 < s->count) status = shs__wide_map(s->px, &map, 0, s->Y);
    }
    return status;
}

/* ---- endmembers: VCA and N-FINDR ------------------------------------------------------------------------------- >>vca */

/* A pixel is divided by its part along u, or gets the last coordinate that is the same for all. */
typedef struct shs__levelling {
    shs__extraction *s;
    const shs_wide *u; /* NULL: the latter */
    shs_wide last;
} shs__levelling;

SHS__PRIVATE void shs__em_level_chunk(void *arg, size_t chunk, int worker) {
    const shs__levelling *level = (const shs__levelling *)arg;
    int d = level->s->width, k;
    size_t i = chunk * SHS__EM_CHUNK, end = shs__zmin(i + SHS__EM_CHUNK, level->s->pixels);
    (void)worker;
    for (; i < end; i++) {
        shs_wide *y = level->s->Y + i * (size_t)d, along;
        if (!shs__wide_finite(1, y)) continue;
        if (!level->u) {
            y[d - 1] = level->last;
            continue;
        }
        along = shs__wide_dot(d, level->u, y);
        for (k = 0; k < d; k++) y[k] = shs__wabs(along) > 0 ? y[k] / along : shs__nan();
    }
}

/* Mean and covariance of the pixels of all ranks; returns whether noise is low in *low. Then V: as many singular vectors or
   principal components as there are endmembers. */
SHS__OUTLINE shs_status shs__em_statistics(shs__extraction *s, int plane, int *low) {
    const shs_context *ctx = s->px->ctx;
    int n = s->n, p = s->count, i, j;
    shs_wide power = 0, subspace = 0;
    shs_moments m = SHS_ZERO;
    shs_status status = shs_moments_create(ctx, n, &m);
    if (status == SHS_OK) status = shs__px_add_moments(s->px, SHS_PRECISION_ALWAYS, SHS__NO_PAIRS, &m);
    status = shs__ctx_agree(ctx, status);
    if (status == SHS_OK) status = shs_moments_reduce(ctx, &m);
    if (status == SHS_OK) status = shs_moments_finish(&m, SHS_DIVISOR_N, s->mean, s->C, n);
    shs_moments_free(ctx, &m);
    if (status == SHS_OK) status = shs_eigh(ctx, n, s->C, n, p, s->values, s->V, n);
    for (i = 0; i < n && status == SHS_OK; i++) {
        power += *SHS__AT(s->C, n, i, i) + s->mean[i] * s->mean[i];
        subspace += (i < p ? s->values[i] : 0) + s->mean[i] * s->mean[i];
    }
    *low = plane && shs__em_noise_is_low(n, p, power, subspace);
    for (j = 0; j < n && *low; j++)
        for (i = 0; i < n; i++) *SHS__AT(s->C, n, i, j) += s->mean[i] * s->mean[j];
    if (status == SHS_OK && *low) status = shs_eigh(ctx, n, s->C, n, p, s->values, s->V, n);
    if (status == SHS_OK) shs__em_fix_signs(n, p, s->V);
    return status;
}

/* Y, as shs__em_project_naive makes it. */
SHS__OUTLINE shs_status shs__em_project(shs__extraction *s, int plane) {
    const shs_context *ctx = s->px->ctx;
    shs__levelling level = SHS_ZERO;
    shs_pixel_map map = shs__px_map_of(s->n, s->count, s->matrix, NULL, NULL);
    int i, k, low;
    shs_status status = shs__em_statistics(s, plane, &low);
    if (status == SHS_OK) {
        for (k = 0; k < s->count; k++)
            for (i = 0; i < s->n; i++) *SHS__AT(s->matrix, s->count, k, i) = *SHS__AT(s->V, s->n, i, k);
        for (k = 0; k < s->count && low; k++) s->along[k] = shs__wide_dot(s->n, SHS__AT(s->V, s->n, 0, k), s->mean);
        map.centre = low ? NULL : s->mean;
        status = shs__wide_map(s->px, &map, 0, s->Y);
    }
    status = shs__ctx_agree(ctx, status);
    if (status == SHS_OK && !low) status = shs__em_farthest(s, 0, shs__em_length2, &level.last);
    if (status != SHS_OK) return status;
    level.s = s, level.u = low ? s->along : NULL, level.last = low ? 0 : SHS__WSQRT(level.last);
    shs__ctx_parallel(ctx, (shs_wide)s->pixels * (shs_wide)s->width, s->chunks, shs__em_level_chunk, &level);
    return SHS_OK;
}

/* Corner k is the farthest pixel along the direction: its place among the chosen, on all ranks. */
SHS__PRIVATE shs_status shs__em_corner(shs__extraction *s, int k) {
    shs_wide most, *y = SHS__AT(s->chosen, s->d, 0, k);
    shs_status status = shs__em_farthest(s, k, shs__em_along, &most);
    if (status != SHS_OK) return status;
    if (shs__ctx_rank(s->px->ctx) == s->found.rank[k])
        memcpy(y, s->Y + s->found.pixel[k] * (size_t)s->d, (size_t)s->d * sizeof *y);
    return shs__em_share(s->px->ctx, s->found.rank[k], s->d, y);
}

SHS__OUTLINE shs_status shs__em_vca(shs__extraction *s, uint64_t seed) {
    shs_random r;
    int d = s->d, i, k;
    shs_status status = SHS_OK;
    shs_random_seed(&r, seed);
    for (i = 0; i < d; i++) s->Q[i] = i == d - 1;
    for (k = 0; k < d && status == SHS_OK; k++) {
        shs_wide *q = SHS__AT(s->Q, d, 0, k);
        for (i = 0; i < d; i++) s->along[i] = shs_random_normal(&r);
        shs__em_outside(d, k ? k : 1, s->Q, s->along);
        status = shs__em_corner(s, k);
        if (status != SHS_OK) return status;
        memcpy(q, SHS__AT(s->chosen, d, 0, k), (size_t)d * sizeof *q);
        if (!(shs__em_outside(d, k, s->Q, q) > SHS__RANK_EPS)) return SHS_RANK_TOO_LOW;
    }
    return status;
}

/* The direction orthogonal to all chosen corners but corner k; returns how far out corner k is. */
SHS__PRIVATE shs_wide shs__em_facet(shs__extraction *s, int k) {
    int d = s->d, j, at = 0;
    for (j = 0; j < d; j++) {
        if (j == k) continue;
        memcpy(SHS__AT(s->Q, d, 0, at), SHS__AT(s->chosen, d, 0, j), (size_t)d * sizeof *s->Q);
        shs__em_outside(d, at, s->Q, SHS__AT(s->Q, d, 0, at));
        at++;
    }
    memcpy(s->along, SHS__AT(s->chosen, d, 0, k), (size_t)d * sizeof *s->along);
    shs__em_outside(d, d - 1, s->Q, s->along);
    return shs__wabs(shs__wide_dot(d, s->along, SHS__AT(s->chosen, d, 0, k)));
}

/* The volume is that of the facet opposite to a corner times the corner's height above it: the largest with another corner
   is the farthest pixel along the facet's normal. Each replacement makes the volume larger, so that there is an end. */
SHS__OUTLINE shs_status shs__em_nfindr(shs__extraction *s) {
    int d = s->d, k, grew = 1;
    size_t sweep;
    shs_status status = SHS_OK;
    for (sweep = 0; grew && status == SHS_OK; sweep++) {
        status = shs__ctx_agree(s->px->ctx, shs__ctx_progress(s->px->ctx, "volume", sweep, sweep + 1, -1));
        for (grew = k = 0; k < d && status == SHS_OK; k++) {
            shs_wide height = shs__em_facet(s, k), most;
            size_t pixel = s->found.pixel[k];
            int rank = s->found.rank[k];
            status = shs__em_farthest(s, k, shs__em_along, &most);
            if (status == SHS_OK && most > height * (1 + 1000 * SHS__WIDE_EPS)) {
                shs_wide *y = SHS__AT(s->chosen, d, 0, k);
                grew = 1;
                if (shs__ctx_rank(s->px->ctx) == s->found.rank[k])
                    memcpy(y, s->Y + s->found.pixel[k] * (size_t)d, (size_t)d * sizeof *y);
                status = shs__em_share(s->px->ctx, s->found.rank[k], d, y);
            } else s->found.pixel[k] = pixel, s->found.rank[k] = rank;
        }
    }
    return status;
}

/* ---- endmembers: the driver ------------------------------------------------------------------------------ >>endmembers */

SHS__PRIVATE void shs__em_layout(shs__layout *l, shs__extraction *s, int atgp) {
    size_t n = (size_t)s->n, count = (size_t)s->count, cells = shs__layout_product((size_t)s->d, count, 1);
    size_t lines = s->px->view.cube->pixels ? 0 : shs_type_size(s->px->view.cube->type);
    s->Y = SHS__CARVE(l, shs_wide, shs__layout_product(s->pixels, (size_t)s->width, 1));
    s->rest = SHS__CARVE(l, shs_wide, atgp ? s->pixels : 0);
    s->chosen = SHS__CARVE(l, shs_wide, cells);
    s->Q = SHS__CARVE(l, shs_wide, cells);
    s->along = SHS__CARVE(l, shs_wide, (size_t)s->d);
    s->C = SHS__CARVE(l, shs_wide, shs__layout_product(n, n, 1));
    s->V = SHS__CARVE(l, shs_wide, atgp ? 0 : shs__layout_product(n, count, 1));
    s->values = SHS__CARVE(l, shs_wide, count);
    s->mean = SHS__CARVE(l, shs_wide, n);
    s->matrix = SHS__CARVE(l, shs_wide, atgp ? 0 : shs__layout_product(n, count, 1));
    s->most = SHS__CARVE(l, shs_wide, s->chunks);
    s->at = SHS__CARVE(l, size_t, s->chunks);
    s->line = SHS__CARVE(l, unsigned char, shs__layout_product((size_t)s->px->view.samples, (size_t)s->px->view.bands, lines));
}

SHS__PRIVATE shs_status shs__em_create(const shs_context *ctx, shs_endmembers *e, int bands, int count) {
    shs__layout l = SHS_ZERO;
    shs_status status = SHS_OK;
    while (shs__layout_next(ctx, &l, &status)) {
        e->spectra = SHS__CARVE(&l, shs_wide, shs__layout_product((size_t)bands, (size_t)count, 1));
        e->pixel = SHS__CARVE(&l, size_t, (size_t)count);
        e->rank = SHS__CARVE(&l, int, (size_t)count);
    }
    if (status != SHS_OK) return status;
    SHS__UNPOISON(l.base, l.size);
    e->block = l.block, e->bands = bands, e->count = count;
    return SHS_OK;
}

SHS__PUBLIC void shs_endmembers_free(const shs_context *ctx, shs_endmembers *endmembers) {
    if (!endmembers) return;
    shs__ctx_free(ctx, endmembers->block);
    memset(endmembers, 0, sizeof *endmembers);
}

SHS__PRIVATE shs_status shs__em_check(int bands, const shs_endmember_options *o) {
    if (!o || !SHS__ZEROED(o) || (unsigned)o->method >= SHS_EXTRACTOR_COUNT) return SHS_BAD_OPTIONS;
    return o->count > bands || o->count < (o->method == SHS_EXTRACTOR_ATGP ? 1 : 2) ? SHS_BAD_COMPONENTS : SHS_OK;
}

/* The fast form of shs_vca_naive, shs_nfindr_naive and shs_atgp_naive. */
SHS__PUBLIC shs_status shs_endmembers_find(const shs_context *ctx, const shs_cube *cube, const shs_endmember_options *options,
                                           shs_endmembers *result) {
    shs__extraction s = SHS_ZERO;
    shs__layout l = SHS_ZERO;
    shs__pixels px;
    int64_t numbers[3] = {0, 0, 0};
    const shs_wide two[2] = {0, 0};
    int k, atgp = 0;
    shs_status status = shs__px_open(ctx, cube, &px);
    if (status == SHS_OK) status = shs__em_check(px.view.used, options);
    if (status == SHS_OK && !result) status = SHS_BAD_OUTPUT;
    if (status == SHS_OK) {
        numbers[0] = options->count, numbers[1] = (int64_t)options->method, numbers[2] = (int64_t)(options->seed >> 1);
        atgp = options->method == SHS_EXTRACTOR_ATGP;
        s.px = &px, s.n = px.view.used, s.count = options->count;
        s.d = atgp ? s.n : s.count, s.width = atgp ? 1 : s.count;
        s.pixels = (size_t)px.view.samples * (size_t)px.view.lines, s.chunks = shs__ctx_chunks(s.pixels, SHS__EM_CHUNK);
    }
    status = shs__px_meet(&px, status, "endmembers", numbers, 3, two, NULL);
    while (shs__layout_next(ctx, &l, &status)) shs__em_layout(&l, &s, atgp);
    if (status == SHS_OK) status = shs__em_create(ctx, &s.found, s.n, s.count);
    status = shs__ctx_agree(ctx, status);
    if (status == SHS_OK && atgp) status = shs__em_atgp(&s);
    else if (status == SHS_OK) {
        status = shs__em_project(&s, options->method == SHS_EXTRACTOR_VCA);
        if (status == SHS_OK) status = shs__em_vca(&s, options->seed);
        if (status == SHS_OK && options->method == SHS_EXTRACTOR_NFINDR) status = shs__em_nfindr(&s);
        for (k = 0; k < s.count && status == SHS_OK; k++) status = shs__em_fetch(&s, k);
    }
    if (status == SHS_OK) *result = s.found;
    else shs_endmembers_free(ctx, &s.found);
    shs__layout_release(ctx, &l);
    shs__px_close(&px);
    return status;
}

#endif /* SPARSEHS_NO_SPECTRA */

#endif /* SHS__CUBES */
#ifdef SHS__ALL_PARTS

/* ================================================================================================================== */
/* 14  FILES                                                                                                  >>files */
/* ================================================================================================================== */

#if !defined(SPARSEHS_NO_FILES) || defined(SPARSEHS_STATIC)

/* A .npy file: the magic bytes, the version, the length of what follows in 2 bytes (4 from version 2 on), a Python dictionary
   such as {'descr': '<f4', 'fortran_order': True, 'shape': (8, 3), } filled up by blanks to a multiple of 64 bytes, and the
   numbers. */

enum { SHS__NPY_HEAD = 128, SHS__NPY_TEXT = 512, SHS__NPY_BUFFER = 512 };

/* Whether all members are possible; zeros become what they stand for. */
SHS__PRIVATE int shs__npy_complete(shs_npy *f) {
    if (f->kind == 0 && f->size == 0) f->kind = 'f', f->size = (int)sizeof(shs_real);
    if (f->dimensions == 0) f->dimensions = 2;
    if (f->size != 1 && f->size != 2 && f->size != 4 && f->size != 8) return 0;
    if (f->kind == 'f' ? f->size == 1 : f->kind != 'i' && f->kind != 'u') return 0;
    if (f->dimensions == 1 ? f->columns != 1 : f->dimensions != 2) return 0;
    return f->columns == 0 || f->rows <= (UINT64_MAX >> 4) / f->columns;
}

SHS__PRIVATE unsigned char *shs__npy_text(unsigned char *to, const char *text) {
    while (*text) *to++ = (unsigned char)*text++;
    return to;
}

SHS__PRIVATE unsigned char *shs__npy_decimal(unsigned char *to, uint64_t x) {
    char digits[21];
    int at = 20;
    digits[at] = 0;
    do digits[--at] = (char)('0' + (int)(x % 10)), x /= 10;
    while (x > 0);
    return shs__npy_text(to, digits + at);
}

SHS__PUBLIC shs_status shs_npy_write_header(const shs_npy *npy, int (*write_fn)(void *user, const void *bytes, size_t count),
                                            void *user) {
    static const unsigned char begin[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, SHS__NPY_HEAD - 10, 0};
    unsigned char head[SHS__NPY_HEAD], *to;
    char type[4] = "<f4";
    shs_npy f;
    if (!npy || !write_fn) return SHS_BAD_NPY;
    f = *npy;
    if (!shs__npy_complete(&f)) return SHS_BAD_NPY;
    memset(head, ' ', sizeof head);
    memcpy(head, begin, sizeof begin);
    type[0] = f.size == 1 ? '|' : f.big_endian ? '>' : '<', type[1] = f.kind, type[2] = (char)('0' + f.size);
    to = shs__npy_text(shs__npy_text(head + 10, "{'descr': '"), type);
    to = shs__npy_text(to, f.fortran_order ? "', 'fortran_order': True, 'shape': (" : "', 'fortran_order': False, 'shape': (");
    to = shs__npy_text(shs__npy_decimal(to, f.rows), f.dimensions == 1 ? "," : ", ");
    if (f.dimensions == 2) to = shs__npy_decimal(to, f.columns);
    shs__npy_text(to, "), }");
    head[SHS__NPY_HEAD - 1] = '\n';
    return write_fn(user, head, sizeof head) ? SHS_WRITE_FAILED : SHS_OK;
}

/* Whether `word` comes next; if so it is passed, with the blanks behind it. */
SHS__PRIVATE int shs__npy_next(const char **text, const char *word) {
    const char *at = *text;
    for (; *word; word++, at++)
        if (*at != *word) return 0;
    while (*at == ' ' || *at == '\n') at++;
    *text = at;
    return 1;
}

SHS__PRIVATE shs_status shs__npy_parse_type(const char **text, shs_npy *f) {
    const char *at = *text;
    int i;
    for (i = 0; i < 5; i++)
        if (!at[i]) return SHS_DAMAGED_NPY;
    if (at[0] != '\'' || (at[1] != '<' && at[1] != '>' && at[1] != '|') || at[4] != '\'') return SHS_UNSUPPORTED_NPY;
    f->big_endian = at[1] == '>', f->kind = at[2], f->size = at[3] - '0';
    if (f->kind == 'b' && f->size == 1) f->kind = 'u';
    if (!shs__npy_complete(f) || (at[1] == '|' && f->size > 1)) return SHS_UNSUPPORTED_NPY;
    *text = at + 5;
    shs__npy_next(text, "");
    return SHS_OK;
}

SHS__PRIVATE shs_status shs__npy_parse_shape(const char **text, shs_npy *f) {
    uint64_t shape[2] = {1, 1};
    int count = 0, comma = 1;
    if (!shs__npy_next(text, "(")) return SHS_DAMAGED_NPY;
    while (comma && **text >= '0' && **text <= '9') {
        if (count == 2) return SHS_UNSUPPORTED_NPY;
        for (shape[count] = 0; **text >= '0' && **text <= '9'; ++*text) {
            if (shape[count] > UINT64_MAX / 100) return SHS_DAMAGED_NPY;
            shape[count] = 10 * shape[count] + (uint64_t)(**text - '0');
        }
        if (**text == 'L') ++*text; /* Python 2 wrote long integers so */
        shs__npy_next(text, "");
        comma = shs__npy_next(text, ","), count++;
    }
    if (!shs__npy_next(text, ")") || (count == 1 && !comma)) return SHS_DAMAGED_NPY;
    f->dimensions = count == 2 ? 2 : 1, f->rows = shape[0], f->columns = shape[1];
    return SHS_OK;
}

/* The dictionary: its three keys, each once, in any order. */
SHS__PRIVATE shs_status shs__npy_parse(const char *at, shs_npy *f) {
    int seen = 0;
    if (!shs__npy_next(&at, "{")) return SHS_DAMAGED_NPY;
    while (!shs__npy_next(&at, "}")) {
        shs_status status = SHS_OK;
        int key = shs__npy_next(&at, "'descr'")           ? 1
                  : shs__npy_next(&at, "'fortran_order'") ? 2
                  : shs__npy_next(&at, "'shape'")         ? 4
                                                          : 0;
        if (!key || (seen & key) || !shs__npy_next(&at, ":")) return SHS_DAMAGED_NPY;
        seen |= key;
        if (key == 1) status = shs__npy_parse_type(&at, f);
        else if (key == 4) status = shs__npy_parse_shape(&at, f);
        else if (!(f->fortran_order = shs__npy_next(&at, "True")) && !shs__npy_next(&at, "False")) status = SHS_DAMAGED_NPY;
        if (status != SHS_OK) return status;
        if (!shs__npy_next(&at, ",") && *at != '}') return SHS_DAMAGED_NPY;
    }
    return seen == 7 && !*at && shs__npy_complete(f) ? SHS_OK : SHS_DAMAGED_NPY;
}

SHS__PUBLIC shs_status shs_npy_read_header(shs_npy *npy, int (*read_fn)(void *user, void *bytes, size_t count), void *user) {
    unsigned char head[8];
    char text[SHS__NPY_TEXT + 1], blank;
    uint64_t length, i, begin;
    int bytes;
    shs_npy f = SHS_ZERO;
    shs_status status;
    if (!npy || !read_fn) return SHS_BAD_NPY;
    if (read_fn(user, head, 8)) return SHS_READ_FAILED;
    if (memcmp(head, "\x93NUMPY", 6) != 0) return SHS_FOREIGN_NPY;
    if (head[6] < 1 || head[6] > 3 || head[7] != 0) return SHS_UNSUPPORTED_NPY;
    bytes = head[6] == 1 ? 2 : 4;
    if (read_fn(user, head, (size_t)bytes)) return SHS_READ_FAILED;
    length = shs__get_bytes(head, bytes);
    begin = length > SHS__NPY_TEXT ? (uint64_t)SHS__NPY_TEXT : length;
    if (read_fn(user, text, (size_t)begin)) return SHS_READ_FAILED;
    text[begin] = 0;
    for (i = begin; i < length; i++) { /* more than our three keys can say is filled up, or records */
        if (read_fn(user, &blank, 1)) return SHS_READ_FAILED;
        if (blank != ' ' && blank != '\n') return SHS_UNSUPPORTED_NPY;
    }
    for (i = 0; i < begin; i++) {
        if (text[i] == '"') text[i] = '\'';
        if (text[i] == 0) return SHS_DAMAGED_NPY;
    }
    status = shs__npy_parse(text, &f);
    if (status == SHS_OK) *npy = f;
    return status;
}

/* The next place in A of a walk through the file's order. */
typedef struct shs__npy_walk {
    size_t inner, outer, length, inner_step, outer_step, left;
} shs__npy_walk;

SHS__PRIVATE shs_status shs__npy_walk_of(const shs_npy *npy, const void *A, size_t lda, shs_npy *f, shs__npy_walk *w) {
    if (!npy) return SHS_BAD_NPY;
    *f = *npy;
    if (!shs__npy_complete(f)) return SHS_BAD_NPY;
    if (f->rows * f->columns > SIZE_MAX / 8) return SHS_TOO_LARGE;
    if (!A && f->rows * f->columns > 0) return SHS_BAD_A;
    if (lda < f->rows) return SHS_BAD_LDA;
    w->inner = w->outer = 0, w->left = (size_t)(f->rows * f->columns);
    w->length = (size_t)(f->fortran_order ? f->rows : f->columns);
    w->inner_step = f->fortran_order ? 1 : lda, w->outer_step = f->fortran_order ? lda : 1;
    return SHS_OK;
}

SHS__PRIVATE size_t shs__npy_walk_next(shs__npy_walk *w) {
    size_t at = w->inner * w->inner_step + w->outer * w->outer_step;
    if (++w->inner == w->length) w->inner = 0, w->outer++;
    w->left--;
    return at;
}

/* To the other byte order. */
SHS__PRIVATE void shs__npy_swap(unsigned char *v, size_t size) {
    size_t b;
    for (b = 0; b < size / 2; b++) {
        unsigned char other = v[b];
        v[b] = v[size - 1 - b], v[size - 1 - b] = other;
    }
}

SHS__PRIVATE int shs__npy_host_is_big(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 0;
}

SHS__PUBLIC shs_status shs_npy_write_values(const shs_npy *npy, shs_type type, const void *A, size_t lda,
                                            int (*write_fn)(void *user, const void *bytes, size_t count), void *user) {
    static const char kinds[SHS_TYPE_COUNT + 1] = "fuiuiuff";
    unsigned char bytes[SHS__NPY_BUFFER];
    size_t size = shs_type_size(type), step, i;
    shs_npy f;
    shs__npy_walk w;
    shs_status status = shs__npy_walk_of(npy, A, lda, &f, &w);
    if (status != SHS_OK) return status;
    if (!write_fn || size != (size_t)f.size || kinds[type] != f.kind) return SHS_BAD_NPY;
    while (w.left > 0) {
        step = shs__zmin(w.left, sizeof bytes / size);
        for (i = 0; i < step; i++) {
            memcpy(bytes + i * size, (const unsigned char *)A + shs__npy_walk_next(&w) * size, size);
            if ((f.big_endian != 0) != shs__npy_host_is_big()) shs__npy_swap(bytes + i * size, size);
        }
        if (write_fn(user, bytes, step * size)) return SHS_WRITE_FAILED;
    }
    return SHS_OK;
}

SHS__PUBLIC shs_status shs_npy_save(int p, size_t n, const shs_real *A, int lda,
                                    int (*write_fn)(void *user, const void *bytes, size_t count), void *user) {
    shs_npy f = SHS_ZERO;
    shs_status status;
    if (p < 1) return SHS_BAD_P;
    if (!A && n) return SHS_BAD_A;
    if (lda < p) return SHS_BAD_LDA;
    f.rows = (uint64_t)p, f.columns = n, f.fortran_order = 1, f.kind = 'f', f.size = (int)sizeof *A;
    status = shs_npy_write_header(&f, write_fn, user);
    return status == SHS_OK ? shs_npy_write_values(&f, SHS_TYPE_REAL, A, (size_t)lda, write_fn, user) : status;
}

/* A half-precision number as a float: 1 sign bit, 5 bits of exponent, 10 of fraction. */
SHS__PRIVATE float shs__half_value(uint32_t half) {
    uint32_t bits = (half & 0x8000) << 16 | (half & 0x3ff) << 13, exponent = half >> 10 & 31;
    float x, unit = 5.9604644775390625e-8f; /* 2^-24, the least above 0 */
    if (exponent == 0) return (half & 0x8000 ? -unit : unit) * (float)(half & 0x3ff);
    bits |= (exponent == 31 ? 255 : exponent + 112) << 23;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* One number, from its bits: as it is, and whether it is an integer that int holds. */
SHS__PRIVATE int shs__npy_number(const shs_npy *f, uint64_t bits, shs_wide *x, int *whole) {
    uint64_t sign = UINT64_C(1) << (8 * f->size - 1);
    uint32_t word = (uint32_t)bits;
    float narrow;
    if (f->kind != 'f') {
        int negative = f->kind == 'i' && (bits & sign) != 0;
        if (negative) bits = sign - (bits ^ sign); /* the magnitude */
        *x = negative ? -(shs_wide)bits : (shs_wide)bits;
        if (bits > (uint64_t)INT_MAX + (uint64_t)negative) return 0;
        *whole = negative ? -(int)(bits - 1) - 1 : (int)bits;
        return 1;
    }
    if (f->size == 8) (void)shs__f64_of_bits(bits, x);
    else if (f->size == 4) memcpy(&narrow, &word, sizeof narrow), *x = (shs_wide)narrow;
    else *x = (shs_wide)shs__half_value(word);
    return 0;
}

SHS__PUBLIC shs_status shs_npy_read_values(const shs_npy *npy, shs_type type, void *A, size_t lda,
                                           int (*read_fn)(void *user, void *bytes, size_t count), void *user) {
    unsigned char bytes[SHS__NPY_BUFFER], *v, *to;
    size_t out = shs_type_size(type), size, step, i;
    shs_npy f;
    shs__npy_walk w;
    shs_wide x = 0;
    int whole = 0, fits;
    shs_status status = shs__npy_walk_of(npy, A, lda, &f, &w);
    if (status != SHS_OK) return status;
    if (!read_fn || (type != SHS_TYPE_REAL && type != SHS_TYPE_F32 && type != SHS_TYPE_F64 && type != SHS_TYPE_I32))
        return SHS_BAD_NPY;
    if (type == SHS_TYPE_I32 && f.kind == 'f') return SHS_UNSUPPORTED_NPY;
    for (size = (size_t)f.size; w.left > 0;) {
        step = shs__zmin(w.left, sizeof bytes / size);
        if (read_fn(user, bytes, step * size)) return SHS_READ_FAILED;
        for (v = bytes, i = 0; i < step; i++, v += size) {
            if (f.big_endian) shs__npy_swap(v, size);
            fits = shs__npy_number(&f, shs__get_bytes(v, f.size), &x, &whole);
            to = (unsigned char *)A + shs__npy_walk_next(&w) * out;
            if (type == SHS_TYPE_I32) {
                if (!fits) return SHS_DAMAGED_NPY;
                memcpy(to, &whole, out);
            } else if (out == 4) {
                float narrow = (float)x;
                memcpy(to, &narrow, out);
            } else {
                uint64_t bits = shs__f64_bits(x);
                memcpy(to, &bits, out);
            }
        }
    }
    return SHS_OK;
}

#ifdef SHS__SPARSE
/* Rows of a file are columns here: signal after signal. */
SHS__PRIVATE shs_npy shs__npy_columns(char kind, size_t size, size_t rows, size_t columns) {
    shs_npy f = SHS_ZERO;
    f.kind = kind, f.size = (int)size, f.rows = rows, f.columns = columns, f.fortran_order = 1;
    return f;
}

/* The same numbers as numpy shall see them, and back. */
SHS__PRIVATE shs_npy shs__npy_transposed(shs_npy f) {
    uint64_t rows = f.rows;
    f.rows = f.columns, f.columns = rows, f.fortran_order = !f.fortran_order;
    return f;
}

SHS__PUBLIC shs_status shs_npy_save_codes(const shs_codes *codes, int (*write_fn)(void *user, const void *bytes, size_t count),
                                          void *used, void *atoms, void *coefs) {
    void *users[3];
    const void *values[3];
    int i;
    shs_status status = SHS_OK;
    if (!shs__codes_ok(codes, 0)) return SHS_BAD_CODES;
    if (!write_fn) return SHS_BAD_NPY;
    users[0] = used, users[1] = atoms, users[2] = coefs;
    values[0] = codes->used, values[1] = codes->atoms, values[2] = codes->coefs;
    for (i = 0; i < 3 && status == SHS_OK; i++) {
        size_t rows = i == 0 ? 1 : (size_t)codes->stride;
        shs_npy f = shs__npy_columns(i == 2 ? 'f' : 'i', i == 2 ? sizeof(shs_real) : sizeof(int), rows, codes->m);
        shs_npy seen = shs__npy_transposed(f);
        seen.dimensions = i == 0 ? 1 : 2;
        status = shs_npy_write_header(&seen, write_fn, users[i]);
        if (status == SHS_OK)
            status = shs_npy_write_values(&f, i == 2 ? SHS_TYPE_REAL : SHS_TYPE_I32, values[i], rows, write_fn, users[i]);
    }
    return status;
}

SHS__PUBLIC shs_status shs_npy_load_codes(const shs_context *ctx, int n, int (*read_fn)(void *user, void *bytes, size_t count),
                                          void *used, void *atoms, void *coefs, shs_codes *codes) {
    void *users[3], *values[3];
    shs_npy f[3];
    shs_codes got = SHS_ZERO;
    int i;
    shs_status status = shs__ctx_check(ctx);
    if (status != SHS_OK) return status;
    if (n < 1) return SHS_BAD_N;
    if (!codes) return SHS_BAD_CODES;
    users[0] = used, users[1] = atoms, users[2] = coefs;
    for (i = 0; i < 3; i++) {
        status = shs_npy_read_header(&f[i], read_fn, users[i]);
        if (status != SHS_OK) return status;
    }
    if (f[0].columns != 1 || f[1].rows != f[0].rows || f[2].rows != f[0].rows || f[1].columns != f[2].columns ||
        f[1].columns > INT_MAX || f[0].rows < 1 || f[1].columns < 1)
        return SHS_DAMAGED_NPY;
    if (f[0].rows > SIZE_MAX / 8) return SHS_TOO_LARGE;
    status = shs_codes_create(ctx, (size_t)f[0].rows, (int)f[1].columns, &got);
    values[0] = got.used, values[1] = got.atoms, values[2] = got.coefs;
    for (i = 0; i < 3 && status == SHS_OK; i++) {
        shs_npy columns = shs__npy_transposed(f[i]);
        columns.dimensions = 2;
        status = shs_npy_read_values(&columns, i == 2 ? SHS_TYPE_REAL : SHS_TYPE_I32, values[i], (size_t)columns.rows, read_fn,
                                     users[i]);
    }
    if (status == SHS_OK &&
        (shs__codes_outside(&got, got.m, n) || !shs__finite_columns(got.stride, got.m, got.coefs, got.stride)))
        status = SHS_DAMAGED_NPY;
    if (status == SHS_OK) *codes = got;
    else shs_codes_free(ctx, &got);
    return status;
}
#endif /* SHS__SPARSE */

#endif /* SPARSEHS_NO_FILES */

#endif /* SHS__ALL_PARTS */
#endif /* SHS__REMAINDER */

/* LICENCE: take whichever you prefer.

   ALTERNATIVE A - MIT License
   Copyright (c) 2026 the sparsehs authors
   Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
   documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
   rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
   persons to whom the Software is furnished to do so, subject to the following conditions:
   The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
   Software.
   THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
   WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
   COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
   OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.

   ALTERNATIVE B - Public Domain (www.unlicense.org)
   This is free and unencumbered software released into the public domain. Anyone is free to copy, modify, publish, use,
   compile, sell, or distribute this software, either in source code form or as a compiled binary, for any purpose,
   commercial or non-commercial, and by any means. In jurisdictions that recognize copyright laws, the author or authors of
   this software dedicate any and all copyright interest in the software to the public domain. We make this dedication for
   the benefit of the public at large and to the detriment of our heirs and successors. We intend this dedication to be an
   overt act of relinquishment in perpetuity of all present and future rights to this software under copyright law.
   THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
   WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS BE
   LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT
   OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
*/
