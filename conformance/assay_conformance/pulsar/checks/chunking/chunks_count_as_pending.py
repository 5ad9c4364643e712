from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.pulsar.checks.chunking._pending_chunks import check_known, is_chunking, places_of
from assay_conformance.pulsar.timeline import Exercised, Producer, Says, Timeline, Unit, breach, check, ms


class _Pending(NamedTuple):
    """What left last, and what was in flight with it, itself included."""

    unit: Unit
    oldest: Unit
    places: int


def _pending(timeline: Timeline) -> Iterator[_Pending]:
    """Yield what is pending with chunks in flight, until a send fails."""
    for producer in timeline.producers:
        known = producer.handle is not None and any(unit.is_chunk for unit in producer.units)
        if not known or not is_chunking(timeline, producer.handle or 0):
            continue
        in_flight, until = list[Unit](), _first_failure(timeline, producer)
        for unit in producer.units:
            seq = unit.first.seq
            in_flight = [*(other for other in in_flight if not other.answered_before(seq)), unit]
            if any(other.is_chunk for other in in_flight) and (until is None or seq < until):
                yield _Pending(unit, in_flight[0], sum(max(1, len(other.numbers)) for other in in_flight))


def _first_failure(timeline: Timeline, producer: Producer) -> int | None:
    """Return the event from which on a send may have left the queue at any time, as one that fails does.

    One that was refused before anything of it left does not count.
    """
    found = []
    for send in timeline.sends_of(producer.handle):
        end = send.completion
        if end is not None and end.outcome is Outcome.UNKNOWN:
            found.append(send.invoke.seq)
        elif end is not None and end.outcome is not Outcome.OK and end.error is not ErrorClass.QUEUE_FULL:
            found.append(end.seq)
    return min(found, default=None)


@check("chunking.chunks-count-as-pending", of=_pending)
def chunks_count_as_pending(timeline: Timeline, pending: _Pending) -> Says:
    """chunking.chunks-count-as-pending: a producer has no more than max_pending_messages messages and chunks without a
    receipt."""
    (unit, oldest, places), frame, handle = pending, pending.unit.first, pending.unit.line.handle or 0
    check_known(timeline, handle, frame)
    limit = places_of(timeline, handle)
    if 0 < limit < places:
        yield breach(
            "too-many-pending",
            f"{unit.line}: {places} messages and chunks were without a receipt at {ms(frame.t_ns)}; expected at most "
            f"{limit}, its max_pending_messages",
            *(oldest.first, frame),
        )
    elif places == limit:
        yield Exercised(frame)
