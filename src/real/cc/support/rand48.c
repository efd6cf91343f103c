/* Random number generators of drand48 and related functions. */
#include "own.h"

static struct drand48_data state;

OWN double drand48(void) {
    double number;
    drand48_r(&state, &number);
    return number;
}

OWN double erand48(unsigned short from[3]) {
    double number;
    erand48_r(from, &state, &number);
    return number;
}

OWN long lrand48(void) {
    long number;
    lrand48_r(&state, &number);
    return number;
}

OWN long nrand48(unsigned short from[3]) {
    long number;
    nrand48_r(from, &state, &number);
    return number;
}

OWN long mrand48(void) {
    long number;
    mrand48_r(&state, &number);
    return number;
}

OWN long jrand48(unsigned short from[3]) {
    long number;
    jrand48_r(from, &state, &number);
    return number;
}

OWN void srand48(long seed) {
    srand48_r(seed, &state);
}

OWN unsigned short *seed48(unsigned short seed[3]) {
    seed48_r(seed, &state);
    return state.__old_x;
}

OWN void lcong48(unsigned short parameters[7]) {
    lcong48_r(parameters, &state);
}
