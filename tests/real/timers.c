/* A timer file of a rank expires. A rank waits for its threads at an eventfd while other ranks run. */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static int rank;

#define CHECK(what) \
    if (!(what)) printf("rank %d, line %d: %s\n", rank, __LINE__, #what), fflush(stdout)

/* Returns true if about `seconds` seconds have passed since `start`. */
static int passed(double start, double seconds) {
    double now = MPI_Wtime() - start;
    if (now < seconds * 0.99 || now > seconds + 5) printf("%f s in place of %f s\n", now, seconds);
    return now >= seconds * 0.99 && now <= seconds + 5;
}

static struct itimerspec every(long first_ms, long ms) {
    return (struct itimerspec){{0, ms * 1000000}, {0, first_ms * 1000000}};
}

static void by_file(void) {
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec set = every(20, 0);
    uint64_t times = 0;
    double start = MPI_Wtime();
    CHECK(timerfd_settime(timer, 0, &set, NULL) == 0);
    CHECK(read(timer, &times, sizeof times) == sizeof times && times == 1 && passed(start, 0.02));
    close(timer);
}

static int counter;

static void *adder(void *nothing) {
    usleep(3000);
    CHECK(eventfd_write(counter, 5) == 0);
    return nothing;
}

static void by_event(void) {
    pthread_t thread;
    uint64_t sum = 0;
    counter = eventfd(0, 0);
    CHECK(pthread_create(&thread, NULL, adder, NULL) == 0);
    CHECK(read(counter, &sum, sizeof sum) == sizeof sum && sum == 5);
    pthread_join(thread, NULL);
    CHECK(eventfd_write(counter, 2) == 0 && eventfd_write(counter, 1) == 0);
    CHECK(eventfd_read(counter, &sum) == 0 && sum == 3);
    close(counter);
    counter = eventfd(2, EFD_SEMAPHORE | EFD_NONBLOCK);
    CHECK(eventfd_read(counter, &sum) == 0 && sum == 1 && eventfd_read(counter, &sum) == 0 && sum == 1);
    CHECK(eventfd_read(counter, &sum) == -1 && errno == EAGAIN);
    close(counter);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    by_file();
    MPI_Barrier(MPI_COMM_WORLD);
    by_event();
    int sum = 0, one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%d ranks\n", sum);
    MPI_Finalize();
    return 0;
}
