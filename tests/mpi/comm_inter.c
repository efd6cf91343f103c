/* Checks intercommunicators: making, messages, groups, merging, copies, parts (MPI-3.1, section 6.6). */
#include "check.h"

static int low, mine, local, remote;

static int other(int i)
{
    return 2 * i + (low ? 1 : 0);
}

/* Rank i of either side sends to its counterpart; rank 0 gets from any. */
static void messages(MPI_Comm inter)
{
    int value = -1;
    MPI_Status status;
    if (mine < remote) {
        OK(MPI_Sendrecv(&rank, 1, MPI_INT, mine, 1, &value, 1, MPI_INT, mine, 1, inter, &status));
        CHECK(value == other(mine) && status.MPI_SOURCE == mine);
    }
    MPI_Request request;
    OK(MPI_Isend(&rank, 1, MPI_INT, 0, 2, inter, &request));
    if (mine == 0) {
        int sum = 0, expected = 0;
        for (int i = 0; i < remote; i++) {
            OK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 2, inter, &status));
            CHECK(value == other(status.MPI_SOURCE));
            sum += value;
            expected += other(i);
        }
        CHECK(sum == expected);
    }
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void merged(MPI_Comm inter)
{
    MPI_Comm all;
    int r = -1, n = -1, is_inter = -1;
    /* The odd ranks come first. */
    OK(MPI_Intercomm_merge(inter, low, &all));
    OK(MPI_Comm_rank(all, &r));
    OK(MPI_Comm_size(all, &n));
    OK(MPI_Comm_test_inter(all, &is_inter));
    CHECK(n == size && !is_inter && r == (low ? size / 2 + rank / 2 : rank / 2));
    int sum = -1;
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all));
    CHECK(sum == size * (size - 1) / 2);
    OK(MPI_Comm_free(&all));
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "comm_inter");
    if (size == 1)
        return finish();
    MPI_Comm half, inter, copy, part;
    int is_inter = -1, n = -1, compared = -1;
    MPI_Group group, far, world;
    low = rank % 2 == 0;
    OK(MPI_Comm_split(MPI_COMM_WORLD, low, 0, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? 1 : 0, 12, &inter));
    OK(MPI_Comm_test_inter(inter, &is_inter));
    OK(MPI_Comm_rank(inter, &mine));
    OK(MPI_Comm_size(inter, &local));
    OK(MPI_Comm_remote_size(inter, &remote));
    CHECK(is_inter && mine == rank / 2 && local == (low ? (size + 1) / 2 : size / 2) && remote == size - local);
    OK(MPI_Comm_remote_group(inter, &far));
    OK(MPI_Comm_group(inter, &group));
    OK(MPI_Group_size(far, &n));
    CHECK(n == remote);
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    int last = remote - 1, there = -1;
    OK(MPI_Group_translate_ranks(far, 1, &last, world, &there));
    CHECK(there == other(last));
    OK(MPI_Group_translate_ranks(group, 1, &mine, world, &there));
    CHECK(there == rank);
    OK(MPI_Group_free(&far));
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&world));
    messages(inter);
    merged(inter);

    OK(MPI_Comm_dup(inter, &copy));
    OK(MPI_Comm_compare(inter, copy, &compared));
    CHECK(compared == MPI_CONGRUENT);
    OK(MPI_Comm_compare(inter, inter, &compared));
    CHECK(compared == MPI_IDENT);
    messages(copy);
    merged(copy);
    OK(MPI_Comm_free(&copy));

    /* Parts of both sides with the same colour make an intercommunicator; a colour on one side only makes none. */
    OK(MPI_Comm_split(inter, mine == 0 ? 3 : MPI_UNDEFINED, 0, &part));
    CHECK((part != MPI_COMM_NULL) == (mine == 0));
    if (mine == 0) {
        int value = -1;
        OK(MPI_Comm_remote_size(part, &n));
        OK(MPI_Comm_test_inter(part, &is_inter));
        OK(MPI_Sendrecv(&rank, 1, MPI_INT, 0, 1, &value, 1, MPI_INT, 0, 1, part, MPI_STATUS_IGNORE));
        CHECK(n == 1 && is_inter && value == (low ? 1 : 0));
        OK(MPI_Comm_free(&part));
    }
    /* Without a rank of its own on a side, MPI_Comm_create makes none there either. */
    OK(MPI_Comm_group(inter, &group));
    OK(MPI_Group_incl(group, 1, (int[]){0}, &far));
    OK(MPI_Comm_create(inter, far, &part));
    CHECK((part != MPI_COMM_NULL) == (mine == 0));
    if (mine == 0) {
        OK(MPI_Comm_remote_size(part, &n));
        CHECK(n == 1);
        OK(MPI_Comm_free(&part));
    }
    OK(MPI_Group_free(&far));
    OK(MPI_Group_free(&group));

    /* Sides of one and of all others, through leaders that are not the first. */
    MPI_Comm side, odd_one;
    int alone = rank == size - 1, members;
    OK(MPI_Comm_split(MPI_COMM_WORLD, alone, 0, &side));
    OK(MPI_Comm_size(side, &members));
    OK(MPI_Intercomm_create(side, members - 1, MPI_COMM_WORLD, alone ? size - 2 : size - 1, 13, &odd_one));
    OK(MPI_Comm_remote_size(odd_one, &n));
    CHECK(n == (alone ? size - 1 : 1));
    int value = alone ? 99 : -1;
    OK(MPI_Bcast(&value, 1, MPI_INT, alone ? MPI_ROOT : 0, odd_one));
    CHECK(value == 99);
    OK(MPI_Comm_free(&odd_one));
    OK(MPI_Comm_free(&side));
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&half));
    CHECK(inter == MPI_COMM_NULL);
    return finish();
}
