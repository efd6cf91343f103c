/* Windows that are larger than their memory. Only 4096 of 8192 bytes are accessible. */
#include <mpi.h>
#include <string.h>
#include <sys/mman.h>

int main(int argc, char **argv) {
    int rank;
    char data[64] = {0};
    MPI_Win window;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *memory = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(memory + 4096, 4096, PROT_NONE);
    MPI_Win_create(memory, 8192, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    if (rank == 0 && !strcmp(argv[1], "put")) MPI_Put(data, 64, MPI_CHAR, 1, 4100, 64, MPI_CHAR, window);
    if (rank == 0 && !strcmp(argv[1], "get")) MPI_Get(data, 64, MPI_CHAR, 1, 4100, 64, MPI_CHAR, window);
    if (rank == 0 && !strcmp(argv[1], "sum"))
        MPI_Accumulate(data, 16, MPI_INT, 1, 4100, 16, MPI_INT, MPI_SUM, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
