/* Depth Anything as a C library: one GGUF file, one picture in, one prediction out. C99.
 *
 *     da_engine *engine;
 *     da_prediction *prediction;
 *     da_error error;
 *     da_image image = {pixels, width, height, 0, DA_RGB};
 *     if (da_engine_load("da3-small.gguf", NULL, &engine, &error) != DA_OK) ...        error.text says why
 *     if (da_engine_infer(engine, &image, NULL, &prediction, &error) != DA_OK) ...
 *     prediction->depth[y * prediction->width + x]
 *     da_prediction_free(prediction);
 *     da_engine_free(engine);
 *
 * Ownership: what a function gives through a `**` belongs to the caller and goes back to the `_free` function of its name. Pointers inside
 * a prediction or a model info live as long as that prediction or engine. What is handed in is borrowed for the call. A prediction does
 * not need its engine.
 *
 * Errors: functions give DA_OK or the area of what went wrong, and fill `error`, which may be NULL. Then nothing is given: a `**` holds
 * NULL. A NULL where something is needed is such an error. No C++ exception leaves the library.
 *
 * Threads: da_engine_infer and da_engine_infer_views from any thread, calls on one engine wait for each other; da_engine_cancel from any
 * thread at any time; da_engine_free when no other call uses the engine. Different engines are independent. The library keeps no global
 * state.
 */
#ifndef DEPTH_ANYTHING_H
#define DEPTH_ANYTHING_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define DA_API __attribute__((visibility("default")))
#else
#define DA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Grows when programs must be compiled again. Structs that the library makes (predictions, infos) may get more members at their end
 * without that; the option structs carry their size. */
#define DA_ABI_VERSION 1

DA_API int da_abi_version(void);        /* of the library that runs; compare with DA_ABI_VERSION */
DA_API const char *da_version(void);    /* for example "0.1.0"; static */

typedef enum da_status {
    DA_OK = 0,
    DA_ERROR_UNEXPECTED = 1,
    DA_ERROR_OPTION = 2,    /* an option is out of range, an argument is NULL */
    DA_ERROR_MODEL = 3,     /* the file cannot be used */
    DA_ERROR_INPUT = 4,     /* the picture or focal length cannot be used */
    DA_ERROR_DEVICE = 5,    /* device or memory */
    DA_ERROR_CANCELLED = 6  /* da_engine_cancel */
} da_status;

typedef struct da_error {
    char code[32];    /* stable, "<area>.<what>", for example "model.tensor"; "" after success */
    char text[1024];  /* for people, UTF-8, cut where it is longer */
} da_error;

typedef struct da_engine da_engine;

typedef struct da_engine_options {
    size_t size;            /* sizeof(da_engine_options) */
    int threads;            /* CPU threads; 0: the cores that this process may use */
    const char *device;     /* NULL: "cpu" */
    int resolution;         /* long side of the processed picture, of V2 the short one; 0: the model's own */
    int cached_sizes;       /* picture sizes whose graph is kept */
    uint64_t memory_limit;  /* bytes of a network's weights and graphs; 0: what the machine or its cgroup has */
    const char *metric_model; /* file of a metric network that gives an any-view network its metres; NULL: none */
    int exact;              /* not 0: quantised files are computed in floats too, which takes longer */
} da_engine_options;

#define DA_ENGINE_OPTIONS_INIT {sizeof(da_engine_options), 0, NULL, 0, 4, 0, NULL, 0}

typedef enum da_channel_order { DA_RGB = 0, DA_BGR = 1 } da_channel_order;

/* 8-bit picture with three interleaved channels. */
typedef struct da_image {
    const uint8_t *pixels;
    int width, height;
    ptrdiff_t row_bytes;  /* from one row to the next; 0: rows are packed */
    int order;            /* a da_channel_order */
} da_image;

/* A camera that is known beforehand. */
typedef struct da_known_camera {
    double extrinsics[12];  /* camera_from_world, 3x4 row-major, metres */
    double fx, fy, cx, cy;  /* pixels of the picture as given, counted from its corner: the middle is width / 2 */
} da_known_camera;

