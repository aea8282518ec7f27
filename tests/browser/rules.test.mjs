// The pure half of the waiting page's script, held to the same table as `shared/src/http/page/shown.rs`.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import vm from "node:vm";

const read = (path) => readFileSync(new URL(`../../shared/${path}`, import.meta.url), "utf8");
const rules = vm.createContext({ Intl });
vm.runInContext(read("assets/rules.js"), rules);
const words = JSON.parse(read("tests/vectors/words.json"));
const cases = JSON.parse(read("tests/vectors/page.json"));

/** What Rust takes from its table of reasons, as far as the cases need it. */
const reasonsOf = (lang) =>
  lang === "en"
    ? {
        EVENT_CLOSED: "This sale is over.",
        NOT_OPEN_YET: "This sale has not opened yet.",
        OPERATOR_PAUSED: "The sale is paused. You keep your place.",
        OUT_OF_STOCK: "This item is sold out.",
        QUEUE_UNREACHABLE: "The line is paused for a moment. You keep your place.",
        ORIGIN_SLOW: "The shop is slow, so the line moves slower than usual.",
        REDEMPTIONS_STOPPED: "Entry is interrupted for a moment. You keep your place.",
      }
    : { EVENT_CLOSED: "活動已結束。" };
const shown = (status, lang, nowMs, lowest) =>
  rules.shown(status, { words: words[lang], reasons: reasonsOf(lang), lang }, nowMs, lowest);

for (const { name, lang, nowMs, status, shown: expected } of cases) {
  test(`a status is told as without script: ${name}`, () => {
    const { position, ...told } = shown(status, lang, nowMs);
    assert.deepEqual({ ...told }, expected);
    assert.equal(position, status.position);
  });
}

test("a position never rises", () => {
  const { nowMs, status } = cases[0];
  assert.equal(shown(status, "en", nowMs, 7).figure, "7");
  assert.equal(shown(status, "en", nowMs, 12).figure, "11");
  assert.equal(shown({ ...status, position: 3 }, "en", nowMs, 0).before, "You are next");
});

test("a position is spoken when it has halved, everything else when it changes", () => {
  const key = (change) => rules.spokenKey({ mode: "waiting", position: 100, notice: "", message: "", ...change });
  assert.equal(key({ position: 64 }), key({}));
  assert.notEqual(key({ position: 62 }), key({}));
  assert.equal(key({ eta: "About 3 minutes" }), key({}));
  for (const change of [{ mode: "called" }, { notice: "paused" }, { message: "hello" }]) {
    assert.notEqual(key(change), key({}));
  }
  const spoken = new Set(Array.from({ length: 1000 }, (_, position) => key({ position })));
  assert.equal(spoken.size, 10);
});

test("a reply is one of few things", () => {
  const check = (reply, joinedJustNow, expected) =>
    assert.deepEqual(JSON.parse(JSON.stringify(rules.outcome(reply, joinedJustNow))), expected);
  const { status } = cases[0];
  check(null, false, { kind: "offline" });
  check({ status: 200, body: status }, false, { kind: "status", status, joined: false });
  check({ status: 201, body: { ticket: "t", status, pass: null } }, false, { kind: "status", status, joined: true });
  check({ status: 200, body: { ticket: "t", status, pass: { token: "j" } } }, false, { kind: "entered" });
  check({ status: 200, body: { hello: 1 } }, false, { kind: "offline" });
  check({ status: 200, body: null }, false, { kind: "offline" });
  check({ status: 502, body: {} }, false, { kind: "offline" });
  check({ status: 500, body: { code: "INTERNAL", message: "m", retryAfterMs: null } }, false, { kind: "offline" });
  const full = { code: "DOOR_FULL", message: "m", retryAfterMs: 1500 };
  check({ status: 409, body: full }, false, { kind: "later", code: "DOOR_FULL", text: "m", waitMs: 1500 });
  const refused = (code) => ({ status: 410, body: { code, message: "m", retryAfterMs: null } });
  check(refused("TICKET_VOID"), false, { kind: "ended", text: "m", canJoin: true });
  check(refused("EVENT_CLOSED"), false, { kind: "ended", text: "m", canJoin: false });
  check(refused("NO_TICKET"), true, { kind: "cookies" });
  check(refused("NO_TICKET"), false, { kind: "ended", text: "m", canJoin: true });
});

test("the next call comes when it was asked for, after faults later and spread", () => {
  const polled = { status: { nextPollMs: 5000 } };
  assert.equal(rules.delayMs(polled, 0, 0.9), 5000);
  assert.equal(rules.delayMs({ waitMs: 1500 }, 0, 0.9), 1500);
  assert.equal(rules.delayMs({ waitMs: 1500 }, 1, 0.5), 1500 + 1000 + 2000);
  assert.equal(rules.delayMs({ kind: "offline" }, 1, 0), 1000);
  assert.equal(rules.delayMs({ kind: "offline" }, 3, 0.5), 9000);
  assert.equal(rules.delayMs({ kind: "offline" }, 99, 1), 61000);
});
