#!/usr/bin/env python3
"""Writes the files of vectors beside this directory: `python3 tests/conform/vectors/make`.

`limiters.jsonl` is not among them: it is written by hand, and the models are held to it.
"""
import json
import os
import sys

import rows_changes
import rows_layers
import rows_spaced
import rows_special
import rows_windows
from rows import FILES
from special import KINDS, Layers

HERE = os.path.dirname(os.path.abspath(__file__))


def check_models():
    """The models against the rows that were written by hand."""
    with open(os.path.join(HERE, "..", "limiters.jsonl")) as lines:
        for vector in map(json.loads, lines):
            layered = vector["limiter"] == "all_or_nothing"
            model = (Layers if layered else KINDS[vector["limiter"]])(vector["policy"])
            for step in vector["steps"]:
                cost = step.get("cost", 1)
                got = model.take(step["t_us"], cost, step) if layered else model.take(step["t_us"], cost)
                wrong = {field: got.get(field) for field, want in step["want"].items() if got.get(field) != want}
                assert not wrong, (vector["name"], step, wrong)


for module in (rows_windows, rows_spaced, rows_special, rows_changes, rows_layers):
    for name, write in list(vars(module).items()):
        if callable(write) and write.__module__ == module.__name__:
            write()
check_models()
for name, lines in FILES.items():
    with open(os.path.join(HERE, "..", name + ".jsonl"), "w") as out:
        out.write("\n".join(lines) + "\n")
print({name: len(lines) for name, lines in FILES.items()}, sum(map(len, FILES.values())), file=sys.stderr)
