/* Child processes inherit the standard streams that a rank has replaced, and /proc lists the memory of the rank. Prints
   the same output under any MPI. The argument is a directory. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int rank, failures;

#define CHECK(what)                                                                                                   \
    if (!(what)) {                                                                                                    \
        fprintf(stderr, "rank %d, line %d: %s\n", rank, __LINE__, #what);                                             \
        failures++;                                                                                                   \
    }

/* Returns true if the file has these lines. */
static int holds(const char *path, const char *expected) {
    char text[1000];
    int file = open(path, O_RDONLY);
    long length = read(file, text, sizeof text - 1);
    text[length < 0 ? 0 : length] = 0;
    close(file);
    return !strcmp(text, expected);
}

static void children(const char *path) {
    char line[100] = "";
    int kept[] = {dup(0), dup(1), dup(2)}, file = open(path, O_CREAT | O_TRUNC | O_APPEND | O_RDWR, 0600);
    FILE *pipe;
    struct stat found;
    dup2(file, 1), dup2(file, 2);
    printf("printed\n"), fflush(stdout);
    CHECK(system("echo by system") == 0);
    pipe = popen("cat", "w");
    fputs("through cat\n", pipe), pclose(pipe);
    pipe = popen("echo heard; echo err >&2", "r");
    CHECK(fgets(line, sizeof line, pipe) && !strcmp(line, "heard\n"));
    pclose(pipe);
    dup2(kept[1], 1), dup2(kept[2], 2);
    CHECK(holds(path, "printed\nby system\nthrough cat\nerr\n"));
    /* The closed stream has the lowest free descriptor, so open returns it. */
    close(0);
    CHECK(open(path, O_RDONLY) == 0 && read(0, line, 7) == 7 && !memcmp(line, "printed", 7));
    CHECK(lseek(0, 0, SEEK_CUR) == 7 && pread(0, line, 5, 1) == 5 && !memcmp(line, "rinte", 5));
    CHECK(fstat(0, &found) == 0 && found.st_size == lseek(0, 0, SEEK_END) && lseek(0, 7, SEEK_SET) == 7);
    CHECK(system("read line && read line && test \"$line\" = 'by system'") == 0);
    close(0);
    CHECK(dup(file) == 0);
    dup2(kept[0], 0);
}

static void memory(void) {
    pthread_attr_t attributes;
    void *start;
    size_t size;
    char *first = sbrk(8192), *second, here;
    CHECK(pthread_getattr_np(pthread_self(), &attributes) == 0);
    CHECK(pthread_attr_getstack(&attributes, &start, &size) == 0);
    CHECK((char *)start <= &here && &here < (char *)start + size);
    MPI_Barrier(MPI_COMM_WORLD);
    second = sbrk(4096);
    CHECK(second == first + 8192 && sbrk(0) == second + 4096);
    memset(first, rank, 8192 + 4096);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(first[100] == rank && second[4095] == rank);
    CHECK(sbrk(-4096) == second + 4096 && sbrk(0) == second && brk(first + 100) == 0 && sbrk(0) == first + 100);
}

int main(int argc, char **argv) {
    char path[4200];
    int kept;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    sprintf(path, "%s/out.%d", argv[1], rank);
    children(path);
    memory();
    kept = dup(1);
    CHECK(freopen(path, "w", stdout) != NULL);
    printf("again\n"), fflush(stdout);
    CHECK(write(1, "written\n", 8) == 8 && system("echo by system") == 0);
    CHECK(holds(path, "again\nwritten\nby system\n"));
    dprintf(kept, "rank %d: %d failures\n", rank, failures);
    MPI_Finalize();
    return failures != 0;
}
