/* Preloaded library. On the host AHEAD_HOST, clocks are AHEAD_NS ns ahead and gain AHEAD_PPM millionths. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time)
{
    static int known;
    static long long ahead, gain;
    long result = syscall(SYS_clock_gettime, clock, time);
    if (!known) {
        char name[65] = "";
        const char *host = getenv("AHEAD_HOST");
        gethostname(name, sizeof name - 1);
        if (host && !strcmp(host, name))
            ahead = atoll(getenv("AHEAD_NS")), gain = atoll(getenv("AHEAD_PPM"));
        known = 1;
    }
    if (result == 0 && clock == CLOCK_MONOTONIC) {
        long long ns = time->tv_sec * 1000000000LL + time->tv_nsec;
        ns += ahead + ns / 1000000 * gain + ns % 1000000 * gain / 1000000;
        time->tv_sec = ns / 1000000000, time->tv_nsec = ns % 1000000000;
    }
    return (int)result;
}
