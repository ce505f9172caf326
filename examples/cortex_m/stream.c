/* stream.c - sparse coding of a signal that comes sample by sample: a ring of the last 32 samples, and every 8 samples the code
   of what is in it. No heap, no stdio, no double; the dictionary and its Gram matrix lie in flash. The signal is a heart's
   beats, of which one began in the wrong place: atoms that were learnt from the others leave much of it. From the project's
   root:

       make cortex-m        under QEMU's Cortex-M4F and M7
       make riscv           under QEMU's 32-bit RISC-V

   The lines that start with # measure; all others are results, the same on every machine to rounding. */
#ifndef SPARSEHS_NO_DOUBLE
#error "stream.c and the library are compiled with SPARSEHS_NO_DOUBLE and SPARSEHS_ONLY_CODING"
#endif
#include "../../sparsehs.h"
#include "beats.h"
#include "text.h"

/* ---- the ring ------------------------------------------------------------------------------------------------------- */

typedef struct ring {
    int16_t samples[LENGTH];
    int32_t sum;    /* of those that are in it */
    int at, needed; /* where the next one goes; how many are missing until the next code */
} ring;

static void ring_start(ring *r) {
    int i;
    for (i = 0; i < LENGTH; i++) r->samples[i] = 0;
    r->sum = 0;
    r->at = 0;
    r->needed = LENGTH;
}

/* What an interrupt of the converter would do: a few instructions. Returns whether a code is due. */
static int ring_push(ring *r, int16_t sample) {
    r->sum += sample - r->samples[r->at];
    r->samples[r->at] = sample;
    if (r->at + 1 < LENGTH) r->at = r->at + 1;
    else r->at = 0;
    if (--r->needed > 0) return 0;
    r->needed = HOP;
    return 1;
}

/* From the oldest to the newest, without their mean. */
static void ring_window(const ring *r, float *window) {
    const float mean = (float)r->sum / LENGTH;
    int i, k = 0;
    for (i = r->at; i < LENGTH; i++) window[k++] = (float)r->samples[i] - mean;
    for (i = 0; i < r->at; i++) window[k++] = (float)r->samples[i] - mean;
}

/* ---- a code every hop ----------------------------------------------------------------------------------------------- */

typedef struct code {
    int used, atoms[SPARSITY];
    float coefficients[SPARSITY], error2;
} code;

static ring last;
static float window[LENGTH], correlations[ATOMS];
static unsigned char workspace[SHS_OMP_ONE_WORKSPACE(ATOMS, SPARSITY)];

static shs_status code_window(code *c) {
    shs_omp_options options = SHS_ZERO;
    shs_status status;
    options.sparsity = SPARSITY;
    ring_window(&last, window);
    status = shs_gemv(SHS_TRANS_YES, LENGTH, ATOMS, 1, model_dictionary, LENGTH, window, 1, 0, correlations, 1);
    if (status != SHS_OK) return status;
    return shs_omp_one(ATOMS, model_gram, ATOMS, correlations, shs_dot(LENGTH, window, 1, window, 1), &options, workspace,
                       sizeof workspace, c->atoms, c->coefficients, &c->used, &c->error2);
}

static void write_code(int from, const code *c) {
    int k;
    write_integer("samples from ", from);
    for (k = 0; k < c->used; k++) {
        write_integer(before_item(k), nearest(c->coefficients[k]));
        write_integer(" x atom ", c->atoms[k]);
    }
    write_integer("; mean square left ", nearest(c->error2 / LENGTH));
    if (c->error2 > (float)(LENGTH * LIMIT)) board_write("; unlike what was learnt");
    board_write("\n");
}

int main(void) {
    uint32_t pushing = 0, coding = 0, most = 0, start, took;
    int i, codes = 0;
    code c;
    ring_start(&last);
    for (i = 0; i < SAMPLES; i++) {
        shs_status status;
        int due;
        start = board_instructions();
        due = ring_push(&last, model_samples[i]);
        pushing += board_instructions() - start;
        if (!due) continue;
        start = board_instructions();
        status = code_window(&c);
        took = board_instructions() - start;
        if (status != SHS_OK) {
            write_integer("status ", status);
            board_write("\n");
            return 1;
        }
        coding += took;
        codes++;
        if (took > most) most = took;
        write_code(i + 1 - LENGTH, &c);
    }
    if (board_stack() == 0) return 0;
    write_count("# instructions a sample, into the ring: ", pushing / SAMPLES);
    write_count("; a code, every 8 samples: ", coding / (uint32_t)codes);
    write_count(", at most ", most);
    write_count("\n# bytes of ring and scratch: ", sizeof last + sizeof window + sizeof correlations + sizeof workspace);
    write_count("; of stack ", board_stack());
    board_write("\n");
    return 0;
}
