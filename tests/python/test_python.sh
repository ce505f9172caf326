#!/bin/sh
# make test-python: tests/python/test_python.py by the first Python that has what it takes; libraries are kept below build/.
set -eu
for python in ${PYTHON:-python3 /usr/bin/python3} none; do
    [ "$python" != none ] || { echo "skipped: pytest, scikit-learn, MDP or spectral is not here: make python-deps"; exit 0; }
    ! "$python" -c 'import pytest, sklearn, mdp, spectral' 2>/dev/null || break
done
SPARSEHS_CACHE=$PWD/build/python SPARSEHS_CC=${SPARSEHS_CC:-${CC:-cc}} JUPYTER_PLATFORM_DIRS=1 PYTHONDONTWRITEBYTECODE=1
export SPARSEHS_CACHE SPARSEHS_CC JUPYTER_PLATFORM_DIRS PYTHONDONTWRITEBYTECODE
exec "$python" -m pytest -q -p no:cacheprovider tests/python/test_python.py
