/* Rank 1 waits for rank 0 outside of MPI. The arguments are the kind of wait and a directory. */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

/* Rank 1 waits for a FIFO without reading it. Returns true if `how` selects such a wait. */
static int waits(const char *how, const char *path, int rank) {
    static char much[300000];
    int file, count = 0;
    struct pollfd asked = {-1, POLLIN, 0};
    struct timeval second = {1, 0};
    struct epoll_event watched = {EPOLLIN, {0}}, found;
    struct iovec parts[2] = {{much, 1000}, {much + 1000, sizeof much - 1000}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    int queue, is_written = !strcmp(how, "full") || !strcmp(how, "unread") || !strcmp(how, "writev");
    static int pair[2];
    fd_set set;
    if (strcmp(how, "poll") && strcmp(how, "unpolled") && strcmp(how, "select") && strcmp(how, "again") &&
        !is_written && strcmp(how, "lockfile") && strcmp(how, "lockdir") && strcmp(how, "epoll") && strcmp(how, "sendmsg"))
        return 0;
    if (!strcmp(how, "sendmsg")) {
        /* Ranks of a process share descriptors, so rank 1 can send its descriptor numbers to rank 0. */
        if (rank == 1 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) return 9;
        MPI_Bcast(pair, 2, MPI_INT, 1, MPI_COMM_WORLD);
        if (rank == 1 && sendmsg(pair[0], &message, 0) == sizeof much) puts("found");
        if (rank == 0) sleep(1);
        while (rank == 0 && count < (int)sizeof much) count += read(pair[1], much, sizeof much);
        MPI_Barrier(MPI_COMM_WORLD);
        return 1;
    }
    if (!strcmp(how, "lockdir")) {
        if (rank == 0) mkdir(path, 0700);
        MPI_Barrier(MPI_COMM_WORLD);
        sleep(rank == 0);
        if (rank == 0) rmdir(path);
        while (rank == 1 && mkdir(path, 0700)) continue;
        if (rank == 1) puts("found");
        MPI_Barrier(MPI_COMM_WORLD);
        return 1;
    }
    if (rank == 0 && !strcmp(how, "lockfile")) close(open(path, O_CREAT | O_EXCL | O_WRONLY, 0600));
    if (rank == 0 && strcmp(how, "lockfile")) mkfifo(path, 0600);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(how, "lockfile")) {
        sleep(rank == 0);
        if (rank == 0) unlink(path);
        while (rank == 1 && open(path, O_CREAT | O_EXCL | O_WRONLY, 0600) < 0) continue;
        if (rank == 1) puts("found");
        MPI_Barrier(MPI_COMM_WORLD);
        return 1;
    }
    file = open(path, O_RDWR | (strcmp(how, "again") ? 0 : O_NONBLOCK));
    MPI_Barrier(MPI_COMM_WORLD);
    asked.fd = file;
    if (is_written) {
        if (rank == 1 && (strcmp(how, "writev") ? write(file, much, sizeof much) : writev(file, parts, 2)) == sizeof much)
            puts("found");
        if (rank == 0) sleep(1);
        while (rank == 0 && strcmp(how, "unread") && count < (int)sizeof much) count += read(file, much, sizeof much);
    } else if (rank == 0) {
        if (strcmp(how, "again")) MPI_Recv(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sleep(1);
        if (strcmp(how, "unpolled") && write(file, "x", 1) != 1) return 9;
    } else if (!strcmp(how, "epoll")) {
        double start = MPI_Wtime();
        queue = epoll_create1(0);
        if (epoll_ctl(queue, EPOLL_CTL_ADD, file, &watched)) return 9;
        if (epoll_wait(queue, &found, 1, 1000) || MPI_Wtime() - start < 1) return 9;
        MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
        if (epoll_wait(queue, &found, 1, -1) == 1 && found.events == EPOLLIN) puts("found");
    } else if (!strcmp(how, "again")) {
        while (read(file, much, 1) < 0 && errno == EAGAIN) continue;
        puts("found");
    } else if (!strcmp(how, "select")) {
        double start = MPI_Wtime();
        FD_ZERO(&set);
        FD_SET(file, &set);
        if (select(file + 1, &set, NULL, NULL, &second) || MPI_Wtime() - start < 1) return 9;
        MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
        FD_SET(file, &set);
        if (select(file + 1, &set, NULL, NULL, NULL) == 1 && FD_ISSET(file, &set)) puts("found");
    } else {
        int before = poll(&asked, 1, 1000);
        MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
        if (before == 0 && poll(&asked, 1, -1) == 1) puts("found");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return 1;
}

/* Rank 1 accesses objects of another rank, or waits for a signal. */
static void touches(const char *how, int rank) {
    sigset_t all;
    int number;
    if (rank == 1 && !strcmp(how, "pause")) pause();
    if (rank == 1 && !strcmp(how, "sigwait") && !sigfillset(&all)) sigwait(&all, &number);
    long place = 0x600000000000;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, pid = getpid();
    if (!strcmp(how, "fixed")) {
        MPI_Barrier(MPI_COMM_WORLD);
        /* A rank may map its own memory again. */
        char *mine = mmap((void *)(place + 65536 * rank), 65536, PROT_READ | PROT_WRITE, flags, -1, 0);
        mine = mmap(mine, 8192, PROT_READ | PROT_WRITE, flags, -1, 0);
        mine[0] = 1;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) mmap((void *)(place + 32768), 8192, PROT_READ, flags, -1, 0);
    } else if (!strcmp(how, "kill")) {
        MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (rank == 1) kill(pid, SIGTERM);
    } else if (!strcmp(how, "child")) {
        char command[100];
        sprintf(command, "kill -USR1 %d 2>/dev/null", pid);
        if (rank == 1 && system(command) == 0) puts("killed");
        if (rank == 1) puts("found");
    }
}

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
    if (file >= 0 && flock(file, LOCK_EX)) return 9;
    if (rank == 0 && is_fifo) mkfifo(path, 0600);
    if (is_socket) {
        file = socket(AF_UNIX, SOCK_STREAM, 0);
        strncpy(address.sun_path, path, sizeof address.sun_path - 1);
        if (rank == 1 && (bind(file, (struct sockaddr *)&address, sizeof address) || listen(file, 1))) return 9;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    touches(how, rank);
    if (waits(how, path, rank) || !strcmp(how, "fixed") || !strcmp(how, "kill") || !strcmp(how, "child")) {
        MPI_Finalize();
        return 0;
    }
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
        if (!strcmp(how, "locked") && flock(open(path, O_RDWR), LOCK_EX)) return 9;
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
