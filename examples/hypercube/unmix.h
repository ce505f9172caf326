/* unmix.h - what pixels are mixed of: endmembers from the cube itself or a table, and how much of each a pixel holds.

   Endmembers are pixels of the cube, or learnt: then pixels are nonnegative sparse codes in a nonnegative dictionary. */
#ifndef HYPERCUBE_UNMIX
#define HYPERCUBE_UNMIX

#include "count.h"
#include "sparse.h"

/* The method of that name, or SHS_EXTRACTOR_COUNT. */
static shs_extractor extractor_named(const char *text) {
    int i = 0;
    while (i < SHS_EXTRACTOR_COUNT && strcmp(text, shs_extractor_name((shs_extractor)i))) i++;
    return (shs_extractor)i;
}

/* As check_job, with the words of the options that endmembers came by. */
static void check_unmixing(job *j, shs_status status) {
    const settings *s = j->s;
    if (s->extract.count && (status == SHS_BAD_COMPONENTS || status == SHS_RANK_TOO_LOW))
        fail(EXIT_ERROR, "%s: --count %d: %s", j->in.header_name, s->extract.count, shs_status_text(status));
    if (s->unmix.endmembers && (status == SHS_BAD_ENDMEMBERS || status == SHS_DEPENDENT_ENDMEMBERS))
        fail(EXIT_ERROR, "%s: --endmembers %s: %s", j->in.header_name, s->unmix.endmembers, shs_status_text(status));
    check_job(j, status);
}

static shs_endmembers endmembers_of(job *j, shs_extractor method) {
    shs_endmember_options options = SHS_ZERO;
    shs_endmembers found = SHS_ZERO;
    if (!j->s->extract.count) fail(EXIT_USAGE, "--count: is needed: how many endmembers");
    if (j->s->extract.count < 2 && method != SHS_EXTRACTOR_ATGP)
        fail(EXIT_ERROR, "%s: --count %d: components: %s looks for 2 at least", j->in.header_name, j->s->extract.count,
             shs_extractor_name(method));
    options.method = method;
    options.count = j->s->extract.count;
    options.seed = j->s->seed;
    check_unmixing(j, run_cube(j, call_on(make_endmembers, &j->fit, NULL, &options, &found)));
    progress_clear();
    return found;
}

/* Pixels of the cube, named by the method and their place in the file. */
static spectra spectra_from_cube(job *j, shs_extractor method) {
    shs_endmembers found = endmembers_of(j, method);
    spectra s = SHS_ZERO;
    size_t bytes;
    int k;
    bytes = elements(found.count, found.bands) * sizeof(shs_wide);
    s.count = found.count;
    s.names = ALLOCATE(char *, found.count);
    s.values = (shs_wide *)allocate(bytes, 1);
    memcpy(s.values, found.spectra, bytes);
    for (k = 0; k < found.count; k++) {
        char name[80];
        int x = pixel_sample(&j->in, found.pixel[k]), y = pixel_line(&j->in, found.pixel[k]);
        sprintf(name, "%s %d %d", shs_extractor_name(method), x, y);
        s.names[k] = joined(name, "");
        printf("endmember %d: pixel %d,%d\n", k + 1, x, y);
    }
    shs_endmembers_free(&j->ctx, &found);
    return s;
}

/* ---- pixel purity ------------------------------------------------------------------------------------------------- */

enum { SKEWERS = 1000 };

/* How often each pixel is extreme along random directions. */
static int *purity_of(job *j) {
    int n = j->cube.band_count, skewers = number_or(j->s->extract.skewers, SKEWERS);
    shs_wide threshold = (shs_wide)j->s->threshold, *directions = ALLOCATE(shs_wide, elements(skewers, n));
    int *counts = ALLOCATE(int, elements(j->in.lines, j->in.samples));
    cube_call call = call_on(make_ppi, &j->fit, NULL, &threshold, counts);
    shs_ppi_skewers(n, skewers, j->s->seed, directions);
    call.count = skewers;
    call.spectra = directions;
    check_job(j, run_cube(j, call));
    progress_clear();
    free(directions);
    return counts;
}

typedef struct rated_pixel {
    size_t pixel;
    int count;
} rated_pixel;

