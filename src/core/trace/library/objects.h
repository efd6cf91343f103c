/* Numbers of communicators, requests, messages and buffers in logs. */

struct comm {
    MPI_Comm handle;
    int number, ranks;
};

static struct comm *comms;
static int comm_count, comm_room, comm_next, comm_last;
static MPI_Group world_group;

/* Communicators with equal members are numbered in the order of their creation, which is the same at all members. */
static struct made {
    uint64_t members; /* Checksum of the communicator's members. */
    int count;
} *kinds;
static int kind_count, kind_room;

static int how_manieth(const int *ranks, int size)
{
    uint64_t members = checksum((const unsigned char *)ranks, sizeof *ranks * (size_t)size);
    for (int at = 0; at < kind_count; at++)
        if (kinds[at].members == members)
            return ++kinds[at].count;
    if (kind_count == kind_room) {
        kind_room = kind_room ? 2 * kind_room : 16;
        kinds = realloc(kinds, sizeof *kinds * (size_t)kind_room);
        if (!kinds)
            abort();
    }
    kinds[kind_count++] = (struct made){members, 1};
    return 1;
}

static void add_comm(MPI_Comm handle, int number, int ranks)
{
    /* The handle may be that of a communicator that another thread is freeing. */
    for (int at = 0; at < comm_count; at++)
        if (comms[at].handle == handle)
            comms[at].handle = MPI_COMM_NULL;
    if (comm_count == comm_room) {
        comm_room = comm_room ? 2 * comm_room : 16;
        comms = realloc(comms, sizeof *comms * (size_t)comm_room);
        if (!comms)
            abort();
    }
    comms[comm_count++] = (struct comm){handle, number, ranks};
}

static void refuse_comm(void)
{
    refuse(F_communicator, "the program uses a communicator that was created in a way that is not recorded");
}

static struct comm *comm_of(MPI_Comm handle)
{
    if (comm_last < comm_count && comms[comm_last].handle == handle)
        return &comms[comm_last];
    for (int at = comm_count - 1; at >= 0; at--)
        if (comms[at].handle == handle)
            return &comms[comm_last = at];
    static struct comm none;
    refuse_comm();
    return &none;
}

static void drop_comm(int number)
{
    for (int at = 0; at < comm_count; at++)
        if (comms[at].number == number) {
            comms[at] = comms[--comm_count];
            return;
        }
}

/* Records the communicator `made`, which all members of `from` created. `telling` is the kind of data that members
 * exchanged: 0 one number among all members, 1 three numbers per member, 2 one number among the new members, 3 no data.
 * Kind 3 is a communicator that is created while recording is off and may be used later. */
static void note_comm(int function, MPI_Comm from, MPI_Comm made, int telling)
{
    int inter = 0, size = 0, parent = comm_of(from)->number;
    if (!allowed)
        telling = 3;
    if (made == MPI_COMM_NULL) {
        op_begin(function);
        op_put((uint64_t)parent);
        op_put((uint64_t)telling);
        op_put(0);
        return;
    }
    REAL(Comm_test_inter)(made, &inter);
    REAL(Comm_size)(made, &size);
    if (inter) {
        refuse(F_Intercomm_create, "the program creates an intercommunicator, which cannot be replayed");
        return;
    }
    MPI_Group group;
    int *ranks = malloc(sizeof(int) * 2 * (size_t)size);
    if (!ranks)
        abort();
    REAL(Comm_group)(made, &group);
    for (int rank = 0; rank < size; rank++)
        ranks[rank] = rank;
    REAL(Group_translate_ranks)(group, size, ranks, world_group, ranks + size);
    REAL(Group_free)(&group);
    ranks += size;
    add_comm(made, comm_next, size);
    op_begin(function);
    op_put((uint64_t)parent);
    op_put((uint64_t)telling);
    op_put((uint64_t)++comm_next); /* Number of the new communicator plus one. */
    op_put((uint64_t)ranks[0]);
    op_put((uint64_t)how_manieth(ranks, size));
    op_put((uint64_t)size);
    int step = size > 1 ? ranks[1] - ranks[0] : 1, even = step > 0;
    for (int rank = 1; rank < size; rank++)
        even = even && ranks[rank] - ranks[rank - 1] == step;
    op_put(even ? (uint64_t)step : 0);
    for (int rank = 0; rank < (even ? 1 : size); rank++)
        op_put((uint64_t)ranks[rank]);
    free(ranks - size);
    if (!allowed)
        record_always(0, 0, 0, flushed_at);
}

/* Greatest number of buffers that get numbers. Buffers are numbered in the order of their first use; further buffers
 * have number 0. */
enum { BUFFERS = 1 << 13 };

static uint64_t buffer_number(const void *address)
{
    static struct {
        const void *address;
        uint64_t number;
    } buffers[BUFFERS];
    static uint64_t count;
    if (!address || address == MPI_BOTTOM || address == MPI_IN_PLACE)
        return 0;
    uint64_t place = ((uintptr_t)address * 0x9e3779b97f4a7c15u) >> 51;
    for (;; place = (place + 1) % BUFFERS) {
        if (buffers[place].address == address)
            return buffers[place].number;
        if (!buffers[place].address) {
            if (count >= BUFFERS / 2)
                return 0;
            buffers[place].address = address;
            return buffers[place].number = ++count;
        }
    }
}

