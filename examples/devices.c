/* Lists the OpenCL devices, with the properties that matter here.
       cc devices.c -lm && ./a.out          (with glibc before 2.34 also -ldl)
   By default shs_cl_create takes the first device that the program calls "usable". */
#include "program_cache.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define SPARSEHS_IMPLEMENTATION
#define SPARSEHS_CL_IMPLEMENTATION
#define SPARSEHS_CL_DYNAMIC /* The OpenCL library is opened at run time, so the program runs without OpenCL too. */
#include "../sparsehs_cl.h"

static const char help[] = "Usage: devices [--warm] [--no-cache]\n"
                           "Lists the OpenCL devices and tests them.\n"
                           "  --warm      build the programs that the other examples need with their default\n"
                           "              sizes, and keep them in ~/.cache/sparsehs; say how long it took\n"
                           "  --no-cache  keep nothing there, and test each device again\n"
                           "  --help      print this text\n"
                           "  --version   print how the library was compiled\n";

static struct {
    int warm, no_cache;
} given;

static const char *kind_name(shs_cl_kind kind) {
    if (kind == SHS_CL_GPU) return "GPU";
    if (kind == SHS_CL_CPU) return "CPU";
    return "accelerator";
}

static const char *yes_or_no(int yes) {
    if (yes) return "yes";
    return "no";
}

static double megabytes(size_t bytes) { return (double)bytes / (1024 * 1024); }

/* ---- programs that are kept ---------------------------------------------------------------------------------------- */

static char folder[PROGRAM_CACHE_PATH];
static unsigned long found; /* programs that came from the folder */

static size_t load_and_count(void *user, const char *key, void *data, size_t size) {
    const size_t all = program_cache_load(user, key, data, size);
    found += size > 0 && all == size && !strncmp(key, "program-", 8);
    return all;
}

static shs_status open_device(const shs_cl_device *d, int fallback, char *reason, size_t reason_size, shs_cl **cl) {
    shs_cl_options o = SHS_ZERO;
    if (!given.no_cache && program_cache_folder(folder)) {
        o.load_fn = load_and_count;
        o.store_fn = program_cache_store;
        o.store_user = folder;
    }
    o.platform = d->platform;
    o.name = d->name;
    o.fallback = fallback;
    o.reason = reason;
    o.reason_size = reason_size;
    return shs_cl_create(NULL, &o, cl);
}

/* ---- the self-test ------------------------------------------------------------------------------------------------- */

/* Codes a few signals, so that the library tests the kernels on the device. Prints the result. */
static void print_selftest(const shs_cl_device *d) {
    enum { P = 16, N = 64, M = 40, S = 4 };
    static shs_real D[P * N], Y[P * M];
    static char reason[512];
    shs_context ctx = SHS_ZERO;
    shs_codes codes = SHS_ZERO;
    shs_cl *cl = NULL;
    shs_random r;
    shs_status status = open_device(d, 0, reason, sizeof reason, &cl);
    const char *verdict = "coding is right";
    int i;
    if (status != SHS_OK) {
        printf("   self-test    %s\n", reason);
        return;
    }
    ctx.engine = shs_cl_engine(cl);
    shs_random_seed(&r, 1);
    for (i = 0; i < P * N; i++) D[i] = (shs_real)shs_random_normal(&r);
    for (i = 0; i < P * M; i++) Y[i] = (shs_real)shs_random_normal(&r);
    shs_normalize_columns(P, N, D, P, NULL);
    status = shs_codes_create(NULL, M, S, &codes);
    if (status == SHS_OK) status = shs_omp(&ctx, P, N, D, M, Y, S, &codes);
    if (shs_cl_about(cl)->fault[0]) verdict = shs_cl_about(cl)->fault;
    else if (status != SHS_OK) verdict = shs_status_text(status);
    printf("   self-test    %s\n", verdict);
    shs_codes_free(NULL, &codes);
    shs_cl_destroy(cl);
}

/* ---- --warm -------------------------------------------------------------------------------------------------------- */

/* A program depends on sizes, options and types, not on values or on how many signals there are. */
enum { SIGNALS = 1024, LONGEST = 64, SAMPLES = 48, LINES = 48, BANDS = 100, PIXELS = SAMPLES * LINES };