/* High counts first, of equal ones the first pixel. */
static int by_purity(const void *a, const void *b) {
    const rated_pixel *x = (const rated_pixel *)a;
    const rated_pixel *y = (const rated_pixel *)b;
    if (x->count != y->count) return (y->count > x->count) - (y->count < x->count);
    return (x->pixel > y->pixel) - (x->pixel < y->pixel);
}

/* a'a, b'b, a'b and (a - b)'(a - b) of two spectra. */
typedef struct pair_products {
    double aa, bb, ab, between;
} pair_products;

static pair_products products_of(int p, const shs_wide *a, const shs_wide *b) {
    pair_products s = SHS_ZERO;
    int i;
    for (i = 0; i < p; i++) {
        const double x = (double)a[i], y = (double)b[i];
        s.aa += x * x;
        s.bb += y * y;
        s.ab += x * y;
        s.between += (x - y) * (x - y);
    }
    return s;
}

/* In radians. */
static double angle_between(int p, const shs_wide *a, const shs_wide *b) {
    const pair_products s = products_of(p, a, b);
    return acos(limited(s.ab / sqrt(s.aa * s.bb), -1, 1));
}

/* The pixels of the highest counts, each at --angle at least from those before. */
static spectra spectra_by_purity(job *j) {
    int p = j->cube.band_count, wanted = j->s->extract.count, *counts, b, k;
    const char *way_out = "";
    size_t pixels = elements(j->in.lines, j->in.samples), extreme = 0, i;
    rated_pixel *order = ALLOCATE(rated_pixel, pixels);
    char *line = room_for_lines(&j->in, 1);
    cube_file map = SHS_ZERO;
    spectra s = SHS_ZERO;
    if (j->s->extract.counts) map = side_create(j, j->s->extract.counts, SHS_TYPE_I32, -1, "Pixel purity index of ");
    counts = purity_of(j);
    for (i = 0; i < pixels; i++) {
        order[extreme].pixel = i;
        order[extreme].count = counts[i];
        extreme += counts[i] > 0;
    }
    qsort(order, extreme, sizeof *order, by_purity);
    s.names = ALLOCATE(char *, wanted);
    s.values = ALLOCATE(shs_wide, elements(wanted, p));
    for (i = 0; i < extreme && s.count < wanted; i++) {
        int x = column_of(order[i].pixel, j->in.samples), y = row_of(order[i].pixel, j->in.samples);
        shs_wide *own = s.values + elements(s.count, p);
        char name[80];
        must_read(&j->in, y, 1, line);
        for (b = 0; b < p; b++)
            own[b] = (shs_wide)get_value(line, value_index(&j->in, 1, 0, x, j->bands[b]), j->in.type, j->in.swap);
        for (k = 0; k < s.count && !(angle_between(p, own, s.values + elements(k, p)) < j->s->extract.angle);) k++;
        if (k < s.count) continue;
        x = pixel_sample(&j->in, order[i].pixel);
        y = pixel_line(&j->in, order[i].pixel);
        sprintf(name, "ppi %d %d", x, y);
        s.names[s.count++] = joined(name, "");
        printf("endmember %d: pixel %d,%d, extreme %d times\n", s.count, x, y, order[i].count);
    }
    if (j->s->extract.angle > 0) way_out = ", or a smaller --angle";
    if (s.count < wanted)
        fail(EXIT_ERROR, "%s: --count %d: %d found among %zu extreme pixels: more --skewers%s", j->in.header_name, wanted,
             s.count, extreme, way_out);
    if (j->s->extract.counts) {
        side_write(&map, 0, j->in.lines, counts); /* -1 where a pixel is missing */
        side_finish(j, &map, "Times extreme");
    }
    free(order);
    free(counts);
    free(line);
    return s;
}

/* ---- learnt ones -------------------------------------------------------------------------------------------------- */

enum { LEARN_PIXELS = 50000, LEARN_ITERATIONS = 50 };

