/* Character input with an implicit stdin. */
#include "own.h"
#include <wchar.h>

#undef getchar
#undef getchar_unlocked

OWN int getchar(void) {
    return fgetc(stdin);
}

OWN int getchar_unlocked(void) {
    return fgetc_unlocked(stdin);
}

OWN wint_t getwchar(void) {
    return fgetwc(stdin);
}

OWN wint_t getwchar_unlocked(void) {
    return fgetwc_unlocked(stdin);
}

/* Reads a line without its newline. Returns 0 at the end of the input. */
static char *line(char *buffer, size_t room) {
    size_t count = 0;
    int byte;
    flockfile(stdin);
    while ((byte = fgetc_unlocked(stdin)) != EOF && byte != '\n') {
        if (count + 1 >= room) abort();
        buffer[count++] = (char)byte;
    }
    funlockfile(stdin);
    if (byte == EOF && (count == 0 || ferror(stdin))) return NULL;
    buffer[count] = 0;
    return buffer;
}

OWN char *gets(char *buffer) {
    return line(buffer, (size_t)-1);
}

OWN char *__gets_chk(char *buffer, size_t room) {
    return line(buffer, room);
}
