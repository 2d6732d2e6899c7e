/* tigris_status_text: a sentence for each status. TIGRIS_NO_STATUS_TEXT leaves the sentences out of firmware. */
#include "tigris.h"

#ifdef TIGRIS_NO_STATUS_TEXT

const char *tigris_status_text(tigris_status status)
{
    return status == TIGRIS_OK ? "ok" : "error";
}

#else

typedef struct status_text {
    int32_t status;
    const char *text;
} status_text;

static const status_text texts[] = {
    {TIGRIS_OK, "ok"},
    {TIGRIS_ERR_ARGUMENT, "a null pointer or an index out of range was passed"},
    {TIGRIS_ERR_FAST_TOO_SMALL, "the fast arena is smaller than the plan needs"},
    {TIGRIS_ERR_SLOW_TOO_SMALL, "the slow arena is smaller than the plan needs"},
    {TIGRIS_ERR_ARENA_ALIGNMENT, "an arena does not start on a multiple of the plan's alignment"},
    {TIGRIS_ERR_CANCELLED, "the yield hook stopped the run"},
    {TIGRIS_ERR_NO_ROWS_HOOK, "an input or output is streamed: set the session's fetch_rows or take_rows"},
    {TIGRIS_ERR_ROWS, "the hook that moves the rows of a streamed input or output stopped the run"},
    {TIGRIS_ERR_HEADERS, "the library and the firmware were compiled with different tigris.h"},
    {TIGRIS_ERR_NOT_A_PLAN, "this is no .tgrs plan"},
    {TIGRIS_ERR_VERSION, "the plan was made for another format version"},
    {TIGRIS_ERR_TRUNCATED, "the plan is truncated"},
    {TIGRIS_ERR_CRC, "the plan's checksum is wrong"},
    {TIGRIS_ERR_ALIGNMENT, "the plan's alignment does not suit this processor"},
    {TIGRIS_ERR_PLAN_ADDRESS, "the plan does not start on a 16-byte boundary"},
    {TIGRIS_ERR_SECTION, "the plan's header is invalid or a section lies outside the file"},
    {TIGRIS_ERR_STRING, "a name lies outside the plan's strings"},
    {TIGRIS_ERR_TENSOR, "a tensor's type, shape or placement is invalid"},
    {TIGRIS_ERR_IO, "an input or output record is invalid"},
    {TIGRIS_ERR_STAGE, "a stage's ranges, bands or weight block are invalid"},
    {TIGRIS_ERR_VIEW, "a view's tensor, flags or placement is invalid"},
    {TIGRIS_ERR_OP, "an operator's ranges, views or scratch are invalid"},
    {TIGRIS_ERR_OPERAND, "an operand's view or row map is invalid"},
    {TIGRIS_ERR_BANDS, "a band needs rows that its window does not hold"},
    {TIGRIS_ERR_PARAMS, "an operator's parameters contradict its tensors or weights"},
    {TIGRIS_ERR_UNKNOWN_OP, "no kernel for an operator of the plan is linked"},
    {TIGRIS_ERR_PACKING, "the plan's weights are packed for kernels that are not linked"},
    {TIGRIS_ERR_WEIGHT_BLOCK, "a compressed weight block is damaged"},
    {TIGRIS_ERR_PARTITION, "the partition table has no such partition"},
    {TIGRIS_ERR_PARTITION_TOO_SMALL, "the partition ends before the plan does"},
    {TIGRIS_ERR_PLAN_ABSENT, "no plan was written to the partition: its flash is erased"},
    {TIGRIS_ERR_OTHER_MODEL, "the partition holds another plan than the one this firmware was built with"},
    {TIGRIS_ERR_INTERFACE, "the plan's inputs or outputs are not those this firmware was built for"},
    {TIGRIS_ERR_MAPPING, "the flash cannot be mapped: the window for mapped data is full"},
    {TIGRIS_ERR_DAMAGED, "the plan is damaged, upload it again"},
    {TIGRIS_ERR_FLASH, "the flash cannot be erased or written"},
    {TIGRIS_ERR_NO_SLOTS, "this firmware was built with one slot for the model, updates need two"},
    {TIGRIS_ERR_SLOT_TOO_SMALL, "the plan is larger than a slot of the model"},
    {TIGRIS_ERR_UNCONFIRMED, "the plan on trial is not confirmed yet"},
    {TIGRIS_ERR_ORDER, "the steps of an update were called out of order"},
    {TIGRIS_ERR_SIGNATURE, "the plan is not signed by this firmware's key"},
    {TIGRIS_ERR_ROLLBACK, "the plan's security version is smaller than that of the confirmed plan"},
};

const char *tigris_status_text(tigris_status status)
{
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i].status == (int32_t)status) {
            return texts[i].text;
        }
    }
    return "unknown status";
}

#endif
