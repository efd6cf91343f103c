/* Does not free the MPI objects that it creates. */
#include <mpi.h>

int main(int argc, char **argv) {
    int rank, size, in[2], out = 1;
    MPI_Request requests[2], send;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        MPI_Irecv(&in[0], 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&in[1], 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[1]);
    }
    if (rank == 1) {
        MPI_Isend(&out, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &send);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
