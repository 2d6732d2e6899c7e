/* Where tensors lie, and how much of the arenas a run touched. */
#include "memory.h"

#include "plan.h"

uint8_t *tigris_home_address(const tigris_session *session, const tigris_tensor_record *tensor)
{
    switch (tensor->home) {
    case TIGRIS_HOME_FAST:
        return session->fast + tensor->home_offset;
    case TIGRIS_HOME_SLOW:
        return session->slow + tensor->home_offset;
    case TIGRIS_HOME_FLASH:
        return (uint8_t *)(uintptr_t)(session->plan->weights + tensor->home_offset);
    default:
        return NULL;
    }
}

uint8_t *tigris_row_address(const tigris_session *session, const tigris_stage_bands *bands, uint32_t index,
                            int32_t row)
{
    const tigris_view_record *view = &bands->views[index];
    const tigris_tensor_record *tensor = tigris_view_tensor(bands->plan, view);
    uint8_t *base = tigris_is_window(view) ? session->fast + view->offset : tigris_home_address(session, tensor);
    return base + (uint32_t)(row - bands->states[index].held_first) * tigris_row_step(tensor);
}

void tigris_use_fast(tigris_session *session, uint32_t end)
{
    if (end > session->usage.fast_peak) {
        session->usage.fast_peak = end;
    }
}

void tigris_use_home(tigris_session *session, const tigris_tensor_record *tensor, uint32_t bytes, uint32_t end,
                     tigris_access access)
{
    tigris_usage *usage = &session->usage;
    if (tensor->home == TIGRIS_HOME_FAST) {
        tigris_use_fast(session, tensor->home_offset + end);
    } else if (tensor->home == TIGRIS_HOME_SLOW) {
        if (tensor->home_offset + end > usage->slow_peak) {
            usage->slow_peak = tensor->home_offset + end;
        }
        if (access == TIGRIS_READ) {
            usage->slow_read += bytes;
        } else {
            usage->slow_written += bytes;
        }
    }
}

static const tigris_tensor_record *io_tensor(const tigris_session *session, uint32_t first, uint32_t count,
                                             uint32_t index)
{
    if (index >= count) {
        return NULL;
    }
    return &session->plan->tensors[session->plan->io[first + index].tensor];
}

static const tigris_tensor_record *input_tensor(const tigris_session *session, uint32_t index)
{
    return io_tensor(session, 0U, session->plan->header->input_count, index);
}

static const tigris_tensor_record *output_tensor(const tigris_session *session, uint32_t index)
{
    const tigris_header_record *header = session->plan->header;
    return io_tensor(session, header->input_count, header->output_count, index);
}

void *tigris_input(const tigris_session *session, uint32_t index)
{
    const tigris_tensor_record *tensor = input_tensor(session, index);
    return tensor == NULL ? NULL : tigris_home_address(session, tensor);
}

uint32_t tigris_input_bytes(const tigris_session *session, uint32_t index)
{
    const tigris_tensor_record *tensor = input_tensor(session, index);
    return tensor == NULL ? 0U : tigris_tensor_bytes(tensor);
}

const void *tigris_output(const tigris_session *session, uint32_t index)
{
    const tigris_tensor_record *tensor = output_tensor(session, index);
    return tensor == NULL ? NULL : tigris_home_address(session, tensor);
}

uint32_t tigris_output_bytes(const tigris_session *session, uint32_t index)
{
    const tigris_tensor_record *tensor = output_tensor(session, index);
    return tensor == NULL ? 0U : tigris_tensor_bytes(tensor);
}
