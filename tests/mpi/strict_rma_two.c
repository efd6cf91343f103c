/* Checks windows that exist at the same time, of the world and of parts of it (MPI-3.1, section 11.2). */
#include "check.h"

/* Two halves have windows at the same time, and the world one too, with ranks in another order. */
static void halves(void)
{
    MPI_Comm half, turned;
    MPI_Win inner, outer;
    int r, n, *ours, *whole, there = -1;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half));
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned));
    OK(MPI_Comm_rank(half, &r));
    OK(MPI_Comm_size(half, &n));
    OK(MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, half, &ours, &inner));
    OK(MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, turned, &whole, &outer));
    OK(MPI_Comm_free(&half));
    OK(MPI_Comm_free(&turned));
    *ours = *whole = -1;
    OK(MPI_Win_fence(0, inner));
    OK(MPI_Win_fence(0, outer));
    OK(MPI_Put(&rank, 1, MPI_INT, (r + 1) % n, 0, 1, MPI_INT, inner));
    OK(MPI_Put(&rank, 1, MPI_INT, rank, 0, 1, MPI_INT, outer));
    OK(MPI_Win_fence(0, outer));
    OK(MPI_Win_fence(0, inner));
    /* Number r of a half is the rank 2 higher than number r + 1. */
    CHECK(*ours % 2 == rank % 2 && (r == 0 || *ours == rank + 2) && *whole == size - 1 - rank);
    OK(MPI_Get(&there, 1, MPI_INT, size - 1 - rank, 0, 1, MPI_INT, outer));
    OK(MPI_Win_fence(0, outer));
    CHECK(there == size - 1 - rank);
    OK(MPI_Win_free(&outer));
    OK(MPI_Win_free(&inner));
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "strict_rma_two");
    halves();
    return finish();
}
