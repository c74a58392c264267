#include <algorithm>
#include <cmath>

#include "kernels/functions.hpp"
#include "kernels/head_rows.hpp"
#include "kernels/softmax.hpp"
#include "kernels/tile.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

namespace {

constexpr int kQueryRows = 24;             // queries whose scores are in the cache together
constexpr int kTokenSpan = 6144 / kPanel;  // tokens: a panel of their values stays in the first cache, with some of the scores
static_assert(kTokenSpan % kLanes == 0, "spans are whole registers");

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
    const float scale = score_scale(task.head_dim);
    float* rows = queries + static_cast<std::size_t>(first) * task.head_dim;
    prepare_rows(task, source, first, count, rows);
    for (int i = 0; i < count * task.head_dim; ++i) rows[i] *= scale;
}

void copy_values(const AttentionTask& task, QkvView qkv, int head, int first, int count, float* values) {
    for (int t = first; t < first + count; ++t) {
        const float* source = qkv.values + t * qkv.stride + (2 * task.heads + head) * task.head_dim;
        std::copy(source, source + task.head_dim, values + static_cast<std::size_t>(t) * task.head_dim);
    }
}

// Floats from the scores of one query to those of the next: an odd number of cache lines, so that they do not fall on the same ones of the
// cache.
int score_stride(const AttentionTask& task) {
    constexpr int line = 64 / sizeof(float);
    return ((padded_tokens(task) + line - 1) / line | 1) * line;
}

// Queries of one head that are worked on together.
struct QueryBlock {
    int rows;
    const float *queries, *keys, *values;  // values: of all tokens of the head
    RowsTarget result;
    float* scores;
    std::ptrdiff_t stride;  // of scores
};

// The scores of a panel of keys, which stays in the first cache; most: the greatest ones of each query, lane by lane, but those of the last
// panel where it is not full.
void score_panel(const AttentionTask& task, const QueryBlock& block, int first, Vector* most) {
    const float* keys = block.keys + static_cast<std::size_t>(first) * task.head_dim;
    const bool whole = first + kPanel <= task.tokens;
    for_row_tiles(block.rows, [&](int row, auto count) {
        constexpr int rows = decltype(count)::value;
        Sums<rows, kTileVectors> sums;
        clear<rows, kTileVectors>(sums);
        multiply<rows, kTileVectors>(task.head_dim, block.queries + row * task.head_dim, task.head_dim, keys, kPanel, sums);
        for (int r = 0; r < rows; ++r) {
            for (int v = 0; v < kTileVectors; ++v) {
                store(block.scores + (row + r) * block.stride + first + v * kLanes, sums[r][v]);
                if (whole) most[row + r] = largest(most[row + r], sums[r][v]);
            }
        }
    });
}

// Adds what a span of tokens gives to columns [d, d + vectors * kLanes) of the result.
template <int vectors>
void mix_values(const AttentionTask& task, const QueryBlock& block, int first, int d, const float* inverse) {
    const int count = std::min(kTokenSpan, task.tokens - first);
    const float* values = block.values + static_cast<std::size_t>(first) * task.head_dim + d;
    for_row_tiles(block.rows, [&](int row, auto row_count) {
        constexpr int rows = decltype(row_count)::value;
        Sums<rows, vectors> sums;
        clear<rows, vectors>(sums);
        multiply<rows, vectors>(count, block.scores + row * block.stride + first, block.stride, values, task.head_dim, sums);
        float* result = block.result.values + row * block.result.stride + d;
        for (int r = 0; r < rows; ++r) {
            for (int v = 0; v < vectors; ++v) {
                float* place = result + r * block.result.stride + v * kLanes;
                const Vector sum = first == 0 ? sums[r][v] : sums[r][v] + load(place);
                store(place, inverse == nullptr ? sum : sum * inverse[row + r]);
            }
        }
    });
}

// Span by span: the softmax of the scores but for its divisor, and the mean of the values that it makes.
void run_block(const AttentionTask& task, const QueryBlock& block) {
    const int padded = padded_tokens(task), full = task.tokens / kPanel * kPanel;
    Vector most[kQueryRows], totals[kQueryRows] = {};
    float top[kQueryRows], inverse[kQueryRows];
    std::fill(most, most + block.rows, broadcast(-INFINITY));
    for (int n = 0; n < padded; n += kPanel) score_panel(task, block, n, most);
    for (int r = 0; r < block.rows; ++r) {
        float* scores = block.scores + r * block.stride;
        hide(scores + task.tokens, scores + padded);
        top[r] = greatest_of(scores + full, padded - full, most[r]);
    }
    for (int t = 0; t < task.tokens; t += kTokenSpan) {
        const bool last = t + kTokenSpan >= task.tokens;
        for (int r = 0; r < block.rows; ++r)
            totals[r] += soften(block.scores + r * block.stride + t, std::min(kTokenSpan, padded - t), top[r]);
        for (int r = 0; last && r < block.rows; ++r) inverse[r] = 1.0f / sum_of_lanes(totals[r]);
        int d = 0;
        for (; d + kPanel <= task.head_dim; d += kPanel) mix_values<kTileVectors>(task, block, t, d, last ? inverse : nullptr);
        for (; d < task.head_dim; d += kLanes) mix_values<1>(task, block, t, d, last ? inverse : nullptr);
    }
}

}  // namespace

std::size_t prepared_floats(const AttentionTask& task) {
    return 2 * queries_floats(task) + task.heads * keys_per_head(task);
}

std::size_t attention_scratch(const AttentionTask& task) {
    return static_cast<std::size_t>(kQueryRows) * score_stride(task);
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
            prepare_columns(task, {qkv, 1, head, k_norm, rope}, first, count, keys + column, kPanel);
            copy_values(task, qkv, head, first, count, queries + queries_floats(task));
        }
    }
}

void run_attention(const AttentionTask& task, const float* prepared, RowsTarget result, float* scratch, Share work) {
    const int blocks = (task.tokens + kQueryRows - 1) / kQueryRows;
    for (int i = work.next(task.heads * blocks); i < task.heads * blocks; i = work.next(task.heads * blocks)) {
        const int head = i / blocks, first = i % blocks * kQueryRows;
        const float* queries = prepared + static_cast<std::size_t>(head) * task.tokens * task.head_dim;
        run_block(task, {std::min(kQueryRows, task.tokens - first),
                         queries + static_cast<std::size_t>(first) * task.head_dim,
                         prepared + 2 * queries_floats(task) + head * keys_per_head(task),
                         queries + queries_floats(task),
                         {result.values + first * result.stride + head * task.head_dim, result.stride},
                         scratch,
                         score_stride(task)});
    }
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
