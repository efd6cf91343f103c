/* Ranks damage the heap in the way that the argument selects. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is(char **argv, const char *mode) { return !strcmp(argv[1], mode); }

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *block = malloc(100);
    memset(block, rank, 100);
    MPI_Barrier(MPI_COMM_WORLD);
    if (is(argv, "freed")) {
        if (rank == 1) free(block);
        MPI_Barrier(MPI_COMM_WORLD);
        char *other = rank == 2 ? malloc(100) : 0;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) block[7] = 9;
        MPI_Barrier(MPI_COMM_WORLD);
        free(other);
        return 0;
    }
    if (is(argv, "past") && rank == 1) memset(block, 1, 124);
    if (is(argv, "read") && rank == 1) printf("%d\n", block[130]);
    if (is(argv, "before") && rank == 1) block[-4000] = 1;
    if (is(argv, "padding") && rank == 1) block[101] = 1, block[103] = 1;
    if (is(argv, "left") && rank == 1) block[-2] = 1;
    if (is(argv, "twice") && rank == 1) free(block);
    if (is(argv, "inside") && rank == 1) block += 4;
    if (is(argv, "receive")) {
        char *small = calloc(10, 4);
        if (rank == 0) MPI_Send(argv[0], 4096, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(small, 4096, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        free(small);
    }
    if (is(argv, "window")) {
        MPI_Win window;
        char *memory, data[8] = {0};
        MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
        MPI_Win_free(&window);
        MPI_Win_create(block, 4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
        MPI_Win_fence(0, window);
        if (rank == 0) MPI_Put(data, 8, MPI_CHAR, 1, 112, 8, MPI_CHAR, window);
        MPI_Win_fence(0, window);
        MPI_Win_free(&window);
    }
    if (is(argv, "local")) {
        MPI_Win window;
        char *memory;
        MPI_Win_allocate(60, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
        if (rank == 1) memory[61] = 1;
        MPI_Win_free(&window);
    }
    if (is(argv, "sound")) {
        char *line = malloc(4), *copy = strdup("a copy"), *many[1000];
        size_t room = 4;
        FILE *file = tmpfile();
        fprintf(file, "a longer line than there is room for\n");
        rewind(file);
        if (getline(&line, &room, file) != 37 || room < 38 || strcmp(copy, "a copy")) printf("wrong\n");
        fclose(file);
        for (int i = 0; i < 1000; i++) many[i] = malloc(i);
        for (int i = 0; i < 1000; i++) many[i] = realloc(many[i], 3 * i + 1), memset(many[i], i, 3 * i + 1);
        for (int i = 0; i < 1000; i++) free(many[i]);
        char *aligned = aligned_alloc(256, 512), *path = realpath("/", 0), *mpi;
        MPI_Alloc_mem(50, MPI_INFO_NULL, &mpi);
        if ((size_t)aligned % 256 || strcmp(path, "/") || malloc_usable_size(block) != 100) printf("wrong\n");
        MPI_Free_mem(mpi);
        block = realloc(block, 100000);
        if (block[99] != rank) printf("wrong\n");
        free(line), free(copy), free(aligned), free(path);
        printf("%zu bytes\n", mallinfo2().uordblks);
    }
    if (is(argv, "figures")) printf("%d %zu\n", mallopt(M_MMAP_THRESHOLD, 1), mallinfo2().uordblks);
    if (is(argv, "user") && setuid(12345)) printf("refused\n");
    if (is(argv, "call") && syscall(SYS_setuid, 12345)) printf("refused\n");
    if (!is(argv, "left")) free(block);
    MPI_Finalize();
    return 0;
}
