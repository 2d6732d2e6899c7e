/* Where to put requests of known size and life below a height: a branch and bound. Not part of firmware. */
#ifndef TIGRIS_PLACEMENT_SEARCH_H
#define TIGRIS_PLACEMENT_SEARCH_H

#include <stdint.h>

#include "host_export.h"

/* Pruning rules; tigris_pio/compiler/plan/memory/exact.py says what each does. */
#define TIGRIS_PLACE_LOADS 1U
#define TIGRIS_PLACE_HEADS 2U
#define TIGRIS_PLACE_DOMINANCE 4U
#define TIGRIS_PLACE_BLOCKERS 8U
#define TIGRIS_PLACE_DECOMPOSITION 16U

#define TIGRIS_PLACE_FOUND 1
#define TIGRIS_PLACE_EXHAUSTED 0
#define TIGRIS_PLACE_LIMIT (-1)
#define TIGRIS_PLACE_NO_MEMORY (-2)

/* What is to be placed. All heights in units of which the caller knows the bytes; every sum of sizes is below 2^30. */
typedef struct tigris_place_problem {
    int32_t requests;
    int32_t pieces;
    int32_t sections;
    int32_t stacked;             /* of so many first sections lower bounds are drawn; all where requests are one piece */
    const int32_t *first_piece;  /* of each request, and `pieces`; a request has one or more */
    const int32_t *offset;       /* of each piece, from its request's start */
    const int32_t *size;         /* of each piece */
    const int32_t *first_member; /* of each section, and the length of `members` */
    const int32_t *members;      /* pieces taken at one moment; two pieces meet when they share a section */
} tigris_place_problem;

/* How one search goes about it. */
typedef struct tigris_place_question {
    const int32_t *rank; /* of each request, no two alike: the lowest is tried first */
    int32_t capacity;    /* no piece ends above it */
    uint32_t rules;
    int32_t fullest_first;    /* of sections that are equally low, the fullest is gone on with */
    int32_t staircases_first; /* every place of requests with several pieces is tried, before all others */
    int64_t limit;            /* nodes */
} tigris_place_question;

typedef struct tigris_place_state tigris_place_state;

/* The memory of searches of one problem, which must live as long; NULL when there is too little. Whoever takes it gives
 * it back with tigris_host_place_close. */
TIGRIS_HOST_API tigris_place_state *tigris_host_place_open(const tigris_place_problem *problem);
TIGRIS_HOST_API void tigris_host_place_close(tigris_place_state *state);

/* One of TIGRIS_PLACE_…; `starts`: of each request when found. `nodes`: how many were looked at. What was searched
 * before makes no difference. */
TIGRIS_HOST_API int32_t tigris_host_place(
    tigris_place_state *state, const tigris_place_question *question, int32_t *starts, int64_t *nodes);

#endif
