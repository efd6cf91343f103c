/* Everybody sends a block to everybody, again and again.
 *
 *     alltoall bytes turns
 *
 * bytes   of each block. The first turn's contents are checked and not timed.
 */
#include "common.h"

/* Byte i of the block from one rank to another. */
static unsigned char expected(int from, int to, int i)
{
    return (unsigned char)scramble(((uint64_t)from * (uint64_t)size + (uint64_t)to) << 24 ^ (uint64_t)i);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv, "alltoall bytes turns");
    expect_arguments(argc, argv, 2, 2);
    int bytes = (int)number(argc, argv, 1, "bytes", 0, 1 << 24, 0);
    long turns = number(argc, argv, 2, "turns", 1, 1000000000, 0);
    unsigned char *out = room((size_t)bytes * (size_t)size, 1), *in = room((size_t)bytes * (size_t)size, 1);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < bytes; i++)
            out[(long)r * bytes + i] = expected(rank, r, i);

    int right = 1;
    double start = 0;
    for (long turn = 0; turn <= turns; turn++) {
        if (turn == 1)
            start = MPI_Wtime();
        MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
        for (int r = 0; turn == 0 && r < size; r++)
            for (int i = 0; i < bytes; i++)
                right = right && in[(long)r * bytes + i] == expected(r, rank, i);
    }
    double seconds = longest(MPI_Wtime() - start);
    if (rank == 0) {
        printf("alltoall: %d bytes, %ld turns, %d ranks\n", bytes, turns, size);
        printf("time: %.6f s, %.3f us a turn\n", seconds, seconds / (double)turns * 1e6);
    }
    free(out), free(in);
    return finish(right);
}
