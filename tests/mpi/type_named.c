/* Checks the predefined datatypes: sizes and extents are those of C, names, and messages of each (MPI-3.1, sections
   3.2.2, 6.8). */
#include "check.h"

#include <stddef.h>
#include <stdint.h>

static void same(MPI_Datatype type, size_t bytes, const char *name)
{
    int length = 0, number = 0;
    char text[MPI_MAX_OBJECT_NAME];
    unsigned char out[64], in[64];
    MPI_Aint lb = -1, extent = -1;
    MPI_Count wide = -1;
    OK(MPI_Type_size(type, &number));
    CHECK(number == (int)bytes);
    OK(MPI_Type_size_x(type, &wide));
    CHECK(wide == (MPI_Count)bytes);
    OK(MPI_Type_get_extent(type, &lb, &extent));
    CHECK(lb == 0 && extent == (MPI_Aint)bytes);
    OK(MPI_Type_get_name(type, text, &length));
    CHECK(strcmp(text, name) == 0 && length == (int)strlen(name));
    for (size_t i = 0; i < sizeof out; i++)
        out[i] = (unsigned char)(i % 2), in[i] = 9;
    OK(MPI_Sendrecv(out, 2, type, rank, 1, in, 2, type, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(memcmp(in, out, 2 * bytes) == 0 && (2 * bytes >= sizeof in || in[2 * bytes] == 9));
}

#define SAME(type, c) same(type, sizeof(c), #type)

static void pair(MPI_Datatype type, size_t bytes, size_t span)
{
    int number = 0;
    MPI_Aint lb = -1, extent = -1;
    OK(MPI_Type_size(type, &number));
    OK(MPI_Type_get_extent(type, &lb, &extent));
    CHECK(number == (int)bytes && lb == 0 && extent == (MPI_Aint)span);
}

#define PAIR(type, c)                                       \
    do {                                                    \
        struct both {                                       \
            c value;                                        \
            int index;                                      \
        };                                                  \
        pair(type, sizeof(c) + sizeof(int), sizeof(struct both)); \
    } while (0)

static void renamed(void)
{
    MPI_Datatype type;
    char text[MPI_MAX_OBJECT_NAME] = "x";
    int length = -1;
    OK(MPI_Type_contiguous(3, MPI_INT, &type));
    OK(MPI_Type_get_name(type, text, &length));
    CHECK(length == 0 && text[0] == '\0');
    OK(MPI_Type_set_name(type, "three"));
    OK(MPI_Type_get_name(type, text, &length));
    CHECK(length == 5 && strcmp(text, "three") == 0);
    OK(MPI_Type_free(&type));
    CHECK(type == MPI_DATATYPE_NULL);
}

static void matched(void)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int number = 0;
    OK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type));
    OK(MPI_Type_size(type, &number));
    CHECK(number == 8);
    OK(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 4, &type));
    OK(MPI_Type_size(type, &number));
    CHECK(number == 4);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "type_named");
    SAME(MPI_CHAR, char);
    SAME(MPI_SIGNED_CHAR, signed char);
    SAME(MPI_UNSIGNED_CHAR, unsigned char);
    SAME(MPI_SHORT, short);
    SAME(MPI_UNSIGNED_SHORT, unsigned short);
    SAME(MPI_INT, int);
    SAME(MPI_UNSIGNED, unsigned);
    SAME(MPI_LONG, long);
    SAME(MPI_UNSIGNED_LONG, unsigned long);
    SAME(MPI_UNSIGNED_LONG_LONG, unsigned long long);
    SAME(MPI_FLOAT, float);
    SAME(MPI_DOUBLE, double);
    SAME(MPI_LONG_DOUBLE, long double);
    SAME(MPI_WCHAR, wchar_t);
    SAME(MPI_BYTE, char);
    SAME(MPI_C_BOOL, _Bool);
    SAME(MPI_INT8_T, int8_t);
    SAME(MPI_INT16_T, int16_t);
    SAME(MPI_INT32_T, int32_t);
    SAME(MPI_INT64_T, int64_t);
    SAME(MPI_UINT8_T, uint8_t);
    SAME(MPI_UINT16_T, uint16_t);
    SAME(MPI_UINT32_T, uint32_t);
    SAME(MPI_UINT64_T, uint64_t);
    SAME(MPI_AINT, MPI_Aint);
    SAME(MPI_COUNT, MPI_Count);
    SAME(MPI_OFFSET, MPI_Offset);
    SAME(MPI_C_DOUBLE_COMPLEX, double _Complex);
    SAME(MPI_PACKED, char);
    pair(MPI_LONG_LONG, sizeof(long long), sizeof(long long));
    pair(MPI_LONG_LONG_INT, sizeof(long long), sizeof(long long));
    pair(MPI_C_COMPLEX, sizeof(float _Complex), sizeof(float _Complex));
    pair(MPI_C_FLOAT_COMPLEX, sizeof(float _Complex), sizeof(float _Complex));
    PAIR(MPI_2INT, int);
    PAIR(MPI_FLOAT_INT, float);
    PAIR(MPI_DOUBLE_INT, double);
    PAIR(MPI_LONG_INT, long);
    PAIR(MPI_SHORT_INT, short);
    PAIR(MPI_LONG_DOUBLE_INT, long double);
    renamed();
    matched();
    return finish();
}
