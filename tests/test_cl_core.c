/* test_cl_core.c - the OpenCL runtime: devices, programs, memory, queues, times; and every call and allocation that
   fails. */
#define _POSIX_C_SOURCE 200112L /* dup2, fileno */
#include <unistd.h>
#include "test.h"
#include "device/cl_shim.h"

static const char *const source_add[] = {"__kernel void add(__global real *x, const uint n, const real by) {\n",
                                         "    const uint i = get_global_id(0);\n",
                                         "    if (i < n) x[i] += by * FACTOR;\n",
                                         "}\n",
                                         "__kernel void twice(__global real *x) { x[get_global_id(0)] *= 2; }\n",
                                         NULL};
static const char *const source_broken[] = {"__kernel void add(__global real *x) {\n", "    x[0] = no_such_name;\n", "}\n",
                                            NULL};

enum { COUNT = 1000, GLOBAL = 1024 };

static shs_cl *new_cl(const shs_cl_options *options) {
    shs_cl *cl = NULL;
    assert_ok(shs_cl_create(NULL, options, &cl));
    assert_non_null(cl);
    return cl;
}

/* Nothing is left of cl. */
static void end_cl(shs_cl *cl) {
    shs_cl_destroy(cl);
    assert_int_equal(shim.live, 0);
}

/* x[i] = i on the way there, i + 2 * factor on the way back. */
static shs_status run_add(shs_cl *cl, const char *options, shs_real *x) {
    const size_t bytes = COUNT * sizeof *x;
    shs__cl_call call = shs__cl_begin(cl, source_add, options, "add");
    cl_mem buffer = NULL;
    int i;
    shs_status status = call.status;
    for (i = 0; i < COUNT; i++) x[i] = (shs_real)i;
    if (status == SHS_OK) status = shs__cl_buffer(cl, bytes, &buffer);
    if (status == SHS_OK) status = shs__cl_write(cl, 0, buffer, 0, bytes, x);
    shs__cl_pass_buffer(&call, buffer), shs__cl_pass_uint(&call, COUNT), shs__cl_pass_real(&call, 2);
    if (status == SHS_OK) status = shs__cl_launch(&call, GLOBAL / 64, 64, 1, 1, "add");
    if (status == SHS_OK) status = shs__cl_read(cl, 0, buffer, 0, bytes, x);
    shs__cl_release(cl, &buffer);
    return status;
}

static void check_added(const shs_real *x, int factor) {
    int i;
    for (i = 0; i < COUNT; i++) assert_true(x[i] == (shs_real)(i + 2 * factor));
}

static void check_add(shs_cl *cl, const char *options, int factor) {
    shs_real *x = (shs_real *)malloc(COUNT * sizeof *x);
    assert_non_null(x);
    assert_ok(run_add(cl, options, x));
    check_added(x, factor);
    free(x);
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

static void test_list(void **state) {
    shs_cl_device *d = (shs_cl_device *)calloc(64, sizeof *d);
    int count = -1, again = -1, i;
    (void)state;
    assert_non_null(d);
    assert_ok(shs_cl_list(NULL, d, 64, &count));
    assert_in_range(count, 1, 64);
    for (i = 0; i < count; i++) {
        assert_true(d[i].name[0] && d[i].platform[0] && d[i].version[0]);
        assert_true(d[i].memory >= d[i].max_alloc && d[i].max_alloc > 0 && d[i].max_group > 0 && d[i].units > 0);
        assert_in_range(d[i].kind, SHS_CL_GPU, SHS_CL_CPU);
        if (i > 0) assert_true(d[i - 1].kind <= d[i].kind);
    }
    memset(d, 0x55, sizeof *d);
    assert_ok(shs_cl_list(NULL, d, 0, &again));
    assert_int_equal(again, count);
    assert_int_equal(d->name[0], 0x55);
    assert_status(shs_cl_list(NULL, d, 64, NULL), SHS_BAD_OUTPUT);
    free(d);
}

static void test_list_order(void **state) {
    static const char *const names[SHIM_PRETENDED] = {"Old Card",   "Game Card A1",    "Broken Card",   "Science Card B2",
                                                      "Grid Array", "Quiet Processor", "Loud Processor"};
    static const int usable[SHIM_PRETENDED] = {0, BY_TYPE(1, 0), 0, 1, 1, 1, 1};
    shs_cl_device *d = (shs_cl_device *)calloc(SHIM_PRETENDED, sizeof *d);
    int count = 0, i;
    (void)state;
    assert_non_null(d);
    shim.pretend = 1;
    assert_ok(shs_cl_list(NULL, d, SHIM_PRETENDED, &count));
    assert_true(count >= SHIM_PRETENDED && count % SHIM_PRETENDED == 0); /* once a platform */
    if (count == SHIM_PRETENDED)
        for (i = 0; i < count; i++) {
            assert_string_equal(d[i].name, names[i]);
            assert_int_equal(d[i].usable, usable[i]);
        }
    free(d);
}

/* The name of the device that these options lead to; the status where to none. */
static void check_pick(shs_cl_options options, const char *expected) {
    shs_cl *cl = (shs_cl *)(void *)&options;
    char reason[100] = "";
    shs_status status;
    options.reason = reason;
    options.reason_size = sizeof reason;
    status = shs_cl_create(NULL, &options, &cl);
    if (!expected) {
        assert_status(status, SHS_NO_DEVICE);
        assert_string_equal(reason, "no usable OpenCL device matches the options");
        assert_null(cl);
    } else {
        assert_ok(status);
        assert_string_equal(shs_cl_device_name(cl), expected);
        assert_string_equal(shs_cl_about(cl)->name, expected);
        assert_string_equal(reason, "");
    }
    end_cl(cl);
}

static size_t load_nothing(void *user, const char *key, void *data, size_t size) {
    (void)user;
    (void)key;
    (void)data;
    (void)size;
    return 0;
}

static void test_pick(void **state) {
    shs_cl_options o = SHS_ZERO;
    const shs_cl_options zero = SHS_ZERO;
    (void)state;
    shim.pretend = 1;
    check_pick(o, BY_TYPE("Game Card A1", "Science Card B2"));
    o.index = BY_TYPE(1, 0);
    check_pick(o, "Science Card B2");
    o = zero;
    o.kind = SHS_CL_GPU;
    o.name = "SCIENCE";
    check_pick(o, "Science Card B2");
    o = zero;
    o.kind = SHS_CL_CPU;
    check_pick(o, "Quiet Processor");
    o.index = 1;
    check_pick(o, "Loud Processor");
    o = zero;
    o.name = "processor";
    check_pick(o, "Quiet Processor");
    o.platform = shs_cl_device_name(NULL); /* "" is part of every name */
    check_pick(o, "Quiet Processor");
    o.platform = "no such platform";
    check_pick(o, NULL);
    o = zero;
    o.name = "no such device";
    check_pick(o, NULL);
    o = zero;
    o.name = "old";
    check_pick(o, NULL);
    o = zero;
    o.name = "broken";
    check_pick(o, NULL);
    o = zero;
    o.kind = SHS_CL_CPU;
    o.name = "card";
    check_pick(o, NULL);
    /* Without a compiler a device is of use only where programs are kept. */
    o = zero;
    o.kind = SHS_CL_ACCELERATOR;
    check_pick(o, NULL);
    o.load_fn = load_nothing;
    check_pick(o, "Grid Array");
    o = zero;
    o.index = 1000;
    check_pick(o, NULL);
}

static void test_pick_platform(void **state) {
    shs_cl_options o = SHS_ZERO;
    shs_cl *first, *named;
    char upper[64];
    size_t i;
    (void)state;
    first = new_cl(NULL);
    strcpy(upper, shs_cl_about(first)->platform);
    for (i = 0; upper[i]; i++)
        if (upper[i] >= 'a' && upper[i] <= 'z') upper[i] = (char)(upper[i] - 'a' + 'A');
    o.platform = upper;
    named = new_cl(&o);
    assert_string_equal(shs_cl_about(named)->platform, shs_cl_about(first)->platform);
    shs_cl_destroy(named);
    end_cl(first);
}

static void test_bad_options(void **state) {
    shs_cl_options o = SHS_ZERO;
    const shs_cl_options zero = SHS_ZERO;
    shs_context ctx = SHS_ZERO;
    shs_cl *cl;
    int something = 0;
    (void)state;
    assert_status(shs_cl_create(NULL, NULL, NULL), SHS_BAD_OUTPUT);
    o.index = -1;
    assert_status(shs_cl_create(NULL, &o, &cl), SHS_BAD_OPTIONS);
    assert_null(cl);
    o = zero;
    o.device_id = &something;
    assert_status(shs_cl_create(NULL, &o, &cl), SHS_BAD_OPTIONS);
    o = zero;
    o.queue = &something;
    assert_status(shs_cl_create(NULL, &o, &cl), SHS_BAD_OPTIONS);
    o = zero;
    something = 9;
    memcpy(&o.kind, &something, sizeof something);
    assert_status(shs_cl_create(NULL, &o, &cl), SHS_BAD_OPTIONS);
    o = zero;
    o.without = 16;
    assert_status(shs_cl_create(NULL, &o, &cl), SHS_BAD_OPTIONS);
    o = zero;
    o.keep = 8;
    assert_status(shs_cl_create(NULL, &o, &cl), SHS_BAD_OPTIONS);
    o = zero;
    o.group_items = 100;
    assert_status(shs_cl_create(NULL, &o, &cl), SHS_BAD_OPTIONS);
    ctx.threads = -1;
    assert_status(shs_cl_create(&ctx, NULL, &cl), SHS_BAD_CONTEXT);
    assert_null(cl);
    assert_int_equal(shim.calls, 0);
}

/* No device is listed and none opens, for this reason, cut to the size of the room for it. */
static void check_nothing_there(const char *expected, size_t room) {
    shs_cl_options o = SHS_ZERO;
    shs_cl *cl;
    char reason[100];
    int count = -1;
    assert_ok(shs_cl_list(NULL, NULL, 0, &count));
    assert_int_equal(count, 0);
    o.reason = reason;
    o.reason_size = room;
    assert_status(shs_cl_create(NULL, &o, &cl), SHS_NO_DEVICE);
    assert_null(cl);
    assert_string_equal(reason, expected);
    assert_status(shs_cl_create(NULL, NULL, &cl), SHS_NO_DEVICE);
}

/* The view of a program with a loader installed but no driver. */
static void test_no_platform(void **state) {
    (void)state;
    shim.fail_at = 0;
    shim.lost = 1;
    shim.error = -1001;
    check_nothing_there("there is no", 12);
}

/* A driver without a device to drive. */
static void test_no_device(void **state) {
    (void)state;
    shim.only = "clGetDeviceIDs";
    shim.fail_at = 0;
    shim.lost = 1;
    shim.error = CL_DEVICE_NOT_FOUND;
    check_nothing_there("there is no OpenCL device", 100);
}

/* A device that the driver lists but does not open: another program uses it, or it was removed. */
static void test_unavailable_device(void **state) {
    shs_cl_options o = SHS_ZERO;
    shs_cl *cl;
    char reason[100];
    (void)state;
    o.reason = reason;
    o.reason_size = sizeof reason;
    shim.only = "clCreateContext";
    shim.fail_at = 0;
    shim.lost = 1;
    shim.error = CL_DEVICE_NOT_AVAILABLE;
    assert_status(shs_cl_create(NULL, &o, &cl), SHS_NO_DEVICE);
    assert_null(cl);
    assert_string_equal(reason, "CL_DEVICE_NOT_AVAILABLE");
    assert_int_equal(shim.live, 0);
}

static void test_null_object(void **state) {
    (void)state;
    shs_cl_destroy(NULL);
    assert_null(shs_cl_engine(NULL));
    assert_null(shs_cl_about(NULL));
    assert_null(shs_cl_host_alloc(NULL, 10));
    shs_cl_host_free(NULL, NULL);
    assert_string_equal(shs_cl_device_name(NULL), "");
    assert_string_equal(shs_cl_build_log(NULL), "");
    assert_string_equal(shs_cl_error_text(NULL), "CL_SUCCESS");
    assert_status(shs_cl_stage_times(NULL, NULL, 0, NULL, 0), SHS_BAD_OPTIONS);
}

static void test_engine(void **state) {
    shs_cl *cl = new_cl(NULL);
    (void)state;
    assert_non_null(shs_cl_engine(cl));
    assert_ptr_equal(shs_cl_engine(cl)->user, cl);
    assert_string_equal(shs_cl_build_log(cl), "");
    assert_string_equal(shs_cl_error_text(cl), "CL_SUCCESS");
    end_cl(cl);
}

/* ---- the caller's own -------------------------------------------------------------------------------------------- */

static cl_uint context_references(cl_context context) {
    cl_uint n = 0;
    assert_int_equal(clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof n, &n, NULL), CL_SUCCESS);
    return n;
}

