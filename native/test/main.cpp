// da_tests [--seconds N] [GROUP | GROUP.TEST ...]: runs the tests of the groups and those named, or all.
// Those with random input run for N seconds.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "check.hpp"

std::vector<check::Test>& check::tests() {
    static std::vector<Test> all;  // registrations run before main, in no fixed order
    return all;
}

int& check::seconds() {
    static int seconds = 1;
    return seconds;
}

int main(int count, char** arguments) {
    if (count > 2 && std::strcmp(arguments[1], "--seconds") == 0) {
        check::seconds() = std::atoi(arguments[2]);
        count -= 2;
        arguments += 2;
    }
    int passed = 0, failed = 0;
    for (const check::Test& test : check::tests()) {
        const std::string group = test.name.substr(0, test.name.find('.'));
        const auto named = [&](const char* name) { return group == name || test.name == name; };
        const bool wanted = count == 1 || std::any_of(arguments + 1, arguments + count, named);
        if (!wanted) continue;
        try {
            test.run();
            ++passed;
            std::printf("ok    %s\n", test.name.c_str());
        } catch (const std::exception& error) {
            ++failed;
            std::printf("FAIL  %s\n      %s\n", test.name.c_str(), error.what());
        }
        std::fflush(stdout);
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}
