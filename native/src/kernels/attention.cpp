#include <algorithm>
#include <cmath>

#include "kernels/functions.hpp"
#include "kernels/head_rows.hpp"
#include "kernels/softmax.hpp"
#include "kernels/tile.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

namespace {

constexpr int kQueryRows = 24;  // queries whose scores are in the cache together

int panels_of(const AttentionTask& task) {
    return (task.tokens + kPanel - 1) / kPanel;
}
int padded_tokens(const AttentionTask& task) {
    return panels_of(task) * kPanel;
}

std::size_t queries_floats(const AttentionTask& task) {
    return static_cast<std::size_t>(task.heads) * task.tokens * task.head_dim;
}
std::size_t keys_per_head(const AttentionTask& task) {
    return static_cast<std::size_t>(padded_tokens(task)) * task.head_dim;
}

void prepare_queries(const AttentionTask& task, const HeadRows& source, int first, int count, float* queries) {
    const float scale = 1.0f / std::sqrt(static_cast<float>(task.head_dim));
    float* rows = queries + static_cast<std::size_t>(first) * task.head_dim;
    prepare_rows(task, source, first, count, rows);
    for (int i = 0; i < count * task.head_dim; ++i) rows[i] *= scale;
}

// Columns of a panel, zero where there is no token.
void prepare_keys(const AttentionTask& task, const HeadRows& source, int first, int count, float* columns) {
    float rows[kLanes * kLargestHead];
    prepare_rows(task, source, first, count, rows);
    std::fill(rows + count * task.head_dim, rows + kLanes * task.head_dim, 0.0f);
    for (int d = 0; d < task.head_dim; d += kLanes) {
        Vector square[kLanes];
        for (int r = 0; r < kLanes; ++r) square[r] = load(rows + r * task.head_dim + d);
        transpose(square);
        for (int r = 0; r < kLanes; ++r) store(columns + static_cast<std::size_t>(d + r) * kPanel, square[r]);
    }
}

void copy_values(const AttentionTask& task, QkvView qkv, int head, int first, int count, float* values) {
    for (int t = first; t < first + count; ++t) {
        const float* source = qkv.values + t * qkv.stride + (2 * task.heads + head) * task.head_dim;
        std::copy(source, source + task.head_dim, values + static_cast<std::size_t>(t) * task.head_dim);
    }
}

template <int vectors>
void mix_values(const AttentionTask& task, int rows, const float* scores, const float* values, std::ptrdiff_t stride, const float* inverse,
                RowsTarget result) {
    for_row_tiles(rows, [&](int row, auto count) {
        Sums<decltype(count)::value, vectors> sums;
        clear<decltype(count)::value, vectors>(sums);
        const int padded = padded_tokens(task);
        multiply<decltype(count)::value, vectors>(task.tokens, scores + static_cast<std::ptrdiff_t>(row) * padded, padded, values, stride,
                                                  sums);
        for (int r = 0; r < decltype(count)::value; ++r) {
            for (int v = 0; v < vectors; ++v) store(result.values + (row + r) * result.stride + v * kLanes, sums[r][v] * inverse[row + r]);
        }
    });
}

}  // namespace

std::size_t prepared_floats(const AttentionTask& task) {
    return 2 * queries_floats(task) + task.heads * keys_per_head(task);
}

std::size_t attention_scratch(const AttentionTask& task) {
    return static_cast<std::size_t>(kQueryRows) * padded_tokens(task);
}

void run_prepare(const AttentionTask& task, QkvView qkv, const HeadNorm& q_norm, const HeadNorm& k_norm, const float* rope, float* prepared,
                 Share work) {
    const int panels = panels_of(task);
    for (int i = work.next(task.heads * panels); i < task.heads * panels; i = work.next(task.heads * panels)) {
        const int head = i % task.heads, panel = i / task.heads;  // the heads of a token lie side by side
        float* queries = prepared + static_cast<std::size_t>(head) * task.tokens * task.head_dim;
        float* keys =
            prepared + 2 * queries_floats(task) + head * keys_per_head(task) + static_cast<std::size_t>(panel) * kPanel * task.head_dim;
        for (int column = 0; column < kPanel; column += kLanes) {
            const int first = panel * kPanel + column, count = std::clamp(task.tokens - first, 0, kLanes);
            prepare_queries(task, {qkv, 0, head, q_norm, rope}, first, count, queries);
            prepare_keys(task, {qkv, 1, head, k_norm, rope}, first, count, keys + column);
            copy_values(task, qkv, head, first, count, queries + queries_floats(task));
        }
    }
}

void run_attention(const AttentionTask& task, const float* prepared, RowsTarget result, float* scratch, Share work) {
    const int blocks = (task.tokens + kQueryRows - 1) / kQueryRows, padded = padded_tokens(task);
    for (int i = work.next(task.heads * blocks); i < task.heads * blocks; i = work.next(task.heads * blocks)) {
        const int head = i / blocks, first = i % blocks * kQueryRows, rows = std::min(kQueryRows, task.tokens - first);
        const float* queries = prepared + (static_cast<std::size_t>(head) * task.tokens + first) * task.head_dim;
        const float* keys = prepared + 2 * queries_floats(task) + head * keys_per_head(task);
        for_row_tiles(rows, [&](int row, auto count) {
            for (int n = 0; n < padded; n += kPanel) {
                Sums<decltype(count)::value, kTileVectors> sums;
                clear<decltype(count)::value, kTileVectors>(sums);
                multiply<decltype(count)::value, kTileVectors>(task.head_dim, queries + static_cast<std::size_t>(row) * task.head_dim,
                                                               task.head_dim, keys + static_cast<std::size_t>(n) * task.head_dim, kPanel,
                                                               sums);
                for (int r = 0; r < decltype(count)::value; ++r) {
                    for (int v = 0; v < kTileVectors; ++v)
                        store(scratch + static_cast<std::size_t>(row + r) * padded + n + v * kLanes, sums[r][v]);
                }
            }
        });
        float inverse[kQueryRows];
        for (int r = 0; r < rows; ++r) inverse[r] = 1.0f / soften(scratch + static_cast<std::size_t>(r) * padded, task.tokens, padded);
        const float* values = prepared + queries_floats(task) + static_cast<std::size_t>(head) * task.tokens * task.head_dim;
        float* target = result.values + first * result.stride + head * task.head_dim;
        int d = 0;
        for (; d + kPanel <= task.head_dim; d += kPanel)
            mix_values<kTileVectors>(task, rows, scratch, values + d, task.head_dim, inverse, {target + d, result.stride});
        for (; d < task.head_dim; d += kLanes)
            mix_values<1>(task, rows, scratch, values + d, task.head_dim, inverse, {target + d, result.stride});
    }
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
