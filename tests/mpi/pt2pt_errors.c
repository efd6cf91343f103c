/* Checks that wrong arguments and messages too long are errors of the right class under MPI_ERRORS_RETURN (MPI-3.1,
   sections 3.2.4, 3.7.5, 8.3). */
#include "check.h"

static void truncation(void)
{
    int in[4] = {-1, -1, -1, -1}, out[4] = {1, 2, 3, 4};
    MPI_Request request;
    MPI_Status status;
    /* To oneself, so that one rank suffices. */
    OK(MPI_Isend(out, 4, MPI_INT, rank, 1, MPI_COMM_WORLD, &request));
    FAILS(MPI_Recv(in, 2, MPI_INT, rank, 1, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE);
    CHECK(in[2] == -1 && in[3] == -1);
    CHECK(status.MPI_SOURCE == rank && status.MPI_TAG == 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void arguments(void)
{
    int value = 0, flag, *nothing = NULL;
    MPI_Request request;
    MPI_Status status;
    FAILS(MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    FAILS(MPI_Send(&value, 1, MPI_INT, -1000, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    FAILS(MPI_Send(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    FAILS(MPI_Recv(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD, &status), MPI_ERR_RANK);
    FAILS(MPI_Probe(size, 0, MPI_COMM_WORLD, &status), MPI_ERR_RANK);
    FAILS(MPI_Iprobe(size, 0, MPI_COMM_WORLD, &flag, &status), MPI_ERR_RANK);
    FAILS(MPI_Send(&value, 1, MPI_INT, 0, -5, MPI_COMM_WORLD), MPI_ERR_TAG);
    FAILS(MPI_Send(&value, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD), MPI_ERR_TAG);
    FAILS(MPI_Recv(&value, 1, MPI_INT, 0, -5, MPI_COMM_WORLD, &status), MPI_ERR_TAG);
    FAILS(MPI_Send(&value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    FAILS(MPI_Irecv(&value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request), MPI_ERR_COUNT);
    FAILS(MPI_Isend(&value, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD, &request), MPI_ERR_TYPE);
    FAILS(MPI_Recv(&value, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD, &status), MPI_ERR_TYPE);
    FAILS(MPI_Send(nothing, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    OK(MPI_Isend(nothing, 0, MPI_INT, rank, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Recv(nothing, 0, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    /* A type that was not committed. */
    MPI_Datatype pair;
    OK(MPI_Type_contiguous(2, MPI_INT, &pair));
    int two[2] = {1, 2};
    FAILS(MPI_Send(two, 1, pair, rank, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    OK(MPI_Type_free(&pair));
    CHECK(pair == MPI_DATATYPE_NULL);
    FAILS(MPI_Sendrecv(&value, 1, MPI_INT, size, 0, &value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &status), MPI_ERR_RANK);
}

/* An error leaves the communicator usable. */
static void afterwards(void)
{
    int value = -1;
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &value, 1, MPI_INT, (rank + size - 1) % size, 0,
                    MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    CHECK(value == (rank + size - 1) % size);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "pt2pt_errors");
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
    arguments();
    truncation();
    afterwards();
    return finish();
}
