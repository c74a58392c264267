#include <cmath>

#include "check.hpp"
#include "model/positional.hpp"

TEST(positional, rope_positions_start_at_one_behind_the_class_token) {
    const da::RopePositions local = da::rope_positions({3, 2}, false);
    CHECK(local.y == (std::vector<std::int32_t>{0, 1, 1, 1, 2, 2, 2}));
    CHECK(local.x == (std::vector<std::int32_t>{0, 1, 2, 3, 1, 2, 3}));
    const da::RopePositions global = da::rope_positions({3, 2}, true);
    CHECK(global.y == (std::vector<std::int32_t>{0, 1, 1, 1, 1, 1, 1}) && global.x == global.y);
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
