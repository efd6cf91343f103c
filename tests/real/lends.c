/* Sends random messages in several ways and changes each send buffer as soon as its send is complete. Receives are
 * posted before or after the sends. Each rank checks all data that it receives.
 *
 *     lends seed rounds
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most = 1 << 17, ways = 8, ranks = 6 };
static const int sizes[] = {0, 8, 511, 512, 1000, 4096, 8193, 70000, most};
static unsigned char out[ranks][most], in[ranks][most];
static int rank, size, wrong;
static uint64_t state;

static unsigned draw(unsigned limit)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (unsigned)(state >> 33) % limit;
}

static unsigned char byte(int round, int from, int to, int i)
{
    return (unsigned char)((round * 131 + from * 31 + to * 7 + 1) * (i + 3) >> 2);
}

static void fill(unsigned char *buffer, int bytes, int round, int to)
{
    for (int i = 0; i < bytes; i++)
        buffer[i] = byte(round, rank, to, i);
}

static void check(const unsigned char *buffer, int bytes, int round, int from)
{
    for (int i = 0; i < bytes; i++)
        wrong += buffer[i] != byte(round, from, rank, i);
}

/* All ranks send a message to each other rank. The ranks of `late` post their receives after their sends. */
static void everybody(int round, int way, unsigned late, const int *bytes)
{
    MPI_Request sends[ranks], receives[ranks];
    int is_late = late >> rank & 1, done = 0;
    for (int turn = 0; turn < 2; turn++) {
        for (int from = 0; turn == is_late && from < size; from++)
            MPI_Irecv(in[from], most, MPI_BYTE, from, round, MPI_COMM_WORLD, &receives[from]);
        if (turn == 0) {
            for (int to = 0; to < size; to++) {
                fill(out[to], bytes[rank], round, to);
                if (way == 0)
                    MPI_Issend(out[to], bytes[rank], MPI_BYTE, to, round, MPI_COMM_WORLD, &sends[to]);
                else if (way == 1)
                    MPI_Send_init(out[to], bytes[rank], MPI_BYTE, to, round, MPI_COMM_WORLD, &sends[to]);
                else
                    MPI_Isend(out[to], bytes[rank], MPI_BYTE, to, round, MPI_COMM_WORLD, &sends[to]);
            }
            if (way == 1)
                MPI_Startall(size, sends);
        }
    }
    if (way == 2)
        while (!done)
            MPI_Testall(size, sends, &done, MPI_STATUSES_IGNORE);
    else if (way == 3)
        for (int to = 0; to < size; to++) {
            while (!done)
                MPI_Request_get_status(sends[to], &done, MPI_STATUS_IGNORE);
            memset(out[to], 0xee, most);
            done = 0;
            MPI_Wait(&sends[to], MPI_STATUS_IGNORE);
        }
    else if (way == 4) {
        for (int left = size, place; left > 0; left--) {
            MPI_Waitany(size, sends, &place, MPI_STATUS_IGNORE);
            memset(out[place], 0xee, most);
        }
    } else
        MPI_Waitall(size, sends, MPI_STATUSES_IGNORE);
    memset(out, 0xee, sizeof out);
    if (way == 1)
        for (int to = 0; to < size; to++)
            MPI_Request_free(&sends[to]);
    MPI_Waitall(size, receives, MPI_STATUSES_IGNORE);
    for (int from = 0; from < size; from++)
        check(in[from], bytes[from], round, from);
}

/* Each rank sends to the next one. */
static void ring(int round, int way, const int *bytes)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size, mine = bytes[rank];
    MPI_Status status;
    fill(out[0], mine, round, next);
    if (way == 0) {
        MPI_Sendrecv(out[0], mine, MPI_BYTE, next, 1, in[0], most, MPI_BYTE, last, 1, MPI_COMM_WORLD, &status);
    } else if (way == 1) {
        fill(out[0], bytes[0], round, next);
        MPI_Sendrecv_replace(out[0], bytes[0], MPI_BYTE, next, 1, last, 1, MPI_COMM_WORLD, &status);
        check(out[0], bytes[0], round, last);
        return;
    } else if (rank % 2 == 0) {
        MPI_Send(out[0], mine, MPI_BYTE, next, 1, MPI_COMM_WORLD), memset(out[0], 0xee, most);
        MPI_Recv(in[0], most, MPI_BYTE, last, 1, MPI_COMM_WORLD, &status);
    } else {
        MPI_Recv(in[0], most, MPI_BYTE, last, 1, MPI_COMM_WORLD, &status);
        MPI_Send(out[0], mine, MPI_BYTE, next, 1, MPI_COMM_WORLD);
    }
    memset(out[0], 0xee, most);
    check(in[0], bytes[last], round, last);
}

/* Collectives, of which two use the buffers of the results as input. */
static void collectives(int round, int bytes)
{
    static int numbers[most / 4], sums[most / 4];
    int count = bytes / 4;
    for (int to = 0; to < size; to++)
        fill(out[0] + to * (bytes / ranks), bytes / ranks, round, to);
    MPI_Alltoall(out[0], bytes / ranks, MPI_BYTE, in[0], bytes / ranks, MPI_BYTE, MPI_COMM_WORLD);
    memset(out[0], 0xee, most);
    for (int from = 0; from < size; from++)
        check(in[0] + from * (bytes / ranks), bytes / ranks, round, from);
    fill(in[0] + rank * (bytes / ranks), bytes / ranks, round, 0);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, in[0], bytes / ranks, MPI_BYTE, MPI_COMM_WORLD);
    for (int from = 0, me = rank; from < size; from++)
        rank = 0, check(in[0] + from * (bytes / ranks), bytes / ranks, round, from), rank = me;
    for (int i = 0; i < count; i++)
        sums[i] = numbers[i] = round + rank * i;
    MPI_Allreduce(MPI_IN_PLACE, sums, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        wrong += sums[i] != size * round + size * (size - 1) / 2 * i;
    MPI_Reduce(numbers, sums, count, MPI_INT, MPI_SUM, round % size, MPI_COMM_WORLD);
    memset(numbers, 0, sizeof numbers);
    for (int i = 0; rank == round % size && i < count; i++)
        wrong += sums[i] != size * round + size * (size - 1) / 2 * i;
    MPI_Bcast(sums, count, MPI_INT, round % size, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        wrong += sums[i] != size * round + size * (size - 1) / 2 * i;
    memset(sums, 0, sizeof sums);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    state = 88172645463325252u + (argc > 1 ? strtoull(argv[1], NULL, 10) : 0);
    int rounds = argc > 2 ? atoi(argv[2]) : 10;
    for (int round = 0; round < rounds; round++) {
        int bytes[ranks], way = (int)draw(ways);
        unsigned late = draw(1 << ranks);
        for (int from = 0; from < ranks; from++)
            bytes[from] = sizes[draw(sizeof sizes / sizeof *sizes)];
        if (way < 5)
            everybody(round, way, late, bytes);
        else if (way < 7)
            ring(round, (int)draw(3), bytes);
        else
            collectives(round, bytes[0]);
    }
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Finalize();
    return wrong > 0;
}