static cl_uint queue_references(cl_command_queue queue) {
    cl_uint n = 0;
    assert_int_equal(clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof n, &n, NULL), CL_SUCCESS);
    return n;
}

/* PoCL's own thread lets go of a command a moment after clFinish has come back. */
static void wait_for_references(cl_context context, cl_uint expected) {
    time_t begin = time(NULL);
    while (context_references(context) != expected && time(NULL) - begin < 10) {}
}

/* Refused: a queue of another context or device, and a device that is not the context's. */
static void check_foreign(cl_device_id device, cl_context context) {
    shs_cl_options o = SHS_ZERO;
    shs_cl *cl;
    char reason[100];
    cl_int error;
    cl_context other = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    cl_command_queue queue = clCreateCommandQueue(other, device, 0, &error);
    assert_int_equal(error, CL_SUCCESS);
    o.context = context;
    o.reason = reason;
    o.reason_size = sizeof reason;
    o.queue = queue;
    assert_status(shs_cl_create(NULL, &o, &cl), SHS_BAD_OPTIONS);
    assert_null(cl);
    assert_string_equal(reason, "options.queue is of another context than options.context");
    o.queue = NULL;
    shim_first_device = device;
    o.device_id = shim_handles; /* a device that the context does not have */
    assert_status(shs_cl_create(NULL, &o, &cl), SHS_BAD_OPTIONS);
    assert_null(cl);
    assert_string_equal(reason, "options.device_id is not among the devices of options.context");
    assert_int_equal(shim.live, 0);
    clReleaseCommandQueue(queue);
    clReleaseContext(other);
}

static void test_own_context(void **state) {
    shs_cl_options o = SHS_ZERO;
    shs_cl *found = new_cl(NULL), *cl;
    cl_device_id device = found->device;
    cl_int error;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error), disorderly;
    cl_uint of_context = context_references(context), of_queue = queue_references(queue);
    (void)state;
    assert_int_equal(error, CL_SUCCESS);
    end_cl(found);

    o.context = context;
    o.device_id = device;
    o.queue = queue;
    o.profile = 1;
    cl = new_cl(&o);
    assert_ptr_equal(cl->context, context);
    assert_ptr_equal(cl->queue[0], queue);
    check_add(cl, "-D FACTOR=3", 3);
    end_cl(cl);

    o.device_id = NULL;
    o.queue = NULL;
    cl = new_cl(&o);
    assert_ptr_equal(cl->device, device);
    check_add(cl, "-D FACTOR=3", 3);
    end_cl(cl);

    disorderly = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &error);
    if (!error) {
        o.queue = disorderly;
        assert_status(shs_cl_create(NULL, &o, &cl), SHS_BAD_OPTIONS);
        assert_null(cl);
        assert_int_equal(shim.live, 0);
        clReleaseCommandQueue(disorderly);
    }
    check_foreign(device, context);
    wait_for_references(context, of_context);
    assert_int_equal(context_references(context), of_context);
    assert_int_equal(queue_references(queue), of_queue);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
}

/* The device object is of the part, whichever option names it. */
static void check_part(shs_cl_options o, cl_device_id part) {
    shs_cl *cl = new_cl(&o);
    assert_ptr_equal(cl->device, part);
    assert_int_equal(shs_cl_about(cl)->units, 1);
    check_add(cl, "-D FACTOR=3", 3);
    end_cl(cl);
}

