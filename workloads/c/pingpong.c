/* Ranks 0 and 1 throw a message to and fro; the others are idle.
 *
 *     pingpong bytes turns
 *
 * A turn is a round trip of blocking messages. The first turn's contents are checked and not timed.
 */
#include "common.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv, "pingpong bytes turns");
    expect_arguments(argc, argv, 2, 2);
    int bytes = (int)number(argc, argv, 1, "bytes", 0, 1 << 30, 0);
    long turns = number(argc, argv, 2, "turns", 1, 1000000000, 0);
    if (size < 2)
        refuse("expected two ranks or more; there is 1\n");
    unsigned char *ball = room((size_t)bytes, 1);
    int right = 1;
    double seconds = 0;
    if (rank == 0)
        for (int i = 0; i < bytes; i++)
            ball[i] = (unsigned char)scramble((uint64_t)i);
    if (rank < 2) {
        int other = 1 - rank;
        double start = 0;
        for (long turn = 0; turn <= turns; turn++) {
            if (turn == 1)
                start = MPI_Wtime();
            if (rank == 0)
                MPI_Send(ball, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
            MPI_Recv(ball, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            /* What rank 1 sends back in the first turn is the complement of what came. */
            for (int i = 0; turn == 0 && i < bytes; i++) {
                unsigned char expected = (unsigned char)scramble((uint64_t)i);
                right = right && ball[i] == (unsigned char)(rank == 0 ? ~expected : expected);
                ball[i] = (unsigned char)~ball[i];
            }
            if (rank == 1)
                MPI_Send(ball, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
        }
        seconds = MPI_Wtime() - start;
    }
    if (rank == 0) {
        printf("pingpong: %d bytes, %ld turns, %d ranks\n", bytes, turns, size);
        printf("time: %.6f s, %.3f us one way\n", seconds, seconds / (double)turns / 2 * 1e6);
    }
    free(ball);
    return finish(right);
}
