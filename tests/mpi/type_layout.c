/* Checks sizes, bounds and data of all datatype constructors and their nestings (MPI-3.1, sections 4.1.2 to 4.1.10). */
#include "check.h"

static int memory[64], packed[64];

/* Sends `count` of `type` from `base` to itself as plain ints, and compares with these places of it. */
static void holds(const int *base, int count, MPI_Datatype type, int number, const int *places)
{
    int good = 1;
    MPI_Status status;
    for (int i = 0; i < 64; i++)
        memory[i] = 100 + i, packed[i] = -1;
    OK(MPI_Sendrecv(base, count, type, rank, 1, packed, 64, MPI_INT, rank, 1, MPI_COMM_WORLD, &status));
    CHECK(got(&status, MPI_INT) == number);
    for (int i = 0; i < number; i++)
        good = good && packed[i] == 100 + places[i] + (int)(base - memory);
    CHECK(good && packed[number] == -1);
    /* And back: exactly these places are written. */
    int *hit = calloc(64, sizeof *hit);
    for (int i = 0; i < 64; i++)
        memory[i] = -2;
    for (int i = 0; i < number; i++)
        hit[places[i] + (int)(base - memory)] = packed[i];
    OK(MPI_Sendrecv(packed, number, MPI_INT, rank, 2, (void *)base, count, type, rank, 2, MPI_COMM_WORLD, &status));
    for (int i = 0; i < 64; i++)
        good = good && memory[i] == (hit[i] ? hit[i] : -2);
    CHECK(good && got(&status, type) == count);
    free(hit);
}

static void bounds(MPI_Datatype type, int bytes, MPI_Aint lb, MPI_Aint extent, MPI_Aint true_lb, MPI_Aint true_extent)
{
    int number = -1;
    MPI_Aint a = -1, b = -1;
    MPI_Count wide_a = -1, wide_b = -1;
    OK(MPI_Type_size(type, &number));
    CHECK(number == bytes);
    OK(MPI_Type_get_extent(type, &a, &b));
    CHECK(a == lb && b == extent);
    OK(MPI_Type_get_true_extent(type, &a, &b));
    CHECK(a == true_lb && b == true_extent);
    OK(MPI_Type_get_extent_x(type, &wide_a, &wide_b));
    CHECK(wide_a == lb && wide_b == extent);
    OK(MPI_Type_get_true_extent_x(type, &wide_a, &wide_b));
    CHECK(wide_a == true_lb && wide_b == true_extent);
}

