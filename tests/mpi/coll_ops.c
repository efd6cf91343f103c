/* Checks the predefined operations on their types, with MINLOC and MAXLOC, and MPI_Reduce_local (MPI-3.1, sections
   5.9.2 to 5.9.7). */
#include "check.h"

#include <complex.h>
#include <stdint.h>

#define N 5

/* What rank r gives at place i: small, and different enough for every operation. */
static int given(int r, int i)
{
    return (r * 7 + i * 3) % 5 + 1;
}

/* The values of all operations on integers, folded by hand. */
#define INTEGERS(c, type)                                                                                     \
    do {                                                                                                      \
        /* In the order of the cases below. */ \
        MPI_Op ops[] = {MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD, MPI_LAND, MPI_BAND, MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR}; \
        for (int o = 0; o < 10; o++) {                                                                        \
            c out[N], in[N];                                                                                  \
            int good = 1;                                                                                       \
            for (int i = 0; i < N; i++)                                                                       \
                out[i] = (c)(o == 4 || o == 6 || o == 8 ? given(rank, i) > 2 : given(rank, i));               \
            OK(MPI_Allreduce(out, in, N, type, ops[o], MPI_COMM_WORLD));                                      \
            for (int i = 0; i < N; i++) {                                                                     \
                c folded = 0;                                                                                 \
                for (int r = 0; r < size; r++) {                                                              \
                    c v = (c)(o == 4 || o == 6 || o == 8 ? given(r, i) > 2 : given(r, i));                    \
                    c w = r == 0 ? v                                                                          \
                          : o == 0 ? (folded > v ? folded : v)                                                \
                          : o == 1 ? (folded < v ? folded : v)                                                \
                          : o == 2 ? (c)(folded + v)                                                          \
                          : o == 3 ? (c)(folded * v)                                                          \
                          : o == 4 ? (c)(folded && v)                                                         \
                          : o == 5 ? (c)(folded & v)                                                          \
                          : o == 6 ? (c)(folded || v)                                                         \
                          : o == 7 ? (c)(folded | v)                                                          \
                          : o == 8 ? (c)(!folded != !v)                                                       \
                                   : (c)(folded ^ v);                                                         \
                    folded = w;                                                                               \
                }                                                                                             \
                good = good && in[i] == folded;                                                               \
            }                                                                                                 \
            CHECK(good);                                                                                      \
        }                                                                                                     \
    } while (0)

#define REALS(c, type)                                                                              \
    do {                                                                                            \
        MPI_Op ops[] = {MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD};                                       \
        for (int o = 0; o < 4; o++) {                                                               \
            c out[N], in[N];                                                                        \
            int good = 1;                                                                           \
            for (int i = 0; i < N; i++)                                                             \
                out[i] = (c)(0.5 * given(rank, i));                                                 \
            OK(MPI_Allreduce(out, in, N, type, ops[o], MPI_COMM_WORLD));                            \
            for (int i = 0; i < N; i++) {                                                           \
                c folded = (c)(0.5 * given(0, i));                                                  \
                for (int r = 1; r < size; r++) {                                                    \
                    c v = (c)(0.5 * given(r, i));                                                   \
                    folded = o == 0 ? (folded > v ? folded : v) : o == 1 ? (folded < v ? folded : v) \
                             : o == 2 ? folded + v : folded * v;                                    \
                }                                                                                   \
                good = good && in[i] == folded;                                                     \
            }                                                                                       \
            CHECK(good);                                                                            \
        }                                                                                           \
    } while (0)

static void complexes(void)
{
    double _Complex out = 1 + rank * I, in = 0, product = 1, one;
    float _Complex small = rank - 2 * I, total = 0;
    OK(MPI_Allreduce(&out, &in, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD));
    CHECK(in == size + (double)size * (size - 1) / 2 * I);
    OK(MPI_Allreduce(&out, &in, 1, MPI_C_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD));
    for (int r = 0; r < size; r++)
        one = 1 + r * I, product *= one;
    CHECK(in == product);
    OK(MPI_Allreduce(&small, &total, 1, MPI_C_FLOAT_COMPLEX, MPI_SUM, MPI_COMM_WORLD));
    CHECK(crealf(total) == (float)(size * (size - 1) / 2) && cimagf(total) == (float)(-2 * size));
}

