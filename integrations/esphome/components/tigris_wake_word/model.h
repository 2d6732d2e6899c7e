#pragma once

#include "esphome/components/tigris/network.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

namespace esphome::tigris_wake_word {

/// Numbers of a row of features.
static constexpr uint32_t FEATURES = 40;
/// Rows of low probability that must precede a detection: after the start, and after the detection before.
static constexpr uint8_t QUIET_ROWS = 100;

/// The result of a row of features, as the main loop reads it.
enum Event : uint8_t { NONE, HEARD, HEARD_WITHOUT_VOICE };

/// A network and the sliding window of its probabilities, 0 to 255. One task feeds it; all others may enable it.
class Model {
 public:
  Model(const tigris::Network &network, const char *wake_word, uint8_t cutoff, uint8_t *window, uint8_t window_size)
      : network_(network), wake_word_(wake_word), cutoff_(cutoff), window_(window), window_size_(window_size) {}

  const char *get_wake_word() const { return this->wake_word_; }
  float get_cutoff() const { return this->cutoff_ / 255.0f; }
  uint8_t get_window_size() const { return this->window_size_; }

  void enable() { this->is_enabled_ = true; }
  void disable() { this->is_enabled_ = false; }
  bool is_enabled() const { return this->is_enabled_; }

  /// Makes the next row the first of a stream.
  void restart() { this->is_fresh_ = true; }

  /// Forgets the probabilities, so that a word is detected once.
  void forget() {
    std::fill_n(this->window_, this->window_size_, 0);
    this->quiet_rows_ = 0;
  }

  /// Takes a row of features. Returns true if it completed an input and the network could hear its word in it.
  bool add_row(const int8_t row[FEATURES]) {
    if (!this->is_enabled_) {
      this->restart();
      return false;
    }
    if (this->is_fresh_) {
      this->is_fresh_ = false;
      this->network_.reset();
      this->forget();
      this->filled_ = 0;
    }
    std::memcpy(static_cast<int8_t *>(this->network_.input.data) + this->filled_, row, FEATURES);
    this->filled_ += FEATURES;
    const bool is_complete = this->filled_ == this->network_.input.elements;
    if (is_complete) {
      this->filled_ = 0;
      this->run_();
    }
    if (this->window_[this->latest_] < this->cutoff_ && this->quiet_rows_ < QUIET_ROWS)
      this->quiet_rows_++;
    return is_complete && this->quiet_rows_ == QUIET_ROWS && this->is_above_cutoff();
  }

  /// Reports a detection to the main loop, which takes it once.
  void report(Event event) { this->event_ = event; }
  Event take_event() { return this->event_.exchange(NONE); }

  bool is_above_cutoff() const {
    uint32_t sum = 0;
    for (uint8_t i = 0; i < this->window_size_; i++)
      sum += this->window_[i];
    return sum > uint32_t{this->cutoff_} * this->window_size_;
  }

 protected:
  void run_() {
    const tigris::Tensor &output = this->network_.output;
    this->latest_ = (this->latest_ + 1) % this->window_size_;
    this->window_[this->latest_] =
        this->network_.run() == 0 ? *static_cast<const int8_t *>(output.data) - output.zero_point : 0;
  }

  const tigris::Network &network_;
  const char *wake_word_;
  uint8_t cutoff_;
  uint8_t *window_;
  uint8_t window_size_;
  uint8_t latest_{0};      // the place of the latest probability in the window
  uint8_t quiet_rows_{0};
  uint32_t filled_{0};     // numbers in the input
  bool is_fresh_{true};
  std::atomic<bool> is_enabled_{true};
  std::atomic<Event> event_{NONE};
};

}  // namespace esphome::tigris_wake_word