static void plain(void)
{
    MPI_Datatype type, nested;
    OK(MPI_Type_contiguous(3, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    bounds(type, 12, 0, 12, 0, 12);
    holds(memory, 2, type, 6, (int[]){0, 1, 2, 3, 4, 5});
    OK(MPI_Type_vector(2, 1, 2, type, &nested));
    OK(MPI_Type_commit(&nested));
    bounds(nested, 24, 0, 36, 0, 36);
    holds(memory, 2, nested, 12, (int[]){0, 1, 2, 6, 7, 8, 9, 10, 11, 15, 16, 17});
    OK(MPI_Type_free(&type));
    holds(memory + 4, 1, nested, 6, (int[]){0, 1, 2, 6, 7, 8});
    OK(MPI_Type_free(&nested));
    OK(MPI_Type_vector(3, 2, 4, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    bounds(type, 24, 0, 40, 0, 40);
    holds(memory, 2, type, 12, (int[]){0, 1, 4, 5, 8, 9, 10, 11, 14, 15, 18, 19});
    OK(MPI_Type_free(&type));
    OK(MPI_Type_vector(3, 1, -2, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    bounds(type, 12, -16, 20, -16, 20);
    holds(memory + 10, 1, type, 3, (int[]){0, -2, -4});
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_hvector(3, 2, 20, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    bounds(type, 24, 0, 48, 0, 48);
    holds(memory, 1, type, 6, (int[]){0, 1, 5, 6, 10, 11});
    OK(MPI_Type_free(&type));
}

static void indexed(void)
{
    MPI_Datatype type;
    int lengths[3] = {2, 0, 3}, places[3] = {5, 100, 0};
    MPI_Aint bytes[3] = {20, 400, 0};
    OK(MPI_Type_indexed(3, lengths, places, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    bounds(type, 20, 0, 28, 0, 28);
    holds(memory, 2, type, 10, (int[]){5, 6, 0, 1, 2, 12, 13, 7, 8, 9});
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_hindexed(3, lengths, bytes, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    bounds(type, 20, 0, 28, 0, 28);
    holds(memory + 3, 1, type, 5, (int[]){5, 6, 0, 1, 2});
    OK(MPI_Type_free(&type));
    int starts[3] = {8, 2, 4};
    MPI_Aint far[3] = {32, 8, 16};
    OK(MPI_Type_create_indexed_block(3, 2, starts, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    bounds(type, 24, 8, 32, 8, 32);
    holds(memory, 2, type, 12, (int[]){8, 9, 2, 3, 4, 5, 16, 17, 10, 11, 12, 13});
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_hindexed_block(3, 2, far, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    bounds(type, 24, 8, 32, 8, 32);
    holds(memory, 1, type, 6, (int[]){8, 9, 2, 3, 4, 5});
    OK(MPI_Type_free(&type));
}

static void resized(void)
{
    MPI_Datatype column, narrow, copy, type;
    OK(MPI_Type_vector(4, 1, 4, MPI_INT, &column));
    OK(MPI_Type_create_resized(column, 0, sizeof(int), &narrow));
    OK(MPI_Type_commit(&narrow));
    bounds(narrow, 16, 0, 4, 0, 52);
    holds(memory, 2, narrow, 8, (int[]){0, 4, 8, 12, 1, 5, 9, 13});
    OK(MPI_Type_dup(narrow, &copy));
    bounds(copy, 16, 0, 4, 0, 52);
    holds(memory + 1, 3, copy, 12, (int[]){0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14});
    OK(MPI_Type_free(&copy));
    OK(MPI_Type_free(&narrow));
    OK(MPI_Type_free(&column));
    OK(MPI_Type_create_resized(MPI_INT, -4, 12, &type));
    OK(MPI_Type_commit(&type));
    bounds(type, 4, -4, 12, 0, 4);
    holds(memory + 2, 3, type, 3, (int[]){0, 3, 6});
    OK(MPI_Type_contiguous(2, type, &copy));
    OK(MPI_Type_commit(&copy));
    bounds(copy, 8, -4, 24, 0, 16);
    holds(memory + 2, 2, copy, 4, (int[]){0, 3, 6, 9});
    OK(MPI_Type_free(&copy));
    OK(MPI_Type_free(&type));
}

static void structs(void)
{
    struct item {
        char tag;
        double value[2];
        short small;
    } out[2] = {{'a', {1.5, 2.5}, 3}, {'b', {4.5, 5.5}, 6}}, in[2];
    MPI_Datatype type, whole;
    int lengths[3] = {1, 2, 1};
    MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT};
    MPI_Aint places[3], base;
    OK(MPI_Get_address(&out[0], &base));
    OK(MPI_Get_address(&out[0].tag, &places[0]));
    OK(MPI_Get_address(&out[0].value, &places[1]));
    OK(MPI_Get_address(&out[0].small, &places[2]));
    for (int i = 0; i < 3; i++)
        places[i] = MPI_Aint_diff(places[i], base);
    OK(MPI_Type_create_struct(3, lengths, places, types, &type));
    OK(MPI_Type_create_resized(type, 0, sizeof(struct item), &whole));
    OK(MPI_Type_commit(&whole));
    bounds(whole, 19, 0, sizeof(struct item), 0, 26);
    memset(in, 0x55, sizeof in);
    OK(MPI_Sendrecv(out, 2, whole, rank, 1, in, 2, whole, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 2; i++) {
        CHECK(in[i].tag == out[i].tag && in[i].small == out[i].small);
        CHECK(in[i].value[0] == out[i].value[0] && in[i].value[1] == out[i].value[1]);
        CHECK(((unsigned char *)&in[i])[1] == 0x55 && ((unsigned char *)&in[i])[sizeof(struct item) - 1] == 0x55);
    }
    /* A struct's own extent is rounded up to its alignment, which here is that of the double. */
    MPI_Aint lb, extent;
    OK(MPI_Type_get_extent(type, &lb, &extent));
    CHECK(lb == 0 && extent == (MPI_Aint)sizeof(struct item));
    OK(MPI_Type_free(&type));
    OK(MPI_Type_free(&whole));
}

static void nothing(void)
{
    MPI_Datatype type;
    MPI_Status status;
    OK(MPI_Type_contiguous(0, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    bounds(type, 0, 0, 0, 0, 0);
    OK(MPI_Sendrecv(memory, 5, type, rank, 1, packed, 0, MPI_INT, rank, 1, MPI_COMM_WORLD, &status));
    CHECK(got(&status, MPI_INT) == 0);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_struct(0, NULL, NULL, NULL, &type));
    OK(MPI_Type_commit(&type));
    bounds(type, 0, 0, 0, 0, 0);
    OK(MPI_Type_free(&type));
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "type_layout");
    plain();
    indexed();
    resized();
    structs();
    nothing();
    return finish();
}
