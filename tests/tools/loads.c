/* What Python does with a wheel's library, for systems whose Python is not at hand: loads it by name, runs a plan and
 * prints the CRC-32 of its outputs.
 *
 *     loads LIBRARY PLAN.tgrs INPUT.bin    the inputs, int8 as stored, one after another */
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

static TIGRIS_ALIGNED uint8_t plan[MOST];
static TIGRIS_ALIGNED uint8_t fast[MOST];
static TIGRIS_ALIGNED uint8_t slow[MOST];
static TIGRIS_ALIGNED uint8_t host[1 << 16];
static uint64_t profile[2 * 4096];

static size_t content(const char *path, uint8_t *data, size_t most)
{
    FILE *file = fopen(path, "rb");
    const size_t bytes = file != NULL ? fread(data, 1, most, file) : 0U;
    if (file != NULL)
        fclose(file);
    return bytes;
}

static uint32_t crc32_of(uint32_t crc, const uint8_t *data, size_t bytes)
{
    crc = ~crc;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0xEDB88320U & (0U - (crc & 1U)));
    }
    return ~crc;
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
    static uint8_t given[MOST];
    void *library = count == 4 ? library_of(words[1]) : NULL;

    if (library == NULL) {
        fprintf(stderr, "cannot load %s\n", count > 1 ? words[1] : "nothing");
        return 2;
    }
#define FIND(function, name)                                                                                           \
    do {                                                                                                               \
        void *symbol = symbol_of(library, name);                                                                       \
        memcpy(&(function), &symbol, sizeof symbol);                                                                   \
        if (symbol == NULL) {                                                                                          \
            fprintf(stderr, "no %s\n", name);                                                                          \
            return 2;                                                                                                  \
        }                                                                                                              \
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
    (void)content(words[3], given, sizeof given);
    size_t at = 0;
    uint32_t crc = 0;
    for (uint32_t i = 0; i < opened->header->input_count; i++) {
        const size_t size = tensor_bytes(&opened->tensors[opened->io[i].tensor]);
        memcpy(input(host, i), given + at, size);
        at += size;
    }
    if (run(host, NULL, &usage) != 0)
        return 1;
    for (uint32_t i = 0; i < opened->header->output_count; i++) {
        const tigris_io_record *io = &opened->io[opened->header->input_count + i];
        crc = crc32_of(crc, output(host, i), tensor_bytes(&opened->tensors[io->tensor]));
    }
    printf("%08x\n", (unsigned)crc);
    return 0;
}
