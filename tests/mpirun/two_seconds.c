/* Ranks exchange numbers until two seconds have passed at rank 0. */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    double start = MPI_Wtime();
    int goes_on = 1;
    while (goes_on) {
        int sum, one = 1;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        goes_on = MPI_Wtime() - start < 2.0;
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return MPI_Finalize();
}
