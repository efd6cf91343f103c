/* Name of the program for error messages. */
#include "own.h"

OWN char *program_invocation_name = (char *)"";
OWN char *program_invocation_short_name = (char *)"";
extern char *__progname_full __attribute__((weak, alias("program_invocation_name")));
extern char *__progname __attribute__((weak, alias("program_invocation_short_name")));

__attribute__((constructor(101))) static void take_name(int argc, char **argv) {
    char *slash;
    if (argc < 1 || !argv || !argv[0]) return;
    slash = strrchr(argv[0], '/');
    program_invocation_name = argv[0];
    program_invocation_short_name = slash ? slash + 1 : argv[0];
}
