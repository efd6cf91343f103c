/* Starts and ends MPI: what a run costs without anything in it.
 *
 *     empty
 *
 * Prints nothing and checks nothing.
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    return 0;
}
