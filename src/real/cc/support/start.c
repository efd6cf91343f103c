/* Entry point of a program started without mcpsim: it executes mcpsim with itself as an argument.

   No relocation has been applied and no C library is available. The code uses only system calls and
   PC-relative data. */
#include <elf.h>
#include <sys/syscall.h>

/* Number of the program format, which the loader checks. */
__asm__(".pushsection .note.mcpsim, \"a\", @note\n"
        ".balign 4\n"
        ".long 7, 4, 1\n"
        ".asciz \"mcpsim\"\n"
        ".balign 4\n"
        ".long 1\n"
        ".popsection\n");

/* Alias of main for the loader, because main may be hidden. A program without main fails at link time. */
__asm__(".pushsection .text.mcpsim_main, \"ax\", @progbits\n"
        ".globl mcpsim_main\n"
        ".type mcpsim_main, @function\n"
        "mcpsim_main:\n"
        "jmp main@PLT\n"
        ".size mcpsim_main, . - mcpsim_main\n"
        ".popsection\n");

static const char recorded[] = MCPSIM_PATH;

static long call(long number, const void *first, const void *second, const void *third) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(first), "S"(second), "d"(third) : "rcx", "r11", "memory");
    return result;
}

static unsigned long length(const char *text) {
    unsigned long end = 0;
    while (text[end]) end++;
    return end;
}

static void print(const char *text) {
    call(SYS_write, (void *)2, text, (void *)length(text));
}

/* Returns the value of PATH, or 0 if PATH is not set. */
static const char *search_path(char **environment) {
    for (; *environment; environment++) {
        const char *entry = *environment;
        if (entry[0] == 'P' && entry[1] == 'A' && entry[2] == 'T' && entry[3] == 'H' && entry[4] == '=') return entry + 5;
    }
    return 0;
}

/* Executes the first mcpsim in PATH. Returns if PATH contains no mcpsim. */
static void search(char **arguments, char **environment) {
    static const char name[] = "/mcpsim";
    char candidate[4096];
    const char *path = search_path(environment);

    while (path && *path) {
        unsigned long end = 0, i;
        while (path[end] && path[end] != ':') end++;
        if (end && end + sizeof name <= sizeof candidate) {
            for (i = 0; i < end; i++) candidate[i] = path[i];
            for (i = 0; i < sizeof name; i++) candidate[end + i] = name[i];
            arguments[0] = candidate;
            call(SYS_execve, candidate, arguments, environment);
        }
        path += end + (path[end] == ':');
    }
}

__attribute__((used, visibility("hidden"))) void mcpsim_start_on(char **stack) {
    static const char run[] = "run", direct[] = "--direct", separator[] = "--", self[] = "/proc/self/exe";
    long argc = *(long *)stack, i;
    char **argv = stack + 1, **environment = argv + argc + 1;
    char *arguments[argc + 6], link[4096], *path = link;
    long end = call(SYS_readlink, self, link, (void *)(sizeof link - 1));
    if (end > 0) link[end] = 0;
    else path = argv[0];
    arguments[0] = (char *)recorded;
    arguments[1] = (char *)run;
    arguments[2] = (char *)direct;
    arguments[3] = path;
    arguments[4] = (char *)separator;
    for (i = 1; i < argc; i++) arguments[4 + i] = argv[i];
    arguments[4 + (argc ? argc : 1)] = 0;
    call(SYS_execve, recorded, arguments, environment);
    search(arguments, environment);
    print(path);
    print(": built by mcpsim cc: run it by mcpsim ");
    print(path);
    print("\n");
    call(SYS_exit_group, (void *)127, 0, 0);
    __builtin_unreachable();
}

__asm__(".pushsection .text.mcpsim_start, \"ax\", @progbits\n"
        ".globl mcpsim_start\n"
        ".type mcpsim_start, @function\n"
        "mcpsim_start:\n"
        "xor %ebp, %ebp\n"
        "mov %rsp, %rdi\n"
        "and $-16, %rsp\n"
        "call mcpsim_start_on\n"
        "hlt\n"
        ".size mcpsim_start, . - mcpsim_start\n"
        ".popsection\n");
