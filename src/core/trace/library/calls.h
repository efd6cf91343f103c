/* What surrounds each call: whether it is recorded, and its times. */

/* Calls that an MPI library makes by itself are inside of one of the program's. */
static __thread int depth __attribute__((tls_model("initial-exec")));
static __thread int mine __attribute__((tls_model("initial-exec")));

enum { SHORT = 5000 }; /* Blocks up to so many ns are taken by the wall clock, which is read without a system call. */
enum { LONG = 20000 }; /* Of code and calls longer than so many ns page faults are counted. */

static int by_cpu = 1;
static uint64_t left_at;          /* When the last call ended. */
static uint64_t pair_wall, pair_cpu; /* Both clocks, when they were last asked together. */
static uint64_t held_code, held_gap; /* What passed since the last record but for the block before this call. */
static uint64_t polls_failed, polls_time;
static int polled; /* The last call was a poll that found nothing. */
static uint64_t page_cost;        /* What the first touch of a page takes, ns. */
static uint64_t faults_seen;      /* Page faults of this thread, when they were last counted. */
static uint64_t uncounted;        /* Of code and calls since then, whose faults belong to no long call, ns. */

struct span {
    uint64_t wall, code, gap, end;
    int on;
};

/* What replays do not have: the log ends with it, even where nothing is recorded just now. */
static void refuse(int function, const char *why)
{
    if (!active)
        return;
    op_begin(function);
    record_always(0, 0, 0, wall());
    flush_log();
    active = 0;
    ends_here(why);
}

static uint64_t faults(void)
{
    struct rusage used;
    return getrusage(RUSAGE_THREAD, &used) == 0 ? (uint64_t)used.ru_minflt : faults_seen;
}

/* Where a call puts data into memory that the program has not touched before, the system has to find pages for it. That
 * is work of the program's, on any machine and under any MPI, and not of the network: how long it took in this call. */
static inline uint64_t first_touches(uint64_t duration)
{
    if (duration <= LONG) {
        uncounted += duration;
        return 0;
    }
    uint64_t now = faults(), took = (now - faults_seen) * page_cost;
    took = took > uncounted ? took - uncounted : 0;
    faults_seen = now;
    uncounted = 0;
    return took < duration ? took : duration;
}

static inline void enter(struct span *s)
{
    s->on = 0;
    if (depth++ || !active)
        return;
    if (!mine) {
        refuse(F_threads, "MPI functions are called by several threads, which traces have no room for yet");
        return;
    }
    s->on = 1;
    s->wall = wall();
    s->gap = s->code = s->wall - left_at;
    if (by_cpu && s->gap > SHORT) {
        uint64_t used_cpu = cpu(), passed = s->wall - pair_wall, ran = used_cpu - pair_cpu;
        uint64_t away = passed > ran ? passed - ran : 0;
        s->code = s->gap > away ? s->gap - away : 0;
        pair_wall = s->wall, pair_cpu = used_cpu;
    }
    if (s->gap > LONG) {
        faults_seen = faults();
        uncounted = 0;
    } else {
        uncounted += s->gap;
    }
}

/* The MPI library has given back the thread. */
static inline void leave(struct span *s)
{
    depth--;
    if (s->on)
        s->end = wall();
}

/* The operation was this call. */
static inline void noted(struct span *s)
{
    uint64_t now = s->end, duration = now - s->wall;
    if (by_cpu && duration > SHORT) {
        pair_cpu = cpu();
        pair_wall = now;
    }
    uint64_t touched = first_touches(duration);
    record(held_code + s->code + touched, held_gap + s->gap + touched, duration - touched, now);
    held_code = held_gap = 0;
    polled = 0;
    left_at = wall();
    own_time += left_at - s->end;
}

/* A poll that found nothing: its time is waiting, and so is that of short code between two of them. */
static inline void found_nothing(struct span *s)
{
    uint64_t now = s->end, duration = now - s->wall;
    if (by_cpu && duration > SHORT) {
        pair_cpu = cpu();
        pair_wall = now;
    }
    held_code += first_touches(duration);
    polls_failed++, polls_time += duration;
    held_gap += s->gap + duration;
    if (!polled || s->gap > 1000)
        held_code += s->code;
    polled = 1;
    left_at = wall();
    own_time += left_at - s->end;
}

/* A call that needs no record of its own: its time belongs to nobody. */
static inline void passed(struct span *s)
{
    uncounted += s->end - s->wall;
    held_gap += s->end - s->wall + s->gap;
    held_code += s->code;
    left_at = wall();
    own_time += left_at - s->end;
}

/* Does the call, and notes it if it succeeded. */
#define DO(call, note)                                                                                                   \
    struct span span;                                                                                                    \
    enter(&span);                                                                                                        \
    int result = call;                                                                                                   \
    leave(&span);                                                                                                        \
    if (span.on) {                                                                                                       \
        if (result == MPI_SUCCESS) {                                                                                     \
            note;                                                                                                        \
            noted(&span);                                                                                                \
        } else {                                                                                                         \
            passed(&span);                                                                                               \
        }                                                                                                                \
    }

/* The same of a call that has no record. */
#define SILENT(call, note)                                                                                               \
    struct span span;                                                                                                    \
    enter(&span);                                                                                                        \
    int result = call;                                                                                                   \
    leave(&span);                                                                                                        \
    if (span.on) {                                                                                                       \
        if (result == MPI_SUCCESS)                                                                                       \
            note;                                                                                                        \
        passed(&span);                                                                                                   \
    }
