/* test_files.c - matrices and codes as numpy's .npy: every bit comes back in both byte orders, and what is foreign, lying, cut
   short or of another kind is refused by name. */
#include "test_cube_tools.h"

#include "memory_file.h"

static void reset(memory_file *f) { f->size = 0, rewind_file(f, 0); }

/* Fills the file with `count` bytes, a column of floats of `size` bytes each. Returns the column's header. */
static shs_npy column_of_floats(memory_file *f, const void *bytes, size_t count, int size, int big_endian) {
    shs_npy npy = SHS_ZERO;
    reset(f);
    memcpy(f->bytes, bytes, count);
    f->size = count;
    npy.kind = 'f';
    npy.size = size;
    npy.big_endian = big_endian;
    npy.rows = count / (size_t)size;
    npy.columns = 1;
    return npy;
}

static void put_text(memory_file *f, const char *text) {
    memcpy(f->bytes + f->size, text, strlen(text));
    f->size += strlen(text);
}

static int host_is_big(void) {
    const uint16_t one = 1;
    return !*(const unsigned char *)&one;
}

/* A file of so many zeros behind a dictionary. */
static void by_hand(memory_file *f, int version, const char *dictionary, size_t zeros) {
    size_t length = strlen(dictionary);
    reset(f);
    memset(f->bytes, 0, sizeof f->bytes);
    put_text(f, "\x93NUMPY");
    f->bytes[f->size++] = (unsigned char)version;
    f->bytes[f->size++] = 0;
    f->bytes[f->size++] = (unsigned char)(length & 255);
    f->bytes[f->size++] = (unsigned char)(length >> 8);
    if (version > 1) f->size += 2;
    put_text(f, dictionary);
    f->size += zeros;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/* What numpy 1.24 writes for numpy.asfortranarray([[1, 3, 5], [2, 4, -0.5]], '<f4'): the same bytes. */
static void test_the_bytes_are_those_of_numpy(void **state) {
    static const unsigned char numbers[] = {0, 0, 0x80, 0x3f, 0, 0, 0,    0x40, 0, 0, 0x40, 0x40,
                                            0, 0, 0x80, 0x40, 0, 0, 0xa0, 0x40, 0, 0, 0,    0xbf};
    static const float A[] = {1, 2, 77, 3, 4, 77, 5, -0.5f, 77};
    memory_file *f = NEW(memory_file, 1);
    shs_npy npy = SHS_ZERO;
    char text[120];
    (void)state;
    reset(f);
    npy.kind = 'f';
    npy.size = 4;
    npy.rows = 2;
    npy.columns = 3;
    npy.fortran_order = 1;
    assert_ok(shs_npy_write_header(&npy, write_bytes, f));
    assert_ok(shs_npy_write_values(&npy, SHS_TYPE_F32, A, 3, write_bytes, f));
    assert_int_equal(f->size, 128 + sizeof numbers);
    assert_memory_equal(f->bytes, "\x93NUMPY\1\0\166\0", 10);
    sprintf(text, "%-117s\n", "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }");
    assert_memory_equal(f->bytes + 10, text, 118);
    assert_memory_equal(f->bytes + 128, numbers, sizeof numbers);
    free(f);
}

/* Every type, order of axes and of bytes, sizes that fill no whole buffer, and a leading dimension: the same bits. */
static void test_every_bit_comes_back(void **state) {
    static const shs_type types[] = {SHS_TYPE_REAL, SHS_TYPE_F32, SHS_TYPE_F64, SHS_TYPE_I32};
    memory_file *f = NEW(memory_file, 1);
    int rows, columns, t, fortran, big;
    (void)state;
    for (rows = 0; rows < 20; rows += rows ? 6 : 1)
        for (columns = 0; columns < 18; columns += columns ? 8 : 1)
            for (t = 0; t < 4; t++)
                for (fortran = 0; fortran < 2; fortran++)
                    for (big = 0; big < 2; big++) {
                        size_t size = shs_type_size(types[t]), ld = (size_t)rows + 2, bytes = ld * (size_t)columns * size, i;
                        unsigned char *A = NEW(unsigned char, bytes + 1), *B = NEW(unsigned char, bytes + 1);
                        shs_npy npy = SHS_ZERO, got = SHS_ZERO;
                        npy.kind = types[t] == SHS_TYPE_I32 ? 'i' : 'f';
                        npy.size = (int)size;
                        npy.fortran_order = fortran;
                        npy.big_endian = big;
                        npy.rows = (uint64_t)rows;
                        npy.columns = (uint64_t)columns;
                        for (i = 0; i < ld * (size_t)columns; i++) {
                            double wide = sin((double)i + 1);
                            float narrow = (float)wide;
                            int32_t whole = (int32_t)(2e9 * wide);
                            const void *value = &narrow;
                            if (size == 8) value = &wide;
                            if (npy.kind == 'i') value = &whole;
                            memcpy(A + i * size, value, size);
#ifdef SPARSEHS_NO_DOUBLE /* goes through float */
                            wide = (double)narrow;
                            if (size == 8) memcpy(A + i * size, &wide, size);
#endif
                        }
                        reset(f);
                        assert_ok(shs_npy_write_header(&npy, write_bytes, f));
                        assert_ok(shs_npy_write_values(&npy, types[t], A, ld, write_bytes, f));
                        assert_int_equal(f->size, 128 + size * (size_t)rows * (size_t)columns);
                        assert_int_equal(f->bytes[127], '\n');
                        assert_ok(shs_npy_read_header(&got, read_bytes, f));
                        assert_true(got.kind == npy.kind && got.size == npy.size && got.rows == npy.rows);
                        assert_true(got.columns == npy.columns && got.dimensions == 2 && got.fortran_order == fortran);
                        assert_int_equal(got.big_endian, big);
                        assert_ok(shs_npy_read_values(&got, types[t], B, ld, read_bytes, f));
                        assert_int_equal(f->at, f->size);
                        for (i = 0; i < (size_t)columns; i++)
                            assert_memory_equal(A + i * ld * size, B + i * ld * size, (size_t)rows * size);
                        if (rows && columns > 1) { /* the first number of the second column or row stands second in its place */
                            unsigned char second[8];
                            size_t k = fortran ? (size_t)rows : 1, b;
                            for (b = 0; b < size; b++) second[b] = f->bytes[128 + k * size + b];
                            for (b = 0; b < size / 2 && big != host_is_big(); b++) {
                                unsigned char other = second[b];
                                second[b] = second[size - 1 - b];
                                second[size - 1 - b] = other;
                            }
                            assert_memory_equal(second, A + ld * size, size);
                        }
                        free(A);
                        free(B);
                    }
    free(f);
}

/* Headers that numpy, or Python 2, or another program writes. */
static void test_headers_that_are_read(void **state) {
    static const struct {
        int version;
        const char *text;
        char kind;
        int size, big, fortran, dimensions;
        uint64_t rows, columns;
    } cases[] = {
        {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }\n", 'f', 8, 0, 0, 2, 3, 4},
        {2, "{'descr': '>f4', 'fortran_order': True, 'shape': (3, 4)}", 'f', 4, 1, 1, 2, 3, 4},
        {3, "{'shape': (7,), 'fortran_order': False, 'descr': '<i8'}  \n", 'i', 8, 0, 0, 1, 7, 1},
        {1, "{\"descr\":\"|u1\",\"fortran_order\":False,\"shape\":(0,5)}", 'u', 1, 0, 0, 2, 0, 5},
        {1, "{ 'descr' : '|b1' , 'fortran_order' : False , 'shape' : ( 2L , 5L , ) , } \n", 'u', 1, 0, 0, 2, 2, 5},
        {1, "{'descr': '<f2', 'fortran_order': False, 'shape': (), }", 'f', 2, 0, 0, 1, 1, 1},
        {1, "{'descr': '>u2', 'fortran_order': False, 'shape': (1000000000000,), }", 'u', 2, 1, 0, 1, UINT64_C(1000000000000),
         1},
    };
    memory_file *f = NEW(memory_file, 1);
    char wide[2001];
    shs_npy npy;
    int calls, at;
    size_t i;
    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        by_hand(f, cases[i].version, cases[i].text, 9);
        assert_ok(shs_npy_read_header(&npy, read_bytes, f));
        assert_int_equal(f->at, f->size - 9);
        assert_true(npy.kind == cases[i].kind && npy.size == cases[i].size && npy.big_endian == cases[i].big);
        assert_true(npy.fortran_order == cases[i].fortran && npy.dimensions == cases[i].dimensions);
        assert_true(npy.rows == cases[i].rows && npy.columns == cases[i].columns);
    }
    sprintf(wide, "%-1999s\n", cases[0].text); /* filled up far */
    wide[strlen(cases[0].text) - 1] = ' ';
    by_hand(f, 2, wide, 0);
    assert_ok(shs_npy_read_header(&npy, read_bytes, f));
    assert_int_equal(f->at, f->size);
    calls = f->calls;
    for (at = 1; at <= calls; at++) { /* any one read fails: also of what fills up */
        rewind_file(f, at);
        assert_status(shs_npy_read_header(&npy, read_bytes, f), SHS_READ_FAILED);
    }
    free(f);
}

