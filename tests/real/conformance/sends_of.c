/* Calls one collective, or several in succession. The arguments are the name, the size, the number of calls and the
   root, which is 0 by default. An i before the name selects the nonblocking collective. With a fifth argument the
   operator does not commute. The caller of the program counts the messages. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int i;

    (void)type;
    for (i = 0; i < *count; i++)
        ((double *)inout)[i] += ((double *)in)[i];
}

int main(int argc, char **argv)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Request started = MPI_REQUEST_NULL;
    MPI_Op op = MPI_SUM;
    int ranks, i, bytes, doubles, times, root, *counts, *from;
    char *mine, *all;
    const char *what;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(world, &ranks);
    if (argc < 3)
        MPI_Abort(world, 2);
    what = argv[1];
    bytes = atoi(argv[2]);
    doubles = bytes / 8;
    times = argc > 3 ? atoi(argv[3]) : 1;
    root = argc > 4 ? atoi(argv[4]) : 0;
    if (argc > 5)
        MPI_Op_create(add, 0, &op);
    mine = calloc((size_t)bytes * ranks + 8, 1);
    all = calloc((size_t)bytes * ranks + 8, 1);
    counts = malloc(ranks * sizeof *counts);
    from = malloc(ranks * sizeof *from);
    for (i = 0; i < ranks; i++) {
        counts[i] = strstr(what, "reduce_scatter") ? doubles : bytes;
        from[i] = bytes * i;
    }
    while (times-- > 0) {
        if (!strcmp(what, "barrier"))
            MPI_Barrier(world);
        else if (!strcmp(what, "ibarrier"))
            MPI_Ibarrier(world, &started);
        else if (!strcmp(what, "bcast"))
            MPI_Bcast(mine, bytes, MPI_CHAR, root, world);
        else if (!strcmp(what, "ibcast"))
            MPI_Ibcast(mine, bytes, MPI_CHAR, root, world, &started);
        else if (!strcmp(what, "reduce"))
            MPI_Reduce(mine, all, doubles, MPI_DOUBLE, op, root, world);
        else if (!strcmp(what, "ireduce"))
            MPI_Ireduce(mine, all, doubles, MPI_DOUBLE, op, root, world, &started);
        else if (!strcmp(what, "allreduce"))
            MPI_Allreduce(mine, all, doubles, MPI_DOUBLE, op, world);
        else if (!strcmp(what, "iallreduce"))
            MPI_Iallreduce(mine, all, doubles, MPI_DOUBLE, op, world, &started);
        else if (!strcmp(what, "gather"))
            MPI_Gather(mine, bytes, MPI_CHAR, all, bytes, MPI_CHAR, root, world);
        else if (!strcmp(what, "igather"))
            MPI_Igather(mine, bytes, MPI_CHAR, all, bytes, MPI_CHAR, root, world, &started);
        else if (!strcmp(what, "scatter"))
            MPI_Scatter(mine, bytes, MPI_CHAR, all, bytes, MPI_CHAR, root, world);
        else if (!strcmp(what, "iscatter"))
            MPI_Iscatter(mine, bytes, MPI_CHAR, all, bytes, MPI_CHAR, root, world, &started);
        else if (!strcmp(what, "gatherv"))
            MPI_Gatherv(mine, bytes, MPI_CHAR, all, counts, from, MPI_CHAR, root, world);
        else if (!strcmp(what, "igatherv"))
            MPI_Igatherv(mine, bytes, MPI_CHAR, all, counts, from, MPI_CHAR, root, world, &started);
        else if (!strcmp(what, "scatterv"))
            MPI_Scatterv(mine, counts, from, MPI_CHAR, all, bytes, MPI_CHAR, root, world);
        else if (!strcmp(what, "iscatterv"))
            MPI_Iscatterv(mine, counts, from, MPI_CHAR, all, bytes, MPI_CHAR, root, world, &started);
        else if (!strcmp(what, "allgather"))
            MPI_Allgather(mine, bytes, MPI_CHAR, all, bytes, MPI_CHAR, world);
        else if (!strcmp(what, "iallgather"))
            MPI_Iallgather(mine, bytes, MPI_CHAR, all, bytes, MPI_CHAR, world, &started);
        else if (!strcmp(what, "allgatherv"))
            MPI_Allgatherv(mine, bytes, MPI_CHAR, all, counts, from, MPI_CHAR, world);
        else if (!strcmp(what, "iallgatherv"))
            MPI_Iallgatherv(mine, bytes, MPI_CHAR, all, counts, from, MPI_CHAR, world, &started);
        else if (!strcmp(what, "alltoall"))
            MPI_Alltoall(mine, bytes, MPI_CHAR, all, bytes, MPI_CHAR, world);
        else if (!strcmp(what, "ialltoall"))
            MPI_Ialltoall(mine, bytes, MPI_CHAR, all, bytes, MPI_CHAR, world, &started);
        else if (!strcmp(what, "scan"))
            MPI_Scan(mine, all, doubles, MPI_DOUBLE, op, world);
        else if (!strcmp(what, "iscan"))
            MPI_Iscan(mine, all, doubles, MPI_DOUBLE, op, world, &started);
        else if (!strcmp(what, "exscan"))
            MPI_Exscan(mine, all, doubles, MPI_DOUBLE, op, world);
        else if (!strcmp(what, "iexscan"))
            MPI_Iexscan(mine, all, doubles, MPI_DOUBLE, op, world, &started);
        else if (!strcmp(what, "reduce_scatter"))
            MPI_Reduce_scatter(mine, all, counts, MPI_DOUBLE, op, world);
        else if (!strcmp(what, "ireduce_scatter"))
            MPI_Ireduce_scatter(mine, all, counts, MPI_DOUBLE, op, world, &started);
        else
            MPI_Abort(world, 2);
        MPI_Wait(&started, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
