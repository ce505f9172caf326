// Writes a signal of four values as a sum of two of six atoms, without heap, and prints which.
#define SPARSEHS_STATIC // what is not called takes no flash
#define SPARSEHS_ONLY_CODING
#define SPARSEHS_IMPLEMENTATION
#include <sparsehs.h>

enum { LENGTH = 4, ATOMS = 6, SPARSITY = 2 };
static const shs_real dictionary[LENGTH * ATOMS] = {
    1,    0,    0,    0,    //
    0,    1,    0,    0,    //
    0,    0,    1,    0,    //
    0,    0,    0,    1,    //
    0.5f, 0.5f, 0.5f, 0.5f, //
    0.5f, 0.5f, -0.5f, -0.5f,
};
static const shs_real signal_values[LENGTH] = {2, 2, 5, 2}; // 4 of atom 4 and 3 of atom 2
static unsigned char workspace[SHS_OMP_ONE_DIRECT_WORKSPACE(LENGTH, ATOMS, SPARSITY)];

void setup() {
    int atoms[SPARSITY], used = 0;
    shs_real coefs[SPARSITY];
    shs_omp_options options = SHS_ZERO;
    options.sparsity = SPARSITY;
    Serial.begin(9600);
    shs_status status = shs_omp_one_direct(LENGTH, ATOMS, dictionary, LENGTH, signal_values, &options, workspace,
                                           sizeof workspace, atoms, coefs, &used, NULL);
    if (status != SHS_OK) Serial.println((int)status);
    for (int i = 0; i < used; i++) {
        Serial.print(atoms[i]);
        Serial.print(": ");
        Serial.println(coefs[i]);
    }
}

void loop() {}
