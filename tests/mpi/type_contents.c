/* Checks that MPI_Type_get_envelope and MPI_Type_get_contents give back what each constructor was given (MPI-3.1,
   section 4.1.13). */
#include "check.h"

#define MOST 32

static int ints[MOST];
static MPI_Aint aints[MOST];
static MPI_Datatype types[MOST];

/* The type's envelope, and its contents into the arrays. */
static void opened(MPI_Datatype type, int combiner, int ni, int na, int nd)
{
    int i = -1, a = -1, d = -1, c = -1;
    OK(MPI_Type_get_envelope(type, &i, &a, &d, &c));
    CHECK(i == ni && a == na && d == nd && c == combiner);
    OK(MPI_Type_get_contents(type, ni, na, nd, ints, aints, types));
}

/* The parts are new handles: derived ones are freed by who asked. */
static void closed(MPI_Datatype *type)
{
    OK(MPI_Type_free(type));
    CHECK(*type == MPI_DATATYPE_NULL);
}

static void named(void)
{
    int i = -1, a = -1, d = -1, c = -1;
    static const MPI_Datatype all[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR, MPI_BYTE, MPI_DOUBLE_INT, MPI_PACKED};
    for (int n = 0; n < 6; n++) {
        OK(MPI_Type_get_envelope(all[n], &i, &a, &d, &c));
        CHECK(i == 0 && a == 0 && d == 0 && c == MPI_COMBINER_NAMED);
    }
}

static void simple(void)
{
    MPI_Datatype type, copy, vector;
    OK(MPI_Type_contiguous(5, MPI_INT, &type));
    opened(type, MPI_COMBINER_CONTIGUOUS, 1, 0, 1);
    CHECK(ints[0] == 5 && types[0] == MPI_INT);
    OK(MPI_Type_dup(type, &copy));
    opened(copy, MPI_COMBINER_DUP, 0, 0, 1);
    int inner[4];
    OK(MPI_Type_get_envelope(types[0], &inner[0], &inner[1], &inner[2], &inner[3]));
    CHECK(inner[3] == MPI_COMBINER_CONTIGUOUS);
    closed(&types[0]);
    closed(&copy);
    closed(&type);
    OK(MPI_Type_vector(3, 2, 7, MPI_DOUBLE, &vector));
    opened(vector, MPI_COMBINER_VECTOR, 3, 0, 1);
    CHECK(ints[0] == 3 && ints[1] == 2 && ints[2] == 7 && types[0] == MPI_DOUBLE);
    OK(MPI_Type_create_hvector(4, 1, 100, vector, &type));
    opened(type, MPI_COMBINER_HVECTOR, 2, 1, 1);
    CHECK(ints[0] == 4 && ints[1] == 1 && aints[0] == 100);
    closed(&vector);
    /* The inner type lives on in the outer, and in what is asked of it. */
    vector = types[0];
    opened(vector, MPI_COMBINER_VECTOR, 3, 0, 1);
    CHECK(ints[2] == 7);
    closed(&vector);
    closed(&type);
    OK(MPI_Type_create_resized(MPI_INT, -8, 24, &type));
    opened(type, MPI_COMBINER_RESIZED, 0, 2, 1);
    CHECK(aints[0] == -8 && aints[1] == 24 && types[0] == MPI_INT);
    closed(&type);
}

static void lists(void)
{
    int lengths[3] = {1, 2, 3}, places[3] = {9, 4, 0};
    MPI_Aint bytes[3] = {72, 32, 0};
    MPI_Datatype type, parts[3] = {MPI_INT, MPI_CHAR, MPI_DOUBLE};
    OK(MPI_Type_indexed(3, lengths, places, MPI_INT, &type));
    opened(type, MPI_COMBINER_INDEXED, 7, 0, 1);
    CHECK(ints[0] == 3 && ints[1] == 1 && ints[3] == 3 && ints[4] == 9 && ints[6] == 0);
    closed(&type);
    OK(MPI_Type_create_hindexed(3, lengths, bytes, MPI_INT, &type));
    opened(type, MPI_COMBINER_HINDEXED, 4, 3, 1);
    CHECK(ints[0] == 3 && ints[2] == 2 && aints[0] == 72 && aints[2] == 0);
    closed(&type);
    OK(MPI_Type_create_indexed_block(3, 2, places, MPI_INT, &type));
    opened(type, MPI_COMBINER_INDEXED_BLOCK, 5, 0, 1);
    CHECK(ints[0] == 3 && ints[1] == 2 && ints[2] == 9 && ints[4] == 0);
    closed(&type);
    OK(MPI_Type_create_hindexed_block(3, 2, bytes, MPI_INT, &type));
    opened(type, MPI_COMBINER_HINDEXED_BLOCK, 2, 3, 1);
    CHECK(ints[0] == 3 && ints[1] == 2 && aints[1] == 32);
    closed(&type);
    OK(MPI_Type_create_struct(3, lengths, bytes, parts, &type));
    opened(type, MPI_COMBINER_STRUCT, 4, 3, 3);
    CHECK(ints[0] == 3 && ints[3] == 3 && aints[0] == 72 && types[0] == MPI_INT && types[1] == MPI_CHAR &&
          types[2] == MPI_DOUBLE);
    closed(&type);
}

static void arrays(void)
{
    int sizes[2] = {8, 9}, subsizes[2] = {3, 4}, starts[2] = {1, 2};
    int kinds[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2},
        grid[2] = {2, 3};
    MPI_Datatype type;
    OK(MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_INT, &type));
    opened(type, MPI_COMBINER_SUBARRAY, 8, 0, 1);
    CHECK(ints[0] == 2 && ints[1] == 8 && ints[2] == 9 && ints[3] == 3 && ints[4] == 4 && ints[5] == 1 && ints[6] == 2);
    CHECK(ints[7] == MPI_ORDER_FORTRAN && types[0] == MPI_INT);
    closed(&type);
    OK(MPI_Type_create_darray(6, 4, 2, sizes, kinds, arguments, grid, MPI_ORDER_C, MPI_INT, &type));
    opened(type, MPI_COMBINER_DARRAY, 12, 0, 1);
    CHECK(ints[0] == 6 && ints[1] == 4 && ints[2] == 2 && ints[3] == 8 && ints[4] == 9);
    CHECK(ints[5] == MPI_DISTRIBUTE_BLOCK && ints[6] == MPI_DISTRIBUTE_CYCLIC && ints[7] == MPI_DISTRIBUTE_DFLT_DARG &&
          ints[8] == 2);
    CHECK(ints[9] == 2 && ints[10] == 3 && ints[11] == MPI_ORDER_C);
    closed(&type);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "type_contents");
    named();
    simple();
    lists();
    arrays();
    return finish();
}
