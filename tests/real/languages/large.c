/* Functions with large counts. The output contains no time. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, values[4], sums[4], gathered[8] = {0}, sent[4];
    MPI_Count ones[4] = {1, 1, 1, 1}, count, extent, low, bytes, blocks[2] = {1, 2}, places[2] = {0, 8};
    MPI_Aint places_of_ranks[4] = {6, 4, 2, 0}, steps[4] = {0, 1, 2, 3};
    MPI_Datatype pair;
    MPI_Request request;
    MPI_Status status;
    char packed[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 4; i++)
        values[i] = 10 * rank + i;
    MPI_Allreduce_c(values, sums, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("%d sums %d %d\n", rank, sums[0], sums[3]);
    MPI_Gatherv_c(values, 1, MPI_INT, gathered, rank ? NULL : ones, rank ? NULL : places_of_ranks, MPI_INT, 0, MPI_COMM_WORLD);
    printf("%d gathered %d %d %d %d\n", rank, gathered[0], gathered[2], gathered[4], gathered[6]);
    MPI_Ialltoallv_c(values, ones, steps, MPI_INT, sent, ones, steps, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("%d alltoall %d %d\n", rank, sent[0], sent[3]);
    MPI_Irecv_c(sent, 3, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, &request);
    MPI_Send_c(values, 3, MPI_INT, (rank + size - 1) % size, 7, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    MPI_Get_count_c(&status, MPI_INT, &count);
    printf("%d received %d, %lld\n", rank, sent[2], (long long)count);
    MPI_Type_indexed_c(2, blocks, places, MPI_INT, &pair);
    MPI_Type_size_c(pair, &bytes);
    MPI_Type_get_extent_c(pair, &low, &extent);
    count = 0;
    MPI_Pack_c(values, 2, MPI_INT, packed, 64, &count, MPI_COMM_WORLD);
    printf("%d type %lld %lld %lld, packed %lld\n", rank, (long long)bytes, (long long)low, (long long)extent, (long long)count);
    if (argc > 1)
        MPI_Send_c(values, 1LL << 40, MPI_INT, rank, 7, MPI_COMM_WORLD);
    MPI_Type_free(&pair);
    MPI_Finalize();
    return 0;
}
