// The attention of integer_attention.hpp with both of its products in slices, see slices.hpp.
#include <algorithm>

#include "kernels/functions.hpp"
#include "kernels/head_rows.hpp"
#include "kernels/sliced_tile.hpp"
#include "kernels/softmax.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

namespace {

// Where the parts of one head lie: queries as rows, keys as columns, and values as columns of the second product, which has a column for
// each channel, and adds up tokens.
template <int slices>
struct Layout {
    std::size_t keys, values, bytes;

    explicit Layout(const AttentionTask& task)
        : keys(tiles_of_16(task.tokens) * sliced_bytes_of_16<slices>(task.head_dim)),
          values(2 * keys),
          bytes(values + tiles_of_16(task.head_dim) * sliced_bytes_of_16<slices>(task.tokens)) {}
};

// Scores of a query, also for tokens that are not there.
int padded_tokens(const AttentionTask& task) {
    return tiles_of_16(task.tokens) * kAmxSide;
}

// A span of 16 columns, whose values at one depth are the lanes of value(depth). The digits of four depths become a row of a tile.
template <int slices, typename Value>
void slice_columns(int count, std::uint8_t* span, const Value& value) {
    IntVector tops{};  // as bits, see largest_size
    for (int k = 0; k < count; ++k) {
        const IntVector bits = (IntVector)value(k) & 0x7fffffff;
        tops = bits > tops ? bits : tops;
    }
    const auto top = (Vector)tops;
    const Vector inverse = top > kSmallestSliced ? kMost<slices> / top : Vector{};
    store(reinterpret_cast<float*>(span), top * (1.0f / kMost<slices>));
    span += kSlicedScales;
    for (int k = 0; k < steps_of(count) * kAmxDepth; k += kAmxGroup) {
        IntVector digits[kAmxGroup];
        for (int i = 0; i < kAmxGroup; ++i) digits[i] = k + i < count ? digits_of(value(k + i) * inverse) : IntVector{};
        std::uint8_t* place = span + k / kAmxDepth * kSlicedStep<slices> + k % kAmxDepth / kAmxGroup * kAmxDepth;
        for (int s = 0; s < slices; ++s) {
            IntVector group{};
            for (int i = 0; i < kAmxGroup; ++i) group |= (digits[i] >> (8 * (slices - 1 - s)) & 0xff) << (8 * i);
            std::memcpy(place + s * kAmxBytes, &group, sizeof(group));
        }
    }
}

// Queries and keys of 16 tokens; keys of tokens that are not there are zeros.
template <int slices>
void prepare_tokens(const AttentionTask& task, const HeadRows& queries, const HeadRows& keys, int first, const Layout<slices>& layout,
                    std::uint8_t* prepared) {
    const int count = std::min(kAmxSide, task.tokens - first);
    const float scale = score_scale(task.head_dim);
    float rows[kAmxSide * kLargestHead], columns[kLargestHead * kAmxSide];
    prepare_rows(task, queries, first, count, rows);
    for (int i = 0; i < count * task.head_dim; ++i) rows[i] *= scale;
    for (int r = 0; r < count; ++r) slice_row<slices>(rows + r * task.head_dim, task.head_dim, first + r, prepared);
    prepare_columns(task, keys, first, count, columns, kLanes);
    slice_columns<slices>(task.head_dim, prepared + layout.keys + first / kAmxSide * sliced_bytes_of_16<slices>(task.head_dim),
                          [&](int d) { return load(columns + d * kLanes); });
}

// The values of a span of tokens, 16 channels at a time.
template <int slices>
void prepare_values(const AttentionTask& task, QkvView qkv, int head, int first, std::uint8_t* values) {
    const int span_length = sliced_span(task.tokens), count = std::min(span_length, task.tokens - first);
    const std::size_t start = first / span_length * (kSlicedScales + steps_of(span_length) * kSlicedStep<slices>);
    for (int d = 0; d < task.head_dim; d += kAmxSide) {
        const float* source = qkv.values + first * qkv.stride + (2 * task.heads + head) * task.head_dim + d;
        slice_columns<slices>(count, values + d / kAmxSide * sliced_bytes_of_16<slices>(task.tokens) + start,
                              [&](int t) { return load(source + t * qkv.stride); });
    }
}

// Sums that wait to be made rows of floats: times the scales of their columns and the factors of their rows.
template <int slices>
struct ToRows {
    const LevelSums<slices>* sums = nullptr;
    const std::uint8_t *column_scales = nullptr, *row_factors = nullptr;
    RowsTarget target{nullptr, 0};
    int rows = 0;
    bool begins = true;  // else they are added to what is there

    void operator()(int from, int to) const {
        const ToRows self = *this;  // what is stored below might be what this points to
        const auto scales = self.rows > 0 ? value_at<Vector>(self.column_scales) : Vector{};
        for (int r = from; r < std::min(to, self.rows); ++r) {
            float* place = self.target.values + r * self.target.stride;
            const Vector value = joined(*self.sums, r) * scales * value_at<float>(self.row_factors + r * sizeof(float));
            store(place, self.begins ? value : load(place) + value);
        }
    }
};

// Products one after the other, each finished during the next one.
template <int slices>
class Products {
  public:
    void add(AmxTiles& tiles, int steps, const std::uint8_t* rows, const std::uint8_t* columns, const ToRows<slices>& finish) {
        LevelSums<slices>& sums = sums_[turn_];
        multiply_span(tiles, steps, rows, columns, sums, waiting_);
        waiting_ = finish;
        waiting_.sums = &sums;
        turn_ = 1 - turn_;
    }

    void finish() {
        waiting_(0, kAmxSide);
        waiting_ = {};
    }

