#pragma once

#include "esphome/components/microphone/microphone.h"
#include "esphome/core/component.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace esphome::recording {

/// Plays 1,234 bytes at a time, so that chunks and rows of features end at different samples.
class Recording : public microphone::Microphone, public Component {
 public:
  explicit Recording(const char *path) : path_(path) {
    this->audio_stream_info_ = audio::AudioStreamInfo(16, 1, 16000);
  }
  void setup() override { this->file_ = std::fopen(this->path_, "rb"); }
  void start() override {
    if (this->file_ == nullptr)
      std::abort();  // as a real microphone before its setup
    this->state_ = microphone::STATE_RUNNING;
  }
  void stop() override { this->state_ = microphone::STATE_STOPPED; }
  uint32_t position() const { return this->position_; }
  void loop() override {
    if (!this->is_running())
      return;
    std::vector<uint8_t> data(1234);
    data.resize(std::fread(data.data(), 1, data.size(), this->file_));
    if (data.empty())
      std::exit(0);
    this->position_ += data.size() / 2;
    this->data_callbacks_.call(data);
  }

 protected:
  const char *path_;
  std::FILE *file_{nullptr};
  uint32_t position_{0};  // samples played
};

}  // namespace esphome::recording
