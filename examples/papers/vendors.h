/* vendors.h - a matrix product in the libraries that people take for one, to hold beside ours: OpenBLAS on the CPU, CLBlast and
   cuBLAS on the device. The libraries are opened at run time if they are installed. Building needs none of them. */
#ifndef VENDORS_H
#define VENDORS_H
#include "papers.h"
/* dlopen without a library of its own to link with: in glibc from 2.34 on, and elsewhere. */
#if defined(EXAMPLE_POSIX) && (!defined(__GLIBC__) || __GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
#define VENDORS_DLOPEN
#include <dlfcn.h>
#endif

/* C of rows x columns, over k: A'B where `transposed`, A of k x rows and B of k x columns; else A B', A of rows x k and B of
   columns x k. symmetric: B is A, and only the lower half of C is made. All column by column, without gaps. */
typedef struct product {
    const shs_context *ctx; /* for ours */
    int symmetric, transposed, rows, columns, k;
    const shs_real *A, *B;
    shs_real *C;
} product;

/* How a library is asked for a product: its words for the factors' transpositions, and their leading dimensions. */
typedef struct factors {
    int ta, tb, lda, ldb;
} factors;

/* In a library whose words for as it is and for transposed are `no` and `yes`. */
static inline factors factors_of(const product *w, int no, int yes) {
    factors f = {no, yes, w->rows, w->columns};
    if (!w->transposed) return f;
    f.ta = yes;
    f.tb = no;
    f.lda = f.ldb = w->k;
    return f;
}

static inline void syrk_once(void *argument) {
    product *w = (product *)argument;
    const factors f = factors_of(w, SHS_TRANS_NO, SHS_TRANS_YES);
    const shs_trans trans = (shs_trans)f.ta;
    check(shs_syrk(w->ctx, SHS_UPLO_LOWER, trans, w->rows, w->k, 1, w->A, f.lda, 0, w->C, w->rows), "SYRK");
}

static inline void gemm_once(void *argument) {
    product *w = (product *)argument;
    const factors f = factors_of(w, SHS_TRANS_NO, SHS_TRANS_YES);
    const shs_trans ta = (shs_trans)f.ta, tb = (shs_trans)f.tb;
    const int m = w->rows, n = w->columns;
    check(shs_gemm(w->ctx, ta, tb, m, n, w->k, 1, w->A, f.lda, w->B, f.ldb, 0, w->C, m), "GEMM");
}

/* The first of the libraries that is there; a file name and NULL at the end. */
static inline void *vendor_library(const char *const *names) {
    void *library = NULL;
#ifdef VENDORS_DLOPEN
    for (; *names && !library; names++) library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
#else
    (void)names;
#endif
    return library;
}

/* Sets the function pointer at `to`; 0 where the library has no such function. ISO C has no conversion from dlsym's object
   pointer to a function pointer. */
static inline int vendor_function(void *library, const char *name, void *to) {
    void *found = NULL;
#ifdef VENDORS_DLOPEN
    if (library) found = dlsym(library, name);
#else
    (void)library;
    (void)name;
#endif
    memcpy(to, &found, sizeof found);
    return found != NULL;
}

enum { VENDOR_WIDE = sizeof(shs_real) == sizeof(double) };
/* The name of a function for shs_real. */
#ifdef SPARSEHS_DOUBLE
#define VENDOR_NAME(single, wide) wide
#else
#define VENDOR_NAME(single, wide) single
#endif
static const shs_real vendor_one = 1, vendor_zero = 0;

/* ---- OpenBLAS ------------------------------------------------------------------------------------------------------ */

enum {
    BLAS_COLUMN_MAJOR = 102,
    BLAS_NO = 111,
    BLAS_YES = 112,
    BLAS_LOWER = 122
}; /* of cblas.h; CLBlast has the same numbers */

