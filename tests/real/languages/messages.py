# Messages, collectives and objects of mpi4py. The output contains no time.
import os
import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
other = (rank + 1) % size
data = bytearray(8)
request = world.Irecv([data, MPI.BYTE], source=MPI.ANY_SOURCE, tag=5)
world.Send([bytes([rank] * 8), MPI.BYTE], dest=other, tag=5)
status = MPI.Status()
request.Wait(status)
total = world.allreduce(rank)
part = world.Split(rank % 2, rank)
objects = world.gather({"rank": rank, "part": part.rank}, root=0)
largest = world.allreduce((rank, "x" * rank), op=MPI.MAX)
start = MPI.Wtime()
world.Barrier()
line = [rank, size, status.Get_source(), data[0], total, part.size, largest[0], MPI.Wtime() >= start]
line += [os.uname().nodename, len(os.sched_getaffinity(0)), os.cpu_count(), sys.argv[1:]]
print(*line, flush=True)
if rank == 0:
    print([entry["part"] for entry in objects])
