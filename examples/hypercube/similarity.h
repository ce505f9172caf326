/* similarity.h - how alike spectra are: angles, divergences and distances between pixels and spectra of a table or library. */
#ifndef HYPERCUBE_SIMILARITY
#define HYPERCUBE_SIMILARITY

#include "pixelwise.h"
#include "targets.h"

/* Small is alike in all of them. With the angle a between a pixel x and a spectrum t, and p = x / sum(x), q = t / sum(t):
       sam     a (Kruse and others 1993)
       sid     the sum of (p - q) (log p - log q), spectral information divergence (Chang 2000); for values above 0
       sidsam  sid tan(a) (Du and others 2004)
       ns3     sqrt(d^2 + (1 - cos a)^2) with d the root mean squared difference (Nidamanuri, Zbell 2011)
       jmsam   2 (1 - exp(-B)) tan(a) with B the Bhattacharyya distance of two normal distributions, which have the means and
               variances of the two spectra over the bands (Padma, Sanjeevi 2014) */
enum similarity { SIMILAR_SAM, SIMILAR_SID, SIMILAR_SIDSAM, SIMILAR_NS3, SIMILAR_JMSAM, SIMILARITIES };
static const char *const similarity_names[SIMILARITIES] = {"sam", "sid", "sidsam", "ns3", "jmsam"};

/* A spectrum with what scores take of it. */
typedef struct rated_spectrum {
    const double *values;
    double *share, *logarithm; /* n: p and log p; NULL: not needed */
    double length, mean, variance;
    int positive; /* no value is 0 or below, or shares are not needed */
} rated_spectrum;

typedef struct similarity_plan {
    enum similarity which;
    int n, count, best; /* best: outputs are the best spectrum's number and its score; else the scores of all */
    const spectra *of;
    rated_spectrum *spectra;
    double *side_by_side; /* of SIDE spectra at a time the first values, the second ...; 0 beyond the last; NULL: not needed */
} similarity_plan;

enum { SIDE = 8 };

static int takes_shares(enum similarity which) { return which == SIMILAR_SID || which == SIMILAR_SIDSAM; }

/* room: 2 n for shares. */
static rated_spectrum rate_spectrum(enum similarity which, int n, const double *values, double *room) {
    rated_spectrum r = SHS_ZERO;
    double sum = 0, squares = 0;
    int i;
    r.values = values;
    r.positive = 1;
    for (i = 0; i < n; i++) {
        sum += values[i];
        squares += values[i] * values[i];
        if (takes_shares(which) && !(values[i] > 0)) r.positive = 0;
    }
    r.length = sqrt(squares);
    r.mean = sum / n;
    for (i = 0; i < n && which == SIMILAR_JMSAM; i++) r.variance += (values[i] - r.mean) * (values[i] - r.mean) / (n - 1);
    if (!takes_shares(which) || !r.positive) return r;
    r.share = room;
    r.logarithm = room + n;
    for (i = 0; i < n; i++) {
        r.share[i] = values[i] / sum;
        r.logarithm[i] = log(r.share[i]);
    }
    return r;
}

/* The cosines with all spectra, from -1 to 1, or NaN. Sums of several spectra side by side need not wait for each other, and
   each is added up in the order of the bands. */
static void cosines_of(const similarity_plan *p, const rated_spectrum *pixel, double *cosines) {
    int k, i, l;
    for (k = 0; k < p->count; k += SIDE) {
        const double *values = p->side_by_side + elements(k, p->n);
        double sum[SIDE];
        for (l = 0; l < SIDE; l++) sum[l] = 0;
        for (i = 0; i < p->n; i++) {
            const double value = pixel->values[i];
            for (l = 0; l < SIDE; l++) sum[l] += value * values[l];
            values += SIDE;
        }
        for (l = 0; l < SIDE && k + l < p->count; l++)
            cosines[k + l] = limited(sum[l] / (pixel->length * p->spectra[k + l].length), -1, 1);
    }
}

