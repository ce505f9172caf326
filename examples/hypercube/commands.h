/* commands.h - what each mode does with its cube. */
#ifndef HYPERCUBE_COMMANDS
#define HYPERCUBE_COMMANDS

#include "count.h"
#include "models.h"

/* ---- pca, mnf, denoise ------------------------------------------------------------------------------------------- */

static shs_pca_options pca_options(const job *j) {
    const settings *s = j->s;
    shs_pca_options options = SHS_ZERO;
    options.neighbours = chosen_neighbours(j);
    options.noise_residual = s->noise.residual;
    options.noise = j->noise;
    if (s->fit.snr > 0) options.eigenvalue_at_least = (shs_wide)(1 + s->fit.snr);
    options.components = s->fit.components;
    options.variance = (shs_wide)s->fit.variance;
    options.correlation = s->fit.correlation;
    options.precise = (shs_precision)s->run.precise;
    return options;
}

/* A device gets the pixels once where one call fits and transforms. Both must be of the same pixels, and the number of the
   output's bands known before. On the CPU two calls are as fast and can be timed. */
static void select_one_call(job *j) {
    int same = j->fit.mask == j->cube.mask && j->fit.mask_fn == j->cube.mask_fn, on_device = j->ctx.engine || example_ranks.count;
    int known = j->s->fit.components && !j->s->output.rescale;
    j->one_call = on_device && (j->mode & (PCA | MNF | ICA)) && same && known;
    if (j->one_call) j->out.bands = j->s->fit.components;
}

/* Pixels are signal and noise, and vary at least as much as the noise. */
static void tell_ratios(const job *j, const shs_pca *pca) {
    const double most = (double)pca->eigenvalues[0] - 1, least = (double)pca->eigenvalues[pca->components - 1] - 1;
    printf("%d bands, %d components, signal to noise ratio %.4g to %.4g\n", pca->bands, pca->components, most, least);
    if (j->s->fit.snr > 0 && most < j->s->fit.snr) warn("--snr: no component reaches %g: the first one is kept", j->s->fit.snr);
    if (most < -0.5)
        warn("%s: the noise varies more than the pixels, whose signal to noise ratio is %.4g: are both in one unit?",
             j->in.header_name, most);
}

static void fit_components(job *j, int by_noise, shs_pca *pca) {
    shs_pca_options options = pca_options(j);
    cube_fn run = make_pca_run;
    cube_fn fit = make_pca_fit;
    if (by_noise) {
        run = make_mnf_run;
        fit = make_mnf_fit;
    }
    if (j->one_call) check_job(j, run_cube(j, call_on(run, &j->cube, &j->sink, &options, pca)));
    else check_job(j, run_cube(j, call_on(fit, &j->fit, NULL, &options, pca)));
    progress_clear();
    if (by_noise) tell_ratios(j, pca);
    else
        printf("%d bands, %d components explain %.6g %% of the variance\n", pca->bands, pca->components,
               100 * explained_by(pca, pca->components));
}

static shs_model_kind kind_of_pca(int by_noise) {
    if (by_noise) return SHS_MODEL_MNF;
    return SHS_MODEL_PCA;
}

static void run_pca(const settings *s, enum mode mode, char **names) {
    const shs_model_kind kind = kind_of_pca(mode == MNF);
    const char *word = component_words[kind];
    job *j = job_open_counted(s, mode, names[0], names[1]);
    shs_pca pca;
    cube_call transform = call_on(make_pca_transform, &j->cube, &j->sink, &pca, NULL);
    will_keep_model(j);
    select_one_call(j);
    fit_components(j, mode == MNF, &pca);
    output_start(j, pca.components, output_titles[kind]);
    note_stretch(j, pca.components, transform);
    if (!j->one_call) check_job(j, run_cube(j, transform));
    progress_clear();
    output_show(j, word, NULL);
    if (s->output.report) pca_report(&pca, s->output.report);
    keep_model(j, word, kind, &pca, NULL);
    print_end(j, pca.components, pca.count);
    shs_pca_free(&j->ctx, &pca);
    job_close(j);
}

static void run_denoise(const settings *s, char **names) {
    job *j = job_open_counted(s, DENOISE, names[0], names[1]);
    shs_pca pca;
    cube_call denoise = call_on(make_pca_denoise, &j->cube, &j->sink, &pca, NULL); /* all components */
    will_keep_model(j);
    fit_components(j, s->fit.mnf, &pca);
    output_start(j, pca.bands, "Noise reduction of ");
    keep_bands(j);
    keep_unit(j);
    note_stretch(j, pca.bands, denoise);
    check_job(j, run_cube(j, denoise));
    progress_clear();
    output_show(j, "Band", j->bands);
    keep_model(j, "Band", kind_of_pca(s->fit.mnf), &pca, NULL);
    print_end(j, pca.components, pca.count);
    shs_pca_free(&j->ctx, &pca);
    job_close(j);
}

