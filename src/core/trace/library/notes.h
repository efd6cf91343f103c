/* Records of each kind of call. Peers are ranks of their communicator; MPI_PROC_NULL is -1, any source is -2. */

static int64_t peer_of(int rank)
{
    return rank == MPI_PROC_NULL ? -1 : rank == MPI_ANY_SOURCE ? -2 : rank;
}

static int64_t tag_of(int tag)
{
    return tag == MPI_ANY_TAG ? -1 : tag;
}

static void op_message(const void *buffer, uint64_t count, MPI_Datatype type, int peer, int tag, int comm)
{
    uint64_t size = type_size(type);
    op_put((uint64_t)comm);
    op_signed(peer_of(peer));
    op_signed(tag_of(tag));
    op_put(count * size);
    op_buffer(buffer, count, type, size);
}

static void note_message(int function, const void *buffer, uint64_t count, MPI_Datatype type, int peer, int tag,
                         MPI_Comm comm)
{
    op_begin(function);
    op_message(buffer, count, type, peer, tag, comm_of(comm)->number);
}

static void op_started(int slot)
{
    struct request *one = &slots[slot];
    op_begin(one->function);
    op_put((uint64_t)slot);
    op_message(one->buffer, one->count, one->type, one->peer, one->tag, one->comm);
}

static int new_message(int function, const void *buffer, uint64_t count, MPI_Datatype type, int peer, int tag, int comm,
                       MPI_Request request, int receives)
{
    int slot = add_request(request);
    struct request *one = &slots[slot];
    one->function = function, one->buffer = buffer, one->count = count, one->type = type;
    one->peer = peer, one->tag = tag, one->comm = comm, one->receives = (char)receives;
    return slot;
}

static void open_ends(struct request *one)
{
    one->wild = one->receives && (one->peer == MPI_ANY_SOURCE || one->tag == MPI_ANY_TAG) && one->peer != MPI_PROC_NULL;
    wild_pending += one->wild;
}

static void note_start(int function, const void *buffer, uint64_t count, MPI_Datatype type, int peer, int tag,
                       MPI_Comm comm, MPI_Request request, int receives)
{
    int slot =
        new_message(function, buffer, count, type, peer, tag, comm_of(comm)->number, request, receives);
    open_ends(&slots[slot]);
    op_started(slot);
}

/* Stores a persistent request, which the program may start later, any number of times. */
static void persistent(int function, const void *buffer, uint64_t count, MPI_Datatype type, int peer, int tag,
                       MPI_Comm comm, MPI_Request request, int receives)
{
    int slot = new_message(function, buffer, count, type, peer, tag, comm_of(comm)->number, request, receives);
    slots[slot].persistent = 1;
    slots[slot].started = 0;
}

/* Records a further start of a persistent request. */
static void restart(int slot)
{
    op_begin(F_Start);
    if (slot < 0) {
        refuse(F_request, "the program starts a persistent request that was created in a way that is not recorded");
        return;
    }
    slots[slot].started = 1;
    slots[slot].recorded = (char)(active && allowed);
    open_ends(&slots[slot]);
    op_started(slot);
}

/* Records a receive. If its source or tag is open, the source and tag of the message are taken from the status. */
static void note_received(int function, const void *buffer, uint64_t count, MPI_Datatype type, int source, int tag,
                          MPI_Comm comm, const MPI_Status *status)
{
    if (source == MPI_PROC_NULL || !status)
        note_message(function, buffer, count, type, source, tag == MPI_ANY_TAG ? 0 : tag, comm);
    else
        note_message(function, buffer, count, type, status->MPI_SOURCE, status->MPI_TAG, comm);
}

static int is_open(int source, int tag)
{
    return source == MPI_ANY_SOURCE || tag == MPI_ANY_TAG;
}

static void note_probe(int function, int comm, const MPI_Status *status)
{
    op_begin(function);
    op_put((uint64_t)comm);
    op_signed(peer_of(status->MPI_SOURCE));
    op_signed(tag_of(status->MPI_TAG));
}

/* Records the receive of a message that a probe matched. */
static void note_mrecv(MPI_Message handle, const void *buffer, uint64_t count, MPI_Datatype type)
{
    struct message one = take_message(handle);
    op_begin(F_Mrecv);
    op_message(buffer, count, type, one.source, one.tag, one.comm);
}

static void note_imrecv(MPI_Message handle, const void *buffer, uint64_t count, MPI_Datatype type, MPI_Request request)
{
    struct message one = take_message(handle);
    op_started(new_message(F_Imrecv, buffer, count, type, one.source, one.tag, one.comm, request, 1));
}

