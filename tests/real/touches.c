/* Rank 1 receives 64 MiB into memory that was never accessed, and then again into the same memory. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stddef.h>
#include <sys/mman.h>

enum { bytes = 64 << 20 };

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *buffer = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer == MAP_FAILED)
        return 1;
    madvise(buffer, bytes, MADV_NOHUGEPAGE);
    for (int turn = 0; turn < 2; turn++) {
        if (rank == 0)
            MPI_Send(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return MPI_Finalize();
}
