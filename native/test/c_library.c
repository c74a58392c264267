#include "c_library.h"

#include <stdlib.h>
#include <string.h>

#include "depth_anything/depth_anything.h"

#define TEXT_OF(value) #value
#define TEXT(value) TEXT_OF(value)
#define CHECK(condition) \
    if (!(condition)) return __FILE__ ":" TEXT(__LINE__) ": " #condition

enum { WIDTH = 64, HEIGHT = 48 };

static uint8_t pixels[3 * WIDTH * HEIGHT];
static const da_image picture = {pixels, WIDTH, HEIGHT, 0, DA_RGB};

static const char *check_null_arguments(const char *model, da_engine *engine) {
    da_engine *other = engine;
    da_prediction *prediction = (da_prediction *)engine;
    da_error error;
    int side;
    CHECK(da_engine_load(NULL, NULL, &other, &error) == DA_ERROR_OPTION && other == NULL);
    CHECK(strcmp(error.code, "option.null") == 0 && strstr(error.text, "'path'") != NULL);
    CHECK(da_engine_load(model, NULL, NULL, NULL) == DA_ERROR_OPTION);
    CHECK(da_engine_infer(NULL, &picture, NULL, &prediction, &error) == DA_ERROR_OPTION && prediction == NULL);
    CHECK(da_engine_infer(engine, NULL, NULL, &prediction, &error) == DA_ERROR_OPTION && strstr(error.text, "'image'") != NULL);
    CHECK(da_engine_infer(engine, &picture, NULL, NULL, NULL) == DA_ERROR_OPTION);
    CHECK(da_engine_infer_views(NULL, &picture, 1, NULL, &prediction, NULL) == DA_ERROR_OPTION && prediction == NULL);
    CHECK(da_engine_infer_views(engine, NULL, 1, NULL, &prediction, NULL) == DA_ERROR_OPTION);
    CHECK(da_engine_infer_views(engine, &picture, 1, NULL, NULL, NULL) == DA_ERROR_OPTION);
    CHECK(da_engine_processed_size(NULL, 1, 1, &side, &side, NULL) == DA_ERROR_OPTION);
    CHECK(da_engine_processed_size(engine, 1, 1, &side, NULL, NULL) == DA_ERROR_OPTION);
    CHECK(da_engine_cancel(NULL, NULL) == DA_ERROR_OPTION && da_engine_info(NULL) == NULL);
    da_engine_free(NULL);
    da_prediction_free(NULL);
    return NULL;
}

static const char *check_refusals(const char *model, da_engine *engine) {
    da_engine_options options = DA_ENGINE_OPTIONS_INIT;
    da_infer_options wanted = DA_INFER_OPTIONS_INIT;
    da_image image = picture;
    da_engine *other;
    da_prediction *prediction;
    da_error error;
    char path[3001];
    memset(path, 'x', 3000);
    path[3000] = '\0';
    CHECK(da_engine_load("missing.gguf", NULL, &other, &error) == DA_ERROR_MODEL && other == NULL);
    CHECK(strcmp(error.code, "model.missing") == 0 && strstr(error.text, "missing.gguf") != NULL);
    CHECK(da_engine_load(path, NULL, &other, &error) == DA_ERROR_MODEL && strlen(error.text) == sizeof error.text - 1);
    options.cached_sizes = 0;
    CHECK(da_engine_load(model, &options, &other, &error) == DA_ERROR_OPTION && strcmp(error.code, "option.range") == 0);
    options.cached_sizes = 1;
    options.device = "abacus";
    CHECK(da_engine_load(model, &options, &other, &error) != DA_OK && strstr(error.text, "abacus") != NULL);
    options.size = 8;
    CHECK(da_engine_load(model, &options, &other, &error) == DA_ERROR_OPTION && strstr(error.text, "'size'") != NULL);
    image.row_bytes = 3 * WIDTH - 1;
    CHECK(da_engine_infer(engine, &image, NULL, &prediction, &error) == DA_ERROR_INPUT && strcmp(error.code, "input.stride") == 0);
    image.row_bytes = 0;
    image.order = 2;
    CHECK(da_engine_infer(engine, &image, NULL, &prediction, &error) == DA_ERROR_INPUT && prediction == NULL);
    image.order = DA_RGB;
    image.pixels = NULL;
    CHECK(da_engine_infer(engine, &image, NULL, &prediction, &error) == DA_ERROR_INPUT);
    CHECK(da_engine_infer_views(engine, &picture, 0, NULL, &prediction, &error) == DA_ERROR_INPUT);
    wanted.fx = 50;
    CHECK(da_engine_infer(engine, &picture, &wanted, &prediction, &error) == DA_ERROR_INPUT);
    CHECK(da_engine_processed_size(engine, 0, 48, &image.width, &image.height, &error) == DA_ERROR_INPUT);
    return NULL;
}

