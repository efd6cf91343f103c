/* Collectives as called from Fortran. */

FORTRAN(barrier, (MPI_Fint *comm, MPI_Fint *ierr), (comm, ierr), , 1,
        note_barrier(F_Barrier, C(comm), NULL))
FORTRAN(ibarrier, (MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr), (comm, request, ierr), , 1,
        MPI_Request made = R(request); note_barrier(F_Ibarrier, C(comm), &made))
FORTRAN(bcast,
        (void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *ierr),
        (buf, count, type, root, comm, ierr),
        , 1,
        op_collective(F_Bcast, C(comm), (int)*root, 1, 0, NULL); op_same(buf, U(count), T(type)))
FORTRAN(ibcast,
        (void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
        (buf, count, type, root, comm, request, ierr),
        , 1,
        MPI_Request made = R(request); op_collective(F_Ibcast, C(comm), (int)*root, 1, 0, &made);
        op_same(buf, U(count), T(type)))
FORTRAN(reduce,
        (void *from_, void *to, MPI_Fint *count, MPI_Fint *type, MPI_Fint *with, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *ierr),
        (from_, to, count, type, with, root, comm, ierr),
        , 1,
        op_collective(F_Reduce, C(comm), (int)*root, type_size(T(type)), in_order(F2C(Op, *with)), NULL); op_same(from_, U(count), T(type)))
FORTRAN(ireduce,
        (void *from_, void *to, MPI_Fint *count, MPI_Fint *type, MPI_Fint *with, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
        (from_, to, count, type, with, root, comm, request, ierr),
        , 1,
        MPI_Request made = R(request); op_collective(F_Ireduce, C(comm), (int)*root, type_size(T(type)), in_order(F2C(Op, *with)), &made);
        op_same(from_, U(count), T(type)))
FORTRAN(allreduce,
        (void *from_, void *to, MPI_Fint *count, MPI_Fint *type, MPI_Fint *with, MPI_Fint *comm, MPI_Fint *ierr),
        (from_, to, count, type, with, comm, ierr),
        , 1,
        op_collective(F_Allreduce, C(comm), 0, type_size(T(type)), in_order(F2C(Op, *with)), NULL); op_same(to, U(count), T(type)))
FORTRAN(iallreduce,
        (void *from_, void *to, MPI_Fint *count, MPI_Fint *type, MPI_Fint *with, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
        (from_, to, count, type, with, comm, request, ierr),
        , 1,
        MPI_Request made = R(request); op_collective(F_Iallreduce, C(comm), 0, type_size(T(type)), in_order(F2C(Op, *with)), &made);
        op_same(to, U(count), T(type)))
FORTRAN(scan,
        (void *from_, void *to, MPI_Fint *count, MPI_Fint *type, MPI_Fint *with, MPI_Fint *comm, MPI_Fint *ierr),
        (from_, to, count, type, with, comm, ierr),
        , 1,
        op_collective(F_Scan, C(comm), 0, type_size(T(type)), in_order(F2C(Op, *with)), NULL); op_same(to, U(count), T(type)))
FORTRAN(iscan,
        (void *from_, void *to, MPI_Fint *count, MPI_Fint *type, MPI_Fint *with, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
        (from_, to, count, type, with, comm, request, ierr),
        , 1,
        MPI_Request made = R(request); op_collective(F_Iscan, C(comm), 0, type_size(T(type)), in_order(F2C(Op, *with)), &made);
        op_same(to, U(count), T(type)))
FORTRAN(exscan,
        (void *from_, void *to, MPI_Fint *count, MPI_Fint *type, MPI_Fint *with, MPI_Fint *comm, MPI_Fint *ierr),
        (from_, to, count, type, with, comm, ierr),
        , 1,
        op_collective(F_Exscan, C(comm), 0, type_size(T(type)), in_order(F2C(Op, *with)), NULL); op_same(to, U(count), T(type)))
FORTRAN(iexscan,
        (void *from_, void *to, MPI_Fint *count, MPI_Fint *type, MPI_Fint *with, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
        (from_, to, count, type, with, comm, request, ierr),
        , 1,
        MPI_Request made = R(request); op_collective(F_Iexscan, C(comm), 0, type_size(T(type)), in_order(F2C(Op, *with)), &made);
        op_same(to, U(count), T(type)))
FORTRAN(gather,
        (void *from_, MPI_Fint *count, MPI_Fint *type, void *to, MPI_Fint *room, MPI_Fint *other, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *ierr),
        (from_, count, type, to, room, other, root, comm, ierr),
        , 1,
        op_collective(F_Gather, C(comm), (int)*root, 1, 0, NULL); if (is_root(C(comm), *root)) op_same(to, U(room), T(other)); else op_same(from_, U(count), T(type)))
FORTRAN(igather,
        (void *from_, MPI_Fint *count, MPI_Fint *type, void *to, MPI_Fint *room, MPI_Fint *other, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
        (from_, count, type, to, room, other, root, comm, request, ierr),
        , 1,
        MPI_Request made = R(request); op_collective(F_Igather, C(comm), (int)*root, 1, 0, &made);
        if (is_root(C(comm), *root)) op_same(to, U(room), T(other)); else op_same(from_, U(count), T(type)))
FORTRAN(scatter,
        (void *from_, MPI_Fint *count, MPI_Fint *type, void *to, MPI_Fint *room, MPI_Fint *other, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *ierr),
        (from_, count, type, to, room, other, root, comm, ierr),
        , 1,
        op_collective(F_Scatter, C(comm), (int)*root, 1, 0, NULL); if (is_root(C(comm), *root)) op_same(from_, U(count), T(type)); else op_same(to, U(room), T(other)))
FORTRAN(iscatter,
        (void *from_, MPI_Fint *count, MPI_Fint *type, void *to, MPI_Fint *room, MPI_Fint *other, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
        (from_, count, type, to, room, other, root, comm, request, ierr),
        , 1,
        MPI_Request made = R(request); op_collective(F_Iscatter, C(comm), (int)*root, 1, 0, &made);
        if (is_root(C(comm), *root)) op_same(from_, U(count), T(type)); else op_same(to, U(room), T(other)))
FORTRAN(gatherv,
        (void *from_, MPI_Fint *count, MPI_Fint *type, void *to, MPI_Fint *rooms, MPI_Fint *displs, MPI_Fint *other, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *ierr),
        (from_, count, type, to, rooms, displs, other, root, comm, ierr),
        , 1,
        op_collective(F_Gatherv, C(comm), (int)*root, 1, 0, NULL); if (is_root(C(comm), *root)) op_list(to, rooms, T(other), C(comm)); else op_same(from_, U(count), T(type)))
FORTRAN(igatherv,
        (void *from_, MPI_Fint *count, MPI_Fint *type, void *to, MPI_Fint *rooms, MPI_Fint *displs, MPI_Fint *other, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
        (from_, count, type, to, rooms, displs, other, root, comm, request, ierr),
        , 1,
        MPI_Request made = R(request); op_collective(F_Igatherv, C(comm), (int)*root, 1, 0, &made);
        if (is_root(C(comm), *root)) op_list(to, rooms, T(other), C(comm)); else op_same(from_, U(count), T(type)))
FORTRAN(scatterv,
        (void *from_, MPI_Fint *counts, MPI_Fint *displs, MPI_Fint *type, void *to, MPI_Fint *room, MPI_Fint *other, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *ierr),
        (from_, counts, displs, type, to, room, other, root, comm, ierr),
        , 1,
        op_collective(F_Scatterv, C(comm), (int)*root, 1, 0, NULL); if (is_root(C(comm), *root)) op_list(from_, counts, T(type), C(comm)); else op_same(to, U(room), T(other)))
FORTRAN(iscatterv,
        (void *from_, MPI_Fint *counts, MPI_Fint *displs, MPI_Fint *type, void *to, MPI_Fint *room, MPI_Fint *other, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
        (from_, counts, displs, type, to, room, other, root, comm, request, ierr),
        , 1,
        MPI_Request made = R(request); op_collective(F_Iscatterv, C(comm), (int)*root, 1, 0, &made);
        if (is_root(C(comm), *root)) op_list(from_, counts, T(type), C(comm)); else op_same(to, U(room), T(other)))
FORTRAN(allgather,
        (void *from_, MPI_Fint *count, MPI_Fint *type, void *to, MPI_Fint *room, MPI_Fint *other, MPI_Fint *comm, MPI_Fint *ierr),
        (from_, count, type, to, room, other, comm, ierr),
        , 1,
        op_collective(F_Allgather, C(comm), 0, 1, 0, NULL); op_same(to, U(room), T(other)))
FORTRAN(iallgather,
        (void *from_, MPI_Fint *count, MPI_Fint *type, void *to, MPI_Fint *room, MPI_Fint *other, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
        (from_, count, type, to, room, other, comm, request, ierr),
        , 1,
        MPI_Request made = R(request); op_collective(F_Iallgather, C(comm), 0, 1, 0, &made);
        op_same(to, U(room), T(other)))
FORTRAN(allgatherv,
        (void *from_, MPI_Fint *count, MPI_Fint *type, void *to, MPI_Fint *rooms, MPI_Fint *displs, MPI_Fint *other, MPI_Fint *comm, MPI_Fint *ierr),
        (from_, count, type, to, rooms, displs, other, comm, ierr),
        , 1,
        op_collective(F_Allgatherv, C(comm), 0, 1, 0, NULL); op_list(to, rooms, T(other), C(comm)))
FORTRAN(iallgatherv,
        (void *from_, MPI_Fint *count, MPI_Fint *type, void *to, MPI_Fint *rooms, MPI_Fint *displs, MPI_Fint *other, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
        (from_, count, type, to, rooms, displs, other, comm, request, ierr),
        , 1,
        MPI_Request made = R(request); op_collective(F_Iallgatherv, C(comm), 0, 1, 0, &made);
        op_list(to, rooms, T(other), C(comm)))
FORTRAN(alltoall,
        (void *from_, MPI_Fint *count, MPI_Fint *type, void *to, MPI_Fint *room, MPI_Fint *other, MPI_Fint *comm, MPI_Fint *ierr),
        (from_, count, type, to, room, other, comm, ierr),
        , 1,
        op_collective(F_Alltoall, C(comm), 0, 1, 0, NULL); if (is_in_place(from_)) op_same(to, U(room), T(other)); else op_same(from_, U(count), T(type)))
FORTRAN(ialltoall,
        (void *from_, MPI_Fint *count, MPI_Fint *type, void *to, MPI_Fint *room, MPI_Fint *other, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
        (from_, count, type, to, room, other, comm, request, ierr),
        , 1,
        MPI_Request made = R(request); op_collective(F_Ialltoall, C(comm), 0, 1, 0, &made);
        if (is_in_place(from_)) op_same(to, U(room), T(other)); else op_same(from_, U(count), T(type)))
FORTRAN(alltoallv,
        (void *from_, MPI_Fint *counts, MPI_Fint *at, MPI_Fint *type, void *to, MPI_Fint *rooms, MPI_Fint *displs, MPI_Fint *other, MPI_Fint *comm, MPI_Fint *ierr),
        (from_, counts, at, type, to, rooms, displs, other, comm, ierr),
        , 1,
        op_collective(F_Alltoallv, C(comm), 0, 1, 0, NULL); if (is_in_place(from_)) op_list(to, rooms, T(other), C(comm)); else op_list(from_, counts, T(type), C(comm)))
FORTRAN(ialltoallv,
        (void *from_, MPI_Fint *counts, MPI_Fint *at, MPI_Fint *type, void *to, MPI_Fint *rooms, MPI_Fint *displs, MPI_Fint *other, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
        (from_, counts, at, type, to, rooms, displs, other, comm, request, ierr),
        , 1,
        MPI_Request made = R(request); op_collective(F_Ialltoallv, C(comm), 0, 1, 0, &made);
        if (is_in_place(from_)) op_list(to, rooms, T(other), C(comm)); else op_list(from_, counts, T(type), C(comm)))
FORTRAN(reduce_scatter,
        (void *from_, void *to, MPI_Fint *counts, MPI_Fint *type, MPI_Fint *with, MPI_Fint *comm, MPI_Fint *ierr),
        (from_, to, counts, type, with, comm, ierr),
        , 1,
        op_collective(F_Reduce_scatter, C(comm), 0, type_size(T(type)), in_order(F2C(Op, *with)), NULL); op_list(to, counts, T(type), C(comm)))
FORTRAN(ireduce_scatter,
        (void *from_, void *to, MPI_Fint *counts, MPI_Fint *type, MPI_Fint *with, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
        (from_, to, counts, type, with, comm, request, ierr),
        , 1,
        MPI_Request made = R(request); op_collective(F_Ireduce_scatter, C(comm), 0, type_size(T(type)), in_order(F2C(Op, *with)), &made);
        op_list(to, counts, T(type), C(comm)))
FORTRAN(reduce_scatter_block,
        (void *from_, void *to, MPI_Fint *count, MPI_Fint *type, MPI_Fint *with, MPI_Fint *comm, MPI_Fint *ierr),
        (from_, to, count, type, with, comm, ierr),
        , 1,
        op_collective(F_Reduce_scatter_block, C(comm), 0, type_size(T(type)), in_order(F2C(Op, *with)), NULL); op_same(to, U(count), T(type)))
FORTRAN(ireduce_scatter_block,
        (void *from_, void *to, MPI_Fint *count, MPI_Fint *type, MPI_Fint *with, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
        (from_, to, count, type, with, comm, request, ierr),
        , 1,
        MPI_Request made = R(request); op_collective(F_Ireduce_scatter_block, C(comm), 0, type_size(T(type)), in_order(F2C(Op, *with)), &made);
        op_same(to, U(count), T(type)))
