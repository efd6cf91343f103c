/* Prints the number of lines that the argument states, with a barrier after each line. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    long lines = argc > 1 ? atol(argv[1]) : 1;
    for (long line = 0; line < lines; line++) {
        printf("line %ld\n", line);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
