/* Checks error handlers, predefined and of the program, and error classes, codes and texts, also added ones (MPI-3.1,
   sections 8.3 to 8.5). */
#include "check.h"

static int called, seen;
static MPI_Comm where;

static void handler(MPI_Comm *comm, int *code, ...)
{
    called++;
    seen = *code;
    where = *comm;
}

static void handlers(void)
{
    MPI_Errhandler made, back;
    MPI_Comm copy, second;
    int value = 0;
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &back));
    CHECK(back == MPI_ERRORS_ARE_FATAL);
    OK(MPI_Errhandler_free(&back));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    OK(MPI_Comm_create_errhandler(handler, &made));
    OK(MPI_Comm_set_errhandler(copy, made));
    OK(MPI_Comm_get_errhandler(copy, &back));
    CHECK(back == made);
    OK(MPI_Errhandler_free(&back));
    CHECK(back == MPI_ERRHANDLER_NULL);
    /* A handler that is freed stays where it is in use. */
    OK(MPI_Errhandler_free(&made));
    int code = MPI_Send(&value, 1, MPI_INT, size, 0, copy);
    CHECK(called == 1 && seen == code && class_of(code) == MPI_ERR_RANK && where == copy);
    code = MPI_Bcast(&value, 1, MPI_INT, size, copy);
    CHECK(called == 2 && class_of(code) == MPI_ERR_ROOT);
    /* Made communicators inherit it. */
    OK(MPI_Comm_dup(copy, &second));
    code = MPI_Send(&value, 1, MPI_INT, 0, -9, second);
    CHECK(called == 3 && class_of(code) == MPI_ERR_TAG && where == second);
    OK(MPI_Comm_call_errhandler(second, MPI_ERR_OTHER));
    CHECK(called == 4 && seen == MPI_ERR_OTHER);
    OK(MPI_Comm_set_errhandler(second, MPI_ERRORS_RETURN));
    code = MPI_Send(&value, 1, MPI_INT, 0, -9, second);
    CHECK(called == 4 && class_of(code) == MPI_ERR_TAG);
    OK(MPI_Comm_free(&second));
    OK(MPI_Comm_free(&copy));
}

static void classes(void)
{
    static const int all[] = {MPI_SUCCESS, MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_TAG, MPI_ERR_COMM,
                              MPI_ERR_RANK,
                              MPI_ERR_REQUEST, MPI_ERR_ROOT, MPI_ERR_GROUP, MPI_ERR_OP, MPI_ERR_TOPOLOGY, MPI_ERR_DIMS,
                                  MPI_ERR_ARG,
                              MPI_ERR_UNKNOWN, MPI_ERR_TRUNCATE, MPI_ERR_OTHER, MPI_ERR_INTERN, MPI_ERR_IN_STATUS,
                                  MPI_ERR_PENDING,
                              MPI_ERR_KEYVAL, MPI_ERR_NO_MEM, MPI_ERR_BASE, MPI_ERR_INFO_KEY, MPI_ERR_INFO_VALUE,
                                  MPI_ERR_INFO_NOKEY,
                              MPI_ERR_SPAWN, MPI_ERR_WIN, MPI_ERR_SIZE, MPI_ERR_DISP, MPI_ERR_INFO, MPI_ERR_LOCKTYPE,
                                  MPI_ERR_ASSERT,
                              MPI_ERR_RMA_CONFLICT, MPI_ERR_RMA_SYNC, MPI_ERR_FILE, MPI_ERR_RMA_RANGE,
                                  MPI_ERR_RMA_ATTACH,
                              MPI_ERR_RMA_SHARED, MPI_ERR_RMA_FLAVOR};
    int n = (int)(sizeof all / sizeof *all), good = 1;
    CHECK(MPI_SUCCESS == 0);
    for (int i = 0; i < n; i++) {
        char text[MPI_MAX_ERROR_STRING] = "";
        int length = -1;
        OK(MPI_Error_string(all[i], text, &length));
        CHECK(class_of(all[i]) == all[i] && length > 0 && length == (int)strlen(text) && all[i] <= MPI_ERR_LASTCODE);
        for (int k = 0; k < i; k++)
            good = good && all[k] != all[i];
    }
    CHECK(good);
}

static void added(void)
{
    int class, code, second, flag = 0, *last = NULL, length = -1;
    char text[MPI_MAX_ERROR_STRING];
    OK(MPI_Add_error_class(&class));
    CHECK(class > MPI_ERR_LASTCODE);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
    CHECK(flag && *last >= class);
    OK(MPI_Add_error_code(class, &code));
    OK(MPI_Add_error_code(class, &second));
    CHECK(code != second && class_of(code) == class && class_of(second) == class);
    OK(MPI_Add_error_string(class, "a class of the program"));
    OK(MPI_Add_error_string(code, "a code of the program"));
    OK(MPI_Error_string(class, text, &length));
    CHECK(strcmp(text, "a class of the program") == 0 && length == 22);
    OK(MPI_Error_string(code, text, &length));
    CHECK(strcmp(text, "a code of the program") == 0);
    OK(MPI_Error_string(second, text, &length));
    CHECK(length == (int)strlen(text));
    called = 0;
    MPI_Errhandler made;
    MPI_Comm copy;
    OK(MPI_Comm_dup(MPI_COMM_SELF, &copy));
    OK(MPI_Comm_create_errhandler(handler, &made));
    OK(MPI_Comm_set_errhandler(copy, made));
    OK(MPI_Comm_call_errhandler(copy, code));
    CHECK(called == 1 && seen == code);
    OK(MPI_Errhandler_free(&made));
    OK(MPI_Comm_free(&copy));
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "env_errors");
    handlers();
    classes();
    added();
    return finish();
}
