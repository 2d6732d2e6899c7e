/* Placement in arenas that are smaller than planned: tigris_session_init_dynamic.
 *
 * Objects get addresses operator by operator, or once for a stage with several bands or images. An object is placed
 * at the end of fast memory, or of slow memory if the plan keeps its tensor there. If that arena is full, its objects
 * move together; if there is still no space, the object goes to the other arena. An object's space becomes free after
 * the last operator that touches it.
 *
 * All this depends only on the plan and the sizes of the arenas. So `bind_session` rehearses a run without data,
 * which proves that every object finds space, and each run takes the same steps again. The bookkeeping lies in fast
 * memory after the run-time state, where no kernel can reach it. */
#include "extents.h"
#include "memory.h"
#include "move.h"

#define NOWHERE UINT32_MAX
#define END UINT16_MAX /* no further object in an arena */

enum { FAST, SLOW, ARENA_COUNT };

/* One arena, with objects in [start, top). The first four members are multiples of the plan's alignment. */
typedef struct arena {
    uint32_t start;
    uint32_t top;
    uint32_t limit;   /* its size */
    uint32_t ceiling; /* `limit`; in a rehearsal that measures the missing bytes, no limit */
    uint32_t peak;    /* highest `top` */
    uint16_t first;   /* index of the object at the lowest address */
    uint16_t holes;   /* 1: an object was released since the objects last moved together */
} arena;

/* A tensor's home, a window, a weight block or scratch. */
typedef struct object {
    uint32_t at;   /* offset in its arena, a multiple of 4, plus FAST or SLOW; NOWHERE: not placed */
    uint16_t uses; /* operands and outputs to come; for a window, in the stage that runs */
    uint16_t next; /* index of the next object above it in its arena */
} object;

/* In fast memory after the run-time state. It has indices in place of pointers, so that its size is the same on every
 * machine. Objects follow: one for each tensor, for each view of the largest stage, for the weight block and for
 * scratch. One word with the address of each input and output comes last. */
typedef struct bookkeeping {
    arena arenas[ARENA_COUNT];
    uint32_t stage;    /* the stage entered last */
    uint32_t first_op; /* the objects of its operators [first_op, next_op) are placed */
    uint32_t next_op;
    uint32_t scratch_bytes; /* the most that one of them needs */
    uint32_t rehearsing;    /* 1: no data is moved */
    uint32_t failed;        /* 1: an object found no space */
    object objects[];
} bookkeeping;

typedef enum visited { WINDOWS, HOMES } visited;
typedef void (*visitor)(tigris_session *session, uint32_t index);

static uint32_t round_up(uint32_t value, const tigris_session *session)
{
    const uint32_t mask = session->plan->header->alignment - 1U;
    return (value + mask) & ~mask;
}

static bookkeeping *bookkeeping_of(const tigris_session *session)
{
    return (bookkeeping *)(void *)(session->fast + round_up(session->plan->header->state_bytes, session));
}

static uint32_t block_index(const tigris_session *session)
{
    const tigris_header_record *header = session->plan->header;
    return header->tensor_count + header->state_bytes / TIGRIS_VIEW_STATE_BYTES;
}

static uint32_t scratch_index(const tigris_session *session)
{
    return block_index(session) + 1U;
}

static object *object_of(const tigris_session *session, uint32_t index)
{
    return &bookkeeping_of(session)->objects[index];
}

static uint32_t *io_place(const tigris_session *session, uint32_t index)
{
    return (uint32_t *)(void *)object_of(session, scratch_index(session) + 1U) + index;
}

static uint32_t io_count(const tigris_session *session)
{
    return (uint32_t)session->plan->header->input_count + session->plan->header->output_count;
}

