// A small test harness: TEST(group, name) { CHECK(...); } registers itself; main.cpp runs the groups that are asked for.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "depth_anything/error.hpp"

namespace check {

struct Test {
    std::string name;
    std::function<void()> run;
};

std::vector<Test>& tests();

// How long a test with random input goes on, for each instruction set: option --seconds, else 1.
int& seconds();

struct Registration {
    Registration(std::string name, std::function<void()> run) { tests().push_back({std::move(name), std::move(run)}); }
};

[[noreturn]] inline void fail(const char* file, int line, const std::string& what) {
    throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

// The error's text, when the action throws da::Error of that code.
inline std::string thrown(const char* file, int line, const std::string& code, const std::function<void()>& action) {
    try {
        action();
    } catch (const da::Error& error) {
        if (error.code() != code) fail(file, line, "error " + error.code() + " instead of " + code + ": " + error.what());
        return error.what();
    }
    fail(file, line, "no error, expected " + code);
}

// Runs a part of a test; its failure names the part.
inline void named(const std::string& part, const std::function<void()>& run) {
    try {
        run();
    } catch (const std::exception& error) {
        throw std::runtime_error(part + ": " + error.what());
    }
}

}  // namespace check

#define TEST(group, name)                                                                             \
    static void group##_##name();                                                                     \
    static const check::Registration registration_##group##_##name(#group "." #name, group##_##name); \
    static void group##_##name()

// Run once for each instruction set that this processor has, as `set`.
#define KERNEL_TEST(group, test)                                                                                                        \
    static void group##_##test##_of(const da::kernels::KernelSet& set);                                                                 \
    TEST(group, test) {                                                                                                                 \
        for (const auto* usable : da::kernels::usable_kernel_sets()) check::named(usable->name, [&] { group##_##test##_of(*usable); }); \
    }                                                                                                                                   \
    static void group##_##test##_of([[maybe_unused]] const da::kernels::KernelSet& set)

#define CHECK(condition)                                               \
    do {                                                               \
        if (!(condition)) check::fail(__FILE__, __LINE__, #condition); \
    } while (false)

#define CHECK_ERROR(code, action) check::thrown(__FILE__, __LINE__, code, [&] { action; })
#define CHECK_CONTAINS(text, part)                                                                                                \
    do {                                                                                                                          \
        const std::string checked = (text);                                                                                       \
        if (checked.find(part) == std::string::npos) check::fail(__FILE__, __LINE__, "'" + checked + "' lacks '" + (part) + "'"); \
    } while (false)
