/* Checks what the standard says of collectives and some MPI gets wrong; each place names it. */
#include "check.h"

/* In place at a root that is not the first (section 5.9.1), of 1000 and more ints; MPICH 4.0 crashes. */
int main(int argc, char **argv)
{
    enum { MOST = 40000 };
    static int in[MOST], out[MOST];
    start(&argc, &argv, "strict_coll");
    for (int root = 0; root < size; root++)
        for (int count = 1000; count <= MOST; count *= 40) {
            int good = 1;
            for (int i = 0; i < count; i++)
                in[i] = out[i] = rank + i;
            OK(MPI_Reduce(rank == root ? MPI_IN_PLACE : out, rank == root ? in : NULL, count, MPI_INT, MPI_SUM, root,
                          MPI_COMM_WORLD));
            for (int i = 0; i < count; i++)
                good = good && in[i] == (rank == root ? size * (size - 1) / 2 + size * i : rank + i);
            CHECK(good);
        }
    return finish();
}
