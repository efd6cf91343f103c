/* Rank 0 accesses protected memory within an MPI function. The arguments select the action of its fault handler and the
   MPI function. If the program continues, every rank prints two lines. */
#define _GNU_SOURCE
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static sigjmp_buf back;
static char *page;
static const char *what, *call;

/* Prints a line with one write, because launchers mix partial lines of different ranks. */
static void say(const char *form, int rank, int value) {
    char line[64];
    int length = snprintf(line, sizeof line, form, rank, value);
    if (write(STDOUT_FILENO, line, length) != length) _exit(4);
}

static void handle(int number, siginfo_t *info, void *context) {
    (void)context;
    if ((char *)info->si_addr < page || (char *)info->si_addr >= page + 4096) return;
    if (!strcmp(what, "mend")) mprotect(page, 4096, PROT_READ | PROT_WRITE);
    if (!strcmp(what, "jump")) siglongjmp(back, 1);
    if (!strcmp(what, "nothing")) return;
    if (strcmp(what, "mend")) printf("fault %d\n", number);
    if (strcmp(what, "mend")) fflush(stdout);
    if (!strcmp(what, "abort")) MPI_Abort(MPI_COMM_WORLD, 5);
    if (!strcmp(what, "exit")) _exit(3);
}

static void touch(void *in, void *out, int *count, MPI_Datatype *type) {
    (void)type;
    page[0] = 1;
    for (int i = 0; i < *count; i++) ((int *)out)[i] += ((int *)in)[i];
}

/* Executes rank 0's call of the MPI function. */
static void fault(int *sum) {
    MPI_Request request;
    MPI_Op op;
    int one = 1;
    if (!strcmp(call, "send")) MPI_Send(page, 100, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    if (!strcmp(call, "recv")) MPI_Recv(page, 100, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(call, "isend")) {
        MPI_Isend(page, 100, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (!strcmp(call, "allreduce")) MPI_Allreduce(page, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (!strcmp(call, "reduction")) {
        MPI_Op_create(touch, 1, &op);
        MPI_Allreduce(&one, sum, 1, MPI_INT, op, MPI_COMM_WORLD);
        MPI_Op_free(&op);
    }
}

int main(int argc, char **argv) {
    struct sigaction action;
    char data[100] = "";
    int rank, sum = 0, total = 0;
    MPI_Init(&argc, &argv);
    what = argv[1];
    call = argv[2];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, NULL);
    if (!strcmp(call, "reduction")) {
        fault(&sum);
        say("rank %d sum %d\n", rank, sum);
    } else if (rank == 0) {
        if (!sigsetjmp(back, 1)) fault(&sum);
        say("rank %d goes on\n", rank, 0);
    } else {
        /* If rank 0 jumps out of the MPI function, the function has no effect on other ranks. */
        int comes = strcmp(what, "jump");
        if (comes && !strcmp(call, "recv")) MPI_Send(data, 100, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        if (comes && !strcmp(call, "allreduce")) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (comes && strstr(call, "send")) MPI_Recv(data, 100, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        say("rank %d has %d\n", rank, sum);
    }
    MPI_Allreduce(&rank, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    say("rank %d total %d\n", rank, total);
    MPI_Finalize();
    return 0;
}
