// What must hold for any bytes: each target ends by itself, in a result (true) or in one da::Error (false). Run by libFuzzer (`make fuzz`)
// and by test_fuzz.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fuzz {

// A GGUF file of these bytes: container and metadata. Every byte of every tensor is touched.
bool read_gguf(const std::uint8_t* data, std::size_t size);

// A model file that starts with these bytes and goes on with zeros, so that inputs stay small: it is loaded and, if possible, run.
bool load_model(const std::uint8_t* header, std::size_t size);

}  // namespace fuzz
