/* Checks generalised requests with their callbacks, alone and among others (MPI-3.1, section 12.2). */
#include "check.h"

static int queried, freed, cancelled;

static int query(void *state, MPI_Status *status)
{
    queried++;
    MPI_Status_set_elements(status, MPI_INT, *(int *)state);
    MPI_Status_set_cancelled(status, cancelled > 0);
    status->MPI_SOURCE = 3;
    status->MPI_TAG = 4;
    return MPI_SUCCESS;
}

static int release(void *state)
{
    freed++;
    *(int *)state = -1;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state;
    cancelled += complete ? 100 : 1;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    MPI_Request request, several[3];
    MPI_Status status;
    int state = 7, flag = -1, in = -1;
    start(&argc, &argv, "env_requests");
    OK(MPI_Grequest_start(query, release, cancel, &state, &request));
    OK(MPI_Test(&request, &flag, &status));
    CHECK(!flag && queried == 0);
    OK(MPI_Grequest_complete(request));
    OK(MPI_Wait(&request, &status));
    CHECK(request == MPI_REQUEST_NULL && queried == 1 && freed == 1 && state == -1);
    CHECK(got(&status, MPI_INT) == 7 && status.MPI_SOURCE == 3 && status.MPI_TAG == 4);
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(!flag);

    /* Among a message's two ends. */
    state = 2;
    OK(MPI_Grequest_start(query, release, cancel, &state, &several[1]));
    OK(MPI_Irecv(&in, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &several[0]));
    OK(MPI_Isend(&rank, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &several[2]));
    OK(MPI_Wait(&several[0], MPI_STATUS_IGNORE));
    OK(MPI_Testall(3, several, &flag, MPI_STATUSES_IGNORE));
    CHECK(!flag && in == rank);
    OK(MPI_Grequest_complete(several[1]));
    OK(MPI_Waitall(3, several, MPI_STATUSES_IGNORE));
    CHECK(freed == 2 && several[1] == MPI_REQUEST_NULL);

    /* Cancelled before it is complete. */
    state = 1;
    OK(MPI_Grequest_start(query, release, cancel, &state, &request));
    OK(MPI_Cancel(&request));
    CHECK(cancelled == 1);
    OK(MPI_Grequest_complete(request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(flag && freed == 3);
    return finish();
}
