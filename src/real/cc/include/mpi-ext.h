/* Extensions that Open MPI declares here. Messages have no device buffers. */
#ifndef MPI_EXT_H
#define MPI_EXT_H

#include "mpi.h"

#define OMPI_HAVE_MPI_EXT_CUDA 1
#define MPIX_CUDA_AWARE_SUPPORT 0
#define OMPI_HAVE_MPI_EXT_ROCM 1
#define MPIX_ROCM_AWARE_SUPPORT 0

static inline int MPIX_Query_cuda_support(void) { return 0; }
static inline int MPIX_Query_rocm_support(void) { return 0; }

#endif
