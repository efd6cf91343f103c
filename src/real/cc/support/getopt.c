/* Command-line options as in GNU: other arguments may precede options, unless the option string starts with '+' or
   POSIXLY_CORRECT is set. */
#include "own.h"
#include <getopt.h>

OWN char *optarg;
OWN int optind = 1, opterr = 1, optopt = '?';

enum order { PERMUTE, STOP, IN_PLACE };

static struct {
    int begun;
    int culprit; /* Last value that this file has stored in optopt. Changes of optopt by the program have no effect. */
    enum order order;
    char *rest;        /* Remaining characters of an argument that contains several short options. */
    int skipped, past; /* Skipped arguments that are not options have the indices from `skipped` to `past` - 1. */
} scan;

struct command {
    int argc;
    char **argv;
    const char *shorts;
    const struct option *longs;
    int *index;
    int single; /* True if a long option may begin with one dash. */
    int silent;
};

static void reverse(char **from, char **to) {
    while (from < --to) {
        char *argument = *from;
        *from++ = *to;
        *to = argument;
    }
}

/* Moves skipped arguments behind the options that follow the skipped arguments. */
static void put_behind(char **argv) {
    reverse(argv + scan.skipped, argv + scan.past);
    reverse(argv + scan.past, argv + optind);
    reverse(argv + scan.skipped, argv + optind);
    scan.skipped += optind - scan.past;
    scan.past = optind;
}

static int is_option(const char *argument) {
    return argument[0] == '-' && argument[1];
}

static int missing(const struct command *command) {
    return command->shorts[0] == ':' ? ':' : '?';
}

static int same(const struct option *a, const struct option *b) {
    return a->has_arg == b->has_arg && a->flag == b->flag && a->val == b->val;
}

/* Finds the long option at scan.rest by its full name or a unique abbreviation. Returns null if there is none. */
static const struct option *find(const struct command *command, const char *prefix, size_t length, int *several) {
    const struct option *found = NULL, *each;
    *several = 0;
    for (each = command->longs; each->name; each++)
        if (!strncmp(each->name, scan.rest, length) && strlen(each->name) == length) return each;
    for (each = command->longs; each->name; each++) {
        if (strncmp(each->name, scan.rest, length)) continue;
        if (!found) found = each;
        else if (command->single || !same(found, each)) *several = 1;
    }
    if (*several && !command->silent) {
        flockfile(stderr);
        fprintf(stderr, "%s: option '%s%s' is ambiguous; possibilities:", command->argv[0], prefix, scan.rest);
        for (each = command->longs; each->name; each++)
            if (!strncmp(each->name, scan.rest, length) && (each == found || command->single || !same(found, each)))
                fprintf(stderr, " '%s%s'", prefix, each->name);
        fprintf(stderr, "\n");
        funlockfile(stderr);
    }
    return found;
}

/* Parses the long option at scan.rest. Returns -1 if the argument may consist of short options. */
static int long_option(const struct command *command, const char *prefix) {
    size_t length = strcspn(scan.rest, "=");
    int several;
    const struct option *found = find(command, prefix, length, &several);
    const char *value = scan.rest[length] ? scan.rest + length + 1 : NULL;
    char *name = command->argv[0];
    if (several || !found) {
        int may_be_short = !several && command->single && command->argv[optind][1] != '-';
        if (may_be_short && strchr(command->shorts, scan.rest[0])) return -1;
        if (!several && !command->silent) fprintf(stderr, "%s: unrecognized option '%s%s'\n", name, prefix, scan.rest);
        scan.rest = NULL;
        optind++;
        optopt = 0;
        return '?';
    }
    optind++;
    scan.rest = NULL;
    if (value && found->has_arg == no_argument) {
        if (!command->silent)
            fprintf(stderr, "%s: option '%s%s' doesn't allow an argument\n", name, prefix, found->name);
        optopt = found->val;
        return '?';
    }
    if (value) optarg = (char *)value;
    if (!value && found->has_arg == required_argument) {
        if (optind >= command->argc) {
            if (!command->silent)
                fprintf(stderr, "%s: option '%s%s' requires an argument\n", name, prefix, found->name);
            optopt = found->val;
            return missing(command);
        }
        optarg = command->argv[optind++];
    }
    if (command->index) *command->index = (int)(found - command->longs);
    if (!found->flag) return found->val;
    *found->flag = found->val;
    return 0;
}

