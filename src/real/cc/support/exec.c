/* Exec functions with a variable argument list, such as execl. */
#include "own.h"
#include <unistd.h>

/* Collects the arguments up to the final null pointer. Afterwards `last` points to the next argument. */
#define COLLECT                                                                                                       \
    va_list arguments;                                                                                                \
    size_t count = 1;                                                                                                 \
    va_start(arguments, first);                                                                                       \
    for (const char *word = first; word; word = va_arg(arguments, char *)) count++;                                   \
    va_end(arguments);                                                                                                \
    char *words[count];                                                                                               \
    words[0] = (char *)first;                                                                                         \
    va_start(arguments, first);                                                                                       \
    for (size_t i = 1; i < count; i++) words[i] = va_arg(arguments, char *)

OWN int execl(const char *path, const char *first, ...) {
    COLLECT;
    va_end(arguments);
    return execv(path, words);
}

OWN int execlp(const char *file, const char *first, ...) {
    COLLECT;
    va_end(arguments);
    return execvp(file, words);
}

OWN int execle(const char *path, const char *first, ...) {
    COLLECT;
    char **environment = va_arg(arguments, char **);
    va_end(arguments);
    return execve(path, words, environment);
}
