/* halo APART BYTES STEPS: a periodic grid of X x 4 ranks whose ranks exchange BYTES with four neighbours in each step, and
   then wait for up to APART microseconds, by rank and step. */
#include "clocks.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int apart = atoi(argv[1]), bytes = atoi(argv[2]), steps = atoi(argv[3]);
    int height = 4, width = size / height, x = rank / height, y = rank % height;
    int near[4] = {(x + 1) % width * height + y, (x + width - 1) % width * height + y, x * height + (y + 1) % height,
                   x * height + (y + height - 1) % height};
    char *in = malloc((size_t)bytes * 4), *out = malloc((size_t)bytes * 4);
    MPI_Request requests[8];
    for (int step = 0; step < steps; step++) {
        usleep((rank * 37 + step * 11) % (apart + 1));
        for (int side = 0; side < 4; side++)
            MPI_Irecv(in + (size_t)bytes * side, bytes, MPI_BYTE, near[side], side ^ 1, MPI_COMM_WORLD, &requests[side]);
        for (int side = 0; side < 4; side++)
            MPI_Isend(out + (size_t)bytes * side, bytes, MPI_BYTE, near[side], side, MPI_COMM_WORLD, &requests[4 + side]);
        MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    }
    return end();
}