static double *put_side_by_side(const similarity_plan *p) {
    double *to = ALLOCATE(double, elements(p->count + SIDE - 1, p->n));
    int k, i;
    for (k = 0; k < p->count; k++)
        for (i = 0; i < p->n; i++)
            to[elements(k / SIDE * SIDE, p->n) + elements(i, SIDE) + (size_t)(k % SIDE)] = p->spectra[k].values[i];
    return to;
}

/* NaN where the angle is not below a right one. */
static double tangent_of(double cosine) {
    if (!(cosine > 0)) return NO_NUMBER;
    return sqrt(1 - cosine * cosine) / cosine;
}

static double divergence_of(int n, const rated_spectrum *a, const rated_spectrum *b) {
    double sum = 0;
    int i;
    for (i = 0; i < n; i++) sum += (a->share[i] - b->share[i]) * (a->logarithm[i] - b->logarithm[i]);
    return sum;
}

static double rms_difference(int n, const rated_spectrum *a, const rated_spectrum *b) {
    double sum = 0;
    int i;
    for (i = 0; i < n; i++) sum += (a->values[i] - b->values[i]) * (a->values[i] - b->values[i]);
    return sqrt(sum / n);
}

/* Of distributions without variance it is the largest, 2, unless they are the same. */
static double jeffries_matusita(const rated_spectrum *a, const rated_spectrum *b) {
    double mean = (a->variance + b->variance) / 2, off = a->mean - b->mean, distance;
    if (!(fabs(off) > 0) && !(mean > 0)) return 0; /* both are constant and equal */
    if (!(a->variance > 0) || !(b->variance > 0)) return 2;
    distance = off * off / mean / 8 + log(mean / sqrt(a->variance * b->variance)) / 2;
    return 2 * (1 - exp(-distance));
}

/* NaN where it has no value. */
static double similarity_of(enum similarity which, int n, double cosine, const rated_spectrum *a, const rated_spectrum *b) {
    if (!a->positive || !b->positive) return NO_NUMBER;
    switch (which) {
    case SIMILAR_SAM: return acos(cosine);
    case SIMILAR_SID: return divergence_of(n, a, b);
    case SIMILAR_SIDSAM: return divergence_of(n, a, b) * tangent_of(cosine);
    case SIMILAR_NS3: return hypot(rms_difference(n, a, b), 1 - cosine);
    default: return jeffries_matusita(a, b) * tangent_of(cosine);
    }
}

/* The largest cosine is the smallest angle, and costs no arc cosine. */
static void smallest_angle(const similarity_plan *p, const double *cosines, double *outputs) {
    int best = -1, k;
    for (k = 0; k < p->count; k++)
        if (!isnan(cosines[k]) && (best < 0 || cosines[k] > cosines[best])) best = k;
    if (best < 0) return;
    outputs[0] = number_of(p->of, best);
    outputs[1] = acos(cosines[best]);
}

/* 2 n values for shares, and the cosines. */
static int similarity_room(const similarity_plan *p) { return 2 * p->n + p->count; }

static void similarity_pixel(const void *user, const double *bands, double *outputs, double *room) {
    const similarity_plan *p = (const similarity_plan *)user;
    rated_spectrum pixel = rate_spectrum(p->which, p->n, bands, room);
    double *cosines = room + 2 * p->n;
    int k;
    if (p->side_by_side) cosines_of(p, &pixel, cosines);
    if (p->best) outputs[0] = outputs[1] = NO_NUMBER;
    if (p->best && p->which == SIMILAR_SAM) {
        smallest_angle(p, cosines, outputs);
        return;
    }
    for (k = 0; k < p->count; k++) {
        double score = similarity_of(p->which, p->n, cosines[k], &pixel, &p->spectra[k]);
        if (!p->best) outputs[k] = score;
        else if (!isnan(score) && !(score >= outputs[1])) {
            outputs[0] = number_of(p->of, k);
            outputs[1] = score;
        }
    }
}

