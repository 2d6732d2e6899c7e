/* Branch and bound for tigris_pio/compiler/plan/memory/exact.py, which says why each step is right; its sister
 * branch.py takes the same steps in Python. */
#include "placement_stack.h"

#include <stdlib.h>
#include <string.h>

/* How often lower bounds of blocked requests are drawn from those of others. */
#define ROUNDS 4

static void set(tigris_place_state *s, int32_t *where, int32_t value) {
    if (s->changes == s->room) {
        size_t room = s->room ? 2U * s->room : 4096U;
        tigris_place_change *trail = realloc(s->trail, room * sizeof *trail);
        if (trail == NULL) {
            s->failed = 1;
            return;
        }
        s->trail = trail;
        s->room = room;
    }
    s->trail[s->changes].where = where;
    s->trail[s->changes++].old = *where;
    *where = value;
}

static void undo(tigris_place_state *s, size_t changes) {
    while (s->changes > changes) {
        s->changes--;
        *s->trail[s->changes].where = s->trail[s->changes].old;
    }
}

/* Whether a request that starts at its lowest free start lies beside all of another. */
static int32_t lies_beside(const tigris_place_state *s, int32_t request, int32_t other) {
    return s->low[request] >= s->start[other] + s->height[other] ||
           s->low[request] + s->height[request] <= s->start[other];
}

/* The lowest start from `from` on where a request meets nothing that is placed. */
static int32_t lowest(const tigris_place_state *s, int32_t request, int32_t from) {
    const tigris_place_problem *p = s->problem;
    int32_t at = from, again = 1;
    while (again) {
        again = 0;
        for (int32_t i = p->first_piece[request]; i < p->first_piece[request + 1]; i++) {
            for (int32_t k = s->first_rival[i]; k < s->first_rival[i + 1]; k++) {
                int32_t j = s->rivals[k], bottom;
                if (!s->placed[s->owner[j]]) {
                    continue;
                }
                bottom = s->start[s->owner[j]] + p->offset[j];
                if (at + p->offset[i] < bottom + p->size[j] && bottom < at + p->offset[i] + p->size[i]) {
                    at = bottom + p->size[j] - p->offset[i];
                    again = 1;
                }
            }
        }
    }
    return at;
}

static void put(tigris_place_state *s, int32_t request, int32_t at) {
    int32_t simple = !s->staircases && (s->question->rules & TIGRIS_PLACE_DOMINANCE);
    set(s, &s->placed[request], 1);
    set(s, &s->start[request], at);
    for (int32_t k = s->first_neighbour[request]; k < s->first_neighbour[request + 1]; k++) {
        int32_t u = s->neighbours[k], low;
        if (s->placed[u] || (!simple && lies_beside(s, u, request))) {
            continue;
        }
        low = simple ? at + s->height[request] : lowest(s, u, s->low[u]);
        if (low > s->low[u]) {
            set(s, &s->low[u], low);
            if (s->postponed[u]) {
                set(s, &s->postponed[u], 0);
            }
        }
    }
}

/* Where a blocked request may start at the earliest: above whatever blocks it; -1 when nothing can. */
static int32_t above_blockers(const tigris_place_state *s, int32_t request) {
    const tigris_place_problem *p = s->problem;
    int32_t i = p->first_piece[request], single = !tigris_place_is_staircase(p, request), best = INT32_MAX;
    int32_t end = s->low[request] + s->height[request];
    if (!single || s->staircases) {
        if (!single) {
            for (int32_t k = s->first_neighbour[request]; k < s->first_neighbour[request + 1]; k++) {
                int32_t u = s->neighbours[k];
                if (!s->placed[u] && s->head[u] < end) {
                    return s->head[request];
                }
            }
            return -1;
        }
        for (int32_t k = s->first_rival[i]; k < s->first_rival[i + 1]; k++) {
            int32_t j = s->rivals[k], u = s->owner[j], bottom = s->head[u] + p->offset[j];
            if (!s->placed[u] && bottom < end && bottom + p->size[j] < best) {
                best = bottom + p->size[j];
            }
        }
    } else {
        for (int32_t k = s->first_neighbour[request]; k < s->first_neighbour[request + 1]; k++) {
            int32_t u = s->neighbours[k];
            if (!s->placed[u] && s->head[u] < end && s->head[u] + s->height[u] < best) {
                best = s->head[u] + s->height[u];
            }
        }
    }
    return best == INT32_MAX ? -1 : best;
}