/* Every k-th of the pixels that are used, where it has all bands in use, as columns. */
static shs_real *pixels_to_learn(job *j, size_t *count) {
    const cube_file *in = &j->in;
    size_t pixels = elements(in->lines, in->samples), step = (pixels + LEARN_PIXELS - 1) / LEARN_PIXELS, i = 0;
    int p = j->cube.band_count, x, y, b;
    char *line = room_for_lines(in, 1);
    unsigned char *room = ALLOCATE(unsigned char, in->samples);
    shs_real *Y = (shs_real *)allocate((pixels / step + 1) * (size_t)p, sizeof(shs_real));
    *count = 0;
    for (y = 0; y < in->lines; y++) {
        const unsigned char *marks = marks_of(j, y, 1, room);
        must_read(&j->in, y, 1, line);
        for (x = 0; x < in->samples; x++) {
            shs_real *to = Y + *count * (size_t)p;
            if ((marks && !marks[x]) || i++ % step) continue;
            for (b = 0; b < p; b++) {
                double value = get_value(line, value_index(in, 1, 0, x, j->bands[b]), in->type, in->swap);
                if (is_missing(in, value)) break;
                to[b] = (shs_real)value;
            }
            *count += b == p;
        }
    }
    free(room);
    free(line);
    return Y;
}

/* Estimates the coefficient of atom j in a pure pixel: 1 % of the pixels have a larger coefficient. If fewer pixels hold the
   atom, the largest coefficient. */
static double whole_of(const shs_codes *codes, int j, double *room) {
    size_t i;
    int k;
    for (i = 0; i < codes->m; i++) {
        const int *atoms = codes->atoms + i * (size_t)codes->stride;
        const shs_real *coefs = codes->coefs + i * (size_t)codes->stride;
        room[i] = 0;
        for (k = 0; k < codes->used[i]; k++)
            if (atoms[k] == j) room[i] = (double)coefs[k];
    }
    qsort(room, codes->m, sizeof *room, ascending);
    if (room[codes->m - 1 - codes->m / 100] > 0) return room[codes->m - 1 - codes->m / 100];
    return room[codes->m - 1];
}

/* A nonnegative dictionary with nonnegative codes, from ATGP's pixels on. Its atoms get the length of pixels that hold nothing
   else. */
static spectra spectra_learnt(job *j) {
    shs_endmembers from = endmembers_of(j, SHS_EXTRACTOR_ATGP);
    shs_ksvd_options o = SHS_ZERO;
    shs_ksvd_report report = SHS_ZERO;
    signals_work work = SHS_ZERO;
    shs_codes codes = SHS_ZERO;
    spectra s = SHS_ZERO;
    size_t p = (size_t)from.bands, n = (size_t)from.count, m, i, k;
    shs_real *D = ALLOCATE(shs_real, p * n), *Y = pixels_to_learn(j, &m);
    double *room = ALLOCATE(double, m);
    for (i = 0; i < p * n; i++) D[i] = (shs_real)from.spectra[i];
    o.nonnegative = 1;
    o.start = SHS_START_GIVEN;
    o.replace = SHS_REPLACE_LEAVE;
    o.iterations = LEARN_ITERATIONS;
    if (j->s->unmix.sparsity) o.coding.sparsity = j->s->unmix.sparsity;
    else if (from.count < 3) o.coding.sparsity = from.count;
    else o.coding.sparsity = 3;
    if (o.coding.sparsity > from.count)
        fail(EXIT_USAGE, "--sparsity: %d is more than --count %d", o.coding.sparsity, from.count);
    check_job(j, shs_codes_create(&j->ctx, m, o.coding.sparsity, &codes));
    work.p = from.bands;
    work.n = from.count;
    work.m = m;
    work.Y = Y;
    work.D = D;
    work.learning = &o;
    work.codes = &codes;
    work.report = &report;
    check_job(j, learn_on_devices(&j->ctx, &work));
    progress_clear();
    s.count = from.count;
    s.names = ALLOCATE(char *, n);
    s.values = ALLOCATE(shs_wide, p * n);
    for (k = 0; k < n; k++) {
        double whole = whole_of(&codes, (int)k, room);
        char name[40];
        if (!(whole > 0))
            fail(EXIT_ERROR, "%s: --count %d: no pixel holds endmember %zu", j->in.header_name, from.count, k + 1);
        for (i = 0; i < p; i++) s.values[k * p + i] = (shs_wide)(whole * (double)D[k * p + i]);
        sprintf(name, "learnt %zu", k + 1);
        s.names[k] = joined(name, "");
    }
    printf("endmembers learnt from %zu pixels: %d, at most %d a pixel, rms error %.6g\n", m, s.count, o.coding.sparsity,
           (double)report.rmse);
    free(room);
    free(D);
    free(Y);
    shs_codes_free(&j->ctx, &codes);
    shs_endmembers_free(&j->ctx, &from);
    return s;
}

