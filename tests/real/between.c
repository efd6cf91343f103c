/* Ranks wait for each other at objects that processes share, other than files. Output is the same under any MPI. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int rank, failures;

#define TURN MPI_Barrier(MPI_COMM_WORLD)
#define CHECK(what)                                                                                                   \
    if (!(what)) {                                                                                                    \
        printf("rank %d, line %d: %s\n", rank, __LINE__, #what);                                                      \
        failures++;                                                                                                   \
    }

static struct {
    sem_t semaphore;
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    pthread_barrier_t barrier;
    pthread_rwlock_t lock;
    pthread_spinlock_t spin;
    volatile int ready, written, count, again, word;
} *memory;

/* Returns the time that is `milliseconds` ms after the current time. */
static struct timespec until(clockid_t clock, long milliseconds) {
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_nsec += milliseconds % 1000 * 1000000;
    time.tv_sec += milliseconds / 1000 + time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static long futex(int operation, int value, struct timespec *time) {
    return syscall(SYS_futex, &memory->word, operation, value, time, NULL, FUTEX_BITSET_MATCH_ANY);
}

/* Rank 0 waits with a deadline. Rank 1 ends the wait before the deadline. */
static void timed(void) {
    struct timespec late = until(CLOCK_REALTIME, 60000), soon, span = {60, 0}, moment = {0, 1000000};
    if (rank == 0) CHECK(sem_timedwait(&memory->semaphore, &late) == 0);
    if (rank == 1) usleep(1000), sem_post(&memory->semaphore);
    TURN;
    if (rank == 0) {
        CHECK(pthread_mutex_lock(&memory->mutex) == 0);
        while (!memory->again) CHECK(pthread_cond_timedwait(&memory->condition, &memory->mutex, &late) == 0);
        CHECK(pthread_mutex_unlock(&memory->mutex) == 0);
    } else if (rank == 1) {
        usleep(1000);
        CHECK(pthread_mutex_lock(&memory->mutex) == 0);
        memory->again = 1;
        CHECK(pthread_cond_broadcast(&memory->condition) == 0);
        CHECK(pthread_mutex_unlock(&memory->mutex) == 0);
    }
    TURN;
    if (rank == 1) pthread_mutex_lock(&memory->mutex);
    TURN;
    if (rank == 0) CHECK(pthread_mutex_timedlock(&memory->mutex, &late) == 0);
    if (rank == 1) usleep(1000);
    if (rank < 2) CHECK(pthread_mutex_unlock(&memory->mutex) == 0);
    TURN;
    if (rank == 0) {
        while (memory->word == 0) CHECK(futex(FUTEX_WAIT, 0, NULL) == 0 || errno == EAGAIN);
        while (memory->word == 1) CHECK(futex(FUTEX_WAIT, 1, &span) == 0 || errno == EAGAIN);
        late = until(CLOCK_MONOTONIC, 60000);
        while (memory->word == 2) CHECK(futex(FUTEX_WAIT_BITSET, 2, &late) == 0 || errno == EAGAIN);
    } else if (rank == 1)
        while (memory->word < 3) {
            usleep(1000);
            memory->word++;
            CHECK(futex(FUTEX_WAKE, 1, NULL) >= 0);
        }
    TURN;
    /* No rank ends these waits, so they end at their deadlines. */
    soon = until(CLOCK_REALTIME, 1);
    if (rank == 0) CHECK(sem_timedwait(&memory->semaphore, &soon) == -1 && errno == ETIMEDOUT);
    pthread_mutex_lock(&memory->mutex);
    soon = until(CLOCK_REALTIME, 1);
    while (rank == 0 && pthread_cond_timedwait(&memory->condition, &memory->mutex, &soon) == 0) continue;
    if (rank == 0) CHECK(until(CLOCK_REALTIME, 0).tv_sec >= soon.tv_sec);
    pthread_mutex_unlock(&memory->mutex);
    CHECK(futex(FUTEX_WAIT, 3, &moment) == -1 && errno == ETIMEDOUT);
    CHECK(futex(FUTEX_WAIT, 5, &moment) == -1 && errno == EAGAIN);
    TURN;
}

/* Rank 0 waits until rank 1 creates a file in the directory. */
static void watched(const char *directory) {
    char event[4096], path[4200];
    int queue = rank == 0 ? inotify_init() : -1;
    if (rank == 0) CHECK(inotify_add_watch(queue, directory, IN_CREATE) >= 0);
    TURN;
    sprintf(path, "%s/watched", directory);
    if (rank == 0) CHECK(read(queue, event, sizeof event) > 0);
    if (rank == 1) usleep(1000), close(open(path, O_CREAT | O_WRONLY, 0600));
    TURN;
    if (rank == 1) unlink(path);
    if (rank == 0) close(queue);
    TURN;
}

static void prepare(void) {
    pthread_mutexattr_t mutex;
    pthread_condattr_t condition;
    pthread_barrierattr_t barrier;
    pthread_rwlockattr_t lock;
    pthread_mutexattr_init(&mutex), pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_condattr_init(&condition), pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
    pthread_barrierattr_init(&barrier), pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
    pthread_rwlockattr_init(&lock), pthread_rwlockattr_setpshared(&lock, PTHREAD_PROCESS_SHARED);
    sem_init(&memory->semaphore, 1, 0);
    pthread_mutex_init(&memory->mutex, &mutex);
    pthread_cond_init(&memory->condition, &condition);
    pthread_barrier_init(&memory->barrier, &barrier, 4);
    pthread_rwlock_init(&memory->lock, &lock);
    pthread_spin_init(&memory->spin, PTHREAD_PROCESS_SHARED);
}

/* Rank 0 waits first. An action of the other ranks ends the wait. */
static void objects(void) {
    int i;
    if (rank == 0) {
        for (i = 0; i < 3; i++) CHECK(sem_wait(&memory->semaphore) == 0);
    } else CHECK(sem_post(&memory->semaphore) == 0);
    TURN;
    CHECK(pthread_mutex_lock(&memory->mutex) == 0);
    if (rank == 3) {
        memory->ready = 1;
        CHECK(pthread_cond_broadcast(&memory->condition) == 0);
    }
    while (!memory->ready) CHECK(pthread_cond_wait(&memory->condition, &memory->mutex) == 0);
    CHECK(pthread_mutex_unlock(&memory->mutex) == 0);
    for (i = 0; i < 3; i++) {
        int last;
        CHECK(pthread_mutex_lock(&memory->mutex) == 0);
        memory->count++;
        usleep(100);
        CHECK(pthread_mutex_unlock(&memory->mutex) == 0);
        last = pthread_barrier_wait(&memory->barrier);
        CHECK(last == 0 || last == PTHREAD_BARRIER_SERIAL_THREAD);
        CHECK(memory->count == 4 * (i + 1));
        TURN;
    }
    CHECK(pthread_rwlock_wrlock(&memory->lock) == 0);
    usleep(100);
    CHECK(pthread_rwlock_unlock(&memory->lock) == 0);
    CHECK(pthread_rwlock_rdlock(&memory->lock) == 0);
    usleep(100);
    CHECK(pthread_rwlock_unlock(&memory->lock) == 0);
    CHECK(pthread_spin_lock(&memory->spin) == 0);
    usleep(100);
    CHECK(pthread_spin_unlock(&memory->spin) == 0);
    TURN;
    if (rank == 0)
        while (memory->written != 3) sched_yield();
    else __sync_fetch_and_add(&memory->written, 1);
    TURN;
}

int main(int argc, char **argv) {
    char path[4096];
    int file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    sprintf(path, "%s/memory", argv[1]);
    file = open(path, O_RDWR | O_CREAT, 0600);
    if (ftruncate(file, sizeof *memory)) return 9;
    memory = mmap(NULL, sizeof *memory, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (rank == 0) memset(memory, 0, sizeof *memory), prepare();
    TURN;
    objects();
    timed();
    watched(argv[1]);
    printf("rank %d: %d failures\n", rank, failures);
    MPI_Finalize();
    return failures != 0;
}
