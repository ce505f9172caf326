/* example.h - what the examples share: options, errors, a progress bar, files, pictures in and out, the clock.
   Include this header first, because it makes the system headers declare POSIX functions. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#if defined(__unix__) || defined(__APPLE__)
#define EXAMPLE_POSIX
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* clock_gettime and popen under -std=c99 */
#endif
#elif defined(_WIN32)
#define EXAMPLE_WINDOWS
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#endif

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef EXAMPLE_POSIX
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#endif
#ifdef EXAMPLE_WINDOWS
#include <direct.h>
#include <io.h>
#include <windows.h>
#endif

#include "../sparsehs.h"
#include "program_cache.h"

/* --device needs OpenCL's headers at compile time and opens the OpenCL library at run time. With glibc 2.33 or older build
   with -DEXAMPLE_OPENCL -ldl. EXAMPLE_NO_OPENCL leaves --device out. */
#if defined(__has_include) && !defined(EXAMPLE_NO_OPENCL) && !defined(EXAMPLE_OPENCL)
#if __has_include(<CL/cl.h>) || __has_include(<OpenCL/opencl.h>)
#if !defined(__GLIBC__) || __GLIBC__ > 2 || __GLIBC_MINOR__ >= 34
#define EXAMPLE_OPENCL
#endif
#endif
#endif
#ifdef EXAMPLE_OPENCL
#define SPARSEHS_CL_DYNAMIC
#include "../sparsehs_cl.h"
#endif
#include "thread_ranks.h"
#ifdef _OPENMP
#include <omp.h>
#endif

#if defined(__MINGW_PRINTF_FORMAT) /* of stdio.h: Windows' own printf, or one of C99, which knows %zu */
#define EXAMPLE_PRINTF __MINGW_PRINTF_FORMAT
#else
#define EXAMPLE_PRINTF printf
#endif
#if defined(__GNUC__) || defined(__clang__)
#define EXAMPLE_FAILS __attribute__((noreturn, format(EXAMPLE_PRINTF, 2, 3)))
#define EXAMPLE_WARNS __attribute__((format(EXAMPLE_PRINTF, 1, 2)))
#else
#define EXAMPLE_FAILS
#define EXAMPLE_WARNS
#endif

/* ---- errors ------------------------------------------------------------------------------------------------------ */

enum { EXIT_ERROR = 1, EXIT_USAGE = 2 };

static const char *program_name = "example";
static int progress_width = 0; /* characters of the progress bar that stand on the terminal */

static inline void progress_clear(void) {
    if (progress_width > 0) fprintf(stderr, "\r%*s\r", progress_width, "");
    progress_width = 0;
}

/* A file that is written under a temporary name until it is complete. */
typedef struct unfinished {
    FILE *file; /* NULL: closed */
    char *part, *target;
    struct unfinished *next;
} unfinished;

static unfinished *unfinished_files = NULL;

static inline void remove_unfinished(void) {
    for (; unfinished_files; unfinished_files = unfinished_files->next) {
        if (unfinished_files->file) fclose(unfinished_files->file);
        remove(unfinished_files->part);
    }
}

/* Says what is wrong, naming the file or option, and ends the program. */
EXAMPLE_FAILS static inline void fail(int code, const char *format, ...) {
    va_list arguments;
    progress_clear();
    fflush(stdout);
    fprintf(stderr, "%s: ", program_name);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
#ifdef EXAMPLE_ON_FAIL /* others are to know it too */
    va_start(arguments, format);
    EXAMPLE_ON_FAIL(format, arguments);
    va_end(arguments);
#endif
    fprintf(stderr, code == EXIT_USAGE ? " (see %s --help)\n" : "\n", program_name);
    remove_unfinished();
    exit(code);
}

