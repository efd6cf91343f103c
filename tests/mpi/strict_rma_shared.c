/* Checks memory that ranks of a node share (MPI-3.1, section 11.2.3). */
#include "check.h"

static MPI_Comm node;
static int me, members;

/* Parts of different sizes, some empty. */
static void parts(const char *apart)
{
    MPI_Info info = MPI_INFO_NULL;
    MPI_Win win;
    MPI_Aint bytes = -1;
    long *mine = NULL, *there = NULL;
    int unit = 0, good = 1, count = me % 3;
    if (apart) {
        OK(MPI_Info_create(&info));
        OK(MPI_Info_set(info, "alloc_shared_noncontig", apart));
    }
    OK(MPI_Win_allocate_shared(count * (MPI_Aint)sizeof(long), sizeof(long), info, node, &mine, &win));
    if (apart)
        OK(MPI_Info_free(&info));
    for (int i = 0; i < count; i++)
        mine[i] = 10 * me + i;
    OK(MPI_Win_fence(0, win));
    for (int r = 0; r < members; r++) {
        OK(MPI_Win_shared_query(win, r, &bytes, &unit, &there));
        good = good && bytes == r % 3 * (MPI_Aint)sizeof(long) && unit == sizeof(long);
        for (int i = 0; i < r % 3; i++)
            good = good && there[i] == 10 * r + i;
    }
    CHECK(good);
    if (members > 1) {
        OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &there));
        CHECK(bytes == (MPI_Aint)sizeof(long) && there[0] == 10);
    }
    OK(MPI_Win_fence(0, win));
    /* Calls reach the same memory. */
    long value = 1000 + me;
    int next = (me + 1) % members;
    if (next % 3 > 0)
        OK(MPI_Put(&value, 1, MPI_LONG, next, 0, 1, MPI_LONG, win));
    OK(MPI_Win_fence(0, win));
    CHECK(count == 0 || mine[0] == 1000 + (me + members - 1) % members);
    OK(MPI_Win_free(&win));
}

/* Ranks pass a token by plain stores and wait for it with MPI_Win_sync. */
static void token(void)
{
    MPI_Win win;
    volatile int *mine, *next;
    MPI_Aint bytes;
    int unit, *base, *there;
    OK(MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, node, &base, &win));
    mine = base;
    OK(MPI_Win_shared_query(win, (me + 1) % members, &bytes, &unit, &there));
    next = there;
    *mine = 0;
    OK(MPI_Win_lock_all(0, win));
    MPI_Barrier(node);
    for (int round = 1; round <= 3; round++) {
        if (me > 0)
            while (*mine != round)
                MPI_Win_sync(win);
        if (members > 1)
            *next = round;
        OK(MPI_Win_sync(win));
        if (me == 0 && members > 1)
            while (*mine != round)
                MPI_Win_sync(win);
    }
    CHECK(members == 1 || *mine == 3);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "strict_rma_shared");
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Comm_rank(node, &me));
    OK(MPI_Comm_size(node, &members));
    parts(NULL);
    parts("true");
    parts("false");
    token();
    OK(MPI_Comm_free(&node));
    return finish();
}