static uint64_t type_size(MPI_Datatype type)
{
    int size = 0;
    REAL(Type_size)(type, &size);
    return (uint64_t)size;
}

/* Appends the number of the buffer, and its extent if the extent differs from the size of the data. */
static void op_buffer(const void *address, uint64_t count, MPI_Datatype type, uint64_t size)
{
    MPI_Aint lower = 0, extent = 0;
    REAL(Type_get_extent)(type, &lower, &extent);
    op_put(buffer_number(address));
    op_put((uint64_t)extent == size ? 0 : count * (uint64_t)extent);
}

/* A request of the program. Its index is its slot, the lowest free one. */
struct request {
    MPI_Request handle;
    int next;           /* Next slot in the same hash chain, plus one. */
    char there, started, persistent, receives, wild, recorded, cancelled;
    int function, peer, tag, comm;
    const void *buffer;
    uint64_t count;
    MPI_Datatype type;
};

enum { CHAINS = 1 << 12 };
static struct request *slots;
static int slot_room, slot_first, chains[CHAINS], wild_pending;

static unsigned chain_of(MPI_Request handle)
{
    uint64_t number = 0;
    memcpy(&number, &handle, sizeof handle);
    return (unsigned)((number * 0x9e3779b97f4a7c15u) >> 52);
}

static int add_request(MPI_Request handle)
{
    while (slot_first < slot_room && slots[slot_first].there)
        slot_first++;
    if (slot_first == slot_room) {
        int room = slot_room ? 2 * slot_room : 256;
        slots = realloc(slots, sizeof *slots * (size_t)room);
        if (!slots)
            abort();
        memset(slots + slot_room, 0, sizeof *slots * (size_t)(room - slot_room));
        slot_room = room;
    }
    int slot = slot_first;
    unsigned chain = chain_of(handle);
    slots[slot] = (struct request){.handle = handle, .there = 1, .started = 1, .next = chains[chain]};
    slots[slot].recorded = (char)(active && allowed);
    chains[chain] = slot + 1;
    return slot;
}

static int find_request(MPI_Request handle)
{
    if (handle == MPI_REQUEST_NULL)
        return -1;
    int at = chains[chain_of(handle)];
    while (at && slots[at - 1].handle != handle)
        at = slots[at - 1].next;
    return at - 1;
}

static void drop_request(int slot)
{
    int *at = &chains[chain_of(slots[slot].handle)];
    while (*at != slot + 1)
        at = &slots[*at - 1].next;
    *at = slots[slot].next;
    slots[slot].there = 0;
    if (slot < slot_first)
        slot_first = slot;
}

/* Completions of a wait: `done` contains slots, `got` the messages of receives with an open source or tag. */
static int *done, *got;
static int done_count, got_count, done_room;

static void done_begin(int most)
{
    if (most > done_room) {
        done_room = most + 64;
        done = realloc(done, sizeof(int) * (size_t)done_room);
        got = realloc(got, 3 * sizeof(int) * (size_t)done_room);
        if (!done || !got)
            abort();
    }
    done_count = got_count = 0;
}

/* Completes the request of `slot`; `status` is needed for an open source or tag. */
static void completed(int slot, const MPI_Status *status)
{
    if (slot < 0 || !slots[slot].started)
        return;
    struct request *one = &slots[slot];
    if (one->recorded) {
        done[done_count++] = slot;
        if (one->wild || one->cancelled) {
            int withdrawn = 0, *to = got + 3 * got_count++;
            if (one->cancelled)
                REAL(Test_cancelled)(status, &withdrawn);
            to[0] = slot, to[1] = withdrawn ? -1 : status->MPI_SOURCE, to[2] = withdrawn ? 0 : status->MPI_TAG;
        }
    }
    wild_pending -= one->wild || one->cancelled;
    one->wild = one->cancelled = 0;
    if (one->persistent)
        one->started = 0;
    else
        drop_request(slot);
}

static void note_wait(int function)
{
    op_begin(function);
    op_put((uint64_t)done_count);
    for (int at = 0; at < done_count; at++)
        op_put((uint64_t)done[at]);
    op_put((uint64_t)got_count);
    for (int at = 0; at < 3 * got_count; at++)
        op_signed(got[at]);
}

/* Messages that were matched by a probe and are received by their handle. */
struct message {
    MPI_Message handle;
    int comm, source, tag;
};
static struct message *messages;
static int message_count, message_room;

static void add_message(MPI_Message handle, int comm, const MPI_Status *status)
{
    if (handle == MPI_MESSAGE_NO_PROC)
        return;
    if (message_count == message_room) {
        message_room = 2 * message_room + 16;
        messages = realloc(messages, sizeof *messages * (size_t)message_room);
        if (!messages)
            abort();
    }
    messages[message_count++] = (struct message){handle, comm, status->MPI_SOURCE, status->MPI_TAG};
}

static struct message take_message(MPI_Message handle)
{
    for (int at = 0; at < message_count; at++)
        if (messages[at].handle == handle) {
            struct message one = messages[at];
            messages[at] = messages[--message_count];
            return one;
        }
    return (struct message){handle, 0, MPI_PROC_NULL, 0};
}
