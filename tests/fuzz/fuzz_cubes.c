/* fuzz_cubes.c - moments of cubes in every layout, streams that fail, maps into sinks of every type. */
#include "fuzz_cubes.h"

/* Moments once of all, and once more: on failure they are as before. */
static void moments(input *in, world *w) {
    scene s;
    shs_moments a = SHS_ZERO, b = SHS_ZERO;
    shs_status status;
    shs_precision precise = (shs_precision)(byte(in) % 4); /* the last is none */
    int sample, bands;
    scene_of(in, &s);
    bands = shs_cube_bands(&s.cube);
    must(bands >= 0 && shs_moments_update_workspace(&w->ctx, &s.cube, precise) > 0);
    if (one_in(in, 16)) bands += within(in, -1, 1);
    status = shs_moments_create(&w->ctx, bands, &a);
    check_world(w, status, 1);
    if (status == SHS_OK) {
        shs_wide *mean = NEW(shs_wide, bands), *covariance = NEW(shs_wide, bands *bands), count;
        status = shs_moments_update(&w->ctx, &s.cube, precise, &a);
        must(status >= SHS_OK && (int)status < STATUSES);
        must(status != SHS_READ_FAILED || s.read_failed);
        must(!s.read_failed || status != SHS_OK);
        count = a.count;
        must(status == SHS_OK || count <= 0);
        must(count >= 0 && count <= (shs_wide)count_of(s.cube.lines, s.cube.samples));
        if (shs_moments_create(NULL, bands, &b) == SHS_OK) {
            must(shs_moments_merge(&b, &a) == SHS_OK && b.count <= count && b.count >= count);
            status = shs_moments_reduce(&w->ctx, &b);
            must(status == SHS_OK || status == SHS_REDUCE_FAILED || status == SHS_PEER_FAILED || status == SHS_BAD_CONTEXT ||
                 (status == SHS_NO_MEMORY && w->refused));
        }
        sample = byte(in) & 1;
        status = shs_moments_finish(&a, (shs_divisor)sample, mean, covariance, bands);
        must(status == SHS_OK || (status == SHS_NO_PIXELS && count <= sample));
        if (status == SHS_OK && s.e.finite && s.e.most < 1e15 && s.cube.type != SHS_TYPE_F64 && !s.garbage) {
            int i;
            must(all_finite_wide((size_t)bands, mean) && all_finite_wide((size_t)(bands * bands), covariance));
            for (i = 0; i < bands; i++) must(covariance[i * bands + i] >= -1e-6 * s.e.most * s.e.most);
        }
        shs_moments_free(NULL, &b), shs_moments_free(&w->ctx, &a);
        free(mean), free(covariance);
    }
    must(w->bad || w->outstanding == 0);
    scene_free(&s);
}

static void map_into(input *in, world *w) {
    scene s;
    shs_pixel_map map = SHS_ZERO;
    shs_wide *matrix, *centre, *offset;
    shs_status status;
    int flags = byte(in), outputs = size_of(in, 5), bands;
    scene_of(in, &s), sink_of(in, &s, outputs);
    bands = shs_cube_bands(&s.cube) + (one_in(in, 16) ? 1 : 0);
    matrix = NEW(shs_wide, count_of(bands, outputs)), centre = NEW(shs_wide, bands), offset = NEW(shs_wide, positive(outputs));
    fill_wide(in, count_of(bands, outputs), matrix), fill_wide(in, (size_t)bands, centre);
    fill_wide(in, (size_t)positive(outputs), offset);
    map.bands = bands, map.outputs = outputs, map.matrix = (flags & 248) == 248 ? NULL : matrix;
    map.centre = (flags & 1) ? centre : NULL, map.offset = (flags & 2) ? offset : NULL;
    must(shs_cube_map_workspace(&w->ctx, &s.cube, &map, flags & 4 ? SHS_PRECISION_ALWAYS : SHS_PRECISION_NEVER, &s.sink) > 0);
    status = shs_cube_map(&w->ctx, &s.cube, &map, flags & 4 ? SHS_PRECISION_ALWAYS : SHS_PRECISION_NEVER, &s.sink);
    check_scene(&s, w, status, 0);
    must(!s.sink.write_fn || status != SHS_OK || s.written == s.cube.lines);
    free(matrix), free(centre), free(offset), scene_free(&s);
}

/* Sizes that are only looked at. */
static void queries(input *in, world *w) {
    static const unsigned char one = 1;
    shs_cube cube = SHS_ZERO;
    shs_pixel_map map = SHS_ZERO;
    shs_sink sink = SHS_ZERO;
    cube.pixels = &one, cube.type = (shs_type)within(in, 0, 8), cube.interleave = (shs_interleave)within(in, 0, 4);
    cube.lines = any_int(in), cube.samples = any_int(in), cube.bands = any_int(in), cube.block_lines = any_int(in);
    if (byte(in) & 1) cube.sample_stride = PTRDIFF_MAX, cube.line_stride = any_int(in), cube.band_stride = any_int(in);
    map.bands = any_int(in), map.outputs = any_int(in);
    must(shs_cube_bands(&cube) >= 0);
    must(shs_type_size(cube.type) <= 8);
    (void)shs_moments_update_workspace(&w->ctx, &cube, SHS_PRECISION_AUTO);
    (void)shs_cube_map_workspace(&w->ctx, &cube, &map, SHS_PRECISION_ALWAYS, &sink);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const errand_fn errands[FUZZ_ERRANDS] = {moments, moments, moments, map_into, map_into, map_into, map_into, queries};
    return run_errand(errands, data, size);
}
