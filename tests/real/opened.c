/* Opens the library of Open MPI at run time without making its symbols global. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *mpi = dlopen("libmpi.so.40", RTLD_LAZY | RTLD_LOCAL);
    if (!mpi) {
        puts("not here");
        return 0;
    }
    int (*init)(int *, char ***) = dlsym(mpi, "MPI_Init");
    int (*barrier)(void *) = dlsym(mpi, "MPI_Barrier");
    int (*finalize)(void) = dlsym(mpi, "MPI_Finalize");
    init(&argc, &argv);
    barrier(dlsym(mpi, "ompi_mpi_comm_world"));
    finalize();
    puts("ok");
    return 0;
}
