/* Sampled blocks, and charged time. */
#include <mpi.h>
#include <mcpsim.h>
#include <stdio.h>
#include <time.h>

static int local, global;

int main(int argc, char **argv) {
    int rank, size, i, sum;
    double before, passed;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    before = MPI_Wtime();
    for (i = 0; i < 10; i++) {
        MCPSIM_SAMPLE_LOCAL(3) {
            local++;
            mcpsim_compute(1.0);
        }
    }
    passed = MPI_Wtime() - before;
    if (passed < 9.9 || passed > 10.1) printf("rank %d: local %f\n", rank, passed);
    for (i = 0; i < 10; i++) {
        MCPSIM_SAMPLE_GLOBAL(4) {
            global++;
            mcpsim_compute(2.0);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    passed = MPI_Wtime() - before;
    if (passed < 29.9 || passed > 30.1) printf("rank %d: global %f\n", rank, passed);
    MPI_Reduce(&global, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("local %d global %d\n", local, sum);
    if (argc > 1) mcpsim_compute(-1);
    MPI_Finalize();
    return 0;
}