/* Learns `atoms` atoms of p values once, and codes the signals. */
static shs_status warm_signals(const shs_context *ctx, int p, int atoms, const shs_omp_options *coding, const shs_real *Y) {
    shs_ksvd_options learning = SHS_ZERO;
    shs_codes codes = SHS_ZERO;
    shs_real *D = (shs_real *)calloc((size_t)p * (size_t)atoms, sizeof *D);
    shs_status status;
    if (!D) return SHS_NO_MEMORY;
    status = shs_codes_create(NULL, SIGNALS, coding->sparsity, &codes);
    learning.coding = *coding;
    learning.iterations = 1;
    if (status == SHS_OK) status = shs_ksvd_ex(ctx, p, atoms, SIGNALS, Y, p, &learning, D, p, NULL, NULL);
    if (status == SHS_OK) status = shs_omp_ex(ctx, p, atoms, D, p, SIGNALS, Y, p, coding, &codes, NULL, NULL);
    shs_codes_free(NULL, &codes);
    free(D);
    return status;
}

/* Builds the programs of train, denoise and superres for their default sizes. */
static shs_status warm_pictures(const shs_context *ctx) {
    static shs_real Y[LONGEST * SIGNALS], D[LONGEST * 256];
    shs_omp_options coding = SHS_ZERO;
    shs_random r;
    shs_status status;
    int i;
    shs_random_seed(&r, 1);
    for (i = 0; i < LONGEST * SIGNALS; i++) Y[i] = (shs_real)shs_random_normal(&r);
    coding.sparsity = 6;
    status = warm_signals(ctx, 64, 256, &coding, Y);
    if (status == SHS_OK) status = shs_online(ctx, 64, 256, SIGNALS, Y, 6, 1, D);
    coding.sparsity = 3;
    if (status == SHS_OK) status = warm_signals(ctx, 30, 1024, &coding, Y);
    coding.sparsity = 32;
    coding.tolerance = 1;
    if (status == SHS_OK) status = warm_signals(ctx, 64, 256, &coding, Y);
    return status;
}

/* Components, anomalies, targets and mixtures of a cube in the layout of pixels. */
static shs_status warm_cube(const shs_context *ctx, const shs_cube *cube, const shs_wide *spectra) {
    static float out[10 * PIXELS];
    shs_pca_options pca = SHS_ZERO;
    shs_ica_options ica = SHS_ZERO;
    shs_sink sink = SHS_ZERO;
    shs_status status;
    sink.pixels = out;
    sink.type = SHS_TYPE_F32;
    pca.components = 10;
    ica.components = 5;
    status = shs_pca_run(ctx, cube, &pca, &sink, NULL);
    if (status == SHS_OK) status = shs_mnf_run(ctx, cube, &pca, &sink, NULL);
    if (status == SHS_OK) status = shs_ica_run(ctx, cube, &ica, &sink, NULL);
    if (status == SHS_OK) status = shs_rx(ctx, cube, NULL, &sink, NULL);
    if (status == SHS_OK) status = shs_detect(ctx, cube, 1, spectra, BANDS, NULL, &sink);
    if (status == SHS_OK) status = shs_unmix(ctx, cube, 3, spectra, BANDS, SHS_CONSTRAINT_FULL, &sink);
    if (status == SHS_NO_CONVERGENCE) return SHS_OK;
    return status;
}

/* hypercube: integers of 16 bits and floats, in each interleave. */
static shs_status warm_cubes(const shs_context *ctx) {
    static const shs_type types[] = {SHS_TYPE_U16, SHS_TYPE_I16, SHS_TYPE_F32};
    static const shs_interleave interleaves[] = {SHS_INTERLEAVE_BSQ, SHS_INTERLEAVE_BIL, SHS_INTERLEAVE_BIP};
    static float floats[BANDS * PIXELS];
    static unsigned short integers[BANDS * PIXELS];
    static shs_wide spectra[3 * BANDS];
    shs_cube cube = SHS_ZERO;
    shs_random r;
    shs_status status = SHS_OK;
    int i, k;
    shs_random_seed(&r, 2);
    for (i = 0; i < BANDS * PIXELS; i++) integers[i] = (unsigned short)(shs_random_bits(&r) >> 54);
    for (i = 0; i < BANDS * PIXELS; i++) floats[i] = (float)integers[i];
    for (i = 0; i < 3 * BANDS; i++) spectra[i] = (shs_wide)shs_random_normal(&r) + 500;
    cube.samples = SAMPLES;
    cube.lines = LINES;
    cube.bands = BANDS;
    for (i = 0; i < 3; i++)
        for (k = 0; k < 3 && status == SHS_OK; k++) {
            cube.type = types[i];
            cube.interleave = interleaves[k];
            cube.pixels = integers;
            if (cube.type == SHS_TYPE_F32) cube.pixels = floats;
            status = warm_cube(ctx, &cube, spectra);
        }
    return status;
}

