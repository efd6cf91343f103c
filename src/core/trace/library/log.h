/* The log of a rank: chunks with a checksum each, written when they are full, once a second, and at the end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Variables of the MPI library: without them, under another MPI, the library is loaded all the same and says what is wrong. */
#pragma weak MPI_F_STATUS_IGNORE
#pragma weak MPI_F_STATUSES_IGNORE
#ifdef OPEN_MPI
#pragma weak ompi_message_no_proc
#pragma weak ompi_mpi_byte
#pragma weak ompi_mpi_comm_null
#pragma weak ompi_mpi_comm_self
#pragma weak ompi_mpi_comm_world
#pragma weak ompi_mpi_info_null
#pragma weak ompi_mpi_int
#pragma weak ompi_mpi_int64_t
#pragma weak ompi_mpi_op_min
#pragma weak ompi_request_null
#endif

enum { /* Numbers of functions. */
#define F(name, class) F_##name,
#include "functions.h"
#undef F
    FUNCTIONS
};

enum { VERSION = 1, ORDER = 0x01020304 };
enum { INFO = 0, RECORDS = 1, END = 2 }; /* Kinds of chunk. */
enum { ROOM = 1 << 18, LONGEST_OP = 1 << 16, MOST_OPS = 1 << 16, OP_HEADS = 1 << 17 };

static int world_rank, world_size;
/* Records are written; Pcontrol allows it. */
static int active, allowed = 1;
static int file = -1;
static char path[4096], parts[4000], target[3900];
static unsigned char chunk[ROOM + LONGEST_OP + 256];
static size_t used;
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

/* FNV-1a of 64 bits, eight bytes at a time, as mcpsim's traces have it. */
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

static void say(const char *what, const char *detail)
{
    fprintf(stderr, "mcpsim-trace: rank %d: %s%s\n", world_rank, what, detail);
}

/* A disk that is full ends the trace, not the program. The first rank that finds it tells. */
static void cannot_write(int error)
{
    char note[4096];
    active = 0;
    snprintf(note, sizeof note, "%s/told", parts);
    int told = open(note, O_CREAT | O_EXCL | O_WRONLY, 0666);
    if (told < 0 && errno == EEXIST)
        return;
    if (told >= 0)
        close(told);
    fprintf(stderr, "mcpsim-trace: rank %d: cannot write %s: %s: the trace ends here, the program goes on\n", world_rank,
            path, strerror(error));
}

static int write_all(int to, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count > 0) {
        ssize_t written = write(to, at, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? errno : ENOSPC;
        at += written, count -= (size_t)written;
    }
    return 0;
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

/* Numbers have seven bits a byte, least first. */
static inline unsigned char *put(unsigned char *at, uint64_t number)
{
    while (number >= 0x80)
        *at++ = (unsigned char)number | 0x80, number >>= 7;
    *at++ = (unsigned char)number;
    return at;
}

static inline unsigned char *put_signed(unsigned char *at, int64_t number)
{
    return put(at, (uint64_t)number << 1 ^ (uint64_t)(number >> 63));
}

/* The operation that is being written down. */
static unsigned char op[LONGEST_OP + 64];
static unsigned char *op_end;

static inline void op_begin(int function)
{
    op_end = op;
    *op_end++ = (unsigned char)function;
}

static inline void op_put(uint64_t number)
{
    if (op_end < op + LONGEST_OP)
        op_end = put(op_end, number);
}

static inline void op_signed(int64_t number)
{
    if (op_end < op + LONGEST_OP)
        op_end = put_signed(op_end, number);
}

/* Operations that were written before stand in logs by their numbers. */
static struct known {
    uint32_t hash, length;
    unsigned char *bytes;
} known[MOST_OPS];
static uint32_t known_count, heads[OP_HEADS];

static uint32_t op_hash(size_t length)
{
    uint64_t hash = checksum(op, length);
    return (uint32_t)(hash ^ hash >> 29);
}

/* Writes the operation and its times down: of the code before it, of what else passed before it, and its own. */
static void record(uint64_t code, uint64_t gap, uint64_t duration, uint64_t now)
{
    if (!active || !allowed)
        return;
    size_t length = (size_t)(op_end - op);
    if (op_end >= op + LONGEST_OP) {
        say("a call has more arguments than a record holds: ", "the trace ends here, the program goes on");
        active = 0;
        return;
    }
    uint32_t hash = op_hash(length), place = hash % OP_HEADS, number = known_count;
    for (; heads[place]; place = (place + 1) % OP_HEADS) {
        struct known *one = &known[heads[place] - 1];
        if (one->hash == hash && one->length == length && !memcmp(one->bytes, op, length)) {
            number = heads[place] - 1;
            break;
        }
    }
    unsigned char *at = put(chunk + used, number);
    if (number == known_count) {
        at = put(at, length);
        memcpy(at, op, length);
        at += length;
        unsigned char *copy = known_count < MOST_OPS ? malloc(length) : NULL;
        /* Both sides count alike: where there is no memory the number stays the same, and so it says. */
        if (known_count < MOST_OPS && !copy) {
            say("no memory: ", "the trace ends here, the program goes on");
            active = 0;
            return;
        }
        if (copy) {
            memcpy(copy, op, length);
            known[known_count] = (struct known){hash, (uint32_t)length, copy};
            heads[place] = ++known_count;
        }
    }
    at = put(at, code);
    at = put(at, gap - code);
    at = put(at, duration);
    used = (size_t)(at - chunk);
    records_made++;
    if (used >= ROOM || now - flushed_at > 1000000000u)
        flush_log();
}
