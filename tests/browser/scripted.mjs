// The page as the edge sends it, while this file answers its calls: faults and turns at the moment a test wants them.

import { visitor, waitPath } from "./stage.mjs";

/** A waiting status; `change` names what differs. */
export const waiting = (change = {}) => ({
  event: "drop", state: "waiting", lane: "guest", ticketNumber: 352, position: 100, eta: { lowS: 100, highS: 280 },
  movedAtMs: 1, nextPollMs: 200, phase: "open", reason: null, message: null, stale: false, ...change,
});
export const called = (change = {}) => waiting({ state: "called", position: null, eta: null, ...change });
export const told = (status) => ({ status: 200, json: status });
export const placed = (status, code = 200) => ({ status: code, json: { ticket: "t", status, pass: null } });
export const entered = () => ({ status: 200, json: { ticket: "t", status: called(), pass: { token: "j" } } });
export const refusal = (status, code, retryAfterMs = null) => ({
  status, json: { status, code, message: `refused: ${code}`, retryAfterMs },
});

/**
 * A visitor whose calls are answered by `script.answer({ name, body, page })`; name is `join`, `poll`, `redeem`, `move` or `leave`,
 * and no answer is a lost connection. `script.calls` keeps them with their times.
 */
export async function scripted(browser, answer, options) {
  const { context, complaints } = await visitor(browser, options);
  const script = { answer, calls: [], context, complaints };
  await context.route("**/.fairgate/events/drop/ticket**", async (route) => {
    const request = route.request();
    const name = /\/(redeem|move)$/.exec(request.url())?.[1] ?? { POST: "join", GET: "poll", DELETE: "leave" }[request.method()];
    const call = { name, body: request.postDataJSON(), page: request.frame().page(), atMs: Date.now() };
    script.calls.push(call);
    const reply = script.answer(call);
    await (reply ? route.fulfill(reply) : route.abort("connectionfailed"));
  });
  script.open = async (path = waitPath) => {
    const page = await context.newPage();
    await page.goto(path);
    return page;
  };
  return script;
}

export const heading = (page, text) => page.getByRole("heading", { level: 1, name: text, exact: true }).waitFor();
export const shows = (page, id, text) => page.locator(`#${id}`, { hasText: text }).waitFor();
export const pause = (ms) => new Promise((done) => setTimeout(done, ms));
