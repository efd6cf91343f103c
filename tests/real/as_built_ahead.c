/* Ranks that run far ahead of virtual time: many and long messages, tags out of order, wildcards, cancelling, probes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 3000, LONG = 3 << 20, TIMES = 8, PAGES = 6000, PAGE = 4096 };

int main(int argc, char **argv)
{
    int rank, size, next, before, value, cancelled = 0;
    long sum = 0;
    char *block = malloc(LONG);
    MPI_Request requests[4];
    MPI_Status status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    /* The receiver waits for the simulator while many messages arrive. */
    for (int i = 0; rank == 0 && i < PAGES; i++) {
        memset(block, i, PAGE);
        MPI_Send(block, PAGE, MPI_CHAR, 1, 10, MPI_COMM_WORLD);
    }
    if (rank == 0)
        MPI_Send(&rank, 1, MPI_INT, 1, 11, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; rank == 1 && i < PAGES; i++) {
        MPI_Recv(block, PAGE, MPI_CHAR, 0, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (block[0] != (char)i || block[PAGE - 1] != (char)i)
            MPI_Abort(MPI_COMM_WORLD, 3);
    }
    /* The receiver of each message has not yet begun to receive. */
    for (int i = 0; i < MANY; i++) {
        value = i * (rank + 1);
        MPI_Isend(&value, 1, MPI_INT, next, i % 3, MPI_COMM_WORLD, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    for (int tag = 2; tag >= 0; tag--)
        for (int i = tag; i < MANY; i += 3) {
            MPI_Recv(&value, 1, MPI_INT, before, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (value != i * (before + 1))
                MPI_Abort(MPI_COMM_WORLD, 2);
            sum += value;
        }
    /* The messages of one direction are longer in total than a rank may be ahead. */
    for (int i = 0; i < TIMES; i++) {
        memset(block, rank + i, LONG);
        if (rank % 2 == 0)
            MPI_Send(block, LONG, MPI_CHAR, next, 5, MPI_COMM_WORLD);
        else {
            MPI_Recv(block, LONG, MPI_CHAR, before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            sum += block[LONG - 1];
        }
    }
    /* The simulator decides the matches of these receives. */
    MPI_Irecv(&value, 1, MPI_INT, before, 6, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Irecv(block, 1, MPI_INT, before, 8, MPI_COMM_WORLD, &requests[2]);
    MPI_Send(&rank, 1, MPI_INT, next, 8, MPI_COMM_WORLD);
    MPI_Send(&rank, 1, MPI_INT, next, 7, MPI_COMM_WORLD);
    MPI_Wait(&requests[2], &status);
    sum += status.MPI_SOURCE;
    MPI_Wait(&requests[1], &status);
    sum += 10 * status.MPI_SOURCE;
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], &status);
    MPI_Test_cancelled(&status, &cancelled);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(&rank, 1, MPI_INT, next, 9, MPI_COMM_WORLD);
    MPI_Probe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &status);
    MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&rank, 1, MPI_INT, next, 4, &value, 1, MPI_INT, before, 4, MPI_COMM_WORLD, &status);
    printf("%d: sum %ld, cancelled %d, value %d\n", rank, sum, cancelled, value);
    MPI_Finalize();
    free(block);
    return 0;
}
