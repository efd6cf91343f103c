/* Prints the rank's number and placement as given by the system and by environment variables of launchers. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int number(const char *name) {
    const char *text = getenv(name);
    return text ? atoi(text) : -1;
}

int main(int argc, char **argv) {
    int rank;
    cpu_set_t all, one;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    CPU_SET(CPU_COUNT(&all) - 1, &one);
    int kept = sched_setaffinity(0, sizeof one, &one) == 0 && sched_getaffinity(0, sizeof one, &one) == 0;
    CPU_SET(CPU_COUNT(&all), &one);
    CPU_CLR(CPU_COUNT(&all) - 1, &one);
    int refused = sched_setaffinity(0, sizeof one, &one) != 0;
    printf("%d: %d of %ld, %d %d; %d/%d %d/%d, %d/%d %d, %d/%d %d %d/%d\n", rank, CPU_COUNT(&all),
           sysconf(_SC_NPROCESSORS_ONLN), kept, refused, number("OMPI_COMM_WORLD_RANK"),
           number("OMPI_COMM_WORLD_SIZE"), number("OMPI_COMM_WORLD_LOCAL_RANK"), number("OMPI_COMM_WORLD_LOCAL_SIZE"),
           number("PMI_RANK"), number("PMI_SIZE"), number("MPI_LOCALRANKID"), number("SLURM_PROCID"),
           number("SLURM_NTASKS"), number("SLURM_LOCALID"), number("SLURM_NODEID"), number("SLURM_NNODES"));
    MPI_Finalize();
    return 0;
}
