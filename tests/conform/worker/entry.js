// The suite's own Worker: vectors in, answers out, as JSON lines. `cargo xtask conform wasm` builds and asks it.
import wasmModule from "./bindings_bg.wasm";
import * as bindings from "./bindings.js";

bindings.initSync({ module: wasmModule });

export default {
  async fetch(request) {
    if (request.method === "GET") return new Response("ready");
    return new Response(bindings.answer_lines(await request.text()));
  },
};
