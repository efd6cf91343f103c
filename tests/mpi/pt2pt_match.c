/* Checks which receive gets which message: wildcards, tags, order, communicators, MPI_PROC_NULL, statuses (MPI-3.1,
   sections 3.2, 3.5, 3.11). */
#include "check.h"

static void wildcards(void)
{
    MPI_Status status;
    if (rank == 0) {
        int *seen = calloc(size, sizeof *seen), value, good = 1;
        for (int i = 1; i < size; i++) {
            OK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
            CHECK(status.MPI_TAG == 100 + status.MPI_SOURCE && value == mark(status.MPI_SOURCE, 0, 1));
            seen[status.MPI_SOURCE]++;
        }
        for (int i = 1; i < size; i++)
            good = good && seen[i] == 1;
        CHECK(good);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 1; i < size; i++) {
            OK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 200 + i, MPI_COMM_WORLD, &status));
            CHECK(status.MPI_SOURCE == i && status.MPI_TAG == 200 + i && value == i);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = size - 1; i > 0; i--) {
            OK(MPI_Recv(&value, 1, MPI_INT, i, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
            CHECK(status.MPI_SOURCE == i && status.MPI_TAG == 7 && value == 2 * i);
        }
        free(seen);
    } else {
        int first = mark(rank, 0, 1), third = 2 * rank;
        OK(MPI_Send(&first, 1, MPI_INT, 0, 100 + rank, MPI_COMM_WORLD));
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Ssend(&rank, 1, MPI_INT, 0, 200 + rank, MPI_COMM_WORLD));
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Send(&third, 1, MPI_INT, 0, 7, MPI_COMM_WORLD));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Small and large messages of one pair and tag arrive in the order they were sent. */
static void order(void)
{
    enum { MESSAGES = 60, LARGE = 40000 };
    static int buffer[LARGE];
    MPI_Request requests[MESSAGES];
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    int *all = malloc(sizeof(int) * (MESSAGES * LARGE / 10 + MESSAGES * MESSAGES)), at = 0;
    for (int i = 0; i < MESSAGES; i++) {
        int count = i % 10 == 3 ? LARGE : 1 + i;
        for (int k = 0; k < count; k++)
            all[at + k] = mark(rank, i, k % 100);
        OK(MPI_Isend(all + at, count, MPI_INT, next, 4, MPI_COMM_WORLD, &requests[i]));
        at += count;
    }
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Status status;
        int count = i % 10 == 3 ? LARGE : 1 + i, good = 1;
        OK(MPI_Recv(buffer, LARGE, MPI_INT, i % 2 ? last : MPI_ANY_SOURCE, i % 3 ? 4 : MPI_ANY_TAG, MPI_COMM_WORLD,
                    &status));
        for (int k = 0; k < count; k++)
            good = good && buffer[k] == mark(last, i, k % 100);
        CHECK(good && got(&status, MPI_INT) == count && status.MPI_SOURCE == last && status.MPI_TAG == 4);
    }
    OK(MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE));
    free(all);
}

/* Receives posted in an order match in that order; tags take out of order. */
static void posted(void)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size, in[6], out[6];
    MPI_Request requests[12];
    MPI_Status statuses[12];
    static const int tags[6] = {3, 1, 3, 2, 1, 3};
    for (int i = 0; i < 6; i++) {
        in[i] = -1, out[i] = 10 * rank + i;
        OK(MPI_Irecv(&in[i], 1, MPI_INT, last, i == 5 ? MPI_ANY_TAG : tags[5 - i], MPI_COMM_WORLD, &requests[i]));
    }
    for (int i = 0; i < 6; i++)
        OK(MPI_Isend(&out[i], 1, MPI_INT, next, tags[i], MPI_COMM_WORLD, &requests[6 + i]));
    OK(MPI_Waitall(12, requests, statuses));
    /* Receives wait for tags 3 1 2 3 1 and any: sent are 0:3 1:1 2:3 3:2 4:1 5:3. */
    static const int which[6] = {0, 1, 3, 2, 4, 5};
    for (int i = 0; i < 6; i++)
        CHECK(in[i] == 10 * last + which[i] && statuses[i].MPI_TAG == tags[which[i]]);
}

static void contexts(void)
{
    MPI_Comm other;
    MPI_Request requests[4];
    int next = (rank + 1) % size, last = (rank + size - 1) % size, in[2] = {-1, -1}, out[2] = {rank, 1000 + rank};
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    OK(MPI_Irecv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, other, &requests[0]));
    OK(MPI_Irecv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Isend(&out[0], 1, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[2]));
    OK(MPI_Isend(&out[1], 1, MPI_INT, next, 1, other, &requests[3]));
    OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    CHECK(in[0] == last && in[1] == 1000 + last);
    OK(MPI_Comm_free(&other));
    CHECK(other == MPI_COMM_NULL);
}

static void nobody(void)
{
    MPI_Status status;
    MPI_Request requests[2];
    int value = 5, flag = 0;
    OK(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD));
    OK(MPI_Ssend(&value, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD));
    OK(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status));
    CHECK(value == 5 && status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && got(&status,
            MPI_INT) == 0);
    OK(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Wait(&requests[0], &status));
    CHECK(value == 5 && got(&status, MPI_INT) == 0);
    OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    OK(MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && got(&status, MPI_INT) == 0);
    OK(MPI_Iprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, &status));
    CHECK(flag && status.MPI_SOURCE == MPI_PROC_NULL);
}

static void large(void)
{
    int count = 3 * 1000 * 1000 + 1, good = 1, next = (rank + 1) % size, last = (rank + size - 1) % size;
    int *out = malloc(sizeof(int) * count), *in = malloc(sizeof(int) * count);
    MPI_Request request;
    MPI_Status status;
    for (int i = 0; i < count; i++)
        out[i] = i ^ rank, in[i] = -1;
    OK(MPI_Isend(out, count, MPI_INT, next, 32767, MPI_COMM_WORLD, &request));
    OK(MPI_Recv(in, count, MPI_INT, last, 32767, MPI_COMM_WORLD, &status));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < count; i++)
        good = good && in[i] == (i ^ last);
    CHECK(good && got(&status, MPI_INT) == count && got(&status, MPI_BYTE) == 4 * count);
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "pt2pt_match");
    wildcards();
    order();
    posted();
    contexts();
    nobody();
    large();
    return finish();
}
