/* Every rank exchanges a face with its six neighbours on a periodic grid, and all add up a number.
 *
 *     halo3d bytes turns
 *
 * A turn: six Irecv, six Isend, Waitall, and an Allreduce of one double. The first turn's contents are checked and not
 * timed; the sum is checked in every turn.
 */
#include "common.h"

enum { neighbours = 6 };

int main(int argc, char **argv)
{
    begin(&argc, &argv, "halo3d bytes turns");
    expect_arguments(argc, argv, 2, 2);
    int bytes = (int)number(argc, argv, 1, "bytes", 0, 1 << 26, 0);
    long turns = number(argc, argv, 2, "turns", 1, 1000000000, 0);
    int dims[3] = {0, 0, 0}, periodic[3] = {1, 1, 1}, neighbour[neighbours];
    MPI_Comm box;
    MPI_Dims_create(size, 3, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periodic, 0, &box);
    for (int d = 0; d < 3; d++)
        MPI_Cart_shift(box, d, 1, &neighbour[2 * d], &neighbour[2 * d + 1]);

    /* A face's bytes follow from its sender and the side it leaves by; it comes in by the opposite side, k ^ 1. */
    unsigned char *out[neighbours], *in[neighbours];
    for (int k = 0; k < neighbours; k++) {
        out[k] = room((size_t)bytes, 1);
        in[k] = room((size_t)bytes, 1);
        for (int i = 0; i < bytes; i++)
            out[k][i] = (unsigned char)scramble((uint64_t)(rank * neighbours + k) << 32 | (uint64_t)i);
    }
    int right = 1;
    double start = 0;
    for (long turn = 0; turn <= turns; turn++) {
        MPI_Request requests[2 * neighbours];
        if (turn == 1)
            start = MPI_Wtime();
        for (int k = 0; k < neighbours; k++)
            MPI_Irecv(in[k], bytes, MPI_BYTE, neighbour[k], k ^ 1, box, &requests[k]);
        for (int k = 0; k < neighbours; k++)
            MPI_Isend(out[k], bytes, MPI_BYTE, neighbour[k], k, box, &requests[neighbours + k]);
        MPI_Waitall(2 * neighbours, requests, MPI_STATUSES_IGNORE);
        double mine = (double)(turn + rank), sum;
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, box);
        right = right && sum == (double)turn * size + (double)size * (size - 1) / 2;
        for (int k = 0; turn == 0 && k < neighbours; k++)
            for (int i = 0; i < bytes; i++) {
                uint64_t sender = (uint64_t)(neighbour[k] * neighbours + (k ^ 1));
                right = right && in[k][i] == (unsigned char)scramble(sender << 32 | (uint64_t)i);
            }
    }
    double seconds = longest(MPI_Wtime() - start);
    if (rank == 0) {
        printf("halo3d: %d bytes, %ld turns, %d ranks as %d x %d x %d\n", bytes, turns, size, dims[0], dims[1],
               dims[2]);
        printf("time: %.6f s, %.3f us a turn\n", seconds, seconds / (double)turns * 1e6);
    }
    for (int k = 0; k < neighbours; k++)
        free(out[k]), free(in[k]);
    MPI_Comm_free(&box);
    return finish(right);
}