/* Whether the text says how endmembers are made of the cube; otherwise it names a table. */
static int makes_endmembers(const char *text) {
    return !strcmp(text, "learn") || !strcmp(text, "ppi") || extractor_named(text) < SHS_EXTRACTOR_COUNT;
}

static void must_make_endmembers(const char *text) {
    if (!makes_endmembers(text))
        fail(EXIT_USAGE, "--method: %s is unknown; known are vca, nfindr, atgp, ppi, learn", text);
}

static spectra endmembers_by(job *j, const char *text) {
    if (!strcmp(text, "learn")) return spectra_learnt(j);
    if (j->s->unmix.sparsity) fail(EXIT_USAGE, "--sparsity: only learn takes it");
    if (!strcmp(text, "ppi")) return spectra_by_purity(j);
    if (makes_endmembers(text)) return spectra_from_cube(j, extractor_named(text));
    return spectra_from_table(j, text);
}

/* ---- what is known of them ---------------------------------------------------------------------------------------- */

/* Pairs each row of the costs (n x n, finite) with a column of its own, so that their sum is least: the Hungarian method, which
   adds a row at a time by the cheapest path of exchanges. Rows and columns count from 1; column 0 has the row that is added. */
static void pair_least(int n, const double *cost, int *match) {
    double *of_row = ALLOCATE(double, n + 1), *of_column = ALLOCATE(double, n + 1), *least = ALLOCATE(double, n + 1);
    int *row = ALLOCATE(int, n + 1), *before = ALLOCATE(int, n + 1), added, k, at, next;
    unsigned char *seen = ALLOCATE(unsigned char, n + 1);
    for (added = 1; added <= n; added++) {
        memset(seen, 0, (size_t)n + 1);
        for (k = 0; k <= n; k++) least[k] = (double)INFINITY;
        row[0] = added;
        for (at = 0; row[at]; at = next) {
            double step = (double)INFINITY;
            seen[at] = 1;
            next = 0;
            for (k = 1; k <= n; k++) {
                const double more = cost[element_at(row[at] - 1, n, k - 1)] - of_row[row[at]] - of_column[k];
                if (seen[k]) continue;
                if (more < least[k]) before[k] = at;
                least[k] = fmin(least[k], more);
                if (least[k] < step) next = k;
                step = fmin(step, least[k]);
            }
            for (k = 0; k <= n; k++) {
                if (!seen[k]) {
                    least[k] -= step;
                    continue;
                }
                of_row[row[k]] += step;
                of_column[k] -= step;
            }
        }
        for (; at; at = before[at]) row[at] = row[before[at]];
    }
    for (k = 1; k <= n; k++) match[row[k] - 1] = k - 1;
    free(of_row);
    free(of_column);
    free(least);
    free(row);
    free(before);
    free(seen);
}

/* Which published spectrum each endmember is, with the least sum of angles. Returns the mean angle. */
static double match_published(const job *j, const spectra *of, const spectra *published, int *match) {
    int p = j->cube.band_count, n = of->count, a, b;
    double *angle = ALLOCATE(double, n *n), sum = 0;
    for (a = 0; a < n; a++)
        for (b = 0; b < n; b++) {
            angle[a * n + b] = angle_between(p, of->values + a * p, published->values + b * p);
            if (!isfinite(angle[a * n + b]))
                fail(EXIT_ERROR,
                     "%s: --published: spectrum %d has no angle to endmember %d: one of them is 0 in all bands in use",
                     j->s->unmix.published, b + 1, a + 1);
        }
    pair_least(n, angle, match);
    for (a = 0; a < n; a++) {
        char numbers[2][12];
        printf("endmember %s: %.3f rad from %s\n", target_name(of, a, numbers[0]), angle[a * n + match[a]],
               target_name(published, match[a], numbers[1]));
        sum += angle[a * n + match[a]];
    }
    free(angle);
    return sum / n;
}

