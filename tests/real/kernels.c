/* One call of each BLAS function that --model-blas replaces. The functions have no declarations with arguments, because
   they are not read. */
#include <mpi.h>
#include <stdio.h>

enum { row_major = 101, no_trans = 111, upper = 121, unit = 132, left = 141, right = 142 };

void dgemm_(), sgemm_(), dtrsm_(), dsyrk_(), dgemv_(), dger_(), dtrsv_(), daxpy_(), dscal_(), dswap_();
void cblas_dgemm(), cblas_strsm(), cblas_dsyrk(), cblas_dgemv(), cblas_dger(), cblas_dtrsv(), cblas_daxpy();
int idamax_();
unsigned long cblas_idamax();

static const int m = 100, n = 50, k = 20;

int main(int argc, char **argv)
{
    double x[1] = {0}, one = 1;
    MPI_Init(&argc, &argv);
    double start = MPI_Wtime();
    dgemm_("N", "N", &m, &n, &k, &one, x, &m, x, &k, &one, x, &m);
    printf("dgemm: %.0f us\n", (MPI_Wtime() - start) * 1e6);
    cblas_dgemm(row_major, no_trans, no_trans, m, n, k, one, x, m, x, k, one, x, m);
    sgemm_("N", "N", &m, &n, &k, &one, x, &m, x, &k, &one, x, &m);
    dtrsm_("L", "U", "N", "U", &m, &n, &one, x, &m, x, &m);
    dtrsm_("R", "U", "N", "U", &m, &n, &one, x, &m, x, &m);
    cblas_strsm(row_major, left, upper, no_trans, unit, m, n, one, x, m, x, m);
    cblas_strsm(row_major, right, upper, no_trans, unit, m, n, one, x, m, x, m);
    dsyrk_("U", "N", &n, &k, &one, x, &n, &one, x, &n);
    cblas_dsyrk(row_major, upper, no_trans, n, k, one, x, n, one, x, n);
    dgemv_("N", &m, &n, &one, x, &m, x, &n, &one, x, &n);
    cblas_dgemv(row_major, no_trans, m, n, one, x, m, x, 1, one, x, 1);
    dger_(&m, &n, &one, x, &n, x, &n, x, &m);
    cblas_dger(row_major, m, n, one, x, 1, x, 1, x, m);
    dtrsv_("U", "N", "U", &n, x, &n, x, &n);
    cblas_dtrsv(row_major, upper, no_trans, unit, n, x, n, x, 1);
    daxpy_(&n, &one, x, &n, x, &n);
    cblas_daxpy(n, one, x, 1, x, 1);
    dscal_(&n, &one, x, &n);
    dswap_(&n, x, &n, x, &n);
    dswap_(&(int){0}, x, &n, x, &n);
    for (int i = 0; i < 100; i++) {
        int first = idamax_(&n, x, &n);
        unsigned long second = cblas_idamax(n, x, 1);
        if (first < 1 || first > n || second >= (unsigned long)n)
            printf("wrong indices %d %lu\n", first, second);
    }
    if (idamax_(&(int){0}, x, &n) != 0 || idamax_(&(int){1}, x, &n) != 1 || cblas_idamax(0, x, 1) != 0)
        printf("wrong indices\n");
    return MPI_Finalize();
}
