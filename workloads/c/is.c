/* Integer Sort of the NAS Parallel Benchmarks, after its specification.
 *
 *     is [S|W|A|B|C]     the class; S without one
 *
 *     class   keys   values        class   keys   values
 *       S     2^16    2^11           B     2^25    2^21
 *       W     2^20    2^16           C     2^27    2^23
 *       A     2^23    2^19
 *
 * Keys are averages of four numbers of the suite's generator, x' = 5^13 x mod 2^46 from x = 314159265. An iteration
 * changes two keys and then ranks all: it counts the keys of each of 512 or 1024 buckets, adds the counts up
 * (Allreduce), deals consecutive buckets out so that ranks have about equal numbers of keys, says how many keys go
 * where (Alltoall), sends them (Alltoallv), and counts how many keys are not above each value. One iteration is for
 * warming up, ten are timed; any number of ranks will do, where the suite wants a power of two.
 *
 * Checked: in each iteration the ranks of the five keys whose ranks the suite publishes; at the end that the keys are
 * in order, as many as they were and of the same sum.
 * Described in: Bailey et al.: The NAS Parallel Benchmarks, RNR-94-007, section 2.6; NPB 2.0's report NAS-95-020.
 */
#include "common.h"

enum { iterations = 10, tests = 5 };

/* The published checks: the rank of the key that was made as number `key[i]` is `rank[i]`, and changes with the
 * iteration by `up[i]` times it plus `shift[i]`. */
struct class {
    char name;
    int log_keys, log_values, log_buckets;
    int key[tests], rank[tests], up[tests], shift[tests];
};

static const struct class classes[] = {
    {'S', 16, 11, 9, {48427, 17148, 23627, 62548, 4431}, {0, 18, 346, 64917, 65463},
     {1, 1, 1, -1, -1}, {0, 0, 0, 0, 0}},
    {'W', 20, 16, 10, {357773, 934767, 875723, 898999, 404505}, {1249, 11698, 1039987, 1043896, 1048018},
     {1, 1, -1, -1, -1}, {-2, -2, 0, 0, 0}},
    {'A', 23, 19, 10, {2112377, 662041, 5336171, 3642833, 4250760}, {104, 17523, 123928, 8288932, 8388264},
     {1, 1, 1, -1, -1}, {-1, -1, -1, 1, 1}},
    {'B', 25, 21, 10, {41869, 812306, 5102857, 18232239, 26860214}, {33422937, 10244, 59149, 33135281, 99},
     {-1, 1, 1, -1, 1}, {0, 0, 0, 0, 0}},
    {'C', 27, 23, 10, {44172927, 72999161, 74326391, 129606274, 21736814},
     {61147, 882988, 266290, 133997595, 133525895}, {1, 1, 1, -1, -1}, {0, 0, 0, 0, 0}},
};

static const struct class *class;
static long keys_before, keys_here; /* of this rank, as made */
static int *keys;                   /* as made */
static int *by_bucket;              /* in the order of their buckets */
static int *owned;                  /* keys of this rank's buckets, in any order */
static long owned_count, owned_room;
static int *below;                  /* of each of this rank's values: keys of this rank that are less or equal */
static long least_value, value_count, below_room;
static long keys_below;             /* keys that ranks before this one own */
static int test_values[tests];

/* Numbers below 2^46 are multiplied in 64 bits: what is lost is a multiple of 2^64 and so of 2^46. */
static const uint64_t mask = (UINT64_C(1) << 46) - 1, multiplier = 1220703125;

static void make_keys(void)
{
    uint64_t state = 314159265, power = multiplier;
    for (uint64_t skip = 4 * (uint64_t)keys_before; skip > 0; skip >>= 1) {
        if (skip & 1)
            state = state * power & mask;
        power = power * power & mask;
    }
    for (long i = 0; i < keys_here; i++) {
        uint64_t sum = 0;
        for (int k = 0; k < 4; k++) {
            state = state * multiplier & mask;
            sum += state;
        }
        keys[i] = (int)(sum >> (48 - class->log_values));
    }
}

/* An array of at least `count` numbers, whose contents may be lost. */
static int *grown(int *array, long *array_room, long count)
{
    if (count <= *array_room)
        return array;
    free(array);
    *array_room = count + count / 8;
    return room((size_t)*array_room, sizeof *array);
}

