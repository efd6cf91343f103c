/* Uses the standard streams in all the ways in which programs use them. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char line[64];
    int rank, saved, file;
    FILE *again;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1) {
        if (rank == 0) printf("your name? ");
        if (fgets(line, sizeof line, stdin)) printf("rank %d: %s", rank, line);
        else printf("rank %d: nothing\n", rank);
        if (read(0, line, 5) > 0) printf("rank %d: %.5s\n", rank, line);
        MPI_Finalize();
        return 0;
    }
    printf("a%d", rank);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("b%d\n", rank);
    fflush(stdout);
    if (write(1, "write\n", 6) != 6) return 1;
    dprintf(1, "dprintf %d\n", rank);
    dprintf(2, "error %d\n", rank);
    fprintf(stderr, "also\n");
    puts("puts");
    printf("%d %d %d %d\n", fileno(stdin), fileno(stdout), fileno(stderr), isatty(1));
    fflush(NULL);
    file = open("out.txt", O_CREAT | O_WRONLY | O_APPEND, 0600);
    saved = dup(1);
    dup2(file, 1);
    puts("into the file");
    dup2(saved, 1);
    puts("out again");
    if (!freopen("out.txt", "a", stdout)) return 2;
    puts("freopened");
    fclose(stdout);
    again = fdopen(1, "w");
    if (!again || fclose(again)) return 3;
    if (system("exit 7") != 7 << 8) return 4;
    close(2);
    if (write(2, "x", 1) != -1) return 5;
    MPI_Finalize();
    return 0;
}
