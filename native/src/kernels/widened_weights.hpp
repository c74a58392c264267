// 8-bit weights with a scale for every block as 16-bit ones with a scale for a span of blocks.
#pragma once

#include <cstdint>

namespace da::kernels::DA_INSTRUCTION_SET {

// A stored panel as products read it (see integer_tile.hpp), where spans are longer than blocks. A column's scale is the largest one of its
// blocks; the weights of the others are rounded again, by at most half a number of kFiner for each of the largest scale.
void widen_panel(int in, const std::uint8_t* stored, std::uint8_t* panel);

}  // namespace da::kernels::DA_INSTRUCTION_SET