static void test_headers_that_are_refused(void **state) {
    static const struct {
        const char *text;
        shs_status status;
    } cases[] = {
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (3, 4), }", SHS_UNSUPPORTED_NPY},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (3, 4), }", SHS_UNSUPPORTED_NPY},
        {"{'descr': '<U10', 'fortran_order': False, 'shape': (3, 4), }", SHS_UNSUPPORTED_NPY},
        {"{'descr': '<f16', 'fortran_order': False, 'shape': (3, 4), }", SHS_UNSUPPORTED_NPY},
        {"{'descr': '<f3', 'fortran_order': False, 'shape': (3, 4), }", SHS_UNSUPPORTED_NPY},
        {"{'descr': '|f1', 'fortran_order': False, 'shape': (3, 4), }", SHS_UNSUPPORTED_NPY},
        {"{'descr': '|f4', 'fortran_order': False, 'shape': (3, 4), }", SHS_UNSUPPORTED_NPY},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }", SHS_UNSUPPORTED_NPY},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4, 5), }", SHS_UNSUPPORTED_NPY},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-3, 4), }", SHS_DAMAGED_NPY},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 4), }", SHS_DAMAGED_NPY},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (10000000000, 10000000000), }", SHS_DAMAGED_NPY},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3 4), }", SHS_DAMAGED_NPY},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3), }", SHS_DAMAGED_NPY},
        {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (3, 4), }", SHS_DAMAGED_NPY},
        {"{'descr': '<f4', 'fortran_order': False, }", SHS_DAMAGED_NPY},
        {"{'descr': '<f4', 'shape': (3, 4), 'shape': (3, 4), }", SHS_DAMAGED_NPY},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), 'more': 1}", SHS_DAMAGED_NPY},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } more", SHS_DAMAGED_NPY},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), ", SHS_DAMAGED_NPY},
        {"{'descr'", SHS_DAMAGED_NPY},
        {"{'descr': '<f", SHS_DAMAGED_NPY},
        {"", SHS_DAMAGED_NPY},
        {"{", SHS_DAMAGED_NPY},
        {"rubbish", SHS_DAMAGED_NPY},
    };
    memory_file *f = NEW(memory_file, 1);
    shs_npy npy, untouched;
    char wide[2001];
    size_t i;
    (void)state;
    memset(&npy, 0x5a, sizeof npy);
    memcpy(&untouched, &npy, sizeof npy);
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        by_hand(f, 1, cases[i].text, 100);
        assert_status(shs_npy_read_header(&npy, read_bytes, f), cases[i].status);
    }
    sprintf(wide, "%1999s}", "{"); /* what stands far behind is said to be unknown */
    by_hand(f, 1, wide, 0);
    assert_status(shs_npy_read_header(&npy, read_bytes, f), SHS_UNSUPPORTED_NPY);
    by_hand(f, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }", 0);
    for (i = 0; i < 6; i++) {
        f->bytes[i] ^= 1;
        rewind_file(f, 0);
        assert_status(shs_npy_read_header(&npy, read_bytes, f), SHS_FOREIGN_NPY);
        f->bytes[i] ^= 1;
    }
    f->bytes[30] = 0;
    rewind_file(f, 0);
    assert_status(shs_npy_read_header(&npy, read_bytes, f), SHS_DAMAGED_NPY);
    f->bytes[6] = 4;
    rewind_file(f, 0);
    assert_status(shs_npy_read_header(&npy, read_bytes, f), SHS_UNSUPPORTED_NPY);
    f->bytes[6] = 0;
    rewind_file(f, 0);
    assert_status(shs_npy_read_header(&npy, read_bytes, f), SHS_UNSUPPORTED_NPY);
    assert_memory_equal(&npy, &untouched, sizeof npy);
    free(f);
}