/* Lower bounds of the starts of `count` requests; 0 when one of them has no place left. */
static int32_t find_heads(tigris_place_state *s, const int32_t *open, int32_t count) {
    int32_t again = (s->question->rules & TIGRIS_PLACE_BLOCKERS) != 0U;
    for (int32_t i = 0; i < count; i++) {
        s->head[open[i]] = s->low[open[i]];
    }
    for (int32_t round = 0; again && round < ROUNDS; round++) {
        again = 0;
        for (int32_t i = 0; i < count; i++) {
            int32_t u = open[i], head;
            if (!s->postponed[u]) {
                continue;
            }
            head = above_blockers(s, u);
            if (head < 0) {
                return 0;
            }
            if (head > s->head[u]) {
                s->head[u] = head;
                again = 1;
            }
        }
    }
    for (int32_t i = 0; i < count; i++) {
        if (s->head[open[i]] + s->height[open[i]] > s->question->capacity) {
            return 0;
        }
    }
    return 1;
}

static int32_t comes_before(const tigris_place_state *s, int32_t a, int32_t b) {
    return s->head[a] != s->head[b] ? s->head[a] < s->head[b] : s->question->rank[a] < s->question->rank[b];
}

static void sort_by_head(const tigris_place_state *s, int32_t *open, int32_t count) {
    for (int32_t i = 1; i < count; i++) {
        int32_t u = open[i], at = i;
        for (; at > 0 && comes_before(s, u, open[at - 1]); at--) {
            open[at] = open[at - 1];
        }
        open[at] = u;
    }
}

/* Whether another open request fits wholly below a request's lowest start. */
static int32_t is_dominated(const tigris_place_state *s, int32_t request) {
    if (!(s->question->rules & TIGRIS_PLACE_DOMINANCE)) {
        return 0;
    }
    for (int32_t k = s->first_neighbour[request]; k < s->first_neighbour[request + 1]; k++) {
        int32_t u = s->neighbours[k];
        if (!s->placed[u] && s->head[u] + s->height[u] <= s->low[request]) {
            return 1;
        }
    }
    return 0;
}

static void consider(const tigris_place_state *s, int32_t request, int32_t *best) {
    int32_t low = s->low[request];
    if (s->placed[request] || s->postponed[request]) {
        return;
    }
    if (*best >= 0 && (low > s->low[*best] || (low == s->low[*best] &&
                                               s->question->rank[request] >= s->question->rank[*best]))) {
        return;
    }
    if (!is_dominated(s, request)) {
        *best = request;
    }
}

/* The request to place or to postpone next; -1 when all are postponed. */
static int32_t choose(const tigris_place_state *s, const int32_t *open, int32_t count, int32_t pivot) {
    const tigris_place_problem *p = s->problem;
    int32_t best = -1;
    if (pivot >= 0) {
        for (int32_t k = p->first_member[pivot]; k < p->first_member[pivot + 1]; k++) {
            consider(s, s->owner[p->members[k]], &best);
        }
    }
    if (best < 0) {
        for (int32_t i = 0; i < count; i++) {
            consider(s, open[i], &best);
        }
    }
    return best;
}

static int32_t solve(tigris_place_state *s, int32_t *open, int32_t count);

/* Collects into `group` what is joined to open[0] by meeting, and leaves the rest in `open`, in order. */
static int32_t take_group(tigris_place_state *s, int32_t *open, int32_t *count, int32_t *group) {
    int32_t reached = 0, size = 0, left = 0, mark = ++s->mark;
    s->seen[open[0]] = mark;
    group[reached++] = open[0];
    for (int32_t i = 0; i < reached && reached < *count; i++) {
        for (int32_t k = s->first_neighbour[group[i]]; k < s->first_neighbour[group[i] + 1]; k++) {
            int32_t u = s->neighbours[k];
            if (!s->placed[u] && s->seen[u] != mark) {
                s->seen[u] = mark;
                group[reached++] = u;
            }
        }
    }
    for (int32_t i = 0; i < *count; i++) {
        if (s->seen[open[i]] == mark) {
            group[size++] = open[i];
        } else {
            open[left++] = open[i];
        }
    }
    *count = left;
    return size;
}

/* Requests that meet none of the others in hand are searched by themselves, the smallest group first. */
static int32_t solve_groups(tigris_place_state *s, int32_t *open, int32_t count) {
    int32_t *groups, *sizes, found = 0, used = 0, result = TIGRIS_PLACE_FOUND;
    size_t changes = s->changes;
    if (!(s->question->rules & TIGRIS_PLACE_DECOMPOSITION) || count < 2) {
        return solve(s, open, count);
    }
    groups = malloc(2U * (size_t)count * sizeof *groups);
    if (groups == NULL) {
        return TIGRIS_PLACE_NO_MEMORY;
    }
    sizes = groups + count;
    while (count > 0) {
        sizes[found] = take_group(s, open, &count, groups + used);
        used += sizes[found++];
    }
    for (int32_t done = 0; done < found && result == TIGRIS_PLACE_FOUND; done++) {
        int32_t next = -1, from = 0, at = 0;
        for (int32_t i = 0; i < found; i++) {
            if (sizes[i] > 0 && (next < 0 || sizes[i] < sizes[next])) {
                next = i;
                from = at;
            }
            at += sizes[i] > 0 ? sizes[i] : -sizes[i];
        }
        result = solve(s, groups + from, sizes[next]);
        sizes[next] = -sizes[next];
    }
    free(groups);
    if (result != TIGRIS_PLACE_FOUND) {
        undo(s, changes);
    }
    return result;
}

