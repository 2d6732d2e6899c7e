/* tigris_describe_input and tigris_describe_output: inputs and outputs by index. */
#include "band.h"

static tigris_status describe(const tigris_session *session, uint32_t index, int outputs, tigris_io *io)
{
    if (!tigris_is_bound(session) || io == NULL) {
        return TIGRIS_ERR_ARGUMENT;
    }
    const tigris_plan *plan = session->plan;
    const tigris_header_record *header = plan->header;
    if (index >= (outputs ? header->output_count : header->input_count)) {
        return TIGRIS_ERR_ARGUMENT;
    }
    const tigris_io_record *record = &plan->io[outputs ? header->input_count + index : index];
    const tigris_tensor_record *tensor = &plan->tensors[record->tensor];
    io->name = plan->strings + record->name;
    io->dtype = (tigris_dtype)tensor->dtype;
    io->rank = record->stored_rank;
    io->shape = record->stored_shape;
    io->scale = tensor->scale;
    io->zero_point = tensor->zero_point;
    return TIGRIS_OK;
}

tigris_status tigris_describe_input(const tigris_session *session, uint32_t index, tigris_io *io)
{
    return describe(session, index, 0, io);
}

tigris_status tigris_describe_output(const tigris_session *session, uint32_t index, tigris_io *io)
{
    return describe(session, index, 1, io);
}
