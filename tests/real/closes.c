/* Closes all file descriptors from 3 on, in the way that the argument selects, and continues. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, value, sum, own = open("/dev/null", O_RDONLY);
    if (!strcmp(argv[1], "before")) for (int i = 3; i < 256; i++) close(i);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!strcmp(argv[1], "loop")) for (int i = 3; i < 256; i++) close(i);
    if (!strcmp(argv[1], "closefrom")) closefrom(3);
    if (!strcmp(argv[1], "close_range")) close_range(3, ~0u, 0);
    if (!strcmp(argv[1], "syscall")) for (int i = 3; i < 256; i++) syscall(SYS_close, i);
    if (!strcmp(argv[1], "dup2")) for (int i = 3; i < 256; i++) if (i != own) dup2(own, i);
    if (!strcmp(argv[1], "dup2")) close(own);
    int again = close(own) == -1 && errno == EBADF;
    value = rank;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%s: sum %d, own closed %d\n", argv[1], sum, again);
    MPI_Finalize();
    return 0;
}
