/* Writes the activities of ranks as an OTF2 archive: `write DIRECTORY NAME < events`. It is compiled against the OTF2 library
 * (2.x or 3.x) when needed. Input: one line per event, fields separated by a blank, times in picoseconds:
 *
 *   ranks N END            number of ranks, and the end of the run
 *   app TEXT               name of the application
 *   region ROLE TEXT       a call or statement, numbered from 0: c (collective), p (point-to-point), f (another function)
 *   rank R NODE            the events of rank R follow, in order of time
 *   thread R NUMBER        the events of a thread of rank R follow, in order of time
 *   e TIME REGION          the rank or thread enters a region
 *   x TIME REGION          the rank or thread leaves a region
 *   s TIME TO BYTES        a message leaves for rank TO
 *   r TIME FROM BYTES      a message from rank FROM has arrived
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static OTF2_FlushType before_flush(void *data, OTF2_FileType type, OTF2_LocationRef place, void *caller, bool final)
{
    return OTF2_FLUSH;
}

static OTF2_TimeStamp after_flush(void *data, OTF2_FileType type, OTF2_LocationRef place)
{
    return 0;
}

static void check(OTF2_ErrorCode code, const char *what)
{
    if (code == OTF2_SUCCESS)
        return;
    fprintf(stderr, "%s: %s\n", what, OTF2_Error_GetDescription(code));
    exit(1);
}

static void wrong(const char *line)
{
    fprintf(stderr, "what is this: %s\n", line);
    exit(1);
}

static void *grown(void *list, size_t count, size_t size)
{
    /* The capacity doubles at each power of two. */
    if ((count & (count - 1)) != 0)
        return list;
    list = realloc(list, (count ? 2 * count : 1) * size);
    if (!list) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    return list;
}

