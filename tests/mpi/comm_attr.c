/* Checks attributes of communicators and datatypes with their callbacks, and the predefined ones (MPI-3.1, sections 6.7
   and 8.1.2). */
#include "check.h"

static int copied, deleted, extra = 5, refuse;

static int copy(MPI_Comm comm, int key, void *state, void *in, void *out, int *flag)
{
    (void)comm;
    (void)key;
    copied++;
    if (refuse)
        return MPI_ERR_OTHER;
    *(long *)out = (long)in + *(int *)state;
    *flag = (long)in != 13;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm;
    (void)key;
    (void)value;
    deleted += *(int *)state == 5;
    return MPI_SUCCESS;
}

static int copy_type(MPI_Datatype type, int key, void *state, void *in, void *out, int *flag)
{
    (void)type;
    (void)key;
    (void)state;
    copied++;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_type(MPI_Datatype type, int key, void *value, void *state)
{
    (void)type;
    (void)key;
    (void)value;
    (void)state;
    deleted++;
    return MPI_SUCCESS;
}

static long get(MPI_Comm comm, int key)
{
    void *value = NULL;
    int flag = 0;
    OK(MPI_Comm_get_attr(comm, key, &value, &flag));
    return flag ? (long)value : -1;
}

static void communicators(void)
{
    int key, second, third;
    MPI_Comm one, two;
    OK(MPI_Comm_create_keyval(copy, delete, &key, &extra));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &second, NULL));
    OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &third, NULL));
    CHECK(key != second && second != third && key != MPI_KEYVAL_INVALID);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &one));
    CHECK(get(one, key) == -1 && copied == 0);
    OK(MPI_Comm_set_attr(one, key, (void *)100L));
    OK(MPI_Comm_set_attr(one, second, (void *)200L));
    OK(MPI_Comm_set_attr(one, third, (void *)300L));
    CHECK(get(one, key) == 100 && get(one, second) == 200 && get(one, third) == 300);
    /* A new value deletes the old one. */
    OK(MPI_Comm_set_attr(one, key, (void *)101L));
    CHECK(get(one, key) == 101 && deleted == 1);
    OK(MPI_Comm_dup(one, &two));
    CHECK(copied == 1 && get(two, key) == 106 && get(two, second) == -1 && get(two, third) == 300);
    OK(MPI_Comm_delete_attr(two, key));
    CHECK(deleted == 2 && get(two, key) == -1 && get(one, key) == 101);
    OK(MPI_Comm_free(&two));
    CHECK(deleted == 2);
    OK(MPI_Comm_set_attr(one, key, (void *)13L));
    OK(MPI_Comm_dup(one, &two));
    CHECK(copied == 2 && get(two, key) == -1);
    OK(MPI_Comm_free(&two));
    /* A split copies none. */
    OK(MPI_Comm_split(one, 0, 0, &two));
    CHECK(copied == 2 && get(two, third) == -1);
    OK(MPI_Comm_free(&two));
    /* A key that is freed lives as long as it is in use. */
    int freed = key;
    OK(MPI_Comm_free_keyval(&freed));
    CHECK(freed == MPI_KEYVAL_INVALID && get(one, key) == 13);
    deleted = 0;
    OK(MPI_Comm_free(&one));
    CHECK(deleted == 1);
    OK(MPI_Comm_free_keyval(&second));
    OK(MPI_Comm_free_keyval(&third));
    /* A callback's error is the call's. */
    OK(MPI_Comm_create_keyval(copy, delete, &key, &extra));
    OK(MPI_Comm_dup(MPI_COMM_SELF, &one));
    OK(MPI_Comm_set_errhandler(one, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_attr(one, key, (void *)1L));
    refuse = 1;
    CHECK(MPI_Comm_dup(one, &two) != MPI_SUCCESS);
    refuse = 0;
    OK(MPI_Comm_free(&one));
    OK(MPI_Comm_free_keyval(&key));
}

static void types(void)
{
    int key, flag = 0;
    void *value = NULL;
    MPI_Datatype one, two;
    copied = deleted = 0;
    OK(MPI_Type_create_keyval(copy_type, delete_type, &key, NULL));
    OK(MPI_Type_contiguous(2, MPI_INT, &one));
    OK(MPI_Type_set_attr(one, key, &extra));
    OK(MPI_Type_get_attr(one, key, &value, &flag));
    CHECK(flag && value == (void *)&extra);
    OK(MPI_Type_dup(one, &two));
    OK(MPI_Type_get_attr(two, key, &value, &flag));
    CHECK(flag && value == (void *)&extra && copied == 1);
    OK(MPI_Type_delete_attr(two, key));
    OK(MPI_Type_get_attr(two, key, &value, &flag));
    CHECK(!flag && deleted == 1);
    OK(MPI_Type_free(&two));
    OK(MPI_Type_free(&one));
    CHECK(deleted == 2);
    OK(MPI_Type_free_keyval(&key));
    CHECK(key == MPI_KEYVAL_INVALID);
}

static void predefined(void)
{
    int flag = 0, *value = NULL;
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
    CHECK(flag && *value >= 32767);
    int most = *value, in = -1;
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, rank, most, &in, 1, MPI_INT, rank, most, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(in == rank);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag));
    CHECK(!flag || *value == 0 || *value == 1);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &value, &flag));
    CHECK(!flag || *value == MPI_PROC_NULL || (*value >= 0 && *value < size));
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag));
    CHECK(flag);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag));
    CHECK(!flag || *value >= 1);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag));
    CHECK(!flag || *value >= 0);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag));
    CHECK(flag && *value >= MPI_ERR_LASTCODE);
}

static int left;

/* An attribute of MPI_COMM_SELF is deleted first thing in MPI_Finalize, where MPI still works (section 8.7.1). */
static int leaving(MPI_Comm comm, int key, void *value, void *state)
{
    int finalized = -1, members = 0;
    (void)key;
    (void)value;
    (void)state;
    if (MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized)
        left += MPI_Comm_size(comm, &members) == MPI_SUCCESS && members == 1;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int key;
    start(&argc, &argv, "comm_attr");
    communicators();
    types();
    predefined();
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, leaving, &key, NULL));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL));
    int failed = finish();
    return failed || left != 1;
}
