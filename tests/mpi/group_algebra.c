/* Checks groups: set operations, ranges, translation, comparison (MPI-3.1, section 6.3), on the group of the world and
   parts of it. */
#include "check.h"

static MPI_Group world;

/* The group has exactly these world ranks, in this order. */
static void is(MPI_Group group, int count, const int *ranks)
{
    int members = -1, place = -2, *found = malloc((count + 1) * sizeof(int)), *own = malloc((count + 1) * sizeof(int)),
        good = 1;
    OK(MPI_Group_size(group, &members));
    CHECK(members == count);
    for (int i = 0; i < count; i++)
        own[i] = i;
    if (members == count && count > 0) {
        OK(MPI_Group_translate_ranks(group, count, own, world, found));
        for (int i = 0; i < count; i++)
            good = good && found[i] == ranks[i];
        CHECK(good);
    }
    OK(MPI_Group_rank(group, &place));
    int expected = MPI_UNDEFINED;
    for (int i = 0; i < count; i++)
        expected = ranks[i] == rank ? i : expected;
    CHECK(place == expected);
    free(found);
    free(own);
}

static void freed(MPI_Group *group)
{
    OK(MPI_Group_free(group));
    CHECK(*group == MPI_GROUP_NULL);
}

static void every(void)
{
    int *all = malloc(size * sizeof(int)), compared = -1;
    MPI_Group turned, none, both, same;
    for (int r = 0; r < size; r++)
        all[r] = size - 1 - r;
    OK(MPI_Group_incl(world, size, all, &turned));
    is(turned, size, all);
    OK(MPI_Group_compare(world, turned, &compared));
    CHECK(compared == (size == 1 ? MPI_IDENT : MPI_SIMILAR));
    OK(MPI_Group_union(turned, world, &both));
    is(both, size, all);
    freed(&both);
    OK(MPI_Group_difference(world, turned, &none));
    is(none, 0, NULL);
    OK(MPI_Group_compare(none, MPI_GROUP_EMPTY, &compared));
    CHECK(compared == MPI_IDENT);
    OK(MPI_Group_union(none, turned, &both));
    is(both, size, all);
    freed(&both);
    freed(&none);
    OK(MPI_Group_intersection(turned, world, &both));
    is(both, size, all);
    OK(MPI_Group_compare(both, turned, &compared));
    CHECK(compared == MPI_IDENT);
    freed(&both);
    OK(MPI_Group_excl(world, size, all, &none));
    is(none, 0, NULL);
    freed(&none);
    OK(MPI_Group_excl(turned, 0, NULL, &same));
    is(same, size, all);
    freed(&same);
    OK(MPI_Group_incl(world, 0, NULL, &none));
    is(none, 0, NULL);
    freed(&none);
    freed(&turned);
    free(all);
}

static void parts(void)
{
    MPI_Group even, low, made;
    int expected[64], count = 0, compared, range[1][3] = {{0, size - 1, 2}}, half[1][3] = {{(size - 1) / 2, 0, -1}};
    OK(MPI_Group_range_incl(world, 1, range, &even));
    for (int r = 0; r < size; r += 2)
        expected[count++] = r;
    is(even, count, expected);
    OK(MPI_Group_range_incl(world, 1, half, &low));
    count = 0;
    for (int r = (size - 1) / 2; r >= 0; r--)
        expected[count++] = r;
    is(low, count, expected);
    OK(MPI_Group_compare(even, low, &compared));
    CHECK(compared == (size <= 2 ? MPI_IDENT : MPI_UNEQUAL));
    OK(MPI_Group_union(even, low, &made));
    count = 0;
    for (int r = 0; r < size; r += 2)
        expected[count++] = r;
    for (int r = (size - 1) / 2; r >= 0; r--)
        if (r % 2)
            expected[count++] = r;
    is(made, count, expected);
    freed(&made);
    OK(MPI_Group_intersection(low, even, &made));
    count = 0;
    for (int r = (size - 1) / 2; r >= 0; r--)
        if (r % 2 == 0)
            expected[count++] = r;
    is(made, count, expected);
    freed(&made);
    OK(MPI_Group_difference(even, low, &made));
    count = 0;
    for (int r = 0; r < size; r += 2)
        if (r > (size - 1) / 2)
            expected[count++] = r;
    is(made, count, expected);
    freed(&made);
    OK(MPI_Group_range_excl(world, 1, range, &made));
    count = 0;
    for (int r = 1; r < size; r += 2)
        expected[count++] = r;
    is(made, count, expected);
    freed(&made);
    freed(&even);
    freed(&low);
}

/* The example of the standard for ranges, on ten members made of as many as there are. */
static void ranges(void)
{
    int three[3][3] = {{3, 4, 1}, {2, 0, -2}, {1, 1, 5}}, expected[5] = {3, 4, 2, 0, 1};
    MPI_Group made, one;
    if (size < 5)
        return;
    OK(MPI_Group_range_incl(world, 3, three, &made));
    is(made, 5, expected);
    OK(MPI_Group_incl(made, 2, (int[]){4, 0}, &one));
    is(one, 2, (int[]){1, 3});
    freed(&one);
    OK(MPI_Group_range_excl(made, 1, (int[][3]){{0, 3, 3}}, &one));
    is(one, 3, (int[]){4, 2, 1});
    freed(&one);
    freed(&made);
}

static void translation(void)
{
    MPI_Group last, self;
    int ranks[3] = {0, MPI_PROC_NULL, size - 1}, found[3] = {-5, -5, -5}, members = 0;
    OK(MPI_Group_incl(world, 1, (int[]){size - 1}, &last));
    OK(MPI_Group_translate_ranks(world, 3, ranks, last, found));
    CHECK(found[0] == (size == 1 ? 0 : MPI_UNDEFINED) && found[1] == MPI_PROC_NULL && found[2] == 0);
    OK(MPI_Comm_group(MPI_COMM_SELF, &self));
    OK(MPI_Group_size(self, &members));
    OK(MPI_Group_translate_ranks(self, 1, ranks, world, found));
    CHECK(members == 1 && found[0] == rank);
    freed(&self);
    freed(&last);
}

static void errors(void)
{
    MPI_Group made;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_Group_incl(world, 1, (int[]){size}, &made), MPI_ERR_RANK);
    FAILS(MPI_Group_incl(world, 1, (int[]){-1}, &made), MPI_ERR_RANK);
    FAILS(MPI_Group_excl(world, 1, (int[]){size}, &made), MPI_ERR_RANK);
    CHECK(MPI_Group_range_incl(world, 1, (int[][3]){{0, size, 1}}, &made) != MPI_SUCCESS);
    CHECK(MPI_Group_range_incl(world, 1, (int[][3]){{0, 0, 0}}, &made) != MPI_SUCCESS);
    FAILS(MPI_Group_size(MPI_GROUP_NULL, &(int){0}), MPI_ERR_GROUP);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "group_algebra");
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    every();
    if (size <= 64)
        parts();
    ranges();
    translation();
    errors();
    freed(&world);
    return finish();
}
