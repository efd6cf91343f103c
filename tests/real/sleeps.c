#include <mpi.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int turn = 0; turn < 5; turn++) {
        usleep(20000);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return MPI_Finalize();
}
