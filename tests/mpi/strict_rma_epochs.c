/* Checks epochs: assertions, groups of any kind, requests, locks that are waited for (MPI-3.1, sections 11.3.5 and 11.5). */
#include "check.h"

#define N 64

static int *memory;
static MPI_Win win;

static void asserted(int next, int last)
{
    int value = rank;
    for (int round = 0; round < 3; round++) {
        memory[0] = -1;
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSTORE, win));
        value = rank + 100 * round;
        OK(MPI_Put(&value, 1, MPI_INT, next, 0, 1, MPI_INT, win));
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED | MPI_MODE_NOSTORE, win));
        CHECK(memory[0] == last + 100 * round);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 0 opens to nobody, then in turn to every single rank, who know that it did. */
static void groups(void)
{
    MPI_Group world, one;
    int zero = 0, value = 0;
    OK(MPI_Win_get_group(win, &world));
    OK(MPI_Win_post(MPI_GROUP_EMPTY, 0, win));
    OK(MPI_Win_start(MPI_GROUP_EMPTY, 0, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    for (int r = 0; r < size; r++) {
        if (rank == 0) {
            OK(MPI_Group_incl(world, 1, &r, &one));
            memory[1] = 0;
            OK(MPI_Win_post(one, MPI_MODE_NOCHECK, win));
            OK(MPI_Group_free(&one));
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == r) {
            OK(MPI_Group_incl(world, 1, &zero, &one));
            OK(MPI_Win_start(one, MPI_MODE_NOCHECK, win));
            OK(MPI_Group_free(&one));
            for (int i = 0; i < 10; i++) {
                value = i + r;
                OK(MPI_Accumulate(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, win));
            }
            OK(MPI_Win_complete(win));
        }
        if (rank == 0) {
            OK(MPI_Win_wait(win));
            CHECK(memory[1] == 45 + 10 * r);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    /* All to all, several times without anything else in between. */
    for (int round = 0; round < 5; round++) {
        OK(MPI_Win_post(world, 0, win));
        OK(MPI_Win_start(world, 0, win));
        value = rank * 10 + round;
        for (int r = 0; r < size; r++)
            OK(MPI_Put(&value, 1, MPI_INT, r, 2 + rank % 32, 1, MPI_INT, win));
        OK(MPI_Win_complete(win));
        OK(MPI_Win_wait(win));
        for (int r = 0; r < size && size <= 32; r++)
            CHECK(memory[2 + r] == r * 10 + round);
    }
    OK(MPI_Group_free(&world));
}

static void requested(int next)
{
    int in[4] = {-1, -1, -1, -1}, out[4] = {rank, rank + 1, rank + 2, rank + 3};
    MPI_Request request;
    MPI_Status status;
    int flag = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Rput(out, 4, MPI_INT, next, 40, 4, MPI_INT, win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Win_flush(next, win));
    /* A flush completes what a request stands for; the request is still to be waited for. */
    OK(MPI_Rget(in, 4, MPI_INT, next, 40, 4, MPI_INT, win, &request));
    OK(MPI_Win_flush(next, win));
    CHECK(in[0] == rank && in[3] == rank + 3 && request != MPI_REQUEST_NULL);
    OK(MPI_Request_get_status(request, &flag, &status));
    CHECK(flag);
    OK(MPI_Wait(&request, &status));
    CHECK(request == MPI_REQUEST_NULL);
    in[0] = in[1] = -1;
    OK(MPI_Rget(in, 1, MPI_INT, next, 41, 1, MPI_INT, win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(in[0] == rank + 1);
    OK(MPI_Rget(in + 1, 1, MPI_INT, next, 42, 1, MPI_INT, win, &request));
    OK(MPI_Win_flush_local(next, win));
    CHECK(in[1] == rank + 2);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Everybody holds the exclusive lock for a while; two places always agree for who reads under a shared one. */
static void excluding(void)
{
    int pair[2], good = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
    memory[50] = memory[51] = 0;
    OK(MPI_Win_unlock(rank, win));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < 6; round++) {
        int writes = (rank + round) % 2;
        OK(MPI_Win_lock(writes ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, win));
        OK(MPI_Get(pair, 2, MPI_INT, 0, 50, 2, MPI_INT, win));
        OK(MPI_Win_flush(0, win));
        good = good && pair[0] == pair[1];
        if (writes) {
            pair[0]++;
            OK(MPI_Put(&pair[0], 1, MPI_INT, 0, 50, 1, MPI_INT, win));
            OK(MPI_Win_flush(0, win));
            OK(MPI_Put(&pair[0], 1, MPI_INT, 0, 51, 1, MPI_INT, win));
        }
        OK(MPI_Win_unlock(0, win));
    }
    CHECK(good);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Get(pair, 2, MPI_INT, 0, 50, 2, MPI_INT, win));
    OK(MPI_Win_unlock_all(win));
    CHECK(pair[0] == 3 * size && pair[1] == 3 * size);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A rank that computes serves all the same; one waits for a flag that another puts. */
static void passive(int next)
{
    int one = 1, seen = 0;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
    memory[60] = 0;
    OK(MPI_Win_unlock(rank, win));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock_all(0, win));
    if (rank > 0)
        while (!seen) {
            OK(MPI_Fetch_and_op(NULL, &seen, MPI_INT, rank, 60, MPI_NO_OP, win));
            OK(MPI_Win_flush(rank, win));
        }
    OK(MPI_Accumulate(&one, 1, MPI_INT, next, 60, 1, MPI_INT, MPI_REPLACE, win));
    OK(MPI_Win_flush(next, win));
    OK(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(memory[60] == 1);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "strict_rma_epochs");
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    OK(MPI_Win_allocate(N * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    asserted(next, last);
    groups();
    requested(next);
    excluding();
    passive(next);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_free(&win));
    return finish();
}
