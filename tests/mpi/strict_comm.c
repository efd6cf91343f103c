/* Checks what the standard says of communicators and some MPI gets wrong; each place names it. */
#include "check.h"

/* Copies of an intercommunicator under way at once with its collectives (section 6.6); MPICH 4.0 ends with an assertion. */
static void copies(MPI_Comm inter, int low)
{
    MPI_Comm made[3], all;
    MPI_Request requests[5];
    int sum = -1, one = 1, n, whole = -1;
    OK(MPI_Comm_remote_size(inter, &n));
    OK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter, &requests[3]));
    for (int i = 0; i < 3; i++)
        OK(MPI_Comm_idup(inter, &made[i], &requests[i]));
    OK(MPI_Ibarrier(inter, &requests[4]));
    OK(MPI_Waitall(5, requests, MPI_STATUSES_IGNORE));
    CHECK(sum == n);
    for (int i = 0; i < 3; i++) {
        OK(MPI_Intercomm_merge(made[i], low, &all));
        OK(MPI_Allreduce(&one, &whole, 1, MPI_INT, MPI_SUM, all));
        CHECK(whole == size);
        OK(MPI_Comm_free(&all));
        OK(MPI_Comm_free(&made[i]));
    }
}

/* Only an intercommunicator has a remote group (section 6.6.1); Open MPI 4.1 and MPICH 4.0 give a size without an error. */
static void remote(void)
{
    int n;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_Comm_remote_size(MPI_COMM_WORLD, &n), MPI_ERR_COMM);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "strict_comm");
    if (size > 1) {
        MPI_Comm half, inter;
        int low = rank % 2 == 0;
        OK(MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half));
        OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? 1 : 0, 9, &inter));
        copies(inter, low);
        OK(MPI_Comm_free(&inter));
        OK(MPI_Comm_free(&half));
    }
    remote();
    return finish();
}
