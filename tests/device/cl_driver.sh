#!/bin/sh
# make test-cl DRIVERS=...: a short set of tests on one OpenCL implementation beside PoCL, chosen by the environment alone, so that
# what this machine runs by default stays what it is.
#     sh tests/device/cl_driver.sh intel|rusticl PROGRAM...
set -eu
driver=$1
shift
case $driver in
intel)
    # Intel's runtime for processors, as `make cl-drivers-deps` installs it.
    lib=${SHS_INTEL_OPENCL:-build/intel-opencl/lib}
    [ -e "$lib/libintelocl.so" ] || { echo "skipped: there is no $lib/libintelocl.so; make cl-drivers-deps installs it"; exit 0; }
    lib=$(cd "$lib" && pwd)
    export OCL_ICD_VENDORS=/nonexistent OCL_ICD_FILENAMES="$lib/libintelocl.so" LD_LIBRARY_PATH="$lib" ;;
rusticl)
    icd=/etc/OpenCL/vendors/rusticl.icd
    [ -e "$icd" ] || { echo "skipped: there is no $icd; make cl-drivers-deps installs Mesa's driver"; exit 0; }
    echo "rusticl on llvmpipe: float alone, for it has no double"
    export OCL_ICD_VENDORS="$icd" RUSTICL_ENABLE=swrast ;;
*)
    echo "$driver: no such driver (pocl, intel, rusticl, oclgrind)" >&2
    exit 1 ;;
esac
build/devices
for program in "$@"; do
    case $driver-$program in
    rusticl-*/cl-float/test_cl_selftest) only='test_driver*' ;; # it is refused: nothing else can be asked of it
    rusticl-*) continue ;;
    *test_cl_selftest) only='test_faults*' ;; # the others have all built again and again
    *test_cl_signals) only='test_s*' ;; # shapes, rules of choice, sub-groups: the same bits by all coders
    *) only= ;;
    esac
    echo "== $driver: $program"
    if [ -n "$only" ]; then SHS_TEST=$only "$program"; else "$program"; fi
done
[ "$driver" = rusticl ] || bash tests/device/test_cache.sh
