/* cl_shim.h - OpenCL with a counter before every call, which can be made to fail; then the library on top of it.

       shim_begin();                  everything works; calls are counted
       shim.fail_at = k;              the k-th call from now (0 is the first) fails with shim.error, the others work
       shim.lost = 1;                 and so do all after it, as on a device that is gone
       shim.only = "clBuildProgram";  only calls of this name count and fail
       shim.wrong = "tally";          the driver miscompiles this kernel: it does nothing (shim.few: only its first group does)
       shim.extensions = "cl_khr_fp16";  the devices report these extensions
       shim.two_devices = 1;          programs report the binaries of two devices, of which the second is the one in use
       assert_int_equal(shim.live, 0) nothing is left: contexts, queues, programs, kernels, buffers, maps, events, retains

   A release that is told to fail reports the failure, but releases, so that what stays alive is the library's doing. */
#ifndef SHS_CL_SHIM_H
#define SHS_CL_SHIM_H

#define CL_TARGET_OPENCL_VERSION 120
#ifdef __APPLE__
#include <OpenCL/opencl.h>
#else
#include <CL/cl.h>
#endif

typedef struct cl_shim {
    long calls, fail_at; /* -1: none */
    int lost;
    cl_int error;
    int failed; /* calls that were made to fail */
    long live;
    const char *first; /* the first of them */
    int pretend;       /* devices are those of shim_pretended */
    long builds, kernels_run;
    const char *only; /* NULL: all */
    size_t uploaded, downloaded; /* bytes written to buffers, and read from them */
    const char *wrong;           /* a kernel; NULL: all are right */
    int few;
    long wrong_runs; /* how often that kernel was to run */
    const char *wrong_options; /* only programs with these build options are wrong; NULL: all */
    const char *extensions;    /* what the devices report instead of their own; NULL: their own */
    int dot_products;          /* with extensions: whether they report instructions for dot products of bytes */
    int two_devices;
} cl_shim;

static cl_shim shim;

static inline void shim_begin(void) {
    cl_shim zero = {0, -1, 0, CL_OUT_OF_RESOURCES, 0, 0, NULL, 0, 0, 0, NULL, 0, 0, NULL, 0, 0, NULL, NULL, 0, 0};
    shim = zero;
}

/* Suites compare everything with the CPU themselves; SHS_CL_SELFTEST=1 has the library test itself too. */
static inline int shim_trust(void) { return getenv("SHS_CL_SELFTEST") == NULL; }

/* Counts a call; non-zero when it has to fail. */
static inline int shim_fails(const char *name) {
    long call;
    if (shim.only && strcmp(name, shim.only) != 0) return 0;
    call = shim.calls++;
    if (shim.fail_at < 0 || call < shim.fail_at) return 0;
    if (!shim.lost && call > shim.fail_at) return 0;
    if (!shim.failed++) shim.first = name;
    return 1;
}

/* An allocator that counts, and refuses one block. */
typedef struct counter {
    long calls, fail_at, live;
} counter;

static inline void *counter_alloc(void *user, size_t size) {
    counter *c = (counter *)user;
    void *block;
    if (c->calls++ == c->fail_at) return NULL;
    block = malloc(size);
    if (!block) return NULL;
    memset(block, 0xa5, size); /* nobody may count on zeros */
    c->live++;
    return block;
}

static inline void counter_free(void *user, void *block) {
    counter *c = (counter *)user;
    c->live--;
    free(block);
}

/* ---- devices that are not there ---------------------------------------------------------------------------------- */

/* A pretended device answers these queries itself and is otherwise the machine's first. */
typedef struct shim_device {
    cl_device_type type;
    const char *name, *version;
    cl_bool available, compiler;
    cl_device_fp_config doubles;
} shim_device;

