/* calls.h - the library's calls on the pixels of a job: with its context, or on several devices, each of which has some of the
   lines. All of them pass through run_cube. */
#ifndef HYPERCUBE_CALLS
#define HYPERCUBE_CALLS

#include "select.h"

/* One call, as every rank makes it. */
typedef struct cube_call cube_call;
typedef shs_status (*cube_fn)(const shs_context *ctx, const ranks_lines *mine, const cube_call *call);
struct cube_call {
    cube_fn make;
    const shs_cube *cube;
    const shs_sink *sink; /* NULL: nothing is written */
    const void *options;  /* or what was fitted */
    void *result;         /* of all ranks alike: the first keeps it */
    const int *labels;    /* of rx by class, */
    int count;            /* and how many there are; of targets and endmembers likewise, of denoising how many components */
    const shs_wide *spectra;
};

static shs_status call_as_rank(const shs_context *ctx, void *arg) {
    const cube_call *call = (const cube_call *)arg;
    ranks_lines mine;
    if (ctx->ranks > 1) {
        ranks_lines_begin(ctx, example_ranks.shares, call->cube, call->sink, 0, &mine);
        return call->make(ctx, &mine, call);
    }
    memset(&mine, 0, sizeof mine);
    mine.cube = *call->cube;
    if (call->sink) mine.sink = *call->sink;
    return call->make(ctx, &mine, call);
}

/* What a sink stores where a value is missing. */
static double missing_of(const shs_sink *sink) {
    if (sink->has_nodata) return (double)sink->nodata;
    return NO_NUMBER;
}

/* Sinks of this program write to a file or a table, never to memory. */
static shs_status run_cube(const job *j, cube_call call) { return on_devices(&j->ctx, call_as_rank, &call); }

/* Returns non-zero on the rank that keeps the result: the first rank. */
static int is_first(const shs_context *ctx) { return ctx->ranks < 2 || ctx->rank == 0; }

static cube_call call_on(cube_fn make, const shs_cube *cube, const shs_sink *sink, const void *options, void *result) {
    cube_call call = SHS_ZERO;
    call.make = make;
    call.cube = cube;
    call.sink = sink;
    call.options = options;
    call.result = result;
    return call;
}

/* The number of a rank's first pixel. */
static size_t first_pixel(const ranks_lines *mine, const cube_call *call) {
    return elements(mine->first, call->cube->samples);
}

/* What the options of a call are. */
static const shs_pca_options *pca_options_of(const cube_call *call) { return call->options; }
static const shs_pca *pca_of(const cube_call *call) { return call->options; }
static const shs_ica_options *ica_options_of(const cube_call *call) { return call->options; }
static const shs_ica *ica_of(const cube_call *call) { return call->options; }

/* Where a call of RX stores the ranks of its covariances; NULL: the first rank of the devices does. */
static int *kept_ranks(const shs_context *ctx, const cube_call *call) {
    if (!is_first(ctx)) return NULL;
    return call->result;
}

/* ---- components -------------------------------------------------------------------------------------------------- */

/* Stores the fit of the first rank for the caller. Every other rank frees its fit. */
static shs_status keep_pca(const shs_context *ctx, shs_status status, shs_pca *made, const cube_call *call) {
    shs_pca *kept = call->result;
    if (status != SHS_OK) return status;
    if (is_first(ctx)) *kept = *made;
    else shs_pca_free(ctx, made);
    return SHS_OK;
}

static shs_status make_pca_fit(const shs_context *ctx, const ranks_lines *mine, const cube_call *call) {
    shs_pca pca = SHS_ZERO;
    return keep_pca(ctx, shs_pca_fit(ctx, &mine->cube, pca_options_of(call), &pca), &pca, call);
}

static shs_status make_mnf_fit(const shs_context *ctx, const ranks_lines *mine, const cube_call *call) {
    shs_pca pca = SHS_ZERO;
    return keep_pca(ctx, shs_mnf_fit(ctx, &mine->cube, pca_options_of(call), &pca), &pca, call);
}

static shs_status make_rx_fit(const shs_context *ctx, const ranks_lines *mine, const cube_call *call) {
    shs_pca pca = SHS_ZERO;
    return keep_pca(ctx, shs_rx_fit(ctx, &mine->cube, pca_options_of(call), &pca), &pca, call);
}

static shs_status make_pca_run(const shs_context *ctx, const ranks_lines *mine, const cube_call *call) {
    shs_pca pca = SHS_ZERO;
    const shs_pca_options *o = pca_options_of(call);
    return keep_pca(ctx, shs_pca_run(ctx, &mine->cube, o, &mine->sink, &pca), &pca, call);
}

static shs_status make_mnf_run(const shs_context *ctx, const ranks_lines *mine, const cube_call *call) {
    shs_pca pca = SHS_ZERO;
    const shs_pca_options *o = pca_options_of(call);
    return keep_pca(ctx, shs_mnf_run(ctx, &mine->cube, o, &mine->sink, &pca), &pca, call);
}

static shs_status make_pca_transform(const shs_context *ctx, const ranks_lines *mine, const cube_call *call) {
    return shs_pca_transform(ctx, pca_of(call), &mine->cube, &mine->sink);
}

static shs_status make_pca_inverse(const shs_context *ctx, const ranks_lines *mine, const cube_call *call) {
    return shs_pca_inverse(ctx, pca_of(call), &mine->cube, &mine->sink);
}

