/* Times every algorithm that Open MPI's tuned module has for allreduce, bcast and alltoall, of 8 B, 4 KiB and 256 KiB:
 *
 *     mpicc -O2 -o algorithms validation/here/algorithms.c
 *     mpirun -n 2 --mca coll_tuned_use_dynamic_rules 1 ./algorithms ROUNDS SECONDS
 *
 * Each algorithm has a communicator of its own, made while MPI_T holds coll_tuned_..._algorithm at its number. A round
 * times each for about SECONDS, one after the other; each round begins with another one. A time is the mean over calls
 * and ranks, with a barrier after each call, outside of it. Prints collective, bytes, number of the algorithm, bytes of
 * a segment (0: none), round, microseconds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 3, SIZES = 3, MOST = 262144, VARIANTS = 64, WARM = 20 };

static const char *const names[KINDS] = {"allreduce", "bcast", "alltoall"};
static const int algorithms[KINDS] = {6, 9, 5};
static const int sizes[SIZES] = {8, 4096, MOST};
static const int segments[] = {0, 4096, 32768, 131072};

struct variant {
    int algorithm, segment;
    MPI_Comm comm;
};

static char *from, *to;

/* Sets a variable of Open MPI's for what is made from now on. */
static void set(const char *kind, const char *what, int value)
{
    char name[128];
    int index, count;
    MPI_T_cvar_handle handle;
    snprintf(name, sizeof name, "coll_tuned_%s_algorithm%s", kind, what);
    if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS ||
        MPI_T_cvar_write(handle, &value) != MPI_SUCCESS) {
        fprintf(stderr, "algorithms: %s cannot be set\n", name);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_T_cvar_handle_free(&handle);
}

/* Whether Open MPI looks at these variables. */
static int are_heard(void)
{
    int index, count, heard = 0;
    MPI_T_cvar_handle handle;
    if (MPI_T_cvar_get_index("coll_tuned_use_dynamic_rules", &index) != MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS)
        return 0;
    if (count == 1)
        MPI_T_cvar_read(handle, &heard);
    MPI_T_cvar_handle_free(&handle);
    return heard != 0;
}

/* Those that take segments: allreduce's segmented ring, and bcast's chains and trees. */
static int takes_segments(int kind, int algorithm)
{
    return (kind == 0 && algorithm == 5) || (kind == 1 && algorithm >= 2 && algorithm <= 7);
}

static int variants_of(int kind, int ranks, struct variant *variants)
{
    int count = 0;
    /* The last of alltoall is for two ranks only. */
    const int last = kind == 2 && ranks != 2 ? algorithms[kind] - 1 : algorithms[kind];
    for (int algorithm = 1; algorithm <= last; algorithm++) {
        for (int k = 0; k < (takes_segments(kind, algorithm) ? 4 : 1); k++) {
            set(names[kind], "", algorithm);
            set(names[kind], "_segmentsize", segments[k]);
            variants[count].algorithm = algorithm;
            variants[count].segment = segments[k];
            MPI_Comm_dup(MPI_COMM_WORLD, &variants[count++].comm);
        }
    }
    set(names[kind], "", 0);
    return count;
}

static void call(int kind, int bytes, MPI_Comm comm)
{
    if (kind == 0)
        MPI_Allreduce(from, to, bytes / 4, MPI_FLOAT, MPI_SUM, comm);
    else if (kind == 1)
        MPI_Bcast(from, bytes, MPI_BYTE, 0, comm);
    else
        MPI_Alltoall(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, comm);
}

/* Seconds a call. */
static double timed(int kind, int bytes, MPI_Comm comm, MPI_Comm apart, int times)
{
    double spent = 0, sum;
    int ranks;
    for (int k = 0; k < times; k++) {
        const double start = MPI_Wtime();
        call(kind, bytes, comm);
        spent += MPI_Wtime() - start;
        MPI_Barrier(apart);
    }
    MPI_Comm_size(comm, &ranks);
    MPI_Allreduce(&spent, &sum, 1, MPI_DOUBLE, MPI_SUM, apart);
    return sum / times / ranks;
}

int main(int argc, char **argv)
{
    int provided, rank, ranks;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int rounds = argc == 3 ? atoi(argv[1]) : 0;
    const double seconds = argc == 3 ? atof(argv[2]) : 0;
    from = calloc(ranks, MOST);
    to = calloc(ranks, MOST);
    if (rounds < 1 || seconds <= 0 || ranks < 2 || from == NULL || to == NULL) {
        fprintf(stderr, "usage: mpirun -n RANKS algorithms ROUNDS SECONDS, with two ranks or more\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (!are_heard()) {
        fprintf(stderr, "algorithms: wants Open MPI 4 with --mca coll_tuned_use_dynamic_rules 1\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    memset(from, 0, (size_t)ranks * MOST);
    for (int kind = 0; kind < KINDS; kind++) {
        struct variant variants[VARIANTS];
        const int count = variants_of(kind, ranks, variants);
        MPI_Comm apart;
        MPI_Comm_dup(MPI_COMM_WORLD, &apart);
        for (int size = 0; size < SIZES; size++) {
            const int bytes = sizes[size];
            int times = 0;
            for (int k = 0; k < count; k++) {
                const double alone = timed(kind, bytes, variants[k].comm, apart, WARM);
                if (k == 0)
                    times = alone * 20000 < seconds ? 20000 : (int)(seconds / alone) + 5;
            }
            MPI_Bcast(&times, 1, MPI_INT, 0, apart);
            for (int round = 0; round < rounds; round++) {
                for (int k = 0; k < count; k++) {
                    const struct variant *variant = &variants[(k + 7 * round) % count];
                    if (variant->segment >= bytes)
                        continue;
                    const double mean = timed(kind, bytes, variant->comm, apart, times);
                    if (rank == 0)
                        printf("%s,%d,%d,%d,%d,%.4f\n", names[kind], bytes, variant->algorithm, variant->segment, round,
                               mean * 1e6);
                }
                fflush(stdout);
            }
        }
        for (int k = 0; k < count; k++)
            MPI_Comm_free(&variants[k].comm);
        MPI_Comm_free(&apart);
    }
    free(from);
    free(to);
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
