/* Checks info objects (MPI-3.1, chapter 9). */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Info info, copy;
    int n = -1, flag = -1, length = -1;
    char value[MPI_MAX_INFO_VAL + 1], key[MPI_MAX_INFO_KEY + 1];
    start(&argc, &argv, "env_info");
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK(MPI_MAX_INFO_KEY >= 32 && MPI_MAX_INFO_VAL >= 64);
    OK(MPI_Info_create(&info));
    OK(MPI_Info_get_nkeys(info, &n));
    CHECK(n == 0 && info != MPI_INFO_NULL);
    OK(MPI_Info_set(info, "first", "one"));
    OK(MPI_Info_set(info, "second", "a value with spaces"));
    OK(MPI_Info_set(info, "third", "3"));
    OK(MPI_Info_set(info, "first", "another one"));
    OK(MPI_Info_get_nkeys(info, &n));
    CHECK(n == 3);
    OK(MPI_Info_get(info, "first", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(flag && strcmp(value, "another one") == 0);
    strcpy(value, "untouched");
    OK(MPI_Info_get(info, "fourth", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(!flag && strcmp(value, "untouched") == 0);
    OK(MPI_Info_get_valuelen(info, "second", &length, &flag));
    CHECK(flag && length == 19);
    OK(MPI_Info_get_valuelen(info, "fourth", &length, &flag));
    CHECK(!flag);
    OK(MPI_Info_dup(info, &copy));
    OK(MPI_Info_delete(info, "first"));
    OK(MPI_Info_get_nkeys(info, &n));
    CHECK(n == 2);
    OK(MPI_Info_get(info, "first", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(!flag);
    FAILS(MPI_Info_delete(info, "first"), MPI_ERR_INFO_NOKEY);
    OK(MPI_Info_get_nkeys(copy, &n));
    OK(MPI_Info_get(copy, "first", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(n == 3 && flag && strcmp(value, "another one") == 0);
    static const char *keys[3] = {"first", "second", "third"};
    for (int i = 0; i < 3; i++) {
        OK(MPI_Info_get_nthkey(copy, i, key));
        CHECK(strcmp(key, keys[i]) == 0);
    }
    CHECK(MPI_Info_get_nthkey(copy, 3, key) != MPI_SUCCESS);

    char *long_text = malloc(MPI_MAX_INFO_VAL + 2);
    memset(long_text, 'k', MPI_MAX_INFO_VAL + 1);
    long_text[MPI_MAX_INFO_VAL + 1] = '\0';
    FAILS(MPI_Info_set(copy, long_text, "x"), MPI_ERR_INFO_KEY);
    FAILS(MPI_Info_set(copy, "", "x"), MPI_ERR_INFO_KEY);
    FAILS(MPI_Info_set(copy, "x", long_text), MPI_ERR_INFO_VALUE);
    long_text[MPI_MAX_INFO_VAL - 1] = '\0';
    OK(MPI_Info_set(copy, "x", long_text));
    OK(MPI_Info_get_valuelen(copy, "x", &length, &flag));
    CHECK(flag && length == MPI_MAX_INFO_VAL - 1);
    free(long_text);
    OK(MPI_Info_free(&info));
    OK(MPI_Info_free(&copy));
    CHECK(info == MPI_INFO_NULL && copy == MPI_INFO_NULL);

    OK(MPI_Info_get_nkeys(MPI_INFO_ENV, &n));
    CHECK(n >= 0);
    return finish();
}
