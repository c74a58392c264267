// Floats that begin on a cache line, in huge pages where the system has them to give: the kernels walk many rows at a time.
#pragma once

#include <cstddef>
#include <memory>

namespace da {

// Asks for huge pages in [start, start + bytes), memory that has not been touched yet.
void prefer_huge_pages(void* start, std::size_t bytes);

class AlignedFloats {
  public:
    AlignedFloats() = default;
    explicit AlignedFloats(std::size_t count);  // not initialised; throws std::bad_alloc

    float* data() const { return values_.get(); }

  private:
    struct Free {
        void operator()(float* values) const;
    };
    std::unique_ptr<float[], Free> values_;
};

}  // namespace da
