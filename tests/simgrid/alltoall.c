/* alltoall APART BYTES: every rank exchanges BYTES with every other, all requests at once, after APART microseconds times a
   number that differs by rank. */
#include "clocks.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int apart = atoi(argv[1]), bytes = atoi(argv[2]), started_requests = 0;
    char *in = malloc((size_t)bytes * size), *out = malloc((size_t)bytes * size);
    MPI_Request *requests = malloc(2 * sizeof *requests * size);
    usleep(apart * ((rank * 7) % size));
    for (int step = 1; step < size; step++) {
        int from = (rank + size - step) % size;
        MPI_Irecv(in + (size_t)bytes * from, bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, &requests[started_requests++]);
    }
    for (int step = 1; step < size; step++) {
        int to = (rank + step) % size;
        MPI_Isend(out + (size_t)bytes * to, bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD, &requests[started_requests++]);
    }
    MPI_Waitall(started_requests, requests, MPI_STATUSES_IGNORE);
    return end();
}
