/* detect.h - scores of known spectra, by the detectors of the library and by similarity. */
#ifndef HYPERCUBE_DETECT
#define HYPERCUBE_DETECT

#include "similarity.h"

/* ---- detect ------------------------------------------------------------------------------------------------------- */

/* A method that is a similarity has been taken before; the message for a wrong name has similarities too. */
static shs_detector chosen_detector(const char *text) {
    const char *names[SHS_DETECTOR_COUNT + SIMILARITIES];
    int i;
    for (i = 0; i < SHS_DETECTOR_COUNT; i++) names[i] = shs_detector_name((shs_detector)i);
    for (i = 1; i < SIMILARITIES; i++) names[SHS_DETECTOR_COUNT + i - 1] = similarity_names[i]; /* sam is both */
    if (text) return (shs_detector)choose("--method", text, names, SHS_DETECTOR_COUNT + SIMILARITIES - 1);
    return SHS_DETECTOR_MF;
}

static char *together[1] = {"all targets"};

/* As check_job, with the words of the options that the targets came by. */
static void check_detection(job *j, shs_status status) {
    const settings *s = j->s;
    const char *each = "column";
    if (by_class(j)) each = "class";
    if (status == SHS_LOST_TARGET || status == SHS_BAD_TARGETS)
        fail(EXIT_ERROR, "%s: --target %s: %s", j->in.header_name, s->detect.target, shs_status_text(status));
    if (status == SHS_BAD_UNDESIRED)
        fail(EXIT_ERROR, "%s: --undesired %s: %s", j->in.header_name, s->detect.undesired, shs_status_text(status));
    if (status == SHS_SINGULAR_COVARIANCE) fail_for_dead_bands(j, status);
    if (status == SHS_SINGULAR_COVARIANCE && (by_class(j) || s->detect.background))
        fail(EXIT_ERROR,
             "%s: each %s has a band that is constant or a linear combination of others, or not more valid pixels than the %d "
             "bands: --ridge R, or --bands of fewer",
             j->in.header_name, each, shs_cube_bands(&j->cube));
    if (status == SHS_SINGULAR_COVARIANCE)
        fail(EXIT_ERROR,
             "%s: %s: no band is constant, but some are linear combinations of others: --ridge R, or --bands of fewer",
             j->in.header_name, shs_status_text(status));
    check_job(j, status);
}

static int has_background(shs_detector method) {
    return method != SHS_DETECTOR_SAM && method != SHS_DETECTOR_OSP && method != SHS_DETECTOR_AMSD;
}

/* Fails if a background of each class or column is asked of a detector without a background, or together with an option that
   chooses other pixels for the background. Returns whether each column has its own. */
static int check_background(const settings *s, shs_detector method) {
    const int columns = asks_columns(s);
    const int classes = s->pixels.classes && s->pixels.id < 0;
    if (!columns && !classes) return 0;
    if (columns && classes)
        fail(EXIT_USAGE, "--background: column: --class has a background of each class, or takes one (--id K)");
    if (!has_background(method)) {
        if (columns)
            fail(EXIT_USAGE, "--background: %s has no background: mf, cem, ace, sace and glrt have", shs_detector_name(method));
        fail(EXIT_USAGE, "--class: %s has no background: mf, cem, ace, sace and glrt have; --id K takes one class",
             shs_detector_name(method));
    }
    if (columns && s->pixels.fit_only) fail(EXIT_USAGE, "--fit-only: each column is fitted to all of its pixels");
    if (columns && s->pixels.fit_step > 1) fail(EXIT_USAGE, "--fit-step: each column is fitted to all of its pixels");
    return columns;
}

/* Tells how many of the classes, or columns where labels is NULL, have no score. */
static void warn_of_unscored(const job *j, const int *labels, int count) {
    cube_file scores = cube_open(j->out.header_name, j->out.data_name);
    char *line = room_for_lines(&scores, 1);
    int *has_scores = ALLOCATE(int, count), x, y, k, without = 0;
    const char *units = "columns";
    if (labels) units = "classes";
    memset(has_scores, 0, (size_t)count * sizeof *has_scores);
    for (y = 0; y < scores.lines; y++) {
        must_read(&scores, y, 1, line);
        for (x = 0; x < scores.samples; x++) {
            k = x;
            if (labels) k = labels[element_at(y, scores.samples, x)];
            if (k >= 0 && !is_missing(&scores, get_value(line, value_index(&scores, 1, 0, x, 0), scores.type, scores.swap)))
                has_scores[k] = 1;
        }
    }
    for (k = 0; k < count; k++) without += !has_scores[k];
    if (without)
        warn("%s: %d of %d %s have no score: a constant band, or not more valid pixels than the %d bands", j->in.header_name,
             without, count, units, shs_cube_bands(&j->cube));
    free(has_scores);
    free(line);
    cube_close(&scores);
}

