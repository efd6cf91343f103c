/* Random number generator that rand and random share. */
#include "own.h"

static char first[128];
static struct random_data generator;

/* The initial state equals the state after srandom(1). */
static struct random_data *begun(void) {
    if (!generator.state) initstate_r(1, first, sizeof first, &generator);
    return &generator;
}

/* State for setstate. A header with the type of the generator precedes the numbers of the state. */
static char *current(void) {
    return (char *)(begun()->state - 1);
}

OWN long random(void) {
    int number;
    random_r(begun(), &number);
    return number;
}

OWN int rand(void) {
    return (int)random();
}

OWN void srandom(unsigned seed) {
    srandom_r(seed, begun());
}

OWN void srand(unsigned seed) {
    srandom_r(seed, begun());
}

OWN char *initstate(unsigned seed, char *state, size_t size) {
    char *old = current();
    return initstate_r(seed, state, size, &generator) < 0 ? NULL : old;
}

OWN char *setstate(char *state) {
    char *old = current();
    return setstate_r(state, &generator) < 0 ? NULL : old;
}