static const shim_device shim_pretended[] = {
    {CL_DEVICE_TYPE_CPU, "Quiet Processor", "OpenCL 1.2 test", CL_TRUE, CL_TRUE, CL_FP_FMA},
    {CL_DEVICE_TYPE_GPU, "Old Card", "OpenCL 1.1 test", CL_TRUE, CL_TRUE, CL_FP_FMA},
    {CL_DEVICE_TYPE_GPU, "Game Card A1", "OpenCL 1.2 test", CL_TRUE, CL_TRUE, 0},
    {CL_DEVICE_TYPE_GPU, "Broken Card", "OpenCL 3.0 test", CL_FALSE, CL_TRUE, CL_FP_FMA},
    {CL_DEVICE_TYPE_ACCELERATOR, "Grid Array", "OpenCL 1.2 test", CL_TRUE, CL_FALSE, CL_FP_FMA},
    {CL_DEVICE_TYPE_GPU, "Science Card B2", "OpenCL 3.0 test", CL_TRUE, CL_TRUE, CL_FP_FMA},
    {CL_DEVICE_TYPE_CPU, "Loud Processor", "OpenCL 2.0 test", CL_TRUE, CL_TRUE, CL_FP_FMA},
};
enum { SHIM_PRETENDED = sizeof shim_pretended / sizeof *shim_pretended };
/* Only the addresses matter: they are the handles. */
static char shim_handles[SHIM_PRETENDED];
static cl_device_id shim_first_device;

static inline int shim_index(cl_device_id device) {
    int i;
    for (i = 0; i < SHIM_PRETENDED; i++)
        if ((void *)device == (void *)(shim_handles + i)) return i;
    return -1;
}

static inline cl_device_id shim_real(cl_device_id device) {
    if (shim_index(device) < 0) return device;
    return shim_first_device;
}

static inline cl_int shim_answer(const void *value, size_t bytes, size_t size, void *to, size_t *needed) {
    if (needed) *needed = bytes;
    if (to && size < bytes) return CL_INVALID_VALUE;
    if (to) memcpy(to, value, bytes);
    return CL_SUCCESS;
}

static inline cl_int CL_API_CALL shim_clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint entries,
                                                     cl_device_id *devices, cl_uint *count) {
    cl_uint found = 0;
    int i;
    if (shim_fails("clGetDeviceIDs")) return shim.error;
    if (!shim.pretend) return clGetDeviceIDs(platform, type, entries, devices, count);
    if (!shim_first_device) {
        cl_int error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &shim_first_device, NULL);
        if (error) return error;
    }
    for (i = 0; i < SHIM_PRETENDED; i++) {
        if (!(shim_pretended[i].type & type)) continue;
        if (devices && found < entries) devices[found] = (cl_device_id)(void *)(shim_handles + i);
        found++;
    }
    if (count) *count = found;
    if (!found) return CL_DEVICE_NOT_FOUND;
    return CL_SUCCESS;
}

#define SHIM_DOT_PRODUCTS 0x1074 /* CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_8BIT_KHR */
static inline cl_int CL_API_CALL shim_clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void *value,
                                                      size_t *needed) {
    const shim_device *d = NULL;
    if (shim_index(device) >= 0) d = shim_pretended + shim_index(device);
    if (shim_fails("clGetDeviceInfo")) return shim.error;
    if (shim.extensions && what == CL_DEVICE_EXTENSIONS)
        return shim_answer(shim.extensions, strlen(shim.extensions) + 1, size, value, needed);
    if (shim.extensions && what == SHIM_DOT_PRODUCTS) {
        cl_bool kinds[6] = {CL_FALSE};
        if (shim.dot_products) kinds[1] = CL_TRUE; /* of unsigned bytes */
        return shim_answer(kinds, sizeof kinds, size, value, needed);
    }
    if (d && what == CL_DEVICE_TYPE) return shim_answer(&d->type, sizeof d->type, size, value, needed);
    if (d && what == CL_DEVICE_NAME) return shim_answer(d->name, strlen(d->name) + 1, size, value, needed);
    if (d && what == CL_DEVICE_VERSION) return shim_answer(d->version, strlen(d->version) + 1, size, value, needed);
    if (d && what == CL_DEVICE_AVAILABLE) return shim_answer(&d->available, sizeof d->available, size, value, needed);
    if (d && what == CL_DEVICE_COMPILER_AVAILABLE) return shim_answer(&d->compiler, sizeof d->compiler, size, value, needed);
    if (d && what == CL_DEVICE_DOUBLE_FP_CONFIG) return shim_answer(&d->doubles, sizeof d->doubles, size, value, needed);
    return clGetDeviceInfo(shim_real(device), what, size, value, needed);
}

