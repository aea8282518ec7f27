// Codes on the waiting page: an invitation, and a place that moves to another device.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { heading, placed, refusal, scripted, shows, told, waiting } from "./scripted.mjs";
import { busyShop, edge, launch, productPath, visitor, waitPath } from "./stage.mjs";

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const within = { timeout: 60000 };
const press = (page, name) => page.getByRole("button", { name, exact: true }).click();
const open = (page, name = "I have a code, or another device") => page.locator("summary", { hasText: name }).click();
const ticketNumber = async (page) => {
  await page.locator("#number:visible").filter({ hasText: /./ }).waitFor();
  return (await page.locator("#number").textContent()).replaceAll(",", "");
};
/** Where everything stands, above and below what is said about a code. */
const places = (page) =>
  page.evaluate(() => [...document.querySelectorAll("h1, #figure, summary, #code, #move, #offer, #leave, .request")]
    .map((node) => Math.round(node.getBoundingClientRect().top + scrollY)));

/** The page in line, with the part for codes open; `answer` gets the calls that carry a code. */
async function inLine(answer, options) {
  const script = await scripted(browser, ({ name, body }) => {
    if (name === "move" || body?.code || body?.move) return answer({ name, body });
    return name === "join" ? placed(waiting(), 201) : told(waiting());
  }, options);
  const page = await script.open();
  await shows(page, "figure", "100");
  await page.locator("summary").click();
  return { page, script };
}

test("a wrong code is told where it was typed and in the status region, and costs nothing", within, async () => {
  const typed = [];
  const { page, script } = await inLine(({ body }) => {
    typed.push(body);
    return refusal(403, "CODE_UNKNOWN");
  });
  const before = await places(page);
  await page.getByLabel("Invitation code", { exact: true }).fill("7kq2-nope");
  await page.keyboard.press("Enter");
  await shows(page, "said", "refused: CODE_UNKNOWN");
  assert.deepEqual(typed, [{ code: "7kq2-nope" }]);
  assert.equal(await page.getByRole("status").textContent(), "refused: CODE_UNKNOWN");
  const field = page.locator("#code");
  assert.equal(await field.getAttribute("aria-invalid"), "true");
  assert.equal(await field.getAttribute("aria-describedby"), "said");
  assert.equal(await page.evaluate(() => document.activeElement.id), "code", "the keyboard stays where the code is");
  assert.deepEqual(await places(page), before, "nothing moves");
  assert.equal(await page.locator("#figure").textContent(), "100", "the place is kept");
  assert.deepEqual(script.complaints, []);
  await script.context.close();
});

test("an invitation brings another place, told as such", within, async () => {
  let place = waiting();
  const script = await scripted(browser, ({ name, body }) => {
    if (body?.code) {
      place = waiting({ lane: "invited", ticketNumber: 7, position: 3000 });
      return placed(place, 201);
    }
    return name === "join" ? placed(place, 201) : told(place);
  });
  const page = await script.open();
  await shows(page, "figure", "100");
  await open(page);
  await page.getByLabel("Invitation code", { exact: true }).fill("7KQ2-M4XV");
  await press(page, "Use the code");
  await shows(page, "number", "7");
  // Higher than before, because it is another line: the old lowest position says nothing of it.
  await shows(page, "figure", "3,000");
  await shows(page, "said", "The code works. This is your place now.");
  assert.equal(await page.getByRole("status").textContent(), "The code works. This is your place now.");
  assert.equal(await page.locator("#code").inputValue(), "");
  await script.context.close();
});

test("no answer to a code is told as a lost connection, and the code stays in its field", within, async () => {
  const { page, script } = await inLine(() => null);
  await page.getByLabel("Code from your other device").fill("AAAA-BBBB");
  await press(page, "Bring my place here");
  await shows(page, "said", "The connection is lost.");
  assert.equal(await page.locator("#move").inputValue(), "AAAA-BBBB");
  assert.equal(await page.locator("#move").getAttribute("aria-invalid"), "false");
  await script.context.close();
});

