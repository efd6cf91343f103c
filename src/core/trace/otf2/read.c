/* Prints the MPI events of an OTF2 archive: `read ANCHOR`. It is compiled against the OTF2 library (2.x or 3.x) when needed.
 * Events of other code are omitted. Output: one line per event, fields separated by a blank, times in ticks:
 *
 *   creator TEXT               program that wrote the archive
 *   clock TICKS START          ticks per second, and the beginning of the archive
 *   region REF NAME            a region of MPI
 *   comm REF group RANK...     a communicator and its members by world ranks; instead of "group ..." also "self", "inter"
 *   ranks N
 *   foreign                    a thread that is not a rank makes MPI calls; after all ranks
 *   rank R                     the events of rank R follow, in order of time, each with its time after the letter:
 *     b            the program begins            z            the last event
 *     e REGION     the rank enters a region      x REGION     the rank leaves a region
 *     s TO COMM TAG BYTES                        r FROM COMM TAG BYTES
 *     i TO COMM TAG BYTES REQUEST                d REQUEST    the send is complete
 *     q REQUEST    a receive is posted           j FROM COMM TAG BYTES REQUEST    the receive is complete
 *     k REQUEST    a request is cancelled        n REQUEST    a non-blocking collective begins
 *     c OP COMM ROOT SENT RECEIVED               m OP COMM ROOT SENT RECEIVED REQUEST   a non-blocking one is complete
 *     f END        the measurement wrote its buffer to disk until END
 *     o MODE       recording is on (0) or off    w            one-sided communication
 *   end
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <otf2/otf2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK OTF2_CALLBACK_SUCCESS
#define EVENT OTF2_LocationRef place, OTF2_TimeStamp time, uint64_t position, void *data, OTF2_AttributeList *more

typedef struct {
    uint64_t *of;
    size_t count;
} List;

typedef struct {
    char *text;
    List list;
    int kind;
    uint64_t key;
} Entry;

typedef struct {
    Entry *of;
    size_t count;
} Table;

static Table strings, regions, groups, comms, places;
static uint64_t ticks = 1000000000, start, last;
static bool foreign;

/* Prints the first error of the library, in one line. */
static OTF2_ErrorCode complain(void *data, const char *file, uint64_t line, const char *function, OTF2_ErrorCode code,
                               const char *format, va_list words)
{
    static bool told;
    if (!told && code != OTF2_SUCCESS) {
        fprintf(stderr, "%s: ", OTF2_Error_GetDescription(code));
        vfprintf(stderr, format, words);
        fputc('\n', stderr);
        told = true;
    }
    return code;
}

static void check(OTF2_ErrorCode code, const char *what)
{
    if (code == OTF2_SUCCESS)
        return;
    fprintf(stderr, "%s: %s\n", what, OTF2_Error_GetDescription(code));
    exit(1);
}

static Entry *add(Table *table, uint64_t key)
{
    /* The capacity doubles at each power of two. */
    if ((table->count & (table->count - 1)) == 0) {
        size_t room = table->count ? 2 * table->count : 1;
        table->of = realloc(table->of, room * sizeof *table->of);
        if (!table->of) {
            fprintf(stderr, "no memory\n");
            exit(1);
        }
    }
    Entry *entry = &table->of[table->count++];
    memset(entry, 0, sizeof *entry);
    entry->key = key;
    return entry;
}

static Entry *find(const Table *table, uint64_t key)
{
    /* Most keys are defined in order from 0. */
    if (key < table->count && table->of[key].key == key)
        return &table->of[key];
    for (size_t at = 0; at < table->count; at++)
        if (table->of[at].key == key)
            return &table->of[at];
    return NULL;
}

static OTF2_CallbackCode on_clock(void *data, uint64_t resolution, uint64_t offset, uint64_t length
#if OTF2_VERSION_MAJOR >= 3
                                  ,
                                  uint64_t realtime
#endif
)
{
    ticks = resolution;
    start = offset;
    return OK;
}

static OTF2_CallbackCode on_string(void *data, OTF2_StringRef self, const char *text)
{
    add(&strings, self)->text = strdup(text);
    return OK;
}

