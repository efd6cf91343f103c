/* Checks neighbourhood collectives on Cartesian, graph and distributed-graph topologies, blocking and not (MPI-3.1,
   sections 7.6, 7.7). */
#include "check.h"

#define MOST 64

static int sources[MOST], targets[MOST], n_in, n_out, in[MOST * 8], out[MOST * 8];

/* What `from` sends as its k-th message, element i. Where two ranks are neighbours twice, k tells which. */
static int sent(int from, int k, int i)
{
    return from * 10000 + k * 100 + i;
}

/* Element 0 of a message says who sent it; its place k among the sender's is free where the topology leaves it open. */
static int fits(const int *message, int count, int from, int k)
{
    for (int i = 0; i < count; i++)
        if (message[i] != (from == MPI_PROC_NULL ? -1 : sent(from, k, i)))
            return 0;
    return 1;
}

static void fill(int count)
{
    for (int i = 0; i < MOST * 8; i++)
        in[i] = -1;
    for (int k = 0; k < n_out; k++)
        for (int i = 0; i < count; i++)
            out[k * count + i] = sent(rank, k, i);
}

/* `place[j]`: which of its messages the source j sends here. */
static void all(MPI_Comm comm, const int *place, int both_ways)
{
    MPI_Request request;
    int counts_in[MOST], counts_out[MOST], at_in[MOST], at_out[MOST];
    MPI_Aint bytes_in[MOST], bytes_out[MOST];
    MPI_Datatype types[MOST];
    for (int way = 0; way < 2; way++) {
        int good = 1;
        fill(3);
        if (way == 0)
            OK(MPI_Neighbor_allgather(out, 3, MPI_INT, in, 3, MPI_INT, comm));
        else
            OK(MPI_Ineighbor_allgather(out, 3, MPI_INT, in, 3, MPI_INT, comm, &request));
        if (way)
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int j = 0; j < n_in; j++)
            good = good && fits(in + 3 * j, 3, sources[j], 0);
        CHECK(good && in[3 * n_in] == -1);
        for (int j = 0; j < MOST; j++)
            counts_in[j] = 2, at_in[j] = 4 * (n_in - 1 - j);
        fill(2);
        if (way == 0)
            OK(MPI_Neighbor_allgatherv(out, 2, MPI_INT, in, counts_in, at_in, MPI_INT, comm));
        else
            OK(MPI_Ineighbor_allgatherv(out, 2, MPI_INT, in, counts_in, at_in, MPI_INT, comm, &request));
        if (way)
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int j = 0; j < n_in; j++)
            good = good && fits(in + at_in[j], 2, sources[j], 0) && in[at_in[j] + 2] == -1;
        CHECK(good);
        fill(4);
        if (way == 0)
            OK(MPI_Neighbor_alltoall(out, 4, MPI_INT, in, 4, MPI_INT, comm));
        else
            OK(MPI_Ineighbor_alltoall(out, 4, MPI_INT, in, 4, MPI_INT, comm, &request));
        if (way)
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int j = 0; j < n_in; j++)
            good = good && fits(in + 4 * j, 4, sources[j], place[j]);
        CHECK(good);
        /* Each edge has its own length: that of its lower end plus one, 1 or 2. */
        fill(4);
        for (int k = 0; k < MOST; k++) {
            types[k] = MPI_INT;
            if (k < n_out) {
                counts_out[k] = targets[k] == MPI_PROC_NULL ? 1 : 1 + (rank < targets[k] ? rank : targets[k]) % 2;
                at_out[k] = 4 * k, bytes_out[k] = 16 * k;
            }
            if (k < n_in) {
                counts_in[k] = sources[k] == MPI_PROC_NULL ? 1 : 1 + (rank < sources[k] ? rank : sources[k]) % 2;
                at_in[k] = 5 * (n_in - 1 - k), bytes_in[k] = 20 * (n_in - 1 - k);
            }
        }
        if (way == 0)
            OK(MPI_Neighbor_alltoallv(out, counts_out, at_out, MPI_INT, in, counts_in, at_in, MPI_INT, comm));
        else
            OK(MPI_Ineighbor_alltoallv(out, counts_out, at_out, MPI_INT, in, counts_in, at_in, MPI_INT, comm,
                                       &request));
        if (way)
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int j = 0; j < n_in; j++)
            good = good && fits(in + at_in[j], counts_in[j], sources[j], place[j]) && in[at_in[j] + counts_in[j]] == -1;
        CHECK(good);
        /* Where edges lead one way only, this one is a matter of strict_topo. */
        if (!both_ways)
            continue;
        fill(4);
        if (way == 0)
            OK(MPI_Neighbor_alltoallw(out, counts_out, bytes_out, types, in, counts_in, bytes_in, types, comm));
        else
            OK(MPI_Ineighbor_alltoallw(out, counts_out, bytes_out, types, in, counts_in, bytes_in, types, comm,
                                       &request));
        if (way)
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int j = 0; j < n_in; j++)
            good = good && fits(in + 5 * (n_in - 1 - j), counts_in[j], sources[j], place[j]);
        CHECK(good);
    }
}

