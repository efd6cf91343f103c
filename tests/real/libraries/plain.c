/* A library that nothing keeps once it is closed, with a function that the program has as well. */
static int calls;

int call(void) { return ++calls; }
int of_program(int n) { return -n; }
int of_either(int n) { return of_program(n); }
