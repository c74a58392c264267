// The one exception type of the engine. A message names the thing, the value and what to do.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace da {

class Error : public std::runtime_error {
  public:
    // code: stable identifier "<area>.<what>", for example "model.tensor"; the areas are those of depth_anything_ros/errors.py.
    Error(std::string code, const std::string& message) : std::runtime_error(message), code_(std::move(code)) {}

    const std::string& code() const noexcept { return code_; }

  private:
    std::string code_;
};

}  // namespace da
