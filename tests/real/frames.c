/* Prints the calling functions up to main, as backtrace returns them. */
#include <execinfo.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) int inner(int x) {
    void *frames[30];
    int count = backtrace(frames, 30), reached = 0;
    char **texts = backtrace_symbols(frames, count);
    for (int i = 0; i < count && !reached; i++) {
        char *name = strchr(texts[i], '(');
        char *end = name ? strchr(name, '+') : NULL;
        if (!end) continue;
        *end = 0;
        printf("%s ", name + 1);
        reached = !strcmp(name + 1, "main");
    }
    printf(reached ? "\n" : "and no main\n");
    free(texts);
    return x + count;
}

__attribute__((noinline)) int outer(int x) { return inner(x) + 1; }

/* The C library calls this function. */
static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b + 0 * outer(1); }

int main(int argc, char **argv) {
    int numbers[] = {2, 1}, size, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int turn = 0; turn < size; turn++) {
        if (turn == rank) {
            outer(0);
            qsort(numbers, 2, sizeof *numbers, order);
            fflush(stdout);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
