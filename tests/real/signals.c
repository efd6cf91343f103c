/* Signals that a rank sends to itself, blocks and awaits, alarms, and ends of child processes, while ranks run
   alternately. Prints the same output under any MPI. */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static int rank, failures;
static volatile int got, count, ended;
static sigjmp_buf back;
static const struct itimerval often = {{0, 100000}, {0, 100000}}, never = {{0, 0}, {0, 0}};

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

static void end(int number) {
    ended = number;
}

static void jump(int number) {
    siglongjmp(back, number);
}

static void held_back(void) {
    sigset_t set, pending;
    siginfo_t told;
    struct timespec shortly = {0, 200000000};
    int number;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    signal(SIGUSR1, take);
    sigprocmask(SIG_BLOCK, &set, NULL);
    /* The program does not use kill here, because another thread of the process may receive the signal. */
    raise(SIGUSR1);
    raise(SIGUSR1);
    TURN;
    CHECK(!got && sigpending(&pending) == 0 && sigismember(&pending, SIGUSR1));
    if (rank % 2) {
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        CHECK(got == SIGUSR1 && count == 1);
        sigprocmask(SIG_BLOCK, &set, NULL);
    } else {
        CHECK(sigwait(&set, &number) == 0 && number == SIGUSR1 && !got);
    }
    TURN;
    CHECK(sigtimedwait(&set, NULL, &shortly) == -1 && errno == EAGAIN);
    pthread_kill(pthread_self(), SIGUSR1);
    CHECK(sigwaitinfo(&set, &told) == SIGUSR1 && told.si_signo == SIGUSR1 && told.si_pid == getpid());
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    signal(SIGUSR2, jump);
    number = sigsetjmp(back, 1);
    if (!number) raise(SIGUSR2);
    CHECK(number == SIGUSR2);
}

static void alarms(void) {
    unsigned left;
    signal(SIGALRM, take);
    got = count = 0;
    alarm(1);
    /* The remaining time is rounded up or down. */
    left = sleep(3);
    CHECK((left == 1 || left == 2) && got == SIGALRM);
    /* The timer repeats, because on a busy host the first signal may arrive before the wait. */
    setitimer(ITIMER_REAL, &often, NULL);
    CHECK(pause() == -1 && errno == EINTR && count >= 2);
    alarm(10);
    CHECK(alarm(0) >= 9);
    setitimer(ITIMER_REAL, &often, NULL);
    while (count < 9) pause();
    setitimer(ITIMER_REAL, &never, NULL);
    TURN;
}

static pid_t start(const char *command) {
    char *words[] = {"sh", "-c", (char *)command, NULL};
    pid_t child = 0;
    CHECK(posix_spawnp(&child, "sh", NULL, NULL, words, environ) == 0);
    return child;
}

static void children(void) {
    static const char *commands[] = {"exit 3", "exit 4", "exit 5"};
    sigset_t set, before;
    pid_t started[3], child;
    int i, k, own, sum = 0, polls = 0, status;
    for (i = 0; i < 3; i++) started[i] = start(commands[i]);
    TURN;
    for (i = 0; i < 3; i++) {
        child = wait(&status);
        for (own = k = 0; k < 3; k++) own += child == started[k];
        CHECK(own == 1);
        sum += WEXITSTATUS(status);
    }
    CHECK(sum == 12);
    CHECK(waitpid(-1, &status, WNOHANG) == -1 && errno == ECHILD);
    child = start("kill -9 $$");
    TURN;
    CHECK(waitpid(-1, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    /* The virtual time of the rank advances while a child process runs. */
    child = start("sleep 0.2");
    while (waitpid(child, &status, WNOHANG) == 0 && polls++ < 999) usleep(20000);
    CHECK(polls < 1000);
    signal(SIGCHLD, end);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, &before);
    child = start("sleep 0.1");
    /* The signal repeats, because another thread of the process may receive it. */
    setitimer(ITIMER_REAL, &often, NULL);
    while (!ended) sigsuspend(&before);
    setitimer(ITIMER_REAL, &never, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    CHECK(wait(&status) == child && status == 0);
    /* The end of a child interrupts a sleep. */
    ended = 0;
    child = start("sleep 0.1");
    while (!ended) usleep(1000);
    CHECK(wait(&status) == child && status == 0);
    TURN;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    held_back();
    alarms();
    children();
    printf("rank %d: %d failures\n", rank, failures);
    MPI_Finalize();
    return failures != 0;
}
