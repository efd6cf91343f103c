/* Actions of this library before and after each MPI call of the program: recording the call and measuring its times. */

/* Number of MPI calls that this thread is inside of. MPI libraries make further MPI calls within a call of the program. */
static __thread int depth __attribute__((tls_model("initial-exec")));
/* A variable of each thread. Its address identifies the thread. */
static __thread char this_thread __attribute__((tls_model("initial-exec")));

/* With MPI_THREAD_SERIALIZED, several threads call MPI, but only one at a time. `last_thread` is the thread that made the last call, `inside`
 * states whether a thread is inside a call. */
static char *last_thread;
static int many_threads, inside, overlapped;
/* 1: this thread is inside a call; 2: another thread was inside a call when this one began. */
static __thread char claimed __attribute__((tls_model("initial-exec")));

/* Code and calls up to this length in ns are timed by the wall clock, which is read without a system call. */
enum { SHORT = 5000 };
enum { LONG = 20000 }; /* Page faults are counted for code and calls longer than this, in ns. */

static int by_cpu = 1;
static uint64_t polls_failed, polls_time;
static uint64_t page_cost;        /* Time of the first access to a page in ns. */

enum { PAUSE = 100000 }; /* Code that did not run on a core for this many ns may have slept. */
static int waits_file = -1;       /* The file /proc/thread-self/schedstat of `last_thread`. */

/* Only the thread that holds this lock changes the log and the tables of objects, if each thread has its own log. */
static pthread_mutex_t noting = PTHREAD_MUTEX_INITIALIZER;

/* Number of MPI calls that have begun and are not recorded yet, if each thread has its own log. */
static int open_calls;

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
    return getrusage(RUSAGE_THREAD, &used) == 0 ? (uint64_t)used.ru_minflt : me->faults_seen;
}

/* If a call writes data to memory that the program has not accessed before, the operating system must provide pages.
 * The program needs this work on any machine and under any MPI; it is not time of the network. Returns the time of this
 * work in a call of `duration` ns. */
static inline uint64_t first_touches(uint64_t duration)
{
    if (duration <= LONG) {
        me->uncounted += duration;
        return 0;
    }
    uint64_t now = faults(), took = (now - me->faults_seen) * page_cost;
    took = took > me->uncounted ? took - me->uncounted : 0;
    me->faults_seen = now;
    me->uncounted = 0;
    return took < duration ? took : duration;
}

/* Returns the time in ns for which this thread was ready to run but had no core, which is the second number in
 * /proc/thread-self/schedstat; -1 if unknown. */
static int64_t waited_for_core(void)
{
    char text[128];
    long long ran, waited;
    int from = per_thread ? open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC) : waits_file;
    ssize_t length = from < 0 ? -1 : pread(from, text, sizeof text - 1, 0);
    if (per_thread && from >= 0)
        close(from);
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
    waits_file = per_thread ? -1 : open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    me->waited_seen = waited_for_core();
    me->faults_seen = faults();
    me->uncounted = 0;
    me->pair_wall = now, me->pair_cpu = cpu();
}

/* Returns the time that the code before a call slept or waited for files and other threads. `away` is the time that
 * this code did not run; the time that it waited for a core is subtracted. */
static uint64_t slept(uint64_t away)
{
    int64_t before = me->waited_seen, now = waited_for_core();
    me->waited_seen = now;
    if (before < 0 || now < before)
        return 0;
    uint64_t waited = (uint64_t)(now - before);
    return away > waited + PAUSE / 2 ? away - waited : 0;
}

/* Sets the beginning of the call to now. The time since the first reading of the clock is time of this library. */
static inline void skip_own_time(struct span *s)
{
    uint64_t now = wall();
    me->own_time += now - s->wall;
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

static pthread_key_t thread_key; /* Key whose destructor records the end of a thread. */
static uint32_t threads_made;
static uint64_t began_at;        /* Time at which the recording of the rank began. */

/* Creates the state of this thread, whose time begins at `since`. */
static void new_thread(uint32_t number, uint64_t since)
{
    me = calloc(1, sizeof *me);
    if (!me)
        abort();
    me->number = number;
    me->left_at = me->pair_wall = since;
    pthread_setspecific(thread_key, me);
}

/* Finds the state of this thread. A thread without a recorded creation begins with the recording. */
static inline void find_me(void)
{
    if (me)
        return;
    if (per_thread)
        new_thread(__atomic_add_fetch(&threads_made, 1, __ATOMIC_RELAXED), began_at);
    else
        me = &main_thread;
}

/* Begins a change of the log and of the tables of objects, which one thread makes at a time. A thread is not cancelled
 * before the end of the change. */
static void begin_note(void)
{
    if (per_thread) {
        find_me();
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &me->cancel_state);
        pthread_mutex_lock(&noting);
    }
}

static void end_note(void)
{
    if (per_thread) {
        pthread_mutex_unlock(&noting);
        pthread_setcancelstate(me->cancel_state, NULL);
    }
}

