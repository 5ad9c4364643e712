from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple

from assay_conformance.checks.lines import has_own_ids, last_id
from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.dedup._deduplication import last_sequence_id
from assay_conformance.pulsar.timeline import Exercised, Producer, Says, Timeline, Unit, breach, check, ms


class _Start(NamedTuple):
    """What a producer sent first after a later PRODUCER_SUCCESS, and what before that."""

    success: Frame
    before: Unit
    unit: Unit


def _starts(timeline: Timeline) -> Iterator[_Start]:
    for producer in timeline.producers:
        keyed = timeline.batches_by_key(producer.handle)
        if producer.handle is None or len(producer.sessions) < 2 or keyed or timeline.chooses_ids(producer):
            continue
        begun = list(_begun(timeline, producer))
        reached = list(accumulate((seq for seq, _, _ in begun), max))
        for session in producer.sessions[1:]:
            if session.ready is not None:
                place = bisect_right(reached, session.ready.seq)
                if place < len(begun):
                    yield _Start(session.ready, *begun[place][1:])


def _begun(timeline: Timeline, producer: Producer) -> Iterator[tuple[int, Unit, Unit]]:
    """Yield the number of the call that began each unit, the unit of earlier messages before it, and the unit."""
    for before, unit in pairwise(unit for unit in producer.units if unit.numbers):
        send = timeline.send(producer.handle or 0, unit.numbers[0])
        if send is not None and before.numbers[-1] < unit.numbers[0]:
            yield send.invoke.seq, before, unit


@check("dedup.reconnect-keeps-numbering", of=_starts)
def reconnect_keeps_numbering(timeline: Timeline, start: _Start) -> Says:
    """dedup.reconnect-keeps-numbering: after a reconnect the next message has the producer's own last id plus one,
    whatever last id the broker reports.

    Judged is the first message sent after each later PRODUCER_SUCCESS, where the broker's last id and the producer's
    own lead to different ids. A producer that has sent nothing yet may use the broker's.
    """
    success, before, unit = start
    if not has_own_ids(before):
        return
    own, reported = last_id(before), last_sequence_id(success)
    if own < reported + 1 <= own + unit.numbers[0] - before.numbers[-1]:
        return  # Both lead to the same id.
    if unit.sequence_id != reported + 1:
        yield Exercised(unit.first)
        return
    yield breach(
        "took-the-brokers",
        f"{unit.line}: after PRODUCER_SUCCESS on connection {success.conn} at {ms(success.t_ns)} with last sequence id "
        f"{reported}, message {unit.numbers[0]} left at {ms(unit.first.t_ns)} with sequence id {unit.sequence_id}; "
        f"expected {own + 1}, since the producer itself had sent up to {own}",
        *(before.first, success, unit.first),
    )