static OTF2_CallbackCode on_region(void *data, OTF2_RegionRef self, OTF2_StringRef name, OTF2_StringRef canonical,
                                   OTF2_StringRef description, OTF2_RegionRole role, OTF2_Paradigm paradigm, OTF2_RegionFlag flags,
                                   OTF2_StringRef file, uint32_t begin, uint32_t end)
{
    Entry *region = add(&regions, self), *called = find(&strings, name);
    region->kind = paradigm == OTF2_PARADIGM_MPI;
    region->text = called ? called->text : "";
    return OK;
}

static OTF2_CallbackCode on_group(void *data, OTF2_GroupRef self, OTF2_StringRef name, OTF2_GroupType type, OTF2_Paradigm paradigm,
                                  OTF2_GroupFlag flags, uint32_t count, const uint64_t *members)
{
    Entry *group = add(&groups, self);
    group->kind = paradigm == OTF2_PARADIGM_MPI ? (int)type : -1;
    group->list.of = malloc((count + 1) * sizeof *members);
    if (!group->list.of)
        return OTF2_CALLBACK_ERROR;
    memcpy(group->list.of, members, count * sizeof *members);
    group->list.count = count;
    return OK;
}

static OTF2_CallbackCode on_comm(void *data, OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef group, OTF2_CommRef parent
#if OTF2_VERSION_MAJOR >= 3
                                 ,
                                 OTF2_CommFlag flags
#endif
)
{
    add(&comms, self)->list.count = group;
    return OK;
}

#if OTF2_VERSION_MAJOR >= 3
static OTF2_CallbackCode on_inter(void *data, OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef first, OTF2_GroupRef second,
                                  OTF2_CommRef common, OTF2_CommFlag flags)
{
    add(&comms, self)->kind = 1;
    return OK;
}
#endif

static OTF2_CallbackCode on_place(void *data, OTF2_LocationRef self, OTF2_StringRef name, OTF2_LocationType type, uint64_t events,
                                  OTF2_LocationGroupRef group)
{
    add(&places, self)->kind = type == OTF2_LOCATION_TYPE_CPU_THREAD;
    return OK;
}

/* Whether an MPI event belongs to a rank and is printed. */
static bool is_ranks(uint64_t time)
{
    static bool told;
    last = time;
    if (foreign && !told) {
        puts("foreign");
        told = true;
    }
    return !foreign;
}

#define PRINT(...) (is_ranks(time) ? (void)printf(__VA_ARGS__) : (void)0)
#define T PRIu64

static OTF2_CallbackCode on_begin(EVENT, OTF2_StringRef name, uint32_t count, const OTF2_StringRef *arguments)
{
    last = time;
    if (!foreign)
        printf("b %" T "\n", time);
    return OK;
}

static OTF2_CallbackCode on_enter(EVENT, OTF2_RegionRef region)
{
    Entry *entered = find(&regions, region);
    last = time;
    if (!foreign && entered && entered->kind)
        printf("e %" T " %" PRIu32 "\n", time, region);
    return OK;
}

static OTF2_CallbackCode on_leave(EVENT, OTF2_RegionRef region)
{
    Entry *left = find(&regions, region);
    last = time;
    if (!foreign && left && left->kind)
        printf("x %" T " %" PRIu32 "\n", time, region);
    return OK;
}

static OTF2_CallbackCode on_send(EVENT, uint32_t to, OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
    PRINT("s %" T " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" T "\n", time, to, comm, tag, bytes);
    return OK;
}

static OTF2_CallbackCode on_recv(EVENT, uint32_t from, OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
    PRINT("r %" T " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" T "\n", time, from, comm, tag, bytes);
    return OK;
}

static OTF2_CallbackCode on_isend(EVENT, uint32_t to, OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t request)
{
    PRINT("i %" T " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" T " %" T "\n", time, to, comm, tag, bytes, request);
    return OK;
}

static OTF2_CallbackCode on_irecv(EVENT, uint32_t from, OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t request)
{
    PRINT("j %" T " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" T " %" T "\n", time, from, comm, tag, bytes, request);
    return OK;
}

static OTF2_CallbackCode on_isend_complete(EVENT, uint64_t request)
{
    PRINT("d %" T " %" T "\n", time, request);
    return OK;
}

static OTF2_CallbackCode on_irecv_request(EVENT, uint64_t request)
{
    PRINT("q %" T " %" T "\n", time, request);
    return OK;
}

