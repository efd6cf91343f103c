/* Sorts n numbers that lie spread over all ranks.
 *
 *     sort n [-a sample|oddeven]
 *
 *     n            numbers of 63 bits, from 1 to 10^10
 *     -a sample    sorting by regular sampling (default): every rank sorts its part and gives evenly spaced samples, of
 *                  which all choose the same dividing numbers; numbers go to the rank of their range (Alltoallv)
 *     -a oddeven   odd-even transposition: ranks sort their parts, then neighbours merge theirs, the left one keeping
 *                  the smaller half, in as many rounds as there are ranks
 *
 * Algorithms: Li, Lu, Schaeffer, Shillington, Wong, Shi: On the versatility of parallel sorting by regular sampling,
 * Parallel Computing 19 (1993); Knuth, The Art of Computer Programming, volume 3, 5.3.4, exercises.
 * Checked: each part is in order, no part begins below the end of those before it, and number, sum and exclusive-or of
 * all numbers are as they were.
 */
#include "common.h"

static const uint64_t nobody = UINT64_MAX; /* fills up parts; greater than all numbers, which have 63 bits */

struct checksum {
    uint64_t count, sum, mix;
};

/* Sorts by merging runs of 1, 2, 4, … numbers. The C library's qsort calls the program back for each comparison, and on some
 * processors where the system has put both decides whether that takes once or twice as long. */
static void sort(uint64_t *numbers, long count)
{
    uint64_t *from = numbers, *to = room((size_t)count, sizeof *to), *other = to;
    for (long run = 1; run < count; run *= 2) {
        for (long first = 0; first < count; first += 2 * run) {
            long middle = first + run < count ? first + run : count, end = middle + run < count ? middle + run : count;
            long a = first, b = middle;
            for (long i = first; i < end; i++)
                to[i] = b == end || (a < middle && from[a] <= from[b]) ? from[a++] : from[b++];
        }
        uint64_t *swap = from;
        from = to, to = swap;
    }
    if (from != numbers)
        memcpy(numbers, from, (size_t)count * sizeof *numbers);
    free(other);
}

static struct checksum checksum(const uint64_t *numbers, long count)
{
    struct checksum mine = {(uint64_t)count, 0, 0}, all;
    for (long i = 0; i < count; i++) {
        mine.sum += scramble(numbers[i]);
        mine.mix ^= numbers[i];
    }
    MPI_Allreduce(&mine, &all, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&mine.mix, &all.mix, 1, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD);
    return all;
}

/* Sorts by sampling. Takes and gives back a part, whose length changes. */
static uint64_t *sample_sort(uint64_t *part, long *count)
{
    sort(part, *count);
    uint64_t *samples = room((size_t)size, sizeof *samples);
    uint64_t *all = room((size_t)size * (size_t)size, sizeof *all);
    for (int i = 0; i < size; i++)
        samples[i] = *count > 0 ? part[*count * i / size] : nobody;
    MPI_Allgather(samples, size, MPI_UINT64_T, all, size, MPI_UINT64_T, MPI_COMM_WORLD);
    sort(all, (long)size * size);

    /* Rank i takes what is at least all[i * size], and less than that of the next rank. */
    int *out = room((size_t)size, sizeof *out), *out_at = room((size_t)size, sizeof *out_at);
    int *in = room((size_t)size, sizeof *in), *in_at = room((size_t)size, sizeof *in_at);
    long next = 0;
    for (int i = 0; i < size; i++) {
        out_at[i] = (int)next;
        while (next < *count && (i == size - 1 || part[next] < all[(i + 1) * size]))
            next++;
        out[i] = (int)next - out_at[i];
    }
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    long total = 0;
    for (int i = 0; i < size; i++) {
        in_at[i] = (int)total;
        total += in[i];
    }
    uint64_t *sorted = room((size_t)total, sizeof *sorted);
    MPI_Alltoallv(part, out, out_at, MPI_UINT64_T, sorted, in, in_at, MPI_UINT64_T, MPI_COMM_WORLD);
    sort(sorted, total);
    free(samples), free(all), free(out), free(out_at), free(in), free(in_at), free(part);
    *count = total;
    return sorted;
}

/* Sorts by merging neighbours. Parts must be equally long for that, so shorter ones are filled up; in the end what
 * fills them is in the last parts and is dropped. */
static uint64_t *odd_even_sort(uint64_t *part, long *count, long length)
{
    uint64_t *mine = room((size_t)length, sizeof *mine), *other = room((size_t)length, sizeof *other);
    uint64_t *merged = room((size_t)length, sizeof *merged);
    memcpy(mine, part, (size_t)*count * sizeof *mine);
    for (long i = *count; i < length; i++)
        mine[i] = nobody;
    free(part);
    sort(mine, length);
    for (int round = 0; round < size; round++) {
        int left = (rank + round) % 2 == 0;
        int partner = left ? rank + 1 : rank - 1;
        if (partner < 0 || partner >= size)
            continue;
        MPI_Sendrecv(mine, (int)length, MPI_UINT64_T, partner, round, other, (int)length, MPI_UINT64_T, partner, round,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (left)
            for (long k = 0, i = 0, j = 0; k < length; k++)
                merged[k] = mine[i] <= other[j] ? mine[i++] : other[j++];
        else
            for (long k = length - 1, i = length - 1, j = length - 1; k >= 0; k--)
                merged[k] = mine[i] >= other[j] ? mine[i--] : other[j--];
        uint64_t *swap = mine;
        mine = merged;
        merged = swap;
    }
    free(other), free(merged);
    for (*count = length; *count > 0 && mine[*count - 1] == nobody;)
        --*count;
    return mine;
}

int main(int argc, char **argv)
{
    static const char *const ways[] = {"sample", "oddeven"};
    begin(&argc, &argv, "sort n [-a sample|oddeven]");
    int way = choice(&argc, argv, "-a", ways, 2);
    expect_arguments(argc, argv, 1, 1);
    long n = number(argc, argv, 1, "n", 1, 10000000000, 0);
    long count = share(n, rank, size), longest_part = share(n, 0, size);
    if (longest_part > INT32_MAX / 4)
        refuse("%ld numbers are too many for %d ranks: a rank takes up to %ld\n", n, size, (long)INT32_MAX / 4);

    uint64_t *part = room((size_t)count, sizeof *part);
    long before = shares_before(n, rank, size);
    for (long i = 0; i < count; i++)
        part[i] = scramble((uint64_t)(before + i)) >> 1;
    struct checksum was = checksum(part, count);

    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    part = way == 0 ? sample_sort(part, &count) : odd_even_sort(part, &count, longest_part);
    double seconds = longest(MPI_Wtime() - start);

    struct checksum is = checksum(part, count);
    int right = was.count == is.count && was.sum == is.sum && was.mix == is.mix;
    for (long i = 1; i < count; i++)
        right = right && part[i - 1] <= part[i];
    uint64_t last = count > 0 ? part[count - 1] : 0, greatest_before = 0;
    MPI_Exscan(&last, &greatest_before, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    if (rank > 0 && count > 0 && greatest_before > part[0])
        right = 0;

    long most;
    MPI_Reduce(&count, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("sort: n = %ld, %s, %d ranks\n", n, ways[way], size);
        printf("time: %.6f s\n", seconds);
        printf("checksum: %016llx\n", (unsigned long long)(is.sum ^ is.mix));
        printf("longest part: %ld\n", most);
    }
    free(part);
    return finish(right);
}
