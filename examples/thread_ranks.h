/* thread_ranks.h - runs several devices at once: each rank is a thread of one program with a context and an engine of its
   own.

   The calls of sparsehs.h that learn or fit work over ranks: each rank passes its own signals or lines, and reduce_fn of the
   context adds up. ranks_run starts a thread for each context, and reduces in the order of the ranks:

       static shs_status learn(const shs_context *ctx, void *arg) { ... the calls of one rank ... }

       shs_context each[2] = {SHS_ZERO, SHS_ZERO};
       each[0].engine = shs_cl_engine(first);
       each[1].engine = shs_cl_engine(second);
       status = ranks_run(2, each, learn, &work);

   A rank takes its range of the caller's arrays: ranks_range, ranks_codes and ranks_lines say which. Results have the same bits
   in every run, and are those of as many ranks of MPI that reduce in this order. Beside sparsehs.h it needs threads: POSIX's,
   Windows', or those of C11. Link with -pthread where the C library asks for that (glibc before 2.34, without -fopenmp). */
#ifndef THREAD_RANKS_H
#define THREAD_RANKS_H

#include <stdlib.h>
#include <string.h>

#include "../sparsehs.h"

#if defined(THREAD_RANKS_C11)
#elif defined(__unix__) || defined(__APPLE__)
#define THREAD_RANKS_POSIX
#elif defined(_WIN32)
#define THREAD_RANKS_WINDOWS
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112 && !defined(__STDC_NO_THREADS__)
#define THREAD_RANKS_C11
#endif

enum { RANKS_MOST = 16, RANKS_STACK = 8 << 20 }; /* some drivers compile kernels on the stack of the calling thread */

#define RANKS_UNUSED(parameter) ((void)(parameter))

/* ---- threads of this system -------------------------------------------------------------------------------------- */

#if defined(THREAD_RANKS_POSIX)
#include <pthread.h>
typedef pthread_t ranks_thread;
typedef pthread_mutex_t ranks_mutex;
typedef pthread_cond_t ranks_signal;
typedef void *ranks_result;
#define RANKS_CALL
static inline int ranks_mutex_init(ranks_mutex *m) { return pthread_mutex_init(m, NULL); }
static inline void ranks_mutex_lock(ranks_mutex *m) { pthread_mutex_lock(m); }
static inline void ranks_mutex_unlock(ranks_mutex *m) { pthread_mutex_unlock(m); }
static inline void ranks_mutex_destroy(ranks_mutex *m) { pthread_mutex_destroy(m); }
static inline int ranks_signal_init(ranks_signal *s) { return pthread_cond_init(s, NULL); }
static inline void ranks_signal_wait(ranks_signal *s, ranks_mutex *m) { pthread_cond_wait(s, m); }
static inline void ranks_signal_all(ranks_signal *s) { pthread_cond_broadcast(s); }
static inline void ranks_signal_destroy(ranks_signal *s) { pthread_cond_destroy(s); }
static inline int ranks_thread_start(ranks_thread *thread, ranks_result (*start)(void *arg), void *arg) {
    pthread_attr_t how;
    int failed = pthread_attr_init(&how);
    if (failed) return failed;
    failed = pthread_attr_setstacksize(&how, RANKS_STACK);
    if (!failed) failed = pthread_create(thread, &how, start, arg);
    pthread_attr_destroy(&how);
    return failed;
}
static inline void ranks_thread_join(ranks_thread thread) { pthread_join(thread, NULL); }

