// Executes a reduction of 128 KiB to rank 2.
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int count = 32768, root = 2, rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int *mine = malloc(count * sizeof *mine), *sum = calloc(count, sizeof *sum);
    for (int i = 0; i < count; i++) mine[i] = i + rank;
    MPI_Reduce(mine, sum, count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    for (int i = 0; rank == root && i < count; i++)
        if (sum[i] != size * i + size * (size - 1) / 2) return 1;
    return MPI_Finalize();
}