EXAMPLE_WARNS static inline void warn(const char *format, ...) {
    va_list arguments;
    progress_clear();
    fprintf(stderr, "%s: ", program_name);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

#ifdef EXAMPLE_OPENCL
static shs_cl *example_devices[RANKS_MOST]; /* of --device; NULL: the CPU */
#define example_device example_devices[0]

/* What a device has to say about a failure: the compiler's words, else the error's name. */
static inline const char *device_trouble(void) {
    int i;
    for (i = 0; i < RANKS_MOST; i++) {
        const char *log = shs_cl_build_log(example_devices[i]), *error = shs_cl_error_text(example_devices[i]);
        if (*log) return log;
        if (strcmp(error, "CL_SUCCESS")) return error;
    }
    return NULL;
}
#else
static inline const char *device_trouble(void) { return NULL; }
#endif

/* The largest count among the options of the command line, and its option: what most likely takes more memory than there is. */
static int largest_count = 0;
static const char *largest_option = NULL;

/* Counts below a thousand are not worth naming. */
static inline int asks_for_much(void) { return largest_count >= 1000; }

static inline void check(shs_status status, const char *subject) {
    const char *trouble = device_trouble();
    if (status == SHS_OK) return;
    if (status == SHS_NO_MEMORY && asks_for_much())
        fail(EXIT_ERROR, "%s: %s; the largest count is %s %d", subject, shs_status_text(status), largest_option, largest_count);
    if (trouble) fail(EXIT_ERROR, "%s: %s: %s", subject, shs_status_text(status), trouble);
    fail(EXIT_ERROR, "%s: %s", subject, shs_status_text(status));
}

static inline void *allocate(size_t count, size_t size) {
    int too_large = size > 0 && count > SIZE_MAX / size;
    void *block = NULL;
    if (count == 0) count = 1;
    if (!too_large) block = calloc(count, size);
    if (!block && asks_for_much())
        fail(EXIT_ERROR, "out of memory: %zu x %zu bytes; the largest count is %s %d", count, size, largest_option,
             largest_count);
    if (!block) fail(EXIT_ERROR, "out of memory: %zu x %zu bytes", count, size);
    return block;
}

#define COUNT_OF(list) ((int)(sizeof(list) / sizeof *(list)))
#define ALLOCATE(type, count) ((type *)allocate((size_t)(count), sizeof(type)))

/* Marks a missing number. */
#define NO_NUMBER ((double)NAN)

/* The elements of so many rows or columns; also how many stand before row or column number `rows`. */
static inline size_t elements(int rows, int length) { return (size_t)rows * (size_t)length; }

/* The number of the value in this row and column, where rows of `length` values follow each other. */
static inline size_t element_at(int row, int length, int column) { return elements(row, length) + (size_t)column; }

/* The values of so many columns of `length` each; also where the column of this number begins. */
static inline size_t values_of(size_t columns, int length) { return columns * (size_t)length; }

/* Where the value of this number stands in rows of `length`. */
static inline int row_of(size_t element, int length) { return (int)(element / (size_t)length); }
static inline int column_of(size_t element, int length) { return (int)(element % (size_t)length); }

static inline int smaller(int a, int b) {
    if (a < b) return a;
    return b;
}

static inline int larger(int a, int b) {
    if (a > b) return a;
    return b;
}

/* The value, or the end of the range that it lies beyond; NaN stays. */
static inline double limited(double value, double low, double high) {
    if (value < low) return low;
    if (value > high) return high;
    return value;
}

static inline int is_digit(char c) { return isdigit((unsigned char)c) != 0; }
static inline int is_letter_or_digit(char c) { return isalnum((unsigned char)c) != 0; }
static inline int is_blank(char c) { return isspace((unsigned char)c) != 0; }
static inline char lower_letter(char c) { return (char)tolower((unsigned char)c); }

/* 0 reads as the usual number. */
static inline int number_or(int number, int usual) {
    if (number) return number;
    return usual;
}

/* NULL reads as no text. */
static inline const char *or_empty(const char *text) { return text ? text : ""; }

/* The words that go with a number of things. */
static inline const char *plural_s(int number) { return number == 1 ? "" : "s"; }
static inline const char *is_or_are(int number) { return number == 1 ? "is" : "are"; }

static inline char *joined(const char *a, const char *b) {
    char *made = ALLOCATE(char, strlen(a) + strlen(b) + 1);
    return strcat(strcpy(made, a), b);
}

/* ---- what each system does in its own way ------------------------------------------------------------------------ */

/* What tells a file or folder from all others, by whatever name it is reached. */
typedef struct file_identity {
    int exists, is_folder, is_device;
    uint64_t volume, number;
} file_identity;

#if defined(EXAMPLE_POSIX)

static inline int is_separator(char c) { return c == '/'; }

/* The name with all folders, where a name may mean different files in different folders. */
static inline char *full_name(const char *name) { return joined(name, ""); }

enum { HAS_IDENTITIES = 1 };

/* errno says why where there is no such file or folder. */
static inline file_identity identity_of(const char *name) {
    file_identity id = SHS_ZERO;
    struct stat about;
    if (stat(name, &about)) return id;
    id.exists = 1;
    id.is_folder = S_ISDIR(about.st_mode) != 0;
    id.is_device = !S_ISREG(about.st_mode) && !id.is_folder;
    id.volume = (uint64_t)about.st_dev;
    id.number = (uint64_t)about.st_ino;
    return id;
}

/* Whether both names mean one file of a folder. macOS mostly does not tell capital letters from small ones. */
static inline int same_name(const char *a, const char *b) {
#ifdef __APPLE__
    while (*a && lower_letter(*a) == lower_letter(*b)) {
        a++;
        b++;
    }
#endif
    return !strcmp(a, b);
}

static inline int may_write(const char *name) { return !access(name, W_OK); }

static inline int is_dangling_link(const char *name) {
    struct stat about, link;
    return stat(name, &about) && !lstat(name, &link) && S_ISLNK(link.st_mode);
}

/* Gives a file the name of another one, which is replaced. Returns non-zero where it cannot; errno says why. */
static inline int replace_file(const char *from, const char *to) { return rename(from, to); }

/* Creates a file that did not exist. Returns NULL where it cannot; errno is EEXIST where the file is there. */
static inline FILE *create_new(const char *name) {
    const int descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (descriptor < 0) return NULL;
    return fdopen(descriptor, "wb");
}

/* Returns 0 where it could not be made; errno says why. */
static inline int make_folder(const char *name) { return !mkdir(name, 0777); }

static inline void remove_folder(const char *name) { rmdir(name); }

/* The names in a folder, one after another. NULL: no more, or no such folder. */
typedef struct folder_names {
    DIR *list;
} folder_names;

static inline folder_names open_folder(const char *name) {
    folder_names f;
    f.list = opendir(name);
    return f;
}

static inline const char *next_name(folder_names *f) {
    struct dirent *entry = NULL;
    if (f->list) entry = readdir(f->list);
    if (!entry) return NULL;
    return entry->d_name;
}

static inline void close_folder(folder_names *f) {
    if (f->list) closedir(f->list);
}

/* Seconds from some fixed moment on. */
static inline double wall_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#elif defined(EXAMPLE_WINDOWS)

static inline int is_separator(char c) { return c == '/' || c == '\\'; }

static inline char *full_name(const char *name) {
    DWORD room = GetFullPathNameA(name, 0, NULL, NULL), length;
    char *full = ALLOCATE(char, (size_t)room + 1);
    length = GetFullPathNameA(name, room, full, NULL);
    if (length == 0 || length >= room) strcpy(full, "");
    return full;
}

enum { HAS_IDENTITIES = 1 };

/* What Windows says, as errno. */
static inline void set_errno(void) {
    switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND: errno = ENOENT; return;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION: errno = EACCES; return;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS: errno = EEXIST; return;
    case ERROR_DISK_FULL: errno = ENOSPC; return;
    default: errno = EIO; return;
    }
}

