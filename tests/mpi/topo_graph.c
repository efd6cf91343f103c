/* Checks graph topologies and distributed graphs (MPI-3.1, sections 7.5.3 to 7.5.5). */
#include "check.h"

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* A star: rank 0 is next to all others. */
static void star(void)
{
    int *index = malloc(size * sizeof(int)), *edges = malloc((2 * size + 1) * sizeof(int)), kind, nodes, count,
        place = -9;
    MPI_Comm graph;
    for (int r = 0; r < size; r++) {
        index[r] = size - 1 + r;
        if (r > 0)
            edges[r - 1] = r, edges[size - 2 + r] = 0;
    }
    OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &graph));
    OK(MPI_Topo_test(graph, &kind));
    OK(MPI_Graphdims_get(graph, &nodes, &count));
    CHECK(kind == MPI_GRAPH && nodes == size && count == 2 * (size - 1));
    int *i_back = malloc(size * sizeof(int)), *e_back = malloc((2 * size + 1) * sizeof(int));
    OK(MPI_Graph_get(graph, nodes, count, i_back, e_back));
    CHECK(memcmp(index, i_back, size * sizeof(int)) == 0 && memcmp(edges, e_back, count * sizeof(int)) == 0);
    for (int r = 0; r < size; r++) {
        OK(MPI_Graph_neighbors_count(graph, r, &count));
        CHECK(count == (r == 0 ? size - 1 : 1));
        OK(MPI_Graph_neighbors(graph, r, count, e_back));
        int good = 1;
        for (int i = 0; i < count; i++)
            good = good && e_back[i] == (r == 0 ? i + 1 : 0);
        CHECK(good);
    }
    OK(MPI_Graph_map(MPI_COMM_WORLD, size, index, edges, &place));
    CHECK(place >= 0 && place < size);
    OK(MPI_Comm_free(&graph));
    /* Fewer nodes than ranks. */
    if (size > 1) {
        OK(MPI_Graph_create(MPI_COMM_WORLD, 1, (int[]){1}, (int[]){0}, 0, &graph));
        CHECK((graph != MPI_COMM_NULL) == (rank == 0));
        if (graph != MPI_COMM_NULL) {
            OK(MPI_Graph_neighbors(graph, 0, 1, e_back));
            CHECK(e_back[0] == 0);
            OK(MPI_Comm_free(&graph));
        }
    }
    free(index);
    free(edges);
    free(i_back);
    free(e_back);
}

/* Edges to the next and the one after, given by their ends. */
static void adjacent(int weighted)
{
    int next = (rank + 1) % size, second = (rank + 2) % size, last = (rank + size - 1) % size,
        before = (rank + 2 * size - 2) % size;
    int sources[2] = {before, last}, targets[2] = {next, second}, in[2] = {20, 10}, out[2] = {10, 20}, kind;
    int n_in, n_out, has, s[2], t[2], ws[2] = {-1, -1}, wt[2] = {-1, -1};
    MPI_Comm graph, copy;
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, weighted ? in : MPI_UNWEIGHTED, 2, targets,
                                      weighted ? out : MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
    OK(MPI_Topo_test(graph, &kind));
    OK(MPI_Dist_graph_neighbors_count(graph, &n_in, &n_out, &has));
    CHECK(kind == MPI_DIST_GRAPH && n_in == 2 && n_out == 2 && !has == !weighted);
    OK(MPI_Comm_dup(graph, &copy));
    for (int way = 0; way < 2; way++) {
        OK(MPI_Dist_graph_neighbors(way ? copy : graph, 2, s, weighted ? ws : MPI_UNWEIGHTED, 2, t,
                                    weighted ? wt : MPI_UNWEIGHTED));
        CHECK(s[0] == before && s[1] == last && t[0] == next && t[1] == second);
        CHECK(!weighted || (ws[0] == 20 && ws[1] == 10 && wt[0] == 10 && wt[1] == 20));
    }
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_free(&graph));
}

/* Rank 0 gives all the edges of a ring; rank 1 those back to rank 0; who gives what is nobody's business afterwards. */
static void given(int weighted)
{
    int *sources = malloc((size + 1) * sizeof(int)), *degrees = malloc((size + 1) * sizeof(int)),
        *targets = malloc((size + 1) * sizeof(int));
    int *weights = malloc((size + 1) * sizeof(int)), n = 0, n_in, n_out, has;
    MPI_Comm graph;
    for (int r = 0; r < size && rank == 0; r++, n++)
        sources[n] = r, degrees[n] = 1, targets[n] = (r + 1) % size, weights[n] = 100 + r;
    if (size > 1 && rank == 1)
        for (int r = 0; r < size; r++, n++)
            sources[n] = r, degrees[n] = 1, targets[n] = 0, weights[n] = 200 + r;
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, n, sources, degrees, targets,
                             !weighted ? MPI_UNWEIGHTED : n ? weights : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &graph));
    OK(MPI_Dist_graph_neighbors_count(graph, &n_in, &n_out, &has));
    CHECK(n_out == 1 + (size > 1) && n_in == (rank == 0 && size > 1 ? size + 1 : 1) && !has == !weighted);
    int *s = malloc((size + 2) * sizeof(int)), t[2], *ws = malloc((size + 2) * sizeof(int)), wt[2], good = 1;
    OK(MPI_Dist_graph_neighbors(graph, n_in, s, weighted ? ws : MPI_UNWEIGHTED, n_out, t,
                                weighted ? wt : MPI_UNWEIGHTED));
    /* Their order is open: compare sorted, and the weights by their sum. */
    int sum = 0, sum_out = 0;
    for (int i = 0; i < n_in && weighted; i++)
        sum += ws[i];
    for (int i = 0; i < n_out && weighted; i++)
        sum_out += wt[i];
    qsort(s, n_in, sizeof(int), by_number);
    qsort(t, n_out, sizeof(int), by_number);
    if (rank == 0 && size > 1) {
        for (int i = 0; i < size; i++)
            good = good && s[i] == i;
        CHECK(good && s[size] == size - 1);
        CHECK(!weighted || sum == 100 + size - 1 + 200 * size + size * (size - 1) / 2);
    } else {
        CHECK(s[0] == (rank + size - 1) % size && (!weighted || sum == 100 + (rank + size - 1) % size));
    }
    CHECK(t[n_out - 1] == (rank + 1) % size || (rank == size - 1 && t[0] == 0));
    CHECK(!weighted || sum_out == 100 + rank + (size > 1 ? 200 + rank : 0));
    OK(MPI_Comm_free(&graph));
    free(sources);
    free(degrees);
    free(targets);
    free(weights);
    free(s);
    free(ws);
}

static void errors(void)
{
    int n;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_Graph_neighbors_count(MPI_COMM_WORLD, 0, &n), MPI_ERR_TOPOLOGY);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "topo_graph");
    if (size > 1)
        star();
    for (int weighted = 0; weighted < 2; weighted++) {
        adjacent(weighted);
        given(weighted);
    }
    errors();
    return finish();
}
