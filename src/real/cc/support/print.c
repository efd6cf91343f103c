/* Output functions with an implicit stdout. */
#include "own.h"

#undef putchar
#undef putchar_unlocked

extern int __vfprintf_chk(FILE *stream, int flag, const char *format, va_list arguments);

OWN int vprintf(const char *format, va_list arguments) {
    return vfprintf(stdout, format, arguments);
}

OWN int printf(const char *format, ...) {
    va_list arguments;
    int count;
    va_start(arguments, format);
    count = vfprintf(stdout, format, arguments);
    va_end(arguments);
    return count;
}

OWN int __vprintf_chk(int flag, const char *format, va_list arguments) {
    return __vfprintf_chk(stdout, flag, format, arguments);
}

OWN int __printf_chk(int flag, const char *format, ...) {
    va_list arguments;
    int count;
    va_start(arguments, format);
    count = __vfprintf_chk(stdout, flag, format, arguments);
    va_end(arguments);
    return count;
}

OWN int puts(const char *text) {
    int failed;
    flockfile(stdout);
    failed = fputs_unlocked(text, stdout) == EOF || fputc_unlocked('\n', stdout) == EOF;
    funlockfile(stdout);
    return failed ? EOF : (int)strlen(text) + 1;
}

OWN int putchar(int byte) {
    return fputc(byte, stdout);
}

OWN int putchar_unlocked(int byte) {
    return fputc_unlocked(byte, stdout);
}
