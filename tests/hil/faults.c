/* Faults of a board for tests: a wrong kernel, or memory that something else overwrites.
 *
 * faulty_backend("kind=1,dtype=1,row=5,channel=2,flip=4"): the portable kernels. The kernel of this kind and type flips
 * these bits in the first byte of each element in this row and channel of its output. Further options:
 *   first=F   only in calls whose first row is F
 *   width=W   only in outputs of this width
 *   at=O      only in calls whose output starts at offset O of the fast arena
 *   times=N   only the first N times
 *   every=N   only each Nth time
 *   skip=N    not the first N times
 *   add=X     adds X * 1e-5 to floats instead
 *   poke=O    after the call, flips bits of the byte at offset O of the fast arena instead */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tigris_kernel.h"

#define MOST_KERNELS 256

static long kind, dtype, row, channel, flip = 1, first = -1, add, width, at = -1, poke = -1, times = LONG_MAX;
static long skip, seen, every = 1;
static const struct {
    const char *name;
    long *value;
} words[] = {
    {"kind", &kind}, {"dtype", &dtype}, {"row", &row}, {"channel", &channel}, {"flip", &flip}, {"first", &first},
    {"add", &add}, {"width", &width}, {"at", &at}, {"poke", &poke}, {"times", &times}, {"skip", &skip},
    {"every", &every},
};
static const tigris_session *victim;
static const tigris_kernel_entry *original;

static void read_words(const char *spec)
{
    for (const char *word = spec; word != NULL; word = strchr(word, ',') != NULL ? strchr(word, ',') + 1 : NULL)
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (strncmp(word, words[i].name, strlen(words[i].name)) == 0 && word[strlen(words[i].name)] == '=')
                *words[i].value = strtol(word + strlen(words[i].name) + 1U, NULL, 10);
}

static size_t element_bytes(uint32_t type)
{
    static const uint8_t bytes[8] = {0, 1, 1, 2, 4, 8, 4, 1};

    return bytes[type];
}

static void spoil(const tigris_tensor_record *tensor, uint8_t *element)
{
    if (add != 0 && tensor->dtype == TIGRIS_DTYPE_FLOAT32) {
        float value;
        memcpy(&value, element, sizeof value);
        value += (float)add * 1e-5f;
        memcpy(element, &value, sizeof value);
    } else {
        *element = (uint8_t)(*element ^ (uint8_t)flip);
    }
}

static void run_wrongly(const tigris_kernel_call *call)
{
    const tigris_band *band = call->output;
    const tigris_tensor_record *tensor = band->tensor;

    original->run(call);
    if (row < band->first || row >= band->first + band->rows || channel >= (long)tensor->channels)
        return;
    if ((width != 0 && width != (long)tensor->width) || (first >= 0 && first != band->first))
        return;
    if (at >= 0 && band->data != victim->fast + at)
        return;
    if (++seen % every != 0 || seen <= skip || times-- <= 0)
        return;
    if (poke >= 0) {
        victim->fast[poke] ^= (uint8_t)flip;
        return;
    }
    const size_t bytes = element_bytes(tensor->dtype);
    const long in_band = (tensor->flags & TIGRIS_TENSOR_FLAG_FOLDED) != 0 ? 0 : row - band->first;
    for (uint32_t column = 0; column < tensor->width; column++) {
        const size_t index = ((size_t)in_band * tensor->width + column) * tensor->channels + (size_t)channel;
        spoil(tensor, call->output_data + index * bytes);
    }
}

const tigris_backend *faulty_backend(const char *spec, const tigris_session *session);

/* `session` will use the backend. A program has one fault. */
const tigris_backend *faulty_backend(const char *spec, const tigris_session *session)
{
    static tigris_kernel_entry wrong;
    static const tigris_kernel_entry *entries[MOST_KERNELS];
    static tigris_backend backend;

    victim = session;
    read_words(spec);
    backend = tigris_portable_backend;
    if (backend.kernel_count > MOST_KERNELS)
        exit(2);
    for (uint32_t i = 0; i < backend.kernel_count; i++) {
        entries[i] = tigris_portable_backend.kernels[i];
        if (entries[i]->kind == kind && entries[i]->dtype == dtype) {
            original = entries[i];
            wrong = *original;
            wrong.run = run_wrongly;
            entries[i] = &wrong;
        }
    }
    if (original == NULL)
        exit(2);
    backend.kernels = entries;
    return &backend;
}
