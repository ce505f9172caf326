/* Lists the OpenCL devices, with the properties that matter here.
       cc devices.c -lm && ./a.out          (with glibc before 2.34 also -ldl)
   The first one that says "usable" is the one that shs_cl_create takes unless it is told otherwise. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define SPARSEHS_IMPLEMENTATION
#define SPARSEHS_CL_IMPLEMENTATION
#define SPARSEHS_CL_DYNAMIC /* the library is opened at run time, so that the program runs anywhere */
#include "../sparsehs_cl.h"

static const char *kind_name(shs_cl_kind kind) {
    if (kind == SHS_CL_GPU) return "GPU";
    if (kind == SHS_CL_CPU) return "CPU";
    return "accelerator";
}

static double megabytes(size_t bytes) { return (double)bytes / (1024 * 1024); }

/* Makes an object of the device and codes a few signals, so that the library tests its kernels; prints what it has found. */
static void print_selftest(const shs_cl_device *d) {
    enum { P = 16, N = 64, M = 40, S = 4 };
    static shs_real D[P * N], Y[P * M];
    static char reason[512];
    shs_cl_options o = SHS_ZERO;
    shs_context ctx = SHS_ZERO;
    shs_codes codes = SHS_ZERO;
    shs_cl *cl = NULL;
    shs_random r;
    shs_status status;
    int i;
    o.platform = d->platform;
    o.name = d->name;
    o.reason = reason;
    o.reason_size = sizeof reason;
    status = shs_cl_create(NULL, &o, &cl);
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
    if (shs_cl_about(cl)->fault[0]) printf("   self-test    %s\n", shs_cl_about(cl)->fault);
    else printf("   self-test    %s\n", status == SHS_OK ? "coding is right" : shs_status_text(status));
    shs_codes_free(NULL, &codes);
    shs_cl_destroy(cl);
}

static void print_device(int index, const shs_cl_device *d) {
    printf("%d  %s\n", index, d->name);
    printf("   platform     %s\n", d->platform);
    printf("   kind         %s, %s\n", kind_name(d->kind), d->usable ? "usable" : "not usable");
    printf("   version      %s, driver %s\n", d->version, d->driver);
    printf("   units        %d at %d MHz\n", d->units, d->clock_mhz);
    printf("   memory       %.0f MB, one buffer at most %.0f MB%s\n", megabytes(d->memory), megabytes(d->max_alloc),
           d->unified ? ", shared with the host" : "");
    printf("   work-groups  up to %lu work-items, %.0f KB local memory\n", (unsigned long)d->max_group,
           (double)d->local_bytes / 1024);
    printf("   doubles      %s\n", d->has_double ? "yes" : "no");
    printf("   compiler     %s\n", d->has_compiler ? "yes" : "no: it runs stored programs only");
    if (d->usable && d->has_compiler) print_selftest(d);
}

int main(int argc, char **argv) {
    shs_cl_device *devices = NULL;
    int count = 0, i;
    shs_status status;
    if (argc > 1 && !strcmp(argv[1], "--version")) return puts(shs_build_info()) < 0;
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
