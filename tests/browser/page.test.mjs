// How the page behaves over time: what it says, when it asks, and what it makes of trouble.

import assert from "node:assert/strict";
import http from "node:http";
import { after, before, test } from "node:test";
import { called, entered, heading, pause, placed, refusal, scripted, shows, told, waiting } from "./scripted.mjs";
import { edge, launch, productPath, waitPath } from "./stage.mjs";

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

const within = { timeout: 40000 };

/** Everything that the status region has said, in order. */
async function spoken(page) {
  await page.evaluate(() => {
    window.said = [];
    const note = ([change]) => window.said.push(change.target.textContent);
    new MutationObserver(note).observe(document.getElementById("spoken"), { childList: true, subtree: true });
  });
  return () => page.evaluate(() => window.said);
}

test("the status region speaks when a position has halved, when the line stops and goes on, and not at each poll", within, async () => {
  let status = waiting();
  const script = await scripted(browser, ({ name }) => (name === "join" ? placed(status, 201) : told(status)));
  const page = await script.open();
  await shows(page, "figure", "100");
  const said = await spoken(page);
  for (const position of [99, 80, 64]) {
    status = waiting({ position });
    await shows(page, "figure", String(position));
  }
  const polls = script.calls.length;
  await page.waitForFunction((count) => performance.getEntriesByType("resource").length > count, polls + 2);
  assert.deepEqual(await said(), []);
  status = waiting({ position: 62 });
  await shows(page, "figure", "62");
  status = waiting({ position: 62, phase: "paused", reason: "OPERATOR_PAUSED", message: "Back at nine" });
  await shows(page, "notice", "The sale is paused");
  await shows(page, "message", "Back at nine");
  status = waiting({ position: 62 });
  await page.locator("#notice", { hasText: /^$/ }).waitFor({ state: "attached" });
  assert.deepEqual(await said(), [
    "You are in line. 62 people ahead of you. About 1 to 5 minutes.",
    "You are in line. The sale is paused. You keep your place. Back at nine. 62 people ahead of you.",
    "You are in line. 62 people ahead of you. About 1 to 5 minutes.",
  ]);
  assert.deepEqual(script.complaints, []);
  await script.context.close();
});

test("a shown position never rises, not even by a reload", within, async () => {
  let status = waiting({ position: 10 });
  const script = await scripted(browser, ({ name }) => (name === "join" ? placed(status) : told(status)));
  const page = await script.open();
  await shows(page, "figure", "10");
  status = waiting({ position: 12 });
  const polls = script.calls.length;
  while (script.calls.length < polls + 3) await pause(50);
  assert.equal(await page.locator("#figure").textContent(), "10");
  await page.reload();
  await shows(page, "figure", "10");
  // Another ticket has its own line to count.
  status = waiting({ position: 12, ticketNumber: 353 });
  await shows(page, "figure", "12");
  await script.context.close();
});

test("trouble keeps the place, is said once, and spreads the calls", within, async () => {
  let works = true;
  const script = await scripted(browser, ({ name }) =>
    works ? (name === "join" ? placed(waiting(), 201) : told(waiting())) : null);
  const page = await script.open();
  await shows(page, "figure", "100");
  const said = await spoken(page);
  works = false;
  await shows(page, "notice", "The connection is lost");
  const calls = script.calls.length;
  await pause(3000);
  const more = script.calls.length - calls;
  assert.ok(more <= 3, `${more} calls in 3 s`);
  assert.equal(await page.locator("#figure").textContent(), "100");
  assert.equal((await said()).length, 1);
  works = true;
  await page.evaluate(() => dispatchEvent(new Event("online")));
  await page.locator("#notice", { hasText: /^$/ }).waitFor({ state: "attached" });
  assert.equal((await said()).length, 2);
  await script.context.close();
});

test("a refusal's time is kept, even on waking", within, async () => {
  let refused = 0;
  const script = await scripted(browser, ({ name }) => {
    if (name === "join") return placed(waiting(), 201);
    if (refused++) return told(waiting({ nextPollMs: 60000 }));
    return refusal(429, "RATE_LIMITED", 3000);
  });
  const page = await script.open();
  await shows(page, "notice", "refused: RATE_LIMITED");
  await pause(2200);
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange", { bubbles: true })));
  await page.locator("#notice", { hasText: /^$/ }).waitFor({ state: "attached" });
  const [first, second] = script.calls.filter(({ name }) => name === "poll").map(({ atMs }) => atMs);
  assert.ok(second - first >= 2990, `${second - first} ms`);
  await script.context.close();
});

