#!/bin/bash
# The programs for MPI with 1, 2 and 4 ranks on one machine: the same results as without MPI, and whatever goes wrong on one rank,
# every rank ends, says so, and leaves no output. Each run has a limit in time. From the project's root:
#
#     bash tests/programs/test_mpi.sh FOLDER        FOLDER has cube_mpi, train_mpi and code_mpi, built with -DRANKS_TEST, hypercube,
#                                              and each: code_mpi with OpenCL
programs=$(cd "$1" && pwd) || exit 2
hypercube=$PWD/build/hypercube
same_flags=$programs/hypercube
readme=$PWD/README.md
root=$PWD
# shellcheck source=tests/programs/programs.sh
. tests/programs/programs.sh

# Ranks share processors here, so that they must not spin while they wait.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none OMP_NUM_THREADS=1

# ranks N COMMAND...: with a limit in time, that a rank which waits for ever runs into; what they say is in out.txt and err.txt.
ranks() { timeout -k 5 60 mpirun -n "$@" >out.txt 2>err.txt; }
good_ranks() { ranks "$@" && ! grep -q . err.txt; }

# ends NAME N PATTERN COMMAND...: it must fail before the limit, each of the N ranks saying why, and leave nothing.
ends() {
    local name=$1 n=$2 pattern=$3 got
    shift 3
    rm -f bad*
    timeout -k 5 60 mpirun "$@" >out.txt 2>err.txt
    got=$?
    check "$name: ends with a status" test $got -ne 0 -a $got -ne 124 -a $got -ne 137
    check "$name: every rank says '$pattern'" test "$(grep -c -- "$pattern" err.txt)" -eq "$n"
    [ "$(grep -c -- "$pattern" err.txt)" -eq "$n" ] || sed 's/^/        /' err.txt
    check "$name: leaves nothing" test -z "$(ls | grep '^bad' || true)"
}