/* ---- the other calls --------------------------------------------------------------------------------------------- */

/* What a call returns that was made all the same, even where it is to report a failure. */
static inline cl_int shim_reports(int fails, cl_int error) {
    if (fails) return shim.error;
    return error;
}

#define SHIM_CALL(name, parameters, arguments)                                                                                 \
    static inline cl_int CL_API_CALL shim_##name parameters { return shim_fails(#name) ? shim.error : name arguments; }

#define SHIM_MAKE(type, name, parameters, arguments)                                                                           \
    static inline type CL_API_CALL shim_##name parameters {                                                                    \
        type made;                                                                                                             \
        if (shim_fails(#name)) {                                                                                               \
            *error = shim.error;                                                                                               \
            return NULL;                                                                                                       \
        }                                                                                                                      \
        made = name arguments;                                                                                                 \
        if (made) shim.live++;                                                                                                 \
        return made;                                                                                                           \
    }

#define SHIM_RETAIN(name, type)                                                                                                \
    static inline cl_int CL_API_CALL shim_##name(type object) {                                                                \
        cl_int error = shim_fails(#name) ? shim.error : name(object);                                                          \
        if (!error) shim.live++;                                                                                               \
        return error;                                                                                                          \
    }

#define SHIM_RELEASE(name, type)                                                                                               \
    static inline cl_int CL_API_CALL shim_##name(type object) {                                                                \
        int fails = shim_fails(#name);                                                                                         \
        cl_int error = name(object);                                                                                           \
        shim.live--;                                                                                                           \
        return fails ? shim.error : error;                                                                                     \
    }

#define SHIM_ENQUEUE(name, parameters, arguments)                                                                              \
    static inline cl_int CL_API_CALL shim_##name parameters {                                                                  \
        cl_int error = shim_fails(#name) ? shim.error : name arguments;                                                        \
        if (!error && event) shim.live++;                                                                                      \
        return error;                                                                                                          \
    }

/* `bytes` are added to the counter. */
#define SHIM_TRANSFER(name, counter, bytes, parameters, arguments)                                                             \
    static inline cl_int CL_API_CALL shim_##name parameters {                                                                  \
        cl_int error = shim_fails(#name) ? shim.error : name arguments;                                                        \
        if (!error && event) shim.live++;                                                                                      \
        if (!error) shim.counter += (bytes);                                                                                   \
        return error;                                                                                                          \
    }

SHIM_CALL(clGetPlatformIDs, (cl_uint n, cl_platform_id *ids, cl_uint *count), (n, ids, count))
SHIM_CALL(clGetPlatformInfo, (cl_platform_id p, cl_platform_info what, size_t size, void *value, size_t *needed),
          (p, what, size, value, needed))
SHIM_CALL(clGetContextInfo, (cl_context c, cl_context_info what, size_t size, void *value, size_t *needed),
          (c, what, size, value, needed))
SHIM_CALL(clGetCommandQueueInfo, (cl_command_queue q, cl_command_queue_info what, size_t size, void *value, size_t *needed),
          (q, what, size, value, needed))
SHIM_CALL(clGetProgramBuildInfo,
          (cl_program p, cl_device_id d, cl_program_build_info what, size_t size, void *value, size_t *needed),
          (p, shim_real(d), what, size, value, needed))
