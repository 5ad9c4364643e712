"""The order in which messages lie in the log, where no consumer shows it.

Elsewhere the certificates of deliveries and outcomes show order, row by row; here the rows of `stored` have to be
sorted. So only those streams are asked whose topic has no subscription that keeps order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from assay_conformance.ledger.clauses import ORDERED_TYPES, Covering
from assay_conformance.ledger.info import LedgerInfo, Order
from assay_conformance.ledger.rows import Place, Stored, place

if TYPE_CHECKING:
    from assay_conformance.ledger.collection import Small

MOST_BEHIND = 1_000
"""Messages that are reported; a ledger with more of them has said enough."""


class Behind(NamedTuple):
    """Message `seq` of `stream` lies after message `after`, which was sent later."""

    stream: int
    seq: int
    after: int


class InLog(NamedTuple):
    """`messages`: how many there are beside the first of each stream."""

    messages: int = 0
    behind: tuple[Behind, ...] = ()


def unshown(small: Small, info: LedgerInfo) -> frozenset[int]:
    """Return the streams whose order is promised, and shown by no subscription."""
    if info.order is not Order.PARTITION:
        return frozenset()
    ordered = Covering(one for one in small.subscriptions.values() if one.type in ORDERED_TYPES)
    return frozenset(one.stream for one in small.streams.values() if next(ordered.of(one.topic), None) is None)


def in_log(stored: Iterable[Stored], small: Small, info: LedgerInfo) -> InLog:
    """Return where messages lie in the log; the first copy of each counts."""
    streams = unshown(small, info)
    if not streams:
        return InLog()
    first: dict[tuple[int, int], Place] = {}
    for row in stored:
        if row.stream in streams and row.chunk == 0:
            message = (row.stream, row.seq)
            first[message] = min(place(row), first.get(message, place(row)))
    greatest: dict[int, int] = {}
    found = []
    for (stream, seq), _ in sorted(first.items(), key=lambda one: (one[0][0], one[1])):
        after = greatest.get(stream, -1)
        if seq < after:
            found.append(Behind(stream, seq, after))
        greatest[stream] = max(seq, after)
    return InLog(len(first) - len(greatest), tuple(sorted(found)[:MOST_BEHIND]))
