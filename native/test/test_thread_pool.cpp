#include <chrono>
#include <vector>

#include "check.hpp"
#include "thread_pool.hpp"

TEST(thread_pool, every_piece_is_done_once_by_any_number_of_threads) {
    for (const int threads : {1, 2, 3, 16}) {
        da::ThreadPool pool(threads);
        CHECK(pool.threads() == threads);
        for (int round = 0; round < 300; ++round) {
            std::vector<std::atomic<int>> done(97);
            std::atomic<int> next{0};
            pool.run([&](int thread) {
                CHECK(thread >= 0 && thread < threads);
                for (int i = next++; i < 97; i = next++) ++done[i];
            });
            for (const auto& count : done) CHECK(count == 1);
        }
    }
}

TEST(thread_pool, workers_take_part) {
    da::ThreadPool pool(2);
    std::atomic<int> seen{0};
    pool.run([&](int thread) {
        seen |= 1 << thread;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (seen != 3 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    });
    CHECK(seen == 3);
}

TEST(thread_pool, nobody_is_in_a_share_after_run) {
    da::ThreadPool pool(4);
    for (int round = 0; round < 500; ++round) {
        std::atomic<int> inside{0};
        pool.run([&](int) {
            ++inside;
            --inside;
        });
        CHECK(inside == 0);
    }
}

TEST(thread_pool, pools_come_and_go) {
    for (int i = 0; i < 100; ++i) da::ThreadPool(3).run([](int) {});
    for (int i = 0; i < 100; ++i) da::ThreadPool pool(3);
}