static void logical(void)
{
    _Bool mine = rank == 0, any = 0, every = 1;
    unsigned char byte = (unsigned char)(1u << rank % 8), bits = 0;
    OK(MPI_Allreduce(&mine, &any, 1, MPI_C_BOOL, MPI_LOR, MPI_COMM_WORLD));
    OK(MPI_Allreduce(&mine, &every, 1, MPI_C_BOOL, MPI_LAND, MPI_COMM_WORLD));
    CHECK(any && every == (size == 1));
    OK(MPI_Allreduce(&byte, &bits, 1, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD));
    CHECK(bits == (size >= 8 ? 255 : (1 << size) - 1));
}

/* The least and the greatest with its place; of equals, the lowest place. */
#define PLACES(c, type)                                                                                        \
    do {                                                                                                       \
        struct {                                                                                               \
            c value;                                                                                           \
            int index;                                                                                         \
        } out[N], low[N], high[N];                                                                             \
        int good = 1;                                                                                          \
        memset(out, 0, sizeof out);                                                                            \
        for (int i = 0; i < N; i++)                                                                            \
            out[i].value = (c)given(rank, i), out[i].index = rank;                                             \
        OK(MPI_Allreduce(out, low, N, type, MPI_MINLOC, MPI_COMM_WORLD));                                      \
        OK(MPI_Allreduce(out, high, N, type, MPI_MAXLOC, MPI_COMM_WORLD));                                     \
        for (int i = 0; i < N; i++) {                                                                          \
            int least = 0, greatest = 0;                                                                       \
            for (int r = 1; r < size; r++) {                                                                   \
                least = given(r, i) < given(least, i) ? r : least;                                             \
                greatest = given(r, i) > given(greatest, i) ? r : greatest;                                    \
            }                                                                                                  \
            good = good && low[i].value == (c)given(least, i) && low[i].index == least;                        \
            good = good && high[i].value == (c)given(greatest, i) && high[i].index == greatest;                \
        }                                                                                                      \
        CHECK(good);                                                                                           \
    } while (0)

static void local(void)
{
    int in[3] = {1, 5, 3}, both[3] = {4, 2, 3}, commutes = 0;
    OK(MPI_Reduce_local(in, both, 3, MPI_INT, MPI_SUM));
    CHECK(both[0] == 5 && both[1] == 7 && both[2] == 6 && in[0] == 1);
    OK(MPI_Reduce_local(in, both, 2, MPI_INT, MPI_MIN));
    CHECK(both[0] == 1 && both[1] == 5 && both[2] == 6);
    OK(MPI_Op_commutative(MPI_SUM, &commutes));
    CHECK(commutes);
    OK(MPI_Op_commutative(MPI_MAXLOC, &commutes));
    CHECK(commutes);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "coll_ops");
    INTEGERS(int, MPI_INT);
    INTEGERS(unsigned, MPI_UNSIGNED);
    INTEGERS(long, MPI_LONG);
    INTEGERS(unsigned long, MPI_UNSIGNED_LONG);
    INTEGERS(short, MPI_SHORT);
    INTEGERS(unsigned short, MPI_UNSIGNED_SHORT);
    INTEGERS(signed char, MPI_SIGNED_CHAR);
    INTEGERS(unsigned char, MPI_UNSIGNED_CHAR);
    INTEGERS(long long, MPI_LONG_LONG);
    INTEGERS(int64_t, MPI_INT64_T);
    INTEGERS(uint32_t, MPI_UINT32_T);
    INTEGERS(int16_t, MPI_INT16_T);
    INTEGERS(uint8_t, MPI_UINT8_T);
    REALS(float, MPI_FLOAT);
    REALS(double, MPI_DOUBLE);
    REALS(long double, MPI_LONG_DOUBLE);
    REALS(MPI_Aint, MPI_AINT);
    REALS(MPI_Count, MPI_COUNT);
    complexes();
    logical();
    PLACES(int, MPI_2INT);
    PLACES(float, MPI_FLOAT_INT);
    PLACES(double, MPI_DOUBLE_INT);
    PLACES(long, MPI_LONG_INT);
    PLACES(short, MPI_SHORT_INT);
    PLACES(long double, MPI_LONG_DOUBLE_INT);
    local();
    return finish();
}
