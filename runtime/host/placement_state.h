/* What placement_search.c works on; placement_state.c sets it up. */
#ifndef TIGRIS_PLACEMENT_STATE_H
#define TIGRIS_PLACEMENT_STATE_H

#include <stddef.h>

#include "placement_search.h"

typedef struct tigris_place_change {
    int32_t *where;
    int32_t old;
} tigris_place_change;

/* A section's pieces stacked on their heads. */
typedef struct tigris_place_section {
    int32_t top;   /* where the stack ends */
    int32_t alive; /* open pieces */
    int32_t least; /* the least head of these */
    int32_t first; /* the first rank of their requests */
} tigris_place_section;

struct tigris_place_state {
    const tigris_place_problem *problem;
    const tigris_place_question *question;
    int32_t staircases; /* some request has several pieces, or one that does not begin at its start */
    int32_t *owner;     /* request of each piece */
    int32_t *height;    /* of each request: where its last piece ends */
    int32_t *first_section, *piece_sections;
    int32_t *first_rival, *rivals;       /* pieces that each piece meets */
    int32_t *first_neighbour, *neighbours; /* requests that each request meets */
    int32_t *low;                        /* the lowest free start of each request */
    int32_t *start, *placed, *postponed;
    int32_t *head;                 /* a lower bound of each unplaced request's start */
    int32_t *seen;                 /* marks of requests */
    tigris_place_section *sections;
    int32_t *active, *active_list, actives; /* sections that hold open pieces, by a mark and listed */
    int32_t *by_head, *piece_head;          /* all pieces, by head; the head of each, or where it is */
    int32_t *met;                           /* marks of pieces */
    int32_t mark, tick;
    int32_t *arrays, *pairs; /* the memory of the above; of rivals and neighbours */
    tigris_place_change *trail;
    size_t changes, room;
    int32_t failed; /* memory ran out */
    int64_t nodes;
};

/* Whether a request has several pieces, or one that does not begin at its start. */
int32_t tigris_place_is_staircase(const tigris_place_problem *p, int32_t request);
/* Takes memory for the state of `s->problem` and fills what does not change; 0 when there is too little. */
int tigris_place_prepare(tigris_place_state *s);
/* Nothing is placed, and nothing known of where anything may start. */
void tigris_place_reset(tigris_place_state *s);

#endif
