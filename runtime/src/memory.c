/* Addresses of tensors, usage of the arenas, and the public accessors of inputs and outputs. */
#include "memory.h"
#include "hot.h"

#include "extents.h"

uint8_t *tigris_address(const tigris_session *session, uint32_t home, tigris_placed what, const void *record,
                        uint32_t offset)
{
    if (home == TIGRIS_HOME_FLASH) {
        return (uint8_t *)(uintptr_t)(session->plan->weights + offset);
    }
    if (session->placement != NULL) {
        return session->placement->locate(session, what, record);
    }
    return (home == TIGRIS_HOME_SLOW ? session->slow : session->fast) + offset;
}

TIGRIS_HOT
uint8_t *tigris_row_address(const tigris_session *session, const tigris_view *view, int32_t row, uint32_t offset)
{
    const tigris_view_record *record = view->record;
    const tigris_tensor_record *tensor = view->tensor;
    const int at_home = offset == TIGRIS_AT_HOME || !tigris_is_window(record);
    uint8_t *base;
    if (at_home) {
        base = tigris_address(session, tensor->home, TIGRIS_PLACED_HOME, tensor, tensor->home_offset);
    } else {
        base = tigris_address(session, TIGRIS_HOME_FAST, TIGRIS_PLACED_WINDOW, record, offset);
        row -= view->state->held_first;
    }
    uint32_t rows = tensor->height; /* of one image */
    if (tigris_is_folded(tensor)) {
        row = 0;
        rows = 1U;
    }
    if (at_home && tensor->batch > 1U) {
        row += (int32_t)(session->image * rows);
    }
    return base + (uint32_t)row * tigris_row_bytes(tensor);
}

TIGRIS_HOT
void tigris_count_access(tigris_session *session, const uint8_t *data, uint32_t bytes, tigris_access access)
{
    tigris_usage *usage = &session->usage;
    uint32_t *peak = &usage->fast_peak;
    uintptr_t offset = (uintptr_t)data - (uintptr_t)session->fast;
    if (offset >= session->fast_bytes) {
        offset = (uintptr_t)data - (uintptr_t)session->slow;
        if (offset >= session->slow_bytes) {
            return; /* a constant */
        }
        peak = &usage->slow_peak;
        *(access == TIGRIS_READ ? &usage->slow_read : &usage->slow_written) += bytes;
    }
    const uint32_t end = (uint32_t)offset + bytes;
    *peak = end > *peak ? end : *peak;
}

/* The record of input `index`, or of output `index` if `outputs` is 1. NULL if the index is out of range, the tensor is
 * streamed, or the session has no plan. */
static const tigris_io_record *find_io(const tigris_session *session, uint32_t index, int outputs)
{
    if (!tigris_is_bound(session)) {
        return NULL;
    }
    const tigris_header_record *header = session->plan->header;
    uint32_t count = header->input_count;
    uint32_t place = index;
    if (outputs) {
        place += count;
        count = header->output_count;
    }
    if (index >= count) {
        return NULL;
    }
    const tigris_io_record *io = &session->plan->io[place];
    return io->mover == 0U ? io : NULL;
}

static uint8_t *io_data(const tigris_session *session, uint32_t index, int outputs)
{
    const tigris_io_record *io = find_io(session, index, outputs);
    if (io == NULL) {
        return NULL;
    }
    const tigris_tensor_record *tensor = &session->plan->tensors[io->tensor];
    return tigris_address(session, tensor->home, TIGRIS_PLACED_IO, io, tensor->home_offset);
}

static uint32_t io_bytes(const tigris_session *session, uint32_t index, int outputs)
{
    const tigris_io_record *io = find_io(session, index, outputs);
    return io != NULL ? tigris_tensor_bytes(&session->plan->tensors[io->tensor]) : 0U;
}

void *tigris_input(const tigris_session *session, uint32_t index)
{
    return io_data(session, index, 0);
}

uint32_t tigris_input_bytes(const tigris_session *session, uint32_t index)
{
    return io_bytes(session, index, 0);
}

const void *tigris_output(const tigris_session *session, uint32_t index)
{
    return io_data(session, index, 1);
}

uint32_t tigris_output_bytes(const tigris_session *session, uint32_t index)
{
    return io_bytes(session, index, 1);
}
