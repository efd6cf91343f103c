/* Exchanges between two nodes that keep both directions of their link busy.
 *
 *     exchange PATTERN BYTES ITERATIONS RUNS [COMPUTE_US]
 *
 * prints a line a run: the seconds from a barrier to the end of the last rank. Ranks go to two nodes in turns, so that ranks r
 * and r xor 1 are on two nodes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void compute(double seconds) {
    double end = MPI_Wtime() + seconds;
    while (MPI_Wtime() < end) {}
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 5) {
        if (rank == 0) fprintf(stderr, "usage: exchange PATTERN BYTES ITERATIONS RUNS [COMPUTE_US]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const char *pattern = argv[1];
    int bytes = atoi(argv[2]), iterations = atoi(argv[3]), runs = atoi(argv[4]);
    double busy = argc > 5 ? atof(argv[5]) * 1e-6 : 0;
    int many = size > 8 ? size : 8;
    char *out = malloc((size_t)bytes * many), *in = malloc((size_t)bytes * many);
    memset(out, rank, (size_t)bytes * many);
    int partner = rank ^ 1, next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int run = -1; run < runs; run++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        for (int i = 0; i < iterations; i++) {
            if (!strcmp(pattern, "pingpong")) {
                if (rank % 2) MPI_Recv(in, bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(out, bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD);
                if (rank % 2 == 0) MPI_Recv(in, bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else if (!strcmp(pattern, "sendrecv")) {
                MPI_Sendrecv(out, bytes, MPI_BYTE, partner, 0, in, bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
            } else if (!strcmp(pattern, "ring")) {
                MPI_Sendrecv(out, bytes, MPI_BYTE, next, 0, in, bytes, MPI_BYTE, before, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
            } else if (!strcmp(pattern, "window")) {
                MPI_Request requests[8];
                for (int k = 0; k < 4; k++)
                    MPI_Irecv(in + (size_t)k * bytes, bytes, MPI_BYTE, partner, k, MPI_COMM_WORLD, &requests[k]);
                for (int k = 0; k < 4; k++)
                    MPI_Isend(out + (size_t)k * bytes, bytes, MPI_BYTE, partner, k, MPI_COMM_WORLD, &requests[4 + k]);
                MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
            } else if (!strcmp(pattern, "overlap")) {
                MPI_Request requests[2];
                MPI_Irecv(in, bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD, &requests[0]);
                MPI_Isend(out, bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD, &requests[1]);
                compute(busy);
                MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            } else if (!strcmp(pattern, "alltoall")) {
                MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
            } else {
                MPI_Abort(MPI_COMM_WORLD, 2);
            }
        }
        double own = MPI_Wtime() - start, all;
        MPI_Reduce(&own, &all, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank == 0 && run >= 0) printf("%.6f\n", all);
    }
    MPI_Finalize();
    return 0;
}