/* Sets the argument of a short option. Returns 0 if a required argument is missing. */
static int take_argument(const struct command *command, int option) {
    if (scan.rest && *scan.rest) {
        optarg = scan.rest;
        optind++;
    } else if (optind < command->argc) {
        optarg = command->argv[optind++];
    } else {
        if (!command->silent)
            fprintf(stderr, "%s: option requires an argument -- '%c'\n", command->argv[0], option);
        optopt = option;
        return 0;
    }
    return 1;
}

/* Parses the first short option at scan.rest. */
static int short_option(const struct command *command) {
    int option = *scan.rest++;
    const char *known = strchr(command->shorts, option);
    if (!*scan.rest) optind++;
    if (!known || option == ':' || option == ';') {
        if (!command->silent) fprintf(stderr, "%s: invalid option -- '%c'\n", command->argv[0], option);
        optopt = option;
        return '?';
    }
    if (option == 'W' && known[1] == ';' && command->longs) {
        if (!take_argument(command, option)) return missing(command);
        optind--;
        scan.rest = optarg;
        optarg = NULL;
        return long_option(command, "-W ");
    }
    if (known[1] != ':') return option;
    if (known[2] == ':') {
        if (*scan.rest) {
            optarg = scan.rest;
            optind++;
        }
    } else if (!take_argument(command, option)) {
        option = missing(command);
    }
    scan.rest = NULL;
    return option;
}

static void begin(const char *shorts, int posix) {
    if (optind == 0) optind = 1;
    scan.skipped = scan.past = optind;
    scan.rest = NULL;
    scan.begun = 1;
    if (shorts[0] == '-') scan.order = IN_PLACE;
    else if (shorts[0] == '+' || posix || getenv("POSIXLY_CORRECT")) scan.order = STOP;
    else scan.order = PERMUTE;
}

/* Advances to the next argument. Returns 0 for an option, and otherwise the result that the caller returns. */
static int next_argument(int argc, char **argv) {
    if (scan.past > optind) scan.past = optind;
    if (scan.skipped > optind) scan.skipped = optind;
    if (scan.order == PERMUTE) {
        if (scan.skipped != scan.past && scan.past != optind) put_behind(argv);
        else if (scan.past != optind) scan.skipped = optind;
        while (optind < argc && !is_option(argv[optind])) optind++;
        scan.past = optind;
    }
    if (optind < argc && !strcmp(argv[optind], "--")) {
        optind++;
        if (scan.skipped != scan.past && scan.past != optind) put_behind(argv);
        else if (scan.skipped == scan.past) scan.skipped = optind;
        scan.past = optind = argc;
    }
    if (optind >= argc) {
        if (scan.skipped != scan.past) optind = scan.skipped;
        return -1;
    }
    if (is_option(argv[optind])) return 0;
    if (scan.order == STOP) return -1;
    optarg = argv[optind++];
    return 1;
}

static int next_option(struct command command) {
    const struct option *longs = command.longs;
    if (command.shorts[0] == '-' || command.shorts[0] == '+') command.shorts++;
    command.silent = !opterr || command.shorts[0] == ':';
    if (!scan.rest || !*scan.rest) {
        int result = next_argument(command.argc, command.argv);
        char *argument;
        if (result) return result;
        argument = command.argv[optind];
        if (longs && argument[1] == '-') {
            scan.rest = argument + 2;
            return long_option(&command, "--");
        }
        if (longs && command.single && (argument[2] || !strchr(command.shorts, argument[1]))) {
            scan.rest = argument + 1;
            result = long_option(&command, "-");
            if (result != -1) return result;
        }
        scan.rest = argument + 1;
    }
    return short_option(&command);
}

static int any_option(int argc, char **argv, const char *shorts, const struct option *longs, int *index, int single,
                      int posix) {
    struct command command = {argc, argv, shorts, longs, index, single, 0};
    int result;
    if (argc < 1) return -1;
    optarg = NULL;
    optopt = scan.culprit;
    if (optind == 0 || !scan.begun) begin(shorts, posix);
    result = next_option(command);
    scan.culprit = optopt;
    return result;
}

OWN int getopt(int argc, char *const argv[], const char *shorts) {
    return any_option(argc, (char **)argv, shorts, NULL, NULL, 0, 0);
}

OWN int __posix_getopt(int argc, char *const argv[], const char *shorts) {
    return any_option(argc, (char **)argv, shorts, NULL, NULL, 0, 1);
}

OWN int getopt_long(int argc, char *const argv[], const char *shorts, const struct option *longs, int *index) {
    return any_option(argc, (char **)argv, shorts, longs, index, 0, 0);
}

OWN int getopt_long_only(int argc, char *const argv[], const char *shorts, const struct option *longs, int *index) {
    return any_option(argc, (char **)argv, shorts, longs, index, 1, 0);
}
