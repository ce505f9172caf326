"""PSNR of `texture` beside BC1, BC7 and ASTC 6x6 on the four pictures and on drawn ones, each four coded as a set: from the project's
root, with astcenc installed and in an environment with numpy, pillow, etcpak and texture2ddecoder:

    make build/texture && python3 tests/bench/bench_texture.py
"""
import os
import re
import subprocess
import tempfile

import etcpak
import numpy as np
import texture2ddecoder
from PIL import Image, ImageDraw

OURS = ["--block 8 --sparsity 6", "--block 6 --sparsity 6", "--block 8 --sparsity 12", "--block 4 --sparsity 4"]
PROGRAM = os.path.abspath("build/texture")


def drawn():
    y, x = np.mgrid[0:256, 0:256]
    page = Image.new("RGB", (256, 256), (240, 240, 230))
    for i in range(18):
        line = f"The quick brown fox jumps over the lazy dog {i}"
        ImageDraw.Draw(page).text((4, 4 + 14 * i), line, fill=(40 * i % 200, 20, 90 * i % 160))
    height = sum(k * np.sin(x * a / 19 + y * b / 23 + c) for a, b, c, k in [(1, .4, 0, 9), (2.3, -1.7, 1, 4), (.3, 3.1, 2, 3), (5, 4, 3, 1)])
    down, right = np.gradient(height)
    normals = np.stack([-right, -down, np.ones_like(right)], -1) / np.sqrt(right**2 + down**2 + 1)[..., None]
    return {"gradient": np.stack([x, y, (x + y) // 2], -1).astype(np.uint8), "text": np.array(page),
            "noise": np.random.default_rng(1).integers(0, 256, (256, 256, 3)).astype(np.uint8),
            "normals": ((normals + 1) * 127.5).round().astype(np.uint8)}


def psnr(a, b):
    return 10 * np.log10(255**2 / np.mean((a.astype(float) - b)**2))


def from_blocks(decode, blocks, shape):
    """As RGB: the decoder writes blue first."""
    return np.frombuffer(decode(blocks, shape[1], shape[0]), np.uint8).reshape(shape[0], shape[1], 4)[..., [2, 1, 0]]


def main():
    data = os.path.join(os.path.abspath(os.environ.get("SHS_DATA", "../shared/data")), "images")
    four = {n: np.array(Image.open(f"{data}/{n}.pgm").convert("RGB")) for n in ["barbara", "boat", "house", "peppers"]}
    rows = {}
    os.chdir(tempfile.mkdtemp())
    for group in four, drawn():
        for name, picture in group.items():
            Image.fromarray(picture).save(name + ".png")
            shape = picture.shape
            rgba = np.concatenate([picture, np.full(shape[:2] + (1,), 255, np.uint8)], -1)
            bgra = np.ascontiguousarray(rgba[..., [2, 1, 0, 3]]).tobytes()
            # compress_bc1 takes either order, depending on its version: the right one is nearer.
            bc1 = [from_blocks(texture2ddecoder.decode_bc1, etcpak.compress_bc1(b, shape[1], shape[0]), shape) for b in (rgba.tobytes(), bgra)]
            bc7 = etcpak.compress_bc7(rgba.tobytes(), shape[1], shape[0], etcpak.BC7CompressBlockParams())
            subprocess.run(["astcenc", "-tl", name + ".png", "astc.png", "6x6", "-medium", "-silent"], check=True, stdout=subprocess.DEVNULL)
            rows[name] = [max(psnr(picture, b) for b in bc1), psnr(picture, from_blocks(texture2ddecoder.decode_bc7, bc7, shape)),
                          psnr(picture, np.array(Image.open("astc.png").convert("RGB")))]
        for how in OURS:
            said = subprocess.run([PROGRAM, "encode", "set.tex", *[n + ".png" for n in group], *how.split()], check=True,
                                  capture_output=True, text=True).stdout
            for name, line in zip(group, said.splitlines()):
                rows[name].append(float(line.split("psnr=")[1]))
            print(how, *re.findall(r"(?:bits_a_pixel|without_atoms)=\S+", said))
    for name, values in rows.items():
        print("|", name, "|", " | ".join(f"{v:.1f}" for v in values), "|")


main()
