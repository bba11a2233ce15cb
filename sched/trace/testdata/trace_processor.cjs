// Runs Perfetto's trace_processor, which is in a folder as it was compiled for web workers: requests of its remote
// procedure calls come from standard input, and the answers go to standard output. node trace_processor.cjs FOLDER
const fs = require("node:fs"), path = require("node:path"), vm = require("node:vm");
const file = name => fs.readFileSync(path.join(process.argv[2], name));

// What a worker has, as far as the engine asks for it.
class XMLHttpRequest {
  open() {}
  send() { this.response = file("trace_processor.wasm"); }
}
const worker = vm.createContext({
  XMLHttpRequest, WorkerGlobalScope: Object, location: { href: "" }, performance, TextDecoder, URL, crypto, Uint8Array,
  console: { log: console.error, warn: console.error, error: console.error },
});
worker.self = worker;
// The first module asks whether addresses may have 64 bits. The folder has the engine for 32.
vm.runInContext(`{
  const { Module } = WebAssembly;
  WebAssembly.Module = function () {
    WebAssembly.Module = Module;
    throw new Error("32 bits");
  };
}`, worker);
vm.runInContext(file("engine_bundle.node.js").toString(), worker);
const port = { postMessage: answer => fs.writeSync(1, answer) };
worker.onmessage({ data: port });
setImmediate(() => port.onmessage({ data: new Uint8Array(fs.readFileSync(0)) }));
