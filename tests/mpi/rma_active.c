/* Checks put, get and accumulate between fences and between post, start, complete and wait (MPI-3.1, sections 11.3,
   11.5.1, 11.5.2). */
#include "check.h"

#define N 100

static int memory[N], in[N], out[N];
static MPI_Win win;

static void clear(int value)
{
    for (int i = 0; i < N; i++)
        memory[i] = value + i, out[i] = mark(rank, i, 1), in[i] = -1;
}

static void fences(void)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size, good = 1;
    clear(-N);
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    OK(MPI_Put(out, N / 2, MPI_INT, next, 10, N / 2, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < N; i++)
        good = good && memory[i] == (i >= 10 && i < 10 + N / 2 ? mark(last, i - 10, 1) : i - N);
    CHECK(good);
    OK(MPI_Get(in, N, MPI_INT, next, 0, N, MPI_INT, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED | MPI_MODE_NOPUT, win));
    for (int i = 0; i < N; i++)
        good = good && in[i] == (i >= 10 && i < 10 + N / 2 ? mark(rank, i - 10, 1) : i - N);
    CHECK(good);
    /* Everybody adds to everybody: element 0 a sum, 1 a maximum, 2 a product of twos; 3 is replaced by one of them. */
    MPI_Barrier(MPI_COMM_WORLD);
    memory[0] = 0, memory[1] = -5, memory[2] = 1, memory[3] = -1;
    int two = 2, product = 1;
    OK(MPI_Win_fence(0, win));
    for (int r = 0; r < size; r++) {
        OK(MPI_Accumulate(&rank, 1, MPI_INT, r, 0, 1, MPI_INT, MPI_SUM, win));
        OK(MPI_Accumulate(&rank, 1, MPI_INT, r, 1, 1, MPI_INT, MPI_MAX, win));
        OK(MPI_Accumulate(&two, 1, MPI_INT, r, 2, 1, MPI_INT, MPI_PROD, win));
        OK(MPI_Accumulate(&rank, 1, MPI_INT, r, 3, 1, MPI_INT, MPI_REPLACE, win));
        product *= 2;
    }
    OK(MPI_Win_fence(0, win));
    CHECK(memory[0] == size * (size - 1) / 2 && memory[1] == size - 1 && memory[2] == product);
    CHECK(memory[3] >= 0 && memory[3] < size);
    /* To nobody, and of nothing. */
    OK(MPI_Put(out, N, MPI_INT, MPI_PROC_NULL, 0, N, MPI_INT, win));
    OK(MPI_Get(in, N, MPI_INT, MPI_PROC_NULL, 0, N, MPI_INT, win));
    OK(MPI_Accumulate(out, N, MPI_INT, MPI_PROC_NULL, 0, N, MPI_INT, MPI_SUM, win));
    OK(MPI_Put(out, 0, MPI_INT, next, 0, 0, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    CHECK(memory[0] == size * (size - 1) / 2);
}

/* A column there from a row here, and the other way round. */
static void layouts(void)
{
    MPI_Datatype column;
    int next = (rank + 1) % size, last = (rank + size - 1) % size, good = 1;
    OK(MPI_Type_vector(10, 1, 10, MPI_INT, &column));
    OK(MPI_Type_commit(&column));
    clear(0);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(out, 10, MPI_INT, next, 3, 1, column, win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < N; i++)
        good = good && memory[i] == (i % 10 == 3 ? mark(last, i / 10, 1) : i);
    CHECK(good);
    OK(MPI_Get(in, 1, column, next, 20, 10, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < 10; i++)
        good = good && in[10 * i] == (i == 3 ? mark(rank, 2, 1) : 20 + i);
    CHECK(good && in[1] == -1);
    int ones[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    OK(MPI_Win_fence(0, win));
    OK(MPI_Accumulate(ones, 10, MPI_INT, next, 4, 1, column, MPI_SUM, win));
    /* The type may be freed before the fence. */
    OK(MPI_Type_free(&column));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < N; i++)
        good = good && memory[i] == (i % 10 == 3 ? mark(last, i / 10, 1) : i + (i % 10 == 4));
    CHECK(good);
}

static void pairs(void)
{
    MPI_Group world, targets, origins;
    int next = (rank + 1) % size, last = (rank + size - 1) % size, good = 1, flag = 0;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 1, &next, &targets));
    OK(MPI_Group_incl(world, 1, &last, &origins));
    for (int round = 0; round < 4; round++) {
        clear(round * 1000);
        OK(MPI_Win_post(origins, 0, win));
        OK(MPI_Win_start(targets, 0, win));
        OK(MPI_Put(out, 20, MPI_INT, next, 0, 20, MPI_INT, win));
        OK(MPI_Get(in, 10, MPI_INT, next, 50, 10, MPI_INT, win));
        OK(MPI_Win_complete(win));
        if (round % 2) {
            for (flag = 0; !flag;)
                MPI_Win_test(win, &flag);
        } else {
            OK(MPI_Win_wait(win));
        }
        for (int i = 0; i < 20; i++)
            good = good && memory[i] == mark(last, i, 1);
        for (int i = 0; i < 10; i++)
            good = good && in[i] == round * 1000 + 50 + i;
        CHECK(good);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    OK(MPI_Group_free(&targets));
    OK(MPI_Group_free(&origins));
    /* Rank 0 is open to all others. */
    clear(0);
    int zero = 0;
    if (rank == 0) {
        OK(MPI_Group_excl(world, 1, &zero, &origins));
        memory[0] = 0;
        OK(MPI_Win_post(origins, 0, win));
        OK(MPI_Win_wait(win));
        CHECK(memory[0] == size * (size - 1) / 2);
        OK(MPI_Group_free(&origins));
    } else {
        OK(MPI_Group_incl(world, 1, &zero, &targets));
        OK(MPI_Win_start(targets, 0, win));
        OK(MPI_Accumulate(&rank, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
        OK(MPI_Win_complete(win));
        OK(MPI_Group_free(&targets));
    }
    OK(MPI_Group_free(&world));
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "rma_active");
    OK(MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    fences();
    layouts();
    MPI_Barrier(MPI_COMM_WORLD);
    if (size > 1)
        pairs();
    OK(MPI_Win_free(&win));
    return finish();
}
