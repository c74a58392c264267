// Reader of GGUF files that trusts nothing: every count, length, offset and product is checked against the file's size before use.
// Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (versions 2 and 3, little-endian).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ggml.h"
#include "mapped_file.hpp"

namespace da {

// Integers of all widths are kept as int64 (a u64 beyond its range as a negative number), floats as double.
// Arrays of INT32 and FLOAT32 are kept, other arrays are passed over.
using MetadataValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int32_t>, std::vector<float>>;

// Whether a text from a file may be shown: no control characters, which steer terminals.
bool is_printable(const std::string& text);

struct TensorEntry {
    ggml_type type = GGML_TYPE_F32;
    std::array<std::int64_t, 4> ne = {1, 1, 1, 1};  // fastest first; missing dimensions are 1
    const std::uint8_t* data = nullptr;             // inside the mapping
    std::size_t bytes = 0;

    std::int64_t elements() const { return ne[0] * ne[1] * ne[2] * ne[3]; }
};

class GgufFile {
  public:
    // Throws Error("model.missing" | "model.format") with the path and the first thing that is wrong.
    explicit GgufFile(const std::string& path);

    const std::string& path() const { return path_; }
    std::size_t bytes() const { return file_.size(); }
    const std::uint8_t* mapping() const { return file_.data(); }
    const std::map<std::string, MetadataValue>& metadata() const { return metadata_; }
    const std::map<std::string, TensorEntry>& tensors() const { return tensors_; }

    // Scalars in all tensors together.
    std::int64_t elements() const;

    // Throws Error("model.format") when somebody has written into the file or cut it: weights are read where it is mapped.
    void check_unchanged() const;

    // nullptr when there is no such tensor.
    const TensorEntry* find(const std::string& name) const;

    // Takes this prefix from the parts of the names that have it ("m_vit.norm.bias", "depthanything3.m_vit.depth").
    void drop_prefix(const std::string& prefix);

  private:
    std::string path_;
    MappedFile file_;
    std::map<std::string, MetadataValue> metadata_;
    std::map<std::string, TensorEntry> tensors_;
};

}  // namespace da