struct thread {
    uint64_t rank;
    unsigned number;
};

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    OTF2_FlushCallbacks flushes = {before_flush, after_flush};
    OTF2_Archive *archive = OTF2_Archive_Open(argv[1], argv[2], OTF2_FILEMODE_WRITE, 1 << 20, 4 << 20, OTF2_SUBSTRATE_POSIX,
                                              OTF2_COMPRESSION_NONE);
    if (!archive) {
        fprintf(stderr, "cannot make the archive %s/%s\n", argv[1], argv[2]);
        return 1;
    }
    check(OTF2_Archive_SetFlushCallbacks(archive, &flushes, NULL), "flush callbacks");
    check(OTF2_Archive_SetSerialCollectiveCallbacks(archive), "collective callbacks");
    check(OTF2_Archive_SetCreator(archive, "mcpsim"), "creator");
    check(OTF2_Archive_OpenEvtFiles(archive), "event files");
    uint64_t ranks = 0, end = 0, *events = NULL, most_node = 0;
    uint32_t *nodes = NULL;
    char *app = strdup("run"), **regions = NULL, *roles = NULL, *line = NULL;
    size_t room = 0, region_count = 0;
    OTF2_EvtWriter *writer = NULL;
    /* Number of the location whose events are read. Threads follow all ranks. */
    uint64_t place = 0;
    uint64_t rank = 0, thread_count = 0;
    struct thread *threads = NULL;
    for (ssize_t length; (length = getline(&line, &room, stdin)) > 0;) {
        if (line[length - 1] == '\n')
            line[length - 1] = 0;
        uint64_t time, other, bytes;
        unsigned node;
        char role;
        int at = 0, is_thread;
        if (writer && sscanf(line, "e %" SCNu64 " %" SCNu64, &time, &other) == 2) {
            check(OTF2_EvtWriter_Enter(writer, NULL, time, (OTF2_RegionRef)other), "enter");
        } else if (writer && sscanf(line, "x %" SCNu64 " %" SCNu64, &time, &other) == 2) {
            check(OTF2_EvtWriter_Leave(writer, NULL, time, (OTF2_RegionRef)other), "leave");
        } else if (writer && sscanf(line, "s %" SCNu64 " %" SCNu64 " %" SCNu64, &time, &other, &bytes) == 3) {
            check(OTF2_EvtWriter_MpiSend(writer, NULL, time, (uint32_t)other, 0, 0, bytes), "send");
        } else if (writer && sscanf(line, "r %" SCNu64 " %" SCNu64 " %" SCNu64, &time, &other, &bytes) == 3) {
            check(OTF2_EvtWriter_MpiRecv(writer, NULL, time, (uint32_t)other, 0, 0, bytes), "receive");
        } else if ((is_thread = sscanf(line, "thread %" SCNu64 " %u", &other, &node) == 2 && other < ranks) ||
                   (sscanf(line, "rank %" SCNu64 " %u", &other, &node) == 2 && other < ranks)) {
            if (writer) {
                check(OTF2_EvtWriter_GetNumberOfEvents(writer, &events[place]), "count");
                check(OTF2_Archive_CloseEvtWriter(archive, writer), "events");
            }
            if (is_thread) {
                threads = grown(threads, thread_count, sizeof *threads);
                threads[thread_count] = (struct thread){other, node};
                place = ranks + thread_count++;
                events = realloc(events, (place + 1) * sizeof *events);
                if (!events)
                    wrong(line);
            } else {
                place = other;
                nodes[place] = node;
                most_node = node > most_node ? node : most_node;
            }
            writer = OTF2_Archive_GetEvtWriter(archive, place);
            if (!writer)
                check(OTF2_ERROR_INVALID, "event writer");
        } else if (!ranks && sscanf(line, "ranks %" SCNu64 " %" SCNu64, &ranks, &end) == 2 && ranks > 0) {
            events = calloc(ranks, sizeof *events);
            nodes = calloc(ranks, sizeof *nodes);
            if (!events || !nodes)
                wrong(line);
        } else if (strncmp(line, "app ", 4) == 0) {
            free(app);
            app = strdup(line + 4);
        } else if (sscanf(line, "region %c %n", &role, &at) == 1 && at > 0) {
            regions = grown(regions, region_count, sizeof *regions);
            roles = grown(roles, region_count, sizeof *roles);
            roles[region_count] = role;
            regions[region_count++] = strdup(line + at);
        } else {
            wrong(line);
        }
    }
    if (!ranks)
        wrong("no ranks");
    if (writer) {
        check(OTF2_EvtWriter_GetNumberOfEvents(writer, &events[place]), "count");
        check(OTF2_Archive_CloseEvtWriter(archive, writer), "events");
    }
    check(OTF2_Archive_CloseEvtFiles(archive), "event files");
    check(OTF2_Archive_OpenDefFiles(archive), "definition files");
    for (place = 0; place < ranks + thread_count; place++) {
        OTF2_DefWriter *own = OTF2_Archive_GetDefWriter(archive, place);
        check(OTF2_Archive_CloseDefWriter(archive, own), "definitions");
    }
    check(OTF2_Archive_CloseDefFiles(archive), "definition files");

    OTF2_GlobalDefWriter *defs = OTF2_Archive_GetGlobalDefWriter(archive);
#if OTF2_VERSION_MAJOR >= 3
    check(OTF2_GlobalDefWriter_WriteClockProperties(defs, UINT64_C(1000000000000), 0, end + 1, OTF2_UNDEFINED_TIMESTAMP), "clock");
#else
    check(OTF2_GlobalDefWriter_WriteClockProperties(defs, UINT64_C(1000000000000), 0, end + 1), "clock");