static inline file_identity identity_of(const char *name) {
    const DWORD shared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    file_identity id = SHS_ZERO;
    BY_HANDLE_FILE_INFORMATION about;
    HANDLE file = CreateFileA(name, 0, shared, NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        set_errno();
        return id;
    }
    id.exists = 1;
    id.is_device = !GetFileInformationByHandle(file, &about); /* as NUL; all of them count as one */
    CloseHandle(file);
    if (id.is_device) return id;
    id.is_folder = (about.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
    id.volume = about.dwVolumeSerialNumber;
    id.number = (uint64_t)about.nFileIndexHigh << 32 | about.nFileIndexLow;
    return id;
}

static inline int same_name(const char *a, const char *b) { return !lstrcmpiA(a, b); }

static inline int may_write(const char *name) { return !_access(name, 2); }

static inline int is_dangling_link(const char *name) {
    (void)name;
    return 0;
}

static inline int replace_file(const char *from, const char *to) {
    if (MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING)) return 0;
    set_errno();
    return 1;
}

/* The file may be deleted while it is open, as one that is not finished is when the program is interrupted. */
static inline FILE *create_new(const char *name) {
    const DWORD shared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    HANDLE file = CreateFileA(name, GENERIC_WRITE, shared, NULL, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, NULL);
    int descriptor;
    if (file == INVALID_HANDLE_VALUE) {
        set_errno();
        return NULL;
    }
    descriptor = _open_osfhandle((intptr_t)file, 0);
    if (descriptor < 0) return NULL;
    return _fdopen(descriptor, "wb");
}

static inline int make_folder(const char *name) { return !_mkdir(name); }

static inline void remove_folder(const char *name) { _rmdir(name); }

typedef struct folder_names {
    HANDLE list;
    int at; /* 0: the first entry, which comes with the list; 1: the next one */
    WIN32_FIND_DATAA entry;
} folder_names;

