/* Jacobi iteration for Poisson's equation on a box of nx * ny * nz points, divided among the ranks in three dimensions.
 *
 *     jacobi3d nx ny nz iterations [-v blocking|nonblocking] [-r times] [-n noise] [-u factor]
 *
 *     -v blocking      faces are exchanged by MPI_Sendrecv, one direction after another
 *     -v nonblocking   all faces at once: Irecv, Isend, Waitall (default)
 *     -r times         every point is computed so many times in a turn
 *     -n noise         some of a rank's points, at random up to this part of them, are computed twice in a turn
 *     -u factor        the second half of the ranks computes so many times as much
 *
 * The textbook 7-point solver (Gropp, Lusk, Skjellum: Using MPI, chapter 4, in three dimensions): a turn exchanges
 * faces, which are described by MPI datatypes and not copied, with up to six neighbours; updates every point; and finds
 * the greatest change of all (Allreduce). The borders are zero.
 *
 * Checked at every point, and the greatest change too, for any size: the right-hand side is an eigenvector s of the
 * discrete Laplacian, a product of three sines, so that from zero the iteration arrives after k turns at
 * (1 - lambda^k) s, where lambda is the mean of three cosines.
 */
#include "common.h"
#include <math.h>

enum { dimensions = 3, left = 0, right = 1 };

static long points[dimensions];                       /* of this rank */
static int neighbour[dimensions][2];
static MPI_Datatype face[dimensions];
static MPI_Comm box;
static const double allowed = 1e-11; /* error of values up to 1 */

/* Points have a layer of foreign ones around them; x is the slowest dimension. */
static long at(long x, long y, long z)
{
    return (x * (points[1] + 2) + y) * (points[2] + 2) + z;
}

/* The first of the points at a side: foreign ones, or one's own that a neighbour needs. */
static long side(int dimension, int direction, int foreign)
{
    long place[dimensions] = {1, 1, 1};
    if (direction == left)
        place[dimension] = foreign ? 0 : 1;
    else
        place[dimension] = points[dimension] + (foreign ? 1 : 0);
    return at(place[0], place[1], place[2]);
}

static void make_faces(void)
{
    int whole[dimensions], part[dimensions], start[dimensions] = {0, 0, 0};
    for (int d = 0; d < dimensions; d++)
        whole[d] = (int)points[d] + 2;
    for (int d = 0; d < dimensions; d++) {
        for (int e = 0; e < dimensions; e++)
            part[e] = e == d ? 1 : (int)points[e];
        MPI_Type_create_subarray(dimensions, whole, part, start, MPI_ORDER_C, MPI_DOUBLE, &face[d]);
        MPI_Type_commit(&face[d]);
    }
}

static void exchange_blocking(double *u)
{
    for (int d = 0; d < dimensions; d++)
        for (int to = left; to <= right; to++)
            MPI_Sendrecv(u + side(d, to, 0), 1, face[d], neighbour[d][to], to, u + side(d, 1 - to, 1), 1, face[d],
                         neighbour[d][1 - to], to, box, MPI_STATUS_IGNORE);
}