/* Integers of every size, half precision, NaN and infinity: the numbers that they are. */
static void test_numbers_of_other_types(void **state) {
    static const unsigned char bytes[] = {0xff, 0x80, 0x7f, 0x01, 0xff, 0x3c, 0x00, 0x02};
    static const struct {
        char kind;
        int size, big, count;
        double x[8];
    } cases[] = {
        {'u', 1, 0, 8, {255, 128, 127, 1, 255, 60, 0, 2}},
        {'i', 1, 0, 8, {-1, -128, 127, 1, -1, 60, 0, 2}},
        {'u', 2, 0, 4, {33023, 383, 15615, 512}},
        {'i', 2, 0, 4, {-32513, 383, 15615, 512}},
        {'i', 2, 1, 4, {-128, 32513, -196, 2}},
        {'i', 4, 0, 2, {25133311, 33570047}},
        {'u', 4, 1, 2, {4286611201.0, 4282122242.0}},
        {'i', 8, 1, 1, {-35889150465146878.0}},
        {'u', 8, 0, 1, {144182254015316223.0}},
        {'f', 2, 1, 4, {0, 0, 0, 1.1920928955078125e-7}},
    };
    static const unsigned char halves[] = {0x00, 0x3c, 0x00, 0xc0, 0xff, 0x7b, 0x01, 0x00, 0xff, 0x83,
                                           0x00, 0x04, 0x00, 0x7c, 0x00, 0xfc, 0x01, 0x7e, 0x00, 0x80};
    static const double of_halves[] = {1, -2, 65504, 5.9604644775390625e-8, -1023 * 5.9604644775390625e-8, 6.103515625e-5};
    memory_file *f = NEW(memory_file, 1);
    shs_npy npy = SHS_ZERO;
    shs_real x[16];
    float narrow[2];
    int32_t whole[8];
    size_t i, k;
    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        int fits = cases[i].kind != 'f';
        shs_status status;
        reset(f);
        memcpy(f->bytes, bytes, sizeof bytes);
        f->size = sizeof bytes;
        npy.kind = cases[i].kind;
        npy.size = cases[i].size;
        npy.big_endian = cases[i].big;
        npy.rows = 1;
        npy.columns = (uint64_t)cases[i].count;
        assert_ok(shs_npy_read_values(&npy, SHS_TYPE_REAL, x, 1, read_bytes, f));
        for (k = 0; k < (size_t)cases[i].count; k++) {
            fits &= fabs(cases[i].x[k]) < 2147483648.0;
            if (cases[i].kind != 'f' || k == 3) assert_true(x[k] == (shs_real)cases[i].x[k]);
        }
        rewind_file(f, 0);
        if (fits) status = SHS_OK;
        else if (cases[i].kind == 'f') status = SHS_UNSUPPORTED_NPY;
        else status = SHS_DAMAGED_NPY;
        assert_status(shs_npy_read_values(&npy, SHS_TYPE_I32, whole, 1, read_bytes, f), status);
        for (k = 0; fits && k < (size_t)cases[i].count; k++) assert_int_equal(whole[k], (int)cases[i].x[k]);
    }
    npy = column_of_floats(f, halves, sizeof halves, 2, 0);
    assert_ok(shs_npy_read_values(&npy, SHS_TYPE_REAL, x, 10, read_bytes, f));
    for (k = 0; k < 6; k++) assert_true(x[k] == (shs_real)of_halves[k]);
    assert_true(isinf(x[6]) && x[6] > 0 && isinf(x[7]) && x[7] < 0 && isnan(x[8]) && x[9] == 0 && signbit(x[9]));
    reset(f); /* doubles beyond float, as floats */
    memcpy(f->bytes, "\x7f\xf8\0\0\0\0\0\0\xff\xf0\0\0\0\0\0\0", 16);
    f->size = 16;
    npy.size = 8;
    npy.big_endian = 1;
    npy.rows = 2;
    assert_ok(shs_npy_read_values(&npy, SHS_TYPE_F32, narrow, 2, read_bytes, f));
    assert_true(isnan(narrow[0]) && isinf(narrow[1]) && narrow[1] < 0);
    rewind_file(f, 0);
    assert_ok(shs_npy_read_values(&npy, SHS_TYPE_REAL, x, 2, read_bytes, f));
    assert_true(isnan(x[0]) && isinf(x[1]) && x[1] < 0);
    free(f);
}

