/* overlap LATER A B: rank 0 sends A bytes to rank 1 and, LATER microseconds on, B bytes to rank 2. Meanwhile rank 3 sends B
   bytes to rank 1. The transfers share an adapter's way out, one's way in, or both. */
#include "clocks.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int later = atoi(argv[1]), a = atoi(argv[2]), b = atoi(argv[3]);
    char *first = malloc(a), *second = malloc(b);
    MPI_Request requests[2];
    if (rank == 0) {
        MPI_Isend(first, a, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[0]);
        usleep(later);
        MPI_Isend(second, b, MPI_BYTE, 2, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else if (rank == 1) {
        MPI_Irecv(first, a, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(second, b, MPI_BYTE, 3, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else if (rank == 2) {
        MPI_Recv(second, b, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 3) {
        MPI_Send(second, b, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    }
    return end();
}
