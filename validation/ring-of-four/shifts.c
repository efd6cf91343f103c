/* Exchanges of four ranks in a ring, whose links differ.
 *
 *     shifts PROGRAM BYTES FIRST LAST RUNS
 *
 * PROGRAM is shift: all ranks exchange with the rank d further by MPI_Sendrecv, for d from FIRST to LAST; or visit:
 * rank 0 sends to rank d, which sends back. Prints a line a run: the slowest rank's seconds from a barrier to the end.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 6) {
        if (rank == 0) fprintf(stderr, "usage: shifts PROGRAM BYTES FIRST LAST RUNS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int shifts = !strcmp(argv[1], "shift");
    int bytes = atoi(argv[2]), first = atoi(argv[3]), last = atoi(argv[4]), runs = atoi(argv[5]);
    char *out = malloc(bytes), *in = malloc(bytes);
    memset(out, rank, bytes);
    for (int run = -1; run < runs; run++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        for (int d = first; d <= last; d++) {
            if (shifts) {
                int to = (rank + d) % size, from = (rank + size - d) % size;
                MPI_Sendrecv(out, bytes, MPI_BYTE, to, 0, in, bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
            } else if (rank == 0) {
                MPI_Send(out, bytes, MPI_BYTE, d, 0, MPI_COMM_WORLD);
                MPI_Recv(in, bytes, MPI_BYTE, d, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else if (rank == d) {
                MPI_Recv(in, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(out, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
            }
        }
        double seconds = MPI_Wtime() - start, slowest;
        MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank == 0 && run >= 0) printf("%.6f\n", slowest);
    }
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
