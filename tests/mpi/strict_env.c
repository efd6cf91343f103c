/* Checks what the standard says of the environment and some MPI gets wrong; each place names it. */
#include "check.h"

int main(int argc, char **argv)
{
    int class, code, second, length = -1, flag = 0;
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "", value[MPI_MAX_INFO_VAL + 1] = "";
    MPI_Info info;
    start(&argc, &argv, "strict_env");
    /* The length is that of the text (section 8.1.1); Open MPI 4.1 counts its end. */
    OK(MPI_Get_library_version(text, &length));
    CHECK(length == (int)strlen(text));
    /* The class of an added code is the one it was added to (section 8.5); Open MPI 4.1 forgets it for the class
       itself. */
    OK(MPI_Add_error_class(&class));
    OK(MPI_Add_error_code(class, &code));
    OK(MPI_Add_error_code(class, &second));
    CHECK(class_of(code) == class && class_of(second) == class);
    CHECK(class_of(class) == class);
    /* A value is cut at the length asked for (chapter 9); MPICH 4.0 returns an error. */
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "key", "a value with spaces"));
    OK(MPI_Info_get(info, "key", 7, value, &flag));
    CHECK(flag && strcmp(value, "a value") == 0);
    OK(MPI_Info_free(&info));
    return finish();
}
