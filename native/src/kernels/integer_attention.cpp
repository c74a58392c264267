#include <algorithm>

#include "kernels/functions.hpp"
#include "kernels/head_rows.hpp"
#include "kernels/integer_tile.hpp"
#include "kernels/softmax.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

namespace {

constexpr int kTilesTogether = 3;  // of queries whose scores are in the cache together
constexpr int kQueryRows = kTilesTogether * kDotRows;
constexpr std::size_t kCacheLine = 64;
static_assert(kBlock % kDotPanel == 0, "a block of tokens fills panels of keys");
static_assert(!kLongSpans, "keys and values are read as they are packed");

// Of numbers of tokens and of bytes; the latter pass 32 bits from some ten million tokens on.
template <typename Number>
Number rounded_up(Number value, Number step) {
    return (value + step - 1) / step * step;
}

// Where the parts of one head lie. Weights of the second product are the values: columns of head_dim, `in` of tokens.
struct Layout {
    int tokens;  // a multiple of kBlock: there are zeros behind the last one
    std::size_t keys, values, bytes;

    explicit Layout(const AttentionTask& task)
        : tokens(rounded_up(task.tokens, kBlock)),
          keys(rounded_up(tiles_of(task.tokens) * tile_bytes(task.head_dim), kCacheLine)),
          values(keys + static_cast<std::size_t>(tokens / kDotPanel) * panel_bytes(task.head_dim)),
          bytes(values + static_cast<std::size_t>(panels_of(task.head_dim)) * panel_bytes(tokens)) {}
};

std::size_t floats_for(std::size_t bytes) {
    return (bytes + sizeof(float) - 1) / sizeof(float);
}

// Queries and keys of kLanes tokens of a head; keys of tokens that are not there are zeros.
void prepare_tokens(const AttentionTask& task, const HeadRows& queries, const HeadRows& keys, int first, const Layout& layout,
                    std::uint8_t* prepared) {
    const int count = std::clamp(task.tokens - first, 0, kLanes);
    const float scale = score_scale(task.head_dim);
    float rows[kLanes * kLargestHead];
    prepare_rows(task, queries, first, count, rows);
    for (int i = 0; i < count * task.head_dim; ++i) rows[i] *= scale;
    for (int r = 0; r < count; ++r) quantise_row(rows + r * task.head_dim, 0, task.head_dim, task.head_dim, first + r, prepared);
    prepare_rows(task, keys, first, count, rows);
    std::fill(rows + count * task.head_dim, rows + kLanes * task.head_dim, 0.0f);
    for (int r = 0; r < kLanes; ++r) {
        std::uint8_t* panel = prepared + layout.keys + (first + r) / kDotPanel * panel_bytes(task.head_dim);
        for (int d = 0; d < task.head_dim; d += kBlock)
            pack_block(rows + r * task.head_dim + d, (first + r) % kDotPanel, panel + d / kBlock * kBlockBytes);
    }
}

// The values of kBlock tokens, as one block of every column. scratch: [head_dim][kBlock].
void prepare_values(const AttentionTask& task, QkvView qkv, int head, int first, const Layout& layout, std::uint8_t* prepared,
                    float* scratch) {
    const float* source = qkv.values + (2 * task.heads + head) * task.head_dim;
    for (int t = 0; t < kBlock; ++t) {
        for (int d = 0; d < task.head_dim; ++d)
            scratch[d * kBlock + t] = first + t < task.tokens ? source[(first + t) * qkv.stride + d] : 0.0f;
    }
    std::fill(scratch + task.head_dim * kBlock, scratch + rounded_up(task.head_dim, kDotPanel) * kBlock, 0.0f);
    std::uint8_t* values = prepared + layout.values + static_cast<std::size_t>(first / kBlock) * kBlockBytes;
    for (int d = 0; d < rounded_up(task.head_dim, kDotPanel); ++d)
        pack_block(scratch + d * kBlock, d % kDotPanel, values + d / kDotPanel * panel_bytes(layout.tokens));
}

struct Queries {
    int head, first, rows;
};

// Softmax of the scores of some queries, as tiles of quantised rows of `layout.tokens`; inverse: of their sums.
void weigh_keys(const AttentionTask& task, const Layout& layout, const std::uint8_t* prepared, const Queries& queries, float* scores,
                std::uint8_t* tiles, float* inverse) {
    for (int row = 0; row < queries.rows; row += kDotRows) {
        const std::uint8_t* tile = prepared + (queries.first + row) / kDotRows * tile_bytes(task.head_dim);
        for (int column = 0; column < layout.tokens; column += kDotPanel) {
            Sums<kDotRows, kDotVectors> sums;
            multiply_tile(task.head_dim, tile, prepared + layout.keys + column / kDotPanel * panel_bytes(task.head_dim), sums);
            for (int r = 0; r < kDotRows; ++r) {
                for (int v = 0; v < kDotVectors; ++v)
                    store(scores + static_cast<std::size_t>(row + r) * layout.tokens + column + v * kLanes, sums[r][v]);
            }
        }
    }
    for (int row = 0; row < queries.rows; ++row) {
        float* of_row = scores + static_cast<std::size_t>(row) * layout.tokens;
        hide(of_row + task.tokens, of_row + layout.tokens);
        inverse[row] = 1.0f / sum_of_lanes(soften(of_row, layout.tokens, greatest_of(of_row, layout.tokens, load(of_row))));
        quantise_row(of_row, 0, layout.tokens, layout.tokens, row, tiles);
    }
}

void mix_values(const AttentionTask& task, const Layout& layout, const std::uint8_t* prepared, const Queries& queries,
                const std::uint8_t* tiles, const float* inverse, float* mixed, const AttentionResult& result) {
    const int column = queries.head * task.head_dim, width = task.heads * task.head_dim, stride = rounded_up(task.head_dim, kDotPanel);
    for (int row = 0; row < queries.rows; row += kDotRows) {
        for (int d = 0; d < task.head_dim; d += kDotPanel) {
            Sums<kDotRows, kDotVectors> sums;
            multiply_tile(layout.tokens, tiles + row / kDotRows * tile_bytes(layout.tokens),
                          prepared + layout.values + d / kDotPanel * panel_bytes(layout.tokens), sums);
            for (int r = 0; r < kDotRows && row + r < queries.rows; ++r) {
                for (int v = 0; v < kDotVectors; ++v) store(mixed + r * stride + d + v * kLanes, sums[r][v] * inverse[row + r]);
            }
        }
        for (int r = 0; r < kDotRows && row + r < queries.rows; ++r) {
            const int token = queries.first + row + r;
            const float* values = mixed + r * stride;
            if (result.quantised != nullptr) {
                quantise_row(values, column, task.head_dim, width, token, result.quantised);
            } else {
                std::copy(values, values + task.head_dim, result.values.values + token * result.values.stride + column);
            }
        }
    }
}

}  // namespace

