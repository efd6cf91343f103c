/* Checks collectives of intercommunicators: rooted ones both ways, and those where each group gets the other's
   (MPI-3.1, section 5.2.3). */
#include "check.h"

#define N 20

static MPI_Comm inter;
static int low, mine, local, remote, in[N * 64], out[N * 64];

static void clear(int round)
{
    for (int i = 0; i < N * 64; i++)
        out[i] = mark(rank, i, round), in[i] = -1;
}

/* The world rank of member i of the other group; groups are the even and the odd ranks. */
static int other(int i)
{
    return 2 * i + (low ? 1 : 0);
}

/* The argument for `root` when rank `root` of the group that is low (or not) has the data. */
static int root_of(int from_low, int root)
{
    return low != from_low ? root : mine == root ? MPI_ROOT : MPI_PROC_NULL;
}

static void rooted(int from_low, int root)
{
    int good = 1, as_root = root_of(from_low, root), receiver = low != from_low, is_root = as_root == MPI_ROOT;
    clear(1);
    OK(MPI_Bcast(is_root ? out : in, N, MPI_INT, as_root, inter));
    for (int i = 0; i < N; i++)
        good = good && in[i] == (receiver ? mark(other(root), i, 1) : -1);
    CHECK(good);
    clear(2);
    OK(MPI_Scatter(out, N, MPI_INT, in, N, MPI_INT, as_root, inter));
    for (int i = 0; i < N; i++)
        good = good && in[i] == (receiver ? mark(other(root), mine * N + i, 2) : -1);
    CHECK(good);
    clear(3);
    OK(MPI_Gather(out, N, MPI_INT, in, N, MPI_INT, as_root, inter));
    for (int i = 0; i < N * remote; i++)
        good = good && in[i] == (is_root ? mark(other(i / N), i % N, 3) : -1);
    CHECK(good);
    for (int i = 0; i < N; i++)
        out[i] = rank + i, in[i] = -1;
    OK(MPI_Reduce(out, in, N, MPI_INT, MPI_SUM, as_root, inter));
    for (int i = 0; i < N; i++) {
        int sum = 0;
        for (int r = 0; r < remote; r++)
            sum += other(r) + i;
        good = good && in[i] == (is_root ? sum : -1);
    }
    CHECK(good);
}

