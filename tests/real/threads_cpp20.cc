// Waits of C++20 by threads with clocks of their own. The argument names the case. All times are stated, in milliseconds.
#include <linux/futex.h>
#include <mpi.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <thread>
#include <vector>

extern "C" void mcpsim_compute(double seconds) __attribute__((weak));

using std::chrono::milliseconds;

static double start, ends[8];

static void compute(double ms)
{
    if (mcpsim_compute)
        mcpsim_compute(ms / 1000);
}

static double now() { return (MPI_Wtime() - start) * 1000; }

// Executes a function in threads with the numbers 0, 1, …, and waits for their ends.
template <typename Function> static void in_threads(int count, Function function)
{
    std::vector<std::thread> threads;
    for (int own = 0; own < count; own++)
        threads.emplace_back(function, own);
    for (auto &thread : threads)
        thread.join();
}

// Threads compute 1, 2, 3 and 4 ms, meet, compute 1 ms each, and meet again. The last one computes 0.5 ms each time.
static int barrier()
{
    std::barrier meeting(4, []() noexcept { compute(0.5); });
    in_threads(4, [&](int own) {
        compute(own + 1);
        meeting.arrive_and_wait();
        ends[own] = now();
        compute(1);
        meeting.arrive_and_wait();
        ends[own + 4] = now();
    });
    return 8;
}

// The main thread waits until three threads have computed 1, 2 and 3 ms.
static int latch()
{
    std::latch computed(3);
    std::vector<std::jthread> threads;
    for (int own = 0; own < 3; own++)
        threads.emplace_back([&, own] {
            compute(own + 1);
            computed.count_down();
            compute(1);
            ends[own + 1] = now();
        });
    computed.wait();
    ends[0] = now();
    threads.clear();
    return 4;
}

// Two of four threads compute 1 ms at a time.
static int semaphore()
{
    std::counting_semaphore<4> free(2);
    in_threads(4, [&](int own) {
        free.acquire();
        compute(1);
        free.release();
        ends[own] = now();
    });
    return 4;
}

// Two threads wait for a value that a third one writes at 2 ms. The first one waits from the start, the second one asks at
// 5 ms. The numbers have the size of a word, or another size.
template <typename Number> static int atomic()
{
    std::atomic<Number> value{};
    in_threads(3, [&](int own) {
        if (own == 2) {
            compute(2);
            value = 1;
            value.notify_all();
        } else {
            compute(own * 5);
            value.wait(0);
        }
        ends[own] = now();
    });
    return 3;
}

// The main thread waits for a value for 1 ms, and then until a thread sets it at 3 ms.
static int future()
{
    std::promise<int> promise;
    auto value = promise.get_future();
    std::thread sets([&] {
        compute(3);
        promise.set_value(42);
        compute(1);
        ends[2] = now();
    });
    bool timed_out = value.wait_for(milliseconds(1)) == std::future_status::timeout;
    ends[0] = now();
    std::printf("timed out: %d\n", timed_out);
    std::printf("value: %d\n", value.get());
    ends[1] = now();
    sets.join();
    return 3;
}

struct Slow {
    Slow() { compute(2); }
};

// The first thread initialises a variable from 1 ms to 3 ms. The second one needs it at 2 ms, the third one at 4 ms.
static int variable()
{
    in_threads(3, [&](int own) {
        compute(own == 2 ? 4 : own + 1);
        static Slow slow;
        ends[own] = now();
    });
    return 3;
}

// A task of 2 ms, while the main thread computes 1 ms.
static int async()
{
    auto task = std::async(std::launch::async, [] {
        compute(2);
        return 7;
    });
    compute(1);
    std::printf("task: %d\n", task.get());
    ends[0] = now();
    return 1;
}

// Waits by the system call itself: until a time after the call, until a point in time, for another value, and until the
// main thread ends two waits at 3 ms. The other system calls do not wait.
static int direct()
{
    static int word = 7;
    timespec relative = {0, 1000000}, absolute = {0, 2000000}, wrong = {0, -1};
    int numbers[5] = {};
    std::thread limited([&] {
        auto wait = [&](int operation, int value, timespec *time) {
            long result = syscall(SYS_futex, &word, operation, value, time, nullptr, FUTEX_BITSET_MATCH_ANY);
            return result == -1 ? errno : (int)result;
        };
        numbers[0] = wait(FUTEX_WAIT, 7, &relative);
        ends[0] = now();
        numbers[1] = wait(FUTEX_WAIT_BITSET_PRIVATE, 7, &absolute);
        ends[1] = now();
        numbers[2] = wait(FUTEX_WAIT_PRIVATE, 8, nullptr);
        numbers[3] = wait(FUTEX_WAIT_PRIVATE, 7, &wrong);
        numbers[4] = wait(FUTEX_WAIT_PRIVATE, 7, nullptr);
        ends[2] = now();
    });
    std::thread endless([&] {
        while (word == 7)
            syscall(SYS_futex, &word, FUTEX_WAIT, 7, nullptr);
        ends[3] = now();
    });
    compute(3);
    word = 8;
    long woken = syscall(SYS_futex, &word, FUTEX_WAKE, 5, nullptr);
    bool expected = numbers[0] == ETIMEDOUT && numbers[1] == ETIMEDOUT && numbers[2] == EAGAIN && numbers[3] == EINVAL;
    std::printf("numbers: %d %ld\n", expected, woken);
    limited.join();
    endless.join();
    auto memory = (char *)syscall(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory[0] = 1;
    bool closed = syscall(SYS_close, -1) == 0 || errno != EBADF;
    std::printf("others: %d %d %d\n", numbers[4], memory[0], syscall(SYS_getpid) == getpid() && !closed);
    return 4;
}

// Threads compute measured blocks before a barrier. Each one asks for the time before the barrier, or does not.
template <bool asks> static int measured()
{
    std::barrier meeting(2);
    in_threads(2, [&](int own) {
        volatile double value = 1;
        for (int i = 0; i < (2 - own) * 2000000; i++)
            value = value * 1.5;
        if (asks)
            now();
        meeting.arrive_and_wait();
        ends[own] = now();
    });
    std::printf("together: %d\n", ends[0] - ends[1] < ends[0] / 100);
    return 0;
}

// Two threads call a function of 1 ms, which throws an exception in the first thread.
static int thrown()
{
    std::once_flag flag;
    in_threads(2, [&](int own) {
        try {
            std::call_once(flag, [&] {
                compute(1);
                if (own == 0)
                    throw own;
            });
        } catch (int) {
            std::printf("caught by %d\n", own);
        }
        ends[own] = now();
    });
    return 2;
}

// A thread waits for a latch that no thread counts down.
static int stuck()
{
    std::latch never(1);
    in_threads(1, [&](int) { never.wait(); });
    return 0;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    const char *name = argc > 1 ? argv[1] : "";
    start = MPI_Wtime();
    struct {
        const char *name;
        int (*run)();
    } cases[] = {
        {"barrier", barrier},        {"latch", latch},    {"semaphore", semaphore}, {"atomic", atomic<int>},
        {"small", atomic<char>},     {"large", atomic<long>}, {"future", future},   {"variable", variable},
        {"async", async},            {"direct", direct},     {"stuck", stuck},
        {"thrown", thrown},
        {"asks", measured<true>},    {"hurries", measured<false>},
    };
    for (auto &one : cases)
        if (!std::strcmp(name, one.name)) {
            int count = one.run();
            std::printf("%s:", name);
            for (int i = 0; i < count; i++)
                std::printf(" %.2f", ends[i]);
            std::printf("\n");
        }
    MPI_Finalize();
    return 0;
}
