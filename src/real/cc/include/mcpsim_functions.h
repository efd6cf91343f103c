/* MPI functions by subject. mpi.h includes this file once for MPI_ names and once for PMPI_ names. The stub library and
   the simulator's function table are also derived from it. */

/* Initialisation, finalisation, library information. */
int MPI_FN(Init)(int *argc, char ***argv);
int MPI_FN(Init_thread)(int *argc, char ***argv, int required, int *provided);
int MPI_FN(Initialized)(int *flag);
int MPI_FN(Finalize)(void);
int MPI_FN(Finalized)(int *flag);
int MPI_FN(Abort)(MPI_Comm comm, int errorcode);
int MPI_FN(Query_thread)(int *provided);
int MPI_FN(Is_thread_main)(int *flag);
int MPI_FN(Get_version)(int *version, int *subversion);
int MPI_FN(Get_library_version)(char *version, int *resultlen);
int MPI_FN(Get_processor_name)(char *name, int *resultlen);
double MPI_FN(Wtime)(void);
double MPI_FN(Wtick)(void);
int MPI_FN(Pcontrol)(const int level, ...);
int MPI_FN(Alloc_mem)(MPI_Aint size, MPI_Info info, void *baseptr);
int MPI_FN(Free_mem)(void *base);

/* Point-to-point, blocking. */
int MPI_FN(Send)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
int MPI_FN(Bsend)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
int MPI_FN(Rsend)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
int MPI_FN(Ssend)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
int MPI_FN(Recv)(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status);
int MPI_FN(Sendrecv)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
    int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status *status);
int MPI_FN(Sendrecv_replace)(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source,
    int recvtag, MPI_Comm comm, MPI_Status *status);
int MPI_FN(Isendrecv)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
    int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Request *request);
int MPI_FN(Isendrecv_replace)(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source,
    int recvtag, MPI_Comm comm, MPI_Request *request);
int MPI_FN(Probe)(int source, int tag, MPI_Comm comm, MPI_Status *status);
int MPI_FN(Mprobe)(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status);
int MPI_FN(Mrecv)(void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status);
int MPI_FN(Get_count)(const MPI_Status *status, MPI_Datatype datatype, int *count);
int MPI_FN(Get_elements)(const MPI_Status *status, MPI_Datatype datatype, int *count);
int MPI_FN(Get_elements_x)(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count);
int MPI_FN(Buffer_attach)(void *buffer, int size);
int MPI_FN(Buffer_detach)(void *buffer_addr, int *size);

/* Point-to-point, nonblocking and persistent. */
int MPI_FN(Isend)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
    MPI_Request *request);
int MPI_FN(Ibsend)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
    MPI_Request *request);
int MPI_FN(Irsend)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
    MPI_Request *request);
int MPI_FN(Issend)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
    MPI_Request *request);
int MPI_FN(Irecv)(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
    MPI_Request *request);
int MPI_FN(Iprobe)(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status);
int MPI_FN(Improbe)(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status);
int MPI_FN(Imrecv)(void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Request *request);
int MPI_FN(Send_init)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
    MPI_Request *request);
int MPI_FN(Bsend_init)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
    MPI_Request *request);
int MPI_FN(Rsend_init)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
    MPI_Request *request);
int MPI_FN(Ssend_init)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
    MPI_Request *request);
int MPI_FN(Recv_init)(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
    MPI_Request *request);
int MPI_FN(Start)(MPI_Request *request);
int MPI_FN(Startall)(int count, MPI_Request array_of_requests[]);
int MPI_FN(Cancel)(MPI_Request *request);
int MPI_FN(Test_cancelled)(const MPI_Status *status, int *flag);

/* Completion. */
int MPI_FN(Wait)(MPI_Request *request, MPI_Status *status);
int MPI_FN(Waitany)(int count, MPI_Request array_of_requests[], int *indx, MPI_Status *status);
int MPI_FN(Waitall)(int count, MPI_Request array_of_requests[], MPI_Status *array_of_statuses);
int MPI_FN(Waitsome)(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
    MPI_Status *array_of_statuses);
int MPI_FN(Test)(MPI_Request *request, int *flag, MPI_Status *status);
int MPI_FN(Testany)(int count, MPI_Request array_of_requests[], int *indx, int *flag, MPI_Status *status);
int MPI_FN(Testall)(int count, MPI_Request array_of_requests[], int *flag, MPI_Status *array_of_statuses);
int MPI_FN(Testsome)(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
    MPI_Status *array_of_statuses);
int MPI_FN(Request_free)(MPI_Request *request);
int MPI_FN(Request_get_status)(MPI_Request request, int *flag, MPI_Status *status);
int MPI_FN(Status_set_cancelled)(MPI_Status *status, int flag);
int MPI_FN(Status_set_elements)(MPI_Status *status, MPI_Datatype datatype, int count);
int MPI_FN(Status_set_elements_x)(MPI_Status *status, MPI_Datatype datatype, MPI_Count count);
int MPI_FN(Status_get_error)(const MPI_Status *status, int *error);
int MPI_FN(Status_get_source)(const MPI_Status *status, int *source);
int MPI_FN(Status_get_tag)(const MPI_Status *status, int *tag);
int MPI_FN(Status_set_error)(MPI_Status *status, int error);
int MPI_FN(Status_set_source)(MPI_Status *status, int source);
int MPI_FN(Status_set_tag)(MPI_Status *status, int tag);
int MPI_FN(Grequest_start)(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
    MPI_Grequest_cancel_function *cancel_fn, void *extra_state, MPI_Request *request);
