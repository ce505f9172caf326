/* units.h - double matrix units: for syrk.cl and map_units.h.

   A file defines ELEM as double before it includes units.h. The unit adds the product of 8 x 4 and 4 x 8 values to a block of
   8 x 8 sums. Item l of a warp of 32 holds row l / 4, column l % 4 of the first factor and row l % 4, column l / 4 of the second.
   Of the sums it holds row l / 4, columns 2 (l % 4) and 2 (l % 4) + 1. On an H200 the unit is twice as fast when it adds to two
   blocks, one below the other, at a time. Without the unit (MMA 0) the items form the same sums from local memory: slow, for tests
   and for reading. */

#ifndef MMA
#define MMA 0 /* blocks of the unit's sums: 1, as of compute capability 8.0, or 2, as of 9.0 */
#endif

/* c += a b, and the block below: d += a_below b. */
#if MMA == 1
inline void add_products(ELEM *c, ELEM *d, ELEM a, ELEM a_below, ELEM b) {
    __asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                   : "+d"(c[0]), "+d"(c[1])
                   : "d"(a), "d"(b));
    __asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                   : "+d"(d[0]), "+d"(d[1])
                   : "d"(a_below), "d"(b));
}
#elif MMA == 2
inline void add_products(ELEM *c, ELEM *d, ELEM a, ELEM a_below, ELEM b) {
    __asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                   : "+d"(c[0]), "+d"(c[1]), "+d"(d[0]), "+d"(d[1])
                   : "d"(a), "d"(a_below), "d"(b));
}
#endif
