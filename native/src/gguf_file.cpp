#include "gguf_file.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "depth_anything/error.hpp"

namespace da {

namespace {

constexpr std::uint64_t kLongestName = 4096;

enum ValueType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

// Size of a scalar value in the file, 0 for what is no scalar.
std::size_t scalar_bytes(std::uint32_t type) {
    constexpr std::size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return type < sizeof(sizes) / sizeof(sizes[0]) ? sizes[type] : 0;
}

// Walks through the bytes; every read is checked.
class Cursor {
  public:
    Cursor(const std::string& path, const std::uint8_t* data, std::size_t size) : path_(path), data_(data), size_(size) {}

    [[noreturn]] void fail(const std::string& what) const {
        throw Error("model.format", "Model file '" + path_ + "' " + what + " (at byte " + std::to_string(position_) + " of " +
                                        std::to_string(size_) + ").");
    }

    std::size_t position() const { return position_; }
    std::size_t remaining() const { return size_ - position_; }

    const std::uint8_t* take(std::uint64_t count, const char* what) {
        if (count > remaining()) {
            fail(std::string("ends in the middle of ") + what + "; it is cut or damaged, fetch it again");
        }
        const std::uint8_t* start = data_ + position_;
        position_ += count;
        return start;
    }

    template <typename T>
    T number(const char* what) {
        T value;
        std::memcpy(&value, take(sizeof(T), what), sizeof(T));
        return value;
    }

    std::string text(const char* what, std::uint64_t longest) {
        const auto length = number<std::uint64_t>(what);
        if (length > longest) {
            fail(std::string("has ") + what + " of " + std::to_string(length) + " bytes");
        }
        const std::uint8_t* start = take(length, what);
        return std::string(reinterpret_cast<const char*>(start), length);
    }

    // Of a value or a tensor: it stands in messages.
    std::string name(const char* what) {
        std::string result = text(what, kLongestName);
        if (!is_printable(result)) fail(std::string("has ") + what + " with control characters; it is damaged");
        return result;
    }