int MPI_FN(Grequest_complete)(MPI_Request request);

/* Datatypes. */
int MPI_FN(Type_contiguous)(int count, MPI_Datatype oldtype, MPI_Datatype *newtype);
int MPI_FN(Type_vector)(int count, int blocklength, int stride, MPI_Datatype oldtype, MPI_Datatype *newtype);
int MPI_FN(Type_create_hvector)(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
    MPI_Datatype *newtype);
int MPI_FN(Type_indexed)(int count, const int array_of_blocklengths[], const int array_of_displacements[],
    MPI_Datatype oldtype, MPI_Datatype *newtype);
int MPI_FN(Type_create_hindexed)(int count, const int array_of_blocklengths[], const MPI_Aint array_of_displacements[],
    MPI_Datatype oldtype, MPI_Datatype *newtype);
int MPI_FN(Type_create_indexed_block)(int count, int blocklength, const int array_of_displacements[],
    MPI_Datatype oldtype, MPI_Datatype *newtype);
int MPI_FN(Type_create_hindexed_block)(int count, int blocklength, const MPI_Aint array_of_displacements[],
    MPI_Datatype oldtype, MPI_Datatype *newtype);
int MPI_FN(Type_create_struct)(int count, const int array_of_blocklengths[], const MPI_Aint array_of_displacements[],
    const MPI_Datatype array_of_types[], MPI_Datatype *newtype);
int MPI_FN(Type_create_subarray)(int ndims, const int array_of_sizes[], const int array_of_subsizes[],
    const int array_of_starts[], int order, MPI_Datatype oldtype, MPI_Datatype *newtype);
int MPI_FN(Type_create_darray)(int size, int rank, int ndims, const int array_of_gsizes[],
    const int array_of_distribs[], const int array_of_dargs[], const int array_of_psizes[], int order,
    MPI_Datatype oldtype, MPI_Datatype *newtype);
int MPI_FN(Type_create_resized)(MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent, MPI_Datatype *newtype);
int MPI_FN(Type_create_f90_complex)(int p, int r, MPI_Datatype *newtype);
int MPI_FN(Type_create_f90_integer)(int r, MPI_Datatype *newtype);
int MPI_FN(Type_create_f90_real)(int p, int r, MPI_Datatype *newtype);
int MPI_FN(Type_dup)(MPI_Datatype oldtype, MPI_Datatype *newtype);
int MPI_FN(Type_commit)(MPI_Datatype *datatype);
int MPI_FN(Type_free)(MPI_Datatype *datatype);
int MPI_FN(Type_size)(MPI_Datatype datatype, int *size);
int MPI_FN(Type_size_x)(MPI_Datatype datatype, MPI_Count *size);
int MPI_FN(Type_get_extent)(MPI_Datatype datatype, MPI_Aint *lb, MPI_Aint *extent);
int MPI_FN(Type_get_extent_x)(MPI_Datatype datatype, MPI_Count *lb, MPI_Count *extent);
int MPI_FN(Type_get_true_extent)(MPI_Datatype datatype, MPI_Aint *true_lb, MPI_Aint *true_extent);
int MPI_FN(Type_get_true_extent_x)(MPI_Datatype datatype, MPI_Count *true_lb, MPI_Count *true_extent);
int MPI_FN(Type_get_envelope)(MPI_Datatype datatype, int *num_integers, int *num_addresses, int *num_datatypes,
    int *combiner);
int MPI_FN(Type_get_contents)(MPI_Datatype datatype, int max_integers, int max_addresses, int max_datatypes,
    int array_of_integers[], MPI_Aint array_of_addresses[], MPI_Datatype array_of_datatypes[]);
int MPI_FN(Type_match_size)(int typeclass, int size, MPI_Datatype *datatype);
int MPI_FN(Type_set_name)(MPI_Datatype datatype, const char *type_name);
int MPI_FN(Type_get_name)(MPI_Datatype datatype, char *type_name, int *resultlen);
int MPI_FN(Get_address)(const void *location, MPI_Aint *address);
MPI_Aint MPI_FN(Aint_add)(MPI_Aint base, MPI_Aint disp);
MPI_Aint MPI_FN(Aint_diff)(MPI_Aint addr1, MPI_Aint addr2);
int MPI_FN(Pack)(const void *inbuf, int incount, MPI_Datatype datatype, void *outbuf, int outsize, int *position,
    MPI_Comm comm);
int MPI_FN(Unpack)(const void *inbuf, int insize, int *position, void *outbuf, int outcount, MPI_Datatype datatype,
    MPI_Comm comm);
int MPI_FN(Pack_size)(int incount, MPI_Datatype datatype, MPI_Comm comm, int *size);
int MPI_FN(Pack_external)(const char *datarep, const void *inbuf, int incount, MPI_Datatype datatype, void *outbuf,
    MPI_Aint outsize, MPI_Aint *position);