static struct {
    void (*gemm)(int order, int ta, int tb, int m, int n, int k, shs_real alpha, const shs_real *A, int lda, const shs_real *B,
                 int ldb, shs_real beta, shs_real *C, int ldc);
    void (*syrk)(int order, int uplo, int trans, int n, int k, shs_real alpha, const shs_real *A, int lda, shs_real beta,
                 shs_real *C, int ldc);
    void (*threads)(int count);
} openblas;

static inline int find_openblas(void) {
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so", "libopenblas.dylib", NULL};
    void *library = vendor_library(names);
    return vendor_function(library, VENDOR_NAME("cblas_sgemm", "cblas_dgemm"), &openblas.gemm) &&
           vendor_function(library, VENDOR_NAME("cblas_ssyrk", "cblas_dsyrk"), &openblas.syrk) &&
           vendor_function(library, "openblas_set_num_threads", &openblas.threads);
}

static inline void openblas_once(void *argument) {
    product *w = (product *)argument;
    const factors f = factors_of(w, BLAS_NO, BLAS_YES);
    const int m = w->rows, n = w->columns;
    if (w->symmetric) openblas.syrk(BLAS_COLUMN_MAJOR, BLAS_LOWER, f.ta, m, w->k, 1, w->A, f.lda, 0, w->C, m);
    else openblas.gemm(BLAS_COLUMN_MAJOR, f.ta, f.tb, m, n, w->k, 1, w->A, f.lda, w->B, f.ldb, 0, w->C, m);
}

/* How OpenBLAS chose its kernels: run.sh sets OPENBLAS_CORETYPE where the processor has AVX-512. */
static inline const char *openblas_kernels(void) {
    const char *core = getenv("OPENBLAS_CORETYPE");
    if (core) return text_of("OpenBLAS with OPENBLAS_CORETYPE=%s", core);
    return "OpenBLAS as it comes";
}

/* ---- products on the device ------------------------------------------------------------------------------------------ */

/* Times a product of matrices on the device and checks the result. Ten calls are timed at once: a launch alone takes longer
   than a small product, and both libraries let launches overlap. */
enum { VENDOR_CALLS = 10 };
typedef int (*vendor_call)(void *self, const product *w); /* 0: it was refused */

static inline double vendor_seconds(vendor_call call, int (*wait)(void *), void *self, const product *w) {
    double seconds[5];
    int count, i;
    if (!call(self, w) || !wait(self)) return NOT_RUN; /* what is built on first use is built here */
    for (count = 0; count < 5; count++) {
        double start = wall_clock();
        for (i = 0; i < VENDOR_CALLS; i++)
            if (!call(self, w)) return NOT_RUN;
        if (!wait(self)) return NOT_RUN;
        seconds[count] = (wall_clock() - start) / VENDOR_CALLS;
    }
    return sorted_middle(seconds, count);
}

/* Returns non-zero if C equals our product up to rounding. A wrong peer gets no time. */
static inline int vendor_is_right(const product *w, const shs_real *C) {
    const size_t rows = (size_t)w->rows, count = elements(w->rows, w->columns);
    product ours = *w;
    double largest = 0, apart = 0, bound = 1e-3;
    size_t i;
    ours.ctx = NULL;
    ours.C = ALLOCATE(shs_real, count);
    gemm_once(&ours);
    for (i = 0; i < count; i++) {
        double d = fabs((double)ours.C[i] - (double)C[i]), size = fabs((double)ours.C[i]);
        if (w->symmetric && i % rows < i / rows) continue;
        if (size > largest) largest = size;
        if (d > apart) apart = d;
    }
    free(ours.C);
    if (VENDOR_WIDE) bound = 1e-11;
    return apart <= bound * largest;
}

static inline size_t product_bytes(const product *w, int which) { /* A, B, C */
    const int m = w->rows, n = w->columns, k = w->k;
    const size_t counts[3] = {elements(m, k), elements(n, k), elements(m, n)};
    return counts[which] * sizeof(shs_real);
}

