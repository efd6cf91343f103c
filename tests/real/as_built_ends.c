/* Ends of a rank, by the argument. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *barrier(void *unused)
{
    MPI_Barrier(MPI_COMM_SELF);
    return unused;
}

int main(int argc, char **argv)
{
    int rank, value = 0;
    const char *what = argv[1];
    MPI_File file;
    if (strcmp(what, "nothing") == 0)
        return 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(what, "crash") == 0 && rank == 1)
        *(volatile int *)8 = 1;
    if (strcmp(what, "exit") == 0 && rank == 1)
        exit(0);
    if (strcmp(what, "file") == 0)
        MPI_File_open(MPI_COMM_WORLD, "none", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    if (strcmp(what, "deadlock") == 0)
        MPI_Recv(&value, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (strcmp(what, "thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, barrier, NULL);
        pthread_join(thread, NULL);
    }
    if (strcmp(what, "child") == 0 && rank == 0) {
        char command[4096];
        snprintf(command, sizeof command, "%s ok", argv[0]);
        if (system(command) == 0)
            return 9;
    }
    MPI_Finalize();
    return strcmp(what, "code") == 0 && rank == 1 ? 5 : 0;
}
