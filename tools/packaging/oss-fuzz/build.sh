#!/bin/bash -eu
# Builds the fuzz targets of tests/fuzz/ as OSS-Fuzz asks for it: $CC, $CXX, $CFLAGS, $CXXFLAGS and $LIB_FUZZING_ENGINE are given; the
# programs, their first inputs and their dictionaries go to $OUT. $SRC/sparsehs is the source.
cd "$SRC/sparsehs"
work=${WORK:-$(mktemp -d)}

# shellcheck disable=SC2086 # lists of words
compile() { "$CC" $CFLAGS -std=c99 -c "$1" -o "$2"; }
compile tests/fuzz/library.c "$work/library.o"

for source in tests/fuzz/fuzz_*.c; do
    target=$(basename "$source" .c)
    name=${target#fuzz_}
    compile "$source" "$work/$target.o"
    # shellcheck disable=SC2086
    "$CXX" $CXXFLAGS "$work/$target.o" "$work/library.o" $LIB_FUZZING_ENGINE -lm -o "$OUT/$target"
    (cd "tests/fuzz/corpus/$name" && python3 -m zipfile -c "$OUT/${target}_seed_corpus.zip" ./*)
    printf '[libfuzzer]\nmax_len = 400\n' >"$OUT/$target.options"
    [ ! -f "tests/fuzz/$name.dict" ] || cp "tests/fuzz/$name.dict" "$OUT/$target.dict"
done
