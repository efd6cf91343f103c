/* Writes an OTF2 archive as Score-P does, of two ranks: `archive DIRECTORY NAME`. Each computes 100 us, and takes part in a Bcast of
 * 1000 bytes, an exchange of 2000 by requests, and an Allreduce of 8. Its communicators and regions have other numbers in the events
 * than in the archive. */
#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>

static OTF2_FlushType before_flush(void *data, OTF2_FileType type, OTF2_LocationRef place, void *caller, bool final)
{
    return OTF2_FLUSH;
}

static const char *const NAMES[] = {"",          "MPI_Init",     "MPI_Bcast",     "MPI_Irecv", "MPI_Isend",
                                    "MPI_Waitall", "MPI_Allreduce", "MPI_Finalize", "main",      "MPI_COMM_WORLD"};
enum { NONE, INIT, BCAST, IRECV, ISEND, WAITALL, ALLREDUCE, FINALIZE, MAIN, WORLD, COUNT };

int main(int argc, char **argv)
{
    OTF2_FlushCallbacks flushes = {before_flush, NULL};
    OTF2_Archive *archive = OTF2_Archive_Open(argv[1], argv[2], OTF2_FILEMODE_WRITE, 1 << 20, 4 << 20, OTF2_SUBSTRATE_POSIX,
                                              OTF2_COMPRESSION_NONE);
    OTF2_Archive_SetFlushCallbacks(archive, &flushes, NULL);
    OTF2_Archive_SetSerialCollectiveCallbacks(archive);
    OTF2_Archive_SetCreator(archive, "Score-P 8.4");
    OTF2_Archive_OpenEvtFiles(archive);
    for (uint32_t rank = 0; rank < 2; rank++) {
        OTF2_EvtWriter *events = OTF2_Archive_GetEvtWriter(archive, 10 + rank);
        uint64_t now = 1000 + rank;
#define IN(region) OTF2_EvtWriter_Enter(events, NULL, now += 10, (region) + 1)
#define OUT(region) OTF2_EvtWriter_Leave(events, NULL, now += 10, (region) + 1)
        OTF2_EvtWriter_Enter(events, NULL, now, MAIN + 1);
        IN(INIT), OUT(INIT), now += 99990;
        IN(BCAST);
        OTF2_EvtWriter_MpiCollectiveBegin(events, NULL, now);
        OTF2_EvtWriter_MpiCollectiveEnd(events, NULL, now += 500, OTF2_COLLECTIVE_OP_BCAST, 7, 0, rank ? 0 : 2000, 1000);
        OUT(BCAST), IN(IRECV);
        OTF2_EvtWriter_MpiIrecvRequest(events, NULL, now, 1);
        OUT(IRECV), IN(ISEND);
        OTF2_EvtWriter_MpiIsend(events, NULL, now, 1 - rank, 7, 3, 2000, 2);
        OUT(ISEND), IN(WAITALL);
        OTF2_EvtWriter_MpiIrecv(events, NULL, now += 900, 1 - rank, 7, 3, 2000, 1);
        OTF2_EvtWriter_MpiIsendComplete(events, NULL, now += 20, 2);
        OUT(WAITALL), IN(ALLREDUCE);
        OTF2_EvtWriter_MpiCollectiveBegin(events, NULL, now);
        OTF2_EvtWriter_MpiCollectiveEnd(events, NULL, now += 70, OTF2_COLLECTIVE_OP_ALLREDUCE, 7, OTF2_UNDEFINED_UINT32, 16, 16);
        OUT(ALLREDUCE), IN(FINALIZE), OUT(FINALIZE);
        OTF2_EvtWriter_Leave(events, NULL, now, MAIN + 1);
        OTF2_Archive_CloseEvtWriter(archive, events);
    }
    OTF2_Archive_CloseEvtFiles(archive);
    OTF2_Archive_OpenDefFiles(archive);
    for (uint64_t rank = 0; rank < 2; rank++) {
        OTF2_DefWriter *own = OTF2_Archive_GetDefWriter(archive, 10 + rank);
        OTF2_IdMap *map = OTF2_IdMap_Create(OTF2_ID_MAP_SPARSE, COUNT);
        for (uint64_t region = 1; region < COUNT; region++)
            OTF2_IdMap_AddIdPair(map, region + 1, region);
        OTF2_DefWriter_WriteMappingTable(own, OTF2_MAPPING_REGION, map);
        OTF2_IdMap *comms = OTF2_IdMap_Create(OTF2_ID_MAP_SPARSE, 1);
        OTF2_IdMap_AddIdPair(comms, 7, 1);
        OTF2_DefWriter_WriteMappingTable(own, OTF2_MAPPING_COMM, comms);
        OTF2_Archive_CloseDefWriter(archive, own);
    }
    OTF2_Archive_CloseDefFiles(archive);
    OTF2_GlobalDefWriter *defs = OTF2_Archive_GetGlobalDefWriter(archive);
#if OTF2_VERSION_MAJOR >= 3
    OTF2_GlobalDefWriter_WriteClockProperties(defs, 1000000000, 1000, 200000, OTF2_UNDEFINED_TIMESTAMP);
#else
    OTF2_GlobalDefWriter_WriteClockProperties(defs, 1000000000, 1000, 200000);
#endif
    for (uint32_t name = 0; name < COUNT; name++)
        OTF2_GlobalDefWriter_WriteString(defs, name, NAMES[name]);
    for (uint32_t region = 1; region < COUNT; region++)
        OTF2_GlobalDefWriter_WriteRegion(defs, region, region, region, NONE, OTF2_REGION_ROLE_FUNCTION,
                                         region == MAIN ? OTF2_PARADIGM_USER : OTF2_PARADIGM_MPI, OTF2_REGION_FLAG_NONE, NONE, 0, 0);
    OTF2_GlobalDefWriter_WriteSystemTreeNode(defs, 0, NONE, NONE, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    uint64_t places[] = {10, 11}, ranks[] = {0, 1};
    for (uint32_t rank = 0; rank < 2; rank++) {
#if OTF2_VERSION_MAJOR >= 3
        OTF2_GlobalDefWriter_WriteLocationGroup(defs, rank, NONE, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0, OTF2_UNDEFINED_LOCATION_GROUP);
#else
        OTF2_GlobalDefWriter_WriteLocationGroup(defs, rank, NONE, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0);
#endif
        OTF2_GlobalDefWriter_WriteLocation(defs, places[rank], NONE, OTF2_LOCATION_TYPE_CPU_THREAD, 20, rank);
    }
    OTF2_GlobalDefWriter_WriteGroup(defs, 0, NONE, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, 2, places);
    OTF2_GlobalDefWriter_WriteGroup(defs, 1, NONE, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, 2, ranks);
#if OTF2_VERSION_MAJOR >= 3
    OTF2_GlobalDefWriter_WriteComm(defs, 1, WORLD, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
#else
    OTF2_GlobalDefWriter_WriteComm(defs, 1, WORLD, 1, OTF2_UNDEFINED_COMM);
#endif
    OTF2_Archive_CloseGlobalDefWriter(archive, defs);
    return OTF2_Archive_Close(archive) != OTF2_SUCCESS;
}
