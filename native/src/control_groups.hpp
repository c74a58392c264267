// What the control groups of this process leave it: in a container, and in a service of systemd with MemoryMax or CPUQuota. Versions 1 and
// 2 (Linux, Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace da {

class ControlGroups {
  public:
    // mounts: where the hierarchies are mounted; membership: which groups the process is in. What cannot be read sets no limit.
    explicit ControlGroups(const std::string& mounts = "/sys/fs/cgroup", const std::string& membership = "/proc/self/cgroup");

    // Bytes that the process may still take; the largest number without a limit. Pages of files that the kernel would drop count as free.
    std::uint64_t memory() const;

    // Processors that the quota is worth; infinity without one.
    double processors() const;

  private:
    // Folders of the process's group and of all above it, which bind it too.
    std::vector<std::string> unified_;  // version 2
    std::vector<std::string> memory_v1_, cpu_v1_;
};

}  // namespace da
