/* Rank 1 waits for rank 0 outside of MPI, in the way that the first argument names, in the directory of the second. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char path[4200], byte = 0;
    const char *how = argv[1];
    struct stat found;
    int rank, file = -1, is_fifo = !strcmp(how, "line") || !strcmp(how, "silent");
    int is_socket = !strcmp(how, "socket") || !strcmp(how, "alone");
    struct sockaddr_un address = {AF_UNIX, ""};
    char line[10];
    FILE *stream;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    sprintf(path, "%s/%s", argv[2], strcmp(how, "never") ? how : "none");
    if (rank == 0 && (!strcmp(how, "fifo") || !strcmp(how, "nobody"))) mkfifo(path, 0600);
    if (rank == 0 && !strcmp(how, "locked")) file = open(path, O_CREAT | O_RDWR, 0600);
    if (file >= 0 && lockf(file, F_LOCK, 0)) return 9;
    if (rank == 0 && is_fifo) mkfifo(path, 0600);
    if (is_socket) {
        file = socket(AF_UNIX, SOCK_STREAM, 0);
        strncpy(address.sun_path, path, sizeof address.sun_path - 1);
        if (rank == 1 && (bind(file, (struct sockaddr *)&address, sizeof address) || listen(file, 1))) return 9;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_fifo && rank == 0) {
        file = open(path, O_WRONLY);
        sleep(1);
        if (!strcmp(how, "line") && write(file, "x\n", 2) != 2) return 9;
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (is_fifo) {
        stream = fopen(path, "r");
        if (!stream || !fgets(line, sizeof line, stream) || strcmp(line, "x\n") || fclose(stream)) return 9;
        puts("found");
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (is_socket && rank == 0) {
        sleep(1);
        if (!strcmp(how, "socket") && connect(file, (struct sockaddr *)&address, sizeof address)) return 9;
        sleep(1);
        if (!strcmp(how, "socket") && send(file, "x", 1, 0) != 1) return 9;
    } else if (is_socket) {
        if (recv(accept(file, NULL, NULL), &byte, 1, 0) != 1 || byte != 'x') return 9;
        puts("found");
    } else if (rank == 1) {
        if (!strcmp(how, "access") || !strcmp(how, "never"))
            while (access(path, F_OK)) continue;
        if (!strcmp(how, "stat"))
            while (stat(path, &found)) usleep(10);
        if (!strcmp(how, "open"))
            while ((file = open(path, O_RDONLY)) < 0) continue;
        if (!strcmp(how, "fifo") || !strcmp(how, "nobody")) {
            file = open(path, O_RDONLY);
            if (read(file, &byte, 1) != 1 || byte != 'x') return 9;
        }
        if (!strcmp(how, "locked") && lockf(open(path, O_RDWR), F_LOCK, 0)) return 9;
        puts("found");
    } else if (strcmp(how, "never") && strcmp(how, "nobody") && strcmp(how, "locked")) {
        sleep(1);
        file = open(path, strcmp(how, "fifo") ? O_CREAT | O_WRONLY : O_WRONLY, 0600);
        if (write(file, "x", 1) != 1) return 9;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
