#!/bin/sh
# make demo: what the programs do with a picture and a cube. IMAGE and CUBE name what to take, else they are found in SHS_DATA, else
# drawn. From the project's root:
#
#     sh examples/demo.sh plan         what will be done, before anything is compiled
#     sh examples/demo.sh              does it; the programs are in $PROGRAMS (build)
#     sh examples/demo.sh pictures     make pictures: draws the README's pictures again, from nothing but the library
set -eu
programs=${PROGRAMS:-build}
out=${OUT:-build/demo}
more=$out/more # what is not worth opening first

first() { # files
    for file in "$@"; do [ ! -f "$file" ] || { echo "$file"; return; }; done
}

show() { echo "$@" && "$@"; }

if [ "${1:-}" = pictures ]; then
    pictures=examples/pictures
    mkdir -p "$out"
    show build/denoise --draw $pictures/drawn.png
    show build/denoise $pictures/drawn.png $out/denoised.png --sigma 25 --add-noise
    cp $out/denoised.png $out/denoised_noisy.png $pictures
    show build/train $pictures/drawn.png --out $out/drawn
    cp $out/drawn_atoms.png $pictures/atoms.png
    show build/superres --reduce $pictures/drawn.png $out/small.png
    show build/superres $out/small.png $out/enlarged.png $out/small.png --compare $pictures/drawn.png
    cp $out/enlarged.png $out/enlarged_bicubic.png $pictures
    show build/hypercube synthesise $out/scene.hdr
    show build/hypercube ica $out/scene.hdr $out/scene_ica.hdr --bbl --components 6
    show build/hypercube convert $out/scene_ica.hdr $out/scene_colours.hdr --bands 2-4 --quicklook $pictures/components.png
    # those of examples/hypercube/FIRST_HOUR.md
    show build/hypercube auto $out/scene.hdr $out/look
    cp $out/look/look.png $pictures/hour_look.png
    show build/hypercube mnf $out/scene.hdr $out/mnf.hdr --bbl --noise mean --components 5 --quicklook $pictures/hour_mnf.png
    show build/hypercube unmix $out/scene.hdr $out/shares.hdr --bbl --endmembers nfindr --count auto --quicklook $pictures/hour_abundances.png
    show build/hypercube rx $out/scene.hdr $out/rx.hdr --bbl --quicklook $pictures/hour_anomalies.png
    show build/hypercube detect $out/scene.hdr $out/ace.hdr --bbl --target 71,105 --method ace --quicklook $pictures/hour_targets.png
    show build/hypercube spectra $out/scene.hdr $out/places.csv --bbl --at "71,105; 29,9; 100,95,20,10" --svg $pictures/hour_spectra.svg
    exit
fi

for given in "IMAGE=${IMAGE:-}" "CUBE=${CUBE:-}"; do
    [ -z "${given#*=}" ] || [ -f "${given#*=}" ] || { echo "demo: $given: there is no such file" >&2; exit 1; }
