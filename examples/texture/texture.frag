#version 300 es
// texture.frag - a level of detail, decoded where it is drawn: one fragment a pixel, the same integers as texture_decode.h. The
// blocks lie in a texture of `row` bytes a row, atom k in row k of another, both of one byte a texel and read unfiltered.
precision highp float;
precision highp int;
precision highp usampler2D;
precision highp isampler2D;

uniform usampler2D blocks; // R8UI
uniform isampler2D atoms;  // R8I: p x n
uniform int row;           // bytes a row of `blocks`
uniform int first;         // first block of the level
uniform ivec2 size;        // of the level
uniform int channels, block, sparsity, scale;
out vec4 colour;

int code(int at) { return int(texelFetch(blocks, ivec2(at % row, at / row), 0).r); }

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy), inside = pixel % block;
    int across = (size.x + block - 1) / block;
    int at = (first + pixel.y / block * across + pixel.x / block) * (channels + 2 * sparsity);
    int area = block * block, value = inside.y * block + inside.x;
    ivec4 sum = ivec4(0), mean = ivec4(0, 0, 0, 255);
    for (int c = 0; c < channels; c++) mean[c] = code(at + c);
    for (int k = channels; k < channels + 2 * sparsity; k += 2) {
        int atom = code(at + k), coef = code(at + k + 1);
        coef = coef < 128 ? coef : coef - 256;
        for (int c = 0; c < channels; c++) sum[c] += coef * texelFetch(atoms, ivec2(c * area + value, atom), 0).r;
    }
    // >> of what is below 0 rounds downwards here.
    ivec4 result = clamp(mean + ((sum * scale + 32768) >> 16), 0, 255);
    if (channels == 1) result = ivec4(result.rrr, 255);
    colour = vec4(result) / 255.0;
}
