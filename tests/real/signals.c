/* Signals that a rank sends to itself and blocks, while ranks run alternately. Prints the same output under any MPI. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

static int rank, failures;
static volatile int got, count;
static sigjmp_buf back;

#define TURN MPI_Barrier(MPI_COMM_WORLD)
#define CHECK(what)                                                                                                   \
    if (!(what)) {                                                                                                    \
        printf("rank %d, line %d: %s\n", rank, __LINE__, #what);                                                      \
        failures++;                                                                                                   \
    }

static void take(int number) {
    got = number;
    count++;
}

static void jump(int number) {
    siglongjmp(back, number);
}

static void held_back(void) {
    sigset_t set;
    int number;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    signal(SIGUSR1, take);
    sigprocmask(SIG_BLOCK, &set, NULL);
    /* The program does not use kill here, because another thread of the process may receive the signal. */
    raise(SIGUSR1);
    raise(SIGUSR1);
    TURN;
    CHECK(!got);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    CHECK(got == SIGUSR1 && count == 1);
    TURN;
    pthread_kill(pthread_self(), SIGUSR1);
    CHECK(count == 2);
    signal(SIGUSR2, jump);
    number = sigsetjmp(back, 1);
    if (!number) raise(SIGUSR2);
    CHECK(number == SIGUSR2);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    held_back();
    printf("rank %d: %d failures\n", rank, failures);
    MPI_Finalize();
    return failures != 0;
}