/* The values of a pixel of a line; returns 0 where one of them is missing. */
static int take_shares(const cube_file *f, const char *line, int x, double *shares) {
    int k;
    for (k = 0; k < f->bands; k++) {
        shares[k] = get_value(line, value_index(f, 1, 0, x, k), f->type, f->swap);
        if (is_missing(f, shares[k])) return 0;
    }
    return 1;
}

/* Opens known abundances, in the unit of their header. Where they are stretched, a stored 0 is no abundance of 0. */
static cube_file known_abundances(const job *j, int count) {
    cube_file known = beside_open(j->s->unmix.abundances, &j->in, count, "the number of endmembers is");
    if (!scale_by_gains(&known)) take_zeros(&known);
    return known;
}

/* Returns the RMSE between the abundances that were written and known abundances, over the pixels that have both. */
static double abundance_error(const job *j, cube_file *known, const int *match) {
    cube_file map = cube_open(j->out.header_name, j->out.data_name);
    double *here = ALLOCATE(double, map.bands), *there = ALLOCATE(double, map.bands);
    char *line, *truth;
    (void)scale_by_gains(&map); /* stretched ones */
    double sum2 = 0, count = 0;
    int x, y, k;
    if (j->out.folded) fold_line(&map);
    line = room_for_lines(&map, 1);
    truth = room_for_lines(known, 1);
    for (y = 0; y < map.lines; y++) {
        must_read(&map, y, 1, line);
        must_read(known, y, 1, truth);
        for (x = 0; x < map.samples; x++) {
            if (!take_shares(&map, line, x, here) || !take_shares(known, truth, x, there)) continue;
            for (k = 0; k < map.bands; k++) {
                double error = here[k] - there[match[k]];
                sum2 += error * error;
                count++;
            }
        }
    }
    free(line);
    free(truth);
    free(here);
    free(there);
    cube_close(&map);
    if (count > 0) return sqrt(sum2 / count);
    return NO_NUMBER;
}

/* ---- on the page -------------------------------------------------------------------------------------------------- */

/* Every step-th pixel of line y, with NaN where it does not count, band by band. */
static void pixels_of_line(job *j, int y, int step, char *line, unsigned char *room, double *pixels) {
    const cube_file *in = &j->in;
    const unsigned char *marks = marks_of(j, y, 1, room);
    int x, b;
    must_read(&j->in, y, 1, line);
    for (x = 0; x < in->samples; x += step)
        for (b = 0; b < j->cube.band_count; b++) {
            double value = get_value(line, value_index(in, 1, 0, x, j->bands[b]), in->type, in->swap);
            if (is_missing(in, value) || (marks && !marks[x])) value = NO_NUMBER;
            *pixels++ = value;
        }
}

/* How far each of some pixels is from its mixture. Returns the sum of the squared values. mixed (p) is scratch. */
static double misfits(int p, const spectra *of, int count, const double *pixels, const double *shares, double *errors,
                      double *mixed) {
    double all = 0;
    int i, b;
    for (i = 0; i < count; i++) {
        errors[i] = misfit_of(p, of, pixels, shares, mixed);
        for (b = 0; b < p; b++)
            if (isfinite(pixels[b])) all += pixels[b] * pixels[b];
        pixels += p;
        shares += of->count;
    }
    return all;
}

