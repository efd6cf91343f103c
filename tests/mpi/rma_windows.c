/* Checks windows of all flavours: attributes, groups, names, keys, info, shared memory, attached memory (MPI-3.1,
   section 11.2). */
#include "check.h"

static void attributes(MPI_Win win, void *base, MPI_Aint bytes, int unit, int flavour)
{
    int flag = 0, *number = NULL;
    void *value = NULL;
    MPI_Aint *length = NULL;
    OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &value, &flag));
    CHECK(flag && value == base);
    OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &length, &flag));
    CHECK(flag && *length == bytes);
    OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &number, &flag));
    CHECK(flag && *number == unit);
    OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &number, &flag));
    CHECK(flag && *number == flavour);
    OK(MPI_Win_get_attr(win, MPI_WIN_MODEL, &number, &flag));
    CHECK(flag && (*number == MPI_WIN_UNIFIED || *number == MPI_WIN_SEPARATE));
    MPI_Group group, world;
    int compared = -1;
    OK(MPI_Win_get_group(win, &group));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_compare(group, world, &compared));
    CHECK(compared == MPI_IDENT);
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&world));
}

/* Everybody puts its rank into the next one's window, at its second place. */
static void works(MPI_Win win, int *memory)
{
    memory[1] = -1;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 1, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    CHECK(memory[1] == (rank + size - 1) % size);
}

static int deleted;

static int delete(MPI_Win win, int key, void *value, void *state)
{
    (void)win;
    (void)key;
    (void)value;
    (void)state;
    deleted++;
    return MPI_SUCCESS;
}

static void named(MPI_Win win)
{
    char name[MPI_MAX_OBJECT_NAME] = "x";
    int length = -1, key, flag = 0;
    void *value = NULL;
    MPI_Info info;
    OK(MPI_Win_set_name(win, "window"));
    OK(MPI_Win_get_name(win, name, &length));
    CHECK(strcmp(name, "window") == 0 && length == 6);
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete, &key, NULL));
    OK(MPI_Win_set_attr(win, key, name));
    OK(MPI_Win_get_attr(win, key, &value, &flag));
    CHECK(flag && value == (void *)name);
    OK(MPI_Win_delete_attr(win, key));
    OK(MPI_Win_get_attr(win, key, &value, &flag));
    CHECK(!flag && deleted == 1);
    OK(MPI_Win_set_attr(win, key, name));
    OK(MPI_Win_free_keyval(&key));
    CHECK(key == MPI_KEYVAL_INVALID);
    OK(MPI_Win_get_info(win, &info));
    CHECK(info != MPI_INFO_NULL);
    OK(MPI_Info_free(&info));
}

static void created(void)
{
    int memory[10];
    MPI_Win win;
    OK(MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    attributes(win, memory, sizeof memory, sizeof(int), MPI_WIN_FLAVOR_CREATE);
    works(win, memory);
    named(win);
    OK(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL && deleted == 2);
    /* Different sizes and units; none at all at rank 0. */
    int big[20] = {0}, value = 7, mine = rank == 0 ? 0 : 2 + rank % 8;
    OK(MPI_Win_create(rank == 0 ? NULL : big, mine * (MPI_Aint)sizeof(int), rank % 2 ? 1 : sizeof(int), MPI_INFO_NULL,
                      MPI_COMM_WORLD, &win));
    OK(MPI_Win_fence(0, win));
    int next = (rank + 1) % size;
    if (next != 0)
        OK(MPI_Put(&value, 1, MPI_INT, next, next % 2 ? sizeof(int) : 1, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    CHECK(rank == 0 || (big[1] == 7 && big[0] == 0 && big[2] == 0));
    OK(MPI_Win_free(&win));
}

static void allocated(void)
{
    int *memory = NULL;
    MPI_Win win;
    OK(MPI_Win_allocate(16 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    CHECK(memory != NULL);
    attributes(win, memory, 16 * sizeof(int), sizeof(int), MPI_WIN_FLAVOR_ALLOCATE);
    works(win, memory);
    OK(MPI_Win_free(&win));
}

static void shared(void)
{
    MPI_Comm node;
    MPI_Win win;
    int r, n, *memory = NULL, *first = NULL, unit = -1;
    MPI_Aint bytes = -1;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Comm_rank(node, &r));
    OK(MPI_Comm_size(node, &n));
    OK(MPI_Win_allocate_shared((1 + r) * sizeof(int), sizeof(int), MPI_INFO_NULL, node, &memory, &win));
    memory[0] = 100 + r;
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Win_sync(win));
    MPI_Barrier(node);
    OK(MPI_Win_sync(win));
    for (int other = 0; other < n; other++) {
        int *there = NULL;
        OK(MPI_Win_shared_query(win, other, &bytes, &unit, &there));
        CHECK(bytes == (1 + other) * (MPI_Aint)sizeof(int) && unit == sizeof(int) && there[0] == 100 + other);
    }
    /* Contiguous unless asked otherwise; MPI_PROC_NULL gives the first that has any. */
    OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &first));
    CHECK(first[0] == 100 && memory == first + r * (r + 1) / 2);
    MPI_Barrier(node);
    int *next = NULL;
    OK(MPI_Win_shared_query(win, (r + 1) % n, &bytes, &unit, &next));
    next[0] = 200 + r;
    OK(MPI_Win_sync(win));
    MPI_Barrier(node);
    OK(MPI_Win_sync(win));
    CHECK(memory[0] == 200 + (r + n - 1) % n);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    OK(MPI_Comm_free(&node));
}

static void dynamic(void)
{
    MPI_Win win;
    MPI_Aint mine, *all = malloc(size * sizeof *all);
    int *memory = calloc(8, sizeof(int)), flag = 0, *flavour = NULL, value = 1000 + rank, back = -1;
    void *base = memory;
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavour, &flag));
    CHECK(flag && *flavour == MPI_WIN_FLAVOR_DYNAMIC);
    OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag));
    CHECK(flag && base == MPI_BOTTOM);
    /* Two pieces side by side: what lies across them is attached. */
    OK(MPI_Win_attach(win, memory, 4 * sizeof(int)));
    OK(MPI_Win_attach(win, memory + 4, 4 * sizeof(int)));
    OK(MPI_Get_address(memory, &mine));
    OK(MPI_Allgather(&mine, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD));
    int next = (rank + 1) % size;
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Put(&value, 1, MPI_INT, next, MPI_Aint_add(all[next], 3 * sizeof(int)), 1, MPI_INT, win));
    OK(MPI_Win_flush(next, win));
    OK(MPI_Get(&back, 1, MPI_INT, next, MPI_Aint_add(all[next], 3 * sizeof(int)), 1, MPI_INT, win));
    OK(MPI_Win_flush(next, win));
    CHECK(back == value);
    int pair[2] = {-1, -1};
    OK(MPI_Get(pair, 2, MPI_INT, next, MPI_Aint_add(all[next], 3 * sizeof(int)), 2, MPI_INT, win));
    OK(MPI_Win_flush(next, win));
    CHECK(pair[0] == value && pair[1] == 0);
    OK(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    CHECK(memory[3] == 1000 + (rank + size - 1) % size && memory[2] == 0 && memory[4] == 0);
    OK(MPI_Win_unlock(rank, win));
    OK(MPI_Win_detach(win, memory));
    OK(MPI_Win_detach(win, memory + 4));
    OK(MPI_Win_free(&win));
    free(memory);
    free(all);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "rma_windows");
    created();
    allocated();
    shared();
    dynamic();
    return finish();
}