/* Doubles beside and halfway between floats, big-endian, as the nearest float, of two the even one. */
static void test_doubles_round_to_even(void **state) {
    static const unsigned char bytes[] = {
        0x3f, 0xf0, 0,    0,    0x10, 0,    0,    0,    /* 1 + 2^-24 */
        0x3f, 0xf0, 0,    0,    0x30, 0,    0,    0,    /* 1 + 3 2^-24 */
        0x3f, 0xf0, 0,    0,    0x10, 0,    0,    1,    /* above 1 + 2^-24 */
        0xbf, 0xf0, 0,    0,    0x2f, 0xff, 0xff, 0xff, /* above -1 - 3 2^-24 */
        0xbf, 0xff, 0xff, 0xff, 0xf0, 0,    0,    0,    /* -2 + 2^-24 */
        0x47, 0xef, 0xff, 0xff, 0xef, 0xff, 0xff, 0xff, /* below 2^128 - 2^103 */
        0x47, 0xef, 0xff, 0xff, 0xf0, 0,    0,    0,    /* 2^128 - 2^103 */
        0x3f, 0xf0, 0,    0,    0x20, 0,    0,    0,    /* 1 + 2^-23 */
    };
    const float unit = FLT_EPSILON, expected[] = {1, 1 + 2 * unit, 1 + unit, -1 - unit, -2, FLT_MAX, (float)INFINITY, 1 + unit};
    memory_file *f = NEW(memory_file, 1);
    shs_npy npy = column_of_floats(f, bytes, sizeof bytes, 8, 1);
    float x[8];
    int i;
    (void)state;
    assert_ok(shs_npy_read_values(&npy, SHS_TYPE_F32, x, 8, read_bytes, f));
    for (i = 0; i < 8; i++)
        if (memcmp(x + i, expected + i, sizeof *x) != 0)
            fail_msg("double %d: %.9g in place of %.9g", i, (double)x[i], (double)expected[i]);
    free(f);
}

