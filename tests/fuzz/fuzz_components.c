/* fuzz_components.c - PCA, MNF, RX and ICA of small cubes, with every option. */
#include "fuzz_cubes.h"

static shs_wide threshold_of(input *in) {
    static const double thresholds[] = {0, 0, 0, 0.5, 0.99, 1, 1e-30, 1e30, -1, 2};
    int b = byte(in);
    return b == 255 ? (shs_wide)NAN : (shs_wide)thresholds[b % 10];
}

static void pca_options_of(input *in, shs_pca_options *o) {
    int flags = byte(in);
    memset(o, 0, sizeof *o);
    o->components = within(in, -1, 7);
    if (flags & 64) o->components = 0;
    o->variance = (flags & 8) ? threshold_of(in) : 0, o->eigenvalue_at_least = (flags & 16) ? threshold_of(in) : 0;
    o->correlation = flags & 1, o->divisor = flags & 2 ? SHS_DIVISOR_N_LESS_1 : SHS_DIVISOR_N,
    o->precise = flags & 4 ? SHS_PRECISION_ALWAYS : SHS_PRECISION_AUTO;
    if (flags & 32) o->trim = threshold_of(in) / 2, o->trim_rounds = within(in, -1, 3);
}

static void ica_options_of(input *in, shs_ica_options *o, shs_wide *start) {
    int flags = byte(in);
    memset(o, 0, sizeof *o);
    o->components = within(in, -1, 5);
    o->eigenvalue_at_least = (flags & 1) ? threshold_of(in) : 0;
    o->contrast = (shs_contrast)within(in, 0, 3), o->approach = (shs_ica_approach)within(in, 0, 2);
    o->route = (shs_ica_route)within(in, 0, 3), o->order = (shs_ica_order)within(in, 0, 3);
    o->iterations = within(in, -1, 6) ? within(in, 1, 6) : 0;
    if (!o->iterations) o->iterations = 4;
    o->tolerance = (flags & 2) ? threshold_of(in) : 0;
    o->plain_steps = flags & 4, o->restarts = within(in, -1, 1) ? -1 : 1, o->random_start = flags & 8;
    if ((flags & 48) == 48) (void)fill_wide(in, 36, start), o->start = start;
    o->seed = (uint64_t)byte(in), o->divisor = flags & 64 ? SHS_DIVISOR_N_LESS_1 : SHS_DIVISOR_N,
    o->precise = flags & 128 ? SHS_PRECISION_NEVER : SHS_PRECISION_AUTO;
}

/* Values whose squares and fourth powers stay numbers. */
static int moderate(const scene *s) { return tame(&s->e) && s->cube.type != SHS_TYPE_F64 && !s->garbage && s->e.most < 1e9; }

static void check_pca(const shs_pca *p, const scene *s) {
    int i;
    must(p->bands == shs_cube_bands(&s->cube) && p->components >= 0 && p->components <= p->bands && p->count >= 1);
    if (!moderate(s)) return;
    must(all_finite_wide((size_t)p->bands, p->mean) && all_finite_wide((size_t)p->eigenvalue_count, p->eigenvalues));
    must(all_finite_wide((size_t)p->bands * (size_t)p->components, p->vectors));
    must(all_finite_wide((size_t)p->bands * (size_t)p->components, p->forward));
    must(all_finite_wide((size_t)p->bands * (size_t)p->components, p->backward));
    for (i = 1; i < p->eigenvalue_count; i++) must(p->eigenvalues[i - 1] >= p->eigenvalues[i]);
}

static void principal(input *in, world *w) {
    scene s;
    shs_pca pca = SHS_ZERO, before = SHS_ZERO;
    shs_pca_options o;
    shs_status status;
    int way = byte(in) % 4, no_options = one_in(in, 16);
    pca_options_of(in, &o);
    scene_of(in, &s), sink_of(in, &s, o.components > 0 ? o.components : shs_cube_bands(&s.cube));
    if (way == 0 && o.components > 0) status = (o.correlation ? shs_mnf_run : shs_pca_run)(&w->ctx, &s.cube, &o, &s.sink, &pca);
    else if (way == 1) status = shs_mnf_fit(&w->ctx, &s.cube, no_options ? NULL : &o, &pca);
    else status = shs_pca_fit(&w->ctx, &s.cube, no_options ? NULL : &o, &pca);
    check_scene(&s, w, status, pca.block ? 1 : 0);
    must(status == SHS_OK || pca.block || memcmp(&pca, &before, sizeof pca) == 0);
    if (status == SHS_OK) {
        output all;
        check_pca(&pca, &s);
        must(w->outstanding == 1);
        s.written = 0;
        all = output_of(count_of(s.cube.lines, s.cube.samples) * (size_t)pca.bands * shs_type_size(s.sink.type));
        s.sink.pixels = all.bytes, s.sink.write_fn = NULL;
        if (way == 2) status = shs_pca_denoise(&w->ctx, &pca, within(in, 0, 3), &s.cube, &s.sink);
        else if (pca.components > 0) status = shs_pca_transform(&w->ctx, &pca, &s.cube, &s.sink);
        must(status >= SHS_OK && (int)status < STATUSES);
        output_free(&all);
        shs_pca_free(&w->ctx, &pca);
        must(memcmp(&pca, &before, sizeof pca) == 0);
    } else if (pca.block) shs_pca_free(&w->ctx, &pca);
    must(w->bad || w->outstanding == 0);
    scene_free(&s);
}

