# The tests of OpenCL, those of threads and memory, and the checks of what tests cannot see: a part of the Makefile, which includes
# it and explains the whole.

# ---- OpenCL ----------------------------------------------------------------------------------------------------------
KERNELS := kernels_embed/contract.h $(sort $(wildcard kernels_embed/*.cl))
# PoCL keeps compiled kernels: below build/, so that `make clean` takes them along.
export POCL_CACHE_DIR ?= $(CURDIR)/build/pocl
no_opencl = @echo "skipped: there are no OpenCL headers here, or no library to link with; make deps installs them"

build/embed_kernels: tools/embed_kernels.c $(BUILT_WITH) | build $(BEFORE)
	$(CC) -std=c99 -Wall -Wextra $(CPPFLAGS) $(CFLAGS) -o $@ $< $(LDFLAGS)
embed: build/embed_kernels ; build/embed_kernels $(HEADER_CL) $(KERNELS)
check-embed: build/embed_kernels
	@cp $(HEADER_CL) build/embedded.h && build/embed_kernels build/embedded.h $(KERNELS)
	@cmp -s $(HEADER_CL) build/embedded.h || { echo "$(HEADER_CL) is not made from $(KERNELS): make embed"; exit 1; }

# Cubes are compared with sums in double, so that without double the runtime and the signals are left.
CL_VARIANTS ?= float double nodouble asan
$(foreach v,float double asan,$(eval $(call runs,cl-$(v),$(CL_SUITES) $(CL_TESTS))))
$(eval $(call runs,cl-nodouble,$(filter-out test_cl_pixels,$(CL_TESTS))))

# A driver that breaks down on this machine (PoCL does without /sys) is not ours to test.
DRIVERS ?= pocl
test-cl: $(DRIVERS:%=test-cl-%)
test-cl-pocl: | build $(BEFORE)
	$(if $(OPENCL),@$(MAKE) build/devices && if build/devices; then $(MAKE) run-cl build/test-cache.run; \
		else echo "skipped: no OpenCL device works here"; fi,$(no_opencl))
build/test-cache.run: build/devices build/train ; @sh tests/run.sh one test-cache bash tests/device/test_cache.sh
run-cl: $(call share,$(CL_SHARE),$(foreach v,$(CL_VARIANTS),$(RUNS_cl-$(v))))
CL_SHORT := $(foreach v,float double,$(patsubst %,build/cl-$(v)/%,test_cl_selftest test_cl_products test_cl_compact test_cl_signals))
# As in test-cl-pocl the recipe asks for OpenCL: a list of prerequisites would have it asked for in each run of make.
test-cl-intel test-cl-rusticl: test-cl-%: | build $(BEFORE)
	$(if $(OPENCL),@$(MAKE) build/devices build/train $(CL_SHORT) && sh tests/device/cl_driver.sh $* $(CL_SHORT),$(no_opencl))
test-cl-oclgrind: test-oclgrind
cl-drivers-deps: | build ; @sh tests/install_deps.sh cl-drivers

# With every shape of every kernel.
test-cl-long: ; @SHS_LONG=1 $(MAKE) test-cl CL_SHARE=$(SHARE)
# Every access of every kernel is checked. test_cl_dynamic opens the real library.
OCLGRIND := $(patsubst %,build/cl-float/%,$(filter-out test_cl_dynamic,$(CL_TESTS)))
test-oclgrind: | build $(BEFORE)
	$(if $(OPENCL),@$(MAKE) $(OCLGRIND) && sh tests/device/oclgrind.sh $(OCLGRIND),$(no_opencl))

bench-cl: | build $(BEFORE) ; $(if $(OPENCL),@set -f; $(MAKE) build/bench_cl && build/bench_cl $(BENCH),$(no_opencl))
bench-cl-ranks: | build $(BEFORE)
	$(if $(OPENCL),@$(MAKE) build/bench_cl_ranks && build/bench_cl_ranks --devices $(or $(DEVICES),0),$(no_opencl))
build/bench_cl build/bench_cl_ranks: build/%: tests/bench/%.c $(BUILT_WITH) | build $(BEFORE)
	$(CC) -std=gnu17 -O3 -march=native $(CPPFLAGS) $(OPENMP) $(TRACK) -o $@ $< $(LDFLAGS) -lOpenCL -lm

# ---- threads and memory ----------------------------------------------------------------------------------------------
# Threads of the test's own, and those of OpenMP where clang's runtime tells ThreadSanitizer what waits for what (Archer; gcc's
# does not). The kernels are those of the compiler's flags: ThreadSanitizer does not see loads of more than 16 bytes.
test-tsan: | build $(BEFORE)
	$(if $(call probe,-fsanitize=thread),@$(MAKE) run-tsan,@echo "skipped: $(CC) has no ThreadSanitizer here")
	@if echo 'int main(void) { _Pragma("omp parallel") { } return 0; }' | $(OMP_CC) -fopenmp -fsanitize=thread -x c - \
		-o build/probe.archer && ARCHER_OPTIONS=verbose=1 build/probe.archer 2>&1 | grep -q 'Archer detected'; then \
		$(MAKE) run-tsan-openmp; else echo "skipped: $(OMP_CC) has no OpenMP with Archer here"; fi
$(foreach v,tsan tsan-openmp,$(eval $(call runs,$(v),test_threads test_thread_ranks)))
build/tsan%.run: RUN = TSAN_OPTIONS=ignore_noninstrumented_modules=$(if $(findstring openmp,$@),1,0)

# What is used must have been written. All code has to be compiled for it: the C library's part is in the sanitizer's runtime,
# and what stands in for cmocka is compiled with the tests. There are no real data: they would take too long.
MSAN_TESTS := $(addprefix test_,properties coding learning online patches cubes pca ica faults engines extremes eigen dense)

test-msan: | build $(BEFORE)
	$(if $(call probe,-fsanitize=memory,,$(MSAN_CC)),@$(MAKE) run-msan SHS_DATA=none,\
		@echo "skipped: $(MSAN_CC) has no MemorySanitizer here")
$(eval $(call runs,msan,$(MSAN_TESTS)))
# valgrind does not know AVX-512: the kernels are those of the compiler's flags.
test-valgrind: build/valgrind/test_faults
	@command -v valgrind >/dev/null || { echo "skipped: there is no valgrind here"; exit 0; }; \
		valgrind -q --error-exitcode=1 --leak-check=full --errors-for-leak-kinds=definite,indirect,possible ./$<

# Views of 10 to 20 GB of address space; some minutes.
test-large: build/float/large build/double/large ; @build/float/large; first=$$?; build/double/large && exit $$first

# ---- other checks ----------------------------------------------------------------------------------------------------

check-warnings: | build $(BEFORE) ; @COMPILERS="$(COMPILERS)" INSIDE="$(INSIDE)" sh tests/checks/check_warnings.sh
# The header alone, the rows in which most warnings show.
check-warnings-main: | build $(BEFORE) ; @COMPILERS="$(COMPILERS)" INSIDE="$(INSIDE)" sh tests/checks/check_warnings.sh main
check-warnings-cl: | build $(BEFORE)
	$(if $(OPENCL),@COMPILERS="$(COMPILERS)" INSIDE="$(INSIDE)" sh tests/checks/check_warnings.sh cl,$(no_opencl))

# Random inputs; fuzz-corpus keeps the smallest set of them that reaches as much. Before them builds of the library are compared
# with each other and with naive twins.
SECONDS ?= 60
SEED ?= 1
fuzz: run-differential ; @FUZZ_SECONDS=$(SECONDS) LEAKS=$(LEAKS) sh tests/fuzz/run.sh
fuzz-corpus: | build $(BEFORE) ; @LEAKS=$(LEAKS) sh tests/fuzz/run.sh corpus
run-differential: | build $(BEFORE)
	@CC="$(CC)" CFLAGS="$(CFLAGS)" sh tests/differential/run.sh $(if $(filter 0,$(SECONDS)),60,$(SECONDS)) $(SEED)

# What the headers offer, beside what the last release offered; the version in every file that repeats it; what a release consists
# of; and a test of these.
check-api record-api: | build ; @CC="$(CC)" sh tests/api/api.sh $(@:%-api=%)
check-version: ; @sh tools/version.sh check
dist: | build ; @URL="$(URL)" REPOSITORY="$(REPOSITORY)" CONTACT="$(CONTACT)" PARTS="$(PARTS)" \
	CC="$(CC)" OPENMP="$(OPENMP)" sh tools/dist.sh
test-release: | build ; @CC="$(CC)" bash tests/release/test_release.sh
# All checks, the archive, and what is left to a person.
release: check-version check-api
	@git diff --quiet HEAD || { echo "release: commit first"; exit 1; }
	$(MAKE) check-all && $(MAKE) dist URL="$(URL)" && sed -n '/^## Release/,$$p' tests/README.md
# The recipes of tools/packaging/, with the package managers that are here.
test-packaging: | build ; @CC="$(CC)" bash tests/release/test_packaging.sh
packaging-deps: | build ; @sh tests/install_deps.sh packaging
windows-deps: ; @sh tests/install_deps.sh windows

portability: | build $(BEFORE) ; @sh tests/portability/run.sh $(ROWS)
portability-deps: ; @sh tests/portability/install_deps.sh
cortex-m riscv: | build $(BEFORE) ; @CC="$(CC)" sh examples/cortex_m/run.sh $(filter riscv,$@)

# What CI leaves out: each target by itself, so that a failure does not keep the next one from being run.
PEOPLE := cortex-m riscv look-book test-playground test-texture-gl
people: | build $(BEFORE)
	@failed=; for t in $(PEOPLE); do echo "== $$t"; $(MAKE) $$t >build/people_$$t.log 2>&1 || failed="$$failed $$t"; \
		cat build/people_$$t.log; done; \
	for t in $(PEOPLE); do sed -n "s/.*skipped:* */people: $$t: skipped: /p" build/people_$$t.log; done; \
	[ -z "$$failed" ] || { echo "FAILED:$$failed"; exit 1; }
people-deps: ; @sh tests/install_deps.sh people
test-playground: build/hypercube | build $(BEFORE)
	@sh tests/programs/test_playground.sh
# A check as a suite of tests/run.sh: its output is in build/log/checks/.
CHECKS ?= usual memory compilers programs
check-all: ; @bash tests/checks.sh $(CHECKS)
build/checks/%.run: | build
	@sh tests/run.sh one checks/$* env -u SHS_RUN $(MAKE) -j$(or $(SHS_JOBS),2) $*
coverage: | build $(BEFORE) ; @CC="$(CC)" OPENMP="$(OPENMP)" TESTS="$(TESTS)" sh tests/checks/coverage.sh
mutants: | build $(BEFORE)
	@CC="$(CC)" OPENMP="$(OPENMP)" SANITIZE="$(SANITIZE)" INSIDE="$(INSIDE)" sh tests/mutants/run.sh
