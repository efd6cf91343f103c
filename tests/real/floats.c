/* Floating-point environment of each rank while ranks run alternately. Prints the same output under any MPI. */
#define _GNU_SOURCE
#include <fenv.h>
#include <mpi.h>
#include <stdio.h>
#include <xmmintrin.h>

static int rank, size;

/* Lets every other rank run. Some of the MPI calls return without a switch to another rank. */
static void turn(void) {
    double mine = 1.0 + rank, all;
    MPI_Request request;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Isend(&mine, 1, MPI_DOUBLE, (rank + 1) % size, 0, MPI_COMM_WORLD, &request);
    MPI_Recv(&all, 1, MPI_DOUBLE, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    volatile double one = 1, three = 3, zero = 0, tiny = 1e-310, sum = 0;
    volatile float small = 1e-38f;
    volatile long double wide = 1;
    char text[4][400];
    int i, length = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
#define SAY(...) length += snprintf(text[0] + length, sizeof text[0] - length, __VA_ARGS__)

    fesetround(modes[rank % 4]);
    for (i = 0; i < 10; i++) {
        turn();
        sum += one / three;
    }
    SAY("rank %d: sum %a, 1/3 %La, round %d;", rank, sum, wide / 3, fegetround() == modes[rank % 4]);
    fesetround(FE_TONEAREST);
    turn();

    if (rank % 2) _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
    if (rank % 2) _mm_setcsr(_mm_getcsr() | 0x40);
    turn();
    turn();
    SAY(" flushed %a %a;", (double)(small * 0.5f), tiny + zero);
    if (rank % 2) _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_OFF);
    if (rank % 2) _mm_setcsr(_mm_getcsr() & ~0x40);

    feclearexcept(FE_ALL_EXCEPT);
    turn();
    SAY(" before %d,", fetestexcept(FE_ALL_EXCEPT) & FE_DIVBYZERO);
    if (rank % 3 == 1) sum = one / zero;
    if (rank % 3 == 2) wide /= 0.0L;
    turn();
    SAY(" after %d;", fetestexcept(FE_DIVBYZERO) != 0);
    feclearexcept(FE_ALL_EXCEPT);
    turn();

    /* Floating-point traps that one rank enables do not affect other ranks. */
    if (rank == 0) feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
    turn();
    if (rank != 0) sum = -one / zero;
    turn();
    if (rank == 0) sum = fegetexcept();
    SAY(" %g\n", sum);
    fedisableexcept(FE_ALL_EXCEPT);

    if (rank) MPI_Send(text[0], length + 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    else fputs(text[0], stdout);
    for (i = 1; rank == 0 && i < size; i++) {
        MPI_Recv(text[1], sizeof text[1], MPI_CHAR, i, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        fputs(text[1], stdout);
    }
    MPI_Finalize();
    return 0;
}
