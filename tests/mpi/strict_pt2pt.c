/* Checks what the standard says of point-to-point messages and some MPI gets wrong; each place names it. */
#include "check.h"

/* The status of a receive from MPI_PROC_NULL (section 3.11); MPICH 4.0 has rank 0 and tag 0 there unless the call
   blocks. */
static void nobody(void)
{
    int value = 5;
    MPI_Request request;
    MPI_Status status;
    OK(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, &status));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && got(&status, MPI_INT) == 0 &&
          value == 5);
    OK(MPI_Recv_init(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
    for (int round = 0; round < 2; round++) {
        OK(MPI_Start(&request));
        OK(MPI_Wait(&request, &status));
        CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && got(&status, MPI_INT) == 0);
    }
    OK(MPI_Request_free(&request));
}

/* Persistent buffered sends to oneself carry what the buffer has at each start; Open MPI 4.1 sends the first again if
   the receive is there before. */
static void buffered(void)
{
    static int out[300], in[300];
    int bytes, room = 4 * (int)sizeof out + 4 * MPI_BSEND_OVERHEAD;
    char *buffer = malloc(room), *back;
    MPI_Request requests[2];
    OK(MPI_Buffer_attach(buffer, room));
    OK(MPI_Recv_init(in, 300, MPI_INT, rank, 4, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Bsend_init(out, 300, MPI_INT, rank, 4, MPI_COMM_WORLD, &requests[1]));
    for (int round = 0; round < 4; round++) {
        out[0] = out[299] = 100 + round;
        OK(MPI_Startall(2, requests));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        CHECK(in[0] == 100 + round && in[299] == 100 + round);
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
    OK(MPI_Buffer_detach(&back, &bytes));
    free(buffer);
}

/* One of several receives is too short (section 3.7.5); Open MPI 4.1 does not notice. */
static void truncation(void)
{
    int in[4] = {-1, -1, -1, -1}, out[4] = {1, 2, 3, 4};
    MPI_Request requests[2], sends[2];
    MPI_Status statuses[2];
    OK(MPI_Irecv(in, 2, MPI_INT, rank, 2, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Irecv(in + 3, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Isend(out + 3, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &sends[0]));
    OK(MPI_Wait(&sends[0], MPI_STATUS_IGNORE));
    OK(MPI_Isend(out, 3, MPI_INT, rank, 2, MPI_COMM_WORLD, &sends[1]));
    FAILS(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
    CHECK(class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE && in[2] == -1);
    CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS || class_of(statuses[1].MPI_ERROR) == MPI_ERR_PENDING);
    if (class_of(statuses[1].MPI_ERROR) == MPI_ERR_PENDING)
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Wait(&sends[1], MPI_STATUS_IGNORE);
    CHECK(in[3] == 4);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "strict_pt2pt");
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    nobody();
    buffered();
    truncation();
    return finish();
}
