/* Checks error classes of one-sided calls and error handlers of windows (MPI-3.1, sections 8.3.2 and 11.6). */
#include "check.h"

static int called, seen;

static void handler(MPI_Win *win, int *code, ...)
{
    (void)win;
    called++;
    seen = *code;
}

int main(int argc, char **argv)
{
    int memory[4] = {0}, value = 1;
    MPI_Win win, other;
    MPI_Errhandler made, back;
    start(&argc, &argv, "rma_errors");
    OK(MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_get_errhandler(win, &back));
    CHECK(back == MPI_ERRORS_ARE_FATAL);
    OK(MPI_Errhandler_free(&back));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_fence(0, win));
    FAILS(MPI_Put(&value, 1, MPI_INT, size, 0, 1, MPI_INT, win), MPI_ERR_RANK);
    FAILS(MPI_Get(&value, 1, MPI_INT, -77, 0, 1, MPI_INT, win), MPI_ERR_RANK);
    FAILS(MPI_Put(&value, -1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_COUNT);
    FAILS(MPI_Put(&value, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, win), MPI_ERR_TYPE);
    FAILS(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_OP_NULL, win), MPI_ERR_OP);
    OK(MPI_Win_fence(0, win));
    FAILS(MPI_Win_unlock(rank, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win), MPI_ERR_RANK);
    CHECK(MPI_Win_lock(-12345, 0, 0, win) != MPI_SUCCESS);
    OK(MPI_Win_create_errhandler(handler, &made));
    OK(MPI_Win_set_errhandler(win, made));
    OK(MPI_Errhandler_free(&made));
    CHECK(made == MPI_ERRHANDLER_NULL);
    OK(MPI_Win_fence(0, win));
    int code = MPI_Put(&value, 1, MPI_INT, size, 0, 1, MPI_INT, win);
    CHECK(called == 1 && class_of(seen) == MPI_ERR_RANK && class_of(code) == MPI_ERR_RANK);
    OK(MPI_Win_call_errhandler(win, MPI_ERR_OTHER));
    CHECK(called == 2 && seen == MPI_ERR_OTHER);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_free(&win));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_Win_create(memory, -1, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &other), MPI_ERR_SIZE);
    FAILS(MPI_Win_create(memory, sizeof memory, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &other), MPI_ERR_DISP);
    return finish();
}