for (const [locale, colorScheme] of [["en-GB", "light"], ["zh-TW", "dark"]]) {
  test(`codes, ${locale}, ${colorScheme}: no barrier, no sideways scrolling, large targets`, within, async () => {
    const offered = { status: 200, json: { code: "7KQ2-M4XV-90AB-CDEF", expiresInS: 600 } };
    const { page, script } = await inLine(() => offered, { locale, colorScheme });
    const before = await places(page);
    await page.locator("#offer").click();
    await shows(page, "said", "7KQ2-M4XV-90AB-CDEF");
    assert.match(await page.getByRole("status").textContent(), /7KQ2-M4XV-90AB-CDEF.*10/);
    assert.deepEqual(await places(page), before, "nothing moves");
    const { width, targets } = await page.evaluate(() => ({
      width: document.documentElement.scrollWidth,
      targets: [...document.querySelectorAll("button, a, summary, input")]
        .map((node) => node.getBoundingClientRect())
        .filter(({ height }) => height > 0)
        .map(({ width, height }) => Math.min(width, height)),
    }));
    assert.ok(width <= 320, `${width} px wide`);
    assert.ok(targets.every((size) => size >= 44), `targets of ${targets} px`);
    if (locale === "zh-TW") {
      const seen = await page.locator("details").innerText();
      assert.doesNotMatch(seen.replace("7KQ2-M4XV-90AB-CDEF", ""), /[A-Za-z]{2,}/);
    }
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run());
    assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), []);
    assert.deepEqual(script.complaints, []);
    await script.context.close();
  });
}

test("a place moves to another device, through the whole way, and the first one is told so", { timeout: 120000 }, async (t) => {
  const shop = await busyShop(t, 1);
  const [laptop, phone] = await Promise.all([visitor(browser), visitor(browser)]);
  const [first, second] = await Promise.all([laptop.context.newPage(), phone.context.newPage()]);
  await first.goto(waitPath);
  const number = await ticketNumber(first);
  await second.goto(waitPath);
  assert.notEqual(await ticketNumber(second), number);

  await open(second);
  await second.getByLabel("Code from your other device").fill("0000-0000-0000-0000");
  await press(second, "Bring my place here");
  await shows(second, "said", "We do not know this code.");

  await open(first);
  await press(first, "Use this place on another device");
  const said = await first.locator("#said", { hasText: "type" }).textContent();
  const code = /type (\S+) there/.exec(said)[1];
  await second.getByLabel("Code from your other device").fill(code.toLowerCase());
  await press(second, "Bring my place here");
  await shows(second, "said", "The code works.");
  assert.equal(await ticketNumber(second), number);
  await second.reload();
  assert.equal(await ticketNumber(second), number, "after a reload");

  await open(second);
  await second.getByLabel("Code from your other device").fill(code);
  await press(second, "Bring my place here");
  await shows(second, "said", "We do not know this code.");

  await shop.empty();
  await second.waitForURL(edge + productPath, { timeout: 40000 });
  await heading(first, "Your place has ended");
  await shows(first, "text", "Your place is on your other device now.");
  await press(second, "Add to cart");
  await second.waitForURL(`${edge}/cart`);
  await press(second, "Buy");
  assert.deepEqual([...laptop.complaints, ...phone.complaints], []);
  await laptop.context.close();
  await phone.context.close();
});

test("without script a wrong code comes back with its words", { timeout: 60000 }, async (t) => {
  await busyShop(t, 1);
  const { context } = await visitor(browser, { javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(waitPath);
  await press(page, "Join the line");
  const number = await ticketNumber(page);
  await open(page);
  await page.getByLabel("Invitation code", { exact: true }).fill("0000-0000-0000-0000");
  await press(page, "Use the code");
  await shows(page, "notice", "We do not know this code.");
  assert.equal(await ticketNumber(page), number);
  await context.close();
});
