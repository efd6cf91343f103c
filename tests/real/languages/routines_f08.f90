! Types, optional arguments, callbacks and special buffers of the module mpi_f08. The output contains no time.
module callbacks
  use mpi_f08
  implicit none
  integer :: handled = 0
contains
  subroutine last_digit(invec, inoutvec, len, datatype)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    if (datatype /= MPI_INTEGER) stop 'datatype'
    call c_f_pointer(invec, a, (/ len /))
    call c_f_pointer(inoutvec, b, (/ len /))
    b = mod(a + b, 10)
  end subroutine

  subroutine handler(comm, code)
    type(MPI_Comm) :: comm
    integer :: code
    if (comm == MPI_COMM_WORLD) handled = code
  end subroutine

  subroutine copy(comm, keyval, extra, value_in, value_out, flag, ierror)
    type(MPI_Comm) :: comm
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra, value_in, value_out
    logical :: flag
    value_out = value_in + extra
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine forget(comm, keyval, value, extra, ierror)
    type(MPI_Comm) :: comm
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra
    ierror = MPI_SUCCESS
  end subroutine
end module

program routines
  use mpi_f08
  use callbacks
  implicit none
  type(MPI_Comm) :: dup, graph
  type(MPI_Op) :: op
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status, statuses(2)
  type(MPI_Errhandler) :: errhandler
  type(MPI_Datatype) :: kinds(2), datatype
  type(MPI_Win) :: win
  type(MPI_Group) :: group
  type(MPI_Message) :: message
  integer :: rank, size, right, left, keyval, values(3), sums(3), i, count, mixed, code, from(1), to(1), length
  integer(MPI_ADDRESS_KIND) :: attribute, extra, addresses(2), bytes
  logical :: flag
  double precision :: pair(2)
  character(len=MPI_MAX_OBJECT_NAME) :: name
  integer, asynchronous :: received
  double precision, asynchronous :: window(4)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)

  call MPI_Op_create(last_digit, .true., op)
  values = (/ rank + 5, 7, rank /)
  call MPI_Allreduce(values, sums, 3, MPI_INTEGER, op, MPI_COMM_WORLD)
  print *, rank, 'op', sums
  call MPI_Op_free(op)

  extra = 100
  call MPI_Comm_create_keyval(copy, forget, keyval, extra)
  attribute = 7 + rank
  call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, attribute)
  call MPI_Comm_dup(MPI_COMM_WORLD, dup)
  attribute = 0
  call MPI_Comm_get_attr(dup, keyval, attribute, flag)
  print *, rank, 'attribute', attribute, flag
  call MPI_Comm_set_name(dup, 'a name')
  call MPI_Comm_get_name(dup, name, length)
  print *, rank, 'name ', trim(name), length
  call MPI_Comm_free(dup)

  call MPI_Comm_create_errhandler(handler, errhandler)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler)
  call MPI_Send(values, 1, MPI_INTEGER, size + 5, 0, MPI_COMM_WORLD, code)
  call MPI_Error_class(handled, i)
  print *, rank, 'handled', i == MPI_ERR_RANK, code /= MPI_SUCCESS
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)

  call MPI_Irecv(received, 1, MPI_INTEGER, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(rank, 1, MPI_INTEGER, right, 4, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, statuses)
  call MPI_Get_count(statuses(1), MPI_INTEGER, count)
  print *, rank, 'received', received, statuses(1)%MPI_SOURCE, statuses(1)%MPI_TAG, count, requests(1) == MPI_REQUEST_NULL
  call MPI_Isend(rank, 1, MPI_INTEGER, right, 6, MPI_COMM_WORLD, requests(2))
  call MPI_Mprobe(left, 6, MPI_COMM_WORLD, message, status)
  call MPI_Mrecv(received, 1, MPI_INTEGER, message, MPI_STATUS_IGNORE)
  call MPI_Wait(requests(2), MPI_STATUS_IGNORE)
  print *, rank, 'probed', received, status%MPI_TAG, message == MPI_MESSAGE_NULL
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, right, 1, i, 1, MPI_INTEGER, left, 1, MPI_COMM_WORLD, status)
  print *, rank, 'exchanged', i, status%MPI_SOURCE

  mixed = rank
  pair = rank * 0.5d0
  call MPI_Get_address(mixed, addresses(1))
  call MPI_Get_address(pair, addresses(2))
  kinds = (/ MPI_INTEGER, MPI_DOUBLE_PRECISION /)
  call MPI_Type_create_struct(2, (/ 1, 2 /), addresses, kinds, datatype)
  call MPI_Type_commit(datatype)
  call MPI_Bcast(MPI_BOTTOM, 1, datatype, size - 1, MPI_COMM_WORLD)
  print *, rank, 'bottom', mixed, pair
  call MPI_Type_free(datatype)
  sums = rank
  call MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
  print *, rank, 'in place', sums

  from = left
  to = right
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, from, MPI_UNWEIGHTED, 1, to, MPI_UNWEIGHTED, MPI_INFO_NULL, &
    .false., graph)
  call MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, i, 1, MPI_INTEGER, graph)
  call MPI_Comm_group(graph, group)
  call MPI_Group_size(group, count)
  print *, rank, 'graph', i, count

  window = rank
  bytes = 32
  call MPI_Win_create(window, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, win)
  call MPI_Win_fence(0, win)
  addresses(1) = 2
  call MPI_Put(pair, 1, MPI_DOUBLE_PRECISION, right, addresses(1), 1, MPI_DOUBLE_PRECISION, win)
  call MPI_Win_fence(0, win)
  print *, rank, 'window', window(3)
  call MPI_Win_free(win)
  print *, rank, 'end', MPI_Wtime() >= 0
  call MPI_Finalize()
end program
