/* Uses HDF5 without MPI in the directory of the argument. Rank 1 closes the library while other ranks write. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    char path[4200];
    double value, back = 0;
    hid_t file, space, set;
    herr_t failed = 0;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    value = rank + 0.5;
    sprintf(path, "%s/%d.h5", argv[1], rank);
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) failed |= H5Fclose(file) | H5close();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 1) {
        space = H5Screate(H5S_SCALAR);
        set = H5Dcreate2(file, "value", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        failed |= H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value);
        failed |= H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &back);
        failed |= H5Fclose(file);
    }
    printf("rank %d has read %g, failed %d\n", rank, back, (int)failed);
    MPI_Finalize();
    return 0;
}
