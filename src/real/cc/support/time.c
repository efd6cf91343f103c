/* Time functions that return static data of the C library. */
#include "own.h"
#include <time.h>

static struct tm broken_down;

OWN struct tm *gmtime(const time_t *time) {
    return gmtime_r(time, &broken_down);
}

OWN struct tm *localtime(const time_t *time) {
    tzset();
    return localtime_r(time, &broken_down);
}

OWN char *asctime(const struct tm *time) {
    static const char days[] = "SunMonTueWedThuFriSat", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    static char text[128];
    int day = time->tm_wday, month = time->tm_mon;
    snprintf(text, sizeof text, "%.3s %.3s%3d %.2d:%.2d:%.2d %ld\n", day < 0 || day > 6 ? "???" : days + 3 * day,
             month < 0 || month > 11 ? "???" : months + 3 * month, time->tm_mday, time->tm_hour, time->tm_min,
             time->tm_sec, 1900L + time->tm_year);
    return text;
}

OWN char *ctime(const time_t *time) {
    struct tm *local = localtime(time);
    return local ? asctime(local) : NULL;
}
