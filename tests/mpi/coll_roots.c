/* Checks broadcast, gather(v), scatter(v) and reduce from every root, of no, odd and large data, also in place
   (MPI-3.1, sections 5.4 to 5.6, 5.9). */
#include "check.h"

#define LARGE 40000

static int counts[] = {0, 1, 7, 1000, LARGE};
static int *one, *all;

static void clear(void)
{
    for (int i = 0; i < LARGE; i++)
        one[i] = mark(rank, i, 1);
    for (int i = 0; i < LARGE * size; i++)
        all[i] = -1;
}

static void bcast(int root, int count)
{
    int good = 1;
    for (int i = 0; i <= count && i < LARGE; i++)
        one[i] = rank == root ? mark(root, i, 3) : -1;
    OK(MPI_Bcast(one, count, MPI_INT, root, MPI_COMM_WORLD));
    for (int i = 0; i < count; i++)
        good = good && one[i] == mark(root, i, 3);
    CHECK(good && (count == LARGE || rank == root || one[count] == -1));
}

static void gather(int root, int count, int in_place)
{
    int good = 1;
    clear();
    if (rank == root && in_place)
        memcpy(all + rank * count, one, count * sizeof(int));
    OK(MPI_Gather(rank == root && in_place ? MPI_IN_PLACE : one, count, MPI_INT, rank == root ? all : NULL, count,
                  MPI_INT, root, MPI_COMM_WORLD));
    for (int r = 0; r < size; r++)
        for (int i = 0; i < count; i++)
            good = good && all[r * count + i] == (rank == root ? mark(r, i, 1) : -1);
    CHECK(good);
}

static void scatter(int root, int count, int in_place)
{
    int good = 1;
    clear();
    for (int i = 0; i < count * size && rank == root; i++)
        all[i] = mark(i / (count ? count : 1), i % (count ? count : 1), 2);
    OK(MPI_Scatter(rank == root ? all : NULL, count, MPI_INT, rank == root && in_place ? MPI_IN_PLACE : one, count,
                   MPI_INT, root, MPI_COMM_WORLD));
    for (int i = 0; i < count; i++)
        good = good && one[i] == mark(rank, i, rank == root && in_place ? 1 : 2);
    CHECK(good);
}

/* Rank r has count + r elements, and its place is behind a gap of one. */
static void varying(int root, int count)
{
    int *numbers = malloc(size * sizeof(int)), *places = malloc(size * sizeof(int)), at = 0, good = 1;
    for (int r = 0; r < size; r++) {
        numbers[r] = r == 1 ? 0 : count + r;
        places[r] = at;
        at += numbers[r] + 1;
    }
    clear();
    OK(MPI_Gatherv(one, numbers[rank], MPI_INT, all, numbers, places, MPI_INT, root, MPI_COMM_WORLD));
    for (int r = 0; r < size && rank == root; r++) {
        for (int i = 0; i < numbers[r]; i++)
            good = good && all[places[r] + i] == mark(r, i, 1);
        good = good && all[places[r] + numbers[r]] == -1;
    }
    CHECK(good);
    for (int i = 0; i < LARGE; i++)
        one[i] = -1;
    OK(MPI_Scatterv(all, numbers, places, MPI_INT, one, numbers[rank], MPI_INT, root, MPI_COMM_WORLD));
    for (int i = 0; i < numbers[rank]; i++)
        good = good && one[i] == mark(rank, i, 1);
    CHECK(good && one[numbers[rank]] == -1);
    /* In place, the root's own part moves neither way. */
    if (rank == root)
        for (int i = 0; i < numbers[rank]; i++)
            all[places[rank] + i] = -9;
    OK(MPI_Gatherv(rank == root ? MPI_IN_PLACE : one, numbers[rank], MPI_INT, all, numbers, places, MPI_INT, root,
                   MPI_COMM_WORLD));
    if (rank == root)
        for (int r = 0; r < size; r++)
            for (int i = 0; i < numbers[r]; i++)
                good = good && all[places[r] + i] == (r == root ? -9 : mark(r, i, 1));
    CHECK(good);
    OK(MPI_Scatterv(all, numbers, places, MPI_INT, rank == root ? MPI_IN_PLACE : one, numbers[rank], MPI_INT, root,
                    MPI_COMM_WORLD));
    for (int i = 0; i < numbers[rank]; i++)
        good = good && one[i] == mark(rank, i, 1);
    CHECK(good);
    free(numbers);
    free(places);
}

static void reduce(int root, int count, int in_place)
{
    int good = 1;
    for (int i = 0; i < count; i++)
        one[i] = rank * 3 + i, all[i] = in_place && rank == root ? one[i] : -1;
    OK(MPI_Reduce(in_place && rank == root ? MPI_IN_PLACE : one, rank == root ? all : NULL, count, MPI_INT, MPI_SUM,
                  root, MPI_COMM_WORLD));
    for (int i = 0; i < count; i++)
        good = good && all[i] == (rank == root ? 3 * size * (size - 1) / 2 + size * i : -1);
    CHECK(good);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "coll_roots");
    one = malloc(LARGE * sizeof(int));
    all = malloc((size_t)LARGE * size * sizeof(int));
    for (int root = 0; root < size; root++)
        for (int c = 0; c < 5; c++) {
            bcast(root, counts[c]);
            for (int in_place = 0; in_place < 2; in_place++) {
                gather(root, counts[c], in_place);
                scatter(root, counts[c], in_place);
                /* Large ones in place at other roots are a matter of strict_coll. */
                if (!in_place || root == 0 || counts[c] < 100)
                    reduce(root, counts[c], in_place);
            }
            if (counts[c] < LARGE)
                varying(root, counts[c]);
        }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    free(one);
    free(all);
    return finish();
}
