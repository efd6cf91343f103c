/* What the programs of this folder share: the same source runs here and under SimGrid's SMPI. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int rank, size;
static double started;

static void begin(int *argc, char ***argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    started = MPI_Wtime();
}

/* One line a rank: its number and its seconds. */
static int end(void) {
    printf("rank %d %.12f\n", rank, MPI_Wtime() - started);
    MPI_Finalize();
    return 0;
}
