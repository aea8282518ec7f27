// rate-limiter-flexible in memory: windows from the first hit, and a union of them for several layers.
import { RateLimiterMemory, RateLimiterRes, RateLimiterUnion } from "rate-limiter-flexible";
import { Clock } from "./clock.mjs";
import { Cannot, keyOf, serve, versionOf } from "./lines.mjs";

const version = versionOf("rate-limiter-flexible");
const clock = new Clock();

class One {
  constructor(policy) {
    this.limiter = new RateLimiterMemory(options(policy));
  }

  take(step) {
    clock.goTo(step);
    return this.limiter.consume(keyOf(step), step.cost).then(passed, refused);
  }

  async peek(step) {
    clock.goTo(step);
    return passed((await this.limiter.get(keyOf(step))) ?? unseen(this.limiter));
  }

  async refund(step) {
    clock.goTo(step);
    await this.limiter.reward(keyOf(step), step.cost);
    return this.peek(step);
  }
}

class Layers {
  constructor(policy) {
    this.names = Object.keys(policy);
    this.limiters = this.names.map((name) => new RateLimiterMemory({ ...options(policy[name]), keyPrefix: name }));
    this.union = new RateLimiterUnion(...this.limiters);
  }

  // A union consumes one key from all of its limiters, so a layer whose key is another is a limiter with another prefix.
  async take(step) {
    clock.goTo(step);
    for (const [index, name] of this.names.entries()) this.limiters[index].keyPrefix = `${name}:${step[name] ?? "one"}`;
    const told = await this.union.consume("", step.cost).then(() => null, (refusals) => refusals);
    if (told instanceof Error) throw told;
    if (!told) return { ok: true };
    const layers = Object.keys(told).map((prefix) => prefix.split(":")[0]);
    return layers.length === 1 ? { ok: false, bound_by: layers[0] } : { ok: false };
  }
}

function options({ limiter, limit, window_us, aligned }) {
  if (limiter !== undefined && limiter !== "fixed_window") throw new Cannot("it has windows from the first hit, and nothing else");
  if (aligned) throw new Cannot("its windows begin with the first hit");
  if (window_us % 1_000 !== 0) throw new Cannot("its clock counts milliseconds");
  return { points: limit, duration: window_us / 1_000_000 };
}

const unseen = (limiter) => new RateLimiterRes(limiter.points, 0, 0, true);

const passed = (result) => ({
  ok: true,
  remaining: result.remainingPoints,
  retry_after_us: 0,
  reset_after_us: result.msBeforeNext * 1_000,
});

// Its documentation computes the header from a refusal as `Math.round(msBeforeNext / 1000) || 1`.
function refused(result) {
  if (result instanceof Error) throw result;
  return {
    ok: false,
    remaining: result.remainingPoints,
    retry_after_us: result.msBeforeNext * 1_000,
    reset_after_us: result.msBeforeNext * 1_000,
  };
}

await serve({ target: "rate-limiter-flexible", version, resolution_us: 1_000 }, ({ limiter, policy }) => {
  clock.reset();
  if (limiter === "fixed_window") return new One(policy);
  if (limiter === "all_or_nothing") return new Layers(policy);
  throw new Cannot("it has windows from the first hit, and nothing else");
});
