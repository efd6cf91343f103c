/* Functions without counts: waits, tests, probes, persistent requests, communicators, and unsupported functions. */

/* Makes room for the requests of a wait. */
static void make_room(int count)
{
    if (count <= me->handles_room)
        return;
    me->handles_room = count + 64;
    size_t room = (size_t)me->handles_room;
    me->handles = realloc(me->handles, sizeof *me->handles * room);
    me->slots = realloc(me->slots, sizeof *me->slots * room);
    me->own_statuses = realloc(me->own_statuses, sizeof *me->own_statuses * room);
    if (!me->handles || !me->slots || !me->own_statuses)
        abort();
}

/* Looks up the slots of the requests before a wait that may complete them, because other threads may then start requests
 * with the same handles. */
static void look_up(int count)
{
    if (!per_thread)
        return;
    begin_note();
    for (int at = 0; at < count; at++)
        me->slots[at] = find_request(me->handles[at]);
    end_note();
}

/* Returns the slot of a request of the present wait. */
static int slot_at(int at)
{
    return per_thread ? me->slots[at] : find_request(me->handles[at]);
}

/* Saves the requests before a wait sets them to null. Returns the statuses to use if the program ignores them. */
static MPI_Status *before(int count, const MPI_Request *requests, MPI_Status *statuses, MPI_Status *ignored)
{
    if (depth > 0 || !active || !take_turn())
        return statuses;
    find_me();
    make_room(count);
    if (count > 0 && requests) {
        memcpy(me->handles, requests, sizeof *requests * (size_t)count);
        look_up(count);
    }
    return statuses == ignored && wild_pending > 0 ? me->own_statuses : statuses;
}

/* Records that all requests of a call are complete. */
static void all_done(int function, int count, const MPI_Status *statuses)
{
    done_begin(count);
    for (int at = 0; at < count; at++)
        completed(slot_at(at), statuses ? &statuses[at] : NULL);
    note_wait(function);
}

/* Records that the requests at `indices` are complete. `statuses` are in the order of `indices`. */
static void some_done(int function, int count, const int *indices, const MPI_Status *statuses)
{
    done_begin(count > 0 ? count : 0);
    for (int at = 0; at < count; at++)
        completed(slot_at(indices[at]), statuses ? &statuses[at] : NULL);
    note_wait(function);
}

/* Defines the body of a test or probe, which may be without success. */
#define POLL(call, found, note)                                                                                          \
    struct span span;                                                                                                    \
    enter(&span);                                                                                                        \
    int result = call;                                                                                                   \
    leave(&span);                                                                                                        \
    if (span.on) {                                                                                                       \
        begin_note();                                                                                                    \
        if (result != MPI_SUCCESS) {                                                                                     \
            passed(&span);                                                                                               \
        } else if (found) {                                                                                              \
            note;                                                                                                        \
            noted(&span);                                                                                                \
        } else {                                                                                                         \
            found_nothing(&span);                                                                                        \
        }                                                                                                                \
        end_note();                                                                                                      \
    }

#define READABLE(statuses, ignored) ((statuses) == (ignored) ? NULL : (statuses))

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    status = before(1, request, status, MPI_STATUS_IGNORE);
    DO(REAL(Wait)(request, status), all_done(F_Wait, 1, READABLE(status, MPI_STATUS_IGNORE)))
    return result;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    statuses = before(count, requests, statuses, MPI_STATUSES_IGNORE);
    DO(REAL(Waitall)(count, requests, statuses), all_done(F_Waitall, count, READABLE(statuses, MPI_STATUSES_IGNORE)))
    return result;
}

int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    status = before(count, requests, status, MPI_STATUS_IGNORE);
    DO(REAL(Waitany)(count, requests, index, status),
       some_done(F_Waitany, *index != MPI_UNDEFINED, index, READABLE(status, MPI_STATUS_IGNORE)))
    return result;
}

