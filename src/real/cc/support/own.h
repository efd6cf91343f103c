/* What the files of the support library share. Its functions replace those of the C library whose state or streams a rank
   must not share: linked into each program, their data is each rank's own. stdin, stdout and stderr are the rank's. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A definition of the program's own has priority. */
#define OWN __attribute__((weak))
