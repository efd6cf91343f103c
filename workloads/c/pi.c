/* Integrates 4 / (1 + x^2) from 0 to 1, which makes pi.
 *
 *     pi n [-v reduce|ring]
 *
 *     n           strips, from 1 to 10^12
 *     -v reduce   all ranks' sums are added up by MPI_Reduce (default)
 *     -v ring     a sum goes from rank to rank, each of which adds its own; the last gives it to rank 0
 *
 * The midpoint rule, strips dealt out one by one; sums are compensated (Kahan), so that rounding does not grow with n.
 * Checked: the rule's error is at most 1 / (12 n^2), to which 1e-12 is added for rounding.
 */
#include "common.h"
#include <math.h>

int main(int argc, char **argv)
{
    static const char *const ways[] = {"reduce", "ring"};
    static const double pi = 3.14159265358979323846;
    begin(&argc, &argv, "pi n [-v reduce|ring]");
    int way = choice(&argc, argv, "-v", ways, 2);
    expect_arguments(argc, argv, 1, 1);
    long n = number(argc, argv, 1, "n", 1, 1000000000000, 0);

    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    double width = 1.0 / (double)n, sum = 0, lost = 0;
    for (long i = rank; i < n; i += size) {
        double x = ((double)i + 0.5) * width;
        double term = 4.0 / (1.0 + x * x) - lost;
        double next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    double mine = sum * width, found = mine;
    if (way == 0) {
        MPI_Reduce(&mine, &found, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    } else if (size > 1) {
        int next = (rank + 1) % size, previous = (rank + size - 1) % size;
        if (rank > 0) {
            MPI_Recv(&found, 1, MPI_DOUBLE, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            found += mine;
        }
        MPI_Send(&found, 1, MPI_DOUBLE, next, 0, MPI_COMM_WORLD);
        if (rank == 0)
            MPI_Recv(&found, 1, MPI_DOUBLE, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    double seconds = longest(MPI_Wtime() - start);

    int right = 1;
    if (rank == 0) {
        right = fabs(found - pi) <= 1e-12 + width * width / 12;
        printf("pi: n = %ld, %s, %d ranks\n", n, ways[way], size);
        printf("time: %.6f s\n", seconds);
        printf("pi: %.11f\n", found);
    }
    return finish(right);
}
