/* Functions as called with `use mpi_f08`. MPI libraries implement most of these functions by calls of other functions,
 * which record the call. This file has the other functions: under Open MPI and MPICH those with logical arguments,
 * under MPICH also those without a buffer. Handles and statuses are the same as with `use mpi`; the last argument is
 * optional. */

typedef void *A; /* All arguments are passed by address. */

#ifdef OPEN_MPI
#define PLAIN(status) (status)
#else
/* MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE of `mpi_f08` have other addresses than those of `use mpi`, which are null
 * until the first function of `use mpi` is called. Returns the address for `use mpi`. */
static A PLAIN(A status)
{
    MPI_F08_status **one = VARIABLE(MPI_F08_STATUS_IGNORE), **all = VARIABLE(MPI_F08_STATUSES_IGNORE);
    MPI_Fint **plain = VARIABLE(MPI_F_STATUS_IGNORE), **plain_all = VARIABLE(MPI_F_STATUSES_IGNORE);
    int is_one = one && status == *one, is_all = all && status == *all;
    if (!is_one && !is_all)
        return status;
    if (!*plain) {
        MPI_Fint flag, error;
        REAL_FORTRAN(initialized, (MPI_Fint *, MPI_Fint *))(&flag, &error);
    }
    return is_one ? *plain : *plain_all;
}
#endif

#define F08(name, parameters, arguments)                                                                                 \
    void mpi_##name##_f08_ parameters                                                                                    \
    {                                                                                                                    \
        MPI_Fint own_error;                                                                                              \
        error = error ? error : &own_error;                                                                              \
        mpi_##name##_ arguments;                                                                                         \
    }

F08(test, (A request, A flag, A status, A error), (request, flag, PLAIN(status), error))
F08(testall, (A count, A requests, A flag, A statuses, A error), (count, requests, flag, PLAIN(statuses), error))
F08(testany, (A count, A requests, A index, A flag, A status, A error),
    (count, requests, index, flag, PLAIN(status), error))
F08(testsome, (A count, A requests, A found, A indices, A statuses, A error),
    (count, requests, found, indices, PLAIN(statuses), error))
F08(iprobe, (A from, A tag, A comm, A flag, A status, A error), (from, tag, comm, flag, PLAIN(status), error))
F08(improbe, (A from, A tag, A comm, A flag, A message, A status, A error),
    (from, tag, comm, flag, message, PLAIN(status), error))
F08(cart_create, (A comm, A n, A dims, A periods, A reorder, A made, A error),
    (comm, n, dims, periods, reorder, made, error))
F08(cart_sub, (A comm, A remain, A made, A error), (comm, remain, made, error))
F08(graph_create, (A comm, A n, A index, A edges, A reorder, A made, A error),
    (comm, n, index, edges, reorder, made, error))
F08(dist_graph_create_adjacent,
    (A comm, A in, A sources, A weights, A out, A destinations, A others, A info, A reorder, A made, A error),
    (comm, in, sources, weights, out, destinations, others, info, reorder, made, error))

#ifndef OPEN_MPI
F08(wait, (A request, A status, A error), (request, PLAIN(status), error))
F08(waitall, (A count, A requests, A statuses, A error), (count, requests, PLAIN(statuses), error))
F08(waitany, (A count, A requests, A index, A status, A error), (count, requests, index, PLAIN(status), error))
F08(waitsome, (A count, A requests, A found, A indices, A statuses, A error),
    (count, requests, found, indices, PLAIN(statuses), error))
F08(start, (A request, A error), (request, error))
F08(startall, (A count, A requests, A error), (count, requests, error))
F08(request_free, (A request, A error), (request, error))
F08(cancel, (A request, A error), (request, error))
F08(probe, (A from, A tag, A comm, A status, A error), (from, tag, comm, PLAIN(status), error))
F08(mprobe, (A from, A tag, A comm, A message, A status, A error), (from, tag, comm, message, PLAIN(status), error))
F08(barrier, (A comm, A error), (comm, error))
F08(ibarrier, (A comm, A request, A error), (comm, request, error))
F08(comm_dup, (A comm, A made, A error), (comm, made, error))
F08(comm_create, (A comm, A group, A made, A error), (comm, group, made, error))
F08(comm_create_group, (A comm, A group, A tag, A made, A error), (comm, group, tag, made, error))
F08(comm_split, (A comm, A colour, A key, A made, A error), (comm, colour, key, made, error))
F08(comm_split_type, (A comm, A type, A key, A info, A made, A error), (comm, type, key, info, made, error))
F08(comm_free, (A comm, A error), (comm, error))
F08(comm_disconnect, (A comm, A error), (comm, error))
F08(comm_idup, (A comm, A made, A request, A error), (comm, made, request, error))
F08(intercomm_create, (A comm, A leader, A peers, A remote, A tag, A made, A error),
    (comm, leader, peers, remote, tag, made, error))
F08(win_create_dynamic, (A info, A comm, A win, A error), (info, comm, win, error))

void mpi_init_f08_(MPI_Fint *error)
{
    MPI_Fint own_error = 0;
    start_mpi();
    error = error ? error : &own_error;
    depth++;
    ((void (*)(MPI_Fint *))SYMBOL("pmpir_init_f08_"))(error);
    if (depth == 1)
        begin_after_init((int)*error);
    depth--;
}

void mpi_init_thread_f08_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *error)
{
    MPI_Fint own_error = 0;
    start_mpi();
    error = error ? error : &own_error;
    depth++;
    ((void (*)(MPI_Fint *, MPI_Fint *, MPI_Fint *))SYMBOL("pmpir_init_thread_f08_"))(required, provided, error);
    if (depth == 1)
        begin_after_init((int)*error);
    depth--;
}

void mpi_finalize_f08_(MPI_Fint *error)
{
    MPI_Fint own_error;
    find_mpi();
    if (depth == 0)
        before_finalize();
    depth++;
    ((void (*)(MPI_Fint *))SYMBOL("pmpir_finalize_f08_"))(error ? error : &own_error);
    depth--;
}

F08(abort, (A comm, A code, A error), (comm, code, error))
void mpi_pcontrol_f08_(MPI_Fint *level)
{
    control((int)*level);
}
#endif
