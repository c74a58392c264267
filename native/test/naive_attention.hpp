// Attention by its definition, in double precision, with inputs to compute it of.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "kernels/attention.hpp"

namespace naive {

struct Attention {
    int heads, head_dim, tokens;
    bool norm, rope;
    std::vector<float> qkv, weight, bias, table;  // [tokens][3][heads][head_dim], [head_dim], [head_dim], [tokens][head_dim]

    Attention(int head_count, int dim, int token_count, bool with_norm, bool with_rope)
        : heads(head_count), head_dim(dim), tokens(token_count), norm(with_norm), rope(with_rope) {
        std::mt19937 random(1);
        std::normal_distribution<float> normal;
        const auto values = [&](int count) {
            std::vector<float> result(count);
            for (float& value : result) value = normal(random);
            return result;
        };
        qkv = values(tokens * 3 * width());
        weight = values(head_dim);
        bias = values(head_dim);
        for (int i = 0; i < tokens * head_dim; ++i)
            table.push_back(static_cast<float>(i / (head_dim / 4) % 2 == 0 ? std::cos(i * 0.7) : std::sin(i * 0.7)));
    }

    int width() const { return heads * head_dim; }
    da::kernels::AttentionTask task() const { return {heads, head_dim, tokens, 1e-5f}; }
    da::kernels::QkvView view() const { return {qkv.data(), 3 * width()}; }
    da::kernels::HeadNorm head_norm() const { return {norm ? weight.data() : nullptr, bias.data()}; }
    const float* turns() const { return rope ? table.data() : nullptr; }

    // One head of a query (part 0), key (1) or value (2).
    std::vector<double> vector(int part, int token, int head) const {
        std::vector<double> values(head_dim);
        for (int d = 0; d < head_dim; ++d) values[d] = qkv[(token * 3 + part) * width() + head * head_dim + d];
        if (norm && part < 2) {
            double mean = 0, variance = 0;
            for (const double value : values) mean += value / head_dim;
            for (const double value : values) variance += (value - mean) * (value - mean) / head_dim;
            for (int d = 0; d < head_dim; ++d) values[d] = (values[d] - mean) / std::sqrt(variance + 1e-5) * weight[d] + bias[d];
        }
        const int quarter = head_dim / 4;
        for (int half = 0; rope && part < 2 && half < 2; ++half) {
            for (int j = 0; j < quarter; ++j) {
                const double co = table[token * head_dim + 2 * half * quarter + j],
                             si = table[token * head_dim + (2 * half + 1) * quarter + j];
                double &a = values[2 * half * quarter + j], &b = values[(2 * half + 1) * quarter + j];
                const double old = a;
                a = a * co - b * si;
                b = b * co + old * si;
            }
        }
        return values;
    }

    // [tokens][heads][head_dim].
    std::vector<double> result() const {
        std::vector<double> all;
        for (int q = 0; q < tokens; ++q) {
            for (int head = 0; head < heads; ++head) {
                const std::vector<double> query = vector(0, q, head);
                std::vector<double> mixed(head_dim);
                double sum = 0;
                for (int k = 0; k < tokens; ++k) {
                    const std::vector<double> key = vector(1, k, head), value = vector(2, k, head);
                    double score = 0;
                    for (int d = 0; d < head_dim; ++d) score += query[d] * key[d];
                    const double share = std::exp(score / std::sqrt(head_dim));
                    sum += share;
                    for (int d = 0; d < head_dim; ++d) mixed[d] += share * value[d];
                }
                for (const double value : mixed) all.push_back(value / sum);
            }
        }
        return all;
    }
};

}  // namespace naive
