/* Position in the text, which strtok stores between calls. */
#include "own.h"

OWN char *strtok(char *text, const char *delimiters) {
    static char *place;
    return strtok_r(text, delimiters, &place);
}