/* Offset of the first object in fast memory, after the run-time state and the bookkeeping. */
static uint32_t objects_start(const tigris_session *session)
{
    const uint32_t state = round_up(session->plan->header->state_bytes, session);
    const uint32_t bytes = (uint32_t)(sizeof(bookkeeping) + (scratch_index(session) + 1U) * sizeof(object) +
                                      io_count(session) * sizeof(uint32_t));
    return state + round_up(bytes, session);
}

static const tigris_stage_record *stage_of(const tigris_session *session)
{
    return &session->plan->stages[bookkeeping_of(session)->stage];
}

static uint32_t object_bytes(const tigris_session *session, uint32_t index)
{
    const tigris_plan *plan = session->plan;
    const uint32_t tensors = plan->header->tensor_count;
    if (index < tensors) {
        return tigris_tensor_bytes(&plan->tensors[index]);
    }
    if (index == block_index(session)) {
        return stage_of(session)->block_raw_bytes;
    }
    if (index == scratch_index(session)) {
        return bookkeeping_of(session)->scratch_bytes;
    }
    const tigris_view_record *view = &plan->views[stage_of(session)->first_view + index - tensors];
    const tigris_tensor_record *tensor = tigris_view_tensor(plan, view);
    return tigris_rows_bytes(tensor, view->capacity_rows) * tigris_window_images(stage_of(session), tensor);
}

static uint8_t *address_of(const tigris_session *session, uint32_t at)
{
    return ((at & 1U) == SLOW ? session->slow : session->fast) + (at & ~1U);
}

/* Replaces the link to object `index` in an arena's list by a link to `with`. */
static void replace_link(bookkeeping *books, uint32_t which, uint32_t index, uint32_t with)
{
    uint16_t *link = &books->arenas[which].first;
    while (*link != index) {
        link = &books->objects[*link].next;
    }
    *link = (uint16_t)with;
}

/* Moves the objects of an arena together at its start. */
static void compact(tigris_session *session, uint32_t which)
{
    bookkeeping *books = bookkeeping_of(session);
    arena *in = &books->arenas[which];
    uint32_t top = in->start;
    for (uint32_t index = in->first; index != END; index = books->objects[index].next) {
        const uint32_t bytes = object_bytes(session, index);
        object *moved = &books->objects[index];
        const uint32_t at = moved->at;
        moved->at = top | which;
        if (moved->at != at && books->rehearsing == 0U) {
            const uint8_t *from = address_of(session, at);
            uint8_t *to = address_of(session, moved->at);
            tigris_move(to, from, bytes);
            tigris_count_access(session, from, bytes, TIGRIS_READ);
            tigris_count_access(session, to, bytes, TIGRIS_WRITE);
        }
        top += round_up(bytes, session);
    }
    in->top = top;
    in->holes = 0U;
}

/* Places object `index` in an arena, below `ceiling`; returns 0 if there is no space. */
static int place_in(tigris_session *session, uint32_t index, uint32_t which, uint32_t ceiling)
{
    bookkeeping *books = bookkeeping_of(session);
    arena *in = &books->arenas[which];
    const uint32_t bytes = object_bytes(session, index);
    if (in->holes != 0U && !tigris_fits(in->top, bytes, in->limit)) {
        compact(session, which);
    }
    if (!tigris_fits(in->top, bytes, ceiling)) {
        return 0;
    }
    books->objects[index].at = in->top | which;
    books->objects[index].next = END;
    replace_link(books, which, END, index);
    in->top += round_up(bytes, session);
    in->peak = in->top > in->peak ? in->top : in->peak;
    return 1;
}

static void place_object(tigris_session *session, uint32_t index, uint32_t preferred)
{
    bookkeeping *books = bookkeeping_of(session);
    if (books->objects[index].at == NOWHERE &&
        !place_in(session, index, preferred, books->arenas[preferred].ceiling) &&
        !place_in(session, index, preferred ^ 1U, books->arenas[preferred ^ 1U].ceiling)) {
        books->failed = 1U;
    }
}

