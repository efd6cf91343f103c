/* Checks the names that MPI-3.0 removed or deprecated, where the header has them; skips where it has not. */
#include "check.h"

/* The MPI standard ABI and some libraries lack the removed names: they are used if the header says so, or is known to. */
#if defined(MPI_OLD_NAMES) || defined(MCPSIM) || defined(MPICH) || defined(MPICH_VERSION)
#define REMOVED 1
#else
#define REMOVED 0
#endif

static int deleted;

#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

static int copy(MPI_Comm comm, int key, void *state, void *in, void *out, int *flag)
{
    (void)comm;
    (void)key;
    (void)state;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)state;
    deleted++;
    return MPI_SUCCESS;
}

/* Deprecated since MPI-2.0, still in MPI-3.1. */
static void keys(void)
{
    int key, flag = 0, *value = NULL, mine = 5;
    MPI_Comm one, two;
    OK(MPI_Keyval_create(copy, delete, &key, NULL));
    OK(MPI_Comm_dup(MPI_COMM_SELF, &one));
    OK(MPI_Attr_put(one, key, &mine));
    OK(MPI_Comm_dup(one, &two));
    OK(MPI_Attr_get(two, key, &value, &flag));
    CHECK(flag && value == &mine);
    OK(MPI_Attr_delete(two, key));
    CHECK(deleted == 1);
    OK(MPI_Comm_free(&one));
    CHECK(deleted == 2);
    OK(MPI_Comm_free(&two));
    OK(MPI_Keyval_free(&key));
    OK(MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
    CHECK(flag && *value >= 32767);
}

#if REMOVED
static void removed(void)
{
    struct pair {
        int i;
        double d;
    } out = {7, 2.5}, in = {0, 0};
    int lengths[2] = {1, 1};
    MPI_Aint places[2], base, extent = -1, lb = -1, ub = -1;
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE}, type;
    OK(MPI_Address(&out, &base));
    OK(MPI_Address(&out.i, &places[0]));
    OK(MPI_Address(&out.d, &places[1]));
    places[0] -= base;
    places[1] -= base;
    OK(MPI_Type_struct(2, lengths, places, types, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Type_extent(type, &extent));
    OK(MPI_Type_lb(type, &lb));
    OK(MPI_Type_ub(type, &ub));
    CHECK(lb == 0 && ub == sizeof(struct pair) && extent == sizeof(struct pair));
    OK(MPI_Sendrecv(&out, 1, type, rank, 0, &in, 1, type, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(in.i == 7 && in.d == 2.5);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_hvector(2, 1, 8, MPI_INT, &type));
    OK(MPI_Type_extent(type, &extent));
    CHECK(extent == 12);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_hindexed(2, lengths, places, MPI_INT, &type));
    OK(MPI_Type_free(&type));
    OK(MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI_Errhandler handler;
    OK(MPI_Errhandler_get(MPI_COMM_WORLD, &handler));
    CHECK(handler == MPI_ERRORS_RETURN);
}
#endif

int main(int argc, char **argv)
{
    start(&argc, &argv, "old_names");
    keys();
#if REMOVED
    /* Uncounted, so that the last line is the same everywhere. */
    long counted = checks;
    removed();
    checks = counted;
#endif
    return finish();
}
