#!/bin/sh
# make test-oclgrind: programs with every access of every kernel checked; the checker's log must stay empty. Oclgrind interprets a
# thousand times slower than a processor runs, so that each suite has the tests below, which take some seconds each.
#
# Its option --uninitialized (21.10) is of no use here: it takes what clEnqueueFillBuffer wrote for uninitialised, and ends a kernel
# where LLVM has put a `freeze`, after which other kernels read what that one did not write. tests/device/cl_shim.h fills each new
# buffer with NaN instead, so that reading what nobody wrote changes results.
set -eu
command -v oclgrind >/dev/null && [ $# -gt 0 ] || { echo "skipped: there is no oclgrind or no OpenCL here"; exit 0; }
tests_of() {
    case $1 in
    *test_cl_pixels) echo test_short_runs ;;
    *test_cl_signals) echo test_gemm test_shapes test_selections test_nearly_dependent_atoms test_shared_by_one test_options \
        test_degenerate test_learning test_learning_options test_nsgk_less_coherent test_descents test_sums_over_sizes test_modes ;;
    *test_cl_products) echo test_gemm test_gemm_in_tiles test_nothing_to_multiply ;;
    *test_cl_compact) echo test_same_bits test_never_worse_than_the_nearest test_slices ;;
    *test_cl_single) echo test_components test_sources test_anomalies ;;
    *test_cl_selftest) echo test_trust test_fallback test_verdicts_are_kept ;;
    *test_cl_core) echo test_own_context test_programs_are_kept test_binaries test_tuning test_memory_is_kept test_pinned test_queues \
        test_wrap test_profile ;;
    *test_cl_cache) echo test_second_run_builds_nothing ;;
    esac
}
for t in "$@"; do
    wanted=$(tests_of "$t")
    [ -n "$wanted" ] || { echo "skipped: $t: its tests take minutes each under oclgrind"; continue; }
    for only in $wanted; do
        echo "== oclgrind $t: $only"
        rm -f build/oclgrind.log build/oclgrind.txt
        SHS_TEST=$only oclgrind --log build/oclgrind.log "./$t" >build/oclgrind.txt 2>&1 || { cat build/oclgrind.txt; exit 1; }
        grep '^\[  PASSED  \]' build/oclgrind.txt
        grep -q '^\[  PASSED  \] [1-9]' build/oclgrind.txt || { echo "$t: there is no test $only"; exit 1; }
        [ ! -s build/oclgrind.log ] || { cat build/oclgrind.log; exit 1; }
    done
done