static void rootless(void)
{
    int good = 1;
    MPI_Request request;
    OK(MPI_Barrier(inter));
    clear(4);
    OK(MPI_Allgather(out, N, MPI_INT, in, N, MPI_INT, inter));
    for (int i = 0; i < N * remote; i++)
        good = good && in[i] == mark(other(i / N), i % N, 4);
    CHECK(good && in[N * remote] == -1);
    clear(5);
    OK(MPI_Alltoall(out, N, MPI_INT, in, N, MPI_INT, inter));
    for (int i = 0; i < N * remote; i++)
        good = good && in[i] == mark(other(i / N), mine * N + i % N, 5);
    CHECK(good);
    for (int i = 0; i < N; i++)
        out[i] = rank + i, in[i] = -1;
    OK(MPI_Allreduce(out, in, N, MPI_INT, MPI_MAX, inter));
    for (int i = 0; i < N; i++)
        good = good && in[i] == other(remote - 1) + i;
    CHECK(good);
    clear(6);
    OK(MPI_Iallgather(out, N, MPI_INT, in, N, MPI_INT, inter, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < N * remote; i++)
        good = good && in[i] == mark(other(i / N), i % N, 6);
    CHECK(good);
    OK(MPI_Ibarrier(inter, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    /* Different amounts each way: a low rank sends 2, a high one 3 elements. */
    int counts[64], places[64];
    clear(7);
    for (int r = 0; r < remote; r++)
        counts[r] = low ? 3 : 2, places[r] = 5 * r;
    OK(MPI_Allgatherv(out, low ? 2 : 3, MPI_INT, in, counts, places, MPI_INT, inter));
    for (int r = 0; r < remote; r++)
        for (int i = 0; i < counts[r]; i++)
            good = good && in[5 * r + i] == mark(other(r), i, 7);
    CHECK(good);
}

/* Blocks of different lengths: low rank i has 1 + i % 3 elements, high rank i has 2 + i % 2. */
static int length_of(int of_low, int i)
{
    return of_low ? 1 + i % 3 : 2 + i % 2;
}

static void varying(int from_low, int root)
{
    int good = 1, as_root = root_of(from_low, root), receiver = low != from_low, is_root = as_root == MPI_ROOT;
    int counts[64], places[64], own = length_of(low, mine);
    for (int r = 0; r < remote; r++)
        counts[r] = length_of(!low, r), places[r] = 5 * r + 1;
    clear(1);
    OK(MPI_Gatherv(out, receiver ? own : 0, MPI_INT, in, counts, places, MPI_INT, as_root, inter));
    for (int r = 0; r < remote && is_root; r++)
        for (int i = 0; i < counts[r]; i++)
            good = good && in[places[r] + i] == mark(other(r), i, 1);
    CHECK(good && in[0] == -1);
    clear(2);
    OK(MPI_Scatterv(out, counts, places, MPI_INT, in, receiver ? own : 0, MPI_INT, as_root, inter));
    for (int i = 0; i < own && receiver; i++)
        good = good && in[i] == mark(other(root), 5 * mine + 1 + i, 2);
    CHECK(good);
}

static void exchanged(void)
{
    int good = 1, to[64], from[64], at_out[64], at_in[64];
    MPI_Datatype types[64];
    MPI_Request request;
    for (int way = 0; way < 2; way++) {
        int unit = way ? (int)sizeof(int) : 1;
        for (int r = 0; r < remote; r++) {
            to[r] = (mine + r) % 3, from[r] = (mine + r) % 3, types[r] = MPI_INT;
            at_out[r] = 3 * r * unit, at_in[r] = 4 * r * unit;
        }
        clear(8 + way);
        if (way)
            OK(MPI_Alltoallw(out, to, at_out, types, in, from, at_in, types, inter));
        else
            OK(MPI_Alltoallv(out, to, at_out, MPI_INT, in, from, at_in, MPI_INT, inter));
        for (int r = 0; r < remote; r++)
            for (int i = 0; i < from[r]; i++)
                good = good && in[4 * r + i] == mark(other(r), 3 * mine + i, 8 + way);
        CHECK(good);
    }
    /* Each side gets the other's sums, in parts: as many elements in all as both sides can share out evenly. */
    int total = local * remote, part = total / local, sum = 0;
    for (int i = 0; i < total + 2; i++)
        out[i] = rank + i, in[i] = -1;
    OK(MPI_Reduce_scatter_block(out, in, part, MPI_INT, MPI_SUM, inter));
    for (int r = 0; r < remote; r++)
        sum += other(r);
    for (int i = 0; i < part; i++)
        good = good && in[i] == sum + remote * (mine * part + i);
    CHECK(good);
    int *counts = malloc(local * sizeof(int));
    for (int r = 0; r < local; r++)
        counts[r] = part;
    OK(MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, inter));
    for (int i = 0; i < part; i++)
        good = good && in[i] == sum + remote * (mine * part + i);
    CHECK(good);
    free(counts);
    OK(MPI_Iallreduce(out, in, 2, MPI_INT, MPI_SUM, inter, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(in[0] == sum && in[1] == sum + remote);
    int value = low && mine == 0 ? 77 : -1;
    OK(MPI_Ibcast(&value, 1, MPI_INT, root_of(1, 0), inter, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(value == (!low || mine == 0 ? 77 : -1));
}

int main(int argc, char **argv)
{
    MPI_Comm half;
    start(&argc, &argv, "coll_inter");
    if (size > 1 && size <= 32) {
        low = rank % 2 == 0;
        OK(MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half));
        OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? 1 : 0, 9, &inter));
        MPI_Comm_rank(inter, &mine);
        MPI_Comm_size(inter, &local);
        MPI_Comm_remote_size(inter, &remote);
        CHECK(mine == rank / 2 && local + remote == size && remote == (low ? size / 2 : (size + 1) / 2));
        for (int root = 0; root < size / 2; root++) {
            rooted(1, root);
            rooted(0, root);
            varying(1, root);
            varying(0, root);
        }
        rootless();
        exchanged();
        OK(MPI_Comm_free(&inter));
        OK(MPI_Comm_free(&half));
    }
    return finish();
}
