/* Every rank sends a message that is too large to be eager before it receives. The ranks deadlock in MPI_Send. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    enum { COUNT = 100000 };
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double *out = calloc(COUNT, sizeof *out), *in = calloc(COUNT, sizeof *in);
    MPI_Send(out, COUNT, MPI_DOUBLE, (rank + 1) % size, 0, MPI_COMM_WORLD);
    MPI_Recv(in, COUNT, MPI_DOUBLE, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    free(out);
    free(in);
    return MPI_Finalize();
}
