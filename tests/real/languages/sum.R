# A message and a reduction of Rmpi. The output contains no time.
library(Rmpi)
rank <- mpi.comm.rank(0)
size <- mpi.comm.size(0)
if (rank == 0) invisible(mpi.send(c(4, 2), 2, 1, 7, comm = 0))
if (rank == 1) cat(mpi.recv(double(2), 2, 0, 7, comm = 0), "\n")
cat(rank, size, mpi.allreduce(rank, type = 1, op = "sum", comm = 0), "\n")
invisible(mpi.barrier(0))
mpi.quit()
