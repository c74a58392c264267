#include "kernels/kernel_set.hpp"

#include "depth_anything/error.hpp"
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace da::kernels {

#if defined(__x86_64__)

namespace sse42 {
extern const KernelSet kKernels;
}
namespace avx2 {
extern const KernelSet kKernels;
}
namespace avx2_vnni {
extern const KernelSet kKernels;
}
namespace avx512 {
extern const KernelSet kKernels;
}
namespace avx512_vnni {
extern const KernelSet kKernels;
}

#if DA_HAS_AMX
namespace avx512_amx {
extern const KernelSet kKernels;
}
#endif

namespace {

// Tile registers, and products of bytes in them: leaf 7, bits 24 and 25 of EDX. The system gives the registers, which are many, to a
// process that asks (Linux: Documentation/arch/x86/xstate.rst).
[[maybe_unused]] bool has_amx() {
#if DA_AVX512_LOWERED
    return true;
#else
    constexpr unsigned tiles = 1u << 24, bytes = 1u << 25;
    constexpr long ask_for_registers = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 || (edx & tiles) == 0 || (edx & bytes) == 0) return false;
    return ::syscall(SYS_arch_prctl, ask_for_registers, tile_data) == 0;
#endif
}

// AVX-VNNI is younger than the compilers' own question for it: leaf 7.1, bit 4 of EAX.
[[maybe_unused]] bool has_avx_vnni() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax >> 4 & 1) != 0;
}

}  // namespace

// The processor's word, and the operating system's: registers that it does not save are not used.
std::vector<const KernelSet*> usable_kernel_sets() {
    __builtin_cpu_init();
    std::vector<const KernelSet*> usable;
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool has_avx512 = DA_AVX512_LOWERED || (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                                                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"));
    const bool has_vnni = DA_AVX512_LOWERED || __builtin_cpu_supports("avx512vnni");
#if DA_HAS_AMX
    if (has_avx2 && has_avx512 && has_vnni && has_amx()) usable.push_back(&avx512_amx::kKernels);
#endif
    if (has_avx2 && has_avx512 && has_vnni) usable.push_back(&avx512_vnni::kKernels);
    if (has_avx2 && has_avx512) usable.push_back(&avx512::kKernels);
#if DA_HAS_AVX2_VNNI
    if (has_avx2 && has_avx_vnni()) usable.push_back(&avx2_vnni::kKernels);
#endif
    if (has_avx2) usable.push_back(&avx2::kKernels);
    if (__builtin_cpu_supports("sse4.2")) usable.push_back(&sse42::kKernels);
    return usable;
}

#elif defined(__aarch64__)

namespace neon {
extern const KernelSet kKernels;
}

namespace neon_dotprod {
extern const KernelSet kKernels;
}

namespace neon_i8mm {
extern const KernelSet kKernels;
}

std::vector<const KernelSet*> usable_kernel_sets() {
    std::vector<const KernelSet*> usable;
#if DA_HAS_NEON_I8MM
    constexpr unsigned long i8mm = 1ul << 13;  // HWCAP2_I8MM, which is younger than the headers of some systems with such a compiler
    if ((getauxval(AT_HWCAP2) & i8mm) != 0) usable.push_back(&neon_i8mm::kKernels);
#endif
    if ((getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0) usable.push_back(&neon_dotprod::kKernels);
    usable.push_back(&neon::kKernels);  // every processor of the architecture has it
    return usable;
}

#else

namespace plain {
extern const KernelSet kKernels;
}

std::vector<const KernelSet*> usable_kernel_sets() {
    return {&plain::kKernels};
}

#endif

const KernelSet& kernel_set(const std::string& name) {
    const std::vector<const KernelSet*> usable = usable_kernel_sets();
    std::string names;
    for (const KernelSet* set : usable) {
        if (name.empty() || name == set->name) return *set;
        names += (names.empty() ? "" : ", ") + std::string(set->name);
    }
    if (usable.empty())
        throw Error("device.unavailable", "This processor has none of the instruction sets of this build: SSE4.2 at least is needed.");
    throw Error("device.unavailable",
                "Instruction set '" + name + "' cannot be used here; this processor and this build have " + names + ".");
}

}  // namespace da::kernels
