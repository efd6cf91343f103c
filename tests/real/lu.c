/* Blocked LU factorization with row pivoting. Blocks of columns are dealt out cyclically to the ranks.
 *
 *     lu n nb
 *
 * Prints the greatest difference between the solution of A x = b and the vector of ones. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
            const int *, const double *, const int *, const double *, double *, const int *);
void dtrsm_(const char *, const char *, const char *, const char *, const int *, const int *, const double *,
            const double *, const int *, double *, const int *);
void dscal_(const int *, const double *, double *, const int *);
void dswap_(const int *, double *, const int *, double *, const int *);
void dger_(const int *, const int *, const double *, const double *, const int *, const double *, const int *,
           double *, const int *);
int idamax_(const int *, const double *, const int *);

static const double plus = 1, minus = -1;
static const int one = 1;

static double element(int i, int j)
{
    return sin(1.0 + i * 7.0 + j * 13.0 * i) + (i == j);
}

int main(int argc, char **argv)
{
    int rank, size, n = atoi(argv[argc - 2]), nb = atoi(argv[argc - 1]), blocks = n / nb;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int mine = (blocks - rank + size - 1) / size * nb;
    double *a = malloc(sizeof *a * n * (mine + 1)), *panel = malloc(sizeof *panel * n * nb);
    double *b = calloc(n, sizeof *b);
    int *pivots = malloc(sizeof *pivots * nb);
    for (int j = 0; j < mine; j++)
        for (int i = 0; i < n; i++)
            a[i + (long)j * n] = element(i, j / nb * size * nb + rank * nb + j % nb);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            b[i] += element(i, j);
    for (int k = 0; k < blocks; k++) {
        int first = k * nb, rows = n - first, local = k / size * nb, below = rows - nb;
        if (k % size == rank) {
            double *start = a + first + (long)local * n;
            for (int j = 0; j < nb; j++) {
                double *column = start + (long)j * n;
                int left = rows - j, under = left - 1, right = nb - j - 1;
                pivots[j] = j + idamax_(&left, column + j, &one) - 1;
                dswap_(&nb, start + j, &n, start + pivots[j], &n);
                double inverse = 1 / column[j];
                dscal_(&under, &inverse, column + j + 1, &one);
                dger_(&under, &right, &minus, column + j + 1, &one, column + j + n, &n, column + j + 1 + n, &n);
            }
            for (int j = 0; j < nb; j++)
                for (int i = 0; i < rows; i++)
                    panel[i + (long)j * rows] = start[i + (long)j * n];
        }
        MPI_Bcast(pivots, nb, MPI_INT, k % size, MPI_COMM_WORLD);
        MPI_Bcast(panel, rows * nb, MPI_DOUBLE, k % size, MPI_COMM_WORLD);
        for (int j = 0; j < nb; j++) {
            double kept = b[first + j];
            b[first + j] = b[first + pivots[j]];
            b[first + pivots[j]] = kept;
        }
        for (int j = 0; j < nb; j++)
            for (int i = j + 1; i < rows; i++)
                b[first + i] -= panel[i + (long)j * rows] * b[first + j];
        int next = (k - rank + size) / size * nb, width = mine - next;
        double *rest = a + first + (long)next * n;
        for (int j = 0; j < nb; j++)
            dswap_(&width, rest + j, &n, rest + pivots[j], &n);
        dtrsm_("L", "L", "N", "U", &nb, &width, &plus, panel, &rows, rest, &n);
        dgemm_("N", "N", &below, &width, &nb, &minus, panel + nb, &rows, rest, &n, &plus, rest + nb, &n);
    }
    for (int k = blocks - 1; k >= 0; k--) {
        if (k % size == rank)
            for (int j = nb - 1; j >= 0; j--) {
                double *column = a + (long)(k / size * nb + j) * n;
                b[k * nb + j] /= column[k * nb + j];
                for (int i = 0; i < k * nb + j; i++)
                    b[i] -= column[i] * b[k * nb + j];
            }
        MPI_Bcast(b, n, MPI_DOUBLE, k % size, MPI_COMM_WORLD);
    }
    double error = 0;
    for (int i = 0; i < n; i++)
        error = fmax(error, fabs(b[i] - 1));
    if (rank == 0)
        printf("the solution is %s\n", error < 1e-6 ? "right" : "wrong");
    free(a), free(panel), free(b), free(pivots);
    return MPI_Finalize();
}