int MPI_FN(Unpack_external)(const char datarep[], const void *inbuf, MPI_Aint insize, MPI_Aint *position, void *outbuf,
    int outcount, MPI_Datatype datatype);
int MPI_FN(Pack_external_size)(const char *datarep, int incount, MPI_Datatype datatype, MPI_Aint *size);

/* Collectives, blocking. */
int MPI_FN(Barrier)(MPI_Comm comm);
int MPI_FN(Bcast)(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm);
int MPI_FN(Gather)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
    MPI_Datatype recvtype, int root, MPI_Comm comm);
int MPI_FN(Gatherv)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
    const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm);
int MPI_FN(Scatter)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
    MPI_Datatype recvtype, int root, MPI_Comm comm);
int MPI_FN(Scatterv)(const void *sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype,
    void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm);
int MPI_FN(Allgather)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
    MPI_Datatype recvtype, MPI_Comm comm);
int MPI_FN(Allgatherv)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
    const int displs[], MPI_Datatype recvtype, MPI_Comm comm);
int MPI_FN(Alltoall)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
    MPI_Datatype recvtype, MPI_Comm comm);
int MPI_FN(Alltoallv)(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
    void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm);
int MPI_FN(Alltoallw)(const void *sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[],
    void *recvbuf, const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm);
int MPI_FN(Reduce)(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
    MPI_Comm comm);
int MPI_FN(Allreduce)(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int MPI_FN(Reduce_scatter)(const void *sendbuf, void *recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op op,
    MPI_Comm comm);
int MPI_FN(Reduce_scatter_block)(const void *sendbuf, void *recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op,
    MPI_Comm comm);
int MPI_FN(Scan)(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int MPI_FN(Exscan)(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int MPI_FN(Reduce_local)(const void *inbuf, void *inoutbuf, int count, MPI_Datatype datatype, MPI_Op op);
int MPI_FN(Op_create)(MPI_User_function *user_fn, int commute, MPI_Op *op);
int MPI_FN(Op_free)(MPI_Op *op);
int MPI_FN(Op_commutative)(MPI_Op op, int *commute);

/* Collectives, nonblocking. */
int MPI_FN(Ibarrier)(MPI_Comm comm, MPI_Request *request);
int MPI_FN(Ibcast)(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Request *request);
int MPI_FN(Igather)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
    MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request);
int MPI_FN(Igatherv)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
    const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request);
int MPI_FN(Iscatter)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
    MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request);
int MPI_FN(Iscatterv)(const void *sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype,
    void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request);
int MPI_FN(Iallgather)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
    MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request);
int MPI_FN(Iallgatherv)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
    const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request);
int MPI_FN(Ialltoall)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
    MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request);
int MPI_FN(Ialltoallv)(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
    void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
    MPI_Request *request);
int MPI_FN(Ialltoallw)(const void *sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[],
    void *recvbuf, const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
    MPI_Request *request);
int MPI_FN(Ireduce)(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
    MPI_Comm comm, MPI_Request *request);
int MPI_FN(Iallreduce)(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
    MPI_Request *request);
int MPI_FN(Ireduce_scatter)(const void *sendbuf, void *recvbuf, const int recvcounts[], MPI_Datatype datatype,
    MPI_Op op, MPI_Comm comm, MPI_Request *request);
int MPI_FN(Ireduce_scatter_block)(const void *sendbuf, void *recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op,
    MPI_Comm comm, MPI_Request *request);
int MPI_FN(Iscan)(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
    MPI_Request *request);
int MPI_FN(Iexscan)(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
    MPI_Request *request);

/* Groups. */
int MPI_FN(Group_size)(MPI_Group group, int *size);
int MPI_FN(Group_rank)(MPI_Group group, int *rank);
int MPI_FN(Group_translate_ranks)(MPI_Group group1, int n, const int ranks1[], MPI_Group group2, int ranks2[]);
int MPI_FN(Group_compare)(MPI_Group group1, MPI_Group group2, int *result);
int MPI_FN(Group_union)(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup);
int MPI_FN(Group_intersection)(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup);
int MPI_FN(Group_difference)(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup);
int MPI_FN(Group_incl)(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup);
int MPI_FN(Group_excl)(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup);
int MPI_FN(Group_range_incl)(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup);
int MPI_FN(Group_range_excl)(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup);
int MPI_FN(Group_free)(MPI_Group *group);

