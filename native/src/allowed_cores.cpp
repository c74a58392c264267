#include "allowed_cores.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "control_groups.hpp"

namespace da {

namespace {

int affinity_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) return static_cast<int>(std::thread::hardware_concurrency());
    return CPU_COUNT(&set);
}

}  // namespace

int allowed_cores() {
    const double quota = std::ceil(ControlGroups().processors());
    return std::clamp(static_cast<int>(std::min<double>(affinity_cores(), quota)), 1, kMostThreads);
}

}  // namespace da
