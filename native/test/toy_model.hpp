// Writes small GGUF files of the true architecture, whole or damaged on purpose. A second implementation of the layout, apart from the
// converter.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace toy {

using Value = std::variant<std::uint32_t, std::int32_t, float, bool, std::string, std::vector<std::int32_t>, std::vector<float>>;

struct Tensor {
    std::string name;
    std::vector<std::uint64_t> ne;
    std::uint32_t type = 0;  // GGML_TYPE_F32
    std::vector<float> values;
};

struct Model {
    std::vector<std::pair<std::string, Value>> metadata;
    std::vector<Tensor> tensors;

    void set(const std::string& key, Value value);
    void remove(const std::string& key);
    Tensor& tensor(const std::string& name);
    void remove_tensor(const std::string& name);
};

// Seeded weights that make the output depend on every part.
Model any_view(int depth = 4, int embed_dim = 32, int num_heads = 2);
Model swiglu();  // any_view with gated feed-forward blocks
// any_view with rays, the encoder of known cameras and the head of Gaussians.
Model complete(int embed_dim = 32, int num_heads = 2);
Model mono();

std::vector<std::uint8_t> serialise(const Model& model);

// A file that is gone with the object.
class File {
  public:
    explicit File(const std::vector<std::uint8_t>& bytes);
    explicit File(const Model& model) : File(serialise(model)) {}
    ~File();
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

}  // namespace toy