int MPI_Waitsome(int count, MPI_Request requests[], int *found, int indices[], MPI_Status statuses[])
{
    statuses = before(count, requests, statuses, MPI_STATUSES_IGNORE);
    DO(REAL(Waitsome)(count, requests, found, indices, statuses),
       some_done(F_Waitsome, *found == MPI_UNDEFINED ? 0 : *found, indices, READABLE(statuses, MPI_STATUSES_IGNORE)))
    return result;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    status = before(1, request, status, MPI_STATUS_IGNORE);
    POLL(REAL(Test)(request, flag, status), *flag, all_done(F_Test, 1, READABLE(status, MPI_STATUS_IGNORE)))
    return result;
}

int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    statuses = before(count, requests, statuses, MPI_STATUSES_IGNORE);
    POLL(REAL(Testall)(count, requests, flag, statuses), *flag,
         all_done(F_Testall, count, READABLE(statuses, MPI_STATUSES_IGNORE)))
    return result;
}

int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    status = before(count, requests, status, MPI_STATUS_IGNORE);
    POLL(REAL(Testany)(count, requests, index, flag, status), *flag && *index != MPI_UNDEFINED,
         some_done(F_Testany, 1, index, READABLE(status, MPI_STATUS_IGNORE)))
    return result;
}

int MPI_Testsome(int count, MPI_Request requests[], int *found, int indices[], MPI_Status statuses[])
{
    statuses = before(count, requests, statuses, MPI_STATUSES_IGNORE);
    POLL(REAL(Testsome)(count, requests, found, indices, statuses), *found != MPI_UNDEFINED && *found > 0,
         some_done(F_Testsome, *found, indices, READABLE(statuses, MPI_STATUSES_IGNORE)))
    return result;
}

int MPI_Start(MPI_Request *request)
{
    DO(REAL(Start)(request), restart(find_request(*request)))
    return result;
}

/* Records each start of a persistent request. The first record has the time of the call. */
static void restart_all(struct span *s, int count, const MPI_Request *requests)
{
    for (int at = 0; at < count; at++) {
        restart(find_request(requests[at]));
        if (at + 1 < count) {
            record(me->held_code + s->code, me->held_gap + s->gap, 0, s->end);
            me->held_code = me->held_gap = s->code = s->gap = 0;
        }
    }
    if (count <= 0)
        op_begin(F_Startall);
}

int MPI_Startall(int count, MPI_Request requests[])
{
    DO(REAL(Startall)(count, requests), restart_all(&span, count, requests))
    return result;
}

static void note_release(int slot)
{
    op_begin(F_Request_free);
    op_put((uint64_t)(slot + 1));
    if (slot >= 0)
        drop_request(slot);
}

int MPI_Request_free(MPI_Request *request)
{
    before(1, request, NULL, NULL);
    DO(REAL(Request_free)(request), note_release(slot_at(0)))
    return result;
}

static void cancel(int slot)
{
    if (slot >= 0 && !slots[slot].cancelled) {
        wild_pending += !slots[slot].wild;
        slots[slot].wild = 0;
        slots[slot].cancelled = 1;
    }
    op_begin(F_Cancel);
}

int MPI_Cancel(MPI_Request *request)
{
    DO(REAL(Cancel)(request), cancel(find_request(*request)))
    return result;
}

int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own;
    status = status == MPI_STATUS_IGNORE ? &own : status;
    DO(REAL(Probe)(source, tag, comm, status), note_probe(F_Probe, comm_of(comm)->number, status))
    return result;
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    MPI_Status own;
    status = status == MPI_STATUS_IGNORE ? &own : status;
    POLL(REAL(Iprobe)(source, tag, comm, flag, status), *flag, note_probe(F_Iprobe, comm_of(comm)->number, status))
    return result;
}

static void note_matched(int function, MPI_Comm comm, MPI_Message message, const MPI_Status *status)
{
    add_message(message, comm_of(comm)->number, status);
    note_probe(function, comm_of(comm)->number, status);
}

int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    MPI_Status own;
    status = status == MPI_STATUS_IGNORE ? &own : status;
    DO(REAL(Mprobe)(source, tag, comm, message, status), note_matched(F_Mprobe, comm, *message, status))
    return result;
}

int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
    MPI_Status own;
    status = status == MPI_STATUS_IGNORE ? &own : status;
    POLL(REAL(Improbe)(source, tag, comm, flag, message, status), *flag,
         note_matched(F_Improbe, comm, *message, status))
    return result;
}