/* Communicators. */
int MPI_FN(Comm_size)(MPI_Comm comm, int *size);
int MPI_FN(Comm_rank)(MPI_Comm comm, int *rank);
int MPI_FN(Comm_compare)(MPI_Comm comm1, MPI_Comm comm2, int *result);
int MPI_FN(Comm_group)(MPI_Comm comm, MPI_Group *group);
int MPI_FN(Comm_dup)(MPI_Comm comm, MPI_Comm *newcomm);
int MPI_FN(Comm_dup_with_info)(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm);
int MPI_FN(Comm_idup)(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request);
int MPI_FN(Comm_idup_with_info)(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request);
int MPI_FN(Comm_create)(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm);
int MPI_FN(Comm_create_group)(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm);
int MPI_FN(Comm_split)(MPI_Comm comm, int color, int key, MPI_Comm *newcomm);
int MPI_FN(Comm_split_type)(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *newcomm);
int MPI_FN(Comm_free)(MPI_Comm *comm);
int MPI_FN(Comm_disconnect)(MPI_Comm *comm);
int MPI_FN(Comm_get_parent)(MPI_Comm *parent);
int MPI_FN(Comm_set_info)(MPI_Comm comm, MPI_Info info);
int MPI_FN(Comm_get_info)(MPI_Comm comm, MPI_Info *info_used);
int MPI_FN(Comm_set_name)(MPI_Comm comm, const char *comm_name);
int MPI_FN(Comm_get_name)(MPI_Comm comm, char *comm_name, int *resultlen);
int MPI_FN(Comm_test_inter)(MPI_Comm comm, int *flag);
int MPI_FN(Comm_remote_size)(MPI_Comm comm, int *size);
int MPI_FN(Comm_remote_group)(MPI_Comm comm, MPI_Group *group);
int MPI_FN(Intercomm_create)(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader, int tag,
    MPI_Comm *newintercomm);
int MPI_FN(Intercomm_merge)(MPI_Comm intercomm, int high, MPI_Comm *newintracomm);

/* Attributes. */
int MPI_FN(Comm_create_keyval)(MPI_Comm_copy_attr_function *comm_copy_attr_fn,
    MPI_Comm_delete_attr_function *comm_delete_attr_fn, int *comm_keyval, void *extra_state);
int MPI_FN(Comm_free_keyval)(int *comm_keyval);
int MPI_FN(Comm_set_attr)(MPI_Comm comm, int comm_keyval, void *attribute_val);
int MPI_FN(Comm_get_attr)(MPI_Comm comm, int comm_keyval, void *attribute_val, int *flag);
int MPI_FN(Comm_delete_attr)(MPI_Comm comm, int comm_keyval);
int MPI_FN(Type_create_keyval)(MPI_Type_copy_attr_function *type_copy_attr_fn,
    MPI_Type_delete_attr_function *type_delete_attr_fn, int *type_keyval, void *extra_state);
int MPI_FN(Type_free_keyval)(int *type_keyval);
int MPI_FN(Type_set_attr)(MPI_Datatype datatype, int type_keyval, void *attribute_val);
int MPI_FN(Type_get_attr)(MPI_Datatype datatype, int type_keyval, void *attribute_val, int *flag);
int MPI_FN(Type_delete_attr)(MPI_Datatype datatype, int type_keyval);
int MPI_FN(Win_create_keyval)(MPI_Win_copy_attr_function *win_copy_attr_fn,
    MPI_Win_delete_attr_function *win_delete_attr_fn, int *win_keyval, void *extra_state);
int MPI_FN(Win_free_keyval)(int *win_keyval);
int MPI_FN(Win_set_attr)(MPI_Win win, int win_keyval, void *attribute_val);
int MPI_FN(Win_get_attr)(MPI_Win win, int win_keyval, void *attribute_val, int *flag);
int MPI_FN(Win_delete_attr)(MPI_Win win, int win_keyval);

/* Topologies. */
int MPI_FN(Cart_create)(MPI_Comm comm_old, int ndims, const int dims[], const int periods[], int reorder,
    MPI_Comm *comm_cart);
int MPI_FN(Cart_get)(MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[]);
int MPI_FN(Cart_rank)(MPI_Comm comm, const int coords[], int *rank);
int MPI_FN(Cart_coords)(MPI_Comm comm, int rank, int maxdims, int coords[]);
int MPI_FN(Cart_shift)(MPI_Comm comm, int direction, int disp, int *rank_source, int *rank_dest);
int MPI_FN(Cart_sub)(MPI_Comm comm, const int remain_dims[], MPI_Comm *newcomm);
int MPI_FN(Cart_map)(MPI_Comm comm, int ndims, const int dims[], const int periods[], int *newrank);
int MPI_FN(Cartdim_get)(MPI_Comm comm, int *ndims);
int MPI_FN(Dims_create)(int nnodes, int ndims, int dims[]);
int MPI_FN(Graph_create)(MPI_Comm comm_old, int nnodes, const int indx[], const int edges[], int reorder,
    MPI_Comm *comm_graph);
int MPI_FN(Graph_get)(MPI_Comm comm, int maxindex, int maxedges, int indx[], int edges[]);
int MPI_FN(Graph_map)(MPI_Comm comm, int nnodes, const int indx[], const int edges[], int *newrank);
int MPI_FN(Graph_neighbors)(MPI_Comm comm, int rank, int maxneighbors, int neighbors[]);
int MPI_FN(Graph_neighbors_count)(MPI_Comm comm, int rank, int *nneighbors);
int MPI_FN(Graphdims_get)(MPI_Comm comm, int *nnodes, int *nedges);
int MPI_FN(Dist_graph_create)(MPI_Comm comm_old, int n, const int sources[], const int degrees[],
    const int destinations[], const int *weights, MPI_Info info, int reorder, MPI_Comm *comm_dist_graph);