/* Integers of 64 bits beside the middle of two floats, which double would round to it: the nearest float. */
static void test_large_integers_round_once(void **state) {
    static const unsigned char bytes[] = {
        0x40, 0,    0,    0x40, 0,    0,    0,    1,    /* 2^62 + 2^38 + 1 */
        0xbf, 0xff, 0xff, 0xbf, 0xff, 0xff, 0xff, 0xff, /* its negative, or 2^64 less it */
        0,    0x40, 0,    0,    0x40, 0,    0,    1,    /* 2^54 + 2^30 + 1 */
        0x80, 0,    0,    0x80, 0,    0,    0,    1,    /* 2^63 + 2^39 + 1, or -2^63 + 2^39 + 1 */
    };
    memory_file *f = NEW(memory_file, 1);
    shs_npy npy = column_of_floats(f, bytes, sizeof bytes, 8, 1);
    int k, i;
    (void)state;
    for (k = 0; k < 2; k++) {
        float expected[4], x[4];
        npy.kind = k ? 'i' : 'u';
        expected[0] = ldexpf(0x800001, 39);
        expected[1] = k ? -expected[0] : ldexpf(0xc00000, 40);
        expected[2] = ldexpf(0x800001, 31);
        expected[3] = k ? -ldexpf(0xffffff, 39) : ldexpf(0x800001, 40);
        rewind_file(f, 0);
        assert_ok(shs_npy_read_values(&npy, SHS_TYPE_F32, x, 4, read_bytes, f));
        for (i = 0; i < 4; i++)
            if (memcmp(x + i, expected + i, sizeof *x) != 0)
                fail_msg("%c8 %d: %.9g in place of %.9g", npy.kind, i, (double)x[i], (double)expected[i]);
    }
    free(f);
}

