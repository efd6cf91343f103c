/* Ranks 1 and 2 execute one-sided operations on the memory of rank 0. The argument selects the operations. */
#include <mpi.h>
#include <string.h>

static MPI_Win window;
static int rank, value[4];

static void put(int at) { MPI_Put(value, 2, MPI_INT, 0, at, 2, MPI_INT, window); }

int main(int argc, char **argv) {
    int *memory;
    const char *mode = argv[1];
    MPI_Datatype strided;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Type_vector(4, 1, 2, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    int is_locked = !strncmp(mode, "lock", 4);
    if (!is_locked) MPI_Win_fence(0, window);
    if (rank && !strcmp(mode, "fence")) put(rank);
    if (rank == 1 && !strcmp(mode, "fence_get")) {
        MPI_Get(value, 1, MPI_INT, 0, 1, 1, MPI_INT, window);
        put(0);
    }
    if (rank && !strcmp(mode, "apart")) put(2 * rank);
    if (rank && !strcmp(mode, "strided")) MPI_Put(value, 4, MPI_INT, 0, rank, 1, strided, window);
    if (rank && !strcmp(mode, "sums")) MPI_Accumulate(value, 2, MPI_INT, 0, 0, 2, MPI_INT, MPI_SUM, window);
    if (!strcmp(mode, "turns")) {
        if (rank == 1) put(0);
        MPI_Win_fence(0, window);
        if (rank == 2) put(0);
    }
    if (rank && !strcmp(mode, "lock_exclusive")) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        put(0);
        MPI_Win_unlock(0, window);
    }
    if (!strcmp(mode, "lock_get") && rank == 1) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
        put(0);
        MPI_Get(value + 2, 1, MPI_INT, 0, 1, 1, MPI_INT, window);
        MPI_Win_unlock(0, window);
    }
    if ((!strcmp(mode, "lock_put") || !strcmp(mode, "lock_waited")) && rank == 1) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
        MPI_Get(value + 2, 1, MPI_INT, 0, 1, 1, MPI_INT, window);
        if (!strcmp(mode, "lock_waited")) MPI_Win_flush_local(0, window);
        put(0);
        MPI_Win_unlock(0, window);
    }
    if (!strcmp(mode, "lock_request") && rank == 1) {
        MPI_Request request;
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
        MPI_Rget(value + 2, 1, MPI_INT, 0, 1, 1, MPI_INT, window, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        put(0);
        MPI_Win_unlock(0, window);
    }
    if (!strcmp(mode, "lock_flush") && rank == 1) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
        put(0);
        MPI_Win_flush(0, window);
        put(0);
        MPI_Win_unlock(0, window);
    }
    if (!is_locked) MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    MPI_Win_free(&window);
    MPI_Type_free(&strided);
    MPI_Finalize();
    return 0;
}
