/* Checks starting and ending, arguments, versions, clocks, processor names, memory, threads, MPI_Pcontrol (MPI-3.1,
   sections 8.1, 8.2, 8.6, 8.7, 12.4). */
#include "check.h"

/* Called by MPI_Finalize for attributes of MPI_COMM_SELF and MPI_COMM_WORLD. */
static int deleted(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    ++*(int *)value;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int flag = -1, version = 0, subversion = 0, length = -1, provided = -1, level = -1;
    char name[MPI_MAX_PROCESSOR_NAME] = "", text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    program = "env_init";
    /* What may be called before MPI_Init. */
    OK(MPI_Initialized(&flag));
    CHECK(flag == 0);
    OK(MPI_Finalized(&flag));
    CHECK(flag == 0);
    OK(MPI_Get_version(&version, &subversion));
    CHECK(version == MPI_VERSION && subversion == MPI_SUBVERSION && version >= 3);
    OK(MPI_Get_library_version(text, &length));
    CHECK(length > 0 && strlen(text) > 0);
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(provided >= MPI_THREAD_SINGLE && provided <= MPI_THREAD_MULTIPLE);
    CHECK(MPI_THREAD_SINGLE < MPI_THREAD_FUNNELED && MPI_THREAD_FUNNELED < MPI_THREAD_SERIALIZED &&
          MPI_THREAD_SERIALIZED < MPI_THREAD_MULTIPLE);
    OK(MPI_Query_thread(&level));
    OK(MPI_Is_thread_main(&flag));
    CHECK(level == provided && flag);
    CHECK(argc >= 1 && argv[0] != NULL && argv[argc] == NULL);
    OK(MPI_Initialized(&flag));
    CHECK(flag);
    OK(MPI_Finalized(&flag));
    CHECK(!flag);
    CHECK(rank >= 0 && rank < size);

    OK(MPI_Get_processor_name(name, &length));
    CHECK(length > 0 && length < MPI_MAX_PROCESSOR_NAME && length == (int)strlen(name));

    double first = MPI_Wtime(), last = first, tick = MPI_Wtick();
    int rising = 1;
    for (int i = 0; i < 1000; i++) {
        double now = MPI_Wtime();
        rising = rising && now >= last;
        last = now;
    }
    CHECK(rising && tick > 0 && tick < 1);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(MPI_Wtime() >= last && MPI_Wtime() - first < 3600);

    char *memory = NULL;
    OK(MPI_Alloc_mem(1000, MPI_INFO_NULL, &memory));
    CHECK(memory != NULL);
    memset(memory, rank % 100, 1000);
    int sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += memory[i];
    CHECK(sum == 1000 * (rank % 100));
    OK(MPI_Free_mem(memory));
    OK(MPI_Pcontrol(0));
    OK(MPI_Pcontrol(1));
    OK(MPI_Pcontrol(2, "anything"));

    int key, of_self = 0, of_world = 0;
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &key, NULL));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, &of_self));
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &of_world));
    CHECK(of_self == 0 && of_world == 0);

    long mine[2], all[2];
    mine[0] = checks;
    mine[1] = failures;
    OK(MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    long before = failures;
    OK(MPI_Finalize());
    /* And after MPI_Finalize. */
    CHECK(of_self == 1 && of_world == 1);
    OK(MPI_Initialized(&flag));
    CHECK(flag);
    OK(MPI_Finalized(&flag));
    CHECK(flag);
    OK(MPI_Get_version(&version, &subversion));
    if (rank == 0 && all[1] == 0 && failures == before)
        printf("%s: ok (%ld checks)\n", program, all[0]);
    return failures != 0;
}
