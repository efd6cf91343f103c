/* Prints the rank's view of MPI, its environment and stdin. The last rank ends in the way that the argument selects. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    int rank, size, length, launched;
    char version[MPI_MAX_LIBRARY_VERSION_STRING], line[100] = "";
    char *end = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_library_version(version, &length);
    /* True if a rank sees variables of the host's launcher, or rank numbers of host processes. */
    launched = getenv("PMIX_NAMESPACE") || getenv("PMI_FD") || getenv("PMI_PORT") ||
               atoi(getenv("OMPI_COMM_WORLD_RANK")) != rank || atoi(getenv("PMI_RANK")) != rank ||
               atoi(getenv("PMIX_RANK")) != rank;
    if (rank == 0 && fgets(line, sizeof line, stdin)) line[strcspn(line, "\n")] = 0;
    printf("%d of %d, mcpsim %d, launched %d, read \"%s\"\n", rank, size, strstr(version, "mcpsim") != NULL, launched, line);
    if (rank == size - 1) {
        if (!strcmp(end, "abort")) MPI_Abort(MPI_COMM_WORLD, 7);
        if (!strcmp(end, "crash")) *(volatile int *)16 = 1;
        if (!strcmp(end, "exit")) exit(5);
        if (!strcmp(end, "truncate")) {
            MPI_Request request;
            MPI_Isend(&size, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
            MPI_Recv(&size, 0, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    if (!strcmp(end, "deadlock")) MPI_Recv(&rank, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return !strcmp(end, "return") && rank == size - 1 ? 6 : 0;
}
