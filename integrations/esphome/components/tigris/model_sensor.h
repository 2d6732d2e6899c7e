#pragma once

#include "esphome/core/defines.h"

#ifdef USE_SENSOR

#include "network.h"

#include "esphome/components/sensor/sensor.h"
#include "esphome/core/component.h"

#ifdef USE_TIGRIS_CAMERA
// Copied into the build by sensor.py.
#include "tigris/tigris_camera.h"
#endif

#include <vector>

namespace esphome::tigris {

#ifdef USE_TIGRIS_CAMERA
struct Crop {
  uint32_t x, y, width, height;
};

/// The camera adapter with its memory, and the parts of a picture that the model sees one after the other.
struct Camera {
  tigris_camera_config config;
  uint32_t line_bytes;
  float mean, deviation;  // the model's input for a pixel's component is (component - mean) / deviation
  uint32_t *sums;
  uint32_t sums_count;
  const Crop *crops;
  uint32_t crops_count;
  tigris_camera_adapter adapter;
};
#endif

/// The state is one number of a model's output, or the place of the largest.
class ModelSensor : public sensor::Sensor, public PollingComponent {
 public:
  /// output: the place of the number; beyond the last place: the state is the place of the largest.
  ModelSensor(const Network &network, uint32_t output) : network_(network), output_(output) {}

  void setup() override;
  /// Adds the states of the sources as a row of the input, once all have one.
  void update() override;
  void dump_config() override;
  /// Before the automations that may feed it.
  float get_setup_priority() const override { return setup_priority::HARDWARE; }

  void add_source(sensor::Sensor *source) { this->sources_.push_back(source); }
  /// Adds a number to the input. The last one runs the model, and publishes the state.
  void add_value(float value);

#ifdef USE_TIGRIS_CAMERA
  void set_camera(Camera *camera) { this->camera_ = camera; }
  /// Runs the model on each crop of a picture. Several results are the decimal digits of the state.
  void feed(const uint8_t *picture, size_t bytes);
#endif

 protected:
  /// The model's result; NAN if it failed.
  float run_();

  const Network &network_;
  uint32_t output_;
  uint32_t filled_{0};
  std::vector<sensor::Sensor *> sources_;
#ifdef USE_TIGRIS_CAMERA
  Camera *camera_{nullptr};
#endif
};

}  // namespace esphome::tigris

#endif
