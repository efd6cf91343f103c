/* Reports a failed assertion. */
#include "own.h"

static void mcpsim_fail(const char *file, unsigned line, const char *function, const char *what, const char *text, const char *end) {
    const char *name = program_invocation_short_name;
    fflush(stdout);
    fprintf(stderr, "%s%s%s:%u: %s%s%s%s%s\n", name, *name ? ": " : "", file, line, function ? function : "",
            function ? ": " : "", what, text, end);
    fflush(stderr);
    abort();
}

OWN void __assert_fail(const char *expression, const char *file, unsigned line, const char *function) {
    mcpsim_fail(file, line, function, "Assertion `", expression, "' failed.");
    abort();
}

OWN void __assert_perror_fail(int error, const char *file, unsigned line, const char *function) {
    mcpsim_fail(file, line, function, "Unexpected error: ", strerror(error), ".");
    abort();
}

OWN void __assert(const char *expression, const char *file, int line) {
    mcpsim_fail(file, (unsigned)line, NULL, "Assertion `", expression, "' failed.");
    abort();
}
