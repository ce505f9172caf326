/* 6_solutions.c - the exercises of lesson 6, solved. make test-course LESSONS=6 runs the checks. skeleton.sh 6 prints this file
   without the parts between YOUR TURN and END OF YOUR TURN. */
#include "course.h"

/* 1. The harmonic series in float, from its largest term down and from its smallest term up. */
static float from_largest(int n) {
    float sum = 0;
    /* YOUR TURN: add 1/k for k = 1 .. n in float, the largest term first. */
    /* A small term loses its digits when it is added to a large sum. A term of at most half of the sum's last digit has no
       effect. The last digit of a sum from 8 to 16 is 2^-20, so the sum stops growing at k = 2^21. */
    int i;
    for (i = 1; i <= n; i++) sum += 1 / (float)i;
    /* END OF YOUR TURN */
    return sum;
}
static float from_smallest(int n) {
    float sum = 0;
    /* YOUR TURN: the same sum, the smallest term first. */
    /* The small terms come first: added to each other, they keep their digits. */
    int i;
    for (i = n; i >= 1; i--) sum += 1 / (float)i;
    /* END OF YOUR TURN */
    return sum;
}
static void exercise_1(void) {
    enum { N = 1 << 22 };
    const float down = from_largest(N), half = from_largest(N / 2), up = from_smallest(N);
    const double stops_at = 15.4036827;
    double truth = 0, error_down, error_up;
    int i;
    for (i = N; i >= 1; i--) truth += 1.0 / i;
    error_down = fabs(down / truth - 1);
    error_up = fabs(up / truth - 1);
    printf("  the harmonic series: error %.2g from its largest term, %.2g from its smallest term\n", error_down, error_up);
    /* A rounding is at most 2^-24 of its partial sum, and the partial sums add up to about N. */
    agrees("1: error from the smallest term", error_up, ldexp(N / truth, -24));
    /* Every term and every sum is rounded to float, so that all machines stop at the same number. */
    agrees("1: the sum from the largest term less 15.4036827, where it stops", fabs(down - stops_at), 1e-6);
    agrees("1: the same of half as many terms", fabs(half - stops_at), 1e-6);
}

/* 2. Kahan's sum, and a sum that gets 1, 1e20, 1, -1e20 right. */
static float mended(int n, const float *x) {
    float sum = 0, lost = 0;
    int i;
    /* YOUR TURN: the sum of x, and in `lost` the rounding errors of its additions. */
    /* Neumaier: measure what the smaller of the two numbers lost, and add all losses at the end. Kahan subtracts the loss from the
       next number, and a next number that is larger than the sum swallows the loss. */
    for (i = 0; i < n; i++) {
        float t = sum + x[i];
        if (fabsf(sum) >= fabsf(x[i])) lost += (sum - t) + x[i];
        else lost += (x[i] - t) + sum;
        sum = t;
    }
    /* END OF YOUR TURN */
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
    enum { COUNT = 20000 };
    static const float x[] = {1, 1e20f, 1, -1e20f}, flipped[] = {1, -1e20f, 1, 1e20f}; /* 2 each */
    static float numbers[COUNT];
    double truth = 0;
    shs_random random;
    int i;
    shs_random_seed(&random, 2);
    for (i = 0; i < COUNT; i++) {
        numbers[i] = (float)shs_random_uniform(&random);
        truth += numbers[i];
    }
    printf("  1 + 1e20 + 1 - 1e20: %g by Kahan, %g mended\n", kahan(4, x), mended(4, x));
    agrees("2: the mended sum less 2", fabs(mended(4, x) - 2.0), 0);
    agrees("2: the mended sum of 1, -1e20, 1, 1e20 less 2", fabs(mended(4, flipped) - 2.0), 0);
    agrees("2: error of the mended sum of random numbers", fabs(mended(COUNT, numbers) / truth - 1), ldexp(1, -23));
}

/* 3. The place of the largest of n values, by a tree over 1 to 64 items. Of equal values the first counts. */
static int first_largest(int n, const float *x) {
    int i, at = 0;
    for (i = 1; i < n; i++)
        if (x[i] > x[at]) at = i;
    return at;
}
static void largest_by_items(int items, int n, const float *x, int *where) {
    /* YOUR TURN: item k looks at x[k], x[k + items], x[k + 2 items] ... and puts the place of the largest into where[k]. Then a
       tree combines the items: item k takes what item k + items / 2 has, then k + items / 4, and so on. where[0] is the place. */
    /* Of equal values the first wins. With this rule the larger of two candidates is associative and commutative, so the order
       of the tree does not change the result. */
    int item, half, i;
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
    /* END OF YOUR TURN */
}
/* In the rounds the last item is only read: where[items - 1] stays the place that it found. */
static int last_item_differs(int items, int n, const float *x, const int *where) {
    const int last = items - 1;
    int i, at = last;
    if (last >= n) return 0;
    for (i = last; i < n; i += items)
        if (x[i] > x[at]) at = i;
    return where[last] != at;
}
static void exercise_3(void) {
    static float x[500];
    int n, i, items, wrong = 0, wrong_items = 0;
    shs_random random;
    shs_random_seed(&random, 3);
    for (i = 0; i < 500; i++) x[i] = HUGE_VALF; /* what lies beyond n would win */
    for (n = 1; n <= 500; n += 7) {
        for (i = 0; i < n; i++) x[i] = (float)shs_random_below(&random, 20); /* many are equal */
        for (items = 1; items <= 64; items *= 2) {
            int where[64] = {0};
            largest_by_items(items, n, x, where);
            wrong += where[0] != first_largest(n, x);
            wrong_items += last_item_differs(items, n, x, where);
        }
    }
    agrees("3: wrong places", wrong, 0);
    agrees("3: wrong places of the last item", wrong_items, 0);
}

