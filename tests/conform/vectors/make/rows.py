"""Rows: what is asked, and what the models say to it."""
import json
from datetime import datetime, timezone

from special import KINDS, Layers

FILES = {}
S = 1_000_000
MS = 1_000


def utc(*moment):
    return int(datetime(*moment, tzinfo=timezone.utc).timestamp()) * S


def row(name, limiter, policy, steps, note, about, faults="", file=None, header=False, key=False):
    """One limiter. Steps: (t, cost), (t, cost, "refund", taken), (t, 0, "peek"), (t, cost, "take"|"give", holder),
    (t, 0, "set_policy", (policy, inherit)); with `key`, (t, cost, key)."""
    keyed, out = {}, []
    model = KINDS[limiter](policy)
    for step in steps:
        t, cost, op, extra = (*step, *[None] * (4 - len(step)))
        entry = {"t_us": t, "cost": cost}
        if key:
            model = keyed.setdefault(op, KINDS[limiter](policy))
            entry["key"] = op
            want = model.take(t, cost)
        elif op == "refund":
            entry.update(op="refund", **({} if extra is None else {"taken_us": extra}))
            want = model.refund(t, cost, t if extra is None else extra)
        elif op == "set_policy":
            settings, how = extra
            changed = KINDS[settings.get("limiter", limiter)](settings)
            changed.inherit(model, t, how)
            model = changed
            entry.update(op=op, policy=settings, inherit=how)
            want = model.want(t, True, 0)
        elif op == "give":
            entry.update(op="give", holder=extra)
            want = model.give(t, extra)
        elif op == "take":
            entry.update(holder=extra)
            want = model.take_as(t, cost, extra)
        elif op == "peek":
            entry.update(op="peek")
            want = model.want(t, True, 0)
        else:
            want = model.take(t, cost)
        out.append({**entry, "want": {**want, **(in_seconds(want) if header else {})}})
    write(file or limiter, name, limiter, policy, out, note, about, faults)


def layers(name, policy, steps, note, faults="", file="all_or_nothing"):
    """Several limiters at once. Steps: (t, cost, {layer: key}), (t, cost, {layer: key}, taken) for a refund."""
    model, out = Layers(policy), []
    for t, cost, keys, *taken in steps:
        entry = {"t_us": t, "cost": cost, **keys}
        if taken:
            entry.update(op="refund", taken_us=taken[0])
            want = model.refund(t, cost, taken[0], keys)
        else:
            want = model.take(t, cost, keys)
        out.append({**entry, "want": want})
    write(file, name, "all_or_nothing", policy, out, note, "layers", faults)


def in_seconds(want):
    """`Retry-After` of a refusal: whole seconds, rounded up, never 0; no such field where no wait helps."""
    wait = None if want["ok"] else want["retry_after_us"]
    return {"retry_after_s": None if wait is None else max(1, -(-wait // S))}


def write(file, name, limiter, policy, steps, note, about, faults):
    line = {"name": name, "limiter": limiter, "about": about, "faults": faults.split(), "policy": policy, "steps": steps, "note": note}
    FILES.setdefault(file, []).append(json.dumps(line))
