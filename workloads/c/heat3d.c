/* Heat spreads in a cubic room: an explicit 7-point stencil, cut into slabs, poles or cubes.
 *
 *     heat3d edge [steps] [-s cubes|poles|slabs] [-v nonblocking|blocking]
 *
 *     edge             points along an edge of the room, from 1 to 1024
 *     steps            of time; 3 * edge without it
 *     -s               in how many dimensions the room is cut: 3 (default), 2 or 1
 *     -v nonblocking   all messages start, the points inside are updated, then the messages are waited for and the
 *                      outermost layer follows (default)
 *     -v blocking      one dimension after another, even ranks send first and odd ones receive first, by MPI_Ssend
 *
 * Walls let no heat through: beyond a wall is what is before it. Points are floats. In the end rank 0 gathers the room.
 *
 * Checked: the temperature at the start is a sum X(x) + Y(y) + Z(z), and stays such a sum, each part of which follows
 * the heat equation in one dimension; rank 0 computes the three and compares every point. As no point depends on how
 * the room is cut, the checksum is the same for any number of ranks.
 */
#include "common.h"
#include <math.h>

enum { dimensions = 3 };

static long points[dimensions], total;        /* of this rank; along an edge of the room */
static int neighbour[dimensions][2], place[dimensions];
static float *out[dimensions][2], *in[dimensions][2]; /* faces under way */
static MPI_Comm box;
static float *now, *next;
static const float conductance = 0.125f;

static long at(long x, long y, long z)
{
    return (x * (points[1] + 2) + y) * (points[2] + 2) + z;
}

/* The temperature at the start along one dimension: a hot spot and a slope, others in each dimension. */
static float start_value(int dimension, long i)
{
    double where = ((double)i + 0.5) / (double)total;
    double centre = 0.3 + 0.2 * dimension, width = 0.05 + 0.02 * dimension;
    return (float)(80 * exp(-(where - centre) * (where - centre) / (width * width)) + 10 * (dimension + 1) * where);
}

/* Takes the points of layer `layer` of a dimension into `values`, one after another, or puts them there. */
static void copy_face(int dimension, long layer, float *values, int put)
{
    long low[dimensions] = {1, 1, 1}, high[dimensions] = {points[0], points[1], points[2]};
    low[dimension] = high[dimension] = layer;
    for (long x = low[0]; x <= high[0]; x++)
        for (long y = low[1]; y <= high[1]; y++)
            for (long z = low[2]; z <= high[2]; z++, values++)
                if (put)
                    now[at(x, y, z)] = *values;
                else
                    *values = now[at(x, y, z)];
}

static int face_points(int dimension)
{
    return (int)(points[0] * points[1] * points[2] / points[dimension]);
}

static long own_layer(int dimension, int side)
{
    return side == 0 ? 1 : points[dimension];
}

static long foreign_layer(int dimension, int side)
{
    return side == 0 ? 0 : points[dimension] + 1;
}

static void pack(int dimension, int side)
{
    copy_face(dimension, own_layer(dimension, side), out[dimension][side], 0);
}

/* Puts a face that has come into place, or a wall's mirror image. */
static void unpack(int dimension, int side)
{
    if (neighbour[dimension][side] == MPI_PROC_NULL)
        copy_face(dimension, own_layer(dimension, side), in[dimension][side], 0);
    copy_face(dimension, foreign_layer(dimension, side), in[dimension][side], 1);
}

static void exchange_blocking(void)
{
    for (int d = 0; d < dimensions; d++) {
        int count = face_points(d);
        pack(d, 0), pack(d, 1);
        for (int turn = 0; turn < 2; turn++) {
            /* An even rank looks to its right first, an odd one to its left. */
            int side = (place[d] + turn) % 2 == 0 ? 1 : 0;
            for (int step = 0; step < 2; step++)
                if (step == place[d] % 2)
                    MPI_Ssend(out[d][side], count, MPI_FLOAT, neighbour[d][side], d, box);
                else
                    MPI_Recv(in[d][side], count, MPI_FLOAT, neighbour[d][side], d, box, MPI_STATUS_IGNORE);
        }
        unpack(d, 0), unpack(d, 1);
    }
}

