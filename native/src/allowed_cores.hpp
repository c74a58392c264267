// How many processors this process may use.
#pragma once

namespace da {

constexpr int kMostThreads = 256;

// Affinity mask and control groups' quota, 1 to kMostThreads.
int allowed_cores();

}  // namespace da