static double now(void) {
    struct timespec t;
    if (clock_gettime(CLOCK_MONOTONIC, &t)) return 0;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Programs that the device has used so far. */
static unsigned long programs_of(shs_cl *cl) {
    static shs_cl_stage stages[128];
    unsigned long all = 0;
    int count = 0, i;
    if (shs_cl_stage_times(cl, stages, 128, &count, 0) != SHS_OK) return 0;
    for (i = 0; i < count && i < 128; i++) all += (unsigned long)stages[i].builds;
    return all;
}

/* Builds the programs of the usual calls. A stage that falls back to the CPU needs no program. */
static void warm(const shs_cl_device *d) {
    static char reason[512];
    shs_context ctx = SHS_ZERO;
    shs_cl *cl = NULL;
    const double begin = now();
    shs_status status = open_device(d, 1, reason, sizeof reason, &cl);
    if (status != SHS_OK) return; /* print_selftest has said why */
    found = 0;
    ctx.engine = shs_cl_engine(cl);
    status = warm_pictures(&ctx);
    if (status == SHS_OK) status = warm_cubes(&ctx);
    printf("   warm         %lu programs in %.1f s", programs_of(cl), now() - begin);
    if (!given.no_cache && *folder) printf(", %lu of them from %s", found, folder);
    if (status != SHS_OK) printf("; the last call failed: %s", shs_status_text(status));
    printf("\n");
    shs_cl_destroy(cl);
}

/* ---- the program ---------------------------------------------------------------------------------------------------- */

static void print_device(int index, const shs_cl_device *d) {
    const char *usable = "not usable", *whose = "";
    if (d->usable) usable = "usable";
    if (d->unified) whose = ", shared with the host";
    printf("%d  %s\n", index, d->name);
    printf("   platform     %s\n", d->platform);
    printf("   kind         %s, %s\n", kind_name(d->kind), usable);
    printf("   version      %s, driver %s\n", d->version, d->driver);
    printf("   units        %d at %d MHz\n", d->units, d->clock_mhz);
    printf("   memory       %.0f MB, one buffer at most %.0f MB%s\n", megabytes(d->memory), megabytes(d->max_alloc), whose);
    printf("   work-groups  up to %lu work-items, %.0f KB local memory\n", (unsigned long)d->max_group,
           (double)d->local_bytes / 1024);
    printf("   doubles      %s\n", yes_or_no(d->has_double));
    printf("   compiler     %s\n", d->has_compiler ? "yes" : "no: it runs stored programs only");
    if (!d->usable || !d->has_compiler) return;
    print_selftest(d);
    if (given.warm) warm(d);
}

/* 0: the program is to end, with *code. */
static int read_arguments(int argc, char **argv, int *code) {
    int i;
    *code = 0;
    for (i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--warm")) given.warm = 1;
        else if (!strcmp(argv[i], "--no-cache")) given.no_cache = 1;
        else if (!strcmp(argv[i], "--version")) {
            *code = puts(shs_build_info()) < 0;
            return 0;
        } else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            *code = fputs(help, stdout) < 0;
            return 0;
        } else {
            fprintf(stderr, "devices: %s: unknown option (see devices --help)\n", argv[i]);
            *code = 2;
            return 0;
        }
    }
    return 1;
}

int main(int argc, char **argv) {
    shs_cl_device *devices = NULL;
    int count = 0, i, code;
    shs_status status;
    if (!read_arguments(argc, argv, &code)) return code;
    status = shs_cl_list(NULL, NULL, 0, &count);
    if (status == SHS_OK && count > 0) {
        devices = (shs_cl_device *)calloc((size_t)count, sizeof *devices);
        if (devices) status = shs_cl_list(NULL, devices, count, &count);
        else status = SHS_NO_MEMORY;
    }
    if (status != SHS_OK) {
        fprintf(stderr, "The devices cannot be listed: %s.\n", shs_status_text(status));
        free(devices);
        return 1;
    }
    if (count == 0)
        printf("There is no OpenCL device here: no OpenCL library, or no driver for it to find.\n"
               "sparsehs runs on the CPU without one; a driver for the CPU is packaged as pocl-opencl-icd.\n");
    for (i = 0; i < count; i++) print_device(i, devices + i);
    free(devices);
    return 0;
}
