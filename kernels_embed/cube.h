/* cube.h - reading the slice of a cube as it was uploaded: for pixels.cl and map.cl.

   The file that includes it says ELEM, what a value becomes. */

#ifndef VALUE
#define VALUE short /* the type of a value */
#endif
#ifndef BYTES
#define BYTES 2 /* its size */
#endif
#ifndef SWAP
#define SWAP 0 /* 1: the bytes stand in the other order */
#endif
#ifndef WORK
#define WORK ELEM /* the type of value - shift: wide where ELEM may not hold a value */
#endif
#ifndef SPLIT
#define SPLIT 0 /* 1: int or uint, and WORK is float: values are taken as two halves, which float holds */
#endif
#ifndef FROM
#define FROM 0 /* the slice's interleave, as a shs_interleave: 0 BSQ, 1 BIL, 2 BIP */
#endif
#define AS_VALUE VECTOR(as_, VALUE)

inline VALUE value_of(VALUE v) {
#if !SWAP || BYTES == 1
    return v;
#elif BYTES == 2
    return AS_VALUE(as_uchar2(v).s10);
#elif BYTES == 4
    return AS_VALUE(as_uchar4(v).s3210);
#else
    return AS_VALUE(as_uchar8(v).s76543210);
#endif
}

/* Band b of pixel p of a slice stands at_pixel + at_band values behind the slice's first; plane: from one BSQ band to the next. */
inline size_t at_pixel(size_t p, int samples, int bands) {
#if FROM == 0
    return p;
#elif FROM == 1
    return p / (size_t)samples * (size_t)bands * (size_t)samples + p % (size_t)samples;
#else
    return p * (size_t)bands;
#endif
}
inline size_t at_band(int b, size_t plane, int samples) {
#if FROM == 0
    return (size_t)b * plane;
#elif FROM == 1
    return (size_t)b * (size_t)samples;
#else
    return (size_t)b;
#endif
}
inline VALUE value_at(__global const VALUE *raw, size_t p, int b, size_t plane, int samples, int bands) {
    return value_of(raw[at_pixel(p, samples, bands) + at_band(b, plane, samples)]);
}

/* x - c, as the panel holds it. Of halves: c is near the upper one where the difference is small, so that nothing is lost. */
inline ELEM less(VALUE v, WORK c) {
#if SPLIT
    return (ELEM)((WORK)(v & ~(VALUE)0xffff) - c + (WORK)(v & (VALUE)0xffff));
#else
    return (ELEM)((WORK)v - c);
#endif
}
