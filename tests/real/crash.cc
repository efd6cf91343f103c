// Rank 1 reads through a null pointer in a method of a template.
#include <mpi.h>

namespace grid {
template <typename Value>
struct Field {
    volatile Value *values;
    __attribute__((noinline, noclone)) Value at(int index) const
    {
        return values[index];
    }
};
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double value = 1;
    grid::Field<double> field = { rank == 1 ? nullptr : &value };
    double read = field.at(0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return read < 0;
}
