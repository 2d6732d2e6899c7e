/* SUPPRESS, float32: the best boxes of each class, without those that overlap a better one (non-maximum suppression).
 * The next best box is found by a pass over all scores: nothing is sorted, and the scratch has one byte for each box. */
#include "access.h"
#include "check.h"
#include "tigris_kernels.h"

#define BOX 4U /* lowest and highest row and column: y0, x0, y1, x1 */
#define FOUND 3U

/* The boxes of one class. The stride of `scores` is `classes`; `active` marks boxes that are still candidates. */
typedef struct candidates {
    const tigris_suppress_params *params;
    const float *boxes;
    const float *scores;
    uint8_t *active;
} candidates;

static float area(const float *box)
{
    return (box[2] - box[0]) * (box[3] - box[1]);
}

/* Intersection over union of two boxes. */
static float overlap(const float *a, const float *b)
{
    const float first = area(a), second = area(b);
    const float height = (a[2] < b[2] ? a[2] : b[2]) - (a[0] > b[0] ? a[0] : b[0]);
    const float width = (a[3] < b[3] ? a[3] : b[3]) - (a[1] > b[1] ? a[1] : b[1]);
    if (first <= 0.0F || second <= 0.0F || height <= 0.0F || width <= 0.0F) {
        return 0.0F;
    }
    return height * width / (first + second - height * width);
}

static void find_candidates(const candidates *c)
{
    const tigris_suppress_params *params = c->params;
    for (uint32_t i = 0; i < params->boxes; i++) {
        const float score = c->scores[i * params->classes];
        c->active[i] = score > params->score_threshold || (params->inclusive != 0U && score == params->score_threshold);
    }
}

/* Returns the active box with the highest score, the first of equal ones, or `boxes` if there is none. Deactivates
 * it and the boxes that overlap it. */
static uint32_t select_best(const candidates *c)
{
    const tigris_suppress_params *params = c->params;
    uint32_t best = params->boxes;
    for (uint32_t i = 0; i < params->boxes; i++) {
        if (c->active[i] != 0U &&
            (best == params->boxes || c->scores[i * params->classes] > c->scores[best * params->classes])) {
            best = i;
        }
    }
    for (uint32_t i = 0; best != params->boxes && i < params->boxes; i++) {
        if (i == best || (c->active[i] != 0U && overlap(c->boxes + best * BOX, c->boxes + i * BOX) > params->threshold)) {
            c->active[i] = 0U;
        }
    }
    return best;
}

/* Inserts a box into `held` others: at the end, or with `by_score` behind boxes with no lower score. Returns the new
 * number. */
static uint32_t insert(const tigris_suppress_params *params, float *found, uint32_t held, const float *entry)
{
    uint32_t at = held;
    while (params->by_score != 0U && at > 0U && found[(at - 1U) * FOUND + 2U] < entry[2]) {
        at--;
    }
    if (at == params->count) {
        return held;
    }
    const uint32_t now = held < params->count ? held + 1U : held;
    for (uint32_t i = (now - 1U) * FOUND; i > at * FOUND; i--) {
        found[i + FOUND - 1U] = found[i - 1U];
    }
    for (uint32_t i = 0; i < FOUND; i++) {
        found[at * FOUND + i] = entry[i];
    }
    return now;
}

static void run(const tigris_kernel_call *call)
{
    const tigris_suppress_params *params = tigris_params(call);
    const float *scores = (const float *)(const void *)tigris_input_data(call, 1);
    candidates c = {params, (const float *)(const void *)tigris_input_data(call, 0), NULL, tigris_scratch(call)};
    float *found = tigris_float_output(call);
    uint32_t held = 0;
    for (uint32_t class = 0; class < params->classes; class++) {
        c.scores = scores + class;
        find_candidates(&c);
        for (uint32_t i = 0; i < params->per_class; i++) {
            if (tigris_yield_from_kernel(call)) {
                return;
            }
            const uint32_t best = select_best(&c);
            if (best == params->boxes) {
                break;
            }
            const float entry[FOUND] = {(float)class, (float)best, c.scores[best * params->classes]};
            held = insert(params, found, held, entry);
        }
    }
    for (; held < params->count; held++) {
        found[held * FOUND] = -1.0F;
        found[held * FOUND + 1U] = -1.0F;
        found[held * FOUND + 2U] = 0.0F;
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_suppress_params *params = call->params;
    return tigris_check_result(
        tigris_check_types(call, 2U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_FLOAT32) && call->op->images == 1U &&
        call->output->height == 1U && call->output->batch == 1U && params->boxes - 1U < UINT16_MAX &&
        params->classes - 1U < UINT16_MAX && params->count - 1U < UINT16_MAX && params->per_class <= params->boxes &&
        tigris_check_all_rows(call, 0U) &&
        tigris_check_all_rows(call, 1U) && tigris_call_elements(call, call->inputs[0]) == params->boxes * BOX &&
        tigris_call_elements(call, call->inputs[1]) == tigris_multiply(params->boxes, params->classes) &&
        tigris_call_elements(call, call->output) == params->count * FOUND &&
        call->op->scratch_bytes >= params->boxes);
}

TIGRIS_KERNEL_ENTRY(tigris_suppress_float, SUPPRESS, FLOAT32, tigris_suppress_params, run, check);
