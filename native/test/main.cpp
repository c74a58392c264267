// da_tests [GROUP ...]: runs the tests of the groups, or all.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "check.hpp"

std::vector<check::Test>& check::tests() {
    static std::vector<Test> all;  // registrations run before main, in no fixed order
    return all;
}

int main(int count, char** arguments) {
    int passed = 0, failed = 0;
    for (const check::Test& test : check::tests()) {
        const std::string group = test.name.substr(0, test.name.find('.'));
        const bool wanted = count == 1 || std::any_of(arguments + 1, arguments + count, [&](const char* name) { return group == name; });
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
