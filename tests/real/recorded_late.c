/* A thread records its last call while the main thread is in MPI_Finalize, because the clock that the recording library
 * reads after the call is slow. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static __thread int is_slow;
static int rank, number, provided;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (is_slow && clock == CLOCK_MONOTONIC)
        usleep(200000);
    return (int)syscall(SYS_clock_gettime, clock, now);
}

static void *send_one(void *unused)
{
    is_slow = 1;
    MPI_Send(&rank, 1, MPI_INT, !rank, 3, MPI_COMM_WORLD);
    is_slow = 0;
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pthread_create(&thread, NULL, send_one, NULL);
    MPI_Recv(&number, 1, MPI_INT, !rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
