/* Static data of the C library, while ranks run alternately. Prints the same output under any MPI. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <locale.h>
#include <libintl.h>
#include <math.h>
#include <mntent.h>
#include <mpi.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <pthread.h>
#include <pwd.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

static int rank, failures, ended;

#define TURN MPI_Barrier(MPI_COMM_WORLD)
#define CHECK(what)                                                                                                   \
    if (!(what)) {                                                                                                    \
        printf("rank %d, line %d: %s\n", rank, __LINE__, #what);                                                      \
        failures++;                                                                                                   \
    }

static void texts(void) {
    char expected[64];
    struct in_addr address;
    int point, sign;
    const char *text = strerror(1000 + rank);
    sprintf(expected, "Unknown error %d", 1000 + rank);
    TURN;
    CHECK(!strcmp(text, expected));
    text = strsignal(1000 + rank);
    sprintf(expected, "Unknown signal %d", 1000 + rank);
    TURN;
    CHECK(!strcmp(text, expected));
    text = l64a(100 + rank);
    TURN;
    CHECK(a64l(text) == 100 + rank);
    text = ecvt(1.5 + rank, 3, &point, &sign);
    sprintf(expected, "%d5", 10 * (1 + rank) / 10);
    TURN;
    CHECK(!strncmp(text, expected, 2) && point == 1 && !sign);
    text = fcvt(-0.5 - rank, 2, &point, &sign);
    TURN;
    CHECK(sign && atoi(text) == 50 + 100 * rank);
    address.s_addr = htonl(0x7f000001 + rank);
    text = inet_ntoa(address);
    sprintf(expected, "127.0.0.%d", 1 + rank);
    TURN;
    CHECK(!strcmp(text, expected));
    lgamma(rank % 2 ? -0.5 : 0.5);
    TURN;
    CHECK(signgam == (rank % 2 ? -1 : 1));
}

/* Reads entries of files, for which the C library has a static buffer. */
static void read_lists(const char *directory) {
    char path[4096], expected[64];
    struct passwd *user;
    struct mntent *mount;
    wchar_t wide = 0;
    FILE *file;
    sprintf(path, "%s/list.%d", directory, rank);
    file = fopen(path, "w+");
    fprintf(file, "user%d:x:%d:%d:::\n", rank, rank, rank);
    rewind(file);
    sprintf(expected, "user%d", rank);
    user = fgetpwent(file);
    TURN;
    CHECK(user && !strcmp(user->pw_name, expected));
    rewind(file);
    fprintf(file, "device%d /mnt ext4 rw 0 0\n", rank);
    rewind(file);
    sprintf(expected, "device%d", rank);
    mount = getmntent(file);
    TURN;
    CHECK(mount && !strcmp(mount->mnt_fsname, expected));
    fclose(file);
    h_errno = 1 + rank;
    TURN;
    CHECK(h_errno == 1 + rank);
    sprintf(expected, "domain%d", rank);
    textdomain(expected);
    TURN;
    CHECK(!strcmp(textdomain(NULL), expected));
    /* Converts the first byte of a character with several bytes. */
    if (setlocale(LC_ALL, "C.UTF-8")) {
        CHECK(mbrtowc(&wide, rank % 2 ? "\xc3" : "\xc4", 1, NULL) == (size_t)-2);
        TURN;
        CHECK(mbrtowc(&wide, "\xa9", 1, NULL) == 1 && wide == (rank % 2 ? 0xe9 : 0x129));
        CHECK(mblen("\xc3", 1) == -1);
        setlocale(LC_ALL, "C");
    } else TURN;
}

static void people(void) {
    const char *names[] = {"root", "daemon"};
    struct passwd *user = getpwnam(names[rank % 2]);
    struct group *group;
    TURN;
    CHECK(user && !strcmp(user->pw_name, names[rank % 2]));
    group = getgrnam(names[rank % 2]);
    TURN;
    CHECK(group && !strcmp(group->gr_name, names[rank % 2]));
    user = getpwuid(0);
    group = getgrgid(0);
    CHECK(user && user->pw_uid == 0 && group && group->gr_gid == 0);
    TURN;
}