static void exchange_nonblocking(double *u)
{
    MPI_Request requests[4 * dimensions];
    int count = 0;
    for (int d = 0; d < dimensions; d++)
        for (int to = left; to <= right; to++)
            MPI_Irecv(u + side(d, 1 - to, 1), 1, face[d], neighbour[d][1 - to], to, box, &requests[count++]);
    for (int d = 0; d < dimensions; d++)
        for (int to = left; to <= right; to++)
            MPI_Isend(u + side(d, to, 0), 1, face[d], neighbour[d][to], to, box, &requests[count++]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

/* One sine of the eigenvector at this rank's points of a dimension, and the foreign ones before and after; its cosine;
 * and its greatest value at a point of the whole box. */
static double *sines(int dimension, long total, long before, double *cosine, double *peak)
{
    long mode = dimension + 1 < total ? dimension + 1 : total; /* others for each, so that faces cannot be confused */
    double angle = 3.14159265358979323846 * (double)mode / (double)(total + 1);
    double *values = room((size_t)points[dimension] + 2, sizeof *values);
    for (long i = 0; i < points[dimension] + 2; i++)
        values[i] = sin(angle * (double)(before + i));
    *cosine = cos(angle);
    *peak = 0;
    for (long i = 1; i <= total; i++)
        *peak = fmax(*peak, fabs(sin(angle * (double)i)));
    return values;
}

/* How often this rank computes its points in a turn: once and a bit, for the sake of its time only. */
static double repetitions(long turn, double times, double noise, double factor)
{
    double random = (double)(scramble((uint64_t)turn << 32 | (uint64_t)rank) >> 11) / 9007199254740992.0;
    return times * (2 * rank >= size ? factor : 1) * (1 + noise * random);
}

int main(int argc, char **argv)
{
    static const char *const ways[] = {"nonblocking", "blocking"};
    static const char *const names[] = {"nx", "ny", "nz"};
    begin(&argc, &argv, "jacobi3d nx ny nz iterations [-v blocking|nonblocking] [-r times] [-n noise] [-u factor]");
    int way = choice(&argc, argv, "-v", ways, 2);
    double times = real_option(&argc, argv, "-r", 1, 1e6, 1);
    double noise = real_option(&argc, argv, "-n", 0, 10, 0), factor = real_option(&argc, argv, "-u", 1, 100, 1);
    expect_arguments(argc, argv, 4, 4);
    long total[dimensions];
    for (int d = 0; d < dimensions; d++)
        total[d] = number(argc, argv, 1 + d, names[d], 1, 100000, 0);
    long iterations = number(argc, argv, 4, "iterations", 1, 1000000000, 0);

    int dims[dimensions] = {0, 0, 0}, open[dimensions] = {0, 0, 0}, place[dimensions];
    MPI_Dims_create(size, dimensions, dims);
    for (int d = 0; d < dimensions; d++)
        if (dims[d] > total[d])
            refuse("%d ranks divide %s into %d parts, and it has %ld points\n", size, names[d], dims[d], total[d]);
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, dims, open, 0, &box);
    MPI_Cart_coords(box, rank, dimensions, place);

    double *sine[dimensions], lambda = 0, highest = 1;
    for (int d = 0; d < dimensions; d++) {
        points[d] = share(total[d], place[d], dims[d]);
        double cosine, peak;
        sine[d] = sines(d, total[d], shares_before(total[d], place[d], dims[d]), &cosine, &peak);
        lambda += cosine / dimensions;
        highest *= peak;
        MPI_Cart_shift(box, d, 1, &neighbour[d][left], &neighbour[d][right]);
    }
    make_faces();
    size_t all = (size_t)((points[0] + 2) * (points[1] + 2) * (points[2] + 2));
    double *u = room(all, sizeof *u), *next = room(all, sizeof *next);
    long line = points[2] + 2, plane = (points[1] + 2) * line;

    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime(), greatest = 0;
    for (long turn = 0; turn < iterations; turn++) {
        if (way == 0)
            exchange_nonblocking(u);
        else
            exchange_blocking(u);
        double change = 0;
        for (double again = repetitions(turn, times, noise, factor); again > 0; again--) {
            long rows = again < 1 ? (long)(again * (double)points[0]) : points[0];
            for (long x = 1; x <= rows; x++)
                for (long y = 1; y <= points[1]; y++) {
                    double source = (1 - lambda) * sine[0][x] * sine[1][y]; /* a sixth of the right-hand side */
                    for (long z = 1; z <= points[2]; z++) {
                        const double *c = u + at(x, y, z);
                        double value = (c[-plane] + c[plane] + c[-line] + c[line] + c[-1] + c[1]) * (1.0 / 6) +
                                       source * sine[2][z];
                        double difference = fabs(value - *c);
                        change = difference > change ? difference : change;
                        next[c - u] = value;
                    }
                }
        }
        MPI_Allreduce(&change, &greatest, 1, MPI_DOUBLE, MPI_MAX, box);
        double *swap = u;
        u = next;
        next = swap;
    }
    double seconds = longest(MPI_Wtime() - start);

    double reached = 1 - pow(lambda, (double)iterations);
    long wrong = 0, all_wrong;
    for (long x = 1; x <= points[0]; x++)
        for (long y = 1; y <= points[1]; y++)
            for (long z = 1; z <= points[2]; z++) {
                double difference = fabs(u[at(x, y, z)] - reached * sine[0][x] * sine[1][y] * sine[2][z]);
                wrong += !(difference < allowed); /* not a number is wrong too */
            }
    /* The last change is (1 - lambda) lambda^(k - 1) s, which the reduction must have found. */
    double expected = fabs((1 - lambda) * pow(lambda, (double)(iterations - 1))) * highest;
    int change_right = fabs(greatest - expected) < allowed;
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, box);
    if (rank == 0) {
        printf("jacobi3d: %ld x %ld x %ld points, %ld iterations, %s, %d ranks as %d x %d x %d\n", total[0], total[1],
               total[2], iterations, ways[way], size, dims[0], dims[1], dims[2]);
        printf("time: %.6f s\n", seconds);
        printf("greatest change: %.9e\n", greatest);
        printf("wrong points: %ld\n", all_wrong);
    }
    for (int d = 0; d < dimensions; d++) {
        MPI_Type_free(&face[d]);
        free(sine[d]);
    }
    free(u), free(next);
    MPI_Comm_free(&box);
    return finish(wrong == 0 && change_right);
}
