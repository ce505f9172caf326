/* Decodes every level of a set of textures by the fragment shader of examples/texture and by texture_decode.h, without a
   window: texture_gl SET.tex examples/texture/texture.frag. Ends with 0: equal within one level; 1: not; 77: there is no OpenGL
   ES 3 here. */
#define _POSIX_C_SOURCE 200809L
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../../examples/texture/texture_decode.h"

enum { ROW = 2048, REPEATS = 5 };

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* What a file holds, and a 0 after it. */
static unsigned char *read_all(const char *name, size_t *size) {
    FILE *file = fopen(name, "rb");
    unsigned char *bytes = (unsigned char *)calloc(1, (1 << 26) + 1);
    if (!file || !bytes) {
        fprintf(stderr, "%s: not there\n", name);
        exit(2);
    }
    *size = fread(bytes, 1, 1 << 26, file);
    fclose(file);
    return bytes;
}

static int no_gl(const char *why) { return printf("skipped: %s\n", why), 77; }

static GLuint shader(GLenum kind, const char *source) {
    GLuint made = glCreateShader(kind);
    char log[1024] = "";
    GLint ok = 0;
    glShaderSource(made, 1, &source, NULL);
    glCompileShader(made);
    glGetShaderiv(made, GL_COMPILE_STATUS, &ok);
    glGetShaderInfoLog(made, sizeof log, NULL, log);
    if (!ok) {
        fprintf(stderr, "the shader does not compile: %s\n", log);
        exit(1);
    }
    return made;
}

static void byte_texture(int unit, GLint internal, GLenum format, GLenum type, int width, int height, const void *bytes) {
    GLuint name;
    glGenTextures(1, &name);
    glActiveTexture(GL_TEXTURE0 + (GLenum)unit);
    glBindTexture(GL_TEXTURE_2D, name);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
    glTexImage2D(GL_TEXTURE_2D, 0, internal, width, height, 0, format, type, bytes);
}

/* A texture to draw into, of the size of a level. */
static void draw_into(int width, int height) {
    static GLuint frame, target;
    if (!frame) {
        glGenFramebuffers(1, &frame);
        glGenTextures(1, &target);
    }
    glActiveTexture(GL_TEXTURE2);
    glBindTexture(GL_TEXTURE_2D, target);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
    glBindFramebuffer(GL_FRAMEBUFFER, frame);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, target, 0);
    glViewport(0, 0, width, height);
}

int main(int argc, char **argv) {
    static const char vertices[] = "#version 300 es\nvoid main() { gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, "
                                   "gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0); }";
    static const EGLint wanted[] = {EGL_CONTEXT_MAJOR_VERSION, 3, EGL_NONE};
    size_t size, shader_size, i, most = 0, bytes;
    unsigned char *file = read_all(argc == 3 ? argv[1] : "", &size), *padded;
    char *source = (char *)read_all(argc == 3 ? argv[2] : "", &shader_size);
    const char *wrong;
    texture_set t;
    EGLDisplay display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
    EGLContext context;
    GLuint program;
    int texture, level, rows, repeat;
    double gpu = 0, cpu = 0, pixels = 0, began;
    wrong = texture_open(file, size, &t);
    if (wrong) return fprintf(stderr, "%s: %s\n", argv[1], wrong), 2;
    if (display == EGL_NO_DISPLAY || !eglInitialize(display, NULL, NULL)) return no_gl("there is no EGL without a window here");
    eglBindAPI(EGL_OPENGL_ES_API);
    context = eglCreateContext(display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, wanted);
    if (context == EGL_NO_CONTEXT || !eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context))
        return no_gl("there is no OpenGL ES 3 here");
    program = glCreateProgram();
    glAttachShader(program, shader(GL_VERTEX_SHADER, vertices));
    glAttachShader(program, shader(GL_FRAGMENT_SHADER, source));
    glLinkProgram(program);
    glUseProgram(program);
    bytes = t.total * (size_t)t.stride;
    rows = (int)((bytes + ROW - 1) / ROW);
    padded = (unsigned char *)calloc((size_t)rows, ROW);
    if (!padded) return 2;
    memcpy(padded, t.blocks, bytes);
    byte_texture(0, GL_R8UI, GL_RED_INTEGER, GL_UNSIGNED_BYTE, ROW, rows, padded);
    byte_texture(1, GL_R8I, GL_RED_INTEGER, GL_BYTE, t.size, t.count, t.atoms);
    glUniform1i(glGetUniformLocation(program, "blocks"), 0);
    glUniform1i(glGetUniformLocation(program, "atoms"), 1);
    glUniform1i(glGetUniformLocation(program, "row"), ROW);
    glUniform1i(glGetUniformLocation(program, "channels"), t.channels);
    glUniform1i(glGetUniformLocation(program, "block"), t.block);
    glUniform1i(glGetUniformLocation(program, "sparsity"), t.sparsity);
    glUniform1i(glGetUniformLocation(program, "scale"), t.scale);
    for (texture = 0; texture < t.textures; texture++)
        for (level = 0; level < (int)texture_u32(t.table + 12 * texture + 8); level++) {
            int width, height;
            const size_t first = texture_level(&t, texture, level, &width, &height);
            const size_t area = (size_t)width * (size_t)height;
            unsigned char *here = (unsigned char *)malloc(area * (size_t)t.channels);
            unsigned char *there = (unsigned char *)malloc(area * 4);
            if (!here || !there) return 2;
            glUniform1i(glGetUniformLocation(program, "first"), (GLint)first);
            glUniform2i(glGetUniformLocation(program, "size"), width, height);
            draw_into(width, height);
            glDrawArrays(GL_TRIANGLES, 0, 3);
            glFinish();
            began = seconds();
            for (repeat = 0; repeat < REPEATS; repeat++) {
                glDrawArrays(GL_TRIANGLES, 0, 3);
                glFinish();
            }
            gpu += seconds() - began;
            glReadPixels(0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, there);
            began = seconds();
            for (repeat = 0; repeat < REPEATS; repeat++) texture_decode(&t, texture, level, here);
            cpu += seconds() - began;
            pixels += REPEATS * (double)area;
            for (i = 0; i < 4 * area; i++) {
                const int c = (int)(i % 4);
                size_t difference;
                int mine = 255; /* alpha, where there is none */
                if (t.channels == 1 && c < 3) mine = here[i / 4];
                if (t.channels > 1 && c < t.channels) mine = here[i / 4 * (size_t)t.channels + (size_t)c];
                difference = (size_t)abs(mine - there[i]);
                most = difference > most ? difference : most;
            }
            free(here);
            free(there);
        }
    if (glGetError() != GL_NO_ERROR) return fprintf(stderr, "OpenGL has an error\n"), 1;
    printf("%s: largest difference %zu; MPixel a second of processor time: C %.1f, shader %.1f\n",
           (const char *)glGetString(GL_RENDERER), most, pixels / cpu * 1e-6, pixels / gpu * 1e-6);
    free(padded);
    free(file);
    free(source);
    return most > 1;
}
