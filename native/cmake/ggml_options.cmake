# How ggml is built for this project. Read in two ways: as an initial cache (cmake -C) when ggml is built and installed by itself, and
# by include() when it is built as a part of this project. A value given with -D wins over a value here.
set(BUILD_SHARED_LIBS OFF CACHE BOOL "Static libraries: another ggml in the same process must not meet ours")
set(CMAKE_POSITION_INDEPENDENT_CODE ON CACHE BOOL "The static libraries end up in a Python extension")
set(CMAKE_C_VISIBILITY_PRESET hidden CACHE STRING "Hidden symbols, for the same reason as static libraries")
set(CMAKE_CXX_VISIBILITY_PRESET hidden CACHE STRING "Hidden symbols, for the same reason as static libraries")
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON CACHE BOOL "Hidden symbols, for the same reason as static libraries")
set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type")
set(GGML_OPENMP OFF CACHE BOOL "ggml's own thread pool: OpenMP's would outlive the engine and fight with others in the process")
set(GGML_LLAMAFILE ON CACHE BOOL "Tiled matrix products")
set(GGML_CCACHE OFF CACHE BOOL "The launcher is the caller's choice (CMAKE_C_COMPILER_LAUNCHER)")
set(GGML_BUILD_TESTS OFF CACHE BOOL "")
set(GGML_BUILD_EXAMPLES OFF CACHE BOOL "")