static void anomalies(input *in, world *w) {
    scene s;
    shs_pca_options o;
    shs_status status;
    int rank = -7, bare = byte(in) & 1;
    pca_options_of(in, &o);
    scene_of(in, &s), sink_of(in, &s, 1);
    status = shs_rx(&w->ctx, &s.cube, bare ? NULL : &o, &s.sink, &rank);
    check_scene(&s, w, status, 0);
    must(!s.sink.write_fn || status != SHS_OK || s.written == s.cube.lines);
    if (status == SHS_OK) must(rank >= 0 && rank <= shs_cube_bands(&s.cube));
    scene_free(&s);
}

/* By windows, or by classes of which some have no pixels. */
static void anomalies_around(input *in, world *w) {
    scene s;
    shs_rx_local_options o = SHS_ZERO;
    shs_status status;
    int ranks[4] = {-7, -7, -7, -7}, way = byte(in) % 4, k;
    o.inner = within(in, -1, 5), o.outer = within(in, -1, 11), o.divisor = (shs_divisor)within(in, 0, 2);
    o.ridge = way == 1 ? (shs_wide)within(in, -1, 3) / 100 : 0;
    scene_of(in, &s), sink_of(in, &s, 1);
    if (way == 3) {
        size_t count = count_of(s.cube.lines, s.cube.samples), i;
        int *labels = (int *)malloc(count * sizeof *labels + 1);
        for (i = 0; i < count; i++) labels[i] = (int)(i * 7 % 5) - 1;
        status = shs_rx_classes(&w->ctx, &s.cube, labels, 4, NULL, &s.sink, ranks);
        for (k = 0; k < 4 && status == SHS_OK; k++) must(ranks[k] >= 0 && ranks[k] <= shs_cube_bands(&s.cube));
        free(labels);
    } else status = shs_rx_local(&w->ctx, &s.cube, way == 2 ? NULL : &o, &s.sink);
    /* Local scores are written before it is known that there is none. */
    if (way != 3 && status == SHS_SINGULAR_COVARIANCE && s.out.bytes) output_keep(&s.out);
    check_scene(&s, w, status, 0);
    must(!s.sink.write_fn || status != SHS_OK || s.written == s.cube.lines);
    scene_free(&s);
}

static void independent(input *in, world *w) {
    scene s;
    shs_ica ica = SHS_ZERO, before = SHS_ZERO;
    shs_ica_options o;
    shs_wide start[36];
    shs_status status;
    int run = byte(in) & 1;
    ica_options_of(in, &o, start);
    scene_of(in, &s), sink_of(in, &s, o.components > 0 ? o.components : shs_cube_bands(&s.cube));
    if (o.start && (o.components > 6 || shs_cube_bands(&s.cube) > 6)) o.start = NULL;
    if (run && o.components > 0) status = shs_ica_run(&w->ctx, &s.cube, &o, &s.sink, &ica);
    else status = shs_ica_fit(&w->ctx, &s.cube, &o, &ica);
    check_scene(&s, w, status, ica.block ? 1 : 0);
    must(status == SHS_OK || ica.block || memcmp(&ica, &before, sizeof ica) == 0);
    if (status == SHS_OK) {
        size_t values = (size_t)ica.bands * (size_t)ica.components;
        int i;
        must(ica.components > 0 && ica.components <= ica.bands);
        if (moderate(&s)) must(all_finite_wide(values, ica.unmixing) && all_finite_wide(values, ica.mixing));
        /* whatever the stream was at later passes */
        must(all_finite_wide((size_t)ica.components * (size_t)ica.components, ica.rotation));
        for (i = 0; i < ica.components; i++) {
            must(ica.component[i].extraction >= 0 && ica.component[i].extraction < ica.components);
            must(!ica.converged || ica.component[i].converged);
            must(isfinite(ica.component[i].kurtosis) && isfinite(ica.component[i].negentropy));
        }
    }
    shs_ica_free(&w->ctx, &ica);
    must(w->bad || w->outstanding == 0);
    scene_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const errand_fn errands[FUZZ_ERRANDS] = {principal, principal,   principal,   anomalies,
                                                    anomalies_around, independent, independent, independent};
    return run_errand(errands, data, size);
}
