/* Checks probes, matched probes and matched receives (MPI-3.1, section 3.8). */
#include "check.h"

static int next, last;

static void probe(void)
{
    int out[5] = {rank, 1, 2, 3, 4}, in[5], flag = 0;
    MPI_Status status;
    MPI_Request request;
    OK(MPI_Isend(out, 5, MPI_INT, next, 11, MPI_COMM_WORLD, &request));
    OK(MPI_Probe(last, 11, MPI_COMM_WORLD, &status));
    CHECK(status.MPI_SOURCE == last && status.MPI_TAG == 11 && got(&status, MPI_INT) == 5);
    OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    CHECK(status.MPI_SOURCE == last && status.MPI_TAG == 11 && got(&status, MPI_INT) == 5);
    OK(MPI_Iprobe(MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, &flag, &status));
    CHECK(flag && status.MPI_SOURCE == last && got(&status, MPI_BYTE) == 20);
    OK(MPI_Iprobe(MPI_ANY_SOURCE, 12, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    OK(MPI_Recv(in, 5, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status));
    CHECK(in[0] == last && in[4] == 4);
    OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
    CHECK(!flag);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A loop of MPI_Iprobe comes to see a synchronous message; the sender goes on only when it is received. */
static void poll(void)
{
    int flag = 0, in = -1, seen = 0;
    MPI_Status status;
    MPI_Request request;
    OK(MPI_Issend(&rank, 1, MPI_INT, next, 12, MPI_COMM_WORLD, &request));
    while (!flag)
        seen = MPI_Iprobe(MPI_ANY_SOURCE, 12, MPI_COMM_WORLD, &flag, &status);
    CHECK(seen == MPI_SUCCESS && status.MPI_SOURCE == last && got(&status, MPI_INT) == 1);
    OK(MPI_Recv(&in, 1, MPI_INT, status.MPI_SOURCE, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(in == last);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A matched message is out of reach of other receives and probes. */
static void matched(void)
{
    int out[2] = {10 + rank, 20 + rank}, in = -1, flag = 0;
    MPI_Message message, second;
    MPI_Status status;
    MPI_Request requests[3];
    OK(MPI_Isend(&out[0], 1, MPI_INT, next, 13, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Isend(&out[1], 1, MPI_INT, next, 13, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Mprobe(last, 13, MPI_COMM_WORLD, &message, &status));
    CHECK(message != MPI_MESSAGE_NULL && status.MPI_SOURCE == last && status.MPI_TAG == 13 && got(&status,
            MPI_INT) == 1);
    OK(MPI_Recv(&in, 1, MPI_INT, last, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(in == 20 + last);
    OK(MPI_Improbe(MPI_ANY_SOURCE, 13, MPI_COMM_WORLD, &flag, &second, &status));
    CHECK(!flag);
    OK(MPI_Mrecv(&in, 1, MPI_INT, &message, &status));
    CHECK(in == 10 + last && message == MPI_MESSAGE_NULL);
    CHECK(status.MPI_SOURCE == last && status.MPI_TAG == 13 && got(&status, MPI_INT) == 1);
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void matched_later(void)
{
    int out[3] = {1, rank, 3}, in[3] = {-1, -1, -1}, flag = 0;
    MPI_Message message;
    MPI_Status status;
    MPI_Request requests[2];
    OK(MPI_Isend(out, 3, MPI_INT, next, 14, MPI_COMM_WORLD, &requests[0]));
    while (!flag)
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status);
    CHECK(status.MPI_SOURCE == last && status.MPI_TAG == 14 && got(&status, MPI_INT) == 3);
    OK(MPI_Imrecv(in, 3, MPI_INT, &message, &requests[1]));
    CHECK(message == MPI_MESSAGE_NULL);
    OK(MPI_Wait(&requests[1], &status));
    CHECK(in[0] == 1 && in[1] == last && in[2] == 3 && status.MPI_SOURCE == last && status.MPI_TAG == 14);
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
}

static void nobody(void)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Request request;
    int flag = 0, in = 5;
    OK(MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status));
    CHECK(message == MPI_MESSAGE_NO_PROC);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && got(&status, MPI_INT) == 0);
    OK(MPI_Mrecv(&in, 1, MPI_INT, &message, &status));
    CHECK(message == MPI_MESSAGE_NULL && status.MPI_SOURCE == MPI_PROC_NULL && in == 5);
    OK(MPI_Improbe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, &message, &status));
    CHECK(flag && message == MPI_MESSAGE_NO_PROC);
    OK(MPI_Imrecv(&in, 1, MPI_INT, &message, &request));
    OK(MPI_Wait(&request, &status));
    CHECK(message == MPI_MESSAGE_NULL && status.MPI_SOURCE == MPI_PROC_NULL && got(&status, MPI_INT) == 0);
}

/* Messages of unknown length from everybody, each received as long as it is. */
static void unknown(void)
{
    int total = 0, expected = 0;
    int *out = calloc(size * 10, sizeof *out);
    MPI_Request *requests = malloc(sizeof *requests * size);
    for (int i = 0; i < size * 10; i++)
        out[i] = rank;
    for (int to = 0; to < size; to++)
        OK(MPI_Isend(out, rank * 10 + to, MPI_INT, to, 15, MPI_COMM_WORLD, &requests[to]));
    for (int i = 0; i < size; i++) {
        MPI_Status status;
        MPI_Message message;
        OK(MPI_Mprobe(MPI_ANY_SOURCE, 15, MPI_COMM_WORLD, &message, &status));
        int count = got(&status, MPI_INT);
        int *in = malloc(sizeof *in * (count + 1));
        OK(MPI_Mrecv(in, count, MPI_INT, &message, &status));
        CHECK(count == status.MPI_SOURCE * 10 + rank && (count == 0 || in[count - 1] == status.MPI_SOURCE));
        total += count;
        expected += i * 10 + rank;
        free(in);
    }
    CHECK(total == expected);
    OK(MPI_Waitall(size, requests, MPI_STATUSES_IGNORE));
    free(out);
    free(requests);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "pt2pt_probe");
    next = (rank + 1) % size;
    last = (rank + size - 1) % size;
    probe();
    poll();
    matched();
    matched_later();
    MPI_Barrier(MPI_COMM_WORLD);
    nobody();
    if (size <= 10)
        unknown();
    return finish();
}