/* `open` without one request, searched on; the caller undoes. */
static int32_t solve_rest(tigris_place_state *s, const int32_t *open, int32_t count, int32_t placed) {
    int32_t *rest, left = 0, result;
    if (count == 1) {
        return s->failed ? TIGRIS_PLACE_NO_MEMORY : TIGRIS_PLACE_FOUND;
    }
    rest = malloc((size_t)count * sizeof *rest);
    if (rest == NULL || s->failed) {
        free(rest);
        return TIGRIS_PLACE_NO_MEMORY;
    }
    for (int32_t i = 0; i < count; i++) {
        if (open[i] != placed) {
            rest[left++] = open[i];
        }
    }
    result = solve_groups(s, rest, left);
    free(rest);
    return result;
}

/* Every place of one request with several pieces, from the lowest on. */
static int32_t try_every_place(tigris_place_state *s, const int32_t *open, int32_t count, int32_t request) {
    int32_t at = s->low[request], result = TIGRIS_PLACE_EXHAUSTED;
    size_t changes = s->changes;
    while (at + s->height[request] <= s->question->capacity && result == TIGRIS_PLACE_EXHAUSTED) {
        if (s->nodes++ >= s->question->limit) {
            return TIGRIS_PLACE_LIMIT;
        }
        put(s, request, at);
        result = solve_rest(s, open, count, request);
        if (result != TIGRIS_PLACE_FOUND) {
            undo(s, changes);
            at = lowest(s, request, at + 1);
        }
    }
    return result;
}

static int32_t next_staircase(const tigris_place_state *s, const int32_t *open, int32_t count) {
    int32_t best = -1;
    for (int32_t i = 0; s->question->staircases_first && i < count; i++) {
        if (tigris_place_is_staircase(s->problem, open[i]) && (best < 0 || s->question->rank[open[i]] < s->question->rank[best])) {
            best = open[i];
        }
    }
    return best;
}

/* Places one request after the other, each on the lowest place or, when that fails, not there. */
static int32_t solve(tigris_place_state *s, int32_t *open, int32_t count) {
    size_t changes = s->changes, before;
    int32_t result = TIGRIS_PLACE_EXHAUSTED, request, pivot;
    for (;;) {
        if (s->nodes++ >= s->question->limit) {
            result = TIGRIS_PLACE_LIMIT;
            break;
        }
        if (!find_heads(s, open, count)) {
            break;
        }
        sort_by_head(s, open, count);
        if (!tigris_place_stack(s, open, count, &pivot)) {
            break;
        }
        request = next_staircase(s, open, count);
        if (request >= 0) {
            result = try_every_place(s, open, count, request);
            break;
        }
        request = choose(s, open, count, pivot);
        if (request < 0) {
            break;
        }
        before = s->changes;
        put(s, request, s->low[request]);
        result = solve_rest(s, open, count, request);
        if (result != TIGRIS_PLACE_EXHAUSTED) {
            break;
        }
        undo(s, before);
        set(s, &s->postponed[request], 1);
    }
    if (result != TIGRIS_PLACE_FOUND) {
        undo(s, changes);
    }
    return s->failed ? TIGRIS_PLACE_NO_MEMORY : result;
}

tigris_place_state *tigris_host_place_open(const tigris_place_problem *problem) {
    tigris_place_state *s = calloc(1U, sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    s->problem = problem;
    if (!tigris_place_prepare(s)) {
        tigris_host_place_close(s);
        return NULL;
    }
    return s;
}

void tigris_host_place_close(tigris_place_state *state) {
    if (state != NULL) {
        free(state->trail);
        free(state->pairs);
        free(state->arrays);
        free(state->sections);
        free(state);
    }
}

int32_t tigris_host_place(
    tigris_place_state *state, const tigris_place_question *question, int32_t *starts, int64_t *nodes) {
    const int32_t requests = state->problem->requests;
    int32_t result = TIGRIS_PLACE_NO_MEMORY, *open = malloc(((size_t)requests + 1U) * sizeof *open);
    state->question = question;
    tigris_place_reset(state);
    if (open != NULL) {
        for (int32_t i = 0; i < requests; i++) {
            open[question->rank[i]] = i;
        }
        result = requests ? solve_groups(state, open, requests) : TIGRIS_PLACE_FOUND;
        memcpy(starts, state->start, (size_t)requests * sizeof *starts);
    }
    *nodes = state->nodes;
    free(open);
    return result;
}
