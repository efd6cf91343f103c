/* Checks non-blocking collectives in place, and on derived datatypes (MPI-3.1, sections 5.1, 5.12). */
#include "check.h"

#define N 30

static int *in, *out;

static void wait(MPI_Request *request)
{
    OK(MPI_Wait(request, MPI_STATUS_IGNORE));
    CHECK(*request == MPI_REQUEST_NULL);
}

static void rooted(int root)
{
    MPI_Request request;
    int good = 1, *mine = in + rank * N;
    for (int i = 0; i < N * size; i++)
        in[i] = -1, out[i] = mark(rank, i, 1);
    memcpy(mine, out, N * sizeof(int));
    OK(MPI_Igather(rank == root ? MPI_IN_PLACE : out, N, MPI_INT, in, N, MPI_INT, root, MPI_COMM_WORLD, &request));
    wait(&request);
    for (int i = 0; i < N * size && rank == root; i++)
        good = good && in[i] == mark(i / N, i % N, 1);
    CHECK(good);
    OK(MPI_Iscatter(in, N, MPI_INT, rank == root ? MPI_IN_PLACE : out, N, MPI_INT, root, MPI_COMM_WORLD, &request));
    wait(&request);
    for (int i = 0; i < N; i++)
        good = good && out[i] == mark(rank, i, 1);
    CHECK(good);
    for (int i = 0; i < N; i++)
        in[i] = out[i] = rank + i;
    OK(MPI_Ireduce(rank == root ? MPI_IN_PLACE : out, in, N, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD, &request));
    wait(&request);
    for (int i = 0; i < N && rank == root; i++)
        good = good && in[i] == size * (size - 1) / 2 + size * i;
    CHECK(good);
}

static void rootless(void)
{
    MPI_Request request;
    int good = 1;
    for (int i = 0; i < N * size; i++)
        in[i] = i / N == rank ? mark(rank, i % N, 2) : -1;
    OK(MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, N, MPI_INT, MPI_COMM_WORLD, &request));
    wait(&request);
    for (int i = 0; i < N * size; i++)
        good = good && in[i] == mark(i / N, i % N, 2);
    CHECK(good);
    for (int i = 0; i < N; i++)
        in[i] = rank + i;
    OK(MPI_Iallreduce(MPI_IN_PLACE, in, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    wait(&request);
    for (int i = 0; i < N; i++)
        good = good && in[i] == size * (size - 1) / 2 + size * i;
    CHECK(good);
    for (int i = 0; i < N; i++)
        in[i] = rank + i;
    OK(MPI_Iscan(MPI_IN_PLACE, in, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    wait(&request);
    for (int i = 0; i < N; i++)
        good = good && in[i] == rank * (rank + 1) / 2 + (rank + 1) * i;
    CHECK(good);
    for (int i = 0; i < N; i++)
        in[i] = rank + i;
    OK(MPI_Iexscan(MPI_IN_PLACE, in, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    wait(&request);
    for (int i = 0; i < N && rank > 0; i++)
        good = good && in[i] == rank * (rank - 1) / 2 + rank * i;
    CHECK(good);
    for (int i = 0; i < N * size; i++)
        in[i] = rank + i;
    OK(MPI_Ireduce_scatter_block(MPI_IN_PLACE, in, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    wait(&request);
    for (int i = 0; i < N; i++)
        good = good && in[i] == size * (size - 1) / 2 + size * (rank * N + i);
    CHECK(good);
}

/* Columns that are under way together. */
static void columns(void)
{
    enum { ROWS = 6, COLUMNS = 4 };
    int matrix[ROWS * COLUMNS], good = 1;
    MPI_Datatype column;
    MPI_Request requests[COLUMNS];
    OK(MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &column));
    OK(MPI_Type_commit(&column));
    for (int i = 0; i < ROWS * COLUMNS; i++)
        matrix[i] = i % COLUMNS % size == rank ? 100 * rank + i : -1;
    for (int c = 0; c < COLUMNS; c++)
        OK(MPI_Ibcast(matrix + c, 1, column, c % size, MPI_COMM_WORLD, &requests[c]));
    OK(MPI_Type_free(&column));
    OK(MPI_Waitall(COLUMNS, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < ROWS * COLUMNS; i++)
        good = good && matrix[i] == 100 * (i % COLUMNS % size) + i;
    CHECK(good);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "coll_inplace");
    in = malloc(N * size * sizeof(int));
    out = malloc(N * size * sizeof(int));
    for (int root = 0; root < size; root++)
        rooted(root);
    rootless();
    columns();
    free(in);
    free(out);
    return finish();
}
