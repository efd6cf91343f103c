/* Functions of <err.h>, which print error messages to an implicit stderr. */
#include "own.h"
#include <err.h>

static void message(const char *format, va_list arguments, int error) {
    flockfile(stderr);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    if (format) vfprintf(stderr, format, arguments);
    if (error >= 0) {
        char text[256];
        fprintf(stderr, "%s%s", format ? ": " : "", strerror_r(error, text, sizeof text));
    }
    putc('\n', stderr);
    funlockfile(stderr);
}

OWN void vwarn(const char *format, va_list arguments) {
    message(format, arguments, errno);
}

OWN void vwarnx(const char *format, va_list arguments) {
    message(format, arguments, -1);
}

OWN void verr(int status, const char *format, va_list arguments) {
    message(format, arguments, errno);
    exit(status);
}

OWN void verrx(int status, const char *format, va_list arguments) {
    message(format, arguments, -1);
    exit(status);
}

OWN void warn(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    message(format, arguments, errno);
    va_end(arguments);
}

OWN void warnx(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    message(format, arguments, -1);
    va_end(arguments);
}

OWN void err(int status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    message(format, arguments, errno);
    exit(status);
}

OWN void errx(int status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    message(format, arguments, -1);
    exit(status);
}
