/* Uses a wheel's library as Python does, for systems without Python here: loads it by name, runs a plan of one input and
 * one output, and prints the output's bytes.
 *
 *     loads LIBRARY PLAN.tgrs INPUT.bin    the input, int8 as stored */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tigris.h"

#if defined(_WIN32)
#include <windows.h>
static void *library_of(const char *name)
{
    return (void *)LoadLibraryA(name);
}
static void *symbol_of(void *library, const char *name)
{
    void *symbol;
    const FARPROC found = GetProcAddress((HMODULE)library, name);
    memcpy(&symbol, &found, sizeof symbol);
    return symbol;
}
#else
#include <dlfcn.h>
static void *library_of(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}
static void *symbol_of(void *library, const char *name)
{
    return dlsym(library, name);
}
#endif

enum { MOST = 1 << 21 };

static TIGRIS_ALIGNED uint8_t plan[MOST], fast[MOST], slow[MOST], host[1 << 16];
static uint64_t profile[2 * 4096];

static size_t content(const char *path, uint8_t *data, size_t most)
{
    FILE *file = fopen(path, "rb"); /* closed by the end of the program */
    return file != NULL ? fread(data, 1, most, file) : 0U;
}

/* Of an int8 tensor. */
static size_t tensor_bytes(const tigris_tensor_record *tensor)
{
    return (size_t)tensor->batch * tensor->height * tensor->width * tensor->channels;
}

int main(int count, char **words)
{
    size_t (*host_bytes)(void);
    int32_t (*open_plan)(void *, const void *, size_t);
    int32_t (*bind)(void *, void *, size_t, void *, size_t, void *, int32_t);
    int32_t (*run)(void *, uint8_t *const *, tigris_usage *);
    void *(*input)(void *, uint32_t);
    const void *(*output)(const void *, uint32_t);
    tigris_usage usage;
    void *library = count == 4 ? library_of(words[1]) : NULL;

    if (library == NULL)
        return fprintf(stderr, "cannot load %s\n", count > 1 ? words[1] : "nothing"), 2;
#define FIND(function, name)                                                                                           \
    do {                                                                                                               \
        void *symbol = symbol_of(library, name);                                                                       \
        if (symbol == NULL)                                                                                            \
            return fprintf(stderr, "no %s\n", name), 2;                                                                \
        memcpy(&(function), &symbol, sizeof symbol);                                                                   \
    } while (0)
    FIND(host_bytes, "tigris_host_bytes");
    FIND(open_plan, "tigris_host_open");
    FIND(bind, "tigris_host_bind");
    FIND(run, "tigris_host_run");
    FIND(input, "tigris_host_input");
    FIND(output, "tigris_host_output");
    const size_t bytes = content(words[2], plan, sizeof plan);
    if (host_bytes() > sizeof host || open_plan(host, plan, bytes) != 0 ||
        bind(host, fast, sizeof fast, slow, sizeof slow, profile, 0) != 0) {
        fprintf(stderr, "%s is refused\n", words[2]);
        return 1;
    }
    const tigris_plan *opened = (const tigris_plan *)(const void *)host; /* the handle's first member */
    (void)content(words[3], input(host, 0), tensor_bytes(&opened->tensors[opened->io[0].tensor]));
    if (run(host, NULL, &usage) != 0)
        return 1;
    const uint8_t *made = output(host, 0);
    for (size_t i = 0; i < tensor_bytes(&opened->tensors[opened->io[1].tensor]); i++)
        printf("%02x", made[i]);
    return 0;
}