/* One iteration: ranks all keys. Returns how many of the published ranks are found and wrong here. */
static int rank_keys(int iteration)
{
    int buckets = 1 << class->log_buckets, shift = class->log_values - class->log_buckets;
    if (rank == 0) {
        keys[iteration] = iteration;
        keys[iteration + iterations] = (1 << class->log_values) - iteration;
    }

    /* The counts of buckets, behind them the values of the keys looked at, to which only their ranks add. */
    int *mine = room((size_t)buckets + tests, sizeof *mine), *all = room((size_t)buckets + tests, sizeof *all);
    int *place = room((size_t)buckets, sizeof *place), *first = room((size_t)size + 1, sizeof *first);
    for (long i = 0; i < keys_here; i++)
        mine[keys[i] >> shift]++;
    for (int i = 0; i < tests; i++) {
        long at = class->key[i] - keys_before;
        if (at >= 0 && at < keys_here)
            mine[buckets + i] = keys[at];
    }
    for (int b = 1; b < buckets; b++)
        place[b] = place[b - 1] + mine[b - 1];
    for (long i = 0; i < keys_here; i++)
        by_bucket[place[keys[i] >> shift]++] = keys[i];
    MPI_Allreduce(mine, all, buckets + tests, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    memcpy(test_values, all + buckets, sizeof test_values);

    /* Rank r owns the buckets from first[r] to first[r + 1]: it stops when all ranks up to it have their share. */
    int *out = room((size_t)size, sizeof *out), *out_at = room((size_t)size, sizeof *out_at);
    int *in = room((size_t)size, sizeof *in), *in_at = room((size_t)size, sizeof *in_at);
    long total = 1L << class->log_keys, dealt = 0;
    int sent = 0;
    keys_below = 0;
    for (int r = 0, b = 0; r < size; r++) {
        first[r] = b;
        out_at[r] = sent;
        if (r == rank)
            keys_below = dealt;
        for (; b < buckets && (r == size - 1 || dealt < shares_before(total, r + 1, size)); b++) {
            dealt += all[b];
            sent += mine[b];
        }
        out[r] = sent - out_at[r];
        first[r + 1] = b;
    }
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    owned_count = 0;
    for (int r = 0; r < size; r++) {
        in_at[r] = (int)owned_count;
        owned_count += in[r];
    }
    owned = grown(owned, &owned_room, owned_count);
    MPI_Alltoallv(by_bucket, out, out_at, MPI_INT, owned, in, in_at, MPI_INT, MPI_COMM_WORLD);

    least_value = (long)first[rank] << shift;
    value_count = (long)(first[rank + 1] - first[rank]) << shift;
    below = grown(below, &below_room, value_count);
    memset(below, 0, (size_t)value_count * sizeof *below);
    for (long i = 0; i < owned_count; i++)
        below[owned[i] - least_value]++;
    for (long v = 1; v < value_count; v++)
        below[v] += below[v - 1];

    int wrong = 0;
    for (int i = 0; i < tests; i++) {
        long value = test_values[i] - least_value;
        if (value < 0 || value >= value_count)
            continue;
        long found = keys_below + (value > 0 ? below[value - 1] : 0);
        long expected = class->rank[i] + (long)class->up[i] * iteration + class->shift[i];
        wrong += found != expected;
    }
    free(mine), free(all), free(place), free(first), free(out), free(out_at), free(in), free(in_at);
    return wrong;
}

/* Puts the keys in order with the ranks found, and looks whether they are. */
static int in_order(long expected_sum)
{
    int *sorted = room((size_t)owned_count, sizeof *sorted);
    for (long i = owned_count - 1; i >= 0; i--)
        sorted[--below[owned[i] - least_value]] = owned[i];
    int right = 1;
    long last = owned_count > 0 ? sorted[owned_count - 1] : -1, greatest_before = -1;
    long mine[2] = {owned_count, 0}, all[2]; /* keys, and their sum */
    for (long i = 0; i < owned_count; i++) {
        right = right && (i == 0 || sorted[i - 1] <= sorted[i]);
        mine[1] += sorted[i];
    }
    MPI_Exscan(&last, &greatest_before, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    if (rank > 0 && owned_count > 0 && greatest_before > sorted[0])
        right = 0;
    MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    free(sorted);
    return right && all[0] == 1L << class->log_keys && all[1] == expected_sum;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv, "is [S|W|A|B|C]");
    expect_arguments(argc, argv, 0, 1);
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (argc < 2 ? i == 0 : argv[1][0] == classes[i].name && argv[1][1] == '\0')
            class = &classes[i];
    if (class == NULL)
        refuse("expected the class to be S, W, A, B or C; found \"%s\"\n", argv[1]);
    long total = 1L << class->log_keys;
    if (share(total, 0, size) <= 2 * iterations)
        refuse("class %c has %ld keys, too few for %d ranks: %d of rank 0 change\n", class->name, total, size,
               2 * iterations);
    keys_before = shares_before(total, rank, size);
    keys_here = share(total, rank, size);
    keys = room((size_t)keys_here, sizeof *keys);
    by_bucket = room((size_t)keys_here, sizeof *by_bucket);
    make_keys();

    int wrong = rank_keys(1), all_wrong;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int iteration = 1; iteration <= iterations; iteration++)
        wrong += rank_keys(iteration);
    double seconds = longest(MPI_Wtime() - start);

    long mine = 0, sum;
    for (long i = 0; i < keys_here; i++)
        mine += keys[i];
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int right = in_order(sum);
    if (rank == 0) {
        printf("is: class %c, %ld keys, %d values, %d ranks\n", class->name, total, 1 << class->log_values, size);
        printf("time: %.6f s, %.2f million keys a second\n", seconds, (double)total * iterations / seconds / 1e6);
        printf("sum of the keys: %ld\n", sum);
        printf("published ranks found: %d of %d\n", tests * (iterations + 1) - all_wrong, tests * (iterations + 1));
    }
    free(keys), free(by_bucket), free(owned), free(below);
    return finish(right && all_wrong == 0);
}
