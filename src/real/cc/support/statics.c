/* Functions that return static data of the C library. */
#include "own.h"
#include <arpa/inet.h>
#include <grp.h>
#include <libintl.h>
#include <mntent.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <pwd.h>
#include <search.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

OWN char *strerror(int number) {
    static char text[256];
    return strerror_r(number, text, sizeof text);
}

OWN char *strsignal(int number) {
    static char text[64];
    const char *known = number > 0 && number < 32 ? sigdescr_np(number) : NULL;
    if (known) return strcpy(text, known);
    if (number >= SIGRTMIN && number <= SIGRTMAX) snprintf(text, sizeof text, "Real-time signal %d", number - SIGRTMIN);
    else snprintf(text, sizeof text, "Unknown signal %d", number);
    return text;
}

OWN char *l64a(long number) {
    static const char digits[] = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    static char text[7];
    unsigned rest = (unsigned)number;
    int i = 0;
    for (; rest; rest >>= 6) text[i++] = digits[rest & 63];
    text[i] = 0;
    return text;
}

static char number[512];

OWN char *ecvt(double value, int digits, int *point, int *sign) {
    return ecvt_r(value, digits, point, sign, number, sizeof number) ? NULL : number;
}

OWN char *fcvt(double value, int digits, int *point, int *sign) {
    return fcvt_r(value, digits, point, sign, number, sizeof number) ? NULL : number;
}

OWN char *qecvt(long double value, int digits, int *point, int *sign) {
    return qecvt_r(value, digits, point, sign, number, sizeof number) ? NULL : number;
}

OWN char *qfcvt(long double value, int digits, int *point, int *sign) {
    return qfcvt_r(value, digits, point, sign, number, sizeof number) ? NULL : number;
}

OWN char *inet_ntoa(struct in_addr address) {
    static char text[16];
    return (char *)inet_ntop(AF_INET, &address, text, sizeof text);
}

OWN char *tmpnam(char to[L_tmpnam]) {
    static char text[L_tmpnam];
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static unsigned count;
    char *name = to ? to : text;
    do {
        unsigned long number = (unsigned long)getpid() << 12 | (count++ & 0xfff);
        int i;
        strcpy(name, "/tmp/file");
        for (i = 9; i < 15; i++, number /= 62) name[i] = letters[number % 62];
        name[i] = 0;
    } while (access(name, F_OK) == 0);
    return name;
}

OWN char *ttyname(int descriptor) {
    static char text[256];
    int failed = ttyname_r(descriptor, text, sizeof text);
    errno = failed ? failed : errno;
    return failed ? NULL : text;
}

/* Hash table of hcreate. */
static struct hsearch_data table;

OWN int hcreate(size_t count) { return hcreate_r(count, &table); }
OWN void hdestroy(void) { hdestroy_r(&table); }
OWN ENTRY *hsearch(ENTRY item, ACTION action) {
    ENTRY *found;
    return hsearch_r(item, action, &found, &table) ? found : NULL;
}

/* Functions that return users, groups and hosts. The static buffer grows until an entry fits. */
#define FIND(type, call)                                                                                              \
    static type entry;                                                                                                \
    static char *room;                                                                                                \
    static size_t size = 1024;                                                                                        \
    type *found = NULL;                                                                                               \
    int failed;                                                                                                       \
    if (!room) room = malloc(size);                                                                                   \
    while (room && (failed = call) == ERANGE) room = realloc(room, size *= 2);                                        \
    if (!room) failed = ENOMEM;                                                                                       \
    if (failed) errno = failed;                                                                                       \
    return failed ? NULL : found

static struct passwd *user(const char *name, uid_t id) {
    FIND(struct passwd, name ? getpwnam_r(name, &entry, room, size, &found) : getpwuid_r(id, &entry, room, size, &found));
}

static struct group *group(const char *name, gid_t id) {
    FIND(struct group, name ? getgrnam_r(name, &entry, room, size, &found) : getgrgid_r(id, &entry, room, size, &found));
}

static struct hostent *host(const char *name, const void *address, socklen_t length, int family) {
    FIND(struct hostent, name ? gethostbyname2_r(name, family, &entry, room, size, &found, &h_errno)
                              : gethostbyaddr_r(address, length, family, &entry, room, size, &found, &h_errno));
}

OWN struct passwd *getpwnam(const char *name) { return user(name, 0); }
OWN struct passwd *getpwuid(uid_t id) { return user(NULL, id); }
OWN struct group *getgrnam(const char *name) { return group(name, 0); }
OWN struct group *getgrgid(gid_t id) { return group(NULL, id); }
OWN struct hostent *gethostbyname(const char *name) { return host(name, NULL, 0, AF_INET); }
OWN struct hostent *gethostbyname2(const char *name, int family) { return host(name, NULL, 0, family); }
OWN struct hostent *gethostbyaddr(const void *address, socklen_t length, int family) {
    return host(NULL, address, length, family);
}

OWN struct passwd *fgetpwent(FILE *file) { FIND(struct passwd, fgetpwent_r(file, &entry, room, size, &found)); }
OWN struct group *fgetgrent(FILE *file) { FIND(struct group, fgetgrent_r(file, &entry, room, size, &found)); }

