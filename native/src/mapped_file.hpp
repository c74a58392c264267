// A read-only memory-mapped regular file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace da {

class MappedFile {
  public:
    // Throws Error("model.missing") when the file is not there or may not be read, "model.format" when it is no regular file or empty.
    explicit MappedFile(const std::string& path);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
    MappedFile& operator=(MappedFile&&) = delete;

    const std::uint8_t* data() const { return data_; }
    std::size_t size() const { return size_; }

  private:
    const std::uint8_t* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace da