/* In a grid of one ring and one line, both longer than two or not a ring, no pair is neighbour twice. */
static void cartesian(int ring)
{
    int d[2] = {0, 0}, place[4];
    MPI_Comm cart;
    OK(MPI_Dims_create(size, 2, d));
    int periods[2] = {ring && d[0] > 2, 0};
    OK(MPI_Cart_create(MPI_COMM_WORLD, 2, d, periods, 0, &cart));
    for (int direction = 0; direction < 2; direction++)
        OK(MPI_Cart_shift(cart, direction, 1, &sources[2 * direction], &sources[2 * direction + 1]));
    n_in = n_out = 4;
    for (int j = 0; j < 4; j++)
        targets[j] = sources[j], place[j] = j ^ 1;
    all(cart, place, 1);
    OK(MPI_Comm_free(&cart));
}

/* A star around rank 0. */
static void graph(void)
{
    int *index = malloc(size * sizeof(int)), *edges = malloc(2 * size * sizeof(int)), place[MOST];
    MPI_Comm star;
    for (int r = 0; r < size; r++) {
        index[r] = size - 1 + r;
        if (r > 0)
            edges[r - 1] = r, edges[size - 2 + r] = 0;
    }
    OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &star));
    n_in = n_out = rank == 0 ? size - 1 : 1;
    for (int j = 0; j < n_in; j++)
        sources[j] = targets[j] = rank == 0 ? j + 1 : 0, place[j] = rank == 0 ? 0 : rank - 1;
    all(star, place, 1);
    OK(MPI_Comm_free(&star));
    free(index);
    free(edges);
}

/* One way: to the next rank and to the one after it, listed in this order, received in the other. */
static void distributed(void)
{
    int place[2] = {1, 0};
    MPI_Comm comm;
    targets[0] = (rank + 1) % size, targets[1] = (rank + 2) % size;
    sources[0] = (rank + size - 2) % size, sources[1] = (rank + size - 1) % size;
    n_in = n_out = 2;
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, MPI_UNWEIGHTED, 2, targets, MPI_UNWEIGHTED,
                                      MPI_INFO_NULL, 0, &comm));
    all(comm, place, 1);
    OK(MPI_Comm_free(&comm));
    /* Nobody's neighbour but the last rank's, which is rank 0's. */
    n_in = rank == 0 && size > 1, n_out = rank == size - 1 && size > 1;
    sources[0] = size - 1, targets[0] = 0, place[0] = 0;
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n_in, sources, MPI_UNWEIGHTED, n_out, targets, MPI_UNWEIGHTED,
                                      MPI_INFO_NULL, 0, &comm));
    all(comm, place, 0);
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "topo_neighbours");
    cartesian(0);
    cartesian(1);
    if (size > 1 && size <= MOST / 2)
        graph();
    if (size > 2)
        distributed();
    return finish();
}
