#include "memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>

#include "depth_anything/error.hpp"

namespace da {

namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

std::uint64_t read_number(const char* path) {
    std::uint64_t value = 0;
    std::ifstream file(path);
    return file >> value ? value : kUnlimited;
}

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

std::uint64_t cgroup_available() {
    const std::uint64_t most =
        std::min(read_number("/sys/fs/cgroup/memory.max"), read_number("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
    if (most == kUnlimited) return kUnlimited;
    const std::uint64_t used =
        std::min(read_number("/sys/fs/cgroup/memory.current"), read_number("/sys/fs/cgroup/memory/memory.usage_in_bytes"));
    return used == kUnlimited ? most : most - std::min(most, used);
}

std::string mebibytes(std::uint64_t bytes) {
    return std::to_string((bytes + (1u << 20) - 1) >> 20) + " MiB";
}

}  // namespace

std::uint64_t available_memory() {
    return std::min(machine_available(), cgroup_available());
}

void require_memory(const std::string& what, std::uint64_t needed, std::uint64_t limit) {
    const std::uint64_t available = limit != 0 ? limit : available_memory();
    if (needed > available) {
        throw Error("device.memory", what + " needs about " + mebibytes(needed) + " of memory, " + mebibytes(available) +
                                         (limit != 0 ? " are allowed by memory_limit" : " are available") +
                                         "; take a smaller or quantised model, or a lower resolution.");
    }
}

}  // namespace da
