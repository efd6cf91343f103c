/* Calls MPI functions that mcpsim does not simulate (files, dynamic processes), or functions that only ranks as processes
   have. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc == 2 && strcmp(argv[1], "file") == 0) {
        MPI_File file;
        MPI_File_open(MPI_COMM_SELF, "nowhere", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    } else if (argc == 2 && strcmp(argv[1], "execl") == 0) {
        execl("/bin/echo", "echo", "another program", NULL);
    } else if (argc == 2 && strcmp(argv[1], "call") == 0) {
        char *words[] = { "echo", "another program", NULL };
        syscall(SYS_execveat, AT_FDCWD, "/bin/echo", words, (char *[]){ NULL }, 0);
    } else if (argc == 2 && strcmp(argv[1], "fork") == 0) {
        int status;
        pid_t child = fork();
        if (child == 0) _exit(0);
        waitpid(child, &status, 0);
    } else if (argc == 2 && strcmp(argv[1], "zone") == 0) {
        setenv("TZ", "ABC+5", 1);
    } else if (argc == 2 && strcmp(argv[1], "lock") == 0) {
        struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
        fcntl(fileno(tmpfile()), F_SETLK, &all);
    } else if (argc == 2) {
        MPI_Comm other;
        MPI_Comm_spawn("other", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other, MPI_ERRCODES_IGNORE);
    }
    return MPI_Finalize();
}
