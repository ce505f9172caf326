#!/usr/bin/env bash
# The checks that take longer than `make test`, in groups of about equal length:
#
#     bash tests/checks.sh usual             README's two commands, the main warnings, the embedded kernels, OpenCL in float
#     bash tests/checks.sh memory            all cases of all suites, sanitizers in every variant, threads, valgrind
#     bash tests/checks.sh compilers         other compilers and processors, all warnings, random inputs
#     bash tests/checks.sh programs          papers, Python, MPI, playground, textures, course, book, microcontrollers, peers
#     bash tests/checks.sh touched           what belongs to the files that the commits of the last day touched
#
# Several groups may be named. The tools are installed first. Everything is run; what fails is named at the end.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=
ran=

# The checks of a file, where its name tells.
checks_of() { # path
    case $1 in
        examples/python/* | examples/hypercube/*.h | tests/python/*) echo test-python ;;
        # The page, the lessons and Python's tests compute what these programs compute.
        examples/denois* | examples/inpaint* | examples/filling.h | examples/missing.h | examples/picture.h)
            echo test-playground test-python test-course
            ;;
        examples/superres.c | examples/example.h) echo test-python ;;
        examples/mpi/* | tests/programs/test_mpi*) echo test-mpi ;;
        examples/playground/* | tests/programs/test_playground*) echo test-playground ;;
        examples/papers/* | tests/programs/test_papers*) echo papers ;;
        examples/texture/* | tests/programs/*texture_gl*) echo test-texture-gl ;;
        examples/course/*) echo test-course ;;
        examples/cortex_m/*) echo cortex-m riscv ;;
        tools/book.py | tests/programs/test_book*) echo test-book ;;
        tools/packaging/*.in | tools/packaging/*.cmake | tools/packaging/conan/*) echo test-install test-packaging ;;
        CMakeLists.txt | tools/install.sh | tests/release/test_install*) echo test-install ;;
        meson.build | tools/packaging/* | tests/release/test_packaging*) echo test-packaging ;;
        Makefile | tests/checks.mk | tools/sizes.sh) echo test-release ;;
        tests/api/* | tools/version.sh | tools/dist.sh | tests/release/test_release.sh | CITATION.cff | CHANGELOG.md)
            echo check-version test-release
            ;;
        tests/fuzz/*) echo fuzz ;;
    esac
}

touched() {
    since=$(git log -1 --format=%ct)
    git log --since=$((since - 86400)) --name-only --format= | sort -u | while read -r file; do checks_of "$file"; done | tr ' ' '\n' |
        awk '!seen[$0]++'
}

needs() { # checks: the targets that install their tools
    for check in "$@"; do
        case $check in
            test-all) echo pages-deps ;;
            test-python) echo python-deps ;;
            test-mpi) echo mpi-deps ;;
            test-playground) echo playground-deps ;;
            papers | test-papers) echo papers-deps ;;
            test-texture-gl) echo texture-deps ;;
            test-course) echo course-deps ;;
            test-peers) echo peers-deps ;;
            test-install) echo install-deps ;;
            test-packaging) echo packaging-deps ;;
            check-warnings) echo windows-deps ;; # without mingw-w64 it leaves out the programs for Windows
            cortex-m | riscv) echo people-deps ;;
        esac
    done | sort -u
}

run() { # name, checks ...
    name=$1
    shift
    # What another group has run is not run again.
    wanted=
    for check in "$@"; do case " $ran " in *" $check "*) ;; *) wanted="$wanted $check" ;; esac; done
    ran="$ran $wanted"
    # shellcheck disable=SC2086 # a list of words
    set -- $wanted
    [ $# -gt 0 ] || return 0
    echo "== $name: $*"
    # One after the other: they ask the same package manager.
    for target in $(needs "$@"); do make -s "$target" || failed="$failed $target"; done
    env SECONDS=5 sh tests/run.sh all make $(printf 'build/checks/%s.run ' "$@") || failed="$failed $name"
    # Nothing may be skipped for want of a tool; but not every machine lets programs with ThreadSanitizer run, or has an OpenCL
    # device.
    for check in "$@"; do
        if grep 'skipped:.* here' "build/log/checks/$check.log" | grep -v 'ThreadSanitizer\|Archer\|OpenCL'; then
            echo "checks: $check: a tool is missing: see tests/install_deps.sh" >&2
            failed="$failed $check"
        fi
    done
}

# Small papers, short fuzzing, and the rows of portability that compile and run here without an emulator.
export CL_VARIANTS=float QUICK=1
export ROWS="g++ clang++ switches clang-everything clang-cl cppcheck clang-tidy"
for group in "$@"; do
    case $group in
        usual)
            make deps test || failed="$failed test"
            run usual check-warnings-main check-embed test-cl
            ;;
        memory) run memory test-all test-msan test-tsan test-valgrind test-cl-long ;;
        compilers) run compilers portability check-warnings check-warnings-cl fuzz test-install check-version \
            test-release test-packaging ;;
        programs)
            run programs papers test-python demo test-mpi test-playground test-texture-gl test-course test-peers test-book cortex-m \
                riscv
            ;;
        touched)
            # shellcheck disable=SC2046 # a list of words
            run touched $(touched)
            ;;
        *)
            echo "checks: '$group' is no group: usual, memory, compilers, programs or touched" >&2
            exit 2
            ;;
    esac
done
# The page of the papers is opened when their tables are there.
case " $ran " in *" papers "*) run pages test-papers ;; esac
[ -z "$failed" ] || { echo "FAILED:$failed" >&2; exit 1; }
