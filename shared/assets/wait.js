// Drives the waiting page: asks, shows, enters. What it decides is in `rules.js`.
{
  const data = JSON.parse(document.getElementById("data").textContent);
  const { words, event, ticketPath, waitPath, returnPath } = data;
  const part = Object.fromEntries([...document.querySelectorAll("[id]")].map((node) => [node.id, node]));
  const startedAt = Date.now();
  // The server's clock: the visitor's may be wrong, its pace is not.
  const nowMs = () => data.nowMs + (Date.now() - startedAt);

  let mode = data.mode;
  let last = null; // the last status that was told
  let joinedJustNow = false;
  let faults = 0;
  let notBefore = 0; // a refusal asked for silence until then
  let askedAt = data.status ? startedAt : 0;
  let dueAt = 0; // when to ask again
  let timer = 0;
  let busy = false;
  let places = 0; // places that were got by a code: what was asked before one is of no use after it
  let spoken = null;

  // --- Asking

  /** One call; null when the connection failed. */
  async function call(method, path, told = {}) {
    const post = { headers: { "content-type": "application/json" }, body: JSON.stringify(told) };
    try {
      const reply = await fetch(ticketPath + path, {
        method, cache: "no-store", signal: AbortSignal.timeout?.(15000), ...(method === "POST" ? post : {}),
      });
      const body = reply.status === 204 ? null : await reply.json();
      return { status: reply.status, body };
    } catch {
      return null;
    }
  }

  /** Asks what has to be asked next, once at a time, and plans the next time. */
  async function step() {
    if (busy || !isPoller || !["joining", "waiting", "called", "late"].includes(mode)) return;
    clearTimeout(timer);
    busy = true;
    askedAt = Date.now();
    const place = places;
    const join = mode === "joining";
    // A hidden tab does not enter: the session would run out before its owner looks.
    const redeem = (mode === "called" || mode === "late") && !document.hidden;
    const reply = join ? await call("POST", "") : redeem ? await call("POST", "/redeem") : await call("GET", "");
    busy = false;
    if (place !== places) return plan();
    const result = outcome(reply, joinedJustNow);
    joinedJustNow = join && result.kind === "status";
    faults = result.kind === "offline" || reply.status >= 500 ? faults + 1 : 0;
    notBefore = result.kind === "later" ? Date.now() + result.waitMs : 0;
    // Whoever learns of their turn goes in at once.
    const goesIn = result.kind === "status" && result.status.state !== "waiting" && !document.hidden;
    dueAt = goesIn ? 0 : Date.now() + delayMs(result, faults, Math.random());
    plan();
    take(result);
    tabs?.postMessage(result);
    if (result.kind === "entered") location.replace(returnPath);
  }

  function plan() {
    clearTimeout(timer);
    if (isPoller) timer = setTimeout(step, Math.max(0, dueAt - Date.now()));
  }

  /** Asks at once on waking, unless it has just asked or a refusal wants silence. */
  function wake() {
    if (document.hidden) return;
    dueAt = Math.min(dueAt, Math.max(notBefore, askedAt + 2000));
    plan();
    becomePoller(true);
  }

  /** Asks because somebody pressed a button. */
  function press() {
    dueAt = 0;
    plan();
    becomePoller(true);
  }

  // --- Showing

  /** Takes in what a reply meant, here or in another tab. */
  function take(result) {
    const { kind } = result;
    if (kind === "status") {
      if (result.joined) forgetLowest();
      last = result.status;
      mode = last.state;
      show({});
    } else if (kind === "later") show({ trouble: result.code === "NOT_YOUR_TURN" ? "" : result.text });
    else if (kind === "offline") show({ trouble: words.offline });
    else {
      mode = kind;
      last = null;
      forgetLowest();
      show({ text: result.text });
      part.joinForm.hidden = !(result.canJoin ?? true);
    }
  }

  /** Puts everything in place; `trouble` comes before why the line stands, `text` before the words of the mode. */
  function show({ trouble = "", text = words.modes[mode].text }) {
    const view = last ? shown(last, data, nowMs(), lowest(last)) : { mode, position: null, notice: "", message: "" };
    if (view.position !== null) keepLowest(view.position);
    const heading = words.modes[mode].heading;
    const notice = trouble || view.notice;
    const place = view.position === null ? "" : view.before + view.figure + view.after;
    document.documentElement.dataset.mode = mode;
    document.documentElement.dataset.still = notice ? "yes" : "no";
    put("heading", heading);
    put("text", text);
    put("notice", notice);
    put("message", view.message);
    for (const name of ["before", "figure", "after", "eta", "moved", "number"]) put(name, view[name] ?? "");
    for (const [index, person] of [...part.people.children].entries()) {
      person.setAttribute("visibility", index < (view.ahead ?? 0) ? "visible" : "hidden");
    }
    part.you.setAttribute("cx", youX(view.ahead ?? 0, mode));
    document.title = place || heading;
    keepFocus();
    speak(spokenKey({ ...view, mode, notice }), [heading, notice, view.message, place || text, notice ? "" : view.eta]);
  }

  function put(name, text) {
    if (part[name].textContent !== text) part[name].textContent = text;
  }

  /** The visitor's mark on the line; `shown.rs` places it alike. */
  function youX(ahead, inMode) {
    return ["called", "late", "entered"].includes(inMode) ? 292 : ahead > 12 ? 14 : 262 - 18 * ahead;
  }

  /** Changes the status region only when something happened: screen readers speak every change. */
  function speak(key, sentences) {
    if (spoken !== null && spoken !== key) {
      const ended = sentences.filter(Boolean).map((text) => text.replace(/[.。]$/, "") + words.stop);
      part.spoken.textContent = ended.join("").trim();
    }
    spoken = key;
  }

  /** A button that goes away must not take the keyboard with it. */
  function keepFocus() {
    const focused = document.activeElement;
    if (focused !== document.body && focused.getClientRects().length === 0) part.heading.focus();
  }

  // --- The lowest position told to this ticket, in any tab: what is shown never rises.

  const lowestKey = `fairgate-lowest-${event}`;
  function lowest(status) {
    try {
      const [number, position] = JSON.parse(localStorage.getItem(lowestKey));
      return number === status.ticketNumber ? position : null;
    } catch {
      return null;
    }
  }
  function keepLowest(position) {
    try {
      localStorage.setItem(lowestKey, JSON.stringify([last.ticketNumber, position]));
    } catch {} // Storage is blocked: the line itself never moves back.
  }
  function forgetLowest() {
    try {
      localStorage.removeItem(lowestKey);
    } catch {}
  }

  // --- Tabs: one asks, the others show what it was told. The one in front takes over.

  let isPoller = !navigator.locks;
  let queued = null;
  function becomePoller(inFront) {
    if (isPoller) return;
    queued?.abort();
    queued = new AbortController();
    let held = false;
    const hold = () => {
      held = isPoller = true;
      plan();
      return new Promise(() => {});
    };
    const options = inFront ? { steal: true } : { signal: queued.signal };
    navigator.locks.request(`fairgate-poller-${event}`, options, hold).catch((error) => {
      if (held) {
        // A tab that came to the front took over.
        isPoller = false;
        clearTimeout(timer);
        becomePoller(false);
      } else if (error.name !== "AbortError") {
        // No locks here after all.
        isPoller = true;
        plan();
      }
    });
  }
  const tabs = window.BroadcastChannel ? new BroadcastChannel(`fairgate-${event}`) : null;
  tabs?.addEventListener("message", ({ data: result }) => {
    askedAt = Date.now();
    dueAt = askedAt + delayMs(result, 0, 0);
    take(result);
  });

  // --- Buttons

  part.joinForm.addEventListener("submit", (submit) => {
    submit.preventDefault();
    mode = "joining";
    show({});
    press();
  });
  part.enterForm.addEventListener("submit", (submit) => {
    submit.preventDefault();
    press();
  });
  part.leave.addEventListener("click", () => part.leaveDialog.showModal());
  part.leaveDialog.addEventListener("close", async () => {
    if (part.leaveDialog.returnValue !== "yes") return;
    const reply = await call("DELETE", "");
    const result = reply?.status < 300 ? { kind: "left" } : outcome(reply, false);
    take(result);
    tabs?.postMessage(result);
  });

  // --- Codes: an invitation, or the place of another device

  for (const name of ["code", "move"]) {
    part[`${name}Form`].addEventListener("submit", async (submit) => {
      submit.preventDefault();
      const result = outcome(await call("POST", "", { [name]: part[name].value }), false);
      if (result.kind === "entered") return location.replace(returnPath);
      const isPlace = result.kind === "status";
      part[name].setAttribute("aria-invalid", result.kind === "ended");
      if (isPlace) {
        places += 1;
        part[name].value = "";
        result.joined = true;
        dueAt = Date.now() + delayMs(result, 0, 0);
        plan();
        take(result);
        tabs?.postMessage(result);
      } else part[name].focus();
      say(isPlace ? words.codeTaken : (result.text ?? words.offline));
    });
  }
  part.offer.addEventListener("click", async () => {
    const reply = await call("POST", "/move");
    const code = reply?.body?.code;
    const minutes = Math.floor(reply?.body?.expiresInS / 60);
    const offered = () => words.offered.replace("{code}", code).replace("{n}", minutes);
    say(reply?.status === 200 ? offered() : (reply?.body?.message ?? words.offline));
  });

  /** About a code, where it was typed and in the status region. */
  function say(text) {
    put("said", text);
    put("spoken", text);
  }

  // --- Start

  document.documentElement.classList.add("live");
  // The page may stand at the address of a refused form: a reload shall ask for the page, not send the form again.
  if (location.pathname + location.search !== waitPath) history.replaceState(null, "", waitPath);
  addEventListener("visibilitychange", wake);
  addEventListener("online", wake);
  addEventListener("pageshow", (shownAgain) => shownAgain.persisted && wake());
  setInterval(() => last && put("moved", shown(last, data, nowMs()).moved), 10000);

  const framed = () => {
    try {
      return top.location.origin !== location.origin;
    } catch {
      return true;
    }
  };
  if (!navigator.cookieEnabled) mode = "cookies";
  else if (mode === "outside" && framed()) mode = "framed";
  else if (mode === "outside" && !data.refused) mode = "joining";
  if (data.status) {
    take({ kind: "status", status: data.status });
    if (mode === "waiting") dueAt = startedAt + data.status.nextPollMs;
  } else if (mode !== data.mode) show({});
  if (isPoller) plan();
  else becomePoller(!document.hidden);
}