#elif defined(THREAD_RANKS_WINDOWS)
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <process.h>
#include <windows.h>
typedef HANDLE ranks_thread;
typedef SRWLOCK ranks_mutex;
typedef CONDITION_VARIABLE ranks_signal;
typedef unsigned ranks_result;
#define RANKS_CALL __stdcall
static inline int ranks_mutex_init(ranks_mutex *m) {
    InitializeSRWLock(m);
    return 0;
}
static inline void ranks_mutex_lock(ranks_mutex *m) { AcquireSRWLockExclusive(m); }
static inline void ranks_mutex_unlock(ranks_mutex *m) { ReleaseSRWLockExclusive(m); }
static inline void ranks_mutex_destroy(ranks_mutex *m) { RANKS_UNUSED(m); }
static inline int ranks_signal_init(ranks_signal *s) {
    InitializeConditionVariable(s);
    return 0;
}
static inline void ranks_signal_wait(ranks_signal *s, ranks_mutex *m) { SleepConditionVariableSRW(s, m, INFINITE, 0); }
static inline void ranks_signal_all(ranks_signal *s) { WakeAllConditionVariable(s); }
static inline void ranks_signal_destroy(ranks_signal *s) { RANKS_UNUSED(s); }
static inline int ranks_thread_start(ranks_thread *thread, ranks_result(RANKS_CALL *start)(void *arg), void *arg) {
    *thread = (HANDLE)_beginthreadex(NULL, RANKS_STACK, start, arg, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    return *thread == NULL;
}
static inline void ranks_thread_join(ranks_thread thread) {
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
}

#elif defined(THREAD_RANKS_C11)
#include <threads.h>
typedef thrd_t ranks_thread;
typedef mtx_t ranks_mutex;
typedef cnd_t ranks_signal;
typedef int ranks_result;
#define RANKS_CALL
static inline int ranks_mutex_init(ranks_mutex *m) { return mtx_init(m, mtx_plain) != thrd_success; }
static inline void ranks_mutex_lock(ranks_mutex *m) { mtx_lock(m); }
static inline void ranks_mutex_unlock(ranks_mutex *m) { mtx_unlock(m); }
static inline void ranks_mutex_destroy(ranks_mutex *m) { mtx_destroy(m); }
static inline int ranks_signal_init(ranks_signal *s) { return cnd_init(s) != thrd_success; }
static inline void ranks_signal_wait(ranks_signal *s, ranks_mutex *m) { cnd_wait(s, m); }
static inline void ranks_signal_all(ranks_signal *s) { cnd_broadcast(s); }
static inline void ranks_signal_destroy(ranks_signal *s) { cnd_destroy(s); }
static inline int ranks_thread_start(ranks_thread *thread, ranks_result (*start)(void *arg), void *arg) {
    return thrd_create(thread, start, arg) != thrd_success;
}
static inline void ranks_thread_join(ranks_thread thread) { thrd_join(thread, NULL); }

#else /* none: there is one rank */
typedef int ranks_thread;
typedef int ranks_mutex;
typedef int ranks_signal;
typedef int ranks_result;
#define RANKS_CALL
static inline int ranks_mutex_init(ranks_mutex *m) { return *m = 0; }
static inline void ranks_mutex_lock(ranks_mutex *m) { RANKS_UNUSED(m); }
static inline void ranks_mutex_unlock(ranks_mutex *m) { RANKS_UNUSED(m); }
static inline void ranks_mutex_destroy(ranks_mutex *m) { RANKS_UNUSED(m); }
static inline int ranks_signal_init(ranks_signal *s) { return *s = 0; }
static inline void ranks_signal_wait(ranks_signal *s, ranks_mutex *m) {
    RANKS_UNUSED(s);
    RANKS_UNUSED(m);
}
static inline void ranks_signal_all(ranks_signal *s) { RANKS_UNUSED(s); }
static inline void ranks_signal_destroy(ranks_signal *s) { RANKS_UNUSED(s); }
static inline int ranks_thread_start(ranks_thread *thread, ranks_result (*start)(void *arg), void *arg) {
    RANKS_UNUSED(thread);
    RANKS_UNUSED(start);
    RANKS_UNUSED(arg);
    return 1;
}
static inline void ranks_thread_join(ranks_thread thread) { RANKS_UNUSED(thread); }
#endif

/* ---- the ranks of one run ---------------------------------------------------------------------------------------- */

/* The work of one rank: ctx->rank is its number, ctx->ranks the number of ranks. */
typedef shs_status (*ranks_fn)(const shs_context *ctx, void *arg);

typedef struct ranks_team {
    ranks_mutex lock;   /* of what stands here, */
    ranks_mutex shared; /* and of what ranks share: ranks_lock */
    ranks_signal turn;
    int ranks;
    int started; /* 0: wait; 1: all threads have started, begin; -1: a thread could not start, return */
    int arrived; /* at the barrier */
    int turns;   /* how often all have met there */
    int left;    /* ranks that have returned */
    int broken;  /* non-zero: every reduction fails from now on */
    shs_wide *values[RANKS_MOST];
    size_t counts[RANKS_MOST];
    shs_reduce_op ops[RANKS_MOST];
} ranks_team;

typedef struct ranks_member {
    ranks_team *team;
    shs_context ctx;
    ranks_fn body;
    void *arg;
    shs_status status;
    ranks_thread thread;
} ranks_member;

/* Waits until all ranks are here. Non-zero: one of them will not come. The lock is held. */
static inline int ranks_meet(ranks_team *t) {
    const int turn = t->turns;
    if (t->left > 0) t->broken = 1;
    t->arrived++;
    if (t->arrived == t->ranks && !t->broken) {
        t->arrived = 0;
        t->turns++;
    }
    if (turn != t->turns || t->broken) ranks_signal_all(&t->turn);
    while (turn == t->turns && !t->broken) ranks_signal_wait(&t->turn, &t->lock);
    return turn == t->turns;
}

/* Two ranks' values as one. */
static inline shs_wide ranks_reduced(shs_wide a, shs_wide b, shs_reduce_op op) {
    if (op == SHS_REDUCE_SUM) return a + b;
    if (op == SHS_REDUCE_MIN) return b < a ? b : a;
    return b > a ? b : a;
}

/* Combines a rank's part of the values, in the order of the ranks, and gives it to all of them. */
static inline void ranks_combine(const ranks_team *t, int rank, size_t count, shs_reduce_op op) {
    const size_t ranks = (size_t)t->ranks, before = (size_t)rank, end = count * (before + 1) / ranks;
    size_t i;
    int r;
    for (i = count * before / ranks; i < end; i++) {
        shs_wide all = t->values[0][i];
        for (r = 1; r < t->ranks; r++) all = ranks_reduced(all, t->values[r][i], op);
        for (r = 0; r < t->ranks; r++) t->values[r][i] = all;
    }
}

/* reduce_fn of the contexts. It fails on every rank where ranks reduce different things, or one has returned. */
static inline int ranks_reduce(void *user, shs_wide *values, size_t count, shs_reduce_op op) {
    ranks_member *me = (ranks_member *)user;
    ranks_team *t = me->team;
    int r, failed, same = 1;
    ranks_mutex_lock(&t->lock);
    t->values[me->ctx.rank] = values;
    t->counts[me->ctx.rank] = count;
    t->ops[me->ctx.rank] = op;
    failed = ranks_meet(t);
    ranks_mutex_unlock(&t->lock);
    if (failed) return 1;
    for (r = 0; r < t->ranks; r++) same &= t->counts[r] == count && t->ops[r] == op;
    if (same) ranks_combine(t, me->ctx.rank, count, op);
    ranks_mutex_lock(&t->lock);
    failed = ranks_meet(t);
    ranks_mutex_unlock(&t->lock);
    return failed || !same;
}

/* Others that wait for this rank wait no longer. */
static inline void ranks_leave(ranks_team *t) {
    ranks_mutex_lock(&t->lock);
    t->left++;
    if (t->arrived > 0) t->broken = 1;
    ranks_signal_all(&t->turn);
    ranks_mutex_unlock(&t->lock);
}

static inline ranks_result RANKS_CALL ranks_thread_body(void *arg) {
    ranks_member *me = (ranks_member *)arg;
    ranks_team *t = me->team;
    int started;
    ranks_mutex_lock(&t->lock);
    while (!t->started) ranks_signal_wait(&t->turn, &t->lock);
    started = t->started > 0;
    ranks_mutex_unlock(&t->lock);
    if (started) me->status = me->body(&me->ctx, me->arg);
    if (started) ranks_leave(t);
    return 0;
}

/* The first cause if ranks have failed. The statuses of the other ranks follow from it. */
static inline shs_status ranks_status(const ranks_member *members, int ranks) {
    shs_status status = SHS_OK;
    int r;
    for (r = 0; r < ranks; r++) {
        const shs_status mine = members[r].status;
        const int follows = mine == SHS_PEER_FAILED || mine == SHS_REDUCE_FAILED;
        if (mine == SHS_OK) continue;
        if (!follows) return mine;
        if (status == SHS_OK || status == SHS_PEER_FAILED) status = mine;
    }
    return status;
}

/* Runs body once for each of the `ranks` contexts, at the same time: the first in the thread that calls, so that its callbacks
   are called there, the others in threads of their own. rank, ranks and reduce_* of copies of the contexts are set here; what
   contexts have in common (an allocator) must allow several threads. Returns when all have: SHS_OK, or the status of the first
   rank that failed by itself. If a rank returns while other ranks reduce, the calls of the other ranks return
   SHS_REDUCE_FAILED instead of waiting for ever. SHS_NO_MEMORY: a thread could not start, or no memory is left for the list
   of ranks. SHS_UNSUPPORTED: this system has no threads. */
static inline shs_status ranks_run(int ranks, const shs_context *contexts, ranks_fn body, void *arg) {
    ranks_team t;
    ranks_member *members;
    shs_status status = SHS_NO_MEMORY;
    int r, begun = 1;
    if (ranks < 1 || ranks > RANKS_MOST) return SHS_BAD_CONTEXT;
    memset(&t, 0, sizeof t);
    members = (ranks_member *)calloc((size_t)ranks, sizeof *members);
    if (!members) return SHS_NO_MEMORY;
    if (ranks_mutex_init(&t.lock)) goto no_lock;
    if (ranks_mutex_init(&t.shared)) goto no_shared;
    if (ranks_signal_init(&t.turn)) goto no_signal;
    t.ranks = ranks;
    for (r = 0; r < ranks; r++) {
        members[r].team = &t;
        members[r].body = body;
        members[r].arg = arg;
        members[r].ctx = contexts[r];
        members[r].ctx.rank = r;
        members[r].ctx.ranks = ranks;
        if (ranks > 1) {
            members[r].ctx.reduce_fn = ranks_reduce;
            members[r].ctx.reduce_user = members + r;
        }
    }
    while (begun < ranks && !ranks_thread_start(&members[begun].thread, ranks_thread_body, members + begun)) begun++;
    ranks_mutex_lock(&t.lock);
    t.started = -1;
    if (begun == ranks) t.started = 1;
    ranks_signal_all(&t.turn);
    ranks_mutex_unlock(&t.lock);
    if (begun == ranks) members[0].status = body(&members[0].ctx, arg);
    if (begun == ranks) ranks_leave(&t);
    for (r = 1; r < begun; r++) ranks_thread_join(members[r].thread);
    if (begun == ranks) status = ranks_status(members, ranks);
#if !defined(THREAD_RANKS_POSIX) && !defined(THREAD_RANKS_WINDOWS) && !defined(THREAD_RANKS_C11)
    if (begun < ranks) status = SHS_UNSUPPORTED;
#endif
    ranks_signal_destroy(&t.turn);
no_signal:
    ranks_mutex_destroy(&t.shared);
no_shared:
    ranks_mutex_destroy(&t.lock);
no_lock:
    free(members);
    return status;
}

/* ---- what a rank takes of the caller's arrays -------------------------------------------------------------------- */

/* The sum of the shares of the first `count` ranks. */
static inline double ranks_shares(const double *shares, int count) {
    double sum = 0;
    int r;
    if (!shares) return count;
    for (r = 0; r < count; r++) sum += shares[r];
    return sum;
}

/* Items *first .. *first + result - 1 of `all` are rank number `rank`'s. shares: in what proportion they are divided, none
   negative and not all 0; NULL: evenly. */
static inline size_t ranks_range_of(int rank, int ranks, const double *shares, size_t all, size_t *first) {
    const double items = (double)all, sum = ranks_shares(shares, ranks);
    size_t end = all;
    *first = 0;
    if (rank > 0) *first = (size_t)(items * ranks_shares(shares, rank) / sum);
    if (rank < ranks - 1) end = (size_t)(items * ranks_shares(shares, rank + 1) / sum);
    if (end > *first) return end - *first;
    return 0;
}

/* This rank's. A context that ranks_run did not make gets the whole range. */
static inline size_t ranks_range(const shs_context *ctx, const double *shares, size_t all, size_t *first) {
    *first = 0;
    if (!ctx || ctx->ranks < 2) return all;
    return ranks_range_of(ctx->rank, ctx->ranks, shares, all, first);
}

/* The codes of m signals from `first` on, in place. */
static inline shs_codes ranks_codes(const shs_codes *codes, size_t first, size_t m) {
    const size_t stride = (size_t)codes->stride;
    shs_codes mine = *codes;
    mine.m = m;
    mine.used += first;
    mine.atoms += first * stride;
    mine.coefs += first * stride;
    mine.block = NULL;
    return mine;
}

/* Between these one rank at a time uses what they share. Do not call the library in between. */
static inline void ranks_lock(const shs_context *ctx) {
    if (ctx->reduce_fn == ranks_reduce) ranks_mutex_lock(&((ranks_member *)ctx->reduce_user)->team->shared);
}
static inline void ranks_unlock(const shs_context *ctx) {
    if (ctx->reduce_fn == ranks_reduce) ranks_mutex_unlock(&((ranks_member *)ctx->reduce_user)->team->shared);
}

/* A rank's lines of a cube, and of the sink that they go to. */
typedef struct ranks_lines {
    shs_cube cube; /* what the rank passes to the library; no lines where there are fewer than ranks */
    shs_sink sink;
    int first; /* the number of its first line */
    const shs_context *ctx;
    const shs_cube *all; /* the caller's */
    const shs_sink *into;
    int outputs;
} ranks_lines;

static inline int ranks_read(void *user, int first, int lines, void *block) {
    const ranks_lines *mine = (const ranks_lines *)user;
    int failed;
    ranks_lock(mine->ctx);
    failed = mine->all->read_fn(mine->all->read_user, mine->first + first, lines, block);
    ranks_unlock(mine->ctx);
    return failed;
}

static inline int ranks_mark(void *user, int first, int lines, unsigned char *marks) {
    const ranks_lines *mine = (const ranks_lines *)user;
    int failed;
    ranks_lock(mine->ctx);
    failed = mine->all->mask_fn(mine->all->mask_user, mine->first + first, lines, marks);
    ranks_unlock(mine->ctx);
    return failed;
}

static inline int ranks_write(void *user, int first, int lines, const void *block) {
    const ranks_lines *mine = (const ranks_lines *)user;
    int failed;
    ranks_lock(mine->ctx);
    failed = mine->into->write_fn(mine->into->write_user, mine->first + first, lines, block);
    ranks_unlock(mine->ctx);
    return failed;
}

/* A part of the lines of a BSQ sink in memory. */
static inline int ranks_write_bands(void *user, int first, int lines, const void *block) {
    const ranks_lines *mine = (const ranks_lines *)user;
    const size_t line = (size_t)mine->all->samples * shs_type_size(mine->into->type);
    const size_t rows = line * (size_t)lines, band = line * (size_t)mine->all->lines;
    const unsigned char *from = (const unsigned char *)block;
    unsigned char *to = (unsigned char *)mine->into->pixels + (size_t)(mine->first + first) * line;
    int b;
    for (b = 0; b < mine->outputs; b++) {
        memcpy(to, from, rows);
        if (b + 1 < mine->outputs) to += band;
        from += rows;
    }
    return 0;
}

static inline void ranks_lines_of_cube(ranks_lines *mine, int lines) {
    const shs_cube *all = mine->all;
    const ptrdiff_t samples = all->samples, bands = all->bands;
    shs_cube *cube = &mine->cube;
    *cube = *all;
    cube->lines = lines;
    if (lines == 0) {
        cube->pixels = NULL;
        cube->read_fn = NULL;
        cube->mask = NULL;
        cube->mask_fn = NULL;
        cube->sample_stride = cube->line_stride = cube->band_stride = 0;
        return;
    }
    if (all->mask) cube->mask = all->mask + (size_t)mine->first * (size_t)samples;
    if (all->mask_fn) {
        cube->mask_fn = ranks_mark;
        cube->mask_user = mine;
    }
    if (!all->pixels) {
        cube->read_fn = ranks_read;
        cube->read_user = mine;
        return;
    }
    if (!all->sample_stride && !all->line_stride && !all->band_stride) {
        cube->sample_stride = 1;
        cube->line_stride = samples * bands;
        cube->band_stride = 1;
        if (all->interleave == SHS_INTERLEAVE_BIP) cube->sample_stride = bands;
        if (all->interleave == SHS_INTERLEAVE_BIL) cube->band_stride = samples;
        if (all->interleave == SHS_INTERLEAVE_BSQ) {
            cube->line_stride = samples;
            cube->band_stride = samples * all->lines;
        }
    }
    cube->pixels =
        (const unsigned char *)all->pixels + mine->first * cube->line_stride * (ptrdiff_t)shs_type_size(all->type);
}

static inline void ranks_lines_of_sink(ranks_lines *mine) {
    const shs_sink *into = mine->into;
    const size_t line = (size_t)mine->all->samples * (size_t)mine->outputs * shs_type_size(into->type);
    mine->sink = *into;
    if (!into->pixels) {
        mine->sink.write_fn = ranks_write;
        mine->sink.write_user = mine;
    } else if (into->interleave == SHS_INTERLEAVE_BSQ && mine->outputs > 1 && mine->cube.lines < mine->all->lines) {
        mine->sink.pixels = NULL;
        mine->sink.write_fn = ranks_write_bands;
        mine->sink.write_user = mine;
    } else mine->sink.pixels = (unsigned char *)into->pixels + (size_t)mine->first * line;
}

/* This rank's lines of the cube, and where its `outputs` bands go in the sink, which may be NULL. *mine stays where it is until
   the call is done. The caller's read_fn, mask_fn and write_fn are called by one rank at a time, with lines of any rank next. */
static inline void ranks_lines_begin(const shs_context *ctx, const double *shares, const shs_cube *cube, const shs_sink *sink,
                                     int outputs, ranks_lines *mine) {
    size_t first, lines = ranks_range(ctx, shares, (size_t)cube->lines, &first);
    memset(mine, 0, sizeof *mine);
    mine->ctx = ctx;
    mine->all = cube;
    mine->into = sink;
    mine->first = (int)first;
    mine->outputs = outputs;
    ranks_lines_of_cube(mine, (int)lines);
    if (sink) ranks_lines_of_sink(mine);
}

#endif /* THREAD_RANKS_H */
