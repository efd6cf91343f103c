/* Every rank tells the host process it is in, and then sends around for ever. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, size, token = 0;
    char process[20] = "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* getpid is the rank's own. */
    if (readlink("/proc/self", process, sizeof process - 1) < 0) return 1;
    printf("%d %s\n", rank, process);
    fflush(stdout);
    for (;;) {
        MPI_Sendrecv_replace(&token, 1, MPI_INT, (rank + 1) % size, 0, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
        usleep(10);
    }
}
