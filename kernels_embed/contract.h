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
