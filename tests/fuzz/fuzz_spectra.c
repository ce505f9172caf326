/* fuzz_spectra.c - targets, abundances and endmembers of small cubes, with every method. */
#include "fuzz_cubes.h"

enum { MOST = 8 };

/* What a sink got is complete where all went well; nothing is held. */
static void check_output(scene *s, world *w, shs_status status) {
    check_scene(s, w, status, 0);
    check_written(s, status);
    must(w->bad || w->outstanding == 0);
}

/* How far spectra are apart: at times less than they are long. */
static int spectra_leading_of(input *in, int flags) {
    if (flags & 4) return within(in, 0, MOST);
    return MOST;
}

static void detection(input *in, world *w) {
    scene s;
    shs_detect_options o = SHS_ZERO;
    const shs_detect_options *options = &o;
    shs_wide spectra[MOST * MOST], undesired[MOST * MOST];
    const shs_wide *given = spectra;
    shs_status status;
    int bare = one_in(in, 16), targets = within(in, 0, 4), flags = byte(in);
    o.method = within(in, 0, SHS_DETECTOR_COUNT);
    if (flags & 1) o.ridge = special_wide(in);
    (void)fill_wide(in, MOST * MOST, spectra);
    (void)fill_wide(in, MOST * MOST, undesired);
    if (flags & 2) {
        o.undesired = undesired;
        o.undesired_count = within(in, -1, 6);
    }
    if (flags == 255) given = NULL;
    if (bare) options = NULL;
    scene_of(in, &s);
    sink_of(in, &s, targets);
    if (shs_cube_bands(&s.cube) <= MOST) {
        int lds = spectra_leading_of(in, flags);
        status = shs_detect(&w->ctx, &s.cube, targets, given, lds, options, &s.sink);
        check_output(&s, w, status);
    }
    scene_free(&s);
}

static void abundances(input *in, world *w) {
    scene s;
    shs_wide E[MOST * MOST];
    const shs_wide *given = E;
    shs_status status;
    int count = within(in, 0, 5), constraint = within(in, 0, 4), flags = byte(in);
    (void)fill_wide(in, MOST * MOST, E);
    if (flags == 255) given = NULL;
    scene_of(in, &s);
    sink_of(in, &s, count);
    if (shs_cube_bands(&s.cube) <= MOST) {
        int lde = spectra_leading_of(in, flags);
        status = shs_unmix(&w->ctx, &s.cube, count, given, lde, constraint, &s.sink);
        check_output(&s, w, status);
    }
    scene_free(&s);
}

static void endmembers(input *in, world *w) {
    scene s;
    shs_endmember_options o = SHS_ZERO;
    const shs_endmember_options *options = &o;
    shs_endmembers e = SHS_ZERO, before = SHS_ZERO;
    shs_status status;
    size_t pixels;
    int k, held;
    o.method = within(in, 0, SHS_EXTRACTOR_COUNT);
    o.count = within(in, 0, 6);
    o.seed = byte(in);
    scene_of(in, &s);
    sink_of(in, &s, 1);
    if (one_in(in, 64)) options = NULL;
    status = shs_endmembers_find(&w->ctx, &s.cube, options, &e);
    held = e.block != NULL;
    check_scene(&s, w, status, held);
    if (status == SHS_OK) must(held);
    else must(memcmp(&e, &before, sizeof e) == 0);
    pixels = count_of(s.cube.lines, s.cube.samples);
    for (k = 0; k < e.count; k++) must(e.pixel[k] < pixels && e.rank[k] == 0);
    must(all_finite_wide(count_of(e.bands, e.count), e.spectra));
    shs_endmembers_free(&w->ctx, &e);
    must(memcmp(&e, &before, sizeof e) == 0);
    must(w->bad || w->outstanding == 0);
    scene_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const errand_fn errands[FUZZ_ERRANDS] = {detection,  detection,  detection,  abundances,
                                                    abundances, endmembers, endmembers, endmembers};
    return run_errand(errands, data, size);
}
