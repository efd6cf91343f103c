// Uncaught exceptions of an exit function, and of an operator in a nonblocking reduction.
#include <mpi.h>
#include <cstdlib>
#include <cstring>

static void at_end() { throw 1; }

static void combine(void *, void *, int *, MPI_Datatype *) { throw 2; }

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (!strcmp(argv[1], "end")) {
        atexit(at_end);
    } else {
        MPI_Op op;
        MPI_Op_create(combine, 1, &op);
        int mine = 1, sum;
        MPI_Request request;
        MPI_Iallreduce(&mine, &sum, 1, MPI_INT, op, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
}