/* ---- CLBlast --------------------------------------------------------------------------------------------------------- */

#if defined(EXAMPLE_OPENCL) && defined(VENDORS_DLOPEN)
static struct {
    int opened; /* 1: yes, -1: in vain */
    cl_int(CL_API_CALL *platforms)(cl_uint, cl_platform_id *, cl_uint *);
    cl_int(CL_API_CALL *about_platform)(cl_platform_id, cl_platform_info, size_t, void *, size_t *);
    cl_int(CL_API_CALL *devices)(cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *);
    cl_int(CL_API_CALL *about_device)(cl_device_id, cl_device_info, size_t, void *, size_t *);
    cl_context(CL_API_CALL *create_context)(const cl_context_properties *, cl_uint, const cl_device_id *,
                                            void(CL_CALLBACK *)(const char *, const void *, size_t, void *), void *, cl_int *);
    cl_command_queue(CL_API_CALL *create_queue)(cl_context, cl_device_id, cl_command_queue_properties, cl_int *);
    cl_mem(CL_API_CALL *create_buffer)(cl_context, cl_mem_flags, size_t, void *, cl_int *);
    cl_int(CL_API_CALL *release_buffer)(cl_mem);
    cl_int(CL_API_CALL *read)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint, const cl_event *, cl_event *);
    cl_int(CL_API_CALL *finish)(cl_command_queue);
    int (*gemm)(int layout, int ta, int tb, size_t m, size_t n, size_t k, shs_real alpha, cl_mem A, size_t a, size_t lda,
                cl_mem B, size_t b, size_t ldb, shs_real beta, cl_mem C, size_t c, size_t ldc, cl_command_queue *queue,
                cl_event *event);
    int (*syrk)(int layout, int uplo, int trans, size_t n, size_t k, shs_real alpha, cl_mem A, size_t a, size_t lda,
                shs_real beta, cl_mem C, size_t c, size_t ldc, cl_command_queue *queue, cl_event *event);
    cl_context context;
    cl_command_queue queue;
    cl_mem matrix[3];
} clblast;

/* Finds the engine's device by the names of platform and device. */
static inline cl_device_id clblast_device(void) {
    cl_platform_id platforms[16];
    cl_device_id devices[16];
    cl_uint platform_count = 0, count = 0, p, d;
    char name[256];
    if (clblast.platforms(16, platforms, &platform_count)) return NULL;
    for (p = 0; p < platform_count && p < 16; p++) {
        if (clblast.about_platform(platforms[p], CL_PLATFORM_NAME, sizeof name, name, NULL) ||
            strcmp(name, shs_cl_about(example_device)->platform) ||
            clblast.devices(platforms[p], CL_DEVICE_TYPE_ALL, 16, devices, &count))
            continue;
        for (d = 0; d < count && d < 16; d++)
            if (!clblast.about_device(devices[d], CL_DEVICE_NAME, sizeof name, name, NULL) &&
                !strcmp(name, shs_cl_about(example_device)->name))
                return devices[d];
    }
    return NULL;
}

