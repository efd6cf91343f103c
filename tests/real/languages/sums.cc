// Sums of vectors, an exception and iostreams. The output contains no time.
#include <iostream>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <vector>

#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::vector<double> own(3, rank + 1.0), all(3 * size);
    MPI_Allgather(own.data(), 3, MPI_DOUBLE, all.data(), 3, MPI_DOUBLE, MPI_COMM_WORLD);
    std::string caught;
    try {
        throw std::runtime_error("rank " + std::to_string(rank));
    } catch (const std::exception &error) {
        caught = error.what();
    }
    std::ostringstream line;
    line << caught << " of " << size << ": " << std::accumulate(all.begin(), all.end(), 0.0) << "\n";
    std::cout << line.str() << std::flush;
    MPI_Finalize();
}
