/* Functions with counts. The macro N forms the name of an MPI function, P that of the profiling interface. COUNT is the
 * type of counts, DISPL the type of displacements. This file is included once for int and, if the MPI library has large
 * counts, once more for these. */

#define WRAP_SEND(name)                                                                                                  \
    int N(name)(const void *buffer, COUNT count, MPI_Datatype type, int to, int tag, MPI_Comm comm)                      \
    {                                                                                                                    \
        DO(P(name)(buffer, count, type, to, tag, comm),                                                                  \
           note_message(F_##name, buffer, (uint64_t)count, type, to, tag, comm))                                         \
        return result;                                                                                                   \
    }
WRAP_SEND(Send)
WRAP_SEND(Bsend)
WRAP_SEND(Ssend)
WRAP_SEND(Rsend)

#define WRAP_ISEND(name)                                                                                          \
    int N(name)(const void *buffer, COUNT count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)\
    {                                                                                                                    \
        DO(P(name)(buffer, count, type, to, tag, comm, request),                                                         \
           note_start(F_##name, buffer, (uint64_t)count, type, to, tag, comm, *request, 0))                              \
        return result;                                                                                                   \
    }
WRAP_ISEND(Isend)
WRAP_ISEND(Ibsend)
WRAP_ISEND(Issend)
WRAP_ISEND(Irsend)

/* Persistent requests are recorded when they are started. */
#define WRAP_SEND_INIT(name, function)                                                                                   \
    int N(name)(const void *buffer, COUNT count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)\
    {                                                                                                                    \
        SILENT(P(name)(buffer, count, type, to, tag, comm, request),                                                     \
               persistent(F_##function, buffer, (uint64_t)count, type, to, tag, comm, *request, 0))                      \
        return result;                                                                                                   \
    }
WRAP_SEND_INIT(Send_init, Isend)
WRAP_SEND_INIT(Bsend_init, Ibsend)
WRAP_SEND_INIT(Ssend_init, Issend)
WRAP_SEND_INIT(Rsend_init, Irsend)

int N(Recv_init)(void *buffer, COUNT count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
    SILENT(P(Recv_init)(buffer, count, type, from, tag, comm, request),
           persistent(F_Irecv, buffer, (uint64_t)count, type, from, tag, comm, *request, 1))
    return result;
}

int N(Recv)(void *buffer, COUNT count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own;
    if (status == MPI_STATUS_IGNORE && is_open(from, tag))
        status = &own;
    DO(P(Recv)(buffer, count, type, from, tag, comm, status),
       note_received(F_Recv, buffer, (uint64_t)count, type, from, tag, comm, is_open(from, tag) ? status : NULL))
    return result;
}

int N(Irecv)(void *buffer, COUNT count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
    DO(P(Irecv)(buffer, count, type, from, tag, comm, request),
       note_start(F_Irecv, buffer, (uint64_t)count, type, from, tag, comm, *request, 1))
    return result;
}

int N(Mrecv)(void *buffer, COUNT count, MPI_Datatype type, MPI_Message *message, MPI_Status *status)
{
    MPI_Message handle = *message;
    DO(P(Mrecv)(buffer, count, type, message, status), note_mrecv(handle, buffer, (uint64_t)count, type))
    return result;
}

int N(Imrecv)(void *buffer, COUNT count, MPI_Datatype type, MPI_Message *message, MPI_Request *request)
{
    MPI_Message handle = *message;
    DO(P(Imrecv)(buffer, count, type, message, request), note_imrecv(handle, buffer, (uint64_t)count, type, *request))
    return result;
}

int N(Sendrecv)(const void *sent, COUNT count, MPI_Datatype type, int to, int tag, void *received, COUNT room,
                MPI_Datatype other, int from, int open, MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own;
    if (status == MPI_STATUS_IGNORE && is_open(from, open))
        status = &own;
    DO(P(Sendrecv)(sent, count, type, to, tag, received, room, other, from, open, comm, status),
       note_exchange(F_Sendrecv, sent, (uint64_t)count, type, to, tag, received, (uint64_t)room, other, from, open, comm,
                     status))
    return result;
}

int N(Sendrecv_replace)(void *buffer, COUNT count, MPI_Datatype type, int to, int tag, int from, int open, MPI_Comm comm,
                        MPI_Status *status)
{
    MPI_Status own;
    if (status == MPI_STATUS_IGNORE && is_open(from, open))
        status = &own;
    DO(P(Sendrecv_replace)(buffer, count, type, to, tag, from, open, comm, status),
       note_exchange(F_Sendrecv_replace, buffer, (uint64_t)count, type, to, tag, buffer, (uint64_t)count, type, from, open,
                     comm, status))
    return result;
}

/* Defines a blocking and a non-blocking collective by parameters, arguments, root, size of an element, whether
 * contributions are combined in order of ranks, and form of the sizes in the log. */
#define STRIP(...) __VA_ARGS__
#define WRAP_BOTH(name, iname, parameters, arguments, root, element, ordered, sizes)                                     \
    int N(name)(STRIP parameters)                                                                                        \
    {                                                                                                                    \
        DO(P(name)(STRIP arguments), {                                                                                   \
            op_collective(F_##name, comm, root, element, ordered, NULL);                                                 \
            sizes;                                                                                                       \
        })                                                                                                               \
        return result;                                                                                                   \
    }                                                                                                                    \
    int N(iname)(STRIP parameters, MPI_Request *request)                                                                 \
    {                                                                                                                    \
        DO(P(iname)(STRIP arguments, request), {                                                                         \
            op_collective(F_##iname, comm, root, element, ordered, request);                                             \
            sizes;                                                                                                       \
        })                                                                                                               \
        return result;                                                                                                   \
    }

#define SAME(buffer, count, type) op_same(buffer, (uint64_t)(count), type)
#define IS_ROOT (is_root(comm, root))

WRAP_BOTH(Bcast, Ibcast, (void *buffer, COUNT count, MPI_Datatype type, int root, MPI_Comm comm),
          (buffer, count, type, root, comm), root, 1, 0, SAME(buffer, count, type))
WRAP_BOTH(Reduce, Ireduce,
          (const void *from, void *to, COUNT count, MPI_Datatype type, MPI_Op with, int root, MPI_Comm comm),
          (from, to, count, type, with, root, comm), root, type_size(type), in_order(with), SAME(from, count, type))
WRAP_BOTH(Allreduce, Iallreduce,
          (const void *from, void *to, COUNT count, MPI_Datatype type, MPI_Op with, MPI_Comm comm),
          (from, to, count, type, with, comm), 0, type_size(type), in_order(with), SAME(to, count, type))
WRAP_BOTH(Scan, Iscan, (const void *from, void *to, COUNT count, MPI_Datatype type, MPI_Op with, MPI_Comm comm),
          (from, to, count, type, with, comm), 0, type_size(type), in_order(with), SAME(to, count, type))
WRAP_BOTH(Exscan, Iexscan, (const void *from, void *to, COUNT count, MPI_Datatype type, MPI_Op with, MPI_Comm comm),
          (from, to, count, type, with, comm), 0, type_size(type), in_order(with), SAME(to, count, type))
WRAP_BOTH(Gather, Igather,
          (const void *from, COUNT count, MPI_Datatype type, void *to, COUNT room, MPI_Datatype other, int root,
           MPI_Comm comm),
          (from, count, type, to, room, other, root, comm), root, 1, 0,
          if (IS_ROOT) SAME(to, room, other); else SAME(from, count, type))
WRAP_BOTH(Gatherv, Igatherv,
          (const void *from, COUNT count, MPI_Datatype type, void *to, const COUNT *rooms, const DISPL *displs,
           MPI_Datatype other, int root, MPI_Comm comm),
          (from, count, type, to, rooms, displs, other, root, comm), root, 1, 0,
          if (IS_ROOT) N_(op_list)(to, rooms, other, comm); else SAME(from, count, type))
WRAP_BOTH(Scatter, Iscatter,
          (const void *from, COUNT count, MPI_Datatype type, void *to, COUNT room, MPI_Datatype other, int root,
           MPI_Comm comm),
          (from, count, type, to, room, other, root, comm), root, 1, 0,
          if (IS_ROOT) SAME(from, count, type); else SAME(to, room, other))
WRAP_BOTH(Scatterv, Iscatterv,
          (const void *from, const COUNT *counts, const DISPL *displs, MPI_Datatype type, void *to, COUNT room,
           MPI_Datatype other, int root, MPI_Comm comm),
          (from, counts, displs, type, to, room, other, root, comm), root, 1, 0,
          if (IS_ROOT) N_(op_list)(from, counts, type, comm); else SAME(to, room, other))
WRAP_BOTH(Allgather, Iallgather,
          (const void *from, COUNT count, MPI_Datatype type, void *to, COUNT room, MPI_Datatype other, MPI_Comm comm),
          (from, count, type, to, room, other, comm), 0, 1, 0, SAME(to, room, other))
WRAP_BOTH(Allgatherv, Iallgatherv,
          (const void *from, COUNT count, MPI_Datatype type, void *to, const COUNT *rooms, const DISPL *displs,
           MPI_Datatype other, MPI_Comm comm),
          (from, count, type, to, rooms, displs, other, comm), 0, 1, 0, N_(op_list)(to, rooms, other, comm))
WRAP_BOTH(Alltoall, Ialltoall,
          (const void *from, COUNT count, MPI_Datatype type, void *to, COUNT room, MPI_Datatype other, MPI_Comm comm),
          (from, count, type, to, room, other, comm), 0, 1, 0,
          if (from == MPI_IN_PLACE) SAME(to, room, other); else SAME(from, count, type))
WRAP_BOTH(Alltoallv, Ialltoallv,
          (const void *from, const COUNT *counts, const DISPL *at, MPI_Datatype type, void *to, const COUNT *rooms,
           const DISPL *displs, MPI_Datatype other, MPI_Comm comm),
          (from, counts, at, type, to, rooms, displs, other, comm), 0, 1, 0,
          if (from == MPI_IN_PLACE) N_(op_list)(to, rooms, other, comm); else N_(op_list)(from, counts, type, comm))
WRAP_BOTH(Alltoallw, Ialltoallw,
          (const void *from, const COUNT *counts, const DISPL *at, const MPI_Datatype *types, void *to,
           const COUNT *rooms, const DISPL *displs, const MPI_Datatype *others, MPI_Comm comm),
          (from, counts, at, types, to, rooms, displs, others, comm), 0, 1, 0,
          if (from == MPI_IN_PLACE) N_(op_mixed)(rooms, others, comm); else N_(op_mixed)(counts, types, comm))
WRAP_BOTH(Reduce_scatter, Ireduce_scatter,
          (const void *from, void *to, const COUNT *counts, MPI_Datatype type, MPI_Op with, MPI_Comm comm),
          (from, to, counts, type, with, comm), 0, type_size(type), in_order(with),
          N_(op_list)(to, counts, type, comm))
WRAP_BOTH(Reduce_scatter_block, Ireduce_scatter_block,
          (const void *from, void *to, COUNT count, MPI_Datatype type, MPI_Op with, MPI_Comm comm),
          (from, to, count, type, with, comm), 0, type_size(type), in_order(with), SAME(to, count, type))

/* Neighbourhood collectives are recorded with the neighbours and the size for each neighbour. */
int N(Neighbor_allgather)(const void *from, COUNT count, MPI_Datatype type, void *to, COUNT room, MPI_Datatype other,
                          MPI_Comm comm)
{
    DO(P(Neighbor_allgather)(from, count, type, to, room, other, comm),
       note_near(F_Neighbor_allgather, comm, (uint64_t)count * type_size(type), NULL))
    return result;
}

int N(Neighbor_allgatherv)(const void *from, COUNT count, MPI_Datatype type, void *to, const COUNT *rooms,
                           const DISPL *displs, MPI_Datatype other, MPI_Comm comm)
{
    DO(P(Neighbor_allgatherv)(from, count, type, to, rooms, displs, other, comm),
       note_near(F_Neighbor_allgatherv, comm, (uint64_t)count * type_size(type), NULL))
    return result;
}

int N(Neighbor_alltoall)(const void *from, COUNT count, MPI_Datatype type, void *to, COUNT room, MPI_Datatype other,
                         MPI_Comm comm)
{
    DO(P(Neighbor_alltoall)(from, count, type, to, room, other, comm),
       note_near(F_Neighbor_alltoall, comm, (uint64_t)count * type_size(type), NULL))
    return result;
}

int N(Neighbor_alltoallv)(const void *from, const COUNT *counts, const DISPL *at, MPI_Datatype type, void *to,
                          const COUNT *rooms, const DISPL *displs, MPI_Datatype other, MPI_Comm comm)
{
    DO(P(Neighbor_alltoallv)(from, counts, at, type, to, rooms, displs, other, comm), {
        struct near near = near_of(comm);
        uint64_t *sizes = malloc(sizeof *sizes * (size_t)(near.destinations + 1));
        if (!sizes)
            abort();
        for (int block = 0; block < near.destinations; block++)
            sizes[block] = (uint64_t)counts[block] * type_size(type);
        note_near(F_Neighbor_alltoallv, comm, 0, sizes);
        free(sizes);
    })
    return result;
}

#undef WRAP_SEND
#undef WRAP_ISEND
#undef WRAP_SEND_INIT
#undef WRAP_BOTH
#undef STRIP
#undef SAME
#undef IS_ROOT
