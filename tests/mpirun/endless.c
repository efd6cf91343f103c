/* Every rank prints the process ID of its mcpsim process. Then the ranks exchange messages forever. */
#include <mpi.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, size, token = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* Replaced functions such as getpid would return the simulated process ID of the rank. */
    long process;
    __asm__ volatile("syscall" : "=a"(process) : "a"((long)SYS_getpid) : "rcx", "r11", "memory");
    printf("%d %ld\n", rank, process);
    fflush(stdout);
    for (;;) {
        MPI_Sendrecv_replace(&token, 1, MPI_INT, (rank + 1) % size, 0, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
        usleep(10);
    }
}
