/* Process state of a rank: working directory, umask, environment of child processes, process ID, /proc. Runs in the
   directory of the first argument. Prints the same output under any MPI. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int rank, size, failures;
static char name[64], text[4096];

#define TURN MPI_Barrier(MPI_COMM_WORLD)
#define CHECK(what)                                                                                                   \
    if (!(what)) {                                                                                                    \
        printf("rank %d, line %d: %s (%s)\n", rank, __LINE__, #what, strerror(errno));                                \
        failures++;                                                                                                   \
    }

static const char *slurp(const char *path) {
    FILE *file = fopen(path, "r");
    size_t length;
    text[0] = 0;
    if (!file) return text;
    length = fread(text, 1, sizeof text - 1, file);
    text[length] = 0;
    fclose(file);
    return text;
}

/* Returns the first line that the command prints. */
static const char *first_line(const char *command) {
    FILE *pipe = popen(command, "r");
    CHECK(pipe);
    if (!pipe || !fgets(text, sizeof text, pipe)) strcpy(text, "nothing");
    if (pipe) CHECK(pclose(pipe) == 0);
    text[strcspn(text, "\n")] = 0;
    return text;
}

static void directories(const char *start) {
    char here[4096], expected[4200];
    FILE *file;
    struct stat found;
    CHECK(chdir(start) == 0);
    sprintf(name, "rank%d", rank);
    mkdir(name, 0777);
    CHECK(chdir(name) == 0);
    TURN;
    CHECK(getcwd(here, sizeof here));
    sprintf(expected, "%s/%s", start, name);
    CHECK(!strcmp(here, expected));
    file = fopen("mine", "w");
    TURN;
    fprintf(file, "of rank %d\n", rank);
    fclose(file);
    TURN;
    sprintf(expected, "of rank %d\n", rank);
    CHECK(!strcmp(slurp("mine"), expected));
    CHECK(system("test -f mine && cp mine copied") == 0);
    CHECK(!strcmp(slurp("copied"), expected));
    CHECK(strstr(first_line("pwd"), name));
    CHECK(chdir("nowhere") == -1 && errno == ENOENT);
    TURN;
    CHECK(access("mine", F_OK) == 0);

    umask(rank % 2 ? 077 : 027);
    TURN;
    close(open("masked", O_CREAT | O_WRONLY, 0666));
    TURN;
    CHECK(stat("masked", &found) == 0 && (found.st_mode & 0777) == (rank % 2 ? 0600 : 0640));
    CHECK(umask(022) == (mode_t)(rank % 2 ? 077 : 027));
    TURN;
    CHECK(fchdir(open("..", O_RDONLY)) == 0 && access(name, X_OK) == 0);
}

static void environments(void) {
    char number[16];
    sprintf(number, "%d", rank);
    setenv("MINE", number, 1);
    TURN;
    CHECK(!strcmp(first_line("echo $MINE"), number));
    CHECK(system("exit $MINE") == rank << 8);
    TURN;
    CHECK(system(NULL));
}

static void numbers(char **argv) {
    int mine = getpid(), all[64], i, j, pages;
    char path[64], *slash = strrchr(argv[0], '/'), line[64];
    MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    for (i = 0; i < size; i++)
        for (j = 0; j < i; j++) CHECK(all[i] != all[j]);
    CHECK(getppid() > 0 && getppid() != mine && kill(mine, 0) == 0);
    sprintf(path, "/proc/%d/statm", mine);
    CHECK(sscanf(slurp(path), "%d", &pages) == 1 && pages > 0);
    sprintf(path, "/proc/%d/status", mine);
    slurp(path);
    sprintf(line, "\nPid:\t%d\n", mine);
    CHECK(strstr(text, line) && strstr(text, "VmRSS:"));
    slurp("/proc/self/stat");
    sprintf(line, "%d (", mine);
    CHECK(!strncmp(text, line, strlen(line)));
    CHECK(!strcmp(slurp("/proc/self/cmdline"), argv[0]));
    slurp("/proc/self/comm");
    text[strcspn(text, "\n")] = 0;
    CHECK(!strncmp(slash ? slash + 1 : argv[0], text, 15));
    i = readlink("/proc/self/exe", text, sizeof text - 1);
    text[i < 0 ? 0 : i] = 0;
    CHECK(i > 0 && strrchr(text, '/') && !strcmp(strrchr(text, '/'), slash ? slash : text));
    CHECK(strstr(slurp("/proc/self/maps"), "/"));
    CHECK(access("/proc/self/maps", R_OK) == 0);
    sprintf(path, "/proc/%d", mine);
    CHECK(opendir(path));
    i = readlink("/proc/self", text, sizeof text - 1);
    text[i < 0 ? 0 : i] = 0;
    CHECK(atoi(text) == mine);
    CHECK(syscall(SYS_getpid) == mine && syscall(SYS_gettid) == mine);
    sprintf(path, "/proc/self/task/%d/stat", mine);
    CHECK(access(path, R_OK) == 0);
}

/* CPU affinity of a rank does not change if other ranks set theirs. */
static void scheduling(void) {
    cpu_set_t all, one, found;
    int i;
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    for (i = 0; !CPU_ISSET(i, &all); i++) continue;
    CPU_ZERO(&one);
    CPU_SET(i, &one);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) CHECK(sched_setaffinity(getpid(), sizeof one, &one) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(sched_getaffinity(getpid(), sizeof found, &found) == 0);
    CHECK(CPU_EQUAL(&found, rank == 1 ? &one : &all));
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    directories(argv[1]);
    environments();
    numbers(argv);
    scheduling();
    printf("rank %d of %d is done\n", rank, size);
    MPI_Finalize();
    return failures != 0;
}