std::size_t integer_prepared_bytes(const AttentionTask& task) {
    return static_cast<std::size_t>(task.heads) * rounded_up(Layout(task).bytes, kCacheLine);
}

std::size_t integer_attention_scratch(const AttentionTask& task) {
    const Layout layout(task);
    const std::size_t head = rounded_up(task.head_dim, kDotPanel);
    const std::size_t scores = static_cast<std::size_t>(kQueryRows) * layout.tokens,
                      tiles = floats_for(kTilesTogether * tile_bytes(layout.tokens));
    return std::max(head * kBlock, scores + tiles + head * kDotRows);
}

void run_integer_prepare(const AttentionTask& task, QkvView qkv, const HeadNorm& q_norm, const HeadNorm& k_norm, const float* rope,
                         std::uint8_t* prepared, float* scratch, Share work) {
    const Layout layout(task);
    const int blocks = layout.tokens / kBlock;
    const std::size_t head_bytes = integer_prepared_bytes(task) / task.heads;
    for (int i = work.next(task.heads * blocks); i < task.heads * blocks; i = work.next(task.heads * blocks)) {
        const int head = i / blocks, first = i % blocks * kBlock;
        std::uint8_t* of_head = prepared + head * head_bytes;
        for (int token = first; token < first + kBlock; token += kLanes)
            prepare_tokens(task, {qkv, 0, head, q_norm, rope}, {qkv, 1, head, k_norm, rope}, token, layout, of_head);
        prepare_values(task, qkv, head, first, layout, of_head, scratch);
    }
}

void run_integer_attention(const AttentionTask& task, const std::uint8_t* prepared, const AttentionResult& result, float* scratch,
                           Share work) {
    const Layout layout(task);
    const int blocks = (task.tokens + kQueryRows - 1) / kQueryRows;
    const std::size_t head_bytes = integer_prepared_bytes(task) / task.heads;
    float* mixed = scratch + static_cast<std::size_t>(kQueryRows) * layout.tokens;
    auto* tiles = reinterpret_cast<std::uint8_t*>(mixed + static_cast<std::size_t>(kDotRows) * rounded_up(task.head_dim, kDotPanel));
    for (int i = work.next(task.heads * blocks); i < task.heads * blocks; i = work.next(task.heads * blocks)) {
        const int head = i / blocks, first = i % blocks * kQueryRows;
        const Queries queries{head, first, std::min(kQueryRows, task.tokens - first)};
        const std::uint8_t* of_head = prepared + head * head_bytes;
        float inverse[kQueryRows];
        weigh_keys(task, layout, of_head, queries, scratch, tiles, inverse);
        mix_values(task, layout, of_head, queries, tiles, inverse, mixed, result);
    }
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
