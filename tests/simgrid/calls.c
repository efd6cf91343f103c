/* Every call that SMPI's replay knows, on four ranks, each with sizes of its own. */
#include <mpi.h>

enum { RANKS = 4, MOST = 20000 };

static int from[MOST], to[MOST];
static double numbers[MOST], sums[MOST];

static void messages(int rank)
{
    MPI_Request requests[2];
    int next = (rank + 1) % RANKS, before = (rank + RANKS - 1) % RANKS, done = 0;
    if (rank == 0) {
        MPI_Send(from, 101, MPI_INT, 1, 5, MPI_COMM_WORLD);
        MPI_Ssend(from, 102, MPI_INT, 1, 6, MPI_COMM_WORLD);
        MPI_Send(from, 103, MPI_CHAR, 1, 7, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(to, 200, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(to, 200, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv(to, 200, MPI_CHAR, 0, 7, MPI_COMM_WORLD, requests);
        while (!done)
            MPI_Test(requests, &done, MPI_STATUS_IGNORE);
    }
    MPI_Sendrecv(from, 110 + rank, MPI_INT, next, 5, to, 200, MPI_INT, before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(from, 115, MPI_INT, next, 5, before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int each = 0; each < 2; each++) {
        MPI_Isend(from, 120 + each, MPI_INT, next, 5, MPI_COMM_WORLD, requests);
        MPI_Irecv(to, 200, MPI_INT, before, 5, MPI_COMM_WORLD, requests + 1);
        if (each) {
            MPI_Wait(requests, MPI_STATUS_IGNORE);
            MPI_Wait(requests + 1, MPI_STATUS_IGNORE);
        } else {
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
    }
}

static void blocks(int rank, int in_place)
{
    int counts[RANKS], places[RANKS], own = (rank + 1) * 10 + in_place;
    void *root = in_place && rank == 1 ? MPI_IN_PLACE : 0, *all = in_place ? MPI_IN_PLACE : 0;
    for (int i = 0; i < RANKS; i++) {
        counts[i] = (i + 1) * 10 + in_place;
        places[i] = i * 1000;
    }
    MPI_Gather(root ? root : from, 301 + in_place, MPI_INT, to, 301 + in_place, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Gatherv(root ? root : from, own, MPI_INT, to, counts, places, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Scatter(from, 303 + in_place, MPI_INT, root ? root : to, 303 + in_place, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Scatterv(from, counts, places, MPI_INT, root ? root : to, own, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Allgather(all ? all : from, 305 + in_place, MPI_INT, to, 305 + in_place, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgatherv(all ? all : from, own, MPI_INT, to, counts, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoall(all ? all : from, 307 + in_place, MPI_INT, to, 307 + in_place, MPI_INT, MPI_COMM_WORLD);
    MPI_Reduce(root ? root : numbers, sums, 309 + in_place, MPI_DOUBLE, MPI_SUM, 1, MPI_COMM_WORLD);
    MPI_Allreduce(all ? all : numbers, sums, 311 + in_place, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, sent[RANKS], received[RANKS], places[RANKS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    messages(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(numbers, 501, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    blocks(rank, 0);
    blocks(rank, 1);
    for (int i = 0; i < RANKS; i++) {
        sent[i] = (i + 1) * (rank + 1);
        received[i] = sent[i];
        places[i] = i * 1000;
    }
    MPI_Alltoallv(from, sent, places, MPI_INT, to, received, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Reduce_scatter(from, to, (int[]){11, 21, 31, 41}, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(from, to, 601, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Scan(from, to, 603, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Exscan(from, to, 605, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
