/* The log of a rank: chunks with a checksum each, written when they are full, once per second, and at the end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "real.h"

enum { /* Numbers of functions. */
#define F(name, class) F_##name,
#include "functions.h"
#undef F
    FUNCTIONS
};

enum { VERSION = 3, ORDER = 0x01020304 };
enum { INFO = 0, RECORDS = 1, END = 2 }; /* Kinds of chunks. */
enum { ROOM = 1 << 18, LONGEST_KNOWN = 1 << 16, MOST_KNOWN = 1 << 25, MOST_OPS = 1 << 16, OP_HEADS = 1 << 17 };

/* A thread of the program. If threads call MPI in turns, all of them have the state of the main thread. */
struct thread {
    uint32_t number;            /* Number of the thread in its rank; 0 for the main thread. */
    uint64_t left_at;           /* End of the last call. */
    /* Values of the wall clock and of the CPU clock of the thread when both were last read together. */
    uint64_t pair_wall, pair_cpu;
    /* Times in ns since the last record, without the code directly before the present call: code, and all time. */
    uint64_t held_code, held_gap;
    uint64_t faults_seen;       /* Number of page faults of the thread at the last count. */
    /* Time of short code and calls since the last count in ns. Page faults in this time do not belong to a long call. */
    uint64_t uncounted;
    int64_t waited_seen;        /* Time in ns for which the thread had waited for a core, when it was last read. */
    /* Time in ns that this library has used since the last record. It is elapsed time, but not time of the program. */
    uint64_t own_time;
    /* Time in ns that the code before the next record slept. This time passes on any machine, whatever the processor. */
    uint64_t sleep_time;
    int cancel_state;           /* Whether the thread could be cancelled before the present change of the log. */
    int polled;               /* The last call was a poll without success. */
    int is_open;              /* The thread is in a call that is not recorded yet. */
    /* Requests of the present wait: handles, slots, and statuses to use if the program ignores them. */
    MPI_Request *handles;
    int *slots;
    MPI_Status *own_statuses;
    int handles_room;
};
static struct thread main_thread;
static __thread struct thread *me __attribute__((tls_model("initial-exec")));
/* Whether each thread has a log of its own, because several threads may call MPI at the same time. */
static int per_thread;

static int world_rank, world_size;
/* Whether records are written; whether MPI_Pcontrol permits recording; whether an action was not recorded, so that the
 * log is incomplete. */
static int active, allowed = 1, cut;
static int file = -1;
static char path[4096], parts[4000], target[3900];
static unsigned char *chunk; /* Present chunk. Its capacity `chunk_room` grows for long calls. */
static size_t used, chunk_room;
static uint64_t flushed_at, records_made;

static uint64_t wall(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* 64-bit FNV-1a, eight bytes at a time, as in mcpsim's traces. */
static uint64_t checksum(const unsigned char *bytes, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325u, word;
    for (; count >= 8; bytes += 8, count -= 8) {
        memcpy(&word, bytes, 8);
        hash = (hash ^ word) * 0x100000001b3u;
    }
    for (; count > 0; bytes++, count--)
        hash = (hash ^ *bytes) * 0x100000001b3u;
    return hash;
}

/* A write beyond the limit of file sizes (RLIMIT_FSIZE) raises SIGXFSZ, which would end the program. Between these
 * two functions the signal stays pending; if it was not pending before, it is discarded. */
struct held {
    sigset_t mask;
    int pending;
};

static struct held hold_size_signal(void)
{
    struct held held;
    sigset_t own;
    sigpending(&own);
    held.pending = sigismember(&own, SIGXFSZ) == 1;
    sigemptyset(&own);
    sigaddset(&own, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &own, &held.mask);
    return held;
}

static void release_size_signal(struct held held)
{
    int error = errno;
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGXFSZ);
    if (!held.pending)
        sigtimedwait(&own, NULL, &(struct timespec){0, 0});
    pthread_sigmask(SIG_SETMASK, &held.mask, NULL);
    errno = error;
}

