/* Calls MPI functions of each kind that recordings contain. The messages do not depend on times. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void combine(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] = ((int *)in)[i] + 2 * ((int *)inout)[i];
}

int main(int argc, char **argv)
{
    int rank, size, flag, index, found, indices[64], data[4096] = {0}, other[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Request requests[64];
    MPI_Status statuses[64], status;

    /* Point-to-point messages: send modes, wildcard receives, MPI_PROC_NULL. */
    MPI_Irecv(other, 4096, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Ssend(data, 11, MPI_INT, next, 5, MPI_COMM_WORLD);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Send(data, 3, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Sendrecv(data, 100, MPI_CHAR, next, 1, other, 4096, MPI_CHAR, before, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Sendrecv(data, 7, MPI_INT, next, 1, other, 9, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
    MPI_Recv(other, 9, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(data, 17, MPI_INT, next, 2, before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

    /* A strided datatype, and many requests at once. */
    MPI_Datatype column;
    MPI_Type_vector(8, 2, 16, MPI_INT, &column);
    MPI_Type_commit(&column);
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < 8; i++)
            MPI_Irecv(other + 256 * i, 1, column, before, i, MPI_COMM_WORLD, &requests[i]);
        for (int i = 0; i < 8; i++)
            MPI_Isend(data + 256 * i, 1, column, next, i, MPI_COMM_WORLD, &requests[8 + i]);
        if (turn == 0)
            MPI_Waitall(16, requests, MPI_STATUSES_IGNORE);
        else if (turn == 1)
            for (int left = 16; left > 0; left -= found)
                MPI_Waitsome(16, requests, &found, indices, statuses);
        else
            for (int i = 0; i < 16; i++)
                MPI_Waitany(16, requests, &index, MPI_STATUS_IGNORE);
    }
    MPI_Type_free(&column);

    /* Tests and probes, some of which are unsuccessful. */
    MPI_Isend(data, 40, MPI_INT, next, 3, MPI_COMM_WORLD, &requests[0]);
    for (flag = 0; !flag;)
        MPI_Iprobe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &flag, &status);
    MPI_Recv(other, 4096, MPI_INT, status.MPI_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (flag = 0; !flag;)
        MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    MPI_Isend(data, 41, MPI_INT, next, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Message message;
    MPI_Mprobe(before, 4, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(other, 4096, MPI_INT, &message, &status);
    MPI_Irecv(other, 1, MPI_INT, before, 99, MPI_COMM_WORLD, &requests[1]);
    MPI_Cancel(&requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);

    /* Persistent requests. */
    MPI_Recv_init(other, 50, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(data, 50, MPI_INT, next, 6, MPI_COMM_WORLD, &requests[1]);
    for (int turn = 0; turn < 4; turn++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);

    /* Collectives with and without MPI_IN_PLACE, and a reduction whose operator does not commute. */
    MPI_Op op;
    int counts[64], displs[64];
    for (int i = 0; i < size; i++)
        counts[i] = 3 + i, displs[i] = 20 * i;
    MPI_Op_create(combine, 0, &op);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(data, 1000, MPI_INT, size - 1, MPI_COMM_WORLD);
    MPI_Reduce(data, other, 333, MPI_INT, MPI_SUM, size / 2, MPI_COMM_WORLD);
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : data, data, 9, MPI_INT, op, 0, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, data, 333, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(data, other, 1025, MPI_SHORT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Scan(data, other, 5, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Exscan(data, other, 5, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Gather(data, 4, MPI_INT, other, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Gatherv(data, counts[rank], MPI_INT, other, counts, displs, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatter(data, 6, MPI_INT, rank == 0 ? MPI_IN_PLACE : other, 6, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatterv(data, counts, displs, MPI_INT, other, counts[rank], MPI_INT, 1 % size, MPI_COMM_WORLD);
    MPI_Allgather(data, 8, MPI_INT, other, 8, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgatherv(data, counts[rank], MPI_INT, other, counts, displs, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoall(data, 9, MPI_INT, other, 9, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, other, 10, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        counts[i] = 5;
    MPI_Alltoallv(data, counts, displs, MPI_INT, other, counts, displs, MPI_INT, MPI_COMM_WORLD);
    MPI_Reduce_scatter(data, other, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(data, other, 6, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(data, other, 64, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
    MPI_Ialltoall(data + 2048, 7, MPI_INT, other + 2048, 7, MPI_INT, MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);

    /* Creates communicators and sends messages in them. */
    MPI_Comm half, copy, grid, line;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_dup(half, &copy);
    MPI_Comm_free(&half);
    int mine, members;
    MPI_Comm_rank(copy, &mine);
    MPI_Comm_size(copy, &members);
    MPI_Sendrecv(data, 12, MPI_INT, (mine + 1) % members, 1, other, 12, MPI_INT, (mine + members - 1) % members, 1, copy,
                 MPI_STATUS_IGNORE);
    MPI_Allreduce(data, other, 13, MPI_INT, MPI_SUM, copy);
    MPI_Comm_free(&copy);
    int dims[2] = {0, 0}, periods[2] = {1, 0}, keep[2] = {0, 1};
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Neighbor_allgather(data, 5, MPI_INT, other, 5, MPI_INT, grid);
    MPI_Neighbor_alltoall(data, 6, MPI_INT, other, 6, MPI_INT, grid);
    MPI_Cart_sub(grid, keep, &line);
    MPI_Bcast(data, 70, MPI_INT, 0, line);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, 0, &half);
    if (half != MPI_COMM_NULL)
        MPI_Barrier(half);
    MPI_Sendrecv(data, 2, MPI_INT, 0, 1, other, 2, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    if (rank == 0)
        puts("verified: ok");
    MPI_Finalize();
    return 0;
}