int MPI_FN(Dist_graph_create_adjacent)(MPI_Comm comm_old, int indegree, const int sources[], const int *sourceweights,
    int outdegree, const int destinations[], const int *destweights, MPI_Info info, int reorder,
    MPI_Comm *comm_dist_graph);
int MPI_FN(Dist_graph_neighbors)(MPI_Comm comm, int maxindegree, int sources[], int *sourceweights, int maxoutdegree,
    int destinations[], int *destweights);
int MPI_FN(Dist_graph_neighbors_count)(MPI_Comm comm, int *indegree, int *outdegree, int *weighted);
int MPI_FN(Topo_test)(MPI_Comm comm, int *status);

/* Neighbourhood collectives. */
int MPI_FN(Neighbor_allgather)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
    MPI_Datatype recvtype, MPI_Comm comm);
int MPI_FN(Neighbor_allgatherv)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
    const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm);
int MPI_FN(Neighbor_alltoall)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
    MPI_Datatype recvtype, MPI_Comm comm);
int MPI_FN(Neighbor_alltoallv)(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
    void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm);
int MPI_FN(Neighbor_alltoallw)(const void *sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
    const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[], const MPI_Aint rdispls[],
    const MPI_Datatype recvtypes[], MPI_Comm comm);
int MPI_FN(Ineighbor_allgather)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
    MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request);
int MPI_FN(Ineighbor_allgatherv)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
    const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request);
int MPI_FN(Ineighbor_alltoall)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
    MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request);
int MPI_FN(Ineighbor_alltoallv)(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
    void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
    MPI_Request *request);
int MPI_FN(Ineighbor_alltoallw)(const void *sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
    const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[], const MPI_Aint rdispls[],
    const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Request *request);

/* Errors. */
int MPI_FN(Comm_create_errhandler)(MPI_Comm_errhandler_function *comm_errhandler_fn, MPI_Errhandler *errhandler);
int MPI_FN(Comm_set_errhandler)(MPI_Comm comm, MPI_Errhandler errhandler);
int MPI_FN(Comm_get_errhandler)(MPI_Comm comm, MPI_Errhandler *errhandler);
int MPI_FN(Comm_call_errhandler)(MPI_Comm comm, int errorcode);
int MPI_FN(Win_create_errhandler)(MPI_Win_errhandler_function *win_errhandler_fn, MPI_Errhandler *errhandler);
int MPI_FN(Win_set_errhandler)(MPI_Win win, MPI_Errhandler errhandler);
int MPI_FN(Win_get_errhandler)(MPI_Win win, MPI_Errhandler *errhandler);
int MPI_FN(Win_call_errhandler)(MPI_Win win, int errorcode);
int MPI_FN(Errhandler_free)(MPI_Errhandler *errhandler);
int MPI_FN(Error_class)(int errorcode, int *errorclass);
int MPI_FN(Error_string)(int errorcode, char *string, int *resultlen);
int MPI_FN(Add_error_class)(int *errorclass);
int MPI_FN(Add_error_code)(int errorclass, int *errorcode);
int MPI_FN(Add_error_string)(int errorcode, const char *string);

/* Info. */
int MPI_FN(Info_create)(MPI_Info *info);
int MPI_FN(Info_create_env)(int argc, char *argv[], MPI_Info *info);
int MPI_FN(Info_dup)(MPI_Info info, MPI_Info *newinfo);
int MPI_FN(Info_free)(MPI_Info *info);
int MPI_FN(Info_set)(MPI_Info info, const char *key, const char *value);
int MPI_FN(Info_delete)(MPI_Info info, const char *key);
int MPI_FN(Info_get)(MPI_Info info, const char *key, int valuelen, char *value, int *flag);
int MPI_FN(Info_get_string)(MPI_Info info, const char *key, int *buflen, char *value, int *flag);
int MPI_FN(Info_get_valuelen)(MPI_Info info, const char *key, int *valuelen, int *flag);
int MPI_FN(Info_get_nkeys)(MPI_Info info, int *nkeys);
int MPI_FN(Info_get_nthkey)(MPI_Info info, int n, char *key);

/* One-sided: windows. */
int MPI_FN(Win_create)(void *base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win *win);
int MPI_FN(Win_allocate)(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win);
int MPI_FN(Win_allocate_shared)(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr,
    MPI_Win *win);
int MPI_FN(Win_shared_query)(MPI_Win win, int rank, MPI_Aint *size, int *disp_unit, void *baseptr);
int MPI_FN(Win_create_dynamic)(MPI_Info info, MPI_Comm comm, MPI_Win *win);
int MPI_FN(Win_attach)(MPI_Win win, void *base, MPI_Aint size);
int MPI_FN(Win_detach)(MPI_Win win, const void *base);
int MPI_FN(Win_free)(MPI_Win *win);
int MPI_FN(Win_get_group)(MPI_Win win, MPI_Group *group);
int MPI_FN(Win_set_info)(MPI_Win win, MPI_Info info);
int MPI_FN(Win_get_info)(MPI_Win win, MPI_Info *info_used);
int MPI_FN(Win_set_name)(MPI_Win win, const char *win_name);
int MPI_FN(Win_get_name)(MPI_Win win, char *win_name, int *resultlen);

