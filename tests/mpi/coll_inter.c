/* Checks collectives of intercommunicators: rooted ones both ways, and those where each group gets the other's (MPI-3.1, section 5.2.3). */
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

int main(int argc, char **argv)
{
    MPI_Comm half;
    start(&argc, &argv, "coll_inter");
    if (size > 1 && size <= 64) {
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
        }
        rootless();
        OK(MPI_Comm_free(&inter));
        OK(MPI_Comm_free(&half));
    }
    return finish();
}
