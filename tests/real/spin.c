/* Rank 0 waits forever in a loop that calls no function. */
#include <mpi.h>
#include <stdio.h>

static volatile int come;

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        printf("waits\n");
        fflush(stdout);
        while (!come);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
