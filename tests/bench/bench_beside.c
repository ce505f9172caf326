/* bench_beside.c - runs work in another process: this benchmark built with other flags, or a peer in Python. The process
   prints "ready", then answers every input line with the seconds of one more run. It ends at the end of its input. */
#include "bench.h"
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static double child_once(bench_work *w) {
    double seconds;
    if (fputc('\n', w->to) == EOF || fflush(w->to) || fscanf(w->from, "%lf", &seconds) != 1) {
        fprintf(stderr, "bench: what ran beside %s ended early\n", w->c->name);
        exit(1);
    }
    return seconds;
}

/* 0 where it does not start, or has not what it needs. */
static int open_child(bench_work *w, char *const argv[]) {
    char answer[16] = "";
    int down[2], up[2];
    if (pipe(down) || pipe(up)) return 0;
    fcntl(down[1], F_SETFD, FD_CLOEXEC); /* not for the next child, which would keep this one waiting */
    fcntl(up[0], F_SETFD, FD_CLOEXEC);
    fflush(stdout);
    w->child = (long)fork();
    if (w->child == 0) {
        dup2(down[0], 0);
        dup2(up[1], 1);
        close(down[0]);
        close(down[1]);
        close(up[0]);
        close(up[1]);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(down[0]);
    close(up[1]);
    w->to = fdopen(down[1], "w");
    w->from = fdopen(up[0], "r");
    w->once = child_once;
    if (w->child > 0 && w->to && w->from && fscanf(w->from, "%15s", answer) == 1 && !strcmp(answer, "ready")) return 1;
    bench_close_child(w);
    return 0;
}

void bench_close_child(bench_work *w) {
    if (w->to) fclose(w->to);
    if (w->from) fclose(w->from);
    if (w->child > 0) waitpid((pid_t)w->child, NULL, 0);
    w->child = 0;
    w->to = w->from = NULL;
}

/* The other side of it. */
void bench_serve(bench_work *w, double (*seconds)(bench_work *w)) {
    int c;
    printf("ready\n");
    fflush(stdout);
    while ((c = getchar()) != EOF)
        if (c == '\n') {
            printf("%.9g\n", seconds(w));
            fflush(stdout);
        }
}

/* Starts our side of the case as the program built for it. */
int open_build(bench_work *w) {
    char program[64], serve[] = "--serve", name[64], alone[] = "--one-thread";
    char *argv[5] = {NULL};
    argv[0] = program;
    argv[1] = serve;
    argv[2] = name;
    if (w->threads <= 1) argv[3] = alone;
    snprintf(program, sizeof program, "build/bench-%s", w->c->build);
    snprintf(name, sizeof name, "%s", w->c->name);
    return open_child(w, argv);
}

/* A peer in Python, on the same pixels, or the same dictionary and signals. */
int open_script(bench_work *w) {
    static const char *const types[SHS_TYPE_COUNT] = {"", "uint8", "int16", "uint16", "int32", "uint32", "float32", "float64"};
    const char *python = getenv("PYTHON");
    char words[9][64], *argv[10];
    size_t count, k;
    FILE *f = fopen("build/bench_cube.raw", "wb");
    bench_work own = *w;
    int here = 0;
    if (w->c->m) {
        bench_open_signals(&own);
        const size_t p = (size_t)w->c->p, n = (size_t)w->c->n;
        own.cube.pixels = own.held[1];
        own.cube.type = SHS_TYPE_F32;
        own.cube.lines = w->c->p;
        own.cube.samples = w->c->n;
        own.cube.bands = w->c->m;
        count = p * (size_t)w->c->m;
        here = f && fwrite(own.held[0], sizeof(float), p * n, f) > 0;
        free(own.held[0]);
        own.held[0] = own.held[1];
    } else {
        bench_open_cube(&own);
        count = (size_t)own.cube.lines * (size_t)own.cube.samples * (size_t)own.cube.bands;
    }
    if (!python) python = "/usr/bin/python3";
    snprintf(words[0], sizeof words[0], "%s", python);
    snprintf(words[1], sizeof words[1], "tests/bench/bench_peers.py");
    snprintf(words[2], sizeof words[2], "%s", w->c->script);
    snprintf(words[3], sizeof words[3], "build/bench_cube.raw");
    snprintf(words[4], sizeof words[4], "%s", types[own.cube.type]);
    snprintf(words[5], sizeof words[5], "%d", own.cube.lines);
    snprintf(words[6], sizeof words[6], "%d", own.cube.samples);
    snprintf(words[7], sizeof words[7], "%d", own.cube.bands);
    snprintf(words[8], sizeof words[8], "%d", w->threads);
    for (k = 0; k < 9; k++) argv[k] = words[k];
    argv[9] = NULL;
    if (f) here = fwrite(own.cube.pixels, shs_type_size(own.cube.type), count, f) == count;
    if (f) here &= fclose(f) == 0;
    free(own.held[0]);
    here = here && open_child(w, argv);
    remove("build/bench_cube.raw");
    return here;
}
