/* Preloaded library that counts the messages and bytes that MPICH sends through UCX. At its end, the process writes the
   counts to the file of its rank in $SENDS_TO. Messages through shared memory are not counted. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long messages, bytes;

/* As declared in UCX's ucp/api/ucp.h, with compatible types. MPICH passes contiguous data as bytes. */
void *ucp_tag_send_nbx(void *endpoint, const void *buffer, size_t count, uint64_t tag, const void *parameters)
{
    static void *(*sends)(void *, const void *, size_t, uint64_t, const void *);

    if (!sends)
        *(void **)&sends = dlsym(RTLD_NEXT, "ucp_tag_send_nbx");
    messages++;
    bytes += count;
    return sends(endpoint, buffer, count, tag, parameters);
}

__attribute__((destructor)) static void tell(void)
{
    const char *rank = getenv("PMI_RANK"), *directory = getenv("SENDS_TO");
    char name[4096];
    FILE *file;

    if (!rank || !directory)
        return;
    snprintf(name, sizeof name, "%s/%s", directory, rank);
    file = fopen(name, "w");
    if (!file)
        return;
    fprintf(file, "%lu %lu\n", messages, bytes);
    fclose(file);
}
