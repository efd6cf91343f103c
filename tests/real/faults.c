/* Fault handlers of the program. Prints the same output under any MPI. */
#define _GNU_SOURCE
#include <fenv.h>
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static int rank, failures;
static volatile int seen;
static sigjmp_buf out;
static volatile int zero;
static char *page, *alternate;
static int on_alternate;

#define TURN MPI_Barrier(MPI_COMM_WORLD)
#define CHECK(what)                                                                                                   \
    if (!(what)) {                                                                                                    \
        printf("rank %d, line %d: %s\n", rank, __LINE__, #what);                                                      \
        failures++;                                                                                                   \
    }

static void jump(int number) {
    seen = number;
    siglongjmp(out, 1);
}

static void jump_from(int number, siginfo_t *info, void *context) {
    jump(info && context ? number : 0);
}

/* Maps the missing memory and returns. */
static void mend(int number, siginfo_t *info, void *context) {
    char here;
    seen = number;
    CHECK(info->si_signo == SIGSEGV && (char *)info->si_addr == page + 10 && context);
    on_alternate = &here > alternate && &here < alternate + SIGSTKSZ;
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

/* Continues after the faulting instruction. */
static void skip(int number, siginfo_t *info, void *context) {
    ucontext_t *state = context;
    seen = number + (info->si_code == ILL_ILLOPN ? 0 : 100);
    state->uc_mcontext.gregs[REG_RIP] += 2;
}

static int deeper(int n) {
    volatile char room[10000];
    room[0] = n;
    return n < 0 ? room[0] : deeper(n + 1) + room[0];
}

static void handle(int number, void (*handler)(int, siginfo_t *, void *), int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | flags;
    sigaction(number, &action, NULL);
}

int main(int argc, char **argv) {
    stack_t stack, before;
    volatile double one = 1, floating = 0, result = 5;
    int i;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    /* The handler jumps out several times, while other ranks run in between. */
    signal(SIGSEGV, jump);
    for (i = 0; i < 3; i++) {
        if (!sigsetjmp(out, 1)) *(volatile int *)(long)(16 + zero) = 1;
        TURN;
        CHECK(seen == SIGSEGV);
        seen = 0;
    }
    signal(SIGFPE, jump);
    if (!sigsetjmp(out, 1)) result = 7 / zero;
    CHECK(seen == SIGFPE);
    TURN;
    if (rank % 2 == 0) {
        feenableexcept(FE_DIVBYZERO);
        if (!sigsetjmp(out, 1)) {
            seen = 0;
            result = one / floating;
            CHECK(0);
        }
        CHECK(seen == SIGFPE);
        fedisableexcept(FE_ALL_EXCEPT);
    } else {
        result = one / floating;
        CHECK(result > 1e300);
    }
    TURN;

    /* The handler repairs the cause of the fault and returns. */
    alternate = malloc(SIGSTKSZ);
    memset(&stack, 0, sizeof stack);
    stack.ss_sp = alternate;
    stack.ss_size = SIGSTKSZ;
    CHECK(sigaltstack(&stack, NULL) == 0 && sigaltstack(NULL, &before) == 0 && before.ss_sp == alternate);
    for (i = 0; i < 2; i++) {
        page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        handle(SIGSEGV, mend, i ? SA_ONSTACK : 0);
        result = 2.5;
        page[10] = 7;
        CHECK(page[10] == 7 && seen == SIGSEGV && result == 2.5 && on_alternate == i);
        seen = 0;
        TURN;
    }
    handle(SIGILL, skip, 0);
    __asm__ volatile("ud2");
    CHECK(seen == SIGILL);
    TURN;

    /* The stack is exhausted, and the handler runs on its alternate stack. */
    handle(SIGSEGV, jump_from, SA_ONSTACK);
    seen = 0;
    if (!sigsetjmp(out, 1)) deeper(zero);
    CHECK(seen == SIGSEGV);
    TURN;

    /* The program ends within a handler. */
    printf("rank %d: %d failures\n", rank, failures);
    MPI_Finalize();
    return failures != 0;
}
