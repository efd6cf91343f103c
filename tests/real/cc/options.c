/* Prints the results of getopt and related functions for its arguments. MODE selects the function and short options. */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    static int flag;
    static const struct option longs[] = {{"alpha", no_argument, NULL, 'a'},      {"beta", required_argument, NULL, 'b'},
                                          {"gamma", optional_argument, NULL, 'g'}, {"alps", no_argument, NULL, 'p'},
                                          {"flag", no_argument, &flag, 7},         {"same1", no_argument, NULL, 's'},
                                          {"same2", no_argument, NULL, 's'},       {NULL, 0, NULL, 0}};
    const char *mode = getenv("MODE"), *shorts = mode + 1;
    int twice, i, found, index;
    for (twice = 0; twice < 2; twice++) {
        for (;;) {
            index = -1;
            if (mode[0] == 's') found = getopt(argc, argv, shorts);
            else if (mode[0] == 'l') found = getopt_long(argc, argv, shorts, longs, &index);
            else found = getopt_long_only(argc, argv, shorts, longs, &index);
            printf("%d optopt %d optind %d index %d flag %d arg %s\n", found, optopt, optind, index, flag,
                   optarg ? optarg : "(none)");
            fflush(stdout);
            if (found == -1) break;
        }
        for (i = 0; i < argc; i++) printf("%s ", argv[i]);
        printf("\n");
        optind = 0;
        if (mode[0] == 's') opterr = 0;
    }
    return 0;
}