static void lists(void) {
    static const char *names[] = {"root", "daemon", "bin", "sys"};
    struct ether_addr address = {{1, 2, 3, 4, 5, 6 + rank}};
    struct protoent *protocol = getprotobynumber(rank % 2 ? 6 : 17);
    struct passwd *user;
    const char *text;
    char expected[32];
    int i;
    TURN;
    CHECK(!protocol || !strcmp(protocol->p_name, rank % 2 ? "tcp" : "udp"));
    text = ether_ntoa(&address);
    sprintf(expected, "1:2:3:4:5:%x", 6 + rank);
    TURN;
    CHECK(!strcmp(text, expected));
    setpwent();
    for (i = 0; i <= rank; i++) {
        user = getpwent();
        TURN;
        CHECK(user && !strcmp(user->pw_name, names[i]));
    }
    for (; i < 4; i++) TURN;
    endpwent();
}

static void tables(void) {
    char key[16], other[16];
    ENTRY entry = {key, (void *)(long)(rank + 1)}, *found;
    sprintf(key, "key %d", rank);
    sprintf(other, "key %d", rank + 1);
    CHECK(hcreate(10));
    TURN;
    CHECK(hsearch(entry, ENTER));
    TURN;
    found = hsearch(entry, FIND);
    CHECK(found && found->data == entry.data);
    entry.key = other;
    CHECK(!hsearch(entry, FIND));
    TURN;
    hdestroy();
}

static void locales(void) {
    locale_t own;
    const char *name;
    CHECK(!strcmp(setlocale(LC_ALL, NULL), "C"));
    if (rank % 2) CHECK(setlocale(LC_CTYPE, "C.UTF-8"));
    TURN;
    name = setlocale(LC_CTYPE, NULL);
    CHECK(!strcmp(name, rank % 2 ? "C.UTF-8" : "C"));
    TURN;
    CHECK(MB_CUR_MAX == (rank % 2 ? 6 : 1));
    setlocale(LC_ALL, "C");
    TURN;
    own = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    CHECK(own);
    if (rank % 2) uselocale(own);
    TURN;
    CHECK((uselocale((locale_t)0) == own) == rank % 2);
    uselocale(LC_GLOBAL_LOCALE);
    TURN;
}

static void end_of_thread(void *value) {
    ended += *(int *)value;
}

static pthread_key_t keys[600];

static void *thread(void *value) {
    pthread_setspecific(keys[3], value);
    return pthread_getspecific(keys[4]);
}

static void thread_keys(void) {
    pthread_t other;
    void *result = &other;
    int i, made = 0, value = 5 + rank;
    for (i = 0; i < 600; i++) made += pthread_key_create(&keys[i], end_of_thread) == 0;
    CHECK(made == 600);
    for (i = 0; i < 600; i++) CHECK(!pthread_getspecific(keys[i]));
    pthread_setspecific(keys[3], &made);
    pthread_setspecific(keys[4], &value);
    TURN;
    CHECK(pthread_getspecific(keys[3]) == &made && pthread_getspecific(keys[4]) == &value);
    pthread_create(&other, NULL, thread, &value);
    pthread_join(other, &result);
    CHECK(!result && ended == 5 + rank);
    for (i = 0; i < 600; i++) pthread_key_delete(keys[i]);
    TURN;
}

/* Every rank adds to a number in the file while it holds the lock. */
static void locks(const char *directory) {
    char path[4200];
    int file, i, shared = 0;
    sprintf(path, "%s/lock", directory);
    file = open(path, O_RDWR | O_CREAT, 0666);
    if (rank == 0) CHECK(ftruncate(file, 0) == 0);
    TURN;
    for (i = 0; i < 5; i++) {
        CHECK(flock(file, LOCK_EX) == 0);
        shared = 0;
        if (pread(file, &shared, sizeof shared, 0) < 0) failures++;
        usleep(1000);
        shared++;
        if (pwrite(file, &shared, sizeof shared, 0) < 0) failures++;
        CHECK(flock(file, LOCK_UN) == 0);
    }
    TURN;
    if (pread(file, &shared, sizeof shared, 0) < 0) failures++;
    CHECK(shared == 20);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    texts();
    read_lists(argv[1]);
    people();
    lists();
    tables();
    locales();
    thread_keys();
    locks(argv[1]);
    printf("rank %d: %d failures\n", rank, failures);
    MPI_Finalize();
    return failures != 0;
}
