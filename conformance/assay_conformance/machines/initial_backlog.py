"""What a topic holds before a client connects: entries as producers of any kind and version stored them, well or not.

Messages of one lot follow those of the one before it, each with a number of its own; what is found later (`finds`)
follows them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, Final

from assay_conformance.cases.stored import batch, chunks, plain, plains
from assay_conformance.machines.foreign_entries import APART

Entry = dict[str, Any]
Lot = Callable[[int], list[Entry]]
"""The entries, their messages numbered from here on."""

LONG_AGO_MS: Final = 1_000_000
"""Publish time of the first message that tells an old one; each later number is a second younger."""
SECOND_MS: Final = 1_000

_MOST = 5
"""Messages of a lot."""


def _timed(first: int) -> list[Entry]:
    return [
        {**plain(number), "metadata": {"publish_time": LONG_AGO_MS + number * SECOND_MS}}
        for number in range(first, first + _MOST)
    ]


def _compacted(first: int) -> list[Entry]:
    """Return a batch with only its first and last message left, and chunks."""
    entry = batch(range(first, first + 4))
    for member in entry["members"][1:-1]:
        member["metadata"] = {"compacted_out": True}
    return [entry, *chunks(first + 4, 2)]


def _by_turns(first: int) -> list[Entry]:
    one, two, three = (chunks(first + number, 3) for number in range(3))
    return [one[0], two[0], one[1], three[0], two[1], three[1], one[2], three[2], two[2]]


def _inside_out(first: int) -> list[Entry]:
    """Return messages in chunks of which the first one to begin is the last one to end."""
    one, two, three = (chunks(first + number, 3) for number in range(3))
    return [one[0], two[0], three[0], *three[1:], *two[1:], *one[1:]]


def _restarted(first: int) -> list[Entry]:
    message = chunks(first, 3)
    return [*message[:2], *message]


def _sent_twice(first: int) -> list[Entry]:
    """Return a message in chunks of which one in the middle is there twice."""
    message = chunks(first, 3)
    return [*message[:2], *message[1:]]


def _without(*missing: int) -> Lot:
    return lambda first: [entry for chunk, entry in enumerate(chunks(first, 3)) if chunk not in missing]


STOCK: Mapping[str, Lot] = {
    "single messages": lambda first: [plain(number) for number in range(first, first + _MOST)],
    "old messages": _timed,
    "a batch": lambda first: [batch(range(first, first + _MOST))],
    "a compacted batch": _compacted,
    "chunks": lambda first: chunks(first, 3),
    "chunks by turns": _by_turns,
    "chunks inside out": _inside_out,
    "chunks begun anew": _restarted,
    "a chunk sent twice": _sent_twice,
    "no first chunk": _without(0),
    "no middle chunk": _without(1),
    "no last chunk": _without(2),
}


def entries_of(stock: Iterable[str]) -> list[Entry]:
    """Return the entries of the initial backlog, one lot after the other."""
    return [entry for name, first in zip(stock, count(0, APART)) for entry in STOCK[name](first)]


_ENTRIES = 30
"""More than any of the rates gives in as long as a life lasts."""

BACKLOGS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "plain": plains(range(_ENTRIES)),
    "large": [plain(number, 1_000) for number in range(_ENTRIES)],
    "batched": [batch(range(number * 4, number * 4 + 4)) for number in range(_ENTRIES // 2)],
}
"""Many alike, in every partition: one of these, or lots of STOCK."""

BACKLOG_NUMBERS = 4 * _ENTRIES
"""Numbers that a backlog may take."""
