/* Checks waits and tests of many requests, of which some are null, inactive, sends or complete at their start
   (MPI-3.1, section 3.7.5). */
#include "check.h"

#define N 300

static int next, last, in[N], out[N];
static MPI_Request sends[N], all[2 * N];

/* Posts receives in the array, followed by an inactive request, a receive from no rank and null requests. */
static void post(int tag)
{
    for (int i = 0; i < N; i++) {
        in[i] = -1;
        OK(MPI_Irecv(&in[i], 1, MPI_INT, last, tag + i, MPI_COMM_WORLD, &all[i]));
    }
    for (int i = N; i < 2 * N; i++)
        all[i] = MPI_REQUEST_NULL;
    OK(MPI_Recv_init(&out[0], 1, MPI_INT, last, tag + N, MPI_COMM_WORLD, &all[N]));
    OK(MPI_Irecv(&out[0], 1, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD, &all[N + 3]));
}

static void fire(int tag)
{
    for (int i = N - 1; i >= 0; i--) {
        out[i] = mark(rank, i, tag);
        OK(MPI_Isend(&out[i], 1, MPI_INT, next, tag + i, MPI_COMM_WORLD, &sends[i]));
    }
}

/* Checks the completed request with this index. */
static int right(int index, MPI_Status *status, int tag)
{
    if (index == N + 3) /* MPICH 4.0 does not set the source in the status. */
        return all[index] == MPI_REQUEST_NULL;
    return index >= 0 && index < N && status->MPI_TAG == tag + index && in[index] == mark(last, index, tag) &&
           all[index] == MPI_REQUEST_NULL;
}

static void end(void)
{
    OK(MPI_Waitall(N, sends, MPI_STATUSES_IGNORE));
    OK(MPI_Request_free(&all[N]));
}

static void any(int test, int late)
{
    int tag = 1000 * (1 + 2 * test + late), good = 1;
    MPI_Status status;
    post(tag);
    if (!late)
        fire(tag);
    for (int i = 0; i <= N; i++) {
        int index, flag = 0;
        if (late && i == 1)
            fire(tag);
        if (!test)
            OK(MPI_Waitany(2 * N, all, &index, &status));
        /* The number of tests differs between runs, so they do not count as checks. */
        while (test && !flag)
            good = MPI_Testany(2 * N, all, &index, &flag, &status) == MPI_SUCCESS && good;
        good = good && right(index, &status, tag);
        if (i == N / 2) {
            /* A request that is not in the array reuses a handle. */
            MPI_Request other;
            OK(MPI_Irecv(&index, 1, MPI_INT, rank, tag, MPI_COMM_WORLD, &other));
            OK(MPI_Send(&i, 1, MPI_INT, rank, tag, MPI_COMM_WORLD));
            OK(MPI_Wait(&other, &status));
            good = good && index == i;
        }
    }
    CHECK(good);
    int index = 0, flag = 0;
    OK(MPI_Testany(2 * N, all, &index, &flag, &status));
    CHECK(flag && index == MPI_UNDEFINED);
    end();
}

static void some(int test)
{
    static int indices[2 * N];
    static MPI_Status statuses[2 * N];
    int tag = 5000 + 1000 * test, total = 0, good = 1, count;
    post(tag);
    fire(tag);
    while (total <= N) {
        int error = test ? MPI_Testsome(2 * N, all, &count, indices, statuses)
                         : MPI_Waitsome(2 * N, all, &count, indices, statuses);
        good = good && error == MPI_SUCCESS && count >= !test;
        for (int i = 0; i < count; i++)
            good = good && right(indices[i], &statuses[i], tag);
        total += count;
    }
    CHECK(good && total == N + 1);
    end();
}

static void every(void)
{
    static MPI_Status statuses[2 * N];
    int flag = 0, good = 1;
    post(7000);
    fire(7000);
    while (!flag)
        good = MPI_Testall(2 * N, all, &flag, statuses) == MPI_SUCCESS && good;
    for (int i = 0; i < N; i++)
        good = good && right(i, &statuses[i], 7000);
    CHECK(good && statuses[N].MPI_TAG == MPI_ANY_TAG && statuses[2 * N - 1].MPI_SOURCE == MPI_ANY_SOURCE);
    end();
}

static void swap(int a, int b, int *numbers)
{
    MPI_Request request = all[a];
    int number = numbers[a];
    all[a] = all[b], numbers[a] = numbers[b];
    all[b] = request, numbers[b] = number;
}

/* Between waits for any request of an array, the array gets further receives, entries change places, and a persistent
   receive is started. */
static void changing(void)
{
    static int values[3 * N + 1], sent[3 * N + 1], numbers[2 * N];
    static MPI_Request pending[3 * N + 1];
    int tag = 10000, posted = N, good = 1, index = 0;
    MPI_Status status;
    for (int i = 0; i <= 3 * N; i++) {
        sent[i] = mark(rank, i, tag);
        OK(MPI_Isend(&sent[i], 1, MPI_INT, next, tag + i, MPI_COMM_WORLD, &pending[i]));
    }
    for (int i = 0; i < 2 * N; i++) {
        numbers[i] = i;
        all[i] = MPI_REQUEST_NULL;
        if (i < N)
            OK(MPI_Irecv(&values[i], 1, MPI_INT, last, tag + i, MPI_COMM_WORLD, &all[i]));
    }
    numbers[N] = 3 * N;
    OK(MPI_Recv_init(&values[3 * N], 1, MPI_INT, last, tag + 3 * N, MPI_COMM_WORLD, &all[N]));
    for (int done = 0; done <= 3 * N; done++) {
        if (done == N)
            OK(MPI_Start(&all[N]));
        good = MPI_Waitany(2 * N, all, &index, &status) == MPI_SUCCESS && good;
        int number = index < 0 ? 0 : numbers[index];
        good = good && index >= 0 && status.MPI_TAG == tag + number && values[number] == mark(last, number, tag);
        if (index == N) {
            OK(MPI_Request_free(&all[N]));
        } else if (posted < 3 * N) {
            good = good && all[index] == MPI_REQUEST_NULL;
            numbers[index] = posted;
            OK(MPI_Irecv(&values[posted], 1, MPI_INT, last, tag + posted, MPI_COMM_WORLD, &all[index]));
            posted++;
        }
        for (int i = 0; i < (done % 50 == 0 ? 40 : done % 7 == 0); i++)
            swap((done * 31 + i) % N, N + 1 + (done * 17 + i) % (N - 1), numbers);
    }
    OK(MPI_Waitany(2 * N, all, &index, &status));
    CHECK(good && index == MPI_UNDEFINED);
    OK(MPI_Waitall(3 * N + 1, pending, MPI_STATUSES_IGNORE));
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "pt2pt_many");
    next = (rank + 1) % size;
    last = (rank + size - 1) % size;
    for (int i = 0; i < 4; i++)
        any(i / 2, i % 2);
    some(0);
    some(1);
    every();
    changing();
    return finish();
}