/* One-sided: transfers. */
int MPI_FN(Put)(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
    MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win);
int MPI_FN(Get)(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
    MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win);
int MPI_FN(Accumulate)(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
    MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win);
int MPI_FN(Get_accumulate)(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, void *result_addr,
    int result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp, int target_count,
    MPI_Datatype target_datatype, MPI_Op op, MPI_Win win);
int MPI_FN(Fetch_and_op)(const void *origin_addr, void *result_addr, MPI_Datatype datatype, int target_rank,
    MPI_Aint target_disp, MPI_Op op, MPI_Win win);
int MPI_FN(Compare_and_swap)(const void *origin_addr, const void *compare_addr, void *result_addr,
    MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Win win);
int MPI_FN(Rput)(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
    MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win, MPI_Request *request);
int MPI_FN(Rget)(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
    MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win, MPI_Request *request);
int MPI_FN(Raccumulate)(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
    MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request *request);
int MPI_FN(Rget_accumulate)(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, void *result_addr,
    int result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp, int target_count,
    MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request *request);

/* One-sided: synchronization. */
int MPI_FN(Win_fence)(int assert, MPI_Win win);
int MPI_FN(Win_start)(MPI_Group group, int assert, MPI_Win win);
int MPI_FN(Win_complete)(MPI_Win win);
int MPI_FN(Win_post)(MPI_Group group, int assert, MPI_Win win);
int MPI_FN(Win_wait)(MPI_Win win);
int MPI_FN(Win_test)(MPI_Win win, int *flag);
int MPI_FN(Win_lock)(int lock_type, int rank, int assert, MPI_Win win);
int MPI_FN(Win_unlock)(int rank, MPI_Win win);
int MPI_FN(Win_lock_all)(int assert, MPI_Win win);
int MPI_FN(Win_unlock_all)(MPI_Win win);
int MPI_FN(Win_flush)(int rank, MPI_Win win);
int MPI_FN(Win_flush_all)(MPI_Win win);
int MPI_FN(Win_flush_local)(int rank, MPI_Win win);
int MPI_FN(Win_flush_local_all)(MPI_Win win);
int MPI_FN(Win_sync)(MPI_Win win);

/* Handles as Fortran integers. */
MPI_Fint MPI_FN(Comm_c2f)(MPI_Comm comm);
MPI_Comm MPI_FN(Comm_f2c)(MPI_Fint comm);
MPI_Fint MPI_FN(Errhandler_c2f)(MPI_Errhandler errhandler);
MPI_Errhandler MPI_FN(Errhandler_f2c)(MPI_Fint errhandler);
MPI_Fint MPI_FN(Group_c2f)(MPI_Group group);
MPI_Group MPI_FN(Group_f2c)(MPI_Fint group);
MPI_Fint MPI_FN(Info_c2f)(MPI_Info info);
MPI_Info MPI_FN(Info_f2c)(MPI_Fint info);
MPI_Fint MPI_FN(Message_c2f)(MPI_Message message);
MPI_Message MPI_FN(Message_f2c)(MPI_Fint message);
MPI_Fint MPI_FN(Op_c2f)(MPI_Op op);
MPI_Op MPI_FN(Op_f2c)(MPI_Fint op);
MPI_Fint MPI_FN(Request_c2f)(MPI_Request request);
MPI_Request MPI_FN(Request_f2c)(MPI_Fint request);
int MPI_FN(Status_c2f)(const MPI_Status *c_status, MPI_Fint *f_status);
int MPI_FN(Status_f2c)(const MPI_Fint *f_status, MPI_Status *c_status);
MPI_Fint MPI_FN(Type_c2f)(MPI_Datatype datatype);
MPI_Datatype MPI_FN(Type_f2c)(MPI_Fint datatype);
MPI_Fint MPI_FN(Win_c2f)(MPI_Win win);
MPI_Win MPI_FN(Win_f2c)(MPI_Fint win);

/* Deprecated or removed by the standard, used by old programs. */
int MPI_FN(Attr_put)(MPI_Comm comm, int keyval, void *attribute_val);
int MPI_FN(Attr_get)(MPI_Comm comm, int keyval, void *attribute_val, int *flag);
int MPI_FN(Attr_delete)(MPI_Comm comm, int keyval);
int MPI_FN(Keyval_create)(MPI_Copy_function *copy_fn, MPI_Delete_function *delete_fn, int *keyval, void *extra_state);
int MPI_FN(Keyval_free)(int *keyval);
int MPI_FN(Errhandler_create)(MPI_Handler_function *function, MPI_Errhandler *errhandler);
int MPI_FN(Errhandler_get)(MPI_Comm comm, MPI_Errhandler *errhandler);
int MPI_FN(Errhandler_set)(MPI_Comm comm, MPI_Errhandler errhandler);
int MPI_FN(Address)(void *location, MPI_Aint *address);
int MPI_FN(Type_extent)(MPI_Datatype datatype, MPI_Aint *extent);
int MPI_FN(Type_lb)(MPI_Datatype datatype, MPI_Aint *displacement);
int MPI_FN(Type_ub)(MPI_Datatype datatype, MPI_Aint *displacement);
int MPI_FN(Type_hvector)(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype *newtype);
int MPI_FN(Type_hindexed)(int count, int blocklengths[], MPI_Aint displacements[], MPI_Datatype oldtype,
    MPI_Datatype *newtype);
