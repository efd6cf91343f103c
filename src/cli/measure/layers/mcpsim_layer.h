/* What a C library gives so that `mcpsim measure --layer ./library.so` can
 * measure it: messages between two ranks, 0 and 1, in order, without tags.
 * Build it with cc -shared -fPIC -o library.so library.c */
#ifndef MCPSIM_LAYER_H
#define MCPSIM_LAYER_H

#include <stddef.h>

/* Begins; rank is 0 or 1. The address is what --listen (rank 1) or --connect
 * (rank 0) says, or a word that both ranks of one host are given.
 * 0: all is well. */
int mcpsim_layer_start(int rank, const char *address);

/* Begins to send to the other rank. The data stay as they are until
 * mcpsim_layer_wait. 0: all is well. */
int mcpsim_layer_send(const void *data, size_t bytes);

/* Begins to receive the next message of the other rank, which has so many
 * bytes; none is a message too. 0: all is well. */
int mcpsim_layer_recv(void *data, size_t bytes);

/* Waits until all that was begun is done, in whatever order.
 * 0: all is well. */
int mcpsim_layer_wait(void);

/* Ends. */
void mcpsim_layer_end(void);

#endif
