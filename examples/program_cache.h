/* program_cache.h - keeps built OpenCL programs and the verdicts of the self-test in the user's cache folder: load_fn and store_fn
   of shs_cl_options. Needs POSIX; elsewhere nothing is kept. Include it before the system's headers.

       static char folder[PROGRAM_CACHE_PATH];
       if (program_cache_folder(folder)) {
           options.load_fn = program_cache_load;
           options.store_fn = program_cache_store;
           options.store_user = folder;
       }

   The folder can be deleted at any time. Each entry is a file with the key as its name. The library seals what it stores with a
   hash, so a damaged file is noticed and replaced. A file gets its name when it is complete: programs that run at the same time
   never see half of one. A folder that cannot be read or written is no error: programs are then built again. */
#ifndef PROGRAM_CACHE
#define PROGRAM_CACHE

#if (defined(__unix__) || defined(__APPLE__)) && !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L /* mkstemp and fstat under -std=c99 */
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRAM_CACHE_PATH = 1024, PROGRAM_CACHE_MOST = 1 << 28 /* bytes of an entry */ };

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* a, b and c as one path; 0: it does not fit. */
static inline int program_cache_path(char path[PROGRAM_CACHE_PATH], const char *a, const char *b, const char *c) {
    const int length = snprintf(path, PROGRAM_CACHE_PATH, "%s%s%s", a, b, c);
    return length > 0 && length < PROGRAM_CACHE_PATH;
}

/* The folder that the Python package uses too: SPARSEHS_CACHE, else sparsehs in the user's cache folder. 0: there is none. */
static inline int program_cache_folder(char folder[PROGRAM_CACHE_PATH]) {
    const char *own = getenv("SPARSEHS_CACHE"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (own) return program_cache_path(folder, own, "", "");
#ifdef __APPLE__
    if (home && *home == '/') return program_cache_path(folder, home, "/Library/Caches", "/sparsehs");
#endif
    if (cache && *cache == '/') return program_cache_path(folder, cache, "", "/sparsehs");
    if (home && *home == '/') return program_cache_path(folder, home, "/.cache", "/sparsehs");
    return 0;
}

/* A program in the folder runs with the user's rights, so nobody else may be able to write it. Root may: it can do so anyway. */
static inline int program_cache_is_safe(const char *folder) {
    struct stat s;
    if (stat(folder, &s) || !S_ISDIR(s.st_mode)) return 0;
    return (s.st_uid == geteuid() || s.st_uid == 0) && !(s.st_mode & (S_IWGRP | S_IWOTH));
}

/* Makes the folder and the folders above it that are missing. */
static inline void program_cache_make(const char *folder) {
    char path[PROGRAM_CACHE_PATH], *slash;
    if (!program_cache_path(path, folder, "", "")) return;
    for (slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0700); /* where that fails, opening a file in it does */
        *slash = '/';
    }
    mkdir(path, 0700);
}

/* load_fn; user is the folder. */
static inline size_t program_cache_load(void *user, const char *key, void *data, size_t size) {
    const char *folder = (const char *)user;
    char path[PROGRAM_CACHE_PATH];
    struct stat s;
    FILE *file;
    size_t all = 0;
    if (!program_cache_path(path, folder, "/", key) || !program_cache_is_safe(folder)) return 0;
    file = fopen(path, "rb");
    if (!file) return 0;
    if (!fstat(fileno(file), &s) && S_ISREG(s.st_mode) && s.st_size > 0 && s.st_size <= PROGRAM_CACHE_MOST) all = (size_t)s.st_size;
    if (size > all) size = all;
    if (size > 0 && fread(data, 1, size, file) != size) all = 0;
    fclose(file);
    return all;
}

/* store_fn; user is the folder. */
static inline void program_cache_store(void *user, const char *key, const void *data, size_t size) {
    const char *folder = (const char *)user;
    char path[PROGRAM_CACHE_PATH], part[PROGRAM_CACHE_PATH];
    FILE *file = NULL;
    int descriptor, complete = 0;
    if (!program_cache_path(path, folder, "/", key) || !program_cache_path(part, path, ".", "XXXXXX")) return;
    program_cache_make(folder);
    if (!program_cache_is_safe(folder)) return;
    descriptor = mkstemp(part); /* another name for each process and thread */
    if (descriptor < 0) return;
    file = fdopen(descriptor, "wb");
    if (file) {
        complete = fwrite(data, 1, size, file) == size;
        complete = !fclose(file) && complete;
    } else close(descriptor);
    if (!complete || rename(part, path)) unlink(part);
}
#else
#define PROGRAM_CACHE_UNUSED(parameter) ((void)(parameter))
static inline int program_cache_folder(char folder[PROGRAM_CACHE_PATH]) {
    folder[0] = 0;
    return 0;
}
static inline size_t program_cache_load(void *user, const char *key, void *data, size_t size) {
    PROGRAM_CACHE_UNUSED(user);
    PROGRAM_CACHE_UNUSED(key);
    PROGRAM_CACHE_UNUSED(data);
    PROGRAM_CACHE_UNUSED(size);
    return 0;
}
static inline void program_cache_store(void *user, const char *key, const void *data, size_t size) {
    PROGRAM_CACHE_UNUSED(user);
    PROGRAM_CACHE_UNUSED(key);
    PROGRAM_CACHE_UNUSED(data);
    PROGRAM_CACHE_UNUSED(size);
}
#endif

#endif /* PROGRAM_CACHE */