typedef struct da_infer_options {
    size_t size;        /* sizeof(da_infer_options) */
    float fx, fy;       /* focal lengths in pixels of the picture, for models that need them for metres; both 0: unknown */
    int confidence;     /* 0: not wanted, as for the next two */
    int sky;
    int pose;           /* intrinsics and extrinsics */
    int fill_sky;       /* sky pixels take the 0.99-quantile of the rest, as the official code does */
    int ray_pose;       /* 1: the pose from the rays of all pixels; models with has_rays */
    int gaussians;      /* 1: wanted; models with has_gaussians */
    uint64_t seed;      /* of what is chosen at random: rays, and cameras where ten and more are known */
    const da_known_camera *cameras; /* one for each image, or NULL: depth is conditioned on them and in metres; models with
                                     * has_pose_encoder. Cameras at one place tell no scale: depth stays as it is then. */
} da_infer_options;

#define DA_INFER_OPTIONS_INIT {sizeof(da_infer_options), 0, 0, 1, 1, 1, 1, 0, 0, 0, NULL}

typedef enum da_depth_kind {
    DA_METRIC = 0,                 /* metres along the optical z axis */
    DA_RELATIVE_DEPTH = 1,         /* the same times one unknown scale; near is small */
    DA_RELATIVE_INVERSE_DEPTH = 2  /* 1/z with unknown scale and shift; near is large */
} da_depth_kind;

/* One 3-D Gaussian per pixel, row by row, in the world of the network's own poses. */
typedef struct da_gaussians {
    da_depth_kind kind;      /* of lengths: relative also where a pair or known cameras turn the depth map into metres */
    size_t count;
    const float *means;      /* count x 3 */
    const float *scales;     /* count x 3: standard deviations along the axes */
    const float *rotations;  /* count x 4: quaternion w, x, y, z */
    const float *harmonics;  /* count x 3 colours x 9 coefficients, degrees 0 to 2 */
    const float *opacities;  /* count, 0 to 1 */
} da_gaussians;

/* Maps are row-major, width x height, at the processed size. What the model cannot give, or what is not wanted, is NULL. */
typedef struct da_prediction {
    da_depth_kind kind;
    int width, height;
    const float *depth;
    const float *confidence;  /* raw network value, 1 and more */
    const float *sky;         /* raw network value, 0 and more */
    const float *intrinsics;  /* fx, fy, cx, cy in pixels of width x height: the model's own estimate, or of the known camera */
    const float *extrinsics;  /* camera_from_world, 3x4 row-major */
    const float *scale_factor; /* what the network's depth was multiplied with by a pair or known cameras */
    double preprocess_seconds, compute_seconds, postprocess_seconds;
    const da_gaussians *gaussians;
} da_prediction;

typedef struct da_model_info {
    const char *checkpoint;
    const char *architecture;  /* "any_view", "mono" or "v2" */
    const char *license;
    const char *device;
    da_depth_kind kind;
    int needs_focal;  /* 1: metres only with fx and fy */
    int has_confidence, has_sky, has_pose;
    int patch_size;
    int64_t parameters;
    uint64_t file_bytes;
    int has_rays, has_pose_encoder, has_gaussians;
} da_model_info;

/* Maps and checks the file, which must stay as it is until da_engine_free. options: NULL takes the defaults. */
DA_API da_status da_engine_load(const char *path, const da_engine_options *options, da_engine **engine, da_error *error);
DA_API void da_engine_free(da_engine *engine); /* NULL: nothing happens */

DA_API const da_model_info *da_engine_info(const da_engine *engine); /* NULL for NULL */

/* The size that a picture of that size is processed at. */
DA_API da_status da_engine_processed_size(const da_engine *engine, int width, int height, int *processed_width, int *processed_height,
                                          da_error *error);

/* options: NULL takes the defaults. */
DA_API da_status da_engine_infer(da_engine *engine, const da_image *image, const da_infer_options *options, da_prediction **prediction,
                                 da_error *error);

/* Several pictures of one scene: an any-view network looks at all of them together, so that their depths agree and their extrinsics have
 * one origin. Pictures that are processed at different sizes are cropped to the smallest, about their centres. predictions: room for
 * `count` pointers; all are filled, or all are NULL. */
DA_API da_status da_engine_infer_views(da_engine *engine, const da_image *images, size_t count, const da_infer_options *options,
                                       da_prediction **predictions, da_error *error);
DA_API void da_prediction_free(da_prediction *prediction); /* NULL: nothing happens */

/* The running da_engine_infer or da_engine_infer_views ends within 100 ms with DA_ERROR_CANCELLED. Without a running one nothing happens. */
DA_API da_status da_engine_cancel(da_engine *engine, da_error *error);

#ifdef __cplusplus
}
#endif

#endif
