/* Formatted input of C99. */
#define PREFIX __isoc99_
#include "scan.c"
