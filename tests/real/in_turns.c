/* Threads call MPI one at a time (MPI_THREAD_SERIALIZED). Defines a function that has the name of a Fortran one. */
#include <mpi.h>
#include <stdio.h>

int mpi_barrier(int answer)
{
    return answer;
}

int main(int argc, char **argv)
{
    int provided, rank, one = 1, sum = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#pragma omp parallel num_threads(2)
    for (int turn = 0; turn < 50; turn++) {
#pragma omp single
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%d %d\n", sum, mpi_barrier(42));
    MPI_Finalize();
    return 0;
}
