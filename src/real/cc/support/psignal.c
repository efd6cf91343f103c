/* Prints a message about a signal to an implicit stderr. */
#include "own.h"
#include <signal.h>

OWN void psignal(int number, const char *text) {
    int named = text && *text;
    fprintf(stderr, "%s%s%s\n", named ? text : "", named ? ": " : "", strsignal(number));
}
