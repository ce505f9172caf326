/* fuzz_spectra.c - targets, abundances and endmembers of small cubes, with every method. */
#include "fuzz_cubes.h"

enum { MOST = 8 };

/* What a sink got is complete where all went well; nothing is held. */
static void check_output(scene *s, world *w, shs_status status) {
    check_scene(s, w, status, 0);
    must(!s->sink.write_fn || status != SHS_OK || s->written == s->cube.lines);
    must(w->bad || w->outstanding == 0);
    scene_free(s);
}

static void detection(input *in, world *w) {
    scene s;
    shs_detect_options o;
    shs_wide spectra[MOST * MOST], undesired[MOST * MOST];
    shs_status status;
    int bare = one_in(in, 16), targets = within(in, 0, 4), flags = byte(in);
    memset(&o, 0, sizeof o);
    o.method = (shs_detector)within(in, 0, SHS_DETECTOR_COUNT);
    o.ridge = (flags & 1) ? (shs_wide)special(byte(in)) : 0;
    (void)fill_wide(in, MOST * MOST, spectra), (void)fill_wide(in, MOST * MOST, undesired);
    if (flags & 2) o.undesired = undesired, o.undesired_count = within(in, -1, 6);
    scene_of(in, &s), sink_of(in, &s, targets);
    if (shs_cube_bands(&s.cube) <= MOST) {
        int lds = flags & 4 ? within(in, 0, MOST) : MOST;
        status = shs_detect(&w->ctx, &s.cube, targets, flags == 255 ? NULL : spectra, lds, bare ? NULL : &o, &s.sink);
        check_output(&s, w, status);
    } else scene_free(&s);
}

static void abundances(input *in, world *w) {
    scene s;
    shs_wide E[MOST * MOST];
    shs_status status;
    int count = within(in, 0, 5), constraint = within(in, 0, 4), flags = byte(in);
    (void)fill_wide(in, MOST * MOST, E);
    scene_of(in, &s), sink_of(in, &s, count);
    if (shs_cube_bands(&s.cube) <= MOST) {
        int lde = flags & 4 ? within(in, 0, MOST) : MOST;
        status = shs_unmix(&w->ctx, &s.cube, count, flags == 255 ? NULL : E, lde, (shs_constraint)constraint, &s.sink);
        check_output(&s, w, status);
    } else scene_free(&s);
}

static void endmembers(input *in, world *w) {
    scene s;
    shs_endmember_options o;
    shs_endmembers e = SHS_ZERO, before = SHS_ZERO;
    shs_status status;
    int k;
    memset(&o, 0, sizeof o);
    o.method = (shs_extractor)within(in, 0, SHS_EXTRACTOR_COUNT), o.count = within(in, 0, 6), o.seed = (uint64_t)byte(in);
    scene_of(in, &s), sink_of(in, &s, 1);
    status = shs_endmembers_find(&w->ctx, &s.cube, one_in(in, 64) ? NULL : &o, &e);
    check_scene(&s, w, status, e.block ? 1 : 0);
    must(status == SHS_OK ? e.block != NULL : memcmp(&e, &before, sizeof e) == 0);
    for (k = 0; k < e.count; k++) must(e.pixel[k] < count_of(s.cube.lines, s.cube.samples) && e.rank[k] == 0);
    must(all_finite_wide((size_t)e.bands * (size_t)e.count, e.spectra));
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
