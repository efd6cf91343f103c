/* The place in the text that is being split. */
#include "own.h"

OWN char *strtok(char *text, const char *delimiters) {
    static char *place;
    return strtok_r(text, delimiters, &place);
}
