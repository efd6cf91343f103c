/* A fluxon in a long Josephson junction: the sine-Gordon equation along a chain of ranks.
 *
 *     ljj points steps
 *
 *     points   of the junction, 0.1 Josephson lengths apart, at least 400 and at least 4 for each rank
 *     steps    of time, 0.02 each
 *
 * The phase p across the junction and the voltage v = p_t follow p_tt = p_xx - sin p; both ends are open (p_x = 0). A
 * step is of the classical Runge-Kutta method of fourth order, each of whose four stages needs one more neighbour:
 * ranks exchange the phases and voltages of four points with both neighbours once a step, 64 bytes each way, and
 * compute the stages of these points again. A single fluxon, p = 4 arctan exp((x - x0 - u t) / sqrt(1 - u^2)), begins
 * left of the middle, and is as fast as it can be, up to u = 0.6, without coming near an end.
 *
 * Checked: energy and momentum stay; the phase across the whole junction is one turn; the fluxon is where the formula
 * says, as exactly as the distance of points allows.
 * The application's shape is that of workloads/ljj.toml; the physics is in McLaughlin and Scott: Perturbation analysis
 * of fluxon dynamics, Physical Review A 18 (1978).
 */
#include "common.h"
#include <math.h>

enum { border = 4, stages = 4 };

static const double pi = 3.14159265358979323846, distance = 0.1, time_step = 0.02;
static long points; /* of this rank; fields have `border` foreign ones before and after */
static int left, right;

/* What every rank knows of the whole junction. */
struct sums {
    double energy, momentum, centre;
};

