#!/bin/sh
# The lines and branches of sparsehs.h that the tests reach ($TESTS, in float and in double, and the loops of OpenMP; by gcov,
# at -O0, with all instances of the kernels). What they do not reach is listed in build/coverage: lines in `uncovered`, branches
# by function in `branches_left`. A line or a branch counts as reached where any program and any instance takes it. What only
# other processors and switches compile does not count: make portability runs it. The real data are left out unless DATA names
# their folder: their tests take most of the time and reach nothing more.
set -eu
LC_ALL=C
export LC_ALL
CC=${CC:-cc}
out=build/coverage
command -v gcov >/dev/null || { echo "skipped: there is no gcov here"; exit 0; }
rm -rf "$out"

# Only at -O0 each line keeps its own count; the instances are left out there unless the macro says otherwise, and what would
# be inlined at every call, and counted at each of them, is a function.
flags="-std=c99 -O0 -D__OPTIMIZE__=1 -Dalways_inline=unused -Wno-psabi --coverage ${CPPFLAGS:-}"

# cover VARIANT FLAGS PROGRAMS: runs the programs, and leaves what gcov says of sparsehs.h in $out/VARIANT.
cover() {
    into=$out/$1 more=$2
    shift 2
    mkdir -p "$into"
    for t in "$@"; do
        "$CC" $flags $more -o "$into/$t" "tests/$t.c" -lcmocka -lm -lpthread || return 1
        "$into/$t" >"$into/$t.log" 2>&1 || { echo "coverage: $into/$t fails"; tail -5 "$into/$t.log"; return 1; }
        gcov -b -c -t "$into/$t.gcda" 2>/dev/null |
            awk '/^ *-: *0:Source:/ { ours = /sparsehs\.h$/ } ours' >"$into/$t.gcov"
        [ -s "$into/$t.gcov" ] || { echo "coverage: gcov says nothing of $into/$t"; return 1; }
    done
}

# The two take about as long: side by side.
export SHS_DATA="${DATA:-none}"
cover double "-DSPARSEHS_NO_OPENMP -DSPARSEHS_DOUBLE" $TESTS &
double=$!
cover float "-DSPARSEHS_NO_OPENMP" $TESTS || { kill "$double" 2>/dev/null; exit 1; }
wait "$double"
[ -z "${OPENMP:-}" ] || cover openmp "$OPENMP -fprofile-update=atomic" test_context

# gcov lists the text of an instance once for each, then all of its lines together and without branches. A branch is known by
# its line, how many there are in that listing of the line (macros and constants make it differ), and its place among them.
awk -F: '
    function settle(   b) {
        for (b = 1; b <= branch; b++) {
            branches[line "," branch "," b] = 1
            if (went[b]) taken[line "," branch "," b] = 1
        }
        branch = 0
    }
    /^function / { settle(); split($0, words, " "); name = words[2]; next }
    /^ *[0-9#=-]+\*?:/ {
        settle()
        line = $2 + 0; count = $1; sub(/\*/, "", count); gsub(/ /, "", count)
        if (count == "-") next
        seen[line] = 1
        if (count !~ /^[#=]/ && count + 0 > 0) hit[line] = 1
        text[line] = substr($0, index($0, $2 ":") + length($2) + 1)
        of[line] = name
        next
    }
    /^branch/ { branch++; went[branch] = $0 !~ /never executed|taken 0/; next }
    END {
        settle()
        sort_lines = "sort -n >'"$out"'/uncovered"
        sort_branches = "sort -n >'"$out"'/branches_left"
        for (l in seen) { all++; if (l in hit) reached++; else printf "%6d %s\n", l, text[l] | sort_lines }
        for (b in branches) {
            all_b++
            if (b in taken) { reached_b++; continue }
            split(b, part, ",")
            left[part[1] "," part[2]] = left[part[1] "," part[2]] " " part[3]
        }
        for (l in left) {
            split(l, part, ",")
            printf "%6d %s:%s of %d: %s\n", part[1], of[part[1]], left[l], part[2], text[part[1]] | sort_branches
        }
        printf "sparsehs.h: %d of %d lines (%.2f %%), %d of %d branches (%.2f %%)\n", reached, all, 100 * reached / all,
            reached_b, all_b, 100 * reached_b / all_b
    }' "$out"/*/*.gcov
touch "$out/uncovered" "$out/branches_left"
cat "$out/uncovered"

# What the tests are worth is seen by spoiling the source. Each of these changes, made by hand, fails the tests that follow it:
#
#   Batch-OMP: half of c_i^2 taken from d^2, by the Gram matrix       test_coding: test_fixed_sparsity, test_limits_each ...
#   the stop by tolerance without the recurrence's error              test_coding: test_tolerance_at_the_residual
#   AK-SVD: d_new without d_old |x|^2                                 test_learning: test_naive_update, test_learns ...
#   AK-SVD: x_new without d_old'd_new                                 test_learning: test_naive_update
#   PAK-SVD: the group before the last leaves E as it was             test_learning: test_naive_update
#   of two coherent atoms the one with more uses goes                 test_learning: test_less_used_duplicate_goes
#   syrk: a row too many above the diagonal of an edge tile           test_dense: syrk_matches_naive
#   gemm: an edge block of A packed without its padding               test_dense: gemm_matches_naive_over_odd_sizes ...
#   merged moments without n e e'                                     test_cubes: test_merge_in_any_order, test_split_anywhere
#   no data: the last band alone decides                              test_cubes: test_nodata; test_pca: test_missing_pixels
#   MNF: pairs whose right neighbour is missing count                 test_pca: test_mnf
#   eigenvectors with the largest entry negative                      test_pca: test_mnf, test_mnf_from_noise
#   ... the last of equals deciding                                   test_pca: test_sign_of_equals
#   FastICA: the first component left out of the projection           test_ica: test_against_the_naive_iteration ...
#   FastICA: the slope of y^3 taken as 2                              test_ica: test_every_contrast_converges ...
#   patches averaged with 1 in place of lambda below                  test_patches: test_average
#   patches: no position at the far edge                              test_patches: test_grid_positions
#   arena: blocks not aligned                                         test_context: arena_blocks_are_aligned_and_apart
