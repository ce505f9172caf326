/* What sparsehs.h takes from Microsoft's headers, for clang's cl mode where these are not installed. */
#ifndef MSVC_MATH_H
#define MSVC_MATH_H
double sqrt(double x), cos(double x), log(double x), exp(double x), tanh(double x), acos(double x);
float sqrtf(float x), acosf(float x), cosf(float x), logf(float x);
#endif
