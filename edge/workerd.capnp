# The edge in the open runtime `workerd`. `cargo xtask build` puts this file beside the Worker it built, and it runs from there:
#
#   FAIRGATE_CONFIG="$(cat fairgate.toml)" FAIRGATE_EDGE_KEYS=… FAIRGATE_PLATFORM=workerd \
#     workerd serve target/edge/workerd.capnp --socket-addr=http=127.0.0.1:8700 --directory-path=limits=/var/lib/fairgate/limits
#
# The directory must exist: locks and long quotas lie in it, and outlive a restart there.
# `workerd` is edge/node_modules/@cloudflare/workerd-<os>-<cpu>/bin/workerd (what the npm script of that name starts).
# Secrets travel by environment, so that no file holds them.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "edge", worker = .edge),
    # The shop and the queue server may be on this machine or in a private network.
    (name = "internet", network = (allow = ["public", "private"])),
    (name = "limits", disk = (writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:8700", http = (), service = "edge")],
);

const edge :Workerd.Worker = (
  compatibilityDate = "2026-11-01",
  modules = [
    (name = "worker.js", esModule = embed "worker.js"),
    (name = "worker.wasm", wasm = embed "worker.wasm"),
  ],
  bindings = [
    (name = "FAIRGATE_CONFIG", fromEnvironment = "FAIRGATE_CONFIG"),
    (name = "FAIRGATE_EDGE_KEYS", fromEnvironment = "FAIRGATE_EDGE_KEYS"),
    (name = "FAIRGATE_PLATFORM", fromEnvironment = "FAIRGATE_PLATFORM"),
    (name = "LIMITER", durableObjectNamespace = "LimiterObject"),
  ],
  durableObjectNamespaces = [(className = "LimiterObject", uniqueKey = "fairgate-limiter", enableSql = true)],
  durableObjectStorage = (localDisk = "limits"),
);
