/* Checks subarrays and distributed arrays of all orders and distributions (MPI-3.1, sections 4.1.3 and 4.1.4). */
#include "check.h"

static int whole[512], part[512];

/* The ints that `type` takes of `whole`, which holds its own indices; returns how many. */
static int taken(MPI_Datatype type)
{
    MPI_Status status;
    MPI_Aint lb = -1, extent = -1;
    for (int i = 0; i < 512; i++)
        whole[i] = i, part[i] = -1;
    OK(MPI_Type_commit(&type));
    OK(MPI_Type_get_extent(type, &lb, &extent));
    CHECK(lb == 0);
    OK(MPI_Sendrecv(whole, 1, type, rank, 1, part, 512, MPI_INT, rank, 1, MPI_COMM_WORLD, &status));
    OK(MPI_Type_free(&type));
    return got(&status, MPI_INT);
}

static void subarrays(void)
{
    int sizes[3] = {4, 5, 6}, subsizes[3] = {2, 3, 4}, starts[3] = {1, 2, 1}, at = 0, good = 1;
    MPI_Datatype type;
    MPI_Aint lb, extent;
    OK(MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &type));
    OK(MPI_Type_get_extent(type, &lb, &extent));
    CHECK(lb == 0 && extent == 480);
    OK(MPI_Type_get_true_extent(type, &lb, &extent));
    CHECK(lb == 4 * (30 + 12 + 1) && extent == 4 * (30 + 12 + 4));
    CHECK(taken(type) == 24);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 4; k++)
                good = good && part[at++] == ((i + 1) * 5 + j + 2) * 6 + k + 1;
    CHECK(good);
    OK(MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_INT, &type));
    CHECK(taken(type) == 24);
    at = 0;
    for (int k = 0; k < 4; k++)
        for (int j = 0; j < 3; j++)
            for (int i = 0; i < 2; i++)
                good = good && part[at++] == ((k + 1) * 5 + j + 2) * 4 + i + 1;
    CHECK(good);
    OK(MPI_Type_create_subarray(1, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &type));
    CHECK(taken(type) == 2 && part[0] == 1 && part[1] == 2);
}

/* Which of `parts` processes has place `i` of `n` under a distribution. */
static int owner(int i, int n, int parts, int kind, int argument)
{
    if (kind == MPI_DISTRIBUTE_NONE)
        return 0;
    if (kind == MPI_DISTRIBUTE_BLOCK)
        return i / (argument == MPI_DISTRIBUTE_DFLT_DARG ? (n + parts - 1) / parts : argument);
    return i / (argument == MPI_DISTRIBUTE_DFLT_DARG ? 1 : argument) % parts;
}

static void spread(int order, const int kinds[2], const int arguments[2], const int grid[2])
{
    int sizes[2] = {10, 7}, seen[70] = {0}, total = 0, good = 1;
    for (int process = 0; process < grid[0] * grid[1]; process++) {
        MPI_Datatype type;
        MPI_Aint lb, extent;
        /* The process grid is in row-major order whatever the order of the array. */
        int row = process / grid[1], column = process % grid[1], at = 0;
        OK(MPI_Type_create_darray(grid[0] * grid[1], process, 2, sizes, kinds, arguments, grid, order, MPI_INT, &type));
        OK(MPI_Type_get_extent(type, &lb, &extent));
        CHECK(lb == 0 && extent == 280);
        int count = taken(type);
        for (int place = 0; place < 70; place++) {
            int i = order == MPI_ORDER_C ? place / 7 : place % 10, j = order == MPI_ORDER_C ? place % 7 : place / 10;
            if (owner(i, 10, grid[0], kinds[0], arguments[0]) == row && owner(j, 7, grid[1], kinds[1],
                                                                              arguments[1]) == column) {
                good = good && at < count && part[at] == place;
                at++;
                seen[place]++;
            }
        }
        CHECK(good && at == count);
        total += count;
    }
    for (int place = 0; place < 70; place++)
        good = good && seen[place] == 1;
    CHECK(good && total == 70);
}

int main(int argc, char **argv)
{
    enum { D = MPI_DISTRIBUTE_DFLT_DARG };
    const int B = MPI_DISTRIBUTE_BLOCK, C = MPI_DISTRIBUTE_CYCLIC, N = MPI_DISTRIBUTE_NONE;
    start(&argc, &argv, "type_arrays");
    subarrays();
    for (int order = 0; order < 2; order++) {
        int which = order ? MPI_ORDER_FORTRAN : MPI_ORDER_C;
        spread(which, (int[]){B, B}, (int[]){D, D}, (int[]){2, 2});
        spread(which, (int[]){B, B}, (int[]){4, 3}, (int[]){3, 3});
        spread(which, (int[]){C, C}, (int[]){D, D}, (int[]){3, 2});
        spread(which, (int[]){C, C}, (int[]){2, 3}, (int[]){2, 2});
        spread(which, (int[]){B, C}, (int[]){D, 2}, (int[]){3, 2});
        spread(which, (int[]){C, N}, (int[]){3, D}, (int[]){4, 1});
        spread(which, (int[]){N, B}, (int[]){D, D}, (int[]){1, 3});
        spread(which, (int[]){N, N}, (int[]){D, D}, (int[]){1, 1});
    }
    return finish();
}
