/* Waits with a deadline end by virtual time, or because a thread of the program ends them. */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
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

/* Whether about so much time has passed since `start`. */
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

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    sem_init(&semaphore, 0, 0);
    sleep(3);
    double start = MPI_Wtime();
    struct timespec until = in(CLOCK_REALTIME, 0.02);
    pthread_mutex_lock(&mutex);
    while (!told && pthread_cond_timedwait(&condition, &mutex, &until) != ETIMEDOUT) continue;
    CHECK(passed(start, 0.02));
    /* By the clock alone. */
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
    /* Somebody comes. */
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
