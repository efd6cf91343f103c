/* Wide character output with an implicit stdout. */
#include "own.h"
#include <wchar.h>

extern int __vfwprintf_chk(FILE *stream, int flag, const wchar_t *format, va_list arguments);

OWN int vwprintf(const wchar_t *format, va_list arguments) {
    return vfwprintf(stdout, format, arguments);
}

OWN int wprintf(const wchar_t *format, ...) {
    va_list arguments;
    int count;
    va_start(arguments, format);
    count = vfwprintf(stdout, format, arguments);
    va_end(arguments);
    return count;
}

OWN int __vwprintf_chk(int flag, const wchar_t *format, va_list arguments) {
    return __vfwprintf_chk(stdout, flag, format, arguments);
}

OWN int __wprintf_chk(int flag, const wchar_t *format, ...) {
    va_list arguments;
    int count;
    va_start(arguments, format);
    count = __vfwprintf_chk(stdout, flag, format, arguments);
    va_end(arguments);
    return count;
}

OWN wint_t putwchar(wchar_t character) {
    return fputwc(character, stdout);
}

OWN wint_t putwchar_unlocked(wchar_t character) {
    return fputwc_unlocked(character, stdout);
}
