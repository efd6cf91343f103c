// Ranks open libraries in the directory of the first argument. Prints the same output under any MPI.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <mpi.h>
#include <stdexcept>
#include <string>

static int rank, size, failures;

#define CHECK(what)                                                                                                    \
    if (!(what)) {                                                                                                     \
        printf("rank %d, line %d: %s (%s)\n", rank, __LINE__, #what, dlerror());                                       \
        failures++;                                                                                                    \
    }

extern "C" int of_program(int n) { return 10 * n; }

struct Shape {
    virtual ~Shape() {}
    virtual int edges() const { return 0; }
};

static std::string directory;

static std::string at(const char *name) { return directory + "/" + name; }

template <class Function> static Function find(void *handle, const char *name) {
    Function found = reinterpret_cast<Function>(dlsym(handle, name));
    CHECK(found != nullptr);
    return found;
}

static void turn() { MPI_Barrier(MPI_COMM_WORLD); }

static void state() {
    CHECK(!dlopen(at("libnone.so").c_str(), RTLD_NOW));
    std::string error = dlerror();
    CHECK(error == at("libnone.so") + ": cannot open shared object file: No such file or directory");
    CHECK(!dlerror());
    CHECK(!dlopen(at("libstate.so").c_str(), RTLD_NOW | RTLD_NOLOAD));
    dlerror();
    void *handle = dlopen(at("libstate.so").c_str(), RTLD_NOW);
    CHECK(handle);
    if (!handle) MPI_Abort(MPI_COMM_WORLD, 9);
    auto count = find<int (*)()>(handle, "count"), local = find<int (*)()>(handle, "local_count");
    auto remember = find<const char *(*)(const char *)>(handle, "remember");
    auto seed = find<void (*)(unsigned)>(handle, "seed");
    auto draw = find<int (*)()>(handle, "draw");
    seed(rank + 1);
    turn();
    int drawn = draw();
    srand(rank + 1);
    CHECK(drawn == rand());
    for (int i = 0; i < rank; i++) count(), local();
    std::string text = "rank " + std::to_string(rank);
    const char *kept = remember(text.c_str());
    turn();
    CHECK(kept == "begun" + text);
    turn();
    printf("rank %d: counted %d, local %d\n", rank, count(), local());
    CHECK(dlopen(at("libstate.so").c_str(), RTLD_LAZY) == handle);
    CHECK(dlopen(at("libstate.so").c_str(), RTLD_LAZY | RTLD_NOLOAD) == handle);
    CHECK(dlclose(handle) == 0 && dlclose(handle) == 0);
    CHECK(find<int (*)()>(handle, "count") == count);
    CHECK(!dlsym(handle, "nowhere"));
    error = dlerror();
    CHECK(error == at("libstate.so") + ": undefined symbol: nowhere");
    CHECK(!dlsym(RTLD_DEFAULT, "local_count") && dlerror());
    CHECK(find<int *>(handle, "exported") && *find<int *>(handle, "exported") == 7);

    Dl_info info;
    CHECK(dladdr(reinterpret_cast<void *>(count), &info) && !strcmp(info.dli_sname, "count"));
    CHECK(at("libstate.so") == info.dli_fname && info.dli_saddr == reinterpret_cast<void *>(count));
    void *places[2] = {reinterpret_cast<char *>(count) + 1, reinterpret_cast<void *>(count)};
    char **texts = backtrace_symbols(places, 2);
    char expected[4096];
    snprintf(expected, sizeof expected, "%s(count+0x1) [%p]", info.dli_fname, places[0]);
    CHECK(texts && !strcmp(texts[0], expected) && strstr(texts[1], "(count+0) ["));
    free(texts);
    struct link_map *map;
    char origin[4096];
    CHECK(!dlinfo(handle, RTLD_DI_ORIGIN, origin) && at("libstate.so") == std::string(origin) + "/libstate.so");
    CHECK(!dlinfo(handle, RTLD_DI_LINKMAP, &map) && at("libstate.so") == map->l_name);
}

static void speak() {
    void *handle = dlopen(at("libspeak.so").c_str(), RTLD_NOW | RTLD_GLOBAL);
    CHECK(handle);
    if (!handle) return;
    CHECK(find<int (*)()>(handle, "sum_of_ranks")() == 10 * size * (size - 1) / 2);
    auto count = find<int (*)()>(handle, "count_there"), same = find<int (*)()>(handle, "count");
    count();
    printf("rank %d: there %d, and %d\n", rank, count(), same());
    CHECK(find<void *>(RTLD_DEFAULT, "sum_of_ranks") == find<void *>(handle, "sum_of_ranks"));
    void *self = dlopen(nullptr, RTLD_NOW);
    CHECK(self && find<void *>(self, "of_program") == reinterpret_cast<void *>(of_program));
    CHECK(find<void *>(self, "MPI_Init") && find<void *>(self, "strlen"));
    CHECK(find<void *>(RTLD_NEXT, "strlen") && !dlsym(RTLD_NEXT, "of_program"));
    dlerror();
}

static void objects() {
    void *handle = dlopen(at("libthrow.so").c_str(), RTLD_LAZY | RTLD_LOCAL);
    CHECK(handle);
    if (!handle) return;
    auto fail = find<void (*)(int)>(handle, "fail");
    auto remember = find<const char *(*)(int)>(handle, "remember_here");
    auto mine = find<const char *(*)()>(handle, "mine_here");
    for (int i = 0; i < 3; i++) {
        try {
            fail(10 * rank + i);
        } catch (const std::out_of_range &caught) {
            turn();
            remember(rank + i);
            CHECK("number " + std::to_string(10 * rank + i) == caught.what());
        }
    }
    printf("rank %d: %s, %s\n", rank, remember(9), mine());
    Shape *shape = find<Shape *(*)()>(handle, "make")();
    CHECK(shape->edges() == 4 && find<int (*)(Shape *)>(handle, "is_square")(shape));
    Shape plain;
    CHECK(!find<int (*)(Shape *)>(handle, "is_square")(&plain));
    delete shape;
}

static void apart() {
    void *here = dlopen(at("libstate.so").c_str(), RTLD_NOW);
    void *there = dlmopen(LM_ID_NEWLM, at("libstate.so").c_str(), RTLD_NOW);
    CHECK(here && there && here != there);
    if (!here || !there) return;
    auto count = find<int (*)()>(here, "count"), other = find<int (*)()>(there, "count");
    int before = count();
    CHECK(other() == 1001 && other() == 1002 && count() == before + 1);
    Lmid_t space = 0, first = 7;
    CHECK(!dlinfo(there, RTLD_DI_LMID, &space) && space > 0 && !dlinfo(here, RTLD_DI_LMID, &first) && first == 0);
    CHECK(dlmopen(space, at("libstate.so").c_str(), RTLD_NOW) == there);
    CHECK(dlmopen(LM_ID_BASE, at("libstate.so").c_str(), RTLD_NOW) == here);
    CHECK(!dlmopen(LM_ID_NEWLM, at("libstate.so").c_str(), RTLD_NOW | RTLD_GLOBAL) && dlerror());
    CHECK(dlclose(there) == 0 && dlclose(there) == 0 && count() == before + 2);
}

static void kept() {
    const std::string plain = at("libplain.so");
    void *handle = dlopen(plain.c_str(), RTLD_NOW);
    CHECK(handle && find<int (*)(int)>(handle, "of_either")(2) == 20 && find<int (*)()>(handle, "call")() == 1);
    CHECK(dlclose(handle) == 0 && !dlopen(plain.c_str(), RTLD_NOW | RTLD_NOLOAD));
    dlerror();
    handle = dlopen(plain.c_str(), RTLD_NOW | RTLD_DEEPBIND);
    CHECK(handle && find<int (*)(int)>(handle, "of_either")(2) == -2 && find<int (*)()>(handle, "call")() == 1);
    CHECK(dlclose(handle) == 0);
    handle = dlopen(plain.c_str(), RTLD_NOW | RTLD_GLOBAL);
    auto call = find<int (*)()>(RTLD_DEFAULT, "call");
    CHECK(handle && dlclose(handle) == 0 && call() == 1 && call() == 2);
    handle = dlopen(plain.c_str(), RTLD_NOW | RTLD_NODELETE);
    CHECK(handle && dlclose(handle) == 0 && dlopen(plain.c_str(), RTLD_NOW | RTLD_NOLOAD) == handle && call() == 3);
}

static int each(struct dl_phdr_info *info, size_t, void *data) {
    std::string *names = static_cast<std::string *>(data);
    const char *file = strrchr(info->dlpi_name, '/');
    if (file && info->dlpi_phnum > 0 && info->dlpi_phdr[0].p_type <= PT_GNU_PROPERTY + 16) *names += file;
    return 0;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    directory = argv[1];
    state();
    speak();
    objects();
    apart();
    kept();
    std::string names;
    dl_iterate_phdr(each, &names);
    for (const char *name : {"/libstate.so", "/libspeak.so", "/libthrow.so", "/libc.so"})
        CHECK(names.find(name) != std::string::npos);
    MPI_Finalize();
    return failures != 0;
}