/* ---- ica --------------------------------------------------------------------------------------------------------- */

static shs_ica_options ica_options(const settings *s) {
    static const char *const routes[] = {"auto", "moments", "sweep"};
    const char *contrasts[SHS_CONTRAST_COUNT];
    shs_ica_options options = SHS_ZERO;
    int i;
    for (i = 0; i < SHS_CONTRAST_COUNT; i++) contrasts[i] = shs_contrast_name((shs_contrast)i);
    options.components = s->fit.components;
    options.eigenvalue_at_least = (shs_wide)s->threshold;
    if (s->ica.contrast) options.contrast = (shs_contrast)choose("--contrast", s->ica.contrast, contrasts, SHS_CONTRAST_COUNT);
    if (s->ica.symmetric) options.approach = SHS_APPROACH_SYMMETRIC;
    else options.approach = SHS_APPROACH_DEFLATION;
    if (s->ica.route) options.route = (shs_ica_route)choose("--route", s->ica.route, routes, 3);
    else options.route = SHS_ROUTE_AUTO;
    if (options.route == SHS_ROUTE_MOMENTS && options.contrast != SHS_CONTRAST_POW3)
        fail(EXIT_USAGE, "--route: moments: only pow3 has them, not %s", s->ica.contrast);
    options.iterations = s->ica.iterations;
    options.plain_steps = s->ica.plain_steps;
    if (s->ica.restarts) options.restarts = s->ica.restarts;
    else options.restarts = -1;
    options.tolerance = (shs_wide)s->ica.tolerance;
    options.random_start = s->seed > 0;
    options.seed = s->seed;
    options.precise = (shs_precision)s->run.precise;
    return options;
}

static void run_ica(const settings *s, char **names) {
    shs_ica_options options = ica_options(s);
    job *j = job_open_counted(s, ICA, names[0], names[1]);
    shs_ica ica;
    cube_call transform = call_on(make_ica_transform, &j->cube, &j->sink, &ica, NULL);
    options.components = j->s->fit.components;
    will_keep_model(j);
    select_one_call(j);
    if (j->one_call) check_job(j, run_cube(j, call_on(make_ica_run, &j->cube, &j->sink, &options, &ica)));
    else check_job(j, run_cube(j, call_on(make_ica_fit, &j->fit, NULL, &options, &ica)));
    progress_clear();
    print_sources(&ica);
    if ((double)ica.eigenvalues[0] < s->threshold) warn("--threshold: no eigenvalue reaches %g: the largest one is kept", s->threshold);
    output_start(j, ica.components, "Independent components of ");
    note_stretch(j, ica.components, transform);
    if (!j->one_call) check_job(j, run_cube(j, transform));
    progress_clear();
    output_show(j, "IC", NULL);
    if (s->output.report) ica_report(&ica, s->output.report);
    keep_model(j, "IC", SHS_MODEL_ICA, NULL, &ica);
    print_end(j, ica.components, ica.count);
    shs_ica_free(&j->ctx, &ica);
    job_close(j);
}

/* ---- rx ---------------------------------------------------------------------------------------------------------- */

/* Each class by itself; says how many components it has. Returns the most. */
static int score_classes(job *j, const shs_pca_options *options) {
    int *labels = ALLOCATE(int, (size_t)j->in.samples *(size_t)j->in.lines), *ranks = ALLOCATE(int, MOST_CLASSES), count, k,
        most = 0;
    double *values = ALLOCATE(double, MOST_CLASSES);
    size_t pixels = elements(j->in.lines, j->in.samples), *sizes = ALLOCATE(size_t, MOST_CLASSES), i;
    cube_call call = call_on(make_rx_classes, &j->cube, &j->sink, options, ranks);
    count = read_classes(j, labels, values);
    if (!count) fail(EXIT_ERROR, "%s: --class: no pixel has a class", j->s->pixels.classes);
    call.labels = labels;
    call.count = count;
    check_job(j, run_cube(j, call));
    progress_clear();
    note_stretch(j, 1, call);
    for (i = 0; i < pixels; i++)
        if (labels[i] >= 0 && labels[i] < count) sizes[labels[i]]++;
    for (k = 0; k < count; k++) {
        if (ranks[k] && (size_t)ranks[k] + 1 >= sizes[k])
            warn("%s: class %.10g: %zu pixels in %d dimensions: all scores are alike; fewer --bands or --components tell them apart",
                 j->s->pixels.classes, values[k], sizes[k], ranks[k]);
        if (ranks[k]) printf("class %.10g: %d components\n", values[k], ranks[k]);
        else warn("%s: class %.10g: no pixels, or all alike: they have no score", j->s->pixels.classes, values[k]);
        if (ranks[k] > most) most = ranks[k];
    }
    free(labels);
    free(ranks);
    free(values);
    free(sizes);
    return most;
}

