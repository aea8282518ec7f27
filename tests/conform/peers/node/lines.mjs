// What every adapter here does: read a vector, walk its steps, write the answers. See tests/conform/README.md.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

// Answers every line. `make(limiter, policy, vector)` builds the limiter of one vector, or throws a `Cannot`; its steps are
// `take`, `peek` and so on, which answer with fields or throw a `Cannot`.
export async function serve(hello, make) {
  console.log(JSON.stringify(hello));
  for await (const line of createInterface({ input: process.stdin })) {
    console.log(JSON.stringify(await reply(line, make)));
  }
}

// What this limiter has no such thing as.
export class Cannot extends Error {}

// The version of a package as it is installed.
export const versionOf = (name) =>
  JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version;

// The key of a step of one limiter.
export const keyOf = (step) => step.key ?? "one";

async function reply(line, make) {
  try {
    if (hasLongNumber(line)) throw new Cannot("its numbers are JavaScript's, exact below 2^53");
    const vector = JSON.parse(line);
    if (!LIMITERS.includes(vector.limiter)) return { unknown_limiter: vector.limiter };
    const limiter = await make(vector);
    const answers = [];
    for (const step of vector.steps) answers.push(await answer(limiter, step));
    await limiter.end?.();
    return { answers };
  } catch (error) {
    return error instanceof Cannot ? { cannot: error.message } : { broken: String(error.stack ?? error) };
  }
}

async function answer(limiter, given) {
  const step = { op: "take", cost: 1, ...given };
  const looks = step.op === "take" && step.cost === 0;
  const call = limiter[looks ? "peek" : step.op];
  try {
    if (!call) throw new Cannot(`it has no ${looks ? "peek" : step.op}`);
    return await call.call(limiter, step);
  } catch (error) {
    if (error instanceof Cannot) return { cannot: error.message };
    throw error;
  }
}

const hasLongNumber = (line) => (line.match(/(?<=[:,[ ])\d{16,}/g) ?? []).some((digits) => !Number.isSafeInteger(Number(digits)));

const LIMITERS = [
  "gcra",
  "token_bucket",
  "leaky_meter",
  "interval_bucket",
  "leaky_queue",
  "fixed_window",
  "sliding_log",
  "sliding_two_counters",
  "sliding_sub_windows",
  "lockout",
  "long_quota",
  "concurrency",
  "all_or_nothing",
];
