/* Lists of sizes, for counts of type COUNT. */

static void N_(op_list)(const void *buffer, const COUNT *counts, MPI_Datatype type, MPI_Comm comm)
{
    uint64_t size = type_size(type);
    int ranks = comm_of(comm)->ranks;
    op_put((uint64_t)ranks);
    for (int rank = 0; rank < ranks; rank++)
        op_put((uint64_t)counts[rank] * size);
    op_rest_of_list(buffer);
}

static void N_(op_mixed)(const COUNT *counts, const MPI_Datatype *types, MPI_Comm comm)
{
    int ranks = comm_of(comm)->ranks;
    op_put((uint64_t)ranks);
    for (int rank = 0; rank < ranks; rank++)
        op_put((uint64_t)counts[rank] * type_size(types[rank]));
    op_rest_of_list(NULL);
}
