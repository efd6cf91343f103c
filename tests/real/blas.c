/* The functions of BLAS that lu.c calls, in the form in which it calls them. */
#include <math.h>

void dgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c,
            const int *ldc)
{
    (void)ta, (void)tb, (void)beta;
    for (long j = 0; j < *n; j++)
        for (long l = 0; l < *k; l++)
            for (long i = 0; i < *m; i++)
                c[i + j * *ldc] += *alpha * a[i + l * *lda] * b[l + j * *ldb];
}

void dtrsm_(const char *side, const char *uplo, const char *trans, const char *diag, const int *m, const int *n,
            const double *alpha, const double *a, const int *lda, double *b, const int *ldb)
{
    (void)side, (void)uplo, (void)trans, (void)diag, (void)alpha;
    for (long j = 0; j < *n; j++)
        for (long k = 0; k < *m; k++)
            for (long i = k + 1; i < *m; i++)
                b[i + j * *ldb] -= a[i + k * *lda] * b[k + j * *ldb];
}

void dscal_(const int *n, const double *alpha, double *x, const int *step)
{
    for (long i = 0; i < *n; i++)
        x[i * *step] *= *alpha;
}

void dswap_(const int *n, double *x, const int *xstep, double *y, const int *ystep)
{
    for (long i = 0; i < *n; i++) {
        double kept = x[i * *xstep];
        x[i * *xstep] = y[i * *ystep];
        y[i * *ystep] = kept;
    }
}

void dger_(const int *m, const int *n, const double *alpha, const double *x, const int *xstep, const double *y,
           const int *ystep, double *a, const int *lda)
{
    for (long j = 0; j < *n; j++)
        for (long i = 0; i < *m; i++)
            a[i + j * *lda] += *alpha * x[i * *xstep] * y[j * *ystep];
}

int idamax_(const int *n, const double *x, const int *step)
{
    int most = 0;
    for (int i = 1; i < *n; i++)
        if (fabs(x[i * *step]) > fabs(x[most * *step]))
            most = i;
    return most + 1;
}
