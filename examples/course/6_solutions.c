/* 6_solutions.c - the exercises of lesson 6, each a function that checks its result. */
#include "course.h"

/* 1. The harmonic series in float, from its large terms down and from its small ones up. Small terms that are added to a large
   sum lose their digits; added to each other first, they do not. */
static void exercise_1(void) {
    enum { N = 1 << 21 };
    float down = 0, up = 0;
    double truth = 0, error_down, error_up;
    int i;
    for (i = 1; i <= N; i++) down += 1 / (float)i;
    for (i = N; i >= 1; i--) up += 1 / (float)i;
    for (i = N; i >= 1; i--) truth += 1 / (double)i;
    error_down = fabs((double)down / truth - 1);
    error_up = fabs((double)up / truth - 1);
    printf("  the harmonic series: error %.2g from above, %.2g from below\n", error_down, error_up);
    /* The roundings are at most 2^-24 of each partial sum, and these add up to about N. */
    agrees("1: from below", error_up, ldexp((double)N / truth, -24));
    agrees("1: from below over from above", error_up / error_down, 0.1);
}

/* 2. Kahan takes the loss off the next number, and loses that where the next number is larger than the sum. Neumaier measures
   the loss of whichever was the smaller one, and adds all losses at the end. */
static float neumaier(int n, const float *x) {
    float sum = 0, lost = 0;
    int i;
    for (i = 0; i < n; i++) {
        float t = sum + x[i];
        if (fabsf(sum) >= fabsf(x[i])) lost += (sum - t) + x[i];
        else lost += (x[i] - t) + sum;
        sum = t;
    }
    return sum + lost;
}
static float kahan(int n, const float *x) {
    float sum = 0, lost = 0;
    int i;
    for (i = 0; i < n; i++) {
        float y = x[i] - lost, t = sum + y;
        lost = (t - sum) - y;
        sum = t;
    }
    return sum;
}
static void exercise_2(void) {
    static const float x[] = {1, 1e20f, 1, -1e20f}; /* 2 */
    printf("  1 + 1e20 + 1 - 1e20: %g by Kahan, %g by Neumaier\n", (double)kahan(4, x), (double)neumaier(4, x));
    agrees("2: Neumaier", fabs((double)neumaier(4, x) - 2), 0);
    agrees("2: Kahan finds nothing of it", fabs((double)kahan(4, x)), 0);
}

/* 3. The largest of n values and where it stands, by a tree over any number of items: of equal values the first. With that rule
   the largest of two candidates is associative and commutative, so that no order changes the result. */
static int first_largest(int n, const float *x) {
    int i, at = 0;
    for (i = 1; i < n; i++)
        if (x[i] > x[at]) at = i;
    return at;
}
static int largest_by_items(int items, int n, const float *x) {
    int where[64], item, half, i;
    for (item = 0; item < items; item++) {
        if (item < n) where[item] = item;
        else where[item] = -1;
        for (i = item + items; i < n; i += items)
            if (x[i] > x[where[item]]) where[item] = i;
    }
    for (half = items / 2; half > 0; half /= 2)
        for (item = 0; item < half; item++) {
            int a = where[item], b = where[item + half];
            if (b >= 0 && (a < 0 || x[b] > x[a] || (!(x[b] < x[a]) && b < a))) where[item] = b;
        }
    return where[0];
}
static void exercise_3(void) {
    static float x[500];
    int n, i, items, wrong = 0;
    shs_random random;
    shs_random_seed(&random, 3);
    for (n = 1; n <= 500; n += 7) {
        for (i = 0; i < n; i++) x[i] = (float)shs_random_below(&random, 20); /* many are equal */
        for (items = 1; items <= 64; items *= 2) wrong += largest_by_items(items, n, x) != first_largest(n, x);
    }
    agrees("3: largest values found elsewhere", wrong, 0);
}

/* 4. A sum that no order changes. Each float becomes a whole number of units of 2^-38, and whole numbers add up without
   rounding. Values are below 1, so that 2^24 of them stay below 2^63 units. What is left is the rounding of each to a unit. */
static double sum_of_units(size_t n, const float *x, uint64_t seed) {
    int64_t sum = 0;
    size_t i;
    for (i = 0; i < n; i++) {
        size_t at = seed ? (size_t)shs_random_permuted(i, n, seed) : i;
        sum += (int64_t)(ldexp((double)x[at], 38) + 0.5);
    }
    return ldexp((double)sum, -38);
}
static void exercise_4(void) {
    enum { N = 20000 };
    static float x[N];
    double truth = 0, first, worst = 0;
    shs_random random;
    int i;
    shs_random_seed(&random, 4);
    for (i = 0; i < N; i++) truth += (double)(x[i] = (float)shs_random_uniform(&random));
    first = sum_of_units(N, x, 0);
    for (i = 1; i <= 20; i++) worst = fmax(worst, fabs(sum_of_units(N, x, (uint64_t)i) - first));
    agrees("4: twenty other orders", worst, 0);
    agrees("4: error", fabs(first - truth), ldexp(N, -39));
}

/* 5. A reduction of ranks without a first one: in step 1, 2, 4 ... each rank adds what the rank with that bit flipped has. As
   a + b is b + a to the bit, all ranks get the same tree's sum. A number of ranks that is no power of two folds the rest first,
   and tells them the result. Here the ranks are rows of an array. */
static void reduce(int ranks, size_t count, double *values) {
    int power = 1, step, r;
    size_t i;
    double *next = ALLOCATE(double, (size_t)ranks *count);
    while (2 * power <= ranks) power *= 2;
    for (r = power; r < ranks; r++)
        for (i = 0; i < count; i++) values[(size_t)(r - power) * count + i] += values[(size_t)r * count + i];
    for (step = 1; step < power; step *= 2) {
        for (r = 0; r < power; r++) /* all at once: what is read is what was there before the step */
            for (i = 0; i < count; i++)
                next[(size_t)r * count + i] = values[(size_t)r * count + i] + values[(size_t)(r ^ step) * count + i];
        memcpy(values, next, (size_t)power * count * sizeof *values);
    }
    for (r = power; r < ranks; r++) memcpy(values + (size_t)r * count, values, count * sizeof *values);
    free(next);
}
static void exercise_5(void) {
    enum { COUNT = 100, MOST = 9 };
    static double values[MOST * COUNT], plain[COUNT];
    int ranks, r, i, differ = 0;
    double worst = 0;
    shs_random random;
    shs_random_seed(&random, 5);
    for (ranks = 1; ranks <= MOST; ranks++) {
        memset(plain, 0, sizeof plain);
        for (r = 0; r < ranks; r++)
            for (i = 0; i < COUNT; i++) plain[i] += values[r * COUNT + i] = 1 + (double)shs_random_uniform(&random);
        reduce(ranks, COUNT, values);
        for (r = 1; r < ranks; r++) differ += memcmp(values, values + r * COUNT, COUNT * sizeof *values) != 0;
        for (i = 0; i < COUNT; i++) {
            double d = fabs(values[i] / plain[i] - 1);
            if (!(d <= worst)) worst = d;
        }
    }
    agrees("5: ranks with other bits than rank 0", differ, 0);
    agrees("5: against the plain sum", worst, ldexp(MOST, -52));
}

int main(int argc, char **argv) {
    course_begin(argc, argv, "6_solutions", "the exercises on one source everywhere");
    exercise_1();
    exercise_2();
    exercise_3();
    exercise_4();
    exercise_5();
    return course_end();
}
