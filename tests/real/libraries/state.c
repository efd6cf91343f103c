/* Library with several kinds of state. Actions of other ranks must not change the state of a rank. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int counter, *pointer = &counter;
static char text[3 * 4096] = "begun";
static _Thread_local int local = 5;
_Thread_local int exported = 7;
static int made;

__attribute__((constructor)) static void construct(void) { made = 1000; }
__attribute__((destructor)) static void destruct(void) {
    if (getenv("STATE_TELLS")) printf("the library ends after %d\n", counter);
}

int count(void) { return ++*pointer + made; }
int local_count(void) { return ++local; }
const char *remember(const char *new) {
    strcpy(text + 5, new);
    return text;
}
void seed(unsigned n) { srand(n); }
int draw(void) { return rand(); }
