// The extension depth_anything_ros._native: registration and conversion only. Python's own face is depth_anything_ros.engine.
#include <ggml.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>

#include "depth_anything/engine.hpp"
#include "ndarray.hpp"
#include "quantize.hpp"

namespace da::python {

namespace {

// Text from files may not be UTF-8.
py::str text(const std::string& bytes) {
    return py::reinterpret_steal<py::str>(PyUnicode_DecodeUTF8(bytes.data(), static_cast<py::ssize_t>(bytes.size()), "replace"));
}

// The class is chosen by depth_anything_ros.errors, the only place that knows the family.
void raise(const Error& error) {
    const py::object type = py::module_::import("depth_anything_ros.errors").attr("error_class")(error.code());
    const py::object instance = type(error.code(), text(error.what()));
    PyErr_SetObject(type.ptr(), instance.ptr());
}

py::dict info_dict(const ModelInfo& info) {
    py::dict result;
    result["path"] = text(info.path);
    result["checkpoint"] = text(info.checkpoint);
    result["architecture"] = info.architecture;
    result["kind"] = to_string(info.kind);
    result["needs_focal"] = info.needs_focal;
    result["license"] = text(info.license);
    result["has_confidence"] = info.has_confidence;
    result["has_sky"] = info.has_sky;
    result["has_pose"] = info.has_pose;
    result["patch_size"] = info.patch_size;
    result["parameters"] = info.parameters;
    result["file_bytes"] = info.file_bytes;
    result["device"] = info.device;
    result["instruction_set"] = info.instruction_set;
    result["has_rays"] = info.has_rays;
    result["has_pose_encoder"] = info.has_pose_encoder;
    result["has_gaussians"] = info.has_gaussians;
    return result;
}

py::dict inspect_model(const std::string& path) {
    ModelInfo info;
    {
        const py::gil_scoped_release release;
        info = inspect(path);
    }
    return info_dict(info);
}

py::array_t<float> map_array(Map map) {
    const std::vector<py::ssize_t> shape = {map.size.height, map.size.width};
    return to_array(std::move(map.values), shape);
}

py::object optional_map(std::optional<Map>& map) {
    return map ? py::object(map_array(std::move(*map))) : py::none();
}

py::object gaussians_dict(std::optional<Gaussians>& gaussians) {
    if (!gaussians) return py::none();
    const auto count = static_cast<py::ssize_t>(gaussians->opacities.size());
    py::dict result;
    result["kind"] = to_string(gaussians->kind);
    result["means"] = to_array(std::move(gaussians->means), {count, 3});
    result["scales"] = to_array(std::move(gaussians->scales), {count, 3});
    result["rotations"] = to_array(std::move(gaussians->rotations), {count, 4});
    result["harmonics"] = to_array(std::move(gaussians->harmonics), {count, 3, 9});
    result["opacities"] = to_array(std::move(gaussians->opacities), {count});
    return result;
}

py::dict prediction_dict(Prediction prediction) {
    py::dict result, stages;
    for (Stage& stage : prediction.stages) {
        stages[py::str(stage.name)] = to_array(std::move(stage.values), {stage.shape.begin(), stage.shape.end()});
    }
    result["kind"] = to_string(prediction.kind);
    result["depth"] = map_array(std::move(prediction.depth));
    result["confidence"] = optional_map(prediction.confidence);
    result["sky"] = optional_map(prediction.sky);
    result["intrinsics"] = py::none();
    if (const auto& k = prediction.intrinsics)
        result["intrinsics"] = py::make_tuple(k->size.width, k->size.height, k->fx, k->fy, k->cx, k->cy);
    result["extrinsics"] = py::none();
    if (const auto& e = prediction.extrinsics) result["extrinsics"] = to_array(std::vector<float>(e->begin(), e->end()), {3, 4});
    result["scale_factor"] = prediction.scale_factor ? py::object(py::float_(*prediction.scale_factor)) : py::none();
    result["gaussians"] = gaussians_dict(prediction.gaussians);
    result["timings"] = py::make_tuple(prediction.timings.preprocess, prediction.timings.compute, prediction.timings.postprocess);
    result["stages"] = stages;
    return result;
}

py::list infer_views(Engine& engine, const std::vector<py::array>& pictures, bool bgr, const InferOptions& options) {
    std::vector<ImageView> views;
    for (const py::array& pixels : pictures) views.push_back(image_view(pixels, bgr));
    std::vector<Prediction> predictions;
    {
        const py::gil_scoped_release release;
        predictions = engine.infer_views(views, options);
    }
    py::list result;
    for (Prediction& prediction : predictions) result.append(prediction_dict(std::move(prediction)));
    return result;
}

py::array_t<std::uint8_t> preprocess_array(const py::array& pixels, bool bgr, int resolution, int patch) {
    Size size;
    const ImageView view = image_view(pixels, bgr);
    std::vector<std::uint8_t> values;
    {
        const py::gil_scoped_release release;
        values = preprocess(view, resolution, patch, &size);
    }
    return to_array(std::move(values), {size.height, size.width, 3});
}

InferOptions infer_options(std::optional<std::pair<float, float>> focal, bool confidence, bool sky, bool pose, bool ray_pose,
                           bool gaussians, std::uint64_t seed, bool fill_sky, std::vector<std::string> stages,
                           std::vector<KnownCamera> cameras) {
    InferOptions options;
    if (focal) options.focal = FocalLength{focal->first, focal->second};
    options.confidence = confidence;
    options.sky = sky;
    options.pose = pose;
    options.ray_pose = ray_pose;
    options.gaussians = gaussians;
    options.seed = seed;
    options.fill_sky = fill_sky;
    options.stages = std::move(stages);
    options.cameras = std::move(cameras);
    return options;
}

// Before 2.12 pybind11 reads arrays as NumPy 1 lays them out.
void check_numpy() {
#if PYBIND11_VERSION_HEX < 0x020C0000
    const auto version = py::module_::import("numpy").attr("__version__").cast<std::string>();
    if (version.compare(0, 2, "1.") != 0) {
        throw py::import_error("depth_anything_ros was built with a pybind11 that knows NumPy 1 only, and NumPy " + version +
                               " is installed; build it again with pybind11 2.12 or newer (pip install pybind11), or take NumPy 1.");
    }
#endif
}

void register_options(py::module_& module) {
    py::class_<KnownCamera>(module, "KnownCamera")
        .def(py::init([](const std::array<double, 12>& extrinsics, double fx, double fy, double cx, double cy) {
                 return KnownCamera{extrinsics, fx, fy, cx, cy};
             }),
             py::arg("extrinsics"), py::arg("fx"), py::arg("fy"), py::arg("cx"), py::arg("cy"));
    py::class_<InferOptions>(module, "InferOptions")
        .def(py::init(&infer_options), py::kw_only(), py::arg("focal"), py::arg("confidence"), py::arg("sky"), py::arg("pose"),
             py::arg("ray_pose"), py::arg("gaussians"), py::arg("seed"), py::arg("fill_sky"), py::arg("stages"), py::arg("cameras"));
}

// Ending threads and giving back a model's memory takes milliseconds.
struct FreeWithoutGil {
    void operator()(Engine* engine) const {
        const py::gil_scoped_release release;
        delete engine;
    }
};

void register_engine(py::module_& module) {
    py::class_<EngineOptions>(module, "EngineOptions")
        .def(py::init([](int threads, const std::string& device, int resolution, int cached_sizes, std::uint64_t memory_limit,
                         const std::string& metric_model, bool exact, const std::string& instruction_set) {
                 return EngineOptions{threads, device, resolution, cached_sizes, memory_limit, metric_model, exact, instruction_set};
             }),
             py::kw_only(), py::arg("threads") = 0, py::arg("device") = "cpu", py::arg("resolution") = 0, py::arg("cached_sizes") = 4,
             py::arg("memory_limit") = 0, py::arg("metric_model") = "", py::arg("exact") = false, py::arg("instruction_set") = "");

    py::class_<Engine, std::unique_ptr<Engine, FreeWithoutGil>>(module, "NativeEngine")
        .def(py::init<const std::string&, const EngineOptions&>(), py::arg("path"), py::arg("options"),
             py::call_guard<py::gil_scoped_release>())
        .def("info", [](const Engine& engine) { return info_dict(engine.info()); })
        .def("processed_size",
             [](const Engine& engine, int width, int height) {
                 const Size size = engine.processed_size({width, height});
                 return py::make_tuple(size.width, size.height);
             })
        .def("infer_views", &infer_views, py::arg("pictures"), py::arg("bgr"), py::arg("options"))
        .def("parts",
             [](const Engine& engine) {
                 std::vector<PartTime> parts;
                 {
                     const py::gil_scoped_release release;  // it waits for a running inference
                     parts = engine.parts();
                 }
                 py::list result;
                 for (const PartTime& part : parts) result.append(py::make_tuple(part.name, part.seconds, part.operations));
                 return result;
             })
        .def("peak", &Engine::peak, py::call_guard<py::gil_scoped_release>())
        .def("cancel", &Engine::cancel, py::call_guard<py::gil_scoped_release>());
}

}  // namespace

}  // namespace da::python

PYBIND11_MODULE(_native, module) {
    da::python::check_numpy();
    module.doc() = "Depth Anything on ggml; use depth_anything_ros.Engine instead.";
    module.attr("__version__") = DA_VERSION;
    module.attr("ggml_version") = ggml_version();
    pybind11::register_exception_translator([](std::exception_ptr pointer) {
        try {
            if (pointer) std::rethrow_exception(pointer);
        } catch (const da::Error& error) {
            da::python::raise(error);
        }
    });
    da::python::register_options(module);
    da::python::register_engine(module);
    da::python::register_quantize(module);
    module.def("inspect", &da::python::inspect_model, pybind11::arg("path"));
    module.def("preprocess", &da::python::preprocess_array, pybind11::arg("pixels"), pybind11::arg("bgr"), pybind11::arg("resolution"),
               pybind11::arg("patch"));
}
