/* Programs that look MPI's functions up (`dlsym`), as languages with a foreign function interface do, get those of this
 * library: calls that go past it are not recorded. */

/* This library's function of the name; NULL if it has none. */
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

/* `RTLD_NEXT` depends on the caller, so that the C library's function must return to it: these calls are tail calls. */
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
