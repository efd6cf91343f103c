/* Programs that look up MPI functions with `dlsym`, as languages with a foreign function interface do, must get the
 * functions of this library. Otherwise their calls would not be recorded. */

/* Returns this library's function with the name `name`; NULL if it has no such function. */
static void *own_function(const char *name)
{
    static void *own;
    Dl_info here, there;
    if (!dladdr((void *)own_function, &here))
        return NULL;
    if (!own)
        own = dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    void *found = own ? find_in(own, name) : NULL;
    return found && dladdr(found, &there) && there.dli_fbase == here.dli_fbase ? found : NULL;
}

/* The result for `RTLD_NEXT` depends on the caller, which the C library finds by the return address. The call of the
 * real function must therefore be a tail call. */
__attribute__((optimize("O2"))) void *dlsym(void *restrict handle, const char *restrict name)
{
    static void *(*real)(void *, const char *);
    if (!real)
        real = real_dlsym();
    if (handle == RTLD_NEXT || (strncmp(name, "MPI_", 4) && strncmp(name, "mpi_", 4)))
        return real(handle, name);
    void *found = real(handle, name), *own = found ? own_function(name) : NULL;
    return own ? own : found;
}
