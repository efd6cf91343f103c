/* All clocks show the same virtual time, and waits advance virtual time. */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

static int failures;

#define NEAR(a, b) near(__LINE__, (a), (b))

static void near(int line, double a, double b) {
    double off = a > b ? a - b : b - a;
    if (off > 0.05) {
        printf("line %d: %f is not near %f\n", line, a, b);
        failures++;
    }
}

static double seconds(struct timespec time) { return time.tv_sec + time.tv_nsec * 1e-9; }

static void *thread(void *out) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    usleep(1000);
    *(double *)out = seconds(time);
    return NULL;
}

int main(int argc, char **argv) {
    struct timespec now, start, until;
    struct timeval day;
    struct rusage usage;
    struct tms ticks;
    struct timespec bad = {0, 2000000000};
    double wtime, elsewhere = -1;
    pthread_t id;
    int i;
    MPI_Init(&argc, &argv);
    clock_gettime(CLOCK_REALTIME, &start);
    NEAR(MPI_Wtime(), 0);
    sleep(10);
    NEAR(MPI_Wtime(), 10);
    usleep(500000);
    nanosleep(&(struct timespec){0, 500000000}, NULL);
    NEAR(MPI_Wtime(), 11);
    select(0, NULL, NULL, NULL, &(struct timeval){1, 0});
    poll(NULL, 0, 1000);
    ppoll(NULL, 0, &(struct timespec){1, 0}, NULL);
    NEAR(MPI_Wtime(), 14);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 6;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    wtime = MPI_Wtime();
    NEAR(wtime, 20);
    clock_gettime(CLOCK_MONOTONIC, &now);
    NEAR(seconds(now), wtime);
    clock_gettime(CLOCK_REALTIME, &now);
    NEAR(now.tv_sec - start.tv_sec, 20);
    gettimeofday(&day, NULL);
    NEAR(day.tv_sec - start.tv_sec, 20);
    NEAR(time(NULL) - start.tv_sec, 20);
    timespec_get(&now, TIME_UTC);
    NEAR(now.tv_sec - start.tv_sec, 20);
    NEAR(times(&ticks) / (double)sysconf(_SC_CLK_TCK), 20);
    NEAR(clock() / (double)CLOCKS_PER_SEC, 0);
    getrusage(RUSAGE_SELF, &usage);
    NEAR(usage.ru_utime.tv_sec, 0);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    NEAR(seconds(now), 0);
    if (nanosleep(&bad, NULL) != -1 || errno != EINVAL) failures++;
    if (clock_gettime(12345, &now) != -1) failures++;
    sched_yield();
    /* A loop that waits for a point in time ends for any cost of code. */
    wtime = MPI_Wtime();
    while (MPI_Wtime() < wtime + 1e-5) continue;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while (seconds(now) < seconds(start) + 1e-5);
    while (clock() < 30) continue;
    for (i = 0; i < 3; i++) {
        pthread_create(&id, NULL, thread, &elsewhere);
        pthread_join(id, NULL);
        if (elsewhere < 0) failures++;
    }
    MPI_Finalize();
    printf("%d failures\n", failures);
    return failures;
}