static inline folder_names open_folder(const char *name) {
    char *all = joined(name, "/*");
    folder_names f;
    f.at = 0;
    f.list = FindFirstFileA(all, &f.entry);
    free(all);
    return f;
}

static inline const char *next_name(folder_names *f) {
    if (f->list == INVALID_HANDLE_VALUE) return NULL;
    if (f->at > 0 && !FindNextFileA(f->list, &f->entry)) return NULL;
    f->at = 1;
    return f->entry.cFileName;
}

static inline void close_folder(folder_names *f) {
    if (f->list != INVALID_HANDLE_VALUE) FindClose(f->list);
}

static inline double wall_clock(void) {
    LARGE_INTEGER now, a_second;
    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&a_second);
    return (double)now.QuadPart / (double)a_second.QuadPart;
}

#else /* what C99 has */

static inline int is_separator(char c) { return c == '/'; }

static inline char *full_name(const char *name) { return joined(name, ""); }

enum { HAS_IDENTITIES = 0 };

static inline file_identity identity_of(const char *name) {
    file_identity id = SHS_ZERO;
    (void)name;
    return id;
}

static inline int same_name(const char *a, const char *b) { return !strcmp(a, b); }

static inline int may_write(const char *name) {
    (void)name;
    return 1;
}

static inline int is_dangling_link(const char *name) {
    (void)name;
    return 0;
}

/* Here rename may not replace. */
static inline int replace_file(const char *from, const char *to) {
    remove(to);
    return rename(from, to);
}

static inline FILE *create_new(const char *name) {
    FILE *old = fopen(name, "rb");
    if (!old) return fopen(name, "wb");
    fclose(old);
    errno = EEXIST;
    return NULL;
}

static inline int make_folder(const char *name) {
    (void)name;
    return 0;
}

static inline void remove_folder(const char *name) { remove(name); }

typedef struct folder_names {
    int none;
} folder_names;

static inline folder_names open_folder(const char *name) {
    folder_names f = SHS_ZERO;
    (void)name;
    return f;
}

static inline const char *next_name(folder_names *f) {
    (void)f;
    return NULL;
}

static inline void close_folder(folder_names *f) { (void)f; }

static inline double wall_clock(void) {
#ifdef TIME_UTC
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
#else
    return (double)time(NULL);
#endif
}

#endif

/* 0 where one of them does not exist. */
static inline int same_identity(const file_identity *a, const file_identity *b) {
    return a->exists && b->exists && a->volume == b->volume && a->number == b->number;
}

/* Whether two names lead to one file that exists. */
static inline int lead_to_one_file(const char *a, const char *b) {
    const file_identity first = identity_of(a);
    const file_identity second = identity_of(b);
    return same_identity(&first, &second);
}

static inline const char *name_in_folder(const char *name) {
    const char *last = name;
    for (; *name; name++)
        if (is_separator(*name)) last = name + 1;
    return last;
}

/* ---- beginning and end ------------------------------------------------------------------------------------------- */

/* Runs at exit. What was printed must have arrived: a full disk shows itself at the latest here. */
static inline void close_stdout(void) {
    int bad = ferror(stdout);
    if (!fclose(stdout) && !bad) return;
    fprintf(stderr, "%s: standard output: writing to it failed: %s\n", program_name, strerror(errno));
    _Exit(EXIT_ERROR);
}

