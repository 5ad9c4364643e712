"""Stored runs and replay files: what `check`, `show`, `compare`, `replay`, `export` and `expectations` read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from random import Random

from fuzz.hostile import places, values
from fuzz.hostile.attack import Drawn, Order, Sandbox
from fuzz.hostile.corpus import CASE, HISTORY, Corpus

_READERS: tuple[tuple[str, ...], ...] = (
    ("check", "run"),
    ("check", "run"),
    ("check", "run", "--json"),
    ("show", "run", CASE),
    ("compare", "run", "{golden}"),
    ("expectations", "update", "run", "--dry-run", "--file", "expectations.toml"),
)
_LINK_SHARE = 0.04
_PLACE_SHARE = 0.04


def replay(rng: Random, corpus: Corpus) -> Drawn:
    """Draw a replay file.

    Mostly it is exported, which starts nothing, and otherwise run again, where its content matters.
    """
    data = rng.choice(corpus.replays).read_bytes()
    runs = rng.random() < 0.3
    shape = rng.random()
    if shape < _PLACE_SHARE:
        damaged, kind = b"", ""
    elif shape < 0.12:
        damaged, kind = _sends_without_sense(rng, data)
    else:
        damaged, kind = values.document(rng, data)

    def lay(sandbox: Sandbox) -> Order:
        path = sandbox.work / "failure.json"
        path.write_bytes(damaged)
        if not kind:
            places.put(rng, path)
        if runs:
            return Order(("replay", "failure.json", "--agent", "reference"))
        return Order(("export", "failure.json", "-o", "out"))

    return kind or "no regular file", lay


def _sends_without_sense(rng: Random, data: bytes) -> tuple[bytes, str]:
    """Set a number of a step that no send can have."""
    tree = json.loads(data)
    numbers = [
        path
        for path in values.places(tree)
        if path and path[-1] in ("size", "count", "number", "k", "ms", "at_ms") and "case" in map(str, path)
    ]
    name = rng.choice(["minus one", "2^63", "1e308", "a fraction", "true", "a word", "10^30"])
    if not numbers:
        return values.document(rng, data)
    return values.filled(tree, rng.choice(numbers), values.SCALARS[name]), f"a number of a step is {name}"


def plan(rng: Random, corpus: Corpus) -> Drawn:
    return _of_a_run(rng, corpus, "plan.jsonl", values.lines)


def history(rng: Random, corpus: Corpus) -> Drawn:
    return _of_a_run(rng, corpus, HISTORY, values.lines)


def verdicts(rng: Random, corpus: Corpus) -> Drawn:
    """run.json, verdicts.json, findings.jsonl or the certificate."""
    name = rng.choice(("run.json", "run.json", "verdicts.json", "findings.jsonl", "certificate.json"))
    return _of_a_run(rng, corpus, name, values.lines if name.endswith("l") else values.document)


def _of_a_run(rng: Random, corpus: Corpus, name: str, mutation: values.Mutation) -> Drawn:
    reader = rng.choice(_READERS)
    shape = rng.random()
    if shape < _LINK_SHARE:
        return _with_a_link(rng, corpus)
    if shape < _LINK_SHARE + _PLACE_SHARE:
        damaged, kind = b"", ""
    else:
        damaged, kind = mutation(rng, (corpus.run / name).read_bytes())
    renamed = rng.random() < 0.02 and name == HISTORY

    def lay(sandbox: Sandbox) -> Order:
        run = shutil.copytree(corpus.run, sandbox.work / "run")
        path = run / name
        path.write_bytes(damaged)
        if renamed:
            path.rename(path.with_name("007.jsonl"))
        elif not kind:
            places.put(rng, path)
        (sandbox.work / "expectations.toml").write_bytes(b'schema = "1.0"\nagent = "reference"\ntested = "*"\n')
        return Order(tuple(word.replace("{golden}", str(corpus.run)) for word in reader))

    return ("another number of an attempt" if renamed else kind or "no regular file"), lay


def _with_a_link(rng: Random, corpus: Corpus) -> Drawn:
    """Replace a folder or file that `check` writes by a link to what lies outside."""
    name = rng.choice(("replay", "report.html", "verdicts.json", "junit.xml", "certificate.json", "findings.jsonl"))

    def lay(sandbox: Sandbox) -> Order:
        run = shutil.copytree(corpus.run, sandbox.work / "run")
        (run / name).unlink(missing_ok=True)
        goal: Path = sandbox.neighbour if name == "replay" else sandbox.witness
        (run / name).symlink_to(goal)
        return Order(("check", "run"))

    return f"{name} is a link to elsewhere", lay
