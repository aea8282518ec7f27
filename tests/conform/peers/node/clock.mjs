// A clock moved by hand, under `Date` and the timers of Node. A delay that Node cannot count becomes 1 ms, as it does in Node.
import { Cannot } from "./lines.mjs";

export class Clock {
  #now = 0;
  #timers = new Map();
  #next = 1;

  constructor() {
    const clock = this;
    const RealDate = Date;
    globalThis.Date = class extends RealDate {
      constructor(...moment) {
        super(...(moment.length === 0 ? [clock.#now] : moment));
      }
      static now() {
        return clock.#now;
      }
    };
    globalThis.setTimeout = (call, ms, ...values) => this.#start(call, ms, values, null);
    globalThis.setInterval = (call, ms, ...values) => this.#start(call, ms, values, this.#delay(ms));
    globalThis.clearTimeout = globalThis.clearInterval = (timer) => this.#timers.delete(timer?.id);
  }

  // Begins a vector: no timer of the one before is left.
  reset() {
    this.#timers.clear();
    this.#now = START_MS;
  }

  // Goes to the moment of a step.
  goTo(step) {
    if (step.t_us % 1_000 !== 0) throw new Cannot("its clock counts milliseconds");
    const end = START_MS + step.t_us / 1_000;
    // Timers would go on in real time while `Date` goes back: two clocks, where the vector has one.
    if (end < this.#now) throw new Cannot("its timers are monotonic: no step back reaches them");
    const calls = new Map();
    for (let due = this.#due(end); due; due = this.#due(end)) {
      this.#now = Math.max(this.#now, due.at);
      calls.set(due.id, (calls.get(due.id) ?? 0) + 1);
      if (due.every === null) this.#timers.delete(due.id);
      else if (calls.get(due.id) < CALLS_MAX) due.at += due.every;
      else due.at += (Math.floor((end - due.at) / due.every) + 1) * due.every;
      due.call(...due.values);
    }
    this.#now = end;
  }

  #due(end) {
    const due = [...this.#timers.values()].filter((timer) => timer.at <= end);
    return due.sort((a, b) => a.at - b.at || a.id - b.id)[0];
  }

  #start(call, ms, values, every) {
    const timer = { id: this.#next++, at: this.#now + this.#delay(ms), call, values, every, ref: () => timer, unref: () => timer };
    this.#timers.set(timer.id, timer);
    return timer;
  }

  #delay(ms) {
    return ms >= 1 && ms <= DELAY_MS_MAX ? Math.trunc(ms) : 1;
  }
}

// Of one interval on the way to one moment: later calls find nothing left to do.
const CALLS_MAX = 4;

const DELAY_MS_MAX = 2 ** 31 - 1;

// Some day in 2027, a whole number of all windows that vectors use.
const START_MS = 20_800 * 86_400_000;
