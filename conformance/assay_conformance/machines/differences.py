"""Runs of one Case by two clients, side by side: in which aspects what they came to differs whatever the run.

Of an aspect that comes out in another way each time, a few runs of each client say nothing: two handfuls of random
values have none in common. So an aspect counts where what it comes to is known: hardly any run of a client showed what
no other run of it showed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from assay_conformance.machines.causes import Breach
from assay_conformance.machines.outcomes import Aspect, Kind, Outcomes, Value

SEEN_ONCE: Final = 1 / 3
"""The part of a client's runs that may show what no other of them shows: about as likely the next run shows something
new (Good and Turing)."""

_IN_WORDS: Final = frozenset({Kind.ENDS, Kind.ALL_ENDS, Kind.SHOWN, Kind.EXTENT, Kind.SUBSCRIPTIONS, Kind.PROCESS})
"""Aspects whose values are few, and say by themselves what differs; of messages and counts it is said who has more."""

_MORE: Final = "more / fewer"
_FEWER: Final = "fewer / more"


class Difference(NamedTuple):
    """In no run did both come to the same; how often each came to what."""

    aspect: Aspect
    ours: Counter[Value]
    theirs: Counter[Value]

    @property
    def breach(self) -> Breach:
        """What two Cases that show the same have in common: what differs, and how."""
        kind, _, verb = self.aspect
        what = verb if kind is Kind.SHOWN else ": ".join(filter(None, (verb, kind.value)))
        return what, _relation(kind, _usual(self.ours), _usual(self.theirs))


def differences(ours: Sequence[Outcomes], theirs: Sequence[Outcomes]) -> list[Difference]:
    """Return what differs between so many runs of one client and of the other.

    An aspect that a run does not show says nothing.
    """
    return list(_differences(ours, theirs))


def _differences(ours: Sequence[Outcomes], theirs: Sequence[Outcomes]) -> Iterator[Difference]:
    for aspect in ours[0] if ours and theirs else ():
        if all(aspect in one for one in (*ours, *theirs)):
            mine, others = (Counter(one[aspect] for one in runs) for runs in (ours, theirs))
            if mine.keys().isdisjoint(others) and _is_known(mine) and _is_known(others):
                yield Difference(aspect, mine, others)


def _is_known(values: Counter[Value]) -> bool:
    runs = values.total()
    return runs == 1 or sum(times == 1 for times in values.values()) <= runs * SEEN_ONCE


def _usual(values: Counter[Value]) -> Value:
    """Return the value in most runs; among equally frequent ones the first in order."""
    return min(values, key=lambda value: (-values[value], value))


def _relation(kind: Kind, ours: Value, theirs: Value) -> str:
    if (mine_first := _as_numbers(ours, theirs)) is not None:
        return _MORE if mine_first else _FEWER
    if kind in _IN_WORDS:
        return f"{_said(ours)} / {_said(theirs)}"
    mine, others = set(ours), set(theirs)
    if mine > others:
        return _MORE
    return _FEWER if mine < others else "others"


def _as_numbers(ours: Value, theirs: Value) -> bool | None:
    """Return whether ours is the larger one; None where they are no numbers."""
    try:
        (mine,), (other,) = map(int, ours), map(int, theirs)
    except ValueError:
        return None
    return mine > other


def _said(value: Value) -> str:
    return ", ".join(value) or "nothing"
