/* Ends in the way that the first argument selects. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank;

static void first(void) { printf("first %d\n", rank); }
static void second(void) { printf("second %d\n", rank); }
static void with_code(int code, void *text) { printf("%s %d: %d\n", (char *)text, rank, code); }
static void quick(void) { printf("quick %d\n", rank); fflush(stdout); }
static void talk(void) {
    int value = rank, sum;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("sum %d\n", sum);
    MPI_Finalize();
}

int main(int argc, char **argv) {
    char *how = argv[1];
    if (!strcmp(how, "without")) return 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    atexit(first);
    on_exit(with_code, "code");
    atexit(second);
    at_quick_exit(quick);
    if (!strcmp(how, "talk")) { atexit(talk); return 0; }
    if (!strcmp(how, "early") && rank == 1) exit(3);
    if (!strcmp(how, "abort") && rank == 1) MPI_Abort(MPI_COMM_WORLD, 9);
    if (!strcmp(how, "signal") && rank == 1) abort();
    if (!strcmp(how, "forgotten")) return 0;
    if (!strcmp(how, "left") && rank == 1) exit(0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    printf("partial %d", rank);
    if (rank == 1) {
        if (!strcmp(how, "exit")) exit(3);
        if (!strcmp(how, "return")) return 4;
        if (!strcmp(how, "_exit")) { fflush(stdout); _exit(5); }
        if (!strcmp(how, "quick")) quick_exit(6);
        if (!strcmp(how, "pipe")) {
            int ends[2];
            signal(SIGPIPE, SIG_DFL);
            if (pipe(ends) || close(ends[0])) return 9;
            return write(ends[1], "x", 1) < 0;
        }
    }
    return 0;
}
