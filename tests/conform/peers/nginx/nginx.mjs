// nginx' `limit_req`, the real server, with the clock of `clock.c` under it. A request that is refused says so and no more.
//
// Started with the path of the preloaded clock. One server is started for each vector, because its limits are its configuration.
import { spawn, spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { Agent, get } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Cannot, serve } from "../node/lines.mjs";

const [, , preload] = process.argv;
const version = spawnSync("nginx", ["-v"], { encoding: "utf8" }).stderr.trim().split("/")[1] ?? "";

class Server {
  #child;
  #now = 0;

  static async start(layers) {
    const server = new Server();
    server.dir = mkdtempSync(join(tmpdir(), "conform-nginx-"));
    server.port = await freePort();
    server.layers = Object.keys(layers);
    const clock = join(server.dir, "clock");
    server.clock = openSync(clock, "w");
    server.tick(0);
    writeFileSync(join(server.dir, "nginx.conf"), configuration(server.port, layers));
    const env = { ...process.env, LD_PRELOAD: preload, CONFORM_CLOCK: clock, CONFORM_CLOCK_MONOTONIC: "1" };
    const options = ["-p", server.dir, "-c", "nginx.conf", "-e", "error.log"];
    server.#child = spawn("nginx", options, { env, stdio: ["ignore", "ignore", "inherit"] });
    for (let tries = 0; tries < 200; tries++) {
      const is_up = await server.status("/up").catch(() => 0);
      if (is_up === 200) return server;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new Error("nginx does not answer");
  }

  async take(step) {
    if (step.t_us < this.#now) throw new Cannot("its clock is monotonic: no step back reaches it");
    if (step.t_us % 1_000 !== 0) throw new Cannot("its clock counts milliseconds");
    if (step.cost !== 1) throw new Cannot("each request counts one");
    this.#now = step.t_us;
    this.tick(step.t_us);
    const keys = this.layers.map((layer) => `${layer}=${step[layer] ?? "one"}`);
    const status = await this.status(`/?${keys.join("&")}`);
    if (status !== 200 && status !== 429) throw new Error(`nginx says ${status}`);
    return { ok: status === 200 };
  }

  tick(us) {
    writeSync(this.clock, new BigUint64Array([START_US + BigInt(us)]), 0, 8, 0);
  }

  status(path) {
    return new Promise((resolve, reject) => {
      const request = get({ port: this.port, path, host: "127.0.0.1", agent: new Agent({ keepAlive: false }) }, (response) => {
        response.resume();
        response.on("end", () => resolve(response.statusCode));
      });
      request.on("error", reject);
    });
  }

  async end() {
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGKILL");
    await ended;
    closeSync(this.clock);
    rmSync(this.dir, { recursive: true });
  }
}

function configuration(port, layers) {
  const zones = Object.entries(layers).map(([name, policy]) => `limit_req_zone $arg_${name} zone=${name}:1m rate=${rate(policy)};`);
  const limits = Object.entries(layers).map(([name, policy]) => {
    const waiting = policy.burst_capacity - 1;
    return `limit_req zone=${name}${waiting > 0 ? ` burst=${waiting} nodelay` : ""};`;
  });
  return `
daemon off;
master_process off;
pid nginx.pid;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  ${zones.join("\n  ")}
  limit_req_status 429;
  server {
    listen 127.0.0.1:${port};
    location = /up { return 200; }
    location = / { ${limits.join(" ")} try_files /none @passed; }
    location @passed { return 200; }
  }
}
`;
}

// Its rates are whole numbers a second or a minute.
function rate({ limiter, burst_capacity, rate, period_us }) {
  if (limiter !== undefined && !GCRA.includes(limiter)) throw new Cannot("its `limit_req` is a GCRA limiter and nothing else");
  if (!(burst_capacity >= 1 && rate >= 1)) throw new Cannot("its burst and its rate are at least 1");
  const [second, minute] = [rate * 1e6, rate * 60e6].map((units) => units / period_us);
  if (Number.isInteger(second)) return `${second}r/s`;
  if (Number.isInteger(minute)) return `${minute}r/m`;
  throw new Cannot("its rates are whole numbers a second or a minute");
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const GCRA = ["gcra", "token_bucket", "leaky_meter"];
const START_US = 20_800n * 86_400_000_000n;

await serve({ target: "nginx", version, resolution_us: 1_000 }, ({ limiter, policy, steps }) => {
  if (steps.some((step) => (step.cost ?? 1) !== 1)) throw new Cannot("each request counts one");
  if (GCRA.includes(limiter)) return Server.start({ key: policy });
  if (limiter === "all_or_nothing") return Server.start(policy);
  throw new Cannot("its `limit_req` is a GCRA limiter and nothing else");
});
