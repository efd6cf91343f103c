/* A token goes around all ranks, one hop after another.
 *
 *     ring turns [bytes]
 *
 * bytes   of the token, 8 without it
 *
 * Every rank adds 1 to the token's first 8 bytes, if it has as many, which checks all hops of all turns. A rank alone
 * sends to itself.
 */
#include "common.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv, "ring turns [bytes]");
    expect_arguments(argc, argv, 1, 2);
    long turns = number(argc, argv, 1, "turns", 1, 1000000000, 0);
    int bytes = (int)number(argc, argv, 2, "bytes", 0, 1 << 30, 8);
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    int64_t *token = room((size_t)bytes / 8 + 1, sizeof *token);

    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (long turn = 0; turn < turns; turn++) {
        if (size == 1) {
            MPI_Sendrecv_replace(token, bytes, MPI_BYTE, next, 0, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            token[0]++;
            continue;
        }
        if (rank > 0)
            MPI_Recv(token, bytes, MPI_BYTE, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        token[0]++;
        MPI_Send(token, bytes, MPI_BYTE, next, 0, MPI_COMM_WORLD);
        if (rank == 0)
            MPI_Recv(token, bytes, MPI_BYTE, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    double seconds = MPI_Wtime() - start;

    int right = 1;
    if (rank == 0) {
        right = bytes < 8 || token[0] == (int64_t)turns * size;
        printf("ring: %ld turns, %d bytes, %d ranks\n", turns, bytes, size);
        printf("time: %.6f s, %.3f us a hop\n", seconds, seconds / (double)turns / size * 1e6);
        if (bytes >= 8)
            printf("the token was passed %lld times\n", (long long)token[0]);
    }
    free(token);
    return finish(right);
}
