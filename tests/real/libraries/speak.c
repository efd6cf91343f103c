/* Library that calls MPI, uses symbols of the program, and needs another library. */
#include <mpi.h>

extern int of_program(int);
extern int count(void);

int sum_of_ranks(void) {
    int rank, sum;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    rank = of_program(rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

int count_there(void) { return count(); }
