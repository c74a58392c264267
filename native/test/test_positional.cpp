#include <cmath>

#include "check.hpp"
#include "model/positional.hpp"

TEST(positional, rope_table_of_local_and_global_blocks) {
    da::VitParams vit;
    vit.head_dim = 16;  // a quarter: 4 frequencies 100^(-j/4)
    const std::vector<float> local = da::rope_table({3, 2}, vit, false), global = da::rope_table({3, 2}, vit, true);
    CHECK(local.size() == 7u * 16u && global.size() == local.size());
    const auto angle = [&](const std::vector<float>& table, int token, int axis, int j) {
        return std::atan2(table[token * 16 + axis * 8 + 4 + j], table[token * 16 + axis * 8 + j]);
    };
    for (int j = 0; j < 4; ++j) {
        const double frequency = std::pow(100.0, -j / 4.0);
        CHECK(angle(local, 0, 0, j) == 0.0f && angle(global, 0, 1, j) == 0.0f);
        // Token 6 is the patch in row 1, column 2; positions start at 1.
        CHECK(std::abs(angle(local, 6, 0, j) - 2.0 * frequency) < 1e-6);
        CHECK(std::abs(angle(local, 6, 1, j) - 3.0 * frequency) < 1e-6);
        CHECK(std::abs(angle(global, 6, 0, j) - frequency) < 1e-6 && std::abs(angle(global, 6, 1, j) - frequency) < 1e-6);
    }
}

TEST(positional, a_flat_table_stays_flat_and_the_trained_grid_is_taken_as_it_is) {
    da::VitParams vit;
    vit.embed_dim = 2;
    vit.pos_embed_grid = 3;
    std::vector<float> table;
    for (int i = 0; i < 10; ++i) table.insert(table.end(), {5.0f, static_cast<float>(i)});
    CHECK(da::interpolate_pos_embed(table.data(), vit, {3, 3}) == table);
    const std::vector<float> resampled = da::interpolate_pos_embed(table.data(), vit, {7, 2});
    CHECK(resampled.size() == 30);
    CHECK(resampled[1] == 0.0f);  // the class token's row is never resampled
    for (std::size_t i = 0; i < resampled.size(); i += 2) CHECK(std::abs(resampled[i] - 5.0f) < 1e-5f);
}

TEST(positional, uv_embedding_of_the_corners) {
    // Square picture: both axes run over +-(n - 1) / n / sqrt(2); the first frequency is 1.
    const da::kernels::PositionTable table = da::uv_embedding(4, 2, 8, 1.0f);
    CHECK(table.x.size() == 16 && table.y.size() == 8);
    CHECK(std::abs(table.x[0] - 0.1 * std::sin(-0.75 / std::sqrt(2.0))) < 1e-7);
    CHECK(std::abs(table.x[3] - 0.1 * std::sin(0.75 / std::sqrt(2.0))) < 1e-7);
    CHECK(std::abs(table.y[0] - 0.1 * std::sin(-0.5 / std::sqrt(2.0))) < 1e-7);
    CHECK(std::abs(table.x[2 * 4] - 0.1 * std::cos(-0.75 / std::sqrt(2.0))) < 1e-7);
    const std::vector<float> tokens = da::as_tokens(table, 4, 2, 8);
    CHECK(tokens[0] == table.x[0] && tokens[4] == table.y[0] && tokens[8] == table.x[1]);
}
