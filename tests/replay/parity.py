"""docs/parity.md: which requirements hold on real brokers alike, and where the reference broker answers otherwise than
a recorded one.

`python -m tests.replay.parity` writes the page; with folders of runs, their summaries are taken in first.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tests.replay import brokers
from tests.replay.normal import CHOSEN, ERASED, RULES, TURNS

from assay_fixtures.differential.normal import RULES as LIVE_RULES

PAGE = Path(__file__).parents[2] / "docs" / "parity.md"

_HEAD = """\
# Parity with Apache Pulsar
"""

_RECORDED = """\
## Answers to recorded traffic

The reference broker is fed the client's side of recorded traffic with Apache Pulsar 4.0.8, in virtual time, and its
answers are compared with the recorded ones: which frames come on which connection, their fields, their payload bytes,
and the order of the frames of one request, one producer and one consumer (`python -m tests.replay
fixtures/golden/captures`). What follows is every difference that is admitted, with the reason.
"""

_LIVE = """\
## Answers to random sequences

`python fuzz/brokers.py` sends random sequences of raw commands, many of them refused, to the reference broker and to a
live Apache Pulsar 4.0.8, and compares what both answer and store. The same fields are not compared, but for the lists
of topics, which are; and these rules hold.

When a thousand of them were last played (seed 7; 28,013 commands, 28 a sequence in the middle, a third of them refused
by both, each command that is served at least 109 times, 113 s) no disagreement came of it.
"""


def page() -> str:
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _HEAD
    yield from brokers.section(brokers.kept())
    yield _RECORDED
    yield from _section(
        "Fields that are not compared", ("field", "reason"), ((f"`{e.command}.{e.field}`", e.reason) for e in ERASED)
    )
    yield from _section("Rules of the comparison", ("where", "rule"), _coded(RULES))
    yield from _section(
        "Who of several Shared consumers is served", ("recording", "reason it is not compared"), _coded(TURNS)
    )
    yield _LIVE
    yield from _section("Rules of the live comparison", ("where", "rule"), _coded(LIVE_RULES))
    yield from _section("Different on purpose", ("behaviour", "here, and why"), CHOSEN.items())


def _coded(rows: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    return ((f"`{name}`", reason) for name, reason in rows.items())


def _section(title: str, heads: tuple[str, str], rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    found = list(rows)
    if not found:
        return
    yield f"### {title}\n"
    yield f"| {heads[0]} | {heads[1]} |"
    yield "|---|---|"
    yield from (f"| {name} | {reason} |" for name, reason in found)
    yield ""


if __name__ == "__main__":
    for run in sys.argv[1:]:
        print(brokers.keep(Path(run)))
    PAGE.write_text(page(), encoding="utf-8")
