/* The instructions that sparsehs.h uses, on vectors that are structs: with these a compiler finds an operator, a cast or a
   subscript of a vector, which Microsoft's does not have, and a function that is not in this list. */
#ifndef MSVC_OPAQUE_H
#define MSVC_OPAQUE_H
#include <stdint.h>
typedef unsigned char __mmask8;
typedef unsigned short __mmask16;
#define OPAQUE(bytes, type)                                                                                            \
    typedef struct {                                                                                                   \
        double room[(bytes) / 8];                                                                                      \
    } type;
OPAQUE(16, __m128)
OPAQUE(16, __m128d)
OPAQUE(16, __m128i)
OPAQUE(32, __m256)
OPAQUE(32, __m256d)
OPAQUE(32, __m256i)
OPAQUE(64, __m512)
OPAQUE(64, __m512d)
OPAQUE(64, __m512i)
enum { _MM_HINT_T0 = 1, _MM_HINT_T1 = 2, _CMP_EQ_OQ = 0, _CMP_UNORD_Q = 3, _CMP_GT_OQ = 30 };
void _mm_prefetch(const char *p, int hint);

/* For each width and kind: MM_, ps or pd, the number, the vector, the suffix and type of integers. */
#define OF_REALS(MM, ps, number, V, si, I)                                                                             \
    V MM##loadu_##ps(const number *p);                                                                                 \
    void MM##storeu_##ps(number *p, V v);                                                                              \
    V MM##set1_##ps(number x);                                                                                         \
    V MM##add_##ps(V a, V b);                                                                                          \
    V MM##sub_##ps(V a, V b);                                                                                          \
    V MM##mul_##ps(V a, V b);                                                                                          \
    V MM##div_##ps(V a, V b);                                                                                          \
    V MM##and_##ps(V a, V b);                                                                                          \
    V MM##andnot_##ps(V a, V b);                                                                                       \
    V MM##or_##ps(V a, V b);                                                                                           \
    V MM##fmadd_##ps(V a, V b, V c);                                                                                   \
    V MM##fmsub_##ps(V a, V b, V c);                                                                                   \
    V MM##fnmadd_##ps(V a, V b, V c);                                                                                  \
    I MM##cast##ps##_##si(V v);                                                                                        \
    V MM##cast##si##_##ps(I v);
#define OF_INTEGERS(MM, si, I)                                                                                         \
    I MM##loadu_##si(const I *p);                                                                                      \
    void MM##storeu_##si(I *p, I v);                                                                                   \
    I MM##and_##si(I a, I b);                                                                                          \
    I MM##or_##si(I a, I b);                                                                                           \
    I MM##xor_##si(I a, I b);                                                                                          \
    I MM##set1_epi32(int x);                                                                                           \
    I MM##add_epi32(I a, I b);                                                                                         \
    I MM##sub_epi32(I a, I b);                                                                                         \
    I MM##sub_epi64(I a, I b);                                                                                         \
    I MM##max_epi32(I a, I b);                                                                                         \
    I MM##slli_epi32(I a, int bits);                                                                                   \
    I MM##slli_epi64(I a, int bits);                                                                                   \
    I MM##srai_epi32(I a, int bits);                                                                                   \
    I MM##madd_epi16(I a, I b);
OF_INTEGERS(_mm_, si128, __m128i)
OF_INTEGERS(_mm256_, si256, __m256i)
OF_INTEGERS(_mm512_, si512, __m512i)
OF_REALS(_mm_, ps, float, __m128, si128, __m128i)
OF_REALS(_mm_, pd, double, __m128d, si128, __m128i)
OF_REALS(_mm256_, ps, float, __m256, si256, __m256i)
OF_REALS(_mm256_, pd, double, __m256d, si256, __m256i)
OF_REALS(_mm512_, ps, float, __m512, si512, __m512i)
OF_REALS(_mm512_, pd, double, __m512d, si512, __m512i)
#define OF_SSE2(ps, V)                                                                                                 \
    V _mm_cmpgt_##ps(V a, V b);                                                                                        \
    V _mm_cmpeq_##ps(V a, V b);                                                                                        \
    V _mm_cmpunord_##ps(V a, V b);                                                                                     \
    V _mm_unpacklo_##ps(V a, V b);                                                                                     \
    V _mm_unpackhi_##ps(V a, V b);                                                                                     \
    V _mm_shuffle_##ps(V a, V b, int which);                                                                           \
    V _mm_cvtepi32_##ps(__m128i v);                                                                                    \
    __m128i _mm_cvtt##ps##_epi32(V v);
