/* MPI functions as called from Fortran (mpif.h and `use mpi`): handles are integers, and all arguments are passed by
 * address. These definitions do not replace functions of the program itself. If the MPI library has no Fortran
 * interface, these functions are never called. */

#define T(type) F2C(Type, *(type))
#define C(comm) F2C(Comm, *(comm))
#define R(request) F2C(Request, *(request))
#define U(count) ((uint64_t)(*(count) < 0 ? 0 : *(count)))
#ifdef OPEN_MPI
/* Names by which `use mpi_f08` calls the same functions. */
#define NAME_F08(name) __attribute__((alias("mpi_" #name "_"))) void ompi_##name##_f();
#else
#define NAME_F08(name)
#endif
/* Fortran compilers append one underscore or two to a name. Names without an underscore are not defined, because they
 * may be C functions of the program. */
#define NAMES(name)                                                                                                      \
    __attribute__((alias("mpi_" #name "_"))) void mpi_##name##__();                                                      \
    NAME_F08(name)

/* Defines a Fortran function, which records the call like the C function. Special addresses of Fortran need no
 * conversion, because recording neither reads nor writes these buffers. */
#define FORTRAN(name, parameters, arguments, before_it, found, note)                                                     \
    void mpi_##name##_ parameters                                                                                        \
    {                                                                                                                    \
        before_it;                                                                                                       \
        struct span span;                                                                                                \
        enter(&span);                                                                                                    \
        REAL_FORTRAN(name, parameters) arguments;                                                                        \
        leave(&span);                                                                                                    \
        if (span.on) {                                                                                                   \
            begin_note();                                                                                                \
            if (*ierr != MPI_SUCCESS) {                                                                                  \
                passed(&span);                                                                                           \
            } else if (found) {                                                                                          \
                note;                                                                                                    \
                noted(&span);                                                                                            \
            } else {                                                                                                     \
                found_nothing(&span);                                                                                    \
            }                                                                                                            \
            end_note();                                                                                                  \
        }                                                                                                                \
    }                                                                                                                    \
    NAMES(name)

/* Fortran's MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE are variables of the MPI library, under Open MPI by several names. */
static int is_ignored(const void *status)
{
    MPI_Fint **one = VARIABLE(MPI_F_STATUS_IGNORE), **all = VARIABLE(MPI_F_STATUSES_IGNORE);
    return !status || (one && status == *one) || (all && status == *all) ||
           status == SYMBOL("mpi_fortran_status_ignore_") || status == SYMBOL("mpi_fortran_status_ignore__") ||
           status == SYMBOL("mpi_fortran_status_ignore") || status == SYMBOL("mpi_fortran_statuses_ignore_") ||
           status == SYMBOL("mpi_fortran_statuses_ignore__") || status == SYMBOL("mpi_fortran_statuses_ignore");
}

/* Converts the statuses of `count` requests from Fortran to C. */
static MPI_Status *to_statuses(int count, MPI_Fint *statuses)
{
    if (wild_pending == 0 || is_ignored(statuses))
        return NULL;
    for (int at = 0; at < count; at++)
        REAL(Status_f2c)(statuses + at * (int)(sizeof(MPI_Status) / sizeof(MPI_Fint)), &me->own_statuses[at]);
    return me->own_statuses;
}

static __thread MPI_Fint *own_fortran;

/* Saves the requests before they are set to null. Provides room for statuses if the program ignores them and a
 * request has an open source or tag. */
static MPI_Fint *before_fortran(int count, MPI_Fint *requests, MPI_Fint *statuses)
{
    static __thread int room;
    if (depth > 0 || !active || !take_turn())
        return statuses;
    before(count, NULL, NULL, NULL);
    for (int at = 0; at < count; at++)
        me->handles[at] = F2C(Request, requests[at]);
    look_up(count);
    if (count > room || !own_fortran) {
        room = count + 64;
        own_fortran = realloc(own_fortran, sizeof(MPI_Status) * (size_t)room);
        if (!own_fortran)
            abort();
    }
    return is_ignored(statuses) && wild_pending > 0 ? own_fortran : statuses;
}

static MPI_Status *status_of(MPI_Fint *status)
{
    static MPI_Status one;
    REAL(Status_f2c)(status, &one);
    return &one;
}

/* Indices start at 1 in Fortran. */
static int *from_one(int count, const MPI_Fint *indices)
{
    static int *list, room;
    if (count > room) {
        room = count + 64;
        list = realloc(list, sizeof(int) * (size_t)room);
        if (!list)
            abort();
    }
    for (int at = 0; at < count; at++)
        list[at] = (int)indices[at] - 1;
    return list;
}

/* Returns whether `buffer` is Fortran's MPI_IN_PLACE, which is a variable of the MPI library. */
static int is_in_place(const void *buffer)
{
    void **mpich = SYMBOL("MPIR_F_MPI_IN_PLACE");
    if (mpich && *mpich)
        return buffer == *mpich;
    return buffer && (buffer == SYMBOL("mpi_fortran_in_place_") || buffer == SYMBOL("mpi_fortran_in_place__") ||
                      buffer == SYMBOL("mpi_fortran_in_place"));
}

static MPI_Fint any_status[sizeof(MPI_Status) / sizeof(MPI_Fint) + 1];
#define OWN(open) if (is_ignored(status) && (open)) status = any_status
#define OPEN(from, tag) is_open((int)*(from), (int)*(tag))

FORTRAN(send,
        (void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *ierr),
        (buf, count, type, dest, tag, comm, ierr),
        , 1,
        note_message(F_Send, buf, U(count), T(type), *dest, *tag, C(comm)))
FORTRAN(bsend,
        (void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *ierr),
        (buf, count, type, dest, tag, comm, ierr),
        , 1,
        note_message(F_Bsend, buf, U(count), T(type), *dest, *tag, C(comm)))
FORTRAN(ssend,
        (void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *ierr),
        (buf, count, type, dest, tag, comm, ierr),
        , 1,
        note_message(F_Ssend, buf, U(count), T(type), *dest, *tag, C(comm)))
FORTRAN(rsend,
        (void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *ierr),
        (buf, count, type, dest, tag, comm, ierr),
        , 1,
        note_message(F_Rsend, buf, U(count), T(type), *dest, *tag, C(comm)))
FORTRAN(isend,
        (void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
        (buf, count, type, dest, tag, comm, request, ierr),
        , 1,
        note_start(F_Isend, buf, U(count), T(type), *dest, *tag, C(comm), R(request), 0))
FORTRAN(ibsend,
        (void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
        (buf, count, type, dest, tag, comm, request, ierr),
        , 1,
        note_start(F_Ibsend, buf, U(count), T(type), *dest, *tag, C(comm), R(request), 0))
FORTRAN(issend,
        (void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
        (buf, count, type, dest, tag, comm, request, ierr),
        , 1,
        note_start(F_Issend, buf, U(count), T(type), *dest, *tag, C(comm), R(request), 0))
FORTRAN(irsend,
        (void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
        (buf, count, type, dest, tag, comm, request, ierr),
        , 1,
        note_start(F_Irsend, buf, U(count), T(type), *dest, *tag, C(comm), R(request), 0))
FORTRAN(send_init,
        (void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
        (buf, count, type, dest, tag, comm, request, ierr),
        , 1,
        persistent(F_Isend, buf, U(count), T(type), *dest, *tag, C(comm), R(request), 0); op_begin(F_Request_free); op_put(0))
FORTRAN(bsend_init,
        (void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
        (buf, count, type, dest, tag, comm, request, ierr),
        , 1,
        persistent(F_Ibsend, buf, U(count), T(type), *dest, *tag, C(comm), R(request), 0); op_begin(F_Request_free); op_put(0))
FORTRAN(ssend_init,
        (void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
        (buf, count, type, dest, tag, comm, request, ierr),
        , 1,
        persistent(F_Issend, buf, U(count), T(type), *dest, *tag, C(comm), R(request), 0); op_begin(F_Request_free); op_put(0))
FORTRAN(rsend_init,
        (void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
        (buf, count, type, dest, tag, comm, request, ierr),
        , 1,
        persistent(F_Irsend, buf, U(count), T(type), *dest, *tag, C(comm), R(request), 0); op_begin(F_Request_free); op_put(0))
FORTRAN(recv_init,
        (void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *src, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
        (buf, count, type, src, tag, comm, request, ierr),
        , 1,
        persistent(F_Irecv, buf, U(count), T(type), *src, *tag, C(comm), R(request), 1); op_begin(F_Request_free); op_put(0))
FORTRAN(recv,
        (void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *src, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *status, MPI_Fint *ierr),
        (buf, count, type, src, tag, comm, status, ierr),
        OWN(OPEN(src, tag)), 1,
        note_received(F_Recv, buf, U(count), T(type), *src, *tag, C(comm), OPEN(src, tag) ? status_of(status) : NULL))
FORTRAN(irecv,
        (void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *src, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
        (buf, count, type, src, tag, comm, request, ierr),
        , 1,
        note_start(F_Irecv, buf, U(count), T(type), *src, *tag, C(comm), R(request), 1))
FORTRAN(sendrecv,
        (void *sent, MPI_Fint *count, MPI_Fint *type, MPI_Fint *dest, MPI_Fint *tag, void *received, MPI_Fint *room, MPI_Fint *other, MPI_Fint *src, MPI_Fint *open, MPI_Fint *comm, MPI_Fint *status, MPI_Fint *ierr),
        (sent, count, type, dest, tag, received, room, other, src, open, comm, status, ierr),
        OWN(OPEN(src, open)), 1,
        note_exchange(F_Sendrecv, sent, U(count), T(type), *dest, *tag, received, U(room), T(other), *src, *open, C(comm),
                      OPEN(src, open) ? status_of(status) : NULL))
FORTRAN(sendrecv_replace,
        (void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *src, MPI_Fint *open, MPI_Fint *comm, MPI_Fint *status, MPI_Fint *ierr),
        (buf, count, type, dest, tag, src, open, comm, status, ierr),
        OWN(OPEN(src, open)), 1,
        note_exchange(F_Sendrecv_replace, buf, U(count), T(type), *dest, *tag, buf, U(count), T(type), *src, *open, C(comm),
                      OPEN(src, open) ? status_of(status) : NULL))
FORTRAN(wait,
        (MPI_Fint *request, MPI_Fint *status, MPI_Fint *ierr),
        (request, status, ierr),
        status = before_fortran(1, request, status), 1,
        all_done(F_Wait, 1, to_statuses(1, status)))
FORTRAN(waitall,
        (MPI_Fint *count, MPI_Fint *requests, MPI_Fint *statuses, MPI_Fint *ierr),
        (count, requests, statuses, ierr),
        statuses = before_fortran(*count, requests, statuses), 1,
        all_done(F_Waitall, *count, to_statuses(*count, statuses)))
FORTRAN(waitany,
        (MPI_Fint *count, MPI_Fint *requests, MPI_Fint *index, MPI_Fint *status, MPI_Fint *ierr),
        (count, requests, index, status, ierr),
        status = before_fortran(*count, requests, status), 1,
        some_done(F_Waitany, *index != MPI_UNDEFINED, from_one(1, index), to_statuses(1, status)))
FORTRAN(waitsome,
        (MPI_Fint *count, MPI_Fint *requests, MPI_Fint *found, MPI_Fint *indices, MPI_Fint *statuses, MPI_Fint *ierr),
        (count, requests, found, indices, statuses, ierr),
        statuses = before_fortran(*count, requests, statuses), 1,
        some_done(F_Waitsome, *found == MPI_UNDEFINED ? 0 : *found, from_one(*found == MPI_UNDEFINED ? 0 : *found, indices),
                  to_statuses(*found == MPI_UNDEFINED ? 0 : *found, statuses)))
FORTRAN(test,
        (MPI_Fint *request, MPI_Fint *flag, MPI_Fint *status, MPI_Fint *ierr),
        (request, flag, status, ierr),
        status = before_fortran(1, request, status), *flag,
        all_done(F_Test, 1, to_statuses(1, status)))
FORTRAN(testall,
        (MPI_Fint *count, MPI_Fint *requests, MPI_Fint *flag, MPI_Fint *statuses, MPI_Fint *ierr),
        (count, requests, flag, statuses, ierr),
        statuses = before_fortran(*count, requests, statuses), *flag,
        all_done(F_Testall, *count, to_statuses(*count, statuses)))
FORTRAN(testany,
        (MPI_Fint *count, MPI_Fint *requests, MPI_Fint *index, MPI_Fint *flag, MPI_Fint *status, MPI_Fint *ierr),
        (count, requests, index, flag, status, ierr),
        status = before_fortran(*count, requests, status), *flag && *index != MPI_UNDEFINED,
        some_done(F_Testany, 1, from_one(1, index), to_statuses(1, status)))
FORTRAN(testsome,
        (MPI_Fint *count, MPI_Fint *requests, MPI_Fint *found, MPI_Fint *indices, MPI_Fint *statuses, MPI_Fint *ierr),
        (count, requests, found, indices, statuses, ierr),
        statuses = before_fortran(*count, requests, statuses), *found != MPI_UNDEFINED && *found > 0,
        some_done(F_Testsome, *found, from_one(*found, indices), to_statuses(*found, statuses)))
FORTRAN(start, (MPI_Fint *request, MPI_Fint *ierr), (request, ierr), , 1,
        restart(find_request(R(request))))
FORTRAN(startall, (MPI_Fint *count, MPI_Fint *requests, MPI_Fint *ierr), (count, requests, ierr), , 1,
        before_fortran(*count, requests, NULL); restart_all(&span, *count, me->handles))
FORTRAN(request_free, (MPI_Fint *request, MPI_Fint *ierr), (request, ierr), before_fortran(1, request, NULL), 1,
        note_release(slot_at(0)))
FORTRAN(cancel, (MPI_Fint *request, MPI_Fint *ierr), (request, ierr), , 1,
        cancel(find_request(R(request))))
FORTRAN(probe,
        (MPI_Fint *src, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *status, MPI_Fint *ierr),
        (src, tag, comm, status, ierr),
        OWN(1), 1,
        note_probe(F_Probe, comm_of(C(comm))->number, status_of(status)))
FORTRAN(iprobe,
        (MPI_Fint *src, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *flag, MPI_Fint *status, MPI_Fint *ierr),
        (src, tag, comm, flag, status, ierr),
        OWN(1), *flag,
        note_probe(F_Iprobe, comm_of(C(comm))->number, status_of(status)))
FORTRAN(mprobe,
        (MPI_Fint *src, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *message, MPI_Fint *status, MPI_Fint *ierr),
        (src, tag, comm, message, status, ierr),
        OWN(1), 1,
        note_matched(F_Mprobe, C(comm), F2C(Message, *message), status_of(status)))
FORTRAN(improbe,
        (MPI_Fint *src, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *flag, MPI_Fint *message, MPI_Fint *status, MPI_Fint *ierr),
        (src, tag, comm, flag, message, status, ierr),
        OWN(1), *flag,
        note_matched(F_Improbe, C(comm), F2C(Message, *message), status_of(status)))
FORTRAN(mrecv,
        (void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *message, MPI_Fint *status, MPI_Fint *ierr),
        (buf, count, type, message, status, ierr),
        MPI_Message handle = F2C(Message, *message), 1,
        note_mrecv(handle, buf, U(count), T(type)))
FORTRAN(imrecv,
        (void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *message, MPI_Fint *request, MPI_Fint *ierr),
        (buf, count, type, message, request, ierr),
        MPI_Message handle = F2C(Message, *message), 1,
        note_imrecv(handle, buf, U(count), T(type), R(request)))
#include "fortran_all.h"
FORTRAN(comm_dup, (MPI_Fint *comm, MPI_Fint *made, MPI_Fint *ierr), (comm, made, ierr), , 1,
        note_comm(F_Comm_dup, C(comm), F2C(Comm, *made), 0))
FORTRAN(comm_create, (MPI_Fint *comm, MPI_Fint *group, MPI_Fint *made, MPI_Fint *ierr), (comm, group, made, ierr), , 1,
        note_comm(F_Comm_create, C(comm), F2C(Comm, *made), 0))
FORTRAN(comm_create_group,
        (MPI_Fint *comm, MPI_Fint *group, MPI_Fint *tag, MPI_Fint *made, MPI_Fint *ierr),
        (comm, group, tag, made, ierr),
        , 1,
        note_comm(F_Comm_create_group, C(comm), F2C(Comm, *made), 2))
FORTRAN(comm_split,
        (MPI_Fint *comm, MPI_Fint *colour, MPI_Fint *key, MPI_Fint *made, MPI_Fint *ierr),
        (comm, colour, key, made, ierr),
        , 1,
        note_comm(F_Comm_split, C(comm), F2C(Comm, *made), 1))
FORTRAN(comm_split_type,
        (MPI_Fint *comm, MPI_Fint *type, MPI_Fint *key, MPI_Fint *info, MPI_Fint *made, MPI_Fint *ierr),
        (comm, type, key, info, made, ierr),
        , 1,
        note_comm(F_Comm_split_type, C(comm), F2C(Comm, *made), 1))
FORTRAN(cart_create,
        (MPI_Fint *comm, MPI_Fint *n, MPI_Fint *dims, MPI_Fint *periods, MPI_Fint *reorder, MPI_Fint *made, MPI_Fint *ierr),
        (comm, n, dims, periods, reorder, made, ierr),
        , 1,
        note_comm(F_Cart_create, C(comm), F2C(Comm, *made), 0))
FORTRAN(cart_sub, (MPI_Fint *comm, MPI_Fint *remain, MPI_Fint *made, MPI_Fint *ierr), (comm, remain, made, ierr), , 1,
        note_comm(F_Cart_sub, C(comm), F2C(Comm, *made), 0))
FORTRAN(graph_create,
        (MPI_Fint *comm, MPI_Fint *n, MPI_Fint *index, MPI_Fint *edges, MPI_Fint *reorder, MPI_Fint *made, MPI_Fint *ierr),
        (comm, n, index, edges, reorder, made, ierr),
        , 1,
        note_comm(F_Graph_create, C(comm), F2C(Comm, *made), 0))
FORTRAN(dist_graph_create_adjacent,
        (MPI_Fint *comm, MPI_Fint *in, MPI_Fint *sources, MPI_Fint *weights, MPI_Fint *out, MPI_Fint *destinations, MPI_Fint *others, MPI_Fint *info, MPI_Fint *reorder, MPI_Fint *made, MPI_Fint *ierr),
        (comm, in, sources, weights, out, destinations, others, info, reorder, made, ierr),
        , 1,
        note_comm(F_Dist_graph_create_adjacent, C(comm), F2C(Comm, *made), 0))
FORTRAN(comm_free, (MPI_Fint *comm, MPI_Fint *ierr), (comm, ierr), int number = number_before(C(comm)), 1,
        note_free(F_Comm_free, number))
FORTRAN(comm_disconnect, (MPI_Fint *comm, MPI_Fint *ierr), (comm, ierr), int number = number_before(C(comm)), 1,
        note_free(F_Comm_disconnect, number))
FORTRAN(neighbor_allgather,
        (void *from_, MPI_Fint *count, MPI_Fint *type, void *to, MPI_Fint *room, MPI_Fint *other, MPI_Fint *comm, MPI_Fint *ierr),
        (from_, count, type, to, room, other, comm, ierr),
        , 1,
        note_near(F_Neighbor_allgather, C(comm), U(count) * type_size(T(type)), NULL))
FORTRAN(neighbor_alltoall,
        (void *from_, MPI_Fint *count, MPI_Fint *type, void *to, MPI_Fint *room, MPI_Fint *other, MPI_Fint *comm, MPI_Fint *ierr),
        (from_, count, type, to, room, other, comm, ierr),
        , 1,
        note_near(F_Neighbor_alltoall, C(comm), U(count) * type_size(T(type)), NULL))
FORTRAN(neighbor_allgatherv,
        (void *from_, MPI_Fint *count, MPI_Fint *type, void *to, MPI_Fint *rooms, MPI_Fint *displs, MPI_Fint *other, MPI_Fint *comm, MPI_Fint *ierr),
        (from_, count, type, to, rooms, displs, other, comm, ierr),
        , 1,
        note_near(F_Neighbor_allgatherv, C(comm), U(count) * type_size(T(type)), NULL))

/* Defines a Fortran function that cannot be replayed and ends the trace. */
#define FORTRAN_REFUSED(name, F_name, parameters, arguments)                                                             \
    void mpi_##name##_ parameters                                                                                        \
    {                                                                                                                    \
        find_mpi();                                                                                                      \
        refuse_call(F_name, "mpi_" #name " is called, which cannot be replayed");                                        \
        depth++;                                                                                                         \
        REAL_FORTRAN(name, parameters) arguments;                                                                        \
        depth--;                                                                                                         \
    }                                                                                                                    \
    NAMES(name)
FORTRAN_REFUSED(comm_idup, F_Comm_idup, (MPI_Fint *comm, MPI_Fint *made, MPI_Fint *request, MPI_Fint *ierr),
                (comm, made, request, ierr))
FORTRAN_REFUSED(intercomm_create, F_Intercomm_create, (MPI_Fint *comm, MPI_Fint *leader, MPI_Fint *peers, MPI_Fint *remote, MPI_Fint *tag, MPI_Fint *made, MPI_Fint *ierr),
                (comm, leader, peers, remote, tag, made, ierr))
FORTRAN_REFUSED(win_create, F_Win_create, (void *buf, MPI_Fint *size, MPI_Fint *unit, MPI_Fint *info, MPI_Fint *comm, MPI_Fint *win, MPI_Fint *ierr),
                (buf, size, unit, info, comm, win, ierr))
FORTRAN_REFUSED(win_allocate, F_Win_allocate, (MPI_Fint *size, MPI_Fint *unit, MPI_Fint *info, MPI_Fint *comm, void *buf, MPI_Fint *win, MPI_Fint *ierr),
                (size, unit, info, comm, buf, win, ierr))
FORTRAN_REFUSED(win_allocate_shared, F_Win_allocate_shared, (MPI_Fint *size, MPI_Fint *unit, MPI_Fint *info, MPI_Fint *comm, void *buf, MPI_Fint *win, MPI_Fint *ierr),
                (size, unit, info, comm, buf, win, ierr))
FORTRAN_REFUSED(win_create_dynamic, F_Win_create_dynamic, (MPI_Fint *info, MPI_Fint *comm, MPI_Fint *win, MPI_Fint *ierr),
                (info, comm, win, ierr))

void mpi_init_(MPI_Fint *ierr)
{
    start_mpi();
    depth++;
    REAL_FORTRAN(init, (MPI_Fint *))(ierr);
    if (depth == 1)
        begin_after_init((int)*ierr);
    depth--;
}
NAMES(init)

void mpi_init_thread_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierr)
{
    start_mpi();
    depth++;
    REAL_FORTRAN(init_thread, (MPI_Fint *, MPI_Fint *, MPI_Fint *))(required, provided, ierr);
    if (depth == 1)
        begin_after_init((int)*ierr);
    depth--;
}
NAMES(init_thread)

void mpi_finalize_(MPI_Fint *ierr)
{
    find_mpi();
    if (depth == 0)
        before_finalize();
    depth++;
    REAL_FORTRAN(finalize, (MPI_Fint *))(ierr);
    depth--;
}
NAMES(finalize)

void mpi_abort_(MPI_Fint *comm, MPI_Fint *code, MPI_Fint *ierr)
{
    find_mpi();
    before_abort();
    REAL_FORTRAN(abort, (MPI_Fint *, MPI_Fint *, MPI_Fint *))(comm, code, ierr);
}
NAMES(abort)

void mpi_pcontrol_(MPI_Fint *level)
{
    find_mpi();
    control((int)*level);
    REAL(Pcontrol)((int)*level);
}
NAMES(pcontrol)
