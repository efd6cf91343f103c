/* Checks that one-sided calls in the wrong place, or on memory outside a window, are found out (MPI-3.1, section 11.6). */
#include "check.h"

#define SYNC(call) FAILS(call, MPI_ERR_RMA_SYNC)
#define RANGE(call) FAILS(call, MPI_ERR_RMA_RANGE)

static int memory[8], value = 5, back[4] = {-1, -1, -1, -1};

static void out_of_order(MPI_Win win)
{
    MPI_Group all;
    int flag;
    OK(MPI_Win_get_group(win, &all));
    SYNC(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    SYNC(MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    SYNC(MPI_Win_complete(win));
    SYNC(MPI_Win_wait(win));
    SYNC(MPI_Win_test(win, &flag));
    SYNC(MPI_Win_unlock(rank, win));
    SYNC(MPI_Win_unlock_all(win));
    SYNC(MPI_Win_flush(rank, win));
    SYNC(MPI_Win_flush_local_all(win));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    SYNC(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    SYNC(MPI_Win_lock_all(0, win));
    SYNC(MPI_Win_start(all, 0, win));
    SYNC(MPI_Win_fence(0, win));
    SYNC(MPI_Win_unlock_all(win));
    if (size > 1) {
        SYNC(MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win));
        SYNC(MPI_Win_flush((rank + 1) % size, win));
    }
    SYNC(MPI_Win_free(&win));
    OK(MPI_Win_unlock(rank, win));
    OK(MPI_Win_lock_all(0, win));
    SYNC(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    SYNC(MPI_Win_unlock(rank, win));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_post(all, MPI_MODE_NOCHECK, win));
    SYNC(MPI_Win_post(all, MPI_MODE_NOCHECK, win));
    SYNC(MPI_Put(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, win));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_start(all, MPI_MODE_NOCHECK, win));
    SYNC(MPI_Win_lock_all(0, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    SYNC(MPI_Put(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, win));
    OK(MPI_Group_free(&all));
    FAILS(MPI_Win_fence(1 << 20, win), MPI_ERR_ASSERT);
    FAILS(MPI_Win_lock_all(MPI_MODE_NOPUT, win), MPI_ERR_ASSERT);
    FAILS(MPI_Win_attach(win, memory, 4), MPI_ERR_RMA_FLAVOR);
}

/* Where all windows have one size, the call itself tells. */
static void outside(MPI_Win win)
{
    int next = (rank + 1) % size;
    OK(MPI_Win_fence(0, win));
    RANGE(MPI_Put(&value, 1, MPI_INT, next, 8, 1, MPI_INT, win));
    RANGE(MPI_Put(&value, 1, MPI_INT, next, -1, 1, MPI_INT, win));
    RANGE(MPI_Get(back, 4, MPI_INT, next, 5, 4, MPI_INT, win));
    OK(MPI_Get(back, 4, MPI_INT, next, 4, 4, MPI_INT, win));
    OK(MPI_Put(&value, 0, MPI_INT, next, 8, 0, MPI_INT, win));
    FAILS(MPI_Put(back, 4, MPI_INT, next, 0, 3, MPI_INT, win), MPI_ERR_TRUNCATE);
    FAILS(MPI_Accumulate(&value, 1, MPI_INT, next, 0, 1, MPI_INT, MPI_NO_OP, win), MPI_ERR_OP);
    FAILS(MPI_Accumulate(&value, 1, MPI_INT, next, 0, 1, MPI_INT, MPI_MAXLOC, win), MPI_ERR_OP);
    FAILS(MPI_Compare_and_swap(&value, &value, back, MPI_FLOAT, next, 0, win), MPI_ERR_TYPE);
    OK(MPI_Win_fence(0, win));
}

/* Where sizes differ, only the target can tell: a call that completes the operation. */
static void outside_there(void)
{
    MPI_Win win;
    MPI_Request request;
    int next = (rank + 1) % size;
    MPI_Aint room = 4 + next % 2, mine = 4 + rank % 2;
    OK(MPI_Win_create(memory, mine * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Put(&value, 1, MPI_INT, next, room - 1, 1, MPI_INT, win));
    OK(MPI_Win_flush(next, win));
    if (size > 1) {
        OK(MPI_Put(&value, 1, MPI_INT, next, room, 1, MPI_INT, win));
        RANGE(MPI_Win_flush(next, win));
        OK(MPI_Win_flush(next, win));
        OK(MPI_Get(back, 1, MPI_INT, next, room, 1, MPI_INT, win));
        RANGE(MPI_Win_flush_all(win));
        OK(MPI_Rget(back, 1, MPI_INT, next, room, 1, MPI_INT, win, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Accumulate(&value, 1, MPI_INT, next, -1, 1, MPI_INT, MPI_SUM, win));
        RANGE(MPI_Win_unlock_all(win));
    } else {
        OK(MPI_Win_unlock_all(win));
    }
    OK(MPI_Win_free(&win));
}

static void not_attached(void)
{
    MPI_Win win;
    MPI_Aint here;
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Get_address(memory, &here));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
    OK(MPI_Put(&value, 1, MPI_INT, rank, here, 1, MPI_INT, win));
    RANGE(MPI_Win_flush(rank, win));
    OK(MPI_Win_attach(win, memory, 4 * sizeof(int)));
    FAILS(MPI_Win_attach(win, memory + 3, sizeof(int)), MPI_ERR_RMA_ATTACH);
    OK(MPI_Put(&value, 1, MPI_INT, rank, here + 12, 1, MPI_INT, win));
    OK(MPI_Win_flush(rank, win));
    CHECK(memory[3] == value);
    OK(MPI_Put(&value, 1, MPI_INT, rank, here + 13, 1, MPI_INT, win));
    RANGE(MPI_Win_unlock(rank, win));
    OK(MPI_Win_detach(win, memory));
    FAILS(MPI_Win_detach(win, memory), MPI_ERR_BASE);
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    MPI_Win win;
    start(&argc, &argv, "strict_rma_wrong");
    OK(MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    out_of_order(win);
    outside(win);
    OK(MPI_Win_free(&win));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_Win_free(&win), MPI_ERR_WIN);
    FAILS(MPI_Win_fence(0, MPI_WIN_NULL), MPI_ERR_WIN);
    outside_there();
    not_attached();
    return finish();
}