/* Called first, and harmless when called again. */
static inline void example_begin(int argc, char **argv) {
    static int begun = 0;
#ifdef EXAMPLE_POSIX
    int descriptor;
    /* The next file opened would get the number of a standard stream that is closed, and what is printed would go into
       that file. /dev/null is opened the wrong way round, so that using such a stream is still an error. */
    for (descriptor = 0; descriptor < 3; descriptor++)
        if (fcntl(descriptor, F_GETFD) < 0) open("/dev/null", descriptor ? O_RDONLY : O_WRONLY);
#endif
    if (argc > 0) program_name = name_in_folder(argv[0]);
    if (!begun) atexit(close_stdout);
    begun = 1;
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

typedef enum option_kind {
    OPTION_SWITCH,  /* int: set to 1, takes no value */
    OPTION_COUNT,   /* int */
    OPTION_NUMBER,  /* double */
    OPTION_SEED,    /* uint64_t */
    OPTION_TEXT,    /* const char * */
    OPTION_WORD,    /* int: which of the words in value_name, as in "no|yes|perhaps"; 1 where none of them follows */
    OPTION_HEADING, /* no option: `name` stands above the options after it in the help */
    OPTION_EXAMPLE  /* no option: `name` stands behind the program's name at the end of the help */
} option_kind;

typedef struct option {
    const char *name, *value_name;
    option_kind kind;
    void *value;  /* where the result goes; keeps its default when the option is not given */
    double least; /* smallest number allowed */
    const char *help;
} option;

enum { PAGE_WIDTH = 80, PAGE_TEXT = 26 };

/* Words after the `count` characters that the line holds; further lines are indented. */
static inline void print_words(FILE *file, int count, int indent, const char *text) {
    int blanks = 0;
    if (indent > 0) blanks = indent - 1;
    while (*text) {
        int length = (int)strcspn(text, " \n");
        if (count + 1 + length > PAGE_WIDTH) count = fprintf(file, "\n%*s", blanks, "") - 1;
        if (count > 0) count += fprintf(file, " ");
        count += fprintf(file, "%.*s", length, text);
        text += length + (text[length] != 0);
    }
    fputc('\n', file);
}

static inline void print_option(const option *o) {
    int count = printf("  %s %s", o->name, or_empty(o->value_name));
    if (count < PAGE_TEXT - 1) count += printf("%*s", PAGE_TEXT - 1 - count, "");
    print_words(stdout, count, PAGE_TEXT, o->help);
}

/* Each line of `usage` is a way to call the program. */
static inline void print_usage(const char *usage) {
    const char *lead = "Usage:";
    while (*usage) {
        int length = (int)strcspn(usage, "\n");
        printf("%-6s %s %.*s\n", lead, program_name, length, usage);
        usage += length + (usage[length] != 0);
        lead = "";
    }
}

static inline void print_examples(const option *options, int count) {
    int i, seen = 0;
    for (i = 0; i < count; i++) {
        if (options[i].kind != OPTION_EXAMPLE) continue;
        if (!seen) printf("\nExamples:\n");
        seen = 1;
        printf("  %s %s\n", program_name, options[i].name);
    }
}

/* Pages of help have the same order in all programs: usage, what it does, options by task, examples. */
static inline void print_help(const char *usage, const char *purpose, const option *options, int count) {
    static const option common[] = {{"--help", NULL, OPTION_SWITCH, NULL, 0, "print this text"},
                                    {"--version", NULL, OPTION_SWITCH, NULL, 0, "print how the library was compiled"}};
    int i;
    print_usage(usage);
    print_words(stdout, 0, 0, purpose);
    if (count == 0 || options[0].kind != OPTION_HEADING) printf("\nOptions:\n");
    for (i = 0; i < count; i++) {
        if (options[i].kind == OPTION_HEADING) printf("\n%s:\n", options[i].name);
        else if (options[i].kind != OPTION_EXAMPLE) print_option(&options[i]);
    }
    for (i = 0; i < 2; i++) print_option(&common[i]);
    print_examples(options, count);
}

static inline void set_option(const option *o, const char *text) {
    const char *first = text + (*text == '-' || *text == '+');
    char *end = NULL;
    double number;
    if (o->kind == OPTION_TEXT) {
        if (!*text) fail(EXIT_USAGE, "%s: its value is empty", o->name);
        *(const char **)o->value = text;
        return;
    }
    /* The first character keeps out what the library functions would also take: blanks, inf and nan. */
    number = strtod(text, &end);
    if (!(is_digit(*first) || *first == '.') || end == text || *end)
        fail(EXIT_USAGE, "%s: '%s' is not a number", o->name, text);
    if (number < o->least) fail(EXIT_USAGE, "%s: %s is too small: at least %g", o->name, text, o->least);
    errno = 0;
    if (o->kind == OPTION_NUMBER) {
        if (number > 1e30) fail(EXIT_USAGE, "%s: %s is too large", o->name, text);
        *(double *)o->value = number;
    } else {
        unsigned long long whole = strtoull(text, &end, 10);
        if (*end) fail(EXIT_USAGE, "%s: '%s' is not a whole number", o->name, text);
        if (errno == ERANGE || (o->kind == OPTION_COUNT && whole > INT_MAX))
            fail(EXIT_USAGE, "%s: %s is too large", o->name, text);
        if (o->kind == OPTION_COUNT) *(int *)o->value = (int)whole;
        else *(uint64_t *)o->value = whole;
        if (o->kind == OPTION_COUNT && (int)whole > largest_count) {
            largest_count = (int)whole;
            largest_option = o->name;
        }
    }
}

/* Which of the words, divided by |, it is; -1: none. */
static inline int find_word(const char *words, const char *word) {
    size_t length = strlen(word);
    int i;
    for (i = 0; *words; i++) {
        size_t here = strcspn(words, "|");
        if (here == length && !strncmp(words, word, length)) return i;
        words += here + (words[here] == '|');
    }
    return -1;
}

/* Reads the options. Moves all other arguments to the front of argv and returns their number. Takes `--name value` and
   `--name=value`; after `--` nothing is an option. */
static inline int read_options(int argc, char **argv, const char *usage, const char *purpose, const option *options,
                               int count) {
    int i, j, names = 0, only_names = 0;
    example_begin(argc, argv);
    for (i = 1; i < argc; i++) {
        const char *text = argv[i], *equals = strchr(text, '=');
        size_t length = strcspn(text, "=");
        if (only_names || text[0] != '-' || !text[1]) {
            argv[names++] = argv[i];
            continue;
        }
        if (!strcmp(text, "--")) {
            only_names = 1;
            continue;
        }
        if (!strcmp(text, "--help") || !strcmp(text, "-h")) {
            print_help(usage, purpose, options, count);
            exit(EXIT_SUCCESS);
        }
        if (!strcmp(text, "--version")) {
            puts(shs_build_info());
            exit(EXIT_SUCCESS);
        }
        for (j = 0; j < count; j++)
            if (options[j].kind < OPTION_HEADING && strlen(options[j].name) == length &&
                !strncmp(options[j].name, text, length))
                break;
        if (j == count) fail(EXIT_USAGE, "%s: unknown option", text);
        if (options[j].kind == OPTION_SWITCH) {
            if (equals) fail(EXIT_USAGE, "%s: takes no value", options[j].name);
            *(int *)options[j].value = 1;
        } else if (options[j].kind == OPTION_WORD) {
            int *value = (int *)options[j].value, which = -1;
            if (equals) which = find_word(options[j].value_name, equals + 1);
            else if (i + 1 < argc) which = find_word(options[j].value_name, argv[i + 1]);
            if (which < 0 && equals) fail(EXIT_USAGE, "%s: none of %s", text, options[j].value_name);
            *value = which;
            if (which < 0) *value = 1;
            else if (!equals) i++;
        } else if (equals) {
            set_option(&options[j], equals + 1);
        } else {
            if (i + 1 >= argc || !strncmp(argv[i + 1], "--", 2)) fail(EXIT_USAGE, "%s: its value is missing", text);
            set_option(&options[j], argv[++i]);
        }
    }
    return names;
}

/* ---- progress ---------------------------------------------------------------------------------------------------- */

static inline int progress_bar(void *user, const char *phase, size_t step, size_t steps, shs_wide error) {
    static const char filled[] = "##############################";
    const int length = COUNT_OF(filled) - 1;
    static const char *last_phase = NULL;
    static size_t last_step = 0;
    static double began = 0;
    size_t done = 0;
    double left;
    int width;
    (void)user;
    if (step < steps) done = step * (size_t)length / steps;
    else if (steps > 0) done = (size_t)length;
    if (phase != last_phase || step < last_step) began = wall_clock();
    last_phase = phase;
    last_step = step;
    if (step > 0 && step < steps) left = (wall_clock() - began) / (double)step * (double)(steps - step);
    else left = 0;
    width = fprintf(stderr, "\r%-20s [%-*.*s] %zu/%zu", phase, length, (int)done, filled, step, steps);
    if (left >= 1) width += fprintf(stderr, "  %.0f s left", left);
    if (error >= 0) width += fprintf(stderr, "  error %.5g", (double)error);
    /* Blanks cover what is left of a longer line. */
    if (width < progress_width) fprintf(stderr, "%*s", progress_width - width, "");
    if (width > progress_width) progress_width = width;
    return 0;
}

#include "devices.h"

/* ---- files ------------------------------------------------------------------------------------------------------- */

static inline const char *name_extension(const char *name) {
    const char *last = name_in_folder(name);
    const char *dot = strrchr(last, '.');
    if (dot && dot > last) return dot;
    return name + strlen(name);
}

static inline int has_extension(const char *name, const char *extension) {
    const char *own = name_extension(name);
    while (*own && lower_letter(*own) == *extension) {
        own++;
        extension++;
    }
    return !*own && !*extension;
}

/* The texts with a blank between them; the first may be NULL. */
static inline char *in_line(const char *before, const char *text) {
    char *start, *made;
    if (!before) return joined(text, "");
    start = joined(before, " ");
    made = joined(start, text);
    free(start);
    return made;
}

/* "dir/a.png" with "_noisy" and ".pgm" becomes "dir/a_noisy.pgm"; the caller frees it. */
static inline char *derived_name(const char *name, const char *suffix, const char *extension) {
    size_t stem = (size_t)(name_extension(name) - name);
    char *made = ALLOCATE(char, stem + strlen(suffix) + strlen(extension) + 1);
    memcpy(made, name, stem);
    strcpy(made + stem, suffix);
    strcat(made, extension);
    return made;
}

/* A file that the program reads or writes. If it does not exist yet, its folder and its name there identify it. */
typedef struct known_file {
    char *name, *full;
    int output;
    file_identity itself, folder;
} known_file;

static inline int same_file(const known_file *a, const known_file *b) {
    if (a->itself.exists && b->itself.exists) return same_identity(&a->itself, &b->itself);
    if (!a->folder.exists || !b->folder.exists) return same_name(a->full, b->full);
    return same_identity(&a->folder, &b->folder) && same_name(name_in_folder(a->full), name_in_folder(b->full));
}

/* The caller frees it. */
static inline char *folder_of(const char *full) {
    const size_t length = (size_t)(name_in_folder(full) - full);
    char *folder;
    if (length == 0) return joined(".", "");
    folder = joined(full, "");
    folder[length] = 0;
    return folder;
}

/* Identifies the file and its folder. Fails if an output cannot be written: if its folder does not exist, for one. */
static inline void find_file(known_file *f) {
    const char *name = f->name, *written_to = name;
    char *folder;
    if (!HAS_IDENTITIES) return;
    folder = folder_of(f->full);
    f->itself = identity_of(name);
    f->folder = identity_of(folder);
    if (f->output && !f->itself.exists && !f->folder.exists)
        fail(EXIT_ERROR, "%s: cannot write it: its folder: %s", name, strerror(errno));
    if (f->output && (!*name_in_folder(name) || f->itself.is_folder))
        fail(EXIT_ERROR, "%s: cannot write it: it is a folder", name);
    if (f->output && is_dangling_link(name)) fail(EXIT_ERROR, "%s: cannot write it: it is a symbolic link to nothing", name);
    if (!f->itself.exists) written_to = folder;
    if (f->output && !may_write(written_to)) fail(EXIT_ERROR, "%s: cannot write it: %s", name, strerror(errno));
    free(folder);
}

static known_file *known_files = NULL; /* those named so far */
static size_t known_count = 0;

/* Between two jobs of one program, of which the second may read what the first wrote. */
static inline void forget_files(void) {
    while (known_count > 0) {
        known_count--;
        free(known_files[known_count].name);
        free(known_files[known_count].full);
    }
}

/* Fails if an earlier argument names the same file, unless both files are only read. */
static inline void know_file(const char *name, int output) {
    known_file f = SHS_ZERO;
    size_t i;
    f.name = joined(name, "");
    f.full = full_name(name);
    f.output = output;
    find_file(&f);
    for (i = 0; i < known_count; i++) {
        const known_file *other = known_files + i;
        if (!(output || other->output) || !same_file(&f, other)) continue;
        if (output && other->output) fail(EXIT_USAGE, "%s: two outputs would go into this one file (%s)", name, other->name);
        if (output) fail(EXIT_USAGE, "%s: the output would replace the input %s", name, other->name);
        fail(EXIT_USAGE, "%s: the output would replace the input %s", other->name, name);
    }
    known_files = (known_file *)realloc(known_files, (known_count + 1) * sizeof *known_files);
    if (!known_files) fail(EXIT_ERROR, "%s: out of memory", name);
    known_files[known_count++] = f;
}

/* Every file is named by one of these before long work, and before anything is written. */
static inline void will_read(const char *name) { know_file(name, 0); }
static inline void will_write(const char *name) { know_file(name, 1); }

#ifdef EXAMPLE_POSIX
/* What the symbolic link `name` points to, as seen from here; NULL: it is no link. */
static inline char *link_target(const char *name) {
    const size_t most = 4096;
    char *to = ALLOCATE(char, most), *made;
    ssize_t length = readlink(name, to, most - 1);
    size_t folder = (size_t)(name_in_folder(name) - name);
    if (length < 0) {
        free(to);
        return NULL;
    }
    to[length] = 0;
    if (to[0] == '/') folder = 0;
    made = ALLOCATE(char, folder + (size_t)length + 1);
    memcpy(made, name, folder);
    strcpy(made + folder, to);
    free(to);
    return made;
}

/* The name of the file itself, behind symbolic links. */
static inline char *behind_links(const char *name) {
    char *target = joined(name, ""), *next;
    while ((next = link_target(target)) != NULL) {
        free(target);
        target = next;
    }
    return target;
}
#else
static inline char *behind_links(const char *name) { return joined(name, ""); }
#endif

/* The name of the file itself, behind symbolic links; NULL: a device or a pipe, which nothing may replace. */
static inline char *replaceable(const char *name) {
    const file_identity old = identity_of(name);
    if (!old.exists) return joined(name, "");
    if (!may_write(name)) fail(EXIT_ERROR, "%s: cannot write it: %s", name, strerror(errno));
    if (old.is_device || old.is_folder) return NULL;
    return behind_links(name);
}

/* The new file gets the permissions of the old one. */
static inline void keep_mode(FILE *file, const char *name) {
#ifdef EXAMPLE_POSIX
    struct stat old;
    if (!stat(name, &old) && fchmod(fileno(file), old.st_mode & 07777)) warn("%s: its permissions change", name);
#else
    (void)file;
    (void)name;
#endif
}

enum { MOST_BESIDE = 100 };

/* Creates NAME.part, or NAME.part2, NAME.part3 and so on where the names before belong to other files. Returns NULL where it
   cannot; otherwise *part is the name. */
static inline FILE *create_beside(const char *name, char **part) {
    char extension[20] = ".part";
    FILE *file = NULL;
    int number = 1;
    for (;;) {
        *part = joined(name, extension);
        file = create_new(*part);
        if (file) return file;
        free(*part);
        *part = NULL;
        if (errno != EEXIST || number == MOST_BESIDE) return NULL;
        number++;
        sprintf(extension, ".part%d", number);
    }
}

/* Writes into NAME.part until close_written: a full disk or a failure on the way leaves the old file as it was. */
static inline FILE *open_for_writing(const char *name) {
    char *target = replaceable(name), *part = NULL;
    FILE *file = NULL;
    unfinished *u;
#if defined(EXAMPLE_POSIX) && defined(SIGXFSZ)
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow fails to be written, which is reported */
#endif
    if (target) file = create_beside(target, &part);
    if (!file) { /* no room for another name in this folder */
        free(target);
        file = fopen(name, "wb");
        if (!file) fail(EXIT_ERROR, "%s: cannot write it: %s", name, strerror(errno));
        return file;
    }
    keep_mode(file, target);
    u = ALLOCATE(unfinished, 1);
    u->file = file;
    u->part = part;
    u->target = target;
    u->next = unfinished_files;
    unfinished_files = u;
    return file;
}

/* Gives a finished file its name. */
static inline void put_finished(unfinished **at, const char *name) {
    unfinished *u = *at;
    if (replace_file(u->part, u->target)) fail(EXIT_ERROR, "%s: cannot write it: %s", name, strerror(errno));
    *at = u->next;
    free(u->part);
    free(u->target);
    free(u);
}

/* A full disk shows itself at the latest here. */
static inline void close_written(FILE *file, const char *name) {
    unfinished **at = &unfinished_files;
    int bad = ferror(file);
    while (*at && (*at)->file != file) at = &(*at)->next;
    if (*at) (*at)->file = NULL;
    if (fclose(file) || bad) fail(EXIT_ERROR, "%s: writing it failed: %s", name, strerror(errno));
    if (*at) put_finished(at, name);
}

static inline FILE *open_for_reading(const char *name) {
    const file_identity id = identity_of(name);
    FILE *file;
    if (id.is_folder) fail(EXIT_ERROR, "%s: cannot read it: it is a folder", name);
    file = fopen(name, "rb");
    if (!file) fail(EXIT_ERROR, "%s: cannot read it: %s", name, strerror(errno));
    return file;
}

/* The whole file, which must not be larger than `most` bytes: a device such as /dev/zero has no end. */
static inline unsigned char *read_file(const char *name, size_t most, size_t *size) {
    FILE *file = open_for_reading(name);
    size_t room = 1 << 16, used = 0, got;
    unsigned char *data, *larger;
    data = ALLOCATE(unsigned char, room);
    while ((got = fread(data + used, 1, room - used, file)) > 0) {
        used += got;
        if (used > most) fail(EXIT_ERROR, "%s: too large: more than the %zu MB that are read of such a file", name, most >> 20);
        if (used < room) continue;
        if (room > SIZE_MAX / 2) larger = NULL;
        else larger = (unsigned char *)realloc(data, room *= 2);
        if (!larger) fail(EXIT_ERROR, "%s: too large for the memory", name);
        data = larger;
    }
    if (ferror(file)) fail(EXIT_ERROR, "%s: reading it failed: %s", name, strerror(errno));
    fclose(file);
    *size = used;
    return data;
}

#include "picture.h"

#endif /* EXAMPLE_H */