SHIM_CALL(clGetEventProfilingInfo, (cl_event e, cl_profiling_info what, size_t size, void *value, size_t *needed),
          (e, what, size, value, needed))
SHIM_CALL(clGetKernelWorkGroupInfo,
          (cl_kernel k, cl_device_id d, cl_kernel_work_group_info what, size_t size, void *value, size_t *length),
          (k, d, what, size, value, length))
SHIM_CALL(clSetKernelArg, (cl_kernel k, cl_uint index, size_t size, const void *value), (k, index, size, value))
SHIM_CALL(clFlush, (cl_command_queue q), (q))

static inline cl_int CL_API_CALL shim_clGetProgramInfo(cl_program p, cl_program_info what, size_t size, void *value,
                                                       size_t *needed) {
    size_t sizes[2] = {0, 0};
    cl_int error;
    if (shim_fails("clGetProgramInfo")) return shim.error;
    if (!shim.two_devices || (what != CL_PROGRAM_BINARY_SIZES && what != CL_PROGRAM_BINARIES))
        return clGetProgramInfo(p, what, size, value, needed);
    if (what == CL_PROGRAM_BINARIES) {
        if (size < 2 * sizeof(unsigned char *)) return CL_INVALID_VALUE;
        return clGetProgramInfo(p, what, sizeof(unsigned char *), (unsigned char **)value + 1, NULL);
    }
    error = clGetProgramInfo(p, what, sizeof *sizes, sizes + 1, NULL);
    if (error) return error;
    return shim_answer(sizes, sizeof sizes, size, value, needed);
}

/* A wait that fails has waited all the same: a device that is gone runs nothing any more, least of all on memory that the library,
   which cannot know better, gives back then. */
static inline cl_int CL_API_CALL shim_clWaitForEvents(cl_uint n, const cl_event *events) {
    cl_int error = clWaitForEvents(n, events);
    return shim_reports(shim_fails("clWaitForEvents"), error);
}

static inline cl_int CL_API_CALL shim_clFinish(cl_command_queue q) {
    cl_int error = clFinish(q);
    return shim_reports(shim_fails("clFinish"), error);
}

SHIM_RETAIN(clRetainContext, cl_context)
SHIM_RETAIN(clRetainCommandQueue, cl_command_queue)
SHIM_RELEASE(clReleaseContext, cl_context)
SHIM_RELEASE(clReleaseCommandQueue, cl_command_queue)
SHIM_RELEASE(clReleaseProgram, cl_program)
SHIM_RELEASE(clReleaseKernel, cl_kernel)
SHIM_RELEASE(clReleaseMemObject, cl_mem)
SHIM_RELEASE(clReleaseEvent, cl_event)

static inline cl_int CL_API_CALL shim_clRetainDevice(cl_device_id device) {
    cl_int error;
    if (shim_fails("clRetainDevice")) return shim.error;
    error = clRetainDevice(shim_real(device));
    if (!error) shim.live++;
    return error;
}

static inline cl_int CL_API_CALL shim_clReleaseDevice(cl_device_id device) {
    int fails = shim_fails("clReleaseDevice");
    cl_int error = clReleaseDevice(shim_real(device));
    shim.live--;
    return shim_reports(fails, error);
}

static inline cl_context CL_API_CALL shim_clCreateContext(const cl_context_properties *properties, cl_uint n,
                                                          const cl_device_id *devices,
                                                          void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                                                          void *user, cl_int *error) {
    cl_device_id device = shim_real(devices[0]);
    cl_context made;
    *error = shim.error;
    if (n != 1 || shim_fails("clCreateContext")) return NULL;
    made = clCreateContext(properties, 1, &device, notify, user, error);
    if (made) shim.live++;
    return made;
}

