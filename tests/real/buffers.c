/* Rank 0 sends 16 messages of 256 KiB to rank 1. The argument is the number of buffers that each rank uses in turn. */
#include <mpi.h>
#include <stdlib.h>

#define LENGTH (256 << 10)
#define MESSAGES 16

static char data[MESSAGES][LENGTH];

int main(int argc, char **argv)
{
    int rank, buffers;
    MPI_Init(&argc, &argv);
    buffers = argc > 1 ? atoi(argv[1]) : 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < MESSAGES; i++) {
        char *here = data[i % buffers];
        if (rank == 0)
            MPI_Send(here, LENGTH, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(here, LENGTH, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
