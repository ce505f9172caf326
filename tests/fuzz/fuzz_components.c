/* fuzz_components.c - PCA, MNF, RX and ICA of small cubes, with every option. */
#include "fuzz_cubes.h"

static shs_wide threshold_of(input *in) {
    static const double thresholds[] = {0, 0, 0, 0.5, 0.99, 1, 1e-30, 1e30, -1, 2};
    int b = byte(in);
    if (b == 255) return NAN;
    return thresholds[b % 10];
}

static shs_divisor divisor_of(int less) {
    if (less) return SHS_DIVISOR_N_LESS_1;
    return SHS_DIVISOR_N;
}

static void pca_options_of(input *in, shs_pca_options *o) {
    int flags = byte(in);
    memset(o, 0, sizeof *o);
    o->components = within(in, -1, 7);
    if (flags & 64) o->components = 0;
    if (flags & 8) o->variance = threshold_of(in);
    if (flags & 16) o->eigenvalue_at_least = threshold_of(in);
    o->correlation = flags & 1;
    o->divisor = divisor_of(flags & 2);
    o->precise = SHS_PRECISION_AUTO;
    if (flags & 4) o->precise = SHS_PRECISION_ALWAYS;
    if (flags & 32) {
        o->trim = threshold_of(in) / 2;
        o->trim_rounds = within(in, -1, 3);
    }
}

static void ica_options_of(input *in, shs_ica_options *o, shs_wide *start) {
    int flags = byte(in);
    memset(o, 0, sizeof *o);
    o->components = within(in, -1, 5);
    if (flags & 1) o->eigenvalue_at_least = threshold_of(in);
    o->contrast = within(in, 0, 3);
    o->approach = within(in, 0, 2);
    o->route = within(in, 0, 3);
    o->order = within(in, 0, 3);
    o->iterations = 4;
    if (within(in, -1, 6)) o->iterations = within(in, 1, 6);
    if (flags & 2) o->tolerance = threshold_of(in);
    o->plain_steps = flags & 4;
    o->restarts = 1;
    if (within(in, -1, 1)) o->restarts = -1;
    o->random_start = flags & 8;
    if ((flags & 48) == 48) {
        (void)fill_wide(in, 36, start);
        o->start = start;
    }
    o->seed = byte(in);
    o->divisor = divisor_of(flags & 64);
    o->precise = SHS_PRECISION_AUTO;
    if (flags & 128) o->precise = SHS_PRECISION_NEVER;
}

/* Values whose squares and fourth powers stay numbers. */
static int moderate(const scene *s) { return tame(&s->e) && s->cube.type != SHS_TYPE_F64 && !s->garbage && s->e.most < 1e9; }

/* How many outputs a sink needs for `components`; 0: as many as bands. */
static int outputs_for(int components, const scene *s) {
    if (components > 0) return components;
    return shs_cube_bands(&s->cube);
}

/* ---- PCA and MNF ------------------------------------------------------------------------------------------------- */

static void check_pca(const shs_pca *p, const scene *s) {
    size_t entries = count_of(p->bands, p->components);
    int i;
    must(p->bands == shs_cube_bands(&s->cube) && p->components >= 0 && p->components <= p->bands && p->count >= 1);
    if (!moderate(s)) return;
    must(all_finite_wide(p->bands, p->mean) && all_finite_wide(p->eigenvalue_count, p->eigenvalues));
    must(all_finite_wide(entries, p->vectors));
    must(all_finite_wide(entries, p->forward));
    must(all_finite_wide(entries, p->backward));
    for (i = 1; i < p->eigenvalue_count; i++) must(p->eigenvalues[i - 1] >= p->eigenvalues[i]);
}

static shs_status fit(world *w, scene *s, int way, int no_options, const shs_pca_options *o, shs_pca *pca) {
    if (way == 0 && o->components > 0) {
        if (o->correlation) return shs_mnf_run(&w->ctx, &s->cube, o, &s->sink, pca);
        return shs_pca_run(&w->ctx, &s->cube, o, &s->sink, pca);
    }
    if (no_options) o = NULL;
    if (way == 1) return shs_mnf_fit(&w->ctx, &s->cube, o, pca);
    return shs_pca_fit(&w->ctx, &s->cube, o, pca);
}

/* Components, or a cube without noise, into a new buffer. */
static void use_pca(input *in, world *w, scene *s, int way, const shs_pca *pca) {
    size_t pixels = count_of(s->cube.lines, s->cube.samples);
    shs_status status = SHS_OK;
    output all;
    s->written = 0;
    all = output_of(pixels * pca->bands * shs_type_size(s->sink.type));
    s->sink.pixels = all.bytes;
    s->sink.write_fn = NULL;
    if (way == 2) status = shs_pca_denoise(&w->ctx, pca, within(in, 0, 3), &s->cube, &s->sink);
    else if (pca->components > 0) status = shs_pca_transform(&w->ctx, pca, &s->cube, &s->sink);
    check_status(status);
    output_free(&all);
}

