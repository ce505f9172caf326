/* fuzz_cubes.c - moments of cubes in every layout, streams that fail, maps into sinks of every type. */
#include "fuzz_cubes.h"

/* The moments are added to empty moments, and those are reduced over the ranks. */
static void reduce_copy(world *w, int bands, const shs_moments *a) {
    shs_moments b = SHS_ZERO;
    shs_status status;
    if (shs_moments_create(NULL, bands, &b) == SHS_OK) {
        must(shs_moments_merge(&b, a) == SHS_OK && b.count <= a->count && b.count >= a->count);
        status = shs_moments_reduce(&w->ctx, &b);
        must(status == SHS_OK || status == SHS_REDUCE_FAILED || status == SHS_PEER_FAILED || status == SHS_BAD_CONTEXT ||
             (status == SHS_NO_MEMORY && w->refused));
    }
    shs_moments_free(NULL, &b);
}

/* Mean and covariance, with the divisor N - 1 for `sample`. */
static void finish(const scene *s, int bands, int sample, const shs_moments *a) {
    shs_wide *mean = NEW(shs_wide, bands), *covariance = NEW(shs_wide, bands * bands);
    shs_status status = shs_moments_finish(a, sample, mean, covariance, bands);
    int faint = s->garbage || s->e.least < 1e-140, i; /* squares of such values may underflow */
    must(status == SHS_OK || (status == SHS_NO_PIXELS && a->count <= sample) || (status == SHS_OUT_OF_RANGE && faint));
    if (status == SHS_OK && s->e.finite && s->e.most < 1e15 && s->cube.type != SHS_TYPE_F64 && !s->garbage) {
        must(all_finite_wide(bands, mean) && all_finite_wide(bands * bands, covariance));
        for (i = 0; i < bands; i++) must(covariance[i * bands + i] >= -1e-6 * s->e.most * s->e.most);
    }
    free(mean);
    free(covariance);
}

static void moments_of_all(input *in, world *w, const scene *s, int bands, shs_precision precise) {
    shs_moments a = SHS_ZERO;
    shs_status status = shs_moments_create(&w->ctx, bands, &a);
    check_world(w, status, 1);
    if (status != SHS_OK) return;
    status = shs_moments_update(&w->ctx, &s->cube, precise, &a);
    check_status(status);
    must(status != SHS_READ_FAILED || s->read_failed);
    must(!s->read_failed || status != SHS_OK);
    must(status == SHS_OK || a.count <= 0);
    must(a.count >= 0 && a.count <= count_of(s->cube.lines, s->cube.samples));
    reduce_copy(w, bands, &a);
    finish(s, bands, byte(in) & 1, &a);
    shs_moments_free(&w->ctx, &a);
}

static void moments(input *in, world *w) {
    scene s;
    shs_precision precise = byte(in) % 4; /* the last is none */
    int bands;
    scene_of(in, &s);
    bands = shs_cube_bands(&s.cube);
    must(bands >= 0 && shs_moments_update_workspace(&w->ctx, &s.cube, precise) > 0);
    if (one_in(in, 16)) bands += within(in, -1, 1);
    moments_of_all(in, w, &s, bands, precise);
    must(w->bad || w->outstanding == 0);
    scene_free(&s);
}

static shs_wide *wide_drawn(input *in, size_t count) {
    shs_wide *x = NEW(shs_wide, count);
    (void)fill_wide(in, count, x);
    return x;
}

static void map_into(input *in, world *w) {
    scene s;
    shs_pixel_map map = SHS_ZERO;
    shs_precision precise = SHS_PRECISION_NEVER;
    shs_wide *matrix, *centre, *offset;
    shs_status status;
    int flags = byte(in), outputs = size_of(in, 5), bands;
    scene_of(in, &s);
    sink_of(in, &s, outputs);
    bands = shs_cube_bands(&s.cube) + one_in(in, 16);
    matrix = wide_drawn(in, count_of(bands, outputs));
    centre = wide_drawn(in, bands);
    offset = wide_drawn(in, positive(outputs));
    map.bands = bands;
    map.outputs = outputs;
    if ((flags & 248) != 248) map.matrix = matrix;
    if (flags & 1) map.centre = centre;
    if (flags & 2) map.offset = offset;
    if (flags & 4) precise = SHS_PRECISION_ALWAYS;
    must(shs_cube_map_workspace(&w->ctx, &s.cube, &map, precise, &s.sink) > 0);
    status = shs_cube_map(&w->ctx, &s.cube, &map, precise, &s.sink);
    check_scene(&s, w, status, 0);
    check_written(&s, status);
    free(matrix);
    free(centre);
    free(offset);
    scene_free(&s);
}

/* Sizes that are only looked at. */
static void queries(input *in, world *w) {
    static const unsigned char one = 1;
    shs_cube cube = SHS_ZERO;
    shs_pixel_map map = SHS_ZERO;
    shs_sink sink = SHS_ZERO;
    cube.pixels = &one;
    cube.type = within(in, 0, 8);
    cube.interleave = within(in, 0, 4);
    cube.lines = any_int(in);
    cube.samples = any_int(in);
    cube.bands = any_int(in);
    cube.block_lines = any_int(in);
    if (byte(in) & 1) {
        cube.sample_stride = PTRDIFF_MAX;
        cube.line_stride = any_int(in);
        cube.band_stride = any_int(in);
    }
    map.bands = any_int(in);
    map.outputs = any_int(in);
    must(shs_cube_bands(&cube) >= 0);
    must(shs_type_size(cube.type) <= 8);
    (void)shs_moments_update_workspace(&w->ctx, &cube, SHS_PRECISION_AUTO);
    (void)shs_cube_map_workspace(&w->ctx, &cube, &map, SHS_PRECISION_ALWAYS, &sink);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const errand_fn errands[FUZZ_ERRANDS] = {moments, moments, moments, map_into, map_into, map_into, map_into, queries};
    return run_errand(errands, data, size);
}
