/* sparsehs_cl.h - v1.0.0 - the stages of sparsehs.h on any OpenCL 1.2 device.
   MIT or public domain, as you choose: the licence is at the very end.

   Do this:
       #define SPARSEHS_IMPLEMENTATION
       #define SPARSEHS_CL_IMPLEMENTATION
       #include "sparsehs_cl.h"
   in exactly ONE C or C++ file; everywhere else include it without the defines. Link with -lOpenCL -lm. Then

       shs_cl *cl;
       if (shs_cl_create(&ctx, NULL, &cl) == SHS_OK) ctx.engine = shs_cl_engine(cl);

   moves every later call that takes ctx to the device; shs_cl_destroy(cl) when the last of them is done. What the device cannot do
   is SHS_UNSUPPORTED; with options.fallback = 1 the CPU does it. See CPU ONLY.

   TABLE OF CONTENTS
       1  options and devices     2  programs and their binaries     3  times     4  host memory
   then the implementation: kernels, runtime, signals session, pixels session, engine.

   OPTIONS (define before including; "all" = the same in every file, "impl" = only beside SPARSEHS_CL_IMPLEMENTATION)
       SPARSEHS_CL_IMPLEMENTATION  impl  compile the implementation here; SPARSEHS_IMPLEMENTATION must stand in the same file
       SPARSEHS_CL_DYNAMIC         impl  open the OpenCL library at run time: nothing to link with (-ldl on old systems), and
                                         the program starts where there is no OpenCL at all
       SPARSEHS_CL_LIBRARY         impl  the name of that library, a string
       SPARSEHS_CL_SHIM(function)  impl  the name to call in place of an OpenCL function, for tests that count and fail calls
   and those of sparsehs.h: SPARSEHS_DOUBLE needs a device with doubles, SPARSEHS_NO_DOUBLE uses none, SPARSEHS_FILE names
   sparsehs.h where it is called otherwise and was not included before this file.

   CPU ONLY
   These calls are SHS_UNSUPPORTED with an engine, and run on the CPU with options.fallback = 1:
       coding      masks, weights, nonnegative coefficients, subspace pursuit
       learning    regularisation, masks, nonnegative atoms or codes
       rounding    shs_codes_round with D, if a signal has more than 64 atoms
       cubes       pixels and outputs in half precision or bfloat16
       components  shs_mnf_run and shs_mnf_fit with neighbours other than SHS_NEIGHBOURS_RIGHT
       anomalies   shs_rx_classes, shs_rx_local
       detection   shs_detect with labels or columns
   So are pixels of 64-bit floats, and SHS_PRECISION_ALWAYS, on a device without doubles, or with single_only.

   SELF-TEST
   Drivers miscompile kernels. Before a stage uses a program for the first time it runs a small known problem through it and
   compares the results with those of the CPU. If they differ, another coder or another way to do the same is tested. If none is
   right, the stage answers SHS_UNSUPPORTED (`fallback` lets the CPU take over), and shs_cl_about(cl)->fault names the driver, the
   kernel and the difference. A test takes a few milliseconds besides building; store_fn keeps its verdict for the next run.
   `trust` switches the self-test off.

   DRIVERS
   The device tests were run on PoCL 3.1, NVIDIA H100 and H200, a short set of them on Intel's CPU runtime and Oclgrind. Mesa 22's
   rusticl on llvmpipe fails the self-test. An NVIDIA device exchanges registers and multiplies by PTX. Other devices that report
   cl_intel_subgroups or cl_khr_subgroups exchange registers in Batch-OMP by sub-groups of any size, and in the update of several
   atoms if they can shuffle. The tests ask Intel's runtime for sizes 8, 16, 32 and 64, and codes and atoms have the same bits as
   without sub-groups. GPUs that report an instruction for dot products of bytes (cl_khr_integer_dot_product) form moments of
   8-bit pixels by it. No AMD, Adreno or Intel GPU was tested.

   The files in kernels_embed/ are the source of the kernels; the arrays of strings below are made from them by
   tools/embed_kernels.c. Nothing is ever written to stdout or stderr; drivers may: PoCL writes a line to stderr about a
   program that does not build.
*/
/* Outside the guard: the file with the implementation may have included this one before. */
#if !defined(SPARSEHS_H) || (defined(SPARSEHS_IMPLEMENTATION) && !defined(SPARSEHS_IMPLEMENTATION_ONCE))
#ifdef SPARSEHS_FILE
#include SPARSEHS_FILE
#else
#include "sparsehs.h"
#endif
#endif

#ifndef SPARSEHS_CL_H
#define SPARSEHS_CL_H

#if SPARSEHS_VERSION_MAJOR != 1 || SPARSEHS_VERSION_MINOR != 0 || SPARSEHS_VERSION_PATCH != 0
#error "sparsehs_cl: sparsehs.h is of another version; the two files belong together"
#endif

/* Like sparsehs.h: each precision has its own link names. */
#if defined(SPARSEHS_DOUBLE) || defined(SPARSEHS_NO_DOUBLE)
#define shs_cl_list SHS__LINK(cl_list)
#define shs_cl_create SHS__LINK(cl_create)
#define shs_cl_destroy SHS__LINK(cl_destroy)
#define shs_cl_engine SHS__LINK(cl_engine)
#define shs_cl_about SHS__LINK(cl_about)
#define shs_cl_device_name SHS__LINK(cl_device_name)
#define shs_cl_build_log SHS__LINK(cl_build_log)
#define shs_cl_error_text SHS__LINK(cl_error_text)
#define shs_cl_stage_times SHS__LINK(cl_stage_times)
#define shs_cl_host_alloc SHS__LINK(cl_host_alloc)
#define shs_cl_host_free SHS__LINK(cl_host_free)
#define shs_cl_trim SHS__LINK(cl_trim)
#define shs_cl_device SHS__LINK(cl_device)
#define shs_cl_options SHS__LINK(cl_options)
#define shs_cl SHS__LINK(cl)
#define shs_cl_stage SHS__LINK(cl_stage)
#endif

/* As SHS_API; but private functions are declared only where their bodies follow. */
#if defined(SHS__STATIC) && !defined(SPARSEHS_CL_IMPLEMENTATION)
#define SHS_CL_API extern
#else
#define SHS_CL_API SHS_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ================================================================================================================== */
/* 1  OPTIONS AND DEVICES                                                                                             */
/* ================================================================================================================== */

typedef enum shs_cl_kind { SHS_CL_ANY = 0, SHS_CL_GPU, SHS_CL_ACCELERATOR, SHS_CL_CPU } shs_cl_kind;

/* Properties of a device. Texts that are too long are cut. */
typedef struct shs_cl_device {
    char platform[64], name[128], version[64], driver[64];
    shs_cl_kind kind;
    int usable;       /* available, OpenCL 1.2, and with doubles where shs_real is double */
    int has_compiler; /* without a compiler, programs come from load_fn only */
    int has_double;
    int unified; /* shares the host's memory */
    int units, clock_mhz;
    size_t memory, max_alloc; /* bytes; of one buffer at most */
    size_t local_bytes, max_group;
    char fault[384]; /* of the device in use: what the self-test found wrong last, in a sentence; "" = nothing so far */
} shs_cl_device;

/* Lists all devices: GPUs first, then accelerators, then CPUs. count gets their number, devices (may be NULL) the first
   `capacity` of them. Without OpenCL count is 0, which is no error. */
SHS_CL_API shs_status shs_cl_list(const shs_context *ctx, shs_cl_device *devices, int capacity, int *count);

/* The kernel that codes the signals (kernels_embed/omp.h). All coders give the same codes to the last bit. Groups of signals
   that share their atoms have their own kernel, one work-group a group, with AUTO and GENERAL. It needs memory for all signals
   at once, and for D'Y of the largest group; else SHS_NO_MEMORY. */
typedef enum shs_cl_coder {
    SHS_CL_CODER_AUTO = 0, /* the fastest in measurements at these sizes */
    SHS_CL_CODER_WARP, /* 32 work-items a signal: GPUs; a Gram matrix, n <= 1024, s <= 32, s (n + s) values of local memory */
    SHS_CL_CODER_ITEM,   /* one work-item a signal: a Gram matrix, s <= 64 */
    SHS_CL_CODER_GROUP,  /* a work-group a signal, with local memory: GPUs; a Gram matrix, n <= 4096, s (s + 5) / 2 + n values
                            of local memory */
    SHS_CL_CODER_GENERAL /* a work-group a signal: any sizes, with a Gram matrix or without */
} shs_cl_coder;

/* How the device computes symmetric products (shs_syrk), from slices of the long dimension. */
typedef enum shs_cl_syrk {
    SHS_CL_SYRK_AUTO = 0, /* by type and shape, as measured */
    SHS_CL_SYRK_TILES,    /* sums in registers */
    SHS_CL_SYRK_SPLIT,    /* the square split of Du, Parsons, Fuentes, Shaw, Dongarra: an item an element, in groups of 1024 */
    SHS_CL_SYRK_UNITS     /* double matrix units: NVIDIA's, where shs_real is double */
} shs_cl_syrk;

/* Switches off parts of the kernels over pixels, to measure their effect; add the values. Any of them also leaves out the special
   kernels: matrix units, whole numbers for 8-bit pixels, arrays of diagonals. Compare with SHS_CL_WITHOUT_UNITS, which leaves out
   nothing else. */
typedef enum shs_cl_without {
    SHS_CL_WITHOUT_LOCAL = 1,     /* local memory: every value comes from global memory */
    SHS_CL_WITHOUT_REGISTERS = 2, /* blocks of results in registers: the smallest there are */
    SHS_CL_WITHOUT_OVERLAP = 4,   /* transfers while kernels work */
    SHS_CL_WITHOUT_UNITS = 8      /* only the special kernels */
} shs_cl_without;

/* What load_fn and store_fn keep between runs; add the values. */
typedef enum shs_cl_keep {
    SHS_CL_KEEP_PROGRAMS = 1, /* built programs */
    SHS_CL_KEEP_VERDICTS = 2, /* what the self-test found */
    SHS_CL_KEEP_TUNING = 4    /* the fastest of several kernels for sparse coding on a GPU. The first call of a shape with at least
                                 256 signals for each unit of the device builds and measures all of them, which took an H200 a
                                 second and gained at most 3 %. */
} shs_cl_keep;

typedef struct shs_cl_options {
    /* Selects the index-th usable and matching device in the order of shs_cl_list. All zero: the first device that passes its
       self-test. */
    shs_cl_kind kind;
    const char *platform, *name; /* parts of the platform's and the device's name, in any case; NULL = any */
    int index;

    /* Or the caller's own cl_context, cl_device_id (NULL: the queue's, or the context's first) and in-order cl_command_queue (NULL:
       a new queue). The device and the queue must belong to the context (SHS_BAD_OPTIONS). All three are retained, and released by
       shs_cl_destroy. A part of a device (clCreateSubDevices) needs device_id or queue: PoCL says that its context is of the whole
       device. */
    void *context, *device_id, *queue;

    size_t memory_limit; /* bytes of device memory in use at most; 0 = what the device has, less a reserve. A call that needs more
                            returns SHS_NO_MEMORY: see shs_cl_error_text and `fallback` */
    size_t staging;      /* bytes of pinned memory through which other host memory goes to a device with memory of its own;
                            0 = 32 MB, and none where the device shares the host's; less than 1024: none */
    int single_only;     /* non-zero: no doubles on the device although it has them; for devices with slow doubles */
    shs_cl_coder coder;  /* another coder than AUTO is used, or refused as SHS_UNSUPPORTED if it does not fit */
    int profile;         /* non-zero: measure, see shs_cl_stage_times. On the caller's queue only if the queue was made with
                            CL_QUEUE_PROFILING_ENABLE; otherwise kernels have no times */
    unsigned without;    /* a sum of shs_cl_without, for measurements */
    int group_items;     /* for measurements, without matrix units: work-items of a group over pixels, 128, 256, 512 or 1024,
                            fewer where blocks or local memory do not allow so many; 0 = what each kernel does best with */
    int fallback;        /* non-zero: what the device cannot do, or has too little memory for, is done on the CPU; 0 =
                            SHS_UNSUPPORTED or SHS_NO_MEMORY */
    int lean;            /* non-zero: device memory goes back whenever a session closes; 0 = kept for the next, see shs_cl_trim */
    shs_cl_syrk syrk;    /* SHS_UNSUPPORTED where the device cannot do it so */
    int trust;           /* non-zero: no self-test, see SELF-TEST */

    /* Keep built programs and the verdicts of the self-test between runs; NULL = nothing is kept. key is fit for a file name.
       load_fn copies what is stored under key, at most size bytes, to data and returns its full size (0 = nothing; it is first
       asked with size 0). Programs that come back damaged, or were stored under another key, or that the driver refuses, are
       built again. */
    size_t (*load_fn)(void *user, const char *key, void *data, size_t size);
    void (*store_fn)(void *user, const char *key, const void *data, size_t size);
    void *store_user;
    unsigned keep; /* a sum of shs_cl_keep; 0 = verdicts, and programs unless the driver is PoCL: it keeps programs itself, and
                      compiles a kernel a second time to give it away */

    /* Gets a sentence that says why shs_cl_create failed. NULL = not wanted. */
    char *reason;
    size_t reason_size;
} shs_cl_options;

/* A device with its queues, programs and memory. Not for several threads at once. */
typedef struct shs_cl shs_cl;

/* options may be NULL. Takes memory from ctx's allocator, which must stay valid until shs_cl_destroy.
   SHS_NO_DEVICE: no OpenCL library, no driver, or no device that matches; SHS_ENGINE_FAILED: the driver refused; *cl is then
   NULL. While the engine works, SHS_BUILD_FAILED says that a program did not build (shs_cl_build_log), SHS_NO_MEMORY that the
   host or the device has too little, SHS_DEVICE_LOST that the device is gone: destroy the object and make another.
   Several threads may create objects at once, but call shs_cl_list before they start if OpenCL was not used yet: PoCL crashes when
   its first calls come from several threads. */
SHS_CL_API shs_status shs_cl_create(const shs_context *ctx, const shs_cl_options *options, shs_cl **cl);
/* NULL is fine. Sessions that use it must be closed. */
SHS_CL_API void shs_cl_destroy(shs_cl *cl);
/* For shs_context.engine; lives as long as cl. NULL for NULL: the CPU. */
SHS_CL_API const shs_engine *shs_cl_engine(shs_cl *cl);
/* The device in use, and what its self-test has found; valid until shs_cl_destroy. */
SHS_CL_API const shs_cl_device *shs_cl_about(const shs_cl *cl);
SHS_CL_API const char *shs_cl_device_name(const shs_cl *cl);

/* ================================================================================================================== */
/* 2  PROGRAMS                                                                                                        */
/* ================================================================================================================== */

/* The compiler's messages about the last program that did not build; "" without a failure. Valid until the next call. */
SHS_CL_API const char *shs_cl_build_log(const shs_cl *cl);
/* The last OpenCL error, "CL_OUT_OF_RESOURCES", or "CL_SUCCESS"; or, after SHS_NO_MEMORY by a limit of the device or of
   options.memory_limit, a sentence with the bytes that were needed and the limit. Valid until the next call. */
SHS_CL_API const char *shs_cl_error_text(const shs_cl *cl);

/* ================================================================================================================== */
/* 3  TIMES                                                                                                           */
/* ================================================================================================================== */

/* Times on the device's own clock (options.profile), and what building its programs took on the host's (always). */
typedef struct shs_cl_stage {
    const char *name;
    size_t runs, builds;
    shs_wide seconds, build_seconds;
    size_t group_items, local_bytes, private_bytes; /* with profile, of the kernel that ran last: items of a group, local memory
                                                       of it, and private memory of an item that is not in registers */
} shs_cl_stage;

/* Waits for the device. count gets the number of stages so far, stages (may be NULL) the first `capacity` of them; with
   `restart` counting begins anew. */
SHS_CL_API shs_status shs_cl_stage_times(shs_cl *cl, shs_cl_stage *stages, int capacity, int *count, int restart);

/* ================================================================================================================== */
/* 4  HOST MEMORY                                                                                                     */
/* ================================================================================================================== */

/* Pinned host memory, which the device reads and writes at the full speed of the bus. Signals, pixels and outputs may lie in
   it. NULL when there is none left. shs_cl_destroy frees the rest. Other host memory is copied through pinned buffers by the
   context's threads, at the same speed if the threads copy faster than the bus. */
SHS_CL_API void *shs_cl_host_alloc(shs_cl *cl, size_t bytes);
SHS_CL_API void shs_cl_host_free(shs_cl *cl, void *memory);

/* Frees the device memory that no session uses now. Closed sessions leave their memory for the next session, because drivers
   allocate slowly (an H200 takes 15 ms for a gigabyte). shs_cl_destroy frees it as well. */
SHS_CL_API void shs_cl_trim(shs_cl *cl);

#ifdef __cplusplus
}
#endif
#endif /* SPARSEHS_CL_H */

/* ################################################################################################################## */
/* IMPLEMENTATION. Stop now, if you are only interested in the API.                                                   */
/* ################################################################################################################## */

#if defined(SPARSEHS_CL_IMPLEMENTATION) || defined(__INTELLISENSE__) || defined(__CLANGD__)
#ifndef SPARSEHS_CL_IMPLEMENTATION_ONCE
#define SPARSEHS_CL_IMPLEMENTATION_ONCE

#ifndef SPARSEHS_IMPLEMENTATION_ONCE
#error "sparsehs_cl: define SPARSEHS_IMPLEMENTATION in the same file as SPARSEHS_CL_IMPLEMENTATION"
#endif
#if defined(SPARSEHS_NO_CUBES) || defined(SPARSEHS_NO_SPARSE) || defined(SPARSEHS_ONLY_CODING)
#error "sparsehs_cl: it needs all of sparsehs.h"
#endif

/* ================================================================================================================== */
/* KERNELS                                                                                                            */
/* ================================================================================================================== */

/* The files of kernels_embed/ (read those, and go on at RUNTIME): contract.h as it stands, for host and kernels, then each .cl as an
   array of lines, then the files that they include. Arrays are only given to shs__cl_begin. */

typedef struct shs__cl_included {
    const char *line; /* #include "...", as it stands in a source */
    const char *const *lines;
} shs__cl_included;

/* [kernels] made by `make embed` from kernels_embed/: edit those files, not these lines. */
/* contract.h - the numbers that host and kernels share, each once. `make embed` puts these lines into sparsehs_cl.h, and every
   kernel begins with them (device.cl). A program for a device without doubles defines SPARSEHS_NO_DOUBLE, even if the library has
   doubles. */

/* ---- numbers of sparsehs.h: a macro can be defined again with the same text only, so that compilers tell a difference ---- */
#ifdef SPARSEHS_DOUBLE
#define SHS__EPS 2.220446049250313080847263e-16
#define SHS__OMP_GUARD ((shs_real)1e-12)
#define SHS__OMP_TRUST2 ((shs_wide)1e-12)
#define SHS__OMP_SURE ((shs_real)1e-4)
#else
#define SHS__EPS 1.1920928955078125e-7f
#define SHS__OMP_GUARD ((shs_real)1e-5f)
#define SHS__OMP_TRUST2 ((shs_wide)1 / 10000)
#define SHS__OMP_SURE ((shs_real)1e-2f)
#endif
#ifdef SPARSEHS_NO_DOUBLE
#define SHS__WIDE_EPS 1.1920928955078125e-7f
#else
#define SHS__WIDE_EPS 2.220446049250313080847263e-16
#endif
#define SHS__OMP_REFRESHES 4
#define SHS__OMP_REFINES 10
#define SHS__OMP_FALL ((shs_wide)1 / 1000)
#define SHS__OMP_TEAM_FALL ((shs_wide)1 / 1000000)
#define SHS__CC_SCALES 4                         /* that are tried for a signal */
#define SHS__CC_HALF_UNIT 5.9604644775390625e-8f /* 2^-24: of half precision */
/* Coefficients are below it: 65,520 in half precision, 2^127 else. */
#define SHS__CC_LIMIT(type) ((type) == 2 ? (shs_real)65520 : (shs_real)1.7014118346046923e38f)

/* ---- the matrix product (gemm.cl) ---- */
#define SHS__CL_GEMM_TILE 128                     /* rows and columns of C a group: 16 x 16 items of 8 x 8 */
#ifdef SPARSEHS_DOUBLE
#define SHS__CL_GEMM_STEP 8                       /* of the long dimension in local memory at a time, 34 KB in all, */
#else
#define SHS__CL_GEMM_STEP 16
#endif
#define SHS__CL_GEMM_PITCH (SHS__CL_GEMM_TILE + 4) /* whose rows start in different banks, and still on 16 bytes */
#define SHS__CL_PLAIN_TILE 4                      /* rows and columns of an item of gemm_plain */
#define SHS__CL_SUM_PARTS 8                       /* items that share the partial sums of a value out, */
#define SHS__CL_SUM_VALUES 32                     /* and values of such a group */

/* ---- the symmetric product (syrk.cl) ---- */
#define SHS__CL_SPLIT_SIDE 32 /* rows and columns of a block of syrk_split: an item each */
#define SHS__CL_UNITS_WARPS 2 /* of syrk_units down a tile, and as many across: */
#define SHS__CL_UNITS_ITEMS (32 * SHS__CL_UNITS_WARPS * SHS__CL_UNITS_WARPS)

/* ---- sparse coding (omp.h) ---- */
#define SHS__CL_WARP_ITEMS 32            /* items that share a signal in omp_warp; atoms are padded to a multiple of it */
#define SHS__CL_WARP_PITCH(n) ((n) + 4)  /* of the rows of b in local memory: those of different k start in different banks */
#define SHS__CL_UNREACHED 1              /* the state of a signal, as flags: above its tolerance; */
#define SHS__CL_DOUBTFUL 2               /* in doubt: pursue again, with the explicit residual; */
#define SHS__CL_UNPROVEN 4               /* good codes, but |r|^2 is too small for the recurrence to tell: form it explicitly; */
#define SHS__CL_ROUGH 8                  /* good atoms, but so much alike that coefficients are to be refined by the residual */

/* ---- compact codes (compact.cl) ---- */
#define SHS__CL_ROUND_ATOMS 64 /* of a signal at most: one item rounds a signal alone, and slowly */

/* ---- sums over signals, and the update (residual.cl, update.cl) ---- */
#define SHS__CL_SUM_ITEMS 64       /* of a group that adds over all signals */
#define SHS__CL_USES_ITEMS 128     /* of a group that lists uses */
#define SHS__CL_USES_TILE 2048     /* atoms that it counts: 16 KB of local memory */
#define SHS__CL_GRAM_TILE 512      /* columns of XX' that a group forms: a tally for each of 8 rows takes 32 KB */
#define SHS__CL_ATOM_ITEMS 64      /* of a group that makes an atom anew */
#define SHS__CL_MOD_TILE 32        /* rows and columns of a tile of MOD's system, two of which take 17 KB, */
#define SHS__CL_MOD_ITEMS 256      /* and items of its groups */
#define SHS__CL_USES_STRETCH 256   /* uses of an atom whose sum is formed in one go */

/* ---- pixels (pixels.cl, moments.cl, map.cl, sweep.cl, bytes.cl) ---- */
#define SHS__CL_ITEMS 256           /* of a group */
#define SHS__CL_CHUNK_PIXELS 1024   /* of a group of load, and of one partial sum of products */
#define SHS__CL_SWEEP_ITEMS 128     /* of a group of sweep.cl, */
#define SHS__CL_SWEEP_PIXELS 4096   /* and its pixels */
#define SHS__CL_ADD_ITEMS 128       /* of a group that adds the partial sums of one element */
#define SHS__CL_BIP_BANDS 16        /* of a group of load where the bands of a pixel are neighbours */
#define SHS__CL_TILE_EDGE(r) (16 * (r))            /* of a tile of products: 16 x 16 items of r x r */
#define SHS__CL_DIAGONALS_ACROSS(n) (((n) + 7) / 8)   /* blocks of 8 x 8 across the n columns of the diagonals, */
#define SHS__CL_DIAGONALS_DOWN(n) (((n) / 2 + 8) / 8) /* and down its n / 2 + 1 diagonals */
#define SHS__CL_BYTE_PIXELS 4096    /* of a group of byte_products: many groups, few partial sums a pixel; at most 32768 */
#define SHS__CL_BYTE_TILE 128       /* bands of one */
#define SHS__CL_MAP_ITEMS 128       /* of a group of map.cl: three groups of 168 registers an item fit a multiprocessor of an H200 */
#define SHS__CL_MAP_DEEP 16         /* bands of BIP that map.cl transposes at a time: 32 and 64 are no faster */
#define SHS__CL_MAP_TOGETHER(bytes) ((bytes) < 4 ? 4 / (bytes) : 1) /* of them in a word of local memory, */
#define SHS__CL_MAP_PITCH(bytes) (SHS__CL_MAP_DEEP / SHS__CL_MAP_TOGETHER(bytes) + 1) /* and words of a pixel: an odd number */
#define SHS__CL_MAP_UNITS 56        /* outputs of a group by matrix units at most: 112 of an item's registers */
#define SHS__CL_MAP_FEW 24          /* outputs for which they do not pay */
#define SHS__CL_MAP_STORE 0         /* what map.cl does with its outputs */
#define SHS__CL_MAP_WHITEN 1
#define SHS__CL_MAP_EXTREMES 2

SHS__PRIVATE const char *const shs__cl_source_bytes[] = {
    "/* bytes.cl - exact sums of products of 8-bit pixels: Gram matrix, sums of the bands and the number of pixels in one, straight\n",
    "   from the slice as it was uploaded.\n",
    "\n",
    "   A further band is 1 in every pixel. Its products with the `used` bands are their sums; its product with itself is the number of\n",
    "   pixels.\n",
    "   Work-group (t, s) makes the T x T tile t of the lower triangle from the SLICE pixels s, in whole numbers: 255^2 SLICE fits\n",
    "   an int, and `accumulate` (totals.cl) adds the slices in double, exactly too.\n",
    "\n",
    "       B' ->   8 warps of 32 items; warp (x, y) keeps the 32 x 64 products of rows 32 y .. and columns 64 x .., as 2 x 8 blocks\n",
    "     A +---+   of 16 x 8, four to an item: what a matrix unit (mma) adds to from 32 pixels at a time. KB pixels of both tiles\n",
    "     | | t |   stand in local memory, four pixels of a band to a word; the next KB are on their way to registers meanwhile.\n",
    "     v +---+   Without the unit an item keeps 8 x 8 products, 16 rows and 16 columns apart. It adds those of four pixels at a\n",
    "               time, by an instruction (DOT4) or in plain C, which is slow, for tests and for reading.\n",
    "\n",
    "   On an H200 the float panel of pixels.cl and its products took as long as the upload of the pixels. byte_products takes a tenth.\n",
    "\n",
    "   The textbook twin is shs_moments_naive. */\n",
    "\n",
    "\n",
    "\n",
    "#ifndef MMA\n",
    "#define MMA 0 /* 1: by the matrix unit, in PTX */\n",
    "#endif\n",
    "#ifndef DOT4\n",
    "#define DOT4 0 /* without MMA: 1 by dp4a, in PTX, 2 by cl_khr_integer_dot_product */\n",
    "#endif\n",
    "#ifndef FROM\n",
    "#define FROM 0 /* the slice's interleave, as a shs_interleave: 0 BSQ, 1 BIL, 2 BIP */\n",
    "#endif\n",
    "\n",
    "#define ITEMS SHS__CL_ITEMS\n",
    "#define SLICE SHS__CL_BYTE_PIXELS\n",
    "#define T SHS__CL_BYTE_TILE\n",
    "#define KB 64\n",
    "#define WORDS (KB / 4)\n",
    "#define EACH (T * WORDS / ITEMS) /* words of a tile that an item fetches */\n",
    "\n",
    "/* Word w of band b in local memory. The places are mixed, so that a warp meets no bank twice when it writes 32 bands or\n",
    "   reads 8 bands of 4 words. */\n",
    "#define PLACE(b, w) ((b) * WORDS + ((w) ^ (((b) >> 1 & 3) << 2 | ((b) >> 3 & 3))))\n",
    "\n",
    "/* Neighbouring items fetch neighbouring bytes: of bands in BIP, of pixels otherwise. */\n",
    "#if FROM == 2\n",
    "#define BAND_OF(i) ((i) % T)\n",
    "#define WORD_OF(i) ((i) / T)\n",
    "#else\n",
    "#define BAND_OF(i) ((i) / WORDS)\n",
    "#define WORD_OF(i) ((i) % WORDS)\n",
    "#endif\n",
    "\n",
    "/* A byte lies at place(pixel) + row(band). Here are the places of pixels p .. p + 3 of a panel of `count` pixels, which begins with\n",
    "   pixel `first` of the slice. Pixels behind the last read the last one, without a condition that loads would wait for; count_mask\n",
    "   takes them away. */\n",
    "inline void places(uint *at, uint first, int p, int count, int samples, int bands) {\n",
    "    int i;\n",
    "#if FROM == 1\n",
    "    uint q = first + (uint)min(p, count - 1);\n",
    "    uint line = q / (uint)samples;\n",
    "    uint sample = q - line * (uint)samples;\n",
    "    const uint turn = (uint)bands * (uint)samples;\n",
    "    line *= turn;\n",
    "    _Pragma(\"unroll\") for (i = 0; i < 4; i++) {\n",
    "        at[i] = line + sample;\n",
    "        if (p + i + 1 < count && ++sample == (uint)samples) {\n",
    "            sample = 0;\n",
    "            line += turn;\n",
    "        }\n",
    "    }\n",
    "#else\n",
    "    _Pragma(\"unroll\") for (i = 0; i < 4; i++)\n",
    "        at[i] = (first + (uint)min(p + i, count - 1)) * (FROM == 0 ? 1u : (uint)bands);\n",
    "#endif\n",
    "}\n",
    "\n",
    "inline uint row_of(__global const int *list, int b, int used, ulong plane, int samples) {\n",
    "    const uint band = (uint)list[b < used ? b : 0];\n",
    "#if FROM == 0\n",
    "    return band * (uint)plane;\n",
    "#elif FROM == 1\n",
    "    return band * (uint)samples;\n",
    "#else\n",
    "    return band;\n",
    "#endif\n",
    "}\n",
    "\n",
    "/* Takes the bytes of pixels from `count` on away. */\n",
    "inline uint count_mask(int p, int count) {\n",
    "    if (p + 4 <= count) return 0xffffffffu;\n",
    "    if (p >= count) return 0;\n",
    "    return 0x00ffffffu >> (8 * (3 - (count - p)));\n",
    "}\n",
    "\n",
    "/* Four pixels of band b; 1s for the band that counts; 0 behind that band. */\n",
    "inline uint four_pixels(__global const uchar *raw, const uint *at, uint row, int b, int used) {\n",
    "    const uint word =\n",
    "        (uint)raw[at[0] + row] | (uint)raw[at[1] + row] << 8 | (uint)raw[at[2] + row] << 16 | (uint)raw[at[3] + row] << 24;\n",
    "    const uint ones = b == used ? 0x01010101u : 0;\n",
    "    return b < used ? word : ones;\n",
    "}\n",
    "\n",
    "#if MMA\n",
    "#define ROW(e) (top + 16 * ((e) / 32) + 8 * ((e) / 2 % 2) + lane / 4)\n",
    "#define COLUMN(e) (left + 8 * ((e) / 4 % 8) + 2 * (lane % 4) + (e) % 2)\n",
    "\n",
    "/* c (16 x 8) += a (16 x 32) b (32 x 8). Item l holds rows l / 4 and l / 4 + 8; of a the pixels 4 (l % 4) .. and 16 further on,\n",
    "   of b the same of column l / 4, of c the columns 2 (l % 4) and the next. */\n",
    "inline void add_products(int *c, uint a0, uint a1, uint a2, uint a3, uint b0, uint b1) {\n",
    "    __asm volatile(\"mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\"\n",
    "                   : \"+r\"(c[0]), \"+r\"(c[1]), \"+r\"(c[2]), \"+r\"(c[3])\n",
    "                   : \"r\"(a0), \"r\"(a1), \"r\"(a2), \"r\"(a3), \"r\"(b0), \"r\"(b1));\n",
    "}\n",
    "#else\n",
    "#define ROW(e) (id / 16 + 16 * ((e) / 8))\n",
    "#define COLUMN(e) (id % 16 + 16 * ((e) % 8))\n",
    "\n",
    "/* sum + the products of the four bytes of a and b. */\n",
    "#if DOT4 == 1\n",
    "inline int dot4(uint a, uint b, int sum) {\n",
    "    int result;\n",
    "    __asm(\"dp4a.u32.u32 %0, %1, %2, %3;\" : \"=r\"(result) : \"r\"(a), \"r\"(b), \"r\"(sum));\n",
    "    return result;\n",
    "}\n",
    "#elif DOT4 == 2\n",
    "#ifdef cl_khr_integer_dot_product\n",
    "#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable\n",
    "#endif\n",
    "inline int dot4(uint a, uint b, int sum) { return sum + (int)dot_4x8packed_uu_uint(a, b); }\n",
    "#else\n",
    "inline int dot4(uint a, uint b, int sum) {\n",
    "    return sum + (int)((a & 255) * (b & 255) + (a >> 8 & 255) * (b >> 8 & 255) + (a >> 16 & 255) * (b >> 16 & 255) +\n",
    "                       (a >> 24) * (b >> 24));\n",
    "}\n",
    "#endif\n",
    "#endif\n",
    "\n",
    "__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))\n",
    "void byte_products(__global const uchar *raw, ulong origin, __global const int *list, ulong first, int count, ulong plane,\n",
    "                   int samples, int bands, int used, __global int *partial) {\n",
    "    __local uint tile_a[T * WORDS], other[T * WORDS];\n",
    "    __local uint *tile_b;\n",
    "    const int id = (int)get_local_id(0);\n",
    "#if MMA\n",
    "    const int lane = id & 31, top = (id >> 6) * 32, left = (id >> 5 & 1) * 64;\n",
    "#endif\n",
    "    const int begin = (int)get_group_id(1) * SLICE, end = min(begin + SLICE, count), t = (int)get_group_id(0);\n",
    "    int ti = 0, tj, k, e, i, j;\n",
    "    int sum[64];\n",
    "    uint next_a[EACH], next_b[EACH];\n",
    "    raw += origin;\n",
    "    for (tj = t; tj > ti; tj -= ti) ti++;\n",
    "    tile_b = ti == tj ? tile_a : other;\n",
    "    for (e = 0; e < 64; e++) sum[e] = 0;\n",
    "\n",
    "#if FROM == 2\n",
    "#define FETCH(from)                                                                                                   \\\n",
    "    _Pragma(\"unroll\") for (e = 0; e < EACH; e++) {                                                                    \\\n",
    "        int p = (from) + 4 * WORD_OF(id + e * ITEMS), b = BAND_OF(id);                                                  \\\n",
    "        uint at[4], mask = count_mask(p, count);                                                                      \\\n",
    "        places(at, (uint)first, p, count, samples, bands);                                                            \\\n",
    "        next_a[e] = four_pixels(raw, at, row_a, ti * T + b, used) & mask;                                             \\\n",
    "        if (ti != tj) next_b[e] = four_pixels(raw, at, row_b, tj * T + b, used) & mask;                               \\\n",
    "    }\n",
    "    const uint row_a = row_of(list, ti * T + BAND_OF(id), used, plane, samples);\n",
    "    const uint row_b = row_of(list, tj * T + BAND_OF(id), used, plane, samples);\n",
    "#else\n",
    "#define FETCH(from)                                                                                                   \\\n",
    "    {                                                                                                                 \\\n",
    "        int p = (from) + 4 * WORD_OF(id);                                                                             \\\n",
    "        uint at[4], mask = count_mask(p, count);                                                                      \\\n",
    "        places(at, (uint)first, p, count, samples, bands);                                                            \\\n",
    "        _Pragma(\"unroll\") for (e = 0; e < EACH; e++) {                                                                \\\n",
    "            next_a[e] = four_pixels(raw, at, row_a[e], ti * T + BAND_OF(id + e * ITEMS), used) & mask;                  \\\n",
    "            if (ti != tj) next_b[e] = four_pixels(raw, at, row_b[e], tj * T + BAND_OF(id + e * ITEMS), used) & mask;    \\\n",
    "        }                                                                                                             \\\n",
    "    }\n",
    "    uint row_a[EACH], row_b[EACH];\n",
    "    for (e = 0; e < EACH; e++) {\n",
    "        row_a[e] = row_of(list, ti * T + BAND_OF(id + e * ITEMS), used, plane, samples);\n",
    "        row_b[e] = row_of(list, tj * T + BAND_OF(id + e * ITEMS), used, plane, samples);\n",
    "    }\n",
    "#endif\n",
    "\n",
    "    FETCH(begin)\n",
    "    for (k = begin; k < end; k += KB) {\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        _Pragma(\"unroll\") for (e = 0; e < EACH; e++) {\n",
    "            int word = id + e * ITEMS, at = PLACE(BAND_OF(word), WORD_OF(word));\n",
    "            tile_a[at] = next_a[e];\n",
    "            if (ti != tj) other[at] = next_b[e];\n",
    "        }\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        if (k + KB < end) FETCH(k + KB)\n",
    "#if MMA\n",
    "        _Pragma(\"unroll\") for (int w = lane % 4; w < WORDS; w += 8) {\n",
    "            uint a[2][4];\n",
    "            _Pragma(\"unroll\") for (i = 0; i < 2; i++) {\n",
    "                int row = top + 16 * i + lane / 4;\n",
    "                a[i][0] = tile_a[PLACE(row, w)];\n",
    "                a[i][1] = tile_a[PLACE(row + 8, w)];\n",
    "                a[i][2] = tile_a[PLACE(row, w + 4)];\n",
    "                a[i][3] = tile_a[PLACE(row + 8, w + 4)];\n",
    "            }\n",
    "            _Pragma(\"unroll\") for (j = 0; j < 8; j++) {\n",
    "                int column = left + 8 * j + lane / 4;\n",
    "                uint b0 = tile_b[PLACE(column, w)];\n",
    "                uint b1 = tile_b[PLACE(column, w + 4)];\n",
    "                _Pragma(\"unroll\") for (i = 0; i < 2; i++)\n",
    "                    add_products(sum + 32 * i + 4 * j, a[i][0], a[i][1], a[i][2], a[i][3], b0, b1);\n",
    "            }\n",
    "        }\n",
    "#else\n",
    "        for (int w = 0; w < WORDS; w++) {\n",
    "            uint a[8], b[8];\n",
    "            _Pragma(\"unroll\") for (i = 0; i < 8; i++) {\n",
    "                a[i] = tile_a[PLACE(ROW(8 * i), w)];\n",
    "                b[i] = tile_b[PLACE(COLUMN(i), w)];\n",
    "            }\n",
    "            _Pragma(\"unroll\") for (i = 0; i < 8; i++)\n",
    "                _Pragma(\"unroll\") for (j = 0; j < 8; j++)\n",
    "                    sum[8 * i + j] = dot4(a[i], b[j], sum[8 * i + j]);\n",
    "        }\n",
    "#endif\n",
    "    }\n",
    "    partial += ((size_t)get_group_id(1) * get_num_groups(0) + (size_t)t) * (size_t)(T * T);\n",
    "    _Pragma(\"unroll\") for (e = 0; e < 64; e++) partial[ROW(e) * T + COLUMN(e)] = sum[e];\n",
    "}\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_compact[] = {
    "/* compact.cl: rounds the coefficients of many signals to numbers of few bits, by the steps of shs_codes_round.\n",
    "\n",
    "   One work-item has a signal. With the Cholesky factor G = LL' of its atoms, in the order of |x|, ||D e||^2 = ||L'e||^2 is a\n",
    "   sum over the rows of L'. The last coefficient of the order is rounded first. Each earlier coefficient is\n",
    "   first fitted to the rounded ones, by making its row 0, and then rounded (Babai 1986). The item tries each of\n",
    "   SHS__CC_SCALES scales, and once no fit, and keeps the best. At the end it rounds anew by the best, so that it has room for one\n",
    "   factor only:\n",
    "\n",
    "       room   L (lower triangle, by rows) | errors | order          MOST (MOST + 1) / 2 + MOST + MOST values\n",
    "\n",
    "   in local memory, or in global memory where local memory is too small. Neighbouring values of an item lie `pitch` apart, so that\n",
    "   neighbouring items read neighbouring values.\n",
    "\n",
    "   Numbers of the type are exact on every device: which multiple of a scale is the nearest is told by products that are exact\n",
    "   in float (an odd number of 16 bits times a scale of 8), not by a quotient, whose last bit differs. Without doubles the sums\n",
    "   are in float, and a fit is taken only where it is better by more than the error of the sums. The result is then never worse\n",
    "   than rounding each coefficient to the nearest number, but may be that where a fit was better.\n",
    "\n",
    "   Its textbook twin is shs_codes_round_naive. */\n",
    "\n",
    "\n",
    "\n",
    "#ifndef TYPE\n",
    "#define TYPE 0 /* shs_coef_type: 0 i8, 1 i16, 2 half precision */\n",
    "#endif\n",
    "#ifndef MOST\n",
    "#define MOST 8 /* atoms of a signal at most */\n",
    "#endif\n",
    "#ifndef LOCAL\n",
    "#define LOCAL 1 /* 1: the room of an item is in local memory */\n",
    "#endif\n",
    "#ifndef ITEMS\n",
    "#define ITEMS 32 /* of a group */\n",
    "#endif\n",
    "#ifndef GRAM\n",
    "#define GRAM 1 /* 1: products of atoms come from the Gram matrix, 0: from the dictionary */\n",
    "#endif\n",
    "\n",
    "#pragma OPENCL FP_CONTRACT OFF\n",
    "\n",
    "#if LOCAL\n",
    "#define ROOM __local\n",
    "#else\n",
    "#define ROOM __global\n",
    "#endif\n",
    "#define LARGEST (TYPE == 0 ? 127 : 32767)\n",
    "#define TRIALS (TYPE == 2 ? 1 : SHS__CC_SCALES)\n",
    "#define TRIANGLE (MOST * (MOST + 1) / 2)\n",
    "\n",
    "/* What an item needs to round its signal. */\n",
    "typedef struct {\n",
    "    ROOM wide *factor, *error; /* element e at e * pitch */\n",
    "    ROOM int *order;\n",
    "    size_t pitch;\n",
    "    int used;\n",
    "    __global real *x;\n",
    "} signal;\n",
    "\n",
    "#define FACTOR(s, i, k) (s)->factor[(size_t)((i) * ((i) + 1) / 2 + (k)) * (s)->pitch]\n",
    "#define ERROR(s, i) (s)->error[(size_t)(i) * (s)->pitch]\n",
    "#define ORDER(s, i) (s)->order[(size_t)(i) * (s)->pitch]\n",
    "\n",
    "/* A scale is a bfloat16. */\n",
    "real scale_value(uint bits) { return (real)as_float(bits << 16); }\n",
    "\n",
    "/* The number of the type that is nearest to |x|, the even one of two, with the sign of x. */\n",
    "real number_of(real scale, real x) {\n",
    "    const real a = fabs(x);\n",
    "    real value, unit = scale, inverse = 1;\n",
    "    int k;\n",
    "    if (TYPE == 2) { /* units of the last place double from 2^-13 on */\n",
    "        const real held = fmin(a, (real)65504);\n",
    "        unit = (real)SHS__CC_HALF_UNIT;\n",
    "        inverse = (real)(1 / SHS__CC_HALF_UNIT);\n",
    "        while (held >= 2048 * unit) {\n",
    "            unit *= 2;\n",
    "            inverse /= 2;\n",
    "        }\n",
    "        k = (int)(held * inverse);\n",
    "        k += held * inverse - (real)k > (real)0.5f || (held * inverse - (real)k >= (real)0.5f && (k & 1));\n",
    "    } else if (!(scale > 0)) {\n",
    "        k = 0;\n",
    "    } else if (a < LARGEST * scale) {\n",
    "        real middle;\n",
    "        k = (int)(a / scale);\n",
    "        middle = ((real)k + (real)0.5f) * scale;\n",
    "        k += a > middle || (a >= middle && (k & 1));\n",
    "    } else {\n",
    "        k = LARGEST;\n",
    "    }\n",
    "    if (TYPE != 2 && k > 0 && (real)k * unit >= (real)SHS__CC_LIMIT(TYPE)) k--; /* rounded up */\n",
    "    value = (real)k * unit;\n",
    "    if (TYPE != 2 && k == 0) return 0; /* an integer has no -0 */\n",
    "    return x < 0 ? -value : value;\n",
    "}\n",
    "\n",
    "/* What becomes of a coefficient x that shall be `wanted` now. */\n",
    "real rounded_to(real scale, real x, wide wanted) {\n",
    "    const wide a = fabs(wanted);\n",
    "    const real near = a < (wide)SHS__CC_LIMIT(TYPE) ? (real)a : (real)SHS__CC_LIMIT(TYPE);\n",
    "    if ((x < 0) != (wanted < 0) || !(x < 0 || x > 0)) return 0;\n",
    "    return number_of(scale, x < 0 ? -near : near);\n",
    "}\n",
    "\n",
    "/* The bits of the scale; see shs__cc_scale. */\n",
    "uint scale_of(const signal *s, int *exact) {\n",
    "    real most = 0;\n",
    "    uint least = 0, bits;\n",
    "    int k;\n",
    "    for (k = 0; k < s->used; k++) most = fmax(most, fabs(s->x[k]));\n",
    "    if (TYPE != 2 && most > 0) {\n",
    "        least = as_uint((float)(most / LARGEST)) >> 16;\n",
    "        least = least > 0x80 ? least : 0x80;\n",
    "        while (LARGEST * scale_value(least) < most) least++;\n",
    "    }\n",
    "    for (bits = least; bits < least + 4 + SHS__CC_SCALES; bits++) {\n",
    "        const real scale = scale_value(bits);\n",
    "        for (k = 0; k < s->used && number_of(scale, s->x[k]) == s->x[k];) k++;\n",
    "        *exact = k == s->used;\n",
    "        if (*exact || least == 0) return bits;\n",
    "    }\n",
    "    return least;\n",
    "}\n",
    "\n",
    "/* Smallest first; of equal ones the first becomes the last. */\n",
    "void sort(const signal *s) {\n",
    "    int k, q;\n",
    "    for (k = 0; k < s->used; k++) {\n",
    "        const real a = fabs(s->x[k]);\n",
    "        for (q = k; q > 0 && fabs(s->x[ORDER(s, q - 1)]) >= a; q--) ORDER(s, q) = ORDER(s, q - 1);\n",
    "        ORDER(s, q) = k;\n",
    "    }\n",
    "}\n",
    "\n",
    "/* The product of two atoms. */\n",
    "wide product_of(__global const real *restrict D, int p, int ldd, int a, int b) {\n",
    "#if GRAM\n",
    "    return (wide)D[(size_t)a * (size_t)ldd + (size_t)b];\n",
    "#else\n",
    "    wide sum = 0;\n",
    "    int l;\n",
    "    for (l = 0; l < p; l++) sum += (wide)D[(size_t)a * (size_t)ldd + (size_t)l] * (wide)D[(size_t)b * (size_t)ldd + (size_t)l];\n",
    "    return (wide)(real)sum;\n",
    "#endif\n",
    "}\n",
    "\n",
    "/* L; whether no atom depends on others. */\n",
    "int factorise(const signal *s, __global const int *atoms, __global const real *restrict D, int p, int ldd) {\n",
    "    int i, j, k;\n",
    "    for (i = 0; i < s->used; i++) {\n",
    "        const int atom = atoms[ORDER(s, i)];\n",
    "        for (j = 0; j <= i; j++) {\n",
    "            const wide g = product_of(D, p, ldd, atom, atoms[ORDER(s, j)]);\n",
    "            wide d = g;\n",
    "            for (k = 0; k < j; k++) d -= FACTOR(s, i, k) * FACTOR(s, j, k);\n",
    "            if (j < i) d /= FACTOR(s, j, j);\n",
    "            else if (!(d < (wide)INFINITY && d > (wide)SHS__OMP_GUARD * g)) return 0;\n",
    "            else d = sqrt(d);\n",
    "            FACTOR(s, i, j) = d;\n",
    "        }\n",
    "    }\n",
    "    return 1;\n",
    "}\n",
    "\n",
    "/* Rounds the signal with a scale, and returns ||D e||^2; into x itself where `keep` says so. Without doubles *doubt is what that\n",
    "   may be wrong by: products of atoms and the factor are rounded, by few units of |d_i| |d_j| each. */\n",
    "wide round_by(const signal *s, real scale, int fit, int dependent, int keep, wide *doubt) {\n",
    "    wide sum = 0, length = 0;\n",
    "    int i, k;\n",
    "    for (i = s->used - 1; i >= 0; i--) {\n",
    "        const int at = ORDER(s, i);\n",
    "        const real x = s->x[at];\n",
    "        wide behind = 0, wanted = (wide)x, error;\n",
    "        real z;\n",
    "        for (k = i + 1; k < s->used && !dependent; k++) behind += FACTOR(s, k, i) * ERROR(s, k);\n",
    "        if (fit) wanted += behind / FACTOR(s, i, i);\n",
    "        z = rounded_to(scale, x, wanted);\n",
    "        error = (wide)x - (wide)z;\n",
    "        ERROR(s, i) = error;\n",
    "        if (!dependent) behind += FACTOR(s, i, i) * error;\n",
    "        sum += behind * behind;\n",
    "        if (keep) s->x[at] = z;\n",
    "        if (!HAS_DOUBLE && !dependent && !keep) {\n",
    "            wide norm2 = 0;\n",
    "            for (k = 0; k <= i; k++) norm2 += FACTOR(s, i, k) * FACTOR(s, i, k);\n",
    "            length += sqrt(norm2) * fabs(error);\n",
    "        }\n",
    "    }\n",
    "    *doubt = HAS_DOUBLE ? 0 : (2 * MOST + 8) * SHS__WIDE_EPS * length * length;\n",
    "    return sum;\n",
    "}\n",
    "\n",
    "void round_signal(const signal *s, __global const int *atoms, __global const real *restrict D, int p, int ldd) {\n",
    "    int exact, dependent, fit = 0;\n",
    "    uint least = scale_of(s, &exact);\n",
    "    uint bits;\n",
    "    uint best = least;\n",
    "    wide best2, error2, doubt, other;\n",
    "    if (exact) return;\n",
    "    sort(s);\n",
    "    dependent = !factorise(s, atoms, D, p, ldd);\n",
    "    best2 = round_by(s, scale_value(least), 0, dependent, 0, &doubt);\n",
    "    for (bits = least; !dependent && bits < least + TRIALS; bits++) {\n",
    "        error2 = round_by(s, scale_value(bits), 1, 0, 0, &other);\n",
    "        if (!(error2 + (HAS_DOUBLE ? 0 : doubt + other) < best2)) continue;\n",
    "        best2 = error2;\n",
    "        doubt = other;\n",
    "        best = bits;\n",
    "        fit = 1;\n",
    "    }\n",
    "    round_by(s, scale_value(best), fit, dependent, 1, &other);\n",
    "}\n",
    "\n",
    "/* Signals 0 .. count-1, whose codes are MOST apart. D: the Gram matrix, columns ldd apart, or the dictionary (p rows). */\n",
    "__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void\n",
    "round_codes(ulong count, __global const int *restrict used, __global const int *restrict atoms, __global real *restrict coefs,\n",
    "            __global const real *restrict D, int p, int ldd, __global wide *restrict factors, __global int *restrict orders) {\n",
    "    const size_t items = get_global_size(0);\n",
    "    size_t i = get_global_id(0);\n",
    "    signal s;\n",
    "#if LOCAL\n",
    "    __local wide factor[(TRIANGLE + MOST) * ITEMS];\n",
    "    __local int order[MOST * ITEMS];\n",
    "    s.factor = factor + get_local_id(0);\n",
    "    s.order = order + get_local_id(0);\n",
    "    s.pitch = ITEMS;\n",
    "#else\n",
    "    s.factor = factors + i;\n",
    "    s.order = orders + i;\n",
    "    s.pitch = items;\n",
    "#endif\n",
    "    s.error = s.factor + (size_t)TRIANGLE * s.pitch;\n",
    "    for (; i < count; i += items) {\n",
    "        s.used = used[i];\n",
    "        s.x = coefs + i * MOST;\n",
    "        round_signal(&s, atoms + i * MOST, D, p, ldd);\n",
    "    }\n",
    "}\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_device[] = {
    "/* device.cl - stands before every program: the types, and what the host says of the device. Each file includes device.cl and has\n",
    "   a default for each of its build options, so that the file compiles by itself (make check-embed does so).\n",
    "\n",
    "   The host says SPARSEHS_DOUBLE (shs_real is double), SPARSEHS_NO_DOUBLE (no doubles in the library, or on the device) and: */\n",
    "#ifndef IS_CPU\n",
    "#define IS_CPU 0 /* 1: a processor, whose compiler needs other loops in a few places */\n",
    "#endif\n",
    "#ifndef NV_PTX\n",
    "#define NV_PTX 0 /* 1: inline PTX works; no kernel reads it, but programs with PTX and without are stored apart by it */\n",
    "#endif\n",
    "\n",
    "#ifdef SPARSEHS_DOUBLE\n",
    "#define real double /* shs_real */\n",
    "#define REAL_BITS 64\n",
    "#else\n",
    "#define real float\n",
    "#define REAL_BITS 32\n",
    "#endif\n",
    "#ifdef SPARSEHS_NO_DOUBLE\n",
    "#define wide float /* what sums are made in */\n",
    "#define WIDE_LEAST FLT_MIN\n",
    "#define HAS_DOUBLE 0\n",
    "#else\n",
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n",
    "#define wide double\n",
    "#define WIDE_LEAST DBL_MIN\n",
    "#define HAS_DOUBLE 1\n",
    "#endif\n",
    "#define shs_real real\n",
    "#define shs_wide wide\n",
    "\n",
    "/* VECTOR(float, 4) is float4; the type may be a macro. */\n",
    "#define VECTOR_(type, n) type##n\n",
    "#define VECTOR(type, n) VECTOR_(type, n)\n",
    "\n",
    "#include \"contract.h\"\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_fourth[] = {
    "/* fourth.cl - all products z_a z_b, a <= b, of whitened pixels: their Gram matrix (moments.cl) is the fourth moments of z,\n",
    "   after which FastICA with g(y) = y^3 needs no pixel again. One work-item a pixel; neighbours read and write neighbours.\n",
    "   Q: plane b (b + 1) / 2 + a holds z_a z_b of ld pixels. Missing pixels are zero and stay so. The textbook twin is shs_ica_naive,\n",
    "   which takes E[z g(w'z)] from the pixels themselves. */\n",
    "\n",
    "\n",
    "__kernel void pairs(__global const real *Z, ulong from, ulong ldz, int m, __global real *Q, ulong ld) {\n",
    "    const size_t p = get_global_id(0);\n",
    "    int a, b;\n",
    "    size_t plane = 0;\n",
    "    for (b = 0; b < m; b++) {\n",
    "        real zb = Z[from + (ulong)b * ldz + p];\n",
    "        for (a = 0; a <= b; a++) {\n",
    "            Q[plane * ld + p] = Z[from + (ulong)a * ldz + p] * zb;\n",
    "            plane++;\n",
    "        }\n",
    "    }\n",
    "}\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_gemm[] = {
    "/* gemm.cl: C = alpha op(A) op(B) + beta C, column-major, op(A) M x K, op(B) K x N; beta = 0 never reads C.\n",
    "\n",
    "   Its textbook twin is shs_gemm_naive.\n",
    "\n",
    "   A group of 16 x 16 work-items computes a tile of 128 x 128 of C, each item 8 x 8 of it in registers:\n",
    "\n",
    "               16 items x 4 columns    16 items x 4 columns (the same items again)\n",
    "              +----------------------+----------------------+\n",
    "     16 items |  4 x 4 of item (x,y) |  4 x 4 of item (x,y) |     Quarters, because four neighbours come in one read\n",
    "     x 4 rows |                      |                      |     of 16 bytes and 16 items then read 256 bytes in a\n",
    "              +----------------------+----------------------+     row: no two of them want the same bank of the\n",
    "     16 items |  4 x 4 of item (x,y) |  4 x 4 of item (x,y) |     local memory.\n",
    "     x 4 rows |                      |                      |\n",
    "              +----------------------+----------------------+\n",
    "\n",
    "   The long dimension is walked in steps of 16, in double of 8: the group brings 16 x 128 values of each factor to local\n",
    "   memory, ordered by k, where every value is used 128 times. The next pair of tiles is read into registers while\n",
    "   one is multiplied. Two pairs of tiles need one barrier a step. For each k an item does 64 multiply-adds for 4 reads of four\n",
    "   values.\n",
    "\n",
    "   Every element of C is one chain of fma in the order of k, whatever the shape, the edges and the transpositions. So a product\n",
    "   has the same bits wherever it is computed, in gemm_plain too. Only if k is long and C is small, k is cut into slices of\n",
    "   `depth`. Each slice has a C of its own; the Cs lie one behind the other, and gemm_sum adds them. */\n",
    "\n",
    "\n",
    "\n",
    "#ifndef SLICED\n",
    "#define SLICED 0 /* 1: k is cut into slices; 0: groups need no division, for which products of few k would wait */\n",
    "#endif\n",
    "#ifndef TRANS_A\n",
    "#define TRANS_A 0 /* 1: op(A) is the transpose of A */\n",
    "#endif\n",
    "#ifndef TRANS_B\n",
    "#define TRANS_B 0 /* 1: op(B) is the transpose of B */\n",
    "#endif\n",
    "#ifndef VECTOR_A\n",
    "#define VECTOR_A 0 /* 1: the leading dimension is a multiple of four: four neighbours may be read at once */\n",
    "#endif\n",
    "#ifndef VECTOR_B\n",
    "#define VECTOR_B 0 /* likewise */\n",
    "#endif\n",
    "\n",
    "#pragma OPENCL FP_CONTRACT OFF\n",
    "\n",
    "typedef VECTOR(real, 4) quad;\n",
    "\n",
    "#define TILE SHS__CL_GEMM_TILE\n",
    "#define STEP SHS__CL_GEMM_STEP\n",
    "#define EDGE SHS__CL_GEMM_PITCH\n",
    "\n",
    "/* Whether k runs along the memory of a factor. */\n",
    "#define ALONG_A TRANS_A\n",
    "#define ALONG_B (!TRANS_B)\n",
    "\n",
    "/* ---- bringing a tile: four neighbours at a time, QUADS such quads an item ----------------------------------------- */\n",
    "\n",
    "#define ITEMS 256\n",
    "#define ALONG (STEP / 4) /* quads of a column, where k runs along memory */\n",
    "#define QUADS (STEP * TILE / 4 / ITEMS)\n",
    "\n",
    "/* Values k .. k+3 of one column, 0 beyond K: such products add nothing. */\n",
    "quad along_k(__global const real *column, int k, int K, int vector) {\n",
    "    quad q = (quad)(0);\n",
    "    if (vector && k + 4 <= K) return *(__global const quad *)(column + k);\n",
    "    if (k < K) q.x = column[k];\n",
    "    if (k + 1 < K) q.y = column[k + 1];\n",
    "    if (k + 2 < K) q.z = column[k + 2];\n",
    "    if (k + 3 < K) q.w = column[k + 3];\n",
    "    return q;\n",
    "}\n",
    "\n",
    "/* Rows r .. r+3 at one k. Rows beyond the last are never stored: the last row stands in for them. */\n",
    "quad across_k(__global const real *F, size_t ld, int r, int rows, int k, int K, int vector) {\n",
    "    __global const real *column = F + (size_t)k * ld;\n",
    "    if (k >= K) return (quad)(0);\n",
    "    if (vector && r + 4 <= rows) return *(__global const quad *)(column + r);\n",
    "    return (quad)(column[min(r, rows - 1)], column[min(r + 1, rows - 1)], column[min(r + 2, rows - 1)],\n",
    "                  column[min(r + 3, rows - 1)]);\n",
    "}\n",
    "\n",
    "/* Item `id` brings quads id, id + ITEMS .. of a tile, here the q-th of its own. k along memory: ALONG items share a column's\n",
    "   stretch. Otherwise: 32 items share the values of a row, 8 values of k at a time. */\n",
    "quad bring(__global const real *F, size_t ld, int along, int vector, int first, int rows, int k0, int K, int id, int q) {\n",
    "    if (along) {\n",
    "        int column = min(first + id / ALONG + ITEMS / ALONG * q, rows - 1);\n",
    "        return along_k(F + (size_t)column * ld, k0 + id % ALONG * 4, K, vector);\n",
    "    }\n",
    "    return across_k(F, ld, first + id % 32 * 4, rows, k0 + id / 32 + 8 * q, K, vector);\n",
    "}\n",
    "\n",
    "void put(__local real *tile, int along, int id, int q, quad values) {\n",
    "    if (along) {\n",
    "        __local real *to = tile + id % ALONG * 4 * EDGE + id / ALONG + ITEMS / ALONG * q;\n",
    "        to[0] = values.x;\n",
    "        to[EDGE] = values.y;\n",
    "        to[2 * EDGE] = values.z;\n",
    "        to[3 * EDGE] = values.w;\n",
    "    } else {\n",
    "        *(__local quad *)(tile + (id / 32 + 8 * q) * EDGE + id % 32 * 4) = values;\n",
    "    }\n",
    "}\n",
    "\n",
    "/* Both tiles of the step at k. */\n",
    "#define BRING(k)                                                                                                               \\\n",
    "    _Pragma(\"unroll\") for (c = 0; c < QUADS; c++) {                                                                            \\\n",
    "        a[c] = bring(A, (size_t)lda, ALONG_A, VECTOR_A, row, M, k, K, id, c);                                                  \\\n",
    "        b[c] = bring(B, (size_t)ldb, ALONG_B, VECTOR_B, column, N, k, K, id, c);                                               \\\n",
    "    }\n",
    "\n",
    "/* ---- the product -------------------------------------------------------------------------------------------------- */\n",
    "\n",
    "#define ROW_TIMES(column, b)                                                                                           \\\n",
    "    low[column] = fma(a_low, (quad)(b), low[column]);                                                                  \\\n",
    "    high[column] = fma(a_high, (quad)(b), high[column]);\n",
    "\n",
    "/* One column of four rows into C. */\n",
    "void keep(__global real *C, int row, int M, real alpha, real beta, int aligned, quad sum) {\n",
    "    real value[4];\n",
    "    int i;\n",
    "    sum *= alpha;\n",
    "    if (beta == 0 && aligned && row + 4 <= M) {\n",
    "        *(__global quad *)(C + row) = sum;\n",
    "        return;\n",
    "    }\n",
    "    value[0] = sum.x;\n",
    "    value[1] = sum.y;\n",
    "    value[2] = sum.z;\n",
    "    value[3] = sum.w;\n",
    "    for (i = 0; i < 4; i++)\n",
    "        if (row + i < M) C[row + i] = beta == 0 ? value[i] : fma(beta, C[row + i], value[i]);\n",
    "}\n",
    "\n",
    "/* first_b, first_c: where B and C begin in their buffers, so that a call can multiply some of the columns. */\n",
    "__kernel __attribute__((reqd_work_group_size(16, 16, 1))) void gemm(int M, int N, int K, real alpha,\n",
    "                                                                    __global const real *restrict A, ulong first_a, int lda,\n",
    "                                                                    __global const real *restrict B, ulong first_b, int ldb,\n",
    "                                                                    real beta, __global real *restrict C, ulong first_c,\n",
    "                                                                    int ldc, int depth) {\n",
    "    __local real tile_a[2][STEP * EDGE] __attribute__((aligned(32)));\n",
    "    __local real tile_b[2][STEP * EDGE] __attribute__((aligned(32)));\n",
    "    int x = (int)get_local_id(0), y = (int)get_local_id(1), id = y * 16 + x;\n",
    "    const int group = (int)get_group_id(1), columns = (N + TILE - 1) / TILE, slice = SLICED ? group / columns : 0;\n",
    "    const int skip = slice * depth;\n",
    "    int row = (int)get_group_id(0) * TILE, column = (group - slice * columns) * TILE, k0, k, c, turn = 0;\n",
    "    quad low[8], high[8], a[QUADS], b[QUADS];\n",
    "    A += first_a + (size_t)skip * (TRANS_A ? 1 : (size_t)lda);\n",
    "    B += first_b + (size_t)skip * (TRANS_B ? (size_t)ldb : 1);\n",
    "    C += first_c + (size_t)slice * (size_t)ldc * (size_t)N;\n",
    "    if (SLICED) K = min(K - skip, depth);\n",
    "    for (c = 0; c < 8; c++) low[c] = high[c] = (quad)(0);\n",
    "    BRING(0)\n",
    "    for (k0 = 0; k0 < K; k0 += STEP) {\n",
    "        __local const real *ta = tile_a[turn];\n",
    "        __local const real *tb = tile_b[turn];\n",
    "#pragma unroll\n",
    "        for (c = 0; c < QUADS; c++) {\n",
    "            put(tile_a[turn], ALONG_A, id, c, a[c]);\n",
    "            put(tile_b[turn], ALONG_B, id, c, b[c]);\n",
    "        }\n",
    "        turn ^= 1;\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        if (k0 + STEP < K) {\n",
    "            BRING(k0 + STEP)\n",
    "        }\n",
    "#pragma unroll\n",
    "        for (k = 0; k < STEP; k++) {\n",
    "            quad a_low = *(__local const quad *)(ta + k * EDGE + 4 * x);\n",
    "            quad a_high = *(__local const quad *)(ta + k * EDGE + 64 + 4 * x);\n",
    "            quad b_low = *(__local const quad *)(tb + k * EDGE + 4 * y);\n",
    "            quad b_high = *(__local const quad *)(tb + k * EDGE + 64 + 4 * y);\n",
    "            ROW_TIMES(0, b_low.x) ROW_TIMES(1, b_low.y) ROW_TIMES(2, b_low.z) ROW_TIMES(3, b_low.w)\n",
    "            ROW_TIMES(4, b_high.x) ROW_TIMES(5, b_high.y) ROW_TIMES(6, b_high.z) ROW_TIMES(7, b_high.w)\n",
    "        }\n",
    "    }\n",
    "#pragma unroll\n",
    "    for (c = 0; c < 8; c++) {\n",
    "        int at = column + 4 * y + (c < 4 ? c : 60 + c);\n",
    "        int aligned = ldc % 4 == 0 && first_c % 4 == 0;\n",
    "        if (at >= N) continue;\n",
    "        keep(C + (size_t)at * (size_t)ldc, row + 4 * x, M, alpha, beta, aligned, low[c]);\n",
    "        keep(C + (size_t)at * (size_t)ldc, row + 64 + 4 * x, M, alpha, beta, aligned, high[c]);\n",
    "    }\n",
    "}\n",
    "\n",
    "/* For processors and small devices: an item computes 4 x 4 values from what its caches hold, without local memory. */\n",
    "__kernel void gemm_plain(int M, int N, int K, real alpha, __global const real *restrict A, ulong first_a, int lda,\n",
    "                         __global const real *restrict B, ulong first_b, int ldb, real beta, __global real *restrict C,\n",
    "                         ulong first_c, int ldc) {\n",
    "    int row = (int)get_global_id(0) * 4, column = (int)get_global_id(1) * 4, k, c;\n",
    "    const size_t step_a = TRANS_A ? 1 : (size_t)lda;\n",
    "    const size_t row_a = TRANS_A ? (size_t)lda : 1;\n",
    "    const size_t step_b = TRANS_B ? (size_t)ldb : 1;\n",
    "    const size_t column_b = TRANS_B ? 1 : (size_t)ldb;\n",
    "    __global const real *a[4], *b[4];\n",
    "    quad sum[4];\n",
    "    if (row >= M || column >= N) return;\n",
    "    A += first_a;\n",
    "    B += first_b;\n",
    "    C += first_c;\n",
    "    for (c = 0; c < 4; c++) {\n",
    "        a[c] = A + (size_t)min(row + c, M - 1) * row_a;\n",
    "        b[c] = B + (size_t)min(column + c, N - 1) * column_b;\n",
    "        sum[c] = (quad)(0);\n",
    "    }\n",
    "    for (k = 0; k < K; k++) {\n",
    "        size_t ka = (size_t)k * step_a, kb = (size_t)k * step_b;\n",
    "        quad left = (quad)(a[0][ka], a[1][ka], a[2][ka], a[3][ka]);\n",
    "        for (c = 0; c < 4; c++) sum[c] = fma(left, (quad)(b[c][kb]), sum[c]);\n",
    "    }\n",
    "    for (c = 0; c < 4 && column + c < N; c++)\n",
    "        keep(C + (size_t)(column + c) * (size_t)ldc, row, M, alpha, beta, 0, sum[c]);\n",
    "}\n",
    "\n",
    "/* C = alpha (the sum of the slices' own C, M x N) + beta C. PARTS items add a stretch of the slices each, in order,\n",
    "   and their sums are added in order. */\n",
    "#define PARTS SHS__CL_SUM_PARTS\n",
    "#define VALUES SHS__CL_SUM_VALUES\n",
    "__kernel __attribute__((reqd_work_group_size(VALUES, PARTS, 1)))\n",
    "void gemm_sum(__global const real *partial, int slices, int M, int N, real alpha, real beta, __global real *C,\n",
    "              ulong first_c, int ldc) {\n",
    "    __local real sums[PARTS][VALUES];\n",
    "    const int x = (int)get_local_id(0), y = (int)get_local_id(1);\n",
    "    const size_t each = (size_t)M * (size_t)N, e = get_global_id(0);\n",
    "    const int stretch = (slices + PARTS - 1) / PARTS, last = min((y + 1) * stretch, slices);\n",
    "    real sum = 0;\n",
    "    int s;\n",
    "    if (e < each)\n",
    "        for (s = y * stretch; s < last; s++) sum += partial[(size_t)s * each + e];\n",
    "    sums[y][x] = sum;\n",
    "    barrier(CLK_LOCAL_MEM_FENCE);\n",
    "    if (y || e >= each) return;\n",
    "    for (s = 1; s < PARTS; s++) sum += sums[s][x];\n",
    "    C += first_c + e / (size_t)M * (size_t)ldc + e % (size_t)M;\n",
    "    *C = beta == 0 ? alpha * sum : fma(beta, *C, alpha * sum);\n",
    "}\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_lasso[] = {
    "/* lasso.cl: the lasso and the elastic net of many signals, by coordinate descent on alpha = D'y and G = D'D:\n",
    "\n",
    "       min 1/2 ||y - Dx||^2 + lambda1 ||x||_1 + lambda2/2 ||x||^2\n",
    "\n",
    "   sparsehs.h takes the coefficients in turn. A step here takes the coefficient whose change lowers the objective most (the rule\n",
    "   of Gauss and Southwell). To compare all coefficients costs each item VALUES of them. A step waits for a column of G, and this\n",
    "   rule needs the fewest steps. With a = D'r, the step of coefficient j is\n",
    "\n",
    "       to x' = soft(a_j + G_jj x_j, lambda1) / (G_jj + lambda2),   by which the objective loses at least\n",
    "       (G_jj + lambda2) (x' - x_j)^2 / 2,   and a -= (x' - x_j) G_j.\n",
    "\n",
    "   A group of GROUP items has a signal; a and x are in its registers. Every LOOK steps it forms the duality gap. The host\n",
    "   forms the gap that it reports anew from the coefficients. So the sums here only have to decide when to stop.\n",
    "\n",
    "   Its textbook twin is shs_lasso_naive. */\n",
    "\n",
    "\n",
    "\n",
    "#ifndef N\n",
    "#define N 256 /* atoms, padded by zero atoms */\n",
    "#endif\n",
    "#ifndef GROUP\n",
    "#define GROUP 32 /* items a group: a power of two, 1 on a processor */\n",
    "#endif\n",
    "#ifndef STRIDE\n",
    "#define STRIDE 16 /* places that a signal has in the codes */\n",
    "#endif\n",
    "#ifndef REDUX\n",
    "#define REDUX 0 /* 1: a group is a warp, which reduces integers in one instruction */\n",
    "#endif\n",
    "\n",
    "#pragma OPENCL FP_CONTRACT OFF\n",
    "\n",
    "#include \"sum.h\"\n",
    "#define SUM VECTOR(wide, 4)\n",
    "SUM_OVER(sum_over, SUM)\n",
    "\n",
    "#if GROUP > 1\n",
    "#define SYNC(fence) barrier(fence)\n",
    "#else\n",
    "#define SYNC(fence)\n",
    "#endif\n",
    "#define VALUES ((N + GROUP - 1) / GROUP)\n",
    "#define ATOM(v) ((v) * GROUP + item)\n",
    "#define LOOK 16\n",
    "#define TURNS 4 /* times that a is formed anew from x, for what the steps have rounded away */\n",
    "#if IS_CPU\n",
    "#define UNROLL 4\n",
    "#else\n",
    "#define UNROLL VALUES\n",
    "#endif\n",
    "#define WORDS ((N + 31) / 32)\n",
    "\n",
    "/* The smallest atom of those with the largest score, N or above where no score is above 0; every item gets it. */\n",
    "#if REDUX\n",
    "uint pick(float score, uint atom, int item, __local ulong *room) {\n",
    "    uint best, first;\n",
    "    __asm volatile(\"redux.sync.max.u32 %0, %1, 0xffffffff;\" : \"=r\"(best) : \"r\"(as_uint(score)));\n",
    "    atom = best != 0 && as_uint(score) == best ? atom : N;\n",
    "    __asm volatile(\"redux.sync.min.u32 %0, %1, 0xffffffff;\" : \"=r\"(first) : \"r\"(atom));\n",
    "    return first;\n",
    "}\n",
    "#else\n",
    "uint pick(float score, uint atom, int item, __local ulong *room) {\n",
    "    ulong key = score > 0 ? ((ulong)as_uint(score) << 32) + (N - atom) : 0; /* floats are ordered as their bits are */\n",
    "    int width;\n",
    "    if (GROUP > 1) {\n",
    "        room[item] = key;\n",
    "        SYNC(CLK_LOCAL_MEM_FENCE);\n",
    "        for (width = GROUP / 2; width > 0; width /= 2) {\n",
    "            if (item < width) room[item] = max(room[item], room[item + width]);\n",
    "            SYNC(CLK_LOCAL_MEM_FENCE);\n",
    "        }\n",
    "        key = room[0];\n",
    "        SYNC(CLK_LOCAL_MEM_FENCE);\n",
    "    }\n",
    "    return N - (uint)key;\n",
    "}\n",
    "#endif\n",
    "\n",
    "real largest_over(real value, int item, __local real *room) {\n",
    "    int width;\n",
    "    if (GROUP == 1) return value;\n",
    "    room[item] = value;\n",
    "    SYNC(CLK_LOCAL_MEM_FENCE);\n",
    "    for (width = GROUP / 2; width > 0; width /= 2) {\n",
    "        if (item < width) room[item] = fmax(room[item], room[item + width]);\n",
    "        SYNC(CLK_LOCAL_MEM_FENCE);\n",
    "    }\n",
    "    value = room[0];\n",
    "    SYNC(CLK_LOCAL_MEM_FENCE);\n",
    "    return value;\n",
    "}\n",
    "\n",
    "/* The value that bounds theta = t r: signed if coefficients are nonnegative, else its absolute value. */\n",
    "real bound_of(real value, int nonnegative) { return nonnegative ? value : fabs(value); }\n",
    "\n",
    "/* Signals from `first` on, a group each, whose D'y is in alphas; from x = 0, or warm from their codes. relative: lambda\n",
    "   times the signal's own largest |d_j'y|. gap: to be reached, of ||y||^2. A signal with more coefficients than STRIDE is\n",
    "   left with none. A turn ends with the codes, from which the next forms a anew, until the gap is reached without a step. */\n",
    "__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void\n",
    "lasso(ulong first, __global const real *restrict alphas, __global const real *restrict G,\n",
    "      __global const wide *restrict norms2, real lambda, int relative, real lambda2, int nonnegative, real gap, uint steps,\n",
    "      int warm, __global int *restrict used, __global int *restrict atoms, __global real *restrict coefs) {\n",
    "    __local SUM sums[GROUP];\n",
    "    __local ulong keys[GROUP];\n",
    "    __local real room[GROUP], told[2];\n",
    "    __local uint marks[WORDS];\n",
    "    const int item = (int)get_local_id(0);\n",
    "    const size_t own = get_group_id(0), i = first + own, codes = i * STRIDE;\n",
    "    __global const real *column, *start = alphas + own * N;\n",
    "    const wide norm2 = norms2[i];\n",
    "    real alpha[VALUES], x[VALUES], diagonal[VALUES], inverse[VALUES], root[VALUES];\n",
    "    real most = 0, high, low;\n",
    "    uint taken = 0;\n",
    "    uint before = 1;\n",
    "    int v, k, total, turn;\n",
    "#pragma unroll UNROLL\n",
    "    for (v = 0; v < VALUES; v++) {\n",
    "        diagonal[v] = ATOM(v) < N ? G[(size_t)ATOM(v) * (N + 1)] : 0;\n",
    "        inverse[v] = diagonal[v] > 0 ? 1 / (diagonal[v] + lambda2) : 0;\n",
    "        root[v] = diagonal[v] > 0 ? sqrt(diagonal[v] + lambda2) : 0;\n",
    "        most = fmax(most, bound_of(ATOM(v) < N ? start[ATOM(v)] : 0, nonnegative));\n",
    "    }\n",
    "    most = largest_over(most, item, room);\n",
    "    high = relative ? lambda * most : lambda;\n",
    "    low = nonnegative ? -(real)INFINITY : -high;\n",
    "    total = warm ? used[i] : 0;\n",
    "    for (turn = 0; turn < TURNS && taken < steps && before != taken; turn++) {\n",
    "#pragma unroll UNROLL\n",
    "        for (v = 0; v < VALUES; v++) {\n",
    "            alpha[v] = ATOM(v) < N ? start[ATOM(v)] : 0;\n",
    "            x[v] = 0;\n",
    "        }\n",
    "        for (k = 0; k < total; k++) {\n",
    "            const int j = atoms[codes + (size_t)k];\n",
    "            const real c = coefs[codes + (size_t)k];\n",
    "            column = G + (size_t)j * N;\n",
    "#pragma unroll UNROLL\n",
    "            for (v = 0; v < VALUES; v++) {\n",
    "                if (ATOM(v) < N) alpha[v] = fma(-c, column[ATOM(v)], alpha[v]);\n",
    "                if (ATOM(v) == j) x[v] = c;\n",
    "            }\n",
    "        }\n",
    "        before = taken;\n",
    "        for (; taken < steps; taken++) {\n",
    "            real score = 0, step = 0;\n",
    "            uint j = N;\n",
    "            if ((taken - before) % LOOK == 0) { /* |r|^2 = |y|^2 - x'(D'y + D'r) */\n",
    "                SUM s = (SUM)(0);\n",
    "                real largest = 0;\n",
    "                wide r2, along, t;\n",
    "#pragma unroll UNROLL\n",
    "                for (v = 0; v < VALUES; v++) {\n",
    "                    const wide c = (wide)x[v];\n",
    "                    if (x[v] != 0) s += (SUM)(fabs(c), c * c, c * (wide)alpha[v], c * (wide)start[ATOM(v)]);\n",
    "                    largest = fmax(largest, bound_of(alpha[v] - lambda2 * x[v], nonnegative));\n",
    "                }\n",
    "                s = sum_over(s, item, GROUP, sums);\n",
    "                largest = largest_over(largest, item, room);\n",
    "                r2 = fmax(norm2 - s.z - s.w, (wide)0) + (wide)lambda2 * s.y;\n",
    "                along = s.z - (wide)lambda2 * s.y;\n",
    "                t = largest > high ? (wide)high / (wide)largest : 1;\n",
    "                if (r2 + along < t * r2) t = r2 + along > 0 ? (r2 + along) / r2 : 0;\n",
    "                if (r2 / 2 * (1 - t) * (1 - t) + (wide)high * s.x - t * along <= (wide)gap * norm2) break;\n",
    "            }\n",
    "#pragma unroll UNROLL\n",
    "            for (v = 0; v < VALUES; v++) {\n",
    "                const real whole = fma(diagonal[v], x[v], alpha[v]);\n",
    "                const real move = (whole - fmax(fmin(whole, high), low)) * inverse[v] - x[v];\n",
    "                const real worth = fabs(move) * root[v];\n",
    "                if (!(worth > score)) continue;\n",
    "                score = worth;\n",
    "                j = (uint)ATOM(v);\n",
    "                step = worth * root[v] > 4 * (real)SHS__EPS * most ? move : 0; /* the rest is rounding */\n",
    "            }\n",
    "            k = (int)j;\n",
    "            j = pick((float)score, j, item, keys);\n",
    "            if (j >= N) break;\n",
    "            if (k == (int)j) told[taken % 2] = step;\n",
    "            SYNC(CLK_LOCAL_MEM_FENCE);\n",
    "            step = told[taken % 2];\n",
    "            if (step == 0) break;\n",
    "            column = G + (size_t)j * N;\n",
    "#pragma unroll UNROLL\n",
    "            for (v = 0; v < VALUES; v++) {\n",
    "                if (ATOM(v) < N) alpha[v] = fma(-step, column[ATOM(v)], alpha[v]);\n",
    "                if (ATOM(v) == (int)j) x[v] += step;\n",
    "            }\n",
    "        }\n",
    "        /* Back, by ascending atoms. */\n",
    "        for (k = item; k < WORDS; k += GROUP) marks[k] = 0;\n",
    "        SYNC(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);\n",
    "#pragma unroll UNROLL\n",
    "        for (v = 0; v < VALUES; v++)\n",
    "            if (x[v] != 0) atomic_or(marks + ATOM(v) / 32, 1u << (ATOM(v) & 31));\n",
    "        SYNC(CLK_LOCAL_MEM_FENCE);\n",
    "        for (total = k = 0; k < WORDS; k++) total += (int)popcount(marks[k]);\n",
    "        if (total > STRIDE) {\n",
    "            total = 0;\n",
    "            turn = TURNS;\n",
    "        }\n",
    "#pragma unroll UNROLL\n",
    "        for (v = 0; v < VALUES; v++) {\n",
    "            const uint mask = 1u << (ATOM(v) & 31);\n",
    "            int place = 0;\n",
    "            if (x[v] == 0 || !total) continue;\n",
    "            for (k = 0; k < ATOM(v) / 32; k++) place += (int)popcount(marks[k]);\n",
    "            place += (int)popcount(marks[ATOM(v) / 32] & (mask - 1));\n",
    "            atoms[codes + (size_t)place] = ATOM(v);\n",
    "            coefs[codes + (size_t)place] = x[v];\n",
    "        }\n",
    "        SYNC(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);\n",
    "    }\n",
    "    for (k = total + item; k < STRIDE; k += GROUP) {\n",
    "        atoms[codes + (size_t)k] = 0;\n",
    "        coefs[codes + (size_t)k] = 0;\n",
    "    }\n",
    "    if (item == 0) used[i] = total;\n",
    "}\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_map[] = {
    "/* map.cl - affine maps of pixels: components, whitened pixels, sources, their extremes, the sink's values.\n",
    "\n",
    "   Group (c, g) takes pixels ALL c .. and outputs OUTPUTS g .. (with SQUARES all of them, block after block). The product of its\n",
    "   pixels and the matrix is made by items (map_items.h), or, for many outputs of slices, by double matrix units (map_units.h).\n",
    "   Either leaves an item OWN outputs of a block, output OUTPUT(o), for FINAL pixels, pixel PIXEL(j) of the group. ACROSS neighbours\n",
    "   have different outputs.\n",
    "\n",
    "   The textbook twins are shs_pca_naive and shs_ica_naive, where they multiply by their matrices. */\n",
    "\n",
    "\n",
    "\n",
    "#ifndef ELEM\n",
    "#define ELEM real /* of panel and matrix */\n",
    "#endif\n",
    "#ifndef OUTPUTS\n",
    "#define OUTPUTS 12 /* a multiple of 4 */\n",
    "#endif\n",
    "#ifndef PIXELS\n",
    "#define PIXELS 4 /* 1, 2 or 4 */\n",
    "#endif\n",
    "#ifndef DIRECT\n",
    "#define DIRECT 1 /* 1: from the slice; 0: from a panel */\n",
    "#endif\n",
    "#ifndef MODE\n",
    "#define MODE SHS__CL_MAP_STORE /* or whiten, or extremes */\n",
    "#endif\n",
    "#ifndef SQUARES\n",
    "#define SQUARES 0 /* 1: the squared length of the outputs is the one that counts */\n",
    "#endif\n",
    "\n",
    "/* SHS__CL_MAP_STORE */\n",
    "#ifndef SINK\n",
    "#define SINK float /* the sink's type */\n",
    "#endif\n",
    "#ifndef INTEGER\n",
    "#define INTEGER 0 /* 1: an integer, from LEAST to MOST */\n",
    "#endif\n",
    "#ifndef LAYOUT\n",
    "#define LAYOUT 0 /* of the sink, as a shs_interleave: 0 BSQ, 1 BIL, 2 BIP */\n",
    "#endif\n",
    "#ifndef RESCALE\n",
    "#define RESCALE 0 /* 1: from low .. high to new_low .. new_high */\n",
    "#endif\n",
    "\n",
    "#ifndef ITEMS\n",
    "#define ITEMS SHS__CL_MAP_ITEMS\n",
    "#endif\n",
    "#ifndef UNITS\n",
    "#define UNITS 0 /* 1: by matrix units (ELEM double, PIXELS 1, OUTPUTS a multiple of 8) */\n",
    "#endif\n",
    "#define ALL (ITEMS * PIXELS)\n",
    "typedef VECTOR(ELEM, 4) VEC4;\n",
    "\n",
    "/* Value (p, b) stands place(p) + row(b) values from `from` on. */\n",
    "#if DIRECT\n",
    "#include \"cube.h\"\n",
    "\n",
    "/* From the slice itself, in the cube's own type: a fifth of the panel's traffic for 8-bit pixels, a seventeenth where the panel\n",
    "   would be of doubles. Values of missing pixels are whatever they are: the caller knows which to drop. */\n",
    "#define SOURCE                                                                                                        \\\n",
    "    __global const VALUE *raw, ulong origin, __global const int *list, __global const real *shift, ulong slice_at,    \\\n",
    "        int slice_count, ulong plane, int slice_samples, int bands\n",
    "#define PASS raw, origin, list, shift, slice_at, slice_count, plane, slice_samples, bands\n",
    "#define FROM_HERE (raw + origin)\n",
    "#define PLACE(p) at_pixel(slice_at + min(p, (size_t)slice_count - 1), slice_samples, bands) /* behind the last: the last */\n",
    "#define ROW(b) at_band(list[b], plane, slice_samples)\n",
    "#define CENTRE(b) (WORK)shift[b]\n",
    "#define LESS_CENTRE(v, c) less(value_of(v), c)\n",
    "#else\n",
    "#define VALUE ELEM\n",
    "#define WORK ELEM\n",
    "#define SOURCE __global const ELEM *panel, int ld\n",
    "#define PASS panel, ld\n",
    "#define FROM_HERE panel\n",
    "#define PLACE(p) (p)\n",
    "#define ROW(b) (size_t)(b) * (size_t)ld\n",
    "#define CENTRE(b) 0 /* it has been subtracted */\n",
    "#define LESS_CENTRE(v, c) (v)\n",
    "#endif\n",
    "\n",
    "#if UNITS\n",
    "#include \"map_units.h\"\n",
    "#else\n",
    "#include \"map_items.h\"\n",
    "#endif\n",
    "\n",
    "#if MODE == SHS__CL_MAP_WHITEN\n",
    "/* Z[o * ldz + from + p] = whitened pixel, or -0 where the pixel is missing or behind the last. sweep.cl knows a missing pixel by\n",
    "   this sign: zeros of the other pixels are +0, because their sums begin with +0. */\n",
    "__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))\n",
    "void whiten(SOURCE, int used, __global const ELEM *matrix, __global const wide *added, int outputs,\n",
    "            int padded, __global const uchar *valid, ulong at, int count, __global real *Z, ulong from, ulong ldz) {\n",
    "    LOCAL;\n",
    "    SUMS(block);\n",
    "    const ELEM *y = (const ELEM *)block;\n",
    "    const int first = (int)get_group_id(1) * OUTPUTS;\n",
    "    int o, j;\n",
    "    project(PASS, used, matrix, padded, first, deep, centre, rows, tile, block);\n",
    "#pragma unroll\n",
    "    for (j = 0; j < FINAL; j++) {\n",
    "        const size_t p = get_group_id(0) * (size_t)ALL + PIXEL(j);\n",
    "        const int here = (int)p < count && (!valid || valid[at + p]);\n",
    "#pragma unroll\n",
    "        for (o = 0; o < OWN; o++) {\n",
    "            const int to = first + OUTPUT(o);\n",
    "            if (to < outputs) Z[(ulong)to * ldz + from + p] = here ? (real)y[j * OWN + o] + (real)added[to] : -(real)0;\n",
    "        }\n",
    "    }\n",
    "}\n",
    "#else\n",
    "\n",
    "/* An item's values: VALUES of each of FINAL pixels, PIXEL(j) of the group; value o is output first + RESULT(o). */\n",
    "#if SQUARES\n",
    "#define VALUES 1\n",
    "#define RESULT(o) 0\n",
    "#else\n",
    "#define VALUES OWN\n",
    "#define RESULT(o) OUTPUT(o)\n",
    "#endif\n",
    "\n",
    "/* value[j * VALUES + o], or the squared length of pixel j's outputs, in wide. */\n",
    "inline void values(SOURCE, int used, __global const ELEM *matrix, __global const wide *added, int outputs, int padded,\n",
    "                   int first, LOCAL_ARGUMENTS, wide *value) {\n",
    "    SUMS(block);\n",
    "    const ELEM *y = (const ELEM *)block;\n",
    "    wide length[HELD];\n",
    "    int o, j;\n",
    "    for (j = 0; j < HELD; j++) length[j] = 0;\n",
    "#if SQUARES\n",
    "    for (first = 0; first < outputs; first += OUTPUTS)\n",
    "#endif\n",
    "    {\n",
    "        project(PASS, used, matrix, padded, first, deep, centre, rows, tile, block);\n",
    "#pragma unroll\n",
    "        for (o = 0; o < OWN; o++) {\n",
    "            const wide offset =\n",
    "                first + OUTPUT(o) < outputs ? added[first + OUTPUT(o)] : (wide)0; /* where the matrix is 0 too */\n",
    "#pragma unroll\n",
    "            for (j = 0; j < HELD; j++) {\n",
    "                wide v = offset + (wide)y[j * OWN + o];\n",
    "#if SQUARES\n",
    "                length[j] += v * v;\n",
    "#else\n",
    "                value[j * VALUES + o] = v;\n",
    "#endif\n",
    "            }\n",
    "        }\n",
    "    }\n",
    "#if SQUARES\n",
    "    whole_lengths(length, tile, value);\n",
    "#endif\n",
    "}\n",
    "\n",
    "#if MODE == SHS__CL_MAP_EXTREMES\n",
    "/* The extremes of the group's pixels: low[c * written + o], high likewise. `end` is what no value reaches. */\n",
    "__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))\n",
    "void extremes(SOURCE, int used, __global const ELEM *matrix, __global const wide *added, int outputs,\n",
    "              int padded, __global const uchar *valid, ulong at, int count, int written, wide end, __global wide *low,\n",
    "              __global wide *high) {\n",
    "    LOCAL;\n",
    "    __local wide least[ITEMS], most[ITEMS];\n",
    "    wide value[FINAL * VALUES];\n",
    "    const int i = (int)get_local_id(0), first = (int)get_group_id(1) * OUTPUTS;\n",
    "    int o, j, span;\n",
    "    values(PASS, used, matrix, added, outputs, padded, first, deep, centre, rows, tile, value);\n",
    "#if !IS_CPU\n",
    "#pragma unroll\n",
    "#endif\n",
    "    for (o = 0; o < VALUES && first + o < written; o++) {\n",
    "        wide a = end, b = -end;\n",
    "        for (j = 0; j < FINAL; j++) {\n",
    "            const size_t p = get_group_id(0) * (size_t)ALL + PIXEL(j);\n",
    "            const wide v = value[j * VALUES + o];\n",
    "            if ((int)p >= count || (valid && !valid[at + p])) continue;\n",
    "            a = v < a ? v : a;\n",
    "            b = v > b ? v : b;\n",
    "        }\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        least[i] = a;\n",
    "        most[i] = b;\n",
    "        for (span = ITEMS / 2; span >= ACROSS; span >>= 1) {\n",
    "            barrier(CLK_LOCAL_MEM_FENCE);\n",
    "            if (i < span) {\n",
    "                least[i] = least[i + span] < least[i] ? least[i + span] : least[i];\n",
    "                most[i] = most[i + span] > most[i] ? most[i + span] : most[i];\n",
    "            }\n",
    "        }\n",
    "        if (i < ACROSS && first + RESULT(o) < written) {\n",
    "            low[get_group_id(0) * (size_t)written + (size_t)(first + RESULT(o))] = least[i];\n",
    "            high[get_group_id(0) * (size_t)written + (size_t)(first + RESULT(o))] = most[i];\n",
    "        }\n",
    "    }\n",
    "}\n",
    "\n",
    "/* One work-item an output: joins the extremes of `count` groups with the extremes found so far. */\n",
    "__kernel void widen(__global const wide *low, __global const wide *high, int count, int written, __global wide *least,\n",
    "                    __global wide *most) {\n",
    "    const int o = (int)get_global_id(0);\n",
    "    int c;\n",
    "    if (o >= written) return;\n",
    "    for (c = 0; c < count; c++) {\n",
    "        wide a = low[(size_t)c * (size_t)written + (size_t)o], b = high[(size_t)c * (size_t)written + (size_t)o];\n",
    "        if (a < least[o]) least[o] = a;\n",
    "        if (b > most[o]) most[o] = b;\n",
    "    }\n",
    "}\n",
    "#endif\n",
    "\n",
    "#if MODE == SHS__CL_MAP_STORE\n",
    "/* To nearest, half away from zero, within the type. The number before 0.5 is added: where the sum is rounded, 0.5 would lift large\n",
    "   odd numbers. */\n",
    "inline SINK to_sink(wide x) {\n",
    "#if INTEGER\n",
    "    const wide below_half = (wide)0.5f - (wide)(sizeof(wide) > 4 ? 0x1p-54f : 0x1p-25f);\n",
    "    x += x >= 0 ? below_half : -below_half;\n",
    "    if (x >= (wide)MOST) return (SINK)MOST;\n",
    "    if (x > (wide)LEAST) return (SINK)x;\n",
    "    return (SINK)LEAST;\n",
    "#else\n",
    "    return (SINK)x;\n",
    "#endif\n",
    "}\n",
    "\n",
    "/* The outputs of the slice from value `origin_out` of out on; at: pixel 0 of the panel in it; pixels: from one BSQ output to the\n",
    "   next. */\n",
    "__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))\n",
    "void store(SOURCE, int used, __global const ELEM *matrix, __global const wide *added, int outputs,\n",
    "           int padded, __global const uchar *valid, ulong at, int count, int written, ulong pixels, int samples, wide missing,\n",
    "           __global const wide *low, __global const wide *high, wide new_low, wide new_high, __global SINK *out,\n",
    "           ulong origin_out) {\n",
    "    LOCAL;\n",
    "    wide value[FINAL * VALUES];\n",
    "    const int first = (int)get_group_id(1) * OUTPUTS;\n",
    "    int o, j;\n",
    "    values(PASS, used, matrix, added, outputs, padded, first, deep, centre, rows, tile, value);\n",
    "#pragma unroll\n",
    "    for (j = 0; j < FINAL; j++) {\n",
    "        const size_t p = get_group_id(0) * (size_t)ALL + PIXEL(j), q = p + at;\n",
    "        const int here = (int)p < count && (!valid || valid[q]);\n",
    "#pragma unroll\n",
    "        for (o = 0; o < VALUES; o++) {\n",
    "            const size_t b = (size_t)(first + RESULT(o));\n",
    "            size_t to;\n",
    "            wide x = value[j * VALUES + o];\n",
    "            if ((int)p >= count || first + RESULT(o) >= written) continue;\n",
    "#if RESCALE\n",
    "            wide old = high[b] - low[b];\n",
    "            x = old > 0 ? (new_high - new_low) * (x - low[b]) / old + new_low : new_low;\n",
    "#endif\n",
    "#if LAYOUT == 0\n",
    "            to = b * pixels + q;\n",
    "#elif LAYOUT == 1\n",
    "            to = (q / (size_t)samples * (size_t)written + b) * (size_t)samples + q % (size_t)samples;\n",
    "#else\n",
    "            to = q * (size_t)written + b;\n",
    "#endif\n",
    "            out[origin_out + to] = to_sink(here ? x : missing);\n",
    "        }\n",
    "    }\n",
    "}\n",
    "#endif\n",
    "#endif\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_mod[] = {
    "/* mod.cl: MOD's linear system X A = B with B = E X' (p x n) and the symmetric A = XX' (n x n), by the Cholesky factor L of A.\n",
    "   mod_factor goes over A from left to right, TILE columns a launch. The rows of B stand below the rows of A and become\n",
    "   Z = B L'^-1 in the same launches. mod_solve forms X = Z L^-1. L and Z overwrite A and B, then X overwrites Z.\n",
    "\n",
    "        columns:  0   1   2          Launch k: group g has the tile of row g and column k. It subtracts the products of the\n",
    "       +---+---+---+                 columns before from its tile and from the tile on the diagonal, and factors the latter:\n",
    "     A | d |   |   |                 each group by itself, since that takes less time than another launch. Then it solves its\n",
    "       +---+---+---+                 own tile. The diagonal's factors go to `corners`, since the other groups still read the\n",
    "       | L | d |   |  <- group 0     tile on the diagonal: L below the diagonal, and 1 / l_jj, or 0, on it.\n",
    "       +---+---+---+\n",
    "       | L | a | a |  <- group 1\n",
    "       +---+---+---+\n",
    "     B | z | b | b |  <- group 2\n",
    "       +---+---+---+\n",
    "\n",
    "   A row that depends on the rows before it has no pivot: its column of L is 0, and its atom does not change. The rule on the host\n",
    "   is shs__dl_solve_mod, the textbook twin shs_mod_naive. */\n",
    "\n",
    "\n",
    "\n",
    "#define TILE SHS__CL_MOD_TILE\n",
    "#define ITEMS SHS__CL_MOD_ITEMS\n",
    "#define APART (ITEMS / TILE) /* an item has the rows y, y + APART, .. of a column of a tile */\n",
    "#define EACH (TILE / APART)\n",
    "#define PITCH (TILE + 1) /* of a tile in local memory: the rows of a column lie in different banks */\n",
    "\n",
    "/* Element (row, column), where the rows of A go on to a whole tile and those of B stand below; 0 where there is none. */\n",
    "inline __global wide *cell(int n, int p, __global wide *A, __global wide *B, int row, int column) {\n",
    "    const int below = row - (n + TILE - 1) / TILE * TILE;\n",
    "    if (column >= n || below >= p) return 0;\n",
    "    if (below >= 0) return B + (size_t)column * (size_t)p + (size_t)below;\n",
    "    return row < n ? A + (size_t)row * (size_t)n + (size_t)column : 0;\n",
    "}\n",
    "\n",
    "inline wide value_at(int n, int p, __global wide *A, __global wide *B, int row, int column) {\n",
    "    __global wide *at = cell(n, p, A, B, row, column);\n",
    "    return at ? *at : 0;\n",
    "}\n",
    "\n",
    "/* `first`: the first column of the launch's tiles. least: of a pivot, as a part of the row's square in A. */\n",
    "__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void mod_factor(int n, int p, int first, wide least,\n",
    "                                                                            __global wide *A, __global wide *B,\n",
    "                                                                            __global wide *restrict corners) {\n",
    "    __local wide left[TILE][PITCH], right[TILE][PITCH], whole[TILE];\n",
    "    const int id = (int)get_local_id(0), c = id % TILE, y = id / TILE, row = first + (int)get_group_id(0) * TILE;\n",
    "    wide own[EACH], corner[EACH], scale;\n",
    "    int q, t, k;\n",
    "    for (q = 0; q < EACH; q++) {\n",
    "        own[q] = value_at(n, p, A, B, row + y + q * APART, first + c);\n",
    "        corner[q] = value_at(n, p, A, B, first + y + q * APART, first + c);\n",
    "    }\n",
    "    if (y == 0) whole[c] = value_at(n, p, A, B, first + c, first + c);\n",
    "    for (t = 0; t < first; t += TILE) {\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        for (q = 0; q < EACH; q++) {\n",
    "            left[y + q * APART][c] = value_at(n, p, A, B, row + y + q * APART, t + c);\n",
    "            right[y + q * APART][c] = value_at(n, p, A, B, first + y + q * APART, t + c);\n",
    "        }\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        for (k = 0; k < TILE; k++)\n",
    "            for (q = 0; q < EACH; q++) {\n",
    "                own[q] = fma(-left[y + q * APART][k], right[c][k], own[q]);\n",
    "                corner[q] = fma(-right[y + q * APART][k], right[c][k], corner[q]);\n",
    "            }\n",
    "    }\n",
    "    barrier(CLK_LOCAL_MEM_FENCE);\n",
    "    for (q = 0; q < EACH; q++) {\n",
    "        left[y + q * APART][c] = own[q];\n",
    "        right[y + q * APART][c] = corner[q];\n",
    "    }\n",
    "    for (k = 0; k < TILE; k++) { /* column k of both tiles is taken off the later columns; the square roots come after the loop */\n",
    "        wide inverse;\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        inverse = right[k][k] > least * whole[k] ? 1 / right[k][k] : 0;\n",
    "        for (q = 0; q < EACH && c > k; q++) {\n",
    "            const int r = y + q * APART;\n",
    "            const wide by = right[c][k] * inverse;\n",
    "            left[r][c] = fma(-left[r][k], by, left[r][c]);\n",
    "            if (r >= c) right[r][c] = fma(-right[r][k], by, right[r][c]);\n",
    "        }\n",
    "    }\n",
    "    barrier(CLK_LOCAL_MEM_FENCE);\n",
    "    scale = right[c][c] > least * whole[c] ? 1 / sqrt(right[c][c]) : 0;\n",
    "    for (q = 0; q < EACH; q++) {\n",
    "        const int r = y + q * APART;\n",
    "        __global wide *at = cell(n, p, A, B, row + r, first + c);\n",
    "        if (row == first) {\n",
    "            const wide rest = c == r ? scale : 0;\n",
    "            corners[(size_t)(first + r) * TILE + (size_t)c] = c < r ? right[r][c] * scale : rest;\n",
    "        } else if (at) *at = left[r][c] * scale;\n",
    "    }\n",
    "}\n",
    "\n",
    "/* Group r has row r of X. It solves the tiles of columns from the last to the first, and takes each off the earlier ones. */\n",
    "__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void mod_solve(int n, int p, __global const wide *restrict A,\n",
    "                                                                           __global wide *Z,\n",
    "                                                                           __global const wide *restrict corners) {\n",
    "    __local wide corner[TILE][PITCH], inverse[TILE], rest[TILE], x[TILE];\n",
    "    const int id = (int)get_local_id(0), c = id % TILE, y = id / TILE;\n",
    "    __global wide *z = Z + get_group_id(0);\n",
    "    int first, i, k;\n",
    "    for (first = (n - 1) / TILE * TILE; first >= 0; first -= TILE) {\n",
    "        const int have = min(TILE, n - first);\n",
    "        for (k = y; k < TILE; k += APART) corner[k][c] = corners[(size_t)(first + k) * TILE + (size_t)c];\n",
    "        if (y == 0) {\n",
    "            inverse[c] = corners[(size_t)(first + c) * TILE + (size_t)c];\n",
    "            rest[c] = c < have ? z[(size_t)(first + c) * (size_t)p] : 0;\n",
    "        }\n",
    "        for (k = have - 1; k >= 0; k--) {\n",
    "            barrier(CLK_LOCAL_MEM_FENCE);\n",
    "            if (y == 0 && c < k) rest[c] = fma(-rest[k] * inverse[k], corner[k][c], rest[c]);\n",
    "        }\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        if (y == 0 && c < have) z[(size_t)(first + c) * (size_t)p] = x[c] = rest[c] * inverse[c];\n",
    "        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);\n",
    "        for (i = id; i < first; i += ITEMS) {\n",
    "            wide sum = z[(size_t)i * (size_t)p];\n",
    "#pragma unroll 8\n",
    "            for (k = 0; k < have; k++) sum = fma(-x[k], A[(size_t)(first + k) * (size_t)n + (size_t)i], sum);\n",
    "            z[(size_t)i * (size_t)p] = sum;\n",
    "        }\n",
    "        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);\n",
    "    }\n",
    "}\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_moments[] = {
    "/* moments.cl - sums of products over pixels, A A' for planes A: covariance, noise, fourth moments.\n",
    "\n",
    "   The products are few and the pixels many, so the pixels are split too: a work-group makes its part of the result from the\n",
    "   SLICE pixels s, in ELEM. totals.cl then adds the slices in their order, so every run gives the same bits. In float a slice of\n",
    "   1024 8-bit pixels less 128 is exact: its sums are integers below 2^24.\n",
    "\n",
    "   There are two kernels: `products` for many rows, `diagonals` for a symmetric result of few rows. On devices with double matrix\n",
    "   units syrk.cl makes the products of doubles. The textbook twin is shs_moments_naive. */\n",
    "\n",
    "\n",
    "\n",
    "#ifndef ELEM\n",
    "#define ELEM real /* of planes and partial sums */\n",
    "#endif\n",
    "#ifndef DIAGONALS\n",
    "#define DIAGONALS 0 /* 1: the program holds `diagonals`, not `products` */\n",
    "#endif\n",
    "\n",
    "#ifndef ITEMS\n",
    "#define ITEMS SHS__CL_ITEMS\n",
    "#endif\n",
    "#define SLICE SHS__CL_CHUNK_PIXELS\n",
    "\n",
    "#if !DIAGONALS\n",
    "/* Work-group (t, s) makes the T x T tile first_tile + t of those of the lower triangle, row by row.\n",
    "\n",
    "       A' ->   16 x 16 work-items; item (x, y) keeps R x R products in registers, in vectors of W: rows\n",
    "     A +---+   y W .. y W + W - 1, and the same 16 W further down; columns likewise with x\n",
    "     | | t |   KB pixels of both tiles stand in local memory, pixel by pixel, so that an item reads vectors of W bands;\n",
    "     v +---+   the next KB are on their way to registers meanwhile\n",
    "\n",
    "   Where the caller wants another number of items there are HIGH down a tile, of RA rows each.\n",
    " */\n",
    "\n",
    "#ifndef R\n",
    "#define R 8 /* 2, 4 or 8 */\n",
    "#endif\n",
    "#ifndef W\n",
    "#define W 4 /* 2 or 4, a divisor of R */\n",
    "#endif\n",
    "#ifndef KB\n",
    "#define KB 16 /* a multiple of 16 / R */\n",
    "#endif\n",
    "#ifndef IN_LOCAL\n",
    "#define IN_LOCAL 1 /* 0: every value from global memory, to see what local memory is worth */\n",
    "#endif\n",
    "\n",
    "#define T SHS__CL_TILE_EDGE(R)\n",
    "#define PITCH (T / W + 1)     /* of a pixel in local memory; one more, or all items would write to one bank */\n",
    "#define EACH (T * KB / ITEMS) /* elements of a tile that an item fetches */\n",
    "#define HIGH (ITEMS / 16)     /* items down a tile, */\n",
    "#define RA (R * 16 / HIGH)    /* and the rows of each */\n",
    "typedef VECTOR(ELEM, W) vec;\n",
    "\n",
    "#if !IN_LOCAL\n",
    "inline vec from_global(__global const ELEM *X, ulong ld, int rows, int row) {\n",
    "    vec v;\n",
    "    for (int l = 0; l < W; l++) ((ELEM *)&v)[l] = row + l < rows ? X[(ulong)(row + l) * ld] : (ELEM)0;\n",
    "    return v;\n",
    "}\n",
    "#endif\n",
    "\n",
    "#define ROW(l, part)                                                                                                  \\\n",
    "    _Pragma(\"unroll\") for (int j = 0; j < R / W; j++) sum[i * W + l][j] += (vec)(a[i].part) * b[j];\n",
    "\n",
    "__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))\n",
    "void products(__global const ELEM *A, ulong from, ulong lda, int rows, int first_tile, __global ELEM *partial) {\n",
    "    __local vec tile_a[KB * PITCH], other[KB * PITCH];\n",
    "    __local vec *tile_b;\n",
    "    const int id = (int)get_local_id(0), x = id & 15, y = id >> 4;\n",
    "    int t = first_tile + (int)get_group_id(0), ti = 0, tj, k, e;\n",
    "    const size_t pixel = get_group_id(1) * (size_t)SLICE;\n",
    "    vec sum[RA][R / W];\n",
    "    ELEM next_a[EACH], next_b[EACH];\n",
    "    for (tj = t; tj > ti; tj -= ti) ti++;\n",
    "    tile_b = ti == tj ? tile_a : other;\n",
    "    for (int i = 0; i < RA; i++)\n",
    "        for (int j = 0; j < R / W; j++) sum[i][j] = (vec)(0);\n",
    "\n",
    "#define FETCH(at)                                                                                                              \\\n",
    "    _Pragma(\"unroll\") for (e = 0; e < EACH; e++) {                                                                             \\\n",
    "        int kk = (id + e * ITEMS) % KB, row = (id + e * ITEMS) / KB;                                                           \\\n",
    "        int ra = ti * T + row, rb = tj * T + row;                                                                              \\\n",
    "        next_a[e] = ra < rows ? A[from + (ulong)ra * lda + pixel + (ulong)((at) + kk)] : (ELEM)0;                              \\\n",
    "        if (ti != tj) next_b[e] = rb < rows ? A[from + (ulong)rb * lda + pixel + (ulong)((at) + kk)] : (ELEM)0;                \\\n",
    "    }\n",
    "\n",
    "#if IN_LOCAL\n",
    "    FETCH(0)\n",
    "#endif\n",
    "    for (k = 0; k < SLICE; k += KB) {\n",
    "#if IN_LOCAL\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        _Pragma(\"unroll\") for (e = 0; e < EACH; e++) {\n",
    "            int kk = (id + e * ITEMS) % KB, row = (id + e * ITEMS) / KB;\n",
    "            ((__local ELEM *)tile_a)[kk * PITCH * W + row] = next_a[e];\n",
    "            if (ti != tj) ((__local ELEM *)tile_b)[kk * PITCH * W + row] = next_b[e];\n",
    "        }\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        if (k + KB < SLICE) FETCH(k + KB)\n",
    "#define ROWS_AT(q, i) tile_a[(q)*PITCH + (i)*HIGH + y]\n",
    "#define COLUMNS_AT(q, j) tile_b[(q)*PITCH + (j)*16 + x]\n",
    "#else\n",
    "#define ROWS_AT(q, i) from_global(A + from + pixel + (ulong)(k + (q)), lda, rows, ti * T + ((i)*HIGH + y) * W)\n",
    "#define COLUMNS_AT(q, j) from_global(A + from + pixel + (ulong)(k + (q)), lda, rows, tj * T + ((j)*16 + x) * W)\n",
    "#endif\n",
    "        _Pragma(\"unroll\") for (int q = 0; q < KB; q++) {\n",
    "            vec a[RA / W], b[R / W];\n",
    "            _Pragma(\"unroll\") for (int i = 0; i < RA / W; i++) a[i] = ROWS_AT(q, i);\n",
    "            _Pragma(\"unroll\") for (int j = 0; j < R / W; j++) b[j] = COLUMNS_AT(q, j);\n",
    "            _Pragma(\"unroll\") for (int i = 0; i < RA / W; i++) {\n",
    "                ROW(0, s0)\n",
    "                ROW(1, s1)\n",
    "#if W == 4\n",
    "                ROW(2, s2)\n",
    "                ROW(3, s3)\n",
    "#endif\n",
    "            }\n",
    "        }\n",
    "    }\n",
    "    partial += (get_group_id(1) * get_num_groups(0) + get_group_id(0)) * (size_t)(T * T);\n",
    "    _Pragma(\"unroll\") for (int i = 0; i < RA; i++) {\n",
    "        int row = (i / W * HIGH + y) * W + i % W;\n",
    "        _Pragma(\"unroll\") for (int j = 0; j < R / W; j++)\n",
    "            ((__global vec *)partial)[row * (T / W) + j * 16 + x] = sum[i][j];\n",
    "    }\n",
    "}\n",
    "\n",
    "#else\n",
    "/* The symmetric result of N rows, N small: a square tile would compute both triangles. Row d of an array is diagonal\n",
    "   d of the result: its element (c, d) is the product of rows c and c + d. Diagonal d has N - d elements. Diagonal N - d has d\n",
    "   elements and stands behind it, where c + d goes on at row 0. So N / 2 + 1 rows of N hold every product once; the last row of\n",
    "   an even N holds its products twice.\n",
    "\n",
    "        d ->  0   1   2              A group brings KB pixels to local memory with the first rows repeated behind the last,\n",
    "     c  0    00  01  02              so that nothing wraps there. An item keeps 8 x 8 elements in registers: columns c .. c + 7,\n",
    "     |  1    11  12  13              diagonals d .. d + 7, for which it reads 8 and 15 neighbouring values a pixel.\n",
    "     v  2    22  23  24              BLOCKS items make one copy of the array; PARTS copies take turns with the pixels, and the\n",
    "        3    33  34  30 (30 = 03)    group adds them up at the end.\n",
    "        4    44  40  41\n",
    " */\n",
    "\n",
    "#ifndef N\n",
    "#define N 55 /* rows */\n",
    "#endif\n",
    "#ifndef KB\n",
    "#define KB 32 /* pixels */\n",
    "#endif\n",
    "#ifndef PARTS\n",
    "#define PARTS 8 /* a divisor of KB */\n",
    "#endif\n",
    "\n",
    "#define ACROSS SHS__CL_DIAGONALS_ACROSS(N)\n",
    "#define DOWN SHS__CL_DIAGONALS_DOWN(N)\n",
    "#define BLOCKS (ACROSS * DOWN)\n",
    "#define ALL (BLOCKS * PARTS)        /* items of a group */\n",
    "#define WIDTH (8 * (ACROSS + DOWN))   /* of a pixel in local memory */\n",
    "#define PITCH (WIDTH / 4 + 1)         /* in vectors; odd, for the banks */\n",
    "#define EACH ((N * KB + ALL - 1) / ALL)\n",
    "typedef VECTOR(ELEM, 4) vec;\n",
    "\n",
    "__kernel __attribute__((reqd_work_group_size(ALL, 1, 1)))\n",
    "void diagonals(__global const ELEM *A, ulong from, ulong ld, __global ELEM *partial) {\n",
    "    __local vec tile[KB * PITCH];\n",
    "    __local vec row[2 * ALL];\n",
    "    __local ELEM *put = (__local ELEM *)tile;\n",
    "    const int id = (int)get_local_id(0), block = id % BLOCKS, part = id / BLOCKS, c = block % ACROSS, d = block / ACROSS;\n",
    "    int k, q, e, l;\n",
    "    ELEM next[EACH];\n",
    "    vec sum[8][2];\n",
    "    A += from + get_group_id(0) * (size_t)SLICE;\n",
    "    partial += get_group_id(0) * (size_t)(BLOCKS * 64);\n",
    "    for (l = 0; l < 8; l++) sum[l][0] = sum[l][1] = (vec)(0);\n",
    "\n",
    "#define FETCH(at)                                                                                                     \\\n",
    "    _Pragma(\"unroll\") for (e = 0; e < EACH; e++) if (id + e * ALL < N * KB)                                         \\\n",
    "        next[e] = A[(ulong)((id + e * ALL) / KB) * ld + (ulong)((at) + (id + e * ALL) % KB)];\n",
    "\n",
    "    FETCH(0)\n",
    "    for (k = 0; k < SLICE; k += KB) {\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        _Pragma(\"unroll\") for (e = 0; e < EACH; e++) if (id + e * ALL < N * KB)\n",
    "            for (l = (id + e * ALL) / KB; l < WIDTH; l += N) put[(id + e * ALL) % KB * PITCH * 4 + l] = next[e];\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        if (k + KB < SLICE) FETCH(k + KB)\n",
    "        for (q = part; q < KB; q += PARTS) {\n",
    "            __local const vec *a = tile + q * PITCH + 2 * c;\n",
    "            __local const vec *b = a + 2 * d;\n",
    "            const vec low = a[0];\n",
    "            const vec high = a[1];\n",
    "            const vec b0 = b[0];\n",
    "            const vec b1 = b[1];\n",
    "            const vec b2 = b[2];\n",
    "            const vec b3 = b[3];\n",
    "            sum[0][0] += low.s0 * b0;\n",
    "            sum[0][1] += low.s0 * b1;\n",
    "            sum[1][0] += low.s1 * (vec)(b0.s123, b1.s0);\n",
    "            sum[1][1] += low.s1 * (vec)(b1.s123, b2.s0);\n",
    "            sum[2][0] += low.s2 * (vec)(b0.s23, b1.s01);\n",
    "            sum[2][1] += low.s2 * (vec)(b1.s23, b2.s01);\n",
    "            sum[3][0] += low.s3 * (vec)(b0.s3, b1.s012);\n",
    "            sum[3][1] += low.s3 * (vec)(b1.s3, b2.s012);\n",
    "            sum[4][0] += high.s0 * b1;\n",
    "            sum[4][1] += high.s0 * b2;\n",
    "            sum[5][0] += high.s1 * (vec)(b1.s123, b2.s0);\n",
    "            sum[5][1] += high.s1 * (vec)(b2.s123, b3.s0);\n",
    "            sum[6][0] += high.s2 * (vec)(b1.s23, b2.s01);\n",
    "            sum[6][1] += high.s2 * (vec)(b2.s23, b3.s01);\n",
    "            sum[7][0] += high.s3 * (vec)(b1.s3, b2.s012);\n",
    "            sum[7][1] += high.s3 * (vec)(b2.s3, b3.s012);\n",
    "        }\n",
    "    }\n",
    "    _Pragma(\"unroll\") for (l = 0; l < 8; l++) { /* one column of every block after another */\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        row[2 * id] = sum[l][0];\n",
    "        row[2 * id + 1] = sum[l][1];\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        for (e = id; e < BLOCKS * 8; e += ALL) {\n",
    "            ELEM x = 0;\n",
    "            for (q = 0; q < PARTS; q++) x += ((__local const ELEM *)row)[q * BLOCKS * 8 + e];\n",
    "            partial[e / 8 * 64 + l * 8 + e % 8] = x;\n",
    "        }\n",
    "    }\n",
    "}\n",
    "#endif\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_omp_general[] = {
    "/* omp_general.cl - matching pursuit (omp.h) of whatever size, by a group of GROUP items, which takes signal after signal.\n",
    "\n",
    "   alpha, b_k and L lie in its scratch in global memory. Any n and s, with a Gram matrix or without, and the only coder that forms\n",
    "   the explicit residual. Processors run it with GROUP 1: a compiler vectorises the loops over rows of b. It runs if none of the\n",
    "   others fits. With `settle` it codes the signals that other coders left open. */\n",
    "\n",
    "\n",
    "\n",
    "#ifndef GROUP\n",
    "#define GROUP 64 /* items a group: a power of two */\n",
    "#endif\n",
    "#ifndef USE_GRAM\n",
    "#define USE_GRAM 1 /* 0: elements of G are formed as they are needed */\n",
    "#endif\n",
    "\n",
    "#include \"omp.h\"\n",
    "#include \"pursuit.h\"\n",
    "\n",
    "/* x += inverse(L') t, t = 0. */\n",
    "void solve(pursuit *w) {\n",
    "    int k, i;\n",
    "    for (k = w->chosen - 1; k >= 0; k--) {\n",
    "        __global const real *row = row_of(w, k);\n",
    "        real step = w->t[k] * row[k];\n",
    "        SYNC();\n",
    "        for (i = w->lane; i < k; i += GROUP) w->t[i] = fma(-step, row[i], w->t[i]);\n",
    "        if (w->lane == 0) {\n",
    "            w->x[k] += step;\n",
    "            w->t[k] = 0;\n",
    "        }\n",
    "        SYNC();\n",
    "    }\n",
    "}\n",
    "\n",
    "/* t = inverse(L) a, where a is lost: what is left of the residual in the span; |r|^2 without it. */\n",
    "void project(pursuit *w, __global real *a) {\n",
    "    int k, i;\n",
    "    for (k = 0; k < w->chosen; k++) {\n",
    "        real t = a[k] * row_of(w, k)[k];\n",
    "        SYNC();\n",
    "        for (i = k + 1 + w->lane; i < w->chosen; i += GROUP) a[i] = fma(-row_of(w, i)[k], t, a[i]);\n",
    "        if (w->lane == 0) w->t[k] = t;\n",
    "        w->residual2 = fmax(fma(-(wide)t, (wide)t, w->residual2), (wide)0);\n",
    "        SYNC();\n",
    "    }\n",
    "}\n",
    "\n",
    "/* r = y - Dx for the coefficients as stored; whether the tolerance is reached for certain: each step of the sum may be half an eps\n",
    "   of its result off. over_group is called from one place only, as all helpers are. */\n",
    "int measure(pursuit *w) {\n",
    "    wide sums[2] = {0, 0};\n",
    "    int i, k;\n",
    "    for (i = w->lane; i < w->p; i += GROUP) {\n",
    "        wide e = (wide)w->y[i], error = 0;\n",
    "        for (k = 0; k < w->chosen; k++) {\n",
    "            const wide d = (wide)w->D[(size_t)w->atoms[k] * (size_t)w->p + (size_t)i];\n",
    "            e = fma(-(wide)w->x[k], d, e);\n",
    "            error += d != 0 ? fabs(e) : 0;\n",
    "        }\n",
    "        error *= WIDE_EPSILON / 2;\n",
    "        w->r[i] = (real)e;\n",
    "        sums[0] = fma(e, e, sums[0]);\n",
    "        sums[1] = fma(error, error, sums[1]);\n",
    "    }\n",
    "    for (k = 0; k < 2; k++) sums[k] = over_group(w, sums[k]);\n",
    "    w->residual2 = w->base2 = sums[0];\n",
    "    w->reached = sqrt(sums[0]) + sqrt(sums[1]) <= sqrt(w->tolerance2);\n",
    "    w->confirms++;\n",
    "    w->r_is_explicit = 1;\n",
    "    return w->reached;\n",
    "}\n",
    "\n",
    "/* Starts again from the explicit residual: alpha = D'r less what is left of it in the span. */\n",
    "void correlate(pursuit *w) {\n",
    "    int i, k;\n",
    "    for (i = w->lane; i < w->n; i += GROUP) w->alpha[i] = dot_atom(w, i, w->r);\n",
    "    SYNC();\n",
    "    for (k = w->lane; k < w->chosen; k += GROUP) w->r[k] = w->alpha[w->atoms[k]]; /* chosen <= p: r has served */\n",
    "    SYNC();\n",
    "    project(w, w->r);\n",
    "    for (i = w->lane; i < w->n; i += GROUP) {\n",
    "        real a = w->alpha[i];\n",
    "        for (k = 0; k < w->chosen; k++) a = fma(-w->t[k], w->B[(size_t)k * (size_t)w->padded + (size_t)i], a);\n",
    "        w->alpha[i] = a;\n",
    "    }\n",
    "    SYNC();\n",
    "}\n",
    "\n",
    "/* b_k, and alpha without its part along q_k. A single item goes row by row, which a processor's compiler makes vectors of. */\n",
    "void advance(const pursuit *w, int k, int j, real inverse, real t) {\n",
    "    __global const real *c = row_of(w, k);\n",
    "    __global real *b = w->B + (size_t)k * (size_t)w->padded;\n",
    "    int i, q;\n",
    "#if GROUP == 1\n",
    "    for (i = 0; i < w->n; i++) b[i] = gram(w, i, j);\n",
    "    for (q = 0; q < k; q++) {\n",
    "        __global const real *row = w->B + (size_t)q * (size_t)w->padded;\n",
    "        real cq = c[q];\n",
    "        for (i = 0; i < w->n; i++) b[i] = fma(-cq, row[i], b[i]);\n",
    "    }\n",
    "    for (i = 0; i < w->n; i++) {\n",
    "        b[i] *= inverse;\n",
    "        w->alpha[i] = fma(-t, b[i], w->alpha[i]);\n",
    "    }\n",
    "    for (i = 0; DISTANCES && i < w->n; i++) w->distance[i] = fma(-b[i] * w->inflation, b[i], w->distance[i]);\n",
    "#else\n",
    "    for (i = w->lane; i < w->n; i += GROUP) {\n",
    "        real v = gram(w, i, j);\n",
    "        for (q = 0; q < k; q++) v = fma(-c[q], w->B[(size_t)q * (size_t)w->padded + (size_t)i], v);\n",
    "        v *= inverse;\n",
    "        b[i] = v;\n",
    "        w->alpha[i] = fma(-t, v, w->alpha[i]);\n",
    "        if (DISTANCES) w->distance[i] = fma(-v * w->inflation, v, w->distance[i]);\n",
    "    }\n",
    "#endif\n",
    "    SYNC();\n",
    "}\n",
    "\n",
    "/* Every helper is called from one place only: compilers for devices inline them all. */\n",
    "void pursue(pursuit *w) {\n",
    "    int fresh = 1;\n",
    "    while (!w->reached && w->chosen < w->limit) {\n",
    "        int j = choose(w), k = w->chosen, may_refresh = w->confirms < REFRESHES, in_doubt;\n",
    "        real inverse, t;\n",
    "        if (fresh) w->guard = GUARD_OF(w->alpha[j], w->diagonal[j]);\n",
    "        fresh = 0;\n",
    "        if (append(w, j, &inverse, &t)) {\n",
    "            int decided = standing(w);\n",
    "            w->reached = decided == BELOW;\n",
    "            if (w->reached || w->chosen == w->limit) break;\n",
    "            advance(w, k, j, inverse, t);\n",
    "            in_doubt = decided == UNSURE;\n",
    "        } else {\n",
    "            if (!(w->tolerance2 > 0) || !may_refresh || w->r_is_explicit) break;\n",
    "            in_doubt = 1;\n",
    "        }\n",
    "        if (!TOLERANT || !in_doubt) continue;\n",
    "        solve(w);\n",
    "        if (measure(w) || !may_refresh) continue;\n",
    "        correlate(w);\n",
    "        fresh = 1;\n",
    "    }\n",
    "}\n",
    "\n",
    "/* L of atoms that another coder has chosen, to the bit as append makes it, and t = 0. */\n",
    "void factor(pursuit *w, int count) {\n",
    "    int k, q, i;\n",
    "    for (k = 0; k < count; k++) {\n",
    "        const int j = w->atoms[k];\n",
    "        __global real *c = row_of(w, k);\n",
    "        const real gjj = gram(w, j, j);\n",
    "        real d2 = gjj;\n",
    "        for (q = w->lane; q < k; q += GROUP) c[q] = gram(w, j, w->atoms[q]);\n",
    "        SYNC();\n",
    "        for (q = 0; q < k; q++) {\n",
    "            const real known = c[q] * row_of(w, q)[q];\n",
    "            SYNC();\n",
    "            for (i = q + 1 + w->lane; i < k; i += GROUP) c[i] = fma(-row_of(w, i)[q], known, c[i]);\n",
    "            if (w->lane == 0) c[q] = known;\n",
    "            SYNC();\n",
    "            d2 = fma(-known, known, d2);\n",
    "        }\n",
    "        if (w->lane == 0) {\n",
    "            c[k] = INVERSE_ROOT(d2);\n",
    "            w->t[k] = 0;\n",
    "        }\n",
    "        take_share(&w->small, d2, gjj);\n",
    "        SYNC();\n",
    "    }\n",
    "    w->chosen = count;\n",
    "}\n",
    "\n",
    "/* The coefficients, refined where they are rough; the explicit residual then settles what the recurrence leaves in doubt. With\n",
    "   `only_measure` the coefficients are good, and only the residual is asked for. Where the recurrence cannot tell, the residual is\n",
    "   that of the coefficients as they are stored. */\n",
    "void finish(pursuit *w, int only_measure) {\n",
    "    int tries, k;\n",
    "    for (tries = 0;; tries++) {\n",
    "        const int rough = !only_measure && is_rough(w, tries, SHS__OMP_FALL);\n",
    "        const int sure = w->residual2 > TRUST2 * w->base2 && !(w->small.least < SURE);\n",
    "        int known = sure || !(w->base2 > 0);\n",
    "        if (w->confirms) known = w->reached && w->r_is_explicit;\n",
    "        if (!only_measure) solve(w);\n",
    "        if (!rough && known) break;\n",
    "        if (measure(w) || !rough) break;\n",
    "        for (k = w->lane; k < w->chosen; k += GROUP) w->alpha[k] = dot_atom(w, w->atoms[k], w->r);\n",
    "        SYNC();\n",
    "        project(w, w->alpha);\n",
    "    }\n",
    "}\n",
    "\n",
    "/* A group takes signal after signal; scratch: see shs__cl_general_scratch. With\n",
    "   `settle` only what the other kernels have left open is coded; that is rare, so a group looks at GROUP signals at a time, and\n",
    "   forms D'y itself, by the same chain of fma as the matrix product. */\n",
    "__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void\n",
    "omp_general(ulong first, ulong count, __global const real *restrict alphas, __global const real *restrict G,\n",
    "            __global const wide *restrict norms2, int limit, __global const int *restrict limits, real tolerance,\n",
    "            __global const real *restrict tolerances, __global int *restrict used, __global int *restrict atoms,\n",
    "            __global real *restrict coefs, __global real *restrict errors2, __global int *restrict state,\n",
    "            __global real *restrict scratch, ulong each, int n, int padded, int p, int stride, __global const real *restrict D,\n",
    "            __global const real *restrict Y, int settle) {\n",
    "    __local real sizes[GROUP];\n",
    "    __local int places[GROUP], open[GROUP];\n",
    "    __local wide sums[GROUP];\n",
    "    const size_t look = settle ? GROUP : 1;\n",
    "    pursuit w;\n",
    "    size_t base, own;\n",
    "    int i;\n",
    "    start(&w, n, padded, p, stride, D, G, scratch + get_group_id(0) * each, sizes, places, sums);\n",
    "    w.r = w.t + stride;\n",
    "    w.B = w.r + max(p, stride);\n",
    "    w.distance = w.B + (size_t)padded * (size_t)max(stride - 1, 1);\n",
    "    w.diagonal = w.distance + padded;\n",
    "    for (i = w.lane; DISTANCES && i < n; i += GROUP) w.diagonal[i] = length2_of(gram(&w, i, i));\n",
    "    for (base = get_group_id(0) * look; base < count; base += get_num_groups(0) * look) {\n",
    "        const size_t end = min((ulong)(base + look), count);\n",
    "        int mine = 0;\n",
    "        SYNC();\n",
    "        if (!settle) mine = DOUBTFUL;\n",
    "        else if (base + (size_t)w.lane < count) mine = state[first + base + (size_t)w.lane];\n",
    "        open[w.lane] = mine;\n",
    "        SYNC();\n",
    "        for (own = base; own < end; own++) {\n",
    "            const size_t at = first + own;\n",
    "            const int task = open[own - base];\n",
    "            if (!(task & (DOUBTFUL | UNPROVEN | ROUGH))) continue;\n",
    "            w.y = Y + at * (size_t)p;\n",
    "            w.x = coefs + at * (size_t)stride;\n",
    "            w.atoms = atoms + at * (size_t)stride;\n",
    "            w.limit = limit_of(at, limit, limits);\n",
    "            w.tolerance2 = tolerance2_of(at, tolerance, tolerances);\n",
    "            w.base2 = w.residual2 = norms2[at];\n",
    "            w.confirms = w.r_is_explicit = 0;\n",
    "            w.small = whole_shares();\n",
    "            w.chosen = 0;\n",
    "            for (i = w.lane; DISTANCES && i < n; i += GROUP) w.distance[i] = w.diagonal[i];\n",
    "            w.reached = w.tolerance2 > 0 && w.base2 <= w.tolerance2;\n",
    "            if (task & DOUBTFUL) {\n",
    "                if (settle)\n",
    "                    for (i = w.lane; i < n; i += GROUP) w.alpha[i] = dot_atom(&w, i, w.y);\n",
    "                else\n",
    "                    for (i = w.lane; i < n; i += GROUP) w.alpha[i] = alphas[own * (size_t)padded + (size_t)i];\n",
    "                SYNC();\n",
    "                pursue(&w);\n",
    "            } else if (task & ROUGH) {\n",
    "                factor(&w, used[at]);\n",
    "                w.residual2 = errors2[at];\n",
    "            } else {\n",
    "                w.chosen = used[at];\n",
    "                w.residual2 = 0;\n",
    "            }\n",
    "            finish(&w, !(task & (DOUBTFUL | ROUGH)));\n",
    "            for (i = w.chosen + w.lane; i < stride; i += GROUP) {\n",
    "                w.atoms[i] = 0;\n",
    "                w.x[i] = 0;\n",
    "            }\n",
    "            if (w.lane == 0) {\n",
    "                used[at] = w.chosen;\n",
    "                errors2[at] = (real)w.residual2;\n",
    "                state[at] = w.tolerance2 > 0 && !w.reached ? UNREACHED : 0;\n",
    "            }\n",
    "            SYNC();\n",
    "        }\n",
    "    }\n",
    "}\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_omp_group[] = {
    "/* omp_group.cl - matching pursuit (omp.h) by a group of GROUP items, which takes signal after signal, for dictionaries that are too\n",
    "   large for omp_warp.\n",
    "\n",
    "   alpha lies in registers, L and the first ROWS of the b_k in local memory, the other b_k in the group's scratch in global memory.\n",
    "   Those it reads again at every step: (s - ROWS)^2 n / 2 values a signal bound it. */\n",
    "\n",
    "\n",
    "\n",
    "#ifndef N\n",
    "#define N 256 /* n, padded to a multiple of 32 by zero atoms */\n",
    "#endif\n",
    "#ifndef S\n",
    "#define S 8 /* places in the codes */\n",
    "#endif\n",
    "#ifndef ROWS\n",
    "#define ROWS 4 /* of the b_k in local memory, 1 at least */\n",
    "#endif\n",
    "#ifndef GROUP\n",
    "#define GROUP 64 /* items a group: a power of two */\n",
    "#endif\n",
    "\n",
    "#include \"omp.h\"\n",
    "\n",
    "/* Item l holds the values of atoms l, l + GROUP, l + 2 GROUP and so on: neighbours read neighbours. */\n",
    "#define VALUES ((N + GROUP - 1) / GROUP)\n",
    "#define ATOM(v) ((v) * GROUP + lane)\n",
    "#define LEADERS (GROUP < 16 ? GROUP : 16)\n",
    "\n",
    "/* Whether score a of atom i comes before score b of atom j. */\n",
    "#define BEFORE(a, i, b, j) ((a) > (b) || ((a) == (b) && (i) < (j)))\n",
    "\n",
    "/* What is in local memory: see shs__cl_group_bytes. */\n",
    "__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void\n",
    "omp_group(ulong first, ulong count, __global const real *restrict alphas, __global const real *restrict G,\n",
    "          __global const wide *restrict norms2, int limit, __global const int *restrict limits, real tolerance,\n",
    "          __global const real *restrict tolerances, __global int *restrict used, __global int *restrict atoms,\n",
    "          __global real *restrict coefs, __global real *restrict errors2, __global int *restrict state,\n",
    "          __global real *restrict scratch) {\n",
    "    __local real near[ROWS * N];\n",
    "    __local real L[PLACE(S, 0)], t[S], best[GROUP], held[GROUP], spare[DISTANCES ? GROUP : 1];\n",
    "    __local int chosen[S], place[GROUP];\n",
    "    const int lane = (int)get_local_id(0);\n",
    "    __global real *far = scratch + get_group_id(0) * (size_t)(S > ROWS + 1 ? S - 1 - ROWS : 0) * N;\n",
    "    real alpha[VALUES], diagonal[VALUES], distance[VALUES];\n",
    "    size_t own;\n",
    "    int v, q;\n",
    "#pragma unroll\n",
    "    for (v = 0; DISTANCES && v < VALUES; v++) diagonal[v] = ATOM(v) < N ? length2_of(G[(size_t)ATOM(v) * (N + 1)]) : 0;\n",
    "    for (own = get_group_id(0); own < count; own += get_num_groups(0)) {\n",
    "        const size_t i = first + own;\n",
    "        const wide base2 = norms2[i], tolerance2 = tolerance2_of(i, tolerance, tolerances);\n",
    "        int most = limit_of(i, limit, limits), k = 0, flags = 0, going = 1;\n",
    "        int reached = tolerance2 > 0 && base2 <= tolerance2;\n",
    "        wide residual2 = base2;\n",
    "        real guard = 0;\n",
    "        shares small = whole_shares();\n",
    "        if (reached) most = 0;\n",
    "#pragma unroll\n",
    "        for (v = 0; v < VALUES; v++) {\n",
    "            alpha[v] = ATOM(v) < N ? alphas[own * N + (size_t)ATOM(v)] : 0;\n",
    "            if (DISTANCES) distance[v] = diagonal[v];\n",
    "        }\n",
    "        while (going && k < most) {\n",
    "            real score = -1, value = 0, left = 0, d2, gjj, inverse, inflation = 1;\n",
    "            __global const real *column;\n",
    "            int j = N, decided = ABOVE;\n",
    "            /* The atom: an item's own best, the best of every LEADERS-th item, the best of those. */\n",
    "#pragma unroll\n",
    "            for (v = 0; v < VALUES; v++)\n",
    "                if (ATOM(v) < N && SCORE(alpha[v], diagonal[v], distance[v]) > score) {\n",
    "                    score = SCORE(alpha[v], diagonal[v], distance[v]);\n",
    "                    j = ATOM(v);\n",
    "                    value = alpha[v];\n",
    "                    if (DISTANCES) left = distance[v];\n",
    "                }\n",
    "            best[lane] = score;\n",
    "            place[lane] = j;\n",
    "            held[lane] = value;\n",
    "            if (DISTANCES) spare[lane] = left;\n",
    "            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);\n",
    "            if (lane < LEADERS) {\n",
    "                for (q = lane + LEADERS; q < GROUP; q += LEADERS)\n",
    "                    if (BEFORE(best[q], place[q], score, j)) {\n",
    "                        score = best[q];\n",
    "                        j = place[q];\n",
    "                    }\n",
    "                best[lane] = score;\n",
    "                place[lane] = j;\n",
    "            }\n",
    "            barrier(CLK_LOCAL_MEM_FENCE);\n",
    "            score = best[0];\n",
    "            j = place[0];\n",
    "            for (q = 1; q < LEADERS; q++)\n",
    "                if (BEFORE(best[q], place[q], score, j)) {\n",
    "                    score = best[q];\n",
    "                    j = place[q];\n",
    "                }\n",
    "            value = j < N ? held[j % GROUP] : 0; /* N: there are only NaNs */\n",
    "            if (DISTANCES) left = spare[j % GROUP];\n",
    "            j = min(j, N - 1);\n",
    "            if (k == 0) guard = GUARD_OF(value, left);\n",
    "            /* Row k of L; infinity refuses an atom that is already there. */\n",
    "            for (q = lane; q < k; q += GROUP) {\n",
    "                if (chosen[q] == j) L[PLACE(k, q)] = (real)INFINITY;\n",
    "                else if (q < ROWS) L[PLACE(k, q)] = near[q * N + j];\n",
    "                else L[PLACE(k, q)] = far[(size_t)(q - ROWS) * N + (size_t)j];\n",
    "            }\n",
    "            barrier(CLK_LOCAL_MEM_FENCE);\n",
    "            column = G + (size_t)j * N;\n",
    "            d2 = gjj = column[j];\n",
    "            for (q = 0; q < k; q++) d2 = fma(-L[PLACE(k, q)], L[PLACE(k, q)], d2);\n",
    "            if (IS_ROUNDING(value, guard, gjj, d2, left)) {\n",
    "                if (tolerance2 > 0) flags = DOUBTFUL;\n",
    "                going = 0;\n",
    "            } else {\n",
    "                if (DISTANCES) inflation = inflation_of(gjj, d2, left);\n",
    "                inverse = INVERSE_ROOT(d2);\n",
    "                value *= inverse;\n",
    "                if (lane == 0) {\n",
    "                    L[PLACE(k, k)] = inverse;\n",
    "                    t[k] = value;\n",
    "                    chosen[k] = j;\n",
    "                }\n",
    "                residual2 = fmax(fma(-(wide)value, (wide)value, residual2), (wide)0);\n",
    "                take_share(&small, d2, gjj);\n",
    "                if (TOLERANT) {\n",
    "                    decided = verdict(residual2, base2, small, tolerance2);\n",
    "                    reached = decided == BELOW;\n",
    "                    if (decided == UNSURE) flags = DOUBTFUL;\n",
    "                    going = decided == ABOVE;\n",
    "                }\n",
    "                k++;\n",
    "            }\n",
    "            if (going && k < most) { /* b_k, and alpha without its part along q_k */\n",
    "                real g[VALUES];\n",
    "#pragma unroll\n",
    "                for (v = 0; v < VALUES; v++) g[v] = ATOM(v) < N ? column[ATOM(v)] : 0;\n",
    "#pragma unroll 4\n",
    "                for (q = 0; q < min(k - 1, ROWS); q++) {\n",
    "                    const real c = L[PLACE(k - 1, q)];\n",
    "#pragma unroll\n",
    "                    for (v = 0; v < VALUES; v++) g[v] = fma(-c, ATOM(v) < N ? near[q * N + ATOM(v)] : 0, g[v]);\n",
    "                }\n",
    "#pragma unroll 4\n",
    "                for (q = ROWS; q < k - 1; q++) {\n",
    "                    const real c = L[PLACE(k - 1, q)];\n",
    "                    __global const real *row = far + (size_t)(q - ROWS) * N;\n",
    "#pragma unroll\n",
    "                    for (v = 0; v < VALUES; v++) g[v] = fma(-c, ATOM(v) < N ? row[ATOM(v)] : 0, g[v]);\n",
    "                }\n",
    "#pragma unroll\n",
    "                for (v = 0; v < VALUES; v++) {\n",
    "                    g[v] *= inverse;\n",
    "                    alpha[v] = fma(-value, g[v], alpha[v]);\n",
    "                    if (DISTANCES) distance[v] = fma(-g[v] * inflation, g[v], distance[v]);\n",
    "                    if (ATOM(v) < N && k <= ROWS) near[(k - 1) * N + ATOM(v)] = g[v];\n",
    "                    if (ATOM(v) < N && k > ROWS) far[(size_t)(k - 1 - ROWS) * N + (size_t)ATOM(v)] = g[v];\n",
    "                }\n",
    "            }\n",
    "        }\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        for (q = k - 1; q >= 0; q--) { /* back substitution */\n",
    "            const real step = t[q] * L[PLACE(q, q)];\n",
    "            int x;\n",
    "            for (x = lane; x < q; x += GROUP) t[x] = fma(-step, L[PLACE(q, x)], t[x]);\n",
    "            if (lane == 0) {\n",
    "                atoms[i * S + (size_t)q] = chosen[q];\n",
    "                coefs[i * S + (size_t)q] = step;\n",
    "            }\n",
    "            barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        }\n",
    "        for (q = k + lane; q < S; q += GROUP) {\n",
    "            atoms[i * S + (size_t)q] = 0;\n",
    "            coefs[i * S + (size_t)q] = 0;\n",
    "        }\n",
    "        if (lane == 0)\n",
    "            conclude(i, k, residual2, base2, small, tolerance2 > 0 && !reached, flags, used, errors2, state);\n",
    "    }\n",
    "}\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_omp_item[] = {
    "/* omp_item.cl - matching pursuit (omp.h) by one item a signal, the plainest coder.\n",
    "\n",
    "   alpha (D'Y transposed) and the b_k lie in global memory, so laid out that neighbours read neighbours; L, t and the atoms are the\n",
    "   item's own. At step k it moves k n values for k n multiply-adds, which omp_warp has in registers and local memory: on an H200 at\n",
    "   n 128 it was 15 % faster than omp_warp at s 1, and slower from s 2 on, 8 times at s 16. */\n",
    "\n",
    "\n",
    "\n",
    "#ifndef N\n",
    "#define N 256 /* n, padded to a multiple of 32 by zero atoms */\n",
    "#endif\n",
    "#ifndef S\n",
    "#define S 8 /* places in the codes */\n",
    "#endif\n",
    "\n",
    "#include \"omp.h\"\n",
    "\n",
    "/* alphas is (D'Y)', count x N: value x of signal `own` is alphas[x * count + own]. Item `me` of `items` keeps value x of\n",
    "   its b_k at scratch[(k * N + x) * items + me]. So what 32 neighbours read at the same time lies side by side. The columns\n",
    "   of G do not, since each item follows an atom of its own: it takes STEP values at a time. L, t and the atoms are private. */\n",
    "#define STEP 4\n",
    "#define OWN(x) alphas[(size_t)(x)*count + own]\n",
    "#define ROW(k, x) scratch[((size_t)(k)*N + (size_t)(x)) * items + me]\n",
    "#define DISTANCE(x) ROW(S > 1 ? S - 1 : 1, x)\n",
    "#define DIAGONAL(x) length2_of(G[(size_t)(x) * (N + 1)])\n",
    "\n",
    "__kernel void omp_item(ulong first, ulong count, __global real *restrict alphas, __global const real *restrict G,\n",
    "                       __global const wide *restrict norms2, int limit, __global const int *restrict limits, real tolerance,\n",
    "                       __global const real *restrict tolerances, __global int *restrict used, __global int *restrict atoms,\n",
    "                       __global real *restrict coefs, __global real *restrict errors2, __global int *restrict state,\n",
    "                       __global real *restrict scratch) {\n",
    "    const size_t items = get_global_size(0), me = get_global_id(0);\n",
    "    real L[S * (S + 1) / 2], t[S];\n",
    "    int chosen[S];\n",
    "    size_t own;\n",
    "    for (own = me; own < count; own += items) {\n",
    "        const size_t i = first + own;\n",
    "        const wide base2 = norms2[i], tolerance2 = tolerance2_of(i, tolerance, tolerances);\n",
    "        int most = limit_of(i, limit, limits), k = 0, q, x, v, j = 0, flags = 0;\n",
    "        int reached = tolerance2 > 0 && base2 <= tolerance2;\n",
    "        wide residual2 = base2;\n",
    "        real best = -1, value = 0, guard;\n",
    "        shares small = whole_shares();\n",
    "        for (x = 0; x < N; x++) {\n",
    "            real a = OWN(x);\n",
    "            if (DISTANCES) DISTANCE(x) = DIAGONAL(x);\n",
    "            if (SCORE(a, DIAGONAL(x), DISTANCE(x)) > best) {\n",
    "                best = SCORE(a, DIAGONAL(x), DISTANCE(x));\n",
    "                j = x;\n",
    "                value = a;\n",
    "            }\n",
    "        }\n",
    "        guard = GUARD_OF(value, DIAGONAL(j));\n",
    "        while (!reached && k < most) {\n",
    "            __global const real *column = G + (size_t)j * N;\n",
    "            const real left = DISTANCES ? DISTANCE(j) : 0;\n",
    "            real gjj = column[j], d2 = gjj, inverse, along, inflation = 1;\n",
    "            int repeated = 0, decided;\n",
    "            for (q = 0; q < k; q++) {\n",
    "                L[PLACE(k, q)] = ROW(q, j);\n",
    "                d2 = fma(-L[PLACE(k, q)], L[PLACE(k, q)], d2);\n",
    "                repeated |= chosen[q] == j;\n",
    "            }\n",
    "            if (repeated || IS_ROUNDING(value, guard, gjj, d2, left)) {\n",
    "                if (tolerance2 > 0) flags = DOUBTFUL;\n",
    "                break;\n",
    "            }\n",
    "            if (DISTANCES) inflation = inflation_of(gjj, d2, left);\n",
    "            inverse = INVERSE_ROOT(d2);\n",
    "            along = value * inverse;\n",
    "            L[PLACE(k, k)] = inverse;\n",
    "            t[k] = along;\n",
    "            chosen[k] = j;\n",
    "            residual2 = fmax(fma(-(wide)along, (wide)along, residual2), (wide)0);\n",
    "            take_share(&small, d2, gjj);\n",
    "            if (TOLERANT) {\n",
    "                decided = verdict(residual2, base2, small, tolerance2);\n",
    "                reached = decided == BELOW;\n",
    "                if (decided == UNSURE) flags = DOUBTFUL;\n",
    "                if (decided != ABOVE) {\n",
    "                    k++;\n",
    "                    break;\n",
    "                }\n",
    "            }\n",
    "            if (++k == most) break;\n",
    "            best = -1;\n",
    "            for (x = 0; x < N; x += STEP) {\n",
    "                real g[STEP];\n",
    "#pragma unroll\n",
    "                for (v = 0; v < STEP; v++) g[v] = column[x + v];\n",
    "                for (q = 0; q < k - 1; q++) {\n",
    "                    const real c = L[PLACE(k - 1, q)];\n",
    "#pragma unroll\n",
    "                    for (v = 0; v < STEP; v++) g[v] = fma(-c, ROW(q, x + v), g[v]);\n",
    "                }\n",
    "#pragma unroll\n",
    "                for (v = 0; v < STEP; v++) {\n",
    "                    real a;\n",
    "                    g[v] *= inverse;\n",
    "                    ROW(k - 1, x + v) = g[v];\n",
    "                    a = fma(-along, g[v], OWN(x + v));\n",
    "                    OWN(x + v) = a;\n",
    "                    if (DISTANCES) DISTANCE(x + v) = fma(-g[v] * inflation, g[v], DISTANCE(x + v));\n",
    "                    if (SCORE(a, DIAGONAL(x + v), DISTANCE(x + v)) > best) {\n",
    "                        best = SCORE(a, DIAGONAL(x + v), DISTANCE(x + v));\n",
    "                        j = x + v;\n",
    "                        value = a;\n",
    "                    }\n",
    "                }\n",
    "            }\n",
    "        }\n",
    "        for (q = k - 1; q >= 0; q--) {\n",
    "            real step = t[q] * L[PLACE(q, q)];\n",
    "            for (x = 0; x < q; x++) t[x] = fma(-step, L[PLACE(q, x)], t[x]);\n",
    "            atoms[i * S + (size_t)q] = chosen[q];\n",
    "            coefs[i * S + (size_t)q] = step;\n",
    "        }\n",
    "        for (q = k; q < S; q++) {\n",
    "            atoms[i * S + (size_t)q] = 0;\n",
    "            coefs[i * S + (size_t)q] = 0;\n",
    "        }\n",
    "        conclude(i, k, residual2, base2, small, tolerance2 > 0 && !reached, flags, used, errors2, state);\n",
    "    }\n",
    "}\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_omp_team[] = {
    "/* omp_team.cl - simultaneous matching pursuit (omp.h) by a group of GROUP items a team: a group of signals that share their atoms.\n",
    "   The items take one team after another.\n",
    "\n",
    "   L, the b_k and d^2 follow from the atoms alone, so a team has them once, in scratch in global memory; alpha, t and x are each\n",
    "   signal's own. An item that holds b_k[j] takes t_i b_k[j] out of alpha_i[j] of every signal i, and on the way adds the squares of\n",
    "   what is left: the next choice reads their root as the alpha of the team. A step moves c n values for c signals, and k n for\n",
    "   b_k. */\n",
    "\n",
    "\n",
    "\n",
    "#ifndef GROUP\n",
    "#define GROUP 64 /* items a group: a power of two */\n",
    "#endif\n",
    "#ifndef USE_GRAM\n",
    "#define USE_GRAM 1 /* 0: elements of G are formed as they are needed */\n",
    "#endif\n",
    "\n",
    "#include \"omp.h\"\n",
    "#include \"pursuit.h\"\n",
    "\n",
    "/* Atoms side by side that an item takes: compilers for processors make vectors of them. */\n",
    "#if GROUP == 1\n",
    "#define WIDTH 16\n",
    "#else\n",
    "#define WIDTH 1\n",
    "#endif\n",
    "\n",
    "/* What each signal of a team has of its own. */\n",
    "typedef struct team {\n",
    "    int count;\n",
    "    __global const real *Y;       /* p x count */\n",
    "    __global real *A, *T, *R, *X; /* alpha, padded x count; t and x, stride x count; the residuals, p x count */\n",
    "} team;\n",
    "\n",
    "/* The root of the sum of squares; of one value that value's size, to the bit. */\n",
    "real root_of(wide squares, int count, real only) { return count == 1 ? fabs(only) : (real)sqrt(squares); }\n",
    "\n",
    "/* alpha of the team. */\n",
    "void join(const pursuit *w, const team *g) {\n",
    "    int j, v, i;\n",
    "    for (j = w->lane * WIDTH; j < w->padded; j += GROUP * WIDTH) {\n",
    "        wide squares[WIDTH];\n",
    "        for (v = 0; v < WIDTH; v++) squares[v] = 0;\n",
    "        for (i = 0; i < g->count; i++) {\n",
    "            __global const real *alpha = g->A + (size_t)i * (size_t)w->padded + (size_t)j;\n",
    "            for (v = 0; v < WIDTH; v++) squares[v] = fma((wide)alpha[v], (wide)alpha[v], squares[v]);\n",
    "        }\n",
    "        for (v = 0; v < WIDTH; v++) w->alpha[j + v] = root_of(squares[v], g->count, g->A[j + v]);\n",
    "    }\n",
    "}\n",
    "\n",
    "/* b_k, the alpha of all signals without their parts along q_k, and the alpha of the team. */\n",
    "void advance_team(const pursuit *w, const team *g, int k, int j, real inverse) {\n",
    "    __global const real *c = row_of(w, k);\n",
    "    __global real *row = w->B + (size_t)k * (size_t)w->padded;\n",
    "    int at, v, q, i;\n",
    "    for (at = w->lane * WIDTH; at < w->padded; at += GROUP * WIDTH) {\n",
    "        real b[WIDTH], alpha[WIDTH];\n",
    "        wide squares[WIDTH];\n",
    "        for (v = 0; v < WIDTH; v++) {\n",
    "            b[v] = gram(w, at + v, j);\n",
    "            squares[v] = 0;\n",
    "        }\n",
    "        for (q = 0; q < k; q++)\n",
    "            for (v = 0; v < WIDTH; v++)\n",
    "                b[v] = fma(-c[q], w->B[(size_t)q * (size_t)w->padded + (size_t)(at + v)], b[v]);\n",
    "        for (v = 0; v < WIDTH; v++) {\n",
    "            b[v] *= inverse;\n",
    "            row[at + v] = b[v];\n",
    "            if (DISTANCES) w->distance[at + v] = fma(-b[v] * w->inflation, b[v], w->distance[at + v]);\n",
    "        }\n",
    "        for (i = 0; i < g->count; i++) {\n",
    "            const real t = g->T[(size_t)i * (size_t)w->stride + (size_t)k];\n",
    "            __global real *own = g->A + (size_t)i * (size_t)w->padded + (size_t)at;\n",
    "            for (v = 0; v < WIDTH; v++) {\n",
    "                alpha[v] = own[v] = fma(-t, b[v], own[v]);\n",
    "                squares[v] = fma((wide)alpha[v], (wide)alpha[v], squares[v]);\n",
    "            }\n",
    "        }\n",
    "        for (v = 0; v < WIDTH; v++) w->alpha[at + v] = root_of(squares[v], g->count, alpha[v]);\n",
    "    }\n",
    "}\n",
    "\n",
    "/* t and a coefficient of 0 for atom j, number k, in every signal. */\n",
    "void append_team(const pursuit *w, const team *g, int k, int j, real inverse) {\n",
    "    int i;\n",
    "    for (i = w->lane; i < g->count; i += GROUP) {\n",
    "        g->T[(size_t)i * (size_t)w->stride + (size_t)k] = g->A[(size_t)i * (size_t)w->padded + (size_t)j] * inverse;\n",
    "        g->X[(size_t)i * (size_t)w->stride + (size_t)k] = 0;\n",
    "    }\n",
    "}\n",
    "\n",
    "/* x += inverse(L') t, t = 0, an item a signal; |r|^2 of each by the recurrence, which holds while nothing was\n",
    "   measured. */\n",
    "void solve_team(const pursuit *w, const team *g, __global const wide *norms2, __global real *errors2) {\n",
    "    int i, k, q;\n",
    "    for (i = w->lane; i < g->count; i += GROUP) {\n",
    "        __global real *t = g->T + (size_t)i * (size_t)w->stride;\n",
    "        __global real *x = g->X + (size_t)i * (size_t)w->stride;\n",
    "        wide left = norms2[i];\n",
    "        for (k = 0; k < w->chosen; k++) left = fmax(fma(-(wide)t[k], (wide)t[k], left), (wide)0);\n",
    "        errors2[i] = (real)left;\n",
    "        for (k = w->chosen - 1; k >= 0; k--) {\n",
    "            __global const real *row = row_of(w, k);\n",
    "            const real step = t[k] * row[k];\n",
    "            for (q = 0; q < k; q++) t[q] = fma(-step, row[q], t[q]);\n",
    "            x[k] += step;\n",
    "            t[k] = 0;\n",
    "        }\n",
    "    }\n",
    "    SYNC();\n",
    "}\n",
    "\n",
    "/* As in omp_general, of all signals: the residuals for the coefficients as stored, and whether the tolerance is\n",
    "   reached for certain. The errors of all elements together are at most the root of the sum of their squares. */\n",
    "int measure_team(pursuit *w, const team *g) {\n",
    "    const size_t cells = (size_t)w->p * (size_t)g->count;\n",
    "    wide sums[2] = {0, 0};\n",
    "    size_t at;\n",
    "    int k;\n",
    "    for (at = (size_t)w->lane; at < cells; at += GROUP) {\n",
    "        __global const real *x = g->X + at / (size_t)w->p * (size_t)w->stride;\n",
    "        wide e = (wide)g->Y[at], error = 0;\n",
    "        for (k = 0; k < w->chosen; k++) {\n",
    "            const wide d = (wide)w->D[(size_t)w->atoms[k] * (size_t)w->p + at % (size_t)w->p];\n",
    "            e = fma(-(wide)x[k], d, e);\n",
    "            error += d != 0 ? fabs(e) : 0;\n",
    "        }\n",
    "        error *= WIDE_EPSILON / 2;\n",
    "        g->R[at] = (real)e;\n",
    "        sums[0] = fma(e, e, sums[0]);\n",
    "        sums[1] = fma(error, error, sums[1]);\n",
    "    }\n",
    "    for (k = 0; k < 2; k++) sums[k] = over_group(w, sums[k]);\n",
    "    w->residual2 = w->base2 = sums[0];\n",
    "    w->reached = sqrt(sums[0]) + sqrt(sums[1]) <= sqrt(w->tolerance2);\n",
    "    w->confirms++;\n",
    "    w->r_is_explicit = 1;\n",
    "    return w->reached;\n",
    "}\n",
    "\n",
    "/* Starts again from the residuals, or, with `refine`, lets the coefficients alone be mended: t = inverse(L) D_I'r,\n",
    "   an item a signal; |r|^2 without what that takes; alpha = D'r less what is left of it in the span. */\n",
    "void correlate_team(pursuit *w, const team *g, int refine) {\n",
    "    const size_t rows = (size_t)(refine ? w->chosen : w->n), cells = rows * (size_t)g->count;\n",
    "    wide lost = 0;\n",
    "    size_t at;\n",
    "    int i, k, q;\n",
    "    for (at = (size_t)w->lane; at < cells; at += GROUP) {\n",
    "        const int row = (int)(at % rows), j = refine ? w->atoms[row] : row;\n",
    "        g->A[at / rows * (size_t)w->padded + (size_t)j] = dot_atom(w, j, g->R + at / rows * (size_t)w->p);\n",
    "    }\n",
    "    SYNC();\n",
    "    for (i = w->lane; i < g->count; i += GROUP) {\n",
    "        __global real *t = g->T + (size_t)i * (size_t)w->stride;\n",
    "        for (k = 0; k < w->chosen; k++) {\n",
    "            __global const real *row = row_of(w, k);\n",
    "            real sum = g->A[(size_t)i * (size_t)w->padded + (size_t)w->atoms[k]];\n",
    "            for (q = 0; q < k; q++) sum = fma(-row[q], t[q], sum);\n",
    "            t[k] = sum * row[k];\n",
    "            lost = fma((wide)t[k], (wide)t[k], lost);\n",
    "        }\n",
    "    }\n",
    "    lost = over_group(w, lost);\n",
    "    w->residual2 = fmax(w->residual2 - lost, (wide)0);\n",
    "    for (at = (size_t)w->lane; at < cells && !refine; at += GROUP) {\n",
    "        const size_t own = at / rows * (size_t)w->padded + at % rows;\n",
    "        __global const real *t = g->T + at / rows * (size_t)w->stride;\n",
    "        real alpha = g->A[own];\n",
    "        for (k = 0; k < w->chosen; k++) alpha = fma(-t[k], w->B[(size_t)k * (size_t)w->padded + at % rows], alpha);\n",
    "        g->A[own] = alpha;\n",
    "    }\n",
    "    SYNC();\n",
    "}\n",
    "\n",
    "/* The steps of omp_general's pursue. Compilers for processors want the same barriers to be met in every step,\n",
    "   whether or not an atom was taken. */\n",
    "void pursue_team(pursuit *w, const team *g, __global const wide *norms2, __global real *errors2) {\n",
    "    int fresh = 1, going = !w->reached && w->chosen < w->limit;\n",
    "    while (going) {\n",
    "        const int may_refresh = w->confirms < REFRESHES, k = w->chosen;\n",
    "        int in_doubt = 1, appended, j;\n",
    "        real inverse, t;\n",
    "        if (fresh) join(w, g);\n",
    "        SYNC();\n",
    "        j = choose(w);\n",
    "        if (fresh) w->guard = GUARD_OF(w->alpha[j], w->diagonal[j]);\n",
    "        fresh = 0;\n",
    "        appended = append(w, j, &inverse, &t);\n",
    "        if (appended) {\n",
    "            const int decided = standing(w);\n",
    "            w->reached = decided == BELOW;\n",
    "            in_doubt = decided == UNSURE;\n",
    "            append_team(w, g, k, j, inverse);\n",
    "        }\n",
    "        if (appended) going = !w->reached && w->chosen < w->limit;\n",
    "        else going = w->tolerance2 > 0 && may_refresh && !w->r_is_explicit;\n",
    "        SYNC();\n",
    "        if (appended && going) advance_team(w, g, k, j, inverse);\n",
    "        SYNC();\n",
    "        if (!TOLERANT || !going || !in_doubt) continue;\n",
    "        solve_team(w, g, norms2, errors2);\n",
    "        if (measure_team(w, g)) going = 0;\n",
    "        if (!going || !may_refresh) continue;\n",
    "        correlate_team(w, g, 0);\n",
    "        fresh = 1;\n",
    "    }\n",
    "}\n",
    "\n",
    "/* The coefficients, refined where they are rough and signals have tolerances (else omp_general refines each); and |r|^2 of each\n",
    "   signal, formed explicitly, an item a signal, where the recurrence cannot tell it. */\n",
    "void finish_team(pursuit *w, const team *g, __global const wide *norms2, __global real *errors2) {\n",
    "    int tries, i, k, l;\n",
    "    for (tries = 0;; tries++) {\n",
    "        const int rough = TOLERANT && is_rough(w, tries, SHS__OMP_TEAM_FALL);\n",
    "        solve_team(w, g, norms2, errors2);\n",
    "        if (!rough || measure_team(w, g)) break;\n",
    "        correlate_team(w, g, 1);\n",
    "    }\n",
    "    for (i = w->lane; i < g->count && w->chosen > 0; i += GROUP) {\n",
    "        __global const real *x = g->X + (size_t)i * (size_t)w->stride;\n",
    "        __global const real *y = g->Y + (size_t)i * (size_t)w->p;\n",
    "        wide sum = 0, lost = 0;\n",
    "        if (!w->confirms && (wide)errors2[i] > TRUST2 * norms2[i] && !(w->small.least < SURE)) continue;\n",
    "        for (l = 0; l < w->p; l++) {\n",
    "            wide e = (wide)y[l], term, next;\n",
    "            for (k = 0; k < w->chosen; k++)\n",
    "                e = fma(-(wide)x[k], (wide)w->D[(size_t)w->atoms[k] * (size_t)w->p + (size_t)l], e);\n",
    "            term = fma(e, e, -lost);\n",
    "            next = sum + term;\n",
    "            lost = (next - sum) - term;\n",
    "            sum = next;\n",
    "        }\n",
    "        errors2[i] = (real)sum;\n",
    "    }\n",
    "}\n",
    "\n",
    "/* Teams first .. first+count-1: team g is signals starts[g] .. starts[g+1]-1, and alphas begins with D'y of team `first`. A team's\n",
    "   first signal has its limit and tolerance, and the state of this signal says whether the team has reached the tolerance. A group\n",
    "   of items takes team after team; scratch: see shs__cl_team_scratch. */\n",
    "__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void\n",
    "omp_team(uint first, uint count, __global const uint *restrict starts, __global real *restrict alphas,\n",
    "         __global const real *restrict G, __global const wide *restrict norms2, int limit,\n",
    "         __global const int *restrict limits, real tolerance, __global const real *restrict tolerances,\n",
    "         __global int *restrict used, __global int *restrict atoms, __global real *restrict coefs,\n",
    "         __global real *restrict errors2, __global int *restrict state, __global real *restrict scratch, ulong each,\n",
    "         int n, int padded, int p, int stride, __global const real *restrict D, __global const real *restrict Y) {\n",
    "    __local real sizes[GROUP];\n",
    "    __local int places[GROUP];\n",
    "    __local wide sums[GROUP];\n",
    "    pursuit w;\n",
    "    team g;\n",
    "    uint own;\n",
    "    int i, k;\n",
    "    start(&w, n, padded, p, stride, D, G, scratch + get_group_id(0) * each, sizes, places, sums);\n",
    "    w.B = w.t + stride;\n",
    "    w.distance = w.B + (size_t)padded * (size_t)max(stride - 1, 1);\n",
    "    w.diagonal = w.distance + padded;\n",
    "    g.T = w.distance + (DISTANCES ? 2 * padded : 0);\n",
    "    for (i = w.lane; DISTANCES && i < padded; i += GROUP) w.diagonal[i] = length2_of(gram(&w, i, i));\n",
    "    for (own = first + (uint)get_group_id(0); own < first + count; own += (uint)get_num_groups(0)) {\n",
    "        const size_t at = starts[own];\n",
    "        wide norm2 = 0;\n",
    "        g.count = (int)(starts[own + 1] - starts[own]);\n",
    "        g.Y = Y + at * (size_t)p;\n",
    "        g.A = alphas + (at - starts[first]) * (size_t)padded;\n",
    "        g.R = g.T + (size_t)stride * (size_t)g.count;\n",
    "        g.X = coefs + at * (size_t)stride;\n",
    "        w.x = g.X;\n",
    "        w.atoms = atoms + at * (size_t)stride;\n",
    "        w.limit = limit_of(at, limit, limits);\n",
    "        w.tolerance2 = tolerance2_of(at, tolerance, tolerances);\n",
    "        SYNC(); /* the scratch is free */\n",
    "        for (i = 0; i < g.count; i++) norm2 += norms2[at + (size_t)i]; /* each item all: no barriers */\n",
    "        w.base2 = w.residual2 = norm2;\n",
    "        w.confirms = w.r_is_explicit = 0;\n",
    "        w.small = whole_shares();\n",
    "        w.inflation = 1;\n",
    "        w.chosen = 0;\n",
    "        for (i = w.lane; DISTANCES && i < padded; i += GROUP) w.distance[i] = w.diagonal[i];\n",
    "        w.reached = w.tolerance2 > 0 && w.base2 <= w.tolerance2;\n",
    "        pursue_team(&w, &g, norms2 + at, errors2 + at);\n",
    "        finish_team(&w, &g, norms2 + at, errors2 + at);\n",
    "        for (i = w.lane; i < g.count; i += GROUP) {\n",
    "            const size_t to = (at + (size_t)i) * (size_t)stride;\n",
    "            for (k = 0; k < stride; k++) {\n",
    "                const int taken = k < w.chosen;\n",
    "                if (i > 0 || !taken) atoms[to + (size_t)k] = taken ? w.atoms[k] : 0;\n",
    "                if (!taken) coefs[to + (size_t)k] = 0;\n",
    "            }\n",
    "            used[at + (size_t)i] = w.chosen;\n",
    "            if (TOLERANT) state[at + (size_t)i] = i == 0 && w.tolerance2 > 0 && !w.reached ? UNREACHED : 0;\n",
    "            else state[at + (size_t)i] = w.small.least < SURE ? ROUGH : 0;\n",
    "        }\n",
    "    }\n",
    "}\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_omp_warp[] = {
    "/* omp_warp.cl - matching pursuit (omp.h) by a warp of 32 items a signal, SIGNALS warps a group.\n",
    "\n",
    "   +-------------+-------------------------------------+------------------------+\n",
    "   | registers   | alpha, column j of G: n / 32 an     | all that is read again |\n",
    "   |             | item; with KEEP all b_k too         | at every step          |\n",
    "   | local       | b_1 .. b_{s-1}, L                   | c_i = b_i[j]: any item |\n",
    "   | global      | G, D'y in, codes out                | wants any other's      |\n",
    "   +-------------+-------------------------------------+------------------------+\n",
    "\n",
    "   n and s are fixed at build time, or there would be no registers to keep alpha in. One step costs k n / 32 multiply-adds an item,\n",
    "   a column of G, and two reductions over the warp. */\n",
    "\n",
    "\n",
    "\n",
    "#ifndef N\n",
    "#define N 256 /* n, padded to a multiple of 32 by zero atoms */\n",
    "#endif\n",
    "#ifndef S\n",
    "#define S 8 /* places in the codes */\n",
    "#endif\n",
    "#ifndef SIGNALS\n",
    "#define SIGNALS 1 /* warps, that is signals, a group; more than one only with SHUFFLES */\n",
    "#endif\n",
    "#ifndef KEEP\n",
    "#define KEEP 0 /* 1: all b_k in registers too, and the loop over k unrolled */\n",
    "#endif\n",
    "#ifndef SHUFFLES\n",
    "#define SHUFFLES 0 /* 1: warps exchange registers by PTX (see exchange.h) */\n",
    "#endif\n",
    "#ifndef REDUX\n",
    "#define REDUX 0 /* 1: the warp reduces integers in one instruction */\n",
    "#endif\n",
    "#ifndef SUB_GROUPS\n",
    "#define SUB_GROUPS 0 /* 1: the items of a warp exchange registers by sub-groups of any size; 8, 16, ..: of that size, for tests */\n",
    "#endif\n",
    "\n",
    "#include \"omp.h\"\n",
    "\n",
    "/* Item l of a warp holds the values of atoms l * W .. l * W + W - 1, then of those 32 * W further on, and so on: reads of W\n",
    "   values side by side, and a warp reads without gaps. */\n",
    "#define VALUES (N / WARP)\n",
    "#if VALUES % 4 == 0\n",
    "#define W 4\n",
    "#elif VALUES % 2 == 0\n",
    "#define W 2\n",
    "#else\n",
    "#define W 1\n",
    "#endif\n",
    "#define ATOM(v, lane) ((v) / W * (WARP * W) + (lane) * W + (v) % W)\n",
    "#define EDGE SHS__CL_WARP_PITCH(N) /* of a row of b */\n",
    "#define KEPT (S > 1 ? S - 1 : 1)\n",
    "\n",
    "#if N % (4 * WARP) == 0\n",
    "#if REAL_BITS == 64\n",
    "typedef double4 chunk;\n",
    "#else\n",
    "typedef float4 chunk;\n",
    "#endif\n",
    "#define SPREAD(to, v, q) (to)[v] = (q).x, (to)[(v) + 1] = (q).y, (to)[(v) + 2] = (q).z, (to)[(v) + 3] = (q).w\n",
    "#define JOIN(from, v) (chunk)((from)[v], (from)[(v) + 1], (from)[(v) + 2], (from)[(v) + 3])\n",
    "#define CHUNK 4\n",
    "#elif N % (2 * WARP) == 0\n",
    "#if REAL_BITS == 64\n",
    "typedef double2 chunk;\n",
    "#else\n",
    "typedef float2 chunk;\n",
    "#endif\n",
    "#define SPREAD(to, v, q) (to)[v] = (q).x, (to)[(v) + 1] = (q).y\n",
    "#define JOIN(from, v) (chunk)((from)[v], (from)[(v) + 1])\n",
    "#define CHUNK 2\n",
    "#else\n",
    "typedef real chunk;\n",
    "#define SPREAD(to, v, q) (to)[v] = (q)\n",
    "#define JOIN(from, v) (from)[v]\n",
    "#define CHUNK 1\n",
    "#endif\n",
    "\n",
    "/* ---- what a warp does together ------------------------------------------------------------------------------------ */\n",
    "\n",
    "#include \"exchange.h\"\n",
    "\n",
    "/* The atom of the largest score, the first of equals, its alpha and its distance; NONE where there are only NaNs. An item looks\n",
    "   for the winning score once it is known, and the smallest atom among the finders wins. Where the score is |alpha| only the sign\n",
    "   must travel, in the last bit. */\n",
    "uint choose(const real *alpha, const real *diagonal, const real *distance, int lane, __local ROOM_REAL *room, __local uint *places,\n",
    "            real *value, real *left) {\n",
    "    real best = SCORE(alpha[0], diagonal[0], distance[0]), own = 0, nearest = 0;\n",
    "    uint found = NONE;\n",
    "    int v;\n",
    "#pragma unroll\n",
    "    for (v = 1; v < VALUES; v++) best = fmax(best, SCORE(alpha[v], diagonal[v], distance[v]));\n",
    "    best = LARGEST(best, room);\n",
    "#pragma unroll\n",
    "    for (v = VALUES - 1; v >= 0; v--)\n",
    "        if (SCORE(alpha[v], diagonal[v], distance[v]) == best) {\n",
    "            found = (uint)ATOM(v, lane) * 2 + (alpha[v] < 0 ? 1 : 0);\n",
    "            own = alpha[v];\n",
    "            if (DISTANCES) nearest = distance[v];\n",
    "        }\n",
    "    found = smallest_of(found, places);\n",
    "    *value = found & 1 ? -best : best;\n",
    "    if (DISTANCES) *value = FROM_LANE(own, found / 2 / W % WARP, room);\n",
    "    if (DISTANCES) *left = FROM_LANE(nearest, found / 2 / W % WARP, room);\n",
    "    return found == NONE ? NONE : found / 2;\n",
    "}\n",
    "\n",
    "/* ---- the kernel --------------------------------------------------------------------------------------------------- */\n",
    "\n",
    "/* Signals first .. first+count-1, a warp each; row y of a group is a warp. Local memory a signal: S - 1 rows of b, then L with\n",
    "   1/d on its diagonal. Registers of an item: N / 32 values of alpha and of G_j, with KEEP (S - 1) N / 32 of b. */\n",
    "__kernel OF_SUB_GROUPS __attribute__((reqd_work_group_size(WARP, SIGNALS, 1))) void\n",
    "omp_warp(ulong first, ulong count, __global const real *restrict alphas, __global const real *restrict G,\n",
    "         __global const wide *restrict norms2, int limit, __global const int *restrict limits, real tolerance,\n",
    "         __global const real *restrict tolerances, __global int *restrict used, __global int *restrict atoms,\n",
    "         __global real *restrict coefs, __global real *restrict errors2, __global int *restrict state) {\n",
    "    __local real rows[SIGNALS][KEPT * EDGE] __attribute__((aligned(32)));\n",
    "    __local real triangles[SIGNALS][S * S];\n",
    "    __local ROOM_REAL rooms[SIGNALS][WARP];\n",
    "    __local uint places[SIGNALS][WARP];\n",
    "    const int lane = (int)get_local_id(0), y = (int)get_local_id(1);\n",
    "    const size_t own = get_global_id(1), i = first + own;\n",
    "    __local real *B = rows[y];\n",
    "    __local real *L = triangles[y];\n",
    "    real alpha[VALUES], diagonal[VALUES], distance[VALUES], value, left = 0, t = 0, guard;\n",
    "    shares small = whole_shares();\n",
    "#if KEEP\n",
    "    real b[KEPT][VALUES];\n",
    "#endif\n",
    "    int k, v, q, reached = 0, atom = -1, flags = 0, most;\n",
    "    uint j;\n",
    "    wide base2, residual2, tolerance2;\n",
    "    if (own >= count) return; /* whole warps: with SIGNALS 1, whole groups */\n",
    "    if (lane < S) { /* what is chosen takes the place of these zeros */\n",
    "        atoms[i * S + (size_t)lane] = 0;\n",
    "        coefs[i * S + (size_t)lane] = 0;\n",
    "    }\n",
    "#pragma unroll\n",
    "    for (v = 0; v < VALUES; v += CHUNK) {\n",
    "        chunk a = *(__global const chunk *)(alphas + own * N + ATOM(v, lane));\n",
    "        SPREAD(alpha, v, a);\n",
    "    }\n",
    "#pragma unroll\n",
    "    for (v = 0; DISTANCES && v < VALUES; v++) diagonal[v] = distance[v] = length2_of(G[(size_t)ATOM(v, lane) * (N + 1)]);\n",
    "    base2 = residual2 = norms2[i];\n",
    "    most = limit_of(i, limit, limits);\n",
    "    tolerance2 = tolerance2_of(i, tolerance, tolerances);\n",
    "    if (tolerance2 > 0 && base2 <= tolerance2) {\n",
    "        reached = 1;\n",
    "        most = 0;\n",
    "    }\n",
    "    j = choose(alpha, diagonal, distance, lane, rooms[y], places[y], &value, &left);\n",
    "    guard = GUARD_OF(value, left);\n",
    "#if KEEP\n",
    "#pragma unroll\n",
    "#endif\n",
    "    for (k = 0; k < S; k++) {\n",
    "        __global const real *column = G + (size_t)j * N;\n",
    "        real g[VALUES], d2, gjj, inverse, inflation = 1;\n",
    "        int decided;\n",
    "        if (k >= most || j == NONE) break;\n",
    "        gjj = column[j];\n",
    "#pragma unroll\n",
    "        for (v = 0; v < VALUES; v += CHUNK) {\n",
    "            chunk a = *(__global const chunk *)(column + ATOM(v, lane));\n",
    "            SPREAD(g, v, a);\n",
    "        }\n",
    "        if (lane < k) /* item i knows the i-th atom and fetches c_i; infinity refuses an atom that is already there */\n",
    "            L[k * S + lane] = atom == (int)j ? (real)INFINITY : B[lane * EDGE + (int)j];\n",
    "        SYNC();\n",
    "        d2 = gjj;\n",
    "#if KEEP\n",
    "#pragma unroll\n",
    "#endif\n",
    "        for (q = 0; q < k; q++) d2 = fma(-L[k * S + q], L[k * S + q], d2);\n",
    "        if (IS_ROUNDING(value, guard, gjj, d2, left)) {\n",
    "            if (tolerance2 > 0) flags = DOUBTFUL;\n",
    "            break;\n",
    "        }\n",
    "        if (DISTANCES) inflation = inflation_of(gjj, d2, left);\n",
    "        inverse = INVERSE_ROOT(d2);\n",
    "        value *= inverse;\n",
    "        if (lane == k) {\n",
    "            L[k * S + k] = inverse;\n",
    "            t = value;\n",
    "            atom = (int)j;\n",
    "        }\n",
    "        residual2 = fmax(fma(-(wide)value, (wide)value, residual2), (wide)0);\n",
    "        take_share(&small, d2, gjj);\n",
    "        if (TOLERANT) {\n",
    "            decided = verdict(residual2, base2, small, tolerance2);\n",
    "            reached = decided == BELOW;\n",
    "            if (decided == UNSURE) flags = DOUBTFUL;\n",
    "            if (decided != ABOVE) {\n",
    "                k++;\n",
    "                break;\n",
    "            }\n",
    "        }\n",
    "        if (k + 1 >= most) {\n",
    "            k++;\n",
    "            break;\n",
    "        }\n",
    "#if KEEP\n",
    "#pragma unroll\n",
    "#endif\n",
    "        for (q = 0; q < k; q++) {\n",
    "            real c = L[k * S + q];\n",
    "#if KEEP\n",
    "#pragma unroll\n",
    "            for (v = 0; v < VALUES; v++) g[v] = fma(-c, b[q][v], g[v]);\n",
    "#else\n",
    "            real row[VALUES];\n",
    "#pragma unroll\n",
    "            for (v = 0; v < VALUES; v += CHUNK) {\n",
    "                chunk a = *(__local const chunk *)(B + q * EDGE + ATOM(v, lane));\n",
    "                SPREAD(row, v, a);\n",
    "            }\n",
    "#pragma unroll\n",
    "            for (v = 0; v < VALUES; v++) g[v] = fma(-c, row[v], g[v]);\n",
    "#endif\n",
    "        }\n",
    "#pragma unroll\n",
    "        for (v = 0; v < VALUES; v++) {\n",
    "            g[v] *= inverse;\n",
    "            alpha[v] = fma(-value, g[v], alpha[v]);\n",
    "            if (DISTANCES) distance[v] = fma(-g[v] * inflation, g[v], distance[v]);\n",
    "#if KEEP\n",
    "            b[k][v] = g[v];\n",
    "#endif\n",
    "        }\n",
    "#pragma unroll\n",
    "        for (v = 0; v < VALUES; v += CHUNK) *(__local chunk *)(B + k * EDGE + ATOM(v, lane)) = JOIN(g, v);\n",
    "        j = choose(alpha, diagonal, distance, lane, rooms[y], places[y], &value, &left);\n",
    "        SYNC();\n",
    "    }\n",
    "    /* Back substitution: item q holds t_q, then x_q. */\n",
    "    SYNC();\n",
    "    for (q = k - 1; q >= 0; q--) {\n",
    "        real step = FROM_LANE(t, q, rooms[y]) * L[q * S + q];\n",
    "        if (lane < q) t = fma(-step, L[q * S + lane], t);\n",
    "        if (lane == q) t = step;\n",
    "    }\n",
    "    if (lane < k) {\n",
    "        atoms[i * S + (size_t)lane] = atom;\n",
    "        coefs[i * S + (size_t)lane] = t;\n",
    "    }\n",
    "    if (lane > 0) return;\n",
    "    conclude(i, k, residual2, base2, small, tolerance2 > 0 && !reached, flags, used, errors2, state);\n",
    "}\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_pixels[] = {
    "/* pixels.cl - from the cube's own type to panels of numbers, and which pixels are missing.\n",
    "\n",
    "   A slice of whole lines lies on the device as the file has it, from value `origin` of the buffer on: values of VALUE, byte\n",
    "   order and interleave untouched, so that the bus carries nothing twice. `load` turns a stretch of the slice into a panel for all\n",
    "   other stages:\n",
    "\n",
    "       panel[b * ld + p] = x - shift of band b and pixel p, 0 where the pixel is missing and behind the last one\n",
    "\n",
    "   Zeros add nothing to a sum of products, so later stages need not know which pixels are missing. In float a panel costs\n",
    "   four times the traffic of 8-bit pixels, a millisecond for a gigabyte; in return every stage reads contiguous planes.\n",
    "\n",
    "   The sums of the textbook are shs_moments_naive. */\n",
    "\n",
    "\n",
    "\n",
    "#ifndef ELEM\n",
    "#define ELEM real /* of the panel */\n",
    "#endif\n",
    "#ifndef ELEM_BYTES\n",
    "#define ELEM_BYTES (REAL_BITS / 8) /* its size */\n",
    "#endif\n",
    "#include \"cube.h\"\n",
    "#ifndef FLOATING\n",
    "#define FLOATING 0 /* 1: values are floating-point numbers: NaN and infinity are missing */\n",
    "#endif\n",
    "#ifndef NODATA\n",
    "#define NODATA 1 /* 1: a value says that a pixel is missing */\n",
    "#endif\n",
    "#ifndef CHECKED\n",
    "#define CHECKED 1 /* 1: pixels may be missing */\n",
    "#endif\n",
    "#ifndef DIFFERENCE\n",
    "#define DIFFERENCE 0 /* 1: pixel less right neighbour, for the noise: as the CPU, whose sums are added to these */\n",
    "#endif\n",
    "\n",
    "#define ITEMS SHS__CL_ITEMS\n",
    "#define CHUNK SHS__CL_CHUNK_PIXELS\n",
    "#define TURN SHS__CL_BIP_BANDS\n",
    "\n",
    "/* What values are compared in with the one that says missing. */\n",
    "#if SPLIT\n",
    "#define EXACT VALUE\n",
    "#else\n",
    "#define EXACT wide\n",
    "#endif\n",
    "\n",
    "/* The bits decide: compilers may fold a comparison away. */\n",
    "inline int finite_elem(ELEM x) {\n",
    "#if ELEM_BYTES == 8\n",
    "    return (as_ulong(x) & 0x7ff0000000000000UL) != 0x7ff0000000000000UL;\n",
    "#else\n",
    "    return (as_uint(x) & 0x7f800000u) != 0x7f800000u;\n",
    "#endif\n",
    "}\n",
    "\n",
    "/* One work-item a pixel of the slice: valid[p] holds the mask and becomes 0 or 1. A value counts if a `real` can hold it, in\n",
    "   panels of doubles too. */\n",
    "__kernel void validity(__global const VALUE *raw, ulong origin, __global const int *list, __global const real *shift,\n",
    "                       __global uchar *valid, ulong pixels, ulong plane, int samples, int bands, int used, EXACT nodata) {\n",
    "    size_t p = get_global_id(0);\n",
    "    int good;\n",
    "    if (p >= pixels) return;\n",
    "    raw += origin;\n",
    "    good = valid[p] != 0;\n",
    "#if NODATA || FLOATING\n",
    "    for (int b = 0; b < used; b++) {\n",
    "        VALUE v = value_at(raw, p, list[b], plane, samples, bands);\n",
    "#if NODATA\n",
    "        good &= (EXACT)v != nodata;\n",
    "#endif\n",
    "#if FLOATING\n",
    "        good &= finite_elem((ELEM)(real)less(v, (WORK)shift[b]));\n",
    "#endif\n",
    "    }\n",
    "#endif\n",
    "    valid[p] = (uchar)(good != 0);\n",
    "}\n",
    "\n",
    "/* x - shift of band b (the used-th is the constant 1 that counts pixels); 0 where it is missing. q: pixel of the slice. */\n",
    "inline ELEM element(__global const VALUE *raw, __global const int *list, __global const real *shift, __global const uchar *valid,\n",
    "                    size_t q, int b, size_t plane, int samples, int bands, int used) {\n",
    "#if DIFFERENCE\n",
    "    if (q % (size_t)samples == (size_t)samples - 1) return 0;\n",
    "#if CHECKED\n",
    "    if (!valid[q] || !valid[q + 1]) return 0;\n",
    "#endif\n",
    "    if (b == used) return 1;\n",
    "    return (ELEM)value_at(raw, q, list[b], plane, samples, bands) - (ELEM)value_at(raw, q + 1, list[b], plane, samples, bands);\n",
    "#else\n",
    "#if CHECKED\n",
    "    if (!valid[q]) return 0;\n",
    "#endif\n",
    "    if (b == used) return 1;\n",
    "    return less(value_at(raw, q, list[b], plane, samples, bands), (WORK)shift[b]);\n",
    "#endif\n",
    "}\n",
    "\n",
    "/* Work-group (c, g) loads pixels c CHUNK .. of the panel. Planes: of band first_band + g, item i the pixels i, i + ITEMS, ...\n",
    "   BIP: of bands first_band + TURN g and the next; a tile of TURN pixels x TURN bands is read along the bands and written along the\n",
    "   pixels by way of local memory. Both write the chunk's sum of every band, and its number of pixels, to\n",
    "   sums[c * (used + 1) + b]. */\n",
    "__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))\n",
    "void load(__global const VALUE *raw, ulong origin, __global const int *list, __global const real *shift,\n",
    "          __global const uchar *valid, __global ELEM *panel, __global wide *sums, ulong first, int count, ulong plane, int samples,\n",
    "          int bands, int used, int first_band, int ld) {\n",
    "    __local wide add[ITEMS];\n",
    "    const int i = (int)get_local_id(0), chunk = (int)get_group_id(0);\n",
    "    int step, span;\n",
    "    wide sum = 0;\n",
    "    raw += origin;\n",
    "#if FROM != 2\n",
    "    const int b = first_band + (int)get_group_id(1);\n",
    "    for (step = i; step < CHUNK; step += ITEMS) {\n",
    "        int p = chunk * CHUNK + step;\n",
    "        ELEM x = p < count ? element(raw, list, shift, valid, first + (ulong)p, b, plane, samples, bands, used) : (ELEM)0;\n",
    "        if (b < used) panel[(size_t)b * (size_t)ld + (size_t)p] = x;\n",
    "        sum += (wide)x;\n",
    "    }\n",
    "    add[i] = sum;\n",
    "    for (span = ITEMS / 2; span > 0; span >>= 1) {\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        if (i < span) add[i] += add[i + span];\n",
    "    }\n",
    "    if (i == 0) sums[(size_t)chunk * (size_t)(used + 1) + (size_t)b] = add[0];\n",
    "#else\n",
    "    __local ELEM tile[TURN][TURN + 1];\n",
    "    const int row = i / TURN, column = i % TURN, base = first_band + (int)get_group_id(1) * TURN;\n",
    "    for (step = 0; step < CHUNK; step += TURN) {\n",
    "        int p = chunk * CHUNK + step + row, b = base + column;\n",
    "        ELEM x = 0;\n",
    "        if (p < count && b <= used) x = element(raw, list, shift, valid, first + (ulong)p, b, plane, samples, bands, used);\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        tile[row][column] = x;\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        x = tile[column][row]; /* now band base + row, pixel column */\n",
    "        if (base + row < used) panel[(size_t)(base + row) * (size_t)ld + (size_t)(chunk * CHUNK + step + column)] = x;\n",
    "        sum += (wide)x;\n",
    "    }\n",
    "    add[i] = sum;\n",
    "    for (span = TURN / 2; span > 0; span >>= 1) {\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        if (column < span) add[i] += add[i + span];\n",
    "    }\n",
    "    if (column == 0 && base + row <= used) sums[(size_t)chunk * (size_t)(used + 1) + (size_t)(base + row)] = add[i];\n",
    "#endif\n",
    "}\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_residual[] = {
    "/* residual.cl: E = Y - DX and its squares; lengths of signals; sums over all signals.\n",
    "   `residual` is what shs_ksvd_naive calls E. */\n",
    "\n",
    "\n",
    "\n",
    "#ifndef LANES\n",
    "#define LANES 32 /* work-items that share a signal; 1 on a processor */\n",
    "#endif\n",
    "#ifndef ROWS\n",
    "#define ROWS 8 /* signals that a group has in hand */\n",
    "#endif\n",
    "#ifndef STRIDE\n",
    "#define STRIDE 8 /* places that a signal has in the codes */\n",
    "#endif\n",
    "\n",
    "#pragma OPENCL FP_CONTRACT OFF\n",
    "\n",
    "#include \"sum.h\"\n",
    "SUM_OVER(sum_over, wide)\n",
    "/* Over the items that share a signal. */\n",
    "#define over_lanes(value, room) sum_over(value, (int)get_local_id(0), LANES, (room) + (int)get_local_id(1) * LANES)\n",
    "\n",
    "/* Item (l, i) computes rows l, l + LANES, .. of column i: neighbours read and write neighbours, the atoms and coefficients are\n",
    "   the same for all of them and come from the cache, and D is small enough to stay in it. squares[i] = ||y - Dx||^2. */\n",
    "__kernel __attribute__((reqd_work_group_size(LANES, ROWS, 1))) void residual(ulong m, int p, __global const real *restrict Y,\n",
    "                                                                             __global const real *restrict D,\n",
    "                                                                             __global const int *restrict used,\n",
    "                                                                             __global const int *restrict atoms,\n",
    "                                                                             __global const real *restrict coefs,\n",
    "                                                                             __global real *restrict E,\n",
    "                                                                             __global wide *restrict squares) {\n",
    "    __local wide room[LANES * ROWS];\n",
    "    size_t i = get_global_id(1), column = i * (size_t)p, at = i * STRIDE;\n",
    "    int count = i < m ? used[i] : 0, r, k;\n",
    "    wide sum = 0;\n",
    "    for (r = (int)get_local_id(0); i < m && r < p; r += LANES) {\n",
    "        real e = Y[column + (size_t)r];\n",
    "        for (k = 0; k < count; k++)\n",
    "            e = fma(-coefs[at + (size_t)k], D[(size_t)atoms[at + (size_t)k] * (size_t)p + (size_t)r], e);\n",
    "        E[column + (size_t)r] = e;\n",
    "        sum = fma((wide)e, (wide)e, sum);\n",
    "    }\n",
    "    sum = over_lanes(sum, room);\n",
    "    if (i < m && get_local_id(0) == 0) squares[i] = sum;\n",
    "}\n",
    "\n",
    "/* The exponent of a number; infinity and NaN have the one above all others. By bits, since a device may take subnormal numbers\n",
    "   for 0. */\n",
    "#if REAL_BITS == 64\n",
    "#define EXPONENT_MOST 1023\n",
    "#define EXPONENT(x) ((int)(as_ulong(x) >> 52 & 2047) - EXPONENT_MOST)\n",
    "#define IS_ZERO(x) ((as_ulong(x) << 1) == 0)\n",
    "#else\n",
    "#define EXPONENT_MOST 127\n",
    "#define EXPONENT(x) ((int)(as_uint(x) >> 23 & 255) - EXPONENT_MOST)\n",
    "#define IS_ZERO(x) ((as_uint(x) << 1) == 0)\n",
    "#endif\n",
    "\n",
    "/* ||y||^2 of signals first .. first+count-1. found[0] is set where one holds NaN or infinity, found[1] where the exponent of its\n",
    "   largest value is beyond -room .. room. */\n",
    "__kernel __attribute__((reqd_work_group_size(LANES, ROWS, 1))) void lengths(ulong first, ulong count, int p, int room_of_y,\n",
    "                                                                            __global const real *restrict Y,\n",
    "                                                                            __global wide *restrict squares,\n",
    "                                                                            __global int *restrict found) {\n",
    "    __local wide room[LANES * ROWS];\n",
    "    size_t i = get_global_id(1), column = (first + i) * (size_t)p;\n",
    "    wide sum = 0, seen = 0; /* of all lanes: up to LANES if they saw small values only, more if one saw a value in the room */\n",
    "    int r;\n",
    "    for (r = (int)get_local_id(0); i < count && r < p; r += LANES) {\n",
    "        real y = Y[column + (size_t)r];\n",
    "        sum = fma((wide)y, (wide)y, sum);\n",
    "        if (EXPONENT(y) > EXPONENT_MOST) found[0] = 1;\n",
    "        if (EXPONENT(y) > room_of_y) found[1] = 1;\n",
    "        if (EXPONENT(y) >= -room_of_y) seen = LANES + 1;\n",
    "        else if (!IS_ZERO(y)) seen = fmax(seen, (wide)1);\n",
    "    }\n",
    "    sum = over_lanes(sum, room);\n",
    "    seen = over_lanes(seen, room);\n",
    "    if (i >= count || get_local_id(0) > 0) return;\n",
    "    squares[first + i] = sum;\n",
    "    if (seen > 0 && seen <= LANES) found[1] = 1;\n",
    "}\n",
    "\n",
    "/* ---- sums over all signals ---------------------------------------------------------------------------------------- */\n",
    "\n",
    "#define TEAM SHS__CL_SUM_ITEMS\n",
    "\n",
    "/* The host always launches the same number of groups, so that the order of the additions is fixed. */\n",
    "#define over_team(value, room) sum_over(value, (int)get_local_id(0), TEAM, room)\n",
    "\n",
    "__kernel __attribute__((reqd_work_group_size(TEAM, 1, 1))) void sum_squares(ulong m, __global const wide *restrict squares,\n",
    "                                                                            __global wide *restrict sums) {\n",
    "    __local wide room[TEAM];\n",
    "    size_t i;\n",
    "    wide sum = 0;\n",
    "    for (i = get_global_id(0); i < m; i += get_global_size(0)) sum += squares[i];\n",
    "    sum = over_team(sum, room);\n",
    "    if (get_local_id(0) == 0) sums[get_group_id(0)] = sum;\n",
    "}\n",
    "\n",
    "/* Each group sums the errors of its signals and counts coefficients and unreached tolerances. With `look` it also counts\n",
    "   coefficients that are not finite. */\n",
    "__kernel __attribute__((reqd_work_group_size(TEAM, 1, 1))) void tally(ulong m, int look, __global const real *restrict errors2,\n",
    "                                                                      __global const int *restrict used,\n",
    "                                                                      __global const int *restrict state,\n",
    "                                                                      __global const real *restrict coefs,\n",
    "                                                                      __global wide *restrict sums,\n",
    "                                                                      __global ulong *restrict counts) {\n",
    "    __local wide room[TEAM];\n",
    "    __local ulong tallies[TEAM][3];\n",
    "    ulong nonzeros = 0;\n",
    "    ulong not_reached = 0;\n",
    "    ulong infinite = 0;\n",
    "    wide sum = 0;\n",
    "    size_t i;\n",
    "    int id = (int)get_local_id(0), q, k;\n",
    "    for (i = get_global_id(0); i < m; i += get_global_size(0)) {\n",
    "        sum += (wide)errors2[i];\n",
    "        nonzeros += (ulong)used[i];\n",
    "        not_reached += (ulong)(state[i] & SHS__CL_UNREACHED);\n",
    "        for (k = 0; look && k < used[i]; k++) infinite += EXPONENT(coefs[i * STRIDE + (size_t)k]) > EXPONENT_MOST ? 1 : 0;\n",
    "    }\n",
    "    tallies[id][0] = nonzeros;\n",
    "    tallies[id][1] = not_reached;\n",
    "    tallies[id][2] = infinite;\n",
    "    sum = over_team(sum, room);\n",
    "    if (id > 0) return;\n",
    "    for (q = 1; q < TEAM; q++) {\n",
    "        nonzeros += tallies[q][0];\n",
    "        not_reached += tallies[q][1];\n",
    "        infinite += tallies[q][2];\n",
    "    }\n",
    "    sums[get_group_id(0)] = sum;\n",
    "    counts[3 * get_group_id(0)] = nonzeros;\n",
    "    counts[3 * get_group_id(0) + 1] = not_reached;\n",
    "    counts[3 * get_group_id(0) + 2] = infinite;\n",
    "}\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_sweep[] = {
    "/* sweep.cl - one FastICA sweep: for c directions w sums over pixels of z g(w'z) and g'(w'z); and the sums that rate sources.\n",
    "\n",
    "   Whitened pixels are read once, and nothing but sums is written. An item takes PIXELS neighbouring pixels at a time,\n",
    "   which it keeps in registers with the sums of a block of ROWS components and DIRECTIONS directions:\n",
    "\n",
    "            z (ROWS)  g'     Sums of an item are of few pixels, so they may be real. The group adds them up in local\n",
    "       w  +---------+---+    memory, 16 items at a time, and they are wide from there on. It writes a partial sum of\n",
    "       s  | sum z g | s |    each of its VALUES, those of all groups side by side; totals.cl gathers them. The same\n",
    "          +---------+---+    bits in every run.\n",
    "\n",
    "   With few components a block has all of them. Of many it has some, and forms w'z from the planes as they go by.\n",
    "   Missing pixels have z = -0 (map.cl). They add nothing to sums of z g, and their sign keeps them out of the sums of g'.\n",
    "\n",
    "   W: M x c, a direction a column. The textbook twin is shs_ica_naive. */\n",
    "\n",
    "\n",
    "\n",
    "/* CONTRAST_name, a name of SHS_CONTRAST_LIST: which g; none: the program rates sources. */\n",
    "#ifndef M\n",
    "#define M 10 /* components */\n",
    "#endif\n",
    "#ifndef ROWS\n",
    "#define ROWS M\n",
    "#endif\n",
    "#ifndef DIRECTIONS\n",
    "#define DIRECTIONS M\n",
    "#endif\n",
    "#ifndef PIXELS\n",
    "#define PIXELS 2 /* 1, 2 or 4 */\n",
    "#endif\n",
    "\n",
    "#ifndef ITEMS\n",
    "#define ITEMS SHS__CL_SWEEP_ITEMS\n",
    "#endif\n",
    "#ifndef IN_LOCAL\n",
    "#define IN_LOCAL 1 /* 0: items write their sums to global memory, to measure the use of local memory */\n",
    "#endif\n",
    "#define GROUP SHS__CL_SWEEP_PIXELS\n",
    "#if REAL_BITS == 64\n",
    "#define LOG2E M_LOG2E\n",
    "#else\n",
    "#define LOG2E M_LOG2E_F\n",
    "#endif\n",
    "#define PARTY 128   /* items of a group whose sums are added at a time, */\n",
    "#define TOGETHER 16 /* so many of them, each in LANES parts */\n",
    "#define LANES (PARTY / TOGETHER)\n",
    "#define PITCH (PARTY + LANES) /* so that the items of a warp find different banks */\n",
    "#if PIXELS == 1\n",
    "typedef real vec;\n",
    "#else\n",
    "typedef VECTOR(real, PIXELS) vec;\n",
    "#endif\n",
    "\n",
    "#if defined(CONTRAST_pow3)\n",
    "#define CONTRAST\n",
    "inline real contrast_of(real y, real *slope) { *slope = 3 * y * y; return y * y * y; }\n",
    "#elif defined(CONTRAST_tanh)\n",
    "#define CONTRAST\n",
    "/* tanh y = 1 - 2 / (1 + exp 2y), to the rounding of 1, which is also that of y: in half the time of tanh(). */\n",
    "inline real contrast_of(real y, real *slope) {\n",
    "    real g = 1 - 2 / (1 + exp2(2 * LOG2E * y));\n",
    "    *slope = 1 - g * g;\n",
    "    return g;\n",
    "}\n",
    "#elif defined(CONTRAST_gauss)\n",
    "#define CONTRAST\n",
    "inline real contrast_of(real y, real *slope) { real e = exp(-y * y / 2); *slope = (1 - y * y) * e; return y * e; }\n",
    "#elif defined(CONTRAST_skew)\n",
    "#define CONTRAST\n",
    "inline real contrast_of(real y, real *slope) { *slope = 2 * y; return y * y; }\n",
    "#endif\n",
    "\n",
    "#ifdef CONTRAST\n",
    "#define EACH (ROWS + 1) /* sums of a direction: z g of the rows, g' */\n",
    "#define ROW_BLOCKS ((M + ROWS - 1) / ROWS)\n",
    "#else\n",
    "#define EACH 2 /* y^4, log cosh y */\n",
    "#define ROW_BLOCKS 1\n",
    "#endif\n",
    "#define VALUES (DIRECTIONS * EACH)\n",
    "#define W_IN_LOCAL (IN_LOCAL && DIRECTIONS * M <= 2048)\n",
    "\n",
    "/* By the bits, since -0 == 0. */\n",
    "inline int present(real z) {\n",
    "#if REAL_BITS == 64\n",
    "    return as_long(z) != LONG_MIN;\n",
    "#else\n",
    "    return as_int(z) != INT_MIN;\n",
    "#endif\n",
    "}\n",
    "\n",
    "/* Adds one pixel to the sums of a direction, whose y = w'z: row r of z stands at z[r * PIXELS]. */\n",
    "inline void add(real y, const real *z, int here, real *sum) {\n",
    "#ifdef CONTRAST\n",
    "    real slope, g = contrast_of(y, &slope);\n",
    "    int r;\n",
    "#pragma unroll\n",
    "    for (r = 0; r < ROWS; r++) sum[r] += g * z[r * PIXELS];\n",
    "    sum[ROWS] += here ? slope : 0;\n",
    "#else\n",
    "    real a = fabs(y); /* log cosh y = |y| + log(1 + exp(-2|y|)) - log 2 */\n",
    "    sum[0] += (y * y) * (y * y);\n",
    "    sum[1] += a > 0 ? a + log1p(exp(-2 * a)) - log((real)2) : 0;\n",
    "#endif\n",
    "}\n",
    "\n",
    "/* The group's sums from those of its items: partial[(block * VALUES + v) * groups + group]. */\n",
    "#if IN_LOCAL\n",
    "inline void add_items(const real *sum, __local real *room, __local wide *parts, __global wide *partial) {\n",
    "    const int i = (int)get_local_id(0), k = i / LANES;\n",
    "    int party, v, e, l = i % LANES;\n",
    "    for (v = i; v < VALUES * (LANES + 1); v += ITEMS) parts[v] = 0;\n",
    "    for (party = 0; party < ITEMS / PARTY; party++)\n",
    "#pragma unroll\n",
    "        for (v = 0; v < VALUES; v += TOGETHER) {\n",
    "            real x = 0;\n",
    "            barrier(CLK_LOCAL_MEM_FENCE);\n",
    "#pragma unroll\n",
    "            for (e = 0; e < TOGETHER; e++)\n",
    "                if (v + e < VALUES && i / PARTY == party) room[e * PITCH + i % PARTY] = sum[v + e];\n",
    "            barrier(CLK_LOCAL_MEM_FENCE);\n",
    "            if (k >= TOGETHER || v + k >= VALUES) continue;\n",
    "            for (e = 0; e < TOGETHER; e++) x += room[k * PITCH + e * LANES + l];\n",
    "            parts[(v + k) * (LANES + 1) + l] += (wide)x;\n",
    "        }\n",
    "    barrier(CLK_LOCAL_MEM_FENCE);\n",
    "    for (v = i; v < VALUES; v += ITEMS) {\n",
    "        wide total = 0;\n",
    "        for (l = 0; l < LANES; l++) total += parts[v * (LANES + 1) + l];\n",
    "        partial[(get_group_id(1) * (size_t)VALUES + (size_t)v) * get_num_groups(0) + get_group_id(0)] = total;\n",
    "    }\n",
    "}\n",
    "#endif\n",
    "\n",
    "/* Group (p, b): pixels GROUP p .. of the `padded` from `from` on; block b of directions and, within them, of rows. */\n",
    "__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))\n",
    "void sweep(__global const real *Z, ulong from, ulong ldz, ulong padded, __global const real *W, int c,\n",
    "           __global wide *partial) {\n",
    "    const int i = (int)get_local_id(0), block = (int)get_group_id(1);\n",
    "    const int first = block / ROW_BLOCKS * DIRECTIONS, row = block % ROW_BLOCKS * ROWS;\n",
    "    const ulong end = min((get_group_id(0) + 1) * (ulong)GROUP, padded);\n",
    "    ulong p;\n",
    "    real sum[VALUES];\n",
    "    int v, a, d, j;\n",
    "#if IN_LOCAL\n",
    "    __local real room[TOGETHER * PITCH];\n",
    "    __local wide parts[VALUES * (LANES + 1)];\n",
    "#if W_IN_LOCAL\n",
    "    __local real w[DIRECTIONS * M];\n",
    "    for (v = i; v < DIRECTIONS * M; v += ITEMS) w[v] = first * M + v < c * M ? W[first * M + v] : 0;\n",
    "    barrier(CLK_LOCAL_MEM_FENCE);\n",
    "#endif\n",
    "#endif\n",
    "#if W_IN_LOCAL\n",
    "#define DIRECTION(d, a) w[(d) * M + (a)]\n",
    "#else\n",
    "#define DIRECTION(d, a) W[min(first + (d), c - 1) * M + (a)]\n",
    "#endif\n",
    "#pragma unroll\n",
    "    for (v = 0; v < VALUES; v++) sum[v] = 0;\n",
    "    for (p = get_group_id(0) * (ulong)GROUP + (ulong)(i * PIXELS); p < end; p += ITEMS * PIXELS) {\n",
    "        __global const real *at = Z + from + p;\n",
    "        vec rows[ROWS];\n",
    "        const real *z = (const real *)rows;\n",
    "        int here[PIXELS];\n",
    "#if ROWS == M\n",
    "#pragma unroll\n",
    "        for (a = 0; a < M; a++) rows[a] = *(__global const vec *)(at + (ulong)a * ldz);\n",
    "#pragma unroll\n",
    "        for (j = 0; j < PIXELS; j++) here[j] = present(z[j]);\n",
    "#pragma unroll\n",
    "        for (d = 0; d < DIRECTIONS; d++) {\n",
    "            vec y = (vec)(0);\n",
    "#pragma unroll\n",
    "            for (a = 0; a < M; a++) y += DIRECTION(d, a) * rows[a];\n",
    "#pragma unroll\n",
    "            for (j = 0; j < PIXELS; j++) add(((const real *)&y)[j], z + j, here[j], sum + d * EACH);\n",
    "        }\n",
    "#else\n",
    "        vec y[DIRECTIONS];\n",
    "        rows[0] = *(__global const vec *)at;\n",
    "#pragma unroll\n",
    "        for (j = 0; j < PIXELS; j++) here[j] = present(z[j]);\n",
    "#pragma unroll\n",
    "        for (d = 0; d < DIRECTIONS; d++) y[d] = (vec)(0);\n",
    "#if !IS_CPU\n",
    "#pragma unroll 4\n",
    "#endif\n",
    "        for (a = 0; a < M; a++) {\n",
    "            const vec x = *(__global const vec *)(at + (ulong)a * ldz);\n",
    "#pragma unroll\n",
    "            for (d = 0; d < DIRECTIONS; d++) y[d] += DIRECTION(d, a) * x;\n",
    "        }\n",
    "#pragma unroll\n",
    "        for (a = 0; a < ROWS; a++)\n",
    "            rows[a] = row + a < M ? *(__global const vec *)(at + (ulong)(row + a) * ldz) : (vec)(0);\n",
    "#pragma unroll\n",
    "        for (d = 0; d < DIRECTIONS; d++)\n",
    "#pragma unroll\n",
    "            for (j = 0; j < PIXELS; j++) add(((const real *)(y + d))[j], z + j, here[j], sum + d * EACH);\n",
    "#endif\n",
    "    }\n",
    "#if IN_LOCAL\n",
    "    add_items(sum, room, parts, partial);\n",
    "#else\n",
    "#pragma unroll\n",
    "    for (v = 0; v < VALUES; v++)\n",
    "        partial[(get_group_id(1) * (size_t)VALUES + (size_t)v) * get_global_size(0) + get_global_id(0)] = (wide)sum[v];\n",
    "#endif\n",
    "}\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_syrk[] = {
    "/* syrk.cl - the lower triangle of S S', S n x k, for few rows and many columns: shs_syrk, and moments of doubles.\n",
    "\n",
    "   The result is small and k long, so k is split too: a work-group makes one tile of the result from the columns of\n",
    "   one slice, and syrk_sum adds the slices in their order: the same bits in every run. Three ways to make a tile:\n",
    "\n",
    "       syrk_tiles   items of R x R sums in registers (WAY 0)\n",
    "       syrk_split   an item for each element of a square of 32 x 32, whose two halves share k out: Du et al. (WAY 1)\n",
    "       syrk_units   double matrix units, in PTX (WAY 2)\n",
    "\n",
    "   S is A, k columns of n neighbours (TRANS 0), or A', n columns of k neighbours (TRANS 1). Tiles are those of the\n",
    "   lower triangle, row by row; partial sums lie slice by slice, tile by tile, row by row. The textbook twin is\n",
    "   shs_syrk_naive. */\n",
    "\n",
    "\n",
    "\n",
    "#ifndef ELEM\n",
    "#define ELEM real /* of A and of partial sums */\n",
    "#endif\n",
    "#ifndef WAY\n",
    "#define WAY 0\n",
    "#endif\n",
    "#ifndef TRANS\n",
    "#define TRANS 0\n",
    "#endif\n",
    "#ifndef T\n",
    "#define T 64 /* rows and columns of a tile; WAY 1: 32 */\n",
    "#endif\n",
    "\n",
    "#define VALUE(row, q) A[from + (TRANS ? (ulong)(row) * ld + (ulong)(q) : (ulong)(q) * ld + (ulong)(row))]\n",
    "\n",
    "/* Tile t of the lower triangle is that of rows ti T .. and columns tj T .. */\n",
    "inline void tile_of(int t, int *ti, int *tj) {\n",
    "    *ti = 0;\n",
    "    for (*tj = t; *tj > *ti; *tj -= *ti) (*ti)++;\n",
    "}\n",
    "\n",
    "/* ---- adding the slices ------------------------------------------------------------------------------------------ */\n",
    "\n",
    "/* C (n x n, the lower triangle or where `upper` the upper one) = alpha (the sum of `slices` tiles) + beta C. SUM_PARTS\n",
    "   items add a stretch of the slices each, in order, and their sums are added in order. */\n",
    "#define SUM_ITEMS SHS__CL_SUM_VALUES\n",
    "#define SUM_PARTS SHS__CL_SUM_PARTS\n",
    "__kernel __attribute__((reqd_work_group_size(SUM_ITEMS, SUM_PARTS, 1)))\n",
    "void syrk_sum(__global const ELEM *partial, int tiles, int slices, int n, ELEM alpha, ELEM beta, int upper,\n",
    "              __global ELEM *C, int ldc) {\n",
    "    __local ELEM sums[SUM_PARTS][SUM_ITEMS];\n",
    "    const int x = (int)get_local_id(0), y = (int)get_local_id(1);\n",
    "    const ulong each = (ulong)tiles * T * T;\n",
    "    const ulong e = get_global_id(0);\n",
    "    const int stretch = (slices + SUM_PARTS - 1) / SUM_PARTS, last = min((y + 1) * stretch, slices);\n",
    "    ELEM sum = 0;\n",
    "    int s, ti, tj;\n",
    "    if (e < each)\n",
    "        for (s = y * stretch; s < last; s++) sum += partial[(ulong)s * each + e];\n",
    "    sums[y][x] = sum;\n",
    "    barrier(CLK_LOCAL_MEM_FENCE);\n",
    "    if (y || e >= each) return;\n",
    "    for (s = 1; s < SUM_PARTS; s++) sum += sums[s][x];\n",
    "    tile_of((int)(e / (T * T)), &ti, &tj);\n",
    "    ti = ti * T + (int)(e % (T * T)) / T;\n",
    "    tj = tj * T + (int)(e % T);\n",
    "    if (ti >= n || tj > ti) return;\n",
    "    C += upper ? (ulong)ti * (ulong)ldc + (ulong)tj : (ulong)tj * (ulong)ldc + (ulong)ti;\n",
    "    *C = beta == 0 ? alpha * sum : alpha * sum + beta * *C;\n",
    "}\n",
    "\n",
    "/* ---- bringing a tile: item `id` of ITEMS fetches EACH values, neighbours neighbours ------------------------- */\n",
    "\n",
    "#if TRANS\n",
    "#define ROW_OF(e) ((id + (e) * ITEMS) / KB)\n",
    "#define COLUMN_OF(e) ((id + (e) * ITEMS) % KB)\n",
    "#else\n",
    "#define ROW_OF(e) ((id + (e) * ITEMS) % T)\n",
    "#define COLUMN_OF(e) ((id + (e) * ITEMS) / T)\n",
    "#endif\n",
    "/* KB columns from `first` on, to next_a and next_b; on the diagonal the tiles of both factors are one. */\n",
    "#define FETCH(first)                                                                                              \\\n",
    "    _Pragma(\"unroll\") for (e = 0; e < EACH; e++) {                                                                \\\n",
    "        int row_a = ti * T + ROW_OF(e), row_b = tj * T + ROW_OF(e), column = (first) + COLUMN_OF(e);              \\\n",
    "        next_a[e] = row_a < n && column < end ? VALUE(row_a, column) : (ELEM)0;                                   \\\n",
    "        if (ti != tj) next_b[e] = row_b < n && column < end ? VALUE(row_b, column) : (ELEM)0;                     \\\n",
    "    }\n",
    "\n",
    "#if WAY == 0\n",
    "/* ---- tiles in registers ----------------------------------------------------------------------------------------- */\n",
    "\n",
    "/* Group (t, s) of 16 x 16 items; item (x, y) keeps R x R sums in vectors of W, as in moments.cl. */\n",
    "#ifndef W\n",
    "#define W 4 /* 2 or 4, a divisor of R */\n",
    "#endif\n",
    "#ifndef KB\n",
    "#define KB 16 /* columns of S in local memory at a time */\n",
    "#endif\n",
    "#define R (T / 16)\n",
    "#define ITEMS 256\n",
    "#define PITCH (T / W + 1) /* of a column in local memory; one more, for the banks */\n",
    "#define EACH (T * KB / ITEMS)\n",
    "typedef VECTOR(ELEM, W) vec;\n",
    "\n",
    "#define ROW(l, part)                                                                                              \\\n",
    "    _Pragma(\"unroll\") for (int j = 0; j < R / W; j++) sum[i * W + l][j] += (vec)(a[i].part) * b[j];\n",
    "\n",
    "__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))\n",
    "void syrk_tiles(__global const ELEM *A, ulong from, ulong ld, int n, int k, int depth, __global ELEM *partial) {\n",
    "    __local vec tile_a[KB * PITCH], other[KB * PITCH];\n",
    "    const int id = (int)get_local_id(0), x = id & 15, y = id >> 4;\n",
    "    const int begin = (int)get_group_id(1) * depth, end = min(begin + depth, k);\n",
    "    __local vec *tile_b;\n",
    "    int ti, tj, at, e;\n",
    "    vec sum[R][R / W];\n",
    "    ELEM next_a[EACH], next_b[EACH];\n",
    "    tile_of((int)get_group_id(0), &ti, &tj);\n",
    "    tile_b = ti == tj ? tile_a : other;\n",
    "    for (int i = 0; i < R; i++)\n",
    "        for (int j = 0; j < R / W; j++) sum[i][j] = (vec)(0);\n",
    "\n",
    "    FETCH(begin)\n",
    "    for (at = begin; at < end; at += KB) {\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        _Pragma(\"unroll\") for (e = 0; e < EACH; e++) {\n",
    "            ((__local ELEM *)tile_a)[COLUMN_OF(e) * PITCH * W + ROW_OF(e)] = next_a[e];\n",
    "            if (ti != tj) ((__local ELEM *)tile_b)[COLUMN_OF(e) * PITCH * W + ROW_OF(e)] = next_b[e];\n",
    "        }\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        if (at + KB < end) FETCH(at + KB)\n",
    "        _Pragma(\"unroll\") for (int q = 0; q < KB; q++) {\n",
    "            vec a[R / W], b[R / W];\n",
    "            _Pragma(\"unroll\") for (int i = 0; i < R / W; i++) a[i] = tile_a[q * PITCH + i * 16 + y];\n",
    "            _Pragma(\"unroll\") for (int j = 0; j < R / W; j++) b[j] = tile_b[q * PITCH + j * 16 + x];\n",
    "            _Pragma(\"unroll\") for (int i = 0; i < R / W; i++) {\n",
    "                ROW(0, s0)\n",
    "                ROW(1, s1)\n",
    "#if W == 4\n",
    "                ROW(2, s2)\n",
    "                ROW(3, s3)\n",
    "#endif\n",
    "            }\n",
    "        }\n",
    "    }\n",
    "    partial += (get_group_id(1) * get_num_groups(0) + get_group_id(0)) * (size_t)(T * T);\n",
    "    _Pragma(\"unroll\") for (int i = 0; i < R; i++) {\n",
    "        int row = (i / W * 16 + y) * W + i % W;\n",
    "        _Pragma(\"unroll\") for (int j = 0; j < R / W; j++)\n",
    "            ((__global vec *)partial)[row * (T / W) + j * 16 + x] = sum[i][j];\n",
    "    }\n",
    "}\n",
    "\n",
    "#elif WAY == 1\n",
    "/* ---- the square split of Du, Parsons, Fuentes, Shaw, Dongarra ---------------------------------------------------\n",
    "\n",
    "   The whole square of blocks of 32 x 32 is run although half of the result is the mirror of the other: its diagonal\n",
    "   splits it in halves that share k out. Item (row, column) on or below the diagonal makes its element from the first\n",
    "   half of a slice's columns; item (row, column) above it makes element (column, row) from the second half. A block\n",
    "   on the diagonal does the same with its own items, and its items on the diagonal take both halves.\n",
    "\n",
    "       +---+---+---+   a block below: 32 rows of each factor from half 0, in two local arrays of 32 x 33, skewed by\n",
    "       | \\ | 1 | 1 |   the odd pitch: neither along a row nor along a column do two items want the same bank\n",
    "       +---+---+---+   a block above: the same of half 1\n",
    "       | 0 | \\ | 1 |   a block on the diagonal: its own 32 rows from half 0, and from half 1\n",
    "       +---+---+---+   Halves are added like slices: slice s becomes partial sums 2 s and 2 s + 1. */\n",
    "\n",
    "#define SIDE SHS__CL_SPLIT_SIDE\n",
    "__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1)))\n",
    "void syrk_split(__global const ELEM *A, ulong from, ulong ld, int n, int k, int depth, __global ELEM *partial) {\n",
    "    __local ELEM left[SIDE][SIDE + 1], right[SIDE][SIDE + 1];\n",
    "    const int x = (int)get_local_id(0), y = (int)get_local_id(1), blocks = (n + SIDE - 1) / SIDE;\n",
    "    const int block = (int)get_group_id(0), bi = block / blocks, bj = block % blocks, above = bj > bi;\n",
    "    const int ti = max(bi, bj), tj = min(bi, bj), diagonal = bi == bj, half_ = (depth + 1) / 2;\n",
    "    const int first = (int)get_group_id(1) * depth, last = min(first + depth, k), middle = min(first + half_, last);\n",
    "    /* left holds columns from at_left on, right holds columns from at_right on */\n",
    "    const int second = diagonal || above; /* right holds columns of half 1 */\n",
    "    const int end_left = above ? last : middle;\n",
    "    const int end_right = second ? last : middle;\n",
    "    int at_left = above ? middle : first;\n",
    "    int at_right = second ? middle : first;\n",
    "    int q;\n",
    "    const ulong each = (ulong)(blocks * (blocks + 1) / 2) * SIDE * SIDE;\n",
    "    const ulong cell = (ulong)(ti * (ti + 1) / 2 + tj) * SIDE * SIDE;\n",
    "    ELEM sum = 0;\n",
    "    ELEM other = 0;\n",
    "    for (q = 0; q < half_; q += SIDE) {\n",
    "        const int along = TRANS ? x : y; /* neighbouring items fetch neighbouring values */\n",
    "        const int across = TRANS ? y : x;\n",
    "        int row_l = ti * SIDE + across, row_r = tj * SIDE + across;\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        left[across][along] = row_l < n && at_left + along < end_left ? VALUE(row_l, at_left + along) : (ELEM)0;\n",
    "        right[across][along] = row_r < n && at_right + along < end_right ? VALUE(row_r, at_right + along) : (ELEM)0;\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        if (!diagonal) {\n",
    "            _Pragma(\"unroll\") for (int i = 0; i < SIDE; i++) sum += left[y][i] * right[x][i];\n",
    "        } else {\n",
    "            if (y >= x) _Pragma(\"unroll\") for (int i = 0; i < SIDE; i++) sum += left[y][i] * left[x][i];\n",
    "            if (y <= x) _Pragma(\"unroll\") for (int i = 0; i < SIDE; i++) other += right[y][i] * right[x][i];\n",
    "        }\n",
    "        at_left += SIDE;\n",
    "        at_right += SIDE;\n",
    "    }\n",
    "    partial += get_group_id(1) * 2 * each + cell;\n",
    "    if (!diagonal) partial[(above ? each : 0) + (ulong)(y * SIDE + x)] = sum;\n",
    "    else if (y >= x) partial[y * SIDE + x] = sum;\n",
    "    if (diagonal && y <= x) partial[each + (ulong)(x * SIDE + y)] = other;\n",
    "}\n",
    "\n",
    "#else\n",
    "/* ---- double matrix units ----------------------------------------------------------------------------------------\n",
    "\n",
    "   Warps of 32 items, WARPS x WARPS of them; a warp keeps BLOCKS x BLOCKS blocks of 8 x 8 (units.h). */\n",
    "\n",
    "#ifndef WARPS\n",
    "#define WARPS SHS__CL_UNITS_WARPS\n",
    "#endif\n",
    "#ifndef KB\n",
    "#define KB 16\n",
    "#endif\n",
    "#define ITEMS (32 * WARPS * WARPS)\n",
    "#define EDGE (T / WARPS) /* rows and columns of a warp */\n",
    "#define BLOCKS (EDGE / 8)\n",
    "#define EACH (T * KB / ITEMS)\n",
    "\n",
    "/* Four rows of four columns, which half a warp reads at a time, and what it writes, lie in different banks. */\n",
    "#if TRANS\n",
    "#define PLACE(row, q) ((row) * (KB + 4) + (q))\n",
    "#define ROOM (T * (KB + 4))\n",
    "#else\n",
    "#define PLACE(row, q) ((q) * (T + 4) + (row))\n",
    "#define ROOM (KB * (T + 4))\n",
    "#endif\n",
    "\n",
    "#include \"units.h\"\n",
    "\n",
    "__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))\n",
    "void syrk_units(__global const ELEM *A, ulong from, ulong ld, int n, int k, int depth, __global ELEM *partial,\n",
    "                int first_tile) {\n",
    "    __local ELEM tile_a[2][ROOM], other[2][ROOM];\n",
    "    const int id = (int)get_local_id(0), lane = id & 31, row_in = lane / 4, column_in = lane % 4;\n",
    "    const int top = id / 32 / WARPS * EDGE, side = id / 32 % WARPS * EDGE;\n",
    "    const int begin = (int)get_group_id(1) * depth, end = min(begin + depth, k);\n",
    "    int ti, tj, at, e, i, j, q, turn = 0;\n",
    "    ELEM sum[BLOCKS][BLOCKS][2], next_a[EACH], next_b[EACH];\n",
    "    tile_of(first_tile + (int)get_group_id(0), &ti, &tj);\n",
    "    const int same = ti == tj, idle = same && side > top; /* above the diagonal */\n",
    "    for (i = 0; i < BLOCKS; i++)\n",
    "        for (j = 0; j < BLOCKS; j++) sum[i][j][0] = sum[i][j][1] = 0;\n",
    "\n",
    "    FETCH(begin)\n",
    "    for (at = begin; at < end; at += KB) {\n",
    "        __local ELEM *a_now = tile_a[turn];\n",
    "        __local ELEM *b_now = same ? tile_a[turn] : other[turn];\n",
    "        turn ^= 1;\n",
    "        _Pragma(\"unroll\") for (e = 0; e < EACH; e++) {\n",
    "            a_now[PLACE(ROW_OF(e), COLUMN_OF(e))] = next_a[e];\n",
    "            if (!same) b_now[PLACE(ROW_OF(e), COLUMN_OF(e))] = next_b[e];\n",
    "        }\n",
    "        barrier(CLK_LOCAL_MEM_FENCE); /* one is enough: two pairs of tiles take turns */\n",
    "        if (at + KB < end) FETCH(at + KB)\n",
    "#if MMA\n",
    "        if (!idle) _Pragma(\"unroll\") for (q = 0; q < KB; q += 4) {\n",
    "            ELEM a[BLOCKS], b[BLOCKS];\n",
    "            _Pragma(\"unroll\") for (i = 0; i < BLOCKS; i++) a[i] = a_now[PLACE(top + 8 * i + row_in, q + column_in)];\n",
    "            _Pragma(\"unroll\") for (j = 0; j < BLOCKS; j++) b[j] = b_now[PLACE(side + 8 * j + row_in, q + column_in)];\n",
    "            _Pragma(\"unroll\") for (i = 0; i < BLOCKS; i += 2)\n",
    "                _Pragma(\"unroll\") for (j = 0; j < BLOCKS; j++)\n",
    "                    add_products(sum[i][j], sum[i + 1][j], a[i], a[i + 1], b[j]);\n",
    "        }\n",
    "#else\n",
    "        for (q = idle ? KB : 0; q < KB; q++)\n",
    "            for (i = 0; i < BLOCKS; i++)\n",
    "                for (j = 0; j < BLOCKS; j++) {\n",
    "                    ELEM a = a_now[PLACE(top + 8 * i + row_in, q)];\n",
    "                    __local const ELEM *b = b_now + PLACE(side + 8 * j + 2 * column_in, q);\n",
    "                    sum[i][j][0] += a * b[0];\n",
    "                    sum[i][j][1] += a * b[PLACE(1, 0)];\n",
    "                }\n",
    "#endif\n",
    "    }\n",
    "    partial += (get_group_id(1) * get_num_groups(0) + get_group_id(0)) * (size_t)(T * T);\n",
    "    _Pragma(\"unroll\") for (i = 0; i < BLOCKS; i++)\n",
    "        _Pragma(\"unroll\") for (j = 0; j < BLOCKS; j++) {\n",
    "            __global ELEM *to = partial + (top + 8 * i + row_in) * T + side + 8 * j + 2 * column_in;\n",
    "            to[0] = sum[i][j][0];\n",
    "            to[1] = sum[i][j][1];\n",
    "        }\n",
    "}\n",
    "#endif\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_totals[] = {
    "/* totals.cl - adds partial sums in a fixed order, in double, or as a sum and its rounding errors: of products (moments.cl,\n",
    "   bytes.cl) and bands (pixels.cl), of which there are many elements; of sweeps, of which there are many partial sums. */\n",
    "\n",
    "\n",
    "\n",
    "#ifndef ELEM\n",
    "#define ELEM real /* of the partial sums: real, wide or int */\n",
    "#endif\n",
    "\n",
    "/* Without doubles rest holds what rounding took away (Knuth's two-sum), and sum + rest is the sum. */\n",
    "inline void add(wide *sum, wide *rest, wide x) {\n",
    "#if HAS_DOUBLE\n",
    "    *sum += x;\n",
    "#else\n",
    "    wide s = *sum + x, was = s - x;\n",
    "    *rest += (*sum - was) + (x - (s - was));\n",
    "    *sum = s;\n",
    "#endif\n",
    "}\n",
    "\n",
    "/* One work-item an element: total[first + i] += its `count` partial sums, in order. Eight of them are read at a time. */\n",
    "__kernel void accumulate(__global const ELEM *partial, ulong size, int count, ulong first, __global wide *total,\n",
    "                         __global wide *lost) {\n",
    "    const size_t i = get_global_id(0);\n",
    "    ELEM x[8];\n",
    "    int c, j;\n",
    "    wide sum, rest;\n",
    "    if (i >= size) return;\n",
    "    partial += i;\n",
    "    sum = total[first + i];\n",
    "    rest = lost[first + i];\n",
    "    for (c = 0; c + 8 <= count; c += 8) {\n",
    "        _Pragma(\"unroll\") for (j = 0; j < 8; j++) x[j] = partial[(size_t)(c + j) * size];\n",
    "        _Pragma(\"unroll\") for (j = 0; j < 8; j++) add(&sum, &rest, (wide)x[j]);\n",
    "    }\n",
    "    for (; c < count; c++) add(&sum, &rest, (wide)partial[(size_t)c * size]);\n",
    "    total[first + i] = sum;\n",
    "    lost[first + i] = rest;\n",
    "}\n",
    "\n",
    "#define ITEMS SHS__CL_ADD_ITEMS\n",
    "\n",
    "/* One group an element: total[i] = the sum of its `count` partial sums, which are neighbours, and with `more` of itself. */\n",
    "__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))\n",
    "void gather(__global const ELEM *partial, int count, int more, __global wide *total, __global wide *lost) {\n",
    "    __local wide sums[ITEMS], rests[ITEMS];\n",
    "    const int i = (int)get_local_id(0);\n",
    "    const size_t element = get_group_id(0);\n",
    "    int c, span;\n",
    "    wide sum = 0, rest = 0;\n",
    "    partial += element * (size_t)count;\n",
    "    for (c = i; c < count; c += ITEMS) add(&sum, &rest, (wide)partial[c]);\n",
    "    if (i == 0 && more) {\n",
    "        add(&sum, &rest, total[element]);\n",
    "        rest += lost[element];\n",
    "    }\n",
    "    for (span = ITEMS / 2; span > 0; span >>= 1) {\n",
    "        sums[i] = sum;\n",
    "        rests[i] = rest;\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        if (i < span) {\n",
    "            add(&sum, &rest, sums[i + span]);\n",
    "            rest += rests[i + span];\n",
    "        }\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "    }\n",
    "    if (i == 0) {\n",
    "        total[element] = sum;\n",
    "        lost[element] = rest;\n",
    "    }\n",
    "}\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_update[] = {
    "/* update.cl: the update of atoms, in these steps:\n",
    "\n",
    "       count_uses, scan_uses, place_uses   list the uses of every atom\n",
    "       gather                              sums E_I x' and |x|^2 for a group of atoms; for MOD also gram (XX'), then mod.cl solves\n",
    "       new_atoms                           makes the new atoms from these sums. The host makes them instead, after gather_sums,\n",
    "                                           where ranks or slices must add up their sums, and for K-SVD and NSGK.\n",
    "       update_signals, update_uses         change codes and residuals; update_uses for a single atom\n",
    "\n",
    "   A use is a cell of the codes, i * STRIDE + k, so that it tells the signal and leads to the coefficient. The uses of an atom\n",
    "   stand in the order of the signals: sums have a fixed order, and a run can be repeated bit by bit.\n",
    "\n",
    "   The textbook twin of the update is shs_ksvd_naive. */\n",
    "\n",
    "\n",
    "\n",
    "#ifndef STRIDE\n",
    "#define STRIDE 8 /* places that a signal has in the codes */\n",
    "#endif\n",
    "#ifndef LANES\n",
    "#define LANES 32 /* work-items that share a signal; 1 on a processor */\n",
    "#endif\n",
    "#ifndef ROWS\n",
    "#define ROWS 1 /* signals a group; 1 for update_signals without SHUFFLES */\n",
    "#endif\n",
    "#ifndef SHUFFLES\n",
    "#define SHUFFLES 0 /* 1: a warp exchanges registers by PTX */\n",
    "#endif\n",
    "#ifndef SUB_GROUPS\n",
    "#define SUB_GROUPS 0 /* as in omp_warp.cl; then SHUFFLE_XOR names the function by which a sub-group exchanges registers */\n",
    "#endif\n",
    "#ifndef POWER\n",
    "#define POWER 0 /* 1: gather sums for a power step */\n",
    "#endif\n",
    "#if SUB_GROUPS > 1\n",
    "#define OF_SUB_GROUPS __attribute__((intel_reqd_sub_group_size(SUB_GROUPS)))\n",
    "#else\n",
    "#define OF_SUB_GROUPS\n",
    "#endif\n",
    "#if SUB_GROUPS && defined(cl_khr_subgroups)\n",
    "#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n",
    "#endif\n",
    "#if SUB_GROUPS && defined(cl_khr_subgroup_shuffle)\n",
    "#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable\n",
    "#endif\n",
    "/* And UPDATE_name, a name of SHS_UPDATE_LIST, for new_atoms, update_signals and update_uses. */\n",
    "\n",
    "#pragma OPENCL FP_CONTRACT OFF\n",
    "\n",
    "#define TEAM SHS__CL_USES_ITEMS\n",
    "#define ATOM_ITEMS SHS__CL_ATOM_ITEMS\n",
    "#define TILE SHS__CL_USES_TILE\n",
    "#define GRAM_TILE SHS__CL_GRAM_TILE\n",
    "#define STRETCH SHS__CL_USES_STRETCH\n",
    "#define AHEAD 16\n",
    "#define SET 32 /* signals that are placed at a time: a bit each */\n",
    "\n",
    "#include \"sum.h\"\n",
    "SUM_OVER(sum_over, real)\n",
    "\n",
    "/* ---- the lists ---------------------------------------------------------------------------------------------------- */\n",
    "\n",
    "/* Group (b, c) counts how often the `block` signals from b * block on use each of the atoms from c * TILE on. Only the final\n",
    "   counts matter, so the order of the atomic additions does not. */\n",
    "__kernel __attribute__((reqd_work_group_size(TEAM, 1, 1))) void count_uses(uint m, uint block, int n,\n",
    "                                                                           __global const int *restrict used,\n",
    "                                                                           __global const int *restrict atoms,\n",
    "                                                                           __global uint *restrict counts) {\n",
    "    __local uint tally[TILE];\n",
    "    const int first = (int)get_group_id(1) * TILE, have = min(TILE, n - first), id = (int)get_local_id(0);\n",
    "    const uint begin = (uint)get_group_id(0) * block;\n",
    "    const uint end = min(m, begin + block);\n",
    "    uint cell;\n",
    "    int a;\n",
    "    for (a = id; a < have; a += TEAM) tally[a] = 0;\n",
    "    barrier(CLK_LOCAL_MEM_FENCE);\n",
    "    for (cell = begin * STRIDE + (uint)id; cell < end * STRIDE; cell += TEAM) {\n",
    "        if ((int)(cell % STRIDE) >= used[cell / STRIDE]) continue;\n",
    "        a = atoms[cell] - first;\n",
    "        if (a >= 0 && a < have) atomic_inc(tally + a);\n",
    "    }\n",
    "    barrier(CLK_LOCAL_MEM_FENCE);\n",
    "    for (a = id; a < have; a += TEAM) counts[get_group_id(0) * (size_t)n + (size_t)(first + a)] = tally[a];\n",
    "}\n",
    "\n",
    "/* Item a turns the counts of atom a into how many uses stand before each block's, and their total. It reads AHEAD\n",
    "   counts before it writes: otherwise every read would wait for the write before it. */\n",
    "__kernel void scan_uses(int n, uint blocks, __global uint *restrict counts, __global uint *restrict totals) {\n",
    "    const int a = (int)get_global_id(0);\n",
    "    uint sum = 0, b, v;\n",
    "    if (a >= n) return;\n",
    "    for (b = 0; b < blocks; b += AHEAD) {\n",
    "        uint here[AHEAD];\n",
    "#pragma unroll\n",
    "        for (v = 0; v < AHEAD; v++) here[v] = b + v < blocks ? counts[(size_t)(b + v) * (size_t)n + (size_t)a] : 0;\n",
    "#pragma unroll\n",
    "        for (v = 0; v < AHEAD; v++) {\n",
    "            if (b + v < blocks) counts[(size_t)(b + v) * (size_t)n + (size_t)a] = sum;\n",
    "            sum += here[v];\n",
    "        }\n",
    "    }\n",
    "    totals[a] = sum;\n",
    "}\n",
    "\n",
    "/* Group (b, c) once more, now with the places. Of 32 signals at a time every atom has a word whose bits are the signals that\n",
    "   use it; the bits below a signal's own are the uses before it, so all can be placed at once, in order. */\n",
    "__kernel __attribute__((reqd_work_group_size(TEAM, 1, 1))) void place_uses(uint m, uint block, int n,\n",
    "                                                                           __global const int *restrict used,\n",
    "                                                                           __global const int *restrict atoms,\n",
    "                                                                           __global const uint *restrict counts,\n",
    "                                                                           __global const uint *restrict start,\n",
    "                                                                           __global uint *restrict uses) {\n",
    "    __local uint users[TILE], next[TILE];\n",
    "    const int first = (int)get_group_id(1) * TILE, have = min(TILE, n - first), id = (int)get_local_id(0);\n",
    "    const uint begin = (uint)get_group_id(0) * block;\n",
    "    const uint end = min(m, begin + block);\n",
    "    uint set, cell;\n",
    "    int a;\n",
    "    for (a = id; a < have; a += TEAM)\n",
    "        next[a] = start[first + a] + counts[get_group_id(0) * (size_t)n + (size_t)(first + a)];\n",
    "    for (set = begin; set < end; set += SET) {\n",
    "        const uint last = min(end, set + SET) * STRIDE;\n",
    "        for (a = id; a < have; a += TEAM) users[a] = 0;\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        for (cell = set * STRIDE + (uint)id; cell < last; cell += TEAM) {\n",
    "            if ((int)(cell % STRIDE) >= used[cell / STRIDE]) continue;\n",
    "            a = atoms[cell] - first;\n",
    "            if (a >= 0 && a < have) atomic_or(users + a, 1u << (cell / STRIDE - set));\n",
    "        }\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        for (cell = set * STRIDE + (uint)id; cell < last; cell += TEAM) {\n",
    "            if ((int)(cell % STRIDE) >= used[cell / STRIDE]) continue;\n",
    "            a = atoms[cell] - first;\n",
    "            if (a >= 0 && a < have)\n",
    "                uses[next[a] + popcount(users[a] & ((1u << (cell / STRIDE - set)) - 1))] = cell;\n",
    "        }\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        for (a = id; a < have; a += TEAM) next[a] += popcount(users[a]);\n",
    "    }\n",
    "}\n",
    "\n",
    "/* ---- gathering ---------------------------------------------------------------------------------------------------- */\n",
    "\n",
    "/* A group sums one stretch of at most 256 uses of an atom: which one, the lists stretches[] (how many stretches the atoms\n",
    "   before have) and start[] tell. Its cells and coefficients come to local memory first, so that the reads of E need not wait\n",
    "   for them; then row y takes every ROWS-th use, lane l the elements l, l + LANES, .. of the sum; neighbours read neighbours.\n",
    "   The rows are added in order.\n",
    "\n",
    "   For a power step x becomes z = E'd + x d_old'd first, by the atoms d in `fresh`, as update_signals has them, and the energy\n",
    "   x z. Where `skips`, the atoms of the group that done[] names get 0. */\n",
    "__kernel __attribute__((reqd_work_group_size(LANES, ROWS, 1))) void gather(int first, int n, int p,\n",
    "                                                                           __global const uint *restrict start,\n",
    "                                                                           __global const uint *restrict stretches,\n",
    "                                                                           __global const uint *restrict uses,\n",
    "                                                                           __global const real *restrict coefs,\n",
    "                                                                           __global const real *restrict E,\n",
    "                                                                           __global const real *restrict fresh,\n",
    "                                                                           ulong overlaps, int skips,\n",
    "                                                                           __global const uchar *restrict done,\n",
    "                                                                           __global real *restrict partial,\n",
    "                                                                           __global wide *restrict energies) {\n",
    "    __local uint signals[STRETCH];\n",
    "    __local real weights[STRETCH];\n",
    "#if POWER\n",
    "    __local real codes[STRETCH];\n",
    "#else\n",
    "    __local real *const codes = weights;\n",
    "#endif\n",
    "    __local real rows[ROWS * LANES];\n",
    "    __local wide shares[LANES];\n",
    "    const int lane = (int)get_local_id(0), y = (int)get_local_id(1), id = y * LANES + lane;\n",
    "    const uint mine = stretches[first] + (uint)get_group_id(0);\n",
    "    int low = first, high = n, r, u, count;\n",
    "    uint begin;\n",
    "    wide energy = 0;\n",
    "    while (high - low > 1) { /* the last atom whose stretches begin at or before this one */\n",
    "        int middle = (low + high) / 2;\n",
    "        if (stretches[middle] <= mine) low = middle;\n",
    "        else high = middle;\n",
    "    }\n",
    "    begin = start[low] + (mine - stretches[low]) * STRETCH;\n",
    "    count = skips && done[low - first] ? 0 : (int)min((uint)STRETCH, start[low + 1] - begin);\n",
    "    for (u = id; u < count; u += ROWS * LANES) {\n",
    "        uint cell = uses[begin + (uint)u];\n",
    "        signals[u] = cell / STRIDE;\n",
    "        codes[u] = coefs[cell];\n",
    "    }\n",
    "    barrier(CLK_LOCAL_MEM_FENCE);\n",
    "#if POWER\n",
    "    for (u = y; u - y < count; u += ROWS) {\n",
    "        real z = 0;\n",
    "        for (r = lane; u < count && r < p; r += LANES)\n",
    "            z = fma(E[(size_t)signals[u] * (size_t)p + (size_t)r], fresh[(size_t)low * (size_t)p + (size_t)r], z);\n",
    "        z = sum_over(z, lane, LANES, rows + y * LANES);\n",
    "        if (lane == 0 && u < count) weights[u] = fma(codes[u], fresh[overlaps + (size_t)low], z);\n",
    "    }\n",
    "    barrier(CLK_LOCAL_MEM_FENCE);\n",
    "#endif\n",
    "    for (r = lane; r - lane < p; r += LANES) {\n",
    "        real sum = 0;\n",
    "        for (u = y; r < p && u < count; u += ROWS) sum = fma(weights[u], E[(size_t)signals[u] * (size_t)p + (size_t)r], sum);\n",
    "        rows[id] = sum;\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        if (y == 0 && r < p) {\n",
    "            for (u = 1; u < ROWS; u++) sum += rows[u * LANES + lane];\n",
    "            partial[get_group_id(0) * (size_t)p + (size_t)r] = sum;\n",
    "        }\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "    }\n",
    "    for (u = lane; y == 0 && u < count; u += LANES) energy = fma((wide)codes[u], (wide)weights[u], energy);\n",
    "    if (y == 0) shares[lane] = energy;\n",
    "    barrier(CLK_LOCAL_MEM_FENCE);\n",
    "    if (id > 0) return;\n",
    "    for (u = 1; u < LANES; u++) energy += shares[u];\n",
    "    energies[get_group_id(0)] = energy;\n",
    "}\n",
    "\n",
    "/* Item (r, a) adds the stretches of the a-th atom of the group in order; row r = p is |x|^2, kept behind the sums. */\n",
    "__kernel void gather_sums(int first, int count, int p, __global const uint *restrict stretches,\n",
    "                          __global const real *restrict partial, __global const wide *restrict energies,\n",
    "                          __global wide *restrict sums) {\n",
    "    const int r = (int)get_global_id(0), a = (int)get_global_id(1);\n",
    "    const uint from = stretches[first];\n",
    "    uint s;\n",
    "    wide sum = 0;\n",
    "    if (r > p || a >= count) return;\n",
    "    for (s = stretches[first + a] - from; s < stretches[first + a + 1] - from; s++)\n",
    "        sum += r < p ? (wide)partial[(size_t)s * (size_t)p + (size_t)r] : energies[s];\n",
    "    sums[r < p ? (size_t)a * (size_t)p + (size_t)r : (size_t)count * (size_t)p + (size_t)a] = sum;\n",
    "}\n",
    "\n",
    "/* Row a of XX' for a group: group (a, c) adds up what the uses of atom first + a find of the atoms from c * GRAM_TILE on in\n",
    "   the same signals. Row y takes every ROWS-th use, its lanes the places of the signal, whose atoms differ; so each place of\n",
    "   the row's tally has one writer at a time. The rows are added in order. */\n",
    "__kernel __attribute__((reqd_work_group_size(LANES, ROWS, 1))) void gram(int first, int n, __global const uint *restrict start,\n",
    "                                                                         __global const uint *restrict uses,\n",
    "                                                                         __global const int *restrict used,\n",
    "                                                                         __global const int *restrict atoms,\n",
    "                                                                         __global const real *restrict coefs,\n",
    "                                                                         __global wide *restrict sums) {\n",
    "    __local wide tally[ROWS][GRAM_TILE];\n",
    "    const int lane = (int)get_local_id(0), y = (int)get_local_id(1), id = y * LANES + lane, a = (int)get_group_id(0);\n",
    "    const int begin = (int)get_group_id(1) * GRAM_TILE, have = min(GRAM_TILE, n - begin);\n",
    "    const uint end = start[first + a + 1];\n",
    "    uint u = start[first + a] + (uint)y;\n",
    "    uint next = u < end ? uses[u] : 0;\n",
    "    int k, b;\n",
    "    for (b = lane; b < have; b += LANES) tally[y][b] = 0;\n",
    "    for (; u - (uint)y < end; u += ROWS) {\n",
    "        const uint cell = next;\n",
    "        const uint at = cell - cell % STRIDE;\n",
    "        const int places = u < end ? used[cell / STRIDE] : 0;\n",
    "        next = u + ROWS < end ? uses[u + ROWS] : 0; /* comes while this one is worked on */\n",
    "        barrier(CLK_LOCAL_MEM_FENCE); /* the use before is done with its places */\n",
    "        for (k = lane; k < places; k += LANES) {\n",
    "            b = atoms[at + (uint)k] - begin;\n",
    "            if (b >= 0 && b < have) tally[y][b] = fma((wide)coefs[cell], (wide)coefs[at + (uint)k], tally[y][b]);\n",
    "        }\n",
    "    }\n",
    "    barrier(CLK_LOCAL_MEM_FENCE);\n",
    "    for (b = id; b < have; b += ROWS * LANES) {\n",
    "        wide sum = 0;\n",
    "        for (k = 0; k < ROWS; k++) sum += tally[k][b];\n",
    "        sums[(size_t)a * (size_t)n + (size_t)(begin + b)] = sum;\n",
    "    }\n",
    "}\n",
    "\n",
    "/* ---- the rules: what becomes of an atom and of a coefficient -------------------------------------------- */\n",
    "\n",
    "/* direction: an element of what the new atom has the direction of; sum: of E_I x', for MOD of E X'A^-1; before: of the atom;\n",
    "   energy: |x|^2.\n",
    "   new_code: x: before; along: e'd_new, which is formed only where CODES says that the codes are made anew; overlap:\n",
    "   d_old'd_new. */\n",
    "#if defined(UPDATE_aksvd) || defined(UPDATE_sgk) /* the others make their atoms on the host */\n",
    "#define DIRECTION\n",
    "inline wide direction(wide sum, real before, wide energy) { return sum + (wide)before * energy; }\n",
    "#elif defined(UPDATE_mod)\n",
    "#define DIRECTION\n",
    "inline wide direction(wide sum, real before, wide energy) { return sum + (wide)before; }\n",
    "#endif\n",
    "#if defined(UPDATE_aksvd) || defined(UPDATE_ksvd)\n",
    "#define CODES 1\n",
    "inline real new_code(real x, real along, real overlap) { return fma(x, overlap, along); }\n",
    "#elif defined(UPDATE_sgk) || defined(UPDATE_nsgk) || defined(UPDATE_mod)\n",
    "#define CODES 0\n",
    "inline real new_code(real x, real along, real overlap) { return x; }\n",
    "#endif\n",
    "\n",
    "#ifdef DIRECTION\n",
    "\n",
    "/* ---- the new atoms --------------------------------------------------------------------------------------- */\n",
    "\n",
    "SUM_OVER(sum_of_wides, wide)\n",
    "#define over_atom(value, room) sum_of_wides(value, id, ATOM_ITEMS, room)\n",
    "\n",
    "/* Group a adds the stretches of the a-th atom from `first` on in order (for MOD it finds the sums made), and makes the new atom:\n",
    "   its direction by the rule, at unit norm. An atom stays if no signal uses it, or if its direction vanishes or is no number.\n",
    "   fresh: p x n, the atoms in their places; then d_old'd_new of each. */\n",
    "__kernel __attribute__((reqd_work_group_size(ATOM_ITEMS, 1, 1))) void\n",
    "new_atoms(int first, int n, int p, __global const uint *restrict stretches, __global const real *restrict partial,\n",
    "          __global const wide *restrict energies, __global const real *restrict D, __global wide *restrict sums,\n",
    "          __global real *restrict fresh) {\n",
    "    __local wide room[ATOM_ITEMS];\n",
    "    const int id = (int)get_local_id(0), atom = first + (int)get_group_id(0);\n",
    "    const uint begin = stretches[atom] - stretches[first];\n",
    "    const uint end = stretches[atom + 1] - stretches[first];\n",
    "    __global const real *before = D + (size_t)atom * (size_t)p;\n",
    "    __global real *after = fresh + (size_t)atom * (size_t)p;\n",
    "    __global wide *y = sums + (size_t)atom * (size_t)p;\n",
    "    wide energy = 0, norm2 = 0, overlap = 0, norm;\n",
    "    int r;\n",
    "    uint s;\n",
    "    for (s = begin; s < end; s++) energy += energies[s];\n",
    "    for (r = id; r < p; r += ATOM_ITEMS) {\n",
    "#ifdef UPDATE_mod\n",
    "        wide sum = y[r];\n",
    "#else\n",
    "        wide sum = 0;\n",
    "        for (s = begin; s < end; s++) sum += (wide)partial[(size_t)s * (size_t)p + (size_t)r];\n",
    "#endif\n",
    "        y[r] = direction(sum, before[r], energy);\n",
    "        norm2 += y[r] * y[r];\n",
    "    }\n",
    "    norm2 = over_atom(norm2, room);\n",
    "    norm = sqrt(norm2);\n",
    "    for (r = id; r < p; r += ATOM_ITEMS) {\n",
    "        after[r] = energy > 0 && norm2 > 0 && isfinite(norm2) ? (real)(y[r] / norm) : before[r];\n",
    "        overlap += (wide)before[r] * (wide)after[r];\n",
    "    }\n",
    "    overlap = over_atom(overlap, room);\n",
    "    if (id == 0) fresh[(size_t)n * (size_t)p + (size_t)atom] = (real)overlap;\n",
    "}\n",
    "\n",
    "#endif\n",
    "\n",
    "#ifdef CODES\n",
    "\n",
    "/* ---- changing over --------------------------------------------------------------------------------------- */\n",
    "\n",
    "/* Over the items that share a signal. */\n",
    "#define over_lanes(value, room) sum_over(value, (int)get_local_id(0), LANES, (room) + (int)get_local_id(1) * LANES)\n",
    "\n",
    "/* What LANES items do together where they are a warp that can exchange registers (SHUFFLES): a group may then hold several\n",
    "   signals, for no barrier has to be met by all of it. Otherwise ROWS is 1, and barriers serve. A group that is one sub-group\n",
    "   exchanges registers, too. All ways add in the same order. */\n",
    "#if SHUFFLES\n",
    "#define TOGETHER() __asm volatile(\"bar.warp.sync 0xffffffff;\" : : : \"memory\")\n",
    "real over_signal(real value, __local real *room) {\n",
    "    uint step;\n",
    "    for (step = LANES / 2; step; step /= 2) {\n",
    "        uint other;\n",
    "        __asm volatile(\"shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;\" : \"=r\"(other) : \"r\"(as_uint(value)), \"r\"(step));\n",
    "        value += as_float(other);\n",
    "    }\n",
    "    return value;\n",
    "}\n",
    "#else\n",
    "#define TOGETHER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)\n",
    "#if SUB_GROUPS\n",
    "real over_signal(real value, __local real *room) {\n",
    "    uint step;\n",
    "    if (get_num_sub_groups() > 1) return over_lanes(value, room);\n",
    "    for (step = LANES / 2; step; step /= 2) value += SHUFFLE_XOR(value, step);\n",
    "    return value;\n",
    "}\n",
    "#else\n",
    "#define over_signal(value, room) over_lanes(value, room)\n",
    "#endif\n",
    "#endif\n",
    "\n",
    "/* The places of a signal's codes that hold atoms of the group, a bit each: of places 32 set .. 32 set + 31. */\n",
    "uint places_in(int set, int have, int first, int count, __global const int *atoms) {\n",
    "    uint bits = 0;\n",
    "#if SHUFFLES\n",
    "    const int k = 32 * set + (int)get_local_id(0), a = k < have ? atoms[k] - first : -1;\n",
    "    const uint mine = a >= 0 && a < count;\n",
    "    __asm volatile(\"{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }\"\n",
    "                   : \"=r\"(bits)\n",
    "                   : \"r\"(mine));\n",
    "#else\n",
    "    int k;\n",
    "    for (k = 32 * set; k < have && k < 32 * set + 32; k++) {\n",
    "        const int a = atoms[k] - first;\n",
    "        if (a >= 0 && a < count) bits |= 1u << k % 32;\n",
    "    }\n",
    "#endif\n",
    "    return bits;\n",
    "}\n",
    "\n",
    "#define SETS ((STRIDE + 31) / 32)\n",
    "/* For each place k that the bits of a set name. */\n",
    "#define FOR_EACH(k, set, bits, left) \\\n",
    "    for (left = (bits)[set]; left && ((k) = 32 * (set) + popcount((left & (0u - left)) - 1), 1); left &= left - 1)\n",
    "\n",
    "/* fresh: the new atoms in their places, and from value `overlaps` on d_old'd_new of each. LANES items a signal, which they\n",
    "   pass over if it uses none of the atoms: first all x_new from the E they share, then E and the codes. */\n",
    "__kernel OF_SUB_GROUPS __attribute__((reqd_work_group_size(LANES, ROWS, 1))) void\n",
    "update_signals(uint m, int p, int first, int count, __global const real *restrict D, __global const real *restrict fresh,\n",
    "               ulong overlaps, __global const int *restrict used, __global const int *restrict atoms,\n",
    "               __global real *restrict coefs, __global real *restrict E, int want_residual) {\n",
    "    __local real room[LANES * ROWS], x_all[ROWS][STRIDE];\n",
    "    const size_t i = get_global_id(1), at = i * STRIDE;\n",
    "    const int lane = (int)get_local_id(0), have = i < m ? used[i] : 0;\n",
    "    __global const real *group = fresh + (size_t)first * (size_t)p;\n",
    "    __local real *x_new = x_all[get_local_id(1)];\n",
    "    __global real *e = E + i * (size_t)p;\n",
    "    uint bits[SETS], left, touched = 0;\n",
    "    int k, r, set;\n",
    "#pragma unroll\n",
    "    for (set = 0; set < SETS; set++) {\n",
    "        bits[set] = places_in(set, have, first, count, atoms + at);\n",
    "        touched |= bits[set];\n",
    "    }\n",
    "    if (!touched) return;\n",
    "#pragma unroll\n",
    "    for (set = 0; set < SETS; set++) FOR_EACH(k, set, bits, left) {\n",
    "        const int a = atoms[at + (size_t)k] - first;\n",
    "        real sum = 0;\n",
    "        for (r = lane; CODES && r < p; r += LANES) sum = fma(e[r], group[(size_t)a * (size_t)p + (size_t)r], sum);\n",
    "        if (CODES) sum = over_signal(sum, room);\n",
    "        if (lane == 0) x_new[k] = new_code(coefs[at + (size_t)k], sum, fresh[overlaps + (size_t)(first + a)]);\n",
    "    }\n",
    "    TOGETHER();\n",
    "    for (r = lane; want_residual && r < p; r += LANES) {\n",
    "        real rest = e[r];\n",
    "#pragma unroll\n",
    "        for (set = 0; set < SETS; set++) FOR_EACH(k, set, bits, left) {\n",
    "            const int a = atoms[at + (size_t)k] - first;\n",
    "            rest = fma(coefs[at + (size_t)k], D[(size_t)(first + a) * (size_t)p + (size_t)r], rest);\n",
    "            rest = fma(-x_new[k], group[(size_t)a * (size_t)p + (size_t)r], rest);\n",
    "        }\n",
    "        e[r] = rest;\n",
    "    }\n",
    "    TOGETHER(); /* nobody needs the old codes any more */\n",
    "    for (k = lane; k < have; k += LANES)\n",
    "        if (bits[k / 32] >> k % 32 & 1) coefs[at + (size_t)k] = x_new[k];\n",
    "}\n",
    "\n",
    "/* The same for one atom: its uses are all in different signals, so LANES items a use, and no signal is looked at in vain. */\n",
    "__kernel __attribute__((reqd_work_group_size(LANES, ROWS, 1))) void\n",
    "update_uses(uint begin, uint end, int p, int atom, __global const real *restrict D, __global const real *restrict fresh,\n",
    "            ulong overlaps, __global const uint *restrict uses, __global real *restrict coefs,\n",
    "            __global real *restrict E, int want_residual) {\n",
    "    __local real room[LANES * ROWS];\n",
    "    const uint u = begin + (uint)get_global_id(1);\n",
    "    const int lane = (int)get_local_id(0);\n",
    "    const uint cell = u < end ? uses[u] : 0;\n",
    "    __global real *e = E + (size_t)(cell / STRIDE) * (size_t)p;\n",
    "    __global const real *before = D + (size_t)atom * (size_t)p;\n",
    "    __global const real *after = fresh + (size_t)atom * (size_t)p;\n",
    "    real sum = 0, x = u < end ? coefs[cell] : 0, x_new;\n",
    "    int r;\n",
    "    for (r = lane; CODES && u < end && r < p; r += LANES) sum = fma(e[r], after[r], sum);\n",
    "    if (CODES) sum = over_lanes(sum, room);\n",
    "    x_new = new_code(x, sum, fresh[overlaps + (size_t)atom]);\n",
    "    for (r = lane; want_residual && u < end && r < p; r += LANES)\n",
    "        e[r] = fma(-x_new, after[r], fma(x, before[r], e[r]));\n",
    "    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);\n",
    "    if (u < end && lane == 0) coefs[cell] = x_new;\n",
    "}\n",
    "#endif\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_contract[] = {
    "/* contract.h - the numbers that host and kernels share, each once. `make embed` puts these lines into sparsehs_cl.h, and every\n",
    "   kernel begins with them (device.cl). A program for a device without doubles defines SPARSEHS_NO_DOUBLE, even if the library has\n",
    "   doubles. */\n",
    "\n",
    "/* ---- numbers of sparsehs.h: a macro can be defined again with the same text only, so that compilers tell a difference ---- */\n",
    "#ifdef SPARSEHS_DOUBLE\n",
    "#define SHS__EPS 2.220446049250313080847263e-16\n",
    "#define SHS__OMP_GUARD ((shs_real)1e-12)\n",
    "#define SHS__OMP_TRUST2 ((shs_wide)1e-12)\n",
    "#define SHS__OMP_SURE ((shs_real)1e-4)\n",
    "#else\n",
    "#define SHS__EPS 1.1920928955078125e-7f\n",
    "#define SHS__OMP_GUARD ((shs_real)1e-5f)\n",
    "#define SHS__OMP_TRUST2 ((shs_wide)1 / 10000)\n",
    "#define SHS__OMP_SURE ((shs_real)1e-2f)\n",
    "#endif\n",
    "#ifdef SPARSEHS_NO_DOUBLE\n",
    "#define SHS__WIDE_EPS 1.1920928955078125e-7f\n",
    "#else\n",
    "#define SHS__WIDE_EPS 2.220446049250313080847263e-16\n",
    "#endif\n",
    "#define SHS__OMP_REFRESHES 4\n",
    "#define SHS__OMP_REFINES 10\n",
    "#define SHS__OMP_FALL ((shs_wide)1 / 1000)\n",
    "#define SHS__OMP_TEAM_FALL ((shs_wide)1 / 1000000)\n",
    "#define SHS__CC_SCALES 4                         /* that are tried for a signal */\n",
    "#define SHS__CC_HALF_UNIT 5.9604644775390625e-8f /* 2^-24: of half precision */\n",
    "/* Coefficients are below it: 65,520 in half precision, 2^127 else. */\n",
    "#define SHS__CC_LIMIT(type) ((type) == 2 ? (shs_real)65520 : (shs_real)1.7014118346046923e38f)\n",
    "\n",
    "/* ---- the matrix product (gemm.cl) ---- */\n",
    "#define SHS__CL_GEMM_TILE 128                     /* rows and columns of C a group: 16 x 16 items of 8 x 8 */\n",
    "#ifdef SPARSEHS_DOUBLE\n",
    "#define SHS__CL_GEMM_STEP 8                       /* of the long dimension in local memory at a time, 34 KB in all, */\n",
    "#else\n",
    "#define SHS__CL_GEMM_STEP 16\n",
    "#endif\n",
    "#define SHS__CL_GEMM_PITCH (SHS__CL_GEMM_TILE + 4) /* whose rows start in different banks, and still on 16 bytes */\n",
    "#define SHS__CL_PLAIN_TILE 4                      /* rows and columns of an item of gemm_plain */\n",
    "#define SHS__CL_SUM_PARTS 8                       /* items that share the partial sums of a value out, */\n",
    "#define SHS__CL_SUM_VALUES 32                     /* and values of such a group */\n",
    "\n",
    "/* ---- the symmetric product (syrk.cl) ---- */\n",
    "#define SHS__CL_SPLIT_SIDE 32 /* rows and columns of a block of syrk_split: an item each */\n",
    "#define SHS__CL_UNITS_WARPS 2 /* of syrk_units down a tile, and as many across: */\n",
    "#define SHS__CL_UNITS_ITEMS (32 * SHS__CL_UNITS_WARPS * SHS__CL_UNITS_WARPS)\n",
    "\n",
    "/* ---- sparse coding (omp.h) ---- */\n",
    "#define SHS__CL_WARP_ITEMS 32            /* items that share a signal in omp_warp; atoms are padded to a multiple of it */\n",
    "#define SHS__CL_WARP_PITCH(n) ((n) + 4)  /* of the rows of b in local memory: those of different k start in different banks */\n",
    "#define SHS__CL_UNREACHED 1              /* the state of a signal, as flags: above its tolerance; */\n",
    "#define SHS__CL_DOUBTFUL 2               /* in doubt: pursue again, with the explicit residual; */\n",
    "#define SHS__CL_UNPROVEN 4               /* good codes, but |r|^2 is too small for the recurrence to tell: form it explicitly; */\n",
    "#define SHS__CL_ROUGH 8                  /* good atoms, but so much alike that coefficients are to be refined by the residual */\n",
    "\n",
    "/* ---- compact codes (compact.cl) ---- */\n",
    "#define SHS__CL_ROUND_ATOMS 64 /* of a signal at most: one item rounds a signal alone, and slowly */\n",
    "\n",
    "/* ---- sums over signals, and the update (residual.cl, update.cl) ---- */\n",
    "#define SHS__CL_SUM_ITEMS 64       /* of a group that adds over all signals */\n",
    "#define SHS__CL_USES_ITEMS 128     /* of a group that lists uses */\n",
    "#define SHS__CL_USES_TILE 2048     /* atoms that it counts: 16 KB of local memory */\n",
    "#define SHS__CL_GRAM_TILE 512      /* columns of XX' that a group forms: a tally for each of 8 rows takes 32 KB */\n",
    "#define SHS__CL_ATOM_ITEMS 64      /* of a group that makes an atom anew */\n",
    "#define SHS__CL_MOD_TILE 32        /* rows and columns of a tile of MOD's system, two of which take 17 KB, */\n",
    "#define SHS__CL_MOD_ITEMS 256      /* and items of its groups */\n",
    "#define SHS__CL_USES_STRETCH 256   /* uses of an atom whose sum is formed in one go */\n",
    "\n",
    "/* ---- pixels (pixels.cl, moments.cl, map.cl, sweep.cl, bytes.cl) ---- */\n",
    "#define SHS__CL_ITEMS 256           /* of a group */\n",
    "#define SHS__CL_CHUNK_PIXELS 1024   /* of a group of load, and of one partial sum of products */\n",
    "#define SHS__CL_SWEEP_ITEMS 128     /* of a group of sweep.cl, */\n",
    "#define SHS__CL_SWEEP_PIXELS 4096   /* and its pixels */\n",
    "#define SHS__CL_ADD_ITEMS 128       /* of a group that adds the partial sums of one element */\n",
    "#define SHS__CL_BIP_BANDS 16        /* of a group of load where the bands of a pixel are neighbours */\n",
    "#define SHS__CL_TILE_EDGE(r) (16 * (r))            /* of a tile of products: 16 x 16 items of r x r */\n",
    "#define SHS__CL_DIAGONALS_ACROSS(n) (((n) + 7) / 8)   /* blocks of 8 x 8 across the n columns of the diagonals, */\n",
    "#define SHS__CL_DIAGONALS_DOWN(n) (((n) / 2 + 8) / 8) /* and down its n / 2 + 1 diagonals */\n",
    "#define SHS__CL_BYTE_PIXELS 4096    /* of a group of byte_products: many groups, few partial sums a pixel; at most 32768 */\n",
    "#define SHS__CL_BYTE_TILE 128       /* bands of one */\n",
    "#define SHS__CL_MAP_ITEMS 128       /* of a group of map.cl: three groups of 168 registers an item fit a multiprocessor of an H200 */\n",
    "#define SHS__CL_MAP_DEEP 16         /* bands of BIP that map.cl transposes at a time: 32 and 64 are no faster */\n",
    "#define SHS__CL_MAP_TOGETHER(bytes) ((bytes) < 4 ? 4 / (bytes) : 1) /* of them in a word of local memory, */\n",
    "#define SHS__CL_MAP_PITCH(bytes) (SHS__CL_MAP_DEEP / SHS__CL_MAP_TOGETHER(bytes) + 1) /* and words of a pixel: an odd number */\n",
    "#define SHS__CL_MAP_UNITS 56        /* outputs of a group by matrix units at most: 112 of an item's registers */\n",
    "#define SHS__CL_MAP_FEW 24          /* outputs for which they do not pay */\n",
    "#define SHS__CL_MAP_STORE 0         /* what map.cl does with its outputs */\n",
    "#define SHS__CL_MAP_WHITEN 1\n",
    "#define SHS__CL_MAP_EXTREMES 2\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_sum[] = {
    "/* sum.h - the sum of a value of each work-item of a group: for residual.cl, update.cl and lasso.cl. */\n",
    "\n",
    "/* SUM_OVER(name, type) defines name(value, item, items, room): the sum of the values of `items` neighbouring work-items, always in\n",
    "   the same order. `room` has a value for each of them and may be used again afterwards. All items of the group take part. */\n",
    "#define SUM_OVER(name, type)                                         \\\n",
    "    type name(type value, int item, int items, __local type *room) { \\\n",
    "        int width;                                                   \\\n",
    "        if (items == 1) return value;                                \\\n",
    "        room[item] = value;                                          \\\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);                                \\\n",
    "        for (width = items / 2; width > 0; width /= 2) {             \\\n",
    "            if (item < width) room[item] += room[item + width];      \\\n",
    "            barrier(CLK_LOCAL_MEM_FENCE);                            \\\n",
    "        }                                                            \\\n",
    "        value = room[0];                                             \\\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);                                \\\n",
    "        return value;                                                \\\n",
    "    }\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_cube[] = {
    "/* cube.h - reading the slice of a cube as it was uploaded: for pixels.cl and map.cl.\n",
    "\n",
    "   The file that includes it says ELEM, what a value becomes. */\n",
    "\n",
    "#ifndef VALUE\n",
    "#define VALUE short /* the type of a value */\n",
    "#endif\n",
    "#ifndef BYTES\n",
    "#define BYTES 2 /* its size */\n",
    "#endif\n",
    "#ifndef SWAP\n",
    "#define SWAP 0 /* 1: the bytes stand in the other order */\n",
    "#endif\n",
    "#ifndef WORK\n",
    "#define WORK ELEM /* the type of value - shift: wide where ELEM may not hold a value */\n",
    "#endif\n",
    "#ifndef SPLIT\n",
    "#define SPLIT 0 /* 1: int or uint, and WORK is float: values are taken as two halves, which float holds */\n",
    "#endif\n",
    "#ifndef FROM\n",
    "#define FROM 0 /* the slice's interleave, as a shs_interleave: 0 BSQ, 1 BIL, 2 BIP */\n",
    "#endif\n",
    "#define AS_VALUE VECTOR(as_, VALUE)\n",
    "\n",
    "inline VALUE value_of(VALUE v) {\n",
    "#if !SWAP || BYTES == 1\n",
    "    return v;\n",
    "#elif BYTES == 2\n",
    "    return AS_VALUE(as_uchar2(v).s10);\n",
    "#elif BYTES == 4\n",
    "    return AS_VALUE(as_uchar4(v).s3210);\n",
    "#else\n",
    "    return AS_VALUE(as_uchar8(v).s76543210);\n",
    "#endif\n",
    "}\n",
    "\n",
    "/* Band b of pixel p of a slice stands at_pixel + at_band values behind the slice's first; plane: from one BSQ band to the next. */\n",
    "inline size_t at_pixel(size_t p, int samples, int bands) {\n",
    "#if FROM == 0\n",
    "    return p;\n",
    "#elif FROM == 1\n",
    "    return p / (size_t)samples * (size_t)bands * (size_t)samples + p % (size_t)samples;\n",
    "#else\n",
    "    return p * (size_t)bands;\n",
    "#endif\n",
    "}\n",
    "inline size_t at_band(int b, size_t plane, int samples) {\n",
    "#if FROM == 0\n",
    "    return (size_t)b * plane;\n",
    "#elif FROM == 1\n",
    "    return (size_t)b * (size_t)samples;\n",
    "#else\n",
    "    return (size_t)b;\n",
    "#endif\n",
    "}\n",
    "inline VALUE value_at(__global const VALUE *raw, size_t p, int b, size_t plane, int samples, int bands) {\n",
    "    return value_of(raw[at_pixel(p, samples, bands) + at_band(b, plane, samples)]);\n",
    "}\n",
    "\n",
    "/* x - c, as the panel holds it. Of halves: c is near the upper one where the difference is small, so that nothing is lost. */\n",
    "inline ELEM less(VALUE v, WORK c) {\n",
    "#if SPLIT\n",
    "    return (ELEM)((WORK)(v & ~(VALUE)0xffff) - c + (WORK)(v & (VALUE)0xffff));\n",
    "#else\n",
    "    return (ELEM)((WORK)v - c);\n",
    "#endif\n",
    "}\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_map_units[] = {
    "/* map_units.h - the product of map.cl by double matrix units.\n",
    "\n",
    "   A warp keeps 32 pixels x OUTPUTS sums; add_products of units.h says which of the sums an item has. The group's pixels go through\n",
    "   local memory as doubles, KB bands at a time. */\n",
    "\n",
    "#include \"units.h\"\n",
    "\n",
    "#define BLOCKS (OUTPUTS / 8)\n",
    "#define HELD (ALL / ITEMS * 4) /* pixels, and outputs of them, that an item has sums of */\n",
    "#define OWN (OUTPUTS / 4)\n",
    "#define SUMS(name) ELEM name[HELD * OWN]\n",
    "#define OUTPUT(o) ((o) / 2 * 8 + (int)get_local_id(0) % 4 * 2 + (o) % 2)\n",
    "#if SQUARES /* an item ends with other pixels than it had sums of: see whole_lengths */\n",
    "#define FINAL PIXELS\n",
    "#define PIXEL(j) ((size_t)((j)*ITEMS) + get_local_id(0))\n",
    "#define ACROSS 1\n",
    "#else\n",
    "#define FINAL HELD\n",
    "#define PIXEL(j) (get_local_id(0) / 32 * 32 + (size_t)(8 * (j)) + get_local_id(0) % 32 / 4)\n",
    "#define ACROSS 4 /* neighbours that have different outputs */\n",
    "#endif\n",
    "\n",
    "/* Values of four bands that half a warp reads at a time lie in different banks. */\n",
    "#define KB 8\n",
    "#define ROW_PIXELS (ALL + 4)\n",
    "#define ROW_OUTPUTS (OUTPUTS + 4)\n",
    "#define TILE_PIXELS (KB * ROW_PIXELS)\n",
    "#define TILE_OUTPUTS (KB * ROW_OUTPUTS)\n",
    "#define EACH_PIXELS (KB * ALL / ITEMS)\n",
    "#define EACH_OUTPUTS ((KB * OUTPUTS + ITEMS - 1) / ITEMS)\n",
    "#define LOCAL                                                                                                                  \\\n",
    "    __local ELEM deep[2 * TILE_OUTPUTS];                                                                                       \\\n",
    "    __local WORK centre[1];                                                                                                    \\\n",
    "    __local ulong rows[1];                                                                                                     \\\n",
    "    __local ELEM tile[2 * TILE_PIXELS]\n",
    "#define LOCAL_ARGUMENTS __local ELEM *deep, __local WORK *centre, __local ulong *rows, __local ELEM *tile\n",
    "\n",
    "/* Neighbours fetch neighbours: the bands of a pixel, or the pixels of a band. */\n",
    "#if FROM == 2\n",
    "#define BAND_OF(e) (i % KB)\n",
    "#define PIXEL_OF(e) (i / KB + (e) * (ITEMS / KB))\n",
    "#else\n",
    "#define BAND_OF(e) (e)\n",
    "#define PIXEL_OF(e) i\n",
    "#endif\n",
    "\n",
    "/* y[(j * BLOCKS + o) * 2 + e]: output 8 o + 2 (lane % 4) + e of the block, of pixel 8 j + lane / 4 of the warp. */\n",
    "inline void project(SOURCE, int used, __global const ELEM *matrix, int padded, int first, LOCAL_ARGUMENTS, ELEM *y) {\n",
    "    const int i = (int)get_local_id(0), lane = i % 32, row_in = lane / 4, column_in = lane % 4, top = i / 32 * 32;\n",
    "    const size_t group = get_group_id(0) * (size_t)ALL;\n",
    "    ELEM next_m[EACH_OUTPUTS], sum[HELD][BLOCKS][2];\n",
    "    VALUE next_x[EACH_PIXELS];\n",
    "    WORK next_c[EACH_PIXELS];\n",
    "    int b0, e, j, o, q, turn = 0;\n",
    "#pragma unroll\n",
    "    for (j = 0; j < HELD; j++)\n",
    "#pragma unroll\n",
    "        for (o = 0; o < BLOCKS; o++) sum[j][o][0] = sum[j][o][1] = 0;\n",
    "#define FETCH_BANDS(from)                                                                                                      \\\n",
    "    _Pragma(\"unroll\") for (e = 0; e < EACH_PIXELS; e++) {                                                                      \\\n",
    "        const int b = min((from) + BAND_OF(e), used - 1);                                                                      \\\n",
    "        next_x[e] = FROM_HERE[ROW(b) + PLACE(group + (size_t)PIXEL_OF(e))];                                                    \\\n",
    "        next_c[e] = CENTRE(b);                                                                                                 \\\n",
    "    }                                                                                                                          \\\n",
    "    _Pragma(\"unroll\") for (e = 0; e < EACH_OUTPUTS; e++) {                                                                     \\\n",
    "        const int at = e * ITEMS + i, b = (from) + at / OUTPUTS;                                                               \\\n",
    "        next_m[e] =                                                                                                            \\\n",
    "            at < KB * OUTPUTS && b < used ? matrix[(size_t)b * (size_t)padded + (size_t)(first + at % OUTPUTS)] : (ELEM)0;     \\\n",
    "    }\n",
    "    FETCH_BANDS(0)\n",
    "    for (b0 = 0; b0 < used; b0 += KB) {\n",
    "        __local ELEM *x_now = tile + turn * TILE_PIXELS;\n",
    "        __local ELEM *m_now = deep + turn * TILE_OUTPUTS;\n",
    "        turn ^= 1;\n",
    "#pragma unroll\n",
    "        for (e = 0; e < EACH_PIXELS; e++) x_now[BAND_OF(e) * ROW_PIXELS + PIXEL_OF(e)] = LESS_CENTRE(next_x[e], next_c[e]);\n",
    "#pragma unroll\n",
    "        for (e = 0; e < EACH_OUTPUTS; e++) {\n",
    "            const int at = e * ITEMS + i;\n",
    "            if (at < KB * OUTPUTS) m_now[at / OUTPUTS * ROW_OUTPUTS + at % OUTPUTS] = next_m[e];\n",
    "        }\n",
    "        barrier(CLK_LOCAL_MEM_FENCE); /* one is enough: two pairs of tiles take turns */\n",
    "        if (b0 + KB < used) {\n",
    "            FETCH_BANDS(b0 + KB)\n",
    "        }\n",
    "#if MMA\n",
    "#pragma unroll\n",
    "        for (q = 0; q < KB; q += 4) {\n",
    "            ELEM x[HELD], m[BLOCKS];\n",
    "#pragma unroll\n",
    "            for (j = 0; j < HELD; j++) x[j] = x_now[(q + column_in) * ROW_PIXELS + top + 8 * j + row_in];\n",
    "#pragma unroll\n",
    "            for (o = 0; o < BLOCKS; o++) m[o] = m_now[(q + column_in) * ROW_OUTPUTS + 8 * o + row_in];\n",
    "#pragma unroll\n",
    "            for (j = 0; j < HELD; j += 2)\n",
    "#pragma unroll\n",
    "                for (o = 0; o < BLOCKS; o++) add_products(sum[j][o], sum[j + 1][o], x[j], x[j + 1], m[o]);\n",
    "        }\n",
    "#else\n",
    "        for (q = 0; q < KB; q++)\n",
    "            for (j = 0; j < HELD; j++)\n",
    "                for (o = 0; o < BLOCKS; o++) {\n",
    "                    const ELEM x = x_now[q * ROW_PIXELS + top + 8 * j + row_in];\n",
    "                    __local const ELEM *m = m_now + q * ROW_OUTPUTS + 8 * o + 2 * column_in;\n",
    "                    sum[j][o][0] += x * m[0];\n",
    "                    sum[j][o][1] += x * m[1];\n",
    "                }\n",
    "#endif\n",
    "    }\n",
    "    barrier(CLK_LOCAL_MEM_FENCE); /* the next block of outputs begins with the first pair again */\n",
    "#pragma unroll\n",
    "    for (j = 0; j < HELD; j++)\n",
    "#pragma unroll\n",
    "        for (o = 0; o < BLOCKS; o++) {\n",
    "            y[(j * BLOCKS + o) * 2] = sum[j][o][0];\n",
    "            y[(j * BLOCKS + o) * 2 + 1] = sum[j][o][1];\n",
    "        }\n",
    "}\n",
    "\n",
    "#if SQUARES\n",
    "/* The squared length of this item's pixel: neighbours had parts of it, which are added up for a pixel an item. */\n",
    "inline void whole_lengths(const wide *length, __local ELEM *tile, wide *value) {\n",
    "    const int i = (int)get_local_id(0);\n",
    "    int j;\n",
    "#pragma unroll\n",
    "    for (j = 0; j < HELD; j++) tile[i % 4 * ROW_PIXELS + i / 32 * 32 + 8 * j + i % 32 / 4] = length[j];\n",
    "    barrier(CLK_LOCAL_MEM_FENCE);\n",
    "    value[0] = 0;\n",
    "    for (j = 0; j < 4; j++) value[0] += tile[j * ROW_PIXELS + i];\n",
    "}\n",
    "#endif\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_map_items[] = {
    "/* map_items.h - the product of map.cl, where an item takes PIXELS pixels and OUTPUTS outputs.\n",
    "\n",
    "                 outputs ->             A value, once read, is used OUTPUTS times from a register, and an element of the matrix\n",
    "              b  +--------+             PIXELS times. The matrix goes through local memory, DEEP bands at a time, where all items\n",
    "      pixels  a  | matrix |             read the same element. With one pixel an item local memory is the limit: its 128 bytes a\n",
    "     +------+ n  +--------+             cycle are 16 doubles, and a multiprocessor of an H200 multiplies 64. With four the two are\n",
    "     | item | d  | y of   |             in balance.\n",
    "     +------+ s  | item   | */\n",
    "\n",
    "#ifndef IN_LOCAL\n",
    "#define IN_LOCAL 1 /* 0: every value from global memory, to see what local memory is worth */\n",
    "#endif\n",
    "#define BLOCKS (OUTPUTS / 4)\n",
    "#define HELD PIXELS\n",
    "#define OWN OUTPUTS\n",
    "#define SUMS(name) VEC4 name[PIXELS * BLOCKS]\n",
    "#define OUTPUT(o) (o)\n",
    "#define FINAL PIXELS\n",
    "#define PIXEL(j) ((size_t)((j)*ITEMS) + get_local_id(0))\n",
    "#define ACROSS 1\n",
    "#define UNROLLED (PIXELS == 4 ? 4 : 8) /* bands whose loads are on their way together, */\n",
    "#define FETCHED 8                      /* and words of BIP */\n",
    "\n",
    "/* BIP is read along the bands and used along the pixels: DEEP bands of the group's pixels go through local memory, where a pixel's\n",
    "   stand in words of TOGETHER bands, an odd number of words from the next pixel's, so that neighbours find different banks. */\n",
    "#if DIRECT && FROM == 2 && IN_LOCAL\n",
    "#define TRANSPOSED 1\n",
    "#define DEEP SHS__CL_MAP_DEEP\n",
    "#define TOGETHER SHS__CL_MAP_TOGETHER(BYTES)\n",
    "#define PITCH SHS__CL_MAP_PITCH(BYTES)\n",
    "#define PLACES (ALL * PITCH)\n",
    "#else\n",
    "#define TRANSPOSED 0\n",
    "#define DEEP 32\n",
    "#define TOGETHER 1\n",
    "#define PITCH 1\n",
    "#define PLACES 1\n",
    "#endif\n",
    "#if TOGETHER == 4\n",
    "typedef VECTOR(VALUE, 4) WORD;\n",
    "#elif TOGETHER == 2\n",
    "typedef VECTOR(VALUE, 2) WORD;\n",
    "#else\n",
    "typedef VALUE WORD;\n",
    "#endif\n",
    "\n",
    "#define LOCAL                                                                                                         \\\n",
    "    __local VEC4 deep[DEEP * BLOCKS];                                                                                 \\\n",
    "    __local WORK centre[DEEP];                                                                                        \\\n",
    "    __local ulong rows[DEEP];                                                                                         \\\n",
    "    __local WORD tile[PLACES]\n",
    "#define LOCAL_ARGUMENTS __local VEC4 *deep, __local WORK *centre, __local ulong *rows, __local WORD *tile\n",
    "\n",
    "/* y[j * BLOCKS + o] = matrix (x - centre) of this item's pixel j for the block's outputs 4 o .. 4 o + 3; matrix: bands x `padded`\n",
    "   outputs. All items of a group must come here. Behind the last band stands the last again, which is multiplied by 0. */\n",
    "inline void project(SOURCE, int used, __global const ELEM *matrix, int padded, int first, LOCAL_ARGUMENTS, VEC4 *y) {\n",
    "    const int i = (int)get_local_id(0);\n",
    "    const size_t group = get_group_id(0) * (size_t)ALL;\n",
    "    size_t place[PIXELS];\n",
    "    int b0, b, o, e, j, k;\n",
    "    for (j = 0; j < PIXELS; j++) place[j] = TRANSPOSED ? (size_t)((j * ITEMS + i) * PITCH) : PLACE(group + (size_t)(j * ITEMS + i));\n",
    "    for (o = 0; o < PIXELS * BLOCKS; o++) y[o] = (VEC4)(0);\n",
    "#if !IN_LOCAL\n",
    "    for (b = 0; b < used; b++)\n",
    "        for (j = 0; j < PIXELS; j++) {\n",
    "            const ELEM x = LESS_CENTRE(FROM_HERE[ROW(b) + place[j]], CENTRE(b));\n",
    "            __global const VEC4 *m = (__global const VEC4 *)(matrix + (size_t)b * (size_t)padded + (size_t)first);\n",
    "            for (o = 0; o < BLOCKS; o++) y[j * BLOCKS + o] += m[o] * x;\n",
    "        }\n",
    "    return;\n",
    "#endif\n",
    "    for (b0 = 0; b0 < used; b0 += DEEP) {\n",
    "        const int depth = min(DEEP, used - b0), rounded = (depth + TOGETHER - 1) / TOGETHER * TOGETHER;\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        for (e = i; e < rounded * OUTPUTS; e += ITEMS)\n",
    "            ((__local ELEM *)deep)[e] =\n",
    "                e < depth * OUTPUTS ? matrix[(size_t)(b0 + e / OUTPUTS) * (size_t)padded + (size_t)(first + e % OUTPUTS)] : (ELEM)0;\n",
    "        if (i < rounded) {\n",
    "            centre[i] = CENTRE(b0 + min(i, depth - 1));\n",
    "            rows[i] = ROW(b0 + min(i, depth - 1));\n",
    "        }\n",
    "#if TRANSPOSED\n",
    "        {\n",
    "            const int word = i % (DEEP / TOGETHER); /* of a pixel, the same for all pixels of this item */\n",
    "            size_t row[TOGETHER];\n",
    "            for (k = 0; k < TOGETHER; k++) row[k] = ROW(b0 + min(word * TOGETHER + k, depth - 1));\n",
    "#if !IS_CPU\n",
    "#pragma unroll FETCHED\n",
    "#endif\n",
    "            for (e = i / (DEEP / TOGETHER); e < ALL; e += ITEMS / (DEEP / TOGETHER)) {\n",
    "                __global const VALUE *from = FROM_HERE + PLACE(group + (size_t)e);\n",
    "                WORD w;\n",
    "#pragma unroll\n",
    "                for (k = 0; k < TOGETHER; k++) ((VALUE *)&w)[k] = from[row[k]];\n",
    "                tile[e * PITCH + word] = w;\n",
    "            }\n",
    "        }\n",
    "#endif\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "#if !IS_CPU /* which says at length that it could not */\n",
    "#pragma unroll (UNROLLED / TOGETHER)\n",
    "#endif\n",
    "        for (b = 0; b < rounded; b += TOGETHER) {\n",
    "            WORD word[PIXELS];\n",
    "#pragma unroll\n",
    "            for (j = 0; j < PIXELS; j++) {\n",
    "#if TRANSPOSED\n",
    "                word[j] = tile[place[j] + (size_t)(b / TOGETHER)];\n",
    "#else\n",
    "                word[j] = FROM_HERE[rows[b] + place[j]];\n",
    "#endif\n",
    "            }\n",
    "#pragma unroll\n",
    "            for (k = 0; k < TOGETHER; k++) {\n",
    "                ELEM x[PIXELS];\n",
    "#pragma unroll\n",
    "                for (j = 0; j < PIXELS; j++) x[j] = LESS_CENTRE(((const VALUE *)(word + j))[k], centre[b + k]);\n",
    "#pragma unroll\n",
    "                for (o = 0; o < BLOCKS; o++) {\n",
    "                    const VEC4 m = deep[(b + k) * BLOCKS + o];\n",
    "#pragma unroll\n",
    "                    for (j = 0; j < PIXELS; j++) y[j * BLOCKS + o] += m * x[j];\n",
    "                }\n",
    "            }\n",
    "        }\n",
    "    }\n",
    "}\n",
    "\n",
    "#if SQUARES\n",
    "/* An item has its pixels' lengths already. */\n",
    "inline void whole_lengths(const wide *length, __local WORD *tile, wide *value) {\n",
    "    int j;\n",
    "    for (j = 0; j < HELD; j++) value[j] = length[j];\n",
    "}\n",
    "#endif\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_omp[] = {
    "/* omp.h - orthogonal matching pursuit in the Gram domain: the codes of many signals from alpha = D'y and G = D'D. What all coders\n",
    "   share: the rule of choice, the tolerance, and what is said of a signal in the end.\n",
    "\n",
    "   With q_k the k-th orthonormalised atom and b_k = D'q_k, choosing atom j gives\n",
    "\n",
    "       c_i = b_i[j] (i < k),  d^2 = G_jj - sum c_i^2,  b_k = (G_j - sum c_i b_i) / d,  t_k = alpha_j / d,\n",
    "       alpha -= t_k b_k,  |r|^2 -= t_k^2;   (c_1 .. c_{k-1}, d) is row k of L, and L'x = t gives the coefficients.\n",
    "\n",
    "   Each coder is a kernel in a file of its own. The caller names one (shs_cl_options.coder), or the host chooses\n",
    "   (shs__cl_choose_coder):\n",
    "\n",
    "       omp_warp     a warp of 32 items a signal: GPUs, where n <= 1024, s <= 32 and L with the rows of b fits the local memory\n",
    "       omp_item     one item a signal: the plainest; the tests compare the others with it\n",
    "       omp_group    a group of items a signal, alpha in registers: dictionaries too large for omp_warp\n",
    "       omp_general  a group of items a signal, everything in global memory: any n and s. With `settle` omp_general codes\n",
    "                    the signals that the first three left open\n",
    "       omp_team     a group of items for signals that share their atoms (simultaneous OMP)\n",
    "\n",
    "   All of them write zeros to the unused places of a signal's codes.\n",
    "\n",
    "   The first four do the same operations on the same values in the same order: every product is an fma, every reduction takes the\n",
    "   largest or the first. So on one device they give the same bits. A team of one signal gets the codes of that signal.\n",
    "\n",
    "   What the recurrences cannot decide, the first three mark in state[] (UNREACHED, DOUBTFUL, UNPROVEN, ROUGH: see contract.h), and\n",
    "   omp_general settles it.\n",
    "\n",
    "   Their textbook twins are shs_omp_naive and shs_somp_naive. */\n",
    "\n",
    "#ifndef TOLERANT\n",
    "#define TOLERANT 1 /* 0: no signal has a tolerance, and code for tolerances is left out */\n",
    "#endif\n",
    "#ifndef BY_SQRT\n",
    "#define BY_SQRT 0 /* 1: rsqrt gives other bits in one kernel than in another (Intel's, in vectors of items and in single ones) */\n",
    "#endif\n",
    "\n",
    "#pragma OPENCL FP_CONTRACT OFF\n",
    "\n",
    "#define WARP SHS__CL_WARP_ITEMS\n",
    "#define UNREACHED SHS__CL_UNREACHED\n",
    "#define DOUBTFUL SHS__CL_DOUBTFUL\n",
    "#define UNPROVEN SHS__CL_UNPROVEN\n",
    "#define ROUGH SHS__CL_ROUGH\n",
    "#define NONE 0xffffffffu\n",
    "#define GUARD SHS__OMP_GUARD\n",
    "#define TRUST2 SHS__OMP_TRUST2\n",
    "#define SURE SHS__OMP_SURE\n",
    "#define EPSILON ((wide)SHS__EPS)\n",
    "#define WIDE_EPSILON ((wide)SHS__WIDE_EPS)\n",
    "\n",
    "#if BY_SQRT\n",
    "#define INVERSE_ROOT(x) (1 / sqrt(x))\n",
    "#else\n",
    "#define INVERSE_ROOT(x) rsqrt(x)\n",
    "#endif\n",
    "\n",
    "/* ---- the rule of choice ------------------------------------------------------------------------------------------- */\n",
    "\n",
    "/* SELECT_name, a name of SHS_SELECTION_LIST. SCORE(alpha, gjj, d2) of an atom is never negative; 0: not to be chosen. With\n",
    "   DISTANCES all atoms have d^2, from which b^2 is taken where alpha loses t b; without, gjj and d2 are not read. */\n",
    "#ifdef SELECT_OLS /* the residual loses (alpha / d)^2 */\n",
    "#define DISTANCES 1\n",
    "#define OWN_LENGTH(gjj) sqrt(gjj)\n",
    "#define SCORE(alpha, gjj, d2) ((d2) > GUARD * (gjj) ? fabs(alpha) * INVERSE_ROOT(d2) : (real)0)\n",
    "#else\n",
    "#define DISTANCES 0\n",
    "#define OWN_LENGTH(gjj) 1\n",
    "#define SCORE(alpha, gjj, d2) fabs(alpha)\n",
    "#endif\n",
    "\n",
    "/* G_jj as rules of choice take it: an atom whose squared length is subnormal is not to be chosen. See shs__omp_has_length. */\n",
    "#ifdef SPARSEHS_DOUBLE\n",
    "#define SMALLEST DBL_MIN\n",
    "#else\n",
    "#define SMALLEST FLT_MIN\n",
    "#endif\n",
    "real length2_of(real gjj) {\n",
    "    if (gjj >= SMALLEST) return gjj;\n",
    "    return 0;\n",
    "}\n",
    "\n",
    "/* How much larger than they are the squares of b_k may be, at 1, where its atom had d^2 and at least `left` of it: see\n",
    "   shs__omp_append_gram. */\n",
    "real inflation_of(real gjj, real d2, real left) {\n",
    "    const real wrong = 2 * (8 * (real)SHS__EPS * gjj + (d2 - left)) / d2;\n",
    "    if (wrong > GUARD) return 1 + wrong;\n",
    "    return 1;\n",
    "}\n",
    "\n",
    "/* Whether an atom adds no more than rounding. The guard is |alpha| of the first atom, with DISTANCES as if of unit norm. */\n",
    "#define GUARD_OF(value, gjj) (fabs(value) > 0 ? GUARD * fabs(value) / OWN_LENGTH(gjj) : (real)0)\n",
    "#define IS_ROUNDING(value, guard, gjj, d2, left) \\\n",
    "    (!(fabs(value) > (guard)*OWN_LENGTH(gjj)) || !((d2) > GUARD * (gjj)) || (DISTANCES && !((left) > GUARD * (gjj))))\n",
    "\n",
    "/* ---- the tolerance ------------------------------------------------------------------------------------------------ */\n",
    "\n",
    "#define ABOVE 0\n",
    "#define BELOW 1\n",
    "#define UNSURE 2\n",
    "#define PLACE(k, i) ((k) * ((k) + 1) / 2 + (i)) /* of element i of row k in a packed triangle */\n",
    "\n",
    "/* The three smallest d^2 / G_jj of the chosen atoms. */\n",
    "typedef struct shares {\n",
    "    real least, second, third;\n",
    "} shares;\n",
    "\n",
    "shares whole_shares(void) {\n",
    "    shares s;\n",
    "    s.least = 1;\n",
    "    s.second = 1;\n",
    "    s.third = 1;\n",
    "    return s;\n",
    "}\n",
    "\n",
    "/* Without a tolerance nobody asks for more than the least. */\n",
    "void take_share(shares *s, real d2, real gjj) {\n",
    "    real share;\n",
    "    if (!TOLERANT) {\n",
    "        if (d2 < s->least * gjj) s->least = d2 / gjj;\n",
    "        return;\n",
    "    }\n",
    "    if (!(d2 < s->third * gjj)) return;\n",
    "    share = d2 / gjj;\n",
    "    s->third = share;\n",
    "    if (share < s->second) {\n",
    "        s->third = s->second;\n",
    "        s->second = share;\n",
    "    }\n",
    "    if (share < s->least) {\n",
    "        s->second = s->least;\n",
    "        s->least = share;\n",
    "    }\n",
    "}\n",
    "\n",
    "/* Where the recurrence stands: its error is below 8 eps |r|^2 (when that was last exact) over the product of the shares, and more\n",
    "   where the least is below SURE: each division by a small d enlarges the errors of those before. */\n",
    "int verdict(wide residual2, wide base2, shares s, wide tolerance2) {\n",
    "    const wide together = (wide)s.least * (wide)s.second * (wide)s.third;\n",
    "    const wide slack = 8 * EPSILON * base2 / together;\n",
    "    if (!(tolerance2 > 0)) return ABOVE;\n",
    "    if (residual2 + slack <= tolerance2 && !(s.least < SURE)) return BELOW;\n",
    "    if (residual2 - slack > tolerance2 && residual2 > TRUST2 * base2) return ABOVE;\n",
    "    return UNSURE;\n",
    "}\n",
    "\n",
    "/* What is said of signal i, which ended with k atoms. */\n",
    "void conclude(size_t i, int k, wide residual2, wide base2, shares s, int missed, int flags, __global int *used,\n",
    "              __global real *errors2, __global int *state) {\n",
    "    if (missed) flags |= UNREACHED;\n",
    "    if (base2 > 0 && s.least < SURE) flags |= ROUGH;\n",
    "    else if (base2 > 0 && residual2 <= TRUST2 * base2) flags |= UNPROVEN;\n",
    "    used[i] = k;\n",
    "    errors2[i] = (real)residual2;\n",
    "    state[i] = flags;\n",
    "}\n",
    "\n",
    "int limit_of(size_t i, int limit, __global const int *limits) { return limits ? min(limits[i], limit) : limit; }\n",
    "\n",
    "/* Squared; 0: none. A tolerance whose square underflows is one all the same. */\n",
    "wide tolerance2_of(size_t i, real tolerance, __global const real *tolerances) {\n",
    "    const wide t = (wide)(tolerances ? tolerances[i] : tolerance);\n",
    "    if (!TOLERANT || !(t > 0)) return 0;\n",
    "    return fmax(t * t, WIDE_LEAST);\n",
    "}\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_pursuit[] = {
    "/* pursuit.h - one signal, or a team of them, on its way through a group of GROUP items, with all its values in global memory: for\n",
    "   omp_general.cl and omp_team.cl. */\n",
    "\n",
    "#if GROUP == 1\n",
    "#define SYNC()\n",
    "#else\n",
    "#define SYNC() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)\n",
    "#endif\n",
    "#define REFRESHES SHS__OMP_REFRESHES\n",
    "\n",
    "/* One signal on its way, or a team of them. The scalars are the same in all items of the group; the arrays are the\n",
    "   group's own scratch in global memory, x and atoms the codes themselves. */\n",
    "typedef struct pursuit {\n",
    "    int n, padded, p, stride, lane;\n",
    "    int chosen, limit, confirms, r_is_explicit, reached;\n",
    "    wide tolerance2, base2, residual2;\n",
    "    real guard, inflation;\n",
    "    shares small;\n",
    "    __global const real *D, *G, *y;\n",
    "    __global real *alpha, *B, *L, *t, *r, *x; /* L: rows of stride values, 1/d on the diagonal */\n",
    "    __global real *diagonal, *distance;       /* G_jj and d^2 */\n",
    "    __global int *atoms;\n",
    "    __local real *sizes;\n",
    "    __local int *places;\n",
    "    __local wide *sums;\n",
    "} pursuit;\n",
    "\n",
    "/* What does not change from signal to signal. */\n",
    "void start(pursuit *w, int n, int padded, int p, int stride, __global const real *D, __global const real *G, __global real *scratch,\n",
    "           __local real *sizes, __local int *places, __local wide *sums) {\n",
    "    w->n = n;\n",
    "    w->padded = padded;\n",
    "    w->p = p;\n",
    "    w->stride = stride;\n",
    "    w->lane = (int)get_local_id(0);\n",
    "    w->D = D;\n",
    "    w->G = G;\n",
    "    w->sizes = sizes;\n",
    "    w->places = places;\n",
    "    w->sums = sums;\n",
    "    w->alpha = scratch;\n",
    "    w->L = w->alpha + padded;\n",
    "    w->t = w->L + (size_t)stride * (size_t)stride;\n",
    "}\n",
    "\n",
    "/* Row k of L. */\n",
    "inline __global real *row_of(const pursuit *w, int k) { return w->L + (size_t)k * (size_t)w->stride; }\n",
    "\n",
    "wide over_group(const pursuit *w, wide value) {\n",
    "    int width;\n",
    "    w->sums[w->lane] = value;\n",
    "    SYNC();\n",
    "    for (width = GROUP / 2; width > 0; width /= 2) {\n",
    "        if (w->lane < width) w->sums[w->lane] += w->sums[w->lane + width];\n",
    "        SYNC();\n",
    "    }\n",
    "    value = w->sums[0];\n",
    "    SYNC();\n",
    "    return value;\n",
    "}\n",
    "\n",
    "/* The atom of the largest score, the first of equals. */\n",
    "int choose(const pursuit *w) {\n",
    "    real best = -1;\n",
    "    int j = 0, i, width;\n",
    "    for (i = w->lane; i < w->n; i += GROUP) {\n",
    "        real score = SCORE(w->alpha[i], w->diagonal[i], w->distance[i]);\n",
    "        if (score > best) {\n",
    "            best = score;\n",
    "            j = i;\n",
    "        }\n",
    "    }\n",
    "    if (GROUP == 1) return j;\n",
    "    w->sizes[w->lane] = best;\n",
    "    w->places[w->lane] = j;\n",
    "    SYNC();\n",
    "    for (width = GROUP / 2; width > 0; width /= 2) {\n",
    "        if (w->lane < width) {\n",
    "            real other = w->sizes[w->lane + width];\n",
    "            int place = w->places[w->lane + width];\n",
    "            if (other > w->sizes[w->lane] || (other == w->sizes[w->lane] && place < w->places[w->lane])) {\n",
    "                w->sizes[w->lane] = other;\n",
    "                w->places[w->lane] = place;\n",
    "            }\n",
    "        }\n",
    "        SYNC();\n",
    "    }\n",
    "    j = w->places[0];\n",
    "    SYNC();\n",
    "    return j;\n",
    "}\n",
    "\n",
    "real dot_atom(const pursuit *w, int j, __global const real *z) {\n",
    "    __global const real *d = w->D + (size_t)j * (size_t)w->p;\n",
    "    real sum = 0;\n",
    "    int i;\n",
    "    for (i = 0; i < w->p; i++) sum = fma(d[i], z[i], sum);\n",
    "    return sum;\n",
    "}\n",
    "\n",
    "/* Element i of column j of the Gram matrix: the same chain of fma that the product D'D is made of. */\n",
    "real gram(const pursuit *w, int i, int j) {\n",
    "    if (USE_GRAM) return w->G[(size_t)j * (size_t)w->padded + (size_t)i];\n",
    "    return i < w->n ? dot_atom(w, i, w->D + (size_t)j * (size_t)w->p) : 0;\n",
    "}\n",
    "\n",
    "/* Takes atom j unless that would only add rounding; row k of L is made on the way. */\n",
    "int append(pursuit *w, int j, real *inverse, real *t) {\n",
    "    __global real *c = row_of(w, w->chosen);\n",
    "    const real left = DISTANCES ? w->distance[j] : 0;\n",
    "    real value = w->alpha[j], gjj = gram(w, j, j), d2 = gjj;\n",
    "    int k = w->chosen, i, repeated = 0;\n",
    "    for (i = w->lane; i < k; i += GROUP) c[i] = w->B[(size_t)i * (size_t)w->padded + (size_t)j];\n",
    "    SYNC();\n",
    "    for (i = 0; i < k; i++) {\n",
    "        d2 = fma(-c[i], c[i], d2);\n",
    "        repeated |= w->atoms[i] == j;\n",
    "    }\n",
    "    if (repeated || IS_ROUNDING(value, w->guard, gjj, d2, left)) return 0;\n",
    "    if (DISTANCES) w->inflation = inflation_of(gjj, d2, left);\n",
    "    *inverse = INVERSE_ROOT(d2);\n",
    "    *t = value * *inverse;\n",
    "    SYNC();\n",
    "    if (w->lane == 0) {\n",
    "        c[k] = *inverse;\n",
    "        w->t[k] = *t;\n",
    "        w->x[k] = 0;\n",
    "        w->atoms[k] = j;\n",
    "    }\n",
    "    SYNC();\n",
    "    w->residual2 = fmax(fma(-(wide)*t, (wide)*t, w->residual2), (wide)0);\n",
    "    take_share(&w->small, d2, gjj);\n",
    "    w->chosen = k + 1;\n",
    "    w->r_is_explicit = 0;\n",
    "    return 1;\n",
    "}\n",
    "\n",
    "/* After a refresh only the explicit residual can say that the tolerance is reached: the recurrences err in\n",
    "   proportion to what is left, the coefficients, as they are stored, in proportion to the signal. */\n",
    "int standing(const pursuit *w) {\n",
    "    int stands = verdict(w->residual2, w->base2, w->small, w->tolerance2);\n",
    "    return stands == BELOW && w->confirms ? UNSURE : stands;\n",
    "}\n",
    "\n",
    "/* Whether coefficients at the end are to be refined by the explicit residual, as often as they have been: see shs__omp_is_rough. */\n",
    "int is_rough(const pursuit *w, int tries, wide fall) {\n",
    "    if (w->reached) return 0;\n",
    "    if (TOLERANT && tries < 2 && standing(w) != ABOVE) return 1;\n",
    "    if (!(w->small.least < SURE) || tries >= SHS__OMP_REFINES) return 0;\n",
    "    return !w->r_is_explicit || w->residual2 < w->base2 * (1 - fall);\n",
    "}\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_exchange[] = {
    "/* exchange.h - what the WARP items of a signal do together: for omp_warp.cl.\n",
    "\n",
    "   SYNC()                     what an item wrote to local memory, all of them read after it\n",
    "   LARGEST(x, room)           the largest of all items' x, which are never negative; every item gets it\n",
    "   smallest_of(x, room)       the smallest of all items' x, a uint\n",
    "   FROM_LANE(x, lane, room)   item lane's x\n",
    "\n",
    "   `room` has a place for each item, of type ROOM_REAL (for smallest_of: uint). The results are one item's values, to the bit, so\n",
    "   all three ways give the same: PTX (SHUFFLES), sub-groups (SUB_GROUPS), and local memory. With sub-groups and local memory a\n",
    "   group is one warp, so that barriers synchronise the warp. */\n",
    "\n",
    "#if SUB_GROUPS > 1\n",
    "#define OF_SUB_GROUPS __attribute__((intel_reqd_sub_group_size(SUB_GROUPS)))\n",
    "#else\n",
    "#define OF_SUB_GROUPS\n",
    "#endif\n",
    "\n",
    "#if SHUFFLES\n",
    "#define SYNC() __asm volatile(\"bar.warp.sync 0xffffffff;\" : : : \"memory\")\n",
    "\n",
    "uint from_lane(uint value, uint lane) {\n",
    "    uint result;\n",
    "    __asm volatile(\"shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;\" : \"=r\"(result) : \"r\"(value), \"r\"(lane));\n",
    "    return result;\n",
    "}\n",
    "\n",
    "#if REDUX\n",
    "uint largest_of(uint value, __local uint *room) {\n",
    "    uint result;\n",
    "    __asm volatile(\"redux.sync.max.u32 %0, %1, 0xffffffff;\" : \"=r\"(result) : \"r\"(value));\n",
    "    return result;\n",
    "}\n",
    "uint smallest_of(uint value, __local uint *room) {\n",
    "    uint result;\n",
    "    __asm volatile(\"redux.sync.min.u32 %0, %1, 0xffffffff;\" : \"=r\"(result) : \"r\"(value));\n",
    "    return result;\n",
    "}\n",
    "#else\n",
    "uint across(uint value, uint step) {\n",
    "    uint result;\n",
    "    __asm volatile(\"shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;\" : \"=r\"(result) : \"r\"(value), \"r\"(step));\n",
    "    return result;\n",
    "}\n",
    "uint largest_of(uint value, __local uint *room) {\n",
    "    uint step;\n",
    "    for (step = WARP / 2; step; step /= 2) value = max(value, across(value, step));\n",
    "    return value;\n",
    "}\n",
    "uint smallest_of(uint value, __local uint *room) {\n",
    "    uint step;\n",
    "    for (step = WARP / 2; step; step /= 2) value = min(value, across(value, step));\n",
    "    return value;\n",
    "}\n",
    "#endif\n",
    "#define LARGEST(x, room) as_float(largest_of(as_uint(x), room))\n",
    "#define FROM_LANE(x, lane, room) as_float(from_lane(as_uint(x), (uint)(lane)))\n",
    "#define ROOM_REAL uint\n",
    "\n",
    "#elif SUB_GROUPS\n",
    "#ifdef cl_khr_subgroups\n",
    "#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n",
    "#endif\n",
    "#define SYNC() barrier(CLK_LOCAL_MEM_FENCE)\n",
    "\n",
    "/* Within each sub-group, then over the sub-groups if there are several. Any number of sub-groups is right, with any items. */\n",
    "#define PICK_OF_SUB_GROUPS(name, type, reduce, pick)                                        \\\n",
    "    type name(type value, __local type *room) {                                             \\\n",
    "        const uint count = get_num_sub_groups();                                            \\\n",
    "        uint i;                                                                             \\\n",
    "        value = reduce(value);                                                              \\\n",
    "        if (count == 1) return value;                                                       \\\n",
    "        if (get_sub_group_local_id() == 0) room[get_sub_group_id()] = value;                \\\n",
    "        SYNC();                                                                             \\\n",
    "        for (i = 0; i < count; i++) value = pick(value, room[i]);                           \\\n",
    "        SYNC();                                                                             \\\n",
    "        return value;                                                                       \\\n",
    "    }\n",
    "\n",
    "/* Numbers that are not negative have the order of their bits. */\n",
    "#if REAL_BITS == 64\n",
    "#define ROOM_REAL ulong\n",
    "#define BITS_OF(x) as_ulong(x)\n",
    "#define OF_BITS(x) as_double(x)\n",
    "#else\n",
    "#define ROOM_REAL uint\n",
    "#define BITS_OF(x) as_uint(x)\n",
    "#define OF_BITS(x) as_float(x)\n",
    "#endif\n",
    "PICK_OF_SUB_GROUPS(largest_of, ROOM_REAL, sub_group_reduce_max, max)\n",
    "PICK_OF_SUB_GROUPS(smallest_of, uint, sub_group_reduce_min, min)\n",
    "#define LARGEST(x, room) OF_BITS(largest_of(BITS_OF(x), room))\n",
    "#define FROM_LANE(x, lane, room) OF_BITS(largest_of((int)get_local_id(0) == (int)(lane) ? BITS_OF(x) : 0, room))\n",
    "\n",
    "#else /* by way of local memory */\n",
    "#define SYNC() barrier(CLK_LOCAL_MEM_FENCE)\n",
    "\n",
    "/* Reduces the values of all lanes by `pick`; every lane gets the result. */\n",
    "#define PICK_OF_LANES(name, type, pick)                                                     \\\n",
    "    type name(type value, __local type *room) {                                             \\\n",
    "        int lane = (int)get_local_id(0), width;                                             \\\n",
    "        room[lane] = value;                                                                 \\\n",
    "        for (width = WARP / 2; width; width /= 2) {                                         \\\n",
    "            SYNC();                                                                         \\\n",
    "            if (lane < width) room[lane] = pick(room[lane], room[lane + width]);            \\\n",
    "        }                                                                                   \\\n",
    "        SYNC();                                                                             \\\n",
    "        value = room[0];                                                                    \\\n",
    "        SYNC();                                                                             \\\n",
    "        return value;                                                                       \\\n",
    "    }\n",
    "PICK_OF_LANES(largest_of, real, max)\n",
    "PICK_OF_LANES(smallest_of, uint, min)\n",
    "\n",
    "real from_lane(real value, int lane, __local real *room) {\n",
    "    if ((int)get_local_id(0) == lane) room[0] = value;\n",
    "    SYNC();\n",
    "    value = room[0];\n",
    "    SYNC();\n",
    "    return value;\n",
    "}\n",
    "#define LARGEST(x, room) largest_of(x, room)\n",
    "#define FROM_LANE(x, lane, room) from_lane(x, lane, room)\n",
    "#define ROOM_REAL real\n",
    "#endif\n",
    NULL};

SHS__PRIVATE const char *const shs__cl_source_units[] = {
    "/* units.h - double matrix units: for syrk.cl and map_units.h.\n",
    "\n",
    "   A file defines ELEM as double before it includes units.h. The unit adds the product of 8 x 4 and 4 x 8 values to a block of\n",
    "   8 x 8 sums. Item l of a warp of 32 holds row l / 4, column l % 4 of the first factor and row l % 4, column l / 4 of the second.\n",
    "   Of the sums it holds row l / 4, columns 2 (l % 4) and 2 (l % 4) + 1. On an H200 the unit is twice as fast when it adds to two\n",
    "   blocks, one below the other, at a time. Without the unit (MMA 0) the items form the same sums from local memory: slow, for tests\n",
    "   and for reading. */\n",
    "\n",
    "#ifndef MMA\n",
    "#define MMA 0 /* blocks of the unit's sums: 1, as of compute capability 8.0, or 2, as of 9.0 */\n",
    "#endif\n",
    "\n",
    "/* c += a b, and the block below: d += a_below b. */\n",
    "#if MMA == 1\n",
    "inline void add_products(ELEM *c, ELEM *d, ELEM a, ELEM a_below, ELEM b) {\n",
    "    __asm volatile(\"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};\"\n",
    "                   : \"+d\"(c[0]), \"+d\"(c[1])\n",
    "                   : \"d\"(a), \"d\"(b));\n",
    "    __asm volatile(\"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};\"\n",
    "                   : \"+d\"(d[0]), \"+d\"(d[1])\n",
    "                   : \"d\"(a_below), \"d\"(b));\n",
    "}\n",
    "#elif MMA == 2\n",
    "inline void add_products(ELEM *c, ELEM *d, ELEM a, ELEM a_below, ELEM b) {\n",
    "    __asm volatile(\"mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};\"\n",
    "                   : \"+d\"(c[0]), \"+d\"(c[1]), \"+d\"(d[0]), \"+d\"(d[1])\n",
    "                   : \"d\"(a), \"d\"(a_below), \"d\"(b));\n",
    "}\n",
    "#endif\n",
    NULL};

/* Which array stands for a line that includes a file. */
SHS__PRIVATE const shs__cl_included shs__cl_includes[] = {
    {"#include \"contract.h\"\n", shs__cl_source_contract},
    {"#include \"sum.h\"\n", shs__cl_source_sum},
    {"#include \"cube.h\"\n", shs__cl_source_cube},
    {"#include \"map_units.h\"\n", shs__cl_source_map_units},
    {"#include \"map_items.h\"\n", shs__cl_source_map_items},
    {"#include \"omp.h\"\n", shs__cl_source_omp},
    {"#include \"pursuit.h\"\n", shs__cl_source_pursuit},
    {"#include \"exchange.h\"\n", shs__cl_source_exchange},
    {"#include \"units.h\"\n", shs__cl_source_units},
    {NULL, NULL}};

/* [/kernels] */

/* ================================================================================================================== */
/* RUNTIME                                                                                                            */
/* ================================================================================================================== */

/* OpenCL for the two sessions: errors, times, memory on the device, transfers, events, programs, calls of kernels, tuning. This
   part knows neither signals nor pixels. From sparsehs.h it calls the allocator and the threads alone. A session opens buffers
   (shs__cl_buffer), moves values (shs__cl_write, shs__cl_read, shs__cl_move) and runs kernels (shs__cl_begin,
   shs__cl_pass_..., shs__cl_launch). */

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#ifdef __APPLE__
#include <OpenCL/opencl.h>
#else
#include <CL/cl.h>
#endif
#include <time.h>

#ifdef SPARSEHS_CL_DYNAMIC
#ifdef _WIN32
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
typedef FARPROC shs__cl_address;
#define SHS__CL_OPEN(name) ((void *)LoadLibraryA(name))
#define SHS__CL_FIND(library, name) GetProcAddress((HMODULE)(library), name)
#else
#include <dlfcn.h>
typedef void *shs__cl_address;
#define SHS__CL_OPEN(name) dlopen(name, RTLD_NOW | RTLD_LOCAL)
#define SHS__CL_FIND(library, name) dlsym(library, name)
#endif
#ifndef SPARSEHS_CL_LIBRARY
#if defined(_WIN32)
#define SPARSEHS_CL_LIBRARY "OpenCL.dll"
#elif defined(__APPLE__)
#define SPARSEHS_CL_LIBRARY "/System/Library/Frameworks/OpenCL.framework/OpenCL"
#else
#define SPARSEHS_CL_LIBRARY "libOpenCL.so.1"
#endif
#endif
#endif

/* ---- the OpenCL functions in use --------------------------------------------------------------------------------- */

#define SHS__CL_FUNCTIONS(X)                                                                                                   \
    X(cl_int, clGetPlatformIDs, (cl_uint, cl_platform_id *, cl_uint *))                                                        \
    X(cl_int, clGetPlatformInfo, (cl_platform_id, cl_platform_info, size_t, void *, size_t *))                                 \
    X(cl_int, clGetDeviceIDs, (cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *))                            \
    X(cl_int, clGetDeviceInfo, (cl_device_id, cl_device_info, size_t, void *, size_t *))                                       \
    X(cl_int, clRetainDevice, (cl_device_id))                                                                                  \
    X(cl_int, clReleaseDevice, (cl_device_id))                                                                                 \
    X(cl_context, clCreateContext,                                                                                             \
      (const cl_context_properties *, cl_uint, const cl_device_id *,                                                           \
       void(CL_CALLBACK *)(const char *, const void *, size_t, void *), void *, cl_int *))                                     \
    X(cl_int, clRetainContext, (cl_context))                                                                                   \
    X(cl_int, clReleaseContext, (cl_context))                                                                                  \
    X(cl_int, clGetContextInfo, (cl_context, cl_context_info, size_t, void *, size_t *))                                       \
    X(cl_command_queue, clCreateCommandQueue, (cl_context, cl_device_id, cl_command_queue_properties, cl_int *))               \
    X(cl_int, clRetainCommandQueue, (cl_command_queue))                                                                        \
    X(cl_int, clReleaseCommandQueue, (cl_command_queue))                                                                       \
    X(cl_int, clGetCommandQueueInfo, (cl_command_queue, cl_command_queue_info, size_t, void *, size_t *))                      \
    X(cl_program, clCreateProgramWithSource, (cl_context, cl_uint, const char **, const size_t *, cl_int *))                   \
    X(cl_program, clCreateProgramWithBinary,                                                                                   \
      (cl_context, cl_uint, const cl_device_id *, const size_t *, const unsigned char **, cl_int *, cl_int *))                 \
    X(cl_int, clBuildProgram,                                                                                                  \
      (cl_program, cl_uint, const cl_device_id *, const char *, void(CL_CALLBACK *)(cl_program, void *), void *))              \
    X(cl_int, clGetProgramInfo, (cl_program, cl_program_info, size_t, void *, size_t *))                                       \
    X(cl_int, clGetProgramBuildInfo, (cl_program, cl_device_id, cl_program_build_info, size_t, void *, size_t *))              \
    X(cl_int, clReleaseProgram, (cl_program))                                                                                  \
    X(cl_kernel, clCreateKernel, (cl_program, const char *, cl_int *))                                                         \
    X(cl_int, clSetKernelArg, (cl_kernel, cl_uint, size_t, const void *))                                                      \
    X(cl_int, clReleaseKernel, (cl_kernel))                                                                                    \
    X(cl_int, clGetKernelWorkGroupInfo, (cl_kernel, cl_device_id, cl_kernel_work_group_info, size_t, void *, size_t *))        \
    X(cl_mem, clCreateBuffer, (cl_context, cl_mem_flags, size_t, void *, cl_int *))                                            \
    X(cl_int, clReleaseMemObject, (cl_mem))                                                                                    \
    X(cl_int, clEnqueueWriteBuffer,                                                                                            \
      (cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint, const cl_event *, cl_event *))                \
    X(cl_int, clEnqueueReadBuffer,                                                                                             \
      (cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint, const cl_event *, cl_event *))                      \
    X(cl_int, clEnqueueWriteBufferRect,                                                                                        \
      (cl_command_queue, cl_mem, cl_bool, const size_t *, const size_t *, const size_t *, size_t, size_t, size_t, size_t,      \
       const void *, cl_uint, const cl_event *, cl_event *))                                                                   \
    X(cl_int, clEnqueueReadBufferRect,                                                                                         \
      (cl_command_queue, cl_mem, cl_bool, const size_t *, const size_t *, const size_t *, size_t, size_t, size_t, size_t,      \
       void *, cl_uint, const cl_event *, cl_event *))                                                                         \
    X(cl_int, clEnqueueCopyBuffer,                                                                                             \
      (cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint, const cl_event *, cl_event *))                       \
    X(cl_int, clEnqueueFillBuffer,                                                                                             \
      (cl_command_queue, cl_mem, const void *, size_t, size_t, size_t, cl_uint, const cl_event *, cl_event *))                 \
    X(void *, clEnqueueMapBuffer,                                                                                              \
      (cl_command_queue, cl_mem, cl_bool, cl_map_flags, size_t, size_t, cl_uint, const cl_event *, cl_event *, cl_int *))      \
    X(cl_int, clEnqueueUnmapMemObject, (cl_command_queue, cl_mem, void *, cl_uint, const cl_event *, cl_event *))              \
    X(cl_int, clEnqueueNDRangeKernel,                                                                                          \
      (cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *, cl_uint, const cl_event *,        \
       cl_event *))                                                                                                            \
    X(cl_int, clEnqueueMarkerWithWaitList, (cl_command_queue, cl_uint, const cl_event *, cl_event *))                          \
    X(cl_int, clEnqueueBarrierWithWaitList, (cl_command_queue, cl_uint, const cl_event *, cl_event *))                         \
    X(cl_int, clWaitForEvents, (cl_uint, const cl_event *))                                                                    \
    X(cl_int, clGetEventProfilingInfo, (cl_event, cl_profiling_info, size_t, void *, size_t *))                                \
    X(cl_int, clReleaseEvent, (cl_event))                                                                                      \
    X(cl_int, clFlush, (cl_command_queue))                                                                                     \
    X(cl_int, clFinish, (cl_command_queue))

/* Every call goes through SHS__CL, where a variable `cl` must be in scope: the table of entries is the object's own,
   so that there is nothing global. */
#if defined(SPARSEHS_CL_SHIM)
#define SHS__CL(function) ((void)cl, SPARSEHS_CL_SHIM(function))
#elif defined(SPARSEHS_CL_DYNAMIC)
typedef struct shs__cl_api {
#define SHS__CL_ENTRY(type, function, arguments) type(CL_API_CALL *function) arguments;
    SHS__CL_FUNCTIONS(SHS__CL_ENTRY)
#undef SHS__CL_ENTRY
} shs__cl_api;
#define SHS__CL(function) (cl->api.function)
#else
#define SHS__CL(function) ((void)cl, function)
#endif

/* ---- the object -------------------------------------------------------------------------------------------------- */

typedef struct shs__cl_named {
    struct shs__cl_named *next;
    const char *name;
    cl_kernel kernel;
} shs__cl_named;

typedef struct shs__cl_program {
    struct shs__cl_program *next;
    const char *const *source;
    int is_cpu, ptx; /* how it was compiled, as in shs__cl_ways */
    char *options;   /* behind the struct */
    cl_program program;
    shs__cl_named *kernels;
} shs__cl_program;

typedef struct shs__cl_pinned {
    struct shs__cl_pinned *next;
    cl_mem buffer;
    unsigned char *memory;
    size_t bytes;
} shs__cl_pinned;

/* Rows of `width` bytes between the host, where they stand `pitch` apart, and packed ones in staging memory. */
typedef struct shs__cl_carry {
    unsigned char *packed, *host;
    size_t width, rows, pitch;
    int up;
} shs__cl_carry;

/* A part of the staging memory: until the event has come true the queue reads it, or writes what goes to the host then. */
typedef struct shs__cl_stage_slot {
    shs__cl_carry carry;
    const shs_context *ctx; /* whose threads carry */
    cl_event event;         /* NULL: free */
    int queue;
} shs__cl_stage_slot;

enum { SHS__CL_STAGE_SLOTS = 4 };

typedef struct shs__cl_stage_node {
    struct shs__cl_stage_node *next;
    shs_cl_stage stage;
} shs__cl_stage_node;

typedef struct shs__cl_tuned {
    struct shs__cl_tuned *next;
    char key[56];
    int choice;
} shs__cl_tuned;

enum { SHS__CL_PENDING = 256, SHS__CL_SPARES = 64 };

/* What the self-test said of kernels. */
enum { SHS__CL_FAULT = 160 };
typedef struct shs__cl_verdict {
    struct shs__cl_verdict *next;
    uint64_t tag;              /* of what was tested */
    char fault[SHS__CL_FAULT]; /* what differs; "" where they are right */
} shs__cl_verdict;

/* A buffer of the object: in use, or spare; or the host's memory, wrapped. */
typedef struct shs__cl_held {
    struct shs__cl_held *next;
    cl_mem buffer;
    size_t bytes;
    int spare, wrapped;
} shs__cl_held;

/* How kernels are compiled, as far as a wrong one is compiled in another way. */
typedef struct shs__cl_ways {
    int is_cpu;              /* as for a processor */
    int ptx;                 /* with NVIDIA's instructions */
    int units64;             /* blocks that double matrix units add to at a time (syrk.cl), 0 without; tests set it without PTX */
    int dot_products;        /* with an instruction for dot products of bytes, by cl_khr_integer_dot_product */
    const char *sub_groups;  /* build options of kernels by sub-groups (see exchange.h); NULL: not to be had, or wrong */
    const char *shuffle_xor; /* and of those where a sub-group also exchanges registers (see update.cl); NULL: it cannot */
} shs__cl_ways;

/* Buffers, in use and spare; spare ones are no part of in_use, whose largest value is the peak. */
typedef struct shs__cl_buffers {
    shs__cl_held *first; /* those given back last come first */
    int spare_count;
    size_t spare_bytes, peak;
} shs__cl_buffers;

/* Pinned memory through which other host memory goes, in parts that are used in turn. */
typedef struct shs__cl_staging {
    unsigned char *memory; /* SHS__CL_STAGE_SLOTS parts */
    size_t part;           /* bytes of one; 0: none are used */
    unsigned turn;
    shs__cl_stage_slot slots[SHS__CL_STAGE_SLOTS];
} shs__cl_staging;

/* Measured times, and events that have not been asked yet. */
typedef struct shs__cl_clock {
    shs__cl_stage_node *stages;
    int profiles[2]; /* whether the queue measures */
    cl_event pending[SHS__CL_PENDING];
    shs__cl_stage_node *node[SHS__CL_PENDING]; /* of each */
    int pendings;
} shs__cl_clock;

/* What only tests set, and self-tests that are running. */
typedef struct shs__cl_testing {
    int one_way;                            /* kernels are compiled in one way only */
    int map_pixels;                         /* pixels of an item of map.cl; 0: as shs__cl_map_shape finds best */
    int plain_bytes;                        /* moments of bytes are made in plain C although panels are faster */
    int running;                            /* self-tests: the test of a session may start the test of a product */
    const struct shs__cl_signals *imitated; /* sessions of a self-test use the kernels of this session; NULL: their own choice */
} shs__cl_testing;

typedef struct shs__cl_failure {
    cl_int error;     /* the last one of OpenCL */
    char memory[448]; /* "", or that a buffer was beyond the limits, in a sentence: later than `error` */
    const char *why;  /* what shs_cl_create stumbled over */
    char *log;        /* of the last program that did not build */
} shs__cl_failure;

struct shs_cl {
    shs_context ctx; /* for its allocator */
    shs_cl_options options;
    shs_cl_device about;
    shs_engine engine;
    cl_context context;
    cl_device_id device;
    cl_command_queue queue[2]; /* in order; 0 computes, 1 is for transfers that overlap */
    int has_double;            /* and uses them */
    cl_uint units;
    shs__cl_ways ways;
    int bytes;            /* how moments of 8-bit pixels are made, at best: SHS__CL_BYTES_... */
    size_t limit, in_use; /* bytes of device memory */
    shs__cl_buffers held;
    shs__cl_pinned *pinned;
    shs__cl_staging staging;
    shs__cl_program *programs;
    shs__cl_tuned *tuned;
    shs__cl_verdict *verdicts;
    shs__cl_testing test;
    shs__cl_clock clock;
    shs__cl_failure failure;
#if defined(SPARSEHS_CL_DYNAMIC) && !defined(SPARSEHS_CL_SHIM)
    shs__cl_api api;
#endif
};

/* ---- errors ------------------------------------------------------------------------------------------------------ */

SHS__PRIVATE const char *shs__cl_error_name(cl_int error) {
#define SHS__CL_CASE(code)                                                                                                     \
    case code: return #code;
    switch (error) {
        SHS__CL_CASE(CL_SUCCESS)
        SHS__CL_CASE(CL_DEVICE_NOT_FOUND)
        SHS__CL_CASE(CL_DEVICE_NOT_AVAILABLE)
        SHS__CL_CASE(CL_COMPILER_NOT_AVAILABLE)
        SHS__CL_CASE(CL_MEM_OBJECT_ALLOCATION_FAILURE)
        SHS__CL_CASE(CL_OUT_OF_RESOURCES)
        SHS__CL_CASE(CL_OUT_OF_HOST_MEMORY)
        SHS__CL_CASE(CL_PROFILING_INFO_NOT_AVAILABLE)
        SHS__CL_CASE(CL_MEM_COPY_OVERLAP)
        SHS__CL_CASE(CL_BUILD_PROGRAM_FAILURE)
        SHS__CL_CASE(CL_MAP_FAILURE)
        SHS__CL_CASE(CL_MISALIGNED_SUB_BUFFER_OFFSET)
        SHS__CL_CASE(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
        SHS__CL_CASE(CL_INVALID_VALUE)
        SHS__CL_CASE(CL_INVALID_PLATFORM)
        SHS__CL_CASE(CL_INVALID_DEVICE)
        SHS__CL_CASE(CL_INVALID_CONTEXT)
        SHS__CL_CASE(CL_INVALID_QUEUE_PROPERTIES)
        SHS__CL_CASE(CL_INVALID_COMMAND_QUEUE)
        SHS__CL_CASE(CL_INVALID_HOST_PTR)
        SHS__CL_CASE(CL_INVALID_MEM_OBJECT)
        SHS__CL_CASE(CL_INVALID_BINARY)
        SHS__CL_CASE(CL_INVALID_BUILD_OPTIONS)
        SHS__CL_CASE(CL_INVALID_PROGRAM)
        SHS__CL_CASE(CL_INVALID_PROGRAM_EXECUTABLE)
        SHS__CL_CASE(CL_INVALID_KERNEL_NAME)
        SHS__CL_CASE(CL_INVALID_KERNEL_DEFINITION)
        SHS__CL_CASE(CL_INVALID_KERNEL)
        SHS__CL_CASE(CL_INVALID_ARG_INDEX)
        SHS__CL_CASE(CL_INVALID_ARG_VALUE)
        SHS__CL_CASE(CL_INVALID_ARG_SIZE)
        SHS__CL_CASE(CL_INVALID_KERNEL_ARGS)
        SHS__CL_CASE(CL_INVALID_WORK_DIMENSION)
        SHS__CL_CASE(CL_INVALID_WORK_GROUP_SIZE)
        SHS__CL_CASE(CL_INVALID_WORK_ITEM_SIZE)
        SHS__CL_CASE(CL_INVALID_GLOBAL_OFFSET)
        SHS__CL_CASE(CL_INVALID_EVENT_WAIT_LIST)
        SHS__CL_CASE(CL_INVALID_EVENT)
        SHS__CL_CASE(CL_INVALID_OPERATION)
        SHS__CL_CASE(CL_INVALID_BUFFER_SIZE)
        SHS__CL_CASE(CL_INVALID_GLOBAL_WORK_SIZE)
    default: return "an error that OpenCL 1.2 does not name";
    }
#undef SHS__CL_CASE
}

/* The status of an OpenCL error, which is remembered for shs_cl_error_text. */
SHS__PRIVATE shs_status shs__cl_check(shs_cl *cl, cl_int error) {
    if (error == CL_SUCCESS) return SHS_OK;
    cl->failure.error = error;
    cl->failure.memory[0] = 0;
    switch (error) {
    case CL_OUT_OF_HOST_MEMORY:
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_INVALID_BUFFER_SIZE: return SHS_NO_MEMORY;
    case CL_BUILD_PROGRAM_FAILURE:
    case CL_COMPILER_NOT_AVAILABLE:
    case CL_INVALID_BINARY:
    case CL_INVALID_BUILD_OPTIONS: return SHS_BUILD_FAILED;
    case CL_DEVICE_NOT_AVAILABLE:
    case CL_INVALID_CONTEXT: /* they were valid when they were made */
    case CL_INVALID_COMMAND_QUEUE: return SHS_DEVICE_LOST;
    default: return SHS_ENGINE_FAILED;
    }
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* Appends to a text of `size` bytes, which always ends in a zero; what does not fit is left out. */
SHS__PRIVATE void shs__cl_append(char *text, size_t size, const char *more) {
    size_t used = strlen(text), room = size - used - 1, length = shs__zmin(strlen(more), room);
    memcpy(text + used, more, length);
    text[used + length] = 0;
}

SHS__PRIVATE int shs__cl_lower(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; }

/* Whether part occurs in text, in any case. */
SHS__PRIVATE int shs__cl_contains(const char *text, const char *part) {
    for (;; text++) {
        size_t i = 0;
        while (part[i] && shs__cl_lower(text[i]) == shs__cl_lower(part[i])) i++;
        if (!part[i]) return 1;
        if (!*text) return 0;
    }
}

/* FNV-1a. */
SHS__PRIVATE uint64_t shs__cl_hash(uint64_t hash, const void *data, size_t size) {
    const unsigned char *bytes = (const unsigned char *)data;
    size_t i;
    for (i = 0; i < size; i++) hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

SHS__PRIVATE void shs__cl_append_hex(char *text, size_t size, uint64_t value) {
    char digits[17];
    int i;
    for (i = 15; i >= 0; i--) {
        digits[i] = "0123456789abcdef"[value & 15];
        value >>= 4;
    }
    digits[16] = 0;
    shs__cl_append(text, size, digits);
}

SHS__PRIVATE void shs__cl_append_number(char *text, size_t size, size_t value) {
    char digits[24];
    int at = (int)sizeof digits - 1;
    digits[at] = 0;
    do digits[--at] = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    shs__cl_append(text, size, digits + at);
}

/* ---- memory on the host ------------------------------------------------------------------------------------------ */

SHS__PRIVATE void *shs__cl_alloc(shs_cl *cl, size_t bytes) {
    void *block = shs__ctx_alloc(&cl->ctx, shs__zmax(bytes, 1));
    if (block) memset(block, 0, bytes);
    return block;
}

SHS__PRIVATE void shs__cl_free(shs_cl *cl, void *block) { shs__ctx_free(&cl->ctx, block); }

/* ---- the host's clock -------------------------------------------------------------------------------------------- */

/* A moment, in whole numbers: a float would hold sixteenths of a second. Processor time where the language offers no better clock. */
typedef struct shs__cl_moment {
    int64_t seconds, parts, of; /* parts of a second, each 1 / of */
} shs__cl_moment;

SHS__PRIVATE shs__cl_moment shs__cl_now(void) {
    shs__cl_moment now;
#ifdef TIME_UTC
    struct timespec t;
    if (timespec_get(&t, TIME_UTC)) {
        now.seconds = (int64_t)t.tv_sec;
        now.parts = (int64_t)t.tv_nsec;
        now.of = 1000000000;
        return now;
    }
#endif
    now.seconds = 0;
    now.parts = (int64_t)clock();
    now.of = (int64_t)CLOCKS_PER_SEC;
    return now;
}

/* Seconds since then. */
SHS__PRIVATE shs_wide shs__cl_since(const shs__cl_moment *then) {
    const shs__cl_moment now = shs__cl_now();
    return (shs_wide)(now.seconds - then->seconds) + (shs_wide)(now.parts - then->parts) / (shs_wide)now.of;
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

/* The record of a stage, made on first use; NULL without memory, which costs no more than the record. */
SHS__PRIVATE shs__cl_stage_node *shs__cl_stage_of(shs_cl *cl, const char *name) {
    shs__cl_stage_node **at = &cl->clock.stages;
    while (*at && strcmp((*at)->stage.name, name) != 0) at = &(*at)->next;
    if (!*at) {
        *at = (shs__cl_stage_node *)shs__cl_alloc(cl, sizeof **at);
        if (*at) (*at)->stage.name = name;
    }
    return *at;
}

/* Adds up what the device has measured; waits for it. */
SHS__PRIVATE shs_status shs__cl_collect(shs_cl *cl) {
    shs_status status = SHS_OK;
    int i;
    for (i = 0; i < cl->clock.pendings; i++) {
        cl_event event = cl->clock.pending[i];
        shs_cl_stage *stage = &cl->clock.node[i]->stage;
        cl_ulong begin = 0, end = 0;
        cl_int error = SHS__CL(clWaitForEvents)(1, &event);
        if (!error) error = SHS__CL(clGetEventProfilingInfo)(event, CL_PROFILING_COMMAND_START, sizeof begin, &begin, NULL);
        if (!error) error = SHS__CL(clGetEventProfilingInfo)(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
        if (!error && end > begin) stage->seconds += (shs_wide)(end - begin) * (shs_wide)1e-9;
        if (!error) stage->runs++;
        else status = shs__cl_check(cl, error);
        SHS__CL(clReleaseEvent)(event);
    }
    cl->clock.pendings = 0;
    return status;
}

/* Takes over an event that measures a run of the stage. */
SHS__PRIVATE shs_status shs__cl_measure(shs_cl *cl, cl_event event, const char *stage) {
    shs_status status = cl->clock.pendings == SHS__CL_PENDING ? shs__cl_collect(cl) : SHS_OK;
    shs__cl_stage_node *node = shs__cl_stage_of(cl, stage);
    if (!node) {
        SHS__CL(clReleaseEvent)(event);
        return status;
    }
    cl->clock.pending[cl->clock.pendings] = event;
    cl->clock.node[cl->clock.pendings++] = node;
    return status;
}

SHS__PUBLIC shs_status shs_cl_stage_times(shs_cl *cl, shs_cl_stage *stages, int capacity, int *count, int restart) {
    shs__cl_stage_node *node;
    shs_status status;
    int have = 0;
    if (!cl) return SHS_BAD_OPTIONS;
    if (!count) return SHS_BAD_OUTPUT;
    status = shs__cl_collect(cl);
    for (node = cl->clock.stages; node; node = node->next) {
        if (stages && have < capacity) stages[have] = node->stage;
        have++;
        if (!restart) continue;
        node->stage.runs = node->stage.builds = 0;
        node->stage.seconds = node->stage.build_seconds = 0;
    }
    *count = have;
    return status;
}

/* ---- memory on the device ---------------------------------------------------------------------------------------- */

SHS__PRIVATE shs_status shs__cl_hold(shs_cl *cl, cl_mem_flags flags, size_t bytes, void *memory, cl_mem *buffer) {
    shs__cl_held *h = (shs__cl_held *)shs__cl_alloc(cl, sizeof *h);
    cl_int error = CL_SUCCESS;
    if (!h) return SHS_NO_MEMORY;
    h->buffer = SHS__CL(clCreateBuffer)(cl->context, flags, bytes, memory, &error);
    if (error) {
        shs__cl_free(cl, h);
        return shs__cl_check(cl, error);
    }
    h->bytes = bytes;
    h->spare = 0;
    h->wrapped = memory != NULL;
    h->next = cl->held.first;
    cl->held.first = h;
    *buffer = h->buffer;
    return SHS_OK;
}

SHS__PRIVATE void shs__cl_drop(shs_cl *cl, shs__cl_held **at) {
    shs__cl_held *h = *at;
    *at = h->next;
    SHS__CL(clReleaseMemObject)(h->buffer);
    shs__cl_free(cl, h);
}

/* Frees spare buffers, the oldest first, until `most` bytes in `count` of them are left. */
SHS__PRIVATE void shs__cl_drop_spares(shs_cl *cl, size_t most, int count) {
    while (cl->held.spare_bytes > most || cl->held.spare_count > count) {
        shs__cl_held **at = &cl->held.first, **oldest = NULL;
        for (; *at; at = &(*at)->next)
            if ((*at)->spare) oldest = at;
        if (!oldest) return;
        cl->held.spare_bytes -= (*oldest)->bytes;
        cl->held.spare_count--;
        shs__cl_drop(cl, oldest);
    }
}

SHS__PUBLIC void shs_cl_trim(shs_cl *cl) {
    if (cl) shs__cl_drop_spares(cl, 0, 0);
}

/* A spare buffer of just this size: a session asks for the same sizes as the one before. */
SHS__PRIVATE int shs__cl_take_spare(shs_cl *cl, size_t bytes, cl_mem *buffer) {
    shs__cl_held *h = cl->held.first;
    while (h && !(h->spare && h->bytes == bytes)) h = h->next;
    if (!h) return 0;
    h->spare = 0;
    cl->held.spare_bytes -= bytes;
    cl->held.spare_count--;
    *buffer = h->buffer;
    return 1;
}

SHS__PRIVATE shs_status shs__cl_blank(shs_cl *cl, size_t bytes, cl_mem buffer);
SHS__PRIVATE void shs__cl_release(shs_cl *cl, cl_mem *buffer);

SHS__PRIVATE size_t shs__cl_left(const shs_cl *cl) { return cl->limit - shs__zmin(cl->in_use, cl->limit); }

SHS__PRIVATE void shs__cl_append_part(shs_cl *cl, const char *before, size_t number, const char *behind) {
    shs__cl_append(cl->failure.memory, sizeof cl->failure.memory, before);
    shs__cl_append_number(cl->failure.memory, sizeof cl->failure.memory, number);
    shs__cl_append(cl->failure.memory, sizeof cl->failure.memory, behind);
}

/* The status of a call that needs `bytes` more of the device's memory, which are beyond what it may use or beyond its largest
   buffer. shs_cl_error_text says so: no OpenCL function has failed that could. */
SHS__PRIVATE shs_status shs__cl_no_room(shs_cl *cl, size_t bytes) {
    const int by_option = cl->options.memory_limit && cl->limit == cl->options.memory_limit;
    cl->failure.memory[0] = 0;
    shs__cl_append_part(cl, "device memory: ", bytes, " bytes are needed on ");
    shs__cl_append(cl->failure.memory, sizeof cl->failure.memory, cl->about.name);
    if (bytes > shs__cl_left(cl)) {
        shs__cl_append_part(cl, ", whose limit is ", cl->limit, by_option ? " (options.memory_limit)" : "");
        shs__cl_append_part(cl, " with ", cl->in_use, " in use");
    } else shs__cl_append_part(cl, ", whose largest buffer has ", cl->about.max_alloc, "");
    shs__cl_append(cl->failure.memory, sizeof cl->failure.memory, "; options.fallback lets the CPU take over");
    return SHS_NO_MEMORY;
}

/* A spare buffer of this size, else a new one. Before a new one is made, spare buffers are freed until all buffers together take no
   more memory than the buffers in use took at most (held.peak). */
SHS__PRIVATE shs_status shs__cl_buffer(shs_cl *cl, size_t bytes, cl_mem *buffer) {
    shs_status status = SHS_OK;
    bytes = shs__zmax(bytes, 16); /* an empty buffer is an error in OpenCL */
    *buffer = NULL;
    if (bytes > cl->about.max_alloc || bytes > shs__cl_left(cl)) return shs__cl_no_room(cl, bytes);
    cl->held.peak = shs__zmax(cl->held.peak, cl->in_use + bytes);
    if (!shs__cl_take_spare(cl, bytes, buffer)) {
        shs__cl_drop_spares(cl, shs__zmin(cl->held.peak, cl->limit) - cl->in_use - bytes, SHS__CL_SPARES);
        status = shs__cl_hold(cl, CL_MEM_READ_WRITE, bytes, NULL, buffer);
        if (status != SHS_OK && cl->held.spare_count > 0) {
            shs__cl_drop_spares(cl, 0, 0);
            status = shs__cl_hold(cl, CL_MEM_READ_WRITE, bytes, NULL, buffer);
        }
    }
    if (status == SHS_OK) cl->in_use += bytes;
    if (status != SHS_OK || !cl->test.running) return status;
    status = shs__cl_blank(cl, bytes, *buffer);
    if (status != SHS_OK) shs__cl_release(cl, buffer);
    return status;
}

/* The host's memory as a buffer, without a copy where they share it; not counted. The memory must not be touched by
   the host while the buffer lives, except through a map. */
SHS__PRIVATE shs_status shs__cl_wrap(shs_cl *cl, size_t bytes, void *memory, cl_mem *buffer) {
    *buffer = NULL;
    return shs__cl_hold(cl, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, memory, buffer);
}

/* Gives a buffer of shs__cl_buffer or shs__cl_wrap back; NULL is fine. No queue may hold work on it any more: what a driver
   would wait for, a spare buffer's next owner does not. */
SHS__PRIVATE void shs__cl_release(shs_cl *cl, cl_mem *buffer) {
    shs__cl_held **at = &cl->held.first, *h;
    if (!*buffer) return;
    while (*at && (*at)->buffer != *buffer) at = &(*at)->next;
    *buffer = NULL;
    h = *at;
    if (!h) return;
    if (!h->wrapped) cl->in_use -= h->bytes;
    if (h->wrapped || cl->options.lean) {
        shs__cl_drop(cl, at);
        return;
    }
    *at = h->next;
    h->next = cl->held.first;
    cl->held.first = h;
    h->spare = 1;
    cl->held.spare_bytes += h->bytes;
    cl->held.spare_count++;
    shs__cl_drop_spares(cl, cl->held.spare_bytes, SHS__CL_SPARES);
}

SHS__PUBLIC void *shs_cl_host_alloc(shs_cl *cl, size_t bytes) {
    shs__cl_pinned *p;
    cl_int error = CL_SUCCESS;
    if (!cl) return NULL;
    p = (shs__cl_pinned *)shs__cl_alloc(cl, sizeof *p);
    if (!p) return NULL;
    bytes = shs__zmax(bytes, 16);
    p->buffer = SHS__CL(clCreateBuffer)(cl->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &error);
    if (!error) {
        p->memory = (unsigned char *)SHS__CL(clEnqueueMapBuffer)(cl->queue[1], p->buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                                                                 0, bytes, 0, NULL, NULL, &error);
        if (error) SHS__CL(clReleaseMemObject)(p->buffer);
    }
    if (error) {
        cl->failure.error = error;
        shs__cl_free(cl, p);
        return NULL;
    }
    p->bytes = bytes;
    p->next = cl->pinned;
    cl->pinned = p;
    return p->memory;
}

SHS__PUBLIC void shs_cl_host_free(shs_cl *cl, void *memory) {
    shs__cl_pinned **at, *p;
    if (!cl || !memory) return;
    for (at = &cl->pinned; *at && (*at)->memory != memory;) at = &(*at)->next;
    p = *at;
    if (!p) return;
    *at = p->next;
    SHS__CL(clEnqueueUnmapMemObject)(cl->queue[1], p->buffer, memory, 0, NULL, NULL);
    SHS__CL(clFinish)(cl->queue[1]);
    SHS__CL(clReleaseMemObject)(p->buffer);
    shs__cl_free(cl, p);
}

/* ---- queues ------------------------------------------------------------------------------------------------------ */

/* Ends a transfer or a run: the event goes to the stage where the queue measures, and (or) to the caller. */
SHS__PRIVATE shs_status shs__cl_enqueued(shs_cl *cl, cl_int error, cl_event event, const char *stage) {
    shs_status status = shs__cl_check(cl, error);
    if (status == SHS_OK && event) status = shs__cl_measure(cl, event, stage);
    return status;
}

/* `later`: returns at once, and `from` must stay as it is until the queue has come there. */
SHS__PRIVATE shs_status shs__cl_upload(shs_cl *cl, int queue, cl_mem buffer, size_t offset, size_t bytes, const void *from,
                                       int later) {
    cl_event event = NULL;
    cl_int error;
    if (bytes == 0) return SHS_OK;
    error = SHS__CL(clEnqueueWriteBuffer)(cl->queue[queue], buffer, later ? CL_FALSE : CL_TRUE, offset, bytes, from, 0, NULL,
                                          cl->clock.profiles[queue] ? &event : NULL);
    return shs__cl_enqueued(cl, error, event, "upload");
}

SHS__PRIVATE shs_status shs__cl_download(shs_cl *cl, int queue, cl_mem buffer, size_t offset, size_t bytes, void *to, int later) {
    cl_event event = NULL;
    cl_int error;
    if (bytes == 0) return SHS_OK;
    error = SHS__CL(clEnqueueReadBuffer)(cl->queue[queue], buffer, later ? CL_FALSE : CL_TRUE, offset, bytes, to, 0, NULL,
                                         cl->clock.profiles[queue] ? &event : NULL);
    return shs__cl_enqueued(cl, error, event, "download");
}

SHS__PRIVATE shs_status shs__cl_write(shs_cl *cl, int queue, cl_mem buffer, size_t offset, size_t bytes, const void *from) {
    return shs__cl_upload(cl, queue, buffer, offset, bytes, from, 0);
}
SHS__PRIVATE shs_status shs__cl_write_later(shs_cl *cl, int queue, cl_mem buffer, size_t offset, size_t bytes,
                                            const void *from) {
    return shs__cl_upload(cl, queue, buffer, offset, bytes, from, 1);
}
SHS__PRIVATE shs_status shs__cl_read(shs_cl *cl, int queue, cl_mem buffer, size_t offset, size_t bytes, void *to) {
    return shs__cl_download(cl, queue, buffer, offset, bytes, to, 0);
}
SHS__PRIVATE shs_status shs__cl_read_later(shs_cl *cl, int queue, cl_mem buffer, size_t offset, size_t bytes, void *to) {
    return shs__cl_download(cl, queue, buffer, offset, bytes, to, 1);
}

/* Sets bytes to zero; offset and bytes are multiples of 4. */
SHS__PRIVATE shs_status shs__cl_clear(shs_cl *cl, int queue, cl_mem buffer, size_t offset, size_t bytes) {
    const cl_uint zero = 0;
    if (bytes == 0) return SHS_OK;
    return shs__cl_check(
        cl, SHS__CL(clEnqueueFillBuffer)(cl->queue[queue], buffer, &zero, sizeof zero, offset, bytes, 0, NULL, NULL));
}

/* Zeros in all of a self-test's buffer: what a wrong kernel leaves out is neither right from before, nor an index to anywhere. */
SHS__PRIVATE shs_status shs__cl_blank(shs_cl *cl, size_t bytes, cl_mem buffer) {
    shs_status status = shs__cl_clear(cl, 0, buffer, 0, bytes / sizeof(cl_uint) * sizeof(cl_uint));
    if (status == SHS_OK) return shs__cl_check(cl, SHS__CL(clFinish)(cl->queue[0]));
    return status;
}

SHS__PRIVATE shs_status shs__cl_copy(shs_cl *cl, int queue, cl_mem from, size_t from_offset, cl_mem to, size_t to_offset,
                                     size_t bytes) {
    if (bytes == 0) return SHS_OK;
    return shs__cl_check(
        cl, SHS__CL(clEnqueueCopyBuffer)(cl->queue[queue], from, to, from_offset, to_offset, bytes, 0, NULL, NULL));
}

/* *event is complete when the queue has done the commands that it holds now. Give it to shs__cl_after or shs__cl_wait. */
SHS__PRIVATE shs_status shs__cl_mark(shs_cl *cl, int queue, cl_event *event) {
    cl_int error;
    *event = NULL;
    error = SHS__CL(clEnqueueMarkerWithWaitList)(cl->queue[queue], 0, NULL, event);
    if (!error) error = SHS__CL(clFlush)(cl->queue[queue]);
    return shs__cl_check(cl, error);
}

/* Later commands of the queue wait for the event. The caller releases the event. */
SHS__PRIVATE shs_status shs__cl_after(shs_cl *cl, int queue, cl_event event) {
    if (!event) return SHS_OK;
    return shs__cl_check(cl, SHS__CL(clEnqueueBarrierWithWaitList)(cl->queue[queue], 1, &event, NULL));
}

/* The host waits for the event; NULL has come true. */
SHS__PRIVATE shs_status shs__cl_wait(shs_cl *cl, cl_event event) {
    if (event) return shs__cl_check(cl, SHS__CL(clWaitForEvents)(1, &event));
    return SHS_OK;
}

SHS__PRIVATE void shs__cl_forget(shs_cl *cl, cl_event *event) {
    if (*event) SHS__CL(clReleaseEvent)(*event);
    *event = NULL;
}

SHS__PRIVATE shs_status shs__cl_flush(shs_cl *cl, int queue) { return shs__cl_check(cl, SHS__CL(clFlush)(cl->queue[queue])); }

/* ---- host memory by way of staging ---------------------------------------------------------------------------------- */

/* A driver copies memory that is not pinned on one thread: on an H200 at 7 GB/s, where the bus carries 55. Here the context's
   threads copy between the host's memory and one pinned part, while the queue transfers the other parts. */

SHS__PRIVATE void shs__cl_carry_chunk(void *arg, size_t chunk, int worker) {
    const shs__cl_carry *c = (const shs__cl_carry *)arg;
    size_t at = chunk << 18, end = shs__zmin(at + ((size_t)1 << 18), c->width * c->rows);
    (void)worker;
    while (at < end) {
        size_t column = at % c->width, bytes = shs__zmin(c->width - column, end - at);
        unsigned char *host = c->host + at / c->width * c->pitch + column;
        if (c->up) memcpy(c->packed + at, host, bytes);
        else memcpy(host, c->packed + at, bytes);
        at += bytes;
    }
}

SHS__PRIVATE void shs__cl_carry_rows(const shs_context *ctx, shs__cl_carry *c) {
    size_t bytes = c->width * c->rows;
    shs__ctx_parallel(ctx, (shs_wide)bytes / 8, shs__ctx_chunks(bytes, (size_t)1 << 18), shs__cl_carry_chunk, c);
}

/* Ends the use of a part: what came down goes to the host. */
SHS__PRIVATE shs_status shs__cl_settle(shs_cl *cl, shs__cl_stage_slot *slot) {
    shs_status status = shs__cl_wait(cl, slot->event);
    if (slot->event && !slot->carry.up && status == SHS_OK) shs__cl_carry_rows(slot->ctx, &slot->carry);
    shs__cl_forget(cl, &slot->event);
    return status;
}

/* The host waits until the queue is empty, and has what came down. */
SHS__PRIVATE shs_status shs__cl_finish(shs_cl *cl, int queue) {
    shs_status status = shs__cl_check(cl, SHS__CL(clFinish)(cl->queue[queue])), settled;
    int i;
    for (i = 0; i < SHS__CL_STAGE_SLOTS; i++) {
        shs__cl_stage_slot *slot = cl->staging.slots + i;
        if (!slot->event || slot->queue != queue) continue;
        settled = shs__cl_settle(cl, slot);
        if (status == SHS_OK) status = settled;
    }
    return status;
}

/* Rows of `width` bytes on both sides. */
typedef struct shs__cl_strip {
    size_t width, rows;
    size_t offset, pitch; /* in the buffer: of the first, and from one to the next */
    unsigned char *host;
    size_t host_pitch;
} shs__cl_strip;

/* up: to the device. `later`: the transfer is only enqueued. Until the queue has done it, the caller neither changes the host's
   rows (up) nor reads them (down). */
SHS__PRIVATE shs_status shs__cl_move_directly(shs_cl *cl, int queue, cl_mem buffer, const shs__cl_strip *r, int up, int later) {
    const size_t zero[3] = {0, 0, 0};
    size_t origin[3], region[3];
    cl_event event = NULL, *timed = cl->clock.profiles[queue] ? &event : NULL;
    cl_bool waits = later ? CL_FALSE : CL_TRUE;
    cl_int error;
    if (r->rows == 1 || (r->pitch == r->width && r->host_pitch == r->width)) {
        const size_t bytes = r->width * r->rows;
        if (up) return shs__cl_upload(cl, queue, buffer, r->offset, bytes, r->host, later);
        return shs__cl_download(cl, queue, buffer, r->offset, bytes, r->host, later);
    }
    origin[0] = r->offset % r->pitch;
    origin[1] = r->offset / r->pitch;
    origin[2] = 0;
    region[0] = r->width;
    region[1] = r->rows;
    region[2] = 1;
    if (up) {
        error = SHS__CL(clEnqueueWriteBufferRect)(cl->queue[queue], buffer, waits, origin, zero, region, r->pitch, 0, r->host_pitch,
                                                  0, r->host, 0, NULL, timed);
        return shs__cl_enqueued(cl, error, event, "upload");
    }
    error = SHS__CL(clEnqueueReadBufferRect)(cl->queue[queue], buffer, waits, origin, zero, region, r->pitch, 0, r->host_pitch, 0,
                                             r->host, 0, NULL, timed);
    return shs__cl_enqueued(cl, error, event, "download");
}

/* Whether to copy the host's memory through pinned parts: the memory is not pinned, and large enough. From 1 MB on, an eighth of a
   part, an H200's driver pins pages during a transfer: codes of that size took five times as long as smaller and larger ones. */
SHS__PRIVATE int shs__cl_staged(shs_cl *cl, const void *host, size_t bytes) {
    const shs__cl_pinned *p;
    uintptr_t at = (uintptr_t)host;
    if (bytes < shs__zmax(cl->staging.part / 8, 1)) return 0;
    for (p = cl->pinned; p; p = p->next)
        if (at >= (uintptr_t)p->memory && at - (uintptr_t)p->memory < p->bytes) return 0;
    if (cl->staging.part && !cl->staging.memory) {
        cl->staging.memory = (unsigned char *)shs_cl_host_alloc(cl, cl->staging.part * SHS__CL_STAGE_SLOTS);
        if (!cl->staging.memory) cl->staging.part = 0;
    }
    return cl->staging.part != 0;
}

/* One part's rows. */
SHS__PRIVATE shs_status shs__cl_move_part(shs_cl *cl, const shs_context *ctx, int queue, cl_mem buffer, const shs__cl_strip *r,
                                          int up) {
    unsigned turn = cl->staging.turn++ % SHS__CL_STAGE_SLOTS;
    shs__cl_stage_slot *slot = cl->staging.slots + turn;
    shs__cl_strip packed = *r;
    shs_status status = shs__cl_settle(cl, slot);
    slot->ctx = ctx;
    slot->queue = queue;
    slot->carry.packed = cl->staging.memory + turn * cl->staging.part;
    slot->carry.host = r->host;
    slot->carry.up = up;
    slot->carry.width = r->width;
    slot->carry.rows = r->rows;
    slot->carry.pitch = r->host_pitch;
    packed.host = slot->carry.packed;
    packed.host_pitch = r->width;
    if (status == SHS_OK && up) shs__cl_carry_rows(ctx, &slot->carry);
    if (status == SHS_OK) status = shs__cl_move_directly(cl, queue, buffer, &packed, up, 1);
    if (status != SHS_OK) return status;
    status = shs__cl_mark(cl, queue, &slot->event);
    if (status != SHS_OK) SHS__CL(clFinish)(cl->queue[queue]); /* nobody may be at work in the part */
    return status;
}

/* As shs__cl_move_directly, by way of the staging memory where that is better. `later`: values that go up may change on return;
   values that come down are there after shs__cl_finish. */
SHS__PRIVATE shs_status shs__cl_move(shs_cl *cl, const shs_context *ctx, int queue, cl_mem buffer, const shs__cl_strip *r,
                                     int up, int later) {
    shs__cl_strip all = *r, part = *r;
    shs_status status = SHS_OK, ended;
    size_t row, column;
    if (r->width == 0 || r->rows == 0) return SHS_OK;
    if (!shs__cl_staged(cl, r->host, r->width * r->rows)) return shs__cl_move_directly(cl, queue, buffer, r, up, later);
    if (r->pitch == r->width && r->host_pitch == r->width) {
        all.width *= all.rows;
        all.rows = 1;
    }
    for (row = 0; row < all.rows && status == SHS_OK; row += part.rows)
        for (column = 0; column < all.width && status == SHS_OK; column += part.width) {
            part.width = shs__zmin(all.width - column, cl->staging.part);
            part.rows = shs__zmin(shs__zmax(cl->staging.part / all.width, 1), all.rows - row);
            part.offset = all.offset + row * all.pitch + column;
            part.host = all.host + row * all.host_pitch + column;
            status = shs__cl_move_part(cl, ctx, queue, buffer, &part, up);
        }
    if (later) return status;
    ended = shs__cl_finish(cl, queue);
    if (status == SHS_OK) return ended;
    return status;
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

/* The build options of every program (see device.cl), then the program's own. The caller frees the text. */
SHS__PRIVATE char *shs__cl_all_options(shs_cl *cl, const char *options) {
    size_t size = strlen(options) + 128;
    char *text = (char *)shs__cl_alloc(cl, size);
    if (!text) return NULL;
    shs__cl_append(text, size, "-cl-std=CL1.2");
    if (cl->about.kind == SHS_CL_CPU) shs__cl_append(text, size, " -w"); /* PoCL tells stderr how many warnings there are */
    if (sizeof(shs_real) == 8) shs__cl_append(text, size, " -D SPARSEHS_DOUBLE");
    if (!cl->has_double) shs__cl_append(text, size, " -D SPARSEHS_NO_DOUBLE");
    shs__cl_append(text, size, cl->ways.is_cpu ? " -D IS_CPU=1" : " -D IS_CPU=0");
    shs__cl_append(text, size, cl->ways.ptx ? " -D NV_PTX=1 " : " -D NV_PTX=0 ");
    shs__cl_append(text, size, options);
    return text;
}

/* Writes lines to `to`, included files in place of the lines that include them; NULL: only counts. Returns the number of bytes. */
SHS__PRIVATE size_t shs__cl_put_lines(const char *const *lines, char *to) {
    size_t used = 0, length, i;
    for (i = 0; lines[i]; i++) {
        const shs__cl_included *file = shs__cl_includes;
        while (file->line && strcmp(file->line, lines[i]) != 0) file++;
        if (file->line) {
            used += shs__cl_put_lines(file->lines, to ? to + used : NULL);
            continue;
        }
        length = strlen(lines[i]);
        if (to) memcpy(to + used, lines[i], length);
        used += length;
    }
    return used;
}

/* device.cl and the lines of a source as one text, the caller's to free. */
SHS__PRIVATE char *shs__cl_join(shs_cl *cl, const char *const *lines) {
    static const char *const begin[] = {"#line 1\n", NULL}; /* so that what a compiler says is about the source */
    const char *const *const parts[3] = {shs__cl_source_device, begin, lines};
    size_t size = 1, used = 0;
    char *text;
    int part;
    for (part = 0; part < 3; part++) size += shs__cl_put_lines(parts[part], NULL);
    text = (char *)shs__cl_alloc(cl, size);
    for (part = 0; text && part < 3; part++) used += shs__cl_put_lines(parts[part], text + used);
    return text;
}

SHS__PRIVATE void shs__cl_forget_log(shs_cl *cl) {
    shs__cl_free(cl, cl->failure.log);
    cl->failure.log = NULL;
}

/* A failure that was a question to the compiler, and its answer. */
SHS__PRIVATE void shs__cl_forget_failure(shs_cl *cl) {
    cl->failure.error = CL_SUCCESS;
    cl->failure.memory[0] = 0;
    shs__cl_forget_log(cl);
}

SHS__PRIVATE void shs__cl_keep_log(shs_cl *cl, cl_program program) {
    size_t size = 0;
    shs__cl_forget_log(cl);
    if (SHS__CL(clGetProgramBuildInfo)(program, cl->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) || size == 0) return;
    cl->failure.log = (char *)shs__cl_alloc(cl, size + 1);
    if (cl->failure.log) SHS__CL(clGetProgramBuildInfo)(program, cl->device, CL_PROGRAM_BUILD_LOG, size, cl->failure.log, NULL);
}

/* The same program on another device or driver is another one. 128 bits: nobody meets a collision. */
SHS__PRIVATE void shs__cl_key(shs_cl *cl, const char *kind, const char *text, const char *options, char *key, size_t size) {
    uint64_t seed[2] = {14695981039346656037u, 0x9e3779b97f4a7c15u};
    int i;
    key[0] = 0;
    shs__cl_append(key, size, kind);
    for (i = 0; i < 2; i++) {
        uint64_t hash = shs__cl_hash(seed[i], text, strlen(text) + 1);
        hash = shs__cl_hash(hash, options, strlen(options) + 1);
        hash = shs__cl_hash(hash, cl->about.platform, strlen(cl->about.platform) + 1);
        hash = shs__cl_hash(hash, cl->about.name, strlen(cl->about.name) + 1);
        hash = shs__cl_hash(hash, cl->about.version, strlen(cl->about.version) + 1);
        hash = shs__cl_hash(hash, cl->about.driver, strlen(cl->about.driver) + 1);
        shs__cl_append_hex(key, size, hash);
    }
}

/* A stored binary or verdict begins with a mark, a size and a hash, because drivers have crashed on damaged binaries. The hash
   includes the key: an entry that lies under another key is a program without the wanted kernel, or the verdict on another one. */
enum { SHS__CL_SEAL = 24 };

SHS__PRIVATE void shs__cl_seal(unsigned char *seal, const char *key, const void *data, uint64_t size) {
    uint64_t hash = shs__cl_hash(14695981039346656037u, key, strlen(key) + 1);
    hash = shs__cl_hash(hash, data, (size_t)size);
    memcpy(seal, "shs-cl-2", 8);
    memcpy(seal + 8, &size, 8);
    memcpy(seal + 16, &hash, 8);
}

/* What load_fn has under key, without the seal: *data points into the block returned, which is the caller's to free.
   NULL: nothing fit for use. */
SHS__PRIVATE void *shs__cl_load(shs_cl *cl, const char *key, const unsigned char **data, size_t *size) {
    unsigned char seal[SHS__CL_SEAL], *block;
    size_t stored = 0;
    if (cl->options.load_fn) stored = cl->options.load_fn(cl->options.store_user, key, NULL, 0);
    if (stored <= SHS__CL_SEAL || stored > SIZE_MAX / 2) return NULL;
    block = (unsigned char *)shs__cl_alloc(cl, stored);
    if (!block) return NULL;
    if (cl->options.load_fn(cl->options.store_user, key, block, stored) == stored) {
        *data = block + SHS__CL_SEAL;
        *size = stored - SHS__CL_SEAL;
        shs__cl_seal(seal, key, *data, *size);
        if (memcmp(seal, block, sizeof seal) == 0) return block;
    }
    shs__cl_free(cl, block);
    return NULL;
}

/* block has room for the seal before the `size` bytes to be stored. */
SHS__PRIVATE void shs__cl_store(shs_cl *cl, const char *key, unsigned char *block, size_t size) {
    shs__cl_seal(block, key, block + SHS__CL_SEAL, size);
    cl->options.store_fn(cl->options.store_user, key, block, size + SHS__CL_SEAL);
}

/* NULL: not stored, damaged, or refused by the driver. */
SHS__PRIVATE cl_program shs__cl_program_stored(shs_cl *cl, const char *key, const char *options) {
    const unsigned char *binary = NULL;
    size_t size = 0;
    cl_int error = CL_SUCCESS, binary_status = CL_SUCCESS;
    cl_program program = NULL;
    void *block = shs__cl_load(cl, key, &binary, &size);
    if (!block) return NULL;
    program = SHS__CL(clCreateProgramWithBinary)(cl->context, 1, &cl->device, &size, &binary, &binary_status, &error);
    shs__cl_free(cl, block);
    if (error) return NULL;
    if (!binary_status) error = SHS__CL(clBuildProgram)(program, 1, &cl->device, options, NULL, NULL);
    if (!binary_status && !error) return program;
    SHS__CL(clReleaseProgram)(program);
    return NULL;
}

/* The binary of a program, behind room for the seal, in a block for the caller to free; NULL: there is none. Drivers tell of all
   devices of the context, of which the caller's may have several, and the program was built for one. */
SHS__PRIVATE unsigned char *shs__cl_program_binary(shs_cl *cl, cl_program program, size_t *size) {
    size_t bytes = 0, count, own = 0;
    size_t *sizes;
    unsigned char **binaries, *block = NULL;
    cl_int error = SHS__CL(clGetProgramInfo)(program, CL_PROGRAM_BINARY_SIZES, 0, NULL, &bytes);
    count = bytes / sizeof *sizes;
    if (error || count == 0) return NULL;
    binaries = (unsigned char **)shs__cl_alloc(cl, count * (sizeof *binaries + sizeof *sizes));
    if (!binaries) return NULL;
    sizes = (size_t *)(void *)(binaries + count);
    error = SHS__CL(clGetProgramInfo)(program, CL_PROGRAM_BINARY_SIZES, bytes, sizes, NULL);
    while (own < count && sizes[own] == 0) own++;
    if (!error && own < count) {
        *size = sizes[own];
        block = (unsigned char *)shs__cl_alloc(cl, *size + SHS__CL_SEAL);
    }
    if (block) {
        binaries[own] = block + SHS__CL_SEAL; /* the others are NULL: not asked for */
        error = SHS__CL(clGetProgramInfo)(program, CL_PROGRAM_BINARIES, count * sizeof *binaries, binaries, NULL);
    }
    shs__cl_free(cl, (void *)binaries);
    if (!error) return block;
    shs__cl_free(cl, block);
    return NULL;
}

/* Not being able to store is no error: the program works. */
SHS__PRIVATE void shs__cl_program_store(shs_cl *cl, cl_program program, const char *key) {
    size_t size = 0;
    unsigned char *block;
    if (!cl->options.store_fn || !(cl->options.keep & SHS_CL_KEEP_PROGRAMS)) return;
    block = shs__cl_program_binary(cl, program, &size);
    if (block) shs__cl_store(cl, key, block, size);
    shs__cl_free(cl, block);
}

SHS__PRIVATE shs_status shs__cl_program_built(shs_cl *cl, const char *text, const char *options, cl_program *program) {
    cl_int error = CL_SUCCESS;
    shs_status status;
    *program = SHS__CL(clCreateProgramWithSource)(cl->context, 1, &text, NULL, &error);
    if (error) {
        *program = NULL;
        return shs__cl_check(cl, error);
    }
    error = SHS__CL(clBuildProgram)(*program, 1, &cl->device, options, NULL, NULL);
    if (!error) return SHS_OK;
    shs__cl_keep_log(cl, *program);
    SHS__CL(clReleaseProgram)(*program);
    *program = NULL;
    status = shs__cl_check(cl, error); /* drivers put many names to what a compiler dislikes */
    if (status == SHS_ENGINE_FAILED) return SHS_BUILD_FAILED;
    return status;
}

/* From what is stored, else from source. */
SHS__PRIVATE shs_status shs__cl_program_make(shs_cl *cl, const char *const *source, const char *options, cl_program *program) {
    char *all = shs__cl_all_options(cl, options), *text = shs__cl_join(cl, source), key[56];
    shs_status status = all && text ? SHS_OK : SHS_NO_MEMORY;
    *program = NULL;
    if (status == SHS_OK) {
        shs__cl_key(cl, "program-", text, all, key, sizeof key);
        *program = shs__cl_program_stored(cl, key, all);
        if (!*program) {
            status = shs__cl_program_built(cl, text, all, program);
            if (status == SHS_OK) shs__cl_program_store(cl, *program, key);
        }
    }
    shs__cl_free(cl, text);
    shs__cl_free(cl, all);
    return status;
}

/* The program of (source, options) from the object, built on first use as programs are compiled now; build time goes to the stage
   `name`. */
SHS__PRIVATE shs_status shs__cl_program_of(shs_cl *cl, const char *const *source, const char *options, const char *name,
                                           shs__cl_program **found) {
    shs__cl_program *p;
    shs__cl_stage_node *node;
    shs__cl_moment begin;
    shs_status status;
    for (p = cl->programs; p; p = p->next) {
        if (p->is_cpu != cl->ways.is_cpu || p->ptx != cl->ways.ptx) continue;
        if (p->source == source && strcmp(p->options, options) == 0) break;
    }
    *found = p;
    if (p) return SHS_OK;
    p = (shs__cl_program *)shs__cl_alloc(cl, sizeof *p + strlen(options) + 1);
    if (!p) return SHS_NO_MEMORY;
    p->source = source;
    p->is_cpu = cl->ways.is_cpu;
    p->ptx = cl->ways.ptx;
    p->options = (char *)(p + 1);
    memcpy(p->options, options, strlen(options) + 1);
    begin = shs__cl_now();
    status = shs__cl_program_make(cl, source, options, &p->program);
    if (status != SHS_OK) {
        shs__cl_free(cl, p);
        return status;
    }
    node = shs__cl_stage_of(cl, name);
    if (node) {
        node->stage.builds++;
        node->stage.build_seconds += shs__cl_since(&begin);
    }
    p->next = cl->programs;
    cl->programs = p;
    *found = p;
    return SHS_OK;
}

/* The kernel `name` (a literal) of the program of `source` (lines that live as long as the object) built with these options. The
   object owns the kernel, and other callers set arguments of the same kernel: set all of them before each launch. */
SHS__PRIVATE shs_status shs__cl_kernel(shs_cl *cl, const char *const *source, const char *options, const char *name,
                                       cl_kernel *kernel) {
    shs__cl_program *program;
    shs__cl_named *k;
    cl_int error = CL_SUCCESS;
    shs_status status = shs__cl_program_of(cl, source, options, name, &program);
    *kernel = NULL;
    if (status != SHS_OK) return status;
    for (k = program->kernels; k && strcmp(k->name, name) != 0;) k = k->next;
    if (!k) {
        k = (shs__cl_named *)shs__cl_alloc(cl, sizeof *k);
        if (!k) return SHS_NO_MEMORY;
        k->name = name;
        k->kernel = SHS__CL(clCreateKernel)(program->program, name, &error);
        if (error) {
            shs__cl_free(cl, k);
            return shs__cl_check(cl, error);
        }
        k->next = program->kernels;
        program->kernels = k;
    }
    *kernel = k->kernel;
    return SHS_OK;
}

SHS__PRIVATE void shs__cl_program_free(shs_cl *cl, shs__cl_program *p) {
    while (p->kernels) {
        shs__cl_named *k = p->kernels;
        p->kernels = k->next;
        SHS__CL(clReleaseKernel)(k->kernel);
        shs__cl_free(cl, k);
    }
    SHS__CL(clReleaseProgram)(p->program);
    shs__cl_free(cl, p);
}

/* ---- calling kernels --------------------------------------------------------------------------------------------- */

/* The build options of a program for one task. */
typedef struct shs__cl_build {
    char text[480];
} shs__cl_build;

SHS__PRIVATE void shs__cl_define_as(shs__cl_build *b, const char *name, const char *value) {
    shs__cl_append(b->text, sizeof b->text, " -D ");
    shs__cl_append(b->text, sizeof b->text, name);
    shs__cl_append(b->text, sizeof b->text, "=");
    shs__cl_append(b->text, sizeof b->text, value);
}

/* One of a list: " -D UPDATE_aksvd". */
SHS__PRIVATE void shs__cl_define_name(shs__cl_build *b, const char *list, const char *name) {
    shs__cl_append(b->text, sizeof b->text, " -D ");
    shs__cl_append(b->text, sizeof b->text, list);
    shs__cl_append(b->text, sizeof b->text, name);
}

SHS__PRIVATE void shs__cl_define(shs__cl_build *b, const char *name, size_t value) {
    shs__cl_define_as(b, name, "");
    shs__cl_append_number(b->text, sizeof b->text, value);
}

SHS__PRIVATE void shs__cl_define_int(shs__cl_build *b, const char *name, int value) { shs__cl_define(b, name, (size_t)value); }

/* A call of a kernel: shs__cl_begin finds the kernel, shs__cl_pass_... set the arguments in order, shs__cl_launch runs the kernel.
   shs__cl_launch returns the first failure of these steps. */
typedef struct shs__cl_call {
    shs_cl *cl;
    cl_kernel kernel;
    cl_uint next;
    shs_status status;
} shs__cl_call;

SHS__PRIVATE shs__cl_call shs__cl_begin(shs_cl *cl, const char *const *source, const char *options, const char *name) {
    shs__cl_call call;
    call.cl = cl;
    call.next = 0;
    call.kernel = NULL;
    call.status = shs__cl_kernel(cl, source, options, name, &call.kernel);
    return call;
}

SHS__PRIVATE void shs__cl_pass(shs__cl_call *call, size_t size, const void *value) {
    shs_cl *cl = call->cl;
    if (call->status == SHS_OK) call->status = shs__cl_check(cl, SHS__CL(clSetKernelArg)(call->kernel, call->next++, size, value));
}

SHS__PRIVATE void shs__cl_pass_buffer(shs__cl_call *call, cl_mem buffer) { shs__cl_pass(call, sizeof buffer, &buffer); }
SHS__PRIVATE void shs__cl_pass_real(shs__cl_call *call, shs_real value) { shs__cl_pass(call, sizeof value, &value); }
SHS__PRIVATE void shs__cl_pass_int(shs__cl_call *call, int value) {
    cl_int v = (cl_int)value;
    shs__cl_pass(call, sizeof v, &v);
}
SHS__PRIVATE void shs__cl_pass_uint(shs__cl_call *call, size_t value) {
    cl_uint v = (cl_uint)value;
    shs__cl_pass(call, sizeof v, &v);
}
SHS__PRIVATE void shs__cl_pass_size(shs__cl_call *call, size_t value) {
    cl_ulong v = (cl_ulong)value;
    shs__cl_pass(call, sizeof v, &v);
}
SHS__PRIVATE void shs__cl_pass_wide(shs__cl_call *call, shs_wide value) {
    cl_double d = (cl_double)value;
    cl_float f = (cl_float)value;
    if (call->cl->has_double) shs__cl_pass(call, sizeof d, &d);
    else shs__cl_pass(call, sizeof f, &f);
}

/* Notes the group's items and the local and private memory of a kernel in the record of its stage. */
SHS__PRIVATE shs_status shs__cl_note_kernel(const shs__cl_call *call, size_t items, const char *stage) {
    shs_cl *cl = call->cl;
    shs__cl_stage_node *node = shs__cl_stage_of(cl, stage);
    cl_ulong local = 0, own = 0;
    cl_int error =
        SHS__CL(clGetKernelWorkGroupInfo)(call->kernel, cl->device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local, &local, NULL);
    if (!error)
        error = SHS__CL(clGetKernelWorkGroupInfo)(call->kernel, cl->device, CL_KERNEL_PRIVATE_MEM_SIZE, sizeof own, &own, NULL);
    if (node) {
        node->stage.group_items = items;
        node->stage.local_bytes = (size_t)local;
        node->stage.private_bytes = (size_t)own;
    }
    return shs__cl_check(cl, error);
}

/* Runs groups_x x groups_y groups of x x y items on the first queue; no groups is fine. */
SHS__PRIVATE shs_status shs__cl_launch(const shs__cl_call *call, size_t groups_x, size_t x, size_t groups_y, size_t y,
                                       const char *stage) {
    shs_cl *cl = call->cl;
    size_t global[2], local[2];
    cl_event event = NULL;
    shs_status status;
    cl_int error;
    global[0] = groups_x * x;
    global[1] = groups_y * y;
    local[0] = x;
    local[1] = y;
    if (call->status != SHS_OK || global[0] == 0 || global[1] == 0) return call->status;
    error = SHS__CL(clEnqueueNDRangeKernel)(cl->queue[0], call->kernel, 2, NULL, global, local, 0, NULL,
                                            cl->clock.profiles[0] ? &event : NULL);
    status = shs__cl_enqueued(cl, error, event, stage);
    if (status == SHS_OK && event) return shs__cl_note_kernel(call, x * y, stage);
    return status;
}

/* Values of the device's wide type. */
SHS__PRIVATE size_t shs__cl_wide_size(const shs_cl *cl) { return cl->has_double ? sizeof(cl_double) : sizeof(cl_float); }

SHS__PRIVATE shs_wide shs__cl_wide_at(const shs_cl *cl, const void *values, size_t i) {
    if (cl->has_double) return (shs_wide)((const cl_double *)values)[i];
    return (shs_wide)((const cl_float *)values)[i];
}

/* ---- tuning ------------------------------------------------------------------------------------------------------ */

/* Runs choice number `choice` once and says how long it took; a status other than SHS_OK only rules the choice out. */
typedef shs_status (*shs__cl_trial_fn)(void *arg, int choice, shs_wide *seconds);

SHS__PRIVATE int shs__cl_fastest(int choices, shs__cl_trial_fn trial, void *arg) {
    shs_wide best_seconds = 0;
    int choice, best = -1;
    for (choice = 0; choice < choices; choice++) {
        shs_wide seconds = 0, again = 0;
        if (trial(arg, choice, &seconds) != SHS_OK) continue; /* the first run warms up: it may compile */
        if (trial(arg, choice, &seconds) != SHS_OK || trial(arg, choice, &again) != SHS_OK) continue;
        if (again < seconds) seconds = again;
        if (best >= 0 && seconds >= best_seconds) continue;
        best = choice;
        best_seconds = seconds;
    }
    return best;
}

/* Which of several ways is fastest for `what` (a text that names stage and shape) on this device: known to the
   object, else stored, else measured and stored. SHS_UNSUPPORTED: none of them works. */
SHS__PRIVATE shs_status shs__cl_tune(shs_cl *cl, const char *what, int choices, shs__cl_trial_fn trial, void *arg,
                                     int *choice) {
    shs__cl_tuned *t, made = SHS_ZERO;
    const unsigned char *data = NULL;
    unsigned char sealed[SHS__CL_SEAL + 1];
    size_t size = 0;
    void *block;
    shs__cl_key(cl, "tuning-", what, "", made.key, sizeof made.key);
    for (t = cl->tuned; t && strcmp(t->key, made.key) != 0;) t = t->next;
    if (t) {
        *choice = t->choice;
        return SHS_OK;
    }
    block = shs__cl_load(cl, made.key, &data, &size);
    if (block && size == 1 && *data < choices) made.choice = *data;
    else made.choice = -1;
    shs__cl_free(cl, block);
    if (made.choice < 0) {
        made.choice = shs__cl_fastest(choices, trial, arg);
        if (made.choice < 0) return SHS_UNSUPPORTED;
        sealed[SHS__CL_SEAL] = (unsigned char)made.choice;
        if (cl->options.store_fn && (cl->options.keep & SHS_CL_KEEP_TUNING)) shs__cl_store(cl, made.key, sealed, 1);
    }
    *choice = made.choice;
    t = (shs__cl_tuned *)shs__cl_alloc(cl, sizeof *t);
    if (!t) return SHS_OK; /* it will be measured again */
    *t = made;
    t->next = cl->tuned;
    cl->tuned = t;
    return SHS_OK;
}

/* ---- the self-test: verdicts --------------------------------------------------------------------------------------- */

/* Runs a known problem through the kernels in question and compares: SHS_OK, and in fault (SHS__CL_FAULT bytes) what differs, ""
   where nothing does. Another status: it could not be run. */
typedef shs_status (*shs__cl_proof_fn)(shs_cl *cl, const void *job, char *fault);

typedef struct shs__cl_proof {
    const char *const *source; /* of the kernel, */
    const char *kernel;        /* by whose name a fault is told */
    const char *what;          /* the build options and sizes that make it another kernel */
    shs__cl_proof_fn run;
    const void *job;
} shs__cl_proof;

SHS__PRIVATE shs__cl_proof shs__cl_proof_of(const char *const *source, const char *kernel, const char *what, shs__cl_proof_fn run,
                                            const void *job) {
    shs__cl_proof proof;
    proof.source = source;
    proof.kernel = kernel;
    proof.what = what;
    proof.run = run;
    proof.job = job;
    return proof;
}

/* Runs the test with all of the device's memory: what the caller may use is for the caller's own data. */
SHS__PRIVATE shs_status shs__cl_run_proof(shs_cl *cl, const shs__cl_proof *proof, char *fault) {
    const size_t limit = cl->limit, peak = cl->held.peak;
    shs_status status;
    cl->limit = SIZE_MAX / 2;
    cl->test.running++;
    status = proof->run(cl, proof->job, fault);
    cl->test.running--;
    cl->limit = limit;
    cl->held.peak = peak;
    return status;
}

/* What tells verdicts apart: the build options and sizes of a proof, and how kernels are compiled now. */
SHS__PRIVATE shs__cl_build shs__cl_what(const shs_cl *cl, const shs__cl_proof *proof) {
    shs__cl_build b = SHS_ZERO;
    shs__cl_append(b.text, sizeof b.text, proof->what);
    shs__cl_define_int(&b, "UNITS64", cl->ways.units64);
    shs__cl_define_int(&b, "DOT_PRODUCTS", cl->ways.dot_products);
    shs__cl_define(&b, "BY_SUB_GROUPS", cl->ways.sub_groups != NULL);
    shs__cl_define_int(&b, "WITH_DOUBLE", cl->has_double);
    return b;
}

/* Loads the verdict of an earlier run. Without one, tests the kernel and stores the verdict. */
SHS__PRIVATE shs_status shs__cl_judge(shs_cl *cl, const shs__cl_proof *proof, shs__cl_verdict *v) {
    const shs__cl_build what = shs__cl_what(cl, proof);
    char *all = shs__cl_all_options(cl, what.text), *text = shs__cl_join(cl, proof->source), key[56];
    unsigned char sealed[(int)SHS__CL_SEAL + SHS__CL_FAULT]; /* C++20 adds no two enumerations */
    const unsigned char *data = NULL;
    size_t size = 0;
    void *block = NULL;
    shs_status status = all && text ? SHS_OK : SHS_NO_MEMORY;
    if (status == SHS_OK) {
        shs__cl_key(cl, "verdict-", text, all, key, sizeof key);
        block = shs__cl_load(cl, key, &data, &size);
    }
    if (block && size == SHS__CL_FAULT && data[size - 1] == 0) memcpy(v->fault, data, size);
    else if (status == SHS_OK) {
        status = shs__cl_run_proof(cl, proof, v->fault);
        memcpy(sealed + SHS__CL_SEAL, v->fault, sizeof v->fault);
        if (status == SHS_OK && cl->options.store_fn && (cl->options.keep & SHS_CL_KEEP_VERDICTS))
            shs__cl_store(cl, key, sealed, sizeof v->fault);
    }
    shs__cl_free(cl, block);
    shs__cl_free(cl, text);
    shs__cl_free(cl, all);
    return status;
}

/* Whether the kernels are right, as far as known problems tell; *fault is what differs, "" where nothing does. */
SHS__PRIVATE shs_status shs__cl_verdict_on(shs_cl *cl, const shs__cl_proof *proof, const char **fault) {
    const shs__cl_build what = shs__cl_what(cl, proof);
    const int is_cpu = cl->ways.is_cpu, ptx = cl->ways.ptx;
    uint64_t tag = shs__cl_hash(14695981039346656037u, what.text, strlen(what.text) + 1);
    shs__cl_build after;
    shs__cl_verdict *v;
    shs_status status;
    tag = shs__cl_hash(tag, proof->kernel, strlen(proof->kernel));
    tag = shs__cl_hash(tag, &is_cpu, sizeof is_cpu);
    tag = shs__cl_hash(tag, &ptx, sizeof ptx);
    *fault = "";
    for (v = cl->verdicts; v && v->tag != tag;) v = v->next;
    if (!v) {
        v = (shs__cl_verdict *)shs__cl_alloc(cl, sizeof *v);
        if (!v) return SHS_NO_MEMORY;
        v->tag = tag;
        status = shs__cl_judge(cl, proof, v);
        after = shs__cl_what(cl, proof);
        if (status == SHS_OK && is_cpu == cl->ways.is_cpu && ptx == cl->ways.ptx && strcmp(what.text, after.text) == 0) {
            v->next = cl->verdicts;
            cl->verdicts = v;
        } else {
            shs__cl_free(cl, v);
            if (status != SHS_OK) return status;
            return shs__cl_verdict_on(cl, proof, fault); /* it ran kernels compiled in another way */
        }
    }
    *fault = v->fault;
    return SHS_OK;
}

/* The sentence in shs_cl_about: driver, kernel, difference, and what comes of it. */
SHS__PRIVATE void shs__cl_tell_fault(shs_cl *cl, const char *kernel, const char *fault, const char *so) {
    shs_cl_device *d = &cl->about;
    const char *const parts[] = {
        d->platform, " ", d->name, " (driver ", d->driver, "): the kernel ", kernel, ", or one before it, is wrong: ",
        fault,       so};
    size_t i;
    d->fault[0] = 0;
    for (i = 0; i < sizeof parts / sizeof *parts; i++) shs__cl_append(d->fault, sizeof d->fault, parts[i]);
}

/* The next way to compile kernels: without extensions, without instructions of a maker, then on a processor as for a GPU. 0: there
   is none. */
SHS__PRIVATE int shs__cl_step_down(shs_cl *cl) {
    if (cl->test.one_way) return 0;
    if (cl->ways.sub_groups || cl->ways.dot_products) {
        cl->ways.sub_groups = NULL;
        cl->ways.dot_products = 0;
    } else if (cl->ways.ptx || cl->ways.units64) cl->ways.ptx = cl->ways.units64 = 0;
    else if (cl->ways.is_cpu && cl->about.max_group >= SHS__CL_ITEMS) cl->ways.is_cpu = 0;
    else return 0;
    return 1;
}

/* SHS_OK: a stage may use the kernels. Wrong kernels are compiled in another way, and the object keeps to that way. */
SHS__PRIVATE shs_status shs__cl_prove(shs_cl *cl, const shs__cl_proof *proof) {
    const shs__cl_ways before = cl->ways;
    const char *fault, *other;
    shs_status status = cl->options.trust ? SHS_OK : shs__cl_verdict_on(cl, proof, &fault);
    if (cl->options.trust || status != SHS_OK || !fault[0]) return status;
    while (shs__cl_step_down(cl)) {
        if (shs__cl_verdict_on(cl, proof, &other) != SHS_OK || other[0]) continue;
        shs__cl_tell_fault(cl, proof->kernel, fault, "; it is compiled in another way");
        return SHS_OK;
    }
    cl->ways = before;
    shs__cl_tell_fault(cl, proof->kernel, fault, "; it is not used");
    return SHS_UNSUPPORTED;
}

/* How far results of known problems may be from the CPU's, of the largest. */
#define SHS__CL_NEAR (sizeof(shs_real) == sizeof(cl_double) ? (shs_wide)1e-9 : (shs_wide)5e-4)

/* Notes in fault, where it is still empty, the first value that is not near enough. */
SHS__PRIVATE void shs__cl_compare_wides(const char *what, size_t n, const shs_wide *got, const shs_wide *right, char *fault) {
    shs_wide largest = 0, off;
    size_t i;
    for (i = 0; i < n; i++) largest = shs__wabs(right[i]) > largest ? shs__wabs(right[i]) : largest;
    for (i = 0; i < n && !fault[0]; i++) {
        off = shs__wabs(got[i] - right[i]);
        if (off <= SHS__CL_NEAR * largest) continue;
        shs__cl_append(fault, SHS__CL_FAULT, what);
        shs__cl_append(fault, SHS__CL_FAULT, ": value ");
        shs__cl_append_number(fault, SHS__CL_FAULT, i + 1);
        shs__cl_append(fault, SHS__CL_FAULT, " of ");
        shs__cl_append_number(fault, SHS__CL_FAULT, n);
        if (!(off <= 1000 * largest)) shs__cl_append(fault, SHS__CL_FAULT, " is far too large, or no number");
        else {
            shs__cl_append(fault, SHS__CL_FAULT, " differs from the CPU's by ");
            shs__cl_append_number(fault, SHS__CL_FAULT, (size_t)(off / largest * 1000000) + 1);
            shs__cl_append(fault, SHS__CL_FAULT, " millionths of the largest");
        }
    }
}

/* The same of shs_real; the values are few. */
SHS__PRIVATE shs_status shs__cl_compare(shs_cl *cl, const char *what, size_t n, const shs_real *got, const shs_real *right,
                                        char *fault) {
    shs_wide *both = (shs_wide *)shs__cl_alloc(cl, 2 * n * sizeof *both);
    size_t i;
    if (!both) return SHS_NO_MEMORY;
    for (i = 0; i < n; i++) {
        both[i] = (shs_wide)got[i];
        both[n + i] = (shs_wide)right[i];
    }
    shs__cl_compare_wides(what, n, both, both + n, fault);
    shs__cl_free(cl, both);
    return SHS_OK;
}

/* What the calls of a self-test on the CPU are given. */
SHS__PRIVATE shs_context shs__cl_cpu(const shs_cl *cl) {
    shs_context cpu = SHS_ZERO;
    cpu.alloc_fn = cl->ctx.alloc_fn;
    cpu.free_fn = cl->ctx.free_fn;
    cpu.alloc_user = cl->ctx.alloc_user;
    cpu.threads = 1;
    return cpu;
}

SHS__PRIVATE void shs__cl_fill(shs_random *r, size_t n, shs_real *x) {
    size_t i;
    for (i = 0; i < n; i++) x[i] = (shs_real)(2 * shs_random_uniform(r) - 1);
}

/* Whether sessions test their kernels. A session inside a self-test does not. */
SHS__PRIVATE int shs__cl_proves(const shs_cl *cl) { return !cl->options.trust && !cl->test.running; }

/* ================================================================================================================== */
/* MATRIX PRODUCTS                                                                                                    */
/* ================================================================================================================== */

/* Products on the device, for the signals session (shs__cl_gemm), and the engine's stage for the host's matrices
   (shs__cl_product), which the table at the end of this file names. They call RUNTIME alone. */

/* Columns of `rows` values: on the host `ld_host` values apart, on the device packed from the beginning of the buffer. */
SHS__PRIVATE shs__cl_strip shs__cl_columns(size_t rows, size_t columns, size_t size, const void *host, int ld_host) {
    shs__cl_strip r;
    r.width = rows * size;
    r.rows = columns;
    r.offset = 0;
    r.pitch = r.width;
    r.host = (unsigned char *)(uintptr_t)host;
    r.host_pitch = (size_t)ld_host * size;
    return r;
}

SHS__PRIVATE shs_status shs__cl_columns_up(shs_cl *cl, const shs_context *ctx, int queue, cl_mem buffer, const shs__cl_strip *r) {
    return shs__cl_move(cl, ctx, queue, buffer, r, 1, 1);
}

/* The host has the columns on return. */
SHS__PRIVATE shs_status shs__cl_columns_down(shs_cl *cl, const shs_context *ctx, cl_mem buffer, const shs__cl_strip *r) {
    return shs__cl_move(cl, ctx, 0, buffer, r, 0, 0);
}

/* A matrix on the device: from value `first` of the buffer on. */
typedef struct shs__cl_matrix {
    cl_mem buffer;
    size_t first;
    int ld;
} shs__cl_matrix;

SHS__PRIVATE shs__cl_matrix shs__cl_matrix_of(cl_mem buffer, size_t first, int ld) {
    shs__cl_matrix A;
    A.buffer = buffer;
    A.first = first;
    A.ld = ld;
    return A;
}

SHS__PRIVATE int shs__cl_by_fours(const shs__cl_matrix *A) { return A->ld % 4 == 0 && A->first % 4 == 0; }

/* Whether the device has room for the tiles of `gemm`; otherwise there is gemm_plain. */
SHS__PRIVATE int shs__cl_gemm_blocked(const shs_cl *cl) {
    const size_t local = 4 * SHS__CL_GEMM_STEP * SHS__CL_GEMM_PITCH * sizeof(shs_real);
    return !cl->ways.is_cpu && cl->about.max_group >= 256 && cl->about.local_bytes >= local;
}

/* C = alpha op(A) op(B) + beta C; op(A) is m x k. If depth < k, k is cut into slices of `depth`. Each slice has a C of its own; the
   Cs lie one behind the other. */
typedef struct shs__cl_gemm_job {
    shs_trans transa, transb;
    int m, n, k, depth;
    shs_real alpha, beta;
    shs__cl_matrix A, B, C;
} shs__cl_gemm_job;

/* The job op(A) op(B) without slices; the caller sets the matrices. */
SHS__PRIVATE shs__cl_gemm_job shs__cl_gemm_of(shs_trans transa, shs_trans transb, int m, int n, int k) {
    shs__cl_gemm_job g;
    memset(&g, 0, sizeof g);
    g.transa = transa;
    g.transb = transb;
    g.m = m;
    g.n = n;
    g.k = k;
    g.depth = shs__imax(k, 1);
    g.alpha = 1;
    return g;
}

/* Passes a matrix as three arguments: buffer, first value, distance of the columns. */
SHS__PRIVATE void shs__cl_pass_matrix(shs__cl_call *call, const shs__cl_matrix *A) {
    shs__cl_pass_buffer(call, A->buffer);
    shs__cl_pass_size(call, A->first);
    shs__cl_pass_int(call, A->ld);
}

/* A product without a look at the self-test. */
SHS__PRIVATE shs_status shs__cl_run_gemm(shs_cl *cl, const shs__cl_gemm_job *g) {
    const int blocked = shs__cl_gemm_blocked(cl);
    const size_t m = (size_t)g->m, n = (size_t)g->n, slices = shs__ctx_chunks((size_t)g->k, (size_t)g->depth);
    shs__cl_build b = SHS_ZERO;
    shs__cl_call call;
    if (m == 0 || n == 0) return SHS_OK;
    shs__cl_define(&b, "TRANS_A", g->transa == SHS_TRANS_YES);
    shs__cl_define(&b, "TRANS_B", g->transb == SHS_TRANS_YES);
    shs__cl_define_int(&b, "VECTOR_A", shs__cl_by_fours(&g->A));
    shs__cl_define_int(&b, "VECTOR_B", shs__cl_by_fours(&g->B));
    shs__cl_define(&b, "SLICED", g->depth < g->k);
    call = shs__cl_begin(cl, shs__cl_source_gemm, b.text, blocked ? "gemm" : "gemm_plain");
    shs__cl_pass_int(&call, g->m);
    shs__cl_pass_int(&call, g->n);
    shs__cl_pass_int(&call, g->k);
    shs__cl_pass_real(&call, g->alpha);
    shs__cl_pass_matrix(&call, &g->A);
    shs__cl_pass_matrix(&call, &g->B);
    shs__cl_pass_real(&call, g->beta);
    shs__cl_pass_matrix(&call, &g->C);
    if (blocked) {
        const size_t tiles_n = shs__ctx_chunks(n, SHS__CL_GEMM_TILE) * shs__zmax(slices, 1);
        shs__cl_pass_int(&call, g->depth);
        return shs__cl_launch(&call, shs__ctx_chunks(m, SHS__CL_GEMM_TILE), 16, tiles_n, 16, "gemm");
    }
    return shs__cl_launch(&call, shs__ctx_chunks(m, SHS__CL_PLAIN_TILE), 1, shs__ctx_chunks(n, 8 * SHS__CL_PLAIN_TILE), 8, "gemm");
}

/* The known products: sizes beyond a tile, by no tile's edge, of 3 slices. */
enum { SHS__CL_KNOWN_M = 133, SHS__CL_KNOWN_N = 131, SHS__CL_KNOWN_K = 41, SHS__CL_KNOWN_SLICES = 3 };

typedef struct shs__cl_gemm_form {
    shs_trans transa, transb;
    int vector_a, vector_b, sliced;
} shs__cl_gemm_form;

typedef struct shs__cl_known_product {
    shs__layout host;
    shs_real *A, *B, *C, *P; /* P: of each slice */
    cl_mem a, b, c;
} shs__cl_known_product;

SHS__PRIVATE shs_status shs__cl_known_product_open(shs_cl *cl, size_t a, size_t b, size_t c, shs__cl_known_product *x) {
    const size_t r = sizeof(shs_real);
    shs_random random;
    shs_status status = SHS_OK;
    while (shs__layout_next(&cl->ctx, &x->host, &status)) {
        x->A = SHS__CARVE(&x->host, shs_real, a);
        x->B = SHS__CARVE(&x->host, shs_real, b);
        x->C = SHS__CARVE(&x->host, shs_real, c);
        x->P = SHS__CARVE(&x->host, shs_real, SHS__CL_KNOWN_SLICES * c);
    }
    if (status != SHS_OK) return status;
    shs_random_seed(&random, 1);
    shs__cl_fill(&random, a, x->A);
    shs__cl_fill(&random, b, x->B);
    shs__cl_fill(&random, c, x->C);
    shs__cl_fill(&random, SHS__CL_KNOWN_SLICES * c, x->P);
    status = shs__cl_buffer(cl, a * r, &x->a);
    if (status == SHS_OK) status = shs__cl_buffer(cl, b * r, &x->b);
    if (status == SHS_OK) status = shs__cl_buffer(cl, SHS__CL_KNOWN_SLICES * c * r, &x->c);
    if (status == SHS_OK) status = shs__cl_write(cl, 0, x->a, 0, a * r, x->A);
    if (status == SHS_OK) status = shs__cl_write(cl, 0, x->b, 0, b * r, x->B);
    return status;
}

SHS__PRIVATE void shs__cl_known_product_close(shs_cl *cl, shs__cl_known_product *x) {
    shs__cl_finish(cl, 0);
    shs__cl_release(cl, &x->a);
    shs__cl_release(cl, &x->b);
    shs__cl_release(cl, &x->c);
    shs__layout_release(&cl->ctx, &x->host);
}

/* The self-test of gemm: C = 1.25 op(A) op(B) + 0.5 C, or the slices of op(A) op(B), which the host adds. */
SHS__PRIVATE shs_status shs__cl_test_gemm(shs_cl *cl, const void *job, char *fault) {
    const shs__cl_gemm_form *f = (const shs__cl_gemm_form *)job;
    const int m = SHS__CL_KNOWN_M, n = SHS__CL_KNOWN_N, k = SHS__CL_KNOWN_K;
    const size_t c = (size_t)m * (size_t)n, slices = f->sliced ? SHS__CL_KNOWN_SLICES : 1;
    const shs_context cpu = shs__cl_cpu(cl);
    shs__cl_known_product x = SHS_ZERO;
    shs__cl_gemm_job g = shs__cl_gemm_of(f->transa, f->transb, m, n, k);
    int rows_a = m, columns_a = k, rows_b = k, columns_b = n, lda, ldb;
    shs_status status;
    size_t i, q;
    if (f->transa == SHS_TRANS_YES) {
        rows_a = k;
        columns_a = m;
    }
    if (f->transb == SHS_TRANS_YES) {
        rows_b = n;
        columns_b = k;
    }
    lda = shs__la_round_up(rows_a, 4) + !f->vector_a;
    ldb = shs__la_round_up(rows_b, 4) + !f->vector_b;
    status = shs__cl_known_product_open(cl, (size_t)(columns_a * lda), (size_t)(columns_b * ldb), c, &x);
    if (status == SHS_OK) status = shs__cl_write(cl, 0, x.c, 0, c * sizeof *x.C, x.C);
    if (f->sliced) g.depth = 16;
    else {
        g.alpha = (shs_real)1.25;
        g.beta = (shs_real)0.5;
    }
    g.A = shs__cl_matrix_of(x.a, 0, lda);
    g.B = shs__cl_matrix_of(x.b, 0, ldb);
    g.C = shs__cl_matrix_of(x.c, 0, m);
    if (status == SHS_OK) status = shs__cl_run_gemm(cl, &g);
    if (status == SHS_OK) status = shs__cl_read(cl, 0, x.c, 0, slices * c * sizeof *x.P, x.P);
    if (status == SHS_OK) status = shs_gemm(&cpu, g.transa, g.transb, m, n, k, g.alpha, x.A, lda, x.B, ldb, g.beta, x.C, m);
    for (q = 1; q < slices && status == SHS_OK; q++)
        for (i = 0; i < c; i++) x.P[i] += x.P[q * c + i];
    if (status == SHS_OK) status = shs__cl_compare(cl, "a product", c, x.P, x.C, fault);
    shs__cl_known_product_close(cl, &x);
    return status;
}

SHS__PRIVATE shs_status shs__cl_prove_gemm(shs_cl *cl, const shs__cl_gemm_form *form) {
    const char *const kernel = shs__cl_gemm_blocked(cl) ? "gemm" : "gemm_plain";
    shs__cl_build b = SHS_ZERO;
    shs__cl_proof proof;
    shs__cl_define(&b, "TRANS_A", form->transa == SHS_TRANS_YES);
    shs__cl_define(&b, "TRANS_B", form->transb == SHS_TRANS_YES);
    shs__cl_define_int(&b, "VECTOR_A", form->vector_a);
    shs__cl_define_int(&b, "VECTOR_B", form->vector_b);
    shs__cl_define_int(&b, "SLICED", form->sliced);
    proof = shs__cl_proof_of(shs__cl_source_gemm, kernel, b.text, shs__cl_test_gemm, form);
    return shs__cl_prove(cl, &proof);
}

/* A product on the first queue. */
SHS__PRIVATE shs_status shs__cl_gemm(shs_cl *cl, const shs__cl_gemm_job *g) {
    shs__cl_gemm_form form;
    shs_status status;
    form.transa = g->transa;
    form.transb = g->transb;
    form.vector_a = shs__cl_by_fours(&g->A);
    form.vector_b = shs__cl_by_fours(&g->B);
    form.sliced = g->depth < g->k;
    status = shs__cl_prove_gemm(cl, &form);
    if (status == SHS_OK) return shs__cl_run_gemm(cl, g);
    return status;
}

/* C = A'B on the first queue; A is p x m and B is p x n. */
SHS__PRIVATE shs_status shs__cl_inner_products(shs_cl *cl, int m, int n, int p, const shs__cl_matrix *A, const shs__cl_matrix *B,
                                               const shs__cl_matrix *C) {
    shs__cl_gemm_job g = shs__cl_gemm_of(SHS_TRANS_YES, SHS_TRANS_NO, m, n, p);
    g.A = *A;
    g.B = *B;
    g.C = *C;
    return shs__cl_gemm(cl, &g);
}

/* ---- slices of a long dimension ------------------------------------------------------------------------------------ */

enum {
    SHS__CL_SLICES = 512,          /* at most: they are added up again */
    SHS__CL_SLICE_DEPTH = 64,      /* at least */
    SHS__CL_SLICE_TOTAL = 64 << 20 /* bytes of partial sums */
};

/* Bytes of one buffer at most: a constant of the device, since sums depend on it. */
SHS__PRIVATE size_t shs__cl_product_room(const shs_cl *cl) { return shs__zmin(cl->limit, cl->about.max_alloc) / 8; }

/* How many columns a slice has: as few as keep all units busy, each with `share` groups, of which a slice has `groups`. */
SHS__PRIVATE int shs__cl_slice_depth(const shs_cl *cl, int k, size_t groups, size_t share, size_t bytes, int step) {
    size_t slices = shs__zmin((size_t)cl->units * share / shs__zmax(groups, 1), SHS__CL_SLICES);
    size_t fit = shs__zmin(SHS__CL_SLICE_TOTAL, shs__cl_product_room(cl)) / shs__zmax(bytes, 1);
    slices = shs__zmin(slices, shs__zmin(fit, (size_t)k / SHS__CL_SLICE_DEPTH));
    return shs__la_round_up((int)shs__ctx_chunks((size_t)k, shs__zmax(slices, 1)), step);
}

/* C = alpha times the sum of the slices, + beta C. */
SHS__PRIVATE shs_status shs__cl_gemm_sum(shs_cl *cl, int m, int n, int slices, shs_real alpha, shs_real beta,
                                         const shs__cl_matrix *C, cl_mem partial) {
    shs__cl_call call = shs__cl_begin(cl, shs__cl_source_gemm, "", "gemm_sum");
    shs__cl_pass_buffer(&call, partial);
    shs__cl_pass_int(&call, slices);
    shs__cl_pass_int(&call, m);
    shs__cl_pass_int(&call, n);
    shs__cl_pass_real(&call, alpha);
    shs__cl_pass_real(&call, beta);
    shs__cl_pass_matrix(&call, C);
    return shs__cl_launch(&call, shs__ctx_chunks((size_t)m * (size_t)n, SHS__CL_SUM_VALUES), SHS__CL_SUM_VALUES, 1,
                          SHS__CL_SUM_PARTS, "gemm");
}

/* Of 19 slices, which the items of a group share unequally. */
SHS__PRIVATE shs_status shs__cl_test_gemm_sum(shs_cl *cl, const void *job, char *fault) {
    const int m = 7, n = 11, slices = 19;
    const size_t c = (size_t)(m * n), all = (size_t)slices * c;
    shs__cl_known_product x = SHS_ZERO;
    shs__cl_matrix C;
    shs_real sum;
    size_t i, q;
    shs_status status = shs__cl_known_product_open(cl, all, c, c, &x);
    (void)job;
    C = shs__cl_matrix_of(x.b, 0, m);
    if (status == SHS_OK) status = shs__cl_gemm_sum(cl, m, n, slices, (shs_real)1.25, (shs_real)0.5, &C, x.a);
    if (status == SHS_OK) status = shs__cl_read(cl, 0, x.b, 0, c * sizeof *x.P, x.P);
    for (i = 0; i < c && status == SHS_OK; i++) {
        sum = 0;
        for (q = 0; q < (size_t)slices; q++) sum += x.A[q * c + i];
        x.C[i] = (shs_real)1.25 * sum + (shs_real)0.5 * x.B[i];
    }
    if (status == SHS_OK) status = shs__cl_compare(cl, "sums of slices", c, x.P, x.C, fault);
    shs__cl_known_product_close(cl, &x);
    return status;
}

SHS__PRIVATE shs_status shs__cl_prove_gemm_sum(shs_cl *cl) {
    const shs__cl_proof proof = shs__cl_proof_of(shs__cl_source_gemm, "gemm_sum", "", shs__cl_test_gemm_sum, NULL);
    return shs__cl_prove(cl, &proof);
}

/* A product of deep factors, whose slices go to `partial` and are added up there. C holds few tiles, so one slice would keep few
   units busy. */
SHS__PRIVATE shs_status shs__cl_gemm_deep(shs_cl *cl, const shs__cl_gemm_job *g, cl_mem partial) {
    const int slices = (int)shs__ctx_chunks((size_t)g->k, (size_t)g->depth);
    shs__cl_gemm_job part = *g;
    shs_status status;
    if (slices < 2) {
        part.depth = shs__imax(g->k, 1);
        return shs__cl_gemm(cl, &part);
    }
    part.alpha = 1;
    part.beta = 0;
    part.C = shs__cl_matrix_of(partial, 0, g->m);
    status = shs__cl_gemm(cl, &part);
    if (status == SHS_OK) status = shs__cl_prove_gemm_sum(cl);
    if (status == SHS_OK) return shs__cl_gemm_sum(cl, g->m, g->n, slices, g->alpha, g->beta, &g->C, partial);
    return status;
}

/* ---- the symmetric product ----------------------------------------------------------------------------------------- */

/* How it is made: see syrk.cl. */
typedef struct shs__cl_syrk_plan {
    shs_cl_syrk way;
    int edge, depth;             /* of a tile; of a slice */
    size_t tiles, slices, bytes; /* bytes: of partial sums */
} shs__cl_syrk_plan;

/* Tiles of the lower triangle of n x n. */
SHS__PRIVATE size_t shs__cl_triangle(int n, int edge) {
    size_t across = shs__ctx_chunks((size_t)n, (size_t)edge);
    return across * (across + 1) / 2;
}

SHS__PRIVATE int shs__cl_can_syrk(const shs_cl *cl, shs_cl_syrk way) {
    if (way == SHS_CL_SYRK_UNITS) return cl->ways.units64 && sizeof(shs_real) == sizeof(cl_double);
    return cl->about.max_group >= (way == SHS_CL_SYRK_SPLIT ? SHS__CL_SPLIT_SIDE * SHS__CL_SPLIT_SIDE : SHS__CL_ITEMS);
}

/* The larger a tile, the fewer times a value is read, and the more of the tiles lies outside the triangle. Speeds are those
   seen on an H200, where matrix units are faster than tiles at every shape, and tiles faster than the split. */
SHS__PRIVATE int shs__cl_syrk_edge(shs_cl_syrk way, int n) {
    const double units[2] = {0.74, 1}, tiles[3] = {0.4, 0.7, 1}, *speed = way == SHS_CL_SYRK_UNITS ? units : tiles;
    double best = 0;
    int i, edge = SHS__CL_SPLIT_SIDE, most = sizeof(shs_real) == sizeof(cl_double) ? 2 : 3;
    if (way == SHS_CL_SYRK_SPLIT) most = 1;
    for (i = 0; i < most; i++) {
        double cost = (double)shs__cl_triangle(n, 32 << i) * (double)((32 << i) * (32 << i)) / speed[i];
        if (i > 0 && cost >= best) continue;
        best = cost;
        edge = 32 << i;
    }
    return edge;
}

/* syrk_units, or syrk_sum beside it, of values `elem`. */
SHS__PRIVATE shs__cl_call shs__cl_begin_units(shs_cl *cl, const char *elem, shs_trans trans, int edge, const char *name) {
    shs__cl_build b = SHS_ZERO;
    shs__cl_define_as(&b, "ELEM", elem);
    shs__cl_define(&b, "WAY", SHS_CL_SYRK_UNITS - 1);
    shs__cl_define(&b, "TRANS", trans == SHS_TRANS_YES);
    shs__cl_define_int(&b, "T", edge);
    shs__cl_define(&b, "MMA", cl->ways.ptx ? (size_t)cl->ways.units64 : 0);
    return shs__cl_begin(cl, shs__cl_source_syrk, b.text, name);
}

SHS__PRIVATE shs__cl_call shs__cl_begin_syrk(shs_cl *cl, const shs__cl_syrk_plan *plan, shs_trans trans, const char *name) {
    shs__cl_build b = SHS_ZERO;
    if (plan->way == SHS_CL_SYRK_UNITS) return shs__cl_begin_units(cl, "real", trans, plan->edge, name);
    shs__cl_define(&b, "WAY", (size_t)plan->way - 1);
    shs__cl_define(&b, "TRANS", trans == SHS_TRANS_YES);
    shs__cl_define_int(&b, "T", plan->edge);
    shs__cl_define(&b, "W", plan->edge == 32 ? 2 : 4);
    shs__cl_define(&b, "KB", sizeof(shs_real) == sizeof(cl_float) ? 16 : 8);
    return shs__cl_begin(cl, shs__cl_source_syrk, b.text, name);
}

/* The triangle of C = alpha S S' + beta C, S = op(A) n x k with k at most what the plan is for. */
typedef struct shs__cl_syrk_job {
    const shs__cl_syrk_plan *plan;
    shs_uplo uplo;
    shs_trans trans;
    int n, k;
    shs_real alpha, beta;
    shs__cl_matrix A, C;
    cl_mem partial; /* has room for plan->bytes */
} shs__cl_syrk_job;

/* The products of all slices, to job->partial. */
SHS__PRIVATE shs_status shs__cl_syrk_slices(shs_cl *cl, const shs__cl_syrk_job *job, size_t slices) {
    static const char *const names[4] = {"", "syrk_tiles", "syrk_split", "syrk_units"};
    const shs__cl_syrk_plan *plan = job->plan;
    const size_t across = shs__ctx_chunks((size_t)job->n, (size_t)plan->edge);
    shs__cl_call call = shs__cl_begin_syrk(cl, plan, job->trans, names[plan->way]);
    shs__cl_pass_buffer(&call, job->A.buffer);
    shs__cl_pass_size(&call, job->A.first);
    shs__cl_pass_size(&call, (size_t)job->A.ld);
    shs__cl_pass_int(&call, job->n);
    shs__cl_pass_int(&call, job->k);
    shs__cl_pass_int(&call, plan->depth);
    shs__cl_pass_buffer(&call, job->partial);
    if (plan->way == SHS_CL_SYRK_SPLIT)
        return shs__cl_launch(&call, across * across, SHS__CL_SPLIT_SIDE, slices, SHS__CL_SPLIT_SIDE, "syrk");
    if (plan->way == SHS_CL_SYRK_TILES) return shs__cl_launch(&call, plan->tiles, SHS__CL_ITEMS, slices, 1, "syrk");
    shs__cl_pass_int(&call, 0);
    return shs__cl_launch(&call, plan->tiles, SHS__CL_UNITS_ITEMS, slices, 1, "syrk");
}

SHS__PRIVATE shs_status shs__cl_syrk(shs_cl *cl, const shs__cl_syrk_job *job) {
    const shs__cl_syrk_plan *plan = job->plan;
    const size_t slices = shs__ctx_chunks((size_t)job->k, (size_t)plan->depth);
    const size_t values = plan->tiles * (size_t)(plan->edge * plan->edge);
    const int parts = plan->way == SHS_CL_SYRK_SPLIT ? 2 : 1;
    shs__cl_call call;
    shs_status status = shs__cl_syrk_slices(cl, job, slices);
    if (status != SHS_OK) return status;
    call = shs__cl_begin_syrk(cl, plan, job->trans, "syrk_sum");
    shs__cl_pass_buffer(&call, job->partial);
    shs__cl_pass_int(&call, (int)plan->tiles);
    shs__cl_pass_int(&call, (int)slices * parts);
    shs__cl_pass_int(&call, job->n);
    shs__cl_pass_real(&call, job->alpha);
    shs__cl_pass_real(&call, job->beta);
    shs__cl_pass_int(&call, job->uplo == SHS_UPLO_UPPER);
    shs__cl_pass_buffer(&call, job->C.buffer);
    shs__cl_pass_int(&call, job->C.ld);
    return shs__cl_launch(&call, shs__ctx_chunks(values, SHS__CL_SUM_VALUES), SHS__CL_SUM_VALUES, 1, SHS__CL_SUM_PARTS, "syrk");
}

/* The known symmetric product: of two triangles, n beyond two tiles, k of 3 slices. */
typedef struct shs__cl_syrk_form {
    const shs__cl_syrk_plan *plan;
    shs_trans trans;
} shs__cl_syrk_form;

SHS__PRIVATE shs_status shs__cl_test_syrk(shs_cl *cl, const void *job, char *fault) {
    const shs__cl_syrk_form *f = (const shs__cl_syrk_form *)job;
    const int n = 2 * f->plan->edge + 3, k = 70;
    int rows = n, columns = k, lda;
    const size_t c = (size_t)(n * n), tile = (size_t)(f->plan->edge * f->plan->edge);
    const shs_context cpu = shs__cl_cpu(cl);
    shs__cl_known_product x = SHS_ZERO;
    shs__cl_syrk_plan plan = *f->plan;
    shs__cl_syrk_job g;
    shs_status status;
    int upper;
    if (f->trans == SHS_TRANS_YES) {
        rows = k;
        columns = n;
    }
    lda = rows + 1;
    plan.tiles = shs__cl_triangle(n, plan.edge);
    plan.depth = 32;
    status = shs__cl_known_product_open(cl, (size_t)(lda * columns), 6 * plan.tiles * tile, c, &x);
    g.plan = &plan;
    g.trans = f->trans;
    g.n = n;
    g.k = k;
    g.alpha = (shs_real)1.25;
    g.beta = (shs_real)0.5;
    g.A = shs__cl_matrix_of(x.a, 0, lda);
    g.C = shs__cl_matrix_of(x.c, 0, n);
    g.partial = x.b;
    for (upper = 0; upper < 2 && status == SHS_OK; upper++) {
        if (upper) g.uplo = SHS_UPLO_UPPER;
        else g.uplo = SHS_UPLO_LOWER;
        status = shs__cl_write(cl, 0, x.c, 0, c * sizeof *x.C, x.C);
        if (status == SHS_OK) status = shs__cl_syrk(cl, &g);
        if (status == SHS_OK) status = shs__cl_read(cl, 0, x.c, 0, c * sizeof *x.P, x.P);
        if (status == SHS_OK) status = shs_syrk(&cpu, g.uplo, f->trans, n, k, g.alpha, x.A, lda, g.beta, x.C, n);
        if (status == SHS_OK) status = shs__cl_compare(cl, "a symmetric product", c, x.P, x.C, fault);
    }
    shs__cl_known_product_close(cl, &x);
    return status;
}

SHS__PRIVATE shs_status shs__cl_prove_syrk(shs_cl *cl, const shs__cl_syrk_plan *plan, shs_trans trans) {
    static const char *const names[4] = {"", "syrk_tiles", "syrk_split", "syrk_units"};
    shs__cl_build b = SHS_ZERO;
    shs__cl_syrk_form form;
    shs__cl_proof proof;
    const char *fault;
    shs_status status;
    form.plan = plan;
    form.trans = trans;
    shs__cl_define_int(&b, "WAY", (int)plan->way);
    shs__cl_define(&b, "TRANS", trans == SHS_TRANS_YES);
    shs__cl_define_int(&b, "T", plan->edge);
    proof = shs__cl_proof_of(shs__cl_source_syrk, names[plan->way], b.text, shs__cl_test_syrk, &form);
    if (cl->options.trust) status = SHS_OK;
    else status = shs__cl_verdict_on(cl, &proof, &fault);
    if (cl->options.trust || status != SHS_OK || !fault[0]) return status;
    shs__cl_tell_fault(cl, proof.kernel, fault, cl->options.syrk ? "; it is not used" : "; another way is tried");
    return SHS_UNSUPPORTED;
}

/* Makes the plan of one way. A compiler that does not take an instruction of matrix units is asked once. */
SHS__PRIVATE shs_status shs__cl_syrk_take(shs_cl *cl, shs_cl_syrk way, shs_trans trans, int n, shs__cl_syrk_plan *plan) {
    shs_status status = SHS_BUILD_FAILED;
    plan->way = way;
    if (!shs__cl_can_syrk(cl, way)) return SHS_UNSUPPORTED;
    plan->edge = shs__cl_syrk_edge(way, n);
    while (way == SHS_CL_SYRK_UNITS && status == SHS_BUILD_FAILED) {
        if (!shs__cl_can_syrk(cl, way)) return SHS_UNSUPPORTED;
        status = shs__cl_begin_syrk(cl, plan, trans, "syrk_units").status;
        if (status == SHS_BUILD_FAILED) cl->ways.units64--;
        else if (status != SHS_OK) return status;
    }
    return shs__cl_prove_syrk(cl, plan, trans);
}

/* The way asked for, else the first that the device has and that is right. */
SHS__PRIVATE shs_status shs__cl_syrk_plan_of(shs_cl *cl, shs_trans trans, int n, int k, shs__cl_syrk_plan *plan) {
    static const shs_cl_syrk order[3] = {SHS_CL_SYRK_UNITS, SHS_CL_SYRK_TILES, SHS_CL_SYRK_SPLIT};
    const shs_cl_syrk asked = cl->options.syrk;
    shs_status status = SHS_UNSUPPORTED;
    size_t each, share; /* groups that a unit has room for */
    int i;
    for (i = 0; i < 3 && status == SHS_UNSUPPORTED; i++)
        if (asked == SHS_CL_SYRK_AUTO || asked == order[i]) status = shs__cl_syrk_take(cl, order[i], trans, n, plan);
    if (status != SHS_OK) return status;
    plan->tiles = shs__cl_triangle(n, plan->edge);
    each = plan->tiles * (size_t)plan->edge * (size_t)plan->edge * sizeof(shs_real) * (plan->way == SHS_CL_SYRK_SPLIT ? 2 : 1);
    if (plan->way != SHS_CL_SYRK_UNITS) share = 2;
    else share = plan->edge == 32 ? 4 : 3;
    plan->depth = shs__cl_slice_depth(cl, k, plan->tiles, share, each, 32);
    plan->slices = shs__ctx_chunks((size_t)k, (size_t)plan->depth);
    plan->bytes = SHS__PRODUCT(plan->slices, each, 1);
    return SHS_OK;
}

/* ---- products of the host's matrices ------------------------------------------------------------------------------- */

enum { SHS__CL_PRODUCT_BYTES = 32 << 20 }; /* of factors on their way at a time */

/* A product in pieces of k, which come up on queue 1 while queue 0 multiplies those before. */
typedef struct shs__cl_product_run {
    shs_cl *cl;
    const shs_context *ctx;
    const shs_product_job *job;
    shs__cl_syrk_plan plan;
    int piece, pieces, depth; /* values of k; depth: of a slice of gemm */
    cl_mem A[2], B[2], C, partial;
    cl_event done[2];
} shs__cl_product_run;

/* A factor on the host: rows x k, or k x rows if k runs along the memory. */
typedef struct shs__cl_factor {
    const shs_real *values;
    int ld, rows, k_first; /* k_first: k runs along the memory */
} shs__cl_factor;

SHS__PRIVATE shs__cl_factor shs__cl_factor_a(const shs_product_job *job) {
    shs__cl_factor f;
    f.values = job->A;
    f.ld = job->lda;
    f.rows = job->m;
    f.k_first = job->transa == SHS_TRANS_YES;
    return f;
}

SHS__PRIVATE shs__cl_factor shs__cl_factor_b(const shs_product_job *job) {
    shs__cl_factor f;
    f.values = job->B;
    f.ld = job->ldb;
    f.rows = job->n;
    f.k_first = job->transb == SHS_TRANS_NO;
    return f;
}

/* Values first .. first + count - 1 of k of a factor to the device, which has them as *on_device then. */
SHS__PRIVATE shs_status shs__cl_piece_up(const shs__cl_product_run *run, cl_mem to, shs__cl_factor f, int first, int count,
                                         shs__cl_matrix *on_device) {
    const size_t rows = (size_t)f.rows, some = (size_t)count, skipped = (size_t)first;
    shs__cl_strip r;
    if (f.k_first) {
        r = shs__cl_columns(some, rows, sizeof *f.values, f.values + skipped, f.ld);
        *on_device = shs__cl_matrix_of(to, 0, count);
    } else {
        r = shs__cl_columns(rows, some, sizeof *f.values, f.values + skipped * (size_t)f.ld, f.ld);
        *on_device = shs__cl_matrix_of(to, 0, f.rows);
    }
    return shs__cl_columns_up(run->cl, run->ctx, 1, to, &r);
}

SHS__PRIVATE shs_status shs__cl_product_plan(shs__cl_product_run *run) {
    const shs_product_job *job = run->job;
    shs_cl *cl = run->cl;
    size_t r = sizeof(shs_real), rows = (size_t)job->m + (job->symmetric ? 0 : (size_t)job->n), bytes = 0;
    size_t fit = shs__zmin(SHS__CL_PRODUCT_BYTES, shs__cl_product_room(cl)) / (rows * r);
    int i;
    shs_status status = shs__cl_buffer(cl, SHS__PRODUCT(job->m, job->n, r), &run->C);
    run->piece = (int)shs__zmin((size_t)job->k, shs__zmax(fit / 64 * 64, 64));
    run->pieces = (int)shs__ctx_chunks((size_t)job->k, (size_t)run->piece);
    if (status == SHS_OK && job->symmetric) {
        status = shs__cl_syrk_plan_of(cl, job->transa, job->n, run->piece, &run->plan);
        bytes = run->plan.bytes;
    } else if (status == SHS_OK) {
        size_t tiles = shs__ctx_chunks((size_t)job->m, SHS__CL_GEMM_TILE) * shs__ctx_chunks((size_t)job->n, SHS__CL_GEMM_TILE);
        size_t area = SHS__PRODUCT(job->m, job->n, r);
        run->depth =
            shs__cl_gemm_blocked(cl) ? shs__cl_slice_depth(cl, run->piece, tiles, 2, area, SHS__CL_GEMM_STEP) : run->piece;
        if (run->depth < run->piece)
            bytes = SHS__PRODUCT(area, shs__ctx_chunks((size_t)run->piece, (size_t)run->depth), 1);
    }
    if (status == SHS_OK && bytes) status = shs__cl_buffer(cl, bytes, &run->partial);
    for (i = 0; i < shs__imin(run->pieces, 2) && status == SHS_OK; i++) {
        status = shs__cl_buffer(cl, SHS__PRODUCT(job->m, run->piece, r), run->A + i);
        if (status == SHS_OK && !job->symmetric)
            status = shs__cl_buffer(cl, SHS__PRODUCT(job->n, run->piece, r), run->B + i);
    }
    return status;
}

/* The triangle of a piece's product; the host adds C to the first. */
SHS__PRIVATE shs_status shs__cl_piece_syrk(const shs__cl_product_run *run, int i, int count, const shs__cl_matrix *A) {
    const shs_product_job *job = run->job;
    shs__cl_syrk_job g;
    g.plan = &run->plan;
    g.uplo = job->uplo;
    g.trans = job->transa;
    g.n = job->n;
    g.k = count;
    g.alpha = job->alpha;
    if (i > 0) g.beta = 1;
    else g.beta = 0;
    g.A = *A;
    g.C = shs__cl_matrix_of(run->C, 0, job->m);
    g.partial = run->partial;
    return shs__cl_syrk(run->cl, &g);
}

SHS__PRIVATE shs_status shs__cl_piece_gemm(const shs__cl_product_run *run, int i, int count, const shs__cl_matrix *A,
                                           const shs__cl_matrix *B) {
    const shs_product_job *job = run->job;
    shs__cl_gemm_job g = shs__cl_gemm_of(job->transa, job->transb, job->m, job->n, count);
    g.depth = run->depth;
    g.alpha = job->alpha;
    if (i > 0) g.beta = 1;
    else g.beta = job->beta;
    g.A = *A;
    g.B = *B;
    g.C = shs__cl_matrix_of(run->C, 0, job->m);
    return shs__cl_gemm_deep(run->cl, &g, run->partial);
}

SHS__PRIVATE shs_status shs__cl_product_piece(shs__cl_product_run *run, int i) {
    const shs_product_job *job = run->job;
    shs_cl *cl = run->cl;
    int slot = i & 1, first = i * run->piece, count = shs__imin(run->piece, job->k - first);
    shs__cl_matrix A, B;
    cl_event arrived = NULL;
    shs_status status = shs__cl_after(cl, 1, run->done[slot]);
    if (status == SHS_OK) status = shs__cl_piece_up(run, run->A[slot], shs__cl_factor_a(job), first, count, &A);
    if (status == SHS_OK && !job->symmetric) status = shs__cl_piece_up(run, run->B[slot], shs__cl_factor_b(job), first, count, &B);
    if (status == SHS_OK) status = shs__cl_mark(cl, 1, &arrived);
    if (status == SHS_OK) status = shs__cl_after(cl, 0, arrived);
    shs__cl_forget(cl, &arrived);
    if (status != SHS_OK) return status;
    if (job->symmetric) status = shs__cl_piece_syrk(run, i, count, &A);
    else status = shs__cl_piece_gemm(run, i, count, &A, &B);
    shs__cl_forget(cl, run->done + slot);
    if (status == SHS_OK) return shs__cl_mark(cl, 0, run->done + slot);
    return status;
}

/* All of C as columns of the host. */
SHS__PRIVATE shs__cl_strip shs__cl_columns_of_c(const shs_product_job *job) {
    return shs__cl_columns((size_t)job->m, (size_t)job->n, sizeof *job->C, job->C, job->ldc);
}

/* Transfers the product to C, all of it or one triangle. The host adds a triangle to beta C. */
SHS__PRIVATE shs_status shs__cl_product_down(shs__cl_product_run *run) {
    const shs_product_job *job = run->job;
    const shs__cl_strip columns = shs__cl_columns_of_c(job);
    const size_t bytes = SHS__PRODUCT(job->n, job->n, sizeof(shs_real));
    shs_real *P;
    shs_status status;
    int i, j;
    if (!job->symmetric) return shs__cl_columns_down(run->cl, run->ctx, run->C, &columns);
    P = (shs_real *)shs__ctx_alloc(&run->cl->ctx, bytes);
    if (P) status = shs__cl_read(run->cl, 0, run->C, 0, bytes, P);
    else status = SHS_NO_MEMORY;
    for (j = 0; j < job->n && status == SHS_OK; j++) {
        int first = 0, end = j + 1;
        if (job->uplo == SHS_UPLO_LOWER) {
            first = j;
            end = job->n;
        }
        for (i = first; i < end; i++) {
            shs_real *c = SHS__AT(job->C, job->ldc, i, j), p = *SHS__AT(P, job->n, i, j);
            if (job->beta == 0) *c = p;
            else *c = p + job->beta * *c;
        }
    }
    shs__cl_free(run->cl, P);
    return status;
}

/* The engine's stage. */
SHS__PRIVATE shs_status shs__cl_product(void *user, const shs_context *ctx, const shs_product_job *job) {
    shs__cl_product_run run = SHS_ZERO;
    shs_cl *cl = (shs_cl *)user;
    shs_status status, rest;
    int i;
    run.cl = cl;
    run.ctx = ctx;
    run.job = job;
    status = shs__cl_product_plan(&run);
    if (status == SHS_OK && !job->symmetric && job->beta != 0) {
        const shs__cl_strip columns = shs__cl_columns_of_c(job);
        status = shs__cl_columns_up(cl, ctx, 0, run.C, &columns);
    }
    for (i = 0; i < run.pieces && status == SHS_OK; i++) status = shs__cl_product_piece(&run, i);
    rest = shs__cl_finish(cl, 1); /* the caller's matrices are read until then */
    if (status == SHS_OK) status = rest;
    if (status == SHS_OK) status = shs__cl_product_down(&run);
    shs__cl_finish(cl, 0);
    for (i = 0; i < 2; i++) {
        shs__cl_forget(cl, run.done + i);
        shs__cl_release(cl, run.A + i);
        shs__cl_release(cl, run.B + i);
    }
    shs__cl_release(cl, &run.C);
    shs__cl_release(cl, &run.partial);
    return status;
}

/* ---- compact codes ------------------------------------------------------------------------------------------------- */

enum {
    SHS__CL_ROUND_BYTES = 16 << 20,  /* of codes on their way at a time */
    SHS__CL_ROUND_LOCAL = 32 << 10,  /* of local memory a group at most: others fit beside it */
    SHS__CL_ROUND_ROOMS = 256 << 20, /* of items that have their rooms in global memory */
    SHS__CL_ROUND_GRAM = 4096        /* atoms at most whose Gram matrix is formed */
};

/* The rounding of codes: slices of them come up on queue 1 while queue 0 rounds those before. */
typedef struct shs__cl_rounding {
    shs_cl *cl;
    const shs_context *ctx;
    const shs_rounding_job *job;
    int gram, local;
    size_t slice, items, groups; /* signals; of a group; at a time at most */
    cl_mem D, G, used[2], atoms[2], coefs[2], factors, orders;
    cl_event arrived; /* the codes that came up last */
} shs__cl_rounding;

/* Values that an item has room for, of the device's wide type; see compact.cl. */
SHS__PRIVATE size_t shs__cl_rounding_wides(int most) { return (size_t)most * ((size_t)most + 3) / 2; }

SHS__PRIVATE void shs__cl_rounding_sizes(shs__cl_rounding *r) {
    shs_cl *cl = r->cl;
    const size_t most = (size_t)r->job->most, n = (size_t)r->job->n, m = r->job->codes->m;
    const size_t room = shs__cl_rounding_wides(r->job->most) * shs__cl_wide_size(cl) + most * sizeof(cl_int);
    const size_t each = sizeof(cl_int) + most * (sizeof(cl_int) + sizeof(shs_real));
    r->slice = shs__zmin(m, shs__zmax(shs__zmin(SHS__CL_ROUND_BYTES, shs__cl_product_room(cl)) / each, 1));
    r->gram = r->job->n <= SHS__CL_ROUND_GRAM && n * n * sizeof(shs_real) <= shs__cl_product_room(cl) &&
              (shs_wide)n * (shs_wide)n <= (shs_wide)m * (shs_wide)(most * (most + 1));
    r->items = shs__zmin(cl->ways.is_cpu ? 1 : 64, cl->about.max_group);
    while (r->items > 16 && r->items * room > shs__zmin(SHS__CL_ROUND_LOCAL, cl->about.local_bytes)) r->items /= 2;
    r->local = r->items * room <= shs__zmin(SHS__CL_ROUND_LOCAL, cl->about.local_bytes);
    if (!r->local) r->items = shs__zmin(cl->ways.is_cpu ? 1 : 32, cl->about.max_group);
    r->groups = shs__ctx_chunks(r->slice, r->items);
    if (!r->local) {
        size_t fit = shs__zmin(SHS__CL_ROUND_ROOMS, shs__cl_product_room(cl)) / (room * r->items);
        r->groups = shs__zmin(r->groups, shs__zmax(cl->ways.is_cpu ? shs__zmin(fit, 4 * (size_t)cl->units) : fit, 1));
    }
}

SHS__PRIVATE shs_status shs__cl_rounding_buffers(shs__cl_rounding *r) {
    shs_cl *cl = r->cl;
    const size_t most = (size_t)r->job->most, n = (size_t)r->job->n, p = (size_t)r->job->p, each = sizeof(shs_real);
    const size_t all = r->groups * r->items;
    shs_status status = shs__cl_buffer(cl, SHS__PRODUCT(p, n, each), &r->D);
    int i;
    if (status == SHS_OK && r->gram) status = shs__cl_buffer(cl, SHS__PRODUCT(n, n, each), &r->G);
    for (i = 0; i < (r->slice < r->job->codes->m ? 2 : 1) && status == SHS_OK; i++) {
        status = shs__cl_buffer(cl, r->slice * sizeof(cl_int), r->used + i);
        if (status == SHS_OK) status = shs__cl_buffer(cl, r->slice * most * sizeof(cl_int), r->atoms + i);
        if (status == SHS_OK) status = shs__cl_buffer(cl, r->slice * most * each, r->coefs + i);
    }
    if (r->local || status != SHS_OK) return status;
    status = shs__cl_buffer(cl, all * shs__cl_rounding_wides(r->job->most) * shs__cl_wide_size(cl), &r->factors);
    if (status == SHS_OK) return shs__cl_buffer(cl, all * most * sizeof(cl_int), &r->orders);
    return status;
}

/* Codes of signals from `first` on to the device. */
SHS__PRIVATE shs_status shs__cl_rounding_up(shs__cl_rounding *r, size_t first, size_t count, int slot) {
    const shs_codes *codes = r->job->codes;
    const size_t most = (size_t)r->job->most, at = first * (size_t)codes->stride;
    const shs__cl_strip used = shs__cl_columns(count, 1, sizeof(int), codes->used + first, 0);
    const shs__cl_strip atoms = shs__cl_columns(most, count, sizeof(int), codes->atoms + at, codes->stride);
    const shs__cl_strip coefs = shs__cl_columns(most, count, sizeof(shs_real), codes->coefs + at, codes->stride);
    shs_status status = shs__cl_columns_up(r->cl, r->ctx, 1, r->used[slot], &used);
    if (status == SHS_OK) status = shs__cl_columns_up(r->cl, r->ctx, 1, r->atoms[slot], &atoms);
    if (status == SHS_OK) status = shs__cl_columns_up(r->cl, r->ctx, 1, r->coefs[slot], &coefs);
    if (status == SHS_OK) return shs__cl_mark(r->cl, 1, &r->arrived);
    return status;
}

SHS__PRIVATE shs__cl_build shs__cl_rounding_build(const shs__cl_rounding *r) {
    shs__cl_build b = SHS_ZERO;
    shs__cl_define_int(&b, "TYPE", (int)r->job->type);
    shs__cl_define_int(&b, "MOST", r->job->most);
    shs__cl_define_int(&b, "LOCAL", r->local);
    shs__cl_define(&b, "ITEMS", r->items);
    shs__cl_define_int(&b, "GRAM", r->gram);
    return b;
}

/* Rounds a slice when its codes have arrived on the device. */
SHS__PRIVATE shs_status shs__cl_round_slice(shs__cl_rounding *r, size_t count, int slot) {
    const shs_rounding_job *job = r->job;
    const shs__cl_build b = shs__cl_rounding_build(r);
    shs__cl_call call;
    shs_status status = shs__cl_after(r->cl, 0, r->arrived);
    shs__cl_forget(r->cl, &r->arrived);
    if (status != SHS_OK) return status;
    call = shs__cl_begin(r->cl, shs__cl_source_compact, b.text, "round_codes");
    shs__cl_pass_size(&call, count);
    shs__cl_pass_buffer(&call, r->used[slot]);
    shs__cl_pass_buffer(&call, r->atoms[slot]);
    shs__cl_pass_buffer(&call, r->coefs[slot]);
    shs__cl_pass_buffer(&call, r->gram ? r->G : r->D);
    shs__cl_pass_int(&call, job->p);
    shs__cl_pass_int(&call, r->gram ? job->n : job->p);
    shs__cl_pass_buffer(&call, r->factors);
    shs__cl_pass_buffer(&call, r->orders);
    return shs__cl_launch(&call, shs__zmin(r->groups, shs__ctx_chunks(count, r->items)), r->items, 1, 1, "round");
}

SHS__PRIVATE shs_status shs__cl_rounding_dictionary(const shs__cl_rounding *r) {
    const shs_rounding_job *job = r->job;
    const shs__cl_strip atoms = shs__cl_columns((size_t)job->p, (size_t)job->n, sizeof *job->D, job->D, job->ldd);
    shs__cl_matrix D = shs__cl_matrix_of(r->D, 0, job->p), G = shs__cl_matrix_of(r->G, 0, job->n);
    shs_status status = shs__cl_columns_up(r->cl, r->ctx, 0, r->D, &atoms);
    if (status != SHS_OK || !r->gram) return status;
    return shs__cl_inner_products(r->cl, job->n, job->n, job->p, &D, &D, &G);
}

SHS__PRIVATE shs_status shs__cl_codes_round(void *user, const shs_context *ctx, const shs_rounding_job *job);

/* Known codes. Of few signals some have no atom, some all; a Gram matrix is made of few atoms and not of many. */
enum { SHS__CL_KNOWN_ROUNDED = 150 };

/* Atoms of n, each in a signal at most once, and random coefficients; zeros behind them. */
SHS__PRIVATE void shs__cl_known_code_values(shs_codes *codes, int n, shs_random *r) {
    const size_t most = (size_t)codes->stride;
    size_t i, q;
    for (i = 0; i < codes->m; i++) {
        int *atoms = codes->atoms + i * most;
        shs_real *coefs = codes->coefs + i * most;
        const size_t used = i % (most + 1);
        codes->used[i] = (int)used;
        for (q = 0; q < most; q++) {
            atoms[q] = 0;
            coefs[q] = 0;
            if (q >= used) continue;
            atoms[q] = (int)((i + 2 * q) % (size_t)n);
            coefs[q] = (shs_real)shs_random_normal(r);
        }
    }
}

SHS__PRIVATE shs_status shs__cl_known_codes(shs_cl *cl, const shs__cl_rounding *like, shs_rounding_job *job, shs__layout *host,
                                            shs_codes *both) {
    const int most = like->job->most, n = like->gram ? most + 3 : 13 * most + 14, p = most + 9;
    const size_t m = SHS__CL_KNOWN_ROUNDED;
    shs_real *D = NULL;
    shs_random r;
    shs_status status = SHS_OK;
    size_t i;
    while (shs__layout_next(&cl->ctx, host, &status)) {
        D = SHS__CARVE(host, shs_real, (size_t)p * (size_t)n);
        shs__codes_layout(host, both, m, most);
        shs__codes_layout(host, both + 1, m, most);
    }
    if (status != SHS_OK) return status;
    job->p = p;
    job->n = n;
    job->D = D;
    job->ldd = p;
    job->type = like->job->type;
    job->most = most;
    job->codes = both;
    both[0].m = both[1].m = m;
    both[0].stride = both[1].stride = most;
    shs_random_seed(&r, 3);
    for (i = 0; i < (size_t)p * (size_t)n; i++) D[i] = (shs_real)shs_random_normal(&r);
    shs_normalize_columns(p, n, D, p, NULL);
    shs__cl_known_code_values(both, n, &r);
    memcpy(both[1].used, both[0].used, m * sizeof *both->used);
    memcpy(both[1].atoms, both[0].atoms, m * (size_t)most * sizeof *both->atoms);
    memcpy(both[1].coefs, both[0].coefs, m * (size_t)most * sizeof *both->coefs);
    return status;
}

/* Where two roundings are as good sums in another order may tell for the other: of few signals. */
SHS__PRIVATE shs_status shs__cl_test_rounding(shs_cl *cl, const void *like, char *fault) {
    const shs_context cpu = shs__cl_cpu(cl);
    shs_rounding_job job = SHS_ZERO;
    shs_codes both[2];
    shs__layout host = SHS_ZERO;
    size_t i, row, differ = 0;
    shs_status status;
    memset(both, 0, sizeof both);
    status = shs__cl_known_codes(cl, (const shs__cl_rounding *)like, &job, &host, both);
    if (status == SHS_OK) status = shs__cl_codes_round(cl, &cpu, &job);
    if (status == SHS_OK) status = shs_codes_round(&cpu, job.p, job.n, job.D, job.ldd, job.type, both + 1);
    row = (size_t)job.most * sizeof *both->coefs;
    for (i = 0; i < SHS__CL_KNOWN_ROUNDED && status == SHS_OK; i++)
        differ += memcmp(both[0].coefs + i * (size_t)job.most, both[1].coefs + i * (size_t)job.most, row) != 0;
    if (differ > SHS__CL_KNOWN_ROUNDED / 8) {
        shs__cl_append_number(fault, SHS__CL_FAULT, differ);
        shs__cl_append(fault, SHS__CL_FAULT, " of 150 known signals are rounded otherwise than by the CPU");
    }
    shs__layout_release(&cl->ctx, &host);
    return status;
}

SHS__PRIVATE shs_status shs__cl_prove_rounding(const shs__cl_rounding *r) {
    const shs__cl_build b = shs__cl_rounding_build(r);
    const shs__cl_proof proof = shs__cl_proof_of(shs__cl_source_compact, "round_codes", b.text, shs__cl_test_rounding, r);
    if (!shs__cl_proves(r->cl)) return SHS_OK;
    return shs__cl_prove(r->cl, &proof);
}

/* Rounds slice after slice: while one is rounded, the codes of the next come up. */
SHS__PRIVATE shs_status shs__cl_round_slices(shs__cl_rounding *r) {
    const shs_codes *codes = r->job->codes;
    const size_t most = (size_t)r->job->most, stride = (size_t)codes->stride;
    shs__cl_strip coefs;
    size_t first, count, next;
    int slot = 0;
    shs_status status = shs__cl_rounding_up(r, 0, r->slice, 0);
    for (first = 0; first < codes->m && status == SHS_OK; first += count) {
        count = shs__zmin(r->slice, codes->m - first);
        next = first + count;
        status = shs__cl_round_slice(r, count, slot);
        if (status == SHS_OK && next < codes->m) {
            status = shs__cl_flush(r->cl, 0);
            if (status == SHS_OK) status = shs__cl_rounding_up(r, next, shs__zmin(r->slice, codes->m - next), slot ^ 1);
        }
        if (status != SHS_OK) return status;
        coefs = shs__cl_columns(most, count, sizeof(shs_real), codes->coefs + first * stride, codes->stride);
        status = shs__cl_columns_down(r->cl, r->ctx, r->coefs[slot], &coefs);
        slot ^= 1;
    }
    return status;
}

SHS__PRIVATE void shs__cl_rounding_close(shs__cl_rounding *r) {
    int i;
    shs__cl_finish(r->cl, 0);
    shs__cl_forget(r->cl, &r->arrived);
    for (i = 0; i < 2; i++) {
        shs__cl_release(r->cl, r->used + i);
        shs__cl_release(r->cl, r->atoms + i);
        shs__cl_release(r->cl, r->coefs + i);
    }
    shs__cl_release(r->cl, &r->D);
    shs__cl_release(r->cl, &r->G);
    shs__cl_release(r->cl, &r->factors);
    shs__cl_release(r->cl, &r->orders);
}

/* The engine's stage. */
SHS__PRIVATE shs_status shs__cl_codes_round(void *user, const shs_context *ctx, const shs_rounding_job *job) {
    shs__cl_rounding r = SHS_ZERO;
    shs_status status, rest;
    if (job->most > SHS__CL_ROUND_ATOMS) return SHS_UNSUPPORTED;
    r.cl = (shs_cl *)user;
    r.ctx = ctx;
    r.job = job;
    shs__cl_rounding_sizes(&r);
    status = shs__cl_prove_rounding(&r);
    if (status != SHS_OK) return status;
    shs__cl_rounding_sizes(&r); /* they may be others now */
    status = shs__cl_rounding_buffers(&r);
    if (status == SHS_OK) status = shs__cl_rounding_dictionary(&r);
    if (status == SHS_OK) status = shs__cl_round_slices(&r);
    rest = shs__cl_finish(r.cl, 1); /* the caller's codes are read until then */
    shs__cl_rounding_close(&r);
    if (status == SHS_OK) return rest;
    return status;
}

/* ================================================================================================================== */
/* SIGNALS SESSION: sparse coding and dictionary learning                                                             */
/* ================================================================================================================== */

/* The engine's signals_... stages: called by their table at the end of this file alone. They call RUNTIME, and of sparsehs.h what
   the CPU's stages follow too (whether a Gram matrix pays, layouts, sums); what becomes of the results is the driver's affair.

   Signals go to the device once, and their codes and residuals stay on the device. Signals that do not fit are cut into slices that
   take turns: the codes and residuals of the other slices wait in the host's memory. A slice is coded in chunks whose D'Y fits a
   buffer. While a chunk is coded, the signals of the next chunk come up on the other queue. A signal's codes depend on nothing but
   the signal and the dictionary, so slices and chunks do not change a bit of them. */

/* ---- the session -------------------------------------------------------------------------------------------------- */

/* Who pursues: see omp.h. */
typedef enum shs__cl_coder {
    SHS__CL_GENERAL = 0,
    SHS__CL_WARP,
    SHS__CL_WARP_KEEP,
    SHS__CL_ITEM,
    SHS__CL_GROUP,
    SHS__CL_TEAM
} shs__cl_coder;

enum {
    SHS__CL_SUMS = 256,          /* groups that add over all signals: a constant, so that the order of additions is one */
    SHS__CL_ITEM_PLACES = 64,    /* places in a signal's codes at most for omp_item, where L is an item's own */
    SHS__CL_ITEM_SIGNALS = 1024, /* items of omp_item a unit */
    SHS__CL_GROUP_ATOMS = 4096,  /* atoms at most for omp_group, and for lasso.cl */
    SHS__CL_GROUP_CACHE = 48 << 20, /* bytes of b_k that a cache is taken to hold */
    SHS__CL_DESCENT_STEPS = 1024, /* of lasso.cl at most, and these more for each atom: then the CPU goes on, which */
    SHS__CL_DESCENT_SWEEPS = 16,  /* solves for many coefficients at a time */
    SHS__CL_ALPHAS = 64 << 20    /* bytes of D'Y at a time: enough to fill the device, few enough for transfers to overlap */
};

#define SHS__CL_NONE SIZE_MAX

/* How work-items and groups share the signals. */
typedef struct shs__cl_sharing {
    shs__cl_coder coder;
    int tuned;                  /* coder and warps have been measured, or need not be */
    int warps;                  /* signals a group of omp_warp */
    size_t group, groups, each; /* of omp_general: items a group, groups, values of scratch a group */
    size_t items;               /* of omp_item */
    size_t team, rows;          /* of omp_group: items a group, b_k in local memory */
    size_t teams, largest;      /* of omp_team: groups of signals that share their atoms, 0 = none do; signals of the largest */
} shs__cl_sharing;

/* Buffers for all signals. */
typedef struct shs__cl_for_all {
    cl_mem D, G, alphas, scratch, sums, tallies, found, starts, totals;
} shs__cl_for_all;

/* Buffers for the signals of one slice. */
typedef struct shs__cl_for_slice {
    cl_mem Y, norms2, errors2, state, limits, tolerances, counts;
} shs__cl_for_slice;

typedef struct shs__cl_code_buffers {
    cl_mem used, atoms, coefs;
} shs__cl_code_buffers;

/* Buffers for learning; the last two are MOD's. */
typedef struct shs__cl_for_learning {
    cl_mem E, squares, uses, start, stretches, partial, energies, gathered, fresh, done, system, corners;
} shs__cl_for_learning;

/* The codes before the newest, for a rule that asks for them. */
typedef struct shs__cl_past {
    shs__cl_code_buffers codes;
    int kept, there; /* whether they have buffers, and whether there were any */
    int exchanged;   /* whether the session's codes are those of the past at the moment */
    int listed;      /* the same when the uses were listed */
} shs__cl_past;

/* The slices whose values the buffers hold, SHS__CL_NONE for none; wrapped: the slice that Y wraps. */
typedef struct shs__cl_holds {
    size_t Y, codes, E, counts, uses, wrapped;
} shs__cl_holds;

/* The host's side, in one block. */
typedef struct shs__cl_on_host {
    shs__layout block;
    shs_real *D;                /* p x n, for learning */
    int sent;                   /* the device has D */
    shs_real *fresh;            /* for learning: p x n new atoms, then n products d_old'd_new */
    shs_real *E;                /* p x m, for learning in slices */
    void *wides;                /* room for p x n + n values of the device's wide type, or for the sums */
    cl_uint *start, *stretches; /* n + 1 */
    cl_uint *starts;            /* teams + 1: the first signal of each, and m */
    shs_codes codes;            /* of all signals, where there are slices */
} shs__cl_on_host;

typedef struct shs__cl_signals {
    shs_cl *cl;
    const shs_context *ctx;
    shs_signals_job job;
    int p, n, padded, stride, use_gram;
    size_t m, slice, slices, chunk, block; /* block: signals whose uses are counted at a time */
    const shs_descent *descent;            /* NULL: a pursuit */
    int wraps;                             /* Y is the caller's own memory, which the device shares */
    int out_of_range;                      /* what a job with a room asks for */
    shs__cl_sharing share;
    shs__cl_for_all all;
    shs__cl_for_slice here;
    shs__cl_code_buffers now; /* the codes of a slice */
    shs__cl_past past;
    shs__cl_for_learning learn;
    shs__cl_holds holds;
    shs__cl_on_host own;
} shs__cl_signals;

SHS__PRIVATE size_t shs__cl_slice_count(const shs__cl_signals *s, size_t q) { return shs__zmin(s->slice, s->m - q * s->slice); }

/* Work-items that share a signal where they only read and write it, and signals a group. */
SHS__PRIVATE size_t shs__cl_lanes(const shs_cl *cl) { return cl->ways.is_cpu || cl->about.max_group < 64 ? 1 : 32; }
SHS__PRIVATE size_t shs__cl_rows(const shs_cl *cl) {
    size_t lanes = shs__cl_lanes(cl), rows = 8;
    while (rows > 1 && rows * lanes > cl->about.max_group) rows /= 2;
    return rows;
}

SHS__PRIVATE shs__cl_build shs__cl_shape(const shs__cl_signals *s, size_t lanes, size_t rows) {
    shs__cl_build b = SHS_ZERO;
    shs__cl_define_int(&b, "STRIDE", s->stride);
    shs__cl_define(&b, "LANES", lanes);
    shs__cl_define(&b, "ROWS", rows);
    return b;
}

SHS__PRIVATE shs__cl_call shs__cl_begin_rows(const shs__cl_signals *s, const char *const *source, const char *name) {
    const shs__cl_build b = shs__cl_shape(s, shs__cl_lanes(s->cl), shs__cl_rows(s->cl));
    return shs__cl_begin(s->cl, source, b.text, name);
}

/* A row of lanes for each of `count` signals. */
SHS__PRIVATE shs_status shs__cl_launch_rows(const shs__cl_call *call, size_t count, const char *stage) {
    size_t rows = shs__cl_rows(call->cl);
    return shs__cl_launch(call, 1, shs__cl_lanes(call->cl), shs__ctx_chunks(count, rows), rows, stage);
}

/* Passes the codes of the slice as three arguments. */
SHS__PRIVATE void shs__cl_pass_codes(shs__cl_call *call, const shs__cl_signals *s) {
    shs__cl_pass_buffer(call, s->now.used);
    shs__cl_pass_buffer(call, s->now.atoms);
    shs__cl_pass_buffer(call, s->now.coefs);
}

/* ---- opening: what fits ------------------------------------------------------------------------------------------- */

/* Local memory of a signal in omp_warp. */
SHS__PRIVATE size_t shs__cl_warp_bytes(const shs__cl_signals *s) {
    size_t pitch = SHS__CL_WARP_PITCH((size_t)s->padded), stride = (size_t)s->stride, rows = stride > 1 ? stride - 1 : 1;
    return (rows * pitch + stride * stride) * sizeof(shs_real) + SHS__CL_WARP_ITEMS * (sizeof(shs_real) + sizeof(cl_uint));
}

/* How omp_warp exchanges registers: by PTX, else by sub-groups, else through local memory. */
SHS__PRIVATE int shs__cl_shuffles(const shs_cl *cl) { return cl->ways.ptx && sizeof(shs_real) == sizeof(cl_float); }

/* Local memory of a group of omp_group, with `rows` of the b_k. */
SHS__PRIVATE size_t shs__cl_group_bytes(const shs__cl_signals *s, size_t rows) {
    const size_t stride = (size_t)s->stride, r = sizeof(shs_real);
    const size_t spare = shs__omp_distances(s->job.coding->selection) ? s->share.team : 1;
    return (rows * (size_t)s->padded + stride * (stride + 3) / 2) * r + stride * sizeof(cl_int) +
           s->share.team * (2 * r + sizeof(cl_int)) + spare * r;
}

/* Whether omp_warp, omp_item and omp_group can take these sizes. */
SHS__PRIVATE int shs__cl_warp_fits(const shs__cl_signals *s) {
    const shs_cl *cl = s->cl;
    if (cl->ways.is_cpu || !s->use_gram || s->stride > 32 || s->padded > 1024) return 0;
    return shs__cl_warp_bytes(s) <= cl->about.local_bytes && cl->about.max_group >= SHS__CL_WARP_ITEMS;
}
SHS__PRIVATE int shs__cl_item_fits(const shs__cl_signals *s) { return s->use_gram && s->stride <= SHS__CL_ITEM_PLACES; }
SHS__PRIVATE int shs__cl_group_fits(const shs__cl_signals *s) {
    return !s->cl->ways.is_cpu && s->use_gram && s->padded <= SHS__CL_GROUP_ATOMS && (size_t)s->padded <= 16 * s->share.team &&
           shs__cl_group_bytes(s, 1) <= s->cl->about.local_bytes;
}

/* Rows of b in half of the local memory, so that twice as many groups run, while what those have in global memory stays in a
   cache; else in all of it. On an H200, n 1024: half is 40 % faster at s 16 (43 MB), all of it 70 % at s 32 (111 MB). */
SHS__PRIVATE size_t shs__cl_group_rows(const shs__cl_signals *s) {
    const size_t most = (size_t)shs__imax(s->stride - 1, 1), row = (size_t)s->padded * sizeof(shs_real);
    size_t half = 1, all;
    while (half < most && shs__cl_group_bytes(s, half + 1) <= s->cl->about.local_bytes / 2) half++;
    if (shs__cl_group_bytes(s, half) <= s->cl->about.local_bytes / 2 &&
        (most - half) * row * 8 <= SHS__CL_GROUP_CACHE / (size_t)s->cl->units)
        return half;
    for (all = half; all < most && shs__cl_group_bytes(s, all + 1) <= s->cl->about.local_bytes;) all++;
    return all;
}

/* Items a group, each with some `atoms` of them: a power of two from 32 to 256; one on a processor. */
SHS__PRIVATE size_t shs__cl_group_items(const shs__cl_signals *s, size_t atoms) {
    size_t group = 32;
    if (s->cl->ways.is_cpu) return 1;
    while (group < 256 && group * atoms < (size_t)s->padded) group *= 2;
    while (group > s->cl->about.max_group) group /= 2;
    return group;
}

SHS__PRIVATE shs_status shs__cl_prove_coder(shs__cl_signals *s, const char **kernel, char *fault); /* see the self-test below */

/* The kernels of another session, in a small one. */
SHS__PRIVATE void shs__cl_imitate(shs__cl_signals *s, const shs__cl_signals *other) {
    s->share.coder = other->share.coder;
    s->share.warps = other->share.warps;
    s->share.group = other->share.group;
    s->share.team = other->share.team;
    s->share.rows = other->share.rows;
}

/* A warp a signal where alpha fits its registers and b the local memory. b in registers too only while an item has few values
   of it: on an H200 at s 8 that was 10 % faster at n 64, but 24 % slower at n 256, where fewer warps fit a multiprocessor. */
SHS__PRIVATE shs_status shs__cl_take_coder(shs__cl_signals *s, shs_cl_coder asked) {
    const shs_cl *cl = s->cl;
    size_t bytes = shs__cl_warp_bytes(s), kept = (size_t)(s->stride - 1) * (size_t)(s->padded / SHS__CL_WARP_ITEMS);
    int fits = 1;
    s->share.group = shs__cl_group_items(s, 4);
    s->share.team = shs__cl_group_items(s, sizeof(shs_real) == sizeof(cl_float) ? 12 : 16); /* on an H200 within 5 % of the best */
    if (s->share.teams) {
        s->share.coder = SHS__CL_TEAM;
        if (asked == SHS_CL_CODER_GENERAL) return SHS_OK;
        return SHS_UNSUPPORTED;
    }
    if (shs__cl_shuffles(cl)) s->share.warps = 4;
    else s->share.warps = 1;
    while (s->share.warps > 1 && (size_t)s->share.warps * bytes > cl->about.local_bytes) s->share.warps /= 2;
    if (asked == SHS_CL_CODER_WARP) {
        fits = shs__cl_warp_fits(s);
        if (shs__cl_shuffles(cl) && kept <= 16) s->share.coder = SHS__CL_WARP_KEEP;
        else s->share.coder = SHS__CL_WARP;
    } else if (asked == SHS_CL_CODER_ITEM) {
        fits = shs__cl_item_fits(s);
        s->share.coder = SHS__CL_ITEM;
    } else if (asked == SHS_CL_CODER_GROUP) {
        fits = shs__cl_group_fits(s);
        s->share.coder = SHS__CL_GROUP;
        if (fits) s->share.rows = shs__cl_group_rows(s);
    } else s->share.coder = SHS__CL_GENERAL;
    if (fits) return SHS_OK;
    return SHS_UNSUPPORTED;
}

/* omp_warp by sub-groups first, then without. */
SHS__PRIVATE shs_status shs__cl_prove_ways(shs__cl_signals *s, const char **kernel, char *fault) {
    shs_cl *cl = s->cl;
    const char *const sub_groups = cl->ways.sub_groups;
    shs_status status = shs__cl_prove_coder(s, kernel, fault);
    if (status != SHS_UNSUPPORTED || s->share.coder != SHS__CL_WARP) return status;
    if (!sub_groups || shs__cl_shuffles(cl) || cl->test.one_way) return status;
    cl->ways.sub_groups = NULL;
    return shs__cl_prove_coder(s, kernel, fault);
}

/* The one asked for, else the first that fits and is right. The last is slow where a group can be had, but simple. */
SHS__PRIVATE shs_status shs__cl_try_coders(shs__cl_signals *s, const char **kernel, char *fault) {
    static const shs_cl_coder order[4] = {SHS_CL_CODER_WARP, SHS_CL_CODER_GROUP, SHS_CL_CODER_GENERAL, SHS_CL_CODER_ITEM};
    const shs_cl_coder asked = s->cl->options.coder;
    shs_status status;
    int i;
    for (i = 0; i < 4; i++) {
        if (asked != SHS_CL_CODER_AUTO && asked != order[i]) continue;
        status = shs__cl_take_coder(s, order[i]);
        if (status == SHS_OK && shs__cl_proves(s->cl)) status = shs__cl_prove_ways(s, kernel, fault);
        if (status != SHS_UNSUPPORTED) return status;
        if (order[i] == SHS_CL_CODER_GENERAL && !fault[0])
            break; /* it takes all sizes: it was not to be had for another reason */
    }
    return SHS_UNSUPPORTED;
}

/* Where all are wrong, compiled in another way. */
SHS__PRIVATE shs_status shs__cl_choose_coder(shs__cl_signals *s) {
    shs_cl *cl = s->cl;
    const shs__cl_ways before = cl->ways;
    const char *kernel = "";
    char fault[SHS__CL_FAULT] = "";
    shs_status status;
    if (cl->test.imitated) {
        shs__cl_imitate(s, cl->test.imitated);
        return SHS_OK;
    }
    status = shs__cl_try_coders(s, &kernel, fault);
    while (status == SHS_UNSUPPORTED && fault[0] && shs__cl_step_down(cl)) status = shs__cl_try_coders(s, &kernel, fault);
    if (status == SHS_UNSUPPORTED && fault[0]) cl->ways = before;
    if (fault[0]) shs__cl_tell_fault(cl, kernel, fault, status == SHS_OK ? "; another one codes" : "; none codes");
    return status;
}

SHS__PRIVATE size_t shs__cl_general_scratch(const shs__cl_signals *s) {
    size_t stride = (size_t)s->stride, p = (size_t)s->p;
    size_t rows = shs__zmax(stride, 2) + 2 * (size_t)shs__omp_distances(s->job.coding->selection); /* alpha, the b_k; G_jj, d^2 */
    return (size_t)s->padded * rows + stride * (stride + 1) + shs__zmax(p, stride);
}

/* Whether a signal has a tolerance. */
SHS__PRIVATE int shs__cl_tolerant(const shs__cl_signals *s) {
    return s->job.coding->tolerance > 0 || s->job.coding->tolerance_each != NULL;
}

/* That of omp_team beside it: t, and residuals where tolerances ask for them, of each signal of a team. */
SHS__PRIVATE size_t shs__cl_team_scratch(const shs__cl_signals *s) {
    const size_t each = (size_t)s->stride + (shs__cl_tolerant(s) ? (size_t)s->p : 0);
    return shs__cl_general_scratch(s) + SHS__PRODUCT(s->share.largest, each, 1);
}

/* Scratch of an item of omp_item: b_1 .. b_{s-1}, and d^2. */
SHS__PRIVATE size_t shs__cl_item_scratch(const shs__cl_signals *s) {
    return (size_t)s->padded * (size_t)(shs__imax(s->stride - 1, 1) + shs__omp_distances(s->job.coding->selection));
}

/* Where host and device share memory nothing is copied: the kernels read the caller's signals where they lie. Processors want
   the four values that are read at once aligned; others whole pages, or their drivers copy all the same. */
SHS__PRIVATE size_t shs__cl_wrap_alignment(const shs_cl *cl) { return cl->ways.is_cpu ? 4 * sizeof(shs_real) : 4096; }

/* Makes Y the signals of slice q: `count` of them. */
SHS__PRIVATE shs_status shs__cl_wrap_slice(shs__cl_signals *s, size_t q, size_t count) {
    const shs_real *from = s->job.Y + q * s->slice * (size_t)s->p;
    shs_status status;
    if (s->holds.wrapped == q) return SHS_OK;
    s->holds.wrapped = SHS__CL_NONE;
    shs__cl_release(s->cl, &s->here.Y);
    status = shs__cl_wrap(s->cl, count * (size_t)s->p * sizeof(shs_real), (void *)(uintptr_t)from, &s->here.Y);
    if (status == SHS_OK) s->holds.wrapped = q;
    return status;
}

/* Finds out by trying: a driver may refuse memory that it cannot write, or pin. */
SHS__PRIVATE void shs__cl_try_to_wrap(shs__cl_signals *s) {
    shs_cl *cl = s->cl;
    size_t most = cl->about.max_alloc / ((size_t)s->p * sizeof(shs_real));
    cl_int error = cl->failure.error;
    s->wraps = cl->about.unified && s->m > 0 && most > 0 && s->job.ldy == s->p &&
               (uintptr_t)s->job.Y % shs__cl_wrap_alignment(cl) == 0;
    if (!s->wraps || shs__cl_wrap_slice(s, 0, shs__zmin(s->m, most)) == SHS_OK) return;
    s->wraps = 0;
    cl->failure.error = error;
}

/* Bytes of device memory that a signal needs. */
SHS__PRIVATE size_t shs__cl_signal_bytes(const shs__cl_signals *s) {
    const shs_omp_options *o = s->job.coding;
    size_t r = sizeof(shs_real), p = (size_t)s->p, stride = (size_t)s->stride, wide = shs__cl_wide_size(s->cl);
    size_t bytes = wide + stride * (r + 4) + r + 8;
    if (!s->wraps) bytes += p * r;
    if (o->sparsity_each) bytes += 4;
    if (o->tolerance_each) bytes += r;
    if (s->job.learning) bytes += p * r + wide + stride * 4 + (stride * (p * r + wide)) / SHS__CL_USES_STRETCH + 1;
    return bytes;
}

/* Buffers that do not depend on chunk and slice. */
SHS__PRIVATE shs_status shs__cl_signals_common(shs__cl_signals *s) {
    shs_cl *cl = s->cl;
    const size_t r = sizeof(shs_real), n = (size_t)s->n, p = (size_t)s->p, padded = (size_t)s->padded, wide = shs__cl_wide_size(cl);
    const size_t gram = SHS__PRODUCT(padded, padded, r);
    shs_status status = shs__cl_buffer(cl, SHS__PRODUCT(p, padded, r), &s->all.D);
    s->use_gram = s->use_gram && gram <= cl->about.max_alloc && gram <= shs__cl_left(cl) / 2;
    if (status == SHS_OK && s->use_gram) status = shs__cl_buffer(cl, gram, &s->all.G);
    if (status == SHS_OK) status = shs__cl_buffer(cl, SHS__CL_SUMS * wide, &s->all.sums);
    if (status == SHS_OK) status = shs__cl_buffer(cl, SHS__CL_SUMS * 3 * sizeof(cl_ulong), &s->all.tallies);
    if (status == SHS_OK) status = shs__cl_buffer(cl, 2 * sizeof(cl_int), &s->all.found);
    if (status == SHS_OK) status = shs__cl_buffer(cl, n * sizeof(cl_uint), &s->all.totals);
    if (status == SHS_OK && s->share.teams) status = shs__cl_buffer(cl, (s->share.teams + 1) * sizeof(cl_uint), &s->all.starts);
    if (status != SHS_OK || !s->job.learning) return status;
    status = shs__cl_buffer(cl, (n + 1) * sizeof(cl_uint), &s->learn.start);
    if (status == SHS_OK) status = shs__cl_buffer(cl, (n + 1) * sizeof(cl_uint), &s->learn.stretches);
    if (status == SHS_OK) status = shs__cl_buffer(cl, SHS__PRODUCT(p + 1, n, wide), &s->learn.gathered);
    if (status == SHS_OK) status = shs__cl_buffer(cl, SHS__PRODUCT(p + 1, n, r), &s->learn.fresh);
    if (status == SHS_OK) return shs__cl_buffer(cl, n, &s->learn.done);
    return status;
}

/* Groups or items that share a chunk, and the values of scratch that they need, from `left` bytes. Scratch of omp_general also
   holds the b_k that omp_group has in global memory. */
SHS__PRIVATE size_t shs__cl_plan_groups(shs__cl_signals *s, size_t left) {
    const shs_cl *cl = s->cl;
    const size_t r = sizeof(shs_real), units = cl->units;
    size_t most, fit;
    s->share.groups = shs__zmin(units * (cl->ways.is_cpu ? 1 : 16), left / 8 / (s->share.each * r));
    s->share.groups = shs__zmax(1, shs__zmin(s->share.groups, s->chunk));
    if (cl->test.imitated) s->share.groups = shs__zmin(s->share.groups, 3); /* so that a group takes several signals */
    if (s->share.coder != SHS__CL_ITEM) return s->share.groups * s->share.each;
    most = cl->test.imitated ? 32 : units * SHS__CL_ITEM_SIGNALS;
    fit = shs__zmin(left / 4, cl->about.max_alloc) / (shs__cl_item_scratch(s) * r);
    s->share.items = shs__zmax(1, shs__zmin(shs__zmin(s->chunk, most), fit));
    return shs__zmax(s->share.groups * s->share.each, s->share.items * shs__cl_item_scratch(s));
}

/* The size of a chunk and its buffers. */
SHS__PRIVATE shs_status shs__cl_plan_chunk(shs__cl_signals *s) {
    shs_cl *cl = s->cl;
    const size_t r = sizeof(shs_real), padded = (size_t)s->padded, left = shs__cl_left(cl), most = shs__zmax(s->m, 1);
    const size_t asked = s->job.coding->signals_per_group;
    size_t alphas = shs__zmin(left / 4, cl->about.max_alloc), scratch;
    shs_status status;
    if (s->job.descending) s->share.each = 1;
    else if (s->share.teams) s->share.each = shs__cl_team_scratch(s);
    else s->share.each = shs__cl_general_scratch(s);
    if (s->share.each > cl->about.max_alloc / r) return shs__cl_no_room(cl, SHS__PRODUCT(s->share.each, 1, r));
    if (!asked) alphas = shs__zmin(alphas, SHS__CL_ALPHAS);
    s->chunk = shs__zmax(1, shs__zmin(most, alphas / (padded * r)));
    if (asked) s->chunk = shs__zmin(s->chunk, shs__zmin(asked, INT_MAX));
    s->chunk = shs__zmax(s->chunk, s->share.largest);
    scratch = shs__cl_plan_groups(s, left);
    status = shs__cl_buffer(cl, SHS__PRODUCT(s->chunk, padded, r), &s->all.alphas);
    if (status == SHS_OK) return shs__cl_buffer(cl, scratch * r, &s->all.scratch);
    return status;
}

/* The size of a slice. */
SHS__PRIVATE shs_status shs__cl_plan_slice(shs__cl_signals *s) {
    shs_cl *cl = s->cl;
    const size_t r = sizeof(shs_real), n = (size_t)s->n, p = (size_t)s->p, stride = (size_t)s->stride;
    const size_t left = shs__cl_left(cl), most = shs__zmax(s->m, 1), unit = shs__cl_wrap_alignment(cl) / r;
    const size_t each = shs__cl_signal_bytes(s);
    size_t reserve = 1024;
    s->block = shs__zmax(256, shs__ctx_chunks(most, 512 * 32) * 32);
    reserve += n * shs__ctx_chunks(most, s->block) * sizeof(cl_uint);
    if (s->job.learning) reserve += n * (p * r + shs__cl_wide_size(cl));
    if (reserve >= left) return shs__cl_no_room(cl, reserve + each);
    s->slice = shs__zmin(most, (left - reserve) / each);
    s->slice = shs__zmin(s->slice, cl->about.max_alloc / shs__zmax(p * r, stride * r));
    s->slice = shs__zmin(s->slice, INT_MAX / stride);
    if (s->wraps && s->slice < most) s->slice -= s->slice % unit; /* each is to begin where one may be wrapped */
    if (s->slice == 0) return shs__cl_no_room(cl, reserve + shs__zmin(most, s->wraps ? unit : 1) * each);
    if (s->share.teams && s->slice < most) return shs__cl_no_room(cl, reserve + most * each); /* no team may be cut */
    if (s->slice < most) s->holds.wrapped = SHS__CL_NONE;        /* it was all of them */
    s->slices = shs__ctx_chunks(s->m, s->slice);
    s->chunk = shs__zmin(s->chunk, s->slice);
    return SHS_OK;
}

/* The coder, then the sizes of chunk and slice from the memory that is left. */
SHS__PRIVATE shs_status shs__cl_signals_plan(shs__cl_signals *s) {
    shs_status status = shs__cl_signals_common(s);
    if (status == SHS_OK && !s->job.descending) status = shs__cl_choose_coder(s);
    if (status == SHS_OK) status = shs__cl_plan_chunk(s);
    if (status == SHS_OK) return shs__cl_plan_slice(s);
    return status;
}

SHS__PRIVATE shs_status shs__cl_signals_buffers(shs__cl_signals *s) {
    shs_cl *cl = s->cl;
    size_t r = sizeof(shs_real), p = (size_t)s->p, count = s->slice, cells = count * (size_t)s->stride;
    size_t wide = shs__cl_wide_size(cl);
    size_t blocks = shs__ctx_chunks(count, s->block), most = (size_t)s->n + cells / SHS__CL_USES_STRETCH;
    shs_status status = s->wraps ? shs__cl_wrap_slice(s, 0, count) : shs__cl_buffer(cl, count * p * r, &s->here.Y);
    if (status == SHS_OK) status = shs__cl_buffer(cl, count * wide, &s->here.norms2);
    if (status == SHS_OK) status = shs__cl_buffer(cl, count * sizeof(cl_int), &s->now.used);
    if (status == SHS_OK) status = shs__cl_buffer(cl, cells * sizeof(cl_int), &s->now.atoms);
    if (status == SHS_OK) status = shs__cl_buffer(cl, cells * r, &s->now.coefs);
    if (status == SHS_OK) status = shs__cl_buffer(cl, count * r, &s->here.errors2);
    if (status == SHS_OK) status = shs__cl_buffer(cl, count * sizeof(cl_int), &s->here.state);
    if (status == SHS_OK) status = shs__cl_buffer(cl, blocks * (size_t)s->n * sizeof(cl_uint), &s->here.counts);
    if (status == SHS_OK && s->job.coding->sparsity_each) status = shs__cl_buffer(cl, count * sizeof(cl_int), &s->here.limits);
    if (status == SHS_OK && s->job.coding->tolerance_each) status = shs__cl_buffer(cl, count * r, &s->here.tolerances);
    if (status != SHS_OK || !s->job.learning) return status;
    status = shs__cl_buffer(cl, count * p * r, &s->learn.E);
    if (status == SHS_OK) status = shs__cl_buffer(cl, count * wide, &s->learn.squares);
    if (status == SHS_OK) status = shs__cl_buffer(cl, cells * sizeof(cl_uint), &s->learn.uses);
    if (status == SHS_OK) status = shs__cl_buffer(cl, most * p * r, &s->learn.partial);
    if (status == SHS_OK) status = shs__cl_buffer(cl, most * wide, &s->learn.energies);
    return status;
}

SHS__PRIVATE void shs__cl_signals_layout(shs__layout *l, shs__cl_signals *s) {
    size_t n = (size_t)s->n, p = (size_t)s->p;
    size_t learning = s->job.learning != 0;
    s->own.D = SHS__CARVE(l, shs_real, learning ? SHS__PRODUCT(p, n, 1) : 0);
    s->own.fresh = SHS__CARVE(l, shs_real, learning ? SHS__PRODUCT(p + 1, n, 1) : 0);
    s->own.wides = shs__layout_carve(l, shs__zmax(learning ? SHS__PRODUCT(p + 1, n, 1) : 0, SHS__CL_SUMS * 4),
                                 sizeof(cl_ulong));
    s->own.start = SHS__CARVE(l, cl_uint, n + 1);
    s->own.stretches = SHS__CARVE(l, cl_uint, n + 1);
    s->own.starts = SHS__CARVE(l, cl_uint, s->share.teams + 1);
    if (s->slices < 2) return;
    shs__codes_layout(l, &s->own.codes, s->m, s->stride);
    s->own.E = SHS__CARVE(l, shs_real, learning ? SHS__PRODUCT(p, s->m, 1) : 0);
}

SHS__PRIVATE void shs__cl_signals_close(void *session) {
    shs__cl_signals *s = (shs__cl_signals *)session;
    cl_mem *const buffers[] = {
        &s->all.D,            &s->all.G,            &s->all.alphas,       &s->all.scratch,      &s->all.sums,
        &s->all.tallies,      &s->all.found,        &s->here.Y,           &s->here.norms2,      &s->now.used,
        &s->now.atoms,        &s->now.coefs,        &s->here.errors2,     &s->here.state,       &s->here.limits,
        &s->here.tolerances,  &s->learn.E,          &s->learn.squares,    &s->learn.uses,       &s->here.counts,
        &s->all.totals,       &s->learn.start,      &s->learn.stretches,  &s->learn.partial,    &s->learn.energies,
        &s->learn.gathered,   &s->learn.fresh,      &s->learn.done,       &s->all.starts,       &s->past.codes.used,
        &s->past.codes.atoms, &s->past.codes.coefs, &s->learn.system,     &s->learn.corners};
    size_t i;
    shs__cl_finish(s->cl, 1); /* nothing may read the caller's signals any more */
    shs__cl_finish(s->cl, 0);
    for (i = 0; i < sizeof buffers / sizeof *buffers; i++) shs__cl_release(s->cl, buffers[i]);
    shs__layout_release(s->ctx, &s->own.block);
    shs__ctx_free(s->ctx, s);
}

/* Whether the device can run the kernels: groups of update.cl's size, with the local memory of place_uses. */
SHS__PRIVATE int shs__cl_signals_fit(const shs__cl_signals *s) {
    const size_t tile = 2 * SHS__CL_USES_TILE * sizeof(cl_uint);
    return s->padded > 0 && s->cl->about.max_group >= SHS__CL_USES_ITEMS && s->cl->about.local_bytes >= tile;
}

/* Whether the Gram matrix is made. On devices other than processors a product's operation is some 30 times as fast as one of
   omp_general without a Gram matrix, where an item forms the correlation of an atom: s n p operations a signal, or a team. */
SHS__PRIVATE int shs__cl_gram_pays(const shs__cl_signals *s) {
    const shs_cl_coder asked = s->cl->options.coder;
    const shs_omp_options *o = s->job.coding;
    if (o->gram_mode == SHS_GRAM_AUTO && asked != SHS_CL_CODER_AUTO && asked != SHS_CL_CODER_GENERAL) return 1;
    if (o->gram_mode == SHS_GRAM_AUTO && !s->cl->ways.is_cpu)
        return (shs_wide)s->n <= (shs_wide)30 * (shs_wide)s->stride * (shs_wide)(s->share.teams ? s->share.teams : s->m);
    return shs__omp_uses_gram(s->p, s->n, s->m, s->stride, o);
}

/* Signals of the largest of the groups that share their atoms. */
SHS__PRIVATE size_t shs__cl_largest_team(const shs_omp_options *o, size_t m) {
    size_t most = 0, g;
    for (g = 0; g < o->group_count; g++) most = shs__zmax(most, shs__team_end(o, m, g) - o->groups[g]);
    return most;
}

/* Where the groups of signals begin. */
SHS__PRIVATE shs_status shs__cl_write_starts(shs__cl_signals *s) {
    size_t g;
    if (!s->share.teams) return SHS_OK;
    for (g = 0; g < s->share.teams; g++) s->own.starts[g] = (cl_uint)s->job.coding->groups[g];
    s->own.starts[g] = (cl_uint)s->m;
    return shs__cl_write(s->cl, 0, s->all.starts, 0, (s->share.teams + 1) * sizeof(cl_uint), s->own.starts);
}

SHS__PRIVATE shs_status shs__cl_signals_open(void *user, const shs_context *ctx, const shs_signals_job *job, void **session) {
    shs__cl_signals *s = (shs__cl_signals *)shs__ctx_alloc(ctx, sizeof *s);
    shs_status status;
    if (!s) return SHS_NO_MEMORY;
    memset(s, 0, sizeof *s);
    s->cl = (shs_cl *)user;
    s->ctx = ctx;
    s->job = *job;
    s->p = job->p;
    s->n = job->n;
    s->m = job->m;
    s->stride = shs__imax(job->stride, 1);
    s->holds.Y = s->holds.codes = s->holds.E = s->holds.counts = s->holds.uses = SHS__CL_NONE;
    if (s->n > INT_MAX - 31) s->padded = 0;
    else s->padded = shs__la_round_up(s->n, SHS__CL_WARP_ITEMS);
    s->share.teams = job->coding->group_count;
    s->share.largest = shs__cl_largest_team(job->coding, s->m);
    if (s->cl->test.imitated) s->use_gram = s->cl->test.imitated->use_gram;
    else s->use_gram = shs__cl_gram_pays(s);
    s->holds.wrapped = SHS__CL_NONE;
    shs__cl_try_to_wrap(s);
    if (shs__cl_signals_fit(s)) status = shs__cl_signals_plan(s);
    else status = SHS_UNSUPPORTED;
    if (status == SHS_OK) status = shs__cl_signals_buffers(s);
    while (shs__layout_next(ctx, &s->own.block, &status)) shs__cl_signals_layout(&s->own.block, s);
    if (status == SHS_OK) status = shs__cl_write_starts(s);
    if (status == SHS_OK) *session = s;
    else shs__cl_signals_close(s);
    return status;
}

/* ---- the dictionary ----------------------------------------------------------------------------------------------- */

/* Atoms beyond n, up to a whole number of warps, are zero: they are never chosen. */
SHS__PRIVATE shs_status shs__cl_signals_dictionary(void *session, const shs_real *D, int ldd) {
    shs__cl_signals *s = (shs__cl_signals *)session;
    shs_cl *cl = s->cl;
    size_t r = sizeof(shs_real), p = (size_t)s->p, n = (size_t)s->n, padded = (size_t)s->padded;
    shs__cl_matrix A = shs__cl_matrix_of(s->all.D, 0, s->p), G = shs__cl_matrix_of(s->all.G, 0, s->padded);
    const shs_real *given = s->job.coding->gram;
    shs__cl_strip gram;
    shs_status status = SHS_OK;
    int j;
    for (j = 0; s->job.learning && j < s->n; j++) { /* the stages before have changed a few atoms, or none */
        shs_real *own = s->own.D + (size_t)j * p;
        if (memcmp(own, SHS__AT(D, ldd, 0, j), p * r) == 0) continue;
        memcpy(own, SHS__AT(D, ldd, 0, j), p * r);
        s->own.sent = 0;
    }
    if (!s->own.sent) {
        const shs__cl_strip atoms = shs__cl_columns(p, n, r, D, ldd);
        status = shs__cl_columns_up(cl, s->ctx, 0, s->all.D, &atoms);
    }
    if (!s->own.sent && status == SHS_OK) status = shs__cl_clear(cl, 0, s->all.D, p * n * r, p * (padded - n) * r);
    if (status == SHS_OK) status = shs__cl_finish(cl, 0); /* D is the caller's again */
    s->own.sent = s->job.learning && status == SHS_OK;
    if (status != SHS_OK || !s->use_gram) return status;
    if (!given) return shs__cl_inner_products(cl, s->padded, s->padded, s->p, &A, &A, &G);
    gram = shs__cl_columns(n, n, r, given, s->job.coding->ldg);
    gram.pitch = padded * r;
    status = shs__cl_clear(cl, 0, s->all.G, 0, padded * padded * r);
    if (status == SHS_OK) status = shs__cl_columns_up(cl, s->ctx, 0, s->all.G, &gram);
    if (status == SHS_OK) return shs__cl_finish(cl, 0);
    return status;
}

/* ---- coding ------------------------------------------------------------------------------------------------------- */

/* Whether the call's program was refused with sub-groups. No program is built with them again. */
SHS__PRIVATE int shs__cl_refuses_sub_groups(shs_cl *cl, const shs__cl_call *call, const shs__cl_build *b) {
    if (call->status != SHS_BUILD_FAILED || !cl->ways.sub_groups || !strstr(b->text, cl->ways.sub_groups)) return 0;
    cl->ways.sub_groups = NULL;
    shs__cl_forget_failure(cl);
    return 1;
}

/* The kernel of each coder, in the order of shs__cl_coder. */
typedef struct shs__cl_coder_kernel {
    const char *const *source;
    const char *name;
} shs__cl_coder_kernel;
SHS__PRIVATE const shs__cl_coder_kernel shs__cl_coders[] = {
    {shs__cl_source_omp_general, "omp_general"}, {shs__cl_source_omp_warp, "omp_warp"},
    {shs__cl_source_omp_warp, "omp_warp"},       {shs__cl_source_omp_item, "omp_item"},
    {shs__cl_source_omp_group, "omp_group"},     {shs__cl_source_omp_team, "omp_team"},
};

SHS__PRIVATE shs__cl_build shs__cl_coder_build(const shs__cl_signals *s, shs__cl_coder coder, int redux) {
#define SHS__CL_RULE(name, distances) #name,
    static const char *const rules[] = {SHS_SELECTION_LIST(SHS__CL_RULE)};
#undef SHS__CL_RULE
    const shs_omp_options *o = s->job.coding;
    shs__cl_build b = SHS_ZERO;
    shs__cl_define_name(&b, "SELECT_", rules[o->selection]);
    shs__cl_define_int(&b, "TOLERANT", shs__cl_tolerant(s));
    if (s->cl->about.kind == SHS_CL_CPU && shs__cl_contains(s->cl->about.platform, "intel")) shs__cl_define(&b, "BY_SQRT", 1);
    if (coder == SHS__CL_GENERAL || coder == SHS__CL_TEAM) {
        shs__cl_define(&b, "GROUP", s->share.group);
        shs__cl_define_int(&b, "USE_GRAM", s->use_gram);
        return b;
    }
    if (coder == SHS__CL_GROUP) {
        shs__cl_define(&b, "GROUP", s->share.team);
        shs__cl_define(&b, "ROWS", s->share.rows);
    }
    shs__cl_define_int(&b, "N", s->padded);
    shs__cl_define_int(&b, "S", s->stride);
    if (coder == SHS__CL_ITEM || coder == SHS__CL_GROUP) return b;
    shs__cl_define_int(&b, "SIGNALS", s->share.warps);
    shs__cl_define(&b, "KEEP", coder == SHS__CL_WARP_KEEP);
    shs__cl_define_int(&b, "SHUFFLES", shs__cl_shuffles(s->cl));
    shs__cl_define_int(&b, "REDUX", redux);
    if (s->cl->ways.sub_groups && !shs__cl_shuffles(s->cl)) shs__cl_append(b.text, sizeof b.text, s->cl->ways.sub_groups);
    return b;
}

/* Integer reductions of a warp came after the shuffles, so a build with them may fail where the shuffles work. A compiler that
   refuses sub-groups is not asked for them again. */
SHS__PRIVATE shs__cl_call shs__cl_begin_coder(const shs__cl_signals *s, shs__cl_coder coder) {
    const shs__cl_coder_kernel *kernel = &shs__cl_coders[coder];
    shs__cl_build b;
    shs__cl_call call;
    int redux;
    for (redux = shs__cl_shuffles(s->cl) && (coder == SHS__CL_WARP || coder == SHS__CL_WARP_KEEP); redux >= 0; redux--) {
        b = shs__cl_coder_build(s, coder, redux);
        call = shs__cl_begin(s->cl, kernel->source, b.text, kernel->name);
        if (call.status != SHS_BUILD_FAILED) break;
    }
    if (!shs__cl_refuses_sub_groups(s->cl, &call, &b)) return call;
    return shs__cl_begin_coder(s, coder);
}

/* The arguments that all coders begin with. */
SHS__PRIVATE void shs__cl_pass_pursuit(shs__cl_call *call, const shs__cl_signals *s, shs__cl_coder coder, size_t first,
                                       size_t count) {
    const shs_omp_options *o = s->job.coding;
    int limit = s->job.stride;
    if (!o->sparsity_each && o->sparsity > 0) limit = shs__imin(o->sparsity, limit);
    if (coder == SHS__CL_TEAM) {
        shs__cl_pass_uint(call, first);
        shs__cl_pass_uint(call, count);
        shs__cl_pass_buffer(call, s->all.starts);
    } else {
        shs__cl_pass_size(call, first);
        shs__cl_pass_size(call, count);
    }
    shs__cl_pass_buffer(call, s->all.alphas);
    shs__cl_pass_buffer(call, s->all.G);
    shs__cl_pass_buffer(call, s->here.norms2);
    shs__cl_pass_int(call, limit);
    shs__cl_pass_buffer(call, s->here.limits);
    shs__cl_pass_real(call, o->tolerance);
    shs__cl_pass_buffer(call, s->here.tolerances);
    shs__cl_pass_codes(call, s);
    shs__cl_pass_buffer(call, s->here.errors2);
    shs__cl_pass_buffer(call, s->here.state);
}

/* Signals first .. first+count-1 of the slice, or teams, whose D'y is in place. settle: only those that other coders left open. */
SHS__PRIVATE shs_status shs__cl_pursue(const shs__cl_signals *s, shs__cl_coder coder, size_t first, size_t count, int settle) {
    const size_t warps = (size_t)s->share.warps, groups = shs__zmin(s->share.groups, count);
    shs__cl_call call = shs__cl_begin_coder(s, coder);
    shs__cl_pass_pursuit(&call, s, coder, first, count);
    if (coder == SHS__CL_WARP || coder == SHS__CL_WARP_KEEP)
        return shs__cl_launch(&call, 1, SHS__CL_WARP_ITEMS, shs__ctx_chunks(count, warps), warps, "omp");
    shs__cl_pass_buffer(&call, s->all.scratch);
    if (coder == SHS__CL_ITEM && s->share.items < 32) return shs__cl_launch(&call, s->share.items, 1, 1, 1, "omp");
    if (coder == SHS__CL_ITEM) return shs__cl_launch(&call, s->share.items / 32, 32, 1, 1, "omp");
    if (coder == SHS__CL_GROUP) return shs__cl_launch(&call, groups, s->share.team, 1, 1, "omp");
    shs__cl_pass_size(&call, s->share.each);
    shs__cl_pass_int(&call, s->n);
    shs__cl_pass_int(&call, s->padded);
    shs__cl_pass_int(&call, s->p);
    shs__cl_pass_int(&call, s->stride);
    shs__cl_pass_buffer(&call, s->all.D);
    shs__cl_pass_buffer(&call, s->here.Y);
    if (coder != SHS__CL_TEAM) shs__cl_pass_int(&call, settle);
    return shs__cl_launch(&call, groups, s->share.group, 1, 1, settle ? "omp settle" : "omp");
}

/* Brings the signals of a chunk up on the second queue, for which the first waits; and their lengths. */
SHS__PRIVATE shs_status shs__cl_upload_chunk(const shs__cl_signals *s, size_t q, size_t first, size_t count) {
    shs_cl *cl = s->cl;
    size_t at = q * s->slice + first, p = (size_t)s->p;
    cl_event event = NULL;
    shs__cl_call call;
    shs_status status = SHS_OK;
    if (!s->wraps) {
        shs__cl_strip r = shs__cl_columns(p, count, sizeof(shs_real), SHS__AT(s->job.Y, s->job.ldy, 0, at), s->job.ldy);
        r.offset = first * r.width;
        status = shs__cl_columns_up(cl, s->ctx, 1, s->here.Y, &r);
        if (status == SHS_OK) status = shs__cl_mark(cl, 1, &event);
        if (status == SHS_OK) status = shs__cl_after(cl, 0, event);
        shs__cl_forget(cl, &event);
    }
    if (status != SHS_OK) return status;
    call = shs__cl_begin_rows(s, shs__cl_source_residual, "lengths");
    shs__cl_pass_size(&call, first);
    shs__cl_pass_size(&call, count);
    shs__cl_pass_int(&call, s->p);
    shs__cl_pass_int(&call, s->job.room);
    shs__cl_pass_buffer(&call, s->here.Y);
    shs__cl_pass_buffer(&call, s->here.norms2);
    shs__cl_pass_buffer(&call, s->all.found);
    status = shs__cl_launch_rows(&call, count, "lengths");
    if (status == SHS_OK) return shs__cl_flush(cl, 0);
    return status;
}

/* The ways to share omp_warp out: 1, 2, 4 or 8 signals a group, and b in local memory alone or in registers too. They give the
   same codes. 0: this one is not possible. */
enum { SHS__CL_WAYS = 8 };

SHS__PRIVATE int shs__cl_take_way(shs__cl_signals *s, int way) {
    const shs_cl *cl = s->cl;
    size_t kept = (size_t)(s->stride - 1) * (size_t)(s->padded / SHS__CL_WARP_ITEMS), warps = (size_t)1 << way % 4;
    if (way >= 4 && (!shs__cl_shuffles(cl) || kept > 64)) return 0;
    if (warps > 1 && (!shs__cl_shuffles(cl) || warps * shs__cl_warp_bytes(s) > cl->about.local_bytes)) return 0;
    if (SHS__CL_WARP_ITEMS * warps > cl->about.max_group) return 0;
    if (way >= 4) s->share.coder = SHS__CL_WARP_KEEP;
    else s->share.coder = SHS__CL_WARP;
    s->share.warps = (int)warps;
    return 1;
}

typedef struct shs__cl_pursuit {
    shs__cl_signals *s;
    size_t first, count;
} shs__cl_pursuit;

SHS__PRIVATE shs_status shs__cl_try_way(void *arg, int way, shs_wide *seconds) {
    shs__cl_pursuit *job = (shs__cl_pursuit *)arg;
    shs__cl_signals *s = job->s;
    shs__cl_moment begin;
    shs_status status = shs__cl_take_way(s, way) ? shs__cl_finish(s->cl, 0) : SHS_UNSUPPORTED;
    begin = shs__cl_now();
    if (status == SHS_OK) status = shs__cl_pursue(s, s->share.coder, job->first, job->count, 0);
    if (status == SHS_OK) status = shs__cl_finish(s->cl, 0);
    *seconds = shs__cl_since(&begin);
    return status;
}

/* Measures the ways on the first chunk, whose D'y is in place, if asked for and there are signals enough to tell. To build them took an
   H200 a second for each shape, where shs__cl_choose_coder was within 3 % of the best: not worth it for one run. */
SHS__PRIVATE void shs__cl_tune_coder(shs__cl_signals *s, size_t first, size_t count) {
    const shs__cl_coder coder = s->share.coder;
    const int warps = s->share.warps;
    const char *kernel = "";
    char fault[SHS__CL_FAULT] = "";
    shs__cl_build what;
    shs__cl_pursuit job;
    int way = -1;
    if (s->share.tuned || !(s->cl->options.keep & SHS_CL_KEEP_TUNING) || s->m < 256 * (size_t)s->cl->units) return;
    s->share.tuned = 1;
    if (coder != SHS__CL_WARP && coder != SHS__CL_WARP_KEEP) return;
    s->share.warps = 0;
    s->share.coder = SHS__CL_WARP;
    what = shs__cl_coder_build(s, SHS__CL_WARP, 0);
    job.s = s;
    job.first = first;
    job.count = count;
    if (shs__cl_tune(s->cl, what.text, SHS__CL_WAYS, shs__cl_try_way, &job, &way) == SHS_OK && shs__cl_take_way(s, way) &&
        (!shs__cl_proves(s->cl) || shs__cl_prove_coder(s, &kernel, fault) == SHS_OK))
        return;
    s->share.coder = coder;
    s->share.warps = warps;
}

/* ---- the lasso ---------------------------------------------------------------------------------------------------- */

/* Items a group of lasso.cl: an item has at most 16 coefficients in registers, on a processor all of them. */
SHS__PRIVATE size_t shs__cl_descent_items(const shs__cl_signals *s) {
    size_t items = SHS__CL_WARP_ITEMS;
    if (s->cl->ways.is_cpu) return 1;
    while (items * 16 < (size_t)s->padded) items *= 2;
    return items;
}

SHS__PRIVATE int shs__cl_descends(const shs__cl_signals *s) {
    return s->use_gram && s->padded <= SHS__CL_GROUP_ATOMS && shs__cl_descent_items(s) <= s->cl->about.max_group;
}

SHS__PRIVATE shs__cl_build shs__cl_descent_build(const shs__cl_signals *s, int redux) {
    const size_t items = shs__cl_descent_items(s);
    shs__cl_build b = SHS_ZERO;
    shs__cl_define_int(&b, "N", s->padded);
    shs__cl_define(&b, "GROUP", items);
    shs__cl_define_int(&b, "STRIDE", s->stride);
    shs__cl_define_int(&b, "REDUX", redux);
    return b;
}

/* As shs__cl_begin_coder. */
SHS__PRIVATE shs__cl_call shs__cl_begin_descent(const shs__cl_signals *s) {
    shs__cl_build b;
    shs__cl_call call;
    int redux;
    for (redux = s->cl->ways.ptx && shs__cl_descent_items(s) == SHS__CL_WARP_ITEMS; redux >= 0; redux--) {
        b = shs__cl_descent_build(s, redux);
        call = shs__cl_begin(s->cl, shs__cl_source_lasso, b.text, "lasso");
        if (call.status != SHS_BUILD_FAILED) break;
    }
    return call;
}

/* Signals first .. first+count-1 of the slice, whose D'y is in place. */
SHS__PRIVATE shs_status shs__cl_descend(const shs__cl_signals *s, size_t first, size_t count) {
    const shs_descent *d = s->descent;
    const size_t n = (size_t)s->n;
    const size_t most = SHS__CL_DESCENT_STEPS + SHS__CL_DESCENT_SWEEPS * n;
    const size_t steps = shs__zmin(SHS__PRODUCT(d->sweeps, n, 1), most);
    shs__cl_call call = shs__cl_begin_descent(s);
    shs__cl_pass_size(&call, first);
    shs__cl_pass_buffer(&call, s->all.alphas);
    shs__cl_pass_buffer(&call, s->all.G);
    shs__cl_pass_buffer(&call, s->here.norms2);
    shs__cl_pass_real(&call, d->lambda);
    shs__cl_pass_int(&call, d->relative);
    shs__cl_pass_real(&call, d->lambda2);
    shs__cl_pass_int(&call, d->nonnegative);
    shs__cl_pass_real(&call, d->gap / 4); /* half of what is asked for of |y|^2 / 2; the rest for rounding */
    shs__cl_pass_uint(&call, steps);
    shs__cl_pass_int(&call, d->warm);
    shs__cl_pass_codes(&call, s);
    return shs__cl_launch(&call, count, shs__cl_descent_items(s), 1, 1, "lasso");
}

/* ---- all signals -------------------------------------------------------------------------------------------------- */

SHS__PRIVATE shs_status shs__cl_code_chunk(shs__cl_signals *s, size_t q, size_t first, size_t count) {
    shs__cl_matrix D = shs__cl_matrix_of(s->all.D, 0, s->p), Y = shs__cl_matrix_of(s->here.Y, first * (size_t)s->p, s->p);
    int item = s->share.coder == SHS__CL_ITEM && !s->descent; /* takes D'Y transposed */
    shs__cl_matrix alphas = shs__cl_matrix_of(s->all.alphas, 0, item ? (int)count : s->padded);
    shs_status status = SHS_OK;
    if (s->holds.Y != q) status = shs__cl_upload_chunk(s, q, first, count);
    if (status == SHS_OK && item)
        status = shs__cl_inner_products(s->cl, (int)count, s->padded, s->p, &Y, &D, &alphas);
    else if (status == SHS_OK) status = shs__cl_inner_products(s->cl, s->padded, (int)count, s->p, &D, &Y, &alphas);
    if (status == SHS_OK && s->descent) return shs__cl_descend(s, first, count);
    if (status == SHS_OK) shs__cl_tune_coder(s, first, count);
    if (status == SHS_OK) return shs__cl_pursue(s, s->share.coder, first, count, 0);
    return status;
}

/* As many whole teams from team *team on as a chunk holds; one always fits. *first goes on to the signal behind them. */
SHS__PRIVATE shs_status shs__cl_code_teams(shs__cl_signals *s, size_t *team, size_t *first) {
    const size_t from = *team, at = *first;
    shs__cl_matrix D = shs__cl_matrix_of(s->all.D, 0, s->p), Y = shs__cl_matrix_of(s->here.Y, at * (size_t)s->p, s->p);
    shs__cl_matrix alphas = shs__cl_matrix_of(s->all.alphas, 0, s->padded);
    shs_status status = SHS_OK;
    while (*team < s->share.teams && s->own.starts[*team + 1] - at <= s->chunk) *first = s->own.starts[++*team];
    if (s->holds.Y != 0) status = shs__cl_upload_chunk(s, 0, at, *first - at);
    if (status == SHS_OK) status = shs__cl_inner_products(s->cl, s->padded, (int)(*first - at), s->p, &D, &Y, &alphas);
    if (status == SHS_OK) return shs__cl_pursue(s, SHS__CL_TEAM, from, *team - from, 0);
    return status;
}

/* Adds a slice's sums to the report. */
SHS__PRIVATE shs_status shs__cl_tally(shs__cl_signals *s, size_t count, shs_omp_report *report) {
    shs_cl *cl = s->cl;
    shs__cl_call call = shs__cl_begin_rows(s, shs__cl_source_residual, "tally");
    const cl_ulong *tallies = (const cl_ulong *)s->own.wides;
    void *sums = (cl_ulong *)s->own.wides + 3 * SHS__CL_SUMS; /* comes on the way, so that the host waits once */
    shs__sum sum = SHS_ZERO;
    shs_status status;
    size_t g;
    shs__cl_pass_size(&call, count);
    shs__cl_pass_int(&call, s->job.room > 0);
    shs__cl_pass_buffer(&call, s->here.errors2);
    shs__cl_pass_buffer(&call, s->now.used);
    shs__cl_pass_buffer(&call, s->here.state);
    shs__cl_pass_buffer(&call, s->now.coefs);
    shs__cl_pass_buffer(&call, s->all.sums);
    shs__cl_pass_buffer(&call, s->all.tallies);
    status = shs__cl_launch(&call, SHS__CL_SUMS, SHS__CL_SUM_ITEMS, 1, 1, "tally");
    if (status == SHS_OK) status = shs__cl_read_later(cl, 0, s->all.sums, 0, SHS__CL_SUMS * shs__cl_wide_size(cl), sums);
    if (status == SHS_OK) status = shs__cl_read(cl, 0, s->all.tallies, 0, SHS__CL_SUMS * 3 * sizeof(cl_ulong), s->own.wides);
    for (g = 0; status == SHS_OK && g < SHS__CL_SUMS; g++) {
        report->nonzeros += (size_t)tallies[3 * g];
        report->not_reached += (size_t)tallies[3 * g + 1];
        if (tallies[3 * g + 2] > 0) s->out_of_range = 1;
    }
    for (g = 0; status == SHS_OK && g < SHS__CL_SUMS; g++) shs__sum_add(&sum, shs__cl_wide_at(cl, sums, g));
    report->sum2 += shs__sum_value(&sum);
    return status;
}

/* The codes before the newest take their place, or make room for them again. */
SHS__PRIVATE void shs__cl_exchange_codes(shs__cl_signals *s) {
    const shs__cl_code_buffers now = s->now;
    s->now = s->past.codes;
    s->past.codes = now;
    s->past.exchanged = !s->past.exchanged;
}

/* Room to keep the codes in; there is none for slices. */
SHS__PRIVATE shs_status shs__cl_room_for_codes(shs__cl_signals *s) {
    const size_t cells = s->slice * (size_t)s->stride;
    shs_status status = s->slices > 1 ? SHS_UNSUPPORTED : SHS_OK;
    if (s->past.kept) return SHS_OK;
    if (status == SHS_OK) status = shs__cl_buffer(s->cl, s->slice * sizeof(cl_int), &s->past.codes.used);
    if (status == SHS_OK) status = shs__cl_buffer(s->cl, cells * sizeof(cl_int), &s->past.codes.atoms);
    if (status == SHS_OK) status = shs__cl_buffer(s->cl, cells * sizeof(shs_real), &s->past.codes.coefs);
    s->past.kept = status == SHS_OK;
    return status;
}

/* Keeps the codes, before others are made. */
SHS__PRIVATE void shs__cl_keep_codes(shs__cl_signals *s) {
    if (!s->past.kept || s->holds.codes != 0) return;
    shs__cl_exchange_codes(s);
    s->past.exchanged = 0;
    s->past.there = 1;
}

/* How often the slice's signals use each atom: into own.start as the places where the lists of the atoms begin. */
SHS__PRIVATE shs_status shs__cl_count(shs__cl_signals *s, size_t q) {
    shs_cl *cl = s->cl;
    size_t count = shs__cl_slice_count(s, q), blocks = shs__ctx_chunks(count, s->block), n = (size_t)s->n, j;
    cl_uint *start = s->own.start, *stretches = s->own.stretches;
    shs__cl_call call;
    shs_status status;
    if (s->holds.counts == q && s->past.listed == s->past.exchanged) return SHS_OK;
    s->holds.uses = s->holds.counts = SHS__CL_NONE;
    s->past.listed = s->past.exchanged;
    if (cl->test.running) { /* counts that a faulty kernel leaves out shall not be those of the codes before */
        status = shs__cl_clear(cl, 0, s->here.counts, 0, blocks * n * sizeof(cl_uint));
        if (status != SHS_OK) return status;
    }
    call = shs__cl_begin_rows(s, shs__cl_source_update, "count_uses");
    shs__cl_pass_uint(&call, count);
    shs__cl_pass_uint(&call, s->block);
    shs__cl_pass_int(&call, s->n);
    shs__cl_pass_buffer(&call, s->now.used);
    shs__cl_pass_buffer(&call, s->now.atoms);
    shs__cl_pass_buffer(&call, s->here.counts);
    status = shs__cl_launch(&call, blocks, SHS__CL_USES_ITEMS, shs__ctx_chunks(n, SHS__CL_USES_TILE), 1, "count");
    if (status != SHS_OK) return status;
    call = shs__cl_begin_rows(s, shs__cl_source_update, "scan_uses");
    shs__cl_pass_int(&call, s->n);
    shs__cl_pass_uint(&call, blocks);
    shs__cl_pass_buffer(&call, s->here.counts);
    shs__cl_pass_buffer(&call, s->all.totals);
    status = shs__cl_launch(&call, shs__ctx_chunks(n, 32), 32, 1, 1, "count");
    if (status == SHS_OK) status = shs__cl_read(cl, 0, s->all.totals, 0, n * sizeof(cl_uint), start + 1);
    if (status != SHS_OK) return status;
    start[0] = stretches[0] = 0;
    for (j = 0; j < n; j++) {
        stretches[j + 1] = stretches[j] + (start[j + 1] + SHS__CL_USES_STRETCH - 1) / SHS__CL_USES_STRETCH;
        start[j + 1] += start[j];
    }
    s->holds.counts = q;
    return SHS_OK;
}

/* The codes, where they must make room for the next slice's. */
SHS__PRIVATE shs_status shs__cl_save_codes(shs__cl_signals *s, size_t q) {
    shs_cl *cl = s->cl;
    size_t begin = q * s->slice, count = shs__cl_slice_count(s, q), cells = count * (size_t)s->stride;
    size_t at = begin * (size_t)s->stride;
    shs_status status = SHS_OK;
    if (s->slices < 2) return status;
    status = shs__cl_read(cl, 0, s->now.used, 0, count * sizeof(int), s->own.codes.used + begin);
    if (status == SHS_OK) status = shs__cl_read(cl, 0, s->now.atoms, 0, cells * sizeof(int), s->own.codes.atoms + at);
    if (status == SHS_OK) status = shs__cl_read(cl, 0, s->now.coefs, 0, cells * sizeof(shs_real), s->own.codes.coefs + at);
    return status;
}

/* What follows the coding of a slice: sums, errors, usage. */
SHS__PRIVATE shs_status shs__cl_code_results(shs__cl_signals *s, size_t q, shs_real *errors2, size_t *usage,
                                             shs_omp_report *report) {
    size_t begin = q * s->slice, count = shs__cl_slice_count(s, q);
    shs_status status = shs__cl_tally(s, count, report);
    int j;
    if (status == SHS_OK && errors2) {
        const shs__cl_strip r = shs__cl_columns(count, 1, sizeof *errors2, errors2 + begin, 0);
        status = shs__cl_columns_down(s->cl, s->ctx, s->here.errors2, &r);
    }
    if (status == SHS_OK && usage) status = shs__cl_count(s, q);
    for (j = 0; status == SHS_OK && usage && j < s->n; j++) usage[j] += s->own.start[j + 1] - s->own.start[j];
    if (status == SHS_OK) return shs__cl_save_codes(s, q);
    return status;
}

/* Whether the coder may leave signals to omp_general. */
SHS__PRIVATE int shs__cl_leaves_open(const shs__cl_signals *s) {
    if (s->descent || s->share.coder == SHS__CL_GENERAL) return 0;
    return s->share.coder != SHS__CL_TEAM || !shs__cl_tolerant(s);
}

SHS__PRIVATE shs_status shs__cl_code_slice(shs__cl_signals *s, size_t q) {
    const shs_omp_options *o = s->job.coding;
    size_t begin = q * s->slice, count = shs__cl_slice_count(s, q), first, team = 0;
    int fresh = s->holds.Y != q;
    cl_int found[2] = {0, 0};
    shs_status status = fresh ? shs__cl_clear(s->cl, 0, s->all.found, 0, sizeof found) : SHS_OK;
    s->holds.codes = s->holds.E = s->holds.counts = s->holds.uses = SHS__CL_NONE;
    if (fresh && s->here.limits && status == SHS_OK)
        status = shs__cl_write(s->cl, 0, s->here.limits, 0, count * sizeof(int), o->sparsity_each + begin);
    if (fresh && s->here.tolerances && status == SHS_OK)
        status = shs__cl_write(s->cl, 0, s->here.tolerances, 0, count * sizeof(shs_real), o->tolerance_each + begin);
    if (fresh && status == SHS_OK) status = shs__cl_finish(s->cl, 0); /* the last slice's signals are done with */
    if (fresh && s->wraps && status == SHS_OK) status = shs__cl_wrap_slice(s, q, count);
    for (first = 0; s->share.teams && first < count && status == SHS_OK;) status = shs__cl_code_teams(s, &team, &first);
    for (first = 0; !s->share.teams && first < count && status == SHS_OK; first += s->chunk)
        status = shs__cl_code_chunk(s, q, first, shs__zmin(s->chunk, count - first));
    if (status == SHS_OK && shs__cl_leaves_open(s)) status = shs__cl_pursue(s, SHS__CL_GENERAL, 0, count, 1);
    if (status == SHS_OK && fresh) status = shs__cl_read(s->cl, 0, s->all.found, 0, sizeof found, found);
    if (found[0]) status = SHS_SIGNALS_NOT_FINITE;
    if (found[1]) s->out_of_range = 1;
    if (status == SHS_OK) s->holds.Y = s->holds.codes = q;
    else {
        s->holds.Y = SHS__CL_NONE;
        shs__cl_finish(s->cl, 1);
    }
    return status;
}

/* From signal `first` on nothing was coded. */
SHS__PRIVATE void shs__cl_forget_codes(shs__cl_signals *s, size_t first) {
    size_t count = s->m - first, stride = (size_t)s->stride;
    memset(s->own.codes.used + first, 0, count * sizeof(int));
    memset(s->own.codes.atoms + first * stride, 0, count * stride * sizeof(int));
    memset(s->own.codes.coefs + first * stride, 0, count * stride * sizeof(shs_real));
}

SHS__PRIVATE shs_status shs__cl_signals_code(void *session, shs_real *errors2, size_t *usage, shs_omp_report *report) {
    shs__cl_signals *s = (shs__cl_signals *)session;
    shs_status status = SHS_OK;
    size_t q, done;
    memset(report, 0, sizeof *report);
    if (usage) memset(usage, 0, (size_t)s->n * sizeof *usage);
    s->out_of_range = 0;
    shs__cl_keep_codes(s);
    for (q = 0; q < s->slices && status == SHS_OK; q++) {
        status = shs__cl_code_slice(s, q);
        if (status == SHS_OK) status = shs__cl_code_results(s, q, errors2, usage, report);
        if (status != SHS_OK || s->job.learning) continue;
        done = q * s->slice + shs__cl_slice_count(s, q);
        status = shs__ctx_progress(s->ctx, "coding", done, s->m, -1);
        if (status != SHS_OK && done < s->m) shs__cl_forget_codes(s, done);
    }
    if (s->m) report->rmse = SHS__WSQRT(report->sum2 / ((shs_wide)s->p * (shs_wide)s->m));
    else report->rmse = 0;
    if (status == SHS_OK && s->job.room > 0 && s->out_of_range) return SHS_OUT_OF_RANGE;
    return status;
}

SHS__PRIVATE shs_status shs__cl_signals_fetch(void *session, shs_codes *codes) {
    shs__cl_signals *s = (shs__cl_signals *)session;
    size_t stride = (size_t)s->stride, to = (size_t)codes->stride, i;
    shs_status status = SHS_OK;
    if (s->m == 0) return SHS_OK;
    for (i = 0; i < s->m && to > stride; i++) { /* the kernels have zeroed what they know of */
        memset(codes->atoms + i * to + stride, 0, (to - stride) * sizeof(int));
        memset(codes->coefs + i * to + stride, 0, (to - stride) * sizeof(shs_real));
    }
    if (s->slices < 2) {
        const shs__cl_strip atoms = shs__cl_columns(stride, s->m, sizeof(int), codes->atoms, codes->stride);
        const shs__cl_strip coefs = shs__cl_columns(stride, s->m, sizeof(shs_real), codes->coefs, codes->stride);
        const shs__cl_strip used = shs__cl_columns(s->m, 1, sizeof(int), codes->used, 0);
        status = shs__cl_columns_down(s->cl, s->ctx, s->now.atoms, &atoms);
        if (status == SHS_OK) status = shs__cl_columns_down(s->cl, s->ctx, s->now.coefs, &coefs);
        if (status == SHS_OK) status = shs__cl_columns_down(s->cl, s->ctx, s->now.used, &used);
        if (status != SHS_OK) memset(codes->used, 0, s->m * sizeof(int)); /* the rest is half there */
        return status;
    }
    for (i = 0; i < s->m; i++) {
        memcpy(codes->atoms + i * to, s->own.codes.atoms + i * stride, stride * sizeof(int));
        memcpy(codes->coefs + i * to, s->own.codes.coefs + i * stride, stride * sizeof(shs_real));
    }
    memcpy(codes->used, s->own.codes.used, s->m * sizeof(int));
    return SHS_OK;
}

/* ---- the self-test of coding -------------------------------------------------------------------------------------- */

/* A known problem of the session's kind, and its codes: those of the device and the CPU's. */
typedef struct shs__cl_known {
    int p, n, stride;
    size_t m;
    shs_omp_options coding;
    shs__layout host;
    shs_real *D, *Y, *errors2, *right2;
    int *limits;
    size_t *usage, starts[4];
    shs_codes got, right;
} shs__cl_known;

/* Signals: several for each group of omp_general, and for each item of omp_item. */
enum { SHS__CL_KNOWN_SIGNALS = 37, SHS__CL_KNOWN_ATOMS = 67 };

/* Sizes for a test of the kernels of s. Kernels that have n built in (fixed_n) need this n; for the others n may be smaller. */
SHS__PRIVATE void shs__cl_known_sizes(const shs__cl_signals *s, int fixed_n, shs__cl_known *k) {
    const int odd = shs__imax(2 * s->stride + 1, 37) | 3; /* the remainder by 4 is 3: */
    k->p = odd - 3 + s->p % 4;                           /* now that of s */
    k->stride = s->stride;
    if (fixed_n) k->n = s->n;
    else k->n = shs__imin(s->n, shs__imax(SHS__CL_KNOWN_ATOMS, s->stride + 3));
    k->m = SHS__CL_KNOWN_SIGNALS;
}

SHS__PRIVATE void shs__cl_known_layout(shs__layout *l, shs__cl_known *k) {
    const size_t p = (size_t)k->p, n = (size_t)k->n;
    k->D = SHS__CARVE(l, shs_real, SHS__PRODUCT(p, n, 1));
    k->Y = SHS__CARVE(l, shs_real, p * k->m);
    k->errors2 = SHS__CARVE(l, shs_real, k->m);
    k->right2 = SHS__CARVE(l, shs_real, k->m);
    k->limits = SHS__CARVE(l, int, k->m);
    k->usage = SHS__CARVE(l, size_t, n);
    shs__codes_layout(l, &k->got, k->m, k->stride);
    shs__codes_layout(l, &k->right, k->m, k->stride);
}

/* Signals of up to 3 atoms; of four one is nothing but atoms, which an explicit residual must tell, the others have noise. All
   atoms that may be taken are taken by the first few; the others have limits. */
SHS__PRIVATE shs_status shs__cl_known_open(shs_cl *cl, uint64_t seed, shs__cl_known *k) {
    const size_t p = (size_t)k->p;
    shs_random r;
    shs_status status = SHS_OK;
    size_t i, l;
    int a, atoms;
    while (shs__layout_next(&cl->ctx, &k->host, &status)) shs__cl_known_layout(&k->host, k);
    if (status != SHS_OK) return status;
    shs_random_seed(&r, seed);
    for (i = 0; i < p * (size_t)k->n; i++) k->D[i] = (shs_real)shs_random_normal(&r);
    shs_normalize_columns(k->p, k->n, k->D, k->p, NULL);
    for (i = 0; i < k->m; i++) {
        shs_real *y = k->Y + i * p, coef = 3, noise = i % 4 == 3 ? 0 : (shs_real)0.1;
        if (i < 5) k->limits[i] = k->stride;
        else k->limits[i] = shs__imin(k->stride, (int)(i % 4));
        atoms = shs__imin(k->stride, i % 4 == 3 ? 3 : 1 + (int)(i % 3));
        for (l = 0; l < p; l++) y[l] = noise * (shs_real)shs_random_normal(&r);
        for (a = 0; a < atoms; a++) {
            shs_axpy(k->p, coef, k->D + shs_random_below(&r, (uint64_t)k->n) * p, 1, y, 1);
            coef *= (shs_real)-0.6;
        }
    }
    return status;
}

SHS__PRIVATE void shs__cl_known_close(shs_cl *cl, shs__cl_known *k) { shs__layout_release(&cl->ctx, &k->host); }

/* The options of s that change its kernels. */
SHS__PRIVATE void shs__cl_known_options(const shs__cl_signals *s, int limits, shs__cl_known *k) {
    const shs_omp_options *o = s->job.coding;
    size_t g;
    k->coding.selection = o->selection;
    k->coding.sparsity = k->stride;
    if (limits) k->coding.sparsity_each = k->limits;
    if (shs__cl_tolerant(s)) k->coding.tolerance = limits ? 3 * (shs_real)SHS__WSQRT((shs_wide)SHS__EPS) : (shs_real)0.7;
    for (g = 3; g < k->m && shs__cl_tolerant(s); g += 4) k->limits[g] = shs__imin(k->stride, 6); /* that of 3 atoms ends it */
    if (!s->share.teams) return;
    for (g = 0; g < 4; g++) k->starts[g] = g * g * 3; /* of 3, 9, 15 and 10 signals */
    k->coding.groups = k->starts;
    k->coding.group_count = 4;
    k->coding.sparsity = shs__imin(k->stride, 4);
}

/* The job of a session that codes the known signals. */
SHS__PRIVATE shs_signals_job shs__cl_known_job(const shs__cl_known *k) {
    shs_signals_job job = SHS_ZERO;
    job.p = k->p;
    job.n = k->n;
    job.m = k->m;
    job.Y = k->Y;
    job.ldy = k->p;
    job.stride = k->stride;
    job.coding = &k->coding;
    return job;
}

/* Codes that name no atoms would be used as indices. */
SHS__PRIVATE void shs__cl_check_codes(const shs__cl_known *k, char *fault) {
    size_t i;
    int q, wrong = 0;
    for (i = 0; i < k->m && !wrong; i++) {
        wrong = k->got.used[i] < 0 || k->got.used[i] > k->stride;
        for (q = 0; q < k->got.used[i] && !wrong; q++) {
            const int atom = k->got.atoms[i * (size_t)k->stride + (size_t)q];
            wrong = atom < 0 || atom >= k->n;
        }
    }
    if (wrong && !fault[0]) shs__cl_append(fault, SHS__CL_FAULT, "known signals get codes that name no atoms");
}

/* How often each atom is used, by the device. */
SHS__PRIVATE shs_status shs__cl_known_uses(shs__cl_signals *s, shs__cl_known *k) {
    shs_status status = shs__cl_count(s, 0);
    int j;
    for (j = 0; j < k->n && status == SHS_OK; j++) k->usage[j] = (size_t)s->own.start[j + 1] - (size_t)s->own.start[j];
    return status;
}

/* Fills the counts of the kernel `tally` with a wrong value: if one of its groups does not run, the value stays and is noticed. */
SHS__PRIVATE shs_status shs__cl_spoil_tallies(shs__cl_signals *s) {
    const size_t bytes = SHS__CL_SUMS * 3 * sizeof(cl_ulong);
    memset(s->own.wides, 0x5a, bytes);
    return shs__cl_write(s->cl, 0, s->all.tallies, 0, bytes, s->own.wides);
}

/* The known signals by a session of the device. */
SHS__PRIVATE shs_status shs__cl_known_code(shs_cl *cl, shs__cl_known *k, shs_omp_report *report, char *fault) {
    const shs_context cpu = shs__cl_cpu(cl);
    const shs_signals_job job = shs__cl_known_job(k);
    void *session = NULL;
    shs_status status = shs__cl_signals_open(cl, &cpu, &job, &session);
    if (status != SHS_OK) return status;
    status = shs__cl_signals_dictionary(session, k->D, k->p);
    if (status == SHS_OK) status = shs__cl_spoil_tallies((shs__cl_signals *)session);
    if (status == SHS_OK) status = shs__cl_signals_code(session, k->errors2, NULL, report);
    if (status == SHS_OK) status = shs__cl_signals_fetch(session, &k->got);
    if (status == SHS_OK) shs__cl_check_codes(k, fault);
    if (status == SHS_OK && !fault[0]) status = shs__cl_known_uses((shs__cl_signals *)session, k);
    shs__cl_signals_close(session);
    return status;
}

/* Whether two codes of a signal are the same, to rounding. */
SHS__PRIVATE int shs__cl_same_code(const shs_codes *a, size_t i, const shs_codes *b, size_t j) {
    const size_t at = i * (size_t)a->stride, other = j * (size_t)b->stride;
    shs_wide largest = 0;
    int q;
    if (a->used[i] != b->used[j]) return 0;
    for (q = 0; q < a->used[i]; q++) {
        shs_wide size = shs__wabs((shs_wide)b->coefs[other + (size_t)q]);
        if (a->atoms[at + (size_t)q] != b->atoms[other + (size_t)q]) return 0;
        if (size > largest) largest = size;
    }
    for (q = 0; q < a->used[i]; q++) {
        shs_wide off = shs__wabs((shs_wide)a->coefs[at + (size_t)q] - (shs_wide)b->coefs[other + (size_t)q]);
        if (!(off <= SHS__CL_NEAR * largest)) return 0;
    }
    return 1;
}

/* Clears suspect[i] where the CPU itself takes other atoms for signal i when it changes a little, one way or the other: two atoms
   fit equally well, and either is right. Changes Y. */
SHS__PRIVATE shs_status shs__cl_known_doubtful(shs_cl *cl, shs__cl_known *k, unsigned char *suspect) {
    const shs_context cpu = shs__cl_cpu(cl);
    const shs_real step = sizeof(shs_real) == sizeof(cl_double) ? (shs_real)1e-8 : (shs_real)2e-4;
    const size_t values = (size_t)k->p * k->m;
    shs_codes moved = SHS_ZERO;
    shs_random r;
    size_t i;
    int way, q;
    shs_status status = shs_codes_create(&cpu, k->m, k->stride, &moved);
    for (way = -1; way <= 1 && status == SHS_OK; way += 2) {
        shs_random_seed(&r, 5);
        for (i = 0; i < values; i++) k->Y[i] += (shs_real)(way == 1 ? 2 : way) * step * (shs_real)shs_random_normal(&r);
        status = shs_omp_ex(&cpu, k->p, k->n, k->D, k->p, k->m, k->Y, k->p, &k->coding, &moved, NULL, NULL);
        for (i = 0; i < k->m && status == SHS_OK; i++) {
            const size_t at = i * (size_t)k->stride;
            int same = moved.used[i] == k->right.used[i];
            for (q = 0; same && q < moved.used[i]; q++) same = moved.atoms[at + (size_t)q] == k->right.atoms[at + (size_t)q];
            if (!same) suspect[i] = 0;
        }
    }
    shs_codes_free(&cpu, &moved);
    return status;
}

/* Notes how many signals' codes are not the CPU's. Where either is right the errors are not compared. */
SHS__PRIVATE shs_status shs__cl_compare_codes(shs_cl *cl, shs__cl_known *k, char *fault) {
    unsigned char suspect[SHS__CL_KNOWN_SIGNALS];
    size_t i, first = k->m, count = 0;
    shs_status status = SHS_OK;
    for (i = 0; i < k->m; i++) {
        suspect[i] = (unsigned char)!shs__cl_same_code(&k->got, i, &k->right, i);
        if (suspect[i]) k->right2[i] = k->errors2[i];
        count += suspect[i];
    }
    if (count > 0) status = shs__cl_known_doubtful(cl, k, suspect);
    i = k->m;
    count = 0;
    while (i-- > 0)
        if (suspect[i]) {
            first = i;
            count++;
        }
    if (status != SHS_OK || count == 0) return status;
    shs__cl_append_number(fault, SHS__CL_FAULT, count);
    shs__cl_append(fault, SHS__CL_FAULT, " of ");
    shs__cl_append_number(fault, SHS__CL_FAULT, k->m);
    shs__cl_append(fault, SHS__CL_FAULT, " known signals have other codes than the CPU's; the first is signal ");
    shs__cl_append_number(fault, SHS__CL_FAULT, first);
    return status;
}

/* Errors come by a recurrence from |y|^2, whose rounding they have. Where a signal is nothing but its atoms that is all they are:
   there omp_general, which settles what others leave open, must have formed the residual. */
SHS__PRIVATE void shs__cl_compare_errors(const shs__cl_known *k, char *fault) {
    const shs_wide tiny = (shs_wide)SHS__EPS * SHS__WSQRT((shs_wide)SHS__EPS);
    size_t i, open = 0, off = 0;
    for (i = 0; i < k->m && !k->coding.group_count; i++) {
        const shs_real *y = k->Y + i * (size_t)k->p;
        const shs_wide base2 = (shs_wide)shs_dot(k->p, y, 1, y, 1), got = (shs_wide)k->errors2[i], right = (shs_wide)k->right2[i];
        off += !(shs__wabs(got - right) <= SHS__CL_NEAR / 4 * base2);
        open += right <= tiny / 16 * base2 && !(got <= tiny * base2);
    }
    if (off) shs__cl_append(fault, SHS__CL_FAULT, "known signals have other errors than the CPU's");
    else if (open) shs__cl_append(fault, SHS__CL_FAULT, "the kernel omp_general does not settle what is left open");
}

/* Errors, counts and sums follow from the codes of the device. */
SHS__PRIVATE void shs__cl_compare_report(const shs__cl_known *k, const shs_omp_report *report, char *fault) {
    size_t i, nonzeros = 0, uses = 0;
    shs_wide sum = 0;
    shs__cl_compare_errors(k, fault);
    for (i = 0; i < k->m; i++) {
        nonzeros += (size_t)k->got.used[i];
        sum += (shs_wide)k->errors2[i];
    }
    for (i = 0; i < (size_t)k->n; i++) uses += k->usage[i];
    for (i = 0; i < k->m * (size_t)k->stride; i++)
        if ((int)(i % (size_t)k->stride) < k->got.used[i / (size_t)k->stride] && k->usage[k->got.atoms[i]] == 0)
            uses = SIZE_MAX;
    if (!fault[0] && nonzeros != report->nonzeros)
        shs__cl_append(fault, SHS__CL_FAULT, "the kernel tally counts other atoms than there are");
    if (!fault[0] && uses != nonzeros)
        shs__cl_append(fault, SHS__CL_FAULT, "the kernel count_uses counts other uses than there are");
    if (!fault[0]) shs__cl_compare_wides("the sum of errors", 1, &report->sum2, &sum, fault);
}

/* One known problem; with limits the signals have their own. */
SHS__PRIVATE shs_status shs__cl_test_codes(shs_cl *cl, const shs__cl_signals *s, int limits, char *fault) {
    const shs_context cpu = shs__cl_cpu(cl);
    const int fixed_n = s->share.coder != SHS__CL_GENERAL && s->share.coder != SHS__CL_TEAM;
    shs__cl_known k = SHS_ZERO;
    shs_omp_report report;
    shs_status status;
    shs__cl_known_sizes(s, fixed_n, &k);
    status = shs__cl_known_open(cl, 1, &k);
    if (status == SHS_OK) shs__cl_known_options(s, limits, &k);
    cl->test.imitated = s;
    if (status == SHS_OK) status = shs__cl_known_code(cl, &k, &report, fault);
    cl->test.imitated = NULL;
    if (status == SHS_OK && !fault[0])
        status = shs_omp_ex(&cpu, k.p, k.n, k.D, k.p, k.m, k.Y, k.p, &k.coding, &k.right, k.right2, NULL);
    if (status == SHS_OK && !fault[0]) status = shs__cl_compare_codes(cl, &k, fault);
    if (status == SHS_OK && !fault[0]) shs__cl_compare_report(&k, &report, fault);
    shs__cl_known_close(cl, &k);
    return status;
}

/* With limits, which leave some codes to `settle`; and, where that is quickly done on the CPU, as many atoms for each signal. */
SHS__PRIVATE shs_status shs__cl_test_coder(shs_cl *cl, const void *job, char *fault) {
    const shs__cl_signals *s = (const shs__cl_signals *)job;
    shs_status status = shs__cl_test_codes(cl, s, 1, fault);
    if (status != SHS_OK || fault[0] || (size_t)s->padded * (size_t)s->stride > 20000) return status;
    return shs__cl_test_codes(cl, s, 0, fault);
}

/* SHS_UNSUPPORTED and the fault, the first that is found, where the kernels that s is about to use are wrong. */
SHS__PRIVATE shs_status shs__cl_prove_coder(shs__cl_signals *s, const char **kernel, char *fault) {
    const shs__cl_coder_kernel *coder = shs__cl_coders + s->share.coder;
    shs__cl_build what = shs__cl_coder_build(s, s->share.coder, 1);
    const char *const sub_groups = s->cl->ways.sub_groups;
    shs__cl_proof proof;
    const char *found = "";
    shs_status status;
    shs__cl_define_int(&what, "STRIDE", s->stride);
    proof = shs__cl_proof_of(coder->source, coder->name, what.text, shs__cl_test_coder, s);
    status = shs__cl_verdict_on(s->cl, &proof, &found);
    if (status == SHS_OK && s->cl->ways.sub_groups != sub_groups) /* another kernel ran */
        return shs__cl_prove_coder(s, kernel, fault);
    if (status != SHS_OK || !found[0]) return status;
    if (!fault[0]) {
        *kernel = proof.kernel;
        shs__cl_append(fault, SHS__CL_FAULT, found);
    }
    return SHS_UNSUPPORTED;
}

/* ---- learning: whose turn it is ----------------------------------------------------------------------------------- */

SHS__PRIVATE shs_status shs__cl_need_signals(shs__cl_signals *s, size_t q) {
    const size_t p = (size_t)s->p, count = shs__cl_slice_count(s, q);
    const shs_real *from = SHS__AT(s->job.Y, s->job.ldy, 0, q * s->slice);
    const shs__cl_strip signals = shs__cl_columns(p, count, sizeof *from, from, s->job.ldy);
    shs_status status;
    if (s->holds.Y == q) return SHS_OK;
    s->holds.Y = SHS__CL_NONE;
    if (s->wraps) return shs__cl_wrap_slice(s, q, count);
    status = shs__cl_columns_up(s->cl, s->ctx, 0, s->here.Y, &signals);
    if (status == SHS_OK) return shs__cl_finish(s->cl, 0); /* the lengths are missing, so holds.Y stays SHS__CL_NONE */
    return status;
}

SHS__PRIVATE shs_status shs__cl_need_codes(shs__cl_signals *s, size_t q) {
    size_t begin = q * s->slice, count = shs__cl_slice_count(s, q), cells = count * (size_t)s->stride;
    size_t at = begin * (size_t)s->stride;
    shs_status status;
    if (s->holds.codes == q) return SHS_OK;
    s->holds.codes = s->holds.counts = s->holds.uses = SHS__CL_NONE;
    status = shs__cl_write(s->cl, 0, s->now.used, 0, count * sizeof(int), s->own.codes.used + begin);
    if (status == SHS_OK) status = shs__cl_write(s->cl, 0, s->now.atoms, 0, cells * sizeof(int), s->own.codes.atoms + at);
    if (status == SHS_OK) status = shs__cl_write(s->cl, 0, s->now.coefs, 0, cells * sizeof(shs_real), s->own.codes.coefs + at);
    if (status == SHS_OK) s->holds.codes = q;
    return status;
}

SHS__PRIVATE shs_status shs__cl_need_residuals(shs__cl_signals *s, size_t q) {
    size_t p = (size_t)s->p, bytes = shs__cl_slice_count(s, q) * p * sizeof(shs_real);
    shs_status status;
    if (s->holds.E == q) return SHS_OK;
    s->holds.E = SHS__CL_NONE;
    status = shs__cl_write(s->cl, 0, s->learn.E, 0, bytes, s->own.E + q * s->slice * p);
    if (status == SHS_OK) s->holds.E = q;
    return status;
}

SHS__PRIVATE shs_status shs__cl_prove_descent(shs__cl_signals *s);
SHS__PRIVATE shs_status shs__cl_prove_sums(shs__cl_signals *s);
SHS__PRIVATE shs_status shs__cl_prove_update(shs__cl_signals *s, shs_update rule, int single, int whole, int power);

/* The engine's stage: lasso.cl for all signals. Warm, each slice begins with its codes. */
SHS__PRIVATE shs_status shs__cl_signals_descend(void *session, const shs_descent *descent) {
    shs__cl_signals *s = (shs__cl_signals *)session;
    shs_status status = shs__cl_descends(s) ? shs__cl_prove_descent(s) : SHS_UNSUPPORTED;
    size_t q;
    s->descent = descent;
    for (q = 0; q < s->slices && status == SHS_OK; q++) {
        if (descent->warm) status = shs__cl_need_codes(s, q);
        if (status == SHS_OK) status = shs__cl_code_slice(s, q);
        if (status == SHS_OK) status = shs__cl_save_codes(s, q);
    }
    s->descent = NULL;
    return status;
}

/* The lists of uses; the codes are in place. */
SHS__PRIVATE shs_status shs__cl_need_uses(shs__cl_signals *s, size_t q) {
    shs_cl *cl = s->cl;
    size_t count = shs__cl_slice_count(s, q), n = (size_t)s->n, bytes = (n + 1) * sizeof(cl_uint);
    shs__cl_call call;
    shs_status status;
    if (s->holds.uses == q && s->past.listed == s->past.exchanged) return SHS_OK;
    status = shs__cl_count(s, q);
    /* they are written again only after the next counting, which waits for the queue */
    if (status == SHS_OK) status = shs__cl_write_later(cl, 0, s->learn.start, 0, bytes, s->own.start);
    if (status == SHS_OK) status = shs__cl_write_later(cl, 0, s->learn.stretches, 0, bytes, s->own.stretches);
    if (status != SHS_OK) return status;
    call = shs__cl_begin_rows(s, shs__cl_source_update, "place_uses");
    shs__cl_pass_uint(&call, count);
    shs__cl_pass_uint(&call, s->block);
    shs__cl_pass_int(&call, s->n);
    shs__cl_pass_buffer(&call, s->now.used);
    shs__cl_pass_buffer(&call, s->now.atoms);
    shs__cl_pass_buffer(&call, s->here.counts);
    shs__cl_pass_buffer(&call, s->learn.start);
    shs__cl_pass_buffer(&call, s->learn.uses);
    status = shs__cl_launch(&call, shs__ctx_chunks(count, s->block), SHS__CL_USES_ITEMS,
                            shs__ctx_chunks(n, SHS__CL_USES_TILE), 1, "place");
    if (status == SHS_OK) s->holds.uses = q;
    return status;
}

/* Where slices take turns: saves what a stage has changed. */
SHS__PRIVATE shs_status shs__cl_save(shs__cl_signals *s, size_t q, int coefs, int residuals) {
    const size_t p = (size_t)s->p, stride = (size_t)s->stride, r = sizeof(shs_real);
    const size_t begin = q * s->slice, count = shs__cl_slice_count(s, q);
    shs_status status = SHS_OK;
    if (s->slices < 2) return SHS_OK;
    if (coefs) status = shs__cl_read(s->cl, 0, s->now.coefs, 0, count * stride * r, s->own.codes.coefs + begin * stride);
    if (status == SHS_OK && residuals) status = shs__cl_read(s->cl, 0, s->learn.E, 0, count * p * r, s->own.E + begin * p);
    return status;
}

/* ---- learning: the stages ----------------------------------------------------------------------------------------- */

/* E of a slice, and the squares of its columns. */
SHS__PRIVATE shs_status shs__cl_form_residual(shs__cl_signals *s, size_t q) {
    size_t count = shs__cl_slice_count(s, q);
    shs__cl_call call;
    shs_status status = shs__cl_need_signals(s, q);
    if (status == SHS_OK) status = shs__cl_need_codes(s, q);
    if (status != SHS_OK) return status;
    s->holds.E = SHS__CL_NONE;
    call = shs__cl_begin_rows(s, shs__cl_source_residual, "residual");
    shs__cl_pass_size(&call, count);
    shs__cl_pass_int(&call, s->p);
    shs__cl_pass_buffer(&call, s->here.Y);
    shs__cl_pass_buffer(&call, s->all.D);
    shs__cl_pass_codes(&call, s);
    shs__cl_pass_buffer(&call, s->learn.E);
    shs__cl_pass_buffer(&call, s->learn.squares);
    status = shs__cl_launch_rows(&call, count, "residual");
    if (status == SHS_OK) s->holds.E = q;
    return status;
}

SHS__PRIVATE shs_status shs__cl_residual_slice(shs__cl_signals *s, size_t q, shs__sum *sum) {
    shs_cl *cl = s->cl;
    size_t count = shs__cl_slice_count(s, q), g;
    shs__cl_call call;
    shs_status status = shs__cl_form_residual(s, q);
    if (status != SHS_OK) return status;
    call = shs__cl_begin_rows(s, shs__cl_source_residual, "sum_squares");
    shs__cl_pass_size(&call, count);
    shs__cl_pass_buffer(&call, s->learn.squares);
    shs__cl_pass_buffer(&call, s->all.sums);
    status = shs__cl_launch(&call, SHS__CL_SUMS, SHS__CL_SUM_ITEMS, 1, 1, "residual");
    if (status == SHS_OK) status = shs__cl_read(cl, 0, s->all.sums, 0, SHS__CL_SUMS * shs__cl_wide_size(cl), s->own.wides);
    for (g = 0; status == SHS_OK && g < SHS__CL_SUMS; g++) shs__sum_add(sum, shs__cl_wide_at(cl, s->own.wides, g));
    if (status == SHS_OK) return shs__cl_save(s, q, 0, 1);
    return status;
}

SHS__PRIVATE shs_status shs__cl_signals_residual(void *session, shs_wide *sum2) {
    shs__cl_signals *s = (shs__cl_signals *)session;
    shs__sum sum = SHS_ZERO;
    shs_status status = shs__cl_prove_sums(s);
    size_t q;
    for (q = 0; q < s->slices && status == SHS_OK; q++) status = shs__cl_residual_slice(s, q, &sum);
    *sum2 = shs__sum_value(&sum);
    return status;
}

/* E_I x' and |x|^2 of a slice's signals, stretch by stretch, for atoms first .. first+count-1; *stretches of them. whole: with
   Y in place of E. */
SHS__PRIVATE shs_status shs__cl_gather_stretches(shs__cl_signals *s, size_t q, const shs_atom_group *g, int whole,
                                                 size_t *stretches) {
    const int first = g->first, count = g->count;
    shs_cl *cl = s->cl;
    size_t lanes = shs__cl_lanes(cl), rows = shs__cl_rows(cl);
    shs__cl_build b;
    shs__cl_call call;
    shs_status status = shs__cl_need_codes(s, q);
    if (status == SHS_OK) status = whole ? shs__cl_need_signals(s, q) : shs__cl_need_residuals(s, q);
    if (status == SHS_OK) status = shs__cl_need_uses(s, q);
    if (status != SHS_OK) return status;
    *stretches = s->own.stretches[first + count] - s->own.stretches[first];
    if (*stretches == 0) return SHS_OK;
    if (lanes > 1 && s->p > 32 && cl->about.max_group >= 64) {
        lanes = 64;
        if (cl->about.max_group >= 256) rows = 4;
        else rows = 1;
    }
    if (lanes == 1) rows = 1;
    b = shs__cl_shape(s, lanes, rows);
    if (g->power) shs__cl_define(&b, "POWER", 1);
    call = shs__cl_begin(cl, shs__cl_source_update, b.text, "gather");
    shs__cl_pass_int(&call, first);
    shs__cl_pass_int(&call, s->n);
    shs__cl_pass_int(&call, s->p);
    shs__cl_pass_buffer(&call, s->learn.start);
    shs__cl_pass_buffer(&call, s->learn.stretches);
    shs__cl_pass_buffer(&call, s->learn.uses);
    shs__cl_pass_buffer(&call, s->now.coefs);
    shs__cl_pass_buffer(&call, whole ? s->here.Y : s->learn.E);
    shs__cl_pass_buffer(&call, s->learn.fresh);
    shs__cl_pass_size(&call, (size_t)s->p * (size_t)s->n);
    shs__cl_pass_int(&call, g->done != NULL);
    shs__cl_pass_buffer(&call, s->learn.done);
    shs__cl_pass_buffer(&call, s->learn.partial);
    shs__cl_pass_buffer(&call, s->learn.energies);
    return shs__cl_launch(&call, *stretches, lanes, 1, rows, "gather");
}

/* The stretches added up, and behind the sums of all atoms the energies, in s->learn.gathered. */
SHS__PRIVATE shs_status shs__cl_gather_sums(shs__cl_signals *s, const shs_atom_group *g) {
    shs__cl_call call = shs__cl_begin_rows(s, shs__cl_source_update, "gather_sums");
    shs__cl_pass_int(&call, g->first);
    shs__cl_pass_int(&call, g->count);
    shs__cl_pass_int(&call, s->p);
    shs__cl_pass_buffer(&call, s->learn.stretches);
    shs__cl_pass_buffer(&call, s->learn.partial);
    shs__cl_pass_buffer(&call, s->learn.energies);
    shs__cl_pass_buffer(&call, s->learn.gathered);
    return shs__cl_launch(&call, shs__ctx_chunks((size_t)s->p + 1, 32), 32, (size_t)g->count, 1, "gather");
}

/* One slice's share of the sums, to s->own.wides; *any = 0 where no signal uses these atoms. */
SHS__PRIVATE shs_status shs__cl_gather_slice(shs__cl_signals *s, size_t q, const shs_atom_group *g, int whole, int *any) {
    const size_t p = (size_t)s->p, count = (size_t)g->count;
    size_t stretches;
    shs_status status = shs__cl_gather_stretches(s, q, g, whole, &stretches);
    *any = status == SHS_OK && stretches > 0;
    if (*any) status = shs__cl_gather_sums(s, g);
    if (!*any || status != SHS_OK) return status;
    return shs__cl_read(s->cl, 0, s->learn.gathered, 0, (p + 1) * count * shs__cl_wide_size(s->cl), s->own.wides);
}

/* Rows first .. first+count-1 of a slice's XX', whose uses are listed. */
SHS__PRIVATE shs_status shs__cl_gram_rows(shs__cl_signals *s, int first, int count, cl_mem sums) {
    shs__cl_call call = shs__cl_begin_rows(s, shs__cl_source_update, "gram");
    shs__cl_pass_int(&call, first);
    shs__cl_pass_int(&call, s->n);
    shs__cl_pass_buffer(&call, s->learn.start);
    shs__cl_pass_buffer(&call, s->learn.uses);
    shs__cl_pass_codes(&call, s);
    shs__cl_pass_buffer(&call, sums);
    return shs__cl_launch(&call, (size_t)count, shs__cl_lanes(s->cl), shs__ctx_chunks((size_t)s->n, SHS__CL_GRAM_TILE),
                          shs__cl_rows(s->cl), "gram");
}

/* One slice's share of XX', lower triangle by rows, to be added to gram: p + 1 rows at a time, in the room of the sums. */
SHS__PRIVATE shs_status shs__cl_gram_slice(shs__cl_signals *s, size_t q, shs_wide *gram) {
    const size_t n = (size_t)s->n;
    shs_status status = shs__cl_need_codes(s, q);
    int first, count, a, b;
    if (status == SHS_OK) status = shs__cl_need_uses(s, q);
    for (first = 0; first < s->n && status == SHS_OK; first += count) {
        count = shs__imin(s->n - first, s->p + 1);
        status = shs__cl_gram_rows(s, first, count, s->learn.gathered);
        if (status == SHS_OK)
            status = shs__cl_read(s->cl, 0, s->learn.gathered, 0, (size_t)count * n * shs__cl_wide_size(s->cl), s->own.wides);
        for (a = 0; status == SHS_OK && a < count; a++)
            for (b = 0; b <= first + a; b++)
                gram[(size_t)(first + a) * n + (size_t)b] += shs__cl_wide_at(s->cl, s->own.wides, (size_t)a * n + (size_t)b);
    }
    return status;
}

/* Writes the group's atoms and the product d_old'd of each to `fresh`. The next gathering waits for the queue before the host
   writes to the same memory again. */
SHS__PRIVATE shs_status shs__cl_write_atoms(shs__cl_signals *s, const shs_atom_group *g) {
    size_t p = (size_t)s->p, first = (size_t)g->first, count = (size_t)g->count, r = sizeof(shs_real);
    size_t overlaps = p * (size_t)s->n + first;
    const shs_real *before = s->own.D + first * p;
    shs_real *fresh = s->own.fresh + first * p;
    shs_status status;
    int j, i;
    memcpy(fresh, g->atoms, p * count * r);
    for (j = 0; j < g->count; j++) {
        shs_wide overlap = 0;
        for (i = 0; i < s->p; i++) overlap += (shs_wide)*SHS__AT(before, p, i, j) * (shs_wide)*SHS__AT(g->atoms, p, i, j);
        s->own.fresh[overlaps + (size_t)j] = (shs_real)overlap;
    }
    status = shs__cl_write_later(s->cl, 0, s->learn.fresh, first * p * r, p * count * r, fresh);
    if (status != SHS_OK) return status;
    return shs__cl_write_later(s->cl, 0, s->learn.fresh, overlaps * r, count * r, s->own.fresh + overlaps);
}

/* The rules whose atoms the device makes by itself. */
SHS__PRIVATE int shs__cl_makes_atoms(shs_update rule) {
    return rule == SHS_UPDATE_AKSVD || rule == SHS_UPDATE_SGK || rule == SHS_UPDATE_MOD;
}

/* Signals of a group of update_signals, `most` or as many as its local memory holds; 0: not one. */
SHS__PRIVATE size_t shs__cl_update_rows(const shs__cl_signals *s, size_t most) {
    const size_t each = (shs__cl_lanes(s->cl) + (size_t)s->stride) * sizeof(shs_real);
    size_t rows = most;
    while (rows > 0 && rows * each > s->cl->about.local_bytes) rows /= 2;
    return rows;
}

/* Whether the kernels that update `count` atoms at a time have local memory enough. */
SHS__PRIVATE int shs__cl_update_fits(const shs__cl_signals *s, int count) { return count == 1 || shs__cl_update_rows(s, 1) == 1; }

/* Whether `gram` has: a tally for each row. mod.cl takes less. */
SHS__PRIVATE int shs__cl_gram_fits(const shs__cl_signals *s) {
    return shs__cl_rows(s->cl) * SHS__CL_GRAM_TILE * shs__cl_wide_size(s->cl) <= s->cl->about.local_bytes;
}

/* NSGK takes the codes before the newest in place of these, all but for E to begin with. */
SHS__PRIVATE shs_status shs__cl_signals_gather(void *session, const shs_atom_group *g) {
    shs__cl_signals *s = (shs__cl_signals *)session;
    const int before = g->update == SHS_UPDATE_NSGK;
    size_t values = (size_t)s->p * (size_t)g->count, n = (size_t)s->n, q, i;
    shs_status status, rest = SHS_OK;
    int any = 0;
    if (g->gram && !shs__cl_gram_fits(s)) return SHS_UNSUPPORTED;
    status = shs__cl_prove_update(s, g->update, g->count == 1, 0, g->power > 0);
    if (status != SHS_OK) return status;
    if (before) status = shs__cl_room_for_codes(s);
    if (status != SHS_OK) return status;
    memset(g->sums, 0, values * sizeof *g->sums);
    memset(g->energy, 0, (size_t)g->count * sizeof *g->energy);
    if (g->gram) memset(g->gram, 0, n * n * sizeof *g->gram);
    if (g->power) status = shs__cl_write_atoms(s, g);
    if (status == SHS_OK && g->done) status = shs__cl_write_later(s->cl, 0, s->learn.done, 0, (size_t)g->count, g->done);
    if (before && s->past.there) shs__cl_exchange_codes(s);
    for (q = 0; q < s->slices && status == SHS_OK; q++) {
        status = shs__cl_gather_slice(s, q, g, 0, &any);
        for (i = 0; any && i < values; i++) g->sums[i] += shs__cl_wide_at(s->cl, s->own.wides, i);
        for (i = 0; any && i < (size_t)g->count; i++) g->energy[i] += shs__cl_wide_at(s->cl, s->own.wides, values + i);
        if (status == SHS_OK && any && g->gram) status = shs__cl_gram_slice(s, q, g->gram);
    }
    if (s->past.exchanged) shs__cl_exchange_codes(s);
    if (g->power && !any) rest = shs__cl_finish(s->cl, 0); /* nothing was read back, which would have waited */
    if (status == SHS_OK) return rest;
    return status;
}

/* YX': the sums of all atoms, of Y in place of E. */
SHS__PRIVATE shs_status shs__cl_signals_cross(void *session, shs_wide *B) {
    shs__cl_signals *s = (shs__cl_signals *)session;
    shs_atom_group g = SHS_ZERO;
    size_t values = (size_t)s->p * (size_t)s->n, q, i;
    shs_status status = shs__cl_prove_sums(s);
    g.count = s->n;
    memset(B, 0, values * sizeof *B);
    for (q = 0; q < s->slices && status == SHS_OK; q++) {
        int any = 0;
        status = shs__cl_gather_slice(s, q, &g, 1, &any);
        for (i = 0; status == SHS_OK && any && i < values; i++) B[i] += shs__cl_wide_at(s->cl, s->own.wides, i);
    }
    return status;
}

/* exchange: build options by which the items of a signal exchange registers; "" for local memory. */
SHS__PRIVATE shs__cl_call shs__cl_begin_rule(const shs__cl_signals *s, shs_update rule, size_t lanes, size_t rows,
                                             const char *exchange, const char *name) {
    shs__cl_build b = shs__cl_shape(s, lanes, rows);
    shs__cl_call call;
    shs__cl_define_name(&b, "UPDATE_", shs_update_name(rule));
    shs__cl_append(b.text, sizeof b.text, exchange);
    call = shs__cl_begin(s->cl, shs__cl_source_update, b.text, name);
    if (!shs__cl_refuses_sub_groups(s->cl, &call, &b)) return call;
    return shs__cl_begin_rule(s, rule, lanes, rows, "", name);
}

/* Appends the build options by which the items of a signal exchange registers, if any, to text. Returns whether they shuffle. */
SHS__PRIVATE int shs__cl_append_exchange(const shs_cl *cl, char *text, size_t size) {
    if (shs__cl_shuffles(cl) && cl->about.max_group >= 128) {
        shs__cl_append(text, size, " -D SHUFFLES=1");
        return 1;
    }
    if (cl->ways.sub_groups && cl->ways.shuffle_xor) {
        shs__cl_append(text, size, cl->ways.sub_groups);
        shs__cl_append(text, size, cl->ways.shuffle_xor);
    }
    return 0;
}

/* The arguments of update_uses and update_signals behind those that say which uses or signals. One atom: its list of uses and the
   coefficients. Several atoms: their number, and all of the codes. */
SHS__PRIVATE void shs__cl_pass_update(shs__cl_call *call, const shs__cl_signals *s, const shs_atom_group *g) {
    shs__cl_pass_int(call, s->p);
    shs__cl_pass_int(call, g->first);
    if (g->count > 1) shs__cl_pass_int(call, g->count);
    shs__cl_pass_buffer(call, s->all.D);
    shs__cl_pass_buffer(call, s->learn.fresh);
    shs__cl_pass_size(call, (size_t)s->p * (size_t)s->n);
    if (g->count == 1) {
        shs__cl_pass_buffer(call, s->learn.uses);
        shs__cl_pass_buffer(call, s->now.coefs);
    } else shs__cl_pass_codes(call, s);
    shs__cl_pass_buffer(call, s->learn.E);
    shs__cl_pass_int(call, g->want_residual);
}

/* One atom: a row of lanes for each of its uses. */
SHS__PRIVATE shs_status shs__cl_update_uses(shs__cl_signals *s, const shs_atom_group *g) {
    const size_t begin = s->own.start[g->first], end = s->own.start[g->first + 1];
    shs__cl_call call = shs__cl_begin_rule(s, g->update, shs__cl_lanes(s->cl), shs__cl_rows(s->cl), "", "update_uses");
    shs__cl_pass_uint(&call, begin);
    shs__cl_pass_uint(&call, end);
    shs__cl_pass_update(&call, s, g);
    return shs__cl_launch_rows(&call, end - begin, "update");
}

/* Several atoms: a row of lanes for each of m signals. */
SHS__PRIVATE shs_status shs__cl_update_signals(shs__cl_signals *s, size_t m, const shs_atom_group *g) {
    const size_t lanes = shs__cl_lanes(s->cl);
    size_t rows = 1;
    char exchange[128] = "";
    shs__cl_call call;
    if (lanes == SHS__CL_WARP_ITEMS && shs__cl_append_exchange(s->cl, exchange, sizeof exchange)) rows = shs__cl_update_rows(s, 4);
    call = shs__cl_begin_rule(s, g->update, lanes, rows, exchange, "update_signals");
    shs__cl_pass_uint(&call, m);
    shs__cl_pass_update(&call, s, g);
    return shs__cl_launch(&call, 1, lanes, shs__ctx_chunks(m, rows), rows, "update");
}

/* Codes and residuals of a slice change over to the new atoms in s->learn.fresh. */
SHS__PRIVATE shs_status shs__cl_update_slice(shs__cl_signals *s, size_t q, const shs_atom_group *g) {
    shs_status status = shs__cl_need_codes(s, q);
    if (status == SHS_OK) status = shs__cl_need_residuals(s, q);
    if (status == SHS_OK && g->count == 1) status = shs__cl_need_uses(s, q);
    if (status != SHS_OK) return status;
    if (g->count == 1) status = shs__cl_update_uses(s, g);
    else status = shs__cl_update_signals(s, shs__cl_slice_count(s, q), g);
    if (status == SHS_OK) return shs__cl_save(s, q, 1, g->want_residual);
    return status;
}

SHS__PRIVATE shs_status shs__cl_signals_update(void *session, const shs_atom_group *g) {
    shs__cl_signals *s = (shs__cl_signals *)session;
    size_t p = (size_t)s->p, first = (size_t)g->first, values = p * (size_t)g->count, r = sizeof(shs_real), q;
    shs_status status = SHS_UNSUPPORTED;
    if (shs__cl_update_fits(s, g->count)) status = shs__cl_prove_update(s, g->update, g->count == 1, 0, 0);
    if (status == SHS_OK) status = shs__cl_write_atoms(s, g);
    if (status != SHS_OK) return status;
    if (g->update == SHS_UPDATE_NSGK && s->past.there) shs__cl_exchange_codes(s);
    for (q = 0; (g->want_codes || g->want_residual) && q < s->slices && status == SHS_OK; q++) {
        status = shs__cl_update_slice(s, q, g);
        if (status == SHS_NO_MEMORY && q > 0) status = SHS_ENGINE_FAILED; /* half done: nobody else can do it */
    }
    if (s->past.exchanged) shs__cl_exchange_codes(s);
    if (status == SHS_OK) status = shs__cl_copy(s->cl, 0, s->learn.fresh, first * p * r, s->all.D, first * p * r, values * r);
    memcpy(s->own.D + first * p, g->atoms, values * r);
    return status;
}

/* The new atoms of a group, from the stretches of all signals. */
SHS__PRIVATE shs_status shs__cl_new_atoms(shs__cl_signals *s, shs_update rule, int first, int count) {
    shs__cl_call call = shs__cl_begin_rule(s, rule, shs__cl_lanes(s->cl), 1, "", "new_atoms");
    shs__cl_pass_int(&call, first);
    shs__cl_pass_int(&call, s->n);
    shs__cl_pass_int(&call, s->p);
    shs__cl_pass_buffer(&call, s->learn.stretches);
    shs__cl_pass_buffer(&call, s->learn.partial);
    shs__cl_pass_buffer(&call, s->learn.energies);
    shs__cl_pass_buffer(&call, s->all.D);
    shs__cl_pass_buffer(&call, s->learn.gathered);
    shs__cl_pass_buffer(&call, s->learn.fresh);
    return shs__cl_launch(&call, (size_t)count, SHS__CL_ATOM_ITEMS, 1, 1, "new atoms");
}

/* MOD: E X'(XX')^-1 in the place of the sums of all atoms, by mod.cl. */
SHS__PRIVATE shs_status shs__cl_mod(shs__cl_signals *s, const shs_atom_group *g) {
    const size_t n = (size_t)s->n, p = (size_t)s->p, tile = SHS__CL_MOD_TILE, tiles = shs__ctx_chunks(n, tile);
    const shs_wide least = (shs_wide)s->n * SHS__WIDE_EPS;
    shs__cl_call call;
    size_t k;
    shs_status status = shs__cl_gather_sums(s, g);
    if (status == SHS_OK) status = shs__cl_gram_rows(s, 0, s->n, s->learn.system);
    for (k = 0; k < tiles && status == SHS_OK; k++) {
        call = shs__cl_begin(s->cl, shs__cl_source_mod, "", "mod_factor");
        shs__cl_pass_int(&call, s->n);
        shs__cl_pass_int(&call, s->p);
        shs__cl_pass_int(&call, (int)(k * tile));
        shs__cl_pass_wide(&call, least);
        shs__cl_pass_buffer(&call, s->learn.system);
        shs__cl_pass_buffer(&call, s->learn.gathered);
        shs__cl_pass_buffer(&call, s->learn.corners);
        status = shs__cl_launch(&call, tiles - k + shs__ctx_chunks(p, tile), SHS__CL_MOD_ITEMS, 1, 1, "factor");
    }
    if (status != SHS_OK) return status;
    call = shs__cl_begin(s->cl, shs__cl_source_mod, "", "mod_solve");
    shs__cl_pass_int(&call, s->n);
    shs__cl_pass_int(&call, s->p);
    shs__cl_pass_buffer(&call, s->learn.system);
    shs__cl_pass_buffer(&call, s->learn.gathered);
    shs__cl_pass_buffer(&call, s->learn.corners);
    return shs__cl_launch(&call, p, SHS__CL_MOD_ITEMS, 1, 1, "solve");
}

/* Room for its system, which stays until the session ends. */
SHS__PRIVATE shs_status shs__cl_room_for_mod(shs__cl_signals *s) {
    const size_t n = (size_t)s->n, wide = shs__cl_wide_size(s->cl), rows = shs__ctx_chunks(n, SHS__CL_MOD_TILE) * SHS__CL_MOD_TILE;
    shs_status status = SHS_OK;
    if (s->cl->about.max_group < SHS__CL_MOD_ITEMS) return SHS_UNSUPPORTED;
    if (!s->learn.system) status = shs__cl_buffer(s->cl, SHS__PRODUCT(n, n, wide), &s->learn.system);
    if (status == SHS_OK && !s->learn.corners)
        status = shs__cl_buffer(s->cl, SHS__PRODUCT(rows, SHS__CL_MOD_TILE, wide), &s->learn.corners);
    return status;
}

/* A round without the host: each group's sums, new atoms, and changes of residuals and codes. The queue keeps the order. The host
   knows how long the lists of uses are, so it waits for nothing until the new dictionary comes back. Not where the sums of
   slices must be added up, nor where the device's type for sums is not the host's, with which it decides what stays. */
SHS__PRIVATE shs_status shs__cl_signals_round(void *session, const shs_atom_round *o) {
    shs__cl_signals *s = (shs__cl_signals *)session;
    shs_atom_group g = SHS_ZERO;
    const size_t bytes = (size_t)s->p * (size_t)s->n * sizeof(shs_real);
    size_t stretches;
    int changed = 0;
    shs_status status;
    if (!shs__cl_makes_atoms(o->update)) return SHS_UNSUPPORTED;
    if (s->slices != 1 || shs__cl_wide_size(s->cl) != sizeof(shs_wide)) return SHS_UNSUPPORTED;
    if (!shs__cl_update_fits(s, o->group) || (o->update == SHS_UPDATE_MOD && !shs__cl_gram_fits(s))) return SHS_UNSUPPORTED;
    status = shs__cl_prove_update(s, o->update, o->group == 1, 1, 0);
    if (status == SHS_OK && o->update == SHS_UPDATE_MOD) status = shs__cl_room_for_mod(s);
    if (status == SHS_OK) status = shs__cl_form_residual(s, 0);
    g.update = o->update;
    for (; g.first < s->n && status == SHS_OK; g.first += o->group) {
        g.count = shs__imin(o->group, s->n - g.first);
        g.want_residual = g.first + g.count < s->n;
        status = shs__cl_gather_stretches(s, 0, &g, 0, &stretches);
        if (status == SHS_OK && g.update == SHS_UPDATE_MOD) status = shs__cl_mod(s, &g);
        if (status == SHS_OK) status = shs__cl_new_atoms(s, o->update, g.first, g.count);
        if (status != SHS_OK || !(g.want_residual || o->want_codes)) continue;
        status = shs__cl_update_slice(s, 0, &g);
        changed |= status == SHS_OK;
    }
    if (status == SHS_OK) status = shs__cl_copy(s->cl, 0, s->learn.fresh, 0, s->all.D, 0, bytes);
    if (status == SHS_OK) status = shs__cl_read(s->cl, 0, s->all.D, 0, bytes, s->own.D);
    if (status == SHS_OK) memcpy(o->D, s->own.D, bytes);
    return status == SHS_NO_MEMORY && changed ? SHS_ENGINE_FAILED : status; /* half done: nobody else can do it */
}

/* ---- the self-test of the lasso and of learning ------------------------------------------------------------------- */

/* The largest violation of the minimum's conditions: d_j'r = lambda sign(x_j) where x_j is not 0, else |d_j'r| <= lambda. */
SHS__PRIVATE shs_wide shs__cl_violation(const shs__cl_known *k, size_t i, shs_wide share, shs_real *r, shs_real *x) {
    const size_t p = (size_t)k->p, at = i * (size_t)k->stride;
    shs_wide lambda = 0, worst = 0, off;
    int j, q;
    memcpy(r, k->Y + i * p, p * sizeof *r);
    memset(x, 0, (size_t)k->n * sizeof *x);
    for (j = 0; j < k->n; j++) {
        off = shs__wabs((shs_wide)shs_dot(k->p, k->D + (size_t)j * p, 1, r, 1));
        if (off > lambda) lambda = off;
    }
    lambda *= share;
    for (q = 0; q < k->got.used[i]; q++) {
        j = k->got.atoms[at + (size_t)q];
        if (j < 0 || j >= k->n) return 1;
        x[j] = k->got.coefs[at + (size_t)q];
        shs_axpy(k->p, -x[j], k->D + (size_t)j * p, 1, r, 1);
    }
    for (j = 0; j < k->n; j++) {
        shs_wide c = (shs_wide)shs_dot(k->p, k->D + (size_t)j * p, 1, r, 1);
        if (x[j] > 0) off = shs__wabs(c - lambda);
        else if (x[j] < 0) off = shs__wabs(c + lambda);
        else off = shs__wabs(c) - lambda;
        if (!(off <= worst)) worst = off;
    }
    return worst / lambda;
}

/* A descent from zero codes, and a warm descent from its result. Both end with few atoms. */
SHS__PRIVATE shs_status shs__cl_known_descend(shs_cl *cl, shs__cl_known *k, void *session, shs_wide *worst, char *fault) {
    const shs_wide shares[2] = {(shs_wide)0.85, (shs_wide)0.7};
    shs_descent d = SHS_ZERO;
    shs_real *room = (shs_real *)shs__cl_alloc(cl, (size_t)(k->p + k->n) * sizeof *room);
    shs_wide violation;
    size_t i;
    shs_status status = room ? shs__cl_signals_dictionary(session, k->D, k->p) : SHS_NO_MEMORY;
    *worst = 0;
    d.gap = (shs_real)1e-5;
    d.relative = 1;
    d.sweeps = 1000;
    for (d.warm = 0; d.warm < 2 && status == SHS_OK && !fault[0]; d.warm++) {
        d.lambda = (shs_real)shares[d.warm];
        status = shs__cl_signals_descend(session, &d);
        if (status == SHS_OK) status = shs__cl_signals_fetch(session, &k->got);
        if (status == SHS_OK) shs__cl_check_codes(k, fault);
        for (i = 0; i < k->m && status == SHS_OK && !fault[0]; i++) {
            if (k->got.used[i] == 0 && k->stride < 4) continue; /* its atoms did not fit */
            violation = shs__cl_violation(k, i, (shs_wide)d.lambda, room, room + k->p);
            if (!(violation <= *worst)) *worst = violation;
        }
    }
    shs__cl_free(cl, room);
    return status;
}

/* A coordinate that violates the conditions by v lowers the objective by v^2 / 2, which the gap bounds by gap |y|^2 / 2: v is below
   sqrt(gap) |y|, here some 1 % of lambda. */
SHS__PRIVATE shs_status shs__cl_test_descent(shs_cl *cl, const void *job, char *fault) {
    const shs__cl_signals *s = (const shs__cl_signals *)job;
    const shs_context cpu = shs__cl_cpu(cl);
    shs__cl_known k = SHS_ZERO;
    shs_signals_job open;
    void *session = NULL;
    shs_wide worst = 0;
    shs_status status;
    shs__cl_known_sizes(s, 1, &k);
    k.m = 7;
    status = shs__cl_known_open(cl, 2, &k);
    k.coding.sparsity = k.stride;
    open = shs__cl_known_job(&k);
    open.descending = 1;
    cl->test.imitated = s;
    if (status == SHS_OK) status = shs__cl_signals_open(cl, &cpu, &open, &session);
    if (status == SHS_OK) status = shs__cl_known_descend(cl, &k, session, &worst, fault);
    if (session) shs__cl_signals_close(session);
    cl->test.imitated = NULL;
    if (!(worst <= (shs_wide)0.04) && !fault[0]) shs__cl_append(fault, SHS__CL_FAULT, "known signals end where no minimum is");
    shs__cl_known_close(cl, &k);
    return status;
}

SHS__PRIVATE shs_status shs__cl_prove_descent(shs__cl_signals *s) {
    const shs__cl_build b = shs__cl_descent_build(s, 1);
    const shs__cl_proof proof = shs__cl_proof_of(shs__cl_source_lasso, "lasso", b.text, shs__cl_test_descent, s);
    if (!shs__cl_proves(s->cl)) return SHS_OK;
    return shs__cl_prove(s->cl, &proof);
}

/* Learning goes by omp_general, which all coders need: it takes any sizes, and n may be small. */
typedef struct shs__cl_learning {
    const shs__cl_signals *like;
    shs_update rule;
    int single, whole, power;
} shs__cl_learning;

enum { SHS__CL_KNOWN_LEARNT = 300, SHS__CL_KNOWN_GROUP = 5 };

/* A known problem of learning. One atom is in every signal, so that the sums of this atom have several stretches; n % 5 is 1, so
   that the last group of five is not full. D is near the atoms that the signals are made of. */
SHS__PRIVATE shs_status shs__cl_known_learning(shs_cl *cl, const shs__cl_signals *like, shs__cl_known *k) {
    const size_t p = (size_t)like->p % 4 + 40;
    shs_random r;
    shs_status status = SHS_OK;
    size_t i, l;
    int a;
    shs__cl_known_sizes(like, 0, k);
    k->p = shs__imax(k->p, (int)p);
    if (like->p <= 32 && like->stride < 12) k->p -= 12; /* other kernels */
    k->n = shs__la_round_up(shs__imax(k->stride, 12) + 5, SHS__CL_KNOWN_GROUP) + 1;
    k->m = SHS__CL_KNOWN_LEARNT;
    while (shs__layout_next(&cl->ctx, &k->host, &status)) shs__cl_known_layout(&k->host, k);
    if (status != SHS_OK) return status;
    shs_random_seed(&r, 4);
    for (i = 0; i < (size_t)k->p * (size_t)k->n; i++) k->D[i] = (shs_real)shs_random_normal(&r);
    shs_normalize_columns(k->p, k->n, k->D, k->p, NULL);
    for (i = 0; i < k->m; i++) {
        shs_real *y = k->Y + i * (size_t)k->p, coef = 3;
        const int step = 1 + (int)(i / (size_t)k->n) % 5;
        k->limits[i] = shs__imin(k->stride, 1 + (int)(i % 3));
        for (l = 0; l < (size_t)k->p; l++) y[l] = (shs_real)0.03 * (shs_real)shs_random_normal(&r);
        for (a = 0; a < k->limits[i]; a++) {
            shs_axpy(k->p, coef, k->D + (size_t)(a == 0 && i % 3 ? 0 : ((int)i + a * step) % k->n) * (size_t)k->p, 1, y, 1);
            coef *= (shs_real)-0.6;
        }
    }
    for (i = 0; i < (size_t)k->p * (size_t)k->n; i++) k->D[i] += (shs_real)0.03 * (shs_real)shs_random_normal(&r);
    shs_normalize_columns(k->p, k->n, k->D, k->p, NULL);
    k->coding.selection = like->job.coding->selection;
    k->coding.sparsity = k->stride;
    k->coding.sparsity_each = k->limits;
    if (shs__cl_tolerant(like)) k->coding.tolerance = (shs_real)1e-3;
    return status;
}

/* A session's copy that codes by omp_general; the caller's to free. */
SHS__PRIVATE shs__cl_signals *shs__cl_general_like(shs_cl *cl, const shs__cl_signals *s) {
    shs__cl_signals *copy = (shs__cl_signals *)shs__cl_alloc(cl, sizeof *copy);
    if (!copy) return NULL;
    *copy = *s;
    copy->share.coder = SHS__CL_GENERAL;
    return copy;
}

/* Learns the known dictionary on an engine, or the CPU, into D. */
SHS__PRIVATE shs_status shs__cl_learn_known(const shs_context *ctx, const shs__cl_learning *l, const shs__cl_known *k,
                                            shs_real *D) {
    shs_ksvd_options o = SHS_ZERO;
    memcpy(D, k->D, (size_t)k->p * (size_t)k->n * sizeof *D);
    o.coding = k->coding;
    o.update = l->rule;
    o.iterations = 2;
    o.rounds = 2;
    if (l->single) o.parallel_atoms = 1;
    else o.parallel_atoms = SHS__CL_KNOWN_GROUP;
    o.start = SHS_START_GIVEN;
    o.replace = SHS_REPLACE_LEAVE;
    o.keep = SHS_KEEP_LAST;
    if (l->power && l->rule != SHS_UPDATE_KSVD) o.incoherence = (shs_real)0.05;
    return shs_ksvd_ex(ctx, k->p, k->n, k->m, k->Y, k->p, &o, D, k->p, NULL, NULL);
}

SHS__PRIVATE shs_status shs__cl_test_update(shs_cl *cl, const void *job, char *fault) {
    const shs__cl_learning *l = (const shs__cl_learning *)job;
    const shs_context cpu = shs__cl_cpu(cl);
    shs_context device = cpu;
    shs_engine engine = cl->engine;
    shs__cl_known k = SHS_ZERO;
    shs__cl_signals *like = shs__cl_general_like(cl, l->like);
    shs_real *D = NULL;
    size_t values;
    shs_status status = like ? shs__cl_known_learning(cl, l->like, &k) : SHS_NO_MEMORY;
    values = (size_t)k.p * (size_t)k.n;
    if (status == SHS_OK) D = (shs_real *)shs__cl_alloc(cl, 2 * values * sizeof *D);
    if (!D) status = SHS_NO_MEMORY;
    engine.fallback = 0;
    if (!l->whole) engine.signals_round = NULL;
    device.engine = &engine;
    cl->test.imitated = like;
    if (status == SHS_OK) status = shs__cl_learn_known(&device, l, &k, D);
    cl->test.imitated = NULL;
    if (status == SHS_OUT_OF_RANGE) {
        shs__cl_append(fault, SHS__CL_FAULT, "what is learnt from known signals is no number");
        status = SHS_OK;
    }
    if (status == SHS_OK) status = shs__cl_learn_known(&cpu, l, &k, D + values);
    if (status == SHS_OK && !fault[0]) status = shs__cl_compare(cl, "learnt atoms", values, D, D + values, fault);
    shs__cl_free(cl, D);
    shs__cl_free(cl, like);
    shs__cl_known_close(cl, &k);
    return status;
}

SHS__PRIVATE shs_status shs__cl_prove_update(shs__cl_signals *s, shs_update rule, int single, int whole, int power) {
    shs__cl_build b = shs__cl_coder_build(s, SHS__CL_GENERAL, 0);
    const char *kernel = "update_signals";
    shs__cl_learning l;
    shs__cl_proof proof;
    if (!shs__cl_proves(s->cl) || (unsigned)rule >= SHS_UPDATE_COUNT) return SHS_OK;
    l.like = s;
    l.rule = rule;
    l.single = single;
    l.whole = whole;
    l.power = power;
    shs__cl_define_int(&b, "STRIDE", s->stride);
    shs__cl_define(&b, "P", (size_t)(s->p > 32));
    shs__cl_define_name(&b, "UPDATE_", shs_update_name(rule));
    shs__cl_define(&b, "HOW", (size_t)(single + 2 * whole + 4 * (power && rule != SHS_UPDATE_KSVD)));
    if (single) kernel = "update_uses";
    if (rule == SHS_UPDATE_MOD) kernel = "mod_solve";
    proof = shs__cl_proof_of(shs__cl_source_update, kernel, b.text, shs__cl_test_update, &l);
    return shs__cl_prove(s->cl, &proof);
}

/* YX' and the sum of squares of Y - DX, by the codes that the device has. */
SHS__PRIVATE void shs__cl_known_sums(const shs__cl_known *k, shs_wide *B, shs_wide *sum2) {
    size_t i, at;
    int q, l;
    memset(B, 0, (size_t)k->p * (size_t)k->n * sizeof *B);
    *sum2 = 0;
    for (i = 0; i < k->m; i++) {
        const shs_real *y = k->Y + i * (size_t)k->p;
        for (q = 0; q < k->got.used[i]; q++) {
            at = i * (size_t)k->stride + (size_t)q;
            for (l = 0; l < k->p; l++) *SHS__AT(B, k->p, l, k->got.atoms[at]) += (shs_wide)k->got.coefs[at] * (shs_wide)y[l];
        }
        for (l = 0; l < k->p; l++) {
            shs_wide e = (shs_wide)y[l];
            for (q = 0; q < k->got.used[i]; q++) {
                at = i * (size_t)k->stride + (size_t)q;
                e -= (shs_wide)k->got.coefs[at] * (shs_wide)*SHS__AT(k->D, k->p, l, k->got.atoms[at]);
            }
            *sum2 += e * e;
        }
    }
}

/* The device's sums into B (p x n) and *sum2. D is scaled after the signals are coded, so that the errors change, too. */
SHS__PRIVATE shs_status shs__cl_sum_known(shs_cl *cl, shs__cl_known *k, shs_wide *B, shs_wide *sum2) {
    const shs_context cpu = shs__cl_cpu(cl);
    shs_signals_job job = shs__cl_known_job(k);
    shs_omp_report report;
    void *session = NULL;
    size_t i;
    shs_status status;
    job.learning = 1;
    status = shs__cl_signals_open(cl, &cpu, &job, &session);
    if (status != SHS_OK) return status;
    status = shs__cl_signals_dictionary(session, k->D, k->p);
    if (status == SHS_OK) status = shs__cl_signals_code(session, NULL, NULL, &report);
    for (i = 0; i < (size_t)k->p * (size_t)k->n; i++) k->D[i] *= (shs_real)0.875;
    if (status == SHS_OK) status = shs__cl_signals_dictionary(session, k->D, k->p);
    if (status == SHS_OK) status = shs__cl_signals_residual(session, sum2);
    if (status == SHS_OK) status = shs__cl_signals_cross(session, B);
    if (status == SHS_OK) status = shs__cl_signals_fetch(session, &k->got);
    shs__cl_signals_close(session);
    return status;
}

SHS__PRIVATE shs_status shs__cl_test_sums(shs_cl *cl, const void *job, char *fault) {
    shs__cl_signals *like = shs__cl_general_like(cl, (const shs__cl_signals *)job);
    shs__cl_known k = SHS_ZERO;
    shs_wide *B = NULL, got = 0, right = 0;
    size_t values;
    shs_status status = like ? shs__cl_known_learning(cl, like, &k) : SHS_NO_MEMORY;
    values = (size_t)k.p * (size_t)k.n;
    if (status == SHS_OK) B = (shs_wide *)shs__cl_alloc(cl, 2 * values * sizeof *B);
    if (!B) status = SHS_NO_MEMORY;
    cl->test.imitated = like;
    if (status == SHS_OK) status = shs__cl_sum_known(cl, &k, B, &got);
    cl->test.imitated = NULL;
    if (status == SHS_OK) {
        shs__cl_known_sums(&k, B + values, &right);
        shs__cl_compare_wides("the squares of the residual", 1, &got, &right, fault);
        shs__cl_compare_wides("YX'", values, B, B + values, fault);
    }
    shs__cl_free(cl, B);
    shs__cl_free(cl, like);
    shs__cl_known_close(cl, &k);
    return status;
}

/* Residuals, and sums over the uses of atoms. */
SHS__PRIVATE shs_status shs__cl_prove_sums(shs__cl_signals *s) {
    shs__cl_build b = shs__cl_coder_build(s, SHS__CL_GENERAL, 0);
    shs__cl_proof proof;
    if (!shs__cl_proves(s->cl)) return SHS_OK;
    shs__cl_define_int(&b, "STRIDE", s->stride);
    shs__cl_define(&b, "P", (size_t)(s->p > 32));
    proof = shs__cl_proof_of(shs__cl_source_residual, "residual", b.text, shs__cl_test_sums, s);
    return shs__cl_prove(s->cl, &proof);
}

/* ================================================================================================================== */
/* PIXELS SESSION                                                                                                     */
/* ================================================================================================================== */

/* The engine's pixels_... stages: called by their table at the end of this file alone. They call RUNTIME, and of sparsehs.h the
   view of a cube and the choice of the shift. From the top: totals and products of planes; slices on their way to the device; a
   pass over slices and panels; then the uses of passes: moments, maps, whitened pixels, sweeps.

   The cube goes to the device in slices of whole lines, in its own type. Slices of a cube in memory stay there if all of them
   fit; otherwise, and for streams, two slots take turns. Queue 1 brings slice s + 1 while queue 0 works on slice s. There a
   slice becomes panels (pixels.cl), and panels become sums or outputs. */
enum {
    SHS__CL_BAND_GROUPS = 8,     /* of a slice in BSQ, which come up one after another */
    /* Sums are added slice by slice, so a measured size would change their last bits from run to run: a constant. */
    SHS__CL_SLICE_BYTES = 96 << 20,
    SHS__CL_PANEL_BYTES = 512 << 20
};

/* Buffers that grow as needed and stay until the session ends. */
enum {
    SHS__CL_ROOM_LIST,
    SHS__CL_ROOM_SHIFT,
    SHS__CL_ROOM_VALID,
    SHS__CL_ROOM_PANEL,
    SHS__CL_ROOM_SECOND,
    SHS__CL_ROOM_CHUNK_SUMS,
    SHS__CL_ROOM_PARTIAL,
    SHS__CL_ROOM_SUMS,
    SHS__CL_ROOM_SUMS_LOST,
    SHS__CL_ROOM_PRODUCTS,
    SHS__CL_ROOM_PRODUCTS_LOST,
    SHS__CL_ROOM_MATRIX,
    SHS__CL_ROOM_CONSTANT,
    SHS__CL_ROOM_WHITENER,
    SHS__CL_ROOM_WHITE_CONSTANT,
    SHS__CL_ROOM_WHITE_SHIFT,
    SHS__CL_ROOM_Z,
    SHS__CL_ROOM_DIRECTIONS,
    SHS__CL_ROOM_LOW,
    SHS__CL_ROOM_HIGH,
    SHS__CL_ROOM_LEAST,
    SHS__CL_ROOM_MOST,
    SHS__CL_ROOM_OUT,
    SHS__CL_ROOM_OUT_AGAIN,
    SHS__CL_ROOMS
};

typedef struct shs__cl_slice {
    cl_mem raw, z;     /* z: whitened pixels, m planes, which it may share with its neighbours; NULL: not kept */
    size_t z_at, z_ld; /* where in a plane its pixels begin, and a plane's length */
    int first_line, lines, loaded;
    size_t pixels, padded;
    size_t origin, plane; /* where in raw it begins, and the distance of BSQ bands there; in values */
} shs__cl_slice;

/* Slices take two turns: while one is worked on, the next comes up. */
typedef struct shs__cl_turn {
    cl_mem raw;             /* the slice's pixels, where slices do not stay */
    unsigned char *staging; /* pinned memory for a stream's lines */
    unsigned char *marks;   /* of the lines in staging, where mask_fn makes them */
    cl_event arrived, done, fetched;
    cl_event risen[SHS__CL_BAND_GROUPS]; /* band groups of a slice in BSQ; NULL: it did not come up in groups */
} shs__cl_turn;

typedef struct shs__cl_pixels {
    shs_cl *cl;
    const shs_context *ctx;
    const shs_cube *cube;
    shs__view view;
    shs_interleave layout; /* of a slice on the device */
    int packed; /* odd strides: the host closes the bands in use up to BIP */
    int bands;  /* of a slice on the device */
    cl_mem whole; /* the caller's pixels themselves, where the device shares the host's memory */
    int kept, slice_count;
    shs__cl_slice *slices;
    size_t slice_bytes;
    shs__cl_turn turn[2];
    int group_bands;
    size_t budget;        /* bytes for panels */
    shs_real *find_shift; /* moments of a stream: where the shift is to go, once there is a valid pixel */
    int by_panels;        /* set by the self-test of panels: moments of bytes are summed from panels, too */
    cl_mem room[SHS__CL_ROOMS];
    size_t room_bytes[SHS__CL_ROOMS];
    int m, z_kept;        /* whitened components; whether they stayed on the device */
    shs_wide white_count; /* valid pixels */
} shs__cl_pixels;

/* What a self-test of pixels is to find out; see there. */
typedef enum shs__cl_pixel_stage {
    SHS__CL_MOMENTS,
    SHS__CL_NOISE,
    SHS__CL_RANGE,
    SHS__CL_MAP,
    SHS__CL_WHITENING,
    SHS__CL_SWEEP,
    SHS__CL_RATING
} shs__cl_pixel_stage;

typedef struct shs__cl_pixel_trial {
    shs__cl_pixel_stage stage;
    int precise, squares, outputs; /* outputs: of the map, or components */
    int fourth, directions;
    int bytes; /* moments: by byte_products */
    shs_contrast contrast;
    const shs_sink *sink;
    const struct shs__cl_pixels *like; /* whose kernels */
} shs__cl_pixel_trial;

SHS__PRIVATE shs_status shs__cl_prove_pixels(struct shs__cl_pixels *px, shs__cl_pixel_trial *trial);

/* ---- small tools -------------------------------------------------------------------------------------------------- */

SHS__PRIVATE shs_status shs__cl_room(shs__cl_pixels *px, int which, size_t bytes, cl_mem *buffer) {
    shs_status status = SHS_OK;
    if (bytes > px->room_bytes[which] || !px->room[which]) {
        if (px->room[which]) status = shs__cl_finish(px->cl, 0);
        if (status != SHS_OK) return status;
        shs__cl_release(px->cl, px->room + which);
        px->room_bytes[which] = 0;
        status = shs__cl_buffer(px->cl, bytes, px->room + which);
        if (status == SHS_OK) px->room_bytes[which] = bytes;
    }
    *buffer = px->room[which];
    return status;
}

/* Bytes of a panel's element. */
SHS__PRIVATE size_t shs__cl_elem_bytes(const shs_cl *cl, int precise) {
    if (precise) return shs__cl_wide_size(cl);
    return sizeof(shs_real);
}

/* Whether the caller measures the kernels of pixels without one of their means, or with groups of another size. */
SHS__PRIVATE int shs__cl_on_trial(const shs_cl *cl) { return cl->options.without || cl->options.group_items; }

/* Adds such options to the build of a kernel over pixels, whose groups usually have `usual` items. */
SHS__PRIVATE void shs__cl_define_trial(const shs_cl *cl, int items, int usual, shs__cl_build *b) {
    if (items != usual) shs__cl_define_int(b, "ITEMS", items);
    if (cl->options.without & SHS_CL_WITHOUT_LOCAL) shs__cl_define(b, "IN_LOCAL", 0);
}

SHS__PRIVATE shs__cl_build shs__cl_elem_build(const shs_cl *cl, int precise) {
    shs__cl_build b = SHS_ZERO;
    shs__cl_define_as(&b, "ELEM", precise ? "wide" : "real");
    shs__cl_define(&b, "ELEM_BYTES", shs__cl_elem_bytes(cl, precise));
    return b;
}

/* n values as the device's wide, or its real; blocking. */
SHS__PRIVATE shs_status shs__cl_write_values(shs__cl_pixels *px, cl_mem buffer, size_t n, const shs_wide *from,
                                             size_t bytes) {
    shs_cl *cl = px->cl;
    unsigned char *block = (unsigned char *)shs__cl_alloc(cl, n * bytes);
    size_t i;
    shs_status status;
    if (!block) return SHS_NO_MEMORY;
    for (i = 0; i < n; i++) {
        cl_double d = (cl_double)from[i];
        cl_float f = (cl_float)from[i];
        memcpy(block + i * bytes, bytes == sizeof d ? (const void *)&d : (const void *)&f, bytes);
    }
    status = shs__cl_write(cl, 0, buffer, 0, n * bytes, block);
    shs__cl_free(cl, block);
    return status;
}

SHS__PRIVATE shs_status shs__cl_read_values(shs__cl_pixels *px, cl_mem buffer, size_t n, shs_wide *to, int add) {
    shs_cl *cl = px->cl;
    size_t bytes = shs__cl_wide_size(cl), i;
    void *block = shs__cl_alloc(cl, n * bytes);
    shs_status status = block ? shs__cl_read(cl, 0, buffer, 0, n * bytes, block) : SHS_NO_MEMORY;
    for (i = 0; i < n && status == SHS_OK; i++) {
        shs_wide value = shs__cl_wide_at(cl, block, i);
        if (add) to[i] += value;
        else to[i] = value;
    }
    shs__cl_free(cl, block);
    return status;
}

/* ---- totals: partial sums added up on the device in their order --------------------------------------------------- */

typedef struct shs__cl_totals {
    cl_mem total, lost;
    size_t size;
} shs__cl_totals;

SHS__PRIVATE shs_status shs__cl_totals_room(shs__cl_pixels *px, int room, size_t size, shs__cl_totals *t) {
    size_t bytes = size * shs__cl_wide_size(px->cl);
    shs_status status = shs__cl_room(px, room, bytes, &t->total);
    if (status == SHS_OK) status = shs__cl_room(px, room + 1, bytes, &t->lost);
    t->size = size;
    return status;
}

SHS__PRIVATE shs_status shs__cl_totals_begin(shs__cl_pixels *px, int room, size_t size, shs__cl_totals *t) {
    size_t bytes = size * shs__cl_wide_size(px->cl);
    shs_status status = shs__cl_totals_room(px, room, size, t);
    if (status == SHS_OK) status = shs__cl_clear(px->cl, 0, t->total, 0, bytes);
    if (status == SHS_OK) status = shs__cl_clear(px->cl, 0, t->lost, 0, bytes);
    return status;
}

/* What partial sums are. */
enum { SHS__CL_REALS = 0, SHS__CL_WIDES = 1, SHS__CL_INTS = 2 };

/* `count` partial sums of `size` values to those of the totals from `first` on. */
SHS__PRIVATE shs_status shs__cl_totals_add(shs__cl_pixels *px, const shs__cl_totals *t, size_t first, size_t size,
                                           cl_mem partial, size_t count, int kind) {
    static const char *const elem[] = {"real", "wide", "int"};
    shs__cl_build b = SHS_ZERO;
    shs__cl_call call;
    shs__cl_define_as(&b, "ELEM", elem[kind]);
    call = shs__cl_begin(px->cl, shs__cl_source_totals, b.text, "accumulate");
    shs__cl_pass_buffer(&call, partial);
    shs__cl_pass_size(&call, size);
    shs__cl_pass_int(&call, (int)count);
    shs__cl_pass_size(&call, first);
    shs__cl_pass_buffer(&call, t->total);
    shs__cl_pass_buffer(&call, t->lost);
    return shs__cl_launch(&call, shs__ctx_chunks(size, 64), 64, 1, 1, "accumulate");
}

/* The same of few values with many partial sums, which lie value by value, in wide; `more`: to what the totals hold. */
SHS__PRIVATE shs_status shs__cl_totals_gather(shs__cl_pixels *px, const shs__cl_totals *t, cl_mem partial, size_t count,
                                              int more) {
    shs__cl_call call = shs__cl_begin(px->cl, shs__cl_source_totals, " -D ELEM=wide", "gather");
    shs__cl_pass_buffer(&call, partial);
    shs__cl_pass_int(&call, (int)count);
    shs__cl_pass_int(&call, more);
    shs__cl_pass_buffer(&call, t->total);
    shs__cl_pass_buffer(&call, t->lost);
    return shs__cl_launch(&call, t->size, SHS__CL_ADD_ITEMS, 1, 1, "gather");
}

SHS__PRIVATE shs_status shs__cl_totals_end(shs__cl_pixels *px, const shs__cl_totals *t, shs_wide *sums) {
    shs_status status = shs__cl_read_values(px, t->total, t->size, sums, 0);
    if (status == SHS_OK && !px->cl->has_double) status = shs__cl_read_values(px, t->lost, t->size, sums, 1);
    return status;
}

/* ---- products: A A' over pixels ----------------------------------------------------------------------------------- */

/* Planes of pixels: row r begins at from + r ld. */
typedef struct shs__cl_planes {
    cl_mem buffer;
    size_t from, ld;
    int rows;
} shs__cl_planes;

/* Passes planes as three arguments. */
SHS__PRIVATE void shs__cl_pass_planes(shs__cl_call *call, const shs__cl_planes *a) {
    shs__cl_pass_buffer(call, a->buffer);
    shs__cl_pass_size(call, a->from);
    shs__cl_pass_size(call, a->ld);
}

typedef struct shs__cl_tiling {
    int precise;
    int r; /* tiles of 16 r x 16 r of the lower triangle; 0: an array of diagonals, in blocks of 8 x 8 */
    int rows;
    size_t tiles; /* or blocks */
} shs__cl_tiling;

enum { SHS__CL_DIAGONALS_ROWS = 64 }; /* at most */

SHS__PRIVATE size_t shs__cl_count_tiles(int rows, int edge) {
    size_t n = (size_t)(rows + edge - 1) / (size_t)edge;
    return n * (n + 1) / 2;
}

/* Whether double matrix units make the tiles. */
SHS__PRIVATE int shs__cl_by_units(const shs_cl *cl, const shs__cl_tiling *t) {
    return cl->ways.units64 > 0 && !shs__cl_on_trial(cl) && shs__cl_elem_bytes(cl, t->precise) == sizeof(cl_double);
}

/* Whether diagonals of so many blocks are faster than the tiles. On PoCL 3.1 the 8 or 12 blocks of 25 to 32 rows take three times as
   long as their single tile; other sizes are as on GPUs. */
SHS__PRIVATE int shs__cl_diagonals_pay(const shs_cl *cl, const shs__cl_tiling *t, size_t blocks, double cost_of_tiles) {
    const double speed = 0.67;
    if (cl->ways.is_cpu && t->r == 2 && blocks > 6) return 0;
    return (double)(blocks * 64) / speed < cost_of_tiles;
}

/* Chooses the fastest tile. An item that keeps R x R sums reaches about 0.25, 0.5 and 0.8 of the peak with R 2, 4 and 8. With 8 x 8
   sums of the array of diagonals it reaches 2/3, because it reads more. */
SHS__PRIVATE void shs__cl_tile(const shs_cl *cl, shs__cl_tiling *t) {
    const double speed[3] = {0.25, 0.5, 0.8};
    int i, most = shs__cl_elem_bytes(cl, t->precise) == 8 ? 2 : 3;
    size_t blocks = (size_t)(SHS__CL_DIAGONALS_ACROSS(t->rows) * SHS__CL_DIAGONALS_DOWN(t->rows));
    double best = 0;
    if (cl->options.without & SHS_CL_WITHOUT_REGISTERS) most = 1;
    for (i = 0; i < most; i++) {
        int r = 2 << i;
        size_t tiles = shs__cl_count_tiles(t->rows, SHS__CL_TILE_EDGE(r));
        double cost = (double)(tiles * 256) * (double)(r * r) / speed[i];
        if (i > 0 && !(cost < best)) continue;
        best = cost;
        t->r = r;
        t->tiles = tiles;
    }
    if (t->rows > SHS__CL_DIAGONALS_ROWS || shs__cl_on_trial(cl) || shs__cl_by_units(cl, t)) return;
    if (!shs__cl_diagonals_pay(cl, t, blocks, best)) return;
    t->r = 0;
    t->tiles = blocks;
}

/* Values of a tile or block. */
SHS__PRIVATE size_t shs__cl_tile_values(const shs__cl_tiling *t) { return t->r ? (size_t)(256 * t->r * t->r) : 64; }
SHS__PRIVATE size_t shs__cl_tiling_values(const shs__cl_tiling *t) { return t->tiles * shs__cl_tile_values(t); }

SHS__PRIVATE shs__cl_tiling shs__cl_tiling_of(const shs_cl *cl, int precise, int rows) {
    shs__cl_tiling t;
    t.precise = precise;
    t.rows = rows;
    t.r = 2;
    t.tiles = 1;
    shs__cl_tile(cl, &t);
    return t;
}

/* Bytes of partial sums for each pixel, rounded up. */
SHS__PRIVATE size_t shs__cl_tiling_bytes(const shs_cl *cl, const shs__cl_tiling *t) {
    return shs__cl_tiling_values(t) * shs__cl_elem_bytes(cl, t->precise) / SHS__CL_CHUNK_PIXELS + 1;
}

/* Tiles first .. first + count - 1 of every slice of pixels. */
SHS__PRIVATE shs_status shs__cl_run_tiles(shs__cl_pixels *px, const shs__cl_tiling *t, const shs__cl_planes *a, size_t slices,
                                          size_t first, size_t count, cl_mem partial) {
    shs__cl_build build = shs__cl_elem_build(px->cl, t->precise);
    size_t elem = shs__cl_elem_bytes(px->cl, t->precise), lanes = t->r == 2 ? 2 : 4;
    int items = SHS__CL_ITEMS;
    shs__cl_call call;
    if (px->cl->options.group_items) items = shs__imin(px->cl->options.group_items, 128 * t->r);
    if (items > 64 * t->r) lanes = 2; /* an item has two rows */
    shs__cl_define_trial(px->cl, items, SHS__CL_ITEMS, &build);
    shs__cl_define_int(&build, "R", t->r);
    shs__cl_define(&build, "W", lanes);
    shs__cl_define(&build, "KB", elem == 8 ? 8 : 16);
    call = shs__cl_begin(px->cl, shs__cl_source_moments, build.text, "products");
    shs__cl_pass_planes(&call, a);
    shs__cl_pass_int(&call, a->rows);
    shs__cl_pass_int(&call, (int)first);
    shs__cl_pass_buffer(&call, partial);
    return shs__cl_launch(&call, count, (size_t)items, slices, 1, "products");
}

/* The same by double matrix units; a compiler that does not take their instruction is asked once. */
SHS__PRIVATE shs_status shs__cl_run_units(shs__cl_pixels *px, const shs__cl_tiling *t, const shs__cl_planes *a, size_t slices,
                                          size_t first, size_t count, cl_mem partial) {
    shs_cl *cl = px->cl;
    shs__cl_call call = shs__cl_begin_units(cl, "wide", SHS_TRANS_YES, SHS__CL_TILE_EDGE(t->r), "syrk_units");
    if (call.status == SHS_BUILD_FAILED) {
        cl->ways.units64--;
        return shs__cl_run_tiles(px, t, a, slices, first, count, partial);
    }
    shs__cl_pass_planes(&call, a);
    shs__cl_pass_int(&call, a->rows);
    shs__cl_pass_int(&call, (int)(slices * SHS__CL_CHUNK_PIXELS));
    shs__cl_pass_int(&call, SHS__CL_CHUNK_PIXELS);
    shs__cl_pass_buffer(&call, partial);
    shs__cl_pass_int(&call, (int)first);
    return shs__cl_launch(&call, count, SHS__CL_UNITS_ITEMS, slices, 1, "products");
}

/* A group makes the whole array of diagonals of a slice, as many copies of it as it has work-items for. */
SHS__PRIVATE shs_status shs__cl_run_diagonals(shs__cl_pixels *px, const shs__cl_tiling *t, const shs__cl_planes *a,
                                              size_t slices, cl_mem partial) {
    shs__cl_build b = shs__cl_elem_build(px->cl, t->precise);
    size_t elem = shs__cl_elem_bytes(px->cl, t->precise), deep = elem == 8 ? 16 : 32, parts = 1;
    shs__cl_call call;
    while (2 * parts * t->tiles <= 256 && 2 * parts <= deep) parts *= 2;
    shs__cl_define(&b, "DIAGONALS", 1);
    shs__cl_define_int(&b, "N", t->rows);
    shs__cl_define(&b, "KB", deep);
    shs__cl_define(&b, "PARTS", parts);
    call = shs__cl_begin(px->cl, shs__cl_source_moments, b.text, "diagonals");
    shs__cl_pass_planes(&call, a);
    shs__cl_pass_buffer(&call, partial);
    return shs__cl_launch(&call, slices, t->tiles * parts, 1, 1, "products");
}

/* Adds the products of `padded` pixels in tiles first .. first + count - 1. */
SHS__PRIVATE shs_status shs__cl_products(shs__cl_pixels *px, const shs__cl_tiling *t, const shs__cl_planes *a, size_t padded,
                                         size_t first, size_t count, const shs__cl_totals *totals) {
    size_t slices = padded / SHS__CL_CHUNK_PIXELS, each = shs__cl_tile_values(t);
    cl_mem partial = NULL;
    shs_status status = shs__cl_room(px, SHS__CL_ROOM_PARTIAL,
                                     slices * shs__cl_tiling_values(t) * shs__cl_elem_bytes(px->cl, t->precise), &partial);
    if (status == SHS_OK && t->r && shs__cl_by_units(px->cl, t))
        status = shs__cl_run_units(px, t, a, slices, first, count, partial);
    else if (status == SHS_OK && t->r) status = shs__cl_run_tiles(px, t, a, slices, first, count, partial);
    else if (status == SHS_OK) status = shs__cl_run_diagonals(px, t, a, slices, partial);
    if (status != SHS_OK) return status;
    return shs__cl_totals_add(px, totals, first * each, count * each, partial, slices, t->precise);
}

/* Tiles into the lower triangle of a matrix. */
SHS__PRIVATE void shs__cl_place_tiles(const shs__cl_tiling *t, const shs_wide *tile, shs_wide *P) {
    int edge = SHS__CL_TILE_EDGE(t->r), ti, tj, i, j;
    for (ti = 0; ti * edge < t->rows; ti++)
        for (tj = 0; tj <= ti; tj++) {
            for (i = ti * edge; i < shs__imin((ti + 1) * edge, t->rows); i++)
                for (j = tj * edge; j < shs__imin((tj + 1) * edge, i + 1); j++)
                    *SHS__AT(P, t->rows, i, j) = tile[(i - ti * edge) * edge + (j - tj * edge)];
            tile += edge * edge;
        }
}

/* The blocks of the array of diagonals into the lower triangle: element (c, d) is that of rows c and c + d, around the end. */
SHS__PRIVATE void shs__cl_place_diagonals(const shs__cl_tiling *t, const shs_wide *block, shs_wide *P) {
    int n = t->rows, across = SHS__CL_DIAGONALS_ACROSS(n), b, l, j;
    for (b = 0; b < (int)t->tiles; b++) {
        for (l = 0; l < 8; l++)
            for (j = 0; j < 8; j++) {
                int c = b % across * 8 + l, d = b / across * 8 + j, other = (c + d) % n;
                if (c < n && d <= n / 2) *SHS__AT(P, n, shs__imax(c, other), shs__imin(c, other)) = block[l * 8 + j];
            }
        block += 64;
    }
}

/* The totals as a matrix, its upper triangle 0. */
SHS__PRIVATE shs_status shs__cl_products_end(shs__cl_pixels *px, const shs__cl_tiling *t, const shs__cl_totals *totals,
                                             shs_wide *P) {
    shs_wide *values = (shs_wide *)shs__cl_alloc(px->cl, totals->size * sizeof *values);
    shs_status status = values ? shs__cl_totals_end(px, totals, values) : SHS_NO_MEMORY;
    memset(P, 0, (size_t)t->rows * (size_t)t->rows * sizeof *P);
    if (status == SHS_OK && t->r) shs__cl_place_tiles(t, values, P);
    else if (status == SHS_OK) shs__cl_place_diagonals(t, values, P);
    shs__cl_free(px->cl, values);
    return status;
}

/* ---- slices: to the device ---------------------------------------------------------------------------------------- */

/* The lines at base into packed BIP of the bands in use. */
SHS__PRIVATE void shs__cl_pack(const shs__cl_pixels *px, const shs__cl_slice *s, unsigned char *to) {
    const shs__view *v = &px->view;
    int line, sample, b;
    for (line = 0; line < s->lines; line++)
        for (sample = 0; sample < v->samples; sample++)
            for (b = 0; b < v->used; b++) {
                ptrdiff_t band = px->cube->band_list ? px->cube->band_list[b] : b;
                ptrdiff_t at = (s->first_line + line) * v->ls + sample * v->ss + band * v->bs;
                memcpy(to, (const unsigned char *)px->cube->pixels + at * (ptrdiff_t)v->size, v->size);
                to += v->size;
            }
}

/* Writes the slice's lines of bands first .. last - 1 in use of a BSQ cube in memory. */
SHS__PRIVATE shs_status shs__cl_write_planes(shs__cl_pixels *px, const shs__cl_slice *s, int first, int last, cl_mem raw) {
    const shs__view *v = &px->view;
    const int *list = px->cube->band_list;
    shs_status status = SHS_OK;
    shs__cl_strip r;
    int b, step = list ? 1 : last - first;
    r.width = r.pitch = s->pixels * v->size;
    r.host_pitch = (size_t)v->bs * v->size;
    for (b = first; b < last && status == SHS_OK; b += step) {
        r.rows = (size_t)step;
        r.offset = (size_t)b * r.width;
        r.host = (unsigned char *)(uintptr_t)px->cube->pixels + (size_t)(list ? list[b] : b) * r.host_pitch +
                 (size_t)s->first_line * (size_t)v->ls * v->size;
        status = shs__cl_move(px->cl, px->ctx, 1, raw, &r, 1, 1);
    }
    return status;
}

/* Writes bands in groups with an event each: the covariance of the first groups need not wait for the later ones. */
SHS__PRIVATE shs_status shs__cl_write_groups(shs__cl_pixels *px, const shs__cl_slice *s, int slot, cl_mem raw) {
    shs_status status = SHS_OK;
    int g, first, used = px->view.used;
    g = 0;
    for (first = 0; first < used && status == SHS_OK; first += px->group_bands) {
        shs__cl_forget(px->cl, &px->turn[slot].risen[g]);
        status = shs__cl_write_planes(px, s, first, shs__imin(first + px->group_bands, used), raw);
        if (status == SHS_OK) status = shs__cl_mark(px->cl, 1, &px->turn[slot].risen[g]);
        g++;
    }
    return status;
}

SHS__PRIVATE shs_status shs__cl_write_shift(shs__cl_pixels *px, const shs_real *shift) {
    cl_mem buffer;
    size_t bytes = (size_t)px->view.used * sizeof *shift;
    shs_status status = shs__cl_room(px, SHS__CL_ROOM_SHIFT, bytes, &buffer);
    if (status == SHS_OK) return shs__cl_write(px->cl, 0, buffer, 0, bytes, shift);
    return status;
}

/* The CPU's choice of the shift, from lines at base with the marks of mask_fn (NULL: the cube in memory). */
SHS__OUTLINE shs_status shs__cl_choose_shift(shs__cl_pixels *px, const unsigned char *base, const unsigned char *marks,
                                             int first_line, int lines, shs_real *shift) {
    shs__reader reader;
    shs__layout l = SHS_ZERO;
    shs_status status = SHS_OK;
    shs_wide *mean = NULL;
    int b;
    shs__px_reader_init(&reader, &px->view, 0);
    while (shs__layout_next(px->ctx, &l, &status)) {
        shs__px_reader_layout(&l, &reader, 1);
        mean = SHS__CARVE(&l, shs_wide, (size_t)px->view.used);
    }
    if (status != SHS_OK) return status;
    shs__px_reader_block(&reader, base ? base : (const unsigned char *)px->cube->pixels, first_line, lines);
    if (marks) reader.view.mask = marks;
    if (shs__px_find_shift(&reader, mean)) px->find_shift = NULL;
    for (b = 0; b < px->view.used; b++) shift[b] = (shs_real)mean[b];
    shs__layout_release(px->ctx, &l);
    return SHS_OK;
}

/* A stream's next lines, or those of a cube with odd strides, by way of pinned memory. */
SHS__PRIVATE shs_status shs__cl_stage(shs__cl_pixels *px, shs__cl_slice *s, int slot, cl_mem raw) {
    const shs_cube *c = px->cube;
    shs_status status = shs__cl_wait(px->cl, px->turn[slot].arrived); /* what was in the staging has gone */
    if (status != SHS_OK) return status;
    shs__cl_forget(px->cl, &px->turn[slot].arrived);
    if (px->packed) shs__cl_pack(px, s, px->turn[slot].staging);
    else status = shs__px_fetch(c, s->first_line, s->lines, px->turn[slot].staging, px->turn[slot].marks);
    if (status == SHS_OK && px->find_shift) {
        shs_real *shift = px->find_shift;
        status = shs__cl_choose_shift(px, px->turn[slot].staging, px->turn[slot].marks, s->first_line, s->lines, shift);
        if (status == SHS_OK && !px->find_shift) status = shs__cl_write_shift(px, shift);
    }
    if (status != SHS_OK) return status;
    return shs__cl_write_later(px->cl, 1, raw, 0, s->pixels * (size_t)px->bands * px->view.size, px->turn[slot].staging);
}

/* Where transfers and kernels are not to overlap: waits for the queue. */
SHS__PRIVATE shs_status shs__cl_one_by_one(shs_cl *cl, int queue) {
    if (cl->options.without & SHS_CL_WITHOUT_OVERLAP) return shs__cl_finish(cl, queue);
    return SHS_OK;
}

/* Sets slice i on its way; returns at once where the driver does. */
SHS__PRIVATE shs_status shs__cl_bring(shs__cl_pixels *px, int i) {
    shs__cl_slice *s = px->slices + i;
    shs_cl *cl = px->cl;
    int slot = i & 1;
    cl_mem raw = px->kept ? s->raw : px->turn[slot].raw;
    shs_status status = SHS_OK;
    if (s->loaded) return SHS_OK;
    if (!px->kept) status = shs__cl_after(cl, 1, px->turn[slot].done);
    if (status != SHS_OK) return status;
    if (px->turn[0].staging) status = shs__cl_stage(px, s, slot, raw);
    else if (px->layout == SHS_INTERLEAVE_BSQ) status = shs__cl_write_groups(px, s, slot, raw);
    else {
        const size_t before = (size_t)s->first_line * (size_t)px->view.ls * px->view.size;
        const unsigned char *from = (const unsigned char *)px->cube->pixels + before;
        const shs__cl_strip r = shs__cl_columns(s->pixels * (size_t)px->bands, 1, px->view.size, from, 0);
        status = shs__cl_move(cl, px->ctx, 1, raw, &r, 1, 1);
    }
    if (status != SHS_OK) return status;
    shs__cl_forget(cl, &px->turn[slot].arrived);
    status = shs__cl_mark(cl, 1, &px->turn[slot].arrived);
    s->loaded = px->kept;
    if (status == SHS_OK) return shs__cl_one_by_one(cl, 1);
    return status;
}

/* ---- a pass: slices, panels --------------------------------------------------------------------------------------- */

struct shs__cl_pixel_pass;

/* One panel of the slice at hand: `count` pixels from `at` on, `padded` with those that fill up the last chunk. Bands
   pass->first .. pass->last - 1 have just been loaded. */
typedef shs_status (*shs__cl_panel_fn)(shs__cl_pixels *px, struct shs__cl_pixel_pass *pass, const shs__cl_slice *s,
                                       size_t at, int count, size_t padded);
/* After the last panel of a slice. */
typedef shs_status (*shs__cl_slice_fn)(shs__cl_pixels *px, struct shs__cl_pixel_pass *pass, const shs__cl_slice *s);

typedef struct shs__cl_pixel_pass {
    const char *phase;
    int precise, difference;
    int direct;         /* the panel function reads the slice itself: nothing is loaded, and sums stay 0 */
    int step;           /* bands to load before the panel function is called; 0 = all */
    int first, last;    /* these bands */
    size_t pixel_bytes; /* of panels and of the results computed from panels, for each pixel */
    shs__cl_panel_fn panel;
    shs__cl_slice_fn slice; /* may be NULL */
    void *job;
    shs__cl_build build;         /* of pixels.cl */
    cl_mem shift, raw, X, valid; /* raw: the slice at hand; valid: NULL = none is missing */
    size_t ld;
    int index;           /* of the slice at hand */
    shs__cl_totals sums; /* of every band, then the number of pixels */
} shs__cl_pixel_pass;

SHS__PRIVATE size_t shs__cl_pad(size_t pixels) {
    return (pixels + SHS__CL_CHUNK_PIXELS - 1) / SHS__CL_CHUNK_PIXELS * SHS__CL_CHUNK_PIXELS;
}

/* Pixels of a panel: whole chunks, at most `pixels`, within the budget. */
SHS__PRIVATE size_t shs__cl_panel_pixels(const shs__cl_pixels *px, size_t pixel_bytes, size_t pixels) {
    size_t most = px->budget / pixel_bytes / SHS__CL_CHUNK_PIXELS * SHS__CL_CHUNK_PIXELS;
    return shs__zmin(shs__cl_pad(pixels), shs__zmax(most, SHS__CL_CHUNK_PIXELS));
}

SHS__PRIVATE int shs__cl_checked(const shs__cl_pixels *px) { return shs__px_may_miss(&px->view); }

/* Whether values are 32-bit integers, of which the device's largest type holds the upper 24 bits. */
SHS__PRIVATE int shs__cl_splits(const shs__cl_pixels *px) {
    return !px->cl->has_double && (px->cube->type == SHS_TYPE_I32 || px->cube->type == SHS_TYPE_U32);
}

/* Whether a value of a cube of 32-bit integers can be the one that says missing. */
SHS__PRIVATE int shs__cl_can_equal(const shs__cl_pixels *px) {
    const shs_wide x = px->view.nodata;
    const int is_signed = px->cube->type == SHS_TYPE_I32;
    if (is_signed && !(x >= -(shs_wide)2147483648.0 && x < (shs_wide)2147483648.0)) return 0;
    if (!is_signed && !(x >= 0 && x < (shs_wide)4294967296.0)) return 0;
    return (shs_wide)(int64_t)x == x;
}

/* The value that says missing as the kernel compares it. */
SHS__PRIVATE void shs__cl_pass_nodata(shs__cl_call *call, const shs__cl_pixels *px) {
    const shs_wide nodata = px->cube->has_nodata ? px->view.nodata : 0;
    if (!shs__cl_splits(px)) shs__cl_pass_wide(call, nodata);
    else if (!shs__cl_can_equal(px)) shs__cl_pass_uint(call, 0); /* it is not compared */
    else shs__cl_pass_uint(call, (size_t)((uint64_t)(int64_t)nodata & UINT32_MAX));
}

/* What cube.h wants to know. */
SHS__PRIVATE void shs__cl_define_cube(const shs__cl_pixels *px, shs__cl_build *b) {
    static const char *const names[SHS_TYPE_COUNT] = {"real", "uchar", "short", "ushort", "int", "uint", "float", "double"};
    shs_type type = px->cube->type;
    shs__cl_define_as(b, "VALUE", names[type]);
    shs__cl_define_as(b, "WORK", type == SHS_TYPE_I32 || type == SHS_TYPE_U32 || type == SHS_TYPE_F64 ? "wide" : "ELEM");
    shs__cl_define_int(b, "SPLIT", shs__cl_splits(px));
    shs__cl_define(b, "BYTES", px->view.size);
    shs__cl_define(b, "SWAP", px->cube->swap_bytes != 0);
    shs__cl_define_int(b, "FROM", (int)px->layout);
}

SHS__PRIVATE shs__cl_build shs__cl_load_build(const shs__cl_pixels *px, const shs__cl_pixel_pass *pass) {
    shs__cl_build b = shs__cl_elem_build(px->cl, pass->precise);
    shs__cl_define_cube(px, &b);
    shs__cl_define_int(&b, "FLOATING", px->view.floating);
    shs__cl_define(&b, "NODATA", px->cube->has_nodata && (!shs__cl_splits(px) || shs__cl_can_equal(px)));
    shs__cl_define_int(&b, "CHECKED", shs__cl_checked(px));
    shs__cl_define_int(&b, "DIFFERENCE", pass->difference);
    return b;
}

/* A byte for every pixel of the slice. */
SHS__PRIVATE shs_status shs__cl_validity(shs__cl_pixels *px, shs__cl_pixel_pass *pass, const shs__cl_slice *s) {
    shs_cl *cl = px->cl;
    const cl_uint ones = 0x01010101u;
    const unsigned char *mask = px->turn[pass->index & 1].marks;
    shs__cl_call call;
    shs_status status = shs__cl_room(px, SHS__CL_ROOM_VALID, shs__cl_pad(px->slices[0].pixels), &pass->valid);
    if (px->cube->mask) mask = px->cube->mask + (size_t)s->first_line * (size_t)px->view.samples;
    if (status == SHS_OK && mask) status = shs__cl_write(cl, 0, pass->valid, 0, s->pixels, mask);
    else if (status == SHS_OK)
        status = shs__cl_check(cl, SHS__CL(clEnqueueFillBuffer)(cl->queue[0], pass->valid, &ones, sizeof ones, 0,
                                                                s->padded, 0, NULL, NULL));
    if (status != SHS_OK) return status;
    call = shs__cl_begin(cl, shs__cl_source_pixels, pass->build.text, "validity");
    shs__cl_pass_buffer(&call, pass->raw);
    shs__cl_pass_size(&call, s->origin);
    shs__cl_pass_buffer(&call, px->room[SHS__CL_ROOM_LIST]);
    shs__cl_pass_buffer(&call, pass->shift);
    shs__cl_pass_buffer(&call, pass->valid);
    shs__cl_pass_size(&call, s->pixels);
    shs__cl_pass_size(&call, s->plane);
    shs__cl_pass_int(&call, px->view.samples);
    shs__cl_pass_int(&call, px->bands);
    shs__cl_pass_int(&call, px->view.used);
    shs__cl_pass_nodata(&call, px);
    return shs__cl_launch(&call, shs__ctx_chunks(s->pixels, 128), 128, 1, 1, "validity");
}

/* Bands pass->first .. pass->last - 1, with the last of all also the constant that counts pixels. */
SHS__PRIVATE shs_status shs__cl_load_panel(shs__cl_pixels *px, shs__cl_pixel_pass *pass, const shs__cl_slice *s, size_t at,
                                           int count, size_t padded) {
    size_t chunks = padded / SHS__CL_CHUNK_PIXELS, rows = (size_t)px->view.used + 1;
    int complete = pass->last == px->view.used;
    size_t here = (size_t)(pass->last - pass->first + complete);
    cl_mem sums = NULL;
    shs__cl_call call;
    shs_status status = shs__cl_room(px, SHS__CL_ROOM_CHUNK_SUMS,
                                     pass->ld / SHS__CL_CHUNK_PIXELS * rows * shs__cl_wide_size(px->cl), &sums);
    if (status != SHS_OK) return status;
    call = shs__cl_begin(px->cl, shs__cl_source_pixels, pass->build.text, "load");
    shs__cl_pass_buffer(&call, pass->raw);
    shs__cl_pass_size(&call, s->origin);
    shs__cl_pass_buffer(&call, px->room[SHS__CL_ROOM_LIST]);
    shs__cl_pass_buffer(&call, pass->shift);
    shs__cl_pass_buffer(&call, pass->valid);
    shs__cl_pass_buffer(&call, pass->X);
    shs__cl_pass_buffer(&call, sums);
    shs__cl_pass_size(&call, at);
    shs__cl_pass_int(&call, count);
    shs__cl_pass_size(&call, s->plane);
    shs__cl_pass_int(&call, px->view.samples);
    shs__cl_pass_int(&call, px->bands);
    shs__cl_pass_int(&call, px->view.used);
    shs__cl_pass_int(&call, pass->first);
    shs__cl_pass_int(&call, (int)pass->ld);
    status = shs__cl_launch(&call, chunks, SHS__CL_ITEMS,
                            px->layout == SHS_INTERLEAVE_BIP ? shs__ctx_chunks(here, SHS__CL_BIP_BANDS) : here, 1, "load");
    if (status == SHS_OK && complete) return shs__cl_totals_add(px, &pass->sums, 0, rows, sums, chunks, SHS__CL_WIDES);
    return status;
}

/* A panel: as soon as a step's bands are there, they are loaded and used. */
SHS__PRIVATE shs_status shs__cl_pass_panel(shs__cl_pixels *px, shs__cl_pixel_pass *pass, const shs__cl_slice *s, size_t at) {
    size_t count = shs__zmin(pass->ld, s->pixels - at), padded = shs__cl_pad(count);
    int used = px->view.used, step = pass->step ? pass->step : used;
    shs_status status = SHS_OK;
    for (pass->first = 0; pass->first < used && status == SHS_OK; pass->first = pass->last) {
        pass->last = shs__imin(pass->first + step, used);
        if (pass->step) status = shs__cl_after(px->cl, 0, px->turn[pass->index & 1].risen[(pass->last - 1) / px->group_bands]);
        if (status == SHS_OK && !pass->direct) status = shs__cl_load_panel(px, pass, s, at, (int)count, padded);
        if (status == SHS_OK && pass->panel) status = pass->panel(px, pass, s, at, (int)count, padded);
    }
    return status;
}

SHS__PRIVATE shs_status shs__cl_pass_slice(shs__cl_pixels *px, shs__cl_pixel_pass *pass, const shs__cl_slice *s) {
    shs_status status = SHS_OK;
    size_t at;
    pass->valid = NULL;
    if (px->kept) pass->raw = s->raw;
    else pass->raw = px->turn[pass->index & 1].raw;
    if (shs__cl_checked(px)) status = shs__cl_validity(px, pass, s);
    for (at = 0; at < s->pixels && status == SHS_OK; at += pass->ld) status = shs__cl_pass_panel(px, pass, s, at);
    if (status == SHS_OK && pass->slice) return pass->slice(px, pass, s);
    return status;
}

SHS__PRIVATE shs_status shs__cl_pass_run(shs__cl_pixels *px, shs__cl_pixel_pass *pass) {
    shs_cl *cl = px->cl;
    size_t elem = shs__cl_elem_bytes(cl, pass->precise), pixels = (size_t)px->view.lines * (size_t)px->view.samples,
           done = 0;
    /* Where the host copies the pixels itself, the work on one slice is enqueued before the next slice is copied. */
    int i, late = px->cube->pixels && !px->packed && shs__cl_staged(cl, px->cube->pixels, px->slice_bytes);
    shs_status status = SHS_OK;
    if (pass->precise && elem != sizeof(shs_wide)) return SHS_UNSUPPORTED;
    pass->build = shs__cl_load_build(px, pass);
    if (!pass->direct) pass->pixel_bytes += (size_t)px->view.used * elem;
    pass->ld = shs__cl_panel_pixels(px, pass->pixel_bytes, px->slices[0].pixels);
    status = shs__cl_bring(px, 0); /* on its way while memory is found */
    if (status == SHS_OK && !pass->direct)
        status = shs__cl_room(px, SHS__CL_ROOM_PANEL, pass->ld * (size_t)px->view.used * elem, &pass->X);
    if (status == SHS_OK) status = shs__cl_totals_begin(px, SHS__CL_ROOM_SUMS, (size_t)px->view.used + 1, &pass->sums);
    for (i = 0; i < px->slice_count && status == SHS_OK; i++) {
        shs__cl_slice *s = px->slices + i;
        cl_event arrived = px->turn[i & 1].arrived;
        pass->index = i;
        if (i + 1 < px->slice_count && !late) status = shs__cl_bring(px, i + 1);
        if (status == SHS_OK && arrived && !pass->step) status = shs__cl_after(cl, 0, arrived);
        if (status == SHS_OK) status = shs__cl_pass_slice(px, pass, s);
        if (status == SHS_OK) status = shs__cl_one_by_one(cl, 0);
        shs__cl_forget(cl, &px->turn[i & 1].done);
        if (status == SHS_OK) status = shs__cl_mark(cl, 0, &px->turn[i & 1].done);
        if (status == SHS_OK && i + 1 < px->slice_count && late) status = shs__cl_bring(px, i + 1);
        done += s->pixels;
        if (status == SHS_OK) status = shs__ctx_progress(px->ctx, pass->phase, done, pixels, -1);
    }
    return status;
}

/* ---- open and close ----------------------------------------------------------------------------------------------- */

/* Releases the whitened pixels. Slices share a buffer, and the first slice of a buffer releases it. */
SHS__PRIVATE void shs__cl_drop_white(shs__cl_pixels *px) {
    int i;
    for (i = 0; px->slices && i < px->slice_count; i++) {
        if (px->slices[i].z_at == 0) shs__cl_release(px->cl, &px->slices[i].z);
        px->slices[i].z = NULL;
    }
}

SHS__PRIVATE void shs__cl_pixels_close(void *session) {
    shs__cl_pixels *px = (shs__cl_pixels *)session;
    shs_cl *cl = px->cl;
    int i, g;
    shs__cl_finish(cl, 1); /* the caller's pixels are read until then */
    shs__cl_finish(cl, 0);
    for (i = 0; i < SHS__CL_ROOMS; i++) shs__cl_release(cl, px->room + i);
    shs__cl_drop_white(px);
    for (i = 0; px->slices && i < px->slice_count && !px->whole; i++) shs__cl_release(cl, &px->slices[i].raw);
    shs__cl_release(cl, &px->whole);
    for (i = 0; i < 2; i++) {
        shs__cl_release(cl, &px->turn[i].raw);
        if (px->turn[i].staging) shs_cl_host_free(cl, px->turn[i].staging);
        shs__cl_free(cl, px->turn[i].marks);
        shs__cl_forget(cl, &px->turn[i].arrived);
        shs__cl_forget(cl, &px->turn[i].done);
        shs__cl_forget(cl, &px->turn[i].fetched);
        for (g = 0; g < SHS__CL_BAND_GROUPS; g++) shs__cl_forget(cl, &px->turn[i].risen[g]);
    }
    shs__cl_free(cl, px->slices);
    shs__cl_free(cl, px);
}

/* How the slices lie on the device; packed where the cube's strides are none of the three interleaves'. */
SHS__PRIVATE void shs__cl_choose_layout(shs__cl_pixels *px) {
    const shs__view *v = &px->view;
    ptrdiff_t S = v->samples, L = v->lines, B = v->bands;
    px->bands = v->bands;
    px->layout = px->cube->interleave;
    if (px->cube->pixels) {
        if (v->ss == 1 && v->ls == S && v->bs >= S * L) px->layout = SHS_INTERLEAVE_BSQ;
        else if (v->ss == 1 && v->bs == S && v->ls == S * B) px->layout = SHS_INTERLEAVE_BIL;
        else if (v->bs == 1 && v->ss == B && v->ls == S * B) px->layout = SHS_INTERLEAVE_BIP;
        else px->packed = 1;
    }
    if (px->packed) {
        px->layout = SHS_INTERLEAVE_BIP;
        px->bands = v->used;
    }
}

/* Whether the device may read (or write) the values in the host's memory: they must share memory, and values must be aligned. */
SHS__PRIVATE int shs__cl_in_place(const shs_cl *cl, const void *values, size_t size, size_t bytes) {
    return cl->about.unified && values && (uintptr_t)values % size == 0 && bytes <= cl->about.max_alloc;
}

/* The caller's pixels as a buffer: nothing is copied then. Where the driver refuses they are copied all the same. */
SHS__PRIVATE void shs__cl_wrap_cube(shs__cl_pixels *px) {
    const shs__view *v = &px->view;
    size_t line = (size_t)v->samples * v->size, plane = (size_t)v->lines * line, bytes = plane * (size_t)v->bands;
    int groups = (v->used + 32 * SHS__CL_BAND_GROUPS - 1) / (32 * SHS__CL_BAND_GROUPS);
    if (px->layout == SHS_INTERLEAVE_BSQ && px->cube->pixels) bytes = (size_t)v->bs * v->size * (size_t)(v->bands - 1) + plane;
    if (!px->packed && shs__cl_in_place(px->cl, px->cube->pixels, v->size, bytes))
        (void)shs__cl_wrap(px->cl, bytes, (void *)(uintptr_t)px->cube->pixels, &px->whole);
    if (!px->whole && px->layout == SHS_INTERLEAVE_BSQ && px->cube->pixels) {
        px->bands = v->used;
        px->group_bands = 32 * groups;
    }
}

/* Lines of the slice that begins with line `at`. The last ones of a cube that stays become smaller and smaller: what is left
   to do when the last has arrived is little. */
SHS__PRIVATE int shs__cl_slice_lines(const shs__cl_pixels *px, int at, int most) {
    size_t few = ((size_t)8 << 20) / ((size_t)px->view.samples * (size_t)px->bands * px->view.size) + 1;
    int rest = px->view.lines - at, least = shs__imax(most / 8, (int)shs__zmin(few, (size_t)px->view.lines));
    if (px->kept && rest < 2 * most) rest = shs__imin(rest, shs__imax(rest / 2, least));
    return shs__imin(rest, most); /* none is larger than the first, for which the rooms are made */
}

SHS__PRIVATE shs_status shs__cl_cut(shs__cl_pixels *px) {
    const shs__view *v = &px->view;
    shs_cl *cl = px->cl;
    size_t line = (size_t)v->samples * (size_t)px->bands * v->size,
           room = shs__zmin(shs__cl_left(cl), SIZE_MAX / 2);
    size_t most = shs__zmin(SHS__CL_SLICE_BYTES, shs__zmin(room / 32, cl->about.max_alloc));
    int lines = px->cube->pixels ? (int)shs__zmin(shs__zmax(most / line, 1), (size_t)v->lines) : v->block_lines, i, at;
    px->slice_bytes = line * (size_t)lines;
    px->kept = px->whole || (px->cube->pixels && line * (size_t)v->lines <= room / 2);
    px->budget = shs__zmin(SHS__CL_PANEL_BYTES, room / 8);
    for (at = 0; at < v->lines; at += shs__cl_slice_lines(px, at, lines)) px->slice_count++;
    px->slices = (shs__cl_slice *)shs__cl_alloc(cl, (size_t)px->slice_count * sizeof *px->slices);
    if (!px->slices) return SHS_NO_MEMORY;
    at = 0;
    for (i = 0; i < px->slice_count; i++) {
        shs__cl_slice *s = px->slices + i;
        s->first_line = at;
        s->lines = shs__cl_slice_lines(px, at, lines);
        s->pixels = (size_t)s->lines * (size_t)v->samples;
        s->padded = shs__cl_pad(s->pixels);
        if (px->whole) {
            s->plane = (size_t)v->bs;
            s->origin = (size_t)at * (size_t)v->ls;
        } else {
            s->plane = s->pixels;
            s->origin = 0;
        }
        s->raw = px->whole;
        s->loaded = px->whole != NULL;
        at += s->lines;
    }
    if (px->slices[0].padded > (size_t)INT32_MAX) return SHS_UNSUPPORTED;
    return SHS_OK;
}

SHS__PRIVATE shs_status shs__cl_pixels_memory(shs__cl_pixels *px) {
    shs_cl *cl = px->cl;
    size_t bytes = (size_t)px->view.used * sizeof(cl_int);
    cl_int *list = (cl_int *)shs__cl_alloc(cl, bytes);
    cl_mem buffer = NULL;
    shs_status status = list ? SHS_OK : SHS_NO_MEMORY;
    int i, in_order = px->packed || px->group_bands;
    for (i = 0; list && i < px->view.used; i++) list[i] = px->cube->band_list && !in_order ? px->cube->band_list[i] : i;
    if (status == SHS_OK) status = shs__cl_room(px, SHS__CL_ROOM_LIST, bytes, &buffer);
    if (status == SHS_OK) status = shs__cl_write(cl, 0, buffer, 0, bytes, list);
    shs__cl_free(cl, list);
    for (i = 0; px->kept && !px->whole && i < px->slice_count && status == SHS_OK; i++)
        status = shs__cl_buffer(cl, px->slices[i].pixels * (size_t)px->bands * px->view.size, &px->slices[i].raw);
    for (i = 0; i < 2 && status == SHS_OK; i++) {
        if (!px->kept) status = shs__cl_buffer(cl, px->slice_bytes, &px->turn[i].raw);
        if (!px->packed && px->cube->pixels) continue;
        px->turn[i].staging = (unsigned char *)shs_cl_host_alloc(cl, px->slice_bytes);
        if (px->cube->mask_fn) px->turn[i].marks = (unsigned char *)shs__cl_alloc(cl, px->slices[0].pixels);
        if (!px->turn[i].staging || (px->cube->mask_fn && !px->turn[i].marks)) status = SHS_NO_MEMORY;
    }
    return status;
}

SHS__PRIVATE shs_status shs__cl_pixels_open(void *user, const shs_context *ctx, const shs_cube *cube, void **session) {
    shs_cl *cl = (shs_cl *)user;
    shs__cl_pixels *px;
    shs_status status;
    *session = NULL;
    if (cube->type > SHS_TYPE_F64) return SHS_UNSUPPORTED; /* 16 bits: the CPU's */
    if (cube->type == SHS_TYPE_F64 && !cl->has_double) return SHS_UNSUPPORTED;
    if (cl->about.max_group < SHS__CL_ITEMS) return SHS_UNSUPPORTED;
    px = (shs__cl_pixels *)shs__cl_alloc(cl, sizeof *px);
    if (!px) return SHS_NO_MEMORY;
    px->cl = cl;
    px->ctx = ctx;
    px->cube = cube;
    status = shs__px_view_open(cube, &px->view);
    if (status == SHS_OK) shs__cl_choose_layout(px);
    if (status == SHS_OK) shs__cl_wrap_cube(px);
    if (status == SHS_OK) status = shs__cl_cut(px);
    if (status == SHS_OK) status = shs__cl_pixels_memory(px);
    if (status == SHS_OK) *session = px;
    else shs__cl_pixels_close(px);
    return status;
}

/* ---- moments and noise -------------------------------------------------------------------------------------------- */

typedef struct shs__cl_products_job {
    shs__cl_tiling tiling;
    shs__cl_totals totals;
} shs__cl_products_job;

SHS__PRIVATE shs_status shs__cl_moments_panel(shs__cl_pixels *px, shs__cl_pixel_pass *pass, const shs__cl_slice *s,
                                              size_t at, int count, size_t padded) {
    shs__cl_products_job *job = (shs__cl_products_job *)pass->job;
    size_t first = 0, end = job->tiling.tiles;
    shs__cl_planes a;
    (void)s;
    (void)at;
    (void)count;
    a.buffer = pass->X;
    a.from = 0;
    a.ld = pass->ld;
    a.rows = px->view.used;
    if (pass->step) { /* the rows of tiles that end with the bands loaded last */
        first = shs__cl_count_tiles(pass->first, pass->step);
        end = shs__cl_count_tiles(pass->last, pass->step);
    }
    return shs__cl_products(px, &job->tiling, &a, padded, first, end - first, &job->totals);
}

/* What moments and noise share. sums: the number of pixels (or pairs), used sums, used x used products. */
SHS__PRIVATE shs_status shs__cl_gram_pass(shs__cl_pixels *px, const char *phase, int precise, int difference,
                                          shs_wide *sums) {
    shs__cl_products_job job;
    shs__cl_pixel_pass pass;
    int n = px->view.used;
    shs_status status;
    memset(&pass, 0, sizeof pass);
    job.tiling = shs__cl_tiling_of(px->cl, precise, n);
    pass.phase = phase;
    pass.precise = precise;
    pass.difference = difference;
    pass.panel = shs__cl_moments_panel;
    pass.job = &job;
    pass.pixel_bytes = shs__cl_tiling_bytes(px->cl, &job.tiling);
    if (px->group_bands && !shs__cl_checked(px)) pass.step = SHS__CL_TILE_EDGE(job.tiling.r);
    pass.shift = px->room[SHS__CL_ROOM_SHIFT];
    status = shs__cl_totals_begin(px, SHS__CL_ROOM_PRODUCTS, shs__cl_tiling_values(&job.tiling), &job.totals);
    if (status == SHS_OK) status = shs__cl_pass_run(px, &pass);
    if (status == SHS_OK) status = shs__cl_totals_end(px, &pass.sums, sums + 1); /* the count is the last of them */
    if (status == SHS_OK) sums[0] = sums[1 + n];
    if (status == SHS_OK) return shs__cl_products_end(px, &job.tiling, &job.totals, sums + 1 + n);
    return status;
}

/* ---- moments of 8-bit pixels: whole numbers, from the slice itself ------------------------------------------------ */

/* cl->bytes: how byte_products multiplies: by matrix units, by dp4a (NVIDIA's cards from 2016 on), by cl_khr_integer_dot_product,
   in plain C, or not at all, when the float panel is used. Times in ms, a dash where the device lacks the instruction:

                                                               matrix units   dp4a   dot product   plain C   float panel
       H200, 224 bands, 5.4 M pixels in BIP, pinned memory        23           23         -           31          47
       the same with the pixels on the device                      -            -         -           28          21
       Intel's runtime for processors, 127 bands, 8,192 pixels     -            -        126          80         195

   The upload takes 22 of the first row. Intel's runtime reports an instruction for dot products, and is slower by it. On PoCL 3.1
   plain C is as fast as the float panel with 100 bands, and takes 100 times as long with 2. */
enum { SHS__CL_BYTES_MMA = 0, SHS__CL_BYTES_DP4A, SHS__CL_BYTES_DOT, SHS__CL_BYTES_PLAIN, SHS__CL_BYTES_NOT };

/* From cl->bytes on the first that the device has. */
SHS__PRIVATE int shs__cl_bytes_way(const shs_cl *cl) {
    int way = cl->bytes;
    if (way < SHS__CL_BYTES_DOT && !cl->ways.ptx) way = SHS__CL_BYTES_DOT;
    if (way == SHS__CL_BYTES_DOT && (!cl->ways.dot_products || cl->ways.is_cpu)) way = SHS__CL_BYTES_PLAIN;
    return way;
}

SHS__PRIVATE shs__cl_call shs__cl_begin_bytes(const shs__cl_pixels *px) {
    const int way = shs__cl_bytes_way(px->cl);
    shs__cl_build b = SHS_ZERO;
    shs__cl_define(&b, "MMA", way == SHS__CL_BYTES_MMA);
    if (way == SHS__CL_BYTES_DP4A) shs__cl_define(&b, "DOT4", 1);
    if (way == SHS__CL_BYTES_DOT) shs__cl_append(b.text, sizeof b.text, " -cl-std=CL3.0 -D DOT4=2"); /* the extension is of 3.0 */
    shs__cl_define_int(&b, "FROM", (int)px->layout);
    return shs__cl_begin(px->cl, shs__cl_source_bytes, b.text, "byte_products");
}

/* Bytes from the first of a slice to behind its last. The planes of a cube that is read in place are those of the whole image. */
SHS__PRIVATE uint64_t shs__cl_reach(const shs__cl_pixels *px) {
    const shs__cl_slice *s = px->slices;
    const uint64_t bands = (uint64_t)px->bands, pixels = (uint64_t)s->pixels;
    if (px->layout == SHS_INTERLEAVE_BSQ) return (uint64_t)s->plane * (bands - 1) + pixels;
    return pixels * bands;
}

/* Whether plain C is worth it: for many bands where device and host share memory, as few leave most of its tile of 128 bands empty;
   elsewhere while pixels come up, which hides it. */
SHS__PRIVATE int shs__cl_plain_pays(const shs__cl_pixels *px) {
    const shs_cl *cl = px->cl;
    if (cl->test.plain_bytes) return 1;
    if (cl->about.unified) return px->view.used > 96;
    return !px->slices[0].loaded;
}

/* *can: whether byte_products can be used. A compiler that refuses an instruction is asked for it only once. */
SHS__PRIVATE shs_status shs__cl_by_bytes(shs__cl_pixels *px, int *can) {
    shs_cl *cl = px->cl;
    shs_status status;
    int way;
    *can = 0;
    if (shs__cl_on_trial(cl) || px->cube->type != SHS_TYPE_U8 || shs__cl_checked(px) || !cl->has_double) return SHS_OK;
    if (px->by_panels || shs__cl_reach(px) > UINT32_MAX) return SHS_OK; /* the kernel counts bytes in 32 bits */
    for (way = shs__cl_bytes_way(cl); way != SHS__CL_BYTES_NOT; way = shs__cl_bytes_way(cl)) {
        if (way == SHS__CL_BYTES_PLAIN && !shs__cl_plain_pays(px)) return SHS_OK;
        status = shs__cl_begin_bytes(px).status;
        *can = status == SHS_OK;
        if (status != SHS_BUILD_FAILED) return status;
        cl->bytes = way + 1;
    }
    return SHS_OK;
}

SHS__PRIVATE shs_status shs__cl_byte_panel(shs__cl_pixels *px, shs__cl_pixel_pass *pass, const shs__cl_slice *s, size_t at,
                                           int count, size_t padded) {
    shs__cl_products_job *job = (shs__cl_products_job *)pass->job;
    size_t groups = shs__ctx_chunks((size_t)count, SHS__CL_BYTE_PIXELS);
    cl_mem partial = NULL;
    shs__cl_call call;
    shs_status status = shs__cl_room(px, SHS__CL_ROOM_PARTIAL,
                                     shs__ctx_chunks(pass->ld, SHS__CL_BYTE_PIXELS) * job->totals.size * sizeof(cl_int), &partial);
    (void)padded;
    if (status != SHS_OK) return status;
    call = shs__cl_begin_bytes(px);
    shs__cl_pass_buffer(&call, pass->raw);
    shs__cl_pass_size(&call, s->origin);
    shs__cl_pass_buffer(&call, px->room[SHS__CL_ROOM_LIST]);
    shs__cl_pass_size(&call, at);
    shs__cl_pass_int(&call, count);
    shs__cl_pass_size(&call, s->plane);
    shs__cl_pass_int(&call, px->view.samples);
    shs__cl_pass_int(&call, px->bands);
    shs__cl_pass_int(&call, px->view.used);
    shs__cl_pass_buffer(&call, partial);
    status = shs__cl_launch(&call, job->tiling.tiles, SHS__CL_ITEMS, groups, 1, "products");
    if (status != SHS_OK) return status;
    return shs__cl_totals_add(px, &job->totals, 0, job->totals.size, partial, groups, SHS__CL_INTS);
}

/* From the products of x and 1 to the sums about the shift c: sum (x_i - c_i)(x_j - c_j) = S_ij - c_i s_j - c_j s_i + N c_i c_j.
   The differences are taken once, in wide, from exact sums. */
SHS__PRIVATE void shs__cl_about_shift(int n, const shs_wide *S, const shs_real *shift, shs_wide *sums) {
    const shs_wide count = *SHS__AT(S, n + 1, n, n);
    shs_wide *P = sums + 1 + n;
    int i, j;
    sums[0] = count;
    for (i = 0; i < n; i++) sums[1 + i] = *SHS__AT(S, n + 1, n, i) - count * (shs_wide)shift[i];
    memset(P, 0, (size_t)n * (size_t)n * sizeof *P);
    for (j = 0; j < n; j++)
        for (i = j; i < n; i++)
            *SHS__AT(P, n, i, j) = *SHS__AT(S, n + 1, i, j) - (shs_wide)shift[i] * *SHS__AT(S, n + 1, n, j) -
                                   (shs_wide)shift[j] * sums[1 + i];
}

SHS__PRIVATE shs_status shs__cl_byte_moments(shs__cl_pixels *px, const shs_real *shift, shs_wide *sums) {
    shs__cl_products_job job;
    shs__cl_pixel_pass pass;
    int n = px->view.used;
    shs_wide *S = (shs_wide *)shs__cl_alloc(px->cl, SHS__PRODUCT((size_t)n + 1, (size_t)n + 1, sizeof *S));
    shs_status status = S ? SHS_OK : SHS_NO_MEMORY;
    memset(&pass, 0, sizeof pass);
    memset(&job, 0, sizeof job);
    job.tiling.r = SHS__CL_BYTE_TILE / 16;
    job.tiling.rows = n + 1;
    job.tiling.tiles = shs__cl_count_tiles(n + 1, SHS__CL_BYTE_TILE);
    pass.phase = "moments";
    pass.direct = 1;
    pass.panel = shs__cl_byte_panel;
    pass.job = &job;
    pass.pixel_bytes = shs__cl_tiling_values(&job.tiling) * sizeof(cl_int) / SHS__CL_BYTE_PIXELS + 1;
    if (status == SHS_OK) status = shs__cl_totals_begin(px, SHS__CL_ROOM_PRODUCTS, shs__cl_tiling_values(&job.tiling), &job.totals);
    if (status == SHS_OK) status = shs__cl_pass_run(px, &pass);
    if (status == SHS_OK) status = shs__cl_products_end(px, &job.tiling, &job.totals, S);
    if (status == SHS_OK) shs__cl_about_shift(n, S, shift, sums);
    shs__cl_free(px->cl, S);
    return status;
}

/* Proves the kernels of moments. *by_bytes: whether byte_products is among them. After a fault it may no longer be: then the others
   are proved too. */
SHS__PRIVATE shs_status shs__cl_prove_moments(shs__cl_pixels *px, int precise, int *by_bytes) {
    shs__cl_pixel_trial trial = SHS_ZERO;
    shs_status status = shs__cl_by_bytes(px, by_bytes);
    trial.stage = SHS__CL_MOMENTS;
    trial.precise = precise;
    do {
        trial.bytes = *by_bytes;
        if (status == SHS_OK) status = shs__cl_prove_pixels(px, &trial);
        if (status == SHS_OK) status = shs__cl_by_bytes(px, by_bytes);
    } while (status == SHS_OK && *by_bytes != trial.bytes);
    return status;
}

SHS__PRIVATE shs_status shs__cl_pixels_moments(void *session, int precise, int known, shs_real *shift, shs_wide *sums) {
    shs__cl_pixels *px = (shs__cl_pixels *)session;
    int by_bytes = 0;
    shs_status status = shs__cl_prove_moments(px, precise, &by_bytes); /* before the pixels are on their way: see shs__cl_by_bytes */
    if (status != SHS_OK) return status;
    if (!known) memset(shift, 0, (size_t)px->view.used * sizeof *shift);
    px->find_shift = NULL;
    if (px->kept) status = shs__cl_bring(px, 0); /* on its way while the shift is found */
    if (status == SHS_OK && !known && px->cube->pixels) status = shs__cl_choose_shift(px, NULL, NULL, 0, px->view.lines, shift);
    else if (!known) px->find_shift = shift;
    if (status == SHS_OK) status = shs__cl_write_shift(px, shift);
    if (status == SHS_OK && by_bytes) status = shs__cl_byte_moments(px, shift, sums);
    else if (status == SHS_OK) status = shs__cl_gram_pass(px, "moments", precise, 0, sums);
    px->find_shift = NULL;
    return status;
}

SHS__PRIVATE shs_status shs__cl_pixels_noise(void *session, shs_wide *sums) {
    shs__cl_pixels *px = (shs__cl_pixels *)session;
    shs__cl_pixel_trial trial = SHS_ZERO;
    shs_real *zero;
    shs_status status;
    trial.stage = SHS__CL_NOISE;
    trial.precise = 1;
    status = shs__cl_prove_pixels(px, &trial);
    if (status != SHS_OK) return status;
    zero = (shs_real *)shs__cl_alloc(px->cl, (size_t)px->view.used * sizeof *zero);
    if (zero) status = shs__cl_write_shift(px, zero);
    else status = SHS_NO_MEMORY;
    if (status == SHS_OK) status = shs__cl_gram_pass(px, "noise", 1, 1, sums);
    shs__cl_free(px->cl, zero);
    return status;
}

/* ---- maps --------------------------------------------------------------------------------------------------------- */

typedef struct shs__cl_map_job {
    cl_mem matrix, constant;
    int outputs, padded, block, pixels, items, written, squares; /* block, pixels: outputs and pixels of a work-item */
    int units;                                                   /* by matrix units: block: outputs of a group */
    shs__cl_build build;
    cl_mem low, high, out;
    const shs_sink *sink;
    shs_wide missing;
    unsigned char *host; /* a block of an output stream */
    cl_mem whole;        /* the caller's outputs themselves */
} shs__cl_map_job;

/* Local memory of a group of map.cl whose items take so many pixels. */
SHS__PRIVATE size_t shs__cl_map_local(const shs__cl_pixels *px, int pixels, int items) {
    size_t tile = (size_t)(pixels * items) * SHS__CL_MAP_PITCH(px->view.size) * shs__zmax(px->view.size, 4);
    return (px->layout == SHS_INTERLEAVE_BIP ? tile : 0) + 6144 + 16 * (size_t)items; /* the matrix, and extremes */
}

/* Whether double matrix units map: many outputs. A compiler that does not take their instruction is asked once. */
SHS__PRIVATE int shs__cl_map_units(const shs__cl_pixels *px, int outputs, int precise) {
    shs_cl *cl = px->cl;
    if (outputs <= SHS__CL_MAP_FEW || shs__cl_on_trial(cl) || shs__cl_elem_bytes(cl, precise) != sizeof(cl_double)) return 0;
    while (cl->ways.units64 && shs__cl_begin_units(cl, "wide", SHS_TRANS_YES, 64, "syrk_units").status == SHS_BUILD_FAILED)
        cl->ways.units64--;
    return cl->ways.units64 > 0;
}

/* Outputs and pixels of an item: their product are the sums that it keeps in registers, 48 doubles or 64 floats at most. */
SHS__PRIVATE void shs__cl_map_shape(const shs__cl_pixels *px, int outputs, int precise, shs__cl_map_job *job) {
    const shs_cl *cl = px->cl;
    const size_t local = shs__zmin(cl->about.local_bytes, 48 << 10);
    int block = shs__imin(shs__cl_elem_bytes(cl, precise) == 8 ? 12 : 16, shs__la_round_up(outputs, 4));
    job->outputs = outputs;
    job->padded = INT_MAX;
    for (; block >= 8 || job->padded == INT_MAX; block -= 4) {
        if (shs__la_round_up(outputs, block) >= job->padded) continue;
        job->block = block;
        job->padded = shs__la_round_up(outputs, block);
    }
    if (cl->test.map_pixels) job->pixels = cl->test.map_pixels;
    else if (cl->ways.is_cpu) job->pixels = 1;
    else job->pixels = 4;
    if (cl->options.group_items) job->items = cl->options.group_items;
    else job->items = SHS__CL_MAP_ITEMS;
    job->units = shs__cl_map_units(px, outputs, precise);
    if (job->units) { /* blocks of outputs as equal as can be: each reads the pixels again */
        const int blocks = (outputs + SHS__CL_MAP_UNITS - 1) / SHS__CL_MAP_UNITS;
        job->pixels = 1;
        job->block = shs__la_round_up((outputs + blocks - 1) / blocks, 8);
        job->padded = job->block * blocks;
        return;
    }
    if (cl->options.without & SHS_CL_WITHOUT_REGISTERS) {
        job->pixels = 1;
        job->block = 4;
        job->padded = shs__la_round_up(outputs, 4);
    }
    while (job->pixels > 1 && job->pixels * job->items > SHS__CL_CHUNK_PIXELS) job->pixels /= 2;
    while (job->pixels > 1 && shs__cl_map_local(px, job->pixels, job->items) > local) job->pixels /= 2;
    while (job->items > SHS__CL_MAP_ITEMS && shs__cl_map_local(px, 1, job->items) > local) job->items /= 2;
}

/* Pixels of a group; a whole number of groups is a chunk of a panel. */
SHS__PRIVATE size_t shs__cl_map_group(const shs__cl_map_job *job) { return (size_t)(job->items * job->pixels); }

/* Matrix, constants and shift to the device, as shs__px_map_set makes them; rooms: the first of matrix, constant. */
SHS__PRIVATE shs_status shs__cl_map_prepare(shs__cl_pixels *px, const shs_pixel_map *map, int precise, int room,
                                            int shift_room, shs__cl_map_job *job, cl_mem *shift) {
    shs_cl *cl = px->cl;
    size_t n = (size_t)map->bands, k = (size_t)map->outputs, elem = shs__cl_elem_bytes(cl, precise), cells, b, o;
    shs_wide *matrix, *constant;
    shs_real *centre;
    shs_status status = SHS_OK;
    shs__cl_map_shape(px, map->outputs, precise, job);
    cells = n * (size_t)job->padded;
    matrix = (shs_wide *)shs__cl_alloc(cl, cells * sizeof *matrix);
    constant = (shs_wide *)shs__cl_alloc(cl, k * sizeof *constant);
    centre = (shs_real *)shs__cl_alloc(cl, n * sizeof *centre);
    if (!matrix || !constant || !centre) status = SHS_NO_MEMORY;
    for (o = 0; o < k && status == SHS_OK; o++) constant[o] = map->offset ? map->offset[o] : 0;
    for (b = 0; b < n && status == SHS_OK; b++) {
        shs_wide c = map->centre ? map->centre[b] : 0;
        centre[b] = (shs_real)c;
        for (o = 0; o < k; o++) {
            matrix[b * (size_t)job->padded + o] = map->matrix[b * k + o];
            constant[o] += map->matrix[b * k + o] * ((shs_wide)centre[b] - c);
        }
    }
    if (status == SHS_OK) status = shs__cl_room(px, room, cells * elem, &job->matrix);
    if (status == SHS_OK) status = shs__cl_room(px, room + 1, k * shs__cl_wide_size(cl), &job->constant);
    if (status == SHS_OK) status = shs__cl_room(px, shift_room, n * sizeof *centre, shift);
    if (status == SHS_OK) status = shs__cl_write_values(px, job->matrix, cells, matrix, elem);
    if (status == SHS_OK) status = shs__cl_write_values(px, job->constant, k, constant, shs__cl_wide_size(cl));
    if (status == SHS_OK) status = shs__cl_write(cl, 0, *shift, 0, n * sizeof *centre, centre);
    shs__cl_free(cl, matrix);
    shs__cl_free(cl, constant);
    shs__cl_free(cl, centre);
    return status;
}

SHS__PRIVATE shs__cl_build shs__cl_map_build(const shs__cl_pixels *px, const shs__cl_map_job *job, int precise, int mode,
                                             int direct) {
    shs__cl_build b = shs__cl_elem_build(px->cl, precise);
    shs__cl_define_int(&b, "DIRECT", direct);
    if (direct) shs__cl_define_cube(px, &b);
    shs__cl_define_int(&b, "OUTPUTS", job->block);
    shs__cl_define_int(&b, "PIXELS", job->pixels);
    shs__cl_define_trial(px->cl, job->items, SHS__CL_MAP_ITEMS, &b);
    shs__cl_define_int(&b, "MODE", mode);
    shs__cl_define(&b, "SQUARES", job->squares != 0);
    shs__cl_define_int(&b, "UNITS", job->units);
    shs__cl_define(&b, "MMA", px->cl->ways.ptx ? (size_t)px->cl->ways.units64 : 0);
    return b;
}

/* From the slice itself, or from a panel: few outputs need each value once, and a panel of doubles is never worth its traffic,
   while many outputs in float would convert each value again for every block of them. */
SHS__PRIVATE int shs__cl_directly(const shs__cl_pixels *px, int precise, int outputs) {
    return shs__cl_elem_bytes(px->cl, precise) == 8 || outputs <= 48;
}

/* One of the kernels of map.cl, with the arguments that all three begin with. */
SHS__PRIVATE shs__cl_call shs__cl_begin_map(const shs__cl_pixels *px, const shs__cl_pixel_pass *pass, const shs__cl_map_job *job,
                                            const shs__cl_slice *s, size_t at, int count, const char *name) {
    shs__cl_call call = shs__cl_begin(px->cl, shs__cl_source_map, job->build.text, name);
    if (pass->direct) {
        shs__cl_pass_buffer(&call, pass->raw);
        shs__cl_pass_size(&call, s->origin);
        shs__cl_pass_buffer(&call, px->room[SHS__CL_ROOM_LIST]);
        shs__cl_pass_buffer(&call, pass->shift);
        shs__cl_pass_size(&call, at);
        shs__cl_pass_int(&call, count);
        shs__cl_pass_size(&call, s->plane);
        shs__cl_pass_int(&call, px->view.samples);
        shs__cl_pass_int(&call, px->bands);
    } else {
        shs__cl_pass_buffer(&call, pass->X);
        shs__cl_pass_int(&call, (int)pass->ld);
    }
    shs__cl_pass_int(&call, px->view.used);
    shs__cl_pass_buffer(&call, job->matrix);
    shs__cl_pass_buffer(&call, job->constant);
    shs__cl_pass_int(&call, job->outputs);
    shs__cl_pass_int(&call, job->padded);
    shs__cl_pass_buffer(&call, pass->valid);
    shs__cl_pass_size(&call, at);
    shs__cl_pass_int(&call, count);
    return call;
}

SHS__PRIVATE shs_status shs__cl_launch_map(const shs__cl_call *call, const shs__cl_map_job *job, size_t padded, const char *stage) {
    return shs__cl_launch(call, padded / shs__cl_map_group(job), (size_t)job->items,
                          job->squares ? 1 : (size_t)(job->padded / job->block), 1, stage);
}

/* ---- extremes ----------------------------------------------------------------------------------------------------- */

SHS__PRIVATE shs_status shs__cl_range_panel(shs__cl_pixels *px, shs__cl_pixel_pass *pass, const shs__cl_slice *s,
                                            size_t at, int count, size_t padded) {
    shs__cl_map_job *job = (shs__cl_map_job *)pass->job;
    size_t bytes = pass->ld / shs__cl_map_group(job) * (size_t)job->written * shs__cl_wide_size(px->cl);
    cl_mem low = NULL, high = NULL;
    shs__cl_call call;
    shs_status status = shs__cl_room(px, SHS__CL_ROOM_LOW, bytes, &low);
    if (status == SHS_OK) status = shs__cl_room(px, SHS__CL_ROOM_HIGH, bytes, &high);
    if (status != SHS_OK) return status;
    call = shs__cl_begin_map(px, pass, job, s, at, count, "extremes");
    shs__cl_pass_int(&call, job->written);
    shs__cl_pass_wide(&call, px->cl->has_double ? (shs_wide)SHS__REAL_MAX : (shs_wide)3.402823466e38f);
    shs__cl_pass_buffer(&call, low);
    shs__cl_pass_buffer(&call, high);
    status = shs__cl_launch_map(&call, job, padded, "range");
    if (status != SHS_OK) return status;
    call = shs__cl_begin(px->cl, shs__cl_source_map, job->build.text, "widen");
    shs__cl_pass_buffer(&call, low);
    shs__cl_pass_buffer(&call, high);
    shs__cl_pass_int(&call, (int)(padded / shs__cl_map_group(job)));
    shs__cl_pass_int(&call, job->written);
    shs__cl_pass_buffer(&call, job->low);
    shs__cl_pass_buffer(&call, job->high);
    return shs__cl_launch(&call, shs__ctx_chunks((size_t)job->written, 64), 64, 1, 1, "range");
}

/* Proves the kernels of a trial of extremes or of outputs, and prepares their pass. */
SHS__PRIVATE shs_status shs__cl_map_open(shs__cl_pixels *px, const shs_pixel_map *map, shs__cl_pixel_trial *trial,
                                         shs__cl_map_job *job, shs__cl_pixel_pass *pass) {
    const int precise = trial->precise, mode = trial->stage == SHS__CL_RANGE ? SHS__CL_MAP_EXTREMES : SHS__CL_MAP_STORE;
    size_t bytes;
    shs_status status;
    memset(job, 0, sizeof *job);
    memset(pass, 0, sizeof *pass);
    if (precise && shs__cl_elem_bytes(px->cl, 1) != sizeof(shs_wide)) return SHS_UNSUPPORTED;
    trial->outputs = map->outputs;
    status = shs__cl_prove_pixels(px, trial);
    if (status != SHS_OK) return status;
    job->squares = trial->squares;
    job->written = trial->squares ? 1 : map->outputs;
    pass->precise = precise;
    pass->job = job;
    status = shs__cl_map_prepare(px, map, precise, SHS__CL_ROOM_MATRIX, SHS__CL_ROOM_SHIFT, job, &pass->shift);
    if (status != SHS_OK) return status;
    pass->direct = shs__cl_directly(px, precise, map->outputs);
    job->build = shs__cl_map_build(px, job, precise, mode, pass->direct);
    bytes = (size_t)job->written * shs__cl_wide_size(px->cl);
    status = shs__cl_room(px, SHS__CL_ROOM_LEAST, bytes, &job->low);
    if (status == SHS_OK) return shs__cl_room(px, SHS__CL_ROOM_MOST, bytes, &job->high);
    return status;
}

SHS__PRIVATE shs_status shs__cl_pixels_range(void *session, const shs_pixel_map *map, int precise, int squares,
                                             shs_wide *low, shs_wide *high) {
    shs__cl_pixels *px = (shs__cl_pixels *)session;
    shs__cl_map_job job;
    shs__cl_pixel_pass pass;
    shs__cl_pixel_trial trial = SHS_ZERO;
    size_t n, i;
    shs_status status;
    trial.stage = SHS__CL_RANGE;
    trial.precise = precise;
    trial.squares = squares;
    status = shs__cl_map_open(px, map, &trial, &job, &pass);
    if (status != SHS_OK) return status;
    n = (size_t)job.written;
    pass.phase = "range";
    pass.panel = shs__cl_range_panel;
    pass.pixel_bytes = n;
    for (i = 0; i < n; i++) {
        low[i] = (shs_wide)SHS__REAL_MAX;
        high[i] = -(shs_wide)SHS__REAL_MAX;
    }
    status = shs__cl_write_values(px, job.low, n, low, shs__cl_wide_size(px->cl));
    if (status == SHS_OK) status = shs__cl_write_values(px, job.high, n, high, shs__cl_wide_size(px->cl));
    if (status == SHS_OK) status = shs__cl_pass_run(px, &pass);
    if (status == SHS_OK) status = shs__cl_read_values(px, job.low, n, low, 0);
    if (status == SHS_OK) return shs__cl_read_values(px, job.high, n, high, 0);
    return status;
}

/* ---- outputs to the sink ------------------------------------------------------------------------------------------ */

SHS__PRIVATE shs_status shs__cl_map_panel(shs__cl_pixels *px, shs__cl_pixel_pass *pass, const shs__cl_slice *s,
                                          size_t at, int count, size_t padded) {
    shs__cl_map_job *job = (shs__cl_map_job *)pass->job;
    int turn = pass->index & 1;
    shs__cl_call call;
    size_t bytes = px->slices[0].pixels * (size_t)job->written * shs_type_size(job->sink->type), plane = s->pixels, origin = 0;
    shs_status status = SHS_OK;
    if (job->whole) {
        job->out = job->whole;
        plane = (size_t)px->view.lines * (size_t)px->view.samples;
        origin = (size_t)s->first_line * (size_t)px->view.samples;
        if (job->sink->interleave != SHS_INTERLEAVE_BSQ) origin *= (size_t)job->written;
    } else status = shs__cl_room(px, SHS__CL_ROOM_OUT + turn, bytes, &job->out);
    if (status == SHS_OK && at == 0) status = shs__cl_after(px->cl, 0, px->turn[turn].fetched);
    if (status != SHS_OK) return status;
    call = shs__cl_begin_map(px, pass, job, s, at, count, "store");
    shs__cl_pass_int(&call, job->written);
    shs__cl_pass_size(&call, plane);
    shs__cl_pass_int(&call, px->view.samples);
    shs__cl_pass_wide(&call, job->missing);
    shs__cl_pass_buffer(&call, job->low);
    shs__cl_pass_buffer(&call, job->high);
    shs__cl_pass_wide(&call, job->sink->low);
    shs__cl_pass_wide(&call, job->sink->high);
    shs__cl_pass_buffer(&call, job->out);
    shs__cl_pass_size(&call, origin);
    return shs__cl_launch_map(&call, job, padded, "map");
}

/* The slice's outputs from the device: to the caller's memory on queue 1, while queue 0 goes on; to a stream at once. */
SHS__PRIVATE shs_status shs__cl_map_slice(shs__cl_pixels *px, shs__cl_pixel_pass *pass, const shs__cl_slice *s) {
    shs__cl_map_job *job = (shs__cl_map_job *)pass->job;
    const shs_sink *sink = job->sink;
    shs_cl *cl = px->cl;
    size_t size = shs_type_size(sink->type), row = s->pixels * size,
           all = (size_t)px->view.lines * (size_t)px->view.samples * size;
    size_t before = (size_t)s->first_line * (size_t)px->view.samples * size;
    shs__cl_strip r;
    int turn = pass->index & 1;
    cl_event event = NULL;
    shs_status status;
    if (job->whole) return SHS_OK;
    if (!sink->pixels) {
        status = shs__cl_read(cl, 0, job->out, 0, row * (size_t)job->written, job->host);
        if (status == SHS_OK && sink->write_fn(sink->write_user, s->first_line, s->lines, job->host))
            return SHS_WRITE_FAILED;
        return status;
    }
    status = shs__cl_mark(cl, 0, &event);
    if (status == SHS_OK) status = shs__cl_after(cl, 1, event);
    shs__cl_forget(cl, &event);
    if (status != SHS_OK) return status;
    r.width = r.pitch = row;
    r.rows = (size_t)job->written;
    r.offset = 0;
    r.host = (unsigned char *)sink->pixels + before;
    r.host_pitch = all;
    if (sink->interleave != SHS_INTERLEAVE_BSQ) {
        r.width *= r.rows;
        r.rows = 1;
        r.host = (unsigned char *)sink->pixels + before * (size_t)job->written;
    }
    status = shs__cl_move(cl, px->ctx, 1, job->out, &r, 0, 1);
    shs__cl_forget(cl, &px->turn[turn].fetched);
    if (status == SHS_OK) status = shs__cl_one_by_one(cl, 1);
    if (status == SHS_OK) return shs__cl_mark(cl, 1, &px->turn[turn].fetched);
    return status;
}

/* Types of OpenCL, and the values that they hold. */
SHS__PRIVATE void shs__cl_define_sink(const shs_sink *sink, shs__cl_build *b) {
    static const char *const types[SHS_TYPE_COUNT][3] = {{"real", "", ""},
                                                         {"uchar", "0", "255"},
                                                         {"short", "(-32768)", "32767"},
                                                         {"ushort", "0", "65535"},
                                                         {"int", "(-2147483647-1)", "2147483647"},
                                                         {"uint", "0", "4294967295u"},
                                                         {"float", "", ""},
                                                         {"double", "", ""}};
    const char *const *type = types[sink->type];
    shs__cl_define_as(b, "SINK", type[0]);
    shs__cl_define(b, "INTEGER", type[1][0] != 0);
    if (type[1][0]) shs__cl_define_as(b, "LEAST", type[1]);
    if (type[1][0]) shs__cl_define_as(b, "MOST", type[2]);
    shs__cl_define_int(b, "LAYOUT", (int)sink->interleave);
    shs__cl_define(b, "RESCALE", sink->rescale != 0);
}

SHS__PRIVATE size_t shs__cl_sink_bytes(const shs__cl_pixels *px, const shs__cl_map_job *job) {
    return (size_t)px->view.lines * (size_t)px->view.samples * (size_t)job->written * shs_type_size(job->sink->type);
}

/* Wraps the caller's outputs as a buffer, unless they overlap the pixels, which may be a wrapped buffer, too. */
SHS__PRIVATE void shs__cl_wrap_sink(shs__cl_pixels *px, shs__cl_map_job *job) {
    const shs__view *v = &px->view;
    size_t bytes = shs__cl_sink_bytes(px, job), cube = (size_t)v->bs * (size_t)v->bands;
    const uintptr_t to = (uintptr_t)job->sink->pixels;
    const uintptr_t from = (uintptr_t)px->cube->pixels;
    cube = shs__zmax(cube, (size_t)v->ls * (size_t)v->lines) * v->size;
    if (!shs__cl_in_place(px->cl, job->sink->pixels, shs_type_size(job->sink->type), bytes)) return;
    if (px->cube->pixels && (px->packed || (to < from + cube && from < to + bytes))) return;
    (void)shs__cl_wrap(px->cl, bytes, job->sink->pixels, &job->whole);
}

/* Whatever happened: nobody writes to the caller's outputs any more. A map makes what the device wrote the host's. */
SHS__PRIVATE shs_status shs__cl_map_end(shs__cl_pixels *px, shs__cl_map_job *job, shs_status status) {
    shs_cl *cl = px->cl;
    shs_status ended = shs__cl_finish(cl, 1), unmapped = SHS_OK;
    cl_int error = CL_SUCCESS;
    if (job->whole) {
        size_t bytes = shs__cl_sink_bytes(px, job);
        void *mapped = SHS__CL(clEnqueueMapBuffer)(cl->queue[0], job->whole, CL_TRUE, CL_MAP_READ, 0, bytes, 0, NULL, NULL, &error);
        if (!error) error = SHS__CL(clEnqueueUnmapMemObject)(cl->queue[0], job->whole, mapped, 0, NULL, NULL);
        unmapped = shs__cl_check(cl, error);
        if (ended == SHS_OK) ended = shs__cl_finish(cl, 0);
    }
    shs__cl_release(cl, &job->whole);
    shs_cl_host_free(cl, job->host);
    if (status == SHS_OK) status = unmapped;
    if (status == SHS_OK) return ended;
    return status;
}

SHS__PRIVATE shs_status shs__cl_pixels_map(void *session, const shs_pixel_map *map, int precise, int squares,
                                           const shs_sink *sink, const shs_wide *low, const shs_wide *high,
                                           shs_wide missing) {
    shs__cl_pixels *px = (shs__cl_pixels *)session;
    shs__cl_map_job job;
    shs__cl_pixel_pass pass;
    shs__cl_pixel_trial trial = SHS_ZERO;
    size_t n;
    shs_status status;
    if (sink->type > SHS_TYPE_F64 || (sink->type == SHS_TYPE_F64 && !px->cl->has_double)) return SHS_UNSUPPORTED;
    trial.stage = SHS__CL_MAP;
    trial.precise = precise;
    trial.squares = squares;
    trial.sink = sink;
    status = shs__cl_map_open(px, map, &trial, &job, &pass);
    if (status != SHS_OK) return status;
    n = (size_t)job.written;
    job.sink = sink;
    job.missing = missing;
    pass.phase = "transform";
    pass.panel = shs__cl_map_panel;
    pass.slice = shs__cl_map_slice;
    pass.pixel_bytes = 1;
    shs__cl_define_sink(sink, &job.build);
    if (sink->rescale) status = shs__cl_write_values(px, job.low, n, low, shs__cl_wide_size(px->cl));
    if (status == SHS_OK && sink->rescale)
        status = shs__cl_write_values(px, job.high, n, high, shs__cl_wide_size(px->cl));
    if (status == SHS_OK && !sink->pixels) {
        job.host = (unsigned char *)shs_cl_host_alloc(px->cl, px->slices[0].pixels * n * shs_type_size(sink->type));
        if (!job.host) status = SHS_NO_MEMORY;
    }
    if (status == SHS_OK) shs__cl_wrap_sink(px, &job);
    if (status == SHS_OK) status = shs__cl_pass_run(px, &pass);
    return shs__cl_map_end(px, &job, status);
}

/* ---- whitened pixels ---------------------------------------------------------------------------------------------- */

/* What is done with whitened pixels: `pixels` of a slice, whose whitened planes begin at z.from. */
typedef shs_status (*shs__cl_white_fn)(shs__cl_pixels *px, void *job, const shs__cl_planes *z, size_t padded);

typedef struct shs__cl_white_job {
    shs__cl_map_job map;
    shs__cl_white_fn use; /* NULL: only whitened */
    void *job;
} shs__cl_white_job;

SHS__PRIVATE shs_status shs__cl_white_panel(shs__cl_pixels *px, shs__cl_pixel_pass *pass, const shs__cl_slice *s,
                                            size_t at, int count, size_t padded) {
    shs__cl_white_job *job = (shs__cl_white_job *)pass->job;
    shs__cl_planes z;
    shs__cl_call call;
    shs_status status = SHS_OK;
    z.buffer = s->z;
    if (s->z) {
        z.from = s->z_at + at;
        z.ld = s->z_ld;
    } else {
        z.from = 0;
        z.ld = pass->ld;
    }
    z.rows = px->m;
    if (!z.buffer) status = shs__cl_room(px, SHS__CL_ROOM_Z, pass->ld * (size_t)px->m * sizeof(shs_real), &z.buffer);
    if (status != SHS_OK) return status;
    call = shs__cl_begin_map(px, pass, &job->map, s, at, count, "whiten");
    shs__cl_pass_planes(&call, &z);
    status = shs__cl_launch_map(&call, &job->map, padded, "whiten");
    if (status == SHS_OK && job->use) return job->use(px, job->job, &z, padded);
    return status;
}

/* A pass that whitens; the map must stand in its rooms. count gets the number of valid pixels. */
SHS__PRIVATE shs_status shs__cl_white_pass(shs__cl_pixels *px, shs__cl_map_job *map, size_t pixel_bytes,
                                           shs__cl_white_fn use, void *job, shs_wide *count) {
    shs__cl_white_job white;
    shs__cl_pixel_pass pass;
    size_t n = (size_t)px->view.used;
    shs_wide *sums;
    shs_status status;
    memset(&pass, 0, sizeof pass);
    shs__cl_map_shape(px, px->m, 0, map);
    map->matrix = px->room[SHS__CL_ROOM_WHITENER];
    map->constant = px->room[SHS__CL_ROOM_WHITE_CONSTANT];
    pass.direct =
        !shs__cl_checked(px) && shs__cl_directly(px, 0, px->m); /* otherwise loading counts the valid pixels */
    map->build = shs__cl_map_build(px, map, 0, SHS__CL_MAP_WHITEN, pass.direct);
    white.map = *map;
    white.use = use;
    white.job = job;
    pass.phase = "whitening";
    pass.panel = shs__cl_white_panel;
    pass.job = &white;
    pass.pixel_bytes = pixel_bytes + (size_t)px->m * sizeof(shs_real);
    pass.shift = px->room[SHS__CL_ROOM_WHITE_SHIFT];
    status = shs__cl_pass_run(px, &pass);
    if (status != SHS_OK) return status;
    sums = (shs_wide *)shs__cl_alloc(px->cl, (n + 1) * sizeof *sums);
    if (sums) status = shs__cl_totals_end(px, &pass.sums, sums);
    else status = SHS_NO_MEMORY;
    if (status == SHS_OK) *count = pass.direct ? (shs_wide)px->view.lines * (shs_wide)px->view.samples : sums[n];
    shs__cl_free(px->cl, sums);
    return status;
}

/* The same from what was kept, all slices of a buffer together, or anew. */
SHS__PRIVATE shs_status shs__cl_white_run(shs__cl_pixels *px, size_t pixel_bytes, shs__cl_white_fn use, void *job,
                                          shs_wide *count) {
    shs__cl_map_job map;
    shs__cl_planes z;
    shs_status status = SHS_OK;
    size_t step;
    int i;
    memset(&map, 0, sizeof map);
    if (!px->z_kept) return shs__cl_white_pass(px, &map, pixel_bytes, use, job, count);
    z.rows = px->m;
    for (i = 0; i < px->slice_count; i++) {
        if (px->slices[i].z_at > 0) continue;
        z.buffer = px->slices[i].z;
        z.ld = px->slices[i].z_ld;
        step = shs__cl_panel_pixels(px, pixel_bytes, z.ld);
        for (z.from = 0; z.from < z.ld && status == SHS_OK; z.from += step)
            status = use(px, job, &z, shs__zmin(step, z.ld - z.from));
    }
    return status;
}

/* Keeps all whitened pixels on the device if half of the free memory holds them. Slices share buffers, so that few kernels with
   much work run in place of many with little. */
SHS__PRIVATE void shs__cl_keep_white(shs__cl_pixels *px) {
    shs_cl *cl = px->cl;
    size_t each = (size_t)px->m * sizeof(shs_real), need = 0, ld = 0;
    int i, first, end;
    shs__cl_drop_white(px);
    for (i = 0; i < px->slice_count; i++) need += px->slices[i].padded * each;
    px->z_kept = need <= shs__cl_left(cl) / 2;
    for (first = 0; first < px->slice_count && px->z_kept; first = end) {
        cl_mem z = NULL;
        ld = 0;
        for (end = first; end < px->slice_count; end++) {
            if (end > first && (ld + px->slices[end].padded) * each > cl->about.max_alloc) break;
            px->slices[end].z_at = ld;
            ld += px->slices[end].padded;
        }
        px->z_kept = shs__cl_buffer(cl, ld * each, &z) == SHS_OK;
        for (i = first; i < end; i++) {
            px->slices[i].z = z;
            px->slices[i].z_ld = ld;
        }
    }
    if (!px->z_kept) shs__cl_drop_white(px);
}

SHS__PRIVATE shs_status shs__cl_fourth_panel(shs__cl_pixels *px, void *arg, const shs__cl_planes *z, size_t padded) {
    shs__cl_products_job *job = (shs__cl_products_job *)arg;
    shs__cl_planes q;
    shs__cl_call call;
    shs_status status = shs__cl_room(px, SHS__CL_ROOM_SECOND, padded * (size_t)job->tiling.rows * sizeof(shs_real), &q.buffer);
    if (status != SHS_OK) return status;
    q.from = 0;
    q.ld = padded;
    q.rows = job->tiling.rows;
    call = shs__cl_begin(px->cl, shs__cl_source_fourth, "", "pairs");
    shs__cl_pass_planes(&call, z);
    shs__cl_pass_int(&call, px->m);
    shs__cl_pass_buffer(&call, q.buffer);
    shs__cl_pass_size(&call, q.ld);
    status = shs__cl_launch(&call, padded / SHS__CL_ITEMS, SHS__CL_ITEMS, 1, 1, "fourth");
    if (status != SHS_OK) return status;
    return shs__cl_products(px, &job->tiling, &q, padded, 0, job->tiling.tiles, &job->totals);
}

SHS__PRIVATE shs_status shs__cl_pixels_whiten(void *session, const shs_pixel_map *whitening, int fourth,
                                              shs_wide *sums) {
    shs__cl_pixels *px = (shs__cl_pixels *)session;
    shs__cl_products_job job;
    shs__cl_map_job map;
    int pairs = whitening->outputs * (whitening->outputs + 1) / 2;
    size_t bytes;
    cl_mem shift;
    shs__cl_pixel_trial trial = SHS_ZERO;
    shs_status status;
    trial.stage = SHS__CL_WHITENING;
    trial.outputs = whitening->outputs;
    trial.fourth = fourth;
    status = shs__cl_prove_pixels(px, &trial);
    if (status != SHS_OK) return status;
    memset(&map, 0, sizeof map);
    px->m = whitening->outputs;
    job.tiling = shs__cl_tiling_of(px->cl, 0, pairs);
    if (fourth) bytes = (size_t)pairs * sizeof(shs_real) + shs__cl_tiling_bytes(px->cl, &job.tiling);
    else bytes = 0;
    status = shs__cl_map_prepare(px, whitening, 0, SHS__CL_ROOM_WHITENER, SHS__CL_ROOM_WHITE_SHIFT, &map, &shift);
    if (status == SHS_OK) shs__cl_keep_white(px);
    if (status == SHS_OK && fourth)
        status = shs__cl_totals_begin(px, SHS__CL_ROOM_PRODUCTS, shs__cl_tiling_values(&job.tiling), &job.totals);
    if (status == SHS_OK)
        status = shs__cl_white_pass(px, &map, bytes, fourth ? shs__cl_fourth_panel : NULL, &job, &px->white_count);
    if (status == SHS_OK) sums[0] = px->white_count;
    if (status == SHS_OK && fourth) return shs__cl_products_end(px, &job.tiling, &job.totals, sums + 1);
    return status;
}

/* ---- sweeps and ratings ------------------------------------------------------------------------------------------- */

/* Sums over whitened pixels for c directions. A block of `directions` has `each` sums a direction: `rows` sums of components and
   one of slopes, or two ratings. */
typedef struct shs__cl_sweep_job {
    shs__cl_build build;
    shs__cl_totals totals;
    cl_mem W;
    int c, rows, row_blocks, directions, each, items, begun;
    shs_wide *sums; /* block by block */
} shs__cl_sweep_job;

/* Rows, directions and pixels of an item, which has registers for 132 floats: the sums, and pixels that it takes at once, as
   many as leave room for three directions or all. contrast: NULL for ratings. */
SHS__PRIVATE void shs__cl_sweep_shape(const shs__cl_pixels *px, const char *contrast, int c, shs__cl_sweep_job *job) {
    int room = sizeof(shs_real) == 8 ? 66 : 132, most = room / 4, m = px->m, pixels = 4, fit, blocks;
    memset(job, 0, sizeof *job);
    job->c = c;
    job->row_blocks = (m + most - 1) / most;
    job->rows = (m + job->row_blocks - 1) / job->row_blocks;
    if (px->cl->options.without & SHS_CL_WITHOUT_REGISTERS) room = 0;
    if (contrast) job->each = job->rows + 1;
    else job->each = 2;
    if (px->cl->options.group_items) job->items = px->cl->options.group_items;
    else job->items = SHS__CL_SWEEP_ITEMS;
    while (pixels > 1 && (room - pixels * job->rows) / job->each < shs__imin(c, 3)) pixels /= 2;
    fit = shs__imax(shs__imin((room - pixels * job->rows) / job->each, contrast ? c : 8), 1);
    blocks = (c + fit - 1) / fit;
    job->directions = (c + blocks - 1) / blocks;
    shs__cl_define_trial(px->cl, job->items, SHS__CL_SWEEP_ITEMS, &job->build);
    shs__cl_define_int(&job->build, "M", m);
    shs__cl_define_int(&job->build, "ROWS", job->rows);
    shs__cl_define_int(&job->build, "DIRECTIONS", job->directions);
    shs__cl_define_int(&job->build, "PIXELS", pixels);
    if (contrast) shs__cl_define_name(&job->build, "CONTRAST_", contrast);
    else job->row_blocks = 1;
}

SHS__PRIVATE size_t shs__cl_sweep_blocks(const shs__cl_sweep_job *job) {
    return shs__ctx_chunks((size_t)job->c, (size_t)job->directions) * (size_t)job->row_blocks;
}

/* The sum of direction d and row r; behind that of a block's last row stands the one of slopes. */
SHS__PRIVATE const shs_wide *shs__cl_sweep_sum(const shs__cl_sweep_job *job, int d, int r) {
    int block = d / job->directions * job->row_blocks + r / job->rows;
    return job->sums + (size_t)(block * job->directions + d % job->directions) * (size_t)job->each + r % job->rows;
}

/* Partial sums of each value that a group writes. */
SHS__PRIVATE size_t shs__cl_sweep_partial(const shs__cl_pixels *px, const shs__cl_sweep_job *job) {
    if (px->cl->options.without & SHS_CL_WITHOUT_LOCAL) return (size_t)job->items;
    return 1;
}

SHS__PRIVATE shs_status shs__cl_sweep_panel(shs__cl_pixels *px, void *arg, const shs__cl_planes *z, size_t padded) {
    shs__cl_sweep_job *job = (shs__cl_sweep_job *)arg;
    size_t groups = shs__ctx_chunks(padded, SHS__CL_SWEEP_PIXELS), sums = groups * shs__cl_sweep_partial(px, job);
    cl_mem partial = NULL;
    shs__cl_call call;
    shs_status status = shs__cl_room(px, SHS__CL_ROOM_PARTIAL, sums * job->totals.size * shs__cl_wide_size(px->cl), &partial);
    if (status != SHS_OK) return status;
    call = shs__cl_begin(px->cl, shs__cl_source_sweep, job->build.text, "sweep");
    shs__cl_pass_planes(&call, z);
    shs__cl_pass_size(&call, padded);
    shs__cl_pass_buffer(&call, job->W);
    shs__cl_pass_int(&call, job->c);
    shs__cl_pass_buffer(&call, partial);
    status = shs__cl_launch(&call, groups, (size_t)job->items, shs__cl_sweep_blocks(job), 1, "sweep");
    if (status == SHS_OK) status = shs__cl_totals_gather(px, &job->totals, partial, sums, job->begun);
    job->begun = 1;
    return status;
}

/* The sums into job->sums, which the caller frees whatever comes back. Directions go up while nobody waits for them. */
SHS__PRIVATE shs_status shs__cl_sweep_run(shs__cl_pixels *px, shs__cl_sweep_job *job, const shs_wide *W) {
    shs_cl *cl = px->cl;
    size_t cells = (size_t)px->m * (size_t)job->c, size = shs__cl_sweep_blocks(job) * (size_t)(job->directions * job->each), i;
    size_t bytes = size * shs__cl_sweep_partial(px, job) * shs__cl_wide_size(cl) / SHS__CL_SWEEP_PIXELS + 1; /* a pixel */
    shs_real *directions = (shs_real *)shs__cl_alloc(cl, cells * sizeof *directions);
    shs_status status = SHS_OK;
    job->sums = (shs_wide *)shs__cl_alloc(cl, size * sizeof *job->sums);
    if (!directions || !job->sums) status = SHS_NO_MEMORY;
    for (i = 0; i < cells && status == SHS_OK; i++) directions[i] = (shs_real)W[i];
    if (status == SHS_OK) status = shs__cl_room(px, SHS__CL_ROOM_DIRECTIONS, cells * sizeof *directions, &job->W);
    if (status == SHS_OK) status = shs__cl_write_later(cl, 0, job->W, 0, cells * sizeof *directions, directions);
    if (status == SHS_OK) status = shs__cl_totals_room(px, SHS__CL_ROOM_PRODUCTS, size, &job->totals);
    if (status == SHS_OK) status = shs__cl_white_run(px, bytes, shs__cl_sweep_panel, job, &px->white_count);
    if (status == SHS_OK) status = shs__cl_totals_end(px, &job->totals, job->sums);
    if (status != SHS_OK) (void)shs__cl_finish(cl, 0); /* the directions are read until then */
    shs__cl_free(cl, directions);
    return status;
}

SHS__PRIVATE shs_status shs__cl_pixels_sweep(void *session, shs_contrast contrast, int c, const shs_wide *W,
                                             shs_wide *sums) {
    shs__cl_pixels *px = (shs__cl_pixels *)session;
    shs__cl_pixel_trial trial = SHS_ZERO;
    shs__cl_sweep_job job;
    shs_status status;
    int d, a;
    trial.stage = SHS__CL_SWEEP;
    trial.outputs = px->m;
    trial.directions = c;
    trial.contrast = contrast;
    status = shs__cl_prove_pixels(px, &trial);
    if (status != SHS_OK) return status;
    shs__cl_sweep_shape(px, shs_contrast_name(contrast), c, &job);
    status = shs__cl_sweep_run(px, &job, W);
    for (d = 0; d < c && status == SHS_OK; d++) {
        sums[1 + d] = shs__cl_sweep_sum(&job, d, 0)[job.rows];
        for (a = 0; a < px->m; a++) sums[1 + c + d * px->m + a] = *shs__cl_sweep_sum(&job, d, a);
    }
    if (status == SHS_OK) sums[0] = px->white_count;
    shs__cl_free(px->cl, job.sums);
    return status;
}

SHS__PRIVATE shs_status shs__cl_pixels_rate(void *session, const shs_wide *W, shs_wide *sums) {
    shs__cl_pixels *px = (shs__cl_pixels *)session;
    shs__cl_pixel_trial trial = SHS_ZERO;
    shs__cl_sweep_job job;
    shs_status status;
    int d;
    trial.stage = SHS__CL_RATING;
    trial.outputs = px->m;
    trial.directions = px->m;
    status = shs__cl_prove_pixels(px, &trial);
    if (status != SHS_OK) return status;
    shs__cl_sweep_shape(px, NULL, px->m, &job);
    status = shs__cl_sweep_run(px, &job, W);
    for (d = 0; d < px->m && status == SHS_OK; d++) {
        sums[1 + d] = shs__cl_sweep_sum(&job, d, 0)[0];
        sums[1 + px->m + d] = shs__cl_sweep_sum(&job, d, 0)[1];
    }
    if (status == SHS_OK) sums[0] = px->white_count;
    shs__cl_free(px->cl, job.sums);
    return status;
}

/* ---- the self-test of pixels -------------------------------------------------------------------------------------- */

/* The map of a known cube, and directions. */
typedef struct shs__cl_known_maps {
    shs_pixel_map map;
    shs_wide *matrix, *centre, *offset; /* outputs x n, n, outputs */
    shs_wide *W;                        /* outputs x directions */
} shs__cl_known_maps;

/* A known cube of the session's kind: its type, byte order, interleave, bands in use, mask and no-data value. Values are whole
   numbers of 0 to 199 from a seed, some pixels are missing. X and `valid` are what the host makes of it. */
typedef struct shs__cl_known_cube {
    shs_cube cube;
    shs__layout host;
    int n, bands;
    size_t count, step; /* pixels; of bands, outputs and the like the host looks at every step-th */
    unsigned char *pixels, *mask, *valid;
    int *list;
    shs_wide *X; /* n x count */
    shs__cl_known_maps maps;
    shs_wide *out, *low, *high; /* rows x count: what the map makes of X; its extremes */
    shs_wide *got, *right;      /* sums of the device, and the host's */
    shs_real *shift;
    unsigned char *sink;
    size_t sums;
    int rows; /* outputs that are written */
} shs__cl_known_cube;

enum { SHS__CL_KNOWN_SAMPLES = 53, SHS__CL_KNOWN_LINES = 23, SHS__CL_KNOWN_MANY = 85 };

/* How many sums the stage has. */
SHS__PRIVATE size_t shs__cl_trial_sums(const shs__cl_pixel_trial *t, size_t n) {
    const size_t m = (size_t)t->outputs, c = (size_t)t->directions, pairs = m * (m + 1) / 2;
    switch (t->stage) {
    case SHS__CL_MOMENTS:
    case SHS__CL_NOISE: return 1 + n + n * n;
    case SHS__CL_WHITENING: return 1 + (t->fourth ? pairs * pairs : 0);
    case SHS__CL_SWEEP: return 1 + c + m * c;
    case SHS__CL_RATING: return 1 + 2 * m;
    default: return 2 * m;
    }
}

SHS__PRIVATE void shs__cl_known_cube_layout(shs__layout *l, const shs__cl_pixel_trial *t, shs__cl_known_cube *k) {
    const size_t n = (size_t)k->n, m = (size_t)shs__imax(t->outputs, 1), bands = (size_t)k->bands;
    k->pixels = SHS__CARVE(l, unsigned char, k->count * bands * 8);
    k->sink = SHS__CARVE(l, unsigned char, k->count * m * 8);
    k->mask = SHS__CARVE(l, unsigned char, k->count);
    k->valid = SHS__CARVE(l, unsigned char, k->count);
    k->list = SHS__CARVE(l, int, n);
    k->X = SHS__CARVE(l, shs_wide, k->count * n);
    k->maps.matrix = SHS__CARVE(l, shs_wide, m * n);
    k->maps.centre = SHS__CARVE(l, shs_wide, n);
    k->maps.offset = SHS__CARVE(l, shs_wide, m);
    k->out = SHS__CARVE(l, shs_wide, k->count * m);
    k->low = SHS__CARVE(l, shs_wide, m);
    k->high = SHS__CARVE(l, shs_wide, m);
    k->maps.W = SHS__CARVE(l, shs_wide, m * (size_t)shs__imax(t->directions, 1));
    k->got = SHS__CARVE(l, shs_wide, k->sums);
    k->right = SHS__CARVE(l, shs_wide, k->sums);
    k->shift = SHS__CARVE(l, shs_real, n);
}

/* Writes x in the cube's type and byte order, and returns the value as written. */
SHS__PRIVATE shs_wide shs__cl_put_value(shs_type type, int swap, shs_wide x, unsigned char *to) {
    const uint8_t u8 = (uint8_t)x;
    const uint16_t u16 = (uint16_t)x;
    const uint32_t u32 = (uint32_t)x;
    const float f = (float)x;
    const double d = (double)x;
    const shs_real r = (shs_real)x;
    const size_t size = shs_type_size(type);
    size_t i;
    switch (type) {
    case SHS_TYPE_U8: memcpy(to, &u8, size); break;
    case SHS_TYPE_I16:
    case SHS_TYPE_U16: memcpy(to, &u16, size); break;
    case SHS_TYPE_I32:
    case SHS_TYPE_U32: memcpy(to, &u32, size); break;
    case SHS_TYPE_F32: memcpy(to, &f, size); break;
    case SHS_TYPE_F64: memcpy(to, &d, size); break;
    default: memcpy(to, &r, size); break;
    }
    for (i = 0; swap && i < size / 2; i++) {
        const unsigned char last = to[size - 1 - i];
        to[size - 1 - i] = to[i];
        to[i] = last;
    }
    return x;
}

/* A value of a sink. */
SHS__PRIVATE shs_wide shs__cl_get_value(shs_type type, const unsigned char *from) {
    uint8_t u8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    float f;
    double d;
    shs_real r;
    switch (type) {
    case SHS_TYPE_U8: memcpy(&u8, from, sizeof u8); return (shs_wide)u8;
    case SHS_TYPE_I16: memcpy(&i16, from, sizeof i16); return (shs_wide)i16;
    case SHS_TYPE_U16: memcpy(&u16, from, sizeof u16); return (shs_wide)u16;
    case SHS_TYPE_I32: memcpy(&i32, from, sizeof i32); return (shs_wide)i32;
    case SHS_TYPE_U32: memcpy(&u32, from, sizeof u32); return (shs_wide)u32;
    case SHS_TYPE_F32: memcpy(&f, from, sizeof f); return (shs_wide)f;
    case SHS_TYPE_F64: memcpy(&d, from, sizeof d); return (shs_wide)d;
    default: memcpy(&r, from, sizeof r); return (shs_wide)r;
    }
}

/* Where value (pixel i, band b of `bands`) of a contiguous cube stands. */
SHS__PRIVATE size_t shs__cl_place(shs_interleave interleave, size_t count, size_t bands, size_t i, size_t b) {
    const size_t samples = SHS__CL_KNOWN_SAMPLES;
    if (interleave == SHS_INTERLEAVE_BSQ) return b * count + i;
    if (interleave == SHS_INTERLEAVE_BIP) return i * bands + b;
    return (i / samples * bands + b) * samples + i % samples;
}

/* Fills the values, the mask and the valid pixels of a known cube. Band 1 is not in use, so that kernels need the list of bands. */
SHS__PRIVATE void shs__cl_known_values(const shs__cl_pixels *px, shs__cl_known_cube *k) {
    const shs_cube *like = px->cube;
    const size_t size = px->view.size, bands = (size_t)k->bands;
    unsigned char *to;
    shs_random r;
    size_t i, b;
    shs_random_seed(&r, 6);
    for (b = 0; b < (size_t)k->n; b++) k->list[b] = (int)(b > 0 ? b + 1 : b);
    for (i = 0; i < k->count; i++) {
        k->mask[i] = (unsigned char)(i % 29 != 3);
        k->valid[i] = (unsigned char)(k->mask[i] || !k->cube.mask);
        for (b = 0; b < bands; b++) {
            shs_wide x = (shs_wide)shs_random_below(&r, 120) + (shs_wide)((i * 7 + b * b) % 80);
            if (px->view.floating) x += (shs_wide)0.25 * (shs_wide)(b % 4);
            to = k->pixels + shs__cl_place(px->layout, k->count, bands, i, b) * size;
            x = shs__cl_put_value(like->type, like->swap_bytes, x, to);
            if (b == 1) continue;
            if (px->view.floating && i % 41 == 7 && b == bands - 1) { /* no number */
                memset(to, 0xff, size);
                k->valid[i] = 0;
                x = 0;
            }
            k->X[i * (size_t)k->n + (b > 0 ? b - 1 : 0)] = x;
            if (k->cube.has_nodata && x == px->view.nodata) k->valid[i] = 0;
        }
    }
}

SHS__PRIVATE void shs__cl_known_map(const shs__cl_pixel_trial *t, shs__cl_known_cube *k) {
    const shs_wide scale = (shs_wide)0.05 / SHS__WSQRT((shs_wide)k->n);
    shs_random r;
    size_t i;
    shs_random_seed(&r, 7);
    for (i = 0; i < (size_t)t->outputs * (size_t)k->n; i++) k->maps.matrix[i] = scale * (shs_wide)shs_random_normal(&r);
    for (i = 0; i < (size_t)k->n; i++) k->maps.centre[i] = 90;
    for (i = 0; i < (size_t)t->outputs; i++)
        k->maps.offset[i] = t->stage == SHS__CL_MAP || t->stage == SHS__CL_RANGE ? (shs_wide)(i % 7) : 0;
    for (i = 0; i < (size_t)t->outputs * (size_t)t->directions; i++)
        k->maps.W[i] = (shs_wide)(shs_real)(shs_random_uniform(&r) - (shs_wide)0.5);
    k->maps.map.bands = k->n;
    k->maps.map.outputs = t->outputs;
    k->maps.map.matrix = k->maps.matrix;
    k->maps.map.centre = k->maps.centre;
    k->maps.map.offset = k->maps.offset;
}

SHS__PRIVATE shs_status shs__cl_known_cube_open(const shs__cl_pixel_trial *t, shs__cl_known_cube *k) {
    const shs__cl_pixels *px = t->like;
    const int few = px->view.used <= 64 && t->outputs <= (t->fourth ? 12 : 64);
    shs_status status = SHS_OK;
    k->n = px->view.used;
    k->bands = k->n + 1;
    if (t->squares) k->rows = 1;
    else k->rows = t->outputs;
    k->cube.samples = SHS__CL_KNOWN_SAMPLES;
    k->cube.lines = few ? SHS__CL_KNOWN_MANY : SHS__CL_KNOWN_LINES; /* more than a group of sweep.cl and bytes.cl takes */
    k->count = (size_t)k->cube.samples * (size_t)k->cube.lines;
    k->step = (size_t)shs__imax(k->n, t->stage == SHS__CL_WHITENING ? t->outputs * t->outputs / 2 : t->outputs) / 48 | 1;
    k->sums = shs__cl_trial_sums(t, (size_t)k->n);
    while (shs__layout_next(&px->cl->ctx, &k->host, &status)) shs__cl_known_cube_layout(&k->host, t, k);
    if (status != SHS_OK) return status;
    k->cube.pixels = k->pixels;
    k->cube.type = px->cube->type;
    k->cube.bands = k->bands;
    k->cube.interleave = px->layout;
    k->cube.swap_bytes = px->cube->swap_bytes;
    k->cube.band_list = k->list;
    k->cube.band_count = k->n;
    k->cube.has_nodata = px->cube->has_nodata;
    k->cube.nodata = px->cube->nodata;
    if (px->cube->mask || px->cube->mask_fn) k->cube.mask = k->mask;
    shs__cl_known_values(px, k);
    if (t->outputs) shs__cl_known_map(t, k);
    return SHS_OK;
}

/* count, sums and products of the pixels less the shift, or less their right neighbours, of every step-th band. */
SHS__PRIVATE void shs__cl_known_moments(const shs__cl_known_cube *k, int noise) {
    const size_t n = (size_t)k->n;
    shs_wide *sum = k->right + 1, *P = sum + n;
    size_t i, a, b;
    memset(k->right, 0, k->sums * sizeof *k->right);
    for (i = 0; i < k->count; i++) {
        const shs_wide *x = k->X + i * n, *next = x + n;
        if (!k->valid[i]) continue;
        if (noise && (i % SHS__CL_KNOWN_SAMPLES == SHS__CL_KNOWN_SAMPLES - 1 || !k->valid[i + 1])) continue;
        k->right[0]++;
        for (a = 0; a < n; a++) sum[a] += noise ? x[a] - next[a] : x[a] - (shs_wide)k->shift[a];
        for (b = 0; b < n; b += k->step) {
            const shs_wide y = noise ? x[b] - next[b] : x[b] - (shs_wide)k->shift[b];
            for (a = b; a < n; a++) P[b * n + a] += y * (noise ? x[a] - next[a] : x[a] - (shs_wide)k->shift[a]);
        }
    }
}

/* The map of every pixel, of every step-th output; 0 in the others. */
SHS__PRIVATE void shs__cl_known_outputs(const shs__cl_pixel_trial *t, const shs__cl_known_cube *k) {
    const size_t n = (size_t)k->n, m = (size_t)t->outputs, step = t->squares || t->stage >= SHS__CL_WHITENING ? 1 : k->step;
    size_t i, o, b;
    memset(k->out, 0, k->count * m * sizeof *k->out);
    for (i = 0; i < k->count; i++) {
        const shs_wide *x = k->X + i * n;
        shs_wide squares = 0;
        for (o = 0; o < m && k->valid[i]; o += step) {
            shs_wide y = k->maps.offset[o];
            for (b = 0; b < n; b++) y += k->maps.matrix[b * m + o] * (x[b] - k->maps.centre[b]);
            k->out[i * (size_t)k->rows + (t->squares ? 0 : o)] = y;
            squares += y * y;
        }
        if (t->squares) k->out[i] = squares;
    }
}

SHS__PRIVATE void shs__cl_known_range(const shs__cl_known_cube *k, shs_wide *low, shs_wide *high) {
    const size_t rows = (size_t)k->rows;
    size_t i, o;
    for (o = 0; o < rows; o++) {
        low[o] = SHS__WIDE_MAX;
        high[o] = -SHS__WIDE_MAX;
        for (i = 0; i < k->count; i++) {
            if (!k->valid[i]) continue;
            if (k->out[i * rows + o] < low[o]) low[o] = k->out[i * rows + o];
            if (k->out[i * rows + o] > high[o]) high[o] = k->out[i * rows + o];
        }
    }
}

/* exp x, since the library asks for none where it needs none: (Taylor's series of x / 256)^256. */
SHS__PRIVATE shs_wide shs__cl_exp(shs_wide x) {
    shs_wide y = x / 256, term = 1, sum = 1;
    int i;
    for (i = 1; i < 12; i++) {
        term *= y / (shs_wide)i;
        sum += term;
    }
    for (i = 0; i < 8; i++) sum *= sum;
    return sum;
}

SHS__PRIVATE void shs__cl_known_contrast(shs_contrast contrast, shs_wide y, shs_wide *g, shs_wide *slope) {
    const shs_wide e = shs__cl_exp(contrast == SHS_CONTRAST_TANH ? 2 * y : -y * y / 2);
    switch (contrast) {
    case SHS_CONTRAST_TANH:
        *g = 1 - 2 / (1 + e);
        *slope = 1 - *g * *g;
        break;
    case SHS_CONTRAST_GAUSS:
        *g = y * e;
        *slope = (1 - y * y) * e;
        break;
    case SHS_CONTRAST_SKEW:
        *g = y * y;
        *slope = 2 * y;
        break;
    default:
        *g = y * y * y;
        *slope = 3 * y * y;
        break;
    }
}

/* The sums of a sweep or of ratings over what the map made. */
SHS__PRIVATE void shs__cl_known_sweep(const shs__cl_pixel_trial *t, const shs__cl_known_cube *k) {
    const size_t m = (size_t)t->outputs, c = (size_t)t->directions;
    size_t i, d, a;
    memset(k->right, 0, k->sums * sizeof *k->right);
    for (i = 0; i < k->count; i++) {
        const shs_wide *z = k->out + i * m;
        if (!k->valid[i]) continue;
        k->right[0]++;
        for (d = 0; d < c; d++) {
            shs_wide y = 0, g, slope, size;
            for (a = 0; a < m; a++) y += k->maps.W[d * m + a] * z[a];
            size = shs__wabs(y);
            if (t->stage == SHS__CL_RATING) {
                k->right[1 + d] += y * y * y * y;
                k->right[1 + m + d] += size + SHS__WLOG(1 + shs__cl_exp(-2 * size)) - SHS__WLOG((shs_wide)2);
                continue;
            }
            shs__cl_known_contrast(t->contrast, y, &g, &slope);
            k->right[1 + d] += slope;
            for (a = 0; a < m; a++) k->right[1 + c + d * m + a] += g * z[a];
        }
    }
}

/* The Gram matrix of all z_a z_b, a <= b, b outermost, of every step-th row. */
SHS__PRIVATE void shs__cl_known_fourth(const shs__cl_pixel_trial *t, const shs__cl_known_cube *k) {
    const size_t m = (size_t)t->outputs, pairs = m * (m + 1) / 2;
    size_t i, a, b, q, row, column;
    memset(k->right, 0, k->sums * sizeof *k->right);
    for (i = 0; i < k->count; i++) {
        const shs_wide *z = k->out + i * m;
        if (!k->valid[i]) continue;
        k->right[0]++;
        if (!t->fourth) continue;
        for (column = 0; column < pairs; column += k->step) {
            shs_wide y;
            q = column;
            for (b = 0; q > b; b++) q -= b + 1;
            y = z[q] * z[b];
            row = 0;
            for (b = 0; b < m; b++)
                for (a = 0; a <= b; a++) {
                    if (row >= column) k->right[1 + column * pairs + row] += y * z[a] * z[b];
                    row++;
                }
        }
    }
}

/* Only what the host has formed of the n x n lower triangle is compared. */
SHS__PRIVATE void shs__cl_compare_triangle(const shs__cl_known_cube *k, size_t n, const shs_wide *got, const shs_wide *right,
                                           char *fault) {
    size_t b;
    for (b = 0; b < n; b += k->step)
        shs__cl_compare_wides("products of pixels", n - b, got + b * n + b, right + b * n + b, fault);
}

/* Compares the sink with the known outputs. Whole numbers may differ by half a unit. */
SHS__PRIVATE void shs__cl_compare_sink(const shs__cl_pixel_trial *t, const shs__cl_known_cube *k, const shs_sink *sink,
                                       char *fault) {
    const size_t rows = (size_t)k->rows, size = shs_type_size(sink->type);
    const int whole = sink->type != SHS_TYPE_REAL && sink->type != SHS_TYPE_F32 && sink->type != SHS_TYPE_F64;
    const int is_signed = sink->type == SHS_TYPE_I16 || sink->type == SHS_TYPE_I32;
    const int narrow = whole && size <= 2;
    const shs_wide half = whole ? (shs_wide)0.5 : 0;
    shs_wide largest = sink->rescale ? shs__wabs(sink->low) + shs__wabs(sink->high) : 0, most = 65535, x, y;
    size_t i, o;
    if (sink->type == SHS_TYPE_U8) most = 255;
    if (sink->type == SHS_TYPE_I16) most = 32767;
    for (i = 0; i < k->count * rows && !sink->rescale; i++)
        largest = shs__wabs(k->out[i]) > largest ? shs__wabs(k->out[i]) : largest;
    for (i = 0; i < k->count && !fault[0]; i++)
        for (o = 0; o < rows && !fault[0]; o += t->squares ? 1 : k->step) {
            x = shs__cl_get_value(sink->type, k->sink + shs__cl_place(sink->interleave, k->count, rows, i, o) * size);
            y = k->out[i * rows + o];
            if (sink->rescale) y = sink->low + (y - k->low[o]) / (k->high[o] - k->low[o]) * (sink->high - sink->low);
            if (whole && !is_signed && y < 0) y = 0;
            if (narrow && y > most) y = most;
            if (!k->valid[i]) y = 1;
            if (shs__wabs(x - y) <= half + (4 * SHS__CL_NEAR + (shs_wide)1e-6) * largest)
                continue; /* a sink may be of floats */
            shs__cl_append(fault, SHS__CL_FAULT, "an output of known pixels is not the CPU's: pixel ");
            shs__cl_append_number(fault, SHS__CL_FAULT, i);
            shs__cl_append(fault, SHS__CL_FAULT, ", output ");
            shs__cl_append_number(fault, SHS__CL_FAULT, o);
        }
}

/* Extremes, or outputs into memory like the sink. */
SHS__PRIVATE shs_status shs__cl_test_map(const shs__cl_pixel_trial *t, shs__cl_known_cube *k, void *session, char *fault) {
    shs_wide *low = k->got, *high = low + t->outputs;
    shs_sink sink = SHS_ZERO;
    size_t o;
    shs_status status;
    shs__cl_known_outputs(t, k);
    shs__cl_known_range(k, k->low, k->high);
    if (t->stage == SHS__CL_RANGE) {
        status = shs__cl_pixels_range(session, &k->maps.map, t->precise, t->squares, low, high);
        for (o = 0; o < (size_t)k->rows && status == SHS_OK; o += t->squares ? 1 : k->step) {
            shs_wide found[2], right[2];
            found[0] = low[o];
            found[1] = high[o];
            right[0] = k->low[o];
            right[1] = k->high[o];
            shs__cl_compare_wides("extremes of outputs", 2, found, right, fault);
        }
        return status;
    }
    sink.type = t->sink->type;
    sink.interleave = t->sink->interleave;
    sink.rescale = t->sink->rescale;
    sink.high = 200;
    sink.pixels = k->sink;
    memset(k->sink, 0x5a, k->count * (size_t)k->rows * shs_type_size(sink.type));
    for (o = 0; o < (size_t)k->rows; o++) { /* the outputs that the host has not formed are not compared */
        if (k->low[o] < k->high[o]) continue;
        k->low[o] = 0;
        k->high[o] = 1;
    }
    status = shs__cl_pixels_map(session, &k->maps.map, t->precise, t->squares, &sink, k->low, k->high, 1);
    if (status == SHS_OK) shs__cl_compare_sink(t, k, &sink, fault);
    return status;
}

/* Whitened pixels, and what is summed over them. */
SHS__PRIVATE shs_status shs__cl_test_white(const shs__cl_pixel_trial *t, shs__cl_known_cube *k, void *session, char *fault) {
    const size_t m = (size_t)t->outputs, c = (size_t)t->directions, pairs = m * (m + 1) / 2;
    shs_status status = shs__cl_pixels_whiten(session, &k->maps.map, t->fourth, k->got);
    shs__cl_known_outputs(t, k);
    if (status == SHS_OK && t->stage == SHS__CL_SWEEP)
        status = shs__cl_pixels_sweep(session, t->contrast, t->directions, k->maps.W, k->got);
    if (status == SHS_OK && t->stage == SHS__CL_RATING) status = shs__cl_pixels_rate(session, k->maps.W, k->got);
    if (status != SHS_OK) return status;
    if (t->stage == SHS__CL_WHITENING) {
        shs__cl_known_fourth(t, k);
        shs__cl_compare_wides("the number of pixels", 1, k->got, k->right, fault);
        if (t->fourth) shs__cl_compare_triangle(k, pairs, k->got + 1, k->right + 1, fault);
        return status;
    }
    shs__cl_known_sweep(t, k);
    shs__cl_compare_wides("the number of pixels", 1, k->got, k->right, fault);
    shs__cl_compare_wides("sums over sources", t->stage == SHS__CL_RATING ? m : c, k->got + 1, k->right + 1, fault);
    if (t->stage == SHS__CL_RATING) shs__cl_compare_wides("sums over sources", m, k->got + 1 + m, k->right + 1 + m, fault);
    else shs__cl_compare_wides("sums over sources", m * c, k->got + 1 + c, k->right + 1 + c, fault);
    return status;
}

SHS__PRIVATE shs_status shs__cl_test_moments(const shs__cl_pixel_trial *t, shs__cl_known_cube *k, void *session, char *fault) {
    const int noise = t->stage == SHS__CL_NOISE;
    const size_t n = (size_t)k->n;
    size_t b;
    shs_status status;
    for (b = 0; b < n; b++) k->shift[b] = (shs_real)(90 + b % 20);
    ((shs__cl_pixels *)session)->by_panels = !t->bytes;
    if (noise) status = shs__cl_pixels_noise(session, k->got);
    else status = shs__cl_pixels_moments(session, t->precise, 1, k->shift, k->got);
    if (status != SHS_OK) return status;
    shs__cl_known_moments(k, noise);
    shs__cl_compare_wides("the number of pixels", 1, k->got, k->right, fault);
    for (b = 0; b < n && !noise; b++) { /* about the shift they nearly cancel */
        k->got[1 + b] += k->got[0] * (shs_wide)k->shift[b];
        k->right[1 + b] += k->right[0] * (shs_wide)k->shift[b];
    }
    for (b = 0; b < n && noise; b++) { /* and those of differences too */
        k->got[1 + b] += 100 * k->got[0];
        k->right[1 + b] += 100 * k->right[0];
    }
    shs__cl_compare_wides("sums of pixels", n, k->got + 1, k->right + 1, fault);
    shs__cl_compare_triangle(k, n, k->got + 1 + n, k->right + 1 + n, fault);
    return status;
}

SHS__PRIVATE shs_status shs__cl_test_pixels(shs_cl *cl, const void *job, char *fault) {
    const shs__cl_pixel_trial *t = (const shs__cl_pixel_trial *)job;
    const shs_context cpu = shs__cl_cpu(cl);
    shs__cl_known_cube k;
    void *session = NULL;
    shs_status status;
    memset(&k, 0, sizeof k);
    status = shs__cl_known_cube_open(t, &k);
    if (status == SHS_OK) status = shs__cl_pixels_open(cl, &cpu, &k.cube, &session);
    if (status == SHS_OK && t->stage <= SHS__CL_NOISE) status = shs__cl_test_moments(t, &k, session, fault);
    else if (status == SHS_OK && t->stage <= SHS__CL_MAP) status = shs__cl_test_map(t, &k, session, fault);
    else if (status == SHS_OK) status = shs__cl_test_white(t, &k, session, fault);
    if (session) shs__cl_pixels_close(session);
    shs__layout_release(&cl->ctx, &k.host);
    return status;
}

/* Whether the kernels of the stage that the session is asked for are right. */
SHS__PRIVATE shs_status shs__cl_prove_pixels(shs__cl_pixels *px, shs__cl_pixel_trial *trial) {
    static const char *const names[] = {"products", "load", "extremes", "store", "whiten", "sweep", "sweep"};
    const char *const *const sources[] = {shs__cl_source_moments, shs__cl_source_pixels, shs__cl_source_map,
                                          shs__cl_source_map,     shs__cl_source_map,    shs__cl_source_sweep,
                                          shs__cl_source_sweep};
    shs__cl_build b = shs__cl_elem_build(px->cl, trial->precise);
    shs__cl_proof proof;
    if (!shs__cl_proves(px->cl)) return SHS_OK;
    if (trial->precise && shs__cl_elem_bytes(px->cl, 1) != sizeof(shs_wide)) return SHS_OK; /* it is refused anyway */
    trial->like = px;
    shs__cl_define_cube(px, &b);
    shs__cl_define(&b, "CHECKED", (size_t)shs__cl_checked(px) + 2 * (size_t)(px->cube->has_nodata != 0));
    shs__cl_define_int(&b, "BANDS", px->view.used);
    shs__cl_define_int(&b, "STAGE", (int)trial->stage);
    shs__cl_define_int(&b, "OUTPUTS", trial->outputs);
    shs__cl_define_int(&b, "HOW", (trial->squares != 0) + 2 * (trial->fourth != 0));
    if (trial->bytes) shs__cl_define_int(&b, "BYTES_WAY", shs__cl_bytes_way(px->cl));
    if (trial->directions) shs__cl_define_int(&b, "DIRECTIONS", trial->directions);
    if (trial->stage == SHS__CL_SWEEP) shs__cl_define_int(&b, "CONTRAST", (int)trial->contrast);
    if (trial->sink) shs__cl_define_sink(trial->sink, &b);
    proof = shs__cl_proof_of(sources[trial->stage], names[trial->stage], b.text, shs__cl_test_pixels, trial);
    if (trial->bytes) proof = shs__cl_proof_of(shs__cl_source_bytes, "byte_products", b.text, shs__cl_test_pixels, trial);
    return shs__cl_prove(px->cl, &proof);
}

/* ================================================================================================================== */
/* DEVICE AND ENGINE                                                                                                  */
/* ================================================================================================================== */

/* Lists devices, chooses one, makes and destroys the object. shs__cl_fill_engine gives sparsehs.h the stages of the sessions.
   Users call this part, and this part calls all others. */

/* ---- what there is ----------------------------------------------------------------------------------------------- */

#if defined(SPARSEHS_CL_DYNAMIC) && !defined(SPARSEHS_CL_SHIM)
/* Language rules convert no object pointer to one of a function, but here their bits are the same. */
SHS__PRIVATE void shs__cl_find(void *library, const char *name, void *entry) {
    shs__cl_address address = SHS__CL_FIND(library, name);
    memcpy(entry, &address, sizeof address);
}

/* The library stays open: drivers do not survive being unloaded. */
SHS__PRIVATE shs_status shs__cl_connect(shs_cl *cl) {
    void *library = SHS__CL_OPEN(SPARSEHS_CL_LIBRARY);
    int missing = 0;
    if (!library) {
        cl->failure.why = "there is no OpenCL library";
        return SHS_NO_DEVICE;
    }
#define SHS__CL_ENTRY(type, function, arguments)                                                                               \
    shs__cl_find(library, #function, &cl->api.function);                                                                       \
    missing |= !cl->api.function;
    SHS__CL_FUNCTIONS(SHS__CL_ENTRY)
#undef SHS__CL_ENTRY
    if (missing) cl->failure.why = "the OpenCL library is older than OpenCL 1.2";
    if (missing) return SHS_NO_DEVICE;
    return SHS_OK;
}
#else
SHS__PRIVATE shs_status shs__cl_connect(shs_cl *cl) {
    (void)cl;
    return SHS_OK;
}
#endif

/* A text about the platform or the device, cut to size; "" where it does not say, or says more than 511 bytes, which OpenCL does
   not cut. Without the allocator: a block that it refused would look like a device without a name or a version. */
SHS__PRIVATE void shs__cl_text(shs_cl *cl, cl_platform_id platform, cl_device_id device, cl_uint what, char *text,
                               size_t size) {
    char all[512] = "";
    cl_int error = device ? SHS__CL(clGetDeviceInfo)(device, what, sizeof all - 1, all, NULL)
                          : SHS__CL(clGetPlatformInfo)(platform, what, sizeof all - 1, all, NULL);
    text[0] = 0;
    if (!error) shs__cl_append(text, size, all);
}

SHS__PRIVATE size_t shs__cl_property_size(shs_cl *cl, cl_device_id device, cl_device_info what) {
    size_t value = 0;
    if (SHS__CL(clGetDeviceInfo)(device, what, sizeof value, &value, NULL)) return 0;
    return value;
}

SHS__PRIVATE cl_uint shs__cl_property_uint(shs_cl *cl, cl_device_id device, cl_device_info what) {
    cl_uint value = 0;
    if (SHS__CL(clGetDeviceInfo)(device, what, sizeof value, &value, NULL)) return 0;
    return value;
}

/* Also of the 64-bit flags; more than a size_t holds is cut. */
SHS__PRIVATE size_t shs__cl_property_ulong(shs_cl *cl, cl_device_id device, cl_device_info what) {
    cl_ulong value = 0;
    if (SHS__CL(clGetDeviceInfo)(device, what, sizeof value, &value, NULL)) return 0;
    if (value > SIZE_MAX) return SIZE_MAX;
    return (size_t)value;
}

/* "OpenCL 1.2 ..." or later. */
SHS__PRIVATE int shs__cl_is_recent(const char *version) {
    int minor = 0;
    if (strncmp(version, "OpenCL ", 7) != 0 || version[7] < '1' || version[7] > '9') return 0;
    if (version[8] == '.' && version[9] >= '0' && version[9] <= '9') minor = version[9] - '0';
    return version[7] > '1' || version[8] != '.' || minor >= 2;
}

SHS__PRIVATE void shs__cl_describe(shs_cl *cl, cl_platform_id platform, cl_device_id device, shs_cl_device *about) {
    size_t type = shs__cl_property_ulong(cl, device, CL_DEVICE_TYPE);
    memset(about, 0, sizeof *about);
    shs__cl_text(cl, platform, NULL, CL_PLATFORM_NAME, about->platform, sizeof about->platform);
    shs__cl_text(cl, platform, device, CL_DEVICE_NAME, about->name, sizeof about->name);
    shs__cl_text(cl, platform, device, CL_DEVICE_VERSION, about->version, sizeof about->version);
    shs__cl_text(cl, platform, device, CL_DRIVER_VERSION, about->driver, sizeof about->driver);
    if (type & CL_DEVICE_TYPE_GPU) about->kind = SHS_CL_GPU;
    else if (type & CL_DEVICE_TYPE_CPU) about->kind = SHS_CL_CPU;
    else about->kind = SHS_CL_ACCELERATOR;
    about->has_compiler = shs__cl_property_uint(cl, device, CL_DEVICE_COMPILER_AVAILABLE) != 0;
    about->has_double = shs__cl_property_ulong(cl, device, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
    about->unified = shs__cl_property_uint(cl, device, CL_DEVICE_HOST_UNIFIED_MEMORY) != 0;
    about->units = (int)shs__cl_property_uint(cl, device, CL_DEVICE_MAX_COMPUTE_UNITS);
    about->clock_mhz = (int)shs__cl_property_uint(cl, device, CL_DEVICE_MAX_CLOCK_FREQUENCY);
    about->memory = shs__cl_property_ulong(cl, device, CL_DEVICE_GLOBAL_MEM_SIZE);
    about->max_alloc = shs__cl_property_ulong(cl, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    about->local_bytes = shs__cl_property_ulong(cl, device, CL_DEVICE_LOCAL_MEM_SIZE);
    about->max_group = shs__cl_property_size(cl, device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
    about->usable = shs__cl_property_uint(cl, device, CL_DEVICE_AVAILABLE) && shs__cl_is_recent(about->version) &&
                    about->max_group > 0 && about->max_alloc > 0 && (sizeof(shs_real) == 4 || about->has_double);
}

/* Called for each device in turn; non-zero ends the visits. */
typedef int (*shs__cl_visit_fn)(shs_cl *cl, void *arg, cl_platform_id platform, cl_device_id device);

/* The ids in a block that the caller frees; none is no error: *count is 0. */
SHS__PRIVATE shs_status shs__cl_platforms(shs_cl *cl, cl_platform_id **ids, cl_uint *count) {
    const cl_int none = -1001; /* what the loader says when it finds no driver */
    cl_int error = SHS__CL(clGetPlatformIDs)(0, NULL, count);
    *ids = NULL;
    if (error == none || (!error && *count == 0)) {
        *count = 0;
        return SHS_OK;
    }
    if (error) return shs__cl_check(cl, error);
    *ids = (cl_platform_id *)shs__cl_alloc(cl, *count * sizeof **ids);
    if (!*ids) return SHS_NO_MEMORY;
    return shs__cl_check(cl, SHS__CL(clGetPlatformIDs)(*count, *ids, NULL));
}

SHS__PRIVATE shs_status shs__cl_visit_platform(shs_cl *cl, cl_platform_id platform, cl_device_type type, shs__cl_visit_fn visit,
                                               void *arg, int *ended) {
    cl_uint count = 0, i;
    cl_device_id *ids;
    cl_int error = SHS__CL(clGetDeviceIDs)(platform, type, 0, NULL, &count);
    if (error == CL_DEVICE_NOT_FOUND || count == 0) return SHS_OK;
    if (error) return shs__cl_check(cl, error);
    ids = (cl_device_id *)shs__cl_alloc(cl, count * sizeof *ids);
    if (!ids) return SHS_NO_MEMORY;
    error = SHS__CL(clGetDeviceIDs)(platform, type, count, ids, NULL);
    for (i = 0; !error && i < count && !*ended; i++) *ended = visit(cl, arg, platform, ids[i]);
    shs__cl_free(cl, ids);
    return shs__cl_check(cl, error);
}

/* GPUs, then accelerators, then CPUs: the order of shs_cl_list. */
SHS__PRIVATE shs_status shs__cl_visit(shs_cl *cl, shs__cl_visit_fn visit, void *arg) {
    const cl_device_type types[3] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_CPU};
    cl_platform_id *platforms;
    cl_uint count = 0, i;
    int t, ended = 0;
    shs_status status = shs__cl_platforms(cl, &platforms, &count);
    for (t = 0; t < 3; t++)
        for (i = 0; status == SHS_OK && i < count && !ended; i++)
            status = shs__cl_visit_platform(cl, platforms[i], types[t], visit, arg, &ended);
    shs__cl_free(cl, platforms);
    return status;
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

typedef struct shs__cl_listing {
    shs_cl_device *devices;
    int capacity, count;
} shs__cl_listing;

SHS__PRIVATE int shs__cl_list_one(shs_cl *cl, void *arg, cl_platform_id platform, cl_device_id device) {
    shs__cl_listing *list = (shs__cl_listing *)arg;
    if (list->devices && list->count < list->capacity) shs__cl_describe(cl, platform, device, list->devices + list->count);
    list->count++;
    return 0;
}

/* An object that can call OpenCL, but has no device yet. */
SHS__PRIVATE shs_status shs__cl_new(const shs_context *ctx, shs_cl **made) {
    shs_cl *cl = (shs_cl *)shs__ctx_alloc(ctx, sizeof *cl);
    *made = cl;
    if (!cl) return SHS_NO_MEMORY;
    memset(cl, 0, sizeof *cl);
    if (ctx) cl->ctx = *ctx;
    return shs__cl_connect(cl);
}

SHS__PUBLIC shs_status shs_cl_list(const shs_context *ctx, shs_cl_device *devices, int capacity, int *count) {
    shs__cl_listing list = SHS_ZERO;
    shs_cl *cl = NULL;
    shs_status status = shs__ctx_check(ctx);
    if (!count) return SHS_BAD_OUTPUT;
    if (status != SHS_OK) return status;
    list.devices = devices;
    list.capacity = capacity;
    status = shs__cl_new(ctx, &cl);
    if (status == SHS_OK) status = shs__cl_visit(cl, shs__cl_list_one, &list);
    else if (status == SHS_NO_DEVICE) status = SHS_OK;
    shs__ctx_free(ctx, cl);
    if (status == SHS_OK) *count = list.count;
    return status;
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

typedef struct shs__cl_choice {
    int seen, left; /* devices at all; matching ones to pass over */
} shs__cl_choice;

SHS__PRIVATE int shs__cl_try(shs_cl *cl, void *arg, cl_platform_id platform, cl_device_id device) {
    shs__cl_choice *choice = (shs__cl_choice *)arg;
    const shs_cl_options *o = &cl->options;
    shs__cl_describe(cl, platform, device, &cl->about);
    choice->seen++;
    if (!cl->about.usable || (o->kind != SHS_CL_ANY && o->kind != cl->about.kind)) return 0;
    if (o->platform && !shs__cl_contains(cl->about.platform, o->platform)) return 0;
    if (o->name && !shs__cl_contains(cl->about.name, o->name)) return 0;
    if (!cl->about.has_compiler && !o->load_fn) return 0;
    if (choice->left-- > 0) return 0;
    cl->device = device;
    return 1;
}

SHS__PRIVATE shs_status shs__cl_choose(shs_cl *cl) {
    shs__cl_choice choice = SHS_ZERO;
    cl_int error = CL_SUCCESS;
    shs_status status;
    choice.left = cl->options.index;
    status = shs__cl_visit(cl, shs__cl_try, &choice);
    if (status == SHS_OK && !cl->device) {
        if (choice.seen) cl->failure.why = "no usable OpenCL device matches the options";
        else cl->failure.why = "there is no OpenCL device";
        return SHS_NO_DEVICE;
    }
    if (status != SHS_OK) {
        cl->device = NULL;
        return status;
    }
    error = SHS__CL(clRetainDevice)(cl->device);
    if (error) cl->device = NULL;
    else cl->context = SHS__CL(clCreateContext)(NULL, 1, &cl->device, NULL, NULL, &error);
    if (error) cl->context = NULL;
    status = shs__cl_check(cl, error);
    return status == SHS_DEVICE_LOST ? SHS_NO_DEVICE : status; /* what never was there is not lost */
}

/* The caller's queue keeps the order of its commands, and belongs to the context and the device, or it is of no use here. */
SHS__PRIVATE shs_status shs__cl_adopt_queue(shs_cl *cl) {
    cl_command_queue queue = (cl_command_queue)cl->options.queue;
    cl_command_queue_properties properties = 0;
    cl_context context = NULL;
    cl_device_id device = NULL;
    cl_int error;
    if (!queue) return SHS_OK;
    error = SHS__CL(clGetCommandQueueInfo)(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
    if (!error) error = SHS__CL(clGetCommandQueueInfo)(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    if (!error) error = SHS__CL(clGetCommandQueueInfo)(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    if (error) return shs__cl_check(cl, error);
    if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) cl->failure.why = "options.queue is not in order";
    else if (context != cl->context) cl->failure.why = "options.queue is of another context than options.context";
    else if (device != cl->device) cl->failure.why = "options.queue is of another device than options.device_id";
    if (cl->failure.why) return SHS_BAD_OPTIONS;
    error = SHS__CL(clRetainCommandQueue)(queue);
    if (!error) cl->queue[0] = queue;
    cl->clock.profiles[0] = cl->options.profile && (properties & CL_QUEUE_PROFILING_ENABLE);
    return shs__cl_check(cl, error);
}

/* Whether a context that does not list a part of a device (clCreateSubDevices) takes it all the same: PoCL 3.1 lists whole devices
   only. Whole devices are not tried, as a driver need not survive one of another driver. */
SHS__PRIVATE int shs__cl_takes_part(shs_cl *cl, cl_context context, cl_device_id part) {
    cl_device_id whole = NULL;
    cl_command_queue queue;
    cl_int error = SHS__CL(clGetDeviceInfo)(part, CL_DEVICE_PARENT_DEVICE, sizeof whole, &whole, NULL);
    if (error || !whole) return 0;
    queue = SHS__CL(clCreateCommandQueue)(context, part, 0, &error);
    if (error) return 0;
    SHS__CL(clReleaseCommandQueue)(queue);
    return 1;
}

/* *device: the one that options.device_id names, or that of options.queue, or the first of the caller's context. */
SHS__PRIVATE shs_status shs__cl_device_of_context(shs_cl *cl, cl_context context, cl_device_id *device) {
    const cl_device_id asked = (cl_device_id)cl->options.device_id;
    const cl_command_queue queue = (cl_command_queue)cl->options.queue;
    cl_device_id *all;
    size_t size = 0, i = 0;
    cl_int error;
    *device = NULL;
    if (queue && !asked)
        return shs__cl_check(cl, SHS__CL(clGetCommandQueueInfo)(queue, CL_QUEUE_DEVICE, sizeof *device, device, NULL));
    error = SHS__CL(clGetContextInfo)(context, CL_CONTEXT_DEVICES, 0, NULL, &size);
    if (error) return shs__cl_check(cl, error);
    all = (cl_device_id *)shs__cl_alloc(cl, size);
    if (!all) return SHS_NO_MEMORY;
    error = SHS__CL(clGetContextInfo)(context, CL_CONTEXT_DEVICES, size, all, NULL);
    while (!error && asked && i < size / sizeof *all && all[i] != asked) i++;
    if (!error && i < size / sizeof *all) *device = all[i];
    shs__cl_free(cl, all);
    if (error) return shs__cl_check(cl, error);
    if (*device) return SHS_OK;
    if (asked && shs__cl_takes_part(cl, context, asked)) {
        *device = asked;
        return SHS_OK;
    }
    cl->failure.why = "options.device_id is not among the devices of options.context";
    return SHS_BAD_OPTIONS;
}

/* The caller's own device. */
SHS__PRIVATE shs_status shs__cl_adopt(shs_cl *cl) {
    cl_context context = (cl_context)cl->options.context;
    cl_device_id device = NULL;
    cl_platform_id platform = NULL;
    cl_int error;
    shs_status status = shs__cl_device_of_context(cl, context, &device);
    if (status != SHS_OK) return status;
    error = SHS__CL(clGetDeviceInfo)(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    if (!error) shs__cl_describe(cl, platform, device, &cl->about);
    if (!error && !cl->about.usable) {
        cl->failure.why = "the caller's device is not fit: OpenCL 1.2, and doubles where shs_real is double";
        return SHS_NO_DEVICE;
    }
    if (!error) error = SHS__CL(clRetainDevice)(device);
    if (!error) cl->device = device;
    if (!error) error = SHS__CL(clRetainContext)(context);
    if (!error) cl->context = context;
    if (error) return shs__cl_check(cl, error);
    return shs__cl_adopt_queue(cl);
}

/* ---- the object's life ------------------------------------------------------------------------------------------- */

/* Inline PTX is no part of OpenCL: whether NVIDIA's compiler takes a shuffle, and does it right, is found out by
   trying. */
SHS__PRIVATE const char *const shs__cl_source_probe[] = {
    "__kernel void probe(__global uint *out) {\n",
    "    uint mine = (uint)get_local_id(0) * 3u, other;\n",
    "    __asm volatile(\"shfl.sync.bfly.b32 %0, %1, 5, 31, -1;\" : \"=r\"(other) : \"r\"(mine));\n",
    "    out[get_local_id(0)] = other;\n",
    "}\n",
    NULL};

SHS__PRIVATE shs_status shs__cl_run_probe(shs_cl *cl, cl_uint *got) {
    const size_t size = 32;
    cl_mem buffer = NULL;
    shs__cl_call call;
    shs_status status = shs__cl_buffer(cl, size * sizeof *got, &buffer);
    if (status != SHS_OK) return status;
    call = shs__cl_begin(cl, shs__cl_source_probe, "", "probe");
    shs__cl_pass_buffer(&call, buffer);
    status = shs__cl_launch(&call, 1, size, 1, 1, "probe");
    if (status == SHS_OK) status = shs__cl_read(cl, 0, buffer, 0, size * sizeof *got, got);
    shs__cl_release(cl, &buffer);
    return status;
}

SHS__PRIVATE void shs__cl_probe(shs_cl *cl) {
    cl_uint got[32], i;
    int right;
    memset(got, 0, sizeof got);
    if (!shs__cl_contains(cl->about.platform, "nvidia")) return;
    right = shs__cl_run_probe(cl, got) == SHS_OK;
    for (i = 0; i < 32; i++) right &= got[i] == (i ^ 5u) * 3u;
    cl->ways.ptx = right;
    if (right && cl->has_double) cl->ways.units64 = 2;
    else cl->ways.units64 = 0;
    shs__cl_forget_failure(cl);
}

/* Whether kernels may ask for sub-groups. Intel's extension has them in OpenCL C 1.2, that of Khronos in 2.0. Their size is the
   compiler's choice for each kernel, and omp_warp takes any, so that no entry point beyond OpenCL 1.2 is needed. On Intel's runtime
   for processors omp_warp then coded 160 k signals/s instead of 107 k (64 x 256, s 8), and 101 k instead of 89 k (64 x 128, s 16).
   Of sizes asked for, 16 was as fast as the compiler's choice, 8 up to a quarter slower, and 64 slower than local memory. The
   update of 256 atoms took as long with them as without. lasso.cl is without them: 512 signals took 3.3 s with, 0.6 s through local
   memory, to the same coefficients. */
SHS__PRIVATE void shs__cl_find_sub_groups(shs_cl *cl, const char *all) {
    if (shs__cl_contains(all, "cl_intel_subgroups")) {
        cl->ways.sub_groups = " -D SUB_GROUPS=1";
        cl->ways.shuffle_xor = " -D SHUFFLE_XOR=intel_sub_group_shuffle_xor";
    } else if (shs__cl_contains(all, "cl_khr_subgroups")) {
        cl->ways.sub_groups = " -cl-std=CL2.0 -D SUB_GROUPS=1";
        if (shs__cl_contains(all, "cl_khr_subgroup_shuffle")) cl->ways.shuffle_xor = " -D SHUFFLE_XOR=sub_group_shuffle_xor";
    }
}

/* Compilers that have the extension have its functions on every device, mostly without an instruction. Version 2 of it tells. */
SHS__PRIVATE void shs__cl_find_dot_products(shs_cl *cl, const char *all) {
    enum { ACCELERATED = 0x1074, OF_UNSIGNED = 1, KINDS = 6 }; /* CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_8BIT_KHR */
    cl_bool kinds[KINDS] = {0};
    if (!shs__cl_contains(all, "cl_khr_integer_dot_product")) return;
    if (SHS__CL(clGetDeviceInfo)(cl->device, ACCELERATED, sizeof kinds, kinds, NULL) != CL_SUCCESS) return;
    cl->ways.dot_products = kinds[OF_UNSIGNED] != 0;
}

SHS__PRIVATE shs_status shs__cl_find_extensions(shs_cl *cl) {
    size_t size = 0;
    char *all;
    cl_int error = SHS__CL(clGetDeviceInfo)(cl->device, CL_DEVICE_EXTENSIONS, 0, NULL, &size);
    if (error || size == 0) return SHS_OK;
    all = (char *)shs__cl_alloc(cl, size + 1);
    if (!all) return SHS_NO_MEMORY;
    error = SHS__CL(clGetDeviceInfo)(cl->device, CL_DEVICE_EXTENSIONS, size, all, NULL);
    if (!error) {
        shs__cl_find_sub_groups(cl, all);
        shs__cl_find_dot_products(cl, all);
    }
    shs__cl_free(cl, all);
    return SHS_OK;
}

/* Mesa's llvmpipe ends all loops of a work-item when the item has made 65,535 rounds in all its loops together
   (LP_MAX_TGSI_LOOP_ITERATIONS), and goes on behind the loop. Kernels with more rounds have wrong results there. */
enum { SHS__CL_WALK_ITEMS = 8, SHS__CL_WALK_ROUNDS = 300, SHS__CL_WALK_STEPS = 700 };
SHS__PRIVATE const char *const shs__cl_source_walk[] = {
    "__kernel void walk(int rounds, int steps, __global uint *out) {\n",
    "    uint x = (uint)get_global_id(0);\n",
    "    int i, j;\n",
    "    for (i = 0; i < rounds; i++)\n",
    "        for (j = 0; j < steps; j++) x = x * 1664525u + 1013904223u;\n",
    "    out[get_global_id(0)] = x;\n",
    "}\n",
    NULL};

SHS__PRIVATE shs_status shs__cl_test_walk(shs_cl *cl, const void *job, char *fault) {
    cl_uint got[SHS__CL_WALK_ITEMS], x, i;
    cl_mem buffer = NULL;
    shs__cl_call call;
    int round;
    shs_status status = shs__cl_buffer(cl, sizeof got, &buffer);
    (void)job;
    if (status != SHS_OK) return status;
    call = shs__cl_begin(cl, shs__cl_source_walk, "", "walk");
    shs__cl_pass_int(&call, SHS__CL_WALK_ROUNDS);
    shs__cl_pass_int(&call, SHS__CL_WALK_STEPS);
    shs__cl_pass_buffer(&call, buffer);
    status = shs__cl_launch(&call, SHS__CL_WALK_ITEMS / 2, 2, 1, 1, "self-test");
    if (status == SHS_OK) status = shs__cl_read(cl, 0, buffer, 0, sizeof got, got);
    shs__cl_release(cl, &buffer);
    for (i = 0; i < SHS__CL_WALK_ITEMS && status == SHS_OK && !fault[0]; i++) {
        x = i;
        for (round = 0; round < SHS__CL_WALK_ROUNDS * SHS__CL_WALK_STEPS; round++) x = x * 1664525u + 1013904223u;
        if (got[i] != x) shs__cl_append(fault, SHS__CL_FAULT, "loops of 210000 rounds in all end too early, or count wrong");
    }
    return status;
}

/* Whether the driver is fit for any kernel. */
SHS__PRIVATE shs_status shs__cl_prove_driver(shs_cl *cl) {
    const shs__cl_proof proof = shs__cl_proof_of(shs__cl_source_walk, "walk", "", shs__cl_test_walk, NULL);
    const char *fault = "";
    shs_status status;
    if (cl->options.trust) return SHS_OK;
    status = shs__cl_verdict_on(cl, &proof, &fault);
    if (status == SHS_BUILD_FAILED) { /* a device that runs stored programs only, and this program is not stored */
        shs__cl_forget_failure(cl);
        return SHS_OK;
    }
    if (status != SHS_OK || !fault[0]) return status;
    shs__cl_tell_fault(cl, proof.kernel, fault, "; the device is not used");
    cl->failure.why = cl->about.fault;
    return SHS_NO_DEVICE;
}

SHS__PRIVATE void shs__cl_take_limits(shs_cl *cl) {
    const shs_cl_device *d = &cl->about;
    cl->has_double = d->has_double && sizeof(shs_wide) == 8 && (sizeof(shs_real) == 8 || !cl->options.single_only);
    cl->ways.is_cpu = d->kind == SHS_CL_CPU;
    if (!cl->options.keep) {
        cl->options.keep = SHS_CL_KEEP_VERDICTS;
        if (!shs__cl_contains(d->platform, "Portable Computing Language")) cl->options.keep |= SHS_CL_KEEP_PROGRAMS;
    }
    while ((size_t)cl->options.group_items > cl->about.max_group) cl->options.group_items /= 2;
    cl->units = (cl_uint)shs__imax(d->units, 1);
    cl->limit = d->memory - d->memory / 16; /* the driver and the display live there too */
    if (cl->options.memory_limit) cl->limit = shs__zmin(cl->limit, cl->options.memory_limit);
    if (cl->options.staging) cl->staging.part = cl->options.staging;
    else if (cl->about.unified || cl->ways.is_cpu) cl->staging.part = 0;
    else cl->staging.part = (size_t)32 << 20;
    if (cl->staging.part < 1024) cl->staging.part = 0;
    else cl->staging.part = cl->staging.part / SHS__CL_STAGE_SLOTS / 8 * 8;
}

SHS__PRIVATE shs_status shs__cl_open(shs_cl *cl) {
    cl_command_queue_properties properties = cl->options.profile ? CL_QUEUE_PROFILING_ENABLE : 0;
    cl_int error = CL_SUCCESS;
    int i;
    shs_status status = cl->options.context ? shs__cl_adopt(cl) : shs__cl_choose(cl);
    for (i = 0; status == SHS_OK && i < 2; i++) {
        if (cl->queue[i]) continue;
        cl->queue[i] = SHS__CL(clCreateCommandQueue)(cl->context, cl->device, properties, &error);
        if (error) cl->queue[i] = NULL;
        cl->clock.profiles[i] = cl->options.profile != 0;
        status = shs__cl_check(cl, error);
    }
    if (status != SHS_OK) return status;
    shs__cl_take_limits(cl);
    shs__cl_probe(cl);
    status = shs__cl_find_extensions(cl);
    if (status != SHS_OK) return status;
    return shs__cl_prove_driver(cl);
}

/* The stages that the parts above supply. */
SHS__PRIVATE void shs__cl_fill_engine(shs_cl *cl) {
    shs_engine *e = &cl->engine;
    e->fallback = cl->options.fallback;
    e->user = cl;
    e->product = shs__cl_product;
    e->codes_round = shs__cl_codes_round;
    e->signals_grouped = 1;
    e->signals_cross = shs__cl_signals_cross;
    e->signals_descend = shs__cl_signals_descend;
    e->signals_open = shs__cl_signals_open;
    e->signals_dictionary = shs__cl_signals_dictionary;
    e->signals_code = shs__cl_signals_code;
    e->signals_residual = shs__cl_signals_residual;
    e->signals_gather = shs__cl_signals_gather;
    e->signals_update = shs__cl_signals_update;
    e->signals_round = shs__cl_signals_round;
    e->signals_fetch = shs__cl_signals_fetch;
    e->signals_close = shs__cl_signals_close;
    e->pixels_open = shs__cl_pixels_open;
    e->pixels_moments = shs__cl_pixels_moments;
    e->pixels_noise = shs__cl_pixels_noise;
    e->pixels_range = shs__cl_pixels_range;
    e->pixels_map = shs__cl_pixels_map;
    e->pixels_whiten = shs__cl_pixels_whiten;
    e->pixels_sweep = shs__cl_pixels_sweep;
    e->pixels_rate = shs__cl_pixels_rate;
    e->pixels_close = shs__cl_pixels_close;
}

SHS__PRIVATE shs_status shs__cl_check_options(const shs_cl_options *o) {
    if ((unsigned)o->kind > SHS_CL_CPU || (unsigned)o->coder > SHS_CL_CODER_GENERAL || (unsigned)o->syrk > SHS_CL_SYRK_UNITS ||
        o->index < 0 ||
        (!o->context && (o->device_id || o->queue)))
        return SHS_BAD_OPTIONS;
    if (o->without >= 2 * SHS_CL_WITHOUT_UNITS || o->keep >= 2 * SHS_CL_KEEP_TUNING) return SHS_BAD_OPTIONS;
    if (o->group_items && o->group_items != 128 && o->group_items != 256 && o->group_items != 512 && o->group_items != 1024)
        return SHS_BAD_OPTIONS;
    return SHS_OK;
}

/* Writes why there is no object to `reason`, unless a reason stands there. */
SHS__PRIVATE void shs__cl_tell_reason(const shs_cl *cl, shs_status status, char *reason, size_t size) {
    const char *why = shs_status_text(status);
    if (!reason || reason[0]) return;
    if (cl && cl->failure.why) why = cl->failure.why;
    else if (cl && cl->failure.error) why = shs__cl_error_name(cl->failure.error);
    shs__cl_append(reason, size, why);
}

/* The object, of the device `skipped` behind the one that the options ask for. *unfit: it did not pass its self-test. */
SHS__PRIVATE shs_status shs__cl_make(const shs_context *ctx, const shs_cl_options *options, int skipped, shs_cl **cl,
                                     int *unfit) {
    shs_status status = shs__cl_new(ctx, cl);
    *unfit = 0;
    if (status != SHS_OK) return status;
    if (options) (*cl)->options = *options;
    (*cl)->options.index += skipped;
    status = shs__cl_open(*cl);
    *unfit = status == SHS_NO_DEVICE && (*cl)->about.fault[0] != 0;
    return status;
}

SHS__PUBLIC shs_status shs_cl_create(const shs_context *ctx, const shs_cl_options *options, shs_cl **made) {
    char *reason = options && options->reason_size ? options->reason : NULL;
    const size_t reason_size = reason ? options->reason_size : 0;
    const int named = options && (options->context || options->index > 0);
    shs_cl *cl = NULL;
    shs_status status = shs__ctx_check(ctx);
    int skipped = 0, unfit = 0;
    if (reason) reason[0] = 0;
    if (!made) return SHS_BAD_OUTPUT;
    *made = NULL;
    if (status == SHS_OK && options) status = shs__cl_check_options(options);
    if (status == SHS_OK) status = shs__cl_make(ctx, options, 0, &cl, &unfit);
    while (unfit && !named) {
        shs__cl_tell_reason(cl, status, reason, reason_size);
        shs_cl_destroy(cl);
        status = shs__cl_make(ctx, options, ++skipped, &cl, &unfit);
    }
    if (status == SHS_OK) {
        cl->options.platform = cl->options.name = NULL; /* the caller's texts need not live longer */
        shs__cl_fill_engine(cl);
        *made = cl;
        if (reason) reason[0] = 0;
        return SHS_OK;
    }
    shs__cl_tell_reason(cl, status, reason, reason_size);
    shs_cl_destroy(cl);
    return status;
}

SHS__PUBLIC void shs_cl_destroy(shs_cl *cl) {
    shs_context ctx;
    int i;
    if (!cl) return;
    shs__cl_collect(cl);
    for (i = 0; i < 2; i++)
        if (cl->queue[i]) shs__cl_finish(cl, i);
    while (cl->pinned) shs_cl_host_free(cl, cl->pinned->memory);
    shs_cl_trim(cl);
    while (cl->programs) {
        shs__cl_program *p = cl->programs;
        cl->programs = p->next;
        shs__cl_program_free(cl, p);
    }
    while (cl->tuned) {
        shs__cl_tuned *t = cl->tuned;
        cl->tuned = t->next;
        shs__cl_free(cl, t);
    }
    while (cl->verdicts) {
        shs__cl_verdict *v = cl->verdicts;
        cl->verdicts = v->next;
        shs__cl_free(cl, v);
    }
    while (cl->clock.stages) {
        shs__cl_stage_node *s = cl->clock.stages;
        cl->clock.stages = s->next;
        shs__cl_free(cl, s);
    }
    for (i = 0; i < 2; i++)
        if (cl->queue[i]) SHS__CL(clReleaseCommandQueue)(cl->queue[i]);
    if (cl->context) SHS__CL(clReleaseContext)(cl->context);
    if (cl->device) SHS__CL(clReleaseDevice)(cl->device);
    shs__cl_free(cl, cl->failure.log);
    ctx = cl->ctx;
    shs__ctx_free(&ctx, cl);
}

SHS__PUBLIC const shs_engine *shs_cl_engine(shs_cl *cl) { return cl ? &cl->engine : NULL; }
SHS__PUBLIC const shs_cl_device *shs_cl_about(const shs_cl *cl) { return cl ? &cl->about : NULL; }
SHS__PUBLIC const char *shs_cl_device_name(const shs_cl *cl) { return cl ? cl->about.name : ""; }
SHS__PUBLIC const char *shs_cl_build_log(const shs_cl *cl) { return cl && cl->failure.log ? cl->failure.log : ""; }
SHS__PUBLIC const char *shs_cl_error_text(const shs_cl *cl) {
    if (!cl) return shs__cl_error_name(CL_SUCCESS);
    if (cl->failure.memory[0]) return cl->failure.memory;
    return shs__cl_error_name(cl->failure.error);
}

#endif /* SPARSEHS_CL_IMPLEMENTATION_ONCE */
#endif /* SPARSEHS_CL_IMPLEMENTATION */

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
