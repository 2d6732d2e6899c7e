/* Where tensors lie, and how much of the arenas a run touched. */
#include "memory.h"

#include "plan.h"

uint8_t *tigris_fast_address(const tigris_session *session, tigris_placed what, const void *record, uint32_t offset)
{
    return session->placement != NULL ? session->placement->locate(session, what, record) : session->fast + offset;
}

uint8_t *tigris_home_address(const tigris_session *session, const tigris_tensor_record *tensor)
{
    if (tensor->home == TIGRIS_HOME_FLASH) {
        return (uint8_t *)(uintptr_t)(session->plan->weights + tensor->home_offset);
    }
    if (tensor->home == TIGRIS_HOME_SLOW && session->placement == NULL) {
        return session->slow + tensor->home_offset;
    }
    return tigris_fast_address(session, TIGRIS_PLACED_HOME, tensor, tensor->home_offset);
}

uint8_t *tigris_row_address(const tigris_session *session, const tigris_stage_bands *bands, uint32_t index,
                            int32_t row)
{
    const tigris_view_record *view = &bands->views[index];
    const tigris_tensor_record *tensor = tigris_tensor_of(bands, index);
    uint8_t *base = tigris_is_window(view) ? tigris_fast_address(session, TIGRIS_PLACED_WINDOW, view, view->offset)
                                           : tigris_home_address(session, tensor);
    return base + (uint32_t)(row - bands->states[index].held_first) * tigris_row_step(tensor);
}

void tigris_count(tigris_session *session, const uint8_t *data, uint32_t bytes, tigris_access access)
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

/* Input `index`; or output `index` when `outputs` is 1. NULL when out of range. */
static const tigris_io_record *find_io(const tigris_session *session, uint32_t index, int outputs)
{
    const tigris_header_record *header = session->plan->header;
    if (index >= (outputs ? header->output_count : header->input_count)) {
        return NULL;
    }
    return &session->plan->io[outputs ? index + header->input_count : index];
}

static uint8_t *io_address(const tigris_session *session, uint32_t index, int outputs)
{
    const tigris_io_record *io = find_io(session, index, outputs);
    if (io == NULL) {
        return NULL;
    }
    const tigris_tensor_record *tensor = &session->plan->tensors[io->tensor];
    if (session->placement != NULL && tensor->home != TIGRIS_HOME_FLASH) {
        return session->placement->locate(session, TIGRIS_PLACED_IO, io);
    }
    return tigris_home_address(session, tensor);
}

static uint32_t io_bytes(const tigris_session *session, uint32_t index, int outputs)
{
    const tigris_io_record *io = find_io(session, index, outputs);
    return io == NULL ? 0U : tigris_tensor_bytes(&session->plan->tensors[io->tensor]);
}

void *tigris_input(const tigris_session *session, uint32_t index)
{
    return io_address(session, index, 0);
}

uint32_t tigris_input_bytes(const tigris_session *session, uint32_t index)
{
    return io_bytes(session, index, 0);
}

const void *tigris_output(const tigris_session *session, uint32_t index)
{
    return io_address(session, index, 1);
}

uint32_t tigris_output_bytes(const tigris_session *session, uint32_t index)
{
    return io_bytes(session, index, 1);
}
