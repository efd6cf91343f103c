/* Checks get_accumulate, fetch_and_op and compare_and_swap on one place of many ranks (MPI-3.1, sections 11.3.4,
   11.7.1). */
#include "check.h"

static long *memory;
static MPI_Win win;

static void reset(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
    for (int i = 0; i < 8; i++)
        memory[i] = 0;
    OK(MPI_Win_unlock(rank, win));
    MPI_Barrier(MPI_COMM_WORLD);
}

static long read_at(int target, int place)
{
    long value = -1, unused = 0;
    OK(MPI_Fetch_and_op(&unused, &value, MPI_LONG, target, place, MPI_NO_OP, win));
    OK(MPI_Win_flush(target, win));
    return value;
}

/* Tickets: everybody draws 20, none is drawn twice. */
static void tickets(void)
{
    enum { DRAWS = 20 };
    long one = 1, mine[DRAWS], sum = 0, total = 0;
    int rising = 1;
    reset();
    OK(MPI_Win_lock_all(0, win));
    for (int i = 0; i < DRAWS; i++) {
        OK(MPI_Fetch_and_op(&one, &mine[i], MPI_LONG, 0, 0, MPI_SUM, win));
        OK(MPI_Win_flush(0, win));
        rising = rising && (i == 0 || mine[i] > mine[i - 1]);
        sum += mine[i];
    }
    OK(MPI_Allreduce(&sum, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK(rising && total == (long)DRAWS * size * (DRAWS * size - 1) / 2 && read_at(0, 0) == DRAWS * size);
    OK(MPI_Win_unlock_all(win));
}

/* A lock of the program's own, by compare and swap, around a sum that is not atomic. */
static void own_lock(void)
{
    reset();
    OK(MPI_Win_lock_all(0, win));
    for (int round = 0; round < 5; round++) {
        long free_mark = 0, mine = rank + 1, found = -1, sum = 0;
        int good = 1;
        do {
            good = MPI_Compare_and_swap(&mine, &free_mark, &found, MPI_LONG, 0, 0, win) == MPI_SUCCESS &&
                   MPI_Win_flush(0, win) == MPI_SUCCESS && good;
        } while (found != 0);
        CHECK(good && read_at(0, 0) == mine);
        sum = read_at(0, 1) + 1;
        OK(MPI_Accumulate(&sum, 1, MPI_LONG, 0, 1, 1, MPI_LONG, MPI_REPLACE, win));
        OK(MPI_Win_flush(0, win));
        OK(MPI_Compare_and_swap(&free_mark, &mine, &found, MPI_LONG, 0, 0, win));
        OK(MPI_Win_flush(0, win));
        CHECK(found == mine);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(read_at(0, 1) == 5 * size && read_at(0, 0) == 0);
    OK(MPI_Win_unlock_all(win));
}

/* Of several places at once, with each kind of operation. */
static void fetches(void)
{
    long out[3] = {5, 6, 7}, before[3] = {-1, -1, -1};
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    reset();
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Get_accumulate(out, 3, MPI_LONG, before, 3, MPI_LONG, next, 2, 3, MPI_LONG, MPI_SUM, win));
    OK(MPI_Win_flush(next, win));
    CHECK(before[0] == 0 && before[2] == 0);
    OK(MPI_Get_accumulate(NULL, 0, MPI_LONG, before, 3, MPI_LONG, next, 2, 3, MPI_LONG, MPI_NO_OP, win));
    OK(MPI_Win_flush(next, win));
    CHECK(before[0] == 5 && before[1] == 6 && before[2] == 7);
    out[0] = 10 + rank, out[1] = 3, out[2] = 100;
    OK(MPI_Get_accumulate(out, 1, MPI_LONG, before, 1, MPI_LONG, next, 2, 1, MPI_LONG, MPI_REPLACE, win));
    OK(MPI_Get_accumulate(out + 1, 1, MPI_LONG, before + 1, 1, MPI_LONG, next, 3, 1, MPI_LONG, MPI_MIN, win));
    OK(MPI_Get_accumulate(out + 2, 1, MPI_LONG, before + 2, 1, MPI_LONG, next, 4, 1, MPI_LONG, MPI_MAX, win));
    OK(MPI_Win_flush(next, win));
    CHECK(before[0] == 5 && before[1] == 6 && before[2] == 7);
    OK(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock_all(0, win));
    CHECK(read_at(rank, 2) == 10 + last && read_at(rank, 3) == 3 && read_at(rank, 4) == 100);
    OK(MPI_Fetch_and_op(out, before, MPI_LONG, MPI_PROC_NULL, 0, MPI_SUM, win));
    OK(MPI_Win_flush_all(win));
    OK(MPI_Win_unlock_all(win));
}

/* Accumulates of one origin to one place are in their order. */
static void order(void)
{
    long value = 0;
    reset();
    OK(MPI_Win_lock_all(0, win));
    for (long i = 1; i <= 50; i++) {
        value = i;
        OK(MPI_Accumulate(&value, 1, MPI_LONG, (rank + 1) % size, 6, 1, MPI_LONG, MPI_REPLACE, win));
        OK(MPI_Win_flush_local((rank + 1) % size, win));
    }
    OK(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock_all(0, win));
    CHECK(read_at(rank, 6) == 50);
    OK(MPI_Win_unlock_all(win));
}

static void kinds(void)
{
    double *reals, add = 0.5, before = -1;
    unsigned char *bytes, bit = (unsigned char)(1u << rank % 8), old;
    MPI_Win other;
    OK(MPI_Win_allocate(2 * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &reals, &other));
    reals[0] = 1.0;
    OK(MPI_Win_fence(0, other));
    OK(MPI_Fetch_and_op(&add, &before, MPI_DOUBLE, 0, 0, MPI_SUM, other));
    OK(MPI_Win_fence(0, other));
    CHECK(before >= 1.0 && before <= 1.0 + 0.5 * (size - 1) && (rank != 0 || reals[0] == 1.0 + 0.5 * size));
    OK(MPI_Win_free(&other));
    OK(MPI_Win_allocate(4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &bytes, &other));
    bytes[1] = 0;
    OK(MPI_Win_fence(0, other));
    OK(MPI_Fetch_and_op(&bit, &old, MPI_BYTE, 0, 1, MPI_BOR, other));
    OK(MPI_Win_fence(0, other));
    CHECK(rank != 0 || bytes[1] == (size >= 8 ? 255 : (1 << size) - 1));
    OK(MPI_Win_free(&other));
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "rma_atomic");
    OK(MPI_Win_allocate(8 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    tickets();
    own_lock();
    fetches();
    order();
    kinds();
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_free(&win));
    return finish();
}
