/* Threads that are in MPI at the same time (MPI_THREAD_MULTIPLE). The first argument is the case. */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TURNS = 8 };
static int rank, ranks;
static MPI_Comm comms[2];
static MPI_Request request;
static int number, provided, is_stopped;

static void *start(pthread_t *thread, void *(*function)(void *), int argument)
{
    static int arguments[64];
    arguments[argument] = argument;
    pthread_create(thread, NULL, function, &arguments[argument]);
    return NULL;
}

/* Receives messages of any source until an empty message. */
static void *receive(void *unused)
{
    for (int size = 1; size > 0;) {
        char data[100 * TURNS];
        MPI_Status status;
        MPI_Probe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_CHAR, &size);
        MPI_Recv(data, size, MPI_CHAR, status.MPI_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return unused;
}

static void receiver(void)
{
    char data[100 * TURNS] = {0};
    pthread_t thread;
    if (rank == 0)
        start(&thread, receive, 0);
    for (int turn = 0; turn < TURNS; turn++)
        MPI_Barrier(comms[0]);
    for (int turn = 0; rank == 1 && turn < TURNS; turn++)
        MPI_Send(data, 100 * (turn + 1), MPI_CHAR, 0, 7, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Send(data, 0, MPI_CHAR, 0, 7, MPI_COMM_WORLD);
    if (rank == 0)
        pthread_join(thread, NULL);
}

/* Exchanges messages with the next rank on a communicator of the thread. */
static void *exchange(void *argument)
{
    int which = *(int *)argument, size = which ? 4000 : 40;
    char sent[4000] = {0}, received[4000];
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_Request both[2];
        MPI_Irecv(received, size, MPI_CHAR, (rank + ranks - 1) % ranks, turn, comms[which], &both[0]);
        MPI_Isend(sent, size, MPI_CHAR, (rank + 1) % ranks, turn, comms[which], &both[1]);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    }
    return NULL;
}

static void *reduce(void *argument)
{
    int which = *(int *)argument;
    for (int turn = 0; turn < TURNS; turn++) {
        int sum = 0, data[500];
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comms[which]);
        if (sum != ranks * (ranks - 1) / 2)
            puts("wrong sum");
        MPI_Bcast(data, which ? 500 : 5, MPI_INT, 0, comms[which]);
    }
    return NULL;
}

/* Creates a communicator beside the other thread. */
static void *create(void *argument)
{
    int which = *(int *)argument, sum;
    MPI_Comm made;
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_Comm_dup(comms[which], &made);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, made);
        MPI_Comm_free(&made);
    }
    return NULL;
}

static void both(void *(*function)(void *))
{
    pthread_t threads[2];
    for (int which = 0; which < 2; which++)
        start(&threads[which], function, which);
    for (int which = 0; which < 2; which++)
        pthread_join(threads[which], NULL);
}

static void *complete(void *unused)
{
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return unused;
}

/* Another thread completes a request of the main thread, and a request of the thread before it. */
static void *post(void *unused)
{
    MPI_Irecv(&number, 1, MPI_INT, !rank, 5, MPI_COMM_WORLD, &request);
    return unused;
}

static void requests(void)
{
    pthread_t thread;
    MPI_Irecv(&number, 1, MPI_INT, !rank, 4, MPI_COMM_WORLD, &request);
    start(&thread, complete, 0);
    MPI_Send(&rank, 1, MPI_INT, !rank, 4, MPI_COMM_WORLD);
    pthread_join(thread, NULL);
    start(&thread, post, 0);
    pthread_join(thread, NULL);
    MPI_Send(&rank, 1, MPI_INT, !rank, 5, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Answers tasks of rank 0. Several threads receive messages of the same source and tag. */
static void *work(void *unused)
{
    for (int task = 1; task >= 0;) {
        MPI_Recv(&task, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (task >= 0)
            MPI_Send(&task, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    }
    return unused;
}

static void pool(void)
{
    int end = -1, task;
    MPI_Status status;
    if (rank > 0)
        return both(work);
    for (int at = 1; at < ranks; at++)
        MPI_Send(&at, 1, MPI_INT, at, 1, MPI_COMM_WORLD);
    for (int done = 1; done < 4 * ranks; done++) {
        MPI_Recv(&task, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
        if (done < 3 * ranks + 1)
            MPI_Send(&done, 1, MPI_INT, status.MPI_SOURCE, 1, MPI_COMM_WORLD);
    }
    for (int at = 2; at < 2 * ranks; at++)
        MPI_Send(&end, 1, MPI_INT, at / 2, 1, MPI_COMM_WORLD);
}

static void *send_one(void *unused)
{
    while (!__atomic_load_n(&is_stopped, __ATOMIC_ACQUIRE))
        sched_yield();
    MPI_Send(&rank, 1, MPI_INT, !rank, 3, MPI_COMM_WORLD);
    return unused;
}

static void *stay(void *unused)
{
    pause();
    return unused;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    pthread_t thread;
    if (!strcmp(what, "early"))
        start(&thread, send_one, 0);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int which = 0; which < 2; which++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[which]);
    if (provided != MPI_THREAD_MULTIPLE)
        puts("no threads");
    else if (!strcmp(what, "receiver"))
        receiver();
    else if (!strcmp(what, "exchange"))
        both(exchange);
    else if (!strcmp(what, "collectives"))
        both(reduce);
    else if (!strcmp(what, "creates"))
        both(create);
    else if (!strcmp(what, "requests"))
        requests();
    else if (!strcmp(what, "pool"))
        pool();
    if (!strcmp(what, "detached")) {
        start(&thread, send_one, 0);
        pthread_detach(thread);
    }
    if (!strcmp(what, "early") || !strcmp(what, "detached")) {
        __atomic_store_n(&is_stopped, 1, __ATOMIC_RELEASE);
        MPI_Recv(&number, 1, MPI_INT, !rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (!strcmp(what, "outlives"))
        start(&thread, stay, 0);
    for (int which = 0; which < 2; which++)
        MPI_Comm_free(&comms[which]);
    MPI_Finalize();
    if (rank == 0)
        puts("done");
    return 0;
}
