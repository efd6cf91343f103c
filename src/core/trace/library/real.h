/* Functions and variables of the program's MPI library. Their addresses are looked up at run time, because a program
 * may open its MPI library long after this library is loaded, and hide it from other libraries (RTLD_LOCAL). */

struct symbol {
    const char *name;
    void *address;
};

/* Array of the symbols of all uses of SYMBOL. */
extern struct symbol __start_mcpsim_symbols[] __attribute__((visibility("hidden")));
extern struct symbol __stop_mcpsim_symbols[] __attribute__((visibility("hidden")));

/* Address of the MPI library's symbol with this name; NULL if it has no such symbol. */
#define SYMBOL(text)                                                                                                     \
    ({                                                                                                                   \
        static struct symbol one __attribute__((section("mcpsim_symbols"), used)) = {text, NULL};                        \
        one.address;                                                                                                     \
    })
/* Returns a function of the profiling interface, a function of the Fortran interface, and a variable of the MPI
 * library. */
#define REAL(name) ((__typeof__(&PMPI_##name))SYMBOL("PMPI_" #name))
#define REAL_FORTRAN(name, parameters) ((void(*) parameters)SYMBOL("pmpi_" #name "_"))
#define VARIABLE(name) ((__typeof__(&name))SYMBOL(#name))
/* Converts a handle of Fortran to C. In some MPI libraries the handles are the same, and the conversion is a macro. */
#ifdef PMPI_Comm_f2c
typedef MPI_Datatype MPI_Type;
#define F2C(kind, handle) ((MPI_##kind)(handle))
#else
#define F2C(kind, handle) REAL(kind##_f2c)(handle)
#endif
#ifdef OPEN_MPI
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) ((type)(void *)VARIABLE(global))
#endif

/* Returns `dlsym` of the C library, because `opened.h` defines another `dlsym`. */
static void *(*real_dlsym(void))(void *, const char *)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    void *found = NULL;
    for (int at = 0; !found && at < 3; at++)
        found = dlvsym(RTLD_NEXT, "dlsym", versions[at]);
    return (void *(*)(void *, const char *))found;
}

static void *find_in(void *handle, const char *name)
{
    static void *(*real)(void *, const char *);
    if (!real)
        real = real_dlsym();
    return real ? real(handle, name) : NULL;
}

enum { MOST_OBJECTS = 1 << 12 };
static const char *objects[MOST_OBJECTS];
static int object_count;

static int add_object(struct dl_phdr_info *object, size_t size, void *none)
{
    (void)size, (void)none;
    if (object->dlpi_name && *object->dlpi_name && object_count < MOST_OBJECTS)
        objects[object_count++] = object->dlpi_name;
    return 0;
}

/* Returns the loaded object that defines the symbol `name`, or depends on an object that does; NULL if no object does. */
static void *object_with(const char *name)
{
    object_count = 0;
    dl_iterate_phdr(add_object, NULL);
    for (int at = 0; at < object_count; at++) {
        void *handle = dlopen(objects[at], RTLD_LAZY | RTLD_NOLOAD);
        if (handle && find_in(handle, name))
            /* The object is not closed, so the MPI library is not unloaded while this library uses its addresses. */
            return handle;
        if (handle)
            dlclose(handle);
    }
    return NULL;
}

static int mpi_is_there;      /* The symbols of the MPI library were found. */
/* Objects that define the symbols for C and Fortran, if the program hides them. */
static void *mpi_for_c, *mpi_for_fortran;

static void *find_symbol(const char *name)
{
    void *found = find_in(RTLD_DEFAULT, name);
    if (!found && mpi_for_c)
        found = find_in(mpi_for_c, name);
    return found || !mpi_for_fortran ? found : find_in(mpi_for_fortran, name);
}

/* Looks up all symbols, if the program has loaded its MPI library. */
static void look_for_mpi(void)
{
    if (!find_in(RTLD_DEFAULT, "PMPI_Init") && !(mpi_for_c = object_with("PMPI_Init")))
        return;
    if (!find_in(RTLD_DEFAULT, "pmpi_init_"))
        mpi_for_fortran = object_with("pmpi_init_");
    for (struct symbol *one = __start_mcpsim_symbols; one < __stop_mcpsim_symbols; one++)
        one->address = find_symbol(one->name);
    mpi_is_there = 1;
}

static inline void find_mpi(void)
{
    if (!mpi_is_there)
        look_for_mpi();
}
