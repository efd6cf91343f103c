/* Tests messages whose data and times are sent separately. The argument selects the case. Ranks check received data. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static void expect(int is_so, const char *what) {
    if (is_so) return;
    printf("rank %d: %s is not so\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 9);
}

static unsigned char byte(int from, int message, int at) { return (unsigned char)(31 * from + 7 * message + at + at / 251); }

/* Every rank sends messages to every other rank, with sizes around the limit above which data are sent separately. */
static void large(void) {
    const int sizes[] = {0, 1, (32 << 10) - 1, 32 << 10, (32 << 10) + 1, 300000};
    unsigned char *out = malloc(300000), *in = malloc(300000);
    for (int step = 1; step < size; step++) {
        int to = (rank + step) % size, from = (rank + size - step) % size;
        for (int message = 0; message < 6; message++) {
            int bytes = sizes[message], wrong = 0;
            for (int at = 0; at < bytes; at++) out[at] = byte(rank, message, at);
            MPI_Sendrecv(out, bytes, MPI_BYTE, to, message, in, bytes, MPI_BYTE, from, message, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            for (int at = 0; at < bytes; at++) wrong += in[at] != byte(from, message, at);
            expect(wrong == 0, "what came is what was sent");
        }
    }
    free(out);
    free(in);
}

/* Rank 0 makes more calls than the simulator may queue, before another rank receives. */
static void many(void) {
    int last = size - 1;
    for (int number = 0; number < 10000; number++) {
        int got = number;
        if (rank == 0) MPI_Send(&number, 1, MPI_INT, last, 0, MPI_COMM_WORLD);
        if (rank == last) MPI_Recv(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(got == number, "messages do not overtake");
    }
}

/* Rank 0 cancels receives before and after their messages arrive. */
static void cancel(void) {
    for (int number = 0; number < 40; number++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == size - 1) {
            usleep(20);
            MPI_Send(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        }
        if (rank != 0) continue;
        int got = -1, cancelled;
        MPI_Request request;
        MPI_Status status;
        MPI_Irecv(&got, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, &request);
        usleep(number);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &cancelled);
        printf("%d: %s\n", number, cancelled ? "cancelled" : "received");
        if (cancelled) MPI_Recv(&got, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(got == number, "the message is received once");
    }
}

/* All ranks send large messages that no rank receives. Then the last rank ends the run. */
static void unread(void) {
    static char data[100000];
    MPI_Request request;
    for (int message = 0; message < 20; message++)
        for (int to = 0; to < size; to++)
            if (to != rank) MPI_Isend(data, message % 2 ? 100 : 100000, MPI_BYTE, to, 1, MPI_COMM_WORLD, &request);
    if (rank == size - 1) MPI_Abort(MPI_COMM_WORLD, 8);
    MPI_Recv(data, 1, MPI_BYTE, size - 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *way = argc > 1 ? argv[1] : "";
    if (!strcmp(way, "large")) large();
    if (!strcmp(way, "many")) many();
    if (!strcmp(way, "cancel")) cancel();
    if (!strcmp(way, "unread")) unread();
    MPI_Finalize();
    return 0;
}
