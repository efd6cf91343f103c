/* Checks all send modes, blocking and not, to oneself and to a partner, with attached buffers (MPI-3.1, sections 3.4 to
   3.7). */
#include "check.h"

#define N 1000

typedef int (*blocking)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int (*starting)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static int in[N], out[N];

static void fill(int round)
{
    for (int i = 0; i < N; i++)
        out[i] = mark(rank, i, round), in[i] = -1;
}

static int right(int from, int count, int round)
{
    for (int i = 0; i < N; i++)
        if (in[i] != (i < count ? mark(from, i, round) : -1))
            return 0;
    return 1;
}

/* Even ranks send first; a receive is posted before a ready send by handshake. */
static void pairs(blocking send, int count, int round)
{
    int partner = rank ^ 1, token = 7;
    MPI_Status status;
    if (partner >= size)
        return;
    fill(round);
    for (int turn = 0; turn < 2; turn++) {
        if (rank % 2 == turn) {
            OK(MPI_Recv(&token, 1, MPI_INT, partner, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(send(out, count, MPI_INT, partner, round, MPI_COMM_WORLD));
        } else {
            MPI_Request request;
            OK(MPI_Irecv(in, N, MPI_INT, partner, round, MPI_COMM_WORLD, &request));
            OK(MPI_Send(&token, 1, MPI_INT, partner, 99, MPI_COMM_WORLD));
            OK(MPI_Wait(&request, &status));
            CHECK(request == MPI_REQUEST_NULL);
            CHECK(status.MPI_SOURCE == partner && status.MPI_TAG == round);
            CHECK(got(&status, MPI_INT) == count);
            CHECK(right(partner, count, round));
        }
    }
}

static void ring(starting send, int count, int round)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    fill(round);
    OK(MPI_Irecv(in, N, MPI_INT, last, round, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(send(out, count, MPI_INT, next, round, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Waitall(2, requests, statuses));
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    CHECK(statuses[0].MPI_SOURCE == last && statuses[0].MPI_TAG == round);
    CHECK(got(&statuses[0], MPI_INT) == count);
    CHECK(right(last, count, round));
}

static void self(void)
{
    MPI_Request request;
    MPI_Status status;
    fill(50);
    OK(MPI_Irecv(in, N, MPI_INT, 0, 5, MPI_COMM_SELF, &request));
    OK(MPI_Send(out, 10, MPI_INT, 0, 5, MPI_COMM_SELF));
    OK(MPI_Wait(&request, &status));
    CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == 5 && right(rank, 10, 50));
    fill(51);
    OK(MPI_Isend(out, N, MPI_INT, rank, 6, MPI_COMM_WORLD, &request));
    OK(MPI_Recv(in, N, MPI_INT, rank, 6, MPI_COMM_WORLD, &status));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(status.MPI_SOURCE == rank && right(rank, N, 51));
    fill(52);
    OK(MPI_Issend(out, N, MPI_INT, rank, 6, MPI_COMM_WORLD, &request));
    OK(MPI_Recv(in, N, MPI_INT, rank, 6, MPI_COMM_WORLD, &status));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(right(rank, N, 52));
}

static void buffers(void)
{
    int bytes = 0, pack = 0;
    void *back = NULL;
    OK(MPI_Pack_size(100, MPI_INT, MPI_COMM_WORLD, &pack));
    int room = 3 * (pack + MPI_BSEND_OVERHEAD);
    char *buffer = malloc(room);
    OK(MPI_Buffer_attach(buffer, room));
    fill(60);
    /* Three sends fit, and return although nobody receives yet; the data may be changed at once. */
    for (int i = 0; i < 3; i++) {
        out[0] = 100 + i;
        OK(MPI_Bsend(out, 100, MPI_INT, (rank + 1) % size, i, MPI_COMM_WORLD));
    }
    out[0] = -5;
    for (int i = 2; i >= 0; i--) {
        OK(MPI_Recv(in, N, MPI_INT, (rank + size - 1) % size, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(in[0] == 100 + i && in[99] == mark((rank + size - 1) % size, 99, 60));
    }
    OK(MPI_Buffer_detach(&back, &bytes));
    CHECK(back == (void *)buffer && bytes == room);
    free(buffer);
}

int main(int argc, char **argv)
{
    static const blocking sends[] = {MPI_Send, MPI_Ssend, MPI_Rsend, MPI_Bsend};
    static const starting starts[] = {MPI_Isend, MPI_Issend, MPI_Irsend, MPI_Ibsend};
    static const int counts[] = {0, 1, 17, N};
    start(&argc, &argv, "pt2pt_modes");
    buffers();
    int room = 64 * (N * (int)sizeof(int) + MPI_BSEND_OVERHEAD), bytes;
    char *buffer = malloc(room), *back;
    OK(MPI_Buffer_attach(buffer, room));
    for (int mode = 0; mode < 4; mode++)
        for (int c = 0; c < 4; c++) {
            pairs(sends[mode], counts[c], 10 + mode * 4 + c);
            ring(starts[mode], counts[c], 30 + mode * 4 + c);
        }
    self();
    OK(MPI_Buffer_detach(&back, &bytes));
    CHECK(back == buffer && bytes == room);
    free(buffer);
    return finish();
}
