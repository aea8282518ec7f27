// The page for everybody: small screens, both languages, light and dark, keyboard, assistive technology.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { called, heading, placed, refusal, scripted, shows, told, waiting } from "./scripted.mjs";
import { launch } from "./stage.mjs";

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const within = { timeout: 60000 };

/** What the page can come to, by the answer to its calls. */
const states = {
  waiting: () => told(waiting({ position: 1234567, ticketNumber: 2000000, eta: { lowS: 3000, highS: 7100 } })),
  next: () => told(waiting({ position: 0 })),
  paused: () => told(waiting({ phase: "paused", reason: "OPERATOR_PAUSED", message: "Averyveryverylongwordthatnobodyeverbreaks" })),
  called: ({ name }) => (name === "redeem" ? refusal(409, "DOOR_FULL", 60000) : told(called())),
  late: ({ name }) => (name === "redeem" ? refusal(409, "DOOR_FULL", 60000) : told(called({ state: "late" }))),
  ended: () => refusal(410, "TURN_EXPIRED"),
  cookies: () => refusal(401, "NO_TICKET"),
};

for (const [state, answer] of Object.entries(states)) {
  for (const [locale, colorScheme] of [["en-GB", "light"], ["zh-TW", "dark"]]) {
    test(`${state}, ${locale}, ${colorScheme}: no barrier, no sideways scrolling, large targets`, within, async () => {
      const script = await scripted(
        browser,
        (call) => (call.name === "join" ? placed(waiting(), 201) : answer(call)),
        { locale, colorScheme },
      );
      const page = await script.open();
      const mode = { next: "waiting", paused: "waiting" }[state] ?? state;
      await page.locator(`html[data-mode="${mode}"]`).waitFor();
      if (["called", "late", "paused"].includes(state)) await page.locator('html[data-still="yes"]').waitFor();
      assert.equal(await page.locator("html").getAttribute("lang"), locale === "zh-TW" ? "zh-TW" : "en");

      const { width, targets } = await page.evaluate(() => ({
        width: document.documentElement.scrollWidth,
        targets: [...document.querySelectorAll("button, a")]
          .map((node) => node.getBoundingClientRect())
          .filter(({ height }) => height > 0)
          .map(({ width, height }) => Math.min(width, height)),
      }));
      assert.ok(width <= 320, `${width} px wide`);
      assert.ok(targets.every((size) => size >= 44), `targets of ${targets} px`);

      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => window.axe.run());
      assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), []);
      assert.deepEqual(script.complaints, []);
      await script.context.close();
    });
  }
}

test("the page speaks Chinese as written in Taiwan throughout", within, async () => {
  const script = await scripted(
    browser,
    ({ name }) => (name === "join" ? placed(waiting(), 201) : told(waiting())),
    { locale: "zh-TW" },
  );
  const page = await script.open();
  await heading(page, "您正在排隊");
  assert.equal((await page.locator(".position").innerText()).replace(/\s+/g, ""), "您前面還有100人");
  const requestId = (await page.locator(".request").innerText()).split(" ").at(-1);
  const seen = (await page.locator("main").innerText()).replace(/The Alpha drop|Cookie/g, "").replace(requestId, "");
  assert.doesNotMatch(seen, /[A-Za-z]{2,}/);
  await script.context.close();
});

test("the keyboard reaches everything, sees where it is, and is not lost when a button goes", within, async () => {
  let status = waiting();
  const script = await scripted(browser, ({ name }) =>
    name === "join" ? placed(waiting(), 201) : name === "redeem" ? refusal(410, "TURN_EXPIRED") : told(status));
  const page = await script.open();
  await shows(page, "figure", "100");
  await page.keyboard.press("Tab");
  const focused = () => page.evaluate(() => {
    const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
    return { text: document.activeElement.textContent, outline: `${outlineStyle} ${outlineWidth}` };
  });
  assert.deepEqual(await focused(), { text: "I have a code, or another device", outline: "solid 3px" });
  await page.keyboard.press("Tab");
  assert.deepEqual(await focused(), { text: "Leave the line", outline: "solid 3px" });
  await page.keyboard.press("Enter");
  assert.equal((await focused()).text, "Keep my place");
  await page.keyboard.press("Escape");
  assert.equal((await focused()).text, "Leave the line");
  status = called();
  await heading(page, "Your place has ended");
  assert.equal((await focused()).text, "Your place has ended");
  await script.context.close();
});

test("reduced motion is respected", within, async () => {
  const script = await scripted(browser, () => placed(waiting(), 201), { reducedMotion: "reduce" });
  const page = await script.open();
  await shows(page, "figure", "100");
  assert.equal(await page.locator("#you").evaluate((mark) => getComputedStyle(mark).transitionDuration), "0s");
  await script.context.close();
});
