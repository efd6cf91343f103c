/* The name of a signal, to the standard error without naming it. */
#include "own.h"
#include <signal.h>

OWN void psignal(int number, const char *text) {
    int named = text && *text;
    fprintf(stderr, "%s%s%s\n", named ? text : "", named ? ": " : "", strsignal(number));
}
