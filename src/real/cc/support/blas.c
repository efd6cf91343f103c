/* Functions of BLAS that take their predicted time and compute nothing (mcpsim cc --model-blas). Each function passes
   its kernel, its number of operations and its size to the simulator. Operations are counted as in LAPACK Working
   Note 41, for real numbers; swap and amax count elements. Copies are not replaced, because programs also copy data
   that decide about messages. docs/guide/large-programs.md has the formulas. */

enum kernel { gemm, syrk, trsm, gemv, ger, trsv, axpy, scal, swap, amax };

void mcpsim_kernel(int kernel, int is_double, double operations, double size);
long mcpsim_kernel_index(long count);

enum { left = 141 };

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* Calls without operations take no time. */
static void take(int kernel, int is_double, double operations, double size)
{
    if (operations > 0)
        mcpsim_kernel(kernel, is_double, operations, size);
}

static void triangle(int kernel, int is_double, int is_left, double m, double n)
{
    take(kernel, is_double, is_left ? m * m * n : m * n * n, least(m, n));
}

static long index_of_most(int is_double, long n)
{
    take(amax, is_double, n, n);
    return n > 0 ? mcpsim_kernel_index(n) : -1;
}

/* Arguments of functions are pointers under the names of Fortran, and values under the names of cblas. */
#define PRECISION(p, is_double)                                                                                       \
    void p##gemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k)                           \
    {                                                                                                                 \
        take(gemm, is_double, 2.0 * *m * *n * *k, least(least(*m, *n), *k));                                          \
    }                                                                                                                 \
    void cblas_##p##gemm(int order, int ta, int tb, int m, int n, int k)                                              \
    {                                                                                                                 \
        take(gemm, is_double, 2.0 * m * n * k, least(least(m, n), k));                                                \
    }                                                                                                                 \
    void p##syrk_(const char *uplo, const char *trans, const int *n, const int *k)                                    \
    {                                                                                                                 \
        take(syrk, is_double, (*n + 1.0) * *n * *k, least(*n, *k));                                                   \
    }                                                                                                                 \
    void cblas_##p##syrk(int order, int uplo, int trans, int n, int k)                                                \
    {                                                                                                                 \
        take(syrk, is_double, (n + 1.0) * n * k, least(n, k));                                                        \
    }                                                                                                                 \
    void p##trsm_(const char *side, const char *uplo, const char *trans, const char *diag, const int *m, const int *n) \
    {                                                                                                                 \
        triangle(trsm, is_double, *side == 'L' || *side == 'l', *m, *n);                                              \
    }                                                                                                                 \
    void cblas_##p##trsm(int order, int side, int uplo, int trans, int diag, int m, int n)                            \
    {                                                                                                                 \
        triangle(trsm, is_double, side == left, m, n);                                                                \
    }                                                                                                                 \
    void p##gemv_(const char *trans, const int *m, const int *n)                                                      \
    {                                                                                                                 \
        take(gemv, is_double, 2.0 * *m * *n, (double)*m * *n);                                                        \
    }                                                                                                                 \
    void cblas_##p##gemv(int order, int trans, int m, int n)                                                          \
    {                                                                                                                 \
        take(gemv, is_double, 2.0 * m * n, (double)m * n);                                                            \
    }                                                                                                                 \
    void p##ger_(const int *m, const int *n)                                                                          \
    {                                                                                                                 \
        take(ger, is_double, 2.0 * *m * *n, (double)*m * *n);                                                         \
    }                                                                                                                 \
    void cblas_##p##ger(int order, int m, int n)                                                                      \
    {                                                                                                                 \
        take(ger, is_double, 2.0 * m * n, (double)m * n);                                                             \
    }                                                                                                                 \
    void p##trsv_(const char *uplo, const char *trans, const char *diag, const int *n)                                \
    {                                                                                                                 \
        take(trsv, is_double, (double)*n * *n, (double)*n * *n);                                                      \
    }                                                                                                                 \
    void cblas_##p##trsv(int order, int uplo, int trans, int diag, int n)                                             \
    {                                                                                                                 \
        take(trsv, is_double, (double)n * n, (double)n * n);                                                          \
    }                                                                                                                 \
    void p##axpy_(const int *n)                                                                                       \
    {                                                                                                                 \
        take(axpy, is_double, 2.0 * *n, *n);                                                                          \
    }                                                                                                                 \
    void cblas_##p##axpy(int n)                                                                                       \
    {                                                                                                                 \
        take(axpy, is_double, 2.0 * n, n);                                                                            \
    }                                                                                                                 \
    void p##scal_(const int *n)                                                                                       \
    {                                                                                                                 \
        take(scal, is_double, *n, *n);                                                                                \
    }                                                                                                                 \
    void cblas_##p##scal(int n)                                                                                       \
    {                                                                                                                 \
        take(scal, is_double, n, n);                                                                                  \
    }                                                                                                                 \
    void p##swap_(const int *n)                                                                                       \
    {                                                                                                                 \
        take(swap, is_double, *n, *n);                                                                                \
    }                                                                                                                 \
    void cblas_##p##swap(int n)                                                                                       \
    {                                                                                                                 \
        take(swap, is_double, n, n);                                                                                  \
    }                                                                                                                 \
    int i##p##amax_(const int *n)                                                                                     \
    {                                                                                                                 \
        return index_of_most(is_double, *n) + 1;                                                                      \
    }                                                                                                                 \
    unsigned long cblas_i##p##amax(int n)                                                                             \
    {                                                                                                                 \
        return n > 0 ? index_of_most(is_double, n) : 0;                                                               \
    }

PRECISION(s, 0)
PRECISION(d, 1)
