/* What sparsehs.h takes from Microsoft's <intrin.h>, for clang's cl mode where that is not installed. The instructions are
   clang's own: as with Microsoft's compiler all of them are there, whatever the flags. */
#ifndef MSVC_INTRIN_H
#define MSVC_INTRIN_H
void __cpuidex(int registers[4], int leaf, int subleaf);
unsigned long long _xgetbv(unsigned number);
void __prefetch(const void *p);
#ifdef MSVC_OPAQUE
#include "opaque.h"
#elif defined(_M_X64)
#pragma push_macro("_MSC_VER")
#undef _MSC_VER
#define __MM_MALLOC_H
#include <immintrin.h>
#pragma pop_macro("_MSC_VER")
#endif
#endif
