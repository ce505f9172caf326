/* test_cl_cache.c - programs kept in a folder (examples/program_cache.h): they are used, rebuilt when damaged, and safe when two
   processes write them at once. Builds are counted by the driver of these tests. */
#include "../examples/program_cache.h"
#include "test.h"
#include "device/cl_shim.h"
#include <dirent.h>

enum { P = 16, N = 48, M = 100, S = 3 };

static const char *own_name;
static char *drivers; /* OCL_ICD_FILENAMES: a loader takes the list apart in place, and a child would see the first driver alone */
static char base[64];

/* ---- files ---------------------------------------------------------------------------------------------------------- */

typedef void (*entry_fn)(const char *path);

/* Calls change, which may be NULL, for all programs and verdicts in the folder. Returns how many programs there are. */
static int each_entry(const char *folder, entry_fn change) {
    DIR *all = opendir(folder);
    struct dirent *entry;
    int count = 0;
    assert_non_null(all);
    while ((entry = readdir(all)) != NULL) {
        char path[PROGRAM_CACHE_PATH];
        if (entry->d_name[0] == '.') continue;
        count += strncmp(entry->d_name, "program-", 8) == 0;
        assert_true(program_cache_path(path, folder, "/", entry->d_name));
        if (change) change(path);
    }
    closedir(all);
    return count;
}

