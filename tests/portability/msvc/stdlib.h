/* What sparsehs.h takes from Microsoft's headers, for clang's cl mode where these are not installed. */
#ifndef MSVC_STDLIB_H
#define MSVC_STDLIB_H
#include <stddef.h>
void *malloc(size_t size);
void free(void *block);
#endif
