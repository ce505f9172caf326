// node.js - before a WebAssembly program starts under node: the environment as C's getenv sees it, and no fetch, which would
// be preferred to reading the file that lies beside this one.
globalThis.fetch = undefined;
Module['preRun'] = function () { for (var name in process.env) ENV[name] = process.env[name]; };
