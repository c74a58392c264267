#include "aligned_buffer.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace da {

namespace {

constexpr std::size_t kLine = 64, kHugePage = std::size_t{2} << 20;

}  // namespace

void prefer_huge_pages(void* start, std::size_t bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(start);
    const std::uintptr_t first = (address + kHugePage - 1) / kHugePage * kHugePage, end = (address + bytes) / kHugePage * kHugePage;
    // Only advice: a system without them uses small pages.
    if (end > first) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

AlignedFloats::AlignedFloats(std::size_t count) {
    const std::size_t bytes = (count * sizeof(float) + kLine - 1) / kLine * kLine;
    void* values = nullptr;
    if (::posix_memalign(&values, bytes < kHugePage ? kLine : kHugePage, bytes) != 0) throw std::bad_alloc();
    values_.reset(static_cast<float*>(values));
    prefer_huge_pages(values, bytes);
}

void AlignedFloats::Free::operator()(float* values) const {
    std::free(values);
}

}  // namespace da
