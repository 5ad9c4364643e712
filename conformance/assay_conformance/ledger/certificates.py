"""Certificates: what a row says about the rows before it, so that judging it needs no earlier row.

The ingest computes them, vectorised, from the rows of one writer in their order; this is the exact reference that the
audit and the tests compare it with. Each takes the rows of one consumer (or of one stream) and gives one value a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from assay_conformance.ledger.rows import Ack, Delivery, Outcome
from assay_conformance.ledger.tables import NONE, AckKind, Again, Integrity, Plain, Result

_NACK = AckKind.NACK
"""As in `model.event`: members of enums are slow to find, and every row is asked."""

LEAST_GAP = -(1 << 31)
MOST_GAP = (1 << 31) - 1
NOT_STORED = -1
"""As the ledger of a message id: the receipt of a duplicate, or an agent that got no id."""

Line = TypeVar("Line", int, tuple[int, int])

Message = tuple[int, int]
"""(stream, seq)"""


class Certified(NamedTuple):
    """The certificates of one delivery that need its past."""

    gap: int
    kgap: int
    again: int
    wait: int | None


ORDINARY = Certified(1, 1, Again.FIRST, None)
"""Of a delivery for the first time, right after the one before."""


def of_consumer(
    deliveries: Iterable[Delivery], acks: Iterable[Ack] = (), due: Mapping[Message, int] | None = None
) -> Iterator[Certified]:
    """Yield the certificates of each delivery of one consumer, by `pos`.

    `acks` are the same consumer's; `due`: the messages that were sent with a time to be delivered at, and that time. An
    acknowledgment counts when its call had ended well before the delivery, a refusal when it was made before.
    """
    greatest: dict[int, int] = {}
    greatest_of_key: dict[tuple[int, int], int] = {}
    said, due = _Said(acks), due or {}
    got: set[Message] = set()
    for row in deliveries:
        message = (row.stream, row.seq)
        refused_at = said.until(row.t, message)
        if message in got:
            again = Again.ACKED if message in said.acked else Again.GOT
            yield Certified(1, 1, again, _wait(row.t, refused_at, due.get(message)))
            continue
        got.add(message)
        gap = _step(greatest, row.stream, row.seq)
        kgap = 1 if row.key == NONE else _step(greatest_of_key, (row.stream, row.key), row.seq)
        if gap == kgap == 1 and message not in due:
            yield ORDINARY
        else:
            yield Certified(gap, kgap, Again.FIRST, _wait(row.t, None, due.get(message)))


def of_outcomes(outcomes: Iterable[Outcome]) -> Iterator[int]:
    """Yield `ord` of each outcome of one stream, as they were reported.

    Only first attempts that got an id are compared: 1 where the message lies after everything reported before, -1
    where only its number does, 0 where neither does.
    """
    furthest = (NONE, NONE, NONE)
    greatest = -1
    ok = Result.OK
    for row in outcomes:
        if row.code != ok or row.attempt != 0 or row.ledger == NOT_STORED:
            yield 1
            continue
        here, seq = (row.ledger, row.entry, row.batch), row.seq
        yield 0 if seq <= greatest else 1 if here > furthest else -1
        if here > furthest:
            furthest = here
        if seq > greatest:
            greatest = seq


def plain(row: Delivery) -> Plain:
    """Return what the row says by itself, for readers of that column alone."""
    ordinary = row.redeliv == 0 and row.again == Again.FIRST and row.wait is None and row.ok != Integrity.BAD
    if not ordinary or row.gap < 1 or row.kgap < 1:
        return Plain.NO
    return Plain.UNKEYED if row.key == NONE else Plain.KEYED


class _Said:
    """What a consumer had said of its deliveries by a time. Rows are taken in the order in which they took effect."""

    def __init__(self, acks: Iterable[Ack]) -> None:
        rows = [(row.t if row.kind == _NACK else row.t_done, row) for row in acks]
        self._waiting = sorted(((t, row) for t, row in rows if t is not None), key=lambda pair: pair[0], reverse=True)
        self._refused: dict[Message, int] = {}
        self.acked: set[Message] = set()

    def until(self, t: int, message: Message) -> int | None:
        """Return when the message was last refused before `t` without having come since; that is forgotten then."""
        waiting = self._waiting
        while waiting and waiting[-1][0] < t:
            at, row = waiting.pop()
            if row.kind == _NACK:
                self._refused[row.stream, row.seq] = at
            else:
                self.acked.add((row.stream, row.seq))
        return self._refused.pop(message, None)


def _step(greatest: dict[Line, int], place: Line, seq: int) -> int:
    before = greatest.get(place, -1)
    if seq > before:
        greatest[place] = seq
    return min(max(seq - before, LEAST_GAP), MOST_GAP)


def _wait(t: int, refused_at: int | None, due: int | None) -> int | None:
    if refused_at is not None:
        return t - refused_at
    return None if due is None else t - due
