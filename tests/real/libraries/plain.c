/* Library that is unloaded when it is closed. It defines a function that the program also defines. */
static int calls;

int call(void) { return ++calls; }
int of_program(int n) { return -n; }
int of_either(int n) { return of_program(n); }