static void start_exchange(MPI_Request requests[4 * dimensions])
{
    for (int d = 0; d < dimensions; d++)
        for (int side = 0; side < 2; side++)
            MPI_Irecv(in[d][side], face_points(d), MPI_FLOAT, neighbour[d][side], 2 * d + side, box, requests++);
    for (int d = 0; d < dimensions; d++)
        for (int side = 0; side < 2; side++) {
            pack(d, side);
            MPI_Isend(out[d][side], face_points(d), MPI_FLOAT, neighbour[d][side], 2 * d + 1 - side, box, requests++);
        }
}

/* A step of the points from low to high, both included. */
static void update(long x0, long x1, long y0, long y1, long z0, long z1)
{
    long line = points[2] + 2, plane = (points[1] + 2) * line;
    for (long x = x0; x <= x1; x++)
        for (long y = y0; y <= y1; y++) {
            const float *c = now + at(x, y, 0);
            float *n = next + at(x, y, 0);
            for (long z = z0; z <= z1; z++)
                n[z] = c[z] + conductance * (c[z - plane] + c[z + plane] + c[z - line] + c[z + line] + c[z - 1] +
                                             c[z + 1] - 6 * c[z]);
        }
}

static void step_overlapped(void)
{
    MPI_Request requests[4 * dimensions];
    long x = points[0], y = points[1], z = points[2];
    start_exchange(requests);
    update(2, x - 1, 2, y - 1, 2, z - 1);
    MPI_Waitall(4 * dimensions, requests, MPI_STATUSES_IGNORE);
    for (int d = 0; d < dimensions; d++)
        unpack(d, 0), unpack(d, 1);
    update(1, 1, 1, y, 1, z);
    if (x > 1)
        update(x, x, 1, y, 1, z);
    update(2, x - 1, 1, 1, 1, z);
    if (y > 1)
        update(2, x - 1, y, y, 1, z);
    update(2, x - 1, 2, y - 1, 1, 1);
    if (z > 1)
        update(2, x - 1, 2, y - 1, z, z);
}

/* The parts of all ranks on rank 0, in the room's order; elsewhere nothing. */
static float *gather(const int dims[dimensions])
{
    float *mine = room((size_t)(points[0] * points[1] * points[2]), sizeof *mine), *value = mine;
    for (long x = 1; x <= points[0]; x++)
        for (long y = 1; y <= points[1]; y++)
            for (long z = 1; z <= points[2]; z++)
                *value++ = now[at(x, y, z)];
    int *counts = room((size_t)size, sizeof *counts), *starts = room((size_t)size, sizeof *starts);
    long count = 0;
    for (int r = 0; r < size; r++) {
        int where[dimensions];
        MPI_Cart_coords(box, r, dimensions, where);
        starts[r] = (int)count;
        counts[r] = 1;
        for (int d = 0; d < dimensions; d++)
            counts[r] *= (int)share(total, where[d], dims[d]);
        count += counts[r];
    }
    float *parts = NULL, *whole = NULL;
    if (rank == 0)
        parts = room((size_t)count, sizeof *parts), whole = room((size_t)count, sizeof *whole);
    MPI_Gatherv(mine, counts[rank], MPI_FLOAT, parts, counts, starts, MPI_FLOAT, 0, box);
    for (int r = 0; rank == 0 && r < size; r++) {
        int where[dimensions];
        long low[dimensions], high[dimensions];
        MPI_Cart_coords(box, r, dimensions, where);
        for (int d = 0; d < dimensions; d++) {
            low[d] = shares_before(total, where[d], dims[d]);
            high[d] = low[d] + share(total, where[d], dims[d]);
        }
        const float *part = parts + starts[r];
        for (long x = low[0]; x < high[0]; x++)
            for (long y = low[1]; y < high[1]; y++)
                for (long z = low[2]; z < high[2]; z++)
                    whole[(x * total + y) * total + z] = *part++;
    }
    free(mine), free(counts), free(starts), free(parts);
    return whole;
}

/* The temperature along one dimension after all steps, in double precision. */
static double *solve(int dimension, long steps)
{
    double *v = room((size_t)total, sizeof *v), *w = room((size_t)total, sizeof *w);
    for (long i = 0; i < total; i++)
        v[i] = start_value(dimension, i);
    for (long step = 0; step < steps; step++) {
        for (long i = 0; i < total; i++) {
            double before = v[i > 0 ? i - 1 : 0], after = v[i + 1 < total ? i + 1 : i];
            w[i] = v[i] + conductance * (before + after - 2 * v[i]);
        }
        double *swap = v;
        v = w;
        w = swap;
    }
    free(w);
    return v;
}

