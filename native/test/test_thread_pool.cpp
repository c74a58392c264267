#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.hpp"
#include "kernels/pieces.hpp"
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

// Without help Linux wakes the worker beside the caller on most of these.
TEST(thread_pool, a_worker_that_slept_wakes_on_another_processor_and_keeps_all_of_its_own) {
    cpu_set_t allowed;
    CHECK(sched_getaffinity(0, sizeof(allowed), &allowed) == 0);
    if (CPU_COUNT(&allowed) < 2) return;
    constexpr int rounds = 20;
    da::ThreadPool pool(2);
    int apart = 0;
    for (int round = 0; round < rounds; ++round) {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        std::atomic<int> processors[2] = {-1, -1};
        pool.run([&](int thread) {
            cpu_set_t own;
            CHECK(thread == 0 || (sched_getaffinity(0, sizeof(own), &own) == 0 && CPU_EQUAL(&own, &allowed)));
            processors[thread] = sched_getcpu();
            const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
            while (processors[1 - thread] < 0 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
        });
        apart += processors[0] != processors[1];
    }
    CHECK(apart >= rounds / 2);
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

TEST(thread_pool, pieces_are_handed_out_once_and_those_of_the_late_by_others) {
    const std::atomic<bool> never{false};
    for (const int count : {0, 1, 5, 97}) {
        for (const int threads : {1, 2, 3, 7}) {
            da::kernels::Pieces pieces(threads, never);
            for (int round = 0; round < 2; ++round, pieces.restart()) {
                std::vector<int> done(count);
                for (const int thread : {threads - 1, 0}) {  // the others never come
                    const da::kernels::Share share = pieces.share(thread);
                    for (int i = share.next(count); i < count; i = share.next(count)) ++done[i];
                }
                CHECK(done == std::vector<int>(count, 1));
            }
        }
    }
}

TEST(thread_pool, a_thread_begins_with_neighbours_and_ends_when_cancelled) {
    std::atomic<bool> cancelled{false};
    da::kernels::Pieces pieces(2, cancelled);
    CHECK(pieces.share(0).next(10) == 0 && pieces.share(1).next(10) == 5);
    CHECK(pieces.share(0).next(10) == 1 && pieces.share(1).next(10) == 6);
    cancelled = true;
    CHECK(pieces.share(0).next(10) == 10 && pieces.share(1).next(10) == 10);
}

TEST(thread_pool, what_a_share_throws_is_thrown_to_the_caller_when_nobody_is_in_it) {
    da::ThreadPool pool(3);
    for (int round = 0; round < 100; ++round) {
        std::atomic<int> inside{0};
        bool caught = false;
        try {
            pool.run([&](int thread) {
                ++inside;
                if (round % 2 == 0 || thread == 0) throw std::runtime_error((--inside, "no memory"));
                std::this_thread::sleep_for(std::chrono::microseconds(100));
                --inside;
            });
        } catch (const std::runtime_error&) {
            caught = true;
        }
        CHECK(caught && inside == 0);
    }
    std::atomic<int> calls{0};
    pool.run([&](int) { ++calls; });
    CHECK(calls >= 1);
}

// Threads with stacks larger than the address space: the system cannot start them.
TEST(thread_pool, threads_that_the_system_does_not_give) {
    pthread_attr_t usual, huge;
    CHECK(pthread_getattr_default_np(&usual) == 0 && pthread_attr_init(&huge) == 0);
    CHECK(pthread_attr_setstacksize(&huge, std::size_t{3} << 45) == 0 && pthread_setattr_default_np(&huge) == 0);
    std::string text;
    try {
        da::ThreadPool pool(4);
    } catch (const da::Error& error) {
        text = error.code() + ": " + error.what();
    }
    CHECK(pthread_setattr_default_np(&usual) == 0);
    CHECK_CONTAINS(text, "device.unavailable: The system starts only");
}

// The child has no workers, but handles of them, that lead to the parent's; locks and waiting that nobody ends.
TEST(thread_pool, a_forked_process_works_alone_and_leaves_the_workers_of_its_parent) {
    auto pool = std::make_unique<da::ThreadPool>(3);
    cpu_set_t allowed;
    CHECK(sched_getaffinity(0, sizeof(allowed), &allowed) == 0);
    pool->run([](int) {});
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // until they sleep
    const pid_t child = ::fork();
    if (child == 0) {
        std::atomic<int> next{0};
        pool->run([&](int) {
            while (next < 97) ++next;
        });
        pool.reset();
        ::_exit(next == 97 ? 0 : 1);
    }
    int status = -1;
    pid_t ended = 0;
    for (int i = 0; i < 1000 && ended == 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        ended = ::waitpid(child, &status, WNOHANG);
    }
    if (ended == 0) {
        ::kill(child, SIGKILL);
        ::waitpid(child, &status, 0);
    }
    CHECK(ended == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    std::atomic<int> seen{0};
    pool->run([&](int thread) {
        cpu_set_t own;
        CHECK(thread == 0 || (sched_getaffinity(0, sizeof(own), &own) == 0 && CPU_EQUAL(&own, &allowed)));
        seen |= 1 << thread;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (seen != 7 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    });
    CHECK(seen == 7);
}
