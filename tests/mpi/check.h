/* What the conformance programs share: they count checks, say which fail, and end with one line from rank 0. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static long checks, failures;
static const char *program;

static inline void check(int good, const char *what, const char *file, int line)
{
    const char *base = strrchr(file, '/');
    checks++;
    if (!good && failures++ < 20) {
        printf("%s: FAILED %s:%d %s rank %d\n", program, base ? base + 1 : file, line, what, rank);
        fflush(stdout);
    }
}

#define CHECK(condition) check(!!(condition), #condition, __FILE__, __LINE__)
#define OK(call) CHECK((call) == MPI_SUCCESS)
/* The call fails, with this error class. */
#define FAILS(call, class) CHECK(class_of(call) == (class))

static inline int class_of(int code)
{
    int class = -1;
    return MPI_Error_class(code, &class) == MPI_SUCCESS ? class : -1;
}

static inline int got(MPI_Status *status, MPI_Datatype type)
{
    int count = -1;
    MPI_Get_count(status, type, &count);
    return count;
}

/* A number that tells where it comes from: of rank `who`, at place `place`, in round `round`. */
static inline int mark(int who, int place, int round)
{
    return 1000000 * (round % 100) + 1000 * (place % 1000) + who % 1000;
}

static inline void start(int *argc, char ***argv, const char *name)
{
    program = name;
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static inline int finish(void)
{
    long mine[2], all[2];
    mine[0] = checks;
    mine[1] = failures;
    MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all[1] == 0)
        printf("%s: ok (%ld checks)\n", program, all[0]);
    MPI_Finalize();
    return all[1] != 0;
}

#endif
