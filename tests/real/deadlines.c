/* Waits with a deadline end at a virtual time, or because a thread of the program ends them. */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int failures, told;

#define CHECK(what) \
    if (!(what)) printf("line %d: %s\n", __LINE__, #what), failures++

static struct timespec in(clockid_t clock, double seconds) {
    struct timespec time;
    clock_gettime(clock, &time);
    long ns = time.tv_nsec + (long)(seconds * 1e9);
    return (struct timespec){time.tv_sec + ns / 1000000000, ns % 1000000000};
}

/* Returns true if about `seconds` seconds have passed since `start`. */
static int passed(double start, double seconds) {
    double now = MPI_Wtime() - start;
    if (now < seconds * 0.99 || now > seconds + 5) printf("%f s in place of %f s\n", now, seconds);
    return now >= seconds * 0.99 && now <= seconds + 5;
}

static void *teller(void *nothing) {
    usleep(2000);
    pthread_mutex_lock(&mutex);
    told = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    sem_post(&semaphore);
    return nothing;
}

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static mtx_t mtx;
static cnd_t cnd;
static sem_t held, enough;

static void *holder(void *nothing) {
    pthread_rwlock_wrlock(&rwlock);
    mtx_lock(&mtx);
    sem_post(&held);
    while (sem_wait(&enough)) continue;
    mtx_unlock(&mtx);
    pthread_rwlock_unlock(&rwlock);
    return nothing;
}

/* A lock that another thread holds is awaited until the deadline. A lock that is released earlier is acquired. */
static void locks(void) {
    pthread_t id;
    mtx_init(&mtx, mtx_timed);
    cnd_init(&cnd);
    sem_init(&held, 0, 0);
    sem_init(&enough, 0, 0);
    pthread_create(&id, NULL, holder, NULL);
    while (sem_wait(&held)) continue;
    for (int write = 0; write < 2; write++) {
        double start = MPI_Wtime();
        struct timespec until = in(CLOCK_REALTIME, 0.02);
        CHECK((write ? pthread_rwlock_timedwrlock : pthread_rwlock_timedrdlock)(&rwlock, &until) == ETIMEDOUT);
        CHECK(passed(start, 0.02));
        start = MPI_Wtime();
        until = in(CLOCK_MONOTONIC, 0.02);
        CHECK((write ? pthread_rwlock_clockwrlock : pthread_rwlock_clockrdlock)(&rwlock, CLOCK_MONOTONIC, &until) ==
              ETIMEDOUT);
        CHECK(passed(start, 0.02));
    }
    double start = MPI_Wtime();
    struct timespec until = in(CLOCK_REALTIME, 0.02);
    CHECK(mtx_timedlock(&mtx, &until) == thrd_timedout);
    CHECK(passed(start, 0.02));
    start = MPI_Wtime();
    until = in(CLOCK_MONOTONIC, 0.02);
    CHECK(sem_clockwait(&held, CLOCK_MONOTONIC, &until) == -1 && errno == ETIMEDOUT);
    CHECK(passed(start, 0.02));
    sem_post(&enough);
    pthread_join(id, NULL);
    until = in(CLOCK_REALTIME, 60);
    CHECK(mtx_timedlock(&mtx, &until) == thrd_success);
    start = MPI_Wtime();
    until = in(CLOCK_REALTIME, 0.02);
    CHECK(cnd_timedwait(&cnd, &mtx, &until) == thrd_timedout);
    CHECK(passed(start, 0.02));
    mtx_unlock(&mtx);
    until = in(CLOCK_MONOTONIC, 60);
    CHECK(pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &until) == 0);
    pthread_rwlock_unlock(&rwlock);
    CHECK(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &until) == 0);
    pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    sem_init(&semaphore, 0, 0);
    sleep(3);
    double start = MPI_Wtime();
    struct timespec until = in(CLOCK_REALTIME, 0.02);
    pthread_mutex_lock(&mutex);
    while (!told && pthread_cond_timedwait(&condition, &mutex, &until) != ETIMEDOUT) continue;
    CHECK(passed(start, 0.02));
    /* The wait ends at its deadline. */
    start = MPI_Wtime();
    until = in(CLOCK_MONOTONIC, 0.02);
    struct timespec now;
    int looks = 0;
    do {
        pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &until);
        clock_gettime(CLOCK_MONOTONIC, &now);
        looks++;
    } while (now.tv_sec < until.tv_sec || (now.tv_sec == until.tv_sec && now.tv_nsec < until.tv_nsec));
    CHECK(looks <= 3);
    CHECK(passed(start, 0.02));
    start = MPI_Wtime();
    until = in(CLOCK_REALTIME, 0.02);
    CHECK(sem_timedwait(&semaphore, &until) == -1 && errno == ETIMEDOUT);
    CHECK(pthread_mutex_timedlock(&mutex, &until) == ETIMEDOUT);
    CHECK(passed(start, 0.02));
    pthread_mutex_unlock(&mutex);
    locks();
    /* Another thread ends the wait. */
    pthread_t id;
    pthread_create(&id, NULL, teller, NULL);
    start = MPI_Wtime();
    until = in(CLOCK_REALTIME, 60);
    int result = 0;
    pthread_mutex_lock(&mutex);
    while (!told && result == 0) result = pthread_cond_timedwait(&condition, &mutex, &until);
    pthread_mutex_unlock(&mutex);
    CHECK(result == 0 && told);
    CHECK(sem_timedwait(&semaphore, &until) == 0);
    CHECK(MPI_Wtime() - start < 30);
    pthread_join(id, NULL);
    until.tv_nsec = -1;
    CHECK(sem_timedwait(&semaphore, &until) == -1 && errno == EINVAL);
    MPI_Finalize();
    return failures;
}
