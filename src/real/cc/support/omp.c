/* The OpenMP runtime has one lock per process for all unnamed critical sections, and one for atomic operations without
   a processor instruction. Each rank simulates a process and therefore has its own locks. */
extern void GOMP_critical_name_start(void **) __attribute__((weak));
extern void GOMP_critical_name_end(void **) __attribute__((weak));

static void *critical, *atomic;

void GOMP_critical_start(void) { GOMP_critical_name_start(&critical); }
void GOMP_critical_end(void) { GOMP_critical_name_end(&critical); }
void GOMP_atomic_start(void) { GOMP_critical_name_start(&atomic); }
void GOMP_atomic_end(void) { GOMP_critical_name_end(&atomic); }
