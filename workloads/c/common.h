/* What all programs of this directory share: arguments, memory, and how a result is told.
 *
 * A program begins with `begin` and ends with `finish`. Arguments are the same on all ranks, so each rank comes to the
 * same opinion about them; rank 0 tells it. Exit codes: 0 verified, 1 not verified, 2 wrong arguments.
 *
 * Everything a program prints is equal between MPIs for the same arguments and number of ranks, except lines that begin
 * with "time:".
 */
#ifndef COMMON_H
#define COMMON_H

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;            /* in MPI_COMM_WORLD */
static const char *program_usage; /* what follows "usage: " */

/* Says why the arguments will not do, and how the program is called; ends the program. */
static inline void refuse(const char *format, ...)
{
    if (rank == 0) {
        va_list values;
        va_start(values, format);
        vfprintf(stderr, format, values);
        va_end(values);
        fprintf(stderr, "usage: %s\n", program_usage);
    }
    MPI_Finalize();
    exit(2);
}

/* Starts MPI. `usage` begins with the program's name. */
static inline void begin(int *argc, char ***argv, const char *usage)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    program_usage = usage;
    for (int i = 1; i < *argc; i++)
        if (strcmp((*argv)[i], "-h") == 0 || strcmp((*argv)[i], "--help") == 0)
            refuse("%s", "");
}

/* Takes an option such as `-v blocking` out of the arguments. Returns which of the `count` words it has, else 0. */
static inline int choice(int *argc, char **argv, const char *option, const char *const *words, int count)
{
    int chosen = 0;
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], option) != 0)
            continue;
        const char *word = i + 1 < *argc ? argv[i + 1] : "nothing";
        for (chosen = 0; chosen < count && strcmp(word, words[chosen]) != 0;)
            chosen++;
        if (chosen == count)
            refuse("expected one of the words below after %s; found %s\n", option, word);
        for (int k = i; k + 2 <= *argc; k++) /* argv[argc] is a null pointer and moves too */
            argv[k] = argv[k + 2];
        *argc -= 2;
        i--;
    }
    return chosen;
}

/* The number after an option, taken out of the arguments; `absent` without the option. */
static inline double real_option(int *argc, char **argv, const char *option, double least, double most, double absent)
{
    double value = absent;
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], option) != 0)
            continue;
        char *end = NULL;
        value = i + 1 < *argc ? strtod(argv[i + 1], &end) : 0;
        if (end == NULL || end == argv[i + 1] || *end != 0 || !(value >= least && value <= most))
            refuse("expected a number from %g to %g after %s; found %s\n", least, most, option,
                   i + 1 < *argc ? argv[i + 1] : "nothing");
        for (int k = i; k + 2 <= *argc; k++)
            argv[k] = argv[k + 2];
        *argc -= 2;
        i--;
    }
    return value;
}

/* When all options are taken out: expects from `least` to `most` arguments. */
static inline void expect_arguments(int argc, char **argv, int least, int most)
{
    for (int i = 1; i < argc; i++)
        if (argv[i][0] == '-' && (argv[i][1] < '0' || argv[i][1] > '9'))
            refuse("unknown option %s\n", argv[i]);
    if (argc - 1 < least)
        refuse("expected at least %d argument%s; found %d\n", least, least == 1 ? "" : "s", argc - 1);
    if (argc - 1 > most)
        refuse("expected at most %d argument%s; found %d\n", most, most == 1 ? "" : "s", argc - 1);
}

/* Argument i, called `what`, which must be a whole number in the given range; `absent` if there is none. */
static inline long number(int argc, char **argv, int i, const char *what, long least, long most, long absent)
{
    if (i >= argc)
        return absent;
    char *end;
    long value = strtol(argv[i], &end, 10);
    if (end == argv[i] || *end != '\0' || value < least || value > most)
        refuse("expected %s to be a whole number from %ld to %ld; found \"%s\"\n", what, least, most, argv[i]);
    return value;
}

/* Memory for `count` things, at least one, set to zero; ends all ranks if there is none left. */
static inline void *room(size_t count, size_t bytes)
{
    void *memory = calloc(count > 0 ? count : 1, bytes);
    if (memory == NULL) {
        fprintf(stderr, "rank %d: no memory for %lu times %lu bytes\n", rank, (unsigned long)count,
                (unsigned long)bytes);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    return memory;
}

/* How many of `total` things part `part` of `parts` has; the first parts have one more. */
static inline long share(long total, long part, long parts)
{
    return total / parts + (part < total % parts ? 1 : 0);
}

/* How many things the parts before `part` have. */
static inline long shares_before(long total, long part, long parts)
{
    long rest = total % parts;
    return total / parts * part + (part < rest ? part : rest);
}

/* A number that looks random, the same for the same index everywhere: Steele, Lea and Flood's SplitMix64. */
static inline uint64_t scramble(uint64_t index)
{
    uint64_t z = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The longest time of all ranks, on rank 0. */
static inline double longest(double seconds)
{
    double most = 0;
    MPI_Reduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return most;
}

/* Ends MPI after rank 0 has said whether all ranks are content; returns the exit code. */
static inline int finish(int content)
{
    int all;
    MPI_Allreduce(&content, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (rank == 0)
        printf("verified: %s\n", all ? "ok" : "FAILED");
    MPI_Finalize();
    return all ? 0 : 1;
}

#endif
