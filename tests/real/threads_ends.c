/* Ends of threads, joins with a time limit, spin locks and small stacks. The argument names the case. All times are stated,
   in milliseconds. */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern void mcpsim_compute(double seconds) __attribute__((weak));

static pthread_spinlock_t spin;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static double start, ends[4];

static void compute(double ms)
{
    if (mcpsim_compute)
        mcpsim_compute(ms / 1000);
}

static double now(void)
{
    return (MPI_Wtime() - start) * 1000;
}

static void *computes(void *ms)
{
    compute((long)ms);
    return ms;
}

/* Has the lock for 2 ms. */
static void *spins(void *index)
{
    pthread_spin_lock(&spin);
    compute(2);
    pthread_spin_unlock(&spin);
    ends[(long)index] = now();
    return NULL;
}

/* Has the lock for 1 ms at the end of a thread. */
static void destroy(void *unused)
{
    pthread_mutex_lock(&mutex);
    compute(1);
    pthread_mutex_unlock(&mutex);
}

static void *has_value(void *value)
{
    pthread_setspecific(key, value);
    compute(1);
    return value;
}

/* Returns the time of a clock in `ms` milliseconds. */
static struct timespec in(clockid_t clock, long ms)
{
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_nsec += ms * 1000000;
    return time;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    pthread_t threads[3];
    pthread_attr_t attributes;
    struct timespec limit;
    void *result = NULL;
    double load[3] = {1, 1, 1};
    int i, provided, codes[2], count = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    start = MPI_Wtime();
    if (!strcmp(name, "try")) {
        pthread_create(&threads[0], NULL, computes, (void *)2L);
        codes[0] = pthread_tryjoin_np(threads[0], &result) == EBUSY && !result;
        while (pthread_tryjoin_np(threads[0], &result) == EBUSY)
            count++;
        printf("try: %d %ld %d %.2f\n", codes[0], (long)result, count > 19000, now());
    } else if (!strcmp(name, "limit")) {
        pthread_create(&threads[0], NULL, computes, (void *)3L);
        limit = in(CLOCK_REALTIME, 1);
        codes[0] = pthread_timedjoin_np(threads[0], &result, &limit);
        ends[0] = now();
        limit = in(CLOCK_MONOTONIC, 1);
        codes[1] = pthread_clockjoin_np(threads[0], &result, CLOCK_MONOTONIC, &limit);
        ends[1] = now();
        limit = in(CLOCK_REALTIME, 5);
        i = pthread_timedjoin_np(threads[0], &result, &limit);
        printf("limit: %d %d %.2f %.2f\n", codes[0] == ETIMEDOUT, codes[1] == ETIMEDOUT, ends[0], ends[1]);
        printf("joined: %d %ld %.2f\n", i, (long)result, now());
    } else if (!strcmp(name, "spin")) {
        pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
        for (i = 0; i < 3; i++)
            pthread_create(&threads[i], NULL, spins, (void *)(long)i);
        compute(5);
        while (pthread_spin_trylock(&spin) == EBUSY)
            count++;
        ends[3] = now();
        for (i = 0; i < 3; i++)
            pthread_join(threads[i], NULL);
        printf("spin: %.2f %.2f %.2f %.2f %d\n", ends[0], ends[1], ends[2], ends[3], count > 9000);
    } else if (!strcmp(name, "stack")) {
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 16384);
        codes[0] = pthread_create(&threads[0], &attributes, computes, (void *)1L);
        pthread_join(threads[0], &result);
        printf("stack: %d %ld %.2f\n", codes[0], (long)result, now());
    } else if (!strcmp(name, "destructors")) {
        pthread_key_create(&key, destroy);
        for (i = 0; i < 3; i++)
            pthread_create(&threads[i], NULL, has_value, &key);
        for (i = 0; i < 3; i++)
            pthread_join(threads[i], NULL);
        printf("destructors: %.2f\n", now());
    } else if (!strcmp(name, "load")) {
        count = getloadavg(load, 3);
        printf("load: %d %g %g %g\n", count, load[0], load[1], load[2]);
    } else if (!strcmp(name, "main")) {
        /* The process ends with the last thread. */
        pthread_create(&threads[0], NULL, computes, (void *)1L);
        pthread_create(&threads[1], NULL, computes, (void *)3L);
        pthread_detach(threads[1]);
        MPI_Finalize();
        fflush(NULL);
        pthread_exit(NULL);
    }
    MPI_Finalize();
    return 0;
}