static void note_barrier(int function, MPI_Comm comm, MPI_Request *request)
{
    op_collective(function, comm, 0, 1, 0, request);
    for (int at = 0; at < 4; at++)
        op_put(0);
}

int MPI_Barrier(MPI_Comm comm)
{
    DO(REAL(Barrier)(comm), note_barrier(F_Barrier, comm, NULL))
    return result;
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    DO(REAL(Ibarrier)(comm, request), note_barrier(F_Ibarrier, comm, request))
    return result;
}

/* Defines a function that creates a communicator. `telling` is the kind of data that the members exchange, see
 * note_comm. */
#define WRAP_COMM(name, telling, parameters, arguments)                                                                  \
    int MPI_##name(STRIP parameters, MPI_Comm *made)                                                                     \
    {                                                                                                                    \
        DO(REAL(name)(STRIP arguments, made), note_comm(F_##name, comm, *made, telling))                                \
        return result;                                                                                                   \
    }
#define STRIP(...) __VA_ARGS__
WRAP_COMM(Comm_dup, 0, (MPI_Comm comm), (comm))
WRAP_COMM(Comm_dup_with_info, 0, (MPI_Comm comm, MPI_Info info), (comm, info))
WRAP_COMM(Comm_create, 0, (MPI_Comm comm, MPI_Group group), (comm, group))
WRAP_COMM(Comm_create_group, 2, (MPI_Comm comm, MPI_Group group, int tag), (comm, group, tag))
WRAP_COMM(Comm_split, 1, (MPI_Comm comm, int colour, int key), (comm, colour, key))
WRAP_COMM(Comm_split_type, 1, (MPI_Comm comm, int type, int key, MPI_Info info), (comm, type, key, info))
WRAP_COMM(Cart_create, 0, (MPI_Comm comm, int n, const int dims[], const int periods[], int reorder),
          (comm, n, dims, periods, reorder))
WRAP_COMM(Cart_sub, 0, (MPI_Comm comm, const int remain[]), (comm, remain))
WRAP_COMM(Graph_create, 0, (MPI_Comm comm, int n, const int index[], const int edges[], int reorder),
          (comm, n, index, edges, reorder))
WRAP_COMM(Dist_graph_create_adjacent, 0,
          (MPI_Comm comm, int in, const int sources[], const int weights[], int out, const int destinations[],
           const int others[], MPI_Info info, int reorder),
          (comm, in, sources, weights, out, destinations, others, info, reorder))

/* Returns the number of a communicator that is about to be freed, because another thread may then create a communicator
 * with the same handle. */
static int number_before(MPI_Comm handle)
{
    int number = -1;
    if (depth > 0 || !active)
        return number;
    begin_note();
    for (int at = 0; at < comm_count; at++)
        if (comms[at].handle == handle)
            number = comms[at].number;
    end_note();
    return number;
}

static void note_free(int function, int number)
{
    if (number < 0)
        refuse_comm();
    op_begin(function);
    op_put((uint64_t)number);
    drop_comm(number);
}

int MPI_Comm_free(MPI_Comm *comm)
{
    int number = number_before(*comm);
    DO(REAL(Comm_free)(comm), note_free(F_Comm_free, number))
    return result;
}

int MPI_Comm_disconnect(MPI_Comm *comm)
{
    int number = number_before(*comm);
    DO(REAL(Comm_disconnect)(comm), note_free(F_Comm_disconnect, number))
    return result;
}

/* Defines a function that cannot be replayed. The program executes the call, and the trace ends with the name of the
 * function. */
#define WRAP_REFUSED(name, parameters, arguments)                                                                        \
    int MPI_##name parameters                                                                                            \
    {                                                                                                                    \
        find_mpi();                                                                                                      \
        refuse_call(F_##name, "MPI_" #name " is called, which cannot be replayed");                                      \
        return REAL(name) arguments;                                                                                    \
    }
WRAP_REFUSED(Comm_idup, (MPI_Comm comm, MPI_Comm *made, MPI_Request *request), (comm, made, request))
WRAP_REFUSED(Intercomm_create, (MPI_Comm mine_, int leader, MPI_Comm peers, int remote, int tag, MPI_Comm *made),
             (mine_, leader, peers, remote, tag, made))
WRAP_REFUSED(Comm_spawn,
             (const char *command, char *argv[], int most, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *made,
              int errors[]),
             (command, argv, most, info, root, comm, made, errors))
WRAP_REFUSED(Comm_spawn_multiple,
             (int count, char *commands[], char **argvs[], const int most[], const MPI_Info infos[], int root,
              MPI_Comm comm, MPI_Comm *made, int errors[]),
             (count, commands, argvs, most, infos, root, comm, made, errors))
WRAP_REFUSED(Comm_accept, (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *made),
             (port, info, root, comm, made))
WRAP_REFUSED(Comm_connect, (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *made),
             (port, info, root, comm, made))
WRAP_REFUSED(Dist_graph_create,
             (MPI_Comm comm, int n, const int sources[], const int degrees[], const int destinations[],
              const int weights[], MPI_Info info, int reorder, MPI_Comm *made),
             (comm, n, sources, degrees, destinations, weights, info, reorder, made))
WRAP_REFUSED(Win_create, (void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win),
             (base, size, unit, info, comm, win))
WRAP_REFUSED(Win_allocate, (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),
             (size, unit, info, comm, base, win))
WRAP_REFUSED(Win_allocate_shared, (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),
             (size, unit, info, comm, base, win))
WRAP_REFUSED(Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win *win), (info, comm, win))
WRAP_REFUSED(Neighbor_alltoallw,
             (const void *from, const int counts[], const MPI_Aint at[], const MPI_Datatype types[], void *to,
              const int rooms[], const MPI_Aint displs[], const MPI_Datatype others[], MPI_Comm comm),
             (from, counts, at, types, to, rooms, displs, others, comm))
WRAP_REFUSED(Ineighbor_allgather,
             (const void *from, int count, MPI_Datatype type, void *to, int room, MPI_Datatype other, MPI_Comm comm,
              MPI_Request *request),
             (from, count, type, to, room, other, comm, request))
WRAP_REFUSED(Ineighbor_allgatherv,
             (const void *from, int count, MPI_Datatype type, void *to, const int rooms[], const int displs[],
              MPI_Datatype other, MPI_Comm comm, MPI_Request *request),
             (from, count, type, to, rooms, displs, other, comm, request))
WRAP_REFUSED(Ineighbor_alltoallw,
             (const void *from, const int counts[], const MPI_Aint at[], const MPI_Datatype types[], void *to,
              const int rooms[], const MPI_Aint displs[], const MPI_Datatype others[], MPI_Comm comm,
              MPI_Request *request),
             (from, counts, at, types, to, rooms, displs, others, comm, request))
WRAP_REFUSED(Ineighbor_alltoall,
             (const void *from, int count, MPI_Datatype type, void *to, int room, MPI_Datatype other, MPI_Comm comm,
              MPI_Request *request),
             (from, count, type, to, room, other, comm, request))
WRAP_REFUSED(Ineighbor_alltoallv,
             (const void *from, const int counts[], const int at[], MPI_Datatype type, void *to, const int rooms[],
              const int displs[], MPI_Datatype other, MPI_Comm comm, MPI_Request *request),
             (from, counts, at, type, to, rooms, displs, other, comm, request))
#if MPI_VERSION >= 4
WRAP_REFUSED(Comm_idup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *made, MPI_Request *request),
             (comm, info, made, request))
WRAP_REFUSED(Isendrecv,
             (const void *from, int count, MPI_Datatype type, int to, int tag, void *received, int room,
              MPI_Datatype other, int source, int open, MPI_Comm comm, MPI_Request *request),
             (from, count, type, to, tag, received, room, other, source, open, comm, request))
WRAP_REFUSED(Isendrecv_replace,
             (void *buffer, int count, MPI_Datatype type, int to, int tag, int source, int open, MPI_Comm comm,
              MPI_Request *request),
             (buffer, count, type, to, tag, source, open, comm, request))
#endif
#undef STRIP
