/* Functions of MPI 4 and constants of the binary interface. Rank 0 prints one line per check. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;

static void say(const char *what, int holds)
{
    int all;
    MPI_Reduce(&holds, &all, 1, MPI_INT, MPI_LAND, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s: %s\n", what, all ? "yes" : "no");
}

static void exchanges(void)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size, out = rank, in = -1, both = rank;
    MPI_Request requests[3];
    MPI_Status statuses[3];
    MPI_Isendrecv(&out, 1, MPI_INT, to, 3, &in, 1, MPI_INT, from, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Isendrecv_replace(&both, 1, MPI_INT, to, 4, from, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Isendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, statuses);
    say("data", in == from && both == from);
    say("sources", statuses[0].MPI_SOURCE == from && statuses[2].MPI_SOURCE == MPI_PROC_NULL);
    say("tags", statuses[0].MPI_TAG == 3 && statuses[1].MPI_TAG == 4);
}

static void handles(void)
{
    char bytes[2] = {0, 0};
    MPI_Win win;
    MPI_Win_create(bytes, 2, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Accumulate(bytes, 0, MPI_BYTE, 0, 0, 0, MPI_BYTE, MPI_SUM, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    say("sum of no bytes", 1);
}

static void cancels(void)
{
    int out = rank, in = -1, done = 1;
    MPI_Request request;
    MPI_Issend(&out, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
    say("a send that no receive has matched is incomplete", !done);
    MPI_Recv(&in, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    while (!done)
        MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    say("a send that a receive has matched is complete", in == rank);
}

#ifdef MPICH
static void add(void *from, void *to, MPI_Count *count, MPI_Datatype *type)
{
    for (MPI_Count i = 0; i < *count; i++)
        ((int *)to)[i] += *type == MPI_INT ? ((int *)from)[i] : 0;
}

static int give_up(void *extra)
{
    (void)extra;
    return MPI_ERR_BUFFER;
}

static int query(void *extra, MPI_Status *status)
{
    (void)extra, (void)status;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

static void interface(void)
{
    int ones[3] = {1, 1, 1}, sums[3], version, subversion, code, class, is_error, flag = 1;
    char buffer[4 + MPI_BSEND_OVERHEAD], name[MPI_MAX_OBJECT_NAME];
    void *detached;
    MPI_Op op;
    MPI_Info info;
    MPI_Message message;
    MPI_Request request;
    MPI_Status status = {0};
    MPI_Op_create_c(add, 1, &op);
    MPI_Allreduce(ones, sums, 3, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    say("large operation", sums[0] == size && sums[2] == size);
    MPI_Get_version(&version, &subversion);
    say("version", version == MPI_VERSION && subversion == MPI_SUBVERSION);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    say("added codes follow the last one", class > MPI_ERR_LASTCODE && code > MPI_ERR_LASTCODE);
    MPI_Error_class(code, &is_error);
    say("class of an added code", is_error == class);
    status.MPI_SOURCE = 7;
    MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status);
    say("a probe without a message leaves the status", !flag && status.MPI_SOURCE == 7);
    MPI_Buffer_attach(buffer, sizeof buffer);
    code = MPI_Bsend(ones, 1, MPI_INT, rank, 6, MPI_COMM_WORLD);
    MPI_Recv(sums, 1, MPI_INT, rank, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&detached, &flag);
    say("overhead of buffered sends", code == MPI_SUCCESS && sums[0] == 1);
    MPI_Grequest_start(query, give_up, cancel, NULL, &request);
    MPI_Grequest_complete(request);
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Error_class(code, &class);
    say("error of a free function", class == MPI_ERR_BUFFER);
    MPI_Info_create_env(0, NULL, &info);
    MPI_Info_get_nkeys(info, &flag);
    MPI_Info_free(&info);
    say("environment", flag > 0);
    MPI_Type_get_name(MPIX_C_FLOAT16, name, &flag);
    say("name of half precision", flag > 0);
}
#endif

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    exchanges();
    handles();
    cancels();
#ifdef MPICH
    interface();
#endif
    MPI_Finalize();
    return 0;
}
