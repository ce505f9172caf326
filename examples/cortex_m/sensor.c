/* sensor.c - sparse coding and projection where there is no heap, no stdio, no double and little memory. A dictionary, its Gram
   matrix and principal components lie in flash; each window of samples becomes four atoms and their coefficients, or six
   components. From the project's root:

       make cortex-m

   The lines that start with # measure; all others are results, the same on every machine to rounding. */
#ifndef SPARSEHS_NO_DOUBLE
#error "sensor.c and the library are compiled with SPARSEHS_NO_DOUBLE and SPARSEHS_ONLY_CODING"
#endif
#include "../../sparsehs.h"
#include "model.h"
#include "text.h"

/* The scratch of each form, to the byte. */
#define GRAM_BYTES SHS_OMP_ONE_WORKSPACE(ATOMS, SPARSITY)
#define DIRECT_BYTES SHS_OMP_ONE_DIRECT_WORKSPACE(LENGTH, ATOMS, SPARSITY)
static unsigned char workspace[GRAM_BYTES > DIRECT_BYTES ? GRAM_BYTES : DIRECT_BYTES];

static float window[LENGTH], correlations[ATOMS], coefficients[SPARSITY], components[COMPONENTS];
static int atoms[SPARSITY];
static shs_omp_options options; /* zero but for the sparsity, which main sets */

/* ---- what the sensor does ----------------------------------------------------------------------------------------- */

/* The samples without their mean. */
static void take_window(int index) {
    const int16_t *samples = model_windows + LENGTH * index;
    int32_t sum = 0;
    int i;
    for (i = 0; i < LENGTH; i++) sum += samples[i];
    for (i = 0; i < LENGTH; i++) window[i] = (float)samples[i] - (float)sum / LENGTH;
}

static shs_status code_with_gram(int *used, float *error2) {
    shs_status status = shs_gemv(SHS_TRANS_YES, LENGTH, ATOMS, 1, model_dictionary, LENGTH, window, 1, 0, correlations, 1);
    if (status != SHS_OK) return status;
    return shs_omp_one(ATOMS, model_gram, ATOMS, correlations, shs_dot(LENGTH, window, 1, window, 1), &options, workspace,
                       GRAM_BYTES, atoms, coefficients, used, error2);
}

static shs_status code_directly(int *used, float *error2) {
    return shs_omp_one_direct(LENGTH, ATOMS, model_dictionary, LENGTH, window, &options, workspace, DIRECT_BYTES, atoms,
                              coefficients, used, error2);
}

static shs_status project(int index) {
    int i;
    for (i = 0; i < LENGTH; i++) window[i] = (float)model_windows[LENGTH * index + i] - model_mean[i];
    return shs_gemv(SHS_TRANS_YES, LENGTH, COMPONENTS, 1, model_components, LENGTH, window, 1, 0, components, 1);
}

/* ---- all windows, each form timed --------------------------------------------------------------------------------- */

static shs_status code_all(const char *name, shs_status (*code)(int *used, float *error2), uint32_t *instructions) {
    int index, used, k;
    *instructions = 0;
    for (index = 0; index < WINDOWS; index++) {
        uint32_t start;
        float error2;
        shs_status status;
        take_window(index);
        start = board_instructions();
        status = code(&used, &error2);
        *instructions += board_instructions() - start;
        if (status != SHS_OK) return status;
        write_integer(name, index);
        for (k = 0; k < used; k++) {
            write_integer(before_item(k), nearest(coefficients[k]));
            write_integer(" x atom ", atoms[k]);
        }
        write_integer("; mean square left ", nearest(error2 / LENGTH));
        board_write("\n");
    }
    return SHS_OK;
}

static shs_status project_all(uint32_t *instructions) {
    int index, k;
    *instructions = 0;
    for (index = 0; index < WINDOWS; index++) {
        uint32_t start = board_instructions();
        shs_status status = project(index);
        *instructions += board_instructions() - start;
        if (status != SHS_OK) return status;
        write_integer("components of window ", index);
        for (k = 0; k < COMPONENTS; k++) write_integer(before_item(k), nearest(components[k]));
        board_write("\n");
    }
    return SHS_OK;
}

int main(void) {
    uint32_t with_gram, directly, projection;
    shs_status status;
    options.sparsity = SPARSITY;
    status = code_all("window ", code_with_gram, &with_gram);
    if (shs_omp_one_workspace(ATOMS, &options) != GRAM_BYTES ||
        shs_omp_one_direct_workspace(LENGTH, ATOMS, &options) != DIRECT_BYTES) {
        write_count("the queries differ from the macros: ", shs_omp_one_workspace(ATOMS, &options));
        write_count(" and ", shs_omp_one_direct_workspace(LENGTH, ATOMS, &options));
        board_write(" bytes of workspace\n");
        return 2;
    }
    if (status == SHS_OK) status = code_all("without a Gram matrix, window ", code_directly, &directly);
    if (status == SHS_OK) status = project_all(&projection);
    if (status != SHS_OK) {
        write_integer("status ", status);
        board_write("\n");
        return 1;
    }
    if (board_stack() == 0) return 0;
    write_count("# instructions a window, dictionary 32 x 64, 4 atoms: ", with_gram / WINDOWS);
    write_count(", without a Gram matrix ", directly / WINDOWS);
    write_count("; 6 principal components: ", projection / WINDOWS);
    write_count("\n# bytes of workspace: ", GRAM_BYTES);
    write_count(", without a Gram matrix ", DIRECT_BYTES);
    write_count("; of stack ", board_stack());
    board_write("\n");
    return 0;
}
