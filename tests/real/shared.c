/* Calls a counting function in each of two libraries, which are in the directory of the first argument. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static int counted(const char *directory, const char *name)
{
    char path[4096];
    void *library;
    int (*count)(void);

    snprintf(path, sizeof path, "%s/%s", directory, name);
    library = dlopen(path, RTLD_NOW);
    if (!library)
        return -1;
    *(void **)&count = dlsym(library, "count");
    return count();
}

int main(int argc, char **argv)
{
    int one, two;

    MPI_Init(&argc, &argv);
    one = counted(argv[1], "libone.so");
    two = counted(argv[1], "libtwo.so");
    printf("%d and %d\n", one, two);
    MPI_Finalize();
    return 0;
}
