/* count.h - how many materials a scene holds: the mode `count`, and the word `auto` where an option takes a number of them. */
#ifndef HYPERCUBE_COUNT
#define HYPERCUBE_COUNT

#include "job.h"

/* Of the pixels that are fitted to. */
static shs_moments count_moments(job *j) {
    shs_moments m = SHS_ZERO;
    check_job(j, run_cube(j, call_on(make_moments, &j->fit, NULL, NULL, &m)));
    progress_clear();
    return m;
}

/* As check_job, with the words of the options that the noise came by. */
static void check_count(job *j, shs_counter method, shs_wide pixels, shs_status status) {
    const char *noise = j->s->noise.covariance;
    if (j->s->noise.dark) noise = j->s->noise.dark;
    if (status == SHS_SINGULAR_COVARIANCE && noise)
        fail(EXIT_ERROR, "%s: the noise of %s is singular: %s needs noise in every band", j->in.header_name, noise,
             shs_counter_name(method));
    if (status == SHS_SINGULAR_COVARIANCE && pixels <= (shs_wide)j->cube.band_count)
        fail(EXIT_ERROR, "%s: pixels: %.0f valid ones, but %s needs more than there are bands in use (%d)", j->in.header_name,
             (double)pixels, shs_counter_name(method), j->cube.band_count);
    if (status == SHS_SINGULAR_COVARIANCE) fail_for_dead_bands(j, SHS_ZERO_VARIANCE);
    if (status == SHS_SINGULAR_COVARIANCE)
        fail(EXIT_ERROR, "%s: some band is a linear function of others, so its noise cannot be estimated: --bands without it, or "
                         "--noise-covariance FILE", j->in.header_name);
    check_job(j, status);
}

static int count_by(job *j, const shs_moments *m, shs_counter method) {
    shs_count_options o = SHS_ZERO;
    int count = 0;
    o.method = method;
    o.false_alarm = (shs_wide)j->s->false_alarm;
    o.noise = j->noise;
    check_count(j, method, m->count, shs_count_materials(&j->ctx, m, &o, &count));
    return count;
}

/* The method that an option named; by: 1 + its number. */
static shs_counter counter_of(int by) { return (shs_counter)(by - 1); }

/* The number that `auto` stands for; it is said. least: fewer are an error. */
static int counted_automatically(job *j, const char *option_name, shs_counter method, int least) {
    shs_moments m;
    int count;
    if (j->cube.band_count < 2)
        fail(EXIT_ERROR, "%s: %s %s: needs 2 bands at least, and %d is in use", j->in.header_name, option_name,
             shs_counter_name(method), j->cube.band_count);
    m = count_moments(j);
    count = count_by(j, &m, method);
    printf("%s counts %d material%s: %s %d\n", shs_counter_name(method), count, plural_s(count), option_name, count);
    if (count < least)
        fail(EXIT_ERROR, "%s: %s %s: it counts %d, and %d are needed at least: give a number", j->in.header_name, option_name,
             shs_counter_name(method), count, least);
    shs_moments_free(&j->ctx, &m);
    return count;
}

/* Settings of the job with numbers in place of `auto`. */
static void settle_counts(job *j) {
    settings *own;
    if (!j->s->fit.components_by && !j->s->extract.count_by) return;
    own = ALLOCATE(settings, 1);
    *own = *j->s;
    if (own->fit.components_by)
        own->fit.components = counted_automatically(j, "--components", counter_of(own->fit.components_by), 1);
    if (own->extract.count_by) own->extract.count = counted_automatically(j, "--count", counter_of(own->extract.count_by), 2);
    j->counted = own;
    j->s = own;
}

/* A job whose numbers are known. */
static job *job_open_counted(const settings *s, enum mode mode, const char *name, const char *out_name) {
    job *j = job_open(s, mode, name, out_name);
    settle_counts(j);
    return j;
}

static void run_count(const settings *s, const char *name) {
    const char *names[SHS_COUNTER_COUNT];
    int i, which = -1, count = 0;
    FILE *report = NULL;
    shs_moments m;
    job *j;
    for (i = 0; i < SHS_COUNTER_COUNT; i++) names[i] = shs_counter_name((shs_counter)i);
    if (s->method) which = choose("--method", s->method, names, SHS_COUNTER_COUNT);
    if (s->false_alarm > 0.5) fail(EXIT_USAGE, "--false-alarm: %g is more than 0.5", s->false_alarm);
    if (s->false_alarm > 0 && which == SHS_COUNTER_HYSIME) fail(EXIT_USAGE, "--false-alarm: hfc and nwhfc take it, hysime does not");
    j = job_open(s, COUNT, name, NULL);
    if (j->cube.band_count < 2)
        fail(EXIT_ERROR, "%s: count needs 2 bands at least, and %d is in use", j->in.header_name, j->cube.band_count);
    will_read(j->in.header_name);
    will_read(j->in.data_name);
    if (s->output.report) will_write(s->output.report);
    m = count_moments(j);
    if (s->output.report) report = open_for_writing(s->output.report);
    if (report) fprintf(report, "method,count\n");
    for (i = SHS_COUNTER_COUNT - 1; i >= 0; i--) {
        if (which >= 0 && i != which) continue;
        count = count_by(j, &m, (shs_counter)i);
        printf("%-6s  %d\n", names[i], count);
        if (report) fprintf(report, "%s,%d\n", names[i], count);
    }
    if (report) close_written(report, s->output.report);
    tell_beyond(&j->in);
    printf("seconds=%.3f count=%d bands=%d pixels=%.0f\n", wall_clock() - j->start, count, j->cube.band_count, (double)m.count);
    shs_moments_free(&j->ctx, &m);
    job_close(j);
}

#endif /* HYPERCUBE_COUNT */
