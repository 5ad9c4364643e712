from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Completion, Outcome
from assay_conformance.pulsar.checks.batching._limits import Limits, admitted_by, asked_ns, limits_of
from assay_conformance.pulsar.timeline import (
    MS,
    TOLERANCES,
    Exercised,
    Producer,
    Says,
    Timeline,
    Unit,
    breach,
    check,
    each,
    ms,
)


@check("batching.flush-closes-batch")
def flush_closes_batch(timeline: Timeline) -> Says:
    """batching.flush-closes-batch: the open batch leaves when its producer is flushed, or when a synchronous send joins
    it; that send returns no earlier than its receipt comes. A synchronous send need not close the batches of other
    partitions.

    Judged where the batch would have stayed open for long: neither full, nor its delay nearly over.
    """
    synchronous = [end for end in timeline.ends("send") if timeline.call(end).args.get("mode") == "sync"]
    returned = (end for end in synchronous if end.outcome is Outcome.OK)
    yield from each(returned, _returns_behind_receipt, timeline)
    yield from each(_flushed(timeline, [*timeline.ends("flush"), *synchronous]), _leaves, timeline)


def _returns_behind_receipt(timeline: Timeline, end: Completion) -> Says:
    handle, unit, number = end.handle or 0, _own_unit(timeline, end), timeline.number(end)
    if unit is None:
        return
    timeline.check_owned(handle)
    timeline.check_pairing(handle)
    timeline.check_forged_answers(end, handle)
    if unit.receipts and unit.receipts[0].seq < end.seq:
        if timeline.view.producer_setting(handle, "batching") is True:
            yield Exercised(end)
        return
    yield breach(
        "returned-early",
        f"producer {handle}: the synchronous send of message {number} succeeded at {ms(end.t_ns)}; expected it to "
        "wait for its receipt; none had been written to the client by then",
        *(timeline.call(end), end),
    )


def _own_unit(timeline: Timeline, end: Completion) -> Unit | None:
    """Return the unit in which a send left, whenever that was."""
    send = timeline.send(end.handle or 0, timeline.number(end))
    return None if send is None else timeline.unit_with(send)


class _Flushed(NamedTuple):
    """A unit that was open when a flush, or a synchronous send, that ended so was called."""

    end: Completion
    called_ns: int
    limits: Limits
    unit: Unit


def _flushed(timeline: Timeline, ends: list[Completion]) -> Iterator[_Flushed]:
    for end in sorted(ends, key=lambda one: one.seq):
        handle, called_ns = -1 if end.handle is None else end.handle, end.called_ns
        limits = limits_of(timeline.view, handle)
        if limits is None or called_ns is None or timeline.view.producer_setting(handle, "block_if_queue_full"):
            continue
        own = _own_unit(timeline, end) if end.verb == "send" else None
        for producer in timeline.producers_of(handle):
            joins = end.verb == "flush" or (own is not None and own.line is producer)
            if joins and timeline.view.is_read_at_once():
                for unit in _open(timeline, producer, end, called_ns):
                    yield _Flushed(end, called_ns, limits, unit)


def _open(timeline: Timeline, producer: Producer, end: Completion, called_ns: int) -> Iterator[Unit]:
    """Yield units that began before the call and left after it: the next ones, but where each key has a batch.

    By the clock of its client a call may have begun when what it sent had come already.
    """
    call, keyed = timeline.call(end), timeline.batches_by_key(producer.handle)
    start = bisect_left(producer.units, min(call.t_ns, called_ns), key=lambda unit: unit.first.t_ns)
    for unit in producer.units[start:]:
        first = next(timeline.sends(unit), None)
        if first is not None and first.invoke.seq <= call.seq:
            yield unit
        elif first is not None and not keyed:
            return


def _leaves(timeline: Timeline, flushed: _Flushed) -> Says:
    (end, called_ns, limits, unit), since_ns = flushed, asked_ns(timeline.view, flushed.unit)
    if since_ns is None or not admitted_by(unit, called_ns) or limits.reached_by(unit):
        return
    if since_ns + limits.delay_ms * MS <= called_ns + TOLERANCES["answer"].slack_ns:
        return
    yield Exercised(unit.first)
    if timeline.bounds.is_overdue("answer", called_ns, unit.first.t_ns, what="a flushed batch"):
        called = "flush" if end.verb == "flush" else f"a synchronous send of message {timeline.number(end)}"
        yield breach(
            "stayed-open",
            f"{unit.line}: {called} at {ms(called_ns)} with message {unit.numbers[0]} in the open batch; expected the "
            f"batch to leave at once; it left at {ms(unit.first.t_ns)}",
            *(timeline.call(end), unit.first),
        )
