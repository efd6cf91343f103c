/* Checks what the standard says of topologies and some MPI gets wrong; each place names it. */
#include "check.h"

/* Without a dimension that remains, everybody has a grid of its own (section 7.5.7); MPICH 4.0 has none but for rank 0. */
static void none_left(MPI_Comm cart)
{
    MPI_Comm part;
    int n = -1, r = -1, count = -1;
    OK(MPI_Cart_sub(cart, (int[]){0, 0}, &part));
    CHECK(part != MPI_COMM_NULL);
    if (part == MPI_COMM_NULL)
        return;
    OK(MPI_Comm_size(part, &n));
    OK(MPI_Comm_rank(part, &r));
    OK(MPI_Cartdim_get(part, &count));
    CHECK(n == 1 && r == 0 && count == 0);
    OK(MPI_Comm_free(&part));
}

/* Who has no place in a grid gets MPI_UNDEFINED (section 7.5.8); Open MPI 4.1 gives it its own rank. */
static void mapped(void)
{
    int d[1] = {size > 1 ? size - 1 : 1}, ring[1] = {0}, place = -9;
    OK(MPI_Cart_map(MPI_COMM_WORLD, 1, d, ring, &place));
    CHECK(place == (rank < d[0] ? rank : MPI_UNDEFINED) || (place >= 0 && place < d[0]));
}

/* One edge, from the last rank to the first; MPICH 4.0 does not deliver MPI_Neighbor_alltoallw. */
static void one_way(void)
{
    int in = -1, n_in = rank == 0, n_out = rank == size - 1, source = size - 1, target = 0, one = 1;
    MPI_Aint place = 0;
    MPI_Datatype type = MPI_INT;
    MPI_Comm comm;
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n_in, &source, MPI_UNWEIGHTED, n_out, &target, MPI_UNWEIGHTED,
                                      MPI_INFO_NULL, 0, &comm));
    OK(MPI_Neighbor_alltoallw(&rank, &one, &place, &type, &in, &one, &place, &type, comm));
    CHECK(in == (rank == 0 ? size - 1 : -1));
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    int r, at[2], d[2] = {0, 0}, ring[2] = {0, 0};
    MPI_Comm cart, graph;
    start(&argc, &argv, "strict_topo");
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Dims_create(size, 2, d));
    OK(MPI_Cart_create(MPI_COMM_WORLD, 2, d, ring, 0, &cart));
    none_left(cart);
    mapped();
    one_way();
    /* Open MPI 4.1 has another class for the first, and takes the others. */
    FAILS(MPI_Cart_coords(cart, size, 2, at), MPI_ERR_RANK);
    CHECK(MPI_Cart_shift(cart, 2, 1, &r, &r) != MPI_SUCCESS);
    CHECK(MPI_Graph_create(MPI_COMM_WORLD, 1, (int[]){1}, (int[]){7 + size}, 0, &graph) != MPI_SUCCESS);
    OK(MPI_Comm_free(&cart));
    return finish();
}
