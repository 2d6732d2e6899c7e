// Recognises handwritten digits. `tigris hil digits.tgrs --port PORT` sends pictures and compares the outputs with the
// host's; digits.tgrs lies beside this sketch.
#include <tigris.h>
#include <tigris_serve.h>

#include "digits_plan.h"

static TIGRIS_ALIGNED uint8_t fast[8192];
static const tigris_arenas arenas = {fast, sizeof fast, nullptr, 0};
static tigris_plan plan;
static tigris_session session;
static tigris_serve_model served;
static tigris_serve server;

static size_t line_read(void *, uint8_t *data, size_t bytes)
{
    size_t count = 0;
    while (count < bytes && Serial.available() > 0)
        data[count++] = static_cast<uint8_t>(Serial.read());
    return count;
}

static void line_write(void *, const uint8_t *data, size_t bytes)
{
    Serial.write(data, bytes);
}

static uint32_t microseconds(void *)
{
    return static_cast<uint32_t>(micros());
}

void setup()
{
    static const tigris_serve_transport line = {line_read, line_write, nullptr};
    static const tigris_serve_board board = {"Arduino", microseconds, nullptr, 1000000U, "us", 0U};
    Serial.begin(115200);
    served.plan = &plan;
    served.session = &session;
    served.arenas = &arenas;
    served.status = tigris_plan_open(&plan, digits_plan, sizeof digits_plan);
    if (served.status == TIGRIS_OK)
        served.status = tigris_session_init(&session, &plan, &arenas, nullptr);
    tigris_serve_init(&server, &line, &board, &served, 1);
}

void loop()
{
    // Your own program: fill tigris_input(&session, 0), call tigris_run(&session), read tigris_output(&session, 0).
    if (!tigris_serve_poll(&server))
        delay(1);
}
