#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace esphome::tigris {

/// An input or output in the arena: real = (stored - zero_point) * scale.
struct Tensor {
  void *data;
  uint32_t elements;
  uint32_t element_bytes;
  float scale;
  int32_t zero_point;
  bool halves_to_even;
  void (*store)(const Tensor &tensor, uint32_t index, float real);
  float (*load)(const Tensor &tensor, uint32_t index);
};

template<typename T> void store(const Tensor &tensor, uint32_t index, float real) {
  auto *data = static_cast<T *>(tensor.data);
  if constexpr (std::is_floating_point_v<T>) {
    data[index] = real;
  } else {
    const float steps = real / tensor.scale;
    const float stored = (tensor.halves_to_even ? std::nearbyint(steps) : std::round(steps)) + tensor.zero_point;
    data[index] = std::fmin(std::fmax(stored, std::numeric_limits<T>::min()), std::numeric_limits<T>::max());
  }
}

template<typename T> float load(const Tensor &tensor, uint32_t index) {
  return (static_cast<const T *>(tensor.data)[index] - tensor.zero_point) * tensor.scale;
}

/// A model as C: its input and output in its arena, and its functions, which return 0 or a negative reason.
struct Network {
  Tensor input, output;
  int (*run)();
  int (*reset)();
};

}  // namespace esphome::tigris
