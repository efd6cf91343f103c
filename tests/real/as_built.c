/* Messages, requests, collectives, derived datatypes, communicators and a window, without computation. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size, sum, from = -1, half;
    double data[6] = {0}, *window, one = 1;
    char *block = malloc(300000);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Comm part;
    MPI_Datatype strided;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Irecv(&from, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
    MPI_Comm_rank(part, &half);
    MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &strided);
    MPI_Type_commit(&strided);
    MPI_Bcast(data, 1, strided, 0, part);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Win_allocate(sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
    *window = 0;
    MPI_Win_fence(0, win);
    MPI_Accumulate(&one, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_SUM, win);
    MPI_Win_fence(0, win);
    MPI_Bcast(block, 300000, MPI_CHAR, 0, MPI_COMM_WORLD);
    printf("%d: from %d, tag %d, sum %d, part %d, window %g\n", rank, from, statuses[0].MPI_TAG, sum, half, *window);
    MPI_Win_free(&win);
    MPI_Type_free(&strided);
    MPI_Comm_free(&part);
    MPI_Finalize();
    free(block);
    return 0;
}
