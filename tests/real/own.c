/* Private state of each rank. Ranks run alternately at every barrier. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

extern char **environ;
static int rank, size, failures, global = 5;
static _Thread_local int local = 6;

#define TURN MPI_Barrier(MPI_COMM_WORLD)
#define CHECK(what)                                                                                                   \
    if (!(what)) {                                                                                                    \
        printf("rank %d, line %d: %s\n", rank, __LINE__, #what);                                                      \
        failures++;                                                                                                   \
    }

static void variables(void) {
    static int count;
    int i;
    for (i = 0; i < 10; i++) {
        count += rank;
        global += rank;
        local += rank;
        errno = rank;
        TURN;
        CHECK(errno == rank);
    }
    CHECK(count == 10 * rank);
    CHECK(global == 5 + 10 * rank);
    CHECK(local == 6 + 10 * rank);
}

static void library(void) {
    char text[] = "a b c d", number[16], *arguments[] = {"own", "-a", "-b", "-a", NULL}, *word;
    int i, option, seen = 0, mine[5], again[5];
    word = strtok(text, " ");
    TURN;
    for (i = 1; (word = strtok(NULL, " ")) != NULL; i++) {
        CHECK(word[0] == "abcd"[i]);
        TURN;
    }
    CHECK(i == 4);
    while ((option = getopt(4, arguments, "ab")) != -1) {
        seen = seen * 10 + (option == 'a' ? 1 : 2);
        TURN;
    }
    CHECK(seen == 121);
    srand(rank + 1);
    for (i = 0; i < 5; i++) {
        mine[i] = rand();
        TURN;
    }
    srand(rank + 1);
    for (i = 0; i < 5; i++) again[i] = rand();
    CHECK(!memcmp(mine, again, sizeof mine));
    sprintf(number, "%d", rank);
    CHECK(getenv("PATH") != NULL);
    setenv("MINE", number, 1);
    TURN;
    CHECK(!strcmp(getenv("MINE"), number));
    setenv("MINE", "other", 0);
    CHECK(!strcmp(getenv("MINE"), number));
    setenv("MINE", "longer than before", 1);
    CHECK(!strcmp(getenv("MINE"), "longer than before"));
    CHECK(setenv("A=B", "", 1) == -1 && errno == EINVAL);
    putenv("THIS=that");
    CHECK(!strcmp(getenv("THIS"), "that"));
    for (i = 0, seen = 0; environ[i]; i++) seen += !strncmp(environ[i], "MINE=", 5);
    CHECK(seen == 1);
    TURN;
    unsetenv("MINE");
    CHECK(!getenv("MINE") && getenv("THIS"));
    clearenv();
    CHECK(!getenv("PATH"));
    setenv("PATH", "x", 1);
    CHECK(!strcmp(getenv("PATH"), "x"));
    TURN;
}

static void identity(void) {
    char name[64], processor[MPI_MAX_PROCESSOR_NAME], small[2];
    struct utsname system;
    int length;
    MPI_Get_processor_name(processor, &length);
    gethostname(name, sizeof name);
    uname(&system);
    CHECK(!strcmp(name, processor) && !strcmp(system.nodename, processor));
    CHECK(gethostname(small, 2) == -1 && errno == ENAMETOOLONG);
    CHECK(getpid() == getppid() + 1 + rank && getppid() >= 1 << 22);
    CHECK(sched_getcpu() == rank % 2);
    CHECK(get_nprocs() == 2 && sysconf(_SC_NPROCESSORS_ONLN) == 2 && sysconf(_SC_PAGESIZE) == 4096);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    variables();
    library();
    identity();
    MPI_Finalize();
    return failures != 0;
}
