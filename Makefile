# sparsehs is one header: nothing here has to be run to use it. `make` lists the targets.
#
# The parts, from the top: the examples and what they show; variants, each a folder below build/ with its flags, one object of the
# library (tests/library.c) and the suites that are linked with it; the tests; measurements, papers, other languages. What checks
# OpenCL, threads, memory, warnings and other compilers is in tests/checks.mk. Long recipes are scripts, which know the variables
# that are given on the command line. Lines that begin with `#:` are what `make help` prints.

CC ?= cc
CFLAGS ?= -O2
CPPFLAGS ?=
LDFLAGS ?=
# For MemorySanitizer, and for ThreadSanitizer with OpenMP.
MSAN_CC ?= clang
OMP_CC ?= clang
export SHS_DATA ?= ../shared/data
# Threads that wait by spinning would starve the tests that run beside them.
export OMP_WAIT_POLICY ?= passive

HEADER := sparsehs.h
HEADER_CL := sparsehs_cl.h
TESTS := $(filter-out test_cl_%,$(patsubst tests/%.c,%,$(wildcard tests/test_*.c)))
CL_TESTS := $(patsubst tests/%.c,%,$(wildcard tests/test_cl_*.c))
EXAMPLES := $(filter-out build/devices,$(patsubst examples/%.c,build/%,$(wildcard examples/*.c)))
COMPILERS := $(foreach c,gcc clang,$(if $(shell command -v $(c) 2>/dev/null),$(c)))
MAKEFLAGS += --no-print-directory

BEFORE := $(filter deps mpi-deps,$(MAKECMDGOALS))

# $(call probe,flag,environment,compiler): the flag if a program built with it runs. Asked only when needed and only once: in
# `make deps test` the compiler may come with deps. `make help` runs no compiler.
probe = $(if $(filter-out help,$(MAKECMDGOALS)),$(shell mkdir -p build; p=build/probe.$$$$; echo 'int main(void) { return 0; }' | \
	$(or $(3),$(CC)) $(1) -x c - -o $$p 2>/dev/null && $(2) ./$$p >/dev/null 2>&1 && echo '$(1)'; rm -f $$p))
OPENMP = $(eval OPENMP := $$(call probe,-fopenmp))$(OPENMP)
comma := ,
SANITIZE = $(eval SANITIZE := $$(call probe,-fsanitize=address$$(comma)undefined))$(SANITIZE)
OPENCL = $(eval OPENCL := $$(call probe,-include CL/cl.h -lOpenCL))$(OPENCL)

# What a compilation read is noted beside its output, and read again at the next run of make.
TRACK = -MMD -MP -MF $@.d -MT $@
-include $(shell find build -name '*.d' 2>/dev/null)

# The name of this file is a checksum of the compilers and flags. Another compiler or another flag is another name, so that make
# builds anew what the old ones compiled. A target's own values of these variables do not enter: they are in the Makefile.
FLAGS_GIVEN := $(CC)|$(MSAN_CC)|$(OMP_CC)|$(CPPFLAGS)|$(CFLAGS)|$(LDFLAGS)
BUILT_WITH := build/flags-$(shell printf %s '$(subst ','\'',$(FLAGS_GIVEN))' | cksum | tr ' ' -)
$(BUILT_WITH): | build ; @rm -f build/flags-*; touch $@

# Every target without a folder is a name, not a file.
.PHONY: uninstall $(shell sed -n 's/^\([a-z][a-z-]*\)\( uninstall\)*:.*/\1/p' Makefile)
.DELETE_ON_ERROR:

.DEFAULT_GOAL := help
help: ; @sed -n 's/^#: *$$//p; s/^#: //p' Makefile tests/checks.mk
#: To start with
#:   make demo              denoise, inpaint, enlarge a picture; learn atoms; components of a cube
#:   make test              the tests, in minutes (make deps installs their tools)
#:   make course            six lessons: build/course/index.html
#:   make bench             measure beside the peers that are installed
#:   make install           headers, pkg-config file, CMake package (PREFIX= DESTDIR=); uninstall
#:
#: CC, CPPFLAGS, CFLAGS and LDFLAGS can be set; other values build anew. SHS_DATA names the folder of
#: real data (../shared/data). Most targets have a NAME-deps that installs their tools: course-deps ...
#:
#: Examples
#:   demo                   IMAGE=a.pgm CUBE=a.hdr DEVICE=cpu|gpu|auto|NAME
#:   examples, mpi          build the programs: build/, build/mpi/
#:   pictures               draw README's pictures again
#:   course                 LESSONS="1 4" QUICK=1
#:   playground             a page that computes in the browser: build/playground/index.html
#:   book                   sparsehs.h as pages: build/book/index.html
#:   papers                 tables and figures of four papers (PAPER=omp|paksvd|gfastica|grass
#:                          QUICK=1 FULL=1 DEVICE=NAME): build/papers/index.html
#: Tests
#:   test                   T=SUITE or T=SUITE/TEST: only those, in float; V=1: show commands
#:   test-all               all cases of all suites, in every variant (SHARE=2/4: of a quarter of the suites)
#:   test-cl                OpenCL (DRIVERS="pocl intel rusticl oclgrind"; cl-drivers-deps, 1 GB)
#:   test-mpi, test-python, test-course, test-playground, test-texture-gl, test-papers, test-book
#:                          the examples by these names
#:   test-install, test-packaging
#:                          CMake and pkg-config; Meson, Conan, vcpkg, Arduino, PlatformIO
#:   test-peers             hypercube beside GDAL, Spectral Python and numpy
#:   test-tsan, test-msan, test-valgrind, test-large
#:                          threads; uninitialised memory; faults; arrays beyond 2^31 elements
#:   cortex-m, riscv        the examples for microcontrollers, under QEMU
#:   people                 cortex-m, riscv, look-book, test-playground, test-texture-gl
#: Checks
#:   check-all              everything, an hour or more (CHECKS="usual memory compilers programs")
#:   check-warnings         gcc and clang, C and C++: warnings are errors
#:   check-claims           each promise of README and headers has a test
#:   check-api              the headers beside the API of the last release; record-api: write it
#:   check-version          one version number everywhere (test-release: tests of these and of dist)
#:   fuzz                   random inputs (SECONDS=60 RUNS=N SEED=1 FUZZ_REAL=double)
#:   portability            other compilers, processors, systems (ROWS='gcc* s390x'; deps 1 GB)
#:   coverage, mutants      lines that tests reach; changes that tests catch (N=20 SEED=1)
#: Measurements
#:   bench                  BENCH="--quick gemm" names options and cases; THREADS=16 BENCH=scaling
#:   bench-cl               on an OpenCL device (BENCH="omp* online*")
#:   bench-cl-ranks         a rank on each device beside one device (DEVICES=0,1)
#:   scaling                ranks of MPI, measured and modelled (RANKS=4)
#: Development
#:   embed, check-embed     kernels_embed/*.cl into sparsehs_cl.h; whether they differ
#:   dist                   the archive of a release, headers, sparsehs.c, wheel, recipes: build/dist/
#:   release                check-all, dist, and what is left to a person
#:   clean                  remove build/

# ---- examples and demonstration --------------------------------------------------------------------------------------
examples: $(EXAMPLES) build/hypercube build/texture build/devices
$(EXAMPLES): build/%: examples/%.c
build/hypercube build/hypercube-double: examples/hypercube/hypercube.c
build/texture: examples/texture/texture.c
PROGRAM_FLAGS_hypercube-double := -DSPARSEHS_DOUBLE
$(EXAMPLES) build/hypercube build/hypercube-double build/texture: | build $(BEFORE)
	$(CC) -std=c99 $(CPPFLAGS) $(PROGRAM_FLAGS_$(@F)) $(CFLAGS) $(OPENMP) $(TRACK) -o $@ $< $(LDFLAGS) -lm
# Headers that the examples use where they are here. The file changes, and the examples are built anew, when one comes or goes.
build/headers.txt: always | build
	@for h in stb/stb_image.h CL/cl.h OpenCL/opencl.h; do \
		! echo "#include <$$h>" | $(CC) $(CPPFLAGS) -E -x c - >/dev/null 2>&1 || echo $$h; done >$@.new; \
		if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
$(EXAMPLES) build/hypercube build/hypercube-double build/texture: build/headers.txt $(BUILT_WITH)
.PHONY: always
build/devices: examples/devices.c $(BUILT_WITH) | build $(BEFORE)
	$(if $(call probe,-include CL/cl.h),$(CC) -std=c99 $(CPPFLAGS) $(CFLAGS) $(TRACK) -o $@ $< $(LDFLAGS) -lm,$(no_opencl))
# Programs for the ranks of MPI; those of the tests can be made to fail.
MPI := cube_mpi train_mpi code_mpi scaling_mpi
course: | build $(BEFORE) ; @CC="$(CC)" CFLAGS="$(CFLAGS)" OPENMP="$(OPENMP)" sh examples/course/run.sh
test-course: | build $(BEFORE)
	@CC="$(CC)" CFLAGS="-O1 -DSPARSEHS_NO_DISPATCH" OPENMP="$(OPENMP)" OUT=build/course-test sh examples/course/run.sh test
course-deps: ; @sh tests/install_deps.sh course
playground: | build ; @sh examples/playground/build.sh build/playground
playground-deps: ; @sh tests/install_deps.sh playground
pages-deps: ; @sh tests/install_deps.sh pages
mpi: $(MPI:%=build/mpi/%)
mpi-deps: ; @sh tests/install_deps.sh mpi
scaling: build/mpi/scaling_mpi ; @sh examples/mpi/scaling.sh
build/mpi/% build/mpi-test/%: examples/mpi/%.c $(BUILT_WITH) | build $(BEFORE)
	@mkdir -p $(@D)
	mpicc -std=c99 $(CPPFLAGS) $(MPI_FLAGS) $(TRACK) -o $@ $< $(LDFLAGS) -lm
build/mpi/%: MPI_FLAGS = $(CFLAGS) $(OPENMP)
build/mpi-test/%: override MPI_FLAGS = -O0 -DSPARSEHS_NO_DISPATCH -DEXAMPLE_NO_OPENCL -DRANKS_TEST
build/mpi-test/each: examples/mpi/code_mpi.c $(BUILT_WITH) | build $(BEFORE)
	@mkdir -p $(@D)
	mpicc -std=c99 $(CPPFLAGS) $(filter-out -DEXAMPLE_NO_OPENCL,$(MPI_FLAGS)) $(TRACK) -o $@ $< $(LDFLAGS) -lm
# Its ranks are threads; with the same flags they give the same bytes.
build/mpi-test/hypercube: examples/hypercube/hypercube.c $(BUILT_WITH) | build $(BEFORE)
	@mkdir -p $(@D)
	$(CC) -std=c99 $(CPPFLAGS) $(MPI_FLAGS) $(TRACK) -o $@ $< $(LDFLAGS) -pthread -lm
# Says what it will do before it compiles.
DEMO := denoise inpaint train superres hypercube
demo:
	@sh examples/demo.sh plan
	@$(MAKE) -s $(DEMO:%=build/%) $(if $(call probe,-include CL/cl.h),build/devices)
	@sh examples/demo.sh
pictures: build/denoise build/train build/superres build/hypercube ; @sh examples/demo.sh pictures

# ---- variants --------------------------------------------------------------------------------------------------------
# Suites that look inside are part of the library's object; the others use the API and are linked with it.
INSIDE := $(addprefix test_,context dense eigen inside kernels)
# Suites that run a second time with the stages on a device.
CL_SUITES := $(addprefix test_,learning online coding lasso compact ica faults pca cubes patches targets unmix)
LINKED := $(filter-out $(INSIDE),$(TESTS))

FLAGS_float := $(CFLAGS)
FLAGS_double := $(CFLAGS) -DSPARSEHS_DOUBLE
FLAGS_nodouble := $(CFLAGS) -DSPARSEHS_NO_DOUBLE
FLAGS_fastmath := $(CFLAGS) -ffast-math
FLAGS_pasted := $(CFLAGS) -O1 -DSHS__PASTED
FLAGS_intrinsics := $(CFLAGS) -DSPARSEHS_INTRINSICS
FLAGS_asan = -O1 -g1 -fno-omit-frame-pointer -fno-sanitize-recover=all $(SANITIZE)
FLAGS_asandouble = $(FLAGS_asan) -DSPARSEHS_DOUBLE
FLAGS_tsan := -g -O1 -DSPARSEHS_NO_DISPATCH -fsanitize=thread -pthread
FLAGS_tsan-openmp := $(FLAGS_tsan)
FLAGS_msan := -Itests/portability -g -O1 -fno-omit-frame-pointer -fsanitize=memory -fsanitize-memory-track-origins \
	-DSPARSEHS_NO_DISPATCH -DSPARSEHS_NO_OPENMP
FLAGS_valgrind := -g -O1 -DSPARSEHS_NO_DISPATCH
$(foreach v,float double nodouble asan,$(eval FLAGS_cl-$(v) = $$(FLAGS_$(v))))

# Which of them ask for another compiler or other libraries than $(CC), $(OPENMP) and cmocka. Values from make's command line win
# over a target's own unless these say override: `make test-msan CC=gcc` still needs clang.
LIBS = -lcmocka -lm
build/tsan/% build/valgrind/% build/msan/%: override OPENMP =
build/tsan-openmp/%: override OPENMP = -fopenmp
build/tsan-openmp/%: override CC = $(OMP_CC)
build/msan/%: override CC = $(MSAN_CC)
build/msan/%: override LIBS = -lm
build/cl-%: override LIBS = -lcmocka $(if $(findstring dynamic,$@),,-lOpenCL) -lm
# Drivers in C++ throw; the sanitizer must have seen the runtime before they are opened (Mesa's clover ends the process otherwise).
build/cl-asan/%: override LIBS = -lcmocka $(if $(findstring dynamic,$@),,-lOpenCL) -lm -Wl,--no-as-needed -lstdc++

test_cc = $(CC) -std=c99 -Wall -Wextra $(CPPFLAGS) $(FLAGS_$(1)) $(OPENMP) $(TRACK) -o $@

# $(1) the variant, $(2) flags of the library's object, $(3) flags of the suites beside it
define variant
build/$(1)/library.o: tests/library.c $(BUILT_WITH) | $(BEFORE)
	@mkdir -p $$(@D)
	$$(call test_cc,$(1)) $(2) -c $$<
$(INSIDE:%=build/$(1)/%): build/$(1)/%: build/$(1)/library.o
	echo 'int $$*(void); int main(void) { return $$*(); }' | \
		$$(CC) $$(FLAGS_$(1)) $$(OPENMP) -o $$@ -x c - -x none $$< $$(LDFLAGS) $$(LIBS)
build/$(1)/%: tests/%.c build/$(1)/library.o | $(BEFORE)
	$$(call test_cc,$(1)) -DTEST_LINKED $(3) $$< build/$(1)/library.o $$(LDFLAGS) $$(LIBS)
endef
$(foreach v,tsan tsan-openmp msan valgrind,$(eval $(call variant,$(v),-DTEST_INSIDE)))
# Suites under the sanitizers: their arrays are watched; their own arithmetic is not, but for what keeps the runtime linked.
UNWATCHED := -fno-sanitize=null,alignment,object-size,signed-integer-overflow,shift,bounds,pointer-overflow
$(foreach v,asan asandouble,$(eval $(call variant,$(v),-DTEST_INSIDE,-O0 $(UNWATCHED))))
# The library as its user compiles it; suites beside it are large and run shortly, so they are not optimised.
$(foreach v,float double nodouble pasted intrinsics,$(eval $(call variant,$(v),-DTEST_INSIDE,-O0)))
# Beside a device's compiler the library's speed counts for little.
$(foreach v,float double nodouble asan,$(eval $(call variant,cl-$(v),-DTEST_CL -O1,-DTEST_CL -O1)))

# By themselves: a suite that looks inside, whose private copy of the library is compiled as far as it is used; the tests of
# sparsehs_cl.h, which look inside.
define alone
$(1): tests/$(notdir $(1)).c $(BUILT_WITH) | $(BEFORE)
	@mkdir -p $$(@D)
	$$(call test_cc,$(notdir $(patsubst %/,%,$(dir $(1))))) $(2) $$< $$(LDFLAGS) $$(LIBS)
endef
$(eval $(call alone,build/fastmath/test_context,-DSPARSEHS_STATIC))
$(foreach v,float double nodouble asan,$(foreach t,$(CL_TESTS),$(eval $(call alone,build/cl-$(v)/$(t),-O1 -DSPARSEHS_STATIC))))

# ---- tests -----------------------------------------------------------------------------------------------------------

# $(call runs,variant,programs): run-VARIANT runs each of them by a target of its own, side by side where make has several jobs.
define runs
RUNS_$(1) := $(2:%=build/$(1)/%.run)
run-$(1): $(2:%=build/$(1)/%.run)
$(2:%=build/$(1)/%.run): %.run: %
	@$$(RUN) sh tests/run.sh one $$(<:build/%=%) ./$$<
endef
$(foreach v,float double asan asandouble,$(eval $(call runs,$(v),$(TESTS))))
# Where leaks cannot be traced (in some containers) the other checks still run.
LEAKS = $(if $(call probe,$(SANITIZE),ASAN_OPTIONS=detect_leaks=1),1,0)
build/asan/%.run build/asandouble/%.run build/cl-%.run: RUN = \
	ASAN_OPTIONS=detect_leaks=$(LEAKS) LSAN_OPTIONS=suppressions=tests/leaks.txt:print_suppressions=0
# With double the sanitizers see the code that they saw with float: not all cases of the sweeps again.
build/asandouble/%.run: RUN += SHS_LONG=
# Mesa's drivers leak when they are merely opened, in code that is gone when leaks are told, so that none can be named in leaks.txt.
build/cl-asan/%.run: RUN += $(if $(wildcard /etc/OpenCL/vendors/pocl.icd),OCL_ICD_VENDORS=$${OCL_ICD_VENDORS:-/etc/OpenCL/vendors/pocl.icd})

test-float test-double: test-%: run-%
test-asan test-asandouble: test-%: | build $(BEFORE)
	$(if $(SANITIZE),@$(MAKE) run-$*,@echo "skipped: $(CC) has no sanitizers here")
# Without double, the suites whose references and bounds need none.
$(eval $(call runs,nodouble,$(addprefix test_,context dense kernels compact files narrow online scratch)))
# The ground layer also where NaN hides from comparisons; pixels also where the header cannot include itself.
$(eval $(call runs,fastmath,test_context))
$(eval $(call runs,pasted,test_pixels test_kernels))
# Kernels by intrinsics, as compilers without vectors of their own have them.
$(eval $(call runs,intrinsics,$(addprefix test_,dense eigen kernels coding pixels ica)))

# What `make test` runs under the sanitizers: all but the suites whose arithmetic takes longest there.
LEFT_TO_ALL := learning dense eigen threads coding pca ica lasso pixels
WATCHED = $(if $(SANITIZE),$(filter-out $(LEFT_TO_ALL:%=build/asan/test_%.run),$(RUNS_asan)))
PROGRAM_TESTS := $(addprefix build/,test-hypercube.run test-scene.run test-pictures.run test-texture.run test-demo.run \
	check-examples.run check-pages.run)
LINK_TESTS := $(addprefix build/,check-links.run check-vendoring.run check-claims.run)
# The longest first, so that none is left for the end.
USUAL = build/test-hypercube.run $(WATCHED) $(RUNS_double) $(RUNS_float) $(PROGRAM_TESTS) $(LINK_TESTS) $(RUNS_nodouble) \
	$(RUNS_fastmath) build/cortex-m-host.run build/cortex-m-size.run
WHOLE = $(if $(SANITIZE),$(RUNS_asan) $(RUNS_asandouble) build/test-hypercube-asan.run) $(USUAL) $(RUNS_pasted) $(RUNS_intrinsics)
# Each target once, in the order of its first place.
once = $(if $(1),$(firstword $(1)) $(call once,$(filter-out $(firstword $(1)),$(1))))
# $(call share,2/4,targets): of these every fourth, the second first; without a share all of them.
share = $(if $(1),$(shell echo $(2) | tr ' ' '\n' | awk 'NR % $(notdir $(1)) == $(patsubst %/,%,$(dir $(1))) % $(notdir $(1))'),$(2))
ifeq ($(T),)
test: | build $(BEFORE) ; @sh tests/run.sh all "$(MAKE)" $(call once,$(USUAL))
else
# Each word of T is a suite, or SUITE/TEST.
test: $(foreach t,$(T),build/float/test_$(firstword $(subst /, ,$(t))))
	@$(foreach t,$(T),$(addprefix SHS_TEST=,$(word 2,$(subst /, ,$(t)))) build/float/test_$(firstword $(subst /, ,$(t))) &&) true
endif
test-all: | build $(BEFORE) ; @SHS_LONG=1 sh tests/run.sh all "$(MAKE)" $(call share,$(SHARE),$(call once,$(WHOLE)))

# The programs are linked with the tests' object of the library, and know no devices; with SHS_LONG each is built by the README's
# line.
PROGRAMS := build/examples_$(if $(SHS_LONG),by,linked)
LINKED_PROGRAMS := denoise train superres inpaint hypercube texture
build/examples_linked/hypercube: examples/hypercube/hypercube.c
build/examples_linked/texture: examples/texture/texture.c
$(addprefix build/examples_linked/,denoise train superres inpaint): build/examples_linked/%: examples/%.c
$(LINKED_PROGRAMS:%=build/examples_linked/%): build/float/library.o | build $(BEFORE)
	@mkdir -p $(@D)
	$(CC) -std=c99 -O0 -DSPARSEHS_IMPLEMENTATION_ONCE -DEXAMPLE_NO_OPENCL $(CPPFLAGS) $(OPENMP) $(TRACK) -o $@ $(filter %.c,$^) \
		build/float/library.o $(LDFLAGS) $(LIBS)
$(if $(SHS_LONG),$(LINKED_PROGRAMS:%=build/examples_by/%): build/check-examples.run)

# $(call check,name,command): a script as a suite.
define check
$(1): build/$(1).run
build/$(1).run: | build $(BEFORE)
	@CC="$$(CC)" CFLAGS="$$(CFLAGS)" OPENMP="$$(OPENMP)" sh tests/run.sh one $(1) $(2)
endef
$(eval $(call check,check-examples,sh tests/checks/check_examples.sh $(if $(SHS_LONG),,$(CC))))
$(eval $(call check,test-hypercube,bash tests/programs/test_hypercube.sh $(PROGRAMS)/hypercube))
$(eval $(call check,test-scene,bash tests/programs/test_scene.sh $(PROGRAMS)/hypercube))
$(eval $(call check,test-pictures,bash tests/programs/test_pictures.sh $(addprefix $(PROGRAMS)/,denoise train superres inpaint)))
$(eval $(call check,test-texture,bash tests/programs/test_texture.sh $(PROGRAMS)/texture))
$(eval $(call check,test-demo,bash tests/programs/test_demo.sh $(PROGRAMS)))
# The walk-throughs of the examples' own pages say what the programs say.
$(eval $(call check,check-pages,bash tests/checks/check_pages.sh $(PROGRAMS) examples/hypercube/README.md \
	examples/hypercube/FIRST_HOUR.md examples/texture/README.md))
build/check-pages.run: $(addprefix $(PROGRAMS)/,hypercube texture)
build/test-hypercube.run build/test-scene.run: $(PROGRAMS)/hypercube
build/test-pictures.run: $(addprefix $(PROGRAMS)/,denoise train superres inpaint)
build/test-texture.run: $(PROGRAMS)/texture
build/test-demo.run: $(addprefix $(PROGRAMS)/,denoise inpaint train superres hypercube)
# What the linker sees; the header renamed, pasted, preprocessed, precompiled; a test named beside every promise; what runs on a
# microcontroller, on this machine.
$(eval $(call check,check-links,sh tests/checks/check_links.sh))
$(eval $(call check,check-vendoring,sh tests/checks/check_vendoring.sh $(if $(SHS_LONG),,$(CC))))
$(eval $(call check,check-claims,sh tests/checks/claims.sh))
$(eval $(call check,cortex-m-host,sh examples/cortex_m/run.sh host))
$(eval $(call check,cortex-m-size,sh examples/cortex_m/run.sh size))

# The same where every access of memory is checked. What stops there ends with a code that no test of an error expects.
build/test-hypercube-asan.run: build/asan/hypercube
	@ASAN_OPTIONS=detect_leaks=0:exitcode=99 UBSAN_OPTIONS=exitcode=99 sh tests/run.sh one test-hypercube-asan \
		bash tests/programs/test_hypercube.sh build/asan/hypercube
build/asan/hypercube: examples/hypercube/hypercube.c $(BUILT_WITH) | build $(BEFORE)
	@mkdir -p $(@D)
	$(CC) -std=c99 $(CPPFLAGS) $(FLAGS_asan) $(OPENMP) $(TRACK) -o $@ $< $(LDFLAGS) -lm
test-texture-gl: build/texture | build $(BEFORE) ; @CC="$(CC)" bash tests/programs/test_texture_gl.sh build/texture
texture-deps: ; @sh tests/install_deps.sh texture

# ---- OpenCL; threads and memory; other checks: tests/checks.mk ------------------------------------------------------
include tests/checks.mk

# ---- measurements and the rest ---------------------------------------------------------------------------------------

# The same sources with the best flags, with those of a plain build, and in double: build/bench asks the others to do the
# cases that are theirs. BENCH names cases and options, as in make bench BENCH="--quick gemm". Threads wait as they do for
# users who set nothing. THREADS is compiled in: the name of a file says with which number, and another takes
# that file away, so that the programs are built anew.
BENCH_SOURCES := $(filter-out tests/bench/bench_cl%,$(wildcard tests/bench/*.c))
THREADS ?= 2
BENCH_FLAGS := -O3 -march=native
BENCH_FLAGS-O2 := -O2
BENCH_FLAGS-double := $(BENCH_FLAGS) -DSPARSEHS_DOUBLE
bench: build/bench build/bench-O2 build/bench-double ; set -f; env -u OMP_WAIT_POLICY build/bench $(BENCH)
build/bench.threads-$(THREADS): | build ; @rm -f build/bench.threads-*; touch $@
build/bench build/bench-O2 build/bench-double: build/bench%: $(BENCH_SOURCES) tests/bench/bench.h $(HEADER) \
		build/bench.threads-$(THREADS) $(BUILT_WITH) | build $(BEFORE)
	$(CC) -std=gnu17 -Wall -Wextra $(CPPFLAGS) $(BENCH_FLAGS$*) -DTHREADS=$(THREADS) $(OPENMP) -o $@ $(BENCH_SOURCES) $(LDFLAGS) \
		$(call probe,-ldl) -lm
bench-deps: ; @sh tests/bench/bench_deps.sh

papers: build/devices ; @CC="$(CC)" OPENMP="$(OPENMP)" sh examples/papers/run.sh
test-papers: $(filter papers,$(MAKECMDGOALS)) ; @bash tests/programs/test_papers.sh
papers-deps: ; @sh tests/install_deps.sh papers

test-peers: build/hypercube build/hypercube-double ; @bash tests/peers/test_peers.sh $^ && bash tests/peers/test_peers_scene.sh $<
peers-deps: ; @sh tests/install_deps.sh peers

test-mpi: build/hypercube | build $(BEFORE)
	@command -v mpicc >/dev/null && command -v mpirun >/dev/null || { echo "skipped: there is no MPI here"; exit 0; }; \
		$(MAKE) $(MPI:%=build/mpi-test/%) build/mpi-test/hypercube build/mpi-test/each && bash tests/programs/test_mpi.sh build/mpi-test
test-python: build/denoise build/hypercube build/superres ; @CC="$(CC)" sh tests/python/test_python.sh
python-deps: ; @sh tests/install_deps.sh python
# Any of the interpreters that has pygments.
PYGMENTS = $(shell for p in python3 /usr/bin/python3; do $$p -c 'import pygments' 2>/dev/null && echo $$p && break; done)
book test-book look-book: | build $(BEFORE)
	$(if $(PYGMENTS),@$(PYGMENTS) tools/book.py build/book $(if $(filter book,$@),,&& $(PYGMENTS) tests/programs/test_book.py build/book \
		$(if $(filter look-book,$@),--look)),@echo "skipped: there is no pygments here; make book-deps installs it")
book-deps: ; @sh tests/install_deps.sh book
PREFIX ?= /usr/local
install uninstall: ; @PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" sh tools/install.sh $@
test-install: | build ; @CC="$(CC)" bash tests/release/test_install.sh
install-deps: ; @sh tests/install_deps.sh install
clean: ; rm -rf build
deps: ; @sh tests/install_deps.sh
build: ; @mkdir -p $@
