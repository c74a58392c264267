#include "mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "depth_anything/error.hpp"

namespace da {

namespace {

class Descriptor {
  public:
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }

  private:
    int fd_;
};

}  // namespace

MappedFile::MappedFile(const std::string& path) {
    // O_NONBLOCK: opening a FIFO must not wait for a writer.
    Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) {
        throw Error("model.missing", "Model file '" + path + "' cannot be opened: " + std::strerror(errno) + ".");
    }
    struct stat status = {};
    if (::fstat(file.get(), &status) != 0) {
        throw Error("model.missing", "Model file '" + path + "' cannot be examined: " + std::strerror(errno) + ".");
    }
    if (!S_ISREG(status.st_mode)) {
        throw Error("model.format", "Model path '" + path + "' is " + (S_ISDIR(status.st_mode) ? "a folder" : "not a regular file") +
                                        "; give the path of a GGUF file.");
    }
    if (status.st_size == 0) {
        throw Error("model.format", "Model file '" + path + "' is empty; the download may have failed.");
    }
    size_ = static_cast<std::size_t>(status.st_size);
    void* memory = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.get(), 0);
    if (memory == MAP_FAILED) {
        throw Error("model.missing", "Model file '" + path + "' cannot be mapped: " + std::strerror(errno) + ".");
    }
    data_ = static_cast<const std::uint8_t*>(memory);
    modified_ = status.st_mtim;
    file_ = file.release();
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<std::uint8_t*>(data_), size_);
    if (file_ >= 0) ::close(file_);
}

bool MappedFile::changed() const {
    struct stat status = {};
    if (::fstat(file_, &status) != 0) return true;
    return static_cast<std::size_t>(status.st_size) != size_ || status.st_mtim.tv_sec != modified_.tv_sec ||
           status.st_mtim.tv_nsec != modified_.tv_nsec;
}

}  // namespace da
