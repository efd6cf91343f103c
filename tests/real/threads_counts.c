// Two ranks with three threads each, whose calls are known. The argument selects threads of pthread_create or OpenMP.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

extern void mcpsim_compute(double seconds) __attribute__((weak));
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static int rank, is_open;
static double cpu[4];

static void compute(double seconds)
{
    if (mcpsim_compute)
        mcpsim_compute(seconds);
}

/* Computing of the current thread in ms. */
static double computed(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

/* Four locks of `lock`, one wait for the condition, two messages in each direction. */
static void *work(void *argument)
{
    int number = *(int *)argument;
    char data[100] = {0};
    for (int i = 0; i < 4; i++) {
        pthread_mutex_lock(&lock);
        compute(0.001);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&door);
    while (!is_open)
        pthread_cond_wait(&opened, &door);
    pthread_mutex_unlock(&door);
    for (int i = 0; i < 2; i++) {
        if (rank == 0)
            MPI_Send(data, 100, MPI_CHAR, 1, number, MPI_COMM_WORLD);
        MPI_Recv(data, 100, MPI_CHAR, 1 - rank, number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(data, 100, MPI_CHAR, 0, number, MPI_COMM_WORLD);
    }
    cpu[number] = computed();
    return NULL;
}

static void threads(void)
{
    pthread_t all[3];
    int numbers[3] = {0, 1, 2};
    for (int i = 0; i < 3; i++)
        pthread_create(&all[i], NULL, work, &numbers[i]);
    compute(0.020);
    pthread_mutex_lock(&door);
    is_open = 1;
    pthread_cond_broadcast(&opened);
    pthread_mutex_unlock(&door);
    for (int i = 0; i < 3; i++)
        pthread_join(all[i], NULL);
    cpu[3] = computed();
    if (rank == 0)
        printf("cpu: %.2f %.2f %.2f %.2f\n", cpu[0], cpu[1], cpu[2], cpu[3]);
}

/* Five regions of three threads, with a barrier, a critical section and a lock-free loop. */
static void regions(void)
{
    int sum = 0;
    for (int i = 0; i < 5; i++) {
#pragma omp parallel num_threads(3)
        {
            compute(0.001);
#pragma omp barrier
#pragma omp critical(adds)
            sum++;
#pragma omp for schedule(dynamic, 1)
            for (int k = 0; k < 6; k++)
                compute(0.001);
        }
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1 && strcmp(argv[1], "openmp") == 0)
        regions();
    else
        threads();
    MPI_Pcontrol(0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