OF_SSE2(ps, __m128)
OF_SSE2(pd, __m128d)
#define OF_AVX(ps, V, half)                                                                                            \
    V _mm256_cmp_##ps(V a, V b, int how);                                                                              \
    V _mm256_blendv_##ps(V a, V b, V mask);                                                                            \
    V _mm256_permute_##ps(V v, int which);                                                                             \
    V _mm256_permute2f128_##ps(V a, V b, int which);                                                                   \
    V _mm256_cvtepi32_##ps(half v);                                                                                    \
    half _mm256_cvtt##ps##_epi32(V v);
OF_AVX(ps, __m256, __m256i)
OF_AVX(pd, __m256d, __m128i)
#define OF_AVX512(ps, V, mask, x4, half)                                                                               \
    mask _mm512_cmp_##ps##_mask(V a, V b, int how);                                                                    \
    V _mm512_mask_blend_##ps(mask m, V a, V b);                                                                        \
    V _mm512_maskz_mov_##ps(mask m, V v);                                                                              \
    V _mm512_permute_##ps(V v, int which);                                                                             \
    V _mm512_shuffle_##x4(V a, V b, int which);                                                                        \
    V _mm512_scalef_##ps(V a, V b);                                                                                    \
    V _mm512_cvtepi32_##ps(half v);                                                                                    \
    half _mm512_cvtt##ps##_epi32(V v);
OF_AVX512(ps, __m512, __mmask16, f32x4, __m512i)
OF_AVX512(pd, __m512d, __mmask8, f64x2, __m256i)

__m128 _mm_fmadd_ss(__m128 a, __m128 b, __m128 c);
__m128d _mm_fmadd_sd(__m128d a, __m128d b, __m128d c);
__m128 _mm_set_ss(float x);
__m128d _mm_set_sd(double x);
float _mm_cvtss_f32(__m128 v);
double _mm_cvtsd_f64(__m128d v);
__m128d _mm_cvtps_pd(__m128 v);
__m128 _mm_cvtpd_ps(__m128d v);
__m256d _mm256_cvtps_pd(__m128 v);
__m128 _mm256_cvtpd_ps(__m256d v);
__m512d _mm512_cvtps_pd(__m256 v);
__m256 _mm512_cvtpd_ps(__m512d v);
__m128i _mm_loadl_epi64(const __m128i *p);
void _mm_storel_epi64(__m128i *p, __m128i v);
__m128i _mm_setzero_si128(void);
__m128i _mm_set1_epi16(short x);
__m128i _mm_set1_epi64x(long long x);
__m256i _mm256_set1_epi64x(long long x);
__m512i _mm512_set1_epi64(long long x);
__m128i _mm_unpacklo_epi8(__m128i a, __m128i b);
__m128i _mm_unpacklo_epi16(__m128i a, __m128i b);
__m128i _mm_packs_epi32(__m128i a, __m128i b);
__m128i _mm_packus_epi16(__m128i a, __m128i b);
__m128i _mm_cmpgt_epi32(__m128i a, __m128i b);
__m128i _mm_andnot_si128(__m128i a, __m128i b);
__m256i _mm256_cmpgt_epi32(__m256i a, __m256i b);
__m128i _mm256_castsi256_si128(__m256i v);
__m128i _mm256_extracti128_si256(__m256i v, int half);
__m256i _mm256_cvtepu8_epi32(__m128i v);
__m256i _mm256_cvtepi16_epi32(__m128i v);
__m256i _mm256_cvtepu16_epi32(__m128i v);
__m128i _mm256_cvtepi32_epi8(__m256i v);
__m128i _mm256_cvtepi32_epi16(__m256i v);
__m512i _mm512_cvtepu8_epi32(__m128i v);
__m512i _mm512_cvtepi16_epi32(__m256i v);
__m512i _mm512_cvtepu16_epi32(__m256i v);
__m128i _mm512_cvtepi32_epi8(__m512i v);
__m256i _mm512_cvtepi32_epi16(__m512i v);
__mmask16 _mm512_cmpgt_epi32_mask(__m512i a, __m512i b);
__m512i _mm512_dpwssd_epi32(__m512i sum, __m512i a, __m512i b);
__m512i _mm512_dpbusd_epi32(__m512i sum, __m512i a, __m512i b);
#endif