static inline int open_clblast(void) {
    static const char *const loaders[] = {"libOpenCL.so.1", "libOpenCL.so", NULL};
    static const char *const names[] = {"libclblast.so.1", "libclblast.so", NULL};
    void *cl, *library;
    cl_device_id device;
    cl_int error = 0;
    if (clblast.opened || !run.has_device) return clblast.opened > 0;
    clblast.opened = -1;
    cl = vendor_library(loaders);
    library = vendor_library(names);
    if (!vendor_function(cl, "clGetPlatformIDs", &clblast.platforms) ||
        !vendor_function(cl, "clGetPlatformInfo", &clblast.about_platform) ||
        !vendor_function(cl, "clGetDeviceIDs", &clblast.devices) ||
        !vendor_function(cl, "clGetDeviceInfo", &clblast.about_device) ||
        !vendor_function(cl, "clCreateContext", &clblast.create_context) ||
        !vendor_function(cl, "clCreateCommandQueue", &clblast.create_queue) ||
        !vendor_function(cl, "clCreateBuffer", &clblast.create_buffer) ||
        !vendor_function(cl, "clReleaseMemObject", &clblast.release_buffer) ||
        !vendor_function(cl, "clEnqueueReadBuffer", &clblast.read) || !vendor_function(cl, "clFinish", &clblast.finish) ||
        !vendor_function(library, VENDOR_NAME("CLBlastSgemm", "CLBlastDgemm"), &clblast.gemm) ||
        !vendor_function(library, VENDOR_NAME("CLBlastSsyrk", "CLBlastDsyrk"), &clblast.syrk) || !(device = clblast_device()))
        return 0;
    clblast.context = clblast.create_context(NULL, 1, &device, NULL, NULL, &error);
    if (!error) clblast.queue = clblast.create_queue(clblast.context, device, 0, &error);
    if (!error) clblast.opened = 1;
    return !error;
}

static inline int clblast_call(void *self, const product *w) {
    const factors f = factors_of(w, BLAS_NO, BLAS_YES);
    const size_t m = (size_t)w->rows, n = (size_t)w->columns, k = (size_t)w->k, lda = (size_t)f.lda, ldb = (size_t)f.ldb;
    cl_mem A = clblast.matrix[0], B = clblast.matrix[1], C = clblast.matrix[2];
    int error;
    (void)self;
    if (w->symmetric)
        error = clblast.syrk(BLAS_COLUMN_MAJOR, BLAS_LOWER, f.ta, m, k, 1, A, 0, lda, 0, C, 0, m, &clblast.queue, NULL);
    else
        error = clblast.gemm(BLAS_COLUMN_MAJOR, f.ta, f.tb, m, n, k, 1, A, 0, lda, B, 0, ldb, 0, C, 0, m, &clblast.queue, NULL);
    return error == 0;
}

static inline int clblast_wait(void *self) {
    (void)self;
    return clblast.finish(clblast.queue) == 0;
}

/* Seconds, the launch with it; NOT_RUN without a device, without CLBlast, or where its result is not ours. */
static inline double clblast_seconds(const product *w) {
    double seconds = NOT_RUN;
    const shs_real *from[3];
    shs_real *C;
    cl_int error = 0;
    int i, made = 0;
    if (!open_clblast()) return NOT_RUN;
    C = ALLOCATE(shs_real, elements(w->rows, w->columns));
    from[0] = w->A;
    from[1] = w->B;
    from[2] = C;
    for (i = 0; i < 3 && !error; i++) {
        union {
            const shs_real *from;
            void *to; /* clCreateBuffer only reads it */
        } host;
        host.from = from[i];
        clblast.matrix[i] = clblast.create_buffer(clblast.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                                  product_bytes(w, i), host.to, &error);
        made += !error;
    }
    if (!error) seconds = vendor_seconds(clblast_call, clblast_wait, NULL, w);
    if (seconds > 0 && (clblast.read(clblast.queue, clblast.matrix[2], CL_TRUE, 0, product_bytes(w, 2), C, 0, NULL, NULL) ||
                        !vendor_is_right(w, C)))
        seconds = NOT_RUN;
    for (i = 0; i < made; i++) clblast.release_buffer(clblast.matrix[i]);
    free(C);
    return seconds;
}
#else
static inline double clblast_seconds(const product *w) {
    (void)w;
    return NOT_RUN;
}
#endif

/* ---- cuBLAS ---------------------------------------------------------------------------------------------------------- */

enum { CUBLAS_NO = 0, CUBLAS_YES = 1, CUBLAS_LOWER = 0, CUDA_UP = 1, CUDA_DOWN = 2 };

