/* Actions around each call: whether it is recorded, and its times. */

/* Calls that an MPI library makes internally are nested in a call of the program. */
static __thread int depth __attribute__((tls_model("initial-exec")));
/* Its address tells threads apart. */
static __thread char this_thread __attribute__((tls_model("initial-exec")));

/* Threads may call MPI, one at a time: the one whose call was the last, and whether one is inside of a call. */
static char *last_thread;
static int many_threads, inside, overlapped;
static __thread char claimed __attribute__((tls_model("initial-exec"))); /* 1: this thread is inside; 2: another one was. */

enum { SHORT = 5000 }; /* Blocks up to this length in ns are timed by the wall clock, which is read without a system call. */
enum { LONG = 20000 }; /* Page faults are counted for code and calls longer than this, in ns. */

static int by_cpu = 1;
static uint64_t left_at;          /* End of the last call. */
static uint64_t pair_wall, pair_cpu; /* Values of both clocks when they were last read together. */
static uint64_t held_code, held_gap; /* Time since the last record without the block before this call. */
static uint64_t polls_failed, polls_time;
static int polled; /* The last call was a poll without success. */
static uint64_t page_cost;        /* Time of the first access to a page in ns. */
static uint64_t faults_seen;      /* Number of page faults of this thread at the last count. */
static uint64_t uncounted;        /* Time of code and calls since the last count in ns; their faults belong to no long call. */

enum { PAUSE = 100000 }; /* Code that had no core for so many ns may have slept. */
static int waits_file = -1;       /* The system's figures of the last thread. */
static int64_t waited_seen = -1;  /* How long it had waited for a core, when that was last read. */

struct span {
    uint64_t wall, code, gap, slept, end;
    int on;
};

/* A call that cannot be replayed: the log ends with it, even while recording is off. */
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

/* If a call writes data to memory that the program has not accessed before, the system must provide pages. That is
 * work of the program on any machine and under any MPI, not of the network. Returns the time of this work in the
 * call. */
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

/* For how long this thread was ready to run and had no core, ns: the second figure of the system's file. -1: unknown. */
static int64_t waited_for_core(void)
{
    char text[128];
    long long ran, waited;
    ssize_t length = waits_file < 0 ? -1 : pread(waits_file, text, sizeof text - 1, 0);
    if (length <= 0)
        return -1;
    text[length] = 0;
    return sscanf(text, "%lld %lld", &ran, &waited) == 2 ? waited : -1;
}

/* Another thread calls MPI than before: its clock and the system's figures of it say nothing of the time up to now. */
static void change_thread(uint64_t now)
{
    last_thread = &this_thread;
    if (waits_file >= 0)
        close(waits_file);
    waits_file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    waited_seen = waited_for_core();
    faults_seen = faults();
    uncounted = 0;
    pair_wall = now, pair_cpu = cpu();
}

/* Of the time for which the code before a call did not run, what it slept, or waited for files and other threads: what
 * the system did not keep it from a core. */
static uint64_t slept(uint64_t away)
{
    int64_t before = waited_seen, now = waited_for_core();
    waited_seen = now;
    if (before < 0 || now < before)
        return 0;
    uint64_t waited = (uint64_t)(now - before);
    return away > waited + PAUSE / 2 ? away - waited : 0;
}

/* The call begins now: what passed since its time was taken was this library's. */
static inline void skip_own_time(struct span *s)
{
    uint64_t now = wall();
    own_time += now - s->wall;
    s->wall = now;
}

/* Whether this thread may write down its call: no other is inside of one. The thread that is ends the log, as it writes
 * there. */
static inline int take_turn(void)
{
    if (!many_threads || claimed)
        return claimed < 2;
    claimed = 1;
    if (__atomic_exchange_n(&inside, 1, __ATOMIC_ACQUIRE)) {
        claimed = 2;
        __atomic_store_n(&overlapped, 1, __ATOMIC_RELEASE);
    }
    return claimed < 2;
}

/* A call that replays do not have. */
static void refuse_call(int function, const char *why)
{
    if (depth == 0 && active && take_turn())
        refuse(function, why);
    claimed = 0;
}

static inline void enter(struct span *s)
{
    find_mpi();
    s->on = 0;
    if (depth++ || !active)
        return;
    if (!take_turn()) {
        claimed = 0;
        return;
    }
    s->on = 1;
    s->wall = wall();
    s->gap = s->code = s->wall - left_at;
    s->slept = 0;
    if (last_thread != &this_thread) {
        change_thread(s->wall);
        skip_own_time(s);
    } else if (by_cpu && s->gap > SHORT) {
        uint64_t looked = s->wall, used_cpu = cpu(), passed = looked - pair_wall, ran = used_cpu - pair_cpu;
        uint64_t away = passed > ran ? passed - ran : 0;
        away = away < s->gap ? away : s->gap;
        s->code = s->gap - away;
        if (away > PAUSE) {
            s->slept = slept(away);
            skip_own_time(s);
        }
        pair_wall = looked, pair_cpu = used_cpu;
    }
    if (s->gap > LONG) {
        faults_seen = faults();
        uncounted = 0;
    } else {
        uncounted += s->gap;
    }
}

/* The call of the MPI library has returned. */
static inline void leave(struct span *s)
{
    depth--;
    if (s->on)
        s->end = wall();
}

/* Reads the thread's clock after a call that took long, and for how long it had no core in it. */
static inline void look_at_clock(uint64_t now, uint64_t duration)
{
    if (by_cpu && duration > SHORT) {
        pair_cpu = cpu();
        pair_wall = now;
        if (duration > PAUSE)
            waited_seen = waited_for_core();
    }
}

/* The call is over for this library: another thread may have the next one. */
static inline void end_span(struct span *s)
{
    left_at = wall();
    own_time += left_at - s->end;
    if (!many_threads)
        return;
    if (__atomic_load_n(&overlapped, __ATOMIC_ACQUIRE))
        refuse(F_threads, "MPI functions are called by several threads at a time, which traces have no room for");
    claimed = 0;
    __atomic_store_n(&inside, 0, __ATOMIC_RELEASE);
}

/* Records the operation of this call. */
static inline void noted(struct span *s)
{
    uint64_t now = s->end, duration = now - s->wall;
    look_at_clock(now, duration);
    /* A pause between polls that find nothing is a part of waiting. */
    if (!polled)
        sleep_time += s->slept;
    uint64_t touched = first_touches(duration);
    record(held_code + s->code + touched, held_gap + s->gap + touched, duration - touched, now);
    held_code = held_gap = 0;
    polled = 0;
    end_span(s);
}

/* A poll without success: its time is waiting, and so is the time of short code between two such polls. */
static inline void found_nothing(struct span *s)
{
    uint64_t now = s->end, duration = now - s->wall;
    look_at_clock(now, duration);
    if (!polled)
        sleep_time += s->slept;
    held_code += first_touches(duration);
    polls_failed++, polls_time += duration;
    held_gap += s->gap + duration;
    if (!polled || s->gap > 1000)
        held_code += s->code;
    polled = 1;
    end_span(s);
}

/* A call without a record of its own: its time is not attributed. */
static inline void passed(struct span *s)
{
    uncounted += s->end - s->wall;
    held_gap += s->end - s->wall + s->gap;
    held_code += s->code;
    if (!polled)
        sleep_time += s->slept;
    end_span(s);
}

/* Makes the call, and records it if it succeeded. */
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

/* Makes a call that has no record. */
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
