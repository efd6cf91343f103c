/* Beginning and end of a recording: opening the log file, comparing the clocks, merging all logs into one file. */

static int64_t clock_offset;
static uint64_t run_id;
static int64_t waited_before, waited_after = -1; /* Value of `waited_for_core` at the beginning and at the end. */
static int began, any_log; /* Whether any rank has a log. */
static int parts_lock = -1; /* On rank 0, file descriptor of the lock on the directory of logs. */
static pid_t own_process;
static uint64_t stopped_at; /* Time at which recording was switched off, and the position of the times in the log. */

static unsigned char *put_word(unsigned char *at, uint64_t word)
{
    memcpy(at, &word, 8);
    return at + 8;
}

static unsigned char *put_text(unsigned char *at, const char *text, size_t most)
{
    size_t length = strcspn(text, "\n");
    length = length < most ? length : most;
    at = put(at, length);
    memcpy(at, text, length);
    return at + length;
}

#if defined(OPEN_MPI)
#define BUILT_FOR "Open MPI"
#elif defined(MPICH_VERSION) || defined(MPICH_NAME)
#define BUILT_FOR "MPICH"
#else
#define BUILT_FOR ""
#endif

/* Whether the launcher's variables show that this is not rank 0. */
static int is_other_rank(void)
{
    const char *ranks[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"};
    for (int at = 0; at < 3; at++) {
        const char *rank = getenv(ranks[at]);
        if (rank && strcmp(rank, "0"))
            return 1;
    }
    return 0;
}

static void tell_of_other_mpi(const char *found)
{
    if (is_other_rank())
        return;
    tell("mcpsim-trace: this library was made for " BUILT_FOR ", but the program runs with %s: nothing is recorded; "
            "make the library with the program's mpicc: mcpsim trace lib --mpicc MPICC -o FILE\n", found);
}

/* Returns the name of the MPI library that the program has loaded, else of the MPI whose launcher started the program;
 * NULL if neither is known. */
static const char *mpi_of_program(void)
{
    int is_open_mpi = find_symbol("ompi_mpi_comm_world") != NULL;
    int is_mpich = find_symbol("MPIR_Process") || find_symbol("MPICH_Version") || find_symbol("MPIR_Err_create_code");
    if (is_open_mpi != is_mpich)
        return is_open_mpi ? "Open MPI" : "MPICH";
    return !is_open_mpi && !mpi_is_there && getenv("OMPI_COMM_WORLD_RANK") ? "Open MPI" : NULL;
}

/* Restarts the program without this library if the program uses another MPI than this library. Handles of another MPI
 * have another size, so this library cannot pass them on. */
static void leave_other_mpi(void)
{
    const char *preload = getenv("LD_PRELOAD");
    static char line[1 << 17], kept[1 << 12];
    static char *arguments[1 << 12];
    int count = 0;
    Dl_info of;
    const char *own = dladdr((void *)leave_other_mpi, &of) && of.dli_fname ? of.dli_fname : "";
    const char *found = mpi_of_program();
    if (!preload || !*BUILT_FOR || !found || !strcmp(found, BUILT_FOR))
        return;
    tell_of_other_mpi(found);
    for (const char *at = preload; *at;) {
        size_t length = strcspn(at, ": ");
        int is_this = length <= strlen(own) && !strncmp(own + strlen(own) - length, at, length);
        if (length > 0 && !is_this && strlen(kept) + length + 2 < sizeof kept)
            snprintf(kept + strlen(kept), sizeof kept - strlen(kept), "%s%.*s", *kept ? ":" : "", (int)length, at);
        at += length + (at[length] != 0);
    }
    int from = open("/proc/self/cmdline", O_RDONLY);
    ssize_t size = from < 0 ? -1 : read(from, line, sizeof line - 1);
    if (from >= 0)
        close(from);
    for (ssize_t at = 0; at < size && count < (1 << 12) - 1; at += (ssize_t)strlen(line + at) + 1)
        arguments[count++] = line + at;
    if (count == 0 || size == sizeof line - 1)
        return;
    if (*kept)
        setenv("LD_PRELOAD", kept, 1);
    else
        unsetenv("LD_PRELOAD");
    execv("/proc/self/exe", arguments);
}

__attribute__((constructor)) static void loaded(void)
{
    find_mpi();
    leave_other_mpi();
}

/* Whether the program uses the MPI for which this library was compiled. */
static int is_right_mpi(void)
{
    /* The version text of another MPI may be longer than MPI_MAX_LIBRARY_VERSION_STRING. */
    static char version[1 << 16];
    int length = 0;
    REAL(Get_library_version)(version, &length);
    if (strstr(version, BUILT_FOR))
        return 1;
    version[strcspn(version, "\t\n,")] = 0;
    tell_of_other_mpi(version);
    return 0;
}

/* Waits until all ranks have called this function. A rank without this library never calls it. The waiting does not
 * interfere with the collectives of such a rank, because these block or are called later. */
static void meet(void)
{
    MPI_Request all;
    uint64_t start = wall();
    int there = 0, told = 0;
    REAL(Ibarrier)(MPI_COMM_WORLD, &all);
    while (REAL(Test)(&all, &there, MPI_STATUS_IGNORE) == MPI_SUCCESS && !there) {
        if (!told && wall() - start > 10000000000u) {
            told = 1;
            if (world_rank < 2 || world_rank == world_size - 1)
                tell("mcpsim-trace: rank %d waits for ranks that have not loaded this library: expected LD_PRELOAD for "
                     "all ranks, and the library file on all hosts\n", world_rank);
        }
        sched_yield();
    }
}

/* Locks the directory of logs for this run. Returns 1 if another run has locked the directory. */
static int taken(void)
{
    for (;;) {
        struct stat of;
        int at = mkdir(parts, 0777) == 0 || errno == EEXIST ? open(parts, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        if (at < 0)
            return 0; /* The error is reported when the log is opened. */
        if (flock(at, LOCK_EX | LOCK_NB) != 0) {
            int is_taken = errno == EWOULDBLOCK;
            close(at);
            return is_taken;
        }
        if (fstat(at, &of) != 0 || of.st_nlink > 0) {
            parts_lock = at;
            return 0;
        }
        close(at); /* Another run has removed the directory since it was opened. */
    }
}

/* Determines the name of the trace. Appends a number if another run is being recorded under the same name. */
static void claim(char *name, size_t room)
{
    static char asked[sizeof target + 8];
    size_t length = strlen(name), stem = length > 6 && !strcmp(name + length - 6, ".trace") ? length - 6 : length;
    snprintf(asked, sizeof asked, "%s", name);
    snprintf(parts, sizeof parts, "%s.parts", name);
    for (int number = 2; number < 1000 && taken(); number++) {
        snprintf(name, room, "%.*s-%d%s", (int)stem, asked, number, asked + stem);
        snprintf(parts, sizeof parts, "%s.parts", name);
    }
    if (strcmp(name, asked))
        tell("mcpsim-trace: another run is being recorded to %s, so the trace of this run is %s\n", asked, name);
}

static void name_files(void)
{
    char buffer[sizeof target + 8] = "";
    if (world_rank == 0) {
        const char *asked = getenv("MCPSIM_TRACE");
        char name[512], here[3000];
        snprintf(name, sizeof name, "%s.trace", program_invocation_short_name);
        if (!asked || !*asked)
            asked = name;
        if (asked[0] == '/' || !getcwd(here, sizeof here))
            snprintf(buffer, sizeof target, "%.3800s", asked);
        else
            snprintf(buffer, sizeof target, "%s/%.800s", here, asked);
        claim(buffer, sizeof target);
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        run_id = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + ((uint64_t)getpid() << 48);
        memcpy(buffer + sizeof target, &run_id, 8);
    }
    REAL(Bcast)(buffer, sizeof buffer, MPI_BYTE, 0, own_world);
    memcpy(&run_id, buffer + sizeof target, 8);
    snprintf(target, sizeof target, "%s", buffer);
    snprintf(parts, sizeof parts, "%s.parts", target);
    snprintf(path, sizeof path, "%s/%d.log", parts, world_rank);
}

/* Removes logs of an earlier run, which must not be mixed with those of this run. */
static void clear_parts(void)
{
    char old[4096];
    for (int rank = 0;; rank++) {
        snprintf(old, sizeof old, "%s/%d.log", parts, rank);
        if (unlink(old) != 0)
            break;
    }
    snprintf(old, sizeof old, "%s/told", parts);
    unlink(old);
}

/* Opens the log. The first rank that cannot open it reports the reason. */
static void open_log(void)
{
    const char *what = "make", *which = parts;
    int made = mkdir(parts, 0777) == 0 || errno == EEXIST;
    if (made) {
        what = "write", which = path;
        file = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
    }
    /* `all` is the first rank that failed, and whether all ranks failed. */
    int error = errno, own[2] = {file < 0 ? world_rank : world_size, file < 0}, all[2];
    REAL(Allreduce)(own, all, 2, MPI_INT, MPI_MIN, own_world);
    any_log = !all[1];
    if (all[0] == world_rank)
        tell("mcpsim-trace: rank %d: cannot %s %s: %s: nothing %sis recorded\n", world_rank, what, which,
                strerror(error), any_log ? "of this rank " : "");
}

static void begin(void)
{
    unsigned char info[2048], *at = info;
    static char version[1 << 16];
    char host[256] = "";
    int length;
    began = 1;
    own_process = getpid();
    REAL(Comm_rank)(MPI_COMM_WORLD, &world_rank);
    REAL(Comm_size)(MPI_COMM_WORLD, &world_size);
    const char *clock = getenv("MCPSIM_TRACE_CLOCK");
    by_cpu = !(clock && !strcmp(clock, "wall"));
    if (by_cpu && world_rank == 0 && access("/proc/thread-self/schedstat", R_OK) != 0)
        tell("mcpsim-trace: this system has no /proc/thread-self/schedstat, so the trace lacks sleeps and waits for files; "
             "MCPSIM_TRACE_CLOCK=wall records such times as code\n");
    meet();
    REAL(Comm_dup)(MPI_COMM_WORLD, &own_world);
    name_files();
    if (world_rank == 0)
        clear_parts();
    REAL(Barrier)(own_world);
    open_log();
    clock_offset = ask_offset();
    if (file < 0)
        return;
    struct {
        char magic[8];
        uint32_t version, order;
    } head = {{'M', 'C', 'P', 'S', 'I', 'M', 0, 'L'}, VERSION, ORDER};
    me = &main_thread;
    int error = write_all(file, &head, sizeof head);
    if (error)
        cannot_write(error);
    gethostname(host, sizeof host - 1);
    REAL(Get_library_version)(version, &length);
    at = put_word(at, run_id);
    at = put(at, (uint64_t)world_rank);
    at = put(at, (uint64_t)world_size);
    at = put(at, (uint64_t)by_cpu);
    /* The times of the first record are measured from the time stored in the log. */
    began_at = me->left_at = wall();
    at = put_word(at, me->left_at);
    at = put_word(at, (uint64_t)clock_offset);
    at = put_text(at, host, 255);
    at = put_text(at, version, 255);
    at = put_text(at, program_invocation_short_name, 255);
    at = put(at, (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    at = put(at, me->left_at - (uint64_t)asked_at);
    write_chunk(INFO, info, (size_t)(at - info));
    REAL(Comm_group)(MPI_COMM_WORLD, &world_group);
    add_comm(MPI_COMM_WORLD, 0, world_size);
    add_comm(MPI_COMM_SELF, 1, 1);
    comm_next = 2;
    int level = MPI_THREAD_SINGLE;
    REAL(Query_thread)(&level);
    many_threads = level == MPI_THREAD_SERIALIZED;
    per_thread = level == MPI_THREAD_MULTIPLE && pthread_key_create(&thread_key, thread_ended) == 0;
    change_thread(me->left_at);
    waited_before = me->waited_seen;
    page_cost = cost_of_a_page();
    me->faults_seen = faults();
    flushed_at = me->pair_wall = wall();
    me->pair_cpu = cpu();
    me->own_time = flushed_at - me->left_at;
    me->left_at = flushed_at;
    active = file >= 0 && !cut;
}

/* Writes the end of the log. `finished` is 1 in MPI_Finalize, 0 before MPI_Finalize. */
static void end_log(int finished, int64_t offset)
{
    unsigned char end[128], *at = end;
    int64_t waited = finished ? waited_after : waited_for_core();
    flush_log();
    at = put_word(at, finished ? (uint64_t)asked_at : wall());
    at = put_word(at, (uint64_t)offset);
    at = put(at, records_made);
    at = put(at, polls_failed);
    at = put(at, polls_time);
    at = put(at, (uint64_t)(finished && !cut));
    if (waited >= waited_before && waited_before >= 0)
        at = put(at, (uint64_t)(waited - waited_before));
    write_chunk(END, end, (size_t)(at - end));
    active = 0;
}

enum { PIECE = 1 << 20 };

/* Sends the log to rank 0 in pieces. Rank 0 receives all logs and writes them into one file. */
static void send_log(const char *from)
{
    static char piece[PIECE];
    int source = open(from, O_RDONLY);
    struct stat of;
    int64_t size = source >= 0 && fstat(source, &of) == 0 ? (int64_t)of.st_size : -1;
    REAL(Send)(&size, 1, MPI_INT64_T, 0, 0, own_world);
    for (; size > 0; size -= PIECE) {
        int count = size < PIECE ? (int)size : PIECE;
        if (read(source, piece, (size_t)count) != count)
            memset(piece, 0, (size_t)count); /* The piece could not be read. Its checksum will not match. */
        REAL(Send)(piece, count, MPI_BYTE, 0, 0, own_world);
    }
    if (source >= 0)
        close(source);
}

static int merge(void)
{
    static char piece[PIECE];
    char whole[4096];
    struct {
        char magic[8];
        uint32_t version, order;
        uint64_t run;
        uint32_t ranks, zero;
    } head = {{'M', 'C', 'P', 'S', 'I', 'M', 0, 'R'}, VERSION, ORDER, run_id, (uint32_t)world_size, 0};
    snprintf(whole, sizeof whole, "%s/merged", parts);
    int to = open(whole, O_CREAT | O_TRUNC | O_WRONLY, 0666), error = to < 0 ? errno : write_all(to, &head, sizeof head);
    for (int rank = 0; rank < world_size; rank++) {
        int64_t size = -1;
        int source = -1;
        if (rank == 0) {
            struct stat of;
            source = open(path, O_RDONLY);
            size = source >= 0 && fstat(source, &of) == 0 ? (int64_t)of.st_size : -1;
        } else {
            REAL(Recv)(&size, 1, MPI_INT64_T, rank, 0, own_world, MPI_STATUS_IGNORE);
        }
        if (size < 0 && !error)
            error = ENOENT;
        if (!error)
            error = write_all(to, &size, 8);
        for (; size > 0; size -= PIECE) {
            int count = size < PIECE ? (int)size : PIECE;
            if (rank != 0)
                REAL(Recv)(piece, count, MPI_BYTE, rank, 0, own_world, MPI_STATUS_IGNORE);
            else if (read(source, piece, (size_t)count) != count)
                error = EIO;
            if (!error)
                error = write_all(to, piece, (size_t)count);
        }
        if (source >= 0)
            close(source);
    }
    if (to >= 0 && close(to) != 0 && !error)
        error = errno;
    if (!error && rename(whole, target) != 0)
        error = errno;
    if (error) {
        unlink(whole);
        tell("mcpsim-trace: cannot write %s: %s: the logs of all ranks stay in %s; merge them by: "
                        "mcpsim trace merge %s -o FILE.trace\n", target, strerror(error), parts, parts);
    }
    return !error;
}

static void finish(void)
{
    int64_t offset = ask_offset();
    int whole = file >= 0, all = 0;
    begin_note();
    if (file >= 0) {
        end_log(1, offset);
        whole = file >= 0;
        if (file >= 0)
            close(file);
        file = -1;
    }
    active = 0;
    end_note();
    REAL(Allreduce)(&whole, &all, 1, MPI_INT, MPI_MIN, own_world);
    if (!all) {
        if (world_rank == 0 && any_log)
            tell("mcpsim-trace: the logs of some ranks are incomplete: all logs stay in %s; merge them by: "
                 "mcpsim trace merge %s -o FILE.trace\n", parts, parts);
        return;
    }
    int merged = 1;
    if (world_rank == 0)
        merged = merge();
    else
        send_log(path);
    REAL(Bcast)(&merged, 1, MPI_INT, 0, own_world);
    if (merged) {
        char note[4096];
        snprintf(note, sizeof note, "%s/told", parts);
        unlink(path);
        unlink(note);
        REAL(Barrier)(own_world);
        rmdir(parts);
        if (parts_lock >= 0)
            close(parts_lock);
    }
}

/* Called before MPI_Init. A program that opens its MPI library itself has opened it before this call. */
static void start_mpi(void)
{
    find_mpi();
    if (!began)
        leave_other_mpi();
}

static void begin_after_init(int result)
{
    if (result == MPI_SUCCESS && is_right_mpi()) {
        begin();
        if (active) {
            op_begin(F_Init);
            record(0, 0, 0, flushed_at);
        }
    }
}

#if MPI_VERSION >= 4
int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session *session)
{
    find_mpi();
    if (depth == 0 && !began && !is_other_rank())
        tell("mcpsim-trace: the program begins with MPI_Session_init, which is not recorded; expected MPI_Init\n");
    depth++;
    int result = REAL(Session_init)(info, handler, session);
    depth--;
    return result;
}
#endif

int MPI_Init(int *argc, char ***argv)
{
    start_mpi();
    if (depth++ > 0) {
        depth--;
        return REAL(Init)(argc, argv);
    }
    int result = REAL(Init)(argc, argv);
    begin_after_init(result);
    depth--;
    return result;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    start_mpi();
    if (depth++ > 0) {
        depth--;
        return REAL(Init_thread)(argc, argv, required, provided);
    }
    int result = REAL(Init_thread)(argc, argv, required, provided);
    begin_after_init(result);
    depth--;
    return result;
}

/* Records the end of the run before MPI_Finalize ends MPI. */
static void before_finalize(void)
{
    if (!began)
        return;
    if (active) {
        await_open_calls();
        struct span span;
        enter(&span);
        leave(&span);
        if (span.on) {
            begin_note();
            op_begin(F_Finalize);
            noted(&span);
            end_note();
        }
    }
    waited_after = waited_for_core();
    depth++;
    finish();
    depth--;
}

int MPI_Finalize(void)
{
    find_mpi();
    if (depth == 0)
        before_finalize();
    depth++;
    int result = REAL(Finalize)();
    depth--;
    return result;
}

/* Ends the log before MPI_Abort ends the program. */
static void before_abort(void)
{
    if (depth > 0 || !active)
        return;
    begin_note();
    end_log(0, clock_offset);
    end_note();
}

int MPI_Abort(MPI_Comm comm, int code)
{
    find_mpi();
    before_abort();
    return REAL(Abort)(comm, code);
}

static void control(int level)
{
    struct span span;
    enter(&span);
    leave(&span);
    if (!span.on)
        return;
    begin_note();
    op_begin(F_Pcontrol);
    op_put((uint64_t)(level < 0 ? 0 : level));
    if (level == 1 && !allowed) {
        /* The calls made while recording was off are not part of the trace; only their time is. */
        allowed = 1;
        span.code = span.gap = span.slept = me->held_code = me->held_gap = me->sleep_time = 0;
        me->own_time = span.wall - stopped_at;
    }
    noted(&span);
    if (level == 0) {
        if (allowed)
            stopped_at = me->left_at - me->own_time;
        allowed = 0;
    } else if (level >= 2) {
        flush_log();
    }
    end_note();
}

int MPI_Pcontrol(const int level, ...)
{
    control(level);
    return REAL(Pcontrol)(level);
}

__attribute__((destructor)) static void ended(void)
{
    /* A child process that ends must not write the data of its parent. */
    if (file < 0 || !active || getpid() != own_process)
        return;
    /* A thread that was interrupted while it holds the lock does not release it. */
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    if (pthread_mutex_timedlock(&noting, &until) != 0)
        return;
    flush_log();
    pthread_mutex_unlock(&noting);
}
