/* See nor.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nor.h"
#include "tigris_port.h"

#define SECTOR TIGRIS_FLASH_SECTOR
#define UNIT 32U

nor_chip nor;
uint32_t nor_operations, nor_held, nor_fails_from = UINT32_MAX;
int nor_fails_late, nor_is_worn;
jmp_buf nor_lost;
static uint32_t cut_at = UINT32_MAX, random_state = 1U;
static nor_tear cut_tear;

uint32_t nor_random(void)
{
    random_state = random_state * 1664525U + 1013904223U;
    return random_state >> 8;
}

static void demand(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "flash: %s\n", what);
        exit(3);
    }
}

static void draw_unstable_bits(void)
{
    for (uint32_t i = 0; i < nor.unstable_bytes; i++)
        nor.bytes[nor.unstable_at + i] = (uint8_t)(nor.unstable[i] | nor_random());
}

void nor_start(uint32_t at, nor_tear tear)
{
    nor_operations = nor_held = 0U;
    cut_at = at;
    cut_tear = tear;
    draw_unstable_bits();
}

void nor_format(uint32_t offset, const uint8_t *plan, size_t bytes)
{
    memset(&nor, 0, sizeof nor);
    memset(nor.bytes, 0xFF, sizeof nor.bytes);
    memcpy(nor.bytes + offset, plan, bytes);
    nor_fails_from = UINT32_MAX;
    nor_fails_late = nor_is_worn = 0;
    nor_start(UINT32_MAX, NOR_AFTER);
}

int nor_load(const char *path, image *plan)
{
    FILE *file = fopen(path, "rb");
    plan->size = file == NULL ? 0U : fread(plan->bytes, 1, sizeof plan->bytes, file);
    if (file != NULL)
        (void)fclose(file);
    return plan->size > 0U;
}

/* Does the operation at `at` in part. `base`: its bytes before or after it, whichever have fewer bits set. */
static void tear(uint32_t at, const uint8_t *base, const uint8_t *done, uint32_t bytes, int is_erasure)
{
    const uint32_t prefix = nor_random() % bytes;
    const uint32_t bit = nor_random() % (8U * bytes);
    for (uint32_t i = 0; i < bytes && cut_tear != NOR_BEFORE; i++) {
        const uint8_t any = (uint8_t)nor_random();
        uint8_t *byte = &nor.bytes[at + i];
        if (cut_tear == NOR_AFTER || (cut_tear == NOR_PREFIX && i < prefix))
            *byte = done[i];
        else if (cut_tear == NOR_BITS)
            *byte = base[i] | any;
        else if (cut_tear == NOR_GARBAGE)
            *byte = is_erasure ? any : (uint8_t)(done[i] | (bit / 8U == i ? 1U << bit % 8U : 0U));
    }
    if (cut_tear == NOR_UNSTABLE) {
        memcpy(nor.unstable, base, bytes);
        nor.unstable_at = at;
        nor.unstable_bytes = bytes;
    }
}

static tigris_status begin_operation(const char *label, uint32_t offset, size_t bytes)
{
    if (strcmp(label, "model") != 0)
        return TIGRIS_ERR_PARTITION;
    if (offset > NOR_BYTES || bytes > NOR_BYTES - offset)
        return TIGRIS_ERR_PARTITION_TOO_SMALL;
    return nor_operations >= nor_fails_from && !nor_fails_late ? TIGRIS_ERR_FLASH : TIGRIS_OK;
}

static void forget_unstable(uint32_t at, uint32_t bytes)
{
    if (nor.unstable_at < at + bytes && at < nor.unstable_at + nor.unstable_bytes)
        nor.unstable_bytes = 0U;
}

static tigris_status erase(const char *label, uint32_t offset)
{
    static uint8_t erased[SECTOR], before[SECTOR];
    demand(offset % SECTOR == 0U, "a sector was erased from its middle");
    const tigris_status status = begin_operation(label, offset, SECTOR);
    if (status != TIGRIS_OK)
        return status;
    memset(erased, 0xFF, SECTOR);
    memcpy(before, nor.bytes + offset, SECTOR);
    forget_unstable(offset, SECTOR);
    if (nor_operations++ == cut_at) {
        tear(offset, before, erased, SECTOR, 1);
        longjmp(nor_lost, 1);
    }
    memcpy(nor.bytes + offset, erased, SECTOR);
    return nor_operations > nor_fails_from ? TIGRIS_ERR_FLASH : TIGRIS_OK;
}

static tigris_status program(const char *label, uint32_t offset, const void *from, size_t bytes)
{
    demand(bytes > 0U && offset % UNIT == 0U && bytes % UNIT == 0U && (uintptr_t)from % 4U == 0U, "misaligned");
    demand(offset / SECTOR == (offset + bytes - 1U) / SECTOR, "a program operation crosses a sector");
    const tigris_status status = begin_operation(label, offset, bytes);
    if (status != TIGRIS_OK)
        return status;
    for (uint32_t i = 0; i < bytes; i++)
        demand(nor.bytes[offset + i] == 0xFFU, "programmed bytes that are not erased");
    forget_unstable(offset, (uint32_t)bytes);
    if (nor_operations++ == cut_at) {
        tear(offset, from, from, (uint32_t)bytes, 0);
        longjmp(nor_lost, 1);
    }
    memcpy(nor.bytes + offset, from, bytes);
    nor.bytes[offset] = (uint8_t)(nor.bytes[offset] | nor_is_worn);
    return nor_operations > nor_fails_from ? TIGRIS_ERR_FLASH : TIGRIS_OK;
}

static tigris_status is_erased(const char *label, uint32_t offset, size_t bytes, int *erased)
{
    const void *data = NULL;
    const tigris_status status = tigris_port_map(label, offset, bytes, &data);
    *erased = status == TIGRIS_OK;
    for (uint32_t i = 0; status == TIGRIS_OK && i < bytes; i++)
        *erased = *erased && ((const uint8_t *)data)[i] == 0xFFU;
    return status;
}

const tigris_flash tigris_port_flash = {erase, program, is_erased};

tigris_status tigris_port_map(const char *label, uint32_t offset, size_t bytes, const void **data)
{
    if (strcmp(label, "model") != 0)
        return TIGRIS_ERR_PARTITION;
    *data = nor.bytes + offset;
    return offset > NOR_BYTES || bytes > NOR_BYTES - offset ? TIGRIS_ERR_PARTITION_TOO_SMALL : TIGRIS_OK;
}

tigris_status tigris_port_read(const char *label, uint32_t offset, void *to, size_t bytes)
{
    const void *data = NULL;
    const tigris_status status = tigris_port_map(label, offset, bytes, &data);
    if (status == TIGRIS_OK)
        memcpy(to, data, bytes);
    return status;
}

tigris_status tigris_port_map_held(const char *label, uint32_t offset, size_t bytes, const void **data, uint32_t *mapping)
{
    const tigris_status status = tigris_port_map(label, offset, bytes, data);
    nor_held += status == TIGRIS_OK;
    *mapping = status == TIGRIS_OK;
    return status;
}

void tigris_port_unmap(uint32_t mapping)
{
    nor_held -= mapping;
}
