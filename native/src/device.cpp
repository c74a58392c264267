#include "device.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

#include "depth_anything/error.hpp"
#include "ggml-backend.h"
#include "ggml-cpu.h"

namespace da {

namespace {

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(' ');
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    std::size_t start = 0;
    while (true) {
        const std::size_t comma = text.find(',', start);
        parts.push_back(trimmed(text.substr(start, comma - start)));
        if (comma == std::string::npos) return parts;
        start = comma + 1;
    }
}

bool is_gpu(ggml_backend_dev_t device) {
    const auto type = ggml_backend_dev_type(device);
    return type == GGML_BACKEND_DEVICE_TYPE_GPU || type == GGML_BACKEND_DEVICE_TYPE_IGPU;
}

std::string kind_of(ggml_backend_dev_t device) {
    return lower(ggml_backend_reg_name(ggml_backend_dev_backend_reg(device)));
}

// "cuda" is the first of its kind, "cuda:1" the second; nullptr where there is none.
ggml_backend_dev_t find_gpu(const std::string& wanted) {
    const std::size_t colon = wanted.find(':');
    const std::string kind = wanted.substr(0, colon), number = colon == std::string::npos ? "0" : wanted.substr(colon + 1);
    if (number.empty() || number.size() > 2 || !std::all_of(number.begin(), number.end(), [](unsigned char c) { return std::isdigit(c); }))
        return nullptr;
    int left = std::stoi(number);
    for (std::size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        ggml_backend_dev_t device = ggml_backend_dev_get(i);
        if (is_gpu(device) && kind_of(device) == kind && left-- == 0) return device;
    }
    return nullptr;
}

std::string available() {
    std::string names = "cpu, ggml";
    for (std::size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        ggml_backend_dev_t device = ggml_backend_dev_get(i);
        if (is_gpu(device)) names += ", " + kind_of(device) + " (" + ggml_backend_dev_description(device) + ")";
    }
    return names;
}

std::optional<Device> open(const std::string& wanted) {
    if (wanted == "cpu" || wanted == "ggml") return Device{wanted, wanted == "cpu", ggml_backend_ptr(ggml_backend_cpu_init())};
    ggml_backend_dev_t gpu = find_gpu(wanted);
    if (gpu == nullptr) return std::nullopt;
    const std::string name = ggml_backend_dev_name(gpu);
    return Device{name + " (" + ggml_backend_dev_description(gpu) + ")", false, ggml_backend_ptr(ggml_backend_dev_init(gpu, nullptr))};
}

}  // namespace

Device open_device(const std::string& wanted) {
    for (const std::string& one : split(wanted)) {
        std::optional<Device> device = open(one);
        if (device && device->backend != nullptr) return std::move(*device);
    }
    throw Error("device.unavailable", "Device '" + wanted + "' is not there; this build on this machine has: " + available() + ".");
}

}  // namespace da