/* Where the mixtures fit badly, as a picture and a histogram. Pixels are unmixed once more: what was written may be rounded. */
static void html_misfit(job *j, const spectra *of, shs_constraint constraint, FILE *page) {
    int p = j->cube.band_count, step = thumbnail_step(&j->in), y;
    picture a = picture_create((j->in.samples + step - 1) / step, (j->in.lines + step - 1) / step, 1);
    size_t count = picture_size(&a), width = (size_t)a.width, valid;
    double *errors = ALLOCATE(double, count), *sorted = ALLOCATE(double, count), *mixed = ALLOCATE(double, p);
    double *pixels = ALLOCATE(double, elements(a.width, p)), *shares = ALLOCATE(double, elements(a.width, of->count));
    double *to = errors, all = 0;
    char *line = room_for_lines(&j->in, 1);
    unsigned char *room = ALLOCATE(unsigned char, j->in.samples);
    cube_file plain = SHS_ZERO;
    shs_cube cube = SHS_ZERO;
    shs_sink sink = SHS_ZERO;
    cube.pixels = pixels;
    cube.type = SHS_TYPE_F64;
    cube.interleave = SHS_INTERLEAVE_BIP;
    cube.samples = a.width;
    cube.lines = 1;
    cube.bands = p;
    sink.pixels = shares;
    sink.type = SHS_TYPE_F64;
    sink.interleave = SHS_INTERLEAVE_BIP;
    for (y = 0; y < j->in.lines; y += step) {
        pixels_of_line(j, y, step, line, room, pixels);
        check_unmixing(j, shs_unmix(NULL, &cube, of->count, of->values, p, constraint, &sink));
        all += misfits(p, of, a.width, pixels, shares, to, mixed);
        to += width;
    }
    fprintf(page, "<h2>Where the mixtures fit badly</h2>\n<div class=\"row\">\n");
    valid = html_thumbnail(page, &plain, &a, LOOK_ALL, errors, sorted, "how far each pixel is from its mixture");
    fprintf(page, "RMSE of the fit</figcaption></figure>\n</div>\n");
    if (valid)
        fprintf(page,
                "<p>The root of the mean squared difference between a pixel and its mixture over %d bands, in the units of the "
                "pixels; bright is bad.<br>Median %.4g, largest %.4g; the pixels' own root mean square is %.4g.</p>\n",
                p, sorted[valid / 2], sorted[valid - 1], sqrt(all / ((double)valid * p)));
    free(errors);
    free(sorted);
    free(pixels);
    free(shares);
    free(mixed);
    free(line);
    free(room);
    free(a.pixels);
}

/* Endmembers have no output but the table: the page shows the cube that they are of. */
static void html_endmembers(job *j, const spectra *s) {
    char *title = described("Endmembers of ", &j->in);
    FILE *page = html_open(j, title);
    if (page) html_quicklook(page, &j->in, "the cube in false colours");
    html_spectra(page, j, s, "Spectra of the endmembers");
    html_finish(j, page);
    free(title);
}

/* ---- endmembers and unmix ----------------------------------------------------------------------------------------- */

/* What options of ppi mean nothing to other methods. */
static void check_purity(const settings *s, const char *method) {
    const char *name = NULL;
    if (s->extract.counts && !has_extension(s->extract.counts, ".hdr"))
        fail(EXIT_USAGE, "--counts: %s: the name of a header ends in .hdr", s->extract.counts);
    if (s->extract.skewers) name = "--skewers";
    if (s->threshold > 0) name = "--threshold";
    if (s->extract.angle > 0) name = "--angle";
    if (s->extract.counts) name = "--counts";
    if (name && strcmp(method, "ppi")) fail(EXIT_USAGE, "%s: --method ppi takes it, %s does not", name, method);
}

static void run_endmembers(const settings *s, char **names) {
    const char *method = "vca";
    spectra found;
    job *j;
    if (s->method) method = s->method;
    must_make_endmembers(method);
    check_purity(s, method);
    if (s->seed > 0 && (!strcmp(method, "atgp") || !strcmp(method, "learn")))
        fail(EXIT_USAGE, "--seed: vca, nfindr and ppi have random directions, %s has none", method);
    j = job_open_counted(s, ENDMEMBERS, names[0], NULL);
    will_read(j->in.header_name);
    will_read(j->in.data_name);
    will_write(names[1]);
    if (s->output.html) will_write(s->output.html);
    found = endmembers_by(j, method);
    write_spectra(j, &found, names[1]);
    html_endmembers(j, &found);
    printf("seconds=%.3f endmembers=%d bands=%d\n", wall_clock() - j->start, found.count, j->cube.band_count);
    spectra_free(&found);
    job_close(j);
}

