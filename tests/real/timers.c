/* Timers of a rank expire in its virtual time. A rank waits for its threads at an eventfd while other ranks run. */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t rings, value;
static int rank;

#define CHECK(what) \
    if (!(what)) printf("rank %d, line %d: %s\n", rank, __LINE__, #what), fflush(stdout)

static void ring(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    rings++;
    value = info->si_value.sival_int;
}

/* Returns true if about `seconds` seconds have passed since `start`. */
static int passed(double start, double seconds) {
    double now = MPI_Wtime() - start;
    if (now < seconds * 0.99 || now > seconds + 5) printf("%f s in place of %f s\n", now, seconds);
    return now >= seconds * 0.99 && now <= seconds + 5;
}

static struct itimerspec every(long first_ms, long ms) {
    return (struct itimerspec){{0, ms * 1000000}, {0, first_ms * 1000000}};
}

static void by_signal(void) {
    struct sigaction action = {.sa_sigaction = ring, .sa_flags = SA_SIGINFO};
    sigaction(SIGRTMIN + 1, &action, NULL);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 1};
    event.sigev_value.sival_int = 40 + rank;
    timer_t timer, other;
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    double start = MPI_Wtime();
    struct itimerspec set = every(30, 20), left;
    CHECK(timer_settime(timer, 0, &set, NULL) == 0);
    CHECK(timer_gettime(timer, &left) == 0 && left.it_interval.tv_nsec == 20000000);
    CHECK(left.it_value.tv_nsec > 0 && left.it_value.tv_nsec <= 30000000);
    /* A timer ends a longer sleep early, as it ends a pause. */
    CHECK(usleep(900000) == -1 && errno == EINTR && rings == 1 && value == 40 + rank && passed(start, 0.03));
    while (rings < 4) pause();
    CHECK(passed(start, 0.09));
    /* Of two timers, the one with the earlier time expires first. */
    event.sigev_value.sival_int = 7;
    CHECK(timer_create(CLOCK_REALTIME, &event, &other) == 0);
    struct itimerspec once = every(1, 0), never = every(0, 0);
    CHECK(timer_settime(other, 0, &once, NULL) == 0);
    int before = rings;
    while (rings == before) pause();
    CHECK(timer_settime(timer, 0, &never, &left) == 0 && left.it_interval.tv_nsec == 20000000);
    CHECK(timer_delete(other) == 0 && timer_delete(timer) == 0);
    before = rings;
    CHECK(usleep(60000) == 0 && rings == before);
    CHECK(timer_create(12345, NULL, &timer) == -1 && errno == EINVAL);
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
    by_signal();
    by_file();
    MPI_Barrier(MPI_COMM_WORLD);
    by_event();
    int sum = 0, one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%d ranks\n", sum);
    MPI_Finalize();
    return 0;
}
