/* Checks making communicators: dup, split, create, create_group, split_type, idup, compare, names (MPI-3.1, sections
   6.4 and 6.8). */
#include "check.h"

static int compared(MPI_Comm a, MPI_Comm b)
{
    int result = -1;
    OK(MPI_Comm_compare(a, b, &result));
    return result;
}

/* The communicator works: a ring and a sum. */
static void works(MPI_Comm comm)
{
    int r, n, value = -1, sum = -1;
    OK(MPI_Comm_rank(comm, &r));
    OK(MPI_Comm_size(comm, &n));
    OK(MPI_Sendrecv(&r, 1, MPI_INT, (r + 1) % n, 1, &value, 1, MPI_INT, (r + n - 1) % n, 1, comm, MPI_STATUS_IGNORE));
    CHECK(value == (r + n - 1) % n);
    OK(MPI_Allreduce(&r, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == n * (n - 1) / 2);
}

static void freed(MPI_Comm *comm)
{
    OK(MPI_Comm_free(comm));
    CHECK(*comm == MPI_COMM_NULL);
}

static void predefined(void)
{
    int r = -1, n = -1, inter = -1;
    OK(MPI_Comm_rank(MPI_COMM_SELF, &r));
    OK(MPI_Comm_size(MPI_COMM_SELF, &n));
    OK(MPI_Comm_test_inter(MPI_COMM_WORLD, &inter));
    CHECK(r == 0 && n == 1 && inter == 0);
    CHECK(compared(MPI_COMM_WORLD, MPI_COMM_WORLD) == MPI_IDENT);
    CHECK(compared(MPI_COMM_WORLD, MPI_COMM_SELF) == (size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL));
    works(MPI_COMM_WORLD);
    works(MPI_COMM_SELF);
}

static void copies(void)
{
    MPI_Comm copy, second, info_copy;
    MPI_Request request;
    MPI_Info info;
    int value = -1;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    CHECK(compared(MPI_COMM_WORLD, copy) == MPI_CONGRUENT && copy != MPI_COMM_WORLD);
    works(copy);
    OK(MPI_Comm_idup(copy, &second, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(compared(second, MPI_COMM_WORLD) == MPI_CONGRUENT && compared(second, copy) == MPI_CONGRUENT);
    works(second);
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "some_hint", "yes"));
    OK(MPI_Comm_dup_with_info(copy, info, &info_copy));
    OK(MPI_Info_free(&info));
    OK(MPI_Comm_get_info(info_copy, &info));
    CHECK(info != MPI_INFO_NULL);
    OK(MPI_Info_free(&info));
    works(info_copy);
    /* A communicator that is freed with a message under way still delivers it. */
    MPI_Request receive;
    OK(MPI_Irecv(&value, 1, MPI_INT, (rank + size - 1) % size, 3, copy, &receive));
    OK(MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 3, copy, &request));
    freed(&copy);
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(value == (rank + size - 1) % size);
    works(second);
    freed(&second);
    freed(&info_copy);
}

static void splits(void)
{
    MPI_Comm part, none, shared;
    int r, n;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part));
    OK(MPI_Comm_rank(part, &r));
    OK(MPI_Comm_size(part, &n));
    CHECK(n == (size + 1 - rank % 2) / 2 && r == n - 1 - rank / 2);
    works(part);
    CHECK(compared(part, MPI_COMM_WORLD) == (size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL));
    freed(&part);
    /* Equal keys leave the order as it is; keys need not be ranks; MPI_UNDEFINED is in none. */
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 7, 1000, &none));
    if (rank == 0) {
        CHECK(none == MPI_COMM_NULL);
    } else {
        OK(MPI_Comm_rank(none, &r));
        OK(MPI_Comm_size(none, &n));
        CHECK(r == rank - 1 && n == size - 1);
        works(none);
        freed(&none);
    }
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &part));
    CHECK(compared(part, MPI_COMM_WORLD) == (size == 1 ? MPI_CONGRUENT : MPI_SIMILAR));
    works(part);
    MPI_Comm inner;
    OK(MPI_Comm_split(part, rank < size / 2, 0, &inner));
    OK(MPI_Comm_rank(inner, &r));
    CHECK(r == (rank < size / 2 ? size / 2 - 1 - rank : size - 1 - rank));
    works(inner);
    freed(&inner);
    freed(&part);
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &shared));
    OK(MPI_Comm_size(shared, &n));
    CHECK(n >= 1 && n <= size);
    works(shared);
    freed(&shared);
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, rank, MPI_INFO_NULL, &shared));
    CHECK(shared == MPI_COMM_NULL);
}

