#!/bin/sh
# Prints the exercises of a lesson as a program to fill in: N_solutions.c without the parts between YOUR TURN and END OF YOUR TURN.
#
#     sh examples/course/skeleton.sh 1 >mine.c
#     cc -Wall -O2 -I. -Iexamples/course mine.c examples/course/library.c -lm -o mine && ./mine
set -eu
here=$(dirname "$0")
solutions=$here/${1:-}_solutions.c
if [ $# -ne 1 ] || [ ! -f "$solutions" ]; then
    echo "usage: sh $0 LESSON >mine.c; LESSON is 1 to 6, found: ${1:-none}" >&2
    exit 2
fi
cat <<END
/* The exercises of lesson $1: see $(echo "$here/$1"_*.md). Write each part that says YOUR TURN, then run

       cc -Wall -O2 -I. -Iexamples/course mine.c examples/course/library.c -lm -o mine && ./mine

   A line begins with FAILED until its exercise is done. */
#if defined(__GNUC__) || defined(__clang__) /* what is given for a part that is not written yet is not used yet */
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
END
awk -v lesson="$1" '
    !begun { if (/\*\//) begun = 1; next } # the comment at the top of the solutions
    /END OF YOUR TURN/ { hidden = 0; print ""; next }
    hidden { next }
    { sub(lesson "_solutions", "mine"); print }
    /YOUR TURN:/ { turn = 1 }
    turn && /\*\// { turn = 0; hidden = 1 }' "$solutions"
