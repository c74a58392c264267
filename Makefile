# Everything runs from a fresh clone and can be run again; what is already there is kept. With ROS 2 sourced, ROS's own Python is used.

PYTHON ?= python3
ROS := $(shell test -n "$$AMENT_PREFIX_PATH" && $(PYTHON) -c "import rclpy" 2>/dev/null && echo yes)
VENV := .local/$(if $(ROS),venv-ros,venv)
JOBS := $(shell nproc)
ARM64 := $(if $(filter aarch64,$(shell uname -m)),arm64-cpu,arm64-cross)
# Quoted, since the clone may lie at a path with spaces.
IN_VENV := PATH="$(CURDIR)/$(VENV)/bin:$$PATH" PYTHONWARNINGS=ignore::DeprecationWarning:setuptools
GGML := -Dggml_DIR="$(CURDIR)/.local/ggml/lib/cmake/ggml"
CLANG ?= $(firstword $(shell command -v clang++) $(wildcard /usr/bin/clang++-[0-9]*))
FUZZ_SECONDS ?= 600
CPP = find native -name "*.[ch]pp" -not -path "*/generated/*"

.PHONY: help build demo test test-all parity train lint format native-test python-test arm64-test avx512-test cuda-check legs wheels bench notebook viewer tidy fuzz clean

help:
	@echo "make demo              build, play a small camera bag into the node, show depth (MODEL=file.gguf IMAGES='folder/*.jpg' for your own)"
	@echo "make test              all fast checks: lint, C++ tests under sanitizers, Python and ROS tests"
	@echo "make test-all          the same and the slow ones: parity, arm64-test, avx512-test, cuda-check, legs, wheels"
	@echo "make arm64-test        the C++ tests for 64-bit Arm; on another machine cross-built, under qemu"
	@echo "make avx512-test       the AVX-512 kernels in other instructions, by SIMDe, on a processor without them (needs libsimde-dev)"
	@echo "make cuda-check        compile our sources and some of ggml's for CUDA, without a GPU, for x86_64 and Jetson (needs g++-aarch64-linux-gnu)"
	@echo "make wheels            portable wheels of this Python for x86_64 and aarch64, in build/wheels"
	@echo "make legs              the tests with other Pythons and the libraries of Ubuntu 22.04 and 24.04"
	@echo "make parity            compare with the official PyTorch model (installs PyTorch in an environment of its own)"
	@echo "make train             train the nano models from nothing, at the lowest priority (hours; see training/README.md)"
	@echo "make build             local environment, ggml, the extension, and depth-anything-ros in the bin of the environment"
	@echo "make bench             speed and memory of this machine (MODEL=file.gguf or da3-base; AGAINST=onnxruntime,openvino,torch after make parity)"
	@echo "make lint, format      check, or rewrite, the style of Python and C++"
	@echo "make notebook          run docs/notebooks/depth.ipynb again, with its results kept in it"
	@echo "make viewer            make the three.js of the report's page again, from npm"
	@echo "make tidy              clang-tidy over native/ (minutes)"
	@echo "make fuzz              ten minutes (FUZZ_SECONDS) of coverage-guided fuzzing for each reader of model files (needs Clang)"
	@echo "make clean             remove what was built (the environment stays in .local/)"

build:
	@command -v c++ >/dev/null || { echo "A C++ compiler is needed: apt install g++"; exit 1; }
	@$(PYTHON) tools/environment.py $(VENV) run ros build
	@$(IN_VENV) python tools/build_ggml.py .local/ggml
	@echo "Building the extension ..."
	@mkdir -p build
	@CMAKE_ARGS='$(GGML)' $(IN_VENV) python setup.py -q develop --no-deps --script-dir "$(CURDIR)/$(VENV)/bin" >build/extension.log 2>&1 || \
	    { cat build/extension.log; exit 1; }

demo: build
	@$(PYTHON) tools/environment.py $(VENV) demo
	@$(IN_VENV) python -m depth_anything_ros demo $${MODEL:+--model "$$MODEL"} $${IMAGES:+--images "$$IMAGES"}

test: lint native-test python-test
	@$(IN_VENV) python tools/cases.py build/native-tests.xml build/tests.xml

# The wheels are built and tried by the slow tests (test/packaging/test_wheels.py).
test-all: test parity arm64-test avx512-test cuda-check legs
	@echo "== slow tests"
	@$(IN_VENV) python -m pytest -m slow --junitxml=build/slow-tests.xml
	@$(IN_VENV) python tools/cases.py build/native-tests.xml build/tests.xml build/slow-tests.xml

legs: build
	@$(IN_VENV) python tools/legs.py

lint:
	@$(PYTHON) tools/environment.py $(VENV) run test
	@echo "== style and types"
	@$(IN_VENV) ruff check .
	@$(IN_VENV) ruff format --check .
	@$(IN_VENV) mypy
	@$(CPP) -print0 | $(IN_VENV) xargs -0 clang-format --dry-run -Werror

format:
	@$(PYTHON) tools/environment.py $(VENV) run test
	@$(IN_VENV) ruff check --fix .
	@$(IN_VENV) ruff format .
	@$(CPP) -print0 | $(IN_VENV) xargs -0 clang-format -i

