# Cross build for 64-bit Arm with the compiler of Debian and Ubuntu (apt: g++-aarch64-linux-gnu); programs run under qemu (apt: qemu-user).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;/usr/aarch64-linux-gnu)
# What is given with -D is searched too: the CUDA toolkit, whose headers are the same for every machine.
list(APPEND CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
# Packages of this build (ggml, pybind11) are named by -D..._DIR and lie outside of the root.
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
