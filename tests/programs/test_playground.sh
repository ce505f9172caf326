#!/bin/sh
# Builds the page of the playground and denoise by the same compiler, and runs tests/programs/test_playground.py. From the
# project's root, after make build/hypercube.
set -eu
for tool in emcc node chromium chromedriver; do
    command -v $tool >/dev/null || { echo "skipped: there is no $tool here; make playground-deps installs it"; exit 0; }
done
# Which of the Pythons here has selenium is asked of each.
for python in python3 /usr/bin/python3; do
    $python -c 'import selenium' 2>/dev/null || continue
    sh examples/playground/build.sh build/playground
    sh examples/playground/build.sh build/playground denoise
    exec $python tests/programs/test_playground.py build/playground
done
echo "skipped: there is no Python with selenium here; make playground-deps installs it"
