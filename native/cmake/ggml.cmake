# Provides the target ggml::ggml (static, position independent, hidden symbols; headers ggml.h, ggml-cpu.h, ggml-backend.h, gguf.h).
# Nothing of ggml lies in this tree; it comes from the first of these that applies:
#   1. -DDA_GGML_SOURCE=<folder>    a source tree of ggml
#   2. an installed CMake package   -Dggml_DIR=<prefix>/lib/cmake/ggml, or found through CMAKE_PREFIX_PATH; static libraries only
#   3. -DDA_GGML_DOWNLOAD=ON        the pinned commit from GitHub
#   4. otherwise                    the same source from the sdist of libggml-python on PyPI, by pip, checked by SHA-256

set(DA_GGML_VERSION 0.20.2)
set(DA_GGML_COMMIT 8c63e70982c95ceb862e3a1073a2c1beef75d60a)
set(DA_GGML_SOURCE "" CACHE PATH "Source folder of ggml ${DA_GGML_VERSION}; empty takes an installed package or fetches the source")
option(DA_GGML_DOWNLOAD "Fetch ggml from GitHub instead of PyPI" OFF)

include(${CMAKE_CURRENT_LIST_DIR}/ggml_options.cmake)
set(DA_GGML_FOLDER ${CMAKE_CURRENT_LIST_DIR})

# Sets DA_GGML_INSTALLED in the caller: whether find_package(ggml) will give static libraries of the right version.
function(da_probe_installed_ggml)
    set(asked "${ggml_DIR}")
    add_subdirectory(${DA_GGML_FOLDER}/ggml_probe ${CMAKE_BINARY_DIR}/ggml_probe EXCLUDE_FROM_ALL)
    if(DA_GGML_FOUND AND DA_GGML_LIBRARY MATCHES "\\${CMAKE_STATIC_LIBRARY_SUFFIX}$")
        set(DA_GGML_INSTALLED TRUE PARENT_SCOPE)
        return()
    endif()
    set(DA_GGML_INSTALLED FALSE PARENT_SCOPE)
    unset(ggml_DIR CACHE)
    if(asked AND DA_GGML_FOUND)
        message(FATAL_ERROR "ggml_DIR=${asked} leads to ${DA_GGML_LIBRARY}, a shared library; the engine links ggml statically. "
                            "Build a static one with tools/build_ggml.py, or leave ggml_DIR away.")
    elseif(asked)
        message(FATAL_ERROR "ggml_DIR=${asked} holds no CMake package of ggml ${DA_GGML_VERSION}. "
                            "Build one with tools/build_ggml.py, or leave ggml_DIR away.")
    elseif(DA_GGML_FOUND)
        message(STATUS "ggml: ${DA_GGML_LIBRARY} is shared and is not used")
    endif()
endfunction()

# Sets DA_GGML_SOURCE in the caller to the source folder of the sdist, fetched once into the build tree.
function(da_fetch_ggml_by_pip)
    find_package(Python REQUIRED COMPONENTS Interpreter)
    message(STATUS "ggml: taking the source of ${DA_GGML_VERSION} from PyPI")
    execute_process(
        COMMAND ${Python_EXECUTABLE} ${DA_GGML_FOLDER}/fetch_ggml.py ${CMAKE_BINARY_DIR}/ggml-source
        OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
    if(failed)
        message(FATAL_ERROR "ggml ${DA_GGML_VERSION} could not be fetched by pip (see above). "
                            "Give -DDA_GGML_SOURCE=<folder>, -Dggml_DIR=<package> or -DDA_GGML_DOWNLOAD=ON instead.")
    endif()
    set(DA_GGML_SOURCE "${folder}" PARENT_SCOPE)
endfunction()

# The same from GitHub; the commit id is its checksum.
function(da_fetch_ggml_by_git)
    include(FetchContent)
    message(STATUS "ggml: taking the source of ${DA_GGML_VERSION} from GitHub")
    # SOURCE_SUBDIR names a folder that does not exist, so that MakeAvailable fetches only: the folder is added below, as in the other cases.
    FetchContent_Declare(
        ggml_checkout GIT_REPOSITORY https://github.com/ggml-org/ggml.git GIT_TAG ${DA_GGML_COMMIT} SOURCE_SUBDIR not-added-here)
    FetchContent_MakeAvailable(ggml_checkout)
    set(DA_GGML_SOURCE "${ggml_checkout_SOURCE_DIR}" PARENT_SCOPE)
endfunction()

function(da_check_ggml_source folder)
    if(NOT EXISTS "${folder}/CMakeLists.txt" OR NOT EXISTS "${folder}/include/ggml.h")
        message(FATAL_ERROR "DA_GGML_SOURCE=${folder} is no source tree of ggml: CMakeLists.txt or include/ggml.h is missing there.")
    endif()
    set(found "")
    file(STRINGS "${folder}/CMakeLists.txt" lines REGEX "^set\\(GGML_VERSION_(MAJOR|MINOR|PATCH) [0-9]+\\)")
    foreach(line IN LISTS lines)
        string(REGEX REPLACE ".* ([0-9]+)\\)" "\\1" number "${line}")
        list(APPEND found ${number})
    endforeach()
    list(JOIN found "." found)
    if(NOT found STREQUAL DA_GGML_VERSION)
        message(FATAL_ERROR "DA_GGML_SOURCE=${folder} is ggml ${found}; the engine is written for ${DA_GGML_VERSION}.")
    endif()
endfunction()

set(DA_GGML_INSTALLED FALSE)
if(NOT DA_GGML_SOURCE)
    da_probe_installed_ggml()
endif()

if(DA_GGML_INSTALLED)
    find_package(ggml ${DA_GGML_VERSION} EXACT CONFIG REQUIRED)
    # The package leaves these to the application; glibc before 2.34 keeps them apart.
    find_package(Threads REQUIRED)
    set_property(TARGET ggml::ggml-base APPEND PROPERTY INTERFACE_LINK_LIBRARIES Threads::Threads ${CMAKE_DL_LIBS} m)
    set(ggml_target ggml::ggml)
    message(STATUS "ggml: ${DA_GGML_VERSION} installed in ${ggml_DIR}")
else()
    if(NOT DA_GGML_SOURCE AND DA_GGML_DOWNLOAD)
        da_fetch_ggml_by_git()
    elseif(NOT DA_GGML_SOURCE)
        da_fetch_ggml_by_pip()
    endif()
    da_check_ggml_source("${DA_GGML_SOURCE}")
    message(STATUS "ggml: ${DA_GGML_VERSION} built from ${DA_GGML_SOURCE}")
    # Its install rules stay out of ours: everything is linked into our own files.
    add_subdirectory("${DA_GGML_SOURCE}" ${CMAKE_BINARY_DIR}/ggml EXCLUDE_FROM_ALL)
    set(ggml_target ggml)
endif()
# A few template instances of ggml escape the visibility preset.
if(NOT DA_FUZZ)  # Clang's sanitizers are static libraries that must be seen from outside
    set_property(TARGET ${ggml_target} APPEND PROPERTY INTERFACE_LINK_OPTIONS "LINKER:--exclude-libs,ALL")
endif()
