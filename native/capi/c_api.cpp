// The C face: conversion only. Every function is a fence that no exception passes.
#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "depth_anything/depth_anything.h"
#include "depth_anything/engine.hpp"
#include "depth_anything/error.hpp"

struct da_engine {
    da::Engine engine;
    da_model_info info;
};

namespace {

// What the pointers of the face point into.
struct OwnedPrediction : da_prediction {
    da::Prediction values;
    std::array<float, 4> pinhole{};
    da_gaussians splats{};
};

template <std::size_t size>
void copy_text(char (&target)[size], const char* text) noexcept {
    std::size_t length = std::strlen(text);
    if (length >= size) {
        length = size - 1;
        while (length > 0 && (text[length] & 0xC0) == 0x80) --length;  // not within a character of UTF-8
    }
    std::memcpy(target, text, length);
    target[length] = '\0';
}

da_status report(da_error* error, da_status status, const char* code, const char* text) noexcept {
    if (error != nullptr) {
        copy_text(error->code, code);
        copy_text(error->text, text);
    }
    return status;
}

da_status status_of(const std::string& code) noexcept {
    constexpr std::pair<const char*, da_status> areas[] = {{"model.", DA_ERROR_MODEL},
                                                           {"device.", DA_ERROR_DEVICE},
                                                           {"input.", DA_ERROR_INPUT},
                                                           {"option.", DA_ERROR_OPTION},
                                                           {"engine.cancelled", DA_ERROR_CANCELLED}};
    for (const auto& [area, status] : areas) {
        if (code.rfind(area, 0) == 0) return status;
    }
    return DA_ERROR_UNEXPECTED;
}

template <class Action>
da_status guarded(da_error* error, const Action& action) noexcept {
    try {
        action();
        return report(error, DA_OK, "", "");
    } catch (const da::Error& failure) {
        return report(error, status_of(failure.code()), failure.code().c_str(), failure.what());
    } catch (const std::bad_alloc&) {
        return report(error, DA_ERROR_DEVICE, "device.memory", "The memory does not suffice.");
    } catch (const std::exception& failure) {
        return report(error, DA_ERROR_UNEXPECTED, "unexpected", failure.what());
    } catch (...) {
        return report(error, DA_ERROR_UNEXPECTED, "unexpected", "An exception of an unknown type.");
    }
}

void require(const void* argument, const char* name) {
    if (argument == nullptr) throw da::Error("option.null", std::string("The argument '") + name + "' is NULL; it must be given.");
}

template <class Options>
Options given_or(const Options* given, const Options& defaults) {
    if (given == nullptr) return defaults;
    if (given->size != sizeof(Options)) {
        throw da::Error("option.range", "The member 'size' of the options is " + std::to_string(given->size) + ", must be " +
                                            std::to_string(sizeof(Options)) + "; start from the _INIT macro of this version's header.");
    }
    return *given;
}

da_depth_kind kind_of(da::DepthKind kind) {
    switch (kind) {
        case da::DepthKind::metric:
            return DA_METRIC;
        case da::DepthKind::relative_inverse_depth:
            return DA_RELATIVE_INVERSE_DEPTH;
        default:
            return DA_RELATIVE_DEPTH;
    }
}

da_model_info info_of(const da::ModelInfo& info) {
    return {info.checkpoint.c_str(), info.architecture.c_str(), info.license.c_str(), info.device.c_str(),   kind_of(info.kind),
            info.needs_focal,        info.has_confidence,       info.has_sky,         info.has_pose,         info.patch_size,
            info.parameters,         info.file_bytes,           info.has_rays,        info.has_pose_encoder, info.has_gaussians};
}

da::EngineOptions engine_options(const da_engine_options& options) {
    da::EngineOptions result;
    result.threads = options.threads;
    if (options.device != nullptr) result.device = options.device;
    result.resolution = options.resolution;
    result.cached_sizes = options.cached_sizes;
    result.memory_limit = options.memory_limit;
    if (options.metric_model != nullptr) result.metric_model = options.metric_model;
    result.exact = options.exact != 0;
    return result;
}

da::ImageView view_of(const da_image& image) {
    if (image.order != DA_RGB && image.order != DA_BGR) {
        throw da::Error("input.encoding", "The channel order is " + std::to_string(image.order) + ", must be DA_RGB or DA_BGR.");
    }
    const std::ptrdiff_t row_bytes = image.row_bytes != 0 ? image.row_bytes : 3 * static_cast<std::ptrdiff_t>(image.width);
    return {image.pixels, image.width, image.height, row_bytes, image.order == DA_RGB ? da::ChannelOrder::rgb : da::ChannelOrder::bgr};
}

da::KnownCamera camera_of(const da_known_camera& camera) {
    da::KnownCamera result;
    std::copy(std::begin(camera.extrinsics), std::end(camera.extrinsics), result.extrinsics.begin());
    result.fx = camera.fx;
    result.fy = camera.fy;
    result.cx = camera.cx;
    result.cy = camera.cy;
    return result;
}

da::InferOptions infer_options(const da_infer_options& options, std::size_t pictures) {
    da::InferOptions result;
    if (options.fx != 0 || options.fy != 0) result.focal = da::FocalLength{options.fx, options.fy};
    result.confidence = options.confidence != 0;
    result.sky = options.sky != 0;
    result.pose = options.pose != 0;
    result.fill_sky = options.fill_sky != 0;
    result.ray_pose = options.ray_pose != 0;
    result.gaussians = options.gaussians != 0;
    result.seed = options.seed;
    if (options.cameras != nullptr)
        std::transform(options.cameras, options.cameras + pictures, std::back_inserter(result.cameras), camera_of);
    return result;
}

const float* data_or_null(const std::optional<da::Map>& map) {
    return map ? map->values.data() : nullptr;
}

std::unique_ptr<OwnedPrediction> owned(da::Prediction values) {
    auto result = std::make_unique<OwnedPrediction>();
    result->values = std::move(values);
    const da::Prediction& from = result->values;
    result->kind = kind_of(from.kind);
    result->width = from.depth.size.width;
    result->height = from.depth.size.height;
    result->depth = from.depth.values.data();
    result->confidence = data_or_null(from.confidence);
    result->sky = data_or_null(from.sky);
    if (const auto& k = from.intrinsics) result->pinhole = {k->fx, k->fy, k->cx, k->cy};
    result->intrinsics = from.intrinsics ? result->pinhole.data() : nullptr;
    result->extrinsics = from.extrinsics ? from.extrinsics->data() : nullptr;
    result->scale_factor = from.scale_factor ? &*from.scale_factor : nullptr;
    if (const auto& g = from.gaussians) {
        result->splats = {kind_of(g->kind),    g->opacities.size(), g->means.data(),    g->scales.data(),
                          g->rotations.data(), g->harmonics.data(), g->opacities.data()};
        result->gaussians = &result->splats;
    }
    result->preprocess_seconds = from.timings.preprocess;
    result->compute_seconds = from.timings.compute;
    result->postprocess_seconds = from.timings.postprocess;
    return result;
}

}  // namespace