static inline cl_int CL_API_CALL shim_clBuildProgram(cl_program p, cl_uint n, const cl_device_id *devices, const char *options,
                                                     void(CL_CALLBACK *notify)(cl_program, void *), void *user) {
    cl_device_id device = shim_real(devices[0]);
    if (n != 1 || shim_fails("clBuildProgram")) return shim.error;
    return clBuildProgram(p, 1, &device, options, notify, user);
}

SHIM_MAKE(cl_command_queue, clCreateCommandQueue,
          (cl_context c, cl_device_id d, cl_command_queue_properties properties, cl_int *error),
          (c, shim_real(d), properties, error))
SHIM_MAKE(cl_program, clCreateProgramWithBinary,
          (cl_context c, cl_uint n, const cl_device_id *d, const size_t *size, const unsigned char **binary, cl_int *status,
           cl_int *error),
          (c, n, d, size, binary, status, error))
SHIM_MAKE(cl_kernel, clCreateKernel, (cl_program p, const char *name, cl_int *error), (p, name, error))

/* What nobody has written yet is no number: it shows where it is used. */
static inline cl_mem CL_API_CALL shim_clCreateBuffer(cl_context c, cl_mem_flags flags, size_t size, void *host, cl_int *error) {
    void *spoilt = NULL;
    cl_mem made;
    if (!host && !(flags & CL_MEM_ALLOC_HOST_PTR)) spoilt = malloc(size);
    *error = shim.error;
    if (shim_fails("clCreateBuffer")) made = NULL;
    else if (!spoilt) made = clCreateBuffer(c, flags, size, host, error);
    else {
        memset(spoilt, 0xff, size);
        made = clCreateBuffer(c, flags | CL_MEM_COPY_HOST_PTR, size, spoilt, error);
    }
    free(spoilt);
    if (made) shim.live++;
    return made;
}

/* From source, that is: what a cache is to avoid. */
static inline cl_program CL_API_CALL shim_clCreateProgramWithSource(cl_context c, cl_uint n, const char **source,
                                                                    const size_t *size, cl_int *error) {
    cl_program made;
    *error = shim.error;
    if (shim_fails("clCreateProgramWithSource")) return NULL;
    shim.builds++;
    made = clCreateProgramWithSource(c, n, source, size, error);
    if (made) shim.live++;
    return made;
}

static inline void *CL_API_CALL shim_clEnqueueMapBuffer(cl_command_queue q, cl_mem m, cl_bool blocking, cl_map_flags flags,
                                                        size_t offset, size_t size, cl_uint n, const cl_event *waits,
                                                        cl_event *event, cl_int *error) {
    void *mapped;
    *error = shim.error;
    if (shim_fails("clEnqueueMapBuffer")) return NULL;
    mapped = clEnqueueMapBuffer(q, m, blocking, flags, offset, size, n, waits, event, error);
    if (mapped) shim.live += 1 + (event != NULL);
    return mapped;
}

static inline cl_int CL_API_CALL shim_clEnqueueUnmapMemObject(cl_command_queue q, cl_mem m, void *mapped, cl_uint n,
                                                              const cl_event *waits, cl_event *event) {
    int fails = shim_fails("clEnqueueUnmapMemObject");
    cl_int error;
    if (fails) event = NULL;
    error = clEnqueueUnmapMemObject(q, m, mapped, n, waits, event);
    shim.live--;
    if (!error && event) shim.live++;
    return shim_reports(fails, error);
}

/* Whether the kernel is the one that is miscompiled. */
static inline int shim_is_wrong(cl_kernel k) {
    char name[64] = "", options[1024] = "";
    cl_program program = NULL;
    cl_device_id device = NULL;
    if (!shim.wrong) return 0;
    clGetKernelInfo(k, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    if (strcmp(name, shim.wrong) != 0) return 0;
    if (shim.wrong_options) {
        clGetKernelInfo(k, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
        clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof device, &device, NULL);
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, sizeof options, options, NULL);
        if (!strstr(options, shim.wrong_options)) return 0;
    }
    shim.wrong_runs++;
    return 1;
}

