/* Functions of <error.h>, which print error messages to an implicit stderr. */
#include "own.h"
#include <error.h>

OWN unsigned error_message_count;
OWN int error_one_per_line;
OWN void (*error_print_progname)(void);

static void begin(void) {
    fflush(stdout);
    flockfile(stderr);
    if (error_print_progname) error_print_progname();
    else fprintf(stderr, "%s:", program_invocation_name);
}

static void end(int status, int number, const char *format, va_list arguments) {
    vfprintf(stderr, format, arguments);
    error_message_count++;
    if (number) {
        char text[256];
        fprintf(stderr, ": %s", strerror_r(number, text, sizeof text));
    }
    putc('\n', stderr);
    fflush(stderr);
    funlockfile(stderr);
    if (status) exit(status);
}

OWN void error(int status, int number, const char *format, ...) {
    va_list arguments;
    begin();
    if (!error_print_progname) putc(' ', stderr);
    va_start(arguments, format);
    end(status, number, format, arguments);
    va_end(arguments);
}

OWN void error_at_line(int status, int number, const char *file, unsigned line, const char *format, ...) {
    static const char *last_file;
    static unsigned last_line;
    va_list arguments;
    if (error_one_per_line) {
        int same_file = file == last_file || (file && last_file && !strcmp(file, last_file));
        if (same_file && line == last_line) return;
        last_file = file;
        last_line = line;
    }
    begin();
    if (file) fprintf(stderr, "%s:%u: ", file, line);
    else putc(' ', stderr);
    va_start(arguments, format);
    end(status, number, format, arguments);
    va_end(arguments);
}
