/* Measures the values of `mcpsim measure --pairs` with MPI calls. Prints lines with kind, x, y and the median in s. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 3, BYTES = 2000 };

static int in_order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size, word = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char *memory = calloc(1, BYTES), *data = calloc(1, BYTES);
    MPI_Win win;
    MPI_Win_create(memory, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    const char *kinds[] = {"one_to_one", "send_recv_and_recv_send", "put", "get"};
    for (int kind = 0; kind < 4; kind++)
        for (int x = 0; x < size; x++)
            for (int y = 0; y < size; y++) {
                MPI_Barrier(MPI_COMM_WORLD);
                if (x == y || (rank != x && rank != y)) continue;
                double seconds[REPEATS];
                for (int i = 0; i < REPEATS; i++) {
                    if (kind > 1 && rank == x) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, y, 0, win);
                    double start = MPI_Wtime();
                    if (kind > 1) {
                        if (rank == y) break;
                        if (kind == 2) MPI_Put(data, BYTES, MPI_BYTE, y, 0, BYTES, MPI_BYTE, win);
                        if (kind == 3) MPI_Get(data, BYTES, MPI_BYTE, y, 0, BYTES, MPI_BYTE, win);
                        MPI_Win_unlock(y, win);
                    } else if (rank == y) {
                        if (kind == 1) MPI_Recv(data, BYTES, MPI_BYTE, x, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                        MPI_Send(data, BYTES, MPI_BYTE, x, 0, MPI_COMM_WORLD);
                    } else {
                        if (kind == 1) MPI_Send(data, BYTES, MPI_BYTE, y, 0, MPI_COMM_WORLD);
                        MPI_Recv(data, BYTES, MPI_BYTE, y, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                    }
                    seconds[i] = MPI_Wtime() - start;
                    if (kind == 0 && rank == x) MPI_Send(&word, 1, MPI_INT, y, 0, MPI_COMM_WORLD);
                    if (kind == 0 && rank == y) MPI_Recv(&word, 1, MPI_INT, x, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                }
                if (rank != x) continue;
                qsort(seconds, REPEATS, sizeof *seconds, in_order);
                printf("%s %d %d %.12f\n", kinds[kind], x, y, seconds[REPEATS / 2]);
            }
    for (int root = 0; root < size; root++) {
        double seconds[REPEATS];
        for (int i = 0; i < REPEATS; i++) {
            MPI_Barrier(MPI_COMM_WORLD);
            double start = MPI_Wtime();
            MPI_Bcast(data, BYTES, MPI_BYTE, root, MPI_COMM_WORLD);
            seconds[i] = MPI_Wtime() - start;
        }
        qsort(seconds, REPEATS, sizeof *seconds, in_order);
        if (rank != root) printf("bcast %d %d %.12f\n", rank, root, seconds[REPEATS / 2]);
    }
    MPI_Win_free(&win);
    MPI_Finalize();
}
