/* Polls with an MPI function, for a number of times or until a message arrives. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static MPI_Request request;
static MPI_Win window;

static int poll_with(const char *how) {
    int flag = 0, index, indices[1];
    MPI_Message message;
    if (!strcmp(how, "test")) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    if (!strcmp(how, "testall")) MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE);
    if (!strcmp(how, "testany")) MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE);
    if (!strcmp(how, "testsome")) {
        MPI_Testsome(1, &request, &index, indices, MPI_STATUSES_IGNORE);
        flag = index == 1;
    }
    if (!strcmp(how, "iprobe")) MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    if (!strcmp(how, "improbe")) {
        MPI_Improbe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
        if (flag) MPI_Mrecv(&index, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    }
    if (!strcmp(how, "win")) MPI_Win_test(window, &flag);
    return flag;
}

int main(int argc, char **argv) {
    const char *how = argv[1], *loop = argv[2];
    int count = argc > 3 ? atoi(argv[3]) : 0, rank, size, in = -1, memory = 0, found = 0;
    long *turns = calloc(1, sizeof *turns);
    MPI_Group group;
    double start;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Irecv(&in, 1, MPI_INT, left, 0, MPI_COMM_WORLD, &request);
    MPI_Group neighbour;
    MPI_Group_incl(group, 1, &left, &neighbour);
    MPI_Win_post(neighbour, 0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    if (!strcmp(loop, "count")) {
        for (int i = 0; i < count; i++) found |= poll_with(how);
    } else if (!strcmp(loop, "heap")) {
        while (*turns < count) found |= poll_with(how), ++*turns;
    } else if (rank == 0) {
        while (!found) found = poll_with(how), ++*turns;
    } else {
        sleep(1);
    }
    if (rank == 0) printf("%.1f us, %s, %ld turns\n", (MPI_Wtime() - start) * 1e6, found ? "found" : "nothing", *turns);
    MPI_Send(&rank, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
    MPI_Send(&rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
    MPI_Group_free(&neighbour);
    MPI_Group_incl(group, 1, &right, &neighbour);
    MPI_Win_start(neighbour, 0, window);
    MPI_Win_complete(window);
    if (!found || strcmp(how, "win")) MPI_Win_wait(window);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (!found || strcmp(how, "improbe")) MPI_Recv(&in, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (in != left) printf("rank %d got %d\n", rank, in);
    MPI_Win_free(&window);
    MPI_Group_free(&neighbour);
    MPI_Group_free(&group);
    free(turns);
    MPI_Finalize();
    return 0;
}