#endif
    enum { EMPTY, APP, MACHINE, NODE, WORLD, FIRST };
    char text[64];
    check(OTF2_GlobalDefWriter_WriteString(defs, EMPTY, ""), "string");
    check(OTF2_GlobalDefWriter_WriteString(defs, APP, app), "string");
    check(OTF2_GlobalDefWriter_WriteString(defs, MACHINE, "machine"), "string");
    check(OTF2_GlobalDefWriter_WriteString(defs, NODE, "node"), "string");
    check(OTF2_GlobalDefWriter_WriteString(defs, WORLD, "MPI_COMM_WORLD"), "string");
    uint32_t next = FIRST;
    for (size_t region = 0; region < region_count; region++) {
        OTF2_RegionRole role = roles[region] == 'c'   ? OTF2_REGION_ROLE_COLL_OTHER
                               : roles[region] == 'p' ? OTF2_REGION_ROLE_POINT2POINT
                                                      : OTF2_REGION_ROLE_FUNCTION;
        OTF2_Paradigm paradigm = strncmp(regions[region], "MPI_", 4) == 0 ? OTF2_PARADIGM_MPI : OTF2_PARADIGM_USER;
        check(OTF2_GlobalDefWriter_WriteString(defs, next, regions[region]), "string");
        check(OTF2_GlobalDefWriter_WriteRegion(defs, (OTF2_RegionRef)region, next, next, EMPTY, role, paradigm,
                                               OTF2_REGION_FLAG_NONE, EMPTY, 0, 0),
              "region");
        next++;
    }
    check(OTF2_GlobalDefWriter_WriteSystemTreeNode(defs, 0, APP, MACHINE, OTF2_UNDEFINED_SYSTEM_TREE_NODE), "machine");
    for (uint64_t node = 0; node <= most_node; node++) {
        snprintf(text, sizeof text, "node %" PRIu64, node);
        check(OTF2_GlobalDefWriter_WriteString(defs, next, text), "string");
        check(OTF2_GlobalDefWriter_WriteSystemTreeNode(defs, (OTF2_SystemTreeNodeRef)(node + 1), next++, NODE, 0), "node");
    }
    uint64_t *members = calloc(ranks, sizeof *members);
    for (rank = 0; rank < ranks; rank++) {
        snprintf(text, sizeof text, "rank %" PRIu64, rank);
        check(OTF2_GlobalDefWriter_WriteString(defs, next, text), "string");
#if OTF2_VERSION_MAJOR >= 3
        check(OTF2_GlobalDefWriter_WriteLocationGroup(defs, (OTF2_LocationGroupRef)rank, next, OTF2_LOCATION_GROUP_TYPE_PROCESS,
                                                      nodes[rank] + 1, OTF2_UNDEFINED_LOCATION_GROUP),
              "process");
#else
        check(OTF2_GlobalDefWriter_WriteLocationGroup(defs, (OTF2_LocationGroupRef)rank, next, OTF2_LOCATION_GROUP_TYPE_PROCESS,
                                                      nodes[rank] + 1),
              "process");
#endif
        check(OTF2_GlobalDefWriter_WriteLocation(defs, rank, next++, OTF2_LOCATION_TYPE_CPU_THREAD, events[rank],
                                                 (OTF2_LocationGroupRef)rank),
              "location");
        members[rank] = rank;
    }
    for (uint64_t index = 0; index < thread_count; index++) {
        snprintf(text, sizeof text, "rank %" PRIu64 " thread %u", threads[index].rank, threads[index].number);
        check(OTF2_GlobalDefWriter_WriteString(defs, next, text), "string");
        check(OTF2_GlobalDefWriter_WriteLocation(defs, ranks + index, next++, OTF2_LOCATION_TYPE_CPU_THREAD,
                                                 events[ranks + index], (OTF2_LocationGroupRef)threads[index].rank),
              "thread");
    }
    check(OTF2_GlobalDefWriter_WriteGroup(defs, 0, EMPTY, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
                                          (uint32_t)ranks, members),
          "locations");
    check(OTF2_GlobalDefWriter_WriteGroup(defs, 1, EMPTY, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
                                          (uint32_t)ranks, members),
          "group");
#if OTF2_VERSION_MAJOR >= 3
    check(OTF2_GlobalDefWriter_WriteComm(defs, 0, WORLD, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE), "communicator");
#else
    check(OTF2_GlobalDefWriter_WriteComm(defs, 0, WORLD, 1, OTF2_UNDEFINED_COMM), "communicator");
#endif
    check(OTF2_Archive_CloseGlobalDefWriter(archive, defs), "definitions");
    check(OTF2_Archive_Close(archive), "archive");
    return 0;
}