static OTF2_CallbackCode on_cancelled(EVENT, uint64_t request)
{
    PRINT("k %" T " %" T "\n", time, request);
    return OK;
}

static OTF2_CallbackCode on_collective(EVENT, OTF2_CollectiveOp op, OTF2_CommRef comm, uint32_t root, uint64_t sent, uint64_t received)
{
    PRINT("c %" T " %d %" PRIu32 " %" PRIu32 " %" T " %" T "\n", time, op, comm, root, sent, received);
    return OK;
}

static OTF2_CallbackCode on_flush(EVENT, OTF2_TimeStamp end)
{
    last = end;
    if (!foreign)
        printf("f %" T " %" T "\n", time, end);
    return OK;
}

static OTF2_CallbackCode on_switch(EVENT, OTF2_MeasurementMode mode)
{
    last = time;
    if (!foreign)
        printf("o %" T " %d\n", time, mode != OTF2_MEASUREMENT_ON);
    return OK;
}

static OTF2_CallbackCode on_window(EVENT, OTF2_RmaWinRef window)
{
    PRINT("w %" T "\n", time);
    return OK;
}

#if OTF2_VERSION_MAJOR >= 3
static OTF2_CallbackCode on_begun(EVENT, uint64_t request)
{
    PRINT("n %" T " %" T "\n", time, request);
    return OK;
}

static OTF2_CallbackCode on_done(EVENT, OTF2_CollectiveOp op, OTF2_CommRef comm, uint32_t root, uint64_t sent, uint64_t received,
                                 uint64_t request)
{
    PRINT("m %" T " %d %" PRIu32 " %" PRIu32 " %" T " %" T " %" T "\n", time, op, comm, root, sent, received, request);
    return OK;
}
#endif

static void read_definitions(OTF2_Reader *reader)
{
    OTF2_GlobalDefReader *definitions = OTF2_Reader_GetGlobalDefReader(reader);
    OTF2_GlobalDefReaderCallbacks *on = OTF2_GlobalDefReaderCallbacks_New();
    OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(on, on_clock);
    OTF2_GlobalDefReaderCallbacks_SetStringCallback(on, on_string);
    OTF2_GlobalDefReaderCallbacks_SetRegionCallback(on, on_region);
    OTF2_GlobalDefReaderCallbacks_SetGroupCallback(on, on_group);
    OTF2_GlobalDefReaderCallbacks_SetCommCallback(on, on_comm);
    OTF2_GlobalDefReaderCallbacks_SetLocationCallback(on, on_place);
#if OTF2_VERSION_MAJOR >= 3
    OTF2_GlobalDefReaderCallbacks_SetInterCommCallback(on, on_inter);
#endif
    uint64_t count;
    check(OTF2_Reader_RegisterGlobalDefCallbacks(reader, definitions, on, NULL), "definitions");
    check(OTF2_Reader_ReadAllGlobalDefinitions(reader, definitions, &count), "definitions");
}

