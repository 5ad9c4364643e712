"""What may come of any input, whatever it is: one table of rules for every door."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from fuzz.hostile.attack import MEMORY_KIB, REFUSALS, Breach, Order, Outcome, Rule

LONGEST_SENTENCE: Final = 2_000
"""Characters of a refusal. The longest that is useful names every agent, or every key."""
_OURS: Final = re.compile(r"^assay: ", re.MULTILINE)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")
_TRACEBACK: Final = ("Traceback (most recent call last)", "was never retrieved", "Fatal Python error")
_SHOWN: Final = 160


def _ends(_: Order, outcome: Outcome) -> str | None:
    return f"killed after {outcome.wall_s:.0f} s" if outcome.killed_for == "time" else None


def _memory(_: Order, outcome: Outcome) -> str | None:
    return f"{outcome.peak_kib >> 10} MiB" if outcome.peak_kib > MEMORY_KIB else None


def _code(order: Order, outcome: Outcome) -> str | None:
    if outcome.code is None or outcome.code in order.codes:
        return None
    return f"exit code {outcome.code}, expected one of {sorted(order.codes)}: {shown(outcome.err)}"


def _sentence(order: Order, outcome: Outcome) -> str | None:
    if outcome.code not in REFUSALS or order.silent:
        return None
    said = outcome.err + outcome.out
    if not said.strip():
        return "nothing was said"
    if outcome.code == 2 and not _OURS.search(said):
        return f"not said by assay: {shown(said)}"
    if outcome.code == 2 and len(outcome.err) > LONGEST_SENTENCE:
        return f"{len(outcome.err)} characters: {shown(outcome.err)}"
    return None


def _traceback(_: Order, outcome: Outcome) -> str | None:
    said = outcome.err + outcome.out
    found = next((words for words in _TRACEBACK if words in said), None)
    return None if found is None else shown(said[said.index(found) :][-400:])


def _escapes(_: Order, outcome: Outcome) -> str | None:
    found = _CONTROL.search(outcome.err + outcome.out)
    return None if found is None else repr(found.group())


def _left(_: Order, outcome: Outcome) -> str | None:
    return f"{len(outcome.left)} processes: {shown(outcome.left[0])}" if outcome.left else None


def _outside(_: Order, outcome: Outcome) -> str | None:
    return ", ".join(outcome.outside[:5]) or None


RULES: Final[dict[Rule, Callable[[Order, Outcome], str | None]]] = {
    Rule.ENDS: _ends,
    Rule.MEMORY: _memory,
    Rule.CODE: _code,
    Rule.SENTENCE: _sentence,
    Rule.TRACEBACK: _traceback,
    Rule.ESCAPES: _escapes,
    Rule.LEFT: _left,
    Rule.OUTSIDE: _outside,
}


def breaches(order: Order, outcome: Outcome) -> Iterator[Breach]:
    """Yield the rules that the outcome broke."""
    for rule, broken in RULES.items():
        if (detail := broken(order, outcome)) is not None:
            yield Breach(rule, detail)


def shown(text: str) -> str:
    """Return the end of a text, safe for a terminal."""
    last = " | ".join(line for line in text.strip().splitlines()[-3:])
    return ascii(last[-_SHOWN:])[1:-1]