# same NAME A B BOUND: numbers of two files (of numpy's, or without a header of 128 bytes: raw) that differ by no more.
same() {
    check "$1" perl -e 'my @x = map { local (@ARGV, $/) = $_; <> } @ARGV[0, 1]; my $b = $ARGV[2];
        s/^\x93NUMPY.{122}//s for @x; my @u = map { [unpack "f<*", $_] } @x;
        exit 1 if !@{$u[0]} || @{$u[0]} != @{$u[1]};
        for (0 .. $#{$u[0]}) { exit 1 unless abs($u[0][$_] - $u[1][$_]) <= $b * (1 + abs $u[0][$_]) }' "$2" "$3" "$4"
}

# codes_are NAME ATOMS SIGNALS PREFIX SPARSITY TOLERANCE: the codes are those of OMP, replayed here in double. Each atom is one of
# the best for what the atoms before it leave, the coefficients are the least squares over the chosen atoms, and a signal has fewer
# atoms than SPARSITY only where no more than TOLERANCE (or than rounding) is left of it. Atoms have unit norm.
cat >codes_are.pl <<'EOF'
use strict;
my ($D, $Y, $prefix, $s, $tolerance) = @ARGV;
sub rows { # of a file of numpy's with numbers of four bytes, as lists
    my ($name, $kind) = @_;
    my $text = do { local (@ARGV, $/) = $name; <> };
    my ($columns) = $text =~ /'shape': \(\d+,\s*(\d+)\)/;
    $columns ||= 1;
    my @all = unpack "$kind<*", substr $text, 128;
    my @rows;
    push @rows, [splice @all, 0, $columns] while @all;
    return @rows;
}
sub dot { my ($x, $y) = @_; my $sum = 0; $sum += $$x[$_] * $$y[$_] for 0 .. $#$x; $sum }
sub least_squares { # y over the columns of d: Gaussian elimination of the normal equations
    my ($y, @d) = @_;
    my @A = map { my $a = $_; [(map { dot($a, $_) } @d), dot($a, $y)] } @d;
    for my $i (0 .. $#d) {
        for my $k ($i + 1 .. $#d) {
            my $f = $A[$k][$i] / $A[$i][$i];
            $A[$k][$_] -= $f * $A[$i][$_] for $i .. @d;
        }
    }
    my @x;
    for my $i (reverse 0 .. $#d) {
        my $sum = $A[$i][-1];
        $sum -= $A[$i][$_] * $x[$_] for $i + 1 .. $#d;
        $x[$i] = $sum / $A[$i][$i];
    }
    return @x;
}
my @d = rows($D, "f");
my @y = rows($Y, "f");
my @used = map { $$_[0] } rows("${prefix}_used.npy", "l");
my @atoms = rows("${prefix}_atoms.npy", "l");
my @coefs = rows("${prefix}_coefs.npy", "f");
my $most = $s < @{$d[0]} ? $s : @{$d[0]};
die "sizes" unless @y && @used == @y && @atoms == @y && @coefs == @y && @{$atoms[0]} == $most && @{$coefs[0]} == $most;
for my $i (0 .. $#y) {
    my $rounding = 1e-5 * sqrt dot($y[$i], $y[$i]);
    my $enough = $tolerance > $rounding ? $tolerance : $rounding;
    my @rest = @{$y[$i]};
    my (@chosen, @x);
    die "signal $i: $used[$i] atoms" if $used[$i] > $most;
    for my $k (0 .. $used[$i] - 1) {
        my ($best) = sort { $b <=> $a } map { abs dot($_, \@rest) } @d;
        die "signal $i: atom $k is one too many" if $tolerance && sqrt(dot(\@rest, \@rest)) < $tolerance - $rounding;
        push @chosen, $d[$atoms[$i][$k]];
        die "signal $i: atom $k is not the best" if abs(dot($chosen[-1], \@rest)) < $best * (1 - 1e-4) - $rounding;
        last if sqrt(dot(\@rest, \@rest)) < $rounding;
        @x = least_squares($y[$i], @chosen);
        @rest = @{$y[$i]};
        for my $j (0 .. $#x) { $rest[$_] -= $x[$j] * $chosen[$j][$_] for 0 .. $#rest }
    }
    die "signal $i: $used[$i] atoms are too few" if $used[$i] < $most && sqrt(dot(\@rest, \@rest)) > $enough + $rounding;
    next if $most > 8; # of so many atoms the normal equations are too badly conditioned
    for my $k (0 .. $#x) { die "signal $i: coefficient $k" if abs($x[$k] - $coefs[$i][$k]) > 1e-3 * (1 + abs $x[$k]) }
    for my $k ($used[$i] .. $most - 1) { die "signal $i: behind its atoms" if $atoms[$i][$k] || $coefs[$i][$k] }
}
EOF
codes_are() { check "$1" perl codes_are.pl "${@:2}"; }

# ---- README ------------------------------------------------------------------------------------------------------------

# The lines of MPI that it shows compile as they stand, and are those of the programs.
sed -n '/^```c$/,/^```$/p' "$readme" | awk '/^```c/ { block = ""; next } /^```/ { if (block ~ /MPI_Allreduce/) printf "%s", block; next }
    { block = block $0 "\n" }' >lines.txt
check "README shows lines of MPI" grep -q MPI_Allreduce lines.txt
cp lines.txt lines.c
check "README's lines of MPI compile" mpicc -std=c99 -Wall -Wextra -Werror -I"$root" -fsyntax-only lines.c
sed -n '/^static/,/^}/p' lines.txt | while read -r line; do
    grep -qF -- "$line" "$root/examples/mpi/ranks.h" || { echo "$line" >other.txt; break; }
done
check "they are those of the programs" test ! -e other.txt

# ---- cubes -------------------------------------------------------------------------------------------------------------

cube=$programs/cube_mpi
"$hypercube" synthesise scene.hdr >/dev/null
for layout in bsq bil bip; do
    "$hypercube" convert scene.hdr $layout.hdr --window 10,10,37,13 --bands 3,10,17,30,44,58,77 --interleave $layout >/dev/null
done
"$hypercube" convert scene.hdr short.hdr --window 10,10,37,3 --bands 3,10,17,30,44,58,77 >/dev/null
for mode in pca ica mnf rx; do
    many=$([ $mode = rx ] || echo "--components 3")
    # shellcheck disable=SC2086 # words
    "$hypercube" $mode bsq.hdr alone_$mode.hdr $many >/dev/null
    layout=bsq
    for n in 1 2 4; do # shares of 13, 7 and 6, 4 and 3 lines
        check "$mode, $layout, $n ranks" good_ranks $n "$cube" $mode $layout.hdr $mode$n.hdr $many --block 2 --save $mode$n.model
        check "$mode, $layout, $n ranks: a cube" "$hypercube" convert $mode$n.hdr same_$mode$n.hdr --interleave bsq --type f32
        same "$mode, $layout, $n ranks: as without MPI" alone_$mode.img same_$mode$n.img 2e-4
        layout=$([ $layout = bsq ] && echo bil || echo bip)
    done
done
# Ranks as threads of one program: two, each with the lines that MPI's rank has, give the same bytes.
for mode in pca ica mnf rx; do
    many=$([ $mode = rx ] || echo "--components 3")
    # shellcheck disable=SC2086 # words
    check "$mode: two ranks of MPI" good_ranks 2 "$cube" $mode bsq.hdr two_$mode.hdr $many --block 2
    # shellcheck disable=SC2086 # words
    check "$mode: two threads" "$same_flags" $mode bsq.hdr threads_$mode.hdr $many --interleave bsq --block 2 --device cpu:7,cpu:6
    check "$mode: two ranks of MPI and two threads: the same bytes" cmp two_$mode.img threads_$mode.img
done
# What is fitted is kept for scores, too, by either program for the other.
"$hypercube" rx bsq.hdr kept.hdr --save kept.model >/dev/null
check "apply: a model of hypercube rx" good_ranks 2 "$cube" apply kept.model bsq.hdr scores.hdr
same "apply: a model of hypercube rx: the scores" alone_rx.img scores.img 2e-4
check "apply: a model of hypercube rx: one band, named so" grep -q '^ *RX 1}' scores.hdr
check "hypercube applies the model of rx" "$hypercube" apply rx4.model bsq.hdr scores_too.hdr
same "hypercube applies the model of rx: the scores" alone_rx.img scores_too.img 2e-4
check "rx --components" good_ranks 2 "$cube" rx bsq.hdr few_rx.hdr --components 3
"$hypercube" rx bsq.hdr alone_few_rx.hdr --components 3 >/dev/null
same "rx --components: as without MPI" alone_few_rx.img few_rx.img 2e-4
check "rx --components: other scores than those of all" bash -c "! cmp -s few_rx.img rx1.img"
"$hypercube" ica bsq.hdr alone_tanh.hdr --components 3 --contrast tanh >/dev/null
check "ica --contrast tanh" good_ranks 2 "$cube" ica bsq.hdr tanh.hdr --components 3 --contrast tanh
same "ica --contrast tanh: as without MPI" alone_tanh.img tanh.img 2e-4
# refused OPTION MODE...: what a mode would ignore, it refuses.
refused() { ends "$2 $1" 2 "${1%% *}: not with $2, only with " -n 2 "$cube" "${@:2}" $1; }
for option in "--contrast tanh" --symmetric "--iterations 9"; do
    for mode in pca mnf rx; do refused "$option" $mode bsq.hdr bad.hdr; done
done
for option in "--contrast tanh" --symmetric "--iterations 9" "--components 2" "--save bad.model"; do
    refused "$option" apply pca1.model bsq.hdr bad.hdr
done
ends "a contrast that is none" 2 "--contrast: 'odd' is none of pow3|tanh|gauss|skew" -n 2 "$cube" ica bsq.hdr bad.hdr --contrast odd
RANKS_FAULT= ends "several devices of a rank" 2 "a rank has one device" -n 2 "$cube" pca bsq.hdr bad.hdr --device 0,1
check "apply" good_ranks 4 "$cube" apply pca1.model bsq.hdr applied.hdr
same "apply: as fitted" alone_pca.img applied.img 2e-4
check "hypercube applies the model of four ranks" "$hypercube" apply ica4.model bsq.hdr applied_ica.hdr
# A model knows the wavelengths of its bands.
"$hypercube" convert bsq.hdr turned.hdr --bands 7,6,5,4,3,2,1 >/dev/null
check "hypercube finds the bands of a model of ranks by wavelength" "$hypercube" apply pca4.model turned.hdr applied_turned.hdr
same "hypercube finds the bands of a model of ranks by wavelength: the components" alone_pca.img applied_turned.img 2e-4
ends "apply: bands at other wavelengths" 2 "turned.hdr: wavelength: band 1 has .*, but band 1 of pca4.model has " \
    -n 2 "$cube" apply pca4.model turned.hdr bad.hdr
"$hypercube" convert bsq.hdr fewer.hdr --bands 1,2,3 >/dev/null
ends "apply: fewer bands" 2 "fewer.hdr: bands: 3 are in use, but pca4.model is of 7" -n 2 "$cube" apply pca4.model fewer.hdr bad.hdr
# What hypercube notes of the values that a model is of: a cube is scaled as it says, pixels without data stay out, and other
# gains are told.
gains=$(seq -s, 0.01 0.01 0.07)
first=$("$hypercube" spectra bsq.hdr at.csv --at 10,10 >/dev/null; awk -F, 'NR == 2 { print $2 }' at.csv)
for how in gains reflectance; do
    grep -v '^data ignore\|^reflectance' bsq.hdr >$how.hdr; cp bsq.img $how.img
    { echo "data gain values = {$gains}"; echo "data offset values = {$gains}"; echo "reflectance scale factor = 5000"
        echo "data ignore value = $first"; } >>$how.hdr
    "$hypercube" pca $how.hdr alone_$how.hdr --components 3 --$how --save $how.model >/dev/null
    check "apply: a model of hypercube --$how" good_ranks 2 "$cube" apply $how.model $how.hdr ranks_$how.hdr
    check "apply: a model of hypercube --$how: it is told once" test "$(grep -c "$how.hdr: values are scaled .*, as those of $how.model were" out.txt)" -eq 1
    "$hypercube" compare alone_$how.hdr ranks_$how.hdr same.hdr >same.txt
    check "apply: a model of hypercube --$how: the components" awk '{ for (i = 1; i <= NF; i++) { split($i, a, "="); v[a[1]] = a[2] } }
        END { exit !(v["pixels"] > 400 && v["pixels"] < 481 && v["largest"] < 1e-3) }' same.txt
done
"$hypercube" pca gains.hdr same.hdr --components 3 --save stored.model >/dev/null
sed "s/^data gain values = {0.01/data gain values = {0.02/" gains.hdr >other.hdr; cp gains.img other.img
check "apply: other gains" ranks 2 "$cube" apply stored.model other.hdr same.hdr
check "apply: other gains: the first rank tells" test "$(grep -c 'other.hdr: data gain values: 0.02 in band 1, but 0.01 in the cube that stored.model' err.txt)" -eq 1
sed "s/^reflectance scale.*/reflectance scale factor = 500/" gains.hdr >other.hdr
check "apply: another factor of reflectance" good_ranks 2 "$cube" apply stored.model other.hdr same.hdr
check "apply: another factor of reflectance: it is told" grep -q 'other.hdr: values are multiplied by 10: ' out.txt
ends "apply: a model of scaled values, no gains" 2 "bsq.hdr: data gain values: the key is missing, and gains.model was fitted to scaled values" \
    -n 2 "$cube" apply gains.model bsq.hdr bad.hdr
check "one rank has nothing" good_ranks 4 "$cube" pca short.hdr few.hdr --components 3
"$hypercube" pca short.hdr alone_few.hdr --components 3 >/dev/null
same "one rank has nothing: as without MPI" alone_few.img few.img 2e-4
check "--help ends well" good_ranks 2 "$cube" --help
check "--help is said once" test "$(grep -c '^Usage' out.txt)" -eq 1
for name in cube_mpi train_mpi code_mpi; do check_help "$programs/$name"; done

# What one rank alone runs into.
for fault in read:0 read:5 write:0 write:3 memory:0 memory:2 cancel:1 open:0 open:1 finish:0; do
    RANKS_FAULT=2:$fault ends "$fault on a rank" 3 '\.img[.part]*: ' -n 3 "$cube" pca bil.hdr bad.hdr --components 3 --block 1
done
RANKS_FAULT=1:version:0 ends "another version" 2 "differ in the version" -n 2 "$cube" pca bsq.hdr bad.hdr
ends "another option" 2 "differ in their options" -n 1 "$cube" pca bsq.hdr bad.hdr --components 3 : -n 1 "$cube" pca bsq.hdr \
    bad.hdr --components 4
ends "a wrong option of one rank" 2 "unknown option" -n 1 "$cube" pca bsq.hdr bad.hdr : -n 1 "$cube" pca bsq.hdr bad.hdr --what
ends "too many components" 2 "components" -n 2 "$cube" pca bsq.hdr bad.hdr --components 8
mkdir elsewhere shorter
cp bil.hdr bil.img bsq.hdr bsq.img shorter
printf x | dd of=shorter/bsq.img bs=1 seek=6000 conv=notrunc 2>/dev/null
printf x | dd of=shorter/bsq.img bs=1 seek=1 conv=notrunc 2>/dev/null
truncate -s -1 shorter/bil.img
ends "a file that one rank sees shorter" 3 "truncated" -n 2 "$cube" pca bil.hdr bad.hdr : -n 1 -wdir shorter "$cube" pca bil.hdr \
    bad.hdr
ends "another file" 3 "differ in the files" -n 2 "$cube" pca bsq.hdr bad.hdr : -n 1 -wdir shorter "$cube" pca bsq.hdr bad.hdr
ends "no file on one rank" 3 "bsq.hdr: " -n 2 "$cube" pca bsq.hdr bad.hdr : -n 1 -wdir elsewhere "$cube" pca bsq.hdr bad.hdr

# ---- signals -----------------------------------------------------------------------------------------------------------

# signals NAME COUNT: of 16 values, sums of few of 24 fixed vectors.
signals() {
    perl -e 'my ($m, $s) = (shift, 1); sub r { $s = ($s * 1103515245 + 12345) % 2147483648; $s / 1073741824 - 1 }
        my @d = map { [map { r() } 1 .. 16] } 1 .. 24; my $x = "";
        for (1 .. $m) { my @y = (0) x 16; for (1 .. 3) { my ($a, $d) = (r() + 1.5, $d[int(12 * (r() + 1))]);
            $y[$_] += $a * $$d[$_] for 0 .. 15 } $x .= pack "f<*", @y }
        my $h = sprintf "{\x27descr\x27: \x27<f4\x27, \x27fortran_order\x27: False, \x27shape\x27: (%d, 16), }", $m;
        binmode STDOUT; print "\x93NUMPY\1\0\x76\0", sprintf("%-117s\n", $h), $x' "$2" >"$1"
}
signals many.npy 1003
signals few.npy 3
train=("$programs/train_mpi" many.npy)
how="--atoms 24 --sparsity 3 --iterations 4 --parallel-atoms 6"
for n in 1 2 4; do
    # shellcheck disable=SC2086 # words
    check "train, $n ranks" good_ranks $n "${train[@]}" atoms$n.npy $how
    cp out.txt train.txt
    same "train, $n ranks: as one" atoms1.npy atoms$n.npy 1e-3
    check "code, $n ranks" good_ranks $n "$programs/code_mpi" atoms1.npy many.npy codes$n --sparsity 3 --block 100
    cp out.txt code.txt
    for part in used atoms; do check "code, $n ranks: $part as one" cmp codes1_$part.npy codes${n}_$part.npy; done
    same "code, $n ranks: coefs as one" codes1_coefs.npy codes${n}_coefs.npy 1e-5
done
codes_are "code: as OMP replayed" atoms1.npy many.npy codes1 3 0
for s in 1 8 15 16 20; do
    check "code, --sparsity $s" good_ranks 2 "$programs/code_mpi" atoms1.npy many.npy codes --sparsity $s
    codes_are "code, --sparsity $s: as OMP replayed" atoms1.npy many.npy codes $s 0
done
check "code, the usual sparsity" good_ranks 2 "$programs/code_mpi" atoms1.npy many.npy codes
codes_are "code, the usual sparsity: a tenth of the values" atoms1.npy many.npy codes 1 0
for s in 3 16; do
    check "code, --tolerance 0.5 --sparsity $s" good_ranks 2 "$programs/code_mpi" atoms1.npy many.npy codes --tolerance 0.5 --sparsity $s
    codes_are "code, --tolerance 0.5 --sparsity $s: as OMP replayed" atoms1.npy many.npy codes $s 0.5
done
check "code: more ranks than signals" good_ranks 4 "$programs/code_mpi" atoms1.npy few.npy few --sparsity 3
check "code: so many rows" test "$(wc -c <few_coefs.npy)" -eq $((128 + 3 * 3 * 4))
for fault in read:0 memory:0 cancel:2 open:0 finish:0; do
    rank=$([ $fault = finish:0 ] && echo 0 || echo 1) # the first writes
    # shellcheck disable=SC2086 # words
    RANKS_FAULT=$rank:$fault ends "train: $fault on a rank" 2 'npy: ' -n 2 "${train[@]}" bad.npy $how
done
for fault in read:1 write:4 memory:0 cancel:1 open:3 finish:1; do
    RANKS_FAULT=1:$fault ends "code: $fault on a rank" 2 'npy[.part]*: ' -n 2 "$programs/code_mpi" atoms1.npy many.npy bad --block 100
done
head -c 9000 many.npy >elsewhere/many.npy
ends "train: signals that one rank sees shorter" 2 truncated -n 1 "${train[@]}" bad.npy : -n 1 -wdir elsewhere "${train[@]}" bad.npy
# A file whose shape reads (signals, values) and whose bytes are those of the transpose.
check "train: the sizes are said" grep -q '^1003 signals of 16 values, ' train.txt
check "code: the sizes are said" grep -qx '1003 signals of 16 values coded' code.txt
sed '1s/False/True /' many.npy >columns.npy
wrong="columns.npy: its shape is (1003, 16) in Fortran order; .*numpy.ascontiguousarray"
ends "train: Fortran order" 2 "$wrong" -n 2 "$programs/train_mpi" columns.npy bad.npy
ends "code: Fortran order" 2 "$wrong" -n 2 "$programs/code_mpi" atoms1.npy columns.npy bad
sed '1s/(1003, 16)/(16048,)  /' many.npy >line.npy
ends "train: one dimension" 2 "line.npy: its shape must be (signals, values)" -n 2 "$programs/train_mpi" line.npy bad.npy
ends "train: no signals" 2 "cannot read it" -n 2 "$programs/train_mpi" none.npy bad.npy

# ---- the model of scaling ----------------------------------------------------------------------------------------------

mkdir scaling
check "scaling, 3 ranks" good_ranks 3 "$programs/scaling_mpi" --signals 192 --pixels 192 --repeats 1 --out scaling
check "scaling: measured with 1, 2 and 3" test "$(cut -d, -f3 scaling/measured.csv | sort -u | tr '\n' ' ')" = '1 2 3 ranks '
check "scaling: two networks and this one" test "$(cut -d, -f1 scaling/model.csv | sort -u | grep -c .)" -eq 4
check "scaling: an iteration of AK-SVD has 64 reductions and 6" grep -q 'AK-SVD 64 atoms,strong,3,.*,70,' scaling/measured.csv

# ---- a device each -----------------------------------------------------------------------------------------------------

# Nobody is left without a word: which drivers a rank sees, and how it would see others.
if "$programs/each" --help | grep -q 'each = one device'; then
    export OCL_ICD_VENDORS=/nonexistent OCL_ICD_FILENAMES=
    ends "no driver" 2 "no platform is seen; OCL_ICD_FILENAMES is ; OCL_ICD_VENDORS is /nonexistent. Start fewer" \
        -n 2 "$programs/each" atoms1.npy many.npy bad --device each
    unset OCL_ICD_VENDORS OCL_ICD_FILENAMES
    if ranks 1 "$programs/each" atoms1.npy many.npy one --device each; then
        ends "more ranks than devices" 17 "has no device: ranks: 17, .* platforms and their fit devices: .* mpirun -x OCL_ICD_FILENAMES" \
            -n 17 "$programs/each" atoms1.npy many.npy bad --device each
    else
        skip "more ranks than devices: no OpenCL device works here: $(head -n 1 err.txt)"
    fi
else
    skip "a device each: there are no OpenCL headers here"
fi
# make scaling passes what names a driver, where it is set.
mkdir fake
printf '#!/bin/sh\necho "mpirun (Open MPI) of the test"\necho "$*" >>%s/asked.txt\n' "$work" >fake/mpirun
printf '#!/bin/sh\n' >fake/gnuplot
chmod +x fake/mpirun fake/gnuplot
for name in OCL_ICD_FILENAMES NONE; do
    rm -f asked.txt
    (cd "$root" && env "$name=some.so" PATH="$work/fake:$PATH" OUT="$work/made" sh examples/mpi/scaling.sh) >/dev/null 2>&1
    check "make scaling: $name" test "$(grep -c -- ' -x OCL_ICD_FILENAMES ' asked.txt)" -eq "$([ $name = NONE ] && echo 0 || echo 1)"
done
the_end
