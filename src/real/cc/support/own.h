/* Common declarations of the support library. Its functions replace C library functions with state or streams that
   ranks must not share. They are linked into each program, so each rank has its own data, stdin, stdout and stderr. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The replacements are weak, so that a definition in the program takes precedence. */
#define OWN __attribute__((weak))
