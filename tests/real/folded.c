/* Memory functions with folded blocks, and messages between folded blocks. Each rank prints its mistakes. */
#include <mcpsim.h>
#include <mpi.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { large = 3 << 20 };

static int mistakes;

static void expect(int holds, const char *what)
{
    if (!holds)
        printf("not so: %s\n", what), mistakes++;
}

/* Whether two blocks have the same memory. */
static int common(void *one, void *other)
{
    volatile char *a = one, *b = other;
    char before = a[5];
    a[5] = 1;
    int same = b[5] == 1;
    a[5] = 2;
    same &= b[5] == 2;
    a[5] = before;
    return same;
}

static void blocks(int is_folded)
{
    char *a = malloc(large), *b = calloc(large, 1), *small = malloc(100), *c = NULL, *d;
    expect(a != b && common(a, b) == is_folded, "malloc and calloc");
    memset(b, 0, large);
    expect(!common(a, small) && !common(b, small), "small blocks are private");
    expect(posix_memalign((void **)&c, 1 << 22, large) == 0 && (size_t)c % (1 << 22) == 0, "posix_memalign");
    d = aligned_alloc(4096, large);
    expect((size_t)d % 4096 == 0 && common(c, d) == is_folded, "aligned_alloc");
    memset(d, 7, large);
    d = realloc(d, 3 * large);
    expect(d[0] == 7 && d[large - 1] == 7 && common(a, d) == is_folded, "a larger block");
    expect(malloc_usable_size(d) >= 3 * large, "malloc_usable_size");
    d = realloc(d, 1000);
    expect(d[0] == 7 && d[999] == 7 && !common(a, d), "a block that becomes small");
    memset(d, 9, 1000);
    d = realloc(d, large);
    expect(d[0] == 9 && d[999] == 9 && common(a, d) == is_folded, "a block that becomes large");
    free(a), free(b), free(c), free(d), free(small), free(NULL);
    for (int i = 0; i < 1000; i++) {
        a = malloc(large);
        memset(a, i, 4096);
        free(a);
    }
}

/* Messages of all kinds, from and to blocks of `bytes` bytes. */
static void messages(char *from, char *to, int bytes)
{
    int rank, size;
    MPI_Request requests[2];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Sendrecv(from, bytes, MPI_CHAR, next, 1, to, bytes, MPI_CHAR, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(to, bytes, MPI_CHAR, before, 2, MPI_COMM_WORLD, requests);
    MPI_Isend(from, bytes, MPI_CHAR, next, 2, MPI_COMM_WORLD, requests + 1);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Bcast(to, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Allreduce(from, to, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Alltoall(from, bytes / size, MPI_CHAR, to, bytes / size, MPI_CHAR, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int is_folded = argc > 1;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    /* One rank after the other, because a rank changes the folded data of the other rank. */
    for (int turn = 0; turn < 2; turn++) {
        if (turn == rank) {
            blocks(is_folded);
            char *marked = mcpsim_shared_malloc(1000), *other = mcpsim_shared_malloc(1000);
            expect(marked != other, "mcpsim_shared_malloc");
            printf("marked blocks %s\n", common(marked, other) ? "in common" : "apart");
            mcpsim_shared_free(marked), mcpsim_shared_free(other);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }

    double *from, *to;
    MPI_Alloc_mem(large, MPI_INFO_NULL, &from);
    to = malloc(large);
    memset(from, 0, large);
    messages((char *)from, (char *)to, large);
    char *private_from = malloc(4096), *private_to = malloc(4096);
    memset(private_from, rank, 4096);
    messages(private_from, private_to, 4096);
    MPI_Sendrecv(private_from, 4096, MPI_CHAR, 1 - rank, 3, private_to, 4096, MPI_CHAR, 1 - rank, 3, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    expect(private_to[0] == 1 - rank && private_to[4095] == 1 - rank, "private data arrive");
    /* The blocks of both ranks have the same pages, so a short message finds its data there. */
    from[0] = 4.5;
    MPI_Sendrecv(from, 1, MPI_DOUBLE, 1 - rank, 4, private_to, 1, MPI_DOUBLE, 1 - rank, 4, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    expect(*(double *)private_to == 4.5, "short messages carry their data");
    MPI_Free_mem(from);
    free(to), free(private_from), free(private_to);
    printf("rank %d: %d mistakes\n", rank, mistakes);
    return MPI_Finalize();
}