  private:
    LevelSums<slices> sums_[2];
    int turn_ = 0;
    ToRows<slices> waiting_;
};

// Powers of two of a row's scores less the greatest as slices of row `row` of a tile, with the scale 1 / kMost. Gives the inverse of their
// sum.
template <int slices>
float soften(const AttentionTask& task, float* scores, int row, std::uint8_t* tile) {
    const int padded = padded_tokens(task), span_length = sliced_span(task.tokens);
    hide(scores + task.tokens, scores + padded);
    const float greatest = greatest_of(scores + kLanes, padded - kLanes, load(scores));
    Vector total{};
    for (int first = 0; first < padded; first += span_length) {
        const int count = std::min(span_length, padded - first);
        std::uint8_t* place = tile + kSlicedScales + row * kAmxDepth;
        for (int step = 0; step < count; step += kAmxDepth, place += kSlicedStep<slices>) {
            for (int k = 0; k < kAmxDepth; k += kLanes) {
                const Vector weights = step + k < count ? exp2(load(scores + first + step + k) - greatest) : Vector{};
                total += weights;
                const SlicedLanes<slices> lanes = sliced<slices>(weights * kMost<slices>);
                for (int s = 0; s < slices; ++s) std::memcpy(place + k + s * kAmxBytes, &lanes.digits[s], sizeof(Digits));
            }
        }
        tile += kSlicedScales + steps_of(count) * kSlicedStep<slices>;
    }
    return 1.0f / sum_of_lanes(total);
}

template <int slices>
std::size_t prepared_bytes(const AttentionTask& task) {
    return task.heads * Layout<slices>(task).bytes;
}

template <int slices>
std::size_t scratch_floats(const AttentionTask& task) {
    return static_cast<std::size_t>(kAmxSide) * padded_tokens(task) + sliced_bytes_of_16<slices>(task.tokens) / sizeof(float);
}

template <int slices>
void run_sliced_prepare(const AttentionTask& task, QkvView qkv, const HeadNorm& q_norm, const HeadNorm& k_norm, const float* rope,
                        std::uint8_t* prepared, float* /*scratch*/, Share work) {
    const Layout<slices> layout(task);
    const int span_length = sliced_span(task.tokens), spans = (task.tokens + span_length - 1) / span_length;
    const int panels = tiles_of_16(task.tokens), parts = panels + spans;
    for (int i = work.next(task.heads * parts); i < task.heads * parts; i = work.next(task.heads * parts)) {
        const int head = i / parts, part = i % parts;
        std::uint8_t* of_head = prepared + head * layout.bytes;
        if (part < panels) {
            prepare_tokens<slices>(task, {qkv, 0, head, q_norm, rope}, {qkv, 1, head, k_norm, rope}, part * kAmxSide, layout, of_head);
        } else {
            prepare_values<slices>(task, qkv, head, (part - panels) * span_length, of_head + layout.values);
        }
    }
}

template <int slices>
void run_sliced_attention(const AttentionTask& task, const std::uint8_t* prepared, const AttentionResult& result, float* scratch,
                          Share work) {
    const Layout<slices> layout(task);
    const int blocks = tiles_of_16(task.tokens), padded = padded_tokens(task), span_length = sliced_span(task.tokens);
    auto* weights = reinterpret_cast<std::uint8_t*>(scratch + static_cast<std::size_t>(kAmxSide) * padded);
    AmxTiles tiles;
    Products<slices> products;
    for (int i = work.next(task.heads * blocks); i < task.heads * blocks; i = work.next(task.heads * blocks)) {
        const int head = i / blocks, first = i % blocks * kAmxSide, rows = std::min(kAmxSide, task.tokens - first);
        const std::uint8_t *of_head = prepared + head * layout.bytes, *keys = of_head + layout.keys, *values = of_head + layout.values;
        const std::uint8_t* queries = of_head + i % blocks * sliced_bytes_of_16<slices>(task.head_dim);
        for (int n = 0; n < padded; n += kAmxSide, keys += sliced_bytes_of_16<slices>(task.head_dim))
            products.add(tiles, steps_of(task.head_dim), queries + kSlicedScales, keys + kSlicedScales,
                         {nullptr, keys, queries, {scratch + n, padded}, rows, true});
        products.finish();
        float factors[kAmxSide] = {};
        for (int r = 0; r < rows; ++r)
            factors[r] = soften<slices>(task, scratch + static_cast<std::size_t>(r) * padded, r, weights) * (1.0f / kMost<slices>);
        std::size_t start = 0;
        for (int t = 0; t < task.tokens; t += span_length) {
            const int steps = steps_of(std::min(span_length, task.tokens - t));
            for (int d = 0; d < task.head_dim; d += kAmxSide) {
                const std::uint8_t* columns = values + d / kAmxSide * sliced_bytes_of_16<slices>(task.tokens) + start;
                float* target = result.values.values + first * result.values.stride + head * task.head_dim + d;
                products.add(
                    tiles, steps, weights + start + kSlicedScales, columns + kSlicedScales,
                    {nullptr, columns, reinterpret_cast<const std::uint8_t*>(factors), {target, result.values.stride}, rows, t == 0});
            }
            start += kSlicedScales + steps * kSlicedStep<slices>;
        }
        products.finish();
    }
}

}  // namespace

const AttentionKernels kSlicedFloatAttention = {prepared_bytes<kOfFloats>, scratch_floats<kOfFloats>, run_sliced_prepare<kOfFloats>,
                                                run_sliced_attention<kOfFloats>, false};
const AttentionKernels kSlicedIntegerAttention = {prepared_bytes<kOfIntegers>, scratch_floats<kOfIntegers>, run_sliced_prepare<kOfIntegers>,
                                                  run_sliced_attention<kOfIntegers>, false};

}  // namespace da::kernels::DA_INSTRUCTION_SET
