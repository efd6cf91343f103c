/* Checks Cartesian topologies: dims_create, coordinates, shifts, sub-grids, map (MPI-3.1, section 7.5). */
#include "check.h"

static void dims(void)
{
    int d[3] = {0, 0, 0};
    OK(MPI_Dims_create(6, 2, d));
    CHECK(d[0] == 3 && d[1] == 2);
    d[0] = d[1] = 0;
    OK(MPI_Dims_create(7, 2, d));
    CHECK(d[0] == 7 && d[1] == 1);
    d[0] = 0, d[1] = 3, d[2] = 0;
    OK(MPI_Dims_create(6, 3, d));
    CHECK(d[0] == 2 && d[1] == 3 && d[2] == 1);
    d[0] = d[1] = d[2] = 0;
    OK(MPI_Dims_create(8, 3, d));
    CHECK(d[0] == 2 && d[1] == 2 && d[2] == 2);
    for (int n = 1; n <= 64; n++) {
        d[0] = d[1] = d[2] = 0;
        OK(MPI_Dims_create(n, 3, d));
        CHECK(d[0] * d[1] * d[2] == n && d[0] >= d[1] && d[1] >= d[2] && d[2] >= 1);
    }
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    d[0] = 0, d[1] = 3, d[2] = 0;
    CHECK(MPI_Dims_create(7, 3, d) != MPI_SUCCESS);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

static void grid(const int periods[2])
{
    int d[2] = {0, 0}, kind = -1, count = -1, back[2], ring[2], at[2], r = -1, n = -1;
    MPI_Comm cart;
    OK(MPI_Dims_create(size, 2, d));
    OK(MPI_Cart_create(MPI_COMM_WORLD, 2, d, periods, 0, &cart));
    OK(MPI_Topo_test(cart, &kind));
    CHECK(kind == MPI_CART);
    OK(MPI_Topo_test(MPI_COMM_WORLD, &kind));
    CHECK(kind == MPI_UNDEFINED);
    OK(MPI_Cartdim_get(cart, &count));
    OK(MPI_Cart_get(cart, 2, back, ring, at));
    CHECK(count == 2 && back[0] == d[0] && back[1] == d[1] && !ring[0] == !periods[0] && !ring[1] == !periods[1]);
    CHECK(at[0] == rank / d[1] && at[1] == rank % d[1]);
    for (int other = 0; other < size; other++) {
        int there[2];
        OK(MPI_Cart_coords(cart, other, 2, there));
        OK(MPI_Cart_rank(cart, there, &r));
        CHECK(there[0] == other / d[1] && there[1] == other % d[1] && r == other);
    }
    if (periods[0] && periods[1]) {
        OK(MPI_Cart_rank(cart, (int[]){at[0] + 3 * d[0], at[1] - 2 * d[1]}, &r));
        CHECK(r == rank);
    }
    for (int direction = 0; direction < 2; direction++)
        for (int by = -2; by <= 3; by++) {
            int source = -9, target = -9, expected[2];
            OK(MPI_Cart_shift(cart, direction, by, &source, &target));
            for (int side = 0; side < 2; side++) {
                int to[2] = {at[0], at[1]};
                to[direction] += side ? by : -by;
                if (to[direction] < 0 || to[direction] >= d[direction]) {
                    if (!periods[direction]) {
                        expected[side] = MPI_PROC_NULL;
                        continue;
                    }
                    to[direction] = (to[direction] % d[direction] + d[direction]) % d[direction];
                }
                expected[side] = to[0] * d[1] + to[1];
            }
            CHECK(source == expected[0] && target == expected[1]);
            /* The partners fit. */
            int value = -1;
            OK(MPI_Sendrecv(&rank, 1, MPI_INT, target, 1, &value, 1, MPI_INT, source, 1, cart, MPI_STATUS_IGNORE));
            CHECK(value == (source == MPI_PROC_NULL ? -1 : source));
        }
    /* Columns, rows, and all; neither is a matter of strict_topo. */
    for (int keep = 1; keep < 4; keep++) {
        MPI_Comm part, copy;
        OK(MPI_Cart_sub(cart, (int[]){keep & 1, keep >> 1}, &part));
        OK(MPI_Comm_size(part, &n));
        OK(MPI_Comm_rank(part, &r));
        CHECK(n == (keep & 1 ? d[0] : 1) * (keep & 2 ? d[1] : 1));
        CHECK(r == (keep == 1 ? at[0] : keep == 2 ? at[1] : rank));
        OK(MPI_Cartdim_get(part, &count));
        CHECK(count == (keep & 1) + (keep >> 1));
        if (keep == 1 || keep == 2) {
            OK(MPI_Cart_get(part, 1, back, ring, at + 0));
            CHECK(back[0] == d[keep - 1] && !ring[0] == !periods[keep - 1] && at[0] == r);
            OK(MPI_Cart_coords(cart, rank, 2, at));
        }
        OK(MPI_Comm_dup(part, &copy));
        OK(MPI_Topo_test(copy, &kind));
        CHECK(kind == MPI_CART);
        OK(MPI_Comm_free(&copy));
        OK(MPI_Comm_free(&part));
    }
    OK(MPI_Comm_free(&cart));
}

static void smaller(void)
{
    int d[1] = {size > 1 ? size - 1 : 1}, ring[1] = {1}, place = -9, r = -1;
    MPI_Comm cart;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, d, ring, 0, &cart));
    CHECK((cart == MPI_COMM_NULL) == (rank >= d[0]));
    if (cart != MPI_COMM_NULL) {
        OK(MPI_Comm_rank(cart, &r));
        CHECK(r == rank);
        OK(MPI_Comm_free(&cart));
    }
    OK(MPI_Cart_map(MPI_COMM_WORLD, 1, d, ring, &place));
    CHECK(rank >= d[0] || (place >= 0 && place < d[0]));
    /* With reordering, everybody has a place of its own. */
    d[0] = size;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, d, ring, 1, &cart));
    OK(MPI_Comm_rank(cart, &r));
    int sum = 0;
    OK(MPI_Allreduce(&r, &sum, 1, MPI_INT, MPI_SUM, cart));
    CHECK(sum == size * (size - 1) / 2);
    OK(MPI_Comm_free(&cart));
    /* Without dimensions there is one place. */
    OK(MPI_Cart_create(MPI_COMM_WORLD, 0, d, ring, 0, &cart));
    CHECK((cart != MPI_COMM_NULL) == (rank == 0));
    if (cart != MPI_COMM_NULL) {
        OK(MPI_Cartdim_get(cart, &r));
        CHECK(r == 0);
        OK(MPI_Comm_free(&cart));
    }
}

static void errors(void)
{
    MPI_Comm cart;
    int r, d[2] = {size + 1, 1}, ring[2] = {0, 0}, at[2];
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 2, d, ring, 0, &cart) != MPI_SUCCESS);
    FAILS(MPI_Cart_coords(MPI_COMM_WORLD, 0, 2, at), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Cartdim_get(MPI_COMM_WORLD, &r), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Cart_shift(MPI_COMM_WORLD, 0, 1, &r, &r), MPI_ERR_TOPOLOGY);
    d[0] = size;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 2, d, ring, 0, &cart));
    CHECK(MPI_Cart_rank(cart, (int[]){size, 0}, &r) != MPI_SUCCESS);
    OK(MPI_Comm_free(&cart));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "topo_cart");
    dims();
    grid((int[]){0, 0});
    grid((int[]){1, 0});
    grid((int[]){1, 1});
    smaller();
    errors();
    return finish();
}
