/* Checks packing and unpacking, native and external32, and messages of packed data (MPI-3.1, sections 4.2 and 4.3). */
#include "check.h"

static void native(void)
{
    char buffer[400];
    int position = 0, bytes = 0, i = 42, is[3] = {-1, -1, -1}, matrix[12];
    double d = 2.5, back = 0;
    MPI_Datatype column;
    MPI_Status status;
    OK(MPI_Type_vector(3, 1, 4, MPI_INT, &column));
    OK(MPI_Type_commit(&column));
    for (int k = 0; k < 12; k++)
        matrix[k] = 10 * k + rank;
    OK(MPI_Pack_size(1, column, MPI_COMM_WORLD, &bytes));
    CHECK(bytes >= 12);
    OK(MPI_Pack(&i, 1, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
    CHECK(position >= 4);
    OK(MPI_Pack(&d, 1, MPI_DOUBLE, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
    OK(MPI_Pack(matrix + 1, 1, column, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
    OK(MPI_Pack("end", 4, MPI_CHAR, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
    int next = (rank + 1) % size, last = (rank + size - 1) % size, length = position;
    char arrived[400], word[4];
    OK(MPI_Sendrecv(buffer, length, MPI_PACKED, next, 1, arrived, sizeof arrived, MPI_PACKED, last, 1, MPI_COMM_WORLD,
                    &status));
    CHECK(got(&status, MPI_PACKED) == length);
    position = 0;
    OK(MPI_Unpack(arrived, length, &position, &i, 1, MPI_INT, MPI_COMM_WORLD));
    OK(MPI_Unpack(arrived, length, &position, &back, 1, MPI_DOUBLE, MPI_COMM_WORLD));
    OK(MPI_Unpack(arrived, length, &position, is, 3, MPI_INT, MPI_COMM_WORLD));
    OK(MPI_Unpack(arrived, length, &position, word, 4, MPI_CHAR, MPI_COMM_WORLD));
    CHECK(i == 42 && back == 2.5 && is[0] == 10 + last && is[2] == 90 + last && strcmp(word, "end") == 0 &&
          position == length);

    /* Packed data of one type may be received as that type, and sent as a type and unpacked. */
    position = 0;
    OK(MPI_Pack(matrix, 1, column, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
    OK(MPI_Sendrecv(buffer, position, MPI_PACKED, next, 2, is, 3, MPI_INT, last, 2, MPI_COMM_WORLD, &status));
    CHECK(is[0] == last && is[1] == 40 + last && is[2] == 80 + last);
    OK(MPI_Sendrecv(matrix + 3, 1, column, next, 3, arrived, sizeof arrived, MPI_PACKED, last, 3, MPI_COMM_WORLD,
                    &status));
    for (int k = 0; k < 12; k++)
        matrix[k] = -1;
    position = 0;
    OK(MPI_Unpack(arrived, got(&status, MPI_PACKED), &position, matrix + 2, 1, column, MPI_COMM_WORLD));
    CHECK(matrix[2] == 30 + last && matrix[6] == 70 + last && matrix[10] == 110 + last && matrix[3] == -1);
    OK(MPI_Type_free(&column));
}

static void external(void)
{
    unsigned char buffer[64];
    MPI_Aint bytes = 0, position = 0;
    int i = 0x01020304, i_back = 0;
    short s = -2, s_back = 0;
    double d = 1.0, d_back = 0;
    char c = 'x', c_back = 0;
    OK(MPI_Pack_external_size("external32", 3, MPI_INT, &bytes));
    CHECK(bytes == 12);
    OK(MPI_Pack_external_size("external32", 3, MPI_DOUBLE, &bytes));
    CHECK(bytes == 24);
    OK(MPI_Pack_external_size("external32", 5, MPI_SHORT, &bytes));
    CHECK(bytes == 10);
    OK(MPI_Pack_external("external32", &i, 1, MPI_INT, buffer, sizeof buffer, &position));
    OK(MPI_Pack_external("external32", &s, 1, MPI_SHORT, buffer, sizeof buffer, &position));
    OK(MPI_Pack_external("external32", &d, 1, MPI_DOUBLE, buffer, sizeof buffer, &position));
    OK(MPI_Pack_external("external32", &c, 1, MPI_CHAR, buffer, sizeof buffer, &position));
    static const unsigned char expected[15] = {1, 2, 3, 4, 0xff, 0xfe, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 'x'};
    CHECK(position == 15 && memcmp(buffer, expected, 15) == 0);
    position = 0;
    OK(MPI_Unpack_external("external32", buffer, 15, &position, &i_back, 1, MPI_INT));
    OK(MPI_Unpack_external("external32", buffer, 15, &position, &s_back, 1, MPI_SHORT));
    OK(MPI_Unpack_external("external32", buffer, 15, &position, &d_back, 1, MPI_DOUBLE));
    OK(MPI_Unpack_external("external32", buffer, 15, &position, &c_back, 1, MPI_CHAR));
    CHECK(position == 15 && i_back == i && s_back == s && d_back == d && c_back == c);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "type_pack");
    native();
    external();
    return finish();
}