int MPI_FN(Type_struct)(int count, int blocklengths[], MPI_Aint displacements[], MPI_Datatype types[],
    MPI_Datatype *newtype);

/* Tool information interface, without variables. */
int MPI_FN(T_category_changed)(int *update_number);
int MPI_FN(T_category_get_categories)(int cat_index, int len, int indices[]);
int MPI_FN(T_category_get_cvars)(int cat_index, int len, int indices[]);
int MPI_FN(T_category_get_index)(const char *name, int *cat_index);
int MPI_FN(T_category_get_info)(int cat_index, char *name, int *name_len, char *desc, int *desc_len, int *num_cvars,
    int *num_pvars, int *num_categories);
int MPI_FN(T_category_get_num)(int *num_cat);
int MPI_FN(T_category_get_pvars)(int cat_index, int len, int indices[]);
int MPI_FN(T_cvar_get_index)(const char *name, int *cvar_index);
int MPI_FN(T_cvar_get_info)(int cvar_index, char *name, int *name_len, int *verbosity, MPI_Datatype *datatype,
    MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind, int *scope);
int MPI_FN(T_cvar_get_num)(int *num_cvar);
int MPI_FN(T_cvar_handle_alloc)(int cvar_index, void *obj_handle, MPI_T_cvar_handle *handle, int *count);
int MPI_FN(T_cvar_handle_free)(MPI_T_cvar_handle *handle);
int MPI_FN(T_cvar_read)(MPI_T_cvar_handle handle, void *buf);
int MPI_FN(T_cvar_write)(MPI_T_cvar_handle handle, const void *buf);
int MPI_FN(T_enum_get_info)(MPI_T_enum enumtype, int *num, char *name, int *name_len);
int MPI_FN(T_enum_get_item)(MPI_T_enum enumtype, int indx, int *value, char *name, int *name_len);
int MPI_FN(T_finalize)(void);
int MPI_FN(T_init_thread)(int required, int *provided);
int MPI_FN(T_pvar_get_index)(const char *name, int var_class, int *pvar_index);
int MPI_FN(T_pvar_get_info)(int pvar_index, char *name, int *name_len, int *verbosity, int *var_class,
    MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind, int *readonly,
    int *continuous, int *atomic);
int MPI_FN(T_pvar_get_num)(int *num_pvar);
int MPI_FN(T_pvar_handle_alloc)(MPI_T_pvar_session session, int pvar_index, void *obj_handle,
    MPI_T_pvar_handle *handle, int *count);
int MPI_FN(T_pvar_handle_free)(MPI_T_pvar_session session, MPI_T_pvar_handle *handle);
int MPI_FN(T_pvar_read)(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf);
int MPI_FN(T_pvar_readreset)(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf);
int MPI_FN(T_pvar_reset)(MPI_T_pvar_session session, MPI_T_pvar_handle handle);
int MPI_FN(T_pvar_session_create)(MPI_T_pvar_session *session);
int MPI_FN(T_pvar_session_free)(MPI_T_pvar_session *session);
int MPI_FN(T_pvar_start)(MPI_T_pvar_session session, MPI_T_pvar_handle handle);
int MPI_FN(T_pvar_stop)(MPI_T_pvar_session session, MPI_T_pvar_handle handle);
int MPI_FN(T_pvar_write)(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf);

/* Unsupported: files and dynamic processes. A call is an error that names the function. */
int MPI_FN(Comm_accept)(const char *port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm);
int MPI_FN(Comm_connect)(const char *port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm);
int MPI_FN(Comm_join)(int fd, MPI_Comm *intercomm);
int MPI_FN(Comm_spawn)(const char *command, char *argv[], int maxprocs, MPI_Info info, int root, MPI_Comm comm,
    MPI_Comm *intercomm, int array_of_errcodes[]);
int MPI_FN(Comm_spawn_multiple)(int count, char *array_of_commands[], char **array_of_argv[],
    const int array_of_maxprocs[], const MPI_Info array_of_info[], int root, MPI_Comm comm, MPI_Comm *intercomm,
    int array_of_errcodes[]);
int MPI_FN(Open_port)(MPI_Info info, char *port_name);
int MPI_FN(Close_port)(const char *port_name);
int MPI_FN(Publish_name)(const char *service_name, MPI_Info info, const char *port_name);
int MPI_FN(Unpublish_name)(const char *service_name, MPI_Info info, const char *port_name);
int MPI_FN(Lookup_name)(const char *service_name, MPI_Info info, char *port_name);
int MPI_FN(Register_datarep)(const char *datarep, MPI_Datarep_conversion_function *read_conversion_fn,
    MPI_Datarep_conversion_function *write_conversion_fn, MPI_Datarep_extent_function *dtype_file_extent_fn,
    void *extra_state);