/* A part of a device, whose context may say that it is of the whole device. */
static void test_own_part(void **state) {
    const cl_device_partition_property one_unit_each[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    shs_cl_options o = SHS_ZERO;
    shs_cl *cl = new_cl(NULL);
    cl_device_id parts[64];
    cl_context context;
    cl_command_queue queue;
    cl_uint count = 0, i;
    char reason[100];
    cl_int error = clCreateSubDevices(cl->device, one_unit_each, 64, parts, &count);
    (void)state;
    end_cl(cl);
    if (error || count < 2) {
        print_message("skipped: the device has no parts\n");
        return;
    }
    context = clCreateContext(NULL, 1, parts + 1, NULL, NULL, &error);
    queue = clCreateCommandQueue(context, parts[1], 0, &error);
    assert_int_equal(error, CL_SUCCESS);
    o.context = context;
    o.queue = queue;
    check_part(o, parts[1]);
    o.device_id = parts[1];
    check_part(o, parts[1]);
    o.queue = NULL;
    check_part(o, parts[1]);

    o.reason = reason;
    o.reason_size = sizeof reason;
    o.device_id = parts[0];
    shim.only = "clCreateCommandQueue";
    shim.fail_at = shim.calls;
    shim.error = CL_INVALID_DEVICE;
    assert_status(shs_cl_create(NULL, &o, &cl), SHS_BAD_OPTIONS);
    assert_string_equal(reason, "options.device_id is not among the devices of options.context");
    o.queue = queue; /* of the other part: PoCL takes parts[0] for this context, too */
    assert_status(shs_cl_create(NULL, &o, &cl), SHS_BAD_OPTIONS);
    assert_int_equal(shim.live, 0);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    for (i = 0; i < count; i++) clReleaseDevice(parts[i]);
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

static void test_programs_are_kept(void **state) {
    shs_cl *cl = new_cl(NULL);
    cl_kernel add, again, twice;
    long builds;
    (void)state;
    builds = shim.builds;
    check_add(cl, "-D FACTOR=1", 1);
    check_add(cl, "-D FACTOR=1", 1);
    assert_int_equal(shim.builds, builds + 1);
    check_add(cl, "-D FACTOR=7", 7);
    assert_int_equal(shim.builds, builds + 2);
    assert_ok(shs__cl_kernel(cl, source_add, "-D FACTOR=1", "add", &add));
    assert_ok(shs__cl_kernel(cl, source_add, "-D FACTOR=1", "twice", &twice));
    assert_ok(shs__cl_kernel(cl, source_add, "-D FACTOR=1", "add", &again));
    assert_ptr_equal(add, again);
    assert_ptr_not_equal(add, twice);
    assert_int_equal(shim.builds, builds + 2);
    end_cl(cl);
}

static void test_build_failure(void **state) {
    shs_cl *cl = new_cl(NULL);
    cl_kernel kernel = NULL;
    (void)state;
    assert_status(shs__cl_kernel(cl, source_broken, "", "add", &kernel), SHS_BUILD_FAILED);
    assert_null(kernel);
    assert_non_null(strstr(shs_cl_build_log(cl), "no_such_name"));
    assert_string_equal(shs_cl_error_text(cl), "CL_BUILD_PROGRAM_FAILURE");
    assert_status(shs__cl_kernel(cl, source_broken, "", "add", &kernel), SHS_BUILD_FAILED);
    assert_status(shs__cl_kernel(cl, source_add, "-D FACTOR=1", "no_such_kernel", &kernel), SHS_ENGINE_FAILED);
    assert_string_equal(shs_cl_error_text(cl), "CL_INVALID_KERNEL_NAME");
    check_add(cl, "-D FACTOR=1", 1);
    end_cl(cl);
}

/* The status that a caller sees when the call `name` fails with `error`, and afterwards that of the same work. */
static void check_status(const char *name, cl_int error, shs_status expected) {
    shs_real *x = (shs_real *)malloc(COUNT * sizeof *x);
    shs_cl *cl;
    assert_non_null(x);
    shim_begin();
    cl = new_cl(NULL);
    shim.only = name;
    shim.fail_at = 0;
    shim.lost = 1;
    shim.error = error;
    assert_status(run_add(cl, "-D FACTOR=1", x), expected);
    assert_string_equal(shs_cl_error_text(cl), shs__cl_error_name(error));
    assert_int_equal(shim.failed, 1);
    shim.only = NULL;
    shim.fail_at = -1;
    shim.lost = 0;
    assert_ok(run_add(cl, "-D FACTOR=1", x)); /* nothing broken is kept */
    check_added(x, 1);
    end_cl(cl);
    free(x);
}

static void test_statuses(void **state) {
    (void)state;
    check_status("clBuildProgram", CL_COMPILER_NOT_AVAILABLE, SHS_BUILD_FAILED);
    check_status("clBuildProgram", CL_OUT_OF_RESOURCES, SHS_BUILD_FAILED); /* NVIDIA's assembler refuses with it */
    check_status("clBuildProgram", CL_OUT_OF_HOST_MEMORY, SHS_NO_MEMORY);
    check_status("clBuildProgram", CL_DEVICE_NOT_AVAILABLE, SHS_DEVICE_LOST);
    check_status("clCreateBuffer", CL_MEM_OBJECT_ALLOCATION_FAILURE, SHS_NO_MEMORY);
    check_status("clEnqueueWriteBuffer", CL_OUT_OF_RESOURCES, SHS_ENGINE_FAILED);
    check_status("clEnqueueNDRangeKernel", CL_DEVICE_NOT_AVAILABLE, SHS_DEVICE_LOST);
    check_status("clEnqueueReadBuffer", CL_INVALID_COMMAND_QUEUE, SHS_DEVICE_LOST);
}

/* Kernels are told of the device's doubles and of the types. */
static void test_defines(void **state) {
    static const char *const source[] = {
        "#if HAS_DOUBLE != EXPECTED || !defined(IS_CPU) || !defined(NV_PTX)\n", "#error a define is wrong\n", "#endif\n",
        "__kernel void sizes(__global uint *out) { out[0] = sizeof(real); out[1] = sizeof(wide); }\n", NULL};
    shs_cl_options o = SHS_ZERO;
    int single;
    (void)state;
    for (single = 0; single < 2; single++) {
        cl_uint sizes[2] = {0, 0};
        shs__cl_call call;
        cl_mem buffer = NULL;
        shs_cl *cl;
        int expected;
        o.single_only = single;
        cl = new_cl(&o);
        expected = cl->about.has_double && sizeof(shs_wide) == 8 && BY_TYPE(!single, 1);
        assert_int_equal(cl->has_double, expected);
        call = shs__cl_begin(cl, source, expected ? "-D EXPECTED=1" : "-D EXPECTED=0", "sizes");
        assert_ok(shs__cl_buffer(cl, sizeof sizes, &buffer));
        shs__cl_pass_buffer(&call, buffer);
        assert_ok(shs__cl_launch(&call, 1, 1, 1, 1, "sizes"));
        assert_ok(shs__cl_read(cl, 0, buffer, 0, sizeof sizes, sizes));
        assert_int_equal(sizes[0], sizeof(shs_real));
        assert_int_equal(sizes[1], expected ? 8 : 4);
        shs__cl_release(cl, &buffer);
        end_cl(cl);
    }
}

/* ---- stored binaries --------------------------------------------------------------------------------------------- */

/* A store of a few entries in memory. */
enum { ENTRIES = 64 };
typedef struct store {
    char key[ENTRIES][64];
    unsigned char *data[ENTRIES];
    size_t size[ENTRIES];
    int count, loads, stores;
    int lie; /* load_fn gives less than it promised */
} store;

static int store_find(const store *s, const char *key) {
    int i;
    for (i = 0; i < s->count && strcmp(s->key[i], key) != 0;) i++;
    return i;
}

static size_t store_load(void *user, const char *key, void *data, size_t size) {
    store *s = (store *)user;
    int i = store_find(s, key);
    s->loads++;
    if (i == s->count) return 0;
    if (size > 0) memcpy(data, s->data[i], size < s->size[i] ? size : s->size[i]);
    return s->lie && size > 0 ? s->size[i] - 1 : s->size[i];
}

static void store_store(void *user, const char *key, const void *data, size_t size) {
    store *s = (store *)user;
    int i = store_find(s, key);
    size_t k;
    for (k = 0; key[k]; k++) assert_non_null(strchr("abcdefghijklmnopqrstuvwxyz0123456789-", key[k]));
    assert_in_range(i, 0, ENTRIES - 1);
    assert_in_range(k, 1, 63);
    if (i == s->count) {
        s->count++;
        strcpy(s->key[i], key);
    }
    free(s->data[i]);
    s->data[i] = (unsigned char *)malloc(size);
    assert_non_null(s->data[i]);
    memcpy(s->data[i], data, size);
    s->size[i] = size;
    s->stores++;
}

static void store_end(store *s) {
    int i;
    for (i = 0; i < s->count; i++) free(s->data[i]);
    free(s);
}

static store *store_begin(shs_cl_options *o) {
    store *s = (store *)calloc(1, sizeof *s);
    assert_non_null(s);
    o->load_fn = store_load;
    o->store_fn = store_store;
    o->store_user = s;
    o->keep = SHS_CL_KEEP_PROGRAMS | SHS_CL_KEEP_VERDICTS | SHS_CL_KEEP_TUNING;
    return s;
}

static int store_count(const store *s, const char *kind) {
    int i, count = 0;
    for (i = 0; i < s->count; i++) count += strncmp(s->key[i], kind, strlen(kind)) == 0;
    return count;
}

/* A fresh object, which runs the kernel; returns how many programs it built from source. */
static long built_with(const shs_cl_options *o) {
    shs_cl *cl = new_cl(o);
    long before = shim.builds;
    check_add(cl, "-D FACTOR=5", 5);
    end_cl(cl);
    return shim.builds - before;
}

/* A store with the program, and where it lies: on NVIDIA's platform the probe is stored before it. */
static store *store_with_program(shs_cl_options *o, int *entry) {
    store *s = store_begin(o);
    assert_int_equal(built_with(o), 1);
    assert_true(s->stores >= 1);
    *entry = s->count - 1;
    return s;
}

static void test_binaries(void **state) {
    shs_cl_options o = SHS_ZERO;
    int entry;
    store *s = store_with_program(&o, &entry);
    (void)state;
    assert_true(s->size[entry] > SHS__CL_SEAL);
    assert_int_equal(built_with(&o), 0);

    s->data[entry][s->size[entry] / 2] ^= 1; /* damaged */
    assert_int_equal(built_with(&o), 1);
    assert_int_equal(built_with(&o), 0); /* and mended */
    s->data[entry][20] ^= 1;             /* its seal */
    assert_int_equal(built_with(&o), 1);
    s->size[entry] -= 3; /* cut */
    assert_int_equal(built_with(&o), 1);
    s->size[entry] = SHS__CL_SEAL; /* empty */
    assert_int_equal(built_with(&o), 1);
    s->lie = 1;
    assert_int_equal(built_with(&o) >= 1, 1);
    s->lie = 0;
    assert_int_equal(built_with(&o), 0);
    assert_true(s->loads > 0);
    store_end(s);
}

/* In a context of several devices, such as the caller's may be, programs are stored for the one in use. */
static void test_binaries_of_one_of_two(void **state) {
    shs_cl_options o = SHS_ZERO;
    store *s = store_begin(&o);
    (void)state;
    shim.two_devices = 1;
    assert_int_equal(built_with(&o), 1);
    assert_true(store_count(s, "program-") > 0);
    assert_int_equal(built_with(&o), 0);
    store_end(s);
}

/* Sealed, but nothing that the driver knows. */
static void test_refused_binary(void **state) {
    shs_cl_options o = SHS_ZERO;
    int entry;
    store *s = store_with_program(&o, &entry);
    (void)state;
    memset(s->data[entry], 'x', s->size[entry]);
    shs__cl_seal(s->data[entry], s->key[entry], s->data[entry] + SHS__CL_SEAL, s->size[entry] - SHS__CL_SEAL);
    assert_int_equal(built_with(&o), 1);
    assert_int_equal(built_with(&o), 0);
    store_end(s);
}

/* By default programs are kept where that costs nothing, and nothing is measured. */
static void test_what_is_kept(void **state) {
    enum { P = 24, N = 40, S = 4, M = 60000 };
    static const unsigned keep[] = {0, SHS_CL_KEEP_PROGRAMS, SHS_CL_KEEP_VERDICTS};
    shs_real *D = new_normal(P * N, 1), *Y = new_normal(P * M, 2);
    int i;
    (void)state;
    assert_ok(shs_normalize_columns(P, N, D, P, NULL));
    for (i = 0; i < 3; i++) {
        shs_cl_options o = SHS_ZERO;
        store *s = store_begin(&o);
        shs_context ctx = SHS_ZERO;
        shs_codes codes;
        shs_cl *cl;
        int pocl;
        o.keep = keep[i];
        cl = new_cl(&o);
        pocl = shs__cl_contains(cl->about.platform, "portable");
        ctx.engine = shs_cl_engine(cl);
        assert_ok(shs_codes_create(NULL, M, S, &codes));
        assert_ok(shs_omp(&ctx, P, N, D, M, Y, S, &codes));
        assert_int_equal(store_count(s, "program-") > 0, keep[i] == SHS_CL_KEEP_PROGRAMS || (keep[i] == 0 && !pocl));
        assert_int_equal(store_count(s, "verdict-") > 0, keep[i] != SHS_CL_KEEP_PROGRAMS);
        assert_int_equal(store_count(s, "tuning-"), 0);
        shs_codes_free(NULL, &codes);
        end_cl(cl);
        store_end(s);
    }
    free(D);
    free(Y);
}

/* ---- tuning ------------------------------------------------------------------------------------------------------ */

typedef struct trials {
    int calls, broken; /* every choice fails */
    shs_wide seconds[4];
} trials;

static shs_status trial(void *arg, int choice, shs_wide *seconds) {
    trials *t = (trials *)arg;
    t->calls++;
    *seconds = t->seconds[choice];
    return t->broken || choice == 3 ? SHS_NO_MEMORY : SHS_OK;
}

/* The clock tells parts of a millisecond, whatever the type of its seconds holds. */
static void test_clock(void **state) {
    shs_wide shortest = 1;
    int i;
    (void)state;
    for (i = 0; i < 50; i++) {
        const shs__cl_moment begin = shs__cl_now();
        shs_wide passed = 0;
        while (!(passed > 0)) passed = shs__cl_since(&begin);
        if (passed < shortest) shortest = passed;
    }
    assert_true(shortest < (shs_wide)0.02); /* clock() of a C library without a better one may take its time */
}

static void test_tuning(void **state) {
    shs_cl_options o = SHS_ZERO;
    store *s = store_begin(&o);
    trials t = {0, 0, {3, 1, 2, 0}};
    shs_cl *cl = new_cl(&o);
    int choice = -1, calls, entry;
    (void)state;
    assert_ok(shs__cl_tune(cl, "gemm 64", 4, trial, &t, &choice));
    assert_int_equal(choice, 1);
    calls = t.calls;
    t.seconds[0] = 0;
    assert_ok(shs__cl_tune(cl, "gemm 64", 4, trial, &t, &choice));
    assert_int_equal(choice, 1);
    assert_int_equal(t.calls, calls);
    assert_ok(shs__cl_tune(cl, "gemm 65", 4, trial, &t, &choice));
    assert_int_equal(choice, 0);
    t.broken = 1;
    assert_status(shs__cl_tune(cl, "gemm 66", 4, trial, &t, &choice), SHS_UNSUPPORTED);
    end_cl(cl);

    entry = s->count - 2; /* that of "gemm 64" */
    cl = new_cl(&o);      /* knows it from the store */
    assert_ok(shs__cl_tune(cl, "gemm 64", 4, trial, &t, &choice));
    assert_int_equal(choice, 1);
    end_cl(cl);
    t.broken = 0;
    s->data[entry][SHS__CL_SEAL] = 77; /* sealed, but no choice */
    shs__cl_seal(s->data[entry], s->key[entry], s->data[entry] + SHS__CL_SEAL, 1);
    cl = new_cl(&o);
    assert_ok(shs__cl_tune(cl, "gemm 64", 4, trial, &t, &choice));
    assert_int_equal(choice, 0);
    end_cl(cl);
    store_end(s);
}

/* Ways that were measured are kept; whatever they are, the codes are the same. On a processor there is one way. */
static void test_tuned_coding(void **state) {
    enum { P = 24, N = 40, S = 4 };
    const size_t m = 60000;
    shs_real *D = new_normal(P * N, 1), *Y = new_normal(P * m, 2);
    shs_cl_options o = SHS_ZERO, kept = SHS_ZERO;
    store *s = store_begin(&kept);
    shs_codes codes[3];
    int run, i, measured = 0;
    (void)state;
    assert_ok(shs_normalize_columns(P, N, D, P, NULL));
    for (run = 0; run < 3; run++) {
        shs_cl *cl = new_cl(run ? &kept : &o);
        shs_context ctx = SHS_ZERO;
        long built = shim.builds, stored = s->stores;
        ctx.engine = shs_cl_engine(cl);
        assert_ok(shs_codes_create(NULL, m, S, codes + run));
        assert_ok(shs_omp(&ctx, P, N, D, m, Y, S, codes + run));
        if (run == 2) assert_int_equal(shim.builds, built);
        if (run == 2) assert_int_equal(s->stores, stored);
        assert_memory_equal(codes[run].used, codes[0].used, m * sizeof *codes->used);
        assert_memory_equal(codes[run].atoms, codes[0].atoms, m * S * sizeof *codes->atoms);
        assert_memory_equal(codes[run].coefs, codes[0].coefs, m * S * sizeof *codes->coefs);
        end_cl(cl);
    }
    for (i = 0; i < s->count; i++) {
        if (strncmp(s->key[i], "tuning-", 7) != 0) continue;
        print_message("of %d ways number %d was the fastest\n", SHS__CL_WAYS, s->data[i][SHS__CL_SEAL]);
        measured++;
    }
    print_message("%d measured\n", measured);
    for (run = 0; run < 3; run++) shs_codes_free(NULL, codes + run);
    store_end(s);
    free(D);
    free(Y);
}

/* What counts is all signals, not those of a chunk. */
static void test_tuned_by_chunks(void **state) {
    enum { P = 24, N = 40, S = 4, CHUNK = 64 };
    shs_cl_options o = SHS_ZERO;
    store *s = store_begin(&o);
    shs_cl *cl = new_cl(&o);
    const size_t most = 257 * (size_t)cl->units;
    shs_real *D = new_normal(P * N, 1), *Y = new_normal(P * most, 2);
    shs_omp_options coding = SHS_ZERO;
    shs_context ctx = SHS_ZERO;
    size_t m;
    (void)state;
    assert_ok(shs_normalize_columns(P, N, D, P, NULL));
    ctx.engine = shs_cl_engine(cl);
    cl->ways.is_cpu = 0;
    coding.sparsity = S;
    coding.signals_per_group = CHUNK;
    for (m = CHUNK; m <= most; m += most - CHUNK) {
        shs_codes codes;
        assert_ok(shs_codes_create(NULL, m, S, &codes));
        assert_ok(shs_omp_ex(&ctx, P, N, D, P, m, Y, P, &coding, &codes, NULL, NULL));
        assert_int_equal(store_count(s, "tuning-"), m == most);
        shs_codes_free(NULL, &codes);
    }
    end_cl(cl);
    store_end(s);
    free(D);
    free(Y);
}

/* ---- memory and queues ------------------------------------------------------------------------------------------- */

static void test_memory_limit(void **state) {
    shs_cl_options o = SHS_ZERO;
    cl_mem a = NULL, b = NULL, c = NULL;
    shs_cl *cl;
    (void)state;
    o.memory_limit = 1000000;
    cl = new_cl(&o);
    assert_ok(shs__cl_buffer(cl, 600000, &a));
    assert_status(shs__cl_buffer(cl, 400001, &b), SHS_NO_MEMORY);
    assert_null(b);
    assert_ok(shs__cl_buffer(cl, 400000, &b));
    assert_int_equal(cl->in_use, 1000000);
    assert_status(shs__cl_buffer(cl, 1, &c), SHS_NO_MEMORY);
    shs__cl_release(cl, &a);
    assert_null(a);
    assert_int_equal(cl->in_use, 400000);
    assert_ok(shs__cl_buffer(cl, 0, &c));
    assert_status(shs__cl_buffer(cl, SIZE_MAX, &a), SHS_NO_MEMORY);
    shs__cl_release(cl, &a);
    shs__cl_release(cl, &b);
    shs__cl_release(cl, &c);
    assert_int_equal(cl->in_use, 0);
    end_cl(cl);
}

/* Refusals by a limit are no errors of OpenCL: the text names the bytes, the limit and the way out. */
static void test_memory_limit_is_told(void **state) {
    enum { P = 16, N = 40, M = 50, S = 3 };
    shs_real *D = new_normal(P * N, 1), *Y = new_normal(P * M, 2);
    size_t limits[] = {1, 2000, 12000};
    shs_cl_options o = SHS_ZERO;
    shs_context ctx = SHS_ZERO;
    shs_codes codes;
    shs_cl *cl;
    cl_mem buffer = NULL;
    char text[80];
    size_t i;
    (void)state;
    assert_ok(shs_codes_create(NULL, M, S, &codes));
    for (i = 0; i < sizeof limits / sizeof *limits; i++) {
        o.memory_limit = limits[i];
        cl = new_cl(&o);
        ctx.engine = shs_cl_engine(cl);
        assert_string_equal(shs_cl_error_text(cl), "CL_SUCCESS");
        assert_status(shs_omp(&ctx, P, N, D, M, Y, S, &codes), SHS_NO_MEMORY);
        snprintf(text, sizeof text, "limit is %lu (options.memory_limit)", (unsigned long)limits[i]);
        assert_non_null(strstr(shs_cl_error_text(cl), text));
        assert_non_null(strstr(shs_cl_error_text(cl), shs_cl_device_name(cl)));
        assert_non_null(strstr(shs_cl_error_text(cl), "options.fallback"));
        end_cl(cl);
    }
    o.memory_limit = 0;
    cl = new_cl(&o);
    cl->about.max_alloc = 1000;
    assert_status(shs__cl_buffer(cl, 1001, &buffer), SHS_NO_MEMORY);
    assert_non_null(strstr(shs_cl_error_text(cl), "device memory: 1001 bytes are needed"));
    assert_non_null(strstr(shs_cl_error_text(cl), "largest buffer has 1000"));
    shs__cl_check(cl, CL_OUT_OF_RESOURCES); /* which comes later */
    assert_string_equal(shs_cl_error_text(cl), "CL_OUT_OF_RESOURCES");
    end_cl(cl);
    shs_codes_free(NULL, &codes);
    free(D);
    free(Y);
}

/* PoCL would count warnings of its compiler on stderr. A loop of MOD's kernel cannot be unrolled on a processor. */
static void test_no_output_from_building(void **state) {
    shs_cl *cl = new_cl(NULL);
    FILE *file = tmpfile();
    cl_kernel kernel;
    char options[64];
    long written;
    int kept;
    (void)state;
    assert_non_null(file);
    snprintf(options, sizeof options, " -D RUN_%ld_%ld", (long)getpid(), (long)time(NULL)); /* in no driver's cache */
    fflush(stderr);
    kept = dup(2);
    assert_true(kept >= 0);
    assert_true(dup2(fileno(file), 2) >= 0);
    if (shs__cl_kernel(cl, shs__cl_source_mod, options, "mod_solve", &kernel) != SHS_OK) kernel = NULL;
    fflush(stderr);
    assert_true(dup2(kept, 2) >= 0);
    close(kept);
    assert_non_null(kernel);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    written = ftell(file);
    fclose(file);
    assert_int_equal(written, 0);
    end_cl(cl);
}

static void test_memory_is_kept(void **state) {
    shs_cl_options o = SHS_ZERO;
    cl_mem a = NULL, b = NULL, was;
    shs_cl *cl;
    long live;
    (void)state;
    o.memory_limit = 1000000;
    cl = new_cl(&o);
    shs_cl_trim(cl);
    live = shim.live;
    assert_ok(shs__cl_buffer(cl, 500000, &a));
    was = a;
    shs__cl_release(cl, &a);
    assert_int_equal(shim.live, live + 1);
    assert_ok(shs__cl_buffer(cl, 500000, &a));
    assert_true(a == was);
    assert_ok(shs__cl_buffer(cl, 300000, &b));
    assert_true(b != was);
    assert_int_equal(cl->in_use, 800000);
    shs__cl_release(cl, &a);
    assert_int_equal(shim.live, live + 2);
    assert_ok(shs__cl_buffer(cl, 510000, &a)); /* with the spare one more would be held than ever was in use */
    assert_int_equal(shim.live, live + 2);
    shs__cl_release(cl, &a);
    shs__cl_release(cl, &b);
    assert_int_equal(cl->in_use, 0);
    assert_int_equal(shim.live, live + 2);
    shs_cl_trim(cl);
    assert_int_equal(shim.live, live);
    shs_cl_trim(NULL);
    end_cl(cl);
    o.lean = 1;
    cl = new_cl(&o);
    live = shim.live;
    assert_ok(shs__cl_buffer(cl, 500000, &a));
    shs__cl_release(cl, &a);
    assert_int_equal(shim.live, live);
    end_cl(cl);
}

static void test_pinned(void **state) {
    shs_cl *cl = new_cl(NULL);
    cl_mem buffer = NULL;
    shs_real *x = (shs_real *)shs_cl_host_alloc(cl, COUNT * sizeof *x), *y, other = 0;
    int i;
    (void)state;
    y = (shs_real *)shs_cl_host_alloc(cl, COUNT * sizeof *y);
    assert_true(x && y && x != y);
    for (i = 0; i < COUNT; i++) {
        x[i] = (shs_real)i;
        y[i] = -1;
    }
    assert_ok(shs__cl_buffer(cl, COUNT * sizeof *x, &buffer));
    assert_ok(shs__cl_write_later(cl, 1, buffer, 0, COUNT * sizeof *x, x));
    assert_ok(shs__cl_read_later(cl, 1, buffer, 0, COUNT * sizeof *x, y));
    assert_ok(shs__cl_finish(cl, 1));
    assert_memory_equal(x, y, COUNT * sizeof *x);
    shs__cl_release(cl, &buffer);
    shs_cl_host_free(cl, &other); /* none of its own: left alone */
    shs_cl_host_free(cl, NULL);
    shs_cl_host_free(cl, x);
    assert_ptr_equal(cl->pinned->memory, y);
    end_cl(cl); /* y goes with it */
}

/* A transfer in one queue and work in the other, ordered by events. */
static shs_status run_overlapped(shs_cl *cl, shs_real *x) {
    const size_t bytes = GLOBAL * sizeof *x, half = bytes / 2;
    cl_event sent = NULL, done = NULL;
    cl_mem there = NULL, copied = NULL;
    shs__cl_call call = shs__cl_begin(cl, source_add, "-D FACTOR=2", "twice");
    shs_status status = call.status;
    if (status == SHS_OK) status = shs__cl_buffer(cl, bytes, &there);
    if (status == SHS_OK) status = shs__cl_buffer(cl, bytes, &copied);
    if (status == SHS_OK) status = shs__cl_write_later(cl, 1, there, 0, bytes, x);
    if (status == SHS_OK) status = shs__cl_mark(cl, 1, &sent);
    if (status == SHS_OK) status = shs__cl_after(cl, 0, sent);
    shs__cl_pass_buffer(&call, there);
    if (status == SHS_OK) status = shs__cl_launch(&call, GLOBAL / 64, 64, 1, 1, "twice");
    if (status == SHS_OK) status = shs__cl_clear(cl, 0, copied, 0, bytes);
    if (status == SHS_OK) status = shs__cl_copy(cl, 0, there, half, copied, half, half);
    if (status == SHS_OK) status = shs__cl_mark(cl, 0, &done);
    if (status == SHS_OK) status = shs__cl_wait(cl, done);
    if (status == SHS_OK) status = shs__cl_read_later(cl, 1, copied, 0, bytes, x);
    shs__cl_finish(cl, 0); /* also where something failed: x and the buffers are in use until then */
    if (status == SHS_OK) status = shs__cl_finish(cl, 1);
    else shs__cl_finish(cl, 1);
    shs__cl_forget(cl, &sent);
    shs__cl_forget(cl, &done);
    shs__cl_release(cl, &there);
    shs__cl_release(cl, &copied);
    return status;
}

static void check_overlapped(const shs_real *x) {
    int i;
    for (i = 0; i < GLOBAL; i++) assert_true(x[i] == (i < GLOBAL / 2 ? 0 : (shs_real)(2 * i)));
}

static void test_queues(void **state) {
    shs_cl *cl = new_cl(NULL);
    shs_real *x = (shs_real *)malloc(GLOBAL * sizeof *x);
    shs__cl_call nothing = SHS_ZERO;
    int i;
    (void)state;
    assert_non_null(x);
    for (i = 0; i < GLOBAL; i++) x[i] = (shs_real)i;
    assert_ok(run_overlapped(cl, x));
    check_overlapped(x);
    assert_ok(shs__cl_wait(cl, NULL));
    assert_ok(shs__cl_after(cl, 0, NULL));
    assert_ok(shs__cl_flush(cl, 0));
    nothing.cl = cl;
    assert_ok(shs__cl_launch(&nothing, 1, 64, 0, 1, "nothing"));
    assert_ok(shs__cl_write(cl, 0, NULL, 0, 0, NULL));
    assert_ok(shs__cl_read(cl, 0, NULL, 0, 0, NULL));
    free(x);
    end_cl(cl);
}

static void test_wrap(void **state) {
    shs_cl *cl = new_cl(NULL);
    const size_t bytes = GLOBAL * sizeof(shs_real);
    unsigned char *block = (unsigned char *)malloc(bytes + 4096);
    shs_real *x = (shs_real *)(void *)(block + (4096 - (uintptr_t)block % 4096)), *seen;
    shs__cl_call call;
    cl_mem buffer = NULL;
    int i;
    (void)state;
    assert_non_null(block);
    for (i = 0; i < GLOBAL; i++) x[i] = (shs_real)i;
    call = shs__cl_begin(cl, source_add, "-D FACTOR=2", "twice");
    assert_ok(shs__cl_wrap(cl, bytes, x, &buffer));
    assert_int_equal(cl->in_use, 0);
    shs__cl_pass_buffer(&call, buffer);
    assert_ok(shs__cl_launch(&call, GLOBAL / 64, 64, 1, 1, "twice"));
    seen = (shs_real *)malloc(bytes);
    assert_non_null(seen);
    assert_ok(shs__cl_read(cl, 0, buffer, 0, bytes, seen));
    for (i = 0; i < GLOBAL; i++) assert_true(seen[i] == (shs_real)(2 * i));
    shs__cl_release(cl, &buffer);
    free(seen);
    free(block);
    end_cl(cl);
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

static const shs_cl_stage *stage_named(const shs_cl_stage *stages, int count, const char *name) {
    int i;
    for (i = 0; i < count; i++)
        if (strcmp(stages[i].name, name) == 0) return stages + i;
    fail_msg("there is no stage %s", name);
    return NULL;
}

static void test_profile(void **state) {
    enum { RUNS = SHS__CL_PENDING + 20 };
    shs_cl_options o = SHS_ZERO;
    shs_cl_stage stages[16];
    const shs_cl_stage *add;
    shs_cl *cl;
    int count = 0, i;
    (void)state;
    o.profile = 1;
    cl = new_cl(&o);
    assert_ok(shs_cl_stage_times(cl, NULL, 0, &count, 1)); /* looking at the device may have taken some runs */
    for (i = 0; i < RUNS; i++) check_add(cl, "-D FACTOR=1", 1);
    assert_ok(shs_cl_stage_times(cl, NULL, 0, &count, 0));
    assert_in_range(count, 3, 16);
    assert_ok(shs_cl_stage_times(cl, stages, 16, &count, 1));
    add = stage_named(stages, count, "add");
    assert_int_equal(add->runs, RUNS);
    assert_int_equal(add->builds, 1);
    assert_in_range(add->group_items, 1, 4096);
    assert_true(add->seconds > 0 && add->seconds < 60);
    assert_true(add->build_seconds >= 0 && add->build_seconds < 60);
    assert_int_equal(stage_named(stages, count, "upload")->runs, RUNS);
    assert_int_equal(stage_named(stages, count, "download")->runs, RUNS);
    check_add(cl, "-D FACTOR=1", 1);
    assert_ok(shs_cl_stage_times(cl, stages, 16, &count, 0));
    assert_int_equal(stage_named(stages, count, "add")->runs, 1);
    assert_int_equal(stage_named(stages, count, "add")->builds, 0);
    assert_status(shs_cl_stage_times(cl, stages, 16, NULL, 0), SHS_BAD_OUTPUT);
    check_add(cl, "-D FACTOR=1", 1); /* its events go with the object */
    end_cl(cl);
}

static void test_no_profile(void **state) {
    shs_cl_stage stages[4];
    shs_cl *cl = new_cl(NULL);
    int count = 0;
    (void)state;
    check_add(cl, "-D FACTOR=1", 1);
    assert_ok(shs_cl_stage_times(cl, stages, 4, &count, 0));
    assert_int_equal(stage_named(stages, count, "add")->builds, 1); /* building is always measured */
    assert_int_equal(stage_named(stages, count, "add")->runs, 0);
    end_cl(cl);
}

/* ---- everything that can fail, fails once ------------------------------------------------------------------------ */

/* Uses all of the runtime; wrong results fail the test where everything was reported as fine. */
static shs_status everything(const shs_context *ctx, const shs_cl_options *options, shs_real *x) {
    shs_cl *cl = NULL;
    shs_cl_stage stages[8];
    void *pinned;
    int count = 0, i;
    shs_status status = shs_cl_list(ctx, NULL, 0, &count);
    if (status != SHS_OK) return status;
    status = shs_cl_create(ctx, options, &cl);
    assert_int_equal(cl != NULL, status == SHS_OK);
    if (status != SHS_OK) return status;
    status = run_add(cl, "-D FACTOR=5", x);
    if (status == SHS_OK) check_added(x, 5);
    for (i = 0; i < GLOBAL; i++) x[i] = (shs_real)i;
    if (status == SHS_OK) {
        status = run_overlapped(cl, x);
        if (status == SHS_OK) check_overlapped(x);
    }
    pinned = shs_cl_host_alloc(cl, 100);
    if (status == SHS_OK && !pinned) status = SHS_NO_MEMORY;
    if (pinned) memset(pinned, 1, 100);
    if (status == SHS_OK) status = shs_cl_stage_times(cl, stages, 8, &count, 0);
    if (count & 1) shs_cl_host_free(cl, pinned);
    shs_cl_destroy(cl);
    return status;
}

static void check_everything(int lost, int allocations, const shs_cl_options *options) {
    shs_real *x = (shs_real *)malloc(GLOBAL * sizeof *x);
    shs_context ctx = SHS_ZERO;
    counter c = {0, -1, 0};
    const int step = allocations ? 1 : every(5);
    long calls, k, tried = 0, refused = 0;
    assert_non_null(x);
    ctx.alloc_fn = counter_alloc;
    ctx.free_fn = counter_free;
    ctx.alloc_user = &c;
    assert_ok(everything(&ctx, options, x));
    calls = allocations ? c.calls : shim.calls;
    assert_true(calls > 10);
    for (k = (lost + options->profile) % step; k < calls; k += step) {
        shs_status status;
        shim_begin();
        c.calls = 0;
        c.fail_at = -1;
        if (allocations) c.fail_at = k;
        else {
            shim.fail_at = k;
            shim.lost = lost;
        }
        status = everything(&ctx, options, x);
        if (shim.live != 0 || c.live != 0)
            fail_msg("failure %ld (%s) of %ld: %ld objects and %ld blocks are left", k, shim.first ? shim.first : "alloc",
                     calls, shim.live, c.live);
        if (allocations) assert_true(status == SHS_OK || status == SHS_NO_MEMORY);
        else
            assert_true(status == SHS_OK || status == SHS_ENGINE_FAILED || status == SHS_NO_DEVICE ||
                        status == SHS_BUILD_FAILED || status == SHS_NO_MEMORY);
        refused += status != SHS_OK;
        tried++;
    }
    assert_true(refused > tried / 4); /* failures do come through */
    shim_begin();
    c.fail_at = -1;
    assert_ok(everything(&ctx, options, x));
    free(x);
}

/* Profiled or not, with a store of programs or without. */
static void check_everything_with(int profile, int stored, int lost, int allocations) {
    shs_cl_options o = SHS_ZERO;
    store *s = stored ? store_begin(&o) : NULL;
    o.profile = profile;
    check_everything(lost, allocations, &o);
    if (s) store_end(s);
}

static void test_calls_fail(void **state) {
    (void)state;
    check_everything_with(0, 0, 0, 0);
}
static void test_calls_fail_profiling(void **state) {
    (void)state;
    check_everything_with(1, 1, 0, 0);
}
static void test_device_lost(void **state) {
    (void)state;
    check_everything_with(1, 0, 1, 0);
}
static void test_allocations_fail(void **state) {
    (void)state;
    check_everything_with(1, 1, 0, 1);
}

static void check_told(const shs_cl_device *d, const shs_cl_device *expected) {
    assert_string_equal(d->platform, expected->platform);
    assert_string_equal(d->name, expected->name);
    assert_string_equal(d->version, expected->version);
    assert_string_equal(d->driver, expected->driver);
}

/* A failed allocation is SHS_NO_MEMORY: never no device, and no device without a text or an extension. */
static void test_texts_without_memory(void **state) {
    shs_cl_options o = SHS_ZERO;
    shs_context ctx = SHS_ZERO;
    counter c = {0, -1, 0};
    shs_cl_device chosen, first, listed;
    long k, calls;
    int count;
    shs_status status;
    shs_cl *cl = new_cl(NULL);
    (void)state;
    chosen = cl->about;
    end_cl(cl);
    shim.extensions = "cl_khr_subgroups";
    o.platform = chosen.platform;
    o.name = chosen.name;
    o.trust = 1;
    ctx.alloc_fn = counter_alloc;
    ctx.free_fn = counter_free;
    ctx.alloc_user = &c;
    assert_ok(shs_cl_list(&ctx, &first, 1, &count));
    c.calls = 0;
    assert_ok(shs_cl_create(&ctx, &o, &cl));
    end_cl(cl);
    calls = c.calls;
    for (k = 0; k <= calls; k++) {
        c.calls = 0;
        c.fail_at = k;
        status = shs_cl_list(&ctx, &listed, 1, &count);
        if (status == SHS_OK) check_told(&listed, &first);
        else assert_status(status, SHS_NO_MEMORY);
        c.calls = 0;
        status = shs_cl_create(&ctx, &o, &cl);
        if (status == SHS_OK) {
            check_told(&cl->about, &chosen);
            assert_non_null(cl->ways.sub_groups);
        } else assert_status(status, SHS_NO_MEMORY);
        end_cl(cl);
        assert_int_equal(c.live, 0);
    }
}

/* ---- the same, as the algorithms' callers see it ------------------------------------------------------------------ */

enum { LENGTH = 8, ATOMS = 12, SIGNALS = 60, SPARSITY = 3, LINES = 6, SAMPLES = 10, BANDS = 5, COMPONENTS = 2 };

/* The inputs of the four errands, which must not change, and the outputs. */
typedef struct work {
    struct {
        shs_real Y[LENGTH * SIGNALS], D[LENGTH * ATOMS];
        uint8_t pixels[LINES * SAMPLES * BANDS];
    } in;
    shs_real learnt[LENGTH * ATOMS], coefs[SPARSITY * SIGNALS], components[COMPONENTS * LINES * SAMPLES];
    int used[SIGNALS], atoms[SPARSITY * SIGNALS];
} work;

enum { CODE, LEARN, PRINCIPAL, INDEPENDENT, ERRANDS };

static work *new_work(void) {
    work *w = (work *)calloc(1, sizeof *w);
    size_t i;
    assert_non_null(w);
    fill_normal(LENGTH * SIGNALS, w->in.Y, 1);
    fill_normal(LENGTH * ATOMS, w->in.D, 2);
    assert_ok(shs_normalize_columns(LENGTH, ATOMS, w->in.D, LENGTH, NULL));
    for (i = 0; i < sizeof w->in.pixels; i++) w->in.pixels[i] = (uint8_t)(i * i * 7 + 13 * i / 5 + 40 * (i % BANDS));
    return w;
}

static shs_status run_errand(int errand, const shs_context *ctx, work *w) {
    shs_codes codes = SHS_ZERO;
    shs_cube cube = SHS_ZERO;
    shs_sink sink = SHS_ZERO;
    shs_pca_options pca = SHS_ZERO;
    shs_ica_options ica = SHS_ZERO;
    codes.m = SIGNALS;
    codes.stride = SPARSITY;
    codes.used = w->used;
    codes.atoms = w->atoms;
    codes.coefs = w->coefs;
    cube.pixels = w->in.pixels;
    cube.type = SHS_TYPE_U8;
    cube.samples = SAMPLES;
    cube.lines = LINES;
    cube.bands = BANDS;
    sink.pixels = w->components;
    pca.components = ica.components = COMPONENTS;
    ica.tolerance = -1;
    ica.iterations = 5;
    if (errand == CODE) return shs_omp(ctx, LENGTH, ATOMS, w->in.D, SIGNALS, w->in.Y, SPARSITY, &codes);
    if (errand == LEARN) return shs_ksvd(ctx, LENGTH, ATOMS, SIGNALS, w->in.Y, SPARSITY, 2, w->learnt);
    if (errand == PRINCIPAL) return shs_pca_run(ctx, &cube, &pca, &sink, NULL);
    return shs_ica_run(ctx, &cube, &ica, &sink, NULL);
}

typedef struct trouble {
    const char *what, *call; /* the OpenCL call that fails, from the first errand on */
    cl_int error;
    size_t memory_limit;
    shs_status expected;
} trouble;

static const trouble troubles[] = {
    {"too little memory by the limit", NULL, 0, 1000, SHS_NO_MEMORY},
    {"too little memory by the driver", "clCreateBuffer", CL_MEM_OBJECT_ALLOCATION_FAILURE, 0, SHS_NO_MEMORY},
    {"no compiler", "clBuildProgram", CL_COMPILER_NOT_AVAILABLE, 0, SHS_BUILD_FAILED},
    {"a kernel that does not build", "clBuildProgram", CL_BUILD_PROGRAM_FAILURE, 0, SHS_BUILD_FAILED},
    {"a kernel that is not there", "clCreateKernel", CL_INVALID_KERNEL_NAME, 0, SHS_ENGINE_FAILED},
    {"lost before a kernel runs", "clEnqueueNDRangeKernel", CL_DEVICE_NOT_AVAILABLE, 0, SHS_DEVICE_LOST},
    {"lost before the results are read", "clEnqueueReadBuffer", CL_INVALID_COMMAND_QUEUE, 0, SHS_DEVICE_LOST},
};

/* The status says what is wrong, the inputs stay, coding and learning leave nothing half done, and nothing is left. */
static void check_trouble(const trouble *t, int errand) {
    work *w = new_work(), *before = new_work();
    shs_cl_options o = SHS_ZERO;
    shs_context ctx = SHS_ZERO;
    counter c = {0, -1, 0};
    shs_status status;
    shs_cl *cl;
    ctx.alloc_fn = counter_alloc;
    ctx.free_fn = counter_free;
    ctx.alloc_user = &c;
    o.memory_limit = t->memory_limit;
    o.trust = 1;
    shim_begin();
    assert_ok(shs_cl_create(&ctx, &o, &cl));
    ctx.engine = shs_cl_engine(cl);
    shim.only = t->call;
    shim.fail_at = t->call ? 0 : -1;
    shim.lost = 1;
    shim.error = t->error;
    status = run_errand(errand, &ctx, w);
    /* Where device and host share their memory nothing need be read. */
    if (status != t->expected && (!t->call || shim.failed || status != SHS_OK))
        fail_msg("%s, errand %d: %s, %s", t->what, errand, shs_status_name(status), shs_cl_error_text(cl));
    assert_memory_equal(&w->in, &before->in, sizeof w->in);
    if (status != SHS_OK && errand <= LEARN) assert_memory_equal(w, before, sizeof *w);
    shs_cl_destroy(cl);
    assert_int_equal(shim.live, 0);
    assert_int_equal(c.live, 0);
    free(w);
    free(before);
}

static void test_troubles(void **state) {
    size_t t;
    int errand;
    (void)state;
    for (t = 0; t < sizeof troubles / sizeof *troubles; t++)
        for (errand = 0; errand < ERRANDS; errand++) check_trouble(troubles + t, errand);
}

/* Programs that were damaged where they are kept are built anew: the same results. */
static void test_damaged_store(void **state) {
    work *w = new_work(), *right = new_work();
    shs_cl_options o = SHS_ZERO;
    store *s = store_begin(&o);
    int errand, damaged, i;
    (void)state;
    for (damaged = 0; damaged < 3; damaged++) {
        shs_context ctx = SHS_ZERO;
        shs_cl *cl = new_cl(&o);
        long builds = shim.builds;
        ctx.engine = shs_cl_engine(cl);
        for (errand = 0; errand < ERRANDS; errand += every(2)) {
            assert_ok(run_errand(errand, &ctx, w));
            if (damaged == 0) assert_ok(run_errand(errand, &ctx, right));
        }
        assert_memory_equal(w, right, sizeof *w);
        assert_int_equal(shim.builds > builds, damaged < 2);
        for (i = 0; damaged == 0 && i < s->count; i++) s->data[i][s->size[i] / 2] ^= 1;
        end_cl(cl);
    }
    store_end(s);
    free(w);
    free(right);
}

/* The calls that CPU ONLY in sparsehs_cl.h lists. */
enum { MASK, WEIGHTS, NONNEGATIVE, SUBSPACE, REGULARISED, MASKED_LEARNING, NONNEGATIVE_LEARNING, MANY_ATOMS, HALF, HALF_OUT, NOISE,
       CLASSES, LOCAL, LABELS, COLUMNS, CPU_ONLY };

static shs_status code_by_cpu(int which, const shs_context *ctx, work *w) {
    static shs_real weights[LENGTH * SIGNALS];
    static unsigned char mask[LENGTH * SIGNALS];
    shs_omp_options coding = SHS_ZERO;
    shs_ksvd_options learning = SHS_ZERO;
    shs_codes codes = SHS_ZERO;
    int i;
    for (i = 0; i < LENGTH * SIGNALS; i++) {
        mask[i] = i != 3;
        weights[i] = (shs_real)(1 + i % 3);
    }
    codes.m = SIGNALS;
    codes.stride = SPARSITY;
    codes.used = w->used;
    codes.atoms = w->atoms;
    codes.coefs = w->coefs;
    coding.sparsity = learning.coding.sparsity = SPARSITY;
    learning.iterations = 1;
    if (which == MASK) coding.mask = mask;
    if (which == WEIGHTS) coding.weights = weights;
    if (which == NONNEGATIVE) coding.nonnegative = 1;
    if (which == SUBSPACE) coding.method = SHS_METHOD_SUBSPACE;
    if (which == REGULARISED) learning.regularisation = (shs_real)0.1;
    if (which == MASKED_LEARNING) learning.coding.mask = mask;
    if (which == NONNEGATIVE_LEARNING) learning.coding.nonnegative = learning.nonnegative = 1;
    coding.ldm = learning.coding.ldm = coding.ldw = LENGTH;
    if (which >= REGULARISED)
        return shs_ksvd_ex(ctx, LENGTH, ATOMS, SIGNALS, w->in.Y, LENGTH, &learning, w->learnt, LENGTH, NULL, NULL);
    return shs_omp_ex(ctx, LENGTH, ATOMS, w->in.D, LENGTH, SIGNALS, w->in.Y, LENGTH, &coding, &codes, NULL, NULL);
}

static shs_status round_by_cpu(const shs_context *ctx) {
    enum { MANY = 65 };
    shs_real *D = new_normal(MANY * MANY, 1);
    shs_codes codes;
    shs_status status;
    int i;
    assert_ok(shs_codes_create(NULL, 1, MANY, &codes));
    codes.used[0] = MANY;
    for (i = 0; i < MANY; i++) {
        codes.atoms[i] = i;
        codes.coefs[i] = (shs_real)(1 + i);
    }
    status = shs_codes_round(ctx, MANY, MANY, D, MANY, SHS_COEF_I8, &codes);
    shs_codes_free(NULL, &codes);
    free(D);
    return status;
}

static shs_status map_by_cpu(int which, const shs_context *ctx, work *w) {
    static float pixels[LINES * SAMPLES * BANDS], out[LINES * SAMPLES * BANDS];
    static uint16_t halves[LINES * SAMPLES * BANDS];
    static int labels[LINES * SAMPLES];
    const shs_wide target[BANDS] = {5, 1, 1, 1, 1};
    shs_cube cube = SHS_ZERO;
    shs_sink sink = SHS_ZERO;
    shs_pca_options pca = SHS_ZERO;
    shs_rx_local_options local = SHS_ZERO;
    shs_detect_options detect = SHS_ZERO;
    int i;
    for (i = 0; i < LINES * SAMPLES * BANDS; i++) {
        pixels[i] = w->in.pixels[i];
        halves[i] = (uint16_t)(0x3c00 + w->in.pixels[i]);
    }
    cube.pixels = pixels;
    cube.type = SHS_TYPE_F32;
    cube.samples = SAMPLES;
    cube.lines = LINES;
    cube.bands = BANDS;
    sink.pixels = out;
    sink.type = SHS_TYPE_F32;
    if (which == HALF) {
        cube.pixels = halves;
        cube.type = SHS_TYPE_F16;
    }
    if (which == HALF_OUT) sink.type = SHS_TYPE_F16;
    if (which <= HALF_OUT) return shs_pca_run(ctx, &cube, NULL, &sink, NULL);
    pca.components = COMPONENTS;
    pca.neighbours = SHS_NEIGHBOURS_MEAN;
    if (which == NOISE) return shs_mnf_run(ctx, &cube, &pca, &sink, NULL);
    if (which == CLASSES) return shs_rx_classes(ctx, &cube, labels, 1, NULL, &sink, NULL);
    local.inner = 1;
    local.outer = 5;
    if (which == LOCAL) return shs_rx_local(ctx, &cube, &local, &sink);
    detect.ridge = (shs_wide)0.01;
    detect.columns = which == COLUMNS;
    if (which == LABELS) {
        detect.labels = labels;
        detect.classes = 1;
    }
    return shs_detect(ctx, &cube, 1, target, BANDS, &detect, &sink);
}

static void test_cpu_only(void **state) {
    shs_cl_options o = SHS_ZERO;
    work *w = new_work();
    int which;
    (void)state;
    for (which = 0; which < LENGTH * SIGNALS; which++) w->in.Y[which] = (shs_real)fabs((double)w->in.Y[which]);
    o.trust = 1;
    for (o.fallback = 0; o.fallback < 2; o.fallback++) {
        shs_cl *cl = new_cl(&o);
        shs_context ctx = SHS_ZERO;
        ctx.engine = shs_cl_engine(cl);
        for (which = 0; which < CPU_ONLY; which++) {
            shs_status status;
            if (which < MANY_ATOMS) status = code_by_cpu(which, &ctx, w);
            else if (which == MANY_ATOMS) status = round_by_cpu(&ctx);
            else status = map_by_cpu(which, &ctx, w);
            if (status != (o.fallback ? SHS_OK : SHS_UNSUPPORTED))
                fail_msg("call %d, fallback %d: %s", which, o.fallback, shs_status_name(status));
        }
        end_cl(cl);
    }
    free(w);
}

/* The data of the first and the last entry of a kind change places. */
static void swap_entries(store *s, const char *kind) {
    unsigned char *data;
    size_t size;
    int first = 0, last = s->count - 1;
    while (strncmp(s->key[first], kind, strlen(kind)) != 0) first++;
    while (strncmp(s->key[last], kind, strlen(kind)) != 0) last--;
    assert_true(first < last);
    data = s->data[first];
    size = s->size[first];
    s->data[first] = s->data[last];
    s->size[first] = s->size[last];
    s->data[last] = data;
    s->size[last] = size;
}

/* Intact programs under keys of others are built again, and stored under their own. */
static void test_swapped_store(void **state) {
    work *w = new_work(), *right = new_work();
    shs_cl_options o = SHS_ZERO;
    store *s = store_begin(&o);
    int run;
    (void)state;
    for (run = 0; run < 3; run++) {
        shs_context ctx = SHS_ZERO;
        shs_cl *cl;
        long builds = shim.builds;
        if (run == 1) {
            swap_entries(s, "program-");
            swap_entries(s, "verdict-");
        }
        cl = new_cl(&o);
        ctx.engine = shs_cl_engine(cl);
        assert_ok(run_errand(CODE, &ctx, w));
        if (run == 0) assert_ok(run_errand(CODE, &ctx, right));
        assert_memory_equal(w, right, sizeof *w);
        assert_int_equal(shim.builds > builds, run < 2);
        end_cl(cl);
    }
    store_end(s);
    free(w);
    free(right);
}

/* ---- all together ------------------------------------------------------------------------------------------------ */

static int setup(void **state) {
    (void)state;
    shim_begin();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_list, setup),
        cmocka_unit_test_setup(test_list_order, setup),
        cmocka_unit_test_setup(test_pick, setup),
        cmocka_unit_test_setup(test_pick_platform, setup),
        cmocka_unit_test_setup(test_bad_options, setup),
        cmocka_unit_test_setup(test_no_platform, setup),
        cmocka_unit_test_setup(test_no_device, setup),
        cmocka_unit_test_setup(test_unavailable_device, setup),
        cmocka_unit_test_setup(test_null_object, setup),
        cmocka_unit_test_setup(test_engine, setup),
        cmocka_unit_test_setup(test_own_context, setup),
        cmocka_unit_test_setup(test_own_part, setup),
        cmocka_unit_test_setup(test_programs_are_kept, setup),
        cmocka_unit_test_setup(test_build_failure, setup),
        cmocka_unit_test_setup(test_statuses, setup),
        cmocka_unit_test_setup(test_defines, setup),
        cmocka_unit_test_setup(test_binaries, setup),
        cmocka_unit_test_setup(test_binaries_of_one_of_two, setup),
        cmocka_unit_test_setup(test_refused_binary, setup),
        cmocka_unit_test_setup(test_clock, setup),
        cmocka_unit_test_setup(test_tuning, setup),
        cmocka_unit_test_setup(test_what_is_kept, setup),
        cmocka_unit_test_setup(test_tuned_coding, setup),
        cmocka_unit_test_setup(test_tuned_by_chunks, setup),
        cmocka_unit_test_setup(test_memory_limit, setup),
        cmocka_unit_test_setup(test_memory_limit_is_told, setup),
        cmocka_unit_test_setup(test_no_output_from_building, setup),
        cmocka_unit_test_setup(test_memory_is_kept, setup),
        cmocka_unit_test_setup(test_pinned, setup),
        cmocka_unit_test_setup(test_queues, setup),
        cmocka_unit_test_setup(test_wrap, setup),
        cmocka_unit_test_setup(test_profile, setup),
        cmocka_unit_test_setup(test_no_profile, setup),
        cmocka_unit_test_setup(test_calls_fail, setup),
        cmocka_unit_test_setup(test_calls_fail_profiling, setup),
        cmocka_unit_test_setup(test_device_lost, setup),
        cmocka_unit_test_setup(test_allocations_fail, setup),
        cmocka_unit_test_setup(test_texts_without_memory, setup),
        cmocka_unit_test_setup(test_troubles, setup),
        cmocka_unit_test_setup(test_damaged_store, setup),
        cmocka_unit_test_setup(test_swapped_store, setup),
        cmocka_unit_test_setup(test_cpu_only, setup),
    };
    int count = 0;
    shim_begin();
    if (shs_cl_list(NULL, NULL, 0, &count) != SHS_OK || count == 0) {
        print_message("skipped: there is no OpenCL device\n");
        return 0;
    }
    if (getenv("SHS_TEST")) cmocka_set_test_filter(getenv("SHS_TEST"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
