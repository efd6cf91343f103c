/* Formatted input with an implicit stdin. The C library has one set of functions per language standard, which headers
   select by different symbols: scan99.c and scan23.c include this file. */
#include "own.h"
#include <wchar.h>

#ifndef PREFIX
#define PREFIX
#endif

#define TEXT(name) TEXT_(name)
#define TEXT_(name) #name
#define SYMBOL(name) __asm__(TEXT(PREFIX) #name)

/* Older C libraries support fewer standards, and their headers select only these. */
#define WHERE_IT_IS __attribute__((weak))

extern int from_stream(FILE *stream, const char *format, va_list arguments) SYMBOL(vfscanf) WHERE_IT_IS;
extern int wide_from_stream(FILE *stream, const wchar_t *format, va_list arguments) SYMBOL(vfwscanf) WHERE_IT_IS;

OWN int scan_list(const char *format, va_list arguments) SYMBOL(vscanf);
OWN int scan(const char *format, ...) SYMBOL(scanf);
OWN int wide_scan_list(const wchar_t *format, va_list arguments) SYMBOL(vwscanf);
OWN int wide_scan(const wchar_t *format, ...) SYMBOL(wscanf);

int scan_list(const char *format, va_list arguments) {
    return from_stream(stdin, format, arguments);
}

int scan(const char *format, ...) {
    va_list arguments;
    int count;
    va_start(arguments, format);
    count = from_stream(stdin, format, arguments);
    va_end(arguments);
    return count;
}

int wide_scan_list(const wchar_t *format, va_list arguments) {
    return wide_from_stream(stdin, format, arguments);
}

int wide_scan(const wchar_t *format, ...) {
    va_list arguments;
    int count;
    va_start(arguments, format);
    count = wide_from_stream(stdin, format, arguments);
    va_end(arguments);
    return count;
}
