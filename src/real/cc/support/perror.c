/* Prints the message of the last error to an implicit stderr. */
#include "own.h"

OWN void perror(const char *text) {
    char buffer[256];
    const char *what = strerror_r(errno, buffer, sizeof buffer);
    int named = text && *text;
    fprintf(stderr, "%s%s%s\n", named ? text : "", named ? ": " : "", what);
}
