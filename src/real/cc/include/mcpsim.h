/* Functions with which a program controls the simulator. Under another MPI they have no effect: a copy of this file
   next to your sources makes them compile everywhere.

   MCPSIM_SAMPLE_LOCAL(n) { ... }    Each rank executes and times the block n times. Afterwards it skips the block and
                                     is charged the mean of these times.
   MCPSIM_SAMPLE_GLOBAL(n) { ... }   The same with n executions over all ranks.
   mcpsim_compute(seconds)           Charges this time of the simulated machine.
   mcpsim_shared_malloc(size)        Allocates folded memory: all ranks use the same pages, so its contents are
                                     meaningless. mcpsim_shared_free(block) frees it.

   An execution that ends by break, return or goto is not counted. The blocks require C99 or C++. */
#ifndef MCPSIM_H
#define MCPSIM_H

#pragma GCC system_header

#if !defined MCPSIM && defined __has_include
#if __has_include(<mcpsim_functions.h>)
#define MCPSIM 1
#endif
#endif

#include <stdlib.h>

#ifdef MCPSIM

#ifdef __cplusplus
extern "C" {
#endif

/* State of a source position, initially zero and used by the simulator. */
struct mcpsim_sample {
    long state[8];
};

int mcpsim_sample_begin(struct mcpsim_sample *sample, int n, int global);
void mcpsim_sample_end(struct mcpsim_sample *sample);
void mcpsim_compute(double seconds);
void *mcpsim_shared_malloc(size_t size);
void mcpsim_shared_free(void *block);

#ifdef __cplusplus
}
#endif

#define MCPSIM_SAMPLE_LOCAL(n) MCPSIM_SAMPLE_AT(n, 0, __LINE__)
#define MCPSIM_SAMPLE_GLOBAL(n) MCPSIM_SAMPLE_AT(n, 1, __LINE__)
#define MCPSIM_SAMPLE_AT(n, global, line) MCPSIM_SAMPLE_OF(n, global, line)
#define MCPSIM_SAMPLE_OF(n, global, line)                                                                             \
    for (struct mcpsim_sample *mcpsim_sample_##line = __extension__({                                                 \
             static struct mcpsim_sample mcpsim_place;                                                                \
             mcpsim_sample_begin(&mcpsim_place, (n), (global)) ? &mcpsim_place : (struct mcpsim_sample *)0;           \
         });                                                                                                          \
         mcpsim_sample_##line;                                                                                        \
         mcpsim_sample_end(mcpsim_sample_##line), mcpsim_sample_##line = (struct mcpsim_sample *)0)

#else

#define MCPSIM_SAMPLE_LOCAL(n)
#define MCPSIM_SAMPLE_GLOBAL(n)
#define mcpsim_compute(seconds) ((void)(seconds))
#define mcpsim_shared_malloc(size) malloc(size)
#define mcpsim_shared_free(block) free(block)

#endif

#endif
