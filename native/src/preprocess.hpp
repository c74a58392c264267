// From the camera's picture to the network's input (official utils/io/input_processor.py, "upper_bound_resize").
#pragma once

#include "hparams.hpp"
#include "resize.hpp"

namespace da {

// Size after both resizes: long side to `resolution`, then each side to the nearest multiple of `patch` (ties up), at least one patch.
Size processed_size(Size picture, int resolution, int patch);

// The picture at its processed size, in its own channel order. Throws Error("input.shape" | "input.stride") for a view that is no picture.
Pixels resize_to_processed(const ImageView& picture, int resolution, int patch);

// Normalised values as rows of patches [patches][channel][row][column], channels in RGB order: the input of the patch embedding.
void write_patches(const Pixels& pixels, ChannelOrder order, const ImageParams& image, int patch, float* patches);

// The inverse arrangement: [3][height][width].
std::vector<float> planes_from_patches(const float* patches, Size size, int patch);

}  // namespace da
