// The Worker's entry module: JavaScript keeps only what WebAssembly cannot do for itself, namely to start again after a panic.
//
// A panic (or any other trap) leaves the instance in pieces. Every request that was inside it is answered with a 500 at once,
// and the next request finds a fresh instance. Durable Objects are rebuilt in it; what they held only in memory is gone, as it
// is after an eviction.
import { DurableObject } from "cloudflare:workers";
import wasmModule from "./worker.wasm";
import * as bindings from "./bindings.js";

// The Durable Object classes of `edge/src`. `workerd.capnp` and `wrangler.toml` bind them by these names.
export const LimiterObject = durableObject("LimiterObject");

bindings.initSync({ module: wasmModule });
let generation = 1;
let broken = false;
const inFlight = new Set();

// The panic hook of crate `worker` sets `criticalError` before it traps; other traps surface as uncaught errors.
Object.defineProperty(bindings.__worker_init_state(), "criticalError", { set: (value) => value && fail() });
addEventListener("error", (event) => isTrap(event.error) && fail());
addEventListener("unhandledrejection", (event) => isTrap(event.reason) && fail());

export default {
  async fetch(request, env, context) {
    try {
      return await inside(() => bindings.fetch(request, env, context));
    } catch (error) {
      return internalError(error);
    }
  },
};

// A class for the runtime to construct, whose instance inside WebAssembly is replaced when that is restarted.
function durableObject(name) {
  return class extends DurableObject {
    #generation = 0;
    #object;

    fetch(request) {
      return inside(() => this.#current().fetch(request));
    }

    alarm() {
      return inside(() => this.#current().alarm());
    }

    #current() {
      if (this.#generation !== generation) {
        this.#object = new bindings[name](this.ctx, this.env);
        this.#generation = generation;
      }
      return this.#object;
    }
  };
}

// Runs `call` in a sound instance. Its promise settles even if the instance breaks: a trap never settles promises by itself.
function inside(call) {
  if (broken) restart();
  const { promise, resolve, reject } = Promise.withResolvers();
  inFlight.add(reject);
  const leave = (settle) => (value) => {
    inFlight.delete(reject);
    settle(value);
  };
  try {
    call().then(leave(resolve), leave(reject));
  } catch (error) {
    if (isTrap(error)) fail();
    leave(reject)(error);
  }
  return promise;
}

function isTrap(error) {
  // V8 reports a stack overflow inside WebAssembly as a RangeError.
  return error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
}

function fail() {
  broken = true;
  for (const reject of inFlight) reject(new Error("the WebAssembly instance broke"));
  inFlight.clear();
}

function restart() {
  bindings.__wbg_reset_state();
  generation += 1;
  broken = false;
}

// Written here because `shared` cannot be asked when it broke; an end-to-end test holds the two equal.
function internalError(error) {
  const requestId = crypto.randomUUID();
  console.error(`request ${requestId} failed: ${error}`);
  const problem = {
    type: "about:blank",
    title: "Internal Server Error",
    status: 500,
    code: "INTERNAL",
    message: "Something went wrong on our side.",
    retryAfterSeconds: null,
    retryAfterMs: null,
    policy: null,
    waitUrl: null,
    requestId,
  };
  const headers = {
    "content-type": "application/problem+json",
    "cache-control": "private, no-store",
    "content-language": "en",
  };
  return Response.json(problem, { status: 500, headers });
}