static void principal(input *in, world *w) {
    scene s;
    shs_pca pca = SHS_ZERO, before = SHS_ZERO;
    shs_pca_options o;
    shs_status status;
    int way = byte(in) % 4, no_options = one_in(in, 16), held;
    pca_options_of(in, &o);
    scene_of(in, &s);
    sink_of(in, &s, outputs_for(o.components, &s));
    status = fit(w, &s, way, no_options, &o, &pca);
    held = pca.block != NULL;
    check_scene(&s, w, status, held);
    must(status == SHS_OK || held || memcmp(&pca, &before, sizeof pca) == 0);
    if (status == SHS_OK) {
        check_pca(&pca, &s);
        must(w->outstanding == 1);
        use_pca(in, w, &s, way, &pca);
    }
    if (status == SHS_OK || held) shs_pca_free(&w->ctx, &pca);
    must(status != SHS_OK || memcmp(&pca, &before, sizeof pca) == 0);
    must(w->bad || w->outstanding == 0);
    scene_free(&s);
}

/* ---- anomalies --------------------------------------------------------------------------------------------------- */

static void anomalies(input *in, world *w) {
    scene s;
    shs_pca_options o;
    const shs_pca_options *given = &o;
    shs_status status;
    int rank = -7, bare = byte(in) & 1;
    pca_options_of(in, &o);
    scene_of(in, &s);
    sink_of(in, &s, 1);
    if (bare) given = NULL;
    status = shs_rx(&w->ctx, &s.cube, given, &s.sink, &rank);
    check_scene(&s, w, status, 0);
    check_written(&s, status);
    if (status == SHS_OK) must(rank >= 0 && rank <= shs_cube_bands(&s.cube));
    scene_free(&s);
}

/* Classes of which some have no pixels. */
static shs_status anomalies_of_classes(world *w, scene *s) {
    size_t count = count_of(s->cube.lines, s->cube.samples), i;
    int *labels = NEW(int, count), ranks[4] = {-7, -7, -7, -7}, k;
    shs_status status;
    for (i = 0; i < count; i++) labels[i] = (int)(i * 7 % 5) - 1;
    status = shs_rx_classes(&w->ctx, &s->cube, labels, 4, NULL, &s->sink, ranks);
    for (k = 0; k < 4 && status == SHS_OK; k++) must(ranks[k] >= 0 && ranks[k] <= shs_cube_bands(&s->cube));
    free(labels);
    return status;
}

static void anomalies_around(input *in, world *w) {
    scene s;
    shs_rx_local_options o = SHS_ZERO;
    const shs_rx_local_options *given = &o;
    shs_status status;
    int way = byte(in) % 4;
    o.inner = within(in, -1, 5);
    o.outer = within(in, -1, 11);
    o.divisor = within(in, 0, 2);
    if (way == 1) o.ridge = within(in, -1, 3) / 100.0;
    if (way == 2) given = NULL;
    scene_of(in, &s);
    sink_of(in, &s, 1);
    if (way == 3) status = anomalies_of_classes(w, &s);
    else status = shs_rx_local(&w->ctx, &s.cube, given, &s.sink);
    /* Local scores are written before it is known that there is none. */
    if (way != 3 && status == SHS_SINGULAR_COVARIANCE && s.out.bytes) output_keep(&s.out);
    check_scene(&s, w, status, 0);
    check_written(&s, status);
    scene_free(&s);
}

/* ---- ICA --------------------------------------------------------------------------------------------------------- */

static void check_ica(const shs_ica *ica, const scene *s) {
    size_t entries = count_of(ica->bands, ica->components);
    int i;
    must(ica->components > 0 && ica->components <= ica->bands);
    if (moderate(s)) must(all_finite_wide(entries, ica->unmixing) && all_finite_wide(entries, ica->mixing));
    /* whatever the stream was at later passes */
    must(all_finite_wide(count_of(ica->components, ica->components), ica->rotation));
    for (i = 0; i < ica->components; i++) {
        must(ica->component[i].extraction >= 0 && ica->component[i].extraction < ica->components);
        must(!ica->converged || ica->component[i].converged);
        must(isfinite(ica->component[i].kurtosis) && isfinite(ica->component[i].negentropy));
    }
}

static void independent(input *in, world *w) {
    scene s;
    shs_ica ica = SHS_ZERO, before = SHS_ZERO;
    shs_ica_options o;
    shs_wide start[36];
    shs_status status;
    int run = byte(in) & 1, held;
    ica_options_of(in, &o, start);
    scene_of(in, &s);
    sink_of(in, &s, outputs_for(o.components, &s));
    if (o.start && (o.components > 6 || shs_cube_bands(&s.cube) > 6)) o.start = NULL;
    if (run && o.components > 0) status = shs_ica_run(&w->ctx, &s.cube, &o, &s.sink, &ica);
    else status = shs_ica_fit(&w->ctx, &s.cube, &o, &ica);
    held = ica.block != NULL;
    check_scene(&s, w, status, held);
    must(status == SHS_OK || held || memcmp(&ica, &before, sizeof ica) == 0);
    if (status == SHS_OK) check_ica(&ica, &s);
    shs_ica_free(&w->ctx, &ica);
    must(w->bad || w->outstanding == 0);
    scene_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const errand_fn errands[FUZZ_ERRANDS] = {principal, principal,   principal,   anomalies,
                                                    anomalies_around, independent, independent, independent};
    return run_errand(errands, data, size);
}
