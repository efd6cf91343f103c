/* Checks locks, lock_all, flushes and operations with requests (MPI-3.1, sections 11.3.5, 11.5.3, 11.5.4). */
#include "check.h"

#define N 1000

static int *memory;
static MPI_Win win;

static void reset(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
    for (int i = 0; i < N; i++)
        memory[i] = 0;
    OK(MPI_Win_unlock(rank, win));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A counter under an exclusive lock: read, add one, write; nothing is lost. */
static void counter(void)
{
    reset();
    for (int round = 0; round < 10; round++) {
        int value = -1;
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        OK(MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
        OK(MPI_Win_flush(0, win));
        value++;
        OK(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
        OK(MPI_Win_unlock(0, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int value = -1;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    OK(MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    OK(MPI_Win_unlock(0, win));
    CHECK(value == 10 * size);
}

/* Everybody writes its own place at every rank and reads it back; in one epoch. */
static void all_open(void)
{
    int good = 1, *back = malloc(size * sizeof(int));
    reset();
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    for (int r = 0; r < size; r++) {
        int value = rank * 100 + r;
        OK(MPI_Put(&value, 1, MPI_INT, r, rank, 1, MPI_INT, win));
        OK(MPI_Win_flush_local(r, win));
    }
    OK(MPI_Win_flush_all(win));
    for (int r = 0; r < size; r++)
        OK(MPI_Get(&back[r], 1, MPI_INT, r, rank, 1, MPI_INT, win));
    OK(MPI_Win_flush_local_all(win));
    for (int r = 0; r < size; r++)
        good = good && back[r] == rank * 100 + r;
    CHECK(good);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_sync(win));
    for (int r = 0; r < size; r++)
        good = good && memory[r] == r * 100 + rank;
    CHECK(good);
    OK(MPI_Win_unlock_all(win));
    free(back);
}

static void several(void)
{
    int *values = malloc(size * sizeof(int)), good = 1;
    reset();
    /* Shared locks at several targets at once. */
    for (int r = 0; r < size; r++)
        OK(MPI_Win_lock(MPI_LOCK_SHARED, r, 0, win));
    for (int r = 0; r < size; r++) {
        values[r] = 7 * rank + r;
        OK(MPI_Put(&values[r], 1, MPI_INT, r, 100 + rank, 1, MPI_INT, win));
    }
    for (int r = size - 1; r >= 0; r--)
        OK(MPI_Win_unlock(r, win));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    for (int r = 0; r < size; r++)
        good = good && memory[100 + r] == 7 * r + rank;
    CHECK(good);
    OK(MPI_Win_unlock(rank, win));
    free(values);
}

static void requests(void)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size, good = 1, flag = 0, one = 1, before = -1;
    int *out = malloc(N * sizeof(int)), *in = malloc(N * sizeof(int));
    MPI_Request several[4], request;
    MPI_Status status;
    reset();
    for (int i = 0; i < N; i++)
        out[i] = mark(rank, i, 2), in[i] = -1;
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Rput(out, N / 2, MPI_INT, next, 0, N / 2, MPI_INT, win, &request));
    OK(MPI_Wait(&request, &status));
    CHECK(request == MPI_REQUEST_NULL);
    for (int i = 0; i < N / 2; i++)
        out[i] = -3;
    OK(MPI_Win_flush(next, win));
    OK(MPI_Rget(in, N / 2, MPI_INT, next, 0, N / 2, MPI_INT, win, &request));
    while (!flag)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    for (int i = 0; i < N / 2; i++)
        good = good && in[i] == mark(rank, i, 2);
    CHECK(good);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Raccumulate(&one, 1, MPI_INT, next, N - 1, 1, MPI_INT, MPI_SUM, win, &several[0]));
    OK(MPI_Raccumulate(&one, 1, MPI_INT, last, N - 1, 1, MPI_INT, MPI_SUM, win, &several[1]));
    OK(MPI_Rput(out + N / 2, 10, MPI_INT, next, N / 2, 10, MPI_INT, win, &several[2]));
    OK(MPI_Rget_accumulate(&one, 1, MPI_INT, &before, 1, MPI_INT, next, N - 2, 1, MPI_INT, MPI_SUM, win, &several[3]));
    OK(MPI_Waitall(4, several, MPI_STATUSES_IGNORE));
    CHECK(before == 0);
    OK(MPI_Rget(in, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    CHECK(memory[N - 1] == 2 && memory[N - 2] == 1 && memory[N / 2] == mark(last, N / 2, 2) && memory[0] == mark(last,
            0, 2));
    OK(MPI_Win_unlock(rank, win));
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "rma_passive");
    OK(MPI_Win_allocate(N * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    counter();
    if (size <= 100) {
        all_open();
        several();
    }
    requests();
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_free(&win));
    return finish();
}