/* Scores of the library's detectors, whose background may be of other pixels. */
static int *detect_by_library(job *j, const spectra *targets, shs_detect_options *options) {
    shs_moments background = SHS_ZERO;
    int *labels = NULL;
    double *values;
    cube_call call;
    if (by_class(j)) {
        labels = ALLOCATE(int, elements(j->in.lines, j->in.samples));
        values = ALLOCATE(double, MOST_CLASSES);
        options->classes = read_classes(j, labels, values);
        options->labels = labels;
        if (!options->classes) fail(EXIT_ERROR, "%s: --class: no pixel has a class", j->s->pixels.classes);
        free(values);
    }
    if (j->s->pixels.fit_only || j->s->pixels.fit_step > 1) {
        check_job(j, run_cube(j, call_on(make_moments, &j->fit, NULL, NULL, &background)));
        options->background = &background;
    }
    call = call_on(make_detect, &j->cube, &j->sink, options, NULL);
    call.count = targets->count;
    call.spectra = targets->values;
    check_detection(j, run_cube(j, call));
    progress_clear();
    note_stretch(j, j->out.bands, call);
    shs_moments_free(&j->ctx, &background);
    return labels;
}

/* The spectra that the bands of the output are the scores of. AMSD has one band for all together. */
static spectra scored_spectra(const spectra *targets, const shs_detect_options *options) {
    spectra s = *targets;
    if (options->method != SHS_DETECTOR_AMSD || targets->count == 1) return s;
    s.count = 1;
    s.names = together;
    return s;
}

static void run_detect(const settings *s, char **names) {
    const int similarity = similarity_named(s->method);
    shs_detect_options options = SHS_ZERO;
    spectra targets, scores, undesired = SHS_ZERO;
    scored *pixels = NULL;
    size_t count;
    double area = 0;
    const char *method;
    int *labels = NULL;
    FILE *page;
    job *j;
    if (s->unmix.library) {
        run_library(s, names);
        return;
    }
    if (similarity > SIMILAR_SAM) {
        check_similarity(s);
        method = similarity_names[similarity];
    } else {
        options.method = chosen_detector(s->method);
        method = shs_detector_name(options.method);
    }
    if (s->fit.ridge > 0 && similarity <= SIMILAR_SAM && !has_background(options.method))
        fail(EXIT_USAGE, "--ridge: %s has no background: mf, cem, ace, sace and glrt have", method);
    options.ridge = (shs_wide)s->fit.ridge;
    if (similarity <= SIMILAR_SAM) options.columns = check_background(s, options.method);
    if (!s->detect.target) fail(EXIT_USAGE, "--target: is needed, or --library");
    if (s->detect.undesired && options.method != SHS_DETECTOR_OSP && options.method != SHS_DETECTOR_AMSD)
        fail(EXIT_USAGE, "--undesired: only --method osp and amsd take it");
    if (s->detect.roc && !s->detect.truth) fail(EXIT_USAGE, "--roc: needs --truth MASK.hdr");
    j = job_open(s, DETECT, names[0], names[1]);
    targets = spectra_of(j, "--target", s->detect.target);
    if (s->detect.undesired) undesired = spectra_of(j, "--undesired", s->detect.undesired);
    options.undesired = undesired.values;
    options.undesired_count = undesired.count;
    scores = scored_spectra(&targets, &options);
    output_start(j, scores.count, "Target scores of ");
    if (similarity > SIMILAR_SAM) {
        similarity_plan p = similarity_plan_of(j, (enum similarity)similarity, &targets, s->detect.target);
        (void)similarity_map(j, &p, p.count);
    } else labels = detect_by_library(j, &targets, &options);
    j->out.names = scores.names;
    j->look = similarity >= 0 ? LOOK_LOW : LOOK_HIGH;
    output_show(j, method, NULL);
    if (options.columns) warn_of_unscored(j, NULL, j->in.samples);
    if (labels) warn_of_unscored(j, labels, options.classes);
    free(labels);
    if (s->output.report) score_report(j, method);
    page = html_begin(j, method, NULL);
    html_spectra(page, j, &targets, "Spectra of the targets");
    if (s->detect.undesired) html_spectra(page, j, &undesired, "Undesired spectra");
    if (s->detect.truth) pixels = ALLOCATE(scored, elements(j->in.lines, j->in.samples));
    if (s->detect.truth) area = judge_targets(j, &scores, method, pixels, page);
    html_finish(j, page);
    count = read_scores(&j->out, 0, NULL, NULL);
    if (s->detect.truth) printf("auc=%.4f ", area);
    printf("seconds=%.3f targets=%d pixels=%zu\n", j->written - j->start, targets.count, count);
    free(pixels);
    spectra_free(&targets);
    spectra_free(&undesired);
    job_close(j);
}

#endif /* HYPERCUBE_DETECT */
