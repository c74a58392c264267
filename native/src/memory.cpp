#include "memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>

#include "control_groups.hpp"
#include "depth_anything/error.hpp"

namespace da {

namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

// /proc/meminfo counts in KiB.
std::uint64_t machine_available() {
    std::ifstream file("/proc/meminfo");
    std::string key, unit;
    std::uint64_t kib = 0;
    while (file >> key >> kib) {
        std::getline(file, unit);
        if (key == "MemAvailable:") return kib * 1024;
    }
    return kUnlimited;
}

std::string mebibytes(std::uint64_t bytes) {
    return std::to_string((bytes + (1u << 20) - 1) >> 20) + " MiB";
}

}  // namespace

std::uint64_t available_memory() {
    return std::min(machine_available(), ControlGroups().memory());
}

void require_memory(const std::string& what, std::uint64_t needed, std::uint64_t limit) {
    const std::uint64_t available = limit != 0 ? limit : available_memory();
    if (needed > available) {
        throw Error("device.memory", what + " needs about " + mebibytes(needed) + " of memory, " + mebibytes(available) +
                                         (limit != 0 ? " are left of memory_limit" : " are available") +
                                         "; take a smaller or quantised model, or a lower resolution.");
    }
}

}  // namespace da
