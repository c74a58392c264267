// Limits of control groups, read from folders that look like the kernel's.
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "check.hpp"
#include "control_groups.hpp"

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

// A folder that is gone with the object.
class Folder {
  public:
    Folder() {
        std::string name = (fs::temp_directory_path() / "control-groups-XXXXXX").string();
        CHECK(::mkdtemp(name.data()) != nullptr);
        root_ = name;
    }
    ~Folder() { fs::remove_all(root_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    void write(const std::string& path, const std::string& text) const {
        fs::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << text;
    }
    da::ControlGroups groups() const { return da::ControlGroups((root_ / "mounts").string(), (root_ / "membership").string()); }

  private:
    fs::path root_;
};

}  // namespace

TEST(control_groups, without_any_there_is_no_limit) {
    const da::ControlGroups none("/nowhere", "/nowhere");
    CHECK(none.memory() == kUnlimited && std::isinf(none.processors()));
    CHECK(da::ControlGroups().memory() > 0 && da::ControlGroups().processors() > 0);
}

TEST(control_groups, of_a_container) {
    const Folder folder;
    folder.write("membership", "0::/\n");
    folder.write("mounts/memory.max", "1000000\n");
    folder.write("mounts/memory.current", "900000\n");
    CHECK(folder.groups().memory() == 100000);
    folder.write("mounts/cpu.max", "150000 100000\n");
    CHECK(folder.groups().processors() == 1.5);
    folder.write("mounts/memory.max", "max\n");
    folder.write("mounts/cpu.max", "max 100000\n");
    CHECK(folder.groups().memory() == kUnlimited && std::isinf(folder.groups().processors()));
}

// A bag or a model that was read fills the group with pages that the kernel drops when they are needed.
TEST(control_groups, pages_of_files_count_as_free) {
    const Folder folder;
    folder.write("membership", "0::/\n");
    folder.write("mounts/memory.max", "1000000\n");
    folder.write("mounts/memory.current", "990000\n");
    folder.write("mounts/memory.stat", "anon 80000\nfile 900000\ninactive_file 700000\nactive_file 200000\nunevictable 0\n");
    CHECK(folder.groups().memory() == 910000);
}

// A service of systemd: its limits stand in its own folder and in those above it, not in the first.
TEST(control_groups, of_a_service_and_of_the_groups_above_it) {
    const Folder folder;
    folder.write("membership", "0::/robot.slice/depth.service\n");
    folder.write("mounts/robot.slice/memory.max", "500000\n");
    folder.write("mounts/robot.slice/memory.current", "450000\n");
    folder.write("mounts/robot.slice/cpu.max", "400000 100000\n");
    folder.write("mounts/robot.slice/depth.service/memory.max", "300000\n");
    folder.write("mounts/robot.slice/depth.service/memory.current", "100000\n");
    folder.write("mounts/robot.slice/depth.service/cpu.max", "100000 100000\n");
    CHECK(folder.groups().memory() == 50000 && folder.groups().processors() == 1.0);
}

TEST(control_groups, of_version_1) {
    const Folder folder;
    folder.write("membership", "4:memory:/docker/a\n3:cpu,cpuacct:/docker/a\n1:name=systemd:/docker/a\n");
    folder.write("mounts/memory/memory.limit_in_bytes", "1000\n");  // as seen from inside of the container
    folder.write("mounts/memory/memory.usage_in_bytes", "900\n");
    folder.write("mounts/memory/memory.stat", "inactive_file 5\ntotal_inactive_file 300\ntotal_active_file 100\n");
    folder.write("mounts/cpu/cpu.cfs_quota_us", "50000\n");
    folder.write("mounts/cpu/cpu.cfs_period_us", "100000\n");
    CHECK(folder.groups().memory() == 500 && folder.groups().processors() == 0.5);
    folder.write("mounts/cpu/cpu.cfs_quota_us", "-1\n");
    CHECK(std::isinf(folder.groups().processors()));
}
