/* Threads of OpenMP that state their times. */
#include <mpi.h>
#include <omp.h>

extern void mcpsim_compute(double seconds) __attribute__((weak));

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
#pragma omp parallel num_threads(4)
    {
        mcpsim_compute(0.001);
#pragma omp barrier
        mcpsim_compute(0.001 * (1 + omp_get_thread_num()));
#pragma omp for schedule(dynamic, 1)
        for (int i = 0; i < 8; i++)
            mcpsim_compute(0.001 * (8 - i));
#pragma omp critical
        mcpsim_compute(0.0005);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
