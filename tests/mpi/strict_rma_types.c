/* Checks one-sided operations with datatypes of all shapes at both ends (MPI-3.1, sections 11.3.1 to 11.3.4). */
#include "check.h"
#include <stddef.h>

#define N 240

struct pair {
    double value;
    int place;
};

struct record {
    char letter;
    double number;
    short few[3];
};

static void structures(int next, int last)
{
    struct record memory[4], out[4];
    struct record *there = memory;
    int lengths[3] = {1, 1, 3}, good = 1;
    MPI_Aint places[3] = {offsetof(struct record, letter), offsetof(struct record, number), offsetof(struct record, few)};
    MPI_Datatype parts[3] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT}, tight, whole;
    MPI_Win win;
    memset(memory, 0x55, sizeof memory);
    for (int i = 0; i < 4; i++) {
        out[i].letter = (char)('a' + i), out[i].number = rank + i / 8.0;
        for (int j = 0; j < 3; j++)
            out[i].few[j] = (short)(100 * rank + 10 * i + j);
    }
    OK(MPI_Type_create_struct(3, lengths, places, parts, &tight));
    OK(MPI_Type_create_resized(tight, 0, sizeof(struct record), &whole));
    OK(MPI_Type_commit(&whole));
    OK(MPI_Win_create(there, sizeof memory, sizeof(struct record), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(out, 3, whole, next, 1, 3, whole, win));
    OK(MPI_Type_free(&whole));
    OK(MPI_Type_free(&tight));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < 3; i++) {
        struct record *r = &memory[i + 1];
        good = good && r->letter == 'a' + i && r->number == last + i / 8.0;
        for (int j = 0; j < 3; j++)
            good = good && r->few[j] == 100 * last + 10 * i + j;
        /* Gaps stay as they are. */
        good = good && ((unsigned char *)r)[offsetof(struct record, letter) + 1] == 0x55;
    }
    CHECK(good && ((unsigned char *)memory)[0] == 0x55);
    OK(MPI_Win_free(&win));
}

/* Blocks of different lengths, last ones first, from a matrix in the order of columns. */
static void irregular(int next, int last)
{
    int memory[N], out[N], in[N], good = 1;
    int lengths[4] = {3, 1, 5, 2}, places[4] = {100, 7, 20, 0};
    MPI_Datatype list, column, columns;
    MPI_Win win;
    for (int i = 0; i < N; i++)
        memory[i] = -i, out[i] = mark(rank, i, 3), in[i] = -1;
    OK(MPI_Type_indexed(4, lengths, places, MPI_INT, &list));
    OK(MPI_Type_commit(&list));
    OK(MPI_Type_vector(11, 1, 7, MPI_INT, &column));
    OK(MPI_Type_create_resized(column, 0, sizeof(int), &columns));
    OK(MPI_Type_commit(&columns));
    OK(MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Put(out, 1, columns, next, 30, 1, list, win));
    OK(MPI_Win_flush(next, win));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Get(in, 1, columns, next, 30, 1, list, win));
    OK(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    for (int b = 0, n = 0; b < 4; b++)
        for (int i = 0; i < lengths[b]; i++, n++) {
            good = good && memory[30 + places[b] + i] == mark(last, 7 * n, 3);
            good = good && in[7 * n] == mark(rank, 7 * n, 3);
        }
    CHECK(good && memory[29] == -29 && memory[33] == -33 && memory[38] == -38 && in[1] == -1);
    OK(MPI_Win_unlock(rank, win));
    /* Two columns side by side here are ten pairs of neighbours there. */
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(out, 2, columns, next, 0, 22, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < 11; i++)
        good = good && memory[i] == mark(last, 7 * i, 3) && memory[11 + i] == mark(last, 7 * i + 1, 3);
    CHECK(good);
    OK(MPI_Type_free(&list));
    OK(MPI_Type_free(&column));
    OK(MPI_Type_free(&columns));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_free(&win));
}

/* Values with places; only some elements of a vector; logical and bitwise operations. */
static void reductions(void)
{
    struct pair best[3] = {{-1e9, -1}, {1e9, -1}, {0.5, 77}}, mine = {rank % 3, rank};
    MPI_Win win;
    OK(MPI_Win_create(best, sizeof best, sizeof(struct pair), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Accumulate(&mine, 1, MPI_DOUBLE_INT, 0, 0, 1, MPI_DOUBLE_INT, MPI_MAXLOC, win));
    OK(MPI_Accumulate(&mine, 1, MPI_DOUBLE_INT, 0, 1, 1, MPI_DOUBLE_INT, MPI_MINLOC, win));
    OK(MPI_Win_fence(0, win));
    int most = size < 3 ? size - 1 : 2;
    CHECK(rank != 0 || (best[0].value == most && best[0].place == most && best[1].value == 0 && best[1].place == 0));
    CHECK(best[2].value == 0.5 && best[2].place == 77);
    OK(MPI_Win_free(&win));

    unsigned bits[12], add[4] = {1u << rank % 32, 2, 1, 0};
    MPI_Datatype every_third;
    for (int i = 0; i < 12; i++)
        bits[i] = i == 4 ? ~0u : 0;
    OK(MPI_Type_vector(4, 1, 3, MPI_UNSIGNED, &every_third));
    OK(MPI_Type_commit(&every_third));
    OK(MPI_Win_create(bits, sizeof bits, sizeof(unsigned), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Accumulate(add, 4, MPI_UNSIGNED, 0, 0, 1, every_third, MPI_BOR, win));
    OK(MPI_Accumulate(&add[1], 1, MPI_UNSIGNED, 0, 4, 1, MPI_UNSIGNED, MPI_BAND, win));
    OK(MPI_Accumulate(&add[1], 1, MPI_UNSIGNED, 0, 1, 1, MPI_UNSIGNED, MPI_LOR, win));
    OK(MPI_Win_fence(0, win));
    unsigned all = size >= 32 ? ~0u : (1u << size) - 1;
    CHECK(rank != 0 || (bits[0] == all && bits[3] == 2 && bits[6] == 1 && bits[9] == 0));
    CHECK(rank != 0 || (bits[4] == 2 && bits[1] == 1 && bits[2] == 0));
    OK(MPI_Type_free(&every_third));
    OK(MPI_Win_free(&win));
}

/* Messages much longer than those that are sent at once. */
static void large(int next, int last)
{
    enum { LARGE = 300000 };
    int *memory, *out = malloc(LARGE * sizeof(int)), *in = malloc(LARGE * sizeof(int)), good = 1;
    MPI_Win win;
    for (int i = 0; i < LARGE; i++)
        out[i] = i ^ rank, in[i] = -1;
    OK(MPI_Win_allocate(LARGE * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(out, LARGE, MPI_INT, next, 0, LARGE, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(in, LARGE, MPI_INT, last, 0, LARGE, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < LARGE; i++)
        good = good && memory[i] == (i ^ last) && in[i] == (i ^ (last + size - 1) % size);
    CHECK(good);
    OK(MPI_Win_free(&win));
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "strict_rma_types");
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    structures(next, last);
    irregular(next, last);
    reductions();
    large(next, last);
    return finish();
}
