/* Depth of a picture: depth MODEL.gguf PICTURE.ppm DEPTH.pfm (binary 8-bit PPM without comments; PFM has its lowest row first). */
#include <depth_anything/depth_anything.h>
#include <stdio.h>
#include <stdlib.h>

static uint8_t *read_ppm(const char *path, int *width, int *height) {
    FILE *file = fopen(path, "rb");
    uint8_t *pixels = NULL;
    int most, good = file && fscanf(file, "P6 %5d %5d %5d", width, height, &most) == 3 && most == 255 && fgetc(file) != EOF;
    if (good && *width > 0 && *height > 0) {
        const size_t bytes = 3 * (size_t)*width * (size_t)*height;
        pixels = malloc(bytes);
        if (pixels && fread(pixels, 1, bytes, file) != bytes) *width = 0;
    }
    if (file) fclose(file);
    return pixels;
}

static int write_pfm(const char *path, const da_prediction *p) {
    FILE *file = fopen(path, "wb");
    int y, good = file && fprintf(file, "Pf\n%d %d\n-1.0\n", p->width, p->height) > 0;
    for (y = p->height - 1; good && y >= 0; --y)
        good = fwrite(p->depth + (size_t)y * p->width, sizeof(float), p->width, file) == (size_t)p->width;
    return file && fclose(file) == 0 && good;
}

int main(int count, char **arguments) {
    da_engine *engine = NULL;
    da_prediction *prediction = NULL;
    da_error error = {"input.file", "usage: depth MODEL.gguf PICTURE.ppm DEPTH.pfm, of files that can be read and written"};
    da_image image = {NULL, 0, 0, 0, DA_RGB};
    uint8_t *pixels = count == 4 ? read_ppm(arguments[2], &image.width, &image.height) : NULL;
    int good = (image.pixels = pixels) && da_engine_load(arguments[1], NULL, &engine, &error) == DA_OK &&
               da_engine_infer(engine, &image, NULL, &prediction, &error) == DA_OK && write_pfm(arguments[3], prediction);
    if (!good) fprintf(stderr, "depth: %s\n", error.text[0] ? error.text : "the depth cannot be written");
    da_prediction_free(prediction);
    da_engine_free(engine);
    free(pixels);
    return good ? 0 : 1;
}
