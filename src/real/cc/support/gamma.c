/* Logarithm of the gamma function, and the sign of the gamma function. */
#include "own.h"
#include <math.h>

/* The symbol is weak, because programs without the mathematical library do not define it. */
extern double lgamma_r(double, int *) __attribute__((weak));
extern float lgammaf_r(float, int *) __attribute__((weak));
extern long double lgammal_r(long double, int *) __attribute__((weak));

OWN int signgam;
extern int __signgam __attribute__((weak, alias("signgam")));

OWN double lgamma(double x) { return lgamma_r(x, &signgam); }
OWN float lgammaf(float x) { return lgammaf_r(x, &signgam); }
OWN long double lgammal(long double x) { return lgammal_r(x, &signgam); }
OWN double gamma(double x) { return lgamma_r(x, &signgam); }
OWN float gammaf(float x) { return lgammaf_r(x, &signgam); }
OWN long double gammal(long double x) { return lgammal_r(x, &signgam); }
