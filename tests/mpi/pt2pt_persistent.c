/* Checks persistent requests of all send modes, started, completed and started again (MPI-3.1, section 3.9). */
#include "check.h"

#define N 300

typedef int (*init)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static int in[N], out[N];

int main(int argc, char **argv)
{
    static const init inits[4] = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init};
    MPI_Request requests[2];
    MPI_Status statuses[2], status;
    int flag, index;
    start(&argc, &argv, "pt2pt_persistent");
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    int room = 4 * (N * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
    char *buffer = malloc(room);
    OK(MPI_Buffer_attach(buffer, room));
    for (int mode = 0; mode < 4; mode++) {
        /* Buffered ones to oneself are a matter of strict_pt2pt. */
        if (mode == 2 && size == 1)
            continue;
        OK(MPI_Recv_init(in, N, MPI_INT, last, mode, MPI_COMM_WORLD, &requests[0]));
        OK(inits[mode](out, N, MPI_INT, next, mode, MPI_COMM_WORLD, &requests[1]));
        /* Inactive requests are complete, with an empty status. */
        OK(MPI_Wait(&requests[0], &status));
        CHECK(requests[0] != MPI_REQUEST_NULL && status.MPI_SOURCE == MPI_ANY_SOURCE && got(&status, MPI_INT) == 0);
        OK(MPI_Waitany(2, requests, &index, &status));
        CHECK(index == MPI_UNDEFINED);
        OK(MPI_Testall(2, requests, &flag, statuses));
        CHECK(flag);
        for (int round = 0; round < 5; round++) {
            for (int i = 0; i < N; i++)
                in[i] = -1, out[i] = mark(rank, i, round);
            if (mode == 3) {
                OK(MPI_Start(&requests[0]));
                MPI_Barrier(MPI_COMM_WORLD);
                OK(MPI_Start(&requests[1]));
            } else {
                OK(MPI_Startall(2, requests));
            }
            OK(MPI_Waitall(2, requests, statuses));
            int good = 1;
            for (int i = 0; i < N; i++)
                good = good && in[i] == mark(last, i, round);
            CHECK(good && statuses[0].MPI_SOURCE == last && statuses[0].MPI_TAG == mode && got(&statuses[0],
                    MPI_INT) == N);
            CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL);
        }
        OK(MPI_Request_free(&requests[0]));
        OK(MPI_Request_free(&requests[1]));
        CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    }
    void *back;
    int bytes;
    OK(MPI_Buffer_detach(&back, &bytes));
    free(buffer);

    /* Wildcards, and completion by MPI_Test and MPI_Waitany, of one persistent receive among others. */
    OK(MPI_Recv_init(in, N, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]));
    for (int round = 0; round < 4; round++) {
        out[0] = rank + round;
        OK(MPI_Start(&requests[0]));
        OK(MPI_Isend(out, 1 + round, MPI_INT, next, round, MPI_COMM_WORLD, &requests[1]));
        if (round % 2) {
            for (flag = 0; !flag;)
                MPI_Test(&requests[0], &flag, &status);
        } else {
            OK(MPI_Waitany(1, requests, &index, &status));
            CHECK(index == 0);
        }
        CHECK(status.MPI_SOURCE == last && status.MPI_TAG == round && got(&status, MPI_INT) == 1 + round &&
              in[0] == last + round);
        OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    OK(MPI_Request_free(&requests[0]));

    OK(MPI_Recv_init(in, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Send_init(out, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Startall(2, requests));
    OK(MPI_Waitall(2, requests, statuses));
    CHECK(got(&statuses[0], MPI_INT) == 0);
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
    return finish();
}
