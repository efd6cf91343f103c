/* Threads that compute while one thread at a time calls MPI. The argument names the case. All times are stated. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

extern void mcpsim_compute(double seconds) __attribute__((weak));

static void compute(double seconds)
{
    if (mcpsim_compute)
        mcpsim_compute(seconds);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *works(void *seconds)
{
    compute(*(double *)seconds);
    return NULL;
}

static void *chain(void *unused)
{
    static double inner = 0.002;
    pthread_t thread;
    compute(0.001);
    pthread_create(&thread, NULL, works, &inner);
    pthread_join(thread, NULL);
    compute(0.001);
    return unused;
}

static void *sends(void *unused)
{
    int main_thread = 1;
    pthread_mutex_lock(&mutex);
    compute(0.003);
    MPI_Is_thread_main(&main_thread);
    printf("main thread: %d\n", main_thread);
    MPI_Barrier(MPI_COMM_WORLD);
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(int argc, char **argv)
{
    const char *what = argv[1];
    double times[4] = {0.004, 0.001, 0.002, 0.003}, start;
    pthread_t threads[4];
    int provided, i;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    printf("provided: %d\n", provided == MPI_THREAD_SERIALIZED);
    start = MPI_Wtime();
    if (strcmp(what, "join") == 0) {
        for (i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, works, &times[i]);
        compute(0.0005);
        for (i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
        compute(0.001);
    }
    if (strcmp(what, "successive") == 0)
        for (i = 0; i < 4; i++) {
            pthread_create(&threads[i], NULL, works, &times[i]);
            pthread_join(threads[i], NULL);
        }
    if (strcmp(what, "chain") == 0) {
        compute(0.001);
        pthread_create(&threads[0], NULL, chain, NULL);
        compute(0.001);
        pthread_join(threads[0], NULL);
    }
    if (strcmp(what, "serialized") == 0) {
        compute(0.001);
        pthread_create(&threads[0], NULL, sends, NULL);
        pthread_join(threads[0], NULL);
        compute(0.001);
    }
#ifdef _OPENMP
    if (strcmp(what, "openmp") == 0) {
        printf("threads: %d\n", omp_get_max_threads());
        /* The slow thread alternates: each region takes 2 ms. */
        for (i = 0; i < 2; i++) {
#pragma omp parallel
            compute(omp_get_thread_num() == i ? 0.002 : 0.001);
        }
        compute(0.001);
    }
#endif
    printf("%s: %.6f s\n", what, MPI_Wtime() - start);
    MPI_Finalize();
    return 0;
}