/* Each write and each read fails, and the file ends at every byte; it is read all the same when they do not. */
static void test_failing_callbacks(void **state) {
    memory_file *f = NEW(memory_file, 1);
    shs_real A[300], B[300];
    shs_npy npy = SHS_ZERO;
    int at, calls, k;
    size_t cut, size;
    (void)state;
    for (k = 0; k < 300; k++) A[k] = (shs_real)k / 7;
    reset(f);
    assert_ok(shs_npy_save(20, 15, A, 20, write_bytes, f));
    calls = f->calls;
    size = f->size;
    assert_true(calls > 2);
    for (at = 1; at <= calls; at++) {
        reset(f);
        f->fails_at = at;
        assert_status(shs_npy_save(20, 15, A, 20, write_bytes, f), SHS_WRITE_FAILED);
    }
    reset(f);
    assert_ok(shs_npy_save(20, 15, A, 20, write_bytes, f));
    for (at = 1; at <= 3; at++) {
        rewind_file(f, at);
        assert_status(shs_npy_read_header(&npy, read_bytes, f), SHS_READ_FAILED);
    }
    for (cut = 0; cut < size; cut++) {
        rewind_file(f, 0);
        f->size = cut;
        if (cut < 128) assert_status(shs_npy_read_header(&npy, read_bytes, f), SHS_READ_FAILED);
        else {
            assert_ok(shs_npy_read_header(&npy, read_bytes, f));
            assert_status(shs_npy_read_values(&npy, SHS_TYPE_REAL, B, 20, read_bytes, f), SHS_READ_FAILED);
        }
    }
    f->size = size;
    for (at = 4; at <= calls + 2; at++) {
        rewind_file(f, at);
        assert_ok(shs_npy_read_header(&npy, read_bytes, f));
        assert_status(shs_npy_read_values(&npy, SHS_TYPE_REAL, B, 20, read_bytes, f), SHS_READ_FAILED);
    }
    rewind_file(f, 0);
    assert_ok(shs_npy_read_header(&npy, read_bytes, f));
    assert_ok(shs_npy_read_values(&npy, SHS_TYPE_REAL, B, 20, read_bytes, f));
    assert_memory_equal(A, B, sizeof A);
    free(f);
}

static void test_bad_arguments(void **state) {
    memory_file *f = NEW(memory_file, 1);
    shs_npy npy = SHS_ZERO, good;
    shs_real A[6] = {0};
    (void)state;
    reset(f);
    npy.rows = 2;
    npy.columns = 3;
    good = npy;
    assert_status(shs_npy_write_header(NULL, write_bytes, f), SHS_BAD_NPY);
    assert_status(shs_npy_write_header(&npy, NULL, f), SHS_BAD_NPY);
    assert_status(shs_npy_read_header(NULL, read_bytes, f), SHS_BAD_NPY);
    assert_status(shs_npy_read_header(&npy, NULL, f), SHS_BAD_NPY);
    assert_status(shs_npy_write_values(NULL, SHS_TYPE_REAL, A, 2, write_bytes, f), SHS_BAD_NPY);
    assert_status(shs_npy_write_values(&npy, SHS_TYPE_REAL, A, 2, NULL, f), SHS_BAD_NPY);
    assert_status(shs_npy_write_values(&npy, SHS_TYPE_I32, A, 2, write_bytes, f), SHS_BAD_NPY);
    assert_status(shs_npy_write_values(&npy, SHS_TYPE_COUNT, A, 2, write_bytes, f), SHS_BAD_NPY);
    assert_status(shs_npy_write_values(&npy, SHS_TYPE_REAL, NULL, 2, write_bytes, f), SHS_BAD_A);
    assert_status(shs_npy_write_values(&npy, SHS_TYPE_REAL, A, 1, write_bytes, f), SHS_BAD_LDA);
    assert_status(shs_npy_read_values(&npy, SHS_TYPE_REAL, A, 2, NULL, f), SHS_BAD_NPY);
    assert_status(shs_npy_read_values(&npy, SHS_TYPE_U8, A, 2, read_bytes, f), SHS_BAD_NPY);
    assert_status(shs_npy_read_values(&npy, SHS_TYPE_REAL, NULL, 2, read_bytes, f), SHS_BAD_A);
    assert_status(shs_npy_read_values(&npy, SHS_TYPE_REAL, A, 1, read_bytes, f), SHS_BAD_LDA);
    assert_status(shs_npy_save(0, 1, A, 2, write_bytes, f), SHS_BAD_P);
    assert_status(shs_npy_save(2, 1, NULL, 2, write_bytes, f), SHS_BAD_A);
    assert_status(shs_npy_save(2, 1, A, 1, write_bytes, f), SHS_BAD_LDA);
    npy.kind = 'c';
    npy.size = 8;
    assert_status(shs_npy_write_header(&npy, write_bytes, f), SHS_BAD_NPY);
    npy.kind = 'i';
    npy.size = 3;
    assert_status(shs_npy_write_header(&npy, write_bytes, f), SHS_BAD_NPY);
    npy.kind = 'f';
    npy.size = 1;
    assert_status(shs_npy_write_header(&npy, write_bytes, f), SHS_BAD_NPY);
    npy = good;
    npy.dimensions = 3;
    assert_status(shs_npy_write_header(&npy, write_bytes, f), SHS_BAD_NPY);
    npy.dimensions = 1;
    assert_status(shs_npy_write_header(&npy, write_bytes, f), SHS_BAD_NPY);
    npy = good;
    npy.rows = UINT64_MAX;
    assert_status(shs_npy_write_header(&npy, write_bytes, f), SHS_BAD_NPY);
    assert_int_equal(f->calls, 0);
    npy.rows = UINT64_MAX / 64; /* more than 32 bits can address */
    assert_status(shs_npy_read_values(&npy, SHS_TYPE_REAL, A, 2, read_bytes, f),
                  SIZE_MAX / 8 < npy.rows ? SHS_TOO_LARGE : SHS_BAD_LDA);
    free(f);
}

