/* Checks absolute addresses and MPI_BOTTOM, partial receives, MPI_Get_count and MPI_Get_elements (MPI-3.1, sections
   4.1.5, 4.1.11, 4.1.12). */
#include "check.h"

static int global[3] = {1, 2, 3};

static void addresses(void)
{
    double local[4] = {0.5, 1.5, 2.5, 3.5}, back[4] = {0};
    int counts[2] = {2, 3}, ints[3] = {0};
    MPI_Aint places[2], a, b;
    MPI_Datatype types[2] = {MPI_DOUBLE, MPI_INT}, from, to;
    OK(MPI_Get_address(local + 1, &places[0]));
    OK(MPI_Get_address(global, &places[1]));
    OK(MPI_Type_create_struct(2, counts, places, types, &from));
    OK(MPI_Type_commit(&from));
    OK(MPI_Get_address(back, &places[0]));
    OK(MPI_Get_address(ints, &places[1]));
    OK(MPI_Type_create_struct(2, counts, places, types, &to));
    OK(MPI_Type_commit(&to));
    OK(MPI_Sendrecv(MPI_BOTTOM, 1, from, rank, 1, MPI_BOTTOM, 1, to, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(back[0] == 1.5 && back[1] == 2.5 && back[2] == 0 && ints[0] == 1 && ints[2] == 3);
    OK(MPI_Type_free(&from));
    OK(MPI_Type_free(&to));
    OK(MPI_Get_address(&local[0], &a));
    OK(MPI_Get_address(&local[3], &b));
    CHECK(MPI_Aint_diff(b, a) == 3 * (MPI_Aint)sizeof(double) && MPI_Aint_add(a, 3 * sizeof(double)) == b);
    int one = 1;
    OK(MPI_Type_create_hindexed(1, &one, &b, MPI_DOUBLE, &from));
    OK(MPI_Type_commit(&from));
    OK(MPI_Bcast(MPI_BOTTOM, 1, from, 0, MPI_COMM_WORLD));
    CHECK(local[3] == 3.5);
    OK(MPI_Type_free(&from));
}

/* Half a struct at a time. */
static void partial(void)
{
    struct pair {
        int i;
        int unused;
        double d[2];
    } out[2] = {{1, 0, {2, 3}}, {4, 0, {5, 6}}}, in[3];
    int lengths[2] = {1, 2}, count = -1;
    MPI_Aint places[2] = {0, (char *)out[0].d - (char *)&out[0]};
    MPI_Count wide = -1;
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE}, type, head;
    MPI_Status status;
    OK(MPI_Type_create_struct(2, lengths, places, types, &type));
    OK(MPI_Type_commit(&type));
    lengths[1] = 1;
    OK(MPI_Type_create_struct(2, lengths, places, types, &head));
    OK(MPI_Type_commit(&head));
    memset(in, 0, sizeof in);
    OK(MPI_Sendrecv(out, 2, type, rank, 1, in, 3, type, rank, 1, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, type, &count));
    CHECK(count == 2);
    OK(MPI_Get_elements(&status, type, &count));
    CHECK(count == 6);
    OK(MPI_Get_elements_x(&status, type, &wide));
    CHECK(wide == 6 && in[1].d[1] == 6);
    OK(MPI_Sendrecv(out, 1, head, rank, 1, in, 3, type, rank, 1, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, type, &count));
    CHECK(count == MPI_UNDEFINED);
    OK(MPI_Get_elements(&status, type, &count));
    CHECK(count == 2);
    OK(MPI_Get_count(&status, head, &count));
    CHECK(count == 1);
    memset(in, 0, sizeof in);
    OK(MPI_Sendrecv(&global[1], 1, MPI_INT, rank, 1, in, 3, type, rank, 1, MPI_COMM_WORLD, &status));
    OK(MPI_Get_elements(&status, type, &count));
    CHECK(count == 1 && in[0].i == 2 && in[0].d[0] == 0);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_free(&head));
}

/* The examples of the standard: a type of two floats receives 2 and 3 of them. */
static void standard(void)
{
    float out[3] = {1, 2, 3}, in[4];
    int count = -1;
    MPI_Datatype two;
    MPI_Status status;
    OK(MPI_Type_contiguous(2, MPI_FLOAT, &two));
    OK(MPI_Type_commit(&two));
    OK(MPI_Sendrecv(out, 2, MPI_FLOAT, rank, 1, in, 2, two, rank, 1, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, two, &count));
    CHECK(count == 1);
    OK(MPI_Get_elements(&status, two, &count));
    CHECK(count == 2);
    OK(MPI_Sendrecv(out, 3, MPI_FLOAT, rank, 1, in, 2, two, rank, 1, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, two, &count));
    CHECK(count == MPI_UNDEFINED);
    OK(MPI_Get_elements(&status, two, &count));
    CHECK(count == 3 && in[2] == 3);
    /* MPI_Status_set_elements can say more than arrived. */
    OK(MPI_Status_set_elements(&status, two, 4));
    OK(MPI_Get_count(&status, two, &count));
    CHECK(count == 4 || count == 2);
    OK(MPI_Status_set_elements_x(&status, MPI_INT, 7));
    CHECK(got(&status, MPI_INT) == 7);
    OK(MPI_Type_free(&two));
}

/* The type of the sender is free to be freed before the message has left. */
static void freed(void)
{
    enum { N = 50000 };
    int *out = malloc(2 * N * sizeof *out), *in = malloc(N * sizeof *in), good = 1;
    MPI_Datatype every;
    MPI_Request requests[2];
    for (int i = 0; i < 2 * N; i++)
        out[i] = i + rank;
    OK(MPI_Type_vector(N, 1, 2, MPI_INT, &every));
    OK(MPI_Type_commit(&every));
    OK(MPI_Isend(out, 1, every, (rank + 1) % size, 1, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Type_free(&every));
    OK(MPI_Irecv(in, N, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < N; i++)
        good = good && in[i] == 2 * i + (rank + size - 1) % size;
    CHECK(good);
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "type_partial");
    addresses();
    partial();
    standard();
    freed();
    return finish();
}
