/* cube APART BYTES STEPS: a periodic grid of 4 x 4 x 4 ranks whose ranks exchange BYTES with six neighbours in each step,
   and then wait for up to APART microseconds, by rank and step. */
#include "clocks.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int apart = atoi(argv[1]), bytes = atoi(argv[2]), steps = atoi(argv[3]), stride[3] = {1, 4, 16}, near[6];
    for (int side = 0; side < 6; side++) {
        int along = stride[side / 2], at = rank / along % 4;
        near[side] = rank + ((at + (side % 2 ? 3 : 1)) % 4 - at) * along;
    }
    char *in = malloc((size_t)bytes * 6), *out = malloc((size_t)bytes * 6);
    MPI_Request requests[12];
    for (int step = 0; step < steps; step++) {
        usleep((rank * 37 + step * 11) % (apart + 1));
        for (int side = 0; side < 6; side++)
            MPI_Irecv(in + (size_t)bytes * side, bytes, MPI_BYTE, near[side], side ^ 1, MPI_COMM_WORLD, &requests[side]);
        for (int side = 0; side < 6; side++)
            MPI_Isend(out + (size_t)bytes * side, bytes, MPI_BYTE, near[side], side, MPI_COMM_WORLD, &requests[6 + side]);
        MPI_Waitall(12, requests, MPI_STATUSES_IGNORE);
    }
    return end();
}
