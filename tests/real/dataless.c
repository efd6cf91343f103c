/* Sends short and long messages in all ways; each rank prints the numbers of the operations whose data arrived. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { longest = 1 << 20 };
static char out[longest], in[2 * longest];
static int rank;

static void came(int operation, int bytes)
{
    char printed[16];
    int some = 0;
    for (int i = 0; i < bytes; i++)
        some |= in[i];
    if (rank == 1 && bytes > 0)
        snprintf(printed, sizeof printed, "%d%c ", operation, some ? '+' : '-'), fputs(printed, stdout);
    memset(in, 0, sizeof in);
}

static void all_ways(int bytes)
{
    MPI_Request request;
    MPI_Status status;
    int other = 1 - rank, count;
    if (rank == 0)
        MPI_Send(out, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(in, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &status), MPI_Get_count(&status, MPI_CHAR, &count);
    if (rank == 1 && count != bytes)
        printf("wrong count %d\n", count);
    came(1, bytes);
    MPI_Isend(out, bytes, MPI_CHAR, other, 1, MPI_COMM_WORLD, &request);
    MPI_Recv(in, bytes, MPI_CHAR, other, 1, MPI_COMM_WORLD, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    came(2, bytes);
    MPI_Send_init(out, bytes, MPI_CHAR, other, 2, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MPI_Recv(in, bytes, MPI_CHAR, other, 2, MPI_COMM_WORLD, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    came(3, bytes);
    MPI_Sendrecv(out, bytes, MPI_CHAR, other, 3, in, bytes, MPI_CHAR, other, 3, MPI_COMM_WORLD, &status);
    came(4, bytes);
    memcpy(in, out, rank == 0 ? bytes : 0);
    MPI_Bcast(in, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    came(5, bytes);
    MPI_Ibcast(rank == 0 ? out : in, bytes, MPI_CHAR, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    came(6, bytes);
    MPI_Alltoall(out, bytes / 2, MPI_CHAR, in, bytes / 2, MPI_CHAR, MPI_COMM_WORLD);
    memset(in + bytes / 2, 0, bytes);
    came(7, bytes);
    MPI_Reduce(out, in, bytes, MPI_CHAR, MPI_MAX, 1, MPI_COMM_WORLD);
    memset(in, 0, sizeof in);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    memset(out, 1, sizeof out);
    all_ways(8);
    all_ways(4096);
    all_ways(longest);
    /* mcpsim itself needs the sizes of all windows. */
    MPI_Comm half;
    MPI_Win window;
    char *memory;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &half);
    MPI_Win_allocate(8, 1, MPI_INFO_NULL, half, &memory, &window);
    MPI_Win_free(&window);
    MPI_Comm_free(&half);
    return MPI_Finalize();
}
