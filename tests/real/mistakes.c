/* Makes one mistake in MPI calls, which the first argument selects. */
#include <mpi.h>
#include <string.h>

static int rank, size;

static int is(const char *mode, const char *name) { return !strcmp(mode, name); }

int main(int argc, char **argv) {
    double d[8] = {0}, e[8] = {0};
    int k[16] = {0}, counts[8], displs[8];
    MPI_Request request;
    MPI_Init(&argc, &argv);
    const char *mode = argv[1];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < size; i++) counts[i] = 1, displs[i] = i;
    if (is(mode, "function")) {
        if (rank == 1)
            MPI_Bcast(d, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        else
            MPI_Reduce(d, e, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    }
    if (is(mode, "form")) {
        if (rank == 1) {
            MPI_Ibcast(d, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else
            MPI_Bcast(d, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    if (is(mode, "root")) MPI_Bcast(d, 1, MPI_DOUBLE, rank == 1, MPI_COMM_WORLD);
    if (is(mode, "operator")) MPI_Allreduce(d, e, 1, MPI_DOUBLE, rank == 1 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
    if (is(mode, "alike")) MPI_Bcast(d, rank == 1 ? 2 : 1, rank == 1 ? MPI_INT : MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (is(mode, "gather")) MPI_Gather(k, rank == 1 ? 2 : 1, rank == 1 ? MPI_INT : MPI_DOUBLE, e, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (is(mode, "gatherv"))
        MPI_Gatherv(k, rank == 1 ? 2 : 1, rank == 1 ? MPI_INT : MPI_DOUBLE, e, counts, displs, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (is(mode, "message")) {
        if (rank == 0) MPI_Send(d, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(k, 2, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (is(mode, "leak")) {
        MPI_Datatype type;
        MPI_Group group;
        MPI_Type_contiguous(2, MPI_INT, &type);
        if (rank == 1)
            MPI_Comm_group(MPI_COMM_WORLD, &group);
        MPI_Type_free(&type);
    }
    if (is(mode, "hidden")) {
        MPI_Send(k, 1, MPI_INT, !rank, 0, MPI_COMM_WORLD);
        MPI_Recv(k, 1, MPI_INT, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (is(mode, "none")) {
        MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, k, 1, MPI_INT, MPI_COMM_WORLD);
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, d, 1, MPI_DOUBLE, MPI_COMM_WORLD);
        MPI_Alltoallv(k, counts, displs, MPI_INT, e, counts, displs, MPI_INT, MPI_COMM_WORLD);
        MPI_Sendrecv(k, 3, MPI_INT, (rank + 1) % size, 0, e, 4, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