static inline cl_int CL_API_CALL shim_clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint dims,
                                                             const size_t *offset, const size_t *global, const size_t *local,
                                                             cl_uint n, const cl_event *waits, cl_event *event) {
    int wrong;
    cl_int error;
    if (shim_fails("clEnqueueNDRangeKernel")) return shim.error;
    wrong = shim_is_wrong(k);
    if (wrong && shim.few) global = local;
    if (wrong && !shim.few) error = clEnqueueMarkerWithWaitList(q, n, waits, event);
    else error = clEnqueueNDRangeKernel(q, k, dims, offset, global, local, n, waits, event);
    if (!error && event) shim.live++;
    shim.kernels_run += !error;
    return error;
}

SHIM_TRANSFER(clEnqueueWriteBuffer, uploaded, size,
              (cl_command_queue q, cl_mem m, cl_bool blocking, size_t offset, size_t size, const void *from, cl_uint n,
               const cl_event *waits, cl_event *event),
              (q, m, blocking, offset, size, from, n, waits, event))
SHIM_TRANSFER(clEnqueueReadBuffer, downloaded, size,
              (cl_command_queue q, cl_mem m, cl_bool blocking, size_t offset, size_t size, void *to, cl_uint n,
               const cl_event *waits, cl_event *event),
              (q, m, blocking, offset, size, to, n, waits, event))
SHIM_TRANSFER(clEnqueueWriteBufferRect, uploaded, region[0] * region[1] * region[2],
              (cl_command_queue q, cl_mem m, cl_bool blocking, const size_t *there, const size_t *here, const size_t *region,
               size_t row, size_t slice, size_t host_row, size_t host_slice, const void *from, cl_uint n, const cl_event *waits,
               cl_event *event),
              (q, m, blocking, there, here, region, row, slice, host_row, host_slice, from, n, waits, event))
SHIM_TRANSFER(clEnqueueReadBufferRect, downloaded, region[0] * region[1] * region[2],
              (cl_command_queue q, cl_mem m, cl_bool blocking, const size_t *there, const size_t *here, const size_t *region,
               size_t row, size_t slice, size_t host_row, size_t host_slice, void *to, cl_uint n, const cl_event *waits,
               cl_event *event),
              (q, m, blocking, there, here, region, row, slice, host_row, host_slice, to, n, waits, event))
SHIM_ENQUEUE(clEnqueueCopyBuffer,
             (cl_command_queue q, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size, cl_uint n,
              const cl_event *waits, cl_event *event),
             (q, from, to, from_offset, to_offset, size, n, waits, event))
SHIM_ENQUEUE(clEnqueueFillBuffer,
             (cl_command_queue q, cl_mem m, const void *pattern, size_t pattern_size, size_t offset, size_t size, cl_uint n,
              const cl_event *waits, cl_event *event),
             (q, m, pattern, pattern_size, offset, size, n, waits, event))
SHIM_ENQUEUE(clEnqueueMarkerWithWaitList, (cl_command_queue q, cl_uint n, const cl_event *waits, cl_event *event),
             (q, n, waits, event))
SHIM_ENQUEUE(clEnqueueBarrierWithWaitList, (cl_command_queue q, cl_uint n, const cl_event *waits, cl_event *event),
             (q, n, waits, event))

/* ---- the library over it ----------------------------------------------------------------------------------------- */

#define SPARSEHS_CL_SHIM(function) shim_##function
#define SPARSEHS_CL_IMPLEMENTATION
#include "../../sparsehs_cl.h"

/* Of a suite that calls its device `device`. */
#define assert_ok_cl(call)                                                                                                     \
    do {                                                                                                                       \
        shs_status s_ = (call);                                                                                                \
        if (s_ != SHS_OK)                                                                                                      \
            fail_msg("%s: %s, %s\n%s", #call, shs_status_name(s_), shs_cl_error_text(device), shs_cl_build_log(device));       \
    } while (0)

#endif
