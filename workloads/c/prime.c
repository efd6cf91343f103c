/* Counts the primes up to n by trial division.
 *
 *     prime n [-d even|cyclic|blocks]
 *
 *     n           from 1 to 10^12
 *     -d even     odd numbers are dealt out in rounds, each of which begins one rank further, so that all ranks get
 *                 equally many primes and multiples of each divisor (default)
 *     -d cyclic   numbers are dealt out one by one: with an even number of ranks every second has only even numbers
 *     -d blocks   a rank tries numbers that follow each other; the last has the most work
 *
 * A number is divided by 2, 3, 5, 7, 9 ... up to its square root until something divides it. The counts are added up for
 * all ranks (MPI_Allreduce), and checked on rank 0 against Legendre's way of counting primes without finding them, in
 * about n^(3/4) operations.
 */
#include "common.h"

static int is_prime(uint64_t x)
{
    if (x < 4)
        return x >= 2;
    if (x % 2 == 0)
        return 0;
    for (uint64_t d = 3; d * d <= x; d += 2)
        if (x % d == 0)
            return 0;
    return 1;
}

/* The primes up to n. `low[v]` counts the numbers from 2 to v, `high[i]` those from 2 to n / i, that are prime or that
 * no prime looked at so far divides. Every prime p takes away those others that p is the least divisor of. */
static uint64_t legendre(uint64_t n)
{
    uint64_t root = 1;
    while ((root + 1) * (root + 1) <= n)
        root++;
    uint64_t *low = room(root + 1, sizeof *low), *high = room(root + 1, sizeof *high);
    for (uint64_t i = 1; i <= root; i++) {
        low[i] = i - 1;
        high[i] = n / i - 1;
    }
    for (uint64_t p = 2; p <= root; p++) {
        if (low[p] == low[p - 1])
            continue; /* not a prime */
        uint64_t smaller = low[p - 1];
        for (uint64_t i = 1; i <= root && p * p <= n / i; i++)
            high[i] -= (i * p <= root ? high[i * p] : low[n / (i * p)]) - smaller;
        for (uint64_t v = root; v >= p * p; v--)
            low[v] -= low[v / p] - smaller;
    }
    uint64_t count = high[1];
    free(low);
    free(high);
    return count;
}

int main(int argc, char **argv)
{
    static const char *const deals[] = {"even", "cyclic", "blocks"};
    begin(&argc, &argv, "prime n [-d even|cyclic|blocks]");
    int deal = choice(&argc, argv, "-d", deals, 3);
    expect_arguments(argc, argv, 1, 1);
    long n = number(argc, argv, 1, "n", 1, 1000000000000, 0);

    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    long first = 2 + rank, last = n, step = size;
    if (deal == 2) {
        first = 2 + shares_before(n - 1, rank, size);
        last = first + share(n - 1, rank, size) - 1;
        step = 1;
    }
    uint64_t mine = 0, count = 0;
    if (deal == 0) {
        /* Rank 0 has the only even prime. In round j the odd number of rank r is the (r + j mod size)-th. */
        long odd = (n - 1) / 2, place = rank;
        mine = rank == 0 && n >= 2;
        for (long begin = 0; begin < odd; begin += size) {
            if (begin + place < odd)
                mine += (uint64_t)is_prime((uint64_t)(3 + 2 * (begin + place)));
            place = place + 1 < size ? place + 1 : 0;
        }
    } else {
        for (long x = first; x <= last; x += step)
            mine += (uint64_t)is_prime((uint64_t)x);
    }
    MPI_Allreduce(&mine, &count, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    double seconds = longest(MPI_Wtime() - start);

    int right = 1;
    if (rank == 0) {
        uint64_t expected = legendre((uint64_t)n);
        right = count == expected;
        printf("prime: n = %ld, %s, %d ranks\n", n, deals[deal], size);
        printf("time: %.6f s\n", seconds);
        printf("primes: %llu\n", (unsigned long long)count);
        if (!right)
            printf("expected: %llu\n", (unsigned long long)expected);
    }
    return finish(right);
}
