/* Both networks of this firmware, opened from flash and served on a serial line. */
#ifndef MODELS_H
#define MODELS_H

#include <tigris_serve.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opens both models; one that cannot be opened is served all the same, so that the host can say why. Both arguments
 * must stay valid. */
void models_start(const tigris_serve_transport *line, const tigris_serve_board *board);

/* "digits: ok" and the like; `index` 0 or 1. */
const char *models_name(unsigned index);
tigris_status models_status(unsigned index);

/* Handles what has arrived; 0 when nothing had. */
int models_poll(void);

#ifdef __cplusplus
}
#endif

#endif
