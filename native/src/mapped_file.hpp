// A read-only memory-mapped regular file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <utility>

namespace da {

class MappedFile {
  public:
    // Throws Error("model.missing") when the file is not there or may not be read, "model.format" when it is no regular file or empty.
    explicit MappedFile(const std::string& path);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept
        : file_(std::exchange(other.file_, -1)),
          data_(std::exchange(other.data_, nullptr)),
          size_(other.size_),
          modified_(other.modified_) {}
    MappedFile& operator=(MappedFile&&) = delete;

    const std::uint8_t* data() const { return data_; }
    std::size_t size() const { return size_; }

    // Whether somebody has written into the file or cut it since it was opened; one that was replaced by another is still itself.
    bool changed() const;

  private:
    int file_ = -1;
    const std::uint8_t* data_ = nullptr;
    std::size_t size_ = 0;
    timespec modified_ = {};
};

}  // namespace da
