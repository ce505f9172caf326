# sparsehs is one header: nothing here has to be run to use it. `make` lists the targets.

CC ?= cc
CFLAGS ?= -O2
CPPFLAGS ?=
LDFLAGS ?=
IMAGE ?=
SHS_DATA ?= ../shared/data
export SHS_DATA
# Threads that wait by spinning would starve the tests that run beside them.
export OMP_WAIT_POLICY ?= passive

HEADER := sparsehs.h
TESTS := $(filter-out test_cl_%,$(patsubst tests/%.c,%,$(wildcard tests/test_*.c)))
EXAMPLES := $(filter-out build/devices,$(patsubst examples/%.c,build/%,$(wildcard examples/*.c)))
COMPILERS := $(foreach c,gcc clang,$(if $(shell command -v $(c) 2>/dev/null),$(c)))

# With several goals and jobs, deps still comes first.
BEFORE := $(filter deps,$(MAKECMDGOALS))

# $(call probe,flag,environment,compiler): the flag if a program built with it runs. Asked only when needed and only once: in
# `make deps test` the compiler may come with deps.
probe = $(shell mkdir -p build; p=build/probe.$$$$; echo 'int main(void) { return 0; }' | \
	$(or $(3),$(CC)) $(1) -x c - -o $$p 2>/dev/null && $(2) ./$$p >/dev/null 2>&1 && echo '$(1)'; rm -f $$p)
OPENMP = $(eval OPENMP := $$(call probe,-fopenmp))$(OPENMP)
comma := ,
SANITIZE = $(eval SANITIZE := $$(call probe,-fsanitize=address$$(comma)undefined))$(SANITIZE)

# One folder a variant of the build.
FLAGS_float := $(CFLAGS)
FLAGS_double := $(CFLAGS) -DSPARSEHS_DOUBLE
FLAGS_nodouble := $(CFLAGS) -DSPARSEHS_NO_DOUBLE
FLAGS_fastmath := $(CFLAGS) -ffast-math
FLAGS_pasted := $(CFLAGS) -DSHS__PASTED
FLAGS_asan = -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all $(SANITIZE)
FLAGS_asandouble = $(FLAGS_asan) -DSPARSEHS_DOUBLE

.PHONY: help demo examples test test-float test-double test-context test-asan run-asan test-examples check-links check-claims \
	check-vendoring check-warnings deps bench bench-deps pictures clean \
	embed check-embed test-cl run-cl test-oclgrind check-warnings-cl bench-cl portability portability-deps cortex-m \
	fuzz run-differential run-fuzz fuzz-corpus coverage mutants test-large test-tsan run-tsan run-tsan-openmp test-msan run-msan \
	test-valgrind
.DELETE_ON_ERROR:

help:
	@echo "make demo            denoise a picture, learn a dictionary from it, find the components of a cube"
	@echo "                     (IMAGE=file.pgm CUBE=file.hdr, or they are found, or drawn; DEVICE=cpu|gpu|auto|NAME)"
	@echo "make test            all tests in float and double, with sanitizers, and the link checks (T=SUITE or T=SUITE/TEST: those)"
	@echo "make deps            install what the tests need with the system's package manager"
	@echo "make check-warnings  the header, examples and tests with gcc and clang, as C and C++, warnings are errors"
	@echo "make portability     other compilers, processors, systems, switches: a table (ROWS='gcc* s390x' picks rows)"
	@echo "make portability-deps  install what that takes, nearly 1 GB"
	@echo "make fuzz            random inputs for every public function and the readers, SECONDS=60 a target (clang)"
	@echo "                     (RUNS=N executions, SECONDS=0: no limit in time; FUZZ_REAL=double)"
	@echo "make coverage        the lines and branches of sparsehs.h that the tests reach, and the lines that they do not"
	@echo "make test-tsan       the tests of threads under ThreadSanitizer"
	@echo "make test-msan       the tests under MemorySanitizer: nothing is used that nobody has written (clang)"
	@echo "make test-valgrind   the tests of faults under valgrind"
	@echo "make test-large      arrays of more than 2^31 elements (views of a few pages)"
	@echo "make mutants         N=50 random changes to sparsehs.h (SEED=1): which of them do the tests catch? (JOBS=processors)"
	@echo "make cortex-m        the example for microcontrollers, under QEMU"
	@echo "make bench           measure beside the peers that are here (make bench-deps installs them); writes build/bench.csv"
	@echo "make embed           writes kernels_embed/*.cl into sparsehs_cl.h; check-embed says whether they differ, and compiles each"
	@echo "make test-cl         the tests of sparsehs_cl.h, where there are OpenCL headers and a device"
	@echo "make bench-cl        measure on an OpenCL device; writes build/bench_cl.csv"
	@echo "make pictures        draw the README's pictures anew"
	@echo "make examples        build the examples into build/"
	@echo "make clean           remove build/"
	@echo "CC and CFLAGS can be set; SHS_DATA names the folder of real data (default ../shared/data)."

# ---- examples and demonstration --------------------------------------------------------------------------------------

examples: $(EXAMPLES)

$(EXAMPLES): build/%: examples/%.c $(wildcard examples/*.h) $(HEADER) sparsehs_cl.h | build $(BEFORE)
	$(CC) -std=c99 $(CPPFLAGS) $(CFLAGS) $(OPENMP) -o $@ $< $(LDFLAGS) -lm

PICTURE = $(firstword $(IMAGE) $(sort $(wildcard $(SHS_DATA)/images/*.pgm)) build/demo/drawn.pgm)
PICTURE_NAME = $(basename $(notdir $(PICTURE)))

CUBE ?=
# An OpenCL GPU where there is one; the CPU where a driver breaks down as soon as it is looked for (PoCL does without /sys).
DEVICE ?= $(shell build/devices >/dev/null 2>&1 && echo auto || echo cpu)
SCENE = $(firstword $(CUBE) $(sort $(wildcard $(SHS_DATA)/cubes/*_bip.hdr)) build/demo/scene.hdr)
SCENE_NAME = $(basename $(notdir $(SCENE)))

demo: build/denoise build/train build/hypercube build/devices | $(PICTURE) $(SCENE) build/demo
	build/denoise $(PICTURE) build/demo/$(PICTURE_NAME)_denoised.png --sigma 25 --add-noise --device "$(DEVICE)"
	build/train $(PICTURE) --out build/demo/$(PICTURE_NAME) --device "$(DEVICE)"
	build/hypercube pca $(SCENE) build/demo/$(SCENE_NAME)_pca.hdr --components 10 --rescale 0,255 --type u8 \
		--device "$(DEVICE)" --quicklook build/demo/$(SCENE_NAME)_pca.png --report build/demo/$(SCENE_NAME)_pca.csv
	build/hypercube ica $(SCENE) build/demo/$(SCENE_NAME)_ica.hdr --components 6 \
		--device "$(DEVICE)" --quicklook build/demo/$(SCENE_NAME)_ica.png --report build/demo/$(SCENE_NAME)_ica.csv
	build/hypercube rx $(SCENE) build/demo/$(SCENE_NAME)_rx.hdr --device "$(DEVICE)" --quicklook build/demo/$(SCENE_NAME)_rx.png
	@echo "The pictures are in build/demo:" && ls build/demo

build/demo/drawn.pgm: build/denoise | build/demo
	build/denoise --draw $@

build/demo/scene.hdr: build/hypercube | build/demo
	build/hypercube synthesise $@

# The pictures of the README, from nothing but the library.
pictures: build/denoise build/train build/hypercube | build/demo
	build/denoise --draw examples/pictures/drawn.png
	build/denoise examples/pictures/drawn.png build/demo/denoised.png --sigma 25 --add-noise
	cp build/demo/denoised.png build/demo/denoised_noisy.png examples/pictures
	build/train examples/pictures/drawn.png --out build/demo/drawn
	cp build/demo/drawn_atoms.png examples/pictures/atoms.png
	build/hypercube synthesise build/demo/scene.hdr
	build/hypercube ica build/demo/scene.hdr build/demo/scene_ica.hdr --components 6 --quicklook examples/pictures/components.png

# ---- tests -----------------------------------------------------------------------------------------------------------

# T=ica runs tests/test_ica.c in float, T=ica/test_name that test alone.
T ?=
ifeq ($(T),)
test: test-float test-double test-context test-asan test-examples check-links check-claims check-vendoring
	@echo "All tests passed."
else
test: build/float/test_$(firstword $(subst /, ,$(T)))
	$(addprefix SHS_TEST=,$(word 2,$(subst /, ,$(T)))) ./$<
endif

# Suites that look inside are part of the library's object; the others use the API and are linked with it.
INSIDE := $(addprefix test_,context dense eigen inside kernels)
LINKED := $(filter-out $(INSIDE),$(TESTS))
test_cc = $(CC) -std=c99 -Wall -Wextra $(CPPFLAGS) $(FLAGS_$(1)) $(OPENMP) $(TRACK) -o $@
# What was read is noted beside the output, and read again at the next run of make.
TRACK = -MMD -MP -MF $@.d -MT $@
-include $(shell find build -name '*.d' 2>/dev/null)

LIBCMOCKA := -lcmocka
define variant
build/$(1)/library.o: tests/library.c | build/$(1) $(BEFORE)
	$$(call test_cc,$(1)) -DTEST_INSIDE -c $$<
$(INSIDE:%=build/$(1)/%): build/$(1)/%: build/$(1)/library.o
	echo 'int $$*(void); int main(void) { return $$*(); }' | $$(CC) $$(FLAGS_$(1)) $$(OPENMP) -o $$@ -x c - -x none $$< $$(LDFLAGS) $$(LIBCMOCKA) -lm
build/$(1)/%: tests/%.c build/$(1)/library.o | build/$(1) $(BEFORE)
	$$(call test_cc,$(1)) -DTEST_LINKED $$< build/$(1)/library.o $$(LDFLAGS) $$(LIBCMOCKA) -lm
endef
$(foreach v,float double pasted asan asandouble msan,$(eval $(call variant,$(v))))

# One suite that looks inside, by itself: of its private copy of the library only what it uses is compiled.
define private
build/$(1)/%: tests/%.c | build/$(1) $(BEFORE)
	$$(call test_cc,$(1)) -DSPARSEHS_STATIC $$< $$(LDFLAGS) -lcmocka -lm
endef
$(foreach v,nodouble fastmath,$(eval $(call private,$(v))))

# Runs every program, so that one failure does not hide another.
run = @failed=; for t in $(1); do echo "== $$t"; $(2) ./$$t || failed="$$failed $$t"; done; \
	[ -z "$$failed" ] || { echo "FAILED:$$failed"; exit 1; }

test-float: $(TESTS:%=build/float/%)
	$(call run,$^)

test-double: $(TESTS:%=build/double/%)
	$(call run,$^)

# The ground layer also without double, and where NaN hides from comparisons; pixels also where the header cannot include itself.
test-context: build/nodouble/test_context build/fastmath/test_context build/pasted/test_pixels build/pasted/test_kernels
	$(call run,$^)

# Where leaks cannot be traced (in some containers) the other checks still run.
LEAKS = $(if $(call probe,$(SANITIZE),ASAN_OPTIONS=detect_leaks=1),1,0)

test-asan: | build $(BEFORE)
	$(if $(SANITIZE),@$(MAKE) --no-print-directory run-asan,@echo "skipped: $(CC) has no sanitizers here")

run-asan: $(TESTS:%=build/asan/%) $(TESTS:%=build/asandouble/%)
	$(call run,$^,ASAN_OPTIONS=detect_leaks=$(LEAKS) LSAN_OPTIONS=suppressions=tests/leaks.txt:print_suppressions=0)

# The examples that need no picture, and those that read and write cubes and pictures.
test-examples: build/quickstart build/embedded build/hypercube build/denoise build/train
	$(call run,build/quickstart build/embedded)
	bash tests/test_hypercube.sh build/hypercube
	sh tests/check_examples.sh
	bash tests/test_pictures.sh build/denoise build/train

# Every promise of the headers and the README has a test named beside it.
check-claims: | build $(BEFORE)
	@sh tests/claims.sh

check-links: | build $(BEFORE)
	@CC="$(CC)" CFLAGS="$(CFLAGS)" OPENMP="$(OPENMP)" sh tests/check_links.sh

# Renamed, pasted, preprocessed, precompiled.
check-vendoring: | build $(BEFORE)
	@sh tests/check_vendoring.sh

# ---- OpenCL ----------------------------------------------------------------------------------------------------------

HEADER_CL := sparsehs_cl.h
KERNELS := kernels_embed/contract.h $(sort $(wildcard kernels_embed/*.cl))
CL_TESTS := $(patsubst tests/%.c,%,$(wildcard tests/test_cl_*.c))
# Suites that run a second time with the stages on a device.
CL_SUITES := test_coding test_learning test_patches test_cubes test_pca test_ica
CL_SOURCES := $(wildcard tests/test_cl_*.c tests/bench_cl.c examples/devices.c)
# PoCL keeps compiled kernels: below build/, so that `make clean` takes them along.
export POCL_CACHE_DIR ?= $(CURDIR)/build/pocl

# Empty where there are no headers, or no library to link with.
OPENCL = $(eval OPENCL := $$(call probe,-include CL/cl.h -lOpenCL))$(OPENCL)
no_opencl = @echo "skipped: there are no OpenCL headers here, or no library to link with; make deps installs them"

build/embed_kernels: tools/embed_kernels.c | build $(BEFORE)
	$(CC) -std=c99 -Wall -Wextra $(CPPFLAGS) $(CFLAGS) -o $@ $< $(LDFLAGS)

embed: build/embed_kernels
	build/embed_kernels $(HEADER_CL) $(KERNELS)

# Each kernel's defaults let it be compiled alone; then as double, without doubles, and with other parts of it. Warnings are errors.
ALONE := clang -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -fsyntax-only -Werror -Wall -Wextra -Wno-unused-parameter \
	-Wno-unused-function

check-embed: build/embed_kernels
	@cp $(HEADER_CL) build/embedded.h
	@build/embed_kernels build/embedded.h $(KERNELS)
	@cmp -s $(HEADER_CL) build/embedded.h || { echo "$(HEADER_CL) is not made from $(KERNELS): make embed"; exit 1; }
	@! command -v clang >/dev/null || for f in $(filter %.cl,$(KERNELS)); do \
		for o in UNUSED "SPARSEHS_DOUBLE -DOMP_GENERAL -DSKEWED=1 -DUPDATE_aksvd -DCONTRAST_tanh -DMODE=1 -DDIRECT=0" \
			"SPARSEHS_NO_DOUBLE -DOMP_ITEM -DMODE=2 -DSQUARES=1"; do $(ALONE) -D$$o $$f || exit 1; done; done

build/devices: examples/devices.c $(HEADER) $(HEADER_CL) | build $(BEFORE)
	$(if $(call probe,-include CL/cl.h),$(CC) -std=c99 $(CPPFLAGS) $(CFLAGS) -o $@ $< $(LDFLAGS) -lm,\
		$(no_opencl))

# As for the CPU: an object of both headers for the suites, while the tests of sparsehs_cl.h look inside.
define cl_variant
build/cl-$(1)/library.o: tests/library.c | build/cl-$(1) $(BEFORE)
	$$(call test_cc,$(1)) -DTEST_CL -c $$<
$(patsubst %,build/cl-$(1)/%,$(CL_TESTS)): build/cl-$(1)/%: tests/%.c | build/cl-$(1) $(BEFORE)
	$$(call test_cc,$(1)) $$< $$(LDFLAGS) -lcmocka $$(LIBOPENCL) -lm
build/cl-$(1)/%: tests/%.c build/cl-$(1)/library.o | build/cl-$(1) $(BEFORE)
	$$(call test_cc,$(1)) -DTEST_CL -DTEST_LINKED $$< build/cl-$(1)/library.o $$(LDFLAGS) -lcmocka $$(LIBOPENCL) -lm
build/cl-$(1)/test_cl_dynamic: LIBOPENCL :=
build/cl-$(1):
	@mkdir -p $$@
endef
LIBOPENCL := -lOpenCL
# Cubes are compared with sums in double, so that without double the runtime and the signals are left.
CL_VARIANTS ?= float double nodouble asan
$(foreach v,float double nodouble asan,$(eval $(call cl_variant,$(v))))
cl_programs = $(addprefix build/cl-$(1)/,$(if $(filter nodouble,$(1)),$(filter-out test_cl_pixels,$(CL_TESTS)),\
	$(CL_TESTS) $(CL_SUITES)))

# A driver that breaks down on this machine (PoCL does without /sys) is not ours to test.
test-cl: | build $(BEFORE)
	$(if $(OPENCL),@$(MAKE) --no-print-directory build/devices && if build/devices; then $(MAKE) --no-print-directory run-cl; \
		else echo "skipped: no OpenCL device works here"; fi,$(no_opencl))

run-cl: $(foreach v,$(CL_VARIANTS),$(call cl_programs,$(v)))
	$(call run,$^,ASAN_OPTIONS=detect_leaks=$(LEAKS) \
		LSAN_OPTIONS=suppressions=tests/leaks.txt:print_suppressions=0)

# Every access of every kernel is checked; the checker's log must stay empty. Where a program knows SHS_TEST
# it runs that test alone. test_cl_dynamic opens the real library.
test-oclgrind: $(if $(OPENCL),$(patsubst %,build/cl-float/%,$(filter-out test_cl_dynamic,$(CL_TESTS)))) | build $(BEFORE)
	@[ -n "$^" ] && command -v oclgrind >/dev/null || { echo "skipped: there is no oclgrind or no OpenCL here"; exit 0; }; \
	for t in $^; do echo "== oclgrind $$t"; rm -f build/oclgrind.log; \
		SHS_TEST=test_short_runs oclgrind --log build/oclgrind.log ./$$t || exit 1; \
		[ ! -s build/oclgrind.log ] || { cat build/oclgrind.log; exit 1; }; \
	done

# COMPILER-LANGUAGE-VARIANT-LEVEL, as for sparsehs.h
STRICT_dynamic := -DSPARSEHS_CL_DYNAMIC
STRICT_CL := $(foreach c,$(COMPILERS),$(foreach l,c99 c++11,$(foreach v,float-O0 float-O3 double-O1 nodouble-O1 static-O1 \
	dynamic-O1,build/warnings/cl/$(c)-$(l)-$(v).o)))
STRICT_CL_PROGRAMS := $(foreach c,$(COMPILERS),$(foreach v,float double,\
	$(CL_SOURCES:%.c=build/warnings/cl/$(c)-c99-$(v)-O3/%.o))) \
	$(foreach c,$(COMPILERS),build/warnings/cl/$(c)-c99-float-O3/tools/embed_kernels.o)

check-warnings-cl: $(if $(OPENCL),$(STRICT_CL) $(STRICT_CL_PROGRAMS)) | build $(BEFORE)
	$(if $(OPENCL),@echo "No warning in $(words $^) compilations of OpenCL code with: $(COMPILERS).",$(no_opencl))

$(STRICT_CL): build/warnings/cl/%.o: $(HEADER) $(HEADER_CL) | $(BEFORE)
	@mkdir -p $(@D)
	@$(call strict_cc,$*) -DSPARSEHS_IMPLEMENTATION -DSPARSEHS_CL_IMPLEMENTATION -c $(HEADER_CL) -o $@

$(STRICT_CL_PROGRAMS): build/warnings/cl/%.o: $(CL_SOURCES) tests/test.h tests/cl_shim.h tools/embed_kernels.c $(HEADER) \
		$(HEADER_CL) | $(BEFORE)
	@mkdir -p $(@D)
	@$(call strict_cc,$(firstword $(subst /, ,$*))) $(if $(findstring /tests/,$@),-Wno-frame-larger-than) \
		-c $(subst $(firstword $(subst /, ,$*))/,,$*).c -o $@

bench-cl: | build $(BEFORE)
	$(if $(OPENCL),@$(MAKE) --no-print-directory build/bench_cl && build/bench_cl,$(no_opencl))

build/bench_cl: tests/bench_cl.c $(HEADER) $(HEADER_CL) | build $(BEFORE)
	$(CC) -std=gnu17 -O3 -march=native $(CPPFLAGS) $(OPENMP) -o $@ $< $(LDFLAGS) -lOpenCL -lm

# ---- warnings: COMPILER-LANGUAGE-VARIANT-LEVEL, each compiled once ---------------------------------------------------

STRICT := -Werror -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wdouble-promotion -Wcast-align \
	-Wframe-larger-than=4096
STRICT_float :=
STRICT_double := -DSPARSEHS_DOUBLE
STRICT_nodouble := -DSPARSEHS_NO_DOUBLE
STRICT_static := -DSPARSEHS_STATIC
STRICT_nosimd := -DSPARSEHS_NO_SIMD
STRICT_nodispatch := -DSPARSEHS_NO_DISPATCH
STRICT_nostdlib := -DSPARSEHS_NO_STDLIB
STRICT_openmp = $(call probe,-fopenmp)
STRICT_native := -march=native
STRICT_server := -march=skylake-avx512
# What a microcontroller links has small frames.
STRICT_onlycoding := -DSPARSEHS_ONLY_CODING -Wframe-larger-than=1024

# $(1) a compiler: both precisions in both languages at every level, each other switch at one, and the other standards once.
SWITCHES := nodouble static nosimd nodispatch nostdlib onlycoding
strict = $(foreach l,c99 c++11,$(foreach v,float double,$(foreach o,O0 O1 O3,$(1)-$(l)-$(v)-$(o)))) \
	$(foreach l,c99 c++11,$(foreach v,$(SWITCHES),$(1)-$(l)-$(v)-O1)) $(1)-c99-nosimd-O3 \
	$(foreach l,c11 c++17 c++20,$(1)-$(l)-float-O1) $(foreach l,c99 c++11,$(1)-$(l)-native-O3) $(1)-c99-openmp-O2 \
	$(if $(filter x86_64,$(shell uname -m)),$(1)-c99-server-O3)
STRICT_HEADER := $(foreach c,$(COMPILERS),$(patsubst %,build/warnings/%.o,$(call strict,$(c))))
# A program is C99; tests may have larger frames, since cmocka's macros fill them.
BENCH_SOURCES := $(filter-out tests/bench_cl%,$(wildcard tests/bench*.c))
SOURCES := $(filter-out $(CL_SOURCES),$(wildcard tests/test_*.c examples/*.c)) $(BENCH_SOURCES)
STRICT_PROGRAMS := $(foreach c,$(COMPILERS),$(foreach v,float double,\
	$(SOURCES:%.c=build/warnings/$(c)-c99-$(v)-O3/%.o)))

field = $(word $(1),$(subst -, ,$(2)))
language = $(if $(findstring ++,$(1)),c++,c)
strict_cc = $(call field,1,$(1)) -std=$(call field,2,$(1)) -$(call field,4,$(1)) $(STRICT) \
	$(STRICT_$(call field,3,$(1))) -x $(call language,$(1)) $(if $(findstring ++,$(1)),,-Wstrict-prototypes)

check-warnings: $(STRICT_HEADER) $(STRICT_PROGRAMS)
	@echo "No warning in $(words $^) compilations with: $(COMPILERS)."
	@$(foreach c,$(filter-out $(COMPILERS),gcc clang),echo "$(c) is not here: not checked.";)

# OpenMP is asked of the compiler at hand.
$(STRICT_HEADER): CC = $(call field,1,$*)
$(STRICT_HEADER): build/warnings/%.o: $(HEADER) | build/warnings $(BEFORE)
	@$(call strict_cc,$*) -DSPARSEHS_IMPLEMENTATION -c $(HEADER) -o $@

$(STRICT_PROGRAMS): build/warnings/%.o: $(SOURCES) tests/test.h tests/bench.h $(wildcard examples/*.h) $(HEADER) $(HEADER_CL) | $(BEFORE)
	@mkdir -p $(@D)
	@$(call strict_cc,$(firstword $(subst /, ,$*))) $(if $(findstring /tests/,$@),-Wno-frame-larger-than) \
		$(if $(filter $(LINKED),$(notdir $*)),-DTEST_LINKED) -c $(subst $(firstword $(subst /, ,$*))/,,$*).c -o $@

# ---- portability -----------------------------------------------------------------------------------------------------

ROWS ?=

portability: | build $(BEFORE)
	@sh tests/portability/run.sh $(ROWS)

portability-deps:
	@sh tests/portability/install_deps.sh

cortex-m: | build $(BEFORE)
	@CC="$(CC)" sh examples/cortex_m/run.sh

# ---- fuzzing: random inputs, sanitizers on -----------------------------------------------------------------------------

# FUZZ_REAL=double fuzzes the library in double, below build/fuzz-double.
FUZZ_CC ?= clang
FUZZ_REAL ?=
FUZZ_DIR := build/fuzz$(FUZZ_REAL:%=-%)
FUZZ_TARGETS := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_FLAGS := -std=c99 -Wall -Wextra -gline-tables-only -O2 -fno-omit-frame-pointer -fno-sanitize-recover=all \
	$(if $(FUZZ_REAL),-DSPARSEHS_DOUBLE)
# Only the reader compares what it reads with words: elsewhere a call at every comparison costs more than it finds.
FUZZ_TRACE := -fsanitize=address,undefined -fsanitize-coverage=inline-8bit-counters,indirect-calls,pc-table
FUZZ = $(eval FUZZ := $$(shell mkdir -p build; echo 'int LLVMFuzzerTestOneInput(const char *, unsigned long); \
	int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return (void)d, (void)n, 0; }' | \
	$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -x c - -o build/probe.fuzz 2>/dev/null && echo yes; rm -f build/probe.fuzz))$(FUZZ)
# A target ends after so many seconds (0: never) or executions (-1: never), whichever comes first.
SECONDS ?= 60
SEED ?= 1
RUNS ?= -1
FUZZ_TIMEOUT ?= 10
# Executions are short: what the fuzzer and the sanitizers do for each of them counts.
FUZZ_OPTIONS = -max_total_time=$(SECONDS) -runs=$(RUNS) -timeout=$(FUZZ_TIMEOUT) -max_len=400 -rss_limit_mb=4000 -entropic=0 \
	-reload=0 -print_final_stats=1
FUZZ_SANITIZERS = \
	ASAN_OPTIONS=quarantine_size_mb=1:thread_local_quarantine_size_kb=64:malloc_context_size=0:detect_leaks=$(LEAKS)

fuzz: run-differential | build
	$(if $(FUZZ),@$(MAKE) --no-print-directory run-fuzz,@echo "skipped: there is no $(FUZZ_CC) with libFuzzer here")

# Builds of the library against each other and against naive twins: any compiler, no libFuzzer. SEED draws other problems.
BUILDS := plain wide plain_nosimd wide_nosimd plain_nodispatch nodouble
BUILD_wide := -DSPARSEHS_DOUBLE
BUILD_plain_nosimd := -DSPARSEHS_NO_SIMD
BUILD_wide_nosimd := -DSPARSEHS_DOUBLE -DSPARSEHS_NO_SIMD
BUILD_plain_nodispatch := -DSPARSEHS_NO_DISPATCH
BUILD_nodouble := -DSPARSEHS_NO_DOUBLE

run-differential: build/differential/differential
	build/differential/differential $(if $(filter 0,$(SECONDS)),60,$(SECONDS)) $(SEED)

build/differential/differential: $(BUILDS:%=build/differential/%.o) tests/differential/differential.c
	$(CC) -std=c99 -Wall -Wextra $(CPPFLAGS) $(CFLAGS) -o $@ $^ $(LDFLAGS) -lm

build/differential/%.o: tests/differential/build.c tests/differential/differential.h $(HEADER) | $(BEFORE)
	@mkdir -p $(@D)
	$(CC) -std=c99 -Wall -Wextra $(CPPFLAGS) $(CFLAGS) -DNAME=$* $(BUILD_$*) -DSPARSEHS_NO_OPENMP -c -o $@ $<

# What is new is collected below build/; the kept inputs are run first. A finding stays there, and ends it.
run-fuzz: $(FUZZ_TARGETS:%=$(FUZZ_DIR)/fuzz_%)
	@for t in $(FUZZ_TARGETS); do \
		mkdir -p $(FUZZ_DIR)/corpus/$$t; dict=; \
		[ ! -f tests/fuzz/$$t.dict ] || dict=-dict=tests/fuzz/$$t.dict; \
		$(FUZZ_SANITIZERS) $(FUZZ_DIR)/fuzz_$$t $(FUZZ_OPTIONS) $$dict -artifact_prefix=$(FUZZ_DIR)/$$t- \
			$(FUZZ_DIR)/corpus/$$t tests/fuzz/corpus/$$t >$(FUZZ_DIR)/$$t.log 2>&1 || { tail -40 $(FUZZ_DIR)/$$t.log; exit 1; }; \
		sed -n "s/stat::number_of_executed_units: */fuzz $$t: executions without a finding: /p" $(FUZZ_DIR)/$$t.log; \
	done

# Writes anew what is kept: the smallest set of inputs that reaches as much, cut to two dozen.
fuzz-corpus: $(FUZZ_TARGETS:%=$(FUZZ_DIR)/fuzz_%)
	@for t in $(FUZZ_TARGETS); do FUZZ_TARGET=$$t sh tests/fuzz/keep.sh || exit 1; done

$(FUZZ_DIR)/fuzz_reader: private FUZZ_TRACE := -fsanitize=fuzzer-no-link,address,undefined

$(FUZZ_DIR)/fuzz_%: tests/fuzz/fuzz_%.c $(FUZZ_DIR)/library.o $(wildcard tests/fuzz/*.h examples/*.h examples/hypercube.c)
	$(FUZZ_CC) $(FUZZ_FLAGS) $(FUZZ_TRACE) -c $< -o $@.o
	$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -o $@ $@.o $(FUZZ_DIR)/library.o -lm

$(FUZZ_DIR)/library.o: tests/fuzz/library.c $(HEADER)
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_FLAGS) $(FUZZ_TRACE) -c $< -o $@

# ---- threads, memory, coverage -----------------------------------------------------------------------------------------

# Threads of the test's own, and those of OpenMP where clang's runtime tells ThreadSanitizer what waits for what (Archer; gcc's
# does not). The kernels are those of the compiler's flags: ThreadSanitizer does not see loads of more than 16 bytes.
OMP_CC ?= clang
ARCHER = $(eval ARCHER := $$(shell mkdir -p build; echo 'int main(void) { _Pragma("omp parallel") { } return 0; }' | \
	$(OMP_CC) -fopenmp -fsanitize=thread -x c - -o build/probe.archer 2>/dev/null && \
	ARCHER_OPTIONS=verbose=1 build/probe.archer 2>&1 | grep -q 'Archer detected' && echo yes; rm -f build/probe.archer))$(ARCHER)
FLAGS_tsan := -g -O1 -DSPARSEHS_NO_DISPATCH -fsanitize=thread

test-tsan: | build $(BEFORE)
	$(if $(call probe,-fsanitize=thread),@$(MAKE) --no-print-directory run-tsan,@echo "skipped: $(CC) has no ThreadSanitizer here")
	$(if $(ARCHER),@$(MAKE) --no-print-directory run-tsan-openmp,@echo "skipped: $(OMP_CC) has no OpenMP with Archer here")

run-tsan: build/tsan/test_threads
	$(call run,$^)

run-tsan-openmp: build/tsan/openmp_test_threads
	$(call run,$^,TSAN_OPTIONS=ignore_noninstrumented_modules=1)

build/tsan/%: tests/%.c tests/test.h tests/test_cube_tools.h $(HEADER) | build/tsan $(BEFORE)
	$(CC) -std=c99 -Wall -Wextra $(CPPFLAGS) $(FLAGS_tsan) -DSPARSEHS_NO_OPENMP -o $@ $< $(LDFLAGS) -lcmocka -lm -lpthread

build/tsan/openmp_%: tests/%.c tests/test.h tests/test_cube_tools.h $(HEADER) | build/tsan $(BEFORE)
	$(OMP_CC) -std=c99 -Wall -Wextra $(CPPFLAGS) $(FLAGS_tsan) -fopenmp -o $@ $< $(LDFLAGS) -lcmocka -lm -lpthread

# What is used must have been written. All code has to be compiled for it: the C library's part is in the sanitizer's runtime,
# and what stands in for cmocka is compiled with the tests.
MSAN_CC ?= clang
FLAGS_msan := -Itests/portability -g -O1 -fno-omit-frame-pointer -fsanitize=memory -fsanitize-memory-track-origins -DSPARSEHS_NO_DISPATCH \
	-DSPARSEHS_NO_OPENMP
MSAN_TESTS := $(addprefix test_,properties coding learning patches cubes pca ica engines extremes eigen dense)
build/msan/%: CC = $(MSAN_CC)
build/msan/%: OPENMP =
build/msan/%: LIBCMOCKA =

test-msan: | build $(BEFORE)
	$(if $(call probe,-fsanitize=memory,,$(MSAN_CC)),@$(MAKE) --no-print-directory run-msan SHS_DATA=none,\
		@echo "skipped: $(MSAN_CC) has no MemorySanitizer here")

run-msan: $(MSAN_TESTS:%=build/msan/%)
	$(call run,$^)

# valgrind does not know AVX-512: the kernels are those of the compiler's flags.
test-valgrind: build/valgrind/test_faults
	@command -v valgrind >/dev/null || { echo "skipped: there is no valgrind here"; exit 0; }; \
		valgrind -q --error-exitcode=1 --leak-check=full --errors-for-leak-kinds=definite,indirect,possible ./$<

build/valgrind/%: tests/%.c tests/test.h tests/test_cube_tools.h $(HEADER) | build/valgrind $(BEFORE)
	$(CC) -std=c99 -Wall -Wextra $(CPPFLAGS) -g -O1 -DSPARSEHS_NO_OPENMP -DSPARSEHS_NO_DISPATCH -o $@ $< $(LDFLAGS) -lcmocka -lm

coverage: | build $(BEFORE)
	@CC="$(CC)" OPENMP="$(OPENMP)" TESTS="$(TESTS)" sh tests/coverage.sh

# Views of 10 to 20 GB of address space; some minutes.
test-large: build/float/large build/double/large
	$(call run,$^)

# Random changes to the header, and what the tests make of them. The compiler alone is needed.
N ?= 50
JOBS ?=
mutants: | build $(BEFORE)
	@CC="$(CC)" OPENMP="$(OPENMP)" SANITIZE="$(SANITIZE)" INSIDE="$(INSIDE)" N=$(N) SEED=$(SEED) JOBS=$(JOBS) \
		sh tests/mutants/run.sh

# ---- measurements ----------------------------------------------------------------------------------------------------

# The same sources with the best flags, with those of a plain build, and in double: build/bench asks the others to do the
# cases that are theirs. BENCH names cases and options, as in make bench BENCH="--quick gemm".
BENCH ?=
BENCH_FLAGS := -O3 -march=native
BENCH_FLAGS_O2 := -O2
BENCH_FLAGS_double := -O3 -march=native -DSPARSEHS_DOUBLE
BENCH_PROGRAMS := build/bench build/bench-O2 build/bench-double
bench_cc = $(CC) -std=gnu17 -Wall -Wextra $(CPPFLAGS) $(1) $(OPENMP) -o $@ $(BENCH_SOURCES) $(LDFLAGS) $(DL) -lm
DL = $(call probe,-ldl)

# Threads wait as they do for users who set nothing.
bench: $(BENCH_PROGRAMS)
	env -u OMP_WAIT_POLICY build/bench $(BENCH)

build/bench: $(BENCH_SOURCES) tests/bench.h $(HEADER) | build $(BEFORE)
	$(call bench_cc,$(BENCH_FLAGS))

build/bench-%: $(BENCH_SOURCES) tests/bench.h $(HEADER) | build $(BEFORE)
	$(call bench_cc,$(BENCH_FLAGS_$*))

bench-deps:
	@sh tests/bench_deps.sh

# ---- the rest --------------------------------------------------------------------------------------------------------

deps:
	@sh tests/install_deps.sh

build build/demo $(addprefix build/,float double nodouble fastmath pasted asan asandouble warnings tsan msan valgrind):
	@mkdir -p $@

clean:
	rm -rf build
