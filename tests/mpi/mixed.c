/* Checks small parallel computations whose result is known: a heat equation with halos, a sample sort, a matrix
   product, a task farm. */
#include "check.h"

static unsigned seed;

static int draw(void)
{
    seed = seed * 1103515245u + 12345u;
    return (int)(seed >> 8 & 0xffff);
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* One-dimensional diffusion with whole numbers: the total stays, and every number of ranks has the same field. */
static void heat(void)
{
    enum { CELLS = 840, STEPS = 60 };
    int share = CELLS / size + (rank < CELLS % size),
        first = rank * (CELLS / size) + (rank < CELLS % size ? rank : CELLS % size);
    long *now = calloc(share + 2, sizeof *now), *next = calloc(share + 2, sizeof *next), whole[CELLS + 2] = {0},
        then[CELLS + 2] = {0};
    int up = rank + 1 < size ? rank + 1 : MPI_PROC_NULL, down = rank > 0 ? rank - 1 : MPI_PROC_NULL, good = 1;
    for (int i = 1; i <= CELLS; i++)
        whole[i] = i % 97 * 1000000L;
    for (int i = 1; i <= share; i++)
        now[i] = whole[first + i];
    for (int step = 0; step < STEPS; step++) {
        MPI_Request requests[4];
        MPI_Irecv(&now[0], 1, MPI_LONG, down, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&now[share + 1], 1, MPI_LONG, up, 2, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(&now[share], 1, MPI_LONG, up, 1, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(&now[1], 1, MPI_LONG, down, 2, MPI_COMM_WORLD, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        for (int i = 1; i <= share; i++)
            next[i] = (now[i - 1] + 2 * now[i] + now[i + 1]) / 4;
        for (int i = 1; i <= CELLS; i++)
            then[i] = (whole[i - 1] + 2 * whole[i] + whole[i + 1]) / 4;
        memcpy(now + 1, next + 1, share * sizeof *now);
        memcpy(whole + 1, then + 1, CELLS * sizeof *whole);
    }
    for (int i = 1; i <= share; i++)
        good = good && now[i] == whole[first + i];
    CHECK(good);
    free(now);
    free(next);
}

/* Splitters from samples, one exchange, sorted parts: in order across ranks, and nothing lost. */
static void sort(void)
{
    enum { EACH = 500 };
    int values[EACH], *samples = malloc(size * size * sizeof(int)), *own = malloc(size * sizeof(int));
    int *counts = calloc(size, sizeof(int)), *places = calloc(size + 1, sizeof(int)), *from = calloc(size, sizeof(int)),
        *at = calloc(size + 1, sizeof(int));
    long sum = 0, sorted_sum = 0, all[2], mine[2];
    seed = 17u + (unsigned)rank;
    for (int i = 0; i < EACH; i++)
        values[i] = draw(), sum += values[i];
    qsort(values, EACH, sizeof(int), ascending);
    for (int r = 0; r < size; r++)
        own[r] = values[r * EACH / size];
    OK(MPI_Allgather(own, size, MPI_INT, samples, size, MPI_INT, MPI_COMM_WORLD));
    qsort(samples, size * size, sizeof(int), ascending);
    for (int i = 0; i < EACH; i++) {
        int to = 0;
        while (to + 1 < size && values[i] >= samples[(to + 1) * size])
            to++;
        counts[to]++;
    }
    OK(MPI_Alltoall(counts, 1, MPI_INT, from, 1, MPI_INT, MPI_COMM_WORLD));
    for (int r = 0; r < size; r++)
        places[r + 1] = places[r] + counts[r], at[r + 1] = at[r] + from[r];
    int total = at[size], *part = malloc((total + 1) * sizeof(int)), edge = -1, good = 1;
    OK(MPI_Alltoallv(values, counts, places, MPI_INT, part, from, at, MPI_INT, MPI_COMM_WORLD));
    qsort(part, total, sizeof(int), ascending);
    for (int i = 0; i < total; i++)
        sorted_sum += part[i], good = good && (i == 0 || part[i - 1] <= part[i]);
    int highest = total ? part[total - 1] : -1;
    OK(MPI_Exscan(&highest, &edge, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    CHECK(good && (rank == 0 || total == 0 || edge <= part[0]));
    mine[0] = sum - sorted_sum, mine[1] = total;
    OK(MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK(all[0] == 0 && all[1] == (long)EACH * size);
    free(samples);
    free(own);
    free(counts);
    free(places);
    free(from);
    free(at);
    free(part);
}

/* A matrix product by rows: the second matrix goes round in a ring of blocks. */
static void product(void)
{
    enum { B = 3 };
    int n = B * size, good = 1;
    long *a = malloc(B * n * sizeof *a), *b = malloc(B * n * sizeof *b), *c = calloc(B * n, sizeof *c);
    for (int i = 0; i < B; i++)
        for (int j = 0; j < n; j++)
            a[i * n + j] = (rank * B + i) + 2 * j, b[i * n + j] = (rank * B + i) - j;
    for (int step = 0; step < size; step++) {
        int owner = (rank + step) % size;
        for (int i = 0; i < B; i++)
            for (int k = 0; k < B; k++)
                for (int j = 0; j < n; j++)
                    c[i * n + j] += a[i * n + owner * B + k] * b[k * n + j];
        MPI_Sendrecv_replace(b, B * n, MPI_LONG, (rank + size - 1) % size, 3, (rank + 1) % size, 3, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < B; i++)
        for (int j = 0; j < n; j++) {
            long expected = 0;
            for (int k = 0; k < n; k++)
                expected += (rank * B + i + 2L * k) * (k - j);
            good = good && c[i * n + j] == expected;
        }
    CHECK(good);
    free(a);
    free(b);
    free(c);
}

/* A master hands out work to whoever asks, and gets all results. */
static void farm(void)
{
    enum { TASKS = 100 };
    long total = 0;
    if (size == 1)
        return;
    if (rank == 0) {
        int sent = 0, stopped = 0;
        while (stopped < size - 1) {
            long result;
            MPI_Status status;
            MPI_Recv(&result, 1, MPI_LONG, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            if (status.MPI_TAG == 1)
                total += result;
            int task = sent < TASKS ? sent++ : -1;
            stopped += task < 0;
            MPI_Send(&task, 1, MPI_INT, status.MPI_SOURCE, 2, MPI_COMM_WORLD);
        }
        CHECK(total == (long)TASKS * (TASKS - 1) * (2 * TASKS - 1) / 6);
    } else {
        long result = 0;
        int task = 0, tag = 0;
        for (;;) {
            MPI_Send(&result, 1, MPI_LONG, 0, tag, MPI_COMM_WORLD);
            MPI_Recv(&task, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (task < 0)
                break;
            result = (long)task * task, tag = 1;
        }
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "mixed");
    heat();
    sort();
    product();
    farm();
    return finish();
}
