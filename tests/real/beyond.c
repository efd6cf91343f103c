/* Threads continue to run while their rank ends in the way that the argument selects. */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static volatile unsigned long turns;
static int *volatile nowhere = (int *)16;

static void *work(void *unused) {
    for (;;) turns++;
    return unused;
}

int main(int argc, char **argv) {
    pthread_t thread;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!strcmp(argv[1], "region")) {
#pragma omp parallel num_threads(4)
        abort();
    }
    pthread_create(&thread, NULL, work, NULL);
    pthread_detach(thread);
    while (turns < 1000) continue;
    if (rank == 1 && !strcmp(argv[1], "crash")) *nowhere = 1;
    if (rank == 1 && !strcmp(argv[1], "error")) MPI_Send(NULL, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
