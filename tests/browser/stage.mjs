// What the browser tests stand on: the running parts (named by the environment), a Chromium, and buyers without a browser.

import { execFileSync } from "node:child_process";
import { chromium } from "playwright-core";

/** Address of the edge as buyers type it, and of the shop's control listener. */
export const edge = process.env.FAIRGATE_EDGE;
export const shopControl = process.env.FAIRGATE_SHOP_CONTROL;

export const productPath = "/p/A-1";
export const waitPath = `/.fairgate/wait/drop?return=${productPath}`;
const ticketPath = "/.fairgate/events/drop/ticket";

export function launch() {
  const names = ["chromium", "chromium-browser", "google-chrome"];
  const executablePath = names.map(which).find(Boolean);
  if (!executablePath) throw new Error("no Chromium was found: install your system's package `chromium`");
  const args = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
  ];
  return chromium.launch({ executablePath, args });
}

function which(name) {
  try {
    return execFileSync("which", [name], { encoding: "utf8" }).trim();
  } catch {
    return null;
  }
}

/** A fresh browser profile; `complaints` collects what its console says of errors, policy violations included. */
export async function visitor(browser, options = {}) {
  const context = await browser.newContext({ baseURL: edge, viewport: { width: 320, height: 568 }, ...options });
  await context.setExtraHTTPHeaders({ "x-forwarded-for": newAddress() });
  const complaints = [];
  context.on("console", (message) => {
    // A refused navigation is one of the page's ways to begin.
    const isRefusal = /the server responded with a status of/.test(message.text());
    if (message.type() === "error" && !isRefusal) complaints.push(message.text());
  });
  context.on("weberror", ({ error }) => complaints.push(String(error())));
  return { context, complaints };
}

let addresses = 0;
export function newAddress() {
  addresses += 1;
  return `10.${process.pid % 256}.${addresses >> 8}.${addresses % 256}`;
}

/** A buyer without a browser. */
export class Buyer {
  #cookies = new Map();
  #address = newAddress();

  async send(method, path, body) {
    const reply = await fetch(edge + path, {
      method,
      redirect: "manual",
      headers: {
        accept: "application/json",
        cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; "),
        "x-forwarded-for": this.#address,
        ...(body ? { "content-type": "application/json" } : {}),
      },
      body: body && JSON.stringify(body),
    });
    for (const line of reply.headers.getSetCookie()) {
      const [name, value] = line.split(";")[0].split("=");
      if (/max-age=0/i.test(line)) this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    return { status: reply.status, body: await reply.json().catch(() => null) };
  }

  join = () => this.send("POST", ticketPath, {});
  leave = () => this.send("DELETE", ticketPath);
  add = () => this.send("POST", "/api/cart/items", { sku: "A-1" });
  checkOut = () => this.send("POST", "/api/checkout", {});

  /** Takes the only session. */
  async enter() {
    await until("a buyer gets in", async () => (await this.add()).status === 201);
    return this;
  }
}

/**
 * The room for one: somebody is inside, and so many wait ahead of whoever comes next. `empty` sends all of them away, so
 * that the turn comes to whoever waits; the end of the test `t` does it too.
 */
export async function busyShop(t, aheadCount) {
  const inside = await new Buyer().enter();
  const ahead = Array.from({ length: aheadCount }, () => new Buyer());
  for (const buyer of ahead) await buyer.join();
  const empty = async () => {
    for (const buyer of ahead.splice(0)) await buyer.leave();
    await inside.checkOut();
  };
  t.after(empty);
  return { empty };
}

export async function shopLog() {
  return (await fetch(`${shopControl}/log`)).json();
}

/** Asks twice a second until `check` says yes, for at most 40 s. */
export async function until(what, check) {
  for (let tries = 0; tries < 80; tries += 1) {
    if (await check()) return;
    await new Promise((done) => setTimeout(done, 500));
  }
  throw new Error(`in vain: ${what}`);
}
