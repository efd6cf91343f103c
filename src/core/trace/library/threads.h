/* Threads of the program. With MPI_THREAD_MULTIPLE, each thread has a log of its own: the records between two records of
 * the function `thread` belong to one thread. */

/* Threads that the program has created and not joined. */
static struct created {
    pthread_t thread;
    uint32_t number;
} *created;
static size_t created_count, created_room;

static void add_created(pthread_t thread, uint32_t number)
{
    for (size_t at = 0; at < created_count; at++)
        if (pthread_equal(created[at].thread, thread)) {
            created[at].number = number;
            return;
        }
    if (created_count == created_room) {
        created_room = 2 * created_room + 16;
        created = realloc(created, sizeof *created * created_room);
        if (!created)
            abort();
    }
    created[created_count++] = (struct created){thread, number};
}

/* Removes a thread from the list. Returns its number, or 0 for a thread that is not in the list. */
static uint32_t take_created(pthread_t thread)
{
    for (size_t at = 0; at < created_count; at++)
        if (pthread_equal(created[at].thread, thread)) {
            uint32_t number = created[at].number;
            created[at] = created[--created_count];
            return number;
        }
    return 0;
}

/* Records the end of a thread. */
static void thread_ended(void *state)
{
    struct span span;
    me = state;
    depth = 0;
    close_call(); /* The thread was cancelled in a call. */
    enter(&span);
    leave(&span);
    if (span.on) {
        begin_note();
        op_begin(F_pthread_exit);
        noted(&span);
        end_note();
    }
    free(me->handles);
    free(me->slots);
    free(me->own_statuses);
    free(me);
    me = NULL;
}

/* Function of a new thread, with its argument. */
struct start {
    void *(*function)(void *);
    void *argument;
    uint32_t number;
    uint64_t since;
};

static void *begin_thread(void *argument)
{
    struct start start = *(struct start *)argument;
    free(argument);
    new_thread(start.number, start.since);
    return start.function(start.argument);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!real)
        real = find_in(RTLD_NEXT, "pthread_create");
    struct start *start = depth == 0 && active && per_thread ? malloc(sizeof *start) : NULL;
    if (!start)
        return real(thread, attributes, function, argument);
    struct span span;
    enter(&span);
    uint32_t number = __atomic_add_fetch(&threads_made, 1, __ATOMIC_RELAXED);
    *start = (struct start){function, argument, number, span.wall};
    int result = real(thread, attributes, begin_thread, start);
    leave(&span);
    if (result != 0)
        free(start);
    if (span.on) {
        begin_note();
        if (result == 0) {
            add_created(*thread, number);
            op_begin(F_pthread_create);
            op_put(number);
            noted(&span);
        } else {
            passed(&span);
        }
        end_note();
    }
    return result;
}

int pthread_join(pthread_t thread, void **result)
{
    static int (*real)(pthread_t, void **);
    uint32_t number = 0;
    if (!real)
        real = find_in(RTLD_NEXT, "pthread_join");
    if (depth == 0 && active && per_thread) {
        begin_note();
        number = take_created(thread);
        end_note();
    }
    if (number == 0)
        return real(thread, result);
    struct span span;
    enter(&span);
    close_call(); /* The thread may wait during MPI_Finalize. */
    int code = real(thread, result);
    leave(&span);
    if (code != 0 || span.on)
        begin_note();
    if (code != 0)
        add_created(thread, number);
    if (span.on && code == 0) {
        op_begin(F_pthread_join);
        op_put(number);
        noted(&span);
    } else if (span.on) {
        passed(&span);
    }
    if (code != 0 || span.on)
        end_note();
    return code;
}