/* Prints a message on stderr, which may be a file. */
static void tell(const char *format, ...)
{
    va_list arguments;
    struct held held = hold_size_signal();
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    release_size_signal(held);
}

/* Returns whether this rank is the first rank on its host that prints a message. */
static int tells(void)
{
    char note[4096];
    snprintf(note, sizeof note, "%s/told", parts);
    int told = open(note, O_CREAT | O_EXCL | O_WRONLY, 0666);
    if (told < 0 && errno == EEXIST)
        return 0;
    if (told >= 0)
        close(told);
    return 1;
}

/* Ends the trace but not the program: the log of this rank is incomplete from here on. */
static void ends_here(const char *why)
{
    cut = 1;
    if (tells())
        tell("mcpsim-trace: rank %d: %s: the trace ends at this call, and the program continues\n", world_rank, why);
}

/* Handles an error of writing the log, for example a full disk. */
static void cannot_write(int error)
{
    char why[5000];
    active = 0;
    snprintf(why, sizeof why, "cannot write %s: %s", path, strerror(error));
    ends_here(why);
}

static int write_all(int to, const void *bytes, size_t count)
{
    const char *at = bytes;
    struct held held = hold_size_signal();
    int error = 0;
    while (count > 0 && !error) {
        ssize_t written = write(to, at, count);
        if (written > 0)
            at += written, count -= (size_t)written;
        else if (written == 0 || errno != EINTR)
            error = written < 0 ? errno : ENOSPC;
    }
    release_size_signal(held);
    return error;
}

static void write_chunk(uint32_t kind, const unsigned char *bytes, size_t count)
{
    struct {
        uint32_t kind, count;
        uint64_t sum;
    } head = {kind, (uint32_t)count, checksum(bytes, count)};
    if (file < 0)
        return;
    int error = write_all(file, &head, sizeof head);
    if (!error)
        error = write_all(file, bytes, count);
    if (error) {
        cannot_write(error);
        close(file);
        file = -1;
    }
}

static void flush_log(void)
{
    if (used > 0)
        write_chunk(RECORDS, chunk, used);
    used = 0;
    flushed_at = wall();
}

/* Appends a number, with seven bits per byte, least significant bits first. */
static inline unsigned char *put(unsigned char *at, uint64_t number)
{
    while (number >= 0x80)
        *at++ = (unsigned char)number | 0x80, number >>= 7;
    *at++ = (unsigned char)number;
    return at;
}

/* Bytes of the call that is being recorded. */
static unsigned char first_op[LONGEST_KNOWN];
static unsigned char *op = first_op, *op_end = first_op, *op_limit = first_op + LONGEST_KNOWN - 16;
static int op_lost; /* There was no memory for all bytes of the call. */

static inline void op_begin(int function)
{
    op_end = op;
    op_lost = 0;
    *op_end++ = (unsigned char)function;
}

/* Makes room for one more number: a call may have any number of arguments. */
static void op_grow(void)
{
    size_t length = (size_t)(op_end - op), room = 2 * (size_t)(op_limit + 16 - op);
    unsigned char *more = op == first_op ? malloc(room) : realloc(op, room);
    if (!more) {
        op_lost = 1;
        op_end = op + 1;
        return;
    }
    if (op == first_op)
        memcpy(more, op, length);
    op = more, op_end = more + length, op_limit = more + room - 16;
}

static inline void op_put(uint64_t number)
{
    if (op_end > op_limit)
        op_grow();
    op_end = put(op_end, number);
}

static inline void op_signed(int64_t number)
{
    op_put((uint64_t)number << 1 ^ (uint64_t)(number >> 63));
}

