! Features of `use mpi_f08`: special addresses, logical arguments, wildcard receives without statuses.
program recorded_f08
  use mpi_f08
  implicit none
  integer :: rank, ranks, turn, x(10), y(10)
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status
  type(MPI_Comm) :: copy, ring
  logical :: found
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  x = rank
  do turn = 1, 3
    call MPI_Irecv(y, 10, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(x, 10, MPI_INTEGER, mod(rank + 1, ranks), turn, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  end do
  call MPI_Irecv(y, 10, MPI_INTEGER, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(x, 10, MPI_INTEGER, mod(rank + 1, ranks), 9, MPI_COMM_WORLD, requests(2))
  found = .false.
  do while (.not. found)
    call MPI_Test(requests(1), found, MPI_STATUS_IGNORE)
  end do
  call MPI_Wait(requests(2), status)
  call MPI_Allreduce(MPI_IN_PLACE, x, 10, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Comm_dup(MPI_COMM_WORLD, copy)
  call MPI_Bcast(x, 10, MPI_INTEGER, 0, copy)
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., ring)
  call MPI_Barrier(ring)
  call MPI_Sendrecv(x, 2, MPI_INTEGER, mod(rank + 1, ranks), 3, y, 2, MPI_INTEGER, MPI_ANY_SOURCE, 3, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call MPI_Finalize()
end program