/* Rank 0's look at the room. */
static int check(const float *whole, long steps)
{
    /* A step of a float of up to 512 is rounded a few times by up to 2^-16. */
    double allowed = 1e-4 + 5e-5 * (double)steps;
    double *along[dimensions];
    long wrong = 0;
    for (int d = 0; d < dimensions; d++)
        along[d] = solve(d, steps);
    uint64_t sum = 0;
    for (long i = 0; i < total * total * total; i++) {
        double expected = along[0][i / (total * total)] + along[1][i / total % total] + along[2][i % total];
        double difference = fabs(whole[i] - expected);
        uint32_t bits;
        wrong += !(difference <= allowed); /* not a number is wrong too */
        memcpy(&bits, &whole[i], sizeof bits);
        sum += scramble(((uint64_t)i << 32) ^ bits);
    }
    printf("middle of the room: %.3f\n", whole[((total / 2) * total + total / 2) * total + total / 2]);
    printf("checksum: %016llx\n", (unsigned long long)sum);
    printf("wrong points: %ld\n", wrong);
    for (int d = 0; d < dimensions; d++)
        free(along[d]);
    return wrong == 0;
}

int main(int argc, char **argv)
{
    static const char *const cuts[] = {"cubes", "poles", "slabs"}, *const ways[] = {"nonblocking", "blocking"};
    begin(&argc, &argv, "heat3d edge [steps] [-s cubes|poles|slabs] [-v nonblocking|blocking]");
    int cut = choice(&argc, argv, "-s", cuts, 3), way = choice(&argc, argv, "-v", ways, 2);
    expect_arguments(argc, argv, 1, 2);
    total = number(argc, argv, 1, "edge", 1, 1024, 0);
    long steps = number(argc, argv, 2, "steps", 0, 1000000000, 3 * total);

    int dims[dimensions] = {0, cut == 2, cut >= 1}, open[dimensions] = {0, 0, 0};
    MPI_Dims_create(size, dimensions, dims);
    for (int d = 0; d < dimensions; d++)
        if (dims[d] > total)
            refuse("%d ranks cut the room into %d %s along an edge, which has %ld points\n", size, dims[d], cuts[cut],
                   total);
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, dims, open, 0, &box);
    MPI_Cart_coords(box, rank, dimensions, place);
    for (int d = 0; d < dimensions; d++) {
        points[d] = share(total, place[d], dims[d]);
        MPI_Cart_shift(box, d, 1, &neighbour[d][0], &neighbour[d][1]);
    }
    for (int d = 0; d < dimensions; d++)
        for (int side = 0; side < 2; side++) {
            out[d][side] = room((size_t)face_points(d), sizeof **out[d]);
            in[d][side] = room((size_t)face_points(d), sizeof **in[d]);
        }
    size_t all = (size_t)((points[0] + 2) * (points[1] + 2) * (points[2] + 2));
    now = room(all, sizeof *now);
    next = room(all, sizeof *next);
    long first[dimensions];
    for (int d = 0; d < dimensions; d++)
        first[d] = shares_before(total, place[d], dims[d]) - 1;
    for (long x = 1; x <= points[0]; x++)
        for (long y = 1; y <= points[1]; y++)
            for (long z = 1; z <= points[2]; z++)
                now[at(x, y, z)] =
                    start_value(0, first[0] + x) + start_value(1, first[1] + y) + start_value(2, first[2] + z);

    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (long step = 0; step < steps; step++) {
        if (way == 0) {
            step_overlapped();
        } else {
            exchange_blocking();
            update(1, points[0], 1, points[1], 1, points[2]);
        }
        float *swap = now;
        now = next;
        next = swap;
    }
    float *whole = gather(dims);
    double seconds = longest(MPI_Wtime() - start);

    int right = 1;
    if (rank == 0) {
        printf("heat3d: %ld x %ld x %ld points, %ld steps, %s, %s, %d ranks as %d x %d x %d\n", total, total, total,
               steps, cuts[cut], ways[way], size, dims[0], dims[1], dims[2]);
        printf("time: %.6f s\n", seconds);
        right = check(whole, steps);
    }
    for (int d = 0; d < dimensions; d++)
        for (int side = 0; side < 2; side++)
            free(out[d][side]), free(in[d][side]);
    free(now), free(next), free(whole);
    MPI_Comm_free(&box);
    return finish(right);
}
