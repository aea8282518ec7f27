// One add-to-cart in a real browser, from the refused press to the cart.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { busyShop, edge, launch, newAddress, productPath, shopLog, until, visitor, waitPath } from "./stage.mjs";

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

const ticketNumber = async (page) => {
  await page.locator("#number:visible").filter({ hasText: /./ }).waitFor();
  return (await page.locator("#number").textContent()).replaceAll(",", "");
};
const press = (page, name) => page.getByRole("button", { name, exact: true }).click();

/** Waits to be let in, buys, and leaves the room empty. */
async function buy(page, number) {
  await page.waitForURL(edge + productPath, { timeout: 40000 });
  await press(page, "Add to cart");
  await page.waitForURL(`${edge}/cart`);
  const log = await shopLog();
  assert.equal(log.at(-1).jti, `drop:1:0:${number}`);
  assert.equal(log.at(-1).kind, "add");
  await press(page, "Buy");
  await page.getByRole("heading", { name: "Thank you" }).waitFor();
}

test("a press, the wait, the turn, the cart; nothing on the way changes the ticket", { timeout: 180000 }, async (t) => {
  const shop = await busyShop(t, 1);
  const { context, complaints } = await visitor(browser);
  const page = await context.newPage();
  await page.goto(productPath);
  await press(page, "Add to cart");
  await page.locator("#figure", { hasText: "1" }).waitFor();
  assert.equal(await page.locator(".position").innerText().then((text) => text.replace(/\s+/g, " ")), "1 person ahead of you");
  assert.equal(page.url(), edge + waitPath, "a reload asks for the page");
  const number = await ticketNumber(page);

  const reloads = [];
  page.on("request", (request) => request.isNavigationRequest() && reloads.push(request.method()));
  for (let times = 0; times < 4; times += 1) {
    await page.reload();
    assert.equal(await ticketNumber(page), number, "after a reload");
  }
  assert.deepEqual(reloads, ["GET", "GET", "GET", "GET"], "no form is sent again");

  await page.goBack();
  assert.equal(page.url(), edge + productPath);
  await press(page, "Add to cart");
  assert.equal(await ticketNumber(page), number, "after Back and another press");

  await context.setExtraHTTPHeaders({ "x-forwarded-for": newAddress() });
  await page.reload();
  assert.equal(await ticketNumber(page), number, "after a change of address");

  const second = await context.newPage();
  await second.goto(waitPath);
  assert.equal(await ticketNumber(second), number, "in a second tab");
  await second.close();

  await shop.empty();
  await buy(page, number);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("without script the same way is open by buttons", { timeout: 120000 }, async (t) => {
  const shop = await busyShop(t, 1);
  const { context } = await visitor(browser, { javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(waitPath);
  await press(page, "Join the line");
  const number = await ticketNumber(page);
  await press(page, "Check my place");
  assert.equal(await ticketNumber(page), number);
  await page.goto(productPath);
  await press(page, "Add to cart");
  assert.equal(await ticketNumber(page), number);
  await shop.empty();
  await until("the turn comes", async () => {
    const enter = page.getByRole("button", { name: "Enter the shop" });
    if (await enter.isVisible()) return true;
    await press(page, "Check my place");
    return false;
  });
  await press(page, "Enter the shop");
  await buy(page, number);
  await context.close();
});

test("an empty line is not seen", { timeout: 60000 }, async () => {
  const { context } = await visitor(browser);
  const page = await context.newPage();
  await until("the room is empty", async () => {
    await page.goto(productPath);
    await press(page, "Add to cart");
    return page.url() === `${edge}/cart`;
  });
  await press(page, "Buy");
  await context.close();
});

test("leaving asks first, and gives the place away", { timeout: 90000 }, async (t) => {
  const shop = await busyShop(t, 0);
  const { context, complaints } = await visitor(browser);
  const page = await context.newPage();
  await page.goto(waitPath);
  const number = await ticketNumber(page);
  await press(page, "Leave the line");
  await press(page, "Keep my place");
  assert.equal(await ticketNumber(page), number);
  await press(page, "Leave the line");
  await page.locator("dialog").getByRole("button", { name: "Leave the line" }).click();
  await page.getByRole("heading", { name: "You left the line" }).waitFor();
  const names = (await context.cookies()).map((cookie) => cookie.name);
  assert.equal(names.includes("fg-ticket-drop"), false);
  await press(page, "Join the line");
  assert.notEqual(await ticketNumber(page), number);
  await shop.empty();
  await buy(page, await ticketNumber(page));
  assert.deepEqual(complaints, []);
  await context.close();
});
