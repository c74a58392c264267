#include "thread_placement.hpp"

#include <pthread.h>

namespace da {

std::optional<cpu_set_t> keep_off_this_processor(std::thread& sleeping) {
    const int here = sched_getcpu();
    cpu_set_t allowed;
    if (here < 0 || pthread_getaffinity_np(sleeping.native_handle(), sizeof(allowed), &allowed) != 0) return std::nullopt;
    cpu_set_t others = allowed;
    CPU_CLR(here, &others);
    if (CPU_COUNT(&others) == 0 || CPU_EQUAL(&others, &allowed)) return std::nullopt;
    if (pthread_setaffinity_np(sleeping.native_handle(), sizeof(others), &others) != 0) return std::nullopt;
    return allowed;
}

void run_on(const cpu_set_t& processors) {
    pthread_setaffinity_np(pthread_self(), sizeof(processors), &processors);
}

}  // namespace da
