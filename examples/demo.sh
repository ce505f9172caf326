#!/bin/sh
# make demo: denoises a picture, loses most of it and fills it in, learns a dictionary from it, makes it larger, finds the
# components of a cube. IMAGE and CUBE name what to take, else they are found in SHS_DATA, else drawn. make pictures: draws the
# README's pictures anew, from nothing but the library.
set -eu
out=build/demo
mkdir -p $out

first() { # files
    for file in "$@"; do [ ! -f "$file" ] || { echo "$file"; return; }; done
}

show() { echo "$@" && "$@"; }

if [ "${1:-}" = pictures ]; then
    pictures=examples/pictures
    show build/denoise --draw $pictures/drawn.png
    show build/denoise $pictures/drawn.png $out/denoised.png --sigma 25 --add-noise
    cp $out/denoised.png $out/denoised_noisy.png $pictures
    show build/train $pictures/drawn.png --out $out/drawn
    cp $out/drawn_atoms.png $pictures/atoms.png
    show build/superres --reduce $pictures/drawn.png $out/small.png
    show build/superres $out/small.png $out/enlarged.png $out/small.png --compare $pictures/drawn.png
    cp $out/enlarged.png $out/enlarged_bicubic.png $pictures
    show build/hypercube synthesise $out/scene.hdr
    show build/hypercube ica $out/scene.hdr $out/scene_ica.hdr --components 6 --quicklook $pictures/components.png
    exit
fi

picture=${IMAGE:-$(first "${SHS_DATA:-}"/images/*.pgm)}
[ -n "$picture" ] || { picture=$out/drawn.pgm; show build/denoise --draw $picture; }
scene=${CUBE:-$(first "${SHS_DATA:-}"/cubes/*_bip.hdr)}
[ -n "$scene" ] || { scene=$out/scene.hdr; show build/hypercube synthesise $scene; }
# An OpenCL GPU where there is one; the CPU where a driver breaks down as soon as it is looked for (PoCL does without /sys).
device=${DEVICE:-$(build/devices >/dev/null 2>&1 && echo auto || echo cpu)}

to=$(basename "$picture")
to=$out/${to%.*}
show build/denoise "$picture" "${to}_denoised.png" --sigma 25 --add-noise --device "$device"
show build/inpaint "$picture" "${to}_inpainted.png" --remove 0.8
show build/train "$picture" --out "$to" --device "$device"
show build/train "$picture" --out "${to}_online" --online --patches 100000 --test 2000 --device "$device"
show build/superres "$picture" "${to}_larger.png" "$picture" --device "$device"
to=$(basename "$scene")
to=$out/${to%.*}
show build/hypercube pca "$scene" "${to}_pca.hdr" --components 10 --rescale 0,255 --type u8 --device "$device" \
    --quicklook "${to}_pca.png" --report "${to}_pca.csv"
show build/hypercube ica "$scene" "${to}_ica.hdr" --components 6 --device "$device" --quicklook "${to}_ica.png" \
    --report "${to}_ica.csv"
show build/hypercube rx "$scene" "${to}_rx.hdr" --device "$device" --quicklook "${to}_rx.png"
echo "The pictures are in $out:" && ls $out
