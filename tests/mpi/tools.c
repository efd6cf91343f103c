/* Checks the tool information interface (MPI-3.1, section 14.3), whatever variables a library has. */
#include "check.h"

int main(int argc, char **argv)
{
    int provided = -1, count = -1, index = -1, length = 0, good = 1;
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL, other = MPI_T_PVAR_SESSION_NULL;
    program = "tools";
    /* It may be used before MPI_Init. */
    CHECK(MPI_T_cvar_get_num(&count) == MPI_T_ERR_NOT_INITIALIZED);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    CHECK(provided >= MPI_THREAD_SINGLE && provided <= MPI_THREAD_MULTIPLE);
    start(&argc, &argv, "tools");

    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_finalize());
    OK(MPI_T_cvar_get_num(&count));
    CHECK(count >= 0);
    for (int i = 0; i < count; i++) {
        char name[256] = "", text[4096];
        int name_length = sizeof name, text_length = sizeof text, verbosity, bind, scope;
        MPI_Datatype type;
        MPI_T_enum kind;
        /* A library may hide one by this error. */
        int code = MPI_T_cvar_get_info(i, name, &name_length, &verbosity, &type, &kind, text, &text_length, &bind, &scope);
        good &= code == MPI_T_ERR_INVALID_INDEX ||
            (code == MPI_SUCCESS && verbosity >= MPI_T_VERBOSITY_USER_BASIC && scope >= MPI_T_SCOPE_CONSTANT);
    }
    CHECK(good);
    FAILS(MPI_T_cvar_get_index("no such variable", &index), MPI_T_ERR_INVALID_NAME);
    OK(MPI_T_pvar_get_num(&count));
    CHECK(count >= 0);
    FAILS(MPI_T_pvar_get_index("no such variable", MPI_T_PVAR_CLASS_COUNTER, &index), MPI_T_ERR_INVALID_NAME);
    OK(MPI_T_category_get_num(&count));
    CHECK(count >= 0);
    FAILS(MPI_T_category_get_index("no such category", &index), MPI_T_ERR_INVALID_NAME);

    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_T_pvar_session_create(&other));
    CHECK(session != MPI_T_PVAR_SESSION_NULL && other != MPI_T_PVAR_SESSION_NULL);
    OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    OK(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_pvar_session_free(&other));
    CHECK(session == MPI_T_PVAR_SESSION_NULL && other == MPI_T_PVAR_SESSION_NULL);

    char text[MPI_MAX_ERROR_STRING] = "";
    OK(MPI_Error_string(MPI_T_ERR_INVALID_NAME, text, &length));
    CHECK(length > 0 && length == (int)strlen(text));
    OK(MPI_T_finalize());
    FAILS(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
    return finish();
}