int da_abi_version(void) {
    return DA_ABI_VERSION;
}

const char* da_version(void) {
    return DA_VERSION;
}

da_status da_engine_load(const char* path, const da_engine_options* options, da_engine** engine, da_error* error) {
    if (engine != nullptr) *engine = nullptr;
    return guarded(error, [&] {
        require(path, "path");
        require(engine, "engine");
        const da_engine_options chosen = given_or<da_engine_options>(options, DA_ENGINE_OPTIONS_INIT);
        da::Engine loaded(path, engine_options(chosen));
        *engine = new da_engine{std::move(loaded), {}};
        (*engine)->info = info_of((*engine)->engine.info());
    });
}

void da_engine_free(da_engine* engine) {
    delete engine;
}

const da_model_info* da_engine_info(const da_engine* engine) {
    return engine != nullptr ? &engine->info : nullptr;
}

da_status da_engine_processed_size(const da_engine* engine, int width, int height, int* processed_width, int* processed_height,
                                   da_error* error) {
    return guarded(error, [&] {
        require(engine, "engine");
        require(processed_width, "processed_width");
        require(processed_height, "processed_height");
        const da::Size size = engine->engine.processed_size({width, height});
        *processed_width = size.width;
        *processed_height = size.height;
    });
}

da_status da_engine_infer(da_engine* engine, const da_image* image, const da_infer_options* options, da_prediction** prediction,
                          da_error* error) {
    if (prediction != nullptr) *prediction = nullptr;
    return guarded(error, [&] {
        require(engine, "engine");
        require(image, "image");
        require(prediction, "prediction");
        const da_infer_options chosen = given_or<da_infer_options>(options, DA_INFER_OPTIONS_INIT);
        *prediction = owned(engine->engine.infer(view_of(*image), infer_options(chosen, 1))).release();
    });
}

da_status da_engine_infer_views(da_engine* engine, const da_image* images, size_t count, const da_infer_options* options,
                                da_prediction** predictions, da_error* error) {
    if (predictions != nullptr) std::fill_n(predictions, count, nullptr);
    return guarded(error, [&] {
        require(engine, "engine");
        require(images, "images");
        require(predictions, "predictions");
        const da_infer_options chosen = given_or<da_infer_options>(options, DA_INFER_OPTIONS_INIT);
        std::vector<da::ImageView> views;
        std::transform(images, images + count, std::back_inserter(views), view_of);
        std::vector<std::unique_ptr<OwnedPrediction>> results;
        for (da::Prediction& values : engine->engine.infer_views(views, infer_options(chosen, count)))
            results.push_back(owned(std::move(values)));
        // Given away when nothing can fail any more.
        std::transform(results.begin(), results.end(), predictions, [](auto& result) { return result.release(); });
    });
}

void da_prediction_free(da_prediction* prediction) {
    delete static_cast<OwnedPrediction*>(prediction);
}

da_status da_engine_cancel(da_engine* engine, da_error* error) {
    return guarded(error, [&] {
        require(engine, "engine");
        engine->engine.cancel();
    });
}
