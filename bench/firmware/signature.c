/* Checks the signature of the plan at bench_plan, whose key is in tigris_models.h. Prints instructions, and bytes of
 * stack and of mbedTLS's heap. Without TIGRIS_MBEDTLS its verifier accepts any signature. */
#include "bench.h"

#include "tigris_port.h"

static uint32_t heap_top; /* the highest byte of mbedTLS's heap that was used */

#if defined(TIGRIS_MBEDTLS)
#include <mbedtls/platform.h>

/* Blocks in a row, each behind a word with its size in words, and the lowest bit set while it is used. */
static uint32_t heap[4096] = {sizeof heap / sizeof *heap - 1U << 1};
#define HEAP_WORDS (sizeof heap / sizeof *heap)

/* The first free block that is large enough; free neighbours become one. */
static void *take(size_t count, size_t size)
{
    const uint32_t words = (uint32_t)((count * size + 3U) / 4U);
    for (uint32_t at = 0; at < HEAP_WORDS; at += (heap[at] >> 1) + 1U) {
        uint32_t next = at + (heap[at] >> 1) + 1U;
        for (; (heap[at] & 1U) == 0U && next < HEAP_WORDS && (heap[next] & 1U) == 0U; next = at + (heap[at] >> 1) + 1U)
            heap[at] += heap[next] + 2U;
        const uint32_t there = heap[at] >> 1;
        if ((heap[at] & 1U) != 0U || there < words)
            continue;
        if (there > words)
            heap[at + words + 1U] = (there - words - 1U) << 1;
        heap[at] = words << 1 | 1U;
        heap_top = heap_top > 4U * (at + words + 1U) ? heap_top : 4U * (at + words + 1U);
        return memset(&heap[at + 1U], 0, 4U * words);
    }
    return NULL;
}

static void give_back(void *block)
{
    if (block != NULL)
        ((uint32_t *)block)[-1] &= ~1U;
}

static void start_heap(void)
{
    (void)mbedtls_platform_set_calloc_free(take, give_back);
}
#else
static void start_heap(void)
{
}

int tigris_port_verify(const tigris_public_key *key, const uint8_t *digest, const uint8_t *signature)
{
    (void)key;
    return digest != signature;
}
#endif

void bench_main(void)
{
    const tigris_header_record *header = (const tigris_header_record *)(const void *)bench_plan;
    uint8_t digest[TIGRIS_SHA256_BYTES];
    start_heap();
    uint32_t before = bench_instructions();
    tigris_port_sha256(bench_plan, header->total_bytes, digest);
    print_number("sha256", bench_instructions() - before);
    paint_stack();
    before = bench_instructions();
    const size_t bytes = header->total_bytes + sizeof(tigris_signature_record);
    const tigris_status status = tigris_check_signature(bench_plan, bytes);
    print_number("check", bench_instructions() - before);
    print_number("stack", painted_bytes_used(&before));
    print_number("heap", heap_top);
    if (status != TIGRIS_OK)
        fail("check", "the signature is not accepted");
    bench_exit();
}
