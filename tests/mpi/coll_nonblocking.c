/* Checks every non-blocking collective, one after another, then several at once, completed in any order (MPI-3.1,
   section 5.12). */
#include "check.h"

#define N 50

static int *out, *in, *counts, *places;

static void clear(int round)
{
    for (int i = 0; i < N * size; i++)
        out[i] = mark(rank, i, round), in[i] = -1;
}

static void done(MPI_Request *request, int way)
{
    int flag = 0;
    if (way % 2 == 0)
        OK(MPI_Wait(request, MPI_STATUS_IGNORE));
    else
        while (!flag)
            MPI_Test(request, &flag, MPI_STATUS_IGNORE);
    CHECK(*request == MPI_REQUEST_NULL);
}

static void rooted(int root)
{
    MPI_Request request;
    int good = 1;
    clear(1);
    if (rank == root)
        memcpy(in, out, N * sizeof(int));
    OK(MPI_Ibcast(in, N, MPI_INT, root, MPI_COMM_WORLD, &request));
    done(&request, root);
    for (int i = 0; i < N; i++)
        good = good && in[i] == mark(root, i, 1);
    clear(2);
    OK(MPI_Igather(out, N, MPI_INT, in, N, MPI_INT, root, MPI_COMM_WORLD, &request));
    done(&request, root + 1);
    for (int i = 0; i < N * size; i++)
        good = good && in[i] == (rank == root ? mark(i / N, i % N, 2) : -1);
    clear(3);
    OK(MPI_Iscatter(out, N, MPI_INT, in, N, MPI_INT, root, MPI_COMM_WORLD, &request));
    done(&request, root);
    for (int i = 0; i < N; i++)
        good = good && in[i] == mark(root, rank * N + i, 3);
    clear(4);
    OK(MPI_Igatherv(out, counts[rank], MPI_INT, in, counts, places, MPI_INT, root, MPI_COMM_WORLD, &request));
    done(&request, root + 1);
    for (int r = 0; r < size && rank == root; r++)
        for (int i = 0; i < counts[r]; i++)
            good = good && in[places[r] + i] == mark(r, i, 4);
    clear(5);
    OK(MPI_Iscatterv(out, counts, places, MPI_INT, in, counts[rank], MPI_INT, root, MPI_COMM_WORLD, &request));
    done(&request, root);
    for (int i = 0; i < counts[rank]; i++)
        good = good && in[i] == mark(root, places[rank] + i, 5);
    for (int i = 0; i < N; i++)
        out[i] = rank + i, in[i] = -1;
    OK(MPI_Ireduce(out, in, N, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD, &request));
    done(&request, root + 1);
    for (int i = 0; i < N; i++)
        good = good && in[i] == (rank == root ? size * (size - 1) / 2 + size * i : -1);
    CHECK(good);
}

static void rootless(int way)
{
    MPI_Request request;
    MPI_Datatype *types = malloc(size * sizeof *types);
    int good = 1, *bytes = malloc(size * sizeof(int)), *mine = malloc(size * sizeof(int)),
        *back = malloc(size * sizeof(int));
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    done(&request, way);
    clear(6);
    OK(MPI_Iallgather(out, N, MPI_INT, in, N, MPI_INT, MPI_COMM_WORLD, &request));
    done(&request, way);
    for (int i = 0; i < N * size; i++)
        good = good && in[i] == mark(i / N, i % N, 6);
    CHECK(good);
    clear(7);
    OK(MPI_Iallgatherv(out, counts[rank], MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD, &request));
    done(&request, way);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < counts[r]; i++)
            good = good && in[places[r] + i] == mark(r, i, 7);
    CHECK(good);
    clear(8);
    OK(MPI_Ialltoall(out, N, MPI_INT, in, N, MPI_INT, MPI_COMM_WORLD, &request));
    done(&request, way);
    for (int i = 0; i < N * size; i++)
        good = good && in[i] == mark(i / N, rank * N + i % N, 8);
    CHECK(good);
    for (int r = 0; r < size; r++) {
        mine[r] = counts[rank];
        back[r] = counts[r];
        bytes[r] = places[r] * (int)sizeof(int);
        types[r] = MPI_INT;
    }
    clear(9);
    OK(MPI_Ialltoallv(out, mine, places, MPI_INT, in, back, places, MPI_INT, MPI_COMM_WORLD, &request));
    done(&request, way);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < counts[r]; i++)
            good = good && in[places[r] + i] == mark(r, places[rank] + i, 9);
    CHECK(good);
    clear(10);
    OK(MPI_Ialltoallw(out, mine, bytes, types, in, back, bytes, types, MPI_COMM_WORLD, &request));
    done(&request, way);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < counts[r]; i++)
            good = good && in[places[r] + i] == mark(r, places[rank] + i, 10);
    CHECK(good);
    free(types);
    free(bytes);
    free(mine);
    free(back);
}

