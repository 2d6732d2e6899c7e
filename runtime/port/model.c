/* Opens a model of the firmware from its partition. */
#include <string.h>

#include "../src/crc32.h"
#include "tigris_port.h"

/* Flash reads as 0xFF where nothing was written since it was erased. */
static int is_erased(const uint8_t *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (data[i] != 0xFFU)
            return 0;
    return 1;
}

/* An io_record but for its name and tensor; a tensor_record's shape and type, its scale and zero point. */
enum { IO_FROM = 6, SHAPE_FROM = 4, SHAPE_END = 21, SCALE_FROM = 28 };
enum { IO_BYTES = sizeof(tigris_io_record) - IO_FROM, SCALE_BYTES = sizeof(tigris_tensor_record) - SCALE_FROM };

static uint32_t interface_crc32(const tigris_plan *plan)
{
    const uint32_t count = (uint32_t)plan->header->input_count + plan->header->output_count;
    uint32_t crc = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t block[sizeof crc + IO_BYTES + (SHAPE_END - SHAPE_FROM) + SCALE_BYTES];
        const uint8_t *io = (const uint8_t *)&plan->io[i];
        const uint8_t *tensor = (const uint8_t *)&plan->tensors[plan->io[i].tensor];
        uint8_t *to = block;
        memcpy(to, &crc, sizeof crc);
        memcpy(to += sizeof crc, io + IO_FROM, IO_BYTES);
        memcpy(to += IO_BYTES, tensor + SHAPE_FROM, SHAPE_END - SHAPE_FROM);
        memcpy(to + (SHAPE_END - SHAPE_FROM), tensor + SCALE_FROM, SCALE_BYTES);
        crc = tigris_crc32(block, sizeof block);
    }
    return crc;
}

static int is_expected(const tigris_model *model, const tigris_plan *plan)
{
    if (model->interface_crc32 == 0)
        return plan->header->crc32 == model->plan_crc32 && plan->header->total_bytes == model->plan_bytes;
    return strncmp(plan->header->name, model->name, sizeof plan->header->name) == 0 &&
           interface_crc32(plan) == model->interface_crc32;
}

tigris_status tigris_model_open(const tigris_model *model, tigris_plan *plan)
{
    const void *partition = NULL;
    size_t bytes = 0;
    if (model == NULL || plan == NULL)
        return TIGRIS_ERR_ARGUMENT;
    tigris_status status = tigris_port_find_partition(model->partition, &partition, &bytes);
    if (status != TIGRIS_OK)
        return status;
    const size_t least = model->interface_crc32 == 0 ? model->plan_bytes : sizeof(tigris_header_record);
    if (model->offset > bytes || least > bytes - model->offset)
        return TIGRIS_ERR_PARTITION_TOO_SMALL;
    const uint8_t *data = (const uint8_t *)partition + model->offset;
    if (least >= sizeof(tigris_header_record) && is_erased(data, sizeof(tigris_header_record)))
        return TIGRIS_ERR_PLAN_ABSENT;
    status = tigris_plan_open(plan, data, bytes - model->offset);
    if (status != TIGRIS_OK)
        return status;
    return is_expected(model, plan) ? TIGRIS_OK : TIGRIS_ERR_OTHER_MODEL;
}
