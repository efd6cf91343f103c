/* Actions of this library before and after each MPI call of the program: recording the call and measuring its times. */

/* Number of MPI calls that this thread is inside of. MPI libraries make further MPI calls within a call of the program. */
static __thread int depth __attribute__((tls_model("initial-exec")));
/* A variable of each thread. Its address identifies the thread. */
static __thread char this_thread __attribute__((tls_model("initial-exec")));

/* Several threads may call MPI, but only one at a time. `last_thread` is the thread that made the last call, `inside`
 * states whether a thread is inside a call. */
static char *last_thread;
static int many_threads, inside, overlapped;
/* 1: this thread is inside a call; 2: another thread was inside a call when this one began. */
static __thread char claimed __attribute__((tls_model("initial-exec")));

/* Code and calls up to this length in ns are timed by the wall clock, which is read without a system call. */
enum { SHORT = 5000 };
enum { LONG = 20000 }; /* Page faults are counted for code and calls longer than this, in ns. */

static int by_cpu = 1;
static uint64_t left_at;          /* End of the last call. */
/* Values of the wall clock and of the thread's CPU clock when both were last read together. */
static uint64_t pair_wall, pair_cpu;
/* Times in ns since the last record, without the code directly before the present call: time of code, and all time. */
static uint64_t held_code, held_gap;
static uint64_t polls_failed, polls_time;
static int polled; /* The last call was a poll without success. */
static uint64_t page_cost;        /* Time of the first access to a page in ns. */
static uint64_t faults_seen;      /* Number of page faults of this thread at the last count. */
/* Time of short code and calls since the last count in ns. Page faults in this time do not belong to a long call. */
static uint64_t uncounted;

enum { PAUSE = 100000 }; /* Code that did not run on a core for this many ns may have slept. */
static int waits_file = -1;       /* The file /proc/thread-self/schedstat of `last_thread`. */
static int64_t waited_seen = -1;  /* Time in ns for which `last_thread` had waited for a core, when it was last read. */

struct span {
    uint64_t wall, code, gap, slept, end;
    int on;
};

/* Ends the log with a call that cannot be replayed. The log ends even if recording is off. */
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

/* If a call writes data to memory that the program has not accessed before, the operating system must provide pages.
 * The program needs this work on any machine and under any MPI; it is not time of the network. Returns the time of this
 * work in a call of `duration` ns. */
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

/* Returns the time in ns for which this thread was ready to run but had no core, which is the second number in
 * /proc/thread-self/schedstat; -1 if unknown. */
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

/* Makes this thread the last thread. Its CPU clock and waiting times cannot be compared with those of the previous
 * thread, so the comparison starts now. */
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

/* Returns the time that the code before a call slept or waited for files and other threads. `away` is the time that
 * this code did not run; the time that it waited for a core is subtracted. */
static uint64_t slept(uint64_t away)
{
    int64_t before = waited_seen, now = waited_for_core();
    waited_seen = now;
    if (before < 0 || now < before)
        return 0;
    uint64_t waited = (uint64_t)(now - before);
    return away > waited + PAUSE / 2 ? away - waited : 0;
}

/* Sets the beginning of the call to now. The time since the first reading of the clock is time of this library. */
static inline void skip_own_time(struct span *s)
{
    uint64_t now = wall();
    own_time += now - s->wall;
    s->wall = now;
}

/* Returns whether this thread may record its call, which is the case if no other thread is inside a call. Otherwise the
 * thread that is inside a call ends the log, because only that thread writes to the log. */
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

/* Ends the log with a call that cannot be replayed, if it is a call of the program. */
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

/* Records the end of the MPI library's function. */
static inline void leave(struct span *s)
{
    depth--;
    if (s->on)
        s->end = wall();
}

/* After a long call, reads the CPU clock of the thread and its waiting time for a core. */
static inline void look_at_clock(uint64_t now, uint64_t duration)
{
    if (by_cpu && duration > SHORT) {
        pair_cpu = cpu();
        pair_wall = now;
        if (duration > PAUSE)
            waited_seen = waited_for_core();
    }
}

/* Ends the call for this library, so that another thread may make the next call. */
static inline void end_span(struct span *s)
{
    left_at = wall();
    own_time += left_at - s->end;
    if (!many_threads)
        return;
    if (__atomic_load_n(&overlapped, __ATOMIC_ACQUIRE))
        refuse(F_threads, "several threads call MPI functions at the same time, which cannot be recorded");
    claimed = 0;
    __atomic_store_n(&inside, 0, __ATOMIC_RELEASE);
}

/* Records the call with its times. */
static inline void noted(struct span *s)
{
    uint64_t now = s->end, duration = now - s->wall;
    look_at_clock(now, duration);
    /* Sleeping between polls without success is a part of waiting. */
    if (!polled)
        sleep_time += s->slept;
    uint64_t touched = first_touches(duration);
    record(held_code + s->code + touched, held_gap + s->gap + touched, duration - touched, now);
    held_code = held_gap = 0;
    polled = 0;
    end_span(s);
}

/* Handles a poll without success. Its time is waiting time, as is the time of short code between two such polls. */
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

/* Handles a call that is not recorded. Its time is part of the time before the next record. */
static inline void passed(struct span *s)
{
    uncounted += s->end - s->wall;
    held_gap += s->end - s->wall + s->gap;
    held_code += s->code;
    if (!polled)
        sleep_time += s->slept;
    end_span(s);
}

/* Makes an MPI call, and records the call if it succeeded. */
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

/* Makes an MPI call that is not recorded. */
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
