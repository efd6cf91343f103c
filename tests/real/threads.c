/* Every rank runs an OpenMP parallel region. */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>

static int counter;

/* Uses more stack than a thread has by default. */
static __attribute__((noinline)) void deep(void) {
    volatile char room[32 << 20];
    int i;
    for (i = (32 << 20) - 1; i >= 0; i -= 4096) room[i] = 1;
}

int main(int argc, char **argv) {
    int rank, i, sum = 0, round, total;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &i);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1 && argv[1][0] == 'd') {
#pragma omp parallel num_threads(3)
        if (omp_get_thread_num() == 1) deep();
    }
    if (argc > 1) {
        printf("%d\n", omp_get_max_threads());
        MPI_Finalize();
        return 0;
    }
    for (round = 0; round < 5; round++) {
#pragma omp parallel for num_threads(3) reduction(+ : sum)
        for (i = 0; i < 300; i++) {
            sum += i;
#pragma omp atomic
            counter++;
            if (i % 100 == 0 && round == 0) printf("rank %d thread %d i %d\n", rank, omp_get_thread_num(), i);
        }
        MPI_Allreduce(&sum, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    if (counter != 1500 || sum != 5 * 44850 || omp_get_wtime() < 0) printf("rank %d: %d %d\n", rank, counter, sum);
    MPI_Finalize();
    return 0;
}