done
picture=${IMAGE:-$(first "${SHS_DATA:-}"/images/*.pgm)}
scene=${CUBE:-$(first "${SHS_DATA:-}"/cubes/*_bip.hdr)}

if [ "${1:-}" = plan ]; then
    echo "This demonstration takes about 140 s of CPU time, most of it to compile five programs (make -j2 demo compiles two
at a time). Then it

  1. adds noise to a picture and removes it again      denoise
  2. loses four fifths of its pixels and fills them in inpaint
  3. learns a dictionary from it, in two ways          train
  4. makes it half as large, and as large again        superres
  5. finds the components of an image cube             hypercube pca, ica
  6. looks for anomalies in the cube                   hypercube rx

picture: ${picture:-drawn by the program; IMAGE=FILE takes another}
cube:    ${scene:-synthesised by the program; CUBE=FILE.hdr takes another}

Compiling ..."
    exit
fi

begun=$(date +%s)
mkdir -p "$more"
# An OpenCL GPU where there is one. Where the list of devices cannot be made, the programs are not asked to look for one.
device=${DEVICE:-}
if [ -z "$device" ] && [ -x "$programs/devices" ] && "$programs/devices" 2>/dev/null | grep -q 'kind  *GPU, usable'; then device=auto; fi
echo "device:  ${device:-the processor alone}"

step() { # TITLE
    printf '\n== %s\n' "$*"
}
run() { # PROGRAM ARGUMENTS...: what it prints is in $log, too, for value_of
    log=$more/log.txt
    echo "$programs/$*"
    program=$programs/$1
    shift
    "$program" "$@" >"$log" || { cat "$log"; exit 1; }
    cat "$log"
}
on_device() { run "$@" ${device:+--device "$device"}; }
value_of() { tail -n 1 "$log" | tr ' ' '\n' | sed -n "s/^$1=//p"; }
worth() { # FILE NAME WORDS: this picture is worth opening, by this name
    cp "$1" "$out/$2"
    list="$list
  $(printf '%-34s' "$2") $3"
}
list=

[ -n "$picture" ] || { picture=$more/drawn.pgm; run denoise --draw "$picture"; }
[ -n "$scene" ] || { scene=$more/scene.hdr; run hypercube synthesise "$scene"; }
name=$(basename "$picture") name=${name%.*}
cube=$(basename "$scene") cube=${cube%.*}
to=$more/$name

step "1. noise is added and removed"
on_device denoise "$picture" "${to}_denoised.png" --sigma 25 --add-noise
# Of what the files hold, which are rounded and clipped.
in_files() { sed -n "s/^PSNR in the files:.* \([^ ]*\) dB $1.*/\1/p" "$log"; }
worth "${to}_denoised_noisy.png" "${name}_noisy.png" "with noise: $(in_files 'with noise') dB"
worth "${to}_denoised.png" "${name}_denoised.png" "without it: $(in_files denoised) dB"
step "2. four fifths of the pixels are lost and filled in"
run inpaint "$picture" "${to}_inpainted.png" --remove 0.8
worth "${to}_inpainted_removed.png" "${name}_lost.png" "four fifths of the pixels are lost"
worth "${to}_inpainted.png" "${name}_filled.png" "filled in: $(value_of psnr) dB"
step "3. a dictionary is learnt: all patches at once, and online"
on_device train "$picture" --out "$to"
worth "${to}_atoms.png" "${name}_atoms.png" "256 atoms of 8 x 8 pixels, learnt from the picture"
on_device train "$picture" --out "${to}_online" --online --patches 100000 --test 2000
step "4. the picture is made half as large, and as large again"
case $picture in *.[pP][gGpP][mM]) small=${to}_half.${picture##*.} ;; *) small=${to}_half.png ;; esac
run superres --reduce "$picture" "$small"
on_device superres "$small" "${to}_enlarged.png" "$small" --compare "$picture"
worth "${to}_enlarged_bicubic.png" "${name}_bicubic.png" "half as large, then enlarged by bicubic interpolation: $(value_of psnr_bicubic) dB"
worth "${to}_enlarged.png" "${name}_enlarged.png" "by what was learnt from the small picture: $(value_of psnr) dB"
to=$more/$cube
step "5. components of a cube"
on_device hypercube pca "$scene" "${to}_pca.hdr" --components 10 --rescale 0,255 --type u8 --quicklook "${to}_pca.png" \
    --report "${to}_pca.csv" --html "${to}_pca.html"
on_device hypercube ica "$scene" "${to}_ica.hdr" --components 6 --report "${to}_ica.csv" --html "${to}_ica.html"
# The first component is the least Gaussian: often a few pixels, beside which only noise would be seen.
run hypercube convert "${to}_ica.hdr" "${to}_colours.hdr" --bands 2-4 --quicklook "${to}_colours.png"
worth "${to}_colours.png" "${cube}_components.png" "independent components 2, 3 and 4 of the cube as red, green and blue"
step "6. anomalies in the cube"
on_device hypercube rx "$scene" "${to}_rx.hdr" --quicklook "${to}_rx.png" --report "${to}_rx.csv" --html "${to}_rx.html"
worth "${to}_rx.png" "${cube}_anomalies.png" "anomalies in the cube: the brighter, the less like the rest"

rm -f "$log"
echo "
Done in $(($(date +%s) - begun)) s. The pictures worth opening, in $out:
$list

In $more: pages about the cube to open in a browser (${cube}_pca.html, ${cube}_ica.html, ${cube}_rx.html),
tables, learnt dictionaries, and the cubes of the results."
