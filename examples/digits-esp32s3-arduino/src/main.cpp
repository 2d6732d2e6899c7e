// Serves inference of the digits network on the serial line.
#include <Arduino.h>

#include <tigris_models.h>
#include <tigris_serve.h>

TIGRIS_MODEL_DIGITS_ARENAS(arenas);
static tigris_plan plan;
static tigris_session session;
static tigris_serve_counts profile[TIGRIS_MODEL_DIGITS_OPS];
static tigris_serve_model model;
static tigris_serve server;

static size_t line_read(void *, uint8_t *data, size_t bytes)
{
    return Serial.available() > 0 ? Serial.read(data, bytes) : 0;
}

static void line_write(void *, const uint8_t *data, size_t bytes)
{
    Serial.write(data, bytes);
}

static uint32_t microseconds(void *)
{
    return static_cast<uint32_t>(micros());
}

static const tigris_serve_transport line = {line_read, line_write, nullptr};
static const tigris_serve_board board = {"esp32s3", microseconds, nullptr, 1000000U, "us", 0U};

static tigris_status open_model()
{
    const tigris_status status = tigris_model_open(&TIGRIS_MODEL_DIGITS, &plan);
    if (status != TIGRIS_OK)
        return status;
    return tigris_session_init(&session, &plan, &arenas, nullptr);
}

void setup()
{
    Serial.setRxBufferSize(1024);
    Serial.begin(115200);
    model.status = open_model();
    model.plan = &plan;
    model.session = &session;
    model.arenas = &arenas;
    model.profile = profile;
    model.profile_count = TIGRIS_MODEL_DIGITS_OPS;
    Serial.printf("%s: %s\n", TIGRIS_MODEL_DIGITS.name, tigris_status_text(model.status));
    tigris_serve_init(&server, &line, &board, &model, 1);
}

void loop()
{
    if (!tigris_serve_poll(&server))
        delay(1);
}