static void release_object(tigris_session *session, uint32_t index)
{
    bookkeeping *books = bookkeeping_of(session);
    object *released = &books->objects[index];
    if (released->at != NOWHERE) {
        const uint32_t which = released->at & 1U;
        replace_link(books, which, index, released->next);
        books->arenas[which].holes = 1U;
        released->at = NOWHERE;
    }
}

static void count_use(tigris_session *session, uint32_t index)
{
    object_of(session, index)->uses++;
}

static void place_by_home(tigris_session *session, uint32_t index)
{
    const tigris_plan *plan = session->plan;
    const int in_slow = index < plan->header->tensor_count && plan->tensors[index].home == TIGRIS_HOME_SLOW;
    place_object(session, index, in_slow ? SLOW : FAST);
}

static void end_use(tigris_session *session, uint32_t index)
{
    if (--object_of(session, index)->uses == 0U) {
        release_object(session, index);
    }
}

static int is_in_arena(const tigris_tensor_record *tensor)
{
    return tensor->home == TIGRIS_HOME_FAST || tensor->home == TIGRIS_HOME_SLOW;
}

/* Visits the window of view `index` of a stage, or the home of its tensor if rows are read or written there. */
static void visit_view(tigris_session *session, const tigris_stage_record *stage, uint32_t index, visited what,
                       visitor visit)
{
    const tigris_plan *plan = session->plan;
    const tigris_view_record *view = &plan->views[stage->first_view + index];
    if (what == WINDOWS) {
        if (tigris_is_window(view)) {
            visit(session, plan->header->tensor_count + index);
        }
    } else if ((!tigris_is_window(view) || (view->flags & (TIGRIS_VIEW_FLAG_LOAD | TIGRIS_VIEW_FLAG_STORE)) != 0U) &&
               is_in_arena(tigris_view_tensor(plan, view))) {
        visit(session, view->tensor);
    }
}

/* Visits the windows or the homes that operators [first, end) of a stage touch, once per use. */
static void visit_ops(tigris_session *session, const tigris_stage_record *stage, uint32_t first, uint32_t end,
                      visited what, visitor visit)
{
    const tigris_plan *plan = session->plan;
    for (; first < end; first++) {
        const tigris_op_record *op = &plan->ops[first];
        for (uint32_t i = 0; i < op->operand_count; i++) {
            visit_view(session, stage, plan->operands[op->first_operand + i].view, what, visit);
        }
        visit_view(session, stage, op->output_view, what, visit);
    }
}

static void clear_arena(arena *in, uint32_t start, uint32_t bytes, uint32_t alignment, int endless)
{
    in->start = start;
    in->top = start;
    in->limit = bytes & ~(alignment - 1U);
    in->ceiling = endless ? ~(alignment - 1U) : in->limit;
    in->peak = start;
    in->first = END;
    in->holes = 0U;
}

/* Places the states before all else and for good, so that they have the same addresses in each run. */
static void place_states(tigris_session *session)
{
    const tigris_plan *plan = session->plan;
    for (uint32_t i = 0; i < plan->header->tensor_count; i++) {
        if ((plan->tensors[i].flags & TIGRIS_TENSOR_FLAG_STATE) != 0U && is_in_arena(&plan->tensors[i])) {
            place_by_home(session, i);
            object_of(session, i)->uses++; /* by the next run */
        }
    }
}

/* Places the inputs, which the caller writes before a run, and outputs that no operator touches. */
static void place_io(tigris_session *session)
{
    for (uint32_t i = 0; i < io_count(session); i++) {
        const uint32_t tensor = session->plan->io[i].tensor;
        object *home = object_of(session, tensor);
        const int is_input = i < session->plan->header->input_count;
        if (is_in_arena(&session->plan->tensors[tensor]) && (is_input || home->uses == 0U)) {
            place_by_home(session, tensor);
        }
        if (is_input) {
            *io_place(session, i) = home->at;
        } else {
            home->uses++; /* by the caller, after the run */
        }
    }
}