/* Makes room for `more` bytes in the chunk. Returns 0 if there is no memory. */
static int chunk_fits(size_t more)
{
    if (used + more <= chunk_room)
        return 1;
    unsigned char *larger = realloc(chunk, used + more);
    if (!larger)
        return 0;
    chunk = larger, chunk_room = used + more;
    return 1;
}

/* Table of the calls that were written before. Such a call is stored by its number, unless it is too long or there are
 * too many calls. The reader of the log assigns the same numbers. */
static struct known {
    uint32_t hash, length;
    unsigned char *bytes;
} known[MOST_OPS];
static uint32_t known_count, heads[OP_HEADS];
static size_t known_bytes;

/* Appends a call: its number, and its bytes if the call was not written before. Returns NULL if there is no memory. */
static unsigned char *put_call(unsigned char *at, const unsigned char *call, size_t length)
{
    uint64_t sum = checksum(call, length);
    uint32_t hash = (uint32_t)(sum ^ sum >> 29), place = hash % OP_HEADS;
    for (; heads[place]; place = (place + 1) % OP_HEADS) {
        struct known *one = &known[heads[place] - 1];
        if (one->hash == hash && one->length == length && !memcmp(one->bytes, call, length))
            return put(at, heads[place] - 1);
    }
    int keeps = known_count < MOST_OPS && length <= LONGEST_KNOWN && known_bytes + length <= MOST_KNOWN;
    unsigned char *copy = keeps ? malloc(length) : NULL;
    if (keeps && !copy)
        return NULL;
    at = put(put(at, known_count), length);
    memcpy(at, call, length);
    if (copy) {
        memcpy(copy, call, length);
        known[known_count] = (struct known){hash, (uint32_t)length, copy};
        known_bytes += length;
        heads[place] = ++known_count;
    }
    return at + length;
}

enum { OWN_TIME = 1000 }; /* Least time of this library in ns that is recorded. */

/* Appends a record of a call without arguments, with `passed` ns before the call. */
static unsigned char *put_passed(unsigned char *at, int function, uint64_t passed)
{
    unsigned char call = (unsigned char)function;
    at = at ? put_call(at, &call, 1) : NULL;
    return at ? put(put(put(at, 0), passed), 0) : NULL;
}

/* Thread to which the last record belongs. */
static uint32_t written;

/* Appends a record that the following records belong to this thread. */
static unsigned char *put_thread(unsigned char *at)
{
    unsigned char call[8] = {F_thread};
    written = me->number;
    at = put_call(at, call, (size_t)(put(call + 1, written) - call));
    return at ? put(put(put(at, 0), 0), 0) : NULL;
}

/* Appends a record of the call and its times in ns: the code before the call, all time before the call, and the call
 * itself. */
static void record_always(uint64_t code, uint64_t gap, uint64_t duration, uint64_t now)
{
    if (!active)
        return;
    size_t length = (size_t)(op_end - op);
    unsigned char *at = op_lost || !chunk_fits(length + 192) ? NULL : chunk + used;
    if (at && written != me->number)
        at = put_thread(at);
    if (me->own_time >= OWN_TIME && allowed) {
        at = put_passed(at, F_library, me->own_time);
        me->own_time = 0;
    }
    if (me->sleep_time > 0 && allowed) {
        me->sleep_time = me->sleep_time < gap - code ? me->sleep_time : gap - code;
        at = put_passed(at, F_sleep, me->sleep_time);
        gap -= me->sleep_time;
        me->sleep_time = 0;
    }
    if (at)
        at = put_call(at, op, length);
    if (!at) {
        active = 0;
        ends_here("no memory is left for the arguments of a call");
        return;
    }
    at = put(at, code);
    at = put(at, gap - code);
    at = put(at, duration);
    used = (size_t)(at - chunk);
    records_made++;
    if (used >= ROOM || now - flushed_at > 1000000000u)
        flush_log();
}

static inline void record(uint64_t code, uint64_t gap, uint64_t duration, uint64_t now)
{
    if (allowed)
        record_always(code, gap, duration, now);
}