native-test: build
	@echo "== C++ tests under AddressSanitizer and UndefinedBehaviorSanitizer"
	@$(IN_VENV) cmake -S native -B build/sanitize -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DDA_SANITIZE=ON -DDA_WARNINGS_AS_ERRORS=ON \
	    -DDA_BUILD_TESTS=ON -DDA_BUILD_PYTHON=OFF -DCMAKE_EXPORT_COMPILE_COMMANDS=ON $(GGML) --log-level=WARNING
	@$(IN_VENV) cmake --build build/sanitize --parallel $(JOBS)
	@$(IN_VENV) ctest --test-dir build/sanitize --output-on-failure --no-tests=error --output-junit "$(CURDIR)/build/native-tests.xml"

arm64-test:
	@$(PYTHON) tools/environment.py $(VENV) build
	@for tool in $(if $(filter aarch64,$(shell uname -m)),c++,aarch64-linux-gnu-g++ qemu-aarch64); do command -v $$tool >/dev/null || \
	    { echo "$$tool is missing; on Debian and Ubuntu: apt install g++ g++-aarch64-linux-gnu qemu-user"; exit 1; }; done
	@echo "== C++ tests for 64-bit Arm"
	@$(IN_VENV) python tools/build_ggml.py .local/ggml-$(ARM64) --preset $(ARM64)
	@$(IN_VENV) cmake -S native --preset $(ARM64) -B build/$(ARM64) -G Ninja -DDA_BUILD_TESTS=ON -DDA_WARNINGS_AS_ERRORS=ON \
	    -Dggml_DIR="$(CURDIR)/.local/ggml-$(ARM64)/lib/cmake/ggml" --log-level=WARNING
	@$(IN_VENV) cmake --build build/$(ARM64) --parallel $(JOBS)
	@$(IN_VENV) ctest --test-dir build/$(ARM64) --output-on-failure --no-tests=error --parallel $(JOBS)

avx512-test: build
	@echo "== AVX-512 kernels by SIMDe"
	@$(IN_VENV) cmake -S native -B build/avx512 -G Ninja -DDA_AVX512_LOWERED=ON -DDA_BUILD_TESTS=ON -DDA_WARNINGS_AS_ERRORS=ON $(GGML) --log-level=WARNING
	@$(IN_VENV) cmake --build build/avx512 --target da_tests --parallel $(JOBS)
	@$(IN_VENV) ctest --test-dir build/avx512 --output-on-failure --no-tests=error -R "kernels|products|integers|slices|shapes"

cuda-check:
	@$(PYTHON) tools/environment.py $(VENV) build
	@for preset in x86-cuda l4t-arm64-cuda l4t-arm64-cuda13; do $(IN_VENV) python tools/cuda_check.py .local/cuda $$preset || exit 1; done

wheels:
	@$(PYTHON) tools/environment.py $(VENV) build
	@$(IN_VENV) python tools/wheels.py build/wheels x86-cpu
	@$(IN_VENV) python tools/wheels.py build/wheels arm64-cross

python-test: build
	@$(PYTHON) tools/environment.py $(VENV) demo test
	@echo "== Python and ROS tests"
	@$(IN_VENV) python -m pytest -m "not slow and not parity" --junitxml=build/tests.xml

parity: build
	@$(PYTHON) tools/environment.py $(VENV) demo test
	@echo "== parity with the official PyTorch model"
	@$(IN_VENV) python tools/parity_environment.py .local/parity
	@$(IN_VENV) python -m pytest -m parity

train:
	@$(PYTHON) tools/environment.py $(VENV) run test
	@$(IN_VENV) python tools/parity_environment.py .local/parity
	@OMP_NUM_THREADS=1 nice -n 19 .local/parity/bin/python -m training.recipe

bench: build
	@$(IN_VENV) python -m depth_anything_ros bench $${MODEL:+--model "$$MODEL"} $${AGAINST:+--against "$$AGAINST" --beside-busy}
	@$(IN_VENV) python -m depth_anything_ros bench $${MODEL:+--model "$$MODEL"} --study parts,load,around,growth

notebook: build
	@$(PYTHON) tools/environment.py $(VENV) run ros test
	@$(IN_VENV) python tools/notebook.py docs/notebooks/depth.ipynb

viewer:
	@command -v npm >/dev/null || { echo "npm is needed: apt install npm"; exit 1; }
	@cd tools/viewer && npm ci --no-fund --no-audit && npm run build
	@cp tools/viewer/node_modules/three/LICENSE depth_anything_ros/report/assets/three.LICENSE

tidy: native-test
	@$(PYTHON) tools/environment.py $(VENV) tidy
	@$(CPP) -name "*.cpp" -not -path "*/python/*" -print0 | $(IN_VENV) xargs -0 clang-tidy --quiet -p build/sanitize

fuzz: build
	@test -n "$(CLANG)" || { echo "Clang and its runtime are needed: apt install clang libclang-rt-dev"; exit 1; }
	@$(PYTHON) tools/environment.py $(VENV) run test fuzz
	@$(IN_VENV) cmake -S native -B build/fuzz -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER="$(CLANG)" -DDA_SANITIZE=ON \
	    -DDA_FUZZ=ON -DDA_BUILD_TESTS=ON $(GGML) --log-level=WARNING
	@$(IN_VENV) cmake --build build/fuzz --target fuzz_read_gguf fuzz_load_model --parallel $(JOBS)
	@$(IN_VENV) python test/fuzz/run_all.py build/fuzz $(FUZZ_SECONDS)

clean:
	rm -rf build dist install log *.egg-info .pytest_cache .mypy_cache .ruff_cache
	find depth_anything_ros test tools training launch native -name __pycache__ -prune -exec rm -rf {} +
	rm -f depth_anything_ros/*.so
