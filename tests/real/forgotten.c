/* Ends with incomplete operations whose buffers are on the stack. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void start(const char *mode) {
    int send = rank + 1, all[8] = {0}, result = 0, more[8] = {0};
    MPI_Request request = MPI_REQUEST_NULL;
    if (!strcmp(mode, "allreduce"))
        MPI_Iallreduce(&send, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    else if (!strcmp(mode, "allgather"))
        MPI_Iallgather(&send, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &request);
    else if (!strcmp(mode, "alltoall"))
        MPI_Ialltoall(more, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &request);
    else if (!strcmp(mode, "bcast"))
        MPI_Ibcast(all, 8, MPI_INT, 0, MPI_COMM_WORLD, &request);
    else if (!strcmp(mode, "others")) {
        /* Rank 0 does not wait for the operation. The other ranks still receive its data. */
        MPI_Iallreduce(&send, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        if (rank > 0) {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            printf("%d\n", result);
        }
    }
}

static void window(void) {
    int memory[4] = {0}, value = 7;
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank > 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!strcmp(argv[1], "window"))
        window();
    else
        start(argv[1]);
    MPI_Finalize();
    if (rank == 0) puts("done");
    return 0;
}