/* 4. A sum of floats in [0, 1) with the same bits in any order. A seed other than 0 shuffles the order. */
static double sum_in_any_order(size_t n, const float *x, uint64_t seed) {
    int64_t sum = 0;
    size_t i;
    for (i = 0; i < n; i++) {
        size_t at = seed ? (size_t)shs_random_permuted(i, n, seed) : i;
        /* YOUR TURN: add x[at], in units of 2^-38. */
        /* Whole numbers add up without rounding. 2^24 values below 1 stay below 2^62 units. Rounding each value to a unit is
           the error. */
        sum += (int64_t)(ldexp(x[at], 38) + 0.5);
        /* END OF YOUR TURN */
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
    /* Many are tiny, so that a sum of doubles would round. Values of about one size would add up exactly. */
    for (i = 0; i < N; i++) {
        x[i] = (float)pow(shs_random_uniform(&random), 8);
        truth += x[i];
    }
    first = sum_in_any_order(N, x, 0);
    for (i = 1; i <= 20; i++) worst = larger_of(worst, fabs(sum_in_any_order(N, x, (uint64_t)i) - first));
    if (first == 0) worst = HUGE_VAL; /* nothing was added */
    agrees("4: largest change by twenty other orders", worst, 0);
    agrees("4: error", fabs(first - truth), ldexp(N, -39));
}

/* 5. A reduction without a first rank. The `count` values of rank r are values[r * count] and following. */
static void reduce(size_t ranks, size_t count, double *values) {
    /* YOUR TURN: every rank gets the sums over all ranks, with the same bits. */
    /* In steps 1, 2, 4 ... each rank adds the values of the rank with this bit flipped. a + b equals b + a to the bit, so all
       ranks get the sum of the same tree. Ranks beyond a power of two add their values to another rank first and copy the
       result at the end. A power of two takes the fewest messages one after another: 8 ranks 3, 24 in all; 9 ranks 5, 26 in
       all. For many values each rank of a power of two can send half of what is left in each step and gather the sums in the
       same number of steps: 2 (1 - 1/ranks) times the values instead of log2(ranks) times. */
    size_t power = 1, step, r, i;
    double *next = ALLOCATE(double, ranks *count);
    while (2 * power <= ranks) power *= 2;
    for (r = power; r < ranks; r++)
        for (i = 0; i < count; i++) values[(r - power) * count + i] += values[r * count + i];
    for (step = 1; step < power; step *= 2) {
        for (r = 0; r < power; r++) /* all ranks at once: `values` is as before the step */
            for (i = 0; i < count; i++) next[r * count + i] = values[r * count + i] + values[(r ^ step) * count + i];
        memcpy(values, next, power * count * sizeof *values);
    }
    for (r = power; r < ranks; r++) memcpy(values + r * count, values, count * sizeof *values);
    free(next);
    /* END OF YOUR TURN */
}
static void exercise_5(void) {
    enum { COUNT = 100, MOST = 9 };
    static double values[MOST * COUNT], plain[COUNT];
    size_t ranks, r, i;
    int differ = 0;
    double worst = 0;
    shs_random random;
    shs_random_seed(&random, 5);
    for (ranks = 1; ranks <= MOST; ranks++) {
        memset(plain, 0, sizeof plain);
        for (r = 0; r < ranks; r++)
            for (i = 0; i < COUNT; i++) {
                double *value = values + r * COUNT + i;
                *value = 1 + shs_random_uniform(&random);
                plain[i] += *value;
            }
        reduce(ranks, COUNT, values);
        for (r = 1; r < ranks; r++) differ += memcmp(values, values + r * COUNT, COUNT * sizeof *values) != 0;
        for (i = 0; i < COUNT; i++) worst = larger_of(worst, fabs(values[i] / plain[i] - 1));
    }
    agrees("5: ranks whose bits differ from rank 0", differ, 0);
    agrees("5: difference to the plain sum", worst, ldexp(MOST, -52));
}

int main(int argc, char **argv) {
    course_begin(argc, argv, "6_solutions", "the exercises of lesson 6");
    exercise_1();
    exercise_2();
    exercise_3();
    exercise_4();
    exercise_5();
    return course_end();
}
