/* Loaded before MPICH, counts what its device over UCX sends: messages and bytes of this process, which it writes at its
   end to the file of its rank in $SENDS_TO. What goes through shared memory does not come here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long messages, bytes;

/* The declaration of UCX's ucp/api/ucp.h, with types of the same form. MPICH gives contiguous data by bytes. */
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
