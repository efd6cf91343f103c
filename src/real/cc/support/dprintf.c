/* Formatted output to a file descriptor, which may be a standard stream of the rank. */
#include "own.h"
#include <unistd.h>

extern int __vasprintf_chk(char **text, int flag, const char *format, va_list arguments);

static int give(int descriptor, char *text, int length) {
    int done = 0;
    while (length > done) {
        ssize_t count = write(descriptor, text + done, (size_t)(length - done));
        if (count < 0) {
            length = -1;
            break;
        }
        done += (int)count;
    }
    free(text);
    return length;
}

OWN int vdprintf(int descriptor, const char *format, va_list arguments) {
    char *text;
    int length = vasprintf(&text, format, arguments);
    return length < 0 ? length : give(descriptor, text, length);
}

OWN int dprintf(int descriptor, const char *format, ...) {
    va_list arguments;
    int count;
    va_start(arguments, format);
    count = vdprintf(descriptor, format, arguments);
    va_end(arguments);
    return count;
}

OWN int __vdprintf_chk(int descriptor, int flag, const char *format, va_list arguments) {
    char *text;
    int length = __vasprintf_chk(&text, flag, format, arguments);
    return length < 0 ? length : give(descriptor, text, length);
}

OWN int __dprintf_chk(int descriptor, int flag, const char *format, ...) {
    va_list arguments;
    int count;
    va_start(arguments, format);
    count = __vdprintf_chk(descriptor, flag, format, arguments);
    va_end(arguments);
    return count;
}
