/* tigris_session_reset: gives every state its first value. The check of a COMMIT kernel writes that value, so this runs
 * the checks of the stages that begin with a COMMIT. */
#include "dispatch.h"

tigris_status tigris_session_reset(tigris_session *session)
{
    if (!tigris_is_bound(session)) {
        return TIGRIS_ERR_ARGUMENT;
    }
    tigris_stage_run run = {session, session->plan, session->plan->stages, 1};
    tigris_status status = TIGRIS_OK;
    session->checked_multipliers = 0U;
    for (uint32_t i = 0; status == TIGRIS_OK && i < session->plan->header->stage_count; i++, run.stage++) {
        if (session->plan->ops[run.stage->first_op].kind == TIGRIS_OP_KIND_COMMIT) {
            status = tigris_check_params(&run, session->plan->weights + run.stage->block);
        }
    }
    return status;
}
