/* Frames of the serial harness: a header, a payload and a CRC-32, COBS-coded between zero bytes.
 *
 * COBS (Cheshire and Baker, "Consistent Overhead Byte Stuffing", IEEE/ACM ToN 7(2), 1999) leaves no zero byte inside
 * a frame. A receiver that lost its place therefore finds the next frame at the next zero. */
#ifndef TIGRIS_SERVE_FRAME_H
#define TIGRIS_SERVE_FRAME_H

#include "tigris_serve.h"

/* Reads received bytes until a whole undamaged frame lies in server->frame. Returns 1 and its header, whose length
 * is that of the payload at server->frame + 8. Returns 0 if no more bytes have arrived. */
int tigris_serve_receive(tigris_serve *server, tigris_serve_header *header);

/* Sends a frame that answers server->request, and stores it; at most TIGRIS_SERVE_PAYLOAD bytes of payload. */
void tigris_serve_send(tigris_serve *server, uint32_t type, const void *payload, uint32_t bytes);

/* Sends a frame of the transfer that server->request opened: its number and the `bytes` bytes at `data`. */
void tigris_serve_send_data(const tigris_serve *server, uint32_t number, const uint8_t *data, uint32_t bytes);

/* Sends the stored frame again. */
void tigris_serve_resend(const tigris_serve *server);

/* Answers the frame with header `to`, which is no request of the connection; the stored frame stays. At most
 * sizeof(tigris_serve_hello) bytes of payload. */
void tigris_serve_send_unstored(const tigris_serve *server, const tigris_serve_header *to, uint32_t type,
                                const void *payload, uint32_t bytes);

#endif