  private:
    const std::string& path_;
    const std::uint8_t* data_;
    std::size_t size_;
    std::size_t position_ = 0;
};

template <typename T>
std::vector<T> numbers(const std::uint8_t* start, std::uint64_t count) {
    std::vector<T> values(count);
    if (count > 0) std::memcpy(values.data(), start, count * sizeof(T));
    return values;
}

std::optional<MetadataValue> read_array(Cursor& cursor) {
    const auto type = cursor.number<std::uint32_t>("an array type");
    const auto count = cursor.number<std::uint64_t>("an array length");
    if (type == ValueType::string) {
        for (std::uint64_t i = 0; i < count; ++i) cursor.text("an array string", cursor.remaining());
        return std::nullopt;
    }
    const std::size_t bytes = scalar_bytes(type);
    if (bytes == 0) cursor.fail("has an array of unknown type " + std::to_string(type));
    if (count > cursor.remaining() / bytes) cursor.fail("has an array of " + std::to_string(count) + " values, more than the file holds");
    const std::uint8_t* start = cursor.take(count * bytes, "an array");
    if (type == ValueType::i32) return numbers<std::int32_t>(start, count);
    if (type == ValueType::f32) return numbers<float>(start, count);
    return std::nullopt;
}

std::optional<MetadataValue> read_value(Cursor& cursor) {
    const char* what = "a metadata value";
    const auto type = cursor.number<std::uint32_t>("a metadata type");
    const auto integer = [](auto value) { return MetadataValue(static_cast<std::int64_t>(value)); };
    switch (type) {
        case ValueType::u8:
            return integer(cursor.number<std::uint8_t>(what));
        case ValueType::i8:
            return integer(cursor.number<std::int8_t>(what));
        case ValueType::u16:
            return integer(cursor.number<std::uint16_t>(what));
        case ValueType::i16:
            return integer(cursor.number<std::int16_t>(what));
        case ValueType::u32:
            return integer(cursor.number<std::uint32_t>(what));
        case ValueType::i32:
            return integer(cursor.number<std::int32_t>(what));
        case ValueType::u64:
            return integer(cursor.number<std::uint64_t>(what));
        case ValueType::i64:
            return integer(cursor.number<std::int64_t>(what));
        case ValueType::f32:
            return MetadataValue(static_cast<double>(cursor.number<float>(what)));
        case ValueType::f64:
            return MetadataValue(cursor.number<double>(what));
        case ValueType::boolean:
            return MetadataValue(cursor.number<std::uint8_t>(what) != 0);
        case ValueType::string:
            return MetadataValue(cursor.text(what, cursor.remaining()));
        case ValueType::array:
            return read_array(cursor);
        default:
            cursor.fail("has a metadata value of unknown type " + std::to_string(type));
    }
}

void check_header(Cursor& cursor) {
    const std::uint8_t* magic = cursor.take(4, "its first four bytes");
    if (std::memcmp(magic, "GGUF", 4) != 0) {
        const bool pointer = std::memcmp(magic, "vers", 4) == 0;
        const bool page = magic[0] == '<';
        cursor.fail(std::string("is not a GGUF file") + (pointer ? ": it looks like a Git LFS pointer, fetch the file itself"
                                                         : page  ? ": it looks like a web page, check the download"
                                                                 : ""));
    }
    const auto version = cursor.number<std::uint32_t>("its version");
    if ((version & 0xffffu) == 0) cursor.fail("is big-endian; only little-endian GGUF files are read");
    if (version != 2 && version != 3) cursor.fail("has GGUF version " + std::to_string(version) + "; versions 2 and 3 are read");
}

// Bytes of a tensor of that type and extent, or nullopt when they cannot be counted in 63 bits or rows do not fill blocks.
std::optional<std::size_t> tensor_bytes(ggml_type type, const std::array<std::int64_t, 4>& ne) {
    std::uint64_t elements = 1;
    for (const std::int64_t extent : ne) {
        if (__builtin_mul_overflow(elements, static_cast<std::uint64_t>(extent), &elements)) return std::nullopt;
    }
    if (elements > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / 8) return std::nullopt;
    const auto block = static_cast<std::uint64_t>(ggml_blck_size(type));
    if (static_cast<std::uint64_t>(ne[0]) % block != 0) return std::nullopt;
    return elements / block * ggml_type_size(type);
}

struct PendingTensor {
    std::string name;
    TensorEntry entry;
    std::uint64_t offset = 0;
};

PendingTensor read_tensor(Cursor& cursor) {
    PendingTensor tensor;
    tensor.name = cursor.name("a tensor name");
    const auto dims = cursor.number<std::uint32_t>("a tensor's number of dimensions");
    if (dims < 1 || dims > 4)
        cursor.fail("has tensor '" + tensor.name + "' of " + std::to_string(dims) + " dimensions; 1 to 4 are possible");
    for (std::uint32_t d = 0; d < dims; ++d) {
        const auto extent = cursor.number<std::uint64_t>("a tensor extent");
        if (extent == 0 || extent > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
            cursor.fail("has tensor '" + tensor.name + "' with an extent of " + std::to_string(extent));
        }
        tensor.entry.ne[d] = static_cast<std::int64_t>(extent);
    }
    const auto type = cursor.number<std::uint32_t>("a tensor type");
    if (type >= GGML_TYPE_COUNT || ggml_blck_size(static_cast<ggml_type>(type)) <= 0 || ggml_type_size(static_cast<ggml_type>(type)) == 0) {
        cursor.fail("has tensor '" + tensor.name + "' of unknown type " + std::to_string(type));
    }
    tensor.entry.type = static_cast<ggml_type>(type);
    tensor.offset = cursor.number<std::uint64_t>("a tensor offset");
    const auto bytes = tensor_bytes(tensor.entry.type, tensor.entry.ne);
    if (!bytes) cursor.fail("has tensor '" + tensor.name + "' with extents that are impossible for its type");
    tensor.entry.bytes = *bytes;
    return tensor;
}

std::uint64_t alignment_of(const Cursor& cursor, const std::map<std::string, MetadataValue>& metadata) {
    constexpr std::int64_t smallest = 32;  // what the kernels need, and the default of the format
    const auto found = metadata.find("general.alignment");
    if (found == metadata.end()) return smallest;
    const auto* value = std::get_if<std::int64_t>(&found->second);
    if (value == nullptr || *value < smallest || *value > 65536 || (*value & (*value - 1)) != 0) {
        cursor.fail("has a general.alignment that is no power of two from 32 to 65536");
    }
    return static_cast<std::uint64_t>(*value);
}

}  // namespace

bool is_printable(const std::string& text) {
    return std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

GgufFile::GgufFile(const std::string& path) : path_(path), file_(path) {
    Cursor cursor(path_, file_.data(), file_.size());
    check_header(cursor);
    const auto tensor_count = cursor.number<std::uint64_t>("its tensor count");
    const auto value_count = cursor.number<std::uint64_t>("its metadata count");
    constexpr std::uint64_t smallest_value = 8 + 4 + 1, smallest_tensor = 8 + 4 + 8 + 4 + 8;
    if (value_count > cursor.remaining() / smallest_value || tensor_count > cursor.remaining() / smallest_tensor) {
        cursor.fail("claims " + std::to_string(tensor_count) + " tensors and " + std::to_string(value_count) +
                    " metadata values, more than it can hold; it is damaged");
    }
    for (std::uint64_t i = 0; i < value_count; ++i) {
        const std::string key = cursor.name("a metadata key");
        if (auto value = read_value(cursor)) {
            if (!metadata_.emplace(key, std::move(*value)).second) cursor.fail("has the metadata key '" + key + "' twice");
        }
    }
    std::vector<PendingTensor> pending;
    for (std::uint64_t i = 0; i < tensor_count; ++i) pending.push_back(read_tensor(cursor));

    const std::uint64_t alignment = alignment_of(cursor, metadata_);
    const std::uint64_t data_start = (cursor.position() + alignment - 1) / alignment * alignment;
    for (PendingTensor& tensor : pending) {
        // Writers pad every tensor, the last one too: a file without that padding has lost its end.
        const std::uint64_t room = data_start <= file_.size() ? file_.size() - data_start : 0;
        const std::uint64_t padded = (tensor.entry.bytes + alignment - 1) / alignment * alignment;
        if (tensor.offset % alignment != 0 || tensor.offset > room || padded > room - tensor.offset) {
            cursor.fail("has tensor '" + tensor.name + "' with data outside of the file; it is cut or damaged, fetch it again");
        }
        tensor.entry.data = file_.data() + data_start + tensor.offset;
        if (!tensors_.emplace(tensor.name, tensor.entry).second) cursor.fail("has the tensor '" + tensor.name + "' twice");
    }
}

std::int64_t GgufFile::elements() const {
    std::int64_t sum = 0;
    for (const auto& [name, entry] : tensors_) sum += entry.elements();
    return sum;
}

void GgufFile::check_unchanged() const {
    if (file_.changed()) {
        throw Error("model.format",
                    "Model file '" + path_ + "' was changed while it was in use; load it again, and replace files by renaming over them.");
    }
}

const TensorEntry* GgufFile::find(const std::string& name) const {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second;
}

void GgufFile::drop_prefix(const std::string& prefix) {
    const auto without = [&](const auto& named) {
        std::decay_t<decltype(named)> result;
        for (const auto& [name, value] : named) {
            const bool at_start = name.compare(0, prefix.size(), prefix) == 0;
            const std::size_t place = at_start ? 0 : name.find("." + prefix);
            std::string shorter = name;
            if (place != std::string::npos) shorter.erase(at_start ? 0 : place + 1, prefix.size());
            result.emplace(std::move(shorter), value);
        }
        return result;
    };
    metadata_ = without(metadata_);
    tensors_ = without(tensors_);
}

}  // namespace da
