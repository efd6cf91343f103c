/* Checks what is under way at once: copies and collectives of one intercommunicator, groups made into communicators
   apart from others; and what is no communicator (MPI-3.1, sections 6.4 to 6.6). */
#include "check.h"

/* The communicator gets its own messages only: a ring that takes from any, and a sum. */
static void works(MPI_Comm comm)
{
    int r, n, value = -1, sum = -1;
    MPI_Comm_rank(comm, &r);
    MPI_Comm_size(comm, &n);
    OK(MPI_Sendrecv(&r, 1, MPI_INT, (r + 1) % n, 1, &value, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, MPI_STATUS_IGNORE));
    CHECK(value == (r + n - 1) % n);
    OK(MPI_Allreduce(&r, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == n * (n - 1) / 2);
}

static void between(void)
{
    MPI_Comm half, inter, copies[3], all;
    MPI_Request requests[8];
    int low = rank % 2 == 0, n, count = 0, sum = -1, most = -1, theirs[64], expected = 0;
    OK(MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? 1 : 0, 9, &inter));
    OK(MPI_Comm_remote_size(inter, &n));
    for (int i = 0; i < 3; i++)
        OK(MPI_Comm_idup(inter, &copies[i], &requests[count++]));
    OK(MPI_Ibarrier(inter, &requests[count++]));
    OK(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter, &requests[count++]));
    OK(MPI_Iallgather(&rank, 1, MPI_INT, theirs, 1, MPI_INT, inter, &requests[count++]));
    OK(MPI_Iallreduce(&rank, &most, 1, MPI_INT, MPI_MAX, inter, &requests[count++]));
    OK(MPI_Ibarrier(inter, &requests[count++]));
    OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < n; i++) {
        CHECK(theirs[i] == 2 * i + low);
        expected += 2 * i + low;
    }
    CHECK(sum == expected && most == 2 * (n - 1) + low);
    for (int i = 0; i < 3; i++) {
        OK(MPI_Intercomm_merge(copies[i], low, &all));
        works(all);
        OK(MPI_Comm_free(&all));
        OK(MPI_Barrier(copies[i]));
        OK(MPI_Comm_free(&copies[i]));
    }
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&half));
}

/* The even and the odd ranks make communicators, neither waiting for the other. */
static void apart(void)
{
    MPI_Group world, own;
    MPI_Comm made;
    int range[1][3] = {{rank % 2, size - 1 - (size - 1 - rank % 2) % 2, 2}};
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_range_incl(world, 1, range, &own));
    for (int i = 0; i < 3 + rank % 2; i++) {
        OK(MPI_Comm_create_group(MPI_COMM_WORLD, own, 5, &made));
        works(made);
        OK(MPI_Comm_free(&made));
    }
    OK(MPI_Group_free(&own));
    OK(MPI_Group_free(&world));
}

static void errors(void)
{
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    int n;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_Comm_dup(MPI_COMM_NULL, &made), MPI_ERR_COMM);
    FAILS(MPI_Comm_free(&made), MPI_ERR_COMM);
    made = MPI_COMM_WORLD;
    FAILS(MPI_Comm_free(&made), MPI_ERR_COMM);
    FAILS(MPI_Group_size(MPI_GROUP_NULL, &n), MPI_ERR_GROUP);
    FAILS(MPI_Group_free(&group), MPI_ERR_GROUP);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "strict_comm_overlap");
    if (size > 1 && size <= 64)
        between();
    apart();
    errors();
    return finish();
}
