/* Checks the profiling interface: MPI functions of the program itself take the place of the library's, which go by PMPI
   (MPI-3.1, section 14.2). */
#include "check.h"

static int sends, bytes, reductions, ends;

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int target, int tag, MPI_Comm comm)
{
    int width = 0;
    PMPI_Type_size(type, &width);
    sends++;
    bytes += count * width;
    return PMPI_Send(buffer, count, type, target, tag, comm);
}

int MPI_Allreduce(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    reductions++;
    return PMPI_Allreduce(out, in, count, type, op, comm);
}

int MPI_Finalize(void)
{
    ends++;
    return PMPI_Finalize();
}

int main(int argc, char **argv)
{
    int in[5] = {0}, sum = -1;
    double out[5] = {1, 2, 3, 4, 5}, back[5] = {0};
    MPI_Request request;
    start(&argc, &argv, "profiling");
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    for (int i = 0; i < 5; i++) {
        OK(MPI_Irecv(&in[i], 1, MPI_INT, last, i, MPI_COMM_WORLD, &request));
        OK(MPI_Send(&rank, 1, MPI_INT, next, i, MPI_COMM_WORLD));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    OK(MPI_Irecv(back, 5, MPI_DOUBLE, last, 9, MPI_COMM_WORLD, &request));
    OK(PMPI_Send(out, 5, MPI_DOUBLE, next, 9, MPI_COMM_WORLD));
    OK(PMPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(in[0] == last && in[4] == last && back[4] == 5);
    CHECK(sends == 5 && bytes == 20);
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(reductions == 1 && sum == size * (size - 1) / 2);
    /* The library's own messages do not go through the program's functions. */
    OK(MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD));
    CHECK(sends == 5 && reductions == 1);
    CHECK(PMPI_Wtime() <= MPI_Wtime());
    int failed = finish();
    return failed || ends != 1 || reductions != 2;
}
