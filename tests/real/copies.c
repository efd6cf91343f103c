/* Prints the time in us of large messages: a ping-pong, many messages at once, and a reduction. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 1 << 21, ROUNDS = 20, MANY = 16 };

int main(int argc, char **argv) {
    MPI_Request requests[MANY];
    double start;
    int rank, what, i, j;
    char *out = malloc(SIZE), *in = malloc(SIZE);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    memset(out, 1, SIZE);
    memset(in, 1, SIZE);
    for (what = 0; what < 3; what++) {
        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        for (i = 0; i < ROUNDS; i++) {
            if (what == 0 && rank == 0) {
                MPI_Send(out, SIZE, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
                MPI_Recv(in, SIZE, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else if (what == 0) {
                MPI_Recv(in, SIZE, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(out, SIZE, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
            } else if (what == 1) {
                for (j = 0; j < MANY; j++) {
                    if (rank == 0) MPI_Isend(out, SIZE / MANY, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &requests[j]);
                    else MPI_Irecv(in + j * (SIZE / MANY), SIZE / MANY, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &requests[j]);
                }
                MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
            } else {
                MPI_Allreduce(out, in, SIZE, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
            }
        }
        if (rank == 0) printf("%f\n", (MPI_Wtime() - start) * 1e6);
    }
    MPI_Finalize();
    free(in);
    free(out);
    return 0;
}