/* Sets everything to its state before a run. `endless`: an arena to treat as unlimited; ARENA_COUNT: none. */
static void prepare_run(tigris_session *session, uint32_t endless)
{
    const tigris_plan *plan = session->plan;
    const tigris_header_record *header = plan->header;
    bookkeeping *books = bookkeeping_of(session);
    clear_arena(&books->arenas[FAST], objects_start(session), session->fast_bytes, header->alignment, endless == FAST);
    clear_arena(&books->arenas[SLOW], 0U, session->slow_bytes, header->alignment, endless == SLOW);
    books->first_op = 0U;
    books->next_op = 0U;
    for (uint32_t i = 0; i <= scratch_index(session); i++) {
        books->objects[i] = (object){NOWHERE, 0U, END};
    }
    for (uint32_t i = 0; i < header->stage_count; i++) {
        const tigris_stage_record *stage = &plan->stages[i];
        visit_ops(session, stage, stage->first_op, stage->first_op + stage->op_count, HOMES, count_use);
    }
    place_states(session);
    place_io(session);
}

static void start_run(tigris_session *session)
{
    prepare_run(session, ARENA_COUNT);
    session->usage.fast_peak = bookkeeping_of(session)->arenas[FAST].start;
}

/* Ends the uses of the operators entered last, and releases what no later operator uses. */
static void leave_ops(tigris_session *session)
{
    bookkeeping *books = bookkeeping_of(session);
    if (books->next_op == books->first_op) {
        return;
    }
    const tigris_stage_record *stage = stage_of(session);
    visit_ops(session, stage, books->first_op, books->next_op, WINDOWS, end_use);
    visit_ops(session, stage, books->first_op, books->next_op, HOMES, end_use);
    release_object(session, scratch_index(session));
    if (books->next_op == stage->first_op + stage->op_count) {
        release_object(session, block_index(session));
    }
}

/* A compressed block must be placed. If there is no space for an uncompressed one, it is read in place. */
static void place_block(tigris_session *session, const tigris_stage_record *stage)
{
    if (stage->weight_mode == TIGRIS_WEIGHT_MODE_LZ4) {
        place_object(session, block_index(session), FAST);
    } else if (stage->weight_mode == TIGRIS_WEIGHT_MODE_COPY) {
        (void)place_in(session, block_index(session), FAST, bookkeeping_of(session)->arenas[FAST].limit);
    }
}

static void enter_op(tigris_session *session, const tigris_stage_record *stage, uint32_t op)
{
    bookkeeping *books = bookkeeping_of(session);
    if (op < books->next_op) {
        return;
    }
    leave_ops(session);
    const uint32_t end = stage->first_op + stage->op_count;
    if (op == stage->first_op) {
        books->stage = (uint32_t)(stage - session->plan->stages);
        visit_ops(session, stage, op, end, WINDOWS, count_use);
        place_block(session, stage);
    }
    books->first_op = op;
    /* Operators that run in several bands or images keep their space until the stage ends. */
    books->next_op = stage->band_count > 1U || stage->images > 1U ? end : op + 1U;
    books->scratch_bytes = 0U;
    for (uint32_t i = op; i < books->next_op; i++) {
        const uint32_t bytes = session->plan->ops[i].scratch_bytes;
        books->scratch_bytes = bytes > books->scratch_bytes ? bytes : books->scratch_bytes;
    }
    if (books->scratch_bytes != 0U) {
        place_object(session, scratch_index(session), FAST);
    }
    visit_ops(session, stage, op, books->next_op, WINDOWS, place_by_home);
    visit_ops(session, stage, op, books->next_op, HOMES, place_by_home);
}