/* Spectra without a score are an error: a divergence needs values above 0, an angle a length. */
static similarity_plan similarity_plan_of(const job *j, enum similarity which, const spectra *s, const char *of) {
    similarity_plan p = SHS_ZERO;
    int n = j->cube.band_count, k, b;
    double *values = ALLOCATE(double, (size_t)n *(size_t)s->count), *room;
    char number[12];
    if (n < 2)
        fail(EXIT_ERROR, "%s: --method %s: needs 2 bands at least, and 1 is in use", j->in.header_name,
             similarity_names[which]);
    p.which = which;
    p.n = n;
    p.count = s->count;
    p.of = s;
    p.spectra = ALLOCATE(rated_spectrum, s->count);
    for (k = 0; k < s->count; k++) {
        room = ALLOCATE(double, 2 * n);
        for (b = 0; b < n; b++) values[b] = (double)s->values[(size_t)k * (size_t)n + (size_t)b];
        p.spectra[k] = rate_spectrum(which, n, values, room);
        if (!p.spectra[k].positive)
            fail(EXIT_ERROR, "%s: %s: spectrum %s has a value that is not above 0, and its divergence has none there", of,
                 similarity_names[which], target_name(s, k, number));
        if (!(p.spectra[k].length > 0))
            fail(EXIT_ERROR, "%s: spectrum %s is 0 in all bands in use", of, target_name(s, k, number));
        values += n;
    }
    if (which != SIMILAR_SID) p.side_by_side = put_side_by_side(&p);
    return p;
}

/* ---- detect by similarity ----------------------------------------------------------------------------------------- */

/* The name's place; -1: it is a detector of the library. */
static int similarity_named(const char *name) {
    int i;
    for (i = 0; name && i < SIMILARITIES; i++)
        if (!strcmp(name, similarity_names[i])) return i;
    return -1;
}

/* What options of detectors mean nothing to similarities. */
static void check_similarity(const settings *s) {
    const char *name = NULL;
    if (s->pixels.fit_step > 1) name = "--fit-step";
    if (s->output.rescale) name = "--rescale";
    if (s->pixels.fit_only) name = "--fit-only";
    if (s->detect.undesired) name = "--undesired";
    if (s->fit.ridge > 0) fail(EXIT_USAGE, "--ridge: mf, cem, ace, sace and glrt have a background, similarities do not");
    if (s->detect.background) fail(EXIT_USAGE, "--background: mf, cem, ace, sace and glrt have one, similarities do not");
    if (s->pixels.classes && s->pixels.id < 0) fail(EXIT_USAGE, "--class: --id K says which");
    if (name) fail(EXIT_USAGE, "%s: mf, cem, ace, sace, glrt, osp and amsd take it, similarities do not", name);
}

/* Pixels without a score are missing in the output. */
static double similarity_map(job *j, const similarity_plan *p, int outputs) {
    double valid;
    j->out.has_nodata = 1;
    if (!is_integer(j->out.type)) { /* a score may be any number */
        j->out.nodata = NO_NUMBER;
        j->sink.has_nodata = 0;
    }
    valid = each_pixel(j, outputs, similarity_room(p), similarity_pixel, p);
    if (!(valid > 0))
        fail(EXIT_ERROR, "%s: no pixel has a score: they are missing%s", j->in.header_name,
             takes_shares(p->which) ? ", or each has a band that is not above 0" : "");
    return valid;
}

typedef struct match_sums {
    double pixels, score;
} match_sums;

/* How many pixels each spectrum matches best, and their mean score. */
static match_sums *sum_matches(const cube_file *written, const spectra *of) {
    cube_file map = cube_open(written->header_name, written->data_name);
    match_sums *sums = ALLOCATE(match_sums, of->count);
    char *line = room_for_lines(&map, 1);
    int x, y, k, numbers = number_of(of, of->count - 1), *place = ALLOCATE(int, numbers);
    for (k = 0; k < of->count; k++) place[number_of(of, k) - 1] = k;
    for (y = 0; y < map.lines; y++) {
        must_read(&map, y, 1, line);
        for (x = 0; x < map.samples; x++) {
            double best = get_value(line, value_index(&map, 1, 0, x, 0), map.type, map.swap);
            if (is_missing(&map, best) || !(best >= 1) || best > numbers) continue;
            k = place[(int)best - 1];
            sums[k].pixels++;
            sums[k].score += get_value(line, value_index(&map, 1, 0, x, 1), map.type, map.swap);
        }
    }
    free(place);
    free(line);
    cube_close(&map);
    return sums;
}

