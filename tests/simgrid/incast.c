/* incast APART BYTES: every rank sends BYTES to rank 0, each APART microseconds after the one before. */
#include "clocks.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int apart = atoi(argv[1]), bytes = atoi(argv[2]);
    char *buffer = malloc((size_t)bytes * size);
    MPI_Request *requests = malloc(sizeof *requests * size);
    if (rank == 0) {
        for (int from = 1; from < size; from++)
            MPI_Irecv(buffer + (size_t)bytes * from, bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, &requests[from - 1]);
        MPI_Waitall(size - 1, requests, MPI_STATUSES_IGNORE);
    } else {
        usleep(apart * rank);
        MPI_Send(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    return end();
}
