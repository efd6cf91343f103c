/* Checks all ways to complete requests, null and inactive ones, freeing and cancelling (MPI-3.1, sections 3.7.3 to
   3.8.4). */
#include "check.h"

#define N 6

static int next, last, in[N], out[N];
static MPI_Request sends[N], receives[N];

/* Receives of N messages from the last rank; `fire` sends them. */
static void post(int tag)
{
    for (int i = 0; i < N; i++) {
        in[i] = -1;
        OK(MPI_Irecv(&in[i], 1, MPI_INT, last, tag + i, MPI_COMM_WORLD, &receives[i]));
    }
}

static void fire(int tag)
{
    for (int i = N - 1; i >= 0; i--) {
        out[i] = mark(rank, i, tag);
        OK(MPI_Isend(&out[i], 1, MPI_INT, next, tag + i, MPI_COMM_WORLD, &sends[i]));
    }
}

static int right(int i, int tag)
{
    return in[i] == mark(last, i, tag);
}

static int empty(MPI_Status *status)
{
    int cancelled = 1;
    MPI_Test_cancelled(status, &cancelled);
    return status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG && got(status, MPI_INT) == 0 &&
        !cancelled;
}

static void any(void)
{
    int index, seen[N] = {0};
    MPI_Status status;
    post(10);
    fire(10);
    for (int i = 0; i < N; i++) {
        OK(MPI_Waitany(N, receives, &index, &status));
        CHECK(index >= 0 && index < N && receives[index] == MPI_REQUEST_NULL && status.MPI_TAG == 10 + index &&
              right(index, 10));
        seen[index]++;
    }
    CHECK(seen[0] == 1 && seen[N - 1] == 1);
    OK(MPI_Waitany(N, receives, &index, &status));
    CHECK(index == MPI_UNDEFINED && empty(&status));
    OK(MPI_Waitall(N, sends, MPI_STATUSES_IGNORE));
    post(20);
    fire(20);
    for (int i = 0; i < N; i++) {
        int flag = 0;
        while (!flag)
            MPI_Testany(N, receives, &index, &flag, &status);
        CHECK(index != MPI_UNDEFINED && status.MPI_TAG == 20 + index && right(index, 20));
    }
    int flag = 0;
    OK(MPI_Testany(N, receives, &index, &flag, &status));
    CHECK(flag && index == MPI_UNDEFINED && empty(&status));
    OK(MPI_Waitall(N, sends, MPI_STATUSES_IGNORE));
}

static void some(void)
{
    int outcount, indices[N], total = 0, good = 1;
    MPI_Status statuses[N];
    for (int way = 0; way < 2; way++, total = 0) {
        int tag = 30 + 10 * way;
        post(tag);
        fire(tag);
        while (total < N) {
            if (way == 0)
                good = MPI_Waitsome(N, receives, &outcount, indices, statuses) == MPI_SUCCESS && outcount > 0 && good;
            else
                good = MPI_Testsome(N, receives, &outcount, indices, statuses) == MPI_SUCCESS && outcount >= 0 && good;
            for (int i = 0; i < outcount; i++)
                good = good && statuses[i].MPI_TAG == tag + indices[i] && right(indices[i], tag) &&
                       receives[indices[i]] == MPI_REQUEST_NULL;
            total += outcount;
        }
        CHECK(good && total == N);
        OK(MPI_Waitall(N, sends, MPI_STATUSES_IGNORE));
    }
    OK(MPI_Waitsome(N, receives, &outcount, indices, statuses));
    CHECK(outcount == MPI_UNDEFINED);
    OK(MPI_Testsome(N, receives, &outcount, indices, statuses));
    CHECK(outcount == MPI_UNDEFINED);
}

