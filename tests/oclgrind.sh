#!/bin/sh
# make test-oclgrind: programs with every access of every kernel checked; the checker's log must stay empty. Where a program
# knows SHS_TEST it runs that test alone.
set -eu
command -v oclgrind >/dev/null && [ $# -gt 0 ] || { echo "skipped: there is no oclgrind or no OpenCL here"; exit 0; }
for t in "$@"; do
    echo "== oclgrind $t"
    rm -f build/oclgrind.log
    SHS_TEST=test_short_runs oclgrind --log build/oclgrind.log "./$t"
    [ ! -s build/oclgrind.log ] || { cat build/oclgrind.log; exit 1; }
done