static void created(void)
{
    MPI_Group world, odd, own;
    MPI_Comm made;
    int result = -1, range[1][3] = {{(size - 1) - (size % 2), 1, -2}};
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    if (size >= 2) {
        /* The odd ranks, the last first. */
        OK(MPI_Group_range_incl(world, 1, range, &odd));
        OK(MPI_Comm_create(MPI_COMM_WORLD, odd, &made));
        CHECK((made != MPI_COMM_NULL) == rank % 2);
        if (rank % 2) {
            int r = -1;
            OK(MPI_Comm_rank(made, &r));
            OK(MPI_Comm_group(made, &own));
            OK(MPI_Group_compare(own, odd, &result));
            CHECK(result == MPI_IDENT && r == size / 2 - 1 - rank / 2);
            OK(MPI_Group_free(&own));
            works(made);
            freed(&made);
            /* Only its members take part. */
            OK(MPI_Comm_create_group(MPI_COMM_WORLD, odd, 42, &made));
            works(made);
            freed(&made);
        } else {
            /* Others need not call; who does gets nothing. */
            OK(MPI_Comm_create_group(MPI_COMM_WORLD, odd, 42, &made));
            CHECK(made == MPI_COMM_NULL);
        }
        OK(MPI_Group_free(&odd));
    }
    /* Disjoint groups at once. */
    int half[1][3] = {{0, size / 2, 1}}, rest[1][3] = {{size / 2 + 1, size - 1, 1}};
    if (size >= 2 && size / 2 + 1 <= size - 1) {
        OK(MPI_Group_range_incl(world, 1, rank <= size / 2 ? half : rest, &own));
        OK(MPI_Comm_create(MPI_COMM_WORLD, own, &made));
        CHECK(made != MPI_COMM_NULL);
        works(made);
        freed(&made);
        OK(MPI_Group_free(&own));
    }
    OK(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &made));
    CHECK(made == MPI_COMM_NULL);
    OK(MPI_Group_free(&world));
}

static void names(void)
{
    char name[MPI_MAX_OBJECT_NAME] = "x";
    int length = -1;
    MPI_Comm copy;
    OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
    CHECK(strcmp(name, "MPI_COMM_WORLD") == 0 && length == 14);
    OK(MPI_Comm_get_name(MPI_COMM_SELF, name, &length));
    CHECK(strcmp(name, "MPI_COMM_SELF") == 0 && length == 13);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    OK(MPI_Comm_set_name(copy, "a name with spaces"));
    OK(MPI_Comm_get_name(copy, name, &length));
    CHECK(strcmp(name, "a name with spaces") == 0 && length == 18);
    OK(MPI_Comm_set_name(copy, ""));
    OK(MPI_Comm_get_name(copy, name, &length));
    CHECK(name[0] == '\0' && length == 0);
    freed(&copy);
}

/* More than a thousand, made and freed, and a hundred at once. */
static void many(void)
{
    MPI_Comm comms[100];
    int sum = 0, one = 1, total = 0;
    for (int i = 0; i < 1000; i++) {
        MPI_Comm comm;
        if (MPI_Comm_dup(MPI_COMM_SELF, &comm) == MPI_SUCCESS && MPI_Comm_free(&comm) == MPI_SUCCESS)
            total++;
    }
    CHECK(total == 1000);
    for (int i = 0; i < 100; i++)
        MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? rank : -rank, &comms[i]);
    for (int i = 99; i >= 0; i--) {
        int part = 0;
        MPI_Allreduce(&one, &part, 1, MPI_INT, MPI_SUM, comms[i]);
        sum += part;
        MPI_Comm_free(&comms[i]);
    }
    CHECK(sum == 100 * size);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "comm_make");
    predefined();
    copies();
    splits();
    created();
    names();
    many();
    return finish();
}