static void sums(int way)
{
    MPI_Request request;
    int good = 1, first = 0, before = rank * (rank - 1) / 2;
    for (int i = 0; i < N * size; i++)
        out[i] = rank + i, in[i] = -1;
    OK(MPI_Iallreduce(out, in, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    done(&request, way);
    for (int i = 0; i < N; i++)
        good = good && in[i] == size * (size - 1) / 2 + size * i;
    CHECK(good);
    OK(MPI_Iscan(out, in, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    done(&request, way);
    for (int i = 0; i < N; i++)
        good = good && in[i] == before + rank + (rank + 1) * i;
    CHECK(good);
    OK(MPI_Iexscan(out, in, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    done(&request, way);
    for (int i = 0; i < N && rank > 0; i++)
        good = good && in[i] == before + rank * i;
    CHECK(good);
    OK(MPI_Ireduce_scatter_block(out, in, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    done(&request, way);
    for (int i = 0; i < N; i++)
        good = good && in[i] == size * (size - 1) / 2 + size * (rank * N + i);
    CHECK(good);
    for (int r = 0; r < rank; r++)
        first += counts[r];
    OK(MPI_Ireduce_scatter(out, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    done(&request, way);
    for (int i = 0; i < counts[rank]; i++)
        good = good && in[i] == size * (size - 1) / 2 + size * (first + i);
    CHECK(good);
}

/* Many at once, of several kinds and on two communicators, with messages between; completed last to first, or all
   together. */
static void overlapping(int way)
{
    enum { M = 8 };
    MPI_Request requests[M + 2];
    MPI_Comm other;
    int values[M], sum[M], good = 1, token = -1, gathered[2] = {0, 0}, next = (rank + 1) % size,
        last = (rank + size - 1) % size;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    for (int m = 0; m < M; m++) {
        MPI_Comm comm = m % 3 == 2 ? other : MPI_COMM_WORLD;
        values[m] = m % 2 ? rank + m : (rank == m % size ? 100 + m : -1), sum[m] = -1;
        if (m % 2)
            OK(MPI_Iallreduce(&values[m], &sum[m], 1, MPI_INT, MPI_SUM, comm, &requests[m]));
        else
            OK(MPI_Ibcast(&values[m], 1, MPI_INT, m % size, comm, &requests[m]));
    }
    OK(MPI_Irecv(&token, 1, MPI_INT, last, 1, MPI_COMM_WORLD, &requests[M]));
    OK(MPI_Isend(&rank, 1, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[M + 1]));
    /* A blocking one while those are under way. */
    OK(MPI_Allreduce(&rank, gathered, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    CHECK(gathered[0] == size - 1);
    if (way == 0) {
        OK(MPI_Waitall(M + 2, requests, MPI_STATUSES_IGNORE));
    } else {
        for (int m = M + 1; m >= 0; m--)
            OK(MPI_Wait(&requests[m], MPI_STATUS_IGNORE));
    }
    for (int m = 0; m < M; m++)
        good = good && (m % 2 ? sum[m] == size * (size - 1) / 2 + size * m : values[m] == 100 + m);
    CHECK(good && token == last);
    OK(MPI_Comm_free(&other));
}

/* A barrier that one rank enters late is complete for nobody before. */
static void late(void)
{
    MPI_Request request;
    int flag = 1, value = 0;
    if (size == 1)
        return;
    if (rank == 0) {
        OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
        OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
        OK(MPI_Send(&value, 1, MPI_INT, size - 1, 2, MPI_COMM_WORLD));
    } else {
        if (rank == size - 1)
            OK(MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    }
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "coll_nonblocking");
    out = malloc(N * size * sizeof(int));
    in = malloc(N * size * sizeof(int));
    counts = malloc(size * sizeof(int));
    places = malloc(size * sizeof(int));
    for (int r = 0; r < size; r++)
        counts[r] = r % 4 == 2 ? 0 : 3 + r % 7, places[r] = r * 11;
    for (int root = 0; root < size; root++)
        rooted(root);
    for (int way = 0; way < 2; way++) {
        rootless(way);
        sums(way);
        overlapping(way);
    }
    late();
    free(out);
    free(in);
    free(counts);
    free(places);
    return finish();
}