static void all(void)
{
    int flag = 1;
    MPI_Status statuses[N];
    post(50);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Testall(N, receives, &flag, statuses));
    CHECK(!flag && receives[0] != MPI_REQUEST_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    fire(50);
    for (flag = 0; !flag;)
        MPI_Testall(N, receives, &flag, statuses);
    for (int i = 0; i < N; i++)
        CHECK(receives[i] == MPI_REQUEST_NULL && statuses[i].MPI_TAG == 50 + i && statuses[i].MPI_SOURCE == last &&
              right(i, 50));
    OK(MPI_Waitall(N, sends, MPI_STATUSES_IGNORE));
    OK(MPI_Waitall(N, receives, statuses));
    CHECK(empty(&statuses[0]) && empty(&statuses[N - 1]));
    OK(MPI_Testall(N, receives, &flag, statuses));
    CHECK(flag && empty(&statuses[1]));
    OK(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
}

static void one(void)
{
    int flag = 1;
    MPI_Status status;
    MPI_Request null = MPI_REQUEST_NULL;
    OK(MPI_Wait(&null, &status));
    CHECK(empty(&status));
    OK(MPI_Test(&null, &flag, &status));
    CHECK(flag && empty(&status));
    OK(MPI_Request_get_status(null, &flag, &status));
    CHECK(flag && empty(&status));
    post(60);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Test(&receives[0], &flag, &status));
    CHECK(!flag && receives[0] != MPI_REQUEST_NULL);
    OK(MPI_Request_get_status(receives[0], &flag, &status));
    CHECK(!flag);
    MPI_Barrier(MPI_COMM_WORLD);
    fire(60);
    for (flag = 0; !flag;)
        MPI_Request_get_status(receives[0], &flag, &status);
    CHECK(receives[0] != MPI_REQUEST_NULL && status.MPI_TAG == 60 && status.MPI_SOURCE == last && right(0, 60));
    for (flag = 0; !flag;)
        MPI_Test(&receives[0], &flag, &status);
    CHECK(receives[0] == MPI_REQUEST_NULL && status.MPI_TAG == 60);
    OK(MPI_Waitall(N, receives, MPI_STATUSES_IGNORE));
    OK(MPI_Waitall(N, sends, MPI_STATUSES_IGNORE));
    /* A freed send still arrives. */
    out[0] = 4711;
    OK(MPI_Isend(&out[0], 1, MPI_INT, next, 70, MPI_COMM_WORLD, &sends[0]));
    OK(MPI_Request_free(&sends[0]));
    CHECK(sends[0] == MPI_REQUEST_NULL);
    OK(MPI_Recv(&in[0], 1, MPI_INT, last, 70, MPI_COMM_WORLD, &status));
    CHECK(in[0] == 4711);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void cancel(void)
{
    int cancelled = 0;
    MPI_Status status;
    in[0] = -7;
    OK(MPI_Irecv(&in[0], 1, MPI_INT, last, 80, MPI_COMM_WORLD, &receives[0]));
    OK(MPI_Irecv(&in[1], 1, MPI_INT, last, 80, MPI_COMM_WORLD, &receives[1]));
    OK(MPI_Cancel(&receives[0]));
    OK(MPI_Wait(&receives[0], &status));
    OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK(cancelled && receives[0] == MPI_REQUEST_NULL && in[0] == -7);
    MPI_Barrier(MPI_COMM_WORLD);
    out[1] = 12345;
    OK(MPI_Send(&out[1], 1, MPI_INT, next, 80, MPI_COMM_WORLD));
    OK(MPI_Wait(&receives[1], &status));
    OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK(!cancelled && in[1] == 12345 && in[0] == -7);
    OK(MPI_Status_set_cancelled(&status, 1));
    OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK(cancelled);
    OK(MPI_Status_set_elements(&status, MPI_INT, 3));
    CHECK(got(&status, MPI_INT) == 3);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "pt2pt_wait");
    next = (rank + 1) % size;
    last = (rank + size - 1) % size;
    any();
    some();
    all();
    one();
    if (size > 1)
        cancel();
    return finish();
}
