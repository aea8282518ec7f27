// What the waiting page decides, pure. For visitors without script `shared/src/http/page/shown.rs` says the same;
// both are held to `shared/tests/vectors/page.json`.

/** What a status says in the page's words. `lowest` is the lowest position told to this ticket so far, or null. */
function shown(status, { words, reasons, lang }, nowMs, lowest = null) {
  const number = (n) => new Intl.NumberFormat(lang).format(n);
  const plural = (forms, n) =>
    (forms[new Intl.PluralRules(lang).select(n)] ?? forms.other).split("{n}");
  const whole = (forms, n) => plural(forms, n).join(number(n));

  const waiting = status.state === "waiting";
  const position = waiting ? Math.min(status.position, lowest ?? Infinity) : null;
  const [before, after] = waiting && position > 0 ? plural(words.ahead, position) : [waiting ? words.next : "", ""];
  const reason = standstill(status);
  return {
    mode: status.state,
    position,
    before,
    figure: position > 0 ? number(position) : "",
    after,
    ahead: Math.min(position ?? 0, 13),
    eta: waiting ? (reason && reason !== "ORIGIN_SLOW" ? words.etaPaused : eta(status.eta, words)) : "",
    moved: moved(nowMs - status.movedAtMs, status.movedAtMs, words, whole),
    number: number(status.ticketNumber),
    notice: reason ? (reasons[reason] ?? words.paused) : "",
    message: status.message ?? "",
  };
}

/** Why the line stands still: a reason code, or null while it moves. */
function standstill(status) {
  const byPhase = { closed: "EVENT_CLOSED", sold_out: "OUT_OF_STOCK", scheduled: "NOT_OPEN_YET" };
  if (byPhase[status.phase]) return byPhase[status.phase];
  if (status.stale) return "QUEUE_UNREACHABLE";
  return status.reason ?? (status.phase === "paused" ? "OPERATOR_PAUSED" : null);
}

/** Minutes up to two hours, by fives from ten minutes on, then hours; the range only ever widens by the rounding. */
function eta({ lowS, highS }, words) {
  if (highS >= 86400) return words.etaUnknown;
  if (highS <= 60) return words.etaUnderMinute;
  const unit = highS <= 7200 ? "Minutes" : "Hours";
  const stepS = highS <= 600 ? 60 : highS <= 7200 ? 300 : 3600;
  const perStep = stepS === 300 ? 5 : 1;
  const low = Math.floor(lowS / stepS) * perStep;
  const high = Math.ceil(highS / stepS) * perStep;
  const form = low === 0 ? "UpTo" : low === high ? "" : "Range";
  return words[`eta${unit}${form}`].replace("{low}", low).replace("{high}", high);
}

function moved(ageMs, movedAtMs, words, whole) {
  const seconds = Math.floor(Math.max(0, ageMs) / 1000);
  if (movedAtMs === 0) return "";
  if (seconds < 10) return words.movedNow;
  if (seconds < 60) return words.movedUnderMinute;
  if (seconds < 3600) return whole(words.movedMinutes, Math.floor(seconds / 60));
  return whole(words.movedHours, Math.floor(seconds / 3600));
}

/** Equal keys mean that nothing changed that is worth a spoken word: a position is spoken when it has halved. */
function spokenKey({ mode, position, notice, message }) {
  return JSON.stringify([mode, position === null ? null : Math.floor(Math.log2(position + 1)), notice, message]);
}

/**
 * What a reply to a call means. `reply` is null when the connection failed, otherwise `{ status, body }`; `joinedJustNow`:
 * the reply before this one was a join, so that a missing ticket means a blocked cookie.
 */
function outcome(reply, joinedJustNow) {
  if (reply === null) return { kind: "offline" };
  const { status, body } = reply;
  if (status < 300) {
    if (body?.pass) return { kind: "entered" };
    const told = body?.status ?? body;
    return told?.state ? { kind: "status", status: told, joined: status === 201 } : { kind: "offline" };
  }
  if (body?.code === "NO_TICKET" && joinedJustNow) return { kind: "cookies" };
  if (body?.retryAfterMs) return { kind: "later", code: body.code, text: body.message, waitMs: body.retryAfterMs };
  if (status >= 500 || !body?.code) return { kind: "offline" };
  return { kind: "ended", text: body.message, canJoin: !NO_MORE_JOINS.includes(body.code) };
}

/** When to call again: what the reply asks for; after faults a second more and full jitter up to a minute. */
function delayMs(result, faults, random) {
  const asked = result.status?.nextPollMs ?? result.waitMs ?? 0;
  return asked + (faults > 0 ? 1000 + random * Math.min(60000, 2000 * 2 ** Math.min(faults, 5)) : 0);
}

const NO_MORE_JOINS = ["EVENT_CLOSED", "EVENT_UNKNOWN", "OUT_OF_STOCK", "ROOM_FULL", "ORIGIN_NOT_ALLOWED", "BUYER_LIMIT"];
