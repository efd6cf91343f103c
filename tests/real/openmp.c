/* The main thread calls MPI inside parallel regions. Each rank has its own OpenMP teams, settings and locks. */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size, wrong;

static void expect(const char *what, int is, int should_be) {
    if (is != should_be && !wrong++) printf("rank %d: %s %d, not %d\n", rank, what, is, should_be);
}

static int from_left(void) {
    int left = (rank + size - 1) % size, right = (rank + 1) % size, in = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, right, 0, &in, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return in;
}

static void master_calls(void) {
    int most = omp_get_max_threads();
    for (int turn = 0; turn < 20; turn++) {
        int in = -1, sum = 0;
#pragma omp parallel reduction(+ : sum)
        {
            int me = omp_get_thread_num();
#pragma omp master
            {
                expect("level", omp_get_level(), 1);
                expect("threads", omp_get_num_threads(), most);
                in = from_left();
                expect("number after the call", omp_get_thread_num(), me);
                expect("level after the call", omp_get_level(), 1);
            }
#pragma omp barrier
            sum += in;
        }
        expect("sum", sum, most * ((rank + size - 1) % size));
    }
}

static void settings(void) {
    omp_set_num_threads(rank + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    expect("most threads", omp_get_max_threads(), rank + 1);
}

static void critical(void) {
    int sum = 0;
#pragma omp parallel num_threads(1)
    {
#pragma omp critical
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    expect("sum", sum, size * (size - 1) / 2);
}

static void ordered(void) {
    for (int turn = 0; turn < 20; turn++) {
        int last = -1, sum;
#pragma omp parallel for ordered schedule(static, 1) num_threads(2)
        for (int i = 0; i < 8; i++) {
            if (!omp_get_thread_num()) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
#pragma omp ordered
            {
                if (last != i - 1) wrong++;
                last = i;
            }
        }
    }
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!strcmp(argv[1], "master")) master_calls();
    if (!strcmp(argv[1], "settings")) settings();
    if (!strcmp(argv[1], "critical")) critical();
    if (!strcmp(argv[1], "ordered")) ordered();
    if (!strcmp(argv[1], "abort")) {
#pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num()) usleep(200000);
            else if (rank == size - 1) MPI_Abort(MPI_COMM_WORLD, 9);
            else MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    if (!strcmp(argv[1], "exit")) {
#pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num()) {
                usleep(20000);
            } else if (rank == 1) {
                MPI_Finalize();
                exit(0);
            }
        }
    }
    printf("rank %d %s\n", rank, wrong ? "wrong" : "ok");
    MPI_Finalize();
    return wrong != 0;
}
