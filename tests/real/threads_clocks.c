/* Threads with clocks of their own. The argument names the case. All times are stated, in milliseconds. */
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

extern void mcpsim_compute(double seconds) __attribute__((weak));

static void compute(double ms)
{
    if (mcpsim_compute)
        mcpsim_compute(ms / 1000);
}

static double start, ends[8];
static int rank, size, filled, order[8], count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static MPI_Comm comms[2];
static MPI_Request request;
static int number, sum[4];

static double now(void)
{
    return (MPI_Wtime() - start) * 1000;
}

/* Computes index + 1 ms, and then 2 ms with the mutex. */
static void *locks(void *index)
{
    int own = (int)(long)index;
    compute(own + 1);
    pthread_mutex_lock(&mutex);
    order[count++] = own;
    compute(2);
    pthread_mutex_unlock(&mutex);
    ends[own] = now();
    return NULL;
}

static void *produces(void *unused)
{
    int i;
    for (i = 0; i < 3; i++) {
        compute(2);
        pthread_mutex_lock(&mutex);
        filled++;
        pthread_cond_signal(&condition);
        pthread_mutex_unlock(&mutex);
    }
    ends[0] = now();
    return unused;
}

static void *consumes(void *unused)
{
    int i;
    for (i = 0; i < 3; i++) {
        pthread_mutex_lock(&mutex);
        while (filled == 0)
            pthread_cond_wait(&condition, &mutex);
        filled--;
        pthread_mutex_unlock(&mutex);
        compute(1);
    }
    ends[1] = now();
    return unused;
}

static void *meets(void *index)
{
    int own = (int)(long)index;
    compute(1);
    sum[own] = pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
    ends[own] = now();
    return NULL;
}

static void *probes(void *unused)
{
    MPI_Status status;
    MPI_Probe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status);
    MPI_Recv(&number, 1, MPI_INT, status.MPI_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ends[0] = now();
    return unused;
}

static void *reduces(void *index)
{
    int own = (int)(long)index, one = own + 1;
    compute(own == rank % 2 ? 1 : 0);
    MPI_Allreduce(&one, &sum[own], 1, MPI_INT, MPI_SUM, comms[own]);
    return NULL;
}

static void *completes(void *unused)
{
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ends[0] = now();
    return unused;
}

static void *takes(void *index)
{
    int own = (int)(long)index;
    sem_wait(&semaphore);
    compute(1);
    sem_post(&semaphore);
    ends[own] = now();
    return NULL;
}

static void *shares(void *index)
{
    int own = (int)(long)index;
    if (own == 0) {
        pthread_rwlock_wrlock(&lock);
        compute(1);
    } else {
        compute(0.5);
        pthread_rwlock_rdlock(&lock);
        compute(2);
    }
    pthread_rwlock_unlock(&lock);
    ends[own] = now();
    return NULL;
}

static void *waits(void *unused)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 3000000;
    pthread_mutex_lock(&mutex);
    sum[0] = pthread_cond_timedwait(&condition, &mutex, &until) != 0;
    pthread_mutex_unlock(&mutex);
    ends[0] = now();
    return unused;
}

static void *spins(void *unused)
{
    compute(1);
    while (pthread_mutex_trylock(&mutex) != 0)
        sched_yield();
    pthread_mutex_unlock(&mutex);
    return unused;
}

/* The main thread has the mutex and the lock for 5 ms. */
static void *gives_up(void *unused)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 2000000;
    sum[0] = pthread_mutex_timedlock(&mutex, &until) != 0;
    ends[0] = now();
    until.tv_nsec += 1000000;
    sum[0] += pthread_rwlock_timedrdlock(&lock, &until) != 0;
    until.tv_nsec += 1000000;
    sum[0] += sem_timedwait(&semaphore, &until) != 0;
    ends[1] = now();
    until.tv_nsec += 2000000;
    sum[0] += pthread_mutex_timedlock(&mutex, &until) == 0;
    ends[2] = now();
    return unused;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void initialises(void)
{
    count++;
    compute(2);
}

/* Calls at 1 and 2 ms. */
static void *calls_once(void *index)
{
    int own = (int)(long)index;
    compute(own + 1);
    pthread_once(&once, initialises);
    ends[own] = now();
    return NULL;
}

static mtx_t c11_mutex;

static int locks_c11(void *unused)
{
    mtx_lock(&c11_mutex);
    compute(1);
    mtx_unlock(&c11_mutex);
    thrd_sleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    return unused == NULL ? 7 : 0;
}

