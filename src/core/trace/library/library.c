/* libmcpsim-trace: records the actions of the ranks of an MPI program through MPI's profiling interface. One
 * translation unit, so that the compiler can inline frequently called functions. */
#include "log.h"
#include "calls.h"
#include "objects.h"
#include "notes.h"

#define COUNT int
#define DISPL int
#define N(name) MPI_##name
#define P(name) REAL(name)
#define N_(name) name
#include "lists.h"
#include "body.h"

#if MPI_VERSION >= 4
#undef COUNT
#undef DISPL
#undef N
#undef P
#undef N_
#define COUNT MPI_Count
#define DISPL MPI_Aint
#define N(name) MPI_##name##_c
#define P(name) REAL(name##_c)
#define N_(name) name##_large
#include "lists.h"
#include "body.h"
#endif

#include "waits.h"
#include "threads.h"
#include "clocks.h"
#include "start.h"
#include "opened.h"
/* The header of the standard ABI (MPI-5.0, chapter 20) has no type for Fortran's handles. */
#if !defined(MPI_ABI_VERSION) || defined(MPICH_NAME) || defined(OPEN_MPI)
#include "fortran.h"
#include "f08.h"
#endif
