/* memory_file.h - a file in memory, as models and matrices are written to it and read from it: for tests and for fuzzing. One
   of zeros is an empty file. */
#ifndef SHS_MEMORY_FILE_H
#define SHS_MEMORY_FILE_H

#include <stdlib.h>
#include <string.h>

typedef struct memory_file {
    unsigned char bytes[1 << 14];
    size_t size, at;
    int calls, fails_at; /* which of the calls fails, besides those that go beyond an end: from 1; 0: none */
} memory_file;

static inline int write_bytes(void *user, const void *bytes, size_t count) {
    memory_file *f = (memory_file *)user;
    if (++f->calls == f->fails_at || count > sizeof f->bytes - f->size) return 1;
    if (count) memcpy(f->bytes + f->size, bytes, count);
    f->size += count;
    return 0;
}

static inline int read_bytes(void *user, void *bytes, size_t count) {
    memory_file *f = (memory_file *)user;
    if (++f->calls == f->fails_at || count > f->size - f->at) return 1;
    if (count) memcpy(bytes, f->bytes + f->at, count);
    f->at += count;
    return 0;
}

/* A file of any size, which grows as it is written. */
typedef struct large_file {
    unsigned char *bytes;
    size_t size, at;
} large_file;

static inline int write_large(void *user, const void *bytes, size_t count) {
    large_file *f = (large_file *)user;
    f->bytes = (unsigned char *)realloc(f->bytes, f->size + count + 1);
    if (count) memcpy(f->bytes + f->size, bytes, count);
    f->size += count;
    return 0;
}

static inline int read_large(void *user, void *bytes, size_t count) {
    large_file *f = (large_file *)user;
    if (count > f->size - f->at) return 1;
    if (count) memcpy(bytes, f->bytes + f->at, count);
    f->at += count;
    return 0;
}

/* The largest block that was asked for. */
static inline void *alloc_watched(void *user, size_t size) {
    size_t *most = (size_t *)user;
    if (size > *most) *most = size;
    if (size > (size_t)1 << 28) return NULL;
    return malloc(size);
}

static inline void free_watched(void *user, void *block) {
    (void)user;
    free(block);
}

static inline void rewind_file(memory_file *f, int fails_at) {
    f->at = 0;
    f->calls = 0;
    f->fails_at = fails_at;
}

#endif
