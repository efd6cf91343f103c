! Sends, receives and collectives in Fortran.
program recorded
  use mpi
  implicit none
  integer :: ierr, rank, ranks, next, before, request(2), half
  integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2)
  double precision :: there(100), here(100), total
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  next = mod(rank + 1, ranks)
  before = mod(rank + ranks - 1, ranks)
  there = rank
  call MPI_Irecv(here, 100, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, request(1), ierr)
  call MPI_Isend(there, 60, MPI_DOUBLE_PRECISION, next, 1, MPI_COMM_WORLD, request(2), ierr)
  call MPI_Waitall(2, request, MPI_STATUSES_IGNORE, ierr)
  call MPI_Sendrecv(there, 10, MPI_DOUBLE_PRECISION, next, 2, here, 10, MPI_DOUBLE_PRECISION, before, 2, &
       MPI_COMM_WORLD, status, ierr)
  call MPI_Allreduce(MPI_IN_PLACE, there, 20, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_Bcast(here, 30, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half, ierr)
  call MPI_Reduce(there, here, 3, MPI_DOUBLE_PRECISION, MPI_MAX, 0, half, ierr)
  call MPI_Finalize(ierr)
end program recorded