/* The two widths of --local, and its ridge. */
static shs_rx_local_options local_options(const settings *s) {
    shs_rx_local_options options = SHS_ZERO;
    char after;
    if (!s->detect.local) {
        if (s->fit.ridge != 0) fail(EXIT_USAGE, "--ridge: rx takes one with --local only");
        return options;
    }
    if (sscanf(s->detect.local, "%d,%d%c", &options.inner, &options.outer, &after) != 2 || options.inner < 1 ||
        options.outer <= options.inner || options.inner % 2 == 0 || options.outer % 2 == 0)
        fail(EXIT_USAGE, "--local: '%s' is not INNER,OUTER: two odd widths, the first smaller", s->detect.local);
    if (s->fit.ridge < 0) fail(EXIT_USAGE, "--ridge: %g is negative", s->fit.ridge);
    if (s->pixels.classes && s->pixels.id < 0) fail(EXIT_USAGE, "--class: --local takes one class (--id K)");
    if (s->fit.components_text || s->fit.skip || s->fit.correlation || s->run.precise)
        fail(EXIT_USAGE, "--local: takes all bands as they are, in double: not --components, --skip, --correlation, --precise");
    if (s->fit.trim != 0) fail(EXIT_USAGE, "--local: each pixel has a fit of its own: not --trim");
    if (s->pixels.fit_only || s->pixels.fit_step > 1 || s->output.save || s->output.npy || s->output.stats)
        fail(EXIT_USAGE, "--local: each pixel has a fit of its own: not --fit-only, --fit-step, --save, --npy, --stats");
    options.ridge = (shs_wide)s->fit.ridge;
    return options;
}

/* On the CPU, and not over ranks: their windows would end where their lines do. */
static int score_locally(job *j, const shs_rx_local_options *options) {
    shs_status status = shs_rx_local(&j->ctx, &j->cube, options, &j->sink);
    if (status == SHS_SINGULAR_COVARIANCE) fail_for_dead_bands(j, status);
    if (status == SHS_SINGULAR_COVARIANCE)
        fail(EXIT_ERROR,
             "%s: --local %s: no pixel has a background of more valid pixels than the %d bands, none of them constant or a "
             "linear combination of others: a larger OUTER, --ridge R, or --bands of fewer",
             j->in.header_name, j->s->detect.local, j->cube.band_list ? j->cube.band_count : j->cube.bands);
    check_job(j, status);
    if (is_stretched(j)) {
        output_ends e;
        const shs_sink sink = sink_for_ends(j, 1, &e);
        check_job(j, shs_rx_local(&j->ctx, &j->cube, options, &sink));
        say_stretch(j, &e);
    }
    if (j->cube.band_list) return j->cube.band_count;
    return j->cube.bands;
}

/* Uses one call, shs_rx, unless the fit is kept or the fit and the scores use different pixels. */
static int score_pixels(job *j, const shs_pca_options *options) {
    const settings *s = j->s;
    int kept = s->output.save || s->output.npy || s->output.stats, rank = 0;
    shs_pca rx = SHS_ZERO;
    cube_call scores;
    if (!kept && !s->pixels.fit_only && s->pixels.fit_step <= 1) {
        cube_call call = call_on(make_rx, &j->cube, &j->sink, options, &rank);
        check_job(j, run_cube(j, call));
        note_stretch(j, 1, call);
        return rank;
    }
    check_job(j, run_cube(j, call_on(make_rx_fit, &j->fit, NULL, options, &rx)));
    rank = rx.components;
    scores = call_on(make_rx_transform, &j->cube, &j->sink, &rx, NULL);
    check_job(j, run_cube(j, scores));
    note_stretch(j, 1, scores);
    if (kept) keep_model(j, "RX", SHS_MODEL_RX, &rx, NULL);
    shs_pca_free(&j->ctx, &rx);
    return rank;
}

