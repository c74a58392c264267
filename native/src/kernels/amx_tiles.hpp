// The tile registers of AMX: eight of 1 KiB, and products of two of them, added to a third. Where the compiler has no AMX (for tests, see
// DA_AVX512_LOWERED) they are arrays, and products plain loops.
#pragma once

#include <cstdint>
#include <cstring>

namespace da::kernels::DA_INSTRUCTION_SET {

constexpr int kAmxSide = 16;                     // rows of a register, and columns of a product
constexpr int kAmxDepth = 64;                    // bytes of a row: what one product adds up
constexpr int kAmxGroup = 4;                     // of them lie together in a tile of columns: [depth / 4][column][4]
constexpr int kAmxBytes = kAmxSide * kAmxDepth;  // of a tile of rows, one of columns, and one of sums
constexpr int kAmxSums = kAmxBytes / sizeof(std::int32_t);

#if defined(__AMX_INT8__)

// Beside a busy thread of the same core, loads and products that follow at once hold each other up: with a little rest after each a step
// of eight products took 160 to 180 instead of 240 to 260 ns, and alone on the core the same 68 (Sapphire Rapids).
#define DA_REST "\n.rept 8\nnop\n.endr"

// A thread has them while this lives.
class AmxTiles {
  public:
    AmxTiles() {
        struct alignas(64) {
            std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
            std::uint16_t bytes_of_a_row[16] = {};
            std::uint8_t rows[16] = {};
        } shapes;
        for (int i = 0; i < 8; ++i) {
            shapes.bytes_of_a_row[i] = kAmxDepth;
            shapes.rows[i] = kAmxSide;
        }
        asm volatile("ldtilecfg %0" ::"m"(shapes));
    }
    ~AmxTiles() { asm volatile("tilerelease" ::: "memory"); }
    AmxTiles(const AmxTiles&) = delete;
    AmxTiles& operator=(const AmxTiles&) = delete;

    template <int tile>
    void clear() {
        asm volatile("tilezero %%tmm%c0" ::"i"(tile));
    }

    template <int tile>
    void load(const std::uint8_t* source) {
        asm volatile("tileloadd (%0,%1,1), %%tmm%c2" DA_REST ::"r"(source), "r"(std::int64_t{kAmxDepth}), "i"(tile) : "memory");
    }

    template <int tile>
    void store(std::int32_t* sums) {
        asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(sums), "r"(std::int64_t{kAmxDepth}), "i"(tile) : "memory");
    }

    // sums += rows times columns, of signed bytes.
    template <int sums, int rows, int columns>
    void multiply() {
        asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" DA_REST ::"i"(sums), "i"(rows), "i"(columns));
    }
};

#undef DA_REST

#else

class AmxTiles {
  public:
    template <int tile>
    void clear() {
        std::memset(memory_[tile], 0, kAmxBytes);
    }

    template <int tile>
    void load(const std::uint8_t* source) {
        std::memcpy(memory_[tile], source, kAmxBytes);
    }

    template <int tile>
    void store(std::int32_t* sums) {
        std::memcpy(sums, memory_[tile], kAmxBytes);
    }

    template <int sums, int rows, int columns>
    void multiply() {
        std::uint32_t totals[kAmxSums];  // unsigned: what is no number may wrap
        std::memcpy(totals, memory_[sums], kAmxBytes);
        for (int r = 0; r < kAmxSide; ++r) {
            for (int k = 0; k < kAmxDepth; ++k) {
                const std::int32_t value = memory_[rows][r * kAmxDepth + k];
                const std::int8_t* group = memory_[columns] + k / kAmxGroup * kAmxDepth + k % kAmxGroup;
                for (int c = 0; c < kAmxSide; ++c) totals[r * kAmxSide + c] += static_cast<std::uint32_t>(value * group[c * kAmxGroup]);
            }
        }
        std::memcpy(memory_[sums], totals, kAmxBytes);
    }

  private:
    std::int8_t memory_[8][kAmxBytes];
};

#endif

}  // namespace da::kernels::DA_INSTRUCTION_SET
