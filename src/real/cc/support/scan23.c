/* Formatted input of C23. */
#define PREFIX __isoc23_
#include "scan.c"
