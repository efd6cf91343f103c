/* Ends of a rank, by the argument. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void finalize(void)
{
    MPI_Finalize();
}

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
    if (strcmp(what, "handler") == 0)
        atexit(finalize);
    if (strcmp(what, "reads") == 0 && getenv("OMPI_COMM_WORLD_RANK") == NULL)
        return 8;
    if (strcmp(what, "opens") == 0 && fopen(argv[0], "r") == NULL)
        return 8;
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
    if (strcmp(what, "alone") == 0) {
        if (rank == 0)
            MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Finalize();
        return 7;
    }
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
    if (strcmp(what, "signal") == 0 && rank == 1)
        kill(getpid(), SIGKILL);
    if (strcmp(what, "waits") == 0 && rank == 1)
        pause();
    if (strcmp(what, "forks") == 0 && rank == 1 && fork() == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        _exit(7);
    }
    if (strcmp(what, "background") == 0 && rank == 1 && fork() == 0)
        for (;;)
            pause();
    if (strcmp(what, "endless") == 0) {
        /* The reader of this file observes the end of all processes that have it open. */
        FILE *open = fopen(argv[2], "w");
        fprintf(open, "%d\n", (int)getpid());
        fflush(open);
        for (;;)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    if (strcmp(what, "handler") == 0)
        return 0;
    if (strcmp(what, "leaves") == 0)
        _exit(0);
    MPI_Finalize();
    if (strcmp(what, "quick") == 0)
        _exit(rank == 1 ? 6 : 0);
    if (strcmp(what, "child_leaves") == 0 && vfork() == 0)
        _exit(9);
    return strcmp(what, "code") == 0 && rank == 1 ? 5 : 0;
}
