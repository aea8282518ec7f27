# The suite's own Worker in the open runtime `workerd`.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [(name = "conform", worker = .conform)],
  sockets = [(name = "http", address = "127.0.0.1:8701", http = (), service = "conform")],
);

const conform :Workerd.Worker = (
  compatibilityDate = "2026-11-01",
  modules = [
    (name = "entry.js", esModule = embed "entry.js"),
    (name = "bindings.js", esModule = embed "bindings.js"),
    (name = "bindings_bg.wasm", wasm = embed "bindings_bg.wasm"),
  ],
);
