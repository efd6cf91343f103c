/* After a broadcast, the last rank crashes in the way that the first argument selects. */
#include <assert.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int zero;
static int *volatile nowhere = (int *)16;
static void (*volatile no_function)(void);

static int deeper(int n) {
    volatile char room[1000];
    room[n % 1000] = 1;
    return deeper(n + 1) + room[n % 1000];
}

static void dies_in_reduction(void *in, void *inout, int *count, MPI_Datatype *type) {
    *nowhere = 1;
}

static void handler(int number) {
    printf("handled %d\n", number);
}

/* Uses more stack than a thread has by default. The far end of the array is written first. */
static void large(void) {
    volatile char room[32 << 20];
    int i;
    for (i = 0; i < 32 << 20; i += 4096) room[i] = 1;
}

static void *thread(void *what) {
    if (!strcmp(what, "thread_mpi")) {
        int size;
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    } else if (!strcmp(what, "thread_stack")) {
        large();
    } else if (!strcmp(what, "thread_exit")) {
        pthread_exit(what);
    } else if (!strcmp(what, "thread_cancel")) {
        pthread_cancel(pthread_self());
        pthread_testcancel();
    } else {
        *nowhere = 1;
    }
    return NULL;
}

static void in_thread(char *what) {
    pthread_t id;
    pthread_create(&id, NULL, thread, what);
    pthread_join(id, NULL);
}

static void reduce(int blocking) {
    int in = 1, out;
    MPI_Op op;
    MPI_Op_create(dies_in_reduction, 1, &op);
    if (blocking) {
        MPI_Reduce(&in, &out, 1, MPI_INT, op, 0, MPI_COMM_WORLD);
    } else {
        MPI_Request request;
        MPI_Iallreduce(&in, &out, 1, MPI_INT, op, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* Overwrites the stack frames of all calling functions. */
static void smash(int count) {
    volatile char room[16];
    int i;
    for (i = 0; i < count; i++) room[i] = 'A';
}

static void crash(char *how) {
    if (!strcmp(how, "write")) *nowhere = 1;
    if (!strcmp(how, "strlen")) printf("%d\n", (int)strlen((char *)nowhere));
    if (!strcmp(how, "call")) no_function();
    if (!strcmp(how, "divide")) printf("%d\n", 7 / zero);
    if (!strcmp(how, "stack")) printf("%d\n", deeper(0));
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "assert")) assert(zero == 1);
    if (!strcmp(how, "trap")) __builtin_trap();
    if (!strcmp(how, "breakpoint")) __asm__ volatile("int3");
    if (!strcmp(how, "raise")) raise(SIGSEGV);
    if (!strcmp(how, "print")) printf("%s\n", (char *)nowhere);
    if (!strcmp(how, "handled")) {
        signal(SIGSEGV, handler);
        raise(SIGSEGV);
        __sysv_signal(SIGSEGV, handler);
        *nowhere = 1;
    }
    if (!strcmp(how, "heap")) {
        char *volatile block = malloc(4000);
        char *volatile other = malloc(4000);
        memset(block - 8, 0x41, 8);
        free(other);
        free(block);
        free(block);
    }
    if (!strcmp(how, "smash")) smash(9000);
    if (!strcmp(how, "buffer")) MPI_Send((void *)0x10000000, 100, MPI_INT, 0, 1, MPI_COMM_WORLD);
    if (!strcmp(how, "thread") || !strncmp(how, "thread_", 7)) in_thread(how);
    if (!strcmp(how, "cancel")) {
        pthread_cancel(pthread_self());
        pthread_testcancel();
    }
}

int main(int argc, char **argv) {
    int rank, size, token = 0;
    if (!strcmp(argv[1], "early")) *nowhere = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Bcast(&token, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!strcmp(argv[1], "reduce")) reduce(1);
    if (!strcmp(argv[1], "ireduce")) reduce(0);
    if (rank == size - 1) crash(argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
