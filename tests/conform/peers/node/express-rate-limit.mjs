// express-rate-limit with its memory store: one hit a request, windows from the first hit.
import { rateLimit } from "express-rate-limit";
import { Clock } from "./clock.mjs";
import { Cannot, keyOf, serve, versionOf } from "./lines.mjs";

const version = versionOf("express-rate-limit");
const clock = new Clock();

class One {
  constructor({ limit, window_us, aligned }) {
    if (aligned) throw new Cannot("its windows begin with the first hit");
    if (window_us % 1_000 !== 0) throw new Cannot("its clock counts milliseconds");
    this.middleware = rateLimit({ limit, windowMs: window_us / 1_000, keyGenerator: (request) => request.key, validate: false });
  }

  async take(step) {
    clock.goTo(step);
    if (step.cost !== 1) throw new Cannot("each request counts one");
    const request = { key: keyOf(step), headers: {}, app: { get: () => false } };
    const response = new Response();
    let passed = false;
    await this.middleware(request, response, (error) => {
      if (error) throw error;
      passed = true;
    });
    const { remaining, resetTime } = request.rateLimit;
    const reset_us = (resetTime.getTime() - Date.now()) * 1_000;
    return {
      ok: passed,
      remaining,
      retry_after_us: passed ? 0 : reset_us,
      retry_after_s: passed ? null : Number(response.fields["retry-after"] ?? NaN),
      reset_after_us: reset_us,
    };
  }
}

// As much of Express' response as the middleware uses.
class Response {
  fields = {};
  headersSent = false;
  writableEnded = false;
  setHeader(name, value) {
    this.fields[name.toLowerCase()] = value;
  }
  append(name, value) {
    this.setHeader(name, value);
  }
  status() {
    return this;
  }
  send() {
    this.writableEnded = true;
    return this;
  }
}

await serve({ target: "express-rate-limit", version, resolution_us: 1_000 }, ({ limiter, policy }) => {
  clock.reset();
  if (limiter === "fixed_window") return new One(policy);
  throw new Cannot("it has windows from the first hit, and nothing else");
});