/* ---- unmix -------------------------------------------------------------------------------------------------------- */

enum { SCALED = 4 }; /* beyond shs_constraint: nonnegative abundances, divided by their sum */

/* What two spectra differ by, as a share of the longer one. */
static double difference_share(int p, const shs_wide *a, const shs_wide *b) {
    const pair_products s = products_of(p, a, b);
    const double longer = fmax(s.aa, s.bb);
    if (!(longer > 0)) return 0; /* two spectra of zeros are the same */
    return sqrt(s.between / longer);
}

/* Ends the program for dependent endmembers, with the name of a spectrum of zeros, or of the two spectra that are most alike.
   With abundances that add up to 1, neither a spectrum of zeros nor a multiple of another one depends on the others. */
static void fail_alike(const job *j, const spectra *of, shs_constraint constraint) {
    const int sum_is_1 = constraint == SHS_CONSTRAINT_SUM || constraint == SHS_CONSTRAINT_FULL;
    const int p = j->cube.band_count;
    double least = 4; /* more than either measure */
    char numbers[2][12];
    int a = 0, b = 0, i, k;
    for (k = 0; k < of->count && !sum_is_1; k++) {
        const shs_wide *spectrum = of->values + elements(k, p);
        if (isfinite(angle_between(p, spectrum, spectrum))) continue;
        fail(EXIT_ERROR, "%s: --endmembers %s: spectrum %s is 0 in all bands in use", j->in.header_name, j->s->unmix.endmembers,
             target_name(of, k, numbers[0]));
    }
    for (k = 1; k < of->count; k++)
        for (i = 0; i < k; i++) {
            const shs_wide *one = of->values + elements(i, p), *other = of->values + elements(k, p);
            double apart;
            if (sum_is_1) apart = difference_share(p, one, other);
            else apart = sin(angle_between(p, one, other)); /* a negative is a multiple, too */
            if (!(apart < least)) continue;
            least = apart;
            a = i;
            b = k;
        }
    if (b == 0) return;
    fail(EXIT_ERROR, "%s: --endmembers %s: %s. The most alike are %s and %s", j->in.header_name, j->s->unmix.endmembers,
         shs_status_text(SHS_DEPENDENT_ENDMEMBERS), target_name(of, a, numbers[0]), target_name(of, b, numbers[1]));
}

/* Abundances into the output and errors into their cube (NULL: not wanted). Stretched abundances are known to the library alone:
   then the pixels are unmixed once more for the errors. */
static void unmix_pixels(job *j, const spectra *of, shs_constraint constraint, int scaled,
                         cube_file *misfit) {
    cube_call call = call_on(make_unmix, &j->cube, &j->sink, &constraint, NULL);
    shares_way way = SHS_ZERO;
    shs_sink sink;
    shs_status status;
    way.j = j;
    way.of = of;
    way.scaled = scaled;
    way.kept = !j->s->output.rescale;
    way.misfit = misfit;
    if (scaled && !j->out.has_nodata) j->out.nodata = NO_NUMBER;
    if (scaled) j->out.has_nodata = 1;
    sink = shares_sink(&way);
    call.count = of->count;
    call.spectra = of->values;
    if (way.kept && (scaled || misfit)) call.sink = &sink;
    status = run_cube(j, call);
    if (status == SHS_DEPENDENT_ENDMEMBERS) fail_alike(j, of, constraint);
    check_unmixing(j, status);
    call.sink = &sink;
    if (misfit && !way.kept) check_unmixing(j, run_cube(j, call));
    progress_clear();
    note_stretch(j, of->count, call);
    if (misfit) side_finish(j, misfit, "RMSE");
}

/* The same over a library. */
static void unmix_by_library(job *j, const spectra *of, cube_file *misfit) {
    sparse_plan plan = sparse_plan_of(j, of);
    shares_way way = SHS_ZERO;
    way.j = j;
    way.of = of;
    way.kept = 1;
    way.misfit = misfit;
    if (!j->out.has_nodata) j->out.nodata = NO_NUMBER;
    j->out.has_nodata = 1;
    sparse_pixels(j, &plan, &way);
    if (misfit) side_finish(j, misfit, "RMSE");
    sparse_free(&plan);
}

