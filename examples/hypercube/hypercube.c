/* hypercube.c - analyses an image cube in ENVI's format, of any size: principal components, minimum noise fraction,
   independent components, noise reduction, anomalies, targets, mixtures.

       cc -O3 -fopenmp hypercube/hypercube.c -o hypercube -lm
       ./hypercube synthesise scene.hdr                                    (a small scene, where no cube is at hand)
       ./hypercube auto scene.hdr look                                     (all steps at once, and a page of them)
       ./hypercube info scene.hdr
       ./hypercube pca scene.hdr pc.hdr --bbl --components 10 --quicklook pc.png --report pc.csv
       ./hypercube ica scene.hdr ic.hdr --bbl --components 8 --contrast tanh --symmetric
       ./hypercube ica scene.hdr ic.hdr --bbl --threshold 20 --route sweep --plain-steps --iterations 20 --tolerance -1
           --restarts 0 --device gpu                                       (G-FastICA as its paper has it)
       ./hypercube rx scene.hdr rx.hdr --bbl --truth scene_truth.hdr --quicklook rx.png
       ./hypercube detect scene.hdr ace.hdr --bbl --target spectra.csv --method ace --truth scene_truth.hdr --roc roc.svg
       ./hypercube count scene.hdr --bbl
       ./hypercube endmembers scene.hdr spectra.csv --bbl --method nfindr --count 5
       ./hypercube unmix scene.hdr shares.hdr --bbl --endmembers spectra.csv --quicklook shares.png
       ./hypercube pca scene.hdr pc.hdr --components 10 --save scene.model --html pc.html
       ./hypercube apply scene.model other.hdr pc2.hdr
       ./hypercube export scene.model scene.h                              (C arrays, for a microcontroller)
       ./hypercube pca huge.hdr pc.hdr --components 10 --block 16          (16 lines in memory at a time)

   A cube is two files: NAME.hdr says in text what NAME.img (.dat, .raw ... or no extension) holds in bytes. Either may be
   named, and --data FILE names a data file that is called otherwise.

   This folder is one program, and this file the only one to compile. From the lowest: envi.h reads cubes and envi_write.h
   writes them; wavelengths.h knows units of wavelengths and scales.h scales of values; options.h says what may be asked for,
   select.h which bands and pixels that means, noise.h what noise is; job.h is one cube in and one out; count.h counts
   materials, badbands.h finds bands without use; pixelwise.h makes cubes pixel by pixel, spectra.h, places.h, indices.h,
   correct.h and compare.h say of what; report.h prints and draws, html.h a whole page; models.h keeps fits, tables.h reads
   spectra, targets.h knows spectra, detect.h and similarity.h look for them, unmix.h says what pixels are mixed of,
   sparse.h of which spectra of a library, and shares.h how well; commands.h has a function for each other mode, convert.h and scene.h those that compute no components;
   auto.h runs many commands, auto_page.h shows what they wrote. */
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64 /* a cube outgrows 2 GB, also where a long has 32 bits */
#endif
#include "../example.h"
#define SPARSEHS_IMPLEMENTATION
#include "../../sparsehs.h"
#ifdef EXAMPLE_OPENCL /* for --device */
#define SPARSEHS_CL_IMPLEMENTATION
#include "../../sparsehs_cl.h"
#endif
#include "auto.h"
#include "commands.h"
#include "compare.h"
#include "convert.h"
#include "correct.h"
#include "detect.h"
#include "indices.h"
#include "scene.h"
#include "spectra.h"
#include "unmix.h"

/* A stream is worked on in many short parallel regions, and at the end of each OpenMP's threads spin for milliseconds before
   they sleep: on processors that the thread which reads ahead, or another program, could use. How they wait is decided before
   main, so the program begins once more with other words for it. Whoever has said how they shall wait is not contradicted. */
static void wait_asleep(int argc, char **argv) {
#if defined(_OPENMP) && defined(__linux__)
    int i;
    for (i = 1; i < argc && strncmp(argv[i], "--block", 7); i++) {}
    if (i >= argc || getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT") || getenv("KMP_BLOCKTIME")) return;
    if (!setenv("OMP_WAIT_POLICY", "passive", 1)) execv("/proc/self/exe", argv); /* where that fails, they spin */
#else
    (void)argc;
    (void)argv;
#endif
}

static void run_mode(const mode_text *mode, char **names) {
    switch (mode->mode) {
    case PCA:
    case MNF: run_pca(&given, mode->mode, names); break;
    case DENOISE: run_denoise(&given, names); break;
    case ICA: run_ica(&given, names); break;
    case RX: run_rx(&given, names); break;
    case DETECT: run_detect(&given, names); break;
    case AUTO: run_auto(&given, names); break;
    case BANDS: run_bands(&given, names); break;
    case COUNT: run_count(&given, names[0]); break;
    case ENDMEMBERS: run_endmembers(&given, names); break;
    case UNMIX: run_unmix(&given, names); break;
    case APPLY: run_apply(&given, names); break;
    case INVERSE: run_inverse(&given, names); break;
    case EXPORT: run_export(names); break;
    case SPECTRA: run_spectra(&given, names); break;
    case INDEX: run_index(&given, names); break;
    case COMPARE: run_compare(&given, names); break;
    case CORRECT: run_correct(&given, names); break;
    case CONVERT: run_convert(&given, names); break;
    case INFO: run_info(&given, names[0]); break;
    default: run_synthesise(&given, names[0]); break;
    }
}

int main(int argc, char **argv) {
    wait_asleep(argc, argv);
    run_mode(parse(argc, argv), argv + 1);
    return EXIT_SUCCESS;
}
