/* State of a process that ranks as processes have and ranks as fibers lack. Prints the same output under any MPI. The
   first argument is a directory. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <mqueue.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
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

/* The timer repeats, because on a busy host the first signal may arrive before the wait. */
static void alarms(void) {
    static const struct itimerval often = {{0, 100000}, {0, 100000}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, take);
    got = count = 0;
    setitimer(ITIMER_REAL, &often, NULL);
    while (count < 3) pause();
    setitimer(ITIMER_REAL, &never, NULL);
    alarm(10);
    CHECK(alarm(0) >= 9 && got == SIGALRM);
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
    pid_t started[3], child;
    int i, k, own, sum = 0, status;
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
    TURN;
}

static void zones(void) {
    time_t begin = 86400;
    struct tm *local, mine;
    char text[32];
    TURN;
    setenv("TZ", rank % 2 ? "ABC+5" : "DEF-3", 1);
    tzset();
    TURN;
    CHECK(timezone == (rank % 2 ? 18000 : -10800) && !strcmp(tzname[0], rank % 2 ? "ABC" : "DEF"));
    local = localtime(&begin);
    TURN;
    CHECK(local->tm_hour == (rank % 2 ? 19 : 3));
    CHECK(strftime(text, sizeof text, "%H %Z", local) == 6 && !strcmp(text, rank % 2 ? "19 ABC" : "03 DEF"));
    CHECK(mktime(local) == begin);
    /* The time zone that localtime_r uses changes only with tzset. */
    setenv("TZ", "UTC", 1);
    CHECK(localtime_r(&begin, &mine)->tm_hour == (rank % 2 ? 19 : 3));
    TURN;
    tzset();
    CHECK(timezone == 0 && localtime_r(&begin, &mine)->tm_hour == 0);
    unsetenv("TZ");
    TURN;
}

static void limits(void) {
    struct rlimit limit;
    char name[16] = "", expected[16];
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = 64 + rank;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    sprintf(expected, "rank %d", rank);
    prctl(PR_SET_NAME, expected);
    TURN;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == 64u + rank);
    CHECK(sysconf(_SC_OPEN_MAX) == 64 + rank && getdtablesize() == 64 + rank);
    limit.rlim_cur = limit.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    prctl(PR_GET_NAME, name);
    CHECK(!strcmp(name, expected));
    TURN;
}

static void locks(const char *directory) {
    char path[4200];
    struct flock wanted;
    int file;
    sprintf(path, "%s/lock", directory);
    file = open(path, O_RDWR | O_CREAT, 0666);
    if (rank == 0) CHECK(ftruncate(file, 0) == 0);
    TURN;
    if (rank == 0) CHECK(lockf(file, F_TLOCK, 0) == 0);
    TURN;
    if (rank != 0) CHECK(lockf(file, F_TLOCK, 0) == -1 && (errno == EAGAIN || errno == EACCES));
    memset(&wanted, 0, sizeof wanted);
    wanted.l_type = F_WRLCK;
    CHECK(fcntl(file, F_GETLK, &wanted) == 0 && (wanted.l_type == F_UNLCK) == (rank == 0));
    TURN;
    if (rank == 0) CHECK(lockf(file, F_ULOCK, 0) == 0);
    TURN;
}

static void queues(void) {
    struct mq_attr most = {.mq_maxmsg = 4, .mq_msgsize = 8};
    struct sembuf down = {0, -1, IPC_NOWAIT}, up = {0, 1, 0};
    struct { long kind; char text[8]; } message = {1, "text"};
    char name[64], text[8] = "";
    int set = semget(IPC_PRIVATE, 1, 0600), queue = msgget(IPC_PRIVATE, 0600);
    mqd_t named;
    sprintf(name, "/processes.%d", (int)getpid());
    named = mq_open(name, O_RDWR | O_CREAT, 0600, &most);
    if (named != (mqd_t)-1) {
        CHECK(mq_send(named, "text", 5, 0) == 0);
        TURN;
        CHECK(mq_receive(named, text, sizeof text, NULL) == 5 && !strcmp(text, "text"));
        mq_unlink(name);
    } else TURN;
    CHECK(semop(set, &down, 1) == -1 && errno == EAGAIN && semop(set, &up, 1) == 0 && semop(set, &down, 1) == 0);
    CHECK(msgsnd(queue, &message, 8, 0) == 0);
    message.text[0] = 0;
    TURN;
    CHECK(msgrcv(queue, &message, 8, 1, 0) == 8 && !strcmp(message.text, "text"));
    semctl(set, 0, IPC_RMID), msgctl(queue, IPC_RMID, NULL);
}

static void priority(void) {
    int first = nice(0);
    TURN;
    CHECK(nice(rank) == first + rank && getpriority(PRIO_PROCESS, getpid()) == first + rank);
    CHECK(setuid(getuid()) == 0 && setgid(getgid()) == 0);
    TURN;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    held_back();
    alarms();
    children();
    zones();
    limits();
    locks(argv[1]);
    queues();
    priority();
    printf("rank %d: %d failures\n", rank, failures);
    MPI_Finalize();
    return failures != 0;
}