static const char *check_prediction(da_engine *engine) {
    da_infer_options wanted = DA_INFER_OPTIONS_INIT;
    da_prediction *all, *bare;
    da_error error;
    int width, height;
    CHECK(da_engine_infer(engine, &picture, NULL, &all, &error) == DA_OK && error.code[0] == '\0' && error.text[0] == '\0');
    CHECK(da_engine_processed_size(engine, WIDTH, HEIGHT, &width, &height, NULL) == DA_OK);
    CHECK(all->width == width && all->height == height && all->kind == DA_RELATIVE_DEPTH);
    CHECK(all->confidence != NULL && all->sky == NULL && all->extrinsics != NULL && all->compute_seconds > 0);
    CHECK(all->intrinsics[0] > 0 && all->intrinsics[2] == (float)width / 2 && all->intrinsics[3] == (float)height / 2);
    wanted.confidence = wanted.pose = 0;
    CHECK(da_engine_infer(engine, &picture, &wanted, &bare, NULL) == DA_OK);
    CHECK(bare->confidence == NULL && bare->intrinsics == NULL && bare->extrinsics == NULL);
    CHECK(memcmp(bare->depth, all->depth, sizeof(float) * (size_t)width * (size_t)height) == 0);
    da_prediction_free(bare);
    da_prediction_free(all);
    return NULL;
}

static const char *check_views(da_engine *engine) {
    const da_image images[2] = {picture, {pixels, WIDTH, HEIGHT, 0, DA_BGR}};
    da_prediction *views[2], *single;
    size_t bytes;
    CHECK(da_engine_infer_views(engine, images, 2, NULL, views, NULL) == DA_OK);
    CHECK(da_engine_infer(engine, images, NULL, &single, NULL) == DA_OK);
    bytes = sizeof(float) * (size_t)single->width * (size_t)single->height;
    CHECK(views[0]->width == single->width && views[1]->height == single->height && views[1]->extrinsics != NULL);
    CHECK(memcmp(views[0]->depth, views[1]->depth, bytes) != 0); /* each its own picture */
    da_prediction_free(single);
    da_prediction_free(views[0]);
    da_prediction_free(views[1]);
    return NULL;
}

static const char *check_lifetime(const char *model) {
    da_engine *engine;
    da_prediction *prediction;
    float sum = 0;
    int i;
    CHECK(da_engine_load(model, NULL, &engine, NULL) == DA_OK);
    CHECK(strcmp(da_engine_info(engine)->architecture, "any_view") == 0 && strcmp(da_engine_info(engine)->checkpoint, "") != 0);
    CHECK(da_engine_infer(engine, &picture, NULL, &prediction, NULL) == DA_OK);
    da_engine_free(engine);
    for (i = 0; i < prediction->width * prediction->height; ++i) sum += prediction->depth[i]; /* outlives its engine */
    da_prediction_free(prediction);
    CHECK(sum > 0);
    return NULL;
}

const char *check_complete_model(const char *model) {
    const da_image images[2] = {picture, {pixels, WIDTH, HEIGHT, 0, DA_BGR}};
    const da_known_camera cameras[2] = {{{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}, 60, 60, 32, 24},
                                        {{1, 0, 0, -2, 0, 1, 0, 0, 0, 0, 1, 0}, 60, 60, 32, 24}};
    da_infer_options wanted = DA_INFER_OPTIONS_INIT;
    da_engine *engine;
    da_prediction *first, *views[2];
    da_error error;
    size_t i;
    CHECK(da_engine_load(model, NULL, &engine, NULL) == DA_OK);
    CHECK(da_engine_info(engine)->has_rays && da_engine_info(engine)->has_pose_encoder && da_engine_info(engine)->has_gaussians);
    CHECK(da_engine_infer(engine, images, &wanted, &first, NULL) == DA_OK && first->gaussians == NULL);
    da_prediction_free(first);
    wanted.gaussians = wanted.ray_pose = 1;
    CHECK(da_engine_infer(engine, images, &wanted, &first, NULL) == DA_OK);
    if (first->gaussians != NULL) { /* there where the rays fit a camera */
        CHECK(first->gaussians->count == (size_t)(first->width * first->height) && first->gaussians->kind == DA_RELATIVE_DEPTH);
        for (i = 0; i < first->gaussians->count; ++i) CHECK(first->gaussians->opacities[i] >= 0 && first->gaussians->opacities[i] <= 1);
    }
    da_prediction_free(first);
    wanted.ray_pose = 0;
    wanted.cameras = cameras;
    CHECK(da_engine_infer_views(engine, images, 2, &wanted, views, &error) == DA_OK);
    CHECK(views[1]->kind == DA_METRIC && *views[1]->scale_factor > 0 && views[1]->extrinsics[3] == -2 && views[1]->gaussians != NULL);
    CHECK(views[1]->gaussians->harmonics[27 * views[1]->gaussians->count - 1] != 0);
    da_prediction_free(views[0]);
    da_prediction_free(views[1]);
    da_engine_free(engine);
    return NULL;
}

const char *check_c_library(const char *model) {
    da_engine *engine;
    const char *failure;
    int i;
    for (i = 0; i < 3 * WIDTH * HEIGHT; ++i) pixels[i] = (uint8_t)(i * 7 % 251);
    CHECK(da_abi_version() == DA_ABI_VERSION && da_version()[0] != '\0');
    CHECK(da_engine_load(model, NULL, &engine, NULL) == DA_OK);
    failure = check_null_arguments(model, engine);
    if (failure == NULL) failure = check_refusals(model, engine);
    if (failure == NULL) failure = check_prediction(engine);
    if (failure == NULL) failure = check_views(engine);
    if (failure == NULL) failure = check_lifetime(model);
    da_engine_free(engine);
    return failure;
}