/* Ends the log with a call that cannot be replayed, if it is a call of the program. */
static void refuse_call(int function, const char *why)
{
    if (depth == 0 && active && take_turn()) {
        find_me();
        begin_note();
        refuse(function, why);
        end_note();
    }
    claimed = 0;
}

/* Counts a call of this thread as one that is not recorded yet. */
static inline void open_call(void)
{
    if (per_thread) {
        me->is_open = 1;
        __atomic_add_fetch(&open_calls, 1, __ATOMIC_SEQ_CST);
    }
}

static inline void close_call(void)
{
    if (per_thread && me->is_open) {
        me->is_open = 0;
        __atomic_sub_fetch(&open_calls, 1, __ATOMIC_SEQ_CST);
    }
}

enum { LONGEST_OPEN = 1000000000 }; /* Longest wait for calls of other threads in ns. */

/* Waits in MPI_Finalize until other threads have recorded their last calls. In a correct program these calls have returned
 * from MPI. A call that does not return is not recorded. */
static void await_open_calls(void)
{
    if (!per_thread || __atomic_load_n(&open_calls, __ATOMIC_SEQ_CST) == 0)
        return;
    find_me();
    uint64_t start = wall(), waited;
    do {
        usleep(50);
        waited = wall() - start;
    } while (__atomic_load_n(&open_calls, __ATOMIC_SEQ_CST) > 0 && waited < LONGEST_OPEN);
    me->own_time += waited;
    me->left_at += waited;
    me->pair_wall += waited;
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
    find_me();
    s->on = 1;
    open_call();
    s->wall = wall();
    s->gap = s->code = s->wall - me->left_at;
    s->slept = 0;
    if (!per_thread && last_thread != &this_thread) {
        change_thread(s->wall);
        skip_own_time(s);
    } else if (by_cpu && s->gap > SHORT) {
        uint64_t looked = s->wall, used_cpu = cpu(), passed = looked - me->pair_wall, ran = used_cpu - me->pair_cpu;
        uint64_t away = passed > ran ? passed - ran : 0;
        away = away < s->gap ? away : s->gap;
        s->code = s->gap - away;
        if (away > PAUSE) {
            s->slept = slept(away);
            skip_own_time(s);
        }
        me->pair_wall = looked, me->pair_cpu = used_cpu;
    }
    if (s->gap > LONG) {
        me->faults_seen = faults();
        me->uncounted = 0;
    } else {
        me->uncounted += s->gap;
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
        me->pair_cpu = cpu();
        me->pair_wall = now;
        if (duration > PAUSE)
            me->waited_seen = waited_for_core();
    }
}

/* Ends the call for this library, so that another thread may make the next call. */
static inline void end_span(struct span *s)
{
    me->left_at = wall();
    me->own_time += me->left_at - s->end;
    close_call();
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
    if (!me->polled)
        me->sleep_time += s->slept;
    uint64_t touched = first_touches(duration);
    record(me->held_code + s->code + touched, me->held_gap + s->gap + touched, duration - touched, now);
    me->held_code = me->held_gap = 0;
    me->polled = 0;
    end_span(s);
}

/* Handles a poll without success. Its time is waiting time, as is the time of short code between two such polls. */
static inline void found_nothing(struct span *s)
{
    uint64_t now = s->end, duration = now - s->wall;
    look_at_clock(now, duration);
    if (!me->polled)
        me->sleep_time += s->slept;
    me->held_code += first_touches(duration);
    polls_failed++, polls_time += duration;
    me->held_gap += s->gap + duration;
    if (!me->polled || s->gap > 1000)
        me->held_code += s->code;
    me->polled = 1;
    end_span(s);
}

/* Handles a call that is not recorded. Its time is part of the time before the next record. */
static inline void passed(struct span *s)
{
    me->uncounted += s->end - s->wall;
    me->held_gap += s->end - s->wall + s->gap;
    me->held_code += s->code;
    if (!me->polled)
        me->sleep_time += s->slept;
    end_span(s);
}

/* Makes an MPI call, and records the call if it succeeded. */
#define DO(call, note)                                                                                                   \
    struct span span;                                                                                                    \
    enter(&span);                                                                                                        \
    int result = call;                                                                                                   \
    leave(&span);                                                                                                        \
    if (span.on) {                                                                                                       \
        begin_note();                                                                                                    \
        if (result == MPI_SUCCESS) {                                                                                     \
            note;                                                                                                        \
            noted(&span);                                                                                                \
        } else {                                                                                                         \
            passed(&span);                                                                                               \
        }                                                                                                                \
        end_note();                                                                                                      \
    }

/* Makes an MPI call that is not recorded. */
#define SILENT(call, note)                                                                                               \
    struct span span;                                                                                                    \
    enter(&span);                                                                                                        \
    int result = call;                                                                                                   \
    leave(&span);                                                                                                        \
    if (span.on) {                                                                                                       \
        begin_note();                                                                                                    \
        if (result == MPI_SUCCESS)                                                                                       \
            note;                                                                                                        \
        passed(&span);                                                                                                   \
        end_note();                                                                                                      \
    }
