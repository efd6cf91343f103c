/* Two ranks that both receive before they send. */
#include <mpi.h>

static void exchange(int partner) {
    int value = 0;
    MPI_Recv(&value, 1, MPI_INT, partner, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, partner, 7, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1 && rank == 0) MPI_Send(&rank, -1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    exchange(1 - rank);
    MPI_Finalize();
    return 0;
}
