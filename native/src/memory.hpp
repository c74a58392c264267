// How much memory this process may still take.
#pragma once

#include <cstdint>
#include <string>

namespace da {

// Bytes available to the process: the smaller of the machine's and its control groups'; the largest value where neither can be read.
std::uint64_t available_memory();

// Throws Error("device.memory") when `needed` is more than `limit` (0: available_memory()). `what` names the need, for the message.
void require_memory(const std::string& what, std::uint64_t needed, std::uint64_t limit);

}  // namespace da
