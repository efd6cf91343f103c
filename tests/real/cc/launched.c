/* Prints its name, arguments, environment variables and working directory. Computes a sum over all ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, found, *number, sum;
    char directory[4096];
    MPI_Comm same;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &found);
    MPI_Comm_split(MPI_COMM_WORLD, found ? *number : -1, rank, &same);
    MPI_Comm_size(same, &sum);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    const char *a = getenv("A"), *b = getenv("B");
    char *here = getcwd(directory, sizeof directory);
    printf("%d/%d " NAME " %s %s A=%s B=%s in %s number %d sum %d\n", rank, size, argv[0], argc > 1 ? argv[1] : "-",
           a ? a : "-", b ? b : "-", strrchr(here, '/') + 1, found ? *number : -1, sum);
    MPI_Comm_free(&same);
    MPI_Finalize();
    return 0;
}
