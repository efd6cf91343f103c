/* Checks MPI_Sendrecv and MPI_Sendrecv_replace: rings, pairs, different types, MPI_PROC_NULL at the ends (MPI-3.1,
   section 3.10). */
#include "check.h"

#define LARGE 200000

int main(int argc, char **argv)
{
    MPI_Status status;
    static int in[LARGE], out[LARGE];
    start(&argc, &argv, "pt2pt_sendrecv");
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    static const int counts[] = {0, 1, 1000, LARGE};
    for (int c = 0; c < 4; c++) {
        int count = counts[c], good = 1;
        for (int i = 0; i < count; i++)
            out[i] = mark(rank, i, c), in[i] = -1;
        OK(MPI_Sendrecv(out, count, MPI_INT, next, 5, in, LARGE, MPI_INT, last, 5, MPI_COMM_WORLD, &status));
        for (int i = 0; i < count; i++)
            good = good && in[i] == mark(last, i, c);
        CHECK(good && status.MPI_SOURCE == last && status.MPI_TAG == 5 && got(&status, MPI_INT) == count);
        OK(MPI_Sendrecv_replace(out, count, MPI_INT, last, 6, next, 6, MPI_COMM_WORLD, &status));
        good = 1;
        for (int i = 0; i < count; i++)
            good = good && out[i] == mark(next, i, c);
        CHECK(good && status.MPI_SOURCE == next && status.MPI_TAG == 6 && got(&status, MPI_INT) == count);
    }

    /* A token once around comes back with everybody's share. */
    int sum = rank;
    for (int step = 1; step < size; step++) {
        int value = step == 1 ? rank : in[0];
        OK(MPI_Sendrecv(&value, 1, MPI_INT, next, step, in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                        &status));
        CHECK(status.MPI_SOURCE == last && status.MPI_TAG == step);
        sum += in[0];
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(sum == size * (size - 1) / 2);

    /* An open line: the ends send to nobody and get nothing. */
    int up = rank + 1 < size ? rank + 1 : MPI_PROC_NULL, down = rank > 0 ? rank - 1 : MPI_PROC_NULL, value = -1;
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, up, 9, &value, 1, MPI_INT, down, 9, MPI_COMM_WORLD, &status));
    CHECK(value == (rank > 0 ? rank - 1 : -1) && status.MPI_SOURCE == down);
    CHECK(status.MPI_TAG == (rank > 0 ? 9 : MPI_ANY_TAG) && got(&status, MPI_INT) == (rank > 0));
    value = rank;
    OK(MPI_Sendrecv_replace(&value, 1, MPI_INT, down, 9, up, 9, MPI_COMM_WORLD, &status));
    CHECK(value == (rank + 1 < size ? rank + 1 : rank));

    /* Sends as a vector, receives as a row; then as bytes. */
    MPI_Datatype column;
    int matrix[16], row[4] = {-1, -1, -1, -1};
    OK(MPI_Type_vector(4, 1, 4, MPI_INT, &column));
    OK(MPI_Type_commit(&column));
    for (int i = 0; i < 16; i++)
        matrix[i] = 100 * rank + i;
    OK(MPI_Sendrecv(matrix + 2, 1, column, next, 1, row, 4, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 4; i++)
        CHECK(row[i] == 100 * last + 4 * i + 2);
    OK(MPI_Sendrecv_replace(matrix + 1, 1, column, next, 2, last, 2, MPI_COMM_WORLD, &status));
    for (int i = 0; i < 16; i++)
        CHECK(matrix[i] == 100 * (i % 4 == 1 ? last : rank) + i);
    CHECK(got(&status, column) == 1);
    OK(MPI_Type_free(&column));

    /* To and from oneself, and with send and receive of different kinds of call. */
    value = -1;
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, 0, 1, &value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CHECK(value == rank);
    if (size > 1 && rank == 0) {
        OK(MPI_Sendrecv(&rank, 1, MPI_INT, 1, 3, &value, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &status));
        CHECK(value == 77 && status.MPI_TAG == 4);
    } else if (rank == 1) {
        int answer = 77;
        OK(MPI_Recv(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Send(&answer, 1, MPI_INT, 0, 4, MPI_COMM_WORLD));
        CHECK(value == 0);
    }
    return finish();
}