static void read_events(OTF2_Reader *reader, uint64_t place)
{
    OTF2_EvtReader *events = OTF2_Reader_GetEvtReader(reader, place);
    if (!events)
        check(OTF2_ERROR_FILE_INTERACTION, "events");
    OTF2_EvtReaderCallbacks *on = OTF2_EvtReaderCallbacks_New();
    OTF2_EvtReaderCallbacks_SetProgramBeginCallback(on, on_begin);
    OTF2_EvtReaderCallbacks_SetEnterCallback(on, on_enter);
    OTF2_EvtReaderCallbacks_SetLeaveCallback(on, on_leave);
    OTF2_EvtReaderCallbacks_SetMpiSendCallback(on, on_send);
    OTF2_EvtReaderCallbacks_SetMpiRecvCallback(on, on_recv);
    OTF2_EvtReaderCallbacks_SetMpiIsendCallback(on, on_isend);
    OTF2_EvtReaderCallbacks_SetMpiIsendCompleteCallback(on, on_isend_complete);
    OTF2_EvtReaderCallbacks_SetMpiIrecvRequestCallback(on, on_irecv_request);
    OTF2_EvtReaderCallbacks_SetMpiIrecvCallback(on, on_irecv);
    OTF2_EvtReaderCallbacks_SetMpiRequestCancelledCallback(on, on_cancelled);
    OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback(on, on_collective);
    OTF2_EvtReaderCallbacks_SetBufferFlushCallback(on, on_flush);
    OTF2_EvtReaderCallbacks_SetMeasurementOnOffCallback(on, on_switch);
    OTF2_EvtReaderCallbacks_SetRmaWinCreateCallback(on, on_window);
#if OTF2_VERSION_MAJOR >= 3
    OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveRequestCallback(on, on_begun);
    OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveCompleteCallback(on, on_done);
#endif
    uint64_t count;
    check(OTF2_Reader_RegisterEvtCallbacks(reader, events, on, NULL), "events");
    OTF2_EvtReaderCallbacks_Delete(on);
    OTF2_EvtReader_ApplyMappingTables(events, true);
    OTF2_EvtReader_ApplyClockOffsets(events, true);
    check(OTF2_Reader_ReadAllLocalEvents(reader, events, &count), "events");
    check(OTF2_Reader_CloseEvtReader(reader, events), "events");
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    OTF2_Error_RegisterCallback(complain, NULL);
    OTF2_Reader *reader = OTF2_Reader_Open(argv[1]);
    if (!reader)
        return 1;
    check(OTF2_Reader_SetSerialCollectiveCallbacks(reader), "archive");
    read_definitions(reader);
    const Entry *world = NULL;
    for (size_t at = 0; at < groups.count && !world; at++)
        if (groups.of[at].kind == OTF2_GROUP_TYPE_COMM_LOCATIONS)
            world = &groups.of[at];
    char *creator = NULL;
    if (OTF2_Reader_GetCreator(reader, &creator) == OTF2_SUCCESS && creator)
        printf("creator %s\n", creator);
    printf("clock %" T " %" T "\n", ticks, start);
    for (size_t at = 0; at < regions.count; at++)
        if (regions.of[at].kind)
            printf("region %" T " %s\n", regions.of[at].key, regions.of[at].text);
    for (size_t at = 0; at < comms.count; at++) {
        const Entry *comm = &comms.of[at], *group = find(&groups, comm->list.count);
        bool of_ranks = group && group->kind == OTF2_GROUP_TYPE_COMM_GROUP;
        if (comm->kind)
            printf("comm %" T " inter\n", comm->key);
        else if (group && group->kind == OTF2_GROUP_TYPE_COMM_SELF)
            printf("comm %" T " self\n", comm->key);
        else if (of_ranks) {
            printf("comm %" T " group", comm->key);
            for (size_t member = 0; member < group->list.count; member++)
                printf(" %" T, group->list.of[member]);
            putchar('\n');
        }
    }
    printf("ranks %zu\n", world ? world->list.count : 0);
    for (size_t at = 0; at < places.count; at++)
        check(OTF2_Reader_SelectLocation(reader, places.of[at].key), "location");
    /* An archive without definitions of locations is also complete. */
    bool defined = OTF2_Reader_OpenDefFiles(reader) == OTF2_SUCCESS;
    check(OTF2_Reader_OpenEvtFiles(reader), "event files");
    uint64_t count;
    size_t with = 0;
    for (size_t at = 0; defined && at < places.count; at++) {
        OTF2_DefReader *own = OTF2_Reader_GetDefReader(reader, places.of[at].key);
        if (own) {
            check(OTF2_Reader_ReadAllLocalDefinitions(reader, own, &count), "definitions of a location");
            OTF2_Reader_CloseDefReader(reader, own);
            with++;
        }
    }
    if (with != 0 && with != places.count)
        check(OTF2_ERROR_FILE_INTERACTION, "definitions of a location");
    for (size_t rank = 0; world && rank < world->list.count; rank++) {
        uint64_t place = world->list.of[rank];
        Entry *entry = find(&places, place);
        if (entry)
            entry->kind = 0;
        last = start;
        printf("rank %zu\n", rank);
        read_events(reader, place);
        printf("z %" T "\n", last);
    }
    foreign = true;
    for (size_t at = 0; at < places.count; at++)
        if (places.of[at].kind)
            read_events(reader, places.of[at].key);
    puts("end");
    return fflush(stdout) == 0 ? 0 : 1;
}
