/* Regions of OpenMP whose threads state their times. The argument names the case. Times are in ms since the start of
   the case. */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

extern void mcpsim_compute(double seconds) __attribute__((weak));

static double start;

static void compute(double ms)
{
    if (mcpsim_compute)
        mcpsim_compute(ms / 1000);
}

static double now(void)
{
    return (MPI_Wtime() - start) * 1000;
}

/* Thread t computes for t + 1 ms, then after a barrier for 4 - t ms. */
static void barrier(void)
{
#pragma omp parallel
    {
        int t = omp_get_thread_num();
        compute(t + 1);
#pragma omp barrier
        compute(4 - t);
    }
}

/* Iteration i takes i ms. */
static void static_loop(void)
{
#pragma omp parallel for schedule(static, 1)
    for (int i = 1; i <= 8; i++)
        compute(i);
}

static void dynamic_loop(void)
{
#pragma omp parallel for schedule(dynamic, 1)
    for (int i = 8; i >= 1; i--)
        compute(i);
}

static void guided_loop(void)
{
#pragma omp parallel for schedule(guided)
    for (int i = 0; i < 16; i++)
        compute(1);
}

/* 1 ms, and 2 ms in the critical section, twice. */
static void critical(void)
{
#pragma omp parallel
    for (int i = 0; i < 2; i++) {
        compute(1);
#pragma omp critical
        compute(2);
    }
}

static void lock(void)
{
    omp_lock_t held;
    omp_init_lock(&held);
#pragma omp parallel
    {
        compute(omp_get_thread_num());
        omp_set_lock(&held);
        compute(3);
        omp_unset_lock(&held);
    }
    omp_destroy_lock(&held);
}

/* One thread executes the section while the others wait. */
static void single(void)
{
    for (int i = 0; i < 3; i++) {
#pragma omp parallel
        {
            compute(1);
#pragma omp single
            compute(5);
            compute(1);
        }
    }
}

static void sections(void)
{
#pragma omp parallel sections
    {
#pragma omp section
        compute(4);
#pragma omp section
        compute(1);
#pragma omp section
        compute(3);
    }
}

static void ordered(void)
{
#pragma omp parallel for ordered schedule(static, 1)
    for (int i = 0; i < 4; i++) {
        compute(1);
#pragma omp ordered
        compute(2);
    }
}

/* The creator computes 1 ms per task. Each of eight tasks takes 4 ms. */
static void tasks(void)
{
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 8; i++) {
        compute(1);
#pragma omp task
        compute(4);
    }
}

static void tree(int depth)
{
    if (depth == 0) {
        compute(1);
        return;
    }
#pragma omp task
    tree(depth - 1);
#pragma omp task
    tree(depth - 1);
#pragma omp taskwait
}

/* 16 leaves of 1 ms. */
static void recursive(void)
{
#pragma omp parallel
#pragma omp single
    tree(4);
}

static void taskloop(void)
{
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(1)
    for (int i = 0; i < 8; i++)
        compute(1);
}

/* Two teams of two threads, of 1 + 2 and 2 + 1 ms. */
static void nested(void)
{
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
        int outer = omp_get_thread_num();
#pragma omp parallel num_threads(2)
        compute(omp_get_thread_num() == 0 ? 1 : 2);
#pragma omp parallel num_threads(2)
        compute(outer == 0 ? 1 : 2);
    }
}

/* Regions of one thread, and between regions. */
static void serial(void)
{
#pragma omp parallel num_threads(1)
    compute(1);
    compute(1);
#pragma omp parallel
    compute(1);
    compute(1);
#pragma omp parallel num_threads(2)
    compute(1);
}

static void reduction(void)
{
    double sum = 0;
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#pragma omp parallel for reduction(+ : sum) schedule(static, 1)
    for (int i = 0; i < 4; i++) {
        compute(1);
        sum += i + rank;
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("sum: %g of %d ranks\n", sum, ranks);
}

/* Each thread sends and receives a message of its own. */
static void messages(void)
{
    int rank, sum = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#pragma omp parallel reduction(+ : sum)
    {
        int t = omp_get_thread_num(), sent = 10 * rank + t, got = -1;
        compute(t);
        MPI_Sendrecv(&sent, 1, MPI_INT, 1 - rank, t, &got, 1, MPI_INT, 1 - rank, t, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum = got;
    }
    printf("received: %d\n", sum);
}

/* Three threads of 10 ms print their ends in the order of threads. */
static void slices(void)
{
    double ends[3], begin = omp_get_wtime();
#pragma omp parallel num_threads(3)
    {
        compute(10);
#pragma omp critical
        ends[omp_get_thread_num()] = (omp_get_wtime() - begin) * 1000;
    }
    printf("ends: %.2f %.2f %.2f\n", ends[0], ends[1], ends[2]);
}

static void add(void *from, void *to, int *count, MPI_Datatype *type)
{
    int *a = from, *b = to;
    (void)type;
#pragma omp parallel for
    for (int i = 0; i < *count; i++)
        b[i] += a[i];
}

/* The operation has a region, after a region of several threads. */
static void operation(void)
{
    int own[64], sums[64], wrong = 0;
    MPI_Op op;
    barrier();
    for (int i = 0; i < 64; i++)
        own[i] = i;
    MPI_Op_create(add, 1, &op);
    MPI_Allreduce(own, sums, 64, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    for (int i = 0; i < 64; i++)
        wrong += sums[i] != 2 * i;
    printf("wrong: %d\n", wrong);
}

/* The first thread waits for a message that nobody sends. */
static void stuck(void)
{
    int got;
#pragma omp parallel
    if (omp_get_thread_num() == 1)
        MPI_Recv(&got, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"barrier", barrier},
             {"static", static_loop},
             {"dynamic", dynamic_loop},
             {"guided", guided_loop},
             {"critical", critical},
             {"lock", lock},
             {"single", single},
             {"sections", sections},
             {"ordered", ordered},
             {"tasks", tasks},
             {"recursive", recursive},
             {"taskloop", taskloop},
             {"nested", nested},
             {"serial", serial},
             {"reduction", reduction},
             {"messages", messages},
             {"slices", slices},
             {"operation", operation},
             {"stuck", stuck}};

int main(int argc, char **argv)
{
    int level = argc > 2 && strcmp(argv[2], "multiple") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, given, rank;
    MPI_Init_thread(&argc, &argv, level, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            start = MPI_Wtime();
            cases[i].run();
            if (rank == 0)
                printf("%s: %.2f\n", argv[1], now());
        }
    MPI_Finalize();
    return 0;
}
