/* Windows of 64 messages from rank 0 to rank 1 as osu_bw has them: one buffer a rank, an answer of 4 B. Prints bytes,
 * and of a window's microseconds the median, a tenth of them below, a tenth above. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 64, MOST = 4 << 20, WARM = 5 };

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void window(int rank, char *buffer, int bytes)
{
    MPI_Request requests[WINDOW];
    if (rank == 0) {
        for (int k = 0; k < WINDOW; k++)
            MPI_Isend(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[k]);
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        MPI_Recv(buffer, 4, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        for (int k = 0; k < WINDOW; k++)
            MPI_Irecv(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[k]);
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        MPI_Send(buffer, 4, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    void *buffer = NULL;
    if (ranks != 2 || posix_memalign(&buffer, 4096, MOST) != 0) {
        fprintf(stderr, "windows: wants two ranks and 4 MiB\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(buffer, rank, MOST);
    for (int bytes = 1024; bytes <= MOST; bytes *= 2) {
        const int runs = bytes <= 65536 ? 401 : bytes <= 1 << 20 ? 101 : 31;
        double micros[401];
        for (int run = -WARM; run < runs; run++) {
            MPI_Barrier(MPI_COMM_WORLD);
            const double start = MPI_Wtime();
            window(rank, buffer, bytes);
            if (run >= 0)
                micros[run] = (MPI_Wtime() - start) * 1e6;
        }
        if (rank == 0) {
            qsort(micros, runs, sizeof *micros, ascending);
            printf("%d,%.3f,%.3f,%.3f\n", bytes, micros[runs / 2], micros[runs / 10], micros[runs - 1 - runs / 10]);
            fflush(stdout);
        }
    }
    free(buffer);
    MPI_Finalize();
    return 0;
}
