/* Checks what the standard says of communicators and some MPI gets wrong; each place names it. */
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

/* Every rank is in a pair with the one before and in one with the one after, and copies both in an order of its own (section 6.4.2);
   Open MPI 4.1 does not come to an end with five ranks. */
static void pairs(void)
{
    MPI_Comm before, after, copies[6];
    MPI_Request requests[6];
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &after));
    OK(MPI_Comm_split(MPI_COMM_WORLD, (rank + 1) / 2, 0, &before));
    for (int i = 0; i < 6; i++) {
        int first = i % 2 == (rank % 3 == 0);
        OK(MPI_Comm_idup(first ? after : before, &copies[i], &requests[i]));
    }
    OK(MPI_Waitall(6, requests, MPI_STATUSES_IGNORE));
    /* Those of one pair were made in the same order by both. */
    for (int i = 0; i < 6; i += 2) {
        int first = rank % 3 == 0;
        works(copies[i + first]);
        works(copies[i + !first]);
    }
    for (int i = 0; i < 6; i++)
        OK(MPI_Comm_free(&copies[i]));
    OK(MPI_Comm_free(&before));
    OK(MPI_Comm_free(&after));
}

int main(int argc, char **argv)
{
    MPI_Comm made;
    int n;
    start(&argc, &argv, "strict_comm");
    pairs();
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    /* Only an intercommunicator has a remote group (section 6.6.1); Open MPI 4.1 and MPICH 4.0 give a size without an error. */
    FAILS(MPI_Comm_remote_size(MPI_COMM_WORLD, &n), MPI_ERR_COMM);
    /* Nor can others be merged (section 6.6.2); MPICH 4.0 ends with an assertion. */
    FAILS(MPI_Intercomm_merge(MPI_COMM_WORLD, 0, &made), MPI_ERR_COMM);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    return finish();
}
