/* Checks collectives on derived datatypes: other layouts on either side, a transposition, blocks resized to interleave
   (MPI-3.1, chapter 5). */
#include "check.h"

static void columns(void)
{
    /* The root scatters the columns of a matrix of 4 rows; each rank receives a row of four. */
    int columns = size, root = size - 1, row[4] = {-1, -1, -1, -1};
    int *matrix = malloc(4 * columns * sizeof(int));
    MPI_Datatype column, narrow;
    for (int i = 0; i < 4 * columns; i++)
        matrix[i] = rank == root ? i : -1;
    OK(MPI_Type_vector(4, 1, columns, MPI_INT, &column));
    OK(MPI_Type_create_resized(column, 0, sizeof(int), &narrow));
    OK(MPI_Type_commit(&narrow));
    OK(MPI_Scatter(matrix, 1, narrow, row, 4, MPI_INT, root, MPI_COMM_WORLD));
    for (int i = 0; i < 4; i++)
        CHECK(row[i] == i * columns + rank);
    /* And everybody gathers all of them, turned back to columns. */
    for (int i = 0; i < 4 * columns; i++)
        matrix[i] = -1;
    OK(MPI_Allgather(row, 4, MPI_INT, matrix, 1, narrow, MPI_COMM_WORLD));
    int good = 1;
    for (int i = 0; i < 4 * columns; i++)
        good = good && matrix[i] == i;
    CHECK(good);
    for (int i = 0; i < 4; i++)
        row[i] += 1000;
    OK(MPI_Gather(row, 4, MPI_INT, matrix, 1, narrow, root, MPI_COMM_WORLD));
    for (int i = 0; i < 4 * columns; i++)
        good = good && matrix[i] == (rank == root ? i + 1000 : i);
    CHECK(good);
    /* A broadcast of one column only, as ints elsewhere. */
    int line[4] = {-1, -1, -1, -1};
    if (rank == root)
        OK(MPI_Bcast(matrix + columns - 1, 1, narrow, root, MPI_COMM_WORLD));
    else
        OK(MPI_Bcast(line, 4, MPI_INT, root, MPI_COMM_WORLD));
    for (int i = 0; i < 4 && rank != root; i++)
        CHECK(line[i] == i * columns + columns - 1 + 1000);
    OK(MPI_Type_free(&column));
    OK(MPI_Type_free(&narrow));
    free(matrix);
}

/* A matrix of size × size blocks of 3 × 3, a row of blocks a rank, is transposed by one MPI_Alltoall. */
static void transposition(void)
{
    enum { B = 3 };
    int width = B * size, good = 1;
    int *rows = malloc(B * width * sizeof(int)), *turned = malloc(B * width * sizeof(int));
    MPI_Datatype block, line, turn;
    for (int i = 0; i < B; i++)
        for (int j = 0; j < width; j++)
            rows[i * width + j] = (rank * B + i) * width + j, turned[i * width + j] = -1;
    OK(MPI_Type_vector(B, B, width, MPI_INT, &line));
    OK(MPI_Type_create_resized(line, 0, B * sizeof(int), &block));
    OK(MPI_Type_commit(&block));
    OK(MPI_Type_free(&line));
    /* A block column by column. */
    OK(MPI_Type_vector(B, 1, width, MPI_INT, &line));
    OK(MPI_Type_create_hvector(B, 1, sizeof(int), line, &turn));
    OK(MPI_Type_free(&line));
    OK(MPI_Type_create_resized(turn, 0, B * sizeof(int), &line));
    OK(MPI_Type_commit(&line));
    OK(MPI_Alltoall(rows, 1, block, turned, 1, line, MPI_COMM_WORLD));
    for (int i = 0; i < B; i++)
        for (int j = 0; j < width; j++)
            good = good && turned[i * width + j] == j * width + rank * B + i;
    CHECK(good);
    OK(MPI_Type_free(&block));
    OK(MPI_Type_free(&turn));
    OK(MPI_Type_free(&line));
    free(rows);
    free(turned);
}

/* Structs with gaps: the gaps of the receiver stay as they are. */
static void gaps(void)
{
    struct item {
        char tag;
        double value;
    } mine, *all = malloc(size * sizeof *all);
    int lengths[2] = {1, 1}, good = 1;
    MPI_Aint places[2] = {0, (char *)&mine.value - (char *)&mine};
    MPI_Datatype types[2] = {MPI_CHAR, MPI_DOUBLE}, type;
    OK(MPI_Type_create_struct(2, lengths, places, types, &type));
    OK(MPI_Type_commit(&type));
    memset(all, 0x5a, size * sizeof *all);
    memset(&mine, 0, sizeof mine);
    mine.tag = (char)('a' + rank % 26);
    mine.value = rank + 0.25;
    OK(MPI_Allgather(&mine, 1, type, all, 1, type, MPI_COMM_WORLD));
    for (int r = 0; r < size; r++)
        good = good && all[r].tag == 'a' + r % 26 && all[r].value == r + 0.25 && ((char *)&all[r])[3] == 0x5a;
    CHECK(good);
    OK(MPI_Type_free(&type));
    free(all);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "coll_types");
    columns();
    transposition();
    gaps();
    return finish();
}
