// From the camera's picture to the network's input (official utils/io/input_processor.py, "upper_bound_resize"; V2's util/transform.py).
#pragma once

#include "hparams.hpp"
#include "resize.hpp"

namespace da {

// Size after both resizes: long side to `resolution`, then each side to the nearest multiple of `patch` (ties up), at least one patch.
Size processed_size(Size picture, int resolution, int patch);

// Size after V2's one resize: short side to `resolution`, each side to the nearest multiple of `patch`, none shorter than `resolution`.
Size lower_bound_size(Size picture, int resolution, int patch);

// Throws Error("input.shape") for sides that no picture has.
void check_size(Size picture);

// Throws Error("input.shape" | "input.stride") for a view that is no picture.
void check_picture(const ImageView& picture);

// Throws Error("input.shape") for a picture so thin that it would be processed at a size beyond reason.
void check_processed(Size picture, Size processed);

// The picture at its processed size, in its own channel order. Throws Error("input.shape" | "input.stride") for a view that is no picture.
Pixels resize_to_processed(const ImageView& picture, int resolution, int patch);

// Normalised values as rows of patches [patches][channel][row][column], channels in RGB order: the input of the patch embedding.
// size: of what is taken, the centre of the picture.
void write_patches(const Pixels& pixels, ChannelOrder order, const ImageParams& image, int patch, Size size, float* patches);
void write_patches(const RealPixels& pixels, ChannelOrder order, const ImageParams& image, int patch, Size size, float* patches);

// All of it: resized as `image` says, cropped to `size`, normalised.
void write_input(const ImageView& picture, const ImageParams& image, int resolution, int patch, Size size, float* patches);

// The inverse arrangement: [3][height][width].
std::vector<float> planes_from_patches(const float* patches, Size size, int patch);

}  // namespace da