static void run_unmix(const settings *s, char **names) {
    static const char *const constraints[] = {"none", "nonnegative", "sum", "full", "scaled"}; /* as shs_constraint counts them */
    int chosen = SHS_CONSTRAINT_FULL;
    shs_constraint constraint;
    spectra of, published = SHS_ZERO;
    cube_file known = SHS_ZERO;
    cube_file misfit = SHS_ZERO;
    cube_file *errors = NULL;
    int *match, k, found;
    double angle = 0;
    FILE *page;
    job *j;
    if (s->unmix.constraint) chosen = choose("--constraint", s->unmix.constraint, constraints, 5);
    if (chosen == SCALED) constraint = SHS_CONSTRAINT_NONNEGATIVE;
    else constraint = (shs_constraint)chosen;
    check_sparse(s);
    if (!s->unmix.endmembers && !s->unmix.library)
        fail(EXIT_USAGE, "--endmembers: is needed: a table or vca, nfindr, atgp, ppi, learn; or --library");
    if (chosen == SCALED && (s->output.rescale || is_integer(chosen_type(s->output.type, SHS_TYPE_F32))))
        fail(EXIT_USAGE, "--constraint: scaled abundances are written as f32 or f64, and without --rescale");
    if (s->unmix.error && !has_extension(s->unmix.error, ".hdr"))
        fail(EXIT_USAGE, "--error: %s: the name of a header ends in .hdr", s->unmix.error);
    found = s->unmix.endmembers && makes_endmembers(s->unmix.endmembers);
    if (!found && s->extract.count_text) fail(EXIT_USAGE, "--count: %s says already how many", s->unmix.endmembers);
    if (found && s->unmix.abundances && !s->unmix.published)
        fail(EXIT_USAGE,
             "--abundances: --endmembers %s finds endmembers in an order of its own: --published CSV has the spectra in that "
             "of the abundances",
             s->unmix.endmembers);
    if (s->unmix.library) will_read_spectra(s->unmix.library);
    else if (!found) will_read_spectra(s->unmix.endmembers);
    if (s->unmix.published) will_read_spectra(s->unmix.published);
    j = job_open_counted(s, UNMIX, names[0], names[1]);
    if (s->unmix.error) {
        misfit = misfit_create(j, s->unmix.error);
        errors = &misfit;
    }
    if (s->unmix.published) published = spectra_from_table(j, s->unmix.published);
    if (s->unmix.library) of = spectra_of(j, "--library", s->unmix.library);
    else of = endmembers_by(j, s->unmix.endmembers);
    if (s->unmix.published && published.count != of.count)
        fail(EXIT_ERROR, "%s: --published: %d spectra, but there are %d endmembers", s->unmix.published, published.count, of.count);
    if (s->unmix.abundances) known = known_abundances(j, of.count);
    match = ALLOCATE(int, of.count);
    for (k = 0; k < of.count; k++) match[k] = k;
    if (s->unmix.published) angle = match_published(j, &of, &published, match);
    output_start(j, of.count, "Abundances in ");
    if (s->unmix.library) unmix_by_library(j, &of, errors);
    else unmix_pixels(j, &of, constraint, chosen == SCALED, errors);
    j->out.names = of.names;
    output_show(j, "Abundance", NULL);
    page = html_begin(j, "Abundance", NULL);
    if (page && !s->unmix.library) html_misfit(j, &of, constraint, page);
    html_spectra(page, j, &of, "Spectra of the endmembers");
    html_finish(j, page);
    if (s->unmix.published) printf("angle=%.4f ", angle);
    if (s->unmix.abundances) printf("rmse=%.4f ", abundance_error(j, &known, match));
    printf("seconds=%.3f ", j->written - j->start);
    if (s->unmix.library) printf("spectra=%d method=%s\n", of.count, s->method ? s->method : sparse_names[SPARSE_LASSO]);
    else printf("endmembers=%d constraint=%s\n", of.count, constraints[chosen]);
    free(match);
    cube_close(&known);
    spectra_free(&published);
    spectra_free(&of);
    job_close(j);
}

#endif /* HYPERCUBE_UNMIX */