int MPI_FN(File_call_errhandler)(MPI_File fh, int errorcode);
int MPI_FN(File_close)(MPI_File *fh);
int MPI_FN(File_create_errhandler)(MPI_File_errhandler_function *file_errhandler_fn, MPI_Errhandler *errhandler);
int MPI_FN(File_delete)(const char *filename, MPI_Info info);
int MPI_FN(File_get_amode)(MPI_File fh, int *amode);
int MPI_FN(File_get_atomicity)(MPI_File fh, int *flag);
int MPI_FN(File_get_byte_offset)(MPI_File fh, MPI_Offset offset, MPI_Offset *disp);
int MPI_FN(File_get_errhandler)(MPI_File file, MPI_Errhandler *errhandler);
int MPI_FN(File_get_group)(MPI_File fh, MPI_Group *group);
int MPI_FN(File_get_info)(MPI_File fh, MPI_Info *info_used);
int MPI_FN(File_get_position)(MPI_File fh, MPI_Offset *offset);
int MPI_FN(File_get_position_shared)(MPI_File fh, MPI_Offset *offset);
int MPI_FN(File_get_size)(MPI_File fh, MPI_Offset *size);
int MPI_FN(File_get_type_extent)(MPI_File fh, MPI_Datatype datatype, MPI_Aint *extent);
int MPI_FN(File_get_view)(MPI_File fh, MPI_Offset *disp, MPI_Datatype *etype, MPI_Datatype *filetype, char *datarep);
int MPI_FN(File_iread)(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Request *request);
int MPI_FN(File_iread_all)(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Request *request);
int MPI_FN(File_iread_at)(MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype,
    MPI_Request *request);
int MPI_FN(File_iread_at_all)(MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype,
    MPI_Request *request);
int MPI_FN(File_iread_shared)(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Request *request);
int MPI_FN(File_iwrite)(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Request *request);
int MPI_FN(File_iwrite_all)(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Request *request);
int MPI_FN(File_iwrite_at)(MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype,
    MPI_Request *request);
int MPI_FN(File_iwrite_at_all)(MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype,
    MPI_Request *request);
int MPI_FN(File_iwrite_shared)(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Request *request);
int MPI_FN(File_open)(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh);
int MPI_FN(File_preallocate)(MPI_File fh, MPI_Offset size);
int MPI_FN(File_read)(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status);
int MPI_FN(File_read_all)(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status);
int MPI_FN(File_read_all_begin)(MPI_File fh, void *buf, int count, MPI_Datatype datatype);
int MPI_FN(File_read_all_end)(MPI_File fh, void *buf, MPI_Status *status);
int MPI_FN(File_read_at)(MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype,
    MPI_Status *status);
int MPI_FN(File_read_at_all)(MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype,
    MPI_Status *status);
int MPI_FN(File_read_at_all_begin)(MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype);
int MPI_FN(File_read_at_all_end)(MPI_File fh, void *buf, MPI_Status *status);
int MPI_FN(File_read_ordered)(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status);
int MPI_FN(File_read_ordered_begin)(MPI_File fh, void *buf, int count, MPI_Datatype datatype);
int MPI_FN(File_read_ordered_end)(MPI_File fh, void *buf, MPI_Status *status);
int MPI_FN(File_read_shared)(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status);
int MPI_FN(File_seek)(MPI_File fh, MPI_Offset offset, int whence);
int MPI_FN(File_seek_shared)(MPI_File fh, MPI_Offset offset, int whence);
int MPI_FN(File_set_atomicity)(MPI_File fh, int flag);
int MPI_FN(File_set_errhandler)(MPI_File file, MPI_Errhandler errhandler);
int MPI_FN(File_set_info)(MPI_File fh, MPI_Info info);
int MPI_FN(File_set_size)(MPI_File fh, MPI_Offset size);
int MPI_FN(File_set_view)(MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
    const char *datarep, MPI_Info info);
int MPI_FN(File_sync)(MPI_File fh);
int MPI_FN(File_write)(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status);
int MPI_FN(File_write_all)(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status);
int MPI_FN(File_write_all_begin)(MPI_File fh, const void *buf, int count, MPI_Datatype datatype);
int MPI_FN(File_write_all_end)(MPI_File fh, const void *buf, MPI_Status *status);
int MPI_FN(File_write_at)(MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype,
    MPI_Status *status);
int MPI_FN(File_write_at_all)(MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype,
    MPI_Status *status);
int MPI_FN(File_write_at_all_begin)(MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype);
int MPI_FN(File_write_at_all_end)(MPI_File fh, const void *buf, MPI_Status *status);
int MPI_FN(File_write_ordered)(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status);
int MPI_FN(File_write_ordered_begin)(MPI_File fh, const void *buf, int count, MPI_Datatype datatype);
int MPI_FN(File_write_ordered_end)(MPI_File fh, const void *buf, MPI_Status *status);
int MPI_FN(File_write_shared)(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status);
MPI_Fint MPI_FN(File_c2f)(MPI_File file);
MPI_File MPI_FN(File_f2c)(MPI_Fint file);
