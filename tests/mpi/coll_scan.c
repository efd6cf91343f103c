/* Checks scan, exscan, reduce_scatter and reduce_scatter_block, also in place and of large data (MPI-3.1, sections
   5.10, 5.11). */
#include "check.h"

#define MOST 20000

static int in[MOST], out[MOST];

/* The sum over ranks 0 to n - 1 of what each gives at place i. */
static int sum(int n, int i)
{
    return n * (n - 1) / 2 + n * (i % 1000);
}

static void scans(int count)
{
    for (int in_place = 0; in_place < 2; in_place++) {
        int good = 1;
        for (int i = 0; i < count; i++)
            in[i] = out[i] = rank + i % 1000;
        OK(MPI_Scan(in_place ? MPI_IN_PLACE : out, in, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        for (int i = 0; i < count; i++)
            good = good && in[i] == sum(rank + 1, i);
        CHECK(good);
        for (int i = 0; i < count; i++)
            in[i] = out[i];
        OK(MPI_Exscan(in_place ? MPI_IN_PLACE : out, in, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        for (int i = 0; i < count && rank > 0; i++)
            good = good && in[i] == sum(rank, i);
        CHECK(good);
    }
}

static void blocks(int count)
{
    int *many = malloc((count * size + 1) * sizeof(int)), *part = malloc((count + 1) * sizeof(int));
    for (int in_place = 0; in_place < 2; in_place++) {
        int good = 1, *result = in_place ? many : part;
        for (int i = 0; i < count * size; i++)
            many[i] = rank + i % 1000;
        part[count] = -1;
        OK(MPI_Reduce_scatter_block(in_place ? MPI_IN_PLACE : many, result, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        for (int i = 0; i < count; i++)
            good = good && result[i] == sum(size, rank * count + i);
        CHECK(good && part[count] == -1);
    }
    free(many);
    free(part);
}

static void uneven(int scale)
{
    int *counts = malloc(size * sizeof(int)), total = 0, first = 0;
    for (int r = 0; r < size; r++) {
        counts[r] = r % 3 == 1 ? 0 : scale * (1 + r % 4);
        first = r == rank ? total : first;
        total += counts[r];
    }
    int *many = malloc((total + 1) * sizeof(int)), *part = malloc((total + 1) * sizeof(int));
    for (int in_place = 0; in_place < 2; in_place++) {
        int good = 1, *result = in_place ? many : part;
        for (int i = 0; i < total; i++)
            many[i] = rank + i % 1000, part[i] = -1;
        OK(MPI_Reduce_scatter(in_place ? MPI_IN_PLACE : many, result, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        for (int i = 0; i < counts[rank]; i++)
            good = good && result[i] == sum(size, first + i);
        CHECK(good && (in_place || counts[rank] == total || part[counts[rank]] == -1));
    }
    free(counts);
    free(many);
    free(part);
}

int main(int argc, char **argv)
{
    static const int counts[] = {0, 1, 3, 100, MOST};
    start(&argc, &argv, "coll_scan");
    for (int c = 0; c < 5; c++) {
        scans(counts[c]);
        if (counts[c])
            blocks(counts[c]);
    }
    uneven(1);
    uneven(33);
    uneven(4000);
    return finish();
}
