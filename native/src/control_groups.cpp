#include "control_groups.hpp"

#include <algorithm>
#include <fstream>
#include <limits>

namespace da {

namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

// "max", or a file that is not there, sets no limit.
std::uint64_t number_in(const std::string& path) {
    std::uint64_t value = 0;
    std::ifstream file(path);
    return file >> value ? value : kUnlimited;
}

// Sum of the named counts of a memory.stat.
std::uint64_t counts_in(const std::string& path, const std::string& first, const std::string& second) {
    std::ifstream file(path);
    std::string name;
    std::uint64_t value = 0, sum = 0;
    while (file >> name >> value) {
        if (name == first || name == second) sum += value;
    }
    return sum;
}

std::uint64_t left_of(std::uint64_t most, std::uint64_t used, std::uint64_t droppable) {
    if (most == kUnlimited || used == kUnlimited) return most;
    return most - std::min(most, used - std::min(used, droppable));
}

// mount, then the folders below it on the way to the group. In a container the group may be named as seen from outside: its own folder is
// the mount then, and the others are not there, which sets no limit.
std::vector<std::string> folders(const std::string& mount, const std::string& group) {
    std::vector<std::string> result = {mount};
    for (std::size_t end = 0; end != std::string::npos;) {
        end = group.find('/', end + 1);
        result.push_back(mount + group.substr(0, end));
    }
    return result;
}

bool names(const std::string& controllers, const std::string& wanted) {
    return ("," + controllers + ",").find("," + wanted + ",") != std::string::npos;
}

}  // namespace

ControlGroups::ControlGroups(const std::string& mounts, const std::string& membership)
    : unified_{mounts}, memory_v1_{mounts + "/memory"}, cpu_v1_{mounts + "/cpu"} {
    std::ifstream file(membership);
    for (std::string line; std::getline(file, line);) {  // "0::/group", "4:memory:/group"
        const std::size_t first = line.find(':'), second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
        if (controllers.empty()) unified_ = folders(mounts, group);
        if (names(controllers, "memory")) memory_v1_ = folders(mounts + "/memory", group);
        if (names(controllers, "cpu")) cpu_v1_ = folders(mounts + "/cpu", group);
    }
}

std::uint64_t ControlGroups::memory() const {
    std::uint64_t left = kUnlimited;
    for (const std::string& folder : unified_) {
        const std::uint64_t files = counts_in(folder + "/memory.stat", "inactive_file", "active_file");
        left = std::min(left, left_of(number_in(folder + "/memory.max"), number_in(folder + "/memory.current"), files));
    }
    for (const std::string& folder : memory_v1_) {
        const std::uint64_t files = counts_in(folder + "/memory.stat", "total_inactive_file", "total_active_file");
        left = std::min(left, left_of(number_in(folder + "/memory.limit_in_bytes"), number_in(folder + "/memory.usage_in_bytes"), files));
    }
    return left;
}

double ControlGroups::processors() const {
    double least = std::numeric_limits<double>::infinity();
    const auto bound = [&](double quota, double period) {
        if (quota > 0 && period > 0) least = std::min(least, quota / period);
    };
    for (const std::string& folder : unified_) {  // "<quota> <period>" in microseconds, or "max <period>"
        double quota = 0, period = 0;
        std::ifstream file(folder + "/cpu.max");
        if (file >> quota >> period) bound(quota, period);
    }
    for (const std::string& folder : cpu_v1_) {  // -1: none
        double quota = 0, period = 0;
        std::ifstream quota_file(folder + "/cpu.cfs_quota_us"), period_file(folder + "/cpu.cfs_period_us");
        if (quota_file >> quota && period_file >> period) bound(quota, period);
    }
    return least;
}

}  // namespace da