static shs_status make_pca_denoise(const shs_context *ctx, const ranks_lines *mine, const cube_call *call) {
    return shs_pca_denoise(ctx, pca_of(call), call->count, &mine->cube, &mine->sink);
}

static shs_status make_rx_transform(const shs_context *ctx, const ranks_lines *mine, const cube_call *call) {
    return shs_rx_transform(ctx, pca_of(call), &mine->cube, &mine->sink);
}

static shs_status make_rx(const shs_context *ctx, const ranks_lines *mine, const cube_call *call) {
    return shs_rx(ctx, &mine->cube, pca_options_of(call), &mine->sink, kept_ranks(ctx, call));
}

static shs_status make_rx_classes(const shs_context *ctx, const ranks_lines *mine, const cube_call *call) {
    const int *labels = call->labels + first_pixel(mine, call);
    int *ranks = kept_ranks(ctx, call);
    return shs_rx_classes(ctx, &mine->cube, labels, call->count, pca_options_of(call), &mine->sink, ranks);
}

/* ---- sources ----------------------------------------------------------------------------------------------------- */

static shs_status keep_ica(const shs_context *ctx, shs_status status, shs_ica *made, const cube_call *call) {
    shs_ica *kept = call->result;
    if (status != SHS_OK) return status;
    if (is_first(ctx)) *kept = *made;
    else shs_ica_free(ctx, made);
    return SHS_OK;
}

static shs_status make_ica_fit(const shs_context *ctx, const ranks_lines *mine, const cube_call *call) {
    shs_ica ica = SHS_ZERO;
    return keep_ica(ctx, shs_ica_fit(ctx, &mine->cube, ica_options_of(call), &ica), &ica, call);
}

static shs_status make_ica_run(const shs_context *ctx, const ranks_lines *mine, const cube_call *call) {
    shs_ica ica = SHS_ZERO;
    const shs_ica_options *o = ica_options_of(call);
    return keep_ica(ctx, shs_ica_run(ctx, &mine->cube, o, &mine->sink, &ica), &ica, call);
}

static shs_status make_ica_transform(const shs_context *ctx, const ranks_lines *mine, const cube_call *call) {
    return shs_ica_transform(ctx, ica_of(call), &mine->cube, &mine->sink);
}

static shs_status make_ica_inverse(const shs_context *ctx, const ranks_lines *mine, const cube_call *call) {
    return shs_ica_inverse(ctx, ica_of(call), &mine->cube, &mine->sink);
}

/* ---- spectra ----------------------------------------------------------------------------------------------------- */

/* The moments of a rank's pixels, then of all. */
static shs_status make_moments(const shs_context *ctx, const ranks_lines *mine, const cube_call *call) {
    shs_moments *kept = call->result, sums = SHS_ZERO;
    shs_status status = shs_moments_create(ctx, shs_cube_bands(&mine->cube), &sums);
    if (status != SHS_OK) return status;
    status = shs_moments_update(ctx, &mine->cube, SHS_PRECISION_ALWAYS, &sums);
    if (status == SHS_OK) status = shs_moments_reduce(ctx, &sums);
    if (status == SHS_OK && is_first(ctx)) *kept = sums;
    else shs_moments_free(ctx, &sums);
    return status;
}

static shs_status make_detect(const shs_context *ctx, const ranks_lines *mine, const cube_call *call) {
    const shs_detect_options *asked = call->options;
    shs_detect_options options = *asked;
    if (options.labels) options.labels += first_pixel(mine, call);
    return shs_detect(ctx, &mine->cube, call->count, call->spectra, shs_cube_bands(call->cube), &options, &mine->sink);
}

static shs_status make_unmix(const shs_context *ctx, const ranks_lines *mine, const cube_call *call) {
    const shs_constraint *constraint = call->options;
    return shs_unmix(ctx, &mine->cube, call->count, call->spectra, shs_cube_bands(call->cube), *constraint, &mine->sink);
}

/* The purity index. options: the threshold; spectra: the skewers; result: the counts of all pixels. */
static shs_status make_ppi(const shs_context *ctx, const ranks_lines *mine, const cube_call *call) {
    const shs_wide *threshold = call->options;
    int *counts = call->result;
    return shs_ppi(ctx, &mine->cube, call->count, call->spectra, *threshold, counts + first_pixel(mine, call));
}

/* Pixels are numbered among those of the whole cube. */
static shs_status make_endmembers(const shs_context *ctx, const ranks_lines *mine, const cube_call *call) {
    shs_endmembers *kept = call->result, found = SHS_ZERO;
    shs_status status = shs_endmembers_find(ctx, &mine->cube, call->options, &found);
    int k;
    if (status != SHS_OK) return status;
    if (!is_first(ctx)) {
        shs_endmembers_free(ctx, &found);
        return SHS_OK;
    }
    for (k = 0; k < found.count && ctx->ranks > 1; k++) {
        size_t first;
        (void)ranks_range_of(found.rank[k], ctx->ranks, example_ranks.shares, (size_t)call->cube->lines, &first);
        found.pixel[k] += first * (size_t)call->cube->samples;
        found.rank[k] = 0;
    }
    *kept = found;
    return SHS_OK;
}

#endif /* HYPERCUBE_CALLS */