static void run_rx(const settings *s, char **names) {
    const shs_rx_local_options local = local_options(s);
    job *j;
    if (!(s->fit.trim >= 0 && s->fit.trim <= 0.5))
        fail(EXIT_USAGE, "--trim: %g is not a share of the pixels from 0 to 0.5", s->fit.trim);
    j = job_open_counted(s, RX, names[0], names[1]);
    shs_pca_options options = pca_options(j);
    scored *pixels = NULL;
    size_t count;
    double area = 0;
    FILE *page;
    int rank;
    options.skip = s->fit.skip;
    options.trim = (shs_wide)s->fit.trim;
    will_keep_model(j);
    output_start(j, 1, "Reed-Xiaoli anomaly score of ");
    if (s->detect.local) rank = score_locally(j, &local);
    else if (by_class(j)) rank = score_classes(j, &options);
    else rank = score_pixels(j, &options);
    progress_clear();
    j->look = LOOK_HIGH;
    output_show(j, "RX", NULL);
    if (s->output.report) score_report(j, "RX");
    if (s->detect.truth) pixels = ALLOCATE(scored, (size_t)j->in.samples * (size_t)j->in.lines);
    count = read_scores(&j->out, 0, truth_of(j), pixels);
    if (!s->detect.local && !by_class(j) && (size_t)rank + 1 >= count && count > 1)
        warn("%s: %zu pixels in %d dimensions: all scores are alike; fewer --bands or --components tell them apart",
             j->in.header_name, count, rank);
    if (s->detect.truth) area = area_under_roc(pixels, count, s->detect.truth);
    page = html_begin(j, "RX", NULL);
    if (page && s->detect.truth) fprintf(page, "<p>Area under the ROC curve: %.4f.</p>\n", area);
    html_finish(j, page);
    if (s->detect.truth) printf("auc=%.4f ", area);
    printf("seconds=%.3f components=%d pixels=%zu\n", j->written - j->start, rank, count);
    free(pixels);
    job_close(j);
}

/* ---- info -------------------------------------------------------------------------------------------------------- */

/* The number of all bands in use, or the range of theirs, where the header states this list. */
static void print_list_of(const job *j, const char *word, const char *key) {
    double *list = listed_of_bands(&j->in, key, j->bands, j->cube.band_count);
    char *range;
    if (!list) return;
    range = range_text(list, j->cube.band_count);
    printf("%-13s %s\n", word, range);
    free(range);
    free(list);
}

static void print_about(const job *j) {
    static const char *const places[] = {"map info", "acquisition time", "sensor type"};
    const cube_file *f = &j->in;
    const char *comma = "", *value;
    int i, differs;
    printf("data file     %s\n", f->data_name);
    if (*f->description) printf("description   %s\n", f->description);
    for (i = 0; i < 3; i++)
        if ((value = header_find(&f->text, places[i], &differs)) != NULL) printf("%-13s %s\n", places[i], value);
    printf("size          %d samples x %d lines x %d bands\n", file_samples(f), file_lines(f), f->bands);
    printf("type          %s, %s, byte order %d, header offset %" PRIu64 "\n", type_name(f),
           interleaves[file_interleave(f)], f->stored.swap ? !host_byte_order() : host_byte_order(), f->stored.offset);
    if (f->has_nodata) printf("missing       %.10g\n", f->nodata);
    print_list_of(j, "gains", "data gain values");
    print_list_of(j, "offsets", "data offset values");
    if (f->axis.wavelength)
        printf("wavelengths   %.10g to %.10g %s\n", f->axis.wavelength[0], f->axis.wavelength[f->bands - 1], f->axis.units);
    if (!f->axis.good) return;
    printf("bad bands     ");
    for (i = 0; i < f->bands; i++)
        if (!(f->axis.good[i] > 0)) {
            printf("%s%d", comma, i + 1);
            comma = ",";
        }
    if (!*comma) printf("none");
    printf("\n");
}

static void print_summary(const job *j, int i, const band_summary *b) {
    const cube_file *f = &j->in;
    printf("%5d ", j->bands[i] + 1);
    if (f->axis.wavelength) printf("%11.6g ", f->axis.wavelength[j->bands[i]]);
    if (b->count > 0) printf("%12.6g %12.6g %12.6g", b->low, b->sum / b->count, b->high);
    else printf("%12s %12s %12s", "-", "-", "-");
    printf(" %9.0f\n", b->missing);
}

static void run_info(const settings *s, const char *name) {
    job *j = job_open(s, INFO, name, NULL);
    band_summary *summaries = summarise(j);
    int i;
    print_about(j);
    printf(" band ");
    if (j->in.axis.wavelength) printf(" wavelength ");
    printf("%12s %12s %12s %9s\n", "min", "mean", "max", "missing");
    for (i = 0; i < j->cube.band_count; i++) print_summary(j, i, &summaries[i]);
    tell_beyond(&j->in);
    free(summaries);
    job_close(j);
}

#endif /* HYPERCUBE_COMMANDS */