static void match_report(const job *j, const spectra *s, const match_sums *sums) {
    FILE *file = open_for_writing(j->s->output.report);
    int k;
    fprintf(file, "number,name,pixels,mean score\n");
    for (k = 0; k < s->count; k++) {
        fprintf(file, "%d,", number_of(s, k));
        print_field(file, or_empty(s->names[k]));
        fprintf(file, ",%.0f,", sums[k].pixels);
        if (sums[k].pixels > 0) fprintf(file, "%.9g", sums[k].score / sums[k].pixels);
        fputc('\n', file);
    }
    close_written(file, j->s->output.report);
}

static void match_page(job *j, const spectra *s, const match_sums *sums, const char *method) {
    FILE *page = html_begin(j, "Band", NULL);
    int k;
    if (!page) return;
    html_heading(page, "Best matches");
    fprintf(page, "<div class=\"wide\"><table><tr><th>number<th>spectrum<th>pixels<th>mean %s\n", method);
    for (k = 0; k < s->count; k++) {
        if (!(sums[k].pixels > 0)) continue;
        fprintf(page, "<tr><td>%d<td>", number_of(s, k));
        html_text(page, or_empty(s->names[k]));
        fprintf(page, "<td>%.0f<td>%.5g\n", sums[k].pixels, sums[k].score / sums[k].pixels);
    }
    fprintf(page, "</table></div>\n");
    html_spectra(page, j, s, "Spectra of the library");
    html_finish(j, page);
}

static void print_matches(const spectra *s, const match_sums *sums, const char *method) {
    char number[12];
    int k;
    for (k = 0; k < s->count; k++)
        if (sums[k].pixels > 0)
            printf("%d %s: %.0f pixels, mean %s %.4g\n", number_of(s, k), target_name(s, k, number), sums[k].pixels, method,
                   sums[k].score / sums[k].pixels);
}

/* Two bands: which spectrum of the library is most alike, from 1, and its score. */
static void run_library(const settings *s, char **names) {
    static char best[] = "Best match", score_words[] = "Score";
    static char *const band_names[2] = {best, score_words};
    int which = SIMILAR_SAM;
    similarity_plan p;
    match_sums *sums;
    spectra library;
    double valid;
    job *j;
    if (s->method) which = similarity_named(s->method);
    if (which < 0) fail(EXIT_USAGE, "--method: %s: --library takes sam, sid, sidsam, ns3 and jmsam", s->method);
    if (s->detect.target) fail(EXIT_USAGE, "--library: --target says already which spectra");
    if (s->detect.truth || s->detect.roc)
        fail(EXIT_USAGE, "--%s: needs --target, not --library", s->detect.truth ? "truth" : "roc");
    check_similarity(s);
    if (is_integer(chosen_type(s->output.type, SHS_TYPE_F32)))
        fail(EXIT_USAGE, "--type: %s: scores of a library are written as f32 or f64", s->output.type);
    will_read_spectra(s->unmix.library);
    j = job_open(s, DETECT, names[0], names[1]);
    library = spectra_of(j, "--library", s->unmix.library);
    p = similarity_plan_of(j, (enum similarity)which, &library, s->unmix.library);
    p.best = 1;
    output_start(j, 2, "Best matches in ");
    valid = similarity_map(j, &p, 2) / 2;
    j->out.names = band_names;
    output_show(j, "Band", NULL);
    sums = sum_matches(&j->out, &library);
    print_matches(&library, sums, similarity_names[which]);
    if (s->output.report) match_report(j, &library, sums);
    match_page(j, &library, sums, similarity_names[which]);
    printf("seconds=%.3f spectra=%d pixels=%.0f\n", j->written - j->start, library.count, valid);
    free(sums);
    spectra_free(&library);
    job_close(j);
}

#endif /* HYPERCUBE_SIMILARITY */
