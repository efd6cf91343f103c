// C++ library. Exceptions and types are passed between library and program. Objects are constructed and destroyed.
#include <iostream>
#include <stdexcept>
#include <string>
#include <typeinfo>

struct Shape {
    virtual ~Shape() {}
    virtual int edges() const { return 0; }
};

struct Square : Shape {
    int edges() const override { return 4; }
};

static std::string log = "made";
thread_local std::string mine = "own";

extern "C" Shape *make() { return new Square; }
extern "C" void fail(int n) { throw std::out_of_range("number " + std::to_string(n)); }
extern "C" const char *remember_here(int n) {
    log += " " + std::to_string(n);
    mine += std::to_string(n);
    return log.c_str();
}
extern "C" const char *mine_here() { return mine.c_str(); }
extern "C" int is_square(Shape *shape) { return dynamic_cast<Square *>(shape) != nullptr; }
