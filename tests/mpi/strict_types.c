/* Checks what the standard says of datatypes and some MPI gets wrong; each place names it. */
#include "check.h"

/* external32 of a derived type is that of its basic ones (section 4.3); MPICH 4.0 crashes. */
static void external(void)
{
    struct item {
        int i;
        double d;
    } item = {7, -2.0}, back = {0, 0};
    unsigned char buffer[32];
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {0, (char *)&item.d - (char *)&item}, bytes = 0, position = 0;
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE}, type;
    OK(MPI_Type_create_struct(2, lengths, places, types, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Pack_external_size("external32", 1, type, &bytes));
    CHECK(bytes == 12);
    OK(MPI_Pack_external("external32", &item, 1, type, buffer, sizeof buffer, &position));
    CHECK(position == 12 && buffer[3] == 7 && buffer[4] == 0xc0);
    position = 0;
    OK(MPI_Unpack_external("external32", buffer, 12, &position, &back, 1, type));
    CHECK(back.i == 7 && back.d == -2.0 && position == 12);
    OK(MPI_Type_free(&type));
    /* A long has four bytes there (section 13.5.2); Open MPI 4.1 says eight, and writes four. */
    long l = 258, l_back = 0;
    position = 0;
    OK(MPI_Pack_external_size("external32", 1, MPI_LONG, &bytes));
    CHECK(bytes == 4);
    OK(MPI_Pack_external("external32", &l, 1, MPI_LONG, buffer, sizeof buffer, &position));
    CHECK(position == bytes && buffer[bytes - 1] == 2 && buffer[bytes - 2] == 1);
    position = 0;
    OK(MPI_Unpack_external("external32", buffer, bytes, &position, &l_back, 1, MPI_LONG));
    CHECK(l_back == 258);
}

/* The arrays of MPI_Type_get_contents may be larger than needed (section 4.1.13); Open MPI 4.1 reads the rest. */
static void contents(void)
{
    int ints[9];
    MPI_Aint aints[9];
    MPI_Datatype types[9], type;
    memset(types, 0x11, sizeof types);
    OK(MPI_Type_contiguous(5, MPI_INT, &type));
    OK(MPI_Type_get_contents(type, 9, 9, 9, ints, aints, types));
    CHECK(ints[0] == 5 && types[0] == MPI_INT);
    OK(MPI_Type_free(&type));
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "strict_types");
    external();
    contents();
    return finish();
}
