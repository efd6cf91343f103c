/* Checks allgather(v), alltoall(v, w), allreduce and barrier, also in place (MPI-3.1, sections 5.3, 5.7, 5.8, 5.9.6). */
#include "check.h"

#define MOST 3000

static int *in, *out, *numbers, *places, *back, *gaps;

static void reset(void)
{
    for (int i = 0; i < MOST * size; i++)
        in[i] = -1, out[i] = -1;
}

static void allgather(int count)
{
    for (int in_place = 0; in_place < 2; in_place++) {
        int good = 1;
        reset();
        for (int i = 0; i < count; i++)
            (in_place ? in + rank * count : out)[i] = mark(rank, i, 1);
        OK(MPI_Allgather(in_place ? MPI_IN_PLACE : out, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD));
        for (int i = 0; i < count * size; i++)
            good = good && in[i] == mark(i / count, i % count, 1);
        CHECK(good && (count == MOST || in[count * size] == -1));
        /* With one gap behind each, and backwards. */
        int at = 0;
        reset();
        for (int r = size - 1; r >= 0; r--) {
            numbers[r] = count / (r + 1);
            places[r] = at;
            at += numbers[r] + (count < MOST);
        }
        for (int i = 0; i < numbers[rank]; i++)
            (in_place ? in + places[rank] : out)[i] = mark(rank, i, 2);
        OK(MPI_Allgatherv(in_place ? MPI_IN_PLACE : out, numbers[rank], MPI_INT, in, numbers, places, MPI_INT,
                          MPI_COMM_WORLD));
        for (int r = 0; r < size; r++) {
            for (int i = 0; i < numbers[r]; i++)
                good = good && in[places[r] + i] == mark(r, i, 2);
            good = good && (count == MOST || in[places[r] + numbers[r]] == -1);
        }
        CHECK(good);
    }
}

static void alltoall(int count)
{
    for (int in_place = 0; in_place < 2; in_place++) {
        int good = 1;
        reset();
        for (int i = 0; i < count * size; i++)
            (in_place ? in : out)[i] = mark(rank, i, 3);
        OK(MPI_Alltoall(in_place ? MPI_IN_PLACE : out, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD));
        for (int r = 0; r < size; r++)
            for (int i = 0; i < count; i++)
                good = good && in[r * count + i] == mark(r, rank * count + i, 3);
        CHECK(good);
    }
}

/* Rank a sends (a + 2b) % 5 * scale elements to b. */
static int part(int a, int b, int scale)
{
    return (a + 2 * b) % 5 * scale;
}

static void alltoallv(int scale)
{
    int at = 0, from = 0, good = 1;
    MPI_Datatype *types = malloc(size * sizeof *types);
    reset();
    for (int r = 0; r < size; r++) {
        numbers[r] = part(rank, r, scale);
        places[r] = at;
        for (int i = 0; i < numbers[r]; i++)
            out[at + i] = mark(rank, i, r);
        at += numbers[r] + 2;
        back[r] = part(r, rank, scale);
        gaps[r] = from;
        from += back[r] + 1;
        types[r] = MPI_INT;
    }
    OK(MPI_Alltoallv(out, numbers, places, MPI_INT, in, back, gaps, MPI_INT, MPI_COMM_WORLD));
    for (int r = 0; r < size; r++) {
        for (int i = 0; i < back[r]; i++)
            good = good && in[gaps[r] + i] == mark(r, i, rank);
        good = good && in[gaps[r] + back[r]] == -1;
    }
    CHECK(good);
    /* The same in bytes; every odd rank's data is received as pairs where they come out even. */
    for (int i = 0; i < MOST * size; i++)
        in[i] = -1;
    for (int r = 0; r < size; r++)
        places[r] *= sizeof(int), gaps[r] *= sizeof(int);
    MPI_Datatype pair;
    OK(MPI_Type_contiguous(2, MPI_INT, &pair));
    OK(MPI_Type_commit(&pair));
    for (int r = 1; r < size; r += 2)
        if (back[r] % 2 == 0)
            back[r] /= 2, types[r] = pair;
    MPI_Datatype *plain = malloc(size * sizeof *plain);
    for (int r = 0; r < size; r++)
        plain[r] = MPI_INT;
    OK(MPI_Alltoallw(out, numbers, places, plain, in, back, gaps, types, MPI_COMM_WORLD));
    for (int r = 0; r < size; r++)
        for (int i = 0; i < part(r, rank, scale); i++)
            good = good && in[gaps[r] / sizeof(int) + i] == mark(r, i, rank);
    CHECK(good);
    OK(MPI_Type_free(&pair));
    free(types);
    free(plain);
}

/* In place, what a pair exchanges is of one size. */
static void alltoallv_in_place(void)
{
    int at = 0, good = 1;
    MPI_Datatype *types = malloc(size * sizeof *types);
    for (int way = 0; way < 2; way++, at = 0) {
        reset();
        for (int r = 0; r < size; r++) {
            numbers[r] = 1 + (rank + r) % 4;
            places[r] = way ? at * (int)sizeof(int) : at;
            types[r] = MPI_INT;
            for (int i = 0; i < numbers[r]; i++)
                in[at + i] = mark(rank, i, r);
            at += numbers[r] + 1;
        }
        if (way)
            OK(MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, in, numbers, places, types, MPI_COMM_WORLD));
        else
            OK(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, in, numbers, places, MPI_INT,
                             MPI_COMM_WORLD));
        for (int r = 0; r < size; r++)
            for (int i = 0; i < numbers[r]; i++)
                good = good && in[places[r] / (way ? (int)sizeof(int) : 1) + i] == mark(r, i, rank);
        CHECK(good);
    }
    free(types);
}

static void allreduce(int count)
{
    for (int in_place = 0; in_place < 2; in_place++) {
        int good = 1;
        reset();
        for (int i = 0; i < count; i++)
            (in_place ? in : out)[i] = rank + i;
        OK(MPI_Allreduce(in_place ? MPI_IN_PLACE : out, in, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        for (int i = 0; i < count; i++)
            good = good && in[i] == size * (size - 1) / 2 + size * i;
        CHECK(good && (count == MOST * size || in[count] == -1));
    }
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 2, 17, 1024, MOST};
    start(&argc, &argv, "coll_all");
    in = malloc((size_t)MOST * size * sizeof(int));
    out = malloc((size_t)MOST * size * sizeof(int));
    numbers = malloc(size * sizeof(int));
    places = malloc(size * sizeof(int));
    back = malloc(size * sizeof(int));
    gaps = malloc(size * sizeof(int));
    for (int c = 0; c < 5; c++) {
        allgather(counts[c]);
        alltoall(counts[c]);
        allreduce(counts[c]);
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Allgather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD));
    OK(MPI_Alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD));
    alltoallv(1);
    alltoallv(100);
    alltoallv(500);
    alltoallv_in_place();
    free(in);
    free(out);
    free(numbers);
    free(places);
    free(back);
    free(gaps);
    return finish();
}
