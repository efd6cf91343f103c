! The argument selects the first completion function that the program calls. Statuses are ignored.
program waits
    use mpi_f08
    implicit none
    character(20) :: which
    integer :: me, ranks, at, found, indices(2)
    logical :: flag
    real(8) :: sent(10), received(10)
    type(MPI_Request) :: requests(2)
    call get_command_argument(1, which)
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, me)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    sent = me
    call MPI_Irecv(received, 10, MPI_DOUBLE_PRECISION, modulo(me - 1, ranks), 7, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(sent, 10, MPI_DOUBLE_PRECISION, modulo(me + 1, ranks), 7, MPI_COMM_WORLD, requests(2))
    select case (which)
    case ('waitall')
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    case ('wait')
        call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
        call MPI_Wait(requests(2), MPI_STATUS_IGNORE)
    case ('waitany')
        call MPI_Waitany(2, requests, at, MPI_STATUS_IGNORE)
        call MPI_Waitany(2, requests, at, MPI_STATUS_IGNORE)
    case ('waitsome')
        at = 0
        do while (at < 2)
            call MPI_Waitsome(2, requests, found, indices, MPI_STATUSES_IGNORE)
            at = at + found
        end do
    case ('testall')
        flag = .false.
        do while (.not. flag)
            call MPI_Testall(2, requests, flag, MPI_STATUSES_IGNORE)
        end do
    case ('testsome')
        at = 0
        do while (at < 2)
            call MPI_Testsome(2, requests, found, indices, MPI_STATUSES_IGNORE)
            at = at + found
        end do
    case ('testany')
        at = 0
        do while (at < 2)
            call MPI_Testany(2, requests, found, flag, MPI_STATUS_IGNORE)
            if (flag) at = at + 1
        end do
    end select
    if (me == 0) print '(a)', 'ok'
    call MPI_Finalize()
end program
