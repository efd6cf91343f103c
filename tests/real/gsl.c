/* Uses the GNU Scientific Library, which stores seeds and its error handler in global variables. */
#include <gsl/gsl_errno.h>
#include <gsl/gsl_rng.h>
#include <mpi.h>
#include <stdio.h>

static int errors;

static void count(const char *reason, const char *file, int line, int number) {
    (void)reason, (void)file, (void)line, (void)number;
    errors++;
}

int main(int argc, char **argv) {
    unsigned long drawn = 0;
    gsl_rng *generator;
    int rank, i;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    gsl_rng_default_seed = 100 + rank;
    if (rank % 2) gsl_set_error_handler(count);
    MPI_Barrier(MPI_COMM_WORLD);
    generator = gsl_rng_alloc(gsl_rng_mt19937);
    for (i = 0; i < 1000; i++) {
        drawn = drawn * 31 + gsl_rng_get(generator);
        if (i % 100 == 0) MPI_Barrier(MPI_COMM_WORLD);
    }
    /* The default error handler of the library would end the program. */
    if (rank % 2) gsl_error("nothing", "file", 1, 1);
    gsl_rng_free(generator);
    printf("rank %d has drawn %lu and met %d errors\n", rank, drawn, errors);
    MPI_Finalize();
    return 0;
}
