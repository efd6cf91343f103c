/* Calls functions of the C library that have a state or an implicit stream, and prints their results. */
#define _GNU_SOURCE
#include <errno.h>
#include <err.h>
#include <error.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

#undef NDEBUG
#include <assert.h>

static void numbers(void) {
    static char state[256];
    unsigned short seed[3] = {1, 2, 3}, parameters[7] = {1, 2, 3, 4, 5, 6, 7}, *before;
    char *old;
    int i;
    for (i = 0; i < 5; i++) printf("%d %ld\n", rand(), random());
    srand(42);
    printf("%d %d\n", rand(), rand());
    old = initstate(7, state, sizeof state);
    printf("%ld %d\n", random(), old != NULL);
    printf("%d\n", setstate(old) == state);
    printf("%ld\n", random());
    srandom(0);
    printf("%ld\n", random());
    printf("%f %ld %ld\n", drand48(), lrand48(), mrand48());
    srand48(99);
    printf("%f %ld %ld %f\n", erand48(seed), nrand48(seed), jrand48(seed), drand48());
    before = seed48(seed);
    printf("%d %d %d\n", before[0], before[1], before[2]);
    lcong48(parameters);
    printf("%f %ld\n", drand48(), lrand48());
}

static void times(void) {
    time_t moments[] = {0, 86399, 951782400, -1, 4102444800L, 1L << 55};
    struct tm odd = {.tm_wday = 9, .tm_mon = -1, .tm_year = 9000, .tm_mday = 5}, *now;
    unsigned i;
    for (i = 0; i < 6; i++) {
        now = gmtime(&moments[i]);
        printf("%s", now ? asctime(now) : "none\n");
        printf("%d\n", localtime(&moments[i]) == now);
        printf("%s", ctime(&moments[i]) ? ctime(&moments[i]) : "none\n");
    }
    printf("%s", asctime(&odd));
}

static void words(void) {
    char text[] = ",a,,b c;d", *word;
    for (word = strtok(text, ",; "); word; word = strtok(NULL, ",; ")) printf("[%s]\n", word);
}

static void streams(void) {
    char text[64] = "";
    int a = 0, b = 0, count;
    wchar_t letter = L'z';
    printf("%d %s%%n\n", puts("a line") > 0, "b");
    putchar('c');
    putchar_unlocked('\n');
    count = scanf("%d %x", &a, (unsigned *)&b);
    printf("%d %d %d\n", count, a, b);
    count = scanf("%60s", text);
    printf("%d %s %d %d\n", count, text, getchar(), getchar_unlocked());
    printf("%d %d\n", scanf("%d", &a), getchar());
    count = scanf("%lc", &letter);
    printf("%d %d\n", count, letter == L'q');
    while (getchar() != EOF) {}
    printf("%d\n", scanf("%d", &a));
    fflush(stdout);
    errno = ENOENT;
    perror("open");
    errno = EACCES;
    perror("");
    errno = 12345;
    perror(NULL);
    psignal(SIGSEGV, "caught");
    psignal(SIGINT, NULL);
    errno = EINVAL;
    warn("value %d", 5);
    warnx("value %d", 6);
    errno = EINVAL;
    warn(NULL);
    error(0, ENOMEM, "no room for %s", "it");
    error(0, 0, "plain");
    error_at_line(0, EBUSY, "file.c", 12, "busy");
    error_at_line(0, 0, NULL, 12, "nowhere");
    printf("%u %s %s\n", error_message_count, program_invocation_name, program_invocation_short_name);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "numbers")) numbers();
    if (!strcmp(what, "times")) times();
    if (!strcmp(what, "words")) words();
    if (!strcmp(what, "streams")) streams();
    if (!strcmp(what, "assert")) assert(!"reached" && 1 > 2);
    if (!strcmp(what, "err")) err(3, "failed %d", 1);
    if (!strcmp(what, "errx")) errx(4, "failed");
    if (!strcmp(what, "error")) error(5, 0, "failed");
    if (!strcmp(what, "wide")) {
        wprintf(L"%d %ls\n", 5, L"wide");
        putwchar(L'w');
        putwchar(getwchar());
    }
    return 0;
}
