/* Difficult cases for recording libraries. The first argument selects the case. Prints "done". */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, ranks;

static void hand_over(int tag, MPI_Comm comm)
{
    int word = 0;
    if (rank == 0)
        MPI_Send(&word, 1, MPI_INT, 1, tag, comm);
    if (rank == 1)
        MPI_Recv(&word, 1, MPI_INT, 0, tag, comm, MPI_STATUS_IGNORE);
}

/* Communicators are created while recording is off. 2 messages and a collective use them while recording is on. */
static void communicators(void)
{
    MPI_Comm copy, half;
    int one = 1, sum;
    hand_over(1, MPI_COMM_WORLD);
    MPI_Pcontrol(0);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    hand_over(2, copy);
    MPI_Pcontrol(1);
    hand_over(3, copy);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
}

/* Creates two communicators of all ranks, and two of some ranks. All communicators begin with the same rank. */
static void families(void)
{
    MPI_Comm all, some, more, others;
    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : 1, rank, &some);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &others);
    MPI_Comm_dup(some, &more);
    hand_over(5, all);
    if (rank < 2)
        hand_over(6, more);
    MPI_Barrier(others);
    MPI_Barrier(more);
}

/* Starts a child process that calls exit, and a shell command. */
static void children(void)
{
    int state;
    hand_over(1, MPI_COMM_WORLD);
    pid_t child = fork();
    if (child == 0)
        exit(0);
    waitpid(child, &state, 0);
    if (system("true") != 0)
        puts("no shell");
    hand_over(2, MPI_COMM_WORLD);
}

/* Calls one wait with more requests than fit into 64 KiB. */
static void many(void)
{
    enum { COUNT = 20000 };
    MPI_Request *requests = malloc(sizeof *requests * COUNT);
    int *words = calloc(COUNT, sizeof *words);
    for (int at = 0; at < COUNT; at++)
        if (rank == 0)
            MPI_Isend(words + at, 1, MPI_INT, 1, at, MPI_COMM_WORLD, requests + at);
        else
            MPI_Irecv(words + at, 1, MPI_INT, MPI_ANY_SOURCE, at, MPI_COMM_WORLD, requests + at);
    MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    hand_over(7, MPI_COMM_WORLD);
}

/* Only rank 0 cannot write files longer than half a MiB. It creates communicators with the other ranks. */
static void alone(void)
{
    int word = 0, other, sum;
    MPI_Comm copy;
    if (rank == 0) {
        struct rlimit least = {1 << 19, 1 << 19};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &least);
        for (int turn = 0; turn < 300000; turn++)
            MPI_Sendrecv(&word, 1, MPI_INT, 0, turn % 100, &other, 1, MPI_INT, 0, turn % 100, MPI_COMM_SELF,
                         MPI_STATUS_IGNORE);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    word = rank + 1;
    MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, copy);
    if (sum != ranks * (ranks + 1) / 2)
        puts("wrong sum");
    MPI_Comm_free(&copy);
}

/* Calls functions that replays support, followed by window functions that replays do not support. */
static void window(void)
{
    MPI_Win window;
    hand_over(1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_create(&rank, sizeof rank, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    hand_over(2, MPI_COMM_WORLD);
    MPI_Win_free(&window);
}

/* Makes the call `which`, which replays do not have, and ends by MPI_Abort. */
static void cut(const char *which, char *program)
{
    MPI_Comm half, inter;
    hand_over(1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(which, "spawn")) {
        MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
    } else {
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &inter);
    }
    hand_over(2, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Creates a ring of ranks and calls the neighbourhood function `which`. */
static void neighbours(const char *which)
{
    MPI_Comm ring;
    MPI_Request request;
    int periodic = 1, from[2] = {rank, rank}, to[2], counts[2] = {1, 1}, displs[2] = {0, 1};
    MPI_Aint bytes[2] = {0, sizeof(int)};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
    if (!strcmp(which, "allgatherv"))
        MPI_Ineighbor_allgatherv(from, 1, MPI_INT, to, counts, displs, MPI_INT, ring, &request);
    else
        MPI_Ineighbor_alltoallw(from, counts, bytes, types, to, counts, bytes, types, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Rank 1 ends like a program that has found an error. */
static void ends(void)
{
    hand_over(1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(2);
    if (rank == 1)
        exit(3);
    hand_over(2, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

#if MPI_VERSION >= 4
static void persistent(void)
{
    int one = 1, sum;
    MPI_Request request;
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

static void exchange(void)
{
    int one = 1, other;
    MPI_Request request;
    MPI_Isendrecv(&one, 1, MPI_INT, (rank + 1) % ranks, 0, &other, 1, MPI_INT, (rank + ranks - 1) % ranks, 0,
                  MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
#endif

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (parent != MPI_COMM_NULL)
        ;
    else if (!strcmp(what, "communicators"))
        communicators();
    else if (!strcmp(what, "families"))
        families();
    else if (!strcmp(what, "children"))
        children();
    else if (!strcmp(what, "many"))
        many();
    else if (!strcmp(what, "alone"))
        alone();
    else if (!strcmp(what, "window"))
        window();
    else if (!strcmp(what, "allgatherv") || !strcmp(what, "alltoallw"))
        neighbours(what);
    else if (!strcmp(what, "ends"))
        ends();
    else if (!strcmp(what, "spawn") || !strcmp(what, "intercomm"))
        cut(what, argv[0]);
#if MPI_VERSION >= 4
    else if (!strcmp(what, "persistent"))
        persistent();
    else if (!strcmp(what, "exchange"))
        exchange();
#endif
    else if (rank == 0)
        puts("not here");
    MPI_Finalize();
    if (rank == 0)
        puts("done");
    return 0;
}
