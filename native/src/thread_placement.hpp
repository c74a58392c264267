// Where a thread that sleeps wakes up. After some ten milliseconds of sleep Linux may wake it on the processor of the thread that calls it,
// although another one is idle, and moves it only milliseconds later: a short frame is over by then, and took twice its time.
#pragma once

#include <sched.h>

#include <optional>
#include <thread>

namespace da {

// Forbids a sleeping thread the calling thread's processor. Gives the processors that it had, for `run_on`; nothing where it keeps them,
// having no other.
std::optional<cpu_set_t> keep_off_this_processor(std::thread& sleeping);

// Lets the calling thread run on these again.
void run_on(const cpu_set_t& processors);

}  // namespace da
