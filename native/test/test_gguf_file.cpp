#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "check.hpp"
#include "depth_anything/engine.hpp"
#include "gguf_file.hpp"
#include "toy_model.hpp"

namespace {

using Bytes = std::vector<std::uint8_t>;

std::string format_error(const Bytes& bytes) {
    const toy::File file(bytes);
    return CHECK_ERROR("model.format", da::GgufFile(file.path()));
}

template <typename T>
Bytes patched(Bytes bytes, std::size_t position, T value) {
    std::memcpy(bytes.data() + position, &value, sizeof(T));
    return bytes;
}

constexpr std::size_t kTensorCount = 8, kValueCount = 16;

// Where the first tensor's record starts: found by its name.
std::size_t first_tensor(const Bytes& bytes, const std::string& name) {
    const auto found = std::search(bytes.begin(), bytes.end(), name.begin(), name.end());
    return static_cast<std::size_t>(found - bytes.begin()) + name.size();
}

}  // namespace

TEST(gguf_file, reads_what_was_written) {
    const toy::Model model = toy::any_view();
    const toy::File file(model);
    const da::GgufFile read(file.path());
    CHECK(read.tensors().size() == model.tensors.size());
    for (const toy::Tensor& tensor : model.tensors) {
        const da::TensorEntry* entry = read.find(tensor.name);
        CHECK(entry != nullptr && entry->bytes == tensor.values.size() * sizeof(float));
        CHECK(std::memcmp(entry->data, tensor.values.data(), entry->bytes) == 0);
        for (std::size_t d = 0; d < 4; ++d) CHECK(entry->ne[d] == static_cast<std::int64_t>(d < tensor.ne.size() ? tensor.ne[d] : 1));
    }
    CHECK(std::get<std::int64_t>(read.metadata().at("depthanything3.vit.embed_dim")) == 32);
    CHECK(std::get<std::vector<float>>(read.metadata().at("depthanything3.img.mean")).size() == 3);
}

TEST(gguf_file, case_65_counts_beyond_the_file) {
    const Bytes good = toy::serialise(toy::any_view());
    CHECK_CONTAINS(format_error(patched(good, kTensorCount, std::uint64_t{1} << 60)), "more than it can hold");
    CHECK_CONTAINS(format_error(patched(good, kValueCount, std::uint64_t{1} << 60)), "more than it can hold");
    CHECK_CONTAINS(format_error(patched(good, 24, std::uint64_t{1} << 60)), "metadata key");  // length of the first key
}

TEST(gguf_file, case_65_tensor_records) {
    const Bytes good = toy::serialise(toy::any_view());
    const std::size_t dims = first_tensor(good, "vit.camera_token"), extents = dims + 4, type = extents + 16, offset = type + 4;
    for (const std::uint32_t count : {0u, 5u, 1u << 31}) CHECK_CONTAINS(format_error(patched(good, dims, count)), "dimensions");
    CHECK_CONTAINS(format_error(patched(good, type, std::uint32_t{255})), "unknown type 255");
    CHECK_CONTAINS(format_error(patched(good, offset, std::uint64_t{1} << 40)), "outside of the file");
    CHECK_CONTAINS(format_error(patched(good, offset, ~std::uint64_t{31})), "outside of the file");
    CHECK_CONTAINS(format_error(patched(good, extents + 8, std::uint64_t{1} << 62)), "impossible");
    CHECK_CONTAINS(format_error(patched(good, extents + 8, (std::uint64_t{1} << 42) + 1)), "outside of the file");
    CHECK_CONTAINS(format_error(patched(good, extents + 8, std::uint64_t{1} << 20)), "outside of the file");
    CHECK_CONTAINS(format_error(patched(good, extents, std::uint64_t{0})), "extent of 0");
}

TEST(gguf_file, case_65_names_that_would_steer_a_terminal) {
    toy::Model model = toy::any_view();
    model.tensor("vit.norm.bias").name = "vit.norm\x1b[31mbias";
    CHECK_CONTAINS(format_error(toy::serialise(model)), "a tensor name with control characters");
    model = toy::any_view();
    model.set("general.\nname", std::string("toy"));
    CHECK_CONTAINS(format_error(toy::serialise(model)), "a metadata key with control characters");
}

TEST(gguf_file, names_given_twice) {
    toy::Model model = toy::any_view();
    model.tensors.push_back(model.tensors.front());
    CHECK_CONTAINS(format_error(toy::serialise(model)), "twice");
    model = toy::any_view();
    model.metadata.push_back(model.metadata.front());
    CHECK_CONTAINS(format_error(toy::serialise(model)), "twice");
}

TEST(gguf_file, case_69_what_is_no_model) {
    CHECK_ERROR("model.missing", da::GgufFile("/nowhere/model.gguf"));
    CHECK_CONTAINS(CHECK_ERROR("model.format", da::GgufFile("/")), "a folder");
    CHECK_CONTAINS(format_error({}), "empty");
    CHECK_CONTAINS(format_error({'G', 'G', 'U', 'F', 3, 0, 0, 0}), "cut or damaged");
    const auto text = [](const std::string& content) { return Bytes(content.begin(), content.end()); };
    CHECK_CONTAINS(format_error(text("<!DOCTYPE html><html><body>Not found</body></html>")), "web page");
    CHECK_CONTAINS(format_error(text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")), "LFS");
    const Bytes good = toy::serialise(toy::any_view());
    CHECK_CONTAINS(format_error(Bytes(good.begin(), good.begin() + static_cast<long>(good.size() / 2))), "cut or damaged");
    CHECK_CONTAINS(format_error(patched(good, 4, std::uint32_t{0x03000000})), "big-endian");
    CHECK_CONTAINS(format_error(patched(good, 4, std::uint32_t{7})), "version 7");
}

TEST(gguf_file, case_69_a_fifo_is_refused_at_once) {
    const toy::File place(Bytes{});
    ::unlink(place.path().c_str());
    CHECK(::mkfifo(place.path().c_str(), 0600) == 0);
    CHECK_CONTAINS(CHECK_ERROR("model.format", da::GgufFile(place.path())), "not a regular file");
}

TEST(gguf_file, case_69_cut_by_one_byte) {
    Bytes bytes = toy::serialise(toy::any_view());
    bytes.pop_back();
    CHECK_CONTAINS(format_error(bytes), "cut or damaged");
}

// Whatever a byte is changed to, loading ends in an engine that runs or in one error of the family.
TEST(gguf_file, case_65_single_byte_mutations) {
    const Bytes good = toy::serialise(toy::any_view());
    const std::size_t header = first_tensor(good, "cam.fc_fov.bias") + 64;
    std::mt19937 random(65);
    const std::vector<std::uint8_t> pixels(14 * 14 * 3, 100);
    int refused = 0;
    for (int i = 0; i < 10000; ++i) {
        Bytes bytes = good;
        const std::size_t position = random() % header;
        bytes[position] = static_cast<std::uint8_t>(random());
        const toy::File file(bytes);
        try {
            da::EngineOptions options;
            options.threads = 1;
            options.resolution = 14;
            da::Engine engine(file.path(), options);
            if (i % 50 == 0) engine.infer({pixels.data(), 14, 14, 14 * 3, da::ChannelOrder::rgb}, {});
        } catch (const da::Error&) {
            ++refused;
        }
    }
    CHECK(refused > 5000);
}