OWN struct mntent *getmntent(FILE *file) {
    static struct mntent entry;
    static char room[4096];
    return getmntent_r(file, &entry, room, sizeof room);
}

/* Error number of host queries. */
OWN int *__h_errno_location(void) {
    static int number;
    return &number;
}

OWN void herror(const char *text) {
    if (text && *text) fprintf(stderr, "%s: ", text);
    fprintf(stderr, "%s\n", hstrerror(h_errno));
}

OWN int getdate_err;

OWN struct tm *getdate(const char *text) {
    static struct tm time;
    getdate_err = getdate_r(text, &time);
    return getdate_err ? NULL : &time;
}

/* Current text domain of message translations. */
static char *domain;

OWN char *textdomain(const char *name) {
    if (name) {
        free(domain);
        domain = *name ? strdup(name) : NULL;
    }
    return domain ? domain : "messages";
}

#undef gettext
#undef ngettext
#undef dgettext
#undef dngettext
#undef dcgettext

OWN char *gettext(const char *text) { return dgettext(textdomain(NULL), text); }
OWN char *ngettext(const char *one, const char *many, unsigned long count) {
    return dngettext(textdomain(NULL), one, many, count);
}

/* In optimised code the header replaces `gettext` by this function. A null domain means the rank's text domain. */
extern char *__dcgettext(const char *, const char *, int);
OWN char *dcgettext(const char *of, const char *text, int category) {
    return __dcgettext(of ? of : textdomain(NULL), text, category);
}

/* Open files of getpwent and getgrent. */
static FILE *users, *groups;

OWN void setpwent(void) { if (users) rewind(users); }
OWN void endpwent(void) { if (users) fclose(users), users = NULL; }
OWN struct passwd *getpwent(void) {
    if (!users && !(users = fopen("/etc/passwd", "re"))) return NULL;
    FIND(struct passwd, fgetpwent_r(users, &entry, room, size, &found));
}

OWN void setgrent(void) { if (groups) rewind(groups); }
OWN void endgrent(void) { if (groups) fclose(groups), groups = NULL; }
OWN struct group *getgrent(void) {
    if (!groups && !(groups = fopen("/etc/group", "re"))) return NULL;
    FIND(struct group, fgetgrent_r(groups, &entry, room, size, &found));
}

static struct servent *service(const char *name, int port, const char *protocol) {
    FIND(struct servent, name ? getservbyname_r(name, protocol, &entry, room, size, &found)
                              : getservbyport_r(port, protocol, &entry, room, size, &found));
}

static struct protoent *protocol(const char *name, int number) {
    FIND(struct protoent, name ? getprotobyname_r(name, &entry, room, size, &found)
                               : getprotobynumber_r(number, &entry, room, size, &found));
}

OWN struct servent *getservbyname(const char *name, const char *protocol) { return service(name, 0, protocol); }
OWN struct servent *getservbyport(int port, const char *protocol) { return service(NULL, port, protocol); }
OWN struct protoent *getprotobyname(const char *name) { return protocol(name, 0); }
OWN struct protoent *getprotobynumber(int number) { return protocol(NULL, number); }

OWN char *ether_ntoa(const struct ether_addr *address) {
    static char text[18];
    return ether_ntoa_r(address, text);
}

OWN struct ether_addr *ether_aton(const char *text) {
    static struct ether_addr address;
    return ether_aton_r(text, &address);
}

/* Conversion states of partial multibyte characters. */
static mbstate_t length_state, to_wide_state, from_wide_state, unnamed, unnamed_length, unnamed_list;

extern size_t __mbrtowc(wchar_t *, const char *, size_t, mbstate_t *);
extern size_t __mbrlen(const char *, size_t, mbstate_t *);

OWN size_t mbrtowc(wchar_t *to, const char *text, size_t length, mbstate_t *state) {
    return __mbrtowc(to, text, length, state ? state : &unnamed);
}

OWN size_t mbrlen(const char *text, size_t length, mbstate_t *state) {
    return __mbrlen(text, length, state ? state : &unnamed_length);
}

OWN size_t mbsrtowcs(wchar_t *to, const char **text, size_t room, mbstate_t *state) {
    return mbsnrtowcs(to, text, (size_t)-1, room, state ? state : &unnamed_list);
}

/* As in glibc, each call starts with the initial conversion state. */
OWN int mblen(const char *text, size_t length) {
    int used;
    memset(&length_state, 0, sizeof length_state);
    used = text ? (int)mbrlen(text, length, &length_state) : 0;
    return used < 0 ? -1 : used;
}

OWN int mbtowc(wchar_t *to, const char *text, size_t length) {
    size_t used;
    if (text) {
        used = mbrtowc(to, text, length, &to_wide_state);
        return used == (size_t)-2 ? -1 : (int)used;
    }
    memset(&to_wide_state, 0, sizeof to_wide_state);
    return 0;
}

OWN int wctomb(char *to, wchar_t character) {
    if (to) return (int)wcrtomb(to, character, &from_wide_state);
    memset(&from_wide_state, 0, sizeof from_wide_state);
    return 0;
}