/* Appends the arguments of a collective: the request's slot plus one (or 0), communicator, root, and twice the size of
 * an element in bytes, plus one if contributions are combined in order of ranks. */
static void op_collective(int function, MPI_Comm comm, int root, uint64_t element, int in_order, MPI_Request *request)
{
    int slot = -1;
    if (request)
        slot = add_request(*request);
    op_begin(function);
    op_put((uint64_t)(slot + 1));
    op_put((uint64_t)comm_of(comm)->number);
    op_put((uint64_t)root);
    op_put(element << 1 | (uint64_t)in_order);
}

/* Appends a single size, which is that of all ranks. */
static void op_same(const void *buffer, uint64_t count, MPI_Datatype type)
{
    uint64_t size = type_size(type);
    op_put(0);
    op_put(count * size);
    op_buffer(buffer, count, type, size);
}

static int in_order(MPI_Op operation)
{
    int commutes = 1;
    REAL(Op_commutative)(operation, &commutes);
    return !commutes;
}

static void note_exchange(int function, const void *sent, uint64_t count, MPI_Datatype type, int to, int tag,
                          const void *received, uint64_t room, MPI_Datatype other, int from, int open, MPI_Comm comm,
                          const MPI_Status *status)
{
    int number = comm_of(comm)->number, known = from == MPI_PROC_NULL || !is_open(from, open);
    op_begin(function);
    op_message(sent, count, type, to, tag, number);
    op_message(received, room, other, known ? from : status->MPI_SOURCE,
               known ? open == MPI_ANY_TAG ? 0 : open : status->MPI_TAG, number);
}

static int is_root(MPI_Comm comm, int root)
{
    int rank = 0;
    REAL(Comm_rank)(comm, &rank);
    return rank == root;
}

static void op_rest_of_list(const void *buffer)
{
    op_put(buffer_number(buffer));
    op_put(0);
}

/* Neighbours of a rank in its topology. */
struct near {
    int sources, destinations;
    int *source, *destination;
};

static struct near near_of(MPI_Comm comm)
{
    static int *ranks, room;
    struct near near = {0, 0, NULL, NULL};
    int kind = MPI_UNDEFINED, dims = 0, nodes = 0, rank = 0, weighted = 0;
    REAL(Topo_test)(comm, &kind);
    REAL(Comm_rank)(comm, &rank);
    if (kind == MPI_CART) {
        REAL(Cartdim_get)(comm, &dims);
        near.sources = near.destinations = 2 * dims;
    } else if (kind == MPI_GRAPH) {
        REAL(Graph_neighbors_count)(comm, rank, &nodes);
        near.sources = near.destinations = nodes;
    } else if (kind == MPI_DIST_GRAPH) {
        REAL(Dist_graph_neighbors_count)(comm, &near.sources, &near.destinations, &weighted);
    }
    if (near.sources + near.destinations > room) {
        room = near.sources + near.destinations;
        ranks = realloc(ranks, sizeof(int) * 3 * (size_t)room);
        if (!ranks)
            abort();
    }
    near.source = ranks, near.destination = ranks + near.sources;
    if (kind == MPI_CART)
        for (int dim = 0; dim < dims; dim++) {
            REAL(Cart_shift)(comm, dim, 1, &near.source[2 * dim], &near.source[2 * dim + 1]);
            near.destination[2 * dim] = near.source[2 * dim];
            near.destination[2 * dim + 1] = near.source[2 * dim + 1];
        }
    else if (kind == MPI_GRAPH) {
        REAL(Graph_neighbors)(comm, rank, nodes, near.source);
        memcpy(near.destination, near.source, sizeof(int) * (size_t)nodes);
    } else if (kind == MPI_DIST_GRAPH) {
        int *weights = ranks + near.sources + near.destinations;
        REAL(Dist_graph_neighbors)(comm, near.sources, near.source, weights, near.destinations, near.destination, weights);
    }
    return near;
}

/* Records a neighbourhood collective with one size for all neighbours (`same`), or one size per neighbour (`sizes`). */
static void note_near(int function, MPI_Comm comm, uint64_t same, const uint64_t *sizes)
{
    struct near near = near_of(comm);
    op_begin(function);
    op_put((uint64_t)comm_of(comm)->number);
    op_put((uint64_t)near.sources);
    for (int at = 0; at < near.sources; at++)
        op_signed(peer_of(near.source[at]));
    op_put((uint64_t)near.destinations);
    for (int at = 0; at < near.destinations; at++) {
        op_signed(peer_of(near.destination[at]));
        op_put(sizes ? sizes[at] : same);
    }
}
