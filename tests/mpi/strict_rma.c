/* Checks what the standard says of windows and some MPI gets wrong; each place names it. */
#include "check.h"

int main(int argc, char **argv)
{
    int flag = 0, *memory = NULL, bytes = 10 * (int)sizeof(int);
    void *base = NULL;
    double *real = NULL, add = 0.5, before = -1;
    MPI_Win win;
    start(&argc, &argv, "strict_rma");
    /* The memory of MPI_Win_allocate is the window's (section 11.2.2); MPICH 4.0 says another place
       where the sizes are not multiples of 64 bytes. */
    OK(MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag));
    CHECK(flag && base == (void *)memory);
    memory[1] = -1;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 1, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    CHECK(memory[1] == (rank + size - 1) % size);
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    /* MPICH 4.0 has another class. */
    FAILS(MPI_Win_lock(-12345, 0, 0, win), MPI_ERR_LOCKTYPE);
    OK(MPI_Win_free(&win));
    /* Numbers that are not whole can be added to (section 11.3.4); Open MPI 4.1 over UCX adds their bits. */
    OK(MPI_Win_allocate(8 * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &real, &win));
    real[0] = 1.0;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Fetch_and_op(&add, &before, MPI_DOUBLE, 0, 0, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    CHECK(before >= 1.0 && before <= 1.0 + 0.5 * (size - 1) && (rank != 0 || real[0] == 1.0 + 0.5 * size));
    OK(MPI_Win_free(&win));
    return finish();
}
