/* Flips bits of a signed plan. argv: the plan, and STEP: flip each STEP-th bit, one at a time.
 *
 * Each changed plan is opened from its slot, as it is and with a checksum that fits again, and sent as an update. Prints
 * how many were tried, how many were accepted, and 1 if the plan itself opens. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/src/crc32.h"
#include "nor.h"
#include "slots.h"
#include "tigris_models.h"
#include "tigris_update.h"

static image good;
static const tigris_model *const model = &TIGRIS_MODEL_TINY;
static unsigned tried, accepted;

static int opens(void)
{
    tigris_plan plan;
    const int is_open = tigris_model_open(model, &plan) == TIGRIS_OK;
    tigris_model_close(&plan);
    return is_open;
}

static void count(int is_accepted)
{
    tried++;
    accepted += is_accepted != 0;
}

static void place(const image *plan)
{
    memcpy(nor.bytes + tigris_slot_offset(model, 0), plan->bytes, plan->size);
}

static void send(const image *plan)
{
    static tigris_update update;
    place(&good);
    tigris_status status = tigris_update_begin(&update, model);
    if (status == TIGRIS_OK)
        status = tigris_update_write(&update, plan->bytes, plan->size);
    if (status == TIGRIS_OK)
        status = tigris_update_finish(&update);
    count(status == TIGRIS_OK);
}

int main(int argc, char **argv)
{
    static image changed;
    if (argc != 3 || !nor_load(argv[1], &good))
        return 2;
    const size_t step = (size_t)atoi(argv[2]);
    nor_format(tigris_slot_offset(model, 0), good.bytes, good.size);
    if (!opens())
        return 3;
    for (size_t bit = 0; bit < good.size * 8U; bit += step) {
        tigris_header_record header;
        const size_t at = bit / 8U;
        changed = good;
        changed.bytes[at] ^= (uint8_t)(1U << bit % 8U);
        place(&changed);
        count(opens());
        send(&changed);
        memcpy(&header, changed.bytes, sizeof header);
        if (at < TIGRIS_CRC_COVERS_FROM || at >= good.size - sizeof(tigris_signature_record))
            continue;
        const uint32_t covered = header.total_bytes - TIGRIS_CRC_COVERS_FROM;
        header.crc32 = tigris_crc32(changed.bytes + TIGRIS_CRC_COVERS_FROM, covered);
        memcpy(changed.bytes, &header, sizeof header);
        place(&changed);
        count(opens());
    }
    place(&good);
    printf("%u %u %d\n", tried, accepted, opens());
    return 0;
}
