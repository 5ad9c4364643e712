from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from assay_conformance.pulsar.checks.batching._limits import admitted_by, limits_of
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, Unit, breach, check, ms


class _Full(NamedTuple):
    """A batch that was full by count at `full_ns`, while the one before it had no answer."""

    before: Unit
    unit: Unit
    full_ns: int


def _full(timeline: Timeline) -> Iterator[_Full]:
    """Yield full batches of half a queue, with room in it for the last message.

    Brokers read what is written as it comes.
    """
    view = timeline.view
    for producer in timeline.producers:
        handle = -1 if producer.handle is None else producer.handle
        limits, queue = limits_of(view, handle), int(view.producer_setting(handle, "max_pending_messages") or 0)
        halves = limits is not None and 0 < 2 * limits.messages <= queue
        if producer.handle is None or limits is None or not halves or not view.is_read_at_once():
            continue
        for before, unit in pairwise(producer.units):
            last = timeline.send(handle, unit.numbers[-1]) if len(unit.numbers) == limits.messages else None
            full_ns = None if last is None else last.called_ns
            if full_ns is None or not admitted_by(unit, full_ns) or not _is_unanswered(before, full_ns):
                continue
            if _waiting(producer.units[: unit.index], full_ns) + len(unit.numbers) <= queue:
                yield _Full(before, unit, full_ns)


def _waiting(units: Sequence[Unit], by_ns: int) -> int:
    """Return how many messages of the last of these units had no answer.

    Receipts come in order, and errors ahead of them.
    """
    since_receipt = takewhile(lambda one: all(receipt.t_ns > by_ns for receipt in one.receipts), reversed(units))
    return sum(len(one.numbers) for one in since_receipt if _is_unanswered(one, by_ns))


def _is_unanswered(unit: Unit, by_ns: int) -> bool:
    """Return whether it had left by then is not asked: its frame may be on its way while the application calls on."""
    return all(answer.t_ns > by_ns for answer in unit.answers)


@check("batching.fills-while-previous-pending", of=_full)
def fills_while_previous_pending(timeline: Timeline, full: _Full) -> Says:
    """batching.fills-while-previous-pending: with batches of at most half a queue, a full batch leaves while the one
    before it waits for its receipt. One that leaves long after that receipt has come waited for something else."""
    before, unit, full_ns = full
    left, receipt, bounds = unit.first, next(iter(before.receipts), None), timeline.bounds
    if not bounds.is_overdue("batch-delay", full_ns, left.t_ns, what="a batch"):
        yield Exercised(left)
    elif receipt is not None and receipt.seq < left.seq and not bounds.is_past("batch-delay", receipt.t_ns, left.t_ns):
        yield breach(
            "waited-for-receipt",
            f"{unit.line}: the batch of messages {unit.numbers[0]} to {unit.numbers[-1]} was full at {ms(full_ns)}, "
            f"with room in the queue; expected it to leave at once; it left at {ms(left.t_ns)}, after the receipt for "
            f"{before} at {ms(receipt.t_ns)}",
            *(receipt, left),
        )