/* ---- codes --------------------------------------------------------------------------------------------------------- */

static shs_codes some_codes(size_t m, int stride, int n, uint64_t seed) {
    shs_codes codes = SHS_ZERO;
    shs_random r;
    size_t i;
    int k;
    shs_random_seed(&r, seed);
    assert_ok(shs_codes_create(NULL, m, stride, &codes));
    for (i = 0; i < m; i++) {
        codes.used[i] = (int)shs_random_below(&r, (uint64_t)stride + 1);
        for (k = 0; k < codes.used[i]; k++) {
            codes.atoms[i * (size_t)stride + (size_t)k] = (int)shs_random_below(&r, (uint64_t)n);
            codes.coefs[i * (size_t)stride + (size_t)k] = (shs_real)shs_random_normal(&r);
        }
    }
    return codes;
}

static void test_codes(void **state) {
    memory_file *f = NEW(memory_file, 3);
    shs_codes codes = some_codes(37, 3, 50, 1), got = SHS_ZERO, untouched;
    shs_context ctx = SHS_ZERO;
    faulty allocations;
    int i, at;
    size_t k;
    (void)state;
    for (i = 0; i < 3; i++) reset(f + i);
    assert_ok(shs_npy_save_codes(&codes, write_bytes, f, f + 1, f + 2));
    assert_memory_equal(f[0].bytes + 10, "{'descr': '<i4', 'fortran_order': False, 'shape': (37,), }", 57);
    assert_memory_equal(f[1].bytes + 10, "{'descr': '<i4', 'fortran_order': False, 'shape': (37, 3), }", 59);
    assert_ok(shs_npy_load_codes(NULL, 50, read_bytes, f, f + 1, f + 2, &got));
    assert_true(got.m == 37 && got.stride == 3);
    assert_memory_equal(got.used, codes.used, 37 * sizeof(int));
    assert_memory_equal(got.atoms, codes.atoms, 37 * 3 * sizeof(int));
    assert_memory_equal(got.coefs, codes.coefs, 37 * 3 * sizeof(shs_real));
    shs_codes_free(NULL, &got);
    memset(&got, 0x5a, sizeof got);
    memcpy(&untouched, &got, sizeof got);
#define LOAD(ctx, n)                                                                                                           \
    (rewind_file(f, 0), rewind_file(f + 1, 0), rewind_file(f + 2, 0),                                                          \
     shs_npy_load_codes(ctx, n, read_bytes, f, f + 1, f + 2, &got))
    for (i = 0; i < 3; i++) {
        memory_file *whole = NEW(memory_file, 1);
        *whole = f[i];
        for (at = 1; at <= 4; at++) {
            for (k = 0; k < 3; k++) rewind_file(f + k, (int)k == i ? at : 0);
            assert_status(shs_npy_load_codes(NULL, 50, read_bytes, f, f + 1, f + 2, &got), SHS_READ_FAILED);
        }
        for (at = 1; at <= 2; at++) {
            for (k = 0; k < 3; k++) reset(f + k);
            f[i].fails_at = at;
            assert_status(shs_npy_save_codes(&codes, write_bytes, f, f + 1, f + 2), SHS_WRITE_FAILED);
        }
        for (k = 0; k < 3; k++) reset(f + k);
        assert_ok(shs_npy_save_codes(&codes, write_bytes, f, f + 1, f + 2));
        assert_memory_equal(f[i].bytes, whole->bytes, f[i].size);
        f[i].size--;
        assert_status(LOAD(NULL, 50), SHS_READ_FAILED);
        f[i].size++;
        free(whole);
    }
    faulty_attach(&allocations, 0, &ctx);
    assert_status(LOAD(&ctx, 50), SHS_NO_MEMORY);
    assert_status(LOAD(NULL, 0), SHS_BAD_N);
    assert_status(LOAD(NULL, 2), SHS_DAMAGED_NPY); /* atoms that are none */
    f[0].bytes[128] = 4;                           /* more than the stride */
    assert_status(LOAD(NULL, 50), SHS_DAMAGED_NPY);
    f[0].bytes[128] = 0;
    memset(f[2].bytes + 128, 0xff, sizeof(shs_real)); /* NaN, behind the atoms, then of the first one */
    assert_ok(LOAD(NULL, 50));
    assert_true(got.used[0] == 0 && is_finite((double)got.coefs[0]) && shs_codes_nonzeros(&got) > 0);
    for (i = 0; i < 3; i++) assert_true(got.atoms[i] == 0 && !(got.coefs[i] < 0 || got.coefs[i] > 0));
    shs_codes_free(NULL, &got);
    memcpy(&got, &untouched, sizeof got);
    f[0].bytes[128] = 1;
    assert_status(LOAD(NULL, 50), SHS_DAMAGED_NPY);
    f[0].bytes[128] = 0;
    memset(f[2].bytes + 128, 0, sizeof(shs_real));
    f[1].bytes[10 + 12] = 'f'; /* atoms that are no integers */
    assert_status(LOAD(NULL, 50), SHS_UNSUPPORTED_NPY);
    f[1].bytes[10 + 12] = 'i';
    for (i = 0; i < 3; i++) f[i].bytes[10 + 52] = '8'; /* of 38 signals, of which the last is not there */
    assert_status(LOAD(NULL, 50), SHS_READ_FAILED);
    for (i = 0; i < 3; i++) f[i].bytes[10 + 52] = '7';
    f[1].bytes[10 + 52] = '6'; /* of 36 signals */
    assert_status(LOAD(NULL, 50), SHS_DAMAGED_NPY);
    assert_memory_equal(&got, &untouched, sizeof got);
#undef LOAD
    assert_status(shs_npy_save_codes(NULL, write_bytes, f, f + 1, f + 2), SHS_BAD_CODES);
    assert_status(shs_npy_save_codes(&codes, NULL, f, f + 1, f + 2), SHS_BAD_NPY);
    codes.used[1] += codes.stride + 1; /* files that could not be loaded are not written */
    assert_status(shs_npy_save_codes(&codes, write_bytes, f, f + 1, f + 2), SHS_BAD_CODES);
    codes.used[1] -= codes.stride + 1;
    codes.atoms[(size_t)codes.stride] = -1 - codes.atoms[(size_t)codes.stride];
    if (codes.used[1] > 0) assert_status(shs_npy_save_codes(&codes, write_bytes, f, f + 1, f + 2), SHS_BAD_CODES);
    assert_status(shs_npy_load_codes(NULL, 50, NULL, f, f + 1, f + 2, &got), SHS_BAD_NPY);
    assert_status(shs_npy_load_codes(NULL, 50, read_bytes, f, f + 1, f + 2, NULL), SHS_BAD_CODES);
    shs_codes_free(NULL, &codes);
    free(f);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_bytes_are_those_of_numpy),
        cmocka_unit_test(test_every_bit_comes_back),
        cmocka_unit_test(test_headers_that_are_read),
        cmocka_unit_test(test_headers_that_are_refused),
        cmocka_unit_test(test_numbers_of_other_types),
        cmocka_unit_test(test_doubles_round_to_even),
        cmocka_unit_test(test_large_integers_round_once),
        cmocka_unit_test(test_failing_callbacks),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_codes),
    };
    return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}
