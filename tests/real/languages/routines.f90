! Callbacks, attributes, strings, statuses and special buffers in Fortran. The output contains no time.
module callbacks
  use mpi
  implicit none
  integer :: handled = 0, freed = 0
contains
  subroutine last_digit(invec, inoutvec, len, datatype)
    integer :: len, datatype, invec(len), inoutvec(len)
    if (datatype /= MPI_INTEGER) stop 'datatype'
    inoutvec = mod(invec + inoutvec, 10)
  end subroutine

  subroutine handler(comm, code)
    integer :: comm, code
    if (comm == MPI_COMM_WORLD) handled = code
  end subroutine

  subroutine copy(comm, keyval, extra, value_in, value_out, flag, ierror)
    integer :: comm, keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra, value_in, value_out
    logical :: flag
    value_out = value_in + extra
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine forget(comm, keyval, value, extra, ierror)
    integer :: comm, keyval, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra
    freed = freed + int(value)
    ierror = MPI_SUCCESS
  end subroutine

  subroutine query(extra, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: status(MPI_STATUS_SIZE), ierror
    status(MPI_SOURCE) = int(extra)
    status(MPI_TAG) = 99
    call MPI_Status_set_elements(status, MPI_BYTE, 3, ierror)
    call MPI_Status_set_cancelled(status, .false., ierror)
  end subroutine

  subroutine release(extra, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: ierror
    ierror = MPI_SUCCESS
  end subroutine

  subroutine cancel(extra, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    logical :: complete
    integer :: ierror
    ierror = MPI_SUCCESS
  end subroutine
end module

program routines
  use mpi
  use callbacks
  implicit none
  integer :: ierror, rank, size, right, op, keyval, dup, errhandler, request, requests(2), status(MPI_STATUS_SIZE)
  integer :: statuses(MPI_STATUS_SIZE, 2), indices(2), done, count, length, info, cart, coords(2), dims(2), group
  integer :: values(3), sums(3), types(4), blocks(2), kinds(2), datatype, win, i, counts(4), displacements(4), few(4), back(4)
  integer :: range(3, 1), ranks(1), other(1), major, minor
  integer(MPI_ADDRESS_KIND) :: attribute, extra, addresses(2), window_size
  logical :: flag, periods(2)
  character(len=20) :: text
  character(len=MPI_MAX_ERROR_STRING) :: message
  character(len=MPI_MAX_OBJECT_NAME) :: name
  double precision :: pair(2), window(4)
  integer :: mixed

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  right = mod(rank + 1, size)

  call MPI_Op_create(last_digit, .true., op, ierror)
  values = (/ rank + 5, 7, rank /)
  call MPI_Allreduce(values, sums, 3, MPI_INTEGER, op, MPI_COMM_WORLD, ierror)
  print *, rank, 'op', sums
  call MPI_Op_free(op, ierror)
  print *, rank, 'op null', op == MPI_OP_NULL

  extra = 100
  call MPI_Comm_create_keyval(copy, forget, keyval, extra, ierror)
  attribute = 7 + rank
  call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, attribute, ierror)
  call MPI_Comm_dup(MPI_COMM_WORLD, dup, ierror)
  attribute = 0
  call MPI_Comm_get_attr(dup, keyval, attribute, flag, ierror)
  print *, rank, 'attribute', attribute, flag
  call MPI_Comm_set_name(dup, '  a name', ierror)
  call MPI_Comm_get_name(dup, name, length, ierror)
  print *, rank, 'name ', trim(name), length
  call MPI_Comm_free(dup, ierror)
  call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval, ierror)
  call MPI_Comm_free_keyval(keyval, ierror)
  print *, rank, 'freed', freed, keyval == MPI_KEYVAL_INVALID
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, attribute, flag, ierror)
  print *, rank, 'tag ub', attribute >= 32767, flag

  call MPI_Comm_create_errhandler(handler, errhandler, ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler, ierror)
  call MPI_Send(values, 1, MPI_INTEGER, size + 5, 0, MPI_COMM_WORLD, ierror)
  call MPI_Error_class(handled, i, ierror)
  print *, rank, 'handled', i == MPI_ERR_RANK
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierror)
  call MPI_Errhandler_free(errhandler, ierror)
  call MPI_Error_string(MPI_ERR_TAG, message, length, ierror)
  print *, rank, 'message', length > 5 .and. length == len_trim(message)

  call MPI_Info_create(info, ierror)
  call MPI_Info_set(info, 'key  ', ' some value ', ierror)
  call MPI_Info_get(info, 'key', 20, text, flag, ierror)
  print *, rank, 'info |', text, '|', flag
  call MPI_Info_get_nkeys(info, count, ierror)
  call MPI_Info_free(info, ierror)
  print *, rank, 'keys', count, info == MPI_INFO_NULL

  extra = 40 + rank
  call MPI_Grequest_start(query, release, cancel, extra, request, ierror)
  call MPI_Grequest_complete(request, ierror)
  call MPI_Wait(request, status, ierror)
  call MPI_Get_count(status, MPI_BYTE, count, ierror)
  print *, rank, 'generalised', status(MPI_SOURCE), status(MPI_TAG), count

  call MPI_Send_init(rank, 1, MPI_INTEGER, right, 3, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Recv_init(i, 1, MPI_INTEGER, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Startall(2, requests, ierror)
  call MPI_Waitall(2, requests, statuses, ierror)
  print *, rank, 'persistent', i, statuses(MPI_SOURCE, 2), requests(1) /= MPI_REQUEST_NULL
  call MPI_Start(requests(1), ierror)
  call MPI_Start(requests(2), ierror)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierror)
  call MPI_Waitany(2, requests, count, status, ierror)
  print *, rank, 'any', count, status(MPI_TAG), requests(2) /= MPI_REQUEST_NULL
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
  call MPI_Request_free(requests(1), ierror)
  call MPI_Request_free(requests(2), ierror)
  call MPI_Waitany(2, requests, count, status, ierror)
  print *, rank, 'none', status(MPI_SOURCE) == MPI_ANY_SOURCE
  call MPI_Irecv(i, 1, MPI_INTEGER, MPI_PROC_NULL, 3, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Testsome(2, requests, done, indices, statuses, ierror)
  print *, rank, 'some', done, indices(1)

  mixed = rank
  pair = rank * 0.5d0
  call MPI_Get_address(mixed, addresses(1), ierror)
  call MPI_Get_address(pair, addresses(2), ierror)
  blocks = (/ 1, 2 /)
  kinds = (/ MPI_INTEGER, MPI_DOUBLE_PRECISION /)
  call MPI_Type_create_struct(2, blocks, addresses, kinds, datatype, ierror)
  call MPI_Type_commit(datatype, ierror)
  call MPI_Bcast(MPI_BOTTOM, 1, datatype, size - 1, MPI_COMM_WORLD, ierror)
  print *, rank, 'bottom', mixed, pair
  call MPI_Type_free(datatype, ierror)
  call MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, datatype, ierror)
  call MPI_Type_size(datatype, i, ierror)
  call MPI_Type_create_f90_integer(9, datatype, ierror)
  call MPI_Type_size(datatype, count, ierror)
  print *, rank, 'sizes', i, count

  few = (/ (rank * 10 + i, i = 1, 4) /)
  back = 0
  counts = 0
  counts(1:size) = 1
  displacements = (/ (4 * (i - 1), i = 1, 4) /)
  types = MPI_INTEGER
  call MPI_Alltoallw(few, counts, displacements, types, back, counts, displacements, types, MPI_COMM_WORLD, ierror)
  print *, rank, 'alltoallw', back
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, few, 1, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  print *, rank, 'in place', few

  dims = 0
  call MPI_Dims_create(size, 2, dims, ierror)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, (/ .true., .false. /), .false., cart, ierror)
  call MPI_Cart_get(cart, 2, dims, periods, coords, ierror)
  call MPI_Cart_shift(cart, 1, 1, i, count, ierror)
  print *, rank, 'cart', dims, periods, coords, i == MPI_PROC_NULL, count >= 0
  call MPI_Comm_group(cart, group, ierror)
  range(:, 1) = (/ 0, size - 1, 2 /)
  call MPI_Group_range_incl(group, 1, range, i, ierror)
  call MPI_Group_size(i, count, ierror)
  ranks = 1
  call MPI_Group_translate_ranks(i, 1, ranks, group, other, ierror)
  call MPI_Group_difference(group, group, i, ierror)
  print *, rank, 'group', count, other, i == MPI_GROUP_EMPTY

  window = rank
  window_size = 32
  call MPI_Win_create(window, window_size, 8, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
  call MPI_Win_fence(0, win, ierror)
  addresses(1) = 2
  call MPI_Put(pair, 1, MPI_DOUBLE_PRECISION, right, addresses(1), 1, MPI_DOUBLE_PRECISION, win, ierror)
  call MPI_Win_fence(0, win, ierror)
  call MPI_Win_get_attr(win, MPI_WIN_SIZE, attribute, flag, ierror)
  print *, rank, 'window', window(3), attribute, flag
  call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, attribute, flag, ierror)
  print *, rank, 'unit', attribute
  call MPI_Win_free(win, ierror)

  call MPI_Get_version(major, minor, ierror)
  print *, rank, 'version', major >= 3, MPI_Wtime() >= 0, MPI_Wtick() < 1, MPI_Aint_add(addresses(1), addresses(1))
  call MPI_Query_thread(i, ierror)
  call MPI_Finalize(ierror)
end program
