/* fourth.cl - all products z_a z_b, a <= b, of whitened pixels: their Gram matrix (moments.cl) is the fourth moments of z,
   after which FastICA with g(y) = y^3 needs no pixel again. One work-item a pixel; neighbours read and write neighbours.
   Q: plane b (b + 1) / 2 + a holds z_a z_b of ld pixels. Missing pixels are zero and stay so. The textbook twin is shs_ica_naive,
   which takes E[z g(w'z)] from the pixels themselves. */
#include "device.cl"

__kernel void pairs(__global const real *Z, ulong from, ulong ldz, int m, __global real *Q, ulong ld) {
    const size_t p = get_global_id(0);
    int a, b;
    size_t plane = 0;
    for (b = 0; b < m; b++) {
        real zb = Z[from + (ulong)b * ldz + p];
        for (a = 0; a <= b; a++) {
            Q[plane * ld + p] = Z[from + (ulong)a * ldz + p] * zb;
            plane++;
        }
    }
}