/* Fills the points beyond this rank's with the neighbours', or a mirror image at an end. */
static void exchange(double *phase, double *voltage)
{
    double out[2][2 * border], in[2][2 * border];
    MPI_Request requests[4];
    MPI_Irecv(in[0], 2 * border, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in[1], 2 * border, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < border; i++) {
        out[0][i] = phase[border + i];
        out[0][border + i] = voltage[border + i];
        out[1][i] = phase[points + i];
        out[1][border + i] = voltage[points + i];
    }
    MPI_Isend(out[0], 2 * border, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(out[1], 2 * border, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < border; i++) {
        int mirrored = border - 1 - i;
        phase[i] = left == MPI_PROC_NULL ? out[0][mirrored] : in[0][i];
        voltage[i] = left == MPI_PROC_NULL ? out[0][border + mirrored] : in[0][border + i];
        phase[border + points + i] = right == MPI_PROC_NULL ? out[1][mirrored] : in[1][i];
        voltage[border + points + i] = right == MPI_PROC_NULL ? out[1][border + mirrored] : in[1][border + i];
    }
}

/* Fields of one stage: where the derivatives are taken, and the derivatives. */
static double *stage_phase, *stage_voltage, *slope_phase, *slope_voltage, *sum_phase, *sum_voltage;

static void step(double *phase, double *voltage)
{
    static const double ahead[stages] = {0, 0.5, 0.5, 1}, weight[stages] = {1. / 6, 1. / 3, 1. / 3, 1. / 6};
    long all = points + 2 * border;
    exchange(phase, voltage);
    memset(sum_phase, 0, (size_t)all * sizeof *sum_phase);
    memset(sum_voltage, 0, (size_t)all * sizeof *sum_voltage);
    for (int stage = 0; stage < stages; stage++) {
        for (long i = stage; i < all - stage; i++) {
            stage_phase[i] = phase[i] + (stage > 0 ? ahead[stage] * time_step * slope_phase[i] : 0);
            stage_voltage[i] = voltage[i] + (stage > 0 ? ahead[stage] * time_step * slope_voltage[i] : 0);
        }
        for (long i = stage + 1; i < all - stage - 1; i++) {
            double bend = stage_phase[i - 1] - 2 * stage_phase[i] + stage_phase[i + 1];
            slope_phase[i] = stage_voltage[i];
            slope_voltage[i] = bend / (distance * distance) - sin(stage_phase[i]);
            sum_phase[i] += weight[stage] * slope_phase[i];
            sum_voltage[i] += weight[stage] * slope_voltage[i];
        }
    }
    for (long i = border; i < border + points; i++) {
        phase[i] += time_step * sum_phase[i];
        voltage[i] += time_step * sum_voltage[i];
    }
}

/* Energy, momentum - integral of p_t p_x, and the fluxon's centre, from the mean of the phase. */
static struct sums measure(double *phase, double *voltage, long total)
{
    exchange(phase, voltage);
    double mine[3] = {0, 0, 0}, all[3];
    for (long i = border; i < border + points; i++) {
        double ahead = (phase[i + 1] - phase[i]) / distance, bend = (phase[i + 1] - phase[i - 1]) / (2 * distance);
        mine[0] += distance * (voltage[i] * voltage[i] / 2 + ahead * ahead / 2 + 1 - cos(phase[i]));
        mine[1] -= distance * voltage[i] * bend;
        mine[2] += distance * phase[i];
    }
    MPI_Allreduce(mine, all, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return (struct sums){all[0], all[1], distance * (double)total - all[2] / (2 * pi)};
}

static double *field(void)
{
    return room((size_t)(points + 2 * border), sizeof(double));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv, "ljj points steps");
    expect_arguments(argc, argv, 2, 2);
    long total = number(argc, argv, 1, "points", 400, 1000000000, 0);
    long steps = number(argc, argv, 2, "steps", 1, 1000000000, 0);
    if (total / size < border)
        refuse("%ld points are too few for %d ranks: each needs %d\n", total, size, border);
    points = share(total, rank, size);
    left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;

    /* Fifteen lengths from either end the fluxon does not feel it: its tails are below 1e-6. */
    double length = distance * (double)total, duration = time_step * (double)steps;
    double speed = fmin(0.6, (length - 30) / duration), shrink = sqrt(1 - speed * speed);
    double begins = (length - speed * duration) / 2;
    double *phase = field(), *voltage = field();
    stage_phase = field(), stage_voltage = field();
    slope_phase = field(), slope_voltage = field();
    sum_phase = field(), sum_voltage = field();
    long before = shares_before(total, rank, size);
    for (long i = 0; i < points; i++) {
        double x = (distance * ((double)(before + i) + 0.5) - begins) / shrink;
        phase[border + i] = 4 * atan(exp(x));
        voltage[border + i] = -2 * speed / shrink / cosh(x);
    }

    struct sums was = measure(phase, voltage, total);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (long i = 0; i < steps; i++)
        step(phase, voltage);
    double seconds = longest(MPI_Wtime() - start);
    struct sums is = measure(phase, voltage, total);

    double mine[2] = {-1e300, -1e300}, ends[2];
    if (rank == 0)
        mine[0] = -phase[border];
    if (rank == size - 1)
        mine[1] = phase[border + points - 1];
    MPI_Allreduce(mine, ends, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    double turns = (ends[0] + ends[1]) / (2 * pi), moved = is.centre - was.centre;
    /* Differences of second order make the fluxon slower by a share that goes with the square of the distance. */
    double allowed = 1e-3 + distance * distance * speed * duration;
    int energy_stays = fabs(is.energy - was.energy) <= 1e-6 * was.energy;
    int momentum_stays = fabs(is.momentum - was.momentum) <= 1e-4 * fabs(was.momentum);
    int one_turn = fabs(turns - 1) <= 5e-4, in_place = fabs(moved - speed * duration) <= allowed;
    if (rank == 0) {
        printf("ljj: %ld points, %ld steps, %d ranks\n", total, steps, size);
        printf("time: %.6f s\n", seconds);
        printf("speed: %.4f\n", speed);
        printf("energy: %.7f, at the start %.7f: %s\n", is.energy, was.energy, energy_stays ? "stays" : "CHANGES");
        printf("momentum: %.7f, at the start %.7f: %s\n", is.momentum, was.momentum,
               momentum_stays ? "stays" : "CHANGES");
        printf("phase across the junction: %.5f turns: %s\n", turns, one_turn ? "right" : "WRONG");
        printf("moved by: %.5f, expected %.5f: %s\n", moved, speed * duration, in_place ? "right" : "WRONG");
    }
    free(phase), free(voltage), free(stage_phase), free(stage_voltage);
    free(slope_phase), free(slope_voltage), free(sum_phase), free(sum_voltage);
    return finish(energy_stays && momentum_stays && one_turn && in_place);
}
