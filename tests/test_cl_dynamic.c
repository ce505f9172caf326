/* test_cl_dynamic.c - OpenCL opened at run time: where the library is, and where there is none. Not linked with
   OpenCL. */
#include "test.h"

/* The name that the library will be opened by, so that one program sees both worlds. */
static const char *library_name;
#define SPARSEHS_CL_DYNAMIC
#define SPARSEHS_CL_LIBRARY library_name
#define SPARSEHS_CL_IMPLEMENTATION
#include "../sparsehs_cl.h"

#if defined(_WIN32)
#define REAL_LIBRARY "OpenCL.dll"
#elif defined(__APPLE__)
#define REAL_LIBRARY "/System/Library/Frameworks/OpenCL.framework/OpenCL"
#else
#define REAL_LIBRARY "libOpenCL.so.1"
#endif

static void check_no_device(const char *expected) {
    shs_cl_options o = SHS_ZERO;
    shs_cl_device none;
    shs_cl *cl = (shs_cl *)(void *)&o;
    char reason[100] = "before";
    int count = -1;
    assert_ok(shs_cl_list(NULL, &none, 1, &count));
    assert_int_equal(count, 0);
    o.reason = reason;
    o.reason_size = sizeof reason;
    assert_status(shs_cl_create(NULL, &o, &cl), SHS_NO_DEVICE);
    assert_null(cl);
    assert_string_equal(reason, expected);
    /* A caller who goes on runs on the CPU. */
    assert_null(shs_cl_engine(cl));
}

static void test_no_library(void **state) {
    (void)state;
    library_name = "libthere-is-no-such-library.so.1";
    check_no_device("there is no OpenCL library");
}

/* A library, but not that of OpenCL. */
static void test_other_library(void **state) {
    (void)state;
    library_name = "libm.so.6";
    if (!SHS__CL_OPEN(library_name)) skip();
    check_no_device("the OpenCL library is older than OpenCL 1.2");
}

static void test_library(void **state) {
    static const char *const source[] = {"__kernel void put(__global int *x) { x[get_global_id(0)] = get_global_id(0); }\n",
                                         NULL};
    cl_int x[64];
    shs__cl_call call;
    cl_mem buffer = NULL;
    shs_cl *cl;
    int count = 0, i;
    (void)state;
    library_name = REAL_LIBRARY;
    assert_ok(shs_cl_list(NULL, NULL, 0, &count));
    if (count == 0) {
        print_message("skipped: there is no OpenCL device\n");
        skip();
    }
    assert_ok(shs_cl_create(NULL, NULL, &cl));
    call = shs__cl_begin(cl, source, "", "put");
    assert_ok(shs__cl_buffer(cl, sizeof x, &buffer));
    shs__cl_pass_buffer(&call, buffer);
    assert_ok(shs__cl_launch(&call, 1, 64, 1, 1, "put"));
    assert_ok(shs__cl_read(cl, 0, buffer, 0, sizeof x, x));
    for (i = 0; i < 64; i++) assert_int_equal(x[i], i);
    shs__cl_release(cl, &buffer);
    shs_cl_destroy(cl);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_library),
        cmocka_unit_test(test_other_library),
        cmocka_unit_test(test_library),
    };
    return cmocka_run_group_tests_name("dynamic", tests, NULL, NULL);
}
