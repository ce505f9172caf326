// The page's worker: it runs what playground.c computes, one job after the other. A job brings all it needs, so that a worker
// that was stopped leaves nothing behind. Before these lines stand createEngine, which comes from the compiler, and `threads`:
// how many are wanted and, where that is more than one, the addresses of the engine and of the compiler's script that runs it.
"use strict";
const PICTURE = 0, DAMAGED = 1, REPAIRED = 2, ATOMS = 3, STEPS = 4, CUBE = 5, COMPONENTS = 6, VALUES = 7;
let engine, threadCount = 1, said = [], lastTold = 0;

const start = createEngine({
    threads: threads.wanted,
    mainScriptUrlOrBlob: threads.engine,
    locateFile: name => name.endsWith(".worker.js") ? threads.helper : name,
    print: () => {},
    printErr: line => said.push(line),
    // Of what a call tells, the page sees some 20 a second; of learning, every iteration.
    tell: (phase, step, steps, error, atoms, p, n) => {
        const now = performance.now();
        if (!n && now - lastTold < 50 && step < steps) return;
        lastTold = now;
        postMessage({ progress: { phase, step, steps, error, p, n, atoms: n ? floats(atoms, p * n) : null } });
    },
});

const floats = (at, count) => engine.HEAPF32.slice(at >> 2, (at >> 2) + count);
const call = (name, ...values) => engine["_" + name](...values);
const get = which => floats(call("array_of", which, -1), call("array_bytes", which) / 4);
const put = (which, values) => engine.HEAPF32.set(values, call("array_of", which, values.byteLength) >> 2);
const size = () => ({ width: call("about_width"), height: call("about_height") });
const cubeSize = () => ({ samples: call("about_samples"), lines: call("about_lines"), bands: call("about_bands") });
const cube = () => ({ ...cubeSize(), values: get(CUBE), wavelengths: get(VALUES) });

const jobs = {
    about: () => ({ build: engine.UTF8ToString(call("about_build")), threads: threadCount }),
    draw: () => (call("draw_picture"), { ...size(), pixels: get(PICTURE) }),
    spoil: j => {
        put(PICTURE, j.pixels);
        call("spoil_picture", j.width, j.height, j.sigma, j.removed, j.seed);
        return { pixels: get(DAMAGED) };
    },
    repair: j => {
        put(DAMAGED, j.pixels);
        call("repair_picture", j.width, j.height, j.sigma, j.atoms, j.iterations, j.seed);
        return { pixels: get(REPAIRED), atoms: get(ATOMS), p: call("about_p"), n: call("about_n"),
                 milliseconds: call("about_milliseconds"), meanAtoms: call("about_mean_atoms") };
    },
    patch: j => {
        put(DAMAGED, j.pixels);
        put(ATOMS, j.atoms);
        const taken = call("code_patch", j.width, j.height, j.x, j.y, j.p, j.n, j.most);
        return { taken, most: j.most, p: j.p, steps: get(STEPS) };
    },
    scene: j => (call("make_cube", j.samples, j.lines, j.bands, j.seed), cube()),
    open: j => {
        const names = ["/" + j.header.name, "/" + j.data.name];
        [j.header, j.data].forEach((file, k) => engine.FS.writeFile(names[k], new Uint8Array(file.bytes)));
        engine.ccall("open_cube", null, ["string", "string"], names);
        return cube();
    },
    analyse: j => {
        put(CUBE, j.values);
        call("analyse_cube", j.method, j.samples, j.lines, j.bands, j.count);
        return { components: get(COMPONENTS), count: call("about_count"), eigenvalues: get(VALUES),
                 milliseconds: call("about_milliseconds") };
    },
};

onmessage = async event => {
    const { id, job } = event.data;
    try {
        if (!engine) {
            engine = await start;
            threadCount = call("begin_threads", threads.wanted);
        }
        said = [];
        postMessage({ id, result: jobs[job.name](job) });
    } catch (trouble) {
        const sentence = said.join(" ").replace(/^\S+: /, "").replaceAll("/", "") || String(trouble);
        postMessage({ id, trouble: sentence });
    }
};
