/* Checks operations of the program, commutative and not, on derived types, in all reductions (MPI-3.1, section 5.9.5). */
#include "check.h"

#define N 3

/* Affine maps x -> a x + b modulo a prime, composed from left to right: associative, not commutative. */
struct map {
    int a, b;
};

enum { P = 10007 };

static long calls, wrong_type;

static void compose(void *in, void *inout, int *length, MPI_Datatype *type)
{
    struct map *left = in, *right = inout;
    (void)type;
    calls++;
    for (int i = 0; i < *length; i++) {
        struct map both = {left[i].a * right[i].a % P, (left[i].b * right[i].a + right[i].b) % P};
        right[i] = both;
    }
}

static void larger(void *in, void *inout, int *length, MPI_Datatype *type)
{
    int *a = in, *b = inout;
    wrong_type += *type != MPI_INT;
    for (int i = 0; i < *length; i++)
        b[i] = abs(a[i]) > abs(b[i]) ? a[i] : b[i];
}

static struct map given(int r, int i)
{
    struct map map = {2 + r * 3 + i, 5 + r + 7 * i};
    return map;
}

/* The maps of ranks `from` to `to` - 1 at place i. */
static struct map folded(int from, int to, int i)
{
    struct map all = given(from, i);
    int length = 1;
    for (int r = from + 1; r < to; r++) {
        struct map next = given(r, i);
        compose(&all, &next, &length, NULL);
        all = next;
    }
    return all;
}

static int same(struct map x, struct map y)
{
    return x.a == y.a && x.b == y.b;
}

int main(int argc, char **argv)
{
    MPI_Datatype type;
    MPI_Op op, commuting;
    int commutes = -1, good = 1;
    struct map out[N], in[N];
    start(&argc, &argv, "coll_user");
    OK(MPI_Type_contiguous(2, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Op_create(compose, 0, &op));
    OK(MPI_Op_create(larger, 1, &commuting));
    OK(MPI_Op_commutative(op, &commutes));
    CHECK(commutes == 0);
    OK(MPI_Op_commutative(commuting, &commutes));
    CHECK(commutes == 1);
    for (int i = 0; i < N; i++)
        out[i] = given(rank, i);

    OK(MPI_Allreduce(out, in, N, type, op, MPI_COMM_WORLD));
    for (int i = 0; i < N; i++)
        good = good && same(in[i], folded(0, size, i));
    CHECK(good);
    for (int root = 0; root < size; root++) {
        memset(in, 0, sizeof in);
        OK(MPI_Reduce(out, in, N, type, op, root, MPI_COMM_WORLD));
        for (int i = 0; i < N && rank == root; i++)
            good = good && same(in[i], folded(0, size, i));
        CHECK(good);
    }
    OK(MPI_Scan(out, in, N, type, op, MPI_COMM_WORLD));
    for (int i = 0; i < N; i++)
        good = good && same(in[i], folded(0, rank + 1, i));
    CHECK(good);
    memset(in, 0, sizeof in);
    OK(MPI_Exscan(out, in, N, type, op, MPI_COMM_WORLD));
    for (int i = 0; i < N && rank > 0; i++)
        good = good && same(in[i], folded(0, rank, i));
    CHECK(good);

    /* One element to each rank, then r + 1 to rank r. */
    int total = size * (size + 1) / 2, first = rank * (rank + 1) / 2;
    int *counts = malloc(size * sizeof(int));
    struct map *many = malloc(total * sizeof *many), *part = malloc((rank + 1) * sizeof *part);
    for (int r = 0; r < size; r++)
        counts[r] = r + 1;
    for (int i = 0; i < total; i++)
        many[i] = given(rank, i);
    OK(MPI_Reduce_scatter_block(many, part, 1, type, op, MPI_COMM_WORLD));
    CHECK(same(part[0], folded(0, size, rank)));
    OK(MPI_Reduce_scatter(many, part, counts, type, op, MPI_COMM_WORLD));
    for (int i = 0; i <= rank; i++)
        good = good && same(part[i], folded(0, size, first + i));
    CHECK(good);
    CHECK(size == 1 || calls > 0);

    MPI_Request request;
    memset(in, 0, sizeof in);
    OK(MPI_Iallreduce(out, in, N, type, op, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < N; i++)
        good = good && same(in[i], folded(0, size, i));
    CHECK(good);
    struct map two[2] = {given(1, 0), given(2, 0)}, expected = folded(1, 3, 0);
    OK(MPI_Reduce_local(&two[0], &two[1], 1, type, op));
    CHECK(same(two[1], expected));

    int value = rank % 2 ? -10 * rank : 10 * rank, best = 0;
    OK(MPI_Allreduce(&value, &best, 1, MPI_INT, commuting, MPI_COMM_WORLD));
    CHECK(best == (size % 2 ? 10 * (size - 1) : -10 * (size - 1)));
    CHECK(wrong_type == 0);
    OK(MPI_Op_free(&op));
    OK(MPI_Op_free(&commuting));
    CHECK(op == MPI_OP_NULL && commuting == MPI_OP_NULL);
    OK(MPI_Type_free(&type));
    free(counts);
    free(many);
    free(part);
    return finish();
}
