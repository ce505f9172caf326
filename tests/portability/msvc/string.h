/* What sparsehs.h takes from Microsoft's headers, for clang's cl mode where these are not installed. */
#ifndef MSVC_STRING_H
#define MSVC_STRING_H
#include <stddef.h>
void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
void *memchr(const void *in, int value, size_t size);
int memcmp(const void *a, const void *b, size_t size);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);
#endif