/* Takes the steps of a run without data. Returns 0 if an object found no space. */
static int rehearse_run(tigris_session *session, uint32_t endless)
{
    const tigris_plan *plan = session->plan;
    bookkeeping *books = bookkeeping_of(session);
    books->rehearsing = 1U;
    books->failed = 0U;
    prepare_run(session, endless);
    for (uint32_t i = 0; i < plan->header->stage_count; i++) {
        const tigris_stage_record *stage = &plan->stages[i];
        for (uint32_t op = 0; op < stage->op_count; op++) {
            enter_op(session, stage, stage->first_op + op);
        }
    }
    for (uint32_t i = plan->header->input_count; i < io_count(session); i++) {
        *io_place(session, i) = object_of(session, plan->io[i].tensor)->at;
    }
    books->rehearsing = 0U;
    return books->failed == 0U;
}

/* Bounds the steps of a rehearsal, because nothing can stop it. Large networks take less than a tenth. */
#define MAX_STEPS (UINT32_C(1) << 24)

/* Whether indices and uses fit 16 bits, and a rehearsal takes at most MAX_STEPS. */
static int is_small_enough(const tigris_session *session)
{
    const tigris_header_record *header = session->plan->header;
    const uint32_t uses = header->op_count + header->operand_count + io_count(session) + 1U;
    return scratch_index(session) < END && uses <= UINT16_MAX &&
           tigris_multiply(scratch_index(session), uses) <= MAX_STEPS;
}

static tigris_status bind_session(tigris_session *session)
{
    const tigris_header_record *header = session->plan->header;
    if (session->fast_bytes >= header->fast_bytes && session->slow_bytes >= header->slow_bytes) {
        session->placement = NULL; /* large enough: the addresses are the plan's */
        return TIGRIS_OK;
    }
    const uint32_t start = is_small_enough(session) ? objects_start(session) : UINT32_MAX;
    if (start > session->fast_bytes) {
        session->bytes_short = start != UINT32_MAX ? start - session->fast_bytes : UINT32_MAX;
        return TIGRIS_ERR_FAST_TOO_SMALL;
    }
    if (rehearse_run(session, ARENA_COUNT)) {
        return TIGRIS_OK;
    }
    /* Measures what is missing: slow memory if the session or the plan has any, else fast memory. */
    const uint32_t small = session->slow_bytes != 0U || header->slow_bytes != 0U ? SLOW : FAST;
    const uint32_t given = small == SLOW ? session->slow_bytes : session->fast_bytes;
    session->bytes_short =
        rehearse_run(session, small) ? bookkeeping_of(session)->arenas[small].peak - given : UINT32_MAX;
    return small == SLOW ? TIGRIS_ERR_SLOW_TOO_SMALL : TIGRIS_ERR_FAST_TOO_SMALL;
}

static uint8_t *locate_record(const tigris_session *session, tigris_placed what, const void *record)
{
    const tigris_plan *plan = session->plan;
    uint32_t at = NOWHERE;
    switch (what) {
    case TIGRIS_PLACED_HOME:
        at = object_of(session, (uint32_t)((const tigris_tensor_record *)record - plan->tensors))->at;
        break;
    case TIGRIS_PLACED_IO:
        at = *io_place(session, (uint32_t)((const tigris_io_record *)record - plan->io));
        break;
    case TIGRIS_PLACED_WINDOW: {
        const tigris_view_record *first = &plan->views[stage_of(session)->first_view];
        at = object_of(session,
                       plan->header->tensor_count + (uint32_t)((const tigris_view_record *)record - first))->at;
        break;
    }
    case TIGRIS_PLACED_BLOCK:
        at = object_of(session, block_index(session))->at;
        if (at == NOWHERE) {
            return (uint8_t *)(uintptr_t)(plan->weights + ((const tigris_stage_record *)record)->block);
        }
        break;
    case TIGRIS_PLACED_SCRATCH:
        at = object_of(session, scratch_index(session))->at;
        break;
    }
    return address_of(session, at);
}

const tigris_placement tigris_dynamic_placement = {bind_session, start_run, enter_op, locate_record};