test("waking asks at once", within, async () => {
  const status = waiting({ nextPollMs: 60000 });
  const script = await scripted(browser, ({ name }) => (name === "join" ? placed(status, 201) : told(status)));
  const page = await script.open();
  await shows(page, "figure", "100");
  for (const event of ["visibilitychange", "online"]) {
    await pause(2100);
    const calls = script.calls.length;
    await page.evaluate((name) => document.dispatchEvent(new Event(name, { bubbles: true })), event);
    await pause(500);
    assert.equal(script.calls.length, calls + 1, event);
  }
  await script.context.close();
});

test("a turn is taken by itself, as often as the door is full", within, async () => {
  let full = 2;
  const script = await scripted(browser, ({ name }) => {
    if (name === "join") return placed(waiting({ position: 1 }), 201);
    if (name === "poll") return told(called());
    return full-- > 0 ? refusal(409, "DOOR_FULL", 300) : entered();
  });
  const page = await script.open();
  await shows(page, "notice", "refused: DOOR_FULL");
  await heading(page, "It is your turn");
  await page.waitForURL(edge + productPath);
  assert.deepEqual(script.calls.map(({ name }) => name), ["join", "poll", "redeem", "redeem", "redeem"]);
  await script.context.close();
});

test("of two tabs one asks, both show it, and one goes in", within, async () => {
  let status = waiting();
  const script = await scripted(browser, ({ name }) =>
    name === "join" ? placed(status) : name === "poll" ? told(status) : entered());
  const first = await script.open();
  await shows(first, "figure", "100");
  const second = await script.open();
  await shows(second, "figure", "100");
  await pause(500);
  const calls = script.calls.length;
  status = waiting({ position: 70 });
  await shows(first, "figure", "70");
  await shows(second, "figure", "70");
  const askers = new Set(script.calls.slice(calls).map(({ page }) => (page === first ? "first" : "second")));
  assert.deepEqual([...askers], ["second"]);

  await second.close();
  status = waiting({ position: 60 });
  await shows(first, "figure", "60");

  const third = await script.open();
  await shows(third, "figure", "60");
  status = called();
  await third.waitForURL(edge + productPath);
  await heading(first, "You are in");
  assert.equal(script.calls.filter(({ name }) => name === "redeem").length, 1);
  await script.context.close();
});

test("a lost ticket says why and offers a new one", within, async () => {
  let void_ = true;
  const script = await scripted(browser, ({ name }) =>
    name === "join" ? placed(waiting(), 201) : void_ ? refusal(410, "TICKET_VOID") : told(waiting({ position: 50 })));
  const page = await script.open();
  await heading(page, "Your place has ended");
  await shows(page, "text", "refused: TICKET_VOID");
  void_ = false;
  await page.getByRole("button", { name: "Join the line" }).click();
  await shows(page, "figure", "50");
  await script.context.close();
});

test("blocked cookies are said at once, and at the latest by the second call", within, async () => {
  const lost = await scripted(browser, ({ name }) => (name === "join" ? placed(waiting(), 201) : refusal(401, "NO_TICKET")));
  const page = await lost.open();
  await heading(page, "Cookies are blocked");
  assert.equal(lost.calls.length, 2);
  await lost.context.close();

  const blocked = await scripted(browser, () => assert.fail("nothing is asked"));
  await blocked.context.addInitScript(() => {
    Object.defineProperty(Navigator.prototype, "cookieEnabled", { get: () => false });
  });
  await heading(await blocked.open(), "Cookies are blocked");
  await pause(500);
  assert.equal(blocked.calls.length, 0);
  await blocked.context.close();
});

test("inside another site the page does not join, it asks to be opened alone", within, async () => {
  const script = await scripted(browser, () => placed(waiting(), 201));
  const frame = `<iframe src="${edge}${waitPath}" width="320" height="568"></iframe>`;
  const site = http.createServer((_request, reply) => {
    reply.setHeader("content-type", "text/html");
    reply.end(frame);
  });
  await new Promise((done) => site.listen(0, "127.0.0.1", done));
  const page = await script.open(`http://127.0.0.1:${site.address().port}/`);
  const link = page.frameLocator("iframe").getByRole("link", { name: "Open in its own window" });
  await link.waitFor();
  assert.equal(script.calls.length, 0);
  await link.click();
  await shows(page, "figure", "100");
  assert.equal(page.url(), edge + waitPath);
  await script.context.close();
  site.close();
});