static struct {
    int opened; /* 1: yes, -1: in vain */
    int (*allocate)(void **, size_t);
    int (*release)(void *);
    int (*copy)(void *, const void *, size_t, int);
    int (*synchronize)(void);
    int (*create)(void **);
    int (*gemm)(void *handle, int ta, int tb, int m, int n, int k, const shs_real *alpha, const void *A, int lda, const void *B,
                int ldb, const shs_real *beta, void *C, int ldc);
    int (*syrk)(void *handle, int uplo, int trans, int n, int k, const shs_real *alpha, const void *A, int lda,
                const shs_real *beta, void *C, int ldc);
    void *handle, *matrix[3];
} cublas;

/* Opens cuBLAS if the engine's device is an NVIDIA device, and takes the first NVIDIA device. */
static inline int open_cublas(void) {
    static const char *const runtimes[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so", NULL};
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so", NULL};
    void *runtime, *library;
    if (cublas.opened || !run.has_device || !strstr(run.device_name, "NVIDIA")) return cublas.opened > 0;
    cublas.opened = -1;
    runtime = vendor_library(runtimes);
    library = vendor_library(names);
    if (!vendor_function(runtime, "cudaMalloc", &cublas.allocate) || !vendor_function(runtime, "cudaFree", &cublas.release) ||
        !vendor_function(runtime, "cudaMemcpy", &cublas.copy) ||
        !vendor_function(runtime, "cudaDeviceSynchronize", &cublas.synchronize) ||
        !vendor_function(library, "cublasCreate_v2", &cublas.create) ||
        !vendor_function(library, VENDOR_NAME("cublasSgemm_v2", "cublasDgemm_v2"), &cublas.gemm) ||
        !vendor_function(library, VENDOR_NAME("cublasSsyrk_v2", "cublasDsyrk_v2"), &cublas.syrk) ||
        cublas.create(&cublas.handle))
        return 0;
    cublas.opened = 1;
    return 1;
}

static inline int cublas_call(void *self, const product *w) {
    const factors f = factors_of(w, CUBLAS_NO, CUBLAS_YES);
    const shs_real *one = &vendor_one, *zero = &vendor_zero;
    const int m = w->rows, n = w->columns;
    void *A = cublas.matrix[0], *B = cublas.matrix[1], *C = cublas.matrix[2];
    int error;
    (void)self;
    if (w->symmetric) error = cublas.syrk(cublas.handle, CUBLAS_LOWER, f.ta, m, w->k, one, A, f.lda, zero, C, m);
    else error = cublas.gemm(cublas.handle, f.ta, f.tb, m, n, w->k, one, A, f.lda, B, f.ldb, zero, C, m);
    return error == 0;
}

static inline int cublas_wait(void *self) {
    (void)self;
    return cublas.synchronize() == 0;
}

/* As clblast_seconds. */
static inline double cublas_seconds(const product *w) {
    double seconds = NOT_RUN;
    shs_real *C;
    int i, made, bad = 0;
    if (!open_cublas()) return NOT_RUN;
    C = ALLOCATE(shs_real, elements(w->rows, w->columns));
    for (made = 0; made < 3 && !cublas.allocate(&cublas.matrix[made], product_bytes(w, made));) made++;
    if (made == 3) {
        bad |= cublas.copy(cublas.matrix[0], w->A, product_bytes(w, 0), CUDA_UP);
        bad |= cublas.copy(cublas.matrix[1], w->B, product_bytes(w, 1), CUDA_UP);
    }
    if (made == 3 && !bad) seconds = vendor_seconds(cublas_call, cublas_wait, NULL, w);
    if (seconds > 0 && (cublas.copy(C, cublas.matrix[2], product_bytes(w, 2), CUDA_DOWN) || !vendor_is_right(w, C)))
        seconds = NOT_RUN;
    for (i = 0; i < made; i++) cublas.release(cublas.matrix[i]);
    free(C);
    return seconds;
}

#endif /* VENDORS_H */
