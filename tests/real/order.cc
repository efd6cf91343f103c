// In each rank, destructors of statics and atexit functions run in the reverse order of registration.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <thread>
#include <mpi.h>

struct Speaker {
    const char *name;
    explicit Speaker(const char *name) : name(name) {}
    ~Speaker() { std::printf("~%s\n", name); }
};

static Speaker early("early");
thread_local Speaker own("own");

static Speaker &lazy() {
    static Speaker speaker("lazy");
    return speaker;
}

static void plain() { std::printf("plain\n"); }

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)own.name;
    std::atexit(plain);
    lazy();
    try {
        MPI_Barrier(MPI_COMM_WORLD);
        throw std::runtime_error("caught");
    } catch (const std::exception &error) {
        MPI_Barrier(MPI_COMM_WORLD);
        std::cout << error.what() << std::endl;
    }
    auto before = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::chrono::seconds(2));
    std::chrono::duration<double> passed = std::chrono::steady_clock::now() - before;
    std::cout << (passed.count() >= 2 && passed.count() < 2.1 ? "slept" : "not slept") << std::endl;
    MPI_Finalize();
    if (argc > 1) throw std::runtime_error("nobody catches");
    return 0;
}