/* Files of any kind; a name that is no key belongs to a file that was left behind. */
static int count_files(const char *folder, int *left_behind) {
    DIR *all = opendir(folder);
    struct dirent *entry;
    int count = 0;
    *left_behind = 0;
    if (!all) return 0;
    while ((entry = readdir(all)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        count++;
        *left_behind += strchr(entry->d_name, '.') != NULL;
    }
    closedir(all);
    return count;
}

static void remove_folder(const char *folder) {
    char command[PROGRAM_CACHE_PATH + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

static void folder_in_base(char folder[PROGRAM_CACHE_PATH], const char *name) {
    assert_true(program_cache_path(folder, base, "/", name));
}

/* ---- a call with a cache -------------------------------------------------------------------------------------------- */

/* Codes signals on a new object whose programs are kept in the folder (NULL: not kept). Returns how many were built. */
static long builds_of_run(char *folder, shs_codes *codes) {
    shs_real D[P * N], Y[P * M];
    shs_cl_options o = SHS_ZERO;
    shs_context ctx = SHS_ZERO;
    shs_cl *cl = NULL;
    shs_random r;
    int i;
    shs_random_seed(&r, 5);
    for (i = 0; i < P * N; i++) D[i] = (shs_real)shs_random_normal(&r);
    for (i = 0; i < P * M; i++) Y[i] = (shs_real)shs_random_normal(&r);
    assert_ok(shs_normalize_columns(P, N, D, P, NULL));
    shim_begin();
    if (folder) {
        o.load_fn = program_cache_load;
        o.store_fn = program_cache_store;
        o.store_user = folder;
        o.keep = SHS_CL_KEEP_PROGRAMS | SHS_CL_KEEP_VERDICTS; /* with PoCL too */
    }
    assert_ok(shs_cl_create(NULL, &o, &cl));
    ctx.engine = shs_cl_engine(cl);
    assert_ok(shs_codes_create(NULL, M, S, codes));
    assert_ok(shs_omp(&ctx, P, N, D, M, Y, S, codes));
    shs_cl_destroy(cl);
    assert_int_equal(shim.live, 0);
    return shim.builds;
}

static shs_codes expected; /* without a cache */
static long usual_builds;

/* The codes are what they are without a cache. */
static long builds_with(char *folder) {
    shs_codes codes;
    const long builds = builds_of_run(folder, &codes);
    assert_memory_equal(codes.used, expected.used, M * sizeof *codes.used);
    assert_memory_equal(codes.atoms, expected.atoms, M * S * sizeof *codes.atoms);
    assert_memory_equal(codes.coefs, expected.coefs, M * S * sizeof *codes.coefs);
    shs_codes_free(NULL, &codes);
    return builds;
}

/* ---- tests ---------------------------------------------------------------------------------------------------------- */

static void test_second_run_builds_nothing(void **state) {
    char folder[PROGRAM_CACHE_PATH];
    struct stat s;
    int left_behind;
    (void)state;
    folder_in_base(folder, "missing/folders/sparsehs");
    assert_int_equal(builds_with(folder), usual_builds);
    assert_int_equal(each_entry(folder, NULL), usual_builds);
    assert_int_equal(builds_with(folder), 0);
    assert_true(count_files(folder, &left_behind) > usual_builds); /* verdicts too */
    assert_int_equal(left_behind, 0);
    assert_int_equal(stat(folder, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0700);
}

static void write_over(const char *path, long at, const char *mode) {
    FILE *file = fopen(path, mode);
    assert_non_null(file);
    assert_int_equal(fseek(file, at, at < 0 ? SEEK_END : SEEK_SET), 0);
    assert_int_equal(fwrite("damage", 1, 6, file), 6);
    assert_int_equal(fclose(file), 0);
}

static void cut_to(const char *path, long parts, long of) {
    struct stat s;
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(truncate(path, (off_t)((long)s.st_size * parts / of)), 0);
}

static void damage_begin(const char *path) { write_over(path, 0, "r+b"); }
static void damage_end(const char *path) { write_over(path, -6, "r+b"); }
static void damage_longer(const char *path) { write_over(path, 0, "ab"); }
static void damage_half(const char *path) { cut_to(path, 1, 2); }
static void damage_empty(const char *path) { cut_to(path, 0, 1); }
static void damage_short(const char *path) { assert_int_equal(truncate(path, 5), 0); }

static void damage_bit(const char *path) {
    FILE *file = fopen(path, "r+b");
    struct stat s;
    int byte;
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &s), 0);
    assert_int_equal(fseek(file, (long)s.st_size / 2, SEEK_SET), 0);
    byte = fgetc(file);
    assert_int_equal(fseek(file, (long)s.st_size / 2, SEEK_SET), 0);
    assert_int_equal(fputc(byte ^ 1, file), byte ^ 1);
    assert_int_equal(fclose(file), 0);
}

/* Programs are built again, and verdicts found again. */
static void test_damaged_entries(void **state) {
    static const entry_fn damages[] = {damage_begin, damage_end,   damage_longer, damage_half,
                                       damage_empty, damage_short, damage_bit};
    char folder[PROGRAM_CACHE_PATH];
    size_t i;
    (void)state;
    folder_in_base(folder, "damaged");
    builds_with(folder);
    for (i = 0; i < sizeof damages / sizeof *damages; i++) {
        assert_int_equal(each_entry(folder, damages[i]), usual_builds);
        assert_int_equal(builds_with(folder), usual_builds);
        assert_int_equal(builds_with(folder), 0);
    }
}

/* Processes, not threads: this program is called anew, since a driver may not survive a fork. */
static void test_processes_at_once(void **state) {
    enum { PROCESSES = 3, ROUNDS = 3 };
    char folder[PROGRAM_CACHE_PATH], command[2 * PROGRAM_CACHE_PATH];
    int round, k, left_behind;
    (void)state;
    if (drivers) assert_int_equal(setenv("OCL_ICD_FILENAMES", drivers, 1), 0);
    for (round = 0; round < ROUNDS; round++) {
        FILE *all[PROCESSES];
        folder_in_base(folder, "shared");
        remove_folder(folder);
        snprintf(command, sizeof command, "CACHE_OF_CHILD='%s' '%s' >/dev/null 2>&1", folder, own_name);
        for (k = 0; k < PROCESSES; k++) assert_non_null(all[k] = popen(command, "r"));
        for (k = 0; k < PROCESSES; k++) assert_int_equal(pclose(all[k]), 0);
        assert_int_equal(builds_with(folder), 0);
        assert_int_equal(each_entry(folder, NULL), usual_builds);
        assert_true(count_files(folder, &left_behind) > 0);
        assert_int_equal(left_behind, 0);
    }
}

/* Nothing is kept, and nothing fails, where the folder is none, cannot be made, or may be written by others. */
static void test_folders_of_no_use(void **state) {
    char folder[PROGRAM_CACHE_PATH], file[PROGRAM_CACHE_PATH];
    int left_behind;
    (void)state;
    folder_in_base(file, "file");
    fclose(fopen(file, "wb"));
    assert_int_equal(builds_with(file), usual_builds);
    folder_in_base(folder, "file/below");
    assert_int_equal(builds_with(folder), usual_builds);
    folder_in_base(folder, "of_all");
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(builds_with(folder), usual_builds);
    assert_int_equal(count_files(folder, &left_behind), 0);
    folder_in_base(folder, "of_others");
    assert_int_equal(mkdir(folder, 0700), 0);
    if (chown(folder, 12345, 12345) == 0) { /* root alone may */
        assert_int_equal(builds_with(folder), usual_builds);
        assert_int_equal(count_files(folder, &left_behind), 0);
    }
}

/* What was kept is used; what was not is built, and not kept. Root may write all the same. */
static void test_folder_that_is_read_only(void **state) {
    char folder[PROGRAM_CACHE_PATH];
    int left_behind;
    (void)state;
    folder_in_base(folder, "read_only");
    assert_int_equal(mkdir(folder, 0500), 0);
    assert_int_equal(builds_with(folder), usual_builds);
    if (geteuid() != 0) assert_int_equal(count_files(folder, &left_behind), 0);
    assert_int_equal(chmod(folder, 0700), 0);
    builds_with(folder);
    assert_int_equal(chmod(folder, 0500), 0);
    assert_int_equal(builds_with(folder), 0);
    assert_int_equal(chmod(folder, 0700), 0);
}

static void set(const char *name, const char *value) {
    if (value) assert_int_equal(setenv(name, value, 1), 0);
    else assert_int_equal(unsetenv(name), 0);
}

static void check_folder(const char *own, const char *cache, const char *home, const char *wanted) {
    char folder[PROGRAM_CACHE_PATH];
    set("SPARSEHS_CACHE", own);
    set("XDG_CACHE_HOME", cache);
    set("HOME", home);
    assert_int_equal(program_cache_folder(folder), wanted != NULL);
    if (wanted) assert_string_equal(folder, wanted);
}

static void test_place_of_the_folder(void **state) {
    char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL, *cache = NULL, *own = NULL;
    char path[2 * PROGRAM_CACHE_PATH];
    (void)state;
    if (getenv("XDG_CACHE_HOME")) cache = strdup(getenv("XDG_CACHE_HOME"));
    if (getenv("SPARSEHS_CACHE")) own = strdup(getenv("SPARSEHS_CACHE"));
    memset(path, 'x', sizeof path);
    path[0] = '/';
    path[sizeof path - 1] = 0;
    check_folder("/own", "/cache", "/home", "/own");
    check_folder("", "/cache", "/home", NULL); /* switched off */
#ifndef __APPLE__
    check_folder(NULL, "/cache", "/home", "/cache/sparsehs");
    check_folder(NULL, "/cache", NULL, "/cache/sparsehs");
    check_folder(NULL, "", "/home", "/home/.cache/sparsehs");
    check_folder(NULL, "relative", "/home", "/home/.cache/sparsehs"); /* to be ignored, says the standard of XDG */
#endif
    check_folder(NULL, NULL, NULL, NULL);
    check_folder(NULL, NULL, "", NULL);
    check_folder(NULL, NULL, path, NULL); /* too long */
    set("SPARSEHS_CACHE", own);
    set("XDG_CACHE_HOME", cache);
    set("HOME", home);
    free(home);
    free(cache);
    free(own);
}

static int setup(void **state) {
    (void)state;
    strcpy(base, "/tmp/sparsehs-cache-XXXXXX");
    if (!mkdtemp(base)) return 1;
    usual_builds = builds_of_run(NULL, &expected);
    return usual_builds == 0;
}

static int teardown(void **state) {
    (void)state;
    shs_codes_free(NULL, &expected);
    free(drivers);
    remove_folder(base);
    return 0;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_second_run_builds_nothing), cmocka_unit_test(test_damaged_entries),
        cmocka_unit_test(test_processes_at_once),         cmocka_unit_test(test_folders_of_no_use),
        cmocka_unit_test(test_folder_that_is_read_only),  cmocka_unit_test(test_place_of_the_folder),
    };
    char *folder = getenv("CACHE_OF_CHILD");
    if (argc < 1) return 1;
    if (getenv("OCL_ICD_FILENAMES")) drivers = strdup(getenv("OCL_ICD_FILENAMES"));
    own_name = argv[0];
    if (folder) {
        shs_codes codes;
        builds_of_run(folder, &codes);
        shs_codes_free(NULL, &codes);
        free(drivers);
        return 0;
    }
    return cmocka_run_group_tests_name("programs kept in a folder", tests, setup, teardown);
}