static void *receives(void *unused)
{
    MPI_Recv(&number, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return unused;
}

static int queries(void *unused, MPI_Status *status)
{
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    return unused != NULL;
}

static int frees(void *unused)
{
    return unused != NULL;
}

static int cancels(void *unused, int complete)
{
    return unused != NULL && complete;
}

/* Completes the generalised request after 3 ms. */
static void *serves(void *unused)
{
    compute(3);
    MPI_Grequest_complete(*(MPI_Request *)unused);
    return NULL;
}

static pthread_mutex_t mutexes[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };

/* Locks two mutexes in an order that depends on the thread. */
static void *crosses(void *index)
{
    int own = (int)(long)index;
    pthread_mutex_lock(&mutexes[own]);
    compute(1);
    pthread_mutex_lock(&mutexes[1 - own]);
    return NULL;
}

static void *keeps(void *unused)
{
    pthread_mutex_lock(&mutex);
    return unused;
}

static _Atomic int flag;

/* Sets the flag at 1 ms. */
static void *sets(void *unused)
{
    compute(1);
    flag = 1;
    return unused;
}

static void *sets_with_mutex(void *unused)
{
    compute(1);
    pthread_mutex_lock(&mutex);
    filled = 1;
    pthread_mutex_unlock(&mutex);
    return unused;
}

/* Two threads on one core: the second one computes while the first one sleeps. */
static void *sleeps(void *index)
{
    int own = (int)(long)index;
    if (own == 0) {
        compute(1);
        usleep(3000);
        compute(1);
    } else {
        compute(2.5);
    }
    ends[own] = now();
    return NULL;
}

static void polls(const char *how)
{
    pthread_t thread;
    int is_set = 0;
    pthread_create(&thread, NULL, strcmp(how, "mutex") == 0 ? sets_with_mutex : sets, NULL);
    while (!is_set) {
        is_set = flag;
        if (is_set)
            break;
        if (strcmp(how, "sleep") == 0)
            usleep(30);
        if (strcmp(how, "yield") == 0)
            sched_yield();
        if (strcmp(how, "clock") == 0)
            now();
        if (strcmp(how, "test") == 0 && pthread_mutex_trylock(&mutex) == 0)
            pthread_mutex_unlock(&mutex);
        if (strcmp(how, "mutex") == 0) {
            pthread_mutex_lock(&mutex);
            is_set = filled;
            pthread_mutex_unlock(&mutex);
        }
    }
    ends[0] = now();
    pthread_join(thread, NULL);
}

static void run(void *(*body)(void *), int threads)
{
    pthread_t all[8];
    int i;
    for (i = 0; i < threads; i++)
        pthread_create(&all[i], NULL, body, (void *)(long)i);
    for (i = 0; i < threads; i++)
        pthread_join(all[i], NULL);
}

int main(int argc, char **argv)
{
    const char *what = argv[1];
    pthread_t threads[2];
    int provided, i, shown = 2;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0)
        printf("provided: %d\n", provided == MPI_THREAD_MULTIPLE);
    start = MPI_Wtime();
    if (strcmp(what, "mutex") == 0) {
        run(locks, shown = 3);
        printf("order: %d %d %d\n", order[0], order[1], order[2]);
    }
    if (strcmp(what, "condition") == 0) {
        pthread_create(&threads[0], NULL, produces, NULL);
        pthread_create(&threads[1], NULL, consumes, NULL);
        pthread_join(threads[0], NULL);
        pthread_join(threads[1], NULL);
    }
    if (strcmp(what, "barrier") == 0) {
        pthread_barrier_init(&barrier, NULL, 4);
        run(meets, shown = 4);
        printf("serial threads: %d\n", sum[0] + sum[1] + sum[2] + sum[3]);
    }
    if (strcmp(what, "probe") == 0) {
        if (rank == 0) {
            pthread_create(&threads[0], NULL, probes, NULL);
            compute(5);
            ends[1] = now();
            pthread_join(threads[0], NULL);
            printf("number: %d\n", number);
        } else {
            number = 42;
            compute(2);
            MPI_Send(&number, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
        }
    }
    if (strcmp(what, "collectives") == 0) {
        for (i = 0; i < 2; i++)
            MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        run(reduces, 2);
        printf("sums: %d\n", sum[0] == size && sum[1] == 2 * size);
        for (i = 0; i < 2; i++)
            MPI_Comm_free(&comms[i]);
    }
    if (strcmp(what, "request") == 0) {
        if (rank == 0) {
            MPI_Irecv(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
            run(completes, shown = 1);
            printf("number: %d\n", number);
        } else {
            compute(2);
            number = 43;
            MPI_Send(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        }
    }
    if (strcmp(what, "semaphore") == 0) {
        sem_init(&semaphore, 0, 2);
        run(takes, shown = 4);
    }
    if (strcmp(what, "shared") == 0)
        run(shares, shown = 3);
    if (strcmp(what, "timeout") == 0) {
        run(waits, shown = 1);
        printf("timed out: %d\n", sum[0]);
    }
    if (strcmp(what, "spin") == 0) {
        pthread_mutex_lock(&mutex);
        pthread_create(&threads[0], NULL, spins, NULL);
        compute(3);
        pthread_mutex_unlock(&mutex);
        pthread_join(threads[0], NULL);
        ends[0] = now();
        shown = 1;
    }
    if (strcmp(what, "crossed") == 0)
        run(crosses, 2);
    if (strcmp(what, "refused") == 0) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, (size_t)1 << 50);
        printf("refused: %d\n", pthread_create(&threads[0], &attributes, takes, NULL));
    }
    if (strcmp(what, "limits") == 0) {
        sem_init(&semaphore, 0, 0);
        pthread_mutex_lock(&mutex);
        pthread_rwlock_wrlock(&lock);
        pthread_create(&threads[0], NULL, gives_up, NULL);
        compute(5);
        pthread_mutex_unlock(&mutex);
        pthread_join(threads[0], NULL);
        printf("failures and success: %d\n", sum[0]);
        shown = 3;
    }
    if (strcmp(what, "once") == 0) {
        run(calls_once, shown = 2);
        printf("calls: %d\n", count);
    }
    if (strcmp(what, "c11") == 0) {
        thrd_t all[2];
        mtx_init(&c11_mutex, mtx_plain);
        for (i = 0; i < 2; i++)
            thrd_create(&all[i], locks_c11, NULL);
        for (i = 0; i < 2; i++) {
            thrd_join(all[i], &sum[i]);
            ends[i] = now();
        }
        printf("results: %d %d\n", sum[0], sum[1]);
    }
    if (strcmp(what, "generalised") == 0) {
        MPI_Request waited;
        int complete = 0;
        for (i = 0; i < 2; i++) {
            MPI_Grequest_start(queries, frees, cancels, NULL, &request);
            waited = request;
            pthread_create(&threads[0], NULL, serves, &request);
            if (i == 0)
                MPI_Wait(&waited, MPI_STATUS_IGNORE);
            else
                while (!complete)
                    MPI_Testsome(1, &waited, &complete, &number, MPI_STATUSES_IGNORE);
            ends[i] = now();
            pthread_join(threads[0], NULL);
        }
        printf("complete: %d\n", complete);
        shown = 1;
    }
    if (strcmp(what, "checked") == 0) {
        pthread_mutex_t checked;
        pthread_mutexattr_t kind;
        pthread_mutexattr_init(&kind);
        pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
        pthread_mutex_init(&checked, &kind);
        run(keeps, 1);
        pthread_mutex_lock(&checked);
        i = pthread_mutex_lock(&checked);
        pthread_mutex_unlock(&checked);
        printf("checked: %d %d\n", i == EDEADLK, pthread_mutex_unlock(&checked) == EPERM);
    }
    if (strcmp(what, "long") == 0) {
        /* Computes until the file has content. */
        struct stat of;
        pthread_create(&threads[0], NULL, keeps, NULL);
        while (stat(argv[2], &of) != 0 || of.st_size == 0);
        pthread_join(threads[0], NULL);
    }
    if (strncmp(what, "polls", 5) == 0) {
        polls(argv[2]);
        shown = 1;
    }
    if (strcmp(what, "sleeps") == 0)
        run(sleeps, shown = 2);
    if (strcmp(what, "stuck") == 0)
        run(receives, 1);
    if (strcmp(what, "outlives") == 0) {
        pthread_create(&threads[0], NULL, receives, NULL);
        compute(1);
    }
    if (strcmp(what, "kept") == 0) {
        run(keeps, 1);
        pthread_mutex_lock(&mutex);
    }
    if (rank == 0) {
        printf("%s:", what);
        for (i = 0; i < shown; i++)
            printf(" %.2f", ends[i]);
        printf("\n");
    }
    MPI_Finalize();
    return 0;
}
